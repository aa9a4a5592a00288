"""Whether a table's cell may be claimed: its row, column and table have all words of the question, and few others.

A filing has hundreds of rows that share words with a question, such as "Other income, net" and "Operating income". So
each of the question's names, years, quarters and other words must stand with the cell, and its labels may have few
words that were not asked for. By rule; a cell that fails is shown as evidence.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import PurePath

from preflight_rag.state.reading import Source
from preflight_rag.text.names import surface_names
from preflight_rag.text.tables import is_row
from preflight_rag.text.words import words

MOST_ELSE = 1 / 3
"""Maximum share of the words of a row's or column's name that the question lacks. Set by hand on
`tests/offline/test_cell_checks.py`."""
YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")
_FISCAL_YEAR = re.compile(r"\bFY ?'?(?=\d)", re.IGNORECASE)
_QUARTER = re.compile(r"\b(?:(first|second|third|fourth)[ -]quarter|q([1-4])|([1-4])q)(?![a-z])", re.IGNORECASE)
_PERIOD_TERM = re.compile(r"fy\d+|q[1-4]|[1-4]q\d*")
_ORDINALS = {"first": "1", "second": "2", "third": "3", "fourth": "4"}
_PART_OF_YEAR = re.compile(
    r"\b(?:(?:three|six|nine|[369]) months|(?:13|26|39|thirteen|twenty-six|thirty-nine) weeks"
    r"|quarters?|[qh][1-4]|[1-4][qh])(?![a-z])",
    re.IGNORECASE,
)
_PERIOD_WORDS = frozenset(
    words(
        "fiscal financial year years annual annually quarter first second third fourth months weeks twelve three six"
        " nine ended ending end date period total number unaudited audited consolidated company"
    )
)
"""Words of a period or a total, which may stand in the labels alone or in the question alone; years and quarters are
compared separately."""
_UNITS = frozenset(
    words(
        "mg g kg mcg ml dl l mmol iu miu mm cm m km yr yrs h min s usd eur gbp dollars gram milligram litre liter per"
    )
)
_LEGAL_FORMS = frozenset(words("corp corporation inc incorporated ltd limited plc llc"))
_QUALIFIERS = re.compile(
    r"\b(?:other|before|after|excluding|except|without|not|non|less|per|beginning|adjusted|continuing|discontinued"
    r"|growth|change|increase|decrease|difference|variance|margin|ratio|rate)\b",
    re.IGNORECASE,
)
"""Words that change which figure is meant: "Income before income taxes" is not "income taxes", "% growth - EBIT" is not
"EBIT"."""
_RATIO_SIGN = re.compile(r"(?<![(\[\d])(?<!\d )%")
"""Matches the sign of a ratio, "EBIT / sales%"; not a column's unit, "mortality (%)", and not a figure, "95% CI"."""
_ASKS_SHARE = re.compile(
    r"%|\b(?:percent\w*|proportion|share|margin|ratio|rate|growth|change|grow\w*)\b", re.IGNORECASE
)
_NEW_YEAR = re.compile(r"\b(?:january|february|jan|feb)\b", re.IGNORECASE)
"""Months in which a fiscal year may end that lies mostly in the previous year; it may be called by either number."""
_MONTHS = frozenset(words("january february march april may june july august september october november december"))
_PEOPLE_WORDS = frozenset(
    words("patients participants subjects women men people persons children individuals adults volunteers cases")
)
"""Words for people whom a question counts; a table's columns rarely have them, as all its figures are of patients."""
_GENERAL_WORDS = frozenset(words("group groups arm arms content level levels"))
"""General words for a figure or its column, which a question may use and a table may omit."""
_IN_BRACKETS = re.compile(r"[(\[]([^()\[\]]*)[)\]]")
STATISTIC = frozenset(words("mean median sd se sem iqr ci range number total value count standard deviation"))
"""Words for how a row's figures were computed, which a question for the row need not have."""
_NOT_NAMING = _PERIOD_WORDS | _MONTHS | _UNITS | _LEGAL_FORMS | STATISTIC


