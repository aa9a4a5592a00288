"""Routes about the server itself: info, session, health, metrics, and the page that documents the API."""

from __future__ import annotations

import asyncio
import json
from html import escape
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse, JSONResponse, PlainTextResponse
from pydantic import BaseModel, ConfigDict

from preflight_rag.server.dependencies import ServiceOf, UserOf
from preflight_rag.server.errors import Refused
from preflight_rag.server.gate import COOKIE, session_token
from preflight_rag.server.metrics import METRICS_TYPE
from preflight_rag.server.model_entry import entry_info
from preflight_rag.server.service import Service
from preflight_rag.state.calls import CHOICES

router = APIRouter()
ROUTES = ("auto", "plain", "map-reduce", "corg")
STYLE = """:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif }
body { max-width: 60rem; margin: 2rem auto; padding: 0 1rem } h2 { margin-top: 2.5rem }
code { font-family: ui-monospace, monospace } summary { cursor: pointer }
pre { overflow: auto; padding: .75rem; border: 1px solid color-mix(in srgb, currentColor 20%, transparent) }
.method { font-weight: 700; display: inline-block; min-width: 4.5rem }
"""


class SessionBody(BaseModel):
    """The key with which the page signs in."""

    model_config = ConfigDict(extra="forbid")

    key: str


@router.get("/api/info", tags=["server"])
def info(request: Request, service: ServiceOf, user: UserOf) -> dict[str, Any]:
    """Version, models, routes, the library, the user, defaults and limits."""
    from preflight_rag import __version__

    preflight, options = service.preflight, service.options
    defaults = preflight.settings.model_dump(mode="json", include=set(CHOICES))
    return {
        "version": __version__,
        "model": service.watch.name,
        "model_problem": service.watch.problem,
        "models": service.models(),
        "model_entry": entry_info(request, service),
        "routes": list(ROUTES),
        "library": _library(service),
        "libraries": list(options.libraries),
        "user": user.name,
        "write": user.write,
        "auth": service.needs_key(),
        "settings": defaults,
        "limits": {"body_bytes": options.body_bytes, "upload_bytes": options.upload_bytes},
        "fetch_from": list(options.fetch_from),
    }


@router.post("/api/session", tags=["server"])
async def sign_in(body: SessionBody, request: Request, service: ServiceOf) -> JSONResponse:
    """Open the page's session with a key: a cookie that scripts cannot read."""
    key = (await service.keys_now()).find(body.key.strip())
    if key is None:
        await service.wrong_key(request.client.host if request.client else "unknown")
        raise Refused(401, "this key is not known", help="`preflight keys add NAME` makes one.")
    response = JSONResponse({"user": key.name, "write": key.write})
    response.set_cookie(
        COOKIE,
        await service.shared.begin(key.id, service.options.session_seconds),
        max_age=int(service.options.session_seconds),
        httponly=True,
        samesite="strict",
        secure=request.url.scheme == "https",
    )
    return response


@router.delete("/api/session", tags=["server"], status_code=204)
async def sign_out(request: Request, service: ServiceOf) -> Response:
    """End the page's session."""
    await service.shared.end(session_token(request.headers))
    response = Response(status_code=204)
    response.delete_cookie(COOKIE, httponly=True, samesite="strict")
    return response


@router.get("/health", tags=["server"])
async def health(request: Request, service: ServiceOf) -> JSONResponse:
    """Whether the server can answer; "degraded" without its model. Without a key, only the status is returned."""
    try:
        stats = await asyncio.to_thread(service.preflight.library.stats)
    except Exception:
        return JSONResponse({"status": "broken", "library": "cannot be read"}, 503)
    service.watch.look()
    status = "degraded" if service.watch.problem else "ok"
    if request.state.user is None:
        return JSONResponse({"status": status})
    index = stats["index"] or {}
    waiting = index.get("waiting_documents", 0)
    state = "ready" if stats["index"] and not waiting else "waiting" if stats["passages"] else "empty"
    details = {"library": _library(service), "model": service.watch.name, "index": state}
    problem = {"model_problem": service.watch.problem}
    return JSONResponse({"status": status, **details, **problem, "notes": service.preflight.notes})


@router.get("/metrics", tags=["server"], response_class=PlainTextResponse)
async def metrics(service: ServiceOf, _user: UserOf) -> Response:
    """Numbers for Prometheus."""
    counts = await asyncio.to_thread(service.catalogue.counts)
    service.metrics.documents.set(counts["documents"])
    service.metrics.passages.set(counts["passages"])
    return Response(service.metrics.text(), media_type=METRICS_TYPE)


@router.get("/api/docs", include_in_schema=False)
def docs(request: Request) -> HTMLResponse:
    """All calls on one page, made from the OpenAPI description; nothing is loaded from elsewhere."""
    return HTMLResponse(_page(request.app.openapi()))


@router.get("/api/docs.css", include_in_schema=False)
def docs_style() -> Response:
    """The style sheet of the page on the API."""
    return Response(STYLE, media_type="text/css")


def _library(service: Service) -> dict[str, Any]:
    """Return the library's name and its numbers of documents and passages."""
    counts = service.catalogue.counts()
    return {"name": service.preflight.library.name, "documents": counts["documents"], "passages": counts["passages"]}


def _page(schema: dict[str, Any]) -> str:
    """Return the page that describes the API, from its OpenAPI schema."""
    models = schema.get("components", {}).get("schemas", {})
    calls = []
    for path, methods in schema["paths"].items():
        for method, call in methods.items():
            calls.append(_call(method, path, call, models))
    head = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Preflight RAG: the API</title>'
        '<meta name="viewport" content="width=device-width"><link rel="stylesheet" href="/api/docs.css"></head>'
    )
    intro = 'Described for programs in <a href="/api/openapi.json">/api/openapi.json</a>.'
    return f"{head}<body><main><h1>The API</h1><p>{intro}</p>{''.join(calls)}</main></body></html>"


def _call(method: str, path: str, call: dict[str, Any], models: dict[str, Any]) -> str:
    """Return one call as a section of HTML."""
    fields = [f"<li><code>{escape(each['name'])}</code> ({each['in']})</li>" for each in call.get("parameters", [])]
    given = f"<ul>{''.join(fields)}</ul>" if fields else ""
    body = call.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
    if body:
        model = models.get(body.get("$ref", "").split("/")[-1], body)
        shown = escape(json.dumps(model, indent=2))
        given += f"<details><summary>Body</summary><pre><code>{shown}</code></pre></details>"
    title = f'<h2><span class="method">{method.upper()}</span> <code>{escape(path)}</code></h2>'
    return f"{title}<p>{escape(call.get('description', ''))}</p>{given}"
