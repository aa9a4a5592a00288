"""Fields of forms, invoices, receipts and minutes that a question names, for evidence: "Total due: 810.72".

A field is a short line with a label and a value, and a reader of prose makes little of it. A question names one where
the line holds what is asked for first, and all else that it asks about stands in the same document, its title or its
file's name: of "the total of the plumber's invoice" the total is in the line and the rest in
`invoice-4471-plumber.txt`. If one word of the question stands nowhere in the document, as "ticket" in a booking
without a ticket price, the document does not answer. Nothing is claimed of a field here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
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

MOST_FIELDS = 3
"""Fields that are shown; a guess, as of other quotes."""
MOST_ALIKE = 10
"""Most rows that are shown where a question names their columns alone; a guess."""
LONGEST_FIELD = 160
"""Characters of a line that is a field; longer ones are prose. A guess."""
MOST_WORDS = 14
"""Words of a field that is no row of a table; a guess."""
ABOVE = 5
"""Lines above a field that may be its heading; a guess."""
SHORT = 8000
"""Characters within which the passages of a form lie; longer documents are articles and filings. A guess."""
LEAST_TERMS = 2
"""Terms that a question has to have, so that "What is the total?" does not name every form's. A guess."""

_ALIKE = {
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
"""Terms of forms by the one that stands for all of their kind."""
_GENERIC = frozenset(
    words(
        "much many reading value figure line field entry say state give show list pay paid cost take took amount name"
    )
)
"""Terms that ask, and name nothing, unless a label has them."""
_WHO = re.compile(r"\b(?:who|whom|whose)\b", re.I)
_PERSON = re.compile(
    r"(?:(?: [a-z]+)? by)?[^\w|]{1,3}(?:(?:Mr|Ms|Mrs|Dr)\.? )?[A-Z][\w'’-]+(?: [A-Z]\.)?(?: [A-Z][\w'’-]+)?\b(?! ?[:@])"
)
"""A name behind a label: "by: Ellis Turner", " Ellis Turner"; behind a bar is the name of the next column."""
_MARK = re.compile(r"^[-*+•] +")
_NAME_PARTS = re.compile(r"[^\W_]+")
_MAIL_HEAD = re.compile(r"From: [^\n]{1,300}\n(?:(?:To|Cc|Bcc|Date|Sent|Subject|Reply-To): [^\n]{0,300}\n){1,8}")
"""The lines at the beginning of a mail, which are about the mail."""
_HOW_TO = re.compile(r"\W*how (?:do|does|can|could|should|must|to)\b", re.I)
_ABOUT_MAIL = re.compile(r"\b(?:e-?mails?|mails?|messages?|letters?|sen[dt]s?|sender|wr[io]te\w*|received?)\b", re.I)
_YEARS = re.compile(r"\b(?:19|20)\d\d(?:\s?[/–-]\s?\d{2,4})?\b")
"""Years, which say when and not how many: "Roof project 2025/26"."""
_PART = re.compile(r"\d{1,2}(?:\.\d{1,3}){0,3}[.)]\s[^:\d]*")
"""The heading of a numbered part, whose number is no value: "7. Notice"."""
_SENTENCE = re.compile(r"[a-z][a-z][.!?]$")


@dataclass(frozen=True)
class _Field:
    """A line of a passage with its terms."""

    source: Source
    text: str
    terms: frozenset[str]
    near: frozenset[str]
    around: frozenset[str]


def find_named_fields(question: str, sources: Sequence[Source]) -> list[tuple[int, str]]:
    """Return `(passage, line)` of the form fields that a question names, best first; [] if one word is missing."""
    kind = asked_kind(question)
    asked = _terms(question)
    needed = asked - _GENERIC
    if kind == "verdict" or len(needed) < LEAST_TERMS:
        return []
    documents: dict[str, set[str]] = {}
    long = {source.document_id for source in sources if source.start + len(source.text) > SHORT}
    sources = [source for source in sources if source.document_id not in long]
    for source in sources:
        present = documents.setdefault(source.document_id or source.source, set(_file_terms(source)))
        present |= _terms(f"{source.title} {source.heading} {source.text}")
    fields = []
    for source in sources:
        if not needed <= documents[source.document_id or source.source]:
            continue
        around = _terms(f"{source.title} {source.heading} {source.text}") | _file_terms(source)
        # "From: Ada Orr" is no field of what a mail is about.
        head = None if _ABOUT_MAIL.search(question) else _MAIL_HEAD.match(source.text)
        lines = _lines(source.text[head.end() if head else 0 :])
        fields += [_Field(source, text, _terms(_own_words(text)), near, around) for text, near in lines]
    # What is asked for comes first: the total, of "the total of the plumber's invoice".
    order = [term for term in (_ALIKE.get(term, term) for term in words(question)) if term in needed]
    first = next((term for term in order if any(term in field.terms for field in fields)), "")
    named = [field for field in fields if first in field.terms and _may_answer(kind, first, question, field.text)]
    # "The plan does not cover: theft" has the words of "What does the plan cover?" and says the opposite.
    named = [field for field in named if polarity(question, field.text) >= 0]
    if _HOW_TO.match(question):  # a row of a table is no way to do something; how to pay is in a field of an invoice
        named = [field for field in named if not is_row(field.text)]
    named = [field for field in named if not is_title(field.text, field.source.title)]
    # No field has what is asked for, only the rest of the question.
    if not first or first != order[0]:
        return []
    scored = [(_worth(field, asked, needed), field) for field in named]
    best = max((worth for worth, _ in scored), default=0.0)
    most = max((len(needed & field.terms) for worth, field in scored if worth == best), default=0)
    if any(
        _says_more(sentence, most, first, needed, question)
        for sentence in chain.from_iterable(map(_sentences, sources))
    ):
        return []
    # Reversed twice, so that of equal lines the number of the first stays, and all keep their order.
    kept = {field.text: field.source.n for worth, field in reversed(scored) if worth == best}
    shown = [(n, text) for text, n in reversed(kept.items())]
    if rows := _rows_of_columns(named, scored, best, asked, needed):
        return rows
    return [*shown, *_of_other_documents(scored, best, asked, needed)][:MOST_FIELDS]


def _rows_of_columns(
    named: Sequence[_Field],
    scored: Sequence[tuple[float, _Field]],
    best: float,
    asked: frozenset[str],
    needed: frozenset[str],
) -> list[tuple[int, str]]:
    """Return all rows of the best row's table, if a question names its columns alone: "the dates and speakers".

    One of them would seem to be the answer, as it is shorter than the others. Empty if its cells have a word of the
    question, or if they are many.
    """
    first = next((field for worth, field in scored if worth == best), None)
    row = parse_row(first.text) if first and is_row(first.text) else None
    if first is None or row is None or asked & _terms(" ".join(cell.text for cell in row.cells)):
        return []
    columns = [cell.column for cell in row.cells]
    own = _matches(first, asked, needed)
    alike = []
    for field in named:
        other = parse_row(field.text) if field.source is first.source and is_row(field.text) else None
        if other and [cell.column for cell in other.cells] == columns and _matches(field, asked, needed) == own:
            alike.append((field.source.n, field.text))
    return alike if 1 < len(alike) <= MOST_ALIKE else []


def _of_other_documents(
    scored: Sequence[tuple[float, _Field]], best: float, asked: frozenset[str], needed: frozenset[str]
) -> list[tuple[int, str]]:
    """Return the best rows of documents other than those of the best fields, which match as well but for their length.

    An old price list has the same row as the new one, with another price.
    """
    first = [field for worth, field in scored if worth == best]
    seen = {field.source.document_id for field in first}
    texts = {field.text for field in first}
    found: list[tuple[int, str]] = []
    for _, field in sorted(scored, key=lambda item: -item[0]):
        is_alike = _matches(field, asked, needed) >= min(_matches(each, asked, needed) for each in first)
        if is_alike and is_row(field.text) and field.text not in texts and field.source.document_id not in seen:
            seen.add(field.source.document_id)
            found.append((field.source.n, field.text))
    return found


def _sentences(source: Source) -> Iterator[str]:
    """Yield the sentences of a passage."""
    return (source.text[start:end] for start, end in sentence_spans(source.text))


def _says_more(sentence: str, most: int, first: str, needed: frozenset[str], question: str) -> bool:
    """Return whether a sentence of running text may answer, and has more of the question's words than the fields."""
    terms = _terms(sentence)
    return (
        first in terms and len(needed & terms) > most and _may_answer(asked_kind(question), first, question, sentence)
    )


def _worth(field: _Field, asked: frozenset[str], needed: frozenset[str]) -> float:
    """Return how well a field matches a question: by its line, the lines above and around it, and its brevity."""
    label = _terms(field.text.rpartition(": ")[0]) or field.terms
    return round(_matches(field, asked, needed) + 0.2 / max(1, len(label)), 4)


def _matches(field: _Field, asked: frozenset[str], needed: frozenset[str]) -> float:
    """Return how well a field matches a question by its line and the lines above and around it."""
    own = sum(1.0 + (term in needed) for term in sorted(field.terms & asked))
    return round(own + (len(needed & field.near) + len(needed & field.around)) / len(needed), 4)


def _own_words(line: str) -> str:
    """Return a line without its table's caption."""
    row = parse_row(line) if is_row(line) else None
    return line.removeprefix(row.caption) if row else line


def _lines(text: str) -> Iterator[tuple[str, frozenset[str]]]:
    """Yield the fields of a text with the terms near them.

    The names of columns go with the line of values below them, and a sentence that a line breaks off is whole.
    """
    lines = text.split("\n")
    spans, at = sentence_spans(text), 0
    for place, line in enumerate(lines):
        start, end = at, at + len(line)
        at = end + 1
        if not _is_field(line):
            continue
        below = lines[place + 1] if place + 1 < len(lines) else ""
        is_header = not is_row(line) and ":" not in line and not any(map(str.isdigit, line))
        whole = text[start : next((stop for begin, stop in spans if begin < end < stop), end)].strip()
        field = f"{line}\n{below}".strip() if is_header and _is_figures(below) else _MARK.sub("", whole)
        yield field, _terms(" ".join(lines[max(0, place - ABOVE) : place + 1]))


def _is_field(line: str) -> bool:
    """Return whether a line has the form of a field: a short line with a colon, or a row of a table."""
    text = line.strip()
    if not text or len(text) > LONGEST_FIELD or text.startswith("#") or text.endswith("?") or QUOTED_PART.match(text):
        return False
    if TARGET_LINE.match(text) or _PART.fullmatch(text) or is_page_line(text):
        return False
    return is_row(text) or (len(text.split()) <= MOST_WORDS and (":" in text or not _SENTENCE.search(text)))


def _is_figures(line: str) -> bool:
    """Return whether a line is mostly figures, like a row of values below the names of columns."""
    tokens = line.split()
    return len(tokens) > 1 and 2 * sum(any(map(str.isdigit, token)) for token in tokens) >= len(tokens)


def _may_answer(kind: str, term: str, question: str, line: str) -> bool:
    """Return whether a field has a value of the requested kind; for "who", a person's name after the term."""
    value = line.partition(":")[2] or line
    if _WHO.search(question):
        places = [match.end() for match in _NAME_PARTS.finditer(line) if term in _terms(match[0])]
        return any(_PERSON.match(line, place) for place in places)
    if kind == "date":
        return bool(figures_of(value).dates)
    if kind == "number":
        return any(map(str.isdigit, value if ":" in line or is_row(line) else _YEARS.sub("", value)))
    return bool(line.partition(":")[2].strip()) or is_row(line) or any(map(str.isdigit, line))


def _terms(text: str) -> frozenset[str]:
    """Return the index terms of a text, with one term for synonyms."""
    return frozenset(_ALIKE.get(term, term) for term in words(text))


def _file_terms(source: Source) -> frozenset[str]:
    """Return the terms of a file's name, without its ending: REPAIR-2022-INV-001 is a repair's invoice."""
    name = PurePath(source.source.replace("\\", "/")).stem
    return _terms(" ".join(_NAME_PARTS.findall(name.replace("_", " "))))
