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
TITLE_WORDS = 6
"""Words of a row that is the title of what is below it, at least; headings within a table are shorter. A guess."""
CAPTION_EVERY = 300
"""Characters of rows after which the caption is repeated, so that each passage of a table has it; rows between have
only its number. A passage holds about 500 characters of figures."""
LONGEST_NOTE = 100
"""A row with one cell of more characters is a note, not a heading of the rows below it; a guess."""
_NUMERIC = re.compile(r"[\W_]*\d[\d.,]*")
_SIGN_BEFORE = re.compile(r"[$€£¥]|US\$|\(")
_SIGN_BEHIND = re.compile(r"[)%]+|\) ?%")
_NUMBERED = re.compile(r"(?:supplementary )?(?:table|tab\.?|exhibit|schedule) [\w.]*\.? *", re.IGNORECASE)
_YEAR = re.compile(
    r"(?:\w+ ){0,3}(?P<year>(?:19|20)\d\d)(?:[-–/](?P<to>(?:20)?\d\d)(?!\d))?"
    r"(?: \(?(?:(?:revised|original|draft|final) )?(?:actuals?|budget(?:ed)?|forecast|outturn|estimated?|plan(?:ned)?"
    r"|proposed|revised|approved|projected|audited))?\W*$",
    re.IGNORECASE,
)
"""A name of a column by its year: "Year ended June 2024", "2024-25 actual"; "2024 visitors" may be a figure."""
_DAY = re.compile(r"(?:19|20)\d\d-\d\d(?:-\d\d)?|\d{1,2}[./]\d{1,2}[./](?:\d\d|\d{4})?")
"""A cell with a day or a month, which may name a column: "2024-07-01", "1.7.2024"."""
_LEAST_CLASSES = 2
"""Columns that are named by classes; one figure with "up to" is a value. A guess."""
_TOTAL = re.compile(r"(?:sub-?)?totals?(?: (?:of|for))?\b", re.IGNORECASE)
_ONLY_TOTAL = re.compile(r"(?:grand |sub-?)?totals?[ :]*", re.IGNORECASE)
_COUNTS = re.compile(r"(?:(?:item|lot|ref|inv|cat)\.? )?(?:nos?\.?|number|nr\.?|#)", re.IGNORECASE)
"""Names of a column that counts the rows: "No.", "Lot no.", "#"."""
_OF_WHOLE = re.compile(
    r"(?:grand|overall) totals?\b|net (?:income|profit|loss|result|total|position|balance)\b(?! per)|balance$"
    r"|(?:net )?(?:surplus|deficit)(?=\W*$| ?[/(]| (?:or|for|before|after|carried)\b)",
    re.IGNORECASE,
)
"""How a row begins that is of all sections above it: "Surplus / (deficit)", "Net income for the year"."""
_DIGITS = re.compile(r"\d+")
_LEAST_ALIKE = 2
"""Rows below the first one that show that it is like them."""
_CODE = re.compile(r"\d{1,4}[A-Za-z]{1,2}")
"""A label that begins with a digit and is no figure: "3B"."""
_LEAST_DAYS = 3
"""Days that name columns; one is a value, and two may be the two ends of a period."""
MOST_HEADER_ROWS = 3
"""Most rows of an unmarked header, one above the other; a guess."""
MOST_ABOVE = 2
"""Most cells of a row above the header that describes the whole table, such as "As of | 31 March"; a guess."""
NO_VALUE = "error, no value"
"""The text of a cell in which a program shows an error instead of a value."""
NOT_MARKED = "not marked"
"""The text of a blank cell in a column that otherwise has only check marks: a blank means no, and would be lost."""
MOST_MARKED = 8
"""Columns of marks whose blanks are written; of a wider matrix the rows would be of these alone. A guess."""
_MEANINGS = re.compile(
    r"(?:meanings?|descriptions?|explanations?|definitions?|stands for|means|bedeutung|beschreibung|erklärung"
    r"|signification|significado|significato|betekenis)(?: [\w-]+)?",
    re.IGNORECASE,
)
"""Names of a legend's second column: "Meaning", "Description"; "Price" is none."""
_FULL_STOP = re.compile(r"\. ")
_SHORTENED = frozenset(
    {"incl", "excl", "approx", "ca", "no", "nos", "nr", "vs", "fig", "figs", "e.g", "i.e", "dr", "mr", "mrs", "ms"}
    | {"prof", "resp", "est", "min", "max", "avg", "vol", "ed", "pp", "ref", "dept"}
)
"""Abbreviations whose full stop ends no caption: "fees incl. VAT"."""
_FIELD = re.compile(
    r"(?:bill(?:ed)?|ship(?:ped)?|sold|deliver(?:ed|y)?|invoiced?|send|remit)(?: (?:to|for|address)){0,2}\s?:"
    r"|(?:to|from|attn|attention|address|customer|client|supplier|vendor|buyer|seller|payee|contact|tel|phone|fax"
    r"|e-?mail|(?:your|our) ref(?:erence)?|(?:payment )?terms|(?:vat|order|invoice|account) (?:no|number|date))\.?\s?:",
    re.IGNORECASE,
)
"""How a line of a letter or an invoice begins that stands above its items."""
_STREET = re.compile(
    r"\d{1,4}[a-z]? (?:[A-ZÀ-Þ][\w'’.-]{1,20} ){1,3}(?:Street|Str?\.|Road|Rd\.?|Avenue|Ave\.?|Lane)"
    r"|[A-ZÀ-Þ][\w-]{0,30}(?:straße|strasse|gasse) \d{1,4}[a-z]?|[A-ZÀ-Þ][\w-]{1,20} Str(?:aße|asse) \d{1,4}[a-z]?"
)
_POSTCODE = re.compile(r"\b(?:[A-Z]{1,2}\d[\dA-Z]? \d[A-Z]{2}|[A-Z]{2} \d{5}(?:-\d{4})?)$")
_OF_NAME = re.compile(r"[A-ZÀ-Þ\d][\w'’.&/-]*|&|and|of|von|van|de|la|the")
_OF_CAPTION = re.compile(
    r"\b(?:rents?|prices?|fees?|charges?|costs?|rates?|fares?|sales|visits|tariffs?|wages|salaries|bills?|budgets?|takings"
    r"|figures|hours|times|timetables?|rooms?|flats?|units?|tenants?|residents?|staff|stock|lists?|tables?|plans?|results"
    r"|expenses|accounts?|inventory|readings|menu|schedule|mieten|preise|kosten|zimmer|tab\.|fig\.)(?!\w)",
    re.IGNORECASE,
)
"""Words of a line above a table that say what it lists: "Rents, 12 Mill Road" is more than an address."""
_AMOUNTS = re.compile(
    r"(?:charges?|prices?|costs?|fees?|amounts?|rates?|tariffs?|preis|kosten|betrag|prix|precio|importe|prezzo|prijs)"
    r"(?: ?[(\[][^()\[\]]{1,20}[)\]])?",
    re.IGNORECASE,
)
"""Names of a column of amounts, beside labels; below one, "free" and "none" are amounts, too."""
_CODES = re.compile(
    r"(?:[\w-]+ )?(?:codes?|symbols?|marks?|keys?|signs?|abbreviations?|letters?|abbr\.?|kürzel|zeichen|symbole)",
    re.IGNORECASE,
)
"""Names of a legend's first column: "Code", "Day code", "Symbol"; "Name" is none."""
_MARKS = frozenset({"x", "X", "✓", "✔", "✅", "•", "●", "[ticked]"})
_ERROR = re.compile(
    r"#[¡¿]?(?:VALUE|REF|DIV/0|NUM|NULL|SPILL|CALC|FIELD|BLOCKED|CONNECT|UNKNOWN|BUSY|EXTERNAL|PYTHON"
    r"|WERT|BEZUG|ZAHL|ÜBERLAUF|VALEUR|NOMBRE|NUL|VALOR|NULO|VALORE|RIF|NULLO|NÚM|WAARDE|VERW|DEEL/0|GETAL|LEEG"
    r"|ARG|ADR|DZIEL/0|LICZBA|ZERO|HODNOTA|ODKAZ|DĚLENÍ_NULOU|ČÍSLO)!"
    r"|#¿?(?:NAME|NOM|NOMBRE|NOME|NAAM|NAZWA|NÁZEV)\?|#(?:N/[ADB]|NV|NEDOSTUPNÝ|GETTING_DATA)|Err:5\d\d|#{3,}"
)
"""Errors in cells without a value in Excel, in nine languages, and LibreOffice: "#DIV/0!", "#WERT!", "Err:502", and
"####" for a figure wider than its column; not "#12"."""
_NO_VALUES = re.compile(rf"{NO_VALUE} \(([^()\n]{{2,20}})\)")


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
    return _CODES.fullmatch(column) is not None


