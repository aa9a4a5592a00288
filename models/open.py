"""A reader by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..state.errors import UsageError
from .chat import OFFLINE, model_name, open_chat_model
from .protocol import Reader

if TYPE_CHECKING:
    from .embedder import Embedder


def open_reader(model: Any, embedder: Embedder, *, deadline: float = 120.0) -> Reader:
    """The reader for a model.

    Args:
        model: A LangChain chat model, a `Reader`, `provider:name`, `offline`, or None for what the environment says.
        embedder: The library's embedder, which the offline reader compares sentences with.
        deadline: Seconds that one model call may take.

    Raises:
        UsageError: It is none of these.
        UnknownModel: No model of that name.
    """
    if isinstance(model, str) or model is None:
        name = model_name(model)
        if name == OFFLINE:
            from .offline import OfflineReader

            return OfflineReader(embedder)
        from .reader import ChatReader

        return ChatReader(open_chat_model(name, timeout=deadline), deadline=deadline)
    if isinstance(model, Reader):
        return model
    from langchain_core.language_models import BaseChatModel

    if isinstance(model, BaseChatModel):
        from .reader import ChatReader

        return ChatReader(model, deadline=deadline)
    raise UsageError(
        f"model={model!r} is no chat model", help='Pass a LangChain chat model, "provider:name" or "offline".'
    )
