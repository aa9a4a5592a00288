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
"""Maximum number of answers in a list; set by hand."""
LEAST_TOPIC_SCORE = 1.0
"""Minimum topic score of passages that are shown as evidence; `is_on_topic` adds it up. This and the next were set on
half of 100 questions over 98 articles on viruses and of 100 about anything else, for the default embedder."""
LEAST_SIMILARITY = 0.5
"""Minimum cosine of a sentence and the question at which the sentence is on topic, whatever words it lacks."""
LEAST_FOREIGN_SIMILARITY = 0.35
"""Minimum cosine at which a sentence in a language that the reader does not read is shown. A guess."""
MAX_PARAPHRASE_PASSAGES = 8
"""Number of passages, first in the search's order, in which a paraphrase of the question is looked for; a guess."""
CLEAR_WORD_LEAD = 2
"""Number of question words that a sentence must have more than a row in order to go before the row; a guess."""
LEAST_LIKELY = 0.3
"""Minimum probability of the likeliest answer at which its sentence is among the quotes; a guess."""
MAX_REREAD = 2
"""Maximum number of better sentences that are read alone if the likeliest answer's sentence does not fit; a guess."""
MAX_JUDGED = 4
"""Maximum number of different answers, likeliest first, whose probability is computed. Set by hand: each may cost a
short reading."""


@dataclass(frozen=True)
class ClaimableAnswer:
    """An answer that is certain enough to be claimed, with the probability that it is right."""

    group: AnswerGroup
    confidence: float


