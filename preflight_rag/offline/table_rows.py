"""Rows of tables that stand as lines in passages: the lines, the rows of one table, and what its rows are called."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from preflight_rag.offline.evidence import evidence
from preflight_rag.state.reading import Draft, Source
from preflight_rag.text.headers import why_unclaimed
from preflight_rag.text.tables import TableRow, parse_row
from preflight_rag.text.words import words

MOST_ROWS = 10
"""Rows of a table that are shown; a guess, as of other lines."""
_SHORTEST = 4
"""Letters of a row's name that is looked for elsewhere, at least; a guess."""
_ANY = frozenset(words("one item article product thing entry row option"))
"""Words for rows of any table."""


@dataclass(frozen=True)
class TableLine:
    """A line of a passage that is a row of a table.

    Attributes:
        source: The passage.
        text: The line, verbatim.
        row: Its cells.
    """

    source: Source
    text: str
    row: TableRow


def lines_of_tables(sources: Sequence[Source]) -> Iterator[TableLine]:
    """Yield the rows of tables in some passages, in their order."""
    for source in sources:
        for text in source.text.split("\n"):
            if (row := parse_row(text.strip())) is not None:
                yield TableLine(source, text.strip(), row)


def are_called(group: frozenset[str], rows: Sequence[TableLine], sources: Sequence[Source]) -> bool:
    """Return whether a word for a table's rows is in the table, or in a passage that names one of its rows."""
    if group & _ANY:
        return True
    if any(group & frozenset(words(f"{line.source.title} {line.text}")) for line in rows):
        return True
    names = {
        cell.text for line in rows for cell in line.row.cells if len(cell.text) > _SHORTEST and cell.text.istitle()
    }
    speaking = [source.text for source in sources if group & frozenset(words(f"{source.title} {source.text}"))]
    return any(name in text for name in names for text in speaking)


def largest_table(lines: Sequence[TableLine]) -> list[TableLine]:
    """Return the rows of the table that has most rows, in their order."""
    tables: dict[tuple[str, str], list[TableLine]] = {}
    for line in lines:
        tables.setdefault((line.source.document_id or line.source.title, line.row.caption[:9]), []).append(line)
    return max(tables.values(), key=len, default=[])


def shown_rows(lines: Sequence[TableLine], lead: str, why: str) -> Draft | None:
    """Return the first rows as evidence under a line, with the reason why nothing is claimed; None without rows."""
    return rows_as_evidence(lines, lead, why) if lines else None


def rows_as_evidence(lines: Sequence[TableLine], lead: str, why: str = "rows") -> Draft:
    """Return the first rows as evidence under a line, with the reason why nothing is claimed."""
    quotes = dict.fromkeys((line.source.n, line.text) for line in lines[:MOST_ROWS])
    return evidence(tuple(quotes), lead, why_unclaimed(why))
