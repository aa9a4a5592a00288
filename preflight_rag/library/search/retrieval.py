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
NEAR_SHARE = 0.8
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
    # Outside of what may be repeated: NCBI is asked once.
    fetched = _FetchedPassages()
    if pubmed is not None:
        fetched = _fetch_from_pubmed(library, queries[0], expressions, settings, pubmed)
    return again_where_replaced(
        lambda: _retrieve_once(library, queries, settings, expressions, extractive, where, found_by, fetched)
    )


def _retrieve_once(
    library: Collection,
    queries: Sequence[str],
    settings: Settings,
    expressions: Sequence[str],
    extractive: ExtractiveReader | None,
    where: Filter | None,
    found_by: Filter | None,
    fetched: _FetchedPassages,
) -> Retrieval:
    """Return the result of `retrieve_passages`, with passages already fetched from NCBI, from one index generation.

    Raises:
        PassageGone: A passage was replaced between search and reading; the caller tries again.
    """
    queries, is_spelled_twice = _add_other_spelling(queries)
    try:
        searches = [_search_library(library, query, settings, where) for query in queries]
    except LibraryEmpty as error:
        raise fetched.empty_error(error) if fetched.was_searched else error from None
    rankings = searches[0]
    # A copy of the problems: a repeated attempt begins with those of NCBI alone.
    retrieval = Retrieval(rankings, rungs=fetched.rungs, problems=list(fetched.problems))
    for search in searches:
        retrieval.problems += [("retriever", problem) for problem in search.problems]
    if where is not None and not rankings.fused:
        retrieval.problems.append(("where", rankings.note))
    if expressions and isinstance(library, BooleanSearch):
        retrieval.rungs = [*_try_expressions(library, expressions, settings), *fetched.rungs]
    pools, relevance = [], _RelevanceScores()
    for query, search in zip(queries, searches, strict=True):
        pool = _open_pool(library, search, settings, extractive, fetched)
        if len(queries) > 1:  # candidates of several searches are identified by the ids of their passages
            pool = list(pool)
        if fetched.passages:
            pool = _merge_fetched(library, query, _assume_read(pool), fetched, settings, where)
        if found_by is not None:
            pool = [candidate for candidate in pool if found_by.fits({FOUND_BY: candidate.found_by})]
        reranker = _choose_reranker(settings, extractive, search)
        pools.append(_order_pool(query, pool, retrieval, relevance, settings, reranker))
    # `_join_pools` takes turns among all pools but the first, so the question as written is in them a second time.
    pools = [pools[0], *pools] if is_spelled_twice else pools
    ranked = exact_first(library, queries[0], within_share(_join_pools(pools), settings), where, settings.k)
    retrieval.chosen = _read_selected(library, _select_candidates(library, ranked, settings))
    retrieval.relevance = relevance.of(retrieval.chosen)
    return retrieval


def _add_other_spelling(queries: Sequence[str]) -> tuple[Sequence[str], bool]:
    """Return the queries, with the other spelling of a single question added, and whether it was added.

    A question that names an office by its abbreviation is also searched with the long form, and vice versa. The results
    of both spellings are joined as those of a question's parts.
    """
    spelling = other_spelling(queries[0]) if len(queries) == 1 else ""
    return ([*queries, spelling], True) if spelling else (queries, False)


class _RelevanceScores:
    """The second stage's scores of candidates, by id, or by index position while they are not yet objects."""

    def __init__(self) -> None:
        self._by_id: dict[str, float] = {}
        self._by_position: dict[int, float] = {}

    def add(self, candidates: Sequence[AnyCandidate], scores: Sequence[float | None]) -> None:
        """Record the candidates' scores, as far as they have one; of several scores of a candidate, the best counts."""
        if isinstance(candidates, Pool):
            pairs = zip(candidates.positions.tolist(), scores, strict=True)
            self._by_position |= {position: score for position, score in pairs if score is not None}
            return
        for candidate, score in zip(candidates, scores, strict=True):
            if score is not None:
                self._by_id[candidate.passage.id] = max(score, self._by_id.get(candidate.passage.id, score))

    def of(self, candidates: Sequence[AnyCandidate]) -> dict[str, float]:
        """Return the scores of the candidates that have one, by passage id."""
        scores = {}
        for candidate in candidates:
            score = self._by_id.get(candidate.passage.id)
            if score is None and candidate.terms is not None:
                score = self._by_position.get(candidate.terms.position)
            if score is not None:
                scores[candidate.passage.id] = score
        return scores


