"""Measurement of what a model loses in the middle: a small version of BriefContext's position experiment (Fig. 2).

Questions are made by rule of the library's own sentences: a sentence with one number or date taken out, which is asked
for. The passage that the sentence is from is put at five places among passages that the library's search ranks next for
it and that do not hold the value; the model reads them in one go, and once more in parts. An answer is right when it
holds the value. The questions are easier than people's: what counts is the difference between the places.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from preflight_rag.library.search.query import SearchQuery
from preflight_rag.models.protocol import Reader
from preflight_rag.models.unfinished import may_be_spared, unfinished
from preflight_rag.routing.decision import partition
from preflight_rag.routing.model_profile import NOTICED, PASSAGES, ModelProfile
from preflight_rag.routing.second_look import escalation
from preflight_rag.state.context import Settings
from preflight_rag.state.errors import ModelError, UsageError
from preflight_rag.state.reading import Draft, Reply, Source
from preflight_rag.state.values import Usage
from preflight_rag.text.sentences import sentence_spans
from preflight_rag.text.values import DATE, NUMBER

if TYPE_CHECKING:
    from preflight_rag.library.collection import Collection
    from preflight_rag.state.values import Passage

PLACES = (1, 4, 8, 12, 16)
"""Ranks of the key passage among sixteen."""
QUESTIONS = 6
"""Questions, each asked at every place in one go and once in parts: 6 x 5 calls, and 6 x 5."""
FEWEST_PASSAGES = 8
"""Passages that a library needs at least: the key and seven others; a guess."""
FEWEST_WORDS, MOST_WORDS = 8, 40
"""Words of a sentence that a question is made of; a guess."""
GAP = "____"
PRIOR = 4.0
"""Lost answers that `NOTICED` counts for beside those that were seen; a guess."""

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class GapQuestion:
    """A question whose answer is in exactly one of its passages.

    Attributes:
        question: The question.
        value: The number or date that was taken out of its sentence.
        key: The passage with the value.
        others: Passages without it, the nearest to the sentence first.
    """

    question: str
    value: str
    key: Passage
    others: tuple[Passage, ...]

    def at(self, rank: int) -> list[Source]:
        """Return the passages with the key passage at this rank, numbered from 1."""
        ordered = [*self.others[: rank - 1], self.key, *self.others[rank - 1 :]]
        return [Source.of(passage, n) for n, passage in enumerate(ordered, 1)]

    def is_right(self, draft: Draft) -> bool:
        """Return whether an answer contains the value as a separate number or date."""
        return draft.found and _stands_alone(_folded(self.value), _folded(draft.text))


@dataclass
class Score:
    """Counts the readings that were started, those that ended with a reply, and the right answers."""

    wanted: int = 0
    asked: int = 0
    right: int = 0

    def count(self, is_right: bool) -> None:
        """Count one answer as right or wrong."""
        self.asked += 1
        self.right += is_right

    @property
    def share(self) -> float:
        """The share of right answers; 0 before the first one."""
        return self.right / self.asked if self.asked else 0.0


@dataclass
class Profiling:
    """The measured scores of a model, and what could not be measured.

    Attributes:
        model: The model's name.
        grounds: The source of the questions.
        places: The score of each of `PLACES`.
        parts: The score of reading in parts.
        lost: Number of wrong answers of plain reading.
        noticed: Number of these that would have been noticed.
        cut: Number of incomplete replies, judged by their beginning.
        failures: The reasons why readings ended without a reply, with their numbers.
        spent: The cost of all calls, also of failed ones.
        seconds: The duration of the measurement.
    """

    model: str
    grounds: str
    places: dict[int, Score] = field(default_factory=lambda: {rank: Score() for rank in PLACES})
    parts: Score = field(default_factory=Score)
    lost: int = 0
    noticed: int = 0
    cut: int = 0
    failures: Counter[str] = field(default_factory=Counter)
    spent: Usage = field(default_factory=Usage)
    seconds: float = 0.0

    @property
    def scores(self) -> list[Score]:
        """The score of each place, then of reading in parts."""
        return [*self.places.values(), self.parts]

    @property
    def wanted(self) -> int:
        """The number of readings that were started."""
        return sum(score.wanted for score in self.scores)

    @property
    def replied(self) -> int:
        """The number of readings with a reply that can be judged."""
        return sum(score.asked for score in self.scores)

    def profile(self) -> ModelProfile | None:
        """Return the model's profile; None if a place, or reading in parts, has no answer at all."""
        if not all(score.asked for score in self.scores):
            return None
        return ModelProfile(
            model=self.model,
            grounds=self.grounds,
            plain={(rank - 1) / (PASSAGES - 1): score.share for rank, score in self.places.items()},
            map_reduce=self.parts.share,
            noticed=(self.noticed + PRIOR * NOTICED) / (self.lost + PRIOR),
            counts=tuple(score.asked for score in self.places.values()),
            tokens=self.spent.input_tokens + self.spent.output_tokens,
            seconds=self.seconds,
        )


