"""How material is put into a prompt: numbered passages and extracts between tags.

Document text is material, never instruction: it is only ever inserted between tags, and a closing tag inside it is
broken up, so that a document cannot end its own fence.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape

from preflight_rag.state.reading import Extract, Message, Source
from preflight_rag.text.citations import JOINT_MARK

_TAG = re.compile(
    r"<(?=/?\s*(?:passages?|extracts?|message|question|contexts?|conversation|summary|options)\b)", re.IGNORECASE
)


def fenced(text: str) -> str:
    """Text with every tag that the prompts use made harmless."""
    return _TAG.sub("< ", text)


def material(text: str) -> str:
    """A source's text for a prompt, its own reference numbers in round brackets.

    A paper's "[3]" would be copied into an answer and read as a citation of the third passage.
    """
    return JOINT_MARK.sub(r"(\1)", fenced(text))


def passages(sources: Sequence[Source]) -> str:
    """Numbered passages, each in a tag with its number, title and date."""
    blocks = []
    for source in sources:
        attributes = f'n="{source.n}" title="{escape(source.title)}"'
        if source.date:
            attributes += f' date="{escape(source.date)}"'
        blocks.append(f"<passage {attributes}>\n{material(source.text)}\n</passage>")
    return "<passages>\n" + "\n".join(blocks) + "\n</passages>"


def conversation(history: Sequence[Message]) -> str:
    """Messages before the question, oldest first, each behind who said it; what stands for several says so."""
    named = {"summary": "summary of what was said before", "sources": "what the last answer rests on"}
    return "\n".join(f"{named.get(turn.role, turn.role)}: {fenced(turn.text)}" for turn in history)


def extracts(found: Sequence[Extract]) -> str:
    """What the partitions gave, in their order, each with what it answers by itself."""
    blocks = []
    for extract in found:
        answer = f"\nANSWER: {fenced(extract.answer)}" if extract.answer else ""
        blocks.append(f"<extract>\n{fenced(extract.text)}{answer}\n</extract>")
    return "<extracts>\n" + "\n".join(blocks) + "\n</extracts>"


def options(choices: Sequence[str]) -> str:
    """Lettered options with what the reply must be; empty when there are none.

    A few sentences of reasoning come first, as in the baseline of MIRAGE (Xiong et al. 2024), whatever else the prompt
    says of brevity: every arm and route that chooses, also the one without passages, reads these words.
    """
    if not choices:
        return ""
    wanted = (
        "Think step by step, in a few sentences, before you choose. Then end with a line `CHOICE: ` and the letter "
    )
    return f"{listed(choices)}\n{wanted}of the one right option."


def listed(choices: Sequence[str]) -> str:
    """Lettered options alone; empty when there are none."""
    lines = "\n".join(f"{letter(i)}. {fenced(choice)}" for i, choice in enumerate(choices))
    return f"\n<options>\n{lines}\n</options>" if choices else ""


def letter(index: int) -> str:
    """Letter of an option: A for 0."""
    return chr(ord("A") + index)
