"""Tables as lines of text: each row is complete in itself, with the table's caption and column names beside the cells.

A row reads `Table 2. Adverse events. | Event: Nausea | Placebo: 12 | Drug: 15`: a caption ends with a full stop, rows
that follow closely have only its number, and a cell without a column name is just its text. Loaders write such lines,
and all readers of tables parse them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise, zip_longest

from preflight_rag.text.size_classes import size_class

BAR = " | "
LONGEST_ROW = 500
"""Characters of a line; a wider row continues in further lines that also begin with its first cell. A guess, below what
a quote and the embedder hold."""
LONGEST_CAPTION = 80
LONGEST_NAME = 60
"""Characters of a caption beside each row and of a column's name; longer ones are cut between words. Both are guesses.
"""
INDENT = "\u2003"
"""Prefix of a first cell that is indented under the heading above it."""
MIN_TITLE_WORDS = 6
"""Least words of a row that is the title of a list below it; headings within a table are shorter. A guess."""
CAPTION_INTERVAL_CHARS = 300
"""Characters of rows after which the caption is repeated, so that each passage of a table has it; rows between have
only its number. A passage holds about 500 characters of numbers."""
LONGEST_NOTE = 100
"""A row with one cell of more characters is a note, not a heading of the rows below it; a guess."""
_FIGURE_AT_START = re.compile(r"[\W_]*\d[\d.,]*")
_SIGN_BEFORE_FIGURE = re.compile(r"[$€£¥]|US\$|\(")
_SIGN_BEHIND_FIGURE = re.compile(r"[)%]+|\) ?%")
_TABLE_NUMBER = re.compile(r"(?:supplementary )?(?:table|tab\.?|exhibit|schedule) [\w.]*\.? *", re.IGNORECASE)
_YEAR_AS_NAME = re.compile(
    r"(?:\w+ ){0,3}(?P<year>(?:19|20)\d\d)(?:[-–/](?P<to>(?:20)?\d\d)(?!\d))?"
    r"(?: \(?(?:(?:revised|original|draft|final) )?(?:actuals?|budget(?:ed)?|forecast|outturn|estimated?|plan(?:ned)?"
    r"|proposed|revised|approved|projected|audited))?\W*$",
    re.IGNORECASE,
)
"""A name of a column by its year: "Year ended June 2024", "2024-25 actual"; "2024 visitors" may be a number."""
_DAY_AS_NAME = re.compile(r"(?:19|20)\d\d-\d\d(?:-\d\d)?|\d{1,2}[./]\d{1,2}[./](?:\d\d|\d{4})?")
"""A cell with a day or a month, which may name a column: "2024-07-01", "1.7.2024"."""
_MIN_CLASS_COLUMNS = 2
"""Least columns that are named by classes of sizes: a single number with "up to" is a value. A guess."""
_TOTAL_IN_LABEL = re.compile(r"(?:sub-?)?totals?(?: (?:of|for))?\b", re.IGNORECASE)
_WHOLE_LABEL_TOTAL = re.compile(r"(?:grand |sub-?)?totals?[ :]*", re.IGNORECASE)
_ROW_NUMBER_COLUMN = re.compile(r"(?:(?:item|lot|ref|inv|cat)\.? )?(?:nos?\.?|number|nr\.?|#)", re.IGNORECASE)
"""Names of a column that counts the rows: "No.", "Lot no.", "#"."""
_ROW_OF_WHOLE_TABLE = re.compile(
    r"(?:grand|overall) totals?\b|net (?:income|profit|loss|result|total|position|balance)\b(?! per)|balance$"
    r"|(?:net )?(?:surplus|deficit)(?=\W*$| ?[/(]| (?:or|for|before|after|carried)\b)",
    re.IGNORECASE,
)
"""The beginning of a row about all sections above it: "Surplus / (deficit)", "Net income for the year"."""
_DIGITS = re.compile(r"\d+")
_MIN_ROWS_BELOW = 2
"""Least rows below the first one that can show that it is like them."""
_CODE_LABEL = re.compile(r"\d{1,4}[A-Za-z]{1,2}")
"""A label that begins with a digit and is no number: "3B"."""
_MIN_DAY_COLUMNS = 3
"""Least days that name columns: one is a value, and two may be the ends of a period."""
MOST_HEADER_ROWS = 3
"""Most rows of an unmarked header, one above the other; a guess."""
MOST_ABOVE = 2
"""Most cells of a row above the header that describes the whole table, such as "As of | 31 March"; a guess."""
NO_VALUE = "error, no value"
"""The text of a cell in which a program shows an error instead of a value."""
NOT_MARKED = "not marked"
"""The text of a blank cell in a column that otherwise has only check marks: a blank means no, and would be lost."""
MAX_MARKED_COLUMNS = 8
"""Most columns of marks whose blanks are filled in: rows of a wider matrix would have little else. A guess."""
_MEANING_COLUMN = re.compile(
    r"(?:meanings?|descriptions?|explanations?|definitions?|stands for|means|bedeutung|beschreibung|erklärung"
    r"|signification|significado|significato|betekenis)(?: [\w-]+)?",
    re.IGNORECASE,
)
"""Names of a legend's second column: "Meaning", "Description"; "Price" is none."""
_FULL_STOP = re.compile(r"\. ")
_ABBREVIATIONS = frozenset(
    {"incl", "excl", "approx", "ca", "no", "nos", "nr", "vs", "fig", "figs", "e.g", "i.e", "dr", "mr", "mrs", "ms"}
    | {"prof", "resp", "est", "min", "max", "avg", "vol", "ed", "pp", "ref", "dept"}
)
"""Abbreviations whose full stop ends no caption: "fees incl. VAT"."""
_LETTER_FIELD = re.compile(
    r"(?:bill(?:ed)?|ship(?:ped)?|sold|deliver(?:ed|y)?|invoiced?|send|remit)(?: (?:to|for|address)){0,2}\s?:"
    r"|(?:to|from|attn|attention|address|customer|client|supplier|vendor|buyer|seller|payee|contact|tel|phone|fax"
    r"|e-?mail|(?:your|our) ref(?:erence)?|(?:payment )?terms|(?:vat|order|invoice|account) (?:no|number|date))\.?\s?:",
    re.IGNORECASE,
)
"""The beginning of a line above the items of a letter or an invoice: "Bill to:", "Phone:"."""
_STREET = re.compile(
    r"\d{1,4}[a-z]? (?:[A-ZÀ-Þ][\w'’.-]{1,20} ){1,3}(?:Street|Str?\.|Road|Rd\.?|Avenue|Ave\.?|Lane)"
    r"|[A-ZÀ-Þ][\w-]{0,30}(?:straße|strasse|gasse) \d{1,4}[a-z]?|[A-ZÀ-Þ][\w-]{1,20} Str(?:aße|asse) \d{1,4}[a-z]?"
)
_POSTCODE = re.compile(r"\b(?:[A-Z]{1,2}\d[\dA-Z]? \d[A-Z]{2}|[A-Z]{2} \d{5}(?:-\d{4})?)$")
_NAME_WORD = re.compile(r"[A-ZÀ-Þ\d][\w'’.&/-]*|&|and|of|von|van|de|la|the")
_CAPTION_WORD = re.compile(
    r"\b(?:rents?|prices?|fees?|charges?|costs?|rates?|fares?|sales|visits|tariffs?|wages|salaries|bills?|budgets?|takings"
    r"|figures|hours|times|timetables?|rooms?|flats?|units?|tenants?|residents?|staff|stock|lists?|tables?|plans?|results"
    r"|expenses|accounts?|inventory|readings|menu|schedule|mieten|preise|kosten|zimmer|tab\.|fig\.)(?!\w)",
    re.IGNORECASE,
)
"""A word for what a table lists, which makes a line above it a caption: "Rents, 12 Mill Road" is no mere address."""
_AMOUNT_COLUMN = re.compile(
    r"(?:charges?|prices?|costs?|fees?|amounts?|rates?|tariffs?|preis|kosten|betrag|prix|precio|importe|prezzo|prijs)"
    r"(?: ?[(\[][^()\[\]]{1,20}[)\]])?",
    re.IGNORECASE,
)
"""Names of a column of amounts, beside labels; below one, "free" and "none" are amounts, too."""
_CODE_COLUMN = re.compile(
    r"(?:[\w-]+ )?(?:codes?|symbols?|marks?|keys?|signs?|abbreviations?|letters?|abbr\.?|kürzel|zeichen|symbole)",
    re.IGNORECASE,
)
"""Names of a legend's first column: "Code", "Day code", "Symbol"; "Name" is none."""
_CHECK_MARKS = frozenset({"x", "X", "✓", "✔", "✅", "•", "●", "[ticked]"})
_ERROR = re.compile(
    r"#[¡¿]?(?:VALUE|REF|DIV/0|NUM|NULL|SPILL|CALC|FIELD|BLOCKED|CONNECT|UNKNOWN|BUSY|EXTERNAL|PYTHON"
    r"|WERT|BEZUG|ZAHL|ÜBERLAUF|VALEUR|NOMBRE|NUL|VALOR|NULO|VALORE|RIF|NULLO|NÚM|WAARDE|VERW|DEEL/0|GETAL|LEEG"
    r"|ARG|ADR|DZIEL/0|LICZBA|ZERO|HODNOTA|ODKAZ|DĚLENÍ_NULOU|ČÍSLO)!"
    r"|#¿?(?:NAME|NOM|NOMBRE|NOME|NAAM|NAZWA|NÁZEV)\?|#(?:N/[ADB]|NV|NEDOSTUPNÝ|GETTING_DATA)|Err:5\d\d|#{3,}"
)
"""Errors in cells without a value in Excel, in nine languages, and LibreOffice: "#DIV/0!", "#WERT!", "Err:502", and
"####" for a number wider than its column; not "#12"."""
_CELL_WITHOUT_VALUE = re.compile(rf"{NO_VALUE} \(([^()\n]{{2,20}})\)")


