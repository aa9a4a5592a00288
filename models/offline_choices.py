"""Verdicts and choices: what passages say to a yes/no question, and which of several options they support.

Both rest on the extractive reader's verdict head, which reads a question or a statement with a passage and says yes, no
or neither. A reader without such a head leaves both to the words and the likeness of sentences.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..state.reading import Draft, Source
from .agreement import same_answer
from .extractive_reader import ExtractiveReader, PassageReading
from .offline_sentences import MAX_QUOTED, Scored, SentenceReader, plain, sentences_of, verdict_options

BALANCE = 0.1
"""Difference of the shares of yes and no up to which the passages do not agree."""
DECIDED = 0.5
"""Least probability of yes and no together at which a passage takes a side."""
MAX_READ = 3
"""Passages, likeliest first, that options are read against."""
MAX_SENTENCES = 4
"""Sentences of a passage, nearest to the question, of which the one that says the verdict is sought."""
SAYS_WEIGHT = 0.1
"""Weight of a sentence's own verdict against its nearness to the question."""
HELD_WEIGHT = 0.5
"""What an option gains that is an answer of the passages, as probable as that answer is."""
LIKENESS_WEIGHT = 0.5
"""Weight of the likeness of an option and the passages' sentences."""

DISAGREE = "The passages do not agree."
UNDECIDED = "The passages do not decide it."


@dataclass(frozen=True)
class Read:
    """A passage with what the reader says of it."""

    source: Source
    reading: PassageReading

    @property
    def bearing(self) -> float:
        """Whether it bears on a verdict: its relevance, or its probability to answer, if that is higher."""
        return max(self.reading.answerable, self.reading.relevance or 0.0)

    @property
    def weight(self) -> float:
        """How much it counts for a verdict: the product of both."""
        return round(self.reading.answerable * (1.0 if self.reading.relevance is None else self.reading.relevance), 4)

    @property
    def verdict(self) -> tuple[float, float, float]:
        """Probabilities of yes, no and neither."""
        return self.reading.verdict or (0.0, 0.0, 1.0)


