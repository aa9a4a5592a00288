"""Answers that an extractive reader finds in passages, each read by itself, and groups of equal answers."""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from preflight_rag.corg.agreement import same_answer
from preflight_rag.models.reading.extractive_reader import PassageReading, Span
from preflight_rag.state.reading import Source
from preflight_rag.text.dates import MONTH
from preflight_rag.text.log_lines import is_log_line
from preflight_rag.text.money import asks_sum, has_currency, is_price_in
from preflight_rag.text.numbered_parts import ITEM_NUMBER
from preflight_rag.text.other_things import subject_words
from preflight_rag.text.question_forms import is_list
from preflight_rag.text.quotes import plain, quote_around
from preflight_rag.text.sentences import sentence_spans
from preflight_rag.text.tables import overlaps_error
from preflight_rag.text.values import figures_of, last_question
from preflight_rag.text.words import STOP_WORDS, words, words_by_token

RANK_PENALTY = 0.2
"""Amount subtracted from the log odds of a passage's answers for each rank of the passage in the search. Chosen on
BioASQ's development questions."""
AGREEMENT = 0.15
"""Exponent of the number of agreeing passages, by which the odds of their answer grow. Set by hand."""
LEAST_CITED = 0.3
"""Minimum probability at which another passage than the first one is cited for an answer; a guess."""
MAX_EXTRA_WORDS = 6
"""Maximum number of words that one of two equal answers may have more than the other. A guess."""
PROBABILITY_MARGIN = 1e-4
"""Minimum distance of a probability from 0 and 1 when its odds are taken."""
_ASKS_HOW_MANY = re.compile(r"\bhow many (?P<noun>[\w-]+)", re.IGNORECASE)
_COUNTED_NOUN = re.compile(r"(?<![\w.,])(?P<number>\d[\d,]*) (?P<noun>[^\W\d][\w-]*)")
"""A number with the noun that it counts: "96 goals"."""
PROBABILITY_DECIMALS = 4


@dataclass(frozen=True)
class ReadPassage:
    """A passage with the extractive reader's result for it."""

    source: Source
    reading: PassageReading

    @property
    def bearing(self) -> float:
        """The higher of the passage's relevance and its probability to answer."""
        return max(self.reading.answerable, self.reading.relevance or 0.0)

    @property
    def weight(self) -> float:
        """The passage's weight in a verdict: its probability to answer, times its relevance if that is known."""
        relevance = 1.0 if self.reading.relevance is None else self.reading.relevance
        return round(self.reading.answerable * relevance, PROBABILITY_DECIMALS)


