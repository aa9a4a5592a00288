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
"""Least share of the terms of a row's label, or a column's name, by which a question names it. Set on the tables of
`tests/offline/test_tables.py`."""
MIN_MARGIN = 0.02
"""Least difference of the best cell's score to the next best with another text. Set, like the constant above, on
statements with many similar rows."""
LABEL_BONUS = 0.3
"""Extra weight of a row's first cell when rows are compared, since it says what the row is about. A guess."""
NAME_WEIGHT = 0.1
"""Weight of the shares of a row's label and a column's name that the question contains. A guess."""
COLUMN_WEIGHT = 0.3
"""Extra weight of the question's words in the column's name, also if the table's caption has them. A guess."""
TITLE_WEIGHT = 0.3
"""Weight of the share of the question's title words that the row's document has in its title. A guess."""
COUNTED_WEIGHT = 0.3
"""Factor for the counted thing, the patients of "how many patients": tables seldom name it. A guess."""
PERCENT_PENALTY = 0.05
"""Penalty of a percentage beside an amount in a column of the same name, where the question asks for no percentage. A
guess.
"""
_CODE = re.compile(r"\b[A-Z]{2,4}\b")
_LETTER_IN_QUESTION = re.compile(r"[a-z] ([A-Z])\b")
"""Matches the letter of an arm or a group in a question: "water C"."""
_LETTER_IN_TABLE = re.compile(r"\b([A-Z])\d?(?![\w-])")
"""Matches such a letter in a table, where the number of a footnote may follow it."""
_TERM_WITH_ABBREVIATION = re.compile(r"((?:\b[\w'-]{1,60} ){2,6})\(([A-Z]{2,6})s?\)")
_SYNONYMS = {"percentag": "%", "percent": "%", "proport": "%", "pct": "%", "averag": "mean"}
"""Index terms that mean the same, with the one that stands for them."""
_ASKING_TERMS = frozenset(
    words(
        "many much value figure table row column say show report list tell amount total give according number take fall"
        " fell have get make need reach contain sell pay cost come last hold stand lie use"
    )
)
"""Index terms that only ask, and name nothing, unless a row or a column has them."""
_QUANTITY_TERMS = frozenset(words("many much"))
_ASKED_NOUN = re.compile(
    r"\bwh(?:at|ich)(?:['’]s| (?:is|are|was|were)) (?:[\w'’.-]{1,40} ){0,6}?(?P<head>[\w-]{2,40})"
    r"(?= (?:of|for)\b|\W{0,5}$)",
    re.IGNORECASE,
)
"""Matches the noun that a question asks for: the use of "What is the use of the north shed?"."""
_GENERAL_HEADS = frozenset(words("value figure table row column list report amount total number"))
"""Such nouns that any cell may be called: they name nothing."""
_COUNTED_THING = re.compile(r"\bhow many (\w+)", re.IGNORECASE)
_SCALE = re.compile(r"(?:\bin |[$€£] ?|\()(thousand|million|billion)s?\b(?! of)", re.IGNORECASE)
_COLUMN_IN_THOUSANDS = re.compile(r"['’]000\b|\(000s?\)|\bk ?[€£$]")
"""Matches the name of a column in thousands: "Rent ('000 €)"."""
_HAS_OWN_UNIT = re.compile(
    r"%|illion|thousand|\b(?:per|percent|percentage|shares?|number|rate|ratio|margin|employees|stores)\b", re.IGNORECASE
)
"""Matches units that a table's scale ("in millions") does not apply to, or that have a scale of their own."""
_DATE = re.compile(
    r"\b(?:(?P<iso_year>\d{4})-(?P<iso_month>\d\d)-(?P<iso_day>\d\d)"
    rf"|(?P<day>\d{{1,2}})(?:st|nd|rd|th)? (?:of )?(?P<month>{MONTH}),? (?P<year>\d{{4}})"
    rf"|(?P<first_month>{MONTH}) (?P<second_day>\d{{1,2}})(?:st|nd|rd|th)?,? (?P<last_year>\d{{4}}))\b",
    re.IGNORECASE,
)
"""Matches a whole date: "2024-04-04", "4 April 2024", "April 4th, 2024"; not "April 2024"."""
_SHORT_DAY = re.compile(r"\b(?:[Mm]on|[Tt]ues?|[Ww]ed|[Tt]hu(?:rs?)?|[Ff]ri|Sat|Sun)\b")
"""Matches abbreviated weekdays; "sat" and "sun" are other words."""
_WEEKDAYS = {name[:3]: name for name in map(str.casefold, day_name)}
_NEEDS_SEVERAL_CELLS = re.compile(
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
        scale: The scale of an amount, such as "in millions", if the passage gives it; else "".
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
class _TableLine:
    """A row with its index terms: of each cell, of each column's name, and of the table's caption and title."""

    source: Source
    line: str
    row: TableRow
    cell_terms: tuple[frozenset[str], ...]
    column_terms: tuple[frozenset[str], ...]
    title_terms: frozenset[str]

    @cached_property
    def all_terms(self) -> frozenset[str]:
        """The terms of row, columns, caption and title."""
        return self.title_terms.union(*self.cell_terms, *self.column_terms)


@dataclass(frozen=True)
class _Candidate:
    """A cell that may answer, with the scores of how well the question names its row and column.

    Attributes:
        line: The cell's row.
        index: The cell's index in the row.
        label_index: The index of the cell that names the row; -1 if the row has no other cell.
        share: As in `TableAnswer`.
        score: The share with bonuses and penalties.
    """

    line: _TableLine
    index: int
    label_index: int
    share: float
    score: float

    @property
    def cell(self) -> Cell:
        """The cell that may answer."""
        return self.line.row.cells[self.index]

    @property
    def label(self) -> str:
        """The text of the cell that names the row; "" if there is none."""
        return self.line.row.cells[self.label_index].text if self.label_index >= 0 else ""


def table_answer(question: str, sources: Sequence[Source]) -> TableAnswer | None:
    """Return the cell that a question names by row and column; None if it names none, or more than one.

    The cell may contain an error in place of a value. None as well for a yes/no question, and for one that several
    cells would answer, such as a question for the highest.

    Args:
        question: The standalone question.
        sources: Passages; their lines that are rows of tables are read.
    """
    kind = asked_kind(question)
    if kind == "verdict" or _NEEDS_SEVERAL_CELLS.search(question):
        return None
    with_days = _DATE.sub(lambda match: f" {_day_term(match)} ", question)
    question_terms = _terms(with_days)
    lines = list(_table_lines(sources, _long_forms(sources, question_terms), amounts=asks_sum(question)))
    table_terms = frozenset[str]().union(*(line.all_terms for line in lines))
    # A single letter names something only where a table has it: "water C".
    question_terms |= {
        letter.lower() for letter in _LETTER_IN_QUESTION.findall(question) if letter.lower() in table_terms
    }
    ignored = _ASKING_TERMS - _asked_noun(question) - table_terms
    question_terms = question_terms - _QUANTITY_TERMS - ignored
    if not question_terms or not lines:
        return None
    weights, titles = _term_weights(question_terms, lines), _title_shares(question_terms, lines)
    counted = _terms(match[1]) & question_terms if (match := _COUNTED_THING.search(question)) else frozenset[str]()
    for term in counted:
        weights[term] *= COUNTED_WEIGHT
    wording = asked_of(with_days, question_terms, counted)
    candidates = []
    for line in lines:
        for candidate in _candidates(
            line, question_terms, weights, titles, amounts=kind == "name" or asks_sum(question)
        ):
            if (
                _is_of_asked_type(question, kind, candidate)
                and may_be_claimed(wording, _labels_of_cell(candidate))
                and not is_of_another_time(question, line.row, candidate.cell.column)
            ):
                candidates.append(candidate)
    if not candidates:
        return None
    best, *others = sorted(candidates, key=lambda candidate: -candidate.score)
    # A cell with the same text would give the same answer.
    next_score = next((other.score for other in others if other.cell.text != best.cell.text), 0.0)
    margin = round(best.score - next_score, 4)
    if margin < MIN_MARGIN:
        return None
    label = best.label if best.label_index >= 0 else best.line.row.caption
    return TableAnswer(
        n=best.line.source.n,
        cell=best.cell.text,
        row=label.rstrip("."),
        column=best.cell.column,
        scale=_scale_of_amount(best.line, best.cell, label),
        quote=best.line.line,
        share=round(best.share, 4),
        margin=margin,
    )


def _asked_noun(question: str) -> frozenset[str]:
    """Return the index terms of the noun that a question asks for; none for a price, which has many names."""
    match = None if asks_price(question) else _ASKED_NOUN.search(question)
    return frozenset(words(match["head"])) - _GENERAL_HEADS if match else frozenset()


def _scale_of_amount(line: _TableLine, cell: Cell, label: str) -> str:
    """Return the scale of an amount, such as "in millions"; "" for other cells and where none is given.

    It is taken from the column's name, else from the row's line, else from the nearest line above that gives one.
    """
    if _HAS_OWN_UNIT.search(f"{cell.text} {label}") or not any(map(str.isdigit, cell.text)):
        return ""
    names = f"{cell.column} {label} {line.row.caption}"
    if _COLUMN_IN_THOUSANDS.search(names):
        return "in thousands"
    others = [other.column for other in line.row.cells[1:] if other is not cell and not other.column.startswith("(")]
    # Another column gives a scale for itself, so that each column has its own.
    if not _SCALE.search(names) and any(map(_SCALE.search, others)):
        return ""
    above = line.source.text[: line.source.text.find(line.line)]
    scales = [*_SCALE.findall(line.line)[:1], *_SCALE.findall(above)[-1:]]
    return f"in {scales[0].lower()}s" if scales else ""


def _is_of_asked_type(question: str, kind: Kind, candidate: _Candidate) -> bool:
    """Return whether a cell is of the type that the question asks for, such as a number or a date."""
    cell, label, line = candidate.cell, candidate.label, candidate.line
    labels = " ".join((cell.column, label, line.row.caption, _scale_of_amount(line, cell, label)))
    return is_of_asked_type(question, kind, cell.text, column=cell.column, labels=labels)


def _labels_of_cell(candidate: _Candidate) -> CellNames:
    """Return the labels of a cell: its row's label and other words, its column, caption and title."""
    line, cells, index, label_index = candidate.line, candidate.line.row.cells, candidate.index, candidate.label_index
    column, of_column = cells[index].column, line.column_terms[index]
    label_indices = {label_index, 0} - {-1, index}
    # A first column is often headed by the table's unit alone: "(Dollars in Millions Except Per Share Data)".
    headers = [line.column_terms[other] for other in label_indices if not cells[other].column.startswith("(")]
    texts = [
        line.cell_terms[other]
        for other, cell in enumerate(cells)
        if other in label_indices or not any(map(str.isdigit, cell.text))
    ]
    terms = of_column.union(*headers, *texts)
    # Of "Towel | Fee: £2" a question need not say "fee".
    if label_index == 0 and _is_lone_amount(line, index):
        column, of_column = "", frozenset[str]()
    labels = line.cell_terms[label_index] if label_index >= 0 else frozenset[str](), of_column
    return CellNames(candidate.label, column, labels, line.row.caption, line.source, terms, line.title_terms)


def _long_forms(sources: Sequence[Source], question_terms: frozenset[str]) -> dict[str, frozenset[str]]:
    """Return the terms of the long form of each abbreviation in brackets that the question does not use.

    "mean lysis time (MLT)" gives "mlt" the terms of "mean lysis time"; the first long form of a text counts.
    """
    long_forms: dict[str, frozenset[str]] = {}
    for source in sources:
        for before, abbreviation in _TERM_WITH_ABBREVIATION.findall(source.text):
            long_form = before.split()[-len(abbreviation) :]
            initials = "".join(word[0] for word in long_form)
            if initials.casefold() == abbreviation.casefold() and abbreviation.lower() not in question_terms:
                long_forms.setdefault(abbreviation.lower(), frozenset(words(" ".join(long_form))))
    return long_forms


def _without_shared_money_word(columns: Sequence[str]) -> list[str]:
    """Return the names of columns without a word for money that all of them but the first begin with.

    "Charge" does not distinguish "Charge, Members" from "Charge, Others".
    """
    groups = [column.rpartition(", ")[0] for column in columns[1:]]
    if len(groups) < 2 or len(set(groups)) > 1 or not names_amounts(groups[0]):
        return list(columns)
    return [columns[0], *(column.removeprefix(f"{groups[0]}, ") for column in columns[1:])]


def _table_lines(
    sources: Sequence[Source], long_forms: Mapping[str, frozenset[str]], *, amounts: bool
) -> Iterator[_TableLine]:
    """Yield the rows of all passages with their index terms.

    A row without a caption has that of the row before it in its passage; a row whose caption is only the table's number
    gets the terms of the longest caption in its document that begins with it.

    Args:
        sources: The passages.
        long_forms: The long forms of abbreviations.
        amounts: Whether the question asks for an amount of money.
    """

    @cache  # for this question: captions, titles and columns' names stand in each row
    def terms_of(text: str) -> frozenset[str]:
        """Return the index terms of a text, with long forms in place of abbreviations."""
        terms = _terms(text) | {letter.lower() for letter in _LETTER_IN_TABLE.findall(text)}
        return terms.difference(long_forms).union(*(long for short, long in long_forms.items() if short in terms))

    lines = [(source, line.strip()) for source in sources for line in source.text.split("\n")]
    rows = [(source, line, row) for source, line in lines if (row := parse_row(line)) is not None]
    captions: dict[str, set[str]] = {}
    for source, _, row in rows:
        captions.setdefault(source.title, set()).add(row.caption)
    previous_source, caption = None, ""
    for source, line, row in rows:
        caption = row.caption or (caption if previous_source is source else "")
        previous_source = source
        longer = [other for other in captions[source.title] if caption and other.startswith(caption)]
        columns = [cell.column for cell in row.cells]
        names = _without_shared_money_word(columns) if amounts else columns
        yield _TableLine(
            source,
            line,
            row,
            tuple(terms_of(cell.text) for cell in row.cells),
            tuple(terms_of(name) for name in names),
            terms_of(max(longer, key=len, default="")) | terms_of(source.title),
        )


def _terms(text: str) -> frozenset[str]:
    """Return the index terms of a text and its years, dates, weekdays and codes; synonyms have one term."""
    terms = {_SYNONYMS.get(term, term) for term in words(text)} | set(YEAR.findall(text))
    terms |= {day for match in _DATE.finditer(text) if (day := _day_term(match))}
    short_days = {match.casefold() for match in _SHORT_DAY.findall(text)}
    terms = (terms - short_days) | {_WEEKDAYS[day[:3]] for day in short_days}
    # An arm may be called DO or AN, which are no words of content elsewhere.
    terms |= {code.lower() for code in _CODE.findall(text)}
    return frozenset(terms | {"%"} if "%" in text else terms)


def _day_term(match: re.Match[str]) -> str:
    """Return one term for all ways to write a date: "day20240404" for "4 April 2024" and "2024-04-04"."""
    parts = match.groupdict()
    year = parts["iso_year"] or parts["year"] or parts["last_year"]
    month = parts["iso_month"] or MONTHS.index((parts["month"] or parts["first_month"] or "")[:3].casefold()) + 1
    day = parts["iso_day"] or parts["day"] or parts["second_day"]
    return f"day{int(year):04}{int(month):02}{int(day):02}"


def _term_weights(question_terms: frozenset[str], lines: Sequence[_TableLine]) -> dict[str, float]:
    """Return the inverse document frequency of each of the question's terms over the rows."""
    counts = Counter(chain.from_iterable(question_terms & line.all_terms for line in lines))
    return {term: math.log(1 + (len(lines) + 1) / (0.5 + counts[term])) for term in sorted(question_terms)}


def _title_shares(question_terms: frozenset[str], lines: Sequence[_TableLine]) -> dict[str, float]:
    """Return by title its share of the question's terms that titles have at all, in [0, 1]; rare terms count more."""
    terms = {line.source.title: _terms(line.source.title) & question_terms for line in lines}
    counts = Counter(chain.from_iterable(terms.values()))
    weights = {term: math.log(1 + len(terms) / count) for term, count in counts.items()}
    total = sum(weights.values()) or 1.0
    shares = {}
    for title, title_terms in terms.items():
        shares[title] = sum(weights[term] for term in sorted(title_terms)) / total
    return shares


def _candidates(
    line: _TableLine,
    question_terms: frozenset[str],
    weights: dict[str, float],
    titles: dict[str, float],
    *,
    amounts: bool,
) -> Iterator[_Candidate]:
    """Yield the cells of a row whose column the question names, when it names the row.

    Args:
        line: The row.
        question_terms: The question's terms.
        weights: Their weights.
        titles: The share of the question's title words in each title.
        amounts: Whether the question may ask for an amount of money without a word for it.
    """
    total = sum(weights.values())
    cells = line.row.cells
    for index, cell in enumerate(cells):
        # A first column without a name has labels, which answer nothing.
        if not any(char.isalnum() for char in cell.text) or (index == 0 and not cell.column):
            continue
        # The only other cell of a row needs no name of its own: "Founded: 1975" or "Blues | 1".
        needs_no_name = len(cells) == 2 and (not cell.column or (amounts and _is_lone_amount(line, index)))
        name = line.column_terms[index]
        if not needs_no_name and not _is_named(name, question_terms):
            continue
        label_index = _label_index(line, index, name & question_terms, question_terms, weights)
        # A row of one cell has no other cell to name it, only its caption and title.
        if label_index is None and not (len(cells) == 1 and line.title_terms & question_terms):
            continue
        label = frozenset[str]()
        if label_index is not None:
            label = line.cell_terms[label_index] | line.column_terms[label_index]
        covered = (name & question_terms) | (label & question_terms) | (line.title_terms & question_terms)
        share = sum(weights[term] for term in covered) / total
        label_bonus = LABEL_BONUS if label_index == 0 else 0.0
        score = share + NAME_WEIGHT * (
            _named_share(label, question_terms) + _named_share(name, question_terms) + label_bonus
        )
        score += COLUMN_WEIGHT * sum(weights[term] for term in sorted(name & question_terms)) / total
        penalty = PERCENT_PENALTY if "%" in cell.text and "%" not in question_terms else 0.0
        score += TITLE_WEIGHT * titles[line.source.title] - penalty
        yield _Candidate(line, index, -1 if label_index is None else label_index, share, score)


def _is_lone_amount(line: _TableLine, index: int) -> bool:
    """Return whether a cell is the amount beside its label: "Towel | £2" needs no name such as "Price"."""
    return index == 1 and len(line.row.cells) == 2 and names_amounts(line.row.cells[1].column)


def _label_index(
    line: _TableLine, index: int, used: frozenset[str], question_terms: frozenset[str], weights: dict[str, float]
) -> int | None:
    """Return the index of the other cell of a row that the question names best; None if it names none.

    The question's terms that are `used` to name the answering cell's column do not count.
    """
    best_weight, best_index = 0.0, None
    for other, terms in enumerate(line.cell_terms):
        naming_terms = (terms & question_terms) - used
        if other == index or not naming_terms or not _is_named(terms, question_terms):
            continue
        weight = sum(weights[term] for term in naming_terms) + (LABEL_BONUS if other == 0 else 0.0)
        if best_index is None or weight > best_weight:
            best_weight, best_index = weight, other
    return best_index


def _is_named(terms: frozenset[str], question_terms: frozenset[str]) -> bool:
    """Return whether the question's terms name a label: they have half of its terms, or its year."""
    shared = terms & question_terms
    return bool(shared) and (
        _named_share(terms, question_terms) >= NAMED or any(YEAR.fullmatch(term) for term in shared)
    )


def _named_share(terms: frozenset[str], question_terms: frozenset[str]) -> float:
    """Return the share of a label's terms that the question contains, in [0, 1].

    Letters, figures and statistics ("mean") count only if the question has them; 0 if no term counts.
    """
    counted = {
        term for term in terms if term in question_terms or not (len(term) < 2 or term.isdigit() or term in STATISTIC)
    }
    return len(counted & question_terms) / len(counted) if counted else 0.0