@dataclass(frozen=True)
class Cell:
    """A cell of a row: its column's name, "" if there is none, its text, and the text's offsets in the line."""

    column: str
    text: str
    start: int
    end: int


@dataclass(frozen=True)
class TableRow:
    """A row that was parsed from its line; the first cell names the row's subject."""

    caption: str
    cells: tuple[Cell, ...]


def is_row(line: str) -> bool:
    """Return whether a line is a row of a table."""
    return BAR in line


def names_codes(column: str) -> bool:
    """Return whether a column's name says that it holds codes: "Code", "Symbol"."""
    return _CODE_COLUMN.fullmatch(column) is not None


def names_legend(names: Sequence[str]) -> bool:
    """Return whether names of two columns are those of a legend: "Grade" and "Meaning", "Code" and "Shift"."""
    return len(names) == 2 and (_MEANING_COLUMN.fullmatch(names[1]) is not None or names_codes(names[0]))


def names_amounts(column: str) -> bool:
    """Return whether a column's name says no more than that it holds amounts of money: "Price", "Fee (£)"."""
    return _AMOUNT_COLUMN.fullmatch(column) is not None


def is_error(cell: str) -> bool:
    """Return whether a cell shows that a program found no value for it, e.g. a spreadsheet's "#DIV/0!"."""
    return _ERROR.fullmatch(cell.strip()) is not None