class JudgedAnswers:
    """The answers of the first passages, each with the probability that it is right.

    Whether the sentence around an answer supports it takes an extra reading, which moves the probability by a bounded
    amount only. So the sentence is read only where that may change what is shown.

    Args:
        extractive: The extractive reader.
        question: The standalone question.
        read: The passages that were read.
        terms: The question's words, weighted.
        fit: The sentences that match the question; answers of other sentences are never claimed.
        several: Whether the question asks for several answers.

    Attributes:
        groups: The different answers, likeliest first, each with the passages that give it; methods return indices
            into this list.
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
        self._extractive, self._question, self._fit = extractive, question, fit
        self._model = confidence_model()
        self._office, self._sources = asked_office(question), [item.source for item in read]
        answers = [
            extend_to_asked_noun(question, replace_role_with_holder(question, answer))
            for passage in read
            for answer in distinct_answers(passage, several=several)
        ]
        limit = MAX_LISTED if several else MAX_JUDGED
        self.groups = group_equal_answers(answers + self._read_better_sentences(answers))[:limit]
        self._relevance = max((item.bearing for item in read), default=0.0)
        self._features = [answer_features(question, group, self.groups, read, terms) for group in self.groups]

    def claims(self) -> list[ClaimableAnswer]:
        """Return the answers that are likely enough to be claimed and not forbidden by any rule, likeliest first."""
        candidates = [i for i in self.claimable() if self._model.may_claim(self._features[i])]
        self._add_support(candidates)
        claims = []
        for i in candidates:
            if self._model.claims(self._features[i]):
                probability = self._model.probability(self._features[i])
                claims.append(ClaimableAnswer(self._keep_agreeing_passages(self.groups[i]), probability))
        return sorted(claims, key=lambda claim: -claim.confidence)

    def _keep_agreeing_passages(self, group: AnswerGroup) -> AnswerGroup:
        """Return a group without the answers whose sentences lack question words that the first answer's sentence has.

        "The minimum period is two weeks" does not agree with "two weeks" in a sentence on trusted organisations.
        """
        first, *others = group.answers
        agreeing = (other for other in others if has_as_many_question_words(self._question, first, other))
        return replace(group, answers=(first, *agreeing))

    def claimable(self) -> list[int]:
        """Return the indices of the answers that no rule forbids to claim, whatever their probability is."""
        return [
            i
            for i, group in enumerate(self.groups)
            if self._fits(group.answers[0]) and not any(self._features[i][name] for name in VETOES)
        ]

    def why_unclaimed(self) -> str:
        """Return a sentence for the user on why the likeliest answer is not claimed, or that there is no answer."""
        if not self.groups:
            return why_unclaimed("nothing")
        best = self._index_of_likeliest()
        answer, features = self.groups[best], self._features[best]
        veto = next((name for name in VETOES if features[name]), None)
        reason = veto or self._reason_against_claim(answer.answers[0]) or "unlikely"
        least_probability, _ = self._model.bounds(features)
        return why_unclaimed(reason, answer=answer.text, probability=least_probability, least=self._model.answered)

    def _index_of_likeliest(self) -> int:
        """Return the index of the likeliest answer."""
        return max(range(len(self.groups)), key=lambda i: self._model.bounds(self._features[i]))

    def answer_worth_showing(self) -> AnswerGroup | None:
        """Return the likeliest answer if it is at least `LEAST_LIKELY` likely; else None.

        None, too, if it stands in another document than the question names, or in an edition that was replaced.
        """
        if not self.groups:
            return None
        best = self._index_of_likeliest()
        first = self.groups[best].answers[0]
        is_outside = self._fit.is_of_other_document(first.source.n)
        if is_outside or self._fit.is_replaced(first.source.n, first.quote):
            return None
        least_probability, _ = self._model.bounds(self._features[best])
        return self.groups[best] if least_probability >= LEAST_LIKELY else None

    def is_on_topic(self, ranked: Sequence[ScoredSentence]) -> bool:
        """Return whether the passages are about the question's topic.

        One sentence similar to the question is enough; else similarity, shared words and the reader's relevance are
        added up. Shared words alone say little in a small collection, so the rarest missing word is subtracted.

        Args:
            ranked: The passages' sentences with their similarity to the question.
        """
        similarity = max((item.similarity for item in ranked), default=0.0)
        covered = max((features["covered"] for features in self._features), default=0.0)
        missing = min((features["rarest_missing"] for features in self._features), default=1.0)
        topic_score = similarity + covered + (self._relevance - missing) / 2
        return similarity >= LEAST_SIMILARITY or topic_score >= LEAST_TOPIC_SCORE

    def has_evidence(self) -> bool:
        """Return whether one of the answers is likely enough for its passage to be shown as evidence."""
        bounds = [self._model.bounds(features) for features in self._features]
        if any(least >= self._model.evidence for least, _ in bounds):
            return True
        # The further reading is done only for answers that it could still lift to evidence.
        self._add_support([i for i, (_, most) in enumerate(bounds) if most >= self._model.evidence])
        return any(self._model.bounds(features)[0] >= self._model.evidence for features in self._features)

    def all_features(self) -> list[dict[str, float]]:
        """Return all features of each answer, `SUPPORTED` among them, for which the sentences are read."""
        self._add_support(range(len(self.groups)))
        return self._features

    def _fits(self, answer: PassageAnswer) -> bool:
        """Return whether no rule forbids to claim an answer."""
        return self._reason_against_claim(answer) is None

    def _reason_against_claim(self, answer: PassageAnswer) -> str | None:
        """Return the key in `UNCLAIMED` of the rule that forbids to claim an answer; None if no rule does."""
        question, source, quote = self._question, answer.source, answer.quote
        # Any reason ends the claim; the order decides which one the user is told.
        if ends_in_fragment(question):
            return "fragment"
        may_claim = self._fit.may_claim(source.n, quote)
        if _answers_earlier_question(question, quote):
            return "subject"
        if repeats_asked_role(question, answer) or is_name_of_size_class(answer.text, quote):
            return "wrong_type"
        if (
            counts_something_else(question, answer)
            or is_partial_figure(question, answer)
            or is_one_of_listed_people(question, answer)
        ):
            return "counted"
        if reason := _reason_of_weaker_statement(question, source, quote):
            return reason
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
        return None if may_claim else self._reason_of_sentence_fit(source, quote)

    def _reason_of_sentence_fit(self, source: Source, quote: str) -> str:
        """Return the key in `UNCLAIMED` of why the sentence fit forbids to claim an answer from a quote."""
        if self._fit.outdated(source.n, quote):
            return "changed"
        if self._fit.is_replaced(source.n, quote):
            return "replaced"
        if self._fit.denying:
            return "opposite"
        return "denied" if denies(quote) else "subject"

    def _read_better_sentences(self, answers: Sequence[PassageAnswer]) -> list[PassageAnswer]:
        """Return the best answer of each better sentence, read alone; [] if the likeliest answer fits already.

        A better sentence fits the question and is similar to the likeliest answer's one. When a whole passage is read,
        the reader may take its answer from a neighbour of the right sentence.
        """
        best = max(answers, key=lambda answer: (answer.ranking_score, -answer.source.n), default=None)
        if best is None or self._fits(best):
            return []
        better = self._fit.better(best.source.n, best.quote)[:MAX_REREAD]
        readings = self._extractive.read([(self._question, item.source.title, item.text) for item in better])
        result = []
        for item, reading in zip(better, readings, strict=True):
            # The reader counts characters from the beginning of the sentence, an answer from that of its passage.
            moved = tuple(
                replace(span, start=span.start + item.start, end=span.end + item.start) for span in reading.spans
            )
            best_first = distinct_answers(ReadPassage(item.source, replace(reading, spans=moved)))
            result += [replace_role_with_holder(self._question, answer) for answer in best_first[:1]]
        return result

    def _add_support(self, indices: Iterable[int]) -> None:
        """Add the feature `SUPPORTED` to the answers at some indices: how well their sentences support them."""
        unread = [i for i in indices if SUPPORTED not in self._features[i]]
        # As one statement: the verdict head then says whether the sentence confirms the answer.
        pairs = [(f"{self._question} {self.groups[i].text}", "", self.groups[i].answers[0].quote) for i in unread]
        for i, reading in zip(unread, self._extractive.read(pairs), strict=True):
            self._features[i] = {**self._features[i], SUPPORTED: support_log_odds(reading)}


def _reason_of_weaker_statement(question: str, source: Source, quote: str) -> str:
    """Return the key in `UNCLAIMED` of why a sentence only proposes something, or stands beside one that says more.

    Return "" if it does neither.
    """
    if only_proposes(question, quote):
        return "proposed"
    return "beside" if is_said_beside(question, source, quote) else ""


def _answers_earlier_question(question: str, quote: str) -> bool:
    """Return whether a message asks several questions, and a sentence has no subject word of the last one."""
    subject = subject_words(question)
    return question.count("?") > 1 and bool(subject) and subject.isdisjoint(words(quote))


_LANGUAGE_SAMPLE = 600
"""Number of characters from which a passage's language is detected: one of 2,463 English passages of published sets was
mistaken."""


def _has_sentence_with_all_names(question: str, ranked: Sequence[ScoredSentence]) -> bool:
    """Return whether one sentence, with its title and heading, has all subject words of a question; two at least."""
    subject = subject_words(question)
    word_sets = (item.sentence.terms | item.sentence.title_terms for item in ranked)
    return len(subject) > 1 and any(subject <= terms for terms in word_sets)


def _has_sentence_with_half_the_names(question: str, ranked: Sequence[ScoredSentence]) -> bool:
    """Return whether one sentence, with its title and heading, has at least half of a question's subject words."""
    subject = frozenset(words(question)) - STOP_WORDS - NO_SUBJECT
    word_sets = (item.sentence.terms | item.sentence.title_terms for item in ranked)
    return any(2 * len(subject & terms) >= len(subject) for terms in word_sets)


