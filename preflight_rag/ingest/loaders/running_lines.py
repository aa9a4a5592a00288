"""Remove running heads and feet of printed pages: a document's name, a chapter's title, the page number.

They are no part of a page's text, and would be inside a sentence that continues over a page break.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice, pairwise
from statistics import median
from typing import NamedTuple

from preflight_rag.ingest.loaders.contents_lists import roman

EDGE_LINES = 2
"""Number of lines at the top, and at the bottom, of a page that may be running lines."""
MIN_PAGES = 4
"""Minimum number of pages to recognise running lines; this number and the next ones are guesses."""
MOSTLY = 0.4
"""Minimum share of the pages that have a running line."""
LEAST_NUMBERED = 0.5
"""Minimum share of the pages that have their number at an edge."""
LEAST_ROMAN = 3
"""Minimum number of pages with Roman numbers: only the few before the first chapter have lower-case ones."""
LEAST_TITLED = 0.3
"""Minimum share of the pages with the title of their chapter above them, if the document prints such titles."""
FULL_PAGE = 1000
"""Minimum median number of letters of a page; slides have fewer, and the titles above them are their own."""
LONGEST = 160
"""Maximum number of characters of a running line."""
SHORTEST_TITLE = 12
"""Minimum number of letters by which a title that is cut off or wrapped is recognised."""
LONGEST_NUMBER = 9
"""Characters at the end of a line that are searched for its page number."""
_PRINTERS_WORD = re.compile(r"\bVerDate .*\bFrm \d|\bon DSK[A-Z0-9]{6,14}PROD\b")
_OF_TOTAL = re.compile(r" ?(?:/|\bof|\bvon|\bsur|\bde|\bdi|\bvan|\bz|\bav|\baf) ?\d{1,4}$")
"""The end of a page number with the number of all pages: "3/12", "3 of 12"."""
_NUMBER_BEHIND = re.compile(r"(?<![^\s|·•])(?:(\d{1,4})|([ivxlc]{1,7}))$")
_NUMBER_BEFORE = re.compile(r"(?:(\d{1,4})|([ivxlc]{1,7}))(?![^\s|·•])")
"""A page number at the end or the beginning of a line, in digits or as a Roman numeral."""
_PAGE_ALONE = re.compile(r"(?:page|seite|página|pagina|side|sida|strana|p\.|s\.)? ?0")
"""An edge key (`_edge_key`) that is only a page number, which is 0 there: "page 0"."""
_AROUND = " -–—|·•[]()"
"""Characters around a page number."""
_PART = r"(?:chapter|part|section|appendix|annex|kapitel|teil|abschnitt|anhang|chapitre|partie|capítulo|capitolo)"
_OF_PART = re.compile(
    rf"(?:\b{_PART} (?:\d{{1,3}}|[A-Z]|[IVXLC]{{1,7}})|(?<![\w.])(?:[A-Z]\.)?\d{{1,3}}(?:\.\d{{1,3}}){{0,5}})"
    r"[.:]? (?=\S)",
    re.IGNORECASE,
)
"""The number of a chapter or a section in front of its title: "Chapter 1. ", "1.3. "."""
_PART_ALONE = re.compile(rf"{_PART} \w{{1,7}}[.:]?", re.IGNORECASE)

LONGEST_PRINTED = 400
"""Maximum number of characters of a line that a browser prints above or below a page: it cuts longer titles off."""
_PRINTED_AT = r"\d{1,4}[./-] ?\d{1,2}[./-] ?\d{1,4}\.?,? (?:[^\W\d_]{2} ?)?\d{1,2}[:.]\d\d(?: ?[ap]\.? ?m\.?)?"
_ADDRESS = r"(?:https?|ftp|file|about|data|blob|chrome-extension|moz-extension):\S+"
_PRINTED_HEAD = re.compile(rf"{_PRINTED_AT}(?: (?P<title>\S.*))?|(?P<name>\S.*) {_ADDRESS}", re.IGNORECASE)
"""A line that Chromium and Firefox print above a page: "11/28/26, 1:21 PM Lift", "Lift file:///lift.html"."""
_PRINTED_FOOT = re.compile(
    rf"{_ADDRESS} (?P<page>\d{{1,4}})/(?P<pages>\d{{1,4}})"
    rf"|(?P<number>\d{{1,4}}) (?:of|von|sur|de|di|van|z|av|af) (?P<total>\d{{1,4}}) {_PRINTED_AT}",
    re.IGNORECASE,
)
"""A line that they print below it: "file:///lift.html 1/2", "1 of 2 11/28/26, 1:21 PM"."""


class Numbering(NamedTuple):
    """A way in which pages are numbered: kind and position of the number, and its difference to the page's index."""

    is_roman: bool
    is_at_foot: bool
    difference: int


