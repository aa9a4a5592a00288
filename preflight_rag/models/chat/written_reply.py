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
        repeats: Whether the model repeats itself, for which it was stopped.
        first, last: Times of the first and the last piece, on the clock of `perf_counter`; None before they come.
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
        self.repeats = False
        self.first: float | None = None
        self.last: float | None = None
        self.on_first: Callable[[float], None] | None = None
        self._began, self._calls = perf_counter(), 0

    def on_chat_model_start(self, serialized: dict[str, Any], messages: list[list[BaseMessage]], **kwargs: Any) -> None:
        """Do nothing; without this method LangChain converts the whole prompt to text for `on_llm_start`."""

    def on_llm_new_token(self, token: Any, *, chunk: Any = None, run_id: Any = None, **kwargs: Any) -> None:
        """Record a piece of the reply, and stop a model that repeats itself or writes too much.

        A piece of another attempt (`run_id`) discards the text of the earlier attempt.
        """
        if run_id != self._run:
            self._run, self._pieces, self._length = run_id, [], 0
            self._detector, self.repeats, self.first, self._calls = CircleDetector(), False, None, 0
        piece = str(chunk.message.text) if isinstance(chunk, ChatGenerationChunk) else str(token)
        self._note_time(piece)
        self._pieces.append(piece)
        self._length += len(piece)
        self.repeats = self.repeats or self._detector.feed(piece)
        if self.is_too_long or self.repeats:
            self._stop()

    def _note_time(self, piece: str) -> None:
        """Record the time of a piece as the last one, and of the first piece, and call `on_first` with it.

        Pieces without text count, since a model's thoughts come as such; except a first one, which some servers send
        before they have read the prompt.
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
    def is_too_long(self) -> bool:
        """Whether the reply is longer than the maximum at which the model is stopped."""
        return self._length > self._most

    def text(self) -> str:
        """Return the text so far without control characters, as it was streamed to the user."""
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
