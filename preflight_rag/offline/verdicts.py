"""Verdicts and choices: what passages say to a yes/no question, and which of several options they support.

Both rest on the extractive reader's verdict head, which reads a question or a statement with a passage and says yes, no
or neither. A reader without such a head leaves both to the words and the likeness of sentences.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from preflight_rag.corg.agreement import same_answer
from preflight_rag.models.reading.extractive_reader import EVEN, ExtractiveReader, PassageReading
from preflight_rag.offline.confidence import QuestionTerms
from preflight_rag.offline.continued_sentences import with_neighbour
from preflight_rag.offline.evidence import (
    MAX_COMPARED,
    MAX_QUOTED,
    SentenceReader,
    evidence,
    sentences_of,
    verdict_options,
)
from preflight_rag.offline.found_answers import ReadPassage
from preflight_rag.offline.narrow_denials import asks_for_permission, denies_narrower_case
from preflight_rag.offline.scored_sentences import ScoredSentence
from preflight_rag.state.reading import Draft
from preflight_rag.text.asked_headings import is_bare_reply
from preflight_rag.text.asked_years import by_year
from preflight_rag.text.directions import says, speaks_of_object
from preflight_rag.text.headers import CLOSEST, why_unclaimed
from preflight_rag.text.negation import denies
from preflight_rag.text.quotes import plain
from preflight_rag.text.sentence_fit import SentenceFit
from preflight_rag.text.tables import is_row
from preflight_rag.text.words import STOP_WORDS, words, words_by_token

MAX_READ = 3
"""Passages, likeliest first, that options are read against. Set by hand."""
MAX_NEAR = 16
"""Sentences of all passages, nearest to the question, that are read by themselves for a verdict. It was
chosen on validation questions of PubMedQA and SciFact and development questions of BioASQ."""
CLEAR_NO = 0.3
"""Distance below 0 that the sum of all findings needs for a "no". This constant and the next four were chosen on the
development part of `preflight eval trust` and development questions of PubMedQA, SciFact, BioASQ and Evidence
Inference: of 16 such "no" 13 were right, one was wrong, and two had no answer.
"""
DECIDED = 0.6
"""Distance below 0 that the shown finding needs by itself, with its direction at full weight."""
COVERED = 0.5
"""Least share of the question's words, by weight, that the finding shown for a "no" holds."""
DIRECTION = 0.5
"""Weight of what a finding's words say beside what the reader says."""
NEARNESS = 3
"""Power of a sentence's likeness to the question in its weight."""
ANSWER_WEIGHT = 0.5
"""Weight of an option that is an answer of the passages, times that answer's probability. Set by hand."""
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
    """A sentence with the extractive reader's result for it alone.

    Attributes:
        near: The sentence, with its similarity to the question.
        reading: The reader's reading of it.
        covered: The share of the question's words, by weight, that it and its title contain.
        direction: Its answer to a question about an effect, by its words: 1 yes, -1 no, 0 none.
    """

    near: ScoredSentence
    reading: PassageReading
    covered: float
    direction: int

    @property
    def n(self) -> int:
        """The passage's number."""
        return self.near.sentence.n

    @property
    def verdict(self) -> tuple[float, float, float]:
        """The probabilities of yes, no and neither."""
        return self.reading.verdict or (0.0, 0.0, 1.0)

    @property
    def head(self) -> float:
        """The verdict as one number: above 0 for yes, below 0 for no."""
        return self.verdict[0] - self.verdict[1]

    @property
    def weight(self) -> float:
        """The finding's weight: high if it is near the question, answers it, and is about its subject."""
        # A score may be below 0, and its third power would count for the other side.
        return round(max(self.near.score, 0.0) ** NEARNESS * self.reading.answerable * self.covered, 6)

    def decides(self, turned: int) -> float:
        """Return how clearly the finding says yes (1) or no (-1), times its weight; 0 or less if it says neither."""
        return round(turned * (self.head + self.direction) * self.weight, 6)


