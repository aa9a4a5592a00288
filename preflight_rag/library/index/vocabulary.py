"""The library's vocabulary: its words, lower-cased but not stemmed, with how many passages and documents contain them.

It is one SQLite file in each index generation, so that looking up a few words costs next to nothing and only spelling
correction ever reads more of it.
"""

from __future__ import annotations

import re
import shutil
import sqlite3
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from preflight_rag.state.errors import LibraryCorrupt, LibraryError, system_help

if TYPE_CHECKING:
    from preflight_rag.library.storage.store import Store

WORDS = "words.db"
LONGEST = 40
"""Letters of the longest word that is kept; longer ones are not words. A guess."""
HEAD, TAIL = 2, 3
"""Number of first, or of last, letters that a word must share with a misspelling to be considered."""

_WORD = re.compile(r"[^\W\d_]+")
_WORDS_AT_ONCE = 500
"""Words in one SQL statement: some builds of SQLite take at most 999 parameters."""
# A build that fails is thrown away whole, and one that succeeds is flushed by `build_index`.
_SQL_WITHOUT_SAFETY = "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;"
_TABLES = f"""
{_SQL_WITHOUT_SAFETY}
CREATE TABLE words (
    word TEXT PRIMARY KEY,
    passages INTEGER NOT NULL,
    documents INTEGER NOT NULL,
    length INTEGER NOT NULL,
    tail TEXT NOT NULL
) WITHOUT ROWID;
"""


@dataclass(frozen=True)
class WordCount:
    """A word of the library, and how many passages and documents contain it."""

    word: str
    passages: int
    documents: int


def letters(text: str) -> list[str]:
    """Return the words of a text in order: runs of letters of any script, lower-cased, in Unicode's composed form."""
    return _WORD.findall(unicodedata.normalize("NFC", text).lower())


def neighbours(word: str) -> list[str]:
    """Return all variants of a word with two adjacent letters swapped, then those with one letter left out."""
    swapped = [word[:i] + word[i + 1] + word[i] + word[i + 2 :] for i in range(len(word) - 1)]
    shortened = [word[:i] + word[i + 1 :] for i in range(len(word))]
    return list(dict.fromkeys(swapped + shortened))


def write_vocabulary(path: Path, texts: Iterable[tuple[str, str]]) -> int:
    """Write the words of `(document id, text)` pairs to a new file, and return the number of different words.

    The texts of a document must follow each other; otherwise it is counted once for each run of them.
    """
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.executescript(_TABLES)
        database.execute("BEGIN")
        database.executemany("INSERT INTO words VALUES (?, ?, ?, ?, ?)", _word_rows(texts))
        database.execute("COMMIT")
        # After the rows: an index over all of them takes less time than one that grows with each.
        database.execute("CREATE INDEX words_tail ON words (tail, length)")
        (size,) = database.execute("SELECT count(*) FROM words").fetchone()
    return int(size)


def grow_vocabulary(previous: Path, path: Path, texts: Iterable[tuple[str, str]]) -> None:
    """Copy the file `previous` to `path`, and add the words of `(document id, text)` pairs of new documents."""
    shutil.copyfile(previous, path)
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.executescript(_SQL_WITHOUT_SAFETY)
        database.execute("BEGIN")
        database.executemany(
            """INSERT INTO words VALUES (?, ?, ?, ?, ?) ON CONFLICT (word) DO UPDATE SET
            passages = passages + excluded.passages, documents = documents + excluded.documents""",
            _word_rows(texts),
        )
        database.execute("COMMIT")


@dataclass(slots=True)
class _Count:
    """How often a word occurs while words are counted.

    Attributes:
        passages: Number of passages with the word.
        documents: Number of documents with the word.
        last_document: Number of the last of these documents, which takes less memory than a set of them.
    """

    passages: int
    documents: int
    last_document: int


def _word_rows(texts: Iterable[tuple[str, str]]) -> Iterator[tuple[str, int, int, int, str]]:
    """Yield the rows of the table `words` for `(document id, text)` pairs, in alphabetical order.

    A row is the word, its numbers of passages and of documents, its length, and its last letters. Words longer than
    `LONGEST` are left out.
    """
    counts: dict[str, _Count] = {}
    document_number, current_id = 0, None
    for document_id, text in texts:
        if document_id != current_id:
            document_number, current_id = document_number + 1, document_id
        for word in set(letters(text)):
            count = counts.get(word)
            if count is None:
                counts[word] = _Count(1, 1, document_number)
                continue
            count.passages += 1
            if count.last_document != document_number:
                count.documents, count.last_document = count.documents + 1, document_number
    # In the order of the primary key, so that SQLite only appends.
    for word in sorted(counts):
        if len(word) <= LONGEST:
            yield word, counts[word].passages, counts[word].documents, len(word), word[-TAIL:]