def without_printed_edges(pages: Sequence[Sequence[str]], title: str) -> list[list[str]]:
    """Return the pages without the lines that a browser prints above and below each: time, title, URL and page number.

    One of the two lines is enough if it has the document's title or the right number of the page, even on one page.

    Args:
        pages: The printed lines of each page.
        title: The title among the document's properties; "" without one.
    """
    result = []
    for number, page in enumerate(pages, 1):
        heads: dict[int, bool] = {}
        feet: dict[int, bool] = {}
        for index in _edges(page):
            line = page[index]
            if len(line) > LONGEST_PRINTED:
                continue
            if foot := _PRINTED_FOOT.fullmatch(line):
                numbered = (int(foot["page"] or foot["number"]), int(foot["pages"] or foot["total"]))
                feet[index] = numbered == (number, len(pages))
            elif head := _PRINTED_HEAD.fullmatch(line):
                heads[index] = _is_cut_title(head["title"] or head["name"] or "", title)
        drop = {index for index, is_sure in (*heads.items(), *feet.items()) if is_sure or (heads and feet)}
        result.append([line for index, line in enumerate(page) if index not in drop])
    return result


def _is_cut_title(printed: str, title: str) -> bool:
    """Return whether a printed title is the title of the document, whole or cut off with "…"."""
    printed, title = " ".join(printed.casefold().split()), " ".join(title.casefold().split())
    beginning = printed.removesuffix("...").removesuffix("…").rstrip()
    is_cut = beginning != printed
    return bool(beginning) and (title == printed or (is_cut and title.startswith(beginning)))


def without_running_lines(pages: Sequence[Sequence[str]]) -> list[list[str]]:
    """Return the pages without headers, footers and page numbers.

    These are lines at the edges of pages that most pages share, digits aside, and those that have the right number of
    their page. The first appearance of a header that most pages share stays, since it may be the only place that names
    the document.

    Args:
        pages: The printed lines of each page.
    """
    if len(pages) < MIN_PAGES:
        return [list(page) for page in pages]
    counts: Counter[str] = Counter()
    for page in pages:
        counts.update({_edge_key(page[index]) for index in _edges(page)})
    running = {key for key, count in counts.items() if count >= max(MIN_PAGES, len(pages) * MOSTLY)}
    numberings = _find_numberings(pages)
    seen_keys: set[str] = set()
    seen_lines: set[str] = set()  # letters of the lines so far
    result = []
    for page_index, page in enumerate(pages):
        drop: set[int] = set()
        numbered = _numbered_lines(page, page_index, numberings)
        edges = _edges(page)
        seen_lines.update(_letters(line) for index, line in enumerate(page) if index not in edges)
        for index in edges:
            line, key = page[index], _edge_key(page[index])
            letters = _letters(line)
            if key in running:
                is_page_number = _PAGE_ALONE.fullmatch(_OF_TOTAL.sub("", key).strip(_AROUND))
                has_words = any(map(str.isalpha, key)) and not is_page_number
                is_new = key not in seen_keys and letters not in seen_lines
                is_first_naming = is_new and has_words and not _is_printers_stamp(line)
                if not is_first_naming:
                    drop.add(index)
            elif index in numbered and (not letters or counts[key] > 1 or _is_numbered_title(line, seen_lines)):
                drop.add(index)
            seen_keys.add(key)
            seen_lines.add(letters)
        # A figure at the foot of a page has its own number below the stamp, which is no line at the edge then.
        drop.update(index for index, line in enumerate(page) if _is_printers_stamp(line) and _edge_key(line) in running)
        result.append([line for index, line in enumerate(page) if index not in drop])
    return result


