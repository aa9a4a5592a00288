"""Contexts for COrg, without a language model: what each says on a question, and how two of them relate.

The offline reader replies with it; `corg/relation_graph.py` builds the graph of all contexts from such replies.

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
"""Number of contexts whose readings are cached, so that each is read once and not for every pivot; a guess."""
THRESHOLD_SLACK = 0.15
"""How far the score of a context's best sentence may be below the answer threshold. Set on the development half of
RAMDocs."""
MIN_EDITED_OVERLAP = 0.75
"""Least share of the smaller context's terms in the other, at which differing names and numbers count as an edit of one
text. Set on the development half of RAMDocs."""
MIN_COPIED_OVERLAP = 0.6
"""Share of the smaller context's terms in the other at which the feature `copied` starts to grow from 0 towards 1."""
MIN_EDITED_SENTENCE_OVERLAP = 0.6
"""The same for two answer sentences, each of which has terms that the other lacks."""

SENTENCES, SPANS = "sentences", "spans"
"""The two ways of reading contexts, which are also the keys in the file of weights."""

MAX_LOGIT = 40.0
"""Bound of a model's sum, so that `math.exp` cannot overflow; the probability there is 0 or 1 in all shown digits."""

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
        self._floor = threshold - THRESHOLD_SLACK if extractive is None else extractive.threshold
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
        """Return the readings of contexts for a question, in order.

        A document of several passages is read passage by passage, and their readings are joined. Passages that are not
        in the cache are read in one batch.
        """
        passages_of_sources = [source.parts or (source,) for source in sources]
        keys = []
        for passages in passages_of_sources:
            for passage in passages:
                keys.append((question, passage.title, passage.text))
        readings = iter(self._readings.get(keys, self._read_uncached))
        return [of_document(list(islice(readings, len(passages)))) for passages in passages_of_sources]

    def _read_uncached(self, keys: Sequence[Pair]) -> list[ContextReading]:
        """Return the readings for keys `(question, title, text)` that are not in the cache."""
        # The source's number is always 0 here: the real one differs between turns, and cached readings must not.
        contexts = [(question, Source(0, "", title, text)) for question, title, text in keys]
        if self._extractive is None:
            return [by_sentences(question, source, self._rank(question, source)) for question, source in contexts]
        max_behind = self.models["further_spans"]["behind"]
        passages = self._extractive.read(keys)
        return [
            by_spans(question, source, passage, max_behind)
            for (question, source), passage in zip(contexts, passages, strict=True)
        ]

    def note(self, question: str, source: Source) -> ContextNote:
        """Return a note of a context's entity, descriptor and best answer; its answer is None if it does not answer."""
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
        """Return whether a context answers the question.

        It does not without a found answer, if it is about something else, or if the answer is a word where a figure is
        asked for. Else the extractive reader's threshold decides; without one, a trained model and the score of the
        best sentence.
        """
        if not reading.answers or not reading.on_subject or not reading.typed:
            return False
        if reading.answerable is not None:
            return reading.answerable >= self._floor
        model = self.models["answers"]
        scores_high = reading.best is not None and reading.best.score >= self._floor
        return scores_high and probability(model, reading.features) >= model["threshold"]

    def compare(self, question: str, pivot: Source, others: Sequence[Source]) -> RelationReply:
        """Return the pivot's relation to each other context, and the notes of all, each by the source's number."""
        pivot_reading, *other_readings = self.read_all(question, [pivot, *others])
        notes = {source.n: self.note(question, source) for source in (pivot, *others)}
        kinds: dict[int, RelationKind] = {}
        for other, reading in zip(others, other_readings, strict=True):
            if are_versions(pivot, other):
                kinds[other.n] = relation_of_versions(notes[pivot.n], notes[other.n])
            else:
                kinds[other.n] = relation_of(pivot_reading, reading, notes[pivot.n], notes[other.n], self.models)
        return RelationReply(kinds, notes)


