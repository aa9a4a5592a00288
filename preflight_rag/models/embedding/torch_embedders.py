"""Embedders that run through torch: any SentenceTransformer, and pairs of a query and a passage encoder.

MedCPT (Jin et al. 2023) is a pair of plain BERT encoders: the vector is the last hidden state of [CLS], an article is
encoded as the pair (title, abstract), queries are cut to 64 tokens and articles to 512, and similarity is the inner
product of vectors that are not normalised. Its vectors are stored unchanged, so that rankings are the model's own.

Models such as E5 (Wang et al. 2022) were trained with a prompt before each query and each passage, and are worse
without it. A model's own prompts are used; if it has none, those of its family (`FAMILIES`), or the ones given in the
name: "prompts:QUERY|PASSAGE|MODEL".
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from preflight_rag.models.embedding.embedder import PAIR_PREFIX, PROMPTS_PREFIX, Embedder, PassageInput, Progress
from preflight_rag.models.hugging_face import fast_tokenizer, model_folder, quiet_loading
from preflight_rag.state.errors import EmbedderError, first_line

if TYPE_CHECKING:
    import numpy as np
    from tokenizers import Tokenizer

CHUNK = 256
"""Texts between two calls of `progress`."""
BATCH = 32
"""Texts of one forward pass: sentence-transformers' own default."""
UNBOUNDED = 512
"""Maximum number of tokens for a model that states no limit: the positions of BERT."""
MEDCPT_QUERY_TOKENS = 64
"""Token limit with which the authors of MedCPT encode queries, and below it that for articles."""
MEDCPT_ARTICLE_TOKENS = 512

TO_SAFETENSORS = "from sentence_transformers import SentenceTransformer as M; M(NAME).save(FOLDER)"


class Prompts(NamedTuple):
    """The texts put before a query and before a passage."""

    query: str
    passage: str


_BGE = Prompts("Represent this sentence for searching relevant passages: ", "")
FAMILIES: tuple[tuple[re.Pattern[str], Prompts], ...] = (
    (re.compile(r"(?:^|-)e5-(?:small|base|large)(?!.*instruct)"), Prompts("query: ", "passage: ")),
    (re.compile(r"^bge-(?:small|base|large)-en"), _BGE),
    (re.compile(r"^nomic-embed-text"), Prompts("search_query: ", "search_document: ")),
)
"""Prompts from the model cards of families of models, by a pattern for the end of a model's name."""


def family_prompts(name: str) -> Prompts | None:
    """Return the prompts of the family to which a model belongs, by its name or path; None for an unknown family."""
    model_name = PurePath(name).name.lower()
    return next((prompts for pattern, prompts in FAMILIES if pattern.search(model_name)), None)


class _PassageEncoder(Protocol):
    """An encoder of passages, and possibly of queries."""

    tokenizer: Tokenizer
    revision: str
    dimension: int
    max_tokens: int
    special_tokens: int
    normalized: bool

    def encode(self, texts: Sequence[Any], progress: Progress | None) -> np.ndarray: ...

    def encode_query(self, text: str) -> np.ndarray: ...


class TorchBackend:
    """A SentenceTransformer with its own prompts, tokenizer and maximum length.

    Args:
        name: Name or path.
        prompts: Texts before queries and passages; None: the model's own, else those of its family.

    Raises:
        EmbedderError: It cannot be loaded, or has no fast tokenizer.
    """

    normalized = True

    def __init__(self, name: str, prompts: Prompts | None = None) -> None:
        self._model = _load_or_explain(name, _load_sentence_transformer)
        self.tokenizer = _required_fast_tokenizer(name, self._model.tokenizer)
        self.revision = weights_revision(self._model)
        has_own_prompts = any((self._model.prompts or {}).values())
        if prompts is None and not has_own_prompts:
            prompts = family_prompts(name)
        if prompts is not None:
            self._model.prompts = {"query": prompts.query, "document": prompts.passage}
            if any(prompts) or has_own_prompts:  # other prompts make other vectors
                self.revision += "-" + hashlib.sha256("\0".join(prompts).encode("utf-8")).hexdigest()[:6]
        limit = self._model.max_seq_length
        has_limit = limit and limit < 1_000_000  # transformers states a huge number for no limit
        passage_prompt = (self._model.prompts or {}).get("document") or ""
        prompt_tokens = len(self.tokenizer.encode(passage_prompt, add_special_tokens=False).ids)
        self.max_tokens = (int(limit) if has_limit else UNBOUNDED) - prompt_tokens
        self.special_tokens = self.tokenizer.num_special_tokens_to_add(False)
        self.dimension = int(self.encode_query("dimension").shape[0])

    def encode(self, texts: Sequence[str], progress: Progress | None) -> np.ndarray:
        """Return the vectors of passages, of length 1."""
        return _in_chunks(texts, lambda chunk: self._model.encode_document(list(chunk), **_ENCODE_OPTIONS), progress)

    def encode_query(self, text: str) -> np.ndarray:
        """Return the vector of a query, of length 1."""
        vector: np.ndarray = normalize(self._model.encode_query([text], **_ENCODE_OPTIONS))[0]
        return vector


