"""Hybrid search in PostgreSQL, in two round trips: first the rankings, then the data that ranks their passages further.

All statements of the first see one state of the library. The second reads rows by number, which exist until they are
visible to nobody; if one is gone, the search is repeated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from preflight_rag.databases.postgres import Connection
from preflight_rag.library.copies import Copies
from preflight_rag.library.index.scored import ScoredRanking
from preflight_rag.library.postgres.copies import LINKED
from preflight_rag.library.postgres.hashed_terms import HashedTerms
from preflight_rag.library.postgres.postings import best_by_bm25, query_terms
from preflight_rag.library.postgres.schema import gone, sees
from preflight_rag.library.postgres.store import PostgresStore
from preflight_rag.library.postgres.values import vector_matrix, vector_text
from preflight_rag.library.search.fusion import comb_sum, reciprocal_rank_fusion
from preflight_rag.library.search.hybrid import LazyRanking, Rankings, row_cosines
from preflight_rag.library.search.query import SearchQuery
from preflight_rag.state.errors import LibraryEmpty, PassageGone
from preflight_rag.state.retrieval import Candidate
from preflight_rag.state.values import UnreadPassage

if TYPE_CHECKING:
    import numpy as np

REFINE_FACTOR = 2
"""Factor by which more passages are requested from the half-precision vector index; the full vectors then rank them."""
FEW = 20_000
"""Up to this many filtered passages, each vector is compared; with more, the whole ranking is read until enough of them
were found. Measured: see docs/scaling.md."""

STATE = f"""
    select (select value::bigint from library_meta where key = 'generation'),
        (select coalesce(sum(passages), 0)::bigint from library_pieces),
        (select coalesce(sum(length), 0)::bigint from library_pieces),
        array(select row from library_passages where {gone()}),
        (select value::bigint from library_meta where key = '{LINKED}')