def names_legend(names: Sequence[str]) -> bool:
    """Return whether names of two columns are those of a legend: "Grade" and "Meaning", "Code" and "Shift"."""
    return len(names) == 2 and (_MEANINGS.fullmatch(names[1]) is not None or names_codes(names[0]))


def names_amounts(column: str) -> bool:
    """Return whether a column's name says no more than that it holds amounts of money: "Price", "Fee (£)"."""
    return _AMOUNTS.fullmatch(column) is not None


def is_error(cell: str) -> bool:
    """Return whether a cell shows that a program found no value for it, e.g. a spreadsheet's "#DIV/0!"."""
    return _ERROR.fullmatch(cell.strip()) is not None


def errors_in(text: str) -> list[str]:
    """Return the errors in cells without a value in a text's rows, such as "#DIV/0!", in order."""
    return _NO_VALUES.findall(text)


def has_no_value(cell: str) -> bool:
    """Return whether a parsed cell says that it has no value."""
    return _NO_VALUES.fullmatch(cell) is not None


def overlaps_error(text: str, start: int, end: int) -> bool:
    """Return whether a part of a text overlaps a cell without a value."""
    return NO_VALUE in text and any(each.start() < end and each.end() > start for each in _NO_VALUES.finditer(text))


def parse_row(line: str) -> TableRow | None:
    """Return the row that a line represents, or None if it is not a row."""
    cells: list[Cell] = []
    caption, place = "", 0
    for number, part in enumerate(line.split(BAR)):
        name, separator, text = part.partition(": ")
        # A caption contains no ": ", which is written as a comma; a cell may end with a full stop: "Supplier: Acme
        # Inc."
        if number == 0 and part.endswith(".") and not separator:
            caption = part
        elif separator:
            cells.append(Cell(name, text, place + len(part) - len(text), place + len(part)))
        else:
            cells.append(Cell("", part, place, place + len(part)))
        place += len(part) + len(BAR)
    return TableRow(caption, tuple(cells)) if len(cells) > 1 or (caption and cells and cells[0].column) else None


