"""What one server is made of: its options, its numbers for Prometheus, the turns that run, and what routes share."""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import math
import os
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import Depends, Request
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from typing_extensions import TypeIs

from preflight_rag.app import Preflight
from preflight_rag.graph.events import ProgressEvent, StageEvent, TokenEvent
from preflight_rag.library.names import DocumentNames, names_of
from preflight_rag.library.storage.catalogue import UPLOADS
from preflight_rag.models.chat.chat_models import OFFLINE
from preflight_rag.server.access import KeyRing, Keys, User
from preflight_rag.server.connected_model import ModelEntry
from preflight_rag.server.errors import Refused
from preflight_rag.server.model_watch import ModelWatch
from preflight_rag.server.shared import Limit, SharedState
from preflight_rag.server.spending import Spending
from preflight_rag.server.upload_state import KeptFiles, Uploads
from preflight_rag.state.errors import LibraryError, PreflightError
from preflight_rag.state.values import Answer, Clarification

if TYPE_CHECKING:
    from preflight_rag.models.protocol import Reader
    from preflight_rag.server.siblings import Siblings

log = logging.getLogger("preflight.server")
MEGABYTE = 1024 * 1024
MINUTE = 60.0
SHARED_SECONDS = 15.0
"""How long a request waits to be counted, which takes milliseconds, before it is refused; a guess."""
WAITING = 4  # turns that may wait for each one that runs: a guess
REMEMBERED = 10_000  # conversations of OpenAI clients: a guess, about 2 MB
OVERVIEWS_FILE = "overviews.json"
OVERVIEWS = 500  # of documents that are remembered: a guess, about a megabyte
WRONG_KEY_COST = 20.0  # requests that a wrong key counts as: 30 guesses a minute at the default rate
METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"
# Buckets of seconds: from a static file to a turn of a slow local model.
_SECONDS = (0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100, 300)


@dataclass(frozen=True)
class ServerOptions:
    """Limits of a server, and who may use it; the numbers are guesses for one machine and its people.

    Attributes:
        require_keys: Every request needs a key, also while there is none. Without it a key is needed as soon as the
            library has one.
        cors: Origins whose pages may call the API with a key.
        offered: Models besides the server's own that people may choose for a turn.
        wanted: The server's model, where the application had to be opened without it.
        problem: Why it had to be.
        body_bytes: Longest JSON body.
        upload_bytes: Longest upload, all its files together.
        kept_bytes: What all uploads that are kept may take together.
        body_seconds: How long the next piece of a body may take.
        rate: Requests a minute for each user, or each address where nobody is known; 0 for no limit.
        user_tokens: Tokens a day that each user may spend on the language model; 0 for no limit.
        server_tokens: Tokens a day that all of them may; 0 for no limit.
        turns: Turns at once; so many again, times four, may wait. Nobody with a key takes more than half of all places.
        turn_seconds: How long one turn may take in all.
        heartbeat_seconds: A silent stream is kept open with a comment this often.
        session_seconds: How long the page stays signed in.
        libraries: Names of all libraries behind the address, this one among them; none where it is the only one.
        fetch_from: Web addresses below which documents may be added by URL, such as "https://example.org/"; none: off.
        fetch_private: Whether these may be in a private network, which is never so for others.
        entered: Whether the model that was connected on the page is taken again, where there is no other.
    """

    require_keys: bool = False
    cors: tuple[str, ...] = ()
    offered: tuple[str, ...] = ()
    wanted: str | None = None
    problem: str | None = None
    body_bytes: int = MEGABYTE
    upload_bytes: int = 200 * MEGABYTE
    kept_bytes: int = 20_000 * MEGABYTE
    body_seconds: float = 30.0
    rate: int = 600
    user_tokens: int = 0
    server_tokens: int = 0
    turns: int = 32
    turn_seconds: float = 900.0
    heartbeat_seconds: float = 15.0
    session_seconds: float = 12 * 3600.0
    libraries: tuple[str, ...] = ()
    fetch_from: tuple[str, ...] = ()
    fetch_private: bool = False
    entered: bool = True


