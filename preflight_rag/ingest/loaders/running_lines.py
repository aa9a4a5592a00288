"""Running heads and feet of printed pages: a document's name, a chapter's title, the number of the page.

They are no part of what a page says, and would stand within a sentence that goes on over a page break.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice, pairwise
from statistics import median

from preflight_rag.ingest.loaders.contents_lists import roman

EDGE_LINES = 2
MIN_PAGES = 4
"""Fewer pages show no running heads; this number and the next ones are guesses."""
MOSTLY = 0.4
"""Share of the pages on which a line stands that runs through the document."""
LEAST_NUMBERED = 0.5
"""Share of the pages whose edges have the number of their page."""
LEAST_ROMAN = 3
"""Pages with roman numbers: those in front of the first chapter are few. Capital ones are those of articles."""
LEAST_TITLED = 0.3
"""Share of the pages with a title of their chapter above them from which the document prints such."""
FULL_PAGE = 1000
"""Letters of most pages of a text; slides have fewer, and the titles above them are their own."""
LONGEST = 160
"""Characters of a running line."""
SHORTEST_TITLE = 12
"""Letters from which a title is recognised though it is cut off or goes on."""
_OF_TOTAL = re.compile(r" ?(?:/|\bof|\bvon|\bsur|\bde|\bdi|\bvan|\bz|\bav|\baf) ?\d{1,4}$")
_NUMBER_BEHIND = re.compile(r"(?<![^\s|·•])(?:(\d{1,4})|([ivxlc]{1,7}))$")
_NUMBER_BEFORE = re.compile(r"(?:(\d{1,4})|([ivxlc]{1,7}))(?![^\s|·•])")
_PAGE_ALONE = re.compile(r"(?:page|seite|página|pagina|side|sida|strana|p\.|s\.)? ?0")
"""A line that says which page it is and nothing else, its number as 0 and without that of all pages."""
_AROUND = " -–—|·•[]()"
_PART = r"(?:chapter|part|section|appendix|annex|kapitel|teil|abschnitt|anhang|chapitre|partie|capítulo|capitolo)"
_OF_PART = re.compile(
    rf"(?:\b{_PART} (?:\d{{1,3}}|[A-Z]|[IVXLC]{{1,7}})|(?<![\w.])(?:[A-Z]\.)?\d{{1,3}}(?:\.\d{{1,3}}){{0,5}})"
    r"[.:]? (?=\S)",
    re.IGNORECASE,
)
"""The number of a chapter or a section in front of its title: "Chapter 1. ", "1.3. "."""
_PART_ALONE = re.compile(rf"{_PART} \w{{1,7}}[.:]?", re.IGNORECASE)

LONGEST_PRINTED = 400
"""Characters of a line that a browser prints above or below a page: it cuts titles and addresses off before."""
_PRINTED_AT = r"\d{1,4}[./-] ?\d{1,2}[./-] ?\d{1,4}\.?,? (?:[^\W\d_]{2} ?)?\d{1,2}[:.]\d\d(?: ?[ap]\.? ?m\.?)?"
_ADDRESS = r"(?:https?|ftp|file|about|data|blob|chrome-extension|moz-extension):\S+"
_PRINTED_HEAD = re.compile(rf"{_PRINTED_AT}(?: (?P<title>\S.*))?|(?P<name>\S.*) {_ADDRESS}", re.IGNORECASE)
"""What Chromium and Firefox print above a page: "11/28/26, 1:21 PM Lift contract", "Lift contract file:///lift.html"."""
_PRINTED_FOOT = re.compile(
    rf"{_ADDRESS} (?P<page>\d{{1,4}})/(?P<pages>\d{{1,4}})"
    rf"|(?P<number>\d{{1,4}}) (?:of|von|sur|de|di|van|z|av|af) (?P<total>\d{{1,4}}) {_PRINTED_AT}",
    re.IGNORECASE,
)
"""What they print below it: "file:///lift.html 1/2", "1 of 2 11/28/26, 1:21 PM"."""

Numbering = tuple[bool, bool, int]
"""Of a page's edges: whether the number is roman, whether it is at the foot, and what the page's place is from it."""


def without_printed_edges(pages: Sequence[Sequence[str]], title: str) -> list[list[str]]:
    """Return the pages without what a browser prints above and below each: the time, title, address and page.

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
    """Return whether a printed title is the one of the document, or the beginning of it where it is cut off."""
    own, name = " ".join(printed.casefold().split()), " ".join(title.casefold().split())
    kept = own.removesuffix("...").removesuffix("…").rstrip()
    return bool(kept) and (name == own or (kept != own and name.startswith(kept)))


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
    numberings = _numberings(pages)
    kept_once: set[str] = set()
    names: set[str] = set()
    result = []
    for number, page in enumerate(pages):
        drop: set[int] = set()
        numbered = _numbered_lines(page, number, numberings)
        edges = _edges(page)
        names.update(_letters(line) for index, line in enumerate(page) if index not in edges)
        for index in edges:
            line, key = page[index], _edge_key(page[index])
            if key in running:
                is_word = any(map(str.isalpha, key)) and not _PAGE_ALONE.fullmatch(
                    _OF_TOTAL.sub("", key).strip(_AROUND)
                )
                is_name = key not in kept_once and is_word and _letters(line) not in names
                if not is_name:
                    drop.add(index)
            elif index in numbered and (not _letters(line) or counts[key] > 1 or _is_titled(line, names)):
                drop.add(index)
            kept_once.add(key)
            names.add(_letters(line))
        result.append([line for index, line in enumerate(page) if index not in drop])
    return result


