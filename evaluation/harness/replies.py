"""A cache of language models' replies in SQLite, written as soon as they arrive, and a chat model that uses it.

The key of a reply is the SHA-256 of the canonical JSON of the messages, the model and the parameters, including the
server's address. So an interrupted run continues where it was, and a repeated one costs nothing.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import aclosing, closing, contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from time import perf_counter
from typing import Any, cast

from langchain_core.language_models import BaseChatModel
from langchain_core.language_models.chat_models import generate_from_stream
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.messages.utils import count_tokens_approximately
from langchain_core.outputs import ChatGeneration, ChatResult
from pydantic import PrivateAttr

from evaluation.harness.budget import Budget
from evaluation.runs import to_stderr
from preflight_rag.models.chat.runnables import LIMITS, with_newer_limit, with_reply_limit
from preflight_rag.state.errors import BudgetUsedUp
from preflight_rag.text.circles import CircleDetector

REFUSED = ("content_filter", "refusal", "safety")
"""Finish reasons of a reply that was withheld."""
IN_PROCESS = "gguf"
"""LangChain's type of models that run in this process."""
_BUSY_SECONDS = 10
_RETRY_SECONDS = 5.0
REPEAT: ContextVar[int] = ContextVar("repeat", default=0)
"""The number of the current repetition of the questions, so that each repetition has its own replies."""
_TABLE = """CREATE TABLE IF NOT EXISTS replies (key TEXT PRIMARY KEY, model TEXT, text TEXT, finish_reason TEXT,
refusal TEXT, input_tokens INTEGER, output_tokens INTEGER, estimated INTEGER, seconds REAL,
created TEXT DEFAULT CURRENT_TIMESTAMP)"""


@dataclass(frozen=True)
class StoredReply:
    """A reply as the model gave it; `seconds` is how long the original call took."""

    text: str
    finish_reason: str | None
    refusal: str | None
    input_tokens: int
    output_tokens: int
    estimated: bool
    seconds: float


_COLUMNS = tuple(StoredReply.__dataclass_fields__)


@dataclass(frozen=True)
class PromptCall:
    """One prompt of a case and its result.

    Attributes:
        messages: The prompt, each message with its `role` and `content`.
        reply: The reply; None if the call failed.
        cached: Whether it was taken from the cache.
        error: Why it failed.
        unpaid: Whether the budget refused it.
    """

    messages: tuple[dict[str, str], ...]
    reply: StoredReply | None
    cached: bool = False
    error: str = ""
    unpaid: bool = False

    @property
    def refused(self) -> bool:
        """Whether the model, or a filter behind it, withheld an answer."""
        return self.reply is not None and (bool(self.reply.refusal) or self.reply.finish_reason in REFUSED)

    def as_json(self) -> dict[str, Any]:
        """Return the call for `results.jsonl`, in which cached and new replies look the same."""
        known = {name: getattr(self.reply, name) for name in _COLUMNS if name != "seconds"} if self.reply else {}
        return {"messages": list(self.messages), **known, "error": self.error}


_CALLS: ContextVar[list[PromptCall] | None] = ContextVar("calls", default=None)


@contextmanager
def recording() -> Iterator[list[PromptCall]]:
    """Yield a list that collects the calls of cached models in the block, including those of tasks and threads.

    Calls of an inner recording are added to the outer one at its end.
    """
    outer, calls = _CALLS.get(), list[PromptCall]()
    token = _CALLS.set(calls)
    try:
        yield calls
    finally:
        _CALLS.reset(token)
        if outer is not None:
            outer.extend(calls)


