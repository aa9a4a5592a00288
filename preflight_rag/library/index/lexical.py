"""The lexical index: BM25 over titles and texts, through tantivy.

Title and text make one field, which ranked a little better on SciFact's claims than two fields whose scores are added
up, and than the text alone. The analyser splits at everything that is neither letter nor digit,
lower-cases, folds accents, drops English stop words and stems. For `search`, a query is the disjunction of its analysed
terms: nothing in it is read as query syntax. `match` takes a Boolean expression.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from preflight_rag.library.index.scored import ScoredRanking
from preflight_rag.state.errors import unreadable
from preflight_rag.state.memory import need_memory
from preflight_rag.text.boolean import Expression, SearchTerm
from preflight_rag.text.words import without_note_marks

if TYPE_CHECKING:
    import numpy as np
    import tantivy

FIELD = "text"
ROW = "row"
ANALYSER = "preflight_english"
LONGEST_TERM = 100
"""Longer runs of characters are data, not words, and are not indexed; a guess."""
MAX_TERMS = 1024
"""Most clauses of one query, the usual limit of Lucene and its kin."""
WRITER_BYTES = 64_000_000
"""Memory of tantivy's writer, which requires at least 15 MB; a guess."""
WRITING_MEGABYTES = 600
"""Megabytes of address space that the writer and its threads take: with less it killed the process in a test."""
_WORD = re.compile(r"[^\W_]+")


def write_lexical(folder: Path, passages: Iterable[tuple[int, str, str]]) -> int:
    """Index `(row, title, text)` into the empty `folder`, and return the number of passages."""
    need_memory(WRITING_MEGABYTES, "to build the index")
    import tantivy

    return _add_passages(tantivy.Index(_schema(), path=str(folder)), passages)


def grow_lexical(previous: Path, folder: Path, passages: Iterable[tuple[int, str, str]]) -> int:
    """Copy the index in `previous` to the empty `folder`, add `(row, title, text)`, and return the number added."""
    need_memory(WRITING_MEGABYTES, "to add to the index")
    import tantivy

    for path in previous.iterdir():
        if path.suffix != ".lock":
            shutil.copyfile(path, folder / path.name)
    return _add_passages(tantivy.Index.open(str(folder)), passages)


def _add_passages(index: tantivy.Index, passages: Iterable[tuple[int, str, str]]) -> int:
    """Add passages to an index, commit them, and return their number."""
    import tantivy

    index.register_tokenizer(ANALYSER, open_analyser())
    writer = index.writer(heap_size=WRITER_BYTES, num_threads=1)
    count = 0
    for row, title, text in passages:
        document = tantivy.Document(text=whole_text(title, text))
        document.add_unsigned(ROW, row)
        writer.add_document(document)
        count += 1
    writer.commit()
    # A merge that went on would write files after their checksums were taken.
    writer.wait_merging_threads()
    return count


def whole_text(title: str, text: str) -> str:
    """Return the text that is indexed: title and text, or only the text if it begins with the title."""
    return without_note_marks(text if text.startswith(title) else f"{title} {text}")


