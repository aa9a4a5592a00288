"""Answers read out of passages by an extractive reader: a claim where it is earned, else evidence, or abstention.

Each passage is read by itself; equal answers of several passages count as agreement. How likely the best answer is
right is then judged by more than the reader says of it (`confidence.py`). A likely one is shown above the sentence that
it stands in; else the sentences that come nearest are shown, word for word, and nothing is claimed; where these hardly
bear on the question, nothing is found. A question for an explanation is answered by sentences alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from preflight_rag.corg.agreement import same_answer
from preflight_rag.models.reading.extractive_reader import READ_LANGUAGES, ExtractiveReader
from preflight_rag.offline.asked_roles import repeats_asked_role, replace_role_with_holder
from preflight_rag.offline.attendance import find_attendance_lines
from preflight_rag.offline.authorship import is_of_another_work
from preflight_rag.offline.class_columns import answer_from_size_classes, is_name_of_size_class
from preflight_rag.offline.comparisons import answer_comparison
from preflight_rag.offline.confidence import (
    SUPPORTED,
    VETOES,
    HasVocabulary,
    QuestionTerms,
    answer_features,
    confidence_model,
    find_unmentioned_topics,
    question_terms,
    support_log_odds,
)
from preflight_rag.offline.continued_sentences import extend_to_all_steps, find_following_remedy, with_neighbour
from preflight_rag.offline.contrasts import stands_in_contrast
from preflight_rag.offline.editions import put_newest_edition_first
from preflight_rag.offline.empty_cells import rows_without_any
from preflight_rag.offline.evidence import (
    LEAST_TOPIC,
    MAX_COMPARED,
    MAX_QUOTED,
    NOTHING,
    SentenceReader,
    alike_quotes,
    evidence,
    extract_of,
    joined_quotes,
    likely_span,
    nearest_quotes,
    of_versions,
    says_of_kind,
    sentences_of,
    unread_quotes,
    verdict_options,
)
from preflight_rag.offline.extremes import answer_extreme_from_table
from preflight_rag.offline.form_lines import find_named_fields
from preflight_rag.offline.found_answers import (
    AnswerGroup,
    PassageAnswer,
    ReadPassage,
    counts_something_else,
    distinct_answers,
    extend_to_asked_noun,
    group_equal_answers,
    has_as_many_question_words,
    is_figure_of_another_thing,
    is_one_of_listed_people,
)
from preflight_rag.offline.introduced_lists import extend_to_list_items, find_items_in_next_passage
from preflight_rag.offline.later_changes import find_later_change, shares_word_with_question
from preflight_rag.offline.lines import (
    asks_only_for_lines,
    find_lines_of_coded_document,
    find_named_lines,
    find_named_parts,
    find_sentences_with_exact_strings,
    narrowed,
)
from preflight_rag.offline.narrow_questions import is_too_wide
from preflight_rag.offline.other_subjects import is_about_another
from preflight_rag.offline.other_times import is_next_of_the_past, is_of_another_day, is_of_another_time
from preflight_rag.offline.partial_figures import is_partial_figure
from preflight_rag.offline.proposals import only_proposes
from preflight_rag.offline.row_comparisons import compared_rows
from preflight_rag.offline.row_marks import marked_rows
from preflight_rag.offline.row_meanings import explained_rows, with_rows_for_legends
from preflight_rag.offline.rows_by_figure import rows_with_such_figures
from preflight_rag.offline.said_beside import is_said_beside
from preflight_rag.offline.scored_sentences import ScoredSentence, Sentence
from preflight_rag.offline.sentence_order import preferences
from preflight_rag.offline.shortened_terms import with_long_forms
from preflight_rag.offline.sibling_items import siblings, with_siblings
from preflight_rag.offline.table_rows import rows_in_other_words
from preflight_rag.offline.tables import TableAnswer, table_answer
from preflight_rag.offline.unlisted_cells import rows_not_listing_any
from preflight_rag.offline.verdicts import VerdictReader
from preflight_rag.state.reading import Draft, Extract, Source
from preflight_rag.text.abbreviations import asked_abbreviation, compared_form, spelled_out
from preflight_rag.text.asked_headings import is_bare_reply, is_question, quotes_below
from preflight_rag.text.asked_years import by_year
from preflight_rag.text.citations import quoted
from preflight_rag.text.exact import count_held, exact_strings
from preflight_rag.text.headers import (
    ABOUT_THIS,
    CLOSEST,
    UNREAD_LANGUAGE,
    VERSIONS,
    not_mentioned,
    only_says_near,
    why_unclaimed,
)
from preflight_rag.text.languages import language_of
from preflight_rag.text.letter_lines import states_nothing
from preflight_rag.text.money import asks_sum, has_decimals, has_money, with_currency
from preflight_rag.text.negation import denies
from preflight_rag.text.numbered_parts import asks_for_text
from preflight_rag.text.offices import asked_office, spelled_as_in
from preflight_rag.text.other_things import NO_SUBJECT, is_of_another_thing, says_about, subject_words
from preflight_rag.text.question_forms import asks_what_exists, asks_why, form_of, is_list, may_answer
from preflight_rag.text.quotes import plain, quote_around
from preflight_rag.text.sentence_fit import SentenceFit
from preflight_rag.text.tables import has_no_value, is_row
from preflight_rag.text.values import asked_kind, ends_in_fragment
from preflight_rag.text.words import STOP_WORDS, words

MAX_LISTED = 10
"""Answers in a list; set by hand, as above."""
NEAR = 1.0
"""Least nearness of passages to a question's topic at which they are shown. This and the next were set on half of 100
questions over 98 articles on viruses and of 100 about anything else, for the default embedder."""
ALIKE = 0.5
"""Cosine of a sentence with the question from which it is near, whatever words it lacks."""
ALIKE_ABROAD = 0.35
"""Least cosine of a sentence in another language, without a word of the question, that is shown for it. A guess."""
MOST_FIRST = 8
"""Passages, of those that the search puts first, in which a sentence of the same meaning is looked for; a guess."""
CLEARLY_MORE = 2
"""Words of the question that a sentence has more than a row, from which it goes before the row; a guess."""
LEAST_LIKELY = 0.3
"""Probability of the likeliest answer from which its sentence is among the quotes; a guess."""
MAX_REREAD = 2
"""Sentences that are read by themselves where the likeliest answer stands in one that does not fit; a guess."""
MAX_JUDGED = 4
"""Different answers, likeliest first, whose confidence is worked out. Set by hand: it may cost a short reading each."""


@dataclass(frozen=True)
class ClaimableAnswer:
    """An answer that is certain enough to be claimed, with the probability that it is right."""

    group: AnswerGroup
    confidence: float


class JudgedAnswers:
    """The answers of the first passages, each with the probability that it is right.

    Whether the sentence around an answer supports it takes an extra reading, and that moves the probability by a
    bounded amount only. So the sentence is read only where it may change what is shown: few answers come near a claim,
    and COrg has answers to judge for each document that it compares.

    Args:
        extractive: The extractive reader.
        question: The standalone question.
        read: The passages that were read.
        terms: The question's words, weighted.
        fit: The sentences that match the question; answers of other sentences are never claimed.
        several: Whether the question asks for several answers.
    """

    def __init__(
        self,
        extractive: ExtractiveReader,
        question: str,
        read: Sequence[ReadPassage],
        terms: QuestionTerms,
        fit: SentenceFit,
        *,
        several: bool,
    ) -> None:
        spans = chain.from_iterable(distinct_answers(part, several=several) for part in read)
        found = [extend_to_asked_noun(question, replace_role_with_holder(question, item)) for item in spans]
        self._extractive, self._question, self._model, self._fit = extractive, question, confidence_model(), fit
        self._office, self._sources = asked_office(question), [item.source for item in read]
        self.groups = group_equal_answers(found + self._of_better_sentences(found))[
            : MAX_LISTED if several else MAX_JUDGED
        ]
        self._relevance = max((item.bearing for item in read), default=0.0)
        self._features = [answer_features(question, group, self.groups, read, terms) for group in self.groups]

    def claims(self) -> list[ClaimableAnswer]:
        """The answers that are likely enough and of a kind to be claimed, likeliest first."""
        open_ = [i for i in self.claimable() if self._model.may_claim(self._features[i])]
        self._support(open_)
        claimed = [i for i in open_ if self._model.claims(self._features[i])]
        judged = [
            ClaimableAnswer(self._agreeing(self.groups[i]), self._model.probability(self._features[i])) for i in claimed
        ]
        return sorted(judged, key=lambda item: -item.confidence)

    def _agreeing(self, group: AnswerGroup) -> AnswerGroup:
        """Return a group without the passages whose sentences say the same of something else.

        "The minimum period is two weeks" agrees with no sentence on the period for trusted organisations.
        """
        first, *others = group.answers
        agreeing = (other for other in others if has_as_many_question_words(self._question, first, other))
        return replace(group, answers=(first, *agreeing))

    def claimable(self) -> list[int]:
        """Return the places of the answers that no rule forbids to claim, however likely they are."""
        return [
            place
            for place, group in enumerate(self.groups)
            if self._fits(group.answers[0]) and not any(self._features[place][name] for name in VETOES)
        ]

    def why_unclaimed(self) -> str:
        """Why none of the answers is claimed: a sentence for the user on what speaks against the likeliest one."""
        if not self.groups:
            return why_unclaimed("nothing")
        bounds = [self._model.bounds(features) for features in self._features]
        best = self._likeliest()
        answer, features = self.groups[best], self._features[best]
        veto = next((name for name in VETOES if features[name]), None) or self._misfit(answer.answers[0])
        likely, least = bounds[best][0], self._model.answered
        return why_unclaimed(veto or "unlikely", answer=answer.text, probability=likely, least=least)

    def _likeliest(self) -> int:
        """Return the place of the likeliest answer."""
        return max(range(len(self.groups)), key=lambda i: self._model.bounds(self._features[i]))

    def likeliest(self) -> AnswerGroup | None:
        """Return the likeliest answer, if it is likely enough to be looked at by a person."""
        if not self.groups:
            return None
        best = self._likeliest()
        first = self.groups[best].answers[0]
        off = self._fit.is_of_other_document(first.source.n) or self._fit.is_replaced(first.source.n, first.quote)
        is_likely = self._model.bounds(self._features[best])[0] >= LEAST_LIKELY
        return self.groups[best] if is_likely and not off else None

    def is_near(self, ranked: Sequence[ScoredSentence]) -> bool:
        """Return whether passages are about the question's topic: by similarity, or by shared words and the reader.

        In a small collection shared words say little: one missing word outweighs all others.

        Args:
            ranked: The sentences, best first.
        """
        likeness = max((item.similarity for item in ranked), default=0.0)
        covered = max((features["covered"] for features in self._features), default=0.0)
        missing = min((features["rarest_missing"] for features in self._features), default=1.0)
        return likeness >= ALIKE or likeness + covered + (self._relevance - missing) / 2 >= NEAR

    def is_evidence(self) -> bool:
        """Return whether one of the answers is likely enough for the passages to bear on the question."""
        bounds = [self._model.bounds(features) for features in self._features]
        if any(least >= self._model.evidence for least, _ in bounds):
            return True
        # Only answers that the further reading could still lift to evidence are worth it.
        self._support([i for i, (_, most) in enumerate(bounds) if most >= self._model.evidence])
        return any(self._model.bounds(features)[0] >= self._model.evidence for features in self._features)

    def all_features(self) -> list[dict[str, float]]:
        """Return all features of each answer."""
        self._support(range(len(self.groups)))
        return self._features

    def _fits(self, answer: PassageAnswer) -> bool:
        """Return whether an answer's sentence is about the question's subject, and the answer of what it asks for."""
        return self._misfit(answer) is None

    def _misfit(self, answer: PassageAnswer) -> str | None:
        """Return why an answer's sentence forbids a claim, by its name in `UNCLAIMED`; None if it does not."""
        question, source, quote = self._question, answer.source, answer.quote
        # Any reason ends the claim; the order decides which one the user is told.
        if ends_in_fragment(question):
            return "fragment"
        may_claim = self._fit.may_claim(source.n, quote)
        if _is_of_question_before(question, quote):
            return "subject"
        if repeats_asked_role(question, answer) or is_name_of_size_class(answer.text, quote):
            return "wrong_type"
        if any(
            counts(question, answer) for counts in (counts_something_else, is_partial_figure, is_one_of_listed_people)
        ):
            return "counted"
        if less := _says_less(question, source, quote):
            return less
        if is_too_wide(question, quote, answer.text, source.title):
            return "wide"
        if (
            # A document that asks the same answers nothing: "Karl Simm said: Who pays for the detour?".
            is_question(quote)
            or states_nothing(question, quote, source.text)
            or (not may_claim and self._fit.other_subject(source.n, quote))
            or is_figure_of_another_thing(question, answer)
            or stands_in_contrast(question, answer)
            or is_about_another(question, answer, self._office)
            or is_of_another_time(question, source, quote)
            # The days of a row are compared by `is_of_another_time`, cell by cell.
            or (not is_row(quote) and is_of_another_day(question, quote, answer.span.text))
            or is_of_another_thing(question, source, quote)
            or is_of_another_work(question, quote)
        ):
            return "subject"
        if find_later_change(question, source, quote, self._sources) is not None:
            return "changed"
        if is_next_of_the_past(question, source):
            return "another_year"
        return None if may_claim else self._why_not(source, quote)

    def _why_not(self, source: Source, quote: str) -> str:
        """Return why a sentence that may not be claimed from is none to claim from, by its name in `UNCLAIMED`."""
        if self._fit.outdated(source.n, quote):
            return "changed"
        if self._fit.is_replaced(source.n, quote):
            return "replaced"
        if self._fit.denying:
            return "opposite"
        return "denied" if denies(quote) else "subject"

    def _of_better_sentences(self, found: Sequence[PassageAnswer]) -> list[PassageAnswer]:
        """Return the answers of sentences that fit the question, if the likeliest answer's sentence does not.

        These sentences are read alone: when a whole passage is read, its likeliest answer may be in a neighbour of
        the right sentence.
        """
        best = max(found, key=lambda item: (item.ranking_score, -item.source.n), default=None)
        # Where the likeliest answer's own sentence fits there is nothing to repair, and no further reading is paid for.
        if best is None or self._fits(best):
            return []
        better = self._fit.better(best.source.n, best.quote)[:MAX_REREAD]
        readings = self._extractive.read([(self._question, item.source.title, item.text) for item in better])
        made = []
        for item, reading in zip(better, readings, strict=True):
            # The reader counts from the beginning of the sentence, an answer from that of its passage.
            moved = tuple(
                replace(span, start=span.start + item.start, end=span.end + item.start) for span in reading.spans
            )
            spans = distinct_answers(ReadPassage(item.source, replace(reading, spans=moved)))[:1]
            made += [replace_role_with_holder(self._question, span) for span in spans]
        return made

    def _support(self, places: Iterable[int]) -> None:
        """Record for the answers at some places how well the sentences around them support them."""
        unread = [i for i in places if SUPPORTED not in self._features[i]]
        # As one statement: the verdict head then says whether the sentence confirms the answer.
        pairs = [(f"{self._question} {self.groups[i].text}", "", self.groups[i].answers[0].quote) for i in unread]
        for i, reading in zip(unread, self._extractive.read(pairs), strict=True):
            self._features[i] = {**self._features[i], SUPPORTED: support_log_odds(reading)}


