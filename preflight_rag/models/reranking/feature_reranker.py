"""The reranker that needs no download: a linear model over features of a question's candidates.

The features are numbers that cost nothing more to have: places and scores in the rankings, how well the rankings agree,
the question's words in the passage (coverage weighted by rarity, proximity, title), its likeness in words to the best
candidates (pseudo-relevance feedback), its length, and how much of that to believe for a question of this kind. Scores
are compared within the candidates of one question, so nothing depends on a collection's scale. Rarity is the inverse
document frequency among the candidates.

The weights in `feature_reranker.json` are set by `python -m training.train_reranker`, with a listwise softmax loss over
the candidates of each question, on the development parts of public collections. Beside the weights that are used
("all"), the file holds those of each fold: trained without one group of collections, they are what the published
figures of that group come from.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from preflight_rag.state.errors import RerankerError
from preflight_rag.state.retrieval import Candidate
from preflight_rag.text.words import STOP_WORDS, words_by_token

if TYPE_CHECKING:
    import numpy as np

WEIGHTS = Path(__file__).with_name("feature_reranker.json")
ALL = "all"
RANK_OFFSET = 10
"""Added to ranks before their reciprocal is taken: less flat than RRF's 60, since here the weight is learned."""
K1, B = 1.2, 0.75
"""BM25's usual constants (Robertson and Zaragoza 2009)."""
FEEDBACK = 5
"""How many of the best candidates the others are compared with; a guess."""
LONGEST = 1000
"""Terms of a passage that are read; a guess."""

RANKING = (
    "dense z", "dense gap", "dense share", "dense reciprocal rank", "dense log rank", "dense missing",
    "bm25 z", "bm25 share", "bm25 reciprocal rank", "bm25 log rank", "bm25 missing",
    "fused reciprocal rank", "fused log rank", "rank agreement", "rank product", "combined z",
)  # fmt: skip
TEXT = (
    "coverage", "idf coverage", "pool bm25 z", "frequency", "bigrams", "proximity", "first match",
    "title match", "length", "term feedback z",
)  # fmt: skip
MODULATED = ("dense z", "bm25 z", "dense reciprocal rank", "bm25 reciprocal rank", "idf coverage")
CONTEXTS = ("keywords", "rankings agree", "dense lead")
FEATURES = (*RANKING, *TEXT, *(f"{name} × {context}" for name in MODULATED for context in CONTEXTS))

_WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class FeatureReranker:
    """A linear model behind the `Reranker` interface; its scores compare the candidates of one question only.

    Attributes:
        weights: Of the features by name; one that is not there counts 0.
        name: As `open_reranker` takes it.
        batch_size: None: features are relative to all candidates.
    """

    weights: Mapping[str, float]
    name: str = "features"
    batch_size: int | None = field(default=None, init=False)

    @classmethod
    def shipped(cls, fold: str = ALL) -> FeatureReranker:
        """The trained reranker; `fold` names the group of collections that it was trained without.

        Raises:
            RerankerError: There is no such fold.
        """
        folds = next(iter(trained()["weights"].values()))
        if fold not in folds:
            raise RerankerError(f"no reranker was trained without {fold!r}", help=f"Choose {', '.join(folds)}.")
        return cls({name: row[fold] for name, row in trained()["weights"].items()})

    def score(self, question: str, candidates: Sequence[Candidate]) -> np.ndarray:
        """Scores (n,) float64."""
        import numpy as np

        weights = np.array([self.weights.get(name, 0.0) for name in FEATURES])
        scores: np.ndarray = features(question, candidates) @ weights
        return scores


@lru_cache(maxsize=1)
def trained() -> dict[str, Any]:
    """What `feature_reranker.json` holds: `weights` by feature and fold, and what they were trained on."""
    found: dict[str, Any] = json.loads(WEIGHTS.read_text(encoding="utf-8"))
    return found


