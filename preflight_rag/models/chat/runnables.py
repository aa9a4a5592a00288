"""Chat models inside wrappers: `with_retry`, `with_fallbacks`, `bind`, `with_config`, configurable fields, chains.

A reader calls any Runnable that it is given. What belongs to the chat model itself (its name, its context window, the
HTTP client of an event loop) is read or changed in the chat models inside.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

from langchain_core.callbacks import BaseCallbackHandler, BaseCallbackManager
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.base import RunnableSerializable
from langchain_core.runnables.config import ensure_config

from preflight_rag.state.errors import BadReply

AnyModel = Runnable[Any, Any]
Change = Callable[[BaseChatModel], BaseChatModel]
OF_A_RUN = ("thread_id", "checkpoint_id", "checkpoint_ns", "checkpoint_map")
"""Keys of `configurable` that belong to a graph's run: `init_chat_model` without named fields would take them as
options of the model."""


def with_models(model: AnyModel, change: Change) -> AnyModel:
    """Return the same Runnable with `change` applied to every chat model inside; the Runnable itself if there is none.

    Chat models in the code of a `RunnableLambda` are not found.
    """
    changed: AnyModel = _with_inner_models(
        model, lambda inner: _ChangedAtEachCall(inner, change) if _makes_models(inner) else change(inner)
    )
    return changed


def models_in(model: AnyModel) -> list[BaseChatModel]:
    """Return the chat models inside a Runnable, with the one that is called first at the front.

    A model that is made anew at each call is made with the default configuration here, and left out if that fails.
    """
    chat_models: list[BaseChatModel] = []

    def record(inner: Any) -> Any:
        """Record a chat model, and return it unchanged."""
        if not _makes_models(inner):
            chat_models.append(inner)
            return inner
        with suppress(Exception):  # there is no default model, or no key for it
            _with_inner_models(inner._model(), record)
        return inner

    _with_inner_models(model, record)
    return chat_models


def name_of(model: AnyModel) -> str:
    """Return the name of the chat model that is called first, as `provider:name`; else the Runnable's own name."""
    inside = models_in(model)
    if not inside:
        return model.get_name()
    name = getattr(inside[0], "model_name", None) or getattr(inside[0], "model", None)
    provider = inside[0]._llm_type.removesuffix("-chat").removesuffix("-chat-model")
    return f"{provider}:{name}" if name else provider


def base_url_of(model: AnyModel) -> str | None:
    """Return the address set for the chat model that is called first; None for a provider's own address."""
    first_model = next(iter(models_in(model)), None)
    base_url = getattr(first_model, "openai_api_base", None)
    return str(base_url) if base_url else None


def runs_here(model: AnyModel) -> bool:
    """Return whether all chat models inside run on this machine: in this process, or on a local server."""
    inside = models_in(model)
    return bool(inside) and all(
        inner._llm_type == "gguf" or _is_own_host(getattr(inner, "openai_api_base", None)) for inner in inside
    )


def _is_own_host(base_url: object) -> bool:
    """Return whether a URL's host is this machine, e.g. "http://localhost:8000/v1" or "http://127.0.0.1"."""
    host = urlsplit(str(base_url or "")).hostname or ""
    if host in ("localhost", "host.docker.internal"):
        return True
    with suppress(ValueError):
        return ip_address(host).is_loopback
    return False


def without_temperature(model: AnyModel) -> AnyModel:
    """Return the model without a temperature, so that its server's default is used.

    The model itself if no chat model inside sets a temperature.
    """

    def remove_temperature(inner: BaseChatModel) -> BaseChatModel:
        """Return a chat model without its temperature; the same object if it has none."""
        temperature = getattr(inner, "temperature", None)
        return inner if temperature is None else inner.model_copy(update={"temperature": None})

    return with_models(model, remove_temperature)


def always_streams(model: AnyModel) -> bool:
    """Return whether every chat model inside is one of our classes, whose streams carry all that a whole reply does.

    A reply that is not streamed is lost at a timeout, and loops in it cannot be noticed. Another class's stream,
    however, may lack parts of its whole replies, such as a refusal; such a model streams only if the caller listens.
    """
    inside = models_in(model)
    return bool(inside) and all(getattr(type(inner), "always_streams", False) for inner in inside)


def without_streams(model: AnyModel) -> AnyModel:
    """Return the model with streaming disabled in all chat models inside."""
    return with_models(model, lambda inner: inner.model_copy(update={"disable_streaming": True}))


LIMITS = ("max_tokens", "max_output_tokens", "num_predict", "max_new_tokens")
"""Names that providers' chat models have for the field with the maximum number of a reply's tokens."""


def with_reply_limit(model: AnyModel, tokens: int) -> AnyModel:
    """Return the model with replies of at most `tokens` tokens; a limit set by the user stays."""

    def set_limit(inner: BaseChatModel) -> BaseChatModel:
        """Return a chat model with the limit; the same object if the user has set one, or it has no such field."""
        name = next((limit for limit in LIMITS if limit in type(inner).model_fields), None)
        if name is None or (name in inner.model_fields_set and getattr(inner, name) is not None):
            return inner
        return inner.model_copy(update={name: tokens})

    return with_models(model, set_limit)


def with_stream_usage(model: AnyModel) -> AnyModel:
    """Return the model with token counts in its streams, unless the user has set that option."""

    def request_counts(inner: BaseChatModel) -> BaseChatModel:
        """Return a chat model whose streams report token counts; the same object if the user has set the option."""
        is_unset = "stream_usage" in type(inner).model_fields and getattr(inner, "stream_usage") is None  # noqa: B009
        return inner.model_copy(update={"stream_usage": True}) if is_unset else inner

    return with_models(model, request_counts)


