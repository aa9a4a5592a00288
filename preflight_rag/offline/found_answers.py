"""Answers that an extractive reader finds in passages, each read by itself, and equal ones put together."""

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
"""Decrease of the log odds of a passage's answers for each place in the search's order, when answers are ranked. Chosen
on BioASQ's development questions."""
AGREEMENT = 0.15
"""Power of the number of passages that agree, in the odds of their answer. Set by hand; no command shows it."""
LEAST_CITED = 0.3
"""Least probability at which a passage beside the first one is cited for its answer; a guess."""
MAX_EXTRA_WORDS = 6
"""Words that one of two equal answers may have more than the other. A guess."""
PROBABILITY_MARGIN = 1e-4
"""Least distance of a probability from 0 and 1 when its odds are taken."""
_HOW_MANY = re.compile(r"\bhow many (?P<what>[\w-]+)", re.IGNORECASE)
_COUNT = re.compile(r"(?<![\w.,])(?P<number>\d[\d,]*) (?P<what>[^\W\d][\w-]*)")
PROBABILITY_DECIMALS = 4
"""Decimals of a probability."""


@dataclass(frozen=True)
class ReadPassage:
    """A passage with the extractive reader's result for it."""

    source: Source
    reading: PassageReading

    @property
    def bearing(self) -> float:
        """The passage's relevance to a verdict: the higher of its relevance and its probability to answer."""
        return max(self.reading.answerable, self.reading.relevance or 0.0)

    @property
    def weight(self) -> float:
        """The passage's weight in a verdict: its probability to answer, times its relevance if that is known."""
        return round(self.reading.answerable * (1.0 if self.reading.relevance is None else self.reading.relevance), 4)


_FIGURE = re.compile(
    r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|forty|fifty|hundred|thousand"
    r"|half|none|no|once|twice|dozen)\b",
    re.I,
)
_RANGE_BEGINS = re.compile(
    r"\b(?:from|between) (?P<first>\d[\w.:,]*(?: [A-Z][a-z]{2,8})?(?: \d{4})?|[A-Z][a-z]{2,8} \d{1,2}(?:, \d{4})?)"
    r" (?:to|until|till|through|and) $"
)
_LIMITS = r"up to|at (?:least|most)|(?:no|not) (?:more|less|fewer|later|earlier) than|(?:more|less|fewer) than"
_LIMIT = re.compile(rf"^(?i:{_LIMITS}|about|approximately|roughly|almost|nearly) ")
_QUALIFIED = re.compile(
    r"(?:(?:(?<=[:|] )|(?<=\ba )|(?<=\bof )|(?<=\bis )|(?<=\bwas )|(?<=\bby ))[-−]"
    r"|(?<![^\s(:|])(?<!\bis )(?<!\bare )(?<!\bwas )(?<!\ball )(?<!\bbook )(?<!\bfilm )"
    rf"(?i:{_LIMITS}|about|approximately|roughly|almost|nearly) [$€£¥]?)\Z"
)
"""A minus sign behind a label or an article, or words that make a figure a limit or a guess; no theme of a book."""
_LONE_YEAR = re.compile(r"(?:19|20)\d\d")
_DAY_BEFORE = re.compile(rf"\b(?P<first>(?i:\d{{1,2}}(?:st|nd|rd|th)? {MONTH}|{MONTH}(?: \d{{1,2}})?)),? $")
_DAY_BEHIND = re.compile(r"-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])(?![\w-])(?: \d\d:\d\d(?!\d))?")
"""The day and month behind a year, or before it, if the year is all that the reader took of a date."""
_MODAL_END = re.compile(r"(?<=\d) may$")
"""The verb behind an age or a number, which looks like a month: "8 may" of "Children from 8 may turn it"."""
_VERB_BEHIND = re.compile(r" [a-z]{2,}")
_COUNTED_BEHIND = re.compile(
    r" (?!(?:and|or|but|to|at|in|on|of|by|for|from|with|until|when|as|the|after|before|if|it|he|she|we|they|is|was|has"
    r"|had|will|may|did|that|which|who|because|since|while|so|then|there|this|a|an)\b)[a-z]{3,}"
)
"""A word behind a number that it counts: "2000 workers" is no year."""
_LONGEST_RANGE = 40
"""Characters before a span in which its range begins; "between 26 September 2024 and " has 30."""
_ASKS_PEOPLE = re.compile(
    r"^\W*who (?:are|were|will be)\b|\b(?:which|what) (?:people|persons)\b"
    r"|^\W*who (?:is|was) (?:in |on )?the (?:\w+ )?(?:jury|panel|team|committee|board|crew|staff|band|cast|group)\b",
    re.IGNORECASE,
)
_NAME_BEHIND = re.compile(r"(?:,| and| &|, and)\s(?:[a-z0-9]{1,30} ){0,5}(?:of \d{4}, )?[A-Z][\w'’-]")
_NAME_BEFORE = re.compile(r"\b[A-Z][\w'’-]{1,40}(?:,| and| &|, and)\s(?:[a-z0-9]{1,30} ){0,5}(?:of \d{4}, |\d{4}, )?$")
_WHICH = re.compile(r"\W*(?:which|what) (?P<noun>[^\W\d_]{3,30})\b", re.IGNORECASE)
_WORDS_BEHIND = re.compile(r"(?:\s[^\W\d_]{2,30}){1,4}")
_WORD_BEHIND = re.compile(r"\s(?P<word>[^\W\d_]{2,30})")
_PART_END = re.compile(r"[,;] |\s(?:and|but|while|whereas)\s", re.I)
MOST_MISSING = 1
"""Words of the question in an answer's first sentence that another one, cited with it, may lack; a guess."""
_LONGEST_PART = 8
"""Words of a part that names a thing and its figure; a guess."""


