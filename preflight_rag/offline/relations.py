"""Contexts for COrg, without a language model: what each says on a question, and how two of them relate.

This is what the keyless reader replies; what follows from replies for all contexts, `corg/relations.py` works out.

Each context is read once: its answer, the sentence with it, and its descriptor. By sentences, that is the best sentence
of the context and the value there that answers; by spans, the spans that the extractive reader gives, each with the
sentence around it. Logistic models over features of two contexts then say
whether both are about one thing, and whether two about one thing give one answer; the five relations follow from these
as COrg defines them (2.1, appendix C.1). Whether a context answers at all, a trained reader says (its calibrated
threshold); without one a third model does. The weights stand in `relations.json`, for either way of reading, and are
set by `python -m training.relations`.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING

from preflight_rag.corg.agreement import same_answer
from preflight_rag.corg.comparability import Statement, about_different_things
from preflight_rag.corg.entities import descriptor_of, heading_of, own_name
from preflight_rag.models.cache import PureCache
from preflight_rag.models.reading.extractive_reader import ExtractiveReader, Pair, PassageReading, Span
from preflight_rag.state.errors import UsageError
from preflight_rag.state.reading import ContextNote, RelationReply, Source
from preflight_rag.state.values import RelationKind
from preflight_rag.text.names import proper_terms, speaks_of, subject_of, surface_name
from preflight_rag.text.quotes import quote_around
from preflight_rag.text.values import Kind, TextValue, asked_kind, excerpt, same_value, values
from preflight_rag.text.versions import are_versions
from preflight_rag.text.words import words

if TYPE_CHECKING:
    import numpy as np

    from preflight_rag.offline.evidence import ScoredSentence

WEIGHTS = Path(__file__).with_name("relations.json")
CACHED_CONTEXTS = 256
"""Contexts whose reading is kept, so that each is read once and not for every pivot; a guess."""
TYPED_BONUS = 0.4
"""Bonus of a sentence with a date or number, where the question asks for one. This constant and the next two were set
on the development half of RAMDocs."""
ATTRIBUTE_BONUS = 0.3
"""Bonus of a sentence with all of the question's terms besides the name in question."""
WHOLE_SENTENCE = 36
"""Words up to which a sentence is quoted whole; of a longer one (a table, a menu) `EXCERPT` words are."""
EXCERPT = 30
"""Words of an excerpt; as above."""
SLACK = 0.15
"""Greatest difference below the answer threshold for a context's best sentence to still count as answering. Set on the
development half of RAMDocs.
"""
EDITED = 0.75
"""Share of the shorter context's terms in the longer one, from which differing names and numbers count as an edit.
Set on the development half of RAMDocs."""
EDITED_SENTENCE = 0.6
"""The same for two sentences of which each holds terms that the other lacks."""

_YEAR = re.compile(r"(?<![\d.,])(?:1[5-9]|20)\d\d(?![\d.,]\d|\d)")

SENTENCES, SPANS = "sentences", "spans"
"""Ways of reading contexts, and the parts of the file of weights."""

Model = dict[str, float]
Features = dict[str, float]
Rank = Callable[[str, Source], "list[ScoredSentence]"]


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

    There are two ways of reading: by sentences (ranked with an embedder) and by spans (found by an extractive
    reader).

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


