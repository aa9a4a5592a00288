"""Rows of tables that stand as lines in passages: the lines, the rows of one table, and what its rows are called."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from math import ceil

from preflight_rag.offline.evidence import evidence
from preflight_rag.state.reading import Draft, Source
from preflight_rag.text.headers import why_unclaimed
from preflight_rag.text.tables import TableRow, parse_row
from preflight_rag.text.words import words

MOST_ROWS = 10
"""Rows of a table that are shown; a guess, as of other lines."""
MOST_WORDS = 0.6
"""Least share of a question's content words that such a row has. A guess."""
RARE = 2
"""Most rows that have a word which tells a row from others. A guess."""
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
