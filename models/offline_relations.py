"""How contexts relate for a question, without a language model: what the offline reader knows for COrg.

Each context is read once: its best sentence, the value there that answers, and what tells its subject from others of
the name (`offline_notes.py`). Three logistic models over features of a context, or of two, then say whether a context
answers, whether two are about one thing, and whether two about one thing give one answer; the five relations follow
from these as COrg defines them (section 2.1). The weights stand in `offline_relations.json` and are set on the
development half of RAMDocs by `python -m preflight_rag.evaluation.relations`.
"""

from __future__ import annotations

import json
import math
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from ..state.errors import UsageError
from ..state.reading import Comparison, ContextNote, Source
from ..state.values import RelationKind
from . import offline_notes as notes
from .words import words

if TYPE_CHECKING:
    import numpy as np

    from .offline import Scored

WEIGHTS = Path(__file__).with_name("offline_relations.json")
REMEMBERED = 256
"""Contexts whose reading is kept, so that every pivot of a question sees the same."""
TYPED_BONUS = 0.4
"""What a date or number adds to the score of a sentence, where the question asks for one."""
ATTRIBUTE_BONUS = 0.3
"""What a sentence gains that holds all of the question's terms besides the name it asks about."""
WHOLE_SENTENCE = 36
"""Words up to which a sentence is quoted whole; of a longer one (a table, a menu) `EXCERPT` words are."""
EXCERPT = 30
SLACK = 0.15
"""How far below the answer threshold a context's best sentence may lie and the context still count as answering."""
EDITED = 0.75
"""Share of the shorter context's terms in the longer one, from which differing names and numbers count as an edit."""
EDITED_SENTENCE = 0.6
"""The same for two sentences of which each holds terms that the other lacks."""

Features = dict[str, float]
Model = dict[str, float]


@dataclass(frozen=True)
class Reading:
    """One context, read for a question.

    Attributes:
        source: The context.
        best: Its sentence that answers best, or None where it has no sentences.
        quote: That sentence, or an excerpt of a long one; verbatim.
        value: The answer in that sentence.
        descriptor: What tells the context's subject from others of the name.
        features: Of the model that says whether it answers.
        terms: Index terms of title and text.
        proper: Those of its names and numbers that the question does not hold.
        mean: Mean of its sentences' vectors, length 1.
        on_subject: Whether it may be about the name that the question asks about.
    """

    source: Source
    best: Scored | None
    quote: str
    value: notes.Value | None
    descriptor: str | None
    features: Features
    terms: frozenset[str]
    proper: frozenset[str]
    mean: np.ndarray | None
    on_subject: bool


Rank = Callable[[str, Source], "list[Scored]"]


class Contexts:
    """Readings and relations of contexts; the same whichever pivot they are asked for. Thread-safe.

    Args:
        rank: Sentences of one source, scored for a question, best first.
        threshold: The reader's answer threshold.
    """

    def __init__(self, rank: Rank, threshold: float) -> None:
        self._rank = rank
        self._floor = threshold - SLACK
        self._lock = threading.Lock()
        self._read: OrderedDict[tuple[str, str, str], Reading] = OrderedDict()

    def read(self, question: str, source: Source) -> Reading:
        """What a context says on a question."""
        key = (question, source.title, source.text)
        with self._lock:
            known = self._read.get(key)
        if known is None:
            known = read(question, source, self._rank(question, source))
            with self._lock:
                self._read[key] = known
                if len(self._read) > REMEMBERED:
                    self._read.popitem(last=False)
        return known

    def note(self, question: str, source: Source) -> ContextNote:
        """A context's entity, descriptor and answer; no answer where it does not bear on the question."""
        reading = self.read(question, source)
        entity = notes.surface_name(question) or " ".join(source.title.split()) or notes.heading_of(source.text)
        answer = reading.value.text if reading.value and self.answers(reading) else None
        return ContextNote(source.n, entity, reading.descriptor, answer)

    def answers(self, reading: Reading) -> bool:
        """Whether a context counts as answering: by the model, and with a sentence not far below the threshold.

        One that speaks of something else does not answer, whatever its sentences look like.
        """
        if reading.best is None or reading.best.score < self._floor or not reading.on_subject:
            return False
        return probability("answers", reading.features) >= models()["answers"]["threshold"]

    def compare(self, question: str, pivot: Source, others: Sequence[Source]) -> Comparison:
        """The pivot's relation to each other context, and the notes of all."""
        known = {source.n: self.note(question, source) for source in (pivot, *others)}
        mine = self.read(question, pivot)
        kinds: dict[int, RelationKind] = {
            other.n: relation(mine, self.read(question, other), known[pivot.n], known[other.n]) for other in others
        }
        return Comparison(kinds, known)


