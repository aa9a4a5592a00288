"""Experiment `keyless-abstention`: how well the keyless reader quotes answers and knows when there is none.

Each question is put to 16 passages: those nearest to it among the passages of its data set. It is answerable when one
of them holds an answer. The same question has no answer when all passages that hold one are taken away first (the rest
is on the same subject), when the passages come from another data set, and where the data set says so (ClapNQ).

Questions fall into halves by the first byte of the SHA-256 of their names: even is the development half, on which
weight, margin and threshold of `offline.evidence` are chosen (`--part development`); odd is the test half. A limit is
of all five data sets together.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from statistics import fmean
from typing import Literal

import numpy as np

from preflight_rag.evaluation import datasets
from preflight_rag.evaluation.datasets import clapnq
from preflight_rag.evaluation.metrics import roc_area
from preflight_rag.evaluation.reading_metrics import holds
from preflight_rag.evaluation.report import Report, Table, checksums
from preflight_rag.evaluation.rows import Row
from preflight_rag.evaluation.runs import Run
from preflight_rag.evaluation.samples import DataSet, check_selection, digest
from preflight_rag.evaluation.vector_cache import cached_embedder
from preflight_rag.library.splitting.sentence_splitter import SentenceSplitter
from preflight_rag.models.embedding.embedder import Embedder
from preflight_rag.offline.evidence import MARGIN, MAX_QUOTED, SIMILARITY_WEIGHT, Scored, sentences_of, weighted
from preflight_rag.offline.reader import OfflineReader
from preflight_rag.state.errors import UsageError
from preflight_rag.state.reading import Draft, Source
from preflight_rag.state.values import Document

NAME = "five-sets"
"""What `--dataset` calls the five data sets, which are measured as one."""
SETS = {
    "NQ-Open": ("nq_open_oracle", "COVID-QA"),
    "XQuAD": ("xquad_en", "COVID-QA"),
    "COVID-QA": ("covidqa", "NQ-Open"),
    "ClapNQ": ("clapnq", "COVID-QA"),
    "RAMDocs": ("ramdocs", "COVID-QA"),
}
"""Folder of each data set, and the set whose passages cannot answer its questions."""
PASSAGES = 16
PARTITION = 4
POOL = 400
"""Passages of a data set that questions are put to; questions are taken in the order of their names' hashes."""
QUESTIONS = 40
"""Of each data set and half, with an answer and without one."""
KEPT = 0.95
"""Share of answerable questions, in the mean over data sets, that the threshold must let through; a guess."""
WEIGHTS = (0.5, 0.6, 0.65, 0.7, 0.8, 0.9, 1.0)
MARGINS = (0.0, 0.05, 0.1, 0.15, 0.2)
AT_ONCE, PARTITIONED = "at once", "in partitions"

Kind = Literal["answerable", "removed", "other", "unanswerable"]
Text = tuple[str, str]


@dataclass(frozen=True)
class Record:
    """A question, its answer strings (none: the data set calls it unanswerable), and its (title, text) passages."""

    id: str
    question: str
    answers: tuple[str, ...]
    passages: tuple[Text, ...]


@dataclass(frozen=True)
class Sets:
    """The five data sets by name, and what their questions' answers are in words of the passages."""

    title: str
    found: Mapping[str, DataSet]
    sentences: Mapping[str, tuple[str, ...]]


def open_dataset(name: str, data: Path | None) -> Sets:
    """The five data sets.

    Raises:
        UsageError: The name is another, or a file is missing; the message says where it is published.
    """
    if name != NAME or data is None:
        raise UsageError(
            f"keyless-abstention has no data set {name!r}", help=f"Give --data DIR; the only one is {NAME}."
        )
    found = {shown: datasets.open_dataset(folder, data, datasets.QUESTIONS) for shown, (folder, _) in SETS.items()}
    return Sets(", ".join(SETS), found, clapnq.selected_sentences(data / "clapnq"))