def _open_pool(
    library: Collection,
    rankings: Rankings,
    settings: Settings,
    extractive: ExtractiveReader | None,
    fetched: _FetchedPassages,
) -> Sequence[AnyCandidate]:
    """Return the candidates of a search; their texts are not read yet if neither texts nor dates affect their order."""
    from preflight_rag.models.reranking.feature_reranker import FeatureReranker

    reranker = _named_reranker(settings, extractive)
    reranks_texts = not (reranker is None or isinstance(reranker, FeatureReranker))
    needs_texts = reranks_texts or fetched.passages or settings.recency
    if rankings.unread is not None and not needs_texts:
        return rankings.unread
    return rankings.candidates(library.passages([hit.passage_id for hit in rankings.fused]))


def _read_selected(library: Collection, selected: Sequence[tuple[int, AnyCandidate]]) -> list[Candidate]:
    """Return candidates with their texts, given as `(rank in the pool, candidate)`."""
    unread_ids = [candidate.passage.id for _, candidate in selected if isinstance(candidate.passage, UnreadPassage)]
    passages = dict(zip(unread_ids, library.passages(unread_ids), strict=True))
    candidates = []
    for rank, candidate in selected:
        passage = candidate.passage
        candidates.append(candidate.read(passage if isinstance(passage, Passage) else passages[passage.id], rank))
    return candidates


def _assume_read(pool: Sequence[AnyCandidate]) -> Sequence[Candidate]:
    """Return the same candidates under the type of ones with texts.

    `_open_pool` has read the texts if any step needs texts or dates.
    """
    return cast("Sequence[Candidate]", pool)


def _is_retracted(candidate: AnyCandidate) -> bool:
    """Return whether a candidate is from a retracted publication."""
    passage = candidate.passage
    return passage.retracted if isinstance(passage, UnreadPassage) else is_retracted(passage.title)


def _order_pool(
    question: str,
    pool: Sequence[AnyCandidate],
    retrieval: Retrieval,
    relevance: _RelevanceScores,
    settings: Settings,
    reranker: Reranker | None,
) -> Sequence[AnyCandidate]:
    """Return the candidates for one question, sorted by the second stage, and by age if that counts."""
    if reranker is not None and pool:
        pool = _rerank_pool(reranker, question, pool, retrieval, relevance, settings)
    if settings.recency:
        from preflight_rag.library.search.fusion import with_recency

        ranked: list[Candidate] = [
            replace(candidate, rank=rank) for rank, candidate in enumerate(_assume_read(pool), 1)
        ]
        pool = with_recency(ranked, settings.recency, settings.rrf_k)
    return _move_retracted_last(pool)


