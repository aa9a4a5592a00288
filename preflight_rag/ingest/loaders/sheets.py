"""Sheets of a workbook as text: a block of filled cells is a table or some lines; rows say the sheet's name."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby

from preflight_rag.ingest.loaders.parts import Parts
from preflight_rag.text.tables import table_lines

_UNNAMED = re.compile(r"(?:sheet|table|tabelle|feuil|hoja|foglio|blad|planilha|лист|工作表|シート) ?\d*", re.IGNORECASE)
"""Names that programs give; they say nothing of what a sheet holds."""

Grid = Sequence[Sequence[str]]


def add_sheet(parts: Parts, number: int, name: str, grid: Grid) -> None:
    """Append a sheet's blocks, as a page of its number; an empty sheet adds nothing.

    Args:
        parts: What they are appended to.
        number: The sheet's place in the workbook, from 1.
        name: As its tab says it.
        grid: Its cells by row; a merged cell stands in each of its places.
    """
    blocks = list(_blocks(grid))
    if not blocks:
        return
    parts.page(number)
    parts.add(name, "heading")
    about = "" if _UNNAMED.fullmatch(name) else name
    above = ""
    for block in blocks:
        lines = [row for row in block if len(set(filter(None, row))) == 1]
        if len(lines) == len(block):
            for row in lines:
                above = next(filter(None, row))
                parts.add(above)
            continue
        caption, rows = _caption(block)
        caption = caption or above
        if caption and caption != above:
            parts.add(caption)
        named = ", ".join(dict.fromkeys(part for part in (about, caption.rstrip(" .:")) if part))
        # Two rows of two cells are names and values: what else would be one value under one name.
        header = 0 if len(rows) == 2 and len(rows[0]) == 2 else None
        for line in table_lines(rows, caption=named, header_rows=header):
            parts.add(line, "row")
        above = ""


def _blocks(grid: Grid) -> Iterator[list[list[str]]]:
    """Yield runs of rows that are not blank, without columns that are."""
    for filled, rows in groupby(grid, key=lambda row: any(cell.strip() for cell in row)):
        if filled:
            run = [list(row) for row in rows]
            width = max(map(len, run))
            yield _without_blank_columns([[cell.strip() for cell in row + [""] * (width - len(row))] for row in run])


def _caption(block: list[list[str]]) -> tuple[str, list[list[str]]]:
    """Return the caption in a row of its own above the header, and the rows below it."""
    above: list[str] = []
    for row in block[:-1]:
        distinct = set(filter(None, row))
        if len(distinct) != 1:
            break
        above += distinct
    # A merged title may be wider than the table under it.
    return " ".join(above), _without_blank_columns(block[len(above) :])


def _without_blank_columns(rows: list[list[str]]) -> list[list[str]]:
    kept = [place for place in range(len(rows[0])) if any(row[place] for row in rows)]
    return [[row[place] for place in kept] for row in rows]
