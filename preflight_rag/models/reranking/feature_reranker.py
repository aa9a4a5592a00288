"""The reranker that needs no download: a linear model over features of a question's candidates.

The features are cheap numbers: ranks and scores in the rankings, how well the rankings agree, the question's words in
the passage (coverage weighted by rarity, proximity, title), its similarity in words to the best candidates
(pseudo-relevance feedback), its length, and combinations of these with the kind of question. Scores are comparable
only among the candidates of one question, so nothing depends on a collection's scale. Rarity is the inverse document
frequency among the candidates.

The weights in `feature_reranker.json` are set by `python -m training.train_reranker`, with a listwise softmax loss over
the candidates of each question, on the development parts of public collections. Beside the weights in use ("all"), the
file has those of each fold, trained without one group of collections: the published figures of that group come from
them.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from preflight_rag.state.errors import RerankerError
from preflight_rag.state.retrieval import AnyCandidate, Candidate, Columns, Pool, TermNumbers
from preflight_rag.text.bm25 import run_lengths, run_starts
from preflight_rag.text.words import STOP_WORDS, passage_terms, words_by_token

if TYPE_CHECKING:
    import numpy as np

WEIGHTS = Path(__file__).with_name("feature_reranker.json")
ALL = "all"
RANK_OFFSET = 10
"""Added to ranks before their reciprocal is taken: smaller than RRF's 60, since here the weight is learned."""
K1, B = 1.2, 0.75
"""BM25's usual constants (Robertson and Zaragoza 2009)."""
FEEDBACK = 5
"""Number of best candidates that the others are compared with; a guess."""

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
        weights: Weights of the features by name; a missing one counts as 0.
        name: Its name for `open_reranker`.
        batch_size: None: features are relative to all candidates.
    """

    weights: Mapping[str, float]
    name: str = "features"
    batch_size: int | None = field(default=None, init=False)

    @classmethod
    def shipped(cls, fold: str = ALL) -> FeatureReranker:
        """Return the trained reranker; `fold` names the group of collections without which it was trained.

        Raises:
            RerankerError: There is no such fold.
        """
        folds = next(iter(trained()["weights"].values()))
        if fold not in folds:
            raise RerankerError(f"no reranker was trained without {fold!r}", help=f"Choose {', '.join(folds)}.")
        return cls({name: row[fold] for name, row in trained()["weights"].items()})

    def score(self, question: str, candidates: Sequence[AnyCandidate]) -> np.ndarray:
        """Return the score of each candidate (n,), float64."""
        scores: np.ndarray = features(question, candidates) @ self._weights
        return scores

    @cached_property
    def _weights(self) -> np.ndarray:
        """The weights as an array, in the order of `FEATURES`."""
        import numpy as np

        return np.array([self.weights.get(name, 0.0) for name in FEATURES])


@lru_cache(maxsize=1)
def trained() -> dict[str, Any]:
    """Return the content of `feature_reranker.json`: `weights` by feature and fold, and the training data."""
    found: dict[str, Any] = json.loads(WEIGHTS.read_text(encoding="utf-8"))
    return found


@dataclass(frozen=True)
class _Texts:
    """The candidates' terms as numbers.

    Attributes:
        ids: Terms of all texts, concatenated, (total,).
        lengths: Number of terms of each text, (n,).
        titles: Terms of all titles, concatenated.
        title_lengths: Number of terms of each title, (n,).
        asked: Numbers of the question's distinct terms, in their order; -1 for a term in no text.
        scratch: Zeros of float64, one for each term number.
    """

    ids: np.ndarray
    lengths: np.ndarray
    titles: np.ndarray
    title_lengths: np.ndarray
    asked: list[int]
    scratch: Callable[[], AbstractContextManager[np.ndarray]]

    @classmethod
    def of(cls, asked: Sequence[str], candidates: Sequence[AnyCandidate]) -> _Texts:
        """Return the candidates' terms: from the index if it has all of them, else computed from the texts."""
        import numpy as np

        known = _indexed(candidates)
        if known is not None:
            vocabulary, positions = known
            texts, titles = vocabulary.texts(positions), vocabulary.titles(positions)
            return cls(*texts, *titles, vocabulary.numbers(asked), vocabulary.scratch)
        places: dict[str, int] = {}
        numbers = [places.setdefault(term, len(places)) for term in asked]
        of_texts: list[np.ndarray] = []
        of_titles: list[np.ndarray] = []
        # for an unread candidate only the index has the terms
        for candidate in cast("Sequence[Candidate]", candidates):
            title, text = candidate.passage.title, candidate.passage.text
            for terms, found in ((passage_terms(title, text), of_texts), (words_by_token(title), of_titles)):
                its = [places.setdefault(term, len(places)) for term in terms]
                found.append(np.array(its, dtype=np.int64))
        lengths, title_lengths = np.array(list(map(len, of_texts))), np.array(list(map(len, of_titles)))
        together, titled = np.concatenate(of_texts), np.concatenate(of_titles)
        return cls(together, lengths, titled, title_lengths, numbers, lambda: nullcontext(np.zeros(len(places))))

    @property
    def starts(self) -> np.ndarray:
        """The index in `ids` at which each text begins."""
        starts: np.ndarray = self.lengths.cumsum() - self.lengths
        return starts

    def matches(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return, for each occurrence of a question term, its index in `ids`, ascending, its text, and the term."""
        import numpy as np

        found = [np.flatnonzero(self.ids == number) if number >= 0 else np.zeros(0, np.int64) for number in self.asked]
        places = np.concatenate(found) if found else np.zeros(0, np.int64)
        terms = np.repeat(np.arange(len(found)), [len(each) for each in found])
        order = places.argsort()
        places = places[order]
        return places, np.searchsorted(self.lengths.cumsum(), places, side="right"), terms[order]

    def titled(self) -> np.ndarray:
        """Return, as booleans (n,), which texts' titles contain all of the question's terms; False without a title."""
        import numpy as np

        n = len(self.lengths)
        if not self.asked or min(self.asked) < 0 or not len(self.titles):
            return np.zeros(n, dtype=bool)
        rows = np.repeat(np.arange(n), self.title_lengths)
        found = np.ones(n, dtype=bool)
        for number in self.asked:
            found &= np.bincount(rows[self.titles == number], minlength=n) > 0
            if not found.any():
                break
        return found


def _indexed(candidates: Sequence[AnyCandidate]) -> tuple[TermNumbers, Sequence[int] | np.ndarray] | None:
    """Return the index with the terms of all candidates, and their positions in it; None if there is none."""
    if isinstance(candidates, Pool):
        return candidates.vocabulary, candidates.positions
    known = [candidate.terms for candidate in candidates if candidate.terms is not None]
    if len(known) != len(candidates) or any(terms.vocabulary is not known[0].vocabulary for terms in known):
        return None
    return known[0].vocabulary, [terms.position for terms in known]


def features(question: str, candidates: Sequence[AnyCandidate]) -> np.ndarray:
    """Return features (n, len(FEATURES)) float64 of a question's candidates.

    Args:
        question: The question.
        candidates: Best first.
    """
    import numpy as np

    if not len(candidates):
        return np.zeros((0, len(FEATURES)))
    sequence = words_by_token(question)
    asked = list(dict.fromkeys(sequence))
    places = candidates.columns if isinstance(candidates, Pool) else Columns.of(candidates)
    columns = _ranking_columns(places) | _text_columns(sequence, asked, _Texts.of(asked, candidates))
    context = _contexts(question, places)
    for name in MODULATED:
        columns |= {f"{name} × {key}": columns[name] * value for key, value in context.items()}
    return np.array([columns[name] for name in FEATURES]).T


def is_keywords(question: str) -> bool:
    """Return whether the question consists of keywords: it has neither a function word nor a question mark."""
    plain = {word.casefold() for word in _WORD.findall(question)}
    return not question.rstrip().endswith("?") and not plain & STOP_WORDS


def _ranking_columns(places: Columns) -> dict[str, np.ndarray]:
    """Return the features of the candidates' ranks and scores, by name."""
    import numpy as np

    dense, dense_missing = _ranks(places.dense_rank)
    lexical, lexical_missing = _ranks(places.lexical_rank)
    fused, cosine = places.rank.astype(float), places.cosine
    floor = places.bm25[~lexical_missing].min() if not lexical_missing.all() else 0.0
    bm25 = np.where(lexical_missing, 0.9 * floor, places.bm25)
    dense_rr, lexical_rr = (RANK_OFFSET + 1) / (RANK_OFFSET + dense), (RANK_OFFSET + 1) / (RANK_OFFSET + lexical)
    dense_rr, lexical_rr = np.where(dense_missing, 0, dense_rr), np.where(lexical_missing, 0, lexical_rr)
    dense_log, lexical_log, dense_z, bm25_z = np.log(dense), np.log(lexical), _z(cosine), _z(bm25)
    return {
        "dense z": dense_z,
        "dense gap": cosine.max() - cosine,
        "dense share": _share(cosine),
        "dense reciprocal rank": dense_rr,
        "dense log rank": dense_log,
        "dense missing": dense_missing.astype(float),
        "bm25 z": bm25_z,
        "bm25 share": _share(bm25),
        "bm25 reciprocal rank": lexical_rr,
        "bm25 log rank": lexical_log,
        "bm25 missing": lexical_missing.astype(float),
        "fused reciprocal rank": (RANK_OFFSET + 1) / (RANK_OFFSET + fused),
        "fused log rank": np.log(fused),
        "rank agreement": np.abs(dense_log - lexical_log),
        "rank product": dense_rr * lexical_rr,
        "combined z": np.minimum(dense_z, bm25_z),
    }


def _text_columns(sequence: list[str], asked: list[str], texts: _Texts) -> dict[str, np.ndarray]:
    """Return the features of the question's words in the candidates' texts, by name."""
    import numpy as np

    n, size, place = len(texts.lengths), max(1, len(asked)), {term: i for i, term in enumerate(asked)}
    places, rows, terms = texts.matches()
    starts = texts.starts
    counts = np.bincount(rows * size + terms, minlength=n * size).reshape(n, size).astype(float)
    first, firsts = np.zeros(n), run_starts(rows)
    first[rows[firsts]] = 1 / (1 + (places[firsts] - starts[rows[firsts]]) / 10)
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
        "proximity": _proximity(present, starts, rows, places, terms),
        "first match": first,
        "title match": texts.titled().astype(float),
        "length": np.log1p(lengths),
        "term feedback z": _z(_term_feedback(texts)),
    }


