"""Formulas of workbooks without a stored value, as other programs than Excel write them: computed by IronCalc."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from openpyxl.workbook import Workbook

Place = tuple[str, int, int]
"""A sheet's name, and a cell's row and column, from 1."""
MOST_CELLS = 300_000
"""Of a workbook that is computed; a guess."""
WITHOUT_VALUE = re.compile(rb"<(?:\w{1,9}:)?f(?:\s[^<>]*)?(?:/>|>[^<]*</(?:\w{1,9}:)?f>)\s*(?:<v/>|<v></v>)?</")
"""In a sheet's XML, a formula behind which there is no value."""
_CHANGING = re.compile(r"\b(?:TODAY|NOW|RAND|RANDBETWEEN|RANDARRAY)\s*\(|\[\d+\]", re.IGNORECASE)
"""What gives another value tomorrow, or stands in another file."""


def computed(book: Workbook, formulas: Mapping[Place, str]) -> dict[Place, Any]:
    """Return the values of formulas that can be computed reliably; none if some change from day to day.

    The cells are passed to IronCalc one by one, because its own reader refused workbooks with comments, as openpyxl
    writes them.

    Args:
        book: The workbook, with formulas in place of values.
        formulas: The formulas without a stored value.
    """
    if any(_CHANGING.search(each) for each in formulas.values()):
        return {}
    if sum(sheet.max_row * sheet.max_column for sheet in book.worksheets) > MOST_CELLS:
        return {}
    try:
        import ironcalc
    except ImportError:
        return {}
    try:
        model = ironcalc.create("book")
        sheets: dict[str, int] = {}
        for number, sheet in enumerate(book.worksheets):
            if number:
                model.new_sheet()
            model.rename_sheet(number, sheet.title)
            sheets[sheet.title] = number
        for sheet in book.worksheets:
            _copy(sheet, model, sheets[sheet.title])
        model.evaluate()
        values = {cell: model.get_cell_value(sheets[cell[0]], cell[1], cell[2]) for cell in formulas}
    except BaseException as error:  # of code in Rust, whose panics are no `Exception`
        if isinstance(error, KeyboardInterrupt | SystemExit | MemoryError | GeneratorExit):
            raise
        return {}
    return {cell: value for cell, value in values.items() if _is_value(value)}


def _copy(sheet: Any, model: Any, number: int) -> None:
    """Copy a sheet's values and formulas into the model that computes them."""
    from openpyxl.utils.datetime import to_excel

    for row in sheet.iter_rows():
        for cell in row:
            value, place = cell.value, (number, cell.row, cell.column)
            if value is None:
                continue
            if cell.data_type == "f":
                model.set_user_input(*place, str(getattr(value, "text", value)))
            elif isinstance(value, bool):
                model.update_cell_with_bool(*place, value)
            elif isinstance(value, int | float):
                model.update_cell_with_number(*place, float(value))
            elif cell.is_date:
                model.update_cell_with_number(*place, float(to_excel(value)))
            else:
                model.update_cell_with_text(*place, str(value))


def _is_value(value: object) -> bool:
    """Return whether a computed value is a result, and not an error such as #NAME?."""
    return value is not None and value != "" and not (isinstance(value, str) and value.startswith("#"))
