"""From a question to the selected passages: search, live documents, recency, second stage, selection.

The steps are implemented elsewhere (`query.ladder`, `pubmed`, `filters`, `fusion`, `selection`, `models.reranking`);
here they are run in order, by the settings of a turn. A failure of any step but the library's own search is reported
as a problem, and the rest goes on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence, Set
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import zip_longest
from math import ceil
from typing import TYPE_CHECKING, cast

from preflight_rag.library.collection import BooleanSearch
from preflight_rag.library.copies import KnowsCopies
from preflight_rag.library.search.exact import exact_first
from preflight_rag.library.search.hybrid import Rankings, again_where_replaced
from preflight_rag.library.search.query import SearchQuery
from preflight_rag.pubmed.ladder import search_until_enough
from preflight_rag.state.context import Settings
from preflight_rag.state.errors import LibraryEmpty, UsageError
from preflight_rag.state.reading import Source
from preflight_rag.state.retrieval import AnyCandidate, Candidate, Pool
from preflight_rag.state.values import Passage, SearchExpression, UnreadPassage
from preflight_rag.text.offices import other_spelling
from preflight_rag.text.retractions import is_retracted

if TYPE_CHECKING:
    from preflight_rag.library.collection import Collection
    from preflight_rag.library.search.filters import Filter
    from preflight_rag.models.reading.extractive_reader import ExtractiveReader
    from preflight_rag.models.reranking.rerankers import Reranker
    from preflight_rag.pubmed.client import EntrezClient
    from preflight_rag.state.schema import PassageRef

PREVIEW_CHARS = 120
"""Characters of a passage that the state contains, for display."""
FOUND_BY = "found_by"
NEAR = 0.8
"""Share of the closest passage's cosine from which another document's passage counts as near. Set on two observations:
in questions about one paper among 58 documents the nearest passage of another one mostly has 0.3 to 0.7 of it; in 60
questions of NQ, the answering passage has more than 0.8 of the closest planted one's in 73 %."""


@dataclass
class Retrieval:
    """The result of retrieval for a turn.

    Attributes:
        found: The three rankings of the library for the question itself, as deep as the candidates.
        chosen: The selected passages, in the order of a prompt.
        relevance: The second stage's score of those passages that it read, by id; of several questions, the best.
        rungs: Search expressions that were tried, with their hits.
        problems: What failed: `(item, what happened)`.
        continued: Ids of the documents whose passages come first because a conversation goes on about them.
    """

    found: Rankings
    chosen: list[Candidate] = field(default_factory=list)
    relevance: dict[str, float] = field(default_factory=dict)
    rungs: list[SearchExpression] = field(default_factory=list)
    problems: list[tuple[str, str]] = field(default_factory=list)
    continued: list[str] = field(default_factory=list)

    def references(self) -> list[PassageRef]:
        """Return the selected passages in the form of the graph's state; `rank` is their place in a prompt."""
        return [
            reference(candidate, rank, self.relevance.get(candidate.passage.id))
            for rank, candidate in enumerate(self.chosen, 1)
        ]

    def sources(self) -> list[Source]:
        """Return the selected passages in the form of a prompt's sources, numbered by their ranks."""
        return [Source.of(candidate.passage, rank) for rank, candidate in enumerate(self.chosen, 1)]


def reference(candidate: Candidate, rank: int, relevance: float | None = None) -> PassageRef:
    """Return a candidate in the form of the graph's state.

    Args:
        candidate: The candidate.
        rank: Its place among the selected passages, from 1.
        relevance: The second stage's score, if there is one.
    """
    passage = candidate.passage
    return {
        "id": passage.id,
        "document_id": passage.document_id,
        "title": passage.title,
        "source": passage.source,
        "rank": rank,
        "score": candidate.score,
        "cosine": candidate.cosine,
        "dense_rank": candidate.dense_rank,
        "lexical_rank": candidate.lexical_rank,
        "bm25": candidate.bm25,
        "relevance": relevance,
        "found_by": candidate.found_by,
        "origin": candidate.origin,
        "tokens": passage.tokens,
        "preview": passage.text[:PREVIEW_CHARS],
    }


def passage_reference(passage: Passage, rank: int) -> PassageRef:
    """Return a passage that no search has ranked, in the form of the graph's state."""
    return reference(Candidate(passage, rank, score=0.0, cosine=0.0), rank)