def pair_features(a: ContextReading, b: ContextReading) -> Features:
    """Return the features of two contexts, what they share and where they differ; the same in either order."""
    descriptor_a, descriptor_b = frozenset(words(a.descriptor or "")), frozenset(words(b.descriptor or ""))
    both_described = bool(descriptor_a and descriptor_b)
    shared = len(descriptor_a & descriptor_b) / min(len(descriptor_a), len(descriptor_b)) if both_described else 0.0
    descriptor_shares = _share_of(descriptor_a, b.terms), _share_of(descriptor_b, a.terms)
    overlap = _overlap(a.terms, b.terms)
    copied = max(0.0, overlap - MIN_COPIED_OVERLAP) / 0.4
    sentences = a.sentence_terms, b.sentence_terms
    are_figures = a.value is not None and b.value is not None and a.value.kind == b.value.kind != "name"
    same = _have_same_answer(a, b)
    shares_in_contexts = _value_share_in_context(a, b), _value_share_in_context(b, a)
    return {
        "one_undescribed": float(bool(descriptor_a) != bool(descriptor_b)),
        "both_undescribed": float(not descriptor_a and not descriptor_b),
        "descriptors_shared": shared,
        "descriptors_differ": float(both_described and not descriptor_a & descriptor_b),
        "descriptor_held": max(descriptor_shares),
        "descriptors_held": min(descriptor_shares) if both_described else max(descriptor_shares),
        "names_shared": _jaccard(a.proper, b.proper),
        "terms_shared": _jaccard(a.terms, b.terms),
        "sentence_terms": _jaccard(*sentences),
        "copied": copied,
        "edited": float(overlap >= MIN_EDITED_OVERLAP and _each_has_own_terms(a.proper, b.proper)),
        "copied_differ": 0.0 if same else copied,
        "sentence_edited": float(
            _overlap(*sentences) >= MIN_EDITED_SENTENCE_OVERLAP and _each_has_own_terms(*sentences)
        ),
        "typed_same": float(are_figures and same),
        "typed_differ": float(are_figures and not same),
        "names_same": float(not are_figures and same),
        "value_held": sum(shares_in_contexts) / 2,
        "value_held_both": math.prod(shares_in_contexts),
        "answers_quoted": min(_value_share_in_sentence(a, b), _value_share_in_sentence(b, a)),
        **_similarity_features(a, b),
    }


def _similarity_features(a: ContextReading, b: ContextReading) -> Features:
    """Return the features that depend on the way of reading.

    Without the extractive reader, the cosines of the contexts and of their best sentences; with it, the smaller one of
    their probabilities of containing an answer.
    """
    if a.answerable is None or b.answerable is None:
        return {
            "passages_alike": _cosine(a.mean, b.mean),
            "sentences_alike": _cosine(a.best.vector if a.best else None, b.best.vector if b.best else None),
        }
    return {"answerable_least": min(a.answerable, b.answerable)}


def _certainly_differ(a: ContextReading, b: ContextReading) -> bool:
    """Return whether the answers of two contexts certainly differ, so that dropping either would lose an answer.

    The contexts have no answer in common, and their best answers are two dates or numbers, or two names neither of
    which occurs in the other's sentence. False if a context has no answer.
    """
    if a.value is None or b.value is None:
        return False
    for answer_a in (*a.answers, *a.also):
        if any(same_answer(answer_a.value.text, answer_b.value.text) for answer_b in (*b.answers, *b.also)):
            return False
    if a.value.kind == b.value.kind != "name":
        return True
    return max(_value_share_in_sentence(a, b), _value_share_in_sentence(b, a)) < 1


def _have_same_answer(a: ContextReading, b: ContextReading) -> bool:
    """Return whether the best answers of two contexts mean the same; False if a context has none.

    Values out of sentences are compared by their type, spans of the extractive reader by their words.
    """
    if a.value is None or b.value is None:
        return False
    if a.answerable is None or b.answerable is None:
        return same_value(a.value, b.value)
    return same_answer(a.value.text, b.value.text)


def _each_has_own_terms(a: frozenset[str], b: frozenset[str]) -> bool:
    """Return whether each of two sets has an element that the other lacks."""
    return bool(a - b) and bool(b - a)


def _value_share_in_context(a: ContextReading, b: ContextReading) -> float:
    """Return the share, in [0, 1], of the terms of the answer of `a` that the context `b` has."""
    return _share_of(_value_terms(a.value), b.terms)


def _value_share_in_sentence(a: ContextReading, b: ContextReading) -> float:
    """Return the share, in [0, 1], of the terms of the answer of `a` that the answer sentence of `b` has."""
    return _share_of(_value_terms(a.value), b.sentence_terms)