class ContextReader:
    """Reads contexts and predicts their relations; the result does not depend on the pivot. Thread-safe.

    Args:
        rank: Returns the sentences of one source, scored for a question, best first.
        threshold: Least score of a sentence that answers.
        extractive: The model that finds answers in contexts; None to rank their sentences instead.
    """

    def __init__(self, rank: Rank, threshold: float, extractive: ExtractiveReader | None = None) -> None:
        self._rank = rank
        self._floor = threshold - SLACK if extractive is None else extractive.threshold
        self._extractive = extractive
        self._readings: PureCache[Pair, ContextReading] = PureCache(CACHED_CONTEXTS)

    @property
    def models(self) -> dict[str, Model]:
        """The trained weights for the way in which this reader reads contexts: by sentences, or by spans."""
        return models()[SENTENCES if self._extractive is None else SPANS]

    def read(self, question: str, source: Source) -> ContextReading:
        """Return the reading of one context for a question."""
        return self.read_all(question, [source])[0]

    def read_all(self, question: str, sources: Sequence[Source]) -> list[ContextReading]:
        """Return the readings of contexts for a question, in order; passages not in the cache are read in one batch."""
        parts = [source.parts or (source,) for source in sources]
        keys = []
        for of_one in parts:
            for part in of_one:
                keys.append((question, part.title, part.text))
        read = iter(self._readings.get(keys, self._read))
        return [of_document(list(islice(read, len(of_one)))) for of_one in parts]

    def _read(self, keys: Sequence[Pair]) -> list[ContextReading]:
        # Made of question, title and text alone: the number of a source is its place in one turn's passages, and a
        # reading with it would differ between turns.
        """Return readings for `(question, title, text)` that are not in the cache."""
        contexts = [(question, Source(0, "", title, text)) for question, title, text in keys]
        if self._extractive is None:
            return [by_sentences(question, source, self._rank(question, source)) for question, source in contexts]
        behind = self.models["further_spans"]["behind"]
        passages = self._extractive.read(keys)
        return [
            by_spans(question, source, passage, behind)
            for (question, source), passage in zip(contexts, passages, strict=True)
        ]

    def note(self, question: str, source: Source) -> ContextNote:
        """Return a context's entity, descriptor and answer; no answer if the context is not relevant."""
        reading = self.read(question, source)
        heading = " ".join(source.title.split()) or heading_of(source.text)
        entity = own_name(surface_name(question), heading) or heading
        first = reading.answers[0] if self.answers(reading) else None
        return ContextNote(
            source.n,
            entity,
            reading.descriptor,
            first.value.text if first else None,
            sentence=first.sentence if first else "",
            confidence=reading.answerable if reading.answerable is not None else 0.0,
        )

    def answers(self, reading: ContextReading) -> bool:
        """Return whether a context answers the question: by the reader's threshold, or by model and sentence score.

        A context about something else does not answer, nor does a word if the question asks for a figure.
        """
        if not reading.answers or not reading.on_subject or not reading.typed:
            return False
        if reading.answerable is not None:
            return reading.answerable >= self._floor
        model = self.models["answers"]
        high = reading.best is not None and reading.best.score >= self._floor
        return high and probability(model, reading.features) >= model["threshold"]

    def compare(self, question: str, pivot: Source, others: Sequence[Source]) -> RelationReply:
        """Return the pivot's relation to each other context, and the notes of all."""
        mine, *rest = self.read_all(question, [pivot, *others])
        known = {source.n: self.note(question, source) for source in (pivot, *others)}
        kinds: dict[int, RelationKind] = {
            other.n: of_versions(known[pivot.n], known[other.n])
            if are_versions(pivot, other)
            else relation(mine, reading, known[pivot.n], known[other.n], self.models)
            for other, reading in zip(others, rest, strict=True)
        }
        return RelationReply(kinds, known)


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
    least = max(0.0, passage.spans[0].margin - behind) if passage.spans else 0.0
    for place, span in enumerate(_latest_first(source.text, passage.spans, kind, question)):
        if place and span.margin < least:
            continue
        answer = _verdict(passage.verdict) if kind == "verdict" and passage.verdict else _typed(span.text, kind)
        if not any(same_answer(answer.text, other.value.text) for other in answers):
            answers.append(_around(source.text, span, answer))
    terms, proper, _ = _terms(source, frozenset(words(question)), frozenset(words(name)))
    answerable = round(sum(passage.verdict[:2]), 4) if kind == "verdict" and passage.verdict else passage.answerable
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
    """Return a descriptor if it adds something to the question and is not just the answer's figure; else None."""
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