def _prose_sentences(question: str, sources: Sequence[Source]) -> list[Sentence]:
    """Return the sentences of the passages that are neither rows of tables nor questions."""
    return [item for item in sentences_of(sources, question) if not is_row(item.text) and not item.text.endswith("?")]


def add_sentence_of_likeliest_answer(
    question: str, quotes: Sequence[tuple[int, str]], likeliest: AnswerGroup | None
) -> list[tuple[int, str]]:
    """Return quotes with the sentence of the likeliest answer, since the line on why nothing is claimed names it.

    The sentence goes first if it has more of the question's words than any quote, else last. The quotes are returned
    unchanged if there are none or more than `MAX_QUOTED`, if one of them has the answer, or if the sentence is a
    question or shares no word with the question.
    """
    if not quotes or len(quotes) > MAX_QUOTED or likeliest is None:
        return list(quotes)
    is_shown = any(plain(likeliest.text) in plain(quote) for _, quote in quotes)
    n, sentence = likeliest.quotes()[0]
    question_words = frozenset(words(question)) - STOP_WORDS
    shared = question_words & frozenset(words(sentence))
    if is_shown or not shared or is_question(sentence):
        return list(quotes)
    most_shared = max(len(question_words & frozenset(words(quote))) for _, quote in quotes)
    return [(n, sentence), *quotes] if len(shared) > most_shared else [*quotes, (n, sentence)]


def _has_two_or_all_terms(terms: frozenset[str], row: str) -> bool:
    """Return whether a row has two of the terms, or all of them."""
    shared = terms & frozenset(words(row))
    return len(shared) > 1 or shared == terms


def _keep_lines_with_asked_amount(question: str, lines: Sequence[tuple[int, str]]) -> list[tuple[int, str]]:
    """Return the rows and the lines with an amount or a price if the question asks for one, else all lines."""
    if not asks_sum(question):
        return list(lines)
    return [(n, line) for n, line in lines if has_money(line) or is_row(line) or has_decimals(line)]


def _is_in_readable_language(source: Source) -> bool:
    """Return whether a passage is in a language that the reader reads, or in an unknown one."""
    return language_of(source.text[:_LANGUAGE_SAMPLE]) in READ_LANGUAGES


