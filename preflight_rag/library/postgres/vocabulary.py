"""The words of a library in PostgreSQL, for spelling; they are counted for each piece of the posting lists."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any
from unicodedata import normalize

from preflight_rag.databases.postgres import storable_text
from preflight_rag.library.index.vocabulary import HEAD, TAIL, Vocabulary, WordCount, neighbours

if TYPE_CHECKING:
    from preflight_rag.library.postgres.store import PostgresStore

_COUNTS = """
    select word, sum(passages)::bigint, sum(documents)::bigint from library_words where word = any(%s) group by word
"""
_SIMILAR = f"""
    select word, sum(passages)::bigint, sum(documents)::bigint from library_words where word in (
        select word from library_words where word >= %(head)s and word < %(behind)s
            and length(word) between %(least)s and %(most)s
        union select word from library_words
            where right(word, {TAIL}) = %(tail)s and length(word) between %(least)s and %(most)s
        union select word from library_words where word = any(%(near)s)
    ) group by word order by word
"""


class PostgresVocabulary(Vocabulary):
    """The words of the published passages of a library in PostgreSQL.

    Args:
        store: The library.
    """

    def __init__(self, store: PostgresStore) -> None:
        self._store = store

    def __len__(self) -> int:
        return int(self._store.read_rows("select count(distinct word) from library_words")[0][0])

    def counts(self, words: Iterable[str]) -> dict[str, WordCount]:
        """Return the counts of those words that the library contains, by the word as given; case is ignored."""
        spellings: dict[str, list[str]] = {}
        for word in words:
            spellings.setdefault(storable_text(normalize("NFC", word).lower()), []).append(word)
        counts: dict[str, WordCount] = {}
        for row in self._store.read_rows(_COUNTS, [list(spellings)]) if spellings else ():
            count = WordCount(*row)
            counts.update(dict.fromkeys(spellings[count.word], count))
        return counts

    def similar(self, word: str, distance: int) -> list[WordCount]:
        """Return the words of which `word` may be a misspelling; see `Vocabulary.similar`."""
        word = storable_text(normalize("NFC", word).lower())
        head = word[:HEAD]
        values: dict[str, Any] = {
            "head": head,
            "behind": head[:-1] + chr(ord(head[-1]) + 1),
            "least": len(word) - distance,
            "most": len(word) + distance,
            "tail": word[-TAIL:],
            "near": neighbours(word),
        }
        return [WordCount(*row) for row in self._store.read_rows(_SIMILAR, values)]

    def passages(self) -> int:
        """Return the sum of all words' passage counts, the denominator of their frequencies."""
        return int(self._store.read_rows("select coalesce(sum(passages), 0)::bigint from library_words")[0][0])
