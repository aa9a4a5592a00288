"""COrg with the offline reader on RAMDocs, contexts given, beside the baselines of its paper (section 5).

    python -m preflight_rag.evaluation.corg --data DIR [--part test|development|all] [--limit N] [--show N]

Every system reads the same contexts of a question with the same reader:

- Base: one answer over all contexts, and the same drawn out to COrg's length (further sentences in their order);
- Random and KMeans: as many groups as COrg made, by chance or by the contexts' vectors, one answer each;
- Separate: each context on its own, once with the reader's answer and once with its one best sentence;
- Retrieve: one answer over as many contexts as COrg kept, those nearest to the question;
- COrg: relations by Algorithm 1, organiser, one answer a group.

Questions fall into halves by the first byte of the SHA-256 of the question: odd is the test half; even is the
development half, on which the reader's relations were trained.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import re
import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

from ..models.agreement import note_by_rule
from ..models.embedder import open_embedder
from ..models.grouping import organise
from ..models.offline import OfflineReader, sentences_of
from ..models.relations import Edge, RelationGraph
from ..models.words import words
from ..state.reading import Draft, Source
from .abstention import Remembering, holds, table
from .intervals import bootstrap, mean, mean_difference
from .relations import Question, questions

if TYPE_CHECKING:
    import numpy as np

SEED = 0
KMEANS_STEPS = 20
PARTS = {"development": {0}, "test": {1}, "all": {0, 1}}
_MARK = re.compile(r"\s*\[\d+\]")


@dataclass(frozen=True)
class Shown:
    """What a system showed for a question.

    Attributes:
        lines: The answer's lines, marks of citations included.
        calls: Reader calls that answered.
        relation_calls: Reader calls that compared contexts.
        groups: Number of groups answered.
        beside: For each wrong answer whether the answer sets it beside a right one, as contradicting it.
    """

    lines: tuple[str, ...]
    calls: int
    relation_calls: int = 0
    groups: int = 1
    beside: frozenset[str] = frozenset()

    @property
    def text(self) -> str:
        """The answer without citation marks."""
        return "\n".join(_MARK.sub("", line) for line in self.lines)

    @property
    def length(self) -> int:
        """Words of the answer."""
        return len(self.text.split())


@dataclass
class Measured:
    """A system's values by question, columns of equal length."""

    recall: list[float] = field(default_factory=list)
    entities: list[float] = field(default_factory=list)
    wrong: list[float] = field(default_factory=list)
    alone: list[float] = field(default_factory=list)
    unmarked: list[float] = field(default_factory=list)
    calls: list[float] = field(default_factory=list)
    relation_calls: list[float] = field(default_factory=list)
    groups: list[float] = field(default_factory=list)
    length: list[float] = field(default_factory=list)

    def add(self, question: Question, shown: Shown) -> None:
        """Take in what was shown; shares of wrong answers only where there are some."""
        text = shown.text
        self.recall.append(fmean(holds(text, [answer]) for answer in question.gold))
        self.entities.append(fmean(names(entity, question.text, shown.lines) for entity in question.entities))
        if question.wrong:
            wrong = [answer for answer in question.wrong if holds(text, [answer])]
            right = holds(text, question.gold)
            self.wrong.append(len(wrong) / len(question.wrong))
            self.alone.append(0.0 if right else len(wrong) / len(question.wrong))
            self.unmarked.append(sum(answer not in shown.beside for answer in wrong) / len(question.wrong))
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


