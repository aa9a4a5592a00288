"""Instructions for how to write answers: the setting `instructions`, and the system messages of the graph's caller."""

from __future__ import annotations

from collections.abc import Sequence

from langchain_core.messages import AnyMessage, SystemMessage

from preflight_rag.models.protocol import Reader, TakesInstructions

LONGEST_INSTRUCTIONS = 8_000
"""Characters of instructions that are used, about 2,000 tokens; a guess: a system prompt can take a whole window."""


def instructions_of(messages: Sequence[AnyMessage], setting: str, reader: Reader) -> tuple[str, tuple[str, ...]]:
    """Return the instructions for the turn's reader, the setting's first, and notes on those that are ignored.

    Args:
        messages: The conversation; its system messages are instructions, equal ones once.
        setting: The setting `instructions`.
        reader: The turn's reader; one that takes no instructions, as without a language model, gets "".
    """
    system_texts = (str(message.text).strip() for message in messages if isinstance(message, SystemMessage))
    instructions = "\n".join(dict.fromkeys(text for text in (setting.strip(), *system_texts) if text))
    if instructions and not isinstance(reader, TakesInstructions):
        why = "without a language model answers are the documents' own words" if reader.by_rule else reader.name
        return "", (f"{why}: instructions are ignored",)
    if len(instructions) > LONGEST_INSTRUCTIONS:
        note = f"the first {LONGEST_INSTRUCTIONS:,} of {len(instructions):,} characters are followed"
        return instructions[:LONGEST_INSTRUCTIONS], (note,)
    return instructions, ()