class AnswerReader:
    """Reads short answers from passages; the order in which the passages are given has no effect on the answers.

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
        """Return each passage with the extractive reader's result for it, ordered by passage number.

        The names of offices in the question are spelled for each passage as the passage spells them.
        """
        ordered = sorted(sources, key=lambda source: source.n)
        inputs = [(spelled_as_in(question, source.text), source.title, source.text) for source in ordered]
        readings = self.extractive.read(inputs)
        return [ReadPassage(source, reading) for source, reading in zip(ordered, readings, strict=True)]

    def draft(self, question: str, sources: Sequence[Source], options: Sequence[str] = ()) -> Draft:
        """Return an answer from the passages if it is likely to be right, else the nearest evidence, or nothing.

        If nothing is claimed, a numbered part that the question names ("article 5") is shown as a whole, and the line
        that is asked for of a document that the question names by its code ("invoice KD-2210"). `options` are the
        answers to choose from; there are none for an open question.
        """
        # Before the passages are narrowed, which cuts them to the named part or to the lines with the code.
        parts = [] if options else find_named_parts(question, sources)
        coded_lines = [] if options else find_lines_of_coded_document(question, sources)
        sources = narrowed(question, sources)
        if parts and asks_for_text(question):
            return evidence(parts, ABOUT_THIS)
        draft = self._draft_from_narrowed(question, sources, options)
        if not options:
            draft = _add_text_below_same_question(question, draft, sources)
            draft = put_newest_edition_first(question, draft, {source.n: source for source in sources})
        if (draft.claims and draft.found) or not (parts or coded_lines):
            return draft
        if parts:
            return evidence(parts, ABOUT_THIS, draft.unclaimed)
        quotes = [*coded_lines, *(quote for quote in draft.quotes if quote not in coded_lines)]
        return evidence(quotes[:MAX_QUOTED], _lead_of(draft), draft.unclaimed)

    def _draft_from_narrowed(self, question: str, sources: Sequence[Source], options: Sequence[str]) -> Draft:
        """Return an answer from passages that were narrowed to what the question names.

        The first of these decides: the language of question and passages, an abbreviation spelled out, rows of tables,
        a yes or no, the given options, and at last the reader's answers.
        """
        if not options and language_of(question) not in READ_LANGUAGES:
            quotes = find_named_lines(question, sources) or unread_quotes(question, sources, self.sentences)
            return evidence(quotes, UNREAD_LANGUAGE, why_unclaimed("language"))
        readable = sources if options else [source for source in sources if _is_in_readable_language(source)]
        if len(readable) < len(sources):
            return self._draft_from_some_languages(question, sources, readable)
        form, verdicts = form_of(question), verdict_options(options)
        fit = SentenceFit(question, sources)
        if not options and (long_form := _draft_long_form(question, sources)):
            return long_form
        rows = None if options else _draft_from_tables(question, sources, fit)
        # Below another line than `CLOSEST` prose would be out of place: it says something of the rows alone.
        is_about_rows_only = rows is not None and not rows.text.startswith(CLOSEST)
        if rows and (rows.claims or is_about_rows_only or len(rows.quotes) >= MAX_QUOTED):
            return rows
        read = self.read(question, sources)
        if rows:
            prose = self._find_prose_beside_rows(rows.quotes, question, read, fit)
            text = "\n\n".join([rows.text, *(quoted(n, plain(quote)) for n, quote in prose)])
            return replace(rows, text=text, quotes=(*rows.quotes, *prose))
        terms = question_terms(question, self.library, sources)
        is_verdict = bool(verdicts) or (form == "verdict" and not options)
        if is_verdict and any(item.reading.verdict for item in read):
            lead = self._choose_lead(question, terms, CLOSEST)
            verdict = self.chooser.verdict(question, read, verdicts, terms, fit, lead)
            return verdict or (NOTHING if options else self._draft_from_reading(question, read, terms, fit))
        if options:
            answering = self._keep_answering(read)
            return self._choose_option(question, answering, options) if answering else NOTHING
        return self._draft_from_reading(question, read, terms, fit)

    def _draft_from_some_languages(self, question: str, sources: Sequence[Source], readable: Sequence[Source]) -> Draft:
        """Return an answer where the reader can read only some of the passages.

        If it finds none to claim, and the search's first passage is in another language, the sentences most similar
        to the question are shown in any language.
        """
        draft = self._draft_from_narrowed(question, readable, ()) if readable else NOTHING
        first = min(sources, key=lambda source: source.n)
        if (draft.claims and draft.found) or _is_in_readable_language(first):
            return draft
        quotes = unread_quotes(question, sources, self.sentences, least=LEAST_FOREIGN_SIMILARITY)
        return evidence(quotes, UNREAD_LANGUAGE, why_unclaimed("passages"))

    def _draft_from_reading(
        self, question: str, read: Sequence[ReadPassage], terms: QuestionTerms, fit: SentenceFit
    ) -> Draft:
        """Return the answer that the reader found if it is likely to be right, else the nearest evidence.

        An explanation, or a yes or no, is never claimed.
        """
        form = form_of(question)
        judgement = self.judgement(question, read, terms, fit, several=form == "list")
        lead = self._choose_lead(question, terms, ABOUT_THIS if form in ("explanation", "verdict") else CLOSEST)
        if form in ("explanation", "verdict"):
            return self._draft_evidence(question, read, judgement, fit, lead)
        claims = judgement.claims()
        # "Which boats are there?": a single boat would be claimed to be the only one.
        is_partial = len(claims) == 1 and asks_what_exists(question) and not is_list(claims[0].group.text)
        claimed = None if is_partial else _draft_claims(claims, several=form == "list")
        if claimed:
            return with_siblings(claimed, question, [item.source for item in read])
        return self._draft_evidence(question, read, judgement, fit, lead)

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
        claim = _draft_claims(judgement.claims(), several=several)
        return (claim.confidence or 0.0) if claim and same_answer(claim.short, answer) else 0.0

    def extract(self, question: str, sources: Sequence[Source]) -> Extract:
        """Return the sentences around the answers of the passages that reach the threshold.

        If no passage does, the sentence around the likeliest answer, since `reduce` judges the extracts of all
        partitions together; an empty extract without any answer.
        """
        read = self.read(question, sources)
        several = form_of(question) == "list"
        answering = self._keep_answering(read)
        if answering:
            answers = [answer for item in answering for answer in self._keep_likely_answers(item, several=several)]
            return _extract_sentences(sorted(answers, key=lambda answer: (-answer.probability, answer.source.n)))
        with_spans = [item for item in read if item.reading.spans]
        best = max(with_spans, key=lambda item: (item.reading.answerable, -item.source.n), default=None)
        return _extract_sentences(distinct_answers(best)[:1]) if best else Extract("")

    def _keep_answering(self, read: Sequence[ReadPassage]) -> list[ReadPassage]:
        """Return the passages whose probability of an answer reaches the threshold."""
        return [item for item in read if item.reading.spans and item.reading.answerable >= self.threshold]

    def _keep_likely_answers(self, item: ReadPassage, *, several: bool) -> list[PassageAnswer]:
        """Return a passage's best answer, and with `several` all others that reach the threshold by themselves."""
        best_first = distinct_answers(item, several=several)
        further = [answer for answer in best_first[1:] if several and answer.probability >= self.threshold]
        return best_first[:1] + further

    def judgement(
        self,
        question: str,
        read: Sequence[ReadPassage],
        terms: QuestionTerms,
        fit: SentenceFit | None = None,
        *,
        several: bool = False,
    ) -> JudgedAnswers:
        """Return the answers of the passages, each judged by how likely it is right; without `fit` it is made here."""
        fit = fit or SentenceFit(question, [item.source for item in read])
        return JudgedAnswers(self.extractive, question, read, terms, fit, several=several)

    def _choose_lead(self, question: str, terms: QuestionTerms, lead: str) -> str:
        """Return the line above evidence: which of the question's names or topics no document has, else `lead`."""
        missing = find_unmentioned_topics(question, self.library, terms)
        return not_mentioned(missing) if missing else lead

    def _draft_evidence(
        self, question: str, read: Sequence[ReadPassage], judgement: JudgedAnswers, fit: SentenceFit, lead: str
    ) -> Draft:
        """Return the quotes nearest to an answer without a claim; NOTHING if they hardly match the question.

        They are, of these, the first that there are: lines of minutes on who attended, fields of forms, rows and log
        lines that the question names, paraphrases of it if the passages are off its topic, and the nearest sentences.
        """
        # A later edition of the document that the question names may be quoted, so `all_sources` stays whole.
        all_sources = [item.source for item in read]
        by_number = {source.n: source for source in all_sources}
        read = [item for item in read if not fit.is_of_other_document(item.source.n)]
        sources = [item.source for item in read]
        lead = ABOUT_THIS if lead == CLOSEST and asks_only_for_lines(question) else lead
        if lines := find_attendance_lines(question, sources):
            return evidence(lines, lead, judgement.why_unclaimed())
        if fields := _keep_lines_with_asked_amount(question, find_named_fields(question, sources)):
            # Not `lead`, which may say that a word stands nowhere: fields are also found by the file's name.
            return evidence(*by_year(question, by_number, fields, CLOSEST), judgement.why_unclaimed())
        if quotes := self._quote_named_rows(question, read, fit, lead):
            quotes = add_sentence_of_likeliest_answer(question, quotes, judgement.answer_worth_showing())
            return evidence(*by_year(question, by_number, quotes, lead), judgement.why_unclaimed())
        ranked = self.compared(question, read, fit)
        is_on_topic = judgement.is_on_topic(ranked) or _has_sentence_with_all_names(question, ranked)
        is_named = fit.names_document and _has_sentence_with_half_the_names(fit.asked, ranked)
        if not is_named and not (is_on_topic and judgement.has_evidence()):
            exact = find_sentences_with_exact_strings(question, sources)
            quotes = exact or self._find_paraphrases(question, sources, ranked, fit)
            why = why_unclaimed("other_words") if quotes and not exact else ""
            quotes = [(n, _extend_quote(question, quote, by_number[n])) for n, quote in quotes]
            quotes = quotes or rows_in_other_words(question, sources)
        else:
            form = form_of(question)
            why = why_unclaimed(form) if form in ("explanation", "verdict") else judgement.why_unclaimed()
            quotes = [(n, _extend_quote(question, text, by_number[n])) for n, text in nearest_quotes(ranked, read, fit)]
            quotes, lead = of_versions(joined_quotes(quotes, by_number), fit, lead)
            quotes, lead = _add_context_of_quotes(question, quotes, all_sources, sources, lead)
            quotes = add_sentence_of_likeliest_answer(question, quotes, judgement.answer_worth_showing())
        lead = _correct_lead(question, by_number, quotes, lead)
        return evidence(*by_year(question, by_number, quotes, lead), why)

    def _quote_named_rows(
        self, question: str, read: Sequence[ReadPassage], fit: SentenceFit, lead: str
    ) -> list[tuple[int, str]]:
        """Return `(passage, line)` of the rows and log lines that a question names, with the nearest sentences.

        Empty if it names none, or if a sentence says more of a requested date or number. The sentences are left out if
        only lines are asked for, and go first if they are nearer to the question than the rows. A row must share two
        words with the question if the `lead`, the line above the quotes, says that no document has a part of it.
        """
        sources = [item.source for item in read]
        has_exact_strings = bool(exact_strings(question))
        rows = [(n, row) for n, row in find_named_lines(question, sources) if may_answer(question, row)]
        rows = _keep_lines_with_asked_amount(question, rows)
        if lead not in (CLOSEST, ABOUT_THIS) and not has_exact_strings:
            subject = frozenset(words(question)) - STOP_WORDS - NO_SUBJECT
            rows = [(n, row) for n, row in rows if _has_two_or_all_terms(subject, row)]
        if not rows or (not has_exact_strings and self._prose_says_more(question, rows, sources)):
            return []
        if asks_only_for_lines(question):
            return rows
        rows = with_rows_for_legends(rows, question, sources)
        if not has_exact_strings and self._prose_is_nearer(question, rows, sources):
            return [*self._find_prose_beside_rows(rows[:1], question, read, fit), *rows[:1]]
        return [*rows, *self._find_prose_beside_rows(rows, question, read, fit)]

    def compared(self, question: str, read: Sequence[ReadPassage], fit: SentenceFit) -> list[ScoredSentence]:
        """Return the sentences of the passages that may answer a question, most similar to it first.

        Rows that cannot answer are left out, unless there is nothing else.
        """
        sources = [item.source for item in read]
        sentences = sentences_of(sources, question)
        may_help = [item for item in sentences if not is_row(item.text) or may_answer(question, item.text)]
        sentences = with_long_forms(question, may_help or sentences, sources)
        # The sentence with the reader's figure is always compared, however few words it shares with the question.
        always: list[int] = []
        if says_of_kind(question) is not None:
            likely = {item.source.n: span for item in read if (span := likely_span(item))}
            always = [i for i, item in enumerate(sentences) if item.n in likely and likely[item.n] in item.text]
        # `fit.asked` lacks the document's name: sentences that only name it would come before what it says.
        wording = fit.asked if fit.asked != fit.question else question
        preferred = preferences([(item.n, item.text) for item in sentences], read)
        return self.sentences.rank(wording, sentences, MAX_COMPARED, always[:MAX_QUOTED], preferred)

    def _prose_says_more(self, question: str, rows: Sequence[tuple[int, str]], sources: Sequence[Source]) -> bool:
        """Return whether a question asks for a date or number, and a sentence has many more of its words than rows."""
        if asked_kind(question) not in ("date", "number"):
            return False
        question_words = frozenset(words(question)) - STOP_WORDS
        most_in_row = max(len(question_words & frozenset(words(row))) for _, row in rows)
        least = most_in_row + CLEAR_WORD_LEAD
        return any(len(question_words & item.terms) >= least for item in _prose_sentences(question, sources))

    def _prose_is_nearer(self, question: str, rows: Sequence[tuple[int, str]], sources: Sequence[Source]) -> bool:
        """Return whether no row has more than half of a question's subject words, and a sentence fits it better.

        Such a sentence has as many subject words as the best row, and more of them with its title and heading.
        """
        subject = frozenset(words(question)) - STOP_WORDS - NO_SUBJECT
        most_in_row = max(len(subject & frozenset(words(row))) for _, row in rows)
        if 2 * most_in_row > len(subject):
            return False
        for item in _prose_sentences(question, sources):
            alone, with_title = len(subject & item.terms), len(subject & (item.terms | item.title_terms))
            if alone >= most_in_row and with_title > most_in_row:
                return True
        return False

    def _find_paraphrases(
        self, question: str, sources: Sequence[Source], ranked: Sequence[ScoredSentence], fit: SentenceFit
    ) -> list[tuple[int, str]]:
        """Return `(passage, sentence)` of the sentences that mean the same in other words, at most two a passage.

        "The alarm company is Sentrel" is found for a question about "the burglar alarm". Only the search's first
        passages are compared; empty if none of the ranked sentences is on topic.
        """
        if max((item.similarity for item in ranked), default=0.0) < LEAST_TOPIC:
            return []
        first = sorted(sources, key=lambda source: source.n)[:MAX_PARAPHRASE_PASSAGES]
        sentences = [item for item in sentences_of(first, question) if not fit.is_heading(item.n, item.text)]
        return alike_quotes(self.sentences.alike(question, sentences, LEAST_SIMILARITY), MAX_QUOTED)

    def _find_prose_beside_rows(
        self, rows: Sequence[tuple[int, str]], question: str, read: Sequence[ReadPassage], fit: SentenceFit
    ) -> list[tuple[int, str]]:
        """Return `(passage, sentence)` of the sentences nearest to a question, from passages without a shown row.

        A sentence must have as many of the question's words as the best row, and one of the question's exact strings if
        any sentence has one. Rows and sentences together are at most `MAX_QUOTED`.
        """
        passages_of_rows = {n for n, _ in rows}
        question_words = frozenset(words(question)) - STOP_WORDS
        least = max((len(question_words & frozenset(words(row))) for _, row in rows), default=0)
        prose = [
            item
            for item in sentences_of([item.source for item in read], question)
            if item.n not in passages_of_rows and not is_row(item.text) and len(question_words & item.terms) >= least
        ]
        strings = exact_strings(question)
        with_string = [item for item in prose if count_held(item.text, strings)] if strings else []
        ranked = self.sentences.rank(question, with_string or prose, MAX_COMPARED)
        return nearest_quotes(ranked, read, fit)[: max(MAX_QUOTED - len(rows), 0)]

    def _choose_option(self, question: str, answering: Sequence[ReadPassage], options: Sequence[str]) -> Draft:
        """Return the option that the passages support best, with an answer and its quote as evidence.

        That answer equals the option, else has it in its sentence, else is the likeliest one.
        """
        groups = group_equal_answers(list(chain.from_iterable(map(distinct_answers, answering))))
        answers = [(group.text, group.confidence) for group in groups]
        choice = self.chooser.choose(question, answering, options, answers)
        equal = next((group for group in groups if same_answer(group.text, choice)), None)
        quoting = next((group for group in groups if choice.casefold() in group.answers[0].quote.casefold()), None)
        best = equal or quoting or groups[0]
        n, quote = best.quotes()[0]
        text = f"{choice} {best.marks}\n\n{plain(quote)} [{n}]" if choice.strip() else f"{plain(quote)} [{n}]"
        return Draft(text, tuple(best.quotes()), choice=choice, short=choice)