def _says_less(question: str, source: Source, quote: str) -> str:
    """Return why a sentence says less than what is asked, by its name in `UNCLAIMED`; "" if it does not."""
    if only_proposes(question, quote):
        return "proposed"
    return "beside" if is_said_beside(question, source, quote) else ""


def _is_of_question_before(question: str, quote: str) -> bool:
    """Return whether a sentence has no word of the last of several questions: it answers one before it."""
    asked = subject_words(question)
    return question.count("?") > 1 and bool(asked) and asked.isdisjoint(words(quote))


_LANGUAGE_SAMPLE = 600
"""Characters by which a passage's language is told: one of 2,463 English passages of published sets was mistaken."""


def _is_all_named(question: str, ranked: Sequence[ScoredSentence]) -> bool:
    """Return whether a sentence has all that a question names, together with its title and the heading above it."""
    asked = subject_words(question)
    every = (item.sentence.terms | item.sentence.title_terms for item in ranked)
    return len(asked) > 1 and any(asked <= terms for terms in every)


def _is_half_named(question: str, ranked: Sequence[ScoredSentence]) -> bool:
    """Return whether a sentence, with the heading above it, has half of what a question names."""
    asked = frozenset(words(question)) - STOP_WORDS - NO_SUBJECT
    every = (item.sentence.terms | item.sentence.title_terms for item in ranked)
    return any(2 * len(asked & terms) >= len(asked) for terms in every)


