"""The reading of one context for a question, without a language model: its answers, descriptor and terms.

A reading by sentences has the best sentence of the context and the value there that answers; a reading by spans has the
spans of the extractive reader, each with the sentence around it. `relations.py` compares two readings.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain, pairwise
from typing import TYPE_CHECKING

from preflight_rag.corg.agreement import same_answer
from preflight_rag.corg.entities import descriptor_of, heading_of
from preflight_rag.models.reading.extractive_reader import PassageReading, Span
from preflight_rag.offline.tables import TableAnswer, table_answer
from preflight_rag.state.reading import Source
from preflight_rag.text.letter_lines import states_nothing
from preflight_rag.text.money import has_currency, is_other_figure
from preflight_rag.text.names import proper_terms, speaks_of, subject_of, surface_name
from preflight_rag.text.quotes import quote_around
from preflight_rag.text.sentences import sentence_spans
from preflight_rag.text.tables import is_row
from preflight_rag.text.values import Kind, TextValue, asked_kind, excerpt, values
from preflight_rag.text.words import STOP_WORDS, words

if TYPE_CHECKING:
    import numpy as np

    from preflight_rag.offline.scored_sentences import ScoredSentence

TYPED_BONUS = 0.4
"""Bonus of a sentence with a date or number if the question asks for one. This constant and the next two were set on
the development half of RAMDocs."""
ATTRIBUTE_BONUS = 0.3
"""Bonus of a sentence with all of the question's terms besides the name that it is about."""
MAX_WHOLE_WORDS = 36
"""Maximum number of words of a sentence that is quoted whole; of a longer one `EXCERPT` words are quoted."""
EXCERPT = 30
"""Number of words of an excerpt."""

_BLANK_LINE = re.compile(r"\n[ \t]*\n")
_YEAR = re.compile(r"(?<![\d.,])(?:1[5-9]|20)\d\d(?![\d.,]\d|\d)")

Features = dict[str, float]


@dataclass(frozen=True)
class ContextAnswer:
    """One answer of a context.

    Attributes:
        value: The short answer.
        quote: The sentence that says it, or an excerpt of a long one; verbatim.
        sentence: The whole sentence.
        terms: The sentence's index terms.
    """

    value: TextValue
    quote: str
    sentence: str
    terms: frozenset[str]


@dataclass(frozen=True)
class ContextReading:
    """The reading of one context for a question.

    There are two ways of reading: by sentences (ranked with an embedder) and by spans (found by an extractive reader).

    Attributes:
        answers: The context's answers, best first; by sentences at most one.
        descriptor: The words that distinguish the context's subject from its namesakes.
        features: By sentences, the features of the model that decides whether the context answers.
        terms: Index terms of title and text.
        proper: The index terms of its names and numbers that are not in the question.
        on_subject: Whether the context may be about the name in the question.
        best: By sentences, the sentence that answers best; None if the context has no sentences.
        mean: By sentences, the mean of their vectors, length 1.
        answerable: By spans, the probability that the context answers; for a yes/no question, that it says yes
        or no.
        also: Answers in other passages of the document.
        typed: By spans, whether the first answer is a date or a number if the question asks for one.
    """

    answers: tuple[ContextAnswer, ...]
    descriptor: str | None
    features: Features
    terms: frozenset[str]
    proper: frozenset[str]
    on_subject: bool
    best: ScoredSentence | None = None
    mean: np.ndarray | None = None
    answerable: float | None = None
    also: tuple[ContextAnswer, ...] = ()
    typed: bool = True

    @property
    def worth(self) -> float:
        """The probability that the context answers; for a reading by sentences the best one's score, or 0."""
        if self.answerable is not None:
            return self.answerable
        return self.best.score if self.best else 0.0

    @property
    def value(self) -> TextValue | None:
        """The context's best answer."""
        return self.answers[0].value if self.answers else None

    @property
    def sentence_terms(self) -> frozenset[str]:
        """The index terms of the sentence with the context's best answer."""
        return self.answers[0].terms if self.answers else frozenset()


def of_document(parts: Sequence[ContextReading]) -> ContextReading:
    """Return the readings of a document's passages as one: the reading of the best passage, with terms of all.

    The other passages' answers are kept in `also`: a document that gives several values agrees with another one that
    gives one of them.
    """
    best = max(parts, key=lambda part: (part.on_subject, part.typed, part.worth))
    if len(parts) == 1:
        return best
    others = list(chain.from_iterable(part.answers for part in parts if part is not best))
    return replace(
        best,
        also=tuple(others),
        descriptor=best.descriptor or next((part.descriptor for part in parts if part.descriptor), None),
        terms=frozenset().union(*(part.terms for part in parts)),
        proper=frozenset().union(*(part.proper for part in parts)),
        on_subject=any(part.on_subject for part in parts),
    )


