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
"""Larger workbooks, unpacked, are read a row at a time: the whole takes fifty times as much memory. Merged cells are
then not known. A guess."""
_CURRENCY = re.compile(r'\[\$([^\]-]{1,4})[^\]]{0,20}\]|"([$€£¥]|[A-Z]{3})"|([$€£¥])')
_UNSHOWN = re.compile(r'"[^"]*"|\[[^\]]{0,100}\]|\\.|_.|\*.')
_FORMAT = 100
"""Characters of a number format that are looked at; Excel takes 255."""
_UNIT = re.compile(r'[0#?]"([^"]{1,20})"$')
_CONDITION = re.compile(r"\[<=?(\d{1,12})\]")
"""For which numbers a part of a format is, as in "[<=9999999]###-####;(###) ###-####"."""
_LITERAL = re.compile(r'"([^"]*)"|\\(.)')
_MASK = re.compile(r"0{2,}|[(+]?[0#]{1,}(?:[-() /]{1,2}[0#]{1,}){1,5}")
"""A format that fills digits into a mask: "00000", "000-00-0000"; "# ?/?" is a fraction, "0.00" a decimal."""
_CODE = re.compile(r"&\[\w+\]|&\"[^\"]{0,60}\"|&K[0-9A-F]{6}|&\d{1,2}|&[A-Z]")
"""What a header has computed when it is printed, and how it looks: "&P", "&[Page]", "&\"Arial,Bold\""."""
_CODE_WORDS = re.compile(r"\b(?:page|of|seite|von|sheet)\b", re.IGNORECASE)
_COMPUTED_ON_OPENING = re.compile(rb'fullCalcOnLoad="(?:1|true)"')
_ZERO = re.compile(rb"</f>\s*<v>0</v>")
_SUPERSCRIPT = b'"superscript"'
_DIGITS = re.compile(r"(?<![#0?,])[#0?,]*[#0?](?:\.([0#?]+))?")


def load_xlsx(path: Path, max_bytes: int) -> Iterator[Document]:
    """Yield the workbook as one document, figures as their number format shows them, then the files inside of it.

    Raises:
        EncryptedDocument: It is protected by a password.
        UnreadableDocument: openpyxl cannot read it.
        DocumentTooLarge: It unpacks to more than `max_bytes`.
    """
    with open_archive(path, max_bytes, "Excel workbook") as archive:
        streamed = sum(part.file_size for part in archive.infolist()) > STREAMED_BYTES
        properties = core_properties(archive)
        beside = _beside(archive)
        embedded = embedded_documents(path, archive, "xl", properties.get("title", ""), beside.report, max_bytes)
    with _opened(path, data_only=True, read_only=streamed, rich_text=beside.has_superscripts) as book:
        values: dict[Place, str] = {}
        if beside.has_formulas and not streamed:
            with _opened(path, data_only=False, read_only=False) as written:
                values = _values(written, _formulas(written, book, beside), beside.report)
        elif beside.has_formulas:
            beside.report.less.append("some formulas have no stored value; open and save the file to have them")
        yield _document(path, book, properties, beside, values)
    yield from embedded


@contextmanager
def _opened(path: Path, *, data_only: bool, read_only: bool, rich_text: bool = False) -> Iterator[Workbook]:
    """Open a workbook for the block; errors of openpyxl become those of this package."""
    from openpyxl import load_workbook

    with warnings.catch_warnings(), open_file(path) as file:
        warnings.simplefilter("ignore")  # Of extensions that openpyxl does not keep, which matters to writers only.
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
class _Beside:
    """What a workbook contains besides cells: words of drawings, and the writers of threaded comments."""

    has_formulas: bool = False
    """Whether some formula has no stored value."""
    has_zeros: bool = False
    """Whether the stored value of some formula is 0."""
    has_superscripts: bool = False
    is_computed_on_opening: bool = False
    """Whether the workbook says that its formulas have to be computed, whose values are 0 until then (XlsxWriter)."""
    lines: list[str] = field(default_factory=list)
    writers: dict[str, str] = field(default_factory=dict)
    report: ReadReport = field(default_factory=ReadReport)

    def look_at(self, sheet: bytes) -> None:
        """Note what the XML of a sheet, or of the texts of all, has that is read in another way."""
        self.has_formulas = self.has_formulas or WITHOUT_VALUE.search(sheet) is not None
        self.has_zeros = self.has_zeros or _ZERO.search(sheet) is not None
        self.has_superscripts = self.has_superscripts or _SUPERSCRIPT in sheet


