"""Arguments that FastAPI passes to the routes: the server's parts, and the user who sends the request."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Request

from preflight_rag.server.access import User
from preflight_rag.server.errors import Refused
from preflight_rag.server.service import Service


def service_of(request: Request) -> Service:
    """Return the service behind a route."""
    found: Service = request.app.state.service
    return found


def user_of(request: Request) -> User:
    """Return the user who sends the request, as identified by `gate.py`."""
    found: User = request.state.user
    return found


def writer_of(request: Request) -> User:
    """Return the user who sends the request, if they may change documents.

    Raises:
        Refused: The user may not change documents.
    """
    user = user_of(request)
    if not user.write:
        raise Refused(
            403, "this key may not change documents", help="`preflight keys add NAME --write` makes one that may."
        )
    return user


async def _service(request: Request) -> Service:
    """Return the service behind a route; asynchronous, because FastAPI calls other functions in a thread."""
    return service_of(request)


async def _user(request: Request) -> User:
    """Return the user who sends the request; asynchronous for the same reason."""
    return user_of(request)


ServiceOf = Annotated[Service, Depends(_service)]
UserOf = Annotated[User, Depends(_user)]
WriterOf = Annotated[User, Depends(writer_of)]
