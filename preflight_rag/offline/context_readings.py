"""The reading of one context for a question, without a language model: its answers, descriptor and terms.

By sentences, that is the best sentence of the context and the value there that answers; by spans, the spans that the
extractive reader gives, each with the sentence around it. `relations.py` compares two of them.
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
"""Bonus of a sentence with a date or number, where the question asks for one. This constant and the next two were set
on the development half of RAMDocs."""
ATTRIBUTE_BONUS = 0.3
"""Bonus of a sentence with all of the question's terms besides the name in question."""
WHOLE_SENTENCE = 36
"""Words up to which a sentence is quoted whole; of a longer one (a table, a menu) `EXCERPT` words are."""
EXCERPT = 30
"""Words of an excerpt; as above."""

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
        """The score of the answer, comparable with the scores of contexts that were read the same way."""
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
    """Return the readings of a document's passages as one, with the answers of the passage that answers best.

    The other passages' answers are kept in `also`: a document that gives several values agrees with another that gives
    one of them.
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
    """Return a context's reading without an extractive reader: the best sentence and its value, with the features."""
    kind = asked_kind(question)
    valued = [(item, values(item.sentence.text, kind, question)) for item in ranked]
    typed = kind in {"date", "number"}
    asked = frozenset(words(question))
    name = surface_name(question)
    named = frozenset(words(name))

    def worth(pair: tuple[ScoredSentence, list[TextValue]]) -> float:
        """Return the score of a sentence: higher with a value of the requested type and the question's attribute."""
        rest = asked - named
        attribute = len(rest & pair[0].sentence.terms) / len(rest) if rest else 0.0
        return pair[0].score + TYPED_BONUS * (typed and bool(pair[1])) + ATTRIBUTE_BONUS * attribute

    best, found = max(valued, key=worth, default=(None, []))
    terms, proper, share = _terms(source, asked, named)
    features = {
        "score": best.score if best else 0.0,
        "similarity": best.similarity if best else 0.0,
        # Half where the question asks for neither, so that it speaks neither for nor against the context.
        "typed": float(bool(found)) if typed else 0.5,
        "named": share,
        "lowest": min((item.score for item in ranked), default=0.0),
    }
    answers: tuple[ContextAnswer, ...] = ()
    if best is not None:
        sentence = best.sentence.text
        quote = _quote(sentence, heading_of(source.text), kind, question)
        answers = (ContextAnswer(found[0] if found else _first_words(sentence), quote, sentence, best.sentence.terms),)
    return ContextReading(
        answers,
        descriptor_of(name, source.title, source.text),
        features,
        terms,
        proper,
        speaks_of(subject_of(question), source.title, source.text),
        best=best,
        mean=_mean([item.vector for item in ranked]),
    )


_HOW_MUCH = re.compile(r"\bhow much\b", re.IGNORECASE)
_CLAUSE = re.compile(r"[^,;]+(?:,\d[^,;]*)*")
_OF_YEAR = re.compile(r" (?:in|for|during|of) (?:the year )?(?:19|20)\d\d\b", re.IGNORECASE)
CELL_WORTH = 0.95
"""Least probability that a context answers where a cell of its table is named by row and column. A guess."""
LEAST_NAMED = 0.6
"""Least share of a question's words that a row of a table has which answers it. A guess."""


def by_spans(question: str, source: Source, passage: PassageReading, behind: float) -> ContextReading:
    """Return a context's reading from the reader's spans: the best one, and others near it that differ from it.

    Args:
        question: The question.
        source: The context.
        passage: The reader's reading of it.
        behind: How far, in logits, a further span may lie behind the best one; it must score above "no answer".
    """
    kind, name = asked_kind(question), surface_name(question)
    answers: list[ContextAnswer] = []
    # The reader takes the likeliest figure near a table; row and column say which one is asked for.
    cell = _cell_of(question, source)
    if cell is not None:
        terms_of_row = frozenset(words(cell.quote))
        answers.append(ContextAnswer(_typed(cell.cell, kind), cell.quote, cell.quote, terms_of_row))
    whole = (_in_one_sentence(question, source.text, span) for span in passage.spans)
    spans = [] if cell else [span for span in whole if _is_stated(question, source, span)]
    least = max(0.0, spans[0].margin - behind) if spans else 0.0
    for place, span in enumerate(_latest_first(source.text, spans, kind, question)):
        if place and (span.margin < least or (kind == "number" and _of_another_thing(question, source, span))):
            continue
        answer = _verdict(passage.verdict) if kind == "verdict" and passage.verdict else _typed(span.text, kind)
        if not any(same_answer(answer.text, other.value.text) for other in answers):
            answers.append(_around(source.text, span, answer))
    terms, proper, _ = _terms(source, frozenset(words(question)), frozenset(words(name)))
    answerable = round(sum(passage.verdict[:2]), 4) if kind == "verdict" and passage.verdict else passage.answerable
    answerable = max(answerable, CELL_WORTH) if cell else answerable
    return ContextReading(
        tuple(answers),
        _distinctive(
            # What the reader takes for a descriptor beside a yes or no is some other name of the passage.
            descriptor_of(name, source.title, source.text) or (None if kind == "verdict" else passage.descriptor),
            question,
            answers,
        ),
        {},
        terms,
        proper,
        speaks_of(subject_of(question), source.title, source.text),
        answerable=answerable,
        typed=kind not in ("date", "number") or (bool(answers) and answers[0].value.kind == kind),
    )