def errors_in(text: str) -> list[str]:
    """Return the errors in cells without a value in a text's rows, such as "#DIV/0!", in order."""
    return _CELL_WITHOUT_VALUE.findall(text)


def has_no_value(cell: str) -> bool:
    """Return whether a parsed cell says that it has no value."""
    return _CELL_WITHOUT_VALUE.fullmatch(cell) is not None


def overlaps_error(text: str, start: int, end: int) -> bool:
    """Return whether a part of a text overlaps a cell without a value."""
    return NO_VALUE in text and any(
        each.start() < end and each.end() > start for each in _CELL_WITHOUT_VALUE.finditer(text)
    )


def parse_row(line: str) -> TableRow | None:
    """Return the row that a line represents, or None if it is not a row."""
    cells: list[Cell] = []
    caption, start = "", 0
    for index, part in enumerate(line.split(BAR)):
        end = start + len(part)
        name, separator, text = part.partition(": ")
        # A caption has no ": ", but a comma instead; a cell may end with a full stop, too: "Supplier: Acme Inc."
        if index == 0 and part.endswith(".") and not separator:
            caption = part
        elif separator:
            cells.append(Cell(name, text, end - len(text), end))
        else:
            cells.append(Cell("", part, start, end))
        start = end + len(BAR)
    has_column_below_caption = bool(caption and cells and cells[0].column)
    return TableRow(caption, tuple(cells)) if len(cells) > 1 or has_column_below_caption else None


def table_name(caption: str) -> str:
    """Return the part of a row's caption that all rows of its table have: its number, else all of it."""
    number = _TABLE_NUMBER.match(caption)
    return number[0].strip() if number else caption


