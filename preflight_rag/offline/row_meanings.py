"""Rows of a table by what their marks mean: "Which wells are closed?" over cells such as "○ (closed)".

The rows whose cells have the meaning that a question names are shown, or those without it, where the question denies
one that the meaning does not. Rows that were not found may have it, too, so nothing is claimed. By rule, in English.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from preflight_rag.offline.evidence import evidence
from preflight_rag.offline.row_marks import MOST_OTHERS, Condition, conditions, without_denials
from preflight_rag.offline.table_rows import MOST_ROWS
from preflight_rag.state.reading import Draft, Source
from preflight_rag.text.dates import MONTHS
from preflight_rag.text.headers import no_rows_marked, rows_marked, why_unclaimed
from preflight_rag.text.legends import NOTE, explains, is_note, meanings_of
from preflight_rag.text.tables import TableRow, parse_row
from preflight_rag.text.words import STOP_WORDS, words

_GENERAL = frozenset(
    words("need have use run go take get offer serve work there come do make one place thing row entry people")
)
"""Words that a question has around a condition, and a legend does not."""
_SHORT_NAMES = frozenset(("mon", "tue", "wed", "thu", "fri", "sat", "sun", *MONTHS))


@dataclass(frozen=True)
class _Line:
    """A row of a passage with the meanings of its marks by column."""

    n: int
    text: str
    row: TableRow
    meanings: tuple[tuple[str, str], ...]
    about: frozenset[str]

    @property
    def columns(self) -> list[str]:
        """The names of the row's columns, except the first one and those of notes."""
        return [cell.column for cell in self.row.cells[1:] if not is_note(cell.column)]

    def is_explained_by(self, text: str) -> bool:
        """Return whether a line or sentence is the part of a legend that explains a mark of the row."""
        return any(explains(text, cell.column, cell.text) for cell in self.row.cells)

    def has(self, meaning: str, column: str) -> bool:
        """Return whether a mark of the row has a meaning, in a column or, without a column, in any."""
        return any(each == meaning and column in ("", name) for name, each in self.meanings)


def explained_rows(question: str, sources: Sequence[Source]) -> Draft | None:
    """Return the rows whose marks have the meaning that a question asks for; None without exactly one such meaning.

    Args:
        question: The question.
        sources: Passages; their lines that are rows of tables are read.
    """
    asked = conditions(question)
    if len(asked) != 1:
        return None
    tables: dict[tuple[str, str], list[_Line]] = {}
    for source in sources:
        for line in _lines(source):
            tables.setdefault((source.document_id or source.title, line.row.cells[0].column), []).append(line)
    best: tuple[tuple[int, bool], list[_Line], str, str] | None = None
    for lines in tables.values():
        if (found := _meant(asked[0], question, lines)) and (best is None or found[0] > best[0]):
            best = (found[0], lines, *found[1:])
    if best is None:
        return None
    _, lines, meaning, column = best
    # "Which boats carry no cars?" denies what the mark "carries no cars" denies, and asks for the rows with it.
    wanted = asked[0].denials % 2 == without_denials(meaning)[1] % 2
    named = [(f"{column}, {meaning}" if column else meaning, wanted)]
    fitting = [line for line in lines if line.has(meaning, column) == wanted]
    shown = fitting[:MOST_ROWS] or lines[:MOST_OTHERS]
    lead = rows_marked(named, shown=len(shown), found=len(fitting)) if fitting else no_rows_marked(named)
    return evidence(tuple(dict.fromkeys((line.n, line.text) for line in shown)), lead, why_unclaimed("rows"))


def with_rows_for_legends(
    quotes: Sequence[tuple[int, str]], question: str, sources: Sequence[Source]
) -> list[tuple[int, str]]:
    """Return quotes with rows in place of a legend's lines: a legend does not say which rows have the mark.

    Args:
        quotes: The passage's number, and its line or sentence.
        question: The question.
        sources: The passages that were read.
    """
    asked = frozenset(words(question)) - STOP_WORDS
    lines = [line for source in sources for line in _lines(source) if line.meanings]
    found: dict[tuple[int, str], None] = {}
    for n, quote in quotes:
        is_explained = any(line.text == quote for line in lines)
        rows = [line for line in lines if not is_explained and line.is_explained_by(quote)]
        terms = {line.text: asked & frozenset(words(line.text)) for line in rows}
        counts = Counter(chain.from_iterable(terms.values()))  # a word of few rows names them
        shares: dict[str, float] = {}
        for text, own in terms.items():
            shares[text] = sum(1 / counts[term] for term in sorted(own))
        most = max(shares.values(), default=0.0)
        nearest = [(line.n, line.text) for line in rows if shares[line.text] == most][:MOST_OTHERS]
        found |= dict.fromkeys(nearest if most else [(n, quote)])
    return list(found)


def _lines(source: Source) -> Iterator[_Line]:
    """Yield the rows of a passage with the meanings of their marks."""
    about = frozenset(words(f"{source.title} {source.heading}"))
    for text in source.text.split("\n"):
        row = parse_row(text.strip())
        if row is not None and len(row.cells) > 1:
            found = tuple(
                (cell.column, meaning) for cell in row.cells for meaning in meanings_of(cell.column, cell.text)
            )
            names = frozenset(words(f"{row.cells[0].column} {row.caption}"))
            yield _Line(source.n, text.strip(), row, found, about | names)


def _meant(condition: Condition, question: str, lines: Sequence[_Line]) -> tuple[tuple[int, bool], str, str] | None:
    """Return the only best fitting meaning in a table: how well it fits the condition, its text, and the column.

    The fit is the number of shared words, and whether the question contains the meaning word for word: "out of
    order" is not "in order".
    """
    columns = list(dict.fromkeys(name for line in lines for name in line.columns if name))
    fitting: list[tuple[tuple[int, bool], str, str]] = []
    # A note without a mark is a remark on its row, often of the file's own column, and no kind of rows.
    marked = [meaning for line in lines for name, meaning in line.meanings if name != NOTE]
    for meaning in dict.fromkeys(marked):
        terms = frozenset(words(without_denials(meaning)[0]))
        rest = condition.terms - terms - _GENERAL - condition.group - lines[0].about
        named = [column for column in columns if _names(column, rest)]
        in_columns = {term for term in rest if any(_names(each, {term}) for each in named)}
        rest -= in_columns | frozenset(words(" ".join(named)))
        shared = condition.terms & terms - lines[0].about
        # A word that neither meaning nor column explains ("in Norway") asks for something else.
        if shared and not rest and len(named) < 2:
            fit = len(shared), meaning.casefold() in question.casefold()
            fitting.append((fit, meaning, named[0] if named else ""))
    most = max((fit for fit, _, _ in fitting), default=None)
    best = [each for each in fitting if each[0] == most]
    return best[0] if len(best) == 1 else None


def _names(column: str, terms: frozenset[str] | set[str]) -> bool:
    """Return whether terms name a column: they contain all its words, or the day or month that it abbreviates."""
    short = column.casefold().rstrip(".")
    own = frozenset(words(column))
    return bool(own) and (
        own <= terms or (short[:3] in _SHORT_NAMES and len(short) < 5 and any(term.startswith(short) for term in terms))
    )
