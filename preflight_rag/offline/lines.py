"""Rows of tables, log lines and sentences that a question names by an exact string, a cell, or a log level.

A row or a line is read alone, so the reader gets those that the question names and not their neighbours; if nothing is
claimed, they are the evidence. By rule, as vectors and a reader of prose hardly distinguish the rows of one table.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain

from preflight_rag.state.reading import Source
from preflight_rag.text.abbreviations import asked_abbreviation
from preflight_rag.text.exact import (
    count_held,
    exact_pattern,
    exact_strings,
    holds,
    is_clause,
    is_definite,
    others_like,
)
from preflight_rag.text.letter_lines import states_nothing
from preflight_rag.text.log_lines import ERROR_WORDS, asks_errors, error_lines, is_log_line, is_setting, level_of_record
from preflight_rag.text.names import only_subject, surface_names
from preflight_rag.text.numbered_parts import asks_for_text, find_parts
from preflight_rag.text.quotes import is_title, trim_quote
from preflight_rag.text.sentences import sentence_spans
from preflight_rag.text.tables import is_row, parse_row
from preflight_rag.text.values import asked_kind, figures_of
from preflight_rag.text.words import STOP_WORDS, words

MAX_LINES = 10
"""Maximum number of rows and lines that are shown; a guess."""
MAX_ROWS = 3
"""Maximum number of rows that a question can name by its words; if more fit, it names none. A guess."""
LEAST_QUESTION_WORDS = 2
"""Minimum number of words of a question or title that name a row or a document; a guess."""
MAX_CLAUSE_CHARACTERS = 500
"""Maximum length of a clause that is shown as a whole; a guess."""
MAX_SENTENCES = 3
_MAX_LINE_CHARACTERS = 600
"""Maximum length of a line that is quoted; a guess."""
_MAX_LABEL_WORDS = 4
"""Maximum number of words of a form field's label; a guess."""
_LEAST_CELL_CHARACTERS = 3
"""Minimum length of a cell that is looked for in a question; shorter ones stand in many. A guess."""

_WORD = re.compile(r"[^\W_]+")
_BRACKETS = re.compile(r"\([^()]*\)")
_ASKING_WORDS = frozenset(words("much many cost costs pay get take value say give"))
"""Words of a question that a row need not have."""
_UNITS = {
    name: unit
    for unit, names in {
        "mg": "mg milligram milligrams", "ug": "ug mcg μg microgram micrograms", "g": "g gram grams", "kg": "kg",
        "ml": "ml millilitre millilitres milliliter milliliters", "mmol": "mmol", "iu": "iu",
        "month": "month months", "week": "week weeks wk wks", "day": "day days", "hour": "hour hours h hr hrs",
        "minute": "minute minutes min mins",
    }.items()
    for name in names.split()
}  # fmt: skip
"""The standard symbol of each spelling, in lower case, of a unit of dose or time."""
_ANY_UNIT = "|".join(sorted(_UNITS, key=len, reverse=True))
_AMOUNT = re.compile(
    rf"(?<![\w.,])(?P<number>\d{{1,9}}(?:[.,]\d{{1,9}})?)[ -]?(?P<unit>{_ANY_UNIT})(?![^\W\d])", re.IGNORECASE
)


@dataclass(frozen=True)
class _PassageLine:
    """A line or sentence of a passage, verbatim; `n` is the passage's number."""

    n: int
    text: str


def can_be_read_alone(line: str) -> bool:
    """Return whether a line can be read alone: a row of a table, a log line, or a setting."""
    return is_row(line) or is_log_line(line) or is_setting(line)


def find_definite_strings(question: str, sources: Sequence[Source]) -> tuple[str, ...]:
    """Return the question's exact strings that a passage contains and that identify one thing each."""
    texts = [source.text for source in sources]
    strings = [string for string in exact_strings(question) if any(holds(text, string) for text in texts)]
    return tuple(string for string in strings if is_definite(string, texts))


