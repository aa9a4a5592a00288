"""How likely an answer that was read out of a passage is right: one calibrated probability from readable features.

The extractive reader reads each passage by itself and was trained on short passages of question sets. Whether its
answer holds in a library of whole documents depends on more: whether the question's rare words and names stand where
the answer was found, or anywhere in the library; whether the answer is of the type that was asked for; whether other
documents agree; whether it stands in prose. A logistic model weighs these (`confidence.json`, set by
`python -m training.confidence` on development questions with and without an answer in the library, which says on which
sets). Three outcomes follow: a claim at or above `answered`, evidence at or above `evidence`, else nothing is found.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from preflight_rag.models.reading.extractive_reader import PassageReading
from preflight_rag.offline.cell_checks import asked_names
from preflight_rag.offline.found_answers import AnswerGroup, PassageAnswer, ReadPassage, are_equal_answers
from preflight_rag.offline.other_times import is_no_time_of_day
from preflight_rag.state.errors import UsageError
from preflight_rag.state.reading import Source
from preflight_rag.text.asked_years import of_another_year
from preflight_rag.text.concepts import QUESTION_WORDS
from preflight_rag.text.money import is_other_figure
from preflight_rag.text.names import numbered_places, surface_names
from preflight_rag.text.negation import DENIAL
from preflight_rag.text.overlap import compared_words, holds_words
from preflight_rag.text.tables import is_row
from preflight_rag.text.values import Figures, asked_kind, figures_of, last_question
from preflight_rag.text.words import STOP_WORDS, words, words_by_token

if TYPE_CHECKING:
    from preflight_rag.library.index.vocabulary import Vocabulary

WEIGHTS = Path(__file__).with_name("confidence.json")
LEAST_AGREEING = 0.3
"""Minimum probability of answering at which a passage of another document counts as agreeing; a guess."""
MAX_RIVAL_LAG = 0.15
"""Maximum share of question words that a rival answer's sentence may have less than the answer's own: a sentence about
another drug is no rival. A guess."""
LEAST_LETTERS = 4
"""Minimum number of letters of a word that the user is told to stand in no document; a guess."""
SUPPORTED = "supported"
"""The feature that says whether the answer's sentence supports it: the log odds of a probability."""
PROBABILITY_MARGIN = 1e-3
"""Minimum distance of a probability from 0 and 1 when its odds are taken."""