class Metrics:
    """What a server counts. No label holds a user's words."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        own: dict[str, Any] = {"registry": self.registry}
        timed: dict[str, Any] = {"registry": self.registry, "buckets": _SECONDS}
        self.requests = Counter("preflight_requests", "HTTP requests.", ["method", "path", "status"], **own)
        self.request_seconds = Histogram(
            "preflight_request_seconds", "Seconds of a request, streams included.", ["path"], **timed
        )
        self.turns = Counter("preflight_turns", "Turns by route and outcome.", ["route", "status"], **own)
        self.turn_seconds = Histogram("preflight_turn_seconds", "Seconds of an answered turn.", ["route"], **timed)
        self.tokens = Counter("preflight_tokens", "Tokens of the language model.", ["direction"], **own)
        self.running = Gauge("preflight_turns_running", "Turns that are being taken.", **own)
        self.documents = Gauge("preflight_documents", "Documents in the library.", **own)
        self.passages = Gauge("preflight_passages", "Passages in the library.", **own)

    def text(self) -> bytes:
        """Return the numbers as Prometheus reads them."""
        return generate_latest(self.registry)


class Stopped:
    """The last item of a turn that was stopped on purpose."""


@dataclass(frozen=True)
class Queued:
    """A turn waits for others to end; `ahead` counts them."""

    ahead: int


Event = ProgressEvent | StageEvent | TokenEvent | Answer | Clarification
Outcome = Answer | Clarification | Exception | Stopped
Item = Event | Queued | Outcome
"""What is known of a turn, one thing after the other; an `Outcome` comes last."""


def is_last(item: Item | None) -> TypeIs[Outcome]:
    """Return whether no item of the turn comes after this one."""
    return isinstance(item, Answer | Clarification | Exception | Stopped)


class Listener:
    """One listener to a turn: all its items from the first on, also those that had come before; `get` gives the next.

    Attributes:
        thread_id: The turn's thread, as the ledger calls it.
        seconds: When the item that `get` gave last had come, counted from the turn's beginning.
    """

    def __init__(self, turn: RunningTurn, items: Sequence[tuple[float, Item]]) -> None:
        self.thread_id = turn.thread_id
        self.seconds = 0.0
        self._items: asyncio.Queue[tuple[float, Item]] = asyncio.Queue()
        for item in items:
            self._items.put_nowait(item)

    def take(self, seconds: float, item: Item) -> None:
        """Hear an item."""
        self._items.put_nowait((seconds, item))

    async def get(self, seconds: float | None = None) -> Item | None:
        """Return the next item, or None where none comes within the seconds."""
        try:
            async with asyncio.timeout(seconds):
                self.seconds, item = await self._items.get()
        except TimeoutError:
            return None
        return item

    async def outcome(self) -> Outcome:
        """Return the turn's last item."""
        while not is_last(item := await self.get()):
            pass
        return item


