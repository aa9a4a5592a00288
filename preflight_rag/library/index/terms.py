"""The terms of all passages as numbers, computed when an index is built and read as arrays.

The second stage compares a hundred passages with a question by their terms. Splitting and stemming them would take
most of a search's time, so they are looked up here. The files are NumPy arrays without pickled objects:

- `vocabulary`, `vocabulary-starts`: the distinct terms in UTF-8, sorted, one after the other; the number of a term is
  its position among them.
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
CHECKSUMS = "made-of"

NUMBERS_AT_ONCE = 1 << 20
"""Numbers written at once; a guess."""
REMEMBERED = 10_000
"""Terms whose numbers are cached: a question's terms are looked up three times. A guess."""
# Lines in which words of many kinds occur, so that nearly every change of the analyser changes their terms.
_SAMPLE_LINES = """\
Running runners ran easily; generously generalised organisations' studies (IL-6, IL6, COVID-19, TNF-α, U.S.)
1,234.5 mg of β-blockers don't relate to the U.K.'s hopping, hoped, hopeful, skies, dying, exceed, proceeding, news,
inning, outings, early, only, singly, bias, atlas, cosmos, andes, café naïve 東京都 μg/ml µmol re-entry state-of-the-art
relational conditional rationally valency hesitancy digitizer conformably radically differently vileness analogously
vietnamization predication operator feudalism decisiveness callousness formality sensitivity sensibility electrical
hopefulness goodness revival allowance inference airliner gyroscopic adjustable defensible irritant replacement
adjustment dependent adoption communism activate angularity homologous effective bowdlerize agreed sized owing"""