def by_sentences(question: str, source: Source, ranked: Sequence[ScoredSentence]) -> ContextReading:
    """Return a context's reading without an extractive reader: the best sentence and its value, with the features.

    The answer is a value of the requested type, else the sentence's first words. `ranked` are the context's sentences
    with their scores.
    """
    kind = asked_kind(question)
    is_typed = kind in {"date", "number"}
    asked = frozenset(words(question))
    name = surface_name(question)
    name_terms = frozenset(words(name))
    attribute = asked - name_terms

    def score_with_bonus(candidate: tuple[ScoredSentence, list[TextValue]]) -> float:
        """Return the score of a sentence: higher with a value of the requested type and the question's attribute."""
        item, item_values = candidate
        type_bonus = TYPED_BONUS if is_typed and item_values else 0.0
        share = len(attribute & item.sentence.terms) / len(attribute) if attribute else 0.0
        return item.score + type_bonus + ATTRIBUTE_BONUS * share

    candidates = [(item, values(item.sentence.text, kind, question)) for item in ranked]
    best, best_values = max(candidates, key=score_with_bonus, default=(None, []))
    terms, proper, share_of_name = _compute_terms(source, asked, name_terms)
    features = {
        "score": best.score if best else 0.0,
        "similarity": best.similarity if best else 0.0,
        # 0.5 if the question asks for neither, which speaks neither for nor against the context.
        "typed": float(bool(best_values)) if is_typed else 0.5,
        "named": share_of_name,
        "lowest": min((item.score for item in ranked), default=0.0),
    }
    answers: tuple[ContextAnswer, ...] = ()
    if best is not None:
        sentence = best.sentence.text
        quote = _shorten_sentence(sentence, heading_of(source.text), kind, question)
        value = best_values[0] if best_values else _first_words_value(sentence)
        answers = (ContextAnswer(value, quote, sentence, best.sentence.terms),)
    return ContextReading(
        answers,
        descriptor_of(name, source.title, source.text),
        features,
        terms,
        proper,
        speaks_of(subject_of(question), source.title, source.text),
        best=best,
        mean=_mean_direction([item.vector for item in ranked]),
    )


_ASKS_HOW_MUCH = re.compile(r"\bhow much\b", re.IGNORECASE)
_CLAUSE = re.compile(r"[^,;]+(?:,\d[^,;]*)*")
_OF_YEAR = re.compile(r" (?:in|for|during|of) (?:the year )?(?:19|20)\d\d\b", re.IGNORECASE)
CELL_WORTH = 0.95
"""Minimum probability that a context answers if the question names a cell of its table by row and column; a guess."""
LEAST_NAMED = 0.6
"""Minimum share of a question's words in a row of a table that may answer it; a guess."""


def by_spans(question: str, source: Source, passage: PassageReading, behind: float) -> ContextReading:
    """Return a context's reading from the reader's spans: the best one, and others that are nearly as good and differ.

    If the question names a cell of a table in the context, that cell is the answer in place of the spans. The margin of
    a further span must not be below 0, nor more than `behind` logits below the best one's.
    """
    kind, name = asked_kind(question), surface_name(question)
    answers: list[ContextAnswer] = []
    # The reader takes the likeliest figure near a table; row and column say which one is asked for.
    cell = _find_named_cell(question, source)
    spans: list[Span] = []
    if cell is not None:
        terms_of_row = frozenset(words(cell.quote))
        answers.append(ContextAnswer(_to_value(cell.cell, kind), cell.quote, cell.quote, terms_of_row))
    else:
        cut = (_cut_to_best_sentence(question, source.text, span) for span in passage.spans)
        spans = [span for span in cut if _is_in_statement(question, source, span)]
    least = max(0.0, spans[0].margin - behind) if spans else 0.0
    for i, span in enumerate(_put_latest_year_first(source.text, spans, kind, question)):
        is_further = i > 0
        if is_further and (span.margin < least or (kind == "number" and _is_of_other_thing(question, source, span))):
            continue
        answer = (
            _verdict_value(passage.verdict) if kind == "verdict" and passage.verdict else _to_value(span.text, kind)
        )
        if not any(same_answer(answer.text, other.value.text) for other in answers):
            answers.append(_make_answer(source.text, span, answer))
    terms, proper, _ = _compute_terms(source, frozenset(words(question)), frozenset(words(name)))
    answerable = passage.answerable
    descriptor = descriptor_of(name, source.title, source.text)
    # For a yes/no question the reader's descriptor would be some other name in the passage.
    if kind != "verdict":
        descriptor = descriptor or passage.descriptor
    elif passage.verdict:
        yes, no, _ = passage.verdict
        answerable = round(yes + no, 4)
    return ContextReading(
        tuple(answers),
        _keep_if_distinctive(descriptor, question, answers),
        {},
        terms,
        proper,
        speaks_of(subject_of(question), source.title, source.text),
        answerable=max(answerable, CELL_WORTH) if cell else answerable,
        typed=kind not in ("date", "number") or (bool(answers) and answers[0].value.kind == kind),
    )