class RunningTurn:
    """One turn, in a task of its own. `get` gives its items in order, to whoever started it; others `listen`.

    Args:
        thread_id: The thread, as the ledger calls it.
        start: Starts the turn.
        turns: The server's turns, which this one is among.
    """

    def __init__(self, thread_id: str, start: Callable[[], AsyncGenerator[Event, None]], turns: RunningTurns) -> None:
        self.thread_id = thread_id
        self.started = time.perf_counter()
        self._items: list[tuple[float, Item]] = []
        self._listeners: list[Listener] = []
        self._own = self.listen()
        self._start, self._turns = start, turns
        self._task = asyncio.create_task(self._run(), name=f"turn {thread_id}")

    def listen(self) -> Listener:
        """Another listener, who hears the turn from its beginning."""
        listener = Listener(self, self._items)
        self._listeners.append(listener)
        return listener

    async def get(self, seconds: float | None = None) -> Item | None:
        """Return the next item, or None where none comes within the seconds."""
        return await self._own.get(seconds)

    @property
    def seconds(self) -> float:
        """When the item that `get` gave last had come, counted from the turn's beginning."""
        return self._own.seconds

    async def outcome(self) -> Outcome:
        """Return the turn's last item."""
        return await self._own.outcome()

    def stop(self) -> None:
        """Stop the turn; it may take a moment until it has ended."""
        self._task.cancel()

    async def ended(self, seconds: float = 10.0) -> None:
        """Wait until the turn has ended."""
        await asyncio.wait([self._task], timeout=seconds)

    def _put(self, item: Item) -> None:
        """Tell everybody who listens, and remember it for who comes later."""
        timed = time.perf_counter() - self.started, item
        self._items.append(timed)
        for listener in self._listeners:
            listener.take(*timed)

    async def _run(self) -> None:
        outcome: Outcome = Stopped()
        try:
            async with (
                self._turns.slot(self._put),
                asyncio.timeout(self._turns.turn_seconds),
                aclosing(self._start()) as events,
            ):
                async for event in events:
                    if is_last(event):
                        outcome = await asyncio.to_thread(self._turns.named, event)
                    else:
                        self._put(event)
        except asyncio.CancelledError:
            outcome = Stopped()
        except TimeoutError:
            outcome = Refused(504, f"the turn took longer than {self._turns.turn_seconds:g} s", help="Ask for less.")
        except (PreflightError, Refused, UnicodeEncodeError) as error:
            outcome = error
        except Exception as error:
            log.exception("a turn failed")
            outcome = error
        finally:
            self._turns.over(self, outcome)
            self._put(outcome)


