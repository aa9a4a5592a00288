"""Which of a table's groups has the most or the least of something: "Which arm had the most dropouts?".

In most tables of reports the groups are columns, so all of them stand in one row. The row answers if it is the only one
whose label the question names, and one group alone has the most. If the groups are rows, a part of the table may stand
in a passage that was not found, so the rows are shown and nothing is claimed. By rule, in English.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from preflight_rag.offline.cell_checks import MOST_ELSE
from preflight_rag.offline.figure_styles import has_decimal_comma
from preflight_rag.offline.ordered_rows import DURATION, LENGTH, PRICE, measured_place
from preflight_rag.offline.table_rows import TableLine, are_called, largest_table, lines_of_tables, shown_rows
from preflight_rag.state.reading import Draft, Source
from preflight_rag.text.quotes import plain
from preflight_rag.text.tables import Cell
from preflight_rag.text.words import words

_MOST = r"most|highest|largest|greatest|biggest|longest|oldest|maximum"
_LEAST = r"fewest|lowest|smallest|least|shortest|youngest|minimum"
_ASKS_EXTREME = re.compile(
    rf"(?:in |for |with |on )?(?:which|what) (?P<group>[\w -]{{1,60}}?) (?P<verb>[\w-]{{2,20}}(?: [\w-]{{2,20}})?) "
    rf"(?:the )?(?:(?P<most>{_MOST})|(?P<least>{_LEAST})) "
    r"(?:numbers? of |(?P<share>(?:rate|percentage|proportion|share) of ))?(?P<what>[^?]{2,200})",
    re.IGNORECASE,
)
_ASKS_PRICE_EXTREME = re.compile(
    r"(?:which|what)(?: of (?:the|our|these|those))? (?P<group>[\w '’-]{1,60}?) "
    r"(?:(?:is|are) (?:the )?(?:second |third )?"
    r"(?:(?P<most>most expensive|dearest|priciest)|cheapest|least expensive)"
    r"|costs? (?:the )?(?:(?P<costly>most)|least))"
    r"(?: for (?:an? |the |our |one )?(?P<for>[\w -]{1,40}))?"
    r"|(?:what|which) (?:is|are) (?:the|our) (?:second |third )?"
    r"(?:(?P<dear>most expensive|dearest|priciest)|cheapest|least expensive)"
    r" (?P<of>[\w '’-]{1,60}?)(?: for (?:an? |the |our |one )?(?P<whom>[\w -]{1,40}))?",
    re.IGNORECASE,
)
"""A question for a price without a word for it: "Which bar is the cheapest?"."""
_ASKS_LENGTH_EXTREME = re.compile(
    r"(?:which|what)(?: of (?:the|our|these|those))? (?P<group>[\w '’-]{1,60}?) "
    r"(?:is|are|(?P<time>takes?|lasts?|runs?)) (?:the )?(?:(?P<most>longest)|shortest)"
    r"|(?:what|which) (?:is|are) (?:the|our) (?:(?P<long>longest)|shortest) (?P<of>[\w '’-]{1,60})",
    re.IGNORECASE,
)
"""A question for a duration or a length without a word for it: "What is the longest programme?"."""
_BEGINS_WITH_WHO = re.compile(
    r"^who (?=(?:has|had|gets|got|earns?|earned|pays?|paid|scored|sold|made)\b)", re.IGNORECASE
)
_GROUP_WORDS = frozenset(
    words("arm group treatment drug dose dosage cohort therapy regimen intervention medication product")
)
"""Words of a question for a group of people, for which a table's header has only the group's name."""
_NO_GROUP_COLUMN = re.compile(
    r"\b(?:total|overall|all|both|combined|pooled|p|p[- ]?values?|differences?|changes?|ci|contrasts?|ratio|vs|versus"
    r"|range|sd|se|median|units?|notes?)\b",
    re.IGNORECASE,
)
"""Matches names of columns that hold no figure of a single group."""
_GENERAL_WORDS = frozenset(
    words(
        "number patients participants subjects people percentage rate percent reported total any common adverse events"
    )
)
"""Words of a row's label that do not change what the row is about."""
_ASKS_COUNT = re.compile(r"\b(?:most|fewest)\b", re.IGNORECASE)
_SYNONYMS = {"dropout": frozenset(words("discontinued discontinuations withdrawn withdrew withdrawals dropped"))}
"""A question's word to the words that tables use for it."""
_GROUP_SIZE = re.compile(r"\(n\s?[=:][^()]{0,40}\)", re.IGNORECASE)
_COUNT_UNIT = re.compile(
    r"^(?:number|no\.?|n)(?: \(%\))? of (?:patients|subjects|participants|people), ", re.IGNORECASE
)
_FIGURE = re.compile(r"[-−–]?\d[\d,]*(?:\.\d+)?")
_PERCENT = re.compile(r"\((\d+(?:\.\d+)?)\s?%?\)")