def records(name: str, sets: Sets, splitter: SentenceSplitter) -> Iterator[Record]:
    """The questions of a data set; whole articles, and XQuAD's paragraphs, are split.

    ClapNQ's answers are the sentences that its annotators selected; RAMDocs' wrong answers count as answers, too.
    """
    found = sets.found[name]
    articles = {document.id: document for document in found.documents()} if name == "COVID-QA" else {}
    split: dict[tuple[str, str], tuple[Text, ...]] = {}

    def passages(title: str, text: str) -> tuple[Text, ...]:
        if (title, text) not in split:
            parts = splitter.split(Document(id="record", text=text, source="record", title=title))
            split[title, text] = tuple((part.title, part.text) for part in parts)
        return split[title, text]

    for sample in found.samples:
        own = tuple((passage.title, passage.text) for passage in sample.given)
        if name == "XQuAD":
            own = tuple(part for text in own for part in passages(*text))
        if name == "COVID-QA":
            own = passages("", articles[next(iter(sample.documents))].text)
        answers = sets.sentences.get(sample.id, ()) if name == "ClapNQ" else (*sample.names, *sample.wrong)
        named = sample.question if name in ("NQ-Open", "RAMDocs") else sample.id
        yield Record(named, sample.question, answers, own)


@dataclass(frozen=True)
class Case:
    """A question with the passages that it is put to."""

    dataset: str
    kind: Kind
    record: Record
    sources: tuple[Source, ...]


@dataclass(frozen=True)
class Outcome:
    """The sentences of a case as the reader ranks them, and its drafts where they were asked for."""

    case: Case
    ranked: list[Scored]
    plain: Draft | None = None
    reduced: Draft | None = None

    def best(self, weight: float = SIMILARITY_WEIGHT) -> float:
        """Score of the best sentence."""
        return max((weighted(item.similarity, item.share, weight) for item in self.ranked), default=0.0)

    def quoted(self, margin: float, weight: float = SIMILARITY_WEIGHT) -> list[str]:
        """The best sentence and those at most `margin` below it."""
        scores = [(weighted(item.similarity, item.share, weight), item.sentence.text) for item in self.ranked]
        ordered = sorted(scores, key=lambda pair: -pair[0])[:MAX_QUOTED]
        return [text for score, text in ordered if score >= ordered[0][0] - margin]

    def holds(self, texts: Sequence[str]) -> bool:
        """Whether one of the texts holds an answer."""
        return any(holds(text, self.case.record.answers) for text in texts)


@dataclass(frozen=True)
class Pool:
    """Passages of one data set with their vectors, and the records that they came with."""

    records: list[Record]
    texts: list[Text]
    vectors: np.ndarray

    def nearest(self, query: np.ndarray) -> Iterator[Text]:
        """All passages, the nearest to the query first."""
        return (self.texts[i] for i in (-(self.vectors @ query)).argsort(kind="stable").tolist())


def open_pool(records: Iterator[Record], embedder: Embedder, most: int = POOL) -> Pool:
    """The first records by hash whose passages fit into a pool."""
    taken: list[Record] = []
    texts: dict[Text, None] = {}
    for record in sorted(records, key=lambda record: digest(record.id)):
        if len(texts) < most or all(text in texts for text in record.passages):
            texts.update(dict.fromkeys(record.passages))
            taken.append(record)
    return Pool(taken, list(texts), embedder.encode_passages(list(texts)))


def cases(dataset: str, pool: Pool, other: Pool, embedder: Embedder, *, half: int, limit: int) -> Iterator[Case]:
    """Cases of a half (0 development, 1 report): of its first `limit` questions with an answer and `limit` without."""
    mine = [record for record in pool.records if digest(record.id)[0] % 2 == half]
    for answerable in (True, False):
        for record in islice((record for record in mine if bool(record.answers) == answerable), limit):
            query = embedder.encode_query(record.question)
            near = list(pool.nearest(query))
            puts: list[tuple[Kind, list[Text]]] = [("other", list(other.nearest(query)))]
            if answerable:
                puts.append(("removed", [text for text in near if not holds(text[1], record.answers)]))
                if any(holds(text[1], record.answers) for text in near[:PASSAGES]):
                    puts.append(("answerable", near))
            else:
                puts.append(("unanswerable", near))
            for kind, texts in puts:
                sources = [Source(n, f"p{n}", *text) for n, text in enumerate(texts[:PASSAGES], 1)]
                yield Case(dataset, kind, record, tuple(sources))