def _is_printers_stamp(line: str) -> bool:
    """Return whether a line at the edge of most pages is a stamp of the Federal Register's printer.

    "VerDate Sep<11>2014 16:21 Aug 05, 2020 Jkt 250001 PO 00000 Frm 00001"; addresses and accounts stay.
    """
    return _PRINTERS_WORD.search(line) is not None


def _is_numbered_title(line: str, seen_lines: set[str]) -> bool:
    """Return whether a line consists of titles seen before (by their letters) and a number at its end.

    "1 Scope", with the number in front, may be a heading.
    """
    if not line[-1].isdigit():
        return False
    parts = [part for part in map(_letters, _OF_PART.split(f"{line} ")) if part]
    return all(part in seen_lines for part in parts)


def without_titles(pages: Sequence[Sequence[str]]) -> list[list[str]]:
    """Return the pages without the titles of chapters that are repeated above the pages of the chapters.

    Such a line has the titles of a chapter and of a section, or a title in capitals, or one that is cut off. A single
    title in capitals has to be on the page before, or again on this page: otherwise it is the heading of another
    chapter, such as "MAINTENANCE" of the next machine.

    Args:
        pages: The printed lines of each page, without tables of contents, which have the titles of later pages.
    """
    letter_counts = [sum(map(str.isalpha, "".join(page))) for page in pages if any(page)]
    if len(letter_counts) < MIN_PAGES or median(letter_counts) < FULL_PAGE:
        return [list(page) for page in pages]
    first_page_of: dict[str, int] = {}
    for page_index, page in enumerate(pages):
        for line in page:
            first_page_of.setdefault(_letters(line), page_index)
    sorted_lines = sorted(first_page_of)
    title_index_of: dict[int, int] = {}
    heading_lines: set[str] = set()  # lines that are no running heads
    lines_before: set[str] = set()
    for page_index, page in enumerate(pages):
        if page_index and any(pages[page_index - 1]):
            lines_before = set(map(_letters, pages[page_index - 1]))
        top = next((index for index, line in enumerate(page) if line), None)
        if top is None or len(page[top]) > LONGEST or _PART_ALONE.fullmatch(page[top]):
            continue
        line = page[top]
        below = {_letters(other) for other in page[top + 1 :]}
        parts = [part for part in map(_letters, _OF_PART.split(line)) if part]
        is_cut = line.endswith(("…", "..."))
        # A line that is also printed elsewhere in the same way may be a heading: of a table that continues below it.
        is_head = len(parts) > 1 or is_cut or (line.isupper() and line not in heading_lines)
        heading_lines.update(page[top + 1 :] if is_head else page[top:])
        is_alone = len(parts) == 1 and not is_cut
        is_repeated = not is_alone or parts[0] in lines_before | below or _is_wrapped_in(parts[0], lines_before)
        if (
            is_head
            and is_repeated
            and all(_is_title(part, page_index, first_page_of, sorted_lines, below) for part in parts)
        ):
            title_index_of[page_index] = top
    if len(title_index_of) < max(MIN_PAGES, LEAST_TITLED * len(letter_counts)):
        return [list(page) for page in pages]
    result: list[list[str]] = []
    for page_index, page in enumerate(pages):
        result.append([line for index, line in enumerate(page) if index != title_index_of.get(page_index)])
    return result


def _is_wrapped_in(part: str, lines: set[str]) -> bool:
    """Return whether a long part of a running head begins like one of some lines; both are given by their letters."""
    for line in lines:
        is_long = min(len(line), len(part)) >= SHORTEST_TITLE
        if is_long and (line.startswith(part) or part.startswith(line)):
            return True
    return False