def table_name(caption: str) -> str:
    """Return the part of a row's caption that all rows of its table have: its number, else all of it."""
    number = _NUMBERED.match(caption)
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
    if headings and (at := _title_below(rows)):
        above = table_lines(rows[:at], caption=caption, header_rows=header_rows)
        rest = rows[at:]
        while rest and _is_title_of_list(rest):
            listed = [[cell for cell in row if cell] for row in rest[1:]]
            ends = next((place for place, row in enumerate(listed) if len(row) != len(listed[0])), len(listed))
            above += table_lines(listed[:ends], caption=rest[0][0], header_rows=0)
            rest = rest[1 + ends :]
        return [*above, *table_lines(rest)]
    if header_rows is None:
        caption, rows = _caption_row(caption, rows)
        rows, header_rows = _with_header(rows)
    names = [_name([row[place] for row in rows[:header_rows]]) for place in range(width)]
    short = short_caption(caption)
    number = numbered[0].strip() if short and (numbered := _NUMBERED.match(short)) and numbered[0] != short else ""
    since = CAPTION_EVERY
    body = rows[header_rows:] or rows[:header_rows]
    body = _with_blank_marks(names, body, headings=headings)
    lines: list[str] = []
    heading, unused, sections, is_first = "", False, 0, False
    for row, below in zip(body, [*body[1:], []], strict=True):
        distinct = {cell for cell in row if cell}
        if headings and len(distinct) == 1 and width > 1:
            (only,) = distinct
            if row[0] and len(only) <= LONGEST_NOTE and len({cell for cell in below if cell}) > 1:
                lines += [heading] if unused else []
                heading, unused, is_first, sections = only.rstrip(" :"), True, True, sections + 1
            else:
                lines.append(only)
            continue
        if indented and row[0] not in indented:
            lines += [heading] if unused else []
            heading = ""
        if sections > 1 and not is_first and _OF_WHOLE.match(row[0]):
            heading = ""
        ends_section = bool(heading) and not is_first and _is_total_of(row[0], heading)
        unused = is_first = False
        label = f"{heading}, {row[0]}" if heading and row[0] else row[0] or heading
        alone = width == 2 and not any(names)  # a name and its value do not say to which heading they belong
        # "Total" is the number of nothing.
        own = ["", *names[1:]] if _COUNTS.fullmatch(names[0]) and _ONLY_TOTAL.fullmatch(row[0]) else names
        written = _row_lines(short if alone or since >= CAPTION_EVERY else number, *_joined(own, [label, *row[1:]]))
        since = sum(map(len, written)) + (0 if since >= CAPTION_EVERY else since)
        lines += written
        heading = "" if ends_section else heading
    return lines