def read(question: str, source: Source, ranked: Sequence[Scored]) -> Reading:
    """Choose the sentence and the value that answer, and gather the features of a context."""
    kind = notes.asked_kind(question)
    valued = [(item, notes.values(item.sentence.text, kind, question)) for item in ranked]
    typed = kind in {"date", "number"}
    asked = frozenset(words(question))
    name = notes.surface_name(question)
    named = frozenset(words(name))

    def worth(pair: tuple[Scored, list[notes.Value]]) -> float:
        held = _held(asked - named, pair[0].sentence.terms)
        return pair[0].score + TYPED_BONUS * (typed and bool(pair[1])) + ATTRIBUTE_BONUS * held

    best, found = max(valued, key=worth, default=(None, []))
    whole = f"{source.title}\n{source.text}"
    terms = frozenset(words(whole))
    features = {
        "score": best.score if best else 0.0,
        "similarity": best.similarity if best else 0.0,
        "typed": float(bool(found)) if typed else 0.5,
        "named": len(named & terms) / len(named) if named else 0.5,
        "lowest": min((item.score for item in ranked), default=0.0),
    }
    descriptor = notes.descriptor_of(name, source.title, source.text)
    value = found[0] if found else _words_of(best)
    quote = _quote(best.sentence.text, notes.heading_of(source.text), kind, question) if best else ""
    mean = _mean([item.vector for item in ranked])
    proper = notes.proper_terms(whole) - asked
    on_subject = notes.speaks_of(name, source.title, source.text)
    return Reading(source, best, quote, value, descriptor, features, terms, proper, mean, on_subject)


def _quote(sentence: str, heading: str, kind: notes.Kind, question: str) -> str:
    """A sentence without the heading that it begins with, or an excerpt of it where it is long."""
    rest = sentence.removeprefix(heading).strip() or sentence
    return rest if len(rest.split()) <= WHOLE_SENTENCE else notes.excerpt(rest, kind, question, EXCERPT)


def _words_of(best: Scored | None) -> notes.Value | None:
    """The sentence's first words, where it holds no value of the type that is asked for."""
    if best is None:
        return None
    text = " ".join(best.sentence.text.split()[:10])
    return notes.Value(text, "name", frozenset(words(text)))


def _mean(vectors: Sequence[np.ndarray]) -> np.ndarray | None:
    if not vectors:
        return None
    total = sum(vectors[1:], start=vectors[0])
    length = float((total**2).sum()) ** 0.5
    mean: np.ndarray = total / (length or 1.0)
    return mean