class Chooser:
    """Verdicts and choices by an extractive reader.

    Args:
        extractive: What reads.
        sentences: What compares options with sentences.
        threshold: Least bearing at which a passage counts for a verdict.
    """

    def __init__(self, extractive: ExtractiveReader, sentences: SentenceReader, threshold: float) -> None:
        self.extractive, self.sentences, self.threshold = extractive, sentences, threshold

    def verdict(self, question: str, read: Sequence[Read], options: Mapping[str, str]) -> Draft | None:
        """Yes, no or maybe with the sentences that say so; None where no passage takes a side.

        "Maybe" is an option chosen where none takes a side, or the answer where the sides are balanced.

        Args:
            question: A yes/no question, or a statement.
            read: The passages.
            options: The verdicts to choose from by their plain names; empty where none were given.
        """
        told = [item for item in read if item.reading.spans and item.bearing >= self.threshold]
        sided = [item for item in told if item.verdict[0] + item.verdict[1] >= DECIDED]
        if not sided and not (told and options):
            return None
        yes, no, neither = verdict_of(told)
        share = yes / (yes + no) if yes + no else 0.5
        if not sided and "maybe" in options:
            text, quotes = self._side(question, told, 2)
            return Draft(
                f"{UNDECIDED}\n\n{text}", quotes, choice=options["maybe"], short=options["maybe"], confidence=neither
            )
        sides = [[item for item in sided if (item.verdict[0] < item.verdict[1]) == bool(i)] for i in (0, 1)]
        if all(sides) and abs(2 * share - 1) <= BALANCE:
            return self._balanced(question, sides, options, round(share, 4))
        at = int(share < 0.5)
        text, quotes = self._side(question, sides[at] or told, at)
        name = ("yes", "no")[at]
        marks = "".join(f"[{n}]" for n in sorted({n for n, _ in quotes}))
        return Draft(
            f"{name.capitalize()} {marks}\n\n{text}",
            quotes,
            choice=options.get(name) if options else None,
            short=name.capitalize(),
            confidence=round(max(share, 1 - share), 4),
        )

    def _balanced(
        self, question: str, sides: Sequence[Sequence[Read]], options: Mapping[str, str], yes: float
    ) -> Draft:
        told = [self._side(question, side, at) for at, side in enumerate(sides)]
        text = "\n\n".join(f"{name}: {said}" for name, (said, _) in zip(("Yes", "No"), told, strict=True))
        quotes = tuple(quote for _, quotes in told for quote in quotes)
        likelier = "yes" if yes >= 0.5 else "no"
        choice = options.get("maybe", options.get(likelier)) if options else None
        return Draft(
            f"{DISAGREE}\n\n{text}", quotes, choice=choice, short="Maybe", confidence=max(yes, round(1 - yes, 4))
        )

    def _side(self, question: str, read: Sequence[Read], at: int) -> tuple[str, tuple[tuple[int, str], ...]]:
        """What the passages of a side (0 yes, 1 no, 2 neither) that are nearest to the question say: the first as text.

        Which side a passage takes is the reader's to say; which of them to cite, nearness tells better.
        """
        ranked = self.sentences.rank(question, sentences_of([item.source for item in read]))
        near: dict[int, list[Scored]] = {}
        for item in ranked:
            near.setdefault(item.sentence.n, []).append(item)
        quotes = tuple((n, self._telling(question, near[n][:MAX_SENTENCES], at)) for n in list(near)[:MAX_QUOTED])
        quotes = quotes or tuple((item.source.n, item.source.text.strip()) for item in read[:1])
        return f"{plain(quotes[0][1])} [{quotes[0][0]}]", quotes

    def _telling(self, question: str, near: Sequence[Scored], at: int) -> str:
        """The sentence of a passage that is near the question and, read by itself, says the verdict."""
        readings = self.extractive.read([(question, "", item.sentence.text) for item in near])

        def clearness(i: int) -> tuple[float, int]:
            verdict = readings[i].verdict or (0.0, 0.0, 1.0)
            return round(near[i].score + SAYS_WEIGHT * verdict[at], 4), -i

        return near[max(range(len(near)), key=clearness)].sentence.text

    def choose(
        self, question: str, read: Sequence[Read], options: Sequence[str], answers: Sequence[tuple[str, float]]
    ) -> str:
        """The option that the passages support best; the first of equals.

        An option counts as far as the reader says yes to question and option, as it is one of the answers of the
        passages, and as it is like their sentences.

        Args:
            question: What was asked.
            read: The passages that answer.
            options: What to choose from.
            answers: What the passages answer, with the probability of each.
        """
        chosen = sorted(read, key=lambda item: (-item.weight, item.source.n))[:MAX_READ]
        ranked = self.sentences.rank(question, sentences_of([item.source for item in chosen]))
        if verdict_options(options):
            return self.sentences.choose(question, ranked, options)
        pairs = [(f"{question} {option}", item.source.title, item.source.text) for option in options for item in chosen]
        verdicts = [reading.verdict or (0.0, 0.0, 1.0) for reading in self.extractive.read(pairs)]
        likeness = self.sentences.agreement(question, options, ranked) if ranked else [0.0] * len(options)

        def worth(i: int) -> tuple[float, int]:
            said = max(yes for yes, _, _ in verdicts[i * len(chosen) : (i + 1) * len(chosen)])
            held = max((confidence for text, confidence in answers if same_answer(text, options[i])), default=0.0)
            return round(said + HELD_WEIGHT * held + LIKENESS_WEIGHT * likeness[i], 4), -i

        return options[max(range(len(options)), key=worth)]


def verdict_of(read: Sequence[Read]) -> tuple[float, float, float]:
    """Probabilities of yes, no and neither over passages: their mean, by weight."""
    total = sum(item.weight for item in read) or 1.0
    means = [round(sum(item.weight * item.verdict[at] for item in read) / total, 4) for at in range(3)]
    return means[0], means[1], means[2]
