"""Measurement of what a model loses in the middle: a small version of BriefContext's position experiment (Fig. 2).

Questions are made by rule of the library's own sentences: a sentence with one number or date taken out, which is asked
for. The passage that the sentence is from is put at five places among passages that the library's search ranks next for
it and that do not hold the value; the model reads them in one go, and once more in parts. An answer is right when it
holds the value. The questions are easier than people's: what counts is the difference between the places.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from preflight_rag.library.search.query import SearchQuery
from preflight_rag.models.protocol import Reader
from preflight_rag.routing.decision import partition
from preflight_rag.routing.model_profile import NOTICED, PASSAGES, ModelProfile
from preflight_rag.routing.second_look import escalation
from preflight_rag.state.context import Settings
from preflight_rag.state.errors import ModelError, UsageError
from preflight_rag.state.reading import Draft, Source
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
    """A question whose answer stands in exactly one of its passages.

    Attributes:
        question: What is asked.
        value: The number or date that was taken out.
        key: The passage that holds it.
        others: Passages that do not, nearest to the sentence first.
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
    """Counts the right answers among those requested."""

    asked: int = 0
    right: int = 0

    def count(self, is_right: bool) -> None:
        """Add one answer."""
        self.asked += 1
        self.right += is_right

    @property
    def share(self) -> float:
        """The share of right answers; 0 before the first one."""
        return self.right / self.asked if self.asked else 0.0


def make_gap_questions(library: Collection, count: int, *, seed: int = 0) -> list[GapQuestion]:
    """Make at most `count` questions from the library's sentences; a seed gives the same ones again.

    Raises:
        UsageError: The library is too small, or none of its sentences serves.
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
) -> ModelProfile:
    """Ask a model every question with the key passage at every place, at once, and one time in parts.

    Args:
        reader: The model's.
        questions: As `make_gap_questions` gives them.
        grounds: What the questions are of, as a decision's reason says it.
        settings: `partition_size` is that of the parts.
        progress: Called with what was asked and what there is to ask.

    Raises:
        ModelError: No question was answered at all; the last error.
    """
    began, settings = time.monotonic(), settings or Settings()
    at_place = {rank: Score() for rank in PLACES}
    parts, lost, noticed, spent = Score(), 0, 0, Usage()
    total, done, failed = len(questions) * (len(PLACES) + 1), 0, None
    for number, asked in enumerate(questions):
        for rank in PLACES:
            sources = asked.at(min(rank, len(asked.others) + 1))
            try:
                reply = await reader.answer(question=asked.question, sources=sources)
            except ModelError as error:
                failed = error
            else:
                spent += reply.usage
                right = asked.is_right(reply.value)
                at_place[rank].count(right)
                lost += not right
                noticed += not right and escalation(reply.value, sources, settings.partition_size) is not None
            progress(done := done + 1, total)
        # The parts do not care where the passage stands: each question is read once, at a place that goes round.
        sources = asked.at(min(PLACES[number % len(PLACES)], len(asked.others) + 1))
        try:
            draft, usage = await _in_parts(reader, asked.question, sources, settings)
        except ModelError as error:
            failed = error
        else:
            spent += usage
            parts.count(asked.is_right(draft))
        progress(done := done + 1, total)
    if failed is not None and not (parts.asked and all(score.asked for score in at_place.values())):
        raise failed
    return ModelProfile(
        model=reader.name,
        grounds=grounds,
        plain={(rank - 1) / (PASSAGES - 1): score.share for rank, score in at_place.items()},
        map_reduce=parts.share,
        noticed=(noticed + PRIOR * NOTICED) / (lost + PRIOR),
        counts=tuple(score.asked for score in at_place.values()),
        tokens=spent.input_tokens + spent.output_tokens,
        seconds=round(time.monotonic() - began, 1),
    )


async def _in_parts(
    reader: Reader, question: str, sources: Sequence[Source], settings: Settings
) -> tuple[Draft, Usage]:
    """Return the answer reduced from the parts' extracts."""
    spent, extracts = Usage(), []
    for number, ranks in enumerate(partition(len(sources), settings.partition_size), 1):
        part = [source for source in sources if source.n in ranks]
        reply = await reader.extract(question=question, sources=part)
        spent += reply.usage
        if reply.value.text:
            extracts.append(replace(reply.value, partition=number, sources=tuple(part)))
    if not extracts:
        return Draft("", found=False), spent
    reduced = await reader.reduce(question=question, extracts=extracts)
    return reduced.value, spent + reduced.usage


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
    return " ".join(text.casefold().replace(",", "").split())