def retrieve_passages(
    library: Collection,
    queries: Sequence[str],
    settings: Settings,
    *,
    expressions: Sequence[str] = (),
    pubmed: EntrezClient | None = None,
    extractive: ExtractiveReader | None = None,
) -> Retrieval:
    """Find and select passages for the first of `queries`; the others are parts of it, each searched separately.

    Args:
        library: The collection.
        queries: The standalone question, then its sub-questions.
        settings: The numbers of the turn.
        expressions: Boolean expressions, most specific first.
        pubmed: An `EntrezClient` if NCBI is to be searched.
        extractive: An `ExtractiveReader` for the reranker "reader"; None: the one that the settings name.

    Raises:
        UsageError: A filter, a date or a number of the settings cannot be used.
        LibraryEmpty, LibraryCorrupt: The library cannot be searched.
        RerankerError: The reranker cannot be loaded.
    """
    from preflight_rag.library.search.selection import check_choice

    check_choice(settings)
    where, found_by = read_filter(settings)
    # Before what may be repeated: NCBI is asked once.
    live = _Live() if pubmed is None else _fetched(library, queries[0], expressions, settings, pubmed)
    return again_where_replaced(
        lambda: _retrieved(library, queries, settings, expressions, extractive, where, found_by, live)
    )


def _retrieved(
    library: Collection,
    queries: Sequence[str],
    settings: Settings,
    expressions: Sequence[str],
    extractive: ExtractiveReader | None,
    where: Filter | None,
    found_by: Filter | None,
    live: _Live,
) -> Retrieval:
    """Return the result of `retrieve_passages`, with documents already fetched from NCBI, from one index generation."""
    from preflight_rag.models.reranking.feature_reranker import FeatureReranker

    queries, is_spelled_twice = _with_other_spelling(queries)
    try:
        found = [_search(library, query, settings, where) for query in queries]
    except LibraryEmpty as error:
        raise live.nothing(error) if live.asked else error from None
    # A copy of the problems: a repeated attempt begins with those of NCBI alone.
    retrieval = Retrieval(found[0], rungs=live.rungs, problems=list(live.problems))
    retrieval.problems += [("retriever", problem) for part in found for problem in part.problems]
    if where is not None and not found[0].fused:
        retrieval.problems.append(("where", found[0].note))
    if expressions and isinstance(library, BooleanSearch):
        retrieval.rungs = [*_tried_rungs(library, expressions, settings), *live.rungs]
    pools, relevance = [], _Relevance()
    for query, part in zip(queries, found, strict=True):
        pool = _pool(library, part, settings, extractive, live)
        if len(queries) > 1:  # candidates of several searches are identified by the ids of their passages
            pool = list(pool)
        if live.passages:
            pool = _merged(library, query, _as_read(pool), live, settings, where)
        if found_by is not None:
            pool = [candidate for candidate in pool if found_by.fits({FOUND_BY: candidate.found_by})]
        second = _second_stage(settings, extractive)
        if part.across and isinstance(second, FeatureReranker):
            second = None  # most of the reranker's features are words
        pools.append(_ordered(query, pool, retrieval, relevance, settings, second))
    # `_joined` takes turns among all pools but the first, so the question as written is in them a second time.
    pools = [pools[0], *pools] if is_spelled_twice else pools
    ranked = exact_first(library, queries[0], within_share(_joined(pools), settings), where, settings.k)
    retrieval.chosen = _read(library, _selected(library, ranked, settings))
    retrieval.relevance = relevance.of(retrieval.chosen)
    return retrieval


def _with_other_spelling(queries: Sequence[str]) -> tuple[Sequence[str], bool]:
    """Return the queries of a single question with its other spelling, and whether there is one.

    What its two spellings find is joined as what a question's parts find.
    """
    spelling = other_spelling(queries[0]) if len(queries) == 1 else ""
    return ([*queries, spelling], True) if spelling else (queries, False)


