"""COrg and the baselines of its paper (section 5) as arms, each answering a question from the same contexts.

- Base: one answer over all contexts; the same extended to COrg's length (by further sentences in their order); and the
  same with the question in the plural, as COrg asks a group (Base with COrg's prompt), which is COrg without its
  organiser;
- Random and KMeans: as many groups as COrg made, random or by the contexts' vectors, one answer each;
- Separate: each context on its own, once with the reader's answer and once with its one best sentence;
- Retrieve: one answer over the five contexts that are nearest to the question and differ most (MMR), in that order;
- Summarize: one summary of all contexts for the question, and one answer from that;
- COrg: the product's own stages: related (section 4, Algorithm 1), organised, answered group by group, aggregated.

All systems use the same answering prompt, that of the product's groups; they differ in the contexts and in whether the
question is in the plural. The answers of several groups are concatenated, as in the paper; COrg's are combined by the
product's aggregator.

Any reader can be used. A reply that is refused, cut off or empty is left out of an answer of several replies; if there
is no other, it is the answer's error. Vectors and the order of contexts are the sentence reader's for every reader.
"""

from __future__ import annotations

import random
import warnings
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, combinations
from typing import TypeAlias

import numpy as np

from evaluation.harness.arms import Arm, ArmAnswer
from evaluation.harness.asking import Asking
from evaluation.runs import ExperimentRun
from evaluation.samples import Sample
from evaluation.stages import MeteredReader, TurnStages
from evaluation.vector_cache import CachedEmbedder
from preflight_rag.corg.undescribed import undescribed
from preflight_rag.library.search.diversity import mmr, unit_scaled
from preflight_rag.models.opening import open_embedder
from preflight_rag.models.protocol import Reader
from preflight_rag.models.reading.extractive_reader import CachedReader
from preflight_rag.offline.evidence import sentences_of
from preflight_rag.offline.reader import OfflineReader
from preflight_rag.state.context import Settings
from preflight_rag.state.errors import AllPartitionsFailed, BadReply, UsageError
from preflight_rag.state.reading import ContextNote, Draft, Reply, Source
from preflight_rag.state.schema import State
from preflight_rag.state.values import Relation, Usage
from preflight_rag.text.citations import MARKS

BASE, CORG, SEPARATE = "Base", "COrg", "Separate"
BASE_PLURAL = "Base with COrg's prompt"
SYSTEMS = (BASE, BASE_PLURAL, "Retrieve", "Summarize", "Random", "KMeans", CORG, SEPARATE)
"""The systems of the paper's tables, in our order."""
RETRIEVED = 5
"""Contexts of Retrieve (COrg, appendix D.2)."""
RELEVANCE = 0.5
"""Weight of relevance against similarity to contexts already retrieved; a guess, since the paper has GPT-4 rank by
both."""
DRAWN_OUT, ONE_SENTENCE = "Base, drawn out to COrg's length", "Separate, one sentence each"
ONE_AT_A_TIME = Settings(max_concurrency=1)
"""Calls one at a time, so that the seconds of a question's calls add up."""
KMEANS_STEPS = 20
"""Most steps of k-means; a few contexts need two or three."""


def with_passages(questions: Sequence[Sample]) -> tuple[Sample, ...]:
    """Return the questions that come with passages.

    Raises:
        UsageError: There is none.
    """
    kept = tuple(question for question in questions if question.given and question.answers)
    if not kept:
        raise UsageError(
            "no question of this data set comes with passages and right answers",
            help="Choose ramdocs, ambigdocs, wikicontradict, or questions of your own with contexts and answers.",
        )
    return kept


