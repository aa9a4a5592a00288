"""Rows of tables that stand as lines in passages: the lines, the rows of one table, and what its rows are called."""

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
"""Rows of a table that are shown; a guess, as of other lines."""
MOST_WORDS = 0.6
"""Least share of a question's content words that such a row has. A guess."""
RARE = 2
"""Most rows that have a word which tells a row from others. A guess."""
_SHORTEST = 4
"""Letters of a row's name that is looked for elsewhere, at least; a guess."""
ANY_ROW = frozenset(words("one item article product thing entry row option"))
"""Words for rows of any table."""


@dataclass(frozen=True)
class TableLine:
    """A line of a passage that is a row of a table.

    Attributes:
        source: The passage.
        text: The line, verbatim.
        row: Its cells.
        number: That of its table among those of its document.
    """

    source: Source
    text: str
    row: TableRow
    number: int = 0

    @property
    def key(self) -> tuple[str, int]:
        """What the rows of one table have in common, and no others."""
        return self.source.document_id or self.source.title, self.number


@dataclass
class _Table:
    """A table whose rows are being read.

    Attributes:
        number: Its place among those of its document.
        first: The name of its first column.
        name: Its caption's distinguishing part; "" as long as no row says it.
        columns: The names of its columns.
    """

    number: int
    first: str
    name: str
    columns: set[str] = field(default_factory=set)

    def has(self, row: TableRow) -> bool:
        """Return whether a row has the columns of the table, of which blank ones are left out of it."""
        first, columns = row.cells[0].column, {cell.column for cell in row.cells if cell.column}
        # A row leaves out its blank cells, so its first column may be a later one of the table.
        if first and self.first:
            return first == self.first or first in self.columns or self.first in columns
        return bool(columns & self.columns) or not (columns or self.columns)


def lines_of_tables(sources: Sequence[Source]) -> Iterator[TableLine]:
    """Yield the rows of tables in some passages, in their order.

    Only some rows of a table say its caption: the others belong to the table of the row above them.
    """
    documents: dict[str, list[Source]] = {}
    for source in sources:
        documents.setdefault(source.document_id or source.title, []).append(source)
    found: dict[int, list[TableLine]] = {}
    for passages in documents.values():
        tables: list[_Table] = []
        table: _Table | None = None
        for source in sorted(passages, key=lambda each: (each.start, each.n)):
            lines = found.setdefault(id(source), [])
            between: list[str] = []
            for text in filter(None, map(str.strip, source.text.split("\n"))):
                row = parse_row(text)
                if row is None:
                    between.append(text)
                    continue
                table = _table_of(row, tables, None if _ends_table(between) else table)
                lines.append(TableLine(source, text, row, table.number))
                between = []
            if _ends_table(between):
                table = None
    for source in sources:
        yield from found.pop(id(source), ())


def _table_of(row: TableRow, tables: list[_Table], above: _Table | None) -> _Table:
    """Return the table of a row: that of the row above it, one with its caption, or a new one, which is added."""
    name = table_name(row.caption)
    own = above if above and above.has(row) and (not name or above.name in ("", name)) else None
    own = own or next((each for each in reversed(tables) if name and each.name == name and each.has(row)), None)
    if own is None:
        own = _Table(len(tables), row.cells[0].column, name)
        tables.append(own)
    own.name = own.name or name
    own.columns.update(cell.column for cell in row.cells if cell.column)
    return own


def _ends_table(lines: Sequence[str]) -> bool:
    """Return whether lines below a row end its table; a short one may be a heading or a note within it."""
    return len(lines) > 1 or any(len(line) > LONGEST_NOTE for line in lines)


def are_called(group: frozenset[str], rows: Sequence[TableLine], sources: Sequence[Source]) -> bool:
    """Return whether a word for a table's rows is in the table, or in a passage that names one of its rows."""
    if group & ANY_ROW:
        return True
    if any(group & frozenset(words(f"{line.source.title} {line.text}")) for line in rows):
        return True
    # Names have capitals: "All bars but Honey Crunch" says that the row "Honey Crunch" is a bar.
    names = {
        cell.text for line in rows for cell in line.row.cells if len(cell.text) > _SHORTEST and cell.text.istitle()
    }
    speaking = [source.text for source in sources if group & frozenset(words(f"{source.title} {source.text}"))]
    return any(name in text for name in names for text in speaking)


def largest_table(lines: Sequence[TableLine]) -> list[TableLine]:
    """Return the rows of the table that has most rows, in their order."""
    return max(rows_by_table(lines), key=len, default=[])


def rows_by_table(lines: Sequence[TableLine]) -> list[list[TableLine]]:
    """Return the rows of each table, in their order."""
    tables: dict[tuple[str, int], list[TableLine]] = {}
    for line in lines:
        tables.setdefault(line.key, []).append(line)
    return list(tables.values())


def rows_in_other_words(question: str, sources: Sequence[Source]) -> list[tuple[int, str]]:
    """Return `(passage, row)` of the rows that have most words of a question, some of which no other row has.

    A row says in cells what a question says in a sentence, so neither its vector nor the reader finds them alike:
    "Motion: Second gate | For: 27 | Against: 27 | Result: lost", and "Was the second gate approved?".

    Args:
        question: The question.
        sources: Passages; their lines that are rows of tables are read.
    """
    asked = frozenset(words(question))
    shared = {(line.source.n, line.text): asked & frozenset(words(line.text)) for line in lines_of_tables(sources)}
    # By text, so that a row of two overlapping passages counts once.
    counts = Counter(chain.from_iterable({text: found for (_, text), found in shared.items()}.values()))
    least = max(2, ceil(MOST_WORDS * len(asked)))
    fitting = {row: found for row, found in shared.items() if len(found) >= least}
    own = [row for row, found in fitting.items() if any(counts[term] <= RARE for term in found)]
    return sorted(own, key=lambda row: (-len(fitting[row]), row[0]))[:MOST_ROWS]


def shown_rows(lines: Sequence[TableLine], lead: str, why: str) -> Draft | None:
    """Return the first rows as evidence under a line, with the reason why nothing is claimed; None without rows."""
    return rows_as_evidence(lines, lead, why) if lines else None


def rows_as_evidence(lines: Sequence[TableLine], lead: str, why: str = "rows") -> Draft:
    """Return the first rows as evidence under a line, with the reason why nothing is claimed."""
    quotes = dict.fromkeys((line.source.n, line.text) for line in lines[:MOST_ROWS])
    return evidence(tuple(quotes), lead, why_unclaimed(why))
