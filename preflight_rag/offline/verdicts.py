"""Verdicts and choices: what passages say to a yes/no question, and which of several options they support.

Both rest on the extractive reader's verdict head, which reads a question or a statement with a passage and says yes, no
or neither. A reader without such a head leaves both to the words and the likeness of sentences.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from preflight_rag.corg.agreement import same_answer
from preflight_rag.models.reading.extractive_reader import ExtractiveReader, PassageReading
from preflight_rag.offline.confidence import SIDES, VERDICTS, QuestionTerms, confidence_models, log_odds
from preflight_rag.offline.evidence import (
    MAX_QUOTED,
    Scored,
    SentenceReader,
    evidence,
    plain,
    sentences_of,
    verdict_options,
)
from preflight_rag.offline.found_answers import ReadPassage
from preflight_rag.state.reading import Draft
from preflight_rag.text.citations import CLOSEST
from preflight_rag.text.directions import says
from preflight_rag.text.words import words_by_token

MAX_READ = 3
"""Passages, likeliest first, that options are read against. Set by hand."""
MAX_NEAR = 16
"""Sentences of all passages, nearest to the question, that are read by themselves for a verdict. It was
chosen on validation questions of PubMedQA and SciFact and development questions of BioASQ."""
NEARNESS = 3
"""Power of a sentence's likeness to the question in its weight; chosen on the development questions of
`training.confidence`."""
ANSWER_WEIGHT = 0.5
"""What an option gains that is an answer of the passages, as probable as that answer is. Set by hand."""
LIKENESS_WEIGHT = 0.5
"""Weight of the likeness of an option and the passages' sentences. Set by hand."""


NO_FINDING = re.compile(
    r"\bwhether\b|\b(?:aim|aims|aimed|objectives?|purpose|goal|hypothes\w+|designed|sought|intend\w*|unclear|unknown)\b"
    r"|^\W*(?:background|context|introduction|objectives?|aims?|purpose|methods?|design|setting|interventions?)\b"
    r"|\b(?:we|study|trial|paper) (?:investigat|evaluat|examin|assess|explor|test|compar|analy[sz]|measur)\w*"
    r"|^\W*to (?:determine|investigate|evaluate|examine|assess|explore|test|compare|analy[sz]e|study|describe)\b"
    r"|\b(?:were|was) (?:randomi[sz]ed|assigned|allocated|recruited|enrolled)\b",
    re.I,
)
"""Sentences that say what a study asks or does, and not what it found."""


@dataclass(frozen=True)
class ReadSentence:
    """A sentence, read by itself.

    Attributes:
        near: The sentence, with its likeness to the question.
        reading: What the reader says of it.
        covered: The share of the question's words, by weight, that it and its title hold.
        direction: What its words say to a question about an effect: 1 yes, -1 no, 0 nothing.
    """

    near: Scored
    reading: PassageReading
    covered: float
    direction: int

    @property
    def n(self) -> int:
        """The passage's number."""
        return self.near.sentence.n

    @property
    def verdict(self) -> tuple[float, float, float]:
        """Probabilities of yes, no and neither."""
        return self.reading.verdict or (0.0, 0.0, 1.0)

    @property
    def head(self) -> float:
        """What the reader says: above 0 yes, below 0 no."""
        return self.verdict[0] - self.verdict[1]

    @property
    def weight(self) -> float:
        """How much it counts among the others: where it is near, answers, and speaks of what the question does."""
        return round(max(self.near.score, 0.0) ** NEARNESS * self.reading.answerable * self.covered, 6)

    def decides(self, turned: int) -> float:
        """How clearly it says yes (1) or no (-1), as much as it counts; 0 or less: it does not."""
        return round(turned * (self.head + self.direction) * self.weight, 6)


