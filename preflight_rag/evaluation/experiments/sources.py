"""Experiment `sources` (CPQA's HSRDR): what semantic search, Boolean search and both find, and where it comes to stand.

Documents are grouped by how they were found (E1 by vectors, E2 by Boolean expressions at E-utilities, E3 by both) and
by what they are (D1 PubMed abstracts, D2 PMC reviews, D3 other PMC articles). The three measures are those that CPQA
(section III.B) compares such groups by; their definitions below are our reading of their names. In NCBI's place stands
a search over the collection's own biomedical documents (`DocumentSearch`), so both paths search the same texts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from math import fsum, log1p, log2
from operator import and_, or_, sub
from typing import Any, Generic, Protocol, TypeVar

from preflight_rag.evaluation.compare import Comparison, compare
from preflight_rag.evaluation.metrics import RANKING_MEASURES, ranking_rows
from preflight_rag.evaluation.report import Report, Table, number
from preflight_rag.evaluation.rows import Row
from preflight_rag.evaluation.runs import Run
from preflight_rag.evaluation.samples import DataSet, Sample
from preflight_rag.evaluation.searching import collection_library, inputs
from preflight_rag.library.library import Library
from preflight_rag.library.pubmed import SearchReply
from preflight_rag.library.pubmed.client import Database
from preflight_rag.library.query.ladder import search_until_enough
from preflight_rag.library.query.mesh import LONGEST_TERM, MESH_TAG, Descriptor
from preflight_rag.library.search.fusion import RRF_K
from preflight_rag.library.search.merging import merge
from preflight_rag.state.retrieval import Candidate
from preflight_rag.text.boolean import Expression, Operation, Term, parse
from preflight_rag.text.concepts import rewrite_by_rules
from preflight_rag.text.words import words

ANYWHERE = "All Fields"
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


class SearchClient(Protocol):
    """What the experiment asks of NCBI: `EntrezClient.search`."""

    def search(self, database: Database, expression: str, *, limit: int = 20) -> SearchReply:
        """Ids of the documents that a Boolean expression finds, most relevant first."""


class Thesaurus(Protocol):
    """What terms are mapped by; `Mesh` is one."""

    def descriptor(self, term: str) -> Descriptor | None:
        """The heading that a term stands for."""

    def under(self, subtree: str) -> Collection[str]:
        """A heading and all that are narrower."""


@dataclass(frozen=True)
class Record:
    """One record of a database; `mesh` are the headings that it was indexed with."""

    database: str
    id: str
    title: str
    text: str
    mesh: tuple[str, ...] = ()


R = TypeVar("R", bound=Record)
Key = tuple[str, str]
_COMBINED = {"AND": and_, "OR": or_, "NOT": sub}


class DocumentSearch(Generic[R]):
    """Boolean search over records that are at hand, in the place of `EntrezClient`.

    With a thesaurus, terms without quotation marks and field tags are mapped as PubMed maps them (`translated`). Titles
    and texts are searched by stems. Records are ranked by how rare the terms are that they hold; terms of the title
    count twice.
    """

    def __init__(self, records: Iterable[R], thesaurus: Thesaurus | None = None) -> None:
        self.thesaurus = thesaurus
        self.records: dict[Key, R] = {(record.database, record.id): record for record in records}
        self.titles = {key: _padded(record.title) for key, record in self.records.items()}
        self.texts = {key: f"{self.titles[key]}|{_padded(record.text)}" for key, record in self.records.items()}
        self.holders: dict[str, set[Key]] = {}
        for key, text in self.texts.items():
            for stem in set(text.replace("|", " ").split()):
                self.holders.setdefault(stem, set()).add(key)

    def search(self, database: Database, expression: str, *, limit: int = 20) -> SearchReply:
        """The ids of the records that an expression finds, most relevant first; tags of fields change nothing.

        Raises:
            UsageError: The expression cannot be parsed.
        """
        tree = parse(expression)
        keys = self.matches(tree, database)
        return SearchReply(tuple(name for _, name in self.ranked(keys, tree)[:limit]), len(keys))

    def matches(self, tree: Expression, database: str) -> set[Key]:
        """The records of a database that an expression finds."""
        if isinstance(tree, Operation):
            return reduce(_COMBINED[tree.operator], (self.matches(part, database) for part in tree.parts))
        mapped = self.translated(tree)
        return self.term_matches(tree, database) if mapped == tree else self.matches(mapped, database)

    def translated(self, term: Term) -> Expression:
        """A term as PubMed's automatic term mapping reads it.

        Only terms without quotation marks and field tag are mapped. Of their words the longest stretch that is a
        heading or entry term stands for the heading, with all narrower ones, or for its words anywhere; then the rest
        is looked up in the same way. Everything is joined by AND. A phrase in quotation marks that no record holds is
        mapped as if it had none.
        """
        known = not term.phrase or any(self.term_matches(term, database) for database in ("pubmed", "pmc"))
        if term.tag or self.thesaurus is None or (term.phrase and known):
            return term
        tokens, parts, at = term.text.split(), [], 0
        while at < len(tokens):
            ends = range(min(at + LONGEST_TERM, len(tokens)), at, -1)
            found = ((end, self.thesaurus.descriptor(" ".join(tokens[at:end]))) for end in ends)
            end, heading = next(((end, one) for end, one in found if one), (at + 1, None))
            anywhere = tuple(Term(word, tag=ANYWHERE) for word in tokens[at:end])
            words_there = anywhere[0] if len(anywhere) == 1 else Operation("AND", anywhere)
            mapped = Term(heading.name, phrase=True, tag=MESH_TAG) if heading else None
            parts.append(Operation("OR", (mapped, words_there)) if mapped else words_there)
            at = end
        return parts[0] if len(parts) == 1 else Operation("AND", tuple(parts))

    def term_matches(self, term: Term, database: str) -> set[Key]:
        """The records that hold all of a term's stems, side by side where it is a phrase, or have it as a heading."""
        everything = {key for key in self.records if key[0] == database}
        if term.tag == MESH_TAG and self.thesaurus is not None:
            narrower = set(self.thesaurus.under(term.text))
            return {key for key in everything if narrower & set(self.records[key].mesh)}
        stems = words(term.text)
        found = everything.intersection(*(self.holders.get(stem, set()) for stem in stems))
        if term.phrase and len(stems) > 1:
            side_by_side = {key for key in found if f" {' '.join(stems)} " in self.texts[key]}
            # Without a thesaurus, too, quotation marks around what no record holds count for nothing.
            return side_by_side if side_by_side or self.thesaurus else found
        return found

    def ranked(self, keys: Iterable[Key], tree: Expression) -> list[Key]:
        """The most relevant first: the sum over the expression's terms in the record, rarer ones counting more."""
        rarity = {
            stem: log1p(len(self.records) / len(self.holders[stem])) for stem in _wanted(tree) if self.holders.get(stem)
        }

        def relevance(key: Key) -> float:
            counts = Counter(self.texts[key].replace("|", " ").split())
            return sum(
                weight * (counts[stem] / (counts[stem] + 1) + (f" {stem} " in self.titles[key]))
                for stem, weight in rarity.items()
            )

        return sorted(keys, key=lambda key: (-relevance(key), key))


