"""Whether a table's cell is of the type that a question asks for: an amount of money, a day, a place, a person.

The words of a question may name a column that answers something else: "How much does she pay for her plot?" names the
column "Plot", which holds the plot's number. By rule, in English.
"""

from __future__ import annotations

import re

from preflight_rag.offline.narrow_questions import is_of_other_rate
from preflight_rag.text.money import asks_money, asks_price, is_price, may_be_money
from preflight_rag.text.tables import has_no_value
from preflight_rag.text.values import DATE, Kind

_ASKS_WHO = re.compile(r"\b(?:who|whom|whose)\b", re.IGNORECASE)
_ASKS_WHEN = re.compile(r"^\W*(?:(?:since|until|till|by|from) )?when\b", re.IGNORECASE)
_ASKS_WHERE = re.compile(r"^\W*(?:(?:from|to) )?where\b", re.IGNORECASE)
_ASKS_OF_WHAT = re.compile(
    r"\W*(?:against|for|about|with|from|of|on|to) wh(?:at|om|ich) (?:is|are|was|were|do|does|did|can|may|has|have)\b",
    re.IGNORECASE,
)
"""A question whose answer is no figure: "Against what are rabbits vaccinated?", unlike "For what price is it sold?"."""
_TIME_IN_CELL = re.compile(
    r"\d{4}-\d\d|\b(?:[01]?\d|2[0-4])\s?[-–—]\s?(?:[01]?\d|2[0-4])\b|\b\d{1,2}[./]\d{1,2}(?:[./]\d{2,4})?\b"
    r"|\b\d{1,2}(?:[:.]\d\d| ?(?:am|pm|a\.m\.|p\.m\.|o['’]clock))|\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*\b"
    r"|\b(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*\b",
    re.IGNORECASE,
)
"""A day, a time of day or a range of hours, "17–19"."""
_PLACE_IN_CELL = re.compile(r"\b(?:in|at|on|near) [A-Z]")
"""A place within a cell: "4 April 1975 in Oslo"."""
_TIME_COLUMN = re.compile(
    r"\b(?:when|dates?|days?|weeks?|months?|years?|quarters?|seasons?|times?|hours?|evenings?|mornings?|since|until|from"
    r"|founded|established|born|died|birth|death|began|begins?|starts?|started|ends?|ended|due|deadline|opened|closed"
    r"|opens|closes|opening|period|term|session|aired|broadcast|shown|released|published)\b",
    re.IGNORECASE,
)
"""Words in the name of a column whose cells are times, even if a cell alone does not look so: "Week: 34"."""
_PLACE_COLUMN = re.compile(
    r"\b(?:where|places?|locations?|venues?|sites?|cit(?:y|ies)|towns?|villages?|count(?:y|ies)|countr(?:y|ies)|states?"
    r"|regions?|areas?|address(?:es)?|streets?|halls?|rooms?|buildings?|floors?|grounds?|stadiums?|shel(?:f|ves)|store[sd]?"
    r"|storage|cupboards?|drawers?|box(?:es)?|offices?|branch(?:es)?|department|wards?|hospitals?|clinics?|cent(?:er|re)s?"
    r"|schools?|stations?|stops?|platforms?|gates?|origins?|destinations?|positions?|seats?|houses?|home|from|to|via|hosts?"
    r"|district|province|territory|base[sd]?|headquarters?|hq|(?:kept|held|found|located|buried|shown|parked|born|made)"
    r" (?:at|in|on)|cemeter(?:y|ies)|cinemas?|theat(?:er|re)s?|parking|museums?|churches?|librar(?:y|ies)|bays?|aisles?"
    r"|racks?|pitch(?:es)?)\b",
    re.IGNORECASE,
)


def is_of_asked_type(question: str, kind: Kind, cell: str, *, column: str, labels: str) -> bool:
    """Return whether a cell may be the answer by its type: the requested amount, time, place or name.

    A cell without a value may be, too: the answer is then that there is none. `kind` is what `asked_kind` says of the
    question; `labels` are the names of column and row, with the table's caption.
    """
    if has_no_value(cell):
        return True
    has_digits = any(map(str.isdigit, cell))
    # The venue of a monthly meeting is a name and has no rate.
    if (has_digits or kind == "number") and is_of_other_rate(question, labels, cell, must_name=True):
        return False
    if asks_price(question) and not is_price(cell, labels):
        return False
    if kind == "name":
        # "2019" below "Since" is not who keeps the silver arrow.
        if has_digits and (_ASKS_OF_WHAT.match(question) or _ASKS_WHO.search(question)):
            return False
        if not _ASKS_WHERE.match(question) or not column:
            return True
        return bool(_PLACE_COLUMN.search(column) or _PLACE_IN_CELL.search(cell))
    if not has_digits or _ASKS_OF_WHAT.match(question):
        return False
    if _ASKS_WHEN.match(question):
        return bool(DATE.search(cell) or _TIME_IN_CELL.search(cell) or _TIME_COLUMN.search(column))
    return not asks_money(question) or may_be_money(cell, labels)