class _Relevance:
    """The second stage's scores of candidates, by id, or by index position while they are not yet objects."""

    def __init__(self) -> None:
        self._by_id: dict[str, float] = {}
        self._by_position: dict[int, float] = {}

    def add(self, candidates: Sequence[AnyCandidate], scores: Sequence[float | None]) -> None:
        """Record the candidates' scores; of several scores of one, the best counts."""
        if isinstance(candidates, Pool):
            pairs = zip(candidates.positions.tolist(), scores, strict=True)
            self._by_position |= {position: score for position, score in pairs if score is not None}
            return
        for candidate, score in zip(candidates, scores, strict=True):
            if score is not None:
                self._by_id[candidate.passage.id] = max(score, self._by_id.get(candidate.passage.id, score))

    def of(self, candidates: Sequence[AnyCandidate]) -> dict[str, float]:
        """Return the scores of the candidates that have one, by passage id."""
        found = {}
        for candidate in candidates:
            score = self._by_id.get(candidate.passage.id)
            if score is None and candidate.terms is not None:
                score = self._by_position.get(candidate.terms.position)
            if score is not None:
                found[candidate.passage.id] = score
        return found


def _pool(
    library: Collection, found: Rankings, settings: Settings, extractive: ExtractiveReader | None, live: _Live
) -> Sequence[AnyCandidate]:
    """Return the candidates of a search; their texts are not read yet if neither texts nor dates affect their order."""
    from preflight_rag.models.reranking.feature_reranker import FeatureReranker

    reranker = _second_stage(settings, extractive)
    reads = not (reranker is None or isinstance(reranker, FeatureReranker)) or live.passages or settings.recency
    if found.unread is not None and not reads:
        return found.unread
    return found.candidates(library.passages([hit.passage_id for hit in found.fused]))


def _read(library: Collection, chosen: Sequence[tuple[int, AnyCandidate]]) -> list[Candidate]:
    """Return the selected candidates with their texts and their ranks in the pool from which they were selected."""
    names = [candidate.passage.id for _, candidate in chosen if isinstance(candidate.passage, UnreadPassage)]
    texts = dict(zip(names, library.passages(names), strict=True))
    read = []
    for rank, candidate in chosen:
        passage = candidate.passage
        read.append(candidate.read(passage if isinstance(passage, Passage) else texts[passage.id], rank))
    return read


def _as_read(pool: Sequence[AnyCandidate]) -> Sequence[Candidate]:
    """Return the candidates as ones with texts: `_pool` has read them if any step needs texts or dates."""
    return cast("Sequence[Candidate]", pool)


def _is_retracted(candidate: AnyCandidate) -> bool:
    """Return whether a candidate is from a retracted publication."""
    passage = candidate.passage
    return passage.retracted if isinstance(passage, UnreadPassage) else is_retracted(passage.title)


def _ordered(
    question: str,
    pool: Sequence[AnyCandidate],
    retrieval: Retrieval,
    relevance: _Relevance,
    settings: Settings,
    reranker: Reranker | None,
) -> Sequence[AnyCandidate]:
    """Return the candidates for one question, sorted by the second stage, and by age if that counts."""
    if reranker is not None and pool:
        pool = _reranked(reranker, question, pool, retrieval, relevance, settings)
    if settings.recency:
        from preflight_rag.library.search.fusion import with_recency

        ranked: list[Candidate] = [replace(candidate, rank=rank) for rank, candidate in enumerate(_as_read(pool), 1)]
        pool = with_recency(ranked, settings.recency, settings.rrf_k)
    return _retracted_last(pool)


def _retracted_last(pool: Sequence[AnyCandidate]) -> Sequence[AnyCandidate]:
    """Return the candidates with passages of retracted publications after all others."""
    if isinstance(pool, Pool):
        is_last = pool.retracted
        return pool.take(is_last.argsort(kind="stable")) if is_last.any() else pool
    retracted = [_is_retracted(candidate) for candidate in pool]
    if not any(retracted):
        return pool
    return [candidate for _, candidate in sorted(zip(retracted, pool, strict=True), key=lambda pair: pair[0])]