def make_gap_questions(library: Collection, count: int, *, seed: int = 0) -> list[GapQuestion]:
    """Make at most `count` questions from the library's sentences; the same seed gives the same questions.

    Raises:
        UsageError: The library is too small, or has no suitable sentence.
    """
    ids = library.all_passage_ids()
    random.Random(seed).shuffle(ids)  # noqa: S311
    made: list[GapQuestion] = []
    for start in range(0, len(ids), 32):
        for passage in library.passages(ids[start : start + 32]):
            question = next(_of_passage(library, passage), None)
            if question is not None:
                made.append(question)
            if len(made) == count:
                return made
    if not made:
        raise UsageError(
            "no question can be made from this library: it has too few passages, or no sentence with a number or date",
            help=f"A profile needs {FEWEST_PASSAGES} passages of running text; the demo's library serves, too.",
        )
    return made


async def profile_model(
    reader: Reader,
    questions: Sequence[GapQuestion],
    *,
    grounds: str,
    settings: Settings | None = None,
    progress: Progress = lambda done, total: None,
) -> Profiling:
    """Ask a model each question with the key passage at each place, in one call, and once in parts.

    An incomplete reply is judged by its beginning, as in a turn. If the model gives no reply to the first question,
    the others are not asked, because each call may take until the timeout.

    Args:
        reader: The reader of the model.
        questions: Questions from `make_gap_questions`.
        grounds: The source of the questions, for a decision's reason.
        settings: `partition_size` is the size of the parts.
        progress: Called with the number of readings done, and of all.

    Raises:
        ModelError: The model cannot be called: its server, its key or its name is wrong.
    """
    began, settings = time.monotonic(), settings or Settings()
    found = Profiling(reader.name, grounds)
    total, done = len(questions) * (len(PLACES) + 1), 0
    for number, asked in enumerate(questions):
        for rank in PLACES:
            # In a small library the last places do not exist, so the key passage stands at its end.
            sources = asked.at(min(rank, len(asked.others) + 1))
            draft = await _judged(found, found.places[rank], reader.answer(question=asked.question, sources=sources))
            if draft is not None:
                right = asked.is_right(draft)
                found.places[rank].count(right)
                found.lost += not right
                found.noticed += not right and escalation(draft, sources, settings.partition_size) is not None
            progress(done := done + 1, total)
        # The parts do not care where the passage stands: each question is read once, at a place that goes round.
        sources = asked.at(min(PLACES[number % len(PLACES)], len(asked.others) + 1))
        draft = await _judged(found, found.parts, _in_parts(reader, asked.question, sources, settings))
        if draft is not None:
            found.parts.count(asked.is_right(draft))
        progress(done := done + 1, total)
        if not found.replied:
            break
    found.seconds = round(time.monotonic() - began, 1)
    return found