def _prose_of(question: str, sources: Sequence[Source]) -> list[Sentence]:
    """Return the sentences of running text, without questions."""
    return [item for item in sentences_of(sources, question) if not is_row(item.text) and not item.text.endswith("?")]


def add_sentence_of_likeliest_answer(
    question: str, quotes: Sequence[tuple[int, str]], likeliest: AnswerGroup | None
) -> list[tuple[int, str]]:
    """Return quotes with the sentence of the likeliest answer, if none has it: before them if it has most words.

    The line on why nothing is claimed names that answer.
    """
    if not quotes or len(quotes) > MAX_QUOTED or likeliest is None:
        return list(quotes)
    is_shown = any(plain(likeliest.text) in plain(quote) for _, quote in quotes)
    n, quote = likeliest.quotes()[0]
    asked = frozenset(words(question)) - STOP_WORDS
    shares = asked & frozenset(words(quote))
    if is_shown or not shares or is_question(quote):
        return list(quotes)
    says_most = len(shares) > max(len(asked & frozenset(words(other))) for _, other in quotes)
    return [(n, quote), *quotes] if says_most else [*quotes, (n, quote)]


def _names_row(asked: frozenset[str], row: str) -> bool:
    """Return whether a row has two of the asked terms, or all of them."""
    found = asked & frozenset(words(row))
    return len(found) > 1 or found == asked