@dataclass(frozen=True)
class Extreme:
    """A question for the group with the most or the least of something.

    Attributes:
        group: Index terms of the word for the groups.
        what: Index terms of the measured quantity.
        most: Whether the question asks for the most, not the least.
        shared: Whether it asks for a percentage.
        counted: Whether it asks for a number of people or events.
        narrower: Index terms of what a price is for, which may be a column: "the cheapest for a cat".
    """

    group: frozenset[str]
    what: frozenset[str]
    most: bool
    shared: bool
    counted: bool
    narrower: frozenset[str] = frozenset()


def extreme_of(question: str) -> Extreme | None:
    """Return which group and quantity a question for the most or the least is about; None for any other question."""
    # People stand in a column of names: "Who has the highest salary?" asks which name has it.
    asked = _BEGINS_WITH_WHO.sub("which name ", " ".join(question.split()).rstrip("?!. "))
    if priced := _ASKS_PRICE_EXTREME.fullmatch(asked):
        group = frozenset(words(priced["group"] or priced["of"]))
        narrower = frozenset(words(priced["for"] or priced["whom"] or ""))
        most = bool(priced["most"] or priced["costly"] or priced["dear"])
        return Extreme(group, PRICE, most, shared=False, counted=False, narrower=narrower)
    if long := _ASKS_LENGTH_EXTREME.fullmatch(asked):
        group = frozenset(words(long["group"] or long["of"]))
        what = DURATION if long["time"] else LENGTH
        return Extreme(group, what, bool(long["most"] or long["long"]), shared=False, counted=False)
    match = _ASKS_EXTREME.fullmatch(asked)
    if match is None:
        return None
    what = frozenset(words(match["what"]))
    shared = match["share"] is not None
    counted = not shared and bool(_ASKS_COUNT.search(match[0]))
    group = frozenset(words(match["group"]))
    return Extreme(group, what, match["most"] is not None, shared, counted) if what else None


def answer_extreme_from_table(question: str, sources: Sequence[Source], lead: str) -> Draft | None:
    """Return the group with the most or the least in a table, or the rows that may show it without a claim.

    None if the question is of another kind, or if no table has such rows. `lead` is the line above unclaimed rows.
    """
    asked = extreme_of(question)
    if asked is None:
        return None
    lines = list(lines_of_tables(sources))
    fitting = [line for line in lines if is_answered_by(asked, line)]
    if fitting:
        nearest = min(_compare_label(asked, line) for line in fitting)
        best = [line for line in fitting if _compare_label(asked, line) == nearest]
        _, share_of_other_words = nearest
        # By text, since passages overlap and one row may stand in two of them.
        is_single_row = len({line.text for line in best}) == 1
        if is_single_row and share_of_other_words <= MOST_ELSE and (cell := _find_extreme_cell(asked, best[0])):
            return _draft_claim(best[0], cell)
        return shown_rows(largest_table(fitting), lead, "extreme")
    # Rows of the table may stand in other passages: `whole_tables`, which reads all of them, puts rows in order.
    rows = largest_table([line for line in lines if measured_place(asked.what, line) is not None])
    if not any(_FIGURE.search(line.row.cells[measured_place(asked.what, line) or 0].text) for line in rows):
        return None
    return shown_rows(rows, lead, "extreme") if are_called(asked.group, rows, sources) else None


def _label_terms(line: TableLine) -> frozenset[str]:
    """Return the index terms of a row's first cell, and the question's words for which tables use one of these."""
    terms = frozenset(words(line.row.cells[0].text))
    return terms.union(asked for asked, synonyms in _SYNONYMS.items() if synonyms & terms)


def is_answered_by(asked: Extreme, line: TableLine) -> bool:
    """Return whether a row may answer: it has figures of several groups, and its labels have the measured quantity.

    The row's own label must have a word of the quantity; its caption and title may have the others.
    """
    label = _label_terms(line)
    about = label.union(words(line.row.caption), words(line.source.title))
    return bool(asked.what & label) and asked.what <= about and len(_find_group_cells(asked, line)) > 1