_FIGURE = re.compile(
    r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|forty|fifty|hundred|thousand"
    r"|half|none|no|once|twice|dozen)\b",
    re.I,
)
_RANGE_START_BEFORE = re.compile(
    r"\b(?:from|between) (?P<first>\d[\w.:,]*(?: [A-Z][a-z]{2,8})?(?: \d{4})?|[A-Z][a-z]{2,8} \d{1,2}(?:, \d{4})?)"
    r" (?:to|until|till|through|and) $"
)
_LIMITS = r"up to|at (?:least|most)|(?:no|not) (?:more|less|fewer|later|earlier) than|(?:more|less|fewer) than"
_LIMIT_AT_BEGINNING = re.compile(rf"^(?i:{_LIMITS}|about|approximately|roughly|almost|nearly) ")
_QUALIFIER_BEFORE = re.compile(
    r"(?:(?:(?<=[:|] )|(?<=\ba )|(?<=\bof )|(?<=\bis )|(?<=\bwas )|(?<=\bby ))[-−]"
    r"|(?<![^\s(:|])(?<!\bis )(?<!\bare )(?<!\bwas )(?<!\ball )(?<!\bbook )(?<!\bfilm )"
    rf"(?i:{_LIMITS}|about|approximately|roughly|almost|nearly) [$€£¥]?)\Z"
)
"""A minus sign behind a label or an article, or words that make a figure a limit or a guess; no theme of a book."""
_LONE_YEAR = re.compile(r"(?:19|20)\d\d")
# The rest of a date of which the reader took the year alone: "on 12 June " before it, or "-06-12" behind it.
_DAY_BEFORE = re.compile(rf"\b(?P<first>(?i:\d{{1,2}}(?:st|nd|rd|th)? {MONTH}|{MONTH}(?: \d{{1,2}})?)),? $")
_DAY_BEHIND = re.compile(r"-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])(?![\w-])(?: \d\d:\d\d(?!\d))?")
_MODAL_END = re.compile(r"(?<=\d) may$")
"""The verb "may" behind a number, which looks like a month: "8 may" of "Children from 8 may turn it"."""
_VERB_BEHIND = re.compile(r" [a-z]{2,}")
_COUNTED_NOUN_BEHIND = re.compile(
    r" (?!(?:and|or|but|to|at|in|on|of|by|for|from|with|until|when|as|the|after|before|if|it|he|she|we|they|is|was|has"
    r"|had|will|may|did|that|which|who|because|since|while|so|then|there|this|a|an)\b)[a-z]{3,}"
)
"""The noun behind a number that counts it, so that the number is no year: "2000 workers"."""
_MAX_RANGE_CHARACTERS = 40
"""Number of characters before a span in which its range may begin; "between 26 September 2024 and " has 30."""
_ASKS_PEOPLE = re.compile(
    r"^\W*who (?:are|were|will be)\b|\b(?:which|what) (?:people|persons)\b"
    r"|^\W*who (?:is|was) (?:in |on )?the (?:\w+ )?(?:jury|panel|team|committee|board|crew|staff|band|cast|group)\b",
    re.IGNORECASE,
)
# A name behind or before another one in a list: ", Bo Dahl", "Bo Dahl and ".
_NAME_BEHIND = re.compile(r"(?:,| and| &|, and)\s(?:[a-z0-9]{1,30} ){0,5}(?:of \d{4}, )?[A-Z][\w'’-]")
_NAME_BEFORE = re.compile(r"\b[A-Z][\w'’-]{1,40}(?:,| and| &|, and)\s(?:[a-z0-9]{1,30} ){0,5}(?:of \d{4}, |\d{4}, )?$")
_ASKED_NOUN = re.compile(r"\W*(?:which|what) (?P<noun>[^\W\d_]{3,30})\b", re.IGNORECASE)
_WORDS_BEHIND = re.compile(r"(?:\s[^\W\d_]{2,30}){1,4}")
_WORD_BEHIND = re.compile(r"\s(?P<word>[^\W\d_]{2,30})")
_CLAUSE_END = re.compile(r"[,;] |\s(?:and|but|while|whereas)\s", re.I)
MAX_MISSING_WORDS = 1
"""Maximum number of question words in an answer's first sentence that another sentence cited with it may lack; a
guess."""
_MAX_CLAUSE_WORDS = 8
"""Maximum number of words of a clause that names a thing and its figure; a guess."""
_SUFFIX = "Inc|Incorporated|Ltd|LLC|LLP|Corp|GmbH|Jr|Sr|Esq|Mr|Mrs|Ms|Dr|Prof"
_PART_OF_NAME = re.compile(rf"^\W*(?:{_SUFFIX})\W*$|^\W*(?:Jr|Sr)(?:\.,?|,) \w")
"""Matches an answer that is no more than the end of a name, or begins with it: "Inc", "Jr. Robert J. Decker"."""


@dataclass(frozen=True)
class PassageAnswer:
    """An answer in one passage.

    Attributes:
        source: The passage.
        span: The answer's place in the passage.
        probability: The probability that the passage answers with this span.
    """

    source: Source
    span: Span
    probability: float

    @property
    def text(self) -> str:
        """The answer as running text, without line breaks and marks."""
        return plain(self.span.text) or " ".join(self.span.text.split())

    @property
    def ranking_score(self) -> float:
        """The answer's score for ranking: its log odds, reduced by its passage's rank in the search."""
        probability = min(max(self.probability, PROBABILITY_MARGIN), 1 - PROBABILITY_MARGIN)
        return round(math.log(probability / (1 - probability)) - RANK_PENALTY * self.source.n, PROBABILITY_DECIMALS)

    @property
    def quote(self) -> str:
        """The sentence around the answer, verbatim."""
        return self.source.text[slice(*quote_around(self.source.text, self.span.start, self.span.end))]