def table_lines(
    grid: Sequence[Sequence[str]], *, caption: str = "", header_rows: int | None = None, headings: bool = True
) -> list[str]:
    """Return the rows of a table as lines.

    Args:
        grid: Its cells by row, header rows first; a cell that spans several places is repeated in each of them.
        caption: The table's caption.
        header_rows: Number of header rows; None if the file does not say.
        headings: Whether a row with only a first cell is a heading of the rows below it.
    """
    indented = {_one_line(row[0]) for row in grid if row and row[0].startswith(INDENT)}
    rows = [[_one_line(cell) for cell in row] for row in grid]
    rows = [row for row in rows if any(row)]
    width = max((len(row) for row in rows), default=0)
    if not rows:
        return []
    rows = [row + [""] * (width - len(row)) for row in rows]
    if headings and (title_row := _find_list_title(rows)):
        lines = table_lines(rows[:title_row], caption=caption, header_rows=header_rows)
        return lines + _titled_list_lines(rows[title_row:])
    if header_rows is None:
        caption, rows = _move_caption_row(caption, rows)
        rows, header_rows = _find_header(rows)
    names = [_column_name([row[column] for row in rows[:header_rows]]) for column in range(width)]
    body = rows[header_rows:] or rows[:header_rows]
    body = _fill_in_blank_marks(names, body, headings=headings)
    writer = _RowWriter(names, short_caption(caption), indented)
    for row, row_below in zip(body, [*body[1:], []], strict=True):
        if headings and width > 1 and len({cell for cell in row if cell}) == 1:
            writer.add_single_cell(row, row_below)
        else:
            writer.add_row(row)
    return writer.lines


def _titled_list_lines(rows: list[list[str]]) -> list[str]:
    """Return the lines of one or several titled lists of names and values, and of the table that may follow them."""
    lines: list[str] = []
    while rows and _begins_titled_list(rows):
        items = [[cell for cell in row if cell] for row in rows[1:]]
        count = next((index for index, item in enumerate(items) if len(item) != len(items[0])), len(items))
        lines += table_lines(items[:count], caption=rows[0][0], header_rows=0)
        rows = rows[1 + count :]
    return lines + table_lines(rows)


class _RowWriter:
    """Writes the rows of a table as lines, with the caption and the headings within the table.

    Args:
        names: The names of the columns, "" for each without one.
        caption: The table's short caption.
        indented: The first cells that are indented below a heading; empty if the table has no indentation.
    """

    def __init__(self, names: Sequence[str], caption: str, indented: set[str]) -> None:
        self.lines: list[str] = []
        self._names, self._caption, self._indented = names, caption, indented
        match = _TABLE_NUMBER.match(caption)
        self._number = match[0].strip() if match and match[0] != caption else ""
        self._chars_since_caption = CAPTION_INTERVAL_CHARS
        self._heading, self._sections = "", 0
        self._is_heading_unused = self._is_first_of_section = False

    def add_single_cell(self, row: Sequence[str], row_below: Sequence[str]) -> None:
        """Add a row with a single text: the heading of the rows below it, or a note, which is written alone."""
        text = next(filter(None, row), "")
        has_cells_below = len({cell for cell in row_below if cell}) > 1
        if row[0] and len(text) <= LONGEST_NOTE and has_cells_below:
            self._end_section()
            self._heading, self._sections = text.rstrip(" :"), self._sections + 1
            self._is_heading_unused = self._is_first_of_section = True
        else:
            self.lines.append(text)

    def _end_section(self) -> None:
        """Forget the heading; one that no row was written below becomes a line of its own."""
        if self._is_heading_unused:
            self.lines.append(self._heading)
        self._heading = ""

    def add_row(self, row: Sequence[str]) -> None:
        """Add a row of cells, which begins with the heading of its section."""
        label = row[0]
        if self._indented and label not in self._indented:
            self._end_section()
        if self._sections > 1 and not self._is_first_of_section and _ROW_OF_WHOLE_TABLE.match(label):
            self._heading = ""
        heading = self._heading
        ends_section = bool(heading) and not self._is_first_of_section and _is_total_of(label, heading)
        self._is_heading_unused = self._is_first_of_section = False
        names = self._names
        # "Total" is not the number of a row.
        if _ROW_NUMBER_COLUMN.fullmatch(names[0]) and _WHOLE_LABEL_TOTAL.fullmatch(label):
            names = ["", *names[1:]]
        needs_caption = self._chars_since_caption >= CAPTION_INTERVAL_CHARS
        # A name and its value do not say to which heading they belong, so they need the whole caption.
        is_pair = len(row) == 2 and not any(names)
        caption = self._caption if is_pair or needs_caption else self._number
        full_label = f"{heading}, {label}" if heading and label else label or heading
        written = _format_row(caption, *_join_spanning_cells(names, [full_label, *row[1:]]))
        self._chars_since_caption = sum(map(len, written)) + (0 if needs_caption else self._chars_since_caption)
        self.lines += written
        if ends_section:
            self._heading = ""


def _is_total_of(label: str, heading: str) -> bool:
    """Return whether a row's label is the total of the section with a heading, which then ends.

    Beside "total", it has only words of the heading: "Total income" below "INCOME". "Total cholesterol" below "Lipids"
    is one of several numbers.
    """
    total = _TOTAL_IN_LABEL.search(label)
    if total is None:
        return False
    other_words = _singular_words(f"{label[: total.start()]} {label[total.end() :]}")
    return set(other_words) <= set(_singular_words(heading))


