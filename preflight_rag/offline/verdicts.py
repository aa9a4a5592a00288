"""Verdicts and choices: whether passages answer yes or no, and which of several options they support.

Both rest on the extractive reader's verdict head, which reads a question or a statement with a passage and says yes, no
or neither. Without such a head, words and the similarity of sentences decide.
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

MAX_PASSAGES_READ = 3
"""Largest number of passages, most likely first, that options are read with. Set by hand."""
MAX_SENTENCES_READ = 16
"""Largest number of sentences, most similar to the question first, that are read by themselves for a verdict. Chosen
on validation questions of PubMedQA and SciFact and development questions of BioASQ."""
CLEAR_NO = 0.3
"""Distance below 0 that the sum of all findings needs for a "no". This constant and the next four were chosen on the
development part of `preflight eval trust` and development questions of PubMedQA, SciFact, BioASQ and Evidence
Inference: of 16 such "no" 13 were right, one was wrong, and two had no answer.
"""
MIN_DENIAL = 0.6
"""The same for the finding that is shown for a "no", with its direction at full weight."""
MIN_COVERED_SHARE = 0.5
"""Least share of the question's words, by weight, that the finding shown for a "no" contains."""
DIRECTION_WEIGHT = 0.5
"""Weight of the direction of a finding's words, beside the reader's verdict."""
SCORE_POWER = 3
"""Exponent of a sentence's similarity to the question in its weight."""
ANSWER_WEIGHT = 0.5
"""Weight of an option that is an answer of the passages, times that answer's probability. Set by hand."""
LIKENESS_WEIGHT = 0.5
"""Weight of the similarity of an option and the passages' sentences. Set by hand."""


STATES_NO_FINDING = re.compile(
    r"\bwhether\b|\b(?:aim|aims|aimed|objectives?|purpose|goal|hypothes\w+|designed|sought|intend\w*|unclear|unknown)\b"
    r"|^\W*(?:background|context|introduction|objectives?|aims?|purpose|methods?|design|setting|interventions?)\b"
    r"|\b(?:we|study|trial|paper) (?:investigat|evaluat|examin|assess|explor|test|compar|analy[sz]|measur)\w*"
    r"|^\W*to (?:determine|investigate|evaluate|examine|assess|explore|test|compare|analy[sz]e|study|describe)\b"
    r"|\b(?:were|was) (?:randomi[sz]ed|assigned|allocated|recruited|enrolled)\b",
    re.I,
)
"""Matches sentences that say what a study asks or does, and not what it found."""


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
    def verdict_score(self) -> float:
        """The probability of yes minus that of no."""
        return self.verdict[0] - self.verdict[1]

    @property
    def weight(self) -> float:
        """The finding's weight: high if it is similar to the question, answers it, and has its words."""
        # The third power of a score below 0 would count for the other side.
        return round(max(self.near.score, 0.0) ** SCORE_POWER * self.reading.answerable * self.covered, 6)

    def support_for(self, side: int) -> float:
        """Return how clearly the finding says yes (side 1) or no (side -1), by weight; below 0 for the other side."""
        return round(side * (self.verdict_score + self.direction) * self.weight, 6)