def _padded(text: str) -> str:
    return f" {' '.join(words(text))} "


def _wanted(tree: Expression) -> list[str]:
    """The stems that an expression asks for; those that NOT excludes are none of them."""
    if isinstance(tree, Term):
        return words(tree.text)
    parts = tree.parts[:1] if tree.operator == "NOT" else tree.parts
    return list(dict.fromkeys(stem for part in parts for stem in _wanted(part)))


@dataclass(frozen=True)
class _Ranked:
    """One question's pool, best document first: each one's id, best passage, and groups."""

    documents: tuple[str, ...]
    texts: tuple[str, ...]
    found_by: tuple[str, ...]
    origins: tuple[str, ...]
    semantic: tuple[str, ...]
    term: tuple[str, ...]


def run(found: DataSet, run: Run) -> Report:
    """Search both ways for each question, rank what was found together, and measure the groups."""
    samples = found.select(run.part, run.limit)
    with collection_library(found, run) as library:
        known = _documents(found)
        client = DocumentSearch(record for record, _ in known.values())
        ids = {(record.database, record.id): name for name, (record, _) in known.items()}
        origins = {name: origin for name, (_, origin) in known.items()}
        ranked = {}
        for sample in run.each(samples, f"{found.name}: questions"):
            ranked[sample.id] = _ranked(library, client, sample, ids, origins)
        given = inputs(found, library, depth=DEPTH, rrf_k=RRF_K, served=len(known))
    grouped = [row for sample in samples for row in _measured(sample, ranked[sample.id], found.relevant(sample.id))]
    groups = compare(grouped, by="measure", lines=GROUPS, pairs=[], seed=run.seed, wilson=False)
    rankings = {
        "semantic alone": {name: result.semantic for name, result in ranked.items()},
        "term-based alone": {name: result.term for name, result in ranked.items()},
        "hybrid": {name: result.documents for name, result in ranked.items()},
    }
    rows = ranking_rows(found.relevance, rankings, {name: name for name in RANKING_MEASURES})
    pairs = [("hybrid", "semantic alone"), ("hybrid", "term-based alone")]
    quality = compare(rows, by="measure", pairs=pairs, seed=run.seed, wilson=False)
    note = f"By document; each path gives at most {DEPTH} documents, the hybrid ranking holds those of both."
    return Report(
        experiment="sources",
        dataset=found.title,
        about=f"{len(samples):,} questions ({run.part} part); {len(known):,} documents at the local E-utilities.",
        tables=(
            _groups(groups),
            quality.means(
                "Quality of the rankings", note, head="ranking", percent=False, intervals="", differences=True
            ),
        ),
        rows=(*grouped, *rows),
        figures={"groups": groups.figures, "quality": quality.figures},
        inputs=given,
    )