def narrowed(question: str, sources: Sequence[Source]) -> list[Source]:
    """Return the passages without what is about other things than the question names.

    If it names a numbered part, such as article 5, only that part stays. Then the first of these applies:

    1. Exact strings that identify something ("GX-2290"): passages without one are left out, and within a passage rows
       and lines without one, and sentences about another string of the same form.
    2. A dose or a time that stands in rows of a document: its rows with another one are left out.
    3. Errors, and there are log lines of errors: lines of other levels are left out.
    """
    sources = _cut_to_named_parts(question, sources) or sources
    strings = find_definite_strings(question, sources)
    if strings:
        counts = [count_held(_title_and_text(source), strings) for source in sources]
        # One string suffices; in another spelling, which counts half, only if no passage has one as it is written.
        least = min(max(counts), 1.0)
        named = [source for source, count in zip(sources, counts, strict=True) if count >= least]
        cut = [_drop_sentences_on_other_strings(source, strings) for source in named]
        return [_keep_lines_if_any(source, lambda line: count_held(line, strings) > 0) for source in cut]
    if amounts := _find_amounts(question):
        sources = _keep_rows_of_amounts(sources, amounts)
    if asks_errors(question) and any(error_lines(source.text, question) for source in sources):
        return [_drop_other_log_levels(source, question) for source in sources]
    return list(sources)


def find_named_lines(question: str, sources: Sequence[Source]) -> list[tuple[int, str]]:
    """Return `(passage, line)` of the rows and log lines that a question names, best first; [] if it names none.

    The first of these that finds lines decides: an exact string; an error, if the question asks for errors; all words
    of the question in a row; a cell that the question repeats word for word; the name of a row's document and column.
    """
    lines = [_PassageLine(source.n, line) for source in sources for line in _iterate_lines(source.text)]
    strings = [string for string in exact_strings(question) if any(holds(line.text, string) for line in lines)]
    if strings:
        return _keep_best([(count_held(line.text, strings), line) for line in lines])
    if asks_errors(question) and (errors := _find_errors(question, lines, sources)):
        return errors
    if rows := _find_rows_with_all_words(question, sources):
        return rows
    scored = [(score, line) for line in lines if (score := _count_named_characters(question, line.text))]
    with_cell = _keep_best(_sort_by_shared_words(question, scored))
    # "Caretaker: Fax" repeats a word of the question, but is not about the person that the question names.
    with_name = _find_rows_with_names(question, lines) if with_cell else []
    return (
        _keep_best([(1 + _count_named_characters(question, line.text), line) for line in with_name])
        or with_cell
        or _find_rows_of_named_table(question, sources)
    )


def _find_errors(question: str, lines: Sequence[_PassageLine], sources: Sequence[Source]) -> list[tuple[int, str]]:
    """Return `(passage, line)` of the error lines with the most words of the question; [] if there are none."""
    errors = {(source.n, line) for source in sources for line in error_lines(source.text, question)}
    asked = set(words(question)) - ERROR_WORDS
    scored = [(1.0 + len(asked & set(words(line.text))), line) for line in lines if (line.n, line.text) in errors]
    return _keep_best(scored)


