"""The rows of a table that a column of yes and no selects: "Which tavern does not allow dogs?".

A question's condition is matched with the name of one column that holds nothing but marks, and the rows are shown that
say what is asked for, never those that say the opposite. Other rows of the table may stand in passages that were not
found, so nothing is claimed. By rule, in English.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from preflight_rag.offline.table_rows import MOST_ROWS, TableLine, lines_of_tables, rows_as_evidence
from preflight_rag.state.reading import Draft, Source
from preflight_rag.text.check_boxes import CROSSED, NOT_TICKED, TICKED
from preflight_rag.text.headers import no_rows_marked, rows_marked
from preflight_rag.text.tables import NOT_MARKED
from preflight_rag.text.words import words

MAX_OPPOSITE_ROWS = 3
"""Largest number of rows that are shown where none has the mark that is asked for; a guess."""
_LEAD_IN = re.compile(
    r"(?:(?:(?:in|at|on|for) )?(?:which|what|how many)(?: of (?:the|our|my|these|those|all))?|who|where"
    r"|(?:show|list|name|find|give)(?: me)?(?: all)?(?: of)?(?: the)?|(?:is|are) there(?: any| a| an)?) ",
    re.IGNORECASE,
)
_DENIAL_WORDS = re.compile(
    r"\b(?:not|no|never|without|cannot|lack(?:s|ed|ing)?|miss(?:es|ing)|forbid(?:s|den|ding)?|prohibit(?:s|ed|ing)?"
    r"|ban(?:s|ned|ning)?|refus(?:e|es|ed|ing)|exclud(?:e|es|ed|ing)|fail(?:s|ed)?(?: to)?|den(?:y|ies|ied)"
    r"|(?:do|does|did|is|are|was|were|has|have|had|ca|wo)nt)\b|n['’]t\b|\bnon[- ]",
    re.IGNORECASE,
)
"""Matches a word that reverses a condition or a column's name: "No dogs", "non-smoking", "refuse dogs"."""
_NEGATING_PREFIX = re.compile(r"(?:un|non|in|im|dis)(?=\w{4})")
_NOT_ONE_CONDITION = re.compile(
    r"\b(?:or|except|only|other than|apart from|unless|neither|nor|than|both|either)\b|\d", re.IGNORECASE
)
"""Matches words of a question that marks cannot answer: alternatives, exceptions, comparisons, numbers."""
_BETWEEN_CONDITIONS = re.compile(r",? (?:and|but) (?:also )?", re.IGNORECASE)
_GENERAL_TERMS = frozenset(
    words(
        "allow permit accept welcome friendly possible available offer provide come equipped feature include present"
        " got can"
    )
)
"""Index terms of a condition that say little on which column is meant: "allow dogs" is "Dogs welcome"."""
_WORDS_FOR_ANY_ROW = frozenset(words("one ones place places entry entries row rows option options thing things people"))
_MARKS = frozenset({"x", "✓", "✔", "✅", "•", "●", TICKED})
_TICKS = frozenset({"✓", "✔", "✅", TICKED})
_YES = frozenset({"yes", "y", "true", "ja", "oui", "sí"})
_NO = frozenset({"no", "n", "false", "nein", "non", NOT_TICKED, CROSSED, NOT_MARKED})
_DASHES = frozenset({"-", "–", "—"})
_YES_OR_NO_WITH_REMARK = re.compile(r"(y|n)(?:es|o)?(?=\s*[,;(]|\s[–—-])", re.IGNORECASE)
"""Matches "yes" or "no" in front of a remark: "Yes, on a lead", "No (garden only)"; not "no-one"."""


@dataclass(frozen=True)
class Condition:
    """One condition of a question about rows, such as "allow dogs".

    Attributes:
        terms: Index terms of the condition, without words of denial.
        denials: Number of its words of denial.
        group: Index term of the word for the rows; empty after "who" or "where", and in all conditions but the first.
    """

    terms: frozenset[str]
    denials: int
    group: frozenset[str] = frozenset()


@dataclass(frozen=True)
class _MarkedRow(TableLine):
    """A row of a table whose cells may be marks."""

    @property
    def table(self) -> tuple[str, str]:
        """The key of the row's table: its document and the name of its first column."""
        return self.source.document_id or self.source.title, self.row.cells[0].column

    def cell(self, column: str) -> str:
        """Return the row's text in a column; "" if it has none."""
        return next((cell.text for cell in self.row.cells[1:] if cell.column == column), "")