@dataclass(frozen=True)
class _Texts:
    """The terms: `ids` (t,) of all texts in a row, `counts` (n, v) by text. The question's terms have the first ids."""

    ids: np.ndarray
    starts: np.ndarray
    counts: np.ndarray
    asked: int

    @classmethod
    def of(cls, asked: Sequence[str], candidates: Sequence[Candidate]) -> _Texts:
        import numpy as np

        vocabulary = {term: i for i, term in enumerate(asked)}
        texts = [_terms(candidate) for candidate in candidates]
        ids = np.array([vocabulary.setdefault(term, len(vocabulary)) for text in texts for term in text], dtype=np.intp)
        lengths = np.array([len(text) for text in texts])
        rows = np.repeat(np.arange(len(texts)), lengths)
        size = max(1, len(vocabulary))
        counts = np.bincount(rows * size + ids, minlength=len(texts) * size).reshape(len(texts), size)
        return cls(ids, np.concatenate([[0], lengths.cumsum()]), counts, len(asked))

    def matches(self, i: int) -> list[tuple[int, int]]:
        """Places and ids of the question's terms in the text `i`."""
        ids = self.ids[self.starts[i] : self.starts[i + 1]]
        places = (ids < self.asked).nonzero()[0]
        return list(zip(places.tolist(), ids[places].tolist(), strict=True))


def features(question: str, candidates: Sequence[Candidate]) -> np.ndarray:
    """Features (n, len(FEATURES)) float64 of a question's candidates.

    Args:
        question: The question.
        candidates: Best first.
    """
    import numpy as np

    if not candidates:
        return np.zeros((0, len(FEATURES)))
    sequence = words_by_token(question)
    asked = list(dict.fromkeys(sequence))
    texts = _Texts.of(asked, candidates)
    columns = _ranking_columns(candidates)
    columns |= _text_columns(sequence, asked, candidates, texts)
    context = _contexts(question, candidates)
    for name in MODULATED:
        columns |= {f"{name} × {key}": columns[name] * value for key, value in context.items()}
    return np.column_stack([columns[name] for name in FEATURES])


def is_keywords(question: str) -> bool:
    """Whether the question is no sentence but keywords: without a function word and without a question mark."""
    plain = {word.casefold() for word in _WORD.findall(question)}
    return not question.rstrip().endswith("?") and not plain & STOP_WORDS


def _ranking_columns(candidates: Sequence[Candidate]) -> dict[str, np.ndarray]:
    import numpy as np

    n = len(candidates)
    dense, dense_missing = _ranks([c.dense_rank for c in candidates], n)
    lexical, lexical_missing = _ranks([c.lexical_rank for c in candidates], n)
    fused, _ = _ranks([c.rank for c in candidates], n)
    cosine = np.array([c.cosine for c in candidates], dtype=float)
    known = np.array([0.0 if c.bm25 is None else c.bm25 for c in candidates])
    floor = known[~lexical_missing].min() if not lexical_missing.all() else 0.0
    bm25 = np.where(lexical_missing, 0.9 * floor, known)
    dense_rr, lexical_rr = (RANK_OFFSET + 1) / (RANK_OFFSET + dense), (RANK_OFFSET + 1) / (RANK_OFFSET + lexical)
    dense_rr, lexical_rr = np.where(dense_missing, 0, dense_rr), np.where(lexical_missing, 0, lexical_rr)
    return {
        "dense z": _z(cosine),
        "dense gap": cosine.max() - cosine,
        "dense share": _share(cosine),
        "dense reciprocal rank": dense_rr,
        "dense log rank": np.log(dense),
        "dense missing": dense_missing.astype(float),
        "bm25 z": _z(bm25),
        "bm25 share": _share(bm25),
        "bm25 reciprocal rank": lexical_rr,
        "bm25 log rank": np.log(lexical),
        "bm25 missing": lexical_missing.astype(float),
        "fused reciprocal rank": (RANK_OFFSET + 1) / (RANK_OFFSET + fused),
        "fused log rank": np.log(fused),
        "rank agreement": np.abs(np.log(dense) - np.log(lexical)),
        "rank product": dense_rr * lexical_rr,
        "combined z": np.minimum(_z(cosine), _z(bm25)),
    }


