"""Excel workbooks through openpyxl: values as the sheet shows them, each sheet a page."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import ZipFile

from preflight_rag.ingest.loaders.attachments import embedded_documents
from preflight_rag.ingest.loaders.drawings import chart_titles
from preflight_rag.ingest.loaders.fields import file_document, iso_date, link_lines, one_line, people
from preflight_rag.ingest.loaders.files import open_archive, open_file
from preflight_rag.ingest.loaders.formulas import WITHOUT_VALUE, Place, computed
from preflight_rag.ingest.loaders.parts import Parts
from preflight_rag.ingest.loaders.read_report import ReadReport
from preflight_rag.ingest.loaders.sheets import MOST_INDENTED, add_sheet
from preflight_rag.ingest.loaders.xml import core_properties, local, parse_xml
from preflight_rag.state.errors import DocumentError, UnreadableDocument
from preflight_rag.state.values import Document
from preflight_rag.text.legends import raised_behind
from preflight_rag.text.tables import INDENT, is_wide_label

if TYPE_CHECKING:
    from lxml.etree import _Element
    from openpyxl.workbook import Workbook

STREAMED_BYTES = 30_000_000
"""Unpacked size above which a workbook is read row by row, since the whole takes fifty times as much memory; merged
cells and comments are then not known. A guess."""
_CURRENCY = re.compile(r'\[\$([^\]-]{1,4})[^\]]{0,20}\]|"([$€£¥]|[A-Z]{3})"|([$€£¥])')
"""The currency in a number format: '[$€-407]', '"CHF"', "$"."""
_NO_DIGITS = re.compile(r'"[^"]*"|\[[^\]]{0,100}\]|\\.|_.|\*.')
"""Parts of a number format that are no placeholders of digits: literal texts, conditions, spaces."""
_LONGEST_FORMAT = 100
"""Maximum number of characters read of a number format; Excel allows 255."""
_UNIT = re.compile(r'[0#?]"([^"]{1,20})"$')
"""The unit at the end of a number format: '0" kg"'."""
_CONDITION = re.compile(r"\[<=?(\d{1,12})\]")
"""The condition of a part of a number format: "[<=9999999]###-####;(###) ###-####"."""
_LITERAL = re.compile(r'"([^"]*)"|\\(.)')
_MASK = re.compile(r"0{2,}|[(+]?[0#]{1,}(?:[-() /]{1,2}[0#]{1,}){1,5}")
"""A format that fills digits into a mask: "00000", "000-00-0000"; not a fraction "# ?/?" or a decimal "0.00"."""
_HEADER_CODE = re.compile(r"&\[\w+\]|&\"[^\"]{0,60}\"|&K[0-9A-F]{6}|&\d{1,2}|&[A-Z]")
"""A code in a header for computed text or a format: "&P", "&[Page]", "&\"Arial,Bold\""."""
_PAGE_WORDS = re.compile(r"\b(?:page|of|seite|von|sheet)\b", re.IGNORECASE)
_COMPUTED_ON_OPENING = re.compile(rb'fullCalcOnLoad="(?:1|true)"')
_ZERO = re.compile(rb"</f>\s*<v>0</v>")
"""The end of a formula whose stored value is 0."""
_SUPERSCRIPT = b'"superscript"'
_DIGITS = re.compile(r"(?<![#0?,])[#0?,]*[#0?](?:\.([0#?]+))?")
"""The placeholders of digits in a number format, with those of decimals as a group: "#,##0.00"."""
RAISED_CONTEXT = 4
"""Number of characters before a superscript by which `raised_behind` decides whether it is a mark."""
_MAX_DIGITS_SHOWN = 10
"""Number of significant digits of a number without a format, as Excel shows it in a column of usual width."""


def load_xlsx(path: Path, max_bytes: int) -> Iterator[Document]:
    """Yield the workbook as one document, figures as their number format shows them, then the files inside of it.

    Raises:
        EncryptedDocument: It is protected by a password.
        UnreadableDocument: openpyxl cannot read it.
        DocumentTooLarge: It unpacks to more than `max_bytes`.
    """
    with open_archive(path, max_bytes, "Excel workbook") as archive:
        is_streamed = sum(part.file_size for part in archive.infolist()) > STREAMED_BYTES
        properties = core_properties(archive)
        contents = _read_archive(archive)
        embedded = embedded_documents(path, archive, "xl", properties.get("title", ""), contents.report, max_bytes)
    with _open_workbook(path, data_only=True, read_only=is_streamed, rich_text=contents.has_superscripts) as book:
        values: dict[Place, str] = {}
        if contents.has_formulas and not is_streamed:
            with _open_workbook(path, data_only=False, read_only=False) as with_formulas:
                formulas = _formulas_without_value(with_formulas, book, contents)
                values = _values_of_formulas(with_formulas, formulas, contents.report)
        elif contents.has_formulas:
            contents.report.less.append("some formulas have no stored value; open and save the file to have them")
        yield _document(path, book, properties, contents, values)
    yield from embedded


@contextmanager
def _open_workbook(path: Path, *, data_only: bool, read_only: bool, rich_text: bool = False) -> Iterator[Workbook]:
    """Open a workbook for the block; the options are those of `openpyxl.load_workbook`.

    Raises:
        UnreadableDocument: openpyxl cannot read it.
    """
    from openpyxl import load_workbook

    with warnings.catch_warnings(), open_file(path) as file:
        warnings.simplefilter("ignore")  # openpyxl warns of extensions that it would not write again
        try:
            book = load_workbook(file, data_only=data_only, read_only=read_only, keep_links=False, rich_text=rich_text)
        except DocumentError:
            raise
        except Exception as error:
            raise UnreadableDocument(
                f"{path} is no readable Excel workbook: {type(error).__name__}: {error}"
            ) from error
        try:
            yield book
        finally:
            book.close()


@dataclass
class _ArchiveContents:
    """What is read from a workbook's archive without openpyxl.

    Attributes:
        has_formulas: Whether some formula has no stored value.
        has_zeros: Whether the stored value of some formula is 0.
        has_superscripts: Whether some text of a cell has superscripts.
        is_computed_on_opening: Whether the workbook says that its formulas have to be computed when it is opened; their
            stored values are 0 until then (XlsxWriter).
        lines: The words of drawings and charts.
        authors: The author of each threaded comment, by its text.
        report: What was read and left out.
    """

    has_formulas: bool = False
    has_zeros: bool = False
    has_superscripts: bool = False
    is_computed_on_opening: bool = False
    lines: list[str] = field(default_factory=list)
    authors: dict[str, str] = field(default_factory=dict)
    report: ReadReport = field(default_factory=ReadReport)

    def inspect(self, sheet: bytes) -> None:
        """Record whether the XML of a sheet, or of shared texts, has formulas without value, zeros or superscripts."""
        self.has_formulas = self.has_formulas or WITHOUT_VALUE.search(sheet) is not None
        self.has_zeros = self.has_zeros or _ZERO.search(sheet) is not None
        self.has_superscripts = self.has_superscripts or _SUPERSCRIPT in sheet


def _read_archive(archive: ZipFile) -> _ArchiveContents:
    """Return what openpyxl does not read from a workbook: the words of drawings, the authors of threaded comments."""
    contents = _ArchiveContents()
    name_of_person: dict[str, str] = {}
    threads: list[tuple[str, str]] = []  # text and person of each comment
    for name in archive.namelist():
        if name == "xl/workbook.xml":
            contents.is_computed_on_opening = _COMPUTED_ON_OPENING.search(archive.read(name)) is not None
        elif name.startswith(("xl/worksheets/", "xl/sharedStrings")) and name.endswith(".xml"):
            contents.inspect(archive.read(name))
        elif name.startswith(("xl/persons/", "xl/threadedComments/", "xl/drawings/drawing")) and name.endswith(".xml"):
            for element in parse_xml(archive.read(name)).iter():
                if local(element) == "person":
                    name_of_person[str(element.get("id"))] = one_line(element.get("displayName") or "")
                elif local(element) == "threadedComment":
                    text = " ".join(one_line(part.text or "") for part in element if local(part) == "text")
                    threads.append((text, str(element.get("personId"))))
                elif local(element) in ("pic", "sp"):
                    _add_shape(element, contents)
        elif name.startswith("xl/charts/chart") and name.endswith(".xml"):
            contents.lines += [f"Chart: {title}" for title in chart_titles(parse_xml(archive.read(name)))]
    contents.has_formulas = contents.has_formulas or (contents.has_zeros and contents.is_computed_on_opening)
    contents.authors = {text: name_of_person.get(person, "") for text, person in threads}
    return contents


def _add_shape(shape: _Element, contents: _ArchiveContents) -> None:
    """Append a picture's description, or the words of a text box, to the contents."""
    non_visual = next((element for element in shape.iter() if local(element) == "cNvPr"), None)
    description = one_line(non_visual.get("descr") or "") if non_visual is not None else ""
    words = one_line(" ".join(element.text or "" for element in shape.iter() if local(element) == "t"))
    if words:
        contents.report.count("text_boxes")
        contents.lines.append(words)
    if local(shape) == "pic":
        contents.report.count("pictures_described" if description else "pictures_without_text")
        contents.lines += [f"Picture: {description}"] if description else []