def pair_features(a: ContextReading, b: ContextReading) -> Features:
    """Return what two contexts share and where they differ; the same in either order."""
    first, second = frozenset(words(a.descriptor or "")), frozenset(words(b.descriptor or ""))
    both = bool(first and second)
    shared = len(first & second) / min(len(first), len(second)) if both else 0.0
    shares = _share_of(first, b.terms), _share_of(second, a.terms)
    copied = _overlap(a.terms, b.terms)
    sentences = a.sentence_terms, b.sentence_terms
    typed = a.value is not None and b.value is not None and a.value.kind == b.value.kind != "name"
    same = _same(a, b)
    return {
        "one_undescribed": float(bool(first) != bool(second)),
        "both_undescribed": float(not first and not second),
        "descriptors_shared": shared,
        "descriptors_differ": float(both and not first & second),
        "descriptor_held": max(shares),
        "descriptors_held": min(shares) if both else max(shares),
        "names_shared": _jaccard(a.proper, b.proper),
        "terms_shared": _jaccard(a.terms, b.terms),
        "sentence_terms": _jaccard(*sentences),
        "copied": max(0.0, copied - 0.6) / 0.4,
        "edited": float(copied >= EDITED and bool(a.proper - b.proper) and bool(b.proper - a.proper)),
        "copied_differ": max(0.0, copied - 0.6) / 0.4 * (not same),
        "sentence_edited": float(_overlap(*sentences) >= EDITED_SENTENCE and _both_own(*sentences)),
        "typed_same": float(typed and same),
        "typed_differ": float(typed and not same),
        "names_same": float(not typed and same),
        "value_held": (_value_contained(a, b) + _value_contained(b, a)) / 2,
        "value_held_both": _value_contained(a, b) * _value_contained(b, a),
        "answers_quoted": min(_value_quoted(a, b), _value_quoted(b, a)),
        **_way_features(a, b),
    }


def _way_features(a: ContextReading, b: ContextReading) -> Features:
    """Return the features that depend on how contexts are read: by sentence vectors, or by the extractive reader."""
    if a.answerable is None or b.answerable is None:
        return {
            "passages_alike": _cosine(a.mean, b.mean),
            "sentences_alike": _cosine(a.best.vector if a.best else None, b.best.vector if b.best else None),
        }
    return {"answerable_least": min(a.answerable, b.answerable)}


def _surely_differ(a: ContextReading, b: ContextReading) -> bool:
    """Return whether the answers certainly differ, so that dropping either context would lose an answer.

    The contexts have no answer in common, and their answers are two dates or numbers, or two names neither of which
    occurs in the other's sentence.
    """
    if a.value is None or b.value is None:
        return False
    if any(same_answer(x.value.text, y.value.text) for x in (*a.answers, *a.also) for y in (*b.answers, *b.also)):
        return False
    figures = a.value.kind == b.value.kind != "name"
    return figures or max(_value_quoted(a, b), _value_quoted(b, a)) < 1


def _same(a: ContextReading, b: ContextReading) -> bool:
    """Return whether two contexts' answers mean the same: values from sentences by type, spans by their words."""
    if a.value is None or b.value is None:
        return False
    if a.answerable is None or b.answerable is None:
        return same_value(a.value, b.value)
    return same_answer(a.value.text, b.value.text)


def _both_own(a: frozenset[str], b: frozenset[str]) -> bool:
    """Return whether each of two sets has an element that the other lacks."""
    return bool(a - b) and bool(b - a)


def _value_contained(a: ContextReading, b: ContextReading) -> float:
    """Return the share of the terms of one context's answer that the other context has."""
    return _share_of(_value_terms(a.value), b.terms)


def _value_quoted(a: ContextReading, b: ContextReading) -> float:
    """Return the share of the terms of one context's answer that the other's answer sentence has."""
    return _share_of(_value_terms(a.value), b.sentence_terms)


