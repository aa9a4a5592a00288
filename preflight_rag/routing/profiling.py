"""Measurement of what a model loses in the middle: a small version of BriefContext's position experiment (Fig. 2).

Questions are made by rule from the library's own sentences: a sentence with a gap for a number or date, which is asked
for. The sentence's passage is put at five places among the passages nearest to it that do not contain the value; the
model reads them in one call, and once more in parts. An answer is right if it contains the value. The questions are
easier than people's: what counts is the difference between the places.
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
"""Number of questions, each asked in one call at every place (6 x 5 calls) and once in parts (6 x 5 calls)."""
MIN_PASSAGES = 8
"""Least number of passages of a library: the key passage and seven others; a guess."""
MIN_SENTENCE_WORDS, MAX_SENTENCE_WORDS = 8, 40
"""Least and largest number of words of a sentence from which a question is made; a guess."""
GAP = "____"
"""What stands in a question for the value that was taken out."""
PRIOR = 4.0
"""Number of lost answers that `NOTICED` weighs as much as, beside those that were observed; a guess."""
BATCH = 32
"""Number of passages that are loaded at once to make questions."""

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
        return draft.found and _contains_separately(_normalised(self.value), _normalised(draft.text))


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
    """Return at most `count` questions from the library's sentences; the same seed gives the same questions.

    Raises:
        UsageError: The library is too small, or has no suitable sentence.
    """
    ids = library.all_passage_ids()
    random.Random(seed).shuffle(ids)  # noqa: S311
    questions: list[GapQuestion] = []
    for start in range(0, len(ids), BATCH):
        for passage in library.passages(ids[start : start + BATCH]):
            question = next(_questions_of_passage(library, passage), None)
            if question is not None:
                questions.append(question)
            if len(questions) == count:
                return questions
    if not questions:
        raise UsageError(
            "no question can be made from this library: it has too few passages, or no sentence with a number or date",
            help=f"A profile needs {MIN_PASSAGES} passages of running text; the demo's library serves, too.",
        )
    return questions


async def profile_model(
    reader: Reader,
    questions: Sequence[GapQuestion],
    *,
    grounds: str,
    settings: Settings | None = None,
    progress: Progress = lambda done, total: None,
) -> Profiling:
    """Return the scores of a model that is asked each question with the key passage at each place, and once in parts.

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
    start_time, settings = time.monotonic(), settings or Settings()
    profiling = Profiling(reader.name, grounds)
    total, done = len(questions) * (len(PLACES) + 1), 0
    for number, question in enumerate(questions):
        for rank in PLACES:
            # In a small library the last places do not exist, so the key passage stands at its end.
            sources = question.at(min(rank, len(question.others) + 1))
            draft = await _count_reading(
                profiling, profiling.places[rank], reader.answer(question=question.question, sources=sources)
            )
            if draft is not None:
                right = question.is_right(draft)
                profiling.places[rank].count(right)
                profiling.lost += not right
                profiling.noticed += not right and escalation(draft, sources, settings.partition_size) is not None
            progress(done := done + 1, total)
        # In parts the place matters little: each question is read once, at one of the places in turn.
        sources = question.at(min(PLACES[number % len(PLACES)], len(question.others) + 1))
        draft = await _count_reading(
            profiling, profiling.parts, _answer_in_parts(reader, question.question, sources, settings)
        )
        if draft is not None:
            profiling.parts.count(question.is_right(draft))
        progress(done := done + 1, total)
        if not profiling.replied:
            break
    profiling.seconds = round(time.monotonic() - start_time, 1)
    return profiling


async def _count_reading(profiling: Profiling, score: Score, reading: Awaitable[Reply[Draft]]) -> Draft | None:
    """Return the draft of a reading, incomplete if the reply was cut; None if it failed. Count it in the profiling.

    Raises:
        ModelError: The model cannot be called, so that every other call would fail, too.
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
            profiling.spent += Usage.of_failed(error.spent)
            profiling.failures[error.message] += 1
            return None
        profiling.cut += 1
    profiling.spent += reply.usage
    return reply.value


async def _answer_in_parts(
    reader: Reader, question: str, sources: Sequence[Source], settings: Settings
) -> Reply[Draft]:
    """Return the answer reduced from the parts' extracts; parts that failed or are empty are left out, as in a turn.

    Raises:
        ModelError: No part could be read, or they could not be reduced to an answer.
    """
    spent, extracts, last_error, parts_read = Usage(), [], None, 0
    for number, ranks in enumerate(partition(len(sources), settings.partition_size), 1):
        part = [source for source in sources if source.n in ranks]
        try:
            reply = await reader.extract(question=question, sources=part)
        except ModelError as error:
            if not may_be_spared(error):
                raise
            last_error, spent = error, spent + Usage.of_failed(error.spent)
            continue
        parts_read, spent = parts_read + 1, spent + reply.usage
        if reply.value.text:
            extracts.append(replace(reply.value, partition=number, sources=tuple(part)))
    if last_error is not None and not parts_read:
        raise last_error
    if not extracts:
        return Reply(Draft("", found=False), spent)
    reduced = await reader.reduce(question=question, extracts=extracts)
    return Reply(reduced.value, spent + reduced.usage)


def _questions_of_passage(library: Collection, passage: Passage) -> Iterator[GapQuestion]:
    """Yield questions from a passage's sentences whose value no similar passage contains."""
    for span in sentence_spans(passage.text):
        sentence = " ".join(passage.text[slice(*span)].split())
        if not MIN_SENTENCE_WORDS <= len(sentence.split()) <= MAX_SENTENCE_WORDS:
            continue
        for match in (*DATE.finditer(sentence), *NUMBER.finditer(sentence)):
            # The unit stays in the sentence, since a model may write it differently.
            end = match.start("unit") if match.re is NUMBER and match["unit"] else match.end()
            value = sentence[match.start() : end].strip()
            # A single digit is in most texts; a value that the sentence repeats would still be in the question.
            if len(value) < 2 or _normalised(sentence).count(_normalised(value)) != 1:
                continue
            others = _passages_without_value(library, sentence, value, passage)
            if len(others) + 1 < MIN_PASSAGES:
                continue
            gapped = f"{sentence[: match.start()]}{GAP}{sentence[end:]}"
            question = f"Which number or date stands where the gap is in this sentence: “{gapped}”?"
            yield GapQuestion(question, value, passage, tuple(others[: PASSAGES - 1]))


def _passages_without_value(library: Collection, sentence: str, value: str, key: Passage) -> list[Passage]:
    """Return the passages nearest to a sentence, without the key passage and those that contain the value."""
    # Twice as many as are needed, since some are left out.
    hits = library.search(SearchQuery(sentence, k=2 * PASSAGES))
    passages = library.passages([hit.passage_id for hit in hits.fused if hit.passage_id != key.id])
    return [passage for passage in passages if _normalised(value) not in _normalised(passage.text)]


def _contains_separately(value: str, text: str) -> bool:
    """Return whether a text contains a value that is not part of a longer number or word."""
    start = text.find(value)
    while start >= 0:
        before, after = text[:start][-1:], text[start + len(value) :][:2]
        is_longer = after[:1].isalnum() or (after[:1] in (".", ",") and after[1:].isdigit())
        if not (before.isalnum() or before in ("_", ".", ",") or is_longer):
            return True
        start = text.find(value, start + 1)
    return False


def _normalised(text: str) -> str:
    """Return a text in lower case without commas, with single spaces."""
    return " ".join(text.casefold().replace(",", "").split())