def _find_rows_of_named_table(question: str, sources: Sequence[Source]) -> list[tuple[int, str]]:
    """Return the rows with most of a question's other words in their cells, if it names their document and a column.

    "What is the depth of the lost anchor in the wreck list?" names document and column of all rows of the wreck list;
    one of them has "anchor" in a cell, and one has "lost". The row with the earlier word comes first. Empty if
    more than `MAX_ROWS` rows are equally good.
    """
    asked = [term for term in dict.fromkeys(words(question)) if term not in STOP_WORDS | _ASKING_WORDS]
    scored: list[tuple[int, int, _PassageLine]] = []
    for source in sources:
        title = frozenset(words(source.title)) - STOP_WORDS
        if len(title) < LEAST_QUESTION_WORDS or not title <= frozenset(asked):
            continue
        for line in _iterate_lines(source.text):
            if (row := parse_row(line)) is None:
                continue
            columns = [frozenset(words(_BRACKETS.sub(" ", cell.column))) for cell in row.cells]
            named = frozenset[str]().union(*(terms for terms in columns if terms <= frozenset(asked) and terms - title))
            others = [term for term in asked if term not in named | title]
            cells = frozenset(words(" ".join(cell.text for cell in row.cells)))
            positions = [i for i, term in enumerate(others) if term in cells]
            if named and positions:
                scored.append((len(positions), positions[0], _PassageLine(source.n, line)))
    most = max((count for count, _, _ in scored), default=0)
    best = [(first, line) for count, first, line in scored if count == most]
    best.sort(key=lambda item: item[0])
    return [(line.n, line.text) for _, line in best] if len(best) <= MAX_ROWS else []


def find_lines_of_coded_document(question: str, sources: Sequence[Source]) -> list[tuple[int, str]]:
    """Return `(passage, line)` of the lines that a question asks for in a document that it names by its code.

    For "How much tax was on invoice KD-2210?" these are the line of that invoice with its tax, and behind it the one
    with its number. Empty unless exactly one document is named, and a few of its lines have the question's other words.
    """
    strings = find_definite_strings(question, sources)
    code_lines = [(source, line) for source in sources if (line := _find_code_line(source.text, strings))]
    documents = {source.document_id or source.passage_id for source, _ in code_lines}
    if len(documents) != 1:
        return []
    first_source, code_line = code_lines[0]
    passages = [source for source in sources if (source.document_id or source.passage_id) in documents]
    # Code and title belong to the whole document, so they choose none of its lines.
    common = frozenset(words(" ".join([*strings, code_line, *(source.title for source in passages)])))
    asked = frozenset(words(question)) - STOP_WORDS - _ASKING_WORDS - common
    scored = []
    for source in passages:
        for line in _iterate_rows_and_sentences(source.text):
            scored.append((len(asked & frozenset(words(line))), _PassageLine(source.n, line)))
    if asked_kind(question) == "date" and any(score and figures_of(line.text).dates for score, line in scored):
        scored = [(score, line) for score, line in scored if figures_of(line.text).dates]
    best = _keep_best(scored)
    return [*best, (first_source.n, code_line)] if best and len(best) <= MAX_ROWS else []


def _find_code_line(text: str, strings: Sequence[str]) -> str:
    """Return the line of a form that has its own code as value, such as "Invoice number: KD-2210"; "" without one.

    A line whose label other lines have, too, is an entry of a list and not the form's own code.
    """
    lines = [line.strip() for line in text.split("\n") if not is_row(line) and not is_log_line(line)]
    labels = [line.partition(":")[0] for line in lines]
    for line, label in zip(lines, labels, strict=True):
        value = line.partition(":")[2].strip(" #.")
        is_code = any(exact_pattern(string).fullmatch(value) for string in strings)
        if is_code and len(label.split()) <= _MAX_LABEL_WORDS and labels.count(label) == 1:
            return line
    return ""


def _iterate_rows_and_sentences(text: str) -> Iterator[str]:
    """Yield the rows of a text and the sentences of its other lines that are short enough to be quoted."""
    for start, end in sentence_spans(text):
        sentence = text[start:end]
        for line in sentence.split("\n") if is_row(sentence) else [sentence]:
            if line.strip() and len(line) <= _MAX_LINE_CHARACTERS:
                yield line.strip()