def _is_titled(line: str, names: set[str]) -> bool:
    """Return whether a line ends with the number of its page, and has titles of this page or earlier ones in front.

    "1 Scope" is no such line: it may be the heading of a page of its own.
    """
    if not line[-1].isdigit():
        return False
    parts = [part for part in map(_letters, _OF_PART.split(f"{line} ")) if part]
    return all(part in names for part in parts)


def without_titles(pages: Sequence[Sequence[str]]) -> list[list[str]]:
    """Return the pages without chapters' titles that are printed again above the pages of the chapters.

    Such a line has the titles of a chapter and of a section, or a title in capitals, or one that is cut off. A title
    in capitals runs on from the page before; where it does not, it is a heading of another chapter, as "MAINTENANCE" of
    the next machine.

    Args:
        pages: The printed lines of each page, without tables of contents, which have the titles of later pages.
    """
    filled = [sum(map(str.isalpha, "".join(page))) for page in pages if any(page)]
    if len(filled) < MIN_PAGES or median(filled) < FULL_PAGE:
        return [list(page) for page in pages]
    first_at: dict[str, int] = {}
    for number, page in enumerate(pages):
        for line in page:
            first_at.setdefault(_letters(line), number)
    ordered = sorted(first_at)
    titled: dict[int, int] = {}
    lines: set[str] = set()
    before: set[str] = set()
    for number, page in enumerate(pages):
        if number and any(pages[number - 1]):
            before = set(map(_letters, pages[number - 1]))
        top = next((index for index, line in enumerate(page) if line), None)
        if top is None or len(page[top]) > LONGEST or _PART_ALONE.fullmatch(page[top]):
            continue
        below = {_letters(line) for line in page[top + 1 :]}
        parts = [part for part in map(_letters, _OF_PART.split(page[top])) if part]
        # What is printed like the title itself may be one: a table goes on below it, or another thing of this name.
        is_head = len(parts) > 1 or page[top].endswith(("…", "...")) or (page[top].isupper() and page[top] not in lines)
        lines.update(page[top + is_head :])
        is_alone = len(parts) == 1 and not page[top].endswith(("…", "..."))
        runs_on = not is_alone or parts[0] in before | below or _begins(before, parts[0])
        if is_head and runs_on and all(_is_title(part, number, first_at, ordered, below) for part in parts):
            titled[number] = top
    if len(titled) < max(MIN_PAGES, LEAST_TITLED * len(filled)):
        return [list(page) for page in pages]
    return [
        [line for index, line in enumerate(page) if index != titled.get(number)] for number, page in enumerate(pages)
    ]