def _is_title(
    part: str, page_index: int, first_page_of: dict[str, int], sorted_lines: Sequence[str], below: set[str]
) -> bool:
    """Return whether a part of a running head is a line of its page or of an earlier one, or begins like one.

    Args:
        part: The letters of the part.
        page_index: The index of its page.
        first_page_of: The index of the first page that has a line, by the line's letters.
        sorted_lines: The letters of all lines in alphabetical order.
        below: The letters of the other lines of the page.
    """
    if part in below or first_page_of.get(part, page_index) < page_index:
        return True
    if len(part) < SHORTEST_TITLE:
        return False
    for line in islice(sorted_lines, bisect_left(sorted_lines, part), None):  # a head cut off: "THE DEBIAN PACKAGE…"
        if not line.startswith(part):
            break
        if line in below or first_page_of[line] < page_index:
            return True
    # A heading of two lines, of which the head has both.
    beginnings = (part[:end] for end in range(SHORTEST_TITLE, len(part)))
    return any(line in below or first_page_of.get(line, page_index) < page_index for line in beginnings)


def _find_numberings(pages: Sequence[Sequence[str]]) -> set[Numbering]:
    """Return the ways in which most pages are numbered at their edges; Roman ones of a few consecutive pages, too."""
    pages_of: dict[Numbering, set[int]] = {}
    for page_index, page in enumerate(pages):
        for index in _edges(page):
            for numbering in _possible_numberings(page, index, page_index):
                pages_of.setdefault(numbering, set()).add(page_index)
    filled_pages = sum(1 for page in pages if any(page))
    result = set()
    for numbering, page_indexes in pages_of.items():
        if numbering.is_roman:
            are_consecutive = all(after - before <= 2 for before, after in pairwise(sorted(page_indexes)))
            is_used = len(page_indexes) >= LEAST_ROMAN and are_consecutive
        else:
            is_used = len(page_indexes) >= max(MIN_PAGES, LEAST_NUMBERED * filled_pages)
        if is_used:
            result.add(numbering)
    return result


def _numbered_lines(page: Sequence[str], page_index: int, numberings: set[Numbering]) -> set[int]:
    """Return the indexes of the outermost lines at the top and the bottom of a page that have its number."""
    head = foot = None
    for index in _edges(page):
        for numbering in _possible_numberings(page, index, page_index):
            if numbering not in numberings:
                continue
            if numbering.is_at_foot:
                foot = index
            elif head is None:
                head = index
    return {index for index in (head, foot) if index is not None}


def _possible_numberings(page: Sequence[str], index: int, page_index: int) -> Iterator[Numbering]:
    """Yield the numberings to which a number at the beginning or end of a line, at an edge of a page, may belong."""
    line = page[index].strip(_AROUND)
    if len(line) > LONGEST:
        return
    is_at_foot = sum(1 for following in page[index:] if following) <= EDGE_LINES
    line = _OF_TOTAL.sub("", line)
    for match in filter(None, (_NUMBER_BEHIND.search(line[-LONGEST_NUMBER:]), _NUMBER_BEFORE.match(line))):
        value = int(match[1]) if match[1] else roman(match[2])
        if value:
            yield Numbering(match[1] is None, is_at_foot, value - page_index)


def _letters(line: str) -> str:
    """Return the letters of a line in lower case: titles are compared without regard to capitals and numbers."""
    return "".join(filter(str.isalpha, line.casefold()))


def _edges(page: Sequence[str]) -> list[int]:
    """Return the indexes of the first and last lines of a page that are not blank, `EDGE_LINES` each."""
    filled = [index for index, line in enumerate(page) if line]
    return sorted({*filled[:EDGE_LINES], *filled[-EDGE_LINES:]})


def _edge_key(line: str) -> str:
    """Return a header or footer in lower case with 0 for each number, so that it is the same on all pages."""
    return re.sub(r"\d+|\b[ivxl]+\b", "0", line.casefold()).strip()
