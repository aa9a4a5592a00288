"""Errors of chat models in our own words: those of their SDKs and of the servers behind them."""

from __future__ import annotations

import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Any

from preflight_rag.state.errors import (
    BadReply,
    ContextOverflow,
    ModelAuthError,
    ModelError,
    ModelRateLimited,
    ModelTimeout,
    ModelUnavailable,
    UnknownModel,
    first_line,
    modules_of,
    others_help,
)

_CLIENTS = ("openai", "langchain_openai", "httpx", "httpx2")
"""Packages whose code fails if a server sends anything but a completion."""
_OVERFLOW_PHRASES = (
    *("context_length", "context length", "maximum context", "too many tokens", "context window"),
    "context size",  # an error message of llama.cpp
)


def in_our_words(error: Exception, model: str, *, base_url: str | None = None) -> ModelError:
    """Convert an error of a chat model into one of ours; an unknown error keeps its first line as the message.

    Args:
        error: The raised error.
        model: The model's name.
        base_url: The server's address, if the user has set one: only then can it be wrong.
    """
    if isinstance(error, ModelError):
        return error
    if (known_error := _known_failure(error, model, base_url)) is not None:
        return known_error
    if isinstance(error, TimeoutError):
        return ModelTimeout(f"{model} did not reply in time", help="Try again, or raise PREFLIGHT_DEADLINE.")
    if isinstance(error, ConnectionError):
        return ModelUnavailable(f"{model} cannot be reached: {first_line(error)}", help=_unreachable_help(base_url))
    if isinstance(error, AttributeError | TypeError | LookupError | ValueError):
        return _code_failure(error, model, base_url)
    return ModelError(f"{model} failed: {type(error).__name__}: {first_line(error)}")


def _code_failure(error: Exception, model: str, base_url: str | None) -> ModelError:
    """Convert an error such as TypeError, which the code of a client or a model has raised, into one of ours.

    It is a `BadReply` if the client could not parse the server's reply, and else a `ModelError`: an option that the
    client does not take, or a bug in the model's or the caller's code.
    """
    package = next(modules_of(error.__traceback__), "").partition(".")[0]
    message = first_line(error)
    if "unexpected keyword argument" in message:
        help = "The model was made or bound with an option that its client does not take."
        return ModelError(f"{model} failed: {message}", help=help)
    if isinstance(error, IndexError) and package == "langchain_core":
        problem = f"{model} sent a completion without a choice"
        return BadReply(problem, help="Try again, or take another model.", reason="malformed")
    is_empty = is_empty_stream(error)
    if not is_empty and package not in _CLIENTS:
        help = others_help(error, "the model")
        return ModelError(f"{model} failed: {type(error).__name__}: {message}", help=help)
    if error.args and isinstance(error.args[0], Mapping) and (detail := error.args[0].get("message")):
        return BadReply(f"{model} answered with an error: {first_line(Exception(detail))}", reason="malformed")
    problem = "sent an empty stream" if is_empty else "answered with something that is not a chat completion"
    help = "Is the base URL right? It usually ends in /v1." if base_url else "Try again, or take another model."
    return BadReply(f"{model} {problem}", help=help, reason="malformed")


def _unreachable_help(base_url: str | None) -> str:
    """Return the advice for a server that cannot be reached."""
    if base_url:
        return f"Is the server at {shown_address(base_url)} running, and the address right?"
    return "Check the network."


def shown_address(address: str) -> str:
    """Return a URL without user name and password; an address without "://" is returned unchanged."""
    scheme, separator, host_and_path = address.partition("://")
    host, slash, path = host_and_path.partition("/")
    return f"{scheme}{separator}{host.rpartition('@')[2]}{slash}{path}" if separator else address


