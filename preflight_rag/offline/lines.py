"""Rows of tables, lines of logs and sentences that a question names: by an exact string, by a cell, or by its level.

A row or a line is read by itself, so a reader is given the ones that a question names, and not their neighbours; where
nothing is claimed, they are the evidence. By rule: vectors and a reader of prose tell rows of one table hardly apart.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
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

MOST_LINES = 10
"""Rows and lines that are shown; a guess."""
MOST_ROWS = 3
"""Rows with all words of a question, of which more name none of them; a guess, as of other quotes."""
LEAST_WORDS = 2
"""Words of a question that name a row; a guess."""
LONGEST_CLAUSE = 500
"""Characters of a clause that is shown as a whole; a guess."""
MOST_SENTENCES = 3
_LONGEST = 600
"""Characters of a line that is shown whole; a guess, as of other quotes."""
_LONGEST_LABEL = 4
"""Words of a field's label; a guess."""
_SHORTEST_CELL = 3
"""Characters of a cell that is looked for in a question; what is shorter stands in many. A guess."""

_WORD = re.compile(r"[^\W_]+")
_BRACKETS = re.compile(r"\([^()]*\)")
_ASKING = frozenset(words("much many cost costs pay get take value say give"))
"""Words that ask, and that a row need not have."""
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
"""Units of doses and of times after a beginning, by the ways in which they are written, in lower case."""
_ANY_UNIT = "|".join(sorted(_UNITS, key=len, reverse=True))
_AMOUNT = re.compile(
    rf"(?<![\w.,])(?P<number>\d{{1,9}}(?:[.,]\d{{1,9}})?)[ -]?(?P<unit>{_ANY_UNIT})(?![^\W\d])", re.IGNORECASE
)


@dataclass(frozen=True)
class PassageLine:
    """A row or log line of a passage, verbatim; `n` is the passage's number."""

    n: int
    text: str


def stands_alone(line: str) -> bool:
    """Return whether a line can be read alone: a row of a table, a log line, or a setting."""
    return is_row(line) or is_log_line(line) or is_setting(line)


def find_definite_strings(question: str, sources: Sequence[Source]) -> tuple[str, ...]:
    """Return the question's exact strings that a passage contains and that identify one thing each."""
    strings = [each for each in exact_strings(question) if any(holds(source.text, each) for source in sources)]
    texts = [source.text for source in sources] if strings else []
    return tuple(each for each in strings if is_definite(each, texts))


def narrowed(question: str, sources: Sequence[Source]) -> list[Source]:
    """Return the passages relevant to the exact strings of a question, without rows and lines on other things.

    If a definite string is in some passages, all others are left out, and within passages the rows and lines without
    it and the sentences about another string of its form. If the question names a dose or a time that occurs in rows
    of a document, the rows with another one are left out. If it asks for errors and there are such log lines, lines
    of other levels are left out. If it names a numbered part, such as article 5, whose text is surely there, only
    that part is read. Nothing else is left out.
    """
    sources = _named_parts(question, sources) or sources
    strings = find_definite_strings(question, sources)
    if strings:
        best = max(count_held(_all(source), strings) for source in sources)
        # One string suffices; in another spelling, which counts half, only if no passage has one as it is written.
        least = min(best, 1.0)
        about = [source for source in sources if count_held(_all(source), strings) >= least]
        return [_with_lines(_about(source, strings), lambda line: count_held(line, strings) > 0) for source in about]
    if amounts := _amounts(question):
        sources = _with_amounts(sources, amounts)
    if asks_errors(question) and any(error_lines(source.text, question) for source in sources):
        return [_without_other_levels(source, question) for source in sources]
    return list(sources)


