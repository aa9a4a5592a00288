"""Experiment `sources` (CPQA's HSRDR): what semantic search, Boolean search and both find, and what of it is read.

Documents are grouped by how they were found (E1 by vectors, E2 by Boolean expressions at E-utilities, E3 by both) and
by kind (D1 PubMed abstracts, D2 PMC reviews, D3 other PMC articles). The results of both paths go through the second
stage; its first five passages are the evidence. The measures are those of CPQA's Table II and Figure 3. NCBI is
replaced by a search over the collection's own biomedical documents (`DocumentSearch`), so both paths search the same
texts.

How Table II was read. The RRF score is a sum: over all questions and the first five ranks, of 1 / (5 + rank). Five such
terms make 0.645635, and 44 and 50 times that are 28.408 and 32.282, the sums of the table's two rows to the last digit
(50 questions also follow from Table III's accuracies, and the proportions are whole numbers of 220 and 250 passages).
It remains open of what the entropy is. It is not of counts or ranks among the five: with 162 passages of E1 over 44
questions that would be at least 1.55 bits, and the table has 0.716. It measures diversity, and is lower for "a higher
concentration of relevance" (section III.E), so it is read as the entropy of relevance: of the second stage's scores of
a group's evidence, as shares (softmax, with which the stage is trained), for each question that has some.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, reduce
from itertools import chain, zip_longest
from math import exp, fsum, log1p, log2
from operator import and_, or_, sub
from typing import Generic, Protocol, TypeVar

from evaluation.compare import Comparison, compare
from evaluation.harness.asking import Asking, open_asking
from evaluation.metrics import RANKING_MEASURES, ranking_rows
from evaluation.published import beside
from evaluation.report import Report, Table, number
from evaluation.rows import ScoreRow
from evaluation.runs import ExperimentRun
from evaluation.samples import DataSet, Sample
from evaluation.searching import collection_library, group_of, inputs, left_out
from preflight_rag.conversation.rewriter import QueryRewriter
from preflight_rag.library.library import Library
from preflight_rag.library.search.fusion import RRF_K
from preflight_rag.library.search.merging import merge
from preflight_rag.library.search.query import SearchQuery
from preflight_rag.models.chat.chat_models import OFFLINE
from preflight_rag.models.opening import open_reranker
from preflight_rag.models.reranking.rerankers import FEATURES, Reranker, rerank
from preflight_rag.pubmed import SearchReply
from preflight_rag.pubmed.client import Database
from preflight_rag.pubmed.ladder import Search, search_together
from preflight_rag.pubmed.mesh import LONGEST_TERM, MESH_TAG, Descriptor, Mesh
from preflight_rag.state.context import Settings
from preflight_rag.state.errors import UsageError
from preflight_rag.state.retrieval import Candidate
from preflight_rag.state.values import Document
from preflight_rag.text.boolean import Expression, Operation, SearchTerm, parse
from preflight_rag.text.concepts import rewrite_by_rules
from preflight_rag.text.words import words

ANYWHERE = "All Fields"
DEPTH = 20
TOP = 5
FOUND_BY = {"semantic": "E1 semantic", "term": "E2 term-based", "both": "E3 both"}
ORIGINS = {"D1": "D1 PubMed abstract", "D2": "D2 PMC review", "D3": "D3 other PMC"}
GROUPS = (*FOUND_BY.values(), *ORIGINS.values())
RRF_SHARE, ENTROPY, IN_TOP = "RRF share", "entropy, bits", f"in top {TOP}"
IN_POOL, RELEVANT = "share of pool", "relevant"
MEASURES = (RRF_SHARE, ENTROPY, IN_TOP, IN_POOL, RELEVANT)

Group = TypeVar("Group", bound=Hashable)


def rrf_scores(groups: Sequence[Group]) -> dict[Group, float]:
    """Return the RRF score of each group in one question's ranking: the sum of 1 / (n + rank) over its first n places.

    n is `TOP`, which is CPQA's constant of reciprocal rank fusion, too.

    Args:
        groups: The group of each passage, best ranked first.
    """
    scores: dict[Group, float] = {}
    for rank, group in enumerate(groups[:TOP], 1):
        scores[group] = scores.get(group, 0.0) + 1 / (TOP + rank)
    return scores


def entropy(scores: Sequence[float]) -> float:
    """Return the Shannon entropy, in bits, of scores as shares (softmax); 0 for one passage, and for none."""
    best = max(scores, default=0.0)
    weights = [exp(score - best) for score in scores]
    total = fsum(weights)
    return -fsum(weight / total * log2(weight / total) for weight in weights if weight)


def top_shares(groups: Sequence[Group]) -> dict[Group, float]:
    """Return each group's share of the first `TOP` passages of a ranking, or of all if there are fewer."""
    first = groups[:TOP]
    return {group: count / len(first) for group, count in Counter(first).items()}