def _of_asked_kind(question: str, lines: Sequence[tuple[int, str]]) -> list[tuple[int, str]]:
    """Return the rows and the lines with an amount or a price if the question asks for one, else all lines."""
    if not asks_sum(question):
        return list(lines)
    return [(n, line) for n, line in lines if has_money(line) or is_row(line) or has_decimals(line)]


def _is_read(source: Source) -> bool:
    """Return whether a passage is in the reader's language, or in an unknown one."""
    return language_of(source.text[:_LANGUAGE_SAMPLE]) in READ_LANGUAGES


class AnswerReader:
    """Reads short answers from passages. Deterministic: the order of the passages has no effect on the answers.

    Args:
        extractive: The model that finds answers in passages.
        sentences: Ranks sentences, for explanations and evidence.
        library: The library whose word counts say how rare a word is; None to count words in the given passages.
    """

    def __init__(
        self, extractive: ExtractiveReader, sentences: SentenceReader, library: HasVocabulary | None = None
    ) -> None:
        self.extractive, self.sentences, self.threshold = extractive, sentences, extractive.threshold
        self.library = library
        self.chooser = VerdictReader(extractive, sentences, self.threshold)

    def read(self, question: str, sources: Sequence[Source]) -> list[ReadPassage]:
        """Return the passages with their readings, by number."""
        # In the order of their numbers, so that the result does not depend on the order in which they were handed over.
        ordered = sorted(sources, key=lambda source: source.n)
        asked = [(spelled_as_in(question, source.text), source.title, source.text) for source in ordered]
        readings = self.extractive.read(asked)
        return [ReadPassage(source, reading) for source, reading in zip(ordered, readings, strict=True)]

    def draft(self, question: str, sources: Sequence[Source], options: Sequence[str] = ()) -> Draft:
        """Return an answer from all passages if it is likely to be right, else the nearest evidence, or nothing.

        A numbered part of which the question names the number is shown as a whole, if nothing in it is claimed. Of a
        document that it names by its code, the line that it asks for is shown.
        """
        # Before the passages are narrowed, which cuts them to the named part or to the lines with the code.
        parts = [] if options else find_named_parts(question, sources)
        of_code = [] if options else find_lines_of_coded_document(question, sources)
        sources = narrowed(question, sources)
        if parts and asks_for_text(question):
            return evidence(parts, ABOUT_THIS)
        made = self._drafted(question, sources, options)
        if not options:
            made = put_newest_edition_first(
                question, _with_below(question, made, sources), {source.n: source for source in sources}
            )
        if (made.claims and made.found) or not (parts or of_code):
            return made
        if parts:
            return evidence(parts, ABOUT_THIS, made.unclaimed)
        quotes = [*of_code, *(each for each in made.quotes if each not in of_code)]
        return evidence(quotes[:MAX_QUOTED], made.text.split("\n\n")[0] if made.found else CLOSEST, made.unclaimed)

    def _drafted(self, question: str, sources: Sequence[Source], options: Sequence[str]) -> Draft:
        """Return an answer from passages that were narrowed to what the question names."""
        if not options and language_of(question) not in READ_LANGUAGES:
            quotes = find_named_lines(question, sources) or unread_quotes(question, sources, self.sentences)
            return evidence(quotes, UNREAD_LANGUAGE, why_unclaimed("language"))
        readable = sources if options else [source for source in sources if _is_read(source)]
        if len(readable) < len(sources):
            # What stands in another language is shown where the search has put it first, and never claimed.
            made = self._drafted(question, readable, ()) if readable else NOTHING
            if (made.claims and made.found) or _is_read(min(sources, key=lambda source: source.n)):
                return made
            return evidence(
                unread_quotes(question, sources, self.sentences, least=ALIKE_ABROAD),
                UNREAD_LANGUAGE,
                why_unclaimed("passages"),
            )
        form, verdicts = form_of(question), verdict_options(options)
        fit = SentenceFit(question, sources)
        if not options and (long_form := _spelled_out(question, sources)):
            return long_form
        rows = None if options else _from_tables(question, sources, fit)
        # Prose would stand under a line that says what is so of the rows alone.
        alone = rows is not None and not rows.text.startswith(CLOSEST)
        if rows and (rows.claims or alone or len(rows.quotes) >= MAX_QUOTED):
            return rows
        read = self.read(question, sources)
        if rows:
            below = self._prose_beside(rows.quotes, question, read, fit)
            text = "\n\n".join([rows.text, *(quoted(n, plain(quote)) for n, quote in below)])
            return replace(rows, text=text, quotes=(*rows.quotes, *below))
        terms = question_terms(question, self.library, sources)
        if (verdicts or (form == "verdict" and not options)) and any(item.reading.verdict for item in read):
            lead = self._lead(question, terms, CLOSEST)
            verdict = self.chooser.verdict(question, read, verdicts, terms, fit, lead)
            return verdict or (NOTHING if options else self._by_reading(question, read, terms, fit))
        if options:
            answering = self._answering(read)
            return self._chosen(question, answering, options) if answering else NOTHING
        return self._by_reading(question, read, terms, fit)

    def _by_reading(self, question: str, read: Sequence[ReadPassage], terms: QuestionTerms, fit: SentenceFit) -> Draft:
        """Return the answer that the reader found if it is likely to be right, else the nearest evidence."""
        form = form_of(question)
        judgement = self.judgement(question, read, terms, fit, several=form == "list")
        lead = self._lead(question, terms, ABOUT_THIS if form in ("explanation", "verdict") else CLOSEST)
        if form in ("explanation", "verdict"):
            return self._unclaimed(question, read, judgement, fit, lead)
        claims = judgement.claims()
        # One of several things would be claimed to be all there are.
        is_partial = len(claims) == 1 and asks_what_exists(question) and not is_list(claims[0].group.text)
        claimed = None if is_partial else _claimed(claims, several=form == "list")
        if claimed:
            return with_siblings(claimed, question, [item.source for item in read])
        return self._unclaimed(question, read, judgement, fit, lead)

    def confidence(self, question: str, sources: Sequence[Source], answer: str) -> float:
        """Return the probability that an answer is right, if these passages alone would claim it, else 0.

        The probability of a yes or no is unknown, and an explanation is never claimed, so nothing is read for these.
        """
        form = form_of(question)
        if form in ("explanation", "verdict"):
            return 0.0
        terms, several = question_terms(question, self.library, sources), form == "list"
        fit = SentenceFit(question, sources)
        judgement = self.judgement(question, self.read(question, sources), terms, fit, several=several)
        claim = _claimed(judgement.claims(), several=several)
        return (claim.confidence or 0.0) if claim and same_answer(claim.short, answer) else 0.0

    def extract(self, question: str, sources: Sequence[Source]) -> Extract:
        """Return the sentences around the answers of the answering passages, else around the likeliest answer.

        `reduce` judges the answers of all partitions together, so each partition has to hand on something.
        """
        read = self.read(question, sources)
        several = form_of(question) == "list"
        answering = self._answering(read)
        if answering:
            found = list(chain.from_iterable(self._kept(read_, several=several) for read_ in answering))
            return _extract(sorted(found, key=lambda item: (-item.probability, item.source.n)))
        # `reduce` judges over all partitions: even a partition below the threshold hands on its likeliest span.
        near = [item for item in read if item.reading.spans]
        best = max(near, key=lambda item: (item.reading.answerable, -item.source.n), default=None)
        return _extract(distinct_answers(best)[:1]) if best else Extract("")

    def _answering(self, read: Sequence[ReadPassage]) -> list[ReadPassage]:
        """Return the passages whose probability of an answer reaches the threshold."""
        return [item for item in read if item.reading.spans and item.reading.answerable >= self.threshold]

    def _kept(self, item: ReadPassage, *, several: bool) -> list[PassageAnswer]:
        """Return a passage's best answer, and with `several` all that reach the threshold by themselves."""
        found = distinct_answers(item, several=several)
        return found[:1] + [other for other in found[1:] if several and other.probability >= self.threshold]

    def judgement(
        self,
        question: str,
        read: Sequence[ReadPassage],
        terms: QuestionTerms,
        fit: SentenceFit | None = None,
        *,
        several: bool = False,
    ) -> JudgedAnswers:
        """Return the answers that rank first, to be judged."""
        fit = fit or SentenceFit(question, [item.source for item in read])
        return JudgedAnswers(self.extractive, question, read, terms, fit, several=several)

    def _lead(self, question: str, terms: QuestionTerms, lead: str) -> str:
        """Return the line above evidence: that no document has some of the question's names or topics, else `lead`."""
        missing = find_unmentioned_topics(question, self.library, terms)
        return not_mentioned(missing) if missing else lead

    def _unclaimed(
        self, question: str, read: Sequence[ReadPassage], judgement: JudgedAnswers, fit: SentenceFit, lead: str
    ) -> Draft:
        """Return the sentences nearest to an answer without a claim; NOTHING if they hardly match the question."""
        # Of a document that the question does not name, a later edition may still be quoted.
        every = [item.source for item in read]
        by_number = {source.n: source for source in every}
        read = [item for item in read if not fit.is_of_other_document(item.source.n)]
        sources = [item.source for item in read]
        lead = ABOUT_THIS if lead == CLOSEST and asks_only_for_lines(question) else lead
        if lines := find_attendance_lines(question, sources):
            return evidence(lines, lead, judgement.why_unclaimed())
        if fields := _of_asked_kind(question, find_named_fields(question, sources)):
            # All words of the question stand in that document, some in its file's name, which no list of words has.
            return evidence(*by_year(question, by_number, fields, CLOSEST), judgement.why_unclaimed())
        named = [(n, row) for n, row in find_named_lines(question, sources) if may_answer(question, row)]
        named = _of_asked_kind(question, named)
        if lead not in (CLOSEST, ABOUT_THIS):  # part of the question stands nowhere: one word alone names no row
            asked = frozenset(words(question)) - STOP_WORDS - NO_SUBJECT
            named = [(n, row) for n, row in named if _names_row(asked, row) or exact_strings(question)]
        if named and (exact_strings(question) or not self._prose_says_more(question, named, sources)):
            if not asks_only_for_lines(question):
                named = with_rows_for_legends(named, question, sources)
                if not exact_strings(question) and self._prose_is_nearer(question, named, sources):
                    named = [*self._prose_beside(named[:1], question, read, fit), *named[:1]]
                else:
                    named = [*named, *self._prose_beside(named, question, read, fit)]
            named = add_sentence_of_likeliest_answer(question, named, judgement.likeliest())
            return evidence(*by_year(question, by_number, named, lead), judgement.why_unclaimed())
        ranked = self.compared(question, read, fit)
        is_near = judgement.is_near(ranked) or _is_all_named(question, ranked)
        is_named = fit.names_document and _is_half_named(fit.asked, ranked)
        if not is_named and not (is_near and judgement.is_evidence()):
            exact = find_sentences_with_exact_strings(question, sources)
            quotes = exact or self._alike(question, sources, ranked, fit)
            why = why_unclaimed("other_words") if quotes and not exact else ""
            quotes = [(n, _continued(question, quote, by_number[n])) for n, quote in quotes]
            quotes = quotes or rows_in_other_words(question, sources)
            lead = _true_lead(question, by_number, quotes, lead)
            return evidence(*by_year(question, by_number, quotes, lead), why)
        form = form_of(question)
        why = why_unclaimed(form) if form in ("explanation", "verdict") else judgement.why_unclaimed()
        found = [(n, _continued(question, quote, by_number[n])) for n, quote in nearest_quotes(ranked, read, fit)]
        nearest = joined_quotes(found, by_number)
        quotes, lead = of_versions(nearest, fit, lead)
        quotes = _with_further(question, quotes, every) if quotes else quotes
        if quotes and (items := siblings(quotes[0], question, every)):
            quotes = [*items, *quotes[1:]]
        quotes = with_rows_for_legends(quotes, question, sources)
        # That something is now otherwise is no other answer to why it was so.
        if (
            quotes
            and not asks_why(question)
            and (later := find_later_change(question, by_number[quotes[0][0]], quotes[0][1], sources))
        ):
            quotes = [later, *(each for each in quotes if later[1] not in each[1])]
            lead = VERSIONS if shares_word_with_question(question, later[1]) else lead
        quotes = add_sentence_of_likeliest_answer(question, quotes, judgement.likeliest())
        lead = _true_lead(question, by_number, quotes, lead)
        return evidence(*by_year(question, by_number, quotes, lead), why)

    def compared(self, question: str, read: Sequence[ReadPassage], fit: SentenceFit) -> list[ScoredSentence]:
        """Return the sentences of some passages that may answer a question, compared with it, most similar first."""
        sources = [item.source for item in read]
        stated = sentences_of(sources, question)
        stated = [item for item in stated if not is_row(item.text) or may_answer(question, item.text)] or stated
        stated = with_long_forms(question, stated, sources)
        likely = {item.source.n: span for item in read if (span := likely_span(item))}
        is_figure = says_of_kind(question) is not None
        # The sentence with the reader's figure is compared, however few words it shares; no text has a null character.
        first = [place for place, item in enumerate(stated) if is_figure and likely.get(item.n, "\0") in item.text]
        # Without the named document: sentences that only name it would come before what it says.
        wording = fit.asked if fit.asked != fit.question else question
        preferred = preferences([(item.n, item.text) for item in stated], read)
        return self.sentences.rank(wording, stated, MAX_COMPARED, first[:MAX_QUOTED], preferred)

    def _prose_says_more(self, question: str, rows: Sequence[tuple[int, str]], sources: Sequence[Source]) -> bool:
        """Return whether, for a date or number, running text has clearly more of a question's words than some rows."""
        if asked_kind(question) not in ("date", "number"):
            return False
        asked = frozenset(words(question)) - STOP_WORDS
        most = max(len(asked & frozenset(words(row))) for _, row in rows)
        return any(len(asked & item.terms) >= most + CLEARLY_MORE for item in _prose_of(question, sources))

    def _prose_is_nearer(self, question: str, rows: Sequence[tuple[int, str]], sources: Sequence[Source]) -> bool:
        """Return whether no row has more than half of a question's words, and running text has more than any row.

        The words of its title and its heading count, too: a row that only has the name of a thing says little of it.
        """
        asked = frozenset(words(question)) - STOP_WORDS
        named = asked - NO_SUBJECT
        most = max(len(named & frozenset(words(row))) for _, row in rows)
        return 2 * most <= len(named) and any(
            len(named & (item.terms | item.title_terms)) > most <= len(named & item.terms)
            for item in _prose_of(question, sources)
        )

    def _alike(
        self, question: str, sources: Sequence[Source], ranked: Sequence[ScoredSentence], fit: SentenceFit
    ) -> list[tuple[int, str]]:
        """Return `(passage, sentence)` of the sentences that mean the same in other words, at most two a passage.

        People ask in words of their own: "the burglar alarm" of "The alarm company is Sentrel".
        """
        if max((item.similarity for item in ranked), default=0.0) < LEAST_TOPIC:
            return []
        first = sorted(sources, key=lambda source: source.n)[:MOST_FIRST]
        stated = [item for item in sentences_of(first, question) if not fit.is_heading(item.n, item.text)]
        return alike_quotes(self.sentences.alike(question, stated, ALIKE), MAX_QUOTED)

    def _prose_beside(
        self, rows: Sequence[tuple[int, str]], question: str, read: Sequence[ReadPassage], fit: SentenceFit
    ) -> list[tuple[int, str]]:
        """Return the sentences nearest to a question, from passages other than those of the shown rows.

        Together with the rows there are as many quotes as evidence has. A sentence must contain as many of the
        question's words as a row.
        """
        shown, asked = {n for n, _ in rows}, frozenset(words(question)) - STOP_WORDS
        least = max((len(asked & frozenset(words(row))) for _, row in rows), default=0)
        prose = [item for item in sentences_of([item.source for item in read], question) if item.n not in shown]
        prose = [item for item in prose if not is_row(item.text) and len(asked & item.terms) >= least]
        strings = exact_strings(question)
        holding = [item for item in prose if count_held(item.text, strings)] if strings else []
        ranked = self.sentences.rank(question, holding or prose, MAX_COMPARED)
        return nearest_quotes(ranked, read, fit)[: max(MAX_QUOTED - len(rows), 0)]

    def _chosen(self, question: str, answering: Sequence[ReadPassage], options: Sequence[str]) -> Draft:
        """Return the option that the passages support best, with the answer closest to it as its evidence."""
        groups = group_equal_answers(list(chain.from_iterable(map(distinct_answers, answering))))
        answers = [(group.text, group.confidence) for group in groups]
        choice = self.chooser.choose(question, answering, options, answers)
        equal = next((group for group in groups if same_answer(group.text, choice)), None)
        quoting = next((group for group in groups if choice.casefold() in group.answers[0].quote.casefold()), None)
        best = equal or quoting or groups[0]
        n, quote = best.quotes()[0]
        text = f"{choice} {best.marks}\n\n{plain(quote)} [{n}]" if choice.strip() else f"{plain(quote)} [{n}]"
        return Draft(text, tuple(best.quotes()), choice=choice, short=choice)


