"""Signals that the retrieved passages need COrg, computed without a language model: the router's third way.

A question needs COrg if its passages are about several things of one name, or contradict each other (COrg, section
2.1). Passages of one document count together (`corg.contexts`): a document does not disagree with itself. The signals,
each a score in [0, 1]:

- names: titles or opening phrases that contain a name of the question with different descriptors;
- values: the sentences nearest to the question give different numbers, dates or names, or one text is an edited copy
  of another;
- duplicates: passages of different documents that say the same in the same words;
- dates: documents that differ so, or say the same, and were written years apart;
- answers, with an extractive reader: the probability of the second answer that it finds, in another document.

Only passages that are relevant to the question count. A logistic model combines the signals into one score: one model
of four signals and one of all five. The weights are in `signals.json` and are set by `python -m training.signals`,
the numbers below by hand on the same development questions.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import chain, combinations, pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from preflight_rag.corg.comparability import Statement, agree, sentence_around
from preflight_rag.corg.contexts import contexts_of
from preflight_rag.corg.entities import NamedEntity, leading_names, named_entity
from preflight_rag.models.reading.extractive_reader import ExtractiveReader, PassageReading
from preflight_rag.state.reading import Source
from preflight_rag.text.names import Name, position, surface_names, tokens
from preflight_rag.text.question_forms import comparison_of
from preflight_rag.text.sentence_fit import SentenceFit
from preflight_rag.text.sentences import sentence_spans
from preflight_rag.text.values import Kind, TextValue, asked_kind, same_value, values
from preflight_rag.text.words import STOP_WORDS, words

if TYPE_CHECKING:
    from preflight_rag.state.schema import PassageRef

SIGNALS = ("names", "values", "duplicates", "dates")
ANSWERS = "answers"
"""The signal that needs a reader."""
WEIGHTS = Path(__file__).with_name("signals.json")

MAX_CONTEXTS = 24
"""Largest number of contexts, nearest to the question first, that are compared with each other."""
MAX_DISTANCE_FROM_BEST = 0.25
"""Largest difference of a context's nearness to that of the nearest one at which it still counts as relevant."""
ASSUMED_SENTENCES = 100
"""Number of sentences that is assumed for document frequencies, since a few sentences give none of use."""
MAX_LOST_SHARE = 0.35
"""Largest difference of the share of question words in a context's nearest sentence to that in the one with its
candidate answers."""
MAX_SENTENCES = 8
MAX_SENTENCE_CHARACTERS = 600
MAX_CANDIDATES = 2
"""Largest number of candidate answers of a sentence that are compared: those nearest to the question's words."""
NAME_WEIGHT = 0.4
"""Weight of a difference between names, relative to one between numbers or dates: many names are near a question by
chance."""
SHINGLE_WORDS = 3
MIN_COPIED_SHARE = 0.5
"""Least share of the smaller context's shingles (runs of words) in the other at which the two are copies."""
MAX_EDIT_WORDS = 6
SURE_VERDICT = 0.65
"""Least probability of yes or no that counts as a certain answer; it is lower than for other answers because "neither"
takes a share of a verdict. Set on development questions of PubMedQA, of which 5 % have two abstracts that differ so,
and of ConflictQA."""
FAR_YEARS = 5
"""Years between two documents from which on the signal of their dates is 1."""

_ASKS_FOR_EXPLANATION = re.compile(
    r"(?:why|how)\b(?! (?:many|much|old|tall|long|far|fast|large|big|high|deep|heavy|often|wide|hot|cold)\b)", re.I
)
_YEAR = re.compile(r"(?<!\d)(?:1[5-9]|20)\d\d(?!\d)")
_RAW_TOKEN = re.compile(r"\w+(?:[.,]\d+)*")


@dataclass(frozen=True)
class Signal:
    """A score in [0, 1], with its reason in a few words."""

    score: float = 0.0
    reason: str = ""


@dataclass(frozen=True)
class CorgSignals:
    """The signals for COrg by name, and the probability computed from them."""

    signals: Mapping[str, Signal]
    score: float

    def as_numbers(self) -> dict[str, float]:
        """Return `corg` and `corg_<signal>`, as the router's decision stores them."""
        scores = {f"corg_{name}": round(signal.score, 4) for name, signal in self.signals.items()}
        return {"corg": self.score, **scores}

    @property
    def fired(self) -> list[str]:
        """The reasons of the signals whose score is not zero."""
        return [signal.reason for signal in self.signals.values() if signal.score]


