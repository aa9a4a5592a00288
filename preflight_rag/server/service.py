"""What the routes share: the application over the library, the keys, and what is running."""

from __future__ import annotations

import asyncio
import math
from typing import Annotated, Any

from fastapi import Depends, Request

from preflight_rag.app import Preflight
from preflight_rag.models.chat.chat_models import OFFLINE
from preflight_rag.server.conversations import Conversations
from preflight_rag.server.errors import Refused
from preflight_rag.server.keys import KeyRing
from preflight_rag.server.metrics import Metrics
from preflight_rag.server.options import ServerOptions
from preflight_rag.server.rates import Rates
from preflight_rag.server.running import Running
from preflight_rag.server.users import Sessions, User

WRONG_KEY_COST = 20.0


class Service:
    """One server's parts; made by `create_app`, closed when it ends. The `Preflight` is the caller's to close."""

    def __init__(self, preflight: Preflight, options: ServerOptions) -> None:
        self.preflight = preflight
        self.options = options
        self.keys = KeyRing(preflight.folder)
        self.sessions = Sessions(options.session_seconds)
        self.rates = Rates(options.rate)
        self.metrics = Metrics()
        self.running = Running(options.turns, options.turn_seconds, self.metrics)
        self.catalogue = preflight.library.catalogue
        self.changing = asyncio.Lock()
        self.conversations = Conversations()
        self.closing = False
        self.working: set[asyncio.Task[Any]] = set()
        self._needs_key = options.require_keys

    def needs_key(self) -> bool:
        """Whether a key is needed. Once one was, it stays so: revoking the last key opens no door."""
        self._needs_key = self._needs_key or self.keys.any()
        return self._needs_key

    def wrong_key(self, address: str) -> None:
        """Count a wrong key against the address that showed it: guessing soon has to wait.

        Raises:
            Refused: It has shown too many.
        """
        self.take(address, WRONG_KEY_COST)

    def take(self, who: str, cost: float = 1.0) -> None:
        """Count a request.

        Raises:
            Refused: There were too many.
        """
        wait = self.rates.take(who, min(cost, self.options.rate))
        if wait:
            seconds = str(math.ceil(wait))
            raise Refused(429, "too many requests", help=f"Wait {seconds} s.", headers={"Retry-After": seconds})

    def models(self) -> list[str]:
        """Models that people may choose, the server's own first."""
        reader = self.preflight.reader
        offline = [] if reader.by_rule else [OFFLINE]
        return list(dict.fromkeys([reader.name, *offline, *self.options.offered]))

    def model_of(self, name: str | None) -> str | None:
        """A model that was asked for, None for the server's own.

        Raises:
            Refused: It is not offered.
        """
        if name is None or name == self.preflight.reader.name:
            return None
        if name not in (*self.models(), OFFLINE):
            raise Refused(
                404,
                f"the model {name[:80]!r} is not offered here",
                help=f"Choose one of: {', '.join(self.models())}.",
                code="unknown_model",
            )
        return name

    def left(self, work: asyncio.Task[Any]) -> None:
        """Forget a piece of work that has ended, whatever became of it."""
        self.working.discard(work)
        if not work.cancelled():
            work.exception()

    async def close(self) -> None:
        """Stop every turn and ingest; turns can be resumed later."""
        self.closing = True
        await self.running.close()
        async with self.changing:
            self.keys.close()


def service_of(request: Request) -> Service:
    """The service behind a route."""
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


ServiceOf = Annotated[Service, Depends(service_of)]
UserOf = Annotated[User, Depends(user_of)]
WriterOf = Annotated[User, Depends(writer_of)]
