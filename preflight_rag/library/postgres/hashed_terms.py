"""The terms of a passage as numbers that need no shared dictionary: 63 bits of a hash of each term.

A folder's index numbers its terms; many writers at once would have to agree on the numbers. Hashes are the same
everywhere. Among ten million distinct terms, two share a hash with a chance of about 10^-5.

The stored form of a passage: three counts (of `passage_terms`, of its title's terms, and of its words; the last is -1
if the words equal the `passage_terms`), then the hashes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING

from preflight_rag.state.retrieval import PassageTerms
from preflight_rag.text.words import passage_terms, words, words_by_token

if TYPE_CHECKING:
    import numpy as np

SAME = -1
"""Count of a passage's words in the stored form if they equal its `passage_terms`."""
COUNT_BYTES = 12
"""Length of the three counts in the stored form."""
CACHED_HASHES = 200_000
"""Number of cached hashes: most texts use few different words. A guess, about 30 MB."""


@lru_cache(maxsize=CACHED_HASHES)
def term_hash(term: str) -> int:
    """Return the number of a term, never negative: negative numbers mean terms that no passage has."""
    digest = blake2b(term.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little") >> 1


def encoded_terms(title: str, text: str) -> bytes:
    """Return the stored form of a passage's terms."""
    import numpy as np

    text_terms, title_terms, all_words = passage_terms(title, text), words_by_token(title), words(f"{title} {text}")
    is_same = all_words == text_terms
    terms = [*text_terms, *title_terms, *([] if is_same else all_words)]
    counts = np.array([len(text_terms), len(title_terms), SAME if is_same else len(all_words)], dtype="<i4")
    return counts.tobytes() + np.array([term_hash(term) for term in terms], dtype="<i8").tobytes()


class HashedTerms:
    """The terms of some passages; implements `TermNumbers`, with hashes renumbered from 0 without gaps.

    Args:
        stored: The result of `encoded_terms` for each passage.
    """

    def __init__(self, stored: Sequence[bytes]) -> None:
        import numpy as np

        # `reshape`: without passages the array would have one dimension.
        counts = np.array([np.frombuffer(blob, "<i4", 3) for blob in stored]).reshape(len(stored), 3)
        hashes = np.frombuffer(b"".join(blob[COUNT_BYTES:] for blob in stored), "<i8")
        self._hashes, numbers = np.unique(hashes, return_inverse=True)
        self._texts: list[np.ndarray] = []
        self._titles: list[np.ndarray] = []
        self._words: list[np.ndarray] = []
        begin = 0
        for text_count, title_count, word_count in counts.tolist():
            text_end = begin + text_count
            title_end = text_end + title_count
            word_end = title_end + max(word_count, 0)
            text = numbers[begin:text_end]
            self._texts.append(text)
            self._titles.append(numbers[text_end:title_end])
            self._words.append(text if word_count == SAME else numbers[title_end:word_end])
            begin = word_end

    def numbers(self, terms: Sequence[str]) -> list[int]:
        """Return the number of each term; -1 for a term that no passage has."""
        import numpy as np

        hashes = np.array([term_hash(term) for term in terms], dtype=np.int64)
        indices = np.searchsorted(self._hashes, hashes)
        size = len(self._hashes)
        return [
            index if index < size and self._hashes[index] == hash_ else -1
            for index, hash_ in zip(indices.tolist(), hashes.tolist(), strict=True)
        ]

    def text(self, position: int) -> np.ndarray:
        """Return the terms of the passage at a position."""
        return self._texts[position]

    def title(self, position: int) -> np.ndarray:
        """Return the terms of the title of the passage at a position."""
        return self._titles[position]

    def words(self, position: int) -> np.ndarray:
        """Return the words of the passage and its title at a position."""
        return self._words[position]

    def texts(self, positions: Sequence[int] | np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the terms of passages, concatenated (total,) int64, and each passage's number of terms (n,)."""
        return _concatenate([self._texts[position] for position in positions])

    def titles(self, positions: Sequence[int] | np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the terms of the passages' titles, concatenated, and the number of each title's terms."""
        return _concatenate([self._titles[position] for position in positions])

    @contextmanager
    def scratch(self) -> Iterator[np.ndarray]:
        """Yield an array of float64 zeros, one for each term."""
        import numpy as np

        yield np.zeros(len(self._hashes))

    def of(self, position: int) -> PassageTerms:
        """Return the terms of the passage at a position."""
        return PassageTerms(self, position)


def _concatenate(parts: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Return arrays, concatenated (total,) int64, and their lengths (n,)."""
    import numpy as np

    joined = np.concatenate(parts) if parts else np.empty(0, np.int64)
    return joined.astype(np.int64), np.array([len(part) for part in parts], dtype=np.int64)