@dataclass(frozen=True)
class Model:
    """Logistic regression over the signals."""

    bias: float
    weights: Mapping[str, float]

    def score(self, scores: Mapping[str, float]) -> float:
        """Return the probability, to four decimals, for the signals' scores by name."""
        total = self.bias + sum(weight * scores[name] for name, weight in self.weights.items())
        return round(1 / (1 + math.exp(-total)), 4)


@dataclass(frozen=True)
class ContextFeatures:
    """A context with the features from which the signals are computed.

    Attributes:
        source: The context.
        nearness: The mean of its best cosine with the question and of its share of the question's terms.
        sentences: Its sentences with the share of the question's terms that each contains, together with the title; the
            largest share first.
        tokens: The words of title and text, casefolded.
        shingles: Its runs of `SHINGLE_WORDS` words.
        year: When the document was written, if known.
    """

    source: Source
    nearness: float
    sentences: Sequence[tuple[float, str]]
    tokens: Name
    shingles: frozenset[Name]
    year: int | None


Pair = tuple[ContextFeatures, ContextFeatures]


@lru_cache(maxsize=1)
def trained() -> dict[str, Model]:
    """Return the models in `signals.json` by name: `none` without an extractive reader, `reader` with one."""
    weights = json.loads(WEIGHTS.read_text(encoding="utf-8"))
    return {name: Model(model["bias"], model["weights"]) for name, model in weights.items()}


def read_signals(
    question: str,
    refs: Sequence[PassageRef],
    sources: Sequence[Source],
    extractive: ExtractiveReader | None = None,
) -> CorgSignals:
    """Return the signals of the retrieved passages, and the probability that they need COrg; 0 without passages.

    Args:
        question: The standalone question.
        refs: The passages as the search found them; their cosines with the question are used.
        sources: The passages' texts, in the same order.
        extractive: The reader for the signal `answers`; without it the model of the other four signals is used.
    """
    signals = measure(question, refs, sources, extractive)
    if not refs:
        return CorgSignals(signals, score=0.0)
    model = trained()["none" if extractive is None else "reader"]
    return CorgSignals(signals, model.score({name: signal.score for name, signal in signals.items()}))


def measure(
    question: str,
    refs: Sequence[PassageRef],
    sources: Sequence[Source],
    extractive: ExtractiveReader | None = None,
) -> dict[str, Signal]:
    """Return the signals by name, `answers` only with an extractive reader; all 0 for a question that compares.

    See `read_signals` for the arguments.
    """
    # A question that compares two things expects them to differ: that is no sign of a contradiction.
    if comparison_of(question):
        return dict.fromkeys((*SIGNALS, *([] if extractive is None else [ANSWERS])), Signal())
    contexts = on_subject(question, relevant_contexts(context_features(question, refs, sources)))
    pairs = list(combinations(with_most_names(question, contexts), 2))
    duplicates, edited, copies = copy_signals(pairs)
    different_values, different_pairs = values_signal(question, pairs)
    signals = {
        "names": names_signal(question, contexts),
        "values": max(different_values, edited, key=lambda signal: signal.score),
        "duplicates": duplicates,
        "dates": dates_signal([*different_pairs, *copies]),
    }
    return (
        signals if extractive is None else signals | {ANSWERS: answers_signal(question, contexts, sources, extractive)}
    )


def answers_signal(
    question: str, contexts: Sequence[ContextFeatures], sources: Sequence[Source], extractive: ExtractiveReader
) -> Signal:
    """Return the signal `answers`: the probability of the likeliest answer that differs from the best context's.

    0 if there is none, or only one context, which is not read at all. Passages are read whole, as the answering reader
    reads them later, so that its cache has them.
    """
    if len(contexts) < 2:
        return Signal()
    source_by_number = {source.n: source for source in sources}
    passages = [(context, source_by_number[part.n]) for context in contexts for part in context.source.parts]
    readings = extractive.read([(question, passage.title, passage.text) for _, passage in passages])
    kind = asked_kind(question)
    best_of_contexts: dict[int, tuple[float, Statement]] = {}
    for (context, passage), reading in zip(passages, readings, strict=True):
        answer = statement_of(passage.text, reading, kind)
        if answer and answer[0] > best_of_contexts.get(context.source.n, (0.0,))[0]:
            best_of_contexts[context.source.n] = answer
    ranked = sorted(best_of_contexts.values(), key=lambda statement: -statement[0])
    for probability, statement in ranked[1:]:
        _, first = ranked[0]
        if not agree(first, statement):
            return Signal(probability, f"different answers: {first.answer[:40]} / {statement.answer[:40]}")
    return Signal()