def _begins(lines: set[str], part: str) -> bool:
    """Return whether a part of a running head goes on in one of some lines, or one of them in the part: it is wrapped.

    Args:
        lines: The letters of lines.
        part: The letters of the part.
    """
    return any(
        min(len(line), len(part)) >= SHORTEST_TITLE and (line.startswith(part) or part.startswith(line))
        for line in lines
    )


def _is_title(part: str, page: int, first_at: dict[str, int], ordered: Sequence[str], below: set[str]) -> bool:
    """Return whether a line of this page or an earlier one begins as a part of a running head does, or it as the line.

    Args:
        part: The letters of the part.
        page: The number of its page.
        first_at: The first page of each line, by its letters.
        ordered: The letters of all lines in order.
        below: The letters of the other lines of the page.
    """
    if part in below or first_at.get(part, page) < page:
        return True
    if len(part) < SHORTEST_TITLE:
        return False
    for line in islice(ordered, bisect_left(ordered, part), None):  # the head is cut off: "THE DEBIAN PACKAGE…"
        if not line.startswith(part):
            break
        if line in below or first_at[line] < page:
            return True
    # The heading goes on in its next line, which the head has, too.
    heads = (part[:end] for end in range(SHORTEST_TITLE, len(part)))
    return any(head in below or first_at.get(head, page) < page for head in heads)


def _numberings(pages: Sequence[Sequence[str]]) -> set[Numbering]:
    """Return how the pages are numbered at their edges: by numbers that grow by one from page to page."""
    found: dict[Numbering, set[int]] = {}
    for number, page in enumerate(pages):
        for index in _edges(page):
            for numbering in _numbers(page, index, number):
                found.setdefault(numbering, set()).add(number)
    filled = sum(1 for page in pages if any(page))
    kept = set()
    for numbering, places in found.items():
        if not numbering[0]:
            if len(places) >= max(MIN_PAGES, LEAST_NUMBERED * filled):
                kept.add(numbering)
        elif len(places) >= LEAST_ROMAN and all(after - before <= 2 for before, after in pairwise(sorted(places))):
            kept.add(numbering)
    return kept


def _numbered_lines(page: Sequence[str], number: int, numberings: set[Numbering]) -> set[int]:
    """Return the line at the head of a page and the one at its foot that have its number: of two, the outer one."""
    found: dict[bool, int] = {}
    for index in _edges(page):
        for numbering in _numbers(page, index, number):
            if numbering in numberings and (numbering[1] or False not in found):
                found[numbering[1]] = index
    return set(found.values())


def _numbers(page: Sequence[str], index: int, number: int) -> Iterator[Numbering]:
    """Yield the numberings of which a line at an edge of a page may be."""
    line = page[index].strip(_AROUND)
    if len(line) > LONGEST:
        return
    is_foot = sum(1 for each in page[index:] if each) <= EDGE_LINES
    line = _OF_TOTAL.sub("", line)
    for match in filter(None, (_NUMBER_BEHIND.search(line[-9:]), _NUMBER_BEFORE.match(line))):
        value = int(match[1]) if match[1] else roman(match[2])
        if value:
            yield match[1] is None, is_foot, value - number


def _letters(line: str) -> str:
    """Return the letters of a line in lower case, by which a title is recognised in capitals and without its number."""
    return "".join(filter(str.isalpha, line.casefold()))


def _edges(page: Sequence[str]) -> list[int]:
    """Return the indices of the first and last lines of a page that are not blank."""
    filled = [index for index, line in enumerate(page) if line]
    return sorted({*filled[:EDGE_LINES], *filled[-EDGE_LINES:]})


def _edge_key(line: str) -> str:
    """Return a header or footer without its numbers, by which the same line on other pages is recognised."""
    return re.sub(r"\d+|\b[ivxl]+\b", "0", line.casefold()).strip()
