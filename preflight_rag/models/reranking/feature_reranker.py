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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from preflight_rag.state.errors import RerankerError
from preflight_rag.state.retrieval import Candidate
from preflight_rag.text.words import STOP_WORDS, passage_terms, words_by_token

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
    """The candidates' terms as numbers.

    Attributes:
        ids: Of all texts, one after the other, (total,) int64.
        rows: The text of each of them, (total,).
        lengths: Terms by text, (n,).
        titles: As `ids`, of the titles.
        title_rows: The text of each of those.
        asked: Numbers of the question's distinct terms, in their order.
    """

    ids: np.ndarray
    rows: np.ndarray
    lengths: np.ndarray
    titles: np.ndarray
    title_rows: np.ndarray
    asked: list[int]

    @classmethod
    def of(cls, asked: Sequence[str], candidates: Sequence[Candidate]) -> _Texts:
        """As an index has them, where one has those of all candidates; else read from the texts."""
        import numpy as np

        known = [candidate.terms for candidate in candidates if candidate.terms is not None]
        if len(known) == len(candidates) and all(terms.vocabulary is known[0].vocabulary for terms in known):
            vocabulary, positions = known[0].vocabulary, [terms.position for terms in known]
            return cls._made(*vocabulary.texts(positions), *vocabulary.titles(positions), vocabulary.numbers(asked))
        places: dict[str, int] = {}
        numbers = [places.setdefault(term, len(places)) for term in asked]
        texts: list[np.ndarray] = []
        titles: list[np.ndarray] = []
        for candidate in candidates:
            title, text = candidate.passage.title, candidate.passage.text
            for terms, found in ((passage_terms(title, text), texts), (words_by_token(title), titles)):
                its = [places.setdefault(term, len(places)) for term in terms]
                found.append(np.array(its, dtype=np.int64))
        lengths, title_lengths = (np.array([len(each) for each in found]) for found in (texts, titles))
        return cls._made(np.concatenate(texts), lengths, np.concatenate(titles), title_lengths, numbers)

    @classmethod
    def _made(
        cls, ids: np.ndarray, lengths: np.ndarray, titles: np.ndarray, title_lengths: np.ndarray, asked: list[int]
    ) -> _Texts:
        import numpy as np

        rows = np.arange(len(lengths))
        return cls(ids, np.repeat(rows, lengths), lengths, titles, np.repeat(rows, title_lengths), asked)

    @property
    def starts(self) -> np.ndarray:
        """Where each text begins in `ids`."""
        starts: np.ndarray = self.lengths.cumsum() - self.lengths
        return starts

    def matches(self) -> tuple[np.ndarray, np.ndarray]:
        """Places in `ids` that hold one of the question's terms, ascending, and which of `asked` it is."""
        import numpy as np

        which = np.full(len(self.ids), -1)
        for place, number in enumerate(self.asked):
            if number >= 0:
                which[self.ids == number] = place
        places = np.flatnonzero(which >= 0)
        return places, which[places]

    def titled(self) -> np.ndarray:
        """Whether all of the question's terms stand in a text's title, (n,); not where it has none."""
        import numpy as np

        n = len(self.lengths)
        if not self.asked:
            return np.zeros(n, dtype=bool)
        found = np.ones(n, dtype=bool)
        for number in self.asked:
            found &= np.bincount(self.title_rows[self.titles == number], minlength=n) > 0
        return found


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

    n, size, place = len(candidates), max(1, len(asked)), {term: i for i, term in enumerate(asked)}
    places, terms = texts.matches()
    rows = texts.rows[places]
    counts = np.bincount(rows * size + terms, minlength=n * size).reshape(n, size).astype(float)
    firsts, first = np.unique(rows, return_index=True), np.zeros(n)
    first[firsts[0]] = 1 / (1 + (places - texts.starts[rows])[firsts[1]] / 10)
    lengths = texts.lengths.astype(float)
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
        "bigrams": _bigrams({(place[a], place[b]) for a, b in pairwise(sequence)}, size, n, rows, places, terms),
        "proximity": _proximity(present, texts.starts, rows, places, terms),
        "first match": first,
        "title match": texts.titled().astype(float),
        "length": np.log1p(lengths),
        "term feedback z": _z(_term_feedback(texts)),
    }