def _find_named_cell(question: str, source: Source) -> TableAnswer | None:
    """Return the cell of a context that a question names, if need be without its year; None without such a cell.

    Without the year, as another version of the document has its own year there.
    """
    for wording in dict.fromkeys((question, _OF_YEAR.sub("", question))):
        cell = table_answer(wording, [source])
        if cell is not None and cell.share >= LEAST_NAMED:
            return cell
    return None


def _cut_to_best_sentence(question: str, text: str, span: Span) -> Span:
    """Return a span cut to one sentence, if it is over several: the one that fits the question best.

    First choice is a part with a price for "how much", then a part with a value of the requested kind, and among equal
    ones the sentence with most words of the question. For "How much did the club get?", "forty join. The club got £400"
    is cut to "The club got £400".
    """
    asked = frozenset(words(question)) - STOP_WORDS
    sentences = [(start, end) for start, end in sentence_spans(text) if start < span.end and span.start < end]
    sentences.sort(key=lambda sentence: -len(asked & frozenset(words(text[slice(*sentence)]))))
    parts = [(max(start, span.start), min(end, span.end)) for start, end in sentences]
    if len(parts) < 2:
        return span
    kind = asked_kind(question)

    def is_of_kind(part: str) -> bool:
        """Return whether a part has a value of the requested kind, for a question about money one that may be money."""
        return (kind == "name" or _to_value(part, kind).kind == kind) and not is_other_figure(question, part)

    fitting = [part for part in parts if is_of_kind(text[slice(*part)])]
    priced = [part for part in fitting if has_currency(text[slice(*part)])] if _ASKS_HOW_MUCH.search(question) else []
    start, end = (priced or fitting or parts)[0]
    return replace(span, start=start, end=end, text=text[start:end])


def _is_in_statement(question: str, source: Source, span: Span) -> bool:
    """Return whether a span is in a sentence that states something, and in no row that the question does not name."""
    sentence = source.text[slice(*quote_around(source.text, span.start, span.end))]
    return _is_outside_other_rows(question, source, span) and not states_nothing(question, sentence, source.text)


def _is_outside_other_rows(question: str, source: Source, span: Span) -> bool:
    """Return whether a span is in no row of a table, or in a row that has most of the question's words with the title.

    In a register, the reader takes the rent of one member for the rent in general.
    """
    line_start = source.text.rfind("\n", 0, span.start) + 1
    line = source.text[line_start:].split("\n", 1)[0]
    if not is_row(line):
        return True
    asked = frozenset(words(question))
    return len(asked & frozenset(words(f"{source.title} {line}"))) >= LEAST_NAMED * len(asked)


def _is_of_other_thing(question: str, source: Source, span: Span) -> bool:
    """Return whether a figure is for another thing than asked, and another clause of its sentence has the asked figure.

    "The rent for a full plot is £63, for a half plot £34": "£34" does not answer a question about a full plot.
    """
    start, end = quote_around(source.text, span.start, span.end)
    own: list[str] = []
    with_figure = []
    for match in _CLAUSE.finditer(source.text[start:end]):
        if not own and start + match.start() <= span.start < start + match.end():
            own = words(match[0])
        if any(map(str.isdigit, match[0])):
            with_figure.append(words(match[0]))
    asked = frozenset(words(question))
    return any(
        _contrasting_words(own, other) - asked and _contrasting_words(other, own) & asked
        for other in with_figure
        if other != own
    )


def _contrasting_words(clause: Sequence[str], other: Sequence[str]) -> frozenset[str]:
    """Return the words that one clause alone has before a word of both: "full" for "full plot" and "half plot"."""
    return frozenset(word for word, following in pairwise(clause) if following in other and word not in other)


def _put_latest_year_first(text: str, spans: Sequence[Span], kind: Kind, question: str) -> list[Span]:
    """Return the spans, first the number for the latest year if the best span's sentence has numbers for several years.

    So two places are compared by the same census. The order is unchanged if the question names a year, or asks for no
    number.
    """
    if kind != "number" or not spans or _YEAR.search(question):
        return list(spans)
    start, end = quote_around(text, spans[0].start, spans[0].end)
    years = [(match.start() + start, int(match[0])) for match in _YEAR.finditer(text[start:end])]
    in_sentence = [
        span
        for span in spans
        if span.margin > 0 and start <= span.start and span.end <= end and _to_value(span.text, kind).kind == kind
    ]
    if len(in_sentence) < 2 or len({year for _, year in years}) < 2:
        return list(spans)

    def nearest_year(span: Span) -> int:
        """Return the year that stands nearest to a span."""
        _, year = min(years, key=lambda item: abs(item[0] - span.start))
        return year

    latest = max(in_sentence, key=nearest_year)
    return [latest, *(span for span in spans if span is not latest)]


