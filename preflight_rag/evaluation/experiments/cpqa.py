"""Experiment `cpqa`: chain of thought, naive RAG and the whole query pipeline on the same questions.

CPQA (Table V) compares three methods: the model's own knowledge, step by step; naive RAG, which takes the first
passages of the embedder's ranking; and its pipeline, here this project's: dense and BM25 rankings fused, then the
second stage. All are asked with the same prompt for the same number of passages. Where the data set has MeSH headings
(PubMedQA), only questions whose article is about neoplasms are asked, as CPQA's are about cancer.

Hard negatives: the passage that answers is put among those ranked highest that do not answer, and each method of
retrieval orders them; how far up it puts the one that answers needs no model.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from preflight_rag.evaluation.bench import open_bench
from preflight_rag.evaluation.compare import compare
from preflight_rag.evaluation.datasets import pubmedqa
from preflight_rag.evaluation.report import Report, Table, number
from preflight_rag.evaluation.rows import Row
from preflight_rag.evaluation.runs import Run
from preflight_rag.evaluation.samples import DataSet, Sample
from preflight_rag.evaluation.searched import Searched
from preflight_rag.evaluation.stages import NO_CLOSED_BOOK, closed_book, on_passages, plain
from preflight_rag.library.search.merging import merge
from preflight_rag.models.reranking.feature_reranker import FeatureReranker
from preflight_rag.models.reranking.rerankers import rerank
from preflight_rag.state.errors import UsageError
from preflight_rag.state.reading import Source

TOP = 5
"""Passages of a prompt, and how far up an answer counts as found: Hits@5 and MRR@5, as in CPQA."""
HARD = 20
"""Passages that do not answer, for each that does (a guess)."""
NAIVE, PIPELINE = "naive RAG", "query pipeline"
FOUND, HITS, MRR = "found %", f"Hits@{TOP} among hard negatives %", "MRR among hard negatives"
SUBJECT = "neoplasms"
_CANCER = re.compile(
    r"neoplas|carcino|cancer|tumou?r|leuk[a]?emia|lymphoma|melanoma|sarcoma|glioma|glioblastoma|myeloma|adenoma"
    r"|blastoma|metastas",
    re.IGNORECASE,
)
"""MeSH headings of neoplasms, by their words: the tree itself is in a file of NLM's that need not be there."""


@dataclass(frozen=True)
class Order:
    """What each method of retrieval makes of a question.

    Attributes:
        passages: Method to its first passages.
        found: Method to whether one of these is from a document that answers.
        ranks: Method to the rank of the passage that answers among its hard negatives, from 1.
    """

    passages: dict[str, tuple[Source, ...]]
    found: dict[str, bool]
    ranks: dict[str, int]


def run(found: DataSet, run: Run) -> Report:
    """Ask each question by each method, and order hard negatives."""
    subject, filtered = on_subject(found)
    with open_bench(filtered, run, lambda searched: searched.with_key(filtered, run)) as bench:
        orders = {question.id: ordered(bench.searched, question) for question in bench.in_turn()}
        arms = [] if bench.offline else [closed_book(bench.asking)]
        arms += [
            on_passages(plain(bench.reader, NAIVE), lambda question, _: orders[question.id].passages[NAIVE]),
            on_passages(plain(bench.reader, PIPELINE), lambda question, _: orders[question.id].passages[PIPELINE]),
        ]
        rows = bench.ask(arms, lambda _: ())
    if bench.offline:
        run.warn(f"note: {NO_CLOSED_BOOK}")
    compared = compare(rows, seed=run.seed)
    retrieval, numbers = _retrieval(orders, run.seed)
    rows = [
        replace(row, details={**row.details, "hard_negatives": orders[row.sample].ranks.get(row.arm)}) for row in rows
    ]
    note = f"{bench.model}; {TOP} passages a prompt. Intervals: 95 %."
    return bench.report(
        "cpqa",
        (*compared.tables(f"Answers, {bench.model}"), retrieval),
        rows,
        {**compared.figures, "retrieval": numbers},
        (compared.bars("Right answers by method", "right", note, turned=True),),
        about=f"{len(bench.questions):,} questions ({run.part} part), {subject}; model {bench.model}.",
        more=NO_CLOSED_BOOK if bench.offline else "",
        passages=TOP,
        hard_negatives=HARD,
        subject=subject,
    )


