"""Answers out of tables: the cell of a row and a column that a question names. By rule, over the rows' own lines.

A row is named by the words of its cells, a column by the words of its header, the table by its caption and the title of
its document. Where the words of a question single out no row or no column, nothing is claimed.
"""

from __future__ import annotations

import math
import re
from calendar import day_name
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import chain

from preflight_rag.offline.cell_checks import STATISTIC, YEAR, CellNames, asked_of, may_be_claimed
from preflight_rag.offline.cell_types import is_of_asked_type
from preflight_rag.offline.row_times import is_of_another_time
from preflight_rag.state.reading import Source
from preflight_rag.text.dates import MONTH, MONTHS
from preflight_rag.text.money import asks_price, asks_sum
from preflight_rag.text.tables import Cell, TableRow, names_amounts, parse_row
from preflight_rag.text.values import Kind, asked_kind
from preflight_rag.text.words import words

NAMED = 0.5
"""Share of a row's label, or of a column's name, that the question has to hold. Set by hand on the tables of
`tests/offline/test_tables.py`."""
LEAST_MARGIN = 0.02
"""Least difference to the next best cell with another text. Set, like the constant above, on statements with many
similar rows."""
LABEL_BONUS = 0.3
"""Extra weight of a row's first cell when rows are compared, since it says what the row is about. A guess."""
NAME_WEIGHT = 0.1
"""Weight of how much of a row's label, and of a column's name, the question holds beside the share. A guess."""
OWN_WEIGHT = 0.3
"""Weight of the question's words that the column's own name has, which its table's caption may have, too. A guess."""
TITLE_WEIGHT = 0.3
"""Weight of the words that only the title of the row's document has, of those that titles have at all. A guess."""
COUNTED = 0.3
"""Weight of what is counted, the patients of "how many patients", beside other words: tables seldom say it. A guess."""
PERCENT = 0.05
"""Penalty of a percentage beside an amount in a column of the same name, where the question asks for no percentage. A
guess.
"""
_CODE = re.compile(r"\b[A-Z]{2,4}\b")
_LETTER = re.compile(r"[a-z] ([A-Z])\b")
"""The letter of an arm or a group in a question: "water C"."""
_LETTERED = re.compile(r"\b([A-Z])\d?(?![\w-])")
"""The same in a table, where the number of a footnote may have come to stand at it."""
_ABBREVIATED = re.compile(r"((?:\b[\w'-]{1,60} ){2,6})\(([A-Z]{2,6})s?\)")
_ALIKE = {"percentag": "%", "percent": "%", "proport": "%", "pct": "%", "averag": "mean"}
"""Words of a question, as stems, beside those of a header that mean the same."""
_ASKING = frozenset(
    words(
        "many much value figure table row column say show report list tell amount total give according number take fall"
        " fell have get make need reach contain sell pay cost come last hold stand lie use"
    )
)
"""Words that ask, and name nothing, unless a row or a column has them."""
_QUANTITY = frozenset(words("many much"))
_HEAD = re.compile(
    r"\bwh(?:at|ich)(?:['’]s| (?:is|are|was|were)) (?:[\w'’.-]{1,40} ){0,6}?(?P<head>[\w-]{2,40})"
    r"(?= (?:of|for)\b|\W{0,5}$)",
    re.IGNORECASE,
)
"""The noun that a question asks for: the use of "What is the use of the north shed?"."""
_GENERAL_HEADS = frozenset(words("value figure table row column list report amount total number"))
"""Such nouns that name nothing, whatever cell they are asked of."""
_COUNTED = re.compile(r"\bhow many (\w+)", re.IGNORECASE)
_SCALE = re.compile(r"(?:\bin |[$€£] ?|\()(thousand|million|billion)s?\b(?! of)", re.IGNORECASE)
_THOUSANDS = re.compile(r"['’]000\b|\(000s?\)|\bk ?[€£$]")
"""A column in thousands: "Rent ('000 €)"."""
_NO_AMOUNT = re.compile(
    r"%|illion|thousand|\b(?:per|percent|percentage|shares?|number|rate|ratio|margin|employees|stores)\b", re.IGNORECASE
)
"""Units that a table's scale ("in thousands", "in millions") does not apply to, or that state a scale themselves."""
_DAY = re.compile(
    r"\b(?:(?P<iso_year>\d{4})-(?P<iso_month>\d\d)-(?P<iso_day>\d\d)"
    rf"|(?P<day>\d{{1,2}})(?:st|nd|rd|th)? (?:of )?(?P<month>{MONTH}),? (?P<year>\d{{4}})"
    rf"|(?P<first_month>{MONTH}) (?P<second_day>\d{{1,2}})(?:st|nd|rd|th)?,? (?P<last_year>\d{{4}}))\b",
    re.IGNORECASE,
)
"""A whole day: "2024-04-04", "4 April 2024", "April 4th, 2024"; "April 2024" is none."""
_SHORT_DAY = re.compile(r"\b(?:[Mm]on|[Tt]ues?|[Ww]ed|[Tt]hu(?:rs?)?|[Ff]ri|Sat|Sun)\b")
"""Days of the week as tables have them; "sat" and "sun" are other words."""
_WEEKDAYS = {name[:3]: name for name in map(str.casefold, day_name)}
_EXTREME = re.compile(
    r"\b(?:highest|lowest|largest|smallest|greatest|fewest|most|least|maximum|minimum|biggest|best|worst|longest"
    r"|shortest|oldest|youngest|average of|sum of|how many (?:rows|columns)|difference|change(?:d|s)? (?:from|between)"
    r"|more than|less than|at least|increase[ds]?|decrease[ds]?|compared?)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class TableAnswer:
    """A cell that answers, with its labels.

    Attributes:
        n: The number of the passage.
        cell: The cell's text.
        row: The row's subject: its first cell, or the cell that the question names.
        column: The column's name.
        scale: The unit of an amount, such as "in millions", if the passage gives it; else empty.
        quote: The row's line, verbatim in the passage.
        share: Share of the question's content words, by weight, in row, column, caption and title, in [0, 1].
        margin: Difference between this cell's score and that of the next best cell with another text.
    """

    n: int
    cell: str
    row: str
    column: str
    scale: str
    quote: str
    share: float
    margin: float


@dataclass(frozen=True)
class _Line:
    """A row with the index terms of its cells and columns."""

    source: Source
    line: str
    row: TableRow
    terms: tuple[frozenset[str], ...]
    names: tuple[frozenset[str], ...]
    about: frozenset[str]

    @cached_property
    def all(self) -> frozenset[str]:
        """The terms of row, columns, caption and title."""
        return self.about.union(*self.terms, *self.names)


@dataclass(frozen=True)
class _Candidate:
    """A cell that may answer, with the scores of how well the question names its row and column."""

    line: _Line
    place: int
    by: int
    share: float
    score: float


def table_answer(question: str, sources: Sequence[Source]) -> TableAnswer | None:
    """Return the cell that a question names by row and column; None if it names none, or more than one.

    It may be a cell with an error in place of a value.

    Args:
        question: The standalone question.
        sources: Passages; their lines that are rows of tables are read.
    """
    kind = asked_kind(question)
    if kind == "verdict" or _EXTREME.search(question):
        return None
    with_days = _DAY.sub(lambda match: f" {_day_term(match)} ", question)
    asked = _terms(with_days)
    lines = list(_lines(sources, _long_forms(sources, asked), amounts=asks_sum(question)))
    known = frozenset[str]().union(*(line.all for line in lines))
    # A single letter names something only where a table has it: "water C".
    asked |= {letter.lower() for letter in _LETTER.findall(question) if letter.lower() in known}
    asking = _ASKING - _heads(question)
    asked = frozenset(term for term in asked if term not in _QUANTITY and (term in known or term not in asking))
    if not asked or not lines:
        return None
    weights, titles = _weights(asked, lines), _title_shares(asked, lines)
    counted = _terms(match[1]) & asked if (match := _COUNTED.search(question)) else frozenset[str]()
    for term in counted:
        weights[term] *= COUNTED
    wanted = asked_of(with_days, asked, counted)
    candidates = sorted(
        (
            found
            for line in lines
            for found in _candidates(line, asked, weights, titles, amounts=kind == "name" or asks_sum(question))
            if _may_answer(question, kind, found)
            and may_be_claimed(wanted, _named(found))
            and not is_of_another_time(question, line.row, line.row.cells[found.place].column)
        ),
        key=lambda found: -found.score,
    )
    if not candidates:
        return None
    best = candidates[0]
    cell = best.line.row.cells[best.place]
    # A cell with the same text would give the same answer.
    rival = next((item for item in candidates[1:] if item.line.row.cells[item.place].text != cell.text), None)
    margin = round(best.score - rival.score, 4) if rival else round(best.score, 4)
    if margin < LEAST_MARGIN:
        return None
    named = best.line.row.cells[best.by] if best.by >= 0 else Cell("", best.line.row.caption, 0, 0)
    return TableAnswer(
        n=best.line.source.n,
        cell=cell.text,
        row=named.text.rstrip("."),
        column=cell.column,
        scale=_scale(best.line, cell, named.text),
        quote=best.line.line,
        share=round(best.share, 4),
        margin=margin,
    )


def _heads(question: str) -> frozenset[str]:
    """Return the noun that a question asks for, if a cell has to bear it; a price may be called anything."""
    match = None if asks_price(question) else _HEAD.search(question)
    return frozenset(words(match["head"])) - _GENERAL_HEADS if match else frozenset()


def _scale(line: _Line, cell: Cell, label: str) -> str:
    """Return the unit of an amount, from its row, its table's caption, or the nearest line above that gives it."""
    if _NO_AMOUNT.search(f"{cell.text} {label}") or not any(map(str.isdigit, cell.text)):
        return ""
    own = f"{cell.column} {label} {line.row.caption}"
    if _THOUSANDS.search(own):
        return "in thousands"
    others = (other.column for other in line.row.cells[1:] if other is not cell and not other.column.startswith("("))
    if not _SCALE.search(own) and any(map(_SCALE.search, others)):
        return ""  # each column has its own unit
    above = line.source.text[: line.source.text.find(line.line)]
    found = next(iter(_SCALE.findall(line.line)), None) or next(reversed(_SCALE.findall(above)), None)
    return f"in {found.lower()}s" if found else ""


def _may_answer(question: str, kind: Kind, found: _Candidate) -> bool:
    """Return whether a cell is of the type that the question asks for."""
    row = found.line.row
    cell, label = row.cells[found.place], row.cells[found.by].text if found.by >= 0 else ""
    labels = " ".join((cell.column, label, row.caption, _scale(found.line, cell, label)))
    return is_of_asked_type(question, kind, cell.text, column=cell.column, labels=labels)


def _named(found: _Candidate) -> CellNames:
    """Return the labels of a cell: its row's label and other words, its column, caption and title."""
    line, cells = found.line, found.line.row.cells
    column, row = cells[found.place].column, cells[found.by].text if found.by >= 0 else ""
    places = [place for place in dict.fromkeys((found.by, 0)) if place not in (-1, found.place)]
    # A first column is often headed by the table's unit alone: "(Dollars in Millions Except Per Share Data)".
    headed = [line.names[place] for place in places if not cells[place].column.startswith("(")]
    written = [line.terms[at] for at, cell in enumerate(cells) if at in places or not any(map(str.isdigit, cell.text))]
    terms = line.names[found.place].union(*headed, *written)
    of_column = line.names[found.place]
    # Of "Towel | Fee: £2" a question need not say "fee".
    if found.by == 0 and _is_lone_amount(line, found.place):
        column, of_column = "", frozenset[str]()
    labels = line.terms[found.by] if found.by >= 0 else frozenset[str](), of_column
    return CellNames(row, column, labels, line.row.caption, line.source, terms, line.about)


def _long_forms(sources: Sequence[Source], asked: frozenset[str]) -> dict[str, frozenset[str]]:
    """Return the long forms of abbreviations that the question does not use: "mean lysis time (MLT)"."""
    found: dict[str, frozenset[str]] = {}
    for source in sources:
        for before, short in _ABBREVIATED.findall(source.text):
            long = before.split()[-len(short) :]
            if "".join(word[0] for word in long).casefold() == short.casefold() and short.lower() not in asked:
                found.setdefault(short.lower(), frozenset(words(" ".join(long))))
    return found


def _without_group(columns: Sequence[str]) -> list[str]:
    """Return the columns' names without a word for money that stands above all columns but the first.

    "Charge" tells "Charge, Members" from "Charge, Others" as little as "how much" does.
    """
    groups = [column.rpartition(", ")[0] for column in columns[1:]]
    if len(groups) < 2 or len(set(groups)) > 1 or not names_amounts(groups[0]):
        return list(columns)
    return [columns[0], *(column.removeprefix(f"{groups[0]}, ") for column in columns[1:])]


def _lines(sources: Sequence[Source], long_forms: Mapping[str, frozenset[str]], *, amounts: bool) -> Iterator[_Line]:
    """Yield the rows of all passages.

    A row with only its table's number gets the caption of another row of the table.

    Args:
        sources: The passages.
        long_forms: The long forms of abbreviations.
        amounts: Whether the question asks for an amount of money.
    """

    @cache  # for this question: captions, titles and columns' names stand in each row
    def terms(text: str) -> frozenset[str]:
        """Return the index terms of a text, with long forms in place of abbreviations."""
        found = _terms(text) | {letter.lower() for letter in _LETTERED.findall(text)}
        return found.difference(long_forms).union(*(long for short, long in long_forms.items() if short in found))

    rows = [(source, line.strip(), parse_row(line.strip())) for source in sources for line in source.text.split("\n")]
    captions: dict[str, set[str]] = {}
    for source, _, row in rows:
        if row is not None:
            captions.setdefault(source.title, set()).add(row.caption)
    before: tuple[Source | None, str] = (None, "")
    for source, line, row in rows:
        if row is None:
            continue
        caption = row.caption or (before[1] if before[0] is source else "")
        before = (source, caption)
        whole = max(
            (each for each in captions[source.title] if caption and each.startswith(caption)), key=len, default=""
        )
        columns = [cell.column for cell in row.cells]
        names = _without_group(columns) if amounts else columns
        yield _Line(
            source,
            line,
            row,
            tuple(terms(cell.text) for cell in row.cells),
            tuple(terms(name) for name in names),
            terms(whole) | terms(source.title),
        )


def _terms(text: str) -> frozenset[str]:
    """Return the index terms of a text with its years and codes, with one term for synonyms."""
    found = {_ALIKE.get(term, term) for term in words(text)} | set(YEAR.findall(text))
    found |= {day for match in _DAY.finditer(text) if (day := _day_term(match))}
    short = {match.casefold() for match in _SHORT_DAY.findall(text)}
    found = (found - short) | {_WEEKDAYS[each[:3]] for each in short}
    # An arm may be called DO or AN, which are no words of content elsewhere.
    found |= {code.lower() for code in _CODE.findall(text)}
    return frozenset(found | {"%"} if "%" in text else found)


def _day_term(match: re.Match[str]) -> str:
    """Return the term of a day, however it is written: "4 April 2024" and "2024-04-04" are one."""
    parts = match.groupdict()
    year = parts["iso_year"] or parts["year"] or parts["last_year"]
    month = parts["iso_month"] or MONTHS.index((parts["month"] or parts["first_month"] or "")[:3].casefold()) + 1
    day = parts["iso_day"] or parts["day"] or parts["second_day"]
    return f"day{int(year):04}{int(month):02}{int(day):02}"


def _weights(asked: frozenset[str], lines: Sequence[_Line]) -> dict[str, float]:
    """Return the inverse document frequency of each of the question's terms over the rows."""
    counts = Counter(chain.from_iterable(asked & line.all for line in lines))
    return {term: math.log(1 + (len(lines) + 1) / (0.5 + counts[term])) for term in sorted(asked)}


def _title_shares(asked: frozenset[str], lines: Sequence[_Line]) -> dict[str, float]:
    """Return the share of the question's title words that each title has, rare words counting more."""
    terms = {line.source.title: _terms(line.source.title) & asked for line in lines}
    counts = Counter(chain.from_iterable(terms.values()))
    weights = {term: math.log(1 + len(terms) / count) for term, count in counts.items()}
    total = sum(weights.values()) or 1.0
    shares = {}
    for title, found in terms.items():
        shares[title] = sum(weights[term] for term in sorted(found)) / total
    return shares


def _candidates(
    line: _Line, asked: frozenset[str], weights: dict[str, float], titles: dict[str, float], *, amounts: bool
) -> Iterator[_Candidate]:
    """Yield the cells of a row whose column the question names, when it names the row.

    Args:
        line: The row.
        asked: The question's terms.
        weights: Their weights.
        titles: The share of the question's title words in each title.
        amounts: Whether the question may ask for an amount of money without a word for it.
    """
    total = sum(weights.values())
    cells = line.row.cells
    alone = len(cells) == 1
    for place, cell in enumerate(cells):
        if not cell.text or not any(char.isalnum() for char in cell.text) or (place == 0 and not cell.column):
            continue
        # The only other cell of a row needs no name of its own: "Founded: 1975" or "Blues | 1".
        free = len(cells) == 2 and (not cell.column or (amounts and _is_lone_amount(line, place)))
        name = line.names[place]
        if not free and not _is_named(name, asked):
            continue
        by = _naming_cell(line, place, name & asked, asked, weights)
        # A row of one cell has no other cell to name it, only its caption and title.
        if by is None and not (alone and line.about & asked):
            continue
        label = (line.terms[by] | line.names[by]) & asked if by is not None else frozenset()
        covered = (name & asked) | label | (line.about & asked)
        share = sum(weights[term] for term in covered) / total
        whole = _part(line.terms[by] | line.names[by], asked) if by is not None else 0.0
        score = share + NAME_WEIGHT * (whole + _part(name, asked) + (LABEL_BONUS if by == 0 else 0.0))
        score += OWN_WEIGHT * sum(weights[term] for term in sorted(name & asked)) / total
        score += TITLE_WEIGHT * titles[line.source.title] - (PERCENT if "%" in cell.text and "%" not in asked else 0.0)
        yield _Candidate(line, place, -1 if by is None else by, share, score)


def _is_lone_amount(line: _Line, place: int) -> bool:
    """Return whether a cell is the amount beside its label: "Towel | £2" needs no name such as "Price"."""
    return place == 1 and len(line.row.cells) == 2 and names_amounts(line.row.cells[1].column)


def _naming_cell(
    line: _Line, place: int, used: frozenset[str], asked: frozenset[str], weights: dict[str, float]
) -> int | None:
    """Return the other cell of the row that the question names best, by words that do not name the column."""
    best: tuple[float, int] | None = None
    for other, terms in enumerate(line.terms):
        left = (terms & asked) - used
        if other == place or not left or not _is_named(terms, asked):
            continue
        weight = sum(weights[term] for term in left) + (LABEL_BONUS if other == 0 else 0.0)
        if best is None or weight > best[0]:
            best = (weight, other)
    return best[1] if best else None


def _is_named(terms: frozenset[str], asked: frozenset[str]) -> bool:
    """Return whether a question names a label: by most of its words, or by its year."""
    shared = terms & asked
    return bool(shared) and (_part(terms, asked) >= NAMED or any(YEAR.fullmatch(term) for term in shared))


def _part(terms: frozenset[str], asked: frozenset[str]) -> float:
    """Return the share of a label's terms that the question contains.

    Letters, figures and statistics that the question does not name do not count.
    """
    counted = {term for term in terms if term in asked or not (len(term) < 2 or term.isdigit() or term in STATISTIC)}
    return len(counted & asked) / len(counted) if counted else 0.0
