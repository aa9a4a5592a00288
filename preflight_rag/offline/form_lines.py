"""Fields of forms, invoices, receipts and minutes that a question names, for evidence: "Total due: 810.72".

A field is a short line with a label and a value, of which a reader of prose makes little. A question names a field if
the line has the first thing that is asked for, and the document, its title or its file's name has all other words: for
"the total of the plumber's invoice" the total is in the line and the rest in `invoice-4471-plumber.txt`. If one word of
the question stands nowhere in the document, the document does not answer. No answer is claimed here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePath

from preflight_rag.state.reading import Source
from preflight_rag.text.headings import is_page_line
from preflight_rag.text.letter_lines import QUOTED_PART
from preflight_rag.text.links import TARGET_LINE
from preflight_rag.text.negation import polarity
from preflight_rag.text.quotes import is_title
from preflight_rag.text.sentences import sentence_spans
from preflight_rag.text.tables import is_row, parse_row
from preflight_rag.text.values import asked_kind, figures_of
from preflight_rag.text.words import words

MAX_FIELDS = 3
"""Maximum number of fields that are shown; a guess."""
MAX_ROWS_OF_COLUMNS = 10
"""Maximum number of rows that are shown if a question names only their columns; a guess."""
MAX_FIELD_CHARACTERS = 160
"""Maximum length of a field; longer lines are prose. A guess."""
MAX_FIELD_WORDS = 14
"""Maximum number of words of a field that is no row of a table; a guess."""
HEADING_LINES = 5
"""Number of lines above a field among which its heading may be; a guess."""
MAX_FORM_CHARACTERS = 8000
"""Maximum length of a form; longer documents are articles and filings. A guess."""
LEAST_QUESTION_TERMS = 2
"""Minimum number of a question's terms, so that "What is the total?" does not name the total of every form; a guess."""

_SYNONYMS = {
    term: group[0]
    for group in (
        words("total sum payable"),
        words("price cost"),
        words("supplier supplies supplied supply"),
        words("invoice inv"),
        words("receipt rcpt"),
        words("report rpt"),
        words("repair repairing"),
    )
    for term in group
}
"""A term of a group of synonyms to the term that stands for the whole group."""
_ASKING_TERMS = frozenset(
    words(
        "much many reading value figure line field entry say state give show list pay paid cost take took amount name"
    )
)
"""Terms that a document need not have, since they ask and name nothing."""
_ASKS_WHO = re.compile(r"\b(?:who|whom|whose)\b", re.I)
_PERSON_NAME = re.compile(
    r"(?:(?: [a-z]+)? by)?[^\w|]{1,3}(?:(?:Mr|Ms|Mrs|Dr)\.? )?[A-Z][\w'’-]+(?: [A-Z]\.)?(?: [A-Z][\w'’-]+)?\b(?! ?[:@])"
)
"""A person's name behind a label: " by: Ellis Turner", ": Ellis Turner"; behind "|" is the name of the next column."""
_ITEM_MARK = re.compile(r"^[-*+•] +")
_ALPHANUMERIC_PART = re.compile(r"[^\W_]+")
_MAIL_HEAD = re.compile(r"From: [^\n]{1,300}\n(?:(?:To|Cc|Bcc|Date|Sent|Subject|Reply-To): [^\n]{0,300}\n){1,8}")
"""The header lines of a mail."""
_ASKS_HOW_TO = re.compile(r"\W*how (?:do|does|can|could|should|must|to)\b", re.I)
_ASKS_ABOUT_MAIL = re.compile(
    r"\b(?:e-?mails?|mails?|messages?|letters?|sen[dt]s?|sender|wr[io]te\w*|received?)\b", re.I
)
_YEARS = re.compile(r"\b(?:19|20)\d\d(?:\s?[/–-]\s?\d{2,4})?\b")
"""Years, which are no amounts: "Roof project 2025/26"."""
_PART_HEADING = re.compile(r"\d{1,2}(?:\.\d{1,3}){0,3}[.)]\s[^:\d]*")
"""The heading of a numbered part, whose number is no value: "7. Notice"."""
_SENTENCE_END = re.compile(r"[a-z][a-z][.!?]$")


@dataclass(frozen=True)
class _Field:
    """A field of a passage with its index terms.

    Attributes:
        source: The passage.
        text: The line, verbatim.
        terms: The terms of the line.
        near: The terms of the line and of the lines above it.
        around: The terms of the passage, its title, its heading and its file's name.
    """

    source: Source
    text: str
    terms: frozenset[str]
    near: frozenset[str]
    around: frozenset[str]