def find_named_lines(question: str, sources: Sequence[Source]) -> list[tuple[int, str]]:
    """Return `(passage, line)` of the rows and log lines that a question names, best first; [] if it names none.

    They are named by an exact string, else as errors that share a word with the question, else because no other row
    has all its words, else by a cell that the question repeats word for word, else by some words in the cells of a
    table of which the question names the document and the column.
    """
    lines = [PassageLine(source.n, line) for source in sources for line in _lines(source.text)]
    strings = [each for each in exact_strings(question) if any(holds(line.text, each) for line in lines)]
    if strings:
        return _best([(count_held(line.text, strings), line) for line in lines])
    if asks_errors(question):
        asked = set(words(question)) - ERROR_WORDS
        errors = set()
        for source in sources:
            for line in error_lines(source.text, question):
                errors.add((source.n, line))
        found = [(1.0 + len(asked & set(words(line.text))), line) for line in lines if (line.n, line.text) in errors]
        if found:
            return _best(found)
    if whole := _rows_with_all_words(question, sources):
        return whole
    scored = [(worth, line) for line in lines if (worth := _named_cells(question, line.text))]
    named = _best(_with_most_first(question, scored))
    about = _about_names(question, lines) if named else []
    # "Caretaker: Fax" has a word of the question as a cell, and is not about the person that the question names.
    return (
        _best([(1 + _named_cells(question, line.text), line) for line in about])
        or named
        or _rows_of_named_table(question, sources)
    )


def _rows_of_named_table(question: str, sources: Sequence[Source]) -> list[tuple[int, str]]:
    """Return the rows with most of a question's other words in their cells, where it names document and column.

    Of "What is the depth of the lost anchor in the wreck list?" a row of the wreck list with a depth has "anchor", and
    one has "lost"; the other rows have the names of document and column alone. First comes the earlier word.
    """
    asked = [term for term in dict.fromkeys(words(question)) if term not in STOP_WORDS | _ASKING]
    found: list[tuple[int, int, PassageLine]] = []
    for source in sources:
        title = frozenset(words(source.title)) - STOP_WORDS
        for line in _lines(source.text) if len(title) >= LEAST_WORDS and title <= frozenset(asked) else ():
            row = parse_row(line)
            columns = [frozenset(words(_BRACKETS.sub(" ", cell.column))) for cell in row.cells] if row else []
            named = frozenset[str]().union(*(terms for terms in columns if terms <= frozenset(asked) and terms - title))
            others = [term for term in asked if term not in named | title]
            cells = frozenset(words(" ".join(cell.text for cell in row.cells))) if row else frozenset()
            places = [place for place, term in enumerate(others) if term in cells]
            if named and places:
                found.append((len(places), places[0], PassageLine(source.n, line)))
    most = max((count for count, _, _ in found), default=0)
    best = sorted((item for item in found if item[0] == most), key=lambda item: item[1])
    return [(line.n, line.text) for _, _, line in best] if len(best) <= MOST_ROWS else []


def find_lines_of_coded_document(question: str, sources: Sequence[Source]) -> list[tuple[int, str]]:
    """Return `(passage, line)` of the lines that a question asks for in a document that it names by its code.

    Of "How much tax was on invoice KD-2210?" these are the line of that invoice with its tax, and behind it the one
    with its number. Empty without such a document, or if none or many of its lines have the question's other words.

    Args:
        question: The standalone question.
        sources: The passages as they were found.
    """
    strings = find_definite_strings(question, sources)
    naming = [(source, line) for source in sources if (line := _naming_field(source.text, strings))]
    documents = {source.document_id or source.passage_id for source, _ in naming}
    if len(documents) != 1:
        return []
    own = [source for source in sources if (source.document_id or source.passage_id) in documents]
    known = " ".join([*strings, naming[0][1], *(source.title for source in own)])
    # Code and title belong to the whole document, and choose none of its lines.
    asked = frozenset(words(question)) - STOP_WORDS - _ASKING - frozenset(words(known))
    scored = []
    for source in own:
        for line in _rows_and_sentences(source.text):
            scored.append((len(asked & frozenset(words(line))), PassageLine(source.n, line)))
    if asked_kind(question) == "date" and any(score and figures_of(line.text).dates for score, line in scored):
        scored = [(score, line) for score, line in scored if figures_of(line.text).dates]
    named = _best(scored)
    return [*named, (naming[0][0].n, naming[0][1])] if named and len(named) <= MOST_ROWS else []