@dataclass(frozen=True)
class AskedName:
    """A name in a question: its index terms, and its letters and digits without separators."""

    terms: frozenset[str]
    letters: str

    def stands_with(self, terms: frozenset[str], source: Source) -> bool:
        """Return whether the name is in the terms, in the passage outside of rows, or in its title or file name."""
        if self.terms and self.terms <= terms:
            return True
        # A name in another row says whose figures stand there, not here.
        prose = " ".join(line for line in source.text.split("\n") if not is_row(line))
        return any(
            self.letters in _letters_and_digits(text) for text in (source.title, PurePath(source.source).name, prose)
        )

    def is_split_between(self, row: frozenset[str], column: frozenset[str]) -> bool:
        """Return whether row and column together have the name's terms, but neither of them has all.

        "Head Gardener" is one name, and does not name the column "Gardener" of the row "Head office".
        """
        return self.terms <= row | column and not (self.terms <= row or self.terms <= column)


@dataclass(frozen=True)
class QuestionWording:
    """The parts of a question that are compared with the words around a cell.

    Attributes:
        names: The names in the question.
        years: Years, in four digits.
        quarters: Quarters, "1" to "4".
        part_of_year: Whether the question is about less than a year.
        qualifiers: Words that change which figure is meant, such as "before" or "growth".
        new_year: Whether the question names January or February.
        terms: The index terms of the question's other words that must stand with the cell.
        all: All index terms of the question that name something.
    """

    names: tuple[AskedName, ...]
    years: frozenset[str]
    quarters: frozenset[str]
    part_of_year: bool
    qualifiers: frozenset[str]
    new_year: bool
    terms: frozenset[str]
    all: frozenset[str]


@dataclass(frozen=True)
class CellNames:
    """The words that label a cell.

    Attributes:
        row: The text of the cell that names the row.
        column: The column's name.
        labels: The index terms of the row's name, and those of the column's name.
        table: The table's caption.
        source: The passage.
        terms: The index terms of row and column together.
        around: The index terms of the table's caption and of its document's title.
    """

    row: str
    column: str
    labels: tuple[frozenset[str], frozenset[str]]
    table: str
    source: Source
    terms: frozenset[str]
    around: frozenset[str]


def asked_names(question: str) -> tuple[AskedName, ...]:
    """Return the names in a question, except years and quarters."""
    spellings = [" ".join(name) for name in surface_names(_FISCAL_YEAR.sub("", question))]
    names = [AskedName(frozenset(words(name)), _letters_and_digits(name)) for name in spellings]
    return tuple(name for name in names if not _QUARTER.fullmatch(name.letters) and name.terms - _PERIOD_WORDS)


def asked_of(question: str, terms: Collection[str], counted: Collection[str] = ()) -> QuestionWording:
    """Return the parts of a question that are compared with the labels of a cell.

    `terms` are its index terms that name something, `counted` those that it counts, as in "how many patients".
    """
    names = asked_names(question)
    question = _FISCAL_YEAR.sub("", question)
    name_terms = frozenset[str]().union(*(name.terms for name in names))
    period_terms = frozenset(term for term in terms if YEAR.fullmatch(term) or _PERIOD_TERM.fullmatch(term))
    optional = _PERIOD_WORDS | _GENERAL_WORDS | _UNITS | (_PEOPLE_WORDS & frozenset(counted))
    return QuestionWording(
        names=names,
        years=frozenset(YEAR.findall(question)),
        quarters=_find_quarters(question),
        part_of_year=bool(_PART_OF_YEAR.search(question)),
        qualifiers=_find_qualifiers(question) | ({"%"} if _ASKS_SHARE.search(question) else set()),
        new_year=bool(_NEW_YEAR.search(question)),
        terms=frozenset(terms) - name_terms - period_terms - optional,
        all=frozenset(terms) | name_terms,
    )


