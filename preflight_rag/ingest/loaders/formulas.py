"""Compute formulas of workbooks that have no stored value, as programs other than Excel write them, by IronCalc."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from openpyxl.workbook import Workbook

Place = tuple[str, int, int]
"""A sheet's name, and a cell's row and column, from 1."""
MAXIMUM_CELLS = 300_000
"""Maximum number of cells of a workbook that is computed; a guess."""
WITHOUT_VALUE = re.compile(rb"<(?:\w{1,9}:)?f(?:\s[^<>]*)?(?:/>|>[^<]*</(?:\w{1,9}:)?f>)\s*(?:<v/>|<v></v>)?</")
"""A formula without a value after it, in the XML of a sheet."""
_VOLATILE_FUNCTION = re.compile(r"\b(?:TODAY|NOW|RAND|RANDBETWEEN|RANDARRAY)\s*\(|\[\d+\]", re.IGNORECASE)
"""A function whose value changes with time or chance, or a reference to another file."""


def computed(book: Workbook, formulas: Mapping[Place, str]) -> dict[Place, Any]:
    """Return the values of the formulas that can be computed; none at all if a formula's value is not reliable.

    That is so for workbooks with volatile functions, and for very large ones; without IronCalc nothing is computed.

    The cells are passed to IronCalc one by one, because its own reader refused workbooks with comments, as openpyxl
    writes them.

    Args:
        book: The workbook, with formulas in place of values.
        formulas: The formulas without a stored value.
    """
    if any(_VOLATILE_FUNCTION.search(formula) for formula in formulas.values()):
        return {}
    if sum(sheet.max_row * sheet.max_column for sheet in book.worksheets) > MAXIMUM_CELLS:
        return {}
    try:
        import ironcalc
    except ImportError:
        return {}
    try:
        model = ironcalc.create("book")
        sheet_index: dict[str, int] = {}
        for index, sheet in enumerate(book.worksheets):
            if index:  # A new book has one sheet.
                model.new_sheet()
            model.rename_sheet(index, sheet.title)
            sheet_index[sheet.title] = index
        for sheet in book.worksheets:
            _copy_sheet(sheet, model, sheet_index[sheet.title])
        model.evaluate()
        values = {}
        for sheet_name, row, column in formulas:
            values[sheet_name, row, column] = model.get_cell_value(sheet_index[sheet_name], row, column)
    except BaseException as error:  # A panic of Rust code is no `Exception`.
        if isinstance(error, KeyboardInterrupt | SystemExit | MemoryError | GeneratorExit):
            raise
        return {}
    return {address: value for address, value in values.items() if _is_result(value)}


def _copy_sheet(sheet: Any, model: Any, sheet_index: int) -> None:
    """Copy the values and formulas of a workbook's sheet into the sheet with an index of IronCalc's model."""
    from openpyxl.utils.datetime import to_excel

    for row in sheet.iter_rows():
        for cell in row:
            value, address = cell.value, (sheet_index, cell.row, cell.column)
            if value is None:
                continue
            if cell.data_type == "f":
                model.set_user_input(*address, str(getattr(value, "text", value)))
            elif isinstance(value, bool):
                model.update_cell_with_bool(*address, value)
            elif isinstance(value, int | float):
                model.update_cell_with_number(*address, float(value))
            elif cell.is_date:
                model.update_cell_with_number(*address, float(to_excel(value)))
            else:
                model.update_cell_with_text(*address, str(value))


def _is_result(value: object) -> bool:
    """Return whether a computed value is a result: not empty, and no error such as #NAME?."""
    return value is not None and value != "" and not (isinstance(value, str) and value.startswith("#"))