def _naming_field(text: str, strings: Sequence[str]) -> str:
    """Return the line of a form that says the form's own code, such as "Invoice number: KD-2210"; "" without one.

    A label that several lines have is that of a list's entries.
    """
    fields = [line.strip() for line in text.split("\n") if not is_row(line) and not is_log_line(line)]
    parts = [(line, *line.partition(":")[::2]) for line in fields]
    for line, label, value in parts:
        is_own = any(exact_pattern(each).fullmatch(value.strip(" #.")) for each in strings)
        if is_own and len(label.split()) <= _LONGEST_LABEL and [each for _, each, _ in parts].count(label) == 1:
            return line
    return ""


def _rows_and_sentences(text: str) -> Iterator[str]:
    """Yield the rows of a text and the sentences of its other lines that are short enough to be quoted."""
    for start, end in sentence_spans(text):
        for line in text[start:end].split("\n") if is_row(text[start:end]) else [text[start:end]]:
            if line.strip() and len(line) <= _LONGEST:
                yield line.strip()


def _rows_with_all_words(question: str, sources: Sequence[Source]) -> list[tuple[int, str]]:
    """Return the rows that have all words of a question in their cells and columns; [] if these are many, or few words.

    "What is the insurance value of the sextant?" names the row "Object: Sextant by Ray | Insurance value: 7800".
    """
    asked = frozenset(words(question)) - STOP_WORDS - _ASKING
    found: dict[str, int] = {}
    for source in sources if len(asked) >= LEAST_WORDS else ():
        for line in _lines(source.text):
            row = parse_row(line) if is_row(line) and asked <= frozenset(words(line)) else None
            # Every row of the table has the words of its columns.
            if row and asked & frozenset(words(" ".join(cell.text for cell in row.cells))):
                found.setdefault(line, source.n)
    return [(n, line) for line, n in found.items()] if len(found) <= MOST_ROWS else []


def _about_names(question: str, lines: Sequence[PassageLine]) -> list[PassageLine]:
    """Return the rows with a name of several words that a question has: "Ngozi Okafor" in "Dr. Ngozi Okafor"."""
    names = [" ".join(name) for name in surface_names(question) if len(name) > 1]
    rows = [line for line in lines if is_row(line.text)] if names else []
    return [line for line in rows if any(f" {name} " in _alike(line.text) for name in names)]


def asks_only_for_lines(question: str) -> bool:
    """Return whether a question only asks what is written about an exact string, or for errors."""
    strings = exact_strings(question)
    left = set(words(question)) - set(chain.from_iterable(map(words, strings)))
    return asks_errors(question) or (bool(strings) and len(left) < 2)


def find_sentences_with_exact_strings(question: str, sources: Sequence[Source]) -> list[tuple[int, str]]:
    """Return `(passage, sentence)` of the sentences with a question's definite strings, most strings first.

    Without such strings, the name or abbreviation counts that is all the question asks about.
    """
    subject = asked_abbreviation(question) or only_subject(question)
    strings = find_definite_strings(question, sources) or ((subject,) if subject else ())
    if not strings:
        return []
    wanted = frozenset(words(" ".join(strings)))
    found: list[tuple[float, PassageLine]] = []
    titles: list[tuple[float, PassageLine]] = []
    for source in sources:
        spans = sentence_spans(source.text)
        for place, span in enumerate(spans):
            sentence = source.text[slice(*span)]
            count = 0.0 if sentence.rstrip().endswith("?") else count_held(sentence, strings)
            # A document that asks the same answers nothing, nor does the line above a mail.
            if count and not states_nothing(question, sentence, source.text):
                clause = _clause(source.text, spans[place:], strings)
                quote = clause or source.text[slice(*trim_quote(source.text, *span, wanted))]
                (titles if is_title(sentence, source.title) else found).append((count, PassageLine(source.n, quote)))
    return _best(found or titles)[:MOST_SENTENCES]