def _compare_label(asked: Extreme, line: TableLine) -> tuple[int, float]:
    """Return how many words of the quantity a row's label lacks, and the share of its words that the question lacks.

    The less of both, the nearer is the row.
    """
    label = _label_terms(line)
    specific = label - (_GENERAL_WORDS - asked.what) - _SYNONYMS.keys()
    synonyms = frozenset[str]().union(*(synonyms for word, synonyms in _SYNONYMS.items() if word in asked.what))
    others = specific - asked.what - synonyms
    return len(asked.what - label), round(len(others) / (len(specific) or 1), 4)


def _find_group_cells(asked: Extreme, line: TableLine) -> list[Cell]:
    """Return the cells of a row that hold the figure of a group of the requested kind.

    If the question has a general word such as "arm", every column of a single group is of that kind; else the column's
    name must have a word of it.
    """
    cells = [
        cell
        for cell in line.row.cells[1:]
        if cell.column and not _NO_GROUP_COLUMN.search(_group_name(cell)) and _FIGURE.match(cell.text)
    ]
    if asked.group & _GROUP_WORDS:
        return cells
    return [cell for cell in cells if asked.group & frozenset(words(cell.column))]


def _group_name(cell: Cell) -> str:
    """Return a group's name: the name of its column without "Number of patients, " and the group's size "(N = 90)"."""
    return _GROUP_SIZE.sub("", _COUNT_UNIT.sub("", cell.column)).strip(" ,")


def _find_extreme_cell(asked: Extreme, line: TableLine) -> Cell | None:
    """Return the cell of the group that alone has the most, or the least.

    None if two groups have it, if a group has no figure, if the figures may have decimal commas, if only numbers are
    given for a percentage or the reverse, or if numbers and percentages ("12 (30%)") have different winners.
    """
    cells = _find_group_cells(asked, line)
    label = line.row.cells[0]
    # The label and the groups; a group without a figure may have the most.
    if 1 + len(cells) < len([cell for cell in line.row.cells if not _NO_GROUP_COLUMN.search(_group_name(cell))]):
        return None
    if has_decimal_comma(cell.text for cell in line.row.cells) is not False:
        return None
    numbers = [_parse_number(_FIGURE.match(cell.text)) for cell in cells]
    percentages = [_parse_number(_PERCENT.search(cell.text)) for cell in cells]
    numbers_are_percentages = "%" in label.text
    has_percentages = None not in percentages and not numbers_are_percentages
    if asked.shared:
        if not numbers_are_percentages and not has_percentages:
            return None
        best = _index_of_extreme(numbers if numbers_are_percentages else percentages, most=asked.most)
        return cells[best] if best is not None else None
    # The greater part of a small group may be fewer people.
    if asked.counted and numbers_are_percentages:
        return None
    best = _index_of_extreme(numbers, most=asked.most)
    if asked.counted and has_percentages and best != _index_of_extreme(percentages, most=asked.most):
        return None
    return cells[best] if best is not None else None


def _parse_number(match: re.Match[str] | None) -> float | None:
    """Return the number in a match of `_FIGURE` or `_PERCENT`; None without a match."""
    if match is None:
        return None
    # `_PERCENT` has its number in a group, `_FIGURE` has no group.
    number = match[match.lastindex or 0]
    return float(re.sub("[−–]", "-", number).replace(",", ""))


def _index_of_extreme(numbers: Sequence[float | None], *, most: bool) -> int | None:
    """Return the index of the greatest number, or of the least; None if two have it, or any is missing."""
    known = [number for number in numbers if number is not None]
    if len(known) != len(numbers) or len(known) < 2:
        return None
    extreme = max(known) if most else min(known)
    return known.index(extreme) if known.count(extreme) == 1 else None


def _draft_claim(line: TableLine, cell: Cell) -> Draft:
    """Return the draft that claims the group of a cell, with the row as the quote."""
    n, short = line.source.n, plain(_group_name(cell))
    text = f"{short}: {plain(cell.text)} [{n}]\n\nRow: {plain(line.row.cells[0].text)}.\n\n{plain(line.text)} [{n}]"
    return Draft(text, ((n, line.text),), short=short)