class LexicalIndex:
    """A lexical index in `folder`, or in a temporary copy if that is read-only, because tantivy needs lock files.

    Raises:
        LibraryCorrupt: The index cannot be read.
    """

    def __init__(self, folder: Path) -> None:
        self._analyser = open_analyser()
        self._folder = folder
        with _translated_errors(folder):
            try:
                index = _open_index(folder, self._analyser)
            except ValueError:
                if os.access(folder, os.W_OK):
                    raise
                # tantivy's lock files cannot be created in a read-only folder. The copy is removed with this object.
                copy = tempfile.mkdtemp(prefix="preflight-")
                weakref.finalize(self, shutil.rmtree, copy, ignore_errors=True)
                shutil.copytree(folder, copy, dirs_exist_ok=True, copy_function=shutil.copyfile)
                # `copytree` has given it the read-only folder's mode.
                Path(copy).chmod(0o700)
                index = _open_index(Path(copy), self._analyser)
            self._searcher = index.searcher()
            fields = _recorded_fields(folder)
            self._has_positions = fields[FIELD]["indexing"]["record"] == "position"
            self._has_row_terms = bool(fields[ROW]["indexed"])
            self._has_row_column = bool(fields[ROW]["fast"])
        self._schema = index.schema

    def __len__(self) -> int:
        return int(self._searcher.num_docs)

    @property
    def is_current(self) -> bool:
        """Whether the index has the fields of this version, so that passages can be added to it."""
        return self._has_positions and self._has_row_terms and self._has_row_column

    def terms(self, query: str) -> list[str]:
        """Return the distinct analysed terms of a query in their order, at most `MAX_TERMS`."""
        return list(dict.fromkeys(self._analyser.analyze(query)))[:MAX_TERMS]

    def search(self, query: str, n: int, *, among: np.ndarray | None = None) -> list[tuple[int, float]]:
        """Return `(row, BM25)` of the `n` passages with the largest BM25, with the arguments of `ranked`."""
        return self.ranked(query, n, among=among).pairs()

    def ranked(self, query: str, n: int, *, among: np.ndarray | None = None) -> ScoredRanking:
        """Return the rows and scores of the `n` passages with the largest BM25, best first, ties by row.

        Args:
            query: Any text.
            n: Number of passages to return.
            among: Rows to choose from, shape (m,); BM25's statistics stay those of the whole collection.
        """
        import tantivy

        n = min(n, len(self) if among is None else len(among))
        clauses = [
            (tantivy.Occur.Should, tantivy.Query.term_query(self._schema, FIELD, term)) for term in self.terms(query)
        ]
        if n == 0 or not clauses:
            return ScoredRanking.of([])
        disjunction = tantivy.Query.boolean_query(clauses)
        with _translated_errors(self._folder):
            if among is not None:
                return self._search_among(disjunction, n, among)
            return self._rows(self._searcher.search(disjunction, n, count=False).hits)

    def _search_among(self, query: tantivy.Query, n: int, among: np.ndarray) -> ScoredRanking:
        """Return the rows and scores of the `n` best passages among some rows.

        A few rows become part of the query. With many, or in an index of an older version, the whole ranking is read
        deeper and deeper until it contains enough of them.
        """
        import numpy as np
        from tantivy import Occur, Query

        # The first way costs about `len(among)`, the second about the depth of `n * len(self) / len(among)`.
        are_few = len(among) ** 2 < 2 * n * len(self)
        if self._has_row_terms and are_few:
            # A score of 0 for the choice of rows leaves BM25 as it is.
            has_row = Query.const_score_query(Query.term_set_query(self._schema, ROW, among.tolist()), 0.0)
            query = Query.boolean_query([(Occur.Must, query), (Occur.Must, has_row)])
            return self._rows(self._searcher.search(query, n, count=False).hits)
        depth = n
        while True:
            depth = min(len(self), 2 * max(depth, n * len(self) // len(among)))
            hits = self._rows(self._searcher.search(query, depth, count=False).hits)
            is_among = np.isin(hits.keys, among)
            if is_among.sum() >= n or len(hits) < depth or depth == len(self):
                return ScoredRanking(hits.keys[is_among], hits.scores[is_among]).best(n)

    def match(self, expression: Expression, n: int) -> tuple[list[tuple[int, float]], int]:
        """Return rows and BM25 of the `n` best passages for a Boolean expression, and the number of all that match.

        Field tags and truncation marks are ignored. In an index that an older version built, the words of a phrase need
        not be adjacent.
        """
        query = self._query(expression)
        if n < 1 or query is None:
            return [], 0
        with _translated_errors(self._folder):
            # tantivy panics at a limit of 0.
            result = self._searcher.search(query, min(n, max(len(self), 1)))
            hits: int = result.count  # type: ignore[attr-defined]  # its stubs lack it
            return self._rows(result.hits).pairs(), hits

    def _rows(self, hits: Sequence[tuple[float, tantivy.DocAddress]]) -> ScoredRanking:
        """Return the rows and scores of hits; in an old index the rows are read from its document store one by one."""
        import numpy as np

        addresses = [address for _, address in hits]
        if self._has_row_column:
            rows = self._searcher.fast_field_values(ROW, addresses)
        else:
            rows = [self._searcher.doc(address).to_dict()[ROW][0] for address in addresses]
        return ScoredRanking.sorted(np.array(rows, np.int64), np.array([score for score, _ in hits], np.float64))

    def _query(self, expression: Expression) -> tantivy.Query | None:
        """Return the tantivy query of an expression; None if nothing in it can be looked up, e.g. only stop words."""
        from tantivy import Occur, Query

        if isinstance(expression, SearchTerm):
            return self._term_query(expression)
        queries = [self._query(part) for part in expression.parts]
        first, others = Occur.Must, Occur.Must
        if expression.operator == "OR":
            first, others = Occur.Should, Occur.Should
        elif expression.operator == "NOT":
            # "a NOT b" without a would find everything that lacks b.
            if queries[0] is None:
                return None
            others = Occur.MustNot
        clauses = []
        for index, query in enumerate(queries):
            if query is not None:
                clauses.append((others if index else first, query))
        return Query.boolean_query(clauses) if clauses else None

    def _term_query(self, term: SearchTerm) -> tantivy.Query | None:
        """Return the tantivy query of a word or phrase; None if it has only stop words.

        In an index of an older version, which has no positions, the words of a phrase need not be adjacent.
        """
        from tantivy import Occur, Query

        positioned_terms = term_positions(self._analyser.analyze, term.text)[:MAX_TERMS]
        if len(positioned_terms) > 1 and term.phrase and self._has_positions:
            return Query.phrase_query(self._schema, FIELD, list(positioned_terms))
        clauses = [(Occur.Must, Query.term_query(self._schema, FIELD, word)) for _, word in positioned_terms]
        return Query.boolean_query(clauses) if clauses else None


def term_positions(analyse: Callable[[str], Sequence[str]], text: str) -> list[tuple[int, str]]:
    """Return `(position, term)` of the terms of a text, in order.

    A position is the number of the word, from 0. A word without a term, such as a stop word, leaves a gap.
    """
    positioned_terms = []
    for position, word in enumerate(_WORD.findall(text)):
        if terms := analyse(word):
            positioned_terms.append((position, terms[0]))
    return positioned_terms


@contextmanager
def _translated_errors(folder: Path) -> Iterator[None]:
    """Raise tantivy's errors about damaged files as `LibraryCorrupt`."""
    try:
        yield
    # Not only `Exception`: tantivy's panics are none.
    except BaseException as error:
        if not isinstance(error, ValueError | OSError | KeyError | TypeError) and not _is_panic(error):
            raise
        raise unreadable(f"The lexical index {folder} cannot be read", error) from error


def _is_panic(error: BaseException) -> bool:
    """Return whether an error is a panic of tantivy's Rust code."""
    # By name, because the class cannot be imported.
    return type(error).__name__ == "PanicException"


def _open_index(folder: Path, analyser: tantivy.TextAnalyzer) -> tantivy.Index:
    """Open the Tantivy index of a folder with the package's analyser."""
    import tantivy

    index = tantivy.Index.open(str(folder))
    index.register_tokenizer(ANALYSER, analyser)
    return index


def _recorded_fields(folder: Path) -> dict[str, dict[str, Any]]:
    """Return the options of each field, by its name, as the index in a folder records them."""
    fields = json.loads((folder / "meta.json").read_text(encoding="utf-8"))["schema"]
    return {field["name"]: field["options"] for field in fields}


def _schema() -> tantivy.Schema:
    """Return the schema of a new index: its fields are the row, and the text with the positions of its words."""
    import tantivy

    builder = tantivy.SchemaBuilder()
    builder.add_unsigned_field(ROW, stored=True, indexed=True, fast=True)
    builder.add_text_field(FIELD, tokenizer_name=ANALYSER, index_option="position")
    return builder.build()


@lru_cache(maxsize=1)
def open_analyser() -> tantivy.TextAnalyzer:
    """Return the analyser that turns texts into terms, for passages and for queries, in every kind of library."""
    from tantivy import Filter, TextAnalyzerBuilder, Tokenizer

    builder = TextAnalyzerBuilder(Tokenizer.simple())
    for step in (
        Filter.remove_long(LONGEST_TERM),
        Filter.lowercase(),
        Filter.ascii_fold(),
        Filter.stopword("english"),
        Filter.stemmer("english"),
    ):
        builder = builder.filter(step)
    return builder.build()