def _named_parts(question: str, sources: Sequence[Source]) -> list[Source]:
    """Return the passages that hold a numbered part which a question names, cut to it; [] if none does."""
    found = []
    for source, places in zip(sources, find_parts(question, sources), strict=True):
        texts = [source.text[slice(*place)].strip() for place in places]
        if texts:
            found.append(replace(source, text="\n\n".join(texts)))
    return found


def find_named_parts(question: str, sources: Sequence[Source]) -> list[tuple[int, str]]:
    """Return `(passage, text)` of the numbered parts that a question names, short ones as a whole.

    A long one is shown from its beginning where the question asks for nothing else, and not at all otherwise.

    Args:
        question: The standalone question.
        sources: The passages as they were found.
    """
    found = []
    for source, places in zip(sources, find_parts(question, sources), strict=True):
        for place in places[:1]:
            spans = [span for span in sentence_spans(source.text) if place[0] <= span[0] < place[1]]
            fitting = [end for _, end in spans if end - place[0] <= LONGEST_CLAUSE]
            if not fitting or (fitting[-1] < spans[-1][1] and not asks_for_text(question)):
                continue
            found.append((source.n, source.text[place[0] : fitting[-1]].strip()))
    return found[:MOST_SENTENCES]


def _clause(text: str, spans: Sequence[tuple[int, int]], strings: Sequence[str]) -> str:
    """Return a clause that a question names by its number, from its first line up to the next; "" for other strings.

    Its number often stands before a heading, or before a line with what follows below.
    """
    (start, end), *following = spans
    number = next((each for each in strings if is_clause(each) and holds(text[start:end], each)), "")
    if not number:
        return ""
    for begin, stop in following:
        if stop - start > LONGEST_CLAUSE or others_like(number).search(text[begin:stop]):
            break
        end = stop
    return text[start:end]


def _all(source: Source) -> str:
    """Return a passage's title and text as one text."""
    return f"{source.title} {source.text}"


def _about(source: Source, strings: Sequence[str]) -> Source:
    """Return a passage without the sentences about other strings of the same form as the question's.

    For a question about GX-2290, the sentences from "GX-2310 …" on are left out until one names GX-2290 again.
    """
    kept: list[tuple[int, int]] = []
    is_about = True
    spans = sentence_spans(source.text)
    for span in spans:
        sentence = source.text[slice(*span)]
        if count_held(sentence, strings):
            is_about = True
        elif any(others_like(each).search(sentence) for each in strings):
            is_about = False
        if is_about:
            kept.append(span)
    if len(kept) == len(spans):
        return source
    return replace(source, text="\n\n".join(source.text[slice(*span)] for span in kept))


def _with_lines(source: Source, keeps: Callable[[str], bool]) -> Source:
    """Return a passage with only those rows and log lines that `keeps` accepts, if any; its other text stays."""
    lines = source.text.split("\n")
    if not any(stands_alone(line) and keeps(line) for line in lines):
        return source
    return replace(source, text="\n".join(line for line in lines if not stands_alone(line) or keeps(line)).strip())


def _amounts(text: str) -> frozenset[tuple[str, str]]:
    """Return the amounts of a text with their units, "20 mg" as ("20", "mg")."""
    found = set()
    # People write the micro sign or the Greek letter for the "μ" of "μg"; the normal form is the letter.
    for match in _AMOUNT.finditer(unicodedata.normalize("NFKC", text)):
        number = match["number"].replace(",", "").lstrip("0") or "0"
        found.add((number.rstrip("0").rstrip(".") if "." in number else number, _UNITS[match["unit"].lower()]))
    return frozenset(found)


