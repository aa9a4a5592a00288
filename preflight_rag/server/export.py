"""A conversation as Markdown, with the sources of each answer."""

from __future__ import annotations

import re
from collections.abc import Sequence

from preflight_rag.conversation.small_talk import short_source
from preflight_rag.graph.ledger import Turn
from preflight_rag.state.values import Answer, Citation

QUOTE_CHARACTERS = 400
FOOTNOTES = re.compile(r"(?:\n+\[\d+\] [^\n]*: \"[^\n]*)+\s*$")
ROUTES = {
    "plain": "read in one go",
    "map_reduce": "read in parts, and the parts put together",
    "corg": "compared and grouped",
    "abstain": "not answered by the documents",
    "conversation": "answered from the conversation",
}


def conversation(title: str, turns: Sequence[Turn]) -> str:
    """All turns of a thread."""
    parts = [f"# {one_line(title)}", *(_turn(turn) for turn in turns)]
    return "\n\n".join(parts) + "\n"


def footnote(citation: Citation) -> str:
    """A citation on one line: `[1] Title - source: "quote"`."""
    page = f", page {citation.page}" if citation.page else ""
    date = f", {citation.date}" if citation.date else ""
    verified = "" if citation.verified else " (not found word for word)"
    title, source = one_line(citation.title), one_line(short_source(citation.source))
    about = title if source in ("", title) else f"{title} - {source}" if title else source
    return f'[{citation.n}] {about}{page}{date}: "{one_line(citation.quote, QUOTE_CHARACTERS)}"{verified}'


def footnotes(citations: Sequence[Citation]) -> str:
    """What is set under an answer for readers of plain text: a line for each citation; "" where there is none."""
    lines = [footnote(citation) for citation in citations]
    return "\n\n" + "\n".join(lines) if lines else ""


def one_line(text: str, most: int = 200) -> str:
    """A text on one line of bounded length."""
    line = " ".join(text.split())
    return line if len(line) <= most else line[: most - 1] + "…"


def _turn(turn: Turn) -> str:
    heading = f"## {one_line(turn.question, 1000)}"
    if turn.result is None:
        return f"{heading}\n\n*{turn.status}{': ' + one_line(turn.error) if turn.error else ''}*"
    answer = Answer.model_validate(turn.result)
    notes = [f"- {footnote(citation)}" for citation in answer.citations]
    sources = "\n\n### Sources\n\n" + "\n".join(notes) if notes else ""
    receipt = answer.receipt
    told = f"{ROUTES.get(answer.route.name, answer.route.name)} ({one_line(answer.route.reason)})"
    spent = f"{receipt.model}, {receipt.model_calls} calls, {receipt.seconds:.1f} s"
    return f"{heading}\n\n{answer.answer.strip()}{sources}\n\n*{told}; {spent}; {turn.started_at[:19]}Z*"
