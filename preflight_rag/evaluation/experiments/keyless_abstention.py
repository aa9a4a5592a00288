"""How well the offline reader quotes answers and knows when there is none: the experiment behind its numbers.

    PREFLIGHT_DATA=DIR python -m preflight_rag.evaluation.experiments.keyless_abstention

Each question is put to 16 passages: those nearest to it among the passages of its data set. It is answerable when one
of them holds an answer. The same question has no answer when all passages that hold one are taken away first (the rest
is on the same subject), when the passages come from another data set, and where the data set says so (ClapNQ).

Questions fall into halves by the first byte of the SHA-256 of their id: even is the development half, on which weight,
margin and threshold are chosen; odd is the report half.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Literal

from preflight_rag.evaluation.abstention_sets import DATASETS, Record, Text
from preflight_rag.evaluation.metrics import roc_area
from preflight_rag.evaluation.reading_metrics import holds
from preflight_rag.evaluation.vector_cache import Remembering
from preflight_rag.library.splitting.sentence_splitter import SentenceSplitter
from preflight_rag.models.embedding.embedder import Embedder
from preflight_rag.models.opening import open_embedder
from preflight_rag.offline.evidence import MARGIN, MAX_QUOTED, SIMILARITY_WEIGHT, Scored, sentences_of, weighted
from preflight_rag.offline.reader import OfflineReader
from preflight_rag.state.reading import Draft, Source

if TYPE_CHECKING:
    import numpy as np

PASSAGES = 16
PARTITION = 4
POOL = 400
"""Passages of a data set that questions are put to; records are taken in the order of their ids' hashes."""
KEPT = 0.95
"""Share of answerable questions, in the mean over data sets, that the threshold must let through."""
WEIGHTS = (0.5, 0.6, 0.65, 0.7, 0.8, 0.9, 1.0)
MARGINS = (0.0, 0.05, 0.1, 0.15, 0.2)

Kind = Literal["answerable", "removed", "other", "unanswerable"]


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


def open_pool(records: Iterator[Record], embedder: Embedder) -> Pool:
    """The first records by hash whose passages fit into a pool."""
    taken: list[Record] = []
    texts: dict[Text, None] = {}
    for record in sorted(records, key=lambda record: record.digest):
        if len(texts) < POOL or all(text in texts for text in record.passages):
            texts.update(dict.fromkeys(record.passages))
            taken.append(record)
    return Pool(taken, list(texts), embedder.encode_passages(list(texts)))


def cases(dataset: str, pool: Pool, other: Pool, embedder: Embedder, *, half: int, limit: int) -> Iterator[Case]:
    """Cases of a half (0 development, 1 report): of its first `limit` questions with an answer and `limit` without."""
    mine = [record for record in pool.records if record.digest[0] % 2 == half]
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
        for name in DATASETS
    }
    steps = [step / 100 for step in range(100)]
    return max(
        step for step in steps if fmean(fmean(score >= step for score in scores) for scores in by_set.values()) >= KEPT
    )


def development_tables(outcomes: Sequence[Outcome]) -> str:
    """What weight and margin do to the quotes: answer recall as the mean over data sets, sentences, ROC areas."""
    answerable = [outcome for outcome in outcomes if outcome.case.kind == "answerable"]

    def recall(margin: float, weight: float) -> str:
        sets = [[o.holds(o.quoted(margin, weight)) for o in answerable if o.case.dataset == name] for name in DATASETS]
        return f"{fmean(fmean(found) for found in sets):.3f}"

    def area(weight: float, *kinds: str) -> str:
        without = [outcome.best(weight) for outcome in outcomes if outcome.case.kind in kinds]
        return f"{area_between([outcome.best(weight) for outcome in answerable], without):.3f}"

    weights = [
        [f"{weight}", recall(0.0, weight), area(weight, "removed", "unanswerable"), area(weight, "other")]
        for weight in WEIGHTS
    ]
    margins = [
        [f"{margin}", recall(margin, SIMILARITY_WEIGHT), f"{fmean(len(o.quoted(margin)) for o in answerable):.2f}"]
        for margin in MARGINS
    ]
    return "\n\n".join(
        (
            table(
                ["similarity weight", "best sentence holds answer", "ROC area, same subject", "other subject"], weights
            ),
            table(["margin", "a quoted sentence holds answer", "sentences"], margins),
        )
    )