def _value_terms(value: TextValue | None) -> frozenset[str]:
    """Return the index terms of a value: those with digits if there are any, else all; none without a value."""
    terms = frozenset(words(value.text)) if value else frozenset()
    terms_with_digits = frozenset(term for term in terms if any(map(str.isdigit, term)))
    return terms_with_digits or terms


def _share_of(wanted: frozenset[str], terms: frozenset[str]) -> float:
    """Return the share of the wanted terms that are in `terms`; 0 if no term is wanted."""
    return len(wanted & terms) / len(wanted) if wanted else 0.0


def _jaccard(a: frozenset[str], b: frozenset[str]) -> float:
    """Return the Jaccard index of two sets of terms; 0 for two empty ones."""
    return len(a & b) / len(a | b) if a | b else 0.0


def _overlap(a: frozenset[str], b: frozenset[str]) -> float:
    """Return the size of the intersection divided by that of the smaller set; 0 if a set is empty."""
    return len(a & b) / min(len(a), len(b)) if a and b else 0.0


def _cosine(a: np.ndarray | None, b: np.ndarray | None) -> float:
    """Return the cosine of two unit vectors, rounded to four decimals; 0 if one is missing."""
    return 0.0 if a is None or b is None else round(float(a @ b), 4)


def relation_of(
    a: ContextReading, b: ContextReading, note_a: ContextNote, note_b: ContextNote, trained: dict[str, Model]
) -> RelationKind:
    """Return the relation of two contexts (COrg, section 2.1, appendix C.1); `none` if one does not answer.

    Contexts that the model takes for the same entity count as having the same descriptor, even if one has none.
    """
    if note_a.answer is None or note_b.answer is None:
        return "none"
    features, entity_model, answer_model = pair_features(a, b), trained["same_entity"], trained["same_answer"]
    described = sum(note.descriptor is not None for note in (note_a, note_b))
    # `training/relations.py` sets another threshold for contexts without two descriptors.
    threshold = (
        entity_model["threshold"] if described == 2 else entity_model.get("undescribed", entity_model["threshold"])
    )
    are_verdicts = a.value is not None and b.value is not None and a.value.kind == b.value.kind == "verdict"
    same_entity = probability(entity_model, features) >= threshold
    # Two verdicts without any descriptor answer the same yes/no question.
    if not same_entity and (described or not are_verdicts):
        return "none" if described == 1 else "distracting"
    same = probability(answer_model, features) >= answer_model["threshold"]
    if are_verdicts:
        same = _have_same_answer(a, b)
    certainly_differ = a.answerable is not None and _certainly_differ(a, b)
    if same and certainly_differ and described == 1:
        return "none"
    if not same or certainly_differ:
        different_things = about_different_things(_statement_of(note_a), _statement_of(note_b))
        return "distracting" if different_things else "counterfactual"
    return "ambiguous" if described == 1 else "duplicated"


def relation_of_versions(a: ContextNote, b: ContextNote) -> RelationKind:
    """Return the relation of two versions of one document; `none` if one does not answer.

    They are about one entity whatever their titles are, so only their answers are compared.
    """
    if a.answer is None or b.answer is None:
        return "none"
    return "duplicated" if same_answer(a.answer, b.answer) else "counterfactual"


def _statement_of(note: ContextNote) -> Statement:
    """Return the note's answer with the sentence that contains it."""
    return Statement(note.answer or "", note.sentence)


def probability(model: Model, features: Features) -> float:
    """Return the probability by a logistic model, which has a weight for each feature, and a `bias`."""
    total = model["bias"] + sum(model[feature] * value for feature, value in features.items())
    return 1 / (1 + math.exp(-max(-MAX_LOGIT, min(MAX_LOGIT, total))))


@lru_cache(maxsize=1)
def models() -> dict[str, dict[str, Model]]:
    """Return the trained models by way of reading and name, each with its weights and `threshold`.

    `SPANS` also has `further_spans`, whose `behind` says how far, in logits, a context's further answer may be behind
    its best one.

    Raises:
        UsageError: The file of weights is missing or damaged.
    """
    try:
        loaded = json.loads(WEIGHTS.read_text(encoding="utf-8"))
        return {way: loaded[way]["models"] for way in (SENTENCES, SPANS)}
    except (OSError, ValueError, KeyError) as error:
        problem = f"the weights in {WEIGHTS.name!r} cannot be read: {error}"
        raise UsageError(problem, help="Install the package again.") from None