def _beside(archive: ZipFile) -> _Beside:
    """Return the words of drawings and the writers of comments in a workbook's archive."""
    found = _Beside()
    people: dict[str, str] = {}
    threads: list[tuple[str, str]] = []
    for name in archive.namelist():
        if name == "xl/workbook.xml":
            found.is_computed_on_opening = _COMPUTED_ON_OPENING.search(archive.read(name)) is not None
        elif name.startswith(("xl/worksheets/", "xl/sharedStrings")) and name.endswith(".xml"):
            found.look_at(archive.read(name))
        elif name.startswith(("xl/persons/", "xl/threadedComments/", "xl/drawings/drawing")) and name.endswith(".xml"):
            for each in parse_xml(archive.read(name)).iter():
                if local(each) == "person":
                    people[str(each.get("id"))] = one_line(each.get("displayName") or "")
                elif local(each) == "threadedComment":
                    words = " ".join(one_line(part.text or "") for part in each if local(part) == "text")
                    threads.append((words, str(each.get("personId"))))
                elif local(each) in ("pic", "sp"):
                    _add_shape(each, found)
        elif name.startswith("xl/charts/chart") and name.endswith(".xml"):
            found.lines += [f"Chart: {title}" for title in chart_titles(parse_xml(archive.read(name)))]
    found.has_formulas = found.has_formulas or (found.has_zeros and found.is_computed_on_opening)
    found.writers = {words: people.get(person, "") for words, person in threads}
    return found


def _add_shape(shape: _Element, found: _Beside) -> None:
    """Record a picture's description, or the words of a text box."""
    described = next((one_line(each.get("descr") or "") for each in shape.iter() if local(each) == "cNvPr"), "")
    words = one_line(" ".join(each.text or "" for each in shape.iter() if local(each) == "t"))
    if words:
        found.report.count("text_boxes")
        found.lines.append(words)
    if local(shape) == "pic":
        found.report.count("pictures_described" if described else "pictures_without_text")
        found.lines += [f"Picture: {described}"] if described else []


def _formulas(written: Workbook, book: Workbook, beside: _Beside) -> dict[Place, str]:
    """Return the formulas of visible sheets that have no stored value, or a 0 that their program did not compute."""
    missing = (None, 0) if beside.is_computed_on_opening else (None,)
    found: dict[Place, str] = {}
    for sheet in book.worksheets:
        if sheet.sheet_state != "visible":
            continue
        for row in written[sheet.title].iter_rows():
            for cell in row:
                formula = getattr(cell.value, "text", cell.value)
                is_formula = cell.data_type == "f" and isinstance(formula, str)
                if is_formula and sheet.cell(cell.row, cell.column).value in missing:
                    found[sheet.title, cell.row, cell.column] = formula
    return found