def _correct_lead(question: str, sources: Mapping[int, Source], quotes: Sequence[tuple[int, str]], lead: str) -> str:
    """Return the line above quotes; `CLOSEST` for `ABOUT_THIS` if the first quote says nothing about the question."""
    if lead != ABOUT_THIS or not quotes:
        return lead
    n, quote = quotes[0]
    return ABOUT_THIS if says_about(question, sources[n], quote) else CLOSEST


def _extend_quote(question: str, quote: str, source: Source) -> str:
    """Return a quote with the list items that belong to it, else with a neighbouring sentence on the same thing."""
    with_list = extend_to_list_items(question, extend_to_all_steps(question, quote, source), source)
    if with_list != quote:
        return with_list
    return extend_to_list_items(question, with_neighbour(question, quote, source), source)


def _add_context_of_quotes(
    question: str,
    quotes: Sequence[tuple[int, str]],
    all_sources: Sequence[Source],
    sources: Sequence[Source],
    lead: str,
) -> tuple[list[tuple[int, str]], str]:
    """Return quotes and the line above them, with what belongs to the first quote: text behind it, its list, a change.

    A sentence of a later document that changes the first quote goes before it. The line then says that the documents
    give different answers, if that sentence shares a word with the question. Changes and rows for legends are looked
    for in `sources` alone, from which documents are left out if the question names another one.
    """
    quotes = _add_following_text(question, quotes, all_sources) if quotes else list(quotes)
    if quotes and (items := siblings(quotes[0], question, all_sources)):
        quotes = [*items, *quotes[1:]]
    quotes = with_rows_for_legends(quotes, question, sources)
    # That something is now otherwise is no other answer to why it was so.
    if not quotes or asks_why(question):
        return quotes, lead
    n, first = quotes[0]
    source = {source.n: source for source in all_sources}[n]
    change = find_later_change(question, source, first, sources)
    if change is None:
        return quotes, lead
    _, sentence = change
    others = [(number, quote) for number, quote in quotes if sentence not in quote]
    return [change, *others], VERSIONS if shares_word_with_question(question, sentence) else lead