def _is_total_of(label: str, heading: str) -> bool:
    """Return whether a row is the total of the section with a heading, behind which the section's rows end.

    It says no more than that, or the heading's words: "Total income" below "INCOME". "Total cholesterol" below "Lipids"
    is one of several figures.
    """
    total = _TOTAL.search(label)
    if total is None:
        return False
    rest = f"{label[: total.start()]} {label[total.end() :]}"
    return {*_stems(rest)} <= {*_stems(heading)}


def _stems(text: str) -> list[str]:
    """Return a text's words in small letters, without the s of a plural."""
    return [word.removesuffix("s") for word in re.findall(r"[^\W\d_]+", text.casefold())]


def _title_below(rows: Sequence[Sequence[str]]) -> int:
    """Return the place of a row below the first that is the title of a list of names and values; 0 without one."""
    return next((place for place in range(1, len(rows)) if _is_title_of_list(rows[place:])), 0)


def _is_title_of_list(rows: Sequence[Sequence[str]]) -> bool:
    """Return whether the first of some rows is the title of a list of names and values, and no heading within a table.

    A page's lines may join such a list with the table above it: "(3) The shareholders approved the plan:" above "For"
    and "901" in the first and the last column of five.
    """
    (first, *others), below = rows[0], rows[1:3]
    filled = [[at for at, cell in enumerate(row) if cell] for row in below]
    is_title = first.endswith(":") and len(first.split()) >= TITLE_WORDS and not any(others)
    return is_title and len(others) > 1 and len(filled) > 1 and len(filled[0]) == 2 and filled[0] == filled[1]


def _with_blank_marks(names: Sequence[str], body: list[list[str]], *, headings: bool) -> list[list[str]]:
    """Return the rows with words for the blanks of columns that otherwise hold only one kind of mark.

    If a row with only a first cell is a heading, it stays one.
    """
    rows = [row for row in body if row[0] and (not headings or sum(map(bool, row)) > 1)]
    places = []
    for place in range(1, len(names)):
        filled = {row[place] for row in rows if row[place]}
        if names[place] and len(filled) == 1 and filled <= _MARKS and any(not row[place] for row in rows):
            places.append(place)
    if not 0 < len(places) <= MOST_MARKED:
        return body
    marked = {id(row) for row in rows}
    filled_in = []
    for row in body:
        if id(row) in marked:
            row = [NOT_MARKED if place in places and not cell else cell for place, cell in enumerate(row)]
        filled_in.append(row)
    return filled_in


def short_caption(caption: str) -> str:
    """Return a caption for use beside each row: its number and its first sentence."""
    text = _one_line(caption)
    number = _NUMBERED.match(text)
    ends = (match.start() for match in _FULL_STOP.finditer(text, number.end() if number else 0))
    end = next((end for end in ends if not _ends_shortened(text[:end])), 0)
    text = text[:end] if end > 0 else text.rstrip(" .:")
    short = "" if is_addressee(text) else _label(text, LONGEST_CAPTION)
    if len(short) < len(text) and _ends_shortened(short):  # "fees incl." promises a word that was cut off
        short = short[: short.rfind(" ")].rstrip(" ,;:(")
    return f"{short}." if short else ""


