"""Rows of tables in passages: their lines, the rows of one table, and the words for its rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from math import ceil

from preflight_rag.offline.evidence import evidence
from preflight_rag.state.reading import Draft, Source
from preflight_rag.text.headers import why_unclaimed
from preflight_rag.text.tables import LONGEST_NOTE, TableRow, parse_row, table_name
from preflight_rag.text.words import words

MOST_ROWS = 10
"""Largest number of rows of a table that are shown; a guess."""
MIN_SHARE_OF_WORDS = 0.6
"""Least share of a question's words that a row has to share to be shown for it; a guess."""
MAX_ROWS_OF_RARE_WORD = 2
"""Largest number of rows with a word that still counts as rare, so that it tells a row from others; a guess."""
_MIN_NAME_LENGTH = 4
"""Length above which a cell may be the name of a row that other passages mention; a guess."""
ANY_ROW = frozenset(words("one item article product thing entry row option"))
"""Index terms of a question that may stand for the rows of any table."""


@dataclass(frozen=True)
class TableLine:
    """A line of a passage that is a row of a table.

    Attributes:
        source: The passage.
        text: The line, verbatim.
        row: Its cells.
        number: The index of its table among the tables of its document.
    """

    source: Source
    text: str
    row: TableRow
    number: int = 0

    @property
    def key(self) -> tuple[str, int]:
        """The key of the row's table: its document and the table's index there."""
        return self.source.document_id or self.source.title, self.number


@dataclass
class _Table:
    """A table whose rows are being read.

    Attributes:
        number: Its index among the tables of its document.
        first: The name of its first column.
        name: The part of its caption that names it; "" as long as no row has had a caption.
        columns: The names of its columns.
    """

    number: int
    first: str
    name: str
    columns: set[str] = field(default_factory=set)

    def has(self, row: TableRow) -> bool:
        """Return whether a row may be of the table, by the names of its columns."""
        first, columns = row.cells[0].column, {cell.column for cell in row.cells if cell.column}
        # A row leaves out its blank cells, so its first column may be a later one of the table.
        if first and self.first:
            return first == self.first or first in self.columns or self.first in columns
        return bool(columns & self.columns) or not (columns or self.columns)


def lines_of_tables(sources: Sequence[Source]) -> Iterator[TableLine]:
    """Yield the rows of tables in passages, in their order, each with the number of its table.

    Only some rows of a table have its caption; the others belong to the table of the row above them, also in the
    passage before.
    """
    documents: dict[str, list[Source]] = {}
    for source in sources:
        documents.setdefault(source.document_id or source.title, []).append(source)
    lines_of_source: dict[int, list[TableLine]] = {}
    for passages in documents.values():
        tables: list[_Table] = []
        table: _Table | None = None
        for source in sorted(passages, key=lambda passage: (passage.start, passage.n)):
            lines = lines_of_source.setdefault(id(source), [])
            lines_between: list[str] = []
            for text in filter(None, map(str.strip, source.text.split("\n"))):
                row = parse_row(text)
                if row is None:
                    lines_between.append(text)
                    continue
                table = _table_of(row, tables, None if _ends_table(lines_between) else table)
                lines.append(TableLine(source, text, row, table.number))
                lines_between = []
            if _ends_table(lines_between):
                table = None
    for source in sources:
        # Popped, so that a passage that is given twice is read once.
        yield from lines_of_source.pop(id(source), ())


def _table_of(row: TableRow, tables: list[_Table], above: _Table | None) -> _Table:
    """Return the table of a row: that of the row above it, an earlier one with its caption, or a new one.

    A new table is appended to `tables`, and the row's columns and caption are added to its table.
    """
    name = table_name(row.caption)
    result = above if above and above.has(row) and (not name or above.name in ("", name)) else None
    if result is None:
        result = next((table for table in reversed(tables) if name and table.name == name and table.has(row)), None)
    if result is None:
        result = _Table(len(tables), row.cells[0].column, name)
        tables.append(result)
    result.name = result.name or name
    result.columns.update(cell.column for cell in row.cells if cell.column)
    return result


def _ends_table(lines: Sequence[str]) -> bool:
    """Return whether the lines below a row end its table; a single short line may be a heading or note within it."""
    return len(lines) > 1 or any(len(line) > LONGEST_NOTE for line in lines)


def are_called(group: frozenset[str], rows: Sequence[TableLine], sources: Sequence[Source]) -> bool:
    """Return whether a question's word for the rows fits a table.

    It does if it fits any table ("item"), if a row or its document's title has it, or if a passage with it mentions a
    name in the table: "All bars but Honey Crunch" says that the row "Honey Crunch" is a bar.
    """
    if group & ANY_ROW:
        return True
    if any(group & frozenset(words(f"{line.source.title} {line.text}")) for line in rows):
        return True
    cells = [cell.text for line in rows for cell in line.row.cells]
    # Names have capitals.
    names = {text for text in cells if len(text) > _MIN_NAME_LENGTH and text.istitle()}
    texts = [source.text for source in sources if group & frozenset(words(f"{source.title} {source.text}"))]
    return any(name in text for name in names for text in texts)


def largest_table(lines: Sequence[TableLine]) -> list[TableLine]:
    """Return the rows of the table that has most rows, in their order; [] without rows."""
    return max(rows_by_table(lines), key=len, default=[])


def rows_by_table(lines: Sequence[TableLine]) -> list[list[TableLine]]:
    """Return the rows of each table, in their order."""
    tables: dict[tuple[str, int], list[TableLine]] = {}
    for line in lines:
        tables.setdefault(line.key, []).append(line)
    return list(tables.values())


def rows_in_other_words(question: str, sources: Sequence[Source]) -> list[tuple[int, str]]:
    """Return `(passage, row)` of the rows that share most words with a question, among them a rare one.

    A row says in cells what a question says in a sentence, so neither its vector nor the reader finds them alike:
    "Motion: Second gate | For: 27 | Against: 27 | Result: lost", and "Was the second gate approved?". [] if no row has
    enough of the words.

    Args:
        question: The question.
        sources: Passages; their lines that are rows of tables are read.
    """
    question_terms = frozenset(words(question))
    shared_terms = {
        (line.source.n, line.text): question_terms & frozenset(words(line.text)) for line in lines_of_tables(sources)
    }
    # By text, so that a row of two overlapping passages counts once.
    terms_of_texts = {text: shared for (_, text), shared in shared_terms.items()}
    row_counts = Counter(chain.from_iterable(terms_of_texts.values()))
    needed = max(2, ceil(MIN_SHARE_OF_WORDS * len(question_terms)))
    candidates = [
        row
        for row, shared in shared_terms.items()
        if len(shared) >= needed and any(row_counts[term] <= MAX_ROWS_OF_RARE_WORD for term in shared)
    ]
    return sorted(candidates, key=lambda row: (-len(shared_terms[row]), row[0]))[:MOST_ROWS]


def shown_rows(lines: Sequence[TableLine], lead: str, why: str) -> Draft | None:
    """Return a draft with the first rows as evidence, or None without rows; see `rows_as_evidence`."""
    return rows_as_evidence(lines, lead, why) if lines else None


def rows_as_evidence(lines: Sequence[TableLine], lead: str, why: str = "rows") -> Draft:
    """Return a draft with the first rows under a lead, which claims nothing for a reason (`headers.why_unclaimed`)."""
    quotes = dict.fromkeys((line.source.n, line.text) for line in lines[:MOST_ROWS])
    return evidence(tuple(quotes), lead, why_unclaimed(why))
