"""Rows of a table by what their marks mean: "Which wells are closed?" over cells such as "○ (closed)".

The rows whose cells have the meaning that a question names are shown, or, where the question denies that meaning, the
rows without it. Rows that were not found may have it, too, so nothing is claimed. By rule, in English.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from preflight_rag.offline.evidence import evidence
from preflight_rag.offline.row_marks import MAX_OPPOSITE_ROWS, Condition, conditions_of, without_denials
from preflight_rag.offline.table_rows import MOST_ROWS
from preflight_rag.state.reading import Draft, Source
from preflight_rag.text.dates import MONTHS
from preflight_rag.text.headers import no_rows_marked, rows_marked, why_unclaimed
from preflight_rag.text.legends import NOTE, explains, is_note, meanings_of
from preflight_rag.text.tables import TableRow, parse_row
from preflight_rag.text.words import STOP_WORDS, words

_NAMES_NO_CONDITION = frozenset(
    words("need have use run go take get offer serve work there come do make one place thing row entry people")
)
"""Index terms that stand around a condition in a question and have no counterpart in a legend."""
_DAYS_AND_MONTHS = frozenset(("mon", "tue", "wed", "thu", "fri", "sat", "sun", *MONTHS))
_MAX_LENGTH_OF_SHORT_NAME = 4
"""Letters of an abbreviated day or month: "Sept"."""


@dataclass(frozen=True)
class _MeaningMatch:
    """A meaning that fits a condition: how well it fits, its text, and the column that the question names, or "".

    The fit is the number of shared words, and whether the question contains the meaning word for word.
    """

    fit: tuple[int, bool]
    meaning: str
    column: str


@dataclass(frozen=True)
class _ExplainedRow:
    """A row of a passage with the meanings of its marks.

    Attributes:
        n: The passage's number.
        text: The row's line, without spaces around it.
        row: Its cells.
        meanings: Pairs of a column's name and the meaning of a mark there.
        surrounding_terms: Index terms of the first column's name, and of the row's caption, heading and title.
    """

    n: int
    text: str
    row: TableRow
    meanings: tuple[tuple[str, str], ...]
    surrounding_terms: frozenset[str]

    @property
    def columns(self) -> list[str]:
        """The names of the row's columns, except the first one and those of notes."""
        return [cell.column for cell in self.row.cells[1:] if not is_note(cell.column)]

    def is_explained_by(self, text: str) -> bool:
        """Return whether a line or sentence is the part of a legend that explains a mark of the row."""
        return any(explains(text, cell.column, cell.text) for cell in self.row.cells)

    def has(self, meaning: str, column: str) -> bool:
        """Return whether a mark of the row has a meaning, in the named column or, if `column` is "", in any."""
        return any(own_meaning == meaning and column in ("", name) for name, own_meaning in self.meanings)


def explained_rows(question: str, sources: Sequence[Source]) -> Draft | None:
    """Return a draft with the rows whose marks have the meaning that a question asks for.

    If no row has it, the first rows are shown under a line that says so. None for a question without exactly one
    condition, and without a table in which exactly one meaning fits it best.

    Args:
        question: The question.
        sources: Passages; their lines that are rows of tables are read.
    """
    conditions = conditions_of(question)
    if len(conditions) != 1:
        return None
    (condition,) = conditions
    tables: dict[tuple[str, str], list[_ExplainedRow]] = {}
    for source in sources:
        for line in _explained_rows_of(source):
            tables.setdefault((source.document_id or source.title, line.row.cells[0].column), []).append(line)
    matches = [(match, lines) for lines in tables.values() if (match := _best_meaning(condition, question, lines))]
    if not matches:
        return None
    best, lines = max(matches, key=lambda item: item[0].fit)
    # "Which boats carry no cars?" denies what the mark "carries no cars" denies, and asks for the rows with it.
    _, denials_of_meaning = without_denials(best.meaning)
    asks_for_meaning = condition.denials % 2 == denials_of_meaning % 2
    asked_marks = [(f"{best.column}, {best.meaning}" if best.column else best.meaning, asks_for_meaning)]
    fitting = [line for line in lines if line.has(best.meaning, best.column) == asks_for_meaning]
    shown = fitting[:MOST_ROWS] or lines[:MAX_OPPOSITE_ROWS]
    lead = rows_marked(asked_marks, shown=len(shown), found=len(fitting)) if fitting else no_rows_marked(asked_marks)
    return evidence(tuple(dict.fromkeys((line.n, line.text) for line in shown)), lead, why_unclaimed("rows"))


