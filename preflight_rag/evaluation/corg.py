"""COrg with the offline reader on RAMDocs, contexts given, beside the baselines of its paper (section 5).

    python -m preflight_rag.evaluation.corg --data DIR [--extractive-reader none] [--part PART] [--limit N] [--show N]

Every system reads the same contexts of a question with the same reader: COrg, Base, Random and KMeans, Separate, and
Retrieve, as told in `corg_systems`.

With a reader of spans, the same tables follow for the one of sentences on the same questions, and their differences.
A short answer stands in the answer's lines, the sentence around it in the quote that is shown with it; recall is of the
lines, once more of lines and quotes.

Without one (`--extractive-reader none`) questions fall into halves by the first byte of the SHA-256 of the question:
odd is the test half; even is the development half, on which the reader's relations were trained. With one, the parts of
its data count (`reader_examples.part_of`); part test is a part of the test half.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean

from preflight_rag.evaluation.corg_systems import SEED, Shown, Systems
from preflight_rag.evaluation.experiments.relations import PARTS, Question, questions, select
from preflight_rag.evaluation.intervals import bootstrap, mean, mean_difference, wilson
from preflight_rag.evaluation.reading_metrics import holds
from preflight_rag.evaluation.report import number
from preflight_rag.evaluation.vector_cache import Remembering
from preflight_rag.models.opening import open_embedder, open_extractive_reader
from preflight_rag.models.reading.extractive_reader import BUNDLED
from preflight_rag.offline.reader import OfflineReader
from preflight_rag.text.words import words

COMPARED = {"recall": "answer recall", "quoted": "with quotes", "entities": "entity recall", "unmarked": "wrong, alone"}
"""Columns in which two readers are compared."""


@dataclass
class Measured:
    """A system's values by question, columns of equal length."""

    recall: list[float] = field(default_factory=list)
    quoted: list[float] = field(default_factory=list)
    entities: list[float] = field(default_factory=list)
    wrong: list[float] = field(default_factory=list)
    alone: list[float] = field(default_factory=list)
    unmarked: list[float] = field(default_factory=list)
    shown: list[float] = field(default_factory=list)
    beside: list[float] = field(default_factory=list)
    together: list[float] = field(default_factory=list)
    calls: list[float] = field(default_factory=list)
    relation_calls: list[float] = field(default_factory=list)
    groups: list[float] = field(default_factory=list)
    length: list[float] = field(default_factory=list)

    def add(self, question: Question, shown: Shown) -> None:
        """Take in what was shown; shares of wrong answers only where there are some."""
        text = shown.text
        self.recall.append(fmean(holds(text, [answer]) for answer in question.gold))
        self.quoted.append(fmean(holds(shown.whole, [answer]) for answer in question.gold))
        self.entities.append(fmean(names(entity, question.text, shown.lines) for entity in question.entities))
        if question.wrong:
            wrong = [answer for answer in question.wrong if holds(text, [answer])]
            right = holds(text, question.gold)
            self.wrong.append(len(wrong) / len(question.wrong))
            self.alone.append(0.0 if right else len(wrong) / len(question.wrong))
            self.unmarked.append(sum(answer not in shown.beside for answer in wrong) / len(question.wrong))
            self.shown.append(len(wrong))
            self.beside.append(sum(answer in shown.beside for answer in wrong))
            self.together.append(sum(answer in shown.together for answer in wrong))
        self.calls.append(shown.calls + shown.relation_calls)
        self.relation_calls.append(shown.relation_calls)
        self.groups.append(shown.groups)
        self.length.append(shown.length)


def names(entity: str, question: str, lines: Sequence[str]) -> bool:
    """Whether a line holds what tells the entity from others: its terms that the question lacks, or else its own."""
    terms = frozenset(words(entity))
    wanted = terms - frozenset(words(question)) or terms
    return any(wanted <= frozenset(words(line)) for line in lines)


async def measure(
    asked: Sequence[Question], run: Callable[[Question], Awaitable[dict[str, Shown]]], *, show: int = 0
) -> dict[str, Measured]:
    """The systems' values over the questions; the first `show` of COrg's answers go to standard output."""
    measured: dict[str, Measured] = {}
    for i, question in enumerate(asked):
        shown = await run(question)
        for name, answer in shown.items():
            measured.setdefault(name, Measured()).add(question, answer)
        if i < show:
            right, wrong = "; ".join(question.gold), "; ".join(question.wrong)
            head = f"### {question.text}\nright: {right}\nwrong: {wrong}\n"
            sys.stdout.write(head + "\n".join(shown["COrg"].lines) + "\n\n")
    return measured


