"""The ASGI application."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI
from starlette.middleware.cors import CORSMiddleware

from preflight_rag.app import Preflight
from preflight_rag.server import ask, documents, errors, info, openai_chat, openai_embeddings, threads
from preflight_rag.server.gate import Gate
from preflight_rag.server.options import ServerOptions
from preflight_rag.server.page import page_router
from preflight_rag.server.service import Service
from preflight_rag.server.uploads import FOLDER, sweep


def create_app(preflight: Preflight, options: ServerOptions | None = None) -> FastAPI:
    """The web page, the API and OpenAI's API over one open library.

    Args:
        preflight: The application; it stays the caller's, to be closed after the server has ended.
        options: Limits, and who is let in.
    """
    from preflight_rag import __version__

    service = Service(preflight, options or ServerOptions())

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        await asyncio.to_thread(lambda: preflight.ledger)
        await asyncio.to_thread(sweep, preflight.folder / FOLDER)
        warming = asyncio.create_task(asyncio.to_thread(preflight.library.warm))
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
        lifespan=lifespan,
    )
    app.state.service = service
    errors.register(app)
    for module in (ask, threads, documents, info, openai_chat, openai_embeddings):
        app.include_router(module.router)
    app.include_router(page_router())
    app.add_middleware(Gate, service=service)
    if service.options.cors:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=list(service.options.cors),
            allow_methods=["GET", "POST", "PATCH", "DELETE"],
            allow_headers=["Authorization", "Content-Type", "X-Preflight-Thread"],
            expose_headers=["X-Preflight-Thread", "Retry-After"],
        )
    return app
