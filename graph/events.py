"""The events of a running turn, and the conversion of the graph's own streams into these."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import AIMessageChunk

from preflight_rag.graph.answer_stream import missing_text
from preflight_rag.state.values import Answer, Clarification

INTERRUPT = "__interrupt__"


@dataclass(frozen=True)
class StageEvent:
    """A stage has ended; `update` is what it wrote to the state."""

    stage: str
    update: dict[str, Any]


@dataclass(frozen=True)
class ProgressEvent:
    """A stage has begun or advanced: a sentence for users and, for a stage in parts, how many parts are done."""

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
    """Converts the graph's stream into events; no piece of an answer is shown twice.

    Args:
        tokens: Whether to yield the answer's pieces as they are written.

    Attributes:
        shown: The pieces of the answer so far.
        question: The question with which the graph has stopped, from `clarify`; None if it did not stop.
    """

    def __init__(self, *, tokens: bool) -> None:
        self.tokens = tokens
        self.shown = ""
        self.question: dict[str, Any] | None = None

    def events(self, mode: str, payload: Any) -> Iterator[Event]:
        """Yield the events of one item of the graph's stream."""
        if mode == "messages":
            yield from self._token(payload[0])
        elif mode == "custom":
            if isinstance(payload, Mapping) and payload.get("type") == "progress":
                yield ProgressEvent(*(payload.get(name) for name in ("stage", "note", "done", "total")))  # type: ignore[arg-type]
        elif mode == "updates":
            yield from self._updates(payload)
        elif interrupts := payload.get(INTERRUPT):  # mode `values`, used when the stages' updates are not requested
            self.question = interrupts[0].value

    def rest(self, answer: str) -> Iterator[TokenEvent]:
        """Yield the part of the finished answer that has not been shown yet."""
        if self.tokens and (text := missing_text(self.shown, answer)):
            self.shown += text
            yield TokenEvent(text)

    def _token(self, message: Any) -> Iterator[TokenEvent]:
        """Yield the new text of a message of the stream.

        A chunk is a piece of the answer (`answer_stream`); a whole message is the answer, whose missing part `rest`
        yields.
        """
        if isinstance(message, AIMessageChunk):
            self.shown += str(message.text)
            yield TokenEvent(str(message.text))

    def _updates(self, payload: Mapping[str, Any]) -> Iterator[Event]:
        """Yield an event for each stage that has finished; an interrupt sets the question to the user instead."""
        for stage, update in payload.items():
            if stage == INTERRUPT:
                self.question = update[0].value if update else None
                continue
            yield StageEvent(stage, update or {})