def tables(measured: dict[str, Measured]) -> str:
    """One row a system, and COrg's paired differences in answer recall."""
    corg = measured["COrg"]
    separate = fmean(measured["Separate"].calls)

    rows = [
        [
            name,
            *(cell(values) for values in (m.recall, m.quoted, m.entities, m.wrong, m.alone, m.unmarked)),
            share(m.beside, m.shown),
            share(m.together, m.shown),
            f"{fmean(m.groups):.2f}",
            f"{fmean(m.calls):.2f} ({fmean(m.relation_calls):.2f} to relate)",
            f"{100 * fmean(m.calls) / separate:.0f} %",
            f"{fmean(m.length):.0f}",
        ]
        for name, m in measured.items()
    ]
    head = ["system", "answer recall", "with quotes", "entity recall", "wrong shown"]
    head += ["wrong shown, no right answer shown", "wrong shown, not set beside a right one"]
    head += ["of those shown, beside a right one", "of those shown, together with a right one as differing"]
    head += ["groups", "reader calls", "of Separate's", "words"]
    differences = [
        [name, cell(corg.recall, m.recall), cell(corg.quoted, m.quoted)]
        for name, m in measured.items()
        if name != "COrg"
    ]
    return f"{table(head, rows)}\n\n{table(['COrg less', 'answer recall', 'with quotes'], differences)}"


def cell(values: Sequence[float], less: Sequence[float] | None = None) -> str:
    """A mean in %, or a paired difference, with its bootstrap interval."""
    found = bootstrap(mean, values, seed=SEED) if less is None else bootstrap(mean_difference, values, less, seed=SEED)
    return number(found, percent=True, signed=less is not None)


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table."""
    return "\n".join("| " + " | ".join(row) + " |" for row in (head, ["---"] * len(head), *rows))


def share(some: Sequence[float], of: Sequence[float]) -> str:
    """A share of the wrong answers that are shown, over all questions."""
    return number(wilson(int(sum(some)), int(sum(of))), percent=True) if sum(of) else "–"


def readers(spans: dict[str, Measured], sentences: dict[str, Measured]) -> str:
    """What a reader of spans changes against that of sentences, paired by question."""
    rows = [
        [name, *(cell(getattr(m, column), getattr(sentences[name], column)) for column in COMPARED)]
        for name, m in spans.items()
    ]
    return table(["spans less sentences", *COMPARED.values()], rows)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the systems and print the tables as Markdown."""
    parser = argparse.ArgumentParser(prog="python -m preflight_rag.evaluation.corg", description=__doc__)
    parser.add_argument("--data", type=Path, default=os.environ.get("PREFLIGHT_DATA"), help="folder of the data sets")
    parser.add_argument(
        "--extractive-reader", default=BUNDLED, help="what reads the contexts; none: sentences are ranked"
    )
    parser.add_argument("--part", choices=PARTS, default="test", help="which of the questions")
    parser.add_argument("--limit", type=int, help="how many questions at most")
    parser.add_argument("--show", type=int, default=0, help="print COrg's first answers")
    options = parser.parse_args(arguments)
    if options.data is None:
        parser.error("give --data DIR or PREFLIGHT_DATA")
    extractive = open_extractive_reader(options.extractive_reader)
    asked = select(questions(Path(options.data)), options.part, halves=extractive is None)[: options.limit]
    embedder = Remembering(open_embedder())
    sentences = Systems(OfflineReader(embedder))
    by_sentences = asyncio.run(measure(asked, sentences.run, show=options.show if extractive is None else 0))
    out = f"RAMDocs, {options.part} part, {len(asked)} questions; shares in %.\n\n"
    if extractive is not None:
        systems = Systems(OfflineReader(embedder, extractive), sentences.reader)
        by_spans = asyncio.run(measure(asked, systems.run, show=options.show))
        out += f"{extractive.name}\n\n{tables(by_spans)}\n\n{readers(by_spans, by_sentences)}\n\nSentences\n\n"
    sys.stdout.write(f"{out}{tables(by_sentences)}\n")


if __name__ == "__main__":
    main()