def report_table(outcomes: Sequence[Outcome]) -> str:
    """One row a data set: shares answered, abstained and right, at once (plain) and in partitions (map/reduce)."""
    rows = []
    for name in DATASETS:
        of = {
            kind: [o for o in outcomes if o.case.dataset == name and o.case.kind == kind]
            for kind in ("answerable", "removed", "unanswerable", "other")
        }
        known, same, other = of["answerable"], of["removed"] + of["unanswerable"], of["other"]
        best = [o.best() for o in known]
        rows.append(
            [
                f"{name} ({len(known)}/{len(same)}/{len(other)})",
                " / ".join(f"{area_between(best, [o.best() for o in kind]):.3f}" for kind in (same, other)),
                *(_pair(known, lambda draft, o: draft.found)),
                *(_pair(same, lambda draft, o: not draft.found)),
                *(_pair(other, lambda draft, o: not draft.found)),
                f"{fmean(o.holds(o.quoted(0.0)[:1]) for o in known):.3f}",
                *(_pair(known, lambda draft, o: o.holds([quote for _, quote in draft.quotes]))),
            ]
        )
    head = ["data set (answerable / same subject / other)", "ROC area, same / other subject"]
    head += ["answered", "abstained, same subject", "abstained, other subject"]
    return table([*head, "best sentence holds answer", "quotes hold answer"], rows)


def _pair(outcomes: Sequence[Outcome], test: Callable[[Draft, Outcome], bool]) -> list[str]:
    """Shares of outcomes that pass, plain and map/reduce, as one cell."""
    plain = fmean(test(o.plain, o) for o in outcomes if o.plain)
    reduced = fmean(test(o.reduced, o) for o in outcomes if o.reduced)
    return [f"{plain:.3f} / {reduced:.3f}"]


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table."""
    return "\n".join("| " + " | ".join(row) + " |" for row in (head, ["---"] * len(head), *rows))


def main(arguments: Sequence[str] | None = None) -> None:
    """Choose the numbers on the development half and print how the reader does on the other."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=os.environ.get("PREFLIGHT_DATA"), help="folder of the data sets")
    parser.add_argument("--questions", type=int, default=40, help="questions of each data set in each half")
    options = parser.parse_args(arguments)
    if options.data is None:
        parser.error("give --data DIR or PREFLIGHT_DATA")
    embedder = Remembering(open_embedder())
    splitter = SentenceSplitter(embedder)
    reader = OfflineReader(embedder)
    pools = {name: open_pool(read(options.data, splitter), embedder) for name, (read, _) in DATASETS.items()}

    def outcomes(half: int) -> list[Outcome]:
        found = []
        for name, (_, other) in DATASETS.items():
            put = cases(name, pools[name], pools[other], embedder, half=half, limit=options.questions)
            found += [asyncio.run(ask(reader, case, drafts=half == 1)) for case in put]
            sys.stderr.write(f"{name}: {len(found)} cases of the {('development', 'report')[half]} half so far\n")
        return found

    development = outcomes(0)
    sys.stdout.write(
        f"Development half, {len(development)} cases. Now: similarity weight {SIMILARITY_WEIGHT}, margin {MARGIN}, "
        f"threshold {reader.threshold}; threshold that keeps {KEPT:.0%}: {choose_threshold(development)}\n\n"
        f"{development_tables(development)}\n\nReport half (plain / map/reduce):\n\n{report_table(outcomes(1))}\n"
    )


if __name__ == "__main__":
    main()
