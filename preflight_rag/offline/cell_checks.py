"""Whether a table's cell may be claimed: row, column and table say all that the question says, and are of nothing else.

A filing has hundreds of rows that share words with a question: "Other income, net" or "Operating income" with what
another row, another column or another company would answer. So each of the question's names, years, quarters and other
words has to stand with the cell, and its row may say little that was not asked. By rule; what is missed is shown as
evidence.
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
"""Most of a row's or a column's words, as a share, that the question may not have. Set by hand on
`tests/offline/test_cell_checks.py`."""
YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")
_FISCAL_YEAR = re.compile(r"\bFY ?'?(?=\d)", re.IGNORECASE)
_QUARTER = re.compile(r"\b(?:(first|second|third|fourth)[ -]quarter|q([1-4])|([1-4])q)(?![a-z])", re.IGNORECASE)
_PERIOD_CODE = re.compile(r"fy\d+|q[1-4]|[1-4]q\d*")
_ORDINALS = {"first": "1", "second": "2", "third": "3", "fourth": "4"}
_PART_OF_YEAR = re.compile(
    r"\b(?:(?:three|six|nine|[369]) months|(?:13|26|39|thirteen|twenty-six|thirty-nine) weeks"
    r"|quarters?|[qh][1-4]|[1-4][qh])(?![a-z])",
    re.IGNORECASE,
)
_PERIOD = frozenset(
    words(
        "fiscal financial year years annual annually quarter first second third fourth months weeks twelve three six"
        " nine ended ending end date period total number unaudited audited consolidated company"
    )
)
"""Words of a period or of a total, which the row or column may have and the question not, and vice versa; years and
quarters are compared by themselves."""
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
_PERCENT = re.compile(r"(?<![(\[\d])(?<!\d )%")
"""A share of something else: "EBIT / sales%"; not the unit of a column, "mortality (%)", and no figure, "95% CI"."""
_ASKS_SHARE = re.compile(
    r"%|\b(?:percent\w*|proportion|share|margin|ratio|rate|growth|change|grow\w*)\b", re.IGNORECASE
)
_NEW_YEAR = re.compile(r"\b(?:january|february|jan|feb)\b", re.IGNORECASE)
"""Months in which a fiscal year may end that lies mostly in the previous year; it may be called by either number."""
_MONTHS = frozenset(words("january february march april may june july august september october november december"))
_PEOPLE = frozenset(
    words("patients participants subjects women men people persons children individuals adults volunteers cases")
)
"""Words for people that a question counts and a table rarely spells out, since its columns are of patients anyway."""
_GENERAL = frozenset(words("group groups arm arms content level levels"))
"""General words for a figure or its column, which a question may use and a table may omit."""
_IN_BRACKETS = re.compile(r"[(\[]([^()\[\]]*)[)\]]")
STATISTIC = frozenset(words("mean median sd se sem iqr ci range number total value count standard deviation"))
"""Words that say how a row's figures were made; a question names the row without them."""
_NO_NAMES = _PERIOD | _MONTHS | _UNITS | _LEGAL_FORMS | STATISTIC


@dataclass(frozen=True)
class AskedName:
    """A name in a question: its index terms, and its letters and digits without separators."""

    terms: frozenset[str]
    letters: str

    def stands_with(self, terms: frozenset[str], source: Source) -> bool:
        """Return whether the name's terms are among the given ones, or in the passage or its title or file name."""
        if self.terms and self.terms <= terms:
            return True
        # Without the rows: a name in another row says whose figures are there, not here.
        prose = " ".join(line for line in source.text.split("\n") if not is_row(line))
        return any(self.letters in _letters(text) for text in (source.title, PurePath(source.source).name, prose))

    def is_taken_apart(self, row: frozenset[str], column: frozenset[str]) -> bool:
        """Return whether some of the name's terms are the row's alone and the others the column's alone.

        "Head Gardener" is one name, and not the column "Gardener" of the row "Head office".
        """
        return self.terms <= row | column and not (self.terms <= row or self.terms <= column)