def statement_of(text: str, passage: PassageReading, kind: Kind) -> tuple[float, Statement] | None:
    """Return the probability that a passage answers, and its answer: the best span, or the likelier verdict.

    None if it has no span, or one without a figure where the question asks for a figure.
    """
    if passage.best is None or (kind in ("date", "number") and not values(passage.best.text, kind, "")):
        return None
    sentence = sentence_around(text, passage.best.start, passage.best.end)
    if kind == "verdict" and passage.verdict:
        yes, no, _ = passage.verdict
        return min(1.0, max(yes, no) / SURE_VERDICT), Statement("yes" if yes >= no else "no", sentence)
    return passage.answerable, Statement(passage.best.text, sentence)


@dataclass(frozen=True)
class Wording:
    """The words of a context's text, which do not depend on the question.

    Attributes:
        title: The index terms of its title.
        sentences: Its sentences, in order, with their index terms; a single empty one if it has none.
        tokens: The words of title and text, casefolded.
        shingles: Its runs of `SHINGLE_WORDS` words.
    """

    title: frozenset[str]
    sentences: Sequence[tuple[str, frozenset[str]]]
    tokens: Name
    shingles: frozenset[Name]


@lru_cache(maxsize=512)
def wording_of(title: str, text: str) -> Wording:
    """Return the words of a context by title, sentence and run of words.

    Cached, because it took a fifth of a turn's work, and conversations return to the same passages.
    """
    sentences = [text[slice(*span)] for span in sentence_spans(text)] or [""]
    all_tokens = tokens(f"{title} {text}")
    return Wording(
        title=frozenset(words(title)),
        sentences=[(sentence, frozenset(words(sentence))) for sentence in sentences],
        tokens=all_tokens,
        shingles=frozenset(zip(*(all_tokens[i:] for i in range(SHINGLE_WORDS)), strict=False)),
    )


def context_features(question: str, refs: Sequence[PassageRef], passages: Sequence[Source]) -> list[ContextFeatures]:
    """Return the contexts that the passages form, with their features for a question; see `ContextFeatures`."""
    question_terms = frozenset(words(question))
    cosines = {source.n: ref["cosine"] for ref, source in zip(refs, passages, strict=True)}
    sources = contexts_of(passages)
    wordings = [wording_of(source.title, source.text) for source in sources]
    shared_of_titles = [question_terms & wording.title for wording in wordings]
    shared_of_sentences = []
    for wording in wordings:
        shared_of_sentences.append([question_terms & terms for _, terms in wording.sentences])
    shared_of_contexts = [
        title.union(*sentences) for title, sentences in zip(shared_of_titles, shared_of_sentences, strict=True)
    ]
    counts = Counter(chain.from_iterable(shared_of_contexts))
    # In a few sentences every term is rare or everywhere, so their own number would say nothing.
    weights = {term: math.log(1 + ASSUMED_SENTENCES / (0.5 + counts[term])) for term in sorted(question_terms)}
    total = sum(weights.values()) or 1.0

    @cache
    def share(terms: frozenset[str]) -> float:
        """Return the share of the question's term weights that some terms have."""
        return sum(weight for term, weight in weights.items() if term in terms) / total

    features = []
    for i, (source, wording) in enumerate(zip(sources, wordings, strict=True)):
        shares = [share(shared_of_titles[i] | terms) for terms in shared_of_sentences[i]]
        sentences = [sentence for sentence, _ in wording.sentences]
        year = _YEAR.search(source.date or "")
        cosine = max(cosines[part.n] for part in source.parts)
        features.append(
            ContextFeatures(
                source=source,
                nearness=(cosine + share(shared_of_contexts[i])) / 2,
                sentences=sorted(zip(shares, sentences, strict=True), key=lambda pair: -pair[0]),
                tokens=wording.tokens,
                shingles=wording.shingles,
                year=int(year[0]) if year else None,
            )
        )
    return features