def _singular_words(text: str) -> list[str]:
    """Return a text's words casefolded, without the s of a plural."""
    return [word.removesuffix("s") for word in re.findall(r"[^\W\d_]+", text.casefold())]


def _find_list_title(rows: Sequence[Sequence[str]]) -> int:
    """Return the index of a row below the first that is the title of a list of names and values; 0 without one."""
    return next((index for index in range(1, len(rows)) if _begins_titled_list(rows[index:])), 0)


def _begins_titled_list(rows: Sequence[Sequence[str]]) -> bool:
    """Return whether the first row is the title of a list of names and values below it, and no heading within a table.

    A page's lines may join such a list with the table above it: "(3) The shareholders approved the plan:" above "For"
    and "901" in the first and the last column of five.
    """
    (title, *others), below = rows[0], rows[1:3]
    filled_columns = [[column for column, cell in enumerate(row) if cell] for row in below]
    is_title = title.endswith(":") and len(title.split()) >= MIN_TITLE_WORDS and not any(others)
    if not is_title or len(others) < 2 or len(filled_columns) < 2:
        return False
    first, second = filled_columns
    return len(first) == 2 and first == second


def _fill_in_blank_marks(names: Sequence[str], body: list[list[str]], *, headings: bool) -> list[list[str]]:
    """Return a table's rows with `NOT_MARKED` in the blank cells of columns that otherwise hold one kind of check mark.

    Unchanged if there are no such columns or too many. If `headings`, rows with only a first cell are headings, and
    stay as they are.
    """
    labelled_rows = [row for row in body if row[0] and (not headings or sum(map(bool, row)) > 1)]
    columns = []
    for column in range(1, len(names)):
        texts = {row[column] for row in labelled_rows}
        marks = texts - {""}
        if names[column] and len(marks) == 1 and marks <= _CHECK_MARKS and "" in texts:
            columns.append(column)
    if not 0 < len(columns) <= MAX_MARKED_COLUMNS:
        return body
    ids = {id(row) for row in labelled_rows}
    filled_in = []
    for row in body:
        if id(row) in ids:
            row = [NOT_MARKED if column in columns and not cell else cell for column, cell in enumerate(row)]
        filled_in.append(row)
    return filled_in


def short_caption(caption: str) -> str:
    """Return a caption for use beside each row, with a full stop: its number and its first sentence, cut if long.

    "" for an empty caption, and for a line that names an addressee.
    """
    text = _one_line(caption)
    number = _TABLE_NUMBER.match(text)
    full_stops = (match.start() for match in _FULL_STOP.finditer(text, number.end() if number else 0))
    end = next((offset for offset in full_stops if not _ends_with_abbreviation(text[:offset])), 0)
    text = text[:end] if end > 0 else text.rstrip(" .:")
    short = "" if is_addressee(text) else _shorten(text, LONGEST_CAPTION)
    if len(short) < len(text) and _ends_with_abbreviation(short):  # "fees incl." promises a word that was cut off
        short = short[: short.rfind(" ")].rstrip(" ,;:(")
    return f"{short}." if short else ""


def is_addressee(line: str) -> bool:
    """Return whether a line names the receiver of a letter or an invoice, or is an address, and so no table's caption.

    "Rents at 7 Park Lane" is no address, but the caption of a table.
    """
    return _LETTER_FIELD.match(line) is not None or _is_address(line)


def _is_address(line: str) -> bool:
    """Return whether a line is only an address: a street or a postcode, perhaps with names of people and places."""
    parts = [part.strip() for part in line.strip(" .:").split(",")]
    if _CAPTION_WORD.search(line) or not all(map(_NAME_WORD.fullmatch, " ".join(parts).split())):
        return False
    return any(map(_STREET.fullmatch, parts)) or _POSTCODE.search(line.strip(" .:")) is not None


def _ends_with_abbreviation(text: str) -> bool:
    """Return whether a text of several words, without its full stop, ends with an abbreviation: "fees incl"."""
    return " " in text and text.rsplit(None, 1)[-1].strip("(,").casefold() in _ABBREVIATIONS