def with_rows_for_legends(
    quotes: Sequence[tuple[int, str]], question: str, sources: Sequence[Source]
) -> list[tuple[int, str]]:
    """Return quotes with rows in place of a legend's lines: a legend does not say which rows have the mark.

    A legend's line is replaced by the rows with its mark that share most words with the question, rare words counting
    more; without such a row it stays.

    Args:
        quotes: The passage's number, and its line or sentence.
        question: The question.
        sources: The passages that were read.
    """
    question_terms = frozenset(words(question)) - STOP_WORDS
    lines = [line for source in sources for line in _explained_rows_of(source) if line.meanings]
    result: dict[tuple[int, str], None] = {}
    for n, quote in quotes:
        is_row = any(line.text == quote for line in lines)
        rows = [] if is_row else [line for line in lines if line.is_explained_by(quote)]
        shared_terms = {line.text: question_terms & frozenset(words(line.text)) for line in rows}
        # A word of few rows identifies them.
        counts = Counter(chain.from_iterable(shared_terms.values()))
        scores: dict[str, float] = {}
        for text, shared in shared_terms.items():
            scores[text] = sum(1 / counts[term] for term in sorted(shared))
        highest = max(scores.values(), default=0.0)
        nearest = [(line.n, line.text) for line in rows if scores[line.text] == highest][:MAX_OPPOSITE_ROWS]
        result |= dict.fromkeys(nearest if highest else [(n, quote)])
    return list(result)


def _explained_rows_of(source: Source) -> Iterator[_ExplainedRow]:
    """Yield the rows of a passage with at least two cells, with the meanings of their marks."""
    passage_terms = frozenset(words(f"{source.title} {source.heading}"))
    for text in map(str.strip, source.text.split("\n")):
        row = parse_row(text)
        if row is None or len(row.cells) < 2:
            continue
        meanings = []
        for cell in row.cells:
            meanings += [(cell.column, meaning) for meaning in meanings_of(cell.column, cell.text)]
        table_terms = frozenset(words(f"{row.cells[0].column} {row.caption}"))
        yield _ExplainedRow(source.n, text, row, tuple(meanings), passage_terms | table_terms)


def _best_meaning(condition: Condition, question: str, lines: Sequence[_ExplainedRow]) -> _MeaningMatch | None:
    """Return the meaning of a table's marks that fits a condition best; None if none fits, or several alike.

    A meaning fits if it shares a word with the condition, and if the condition's other words name at most one column,
    and nothing else. "Out of order" is not "in order", so a meaning that the question has word for word goes first.
    """
    columns = list(dict.fromkeys(name for line in lines for name in line.columns if name))
    surroundings = lines[0].surrounding_terms
    matches: list[_MeaningMatch] = []
    # A note without a mark is a remark on its row, often of the file's own column, and no kind of rows.
    meanings = [meaning for line in lines for name, meaning in line.meanings if name != NOTE]
    for meaning in dict.fromkeys(meanings):
        meaning_terms = frozenset(words(without_denials(meaning)[0]))
        other_terms = condition.terms - meaning_terms - _NAMES_NO_CONDITION - condition.group - surroundings
        named = [column for column in columns if _is_column_named(column, other_terms)]
        naming_terms = {term for term in other_terms if any(_is_column_named(column, {term}) for column in named)}
        # A word that neither meaning nor column explains ("in Norway") asks for something else.
        unexplained = other_terms - naming_terms - frozenset(words(" ".join(named)))
        shared = condition.terms & meaning_terms - surroundings
        if shared and not unexplained and len(named) < 2:
            fit = len(shared), meaning.casefold() in question.casefold()
            matches.append(_MeaningMatch(fit, meaning, named[0] if named else ""))
    best_fit = max((match.fit for match in matches), default=None)
    best = [match for match in matches if match.fit == best_fit]
    return best[0] if len(best) == 1 else None


def _is_column_named(column: str, terms: frozenset[str] | set[str]) -> bool:
    """Return whether terms name a column: they contain all its words, or the day or month that it abbreviates."""
    column_terms = frozenset(words(column))
    if not column_terms:
        return False
    short_name = column.casefold().rstrip(".")
    if column_terms <= terms:
        return True
    is_abbreviation = short_name[:3] in _DAYS_AND_MONTHS and len(short_name) <= _MAX_LENGTH_OF_SHORT_NAME
    return is_abbreviation and any(term.startswith(short_name) for term in terms)
