"""How answers are to be written: the setting `instructions`, and the system messages of whoever calls the graph."""

from __future__ import annotations

from collections.abc import Sequence

from langchain_core.messages import AnyMessage, SystemMessage

from preflight_rag.models.protocol import Reader, TakesInstructions

LONGEST = 8_000
"""Characters that are followed, about 2,000 tokens; a guess: assistants' system prompts can take a whole window."""


def instructions_of(messages: Sequence[AnyMessage], setting: str, reader: Reader) -> tuple[str, tuple[str, ...]]:
    """Return the instructions for the turn's reader, the setting's first, and notes on those that were ignored.

    Args:
        messages: The conversation; its system messages are instructions, equal ones once.
        setting: The setting `instructions`.
        reader: The turn's reader; one without a language model takes no instructions.
    """
    spoken = (str(message.text).strip() for message in messages if isinstance(message, SystemMessage))
    wanted = "\n".join(dict.fromkeys(text for text in (setting.strip(), *spoken) if text))
    if wanted and not isinstance(reader, TakesInstructions):
        why = "without a language model answers are the documents' own words" if reader.by_rule else reader.name
        return "", (f"{why}: instructions are ignored",)
    if len(wanted) > LONGEST:
        return wanted[:LONGEST], (f"the first {LONGEST:,} of {len(wanted):,} characters are followed",)
    return wanted, ()