def find_named_fields(question: str, sources: Sequence[Source]) -> list[tuple[int, str]]:
    """Return `(passage, line)` of the form fields that a question names, best first; [] if it names none.

    A field needs the first term that is asked for and a value of the requested kind. Empty also for a yes/no question,
    and if a sentence of the passages has more of the question's terms than the best field.
    """
    kind = asked_kind(question)
    asked = _index_terms(question)
    needed = asked - _ASKING_TERMS
    if kind == "verdict" or len(needed) < LEAST_QUESTION_TERMS:
        return []
    long = {source.document_id for source in sources if source.start + len(source.text) > MAX_FORM_CHARACTERS}
    sources = [source for source in sources if source.document_id not in long]
    fields = _find_fields(question, sources, needed)
    # What is asked for comes first: the total, of "the total of the plumber's invoice".
    order = [term for term in (_SYNONYMS.get(term, term) for term in words(question)) if term in needed]
    first = order[0]
    if not any(first in field.terms for field in fields):
        return []
    is_how_to = _ASKS_HOW_TO.match(question) is not None
    named = [
        field
        for field in fields
        if first in field.terms
        and _has_asked_value(kind, first, question, field.text)
        # "The plan does not cover: theft" has the words of "What does the plan cover?" and says the opposite.
        and polarity(question, field.text) >= 0
        # A row of a table is no way to do something; how to pay is in a field of an invoice.
        and not (is_how_to and is_row(field.text))
        and not is_title(field.text, field.source.title)
    ]
    scored = [(_score_field(field, asked, needed), field) for field in named]
    highest = max((score for score, _ in scored), default=0.0)
    best = [field for score, field in scored if score == highest]
    most_terms = max((len(needed & field.terms) for field in best), default=0)
    for source in sources:
        for start, end in sentence_spans(source.text):
            sentence = source.text[start:end]
            terms = _index_terms(sentence)
            says_more = first in terms and len(needed & terms) > most_terms
            if says_more and _has_asked_value(kind, first, question, sentence):
                return []
    if rows := _find_rows_with_same_columns(named, best, asked, needed):
        return rows
    # Reversed twice, so that of equal lines the number of the first one stays, and all keep their order.
    numbers = {field.text: field.source.n for field in reversed(best)}
    shown = [(n, text) for text, n in reversed(numbers.items())]
    return [*shown, *_find_rows_of_other_documents(scored, best, asked, needed)][:MAX_FIELDS]


def _find_fields(question: str, sources: Sequence[Source], needed: frozenset[str]) -> list[_Field]:
    """Return the fields of the documents that have all needed terms in text, title, headings or file name.

    The header lines of a mail are left out, unless the question is about a mail: "From: Ada Orr" is no field of what
    the mail is about.
    """
    terms_of_passages = [
        _index_terms(f"{source.title} {source.heading} {source.text}") | _file_terms(source) for source in sources
    ]
    terms_of_documents: dict[str, set[str]] = {}
    for source, terms in zip(sources, terms_of_passages, strict=True):
        terms_of_documents.setdefault(source.document_id or source.source, set()).update(terms)
    fields = []
    for source, around in zip(sources, terms_of_passages, strict=True):
        if needed <= terms_of_documents[source.document_id or source.source]:
            head = None if _ASKS_ABOUT_MAIL.search(question) else _MAIL_HEAD.match(source.text)
            for text, near in _iterate_fields(source.text[head.end() if head else 0 :]):
                fields.append(_Field(source, text, _index_terms(_without_caption(text)), near, around))
    return fields


def _find_rows_with_same_columns(
    named: Sequence[_Field], best: Sequence[_Field], asked: frozenset[str], needed: frozenset[str]
) -> list[tuple[int, str]]:
    """Return all rows of the best row's table if a question names only its columns: "the dates and speakers".

    The best row would seem to be the answer only because it is shorter than the others. Empty if the best field is no
    row, if its cells have a word of the question, or if more than `MAX_ROWS_OF_COLUMNS` rows match as well.
    """
    first = next(iter(best), None)
    row = parse_row(first.text) if first and is_row(first.text) else None
    if first is None or row is None or asked & _index_terms(" ".join(cell.text for cell in row.cells)):
        return []
    columns = [cell.column for cell in row.cells]
    score = _score_words(first, asked, needed)
    rows = []
    for field in named:
        other = parse_row(field.text) if field.source is first.source and is_row(field.text) else None
        if other and [cell.column for cell in other.cells] == columns and _score_words(field, asked, needed) == score:
            rows.append((field.source.n, field.text))
    return rows if 1 < len(rows) <= MAX_ROWS_OF_COLUMNS else []


