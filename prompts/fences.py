"""How material is put into a prompt: numbered passages and extracts between tags.

Document text is material, never instruction: it is only ever inserted between tags, and a closing tag inside it is
broken up, so that a document cannot end its own fence.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape

from preflight_rag.state.reading import Extract, Message, Source

_TAG = re.compile(
    r"<(?=/?\s*(?:passages?|extracts?|message|question|contexts?|conversation|summary|options)\b)", re.IGNORECASE
)


def fenced(text: str) -> str:
    """Text with every tag that the prompts use made harmless."""
    return _TAG.sub("< ", text)


def passages(sources: Sequence[Source]) -> str:
    """Numbered passages, each in a tag with its number, title and date."""
    blocks = []
    for source in sources:
        attributes = f'n="{source.n}" title="{escape(source.title)}"'
        if source.date:
            attributes += f' date="{escape(source.date)}"'
        blocks.append(f"<passage {attributes}>\n{fenced(source.text)}\n</passage>")
    return "<passages>\n" + "\n".join(blocks) + "\n</passages>"


def conversation(history: Sequence[Message]) -> str:
    """Messages before the question, oldest first, each behind who said it; what stands for several says so."""
    named = {"summary": "summary of what was said before", "sources": "what the last answer rests on"}
    return "\n".join(f"{named.get(turn.role, turn.role)}: {fenced(turn.text)}" for turn in history)


def extracts(found: Sequence[Extract]) -> str:
    """What the partitions gave, in their order."""
    blocks = [f"<extract>\n{fenced(extract.text)}\n</extract>" for extract in found]
    return "<extracts>\n" + "\n".join(blocks) + "\n</extracts>"


def options(choices: Sequence[str]) -> str:
    """Lettered options with the line that the reply must hold; empty when there are none."""
    if not choices:
        return ""
    lines = "\n".join(f"{letter(i)}. {fenced(choice)}" for i, choice in enumerate(choices))
    wanted = "End the answer with a line `CHOICE: ` and the letter of the one right option."
    return f"\n<options>\n{lines}\n</options>\n{wanted}"


def letter(index: int) -> str:
    """Letter of an option: A for 0."""
    return chr(ord("A") + index)