def within_share(pool: Sequence[AnyCandidate], settings: Settings) -> Sequence[AnyCandidate]:
    """Return the candidates reordered so that one document does not fill the first k, if others are about as near.

    Otherwise anybody who adds one document with many passages on a question could fill all of a reader's input. The
    document's last passages change places with the first of other documents that are nearly as close to the question
    (`NEAR`); if there are none, as for most questions about one document, nothing changes. Selectors of diversity
    choose for themselves.
    """
    most, given = ceil(settings.k * settings.document_share), Counter[str]()
    # The usual case, found without making objects of the candidates.
    if isinstance(pool, Pool) and max(Counter(pool.documents(settings.k)).values(), default=0) <= most:
        return pool
    beyond, near = [], []
    closest = max((candidate.cosine for candidate in pool), default=0.0)
    for place, candidate in enumerate(pool):
        given[candidate.passage.document_id] += 1
        is_within = given[candidate.passage.document_id] <= most
        if place < settings.k and not is_within:
            beyond.append(candidate)
        is_near = place >= settings.k and is_within and candidate.cosine >= NEAR * closest
        if is_near and not _is_retracted(candidate):
            near.append(candidate)
    count = min(len(beyond), len(near))
    if not count:
        return pool
    moved = {candidate.passage.id for candidate in (*beyond[-count:], *near[:count])}
    first = [candidate for candidate in pool[: settings.k] if candidate.passage.id not in moved]
    rest = [candidate for candidate in pool[settings.k :] if candidate.passage.id not in moved]
    return [*first, *near[:count], *beyond[-count:], *rest]


def _joined(pools: Sequence[Sequence[AnyCandidate]]) -> Sequence[AnyCandidate]:
    """Return the candidates of a question from the pools of its parts.

    With several parts, they are the best of each part, then the second of each, and so on.
    """
    if len(pools) == 1:
        return pools[0]
    known = {}
    # Backwards, so that of a passage in several pools the candidate of the whole question stays.
    for pool in reversed(pools):
        for candidate in pool:
            known[candidate.passage.id] = candidate
    ids = []
    for turn in zip_longest(*pools[1:]):
        ids += [candidate.passage.id for candidate in turn if candidate is not None]
    names = dict.fromkeys(ids)
    return [known[name] for name in names]


def read_filter(settings: Settings) -> tuple[Filter | None, Filter | None]:
    """Return the filters of a turn's settings: on stored fields (`where`, `since`, MeSH subtree) and on `found_by`."""
    if not (settings.where or settings.since or settings.subtree):
        return None, None
    from preflight_rag.library.search.filters import Condition, Filter

    read = Filter.parse(settings.where, since=settings.since)
    conditions = list(read.conditions) if read else []
    if settings.subtree is not None:
        if settings.mesh is None:
            raise UsageError(
                f"subtree = {settings.subtree!r} needs a MeSH file", help="Give one with --mesh or PREFLIGHT_MESH."
            )
        from preflight_rag.pubmed.mesh import Mesh

        conditions.append(Condition("mesh", "in", Mesh.open(settings.mesh).under(settings.subtree)))
    of_turn = tuple(condition for condition in conditions if condition.name == FOUND_BY)
    stored = tuple(condition for condition in conditions if condition.name != FOUND_BY)
    return Filter(stored) if stored else None, Filter(of_turn) if of_turn else None


def _search(library: Collection, query: str, settings: Settings, where: Filter | None) -> Rankings:
    """Search the library with the depth, fusion and filter of the settings."""
    depth = max(settings.k, settings.candidates)
    return library.search(SearchQuery(query, depth, depth, settings.rrf_k, settings.fusion, where))


def _tried_rungs(
    library: BooleanSearch, expressions: Sequence[str], settings: Settings
) -> tuple[SearchExpression, ...]:
    """Return the expressions that a boolean search tries until enough documents are found, with their hits."""

    def match(expression: str) -> tuple[Sequence[str], int, str]:
        """Return the documents in the library that match an expression, and their number."""
        ids, hits = library.match(expression, settings.enough_documents)
        return ids, hits, ""

    return search_until_enough(expressions, match, enough=settings.enough_documents).rungs


@dataclass
class _Live:
    """The results from NCBI, as passages that the library now stores."""

    passages: Sequence[Passage] = ()
    new: Set[str] = frozenset()
    rungs: list[SearchExpression] = field(default_factory=list)
    problems: list[tuple[str, str]] = field(default_factory=list)
    asked: bool = False

    def nothing(self, empty: LibraryEmpty) -> LibraryEmpty:
        """Return the error for an empty library into which nothing could be fetched from NCBI."""
        reasons = "; ".join(problem for _, problem in self.problems) or "nothing was found there"
        return LibraryEmpty(f"{empty.message}, and PubMed gave nothing: {reasons}", help=empty.help)