def _move_retracted_last(pool: Sequence[AnyCandidate]) -> Sequence[AnyCandidate]:
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
    last passages beyond a document's share (`document_share`) change places with the first passages of other documents
    that are nearly as close to the question (`NEAR_SHARE`). If there are none, as for most questions about one
    document, nothing changes.
    """
    most, counts = ceil(settings.k * settings.document_share), Counter[str]()
    # The usual case, recognised without making objects of the candidates.
    if isinstance(pool, Pool) and max(Counter(pool.documents(settings.k)).values(), default=0) <= most:
        return pool
    beyond_share, replacements = [], []
    closest = max((candidate.cosine for candidate in pool), default=0.0)
    for index, candidate in enumerate(pool):
        counts[candidate.passage.document_id] += 1
        is_within_share = counts[candidate.passage.document_id] <= most
        if index < settings.k and not is_within_share:
            beyond_share.append(candidate)
        is_near = index >= settings.k and is_within_share and candidate.cosine >= NEAR_SHARE * closest
        if is_near and not _is_retracted(candidate):
            replacements.append(candidate)
    count = min(len(beyond_share), len(replacements))
    if not count:
        return pool
    demoted, promoted = beyond_share[-count:], replacements[:count]
    moved_ids = {candidate.passage.id for candidate in (*demoted, *promoted)}
    first = [candidate for candidate in pool[: settings.k] if candidate.passage.id not in moved_ids]
    others = [candidate for candidate in pool[settings.k :] if candidate.passage.id not in moved_ids]
    return [*first, *promoted, *demoted, *others]


def _join_pools(pools: Sequence[Sequence[AnyCandidate]]) -> Sequence[AnyCandidate]:
    """Return the candidates of a question from its pool, the first one, and those of its parts.

    Without parts, these are the candidates of the question. Otherwise they are the best of each part, then the second
    of each part, and so on, each once.
    """
    if len(pools) == 1:
        return pools[0]
    candidate_by_id = {}
    # Backwards, so that of a passage in several pools the candidate of the whole question stays.
    for pool in reversed(pools):
        for candidate in pool:
            candidate_by_id[candidate.passage.id] = candidate
    ids = []
    for candidates_of_rank in zip_longest(*pools[1:]):
        ids += [candidate.passage.id for candidate in candidates_of_rank if candidate is not None]
    return [candidate_by_id[id] for id in dict.fromkeys(ids)]


def read_filter(settings: Settings) -> tuple[Filter | None, Filter | None]:
    """Return the filters of a turn's settings: one on stored fields (`where`, `since`, `subtree`), one on `found_by`.

    Either is None if there is no condition of its kind.

    Raises:
        UsageError: A condition or a date cannot be read, or `subtree` is set without a MeSH file.
    """
    if not (settings.where or settings.since or settings.subtree):
        return None, None
    from preflight_rag.library.search.filters import Condition, Filter

    stated = Filter.parse(settings.where, since=settings.since)
    conditions = list(stated.conditions) if stated else []
    if settings.subtree is not None:
        if settings.mesh is None:
            raise UsageError(
                f"subtree = {settings.subtree!r} needs a MeSH file", help="Give one with --mesh or PREFLIGHT_MESH."
            )
        from preflight_rag.pubmed.mesh import Mesh

        conditions.append(Condition("mesh", "in", Mesh.open(settings.mesh).under(settings.subtree)))
    on_found_by = tuple(condition for condition in conditions if condition.name == FOUND_BY)
    on_stored = tuple(condition for condition in conditions if condition.name != FOUND_BY)
    return Filter(on_stored) if on_stored else None, Filter(on_found_by) if on_found_by else None


def _search_library(library: Collection, query: str, settings: Settings, where: Filter | None) -> Rankings:
    """Search the library for a query, with the depth and fusion of the settings."""
    depth = max(settings.k, settings.candidates)
    search = SearchQuery(query, k=depth, candidates=depth, rrf_k=settings.rrf_k, fusion=settings.fusion, where=where)
    return library.search(search)


def _try_expressions(
    library: BooleanSearch, expressions: Sequence[str], settings: Settings
) -> tuple[SearchExpression, ...]:
    """Try Boolean expressions until enough documents are found, and return those that were tried, with their hits."""

    def match(expression: str) -> tuple[Sequence[str], int, str]:
        """Return the documents in the library that match an expression, the number of hits, and no problem."""
        ids, hits = library.match(expression, settings.enough_documents)
        return ids, hits, ""

    return search_until_enough(expressions, match, enough=settings.enough_documents).rungs


@dataclass
class _FetchedPassages:
    """The results from NCBI, as passages that the library now stores.

    Attributes:
        passages: The passages of all documents found there.
        new: Ids of those that the library did not have before.
        rungs: The expressions that were tried there, with their hits.
        problems: What failed: `("pubmed", what happened)`.
        was_searched: Whether NCBI was searched at all.
    """

    passages: Sequence[Passage] = ()
    new: Set[str] = frozenset()
    rungs: list[SearchExpression] = field(default_factory=list)
    problems: list[tuple[str, str]] = field(default_factory=list)
    was_searched: bool = False

    def empty_error(self, error: LibraryEmpty) -> LibraryEmpty:
        """Return the error for an empty library into which nothing could be fetched from NCBI."""
        reasons = "; ".join(problem for _, problem in self.problems) or "nothing was found there"
        return LibraryEmpty(f"{error.message}, and PubMed gave nothing: {reasons}", help=error.help)


def _fetch_from_pubmed(
    library: Collection, question: str, expressions: Sequence[str], settings: Settings, pubmed: EntrezClient
) -> _FetchedPassages:
    """Fetch documents from PubMed for a question, store them in the library, and return their passages.

    Without Boolean `expressions`, they are made from the question by rules, or else the question itself is searched.
    """
    from preflight_rag.pubmed import fetch_documents
    from preflight_rag.text.concepts import rewrite_by_rules

    found = fetch_documents(
        pubmed,
        expressions or rewrite_by_rules(question).expressions or [question],
        enough=settings.enough_documents,
        per_database=settings.pubmed_documents,
        since=settings.since,
        sources=settings.pubmed_sources,
    )
    stored = library.intern(found.documents)
    problems = [("pubmed", problem) for problem in (*found.problems, *stored.problems)]
    return _FetchedPassages(stored.passages, stored.new, list(found.rungs), problems, was_searched=True)


def _merge_fetched(
    library: Collection,
    question: str,
    pool: Sequence[Candidate],
    fetched: _FetchedPassages,
    settings: Settings,
    where: Filter | None,
) -> list[Candidate]:
    """Return the pool merged with the fetched passages, without those that fail the filter or are copies of others."""
    from preflight_rag.library.search.merging import merge

    passages = list(fetched.passages)
    if where is not None:
        fitting = set(library.fitting([passage.id for passage in passages], where))
        passages = [passage for passage in passages if passage.id in fitting]
    if isinstance(library, KnowsCopies):
        names = set(library.without_copies([passage.id for passage in passages], where))
        passages = [passage for passage in passages if passage.id in names]
    depth = len(pool) + len(passages)
    return merge(library, question, pool, passages, new=fetched.new, depth=depth, rrf_k=settings.rrf_k)


def _rerank_pool(
    reranker: Reranker,
    question: str,
    pool: Sequence[AnyCandidate],
    retrieval: Retrieval,
    relevance: _RelevanceScores,
    settings: Settings,
) -> Sequence[AnyCandidate]:
    """Return the pool in the reranker's order; problems are added to `retrieval`, probabilities to `relevance`."""
    from preflight_rag.models.reranking.rerankers import rerank

    limit, deadline = settings.rerank_candidates, settings.rerank_deadline
    ranked = rerank(reranker, question, _assume_read(pool), limit=limit, deadline=deadline)
    if ranked.note:
        retrieval.problems.append(("rerank", ranked.note))
    relevance.add(ranked.order, ranked.scores)
    return ranked.order