class VerdictReader:
    """Gives verdicts on yes/no questions, and chooses among options, with an extractive reader.

    Args:
        extractive: The model that reads passages.
        sentences: Compares options with sentences.
        threshold: Least relevance at which a passage's sentences are read for a verdict.
    """

    def __init__(self, extractive: ExtractiveReader, sentences: SentenceReader, threshold: float) -> None:
        self.extractive, self.sentences, self.threshold = extractive, sentences, threshold

    def verdict(
        self,
        question: str,
        passages: Sequence[ReadPassage],
        options: Mapping[str, str],
        terms: QuestionTerms,
        fit: SentenceFit,
        lead: str = CLOSEST,
    ) -> Draft | None:
        """Return a "no" if findings deny the question clearly, the clearest first; else the findings, unclaimed.

        A passage says many things, and its own verdict mixes them; so the findings that are most similar to the
        question are read one by one. A "yes" is never claimed: the reader says yes to most of what is about the
        question's subject, and on development questions over whole documents no threshold brought it above four right
        of five; so users have to judge by the quotes. Options, where given, are always chosen from. None without a
        relevant finding.

        Args:
            question: A yes/no question, or a statement.
            passages: The passages with their readings.
            options: The verdicts to choose from by their plain names; empty where none were given.
            terms: The question's words, weighted.
            fit: Which sentences are about the question's subject; others count only where there are no such.
            lead: The line above findings that are shown without a claim.
        """
        all_findings = self.findings(question, passages, terms)
        findings = [item for item in all_findings if not fit.other_subject(item.n, item.near.sentence.text)]
        findings = findings or all_findings
        if not findings:
            return None
        evidence_for_yes = side_of(findings)
        side = 1 if evidence_for_yes > -CLEAR_NO else -1
        clearest = max(findings, key=lambda item: (item.support_for(side), -item.n))
        choice = options.get("no" if evidence_for_yes < 0 else "yes", options.get("maybe"))
        if side < 0 and self._may_claim_no(question, clearest, passages, terms, fit):
            sentence = plain(clearest.near.sentence.text)
            shown_quote = (clearest.n, clearest.near.sentence.text)
            return Draft(f"No [{clearest.n}]\n\n{sentence} [{clearest.n}]", (shown_quote,), choice=choice, short="No")
        # Findings of a replaced edition stand last; one sentence of each passage is shown.
        replaced = {item.n for item in findings if fit.is_replaced(item.n, item.near.sentence.text)}
        nearest: dict[int, str] = {}
        for item in sorted(findings, key=lambda item: (item.n in replaced, -item.weight)):
            nearest.setdefault(item.n, item.near.sentence.text)
        # The most similar sentence stands beside the finding of its passage, not in its place.
        most_similar = self.most_similar_sentence(question, passages, findings, fit)
        quotes = tuple(dict.fromkeys([*most_similar, *nearest.items()]))[:MAX_QUOTED]
        sources = {item.source.n: item.source for item in passages}
        shown = []
        for n, quote in quotes:
            whole = with_neighbour(question, quote, sources[n]) if n in sources else quote
            if not is_bare_reply(whole):
                shown.append((n, whole))
        draft = evidence(*by_year(question, sources, shown, lead), why_unclaimed("verdict"))
        return replace(draft, choice=choice)

    def _may_claim_no(
        self,
        question: str,
        finding: ReadSentence,
        passages: Sequence[ReadPassage],
        terms: QuestionTerms,
        fit: SentenceFit,
    ) -> bool:
        """Return whether a finding denies the question so clearly, and undisputed, that "No" may be claimed."""
        sentence = finding.near.sentence.text
        is_clear = finding.verdict_score + finding.direction <= -MIN_DENIAL and finding.covered >= MIN_COVERED_SHARE
        # If a name of the question is nowhere in the library, the finding is about something else.
        if not is_clear or terms.names & terms.unseen or _is_disputed(finding, passages):
            return False
        if fit.is_replaced(finding.n, sentence):
            return False
        denies_object = _denies_question(question, finding) and speaks_of_object(question, sentence)
        # "No." alone may be the reply to any question of its document.
        return denies_object and not is_bare_reply(sentence)

    def most_similar_sentence(
        self, question: str, passages: Sequence[ReadPassage], findings: Sequence[ReadSentence], fit: SentenceFit
    ) -> list[tuple[int, str]]:
        """Return `[(passage, sentence)]` of the passages' sentence most similar to the question.

        [] if a finding is as similar, and if the sentence is about another subject. The reader may find no answer in a
        passage whose one short sentence decides: "No dogs are permitted."
        """
        question_terms = frozenset(words(question)) - STOP_WORDS
        largest_shared = max(
            len(question_terms & (item.near.sentence.terms | item.near.sentence.title_terms)) for item in findings
        )
        candidates = []
        for sentence in sentences_of([item.source for item in passages], question):
            # A row that shares fewer words says less than a finding, however similar its cells are.
            has_enough = not is_row(sentence.text) or len(question_terms & sentence.terms) >= largest_shared
            if has_enough and not STATES_NO_FINDING.search(sentence.text):
                candidates.append(sentence)
        first = next(iter(self.sentences.rank(question, candidates, MAX_COMPARED)), None)
        highest_score = max(item.near.score for item in findings)
        if first is None or first.score <= highest_score:
            return []
        if fit.other_subject(first.sentence.n, first.sentence.text):
            return []
        return [(first.sentence.n, first.sentence.text)]

    def findings(self, question: str, passages: Sequence[ReadPassage], terms: QuestionTerms) -> list[ReadSentence]:
        """Return the relevant passages' sentences that may be findings, most similar first, each read by itself."""
        sources = [item.source for item in passages if item.reading.spans and item.bearing >= self.threshold]
        sentences = [
            sentence for sentence in sentences_of(sources, question) if not STATES_NO_FINDING.search(sentence.text)
        ]
        ranked = self.sentences.rank(question, sentences, MAX_SENTENCES_READ)
        readings = self.extractive.read([(question, "", item.sentence.text) for item in ranked])
        return [read_sentence(question, near, reading, terms) for near, reading in zip(ranked, readings, strict=True)]

    def choose(
        self,
        question: str,
        passages: Sequence[ReadPassage],
        options: Sequence[str],
        answers: Sequence[tuple[str, float]],
    ) -> str:
        """Return the option that the passages support best; the first of equals.

        An option's score is the reader's highest probability of yes to question and option, plus the probability of
        the passages' answer that it equals, plus its similarity to their sentences, the latter two by their weights.

        Args:
            question: The question.
            passages: The passages that answer.
            options: The options.
            answers: The answers of the passages, each with its probability.
        """
        chosen = sorted(passages, key=lambda item: (-item.weight, item.source.n))[:MAX_PASSAGES_READ]
        ranked = self.sentences.rank(question, sentences_of([item.source for item in chosen], question))
        if verdict_options(options):
            return self.sentences.choose(question, ranked, options)
        pairs = []
        for option in options:
            for item in chosen:
                pairs.append((f"{question} {option}", item.source.title, item.source.text))
        verdicts = [reading.verdict or (0.0, 0.0, 1.0) for reading in self.extractive.read(pairs)]
        similarities = self.sentences.agreement(question, options, ranked) if ranked else [0.0] * len(options)

        def score(i: int) -> float:
            """Return the score of the option with an index."""
            verdicts_of_option = verdicts[i * len(chosen) : (i + 1) * len(chosen)]
            yes = max(yes for yes, _, _ in verdicts_of_option)
            answered = max((confidence for text, confidence in answers if same_answer(text, options[i])), default=0.0)
            return round(yes + ANSWER_WEIGHT * answered + LIKENESS_WEIGHT * similarities[i], 4)

        return options[max(range(len(options)), key=score)]


