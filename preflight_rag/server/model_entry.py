"""The routes by which an operator connects a language model on the page (`connected_model.py`).

The operator is whoever uses this machine while there are no keys, and otherwise anybody with an `admin` key.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Annotated, Any
from urllib.parse import urlsplit

from fastapi import APIRouter, Depends, Request
from pydantic import BaseModel, ConfigDict, SecretStr

from preflight_rag.models.chat.chat_models import open_chat_model
from preflight_rag.models.chat.model_errors import in_our_words
from preflight_rag.models.protocol import Reader
from preflight_rag.server.access import User, is_local
from preflight_rag.server.connected_model import FILE, ModelEntry
from preflight_rag.server.dependencies import ServiceOf, user_of
from preflight_rag.server.errors import Refused
from preflight_rag.server.service import Service
from preflight_rag.state.errors import ModelAuthError, ModelError, PreflightError

router = APIRouter(prefix="/api", tags=["server"])
# timeout of the first call to a model that is being connected: a guess, for one that has to be loaded
TRY_SECONDS = 20.0


class ModelBody(BaseModel):
    """An OpenAI-compatible server; without `model` its first one is used, without `key` none is sent."""

    model_config = ConfigDict(extra="forbid")

    base_url: str
    model: str = ""
    key: SecretStr = SecretStr("")


def operator_of(request: Request) -> User:
    """Return the user who sends the request, if they may connect a language model.

    Raises:
        Refused: The user may not connect a model.
    """
    user: User = request.state.user
    if not may_connect(request, user):
        help = "Open the page on the server's own machine, or use a key of `preflight keys add NAME --admin`."
        raise Refused(403, "only the person who runs this server may connect a language model", help=help)
    return user


def may_connect(request: Request, user: User) -> bool:
    """Return whether a user may connect a model: with an `admin` key, or from this machine while there are no keys."""
    service: Service = request.app.state.service
    if service.needs_key():
        return user.admin
    forwarded = any(name in request.headers for name in ("x-forwarded-for", "forwarded", "x-real-ip"))
    return request.client is not None and is_local(request.client.host) and not forwarded


OperatorOf = Annotated[User, Depends(operator_of)]


def entry_info(request: Request, service: Service) -> dict[str, Any]:
    """Return whether this user may connect a model, and, if so, which server is connected.

    The key is never returned.
    """
    if not may_connect(request, user_of(request)):
        return {"allowed": False, "host": None}
    entry = service.entered
    return {"allowed": True, "host": urlsplit(entry.base_url).hostname if entry else None}


@router.put("/model")
async def connect(body: ModelBody, service: ServiceOf, _user: OperatorOf) -> dict[str, str]:
    """Connect a language model: it is tried with one short call, stored on this server, and used for all turns."""
    entry = ModelEntry(_address(body.base_url), body.model.strip(), body.key)
    async with service.changing:
        reader = await _tried(entry, service)
        name = reader.name.removeprefix("openai:")
        kept = ModelEntry(entry.base_url, name, entry.key)
        await asyncio.to_thread(kept.write, service.preflight.folder)
        service.take_model(kept, reader)
    return {"model": reader.name}


@router.delete("/model", status_code=204)
async def disconnect(service: ServiceOf, _user: OperatorOf) -> None:
    """Delete the model and its key; turns are then run as the server was started."""
    async with service.changing:
        with suppress(FileNotFoundError):
            await asyncio.to_thread((service.preflight.folder / FILE).unlink)
        service.take_model(None, None)


def adopt(service: Service) -> None:
    """Use the model that was connected before this server was started, if it was started without one.

    A model that cannot be opened now is skipped; the page shows which model is used.
    """
    entry = ModelEntry.read(service.preflight.folder)
    if entry is None or not service.preflight.reader.by_rule or not service.options.entered:
        return
    with suppress(PreflightError):
        service.take_model(entry, entry.open(service.preflight))


def _address(given: str) -> str:
    """Return the address of an OpenAI-compatible server in its full form.

    Raises:
        Refused: The text is not such an address.
    """
    address = given.strip().rstrip("/")
    try:
        parts = urlsplit(address)
        known = parts.scheme in ("http", "https") and bool(parts.hostname) and not parts.username
    except ValueError:
        known = False
    if not known:
        help = "It begins with https:// or http:// and usually ends in /v1, such as https://api.openai.com/v1."
        raise Refused(400, "base_url is not the URL of a model server", help=help, param="base_url")
    return address


async def _tried(entry: ModelEntry, service: Service) -> Reader:
    """Return a reader with the model, after the model has answered once.

    Raises:
        Refused: It did not answer.
    """

    def ask() -> Reader:
        """Ask the model once."""
        reader = entry.open(service.preflight)
        model = open_chat_model(
            reader.name if reader.name.startswith("openai:") else f"openai:{reader.name}",
            timeout=TRY_SECONDS,
            base_url=entry.base_url,
            key=entry.key.get_secret_value() or None,
        )
        model.bind(max_tokens=16).invoke("Reply with the word OK.")
        return reader

    try:
        return await asyncio.to_thread(ask)
    except Exception as error:  # errors of the SDK, and any error that its parser has with the reply of a wrong server
        known = in_our_words(error, "The model")
        help = "Check the key." if isinstance(known, ModelAuthError) else "Check the address, the model and the key."
        message = known.message if isinstance(known, ModelError) else str(known)
        raise Refused(400, message, help=help, code="model_refused") from None
