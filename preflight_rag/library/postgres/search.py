"""Hybrid search in PostgreSQL, in two round trips: first the rankings, then the data that ranks their passages further.

All statements of the first see one state of the library. The second reads rows by number, which exist until they are
visible to nobody; if one is gone, the search is repeated.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

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

LOOKED_AT = 2
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
        with_terms: Whether the terms that are stored are those of today's analyser.

    Raises:
        LibraryEmpty: There is no passage to find.
        PassageGone: A passage was deleted meanwhile; search again.
    """
    dense, lexical = _rankings(store, query, vector, among, has_index=has_index)
    # Ranks are fused without vectors and terms, so only the result's are read; scores need those of all candidates.
    if query.fusion == "rrf":
        fused = reciprocal_rank_fusion([[row for row, _ in dense], [row for row, _ in lexical]], k=query.rrf_k)
        fused = fused[: query.k]
        read = [row for row, _ in fused]
    else:
        fused, read = [], list(dict.fromkeys(row for row, _ in (*dense, *lexical)))
    shown = set()
    for ranking in (dense[: query.k], lexical[: query.k]):
        for row, _ in ranking:
            shown.add(row)
    # The hits that are only shown need names alone: terms and vectors are sent of `read`.
    rows = list(dict.fromkeys((*read, *sorted(shown))))
    found = {row[0]: row for row in store.read_rows(_CANDIDATES, {"read": read, "rows": rows})}
    if len(found) != len(rows):
        raise PassageGone(f"A passage of {store.name} was deleted during the search", help="Search again.")
    near_by = row_cosines(vector, vector_matrix([found[row][7] for row in read])).tolist()
    cosines = dict(zip(read, near_by, strict=True))
    if query.fusion != "rrf":
        near = dict(dense) | {row: _product(vector, found[row][7]) for row, _ in lexical if row not in dict(dense)}
        fused = comb_sum(near, dict(lexical))[: query.k]
    dense, lexical = dense[: query.k], lexical[: query.k]

    def names(keys: Sequence[int]) -> list[tuple[str, str]]:
        """Return the ids of the passages at some rows, and of their documents."""
        return [(found[row][1], found[row][2]) for row in keys]

    near_ranked, worded, together = (LazyRanking(ScoredRanking.of(part), names) for part in (dense, lexical, fused))
    scores = {found[row][1]: cosines[row] for row, _ in fused}
    unread = _unread(found, dense, lexical, fused, cosines) if with_terms else None
    return Rankings(near_ranked, worded, together, scores, unread=unread)


def _rankings(
    store: PostgresStore, query: SearchQuery, vector: np.ndarray, among: np.ndarray | None, *, has_index: bool
) -> tuple[list[tuple[int, float]], list[tuple[int, float]]]:
    """Return `(row, score)` of the best passages by vectors and by words, of one state of the library."""
    import numpy as np

    terms = query_terms(query.text)
    values: dict[str, Any] = {"vector": vector_text(vector), "limit": query.depth}
    nearest, filtered = _NEAREST.format(among=""), None
    if among is not None and (len(among) <= FEW or not has_index):
        nearest, values["among"] = _NEAREST.format(among="and row = any(%(among)s)"), among.tolist()
    elif has_index:
        nearest = _NEAREST_BY_INDEX.format(dimension=len(vector))
        values["wide"] = LOOKED_AT * query.depth
        filtered = among

    def read(connection: Connection) -> tuple[Any, list[tuple[int, float]], list[tuple[str, bytes]]]:
        """Read everything for both rankings from one state of the library."""
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

    state, near, stored = store.connections.read(read)
    _, passages, length, dead, linked = state
    if passages <= len(dead):
        raise no_passages(store)
    lists: dict[str, list[bytes]] = {}
    for term, each in stored:
        lists.setdefault(term, []).append(each)
    counts = {"passages": passages, "length": length, "dead": np.array(dead, dtype=np.int64)}

    def near_by(depth: int) -> ScoredRanking:
        """Return the nearest passages by vector, to a depth."""
        wanted = {**values, "limit": depth, "wide": LOOKED_AT * depth}
        found = near if depth == query.depth else cast("list[tuple[int, float]]", store.read_rows(nearest, wanted))
        return ScoredRanking.of(
            found if filtered is None else _among(store, nearest, wanted, found, filtered, passages)
        )

    def worded(depth: int) -> ScoredRanking:
        """Return the best passages by BM25, to a depth."""
        return ScoredRanking.of(best_by_bm25(lists, terms, depth, **counts, among=among))

    copies = copies_of(store, linked, among)
    return copies.search(near_by, query.depth).pairs(), copies.search(worded, query.depth).pairs()


def copies_of(store: PostgresStore, linked: int | None, among: np.ndarray | None) -> Copies:
    """Return the passages, among all or the rows `among`, that searches leave out because others have their text.

    Args:
        store: The library.
        linked: How often copies were found, as the search has read it; None if never.
        among: Rows that the search chooses from.
    """
    import numpy as np

    def searched(wanted: np.ndarray) -> np.ndarray:
        """Return which rows are visible and among those searched."""
        seen = f"select row from library_passages where row = any(%s) and {sees()}"
        is_there = np.isin(wanted, [row for (row,) in store.read_rows(seen, [wanted.tolist()])])
        return is_there if among is None else is_there & np.isin(wanted, among)

    return Copies(store.passage_copies(linked), searched)


def no_passages(store: PostgresStore) -> LibraryEmpty:
    """Return the error for a search of an empty library."""
    return LibraryEmpty(f"The library in {store.name} holds no passage", help="Add some: preflight ingest PATH")


def _among(
    store: PostgresStore,
    nearest: str,
    values: dict[str, Any],
    near: list[tuple[int, float]],
    among: np.ndarray,
    passages: int,
) -> list[tuple[int, float]]:
    """Return the best entries of a ranking among some rows, reading the ranking as deep as needed."""
    wanted, limit = min(values["limit"], len(among)), values["limit"]
    chosen = set(among.tolist())
    while True:
        kept = [hit for hit in near if hit[0] in chosen]
        if len(kept) >= wanted or limit >= passages:
            return kept[:wanted]
        limit = min(passages, 2 * max(limit, wanted * passages // max(1, len(among))))
        near = cast("list[tuple[int, float]]", store.read_rows(nearest, {**values, "limit": limit, "wide": limit}))


def _product(vector: np.ndarray, sent: bytes) -> float:
    """Return the inner product of a vector and one in pgvector's binary form."""
    (stored,) = vector_matrix([sent])
    return float(vector @ stored)


def _unread(
    found: dict[int, tuple[Any, ...]],
    dense: Sequence[tuple[int, float]],
    lexical: Sequence[tuple[int, float]],
    fused: Sequence[tuple[int, float]],
    cosines: dict[int, float],
) -> tuple[Candidate[UnreadPassage], ...]:
    """Return the candidates of the fused ranking, without their texts."""
    ranks = {row: rank for rank, (row, _) in enumerate(dense, 1)}
    worded = {row: (rank, score) for rank, (row, score) in enumerate(lexical, 1)}
    terms = HashedTerms([found[row][6] for row, _ in fused])
    made = []
    for place, (row, score) in enumerate(fused):
        _, id, document, tokens, start, retracted, _, _ = found[row]
        passage = UnreadPassage(id=id, document_id=document, tokens=tokens, start=start, retracted=retracted)
        lexical_rank, bm25 = worded.get(row, (None, None))
        made.append(
            Candidate(
                passage, place + 1, score, cosines[row], ranks.get(row), lexical_rank, bm25, terms=terms.of(place)
            )
        )
    return tuple(made)