@dataclass(frozen=True)
class OrganisedContexts:
    """COrg's organisation of a question's contexts.

    Attributes:
        contexts: The note on each.
        relations: The relations of the relevant ones.
        groups: Numbers of the kept ones, group by group.
        calls: Reader calls that compared contexts.
        relating: The cost of these calls.
    """

    contexts: tuple[ContextNote, ...]
    relations: tuple[Relation[int], ...]
    groups: tuple[tuple[int, ...], ...]
    calls: int
    relating: Usage = field(default_factory=Usage)

    @cached_property
    def kept(self) -> frozenset[int]:
        """The contexts that are in a group."""
        return frozenset(n for group in self.groups for n in group)

    @cached_property
    def against(self) -> set[frozenset[int]]:
        """The pairs of kept contexts that contradict each other."""
        pairs = {frozenset((one.a, one.b)) for one in self.relations if one.kind == "counterfactual"}
        return {pair for pair in pairs if pair <= self.kept}

    @cached_property
    def together(self) -> set[frozenset[int]]:
        """The pairs that an answer shows side by side.

        They contradict each other, possibly through a third context, or one does not name its entity.
        """
        import networkx as nx

        notes = {note.rank: note for note in self.contexts if note.told}
        unclear = [
            (one.a, one.b)
            for one in self.relations
            if one.kind == "none" and {one.a, one.b} <= notes.keys() and undescribed(notes[one.a], notes[one.b])
        ]
        sides = nx.connected_components(nx.Graph([*map(tuple, self.against), *unclear]))
        return {frozenset(pair) for side in sides for pair in combinations(side, 2)}


class OnePrompt(MeteredReader):
    """A metered reader that uses the prompt of COrg's groups for every question."""

    async def answer(self, *, question: str, sources: Sequence[Source], options: Sequence[str] = ()) -> Reply[Draft]:
        """Answer as `Reader.answer`; a reader by rule has no prompt, and answers as on the route plain."""
        if self.by_rule or options:
            return await super().answer(question=question, sources=sources, options=options)
        return await self.answer_group(question=question, sources=sources, plural=False)


@dataclass(frozen=True)
class SystemQuestion:
    """A question with the contexts and the reader for a system."""

    reader: MeteredReader
    question: str
    sources: tuple[Source, ...]

    async def answers(self, groups: Iterable[Sequence[Source]]) -> list[Draft]:
        """Return the reader's answer to each group."""
        return await _values(self.reader.answer(question=self.question, sources=group) for group in groups)

    async def plural(self, groups: Iterable[Sequence[Source]], *, plural: bool = True) -> list[Draft]:
        """Return the reader's answer to each group, with the question in the plural as in COrg."""
        return await _values(
            self.reader.answer_group(question=self.question, sources=group, plural=plural) for group in groups
        )


System: TypeAlias = Callable[[SystemQuestion, str], Awaitable[list[Draft]]]
"""A system: returns the drafts for the groups of a question; the second argument is the question's id."""