def _find_rows_with_all_words(question: str, sources: Sequence[Source]) -> list[tuple[int, str]]:
    """Return the rows that have all words of a question in cells and columns, and at least one of them in a cell.

    "What is the insurance value of the sextant?" names the row "Object: Sextant by Ray | Insurance value: 7800". Empty
    if more than `MAX_ROWS` rows have them, or if the question has a single word to look for.
    """
    asked = frozenset(words(question)) - STOP_WORDS - _ASKING_WORDS
    if len(asked) < LEAST_QUESTION_WORDS:
        return []
    numbers: dict[str, int] = {}
    for source in sources:
        for line in _iterate_lines(source.text):
            row = parse_row(line) if is_row(line) and asked <= frozenset(words(line)) else None
            # The words of the columns alone stand in every row of the table.
            if row and asked & frozenset(words(" ".join(cell.text for cell in row.cells))):
                numbers.setdefault(line, source.n)
    return [(n, line) for line, n in numbers.items()] if len(numbers) <= MAX_ROWS else []


def _find_rows_with_names(question: str, lines: Sequence[_PassageLine]) -> list[_PassageLine]:
    """Return the rows that contain a name of several words from the question: "Ngozi Okafor" in "Dr. Ngozi Okafor"."""
    names = [" ".join(name) for name in surface_names(question) if len(name) > 1]
    rows = [line for line in lines if is_row(line.text)] if names else []
    return [line for line in rows if any(f" {name} " in _normalize_words(line.text) for name in names)]


def asks_only_for_lines(question: str) -> bool:
    """Return whether a question asks for errors, or has at most one word besides its exact strings."""
    strings = exact_strings(question)
    other_words = set(words(question)) - set(chain.from_iterable(map(words, strings)))
    return asks_errors(question) or (bool(strings) and len(other_words) <= 1)


def find_sentences_with_exact_strings(question: str, sources: Sequence[Source]) -> list[tuple[int, str]]:
    """Return `(passage, sentence)` of the sentences with the most exact strings of a question, `MAX_SENTENCES` at most.

    If the question has no exact string, the name or abbreviation counts that is all it asks about; [] without one. A
    clause is quoted whole; a document's title is returned only if no sentence has the strings.
    """
    subject = asked_abbreviation(question) or only_subject(question)
    strings = find_definite_strings(question, sources) or ((subject,) if subject else ())
    if not strings:
        return []
    string_words = frozenset(words(" ".join(strings)))
    sentences: list[tuple[float, _PassageLine]] = []
    titles: list[tuple[float, _PassageLine]] = []
    for source in sources:
        spans = sentence_spans(source.text)
        for i, span in enumerate(spans):
            sentence = source.text[slice(*span)]
            # A question of the document answers nothing, nor does the line above a mail.
            if sentence.rstrip().endswith("?"):
                continue
            count = count_held(sentence, strings)
            if count and not states_nothing(question, sentence, source.text):
                clause = _find_clause(source.text, spans[i:], strings)
                quote = clause or source.text[slice(*trim_quote(source.text, *span, string_words))]
                scored = titles if is_title(sentence, source.title) else sentences
                scored.append((count, _PassageLine(source.n, quote)))
    return _keep_best(sentences or titles)[:MAX_SENTENCES]


def _cut_to_named_parts(question: str, sources: Sequence[Source]) -> list[Source]:
    """Return the passages with a numbered part that a question names, cut to such parts; [] if none has one."""
    cut = []
    for source, spans in zip(sources, find_parts(question, sources), strict=True):
        texts = [source.text[start:end].strip() for start, end in spans]
        if texts:
            cut.append(replace(source, text="\n\n".join(texts)))
    return cut


def find_named_parts(question: str, sources: Sequence[Source]) -> list[tuple[int, str]]:
    """Return `(passage, text)` of the numbered parts that a question names, at most `MAX_SENTENCES`.

    Of a part longer than `MAX_CLAUSE_CHARACTERS` the first sentences are shown if the question only asks for the part's
    text; otherwise the part is left out.
    """
    parts = []
    for source, spans in zip(sources, find_parts(question, sources), strict=True):
        for start, end in spans[:1]:
            ends = [stop for begin, stop in sentence_spans(source.text) if start <= begin < end]
            fitting = [stop for stop in ends if stop - start <= MAX_CLAUSE_CHARACTERS]
            if not fitting or (fitting[-1] < ends[-1] and not asks_for_text(question)):
                continue
            parts.append((source.n, source.text[start : fitting[-1]].strip()))
    return parts[:MAX_SENTENCES]