def with_newer_limit(model: AnyModel) -> AnyModel:
    """Return the model with the newer name for a reply's limit, `max_completion_tokens`, in its requests.

    The model itself if it uses that name already, or no chat model inside is an `OpenAIModel`.
    """

    def rename_limit(inner: BaseChatModel) -> BaseChatModel:
        """Return a chat model with the newer name of the limit; the same object if it has no older one."""
        has_older_name = getattr(inner, "newer_limit", None) is False
        return inner.model_copy(update={"newer_limit": True}) if has_older_name else inner

    return with_models(model, rename_limit)


def is_openais(model: AnyModel, provider: str | None = None) -> bool:
    """Return whether the model uses OpenAI's client; the `provider` that a reply names takes precedence."""
    if provider is not None:
        return provider == "openai"
    return {inner._llm_type for inner in models_in(model)} == {"openai-chat"}


def may_take_schemas(model: AnyModel) -> bool:
    """Return whether a JSON schema can be passed to the model: through OpenAI's client, or in this process."""
    kinds = {inner._llm_type for inner in models_in(model)}
    return bool(kinds) and kinds <= {"openai-chat", "gguf"}


def as_message(reply: object, name: str) -> AIMessage:
    """Convert the result of a Runnable into a model's message.

    Raises:
        BadReply: The result is neither a message nor text.
    """
    if isinstance(reply, AIMessage):
        return reply
    if isinstance(reply, BaseMessage):
        return AIMessage(reply.content, response_metadata=reply.response_metadata)
    if isinstance(reply, str):
        return AIMessage(reply)
    raise BadReply(
        f"{name} gave {type(reply).__name__}, not a message",
        help="Give a chat model, or a Runnable from messages to a message.",
    )


def config_for(model: AnyModel) -> RunnableConfig | None:
    """Return the config for calling a model: the surrounding `configurable` without the graph's own keys.

    None for a plain chat model, which has no configurable fields.
    """
    if isinstance(model, BaseChatModel):
        return None
    configurable = ensure_config().get("configurable", {})
    model_options = {
        name: value for name, value in configurable.items() if name not in OF_A_RUN and not name.startswith("__")
    }
    return RunnableConfig(configurable=model_options)


def with_handler(config: RunnableConfig | None, handler: BaseCallbackHandler) -> RunnableConfig:
    """Return the config with one more callback handler, beside those of the surrounding run."""
    surrounding = ensure_config(config).get("callbacks")
    if isinstance(surrounding, BaseCallbackManager):
        manager = surrounding.copy()
        manager.add_handler(handler, inherit=True)
        return RunnableConfig(**(config or {}), callbacks=manager)  # type: ignore[typeddict-item]  # no key twice
    return RunnableConfig(**(config or {}), callbacks=[*(surrounding or ()), handler])  # type: ignore[typeddict-item]


class _ChangedAtEachCall(Runnable[Any, Any]):
    """A model that is made anew at each call, by `init_chat_model` with configurable fields, and then changed."""

    def __init__(self, maker: Any, change: Change) -> None:
        self._maker, self._change = maker, change

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """Make the model, change it, and call it."""
        return with_models(self._maker._model(config), self._change).invoke(input, config, **kwargs)

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """Make the model, change it, and call it."""
        return await with_models(self._maker._model(config), self._change).ainvoke(input, config, **kwargs)


def takes_options(model: Any) -> bool:
    """Return whether call options reach a chat model: plain, or in `bind`, `with_retry` or `with_fallbacks`."""
    if isinstance(model, BaseChatModel) or _makes_models(model):
        return True
    inner = getattr(model, "bound", None) or getattr(model, "runnable", None)
    return inner is not None and isinstance(model, RunnableSerializable) and takes_options(inner)


def _makes_models(model: AnyModel) -> bool:
    """Return whether a Runnable makes a chat model anew at each call.

    Such is the result of `init_chat_model` with configurable fields, whose class has no public name.
    """
    return callable(getattr(type(model), "_model", None)) and type(model).__module__.startswith("langchain.")


def _with_inner_models(model: Any, change: Callable[[Any], Any]) -> Any:
    """Return a Runnable with `change` applied to the chat models, and makers of chat models, inside it.

    The same object if nothing has changed.
    """
    if isinstance(model, BaseChatModel) or _makes_models(model):
        return change(model)
    if not isinstance(model, RunnableSerializable):
        return model
    updates = {}
    for name in type(model).model_fields:
        value = getattr(model, name)
        new_value = _change_inside(value, change)
        if new_value is not value:
            updates[name] = new_value
    return model.model_copy(update=updates) if updates else model


def _change_inside(value: Any, change: Callable[[Any], Any]) -> Any:
    """Return a field's value with `change` applied to the Runnables in it, also in its lists, tuples and dicts.

    The same object if nothing has changed.
    """
    if isinstance(value, Runnable):
        return _with_inner_models(value, change)
    if type(value) in (list, tuple):
        items = [_change_inside(item, change) for item in value]
        has_changed = any(new is not old for new, old in zip(items, value, strict=True))
        return type(value)(items) if has_changed else value
    if type(value) is dict:
        pairs = {key: _change_inside(item, change) for key, item in value.items()}
        has_changed = any(pairs[key] is not item for key, item in value.items())
        return pairs if has_changed else value
    return value
