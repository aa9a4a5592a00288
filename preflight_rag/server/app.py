"""The ASGI application, and how it is run: Ctrl-C stops every turn so that it can be resumed."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import cast

from fastapi import FastAPI
from starlette.middleware.cors import CORSMiddleware

from preflight_rag.app import Preflight
from preflight_rag.library.storage.catalogue import UPLOADS
from preflight_rag.server import (
    embeddings,
    errors,
    info,
    library,
    model_entry,
    openai,
    overviews,
    responses,
    suggestions,
    threads,
    turns,
    uploads,
    web_fetch,
)
from preflight_rag.server.access import KeyRing, bind, check_bind, url_of
from preflight_rag.server.connections import (
    EndingServer,
    ask_for_file_handles,
    configured,
    keep_files_private,
    share_freed_memory,
)
from preflight_rag.server.description import describe_as_it_behaves
from preflight_rag.server.gate import Gate
from preflight_rag.server.options import ServerOptions
from preflight_rag.server.page import page_router
from preflight_rag.server.service import Service
from preflight_rag.server.several import Several
from preflight_rag.server.uploads import remove_incoming


def create_app(preflight: Preflight, options: ServerOptions | None = None) -> FastAPI:
    """Return the web page, the API and OpenAI's API over one open library.

    Args:
        preflight: The application; the caller closes it after the server has ended.
        options: Limits and access.
    """
    from preflight_rag import __version__

    service = Service(preflight, options or ServerOptions())

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        await asyncio.to_thread(lambda: service.preflight.ledger)
        await service.shared.open()
        await asyncio.to_thread(model_entry.adopt, service)
        await asyncio.to_thread(remove_incoming, service.preflight.folder / UPLOADS)
        service.watch.look(now=True)
        warming = asyncio.create_task(asyncio.to_thread(service.preflight.library.warm))
        try:
            yield
        finally:
            await service.close()
            await warming

    app = FastAPI(
        title="Preflight RAG",
        version=__version__,
        description="Question answering over one library, with its evidence.",
        openapi_url="/api/openapi.json",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,  # a redirect would be a reply that the OpenAPI document does not describe
        lifespan=lifespan,
    )
    app.state.service = service
    errors.register(app)
    for module in (
        turns,
        suggestions,
        threads,
        library,
        overviews,
        uploads,
        web_fetch,
        info,
        model_entry,
        openai,
        embeddings,
        responses,
    ):
        app.include_router(module.router)
    app.include_router(page_router())
    describe_as_it_behaves(app)
    app.add_middleware(Gate, service=service)
    if service.options.cors:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=list(service.options.cors),
            allow_methods=["GET", "POST", "PUT", "PATCH", "DELETE"],
            allow_headers=["Authorization", "Content-Type", "X-Preflight-Thread"],
            expose_headers=["X-Preflight-Thread", "Retry-After"],
        )
    return app


def create_app_of_several(libraries: Mapping[str, Preflight], options: ServerOptions | None = None) -> Several:
    """Return one application over several open libraries, among which users choose on the page.

    Args:
        libraries: Applications by name; the caller closes them.
        options: Limits and access, for each of them.
    """
    own = replace(options or ServerOptions(), libraries=tuple(libraries))
    return Several({name: create_app(preflight, own) for name, preflight in libraries.items()})


# Seconds that Ctrl-C waits for open connections; stopping a turn takes up to a second or two.
GRACE_SECONDS = 4


def serve(
    preflight: Preflight | Mapping[str, Preflight],
    *,
    host: str = "127.0.0.1",
    port: int = 8765,
    options: ServerOptions | None = None,
    access_log: bool = True,
    started: Callable[[str], None] = lambda _url: None,
) -> None:
    """Serve a library until Ctrl-C.

    Args:
        preflight: The application, or several by name, among which users choose on the page.
        host: An address of this machine; any but the loopback address needs a key.
        port: 0 for a free one.
        options: Limits and access.
        access_log: Whether each request is a line on standard error.
        started: Called with the address once it is open.

    Raises:
        UsageError: The address cannot be used, or there is no key for it.
    """
    for each in preflight.values() if isinstance(preflight, Mapping) else [preflight]:
        keys = KeyRing(each.folder)
        try:
            check_bind(host, keys)
        finally:
            keys.close()
    keep_files_private()
    share_freed_memory()
    ask_for_file_handles()
    with bind(host, port) as listening:
        config = configured(
            create_app_of_several(preflight, options)
            if isinstance(preflight, Mapping)
            else create_app(preflight, options),
            log_config=None,
            access_log=False,
            # The client's address is that of the connection: a forwarding header is trusted only from proxies that the
            # operator names.
            proxy_headers="FORWARDED_ALLOW_IPS" in os.environ,
            timeout_graceful_shutdown=GRACE_SECONDS,
        )
        _set_up_logging(access_log)
        started(url_of(host, listening))
        _Server(config).run(sockets=[listening])


class _Server(EndingServer):
    """A server that stops running turns before it waits for their connections."""

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End the turns, then the connections."""
        app = self.config.app
        for each in list(app.apps.values()) if isinstance(app, Several) else [cast("FastAPI", app)]:
            each.state.service.running.stop_all()
        await super().shutdown(sockets)


def _set_up_logging(access: bool) -> None:
    """Write uvicorn's warnings and our own logs to the terminal; requests only if `access` is set."""
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s %(message)s", "%H:%M:%S"))
    for name, level in (("preflight.access", logging.INFO), ("preflight.server", logging.INFO), ("uvicorn", "WARNING")):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(level if access or name != "preflight.access" else logging.CRITICAL)