class ReplyCache:
    """Replies by key, in a SQLite file that several runs may share.

    If the file cannot be used or the disk is full, there is a warning: the replies stay in memory and serve the rest of
    the run. Every few seconds, and when the cache is closed, writing is tried again; at last they go to a file in the
    folder for temporary files.

    Args:
        path: The file, created with its folder; None keeps the replies in memory only.
        warn: Called with the warning.
    """

    def __init__(self, path: Path | None, *, warn: Callable[[str], None] = to_stderr) -> None:
        self.path, self._warn = path, warn
        self._unsaved: dict[str, tuple[str, StoredReply]] = {}
        self.connection: sqlite3.Connection | None = None
        self._works, self._retry_at = path is not None, 0.0
        if path is not None:
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                self.connection = sqlite3.connect(path, timeout=_BUSY_SECONDS, check_same_thread=False)
                self.connection.execute("PRAGMA journal_mode=WAL")
                self.connection.execute("PRAGMA synchronous=NORMAL")
                self.connection.execute(_TABLE)
            except (OSError, sqlite3.Error) as error:
                self._failed(error)

    def get(self, key: str) -> StoredReply | None:
        """Return the reply for a key, or None."""
        if key in self._unsaved:
            return self._unsaved[key][1]
        if self.connection is None:
            return None
        try:
            row = self.connection.execute(f"SELECT {', '.join(_COLUMNS)} FROM replies WHERE key = ?", [key]).fetchone()  # noqa: S608
        except sqlite3.Error as error:
            self._failed(error)
            return None
        return StoredReply(**{**dict(zip(_COLUMNS, row, strict=True)), "estimated": bool(row[5])}) if row else None

    def put(self, key: str, model: str, reply: StoredReply) -> None:
        """Store a reply; it is in the file when this returns, unless there was a warning."""
        self._unsaved[key] = (model, reply)
        if self.connection is not None and (self._works or perf_counter() >= self._retry_at):
            self._save(self.connection)

    def close(self) -> None:
        """Close the file. Replies that could not be written are tried once more, and then stored elsewhere."""
        if self.connection is not None and self._unsaved:
            self._save(self.connection)
        if self.path is not None and self._unsaved:
            self._rescue(self.path)
        if self.connection is not None:
            self.connection.close()
            self.connection = None

    def _rescue(self, path: Path) -> None:
        """Write the content of the file, and the replies that did not fit, to the folder for temporary files."""
        missing = f"warning: {len(self._unsaved):,} replies did not get into {str(path)!r}"
        other: Path | None = None
        try:
            other = Path(mkdtemp(prefix="preflight-")) / path.name
            if self.connection is not None:
                with suppress(sqlite3.DatabaseError):
                    self.connection.execute("VACUUM INTO ?", [str(other)])
            with closing(sqlite3.connect(other)) as database:
                database.execute(_TABLE)
                self._insert(database)
        except (OSError, sqlite3.Error):
            if other is not None:
                rmtree(other.parent, ignore_errors=True)
            self._warn(f"{missing}; the next run asks for them again. results.jsonl of --out holds their texts.")
        else:
            self._unsaved.clear()
            self._warn(f"{missing}; all are in {str(other)!r}: move it there, or give it as --reply-cache.")

    def _save(self, connection: sqlite3.Connection) -> None:
        """Write the unsaved replies; a failure is reported once."""
        try:
            self._insert(connection)
        except sqlite3.Error as error:
            self._failed(error)
        else:
            self._unsaved.clear()
            self._works = True

    def _insert(self, connection: sqlite3.Connection) -> None:
        """Insert the unsaved replies into the file."""
        names = ("key", "model", *_COLUMNS)
        rows = []
        for key, (model, reply) in self._unsaved.items():
            rows.append((key, model, *(getattr(reply, name) for name in _COLUMNS)))
        statement = f"INSERT OR REPLACE INTO replies ({', '.join(names)}) VALUES ({', '.join('?' * len(names))})"  # noqa: S608
        with connection:
            connection.executemany(statement, rows)

    def _failed(self, error: Exception) -> None:
        """Warn once that replies cannot be stored, and set the time of the next try."""
        self._retry_at = perf_counter() + _RETRY_SECONDS
        if self._works:
            self._works = False
            reason = str(error).splitlines()[0]
            self._warn(
                f"warning: replies cannot be kept in {str(self.path)!r} ({reason}); the run goes on, holds them in "
                "memory and tries again. Free some space, or give another --reply-cache."
            )