class Systems:
    """The systems over one reader; COrg goes first, because others take their numbers of groups and words from it."""

    def __init__(self, reader: OfflineReader) -> None:
        self.reader = reader

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
        shown = Shown(lines, len(groups), calls, len(groups), self._beside(question, drafts, edges, kept))
        return shown, len(kept)

    def _beside(
        self, question: Question, drafts: Sequence[Draft], edges: Sequence[Edge], kept: set[int]
    ) -> frozenset[str]:
        """Wrong answers of contexts that stand as counterfactual to one that is quoted with a right answer."""
        quotes = [(n, quote) for draft in drafts for n, quote in draft.quotes]
        right = {n for n, quote in quotes if holds(quote, question.gold)}
        against = {frozenset((edge.a, edge.b)) for edge in edges if edge.kind == "counterfactual"}
        return frozenset(
            answer
            for answer in question.wrong
            if any(
                holds(quote, [answer]) and n in kept and any(frozenset((n, other)) in against for other in right)
                for n, quote in quotes
            )
        )

    async def _answered(self, question: Question, groups: Sequence[Sequence[Source]]) -> Shown:
        """The reader's answer to each group, one behind the other."""
        drafts = [(await self.reader.answer(question=question.text, sources=group)).value for group in groups]
        return Shown(tuple(line for draft in drafts for line in plain(draft)), len(groups), groups=len(groups))

    async def _group(self, question: Question, group: Sequence[Source], *, plural: bool) -> Draft:
        return (await self.reader.answer_group(question=question.text, sources=group, plural=plural)).value

    async def sentences(self, question: Question) -> Shown:
        """The best sentence of each context on its own."""
        drafts = [await self._group(question, [source], plural=False) for source in question.sources]
        return Shown(tuple(line for draft in drafts for line in plain(draft)), len(drafts), groups=len(drafts))

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

        mean_vector = self.reader.contexts.read(question, source).mean
        return np.zeros(self.reader.embedder.dimension) if mean_vector is None else mean_vector

    def _similarity(self, question: str, source: Source) -> float:
        best = self.reader.contexts.read(question, source).best
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

    def cell(values: Sequence[float]) -> str:
        found = bootstrap(mean, values, seed=SEED)
        return f"{100 * found.value:.1f} [{100 * found.low:.1f}, {100 * found.high:.1f}]"

    rows = [
        [
            name,
            *(cell(values) for values in (m.recall, m.entities, m.wrong, m.alone, m.unmarked)),
            f"{fmean(m.groups):.2f}",
            f"{fmean(m.calls):.2f} ({fmean(m.relation_calls):.2f} to relate)",
            f"{100 * fmean(m.calls) / separate:.0f} %",
            f"{fmean(m.length):.0f}",
        ]
        for name, m in measured.items()
    ]
    head = ["system", "answer recall", "entity recall", "wrong shown", "wrong shown, no right answer shown"]
    head += ["wrong shown, not set beside a right one", "groups", "reader calls", "of Separate's", "words"]
    differences = []
    for name, m in measured.items():
        if name != "COrg":
            found = bootstrap(mean_difference, corg.recall, m.recall, seed=SEED)
            differences.append([name, f"{100 * found.value:+.1f} [{100 * found.low:+.1f}, {100 * found.high:+.1f}]"])
    return f"{table(head, rows)}\n\n{table(['COrg less', 'answer recall'], differences)}"


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the systems and print the tables as Markdown."""
    parser = argparse.ArgumentParser(prog="python -m preflight_rag.evaluation.corg", description=__doc__)
    parser.add_argument("--data", type=Path, default=os.environ.get("PREFLIGHT_DATA"), help="folder of the data sets")
    parser.add_argument("--part", choices=sorted(PARTS), default="test", help="which half of the questions")
    parser.add_argument("--limit", type=int, help="how many questions at most")
    parser.add_argument("--show", type=int, default=0, help="print COrg's first answers")
    options = parser.parse_args(arguments)
    if options.data is None:
        parser.error("give --data DIR or PREFLIGHT_DATA")
    asked = [question for question in questions(Path(options.data)) if question.half in PARTS[options.part]]
    systems = Systems(OfflineReader(Remembering(open_embedder())))
    measured = asyncio.run(measure(asked[: options.limit], systems.run, show=options.show))
    count = len(measured["COrg"].recall)
    sys.stdout.write(f"RAMDocs, {options.part} part, {count} questions; shares in %.\n\n{tables(measured)}\n")


if __name__ == "__main__":
    main()