def _formulas_without_value(with_formulas: Workbook, book: Workbook, contents: _ArchiveContents) -> dict[Place, str]:
    """Return the formulas of visible sheets that have no stored value, or a 0 that no program has computed.

    Args:
        with_formulas: The workbook opened with its formulas.
        book: The workbook opened with its values.
        contents: What the workbook's archive says of its formulas.
    """
    missing = (None, 0) if contents.is_computed_on_opening else (None,)
    formulas: dict[Place, str] = {}
    for sheet in book.worksheets:
        if sheet.sheet_state != "visible":
            continue
        for row in with_formulas[sheet.title].iter_rows():
            for cell in row:
                formula = getattr(cell.value, "text", cell.value)
                is_formula = cell.data_type == "f" and isinstance(formula, str)
                if is_formula and sheet.cell(cell.row, cell.column).value in missing:
                    formulas[sheet.title, cell.row, cell.column] = formula
    return formulas


def _values_of_formulas(book: Workbook, formulas: Mapping[Place, str], report: ReadReport) -> dict[Place, str]:
    """Return the text to show for each formula: its computed value, or else the formula itself; report the numbers."""
    values = computed(book, formulas) if formulas else {}
    report.count("formulas", len(values))
    if missing := len(formulas) - len(values):
        counted = "1 formula has" if missing == 1 else f"{missing:,} formulas have"
        report.less.append(f"{counted} no stored value and could not be computed; open and save the file to have them")
    from openpyxl.styles.numbers import is_date_format, is_timedelta_format
    from openpyxl.utils.datetime import from_excel

    texts = {}
    for (name, row, column), formula in formulas.items():
        value = values.get((name, row, column))
        cell = book[name].cell(row, column)
        if value is None:
            texts[name, row, column] = f"{one_line(formula)} (formula without a value)"
        elif isinstance(value, int | float) and is_date_format(cell.number_format):
            # openpyxl does not convert the values of cells with formulas to dates.
            is_duration = is_timedelta_format(cell.number_format)
            texts[name, row, column] = shown(from_excel(value, book.epoch, timedelta=is_duration), cell.number_format)
        else:
            texts[name, row, column] = shown(value, cell.number_format)
    return texts