def expand_spans(rows: Sequence[Sequence[tuple[str, int, int]]]) -> list[list[str]]:
    """Return a table's grid of texts from its cells, `(text, number of columns, number of rows)` that each spans.

    A text is repeated in each position that its cell spans; only a row's label (see `is_wide_label`) is not.
    """
    texts: dict[tuple[int, int], str] = {}
    wide_first_cells: dict[int, int] = {}
    for y, row in enumerate(rows):
        x = 0
        for text, column_span, row_span in row:
            while (y, x) in texts:  # a cell of a row above reaches down to here
                x += 1
            width = min(max(column_span, 1), _MAX_COLUMNS)
            height = min(max(row_span, 1), len(rows) - y)
            if x == 0 and width > 1 and row_span <= 1:
                wide_first_cells[y] = width
            for down in range(height):
                for right in range(width):
                    texts.setdefault((y + down, x + right), text)
            x += width
    grid_width = 1 + max((x for _, x in texts), default=-1)
    grid = [[texts.get((y, x), "") for x in range(grid_width)] for y in range(len(rows))]
    for y, width in wide_first_cells.items():
        if is_wide_label(grid, y, 0, width):
            grid[y][1:width] = [""] * (width - 1)
    return grid


def is_wide_label(grid: Sequence[Sequence[str]], at: int, start: int, end: int) -> bool:
    """Return whether a cell over several columns is the label of its row, and no name of these columns.

    It is a row's first text, with numbers behind it, and the columns have different texts in a row above: "Total" over
    the columns "Item" and "Unit".

    Args:
        grid: The table, in which the cell's text is repeated in each column.
        at: The index of the cell's row.
        start: The index of its first column.
        end: The index of the column behind it.
    """
    row = grid[at]
    if any(row[:start]) or is_figure(row[start]) or not any(map(is_figure, row[end:])):
        return False
    rows_above = grid[max(0, at - _MAX_ROWS_ABOVE) : at]
    return any(len({cell for cell in above[start:end] if cell}) > 1 for above in rows_above)


_MAX_ROWS_ABOVE = 100
"""Most rows above a label over several columns in which its columns' texts are looked for; a guess."""
_MAX_COLUMNS = 200
"""Most columns that a cell may span; larger numbers are an error of the file. A guess."""


def header_rows(rows: Sequence[Sequence[str]]) -> int:
    """Return how many of the first rows name the columns, for a table without a marked header; 0 if none do."""
    _, count = _find_header([[_one_line(cell) for cell in row] for row in rows])
    return count


def is_figure(cell: str) -> bool:
    """Return whether a cell begins with a number, perhaps behind a sign; a unit may follow."""
    return bool(_FIGURE_AT_START.match(cell))


def _move_caption_row(caption: str, rows: list[list[str]]) -> tuple[str, list[list[str]]]:
    """Return the caption with the texts of a first row that describes the whole table, and the rows without that row.

    Such a row has the same text in all cells, or few texts above a full header: "As of | 31 March". Without it, both
    are returned unchanged.
    """
    if len(rows) <= 2:
        return caption, rows
    texts = [cell for cell in rows[0] if cell]
    description = ""
    if len(rows[0]) > 1 and len(set(texts)) == 1:
        description = texts[0]
    elif not _find_stacked_header(rows)[1]:
        # A pivot table has "Sum of Hours | Column Labels" above its header.
        is_short = len(texts) <= min(MOST_ABOVE, len(rows[0]) - 1)
        if is_short and all(rows[1]) and _has_column_of_figures(rows[1:]):
            description = ", ".join(texts)
    if not description or len(description) > LONGEST_CAPTION:
        return caption, rows
    return f"{caption.rstrip(' .')}. {description}" if caption else description, rows[1:]


def _has_column_of_figures(rows: Sequence[Sequence[str]]) -> bool:
    """Return whether the first row names columns, and a column other than the first has only numbers below it."""
    columns = [[cell for cell in column if cell] for column in zip(*rows[1:], strict=True)][1:]
    return _count_header_rows(rows) > 0 and any(column and all(map(is_figure, column)) for column in columns)


def _find_header(rows: list[list[str]]) -> tuple[list[list[str]], int]:
    """Return the rows, in a stacked header with the outer names repeated, and the number of header rows."""
    stacked, count = _find_stacked_header(rows)
    return (stacked, count) if count else (rows, _count_header_rows(rows))