def _documents(collection: DataSet) -> dict[str, tuple[Record, str]]:
    """The documents that PubMed or PMC would hold, by id, as records, and what each is.

    Ids that begin with "pmc" are of PMC's articles. Consumer-health pages ("medquad") are in neither database, only in
    the library.
    """
    found = {}
    for place, document in enumerate(collection.documents(), 1):
        if document.id.lower().startswith("medquad"):
            continue
        origin = "D3" if document.id.lower().startswith("pmc") else "D1"
        database = "pmc" if origin == "D3" else "pubmed"
        found[document.id] = Record(database, str(place), document.title, document.text), origin
    return found


def _ranked(
    library: Library,
    client: SearchClient,
    query: Sample,
    ids: Mapping[tuple[str, str], str],
    origins: Mapping[str, str],
) -> _Ranked:
    semantic = _semantic(library, query.question)
    term = _term(client, query.question, ids)
    passages = [passage for name in term for passage in library.document_passages(name)]
    pool = merge(library, query.question, semantic, passages, depth=len(semantic) + len(passages))
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


def _term(client: SearchClient, question: str, ids: Mapping[tuple[str, str], str]) -> list[str]:
    """Documents that the ladder that rules make of the question finds in either database, in turns."""
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


def _measured(sample: Sample, ranked: _Ranked, relevant: frozenset[str]) -> Iterator[Row]:
    """The measures of each group that has documents for the question; groups without any have none."""
    for groups in (ranked.found_by, ranked.origins):
        scores, top = rrf_scores(groups), top_shares(groups)
        for group, score in scores.items():
            if group not in GROUPS:
                continue
            members = [place for place, other in enumerate(groups) if other == group]
            hits = sum(ranked.documents[place] in relevant for place in members)
            varied = entropy(ranked.texts[place] for place in members)
            details = {"question": sample.question, "documents": [ranked.documents[place] for place in members]}
            values = (float(len(members)), score, varied, top.get(group, 0.0), hits / len(members))
            for name, value in zip(SHARES, values, strict=True):
                yield Row(sample.id, arm=group, score=value, measure=name, details=details if name == SHARES[0] else {})


def _groups(groups: Comparison) -> Table:
    rows = []
    for group, estimates in groups.estimates.items():
        count = len(groups.scores[group][SHARES[0]])
        cells = (
            f"{estimate.value:.5f} [{estimate.low:.5f}, {estimate.high:.5f}]"
            if name == "RRF score"
            else number(estimate)
            for name, estimate in estimates.items()
        )
        rows += [(group, f"{count:,}", *cells)] if count else []
    note = (
        f"Means [95 % bootstrap interval] over the questions for which a group has documents. RRF score: of its "
        f"documents in the fused ranking, mean of 1 / ({RRF_K} + rank). Entropy: of the words of its documents' best "
        f"passages. Relevant: share of its documents that are judged to answer the question."
    )
    return Table("Groups of documents", ("group", "questions", *SHARES), tuple(rows), note)
