"""Tables of contents in printed lines: runs of titles that end with page numbers, which grow from line to line.

Such a list shares its words with every question about its document and states nothing; the titles that it repeats
stand above the chapters themselves. It is left out of a document's text. A list whose titles do not is a packing list,
or one of points or prices, and stays. In a text that has no pages the titles alone show the list.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, islice

LEAST_LEADERS = 4
"""Dots between a title and its page number; a sentence has three in a row at most."""
LEAST_ENTRIES = 4
"""Lines with dots that make a list; a guess, as are the next constants."""
LEAST_UNDOTTED = 5
"""Lines below a heading such as "Contents" that make a list where none has dots."""
LONGEST_TITLE = 4
"""Printed lines of one entry."""
LONGEST_LINE = 400
MOST_ABOVE = 3
"""Lines between the heading and the first entry, such as "Page"."""
MOST_OF_DOCUMENT = 0.6
"""Share of a document's lines from which a list is what the document is about."""
MOSTLY = 0.5
"""Share of the entries whose titles have to stand again where the list says."""
ALMOST_ALL = 0.8
"""Share of the lines of a list without pages, which are titles that stand again below it; a guess."""
SHORTEST_TITLE = 3
LONGEST_LIST = 400
"""Letters of such a title, and lines of the list; guesses."""
LEAST_PAGES = 3
"""Pages that a list names: over fewer ones, numbers of pages and of things look alike."""
SHORTEST_PART = 12
"""Letters from which a title is recognised by its beginning: it is wrapped, or a caption goes on."""
LONGEST_PART = 100
MOST_PLACES = 32
"""Lines with the letters of one title that are looked at; these six numbers are guesses."""
_PAGE = re.compile(r"(?<![\w,:/-])(?<!\w\.)(?:(\d{1,4})|([ivxlc]{1,7}))$")
_BULLET = re.compile(r"^(?:(?:o|chapter|part|section|appendix)|[^\w(\[\"']{1,3})\s+", re.IGNORECASE)
"""What stands before an entry or a heading: the mark of a list, which programs write as "o", too, or "Chapter"."""
_LEADERS = " \t.…·\u00a0"
_HEADING = frozenset((
    "contents", "table of contents", "list of figures", "list of tables", "inhalt", "inhaltsverzeichnis",
    "table des matières", "sommaire", "índice", "índice general", "contenido", "tabla de contenido", "indice",
    "sommario", "sumário", "inhoud", "inhoudsopgave", "spis treści", "obsah", "innehåll", "innehållsförteckning",
    "indhold", "indholdsfortegnelse", "innhold", "sisällys", "sisällysluettelo", "cuprins", "tartalom",
))  # fmt: skip
_IN_ROMAN = {"i": 1, "v": 5, "x": 10, "l": 50, "c": 100}


@dataclass(frozen=True)
class _Line:
    """A printed line with its place; `number` is the page that it names, 0 for none and for roman ones."""

    page: int
    at: int
    text: str
    number: int = 0
    is_dotted: bool = False

    @property
    def is_entry(self) -> bool:
        """Whether the line ends with the number of a page."""
        return self.number > 0 or self.is_dotted


@dataclass
class _Run:
    """Lines of one list, from the first entry to the last one."""

    first: int
    last: int
    numbers: list[int] = field(default_factory=list)
    dotted: int = 0
    entries: list[int] = field(default_factory=list)


def roman(text: str) -> int:
    """Return the value of a roman number in small letters; 0 if it is none, such as "mix"."""
    values = [_IN_ROMAN.get(letter, 0) for letter in text]
    if not all(values):
        return 0
    total = 0
    for value, following in zip(values, [*values[1:], 0], strict=True):
        total += -value if value < following else value
    return total if text == _to_roman(total) else 0


