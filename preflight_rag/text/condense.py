"""A conversation condensed by rule: each question with the beginning of its answer."""

from __future__ import annotations

import re
from collections.abc import Sequence

from preflight_rag.state.reading import Message
from preflight_rag.text.citations import without_marks
from preflight_rag.text.sentences import sentence_spans

SHORT_CHARS = 240
"""Characters that are kept of an answer; a guess: two or three sentences."""
QUESTION_CHARS = 300
"""Characters that are kept of a question; a guess: few are longer."""
MOST_CHARS = 4_000
"""Length of the whole summary; beyond it the oldest turns are only counted. A guess: half of the usual budget for
history."""
_OMITTED_QUESTIONS_LINE = re.compile(r"\((\d+) earlier questions\)")
_SPEAKER = {"user": "asked", "assistant": "answer"}


def condense(summary: str, messages: Sequence[Message]) -> str:
    """Return a summary of earlier turns continued with further messages: a line for each question and its answer.

    Of each, the beginning is kept. If the summary exceeds `MOST_CHARS`, its oldest lines are replaced by a first line
    that counts them, "(4 earlier questions)".
    """
    lines = [line for line in summary.splitlines() if line.strip()]
    for message in messages:
        text = beginning(message.text, QUESTION_CHARS if message.role == "user" else SHORT_CHARS)
        if message.role == "assistant" and lines and "answer: " not in lines[-1]:
            lines[-1] += f" - answer: {text}"
        else:
            lines.append(f"{_SPEAKER.get(message.role, message.role)}: {text}")
    omitted = 0
    if lines and (counted := _OMITTED_QUESTIONS_LINE.fullmatch(lines[0])):
        omitted = int(counted[1])
        lines = lines[1:]
    while len(lines) > 1 and sum(map(len, lines)) > MOST_CHARS:
        lines.pop(0)
        omitted += 1
    if omitted:
        lines.insert(0, f"({omitted} earlier questions)")
    return "\n".join(lines)


def beginning(text: str, most: int) -> str:
    """Return the first sentences of a text on one line, at most `most` characters, without citation marks.

    The text ends between words if these sentences would be less than a third of that; an omitted rest is shown as
    " ...".
    """
    lines = (" ".join(line.split()) for line in without_marks(text).splitlines())
    plain = "; ".join(filter(None, lines))
    if len(plain) <= most:
        return plain
    ends = [end for _, end in sentence_spans(plain[: most + 1]) if end <= most]
    if ends and ends[-1] >= most // 3:
        return f"{plain[: ends[-1]]} ..."
    return f"{plain[:most].rsplit(' ', 1)[0]} ..."