class VerdictReader:
    """Gives verdicts on yes/no questions, and chooses among options, with an extractive reader.

    Args:
        extractive: The model that reads passages.
        sentences: Compares options with sentences.
        threshold: Least relevance at which a passage counts for a verdict.
    """

    def __init__(self, extractive: ExtractiveReader, sentences: SentenceReader, threshold: float) -> None:
        self.extractive, self.sentences, self.threshold = extractive, sentences, threshold

    def verdict(
        self,
        question: str,
        read: Sequence[ReadPassage],
        options: Mapping[str, str],
        terms: QuestionTerms,
        fit: SentenceFit,
        lead: str = CLOSEST,
    ) -> Draft | None:
        """Return a "no" if findings deny the question clearly, the clearest first; else the findings, unclaimed.

        A passage says many things, and its own verdict mixes them; so the findings that are nearest to the question are
        read one by one. A "yes" is never claimed: the reader says yes to most of what speaks of the question's subject,
        and on development questions over whole documents no threshold brought it above four right of five; so users
        have to judge by the quotes. Options, where given, are always chosen from; None where no finding
        bears on the question.

        Args:
            question: A yes/no question, or a statement.
            read: The passages.
            options: The verdicts to choose from by their plain names; empty where none were given.
            terms: The question's words, weighted.
            fit: Which sentences are about what is asked about; others count only where there are no such.
            lead: The line above findings that are shown without a claim.
        """
        every = self.findings(question, read, terms)
        stated = [item for item in every if not fit.other_subject(item.n, item.near.sentence.text)] or every
        if not stated:
            return None
        side = side_of(stated)
        turned = 1 if side > -CLEAR_NO else -1
        first = max(stated, key=lambda item: (item.decides(turned), -item.n))
        denied = turned < 0 and first.head + first.direction <= -DECIDED and first.covered >= COVERED
        # If a name of the question is nowhere in the library, the finding is about something else.
        denied = denied and not terms.names & terms.unseen and not _disputed(first, read)
        denied = denied and not fit.is_replaced(first.n, first.near.sentence.text)
        denied = denied and _says_no(question, first) and speaks_of_object(question, first.near.sentence.text)
        # "No." alone may be the reply to any question of its document.
        denied = denied and not is_bare_reply(first.near.sentence.text)
        # What a replaced edition says stands last, by its nearest sentence.
        old = {item.n for item in stated if fit.is_replaced(item.n, item.near.sentence.text)}
        nearest: dict[int, str] = {}
        for item in [*([first] if denied else []), *sorted(stated, key=lambda item: (item.n in old, -item.weight))]:
            nearest.setdefault(item.n, item.near.sentence.text)
        # It stands beside the finding of its passage, not in its place.
        likest = [] if denied else self.likest(question, read, stated, fit)
        quotes = tuple(dict.fromkeys([*likest, *nearest.items()]))[:MAX_QUOTED]
        choice = options.get("no" if side < 0 else "yes", options.get("maybe"))
        if not denied:
            sources = {item.source.n: item.source for item in read}
            whole = [(n, with_neighbour(question, quote, sources[n]) if n in sources else quote) for n, quote in quotes]
            whole = [(n, quote) for n, quote in whole if not is_bare_reply(quote)]
            shown = by_year(question, sources, whole, lead)
            return replace(evidence(*shown, why_unclaimed("verdict")), choice=choice)
        text = f"No [{first.n}]\n\n{plain(first.near.sentence.text)} [{first.n}]"
        return Draft(text, quotes[:1], choice=choice, short="No")

    def likest(
        self, question: str, read: Sequence[ReadPassage], stated: Sequence[ReadSentence], fit: SentenceFit
    ) -> list[tuple[int, str]]:
        """Return the sentence most similar to a question; [] if one of `stated` is as similar.

        The reader may find no answer in a passage whose one short sentence decides: "No dogs are permitted."
        """
        every = sentences_of([item.source for item in read], question)
        asked = frozenset(words(question)) - STOP_WORDS
        found = [asked & (item.near.sentence.terms | item.near.sentence.title_terms) for item in stated]
        most = max(map(len, found))
        # A row that shares fewer words says less than a finding, however like its cells are.
        stating = [
            each
            for each in every
            if not NO_FINDING.search(each.text) and (not is_row(each.text) or len(asked & each.terms) >= most)
        ]
        first = next(iter(self.sentences.rank(question, stating, MAX_COMPARED)), None)
        as_like = max(item.near.score for item in stated)
        if first is None or first.score <= as_like or fit.other_subject(first.sentence.n, first.sentence.text):
            return []
        return [(first.sentence.n, first.sentence.text)]

    def findings(self, question: str, read: Sequence[ReadPassage], terms: QuestionTerms) -> list[ReadSentence]:
        """Return the sentences that are findings and relevant to the question, nearest first, each read alone."""
        sources = [item.source for item in read if item.reading.spans and item.bearing >= self.threshold]
        stating = [sentence for sentence in sentences_of(sources, question) if not NO_FINDING.search(sentence.text)]
        ranked = self.sentences.rank(question, stating, MAX_NEAR)
        readings = self.extractive.read([(question, "", item.sentence.text) for item in ranked])
        return [read_sentence(question, *pair, terms) for pair in zip(ranked, readings, strict=True)]

    def choose(
        self, question: str, read: Sequence[ReadPassage], options: Sequence[str], answers: Sequence[tuple[str, float]]
    ) -> str:
        """Return the option that the passages support best; the first of equals.

        An option counts as far as the reader says yes to question and option, as it is one of the answers of the
        passages, and as it is like their sentences.

        Args:
            question: What was asked.
            read: The passages that answer.
            options: What to choose from.
            answers: What the passages answer, with the probability of each.
        """
        chosen = sorted(read, key=lambda item: (-item.weight, item.source.n))[:MAX_READ]
        ranked = self.sentences.rank(question, sentences_of([item.source for item in chosen], question))
        if verdict_options(options):
            return self.sentences.choose(question, ranked, options)
        pairs = []
        for option in options:
            for item in chosen:
                pairs.append((f"{question} {option}", item.source.title, item.source.text))
        verdicts = [reading.verdict or (0.0, 0.0, 1.0) for reading in self.extractive.read(pairs)]
        likeness = self.sentences.agreement(question, options, ranked) if ranked else [0.0] * len(options)

        def worth(i: int) -> tuple[float, int]:
            """Return the score of an option, and its place to decide ties."""
            agreed = max(yes for yes, _, _ in verdicts[i * len(chosen) : (i + 1) * len(chosen)])
            answered = max((confidence for text, confidence in answers if same_answer(text, options[i])), default=0.0)
            return round(agreed + ANSWER_WEIGHT * answered + LIKENESS_WEIGHT * likeness[i], 4), -i

        return options[max(range(len(options)), key=worth)]