def _values(book: Workbook, formulas: Mapping[Place, str], report: ReadReport) -> dict[Place, str]:
    """Return the values to show for formulas without a stored value: computed ones, else the formulas."""
    values = computed(book, formulas) if formulas else {}
    report.count("formulas", len(values))
    if missing := len(formulas) - len(values):
        many = "1 formula has" if missing == 1 else f"{missing:,} formulas have"
        report.less.append(f"{many} no stored value and could not be computed; open and save the file to have them")
    from openpyxl.styles.numbers import is_date_format, is_timedelta_format
    from openpyxl.utils.datetime import from_excel

    texts = {}
    for (name, row, column), formula in formulas.items():
        value = values.get((name, row, column))
        cell = book[name].cell(row, column)
        if value is None:
            texts[name, row, column] = f"{one_line(formula)} (formula without a value)"
        elif isinstance(value, int | float) and is_date_format(cell.number_format):
            # A cell with a formula is no date to openpyxl, whatever its format.
            is_span = is_timedelta_format(cell.number_format)
            texts[name, row, column] = shown(from_excel(value, book.epoch, timedelta=is_span), cell.number_format)
        else:
            texts[name, row, column] = shown(value, cell.number_format)
    return texts


def _document(
    path: Path, book: Workbook, properties: dict[str, str], beside: _Beside, values: Mapping[Place, str]
) -> Document:
    """Return the workbook's visible sheets as one document."""
    parts, report, hidden = Parts(), beside.report, []
    for number, sheet in enumerate(book.worksheets, 1):
        if sheet.sheet_state != "visible":
            hidden.append(sheet.title)
            continue
        add_sheet(parts, number, one_line(sheet.title), _grid(sheet, values))
        for line in (*_running(sheet), *_links(sheet)):
            parts.add(line, "list")
        for line in _comments(sheet, beside.writers):
            report.count("comments")
            parts.add(line)
    for line in beside.lines:
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
    """Return where the links of a sheet's cells lead; a workbook that is read a row at a time does not say it."""
    cells = (cell for row in sheet.iter_rows() for cell in row) if hasattr(sheet, "merged_cells") else ()
    return link_lines((str(cell.value or ""), cell.hyperlink.target or "") for cell in cells if cell.hyperlink)


def _running(sheet: Any) -> Iterator[str]:
    """Yield what a sheet prints above and below each page, without numbers of pages and names of files."""
    for kind, labels in (("Header", ("oddHeader", "firstHeader")), ("Footer", ("oddFooter", "firstFooter"))):
        seen: set[str] = set()
        for name in labels:
            for side in ("left", "center", "right"):
                written = getattr(getattr(getattr(sheet, name, None), side, None), "text", None)
                text = one_line(_CODE.sub(" ", str(written or "")))
                if any(char.isalpha() for char in _CODE_WORDS.sub("", text)) and text not in seen:
                    seen.add(text)
                    yield f"{kind}: {text}"


def _comments(sheet: Any, writers: Mapping[str, str]) -> Iterator[str]:
    """Yield the comments on a sheet's cells, with their writers and cells."""
    for row in sheet.iter_rows() if hasattr(sheet, "merged_cells") else ():
        for cell in row:
            if cell.comment is None:
                continue
            author, text = one_line(cell.comment.author or "").removeprefix("None"), str(cell.comment.text)
            if text.startswith("[Threaded comment]"):  # Excel's advice to older programs stands before it
                text = text.split("Comment:", 1)[-1]
                first = one_line(text.split("Reply:", 1)[0])
                author = writers.get(first, "")
            words = one_line(text).removeprefix(f"{author}:").strip()
            about = f"{cell.coordinate}{f' ({one_line(cell.value)})' if cell.value is not None else ''}"
            yield f"Comment{f' by {author}' if author else ''} on {one_line(sheet.title)} {about}: {words}"


def _grid(sheet: Any, values: Mapping[Place, str]) -> list[list[str]]:
    """Return a sheet's cells as displayed; a merged cell is repeated in each of its places, unless it is a label."""
    rows = [[shown(cell.value, cell.number_format) if cell.value is not None else "" for cell in row] for row in sheet]
    for cells, row in zip(sheet, rows, strict=False) if hasattr(sheet, "merged_cells") else ():
        _indent(cells, row)
    for (name, down, right), instead in values.items():
        if name == sheet.title:
            rows[down - 1][right - 1] = instead
    for merged in getattr(sheet, "merged_cells", None) or ():
        left, top, right, bottom = merged.bounds
        if top > len(rows) or left > len(rows[top - 1]):
            continue
        text = rows[top - 1][left - 1]
        if top == bottom and right > left and is_wide_label(rows, top - 1, left - 1, right):
            continue
        for row in rows[top - 1 : bottom]:
            row[left - 1 : right] = [text] * len(row[left - 1 : right])
    return rows


