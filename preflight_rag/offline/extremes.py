"""Which of a table's groups has the most or the least of something: "Which arm had the most dropouts?".

In most tables of reports the groups are columns, so all of them stand in one row: the one that the question names by
its label answers, if it alone is named so and one group alone has the most of it. Where the groups are rows, a part of
the table may stand in a passage that was not found: then the rows are shown, and nothing is claimed. By rule, in
English.
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
_ASKED = re.compile(
    rf"(?:in |for |with |on )?(?:which|what) (?P<group>[\w -]{{1,60}}?) (?P<verb>[\w-]{{2,20}}(?: [\w-]{{2,20}})?) "
    rf"(?:the )?(?:(?P<most>{_MOST})|(?P<least>{_LEAST})) "
    r"(?:numbers? of |(?P<share>(?:rate|percentage|proportion|share) of ))?(?P<what>[^?]{2,200})",
    re.IGNORECASE,
)
_PRICED = re.compile(
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
"""Questions for a price that do not name it: "Which bar is the cheapest?"."""
_LONG = re.compile(
    r"(?:which|what)(?: of (?:the|our|these|those))? (?P<group>[\w '’-]{1,60}?) "
    r"(?:is|are|(?P<time>takes?|lasts?|runs?)) (?:the )?(?:(?P<most>longest)|shortest)"
    r"|(?:what|which) (?:is|are) (?:the|our) (?:(?P<long>longest)|shortest) (?P<of>[\w '’-]{1,60})",
    re.IGNORECASE,
)
"""Questions for what takes the longest that do not name the time: "What is the longest programme?"."""
_WHO = re.compile(r"^who (?=(?:has|had|gets|got|earns?|earned|pays?|paid|scored|sold|made)\b)", re.IGNORECASE)
_GROUP = frozenset(words("arm group treatment drug dose dosage cohort therapy regimen intervention medication product"))
"""Words that a question may use for a group of people where the table's header has only the group's name."""
_NO_GROUP = re.compile(
    r"\b(?:total|overall|all|both|combined|pooled|p|p[- ]?values?|differences?|changes?|ci|contrasts?|ratio|vs|versus"
    r"|range|sd|se|median|units?|notes?)\b",
    re.IGNORECASE,
)
"""Columns that hold no group's own figure."""
_GENERAL = frozenset(
    words(
        "number patients participants subjects people percentage rate percent reported total any common adverse events"
    )
)
"""Words of a label that leave what the row is about as it is."""
_COUNTS = re.compile(r"\b(?:most|fewest)\b", re.IGNORECASE)
_ALIKE = {"dropout": frozenset(words("discontinued discontinuations withdrawn withdrew withdrawals dropped"))}
"""Words of tables for words of questions."""
_SIZE = re.compile(r"\(n\s?[=:][^()]{0,40}\)", re.IGNORECASE)
_COUNTED = re.compile(r"^(?:number|no\.?|n)(?: \(%\))? of (?:patients|subjects|participants|people), ", re.IGNORECASE)
_FIGURE = re.compile(r"[-−–]?\d[\d,]*(?:\.\d+)?")
_PERCENT = re.compile(r"\((\d+(?:\.\d+)?)\s?%?\)")


@dataclass(frozen=True)
class Extreme:
    """A question for the group with the most or the least of something.

    Attributes:
        group: Index terms of the word for the groups.
        what: Index terms of the measured quantity.
        most: Whether the question asks for the most.
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
    """Return the question's group and measured quantity; None for a question that is not about the most or least."""
    # People stand in a column of names: "Who has the highest salary?" asks which name has it.
    asked = _WHO.sub("which name ", " ".join(question.split()).rstrip("?!. "))
    if priced := _PRICED.fullmatch(asked):
        group = frozenset(words(priced["group"] or priced["of"]))
        narrower = frozenset(words(priced["for"] or priced["whom"] or ""))
        most = bool(priced["most"] or priced["costly"] or priced["dear"])
        return Extreme(group, PRICE, most, shared=False, counted=False, narrower=narrower)
    if long := _LONG.fullmatch(asked):
        group = frozenset(words(long["group"] or long["of"]))
        what = DURATION if long["time"] else LENGTH
        return Extreme(group, what, bool(long["most"] or long["long"]), shared=False, counted=False)
    match = _ASKED.fullmatch(asked)
    if match is None:
        return None
    what = frozenset(words(match["what"]))
    shared = match["share"] is not None
    counted = not shared and bool(_COUNTS.search(match[0]))
    group = frozenset(words(match["group"]))
    return Extreme(group, what, match["most"] is not None, shared, counted) if what else None


