"""Find tables of contents in printed lines: runs of titles with increasing page numbers at their ends.

Such a list shares its words with every question about its document and states nothing, so it is left out of the text.
Its titles are repeated above the chapters themselves; a list whose titles are not is one of goods, points or prices,
and is kept. In a text without pages, the repeated titles alone identify the list.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, chain, islice

MINIMUM_LEADERS = 4
"""Minimum number of dots between a title and its page number; a sentence has three in a row at most."""
MINIMUM_DOTTED_ENTRIES = 4
"""Minimum number of lines with dots in a list; a guess, as are the next constants."""
MINIMUM_UNDOTTED_ENTRIES = 5
"""Minimum number of lines below a heading such as "Contents" in a list without dots."""
MAXIMUM_TITLE_LINES = 4
"""Maximum number of printed lines of one entry."""
MAXIMUM_LINE_LENGTH = 400
MAXIMUM_LINES_BELOW_HEADING = 3
"""Maximum number of lines between the heading and the first entry, such as "Page"."""
MAXIMUM_SHARE_OF_DOCUMENT = 0.6
"""Share of a document's lines from which on its lists are kept: they are what the document is about."""
MINIMUM_REPEATED_SHARE = 0.5
"""Minimum share of the entries whose titles are repeated on the pages that the list names."""
MINIMUM_MATCHED_SHARE = 0.8
"""Minimum share of the lines of a list without pages that belong to titles repeated below it; a guess."""
MINIMUM_TITLE_LETTERS = 3
MAXIMUM_LIST_LINES = 400
"""Minimum letters of a title in a list without pages, and maximum lines of such a list; guesses."""
MINIMUM_PAGES = 3
"""Minimum number of different pages that a list names; with fewer, page numbers and amounts look alike."""
MINIMUM_PART_LETTERS = 12
"""Minimum letters by which a title is recognised from its beginning, if it is wrapped or continued by a caption."""
MAXIMUM_PART_LETTERS = 100
MAXIMUM_CANDIDATES = 32
"""Maximum number of lines that are compared with one title; these six numbers are guesses."""
_PAGE_NUMBER = re.compile(r"(?<![\w,:/-])(?<!\w\.)(?:(\d{1,4})|([ivxlc]{1,7}))$")
"""A page number, arabic or roman, at the end of a line."""
_BULLET = re.compile(r"^(?:(?:o|chapter|part|section|appendix)|[^\w(\[\"']{1,3})\s+", re.IGNORECASE)
"""The mark before an entry or a heading: a bullet, which some programs write as "o", or a word such as "Chapter"."""
_LEADERS = " \t.…·\u00a0"  # characters between a title and its page number
_LIST_HEADINGS = frozenset((
    "contents", "table of contents", "list of figures", "list of tables", "inhalt", "inhaltsverzeichnis",
    "table des matières", "sommaire", "índice", "índice general", "contenido", "tabla de contenido", "indice",
    "sommario", "sumário", "inhoud", "inhoudsopgave", "spis treści", "obsah", "innehåll", "innehållsförteckning",
    "indhold", "indholdsfortegnelse", "innhold", "sisällys", "sisällysluettelo", "cuprins", "tartalom",
))  # fmt: skip
_ROMAN_VALUES = {"i": 1, "v": 5, "x": 10, "l": 50, "c": 100}


@dataclass(frozen=True)
class _Line:
    """A printed line, with the index of its page and its own index there.

    `number` is the page number at its end, 0 for none and for roman ones; `is_dotted`: dots stand before the number.
    """

    page: int
    index: int
    text: str
    number: int = 0
    is_dotted: bool = False

    @property
    def is_entry(self) -> bool:
        """Return whether the line ends with a page number."""
        return self.number > 0 or self.is_dotted


@dataclass
class _Run:
    """The lines of a candidate list: the indices of the first and the last line, and of all entries.

    `numbers` are the arabic page numbers of the entries, `dotted` is the number of entries with dots.
    """

    first: int
    last: int
    numbers: list[int] = field(default_factory=list)
    dotted: int = 0
    entries: list[int] = field(default_factory=list)


def roman(text: str) -> int:
    """Return the value of a roman numeral in lower case; 0 for other words, such as "mix"."""
    values = [_ROMAN_VALUES.get(letter, 0) for letter in text]
    if not all(values):
        return 0
    total = 0
    for value, following in zip(values, [*values[1:], 0], strict=True):
        total += -value if value < following else value
    return total if text == _to_roman(total) else 0


