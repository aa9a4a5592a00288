"""Posting lists: for each term the passages that have it, with the same BM25 scores as the folder's index.

The analyser is that of `index/lexical.py`, and so are the constants and the lengths, which tantivy rounds to one
byte, so both rankings agree passage by passage. A list consists of records of six bytes: row, how often the term
occurs, and the code of the passage's length. Lists of two pieces are merged by concatenation.
"""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from preflight_rag.library.index.lexical import MAX_TERMS, open_analyser, whole_text
from preflight_rag.library.index.vocabulary import LONGEST, letters
from preflight_rag.state.errors import LibraryError

if TYPE_CHECKING:
    import numpy as np

K1, B = 1.2, 0.75
"""The constants of BM25, as in tantivy."""
RECORD = [("row", "<u4"), ("count", "u1"), ("length", "u1")]
"""NumPy type of a record: row, how often the term occurs, and the code of the passage's length."""
RECORD_BYTES = 6
LARGEST_ROW = 2**32 - 1
LARGEST_COUNT = 255
"""The largest numbers that a record's fields can hold."""
FEW = 20_000
"""Up to this many postings, a query's are sorted by row; more are added up in an array over all rows. Measured: 2 ms.
"""


@lru_cache(maxsize=1)
def decoded_lengths() -> tuple[int, ...]:
    """Return the length that each one-byte code stands for: exact up to 40, then in ever larger steps, as in Lucene."""
    lengths = []
    for code in range(256):
        number = code - 24
        if number < 8:
            lengths.append(code)
            continue
        # A floating-point number: three bits of mantissa with a leading 1, and the exponent above them.
        exponent, mantissa = (number >> 3) - 1, (number & 7) | 8
        lengths.append(24 + (mantissa << exponent))
    return tuple(lengths)


def length_code(length: int) -> int:
    """Return the code that a length is rounded down to: of the largest decoded length that is not above it."""
    from bisect import bisect_right

    return bisect_right(decoded_lengths(), length) - 1


class PostingPiece(NamedTuple):
    """The posting lists of some passages.

    Attributes:
        lists: The records of each term.
        words: For each unstemmed word in lower case, how many passages and documents have it: for spelling.
        passages: Number of passages.
        length: Total number of terms in them.
        first: Their smallest row.
        last: Their largest row.
    """

    lists: dict[str, bytes]
    words: dict[str, tuple[int, int]]
    passages: int
    length: int
    first: int
    last: int


def make_piece(passages: Iterable[tuple[int, int, str, str]]) -> PostingPiece | None:
    """Return the posting lists of `(row, document, title, text)`; None if there is no passage.

    Raises:
        LibraryError: A row number is too large for a record.
    """
    import numpy as np

    analyser = open_analyser()
    passages = list(passages)
    numbers: dict[str, int] = {}
    terms, rows, counts, codes = array("I"), array("Q"), array("B"), array("B")
    total_length = 0
    for row, _, title, text in passages:
        term_counts = Counter(analyser.analyze(whole_text(title, text)))
        length = term_counts.total()
        code = length_code(length)
        for term, count in term_counts.items():
            terms.append(numbers.setdefault(term, len(numbers)))
            rows.append(row)
            # One byte is enough: BM25 hardly grows any more at such a number.
            counts.append(min(count, LARGEST_COUNT))
            codes.append(code)
        total_length += length
    if not passages:
        return None
    first, last = min(row for row, *_ in passages), max(row for row, *_ in passages)
    if last > LARGEST_ROW:
        raise LibraryError(f"row {last} is beyond the largest number of a posting list", help="Create another library.")
    records = np.empty(len(rows), dtype=RECORD)
    for name, values, kind in (("row", rows, np.uint64), ("count", counts, np.uint8), ("length", codes, np.uint8)):
        records[name] = np.frombuffer(values, kind)
    term_numbers = np.frombuffer(terms, np.uint32)
    # Stable, so that the rows of each term stay ascending.
    order = np.argsort(term_numbers, kind="stable")
    records = records[order]
    ends = np.searchsorted(term_numbers[order], np.arange(len(numbers)), side="right").tolist()
    lists, begin = {}, 0
    for term, end in zip(numbers, ends, strict=True):
        lists[term] = records[begin:end].tobytes()
        begin = end
    word_counts = count_words((document, title, text) for _, document, title, text in passages)
    return PostingPiece(lists, word_counts, len(passages), total_length, first, last)


def count_words(passages: Iterable[tuple[int, str, str]]) -> dict[str, tuple[int, int]]:
    """Count, for each word, the passages `(document, title, text)` and the documents that contain it.

    The passages of a document must follow each other.
    """
    passage_counts, document_counts = Counter[str](), Counter[str]()
    last_document: dict[str, int] = {}
    for document, title, text in passages:
        for word in set(letters(whole_text(title, text))):
            if len(word) > LONGEST:
                continue
            passage_counts[word] += 1
            if last_document.get(word) != document:
                document_counts[word] += 1
                last_document[word] = document
    return {word: (count, document_counts[word]) for word, count in passage_counts.items()}


def query_terms(query: str) -> list[str]:
    """Return the distinct analysed terms of a query in their order, at most as many as the folder's index looks up."""
    return list(dict.fromkeys(open_analyser().analyze(query)))[:MAX_TERMS]


def terms_of(passages: Iterable[tuple[str, str]]) -> set[str]:
    """Return all terms of `(title, text)`."""
    analyser = open_analyser()
    return set(chain.from_iterable(analyser.analyze(whole_text(title, text)) for title, text in passages))