class SearchClient(Protocol):
    """The method of NCBI's client that the experiment uses: `EntrezClient.search`."""

    def search(self, database: Database, expression: str, *, limit: int = 20) -> SearchReply:
        """Return the ids of the documents that a Boolean expression finds, most relevant first."""


class Thesaurus(Protocol):
    """A thesaurus for mapping terms, such as `Mesh`."""

    def descriptor(self, term: str) -> Descriptor | None:
        """Return the heading for a term."""

    def under(self, subtree: str) -> Collection[str]:
        """Return a heading and all narrower ones."""


@dataclass(frozen=True)
class DatabaseRecord:
    """One record of a database; `mesh` are the headings that it was indexed with."""

    database: str
    id: str
    title: str
    text: str
    mesh: tuple[str, ...] = ()


R = TypeVar("R", bound=DatabaseRecord)
Key = tuple[str, str]
_COMBINED = {"AND": and_, "OR": or_, "NOT": sub}


class DocumentSearch(Generic[R]):
    """Boolean search over given records, as a replacement of `EntrezClient`.

    With a thesaurus, terms without quotation marks and field tags are mapped as PubMed maps them (`translated`). Titles
    and texts are searched by stems. Records are ranked by the rarity of the terms that they contain; terms of the title
    count twice.
    """

    def __init__(self, records: Iterable[R], thesaurus: Thesaurus | None = None) -> None:
        self.thesaurus = thesaurus
        # Cached, because a ladder looks up the same words again and again, and every look-up reads a file.
        self.heading = lru_cache(maxsize=None)(thesaurus.descriptor) if thesaurus else None
        self.records: dict[Key, R] = {(record.database, record.id): record for record in records}
        self.titles = {key: _padded(record.title) for key, record in self.records.items()}
        self.texts = {key: f"{self.titles[key]}|{_padded(record.text)}" for key, record in self.records.items()}
        self.holders: dict[str, set[Key]] = {}
        for key, text in self.texts.items():
            for stem in set(text.replace("|", " ").split()):
                self.holders.setdefault(stem, set()).add(key)

    def search(self, database: Database, expression: str, *, limit: int = 20) -> SearchReply:
        """Return the ids of the records that an expression finds, most relevant first; field tags have no effect.

        Raises:
            UsageError: The expression cannot be parsed.
        """
        tree = parse(expression)
        keys = self.matches(tree, database)
        return SearchReply(tuple(name for _, name in self.ranked(keys, tree)[:limit]), len(keys))

    def matches(self, tree: Expression, database: str) -> set[Key]:
        """Return the records of a database that an expression finds."""
        if isinstance(tree, Operation):
            return reduce(_COMBINED[tree.operator], (self.matches(part, database) for part in tree.parts))
        mapped = self.translated(tree)
        return self.term_matches(tree, database) if mapped == tree else self.matches(mapped, database)

    def translated(self, term: SearchTerm) -> Expression:
        """Return a term as PubMed's automatic term mapping reads it.

        Only terms without quotation marks and field tag are mapped. The longest run of their words that is a heading or
        entry term is replaced by the heading, with all narrower ones, or by its words anywhere; then the rest is looked
        up in the same way. Everything is joined by AND. A phrase in quotation marks that no record contains is mapped
        as if it had none.
        """
        known = not term.phrase or any(self.term_matches(term, database) for database in ("pubmed", "pmc"))
        if term.tag or self.heading is None or (term.phrase and known):
            return term
        tokens, parts, at = term.text.split(), [], 0
        while at < len(tokens):
            ends = range(min(at + LONGEST_TERM, len(tokens)), at, -1)
            found = ((end, self.heading(" ".join(tokens[at:end]))) for end in ends)
            end, heading = next(((end, one) for end, one in found if one), (at + 1, None))
            anywhere = tuple(SearchTerm(word, tag=ANYWHERE) for word in tokens[at:end])
            words_there = anywhere[0] if len(anywhere) == 1 else Operation("AND", anywhere)
            mapped = SearchTerm(heading.name, phrase=True, tag=MESH_TAG) if heading else None
            parts.append(Operation("OR", (mapped, words_there)) if mapped else words_there)
            at = end
        return parts[0] if len(parts) == 1 else Operation("AND", tuple(parts))

    def term_matches(self, term: SearchTerm, database: str) -> set[Key]:
        """Return the records with a term: all of its stems, side by side for a phrase, or the term as a heading."""
        everything = {key for key in self.records if key[0] == database}
        if term.tag == MESH_TAG and self.thesaurus is not None:
            narrower = set(self.thesaurus.under(term.text))
            return {key for key in everything if narrower & set(self.records[key].mesh)}
        stems = words(term.text)
        found = everything.intersection(*(self.holders.get(stem, set()) for stem in stems))
        if term.phrase and len(stems) > 1:
            side_by_side = {key for key in found if f" {' '.join(stems)} " in self.texts[key]}
            # Also without a thesaurus, quotation marks are ignored if no record contains the phrase.
            return side_by_side if side_by_side or self.thesaurus else found
        return found

    def ranked(self, keys: Iterable[Key], tree: Expression) -> list[Key]:
        """Return the records by relevance: the sum over the expression's terms in a record, weighted by rarity."""
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
    """Return the words of a text with a space around each, so that whole words can be found in it."""
    return f" {' '.join(words(text))} "


