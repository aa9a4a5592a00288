"""Contexts for COrg, without a language model: what each says on a question, and how two of them relate.

This is what the keyless reader replies; what follows from replies for all contexts, `corg/relation_graph.py` works out.

Each context is read once (`context_readings.py`). Logistic models over features of two contexts then say whether both
are about one thing, and whether two about one thing give one answer; the five relations follow from these as COrg
defines them (2.1, appendix C.1). Whether a context answers at all, a trained reader says (its calibrated threshold);
without one a third model does. The weights stand in `relations.json`, for either way of reading, and are set by
`python -m training.relations`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from preflight_rag.corg.agreement import same_answer
from preflight_rag.corg.comparability import Statement, about_different_things
from preflight_rag.corg.entities import heading_of, own_name
from preflight_rag.models.cache import PureCache
from preflight_rag.models.reading.extractive_reader import ExtractiveReader, Pair
from preflight_rag.offline.context_readings import ContextReading, Features, by_sentences, by_spans, of_document
from preflight_rag.state.errors import UsageError
from preflight_rag.state.reading import ContextNote, RelationReply, Source
from preflight_rag.state.values import RelationKind
from preflight_rag.text.names import surface_name
from preflight_rag.text.values import TextValue, same_value
from preflight_rag.text.versions import are_versions
from preflight_rag.text.words import words

if TYPE_CHECKING:
    import numpy as np

    from preflight_rag.offline.scored_sentences import ScoredSentence

WEIGHTS = Path(__file__).with_name("relations.json")
CACHED_CONTEXTS = 256
"""Contexts whose reading is kept, so that each is read once and not for every pivot; a guess."""
SLACK = 0.15
"""Greatest difference below the answer threshold for a context's best sentence to still count as answering. Set on the
development half of RAMDocs.
"""
EDITED = 0.75
"""Share of the shorter context's terms in the longer one, from which differing names and numbers count as an edit.
Set on the development half of RAMDocs."""
EDITED_SENTENCE = 0.6
"""The same for two sentences of which each holds terms that the other lacks."""

SENTENCES, SPANS = "sentences", "spans"
"""Ways of reading contexts, and the parts of the file of weights."""

Model = dict[str, float]
Rank = Callable[[str, Source], "list[ScoredSentence]"]


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
        """Return readings for `(question, title, text)` that are not in the cache."""
        # Made of question, title and text alone: the number of a source is its place in one turn's passages, and a
        # reading with it would differ between turns.
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
    # Without two descriptors another limit holds for "one thing", which `training/relations.py` has set.
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