def on_subject(found: DataSet) -> tuple[str, DataSet]:
    """The questions about neoplasms where articles have MeSH headings, else all; what was done, in words.

    Raises:
        UsageError: No question is about neoplasms.
    """
    if found.name != "pubmedqa":
        return "all subjects (no MeSH headings)", found
    headings = _headings(found)
    chosen = tuple(q for q in found.samples if any(_CANCER.search(heading) for heading in headings.get(q.id, ())))
    if not chosen:
        raise UsageError(f"no question of {found.name} is about {SUBJECT}", help="Check MESHES in its file.")
    return f"on {SUBJECT} by their MeSH headings", replace(found, samples=chosen)


def _headings(found: DataSet) -> dict[str, list[str]]:
    """PMID to the MeSH headings of PubMedQA's file."""
    return {
        pmid: [str(heading) for heading in record.get("MESHES") or ()]
        for _, pmid, record in pubmedqa.records(found.files[0].parent)
    }


def ordered(searched: Searched, question: Sample) -> Order:
    """The first passages of each method, and how each orders the passage that answers among hard negatives."""
    library = searched.library
    dense = library.passages([hit.passage_id for hit in library.search(question.question, k=TOP).dense])
    key = searched.key(question)
    hard = searched.nearest(question, key, HARD)
    pool = merge(library, question.question, [], [*hard, key], depth=HARD + 1)
    by_cosine = sorted(pool, key=lambda candidate: candidate.dense_rank or len(pool))
    weights = FeatureReranker.shipped(searched.reranker.partition(":")[2])
    second = rerank(weights, question.question, pool, limit=len(pool), deadline=float("inf")).order
    first = {
        NAIVE: tuple(Source.of(passage, n) for n, passage in enumerate(dense, 1)),
        PIPELINE: searched.retrieved(question, TOP),
    }
    gold = {passage.id for name in searched.documents(question) for passage in library.document_passages(name)}
    return Order(
        first,
        {name: any(source.passage_id in gold for source in sources) for name, sources in first.items()},
        {
            name: next(rank for rank, candidate in enumerate(order, 1) if candidate.passage.id == key.id)
            for name, order in ((NAIVE, by_cosine), (PIPELINE, second))
        },
    )


def _retrieval(orders: Mapping[str, Order], seed: int) -> tuple[Table, dict[str, Any]]:
    """Whether the passages of a prompt are from a document that answers, and Hits@5 and MRR among hard negatives."""
    rows = [
        Row(sample, arm=name, measure=measure, score=score)
        for sample, order in orders.items()
        for name in (NAIVE, PIPELINE)
        for measure, score in (
            (FOUND, float(order.found[name])),
            (HITS, float(order.ranks[name] <= TOP)),
            (MRR, 1 / order.ranks[name]),
        )
    ]
    pairs = {f"{PIPELINE} − {NAIVE}": ((PIPELINE, MRR), (NAIVE, MRR))}
    found = compare(rows, by="measure", pairs=pairs, seed=seed, wilson=(FOUND, HITS))
    lines = tuple(
        (name, *(number(row[measure], percent=measure != MRR) for measure in (FOUND, HITS, MRR)))
        for name, row in found.estimates.items()
    )
    (test,) = found.tests.values()
    note = (
        f"Found: a passage of a document that answers is among the {TOP} of the prompt. Hard negatives: the passage "
        f"that answers among the {HARD} ranked highest that do not, ordered by the embedder's cosine (naive) and by "
        "fusion and second stage (pipeline). [95 %: Wilson; bootstrap for MRR, paired.]"
    )
    difference = ("difference", "", "", number(test.difference, signed=True))
    return Table("Before reading", ("retrieval", FOUND, HITS, MRR), (*lines, difference), note), found.figures