def _compute_terms(
    source: Source, asked: frozenset[str], name: frozenset[str]
) -> tuple[frozenset[str], frozenset[str], float]:
    """Return a context's index terms, those of its names and numbers, and the share of the question's name in it.

    Names and numbers lack the question's terms (`asked`); the share is 0.5 for a question without a name.
    """
    whole = f"{source.title}\n{source.text}"
    terms = frozenset(words(whole))
    return terms, proper_terms(whole) - asked, len(name & terms) / len(name) if name else 0.5


def _keep_if_distinctive(descriptor: str | None, question: str, answers: Sequence[ContextAnswer]) -> str | None:
    """Return a descriptor on one line if it has a word that the question and the answer's figure lack; else None.

    None, too, if it crosses a blank line: its words are cells of a table, or a heading and the text below.
    """
    if descriptor is None or _BLANK_LINE.search(descriptor):
        return None
    descriptor = " ".join(descriptor.split())
    known = frozenset(words(question))
    if answers and answers[0].value.kind in ("date", "number"):
        known |= frozenset(words(answers[0].value.text))
    return descriptor if frozenset(words(descriptor)) - known else None


def _verdict_value(verdict: tuple[float, float, float]) -> TextValue:
    """Return the likelier of yes and no as a value; the arguments are the probabilities of yes, no and neither."""
    yes, no, _ = verdict
    return TextValue("yes" if yes >= no else "no", "verdict", (float(yes >= no),))


def _to_value(text: str, kind: Kind) -> TextValue:
    """Return a span's text as a date or number, if that is the requested kind and the text has one; else as a name."""
    found = values(text, kind, "") if kind in ("date", "number") else []
    return TextValue(text, found[0].kind, found[0].key) if found else TextValue(text, "name", frozenset(words(text)))


def _make_answer(text: str, span: Span, answer: TextValue) -> ContextAnswer:
    """Return an answer with the sentence around its span as the quote.

    A long sentence is cut to the words around the span; a heading at the text's beginning is left out, unless it
    contains the span.
    """
    start, end = quote_around(text, span.start, span.end)
    sentence, heading = text[start:end], heading_of(text)
    if start == 0 and len(heading) < span.start:
        start = len(heading)
    quote = _excerpt_around(text[start:end], span.start - start, span.end - start)
    return ContextAnswer(answer, quote, sentence, frozenset(words(sentence)))


def _excerpt_around(text: str, start: int, end: int) -> str:
    """Return a text; of one longer than `MAX_WHOLE_WORDS` the `EXCERPT` words around the given characters."""
    tokens = [match.span() for match in re.finditer(r"\S+", text)]
    if len(tokens) <= MAX_WHOLE_WORDS:
        return text.strip()
    first = next((i for i, (_, token_end) in enumerate(tokens) if token_end > start), 0)
    last = next((i for i, (_, token_end) in enumerate(tokens) if token_end >= end), len(tokens) - 1)
    words_around = max(0, EXCERPT - (last - first + 1))
    # At an end of the text, words that are missing on one side are taken from the other.
    first = max(0, min(first - words_around // 2, len(tokens) - EXCERPT))
    last = max(last, min(len(tokens) - 1, first + EXCERPT - 1))
    (excerpt_start, _), (_, excerpt_end) = tokens[first], tokens[last]
    return text[excerpt_start:excerpt_end]


def _shorten_sentence(sentence: str, heading: str, kind: Kind, question: str) -> str:
    """Return a sentence without a heading at its beginning; an excerpt of `EXCERPT` words if the sentence is long."""
    without_heading = sentence.removeprefix(heading).strip() or sentence
    if len(without_heading.split()) <= MAX_WHOLE_WORDS:
        return without_heading
    return excerpt(without_heading, kind, question, EXCERPT)


def _first_words_value(sentence: str) -> TextValue:
    """Return a sentence's first ten words as a value, for a sentence without a value of the requested type."""
    text = " ".join(sentence.split()[:10])
    return TextValue(text, "name", frozenset(words(text)))


def _mean_direction(vectors: Sequence[np.ndarray]) -> np.ndarray | None:
    """Return the mean direction of vectors, with unit length; None without vectors."""
    if not vectors:
        return None
    total = sum(vectors[1:], start=vectors[0])
    length = float((total**2).sum()) ** 0.5
    mean: np.ndarray = total / (length or 1.0)
    return mean
