"""Chat models by name, a client of theirs for each event loop, and what goes wrong with them in our own words."""

from __future__ import annotations

import asyncio
import os
import re
import threading
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakKeyDictionary

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

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel
    from openai.types import Model

    from preflight_rag.models.chat.runnables import AnyModel

M = TypeVar("M", bound="AnyModel")
OFFLINE = "offline"
DEFAULT_OPENAI_MODEL = "gpt-4.1-mini"
MAX_RETRIES = 2
"""Attempts of the client besides the first; the graph's nodes add none of their own."""
WINDOW_SECONDS = 5.0
"""Seconds that a server has to list its models; set by hand, for one on another continent."""
WINDOW_WAIT = 0.3
"""Seconds that a turn waits for it, of which most have passed while the library was opened; a guess."""
_WINDOWS = ("max_model_len", "loaded_context_length", "n_ctx", "context_length", "context_window", "max_context_length")
"""Names under which servers say it; what is loaded before what the model could have."""
_REASONS = re.compile(r"o\d")
_CLIENTS = ("openai", "langchain_openai")
"""Packages whose code fails on what a server sends in the place of a completion."""
_OVERFLOW = ("context_length", "context length", "maximum context", "too many tokens", "context window")


def model_name(name: str | None, environ: Mapping[str, str] | None = None) -> str:
    """The model that a run uses: the name given, else `PREFLIGHT_MODEL`, else OpenAI's when configured, else offline.

    Returns:
        `offline` or `provider:name`; `openai:` alone where a server is configured that is to be asked for its model.
    """
    environ = os.environ if environ is None else environ
    name = name or environ.get("PREFLIGHT_MODEL")
    if not name:
        if environ.get("OPENAI_BASE_URL"):
            return "openai:"
        return f"openai:{DEFAULT_OPENAI_MODEL}" if environ.get("OPENAI_API_KEY") else OFFLINE
    if name == OFFLINE:
        return OFFLINE
    provider, separator, model = name.partition(":")
    if not separator or not provider or (not model and provider != "openai"):
        raise UnknownModel(
            f"model {name!r} is unknown", help="Write provider:name, as in openai:gpt-4.1-mini, or offline."
        )
    return name


def open_chat_model(
    name: str,
    *,
    timeout: float = 120.0,
    temperature: float = 0.0,
    base_url: str | None = None,
    key: str | None = None,
) -> BaseChatModel:
    """A LangChain chat model for `provider:name`.

    `openai:` talks to any OpenAI-compatible server through `OPENAI_BASE_URL`; with no model named, the server's first
    one is taken. Other providers go through `langchain.chat_models.init_chat_model`.

    Args:
        name: As `model_name` gives it.
        timeout: Seconds that a call may take.
        temperature: Of sampling; not sent to OpenAI's reasoning models, which take none.
        base_url: Of an OpenAI-compatible server, in the place of what the environment says; the environment's key is
            never sent there.
        key: For that server; None for one that asks for none.

    Raises:
        UnknownModel: The provider's integration is not installed.
    """
    provider, _, model = name.partition(":")
    if provider != "openai":
        return _other_provider(name, temperature)
    from langchain_openai import ChatOpenAI
    from pydantic import SecretStr

    if base_url is None:
        base_url = os.environ.get("OPENAI_BASE_URL") or None
        key = os.environ.get("OPENAI_API_KEY")
    key = key or ("not-needed" if base_url else None)
    if key is None:
        raise ModelAuthError(
            "no key for OpenAI",
            help="Set OPENAI_API_KEY, or OPENAI_BASE_URL for a server of your own, or --model offline.",
        )
    secret = SecretStr(key)
    model = model or (_first_model(base_url, key) if base_url else DEFAULT_OPENAI_MODEL)
    heat = None if _REASONS.match(model) and not base_url else temperature
    return ChatOpenAI(
        model=model, api_key=secret, base_url=base_url, timeout=timeout, max_retries=MAX_RETRIES, temperature=heat
    )


