"""Errors over HTTP: one line that says what to do, in this API's form or, under `/v1`, in OpenAI's."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from html import escape
from typing import Any, cast

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse, Response
from starlette.exceptions import HTTPException

from preflight_rag.state import errors as ours
from preflight_rag.state.errors import PreflightError

log = logging.getLogger("preflight.server")
MESSAGE_CHARACTERS = 600  # long enough for every message of ours; a model server's may be longer
STATUS: Mapping[type[PreflightError], int] = {
    ours.UsageError: 400,
    ours.UnknownModel: 404,
    ours.ThreadNotFound: 404,
    ours.LibraryMissing: 404,
    ours.LibraryEmpty: 409,
    ours.ThreadBusy: 409,
    ours.TurnUnfinished: 409,
    ours.ReplyNeeded: 409,
    ours.TurnError: 409,
    ours.DocumentError: 422,
    ours.LibraryUnavailable: 503,
    ours.ThreadsUnavailable: 503,
    ours.ModelTimeout: 504,
    ours.LocalModelError: 503,
    ours.ModelUnavailable: 503,
    ours.ModelRateLimited: 503,
    ours.ModelError: 502,
    ours.PubMedError: 502,
}
CODES = {
    400: "invalid_request",
    401: "invalid_key",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    408: "body_too_slow",
    413: "body_too_large",
    415: "wrong_content_type",
    421: "wrong_host",
    429: "rate_limited",
    503: "busy",
    504: "turn_timeout",
    507: "no_room",
}


DOCUMENT_FILE = "/api/documents/file"
"""A URL that users open in a browser tab, so that errors there are pages."""


class Refused(HTTPException):
    """A refused request: its status, a code for programs, one line for people, and what they can do.

    Attributes:
        param: The field of the body that is wrong, if one is.
        retryable: Whether the same request may succeed later.
        reason: Why a model's reply is incomplete; "" for all other errors.
    """

    def __init__(
        self,
        status: int,
        message: str,
        *,
        help: str = "",
        code: str = "",
        param: str | None = None,
        retryable: bool | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(status, detail=message, headers=dict(headers or {}))
        self.message = message
        self.help = help
        self.code = code or CODES.get(status, "error")
        self.param = param
        self.reason = ""
        self.retryable = status in (429, 503) if retryable is None else retryable


def refusal_of(error: Exception) -> Refused:
    """Return any error as callers may see it; errors that are not ours reveal nothing about the server."""
    if isinstance(error, Refused):
        return error
    if isinstance(error, ours.PassageGone):
        # The error's own message names the library's folder, which means nothing to clients.
        message = "a document was changed or deleted while it was read"
        return Refused(409, message, help="Ask again.", code=code_of(error), retryable=True)
    if isinstance(error, PreflightError):
        code, reason = code_of(error), error.reason if isinstance(error, ours.ModelError) else ""
        refused = Refused(status_of(error), error.message, help=error.help, code=code, retryable=error.retryable)
        refused.reason = reason
        return refused
    if isinstance(error, UnicodeEncodeError) and _is_half_a_character(error):
        return Refused(400, "the request holds half a character (a lone surrogate)", help="Send text that is Unicode.")
    return Refused(500, "the server failed", help="Its log says why.", code="internal_error")


def _is_half_a_character(error: UnicodeEncodeError) -> bool:
    """Return whether encoding failed on a lone surrogate, which JSON can escape and only requests contain."""
    return any("\ud800" <= character <= "\udfff" for character in error.object[error.start : error.end])


def code_of(error: PreflightError) -> str:
    """Return an error's name for programs, e.g. `thread_busy` for `ThreadBusy`."""
    name = type(error).__name__.removesuffix("Error") or "Error"
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


def status_of(error: PreflightError) -> int:
    """Return the HTTP status of an error of ours."""
    return next((STATUS[kind] for kind in type(error).__mro__ if kind in STATUS), 500)


def describe(error: Exception) -> dict[str, str]:
    """Return an error as `{code, message, help}`, each on one line and of bounded length.

    For an incomplete reply of a model, also `reason`.
    """
    refusal = refusal_of(error)
    reason = {"reason": refusal.reason} if refusal.reason else {}
    return {"code": refusal.code, "message": _line(refusal.message), "help": _line(refusal.help), **reason}


def error_body(error: Exception, path: str) -> dict[str, Any]:
    """Return the JSON body of an error, in the form of the API to which the path belongs."""
    described = describe(error)
    if not path.startswith("/v1"):
        return {"error": described}
    refusal = refusal_of(error)
    kind = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}.get(refusal.status_code)
    kind = kind or ("server_error" if refusal.status_code >= 500 else "invalid_request_error")
    # OpenAI's clients expect their own names for these two errors.
    code = {"invalid_key": "invalid_api_key", "unknown_model": "model_not_found"}.get(refusal.code, refusal.code)
    line = f"{described['message']}. {described['help']}" if described["help"] else described["message"]
    return {"error": {"message": line, "type": kind, "param": refusal.param, "code": code}}