async def _judged(found: Profiling, score: Score, reading: Awaitable[Reply[Draft]]) -> Draft | None:
    """Return the draft of a reading, or its beginning, and count it; None if there is none.

    Raises:
        ModelError: Any other call would fail, too.
    """
    score.wanted += 1
    try:
        reply = await reading
    except ModelError as error:
        try:
            reply = unfinished(error)
        except ModelError:
            if not may_be_spared(error):
                raise
            found.spent += Usage.of_failed(error.spent)
            found.failures[error.message] += 1
            return None
        found.cut += 1
    found.spent += reply.usage
    return reply.value


async def _in_parts(reader: Reader, question: str, sources: Sequence[Source], settings: Settings) -> Reply[Draft]:
    """Return the answer reduced from the parts' extracts; a part without one is left out, as in a turn.

    Raises:
        ModelError: No part could be read, or they could not be reduced to an answer.
    """
    spent, extracts, failed, read = Usage(), [], None, 0
    for number, ranks in enumerate(partition(len(sources), settings.partition_size), 1):
        part = [source for source in sources if source.n in ranks]
        try:
            reply = await reader.extract(question=question, sources=part)
        except ModelError as error:
            if not may_be_spared(error):
                raise
            failed, spent = error, spent + Usage.of_failed(error.spent)
            continue
        read, spent = read + 1, spent + reply.usage
        if reply.value.text:
            extracts.append(replace(reply.value, partition=number, sources=tuple(part)))
    if failed is not None and not read:
        raise failed
    if not extracts:
        return Reply(Draft("", found=False), spent)
    reduced = await reader.reduce(question=question, extracts=extracts)
    return Reply(reduced.value, spent + reduced.usage)


def _of_passage(library: Collection, passage: Passage) -> Iterator[GapQuestion]:
    """Yield questions from a passage's sentences whose value no similar passage contains."""
    for span in sentence_spans(passage.text):
        sentence = " ".join(passage.text[slice(*span)].split())
        if not FEWEST_WORDS <= len(sentence.split()) <= MOST_WORDS:
            continue
        for match in (*DATE.finditer(sentence), *NUMBER.finditer(sentence)):
            # The unit stays in the sentence: a model may write it in another way.
            end = match.start("unit") if match.re is NUMBER and match["unit"] else match.end()
            value = sentence[match.start() : end].strip()
            # A single digit is in most texts; a value that the sentence repeats would still be in the question.
            if len(value) < 2 or _folded(sentence).count(_folded(value)) != 1:
                continue
            others = _others(library, sentence, value, passage)
            if len(others) + 1 < FEWEST_PASSAGES:
                continue
            gapped = f"{sentence[: match.start()]}{GAP}{sentence[end:]}"
            question = f"Which number or date stands where the gap is in this sentence: “{gapped}”?"
            yield GapQuestion(question, value, passage, tuple(others[: PASSAGES - 1]))


def _others(library: Collection, sentence: str, value: str, key: Passage) -> list[Passage]:
    """Return the passages nearest to a sentence that do not contain its value."""
    # More than are needed, as passages with the value are left out.
    found = library.search(SearchQuery(sentence, k=2 * PASSAGES))
    read = library.passages([hit.passage_id for hit in found.fused if hit.passage_id != key.id])
    return [passage for passage in read if _folded(value) not in _folded(passage.text)]


def _stands_alone(value: str, text: str) -> bool:
    """Return whether a text contains the value, and not as part of a longer number or word."""
    start = text.find(value)
    while start >= 0:
        before, after = text[:start][-1:], text[start + len(value) :][:2]
        is_longer = after[:1].isalnum() or (after[:1] in (".", ",") and after[1:].isdigit())
        if not (before.isalnum() or before in ("_", ".", ",") or is_longer):
            return True
        start = text.find(value, start + 1)
    return False


def _folded(text: str) -> str:
    """Return a text in lower case without commas, with single spaces."""
    return " ".join(text.casefold().replace(",", "").split())