class TermIndex:
    """The terms of one index generation's passages; large files are memory-mapped, so opening reads little of them.

    Args:
        folder: The folder into which `write_terms` wrote its files.

    Raises:
        LibraryCorrupt: A file cannot be read.
    """

    def __init__(self, folder: Path) -> None:
        self._arrays: dict[str, np.ndarray] = {}
        for name in (TEXT, TITLE, WORDS, TEXT + ENDS, TITLE + ENDS, WORDS + ENDS, IS_SAME, CHECKSUMS):
            self._arrays[name] = open_array(folder, name)
        self._is_same, self.checksums = self._arrays[IS_SAME], self._arrays[CHECKSUMS]
        self.vocabulary = StringArray(folder, VOCABULARY)
        self._number_by_term: dict[str, int] = {}
        self._unused_scratch: list[np.ndarray] = []

    def __len__(self) -> int:
        return len(self._arrays[TEXT + ENDS]) - 1

    def array(self, name: str) -> np.ndarray:
        """Return the array that a file of the index holds."""
        return self._arrays[name]

    def numbers(self, terms: Sequence[str]) -> list[int]:
        """Return the number of each term; -1 for a term that no passage has."""
        # A new dict in place of a cleared one, which another thread may be reading.
        if len(self._number_by_term) > REMEMBERED:
            self._number_by_term = {}
        cache = self._number_by_term
        for term in terms:
            if term not in cache:
                cache[term] = self._number(term)
        return [cache[term] for term in terms]

    def _number(self, term: str) -> int:
        """Return the number of a term; -1 if the index does not contain it."""
        number, is_there = self.find(term.encode("utf-8", "surrogatepass"))
        return number if is_there else -1

    def find(self, term: bytes) -> tuple[int, bool]:
        """Return the number of a term in UTF-8, and whether the index has it; if not, the number that it would get."""
        size = len(self.vocabulary)
        number = bisect_left(range(size), term, key=self.vocabulary.encoded)
        return number, number < size and self.vocabulary.encoded(number) == term

    def text(self, position: int) -> np.ndarray:
        """Return the term numbers of the passage at a position of the index."""
        return self._slice(TEXT, position)

    def title(self, position: int) -> np.ndarray:
        """Return the term numbers of the title of the passage at a position."""
        return self._slice(TITLE, position)

    def words(self, position: int) -> np.ndarray:
        """Return the word numbers of title and text, with repetitions, of the passage at a position."""
        return self._slice(TEXT if self._is_same[position] else WORDS, position)

    def _slice(self, name: str, position: int) -> np.ndarray:
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
            zeros = self._unused_scratch.pop()
        except IndexError:
            zeros = np.zeros(len(self.vocabulary))
        yield zeros
        # Not reached after an error in the block: then the array may contain other values than zeros.
        self._unused_scratch.append(zeros)

    def texts(self, positions: Sequence[int] | np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the terms of passages, concatenated (total,) uint32, and each passage's number of terms (n,)."""
        return _concatenate_parts(self._arrays[TEXT], self._arrays[TEXT + ENDS], positions)

    def titles(self, positions: Sequence[int] | np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the terms of the passages' titles, concatenated, and the number of each title's terms."""
        return _concatenate_parts(self._arrays[TITLE], self._arrays[TITLE + ENDS], positions)

    def of(self, position: int) -> PassageTerms:
        """Return the terms of the passage at a position of the index."""
        return PassageTerms(self, position)

    def terms(self) -> Iterator[str]:
        """Yield all distinct terms in the order of their numbers."""
        yield from (self.vocabulary[number] for number in range(len(self.vocabulary)))


def _concatenate_parts(
    values: np.ndarray, starts: np.ndarray, positions: Sequence[int] | np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return parts of an array, concatenated, and their lengths.

    Args:
        values: The array.
        starts: For each position, the index at which its part begins; then the index at which the last part ends.
        positions: The positions of the parts.
    """
    import numpy as np

    part_indices = np.asarray(positions, dtype=np.int64)
    begins, ends = starts[part_indices], starts[part_indices + 1]
    parts = [values[begin:end] for begin, end in zip(begins.tolist(), ends.tolist(), strict=True)]
    return np.concatenate(parts) if parts else values[:0], ends - begins


def open_terms(folder: Path) -> TermIndex | None:
    """Return the terms stored in a folder; None if another analyser made them, or an older version built the index.

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
    folder: Path, passages: Iterable[tuple[int, str, str]], previous: tuple[np.ndarray, TermIndex] | None = None
) -> None:
    """Write the terms of `(row, title, text)` into the empty `folder`.

    Args:
        folder: The index folder.
        passages: All passages of the index, ordered by row.
        previous: Rows and terms of the previous index: its unchanged passages are not analysed again.
    """
    import numpy as np

    numbers: dict[str, int] = {}
    if previous is not None:
        _, previous_terms = previous
        numbers = {term: number for number, term in enumerate(previous_terms.terms())}
    collector = _TermCollector(numbers)
    _collect_terms(collector, passages, previous)
    arrays = {name: np.frombuffer(values, dtype=np.uint32) for name, values in collector.lists.items()}
    # Terms that no passage has any more are dropped: a deleted document's words must not remain anywhere.
    is_used = np.zeros(len(numbers), dtype=bool)
    for values in arrays.values():
        for block in _blocks(values):
            is_used[block] = True
    # By bytes, the order in which `TermIndex.find` searches.
    used_terms = sorted((term.encode(), number) for term, number in numbers.items() if is_used[number])
    new_numbers = np.zeros(len(numbers), dtype=np.uint32)
    new_numbers[[number for _, number in used_terms]] = np.arange(len(used_terms), dtype=np.uint32)
    for name, values in arrays.items():
        write_blocks(folder / f"{name}.npy", "<u4", len(values), (new_numbers[block] for block in _blocks(values)))
        write_array(folder, name + ENDS, collector.starts[name])
    ends = np.cumsum([0, *(len(term) for term, _ in used_terms)], dtype=np.int64)
    write_array(folder, VOCABULARY, b"".join(term for term, _ in used_terms))
    np.save(folder / f"{VOCABULARY}{ENDS}.npy", ends)
    write_array(folder, IS_SAME, collector.is_same)
    write_array(folder, CHECKSUMS, collector.checksums)
    (folder / ANALYSER).write_text(json.dumps(analysed_probe()), encoding="utf-8")


def _collect_terms(
    collector: _TermCollector,
    passages: Iterable[tuple[int, str, str]],
    previous: tuple[np.ndarray, TermIndex] | None,
) -> None:
    """Collect the terms of `(row, title, text)`; those of unchanged passages are copied from the previous index.

    The collector must have begun with the terms of the previous index under their old numbers.
    """
    if previous is None:
        for _, title, text in passages:
            collector.analyse(_checksum(title, text), title, text)
        return
    previous_rows, previous_terms = previous
    position_by_row = {row: position for position, row in enumerate(previous_rows.tolist())}
    for row, title, text in passages:
        checksum = _checksum(title, text)
        position = position_by_row.get(row)
        # A row keeps its number when its title changes, so the checksum decides.
        if position is not None and previous_terms.checksums[position] == checksum:
            old = previous_terms.of(position)
            collector.add(checksum, {TEXT: old.text.tolist(), TITLE: old.title.tolist(), WORDS: old.words.tolist()})
        else:
            collector.analyse(checksum, title, text)


def grow_terms(previous: TermIndex, folder: Path, passages: Iterable[tuple[int, str, str]]) -> None:
    """Write the previous index's terms into the empty `folder`, with those of `(row, title, text)` appended.

    Old terms are renumbered where new ones sort between them, which needs no reading of texts.
    """
    import numpy as np

    # Numbers of the added passages' terms, in the order in which they occur first.
    numbers: dict[str, int] = {}
    added = _TermCollector(numbers)
    for _, title, text in passages:
        added.analyse(_checksum(title, text), title, text)
    found = {term: previous.find(term.encode()) for term in numbers}
    new_terms = sorted(term.encode() for term, (_, is_there) in found.items() if not is_there)
    # The index of the old term before which each new one is inserted.
    insertions = np.array([previous.find(term)[0] for term in new_terms], dtype=np.int64)
    old_count = len(previous.vocabulary)
    shifts = np.searchsorted(insertions, np.arange(old_count), side="right")
    number_of_old = (np.arange(old_count) + shifts).astype(np.uint32)
    number_of_new = {}
    for rank, (new_term, insertion) in enumerate(zip(new_terms, insertions.tolist(), strict=True)):
        number_of_new[new_term] = int(insertion) + rank
    number_of_added = np.zeros(len(numbers), dtype=np.uint32)
    for term, number in numbers.items():
        old_number, is_there = found[term]
        number_of_added[number] = number_of_old[old_number] if is_there else number_of_new[term.encode()]
    for name in (TEXT, TITLE, WORDS):
        old, more = previous.array(name), np.frombuffer(added.lists[name], dtype=np.uint32)
        blocks = [*((number_of_old, block) for block in _blocks(old)), (number_of_added, more)]
        renumbered = (new_numbers[block] for new_numbers, block in blocks)
        write_blocks(folder / f"{name}.npy", "<u4", len(old) + len(more), renumbered)
        starts = np.frombuffer(added.starts[name], dtype=np.int64)
        np.save(folder / f"{name}{ENDS}.npy", np.concatenate([previous.array(name + ENDS), starts[1:] + len(old)]))
    _write_merged(folder, previous.vocabulary, new_terms, insertions)
    for name, values in ((IS_SAME, added.is_same), (CHECKSUMS, added.checksums)):
        appended = np.frombuffer(values, dtype=values.typecode)
        np.save(folder / f"{name}.npy", np.concatenate([previous.array(name), appended]))
    (folder / ANALYSER).write_text(json.dumps(analysed_probe()), encoding="utf-8")


def _write_merged(folder: Path, vocabulary: StringArray, new: Sequence[bytes], insertions: np.ndarray) -> None:
    """Write a vocabulary merged with new terms.

    Args:
        folder: The new index folder.
        vocabulary: The old terms.
        new: The new terms, sorted, in UTF-8.
        insertions: For each new term, the index of the old term before which it is inserted.
    """
    import numpy as np

    parts, copied = [], 0
    for term, insertion in zip(new, insertions.tolist(), strict=True):
        parts += [vocabulary.encoded_range(copied, insertion), term]
        copied = insertion
    parts.append(vocabulary.encoded_range(copied, len(vocabulary)))
    lengths = np.insert(vocabulary.lengths(), insertions, [len(term) for term in new])
    write_array(folder, VOCABULARY, b"".join(parts))
    np.save(folder / f"{VOCABULARY}{ENDS}.npy", np.concatenate([[0], lengths.cumsum()]).astype(np.int64))


class _TermCollector:
    """Collects the terms of passages as numbers, for the files of an index.

    Args:
        numbers: The number of each known term; a new term gets the next number.

    Attributes:
        lists: For `TEXT`, `TITLE` and `WORDS`, the numbers of all passages, one passage after the other.
        starts: For each of these, the index at which each passage begins, then the length.
        is_same: For each passage, 1 if the numbers of `WORDS` equal those of `TEXT`, and are not stored; else 0.
        checksums: The checksum of each passage.
    """

    def __init__(self, numbers: dict[str, int]) -> None:
        self._numbers = numbers
        self.lists = {name: array("I") for name in (TEXT, TITLE, WORDS)}
        self.starts = {name: array("q", [0]) for name in self.lists}
        self.is_same, self.checksums = array("B"), array("Q")

    def analyse(self, checksum: int, title: str, text: str) -> None:
        """Add the terms of a passage, computed from its title and text."""
        terms = {TEXT: passage_terms(title, text), TITLE: words_by_token(title), WORDS: words(f"{title} {text}")}
        numbers = self._numbers
        lists = {}
        for name in terms:
            lists[name] = [numbers.setdefault(term, len(numbers)) for term in terms[name]]
        self.add(checksum, lists)

    def add(self, checksum: int, lists: dict[str, list[int]]) -> None:
        """Add the terms of a passage, given as numbers for `TEXT`, `TITLE` and `WORDS`."""
        is_same = lists[WORDS] == lists[TEXT]
        self.is_same.append(is_same)
        for name, numbers in lists.items():
            if not (name == WORDS and is_same):
                self.lists[name].extend(numbers)
            self.starts[name].append(len(self.lists[name]))
        self.checksums.append(checksum)


def _blocks(numbers: np.ndarray) -> Iterator[np.ndarray]:
    """Yield an array in blocks, so that processing it does not need its memory a second time."""
    for start in range(0, len(numbers), NUMBERS_AT_ONCE):
        yield numbers[start : start + NUMBERS_AT_ONCE]


def _checksum(title: str, text: str) -> int:
    """Return a checksum of a passage's title and text, a number of 64 bits."""
    checksum = blake2b(title.encode("utf-8", "surrogatepass"), digest_size=8)
    checksum.update(b"\0" + text.encode("utf-8", "surrogatepass"))
    return int.from_bytes(checksum.digest(), "little")


@lru_cache(maxsize=1)
def analysed_probe() -> list[str]:
    """Return the terms of a few sample lines; an index that was built with other terms has another analyser's."""
    return [*words_by_token(_SAMPLE_LINES), *words(_SAMPLE_LINES)]