def _add_following_text(
    question: str, quotes: Sequence[tuple[int, str]], sources: Sequence[Source]
) -> list[tuple[int, str]]:
    """Return quotes, behind the first one its remedy in the same passage and its list items in the next passage.

    Other quotes with the same text are left out. There are at most `MAX_QUOTED`, but no added text is cut off.
    """
    (n, quote), *others = quotes
    source = {source.n: source for source in sources}[n]
    added: list[tuple[int, str]] = []
    if remedy := find_following_remedy(question, quote, source):
        quote = _extend_quote(question, remedy, source)
        added.append((n, quote))
    if items := find_items_in_next_passage(question, quote, source, sources):
        added.append(items)
    others = [other for other in others if not _overlaps_any(other, added)]
    return [quotes[0], *added, *others][: max(MAX_QUOTED, len(added) + 1)]


def _overlaps_any(quote: tuple[int, str], others: Sequence[tuple[int, str]]) -> bool:
    """Return whether a quote's text is a part of another quote's text, or the other way round."""
    return any(quote[1] in text or text in quote[1] for _, text in others)


def _add_text_below_same_question(question: str, draft: Draft, sources: Sequence[Source]) -> Draft:
    """Return an unclaimed draft, before its quotes the text that stands below the same question in a document.

    A list of questions and answers has such text. The draft is returned unchanged if it claims an answer, if no
    document asks the question, or if the line above its quotes says more than that they are near. Quotes that are
    questions, bare replies ("Yes.") or in that text are left out.
    """
    if draft.claims and draft.found:
        return draft
    lead = _lead_of(draft)
    below = quotes_below(question, sources) if only_says_near(lead) else []
    if not below:
        return draft
    others = [
        (n, quote)
        for n, quote in draft.quotes
        if not is_bare_reply(quote) and not is_question(quote) and not _overlaps_any((n, quote), below)
    ]
    return evidence([*below, *others][: max(MAX_QUOTED, len(below))], lead, draft.unclaimed)


