"""What one context says on a question, and what tells its subject from others of the name: read once, for COrg.

By sentences: the best sentence of the context, and the value there that answers. By spans: the spans that a trained
reader gives (`extractive_reader.py`), each with the sentence around it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from preflight_rag.corg.agreement import same_answer
from preflight_rag.corg.descriptors import descriptor_of, heading_of
from preflight_rag.models.reading.extractive_reader import PassageReading, Span
from preflight_rag.offline.evidence import quote_around
from preflight_rag.state.reading import Source
from preflight_rag.text.names import proper_terms, speaks_of, surface_name
from preflight_rag.text.values import Kind, Value, asked_kind, excerpt, values
from preflight_rag.text.words import words

if TYPE_CHECKING:
    import numpy as np

    from preflight_rag.offline.evidence import Scored

TYPED_BONUS = 0.4
"""What a date or number adds to the score of a sentence, where the question asks for one."""
ATTRIBUTE_BONUS = 0.3
"""What a sentence gains that holds all of the question's terms besides the name it asks about."""
WHOLE_SENTENCE = 36
"""Words up to which a sentence is quoted whole; of a longer one (a table, a menu) `EXCERPT` words are."""
EXCERPT = 30

Features = dict[str, float]


@dataclass(frozen=True)
class Said:
    """One answer of a context.

    Attributes:
        value: The short answer.
        quote: The sentence that says it, or an excerpt of a long one; verbatim.
        sentence: The whole sentence.
        terms: The sentence's index terms.
    """

    value: Value
    quote: str
    sentence: str
    terms: frozenset[str]


@dataclass(frozen=True)
class Reading:
    """One context, read for a question.

    Attributes:
        said: Its answers, best first; by sentences one at most.
        descriptor: What tells the context's subject from others of the name.
        features: By sentences, of the model that says whether it answers.
        terms: Index terms of title and text.
        proper: Those of its names and numbers that the question does not hold.
        on_subject: Whether it may be about the name that the question asks about.
        best: By sentences, the one that answers best, or None where the context has none.
        mean: By sentences, the mean of their vectors, length 1.
        answerable: By spans, the probability that the context answers; to a yes/no question, that it says either.
    """

    said: tuple[Said, ...]
    descriptor: str | None
    features: Features
    terms: frozenset[str]
    proper: frozenset[str]
    on_subject: bool
    best: Scored | None = None
    mean: np.ndarray | None = None
    answerable: float | None = None

    @property
    def value(self) -> Value | None:
        """The answer that it gives first."""
        return self.said[0].value if self.said else None

    @property
    def sentence_terms(self) -> frozenset[str]:
        """Index terms of the sentence with that answer."""
        return self.said[0].terms if self.said else frozenset()


def by_sentences(question: str, source: Source, ranked: Sequence[Scored]) -> Reading:
    """Choose the sentence and the value that answer, and gather the features of a context."""
    kind = asked_kind(question)
    valued = [(item, values(item.sentence.text, kind, question)) for item in ranked]
    typed = kind in {"date", "number"}
    asked = frozenset(words(question))
    name = surface_name(question)
    named = frozenset(words(name))

    def worth(pair: tuple[Scored, list[Value]]) -> float:
        rest = asked - named
        held = len(rest & pair[0].sentence.terms) / len(rest) if rest else 0.0
        return pair[0].score + TYPED_BONUS * (typed and bool(pair[1])) + ATTRIBUTE_BONUS * held

    best, found = max(valued, key=worth, default=(None, []))
    terms, proper, share = _terms(source, asked, named)
    features = {
        "score": best.score if best else 0.0,
        "similarity": best.similarity if best else 0.0,
        "typed": float(bool(found)) if typed else 0.5,
        "named": share,
        "lowest": min((item.score for item in ranked), default=0.0),
    }
    said: tuple[Said, ...] = ()
    if best is not None:
        sentence = best.sentence.text
        quote = _quote(sentence, heading_of(source.text), kind, question)
        said = (Said(found[0] if found else _first_words(sentence), quote, sentence, best.sentence.terms),)
    return Reading(
        said,
        descriptor_of(name, source.title, source.text),
        features,
        terms,
        proper,
        speaks_of(name, source.title, source.text),
        best=best,
        mean=_mean([item.vector for item in ranked]),
    )