def _find_clause(text: str, spans: Sequence[tuple[int, int]], strings: Sequence[str]) -> str:
    """Return the clause whose number stands in the first sentence, up to the next clause; "" if none does.

    The number often stands before a heading, or in a line of which the text follows below. A sentence that begins
    after `MAX_CLAUSE_CHARACTERS` of the clause is left out. `spans` are the text's sentences from the first one on.
    """
    (start, end), *following = spans
    number = next((string for string in strings if is_clause(string) and holds(text[start:end], string)), "")
    if not number:
        return ""
    for begin, stop in following:
        if stop - start > MAX_CLAUSE_CHARACTERS or others_like(number).search(text[begin:stop]):
            break
        end = stop
    return text[start:end]


def _title_and_text(source: Source) -> str:
    """Return a passage's title and text as one text."""
    return f"{source.title} {source.text}"


def _drop_sentences_on_other_strings(source: Source, strings: Sequence[str]) -> Source:
    """Return a passage without the sentences about other strings of the same form as the question's.

    For a question about GX-2290, the sentences from "GX-2310 …" on are left out until one names GX-2290 again.
    """
    sentences = [source.text[start:end] for start, end in sentence_spans(source.text)]
    kept: list[str] = []
    is_about = True
    for sentence in sentences:
        if count_held(sentence, strings):
            is_about = True
        elif any(others_like(string).search(sentence) for string in strings):
            is_about = False
        if is_about:
            kept.append(sentence)
    return source if len(kept) == len(sentences) else replace(source, text="\n\n".join(kept))


def _keep_lines_if_any(source: Source, keeps: Callable[[str], bool]) -> Source:
    """Return a passage without the rows and log lines that `keeps` rejects; unchanged if it rejects all of them."""
    lines = source.text.split("\n")
    if not any(can_be_read_alone(line) and keeps(line) for line in lines):
        return source
    return replace(source, text="\n".join(line for line in lines if not can_be_read_alone(line) or keeps(line)).strip())


def _find_amounts(text: str) -> frozenset[tuple[str, str]]:
    """Return the amounts of a text with the standard symbols of their units: ("20", "mg") for "20.0 milligrams"."""
    amounts = set()
    # People write the micro sign or the Greek letter for the "μ" of "μg"; the normal form is the letter.
    for match in _AMOUNT.finditer(unicodedata.normalize("NFKC", text)):
        number = match["number"].replace(",", "").lstrip("0") or "0"
        if "." in number:
            number = number.rstrip("0").rstrip(".")
        amounts.add((number, _UNITS[match["unit"].lower()]))
    return frozenset(amounts)


def _keep_rows_of_amounts(sources: Sequence[Source], asked: frozenset[tuple[str, str]]) -> list[Source]:
    """Return the passages without rows of another amount, if rows of the same document have a requested one.

    A passage of which no text is left is left out. `asked` are the question's amounts, as of `_find_amounts`.
    """
    asked_by_document: dict[str, set[tuple[str, str]]] = {}
    for source in sources:
        of_document = asked_by_document.setdefault(source.document_id or source.title, set())
        for line in filter(is_row, source.text.split("\n")):
            of_document.update(_find_amounts(line) & asked)
    result = []
    for source in sources:
        of_document = asked_by_document[source.document_id or source.title]
        lines = source.text.split("\n")
        kept = [line for line in lines if not (is_row(line) and _has_other_amount(line, of_document))]
        if len(kept) == len(lines):
            result.append(source)
        elif any(kept):
            result.append(replace(source, text="\n".join(kept).strip()))
    return result


