"""Experiment `cpqa`: chain of thought, naive RAG and the whole query pipeline on the same questions.

CPQA (Table V) compares three methods: the model's own knowledge, step by step; naive RAG, which takes the first
passages of the embedder's ranking; and its pipeline, here this project's: dense and BM25 rankings fused, then the
second stage. All are asked with the same prompt for the same number of passages. Where the data set has MeSH headings
(PubMedQA), only questions whose article is about neoplasms are asked, as CPQA's are about cancer.

Hard negatives: the passage that answers is put among those ranked highest that do not answer, and each method of
retrieval orders them; how far up it puts the one that answers needs no model.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from preflight_rag.evaluation.harness.arms import Arm, ArmAnswer, ask_arms
from preflight_rag.evaluation.harness.asking import open_asking
from preflight_rag.evaluation.harness.compared import compare
from preflight_rag.evaluation.harness.paired import paired
from preflight_rag.evaluation.intervals import average, wilson
from preflight_rag.evaluation.papers.briefcontext import NO_CLOSED_BOOK, closed_book, plain
from preflight_rag.evaluation.papers.searched import Searched, open_searched
from preflight_rag.evaluation.plots import Axis, Bars, Series
from preflight_rag.evaluation.reader_data import PUBMEDQA
from preflight_rag.evaluation.records import find, json_file, mapping
from preflight_rag.evaluation.report import Report, Table, number
from preflight_rag.evaluation.samples import DataSet, Sample
from preflight_rag.models.reranking.feature_reranker import FeatureReranker
from preflight_rag.models.reranking.rerankers import rerank
from preflight_rag.state.errors import UsageError
from preflight_rag.state.reading import Source

if TYPE_CHECKING:
    from preflight_rag.evaluation.runs import Run
    from preflight_rag.models.protocol import Reader
    from preflight_rag.state.values import Passage

TOP = 5
"""Passages of a prompt, and how far up an answer counts as found."""
HARD = 20
"""Passages that do not answer, for each that does."""
NAIVE, PIPELINE = "naive RAG", "query pipeline"
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
    with open_searched(filtered, run) as searched:
        questions = searched.with_key(filtered, run)
        orders = {}
        for done, question in enumerate(questions, 1):
            orders[question.id] = ordered(searched, question)
            run.progress(f"{found.name}: searches", done, len(questions))
        with open_asking(run, questions, searched.gold_texts(questions)) as asking:
            reader = asking.reader(searched.library.embedder)
            arms = [closed_book(asking)] if asking.chat_model is not None else []
            arms += [_arm(name, reader, orders) for name in (NAIVE, PIPELINE)]
            cases = asyncio.run(ask_arms(arms, questions, lambda _: (), asking, f"{found.name}: questions"))
        given = {**searched.inputs, "model": asking.name, "passages": TOP, "hard_negatives": HARD, "subject": subject}
    if asking.chat_model is None:
        run.warn(f"note: {NO_CLOSED_BOOK}")
    compared = compare(cases, seed=run.seed, title=f"Answers, {asking.name}")
    retrieval, numbers = _retrieval(questions, orders, run.seed)
    return Report(
        experiment="cpqa",
        dataset=found.title,
        about=f"{len(questions):,} questions ({run.part} part), {subject}; model {asking.name}."
        + ("" if asking.chat_model is not None else f" {NO_CLOSED_BOOK}"),
        tables=(*compared.tables, retrieval),
        rows=tuple({**case.as_json(), "hard_negatives": orders[case.question.id].ranks} for case in cases),
        figures={**compared.figures, "retrieval": numbers},
        inputs=given,
        plots=(
            Bars(
                "Right answers by method",
                Axis("right", percent=True, low=0, high=1),
                tuple(compared.estimates),
                (Series("method", tuple(compared.estimates.values())),),
                note=f"{asking.name}; {TOP} passages a prompt. Intervals: 95 %.",
            ),
        ),
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
    path = find(found.files[0].parent, "ori_pqal.json", origin=PUBMEDQA)
    records = mapping(json_file(path), path.name)
    return {name: [str(heading) for heading in mapping(record, name).get("MESHES") or ()]
            for name, record in records.items()}  # fmt: skip


def ordered(searched: Searched, question: Sample) -> Order:
    """The first passages of each method, and how each orders the passage that answers among hard negatives."""
    from preflight_rag.library.search.merging import merge

    library = searched.library
    dense = library.passages([hit.passage_id for hit in library.search(question.question, k=TOP).dense])
    key = searched.key(question)
    hard = searched.nearest(question, key, HARD)
    pool = merge(library, question.question, [], [*hard, key], depth=HARD + 1)
    by_cosine = sorted(pool, key=lambda candidate: candidate.dense_rank or len(pool))
    second = rerank(FeatureReranker.shipped(), question.question, pool, limit=len(pool), deadline=float("inf")).order
    passages = {NAIVE: _sources(dense), PIPELINE: searched.retrieved(question, TOP)}
    gold = {passage.id for name in searched.documents(question) for passage in library.document_passages(name)}
    return Order(
        passages,
        {name: any(source.passage_id in gold for source in shown) for name, shown in passages.items()},
        {
            name: next(rank for rank, candidate in enumerate(order, 1) if candidate.passage.id == key.id)
            for name, order in ((NAIVE, by_cosine), (PIPELINE, second))
        },
    )


def _sources(passages: Sequence[Passage]) -> tuple[Source, ...]:
    return tuple(Source.of(passage, n) for n, passage in enumerate(passages, 1))


def _arm(name: str, reader: Reader, orders: Mapping[str, Order]) -> Arm:
    """One prompt with the method's own passages."""
    inner = plain(reader, name)

    async def answer(question: Sample, sources: Sequence[Source]) -> ArmAnswer:
        passages = orders[question.id].passages[name]
        return replace(await inner.answer(question, passages), passages=passages)

    return Arm(name, answer)


def _retrieval(questions: Sequence[Sample], orders: Mapping[str, Order], seed: int) -> tuple[Table, dict[str, Any]]:
    """Whether the passages of a prompt are from a document that answers, and Hits@5 and MRR among hard negatives."""
    rows, numbers, reciprocals = [], {}, {}
    for name in (NAIVE, PIPELINE):
        ranks = [orders[question.id].ranks[name] for question in questions]
        reached = [orders[question.id].found[name] for question in questions]
        reciprocals[name] = [1 / rank for rank in ranks]
        estimates = {
            "found": wilson(sum(reached), len(reached)),
            "hits": wilson(sum(rank <= TOP for rank in ranks), len(ranks)),
            "mrr": average(reciprocals[name], seed=seed),
        }
        numbers[name] = {key: estimate.as_json() for key, estimate in estimates.items()}
        shares = (number(estimates[key], percent=True) for key in ("found", "hits"))
        rows.append((name, *shares, number(estimates["mrr"])))
    test = paired(reciprocals[PIPELINE], reciprocals[NAIVE], seed=seed)
    numbers["difference"] = test.as_json()
    rows.append(("difference", "", "", number(test.difference, signed=True)))
    note = (
        f"Found: a passage of a document that answers is among the {TOP} of the prompt. Hard negatives: the passage "
        f"that answers among the {HARD} ranked highest that do not, ordered by the embedder's cosine (naive) and by "
        "fusion and second stage (pipeline). [95 %: Wilson; bootstrap for MRR, paired.]"
    )
    head = ("retrieval", "found %", f"Hits@{TOP} among hard negatives %", "MRR among hard negatives")
    return Table("Before reading", head, tuple(rows), note), numbers
