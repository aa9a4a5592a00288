"""The terms of all passages as numbers, computed when an index is built and read as arrays.

The second stage compares a hundred passages with a question by their terms. Splitting and stemming them would take
most of a search's time, so they are looked up here. The files are NumPy arrays without pickled objects:

- `vocabulary`, `vocabulary-starts`: the distinct terms in UTF-8, sorted, one after the other; a term's place among them
  is its number.
- `text`, `text-starts`: the numbers of every passage's `passage_terms`, one passage after the other, in the order of
  the index's rows; `title`, `title-starts`: those of its title.
- `words`, `words-starts`: the numbers of what `words` returns for title and text, by which BM25 compares a few
  passages. Mostly they equal those of `text`: then `is-same` says so, and they are not stored twice.
- `made-of`: a checksum of each passage's title and text. Unchanged passages are copied from the previous index.

Terms of an older analyser are of no use; `ANALYSER` holds the analysed words of a few sample lines, for comparison.
"""

from __future__ import annotations

import json
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

from preflight_rag.library.index.arrays import ENDS, StringArray, open_array, write_array, write_blocks
from preflight_rag.state.errors import unreadable
from preflight_rag.state.retrieval import PassageTerms
from preflight_rag.text.words import passage_terms, words, words_by_token

if TYPE_CHECKING:
    import numpy as np

FOLDER = "terms"
ANALYSER = "analyser.json"
VOCABULARY, TEXT, TITLE, WORDS, IS_SAME = "vocabulary", "text", "title", "words", "is-same"
MADE_OF = "made-of"

BLOCK = 1 << 20
"""Numbers written at once; a guess."""
REMEMBERED = 10_000
"""Terms whose numbers are cached: a question's terms are looked up three times. A guess."""
_PROBE = """Running runners ran easily; generously generalised organisations' studies (IL-6, IL6, COVID-19, TNF-α, U.S.)
1,234.5 mg of β-blockers don't relate to the U.K.'s hopping, hoped, hopeful, skies, dying, exceed, proceeding, news,
inning, outings, early, only, singly, bias, atlas, cosmos, andes, café naïve 東京都 μg/ml µmol re-entry state-of-the-art
relational conditional rationally valency hesitancy digitizer conformably radically differently vileness analogously
vietnamization predication operator feudalism decisiveness callousness formality sensitivity sensibility electrical
hopefulness goodness revival allowance inference airliner gyroscopic adjustable defensible irritant replacement
adjustment dependent adoption communism activate angularity homologous effective bowdlerize agreed sized owing"""