def _denies_question(question: str, finding: ReadSentence) -> bool:
    """Return whether a finding denies the question: by an opposite direction, or by negating all its content.

    False for a question that contains a negation itself, such as "Is there no sales tax?": "No" may mean either.
    """
    sentence = finding.near.sentence
    if denies(question):
        return False
    if finding.direction < 0 and not asks_for_permission(question):
        return True
    return denies(sentence.text) and not denies_narrower_case(question, sentence.text, sentence.title)


def _is_disputed(finding: ReadSentence, passages: Sequence[ReadPassage]) -> bool:
    """Return whether a passage of another document answers the question without a clear no to it."""
    own_documents = {item.source.document_id for item in passages if item.source.n == finding.n}
    for item in passages:
        if item.source.document_id in own_documents or item.reading.answerable < EVEN or item.reading.verdict is None:
            continue
        yes, no, _ = item.reading.verdict
        if yes - no > -CLEAR_NO:
            return True
    return False


def read_sentence(question: str, near: ScoredSentence, reading: PassageReading, terms: QuestionTerms) -> ReadSentence:
    """Return a sentence with its reading, its share of the question's words, and the direction of its effect."""
    own_words = frozenset(words_by_token(f"{near.sentence.title} {near.sentence.text}"))
    return ReadSentence(near, reading, terms.share(own_words), says(question, near.sentence.text))


def side_of(findings: Sequence[ReadSentence]) -> float:
    """Return the weighted mean of the findings' verdicts and directions: above 0 for yes, below 0 for no."""
    total = sum(item.weight for item in findings) or 1.0
    return round(
        sum(item.weight * (item.verdict_score + DIRECTION_WEIGHT * item.direction) for item in findings) / total, 4
    )