async def ask(reader: OfflineReader, case: Case, *, drafts: bool) -> Outcome:
    """Rank the sentences of a case and, for `drafts`, answer it at once and in partitions."""
    question = case.record.question
    ranked = reader.rank(question, sentences_of(case.sources))
    if not drafts:
        return Outcome(case, ranked)
    plain = await reader.answer(question=question, sources=case.sources)
    parts = [case.sources[i : i + PARTITION] for i in range(0, len(case.sources), PARTITION)]
    extracts = [(await reader.extract(question=question, sources=part)).value for part in parts]
    reduced = await reader.reduce(question=question, extracts=extracts)
    return Outcome(case, ranked, plain.value, reduced.value)


def area_between(positive: Sequence[float], negative: Sequence[float]) -> float:
    """Area under the ROC curve of a score that should be higher for the positives."""
    return roc_area([*positive, *negative], [True] * len(positive) + [False] * len(negative), seed=0).value


def choose_threshold(outcomes: Sequence[Outcome]) -> float:
    """The highest threshold, in steps of 0.01, that lets `KEPT` of the answerable questions through."""
    by_set = {
        name: [
            outcome.best() for outcome in outcomes if (outcome.case.dataset, outcome.case.kind) == (name, "answerable")
        ]
        for name in SETS
    }
    steps = [step / 100 for step in range(100)]
    return max(
        step
        for step in steps
        if fmean(fmean(score >= step for score in scores) for scores in by_set.values() if scores) >= KEPT
    )