_WORD = re.compile(r"[^\W\d_]+")
_CODE = re.compile(r"\d{1,4}[a-z]$|[a-z]\d{1,4}$")
"""A number with a letter, such as "5a" of a flat, which texts also write with a space."""
_SEPARATORS = re.compile(r"\W+")
_TOPIC = re.compile(
    r"\b(?:the|an?|any|his|her|its|their|our|my|your|of|for|in|on|with|by|about|from|at|between|without|against|or)\s"
    r"(?P<topic>[^\W\d_]+)(?=\W*$|[,;:]|\s(?:and|or|of|for|in|on|with|by|about|from|at|is|are|was|were|to|has|have)\b)"
    r"|^(?:what|who)(?:['’]s|\s(?:is|are|was|were))\s(?P<defined>[^\W\d_]+)\W*$",
    re.I,
)
"""A word alone between an article or preposition and a function word or the end, or in "What is X?"."""
_GENERAL_NOUNS = frozenset(
    (
        *("amount", "case", "data", "date", "details", "fact", "figure", "figures", "information", "item", "items"),
        *("kind", "level", "name", "number", "person", "place", "point", "reason", "result", "results", "size", "sort"),
        *("thing", "things", "total", "type", "value", "values"),
        *("email", "emails", "file", "files", "letter", "letters", "mail", "mails", "message", "messages", "sheet"),
    )
)
"""Words for what is asked about a thing ("the date of"), which a document that answers need not have."""
_SUPERLATIVE = re.compile(
    r"(?:cheap|dear|prici|costli|long|short|high|low|larg|small|great|few|old|young|new|lat|earli|near|fast|slow|quick"
    r"|strong|weak|heavi|light|bigg|tall|wid|deep|busi|easi|hard|hott|warm|cold|saf|rich|poor|thick|thinn)est",
    re.IGNORECASE,
)
"""Words that ask for the most or the least of something, which a document that answers need not have."""
_PHRASE_WITHOUT_TOPIC = re.compile(
    r"\b(?:at (?:the|this|that) (?:moment|minute|time|latest|earliest|least|most)|at (?:present|once|all|last|times)"
    r"|(?:for|in) the (?:moment|meantime|meanwhile|end|future|past)|in (?:general|total|advance|future|practice"
    r"|principle|detail|short|all|time)|on (?:average|time|request|demand)|by (?:default|now|chance|mistake|accident)"
    r"|for (?:sure|good|now|free)|these days|of late|from now on|as of (?:now|today))(?![-\w])",
    re.IGNORECASE,
)
"""Phrases that say when or how and have no topic: "How much rent do we pay at the moment?"."""
_TABLE_LIKE = re.compile(r"[|\t]| {3,}")
_ASKS_WHO = re.compile(r"\b(?:who|whom|whose)\b", re.I)
_VERB = re.compile(r"\b(?:is|are|was|were|has|have|had|been|will)\b")
"""A verb, which no name has: "Acme Inc., has been appointed chair"."""
_ASKS_WHERE = re.compile(r"\b(?:where|(?:which|what) (?:city|country|town|state|place|hospital|university))\b", re.I)
_LIMIT_IN_QUESTION = re.compile(
    r"\b(?:from|since|until|till|after|before|as of|starting)(?: in)? (january|february|march|april|may|june|july"
    r"|august|september|october|november|december|(?:mon|tues|wednes|thurs|fri|satur|sun)day)\b",
    re.IGNORECASE,
)
"""A limit in a question: "from July"."""
_TIME_OF_DAY = re.compile(r"\d[:.]\d\d|\d ?[ap]\.?m\b|o['’]clock", re.IGNORECASE)
_OFFERS_OPTIONS = re.compile(r"\w,? or \w", re.I)
_ASKS_AGE = re.compile(r"\bhow old\b", re.I)
_ASKS_HOW_MANY = re.compile(r"\bhow many (\w+)", re.I)
_ASKS_FIGURE_WITH_UNIT = re.compile(
    r"\b(?:dose|dosage|how (?:long|old|tall|far|fast|high|deep|heavy|much)|percentage|rate)\b", re.I
)


class HasVocabulary(Protocol):
    """A library whose vocabulary can be read."""

    @property
    def vocabulary(self) -> Vocabulary | None:
        """The library's words with their counts; None if they are unknown."""


@dataclass(frozen=True)
class QuestionTerms:
    """The words of a question, weighted by how rare they are in the library.

    Attributes:
        weights: Index term to its inverse document frequency, as a share of the largest possible one.
        names: The terms that belong to names, codes or numbers.
        unseen: The terms that stand neither in the library nor in the given passages.
    """

    weights: Mapping[str, float]
    names: frozenset[str]
    unseen: frozenset[str]

    def share(self, terms: Collection[str]) -> float:
        """Return the weight of the question's terms that are among some terms, as a share of all; in [0, 1].

        A question without terms gives 1.
        """
        total = sum(self.weights.values())
        return sum(weight for term, weight in self.weights.items() if term in terms) / total if total else 1.0

    def rarest_missing(self, terms: Collection[str]) -> float:
        """Return the weight of the rarest of the question's terms that are not among some terms; 0 if all are."""
        return max((weight for term, weight in self.weights.items() if term not in terms), default=0.0)


