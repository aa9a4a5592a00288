"""How contexts relate for a question, without a language model: what the offline reader knows for COrg.

Each context is read once (`context_readings.py`): its answer, the sentence that says it, and what tells its subject
from others of the name. Logistic models over features of two contexts then say whether both are about one thing, and
whether two about one thing give one answer; the five relations follow from these as COrg defines them (section 2.1).
Whether a context answers at all, a trained reader says (its calibrated threshold); without one a third model does.
The weights stand in `offline_relations.json`, for either way of reading, and are set by `python -m
training.relations`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from preflight_rag.corg.agreement import same_answer
from preflight_rag.corg.descriptors import heading_of
from preflight_rag.models.cache import PureCache
from preflight_rag.models.reading.extractive_reader import ExtractiveReader, Pair
from preflight_rag.offline.context_readings import Features, Reading, by_sentences, by_spans
from preflight_rag.state.errors import UsageError
from preflight_rag.state.reading import Comparison, ContextNote, Source
from preflight_rag.state.values import RelationKind
from preflight_rag.text.names import surface_name
from preflight_rag.text.values import Value, same_value
from preflight_rag.text.words import words

if TYPE_CHECKING:
    import numpy as np

    from preflight_rag.offline.evidence import Scored

WEIGHTS = Path(__file__).with_name("relations.json")
CACHED_CONTEXTS = 256
"""Contexts whose reading is kept, so that each is read once and not for every pivot; a guess."""
SLACK = 0.15
"""How far below the answer threshold a context's best sentence may lie and the context still count as answering."""
EDITED = 0.75
"""Share of the shorter context's terms in the longer one, from which differing names and numbers count as an edit."""
EDITED_SENTENCE = 0.6
"""The same for two sentences of which each holds terms that the other lacks."""

SENTENCES, SPANS = "sentences", "spans"
"""Ways of reading contexts, and the parts of the file of weights."""

Model = dict[str, float]
Rank = Callable[[str, Source], "list[Scored]"]


class Contexts:
    """Readings and relations of contexts; the same whichever pivot they are asked for. Thread-safe.

    Args:
        rank: Sentences of one source, scored for a question, best first.
        threshold: Least score of a sentence that answers.
        extractive: What reads the contexts instead of ranking their sentences.
    """

    def __init__(self, rank: Rank, threshold: float, extractive: ExtractiveReader | None = None) -> None:
        self._rank = rank
        self._floor = threshold - SLACK if extractive is None else extractive.threshold
        self._extractive = extractive
        self._readings = PureCache(self._read, CACHED_CONTEXTS)

    @property
    def models(self) -> dict[str, Model]:
        """The models for the way that contexts are read here."""
        return models()[SENTENCES if self._extractive is None else SPANS]

    def read(self, question: str, source: Source) -> Reading:
        """What a context says on a question."""
        return self.read_all(question, [source])[0]

    def read_all(self, question: str, sources: Sequence[Source]) -> list[Reading]:
        """What contexts say on a question; those that are new are read together."""
        return self._readings.get([(question, source.title, source.text) for source in sources])

    def _read(self, keys: Sequence[Pair]) -> list[Reading]:
        # Made of question, title and text alone: the number of a source is its place in one turn's passages, and a
        # reading that held it would differ between turns.
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
        """A context's entity, descriptor and answer; no answer where it does not bear on the question."""
        reading = self.read(question, source)
        entity = surface_name(question) or " ".join(source.title.split()) or heading_of(source.text)
        answer = reading.value.text if reading.value and self.answers(reading) else None
        return ContextNote(source.n, entity, reading.descriptor, answer)

    def answers(self, reading: Reading) -> bool:
        """Whether a context counts as answering: as the reader's threshold says, or by model and sentence score.

        One that speaks of something else does not answer, whatever its sentences look like.
        """
        if not reading.said or not reading.on_subject:
            return False
        if reading.answerable is not None:
            return reading.answerable >= self._floor
        model = self.models["answers"]
        high = reading.best is not None and reading.best.score >= self._floor
        return high and probability(model, reading.features) >= model["threshold"]

    def compare(self, question: str, pivot: Source, others: Sequence[Source]) -> Comparison:
        """The pivot's relation to each other context, and the notes of all."""
        mine, *rest = self.read_all(question, [pivot, *others])
        known = {source.n: self.note(question, source) for source in (pivot, *others)}
        kinds: dict[int, RelationKind] = {
            other.n: relation(mine, reading, known[pivot.n], known[other.n], self.models)
            for other, reading in zip(others, rest, strict=True)
        }
        return Comparison(kinds, known)


