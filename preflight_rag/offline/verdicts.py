"""Verdicts and choices: what passages say to a yes/no question, and which of several options they support.

Both rest on the extractive reader's verdict head, which reads a question or a statement with a passage and says yes, no
or neither. A reader without such a head leaves both to the words and the likeness of sentences.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from preflight_rag.corg.agreement import same_answer
from preflight_rag.models.reading.extractive_reader import ExtractiveReader, PassageReading
from preflight_rag.offline.evidence import MAX_QUOTED, Scored, SentenceReader, plain, sentences_of, verdict_options
from preflight_rag.state.reading import Draft, Source

BALANCE = 0.1
"""Difference of the shares of yes and no up to which the passages do not agree. A guess."""
DECIDED = 0.5
"""Least probability of yes and no together at which a sentence takes a side: as likely as neither."""
MAX_READ = 3
"""Passages, likeliest first, that options are read against. Set by hand."""
MAX_NEAR = 16
"""Sentences of all passages, nearest to the question, that are read by themselves for a verdict. This and the next
were chosen on validation questions of PubMedQA and SciFact and development questions of BioASQ."""
MAX_SUREST = 3
"""Of these, how many, likeliest to answer first, make the verdict."""
VERDICT_WEIGHT = 0.1
"""Weight of a sentence's own verdict against its nearness to the question, where sentences are chosen to be cited.
Set by hand."""
ANSWER_WEIGHT = 0.5
"""What an option gains that is an answer of the passages, as probable as that answer is. Set by hand."""
LIKENESS_WEIGHT = 0.5
"""Weight of the likeness of an option and the passages' sentences. Set by hand."""

DISAGREE = "The passages do not agree."
UNDECIDED = "The passages do not decide it."

_ASKS = re.compile(r"\bwhether\b", re.I)


@dataclass(frozen=True)
class ReadPassage:
    """A passage with its reading."""

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


@dataclass(frozen=True)
class ReadSentence:
    """A sentence, read by itself."""

    near: Scored
    reading: PassageReading

    @property
    def n(self) -> int:
        """The passage's number."""
        return self.near.sentence.n

    @property
    def verdict(self) -> tuple[float, float, float]:
        """Probabilities of yes, no and neither."""
        return self.reading.verdict or (0.0, 0.0, 1.0)

    @property
    def side(self) -> int | None:
        """0 where it says yes, 1 where it says no, None where neither is likelier."""
        yes, no, _ = self.verdict
        return int(yes < no) if yes + no >= DECIDED else None

    def clearness(self, at: int) -> float:
        """How near it is to the question, and a little how surely it says yes (0), no (1) or neither (2)."""
        return round(self.near.score + VERDICT_WEIGHT * self.verdict[at], 4)