@dataclass(frozen=True)
class AnswerGroup:
    """Passages with the same answer, the best-ranked first.

    `confidence` is the probability of the likeliest passage's answer, raised a little by the passages that agree.
    """

    answers: tuple[PassageAnswer, ...]
    confidence: float

    @property
    def ranking_score(self) -> float:
        """The group's score for ranking: that of the first passage, raised a little by the passages that agree."""
        return round(self.answers[0].ranking_score + AGREEMENT * math.log(len(self.answers)), PROBABILITY_DECIMALS)

    @property
    def text(self) -> str:
        """The answer as the first passage words it."""
        return self.answers[0].text

    @property
    def cited(self) -> tuple[PassageAnswer, ...]:
        """The passages to cite: the first one, and others that are likely and say the whole answer in one sentence.

        "Paul Allen" counts as equal to "Bill Gates and Paul Allen", but its sentence does not say the whole answer. A
        line of a log is cited only beside another one: it may just name the person who is the answer.
        """
        first, *others = self.answers
        may_cite_log = is_log_line(first.quote)
        cited = [first]
        for answer in others:
            is_sure = answer.probability >= LEAST_CITED and _sentence_says(answer, self.text)
            if is_sure and (may_cite_log or not is_log_line(answer.quote)):
                cited.append(answer)
        return tuple(cited)

    @property
    def marks(self) -> str:
        """The citation marks of the cited passages, by number."""
        return "".join(f"[{n}]" for n in sorted({item.source.n for item in self.cited}))

    def line(self) -> str:
        """Return the answer with its citation marks, and the first sentence around it if that says more."""
        quote = plain(self.answers[0].quote)
        if quote.strip(" .").casefold() == self.text.strip(" .").casefold():
            return f"{quote} {self.marks}"
        return f"{self.text} {self.marks}\n\n{quote} [{self.answers[0].source.n}]"

    def quotes(self) -> list[tuple[int, str]]:
        """Return `(passage, sentence)` of the sentence around each cited answer."""
        return [(item.source.n, item.quote) for item in self.cited]


def _sentence_says(item: PassageAnswer, answer: str) -> bool:
    """Return whether a passage's sentence has all words of an answer, or its own answer has the same figures."""
    if frozenset(words(answer)) <= frozenset(words_by_token(item.quote)):
        return True
    figures = figures_of(answer)
    return bool(figures) and figures == figures_of(item.text)


def has_as_many_question_words(question: str, first: PassageAnswer, other: PassageAnswer) -> bool:
    """Return whether another answer's sentence has the question words of the first one's, all but one at most."""
    shared = subject_words(question) & frozenset(words(first.quote))
    return len(shared - frozenset(words(other.quote))) <= MAX_MISSING_WORDS


def extend_to_asked_noun(question: str, answer: PassageAnswer) -> PassageAnswer:
    """Return an answer extended by the words behind it if one of the next four is the noun that the question asks for.

    For "What toy is it named for?" the answer "the rubber" of "named for the rubber toy penguin with a bow tie" becomes
    "the rubber toy penguin". An answer without that noun behind it is returned unchanged.
    """
    asked, text = _ASKED_NOUN.match(last_question(question)), answer.source.text
    following = _WORDS_BEHIND.match(text, answer.span.end)
    if asked is None or following is None:
        return answer
    noun = asked["noun"].casefold()
    # In "The red boat sank" the verb of "What boat sank?" ends the name "red boat".
    ending_words = STOP_WORDS | (frozenset(question.casefold().strip("?! ").split()) - {noun})
    end, has_noun = answer.span.end, False
    for match in _WORD_BEHIND.finditer(text, answer.span.end, following.end()):
        word = match["word"].casefold()
        if word in ending_words:
            break
        end = match.end()
        has_noun = has_noun or word == noun
    if not has_noun:
        return answer
    return replace(answer, span=replace(answer.span, end=end, text=text[answer.span.start : end]))


def is_one_of_listed_people(question: str, answer: PassageAnswer) -> bool:
    """Return whether a question asks for a group of people, and the answer is one name of a list in its sentence.

    "Luis Ferro" is not the whole jury of "The jury will be Luis Ferro, Oona Reilly and Samir Haddad".
    """
    if not _ASKS_PEOPLE.search(last_question(question)) or is_list(answer.text):
        return False
    start = answer.quote.find(answer.span.text)
    before, behind = answer.quote[: max(start, 0)], answer.quote[start + len(answer.span.text) :]
    return start >= 0 and bool(_NAME_BEHIND.match(behind) or _NAME_BEFORE.search(before))