def is_addressee(line: str) -> bool:
    """Return whether a line says whom a paper is for, or where they live, and so is no caption of a table below it.

    An address within other words is none: "Rents at 7 Park Lane" is the caption of a table.
    """
    return _FIELD.match(line) is not None or _is_address(line)


def _is_address(line: str) -> bool:
    """Return whether a line is nothing but an address: a street, with names of people and places beside it, if any."""
    parts = [part.strip() for part in line.strip(" .:").split(",")]
    if _OF_CAPTION.search(line) or not all(map(_OF_NAME.fullmatch, " ".join(parts).split())):
        return False
    return any(map(_STREET.fullmatch, parts)) or _POSTCODE.search(line.strip(" .:")) is not None


def _ends_shortened(text: str) -> bool:
    """Return whether a text, without its full stop, ends with an abbreviation within a sentence."""
    return " " in text and text.rsplit(None, 1)[-1].strip("(,").casefold() in _SHORTENED


def expand_spans(rows: Sequence[Sequence[tuple[str, int, int]]]) -> list[list[str]]:
    """Return a table's grid from cells `(text, columns, rows)`, with the numbers of columns and rows they span.

    A cell is repeated in each of its places, but for the label of a row, see `is_wide_label`.
    """
    taken: dict[tuple[int, int], str] = {}
    wide: dict[int, int] = {}
    for y, row in enumerate(rows):
        x = 0
        for text, columns, deep in row:
            while (y, x) in taken:
                x += 1
            across = min(max(columns, 1), _MOST_COLUMNS)
            if x == 0 and across > 1 and deep <= 1:
                wide[y] = across
            for down in range(min(max(deep, 1), len(rows) - y)):
                for right in range(across):
                    taken.setdefault((y + down, x + right), text)
            x += across
    width = 1 + max((x for _, x in taken), default=-1)
    grid = [[taken.get((y, x), "") for x in range(width)] for y in range(len(rows))]
    for y, across in wide.items():
        if is_wide_label(grid, y, 0, across):
            grid[y][1:across] = [""] * (across - 1)
    return grid


def is_wide_label(grid: Sequence[Sequence[str]], at: int, start: int, end: int) -> bool:
    """Return whether the cell over columns `start` to `end` of row `at` is a row's label and no name of columns.

    Before its figures, "Total" says nothing of the second of its columns, which have texts of their own further up.
    """
    if any(grid[at][:start]) or is_figure(grid[at][start]) or not any(map(is_figure, grid[at][end:])):
        return False
    above = grid[max(0, at - _LABEL_REACH) : at]
    return any(len({cell for cell in row[start:end] if cell}) > 1 for row in above)


_LABEL_REACH = 100
"""Rows above a label over several columns that are looked at for texts in them; a guess."""
_MOST_COLUMNS = 200
"""Most columns that a cell may span; larger numbers are an error of the file. A guess."""


def header_rows(rows: Sequence[Sequence[str]]) -> int:
    """Return how many of the first rows name the columns, for a table without a marked header; 0 if none do."""
    return _with_header([[_one_line(cell) for cell in row] for row in rows])[1]


def is_figure(cell: str) -> bool:
    """Return whether a cell is a figure, with or without a unit."""
    return bool(_NUMERIC.match(cell))


def _caption_row(caption: str, rows: list[list[str]]) -> tuple[str, list[list[str]]]:
    """Return the caption and the rows, without a first row that contains only a heading of the table."""
    if len(rows) > 2 and len(rows[0]) > 1 and len({cell for cell in rows[0] if cell}) == 1:
        first = next((cell for cell in rows[0] if cell), "")
        if len(first) <= LONGEST_CAPTION:
            return f"{caption.rstrip(' .')}. {first}" if caption else first, rows[1:]
    if len(rows) > 2 and not _stacked_header(rows)[1]:
        above = [cell for cell in rows[0] if cell]
        # A pivot table has "Sum of Hours | Column Labels" above its header.
        if len(above) <= min(MOST_ABOVE, len(rows[0]) - 1) and all(rows[1]) and _names_figures(rows[1:]):
            first = ", ".join(above)
            if len(first) <= LONGEST_CAPTION:
                return f"{caption.rstrip(' .')}. {first}" if caption else first, rows[1:]
    return caption, rows


