"""The terms of all passages as numbers, worked out when an index is built and read as arrays.

The second stage compares a hundred passages with a question by their terms. To split and stem them took most of a
search; here they are looked up. The files are NumPy arrays without pickled objects:

- `vocabulary`, `vocabulary-starts`: the distinct terms in UTF-8, sorted, one after the other; a term's place among them
  is its number.
- `text`, `text-starts`: the numbers of every passage's `passage_terms`, one passage after the other, in the order of
  the index's rows; `title`, `title-starts`: those of its title.
- `words`, `words-starts`: those that `words` gives of title and text, by which BM25 compares a few passages. Mostly
  they are those of `text`: `is-same` says where, and they are not written twice.
- `made-of`: a checksum of each passage's title and text. What did not change is taken over from the index before.

Terms of another analyser than today's are of no use; `ANALYSER` holds the words that it makes of a few lines of text.
"""

from __future__ import annotations

import json
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

from preflight_rag.library.index.arrays import ENDS, Strings, open_array, write_array
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
"""Numbers that are written at once; a guess."""
REMEMBERED = 10_000
"""Terms whose numbers are remembered: those of a question are asked for three times. A guess."""
_PROBE = """Running runners ran easily; generously generalised organisations' studies (IL-6, IL6, COVID-19, TNF-α, U.S.)
1,234.5 mg of β-blockers don't relate to the U.K.'s hopping, hoped, hopeful, skies, dying, exceed, proceeding, news,
inning, outings, early, only, singly, bias, atlas, cosmos, andes, café naïve 東京都 μg/ml µmol re-entry state-of-the-art
relational conditional rationally valency hesitancy digitizer conformably radically differently vileness analogously
vietnamization predication operator feudalism decisiveness callousness formality sensitivity sensibility electrical
hopefulness goodness revival allowance inference airliner gyroscopic adjustable defensible irritant replacement
adjustment dependent adoption communism activate angularity homologous effective bowdlerize agreed sized owing"""