def _fetched(
    library: Collection, question: str, expressions: Sequence[str], settings: Settings, pubmed: EntrezClient
) -> _Live:
    """Fetch documents from PubMed for a question, and return their passages."""
    from preflight_rag.pubmed import fetch_documents
    from preflight_rag.text.concepts import rewrite_by_rules

    fetched = fetch_documents(
        pubmed,
        expressions or rewrite_by_rules(question).expressions or [question],
        enough=settings.enough_documents,
        per_database=settings.pubmed_documents,
        since=settings.since,
        sources=settings.pubmed_sources,
    )
    stored = library.intern(fetched.documents)
    problems = [("pubmed", problem) for problem in (*fetched.problems, *stored.problems)]
    return _Live(stored.passages, stored.new, list(fetched.rungs), problems, asked=True)


def _merged(
    library: Collection, question: str, pool: Sequence[Candidate], live: _Live, settings: Settings, where: Filter | None
) -> list[Candidate]:
    """Return the pool merged with the fetched passages that fit the filter, each text only once."""
    from preflight_rag.library.search.merging import merge

    passages = list(live.passages)
    if where is not None:
        fitting = set(library.fitting([passage.id for passage in passages], where))
        passages = [passage for passage in passages if passage.id in fitting]
    if isinstance(library, KnowsCopies):
        names = set(library.without_copies([passage.id for passage in passages], where))
        passages = [passage for passage in passages if passage.id in names]
    depth = len(pool) + len(passages)
    return merge(library, question, pool, passages, new=live.new, depth=depth, rrf_k=settings.rrf_k)


def _reranked(
    reranker: Reranker,
    question: str,
    pool: Sequence[AnyCandidate],
    retrieval: Retrieval,
    relevance: _Relevance,
    settings: Settings,
) -> Sequence[AnyCandidate]:
    """Return the pool in the reranker's order; problems are added to `retrieval`, probabilities to `relevance`."""
    from preflight_rag.models.reranking.rerankers import rerank

    limit, deadline = settings.rerank_candidates, settings.rerank_deadline
    ranked = rerank(reranker, question, _as_read(pool), limit=limit, deadline=deadline)
    if ranked.note:
        retrieval.problems.append(("rerank", ranked.note))
    relevance.add(ranked.order, ranked.scores)
    return ranked.order


def _second_stage(settings: Settings, extractive: ExtractiveReader | None) -> Reranker | None:
    """Return the reranker of the settings; the reader itself reranks if it is named; None for no reranker."""
    if extractive is not None and settings.reranker.strip().casefold() == "reader":
        from preflight_rag.models.reranking.reader_reranker import ReaderReranker

        return ReaderReranker(extractive)
    return _opened(settings.reranker, settings.extractive_reader)


@lru_cache(maxsize=4)
def _opened(reranker: str, extractive_reader: str) -> Reranker | None:
    """Open a reranker by its name."""
    from preflight_rag.models.opening import open_reranker

    return open_reranker(reranker, extractive_reader=extractive_reader)


def _selected(library: Collection, pool: Sequence[AnyCandidate], settings: Settings) -> list[tuple[int, AnyCandidate]]:
    """Return the selected candidates, in the order of a prompt, each with its place in the pool."""
    from preflight_rag.library.search.diversity import in_order
    from preflight_rag.library.search.selection import preset, select

    alpha, window, diversity = settings.alpha, settings.window, settings.diversity
    if settings.preset is not None:
        named = preset(settings.preset)
        alpha, window, diversity = named.alpha, named.window, named.diversity
    is_limited = settings.budget_tokens is not None or settings.compression is not None
    if diversity == "none" and settings.ordering == "score" and not is_limited:
        # the most that `select` returns; further candidates need not become objects
        return list(enumerate(pool[: settings.k], 1))
    pool = list(pool)
    ranks = {candidate.passage.id: rank for rank, candidate in enumerate(pool, 1)}
    vectors, relevance = None, None
    if diversity != "none" and pool:
        # A selector picks from the whole pool, so retracted passages are included only if there are not enough others.
        sound = [candidate for candidate in pool if not _is_retracted(candidate)]
        pool = sound if len(sound) >= settings.k else pool
        relevance = in_order([candidate.cosine for candidate in pool]).tolist()
        vectors = library.vectors([candidate.passage.id for candidate in pool])
    chosen = select(
        pool,
        vectors,
        k=settings.k,
        diversity=diversity,
        alpha=alpha,
        window=window,
        budget_tokens=settings.budget_tokens,
        compression=settings.compression,
        ordering=settings.ordering,
        relevance=relevance,
    )
    return [(ranks[candidate.passage.id], candidate) for candidate in chosen]