def _names_figures(rows: Sequence[Sequence[str]]) -> bool:
    """Return whether the first row names columns, one of which contains only figures."""
    columns = [[cell for cell in column if cell] for column in zip(*rows[1:], strict=True)][1:]
    return _header_rows(rows) > 0 and any(column and all(map(is_figure, column)) for column in columns)


def _with_header(rows: list[list[str]]) -> tuple[list[list[str]], int]:
    """Return the rows and the number of header rows; in a stacked header the outer names are repeated."""
    stacked, count = _stacked_header(rows)
    return (stacked, count) if count else (rows, _header_rows(rows))


def _stacked_header(rows: list[list[str]]) -> tuple[list[list[str]], int]:
    """Return the rows with a stacked header filled in, and its number of rows; 0 if there is no such header.

    A name over several columns is in each of them (a merged cell), or only in the first. The names below it differ from
    column to column; the column of the labels is named in one row, or in each by the same name.
    """
    for count in range(2, min(MOST_HEADER_ROWS, len(rows) - 1) + 1):
        head = rows[:count]
        if any(is_figure(cell) and not _names_year(cell) for row in head for cell in row):
            return rows, 0
        if len({row[0] for row in head if row[0]}) > 1 or not rows[count][0]:
            continue
        above = list(head[0])
        for place in range(2, len(above)):
            if not above[place] and above[place - 1] and head[1][place] and head[1][place - 1]:
                above[place] = above[place - 1]
        is_merged = any(cell and cell == following for cell, following in pairwise(head[0][1:]))
        # A first cell below a blank one may be the label of a row.
        has_label_below = not head[0][0] and any(row[0] for row in head[1:])
        has_figures = _has_figures(rows[count:], above)
        if (not is_merged and (above == head[0] or not has_figures)) or (has_label_below and not has_figures):
            continue
        columns = zip(above, *head[1:], strict=True)
        names = [tuple(filter(None, column)) for column in columns][1:]
        named = [", ".join(dict.fromkeys(name)) for name in names]
        if all(named) and len(set(named)) == len(named):
            return [above, *rows[1:]], count
    return rows, 0


def _has_figures(body: Sequence[Sequence[str]], above: Sequence[str]) -> bool:
    """Return whether most cells are figures below names that span several columns."""
    places = [place for place in range(1, len(above)) if above.count(above[place]) > 1]
    cells = [row[place] for row in body for place in places if row[place]]
    return sum(map(is_figure, cells)) * 2 > len(cells)


def _header_rows(rows: Sequence[Sequence[str]]) -> int:
    """Return 1 if the first row names the columns, else 0, judged by the cells below it."""
    if len(rows) < 2 or len(rows[0]) < 2:
        return 0
    first, below = rows[0], rows[1:]
    named = [cell for cell in first[1:] if cell]
    naming = _day_columns(rows) | _class_columns(rows)
    if not named or any(
        is_figure(cell) and not _names_year(cell) and place not in naming for place, cell in enumerate(first)
    ):
        return 0
    if _is_like_those_below(first, below):
        return 0
    if len(first) == 2:
        if _MEANINGS.fullmatch(first[1]) or (names_amounts(first[1]) and any(is_figure(row[1]) for row in below)):
            return 1
        # Two columns without a marked header are names and values, unless the values alone are figures, or all are.
        figures = sum(is_figure(row[1]) for row in below)
        is_labelled = not is_figure(below[0][0]) or _CODE.fullmatch(below[0][0]) is not None
        all_figures = len(below) > 1 and all(is_figure(row[0]) for row in below) and figures == len(below)
        return int((figures * 3 >= 2 * len(below) and is_labelled) or all_figures)
    return int(len(named) * 3 >= 2 * (len(first) - 1) and len(set(named)) == len(named))


def _names_year(cell: str) -> bool:
    """Return whether a cell may name a column by a year, or by two that follow each other: "2024-07" is a month."""
    match = _YEAR.match(cell)
    return match is not None and (not match["to"] or int(match["to"]) % 100 == (int(match["year"]) + 1) % 100)