class TermIndex:
    """The terms of one index generation's passages; large files are memory-mapped, so opening reads little of them.

    Args:
        folder: What `write_terms` wrote.

    Raises:
        LibraryCorrupt: A file cannot be read.
    """

    def __init__(self, folder: Path) -> None:
        names = (TEXT, TITLE, WORDS)
        names_of_arrays = {}
        for name in (*names, *(each + ENDS for each in names)):
            names_of_arrays[name] = open_array(folder, name)
        self._arrays = names_of_arrays
        self._arrays |= {name: open_array(folder, name) for name in (IS_SAME, MADE_OF)}
        self._is_same, self.made_of = self._arrays[IS_SAME], self._arrays[MADE_OF]
        self.vocabulary = StringArray(folder, VOCABULARY)
        self._numbers: dict[str, int] = {}
        self._scratch: list[np.ndarray] = []

    def __len__(self) -> int:
        return len(self._arrays[TEXT + ENDS]) - 1

    def array(self, name: str) -> np.ndarray:
        """Return the array that a file of the index holds."""
        return self._arrays[name]

    def numbers(self, terms: Sequence[str]) -> list[int]:
        """Return the number of each term; -1 for a term that no passage has."""
        # A new dict in place of a cleared one, which another thread may be reading.
        if len(self._numbers) > REMEMBERED:
            self._numbers = {}
        known = self._numbers
        for term in terms:
            if term not in known:
                known[term] = self._number(term)
        return [known[term] for term in terms]

    def _number(self, term: str) -> int:
        """Return the number of a term; -1 if the index does not contain it."""
        place, is_there = self.place(term.encode("utf-8", "surrogatepass"))
        return place if is_there else -1

    def place(self, term: bytes) -> tuple[int, bool]:
        """Return the position of a UTF-8 term in sorted order, and whether it is there; if not, where it would be."""
        size = len(self.vocabulary)
        place = bisect_left(range(size), term, key=self.vocabulary.encoded)
        return place, place < size and self.vocabulary.encoded(place) == term

    def text(self, position: int) -> np.ndarray:
        """Return the term numbers of the passage at a position of the index."""
        return self._stretch(TEXT, position)

    def title(self, position: int) -> np.ndarray:
        """Return the term numbers of the title of the passage at a position."""
        return self._stretch(TITLE, position)

    def words(self, position: int) -> np.ndarray:
        """Return the word numbers of title and text of the passage at a position."""
        return self._stretch(TEXT if self._is_same[position] else WORDS, position)

    def _stretch(self, name: str, position: int) -> np.ndarray:
        """Return the slice of an array file that belongs to the passage at a position."""
        begin, end = self._arrays[name + ENDS][position : position + 2]
        return self._arrays[name][begin:end]

    @contextmanager
    def scratch(self) -> Iterator[np.ndarray]:
        """Yield an array of float64 zeros, one for each term; the caller must reset what it changes to zero.

        Counting terms directly in such an array avoids sorting and renumbering the terms of a few passages. Arrays are
        reused; there are as many as searches ran at once.
        """
        import numpy as np

        try:
            # A list's `pop` is atomic, so two threads never get one array.
            zeros = self._scratch.pop()
        except IndexError:
            zeros = np.zeros(len(self.vocabulary))
        yield zeros
        self._scratch.append(zeros)  # after an error it may contain other values, and is dropped

    def texts(self, positions: Sequence[int] | np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the terms of passages, concatenated (total,) uint32, and each passage's number of terms (n,)."""
        return _gathered(self._arrays[TEXT], self._arrays[TEXT + ENDS], positions)

    def titles(self, positions: Sequence[int] | np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the terms of the passages' titles, concatenated, and the number of each title's terms."""
        return _gathered(self._arrays[TITLE], self._arrays[TITLE + ENDS], positions)

    def of(self, position: int) -> PassageTerms:
        """Return the terms of the passage at a position of the index."""
        return PassageTerms(self, position)

    def terms(self) -> Iterator[str]:
        """Yield all distinct terms in the order of their numbers."""
        yield from (self.vocabulary[number] for number in range(len(self.vocabulary)))


def _gathered(
    values: np.ndarray, starts: np.ndarray, positions: Sequence[int] | np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return parts of an array, concatenated, and their lengths."""
    import numpy as np

    chosen = np.asarray(positions, dtype=np.int64)
    begins, ends = starts[chosen], starts[chosen + 1]
    parts = [values[begin:end] for begin, end in zip(begins.tolist(), ends.tolist(), strict=True)]
    return np.concatenate(parts) if parts else values[:0], ends - begins


def open_terms(folder: Path) -> TermIndex | None:
    """Return the terms stored in a folder.

    None if another analyser made them, or an older version built the index.

    Raises:
        LibraryCorrupt: A file cannot be read.
    """
    try:
        if json.loads((folder / ANALYSER).read_text(encoding="utf-8")) != analysed_probe():
            return None
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise unreadable(f"The index file {folder / ANALYSER} cannot be read", error) from error
    return TermIndex(folder)


def write_terms(
    folder: Path, passages: Iterable[tuple[int, str, str]], before: tuple[np.ndarray, TermIndex] | None = None
) -> None:
    """Write the terms of `(row, title, text)` into the empty `folder`.

    Args:
        folder: The index folder.
        passages: All passages of the index, ordered by row.
        before: Rows and terms of the previous index: its passages are not analysed again.
    """
    import numpy as np

    known: dict[int, int] = {}
    numbers: dict[str, int] = {}
    if before is not None:
        known = {row: position for position, row in enumerate(before[0].tolist())}
        numbers = {term: number for number, term in enumerate(before[1].terms())}
    found = _Numbers(numbers)
    for row, title, text in passages:
        key = _made_of(title, text)
        # A row keeps its number when its title changes, so the checksum decides.
        position = known.get(row)
        if before is not None and position is not None and before[1].made_of[position] == key:
            old = before[1].of(position)
            found.add(key, {TEXT: old.text.tolist(), TITLE: old.title.tolist(), WORDS: old.words.tolist()})
        else:
            found.read(key, title, text)
    del known
    arrays = {name: np.frombuffer(its, dtype=np.uint32) for name, its in found.lists.items()}
    # Terms that no passage has any more are dropped: a deleted document's words must not remain anywhere.
    is_used = np.zeros(len(numbers), dtype=bool)
    for every in arrays.values():
        for block in _blocks(every):
            is_used[block] = True
    # By bytes, the order in which `place` searches.
    kept = sorted((term.encode(), number) for term, number in numbers.items() if is_used[number])
    renumbered = np.zeros(len(numbers), dtype=np.uint32)
    renumbered[[number for _, number in kept]] = np.arange(len(kept), dtype=np.uint32)
    del numbers
    for name, every in arrays.items():
        write_blocks(folder / f"{name}.npy", "<u4", len(every), (renumbered[block] for block in _blocks(every)))
        write_array(folder, name + ENDS, found.starts[name])
    lengths = np.cumsum([0, *(len(term) for term, _ in kept)], dtype=np.int64)
    write_array(folder, VOCABULARY, b"".join(term for term, _ in kept))
    np.save(folder / f"{VOCABULARY}{ENDS}.npy", lengths)
    write_array(folder, IS_SAME, found.is_same)
    write_array(folder, MADE_OF, found.made_of)
    (folder / ANALYSER).write_text(json.dumps(analysed_probe()), encoding="utf-8")


def grow_terms(before: TermIndex, folder: Path, passages: Iterable[tuple[int, str, str]]) -> None:
    """Write an index's terms into the empty `folder`, with those of `(row, title, text)` appended.

    Old terms are renumbered where new ones sort between them, which needs no reading of texts.
    """
    import numpy as np

    numbers: dict[str, int] = {}
    added = _Numbers(numbers)
    for _, title, text in passages:
        added.read(_made_of(title, text), title, text)
    old_size = len(before.vocabulary)
    places = {term: before.place(term.encode()) for term in numbers}
    new = sorted(term.encode() for term, (_, is_there) in places.items() if not is_there)
    gaps = np.array([before.place(term)[0] for term in new], dtype=np.int64)
    shifts = np.searchsorted(gaps, np.arange(old_size), side="right")
    of_old = (np.arange(old_size) + shifts).astype(np.uint32)
    of_new = {term: int(gap) + rank for rank, (term, gap) in enumerate(zip(new, gaps.tolist(), strict=True))}
    of_added = np.zeros(len(numbers), dtype=np.uint32)
    for term, number in numbers.items():
        place, is_there = places[term]
        of_added[number] = of_old[place] if is_there else of_new[term.encode()]
    for name in (TEXT, TITLE, WORDS):
        old, more = before.array(name), np.frombuffer(added.lists[name], dtype=np.uint32)
        blocks = [*((of_old, block) for block in _blocks(old)), (of_added, more)]
        write_blocks(folder / f"{name}.npy", "<u4", len(old) + len(more), (to[block] for to, block in blocks))
        starts = np.frombuffer(added.starts[name], dtype=np.int64)
        np.save(folder / f"{name}{ENDS}.npy", np.concatenate([before.array(name + ENDS), starts[1:] + len(old)]))
    _write_merged(folder, before.vocabulary, new, gaps)
    for name, its in ((IS_SAME, added.is_same), (MADE_OF, added.made_of)):
        np.save(folder / f"{name}.npy", np.concatenate([before.array(name), np.frombuffer(its, dtype=its.typecode)]))
    (folder / ANALYSER).write_text(json.dumps(analysed_probe()), encoding="utf-8")


def _write_merged(folder: Path, before: StringArray, new: Sequence[bytes], gaps: np.ndarray) -> None:
    """Write a vocabulary merged with new terms: each stands before the old term at the index in `gaps`."""
    import numpy as np

    parts, at = [], 0
    for term, gap in zip(new, gaps.tolist(), strict=True):
        parts += [before.stretch(at, gap), term]
        at = gap
    parts.append(before.stretch(at, len(before)))
    lengths = np.insert(before.lengths(), gaps, [len(term) for term in new])
    write_array(folder, VOCABULARY, b"".join(parts))
    np.save(folder / f"{VOCABULARY}{ENDS}.npy", np.concatenate([[0], lengths.cumsum()]).astype(np.int64))


class _Numbers:
    """Collects passages' terms as numbers.

    Args:
        numbers: The number of each term; a new term gets the next number.
    """

    def __init__(self, numbers: dict[str, int]) -> None:
        self._numbers = numbers
        self.lists = {name: array("I") for name in (TEXT, TITLE, WORDS)}
        self.starts = {name: array("q", [0]) for name in self.lists}
        self.is_same, self.made_of = array("B"), array("Q")

    def read(self, key: int, title: str, text: str) -> None:
        """Collect the terms of a passage as numbers."""
        read = {TEXT: passage_terms(title, text), TITLE: words_by_token(title), WORDS: words(f"{title} {text}")}
        numbers = self._numbers
        numbers_of_terms = {}
        for name in read:
            numbers_of_terms[name] = [numbers.setdefault(term, len(numbers)) for term in read[name]]
        self.add(key, numbers_of_terms)

    def add(self, key: int, lists: dict[str, list[int]]) -> None:
        """Add a passage's terms, given as numbers."""
        self.is_same.append(lists[WORDS] == lists[TEXT])
        for name, its in lists.items():
            self.lists[name].extend([] if name == WORDS and self.is_same[-1] else its)
            self.starts[name].append(len(self.lists[name]))
        self.made_of.append(key)


def _blocks(numbers: np.ndarray) -> Iterator[np.ndarray]:
    """Yield an array in blocks, so that processing it does not need its memory a second time."""
    for start in range(0, len(numbers), BLOCK):
        yield numbers[start : start + BLOCK]


def _made_of(title: str, text: str) -> int:
    """Return a checksum of a passage's title and text."""
    found = blake2b(title.encode("utf-8", "surrogatepass"), digest_size=8)
    found.update(b"\0" + text.encode("utf-8", "surrogatepass"))
    return int.from_bytes(found.digest(), "little")


@lru_cache(maxsize=1)
def analysed_probe() -> list[str]:
    """Return the terms of a few sample lines, by which it is checked whether an index was built by this analyser."""
    return [*words_by_token(_PROBE), *words(_PROBE)]