def _to_roman(number: int) -> str:
    """Return a number below 400 in roman letters, by which a wrong order of them is seen."""
    written = ""
    for value, letters in ((100, "c"), (90, "xc"), (50, "l"), (40, "xl"), (10, "x"), (9, "ix"), (5, "v"), (4, "iv")):
        written += letters * (number // value)
        number %= value
    return written + "i" * number


def contents_lines(pages: Sequence[Sequence[str]]) -> set[tuple[int, int]]:
    """Return `(page, line)`, from 0, of all lines of tables of contents, with the headings above them.

    Args:
        pages: The printed lines of each page, without running heads.
    """
    lines = [_line(page, at, text) for page, own in enumerate(pages) for at, text in enumerate(own) if text.strip()]
    found = set(_without_pages(lines)) if len(pages) == 1 else set()
    titles: _Titles | None = None
    for run in _runs(lines) if any(line.is_entry for line in lines) else ():
        above = _heading_above(lines, run.first)
        if not _may_be_list(run, has_heading=above is not None):
            continue
        titles = titles or _Titles(lines)
        if not (titles.are_on_pages(run) if len(pages) > 1 else titles.are_in_order(run)):
            continue
        first = run.first if above is None else above
        found.update((line.page, line.at) for line in lines[first : run.last + 1])
    return found if len(found) < MOST_OF_DOCUMENT * len(lines) else set()


def _without_pages(lines: Sequence[_Line]) -> Iterator[tuple[int, int]]:
    """Yield the lines of lists below a heading whose titles stand again below them, as texts on one page have them."""
    headings = [at for at, line in enumerate(lines) if line.text.strip(" :.").casefold() in _HEADING]
    if not headings:
        return
    letters = _Letters(lines)
    behind = 0
    for heading in headings[:MOST_PLACES]:
        if heading >= behind and (end := _end_of_list(letters, heading + 1)):
            behind = end
            yield from ((lines[each].page, lines[each].at) for each in range(heading, end))


def _end_of_list(letters: _Letters, first: int) -> int:
    """Return the place behind a list that begins on a line, if its titles stand again below it in its order; else 0."""
    begun = letters.entry(first, len(letters.lines), first)
    if begun is None or begun[1] - first < LEAST_UNDOTTED:
        return 0
    body = place = begun[1]
    before = min(body, first + LONGEST_LIST)
    entries = matched = 0
    at = end = first
    while at < before and at - end < LONGEST_TITLE:
        entry = letters.entry(at, before, place)
        if entry is None:
            at += 1
            continue
        matched += entry[0] - at
        entries += 1
        at = end = entry[0]
        place = entry[1] + 1
    has_text = place - body >= 2 * entries
    return end if has_text and matched >= max(LEAST_UNDOTTED, ALMOST_ALL * (end - first)) else 0


class _Letters:
    """The letters of a document's lines, in which titles are looked for that are wrapped otherwise."""

    def __init__(self, lines: Sequence[_Line]) -> None:
        self.lines = [_letters(_BULLET.sub("", line.text)) for line in lines]
        self._edges = [0, *accumulate(map(len, self.lines))]
        self._text = "".join(self.lines)

    def entry(self, first: int, before: int, after: int) -> tuple[int, int] | None:
        """Return behind which line a title ends that begins on a line, and on which it stands again; None if nowhere.

        Args:
            first: The line that it begins on.
            before: The line that it ends before.
            after: The line from which on it is looked for.
        """
        for end in range(first + 1, min(first + LONGEST_TITLE, before) + 1):
            place = self._place_of("".join(self.lines[first:end]), max(after, end))
            if place is not None:
                return end, place
        return None

    def _place_of(self, title: str, after: int) -> int | None:
        """Return the first line from one on at which lines begin that have the letters of a title and no others."""
        at = self._edges[after] - 1
        for _ in range(MOST_PLACES if len(title) >= SHORTEST_TITLE else 0):
            at = self._text.find(title, at + 1)
            if at < 0:
                break
            ends = (at, at + len(title))
            if all(self._edges[bisect_left(self._edges, end)] == end for end in ends):
                return bisect_right(self._edges, at) - 1
        return None


def _line(page: int, at: int, text: str) -> _Line:
    """Return a line with the number of the page that it names at its end."""
    line = text.strip()
    match = _PAGE.search(line[-8:]) if len(line) <= LONGEST_LINE else None
    if match is None:
        return _Line(page, at, line)
    title = line[: len(line) - len(match[0])]
    plain = title.rstrip(_LEADERS)
    # Of "..." at the end of a title the dots are its own.
    is_dotted = sum(title.count(mark, len(plain)) for mark in ".·") + 3 * title.count("…", len(plain)) >= LEAST_LEADERS
    if not any(map(str.isalpha, plain)) or (match[2] and not (is_dotted and roman(match[2]))):
        return _Line(page, at, line)
    return _Line(page, at, line, int(match[1] or 0), is_dotted)


def _runs(lines: Sequence[_Line]) -> Iterator[_Run]:
    """Yield the runs of entries whose page numbers do not fall, with what is wrapped between them."""
    run: _Run | None = None
    for place, line in enumerate(lines):
        if run is not None and place - run.last > LONGEST_TITLE:
            yield run
            run = None
        if not line.is_entry or (not line.is_dotted and _is_part_of_title(lines, place, run)):
            continue
        if run is not None and line.number and run.numbers and line.number < run.numbers[-1]:
            yield run
            run = None
        run = run or _Run(place, place)
        run.last = place
        run.entries.append(place)
        run.dotted += line.is_dotted
        run.numbers += [line.number] if line.number else []
    if run is not None:
        yield run


def _is_part_of_title(lines: Sequence[_Line], place: int, run: _Run | None) -> bool:
    """Return whether the number that ends a line without dots names no page: "Differences between version 4"."""
    number = lines[place].number
    if run is not None and run.numbers and number < run.numbers[-1]:
        return True
    following = lines[place + 1 : place + 1 + LONGEST_TITLE]
    if following and following[0].text[:1].islower():  # the title goes on
        return True
    later = next((line for line in following if line.is_dotted and line.number), None)
    if later is not None:
        return number > later.number
    # Below the last dots only what follows at once is an entry: "Index 65".
    return run is not None and run.dotted > 0 and place - run.last > 1


def _heading_above(lines: Sequence[_Line], first: int) -> int | None:
    """Return the place of a heading such as "Contents" near above a list; None without one."""
    for place in range(first - 1, max(-1, first - 2 - MOST_ABOVE), -1):
        if lines[place].text.strip(" :.").casefold() in _HEADING:
            return place
    return None


def _may_be_list(run: _Run, *, has_heading: bool) -> bool:
    """Return whether a run has as many entries as a table of contents, with or without dots."""
    return run.dotted >= LEAST_ENTRIES - has_heading or (has_heading and len(run.entries) >= LEAST_UNDOTTED)


class _Titles:
    """The lines of a document by their letters, in which the titles of a list are looked for."""

    def __init__(self, lines: Sequence[_Line]) -> None:
        self._lines = lines
        self._places: dict[str, list[int]] = {}
        for place, line in enumerate(lines):
            if not line.is_entry and (letters := _letters(line.text)):
                self._places.setdefault(letters, []).append(place)
        self._ordered = sorted(self._places)

    def are_in_order(self, run: _Run) -> bool:
        """Return whether most titles stand again below the list, in its order and with other lines between them."""
        ends: list[int] = []  # of the longest orders so far, by their lengths
        for places in self._found_again(run, may_go_on=False):
            for place in reversed(places):
                at = bisect_left(ends, place)
                ends[at : at + 1] = [place]
        # Another list of the same things has them one below the other.
        has_text = len(ends) > 1 and ends[-1] - min(ends) >= 2 * (len(ends) - 1)
        return has_text and len(ends) > MOSTLY * len(run.entries)

    def are_on_pages(self, run: _Run) -> bool:
        """Return whether most titles stand again on the pages that the list names, or beside them.

        The first page may have any number.
        """
        if len(set(run.numbers)) < LEAST_PAGES:
            return False
        offsets: Counter[int] = Counter()
        found = self._found_again(run, may_go_on=True)
        numbered = [(self._lines[at].number, places) for at, places in zip(run.entries, found, strict=True)]
        for number, places in numbered:
            offsets.update({self._lines[place].page - number for place in places} if number else ())
        if not offsets:
            return False
        usual = max(offsets, key=lambda offset: (offsets[offset], -abs(offset)))
        near = [
            number
            for number, places in numbered
            if number and any(abs(self._lines[place].page - number - usual) <= 1 for place in places)
        ]
        return len(near) > MOSTLY * len(run.numbers) and len(set(near)) > 1

    def _found_again(self, run: _Run, *, may_go_on: bool) -> list[list[int]]:
        """Return for each entry the places of the lines below the list that have its title or begin it.

        Args:
            run: The list.
            may_go_on: Whether a line may go on behind the title, as captions do.
        """
        found: list[list[int]] = []
        previous = run.first - 1
        for entry in run.entries:
            # The title may have begun on the lines above.
            starts = range(max(previous + 1, entry - LONGEST_TITLE + 1), entry + 1)
            title = self._title(entry)
            titles = [
                _letters("".join([*(line.text for line in self._lines[at:entry]), title])) for at in reversed(starts)
            ]
            places = (place for title in titles for place in self._places_of(title, run.last, may_go_on))
            found.append(sorted(set(islice(places, MOST_PLACES))))
            previous = entry
        return found

    def _title(self, entry: int) -> str:
        """Return the text of an entry without its dots and its page."""
        return _PAGE.sub("", self._lines[entry].text).rstrip(_LEADERS)

    def _places_of(self, title: str, after: int, may_go_on: bool) -> Iterator[int]:
        """Yield the places of lines behind another one with the letters of a title, or with the first of them."""
        parts = [title, *(title[:end] for end in range(SHORTEST_PART, min(len(title), LONGEST_PART)))]
        if may_go_on and len(title) >= SHORTEST_PART:
            first = bisect_right(self._ordered, title)
            parts += [line for line in self._ordered[first : first + MOST_PLACES] if line.startswith(title)]
        for part in parts:
            places = self._places.get(part, [])
            first = bisect_right(places, after)
            yield from places[first : first + MOST_PLACES]


def _letters(text: str) -> str:
    """Return the letters of a text in lower case, by which a title is recognised without its number."""
    return "".join(filter(str.isalpha, text.casefold()))
