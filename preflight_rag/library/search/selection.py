"""Selection: which candidates go on to the model, within which budget, and in which order they stand in the prompt.

Models use what stands at the two ends of a long prompt best and lose what stands in its middle (Liu et al. 2024, "Lost
in the Middle"). "Diversity Enhances an LLM's Performance in RAG and Long-context Task" (arXiv 2502.09017) compares
orderings of what was selected: by score, by place in the document, and m:n, where of each m + n passages m go to the
front and n to the back. How diverse passages are picked is in `diversity.py`.

`select` serves a turn; the same steps are LangChain document compressors (`TokenBudget`, `MMRSelector`, `FPSSelector`,
`Reorder`) that take any documents and compose with any retriever.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Self, TypeVar, get_args

from langchain_core.callbacks import Callbacks
from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.embeddings import Embeddings
from pydantic import ConfigDict, Field, PrivateAttr, SkipValidation, model_validator

from preflight_rag.library.collection import Collection
from preflight_rag.library.search.diversity import check_limits, fps, mmr, token_budget, unit_scaled, within_budget
from preflight_rag.models.embedding.embedder import Embedder
from preflight_rag.models.opening import open_embedder
from preflight_rag.state.context import Diversity, Settings
from preflight_rag.state.errors import LibraryCorrupt, UsageError
from preflight_rag.state.retrieval import Candidate

if TYPE_CHECKING:
    import numpy as np

Item = TypeVar("Item")

_RATIO = re.compile(r"([1-9]\d{0,2}):([1-9]\d{0,2})")
_PLACES = ("start_index", "start", "page")


def select(
    candidates: Sequence[Candidate],
    vectors: np.ndarray | None = None,
    query_vector: np.ndarray | None = None,
    *,
    k: int | None = None,
    diversity: Diversity = "none",
    alpha: float = 0.5,
    window: int | None = None,
    budget_tokens: int | None = None,
    compression: float | None = None,
    ordering: str = "score",
    relevance: Sequence[float] | None = None,
) -> list[Candidate]:
    """The candidates that go on to the model, in prompt order.

    Without diversity, a budget and another ordering, these are the first `k` as they are.

    Args:
        candidates: Best first.
        vectors: Of the candidates, shape (n, d); not needed where diversity is none.
        query_vector: Shape (d,); not needed where diversity is none or `relevance` is given.
        k: Most passages.
        diversity: none, mmr, fps or modified-fps; see `diversity`.
        alpha: Weight of relevance in mmr and modified-fps.
        window: Last picks that count as such; None: all.
        budget_tokens: Most tokens of all passages together, by the count that the library keeps (T_max).
        compression: Most tokens as a share of all candidates' (c_r); where both are given, the smaller limit holds.
        ordering: "score" is the order in which they were picked, without diversity the candidates' own; m:n puts the
            first picks to both ends (`arrange`); "index" puts documents in the order of their best passage and each
            one's passages in the order of its text.
        relevance: One number a candidate in place of the cosine with the query, on the scale of cosines.

    Raises:
        UsageError: A setting is out of range, the budget is smaller than every candidate, or vectors are missing.
    """
    if diversity not in get_args(Diversity):
        raise UsageError(f"diversity is {diversity!r}", help=f"Choose {', '.join(get_args(Diversity))}")
    tokens = [candidate.passage.tokens for candidate in candidates]
    budget = token_budget(tokens, budget=budget_tokens, compression=compression)
    if diversity == "none" or not candidates:
        chosen = within_budget(tokens, budget, k=k)
    elif vectors is None:
        raise UsageError(f"diversity {diversity} needs vectors", help="Give one row a candidate")
    else:
        limits = {"window": window, "k": k, "tokens": tokens, "budget": budget, "relevance": relevance}
        if diversity == "mmr":
            chosen = mmr(vectors, query_vector, alpha=alpha, **limits)  # type: ignore[arg-type]
        else:
            weight = alpha if diversity == "modified-fps" else 0.0
            chosen = fps(vectors, query_vector, alpha=weight, **limits)  # type: ignore[arg-type]
    first: dict[str, int] = {}
    for index in sorted(chosen):
        first.setdefault(candidates[index].passage.document_id, index)
    kept = [candidates[index] for index in chosen]
    order = arrange(kept, ordering, place=lambda c: (first[c.passage.document_id], c.passage.start))
    return [kept[index] for index in order]


def arrange(
    items: Sequence[Item],
    ordering: str,
    *,
    score: Callable[[Item], Any] | None = None,
    place: Callable[[Item], Any] | None = None,
) -> list[int]:
    """Indices of the items in prompt order; each index once.

    Args:
        items: Any sequence.
        ordering: "score": best first; "index": by `place`; "m:n", such as "2:1": of each m + n items, best first, m go
            to the front and n to the back, so that the best stand at both ends and the worst near the middle.
        score: Higher is better; None: the items come best first. Equal ones stay in the order given.
        place: Sorts ascending for "index", such as (document, offset); None: the order given. Equal ones stay as given.

    Raises:
        UsageError: The ordering is unknown.
    """
    ratio = _RATIO.fullmatch(ordering)
    if ratio is None and ordering not in ("score", "index"):
        raise UsageError(
            f"the ordering {ordering!r} is unknown", help="Choose score, index, or m:n such as 1:1, 2:1 or 3:1"
        )
    indices = list(range(len(items)))
    if ordering == "index":
        return indices if place is None else sorted(indices, key=lambda index: place(items[index]))
    if score is not None:
        indices.sort(key=lambda index: score(items[index]), reverse=True)
    if ratio is None:
        return indices
    front, back = int(ratio[1]), int(ratio[2])
    head = [index for rank, index in enumerate(indices) if rank % (front + back) < front]
    tail = [index for rank, index in enumerate(indices) if rank % (front + back) >= front]
    return head + tail[::-1]


def distance_to_end(position: int, count: int) -> int:
    """How many passages stand between one at `position`, from 0, and the nearer end of `count` passages."""
    return min(position, count - 1 - position)


@dataclass(frozen=True)
class Preset:
    """α and w of a selector for a kind of task."""

    alpha: float
    window: int | None
    diversity: Diversity = "mmr"


OUR_PRESETS = {
    "one-document-qa": Preset(0.5, 2),
    "many-documents-qa": Preset(1.0, None),
    "all-evidence": Preset(1.0, None),
    "meeting-qa": Preset(1.0, None),
}
"""The best (α, w) by kind of task for MMR with cosines of all-MiniLM-L6-v2.