def _to_roman(number: int) -> str:
    """Return a number below 400 as a roman numeral in lower case."""
    numeral = ""
    for value, letters in ((100, "c"), (90, "xc"), (50, "l"), (40, "xl"), (10, "x"), (9, "ix"), (5, "v"), (4, "iv")):
        numeral += letters * (number // value)
        number %= value
    return numeral + "i" * number


def contents_lines(pages: Sequence[Sequence[str]]) -> set[tuple[int, int]]:
    """Return `(page, line)`, counted from 0, of all lines of tables of contents and of the headings above them.

    The result is empty if these are most of the document.

    Args:
        pages: The printed lines of each page, without running heads.
    """
    lines: list[_Line] = []
    for page, texts in enumerate(pages):
        lines += [_parse_line(page, index, text) for index, text in enumerate(texts) if text.strip()]
    contents = set(_lists_without_pages(lines)) if len(pages) == 1 else set()
    titles: _TitleIndex | None = None
    for run in _find_runs(lines) if any(line.is_entry for line in lines) else ():
        heading = _find_heading_above(lines, run.first)
        if not _has_enough_entries(run, has_heading=heading is not None):
            continue
        titles = titles or _TitleIndex(lines)
        is_repeated = titles.are_on_pages(run) if len(pages) > 1 else titles.are_in_order(run)
        if is_repeated:
            first = run.first if heading is None else heading
            contents.update((line.page, line.index) for line in lines[first : run.last + 1])
    return contents if len(contents) < MAXIMUM_SHARE_OF_DOCUMENT * len(lines) else set()


def _lists_without_pages(lines: Sequence[_Line]) -> Iterator[tuple[int, int]]:
    """Yield `(page, line)` of lists without page numbers: a heading, and titles that are repeated below the list."""
    headings = [index for index, line in enumerate(lines) if line.text.strip(" :.").casefold() in _LIST_HEADINGS]
    if not headings:
        return
    letters = _LettersOfLines(lines)
    previous_end = 0
    for heading in headings[:MAXIMUM_CANDIDATES]:
        if heading >= previous_end and (end := _end_of_list_without_pages(letters, heading + 1)):
            previous_end = end
            yield from ((line.page, line.index) for line in lines[heading:end])


def _end_of_list_without_pages(letters: _LettersOfLines, first: int) -> int:
    """Return the index after the last line of the list that begins on the line `first`; 0 if there is no such list.

    Nearly all lines of a list are titles that are repeated below it, in its order and with text between them.
    """
    first_entry = letters.find_entry(first, len(letters.lines), first)
    if first_entry is None:
        return 0
    _, body = first_entry  # The text of the document begins where the first title is repeated.
    if body - first < MINIMUM_UNDOTTED_ENTRIES:
        return 0
    limit = min(body, first + MAXIMUM_LIST_LINES)
    entry_count = matched_lines = 0
    next_title_line = body
    index = list_end = first
    while index < limit and index - list_end < MAXIMUM_TITLE_LINES:
        entry = letters.find_entry(index, limit, next_title_line)
        if entry is None:
            index += 1
            continue
        entry_end, repeated_line = entry
        matched_lines += entry_end - index
        entry_count += 1
        index = list_end = entry_end
        next_title_line = repeated_line + 1
    has_text_between = next_title_line - body >= 2 * entry_count
    minimum_matches = max(MINIMUM_UNDOTTED_ENTRIES, MINIMUM_MATCHED_SHARE * (list_end - first))
    return list_end if has_text_between and matched_lines >= minimum_matches else 0


class _LettersOfLines:
    """The letters of a document's lines, as one text: titles are found in it wherever they are wrapped."""

    def __init__(self, lines: Sequence[_Line]) -> None:
        self.lines = [_letters(_BULLET.sub("", line.text)) for line in lines]
        self._edges = [0, *accumulate(map(len, self.lines))]
        self._text = "".join(self.lines)

    def find_entry(self, first: int, before: int, after: int) -> tuple[int, int] | None:
        """Return the index after a title's last line, and the line on which the title is repeated; None if nowhere.

        The title begins on the line `first` and ends before `before`; its repetition is searched from `after` on.
        """
        for end in range(first + 1, min(first + MAXIMUM_TITLE_LINES, before) + 1):
            line = self._line_of_title("".join(self.lines[first:end]), max(after, end))
            if line is not None:
                return end, line
        return None

    def _line_of_title(self, title: str, after: int) -> int | None:
        """Return the first line, from `after` on, where whole lines consist of a title's letters; None without one."""
        start = self._edges[after] - 1
        for _ in range(MAXIMUM_CANDIDATES if len(title) >= MINIMUM_TITLE_LETTERS else 0):
            start = self._text.find(title, start + 1)
            if start < 0:
                break
            # Both ends of the title must be ends of lines.
            ends = (start, start + len(title))
            if all(self._edges[bisect_left(self._edges, end)] == end for end in ends):
                return bisect_right(self._edges, start) - 1
        return None


def _parse_line(page: int, index: int, text: str) -> _Line:
    """Return the line of a text, with the page number at its end; without one if it is long or has no title."""
    line = text.strip()
    match = _PAGE_NUMBER.search(line[-8:]) if len(line) <= MAXIMUM_LINE_LENGTH else None
    if match is None:
        return _Line(page, index, line)
    arabic_number, roman_number = match.groups()
    dotted_title = line[: len(line) - len(match[0])]
    title = dotted_title.rstrip(_LEADERS)
    leaders = dotted_title[len(title) :]
    # Three dots may be an ellipsis of the title's own; an ellipsis sign counts as three dots.
    is_dotted = leaders.count(".") + leaders.count("·") + 3 * leaders.count("…") >= MINIMUM_LEADERS
    is_word = bool(roman_number) and not (is_dotted and roman(roman_number))  # "mix", or "I" without dots
    if is_word or not any(map(str.isalpha, title)):
        return _Line(page, index, line)
    return _Line(page, index, line, int(arabic_number or 0), is_dotted)


def _find_runs(lines: Sequence[_Line]) -> Iterator[_Run]:
    """Yield the runs of entries whose page numbers do not decrease; wrapped titles may stand between them."""
    run: _Run | None = None
    for index, line in enumerate(lines):
        if run is not None and index - run.last > MAXIMUM_TITLE_LINES:
            yield run
            run = None
        if not line.is_entry or (not line.is_dotted and _is_number_of_title(lines, index, run)):
            continue
        if run is not None and line.number and run.numbers and line.number < run.numbers[-1]:
            yield run
            run = None
        run = run or _Run(index, index)
        run.last = index
        run.entries.append(index)
        run.dotted += line.is_dotted
        run.numbers += [line.number] if line.number else []
    if run is not None:
        yield run


def _is_number_of_title(lines: Sequence[_Line], index: int, run: _Run | None) -> bool:
    """Return whether the number at the end of a line without dots belongs to its title: "Changes since version 4".

    `index` is the line's; `run` are the entries above it, or None.
    """
    number = lines[index].number
    if run is not None and run.numbers and number < run.numbers[-1]:
        return True
    following = lines[index + 1 : index + 1 + MAXIMUM_TITLE_LINES]
    if following and following[0].text[:1].islower():  # The title continues on the next line.
        return True
    next_dotted = next((line for line in following if line.is_dotted and line.number), None)
    if next_dotted is not None:
        return number > next_dotted.number
    # After the last entry with dots, only the very next line is an entry without: "Index 65".
    return run is not None and run.dotted > 0 and index - run.last > 1


def _find_heading_above(lines: Sequence[_Line], first: int) -> int | None:
    """Return the index of a heading such as "Contents" close above the list that begins at `first`; else None."""
    for index in range(first - 1, max(-1, first - 2 - MAXIMUM_LINES_BELOW_HEADING), -1):
        if lines[index].text.strip(" :.").casefold() in _LIST_HEADINGS:
            return index
    return None


def _has_enough_entries(run: _Run, *, has_heading: bool) -> bool:
    """Return whether a run has enough entries for a table of contents; without a heading they must have dots."""
    if not has_heading:
        return run.dotted >= MINIMUM_DOTTED_ENTRIES
    return run.dotted >= MINIMUM_DOTTED_ENTRIES - 1 or len(run.entries) >= MINIMUM_UNDOTTED_ENTRIES


class _TitleIndex:
    """An index of a document's lines by their letters, in which the titles of a list are searched."""

    def __init__(self, lines: Sequence[_Line]) -> None:
        self._lines = lines
        self._lines_of_letters: dict[str, list[int]] = {}
        for index, line in enumerate(lines):
            if not line.is_entry and (letters := _letters(line.text)):
                self._lines_of_letters.setdefault(letters, []).append(index)
        self._sorted_letters = sorted(self._lines_of_letters)

    def are_in_order(self, run: _Run) -> bool:
        """Return whether most titles are repeated below the list, in its order and with other lines between them."""
        # The longest increasing sequence of repeated lines: the lowest last line of a sequence, by its length.
        last_lines: list[int] = []
        for candidates in self._repeated_titles(run, may_continue=False):
            for line in reversed(candidates):
                position = bisect_left(last_lines, line)
                last_lines[position : position + 1] = [line]
        # In another list of the same titles, they stand one directly below the other.
        count = len(last_lines)
        has_text_between = count > 1 and last_lines[-1] - min(last_lines) >= 2 * (count - 1)
        return has_text_between and count > MINIMUM_REPEATED_SHARE * len(run.entries)

    def are_on_pages(self, run: _Run) -> bool:
        """Return whether most titles are repeated on the pages that the list names, or on the pages beside these.

        The number of the first page is not known; it is inferred from the most frequent difference.
        """
        if len(set(run.numbers)) < MINIMUM_PAGES:
            return False
        differences: Counter[int] = Counter()
        pages_of_entries: list[tuple[int, list[int]]] = []  # the page number of an entry, the pages of its title
        for entry, candidates in zip(run.entries, self._repeated_titles(run, may_continue=True), strict=True):
            number, pages = self._lines[entry].number, [self._lines[line].page for line in candidates]
            if number:
                pages_of_entries.append((number, pages))
                differences.update({page - number for page in pages})
        if not differences:
            return False
        usual = max(differences, key=lambda difference: (differences[difference], -abs(difference)))
        confirmed = []
        for number, pages in pages_of_entries:
            if any(abs(page - number - usual) <= 1 for page in pages):
                confirmed.append(number)
        return len(confirmed) > MINIMUM_REPEATED_SHARE * len(run.numbers) and len(set(confirmed)) > 1

    def _repeated_titles(self, run: _Run, *, may_continue: bool) -> list[list[int]]:
        """Return for each entry the lines below the list, in order, that have its title or the beginning of it.

        With `may_continue`, a line may continue after the title, as captions do.
        """
        repeated_lines: list[list[int]] = []
        previous_entry = run.first - 1
        for entry in run.entries:
            # The title may have begun on the lines above.
            first_start = max(previous_entry + 1, entry - MAXIMUM_TITLE_LINES + 1)
            title = self._title_of_entry(entry)
            candidates: Iterator[int] = iter(())
            for start in range(entry, first_start - 1, -1):
                whole_title = _letters("".join([*(line.text for line in self._lines[start:entry]), title]))
                candidates = chain(candidates, self._lines_with_title(whole_title, run.last, may_continue))
            repeated_lines.append(sorted(set(islice(candidates, MAXIMUM_CANDIDATES))))
            previous_entry = entry
        return repeated_lines

    def _title_of_entry(self, entry: int) -> str:
        """Return the text of the entry on a line without its dots and its page number."""
        return _PAGE_NUMBER.sub("", self._lines[entry].text).rstrip(_LEADERS)

    def _lines_with_title(self, title: str, after: int, may_continue: bool) -> Iterator[int]:
        """Yield the lines after another one with a title's letters, or the first of them; if it may continue, more."""
        parts = [title, *(title[:end] for end in range(MINIMUM_PART_LETTERS, min(len(title), MAXIMUM_PART_LETTERS)))]
        if may_continue and len(title) >= MINIMUM_PART_LETTERS:
            first = bisect_right(self._sorted_letters, title)
            parts += [
                line for line in self._sorted_letters[first : first + MAXIMUM_CANDIDATES] if line.startswith(title)
            ]
        for part in parts:
            lines = self._lines_of_letters.get(part, [])
            first = bisect_right(lines, after)
            yield from lines[first : first + MAXIMUM_CANDIDATES]


def _letters(text: str) -> str:
    """Return only the letters of a text, in lower case, by which titles are compared without their numbers."""
    return "".join(filter(str.isalpha, text.casefold()))
