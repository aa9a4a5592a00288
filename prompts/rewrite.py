"""Prompt of the node `rewrite`: a follow-up as a question that stands on its own."""

from __future__ import annotations

import re
from collections.abc import Sequence

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage

from ..state.reading import Message
from . import fences
from .replies import clean

SYSTEM = """\
You rewrite the last message of a conversation as one question that can be understood without the conversation.
- Put in what "it", "they", "there" or "and in children?" stand for.
- Keep names, codes, numbers, negations and the language as they are. Add no facts and do not answer.
- When the message can already be understood alone, repeat it.
- Reply with the question only, on one line."""

USER = """\
<conversation>
{history}
</conversation>
<message>
{message}
</message>
The message as one standalone question:"""

REPAIR = "Reply with one line: the standalone question and nothing else."
LONGEST_REPLY = 1_000
_LABEL = re.compile(r"^[\s*_#>-]*(?:standalone |rewritten )?(?:question|message)[\s*_]*:[\s*_]*", re.IGNORECASE)


def render(*, message: str, history: Sequence[Message]) -> list[BaseMessage]:
    """Messages for the model."""
    lines = "\n".join(f"{turn.role}: {fences.fenced(turn.text)}" for turn in history)
    return [SystemMessage(SYSTEM), HumanMessage(USER.format(history=lines, message=fences.fenced(message)))]


def parse(reply: str) -> str | None:
    """The question, or None when the reply is not one line of a sensible length."""
    lines = [line.strip() for line in clean(reply).splitlines() if line.strip()]
    labelled = [line for line in lines if _LABEL.match(line)]
    candidates = labelled or lines
    if len(candidates) != 1:
        return None
    question = _LABEL.sub("", candidates[0]).strip().strip("\"'“”*` ").strip()
    return question if 0 < len(question) <= LONGEST_REPLY else None