class MedCPTEncoder:
    """One of MedCPT's two encoders: [CLS] of a plain BERT, not normalised, titles as the first segment."""

    normalized = False

    def __init__(self, name: str, max_tokens: int) -> None:
        self._transformers_tokenizer, self._model = _load_or_explain(name, _load_plain_transformer)
        self.tokenizer = _required_fast_tokenizer(name, self._transformers_tokenizer)
        self.revision = f"{weights_revision(self._model)}-cls"
        self.max_tokens = max_tokens
        self.special_tokens = self.tokenizer.num_special_tokens_to_add(False)
        self.dimension = int(self._model.config.hidden_size)

    def encode(self, texts: Sequence[PassageInput], progress: Progress | None) -> np.ndarray:
        """Return the vectors of texts and of (title, text) pairs, in their order."""
        return _in_chunks(texts, self._encode_batches, progress, scale=False)

    def encode_query(self, text: str) -> np.ndarray:
        """Return the vector of one text."""
        vector: np.ndarray = self._encode_batches([text])[0]
        return vector

    def _encode_batches(self, texts: Sequence[PassageInput]) -> np.ndarray:
        """Return the vectors of texts in their order; single texts and pairs (title, text) are in different batches."""
        import numpy as np

        vectors = np.empty((len(texts), self.dimension), dtype=np.float32)
        for paired in (False, True):
            positions = [i for i, text in enumerate(texts) if isinstance(text, tuple) == paired]
            for start in range(0, len(positions), BATCH):
                batch = positions[start : start + BATCH]
                vectors[batch] = self._forward([texts[i] for i in batch])
        return vectors

    def _forward(self, texts: Sequence[PassageInput]) -> np.ndarray:
        """Return the vectors of a batch: the network's output at the first token."""
        import torch

        tensors = self._transformers_tokenizer(
            list(texts), truncation=True, padding=True, max_length=self.max_tokens, return_tensors="pt"
        )
        with torch.inference_mode():
            vectors: np.ndarray = self._model(**tensors).last_hidden_state[:, 0].float().numpy()
        return vectors


class SentenceTransformerEmbedder(Embedder):
    """One or two torch encoders behind the `Embedder` interface; both must have the same dimension."""

    def __init__(self, spec: str, passages: _PassageEncoder, queries: _PassageEncoder | None = None) -> None:
        queries = queries or passages
        if queries.dimension != passages.dimension or queries.normalized != passages.normalized:
            raise EmbedderError(
                f"The encoders of {spec!r} do not share a space ({queries.dimension} and {passages.dimension} numbers)",
                help="Pair two encoders that were trained together",
            )
        self.name = self.spec = spec
        self.revision = passages.revision if queries is passages else f"{queries.revision}+{passages.revision}"
        self.dimension = passages.dimension
        self.max_tokens = passages.max_tokens
        self.special_tokens = passages.special_tokens
        self.normalized = passages.normalized
        self._passages, self._queries = passages, queries

    @property
    def tokenizer(self) -> Tokenizer:
        """The passage encoder's tokenizer."""
        return self._passages.tokenizer

    def encode_query(self, text: str) -> np.ndarray:
        """Return the vector of a query by the query encoder, with the model's query prompt."""
        return self._queries.encode_query(text)

    def _encode(self, inputs: Sequence[PassageInput], progress: Progress | None) -> np.ndarray:
        """Return the vectors of passages by the passage encoder."""
        return self._passages.encode(inputs, progress)


class MedCPTEmbedder(SentenceTransformerEmbedder):
    """The MedCPT pair, which encodes a title as a segment of its own."""

    def with_title(self, title: str, text: str) -> PassageInput:
        """Return the pair (title, text), or the text alone where both are longer than the encoder reads."""
        tokens = self.count_tokens(title) + self.count_tokens(text)
        fits = tokens + self.tokenizer.num_special_tokens_to_add(True) <= self.max_tokens
        return (title, text) if title.strip() and fits else text


def open_sentence_transformer(name: str) -> Embedder:
    """Open the SentenceTransformer `name`, from a path, the local cache or the Hub."""
    return SentenceTransformerEmbedder(name, TorchBackend(name))


