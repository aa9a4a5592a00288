"""Experiment `keyless-abstention`: how well the keyless reader quotes answers and notices when there is none.

Each question comes with 16 passages: the nearest to it among the passages of its data set. It is answerable if one of
them contains an answer. The same question has no answer if all passages with one are removed first (the rest is on the
same subject), if the passages come from another data set, or if the data set says so (ClapNQ).

Questions are split into halves by the first byte of the SHA-256 of their names: even is the development half, on which
weight, margin and threshold of `offline.evidence` are chosen (`--part development`); odd is the test half. A limit
applies to all five data sets together.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import islice
from pathlib import Path
from statistics import fmean
from typing import Literal

import numpy as np

from evaluation import datasets
from evaluation.bench import given_sources
from evaluation.datasets import clapnq
from evaluation.metrics import roc_area
from evaluation.reading_metrics import holds
from evaluation.report import Report, Table
from evaluation.rows import ScoreRow
from evaluation.runs import ExperimentRun
from evaluation.samples import Context, DataSet, Sample, check_selection, digest
from evaluation.vector_cache import cached_embedder
from preflight_rag.cache import file_sha256
from preflight_rag.ingest.splitting.sentence_splitter import SentenceSplitter
from preflight_rag.models.embedding.embedder import Embedder
from preflight_rag.offline.evidence import MARGIN, MAX_QUOTED, sentences_of
from preflight_rag.offline.reader import OfflineReader
from preflight_rag.offline.scored_sentences import SIMILARITY_WEIGHT, ScoredSentence, weighted
from preflight_rag.state.errors import UsageError
from preflight_rag.state.reading import Draft
from preflight_rag.state.values import Document

NAME = "five-sets"
"""The name in `--dataset` for the five data sets, which are measured as one."""
SETS = {
    "NQ-Open": ("nq_open_oracle", "COVID-QA"),
    "XQuAD": ("xquad_en", "COVID-QA"),
    "COVID-QA": ("covidqa", "NQ-Open"),
    "ClapNQ": ("clapnq", "COVID-QA"),
    "RAMDocs": ("ramdocs", "COVID-QA"),
}
"""For each data set's folder, the set whose passages cannot answer its questions."""
PASSAGES = 16
PARTITION = 4
POOL = 400
"""Passages of a data set in the pool; questions are taken in the order of their names' hashes."""
QUESTIONS = 40
"""Questions of each data set and half, with an answer and without one."""
KEPT = 0.95
"""Least share of answerable questions, averaged over data sets, that the threshold must keep; a guess."""
WEIGHTS = (0.5, 0.6, 0.65, 0.7, 0.8, 0.9, 1.0)
MARGINS = (0.0, 0.05, 0.1, 0.15, 0.2)
AT_ONCE, PARTITIONED = "at once", "in partitions"

Kind = Literal["answerable", "removed", "other", "unanswerable"]


def open_dataset(name: str, data: Path | None) -> DataSet:
    """Return the five data sets as one: each question is labelled with its set.

    ClapNQ's answers are the sentences that its annotators selected; RAMDocs' wrong answers count as answers, too.

    Raises:
        UsageError: The name is another, or a file is missing; the message says where it is published.
    """
    if name != NAME or data is None:
        raise UsageError(
            f"keyless-abstention has no data set {name!r}", help=f"Give --data DIR; the only one is {NAME}."
        )
    found = {shown: datasets.open_dataset(folder, data, datasets.QUESTIONS) for shown, (folder, _) in SETS.items()}
    selected = clapnq.selected_sentences(data / "clapnq")
    samples = []
    for shown, each in found.items():
        for sample in each.samples:
            answers = selected.get(sample.id, ()) if shown == "ClapNQ" else (*sample.names, *sample.wrong)
            named = sample.question if shown in ("NQ-Open", "RAMDocs") else sample.id
            worded = tuple((answer,) for answer in answers)
            samples.append(replace(sample, id=named, answers=worded, label=shown))
    source, files = (
        "; ".join(each.source for each in found.values()),
        (f for each in found.values() for f in each.files),
    )
    corpus = found["COVID-QA"].corpus
    return DataSet(NAME, ", ".join(SETS), source, "those of its parts", tuple(files), tuple(samples), corpus)


def with_short_passages(found: DataSet, splitter: SentenceSplitter) -> Iterator[Sample]:
    """Yield the samples with the articles of COVID-QA and XQuAD's paragraphs split."""
    articles = {document.id: document.text for document in found.documents()}

    @cache
    def split(title: str, text: str) -> tuple[Context, ...]:
        parts = splitter.split(Document(id="record", text=text, source="record", title=title))
        return tuple(Context("", part.title, part.text) for part in parts)

    for sample in found.samples:
        given = tuple(Context("", passage.title, passage.text) for passage in sample.given)
        if sample.label == "XQuAD":
            given = tuple(part for passage in given for part in split(passage.title, passage.text))
        if sample.label == "COVID-QA":
            given = split("", articles[next(iter(sample.documents))])
        yield replace(sample, given=given)