def pair_features(a: Reading, b: Reading) -> Features:
    """What two contexts share and where they differ; the same in either order."""
    first, second = frozenset(words(a.descriptor or "")), frozenset(words(b.descriptor or ""))
    both = bool(first and second)
    shared = len(first & second) / min(len(first), len(second)) if both else 0.0
    held = _held(first, b.terms), _held(second, a.terms)
    copied = _overlap(a.terms, b.terms)
    sentences = a.sentence_terms, b.sentence_terms
    typed = a.value is not None and b.value is not None and a.value.kind == b.value.kind != "name"
    same = _same(a, b)
    return {
        "one_undescribed": float(bool(first) != bool(second)),
        "both_undescribed": float(not first and not second),
        "descriptors_shared": shared,
        "descriptors_differ": float(both and not first & second),
        "descriptor_held": max(held),
        "descriptors_held": min(held) if both else max(held),
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
        "value_held": (_value_held(a, b) + _value_held(b, a)) / 2,
        "value_held_both": _value_held(a, b) * _value_held(b, a),
        "answers_quoted": min(_value_quoted(a, b), _value_quoted(b, a)),
        **_way_features(a, b),
    }


def _way_features(a: Reading, b: Reading) -> Features:
    """What only one way of reading gives: vectors of sentences, or the reader's probabilities."""
    if a.answerable is None or b.answerable is None:
        return {
            "passages_alike": _cosine(a.mean, b.mean),
            "sentences_alike": _cosine(a.best.vector if a.best else None, b.best.vector if b.best else None),
        }
    return {"answerable_least": min(a.answerable, b.answerable)}


def _unsaid(a: Reading, b: Reading) -> bool:
    """Whether the answers that were read differ for sure, so that a context dropped for the other takes one with it.

    None of one is one of the other, and they are two dates or numbers, or names neither of which stands in the sentence
    that holds the other.
    """
    if a.value is None or b.value is None:
        return False
    if any(same_answer(mine.value.text, other.value.text) for mine in a.said for other in b.said):
        return False
    figures = a.value.kind == b.value.kind != "name"
    return figures or max(_value_quoted(a, b), _value_quoted(b, a)) < 1


def _same(a: Reading, b: Reading) -> bool:
    """Whether the contexts' answers mean the same; values in sentences by their type, spans as answers."""
    if a.value is None or b.value is None:
        return False
    if a.answerable is None or b.answerable is None:
        return same_value(a.value, b.value)
    return same_answer(a.value.text, b.value.text)


def _both_own(a: frozenset[str], b: frozenset[str]) -> bool:
    """Whether each of two sets holds something that the other lacks."""
    return bool(a - b) and bool(b - a)


def _value_held(a: Reading, b: Reading) -> float:
    return _held(_telling(a.value), b.terms)


def _value_quoted(a: Reading, b: Reading) -> float:
    return _held(_telling(a.value), b.sentence_terms)


def _telling(value: Value | None) -> frozenset[str]:
    """Index terms of a value; of a number or date only those with digits, where there are some."""
    terms = frozenset(words(value.text)) if value else frozenset()
    return frozenset(term for term in terms if any(map(str.isdigit, term))) or terms


def _held(wanted: frozenset[str], terms: frozenset[str]) -> float:
    return len(wanted & terms) / len(wanted) if wanted else 0.0


def _jaccard(a: frozenset[str], b: frozenset[str]) -> float:
    return len(a & b) / len(a | b) if a | b else 0.0


def _overlap(a: frozenset[str], b: frozenset[str]) -> float:
    return len(a & b) / min(len(a), len(b)) if a and b else 0.0


def _cosine(a: np.ndarray | None, b: np.ndarray | None) -> float:
    return 0.0 if a is None or b is None else round(float(a @ b), 4)


def relation(
    a: Reading, b: Reading, note_a: ContextNote, note_b: ContextNote, trained: dict[str, Model]
) -> RelationKind:
    """The relation of two contexts (COrg, section 2.1); `none` where one does not answer.

    Contexts that the model takes for one thing count as of one descriptor, also where one of them lacks it; then a
    smaller probability may do (`undescribed`), for they are not told apart. Of two answers read as spans that surely
    differ the model does not make one.
    """
    if note_a.answer is None or note_b.answer is None:
        return "none"
    features, entity = pair_features(a, b), trained["same_entity"]
    described = (note_a.descriptor is not None) + (note_b.descriptor is not None)
    least = entity["threshold"] if described == 2 else entity.get("undescribed", entity["threshold"])
    one_thing = probability(entity, features) >= least
    one_answer = probability(trained["same_answer"], features) >= trained["same_answer"]["threshold"]
    unsaid = a.answerable is not None and _unsaid(a, b)
    if not one_thing:
        return "distracting" if described == 2 else "none"
    if one_answer and unsaid and described == 1:
        return "none"
    if not one_answer or unsaid:
        return "counterfactual"
    return "ambiguous" if described == 1 else "duplicated"


def probability(model: Model, features: Features) -> float:
    """Probability by a logistic model, a weight a feature and `bias`."""
    total = model["bias"] + sum(model[feature] * value for feature, value in features.items())
    return 1 / (1 + math.exp(-max(-40.0, min(40.0, total))))


@lru_cache(maxsize=1)
def models() -> dict[str, dict[str, Model]]:
    """For each way of reading the models by name, each with its `threshold` on the probability.

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