They were searched coarse to fine by the experiment `diversity`, for recall within token budgets, on the development
halves of COVID-QA (sentences), BioASQ, NFCorpus (documents) and QMSum (turns), in this order. Where no diversity
helped, α is 1.
"""
PAPER_PRESETS = {
    "paper-nq-sentences": Preset(0.55, 1),
    "paper-nq-sentences-fps": Preset(0.5, 1, "modified-fps"),
    "paper-triviaqa-sentences": Preset(0.6, 3),
    "paper-triviaqa-sentences-fps": Preset(0.7, 1, "modified-fps"),
    "paper-narrativeqa-sentences": Preset(0.55, 5),
    "paper-narrativeqa-sentences-fps": Preset(0.55, 5, "modified-fps"),
    "paper-nq-chunks-to-10k": Preset(0.9, 5),
    "paper-nq-chunks-from-20k": Preset(0.7, 5),
    "paper-narrativeqa-chunks-to-10k": Preset(0.8, 30),
    "paper-narrativeqa-chunks-from-20k": Preset(0.7, 300),
    "paper-triviaqa-chunks-to-10k": Preset(0.7, 20),
    "paper-triviaqa-chunks-from-20k": Preset(0.8, 300),
    "paper-squad-sentences": Preset(0.25, 1000),
    "paper-squad-256": Preset(0.5, 300),
    "paper-squad-512": Preset(0.3, 300),
    "paper-gov-report": Preset(0.9, 10),
    "paper-legal": Preset(0.925, 300),
}
"""What Diversity reports as best: sentences of one document by SentenceBERT (section 3.1), chunks of many documents by
E5 for budgets up to 10,000 and from 20,000 tokens (3.2), SQuAD by unit (3.3), sentences to summarise (3.4)."""
PRESETS = OUR_PRESETS | PAPER_PRESETS


def preset(name: str) -> Preset:
    """A preset by name.

    Raises:
        UsageError: There is none.
    """
    if name not in PRESETS:
        raise UsageError(f"the preset {name!r} is unknown", help=f"Give --preset one of {', '.join(PRESETS)}")
    return PRESETS[name]


def check_choice(settings: Settings) -> None:
    """Refuse settings of a turn that would change nothing with the selector that is chosen.

    Raises:
        UsageError: One would; the line says why, and what to do.
    """
    chosen, weighted = settings.diversity, ("mmr", "modified-fps")
    alpha = settings.alpha != Settings.model_fields["alpha"].default
    given = [name for name, is_set in (("alpha", alpha), ("window", settings.window is not None)) if is_set]
    if settings.preset is not None:
        own = preset(settings.preset).diversity
        if chosen not in ("none", own):
            raise UsageError(
                f"the preset {settings.preset!r} is of {own}: diversity = {chosen!r} has no part in it",
                help=f"Leave --diversity out, or give --alpha and --window with --diversity {chosen}.",
            )
        if given:
            raise UsageError(
                f"{given[0]} changes nothing: the preset {settings.preset!r} sets α and w",
                help=f"Leave --{given[0]} out, or give --diversity {own} in place of --preset.",
            )
    elif chosen == "none" and given:
        raise UsageError(
            f"{given[0]} changes nothing without a selector: diversity is 'none'",
            help=f"Give --diversity {' or '.join(weighted)} with it.",
        )
    elif chosen == "fps" and alpha:
        raise UsageError(
            "alpha changes nothing with plain fps, which weighs no relevance",
            help=f"Give --diversity {' or '.join(weighted)} with it.",
        )
    elif chosen in weighted and settings.alpha == 1 and settings.window is not None:
        raise UsageError(
            "window changes nothing with alpha = 1, where relevance alone decides", help="Give a smaller --alpha."
        )


class TokenBudget(BaseDocumentCompressor):
    """The first documents that fit together into a budget; one that does not fit is passed over.

    Example:
        TokenBudget(budget=2000).compress_documents(retriever.invoke(question), question)

    Raises:
        UsageError: A number is out of range or, in use, the budget is smaller than every document.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    budget: int | None = Field(default=None, description="Most tokens of all documents together (T_max).")
    compression: float | None = Field(default=None, description="Most tokens as a share of all documents' (c_r).")
    k: int | None = Field(default=None, description="Most documents.")
    count_tokens: Callable[[str], int] | None = Field(
        default=None, description="Counts a text's tokens; default: the word pieces of the embedder."
    )
    embeddings: Annotated[Embeddings | str | None, SkipValidation] = Field(
        default=None, description="LangChain Embeddings; default: the library's, or MiniLM."
    )
    library: Annotated[Collection | None, SkipValidation] = Field(
        default=None, description="A collection that has vectors of documents with a passage_id."
    )
    _embedder: Embedder | None = PrivateAttr(default=None)

    @model_validator(mode="after")
    def _check(self) -> Self:
        check_limits(budget=self.budget, compression=self.compression, k=self.k)
        return self

    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks | None = None
    ) -> list[Document]:
        """The documents that are kept, in the order given."""
        tokens = self._tokens(documents)
        kept = within_budget(tokens or [0] * len(documents), self._limit(tokens), k=self.k)
        return [documents[index] for index in kept]

    def _limit(self, tokens: Sequence[int] | None) -> int | None:
        return token_budget(tokens, budget=self.budget, compression=self.compression) if tokens else None

    def _tokens(self, documents: Sequence[Document]) -> list[int] | None:
        """Lengths of the documents, where there is a budget."""
        if self.budget is None and self.compression is None:
            return None
        count = self.count_tokens or self._opened().count_tokens
        return [count(document.page_content) for document in documents]

    def _opened(self) -> Embedder:
        """The embedder, opened once."""
        if self._embedder is None:
            if self.embeddings is None and self.library is not None:
                self._embedder = self.library.embedder
            else:
                self._embedder = open_embedder(self.embeddings)
        return self._embedder


