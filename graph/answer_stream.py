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
FIRST = "rewrite"
"""The stage that begins a turn: a graph around this one may run several turns within one stream."""
_HANDLER = "StreamMessagesHandler"
"""LangGraph's own handler of the stream mode `messages`, a new one for each stream."""
_UNCOUNTED = re.compile(rf"{MARK.pattern}|[\s.`]+")


@dataclass
class StreamedAnswer:
    """The part of a turn's answer that one stream has shown already."""

    id: str = field(default_factory=lambda: f"answer-{uuid4()}")
    text: str = ""


_STREAMED: WeakKeyDictionary[BaseCallbackHandler, dict[str, StreamedAnswer]] = WeakKeyDictionary()


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
        self._kept: str | None = None

    def keep_back(self) -> None:
        """Hold the text back until `show` or `drop` is called."""
        self._kept = ""

    def show(self) -> None:
        """Show the text that was held back, and from now on every piece as it comes."""
        kept, self._kept = self._kept or "", None
        self._show(kept)

    def drop(self) -> None:
        """Discard the text that was held back, and show nothing more of this reply."""
        self._kept, self._answering = None, False

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
            piece = self._statements.feed(str(chunk.message.text))
            self._show(self._screen.feed(self._message, self._guard.feed(piece) if self._guard else piece))

    def ended(self, update: Mapping[str, Any]) -> None:
        """Show the rest of the reply, and of the answer if the stage's update contains it."""
        if self._answering:
            if left := self._statements.finish():
                self._show(self._screen.feed(self._message, self._guard.feed(left) if self._guard else left))
            if self._guard:
                self._show(self._screen.feed(self._message, self._guard.finish()))
            self._show(self._screen.finish())
        answer = next((message for message in update.get("messages") or () if isinstance(message, AIMessage)), None)
        if answer is None or not self._streamed.text:
            return
        answer.id = self._streamed.id
        self._push(not_shown(self._streamed.text, str(answer.text)))

    def _show(self, text: str) -> None:
        """Show a text, or keep it if the answer is not shown yet; a second text begins a new paragraph."""
        if self._kept is not None:
            self._kept += text
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
    """Yield the handler that streams a stage's answer while the block runs; None if nobody listens."""
    config, context = get_config(), copy_context()
    callbacks = config.get("callbacks")
    streamed = _streamed_by(callbacks, config, begins=stage == FIRST)
    if streamed is None or not isinstance(callbacks, BaseCallbackManager):
        # a turn inside another turn's model call holds nothing back for the outer one
        of_others = answer_text.set(UNREAD)
        try:
            yield None
        finally:
            answer_text.reset(of_others)
        return
    stream, within = AnswerStream(stage, streamed, context), callbacks.copy()
    within.add_handler(stream, inherit=True)
    tags = [*(config.get("tags") or ()), TAG_NOSTREAM]
    before = var_child_runnable_config.set({**config, "callbacks": within, "tags": tags})
    of_others = answer_text.set(stream)
    try:
        yield stream
    finally:
        answer_text.reset(of_others)
        var_child_runnable_config.reset(before)


def _listens(handler: object) -> bool:
    """Return whether a callback handler is the one of LangGraph's stream mode `messages`."""
    return any(kind.__name__ == _HANDLER for kind in type(handler).__mro__)


def _streamed_by(callbacks: object, config: Mapping[str, Any], *, begins: bool) -> StreamedAnswer | None:
    """Return the part of the answer that the listening stream has shown; an empty one at the beginning of a turn."""
    handlers = callbacks.handlers if isinstance(callbacks, BaseCallbackManager) else ()
    if (handler := next(filter(_listens, handlers), None)) is None:
        return None
    graph = str((config.get("metadata") or {}).get("langgraph_checkpoint_ns") or "").rpartition("|")[0]
    answers = _STREAMED.setdefault(handler, {})
    if begins or graph not in answers:
        answers[graph] = StreamedAnswer()
    return answers[graph]


class Screen:
    """The visible text of one stage's reply; a second attempt continues where the first one stopped.

    Attributes:
        opens: Whether nothing of this stage has been shown.
    """

    def __init__(self) -> None:
        self.opens = True
        self._message: str | None = None
        self._visible = VisibleText()
        self._shown = self._again = ""

    def feed(self, message: str | None, piece: str) -> str:
        """Return the text that may be shown with this piece of the message `message`."""
        if message != self._message and self._message is not None:
            self._visible, self._again = VisibleText(), ""
        self._message = message
        return self._fresh(self._visible.feed(piece))

    def finish(self) -> str:
        """Return the rest of the visible text, once the stage has ended."""
        return self._fresh(self._visible.finish())

    def _fresh(self, text: str) -> str:
        """Return the text not yet shown; "" for a reply that differs from the previous attempt."""
        self._again += text
        if not self._again.startswith(self._shown):
            return ""
        fresh = self._again[len(self._shown) :]
        self._shown = self._again
        return fresh


def not_shown(shown: str, answer: str) -> str:
    """Return the text to write below `shown` so that the whole ends with the answer.

    Citation marks and spaces are not compared. If `shown` ends with the beginning of the answer, this is the rest of
    the answer; else it is the whole answer.
    """
    if not shown.strip():
        return answer
    before, wanted = _bare(shown), _bare(answer)
    if before.endswith(wanted):
        return ""
    begun = next((text for text in (before, *_tails(shown, before)) if text and wanted.startswith(text)), None)
    if begun is None:
        return f"\n\n{answer}"
    return _after(answer, len(begun))


def _tails(shown: str, bare: str) -> Iterator[str]:
    """Yield the bare text from each of its paragraphs to its end, the longest first."""
    at = 0
    for paragraph in shown.split("\n\n")[:-1]:
        at += len(_bare(paragraph))
        yield bare[at:]


def _bare(text: str) -> str:
    """Return a text without the characters that do not count when answer and stream are compared."""
    return _UNCOUNTED.sub("", text)


def _after(answer: str, count: int) -> str:
    """Return the answer without its first `count` counted characters and the citation marks that follow them."""
    at = 0
    while count and at < len(answer):
        uncounted = _UNCOUNTED.match(answer, at)
        at = uncounted.end() if uncounted else at + 1
        count -= not uncounted
    return re.sub(rf"\A(?:\s?{MARK.pattern})*\.?", "", answer[at:])
