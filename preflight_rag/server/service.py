"""The parts of one server, which its routes share."""

from __future__ import annotations

import asyncio
import logging
import math
from typing import TYPE_CHECKING, Any

from preflight_rag.app import Preflight
from preflight_rag.library.names import names_of
from preflight_rag.library.storage.catalogue import UPLOADS
from preflight_rag.models.chat.chat_models import OFFLINE
from preflight_rag.server.access import KeyRing, Keys
from preflight_rag.server.connected_model import ModelEntry
from preflight_rag.server.conversations import Conversations
from preflight_rag.server.errors import Refused
from preflight_rag.server.kept_overviews import OVERVIEWS_FILE, Overviews
from preflight_rag.server.metrics import Metrics
from preflight_rag.server.model_watch import ModelWatch
from preflight_rag.server.options import ServerOptions
from preflight_rag.server.running_turns import RunningTurns
from preflight_rag.server.shared import BucketLimit, SharedState
from preflight_rag.server.spending import TokenBuckets
from preflight_rag.server.upload_state import KeptFiles, Uploads
from preflight_rag.state.errors import LibraryError, PreflightError

if TYPE_CHECKING:
    from preflight_rag.models.protocol import Reader

log = logging.getLogger("preflight.server")
MINUTE = 60.0
SHARED_SECONDS = 15.0
"""Timeout of counting a request, which takes milliseconds; the request is then refused. A guess."""
WRONG_KEY_COST = 20.0  # number of requests that a wrong key counts as: 30 tries a minute at the default rate


class Service:
    """One server's parts; made by `create_app`, closed when it ends.

    The given `Preflight` belongs to the caller, who closes it, and is not changed: with a model that was connected on
    the page, `preflight` is another one over the same library and conversations.
    """

    def __init__(self, preflight: Preflight, options: ServerOptions) -> None:
        self.preflight = preflight
        self.options = options
        self.keys = KeyRing(preflight.folder)
        self.shared = SharedState.of(preflight.folder, preflight.threads)
        self.rate = BucketLimit(options.rate, MINUTE)
        self.spending = TokenBuckets(options.user_tokens, options.server_tokens, self.shared)
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
        self._first = preflight, self.watch
        self.closing = False
        self.working: set[asyncio.Task[Any]] = set()
        self._needs_key = options.require_keys

    async def keys_now(self) -> Keys:
        """Return the library's API keys, read anew if the file has changed.

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
        """Return whether a key is needed. Once needed, it stays so: revoking the last key does not open the server."""
        return self._needs_key

    async def admit(self, bucket: str, token: str = "", cost: float = 1.0) -> str | None:
        """Count a request, and return the id of the key with which the page is signed in.

        Args:
            bucket: The bucket that it counts against, unless `token` belongs to a session, which has its own.
            token: The token of the page's session, or "".
            cost: The number of requests that it counts as.

        Returns:
            The id of the session's key, or None.

        Raises:
            Refused: There were too many requests, or the database of sessions and buckets cannot be read.
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
        """Count a wrong key against the address that it came from, which slows down guessing.

        Raises:
            Refused: Too many came from there.
        """
        await self.admit(address, cost=WRONG_KEY_COST)

    def take_model(self, entry: ModelEntry | None, reader: Reader | None) -> None:
        """Run turns with a model that was connected on the page, or, with None, as the server was started."""
        self.entered = entry
        self.preflight, self.watch = self._first
        if reader is not None:
            self.preflight = self.preflight.with_reader(reader)
            self.watch = ModelWatch(self.preflight)

    def models(self) -> list[str]:
        """Return the models that users may choose, the server's own first."""
        offline = [] if self.preflight.reader.by_rule and self.options.wanted is None else [OFFLINE]
        return list(dict.fromkeys([self.watch.name, *offline, *self.options.offered]))

    def model_of(self, name: str | None) -> str | None:
        """Return a requested model, None for the server's own.

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

    def forget(self, work: asyncio.Task[Any]) -> None:
        """Remove a finished task from the set of tasks, and mark its error as seen."""
        self.working.discard(work)
        if not work.cancelled():
            work.exception()

    async def close(self) -> None:
        """Stop every turn and ingest; turns can be resumed later.

        The reference to the application is dropped: FastAPI's objects refer to each other in a circle, which would keep
        the models in memory until the garbage collector runs.
        """
        self.closing = True
        await self.overviews.close()
        await self.running.close()
        await self.watch.close()
        async with self.changing:
            self.keys.close()
            await self.shared.close()
            del self.preflight, self.catalogue, self.names, self.watch, self._first