_SUFFIX = "Inc|Incorporated|Ltd|LLC|LLP|Corp|GmbH|Jr|Sr|Esq|Mr|Mrs|Ms|Dr|Prof"
_PART_OF_NAME = re.compile(rf"^\W*(?:{_SUFFIX})\W*$|^\W*(?:Jr|Sr)(?:\.,?|,) \w")
"""Matches an answer that is no more than the end of a name, or begins with it: "Inc", "Jr. Robert J. Decker"."""


@dataclass(frozen=True)
class PassageAnswer:
    """An answer in one passage.

    Attributes:
        source: The passage.
        span: The answer's place in the passage.
        probability: The passage's probability to answer, times the span's share of it.
    """

    source: Source
    span: Span
    probability: float

    @property
    def text(self) -> str:
        """The answer as running text."""
        return plain(self.span.text) or " ".join(self.span.text.split())

    @property
    def ranking_score(self) -> float:
        """The answer's score for ranking: its log odds, reduced by its passage's rank in the search."""
        probability = min(max(self.probability, PROBABILITY_MARGIN), 1 - PROBABILITY_MARGIN)
        return round(math.log(probability / (1 - probability)) - RANK_PENALTY * self.source.n, PROBABILITY_DECIMALS)

    @property
    def quote(self) -> str:
        """The sentence around it, verbatim."""
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
        """The passages to cite: the first, and the others that answer alone and with all of it in one sentence.

        "Paul Allen" counts as agreeing with "Bill Gates and Paul Allen", but its sentence does not say the whole
        answer; and a line of a log with the name of who has the key does not say that she has it.
        """
        first, *others = self.answers
        saying = (item for item in others if item.probability >= LEAST_CITED and _says(item, self.text))
        logged = is_log_line(first.quote)
        return (first, *(item for item in saying if logged or not is_log_line(item.quote)))

    @property
    def marks(self) -> str:
        """The citation marks of the cited passages, by number."""
        return "".join(f"[{n}]" for n in sorted({item.source.n for item in self.cited}))

    def line(self) -> str:
        """Return the answer with its marks, and the sentence around it if that says more."""
        quote = plain(self.answers[0].quote)
        if quote.strip(" .").casefold() == self.text.strip(" .").casefold():
            return f"{quote} {self.marks}"
        return f"{self.text} {self.marks}\n\n{quote} [{self.answers[0].source.n}]"

    def quotes(self) -> list[tuple[int, str]]:
        """Return the sentence around each cited passage's answer."""
        return [(item.source.n, item.quote) for item in self.cited]


def _says(item: PassageAnswer, answer: str) -> bool:
    """Return whether a passage's sentence contains all words of an answer, or the same figures in other words."""
    figures = figures_of(answer)
    return frozenset(words(answer)) <= frozenset(words_by_token(item.quote)) or (
        bool(figures) and figures == figures_of(item.text)
    )


def has_as_many_question_words(question: str, first: PassageAnswer, other: PassageAnswer) -> bool:
    """Return whether a sentence has as many of a question's words as that of the first answer, but for one."""
    shared = subject_words(question) & frozenset(words(first.quote))
    return len(shared - frozenset(words(other.quote))) <= MOST_MISSING