def _true_lead(question: str, sources: Mapping[int, Source], quotes: Sequence[tuple[int, str]], lead: str) -> str:
    """Return the line above quotes, without "What the documents say about this" if the first says nothing about it."""
    if lead != ABOUT_THIS or not quotes:
        return lead
    n, quote = quotes[0]
    return ABOUT_THIS if says_about(question, sources[n], quote) else CLOSEST


def _continued(question: str, quote: str, source: Source) -> str:
    """Return a quote with the items that it introduces, or with the neighbouring sentence that goes on about it."""
    whole = extend_to_list_items(question, extend_to_all_steps(question, quote, source), source)
    return whole if whole != quote else extend_to_list_items(question, with_neighbour(question, quote, source), source)


def _with_further(question: str, quotes: Sequence[tuple[int, str]], sources: Sequence[Source]) -> list[tuple[int, str]]:
    """Return quotes with what the first of them leads to behind it: a remedy, and the items in the next passage."""
    first, *others = quotes
    source = {each.n: each for each in sources}[first[0]]
    shown = [first]
    if remedy := find_following_remedy(question, first[1], source):
        shown.append((source.n, _continued(question, remedy, source)))
    if items := find_items_in_next_passage(question, shown[-1][1], source, sources):
        shown.append(items)
    behind = [text for _, text in shown[1:]]
    others = [each for each in others if not any(each[1] in text or text in each[1] for text in behind)]
    return [*shown, *others][: max(MAX_QUOTED, len(shown))]