def relevant_contexts(contexts: Sequence[ContextFeatures]) -> list[ContextFeatures]:
    """Return the contexts that are nearly as near to the question as the nearest one, the nearest first."""
    ordered = sorted(contexts, key=lambda context: -context.nearness)[:MAX_CONTEXTS]
    return [context for context in ordered if context.nearness >= ordered[0].nearness - MAX_DISTANCE_FROM_BEST]


def on_subject(question: str, contexts: Sequence[ContextFeatures]) -> list[ContextFeatures]:
    """Return the contexts without those whose nearest sentences are all about another subject than the question."""
    fit = SentenceFit(question, [context.source for context in contexts])
    fitting = []
    for context in contexts:
        if not all(fit.other_subject(context.source.n, sentence) for sentence in _nearest_sentences(context)):
            fitting.append(context)
    return fitting


def _nearest_sentences(context: ContextFeatures) -> list[str]:
    """Return the sentences of a context that share most with the question; several if they share equally much."""
    largest_share, _ = context.sentences[0]
    return [sentence for share, sentence in context.sentences if share == largest_share]


def with_most_names(question: str, contexts: Sequence[ContextFeatures]) -> list[ContextFeatures]:
    """Return the contexts that contain the most names of the question."""
    names = surface_names(question)
    counts = []
    for context in contexts:
        counts.append(sum(position(name, context.tokens) >= 0 for name in names))
    return [context for context, count in zip(contexts, counts, strict=True) if count == max(counts)]


def names_signal(question: str, contexts: Sequence[ContextFeatures]) -> Signal:
    """Return the signal `names`: how many entities of one name the contexts distinguish; 0 for fewer than two.

    The score is weighted by the nearness of the second entity's context to the question, relative to the nearest one.
    """
    question_terms, question_tokens = frozenset(words(question)), tokens(question)
    names = set(surface_names(question))
    for context in contexts:
        names.update(leading_names(context.source.title, context.source.text, question_tokens))
    best = Signal()
    for name in sorted(names, key=lambda name: (-len(name), name)):
        entities: list[NamedEntity] = []
        nearness: list[float] = []
        for context in contexts:
            if position(name, context.tokens) < 0:
                continue
            entity = named_entity(name, context.source.title, context.source.text, question_terms)
            if entity is None or all(map(str.isdigit, entity.words)):
                continue
            if all(_have_distinct_words(entity, other) for other in entities):
                entities.append(entity)
                nearness.append(context.nearness)
        if len(entities) > 1:
            score = (1 - 0.5 ** len(entities)) * _clipped_ratio(nearness[1], contexts[0].nearness) ** 2
            if score > best.score:
                best = Signal(score, "one name, several things: " + "; ".join(entity.shown for entity in entities[:3]))
    return best


def values_signal(question: str, pairs: Sequence[Pair]) -> tuple[Signal, list[Pair]]:
    """Return the signal `values`, and the pairs of contexts without a candidate answer in common.

    The score is the share of the question's terms in the sentences with the differing candidate answers. Without a
    signal and pairs if the answer is an explanation or a verdict.
    """
    kind = answer_kind(question)
    if kind is None:
        return Signal(), []
    distinct_words = " ".join(dict.fromkeys(tokens(question)))
    contexts = {context.source.n: context for context in chain.from_iterable(pairs)}
    answers = {n: candidate_answers(context, kind, distinct_words) for n, context in contexts.items()}
    best, differing_pairs = Signal(), []
    for a, b in pairs:
        (share_a, answers_a), (share_b, answers_b) = answers[a.source.n], answers[b.source.n]
        if not answers_a or not answers_b or any(same_value(x, y) for x in answers_a for y in answers_b):
            continue
        differing_pairs.append((a, b))
        score = min(share_a, share_b) * (NAME_WEIGHT if kind == "name" else 1.0)
        if score > best.score:
            best = Signal(score, f"different {kind}s: {answers_a[0].text[:40]} / {answers_b[0].text[:40]}")
    return best, differing_pairs


def answer_kind(question: str) -> Kind | None:
    """Return the kind of value that answers the question; None if the answer is an explanation or a verdict."""
    kind = asked_kind(question)
    return None if kind == "verdict" or _ASKS_FOR_EXPLANATION.match(question.strip()) else kind


