"""The rows of a table by what a column of yes and no says: "Which tavern does not allow dogs?".

A question's condition is matched with the name of one column that holds nothing but marks, and the rows are shown that
say what is asked for, never those that say the opposite. Other rows of the table may stand in passages that were not
found, so nothing is claimed. By rule, in English.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from preflight_rag.offline.table_rows import MOST_ROWS, TableLine, lines_of_tables, rows_as_evidence
from preflight_rag.state.reading import Draft, Source
from preflight_rag.text.check_boxes import CROSSED, NOT_TICKED, TICKED
from preflight_rag.text.headers import no_rows_marked, rows_marked
from preflight_rag.text.tables import NOT_MARKED
from preflight_rag.text.words import words

MOST_OTHERS = 3
"""Rows that say the opposite, shown where none says what is asked for; a guess."""
_LEAD_IN = re.compile(
    r"(?:(?:(?:in|at|on|for) )?(?:which|what|how many)(?: of (?:the|our|my|these|those|all))?|who|where"
    r"|(?:show|list|name|find|give)(?: me)?(?: all)?(?: of)?(?: the)?|(?:is|are) there(?: any| a| an)?) ",
    re.IGNORECASE,
)
_DENIES = re.compile(
    r"\b(?:not|no|never|without|cannot|lack(?:s|ed|ing)?|miss(?:es|ing)|forbid(?:s|den|ding)?|prohibit(?:s|ed|ing)?"
    r"|ban(?:s|ned|ning)?|refus(?:e|es|ed|ing)|exclud(?:e|es|ed|ing)|fail(?:s|ed)?(?: to)?|den(?:y|ies|ied)"
    r"|(?:do|does|did|is|are|was|were|has|have|had|ca|wo)nt)\b|n['’]t\b|\bnon[- ]",
    re.IGNORECASE,
)
"""Words that turn what a question asks for, or what a column says: "No dogs", "non-smoking", "refuse dogs"."""
_PREFIX = re.compile(r"(?:un|non|in|im|dis)(?=\w{4})")
_MIXED = re.compile(
    r"\b(?:or|except|only|other than|apart from|unless|neither|nor|than|both|either)\b|\d", re.IGNORECASE
)
"""More than one condition, or one that no mark answers."""
_AND = re.compile(r",? (?:and|but) (?:also )?", re.IGNORECASE)
_GENERAL = frozenset(
    words(
        "allow permit accept welcome friendly possible available offer provide come equipped feature include present"
        " got can"
    )
)
"""Words of a condition that leave open which column is meant, beside others: "allow dogs" is "Dogs welcome"."""
_ANYTHING = frozenset(words("one ones place places entry entries row rows option options thing things people"))
_MARKS = frozenset({"x", "✓", "✔", "✅", "•", "●", TICKED})
_TICKS = frozenset({"✓", "✔", "✅", TICKED})
_YES = frozenset({"yes", "y", "true", "ja", "oui", "sí"})
_NO = frozenset({"no", "n", "false", "nein", "non", NOT_TICKED, CROSSED, NOT_MARKED})
_DASHES = frozenset({"-", "–", "—"})
_WITH_REMARK = re.compile(r"(y|n)(?:es|o)?(?=\s*[,;(]|\s[–—-])", re.IGNORECASE)
"""A mark with a remark: "Yes, on a lead", "No (garden only)"; "no-one" is none."""


@dataclass(frozen=True)
class Condition:
    """A condition in a question about rows: index terms, number of denials, and the word for the rows.

    The word for the rows is empty in a question with "who", and in all conditions after the first.
    """

    terms: frozenset[str]
    denials: int
    group: frozenset[str] = frozenset()


@dataclass(frozen=True)
class _Line(TableLine):
    """A row of a table as a line of a passage."""

    @property
    def table(self) -> tuple[str, str]:
        """The document and the first column's name, by which rows of one table are recognised."""
        return self.source.document_id or self.source.title, self.row.cells[0].column

    def cell(self, column: str) -> str:
        """Return the row's text in a column; "" if it has none."""
        return next((cell.text for cell in self.row.cells[1:] if cell.column == column), "")


