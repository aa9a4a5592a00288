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

MOST_PASSAGES = 24
MARGIN = 0.25
"""Greatest difference between the best passage's similarity and another passage's for the latter to count as relevant.
"""
LEAST_COLLECTION = 100
"""Least number of sentences over which document frequencies are computed."""
WITHIN = 0.35
"""Greatest difference, in the share of question words, between a passage's nearest sentence and the one with its
answer."""
MOST_SENTENCES = 8
LONGEST_SENTENCE = 600
CANDIDATES = 2
"""Candidate answers of a sentence that are compared: those nearest to the question's words."""
NAME_WEIGHT = 0.4
"""Weight of a difference between names, relative to one between numbers or dates: many names are near a question by
chance."""
SHINGLE = 3
COPIED = 0.5
"""Least share of the shorter passage's shingles in the other one at which they are copies."""
LONGEST_EDIT = 6
SURE_VERDICT = 0.65
"""Least probability of yes or no that counts as a certain answer; it is lower than for other answers because "neither"
takes a share of a verdict. Set on development questions of PubMedQA, of which 5 % have two abstracts that differ so,
and of ConflictQA."""
FAR_YEARS = 5
"""Years between two documents from which on the signal of their dates is 1."""

_EXPLAINING = re.compile(
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
        each = {f"corg_{name}": round(signal.score, 4) for name, signal in self.signals.items()}
        return {"corg": self.score, **each}

    @property
    def fired(self) -> list[str]:
        """The reasons of the signals that are not zero."""
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
        shingles: Its runs of three words.
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
    """Return the models in `signals.json`: `none` without a reader, `reader` with one."""
    found = json.loads(WEIGHTS.read_text(encoding="utf-8"))
    return {name: Model(model["bias"], model["weights"]) for name, model in found.items()}


def read_signals(
    question: str,
    refs: Sequence[PassageRef],
    sources: Sequence[Source],
    extractive: ExtractiveReader | None = None,
) -> CorgSignals:
    """Return the signals of the retrieved passages.

    Args:
        question: The standalone question.
        refs: The passages.
        sources: Their texts, in the same order.
        extractive: The reader for the signal `answers`; without it the model of the other four signals is used.
    """
    signals = measure(question, refs, sources, extractive)
    model = trained()["none" if extractive is None else "reader"]
    score = model.score({name: signal.score for name, signal in signals.items()}) if refs else 0.0
    return CorgSignals(signals, score)


def measure(
    question: str,
    refs: Sequence[PassageRef],
    sources: Sequence[Source],
    extractive: ExtractiveReader | None = None,
) -> dict[str, Signal]:
    """Return the signals by name."""
    if comparison_of(question):
        # A question that compares two things expects them to differ: that is no sign of a contradiction.
        return dict.fromkeys((*SIGNALS, *([] if extractive is None else [ANSWERS])), Signal())
    read = on_subject(question, bearing(readings(question, refs, sources)))
    pairs = list(combinations(naming(question, read), 2))
    duplicates, edited, copies = copied(pairs)
    different, unlike = differing(question, pairs)
    signals = {
        "names": distinguished(question, read),
        "values": max(different, edited, key=lambda signal: signal.score),
        "duplicates": duplicates,
        "dates": far_apart([*unlike, *copies]),
    }
    return signals if extractive is None else signals | {ANSWERS: answering(question, read, sources, extractive)}


def answering(
    question: str, read: Sequence[ContextFeatures], sources: Sequence[Source], extractive: ExtractiveReader
) -> Signal:
    """Return the signal `answers`: the probability of the best different answer in another document.

    Passages of a single document are not read at all. Passages are read whole, as the answering reader reads them
    later, so that its cache has them.
    """
    if len(read) < 2:
        return Signal()
    whole = {source.n: source for source in sources}
    passages = [(reading, whole[part.n]) for reading in read for part in reading.source.parts]
    readings_ = extractive.read([(question, part.title, part.text) for _, part in passages])
    kind = asked_kind(question)
    likeliest: dict[int, tuple[float, Statement]] = {}
    for (reading, part), passage in zip(passages, readings_, strict=True):
        stated = statement_of(part.text, passage, kind)
        if stated and stated[0] > likeliest.get(reading.source.n, (0.0,))[0]:
            likeliest[reading.source.n] = stated
    found = sorted(likeliest.values(), key=lambda each: -each[0])
    for probability, statement in found[1:]:
        if not agree(found[0][1], statement):
            shown = f"different answers: {found[0][1].answer[:40]} / {statement.answer[:40]}"
            return Signal(probability, shown)
    return Signal()


def statement_of(text: str, passage: PassageReading, kind: Kind) -> tuple[float, Statement] | None:
    """Return how likely a passage answers, and its answer: the best span, or the likelier verdict of a yes/no question.

    A span without a figure is no answer to a question for a figure.
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
    """The features of a context's text that do not depend on the question.

    Attributes:
        title: The index terms of its title.
        sentences: Its sentences, in order, with their index terms; a single empty one if it has none.
        tokens: The words of title and text, casefolded.
        shingles: Its runs of three words.
    """

    title: frozenset[str]
    sentences: Sequence[tuple[str, frozenset[str]]]
    tokens: Name
    shingles: frozenset[Name]


@lru_cache(maxsize=512)
def wording(title: str, text: str) -> Wording:
    """Return the words of a context by title, sentence and run of words, from a cache if it was seen before.

    It took a fifth of a turn's work, and conversations return to the same passages.
    """
    sentences = [text[slice(*span)] for span in sentence_spans(text)] or [""]
    all_tokens = tokens(f"{title} {text}")
    return Wording(
        title=frozenset(words(title)),
        sentences=[(sentence, frozenset(words(sentence))) for sentence in sentences],
        tokens=all_tokens,
        shingles=frozenset(zip(*(all_tokens[i:] for i in range(SHINGLE)), strict=False)),
    )


def readings(question: str, refs: Sequence[PassageRef], passages: Sequence[Source]) -> list[ContextFeatures]:
    """Return the contexts of the passages, read for a question."""
    asked = frozenset(words(question))
    cosines = {source.n: ref["cosine"] for ref, source in zip(refs, passages, strict=True)}
    sources = contexts_of(passages)
    worded = [wording(source.title, source.text) for source in sources]
    shared = []
    for each in worded:
        shared.append([asked & terms for _, terms in each.sentences])
    titles = [asked & each.title for each in worded]
    found = Counter(chain.from_iterable(title.union(*terms) for title, terms in zip(titles, shared, strict=True)))
    # In a few sentences every term is rare or everywhere, so their own number would say nothing.
    weights = {term: math.log(1 + LEAST_COLLECTION / (0.5 + found[term])) for term in sorted(asked)}
    total = sum(weights.values()) or 1.0

    @cache
    def share(terms: frozenset[str]) -> float:
        """Return the share of the question's term weights that some terms have."""
        return sum(weight for term, weight in weights.items() if term in terms) / total

    read = []
    for source, each, terms, title in zip(sources, worded, shared, titles, strict=True):
        shares = [share(title | of) for of in terms]
        sentences = (sentence for sentence, _ in each.sentences)
        year = _YEAR.search(source.date or "")
        read.append(
            ContextFeatures(
                source=source,
                nearness=(max(cosines[part.n] for part in source.parts) + share(title.union(*terms))) / 2,
                sentences=sorted(zip(shares, sentences, strict=True), key=lambda pair: -pair[0]),
                tokens=each.tokens,
                shingles=each.shingles,
                year=int(year[0]) if year else None,
            )
        )
    return read


def bearing(read: Sequence[ContextFeatures]) -> list[ContextFeatures]:
    """Return the passages that are nearly as close to the question as the best one, the closest first."""
    ordered = sorted(read, key=lambda reading: -reading.nearness)[:MOST_PASSAGES]
    return [reading for reading in ordered if reading.nearness >= ordered[0].nearness - MARGIN]


def on_subject(question: str, read: Sequence[ContextFeatures]) -> list[ContextFeatures]:
    """Return the passages without those whose nearest sentences are about another subject than the question."""
    fit = SentenceFit(question, [reading.source for reading in read])
    on_subject = []
    for item in read:
        if not all(fit.other_subject(item.source.n, text) for _, text in _nearest(item)):
            on_subject.append(item)
    return on_subject


def _nearest(read: ContextFeatures) -> list[tuple[float, str]]:
    """Return the sentences of a passage that share most with the question; more than one if they tie."""
    return [(share, sentence) for share, sentence in read.sentences if share == read.sentences[0][0]]


def naming(question: str, read: Sequence[ContextFeatures]) -> list[ContextFeatures]:
    """Return the passages that contain the most names of the question."""
    names = surface_names(question)
    counts = []
    for reading in read:
        counts.append(sum(position(name, reading.tokens) >= 0 for name in names))
    return [reading for reading, count in zip(read, counts, strict=True) if count == max(counts)]


def distinguished(question: str, read: Sequence[ContextFeatures]) -> Signal:
    """Return the signal `names`: how many entities of one name the passages distinguish.

    It is weighted by how near the second one is to the question.
    """
    asked, place = frozenset(words(question)), tokens(question)
    names = set(surface_names(question))
    for reading in read:
        names.update(leading_names(reading.source.title, reading.source.text, place))
    best = Signal()
    for name in sorted(names, key=lambda name: (-len(name), name)):
        apart: list[tuple[NamedEntity, ContextFeatures]] = []
        for reading in (reading for reading in read if position(name, reading.tokens) >= 0):
            item = named_entity(name, reading.source.title, reading.source.text, asked)
            if item and not all(map(str.isdigit, item.words)) and all(_distinct(item, other) for other, _ in apart):
                apart.append((item, reading))
        if len(apart) > 1:
            score = (1 - 0.5 ** len(apart)) * _ratio(apart[1][1].nearness, read[0].nearness) ** 2
            if score > best.score:
                best = Signal(score, "one name, several things: " + "; ".join(item.shown for item, _ in apart[:3]))
    return best


def differing(question: str, pairs: Sequence[Pair]) -> tuple[Signal, list[Pair]]:
    """Return the signal `values` and its pairs of passages.

    It is the nearness to the question of the sentences with differing candidate answers.
    """
    kind = answer_kind(question)
    if kind is None:
        return Signal(), []
    asked = " ".join(dict.fromkeys(tokens(question)))
    sides = {read.source.n: read for read in chain.from_iterable(pairs)}
    answers = {n: answers_of(read, kind, asked) for n, read in sides.items()}
    best, unlike = Signal(), []
    for pair in pairs:
        (share, left), (other_share, right) = (answers[read.source.n] for read in pair)
        if not left or not right or any(same_value(a, b) for a in left for b in right):
            continue
        unlike.append(pair)
        score = min(share, other_share) * (NAME_WEIGHT if kind == "name" else 1.0)
        if score > best.score:
            best = Signal(score, f"different {kind}s: {left[0].text[:40]} / {right[0].text[:40]}")
    return best, unlike


def answer_kind(question: str) -> Kind | None:
    """Return the kind of value that can be compared as an answer to the question.

    None if the answer is an explanation or a verdict.
    """
    kind = asked_kind(question)
    return None if kind == "verdict" or _EXPLAINING.match(question.strip()) else kind


def answers_of(read: ContextFeatures, kind: Kind, question: str) -> tuple[float, list[TextValue]]:
    """Return the share of the question's terms in the nearest sentence with candidate answers, and these candidates."""
    for share, sentence in read.sentences[:MOST_SENTENCES]:
        if share < read.sentences[0][0] - WITHIN:
            break
        found = values(sentence[:LONGEST_SENTENCE], kind, question)
        if kind == "name":
            found = [value for value in found if _is_name(value.text) and not sentence.startswith(value.text)]
        if found:
            return share, found[:CANDIDATES]
    return 0.0, []


def copied(pairs: Sequence[Pair]) -> tuple[Signal, Signal, list[Pair]]:
    """Return the signals of duplicates and of edited copies, and the pairs that are either."""
    duplicates, edited, copies = Signal(), Signal(), []
    for a, b in pairs:
        shared = len(a.shingles & b.shingles) / (min(len(a.shingles), len(b.shingles)) or 1)
        if shared < COPIED:
            continue
        copies.append((a, b))
        edit = first_edit(_RAW_TOKEN.findall(a.source.text), _RAW_TOKEN.findall(b.source.text))
        if edit and shared > edited.score:
            edited = Signal(shared, f"an edited copy: {edit[0]} / {edit[1]}")
        elif not edit and shared > duplicates.score:
            duplicates = Signal(shared, f"the same text twice: {a.source.title or a.source.text[:40]}")
    return duplicates, edited, copies


def first_edit(a: Sequence[str], b: Sequence[str]) -> tuple[str, str] | None:
    """Return the first names or numbers that differ between two copies, between the same two words on either side."""
    counts = Counter(pairwise(b))
    # Two words that are in a text twice do not show which place of the copy corresponds.
    places = {pair: i for i, pair in enumerate(pairwise(b)) if counts[pair] == 1}
    for i in range(2, len(a)):
        j = places.get((a[i - 2], a[i - 1]), len(b)) + 2
        if j >= len(b) or a[i] == b[j]:
            continue
        # Two words more than the longest edit: those at which both copies meet again.
        left, right = _until_equal(a[i : i + LONGEST_EDIT + 2], b[j : j + LONGEST_EDIT + 2])
        if any(map(_is_telling, left)) and any(map(_is_telling, right)):
            return " ".join(left), " ".join(right)
    return None


def far_apart(pairs: Sequence[Pair]) -> Signal:
    """Return the signal `dates`: how many years lie between the documents of a pair."""
    years = max((abs(a.year - b.year) for a, b in pairs if a.year and b.year), default=0)
    return Signal(min(1.0, years / FAR_YEARS), f"written {years} years apart") if years else Signal()


def _until_equal(a: Sequence[str], b: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
    """Return the parts of two sequences before their first two common words, or before the end of both."""
    following = {tuple(b[j : j + 2]): j for j in range(len(b) - 2, 0, -1)}
    for i in range(1, len(a) - 1):
        j = following.get(tuple(a[i : i + 2]))
        if j is not None:
            return a[:i], b[:j]
    return (a, b) if max(len(a), len(b)) <= LONGEST_EDIT else ((), ())


def _is_telling(token: str) -> bool:
    """Return whether a word is a number or a capitalised content word."""
    return token[0].isdigit() or (token[0].isupper() and token.casefold() not in STOP_WORDS)


def _distinct(a: NamedEntity, b: NamedEntity) -> bool:
    """Return whether two names differ: neither has all words of the other."""
    return not (a.words <= b.words or b.words <= a.words)


def _ratio(a: float, b: float) -> float:
    """Return `a` divided by `b`, clipped to [0, 1]."""
    return min(1.0, max(0.0, a) / b) if b > 0 else 0.0


def _is_name(text: str) -> bool:
    """Return whether a candidate is a name, and not an abbreviation, code or figure."""
    return any(map(str.islower, text)) and not any(map(str.isdigit, text))
