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
COUNT_BYTES = 12
REMEMBERED = 200_000
"""Number of cached hashes: most texts use few different words. A guess, about 30 MB."""


@lru_cache(maxsize=REMEMBERED)
def term_hash(term: str) -> int:
    """Return the number of a term, never negative: negative numbers mean terms that no passage has."""
    digest = blake2b(term.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little") >> 1


def encoded_terms(title: str, text: str) -> bytes:
    """Return the stored form of a passage's terms."""
    import numpy as np

    own, titles, plain = passage_terms(title, text), words_by_token(title), words(f"{title} {text}")
    is_same = plain == own
    numbers = []
    for part in (own, titles, [] if is_same else plain):
        for term in part:
            numbers.append(term_hash(term))
    counts = np.array([len(own), len(titles), SAME if is_same else len(plain)], dtype="<i4")
    return counts.tobytes() + np.array(numbers, dtype="<i8").tobytes()


class HashedTerms:
    """The terms of some passages; implements `TermNumbers`, with hashes renumbered from 0 without gaps.

    Args:
        stored: The result of `encoded_terms` for each passage.
    """

    def __init__(self, stored: Sequence[bytes]) -> None:
        import numpy as np

        # Without passages the array has one dimension, unless it is told that there are two.
        counts = np.array([np.frombuffer(blob, "<i4", 3) for blob in stored]).reshape(len(stored), 3)
        hashes = np.frombuffer(b"".join(blob[COUNT_BYTES:] for blob in stored), "<i8")
        self._hashes, numbers = np.unique(hashes, return_inverse=True)
        self._parts: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        begin = 0
        for own, titles, plain in counts.tolist():
            text_end, title_end = begin + own, begin + own + titles
            text, title = numbers[begin:text_end], numbers[text_end:title_end]
            begin = title_end + max(plain, 0)
            self._parts.append((text, title, text if plain == SAME else numbers[title_end:begin]))

    def numbers(self, terms: Sequence[str]) -> list[int]:
        """Return the number of each term; -1 for a term that no passage has."""
        import numpy as np

        wanted = np.array([term_hash(term) for term in terms], dtype=np.int64)
        places = np.searchsorted(self._hashes, wanted)
        size = len(self._hashes)
        return [
            place if place < size and self._hashes[place] == number else -1
            for place, number in zip(places.tolist(), wanted.tolist(), strict=True)
        ]

    def text(self, position: int) -> np.ndarray:
        """Return the terms of the passage at a position."""
        return self._parts[position][0]

    def title(self, position: int) -> np.ndarray:
        """Return the terms of the title of the passage at a position."""
        return self._parts[position][1]

    def words(self, position: int) -> np.ndarray:
        """Return the words of the passage and its title at a position."""
        return self._parts[position][2]

    def texts(self, positions: Sequence[int] | np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the terms of passages, concatenated (total,) int64, and each passage's number of terms (n,)."""
        return self._joined(positions, 0)

    def titles(self, positions: Sequence[int] | np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the terms of the passages' titles, concatenated, and the number of each title's terms."""
        return self._joined(positions, 1)

    def _joined(self, positions: Sequence[int] | np.ndarray, part: int) -> tuple[np.ndarray, np.ndarray]:
        """Return one part (text, title or words) of several passages, concatenated, and the lengths."""
        import numpy as np

        chosen = [self._parts[position][part] for position in positions]
        joined = np.concatenate(chosen) if chosen else np.empty(0, np.int64)
        return joined.astype(np.int64), np.array([len(each) for each in chosen], dtype=np.int64)

    @contextmanager
    def scratch(self) -> Iterator[np.ndarray]:
        """Yield an array of float64 zeros, one for each term."""
        import numpy as np

        yield np.zeros(len(self._hashes))

    def of(self, position: int) -> PassageTerms:
        """Return the terms of the passage at a position."""
        return PassageTerms(self, position)