class RunningTurns:
    """All turns of a server that are being taken.

    Args:
        most: Turns at once; `WAITING` times as many may wait.
        turn_seconds: How long one may take.
        metrics: Where turns are counted.
        names: What clients are shown in the place of paths.
    """

    def __init__(self, most: int, turn_seconds: float, metrics: Metrics, names: DocumentNames) -> None:
        self.turn_seconds = turn_seconds
        self._most, self._metrics, self._names = most, metrics, names
        self._slots = asyncio.Semaphore(most)
        self._turns: set[RunningTurn] = set()
        self._closed = False

    def start(self, thread_id: str, start: Callable[[], AsyncGenerator[Event, None]], of: str = "") -> RunningTurn:
        """Start a turn.

        Args:
            thread_id: The thread, as the ledger calls it.
            start: Starts the turn.
            of: What stands before the ids of all threads of whoever asks.

        Raises:
            Refused: Too many are running and waiting, or too many of whoever asks.
        """
        places = self._most * (1 + WAITING)
        if self._closed or len(self._turns) >= places:
            raise Refused(503, "the server is busy", help="Try again in a moment.", headers={"Retry-After": "5"})
        if of and sum(turn.thread_id.startswith(of) for turn in self._turns) >= max(places // 2, 1):
            help = "Try again when some of them have ended."
            raise Refused(429, "too many of your turns at once", help=help, headers={"Retry-After": "5"})
        turn = RunningTurn(thread_id, start, self)
        self._turns.add(turn)
        return turn

    @asynccontextmanager
    async def slot(self, report: Callable[[Queued], None]) -> AsyncIterator[None]:
        """A place among the turns that run at once; where there is none yet, that is reported."""
        if self._slots.locked():
            report(Queued(len(self._turns) - 1))
        async with self._slots:
            self._metrics.running.inc()
            try:
                yield
            finally:
                self._metrics.running.dec()

    @property
    def is_busy(self) -> bool:
        """Whether a turn is being taken, or waits."""
        return bool(self._turns)

    def of(self, thread_id: str) -> RunningTurn | None:
        """Return the turn that a thread takes now; of several, of which all but one wait for the thread, the first."""
        found = [turn for turn in self._turns if turn.thread_id == thread_id]
        return min(found, key=lambda turn: turn.started, default=None)

    async def stop(self, thread_id: str) -> bool:
        """Stop a thread's turns and wait for their end; false where none runs."""
        found = [turn for turn in self._turns if turn.thread_id == thread_id]
        for turn in found:
            turn.stop()
        for turn in found:
            await turn.ended()
        return bool(found)

    async def close(self) -> None:
        """Stop all turns, and take no more."""
        self.stop_all()
        for turn in list(self._turns):
            await turn.ended()

    def stop_all(self) -> None:
        """Ask all turns to stop, and take no more."""
        self._closed = True
        for turn in self._turns:
            turn.stop()

    def named(self, outcome: Answer | Clarification) -> Answer | Clarification:
        """Return an answer as clients are shown it: its documents by their names, not by paths of this machine."""
        if isinstance(outcome, Clarification):
            return outcome
        return Answer.model_validate(self._names.shown(outcome.model_dump()))

    def over(self, turn: RunningTurn, outcome: Outcome) -> None:
        """Count a turn that has ended."""
        self._turns.discard(turn)
        route, status = "none", "failed"
        if isinstance(outcome, Answer):
            route, status = outcome.route.name, "abstained" if outcome.abstained else "answered"
            self._metrics.turn_seconds.labels(route).observe(time.perf_counter() - turn.started)
            self._metrics.tokens.labels("input").inc(outcome.receipt.input_tokens)
            self._metrics.tokens.labels("output").inc(outcome.receipt.output_tokens)
        elif isinstance(outcome, Clarification):
            status = "asking"
        elif isinstance(outcome, Stopped):
            status = "stopped"
        self._metrics.turns.labels(route, status).inc()


class Conversations:
    """Which thread a conversation belongs to that an OpenAI client sends as a whole each time; in memory.

    After each answer the conversation so far is remembered by its hash, with the thread that holds it. When a client
    sends it again with one more question, that thread goes on, so that follow-ups know its citations, and a question
    back can be answered. A conversation that is not remembered, or was gone on with already, gets a thread of its own
    with the messages as its history.
    """

    def __init__(self) -> None:
        self._threads: dict[str, tuple[str, int]] = {}

    def take(self, user: str, history: Sequence[tuple[str, str]]) -> tuple[str, int] | None:
        """Return the thread of a history, and how many turns it has.

        Nobody else gets it until it is remembered again.
        """
        return self._threads.pop(_hash(user, history), None)

    def remember(self, user: str, history: Sequence[tuple[str, str]], thread_id: str, turns: int) -> None:
        """Remember the messages of a thread."""
        self._threads[_hash(user, history)] = (thread_id, turns)
        if len(self._threads) > REMEMBERED:
            self._threads.pop(next(iter(self._threads)))


def _hash(user: str, history: Sequence[tuple[str, str]]) -> str:
    messages = [user, *([role, " ".join(text.split())] for role, text in history)]
    return hashlib.sha256(json.dumps(messages).encode()).hexdigest()


class Overviews:
    """Questions that were found to be answered, by document: once for a state of the library, one at a time.

    Args:
        path: The file that keeps them, so that a server that is started again asks none of them again.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._made: dict[tuple[int, str], asyncio.Task[list[str]]] = {}
        self._one_at_a_time = asyncio.Lock()
        self._closing = False

    async def get(self, generation: int, name: str, make: Callable[[], list[str]], seconds: float) -> list[str] | None:
        """Return what `make` returns in a worker thread, or has returned for this name and state of the library.

        None where that takes longer than so many seconds: whoever asks again finds it.
        """

        async def made() -> list[str]:
            async with self._one_at_a_time:
                return [] if self._closing else await asyncio.to_thread(self._kept_or_made, generation, name, make)

        key = (generation, name)
        if (task := self._made.get(key)) is None:
            self._made = {other: each for other, each in self._made.items() if other[0] == generation}
            while len(self._made) >= OVERVIEWS:
                self._made.pop(next(iter(self._made)))
            task = self._made[key] = asyncio.create_task(made())
        await asyncio.wait([task], timeout=seconds)
        if not task.done():
            return None
        if task.exception() is not None:
            self._made.pop(key, None)
        return task.result()

    def _kept_or_made(self, generation: int, name: str, make: Callable[[], list[str]]) -> list[str]:
        kept = self._read(generation)
        if name in kept:
            return kept[name]
        made = make()
        if not self._closing:  # one that was cut short is not all that there is
            text = json.dumps({"generation": generation, "questions": {**kept, name: made}}, ensure_ascii=False)
            with suppress(OSError, UnicodeEncodeError):  # in a folder that cannot be written they are found anew
                written = self._path.with_suffix(f".{os.getpid()}.new")
                written.write_text(text, encoding="utf-8")
                written.replace(self._path)
        return made

    def _read(self, generation: int) -> dict[str, list[str]]:
        try:
            found = json.loads(self._path.read_text(encoding="utf-8"))
            questions = found["questions"] if found["generation"] == generation else {}
            return {str(name): [str(each) for each in kept] for name, kept in questions.items()}
        except (OSError, ValueError, KeyError, TypeError, AttributeError):  # none yet, or not as it was written
            return {}

    async def close(self) -> None:
        """Begin no further one, and wait for the one that is being made, which ends after its question."""
        self._closing = True
        await asyncio.gather(*self._made.values(), return_exceptions=True)


class Service:
    """One server's parts; made by `create_app`, closed when it ends. The `Preflight` is the caller's to close."""

    def __init__(self, preflight: Preflight, options: ServerOptions) -> None:
        self.preflight = preflight
        self.options = options
        self.keys = KeyRing(preflight.folder)
        self.shared = SharedState.of(preflight.folder, preflight.threads)
        self.rate = Limit(options.rate, MINUTE)
        self.spending = Spending(options.user_tokens, options.server_tokens, self.shared)
        self.metrics = Metrics()
        self.catalogue = preflight.library.catalogue
        self.names = names_of(preflight.library)
        self.running = RunningTurns(options.turns, options.turn_seconds, self.metrics, self.names)
        self.changing = asyncio.Lock()
        self.embedding = asyncio.Semaphore(1)
        self.conversations = Conversations()
        self.uploads = Uploads()
        self.kept_files = KeptFiles(preflight.folder.absolute() / UPLOADS)
        self.overviews = Overviews(preflight.folder.absolute() / OVERVIEWS_FILE)
        self.suggested: dict[str, asyncio.Task[list[str]]] = {}
        self.watch = ModelWatch(preflight, options.wanted, options.problem)
        self.entered: ModelEntry | None = None
        self.siblings: Siblings | None = None
        self._first = preflight.reader, self.watch
        self.closing = False
        self.working: set[asyncio.Task[Any]] = set()
        self._needs_key = options.require_keys

    async def keys_now(self) -> Keys:
        """Return the library's keys.

        Raises:
            Refused: They cannot be read.
        """
        try:
            keys = await self.keys.read()
        except LibraryError as error:
            log.warning("%s", error)
            raise Refused(503, "the keys cannot be read", help="Try again in a moment.", code="keys_locked") from None
        self._needs_key = self._needs_key or keys.any()
        return keys

    def needs_key(self) -> bool:
        """Return whether a key is needed. Once one was, it stays so: revoking the last key lets nobody in."""
        return self._needs_key

    async def admit(self, bucket: str, token: str = "", cost: float = 1.0) -> str | None:
        """Count a request, and find who is signed in on the page.

        Args:
            bucket: Who sends it, where no session does.
            token: Of the session, or "".
            cost: As how many requests it counts.

        Returns:
            The id of the session's key, or None.

        Raises:
            Refused: There were too many, or it cannot be found out.
        """
        try:
            async with asyncio.timeout(SHARED_SECONDS):
                found = await self.shared.admit(bucket, cost, self.rate, token)
        except (PreflightError, TimeoutError) as error:
            log.warning("requests cannot be counted: %s", error or "it took too long")
            help = "Try again in a moment."
            raise Refused(503, "sessions and limits cannot be read", help=help, code="limits_unreadable") from None
        if found.wait:
            seconds = str(math.ceil(found.wait))
            raise Refused(429, "too many requests", help=f"Wait {seconds} s.", headers={"Retry-After": seconds})
        return found.key_id

    async def wrong_key(self, address: str) -> None:
        """Count a wrong key against the address that it came from: who guesses soon has to wait.

        Raises:
            Refused: Too many came from there.
        """
        await self.admit(address, cost=WRONG_KEY_COST)

    def take_model(self, entry: ModelEntry | None, reader: Reader | None) -> None:
        """Take turns with a model that was connected on the page, or, with None, as the server was started."""
        self.entered = entry
        self.preflight.reader, self.watch = self._first
        if reader is not None:
            self.preflight.reader = reader
            self.watch = ModelWatch(self.preflight)

    def models(self) -> list[str]:
        """Models that people may choose, the server's own first."""
        offline = [] if self.preflight.reader.by_rule and self.options.wanted is None else [OFFLINE]
        return list(dict.fromkeys([self.watch.name, *offline, *self.options.offered]))

    def model_of(self, name: str | None) -> str | None:
        """Return a model that was asked for, None for the server's own.

        Raises:
            Refused: It is not offered.
        """
        if name is None or name == self.watch.name:
            return None
        if name not in (*self.models(), OFFLINE):
            raise Refused(
                404,
                f"the model {name[:80]!r} is not offered here",
                help=f"Choose one of: {', '.join(self.models())}.",
                code="unknown_model",
            )
        return name

    async def takes_turn(self, thread_id: str) -> bool:
        """Return whether a turn runs on a thread, here or at another worker of this server."""
        if self.running.of(thread_id) is not None:
            return True
        return self.siblings is not None and await self.siblings.holder(thread_id) is not None

    def forget(self, work: asyncio.Task[Any]) -> None:
        """Forget a piece of work that has ended, whatever became of it."""
        self.working.discard(work)
        if not work.cancelled():
            work.exception()

    async def close(self) -> None:
        """Stop every turn and ingest; turns can be resumed later.

        The application is let go of: FastAPI's objects refer to each other in a circle, which would keep its models in
        memory until the garbage collector comes by.
        """
        self.closing = True
        await self.overviews.close()
        await self.running.close()
        await self.watch.close()
        async with self.changing:
            self.keys.close()
            await self.shared.close()
            if self.siblings is not None:
                await self.siblings.close()
            del self.preflight, self.catalogue, self.names, self.watch, self._first


def service_of(request: Request) -> Service:
    """Return the service behind a route."""
    found: Service = request.app.state.service
    return found


def user_of(request: Request) -> User:
    """Who asks, as the gate has found."""
    found: User = request.state.user
    return found


def writer_of(request: Request) -> User:
    """Who asks, if they may change documents.

    Raises:
        Refused: They may not.
    """
    user = user_of(request)
    if not user.write:
        raise Refused(
            403, "this key may not change documents", help="`preflight keys add NAME --write` makes one that may."
        )
    return user


async def _service(request: Request) -> Service:
    """`service_of` for FastAPI, which calls what is not asynchronous in another thread."""
    return service_of(request)


async def _user(request: Request) -> User:
    return user_of(request)


ServiceOf = Annotated[Service, Depends(_service)]
UserOf = Annotated[User, Depends(_user)]
WriterOf = Annotated[User, Depends(writer_of)]