"""
_NEAREST = f"""
    select row, -(vector <#> %(vector)s::vector) from library_vectors where {sees()} {{among}}
    order by vector <#> %(vector)s::vector, row limit %(limit)s
"""
_NEAREST_BY_INDEX = f"""
    select row, -distance from (
        select row, vector <#> %(vector)s::vector as distance from library_vectors where {sees()}
        order by vector::halfvec({{dimension}}) <#> %(vector)s::halfvec({{dimension}}) limit %(wide)s
    ) as near order by distance, row limit %(limit)s
"""
LISTS = "select term, list from library_postings where term = any(%s) order by term, piece"
# Data beside a row is looked up row by row: a join planned on outdated statistics would read whole tables.
_CANDIDATES = """
    select p.row, p.id, d.id, p.tokens, p.start, d.retracted,
        case when p.row = any(%(read)s) then p.terms end,
        case when p.row = any(%(read)s) then vector_send(v.vector) end
    from library_passages p
    cross join lateral (select id, retracted from library_documents where key = p.document offset 0) as d
    cross join lateral (select vector from library_vectors where row = p.row offset 0) as v
    where p.row = any(%(rows)s)
"""


class _PassageData(NamedTuple):
    """A row of `_CANDIDATES`; terms and vector are empty for hits that are only listed."""

    row: int
    id: str
    document_id: str
    tokens: int
    start: int
    retracted: bool
    terms: bytes
    vector: bytes


def hybrid_search(
    store: PostgresStore,
    query: SearchQuery,
    vector: np.ndarray,
    among: np.ndarray | None,
    *,
    has_index: bool,
    with_terms: bool,
) -> Rankings:
    """Return both rankings and their fusion.

    Args:
        store: The library.
        query: The query.
        vector: The vector of the query's text, (d,) float32.
        among: Rows to choose from, ascending (m,); None for all.
        has_index: Whether there is an index of the vectors; without, all are compared.
        with_terms: Whether the stored terms are those of this version's analyser, so that they can be used.

    Raises:
        LibraryEmpty: There is no passage to find.
        PassageGone: A passage was deleted meanwhile; search again.
    """
    dense, lexical = _rankings(store, query, vector, among, has_index=has_index)
    # Ranks are fused without vectors and terms, so only the result's are read; scores need those of all candidates.
    if query.fusion == "rrf":
        fused = reciprocal_rank_fusion([[row for row, _ in dense], [row for row, _ in lexical]], k=query.rrf_k)
        fused = fused[: query.k]
        detailed_rows = [row for row, _ in fused]
    else:
        fused, detailed_rows = [], list(dict.fromkeys(row for row, _ in (*dense, *lexical)))
    listed_rows = {row for row, _ in (*dense[: query.k], *lexical[: query.k])}
    # Of hits that are only listed, the names are read; terms and vectors are sent of `detailed_rows`.
    rows = list(dict.fromkeys((*detailed_rows, *sorted(listed_rows))))
    sent = store.read_rows(_CANDIDATES, {"read": detailed_rows, "rows": rows})
    found = {data.row: data for data in map(_PassageData._make, sent)}
    if len(found) != len(rows):
        raise PassageGone(f"A passage of {store.name} was deleted during the search", help="Search again.")
    cosine_values = row_cosines(vector, vector_matrix([found[row].vector for row in detailed_rows])).tolist()
    cosines = dict(zip(detailed_rows, cosine_values, strict=True))
    if query.fusion != "rrf":
        products = dict(dense)
        for row, _ in lexical:
            if row not in products:
                products[row] = _product(vector, found[row].vector)
        fused = comb_sum(products, dict(lexical))[: query.k]
    dense, lexical = dense[: query.k], lexical[: query.k]

    def names(rows: Sequence[int]) -> list[tuple[str, str]]:
        """Return `(passage id, document id)` of rows."""
        return [(found[row].id, found[row].document_id) for row in rows]

    return Rankings(
        dense=LazyRanking(ScoredRanking.of(dense), names),
        lexical=LazyRanking(ScoredRanking.of(lexical), names),
        fused=LazyRanking(ScoredRanking.of(fused), names),
        dense_scores={found[row].id: cosines[row] for row, _ in fused},
        unread=_unread_candidates(found, dense, lexical, fused, cosines) if with_terms else None,
    )


def _rankings(
    store: PostgresStore, query: SearchQuery, vector: np.ndarray, among: np.ndarray | None, *, has_index: bool
) -> tuple[list[tuple[int, float]], list[tuple[int, float]]]:
    """Return `(row, score)` of the best passages by vectors and by words, of one state of the library."""
    import numpy as np

    terms = query_terms(query.text)
    values: dict[str, Any] = {"vector": vector_text(vector), "limit": query.depth}
    nearest, wanted_rows = _NEAREST.format(among=""), None
    if among is not None and (len(among) <= FEW or not has_index):
        nearest, values["among"] = _NEAREST.format(among="and row = any(%(among)s)"), among.tolist()
    elif has_index:
        nearest = _NEAREST_BY_INDEX.format(dimension=len(vector))
        values["wide"] = REFINE_FACTOR * query.depth
        wanted_rows = among

    def read(connection: Connection) -> tuple[Any, list[tuple[int, float]], list[tuple[str, bytes]]]:
        """Read the library's state, the nearest passages and the posting lists, all of one state of the library."""
        with connection.pipeline():
            connection.execute("begin isolation level repeatable read read only")
            # The server overestimates the cost of a vector index, and would read a table of some ten thousand rows
            # instead.
            connection.execute(f"set local enable_seqscan = {'off' if has_index else 'on'}")
            state = connection.execute(STATE, binary=True)
            near = connection.execute(nearest, values, binary=True)
            lists = connection.execute(LISTS, [terms], binary=True) if terms else None
            connection.execute("commit")
        return state.fetchone(), near.fetchall(), lists.fetchall() if lists else []

    state, first_near, stored_lists = store.connections.read(read)
    _, passages, length, dead, linked = state
    if passages <= len(dead):
        raise no_passages(store)
    lists: dict[str, list[bytes]] = {}
    for term, posting_list in stored_lists:
        lists.setdefault(term, []).append(posting_list)
    dead_rows = np.array(dead, dtype=np.int64)

    def rank_dense(depth: int) -> ScoredRanking:
        """Return the nearest passages by vector, to a depth, copies included."""
        parameters = {**values, "limit": depth, "wide": REFINE_FACTOR * depth}
        near = first_near
        if depth != query.depth:
            near = cast("list[tuple[int, float]]", store.read_rows(nearest, parameters))
        if wanted_rows is not None:
            near = _read_deeper(store, nearest, parameters, near, wanted_rows, passages)
        return ScoredRanking.of(near)

    def rank_lexical(depth: int) -> ScoredRanking:
        """Return the best passages by BM25, to a depth, copies included."""
        best = best_by_bm25(lists, terms, depth, passages=passages, length=length, dead=dead_rows, among=among)
        return ScoredRanking.of(best)

    copies = copies_of(store, linked, among)
    return copies.search(rank_dense, query.depth).pairs(), copies.search(rank_lexical, query.depth).pairs()


def copies_of(store: PostgresStore, linked: int | None, among: np.ndarray | None) -> Copies:
    """Return the passages, among all or the rows `among`, that searches leave out because others have their text.

    Args:
        store: The library.
        linked: How often copies were found, as the search has read it; None if never.
        among: Rows that the search chooses from.
    """
    import numpy as np

    def is_searched(candidates: np.ndarray) -> np.ndarray:
        """Return, for each row, whether it is published and, if there is a choice of rows, in it."""
        statement = f"select row from library_passages where row = any(%s) and {sees()}"
        is_there = np.isin(candidates, [row for (row,) in store.read_rows(statement, [candidates.tolist()])])
        return is_there if among is None else is_there & np.isin(candidates, among)

    return Copies(store.passage_copies(linked), is_searched)


def no_passages(store: PostgresStore) -> LibraryEmpty:
    """Return the error for a search of an empty library."""
    return LibraryEmpty(f"The library in {store.name} holds no passage", help="Add some: preflight ingest PATH")


def _read_deeper(
    store: PostgresStore,
    nearest: str,
    values: dict[str, Any],
    near: list[tuple[int, float]],
    among: np.ndarray,
    passages: int,
) -> list[tuple[int, float]]:
    """Return the best entries of the dense ranking among some rows, reading the ranking as deep as needed.

    Args:
        store: The library.
        nearest: The statement that reads the ranking.
        values: The statement's parameters, of which `limit` is the number of entries to return.
        near: The first entries of the ranking, as many as `limit`.
        among: The rows.
        passages: Number of passages, beyond which there is nothing to read.
    """
    count, limit = min(values["limit"], len(among)), values["limit"]
    allowed_rows = set(among.tolist())
    while True:
        hits = [(row, score) for row, score in near if row in allowed_rows]
        if len(hits) >= count or limit >= passages:
            return hits[:count]
        limit = min(passages, 2 * max(limit, count * passages // max(1, len(among))))
        near = cast("list[tuple[int, float]]", store.read_rows(nearest, {**values, "limit": limit, "wide": limit}))


def _product(vector: np.ndarray, sent: bytes) -> float:
    """Return the inner product of a vector and one in pgvector's binary form."""
    (stored,) = vector_matrix([sent])
    return float(vector @ stored)


def _unread_candidates(
    found: Mapping[int, _PassageData],
    dense: Sequence[tuple[int, float]],
    lexical: Sequence[tuple[int, float]],
    fused: Sequence[tuple[int, float]],
    cosines: dict[int, float],
) -> tuple[Candidate[UnreadPassage], ...]:
    """Return the candidates of the fused ranking, without their texts."""
    dense_rank = {row: rank for rank, (row, _) in enumerate(dense, 1)}
    lexical_hit = {row: (rank, score) for rank, (row, score) in enumerate(lexical, 1)}
    terms = HashedTerms([found[row].terms for row, _ in fused])
    candidates = []
    for index, (row, score) in enumerate(fused):
        data = found[row]
        lexical_rank, bm25 = lexical_hit.get(row, (None, None))
        candidates.append(
            Candidate(
                UnreadPassage(
                    id=data.id,
                    document_id=data.document_id,
                    tokens=data.tokens,
                    start=data.start,
                    retracted=data.retracted,
                ),
                rank=index + 1,
                score=score,
                cosine=cosines[row],
                dense_rank=dense_rank.get(row),
                lexical_rank=lexical_rank,
                bm25=bm25,
                terms=terms.of(index),
            )
        )
    return tuple(candidates)