def _wanted(tree: Expression) -> list[str]:
    """Return the stems that an expression requires; those that NOT excludes are left out."""
    if isinstance(tree, SearchTerm):
        return words(tree.text)
    parts = tree.parts[:1] if tree.operator == "NOT" else tree.parts
    return list(dict.fromkeys(stem for part in parts for stem in _wanted(part)))


@dataclass(frozen=True)
class _Ranked:
    """The documents that were found for one question, in the order of each way to search.

    Attributes:
        found_by: How each document was found; best document first.
        evidence: The documents of the first passages after the second stage.
        relevance: The second stage's score of each of these.
        semantic: What semantic search alone found.
        term: What Boolean search alone found.
    """

    found_by: dict[str, str]
    evidence: tuple[str, ...]
    relevance: tuple[float, ...]
    semantic: tuple[str, ...]
    term: tuple[str, ...]


def run(found: DataSet, run: ExperimentRun) -> Report:
    """Search for each question by vectors and by Boolean expressions, and measure what each kind of document adds."""
    samples, fold = found.select(run.part, run.limit), group_of(found.name)
    run = replace(run, embedder=run.document_embedder or run.embedder)
    stage = second_stage(run, left_out(found.name))
    with collection_library(found, run) as library, open_asking(run, samples) as asking:
        known = known_documents(found.documents())
        client = stand_in(known)
        ids = {(record.database, record.id): name for name, (record, _) in known.items()}
        origins = {name: ORIGINS[origin] for name, (_, origin) in known.items()}
        ladders = ladders_of(samples, library, asking, found.name)
        ranked: dict[str, _Ranked] = {}
        for sample in run.each(samples, f"{found.name}: questions"):
            ranked[sample.id] = _ranked(library, client, sample, ids, stage, ladders[sample.id])
        given = inputs(found, library, depth=DEPTH, rrf_k=RRF_K, served=len(known), fold=fold)
        given |= {"model": asking.name, "reranker": stage.name}
        semantic, rewriter = library.embedder.name, asking.name
    grouped = [row for s in samples for row in _measured(s, ranked[s.id], origins, found.relevant(s.id))]
    groups = compare(grouped, by="measure", columns=MEASURES, lines=GROUPS, pairs=[], seed=run.seed, wilson=False)
    rankings = {
        "semantic alone": {name: result.semantic for name, result in ranked.items()},
        "term-based alone": {name: result.term for name, result in ranked.items()},
        "hybrid": {name: tuple(result.found_by) for name, result in ranked.items()},
    }
    rows = ranking_rows(found.relevance, rankings, {name: name for name in RANKING_MEASURES})
    pairs = [("hybrid", "semantic alone"), ("hybrid", "term-based alone")]
    quality = compare(rows, by="measure", pairs=pairs, seed=run.seed, wilson=False)
    note = f"By document; each path gives at most {DEPTH} documents, the hybrid ranking holds those of both."
    length = fsum(len(sample.question.split()) for sample in samples) / max(1, len(samples))
    here = f"{found.title}, {len(samples):,} questions of {length:.1f} words; {semantic} finds E1, "
    here += f"the ladder is of {_by(rewriter)}"
    return Report(
        experiment="sources",
        dataset=found.title,
        about=f"{len(samples):,} questions ({run.part} part); {len(known):,} documents at the local E-utilities.",
        tables=(
            _groups(groups, ranked, origins),
            *beside("sources", groups.estimates, here=here),
            quality.means(
                "Quality of the rankings", note, head="ranking", percent=False, intervals="", differences=True
            ),
        ),
        rows=(*grouped, *rows),
        figures={"groups": groups.figures, "quality": quality.figures},
        inputs=given,
    )