def may_be_claimed(asked: QuestionWording, cell: CellNames) -> bool:
    """Return whether a cell may be claimed: its labels, caption and title have the question's words, and few others."""
    row_terms, column_terms = cell.labels
    return (
        _are_words_near_cell(asked, cell)
        and all(name.stands_with(cell.terms | cell.around, cell.source) for name in asked.names)
        and not any(name.is_split_between(row_terms, column_terms) for name in asked.names)
        and _is_of_asked_years(asked, cell)
        and _is_of_asked_quarter(asked, cell)
        and _find_qualifiers(f"{cell.column} {cell.row}") <= asked.qualifiers
        and _has_few_other_words(cell.row, row_terms, asked, cell.source)
        and _has_few_other_words(cell.column, column_terms, asked, cell.source)
    )


def _are_words_near_cell(asked: QuestionWording, cell: CellNames) -> bool:
    """Return whether row, column, caption and title have the question's words, and row and column more than half.

    Names count if they stand in row or column.
    """
    names_in_labels = frozenset[str]().union(*(name.terms for name in asked.names)) & cell.terms
    in_labels = (asked.terms & cell.terms) | names_in_labels
    return asked.terms <= cell.terms | cell.around and 2 * len(in_labels) > len(asked.terms | names_in_labels)


def _is_of_asked_years(asked: QuestionWording, cell: CellNames) -> bool:
    """Return whether the cell is of the question's years: those of its labels, else of its caption, title or file."""
    labels = f"{cell.column} {cell.row}"
    # The 52 weeks ended January 28, 2023 are called 2022 or 2023; only a question that says January is clear.
    if asked.years and not asked.new_year and _NEW_YEAR.search(labels):
        return False
    around = " ".join([cell.table, cell.source.title, PurePath(cell.source.source).name])
    return asked.years <= frozenset(YEAR.findall(labels) or YEAR.findall(around))


def _is_of_asked_quarter(asked: QuestionWording, cell: CellNames) -> bool:
    """Return whether a cell is of the question's quarters or, if it asks for no part of a year, of a whole year."""
    labels = f"{cell.column} {cell.row}"
    if not asked.part_of_year:
        return not _PART_OF_YEAR.search(labels) and not _PART_OF_YEAR.search(cell.table)
    quarters = _find_quarters(f"{labels} {cell.table} {cell.source.title}")
    return bool(_PART_OF_YEAR.search(labels)) and asked.quarters <= quarters


def _has_few_other_words(text: str, label: frozenset[str], asked: QuestionWording, source: Source) -> bool:
    """Return whether few of a label's terms stand neither in the question nor in the document's title.

    Terms in brackets, figures, units, periods and statistics do not count. `text` is the label, the name of a row or
    column, and `label` its index terms.
    """
    in_brackets = frozenset(words(" ".join(_IN_BRACKETS.findall(text))))
    naming = [term for term in label - in_brackets - _NOT_NAMING if len(term) > 1 and not any(map(str.isdigit, term))]
    known = asked.all | frozenset(words(source.title))
    return sum(term not in known for term in naming) <= MOST_ELSE * len(naming)


def _find_qualifiers(text: str) -> frozenset[str]:
    """Return the words of a text that change which figure is meant, such as "before", and the "%" of a ratio."""
    return frozenset(map(str.lower, [*_QUALIFIERS.findall(text), *_RATIO_SIGN.findall(text)]))


def _find_quarters(text: str) -> frozenset[str]:
    """Return the quarters of a year that a text names, as "1" to "4": of "third quarter", "Q3" or "3Q"."""
    matches = _QUARTER.findall(text)
    return frozenset(_ORDINALS.get(ordinal.lower(), digit or digit_before) for ordinal, digit, digit_before in matches)


def _letters_and_digits(text: str) -> str:
    """Return the letters and digits of a text in lower case, without anything between them."""
    return re.sub(r"[\W_]+", "", text).casefold()