def texts_by_document(store: Store, after: int = 0) -> Iterator[tuple[str, str]]:
    """Yield `(document id, title and text)` of the passages with rows greater than `after`, in the order of storing."""
    batch: list[tuple[int, str]] = []

    def with_document_ids() -> Iterator[tuple[str, str]]:
        """Yield the texts of the batch with the ids of their documents."""
        identities = store.identities([row for row, _ in batch])
        for row, text in batch:
            _, document_id = identities[row]
            yield document_id, text

    for row, title, text in store.texts(after):
        batch.append((row, text if text.startswith(title) else f"{title} {text}"))
        if len(batch) == _WORDS_AT_ONCE:
            yield from with_document_ids()
            batch.clear()
    yield from with_document_ids()


class Vocabulary:
    """The words of one index generation. Safe to use from several threads.

    Args:
        path: The file that `write_vocabulary` wrote.

    Raises:
        LibraryCorrupt: At the first look-up, if the file cannot be read.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def __len__(self) -> int:
        return int(self._rows("SELECT count(*) FROM words")[0][0])

    def counts(self, words: Iterable[str]) -> dict[str, WordCount]:
        """Return the counts of those words that the library contains, by the word as given; case is ignored."""
        spellings: dict[str, list[str]] = {}
        for word in words:
            spellings.setdefault(unicodedata.normalize("NFC", word).lower(), []).append(word)
        keys = list(spellings)
        counts: dict[str, WordCount] = {}
        for start in range(0, len(keys), _WORDS_AT_ONCE):
            chunk = keys[start : start + _WORDS_AT_ONCE]
            marks = ",".join("?" * len(chunk))
            for row in self._rows(f"SELECT word, passages, documents FROM words WHERE word IN ({marks})", chunk):  # noqa: S608
                count = WordCount(*row)
                counts.update(dict.fromkeys(spellings[count.word], count))
        return counts

    def unknown(self, words: Iterable[str]) -> list[str]:
        """Return the words that the library does not contain, in order."""
        words = list(words)
        known = self.counts(words)
        return [word for word in words if word not in known]

    def similar(self, word: str, distance: int) -> list[WordCount]:
        """Return the words of which `word` may be a misspelling.

        These are the words that share the first or the last letters with it and whose length differs by at most
        `distance`, and its `neighbours`.
        """
        word = unicodedata.normalize("NFC", word).lower()
        head = word[:HEAD]
        lengths = (len(word) - distance, len(word) + distance)
        variants = neighbours(word)
        select = "SELECT word, passages, documents FROM words WHERE"
        rows = self._rows(
            f"{select} word >= ? AND word < ? AND length BETWEEN ? AND ?"
            f" UNION {select} tail = ? AND length BETWEEN ? AND ?"
            f" UNION {select} word IN ({','.join('?' * len(variants))}) ORDER BY word",
            # For "ab" all words from "ab" to before "ac": a range of the primary key, which LIKE would not use.
            (head, head[:-1] + chr(ord(head[-1]) + 1), *lengths, word[-TAIL:], *lengths, *variants),
        )
        return [WordCount(*row) for row in rows]

    def passages(self) -> int:
        """Return the sum of all words' passage counts, the denominator of their frequencies."""
        return int(self._rows("SELECT coalesce(sum(passages), 0) FROM words")[0][0])

    def _rows(self, sql: str, parameters: Sequence[str | int] = ()) -> list[tuple[str, int, int]]:
        """Return the rows of a query to the vocabulary's file."""
        try:
            # A connection for each query, as one belongs to its thread. The file never changes, so no locks are taken.
            uri = f"{self.path.absolute().as_uri()}?mode=ro&immutable=1"
            with closing(sqlite3.connect(uri, uri=True)) as database:
                return database.execute(sql, parameters).fetchall()
        except sqlite3.Error as error:
            problem = f"The library's vocabulary {self.path} cannot be read"
            if error.sqlite_errorname == "SQLITE_CANTOPEN" and self.path.is_file():
                raise LibraryError(problem, help=system_help(error)) from error
            raise LibraryCorrupt(problem, help="Run: preflight library rebuild") from error