def _is_like_those_below(first: Sequence[str], below: Sequence[Sequence[str]]) -> bool:
    """Return whether a first row is one of the others: its years stand above years, or "Lane 1" above "Lane 2"."""
    if len(below) < _LEAST_ALIKE:
        return False
    years: list[bool] = []
    for cell, column in zip(first, zip_longest(*below, fillvalue=""), strict=False):
        others = list(filter(None, column))
        if not cell or len(others) < len(below):
            continue
        if _names_year(cell):
            years.append(all(map(_names_year, others)))
        elif _DIGITS.search(cell) and {_DIGITS.sub("0", other) for other in others} == {_DIGITS.sub("0", cell)}:
            return True
    return bool(years) and all(years)


def _day_columns(rows: Sequence[Sequence[str]]) -> set[int]:
    """Return the columns that the first row names by days, which stand nowhere below, as in a roster."""
    places = {place for place, cell in enumerate(rows[0]) if place and _DAY.fullmatch(cell)}
    is_below = any(_DAY.fullmatch(row[place]) for row in rows[1:] for place in places if place < len(row))
    return places if len(places) >= _LEAST_DAYS and not is_below else set()


def _class_columns(rows: Sequence[Sequence[str]]) -> set[int]:
    """Return the columns that the first row names by classes of sizes, with figures below them and no classes."""
    places = {place for place, cell in enumerate(rows[0]) if place and size_class(cell)}
    below = [row[place] for row in rows[1:] for place in places if place < len(row) and row[place]]
    are_figures = bool(below) and all(is_figure(cell) and not size_class(cell) for cell in below)
    is_label = bool(rows[0][0]) and not is_figure(rows[0][0])
    return places if len(places) >= _LEAST_CLASSES and is_label and are_figures else set()


def stacked_names(rows: Sequence[Sequence[str]]) -> tuple[list[str], int]:
    """Return names of columns whose header takes several rows, "Winter, Days", and their number; 0 if it has one."""
    stacked, count = _stacked_header([[_one_line(cell) for cell in row] for row in rows])
    return [_name(column) for column in zip(*stacked[:count], strict=True)], count


def _name(cells: Sequence[str]) -> str:
    """Return a column's name from the header's rows; the outer parts are dropped if it is too long."""
    parts = list(dict.fromkeys(cell for cell in cells if cell))
    while len(parts) > 1 and len(", ".join(parts)) > LONGEST_NAME:
        parts.pop(0)
    return _label(", ".join(parts), LONGEST_NAME)


def _joined(names: Sequence[str], cells: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return names and cells of a row without repetitions of spanning cells, and with signs joined to their figures.

    Filings have separate columns for currency signs and closing brackets, under one header with the figure.
    """
    kept: list[tuple[str, str]] = [(names[0], cells[0])]
    sign = ""
    for name, cell in zip(names[1:], cells[1:], strict=True):
        last_name, last = kept[-1]
        if _SIGN_BEFORE.fullmatch(cell):
            sign = cell
        elif _SIGN_BEHIND.fullmatch(cell) and len(kept) > 1 and name in ("", last_name):
            kept[-1] = (last_name, last + cell)
        elif cell and not (name and (name, sign + cell) == (last_name, last)):
            kept.append((name, sign + cell))
            sign = ""
    return [name for name, _ in kept], [cell for _, cell in kept]


def _row_lines(caption: str, names: Sequence[str], cells: Sequence[str]) -> list[str]:
    """Return a row as lines of `name: cell`; each begins with the caption and the row's label."""
    parts = [f"{name}: {cell}" if name else cell for name, cell in zip(names, cells, strict=True) if cell]
    if len(parts) == 2 and not any(names) and len(parts[0]) <= LONGEST_NAME:
        parts = [f"{_label(parts[0].rstrip(' :'), LONGEST_NAME)}: {parts[1]}"]
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
    """Return a cell's text without the cell separator; an error is replaced by `NO_VALUE`."""
    cell = " ".join(text.replace("|", "/").split())
    return f"{NO_VALUE} ({cell})" if cell[:1] in "#E" and is_error(cell) else cell


def _label(text: str, most: int) -> str:
    """Return a caption or a column's name without the separators, cut between words."""
    text = text.replace(": ", ", ").strip(" :")
    if len(text) <= most:
        return text
    opening = text.rfind(" (", most // 2, most)
    cut = opening if opening > 0 and ")" not in text[opening:most] else text.rfind(" ", most // 2, most)
    return text[: cut if cut > 0 else most].rstrip(" ,.;:(")
