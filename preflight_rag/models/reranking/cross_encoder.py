"""Cross-encoders: any sentence-transformers CrossEncoder as the second stage, from a path, the local cache or the Hub.

A cross-encoder reads question and passage together (CPQA, section III.C), with the title before the text. The pair is
cut to the model's window. Scores are the model's raw outputs: its own activation would only make large ones equal.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from preflight_rag.models.hugging_face import model_folder, quiet_loading
from preflight_rag.state.errors import RerankerError, first_line
from preflight_rag.state.retrieval import Candidate
from preflight_rag.state.values import Passage

if TYPE_CHECKING:
    import numpy as np

ALIASES = {
    "medcpt": "ncbi/MedCPT-Cross-Encoder",
    "bge": "BAAI/bge-reranker-v2-m3",
    "ms-marco": "cross-encoder/ms-marco-MiniLM-L6-v2",
}
BATCH = 16
"""Pairs of one forward pass; with smaller batches the deadline is kept more closely. A guess."""
WINDOW = 512
"""Maximum number of tokens of question and passage together, if the model has no smaller limit."""
TO_SAFETENSORS = "from sentence_transformers import CrossEncoder as M; M(NAME).save_pretrained(FOLDER)"
HEADLESS = ("Model", "ForMaskedLM", "ForPreTraining")
"""Suffixes of architectures to which loading a CrossEncoder adds a head of random weights."""


class CrossEncoderReranker:
    """A CrossEncoder behind the `Reranker` interface.

    Args:
        spec: A name of `ALIASES`, a model's name on the Hub, or a folder.
        batch_size: Pairs in one forward pass; the deadline is checked between two.

    Raises:
        RerankerError: It cannot be loaded, or does not give one number for a pair.
    """

    def __init__(self, spec: str, *, batch_size: int = BATCH) -> None:
        self.name = ALIASES.get(spec, spec)
        self.batch_size: int | None = batch_size
        self._model = _load_cross_encoder(self.name)
        if untrained := _headless_architectures(self._model):
            raise RerankerError(
                f"{self.name!r} is not a reranker: {untrained} has no trained head that scores a pair",
                help=f"Choose a cross-encoder, such as {', '.join(ALIASES)}",
            )
        labels = int(getattr(self._model, "num_labels", 1) or 1)
        if labels != 1:
            raise RerankerError(
                f"{self.name!r} is not a reranker: it gives {labels} numbers for a question and a passage",
                help=f"Choose a cross-encoder that gives one, such as {', '.join(ALIASES)}",
            )
        self.window = _token_limit(self._model)
        self._model.max_seq_length = self.window

    def score(self, question: str, candidates: Sequence[Candidate]) -> np.ndarray:
        """Return the model's raw score of each candidate (n,), float64.

        Raises:
            RerankerError: The model fails on these texts.
        """
        import numpy as np
        import torch

        if not candidates:
            return np.zeros(0)
        pairs = [(question, title_and_text(candidate.passage)) for candidate in candidates]
        try:
            scores = self._model.predict(
                pairs,
                batch_size=self.batch_size or BATCH,
                show_progress_bar=False,
                activation_fn=torch.nn.Identity(),
                convert_to_numpy=True,
            )
        except (RuntimeError, IndexError, ValueError) as error:
            raise RerankerError(
                f"The cross-encoder {self.name!r} failed: {first_line(error)}", help="Choose another reranker, or none"
            ) from error
        return np.asarray(scores, dtype=float).reshape(len(pairs))


def title_and_text(passage: Passage) -> str:
    """Return title and text as one string; the title is left out if the text begins with it."""
    title = passage.title.strip()
    if not title or passage.text.startswith(title):
        return passage.text
    return f"{title} {passage.text}" if title[-1] in ".?!" else f"{title}. {passage.text}"


def _load_cross_encoder(name: str) -> Any:
    """Load a cross-encoder from a folder, the local cache or the Hugging Face Hub; errors become `RerankerError`."""
    try:
        from sentence_transformers import CrossEncoder
    except ImportError as error:
        raise RerankerError(
            "Cross-encoders need the package sentence-transformers, which is not installed",
            help="Install it, or use --reranker features",
        ) from error
    try:
        folder = model_folder(name, RerankerError, TO_SAFETENSORS)
        with quiet_loading():
            return CrossEncoder(folder, trust_remote_code=False, model_kwargs={"use_safetensors": True})
    except RerankerError:
        raise
    except Exception as error:
        raise RerankerError(
            f"Cannot load the cross-encoder {name!r}: {first_line(error)}",
            help="Check the name or path; a model that is not on this machine needs a network once. "
            "--reranker features needs none",
        ) from error


def _headless_architectures(model: Any) -> str:
    """Return the architectures that a model's settings name if none of them has a head that scores, e.g. "BertModel".

    "" if one of them has such a head, or none is named.
    """
    architectures = getattr(getattr(model, "config", None), "architectures", None) or []
    has_head = any(not name.endswith(HEADLESS) for name in architectures)
    return "" if has_head else ", ".join(architectures)


def _token_limit(model: Any) -> int:
    """Return how many tokens the model reads: the least of its own limit, its number of positions, and `WINDOW`."""
    config = getattr(model, "config", None)
    limits = [model.max_seq_length, getattr(config, "max_position_embeddings", None), WINDOW]
    return min(int(limit) for limit in limits if limit)