def _says_no(question: str, finding: ReadSentence) -> bool:
    """Return whether a finding denies the question: by an opposite direction, or by negating all its content.

    To a question that contains a negation itself, as "Is there no sales tax?", "No" may mean either.
    """
    sentence = finding.near.sentence
    if denies(question):
        return False
    if finding.direction < 0 and not asks_for_permission(question):
        return True
    return denies(sentence.text) and not denies_narrower_case(question, sentence.text, sentence.title)


def _disputed(first: ReadSentence, read: Sequence[ReadPassage]) -> bool:
    """Return whether a passage of another document answers without saying no, so that neither side is claimed."""
    own = {item.source.document_id for item in read if item.source.n == first.n}
    return any(
        item.source.document_id not in own
        and item.reading.answerable >= EVEN
        and item.reading.verdict is not None
        and item.reading.verdict[0] - item.reading.verdict[1] > -CLEAR_NO
        for item in read
    )


def read_sentence(question: str, near: ScoredSentence, reading: PassageReading, terms: QuestionTerms) -> ReadSentence:
    """Return a sentence with the features of its reading and its words."""
    own_words = frozenset(words_by_token(f"{near.sentence.title} {near.sentence.text}"))
    return ReadSentence(near, reading, terms.share(own_words), says(question, near.sentence.text))


def side_of(stated: Sequence[ReadSentence]) -> float:
    """Return the evidence for yes (above 0) or no (below 0): readings and directions, weighted by sentence."""
    total = sum(item.weight for item in stated) or 1.0
    return round(sum(item.weight * (item.head + DIRECTION * item.direction) for item in stated) / total, 4)