def _find_rows_of_other_documents(
    scored: Sequence[tuple[float, _Field]], best: Sequence[_Field], asked: frozenset[str], needed: frozenset[str]
) -> list[tuple[int, str]]:
    """Return the best row of each document without a best field, if its words match as well as those of a best field.

    An old price list has the same row as the new one, with another price.
    """
    if not best:
        return []
    documents = {field.source.document_id for field in best}
    texts = {field.text for field in best}
    least = min(_score_words(field, asked, needed) for field in best)
    rows: list[tuple[int, str]] = []
    for _, field in sorted(scored, key=lambda item: -item[0]):
        is_new = field.text not in texts and field.source.document_id not in documents
        if is_new and is_row(field.text) and _score_words(field, asked, needed) >= least:
            documents.add(field.source.document_id)
            rows.append((field.source.n, field.text))
    return rows


def _score_field(field: _Field, asked: frozenset[str], needed: frozenset[str]) -> float:
    """Return how well a field matches a question: the score of its words, and a little more for a short label."""
    label = _index_terms(field.text.rpartition(": ")[0]) or field.terms
    return round(_score_words(field, asked, needed) + 0.2 / max(1, len(label)), 4)


def _score_words(field: _Field, asked: frozenset[str], needed: frozenset[str]) -> float:
    """Return how well the words of a field match a question.

    Each asked term in the line counts 1, a needed one 2; the shares of needed terms near and around the line are added.
    """
    in_line = sum(1.0 + (term in needed) for term in sorted(field.terms & asked))
    return round(in_line + (len(needed & field.near) + len(needed & field.around)) / len(needed), 4)


def _without_caption(line: str) -> str:
    """Return a line; a row of a table without the table's caption."""
    row = parse_row(line) if is_row(line) else None
    return line.removeprefix(row.caption) if row else line


def _iterate_fields(text: str) -> Iterator[tuple[str, frozenset[str]]]:
    """Yield each field of a text, with the index terms of its line and of the lines above it.

    A line with names of columns goes with the line of values below it, and a line whose sentence continues in the next
    line goes up to the sentence's end.
    """
    lines = text.split("\n")
    sentences, next_start = sentence_spans(text), 0
    for i, line in enumerate(lines):
        start, end = next_start, next_start + len(line)
        next_start = end + 1
        if not _is_field(line):
            continue
        below = lines[i + 1] if i + 1 < len(lines) else ""
        is_header = not is_row(line) and ":" not in line and not any(map(str.isdigit, line))
        if is_header and _is_line_of_figures(below):
            field = f"{line}\n{below}".strip()
        else:
            end_of_sentence = next((stop for begin, stop in sentences if begin < end < stop), end)
            field = _ITEM_MARK.sub("", text[start:end_of_sentence].strip())
        yield field, _index_terms(" ".join(lines[max(0, i - HEADING_LINES) : i + 1]))


def _is_field(line: str) -> bool:
    """Return whether a line looks like a field: a row of a table, or a short line with a colon or without a sentence.

    Headings, questions, links, page numbers and lines that a mail quotes are no fields.
    """
    text = line.strip()
    if not text or len(text) > MAX_FIELD_CHARACTERS or text.startswith("#") or text.endswith("?"):
        return False
    is_other = TARGET_LINE.match(text) or _PART_HEADING.fullmatch(text) or QUOTED_PART.match(text)
    if is_other or is_page_line(text):
        return False
    return is_row(text) or (len(text.split()) <= MAX_FIELD_WORDS and (":" in text or not _SENTENCE_END.search(text)))


def _is_line_of_figures(line: str) -> bool:
    """Return whether at least half of a line's tokens, two or more, have a digit: the values below names of columns."""
    tokens = line.split()
    return len(tokens) > 1 and 2 * sum(any(map(str.isdigit, token)) for token in tokens) >= len(tokens)


def _has_asked_value(kind: str, term: str, question: str, line: str) -> bool:
    """Return whether a line has a value of the requested kind; for "who", a person's name after the term."""
    value = line.partition(":")[2] or line
    if _ASKS_WHO.search(question):
        ends = [match.end() for match in _ALPHANUMERIC_PART.finditer(line) if term in _index_terms(match[0])]
        return any(_PERSON_NAME.match(line, end) for end in ends)
    if kind == "date":
        return bool(figures_of(value).dates)
    if kind == "number":
        return any(map(str.isdigit, value if ":" in line or is_row(line) else _YEARS.sub("", value)))
    return bool(line.partition(":")[2].strip()) or is_row(line) or any(map(str.isdigit, line))


def _index_terms(text: str) -> frozenset[str]:
    """Return the index terms of a text, one term for a group of synonyms."""
    return frozenset(_SYNONYMS.get(term, term) for term in words(text))


def _file_terms(source: Source) -> frozenset[str]:
    """Return the index terms of a file's name without its ending: REPAIR-2022-INV-001 is a repair's invoice."""
    name = PurePath(source.source.replace("\\", "/")).stem
    return _index_terms(" ".join(_ALPHANUMERIC_PART.findall(name.replace("_", " "))))