def _document(
    path: Path, book: Workbook, properties: dict[str, str], contents: _ArchiveContents, values: Mapping[Place, str]
) -> Document:
    """Return the workbook's visible sheets as one document, with their comments, links and drawings."""
    parts, report, hidden = Parts(), contents.report, []
    for number, sheet in enumerate(book.worksheets, 1):
        if sheet.sheet_state != "visible":
            hidden.append(sheet.title)
            continue
        add_sheet(parts, number, one_line(sheet.title), _displayed_cells(sheet, values))
        for line in (*_headers_and_footers(sheet), *_links(sheet)):
            parts.add(line, "list")
        for line in _comments(sheet, contents.authors):
            report.count("comments")
            parts.add(line)
    for line in contents.lines:
        parts.add(line)
    report.count("sheets", len(book.worksheets) - len(hidden))
    if hidden:
        report.leave_out(f"hidden sheets: {', '.join(hidden)}")
    return file_document(
        path,
        parts.joined(),
        title=properties.get("title", ""),
        saved=iso_date(properties.get("modified") or properties.get("created")),
        authors=people(properties.get("creator", "").removeprefix("openpyxl")),
        pages=tuple(parts.pages),
        metadata=parts.metadata(),
        if_empty="holds no text in a visible sheet",
        report=report,
    )