def _bigrams(
    pairs: set[tuple[int, int]], size: int, n: int, rows: np.ndarray, places: np.ndarray, terms: np.ndarray
) -> np.ndarray:
    """Return the share of the question's neighbouring word pairs that are neighbours in each text, (n,).

    Args:
        pairs: The pairs, as indices of the question's terms.
        size: Number of the question's terms.
        n: Number of texts.
        rows: The text of each match.
        places: The position of each match in its text.
        terms: The index of each match's term among the question's terms.
    """
    import numpy as np

    if not pairs:
        return np.zeros(n)
    is_wanted = np.zeros(size * size, dtype=bool)
    is_wanted[[a * size + b for a, b in pairs]] = True
    codes = terms[:-1] * size + terms[1:]
    is_pair = is_wanted[codes] & (places[1:] - places[:-1] == 1) & (rows[1:] == rows[:-1])
    found = rows[:-1][is_pair] * size**2 + codes[is_pair]
    found.sort()
    shares: np.ndarray = np.bincount(found[run_starts(found)] // size**2, minlength=n) / len(pairs)
    return shares


def _proximity(
    present: np.ndarray, starts: np.ndarray, rows: np.ndarray, places: np.ndarray, terms: np.ndarray
) -> np.ndarray:
    """Return, (n,), each text's number of distinct question terms over the smallest window with all of them.

    Texts with fewer than two have 0. A window that ends at a match begins at the earliest of the latest positions, up
    to there, of the terms that the text has.
    """
    import numpy as np

    wanted = present.sum(axis=1)
    shares = np.zeros(len(wanted))
    if not len(places):
        return shares
    which = np.arange(present.shape[1])[:, None]
    last = np.maximum.accumulate(np.where(terms == which, places, -1), axis=1)
    is_wanted = present[rows].T
    whole = (~is_wanted | (last >= starts[rows])).all(axis=0)
    begins = np.where(is_wanted, last, np.iinfo(np.int64).max).min(axis=0)
    lengths = (places - begins + 1)[whole]
    smallest = np.full(len(wanted), np.iinfo(np.int64).max)
    np.minimum.at(smallest, rows[whole], lengths)
    some = wanted > 1
    shares[some] = wanted[some] / smallest[some]
    return shares


def _term_feedback(texts: _Texts) -> np.ndarray:
    """Return each passage's mean cosine of weighted terms with the best passages, itself excluded.

    The mean of the products with several vectors is the product with their sum, divided by their number.
    """
    import numpy as np

    n = len(texts.lengths)
    with texts.scratch() as zeros:
        bits = max(1, (len(zeros) - 1).bit_length())
    # Text and term are combined in one number; small numbers are sorted faster.
    kind = "u4" if n <= 1 << max(0, 32 - bits) else "i8"
    keys = np.repeat((np.arange(n) << bits).astype(kind), texts.lengths) | texts.ids.astype(kind, copy=False)
    keys.sort()
    firsts = run_starts(keys)
    counts, distinct = run_lengths(firsts, len(keys)), keys[firsts].astype(np.int64)
    rows, terms = distinct >> bits, distinct & ((1 << bits) - 1)
    m = min(FEEDBACK, n)
    end = int(np.searchsorted(rows, m))
    with texts.scratch() as zeros:
        np.add.at(zeros, terms, 1.0)
        holding = zeros[terms].astype(np.int64)
        zeros[terms] = 0.0
        weights = (1 + np.log(np.arange(1, 1 + counts.max(initial=0))))[counts - 1]
        weights *= np.log(1 + n / np.arange(1, n + 1))[holding - 1]
        weights /= np.maximum(np.sqrt(np.bincount(rows, weights * weights, minlength=n)), 1e-9)[rows]
        np.add.at(zeros, terms[:end], weights[:end])
        totals = np.bincount(rows, weights * zeros[terms], minlength=n)
        zeros[terms[:end]] = 0.0
    totals[:m] -= np.bincount(rows[:end], weights[:end] * weights[:end], minlength=m)
    others = np.full(n, float(m))
    others[:m] -= 1
    means: np.ndarray = totals / np.maximum(others, 1)
    return means


def _contexts(question: str, places: Columns) -> dict[str, float]:
    """Return features of the question as a whole, each of about size 1."""
    import numpy as np

    cosines = np.sort(places.cosine)[::-1]
    ranks = places.dense_rank, places.lexical_rank
    both = [(rank > 0) & (rank <= 10) for rank in ranks]
    return {
        "keywords": float(is_keywords(question)),
        "rankings agree": float((both[0] & both[1]).sum() / 10),
        "dense lead": float(10 * (cosines[0] - cosines[min(9, len(cosines) - 1)])),
    }


def _ranks(ranks: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return ranks as floats, and which were missing; a missing rank counts as one below all others."""
    import numpy as np

    missing = ranks == 0
    last = max(len(ranks), int(ranks.max())) + 1
    return np.where(missing, last, ranks).astype(float), missing


def _z(values: np.ndarray) -> np.ndarray:
    """Return values standardised to mean 0 and standard deviation 1."""
    centred = values - values.sum() / len(values)
    spread = math.sqrt(float(centred @ centred) / len(values))
    scaled: np.ndarray = centred / spread if spread > 1e-9 else centred * 0
    return scaled


def _share(values: np.ndarray) -> np.ndarray:
    """Return values scaled to [0, 1]."""
    low, high = float(values.min()), float(values.max())
    shifted: np.ndarray = values - low
    scaled: np.ndarray = shifted / (high - low) if high - low > 1e-9 else shifted * 0
    return scaled
