"""COrg and the baselines of its paper (section 5), each answering a question from the same contexts.

- Base: one answer over all contexts, and the same drawn out to COrg's length (further sentences in their order);
- Random and KMeans: as many groups as COrg made, by chance or by the contexts' vectors, one answer each;
- Separate: each context on its own, once with the reader's answer and once with its one best sentence;
- Retrieve: one answer over as many contexts as COrg kept, those nearest to the question;
- Summarize: what each context says of the question, by the prompt of a map stage, and one answer from that;
- COrg: relations by Algorithm 1, organiser, one answer a group.

Any reader will do. A reply that is refused, cut off or empty is left out of an answer that others make up; where there
is no other, it is the answer's error. Vectors and the order of contexts are the sentence reader's for every reader.
"""

from __future__ import annotations

import random
import re
from collections.abc import Awaitable, Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Generic, TypeVar

from preflight_rag.corg.composition import undescribed
from preflight_rag.corg.entities import note_by_rule
from preflight_rag.corg.grouping import organise
from preflight_rag.corg.relations import Mode, RelationGraph
from preflight_rag.evaluation.experiments.relations import Question
from preflight_rag.evaluation.reading_metrics import holds
from preflight_rag.models.protocol import Reader
from preflight_rag.offline.evidence import sentences_of
from preflight_rag.offline.reader import OfflineReader
from preflight_rag.state.errors import BadReply
from preflight_rag.state.reading import ContextNote, Draft, Extract, RelationReply, Reply, Source
from preflight_rag.state.values import Relation

if TYPE_CHECKING:
    import numpy as np

R = TypeVar("R", bound=Reader)
T = TypeVar("T")
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
            third answer, or because one context does not say which entity of that name it means.
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


@dataclass(frozen=True)
class Variant:
    """How COrg is run; the switches are those of `models.grouping.organise`, each a row of the paper's Table 11.

    Attributes:
        mode: Algorithm 1 with the product's care, or as the paper prints it.
        reformulation: Whether a group of several contexts is asked in the plural.
        random_duplicate: A seed: of duplicated contexts keep a random one, as the paper does.
    """

    mode: Mode = "careful"
    keep_duplicates: bool = False
    keep_undescribed: bool = False
    no_grouping: bool = False
    reformulation: bool = True
    random_duplicate: int | None = None


@dataclass(frozen=True)
class Related:
    """The contexts of a question, related.

    Attributes:
        relevant: Numbers of those that answer.
        described: Those of them that tell their entity from others of that name.
        edges: The relation of every two relevant ones.
        notes: What the replies said of each.
        calls: Reader calls that compared contexts.
    """

    relevant: tuple[int, ...]
    described: tuple[int, ...]
    edges: tuple[Relation[int], ...]
    notes: dict[int, ContextNote]
    calls: int


@dataclass(frozen=True)
class Organised:
    """The groups that COrg makes of a question's contexts, by their numbers, and the relations behind them."""

    related: Related
    groups: tuple[tuple[int, ...], ...]

    @property
    def kept(self) -> frozenset[int]:
        """The contexts that stand in a group."""
        return frozenset(n for group in self.groups for n in group)