def _cell_of(question: str, source: Source) -> TableAnswer | None:
    """Return the cell of a context that a question names, whatever the year: another version has that of its own."""
    for asked in dict.fromkeys((question, _OF_YEAR.sub("", question))):
        cell = table_answer(asked, [source])
        if cell is not None and cell.share >= LEAST_NAMED:
            return cell
    return None


def _in_one_sentence(question: str, text: str, span: Span) -> Span:
    """Return a span, or of one over several sentences the part in the one that has most of what is asked.

    Of "forty join. The club got £400" the amount is in the second; of "Staff", a heading, and "The pay rise is 3 %",
    the second sentence has words of the question.
    """
    asked = frozenset(words(question)) - STOP_WORDS
    sentences = [(start, end) for start, end in sentence_spans(text) if start < span.end and span.start < end]
    # The first of those with most words.
    sentences.sort(key=lambda item: -len(asked & frozenset(words(text[slice(*item)]))))
    parts = [(max(start, span.start), min(end, span.end)) for start, end in sentences]
    if len(parts) < 2:
        return span
    kind = asked_kind(question)

    def is_of_kind(part: str) -> bool:
        """Return whether a part has a value of the requested kind, and no other figure than one of money."""
        return (kind == "name" or _typed(part, kind).kind == kind) and not is_other_figure(question, part)

    fitting = [part for part in parts if is_of_kind(text[slice(*part)])]
    priced = [part for part in fitting if has_currency(text[slice(*part)])] if _HOW_MUCH.search(question) else []
    start, end = next(iter(priced or fitting or parts))
    return replace(span, start=start, end=end, text=text[start:end])


def _is_stated(question: str, source: Source, span: Span) -> bool:
    """Return whether a span stands in a sentence that states something, or in a row that the question names."""
    sentence = source.text[slice(*quote_around(source.text, span.start, span.end))]
    return _is_named(question, source, span) and not states_nothing(question, sentence, source.text)


def _is_named(question: str, source: Source, span: Span) -> bool:
    """Return whether a span stands in no row of a table, or in one that has most of the question's words.

    In a register whose rows are all alike, the reader takes the rent of one member for the rent.
    """
    row = source.text[source.text.rfind("\n", 0, span.start) + 1 :].split("\n", 1)[0]
    if not is_row(row):
        return True
    asked = frozenset(words(question))
    return len(asked & frozenset(words(f"{source.title} {row}"))) >= LEAST_NAMED * len(asked)


def _of_another_thing(question: str, source: Source, span: Span) -> bool:
    """Return whether a figure's clause is of something else than another clause of its sentence, which is asked for.

    "The rent for a full plot is £63, for a half plot £34": the second is no answer for a full plot.
    """
    start, end = quote_around(source.text, span.start, span.end)
    clauses = [(start + match.start(), match[0]) for match in _CLAUSE.finditer(source.text[start:end])]
    own = next((words(text) for at, text in clauses if at <= span.start < at + len(text)), [])
    asked = frozenset(words(question))
    others = [words(text) for _, text in clauses if any(map(str.isdigit, text)) and words(text) != own]
    return any(_contrast(own, other) - asked and _contrast(other, own) & asked for other in others)


def _contrast(own: Sequence[str], other: Sequence[str]) -> frozenset[str]:
    """Return the words of one clause alone that stand before a word of both: "full" of "full plot" and "half plot"."""
    return frozenset(word for word, behind in pairwise(own) if behind in other and word not in other)


