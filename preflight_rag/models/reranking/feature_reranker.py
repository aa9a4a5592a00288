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
TOP_RANKS = 10
"""Number of first ranks in which the two rankings are compared; a guess."""
LEAD_SCALE = 10
"""Factor that brings differences of cosines to about size 1."""
EARLY_TERMS = 10
"""Number of terms before a text's first match that halve the feature "first match"; a guess."""
MISSING_BM25_SHARE = 0.9
"""Score of a passage outside the BM25 ranking, as a share of the lowest score in it; a guess."""

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
"""Features of the question as a whole, by which each feature in `MODULATED` is multiplied."""
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
        """Return the reranker with the package's weights: those in use, or those trained without a group (`fold`).

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
    content: dict[str, Any] = json.loads(WEIGHTS.read_text(encoding="utf-8"))
    return content


@dataclass(frozen=True)
class _CandidateTerms:
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
    def of(cls, question_terms: Sequence[str], candidates: Sequence[AnyCandidate]) -> _CandidateTerms:
        """Return the candidates' terms: from the index if it has all of them, else computed from the texts."""
        import numpy as np

        indexed = _index_positions(candidates)
        if indexed is not None:
            vocabulary, positions = indexed
            texts, titles = vocabulary.texts(positions), vocabulary.titles(positions)
            return cls(*texts, *titles, vocabulary.numbers(question_terms), vocabulary.scratch)
        numbers: dict[str, int] = {}

        def number_terms(terms: Sequence[str]) -> np.ndarray:
            """Return the terms' numbers; a new term gets the next number."""
            return np.array([numbers.setdefault(term, len(numbers)) for term in terms], dtype=np.int64)

        asked: list[int] = number_terms(question_terms).tolist()
        text_ids: list[np.ndarray] = []
        title_ids: list[np.ndarray] = []
        # The index has the terms of every candidate without a text, so each of these has its text.
        for candidate in cast("Sequence[Candidate]", candidates):
            title, text = candidate.passage.title, candidate.passage.text
            text_ids.append(number_terms(passage_terms(title, text)))
            title_ids.append(number_terms(words_by_token(title)))
        return cls(
            ids=np.concatenate(text_ids),
            lengths=np.array([len(ids) for ids in text_ids]),
            titles=np.concatenate(title_ids),
            title_lengths=np.array([len(ids) for ids in title_ids]),
            asked=asked,
            scratch=lambda: nullcontext(np.zeros(len(numbers))),
        )

    @property
    def starts(self) -> np.ndarray:
        """The index in `ids` at which each text begins."""
        starts: np.ndarray = self.lengths.cumsum() - self.lengths
        return starts

    def matches(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the occurrences of question terms in the texts, in the order of `ids`, as three arrays of one length.

        They are the index of each occurrence in `ids`, the index of its text, and the index of its term in `asked`.
        """
        import numpy as np

        by_term = [np.flatnonzero(self.ids == number) if number >= 0 else np.zeros(0, int) for number in self.asked]
        indices = np.concatenate(by_term) if by_term else np.zeros(0, np.int64)
        terms = np.repeat(np.arange(len(by_term)), [len(occurrences) for occurrences in by_term])
        order = indices.argsort()
        indices = indices[order]
        rows = np.searchsorted(self.lengths.cumsum(), indices, side="right")
        return indices, rows, terms[order]

    def have_full_titles(self) -> np.ndarray:
        """Return, as booleans (n,), whether each text's title contains all of the question's terms."""
        import numpy as np

        n = len(self.lengths)
        if not self.asked or min(self.asked) < 0 or not len(self.titles):
            return np.zeros(n, dtype=bool)
        rows = np.repeat(np.arange(n), self.title_lengths)
        has_all_terms = np.ones(n, dtype=bool)
        for number in self.asked:
            has_all_terms &= np.bincount(rows[self.titles == number], minlength=n) > 0
            if not has_all_terms.any():
                break
        return has_all_terms


def _index_positions(candidates: Sequence[AnyCandidate]) -> tuple[TermNumbers, Sequence[int] | np.ndarray] | None:
    """Return the index that has the terms of all candidates, and their positions in it; None if no index has all."""
    if isinstance(candidates, Pool):
        return candidates.vocabulary, candidates.positions
    indexed = [candidate.terms for candidate in candidates if candidate.terms is not None]
    if len(indexed) != len(candidates) or any(terms.vocabulary is not indexed[0].vocabulary for terms in indexed):
        return None
    return indexed[0].vocabulary, [terms.position for terms in indexed]


def features(question: str, candidates: Sequence[AnyCandidate]) -> np.ndarray:
    """Return the features of candidates (best first) in the order of `FEATURES`, (n, len(FEATURES)), float64."""
    import numpy as np

    if not len(candidates):
        return np.zeros((0, len(FEATURES)))
    words = words_by_token(question)
    distinct_words = list(dict.fromkeys(words))
    terms = _CandidateTerms.of(distinct_words, candidates)
    ranks_and_scores = candidates.columns if isinstance(candidates, Pool) else Columns.of(candidates)
    columns = _ranking_columns(ranks_and_scores) | _text_columns(words, distinct_words, terms)
    question_features = _question_features(question, ranks_and_scores)
    for name in MODULATED:
        for question_feature, value in question_features.items():
            columns[f"{name} × {question_feature}"] = columns[name] * value
    return np.array([columns[name] for name in FEATURES]).T


def is_keywords(question: str) -> bool:
    """Return whether the question consists of keywords: it has neither a function word nor a question mark."""
    words = {word.casefold() for word in _WORD.findall(question)}
    return not question.rstrip().endswith("?") and not words & STOP_WORDS


def _ranking_columns(candidates: Columns) -> dict[str, np.ndarray]:
    """Return the features of the candidates' ranks and scores by name, each (n,)."""
    import numpy as np

    dense, dense_missing = _fill_missing_ranks(candidates.dense_rank)
    lexical, lexical_missing = _fill_missing_ranks(candidates.lexical_rank)
    fused, cosine = candidates.rank.astype(float), candidates.cosine
    lowest_bm25 = candidates.bm25[~lexical_missing].min() if not lexical_missing.all() else 0.0
    bm25 = np.where(lexical_missing, MISSING_BM25_SHARE * lowest_bm25, candidates.bm25)
    dense_rr, lexical_rr = (RANK_OFFSET + 1) / (RANK_OFFSET + dense), (RANK_OFFSET + 1) / (RANK_OFFSET + lexical)
    dense_rr, lexical_rr = np.where(dense_missing, 0, dense_rr), np.where(lexical_missing, 0, lexical_rr)
    dense_log, lexical_log, dense_z, bm25_z = np.log(dense), np.log(lexical), _standardise(cosine), _standardise(bm25)
    return {
        "dense z": dense_z,
        "dense gap": cosine.max() - cosine,
        "dense share": _scale_to_unit_range(cosine),
        "dense reciprocal rank": dense_rr,
        "dense log rank": dense_log,
        "dense missing": dense_missing.astype(float),
        "bm25 z": bm25_z,
        "bm25 share": _scale_to_unit_range(bm25),
        "bm25 reciprocal rank": lexical_rr,
        "bm25 log rank": lexical_log,
        "bm25 missing": lexical_missing.astype(float),
        "fused reciprocal rank": (RANK_OFFSET + 1) / (RANK_OFFSET + fused),
        "fused log rank": np.log(fused),
        "rank agreement": np.abs(dense_log - lexical_log),
        "rank product": dense_rr * lexical_rr,
        "combined z": np.minimum(dense_z, bm25_z),
    }


def _text_columns(words: list[str], distinct_words: list[str], texts: _CandidateTerms) -> dict[str, np.ndarray]:
    """Return the features of the question's words in the candidates' texts by name, each (n,)."""
    import numpy as np

    n, size = len(texts.lengths), max(1, len(distinct_words))
    number = {word: i for i, word in enumerate(distinct_words)}
    indices, rows, terms = texts.matches()
    starts = texts.starts
    counts = np.bincount(rows * size + terms, minlength=n * size).reshape(n, size).astype(float)
    earliness, first_matches = np.zeros(n), run_starts(rows)
    offsets = indices[first_matches] - starts[rows[first_matches]]
    earliness[rows[first_matches]] = 1 / (1 + offsets / EARLY_TERMS)
    lengths = texts.lengths.astype(float)
    present = counts > 0
    frequency = present.sum(axis=0)
    idf = np.log(1 + (n - frequency + 0.5) / (frequency + 0.5))
    weight = idf / idf.sum()
    norm = counts + K1 * (1 - B + B * lengths[:, None] / max(1.0, lengths.mean()))
    bigrams = {(number[first], number[second]) for first, second in pairwise(words)}
    return {
        "coverage": present.mean(axis=1),
        "idf coverage": present @ weight,
        "pool bm25 z": _standardise((counts * (K1 + 1) / norm) @ idf),
        "frequency": np.log1p(counts) @ weight,
        "bigrams": _bigram_shares(bigrams, size, n, rows, indices, terms),
        "proximity": _window_densities(present, starts, rows, indices, terms),
        "first match": earliness,
        "title match": texts.have_full_titles().astype(float),
        "length": np.log1p(lengths),
        "term feedback z": _standardise(_term_feedback(texts)),
    }


def _bigram_shares(
    bigrams: set[tuple[int, int]], size: int, n: int, rows: np.ndarray, indices: np.ndarray, terms: np.ndarray
) -> np.ndarray:
    """Return the share of the question's neighbouring word pairs that are neighbours in each of `n` texts, (n,).

    Bigrams are pairs of numbers of the question's terms, of which there are `size`; `rows`, `indices` and `terms` are
    those of `_CandidateTerms.matches`.
    """
    import numpy as np

    if not bigrams:
        return np.zeros(n)
    # A pair of terms is coded as one number below `size` squared.
    is_bigram = np.zeros(size * size, dtype=bool)
    is_bigram[[first * size + second for first, second in bigrams]] = True
    codes = terms[:-1] * size + terms[1:]
    is_match = is_bigram[codes] & (indices[1:] - indices[:-1] == 1) & (rows[1:] == rows[:-1])
    # A bigram that a text has twice counts once: text and code are combined in one number, and repetitions dropped.
    matches = rows[:-1][is_match] * size**2 + codes[is_match]
    matches.sort()
    shares: np.ndarray = np.bincount(matches[run_starts(matches)] // size**2, minlength=n) / len(bigrams)
    return shares


def _window_densities(
    present: np.ndarray, starts: np.ndarray, rows: np.ndarray, indices: np.ndarray, terms: np.ndarray
) -> np.ndarray:
    """Return each text's number of distinct question terms over the length of the smallest window with all, (n,).

    A text with fewer than two of the question's terms has 0. For each match, the window that ends there begins at the
    earliest among the last occurrences, up to the match, of the terms that the text has. `present` says which terms
    each text has, (n, terms); `starts` is where it begins; the others are those of `_CandidateTerms.matches`.
    """
    import numpy as np

    distinct = present.sum(axis=1)
    densities = np.zeros(len(distinct))
    if not len(indices):
        return densities
    term_numbers = np.arange(present.shape[1])[:, None]
    last_occurrences = np.maximum.accumulate(np.where(terms == term_numbers, indices, -1), axis=1)
    in_text = present[rows].T
    has_all = (~in_text | (last_occurrences >= starts[rows])).all(axis=0)
    begins = np.where(in_text, last_occurrences, np.iinfo(np.int64).max).min(axis=0)
    lengths = (indices - begins + 1)[has_all]
    smallest = np.full(len(distinct), np.iinfo(np.int64).max)
    np.minimum.at(smallest, rows[has_all], lengths)
    several = distinct > 1
    densities[several] = distinct[several] / smallest[several]
    return densities


def _term_feedback(texts: _CandidateTerms) -> np.ndarray:
    """Return each passage's mean cosine similarity with the `FEEDBACK` best passages, itself excluded, (n,).

    The vectors are of terms, weighted by log frequency and rarity (TF-IDF). The mean of the products with several
    vectors is the product with their sum, divided by their number.
    """
    import numpy as np

    n = len(texts.lengths)
    with texts.scratch() as zeros:
        bits = max(1, (len(zeros) - 1).bit_length())
    # Text and term are combined in one number; small numbers are sorted faster.
    dtype = "u4" if n <= 1 << max(0, 32 - bits) else "i8"
    keys = np.repeat((np.arange(n) << bits).astype(dtype), texts.lengths) | texts.ids.astype(dtype, copy=False)
    keys.sort()
    firsts = run_starts(keys)
    counts, distinct = run_lengths(firsts, len(keys)), keys[firsts].astype(np.int64)
    rows, terms = distinct >> bits, distinct & ((1 << bits) - 1)
    m = min(FEEDBACK, n)
    end = int(np.searchsorted(rows, m))
    with texts.scratch() as zeros:
        np.add.at(zeros, terms, 1.0)
        document_frequency = zeros[terms].astype(np.int64)
        zeros[terms] = 0.0
        # Logarithms are taken once for each possible number, and then looked up.
        weights = (1 + np.log(np.arange(1, 1 + counts.max(initial=0))))[counts - 1]
        weights *= np.log(1 + n / np.arange(1, n + 1))[document_frequency - 1]
        weights /= np.maximum(np.sqrt(np.bincount(rows, weights * weights, minlength=n)), 1e-9)[rows]
        np.add.at(zeros, terms[:end], weights[:end])
        totals = np.bincount(rows, weights * zeros[terms], minlength=n)
        zeros[terms[:end]] = 0.0
    totals[:m] -= np.bincount(rows[:end], weights[:end] * weights[:end], minlength=m)
    others = np.full(n, float(m))
    others[:m] -= 1
    means: np.ndarray = totals / np.maximum(others, 1)
    return means


def _question_features(question: str, candidates: Columns) -> dict[str, float]:
    """Return the features `CONTEXTS` of the question as a whole, each of about size 1.

    They are whether it consists of keywords, the share of the first `TOP_RANKS` that both rankings have in common, and
    the difference in cosine between the best candidate and the one at rank `TOP_RANKS`.
    """
    import numpy as np

    cosines = np.sort(candidates.cosine)[::-1]
    last_of_top = min(TOP_RANKS, len(cosines)) - 1
    in_dense_top = (candidates.dense_rank > 0) & (candidates.dense_rank <= TOP_RANKS)
    in_lexical_top = (candidates.lexical_rank > 0) & (candidates.lexical_rank <= TOP_RANKS)
    return {
        "keywords": float(is_keywords(question)),
        "rankings agree": float((in_dense_top & in_lexical_top).sum() / TOP_RANKS),
        "dense lead": float(LEAD_SCALE * (cosines[0] - cosines[last_of_top])),
    }


def _fill_missing_ranks(ranks: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return ranks as floats, with a rank below all others for each missing one (0), and which were missing."""
    import numpy as np

    missing = ranks == 0
    last = max(len(ranks), int(ranks.max())) + 1
    return np.where(missing, last, ranks).astype(float), missing


def _standardise(values: np.ndarray) -> np.ndarray:
    """Return values scaled to mean 0 and standard deviation 1; zeros if all are equal."""
    centred = values - values.sum() / len(values)
    spread = math.sqrt(float(centred @ centred) / len(values))
    scaled: np.ndarray = centred / spread if spread > 1e-9 else centred * 0
    return scaled


def _scale_to_unit_range(values: np.ndarray) -> np.ndarray:
    """Return values scaled so that the lowest is 0 and the highest 1; zeros if all are equal."""
    low, high = float(values.min()), float(values.max())
    shifted: np.ndarray = values - low
    scaled: np.ndarray = shifted / (high - low) if high - low > 1e-9 else shifted * 0
    return scaled