def _first_model(base_url: str, key: str) -> str:
    try:
        models = _served(base_url, key, timeout=10)
    except Exception as error:  # the SDK's errors and whatever a wrong server's reply makes of its parser
        raise in_our_words(error, f"{_shown(base_url)} (asked for its models)", base_url=base_url) from error
    if not models:
        raise UnknownModel(f"the server at {_shown(base_url)} offers no model", help="Name one: --model openai:NAME.")
    return models[0].id


def _served(base_url: str, key: str, timeout: float) -> list[Model]:
    import openai

    with openai.OpenAI(base_url=base_url, api_key=key, timeout=timeout, max_retries=1) as client:
        return client.models.list().data


class ContextWindow:
    """How many tokens a model reads and writes in one call, as far as somebody says so.

    That is the number given, else the smallest of the chat models inside, since each of them may be asked.

    Args:
        model: A chat model, or a Runnable around some.
        given: What a person says; nobody is asked then.
    """

    def __init__(self, model: AnyModel, given: int | None = None) -> None:
        from preflight_rag.models.chat.runnables import models_in

        self._given = given
        self._windows = [] if given else [_Window(inner) for inner in models_in(model)]

    def tokens(self) -> int | None:
        """The number, or None where nobody says it, or no server has said it yet."""
        known = [tokens for window in self._windows if (tokens := window.tokens()) is not None]
        return self._given or min(known, default=None)


class _Window:
    """What one chat model's own server says in its list of models, else what LangChain knows of the model.

    The server is asked beside what else has to be opened, so that no turn waits for it.
    """

    def __init__(self, chat_model: BaseChatModel) -> None:
        self._model = chat_model
        self._found: int | None = None
        self._asking: threading.Thread | None = None
        base_url = getattr(chat_model, "openai_api_base", None)
        if base_url:
            self._asking = threading.Thread(target=self._ask, args=(str(base_url),), daemon=True)
            self._asking.start()

    def tokens(self) -> int | None:
        """The number, or None where nobody says it, or the server has not said it yet."""
        if self._asking is not None:
            self._asking.join(WINDOW_WAIT)
            if self._asking.is_alive():
                return None
            self._asking = None
        if self._found is None:
            profile = getattr(self._model, "profile", None) or {}
            self._found = profile.get("max_input_tokens")
        return self._found

    def _ask(self, base_url: str) -> None:
        from pydantic import SecretStr

        name, key = getattr(self._model, "model_name", ""), getattr(self._model, "openai_api_key", None)
        secret = key.get_secret_value() if isinstance(key, SecretStr) else "not-needed"
        try:
            models = _served(base_url, secret, WINDOW_SECONDS)
        except Exception:  # whatever a server makes of it: the model's own call says what is wrong
            return
        detail = next((window_of(model.model_dump()) for model in models if model.id == name), None)
        self._found = detail if self._found is None else self._found


def window_of(entry: Mapping[str, Any]) -> int | None:
    """The context window in a server's entry of a model: vLLM, llama.cpp, LM Studio, OpenRouter and Groq say it."""
    meta = entry.get("meta")
    places = [entry, meta if isinstance(meta, Mapping) else {}]
    found = [place[name] for name in _WINDOWS for place in places if isinstance(place.get(name), int)]
    return next((tokens for tokens in found if tokens > 0), None)


def _other_provider(name: str, temperature: float) -> BaseChatModel:
    provider = name.partition(":")[0]
    try:
        from langchain.chat_models import init_chat_model
    except ImportError:
        raise UnknownModel(
            f"model {name!r} needs LangChain's integration for {provider!r}",
            help=f"Install it: pip install langchain langchain-{provider.replace('_', '-')}.",
        ) from None
    try:
        chat_model: BaseChatModel = init_chat_model(name, temperature=temperature)
    except (ImportError, ValueError) as error:
        help = "Check --model: provider:name, as in openai:gpt-4.1-mini, or offline."
        raise UnknownModel(f"model {name!r} cannot be opened: {first_line(error)}", help=help) from error
    return chat_model