def _latest_first(text: str, spans: Sequence[Span], kind: Kind, question: str) -> list[Span]:
    """Return the spans; if a sentence has numbers for several years, the one for the latest year comes first.

    Two places are then compared by the same census. For a question that names a year, the span of that year is chosen
    elsewhere.
    """
    found = list(spans)
    if kind != "number" or not found or _YEAR.search(question):
        return found
    start, end = quote_around(text, found[0].start, found[0].end)
    years = [(match.start() + start, int(match[0])) for match in _YEAR.finditer(text[start:end])]
    beside = [span for span in found if span.margin > 0 and start <= span.start and span.end <= end]
    beside = [span for span in beside if _typed(span.text, kind).kind == kind]
    if len(beside) < 2 or len({year for _, year in years}) < 2:
        return found

    def year(span: Span) -> int:
        """Return the year named nearest to a span."""
        return min(years, key=lambda item: abs(item[0] - span.start))[1]

    latest = max(beside, key=lambda span: (year(span), -found.index(span)))
    return [latest, *(span for span in found if span is not latest)]


def _terms(
    source: Source, asked: frozenset[str], named: frozenset[str]
) -> tuple[frozenset[str], frozenset[str], float]:
    """Return the index terms of a context, those of its names and numbers, and its share of the question's name."""
    whole = f"{source.title}\n{source.text}"
    terms = frozenset(words(whole))
    return terms, proper_terms(whole) - asked, len(named & terms) / len(named) if named else 0.5


def _distinctive(descriptor: str | None, question: str, answers: Sequence[ContextAnswer]) -> str | None:
    """Return a descriptor if it adds something to the question and is not just the answer's figure; else None.

    Words on both sides of a blank line are no phrase: they are a table's cells, or a heading and what follows.
    """
    if descriptor is None or _BLANK_LINE.search(descriptor):
        return None
    descriptor = " ".join(descriptor.split())
    given = frozenset(words(question))
    if answers and answers[0].value.kind in ("date", "number"):
        given |= frozenset(words(answers[0].value.text))
    return descriptor if descriptor and frozenset(words(descriptor)) - given else None


def _verdict(verdict: tuple[float, float, float]) -> TextValue:
    """Return yes or no, whichever is likelier, as the value of a passage that was read for a yes/no question."""
    yes, no, _ = verdict
    return TextValue("yes" if yes >= no else "no", "verdict", (float(yes >= no),))


def _typed(text: str, kind: Kind) -> TextValue:
    """Return a span as a value of the requested kind; as a name if it contains none."""
    found = values(text, kind, "") if kind in ("date", "number") else []
    return TextValue(text, found[0].kind, found[0].key) if found else TextValue(text, "name", frozenset(words(text)))


def _around(text: str, span: Span, answer: TextValue) -> ContextAnswer:
    """Return the sentence around a span.

    A long sentence is cut to the words around the span, and a heading at the text's beginning is left out.
    """
    start, end = quote_around(text, span.start, span.end)
    sentence, heading = text[start:end], heading_of(text)
    # The heading stays if it contains the answer.
    if start == 0 and len(heading) < span.start:
        start = len(heading)
    quote = _words_around(text[start:end], span.start - start, span.end - start)
    return ContextAnswer(answer, quote, sentence, frozenset(words(sentence)))


def _words_around(text: str, start: int, end: int) -> str:
    """Return a part of a text; if it is long, only `EXCERPT` words around the characters from `start` to `end`."""
    tokens = [match.span() for match in re.finditer(r"\S+", text)]
    if len(tokens) <= WHOLE_SENTENCE:
        return text.strip()
    first = next((i for i, at in enumerate(tokens) if at[1] > start), 0)
    last = next((i for i, at in enumerate(tokens) if at[1] >= end), len(tokens) - 1)
    spare = max(0, EXCERPT - (last - first + 1))
    # At an end of the text, words that are missing on one side are taken from the other.
    first = max(0, min(first - spare // 2, len(tokens) - EXCERPT))
    last = max(last, min(len(tokens) - 1, first + EXCERPT - 1))
    return text[tokens[first][0] : tokens[last][1]]


def _quote(sentence: str, heading: str, kind: Kind, question: str) -> str:
    """Return a sentence without a heading at its beginning; an excerpt if the sentence is long."""
    rest = sentence.removeprefix(heading).strip() or sentence
    return rest if len(rest.split()) <= WHOLE_SENTENCE else excerpt(rest, kind, question, EXCERPT)


def _first_words(sentence: str) -> TextValue:
    """Return a sentence's first words, the answer if it contains no value of the requested type."""
    text = " ".join(sentence.split()[:10])
    return TextValue(text, "name", frozenset(words(text)))


def _mean(vectors: Sequence[np.ndarray]) -> np.ndarray | None:
    """Return the mean direction of vectors, with unit length; None without vectors."""
    if not vectors:
        return None
    total = sum(vectors[1:], start=vectors[0])
    length = float((total**2).sum()) ** 0.5
    mean: np.ndarray = total / (length or 1.0)
    return mean