def known_documents(documents: Iterable[Document]) -> dict[str, tuple[DatabaseRecord, str]]:
    """Return the documents that PubMed or PMC would hold, by id, as records, and the kind of each.

    Ids that begin with "pmc" are of PMC's articles, which are reviews if they say so (`metadata["origin"]`).
    Consumer-health pages ("medquad") are in neither database, only in the library.
    """
    found = {}
    for place, document in enumerate(documents, 1):
        if document.id.lower().startswith("medquad"):
            continue
        article = document.id.lower().startswith("pmc")
        origin = str(document.metadata.get("origin") or ("D3" if article else "D1"))
        mesh = tuple(map(str, document.metadata.get("mesh") or ()))
        record = DatabaseRecord("pmc" if article else "pubmed", str(place), document.title, document.text, mesh)
        found[document.id] = record, origin
    return found


def stand_in(known: Mapping[str, tuple[DatabaseRecord, str]]) -> DocumentSearch[DatabaseRecord]:
    """Return the replacement of NCBI; it maps terms if `PREFLIGHT_MESH` names a MeSH file."""
    mesh = Settings.read().mesh
    return DocumentSearch((record for record, _ in known.values()), Mesh.open(mesh) if mesh else None)


def _ranked(
    library: Library,
    client: SearchClient,
    query: Sample,
    ids: Mapping[tuple[str, str], str],
    stage: Reranker,
    ladder: Sequence[str],
) -> _Ranked:
    """Return the candidates of semantic and term search for a question, and their order after the second stage."""
    semantic = semantic_candidates(library, query.question, DEPTH)
    term = boolean_documents(client, ladder, ids, DEPTH)
    passages = [passage for name in term for passage in library.document_passages(name)]
    pool = merge(library, query.question, semantic, passages, depth=len(semantic) + len(passages))
    second = rerank(stage, query.question, pool, limit=max(1, len(pool)), deadline=float("inf"))
    first = tuple(dict.fromkeys(candidate.passage.document_id for candidate in semantic))
    names = dict.fromkeys(candidate.passage.document_id for candidate in second.order)
    return _Ranked(
        found_by={name: _found_by(name in first, name in term) for name in names},
        evidence=tuple(candidate.passage.document_id for candidate in second.order[:TOP]),
        relevance=tuple(score or 0.0 for score in second.scores[:TOP]),
        semantic=first,
        term=tuple(term),
    )


def second_stage(run: ExperimentRun, usual: str) -> Reranker:
    """Return the run's second stage, or the usual one.

    Raises:
        UsageError: The run has more than one, or none at all.
    """
    if len(run.rerankers) > 1:
        raise UsageError(f"{len(run.rerankers)} rerankers are given", help="Give one; pairs compares several.")
    # The usual one is the reranker without a model, with weights that never saw the collection.
    named = [name for name in run.rerankers if name != FEATURES]
    stage = open_reranker(named[0] if named else usual)
    if stage is None:
        raise UsageError("the reranker 'none' leaves no second stage", help="Name one, or leave --reranker out.")
    return stage


def ladders_of(questions: Sequence[Sample], library: Library, asking: Asking, name: str) -> dict[str, Sequence[str]]:
    """Return each question's search expressions, by its id: from the run's model if there is one, else by rules.

    Args:
        questions: The questions.
        library: The library, whose vocabulary the rewriter uses.
        asking: The run's model.
        name: Name of the data set, for progress.
    """
    by_rules: dict[str, Sequence[str]] = {q.id: rewrite_by_rules(q.question).expressions for q in questions}
    if asking.chat_model is None:
        return by_rules
    rewriter = QueryRewriter(library, reader=asking.prompts, mode="model", pubmed=True)

    async def rewrite(question: Sample) -> Sequence[str]:
        return (await rewriter.rewritten(question.question)).value.expressions

    outcomes = asyncio.run(asking.gather(questions, rewrite, f"{name}: rewriting"))
    made = zip(questions, outcomes, strict=True)
    return by_rules | {question.id: outcome.value for question, outcome in made if outcome.value}