def in_our_words(error: Exception, model: str, *, base_url: str | None = None) -> ModelError:
    """The error of a chat model as one of ours; unknown ones keep their first line.

    Args:
        error: What was raised.
        model: The model's name.
        base_url: Of the server that a person has named, if one: only then can it be wrong.
    """
    if isinstance(error, ModelError):
        return error
    named = _named_failure(error, model, base_url)
    if named is not None:
        return named
    if isinstance(error, TimeoutError):
        return ModelTimeout(f"{model} did not reply in time", help="Try again, or raise PREFLIGHT_DEADLINE.")
    if isinstance(error, ConnectionError):
        return ModelUnavailable(f"{model} cannot be reached: {first_line(error)}", help=_reach(base_url))
    if isinstance(error, AttributeError | TypeError | KeyError | ValueError):
        return _unusable(error, model, base_url)
    return ModelError(f"{model} failed: {type(error).__name__}: {first_line(error)}")


def _unusable(error: Exception, model: str, base_url: str | None) -> ModelError:
    """A reply that a client could make nothing of, or a mistake in code: that of the model, or of whoever made it."""
    inside = next(modules_of(error.__traceback__), "").partition(".")[0]
    message = first_line(error)
    if "unexpected keyword argument" in message:
        help = "The model was made or bound with an option that its client does not take."
        return ModelError(f"{model} failed: {message}", help=help)
    empty = isinstance(error, ValueError) and "no generation" in message.lower()
    if not empty and inside not in _CLIENTS:
        help = others_help(error, "the model")
        return ModelError(f"{model} failed: {type(error).__name__}: {message}", help=help)
    if error.args and isinstance(error.args[0], Mapping) and (detail := error.args[0].get("message")):
        return BadReply(f"{model} answered with an error: {first_line(Exception(detail))}")
    what = "sent an empty stream" if empty else "answered with something that is not a chat completion"
    help = "Is the base URL right? It usually ends in /v1." if base_url else "Try again, or take another model."
    return BadReply(f"{model} {what}", help=help)


def _reach(base_url: str | None) -> str:
    return f"Is the server at {_shown(base_url)} running, and the address right?" if base_url else "Check the network."


def _shown(address: str) -> str:
    """An address without the name and the password that it may hold."""
    scheme, separator, rest = address.partition("://")
    host, slash, path = rest.partition("/")
    return f"{scheme}{separator}{host.rpartition('@')[2]}{slash}{path}" if separator else address


def _named_failure(error: Exception, model: str, base_url: str | None) -> ModelError | None:
    """Failures known by the names that the OpenAI, Anthropic and similar SDKs share, and by HTTP status."""
    kinds = {kind.__name__ for kind in type(error).__mro__}
    status: Any = getattr(error, "status_code", None)
    text = str(error).lower()
    if kinds & {"APITimeoutError", "ReadTimeout", "ConnectTimeout", "StreamChunkTimeoutError"}:
        help = "Try again, or raise the model's own time limit: PREFLIGHT_DEADLINE, for one that is named."
        return ModelTimeout(f"{model} did not reply in time", help=help)
    if kinds & {"APIConnectionError", "ConnectError", "RemoteProtocolError", "ReadError"}:
        return ModelUnavailable(f"{model} cannot be reached", help=_reach(base_url))
    if "ContextOverflowError" in kinds or (status in (400, 413) and any(sign in text for sign in _OVERFLOW)):
        help = "Set PREFLIGHT_CONTEXT_WINDOW to what it reads, ask with a smaller k, or take a model that reads more."
        return ContextOverflow(f"the prompt is too long for {model}", help=help)
    if status == 401:
        return ModelAuthError(f"{model} refused the key", help="Check OPENAI_API_KEY (or the provider's own).")
    if status == 403:
        help = "Check that the key may use this model from here."
        return ModelAuthError(f"{model} refused the call: {first_line(error)}", help=help)
    if status == 404:
        where = " and the base URL (often .../v1)" if base_url else ""
        return UnknownModel(f"{model} was not found by the server", help=f"Check the model's name{where}.")
    if status == 429 and getattr(error, "code", None) == "insufficient_quota":
        return ModelError(f"the quota for {model} is used up", help="Check the plan and the billing of the key.")
    if status == 429:
        help = "Wait, or lower PREFLIGHT_MAX_CONCURRENCY."
        return ModelRateLimited(f"{model} is over its rate limit", help=help)
    if isinstance(status, int) and status >= 500:
        return ModelUnavailable(f"{model} failed with HTTP {status}", help="Try again later.")
    return None