@dataclass(frozen=True)
class _Wanted:
    """A column of yes and no: the meaning of each of its marks, and the one that the question asks for."""

    column: str
    senses: dict[str, bool]
    yes: bool

    def fits(self, line: _Line) -> bool:
        """Return whether a row has the requested mark in the column."""
        return self.senses.get(line.cell(self.column)) == self.yes


def marked_rows(question: str, sources: Sequence[Source]) -> Draft | None:
    """Return the rows whose marks (yes or no) fulfil a question's conditions; None if no table has such columns.

    Args:
        question: The question.
        sources: Passages; their lines that are rows of tables are read.
    """
    asked = conditions(question)
    if not asked:
        return None
    tables: dict[tuple[str, str], list[_Line]] = {}
    for line in _lines(sources):
        tables.setdefault(line.table, []).append(line)
    found = [(lines, wanted) for lines in tables.values() if (wanted := _wanted(asked, lines, sources))]
    if not found:
        return None
    lines, columns = max(found, key=lambda item: len(item[0]))
    fitting = [line for line in lines if all(each.fits(line) for each in columns)]
    names = [(each.column, each.yes) for each in columns]
    if not fitting:
        others = [line for line in lines if line.cell(columns[0].column)][:MOST_OTHERS]
        return rows_as_evidence(others, no_rows_marked(names))
    return rows_as_evidence(fitting, rows_marked(names, shown=min(len(fitting), MOST_ROWS), found=len(fitting)))


def without_denials(text: str) -> tuple[str, int]:
    """Return a text without its words of denial, and their number."""
    return _DENIES.sub(" ", text), len(_DENIES.findall(text))


def conditions(question: str) -> list[Condition]:
    """Return the conditions of a question about rows; none for any other question."""
    asked = " ".join(question.split()).rstrip("?!. ")
    lead = _LEAD_IN.match(asked)
    if lead is None or _MIXED.search(asked):
        return []
    first, *others = (
        Condition(frozenset(words(_DENIES.sub(" ", part))), len(_DENIES.findall(part)))
        for part in _AND.split(asked[lead.end() :])
    )
    has_group = not lead[0].lower().startswith(("who", "where"))
    group = frozenset(words(asked[lead.end() :])[:1]) if has_group else frozenset[str]()
    return [replace(first, group=group), *others]


def _lines(sources: Sequence[Source]) -> Iterator[_Line]:
    """Yield the rows of tables in some passages that have at least two cells."""
    for line in lines_of_tables(sources):
        if len(line.row.cells) > 1:
            yield _Line(line.source, line.text, line.row)


def _wanted(asked: Sequence[Condition], lines: list[_Line], sources: Sequence[Source]) -> list[_Wanted]:
    """Return the column of each condition; none if one has no column, or the question names something else.

    Rows are removed from `lines` if they lack what the question names besides columns, such as a town.
    """
    columns: dict[str, dict[str, bool]] = {}
    for name in _columns(lines):
        senses = _senses([line.cell(name) for line in lines])
        if senses:
            columns[name] = senses
    found: list[_Wanted] = []
    named = frozenset[str]()
    for condition in asked:
        best = _column(condition, columns)
        if best is None:
            return []
        column, yes, rest = best
        if condition.group & frozenset(words(column)) - _about(lines[0]):
            return []  # "Which dogs are allowed?" asks for no taverns
        found.append(_Wanted(column, columns[column], yes))
        named |= rest
    about = _about(lines[0])
    if rest := named - about - _ANYTHING - _GENERAL:
        about_row = [line for line in lines if rest <= frozenset(words(line.text))]
        if not about_row and not _is_alone(lines[0], found, rest, asked[0], sources):
            return []
        # In place, since the caller shows these rows.
        lines[:] = about_row or lines
    return found


