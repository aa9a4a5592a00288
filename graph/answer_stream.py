"""The answer in the `messages` stream: its readable text, each part once, under one message id.

A model's raw replies contain quotes for the parser, choice lines and the answers of single partitions; they are kept
out of the stream (LangGraph's tag `nostream`). For the stages whose reply is the answer, the visible text is put in
instead, as it is written; the stage that ends the turn adds the missing rest and gives its message the same id, so
that a client which joins chunks by id, also in a graph around this one, gets the answer and nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import Context, copy_context
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4
from weakref import WeakKeyDictionary

from langchain_core.callbacks import BaseCallbackHandler, BaseCallbackManager
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGenerationChunk
from langchain_core.runnables.config import var_child_runnable_config
from langgraph.config import get_config
from langgraph.constants import TAG_NOSTREAM
from langgraph.graph.message import push_message

from preflight_rag.prompts.answer_json import StreamedStatements
from preflight_rag.prompts.leaks import LeakGuard
from preflight_rag.prompts.visible import VisibleText
from preflight_rag.state.answer_text import UNREAD, answer_text
from preflight_rag.text.citations import MARK

ANSWERING = ("answer_plain", "reduce_context", "converse")
"""Stages whose model's reply is the answer."""
FIRST_STAGE = "rewrite"
"""The stage that begins a turn: a graph around this one may run several turns within one stream."""
_STREAM_HANDLER = "StreamMessagesHandler"
"""LangGraph's own handler of the stream mode `messages`, a new one for each stream."""
_NOT_COMPARED = re.compile(rf"{MARK.pattern}|[\s.`]+")


@dataclass
class StreamedAnswer:
    """The part of a turn's answer that one stream has shown already."""

    id: str = field(default_factory=lambda: f"answer-{uuid4()}")
    text: str = ""


_STREAMED_BY_HANDLER: WeakKeyDictionary[BaseCallbackHandler, dict[str, StreamedAnswer]] = WeakKeyDictionary()


class AnswerStream(BaseCallbackHandler):
    """The handler that streams one stage's answer; it does nothing unless somebody reads the mode `messages`.

    Args:
        stage: The stage's name.
        streamed: The part of the answer that the stream has shown already.
        context: The context in which LangGraph finds the stage's own config.
    """

    run_inline = True  # handlers are called in the order of the tokens

    def __init__(self, stage: str, streamed: StreamedAnswer, context: Context) -> None:
        self._answering, self._streamed, self._context = stage in ANSWERING, streamed, context
        self._screen = Screen()
        self._guard: LeakGuard | None = None
        self._message: str | None = None
        self._statements = StreamedStatements()
        self._held_back: str | None = None  # None while text is shown as it comes

    def keep_back(self) -> None:
        """Hold the text back until `show` or `drop` is called."""
        self._held_back = ""

    def show(self) -> None:
        """Show the text that was held back, and from now on every piece as it comes."""
        text, self._held_back = self._held_back or "", None
        self._show(text)

    def drop(self) -> None:
        """Discard the text that was held back, and show nothing more of this reply."""
        self._held_back, self._answering = None, False

    def on_chat_model_start(self, serialized: dict[str, Any], messages: list[list[BaseMessage]], **kwargs: Any) -> None:
        """Remember the model's instructions, so that a reply that repeats them is not shown."""
        if self._answering:
            self._guard = LeakGuard(messages[0])

    def on_llm_new_token(self, token: Any, *, chunk: Any = None, run_id: Any = None, **kwargs: Any) -> None:
        """Show the text that has become readable with a new piece of the model's reply."""
        if self._answering and isinstance(chunk, ChatGenerationChunk):
            message = chunk.message.id or str(run_id)
            if message != self._message:
                self._message, self._statements = message, StreamedStatements()
            self._show_piece(self._statements.feed(str(chunk.message.text)))

    def _show_piece(self, piece: str) -> None:
        """Show the readable part of a piece of the reply, without instructions that it repeats."""
        self._show(self._screen.feed(self._message, self._guard.feed(piece) if self._guard else piece))

    def ended(self, update: Mapping[str, Any]) -> None:
        """Show the text of the reply that is still missing, and of the answer if the stage's update contains it.

        The answer's message gets the id of the streamed pieces.
        """
        if self._answering:
            if undecided := self._statements.finish():
                self._show_piece(undecided)
            if self._guard:
                self._show(self._screen.feed(self._message, self._guard.finish()))
            self._show(self._screen.finish())
        answer = next((message for message in update.get("messages") or () if isinstance(message, AIMessage)), None)
        if answer is None or not self._streamed.text:
            return
        answer.id = self._streamed.id
        self._push(missing_text(self._streamed.text, str(answer.text)))

    def _show(self, text: str) -> None:
        """Show a text, or hold it back; the first text of a stage begins a new paragraph below another stage's."""
        if self._held_back is not None:
            self._held_back += text
            return
        if text and self._screen.opens and self._streamed.text:
            text = "\n\n" + text.lstrip()
        if text:
            self._screen.opens = False
            self._push(text)

    def _push(self, text: str) -> None:
        """Send a text to the stream, and append it to the recorded answer."""
        if text:
            self._streamed.text += text
            self._context.run(push_message, AIMessageChunk(content=text, id=self._streamed.id), state_key=None)