def _choose_reranker(settings: Settings, extractive: ExtractiveReader | None, rankings: Rankings) -> Reranker | None:
    """Return the reranker for the results of a search; None for no reranking."""
    from preflight_rag.models.reranking.feature_reranker import FeatureReranker

    reranker = _named_reranker(settings, extractive)
    # Most of this reranker's features are words, which must not judge passages in another language.
    if rankings.across and isinstance(reranker, FeatureReranker):
        return None
    return reranker


def _named_reranker(settings: Settings, extractive: ExtractiveReader | None) -> Reranker | None:
    """Return the reranker that the settings name; None for "none". An open `extractive` reader is used for "reader"."""
    if extractive is not None and settings.reranker.strip().casefold() == "reader":
        from preflight_rag.models.reranking.reader_reranker import ReaderReranker

        return ReaderReranker(extractive)
    return _open_reranker(settings.reranker, settings.extractive_reader)


@lru_cache(maxsize=4)
def _open_reranker(reranker: str, extractive_reader: str) -> Reranker | None:
    """Open a reranker by its name; None for "none". The last few stay open."""
    from preflight_rag.models.opening import open_reranker

    return open_reranker(reranker, extractive_reader=extractive_reader)


def _select_candidates(
    library: Collection, pool: Sequence[AnyCandidate], settings: Settings
) -> list[tuple[int, AnyCandidate]]:
    """Return `(rank in the pool, candidate)` of the candidates selected by the settings, in the order of a prompt."""
    from preflight_rag.library.search.diversity import in_order
    from preflight_rag.library.search.selection import preset, select

    alpha, window, diversity = settings.alpha, settings.window, settings.diversity
    if settings.preset is not None:
        chosen_preset = preset(settings.preset)
        alpha, window, diversity = chosen_preset.alpha, chosen_preset.window, chosen_preset.diversity
    is_limited = settings.budget_tokens is not None or settings.compression is not None
    if diversity == "none" and settings.ordering == "score" and not is_limited:
        # These are what `select` would return; the other candidates need not become objects.
        return list(enumerate(pool[: settings.k], 1))
    pool = list(pool)
    ranks = {candidate.passage.id: rank for rank, candidate in enumerate(pool, 1)}
    vectors, relevance = None, None
    if diversity != "none" and pool:
        # A selector picks from the whole pool, so retracted passages are included only if there are not enough others.
        not_retracted = [candidate for candidate in pool if not _is_retracted(candidate)]
        pool = not_retracted if len(not_retracted) >= settings.k else pool
        relevance = in_order([candidate.cosine for candidate in pool]).tolist()
        vectors = library.vectors([candidate.passage.id for candidate in pool])
    selected = select(
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
    return [(ranks[candidate.passage.id], candidate) for candidate in selected]