class SystemArms:
    """The systems as arms over one reader.

    For each question COrg comes first, since Random and KMeans make as many groups.

    Args:
        reader: The reader that answers.
        sentences: The reader of sentences, whose vectors Retrieve and KMeans use.
        seed: Seed of the random groups.
        forgetful: Whether each arm gets a reader without a cache of passages, so that each pays for its own reading.

    Attributes:
        organised: COrg's organisation of each question, by its id.
    """

    def __init__(self, reader: Reader, sentences: OfflineReader, *, seed: int = 0, forgetful: bool = False) -> None:
        self._reader, self._sentences, self._seed, self._forgetful = reader, sentences, seed, forgetful
        self.organised: dict[str, OrganisedContexts] = {}
        self._texts: dict[str, str] = {}
        self._systems: dict[str, System] = {
            CORG: lambda asked, name: self._corg(asked, name, ONE_AT_A_TIME),
            BASE: lambda asked, _: asked.answers([asked.sources]),
            BASE_PLURAL: lambda asked, _: asked.plural([asked.sources]),
            "Retrieve": self._nearest,
            "Summarize": self._summarize,
            "Random": self._by_chance,
            "KMeans": self._clustered,
            SEPARATE: lambda asked, _: asked.answers([source] for source in asked.sources),
            DRAWN_OUT: self._drawn_out,
            ONE_SENTENCE: lambda asked, _: asked.plural(([source] for source in asked.sources), plural=False),
        }

    def arms(self, names: Sequence[str] = SYSTEMS) -> list[Arm]:
        """Return the arms in the order in which they must be asked."""
        others = [name for name in names if name != CORG]
        return [self.arm(name) for name in (CORG, *others)]

    def arm(self, name: str) -> Arm:
        """Return one system as an arm."""
        return self._arm(name, self._systems[name])

    def variant(self, name: str, **settings: object) -> Arm:
        """Return COrg with other settings as an arm."""
        chosen = ONE_AT_A_TIME.model_copy(update=settings)
        return self._arm(name, lambda asked, question: self._corg(asked, question, chosen))

    async def _corg(self, asked: SystemQuestion, name: str, settings: Settings) -> list[Draft]:
        """Answer with COrg, and record its groups and its text for the systems that take them from it."""
        draft, self.organised[name] = await answered(asked, settings)
        self._texts[name] = text_of([draft])
        return [draft]

    def _made(self, name: str) -> OrganisedContexts:
        """Return the groups that COrg made for a question."""
        if name not in self.organised:
            raise BadReply("COrg made no groups whose number could be taken", help="Its own error says why.")
        return self.organised[name]

    async def _nearest(self, asked: SystemQuestion, _: str) -> list[Draft]:
        """Return one answer over the contexts selected by relevance and diversity."""
        vectors = np.asarray([self._vector(asked.question, source) for source in asked.sources])
        relevance = unit_scaled([self._similarity(asked.question, source) for source in asked.sources])
        picked = mmr(vectors, None, alpha=RELEVANCE, k=RETRIEVED, relevance=relevance)
        return await asked.answers([[asked.sources[at] for at in picked]])

    async def _summarize(self, asked: SystemQuestion, _: str) -> list[Draft]:
        """Summarize all contexts first, and answer from the summary."""
        summary = (await asked.reader.extract(question=asked.question, sources=asked.sources)).value
        if not summary.text:
            return [Draft("", found=False)]
        text = MARKS.sub("", summary.text)
        return await asked.answers([[Source(1, "summary", "Summary", text)]])

    async def _by_chance(self, asked: SystemQuestion, name: str) -> list[Draft]:
        """Answer from as many groups as COrg made, filled at random."""
        count = len(self._made(name).groups)
        by_chance = random.Random(f"{self._seed} {asked.question}")  # noqa: S311
        shuffled = by_chance.sample(asked.sources, len(asked.sources))
        return await asked.answers(shuffled[i::count] for i in range(count))

    async def _clustered(self, asked: SystemQuestion, name: str) -> list[Draft]:
        """Answer from as many groups as COrg made, clustered by similarity."""
        return await asked.answers(self.clusters(asked, len(self._made(name).groups)))

    async def _drawn_out(self, asked: SystemQuestion, name: str) -> list[Draft]:
        """Return the best sentences over all contexts, as many as come nearest to the length of COrg's answer."""
        self._made(name)
        length = len(MARKS.sub("", self._texts[name]).split())
        lines: dict[str, None] = {}
        used = 0
        for item in self._sentences.rank(asked.question, sentences_of(asked.sources, asked.question)):
            more = len(item.sentence.text.split())
            if abs(used + more - length) > abs(used - length):
                break
            if item.sentence.text not in lines:
                lines[item.sentence.text] = None
                used += more
        asked.reader.usage = Usage(calls=1)
        return [Draft("\n".join(lines), found=bool(lines))]

    def clusters(self, asked: SystemQuestion, count: int) -> list[list[Source]]:
        """Return the contexts in k-means clusters of their vectors, seeded with the farthest apart (Gonzalez 1985)."""
        from sklearn.cluster import KMeans
        from sklearn.exceptions import ConvergenceWarning

        sources = asked.sources
        vectors = np.asarray([self._vector(asked.question, source) for source in sources])
        if not 0 < count <= len(sources):
            return []
        chosen = [0]
        while len(chosen) < count:
            chosen.append(int((vectors @ vectors[chosen].T).max(axis=1).argmin()))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # contexts with equal text make fewer clusters
            found = KMeans(count, init=vectors[chosen], n_init=1, max_iter=KMEANS_STEPS).fit(vectors)
        groups: list[list[Source]] = [[] for _ in range(count)]
        for source, group in zip(sources, found.labels_, strict=True):
            groups[group].append(source)
        return [group for group in groups if group]

    def _vector(self, question: str, source: Source) -> np.ndarray:
        """Return the mean vector of a context's sentences; zeros without sentences."""
        mean_vector = self._sentences.contexts.read(question, source).mean
        return np.zeros(self._sentences.embedder.dimension) if mean_vector is None else mean_vector

    def _similarity(self, question: str, source: Source) -> float:
        """Return the score of a context's best sentence; 0 without one."""
        best = self._sentences.contexts.read(question, source).best
        return best.score if best else 0.0

    def _arm(self, name: str, system: System) -> Arm:
        """Return the arm that answers with a system; it has as many groups as COrg if it takes them from COrg."""

        async def answer(question: Sample, sources: Sequence[Source]) -> ArmAnswer:
            reader = OnePrompt(unremembering(self._reader) if self._forgetful else self._reader)
            drafts = await system(SystemQuestion(reader, question.question, tuple(sources)), question.id)
            groups = len(self.organised[question.id].groups) if name not in self._systems or name == CORG else None
            return arm_answer(drafts, reader, groups)

        return Arm(name, answer)