def pair_features(a: Reading, b: Reading) -> Features:
    """What two contexts share and where they differ; the same in either order."""
    first, second = frozenset(words(a.descriptor or "")), frozenset(words(b.descriptor or ""))
    both = bool(first and second)
    shared = len(first & second) / min(len(first), len(second)) if both else 0.0
    held = _held(first, b.terms), _held(second, a.terms)
    copied = _overlap(a.terms, b.terms)
    sentences = _sentence_terms(a), _sentence_terms(b)
    typed = a.value is not None and b.value is not None and a.value.kind == b.value.kind != "name"
    same = a.value is not None and b.value is not None and notes.same_value(a.value, b.value)
    return {
        "one_undescribed": float(bool(first) != bool(second)),
        "both_undescribed": float(not first and not second),
        "descriptors_shared": shared,
        "descriptors_differ": float(both and not first & second),
        "descriptor_held": max(held),
        "descriptors_held": min(held) if both else max(held),
        "names_shared": _jaccard(a.proper, b.proper),
        "terms_shared": _jaccard(a.terms, b.terms),
        "passages_alike": _cosine(a.mean, b.mean),
        "sentences_alike": _cosine(a.best.vector if a.best else None, b.best.vector if b.best else None),
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
    }


def _both_own(a: frozenset[str], b: frozenset[str]) -> bool:
    """Whether each of two sets holds something that the other lacks."""
    return bool(a - b) and bool(b - a)


def _value_held(a: Reading, b: Reading) -> float:
    return _held(_telling(a.value), b.terms)


def _value_quoted(a: Reading, b: Reading) -> float:
    return _held(_telling(a.value), _sentence_terms(b))


def _telling(value: notes.Value | None) -> frozenset[str]:
    """Index terms of a value; of a number or date only those with digits, where there are some."""
    terms = frozenset(words(value.text)) if value else frozenset()
    return frozenset(term for term in terms if any(map(str.isdigit, term))) or terms


def _sentence_terms(reading: Reading) -> frozenset[str]:
    return reading.best.sentence.terms if reading.best else frozenset()


def _held(wanted: frozenset[str], terms: frozenset[str]) -> float:
    return len(wanted & terms) / len(wanted) if wanted else 0.0


def _jaccard(a: frozenset[str], b: frozenset[str]) -> float:
    return len(a & b) / len(a | b) if a | b else 0.0


def _overlap(a: frozenset[str], b: frozenset[str]) -> float:
    return len(a & b) / min(len(a), len(b)) if a and b else 0.0


def _cosine(a: np.ndarray | None, b: np.ndarray | None) -> float:
    return 0.0 if a is None or b is None else round(float(a @ b), 4)


def relation(a: Reading, b: Reading, note_a: ContextNote, note_b: ContextNote) -> RelationKind:
    """The relation of two contexts (COrg, section 2.1); `none` where one does not answer.

    Contexts that the model takes for one thing count as of one descriptor, also where one of them lacks it.
    """
    if note_a.answer is None or note_b.answer is None:
        return "none"
    features = pair_features(a, b)
    one_thing = probability("same_entity", features) >= models()["same_entity"]["threshold"]
    one_answer = probability("same_answer", features) >= models()["same_answer"]["threshold"]
    described = (note_a.descriptor is not None) + (note_b.descriptor is not None)
    if not one_thing:
        return "distracting" if described == 2 else "none"
    if not one_answer:
        return "counterfactual"
    return "ambiguous" if described == 1 else "duplicated"


def probability(name: str, features: Features) -> float:
    """Probability by one of the models: answers, same_entity or same_answer."""
    model = models()[name]
    total = model["bias"] + sum(model[feature] * value for feature, value in features.items())
    return 1 / (1 + math.exp(-max(-40.0, min(40.0, total))))


@lru_cache(maxsize=1)
def models() -> dict[str, Model]:
    """The models by name: a weight a feature, `bias`, and `threshold` on the probability.

    Raises:
        UsageError: The file of weights is missing or damaged.
    """
    try:
        loaded: dict[str, Model] = json.loads(WEIGHTS.read_text(encoding="utf-8"))["models"]
    except (OSError, ValueError, KeyError) as error:
        problem = f"the weights in {WEIGHTS.name!r} cannot be read: {error}"
        raise UsageError(problem, help="Install the package again.") from None
    return loaded