def _find_stacked_header(rows: list[list[str]]) -> tuple[list[list[str]], int]:
    """Return the rows with a header of several rows filled in, and the header's number of rows.

    The rows unchanged and 0 if there is no such header. A name over several columns is in each of them (a merged cell),
    or only in the first, and then repeated. The names below it differ from column to column; the column of the labels
    is named in one row, or in each by the same name.
    """
    for count in range(2, min(MOST_HEADER_ROWS, len(rows) - 1) + 1):
        header, body = rows[:count], rows[count:]
        if any(is_figure(cell) and not _names_year(cell) for row in header for cell in row):
            return rows, 0
        if len({row[0] for row in header if row[0]}) > 1 or not body[0][0]:
            continue
        outer_names = _repeat_outer_names(header)
        is_merged = any(cell and cell == following for cell, following in pairwise(header[0][1:]))
        # A first cell below a blank one may be the label of a row.
        has_label_below = not header[0][0] and any(row[0] for row in header[1:])
        needs_figures = has_label_below or not is_merged
        if needs_figures and not _has_figures_below_spans(body, outer_names):
            continue
        if not is_merged and outer_names == header[0]:
            continue
        columns = list(zip(outer_names, *header[1:], strict=True))[1:]
        names = [", ".join(dict.fromkeys(filter(None, column))) for column in columns]
        if all(names) and len(set(names)) == len(names):
            return [outer_names, *rows[1:]], count
    return rows, 0


def _repeat_outer_names(header: Sequence[Sequence[str]]) -> list[str]:
    """Return the first row of a header, with each name repeated in the blank cells behind it that have a name below.

    The cell before such a blank one must have a name below it as well.
    """
    names = list(header[0])
    for column in range(2, len(names)):
        has_names_below = header[1][column] and header[1][column - 1]
        if not names[column] and names[column - 1] and has_names_below:
            names[column] = names[column - 1]
    return names


def _has_figures_below_spans(body: Sequence[Sequence[str]], outer_names: Sequence[str]) -> bool:
    """Return whether most cells below names that span several columns are numbers."""
    columns = [column for column in range(1, len(outer_names)) if outer_names.count(outer_names[column]) > 1]
    cells = [row[column] for row in body for column in columns if row[column]]
    return sum(map(is_figure, cells)) * 2 > len(cells)


def _count_header_rows(rows: Sequence[Sequence[str]]) -> int:
    """Return 1 if the first row names the columns, else 0, judged by the cells below it."""
    if len(rows) < 2 or len(rows[0]) < 2:
        return 0
    first, below = rows[0], rows[1:]
    names = [cell for cell in first[1:] if cell]
    days_and_classes = _day_columns(rows) | _size_class_columns(rows)
    for column, cell in enumerate(first):
        if is_figure(cell) and not _names_year(cell) and column not in days_and_classes:
            return 0
    if not names or _is_like_rows_below(first, below):
        return 0
    if len(first) == 2:
        return int(_names_two_columns(first[1], below))
    are_most_named = len(names) * 3 >= 2 * (len(first) - 1)
    return int(are_most_named and len(set(names)) == len(names))


def _names_two_columns(second_name: str, below: Sequence[Sequence[str]]) -> bool:
    """Return whether the first row of a table of two columns names these, rather than being a name and its value.

    `second_name` is its second cell. It does if that says so ("Meaning", or "Price" above numbers), if the values below
    are numbers and their labels are not, or if all cells below are numbers.
    """
    if _MEANING_COLUMN.fullmatch(second_name):
        return True
    labels, values = [row[0] for row in below], [row[1] for row in below]
    if names_amounts(second_name) and any(map(is_figure, values)):
        return True
    figures = sum(map(is_figure, values))
    is_labelled = not is_figure(labels[0]) or _CODE_LABEL.fullmatch(labels[0]) is not None
    all_figures = len(below) > 1 and all(map(is_figure, labels)) and figures == len(below)
    return (figures * 3 >= 2 * len(below) and is_labelled) or all_figures


def _names_year(cell: str) -> bool:
    """Return whether a cell may name a column by a year, or by two successive ones: "2023-24", but not "2024-07"."""
    match = _YEAR_AS_NAME.match(cell)
    if match is None:
        return False
    return not match["to"] or int(match["to"]) % 100 == (int(match["year"]) + 1) % 100


def _is_like_rows_below(first: Sequence[str], below: Sequence[Sequence[str]]) -> bool:
    """Return whether a first row is like the others, so that it names nothing.

    All its years are above years, or a text with a number is above texts that differ in it alone: "Lane 1", "Lane 2".
    """
    if len(below) < _MIN_ROWS_BELOW:
        return False
    are_above_years: list[bool] = []
    for cell, column in zip(first, zip_longest(*below, fillvalue=""), strict=False):
        if not cell or not all(column):
            continue
        if _names_year(cell):
            are_above_years.append(all(map(_names_year, column)))
        elif _DIGITS.search(cell) and {_DIGITS.sub("0", other) for other in column} == {_DIGITS.sub("0", cell)}:
            return True
    return bool(are_above_years) and all(are_above_years)


