"""The text of a reply while the model writes it: when its first piece came, and whether it must be stopped."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from time import perf_counter
from typing import Any
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import BaseMessage
from langchain_core.outputs import ChatGenerationChunk

from preflight_rag.text.circles import CircleDetector
from preflight_rag.text.words import without_controls


class WrittenReply(BaseCallbackHandler):
    """The text of a reply in progress, as far as it has streamed.

    Args:
        most: Characters after which the model is stopped.
        stop: Function that ends the call.

    Attributes:
        on_first: Called once, with the seconds until the first piece.
    """

    streams = False
    run_inline = True  # handlers are called in the order of the tokens

    def __init__(self, most: int, stop: Callable[[], None]) -> None:
        self._most, self._stop = most, stop
        self._run: object = None
        self._pieces: list[str] = []
        self._length = 0
        self._detector = CircleDetector()
        self.circles = False
        self.first: float | None = None
        self.last: float | None = None
        self.on_first: Callable[[float], None] | None = None
        self._began, self._calls = perf_counter(), 0

    def on_chat_model_start(self, serialized: dict[str, Any], messages: list[list[BaseMessage]], **kwargs: Any) -> None:
        """Do nothing; without this method LangChain converts the whole prompt to text for `on_llm_start`."""

    def on_llm_new_token(self, token: Any, *, chunk: Any = None, run_id: Any = None, **kwargs: Any) -> None:
        """Record a piece; a piece of another attempt discards the earlier text."""
        if run_id != self._run:
            self._run, self._pieces, self._length = run_id, [], 0
            self._detector, self.circles, self.first, self._calls = CircleDetector(), False, None, 0
        piece = str(chunk.message.text) if isinstance(chunk, ChatGenerationChunk) else str(token)
        self._note_time(piece)
        self._pieces.append(piece)
        self._length += len(piece)
        self.circles = self.circles or self._detector.feed(piece)
        if self.too_much or self.circles:
            self._stop()

    def _note_time(self, piece: str) -> None:
        """Record when the model wrote first and last; its thoughts come as pieces without text.

        Some servers send a first piece without text before they have read the prompt.
        """
        self._calls += 1
        if not piece and self._calls < 2:
            return
        self.last = perf_counter()
        if self.first is None:
            self.first = self.last
            if self.on_first is not None:
                self.on_first(self.first - self._began)

    @property
    def too_much(self) -> bool:
        """Whether the reply is longer than any expected reply."""
        return self._length > self._most

    def text(self) -> str:
        """Return the whole text, in the form in which it was streamed to the user."""
        return without_controls("".join(self._pieces))


class StreamedReply(WrittenReply):
    """The same handler with the methods by which LangChain recognises that a call has to be streamed."""

    streams = True

    def tap_output_aiter(self, run_id: UUID, output: AsyncIterator[Any]) -> AsyncIterator[Any]:
        """Return the stream unchanged."""
        return output

    def tap_output_iter(self, run_id: UUID, output: Iterator[Any]) -> Iterator[Any]:
        """Return the stream unchanged."""
        return output