class Systems(Generic[R]):
    """The systems over one reader; COrg goes first, because others take their numbers of groups and words from it.

    Args:
        reader: What answers.
        sentences: The reader of sentences, for the vectors and the order of contexts; `reader` itself if it is one.
        seed: Of the random groups.

    Raises:
        TypeError: The reader reads no sentences, and none was given that does.
    """

    def __init__(self, reader: R, sentences: OfflineReader | None = None, *, seed: int = SEED) -> None:
        own: object = sentences or reader
        if not isinstance(own, OfflineReader):
            raise TypeError(f"{reader.name} has no vectors of sentences; give the sentence reader too")
        self.reader, self.seed = reader, seed
        self._sentences = own

    async def run(self, question: Question) -> dict[str, Shown]:
        """What each system shows."""
        corg, kept = await self.corg(question)
        return {
            "Base": await self.base(question),
            "Base, drawn out to COrg's length": self.drawn_out(question, corg.length),
            "Random groups": await self.by_chance(question, corg.groups),
            "KMeans groups": await self.clustered(question, corg.groups),
            "Separate": await self.separate(question),
            "Separate, one sentence each": await self.sentences(question),
            "Retrieve": await self.nearest(question, kept),
            "COrg": corg,
        }

    async def base(self, question: Question) -> Shown:
        """One answer over all contexts."""
        return await self._answered(question, [question.sources])

    async def by_chance(self, question: Question, count: int) -> Shown:
        """An answer to each of so many groups, dealt by chance."""
        by_chance = random.Random(f"{self.seed} {question.text}")  # noqa: S311
        shuffled = by_chance.sample(question.sources, len(question.sources))
        return await self._answered(question, [shuffled[i::count] for i in range(count)])

    async def clustered(self, question: Question, count: int) -> Shown:
        """An answer to each of so many clusters."""
        return await self._answered(question, self.clusters(question, count))

    async def separate(self, question: Question) -> Shown:
        """An answer to each context on its own."""
        return await self._answered(question, [[source] for source in question.sources])

    async def nearest(self, question: Question, count: int) -> Shown:
        """One answer over the so many contexts that are nearest to the question."""
        best = sorted(question.sources, key=lambda source: -self._similarity(question.text, source))
        return await self._answered(question, [best[:count]] if count else [])

    async def summarize(self, question: Question) -> Shown:
        """One answer from what each context says of the question."""
        asks = (self.reader.extract(question=question.text, sources=[source]) for source in question.sources)
        extracts: list[Extract] = [extract for extract in await _values(asks) if extract.text]
        calls = len(question.sources)
        if not extracts:
            return Shown((), calls)
        draft = (await self.reader.reduce(question=question.text, extracts=extracts)).value
        return Shown(plain(draft), calls + 1, quotes=quoted([draft]))

    async def corg(self, question: Question, variant: Variant | None = None) -> tuple[Shown, int]:
        """Algorithm 1, the organiser, and an answer a group; also how many contexts were kept."""
        organised = await self.organise(question, variant)
        return await self.grouped(question, organised, variant), len(organised.kept)

    async def organise(self, question: Question, variant: Variant | None = None) -> Organised:
        """Algorithm 1 and the organiser."""
        chosen = variant or Variant()
        related = await self.relate(question, chosen.mode)
        groups = organise(
            [source.n for source in question.sources],
            related.edges,
            relevant=related.relevant,
            described=related.described,
            keep_duplicates=chosen.keep_duplicates,
            keep_undescribed=chosen.keep_undescribed,
            no_grouping=chosen.no_grouping,
            seed=chosen.random_duplicate,
        )["groups"]
        return Organised(related, tuple(map(tuple, groups)))

    async def grouped(self, question: Question, organised: Organised, variant: Variant | None = None) -> Shown:
        """An answer to each group."""
        sources, related = {source.n: source for source in question.sources}, organised.related
        groups = [[sources[n] for n in group] for group in organised.groups]
        drafts = await self._groups(question, groups, plural=(variant or Variant()).reformulation)
        beside, together = _sides(question, related, drafts, organised.kept)
        lines = tuple(line for draft in drafts for line in plain(draft))
        return Shown(lines, len(groups), related.calls, len(groups), beside, together, quoted(drafts))

    async def relate(self, question: Question, mode: Mode = "careful") -> Related:
        """How the contexts relate, by Algorithm 1; a reply that cannot be had ends the comparing, as in a turn."""
        sources = {source.n: source for source in question.sources}
        graph, calls = RelationGraph(list(sources), mode=mode), 0
        while step := graph.next():
            pivot, others = step
            asked = self.reader.relate(
                question=question.text, pivot=sources[pivot], others=[sources[n] for n in others]
            )
            calls += 1
            try:
                told = (await asked).value
            except BadReply:
                told = RelationReply({}, {})
            graph.absorb(pivot, others, told)
            if not told.kinds and not told.notes:
                break
        by_rule = {n: note_by_rule(question.text, source) for n, source in sources.items()}
        described = tuple(n for n in graph.relevant if graph.described(n, by_rule))
        return Related(tuple(graph.relevant), described, tuple(graph.relations(by_rule)), graph.notes, calls)

    async def _answered(self, question: Question, groups: Sequence[Sequence[Source]]) -> Shown:
        """The reader's answer to each group, one behind the other."""
        drafts = await _values(self.reader.answer(question=question.text, sources=group) for group in groups)
        lines = tuple(line for draft in drafts for line in plain(draft))
        return Shown(lines, len(groups), groups=len(groups), quotes=quoted(drafts))

    async def _groups(self, question: Question, groups: Sequence[Sequence[Source]], *, plural: bool) -> list[Draft]:
        return await _values(
            self.reader.answer_group(question=question.text, sources=group, plural=plural) for group in groups
        )

    async def sentences(self, question: Question) -> Shown:
        """The best sentence of each context on its own."""
        drafts = await self._groups(question, [[source] for source in question.sources], plural=False)
        lines = tuple(line for draft in drafts for line in plain(draft))
        return Shown(lines, len(question.sources), groups=len(question.sources), quotes=quoted(drafts))

    def drawn_out(self, question: Question, length: int) -> Shown:
        """The best sentences over all contexts, as many as come nearest to so many words."""
        lines: dict[str, None] = {}
        used = 0
        for item in self._sentences.rank(question.text, sentences_of(question.sources)):
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
        return np.zeros(self._sentences.embedder.dimension) if mean_vector is None else mean_vector

    def _similarity(self, question: str, source: Source) -> float:
        best = self._sentences.contexts.read(question, source).best
        return best.score if best else 0.0


async def _values(asks: Iterable[Awaitable[Reply[T]]]) -> list[T]:
    """What several calls gave, asked one after another; a reply that cannot be had is left out, unless all are."""
    found: list[T] = []
    failure: BadReply | None = None
    for ask in asks:
        try:
            found.append((await ask).value)
        except BadReply as error:
            failure = error
    if failure is not None and not found:
        raise failure
    return found


def _sides(
    question: Question, related: Related, drafts: Sequence[Draft], kept: Collection[int]
) -> tuple[frozenset[str], frozenset[str]]:
    """The wrong answers that are quoted beside a right one, and those that are shown together with one as differing."""
    against = [(e.a, e.b) for e in related.edges if e.kind == "counterfactual" and {e.a, e.b} <= set(kept)]
    notes = related.notes
    unclear = [
        (e.a, e.b)
        for e in related.edges
        if e.kind == "none" and {e.a, e.b} <= notes.keys() and undescribed(notes[e.a], notes[e.b])
    ]
    quotes = [(n, quote) for draft in drafts for n, quote in draft.quotes if n in kept]
    beside = set_beside(question, quotes, {frozenset(pair) for pair in against})
    return beside, set_beside(question, quotes, connected([*against, *unclear]))
