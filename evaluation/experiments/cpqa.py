"""Experiments `cpqa`, `cpqa-sources` and `cpqa-splitters`: CPQA's query pipeline with its own parts (Tables III to V).

CPQA compares three methods with one reader: the model's own knowledge, step by step (baseline 1); the whole texts of
the first five documents of semantic search (baseline 2); and its pipeline of rewriting, hybrid search, SEOS and a
second stage. Here the pipeline is also run without each of its parts. The value of the parts is measured on the
questions that both baselines answer wrongly, CPQA's "negative" set, as is the choice of kinds of documents (Table III)
and of splitter and retriever (Table IV). Only questions about cancer are asked: of PubMedQA those whose article has a
heading of neoplasms, which the paper does not say, of others those that name one: by MeSH's tree if `PREFLIGHT_MESH`
names its file, as in the paper, else by a list of words.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from evaluation.bench import SearchBench, of_kinds, open_bench
from evaluation.compare import INTERVALS, compare
from evaluation.datasets import pubmedqa
from evaluation.experiments.splitters import OURS
from evaluation.intervals import Estimate, bootstrap
from evaluation.published import beside
from evaluation.query_pipeline import (
    CANDIDATES,
    DENSE,
    FUSED,
    LEXICAL,
    NAIVE_SPLITTER,
    POOL,
    SECOND,
    TOP,
    PipelineParts,
    QueryPipeline,
    open_pipeline,
)
from evaluation.report import Report, Table, figures, number
from evaluation.rows import ScoreRow, complete
from evaluation.runs import ExperimentRun
from evaluation.samples import DataSet, Sample
from evaluation.stages import NO_CLOSED_BOOK, closed_book, on_passages, plain
from preflight_rag.pubmed.mesh import Mesh
from preflight_rag.state.context import Settings
from preflight_rag.state.errors import UsageError
from preflight_rag.state.reading import Source

FOUND, AVERAGE = "found %", "Avg"
ACCURACY, PRECISION, RECALL, F1 = "accuracy", "precision", "recall", "F1"
NAIVE, PIPELINE = "naive RAG", "query pipeline"
PARTS = {
    PIPELINE: PipelineParts(),
    "without rewriting": PipelineParts(rewriting=False),
    "without HSRDR": PipelineParts(hybrid=False),
    "without SEOS": PipelineParts(splitter=NAIVE_SPLITTER),
    "without second stage": PipelineParts(second_stage=False),
}
SOURCES = {
    "D1": PipelineParts(origins=frozenset({"D1"})),
    "D1+D2": PipelineParts(origins=frozenset({"D1", "D2"})),
    "D1+D2+D3": PipelineParts(origins=frozenset({"D1", "D2", "D3"})),
}
SPLITTERS = (NAIVE_SPLITTER, "fixed 512, overlap 32", "fixed 512, overlap 128", OURS)
RETRIEVERS = (DENSE, LEXICAL, SECOND, FUSED)
CHUNKS = (
    "The fixed chunks hold 512 tokens of text; the paper's hold about 128, and some 384 of metadata that are embedded "
    "with them."
)
SUBSETS = {"mmlu": "MMLU", "medqa": "MedQA", "medmcqa": "MedMCQA", "pubmedqa": "PubMedQA", "bioasq": "BioASQ"}
CHOICES = ("choice", "yes/no", "claim")
SUBJECT = "neoplasms"
TREE = "Neoplasms"
_CANCER = re.compile(
    r"neoplas|carcino|cancer|tumou?r|leuk[a]?emia|lymphoma|melanoma|sarcoma|glioma|glioblastoma|myeloma|adenoma"
    r"|blastoma|metastas",
    re.IGNORECASE,
)
"""Names of neoplasms, used if `PREFLIGHT_MESH` names no file with MeSH's tree."""

Passages = Mapping[str, Mapping[str, tuple[Source, ...]]]
"""The passages that each arm reads, by question id, by arm."""