def question_terms(question: str, library: HasVocabulary | None, sources: Sequence[Source]) -> QuestionTerms:
    """Return a question's words, weighted by the library's document frequencies; without a library, the passages'."""
    vocabulary = library.vocabulary if library is not None else None
    forms = [form for form in dict.fromkeys(_WORD.findall(question.lower())) if form not in STOP_WORDS]
    form_of_term = {term: form for form in forms for term in words(form)}
    frequency: dict[str, int] = {}
    known_forms: set[str] = set()
    total = len(sources)
    if vocabulary is not None:
        inflections = {form: _inflections(form) for form in forms}
        # Almost every document has one of these words, so the commonest stands for the number of documents.
        counts = vocabulary.counts([*chain.from_iterable(inflections.values()), "the", "of", "and"])
        total = max((counts[word].documents for word in ("the", "of", "and") if word in counts), default=1)
        frequency = {form: counts[form].documents for form in forms if form in counts}
        known_forms = {form for form in forms if not counts.keys().isdisjoint(inflections[form])}
    texts = [f"{source.title} {source.text}" for source in sources]
    word_sets = [frozenset(words_by_token(text)) for text in texts]
    unspaced_texts = [_SEPARATORS.sub("", text.casefold()) for text in texts]
    weights: dict[str, float] = {}
    unseen: set[str] = set()
    for term in dict.fromkeys(words(question)):
        in_passages = sum(term in terms for terms in word_sets)
        # A passage may have the question's "5A" as "5 A", which is another word to the vocabulary.
        if not in_passages and _CODE.match(term):
            in_passages = sum(term in text for text in unspaced_texts)
        form = form_of_term.get(term, "")
        documents = max(frequency.get(form, 0), in_passages)
        weights[term] = _relative_idf(documents, total)
        if not documents and form not in known_forms:
            unseen.add(term)
    of_names = frozenset(chain.from_iterable(words(" ".join(name)) for name in surface_names(question)))
    numbers = frozenset(term for term in weights if any(map(str.isdigit, term)))
    return QuestionTerms(weights, (of_names | numbers) & weights.keys(), frozenset(unseen))


def _relative_idf(documents: int, total: int) -> float:
    """Return the inverse document frequency of a term in some documents of a total, as a share of the largest one."""
    largest = math.log(1 + max(total, 1) / 0.5)
    return round(min(1.0, math.log(1 + max(total, documents, 1) / (0.5 + documents)) / largest), 4)


def _inflections(form: str) -> list[str]:
    """Return a word with its possible singular and plural, if they have the same index term: "pen" and "pens"."""
    spellings = (form, f"{form}s", f"{form}es", form.removesuffix("s"), form.removesuffix("es"), f"{form[:-1]}ies")
    return [spelling for spelling in dict.fromkeys(spellings) if words(spelling) == words(form)]


def find_unmentioned_topics(question: str, library: HasVocabulary | None, terms: QuestionTerms) -> list[str]:
    """Return the question's names and topics that no document of the library contains, as the question writes them.

    Short words, superlatives, question words and general nouns ("the date of") are left out. The list is empty if the
    library's vocabulary is unknown.
    """
    if library is None or library.vocabulary is None:
        return []
    topics = topics_of(question)
    candidates = []
    for form in _WORD.findall(_PHRASE_WITHOUT_TOPIC.sub(" ", question)):
        is_general = form.lower() in QUESTION_WORDS | _GENERAL_NOUNS or _SUPERLATIVE.fullmatch(form)
        is_topic = form in topics or terms.names.intersection(words(form.lower()))
        if len(form) >= LEAST_LETTERS and is_topic and not is_general:
            candidates.append(form)
    candidates += numbered_places(question)
    return list(dict.fromkeys(form for form in candidates if terms.unseen.intersection(words(form.lower()))))


def topics_of(question: str) -> set[str]:
    """Return the words that stand alone after an article or a preposition, or that "What is …?" asks about.

    Any other word may be a verb of the question's phrasing.
    """
    return {match["topic"] or match["defined"] for match in _TOPIC.finditer(_PHRASE_WITHOUT_TOPIC.sub(" ", question))}