def _by(rewriter: str) -> str:
    """Return who wrote the searched expressions: "rules" or the model's name."""
    return "rules" if rewriter == OFFLINE else rewriter


def semantic_candidates(library: Library, question: str, depth: int) -> list[Candidate]:
    """Return the passages of the first `depth` documents of the dense ranking, in its order."""
    found = library.search(SearchQuery(question, k=4 * depth, candidates=4 * depth))
    first = list(dict.fromkeys(hit.document_id for hit in found.dense))[:depth]
    pool = found.candidates(library.passages([hit.passage_id for hit in found.fused]))
    dense = [candidate for candidate in pool if candidate.dense_rank is not None]
    kept = [candidate for candidate in dense if candidate.passage.document_id in first]
    return sorted(kept, key=lambda candidate: candidate.dense_rank or 0)


def boolean_documents(
    client: SearchClient, ladder: Sequence[str], ids: Mapping[tuple[str, str], str], depth: int
) -> list[str]:
    """Return at most `depth` documents that a ladder finds in both databases, alternating between them."""

    def search_in(database: Database) -> Search:
        def search(expression: str) -> tuple[Sequence[str], int, str]:
            found = client.search(database, expression, limit=depth)
            return found.ids, found.hits, found.note

        return search

    databases: tuple[Database, ...] = ("pubmed", "pmc")
    found = search_together(ladder, {name: search_in(name) for name in databases}, enough=depth)
    columns = []
    for name, one in zip(databases, found, strict=True):
        columns.append([ids[name, key] for key in one.ids[:depth]])
    in_turn = chain.from_iterable(zip_longest(*columns))
    return [document for document in in_turn if document is not None][:depth]


def _found_by(semantic: bool, term: bool) -> str:
    """Return the name of the searches that found a passage."""
    return FOUND_BY["both" if semantic and term else "semantic" if semantic else "term"]


def _measured(
    sample: Sample, ranked: _Ranked, origins: Mapping[str, str], relevant: frozenset[str]
) -> Iterator[ScoreRow]:
    """Yield the measures of each group for one question.

    Shares are over all questions; the other measures only over those for which the group found something.
    """
    for names, of in ((FOUND_BY.values(), ranked.found_by), (ORIGINS.values(), origins)):
        pool = [name for name in ranked.found_by if name in of]
        evidence = [of[name] for name in ranked.evidence if name in of]
        scored = [
            (of[name], score) for name, score in zip(ranked.evidence, ranked.relevance, strict=True) if name in of
        ]
        rrf, top, total = rrf_scores(evidence), top_shares(evidence), fsum(rrf_scores(evidence).values())
        for group in names if evidence else ():
            members = [name for name in pool if of[name] == group]
            values = {RRF_SHARE: rrf.get(group, 0.0) / total, IN_TOP: top.get(group, 0.0)}
            values[IN_POOL] = len(members) / len(pool)
            if group in top:
                values[ENTROPY] = entropy([score for other, score in scored if other == group])
            if members:
                values[RELEVANT] = sum(name in relevant for name in members) / len(members)
            details = {"question": sample.question, "documents": members, "rrf": rrf.get(group, 0.0)}
            for name, value in values.items():
                yield ScoreRow(
                    sample.id, arm=group, score=value, measure=name, details=details if name == RRF_SHARE else {}
                )


def _groups(groups: Comparison, ranked: Mapping[str, _Ranked], origins: Mapping[str, str]) -> Table:
    """Return a table of Table II's measures, and Figure 3's: the share of the pool beside that of the evidence."""
    scores: Counter[str] = Counter()
    for result in ranked.values():
        for of in (result.found_by, origins):
            scores.update(rrf_scores([of[name] for name in result.evidence if name in of]))
    rows = []
    for group, estimates in groups.estimates.items():
        count = len(groups.scores[group][ENTROPY])
        cells = (number(estimates[name]) for name in MEASURES)
        rows += [(group, f"{count:,}", f"{scores[group]:.3f}", *cells)] if groups.scores[group][RELEVANT] else []
    note = (
        f"Questions: those with evidence of the group, the first {TOP} passages after the second stage. RRF score: sum "
        f"of 1 / ({TOP} + rank) over all evidence; its share and the other columns: means over questions [95 %: "
        f"bootstrap]. Entropy: of the second stage's relevance. Pool: all documents found; share of pool beside share "
        f"of the top {TOP} is CPQA's Figure 3. Relevant: share of a group's documents that are judged to answer."
    )
    return Table("Groups of documents", ("group", "questions", "RRF score", *MEASURES), tuple(rows), note)
