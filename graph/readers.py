"""Opening of a reader by its model's name."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from preflight_rag.models.chat.chat_models import OFFLINE, model_name, open_chat_model
from preflight_rag.models.protocol import Reader
from preflight_rag.state.context import Settings
from preflight_rag.state.errors import UsageError

if TYPE_CHECKING:
    from preflight_rag.library.collection import Collection
    from preflight_rag.models.chat.runnables import AnyModel
    from preflight_rag.models.embedding.embedder import Embedder
    from preflight_rag.models.reading.extractive_reader import ExtractiveReader


def open_reader(
    model: AnyModel | Reader | str | None,
    embedder: Embedder,
    settings: Settings | None = None,
    *,
    library: Collection | None = None,
) -> Reader:
    """Open the reader for a model.

    Args:
        model: A LangChain chat model, another Runnable from messages to a message, a `Reader`, `provider:name`,
            `gguf:PATH`, `offline`, or None for the environment's model.
        embedder: The library's embedder, with which the offline reader compares sentences.
        settings: How the model is called (`deadline`, `context_window`, `reply_form`; the `temperature` only of a model
            opened here, a given model keeps its own), and the offline reader's `extractive_reader`; None: the defaults.
        library: The collection, from which the offline reader knows how rare the words of a question are.

    Raises:
        UsageError: The model is none of these.
        UnknownModel: No model of that name.
        ExtractiveReaderError: No extractive reader of that name.
    """
    settings = settings or Settings()
    if isinstance(model, str) or model is None:
        name = model_name(model)
        if name == OFFLINE:
            from preflight_rag.models.opening import open_extractive_reader
            from preflight_rag.offline.reader import OfflineReader

            return OfflineReader(embedder, open_extractive_reader(settings.extractive_reader), library=library)
        window = settings.context_window
        model = open_chat_model(
            name, timeout=settings.deadline, temperature=settings.temperature, context_window=window
        )
    if isinstance(model, Reader):
        return model
    from langchain_core.runnables import Runnable

    if isinstance(model, Runnable):
        from preflight_rag.models.chat.chat_reader import ChatReader

        return ChatReader(
            model, deadline=settings.deadline, context_window=settings.context_window, form=settings.reply_form
        )
    raise UsageError(
        f"model={model!r} is not a chat model",
        help='Pass a LangChain chat model, a Runnable that yields messages, "provider:name" or "offline".',
    )


def extractive_for(reader: Reader, name: str) -> ExtractiveReader | None:
    """Return the extractive reader of a turn: the reader's own, else the one of this name, which is opened once.

    Args:
        reader: The turn's reader; one without a model uses only its own extractive reader, if any.
        name: A name for `open_extractive_reader`.

    Raises:
        ExtractiveReaderError: No extractive reader of that name.
    """
    if reader.by_rule:
        return reader.extractive
    return _open_extractive_once(name)


@lru_cache(maxsize=4)
def _open_extractive_once(name: str) -> ExtractiveReader | None:
    """Open the extractive reader of a name; a later call with the same name gets the same reader."""
    from preflight_rag.models.opening import open_extractive_reader

    return open_extractive_reader(name)