def _links(sheet: Any) -> list[str]:
    """Return a line for each link of a sheet's cells; [] for a workbook that is read row by row."""
    cells = (cell for row in sheet.iter_rows() for cell in row) if hasattr(sheet, "merged_cells") else ()
    return link_lines((str(cell.value or ""), cell.hyperlink.target or "") for cell in cells if cell.hyperlink)


def _headers_and_footers(sheet: Any) -> Iterator[str]:
    """Yield the headers and footers that a sheet prints on each page, without codes for page numbers and file names."""
    for kind, labels in (("Header", ("oddHeader", "firstHeader")), ("Footer", ("oddFooter", "firstFooter"))):
        seen: set[str] = set()
        for name in labels:
            for side in ("left", "center", "right"):
                with_codes = getattr(getattr(getattr(sheet, name, None), side, None), "text", None)
                text = one_line(_HEADER_CODE.sub(" ", str(with_codes or "")))
                if any(char.isalpha() for char in _PAGE_WORDS.sub("", text)) and text not in seen:
                    seen.add(text)
                    yield f"{kind}: {text}"


def _comments(sheet: Any, authors: Mapping[str, str]) -> Iterator[str]:
    """Yield a line for each comment on a sheet's cells: "Comment by Ada on Sheet B3 (120): check"."""
    for row in sheet.iter_rows() if hasattr(sheet, "merged_cells") else ():
        for cell in row:
            if cell.comment is None:
                continue
            author, text = one_line(cell.comment.author or "").removeprefix("None"), str(cell.comment.text)
            if text.startswith("[Threaded comment]"):  # Excel's advice to older programs precedes the comment
                text = text.split("Comment:", 1)[-1]
                without_replies = one_line(text.split("Reply:", 1)[0])
                author = authors.get(without_replies, "")
            words = one_line(text).removeprefix(f"{author}:").strip()
            subject = f"{cell.coordinate}{f' ({one_line(cell.value)})' if cell.value is not None else ''}"
            yield f"Comment{f' by {author}' if author else ''} on {one_line(sheet.title)} {subject}: {words}"


def _displayed_cells(sheet: Any, values: Mapping[Place, str]) -> list[list[str]]:
    """Return a sheet's cells by row as Excel displays them.

    A merged cell is repeated at each position that it covers, unless it is a label wider than its column.
    """
    rows = [[shown(cell.value, cell.number_format) if cell.value is not None else "" for cell in row] for row in sheet]
    for cells, row in zip(sheet, rows, strict=False) if hasattr(sheet, "merged_cells") else ():
        _indent_label(cells, row)
    for (name, row_number, column_number), value in values.items():
        if name == sheet.title:
            rows[row_number - 1][column_number - 1] = value
    for merged in getattr(sheet, "merged_cells", None) or ():
        left, top, right, bottom = merged.bounds
        if top > len(rows) or left > len(rows[top - 1]):
            continue
        text = rows[top - 1][left - 1]
        is_one_row = top == bottom and right > left
        if is_one_row and is_wide_label(rows, top - 1, left - 1, right):
            continue
        for row in rows[top - 1 : bottom]:
            row[left - 1 : right] = [text] * len(row[left - 1 : right])
    return rows


def _indent_label(cells: Sequence[Any], row: list[str]) -> None:
    """Add `INDENT` before a row's label for each level of its indentation, by its format or by spaces."""
    index = next((number for number, text in enumerate(row) if text), None)
    if index is None or not isinstance(cells[index].value, str | list):
        return
    label = str(cells[index].value)
    depth = int(cells[index].alignment.indent or 0) if cells[index].has_style else 0
    spaces = len(label) - len(label.lstrip(" "))
    row[index] = INDENT * min(depth or spaces, MOST_INDENTED) + row[index]