def _day_columns(rows: Sequence[Sequence[str]]) -> set[int]:
    """Return the indices of columns that the first row names by days, as in a roster; empty if days stand below it."""
    columns = {column for column, cell in enumerate(rows[0]) if column and _DAY_AS_NAME.fullmatch(cell)}
    below = [row[column] for row in rows[1:] for column in columns if column < len(row)]
    has_days_below = any(map(_DAY_AS_NAME.fullmatch, below))
    return columns if len(columns) >= _MIN_DAY_COLUMNS and not has_days_below else set()


def _size_class_columns(rows: Sequence[Sequence[str]]) -> set[int]:
    """Return the indices of columns that the first row names by classes of sizes ("10-25 kg"), with numbers below.

    Empty if other classes are below them, or if the first cell is no label.
    """
    first_cell = rows[0][0]
    columns = {column for column, cell in enumerate(rows[0]) if column and size_class(cell)}
    below = [row[column] for row in rows[1:] for column in columns if column < len(row) and row[column]]
    are_figures = bool(below) and all(is_figure(cell) and not size_class(cell) for cell in below)
    is_label = bool(first_cell) and not is_figure(first_cell)
    return columns if len(columns) >= _MIN_CLASS_COLUMNS and is_label and are_figures else set()


def stacked_names(rows: Sequence[Sequence[str]]) -> tuple[list[str], int]:
    """Return the names of columns whose header has several rows, "Winter, Days", and the number of these rows.

    The number is 0, and the names are empty, if the header has one row.
    """
    stacked, count = _find_stacked_header([[_one_line(cell) for cell in row] for row in rows])
    return [_column_name(column) for column in zip(*stacked[:count], strict=True)], count


def _column_name(cells: Sequence[str]) -> str:
    """Return a column's name, "Winter, Days", from its cells in the header; outer parts go if it is too long."""
    parts = list(dict.fromkeys(cell for cell in cells if cell))
    while len(parts) > 1 and len(", ".join(parts)) > LONGEST_NAME:
        parts.pop(0)
    return _shorten(", ".join(parts), LONGEST_NAME)


def _join_spanning_cells(names: Sequence[str], cells: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the names and texts of a row's cells without repetitions of a spanning cell, and with signs at numbers.

    Filings have separate columns for currency signs and closing brackets, under one header with the number. Blank cells
    are left out.
    """
    joined: list[tuple[str, str]] = [(names[0], cells[0])]
    sign = ""
    for name, cell in zip(names[1:], cells[1:], strict=True):
        last_name, last_cell = joined[-1]
        if _SIGN_BEFORE_FIGURE.fullmatch(cell):
            sign = cell
        elif _SIGN_BEHIND_FIGURE.fullmatch(cell) and len(joined) > 1 and name in ("", last_name):
            joined[-1] = (last_name, last_cell + cell)
        elif cell and not (name and (name, sign + cell) == (last_name, last_cell)):
            joined.append((name, sign + cell))
            sign = ""
    return [name for name, _ in joined], [cell for _, cell in joined]


def _format_row(caption: str, names: Sequence[str], cells: Sequence[str]) -> list[str]:
    """Return a row as lines of `name: cell`, one or more; each begins with the caption and the row's label."""
    parts = [f"{name}: {cell}" if name else cell for name, cell in zip(names, cells, strict=True) if cell]
    if len(parts) == 2 and not any(names) and len(parts[0]) <= LONGEST_NAME:
        parts = [f"{_shorten(parts[0].rstrip(' :'), LONGEST_NAME)}: {parts[1]}"]
    lead = [caption] if caption else []
    if cells[0] and len(parts) > 1:
        lead.append(parts.pop(0))
    lines: list[str] = []
    current: list[str] = []
    for part in parts:
        if current and len(BAR.join([*lead, *current, part])) > LONGEST_ROW:
            lines.append(BAR.join([*lead, *current]))
            current = []
        current.append(part)
    return [*lines, BAR.join([*lead, *current])] if current else lines


def _one_line(text: str) -> str:
    """Return a cell's text on one line, with "/" for the cell separator "|", and an error marked with `NO_VALUE`."""
    cell = " ".join(text.replace("|", "/").split())
    return f"{NO_VALUE} ({cell})" if cell[:1] in "#E" and is_error(cell) else cell


def _shorten(text: str, most: int) -> str:
    """Return a caption or a column's name of at most `most` characters, without ": ", cut between words.

    It is cut before a bracket that does not end within the limit.
    """
    text = text.replace(": ", ", ").strip(" :")
    if len(text) <= most:
        return text
    opening = text.rfind(" (", most // 2, most)
    cut = opening if opening > 0 and ")" not in text[opening:most] else text.rfind(" ", most // 2, most)
    return text[: cut if cut > 0 else most].rstrip(" ,.;:(")