def _indent(cells: Sequence[Any], row: list[str]) -> None:
    """Add `INDENT` before a row's label for each level of indentation, by format or by spaces."""
    place = next((number for number, text in enumerate(row) if text), None)
    if place is None or not isinstance(cells[place].value, str | list):
        return
    label = str(cells[place].value)
    depth = int(cells[place].alignment.indent or 0) if cells[place].has_style else 0
    row[place] = INDENT * min(depth or len(label) - len(label.lstrip(" ")), MOST_INDENTED) + row[place]


def shown(value: Any, number_format: str) -> str:
    """Return a cell's value as its number format displays it, for percentages, currencies and decimals."""
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
    """Return how long something takes in hours, as timesheets show it: "37:30" is a day and a half and more."""
    seconds = round(abs(value.total_seconds()))
    hours, minutes, seconds = seconds // 3600, seconds // 60 % 60, seconds % 60
    sign = "-" if value < timedelta() else ""
    return f"{sign}{hours}:{minutes:02}" + (f":{seconds:02}" if has_seconds or seconds else "")


def _with_raised(runs: Sequence[Any]) -> str:
    """Return a text of runs with those above the line written so: "9" and a raised "8" are no 98."""
    text = ""
    for run in runs:
        is_raised = getattr(getattr(run, "font", None), "vertAlign", None) == "superscript"
        text += raised_behind(text[-4:], str(run)) if is_raised else str(run)
    return text


def _figure(value: float, number_format: str) -> str:
    """Return a number as its number format displays it."""
    pattern = number_format[:_FORMAT].split(";")[0]
    currency = next((next(filter(None, match.groups())) for match in _CURRENCY.finditer(pattern)), "")
    plain = _UNSHOWN.sub("", pattern)
    digits = _DIGITS.search(plain)
    if "E" in plain or "/" in plain or digits is None or plain.strip().lower() in ("general", "@"):
        return f"{value:.10g}" if isinstance(value, float) else str(value)
    places = len(digits[1] or "")
    grouped = "," if "," in digits[0] else ""
    if float(value).is_integer() and (mask := _mask(value, number_format[:_FORMAT])):
        return mask
    if "%" in plain:
        return f"{value * 100:{grouped}.{places}f}%"
    unit = _UNIT.search(pattern)
    text = f"{value:{grouped}.{places}f}{unit[1] if unit else ''}"
    sign = "-" if text.startswith("-") and currency else ""
    return f"{sign}{currency.strip()}{text.removeprefix(sign)}" if currency else text


def _mask(value: float, number_format: str) -> str:
    """Return a number as the mask of its format has it, "00417" or "555-123-9876"; "" of another format.

    A key number without its first digits, or a telephone number without its parts, is found by nobody.
    """
    sections = number_format.split(";")
    limit = _CONDITION.match(sections[0])
    section = sections[0] if limit is None or value <= float(limit[1]) or len(sections) == 1 else sections[1]
    mask = _LITERAL.sub(lambda match: match[1] or match[2] or "", _CONDITION.sub("", section)).strip()
    places = mask.count("0") + mask.count("#")
    if value < 0 or _MASK.fullmatch(mask) is None or (mask.isdigit() and places < 2):
        return ""
    digits = str(int(value)).zfill(mask.count("0"))
    if len(digits) > places and not mask.isdigit():
        return ""
    found: list[str] = []
    for char in reversed(mask):
        if char not in "0#":
            found.append(char)
        elif digits:
            found.append(digits[-1])
            digits = digits[:-1]
    return (digits + "".join(reversed(found))).lstrip("- /")