def run(sets: Sets, run: Run) -> Report:
    """Put the questions to their passages, and measure what the reader quotes and when it abstains."""
    check_selection(run.part, run.limit)
    most = QUESTIONS if run.limit is None else max(1, run.limit // (len(SETS) + 1))
    halves = {"development": (0,), "test": (1,), "all": (0, 1)}[run.part]
    outcomes: dict[int, list[Outcome]] = {half: [] for half in halves}
    with cached_embedder(run) as embedder:
        splitter, reader = SentenceSplitter(embedder), OfflineReader(embedder)
        size = min(POOL, run.documents or POOL)
        pools = {}
        for name in SETS:
            pools[name] = open_pool(records(name, sets, splitter), embedder, size)
            run.progress("passages", len(pools), len(SETS))
        for half in halves:
            for name, (_, other) in SETS.items():
                put = cases(name, pools[name], pools[other], embedder, half=half, limit=most)
                outcomes[half] += [asyncio.run(ask(reader, case, drafts=half == 1)) for case in put]
                run.progress(f"{('development', 'test')[half]} half", list(SETS).index(name) + 1, len(SETS))
        described = {"name": embedder.name, "revision": embedder.revision, "dimension": embedder.dimension}
    tables = [*(_weights(outcomes[0]) if 0 in halves else ()), *([_drafts(outcomes[1])] if 1 in halves else [])]
    about = (
        f"{sum(map(len, outcomes.values()))} cases ({run.part} part). Similarity weight {SIMILARITY_WEIGHT}, margin "
    )
    about += f"{MARGIN}, threshold {reader.threshold}"
    if 0 in halves:
        about += f"; threshold that keeps {KEPT:.0%}: {choose_threshold(outcomes[0])}"
    return Report(
        experiment="keyless-abstention",
        dataset=sets.title,
        about=f"{about}.",
        tables=tuple(tables),
        rows=tuple(row for half in halves for outcome in outcomes[half] for row in _rows(outcome)),
        figures={table.title: {line[0]: list(line[1:]) for line in table.rows} for table in tables},
        inputs={
            "sha256": {
                f"{found.name}/{name}": sha
                for found in sets.found.values()
                for name, sha in checksums(found.files).items()
            },
            "embedder": described,
            "settings": {"passages": PASSAGES, "partition": PARTITION, "pool": size},
        },
    )


def _rows(outcome: Outcome) -> Iterator[Row]:
    """Whether each way to answer found something where there is something, and nothing elsewhere."""
    case = outcome.case
    details = {"question": case.record.question, "best": round(outcome.best(), 6)}
    drafts = {AT_ONCE: outcome.plain, PARTITIONED: outcome.reduced}
    for arm, draft in drafts.items():
        right = None if draft is None else float(draft.found == (case.kind == "answerable"))
        if draft is not None or arm == AT_ONCE:
            yield Row(f"{case.dataset} {case.record.id}", case.kind, arm, right, details=details)


def _weights(outcomes: Sequence[Outcome]) -> tuple[Table, ...]:
    """What weight and margin do to the quotes: answer recall as the mean over data sets, sentences, ROC areas."""
    answerable = [outcome for outcome in outcomes if outcome.case.kind == "answerable"]

    def recall(margin: float, weight: float) -> str:
        sets = [[o.holds(o.quoted(margin, weight)) for o in answerable if o.case.dataset == name] for name in SETS]
        return f"{fmean(fmean(found) for found in sets if found):.3f}"

    def area(weight: float, *kinds: str) -> str:
        without = [outcome.best(weight) for outcome in outcomes if outcome.case.kind in kinds]
        return f"{area_between([outcome.best(weight) for outcome in answerable], without):.3f}"

    by_weight = [
        (f"{weight}", recall(0.0, weight), area(weight, "removed", "unanswerable"), area(weight, "other"))
        for weight in WEIGHTS
    ]
    by_margin = [
        (f"{margin}", recall(margin, SIMILARITY_WEIGHT), f"{fmean(len(o.quoted(margin)) for o in answerable):.2f}")
        for margin in MARGINS
    ]
    head = ("similarity weight", "best sentence holds answer", "ROC area, same subject", "other subject")
    return (
        Table("Development half: weight of similarity", head, tuple(by_weight)),
        Table("… and margin", ("margin", "a quoted sentence holds answer", "sentences"), tuple(by_margin)),
    )


def _drafts(outcomes: Sequence[Outcome]) -> Table:
    """One row a data set: shares answered, abstained and right, at once (plain) and in partitions (map/reduce)."""
    rows = []
    for name in SETS:
        of = {
            kind: [o for o in outcomes if o.case.dataset == name and o.case.kind == kind]
            for kind in ("answerable", "removed", "unanswerable", "other")
        }
        known, same, other = of["answerable"], of["removed"] + of["unanswerable"], of["other"]
        best = [o.best() for o in known]
        first = [o.holds(o.quoted(0.0)[:1]) for o in known]
        rows.append(
            (
                f"{name} ({len(known)}/{len(same)}/{len(other)})",
                " / ".join(f"{area_between(best, [o.best() for o in kind]):.3f}" for kind in (same, other)),
                _pair(known, lambda draft, o: draft.found),
                _pair(same, lambda draft, o: not draft.found),
                _pair(other, lambda draft, o: not draft.found),
                f"{fmean(first):.3f}" if first else "–",
                _pair(known, lambda draft, o: o.holds([quote for _, quote in draft.quotes])),
            )
        )
    head = ["data set (answerable / same subject / other)", "ROC area, same / other subject"]
    head += ["answered", "abstained, same subject", "abstained, other subject"]
    columns = (*head, "best sentence holds answer", "quotes hold answer")
    return Table("Test half, plain / map/reduce", columns, tuple(rows))


def _pair(outcomes: Sequence[Outcome], test: Callable[[Draft, Outcome], bool]) -> str:
    """Shares of outcomes that pass, plain and map/reduce, as one cell."""
    plain = [test(o.plain, o) for o in outcomes if o.plain]
    reduced = [test(o.reduced, o) for o in outcomes if o.reduced]
    return f"{fmean(plain):.3f} / {fmean(reduced):.3f}" if plain and reduced else "–"