@dataclass(frozen=True)
class _MarkCondition:
    """A condition on a column: what each of its marks means (True for yes), and whether the question asks for a yes."""

    column: str
    meanings: dict[str, bool]
    asks_for_yes: bool

    def fits(self, line: _MarkedRow) -> bool:
        """Return whether a row has the mark that is asked for; False if its cell is blank or no mark."""
        return self.meanings.get(line.cell(self.column)) == self.asks_for_yes


@dataclass(frozen=True)
class _ColumnMatch:
    """The column that a condition names, whether it asks for a yes there, and its terms that the column lacks."""

    column: str
    asks_for_yes: bool
    other_terms: frozenset[str]


def marked_rows(question: str, sources: Sequence[Source]) -> Draft | None:
    """Return a draft with the rows whose marks (yes or no) fulfil all conditions of a question.

    The largest table with a column for each condition counts; if none of its rows fits, some of its other rows are
    shown under a line that says so. None if the question has no conditions, or no table such columns.

    Args:
        question: The question.
        sources: Passages; their lines that are rows of tables are read.
    """
    conditions = conditions_of(question)
    if not conditions:
        return None
    tables: dict[tuple[str, str], list[_MarkedRow]] = {}
    for line in _rows_with_cells(sources):
        tables.setdefault(line.table, []).append(line)
    candidates = []
    for table_lines in tables.values():
        if result := _conditions_of_table(conditions, table_lines, sources):
            candidates.append(result)
    if not candidates:
        return None
    mark_conditions, lines = max(candidates, key=lambda candidate: len(candidate[1]))
    fitting = [line for line in lines if all(condition.fits(line) for condition in mark_conditions)]
    asked_marks = [(condition.column, condition.asks_for_yes) for condition in mark_conditions]
    if not fitting:
        others = [line for line in lines if line.cell(mark_conditions[0].column)][:MAX_OPPOSITE_ROWS]
        return rows_as_evidence(others, no_rows_marked(asked_marks))
    return rows_as_evidence(fitting, rows_marked(asked_marks, shown=min(len(fitting), MOST_ROWS), found=len(fitting)))


def without_denials(text: str) -> tuple[str, int]:
    """Return a text with a space in place of each word of denial, and the number of these words."""
    return _DENIAL_WORDS.sub(" ", text), len(_DENIAL_WORDS.findall(text))


def conditions_of(question: str) -> list[Condition]:
    """Return the conditions of a question about rows, those between "and" or "but".

    [] for any other question, and for one that marks cannot answer: with "or", an exception, or a number.
    """
    plain_question = " ".join(question.split()).rstrip("?!. ")
    lead = _LEAD_IN.match(plain_question)
    if lead is None or _NOT_ONE_CONDITION.search(plain_question):
        return []
    text = plain_question[lead.end() :]
    first, *others = (
        Condition(frozenset(words(_DENIAL_WORDS.sub(" ", part))), len(_DENIAL_WORDS.findall(part)))
        for part in _BETWEEN_CONDITIONS.split(text)
    )
    has_group = not lead[0].lower().startswith(("who", "where"))
    # The word behind "which" or "what": "taverns".
    group = frozenset(words(text)[:1]) if has_group else frozenset[str]()
    return [replace(first, group=group), *others]


def _rows_with_cells(sources: Sequence[Source]) -> Iterator[_MarkedRow]:
    """Yield the rows with at least two cells of the tables in passages."""
    for line in lines_of_tables(sources):
        if len(line.row.cells) > 1:
            yield _MarkedRow(line.source, line.text, line.row)


def _conditions_of_table(
    conditions: Sequence[Condition], lines: list[_MarkedRow], sources: Sequence[Source]
) -> tuple[list[_MarkCondition], list[_MarkedRow]] | None:
    """Return the conditions on a table's columns, and its rows that they are to be tested on.

    The rows are those with the question's words for no column, such as a town; all rows, if there are no such words.
    None if a condition has no column, or the question asks for something else than the table's rows.
    """
    columns: dict[str, dict[str, bool]] = {}
    for name in _column_names(lines):
        meanings = _meaning_of_marks([line.cell(name) for line in lines])
        if meanings:
            columns[name] = meanings
    surroundings = _surrounding_terms(lines[0])
    mark_conditions: list[_MarkCondition] = []
    other_terms = frozenset[str]()
    for condition in conditions:
        best = _best_column(condition, columns)
        if best is None:
            return None
        # "Which dogs are allowed?" asks for no taverns.
        if condition.group & frozenset(words(best.column)) - surroundings:
            return None
        mark_conditions.append(_MarkCondition(best.column, columns[best.column], best.asks_for_yes))
        other_terms |= best.other_terms
    row_terms = other_terms - surroundings - _WORDS_FOR_ANY_ROW - _GENERAL_TERMS
    if not row_terms:
        return mark_conditions, lines
    named_lines = [line for line in lines if row_terms <= frozenset(words(line.text))]
    if named_lines:
        return mark_conditions, named_lines
    # "Which pub does not allow dogs?" is answered by a table of taverns where no other document is about dogs.
    is_only_group = row_terms == conditions[0].group
    return (mark_conditions, lines) if is_only_group and _is_only_document(lines[0], mark_conditions, sources) else None


