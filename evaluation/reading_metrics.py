"""Metrics of reading: SQuAD's exact match and F1, verdicts, risk by coverage, and ROUGE."""

from __future__ import annotations

import re
import string
import unicodedata
from collections import Counter
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from evaluation.intervals import Estimate, bootstrap, mean_difference
from preflight_rag.state.extras import require_extra

RIGHT_F1 = 0.5
"""Least F1 at which a span counts as right: half of its words are the answer's, and half of the answer's are its."""
ROUGE = {"rouge1": "ROUGE-1", "rouge2": "ROUGE-2", "rougeL": "ROUGE-L"}
_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)


def normalised(text: str) -> str:
    """Return a text in lower case, without punctuation and articles (Rajpurkar et al., EMNLP 2016, section 6.1)."""
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def exact_match(predicted: str, gold: Sequence[str]) -> bool:
    """Return whether a text equals one of the answers, normalised."""
    return normalised(predicted) in {normalised(answer) for answer in gold}


def span_f1(predicted: str, gold: Sequence[str]) -> float:
    """Return the F1 of the words shared with an answer, normalised; with several answers, the best."""
    return max((_word_f1(normalised(predicted).split(), normalised(answer).split()) for answer in gold), default=0.0)


def is_right(predicted: str, gold: Sequence[str]) -> bool:
    """Return whether a text counts as one of the answers: the same, or an F1 of at least `RIGHT_F1`."""
    return exact_match(predicted, gold) or round(span_f1(predicted, gold), 6) >= RIGHT_F1


def holds(text: str, answers: Sequence[str]) -> bool:
    """Return whether a text contains one of the answers, word for word, ignoring punctuation and case."""
    padded = f" {words_of(text)} "
    return any(f" {normal} " in padded for answer in answers if (normal := words_of(answer)))


def words_of(text: str) -> str:
    """Return the words of a text without punctuation and case."""
    return " ".join(re.findall(r"\w+", unicodedata.normalize("NFKC", text).casefold()))


def _word_f1(predicted: Sequence[str], answer: Sequence[str]) -> float:
    """Return the F1 of the words of two texts."""
    if not predicted or not answer:
        return float(predicted == answer)
    shared = sum((Counter(predicted) & Counter(answer)).values())
    return 2 * shared / (len(predicted) + len(answer))


def macro_f1(predicted: Sequence[str], gold: Sequence[str], *, seed: int) -> Estimate:
    """Return the mean of each class's F1 over the classes that occur in `gold`, with its bootstrap interval."""
    classes = sorted(set(gold))
    codes = {name: code for code, name in enumerate(classes)}

    def statistic(guess: np.ndarray, known: np.ndarray) -> np.ndarray:
        scores = []
        for code in range(len(classes)):
            hits = ((guess == code) & (known == code)).sum(axis=-1)
            sizes = (guess == code).sum(axis=-1) + (known == code).sum(axis=-1)
            scores.append(2 * hits / np.maximum(sizes, 1))
        averages: np.ndarray = np.mean(scores, axis=0)
        return averages

    return bootstrap(statistic, [codes.get(name, -1) for name in predicted], [codes[name] for name in gold], seed=seed)


def above_most_frequent(predicted: Sequence[str], gold: Sequence[str], *, seed: int) -> Estimate:
    """Return the accuracy minus that of always predicting the most frequent class in `gold`, paired."""
    right = [float(guess == known) for guess, known in zip(predicted, gold, strict=True)]
    usual = most_frequent(gold)
    return bootstrap(mean_difference, right, [float(known == usual) for known in gold], seed=seed)


def most_frequent(gold: Sequence[str]) -> str:
    """Return the most frequent class; of equal ones the first by name."""
    counts = Counter(gold)
    return min(counts, key=lambda name: (-counts[name], name))


def risk_curve(confidence: Sequence[float], wrong: Sequence[bool]) -> list[tuple[float, float]]:
    """Return coverage and risk at each confidence that occurs, from the highest down.

    Coverage is the share of cases with at least this confidence, which are answered; risk is the share of wrong ones
    among them (El-Yaniv and Wiener, JMLR 2010).
    """
    ordered = sorted(zip(confidence, wrong, strict=True), key=lambda pair: -pair[0])
    points, misses = [], 0
    for place, (level, miss) in enumerate(ordered, 1):
        misses += miss
        if place == len(ordered) or ordered[place][0] < level:
            points.append((place / len(ordered), misses / place))
    return points


def risk_area(confidence: Sequence[float], wrong: Sequence[bool], *, seed: int) -> Estimate:
    """Return the area under the risk-coverage curve, as the mean risk over all coverages; less is better."""

    def statistic(level: np.ndarray, miss: np.ndarray) -> np.ndarray:
        averages: np.ndarray = _risks(level, miss).mean(axis=-1)
        return averages

    return bootstrap(statistic, confidence, wrong, seed=seed)


def coverage_at(risk: float, confidence: Sequence[float], wrong: Sequence[bool], *, seed: int) -> Estimate:
    """Return the largest share of cases that can be answered with at most this risk; 0 if none can."""

    def statistic(level: np.ndarray, miss: np.ndarray) -> np.ndarray:
        places = np.arange(1, level.shape[-1] + 1) / level.shape[-1]
        widest: np.ndarray = np.where(_risks(level, miss) <= risk, places, 0.0).max(axis=-1)
        return widest

    return bootstrap(statistic, confidence, wrong, seed=seed)


def _risks(level: np.ndarray, miss: np.ndarray) -> np.ndarray:
    """Return the risk after each case, from the most confident on; of equal ones the wrong come first."""
    order = np.lexsort((~miss, -level), axis=-1)
    seen = np.take_along_axis(miss, order, axis=-1).cumsum(axis=-1)
    risks: np.ndarray = seen / np.arange(1, miss.shape[-1] + 1)
    return risks


def rouge(text: str, reference: str, *, stemmed: bool = True) -> dict[str, float]:
    """Return ROUGE (Lin 2004) through `rouge-score`: F1 of unigrams, bigrams and the longest common subsequence.

    Values are in [0, 1]. Words are stemmed (Porter) unless `stemmed` is false.

    Raises:
        UsageError: The package is not installed.
    """
    scores = _scorer(stemmed).score(reference, text)
    return {ROUGE[name]: float(score.fmeasure) for name, score in scores.items()}


@cache
def _scorer(stemmed: bool) -> Any:
    """Return a ROUGE scorer of the package rouge_score."""
    require_extra("eval", "ROUGE", ["rouge_score"])
    from rouge_score.rouge_scorer import RougeScorer

    return RougeScorer(list(ROUGE), use_stemmer=stemmed)