def answer_features(
    question: str,
    group: AnswerGroup,
    groups: Sequence[AnswerGroup],
    read: Sequence[ReadPassage],
    terms: QuestionTerms,
) -> dict[str, float]:
    """Return the features of an answer for the confidence model, except `SUPPORTED`, which needs a further reading.

    `group` is the answer with the passages that give it; `groups` are all answers, this one among them.
    """
    best = group.answers[0]
    source, quote = best.source, best.quote
    reading = {item.source.n: item.reading for item in read}[source.n]
    least_share = _share_of_sentence(terms, best) - MAX_RIVAL_LAG
    rivals = [
        other.answers[0].probability
        for other in groups
        if other is not group and _share_of_sentence(terms, other.answers[0]) > least_share
    ]
    differing, agreeing = [0.0], 0
    own_words = compared_words(quote)
    for item in read:
        other = item.reading
        if item.source.document_id == source.document_id or not other.spans or not other.best:
            continue
        if not are_equal_answers(other.best.text, best.text):
            differing.append(other.answerable)
        # A document that quotes the answer's sentence is no second source.
        elif other.answerable >= LEAST_AGREEING and not holds_words(own_words, compared_words(item.source.text)):
            agreeing += 1
    return {
        "answerable": log_odds(reading.answerable),
        "probability": log_odds(best.probability),
        "margin": max(-2.0, min(2.0, best.span.margin / 5)),
        "gap": max(-4.0, min(4.0, log_odds(best.probability) - log_odds(max(rivals, default=0.0)))),
        "differ": log_odds(max(differing)),
        "agree": math.log1p(agreeing),
        "rank": math.log(source.n),
        "relevance": 0.0 if reading.relevance is None else log_odds(reading.relevance),
        "titled": terms.share(frozenset(words(source.title))),
        "another_year": float(of_another_year(question, source.title, quote)),
        "another_name": float(_is_row_without_names(question, source, quote)),
        "denied": float(bool(DENIAL.search(quote)) and not DENIAL.search(question)),
        **coverage_features(terms, source, quote),
        **type_features(question, best.text),
    }


def _share_of_sentence(terms: QuestionTerms, answer: PassageAnswer) -> float:
    """Return the share of the question's weight in an answer's sentence and its document's title."""
    return terms.share(frozenset(words_by_token(f"{answer.source.title} {answer.quote}")))


def _is_row_without_names(question: str, source: Source, quote: str) -> bool:
    """Return whether a quote is a row of a table, and neither it nor the text around has all the question's names."""
    terms = frozenset(words_by_token(f"{source.title} {quote}"))
    return is_row(quote) and not all(name.stands_with(terms, source) for name in asked_names(question))


def support_log_odds(reading: PassageReading) -> float:
    """Return the log odds of the verdict "yes" of a reading of question and answer as one statement; 0 without one."""
    return log_odds(reading.verdict[0] if reading.verdict else 0.5)


def coverage_features(terms: QuestionTerms, source: Source, sentence: str) -> dict[str, float]:
    """Return the features on how much of the question the answer's passage and sentence contain, with the title."""
    title = frozenset(words_by_token(source.title))
    passage = title | frozenset(words_by_token(source.text))
    sentence_words = title | frozenset(words_by_token(sentence))
    names = terms.names
    return {
        "covered": terms.share(passage),
        "covered_sentence": terms.share(sentence_words),
        "rarest_missing": terms.rarest_missing(passage),
        "names_missing": len(names - passage) / len(names) if names else 0.0,
        "names_missing_sentence": len(names - sentence_words) / len(names) if names else 0.0,
        "name_unseen": float(bool(names & terms.unseen)),
        "unseen": sum(terms.weights[term] for term in terms.unseen) / (sum(terms.weights.values()) or 1.0),
        "question_terms": min(1.0, len(terms.weights) / 10),
        "prose": share_of_prose(sentence),
    }


