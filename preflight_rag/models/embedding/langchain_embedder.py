"""Any LangChain `Embeddings` object as an `Embedder`."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, cast

from langchain_core.embeddings import Embeddings

from preflight_rag.models.embedding.embedder import Embedder, PassageInput, Progress
from preflight_rag.models.embedding.minilm import MiniLM
from preflight_rag.models.embedding.torch_embedders import normalize
from preflight_rag.state.errors import EmbedderError, others_help

if TYPE_CHECKING:
    import numpy as np
    from tokenizers import Tokenizer

CHUNK = 128
"""Texts in one call, so that progress is visible and servers' limits are kept; a guess."""
NAME_ATTRIBUTES = ("model", "model_name", "model_id", "repo_id", "deployment")


class LangChainEmbedder(Embedder):
    """Vectors from `embeddings`, scaled to length 1.

    LangChain knows neither the model's maximum length nor its tokenizer: passages have at most `max_tokens` word pieces
    of the default embedder. Its weights are unknown too, so the revision is made from the name. The dimension is found
    by one call.

    Args:
        embeddings: The object; its class and its model attribute make the name.
        max_tokens: Maximum number of word pieces of a passage.

    Raises:
        EmbedderError: The object fails, or returns something that is not a vector.
    """

    special_tokens = 0

    def __init__(self, embeddings: Embeddings, max_tokens: int = 256) -> None:
        self._embeddings = embeddings
        self._default_embedder = MiniLM()
        values = (getattr(embeddings, attribute, None) for attribute in NAME_ATTRIBUTES)
        model = next((value for value in values if isinstance(value, str) and value), None)
        self.name = ":".join(filter(None, (type(embeddings).__name__, model)))
        self.revision = hashlib.sha256(self.name.encode("utf-8")).hexdigest()[:12]
        self.max_tokens = max_tokens
        self.dimension = len(self.encode_query("dimension"))

    @property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer of the default embedder, by which passages are measured."""
        return self._default_embedder.tokenizer

    def encode_query(self, text: str) -> np.ndarray:
        """Return the vector of a query, of length 1."""
        rows = self._embed(lambda query: [self._embeddings.embed_query(query)], text)
        vector: np.ndarray = rows[0]
        return vector

    def _encode(self, inputs: Sequence[PassageInput], progress: Progress | None) -> np.ndarray:
        """Return the vectors of passages in batches of `CHUNK`; another number of vectors is an error."""
        import numpy as np

        texts, parts = cast("Sequence[str]", inputs), []
        for start in range(0, len(texts), CHUNK):
            chunk = list(texts[start : start + CHUNK])
            rows = self._embed(self._embeddings.embed_documents, chunk)
            if rows.shape != (len(chunk), self.dimension):
                raise EmbedderError(f"{self.name} returned an array of shape {rows.shape} for {len(chunk)} texts")
            parts.append(rows)
            if progress:
                progress(start + len(chunk))
        return np.concatenate(parts)

    def _embed(self, embed: Callable[[Any], Any], argument: Any) -> np.ndarray:
        """Call LangChain's embeddings, and return the vectors, scaled to length 1; errors become `EmbedderError`."""
        import numpy as np

        try:
            rows = np.asarray(embed(argument), dtype=np.float32)
        except Exception as error:
            raise EmbedderError(
                f"{self.name} failed: {str(error).strip() or type(error).__name__}",
                help=others_help(error, "the embeddings"),
            ) from error
        if rows.ndim != 2 or rows.shape[1] == 0 or not np.isfinite(rows).all():
            raise EmbedderError(f"{self.name} did not return vectors of finite numbers")
        return normalize(rows)