def shown(value: Any, number_format: str) -> str:
    """Return a cell's value as its number format displays it; dates and times in ISO notation, other values as text."""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, datetime):
        return value.date().isoformat() if value.time() == time() else value.isoformat(" ", "minutes")
    if isinstance(value, time):
        return value.isoformat("auto" if value.second or "s" in number_format.lower() else "minutes")
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, timedelta):
        return _hours(value, has_seconds="s" in number_format.lower())
    if isinstance(value, int | float):
        return _figure(value, number_format or "General")
    return one_line(_with_raised(value) if isinstance(value, list) else value)


def _hours(value: timedelta, *, has_seconds: bool) -> str:
    """Return a duration in hours and minutes, as timesheets show it: "37:30"; with seconds if there are any."""
    seconds = round(abs(value.total_seconds()))
    hours, minutes, seconds = seconds // 3600, seconds // 60 % 60, seconds % 60
    sign = "-" if value < timedelta() else ""
    return f"{sign}{hours}:{minutes:02}" + (f":{seconds:02}" if has_seconds or seconds else "")


def _with_raised(runs: Sequence[Any]) -> str:
    """Return a text of runs with raised characters for superscripts: "9⁸" instead of "98"."""
    text = ""
    for run in runs:
        is_superscript = getattr(getattr(run, "font", None), "vertAlign", None) == "superscript"
        text += raised_behind(text[-RAISED_CONTEXT:], str(run)) if is_superscript else str(run)
    return text


def _figure(value: float, number_format: str) -> str:
    """Return a number as its number format displays it: with its decimals, thousands separator, unit and currency.

    Numbers in scientific notation, fractions and numbers without a format are written with all of their digits.
    """
    pattern = number_format[:_LONGEST_FORMAT].split(";")[0]
    currency_match = _CURRENCY.search(pattern)
    currency = next(filter(None, currency_match.groups())) if currency_match else ""
    placeholders = _NO_DIGITS.sub("", pattern)
    digits = _DIGITS.search(placeholders)
    is_other_notation = "E" in placeholders or "/" in placeholders
    if is_other_notation or digits is None or placeholders.strip().lower() in ("general", "@"):
        return f"{value:.{_MAX_DIGITS_SHOWN}g}" if isinstance(value, float) else str(value)
    decimals = len(digits[1] or "")
    separator = "," if "," in digits[0] else ""
    if float(value).is_integer() and (masked := _masked(value, number_format[:_LONGEST_FORMAT])):
        return masked
    if "%" in placeholders:
        return f"{value * 100:{separator}.{decimals}f}%"
    unit = _UNIT.search(pattern)
    text = f"{value:{separator}.{decimals}f}{unit[1] if unit else ''}"
    sign = "-" if text.startswith("-") and currency else ""
    return f"{sign}{currency.strip()}{text.removeprefix(sign)}" if currency else text


def _masked(value: float, number_format: str) -> str:
    """Return a whole number in the mask of its format, "00417" or "555-123-9876"; "" if the format is no mask.

    Nobody would find a key number without its leading zeros, or a telephone number without its separators. Return "",
    too, for a negative number, and for one with more digits than a mask with separators has.
    """
    sections = number_format.split(";")
    limit = _CONDITION.match(sections[0])
    is_above_limit = limit is not None and value > float(limit[1])
    section = sections[1] if is_above_limit and len(sections) > 1 else sections[0]
    mask = _LITERAL.sub(lambda match: match[1] or match[2] or "", _CONDITION.sub("", section)).strip()
    places = mask.count("0") + mask.count("#")
    if value < 0 or _MASK.fullmatch(mask) is None or (mask.isdigit() and places < 2):
        return ""
    digits = str(int(value)).zfill(mask.count("0"))
    if len(digits) > places and not mask.isdigit():
        return ""
    backwards: list[str] = []  # the last digit fills the last placeholder
    for char in reversed(mask):
        if char not in "0#":
            backwards.append(char)
        elif digits:
            backwards.append(digits[-1])
            digits = digits[:-1]
    return (digits + "".join(reversed(backwards))).lstrip("- /")