def type_features(question: str, answer: str) -> dict[str, float]:
    """Return the features on whether the answer is of the type that the question asks for, and adds to the question."""
    answer_terms, asked_terms = frozenset(words(answer)), frozenset(words(question))
    is_abbreviation = _are_initials_of_words(answer, question)
    # An answer may repeat a word of any question of the message, but its type is that of the last one.
    question = last_question(question)
    kind = asked_kind(question)
    figures = figures_of(answer)
    offers_options = bool(_OFFERS_OPTIONS.search(question))
    is_part_of_question = bool(answer_terms) and answer_terms <= asked_terms
    repeats_question = is_part_of_question or is_abbreviation or _repeats_limit(answer, question)
    return {
        "asks_date": float(kind == "date"),
        "asks_number": float(kind == "number"),
        "asks_person": float(bool(_ASKS_WHO.search(question))),
        "asks_place": float(bool(_ASKS_WHERE.search(question))),
        "wrong_type": float(_is_of_wrong_type(question, answer, figures)),
        "right_type": float((kind == "date" and bool(figures.dates)) or (kind == "number" and bool(figures.amounts))),
        "lacks_unit": float(bool(_ASKS_FIGURE_WITH_UNIT.search(question)) and bool(re.fullmatch(r"[\d.,\s]+", answer))),
        "figure_unasked": float(kind == "name" and not re.search("[A-Za-z]{2}", answer)),
        "length": min(1.0, math.log1p(len(answer.split())) / 3),
        "repeats": len(answer_terms & asked_terms) / len(answer_terms) if answer_terms else 1.0,
        "not_offered": float(offers_options and not answer_terms & asked_terms),
        "asked_already": float(not offers_options and repeats_question),
    }


def _is_of_wrong_type(question: str, answer: str, figures: Figures) -> bool:
    """Return whether an answer, with these figures, is surely of another type than the question asks for.

    A person has a name with a capital letter and without a verb; a birthday is no age, and one day is no number.
    """
    kind = asked_kind(question)
    has_capital = any(word[0].isupper() for word in answer.split() if word[0].isalpha())
    return (
        (kind == "date" and not figures.dates)
        or (kind == "number" and not (figures.amounts or figures.dates))
        or (kind == "number" and _is_single_day(figures) and not _LIMIT_WORD.search(answer))
        or (_ASKS_WHO.search(question) is not None and (not has_capital or _VERB.search(answer) is not None))
        or (_ASKS_VERSION.search(question) is not None and _LOWERCASE_WORDS.fullmatch(answer.strip()) is not None)
        or (_ASKS_AGE.search(question) is not None and bool(figures.dates) and not figures.amounts)
        or _counts_another_thing(question, figures)
        or is_other_figure(question, answer)
        or is_no_time_of_day(question, answer)
    )


_ASKS_VERSION = re.compile(
    r"\b(?:which (?:\w+ )?|what(?:['’]s| is| was) (?:the )?(?:\w+ ){0,2})(?:version|release|edition)\b(?! control)",
    re.IGNORECASE,
)
_LOWERCASE_WORDS = re.compile(r"[a-z-]+(?: [a-z-]+)+")
"""Several words without a figure or a capital letter, which name no version: "bleeding edge", unlike "bookworm"."""
_LIMIT_WORD = re.compile(r"\b(?:until|till|since|from|by|to|through)\b", re.IGNORECASE)
"""Words that make a day the limit of a period, which may answer how long: "until 18 May"."""


def _is_single_day(figures: Figures) -> bool:
    """Return whether figures are one day of a month and no amount: "18 May" does not say how many came."""
    if len(figures.dates) != 1 or figures.amounts:
        return False
    _, month, day = figures.dates[0]
    return bool(month and day)


def _repeats_limit(answer: str, question: str) -> bool:
    """Return whether an answer only repeats a limit in the question: "1 July" for a question "from July"."""
    limit = _LIMIT_IN_QUESTION.search(question)
    # "Monday, 9 am" adds a time to the "from Monday" of the question.
    return limit is not None and limit[1].casefold() in answer.casefold() and not _TIME_OF_DAY.search(answer)


def _are_initials_of_words(answer: str, question: str) -> bool:
    """Return whether an answer is the initials of words in the question: HSL for hormone-sensitive lipase."""
    initials = "".join(word[0] for word in re.findall(r"[^\W_]+", question)).casefold()
    return answer.isupper() and 2 < len(answer) < 7 and answer.isalpha() and answer.casefold() in initials