def run(found: DataSet, run: ExperimentRun) -> Report:
    """Run both baselines and the pipeline on all questions, and the pipeline without its parts on the negative ones."""
    subject, filtered = on_subject(found)
    run = with_embedders(run)
    with open_bench(filtered, run, lambda _: of_kinds(filtered, run, CHOICES)) as bench, open_pipeline(bench) as made:
        given = {NAIVE: _read(bench, made.naive), **_passages(bench, made, PARTS)}
        rows = _asked(bench, {name: given[name] for name in (NAIVE, PIPELINE)}, bench.questions, baseline=True)
        negative, described = negatives(bench, rows)
        parts = _asked(bench, {name: given[name] for name in PARTS}, negative)
        before = _before_reading(bench, given, run.seed)
    subsets = [replace(row, condition=subset(row.details.get("label") or found.name)) for row in rows]
    conditions = {row.condition for row in subsets}
    asked = [name for name in SUBSETS.values() if name in conditions]
    columns = {**{name: {name} for name in asked}, AVERAGE: {*SUBSETS.values(), ""}}
    pairs = {f"{PIPELINE} − {name}": ((PIPELINE, AVERAGE), (name, AVERAGE)) for name in _others(rows)}
    methods = compare(subsets, columns=columns, pairs=pairs, seed=run.seed)
    without = compare(parts, baseline=PIPELINE, seed=run.seed)
    return bench.report(
        "cpqa",
        (
            *methods.tables(f"Answers, {bench.model}"),
            *beside("cpqa", methods.estimates, here=_here(bench)),
            *without.tables(f"The pipeline's parts on {described}"),
            before,
        ),
        [*rows, *(replace(row, condition="negative") for row in parts)],
        {**methods.figures, "parts": without.figures},
        about=_about(bench, subject),
        more=NO_CLOSED_BOOK if bench.offline else "",
        passages=TOP,
        pool=POOL,
        candidates=CANDIDATES,
        subject=subject,
        negative=[question.id for question in negative],
    )


def sources(found: DataSet, run: ExperimentRun) -> Report:
    """Compare kinds of documents (Table III) on the negative questions."""
    subject, filtered = on_subject(found)
    run = with_embedders(run)
    with open_bench(filtered, run, lambda _: of_kinds(filtered, run, CHOICES)) as bench, open_pipeline(bench) as made:
        negative, described = negatives(bench, _baselines(bench, made))
        rows = _asked(bench, _passages(bench, made, SOURCES, negative), negative)
        origins = Counter(made.origins.values())
        kinds = {kind: origins[kind] for kind in ("D1", "D2", "D3")}
    measured, lines, kept = {}, [], complete(rows)
    for arm in SOURCES:
        measured[arm] = averaged([row for row in kept if row.arm == arm], run.seed)
        lines.append((arm, *(number(one, percent=True) for one in measured[arm].values())))
    note = (
        f"On {described}. Precision, recall and F1: unweighted means over the options' letters. Documents: "
        + ", ".join(f"{kind} {count:,}" for kind, count in kinds.items())
        + f". {INTERVALS}"
    )
    compared = compare(rows, seed=run.seed)
    return bench.report(
        "cpqa-sources",
        (
            Table("Kinds of documents", ("%", ACCURACY, PRECISION, RECALL, F1), tuple(lines), note),
            *beside("cpqa-sources", measured, here=_here(bench)),
            compared.differences("Right answers, paired"),
        ),
        rows,
        {**compared.figures, "macro": {arm: figures(row) for arm, row in measured.items()}},
        about=_about(bench, subject),
        subject=subject,
    )


def splitting(found: DataSet, run: ExperimentRun) -> Report:
    """Compare each splitter with each retriever, before the same second stage (Table IV), on the negative questions."""
    subject, filtered = on_subject(found)
    run = with_embedders(run, most=2)
    with open_bench(filtered, run, lambda _: of_kinds(filtered, run, CHOICES)) as bench, open_pipeline(bench) as made:
        negative, described = negatives(bench, _baselines(bench, made))
        retrievers = [by for by in RETRIEVERS if by != SECOND or SECOND in made.splitters]
        named = {}
        for name in SPLITTERS:
            for by in retrievers:
                if name in made.splitters[SECOND if by == SECOND else DENSE]:
                    named[f"{name} | {by}"] = PipelineParts(splitter=name, retriever=by)
        rows = _asked(bench, _passages(bench, made, named, negative), negative)
    cells = [
        replace(row, arm=splitter, condition=retriever)
        for row in rows
        for splitter, _, retriever in (row.arm.partition(" | "),)
    ]
    others = [name for name in dict.fromkeys(row.arm for row in cells) if name != OURS]
    compared = compare(cells, columns=retrievers, pairs=[(OURS, name) for name in others], seed=run.seed)
    return bench.report(
        "cpqa-splitters",
        (
            compared.means("Splitter and retriever", f"On {described}. {_read_by(made)} {CHUNKS}", head="splitter"),
            *beside("cpqa-splitters", compared.estimates, here=_here(bench)),
            compared.differences("SEOS and the others, paired"),
        ),
        cells,
        compared.figures,
        about=_about(bench, subject),
        subject=subject,
    )