def candidate_answers(context: ContextFeatures, kind: Kind, question: str) -> tuple[float, list[TextValue]]:
    """Return the candidate answers of the nearest sentence that has some, behind its share of the question's terms.

    `(0.0, [])` if no sentence that is near enough has a value of the kind.
    """
    largest_share, _ = context.sentences[0]
    for share, sentence in context.sentences[:MAX_SENTENCES]:
        if share < largest_share - MAX_LOST_SHARE:
            break
        candidates = values(sentence[:MAX_SENTENCE_CHARACTERS], kind, question)
        if kind == "name":
            # The first words of a sentence have a capital without being a name.
            candidates = [value for value in candidates if _is_name(value.text) and not sentence.startswith(value.text)]
        if candidates:
            return share, candidates[:MAX_CANDIDATES]
    return 0.0, []


def copy_signals(pairs: Sequence[Pair]) -> tuple[Signal, Signal, list[Pair]]:
    """Return the signals for duplicates and for edited copies, and the pairs of contexts that are either."""
    duplicates, edited, copies = Signal(), Signal(), []
    for a, b in pairs:
        shared_share = len(a.shingles & b.shingles) / (min(len(a.shingles), len(b.shingles)) or 1)
        if shared_share < MIN_COPIED_SHARE:
            continue
        copies.append((a, b))
        edit = first_edit(_RAW_TOKEN.findall(a.source.text), _RAW_TOKEN.findall(b.source.text))
        if edit and shared_share > edited.score:
            edited = Signal(shared_share, f"an edited copy: {edit[0]} / {edit[1]}")
        elif not edit and shared_share > duplicates.score:
            duplicates = Signal(shared_share, f"the same text twice: {a.source.title or a.source.text[:40]}")
    return duplicates, edited, copies


def first_edit(a: Sequence[str], b: Sequence[str]) -> tuple[str, str] | None:
    """Return the first differing part of each of two copies, if both parts have a number or a name; else None.

    A part stands between two words before and two words after it that both copies have.
    """
    counts = Counter(pairwise(b))
    # Two words that are in a text twice do not show which position of the copy corresponds.
    positions = {pair: i for i, pair in enumerate(pairwise(b)) if counts[pair] == 1}
    for i in range(2, len(a)):
        j = positions.get((a[i - 2], a[i - 1]), len(b)) + 2
        if j >= len(b) or a[i] == b[j]:
            continue
        # Two words more than the longest edit: those at which both copies meet again.
        edit_a, edit_b = _parts_before_common_words(a[i : i + MAX_EDIT_WORDS + 2], b[j : j + MAX_EDIT_WORDS + 2])
        if any(map(_is_number_or_name, edit_a)) and any(map(_is_number_or_name, edit_b)):
            return " ".join(edit_a), " ".join(edit_b)
    return None


def dates_signal(pairs: Sequence[Pair]) -> Signal:
    """Return the signal `dates`: the most years between the two documents of a pair; 0 without two dates."""
    years = max((abs(a.year - b.year) for a, b in pairs if a.year and b.year), default=0)
    return Signal(min(1.0, years / FAR_YEARS), f"written {years} years apart") if years else Signal()


def _parts_before_common_words(a: Sequence[str], b: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
    """Return the parts of two sequences before the first two words in a row that both have.

    Without such words both sequences are returned if they are short, else two empty ones.
    """
    following = {tuple(b[j : j + 2]): j for j in range(len(b) - 2, 0, -1)}
    for i in range(1, len(a) - 1):
        j = following.get(tuple(a[i : i + 2]))
        if j is not None:
            return a[:i], b[:j]
    return (a, b) if max(len(a), len(b)) <= MAX_EDIT_WORDS else ((), ())


def _is_number_or_name(token: str) -> bool:
    """Return whether a word is a number or a capitalised content word."""
    return token[0].isdigit() or (token[0].isupper() and token.casefold() not in STOP_WORDS)


def _have_distinct_words(a: NamedEntity, b: NamedEntity) -> bool:
    """Return whether neither of two descriptors has all words of the other."""
    return not (a.words <= b.words or b.words <= a.words)


def _clipped_ratio(a: float, b: float) -> float:
    """Return `a` divided by `b`, clipped to [0, 1]."""
    return min(1.0, max(0.0, a) / b) if b > 0 else 0.0


def _is_name(text: str) -> bool:
    """Return whether a candidate is a name, and not an abbreviation, code or figure."""
    return any(map(str.islower, text)) and not any(map(str.isdigit, text))