def _is_alone(
    line: _Line, wanted: Sequence[_Wanted], rest: frozenset[str], first: Condition, sources: Sequence[Source]
) -> bool:
    """Return whether only the question's word for the rows is missing, and no other document has the columns' words.

    "Which pub does not allow dogs?" is answered by a table of taverns where nothing else speaks of dogs.
    """
    terms = frozenset(words(" ".join(each.column for each in wanted))) - _GENERAL
    document = line.table[0]
    others = [source for source in sources if (source.document_id or source.title) != document]
    return (
        rest == first.group
        and bool(terms)
        and not any(terms <= frozenset(words(f"{source.title} {source.text}")) for source in others)
    )


def _columns(lines: Sequence[_Line]) -> list[str]:
    """Return the names of the columns after the first, each once."""
    return list(dict.fromkeys(cell.column for line in lines for cell in line.row.cells[1:] if cell.column))


def _senses(cells: Sequence[str]) -> dict[str, bool]:
    """Return, for each cell of a column that says yes or no, whether it says yes; none for any other column.

    "x" is a yes beside blanks and a no beside ticks; a dash is a no beside marks, and unknown beside words.
    """
    filled = [cell for cell in cells if cell]
    values = {cell.casefold() for cell in filled}
    says: dict[str, bool] = {}
    for cell in filled:
        value = cell.casefold()
        remark = _WITH_REMARK.match(cell)
        if value in _YES or (remark and remark[1].casefold() == "y"):
            says[cell] = True
        elif value in _NO or (remark and remark[1].casefold() == "n"):
            says[cell] = False
        elif value == "x":
            says[cell] = not values & _TICKS
        elif value in _MARKS:
            says[cell] = True
        elif value in _DASHES and values & _MARKS and not values & (_YES | _NO):
            says[cell] = False
        elif value in ("1", "0") and values <= {"1", "0"}:
            says[cell] = value == "1"
    # A column of remarks ("Only in the garden", "Ask first") has a "Yes" now and then.
    return says if sum(cell in says for cell in filled) * 2 > len(filled) else {}


def _column(condition: Condition, columns: dict[str, dict[str, bool]]) -> tuple[str, bool, frozenset[str]] | None:
    """Return the only column that a condition means, whether it asks for a yes there, and the remaining terms."""
    fitting: list[tuple[int, int, str, bool, frozenset[str]]] = []
    for name in columns:
        terms = frozenset(words(_DENIES.sub(" ", name)))
        asked, turns = _without_prefixes(condition.terms, terms)
        own, others = _without_prefixes(terms, condition.terms)
        content = own - _GENERAL
        if content <= asked and (content or own & asked):
            # Each denial turns the sense once more: "not non-smoking" asks for a no below "Non-smoking".
            denials = condition.denials + len(_DENIES.findall(name)) + turns + others
            fitting.append((len(content), len(own & asked), name, denials % 2 == 0, asked - own))
    most = max((item[:2] for item in fitting), default=None)
    best = [item for item in fitting if item[:2] == most]
    return (best[0][2], best[0][3], best[0][4]) if len(best) == 1 else None


def _without_prefixes(terms: frozenset[str], others: frozenset[str]) -> tuple[frozenset[str], int]:
    """Return terms without a negating prefix ("paid" for "unpaid") if other terms lack it, and how many had one."""
    bare = {term: found for term in terms - others if (found := _PREFIX.sub("", term, count=1)) in others}
    return frozenset(bare.get(term, term) for term in terms), len(bare)


def _about(line: _Line) -> frozenset[str]:
    """Return the index terms of a row's surroundings: its first column, caption, heading and document title."""
    return frozenset(words(f"{line.row.cells[0].column} {line.row.caption} {line.source.title} {line.source.heading}"))