class VerdictReader:
    """Verdicts and choices by an extractive reader.

    Args:
        extractive: What reads.
        sentences: What compares options with sentences.
        threshold: Least bearing at which a passage counts for a verdict.
    """

    def __init__(self, extractive: ExtractiveReader, sentences: SentenceReader, threshold: float) -> None:
        self.extractive, self.sentences, self.threshold = extractive, sentences, threshold

    def verdict(
        self, question: str, read: Sequence[ReadPassage], options: Mapping[str, str], terms: QuestionTerms
    ) -> Draft | None:
        """Yes or no where a sentence decides it, with that sentence first; without a claim where none does.

        A passage says many things, and its own verdict mixes them; so the sentences that are nearest to the question
        are read one by one. The one that decides is the clearest of those that take the side that all together take; a
        verdict opposite to its own quote cannot come about. Options, where given, are always chosen from; None where
        no sentence bears on the question.

        Args:
            question: A yes/no question, or a statement.
            read: The passages.
            options: The verdicts to choose from by their plain names; empty where none were given.
            terms: The question's words, weighted.
        """
        stated = self._read_sentences(question, read, terms)
        if not stated:
            return None
        side = confidence_models()[SIDES].probability(side_features(stated))
        turned = 1 if side >= 0.5 else -1
        name = "yes" if turned > 0 else "no"
        deciding = max(stated, key=lambda item: (item.decides(turned), -item.n))
        model = confidence_models()[VERDICTS]
        sure = model.probability(verdict_features(stated, deciding, side, terms))
        claims = sure >= model.answered and deciding.decides(turned) > 0
        choice = options.get(name) if claims or "maybe" not in options else options["maybe"]
        nearest: dict[int, str] = {}
        for item in [deciding, *sorted(stated, key=lambda item: -item.weight)]:
            nearest.setdefault(item.n, item.near.sentence.text)
        quotes = tuple(nearest.items())[: 1 if claims else MAX_QUOTED]
        if not claims:
            return replace(evidence(quotes, CLOSEST), choice=choice)
        text = f"{name.capitalize()} [{deciding.n}]\n\n{plain(deciding.near.sentence.text)} [{deciding.n}]"
        return Draft(text, quotes, choice=choice, short=name.capitalize(), confidence=sure)

    def _read_sentences(self, question: str, read: Sequence[ReadPassage], terms: QuestionTerms) -> list[ReadSentence]:
        """Sentences of the passages that bear on the question, nearest first, each read alone; findings only."""
        sources = [item.source for item in read if item.reading.spans and item.bearing >= self.threshold]
        stating = [sentence for sentence in sentences_of(sources) if not NO_FINDING.search(sentence.text)]
        ranked = self.sentences.rank(question, stating)[:MAX_NEAR]
        readings = self.extractive.read([(question, "", item.sentence.text) for item in ranked])
        return [read_sentence(question, *pair, terms) for pair in zip(ranked, readings, strict=True)]

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


def read_sentence(question: str, near: Scored, reading: PassageReading, terms: QuestionTerms) -> ReadSentence:
    """A sentence with what is made of its reading and its words."""
    held = frozenset(words_by_token(f"{near.sentence.title} {near.sentence.text}"))
    return ReadSentence(near, reading, terms.share(held), says(question, near.sentence.text))


def side_features(stated: Sequence[ReadSentence]) -> dict[str, float]:
    """What speaks for yes (above 0) and for no (below 0): the reader and the words, of all and of the weightiest."""
    total = sum(item.weight for item in stated) or 1.0
    best = max(stated, key=lambda item: item.weight)
    return {
        "head": sum(item.weight * item.head for item in stated) / total,
        "direction": sum(item.weight * item.direction for item in stated) / total,
        "best_head": best.head,
        "best_direction": float(best.direction),
    }


def verdict_features(
    stated: Sequence[ReadSentence], deciding: ReadSentence, side: float, terms: QuestionTerms
) -> dict[str, float]:
    """What speaks for a verdict, whichever it is: how clear it is, and how well its sentence fits the question."""
    turned = 1 if side >= 0.5 else -1
    signed = {name: turned * value for name, value in side_features(stated).items()}
    held = frozenset(words_by_token(f"{deciding.near.sentence.title} {deciding.near.sentence.text}"))
    return {
        **signed,
        "side": abs(log_odds(side)),
        "deciding": turned * deciding.head,
        "deciding_direction": float(turned * deciding.direction),
        "against": min(2.0, max((item.decides(-turned) for item in stated), default=0.0) / (deciding.weight or 1.0)),
        "neither": deciding.verdict[2],
        "answerable": deciding.reading.answerable,
        "similarity": deciding.near.similarity,
        "covered": deciding.covered,
        "rarest_missing": terms.rarest_missing(held),
        "names_missing": len(terms.names - held) / len(terms.names) if terms.names else 0.0,
        "name_unseen": float(bool(terms.names & terms.unseen)),
        "unseen": sum(terms.weights[term] for term in terms.unseen) / (sum(terms.weights.values()) or 1.0),
        "rank": math.log(deciding.n),
        "no": float(turned < 0),
    }
