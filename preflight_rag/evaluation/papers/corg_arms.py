"""COrg and the baselines of its paper as arms: the systems of `corg_systems`, over the reader of the run."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from preflight_rag.evaluation.corg_systems import Organised, Shown, Systems, Variant
from preflight_rag.evaluation.experiments import relations
from preflight_rag.evaluation.harness.arms import Arm, ArmAnswer, Case
from preflight_rag.evaluation.papers.metered import Metered
from preflight_rag.evaluation.samples import Sample
from preflight_rag.evaluation.vector_cache import Remembering
from preflight_rag.models.protocol import Reader
from preflight_rag.offline.reader import OfflineReader
from preflight_rag.state.errors import BadReply, UsageError
from preflight_rag.state.reading import Source

if TYPE_CHECKING:
    from preflight_rag.evaluation.harness.asking import Asking
    from preflight_rag.evaluation.runs import Run

Ask: TypeAlias = Callable[[Systems[Reader], relations.Question, str], Awaitable[Shown]]
"""What a system shows for a question, whose id comes last."""
CORG = "COrg"
SYSTEMS = ("Base", "Retrieve", "Summarize", "Random", "KMeans", CORG, "Separate")
"""The systems of the paper's tables, in the order of ours."""
_TYPES: dict[str, relations.Type] = {"gold": "correct", "wrong": "misinfo"}


def given_sources(question: Sample) -> list[Source]:
    """The passages that come with a question, numbered from 1: what every arm is shown."""
    return [
        Source(n, given.id, given.title, given.text, given.source, given.date or None)
        for n, given in enumerate(question.given, 1)
    ]


def with_passages(questions: Sequence[Sample]) -> tuple[Sample, ...]:
    """Those that come with passages to answer from.

    Raises:
        UsageError: None does.
    """
    kept = tuple(question for question in questions if question.given and question.answers)
    if not kept:
        raise UsageError(
            "no question of this data set comes with passages and right answers",
            help="Choose ramdocs, ambigdocs, wikicontradict, or questions of your own with contexts and answers.",
        )
    return kept


def as_organised(question: Sample, sources: Sequence[Source]) -> relations.Question:
    """A question in the form that the systems take: contexts with what the data set says of them."""
    known = {given.id: given for given in question.given}
    contexts = tuple(
        relations.Context(
            source,
            _TYPES.get(known[source.passage_id].role, "noise") if source.passage_id in known else "noise",
            known[source.passage_id].answer if source.passage_id in known else "",
        )
        for source in sources
    )
    entities = tuple(dict.fromkeys(given.entity for given in question.given if given.entity))
    gold = tuple(name for names in question.answers for name in names)
    return relations.Question(question.question, contexts, gold, question.wrong, entities)


class SystemArms:
    """The systems as arms over one reader.

    Within a question `COrg` comes first: Random and KMeans make as many groups, Retrieve keeps as many contexts.

    Args:
        reader: What answers.
        sentences: The reader of sentences, whose vectors Retrieve and KMeans go by.
        seed: Of the random groups.
        forgetful: Whether each arm gets a reader that remembers no passage, so that each pays for its own reading.
    """

    def __init__(self, reader: Reader, sentences: OfflineReader, *, seed: int, forgetful: bool = False) -> None:
        self._reader, self._sentences, self._seed, self._forgetful = reader, sentences, seed, forgetful
        self._organised: dict[str, Organised] = {}

    def arms(self, names: Sequence[str] = SYSTEMS) -> list[Arm]:
        """The arms in the order in which they must be asked."""
        asks: dict[str, Ask] = {
            CORG: self._corg,
            "Base": lambda systems, question, name: systems.base(question),
            "Retrieve": lambda systems, question, name: systems.nearest(question, len(self._made(name).kept)),
            "Summarize": lambda systems, question, name: systems.summarize(question),
            "Random": lambda systems, question, name: systems.by_chance(question, len(self._made(name).groups)),
            "KMeans": lambda systems, question, name: systems.clustered(question, len(self._made(name).groups)),
            "Separate": lambda systems, question, name: systems.separate(question),
        }
        return [self._arm(name, asks[name]) for name in (CORG, *(name for name in names if name != CORG))]

    def variant(self, name: str, variant: Variant) -> Arm:
        """COrg with some of its parts taken away, as an arm of its own."""

        async def shown(systems: Systems[Reader], question: relations.Question, _: str) -> Shown:
            return (await systems.corg(question, variant))[0]

        return self._arm(name, shown)

    async def _corg(self, systems: Systems[Reader], question: relations.Question, name: str) -> Shown:
        organised = self._organised[name] = await systems.organise(question)
        return await systems.grouped(question, organised)

    def _made(self, name: str) -> Organised:
        if name not in self._organised:
            raise BadReply("COrg made no groups whose number could be taken", help="Its own error says why.")
        return self._organised[name]

    def _arm(self, name: str, ask: Ask) -> Arm:
        async def answer(question: Sample, sources: Sequence[Source]) -> ArmAnswer:
            reader = Metered(unremembering(self._reader) if self._forgetful else self._reader)
            systems: Systems[Reader] = Systems(reader, self._sentences, seed=self._seed)
            shown = await ask(systems, as_organised(question, sources), question.id)
            return told(shown, sources, reader)

        return Arm(name, answer)


def told(shown: Shown, sources: Sequence[Source], reader: Metered) -> ArmAnswer:
    """What a system showed, with what it cost; a quote has the number of the first passage that holds it, or 0."""
    quotes = tuple((next((s.n for s in sources if quote in s.text), 0), quote) for quote in shown.quotes)
    route = f"{shown.groups} groups" if shown.groups != 1 else "1 group"
    return ArmAnswer("\n".join(shown.lines), quotes=quotes, usage=reader.usage, route=route, abstained=not shown.lines)


def open_readers(asking: Asking, run: Run) -> tuple[Reader, OfflineReader]:
    """The reader of the run, and the one of sentences for vectors, on one embedder."""
    from preflight_rag.models.opening import open_embedder

    embedder = Remembering(open_embedder(run.embedder))
    return asking.reader(embedder), OfflineReader(embedder)


def unremembering(reader: Reader) -> Reader:
    """The same reader without memory of passages that it read; one that asks a language model has none."""
    from preflight_rag.models.reading.extractive_reader import CachedReader as Readings

    if not isinstance(reader, OfflineReader):
        return reader
    extractive = reader.extractive
    embedder = reader.embedder.embedder if isinstance(reader.embedder, Remembering) else reader.embedder
    return OfflineReader(embedder, extractive.reader if isinstance(extractive, Readings) else extractive)


def ordered(cases: Sequence[Case], names: Sequence[str]) -> list[Case]:
    """The cases with their arms in the order of the tables."""
    return [replace(case, arms={name: case.arms[name] for name in names if name in case.arms}) for case in cases]