def _with_below(question: str, draft: Draft, sources: Sequence[Source]) -> Draft:
    """Return unclaimed quotes with what stands below the same question in a document before them."""
    if draft.claims and draft.found:
        return draft
    lead = draft.text.split("\n\n")[0] if draft.found else CLOSEST
    below = quotes_below(question, sources) if only_says_near(lead) else []
    if not below:
        return draft
    shown = [quote for _, quote in below]
    others = [
        each
        for each in draft.quotes
        if not is_bare_reply(each[1])
        and not is_question(each[1])
        and not any(each[1] in quote or quote in each[1] for quote in shown)
    ]
    return evidence([*below, *others][: max(MAX_QUOTED, len(below))], lead, draft.unclaimed)


def _spelled_out(question: str, sources: Sequence[Source]) -> Draft | None:
    """Return the long form of the abbreviation that a question asks about; None if no passage has it.

    If passages spell it out differently, they mean different things: each is quoted and none is claimed.
    """
    short = asked_abbreviation(question)
    long_forms: dict[str, str] = {}
    quotes: list[tuple[int, str]] = []
    for source in sources if short else ():
        for start, end in spelled_out(short, source.text):
            long_form = " ".join(source.text[start:end].split())
            if compared_form(long_form) not in long_forms:
                long_forms[compared_form(long_form)] = long_form
                quotes.append((source.n, source.text[slice(*quote_around(source.text, start, end))]))
    if not long_forms:
        return None
    if len(long_forms) > 1:
        return evidence(quotes[:MAX_QUOTED], CLOSEST, why_unclaimed("several_meanings", answer=short))
    (n, quote), (long_form,) = quotes[0], long_forms.values()
    return Draft(f"{long_form} [{n}]\n\n{plain(quote)} [{n}]", ((n, quote),), short=long_form)