def _with_amounts(sources: Sequence[Source], asked: frozenset[tuple[str, str]]) -> list[Source]:
    """Return the passages without rows of another amount, where rows of the same document have the requested one."""
    rows = {source.n: [line for line in source.text.split("\n") if is_row(line)] for source in sources}
    named: dict[str, set[tuple[str, str]]] = {}
    for source in sources:
        for line in rows[source.n]:
            named.setdefault(source.document_id or source.title, set()).update(_amounts(line) & asked)

    def keeps(source: Source, line: str) -> bool:
        """Return whether a line is not a row with an amount other than the requested one."""
        there = named.get(source.document_id or source.title, set())
        units = {unit for _, unit in there}
        # A row of "20 mg for 6 weeks" is one of 20 mg, whatever its time.
        own = {amount for amount in _amounts(line) if amount[1] in units}
        return not is_row(line) or not own or bool(own & there)

    kept = []
    for source in sources:
        lines = source.text.split("\n")
        left = [line for line in lines if keeps(source, line)]
        if len(left) == len(lines):
            kept.append(source)
        elif any(left):
            kept.append(replace(source, text="\n".join(left).strip()))
    return kept


def _without_other_levels(source: Source, question: str) -> Source:
    """Return a passage without its log lines of levels that the question does not ask for."""
    wanted = set(error_lines(source.text, question))
    lines = source.text.split("\n")
    kept = [line for line in lines if not level_of_record(line) or line.strip() in wanted]
    return replace(source, text="\n".join(kept).strip()) if any(kept) else source


def _lines(text: str) -> Iterator[str]:
    """Yield the rows, log lines and settings of a text that are short enough to be quoted."""
    for line in text.split("\n"):
        if stands_alone(line) and len(line) <= _LONGEST:
            yield line.strip()


def _best(found: Sequence[tuple[float, PassageLine]]) -> list[tuple[int, str]]:
    """Return the lines with the highest score, each once, in the order of the passages."""
    most = max((worth for worth, _ in found), default=0.0)
    if most <= 0:
        return []
    kept: dict[str, int] = {}
    for worth, line in found:
        if worth == most:
            kept.setdefault(line.text, line.n)
    return [(n, text) for text, n in kept.items()][:MOST_LINES]


def _with_most_first(question: str, rows: Sequence[tuple[float, PassageLine]]) -> Sequence[tuple[float, PassageLine]]:
    """Return scored rows, those with the most of a question's words in their cells first.

    All buttons of a list have the cell "Button, …", and one of them "Button, fire brigade".
    """
    asked = frozenset(words(question)) - STOP_WORDS

    def shared(scored: tuple[float, PassageLine]) -> int:
        """Return how many of the question's words the cells of a row have."""
        row = parse_row(scored[1].text)
        return len(asked & frozenset(words(" ".join(cell.text for cell in row.cells)))) if row else 0

    return sorted(rows, key=lambda scored: -shared(scored))


def _named_cells(question: str, line: str) -> float:
    """Return how many characters of a row's cells the question contains word for word; 0 if none."""
    row = parse_row(line) if is_row(line) else None
    if row is None:
        return 0.0
    asked = _alike(question)
    named = {text for cell in row.cells for text in _names(cell.text) if f" {text} " in asked}
    # "Button" is a part of "Button, fire brigade", and counts with it.
    inner = {text for text in named if any(text != other and text in other for other in named)}
    return float(sum(map(len, named - inner)))


@lru_cache(maxsize=4096)
def _names(cell: str) -> tuple[str, ...]:
    """Return the possible names of a cell: its whole text, and the part before a comma, semicolon or bracket."""
    whole = [_alike(part).strip() for part in (cell, re.split(r"[,;(/]", cell)[0])]
    return tuple(
        text for text in dict.fromkeys(whole) if len(text) >= _SHORTEST_CELL and words(text) and not text.isdigit()
    )


def _alike(text: str) -> str:
    """Return the words of a text in lower case, separated and enclosed by single spaces, to search for whole words."""
    return f" {' '.join(_WORD.findall(text.casefold()))} "