def without_rows(stored: bytes, rows: np.ndarray) -> bytes:
    """Return a posting list without the passages of some rows."""
    import numpy as np

    records = np.frombuffer(stored, RECORD)
    return records[~np.isin(records["row"], rows)].tobytes()


def best_by_bm25(
    lists: Mapping[str, Sequence[bytes]],
    terms: Sequence[str],
    n: int,
    *,
    passages: int,
    length: int,
    dead: np.ndarray,
    among: np.ndarray | None = None,
) -> list[tuple[int, float]]:
    """Return rows and scores of the `n` passages with the largest BM25, best first, ties by row.

    Args:
        lists: For each term, its list in each piece.
        terms: The query's terms, in order.
        n: Number of passages to return.
        passages: Number of passages in all pieces.
        length: Total number of terms in them.
        dead: Rows (m,) that are no longer visible but still in the lists.
        among: Rows to choose from, ascending; BM25's statistics stay those of the whole collection.
    """
    import numpy as np

    scored = list(_score_terms(lists, terms, passages - len(dead), length / max(passages, 1), dead))
    if n < 1 or not scored:
        return []
    # With a choice of rows, the best of all may hold too few of them.
    rows, scores = _sum_by_row(scored, n if among is None else None)
    if among is not None:
        is_among = np.isin(rows, among)
        rows, scores = rows[is_among], scores[is_among]
    if len(rows) > n:
        # All that tie with the last one stay for now, since ties go by row.
        is_candidate = scores >= _nth_largest(scores, n)
        rows, scores = rows[is_candidate], scores[is_candidate]
    order = np.lexsort((rows, -scores))[:n]
    return list(zip(rows[order].tolist(), scores[order].tolist(), strict=True))


def _nth_largest(scores: np.ndarray, n: int) -> float:
    """Return the `n`-th largest of at least `n` scores."""
    import numpy as np

    return float(np.partition(scores, len(scores) - n)[len(scores) - n])


def _score_terms(
    lists: Mapping[str, Sequence[bytes]], terms: Sequence[str], passages: int, average: float, dead: np.ndarray
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield, for each term that a passage has, the rows (m,) of the passages with it and their BM25 scores (m,)."""
    import numpy as np

    for term in terms:
        records = living_records(lists.get(term, ()), dead)
        if len(records):
            weight = inverse_frequency(passages, len(records))
            yield records["row"].astype(np.int64), bm25(weight, records["count"], records["length"], average)


def living_records(stored: Sequence[bytes], dead: np.ndarray) -> np.ndarray:
    """Return a term's posting records from all pieces, without those of deleted passages."""
    import numpy as np

    records = np.frombuffer(stored[0] if len(stored) == 1 else b"".join(stored), RECORD)
    return records[~np.isin(records["row"], dead)] if len(dead) and len(records) else records


def inverse_frequency(passages: int, having: int) -> float:
    """Return BM25's weight of a term, the inverse document frequency, if `having` of the passages have it."""
    return math.log(1 + (passages - having + 0.5) / (having + 0.5))


def bm25(weight: float, counts: np.ndarray, codes: np.ndarray, average: float) -> np.ndarray:
    """Return the BM25 score (n,) of a term or phrase for each of some passages, as float32.

    Args:
        weight: Its inverse frequency; of a phrase the sum of its terms'.
        counts: How often each passage has it (n,).
        codes: The codes of the passages' lengths (n,).
        average: Average number of terms in a passage.
    """
    import numpy as np

    lengths = np.array(decoded_lengths(), dtype=np.float32)
    # In float32 as tantivy computes it, so that what ties there ties here.
    scale = np.float32(K1) * (np.float32(1 - B) + np.float32(B) * lengths / np.float32(max(average, 1e-9)))
    counts = counts.astype(np.float32)
    scores: np.ndarray = np.float32(weight * (K1 + 1)) * (counts / (counts + scale[codes]))
    return scores


def _sum_by_row(scored: Sequence[tuple[np.ndarray, np.ndarray]], n: int | None) -> tuple[np.ndarray, np.ndarray]:
    """Return each row once, ascending, with the sum of its scores.

    With `n`, rows outside the `n` best may be missing.
    """
    import numpy as np

    if len(scored) == 1:
        rows, scores = scored[0]
        order = np.argsort(rows, kind="stable")
        return rows[order], scores[order]
    if sum(len(rows) for rows, _ in scored) <= FEW:
        all_rows = np.concatenate([rows for rows, _ in scored])
        all_scores = np.concatenate([scores for _, scores in scored])
        distinct, indices = np.unique(all_rows, return_inverse=True)
        return distinct, np.bincount(indices, weights=all_scores)
    first, last = min(int(rows.min()) for rows, _ in scored), max(int(rows.max()) for rows, _ in scored)
    sums = np.zeros(last - first + 1)
    for rows, scores in scored:
        sums[rows - first] += scores  # each row occurs at most once in a term's list
    least_score = float(np.finfo(np.float64).tiny)
    shortest_list = min((rows for rows, _ in scored if n is not None and len(rows) >= n), key=len, default=None)
    if n is not None and shortest_list is not None:
        # At least `n` rows have this score or more; sorting all rows would take longer.
        least_score = _nth_largest(sums[shortest_list - first], n)
    present = np.flatnonzero(sums >= least_score)
    return present + first, sums[present]