def _lead_of(draft: Draft) -> str:
    """Return the line above the quotes of an unclaimed draft; `CLOSEST` if it has none."""
    return draft.text.split("\n\n")[0] if draft.found else CLOSEST


def _draft_long_form(question: str, sources: Sequence[Source]) -> Draft | None:
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


def _draft_from_tables(question: str, sources: Sequence[Source], fit: SentenceFit) -> Draft | None:
    """Return the answer of the first rule that finds one in rows or cells of tables; None if no rule does."""
    draft = (
        answer_comparison(question, fit, CLOSEST)
        or compared_rows(question, sources, CLOSEST)
        or rows_with_such_figures(question, sources, CLOSEST)
        or marked_rows(question, sources)
        or explained_rows(question, sources)
        or rows_without_any(question, sources)
        or rows_not_listing_any(question, sources)
    )
    # The rules above read whole columns, also for what is not so; one cell, as below, says neither why nor whether.
    if draft or form_of(question) in ("explanation", "verdict") or fit.denying or ends_in_fragment(question):
        return draft
    draft = answer_from_size_classes(question, sources, CLOSEST)
    if draft or (draft := answer_extreme_from_table(question, sources, CLOSEST)):
        return draft
    cell = table_answer(question, sources)
    if cell and has_no_value(cell.cell):
        return evidence([(cell.n, cell.quote)], CLOSEST, why_unclaimed("no_value"))
    return _draft_cell(cell) if cell else None