def has_figure(text: str) -> bool:
    """Return whether a text has a digit or a common number word, such as "twelve", "half" or "once"."""
    return bool(_FIGURE.search(text))


def counts_something_else(question: str, answer: PassageAnswer) -> bool:
    """Return whether a question asks "how many", and an answer counts other things, or is a price.

    "96 goals" does not answer "How many games …?" out of "He scored 96 goals in 306 games". It only counts as a wrong
    answer if its sentence has another number of the things that are asked for.
    """
    asked = _ASKS_HOW_MANY.search(question)
    if asked is None:
        return False
    if is_price_in(answer.quote, answer.text) and not asks_sum(question) and not has_currency(question):
        return True
    counted = _COUNTED_NOUN.match(without_limit(answer.text))
    asked_noun = frozenset(words(asked["noun"]))
    if counted is None or not asked_noun or asked_noun & frozenset(words(answer.text)):
        return False
    return any(
        asked_noun & frozenset(words(match["noun"])) and match["number"] != counted["number"]
        for match in _COUNTED_NOUN.finditer(answer.quote)
    )


def is_figure_of_another_thing(question: str, answer: PassageAnswer) -> bool:
    """Return whether an answer is a figure, and another clause of its sentence has the figure that is asked for.

    "5 EUR" does not answer "What do children pay?" out of "Adults pay 5 EUR, children 3 EUR". The right clause is
    short, has a figure, and begins with a word of the question that the answer's clause lacks.
    """
    start = answer.quote.find(answer.span.text)
    if start < 0 or not has_figure(answer.text):
        return False
    borders = [0, *(match.end() for match in _CLAUSE_END.finditer(answer.quote)), len(answer.quote)]
    clauses = [answer.quote[begin:end] for begin, end in pairwise(borders)]
    own_clause = clauses[bisect_right(borders, start, hi=len(clauses)) - 1]
    missing = frozenset(words(question)) - STOP_WORDS - frozenset(words(own_clause))
    for clause in clauses:
        first_word = next((word for word in words(clause) if word not in STOP_WORDS), "")
        if first_word in missing and len(clause.split()) <= _MAX_CLAUSE_WORDS and has_figure(clause):
            return True
    return False


def distinct_answers(item: ReadPassage, *, several: bool = False) -> list[PassageAnswer]:
    """Return the different answers of a passage, most probable first.

    Cells with an error, ends of names ("Inc") and numbers of list items are left out.

    Args:
        item: The passage with the reader's spans.
        several: Whether several answers may be right. Then each has the passage's probability, reduced as its span is
            worse than the best one. Otherwise the spans are alternatives, which share that probability.
    """
    text = item.source.text
    spans = [
        span
        for span in cut_to_one_sentence(text, item.reading.spans)
        if not overlaps_error(text, span.start, span.end)
        and not _PART_OF_NAME.match(span.text)
        and not _is_item_number(text, span)
    ]
    best_margin = max((span.margin for span in spans), default=0.0)
    # Relative to the best span, as `exp` of a large margin may overflow.
    odds = [math.exp(span.margin - best_margin) for span in spans]
    answers: list[PassageAnswer] = []
    for span, span_odds in zip(spans, odds, strict=True):
        share = _sigmoid(span.margin) / _sigmoid(best_margin) if several else span_odds / sum(odds)
        probability = round(item.reading.answerable * share, PROBABILITY_DECIMALS)
        equal = next((i for i, other in enumerate(answers) if are_equal_answers(other.text, span.text)), None)
        if equal is None:
            answers.append(PassageAnswer(item.source, span, probability))
        # The shares of equal alternatives add up; with `several` the first one has the whole probability already.
        elif not several:
            total = round(answers[equal].probability + probability, PROBABILITY_DECIMALS)
            answers[equal] = replace(answers[equal], probability=total)
    return sorted(answers, key=lambda answer: (-answer.probability, answer.span.start))


def _is_item_number(text: str, span: Span) -> bool:
    """Return whether a span is the number of a list item at the beginning of a line: the 3 of "3. Delay a vote"."""
    item = ITEM_NUMBER.match(text, text.rfind("\n", 0, span.start) + 1)
    return item is not None and item.start("number") <= span.start and span.end <= item.end()