@dataclass(frozen=True)
class QuestionWording:
    """The parts of a question that are compared with the words around a cell.

    Attributes:
        names: The names in the question.
        years: Years, as they are written.
        quarters: Quarters, "1" to "4".
        part_of_year: Whether the question is about less than a year.
        qualifiers: Words that change which figure is meant.
        new_year: Whether the question names January or February.
        terms: The index terms of the question's other words that have to stand with the cell.
        all: All index terms of the question.
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
        labels: The index terms of the row's and the column's name.
        table: The table's caption.
        source: The passage.
        terms: The index terms of row and column.
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
    named = [" ".join(name) for name in surface_names(_FISCAL_YEAR.sub("", question))]
    names = [AskedName(frozenset(words(name)), _letters(name)) for name in named]
    return tuple(name for name in names if not _QUARTER.fullmatch(name.letters) and name.terms - _PERIOD)


def asked_of(question: str, terms: Collection[str], counted: Collection[str] = ()) -> QuestionWording:
    """Return the parts of a question that are compared with the labels of a cell.

    Args:
        question: The standalone question.
        terms: Its index terms that name something.
        counted: Those of them that it counts: the patients of "how many patients".
    """
    names = asked_names(question)
    question = _FISCAL_YEAR.sub("", question)
    of_names = frozenset[str]().union(*(name.terms for name in names))
    of_periods = frozenset(term for term in terms if YEAR.fullmatch(term) or _PERIOD_CODE.fullmatch(term))
    unsaid = _PERIOD | _GENERAL | _UNITS | (_PEOPLE & frozenset(counted))
    return QuestionWording(
        names=names,
        years=frozenset(YEAR.findall(question)),
        quarters=_quarters(question),
        part_of_year=bool(_PART_OF_YEAR.search(question)),
        qualifiers=_qualifiers(question) | ({"%"} if _ASKS_SHARE.search(question) else set()),
        new_year=bool(_NEW_YEAR.search(question)),
        terms=frozenset(terms) - of_names - of_periods - unsaid,
        all=frozenset(terms) | of_names,
    )


def may_be_claimed(asked: QuestionWording, cell: CellNames) -> bool:
    """Return whether the labels of a cell contain all of the question's words, and few others."""
    return (
        _are_said(asked, cell)
        and all(name.stands_with(cell.terms | cell.around, cell.source) for name in asked.names)
        and not any(name.is_taken_apart(*cell.labels) for name in asked.names)
        and _of_the_years(asked, cell)
        and _of_the_quarter(asked, cell)
        and _qualifiers(f"{cell.column} {cell.row}") <= asked.qualifiers
        and _says_little_else(cell.row, cell.labels[0], asked, cell.source)
        and _says_little_else(cell.column, cell.labels[1], asked, cell.source)
    )


def _are_said(asked: QuestionWording, cell: CellNames) -> bool:
    """Return whether the question's words occur near the cell, more than half of them in its row and column."""
    of_names = frozenset[str]().union(*(name.terms for name in asked.names)) & cell.terms
    own = (asked.terms & cell.terms) | of_names
    return asked.terms <= cell.terms | cell.around and 2 * len(own) > len(asked.terms | of_names)


def _of_the_years(asked: QuestionWording, cell: CellNames) -> bool:
    """Return whether the cell is of the question's years: by its column and row, else by its table or document."""
    named = f"{cell.column} {cell.row}"
    # The 52 weeks ended January 28, 2023 are called 2022 or 2023; only a question that says January is clear.
    if asked.years and not asked.new_year and _NEW_YEAR.search(named):
        return False
    own = frozenset(YEAR.findall(named))
    around = " ".join([cell.table, cell.source.title, PurePath(cell.source.source).name])
    return asked.years <= (own or frozenset(YEAR.findall(around)))


def _of_the_quarter(asked: QuestionWording, cell: CellNames) -> bool:
    """Return whether a cell's quarter is the question's; a cell of a quarter never answers a question about a year."""
    own = f"{cell.column} {cell.row}"
    if not asked.part_of_year:
        return not _PART_OF_YEAR.search(own) and not _PART_OF_YEAR.search(cell.table)
    return bool(_PART_OF_YEAR.search(own)) and asked.quarters <= _quarters(f"{own} {cell.table} {cell.source.title}")


def _says_little_else(text: str, label: frozenset[str], asked: QuestionWording, source: Source) -> bool:
    """Return whether most of a label's terms are the question's or the document's title's.

    Terms in brackets, codes and figures do not count.
    """
    aside = frozenset(words(" ".join(_IN_BRACKETS.findall(text))))
    own = [term for term in label - aside - _NO_NAMES if len(term) > 1 and not any(map(str.isdigit, term))]
    known = asked.all | frozenset(words(source.title))
    return sum(term not in known for term in own) <= MOST_ELSE * len(own)


def _qualifiers(text: str) -> frozenset[str]:
    """Return the words of a text that restrict a figure, such as "total" or "net", and its percentages."""
    return frozenset(map(str.lower, [*_QUALIFIERS.findall(text), *_PERCENT.findall(text)]))


def _quarters(text: str) -> frozenset[str]:
    """Return the quarters of a year that a text names, as "1" to "4"."""
    return frozenset(_ORDINALS.get(word.lower(), number or other) for word, number, other in _QUARTER.findall(text))


def _letters(text: str) -> str:
    """Return the letters and digits of a text in lower case, without anything between them."""
    return re.sub(r"[\W_]+", "", text).casefold()