def _bigrams(
    pairs: set[tuple[int, int]], size: int, n: int, rows: np.ndarray, places: np.ndarray, terms: np.ndarray
) -> np.ndarray:
    """Share of the question's pairs of neighbours that are neighbours in each text, (n,).

    Args:
        pairs: Of the question's terms, by their places among them.
        size: How many terms it has.
        n: How many texts there are.
        rows: The text of each match.
        places: Where it stands.
        terms: Which of the question's terms it is.
    """
    import numpy as np

    if not pairs:
        return np.zeros(n)
    is_next = (np.diff(places) == 1) & (np.diff(rows) == 0)
    codes = (terms[:-1] * size + terms[1:])[is_next]
    is_pair = np.isin(codes, [a * size + b for a, b in pairs])
    found = np.unique(rows[:-1][is_next][is_pair] * size**2 + codes[is_pair])
    shares: np.ndarray = np.bincount(found // size**2, minlength=n) / len(pairs)
    return shares


def _proximity(
    present: np.ndarray, starts: np.ndarray, rows: np.ndarray, places: np.ndarray, terms: np.ndarray
) -> np.ndarray:
    """Number of distinct terms of the question in each text over the smallest window with all of them, (n,).

    0 with fewer than two. A window that ends at a match begins at the earliest of the last places up to there of each
    term that the text has.
    """
    import numpy as np

    wanted = present.sum(axis=1)
    shares = np.zeros(len(wanted))
    if not len(places):
        return shares
    begins = np.full(len(places), np.iinfo(np.int64).max)
    whole = np.ones(len(places), dtype=bool)
    for term in range(present.shape[1]):
        last = np.maximum.accumulate(np.where(terms == term, places, -1))
        is_wanted = present[rows, term]
        whole &= ~is_wanted | (last >= starts[rows])
        begins = np.where(is_wanted, np.minimum(begins, last), begins)
    lengths = (places - begins + 1)[whole]
    smallest = np.full(len(wanted), np.iinfo(np.int64).max)
    np.minimum.at(smallest, rows[whole], lengths)
    some = wanted > 1
    shares[some] = wanted[some] / smallest[some]
    return shares


def _term_feedback(texts: _Texts) -> np.ndarray:
    """Cosine of each passage's weighted terms with those of the best passages, itself left out, on the average."""
    import numpy as np

    n = len(texts.lengths)
    keys = (texts.rows << 32) | texts.ids
    keys.sort()
    firsts = np.flatnonzero(np.diff(keys, prepend=-1))
    counts = np.diff(firsts, append=len(keys))
    rows, terms = keys[firsts] >> 32, keys[firsts] & 0xFFFFFFFF
    ordered = np.sort(terms)
    begins = np.flatnonzero(np.diff(ordered, prepend=-1))
    # The numbers of an index are large, but only those that occur are written and read.
    place = np.empty(int(ordered[-1]) + 1 if len(ordered) else 0, dtype=np.int64)
    place[ordered[begins]] = np.arange(len(begins))
    column = place[terms]
    idf = np.log(1 + n / np.diff(begins, append=len(ordered)))
    weights = (1 + np.log(counts)) * idf[column]
    weights /= np.maximum(np.sqrt(np.bincount(rows, weights**2, minlength=n)), 1e-9)[rows]
    similarities = np.empty((n, min(FEEDBACK, n)))
    for best in range(similarities.shape[1]):
        its = np.zeros(len(begins))
        its[column[rows == best]] = weights[rows == best]
        similarities[:, best] = np.bincount(rows, weights * its[column], minlength=n)
    return _mean_without_itself(similarities)


def _contexts(question: str, candidates: Sequence[Candidate]) -> dict[str, float]:
    """What is known of the question as a whole, each about 1 in size."""
    cosines = sorted((c.cosine for c in candidates), reverse=True)
    both = [c for c in candidates if (c.dense_rank or math.inf) <= 10 and (c.lexical_rank or math.inf) <= 10]
    return {
        "keywords": float(is_keywords(question)),
        "rankings agree": len(both) / 10,
        "dense lead": 10 * (cosines[0] - cosines[min(9, len(cosines) - 1)]),
    }


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