def extend_to_asked_noun(question: str, answer: PassageAnswer) -> PassageAnswer:
    """Return an answer that ends before the noun that is asked for, with that noun and those it belongs to.

    "the rubber" of "named for the rubber toy penguin with a red bow tie" names no toy.
    """
    asked, text = _WHICH.match(last_question(question)), answer.source.text
    if asked is None:
        return answer
    behind = _WORDS_BEHIND.match(text, answer.span.end)
    noun, kept, is_reached = asked["noun"].casefold(), answer.span.end, False
    # In "The red boat sank" the verb of "What boat sank?" ends the name "red boat".
    ends_it = STOP_WORDS | (frozenset(question.casefold().strip("?! ").split()) - {noun})
    for match in _WORD_BEHIND.finditer(text, answer.span.end, behind.end()) if behind else ():
        if (word := match["word"].casefold()) in ends_it:
            break
        kept, is_reached = match.end(), is_reached or word == noun
    if not is_reached:
        return answer
    return replace(answer, span=replace(answer.span, end=kept, text=text[answer.span.start : kept]))


def is_one_of_listed_people(question: str, answer: PassageAnswer) -> bool:
    """Return whether a question asks for a group of people, and the answer is one of a list that its sentence gives.

    "Luis Ferro" is not the whole jury of "The jury will be Luis Ferro, Oona Reilly and Samir Haddad".
    """
    if not _ASKS_PEOPLE.search(last_question(question)) or is_list(answer.text):
        return False
    start = answer.quote.find(answer.span.text)
    before, behind = answer.quote[: max(start, 0)], answer.quote[start + len(answer.span.text) :]
    return start >= 0 and bool(_NAME_BEHIND.match(behind) or _NAME_BEFORE.search(before))


def has_figure(text: str) -> bool:
    """Return whether a text has a number, in digits or as one of the commonest words."""
    return bool(_FIGURE.search(text))


def counts_something_else(question: str, answer: PassageAnswer) -> bool:
    """Return whether an answer counts something else while its sentence also counts what the question asks for.

    "96 goals" does not answer "How many games ...?" out of "He scored 96 goals in 306 games". A price counts nothing.
    """
    asked = _HOW_MANY.search(question)
    if asked and is_price_in(answer.quote, answer.text) and not asks_sum(question) and not has_currency(question):
        return True
    counted = _COUNT.match(without_limit(answer.text))
    wanted = frozenset(words(asked["what"])) if asked else frozenset[str]()
    if not wanted or not counted or wanted & frozenset(words(answer.text)):
        return False
    return any(
        wanted & frozenset(words(match["what"])) and match["number"] != counted["number"]
        for match in _COUNT.finditer(answer.quote)
    )


def is_figure_of_another_thing(question: str, answer: PassageAnswer) -> bool:
    """Return whether a figure is in a part of its sentence that is about another thing than the question.

    "5 EUR" does not answer "What do children pay?" out of "Adults pay 5 EUR, children 3 EUR": a part that begins with a
    word of the question, and has a figure of its own, answers it.
    """
    asked, start = frozenset(words(question)) - STOP_WORDS, answer.quote.find(answer.span.text)
    if start < 0 or not has_figure(answer.text):
        return False
    ends = [0, *(match.end() for match in _PART_END.finditer(answer.quote)), len(answer.quote)]
    parts = [answer.quote[begin:end] for begin, end in pairwise(ends)]
    stated = frozenset(words(parts[bisect_right(ends, start, hi=len(parts)) - 1]))
    for part in parts:
        named = next((word for word in words(part) if word not in STOP_WORDS), "")
        if named in asked - stated and len(part.split()) <= _LONGEST_PART and has_figure(part):
            return True
    return False


def distinct_answers(item: ReadPassage, *, several: bool = False) -> list[PassageAnswer]:
    """Return the different answers of a passage, best first.

    The spans of a passage share its probability, as alternatives of which one is right; with `several`, where more
    than one may be, each has it as far as the span is better than none.
    """
    text = item.source.text
    spans = [
        span
        for span in cut_to_one_sentence(text, item.reading.spans)
        if not overlaps_error(text, span.start, span.end)
        and not _PART_OF_NAME.match(span.text)
        and not _is_item_number(text, span)
    ]
    top = max((span.margin for span in spans), default=0.0)
    # Relative to the best span, as `exp` of a large margin may overflow.
    odds = [math.exp(span.margin - top) for span in spans]
    found: list[PassageAnswer] = []
    for span, odd in zip(spans, odds, strict=True):
        share = _above_none(span.margin) / _above_none(top) if several else odd / sum(odds)
        probability = round(item.reading.answerable * share, PROBABILITY_DECIMALS)
        same = next((i for i, other in enumerate(found) if are_equal_answers(other.text, span.text)), None)
        if same is None:
            found.append(PassageAnswer(item.source, span, probability))
        # As alternatives, equal spans share one probability and are added up; with `several` each has its own.
        elif not several:
            total = round(found[same].probability + probability, PROBABILITY_DECIMALS)
            found[same] = replace(found[same], probability=total)
    return sorted(found, key=lambda answer: (-answer.probability, answer.span.start))


