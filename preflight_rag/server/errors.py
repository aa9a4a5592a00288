"""How errors are told over HTTP: one line with the way out, in this API's shape or, under `/v1`, in OpenAI's."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from typing import Any, cast

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from preflight_rag.state import errors as ours
from preflight_rag.state.errors import PreflightError

log = logging.getLogger("preflight.server")
MESSAGE_CHARACTERS = 600
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
    ours.ModelTimeout: 504,
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
}


class Refused(HTTPException):
    """A request that is not served: its status, a code for programs, one line for people, and what they can do."""

    def __init__(
        self, status: int, message: str, *, help: str = "", code: str = "", headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(status, detail=message, headers=dict(headers or {}))
        self.message = message
        self.help = help
        self.code = code or CODES.get(status, "error")


def code_of(error: PreflightError) -> str:
    """An error's name for programs: `ThreadBusy` is `thread_busy`."""
    name = type(error).__name__.removesuffix("Error") or "Error"
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


def status_of(error: PreflightError) -> int:
    """The HTTP status of an error of ours."""
    return next((STATUS[kind] for kind in type(error).__mro__ if kind in STATUS), 500)


def told(error: Exception) -> dict[str, str]:
    """An error as `{code, message, help}`, each on one line and of bounded length."""
    if isinstance(error, PreflightError):
        code, message, help = code_of(error), error.message, error.help
    elif isinstance(error, Refused):
        code, message, help = error.code, error.message, error.help
    else:
        code, message, help = "internal_error", "the server failed", "Its log says why."
    return {"code": code, "message": _line(message), "help": _line(help)}


def body_of(error: Exception, path: str) -> dict[str, Any]:
    """The JSON body that tells of an error to a caller of a path."""
    said = told(error)
    if not path.startswith("/v1"):
        return {"error": said}
    status = http_status(error)
    kind = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}.get(status)
    kind = kind or ("server_error" if status >= 500 else "invalid_request_error")
    code = {"invalid_key": "invalid_api_key", "unknown_model": "model_not_found"}.get(said["code"], said["code"])
    line = f"{said['message']}. {said['help']}" if said["help"] else said["message"]
    return {"error": {"message": line, "type": kind, "param": getattr(error, "param", None), "code": code}}


def http_status(error: Exception) -> int:
    """The HTTP status that an error is told with."""
    if isinstance(error, PreflightError):
        return status_of(error)
    return error.status_code if isinstance(error, HTTPException) else 500


def headers_of(error: Exception) -> dict[str, str]:
    """Headers that go with an error: whether a client should try again, and that a long body is not read to its end."""
    found = dict(getattr(error, "headers", None) or {})
    status = http_status(error)
    if status == 413:
        found["Connection"] = "close"
    retryable = getattr(error, "retryable", status in (429, 503))
    if retryable and status in (429, 503):
        found.setdefault("Retry-After", "2")
    return found if retryable else {**found, "X-Should-Retry": "false"}


def response_of(error: Exception, path: str) -> JSONResponse:
    """The response that tells of an error."""
    return JSONResponse(body_of(error, path), http_status(error), headers_of(error))


def register(app: FastAPI) -> None:
    """Tell every error of the application in one shape."""

    async def ours_told(request: Request, error: Exception) -> JSONResponse:
        return response_of(error, request.url.path)

    async def http_told(request: Request, error: Exception) -> JSONResponse:
        known = error if isinstance(error, Refused) else _of_framework(cast("HTTPException", error), request)
        return response_of(known, request.url.path)

    async def invalid_told(request: Request, error: Exception) -> JSONResponse:
        return response_of(_of_validation(cast("RequestValidationError", error)), request.url.path)

    async def unexpected_told(request: Request, error: Exception) -> JSONResponse:
        log.error("%s failed", request.url.path, exc_info=error)
        return response_of(error, request.url.path)

    app.add_exception_handler(PreflightError, ours_told)
    app.add_exception_handler(HTTPException, http_told)
    app.add_exception_handler(RequestValidationError, invalid_told)
    app.add_exception_handler(Exception, unexpected_told)


def _of_framework(error: HTTPException, request: Request) -> Refused:
    if error.status_code == 404:
        return Refused(404, f"there is no {request.url.path[:100]!r} here", help="See /api/docs.")
    if error.status_code == 405:
        return Refused(405, f"{request.method} is not served here", help="See /api/docs.", headers=error.headers)
    if error.status_code == 400:
        return Refused(400, "the body is not JSON in UTF-8", help="Send a JSON object.")
    return Refused(error.status_code, str(error.detail))


def _of_validation(error: RequestValidationError) -> Refused:
    first = error.errors()[0]
    if first["type"] == "json_invalid":
        return Refused(400, "the body is not valid JSON", help="Send a JSON object.")
    place = ".".join(str(part) for part in first["loc"] if part not in ("body", "query", "path")) or "the body"
    said = "is not a known field" if first["type"] == "extra_forbidden" else f"is wrong: {first['msg'].lower()}"
    refusal = Refused(400, f"{place[:100]} {said}", help="See /api/docs.")
    refusal.param = place  # type: ignore[attr-defined]
    return refusal


def _line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= MESSAGE_CHARACTERS else line[: MESSAGE_CHARACTERS - 1] + "…"