class TermIndex:
    """The terms of one index generation's passages; large files are mapped, so that opening reads hardly any of them.

    Args:
        folder: What `write_terms` wrote.

    Raises:
        LibraryCorrupt: A file cannot be read.
    """

    def __init__(self, folder: Path) -> None:
        self._text, self._text_starts = open_array(folder, TEXT), open_array(folder, TEXT + ENDS)
        self._title, self._title_starts = open_array(folder, TITLE), open_array(folder, TITLE + ENDS)
        self._words, self._words_starts = open_array(folder, WORDS), open_array(folder, WORDS + ENDS)
        self._is_same = open_array(folder, IS_SAME)
        self._vocabulary = Strings(folder, VOCABULARY)
        self._numbers: dict[str, int] = {}
        self.made_of = open_array(folder, MADE_OF)

    def __len__(self) -> int:
        return len(self._text_starts) - 1

    def numbers(self, terms: Sequence[str]) -> list[int]:
        """The number of each term; -1 where no passage has it."""
        if len(self._numbers) > REMEMBERED:
            self._numbers = {}
        known = self._numbers
        for term in terms:
            if term not in known:
                known[term] = self._number(term)
        return [known[term] for term in terms]

    def _number(self, term: str) -> int:
        sought, size = term.encode("utf-8", "surrogatepass"), len(self._vocabulary)
        number = bisect_left(range(size), sought, key=self._vocabulary.encoded)
        return number if number < size and self._vocabulary.encoded(number) == sought else -1

    def text(self, position: int) -> np.ndarray:
        """The terms of the passage that stands at a position of the index."""
        return self._text[self._text_starts[position] : self._text_starts[position + 1]]

    def title(self, position: int) -> np.ndarray:
        """Those of its title."""
        return self._title[self._title_starts[position] : self._title_starts[position + 1]]

    def words(self, position: int) -> np.ndarray:
        """Its words, and its title's."""
        if self._is_same[position]:
            return self.text(position)
        return self._words[self._words_starts[position] : self._words_starts[position + 1]]

    def texts(self, positions: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
        """The terms of several passages, one after the other (total,) int64, and how many each has (n,)."""
        return _gathered(self._text, self._text_starts, positions)

    def titles(self, positions: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
        """Those of their titles."""
        return _gathered(self._title, self._title_starts, positions)

    def of(self, position: int) -> PassageTerms:
        """The terms of the passage that stands at a position of the index."""
        return PassageTerms(self, position)

    def terms(self) -> Iterator[str]:
        """All distinct terms in the order of their numbers."""
        yield from (self._vocabulary[number] for number in range(len(self._vocabulary)))


def _gathered(values: np.ndarray, starts: np.ndarray, positions: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """Parts of an array, one after the other, and their lengths."""
    import numpy as np

    chosen = np.array(positions, dtype=np.int64)
    begins = starts[chosen]
    lengths = starts[chosen + 1] - begins
    shifts = np.repeat(begins - lengths.cumsum() + lengths, lengths)
    return values[shifts + np.arange(len(shifts))].astype(np.int64), lengths


def open_terms(folder: Path) -> TermIndex | None:
    """The terms that lie in a folder; None where they are another analyser's, or an older version built the index.

    Raises:
        LibraryCorrupt: A file cannot be read.
    """
    try:
        if json.loads((folder / ANALYSER).read_text(encoding="utf-8")) != _analysed():
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
        folder: Where to.
        passages: All of the index, ordered by row.
        before: Rows and terms of an index of the same library: a passage that it has is not read again.
    """
    import numpy as np

    known: dict[int, int] = {}
    numbers: dict[str, int] = {}
    if before is not None:
        known = {row: position for position, row in enumerate(before[0].tolist())}
        numbers = {term: number for number, term in enumerate(before[1].terms())}
    found = {name: array("I") for name in (TEXT, TITLE, WORDS)}
    starts = {name: array("q", [0]) for name in found}
    is_same, made_of = array("B"), array("Q")
    for row, title, text in passages:
        key = _made_of(title, text)
        position = known.get(row)
        if before is not None and position is not None and before[1].made_of[position] == key:
            old = before[1].of(position)
            lists = {TEXT: old.text.tolist(), TITLE: old.title.tolist(), WORDS: old.words.tolist()}
        else:
            read = {TEXT: passage_terms(title, text), TITLE: words_by_token(title), WORDS: words(f"{title} {text}")}
            lists = {name: [numbers.setdefault(term, len(numbers)) for term in read[name]] for name in read}
        is_same.append(lists[WORDS] == lists[TEXT])
        if is_same[-1]:
            lists[WORDS] = []
        for name, its in lists.items():
            found[name].extend(its)
            starts[name].append(len(found[name]))
        made_of.append(key)
    del known
    arrays = {name: np.frombuffer(its, dtype=np.uint32) for name, its in found.items()}
    # What no passage has any more goes: a deleted document's words are to be nowhere.
    is_used = np.zeros(len(numbers), dtype=bool)
    for every in arrays.values():
        for block in _blocks(every):
            is_used[block] = True
    kept = sorted((term.encode(), number) for term, number in numbers.items() if is_used[number])
    renumbered = np.zeros(len(numbers), dtype=np.uint32)
    renumbered[[number for _, number in kept]] = np.arange(len(kept), dtype=np.uint32)
    del numbers
    for name, every in arrays.items():
        header = {"descr": np.lib.format.dtype_to_descr(every.dtype), "fortran_order": False, "shape": every.shape}
        with (folder / f"{name}.npy").open("wb") as file:
            np.lib.format.write_array_header_1_0(file, header)
            for block in _blocks(every):
                file.write(renumbered[block].tobytes())
        write_array(folder, name + ENDS, starts[name])
    lengths = array("q", np.cumsum([0, *(len(term) for term, _ in kept)], dtype=np.int64).tobytes())
    Strings.write(folder, VOCABULARY, b"".join(term for term, _ in kept), lengths)
    write_array(folder, IS_SAME, is_same)
    write_array(folder, MADE_OF, made_of)
    (folder / ANALYSER).write_text(json.dumps(_analysed()), encoding="utf-8")


def _blocks(numbers: np.ndarray) -> Iterator[np.ndarray]:
    """An array in parts, so that what is worked out of it does not take its memory once more."""
    for start in range(0, len(numbers), BLOCK):
        yield numbers[start : start + BLOCK]


def _made_of(title: str, text: str) -> int:
    found = blake2b(title.encode("utf-8", "surrogatepass"), digest_size=8)
    found.update(b"\0" + text.encode("utf-8", "surrogatepass"))
    return int.from_bytes(found.digest(), "little")


@lru_cache(maxsize=1)
def _analysed() -> list[str]:
    return [*words_by_token(_PROBE), *words(_PROBE)]
