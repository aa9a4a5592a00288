"""ROUGE (Lin 2004), through the package `rouge-score`: F1 of unigrams, bigrams and the longest common subsequence."""

from __future__ import annotations

from functools import cache
from typing import Any

from preflight_rag.state.errors import UsageError

MEASURES = {"rouge1": "ROUGE-1", "rouge2": "ROUGE-2", "rougeL": "ROUGE-L"}


def rouge(text: str, reference: str, *, stemmed: bool = True) -> dict[str, float]:
    """F1 by measure, each in [0, 1]; words are stemmed (Porter) unless `stemmed` is false.

    Raises:
        UsageError: The package is not installed.
    """
    scores = _scorer(stemmed).score(reference, text)
    return {MEASURES[name]: float(score.fmeasure) for name, score in scores.items()}


@cache
def _scorer(stemmed: bool) -> Any:
    try:
        from rouge_score.rouge_scorer import RougeScorer
    except ImportError:
        raise UsageError("the package rouge-score is missing", help="pip install 'preflight-rag[eval]'") from None
    return RougeScorer(list(MEASURES), use_stemmer=stemmed)