def _is_item_number(text: str, span: Span) -> bool:
    """Return whether a span is the number of a list's item at the beginning of a line: the 3 of "3. Delay a vote"."""
    item = ITEM_NUMBER.match(text, text.rfind("\n", 0, span.start) + 1)
    return item is not None and item.start("number") <= span.start and span.end <= item.end()


def cut_to_one_sentence(text: str, spans: Sequence[Span]) -> list[Span]:
    """Return a text's spans, cut at the end of the sentence that they begin in: no short answer is longer."""
    ends = sentence_spans(text) if spans else []
    found = []
    for span in spans:
        span = _widened(text, span)
        end = next((end for start, end in ends if start <= span.start < end), span.end)
        whole = text[span.start : min(end, span.end)]
        kept = whole.rstrip(".!?;: \n") if end < span.end else whole
        kept = _MODAL_END.sub("", kept) if _VERB_BEHIND.match(text, span.end) else kept
        cut = replace(span, end=span.start + len(kept), text=kept) if len(kept) < len(span.text) and kept else span
        found.append(cut)
    return found


def _widened(text: str, span: Span) -> Span:
    """Return a span with the beginning that it cannot do without, or of a date in figures with its end.

    The beginning is the first part of a range, such as "from 9" before "to 20 November", a minus sign, or the words
    that make a figure a limit or a guess: "up to", "about".
    """
    if not has_figure(span.text):
        return span
    begin = max(0, span.start - _LONGEST_RANGE)
    before = _RANGE_BEGINS.search(text, begin, span.start)
    qualified = _QUALIFIED.search(text, begin, span.start)
    is_year = _LONE_YEAR.fullmatch(span.text) and not _COUNTED_BEHIND.match(text, span.end)
    if before is None and qualified is None and is_year:
        before = _DAY_BEFORE.search(text, begin, span.start)
    if is_year and (behind := _DAY_BEHIND.match(text, span.end)):
        return replace(span, end=behind.end(), text=text[span.start : behind.end()])
    if before is None and qualified is None:
        return span
    start = before.start("first") if before else qualified.start() if qualified else span.start
    return replace(span, start=start, text=text[start : span.end])


def without_limit(text: str) -> str:
    """Return an answer without "up to" or "about" in front of its figure."""
    return _LIMIT.sub("", text)


def _above_none(margin: float) -> float:
    """Return the probability of a span against that of "no answer here", from its margin in logits."""
    return 1 / (1 + math.exp(-max(-30.0, min(30.0, margin))))


def group_equal_answers(found: Sequence[PassageAnswer]) -> list[AnswerGroup]:
    """Return the answers of all passages, equal ones together, the best first.

    The reader reads each passage alone, so the passage's rank in the search is additional evidence.
    """
    groups: list[list[PassageAnswer]] = []
    for item in sorted(found, key=lambda item: (-item.ranking_score, item.source.n, item.span.start)):
        group = next((group for group in groups if are_equal_answers(group[0].text, item.text)), None)
        if group is None:
            groups.append([item])
        # A passage that gives an answer twice does not agree with itself.
        elif all(other.source.n != item.source.n for other in group):
            group.append(item)
    made = [AnswerGroup(tuple(group), combine_probabilities([item.probability for item in group])) for group in groups]
    return sorted(
        made, key=lambda group: (-group.ranking_score, group.answers[0].source.n, group.answers[0].span.start)
    )


def are_equal_answers(a: str, b: str) -> bool:
    """Return whether two spans say the same; a span that says much more than the other says something else."""
    limits = [_LIMIT.match(text) for text in (a, b)]
    # "More than 50" and "less than 50" have one figure and are two answers.
    if all(limits) and len({match[0].casefold() for match in limits if match}) > 1:
        return False
    return abs(len(a.split()) - len(b.split())) <= MAX_EXTRA_WORDS and same_answer(a, b)


def combine_probabilities(probabilities: Sequence[float]) -> float:
    """Return the confidence in an answer of several passages: the best log odds, plus a little for each doubling.

    Passages of one collection repeat each other and a reader errs alike on similar passages, so they are far from
    independent.
    """
    best = min(max(probabilities), 1 - PROBABILITY_MARGIN)
    odds = best / (1 - best) * math.pow(len(probabilities), AGREEMENT)
    return round(odds / (1 + odds), PROBABILITY_DECIMALS)