def answer_extreme_from_table(question: str, sources: Sequence[Source], lead: str) -> Draft | None:
    """Return the group with the most or the least in a table, else the rows that show it; None without such a table."""
    asked = extreme_of(question)
    if asked is None:
        return None
    lines = list(lines_of_tables(sources))
    fitting = [line for line in lines if is_answered_by(asked, line)]
    if fitting:
        nearest = min(_distance(asked, line) for line in fitting)
        best = [line for line in fitting if _distance(asked, line) == nearest]
        # By text, since passages overlap and one row may stand in two of them.
        if len({line.text for line in best}) == 1 and nearest[1] <= MOST_ELSE and (group := _best(asked, best[0])):
            return _claim(best[0], group)
        return shown_rows(largest_table(fitting), lead, "extreme")
    # Rows of the table may stand in other passages: `whole_tables` puts rows in order, which reads all of them.
    rows = largest_table([line for line in lines if measured_place(asked.what, line) is not None])
    if not any(_FIGURE.search(line.row.cells[measured_place(asked.what, line) or 0].text) for line in rows):
        return None
    return shown_rows(rows, lead, "extreme") if are_called(asked.group, rows, sources) else None


def _label(line: TableLine) -> frozenset[str]:
    """Return the index terms of a row's subject: those of its first cell."""
    found = frozenset(words(line.row.cells[0].text))
    return found.union(asked for asked, called in _ALIKE.items() if called & found)


def is_answered_by(asked: Extreme, line: TableLine) -> bool:
    """Return whether a row's label, caption and title cover the question, and several groups have figures."""
    label = _label(line)
    about = label.union(words(line.row.caption), words(line.source.title))
    return bool(asked.what & label) and asked.what <= about and len(_groups(asked, line)) > 1


def _distance(asked: Extreme, line: TableLine) -> tuple[int, float]:
    """Return how many question words a row's label lacks, and the share of its words that the question lacks."""
    label = _label(line)
    own = label - (_GENERAL - asked.what) - _ALIKE.keys()
    called = frozenset[str]().union(*(called for name, called in _ALIKE.items() if name in asked.what))
    return len(asked.what - label), round(len(own - asked.what - called) / (len(own) or 1), 4)


def _groups(asked: Extreme, line: TableLine) -> list[Cell]:
    """Return the cells of a row whose columns are groups of the kind that is asked for, if they hold figures."""
    cells = [
        cell
        for cell in line.row.cells[1:]
        if cell.column and not _NO_GROUP.search(_name(cell)) and _FIGURE.match(cell.text)
    ]
    if asked.group & _GROUP:
        return cells
    return [cell for cell in cells if asked.group & frozenset(words(cell.column))]


def _name(cell: Cell) -> str:
    """Return a group's name: its column's name without the unit that all columns share and the group's size."""
    return _SIZE.sub("", _COUNTED.sub("", cell.column)).strip(" ,")


def _best(asked: Extreme, line: TableLine) -> Cell | None:
    """Return the group that alone has the most, or the least.

    None if two groups have it, or if numbers and percentages disagree.
    """
    cells = _groups(asked, line)
    if len(cells) + 1 < len([cell for cell in line.row.cells if not _NO_GROUP.search(_name(cell))]):
        return None  # a group without a figure may have the most
    if has_decimal_comma(cell.text for cell in line.row.cells) is not False:
        return None  # 1,95 is less than 2,3
    of_percent = "%" in line.row.cells[0].text
    numbers = [_number(_FIGURE.match(cell.text)) for cell in cells]
    percents = [_number(match) if (match := _PERCENT.search(cell.text)) else None for cell in cells]
    both = None not in percents and not of_percent
    if asked.shared:
        best = _place(numbers if of_percent else percents if both else (), most=asked.most)
        return cells[best] if best is not None else None
    if asked.counted and of_percent:
        return None  # the greater part of a small group may be fewer people
    best = _place(numbers, most=asked.most)
    if asked.counted and both and best != _place(percents, most=asked.most):
        return None
    return cells[best] if best is not None else None


def _number(match: re.Match[str] | None) -> float | None:
    """Return the number that a match states; None without a match."""
    # `_PERCENT` has its number in a group, `_FIGURE` has no group.
    return float(re.sub("[−–]", "-", match[match.lastindex or 0]).replace(",", "")) if match else None


def _place(numbers: Sequence[float | None], *, most: bool) -> int | None:
    """Return the index of the greatest number, or of the least; None if two numbers share it or one is missing."""
    known = [number for number in numbers if number is not None]
    if len(known) != len(numbers) or len(known) < 2:
        return None
    extreme = max(known) if most else min(known)
    return known.index(extreme) if known.count(extreme) == 1 else None


def _claim(line: TableLine, best: Cell) -> Draft:
    """Return the draft that claims a group, with its row as the quote."""
    n, short = line.source.n, plain(_name(best))
    text = f"{short}: {plain(best.text)} [{n}]\n\nRow: {plain(line.row.cells[0].text)}.\n\n{plain(line.text)} [{n}]"
    return Draft(text, ((n, line.text),), short=short)