def _from_tables(question: str, sources: Sequence[Source], fit: SentenceFit) -> Draft | None:
    """Return the answer that rules find in rows and cells of tables, before anything is read; None without one."""
    if compared := answer_comparison(question, fit, CLOSEST) or compared_rows(question, sources, CLOSEST):
        return compared
    if within := rows_with_such_figures(question, sources, CLOSEST):
        return within
    if marked := marked_rows(question, sources) or explained_rows(question, sources):
        return marked
    if without := rows_without_any(question, sources) or rows_not_listing_any(question, sources):
        return without
    # The rules above read columns, also for what is not so; one cell, as below, says neither why nor whether.
    if form_of(question) in ("explanation", "verdict") or fit.denying or ends_in_fragment(question):
        return None
    if of_class := answer_from_size_classes(question, sources, CLOSEST):
        return of_class
    if extreme := answer_extreme_from_table(question, sources, CLOSEST):
        return extreme
    cell = table_answer(question, sources)
    if cell and has_no_value(cell.cell):
        return evidence([(cell.n, cell.quote)], CLOSEST, why_unclaimed("no_value"))
    return _cell(cell) if cell else None


def _cell(found: TableAnswer) -> Draft:
    """Return the draft for a table's cell: its value, the labels of its row and column, and the row as a quote."""
    value = with_currency(found.cell, found.column)
    short = f"{value} ({found.scale})" if found.scale else value
    named = f"{short} [{found.n}]\n\nRow: {found.row}; column: {found.column}."
    return Draft(f"{named}\n\n{plain(found.quote)} [{found.n}]", ((found.n, found.quote),), short=short)