@contextmanager
def answer_stream(stage: str) -> Iterator[AnswerStream | None]:
    """Stream a stage's answer while the block runs; yield the handler, or None if nobody reads the mode `messages`."""
    config, context = get_config(), copy_context()
    callbacks = config.get("callbacks")
    streamed = _streamed_answer(callbacks, config, begins=stage == FIRST_STAGE)
    if streamed is None or not isinstance(callbacks, BaseCallbackManager):
        # a turn inside another turn's model call holds nothing back for the outer one
        outer_text = answer_text.set(UNREAD)
        try:
            yield None
        finally:
            answer_text.reset(outer_text)
        return
    stream, stage_callbacks = AnswerStream(stage, streamed, context), callbacks.copy()
    stage_callbacks.add_handler(stream, inherit=True)
    tags = [*(config.get("tags") or ()), TAG_NOSTREAM]
    outer_config = var_child_runnable_config.set({**config, "callbacks": stage_callbacks, "tags": tags})
    outer_text = answer_text.set(stream)
    try:
        yield stream
    finally:
        answer_text.reset(outer_text)
        var_child_runnable_config.reset(outer_config)


def _is_stream_handler(handler: object) -> bool:
    """Return whether a callback handler is the one of LangGraph's stream mode `messages`."""
    return any(kind.__name__ == _STREAM_HANDLER for kind in type(handler).__mro__)


def _streamed_answer(callbacks: object, config: Mapping[str, Any], *, begins: bool) -> StreamedAnswer | None:
    """Return the record of the answer that the stream `messages` has shown; None if nobody reads that stream.

    It is a new, empty record if the stage `begins` a turn. The surrounding graph is known from the stage's config.
    """
    handlers = callbacks.handlers if isinstance(callbacks, BaseCallbackManager) else ()
    if (handler := next(filter(_is_stream_handler, handlers), None)) is None:
        return None
    graph = str((config.get("metadata") or {}).get("langgraph_checkpoint_ns") or "").rpartition("|")[0]
    answers = _STREAMED_BY_HANDLER.setdefault(handler, {})
    if begins or graph not in answers:
        answers[graph] = StreamedAnswer()
    return answers[graph]


class Screen:
    """The visible text of one stage's reply; a second attempt continues where the first one stopped.

    Attributes:
        opens: Whether nothing of this stage has been shown yet.
    """

    def __init__(self) -> None:
        self.opens = True
        self._message: str | None = None
        self._visible = VisibleText()
        self._shown = self._attempt = ""

    def feed(self, message: str | None, piece: str) -> str:
        """Return the text that may be shown now that this piece has arrived; another `message` is another attempt."""
        if message != self._message and self._message is not None:
            self._visible, self._attempt = VisibleText(), ""
        self._message = message
        return self._new_part(self._visible.feed(piece))

    def finish(self) -> str:
        """Return the remaining visible text, once the stage has ended."""
        return self._new_part(self._visible.finish())

    def _new_part(self, text: str) -> str:
        """Append a visible text to the current attempt, and return the part of the attempt that was not shown yet.

        "" as long as the attempt repeats what is shown, or if it differs from that.
        """
        self._attempt += text
        if not self._attempt.startswith(self._shown):
            return ""
        new_text = self._attempt[len(self._shown) :]
        self._shown = self._attempt
        return new_text


def missing_text(shown: str, answer: str) -> str:
    """Return the text to write below `shown` so that the whole ends with the answer.

    Citation marks and spaces are not compared. If `shown` ends with the beginning of the answer, the remaining part of
    the answer is returned; "" if nothing is missing; else the whole answer, as a new paragraph.
    """
    if not shown.strip():
        return answer
    comparable_shown, comparable_answer = _comparable(shown), _comparable(answer)
    if comparable_shown.endswith(comparable_answer):
        return ""
    for tail in (comparable_shown, *_paragraph_tails(shown, comparable_shown)):
        if tail and comparable_answer.startswith(tail):
            return _skip_comparable(answer, len(tail))
    return f"\n\n{answer}"


def _paragraph_tails(shown: str, comparable: str) -> Iterator[str]:
    """Yield the comparable text from each paragraph but the first to the end, the longest first."""
    start = 0
    for paragraph in shown.split("\n\n")[:-1]:
        start += len(_comparable(paragraph))
        yield comparable[start:]


def _comparable(text: str) -> str:
    """Return a text without citation marks, spaces, full stops and backticks, for comparing answer and stream."""
    return _NOT_COMPARED.sub("", text)


def _skip_comparable(answer: str, count: int) -> str:
    """Return the answer without its first `count` comparable characters and the citation marks that follow them."""
    position = 0
    while count and position < len(answer):
        if skipped := _NOT_COMPARED.match(answer, position):
            position = skipped.end()
        else:
            position += 1
            count -= 1
    return re.sub(rf"\A(?:\s?{MARK.pattern})*\.?", "", answer[position:])