def open_prompted(spec: str) -> Embedder:
    """Open the embedder "prompts:QUERY|PASSAGE|MODEL": a SentenceTransformer with these prompts instead of its own.

    Raises:
        EmbedderError: `spec` has another form, or the model cannot be loaded.
    """
    parts = spec.removeprefix(PROMPTS_PREFIX).split("|")
    if len(parts) != 3 or not parts[2].strip():
        raise EmbedderError(
            f"{spec!r} does not name two prompts and a model", help="Write 'prompts:query: |passage: |MODEL'"
        )
    query, passage, name = parts
    return SentenceTransformerEmbedder(spec, TorchBackend(name.strip(), Prompts(query, passage)))


def open_pair(spec: str) -> Embedder:
    """Open the embedder "pair:QUERY|PASSAGE" of two encoders; a pair of MedCPT's is recognised by its names.

    Raises:
        EmbedderError: `spec` has another form, or an encoder cannot be loaded.
    """
    names = [name.strip() for name in spec.removeprefix(PAIR_PREFIX).split("|")]
    if len(names) != 2 or not all(names):
        raise EmbedderError(f"{spec!r} does not name two encoders", help="Write pair:QUERY_MODEL|PASSAGE_MODEL")
    query, passage = names
    if all(PurePath(name).name.lower().startswith("medcpt") for name in names):
        articles = MedCPTEncoder(passage, MEDCPT_ARTICLE_TOKENS)
        return MedCPTEmbedder(spec, articles, MedCPTEncoder(query, MEDCPT_QUERY_TOKENS))
    return SentenceTransformerEmbedder(spec, TorchBackend(passage), TorchBackend(query))


def normalize(vectors: Any) -> np.ndarray:
    """Return vectors, one in each row, as float32 and scaled to length 1; a vector of zeros stays unchanged."""
    import numpy as np

    rows = np.asarray(vectors, dtype=np.float32)
    scaled: np.ndarray = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
    return scaled


def weights_revision(module: Any) -> str:
    """Return the first 12 hexadecimal digits of the SHA-256 over a torch module's named weights."""
    import torch

    digest = hashlib.sha256()
    for name, tensor in sorted(module.state_dict().items()):
        digest.update(name.encode("utf-8"))
        digest.update(tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()[:12]


_ENCODE_OPTIONS = {"batch_size": BATCH, "show_progress_bar": False, "convert_to_numpy": True}


def _load_sentence_transformer(name: str) -> Any:
    """Load a SentenceTransformer from safetensors, without code of its own."""
    from sentence_transformers import SentenceTransformer

    folder = model_folder(name, EmbedderError, TO_SAFETENSORS)
    with quiet_loading():
        return SentenceTransformer(folder, trust_remote_code=False, model_kwargs={"use_safetensors": True})


def _load_plain_transformer(name: str) -> tuple[Any, Any]:
    """Load a transformers tokenizer and network from safetensors, without code of their own."""
    from transformers import AutoModel, AutoTokenizer

    folder = model_folder(name, EmbedderError, TO_SAFETENSORS)
    with quiet_loading():
        tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=False)
        model = AutoModel.from_pretrained(folder, trust_remote_code=False, use_safetensors=True)
        return tokenizer, model.eval()


def _load_or_explain(name: str, load: Callable[[str], Any]) -> Any:
    """Load a model with the function `load`; an error of it is raised as an `EmbedderError` with advice."""
    try:
        return load(name)
    except EmbedderError:
        raise
    except ImportError as error:
        raise EmbedderError(
            f"The embedder {name!r} needs the package sentence-transformers: {first_line(error)}",
            help="pip install sentence-transformers, or take the default embedder",
        ) from error
    except Exception as error:
        raise EmbedderError(
            f"Cannot load the embedder {name!r}: {first_line(error)}",
            help="Check --embedder, or leave it out; a model that is not on this machine needs a network once",
        ) from error


def _required_fast_tokenizer(name: str, tokenizer: Any) -> Tokenizer:
    """Return a copy of the fast tokenizer inside a transformers tokenizer; raise EmbedderError if there is none."""
    copy = fast_tokenizer(tokenizer)
    if copy is None:
        raise EmbedderError(f"The embedder {name!r} has no fast tokenizer", help="Use a model with a tokenizer.json")
    return copy


def _in_chunks(
    texts: Sequence[Any], encode: Callable[[Sequence[Any]], Any], progress: Progress | None, *, scale: bool = True
) -> np.ndarray:
    """Encode texts in chunks, and return all vectors in order; with `scale` they get length 1."""
    import numpy as np

    parts: list[np.ndarray] = []
    for start in range(0, len(texts), CHUNK):
        rows = encode(texts[start : start + CHUNK])
        parts.append(normalize(rows) if scale else rows)
        if progress:
            progress(min(start + CHUNK, len(texts)))
    return np.concatenate(parts)