def _has_other_amount(row: str, asked: Collection[tuple[str, str]]) -> bool:
    """Return whether a row has amounts in the units of the requested ones, and none of these itself.

    A row of "20 mg for 6 weeks" has the requested 20 mg, whatever its time is.
    """
    asked_units = {unit for _, unit in asked}
    comparable = {(number, unit) for number, unit in _find_amounts(row) if unit in asked_units}
    return bool(comparable) and comparable.isdisjoint(asked)


def _drop_other_log_levels(source: Source, question: str) -> Source:
    """Return a passage without its log lines of other levels than the question asks for; unchanged if none is left."""
    wanted = set(error_lines(source.text, question))
    lines = source.text.split("\n")
    kept = [line for line in lines if not level_of_record(line) or line.strip() in wanted]
    return replace(source, text="\n".join(kept).strip()) if any(kept) else source


def _iterate_lines(text: str) -> Iterator[str]:
    """Yield the rows, log lines and settings of a text that are short enough to be quoted."""
    for line in text.split("\n"):
        if can_be_read_alone(line) and len(line) <= _MAX_LINE_CHARACTERS:
            yield line.strip()


def _keep_best(scored: Sequence[tuple[float, _PassageLine]]) -> list[tuple[int, str]]:
    """Return `(passage, line)` of the first `MAX_LINES` lines with the highest score, each text once; [] if it is 0."""
    highest = max((score for score, _ in scored), default=0.0)
    if highest <= 0:
        return []
    numbers: dict[str, int] = {}
    for score, line in scored:
        if score == highest:
            numbers.setdefault(line.text, line.n)
    return [(n, text) for text, n in numbers.items()][:MAX_LINES]


def _sort_by_shared_words(
    question: str, rows: Sequence[tuple[float, _PassageLine]]
) -> Sequence[tuple[float, _PassageLine]]:
    """Return scored rows, those with the most of a question's words in their cells first; their scores are unchanged.

    All rows of a list of buttons have the cell "Button, …", and one of them "Button, fire brigade".
    """
    asked = frozenset(words(question)) - STOP_WORDS

    def count_shared_words(scored_row: tuple[float, _PassageLine]) -> int:
        """Return how many of the question's words the cells of a row have."""
        _, line = scored_row
        row = parse_row(line.text)
        return len(asked & frozenset(words(" ".join(cell.text for cell in row.cells)))) if row else 0

    return sorted(rows, key=count_shared_words, reverse=True)


def _count_named_characters(question: str, line: str) -> float:
    """Return the number of characters of a row's cells that the question repeats; 0.0 for other lines than rows."""
    row = parse_row(line) if is_row(line) else None
    if row is None:
        return 0.0
    asked = _normalize_words(question)
    named = {name for cell in row.cells for name in _cell_names(cell.text) if f" {name} " in asked}
    # "Button" is a part of "Button, fire brigade" and would be counted twice.
    nested = {name for name in named if any(name != other and name in other for other in named)}
    return float(sum(map(len, named - nested)))


@lru_cache(maxsize=4096)
def _cell_names(cell: str) -> tuple[str, ...]:
    """Return the texts by which a question may name a cell: the whole cell, and its part before ",", ";", "(" or "/".

    Short texts, numbers and texts without an index term are left out.
    """
    first_part = re.split(r"[,;(/]", cell)[0]
    names = dict.fromkeys(_normalize_words(text).strip() for text in (cell, first_part))
    return tuple(name for name in names if len(name) >= _LEAST_CELL_CHARACTERS and words(name) and not name.isdigit())


def _normalize_words(text: str) -> str:
    """Return the words of a text in lower case, each between single spaces, so that whole words can be searched for."""
    return f" {' '.join(_WORD.findall(text.casefold()))} "