def with_embedders(run: ExperimentRun, *, most: int = 1) -> ExperimentRun:
    """Return the run with its two embedders set: `embedder` for documents, `passage_embedder` for passages.

    Args:
        run: The run with its options; an embedder that they do not name is the run's own.
        most: The number of passage embedders that the experiment compares.

    Raises:
        UsageError: The options name more embedders of passages.
    """
    if (run.passage_embedder or "").count(",") >= most:
        raise UsageError(
            f"{run.passage_embedder!r} are more than {most} embedders of passages",
            help="cpqa-splitters compares two; the others take one.",
        )
    return replace(
        run,
        embedder=run.document_embedder or run.embedder,
        passage_embedder=run.passage_embedder or run.embedder,
    )


def _read_by(made: QueryPipeline) -> str:
    """Return a sentence naming the models that retrieve."""
    by = ", ".join(f"{name}: {methods[OURS].embedder.name}" for name, methods in made.splitters.items())
    return f"Documents: {made.library.embedder.name}; chunks, {by}; second stage: {made.reranker.name}."


def on_subject(found: DataSet) -> tuple[str, DataSet]:
    """Return the questions about neoplasms, and how they were selected, in words.

    Raises:
        UsageError: No question is about neoplasms.
    """
    headings = _headings(found) if found.name == "pubmedqa" else None
    texts = {q.id: [q.question] if headings is None else headings.get(q.id, []) for q in found.samples}
    file = Settings.read().mesh
    mesh = Mesh.open(file) if file else None

    def about(text: str) -> bool:
        return mesh.about(text, TREE) if mesh else _CANCER.search(text) is not None

    chosen = tuple(q for q in found.samples if any(about(text) for text in texts[q.id]))
    if not chosen:
        raise UsageError(f"no question of {found.name} is about {SUBJECT}", help="Take pubmedqa or mirage.")
    by = "their words" if headings is None else "their MeSH headings"
    by += f", as MeSH's tree of {TREE} has them" if mesh else ", as a list of words has them"
    return f"on {SUBJECT} by {by}", replace(found, samples=chosen)


def negatives(bench: SearchBench, rows: Sequence[ScoreRow]) -> tuple[tuple[Sample, ...], str]:
    """Return the questions that every baseline in the rows answers wrongly, with a description; if none, all."""
    baselines = [row for row in complete(rows) if row.arm != PIPELINE]
    right = {row.sample for row in baselines if row.score}
    asked = {row.sample for row in baselines}
    wrong = tuple(question for question in bench.questions if question.id in asked - right)
    both = "naive RAG answers wrongly" if bench.offline else "both baselines answer wrongly"
    if not wrong:
        return bench.questions, f"all {len(bench.questions):,} questions, as there is none that {both}"
    return wrong, f"the {len(wrong):,} questions that {both}"


def averaged(rows: Sequence[ScoreRow], seed: int) -> dict[str, Estimate]:
    """Return accuracy, and precision, recall and F1 as unweighted means over the letters of the options.

    Letters that are right for some question count; a reply without a choice is a miss for its right letter.
    """
    letters = [_letters(row) for row in rows]
    right, chosen = (np.array(column, dtype=int) for column in zip(*letters, strict=True)) if letters else ([], [])
    names = (ACCURACY, PRECISION, RECALL, F1)

    def measure(place: int) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
        return lambda a, b: macro(a, b)[place]

    return {name: bootstrap(measure(place), right, chosen, seed=seed) for place, name in enumerate(names)}