@dataclass(frozen=True)
class RankedSentences:
    """The sentences of a case as ranked by the reader, and its drafts if they were requested."""

    kind: Kind
    sample: Sample
    ranked: list[ScoredSentence]
    plain: Draft | None = None
    reduced: Draft | None = None

    def best(self, weight: float = SIMILARITY_WEIGHT) -> float:
        """Return the score of the best sentence."""
        return max((weighted(item.similarity, item.share, weight) for item in self.ranked), default=0.0)

    def quoted(self, margin: float, weight: float = SIMILARITY_WEIGHT) -> list[str]:
        """Return the best sentence and those at most `margin` below it."""
        scores = [(weighted(item.similarity, item.share, weight), item.sentence.text) for item in self.ranked]
        ordered = sorted(scores, key=lambda pair: -pair[0])[:MAX_QUOTED]
        return [text for score, text in ordered if score >= ordered[0][0] - margin]

    def holds(self, texts: Sequence[str]) -> bool:
        """Return whether one of the texts contains an answer."""
        return any(holds(text, self.sample.names) for text in texts)


@dataclass(frozen=True)
class SamplePool:
    """Passages of one data set with their vectors, and the samples that they came with."""

    samples: list[Sample]
    passages: list[Context]
    vectors: np.ndarray

    def nearest(self, query: np.ndarray) -> list[Context]:
        """Return all passages, the nearest to the query first."""
        return [self.passages[i] for i in (-(self.vectors @ query)).argsort(kind="stable").tolist()]


def open_pool(samples: Iterable[Sample], embedder: Embedder, most: int = POOL) -> SamplePool:
    """Return the first samples by hash whose passages fit into a pool."""
    taken: list[Sample] = []
    passages: dict[Context, None] = {}
    for sample in sorted(samples, key=lambda sample: digest(sample.id)):
        if len(passages) < most or all(passage in passages for passage in sample.given):
            passages.update(dict.fromkeys(sample.given))
            taken.append(sample)
    return SamplePool(taken, list(passages), embedder.encode_passages([(p.title, p.text) for p in passages]))


def cases(
    pool: SamplePool, other: SamplePool, embedder: Embedder, *, half: int, limit: int
) -> Iterator[tuple[Kind, Sample]]:
    """Yield cases of a half (0 development, 1 report): `limit` questions with an answer and `limit` without."""
    mine = [sample for sample in pool.samples if digest(sample.id)[0] % 2 == half]
    for answerable in (True, False):
        for sample in islice((sample for sample in mine if bool(sample.answers) == answerable), limit):
            query = embedder.encode_query(sample.question)
            near = pool.nearest(query)
            puts: list[tuple[Kind, list[Context]]] = [("other", other.nearest(query))]
            if answerable:
                puts.append(("removed", [passage for passage in near if not holds(passage.text, sample.names)]))
                if any(holds(passage.text, sample.names) for passage in near[:PASSAGES]):
                    puts.append(("answerable", near))
            else:
                puts.append(("unanswerable", near))
            for kind, passages in puts:
                shown = tuple(replace(passage, id=f"p{n}") for n, passage in enumerate(passages[:PASSAGES], 1))
                yield kind, replace(sample, given=shown)


async def ask(reader: OfflineReader, kind: Kind, sample: Sample, *, drafts: bool) -> RankedSentences:
    """Rank the sentences of a case and, for `drafts`, answer it at once and in partitions."""
    question, sources = sample.question, given_sources(sample)
    ranked = reader.rank(question, sentences_of(sources, question))
    if not drafts:
        return RankedSentences(kind, sample, ranked)
    plain = await reader.answer(question=question, sources=sources)
    parts = [sources[i : i + PARTITION] for i in range(0, len(sources), PARTITION)]
    extracts = [(await reader.extract(question=question, sources=part)).value for part in parts]
    reduced = await reader.reduce(question=question, extracts=extracts)
    return RankedSentences(kind, sample, ranked, plain.value, reduced.value)


def area_between(positive: Sequence[float], negative: Sequence[float]) -> float:
    """Return the area under the ROC curve of a score that should be higher for the positives."""
    return roc_area([*positive, *negative], [True] * len(positive) + [False] * len(negative), seed=0).value


def choose_threshold(outcomes: Sequence[RankedSentences]) -> float:
    """Return the highest threshold, in steps of 0.01, that keeps `KEPT` of the answerable questions."""
    by_set: dict[str, list[float]] = {}
    for outcome in outcomes:
        if outcome.sample.label in SETS and outcome.kind == "answerable":
            by_set.setdefault(outcome.sample.label, []).append(outcome.best())
    found = []
    for step in (step / 100 for step in range(100)):
        shares = [fmean(score >= step for score in scores) for scores in by_set.values()]
        if fmean(shares) >= KEPT:
            found.append(step)
    return max(found)


