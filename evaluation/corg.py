"""COrg with the offline reader on RAMDocs, contexts given, beside the baselines of its paper (section 5).

    python -m preflight_rag.evaluation.corg --data DIR [--extractive-reader none] [--part PART] [--limit N] [--show N]

Every system reads the same contexts of a question with the same reader:

- Base: one answer over all contexts, and the same drawn out to COrg's length (further sentences in their order);
- Random and KMeans: as many groups as COrg made, by chance or by the contexts' vectors, one answer each;
- Separate: each context on its own, once with the reader's answer and once with its one best sentence;
- Retrieve: one answer over as many contexts as COrg kept, those nearest to the question;
- COrg: relations by Algorithm 1, organiser, one answer a group.

With a reader of spans, the same tables follow for the one of sentences on the same questions, and their differences.
A short answer stands in the answer's lines, the sentence around it in the quote that is shown with it; recall is of the
lines, once more of lines and quotes.

Without one (`--extractive-reader none`) questions fall into halves by the first byte of the SHA-256 of the question:
odd is the test half; even is the development half, on which the reader's relations were trained. With one, the parts of
its data count (`reader_data.part_of`); part test is a part of the test half.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import re
import sys
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

from ..models.agreement import note_by_rule
from ..models.differing import untold
from ..models.embedder import open_embedder
from ..models.extractive_reader import OWN, open_extractive_reader
from ..models.grouping import organise
from ..models.offline import OfflineReader
from ..models.offline_sentences import sentences_of
from ..models.relations import RelationGraph
from ..models.words import words
from ..state.reading import Draft, Source
from .abstention import Remembering, holds, table
from .intervals import bootstrap, mean, mean_difference, wilson
from .relations import PARTS, Question, questions, select
from .report import number

if TYPE_CHECKING:
    import numpy as np

COMPARED = {"recall": "answer recall", "quoted": "with quotes", "entities": "entity recall", "unmarked": "wrong, alone"}
"""Columns in which two readers are compared."""
SEED = 0
KMEANS_STEPS = 20
_MARK = re.compile(r"\s*\[\d+\]")


@dataclass(frozen=True)
class Shown:
    """What a system showed for a question.

    Attributes:
        lines: The answer's lines, marks of citations included.
        quotes: What is quoted with it.
        calls: Reader calls that answered.
        relation_calls: Reader calls that compared contexts.
        groups: Number of groups answered.
        beside: The wrong answers of contexts that contradict one with a right answer.
        together: The wrong answers shown together with a right one as differing: as contradicting, be it through a
            third answer, or because one context does not say which bearer of the name it means (`models.differing`).
    """

    lines: tuple[str, ...]
    calls: int
    relation_calls: int = 0
    groups: int = 1
    beside: frozenset[str] = frozenset()
    together: frozenset[str] = frozenset()
    quotes: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The answer without citation marks."""
        return "\n".join(_MARK.sub("", line) for line in self.lines)

    @property
    def whole(self) -> str:
        """The answer with its quotes."""
        return "\n".join((self.text, *self.quotes))

    @property
    def length(self) -> int:
        """Words of the answer."""
        return len(self.text.split())


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


def plain(draft: Draft) -> tuple[str, ...]:
    """The lines of a draft that found something."""
    return tuple(line for line in draft.text.split("\n") if line.strip()) if draft.found else ()


def quoted(drafts: Sequence[Draft]) -> tuple[str, ...]:
    """The quotes of drafts that found something."""
    return tuple(quote for draft in drafts if draft.found for _, quote in draft.quotes)


def set_beside(
    question: Question, quotes: Sequence[tuple[int, str]], against: Collection[frozenset[int]]
) -> frozenset[str]:
    """Wrong answers quoted from contexts that stand against one that is quoted with a right answer."""
    right = {n for n, quote in quotes if holds(quote, question.gold)}
    return frozenset(
        answer
        for answer in question.wrong
        if any(
            holds(quote, [answer]) and any(frozenset((n, other)) in against for other in right) for n, quote in quotes
        )
    )


def connected(pairs: Sequence[tuple[int, int]]) -> set[frozenset[int]]:
    """All pairs of contexts that are linked by pairs: an answer shows them together, as the sides of one matter."""
    import networkx as nx

    sides = nx.connected_components(nx.Graph(list(pairs)))
    return {frozenset(pair) for side in sides for pair in combinations(side, 2)}