def request_key(messages: Sequence[BaseMessage], model: str, parameters: dict[str, Any]) -> str:
    """Return the SHA-256 of a request's canonical JSON, in hexadecimal."""
    asked = [{"role": message.type, "content": message.content} for message in messages]
    request = {"messages": asked, "model": model, "parameters": parameters}
    text = json.dumps(request, sort_keys=True, separators=(",", ":"), ensure_ascii=False, default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def cached(chat_model: BaseChatModel, cache: ReplyCache, budget: Budget) -> CachedChatModel:
    """Return a chat model that looks in the cache first, then asks the budget, then the model.

    It can replace the model anywhere.
    """
    named = getattr(chat_model, "model_name", None) or getattr(chat_model, "model", None) or chat_model._llm_type
    limit = next((tokens for name in LIMITS if (tokens := getattr(chat_model, name, None)) is not None), None)
    limited = {} if limit is None else {"max_tokens": limit}
    return CachedChatModel(inner=chat_model, replies=cache, budget=budget, model=str(named), **limited)


@dataclass
class _UnderWay:
    """The requests in progress, and the event loop that they run on: one object for all copies of a model."""

    requests: dict[str, asyncio.Task[StoredReply]] = field(default_factory=dict)
    loop: asyncio.AbstractEventLoop | None = None


class CachedChatModel(BaseChatModel):
    """The model of `cached`. Concurrent calls with the same prompt share one request.

    Attributes:
        max_tokens: Most tokens of a reply, passed on to `inner`, as each prompt sets it.
        newer_limit: Whether the server has refused the old name of that limit.
    """

    inner: BaseChatModel
    replies: Any
    budget: Any
    model: str
    max_tokens: int | None = None
    newer_limit: bool = False
    _under_way: _UnderWay = PrivateAttr(default_factory=_UnderWay)

    @property
    def _llm_type(self) -> str:
        return self.inner._llm_type

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters that a reply depends on besides prompt and model: the server, the temperature, and so on."""
        server = getattr(self.inner, "openai_api_base", None) or getattr(self.inner, "base_url", None)
        limit = {} if self.max_tokens is None else {"max_tokens": self.max_tokens}
        return {**self.inner._identifying_params, "server": server, **limit}

    def _generate(
        self, messages: list[BaseMessage], stop: list[str] | None = None, run_manager: Any = None, **kwargs: Any
    ) -> ChatResult:
        return asyncio.run(self._agenerate(messages, stop, **kwargs))

    async def _agenerate(
        self, messages: list[BaseMessage], stop: list[str] | None = None, run_manager: Any = None, **kwargs: Any
    ) -> ChatResult:
        again = {"repeat": REPEAT.get()} if REPEAT.get() else {}
        key = request_key(messages, self.model, {**self.parameters, **kwargs, "stop": stop, **again})
        reply = self.replies.get(key)
        known = reply is not None
        if reply is None:
            try:
                known = self._is_under_way(key)
                reply = await self._once(key, messages, stop, kwargs)
            except Exception as error:
                _record(PromptCall(_plain(messages), None, error=str(error), unpaid=isinstance(error, BudgetUsedUp)))
                raise
        if known:
            self.budget.replayed += 1
        _record(PromptCall(_plain(messages), reply, cached=known))
        return _as_result(reply)

    def _is_under_way(self, key: str) -> bool:
        """Return whether a request with this key is running on this event loop."""
        task = self._under_way.requests.get(key)
        return task is not None and not task.done() and task.get_loop() is asyncio.get_running_loop()

    async def _once(
        self, key: str, messages: list[BaseMessage], stop: list[str] | None, kwargs: dict[str, Any]
    ) -> StoredReply:
        """Make a request, or wait for one with the same key; a reply is stored even if nobody waits any more."""
        if not self._is_under_way(key):
            task = asyncio.create_task(self._ask(key, messages, stop, kwargs))
            self._under_way.requests[key] = task
            task.add_done_callback(lambda done: self._forget(key, done))
        return await asyncio.shield(self._under_way.requests[key])

    def _forget(self, key: str, task: asyncio.Task[StoredReply]) -> None:
        """Remove a finished call from those under way, and mark its error as seen."""
        if self._under_way.requests.get(key) is task:
            del self._under_way.requests[key]
        with suppress(asyncio.CancelledError):
            task.exception()

    async def _ask(
        self, key: str, messages: list[BaseMessage], stop: list[str] | None, kwargs: dict[str, Any]
    ) -> StoredReply:
        """Ask the model within the budget and the rate limit."""
        if self._under_way.loop is not asyncio.get_running_loop():
            renew_connections(self.inner)
            self._under_way.loop = asyncio.get_running_loop()
        async with self.budget.call(count_tokens_approximately(messages), self.max_tokens) as paid:
            if self.inner.rate_limiter is not None:
                await self.inner.rate_limiter.aacquire(blocking=True)
            started = perf_counter()
            result = await _generate(self._limited(), messages, stop, kwargs)
            reply = _stored(messages, result, perf_counter() - started)
            paid.input_tokens, paid.output_tokens = reply.input_tokens, reply.output_tokens
        if reply.finish_reason is not None or self._llm_type != "openai-chat":
            self.replies.put(key, self.model, reply)
        return reply

    def _limited(self) -> BaseChatModel:
        """Return the model with the reply limit of this object, under the name that its server takes."""
        model: Any = self.inner if self.max_tokens is None else with_reply_limit(self.inner, self.max_tokens)
        return cast(BaseChatModel, with_newer_limit(model) if self.newer_limit else model)


async def _generate(
    model: BaseChatModel, messages: list[BaseMessage], stop: list[str] | None, kwargs: dict[str, Any]
) -> ChatResult:
    """Return a model's reply. One of a model in this process ends where it begins to go round in circles."""
    if model._llm_type != IN_PROCESS:
        return await model._agenerate(messages, stop, None, **kwargs)
    detector, pieces = CircleDetector(), []
    async with aclosing(model._astream(messages, stop, None, **kwargs)) as stream:  # type: ignore[type-var]
        async for piece in stream:
            pieces.append(piece)
            if detector.feed(str(piece.message.text)):
                break
    return generate_from_stream(iter(pieces))


def _stored(messages: list[BaseMessage], result: ChatResult, seconds: float) -> StoredReply:
    """Return a model's result in the form in which it is stored."""
    generation = result.generations[0]
    message = generation.message
    metadata = {**message.response_metadata, **(generation.generation_info or {})}
    usage: Any = getattr(message, "usage_metadata", None)
    known = bool(usage and usage["input_tokens"])
    return StoredReply(
        text=str(message.text),
        finish_reason=metadata.get("finish_reason") or metadata.get("stop_reason") or metadata.get("done_reason"),
        refusal=message.additional_kwargs.get("refusal"),
        input_tokens=usage["input_tokens"] if known else count_tokens_approximately(messages),
        output_tokens=usage["output_tokens"] if known else count_tokens_approximately([message]),
        estimated=not known,
        seconds=seconds,
    )


def _as_result(reply: StoredReply) -> ChatResult:
    """Return a stored reply as a model's result."""
    usage = {
        "input_tokens": reply.input_tokens,
        "output_tokens": reply.output_tokens,
        "total_tokens": reply.input_tokens + reply.output_tokens,
    }
    message = AIMessage(
        reply.text,
        usage_metadata=None if reply.estimated else usage,
        additional_kwargs={"refusal": reply.refusal} if reply.refusal else {},
    )
    info = {"finish_reason": reply.finish_reason} if reply.finish_reason else {}
    return ChatResult(generations=[ChatGeneration(message=message, generation_info=info)])


def _plain(messages: list[BaseMessage]) -> tuple[dict[str, str], ...]:
    """Return messages as plain mappings of role and content."""
    return tuple({"role": message.type, "content": str(message.text)} for message in messages)


def _record(call: PromptCall) -> None:
    """Add a call to the list of calls that the current context collects, if it does."""
    calls = _CALLS.get()
    if calls is not None:
        calls.append(call)


def renew_connections(chat_model: BaseChatModel) -> None:
    """Give an OpenAI client a connection pool of its own; call it at the start of each event loop.

    langchain-openai shares one pool over all event loops of a process. Connections left in it by a closed loop fail in
    the next one. Other providers' clients are not changed.
    """
    client: Any = getattr(chat_model, "root_async_client", None)
    if client is None or chat_model._llm_type != "openai-chat":
        return
    from openai import DefaultAsyncHttpxClient

    renewed = client.with_options(http_client=DefaultAsyncHttpxClient())
    model: Any = chat_model
    model.root_async_client, model.async_client = renewed, renewed.chat.completions