def _counts_another_thing(question: str, figures: Figures) -> bool:
    """Return whether the question asks "how many", and the answer's figures have other units than what it counts.

    "10 mg" does not answer "How many days …?".
    """
    asked = _ASKS_HOW_MANY.search(question)
    units = {amount.dimension for amount in figures.amounts if amount.dimension}
    if not asked or not units:
        return False
    asked_noun = asked[1]
    return not units & {amount.dimension for amount in figures_of(f"2 {asked_noun}").amounts}


def share_of_prose(sentence: str) -> float:
    """Return the share of tokens that are plain words: half of it without a stop word, 0 for the look of a table."""
    tokens = sentence.split()
    if not tokens or _TABLE_LIKE.search(sentence):
        return 0.0
    share = sum(token.strip(".,;:()\"'").isalpha() for token in tokens) / len(tokens)
    # Cells in a row are words, too, but without an "of" or a "the": "Aspirin Placebo".
    has_stop_word = any(token.lower() in STOP_WORDS for token in tokens)
    return round(share * (1.0 if has_stop_word else 0.5), 4)


def log_odds(probability: float) -> float:
    """Return the logarithm of a probability's odds; finite also for 0 and 1."""
    bounded = min(max(probability, PROBABILITY_MARGIN), 1 - PROBABILITY_MARGIN)
    return math.log(bounded / (1 - bounded))


VETOES = (
    "wrong_type", "name_unseen", "figure_unasked", "not_offered", "asked_already", "denied", "another_year",
    "another_name",
)  # fmt: skip
"""Features that end a claim, whatever else speaks for it: an answer of another type than was asked for, or none of the
things that the question offers ("A or B"), or what the question says itself; a name or number of the question that
stands nowhere in the library, a sentence that denies something, and one about another year; a row of a table about
something else."""


@dataclass(frozen=True)
class ConfidenceModel:
    """A logistic model of the probability that an answer is right.

    Attributes:
        bias: The intercept.
        weights: Feature to weight; features that are not here do not count.
        answered: Minimum probability at which an answer is claimed.
        evidence: Minimum probability at which the passages count as evidence.
    """

    bias: float
    weights: Mapping[str, float]
    answered: float
    evidence: float

    def bounds(self, features: Mapping[str, float]) -> tuple[float, float]:
        """Return the least and greatest possible probability; both are equal if `SUPPORTED` is among the features."""
        values = [features[SUPPORTED]] if SUPPORTED in features else [log_odds(0), log_odds(1)]
        probabilities = [self.probability({**features, SUPPORTED: value}) for value in values]
        return min(probabilities), max(probabilities)

    def may_claim(self, features: Mapping[str, float]) -> bool:
        """Return whether an answer with these features can be claimed for some value of `SUPPORTED`."""
        _, greatest = self.bounds(features)
        return greatest >= self.answered and not any(features[name] for name in VETOES)

    def claims(self, features: Mapping[str, float]) -> bool:
        """Return whether an answer with these features, `SUPPORTED` among them, is claimed."""
        return self.probability(features) >= self.answered and not any(features[name] for name in VETOES)

    def probability(self, features: Mapping[str, float]) -> float:
        """Return the probability that an answer with these features is right, to four decimals."""
        total = self.bias + sum(weight * features[name] for name, weight in self.weights.items())
        # Bounded, since `exp` overflows far beyond; four decimals do not change from there on.
        return round(1 / (1 + math.exp(-max(-30.0, min(30.0, total)))), 4)


@lru_cache(maxsize=1)
def confidence_model() -> ConfidenceModel:
    """Return the model in `confidence.json`.

    Raises:
        UsageError: The file is missing or damaged.
    """
    try:
        return ConfidenceModel(**json.loads(WEIGHTS.read_text(encoding="utf-8")))
    except (OSError, ValueError, KeyError, TypeError) as error:
        problem = f"the weights in {WEIGHTS.name!r} cannot be read: {error}"
        raise UsageError(problem, help="Install the package again.") from None