def macro(right: np.ndarray, chosen: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return accuracy, macro precision, recall and F1, each of shape (samples,).

    Args:
        right: Indices of right options, shape (samples, n).
        chosen: Indices of chosen ones, −1 for none, of the same shape.
    """
    precision, recall, f1, counted = (np.zeros(len(right)) for _ in range(4))
    for label in np.unique(right):
        actual, named = right == label, chosen == label
        both, wanted, said = ((actual & named).sum(-1), actual.sum(-1), named.sum(-1))
        there = wanted > 0
        counted += there
        precision += there * both / np.maximum(said, 1)
        recall += there * both / np.maximum(wanted, 1)
        f1 += there * 2 * both / np.maximum(wanted + said, 1)
    return (right == chosen).mean(-1), precision / counted, recall / counted, f1 / counted


def _letters(row: ScoreRow) -> tuple[int, int]:
    """Return the indices of the right and of the chosen option; -1 if none was chosen."""
    options = list(row.details["options"])
    chosen = row.details.get("choice")
    return options.index(row.details["right"]), options.index(chosen) if chosen in options else -1


def _headings(found: DataSet) -> dict[str, list[str]]:
    """Return the MeSH headings in PubMedQA's file, by PMID."""
    headings = {}
    for _, pmid, record in pubmedqa.records(found.files[0].parent):
        headings[pmid] = [str(heading) for heading in record.get("MESHES") or ()]
    return headings


def _read(bench: SearchBench, passages: Callable[[Sample], tuple[Source, ...]]) -> dict[str, tuple[Source, ...]]:
    """Return the passages of each question by its id."""
    return {question.id: passages(question) for question in bench.in_turn()}


def _passages(
    bench: SearchBench,
    made: QueryPipeline,
    arms: Mapping[str, PipelineParts],
    questions: Sequence[Sample] | None = None,
) -> dict[str, dict[str, tuple[Source, ...]]]:
    """Return the passages that each arm of the pipeline reads for each question."""
    given: dict[str, dict[str, tuple[Source, ...]]] = {name: {} for name in arms}
    chosen = bench.questions if questions is None else questions
    for question in bench.run.each(chosen, f"{bench.found.name}: searches"):
        for name, parts in arms.items():
            given[name][question.id] = made.passages(question, parts)
    return given


def _asked(
    bench: SearchBench, given: Passages, questions: Sequence[Sample], *, baseline: bool = False
) -> list[ScoreRow]:
    """Ask every arm the questions with its own passages, and the closed book if that is a baseline."""

    def reads(name: str) -> Callable[[Sample, Sequence[Source]], Sequence[Source]]:
        return lambda question, _: given[name][question.id]

    arms = [on_passages(plain(bench.reader, name), reads(name)) for name in given]
    if baseline and bench.offline:
        bench.run.warn(f"note: {NO_CLOSED_BOOK}")
    elif baseline:
        arms.insert(0, closed_book(bench.asking))
    return bench.ask(arms, lambda _: (), questions)


def _baselines(bench: SearchBench, made: QueryPipeline) -> list[ScoreRow]:
    """Ask all questions with the naive pipeline."""
    return _asked(bench, {NAIVE: _read(bench, made.naive)}, bench.questions, baseline=True)


def _before_reading(bench: SearchBench, given: Passages, seed: int) -> Table:
    """Return a table of how often a prompt contains text of an answering document, if the data set names one."""
    rows = []
    for question in bench.questions:
        gold = bench.searched.documents(question)
        for name, passages in given.items() if gold else ():
            # A whole document has its own id, a chunk that of its document and its offset.
            ids = [source.passage_id for source in passages[question.id]]
            held = not {*ids, *(name.rpartition(":")[0] for name in ids)}.isdisjoint(gold)
            rows.append(ScoreRow(question.id, arm=name, measure=FOUND, score=float(held)))
    found = compare(rows, by="measure", baseline=PIPELINE, seed=seed)
    note = f"A passage of a document that answers is among the {TOP} of the prompt. {INTERVALS}"
    lines = tuple((name, number(row[FOUND], percent=True)) for name, row in found.estimates.items())
    return Table("Before reading", ("method", FOUND), lines, note)


def subset(label: str) -> str:
    """Return the name of a set in CPQA's Table V, by its name or a question's label; "" for other sets."""
    # "pubmedqa" ends like "medqa".
    return next((SUBSETS[name] for name in sorted(SUBSETS, key=len, reverse=True) if name in label.lower()), "")


def _others(rows: Sequence[ScoreRow]) -> list[str]:
    """Return the arms of the rows other than the whole pipeline."""
    return [name for name in dict.fromkeys(row.arm for row in rows) if name != PIPELINE]


def _here(bench: SearchBench) -> str:
    """Return a description of this run, for comparison with the paper's figures."""
    return f"{bench.found.title}, {len(bench.questions):,} questions; {bench.model} reads; no live NCBI"


def _about(bench: SearchBench, subject: str) -> str:
    """Return the report's sentence on questions, part, subject and model."""
    return f"{len(bench.questions):,} questions ({bench.run.part} part), {subject}; model {bench.model}."