def cut_to_one_sentence(text: str, spans: Sequence[Span]) -> list[Span]:
    """Return a text's spans, each cut at the end of the sentence in which it begins.

    A span of a figure is first extended to its whole range, limit or date; a verb "may" at a span's end is cut off.
    """
    sentences = sentence_spans(text) if spans else []
    result = []
    for span in spans:
        span = _extend_to_whole_figure(text, span)
        end = next((end for start, end in sentences if start <= span.start < end), span.end)
        within = text[span.start : min(end, span.end)]
        if end < span.end:
            within = within.rstrip(".!?;: \n")
        if _VERB_BEHIND.match(text, span.end):
            within = _MODAL_END.sub("", within)
        is_cut = within and len(within) < len(span.text)
        result.append(replace(span, end=span.start + len(within), text=within) if is_cut else span)
    return result


def _extend_to_whole_figure(text: str, span: Span) -> Span:
    """Return a span of a figure with what belongs to the figure before or behind it in the text.

    Before it: the first part of a range ("from 9" of "from 9 to 20 November"), a minus sign, a limit ("up to",
    "about"), or the day of a year ("12 June 1990"). Behind it: month and day of a year ("1990-06-12").
    """
    if not has_figure(span.text):
        return span
    begin = max(0, span.start - _MAX_RANGE_CHARACTERS)
    first_part = _RANGE_START_BEFORE.search(text, begin, span.start)
    qualifier = _QUALIFIER_BEFORE.search(text, begin, span.start)
    is_year = _LONE_YEAR.fullmatch(span.text) and not _COUNTED_NOUN_BEHIND.match(text, span.end)
    if first_part is None and qualifier is None and is_year:
        first_part = _DAY_BEFORE.search(text, begin, span.start)
    if is_year and (day := _DAY_BEHIND.match(text, span.end)):
        return replace(span, end=day.end(), text=text[span.start : day.end()])
    if first_part:
        start = first_part.start("first")
    elif qualifier:
        start = qualifier.start()
    else:
        return span
    return replace(span, start=start, text=text[start : span.end])


def without_limit(text: str) -> str:
    """Return an answer without the limit before its figure, such as "up to" or "about"."""
    return _LIMIT_AT_BEGINNING.sub("", text)


def _sigmoid(margin: float) -> float:
    """Return the probability of a span, and not "no answer here", from its margin in logits."""
    return 1 / (1 + math.exp(-max(-30.0, min(30.0, margin))))


def group_equal_answers(answers: Sequence[PassageAnswer]) -> list[AnswerGroup]:
    """Return the answers of all passages as groups of equal ones, the group with the highest score first.

    Of several equal answers of one passage only the best counts.
    """
    groups: list[list[PassageAnswer]] = []
    for item in sorted(answers, key=lambda item: (-item.ranking_score, item.source.n, item.span.start)):
        group = next((group for group in groups if are_equal_answers(group[0].text, item.text)), None)
        if group is None:
            groups.append([item])
        # A passage that gives an answer twice does not agree with itself.
        elif all(other.source.n != item.source.n for other in group):
            group.append(item)
    result = [
        AnswerGroup(tuple(group), combine_probabilities([item.probability for item in group])) for group in groups
    ]
    return sorted(
        result, key=lambda group: (-group.ranking_score, group.answers[0].source.n, group.answers[0].span.start)
    )


def are_equal_answers(a: str, b: str) -> bool:
    """Return whether two answers say the same.

    An answer that is more than `MAX_EXTRA_WORDS` longer, or has another limit ("more than 50"), says something else.
    """
    limit_a, limit_b = _LIMIT_AT_BEGINNING.match(a), _LIMIT_AT_BEGINNING.match(b)
    if limit_a and limit_b and limit_a[0].casefold() != limit_b[0].casefold():
        return False
    return abs(len(a.split()) - len(b.split())) <= MAX_EXTRA_WORDS and same_answer(a, b)


def combine_probabilities(probabilities: Sequence[float]) -> float:
    """Return the probability of an answer that several passages give: a little more than the highest of theirs.

    The passages are far from independent: those of one collection repeat each other, and a reader errs alike on similar
    ones.
    """
    best = min(max(probabilities), 1 - PROBABILITY_MARGIN)
    odds = best / (1 - best) * math.pow(len(probabilities), AGREEMENT)
    return round(odds / (1 + odds), PROBABILITY_DECIMALS)