def run(found: DataSet, run: ExperimentRun) -> Report:
    """Ask the questions with their passages, and measure what the reader quotes and when it abstains."""
    check_selection(run.part, run.limit)
    most = QUESTIONS if run.limit is None else max(1, run.limit // (len(SETS) + 1))
    halves = {"development": (0,), "test": (1,), "all": (0, 1)}[run.part]
    outcomes: dict[int, list[RankedSentences]] = {half: [] for half in halves}
    with cached_embedder(run) as embedder:
        splitter, reader = SentenceSplitter(embedder), OfflineReader(embedder)
        size = min(POOL, run.documents or POOL)
        samples = list(with_short_passages(found, splitter))
        pools = {}
        for name in run.each(list(SETS), "passages"):
            pools[name] = open_pool((sample for sample in samples if sample.label == name), embedder, size)
        for half in halves:
            for name, (_, other) in SETS.items():
                put = cases(pools[name], pools[other], embedder, half=half, limit=most)
                outcomes[half] += [asyncio.run(ask(reader, *case, drafts=half == 1)) for case in put]
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
        dataset=found.title,
        about=f"{about}.",
        tables=tuple(tables),
        rows=tuple(row for half in halves for outcome in outcomes[half] for row in _rows(outcome)),
        figures={table.title: {line[0]: list(line[1:]) for line in table.rows} for table in tables},
        inputs={
            "sha256": {f"{file.parent.name}/{file.name}": file_sha256(file) for file in found.files},
            "embedder": described,
            "settings": {"passages": PASSAGES, "partition": PARTITION, "pool": size},
        },
    )


def _rows(outcome: RankedSentences) -> Iterator[ScoreRow]:
    """Yield whether each way to answer found something if there is something, and nothing otherwise."""
    sample = outcome.sample
    details = {"question": sample.question, "best": round(outcome.best(), 6)}
    drafts = {AT_ONCE: outcome.plain, PARTITIONED: outcome.reduced}
    for arm, draft in drafts.items():
        right = None if draft is None else float(draft.found == (outcome.kind == "answerable"))
        if draft is not None or arm == AT_ONCE:
            yield ScoreRow(f"{sample.label} {sample.id}", outcome.kind, arm, right, details=details)


def _weights(outcomes: Sequence[RankedSentences]) -> tuple[Table, ...]:
    """Return the effects of weight and margin on the quotes: mean answer recall, sentences, ROC areas."""
    answerable = [outcome for outcome in outcomes if outcome.kind == "answerable"]

    def recall(margin: float, weight: float) -> str:
        by_set: dict[str, list[bool]] = {}
        for outcome in answerable:
            if outcome.sample.label in SETS:
                by_set.setdefault(outcome.sample.label, []).append(outcome.holds(outcome.quoted(margin, weight)))
        return f"{fmean(fmean(found) for found in by_set.values()):.3f}"

    def area(weight: float, *kinds: str) -> str:
        without = [outcome.best(weight) for outcome in outcomes if outcome.kind in kinds]
        return f"{area_between([outcome.best(weight) for outcome in answerable], without):.3f}"

    by_weight = [
        (f"{weight}", recall(0.0, weight), area(weight, "removed", "unanswerable"), area(weight, "other"))
        for weight in WEIGHTS
    ]
    by_margin = []
    for margin in MARGINS:
        sentences = fmean(len(outcome.quoted(margin)) for outcome in answerable)
        by_margin.append((f"{margin}", recall(margin, SIMILARITY_WEIGHT), f"{sentences:.2f}"))
    head = ("similarity weight", "best sentence holds answer", "ROC area, same subject", "other subject")
    return (
        Table("Development half: weight of similarity", head, tuple(by_weight)),
        Table("… and margin", ("margin", "a quoted sentence holds answer", "sentences"), tuple(by_margin)),
    )


def _drafts(outcomes: Sequence[RankedSentences]) -> Table:
    """Return a table by data set with the shares answered, abstained and right, at once and in partitions.

    "At once" is the route plain, "in partitions" map/reduce.
    """
    rows = []
    for name in SETS:
        of: dict[Kind, list[RankedSentences]] = {"answerable": [], "removed": [], "unanswerable": [], "other": []}
        for outcome in outcomes:
            if outcome.sample.label == name:
                of[outcome.kind].append(outcome)
        known, same, other = of["answerable"], of["removed"] + of["unanswerable"], of["other"]
        best, best_of_same, best_of_other = ([o.best() for o in kind] for kind in (known, same, other))
        first = [o.holds(o.quoted(0.0)[:1]) for o in known]
        rows.append(
            (
                f"{name} ({len(known)}/{len(same)}/{len(other)})",
                f"{area_between(best, best_of_same):.3f} / {area_between(best, best_of_other):.3f}",
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


def _pair(outcomes: Sequence[RankedSentences], test: Callable[[Draft, RankedSentences], bool]) -> str:
    """Return the shares of outcomes that pass, for plain and map/reduce, as one cell."""
    plain = [test(o.plain, o) for o in outcomes if o.plain]
    reduced = [test(o.reduced, o) for o in outcomes if o.reduced]
    return f"{fmean(plain):.3f} / {fmean(reduced):.3f}" if plain and reduced else "–"
