"""Experiment `sources` (CPQA's HSRDR): what semantic search, Boolean search and both find, and where it comes to stand.

Documents are grouped by how they were found (E1 by vectors, E2 by Boolean expressions at E-utilities, E3 by both) and
by what they are (D1 PubMed abstracts, D2 PMC reviews, D3 other PMC articles). The three measures are those that CPQA
(section III.B) compares such groups by; their definitions below are our reading of their names. NCBI is a local
stand-in that holds the collection's biomedical documents (`entrez.py`), so both paths search the same texts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import fsum, log2
from typing import TYPE_CHECKING, Any, TypeVar

from preflight_rag.evaluation.collection import Collection, Query
from preflight_rag.evaluation.experiments import Run
from preflight_rag.evaluation.intervals import Estimate, bootstrap, mean, mean_difference
from preflight_rag.evaluation.metrics import RANKING_MEASURES, measure_rankings
from preflight_rag.evaluation.report import Report, Table, figures, number
from preflight_rag.evaluation.searching import collection_library, inputs
from preflight_rag.library.search.fusion import RRF_K
from preflight_rag.text.words import words

if TYPE_CHECKING:
    from preflight_rag.evaluation.entrez import Record
    from preflight_rag.library.library import Library
    from preflight_rag.library.pubmed import EntrezClient
    from preflight_rag.state.retrieval import Candidate

DEPTH = 20
TOP = 5
FOUND_BY = {"semantic": "E1 semantic", "term": "E2 term-based", "both": "E3 both"}
ORIGINS = {"D1": "D1 PubMed abstract", "D2": "D2 PMC review", "D3": "D3 other PMC"}
GROUPS = (*FOUND_BY.values(), *ORIGINS.values())
SHARES = ("documents", "RRF score", "entropy, bits", f"in top {TOP}", "relevant")

Group = TypeVar("Group", bound=Hashable)


def rrf_scores(groups: Sequence[Group], *, k: int = RRF_K) -> dict[Group, float]:
    """RRF score of each group in a ranking: the mean of 1 / (k + rank) over its documents, rank from 1.

    Args:
        groups: The group of each document, best ranked first.
        k: The constant of reciprocal rank fusion.
    """
    scores: dict[Group, list[float]] = {}
    for rank, group in enumerate(groups, 1):
        scores.setdefault(group, []).append(1 / (k + rank))
    return {group: fsum(parts) / len(parts) for group, parts in scores.items()}


def entropy(texts: Iterable[str]) -> float:
    """Shannon entropy, in bits, of the words of some texts taken together: how varied what they say is.

    −Σ p(w) log2 p(w) over their distinct index terms w, where p(w) is a term's share of all of them; 0 without words.
    """
    counts = Counter(word for text in texts for word in words(text))
    total = counts.total()
    return fsum(-count / total * log2(count / total) for count in counts.values())


def top_shares(groups: Sequence[Group], *, n: int = TOP) -> dict[Group, float]:
    """Proportion of each group among the first n documents of a ranking, of as many as there are."""
    first = groups[:n]
    return {group: count / len(first) for group, count in Counter(first).items()}


@dataclass(frozen=True)
class _Ranked:
    """One question's pool, best document first: each one's id, best passage, and groups."""

    documents: tuple[str, ...]
    texts: tuple[str, ...]
    found_by: tuple[str, ...]
    origins: tuple[str, ...]
    semantic: tuple[str, ...]
    term: tuple[str, ...]


def run(collection: Collection, run: Run) -> Report:
    """Search both ways for each question, rank what was found together, and measure the groups."""
    from preflight_rag.evaluation.entrez import Entrez, EntrezServer
    from preflight_rag.library.pubmed import EntrezClient, Spacing

    queries = collection.select(run.part, run.limit)
    with collection_library(collection, run) as library:
        known = _documents(collection)
        with (
            EntrezServer(Entrez(record for record, _ in known.values())) as server,
            EntrezClient(url=server.url, per_second=10_000, spacing=Spacing()) as client,
        ):
            ids = {(record.database, record.id): name for name, (record, _) in known.items()}
            origins = {name: origin for name, (_, origin) in known.items()}
            ranked = {}
            for done, query in enumerate(queries, 1):
                ranked[query.id] = _ranked(library, client, query, ids, origins)
                run.progress(f"{collection.name}: questions", done, len(queries))
        given = inputs(collection, library, depth=DEPTH, rrf_k=RRF_K, served=len(known))
    groups, group_figures = _groups(collection, ranked, run.seed)
    quality, quality_figures = _quality(collection, ranked, run.seed)
    return Report(
        experiment="sources",
        dataset=collection.title,
        about=f"{len(queries):,} questions ({run.part} part); {len(known):,} documents at the local E-utilities.",
        tables=(groups, quality),
        rows=tuple(_row(collection, query, ranked[query.id]) for query in queries),
        figures={"groups": group_figures, "quality": quality_figures},
        inputs=given,
    )


def _documents(collection: Collection) -> dict[str, tuple[Record, str]]:
    """The documents that PubMed or PMC would hold, by id, as records, and what each is.

    Ids that begin with "pmc" are of PMC's articles. Consumer-health pages ("medquad") are in neither database, only in
    the library.
    """
    from preflight_rag.evaluation.entrez import Record

    found = {}
    for place, document in enumerate(collection.documents(), 1):
        if document.id.lower().startswith("medquad"):
            continue
        origin = "D3" if document.id.lower().startswith("pmc") else "D1"
        database = "pmc" if origin == "D3" else "pubmed"
        found[document.id] = Record(database, str(place), document.title, document.text, ""), origin
    return found


def _ranked(
    library: Library,
    client: EntrezClient,
    query: Query,
    ids: Mapping[tuple[str, str], str],
    origins: Mapping[str, str],
) -> _Ranked:
    from preflight_rag.library.pubmed import merge

    semantic = _semantic(library, query.text)
    term = _term(client, query.text, ids)
    passages = [passage for name in term for passage in library.document_passages(name)]
    pool = merge(library, query.text, semantic, passages, depth=len(semantic) + len(passages))
    best: dict[str, Candidate] = {}
    for candidate in pool:
        best.setdefault(candidate.passage.document_id, candidate)
    first = tuple(dict.fromkeys(candidate.passage.document_id for candidate in semantic))
    return _Ranked(
        documents=tuple(best),
        texts=tuple(candidate.passage.text for candidate in best.values()),
        found_by=tuple(_found_by(name in first, name in term) for name in best),
        origins=tuple(ORIGINS.get(origins.get(name, ""), "") for name in best),
        semantic=first,
        term=tuple(term),
    )


def _semantic(library: Library, question: str) -> list[Candidate]:
    """The passages of the first documents of the dense ranking."""
    found = library.search(question, k=4 * DEPTH, candidates=4 * DEPTH)
    first = list(dict.fromkeys(hit.document_id for hit in found.dense))[:DEPTH]
    pool = found.candidates(library.passages([hit.passage_id for hit in found.fused]))
    dense = [candidate for candidate in pool if candidate.dense_rank is not None]
    kept = [candidate for candidate in dense if candidate.passage.document_id in first]
    return sorted(kept, key=lambda candidate: candidate.dense_rank or 0)


def _term(client: EntrezClient, question: str, ids: Mapping[tuple[str, str], str]) -> list[str]:
    """Documents that the ladder that rules make of the question finds in either database, in turns."""
    from preflight_rag.library.query.ladder import search_until_enough
    from preflight_rag.text.concepts import rewrite_by_rules

    columns = []
    for database in ("pubmed", "pmc"):

        def search(expression: str, database: Any = database) -> tuple[Sequence[str], int, str]:
            found = client.search(database, expression, limit=DEPTH)
            return found.ids, found.hits, found.note

        ladder = search_until_enough(rewrite_by_rules(question).expressions, search, enough=DEPTH, limit=DEPTH)
        columns.append([ids[database, name] for name in ladder.ids])
    turns = [column[place] for place in range(DEPTH) for column in columns if place < len(column)]
    return turns[:DEPTH]


def _found_by(semantic: bool, term: bool) -> str:
    return FOUND_BY["both" if semantic and term else "semantic" if semantic else "term"]


def _measured(collection: Collection, query: str, ranked: _Ranked) -> dict[str, tuple[float, ...]]:
    """Values of `SHARES` of each group that has documents for the question; groups without any are left out."""
    relevant = collection.relevant(query)
    measured: dict[str, tuple[float, ...]] = {}
    for groups in (ranked.found_by, ranked.origins):
        scores, top = rrf_scores(groups), top_shares(groups)
        for group, score in scores.items():
            members = [place for place, other in enumerate(groups) if other == group]
            hits = sum(ranked.documents[place] in relevant for place in members)
            varied = entropy(ranked.texts[place] for place in members)
            measured[group] = (float(len(members)), score, varied, top.get(group, 0.0), hits / len(members))
    return measured


def _groups(collection: Collection, ranked: Mapping[str, _Ranked], seed: int) -> tuple[Table, dict[str, Any]]:
    measured = [_measured(collection, query, result) for query, result in ranked.items()]
    rows, found = [], {}
    for group in GROUPS:
        values = [values[group] for values in measured if group in values]
        if not values:
            continue
        columns = {name: [value[place] for value in values] for place, name in enumerate(SHARES)}
        estimates = {name: bootstrap(mean, column, seed=seed) for name, column in columns.items()}
        found[group] = {"questions": len(values), **figures(estimates)}
        rows.append((group, f"{len(values):,}", *_cells(estimates)))
    note = (
        f"Means [95 % bootstrap interval] over the questions for which a group has documents. RRF score: of its "
        f"documents in the fused ranking, mean of 1 / ({RRF_K} + rank). Entropy: of the words of its documents' best "
        f"passages. Relevant: share of its documents that are judged to answer the question."
    )
    return Table("Groups of documents", ("group", "questions", *SHARES), tuple(rows), note), found


def _cells(estimates: Mapping[str, Estimate]) -> tuple[str, ...]:
    return tuple(
        f"{estimate.value:.5f} [{estimate.low:.5f}, {estimate.high:.5f}]" if name == "RRF score" else number(estimate)
        for name, estimate in estimates.items()
    )


def _quality(collection: Collection, ranked: Mapping[str, _Ranked], seed: int) -> tuple[Table, dict[str, Any]]:
    rankings = {
        "semantic alone": {query: result.semantic for query, result in ranked.items()},
        "term-based alone": {query: result.term for query, result in ranked.items()},
        "hybrid": {query: result.documents for query, result in ranked.items()},
    }
    values = {name: measure_rankings(collection.qrels, ranking) for name, ranking in rankings.items()}
    estimates = {
        name: {measure: bootstrap(mean, list(v.values()), seed=seed) for measure, v in measured.items()}
        for name, measured in values.items()
    }
    for other in ("semantic alone", "term-based alone"):
        estimates[f"hybrid − {other}"] = {
            measure: bootstrap(mean_difference, list(v.values()), list(values[other][measure].values()), seed=seed)
            for measure, v in values["hybrid"].items()
        }
    rows = tuple(
        (name, *(number(estimate, signed="−" in name) for estimate in measured.values()))
        for name, measured in estimates.items()
    )
    note = f"By document; each path gives at most {DEPTH} documents, the hybrid ranking holds those of both."
    table = Table("Quality of the rankings", ("ranking", *RANKING_MEASURES), rows, note)
    return table, {name: figures(measured) for name, measured in estimates.items()}


def _row(collection: Collection, query: Query, ranked: _Ranked) -> dict[str, Any]:
    relevant = collection.relevant(query.id)
    return {
        "id": query.id,
        "question": query.text,
        "documents": [
            {"id": name, "found_by": found_by, "origin": origin, "relevant": name in relevant}
            for name, found_by, origin in zip(ranked.documents, ranked.found_by, ranked.origins, strict=True)
        ],
    }
