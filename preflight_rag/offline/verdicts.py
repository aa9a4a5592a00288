"""Verdicts and choices: what passages say to a yes/no question, and which of several options they support.

Both rest on the extractive reader's verdict head, which reads a question or a statement with a passage and says yes, no
or neither. A reader without such a head leaves both to the words and the likeness of sentences.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from preflight_rag.corg.agreement import same_answer
from preflight_rag.models.reading.extractive_reader import ExtractiveReader, PassageReading
from preflight_rag.offline.confidence import SIDES, VERDICTS, QuestionTerms, confidence_models, log_odds
from preflight_rag.offline.evidence import (
    CLOSEST,
    DOUBT,
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
from preflight_rag.text.directions import says
from preflight_rag.text.words import words_by_token

MAX_READ = 3
"""Passages, likeliest first, that options are read against. Set by hand."""
MAX_NEAR = 16
"""Sentences of all passages, nearest to the question, that are read by themselves for a verdict. This and the next
were chosen on validation questions of PubMedQA and SciFact and development questions of BioASQ."""
MAX_SUREST = 3
"""Of these, how many, likeliest to answer first, make the verdict."""
ANSWER_WEIGHT = 0.5
"""What an option gains that is an answer of the passages, as probable as that answer is. Set by hand."""
LIKENESS_WEIGHT = 0.5
"""Weight of the likeness of an option and the passages' sentences. Set by hand."""


_ASKS = re.compile(r"\bwhether\b", re.I)


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

    def decides(self, question: str, verdict: str) -> float:
        """How clearly it says yes, or no: by its reading and its words, more where it is near; 0 or less: not."""
        yes, no, _ = self.verdict
        turned = 1 if verdict == "yes" else -1
        clear = turned * (yes - no) + turned * says(question, self.near.sentence.text)
        return round(clear * self.near.score, 4)


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
        stated = self._read_sentences(question, read)
        if not stated:
            return None
        side = confidence_models()[SIDES].probability(side_features(question, stated))
        name = "yes" if side >= 0.5 else "no"
        deciding = max(stated, key=lambda item: (item.decides(question, name), -item.n))
        model = confidence_models()[VERDICTS]
        sure = model.probability(verdict_features(question, stated, deciding, side, terms))
        claims = sure >= model.answered and deciding.decides(question, name) > 0
        choice = options.get(name) if claims or "maybe" not in options else options["maybe"]
        nearest = dict.fromkeys([deciding, *sorted(stated, key=lambda item: -item.near.score)])
        quotes: dict[int, str] = {}
        for item in nearest:
            quotes.setdefault(item.n, item.near.sentence.text)
        shown = tuple(quotes.items())[: 1 if claims else MAX_QUOTED]
        if not claims:
            return replace(evidence(shown, CLOSEST), choice=choice) if sure >= model.evidence else None
        text = f"{name.capitalize()} [{deciding.n}]\n\n{plain(deciding.near.sentence.text)} [{deciding.n}]"
        return Draft(text, shown, choice=choice, short=name.capitalize(), confidence=sure)

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


def side_features(question: str, stated: Sequence[ReadSentence]) -> dict[str, float]:
    """What speaks for yes (above 0) and for no (below 0)."""
    surest = sorted(stated, key=lambda item: -item.reading.answerable)[:MAX_SUREST]
    nearest = sorted(stated, key=lambda item: -item.near.score)[:MAX_SUREST]
    yes, no, _ = verdict_of(surest)
    spoken = [said for item in stated if (said := says(question, item.near.sentence.text))]
    return {
        "head": yes - no,
        "head_nearest": nearest[0].verdict[0] - nearest[0].verdict[1],
        "direction": fmean(says(question, item.near.sentence.text) for item in surest),
        "direction_nearest": float(says(question, nearest[0].near.sentence.text)),
        "direction_all": fmean(spoken) if spoken else 0.0,
    }


def verdict_features(
    question: str, stated: Sequence[ReadSentence], deciding: ReadSentence, side: float, terms: QuestionTerms
) -> dict[str, float]:
    """What speaks for a verdict, whichever it is: how clear it is, and how well its sentence fits the question."""
    turned = 1 if side >= 0.5 else -1
    signed = side_features(question, stated)
    said = frozenset(words_by_token(f"{deciding.near.sentence.title} {deciding.near.sentence.text}"))
    yes, no, neither = deciding.verdict
    return {
        "side": abs(log_odds(side)),
        "head": turned * signed["head"],
        "deciding": turned * (yes - no),
        "direction": float(turned * says(question, deciding.near.sentence.text)),
        "disagree": float(any(turned * signed[name] < -0.2 for name in signed)),
        "neither": neither,
        "answerable": deciding.reading.answerable,
        "similarity": deciding.near.similarity,
        "covered_sentence": terms.share(said),
        "rarest_missing": terms.rarest_missing(said),
        "names_missing": len(terms.names - said) / len(terms.names) if terms.names else 0.0,
        "name_unseen": float(bool(terms.names & terms.unseen)),
        "unseen": sum(terms.weights[term] for term in terms.unseen) / (sum(terms.weights.values()) or 1.0),
        "rank": math.log(deciding.n),
        "doubt": float(bool(DOUBT.search(deciding.near.sentence.text))),
        "no": float(turned < 0),
    }


def verdict_of(stated: Sequence[ReadSentence]) -> tuple[float, float, float]:
    """Probabilities of yes, no and neither: their mean over sentences, weighted by how surely each answers."""
    total = sum(item.reading.answerable for item in stated) or 1.0
    means = [round(sum(item.reading.answerable * item.verdict[at] for item in stated) / total, 4) for at in range(3)]
    return means[0], means[1], means[2]