def by_spans(question: str, source: Source, passage: PassageReading, behind: float) -> Reading:
    """Take the reader's spans for answers: the best one, and others near it that differ from it.

    Args:
        question: The question.
        source: The context.
        passage: The reader's reading of it.
        behind: How far, in logits, a further span may lie behind the best one; it must score above "no answer".
    """
    kind, name = asked_kind(question), surface_name(question)
    said: list[Said] = []
    for span in passage.spans:
        if said and not max(0.0, passage.spans[0].margin - behind) <= span.margin:
            break
        answer = _verdict(passage.verdict) if kind == "verdict" and passage.verdict else _typed(span.text, kind)
        if not any(same_answer(answer.text, other.value.text) for other in said):
            said.append(_around(source.text, span, answer))
    terms, proper, _ = _terms(source, frozenset(words(question)), frozenset(words(name)))
    told = round(sum(passage.verdict[:2]), 4) if kind == "verdict" and passage.verdict else passage.answerable
    return Reading(
        tuple(said),
        _telling(descriptor_of(name, source.title, source.text) or passage.descriptor, question, said),
        {},
        terms,
        proper,
        speaks_of(name, source.title, source.text),
        answerable=told,
    )


def _terms(
    source: Source, asked: frozenset[str], named: frozenset[str]
) -> tuple[frozenset[str], frozenset[str], float]:
    """Index terms of a context, those of its names and numbers, and its share of the name that is asked about."""
    whole = f"{source.title}\n{source.text}"
    terms = frozenset(words(whole))
    return terms, proper_terms(whole) - asked, len(named & terms) / len(named) if named else 0.5


def _telling(descriptor: str | None, question: str, said: Sequence[Said]) -> str | None:
    """A descriptor that says more than the question; of a date or number, more than that figure."""
    given = frozenset(words(question))
    if said and said[0].value.kind in ("date", "number"):
        given |= frozenset(words(said[0].value.text))
    return descriptor if descriptor and frozenset(words(descriptor)) - given else None


def _verdict(verdict: tuple[float, float, float]) -> Value:
    """Yes or no, whichever is likelier, of a passage that was asked a yes/no question."""
    yes, no, _ = verdict
    return Value("yes" if yes >= no else "no", "verdict", (float(yes >= no),))


def _typed(text: str, kind: Kind) -> Value:
    """A span with the meaning of the first value of the kind that it holds; else a name."""
    found = values(text, kind, "") if kind in ("date", "number") else []
    return Value(text, found[0].kind, found[0].key) if found else Value(text, "name", frozenset(words(text)))


def _around(text: str, span: Span, answer: Value) -> Said:
    """The sentence around a span; of many words those around it, without the heading that the text begins with."""
    start, end = quote_around(text, span.start, span.end)
    sentence, heading = text[start:end], heading_of(text)
    if start == 0 and len(heading) < span.start:
        start = len(heading)
    quote = _words_around(text[start:end], span.start - start, span.end - start)
    return Said(answer, quote, sentence, frozenset(words(sentence)))


def _words_around(text: str, start: int, end: int) -> str:
    """A stretch whole, or where it is long `EXCERPT` words of it around the characters from `start` to `end`."""
    tokens = [match.span() for match in re.finditer(r"\S+", text)]
    if len(tokens) <= WHOLE_SENTENCE:
        return text.strip()
    first = next((i for i, at in enumerate(tokens) if at[1] > start), 0)
    last = next((i for i, at in enumerate(tokens) if at[1] >= end), len(tokens) - 1)
    spare = max(0, EXCERPT - (last - first + 1))
    first = max(0, min(first - spare // 2, len(tokens) - EXCERPT))
    last = max(last, min(len(tokens) - 1, first + EXCERPT - 1))
    return text[tokens[first][0] : tokens[last][1]]


def _quote(sentence: str, heading: str, kind: Kind, question: str) -> str:
    """A sentence without the heading that it begins with, or an excerpt of it where it is long."""
    rest = sentence.removeprefix(heading).strip() or sentence
    return rest if len(rest.split()) <= WHOLE_SENTENCE else excerpt(rest, kind, question, EXCERPT)


def _first_words(sentence: str) -> Value:
    """The sentence's first words, where it holds no value of the type that is asked for."""
    text = " ".join(sentence.split()[:10])
    return Value(text, "name", frozenset(words(text)))


def _mean(vectors: Sequence[np.ndarray]) -> np.ndarray | None:
    if not vectors:
        return None
    total = sum(vectors[1:], start=vectors[0])
    length = float((total**2).sum()) ** 0.5
    mean: np.ndarray = total / (length or 1.0)
    return mean