def _claimed(sure: Sequence[ClaimableAnswer], *, several: bool) -> Draft | None:
    """Return the draft for the likeliest answer, or all likely ones of a list; None if none is likely enough."""
    return _drafted(sure if several else sure[:1], several=several) if sure else None


def _drafted(judged: Sequence[ClaimableAnswer], *, several: bool) -> Draft:
    """Return the draft that claims the likeliest answer, or with `several` all of them."""
    groups = [item.group for item in judged]
    quotes = dict.fromkeys(chain.from_iterable(group.quotes() for group in groups))
    short = "; ".join(group.text for group in groups) if several else groups[0].text
    text = _listed(groups) if several and len(groups) > 1 else "\n\n".join(group.line() for group in groups)
    # A list is as sure as the least sure of its answers.
    sure = min(item.confidence for item in judged) if several else judged[0].confidence
    return Draft(text, tuple(quotes), short=short, confidence=sure)


def _listed(groups: Sequence[AnswerGroup]) -> str:
    """Return several answers, one on each line, followed by the sentences around them, each once."""
    lines = "\n".join(f"- {group.text} {group.marks}" for group in groups)
    around = dict.fromkeys((group.answers[0].source.n, plain(group.answers[0].quote)) for group in groups)
    return "\n\n".join([lines, *(f"{quote} [{n}]" for n, quote in around)])


def _extract(found: Sequence[PassageAnswer]) -> Extract:
    """Return the extract with the sentences around some answers, each once."""
    kept = dict.fromkeys((item.source.n, item.source.title, item.quote) for item in found)
    return extract_of(list(kept))