class _Selector(TokenBudget):
    """What the selectors by vectors share."""

    score_key: str | None = Field(
        default=None,
        description="Metadata with a relevance score, such as a reranker's, that stands for the cosine; scaled to 0-1.",
    )

    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks | None = None
    ) -> list[Document]:
        """The documents that are kept, in the order of choice."""
        if not documents:
            return []
        tokens, relevance = self._tokens(documents), self._relevance(documents)
        asked = self._opened().encode_query(query) if relevance is None else None
        limits = {"k": self.k, "tokens": tokens, "budget": self._limit(tokens), "relevance": relevance}
        return [documents[index] for index in self._pick(self._vectors(documents), asked, limits)]

    @abstractmethod
    def _pick(self, vectors: np.ndarray, query: np.ndarray | None, limits: dict[str, Any]) -> list[int]:
        """Indices of the documents, in the order of choice."""

    def _relevance(self, documents: Sequence[Document]) -> np.ndarray | None:
        if self.score_key is None:
            return None
        missing = [document for document in documents if self.score_key not in document.metadata]
        if missing:
            raise UsageError(
                f"a document has no {self.score_key!r} in its metadata: {missing[0].page_content[:40]!r}",
                help=f"It has {', '.join(sorted(missing[0].metadata)) or 'none'}",
            )
        return unit_scaled([document.metadata[self.score_key] for document in documents])

    def _vectors(self, documents: Sequence[Document]) -> np.ndarray:
        """The library's vectors where it has them all, else new ones."""
        names = [document.metadata.get("passage_id") for document in documents]
        if self.library is not None and self.embeddings is None and all(names):
            try:
                return self.library.vectors([str(name) for name in names])
            except LibraryCorrupt:
                pass
        return self._opened().encode_passages([document.page_content for document in documents])


