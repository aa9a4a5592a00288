"""The events of a turn while it runs, and how the graph's own streams become these."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from preflight_rag.prompts.visible import VisibleText
from preflight_rag.state.values import Answer, Clarification
from preflight_rag.text.citations import MARK

ANSWERING = ("answer_plain", "reduce_context", "converse")
"""Stages whose model's reply is the answer."""
INTERRUPT = "__interrupt__"
_UNCOUNTED = re.compile(rf"{MARK.pattern}|[\s.]+")


@dataclass(frozen=True)
class StageEvent:
    """A stage has ended; `update` is what it wrote into the state."""

    stage: str
    update: dict[str, Any]


@dataclass(frozen=True)
class ProgressEvent:
    """A stage has begun or moved on: a sentence for people and, where it counts, how many of how many parts are."""

    stage: str
    note: str
    done: int | None = None
    total: int | None = None


@dataclass(frozen=True)
class TokenEvent:
    """A piece of the answer, as it is being written."""

    text: str


Event = StageEvent | ProgressEvent | TokenEvent | Clarification | Answer


class Narrator:
    """Turns what the graph streams into events; no piece of an answer is shown twice.

    Args:
        tokens: Whether the answer's pieces are wanted as they are made.

    Attributes:
        shown: The pieces of the answer so far.
        question: What the graph has stopped to ask the person, as `clarify` put it; None where it did not stop.
    """

    def __init__(self, *, tokens: bool) -> None:
        self.tokens = tokens
        self.shown = ""
        self.question: dict[str, Any] | None = None
        self._screen = Screen()

    def events(self, mode: str, payload: Any) -> Iterator[Event]:
        """The events of one item of the graph's stream."""
        if mode == "messages":
            yield from self._token(*payload)
        elif mode == "custom":
            if isinstance(payload, Mapping) and payload.get("type") == "progress":
                yield ProgressEvent(*(payload.get(name) for name in ("stage", "note", "done", "total")))  # type: ignore[arg-type]
        else:
            yield from self._updates(payload)

    def rest(self, answer: str) -> Iterator[TokenEvent]:
        """What of the finished answer has not been shown yet."""
        if self.tokens and (text := not_shown(self.shown, answer)):
            self.shown += text
            yield TokenEvent(text)

    def _token(self, piece: Any, metadata: Mapping[str, Any]) -> Iterator[TokenEvent]:
        if metadata.get("langgraph_node") in ANSWERING:
            yield from self._show(self._screen.feed(getattr(piece, "id", None), str(piece.text)))

    def _updates(self, payload: Mapping[str, Any]) -> Iterator[Event]:
        for stage, update in payload.items():
            if stage == INTERRUPT:
                self.question = update[0].value if update else None
                continue
            update = update or {}
            if stage in ANSWERING:
                yield from self._show(self._screen.finish())
                self._screen = Screen()
            yield StageEvent(stage, update)

    def _show(self, text: str) -> Iterator[TokenEvent]:
        if text and self._screen.opens and self.shown:
            text = "\n\n" + text.lstrip()
        if text:
            self._screen.opens = False
            self.shown += text
            yield TokenEvent(text)


class Screen:
    """The visible text of one stage's reply; a reply that is made again goes on where the first one stopped.

    Attributes:
        opens: Whether nothing of this stage has been shown.
    """

    def __init__(self) -> None:
        self.opens = True
        self._message: str | None = None
        self._visible = VisibleText()
        self._shown = self._again = ""

    def feed(self, message: str | None, piece: str) -> str:
        """What may be shown with this piece of the message of that id."""
        if message != self._message and self._message is not None:
            self._visible, self._again = VisibleText(), ""
        self._message = message
        return self._fresh(self._visible.feed(piece))

    def finish(self) -> str:
        """The rest, when the stage has ended."""
        return self._fresh(self._visible.finish())

    def _fresh(self, text: str) -> str:
        """The part of the text that has not been shown; none of a reply that differs from the one before it."""
        self._again += text
        if not self._again.startswith(self._shown):
            return ""
        fresh = self._again[len(self._shown) :]
        self._shown = self._again
        return fresh


def not_shown(shown: str, answer: str) -> str:
    """What is to be written below a text so that it ends with the answer; citation marks and spaces do not count.

    A text that ends with the beginning of the answer is gone on with; below any other one the whole answer is set.
    """
    if not shown.strip():
        return answer
    before, wanted = _bare(shown), _bare(answer)
    if before.endswith(wanted):
        return ""
    begun = next((text for text in (before, *_tails(shown)) if text and wanted.startswith(text)), None)
    if begun is None:
        return f"\n\n{answer}"
    return _after(answer, len(begun))


def _tails(shown: str) -> Iterator[str]:
    """The text from each of its paragraphs on, the longest first."""
    for paragraph in re.finditer(r"\n\n", shown):
        yield _bare(shown[paragraph.end() :])


def _bare(text: str) -> str:
    return _UNCOUNTED.sub("", text)


def _after(answer: str, count: int) -> str:
    """The answer behind its first so many characters that count, and behind the marks that follow them."""
    at = 0
    while count and at < len(answer):
        uncounted = _UNCOUNTED.match(answer, at)
        at = uncounted.end() if uncounted else at + 1
        count -= not uncounted
    return re.sub(rf"\A(?:\s?{MARK.pattern})*\.?", "", answer[at:])