class Systems:
    """The systems over one reader; COrg goes first, because others take their numbers of groups and words from it.

    Args:
        reader: What answers.
        sentences: The reader of sentences, for the vectors and the order of contexts; `reader` itself if it is one.
    """

    def __init__(self, reader: OfflineReader, sentences: OfflineReader | None = None) -> None:
        self.reader = reader
        self._sentences = sentences or reader

    async def run(self, question: Question) -> dict[str, Shown]:
        """What each system shows."""
        corg, kept = await self.corg(question)
        sources = question.sources
        by_chance = random.Random(f"{SEED} {question.text}")  # noqa: S311
        shuffled = by_chance.sample(sources, len(sources))
        dealt = [shuffled[i :: corg.groups] for i in range(corg.groups)] if corg.groups else []
        best = sorted(sources, key=lambda source: -self._similarity(question.text, source))
        return {
            "Base": await self._answered(question, [sources]),
            "Base, drawn out to COrg's length": self.drawn_out(question, corg.length),
            "Random groups": await self._answered(question, dealt),
            "KMeans groups": await self._answered(question, self.clusters(question, corg.groups)),
            "Separate": await self._answered(question, [[source] for source in sources]),
            "Separate, one sentence each": await self.sentences(question),
            "Retrieve": await self._answered(question, [best[:kept]] if kept else []),
            "COrg": corg,
        }

    async def corg(self, question: Question) -> tuple[Shown, int]:
        """Algorithm 1, the organiser, and an answer a group; also how many contexts were kept."""
        sources = {source.n: source for source in question.sources}
        graph, calls = RelationGraph(list(sources)), 0
        while step := graph.next():
            pivot, others = step
            reply = await self.reader.relate(
                question=question.text, pivot=sources[pivot], others=[sources[n] for n in others]
            )
            graph.absorb(pivot, others, reply.value)
            calls += 1
        by_rule = {n: note_by_rule(question.text, source) for n, source in sources.items()}
        edges = graph.edges(by_rule)
        organisation = organise(
            list(sources),
            edges,
            relevant=graph.relevant,
            described=[n for n in graph.relevant if graph.described(n, by_rule)],
        )
        groups = organisation["groups"]
        drafts = [await self._group(question, [sources[n] for n in group], plural=True) for group in groups]
        lines = tuple(line for draft in drafts for line in plain(draft))
        kept = {n for group in groups for n in group}
        against = [(edge.a, edge.b) for edge in edges if edge.kind == "counterfactual" and {edge.a, edge.b} <= kept]
        quotes = [(n, quote) for draft in drafts for n, quote in draft.quotes if n in kept]
        beside = set_beside(question, quotes, {frozenset(pair) for pair in against})
        notes = graph.notes
        unclear = [
            (edge.a, edge.b)
            for edge in edges
            if edge.kind == "none" and {edge.a, edge.b} <= notes.keys() and untold(notes[edge.a], notes[edge.b])
        ]
        together = set_beside(question, quotes, connected([*against, *unclear]))
        shown = Shown(lines, len(groups), calls, len(groups), beside, together, quoted(drafts))
        return shown, len(kept)

    async def _answered(self, question: Question, groups: Sequence[Sequence[Source]]) -> Shown:
        """The reader's answer to each group, one behind the other."""
        drafts = [(await self.reader.answer(question=question.text, sources=group)).value for group in groups]
        lines = tuple(line for draft in drafts for line in plain(draft))
        return Shown(lines, len(groups), groups=len(groups), quotes=quoted(drafts))

    async def _group(self, question: Question, group: Sequence[Source], *, plural: bool) -> Draft:
        return (await self.reader.answer_group(question=question.text, sources=group, plural=plural)).value

    async def sentences(self, question: Question) -> Shown:
        """The best sentence of each context on its own."""
        drafts = [await self._group(question, [source], plural=False) for source in question.sources]
        lines = tuple(line for draft in drafts for line in plain(draft))
        return Shown(lines, len(drafts), groups=len(drafts), quotes=quoted(drafts))

    def drawn_out(self, question: Question, length: int) -> Shown:
        """The best sentences over all contexts, as many as come nearest to so many words."""
        lines: dict[str, None] = {}
        used = 0
        for item in self.reader.rank(question.text, sentences_of(question.sources)):
            more = len(item.sentence.text.split())
            if abs(used + more - length) > abs(used - length):
                break
            if item.sentence.text not in lines:
                lines[item.sentence.text] = None
                used += more
        return Shown(tuple(lines), 1)

    def clusters(self, question: Question, count: int) -> list[list[Source]]:
        """The contexts in clusters of their vectors: k-means from the contexts farthest apart (Gonzalez 1985)."""
        import numpy as np

        sources = question.sources
        vectors = np.asarray([self._vector(question.text, source) for source in sources])
        if not 0 < count <= len(sources):
            return []
        chosen = [0]
        while len(chosen) < count:
            chosen.append(int((vectors @ vectors[chosen].T).max(axis=1).argmin()))
        centres = vectors[chosen]
        for _ in range(KMEANS_STEPS):
            nearest = (vectors @ centres.T).argmax(axis=1)
            centres = np.asarray(
                [vectors[nearest == i].mean(axis=0) if (nearest == i).any() else centres[i] for i in range(count)]
            )
        groups = [[source for source, at in zip(sources, nearest, strict=True) if at == i] for i in range(count)]
        return [group for group in groups if group]

    def _vector(self, question: str, source: Source) -> np.ndarray:
        import numpy as np

        mean_vector = self._sentences.contexts.read(question, source).mean
        return np.zeros(self.reader.embedder.dimension) if mean_vector is None else mean_vector

    def _similarity(self, question: str, source: Source) -> float:
        best = self._sentences.contexts.read(question, source).best
        return best.score if best else 0.0


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
    parser.add_argument("--extractive-reader", default=OWN, help="what reads the contexts; none: sentences are ranked")
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