def _draft_cell(answer: TableAnswer) -> Draft:
    """Return the draft for a table's cell: its value, the labels of its row and column, and the row as a quote."""
    value = with_currency(answer.cell, answer.column)
    short = f"{value} ({answer.scale})" if answer.scale else value
    labelled = f"{short} [{answer.n}]\n\nRow: {answer.row}; column: {answer.column}."
    return Draft(f"{labelled}\n\n{plain(answer.quote)} [{answer.n}]", ((answer.n, answer.quote),), short=short)


def _draft_claims(claims: Sequence[ClaimableAnswer], *, several: bool) -> Draft | None:
    """Return the draft that claims the first answer, or with `several` all answers; None without answers.

    The probability of a list is that of its least likely answer.
    """
    if not claims:
        return None
    claims = claims if several else claims[:1]
    groups = [claim.group for claim in claims]
    quotes = dict.fromkeys(chain.from_iterable(group.quotes() for group in groups))
    text = _list_answers(groups) if len(groups) > 1 else groups[0].line()
    short = "; ".join(group.text for group in groups)
    return Draft(text, tuple(quotes), short=short, confidence=min(claim.confidence for claim in claims))


def _list_answers(groups: Sequence[AnswerGroup]) -> str:
    """Return several answers, one on each line, followed by the sentences around them, each once."""
    lines = "\n".join(f"- {group.text} {group.marks}" for group in groups)
    sentences = dict.fromkeys((group.answers[0].source.n, plain(group.answers[0].quote)) for group in groups)
    return "\n\n".join([lines, *(f"{quote} [{n}]" for n, quote in sentences)])


def _extract_sentences(answers: Sequence[PassageAnswer]) -> Extract:
    """Return an extract of the sentences around some answers, each once."""
    sentences = dict.fromkeys((answer.source.n, answer.source.title, answer.quote) for answer in answers)
    return extract_of(list(sentences))