def error_response(error: Exception, path: str) -> JSONResponse:
    """Return the response for an error; its headers say whether a client should try again."""
    refusal = refusal_of(error)
    headers = dict(refusal.headers or {})
    if refusal.status_code in (408, 413):
        headers["Connection"] = "close"  # so that the rest of a long or slow body is not read
    if not refusal.retryable:
        headers["X-Should-Retry"] = "false"
    elif refusal.status_code in (429, 503):
        headers.setdefault("Retry-After", "2")
    return JSONResponse(error_body(error, path), refusal.status_code, headers)


def error_page(error: Exception) -> HTMLResponse:
    """Return the error as a page for people who followed a link: one line, and the way out."""
    refusal, described = refusal_of(error), describe(error)
    lines = "".join(f"<p>{escape(_sentence(text))}</p>" for text in (described["message"], described["help"]) if text)
    head = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Not here - Preflight RAG</title>'
        '<meta name="viewport" content="width=device-width"><link rel="stylesheet" href="/api/docs.css"></head>'
    )
    body = f'<body><main><h1>This document cannot be opened</h1>{lines}<p><a href="/#/library">Library</a></p></main>'
    policy = {"Content-Security-Policy": "default-src 'none'; style-src 'self'; frame-ancestors 'none'"}
    return HTMLResponse(f"{head}{body}</body></html>", refusal.status_code, policy)


def register(app: FastAPI) -> None:
    """Register handlers so that every error of the application is answered in one form."""

    async def of_ours(request: Request, error: Exception) -> JSONResponse:
        """Answer an error of this package."""
        return error_response(error, request.url.path)

    async def of_framework(request: Request, error: Exception) -> Response:
        """Answer an error of the web framework, such as an unknown URL."""
        known = error if isinstance(error, Refused) else _of_framework(cast("HTTPException", error), request)
        if request.url.path == DOCUMENT_FILE and "text/html" in request.headers.get("accept", ""):
            return error_page(known)
        return error_response(known, request.url.path)

    async def of_validation(request: Request, error: Exception) -> JSONResponse:
        """Answer an invalid body or parameter."""
        return error_response(_of_validation(cast("RequestValidationError", error)), request.url.path)

    async def unexpected(request: Request, error: Exception) -> JSONResponse:
        """Answer an unforeseen error, and log it."""
        log.error("%s failed", request.url.path, exc_info=error)
        return error_response(error, request.url.path)

    app.add_exception_handler(PreflightError, of_ours)
    app.add_exception_handler(HTTPException, of_framework)
    app.add_exception_handler(RequestValidationError, of_validation)
    app.add_exception_handler(UnicodeEncodeError, of_ours)
    app.add_exception_handler(Exception, unexpected)


def _of_framework(error: HTTPException, request: Request) -> Refused:
    """Convert an error of the web framework into one of ours."""
    if error.status_code == 404:
        return Refused(404, f"there is no {request.url.path[:100]!r} here", help="See /api/docs.")
    if error.status_code == 405:
        return Refused(405, f"{request.method} is not served here", help="See /api/docs.", headers=error.headers)
    if error.status_code == 400:
        return Refused(400, "the body is not JSON in UTF-8", help="Send a JSON object.")
    return Refused(error.status_code, str(error.detail))


def _of_validation(error: RequestValidationError) -> Refused:
    """Return the first problem of a request's body or parameters, with the name of its field."""
    first = error.errors()[0]
    if first["type"] == "json_invalid":
        return Refused(400, "the body is not valid JSON", help="Send a JSON object.")
    place = ".".join(str(part) for part in first["loc"] if part not in ("body", "query", "path")) or "the body"
    problem = "is not a known field" if first["type"] == "extra_forbidden" else f"is wrong: {first['msg'].lower()}"
    return Refused(400, f"{place[:100]} {problem}", help="See /api/docs.", param=place)


def _sentence(text: str) -> str:
    """Return a text with a capital at its beginning and a full stop at its end."""
    return f"{text[:1].upper()}{text[1:]}" + ("" if text.endswith((".", "!", "?")) else ".")


def _line(text: str) -> str:
    """Return a text as one line of at most `MESSAGE_CHARACTERS`."""
    line = " ".join(text.encode("utf-8", "replace").decode("utf-8").split())
    return line if len(line) <= MESSAGE_CHARACTERS else line[: MESSAGE_CHARACTERS - 1] + "…"