async def answered(asked: SystemQuestion, settings: Settings = ONE_AT_A_TIME) -> tuple[Draft, OrganisedContexts]:
    """Return the answer of the product's COrg route, and its organisation of the contexts."""
    stages = TurnStages(asked.reader, asked.question, asked.sources, settings)
    try:
        draft, state = await stages.corg()
    except AllPartitionsFailed:
        raise asked.reader.failures[-1] from None
    return draft, _organised(state, asked.reader)


async def organised(asked: SystemQuestion, settings: Settings = ONE_AT_A_TIME) -> OrganisedContexts:
    """Return the contexts related and organised as in a turn of the product, without an answer."""
    state = await TurnStages(asked.reader, asked.question, asked.sources, settings).organised()
    return _organised(state, asked.reader)


def _organised(state: State, reader: MeteredReader) -> OrganisedContexts:
    """Return COrg's notes, relations, groups and cost from the state at the end of a turn."""
    return OrganisedContexts(
        tuple(map(ContextNote.load, state["contexts"])),
        tuple(Relation[int].model_validate(row) for row in state["relations"]),
        tuple(map(tuple, state["organisation"]["groups"])),
        reader.calls["relate"],
        reader.spent.get("relate", Usage()),
    )


def text_of(drafts: Sequence[Draft]) -> str:
    """Return the texts of the drafts that found something, concatenated."""
    text = "\n".join(draft.text for draft in drafts if draft.found)
    return "\n".join(line for line in text.split("\n") if line.strip())


def arm_answer(drafts: Sequence[Draft], reader: MeteredReader, made: int | None = None) -> ArmAnswer:
    """Return a system's answer with its cost; `made` is the number of groups, if not one for each draft."""
    text, groups = text_of(drafts), len(drafts) if made is None else made
    quotes = tuple(chain.from_iterable(draft.quotes for draft in drafts if draft.found))
    route = f"{groups} groups" if groups != 1 else "1 group"
    return ArmAnswer(text, quotes=quotes, usage=reader.usage, route=route, abstained=not text)


def open_readers(asking: Asking, run: ExperimentRun) -> tuple[Reader, OfflineReader]:
    """Return the reader of the run, and the sentence reader for vectors, with the same embedder."""
    embedder = CachedEmbedder(open_embedder(run.embedder))
    return asking.reader(embedder), OfflineReader(embedder)


def unremembering(reader: Reader) -> Reader:
    """Return the same reader without a cache of passages; one with a language model has none."""
    if not isinstance(reader, OfflineReader):
        return reader
    extractive = reader.extractive
    embedder = reader.embedder.embedder if isinstance(reader.embedder, CachedEmbedder) else reader.embedder
    return OfflineReader(embedder, extractive.reader if isinstance(extractive, CachedReader) else extractive)


async def _values(asks: Iterable[Awaitable[Reply[Draft]]]) -> list[Draft]:
    """Return the results of several calls, made one after another; a failed one found nothing, unless all failed."""
    found: list[Draft] = []
    failures: list[BadReply] = []
    for ask in asks:
        try:
            found.append((await ask).value)
        except BadReply as error:
            failures.append(error)
            found.append(Draft("", found=False))
    if failures and len(failures) == len(found):
        raise failures[-1]
    return found
