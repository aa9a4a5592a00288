"""The features of the calibrated preflight: numbers of the retrieved passages that need no further work.

How far the dense and the BM25 ranking agree, how much the dense top 3 stand out, and how much of the question they
hold. The IoU of the rankings' top 3 is not among them: beside the places of the first passages it added nothing. Each
feature is taken so that a larger value means a larger risk; the model (`risk.py`) gives none of them a negative weight.
Ranks go in as logarithms, BM25 scores as shares of the best one, so that little depends on the size of a collection.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from preflight_rag.state.reading import Source
from preflight_rag.state.retrieval import PassageTerms
from preflight_rag.text.words import MOST_TERMS, words_by_token

if TYPE_CHECKING:
    import numpy as np

    from preflight_rag.state.schema import PassageRef

TOP = 3
"""Number of first passages among which the key passage is not lost, as in BriefContext's preflight."""
DEPTH = 10
"""Rank down to which the passages below the top are compared with it; a guess."""
UNRANKED = 200
"""The rank that is assumed for a passage that a ranking of the collection did not reach."""


@dataclass(frozen=True)
class Feature:
    """A feature's meaning, and the words in a decision's reason if it raises or lowers the risk."""

    meaning: str
    risky: str
    safe: str


FEATURES = {
    "first_places": Feature(
        "log of the BM25 place of the dense first, plus the dense place of the BM25 first",
        "the first passage of one search stands far down in the other",
        "the first passages stand high in both searches",
    ),
    "no_lead": Feature(
        "mean cosine of the dense places 4 to 10, less that of the top 3",
        "the three passages nearest in meaning hardly stand out",
        "the three passages nearest in meaning stand out",
    ),
    "bm25_missed": Feature(
        "1 - the largest BM25 score in the dense top 3, as a share of the largest of all",
        "the best match by words is none of the three passages nearest in meaning",
        "the three passages nearest in meaning hold the best match by words, or nearly",
    ),
    "uncovered": Feature(
        "share of the question's terms, by rarity, that no single passage of the dense top 3 holds",
        "none of the three passages nearest in meaning holds much of the question",
        "one of the three passages nearest in meaning holds most of the question",
    ),
    "untitled": Feature(
        "share of the question's terms, by rarity, that no single title of the dense top 3 holds",
        "no title of the three passages nearest in meaning has the question's words",
        "a title of the three passages nearest in meaning has the question's words",
    ),
}
"""The features by name, as in the weights' file and, with the prefix `risk_`, in a decision's signals."""


def risk_features(
    question: str, refs: Sequence[PassageRef], sources: Sequence[Source], terms: Sequence[PassageTerms] | None = None
) -> dict[str, float]:
    """Return the features by name, in the order of `FEATURES`.

    Args:
        question: The question.
        refs: The passages; at least one.
        sources: Their texts, in the same order.
        terms: Their terms, in the same order, where an index has them; else they are read from the texts.
    """
    cosine, bm25 = [ref["cosine"] for ref in refs], [ref.get("bm25") or 0.0 for ref in refs]
    dense = sorted(range(len(refs)), key=lambda i: (-cosine[i], refs[i]["rank"]))
    lexical = sorted((i for i, score in enumerate(bm25) if score > 0), key=lambda i: (-bm25[i], refs[i]["rank"]))
    top, below = dense[:TOP], dense[TOP:DEPTH]
    dense_of_lexical = (refs[lexical[0]].get("dense_rank") if lexical else None) or UNRANKED
    lexical_of_dense = refs[dense[0]].get("lexical_rank") or UNRANKED
    best = max(bm25)
    values = {
        "first_places": math.log(lexical_of_dense + dense_of_lexical),
        "no_lead": _mean([cosine[i] for i in below]) - _mean([cosine[i] for i in top]) if below else 0.0,
        "bm25_missed": 1 - max(bm25[i] for i in top) / best if best > 0 else 1.0,
        **_missing_shares(question, sources, top, terms),
    }
    return {name: round(values[name], 6) for name in FEATURES}


def has_places(refs: Sequence[PassageRef]) -> bool:
    """Return whether the passages have ranks in a ranking of the collection; without them no risk can be predicted."""
    return any(ref.get("dense_rank") is not None for ref in refs)


def _missing_shares(
    question: str, sources: Sequence[Source], top: Sequence[int], terms: Sequence[PassageTerms] | None
) -> dict[str, float]:
    """Return the least shares of the question that a passage, and a title, of the dense top lacks.

    Terms are weighted by their rarity among the passages. Both are 1 for a question without words.
    """
    import numpy as np

    question_terms = list(dict.fromkeys(words_by_token(question)))
    # Nothing of a question without words is covered, and a division by its weight of 0 is avoided.
    if not question_terms:
        return {"uncovered": 1.0, "untitled": 1.0}
    contained = _contained_terms(question_terms, terms) if terms else None
    if contained is None:
        terms_of_passages = [
            (set(words_by_token(source.title)), set(words_by_token(source.text))) for source in sources
        ]
        titles = np.array([[term in title for title, _ in terms_of_passages] for term in question_terms])
        texts = np.array([[term in text for _, text in terms_of_passages] for term in question_terms])
    else:
        titles, texts = contained
    texts = texts | titles
    weights = np.log(1 + (len(sources) + 1) / (0.5 + texts.sum(axis=1)))
    total = float(weights.sum())
    return {
        "uncovered": 1 - float((weights @ texts[:, top]).max()) / total,
        "untitled": 1 - float((weights @ titles[:, top]).max()) / total,
    }


def _contained_terms(asked: Sequence[str], terms: Sequence[PassageTerms]) -> tuple[np.ndarray, np.ndarray] | None:
    """Return which titles and texts contain each term, (t, n) each; None if the index truncated any text."""
    import numpy as np

    vocabulary, positions = terms[0].vocabulary, [passage_terms.position for passage_terms in terms]
    ids, lengths = vocabulary.texts(positions)
    if lengths.max() >= MOST_TERMS:
        return None
    numbers = np.array(vocabulary.numbers(asked), dtype=np.int64)[:, None]
    contained = []
    for term_ids, lengths_of_texts in (vocabulary.titles(positions), (ids, lengths)):
        # Sums up to each end less those up to the one before: unlike `reduceat` that knows of empty texts.
        ends = lengths_of_texts.cumsum()
        counts = np.zeros((len(numbers), len(term_ids) + 1), dtype=np.int64)
        np.cumsum(term_ids == numbers, axis=1, out=counts[:, 1:])
        contained.append(counts[:, ends] > counts[:, ends - lengths_of_texts])
    return contained[0], contained[1]


def _mean(values: Sequence[float]) -> float:
    """Return the mean of values."""
    return sum(values) / len(values)