def _value_terms(value: TextValue | None) -> frozenset[str]:
    """Return the index terms of a value; of a number or date only those with digits, if there are any."""
    terms = frozenset(words(value.text)) if value else frozenset()
    return frozenset(term for term in terms if any(map(str.isdigit, term))) or terms


def _share_of(wanted: frozenset[str], terms: frozenset[str]) -> float:
    """Return the share of the wanted terms that are among some terms; 0 without wanted terms."""
    return len(wanted & terms) / len(wanted) if wanted else 0.0


def _jaccard(a: frozenset[str], b: frozenset[str]) -> float:
    """Return the Jaccard index of two sets of terms; 0 for two empty ones."""
    return len(a & b) / len(a | b) if a | b else 0.0


def _overlap(a: frozenset[str], b: frozenset[str]) -> float:
    """Return the size of the intersection divided by that of the smaller set."""
    return len(a & b) / min(len(a), len(b)) if a and b else 0.0


def _cosine(a: np.ndarray | None, b: np.ndarray | None) -> float:
    """Return the cosine of two unit vectors, rounded; 0 if one is missing."""
    return 0.0 if a is None or b is None else round(float(a @ b), 4)


def relation(
    a: ContextReading, b: ContextReading, note_a: ContextNote, note_b: ContextNote, trained: dict[str, Model]
) -> RelationKind:
    """Return the relation of two contexts (COrg, section 2.1, appendix C.1); `none` if one does not answer.

    Contexts that the model takes for the same entity count as having the same descriptor, even if one has none.
    """
    if note_a.answer is None or note_b.answer is None:
        return "none"
    features, entity = pair_features(a, b), trained["same_entity"]
    described = (note_a.descriptor is not None) + (note_b.descriptor is not None)
    least = entity["threshold"] if described == 2 else entity.get("undescribed", entity["threshold"])
    verdicts = a.value is not None and b.value is not None and a.value.kind == b.value.kind == "verdict"
    if probability(entity, features) < least and (described or not verdicts):
        return "none" if described == 1 else "distracting"
    one_answer = probability(trained["same_answer"], features) >= trained["same_answer"]["threshold"]
    if verdicts:
        one_answer = _same(a, b)
    differ = a.answerable is not None and _surely_differ(a, b)
    if one_answer and differ and described == 1:
        return "none"
    if not one_answer or differ:
        return "distracting" if about_different_things(_stated(note_a), _stated(note_b)) else "counterfactual"
    return "ambiguous" if described == 1 else "duplicated"


def of_versions(a: ContextNote, b: ContextNote) -> RelationKind:
    """Return the relation of two versions of one document, which are about one thing whatever their titles are."""
    if a.answer is None or b.answer is None:
        return "none"
    return "duplicated" if same_answer(a.answer, b.answer) else "counterfactual"


def _stated(note: ContextNote) -> Statement:
    """Return the note's answer with the sentence that contains it."""
    return Statement(note.answer or "", note.sentence)


def probability(model: Model, features: Features) -> float:
    """Return the probability by a logistic model with a weight per feature and `bias`."""
    total = model["bias"] + sum(model[feature] * value for feature, value in features.items())
    return 1 / (1 + math.exp(-max(-40.0, min(40.0, total))))


@lru_cache(maxsize=1)
def models() -> dict[str, dict[str, Model]]:
    """Return, for each way of reading, its models by name, each with its `threshold` on the probability.

    Of spans also `further_spans`: how far `behind` the best one, in logits, a further answer of a context may lie.

    Raises:
        UsageError: The file of weights is missing or damaged.
    """
    try:
        loaded = json.loads(WEIGHTS.read_text(encoding="utf-8"))
        return {way: loaded[way]["models"] for way in (SENTENCES, SPANS)}
    except (OSError, ValueError, KeyError) as error:
        problem = f"the weights in {WEIGHTS.name!r} cannot be read: {error}"
        raise UsageError(problem, help="Install the package again.") from None