def _is_only_document(line: _MarkedRow, conditions: Sequence[_MarkCondition], sources: Sequence[Source]) -> bool:
    """Return whether no passage of another document than a row's has the words of the conditions' columns."""
    terms = frozenset(words(" ".join(condition.column for condition in conditions))) - _GENERAL_TERMS
    document, _ = line.table
    others = [source for source in sources if (source.document_id or source.title) != document]
    return bool(terms) and not any(terms <= frozenset(words(f"{source.title} {source.text}")) for source in others)


def _column_names(lines: Sequence[_MarkedRow]) -> list[str]:
    """Return the names of a table's columns, except the first one, each once."""
    return list(dict.fromkeys(cell.column for line in lines for cell in line.row.cells[1:] if cell.column))


def _meaning_of_marks(cells: Sequence[str]) -> dict[str, bool]:
    """Return whether each text of a column's cells means yes; {} for a column that is not mostly of yes and no.

    "x" is a yes beside blanks and a no beside ticks; a dash is a no beside marks, and unknown beside words.
    """
    filled = [cell for cell in cells if cell]
    values = {cell.casefold() for cell in filled}
    dash_means_no = bool(values & _MARKS) and not values & (_YES | _NO)
    meanings: dict[str, bool] = {}
    for cell in filled:
        value = cell.casefold()
        remark = _YES_OR_NO_WITH_REMARK.match(cell)
        if value in _YES or (remark and remark[1].casefold() == "y"):
            meanings[cell] = True
        elif value in _NO or (remark and remark[1].casefold() == "n"):
            meanings[cell] = False
        elif value == "x":
            meanings[cell] = not values & _TICKS
        elif value in _MARKS:
            meanings[cell] = True
        elif value in _DASHES and dash_means_no:
            meanings[cell] = False
        elif value in ("1", "0") and values <= {"1", "0"}:
            meanings[cell] = value == "1"
    # A column of remarks ("Only in the garden", "Ask first") has a "Yes" now and then.
    marks = sum(cell in meanings for cell in filled)
    return meanings if marks * 2 > len(filled) else {}


def _best_column(condition: Condition, columns: Iterable[str]) -> _ColumnMatch | None:
    """Return the match of a condition and the column that shares most words with it; None without one, or on a tie.

    A column matches if the condition has all its words but general ones, such as "allowed".
    """
    matches: list[tuple[tuple[int, int], _ColumnMatch]] = []
    for name in columns:
        name_terms = frozenset(words(_DENIAL_WORDS.sub(" ", name)))
        asked, asked_prefixes = _without_prefixes(condition.terms, name_terms)
        named, named_prefixes = _without_prefixes(name_terms, condition.terms)
        content = named - _GENERAL_TERMS
        shared = named & asked
        if content <= asked and (content or shared):
            # Each denial reverses the sense once more: "not non-smoking" asks for a no below "Non-smoking".
            denials = condition.denials + len(_DENIAL_WORDS.findall(name)) + asked_prefixes + named_prefixes
            match = _ColumnMatch(name, asks_for_yes=denials % 2 == 0, other_terms=asked - named)
            matches.append(((len(content), len(shared)), match))
    most = max((score for score, _ in matches), default=None)
    best = [match for score, match in matches if score == most]
    return best[0] if len(best) == 1 else None


def _without_prefixes(terms: frozenset[str], others: frozenset[str]) -> tuple[frozenset[str], int]:
    """Return terms, and the number of those whose negating prefix was removed ("paid" for "unpaid").

    It is removed where `others` has the term without it, and not the term itself.
    """
    bare_terms = {}
    for term in terms - others:
        bare = _NEGATING_PREFIX.sub("", term, count=1)
        if bare in others:
            bare_terms[term] = bare
    return frozenset(bare_terms.get(term, term) for term in terms), len(bare_terms)


def _surrounding_terms(line: _MarkedRow) -> frozenset[str]:
    """Return the index terms of a row's surroundings: its first column, caption, heading and document title."""
    return frozenset(words(f"{line.row.cells[0].column} {line.row.caption} {line.source.title} {line.source.heading}"))
