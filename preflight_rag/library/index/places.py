"""Data of passages that a search needs before it reads any: ids, lengths and positions, as arrays.

A search ranks a hundred passages or more, of which a few are read. The data that ranking needs of the others lies in
the index, in the order of its rows:

- `ids`, `ids-starts`: the passages' ids in UTF-8, one after the other.
- `documents`, `documents-starts`, `document-of`: the ids of their documents, and for each passage the number of its
  document. An id stands once for each run of consecutive passages of its document.
- `tokens`, `starts`: the fields of the same names of `Passage`.
- `is-retracted`: whether the document's title says that it was retracted.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from preflight_rag.library.index.arrays import ENDS, StringArray, array_type, open_array, write_array
from preflight_rag.state.values import UnreadPassage
from preflight_rag.text.retractions import is_retracted

if TYPE_CHECKING:
    import numpy as np

FOLDER = "places"
IDS, DOCUMENTS, DOCUMENT_OF = "ids", "documents", "document-of"
TOKENS, STARTS, IS_RETRACTED = "tokens", "starts", "is-retracted"
REMEMBERED = 10_000
"""Passages whose positions are cached by their ids, since a search's hits are looked up by id right after it."""


class PassagePlaces:
    """The passages of one index generation: their ids, documents, lengths and offsets, read from files.

    Args:
        folder: The folder of the index into which `write_places` wrote these files.

    Raises:
        LibraryCorrupt: A file cannot be read.
    """

    def __init__(self, folder: Path) -> None:
        self._ids, self._documents = StringArray(folder, IDS), StringArray(folder, DOCUMENTS)
        self._document_of = open_array(folder, DOCUMENT_OF)
        self._tokens, self._starts = open_array(folder, TOKENS), open_array(folder, STARTS)
        self._is_retracted = open_array(folder, IS_RETRACTED)
        self._position_by_id: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._ids)

    def names(self, positions: np.ndarray) -> list[tuple[str, str]]:
        """Return `(passage id, document id)` of the passages at these positions of the index."""
        ids, documents = self._ids, self._documents
        owners = self._document_of[positions].tolist()
        return [(ids[at], documents[owner]) for at, owner in zip(positions.tolist(), owners, strict=True)]

    def passages(self, positions: np.ndarray) -> list[UnreadPassage]:
        """Return the passages at these positions, without the fields that only the database has.

        Their positions are cached for `cached_positions`.
        """
        names = self.names(positions)
        # A new dict in place of a cleared one, which another thread may be reading.
        if len(self._position_by_id) > REMEMBERED:
            self._position_by_id = {}
        self._position_by_id.update(zip([id for id, _ in names], positions.tolist(), strict=True))
        fields = zip(
            names,
            self._tokens[positions].tolist(),
            self._starts[positions].tolist(),
            self._is_retracted[positions].tolist(),
            strict=True,
        )
        return [
            UnreadPassage(id=id, document_id=document_id, tokens=tokens, start=start, retracted=bool(retracted))
            for (id, document_id), tokens, start, retracted in fields
        ]

    def documents(self, positions: np.ndarray) -> list[str]:
        """Return the ids of the documents of the passages at these positions."""
        return [self._documents[owner] for owner in self._document_of[positions].tolist()]

    def retracted(self, positions: np.ndarray) -> np.ndarray:
        """Return, as booleans (n,), which passages at these positions are of retracted publications."""
        retracted: np.ndarray = self._is_retracted[positions] != 0
        return retracted

    def cached_positions(self, ids: Sequence[str]) -> list[int] | None:
        """Return the positions of passages that recent searches returned; None if one of them is not cached."""
        cache = self._position_by_id
        positions = [cache[id] for id in ids if id in cache]
        return positions if len(positions) == len(ids) else None


def open_places(folder: Path) -> PassagePlaces | None:
    """Return the `PassagePlaces` in a folder; None if an older version built the index.

    Raises:
        LibraryCorrupt: A file cannot be read.
    """
    return PassagePlaces(folder) if folder.is_dir() else None


def write_places(folder: Path, passages: Iterable[Sequence[object]]) -> None:
    """Write the files that `PassagePlaces` reads into the empty `folder`.

    Args:
        folder: The index folder.
        passages: `(row, passage id, document id, title, tokens, start)` of each, ordered by row.
    """
    for name, values in _arrays_by_file(passages).items():
        write_array(folder, name, values)


def grow_places(previous: Path, folder: Path, passages: Iterable[Sequence[object]]) -> None:
    """Copy the files in `previous` to the empty `folder`, with the data of more passages appended."""
    import numpy as np

    added = _arrays_by_file(passages)
    document_count = len(open_array(previous, DOCUMENTS + ENDS)) - 1
    for name, values in added.items():
        old, new = open_array(previous, name), np.frombuffer(values, dtype=array_type(values))
        # New offsets and document numbers count from 0, and are shifted to follow the old ones.
        if name.endswith(ENDS):
            new = new[1:] + old[-1]
        elif name == DOCUMENT_OF:
            new = new + np.uint32(document_count)
        np.save(folder / f"{name}.npy", np.concatenate([old, new]))


def _arrays_by_file(passages: Iterable[Sequence[object]]) -> dict[str, array[int] | bytearray]:
    """Return the content of each file, by its name without the extension, for passages as `write_places` takes them."""
    strings = {IDS: bytearray(), DOCUMENTS: bytearray()}
    ends = {name: array("q", [0]) for name in strings}
    document_of, tokens, starts, retracted = array("I"), array("q"), array("q"), array("B")
    last_document: object = None

    def append(name: str, text: object) -> None:
        """Append a text to the content of a file."""
        strings[name].extend(str(text).encode("utf-8", "surrogatepass"))
        ends[name].append(len(strings[name]))

    for _, id, document, title, count, start in passages:
        append(IDS, id)
        if document != last_document:
            append(DOCUMENTS, document)
            last_document = document
        # `ends` begins with 0, so the last of n documents, whose number is n - 1, is at index n.
        document_of.append(len(ends[DOCUMENTS]) - 2)
        tokens.append(int(str(count)))
        starts.append(int(str(start)))
        retracted.append(is_retracted(str(title)))
    numbers = {DOCUMENT_OF: document_of, TOKENS: tokens, STARTS: starts, IS_RETRACTED: retracted}
    return {**strings, **{name + ENDS: offsets for name, offsets in ends.items()}, **numbers}