def _text_columns(
    sequence: list[str], asked: list[str], candidates: Sequence[Candidate], texts: _Texts
) -> dict[str, np.ndarray]:
    import numpy as np

    n, place = len(candidates), {term: i for i, term in enumerate(asked)}
    counts = texts.counts[:, : max(1, len(asked))] * (1.0 if asked else 0.0)
    pairs = {(place[a], place[b]) for a, b in pairwise(sequence)}
    bigrams, proximity, first, title_match = (np.zeros(n) for _ in range(4))
    for i, candidate in enumerate(candidates):
        title_match[i] = bool(place) and place.keys() <= set(words_by_token(candidate.passage.title))
        matches = texts.matches(i)
        near = {(a, b) for (p, a), (q, b) in pairwise(matches) if q - p == 1}
        bigrams[i] = len(near & pairs) / len(pairs) if pairs else 0
        proximity[i] = _proximity(matches)
        first[i] = 1 / (1 + matches[0][0] / 10) if matches else 0
    lengths = np.diff(texts.starts).astype(float)
    present = counts > 0
    frequency = present.sum(axis=0)
    idf = np.log(1 + (n - frequency + 0.5) / (frequency + 0.5))
    weight = idf / idf.sum()
    norm = counts + K1 * (1 - B + B * lengths[:, None] / max(1.0, lengths.mean()))
    return {
        "coverage": present.mean(axis=1),
        "idf coverage": present @ weight,
        "pool bm25 z": _z((counts * (K1 + 1) / norm) @ idf),
        "frequency": np.log1p(counts) @ weight,
        "bigrams": bigrams,
        "proximity": proximity,
        "first match": first,
        "title match": title_match,
        "length": np.log1p(lengths),
        "term feedback z": _z(_term_feedback(texts.counts)),
    }


def _term_feedback(counts: np.ndarray) -> np.ndarray:
    """Cosine of each passage's weighted terms with those of the best passages, itself left out, on the average."""
    import numpy as np

    present = counts > 0
    idf = np.log(1 + len(counts) / np.maximum(present.sum(axis=0), 1))
    weighted = np.where(present, (1 + np.log(np.maximum(counts, 1))) * idf, 0).astype(np.float32)
    weighted /= np.maximum(np.linalg.norm(weighted, axis=1, keepdims=True), 1e-9)
    return _mean_without_itself(weighted @ weighted[:FEEDBACK].T)


def _contexts(question: str, candidates: Sequence[Candidate]) -> dict[str, float]:
    """What is known of the question as a whole, each about 1 in size."""
    cosines = sorted((c.cosine for c in candidates), reverse=True)
    both = [c for c in candidates if (c.dense_rank or math.inf) <= 10 and (c.lexical_rank or math.inf) <= 10]
    return {
        "keywords": float(is_keywords(question)),
        "rankings agree": len(both) / 10,
        "dense lead": 10 * (cosines[0] - cosines[min(9, len(cosines) - 1)]),
    }


def _terms(candidate: Candidate) -> list[str]:
    """The terms of title and text, the title not twice."""
    title, text = candidate.passage.title, candidate.passage.text
    return words_by_token(text if text.startswith(title) else f"{title} {text}")[:LONGEST]


def _proximity(matches: list[tuple[int, int]]) -> float:
    """Number of distinct terms found over the smallest window with all of them; 0 with fewer than two."""
    wanted = len({term for _, term in matches})
    if wanted < 2:
        return 0.0
    counts: Counter[int] = Counter()
    start, best = 0, math.inf
    for place, term in matches:
        counts[term] += 1
        while len(counts) == wanted:
            left, leaving = matches[start]
            best = min(best, place - left + 1)
            counts[leaving] -= 1
            if not counts[leaving]:
                del counts[leaving]
            start += 1
    return wanted / best


def _ranks(ranks: Sequence[int | None], n: int) -> tuple[np.ndarray, np.ndarray]:
    """Ranks as floats, and where they are missing: there the rank counts as one below all."""
    import numpy as np

    known = [rank for rank in ranks if rank is not None]
    last = max([n, *known]) + 1
    return np.array([last if rank is None else rank for rank in ranks], float), np.array([r is None for r in ranks])


def _mean_without_itself(similarities: np.ndarray) -> np.ndarray:
    """Row means of (n, m) similarities with the first m rows, a row's similarity with itself left out."""
    import numpy as np

    n, m = similarities.shape
    totals = similarities.sum(axis=1).astype(float)
    counts = np.full(n, float(m))
    own = np.arange(min(n, m))
    totals[own] -= similarities[own, own]
    counts[own] -= 1
    means: np.ndarray = totals / np.maximum(counts, 1)
    return means


def _z(values: np.ndarray) -> np.ndarray:
    spread = float(values.std())
    centred = values - values.mean()
    scaled: np.ndarray = centred / spread if spread > 1e-9 else centred * 0
    return scaled


def _share(values: np.ndarray) -> np.ndarray:
    """Values brought to [0, 1]."""
    low, high = float(values.min()), float(values.max())
    shifted: np.ndarray = values - low
    scaled: np.ndarray = shifted / (high - low) if high - low > 1e-9 else shifted * 0
    return scaled