class VerdictReader:
    """Verdicts and choices by an extractive reader.

    Args:
        extractive: What reads.
        sentences: What compares options with sentences.
        threshold: Least bearing at which a passage counts for a verdict.
    """

    def __init__(self, extractive: ExtractiveReader, sentences: SentenceReader, threshold: float) -> None:
        self.extractive, self.sentences, self.threshold = extractive, sentences, threshold

    def verdict(self, question: str, read: Sequence[ReadPassage], options: Mapping[str, str]) -> Draft | None:
        """Yes, no or maybe with the sentences that say so; None where none takes a side.

        A passage says many things, and its own verdict mixes them; so the sentences that are nearest to the question
        are read one by one, and those that most surely answer it make the verdict. "Maybe" is an option chosen where
        none takes a side, or the answer where passages take sides and these are balanced.

        Args:
            question: A yes/no question, or a statement.
            read: The passages.
            options: The verdicts to choose from by their plain names; empty where none were given.
        """
        stated = self._read_sentences(question, read)
        sides = [[item for item in stated if item.side == at] for at in (0, 1)]
        if not stated or not (any(sides) or options):
            return None
        yes, no, neither = verdict_of(stated)
        share = yes / (yes + no) if yes + no else 0.5
        if not any(sides) and "maybe" in options:
            text, quotes = _evidence(stated, 2)
            return Draft(
                f"{UNDECIDED}\n\n{text}", quotes, choice=options["maybe"], short=options["maybe"], confidence=neither
            )
        yes_by, no_by = ({item.n for item in side} for side in sides)
        if yes_by - no_by and no_by - yes_by and abs(2 * share - 1) <= BALANCE:
            return _balanced(sides, options, round(share, 4))
        at = int(share < 0.5)
        text, quotes = _evidence(sides[at] or stated, at)
        name = ("yes", "no")[at]
        marks = "".join(f"[{n}]" for n in sorted({n for n, _ in quotes}))
        return Draft(
            f"{name.capitalize()} {marks}\n\n{text}",
            quotes,
            choice=options.get(name) if options else None,
            short=name.capitalize(),
            confidence=round(max(share, 1 - share), 4),
        )

    def _read_sentences(self, question: str, read: Sequence[ReadPassage]) -> list[ReadSentence]:
        """Sentences of the passages that bear on the question, nearest first, each read alone; none that asks it."""
        sources = [item.source for item in read if item.reading.spans and item.bearing >= self.threshold]
        stating = [sentence for sentence in sentences_of(sources) if not _ASKS.search(sentence.text)]
        ranked = self.sentences.rank(question, stating)[:MAX_NEAR]
        readings = self.extractive.read([(question, "", item.sentence.text) for item in ranked])
        return [ReadSentence(near, reading) for near, reading in zip(ranked, readings, strict=True)]

    def choose(
        self, question: str, read: Sequence[ReadPassage], options: Sequence[str], answers: Sequence[tuple[str, float]]
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
            agreed = max(yes for yes, _, _ in verdicts[i * len(chosen) : (i + 1) * len(chosen)])
            answered = max((confidence for text, confidence in answers if same_answer(text, options[i])), default=0.0)
            return round(agreed + ANSWER_WEIGHT * answered + LIKENESS_WEIGHT * likeness[i], 4), -i

        return options[max(range(len(options)), key=worth)]


def verdict_of(stated: Sequence[ReadSentence]) -> tuple[float, float, float]:
    """Probabilities of yes, no and neither: their mean over the sentences that most surely answer, weighted by that."""
    surest = sorted(stated, key=lambda item: -item.reading.answerable)[:MAX_SUREST]
    total = sum(item.reading.answerable for item in surest) or 1.0
    means = [round(sum(item.reading.answerable * item.verdict[at] for item in surest) / total, 4) for at in range(3)]
    return means[0], means[1], means[2]


def _evidence(stated: Sequence[ReadSentence], at: int) -> tuple[str, tuple[tuple[int, str], ...]]:
    """What the clearest sentences for yes (0), no (1) or neither (2) say, one a passage: the first as text."""
    clearest: dict[int, str] = {}
    for item in sorted(stated, key=lambda item: -item.clearness(at)):
        clearest.setdefault(item.n, item.near.sentence.text)
    quotes = tuple(clearest.items())[:MAX_QUOTED]
    return f"{plain(quotes[0][1])} [{quotes[0][0]}]", quotes


def _balanced(sides: Sequence[Sequence[ReadSentence]], options: Mapping[str, str], yes: float) -> Draft:
    found = [_evidence(side, at) for at, side in enumerate(sides)]
    text = "\n\n".join(f"{name}: {text}" for name, (text, _) in zip(("Yes", "No"), found, strict=True))
    quotes = tuple(quote for _, quotes in found for quote in quotes)
    likelier = "yes" if yes >= 0.5 else "no"
    choice = options.get("maybe", options.get(likelier)) if options else None
    return Draft(f"{DISAGREE}\n\n{text}", quotes, choice=choice, short="Maybe", confidence=max(yes, round(1 - yes, 4)))