class MMRSelector(_Selector):
    """Documents chosen by maximal marginal relevance, in the order of choice (Diversity, eq. 1).

    Example:
        MMRSelector(k=8, alpha=0.7, window=20).compress_documents(retriever.invoke(question), question)

    Raises:
        UsageError: A number is out of range or, in use, the budget is smaller than every document.
    """

    alpha: float = Field(default=0.5, description="Weight of relevance against redundancy, from 0 to 1.")
    window: int | None = Field(default=None, description="Redundancy looks at so many last picks; None: at all.")

    @model_validator(mode="after")
    def _check_mmr(self) -> Self:
        check_limits(alpha=self.alpha, window=self.window)
        return self

    def _pick(self, vectors: np.ndarray, query: np.ndarray | None, limits: dict[str, Any]) -> list[int]:
        return mmr(vectors, query, alpha=self.alpha, window=self.window, **limits)


class FPSSelector(_Selector):
    """Documents chosen by farthest point sampling, in the order of choice (Diversity, eq. 2; alpha > 0: modified).

    Example:
        FPSSelector(k=8, alpha=0.7).compress_documents(retriever.invoke(question), question)

    Raises:
        UsageError: A number is out of range or, in use, the budget is smaller than every document.
    """

    alpha: float = Field(default=0.0, description="Weight of relevance against distance, from 0 (plain FPS) to 1.")
    window: int | None = Field(default=None, description="Distance to the nearest of so many last picks; None: of all.")

    @model_validator(mode="after")
    def _check_fps(self) -> Self:
        check_limits(alpha=self.alpha, window=self.window)
        return self

    def _pick(self, vectors: np.ndarray, query: np.ndarray | None, limits: dict[str, Any]) -> list[int]:
        return fps(vectors, query, alpha=self.alpha, window=self.window, **limits)


class Reorder(BaseDocumentCompressor):
    """All documents in another order: "score", "index" or m:n, as `arrange`.

    "index" puts documents of one source (`document_id`, else `source`) together, sources in the order in which they
    come, by their metadata's `start_index`, `start` or `page`.

    Example:
        Reorder(ordering="2:1").compress_documents(retriever.invoke(question), question)

    Raises:
        UsageError: The ordering is unknown.
    """

    model_config = ConfigDict(extra="forbid")

    ordering: str = Field(default="1:1", description="score, index, or m:n such as 1:1, 2:1 or 3:1.")
    score_key: str | None = Field(
        default=None, description="Metadata with the score to sort by; default: documents come best first."
    )

    @model_validator(mode="after")
    def _check(self) -> Self:
        arrange([], self.ordering)
        return self

    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks | None = None
    ) -> list[Document]:
        """The same documents in prompt order; those without a score count as the worst."""
        sources = [_source(document) for document in documents]
        first = {source: place for place, source in reversed(list(enumerate(sources)))}
        key = self.score_key
        order = arrange(
            documents,
            self.ordering,
            score=None if key is None else lambda document: document.metadata.get(key, float("-inf")),
            place=lambda document: (first[_source(document)], _offset(document)),
        )
        return [documents[index] for index in order]


def _source(document: Document) -> str:
    return str(document.metadata.get("document_id") or document.metadata.get("source") or "")


def _offset(document: Document) -> float:
    """Where in its source a document stands; 0 where nothing tells."""
    places = (document.metadata.get(name) for name in _PLACES)
    return next((float(place) for place in places if isinstance(place, (int, float))), 0.0)
