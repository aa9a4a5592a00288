"""The lexical index: BM25 over titles and texts, through tantivy.

Title and text make one field, which ranked a little better on SciFact's claims than two fields whose scores are added
up, and than the text alone. The analyser splits at everything that is neither letter nor digit,
lower-cases, folds accents, drops English stop words and stems. A query is the disjunction of its analysed terms:
nothing in it is read as query syntax.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from ..state.errors import LibraryCorrupt

if TYPE_CHECKING:
    import tantivy

FIELD = "text"
ANALYSER = "preflight_english"
LONGEST_TERM = 100
MAX_TERMS = 1024
WRITER_BYTES = 64_000_000


def write_lexical(folder: Path, passages: Iterable[tuple[int, str, str]]) -> int:
    """Index `(row, title, text)` into the empty `folder`; returns how many there were."""
    import tantivy

    index = tantivy.Index(_schema(), path=str(folder))
    index.register_tokenizer(ANALYSER, _analyser())
    writer = index.writer(heap_size=WRITER_BYTES, num_threads=1)
    count = 0
    for row, title, text in passages:
        writer.add_document(tantivy.Document(row=row, text=text if text.startswith(title) else f"{title} {text}"))
        count += 1
    writer.commit()
    writer.wait_merging_threads()
    return count


class LexicalIndex:
    """A lexical index that is read from `folder`; where that is read-only, from a temporary copy, for tantivy's locks.

    Raises:
        LibraryCorrupt: It cannot be read.
    """

    def __init__(self, folder: Path) -> None:
        self._analyser = _analyser()
        try:
            try:
                index = _open(folder, self._analyser)
            except ValueError:
                if os.access(folder, os.W_OK):
                    raise
                copy = tempfile.mkdtemp(prefix="preflight-")
                weakref.finalize(self, shutil.rmtree, copy, ignore_errors=True)
                shutil.copytree(folder, copy, dirs_exist_ok=True, copy_function=shutil.copyfile)
                Path(copy).chmod(0o700)
                index = _open(Path(copy), self._analyser)
            self._searcher = index.searcher()
        except (ValueError, OSError) as error:
            raise LibraryCorrupt(f"The lexical index {folder} cannot be read") from error
        self._schema = index.schema

    def __len__(self) -> int:
        return int(self._searcher.num_docs)

    def terms(self, query: str) -> list[str]:
        """The distinct analysed terms of a query in their order, at most `MAX_TERMS`."""
        return list(dict.fromkeys(self._analyser.analyze(query)))[:MAX_TERMS]

    def search(self, query: str, n: int) -> list[tuple[int, float]]:
        """Rows of the `n` passages with the largest BM25, best first, ties by row."""
        import tantivy

        n = min(n, len(self))
        clauses = [
            (tantivy.Occur.Should, tantivy.Query.term_query(self._schema, FIELD, term)) for term in self.terms(query)
        ]
        if n == 0 or not clauses:
            return []
        hits = self._searcher.search(tantivy.Query.boolean_query(clauses), n, count=False).hits
        rows = ((self._searcher.doc(address).to_dict()["row"][0], score) for score, address in hits)
        return sorted(((int(row), float(score)) for row, score in rows), key=lambda hit: (-hit[1], hit[0]))


def _open(folder: Path, analyser: tantivy.TextAnalyzer) -> tantivy.Index:
    import tantivy

    index = tantivy.Index.open(str(folder))
    index.register_tokenizer(ANALYSER, analyser)
    return index


def _schema() -> tantivy.Schema:
    import tantivy

    builder = tantivy.SchemaBuilder()
    builder.add_unsigned_field("row", stored=True)
    builder.add_text_field(FIELD, tokenizer_name=ANALYSER, index_option="freq")
    return builder.build()


def _analyser() -> tantivy.TextAnalyzer:
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