def refuses_temperature(error: Exception) -> bool:
    """Whether a model takes no temperature but its own, as its server says."""
    return getattr(error, "status_code", None) == 400 and "temperature" in str(error).lower()


def without_temperature(model: AnyModel) -> AnyModel:
    """The model with its servers' own temperature; itself where none of the chat models inside sets another one."""
    from preflight_rag.models.chat.runnables import with_models

    def plain(inner: BaseChatModel) -> BaseChatModel:
        known = getattr(inner, "temperature", None)
        return inner if known is None else inner.model_copy(update={"temperature": None})

    return with_models(model, plain)


class LoopLocalClients:
    """Copies of a model, each with HTTP clients of its own, by event loop.

    A client's connections stay with the loop that opened them, and langchain-openai shares one client among all models
    of an address. An application that answers on a loop of its own, beside an agent on another one with the same model,
    would take up the other's connections; so a model is copied for each loop.

    The copies have no time limit between the chunks of a stream: langchain-openai keeps it with `asyncio.wait_for`,
    which in Python 3.11 swallows a cancellation that comes together with a chunk. A reader's deadline bounds the call
    anyway.
    """

    def __init__(self) -> None:
        self._copies: WeakKeyDictionary[asyncio.AbstractEventLoop, tuple[Any, Any]] = WeakKeyDictionary()
        self._http: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, Any]] = WeakKeyDictionary()

    def of(self, model: M) -> M:
        """The model for the loop that runs; itself where it has no client of OpenAI's, or one that the user gave it."""
        from preflight_rag.models.chat.runnables import with_models

        loop = asyncio.get_running_loop()
        original, copy = self._copies.get(loop, (None, None))
        if original is not model:
            clients = self._http.setdefault(loop, {})
            copy = with_models(model, lambda inner: _with_own_client(inner, clients))
            self._copies[loop] = (model, copy)
        own: M = copy
        return own


def _refuse_elsewhere(base_url: Any) -> Callable[[Any], Awaitable[None]]:
    """What keeps a prompt from being sent on, by a redirect, to another server than the one that was named."""

    async def refuse(request: Any) -> None:
        if (request.url.scheme, request.url.host, request.url.port) != (base_url.scheme, base_url.host, base_url.port):
            raise ConnectionError(f"it sends requests on to {request.url.host}, which was not named")

    return refuse


def _with_own_client(model: Any, clients: dict[str, Any]) -> Any:
    """A copy of a chat model with one of the clients of a loop, which are kept by address and time limit."""
    client = getattr(model, "root_async_client", None)
    if client is None or getattr(model, "http_async_client", None) is not None:
        return model
    from openai import DefaultAsyncHttpxClient

    kind = f"{client.base_url} {client.timeout!r}"
    if kind not in clients:
        hooks = {"request": [_refuse_elsewhere(client.base_url)]}
        clients[kind] = DefaultAsyncHttpxClient(base_url=client.base_url, timeout=client.timeout, event_hooks=hooks)
    own = client.with_options(http_client=clients[kind])
    changes = {"root_async_client": own, "async_client": own.chat.completions, "stream_chunk_timeout": None}
    known = type(model).model_fields
    return model.model_copy(update={name: value for name, value in changes.items() if name in known})