def _known_failure(error: Exception, model: str, base_url: str | None) -> ModelError | None:
    """Convert an error that is known by its class name, as the common SDKs share them, or by its HTTP status.

    None for any other error.
    """
    kinds = {kind.__name__ for kind in type(error).__mro__}
    status: Any = getattr(error, "status_code", None)
    text = str(error).lower()
    if kinds & {"APITimeoutError", "ReadTimeout", "ConnectTimeout", "StreamChunkTimeoutError"}:
        help = "Try again, or raise the model's own time limit: PREFLIGHT_DEADLINE, for one that is named."
        return ModelTimeout(f"{model} did not reply in time", help=help)
    if _cause_names(error) & {"RemoteProtocolError", "ReadError"}:
        problem = f"the connection to {model} broke before its reply was whole"
        return ModelUnavailable(problem, help="Try again; if it stays so, look at the log of its server.")
    if kinds & {"APIConnectionError", "ConnectError"}:
        return ModelUnavailable(f"{model} cannot be reached", help=_unreachable_help(base_url))
    says_overflow = status in (400, 413) and any(phrase in text for phrase in _OVERFLOW_PHRASES)
    if "ContextOverflowError" in kinds or says_overflow:
        help = "Set PREFLIGHT_CONTEXT_WINDOW to what it reads, ask with a smaller k, or take a model that reads more."
        return ContextOverflow(f"the prompt is too long for {model}", help=help)
    if "APIError" in kinds and status is None:
        problem = f"{model} answered with an error: {_server_message(error)}"
        return BadReply(problem, help="Try again.", reason="malformed")
    return _status_failure(error, status, model, base_url) if isinstance(status, int) else None


def _cause_names(error: BaseException | None) -> set[str]:
    """Return the class names of an error and its causes: packages in between wrap errors in their own."""
    names = set()
    while error is not None:
        names.add(type(error).__name__)
        error = error.__cause__
    return names


def _status_failure(error: Exception, status: int, model: str, base_url: str | None) -> ModelError | None:
    """Return the error that the HTTP status of a server's reply means; None for a status without a known meaning."""
    if status == 401:
        return ModelAuthError(f"{model} refused the key", help="Check OPENAI_API_KEY (or the provider's own).")
    if status == 403:
        help = "Check that the key may use this model from here."
        return ModelAuthError(f"{model} refused the call: {first_line(error)}", help=help)
    if status == 404:
        url_help = " and the base URL (often .../v1)" if base_url else ""
        return UnknownModel(f"{model} was not found by the server", help=f"Check the model's name{url_help}.")
    if status == 429 and getattr(error, "code", None) == "insufficient_quota":
        return ModelAuthError(f"the quota for {model} is used up", help="Check the plan and the billing of the key.")
    if status == 429:
        help = "Wait, or lower PREFLIGHT_MAX_CONCURRENCY."
        return ModelRateLimited(f"{model} is over its rate limit{_requested_wait(error)}", help=help)
    if status >= 500:
        return ModelUnavailable(f"{model} failed with HTTP {status}{_requested_wait(error)}", help="Try again later.")
    if status in (400, 422):
        help = "Its server does not take what was sent, an option perhaps; its log may say more."
        return ModelError(f"{model} does not accept the call: {_server_message(error)}", help=help)
    return None


def _server_message(error: Exception) -> str:
    """Return the message in a server's reply, without the text that the client adds; else the error's first line."""
    body = getattr(error, "body", None)
    detail = body.get("message") if isinstance(body, Mapping) else None
    return first_line(Exception(detail) if isinstance(detail, str) and detail.strip() else error)


def _requested_wait(error: Exception) -> str:
    """Return the wait that a server requests, e.g. " and asks to wait 20 s"; "" if it requests none."""
    seconds = requested_wait_seconds(getattr(getattr(error, "response", None), "headers", {}))
    return f" and asks to wait {seconds:,.0f} s" if seconds else ""


def requested_wait_seconds(headers: Mapping[str, str]) -> float:
    """Return the seconds to wait by a reply's header `Retry-After`, a number or a date.

    0 if there is no such header, it cannot be read, or its date is in the past.
    """
    value = headers.get("retry-after", "").strip()
    if value.isdecimal() and len(value) < 10:  # a longer number is not a wait in seconds
        return float(value)
    try:
        until = parsedate_to_datetime(value)
    except (TypeError, ValueError):
        return 0.0
    return max(0.0, until.timestamp() - time.time())


def is_empty_stream(error: Exception) -> bool:
    """Return whether LangChain reports that a stream ended without any content."""
    return isinstance(error, ValueError) and "no generation" in str(error).lower()


def refuses_temperature(error: Exception) -> bool:
    """Return whether the server's error says that the model accepts no temperature but its own."""
    return refuses(error, "temperature")


def refuses(error: Exception, *options: str) -> bool:
    """Return whether an error says that the server, or the client, does not accept one of these options of the call."""
    if isinstance(error, TypeError):
        return "unexpected keyword argument" in str(error) and any(name in str(error) for name in options)
    return getattr(error, "status_code", None) in (400, 422) and any(name in str(error).lower() for name in options)
