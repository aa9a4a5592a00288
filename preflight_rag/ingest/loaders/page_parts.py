"""Content of a web page that the extraction of its main part dropped, put back where it stood.

The extraction takes headings, paragraphs and tables that stand beside the text for navigation if they are short. What
stands in the same part of the page as the text that was found is content, unless the page itself says otherwise: by
the names of its elements, or because it consists of links.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from preflight_rag.text.tables import is_row

if TYPE_CHECKING:
    from bs4 import BeautifulSoup
    from bs4.element import PageElement, Tag

_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_CONTENT = frozenset(("p", "pre", *_HEADINGS))
"""Elements that hold headings, paragraphs or (after they were rewritten) rows of tables."""
_WITH_SENTENCES = frozenset(
    ("body", "div", "section", "article", "main", "blockquote", "li", "dd", "summary", "details", "fieldset")
)
"""Elements that hold a page's layout, and sentences in old pages and in those that are laid out by `div`."""
_CAPTIONS = frozenset(("figcaption", "caption"))
_CAPTION_NAME = re.compile(r"caption(?:-?text)?$", re.IGNORECASE)
"""In an element's class, in wikis and old pages: "thumbcaption"."""
_WHOLE_LINES = frozenset(
    (
        *("address", "article", "blockquote", "body", "caption", "dd", "div", "dl", "dt", "fieldset", "figcaption"),
        *("figure", "hr", "legend", "li", "main", "ol", "section", "summary", "table", "tbody", "td", "tfoot", "th"),
        *("thead", "tr", "ul", *_CONTENT),
    )
)
"""Elements that text around them does not go on through."""
_SKIPPED = frozenset(["script", "style", "noscript", "template", "svg", "head", "iframe", "object"])
_NEVER_CONTENT = frozenset(["nav", "footer", "aside", "form", "button", "select"])
HINTS = re.compile(
    r"nav(?!y)|menu|sidebar|banner|crumb|cookie|consent|\bshare|-share|social|newsletter|related|footer|masthead"
    r"|site-?header|page-?header|comment|teaser|promo|advert|\bads?\b|sponsor|widget|toolbar|byline|\bmeta\b|\btags?\b"
    r"|\btoc|table-of-contents|copyright|\bskip|\blog-?in\b|sign-?up|subscri|pagina|\bpager|popular|modal|overlay"
    r"|hidden|no-?print|catlinks|editsection|reflist|references|hatnote|\bsearch|disclaimer",
    re.IGNORECASE,
)
"""In an element's class, identifier or role: a part of the page that is not its text."""
RIGHTS = re.compile(r"©|\(c\)|\b(?:copyright|all rights reserved|cookies?|imprint)\b", re.IGNORECASE)
HEADS_OF_LISTS = re.compile(
    r"(?:site |main )?navigation|(?:table of )?contents|on this page|in this (?:article|section)|search|menu|tags|share"
    r"|related (?:articles?|pages?|posts?|topics?|links)|(?:see|read) (?:also|more)|previous(?: topic)?|next(?: topic)?"
    r"|inhaltsverzeichnis|sommaire|índice|indice",
    re.IGNORECASE,
)
"""Headings of what leads to other places."""
_LINKS = 0.5
"""Share of a paragraph's letters that links may have; a guess. Menus have more."""
_LONG_SENTENCE = 40
"""Letters and digits of a sentence in an element that lays out a page; a guess. Slogans have fewer."""
SENTENCE_END = re.compile(r"[.:;!?][\"'”’)\]]?$")
_SENTENCE_WITHIN = re.compile(r"[a-z]{2}[.!?][\"'”’)\]]? (?=[A-Z])")
_MENU = re.compile(r"[^|·•›»\n]{1,40}+(?:[|·•›»][^|·•›»\n]{1,40}+){1,30}")
"""A line of parts of a few words with signs between them."""
_BETWEEN_LINKS = re.compile(r"[|·•›»]")
_CAPTION_WORDS = 4
_CAPTION_FIGURES = 2
"""Words of a caption that says something, or of one with digits in them; one such word numbers the picture. Guesses."""
_LONG = 30
"""Letters and digits of a line that stands once in a page; a guess."""
_LEAST_LETTERS = 6
"""Letters and digits of a paragraph that says something; a guess."""
_MOST_LOOKED_THROUGH = 400_000_000
"""Characters that are looked through for lines that are not found; about half a second."""


@dataclass
class _Block:
    """A stretch of a page's text with no break in it.

    Attributes:
        element: The block element that it is directly in.
        text: Its words.
        squashed: Its letters and digits.
        links: The letters and digits of its links to other places.
        is_kept: Whether the extraction found it.
        end: Where it ends in the squashed extract; -1 if that is not known.
    """

    element: Tag
    text: str
    squashed: str
    links: int
    is_kept: bool = False
    end: int = -1


def squash(text: str) -> str:
    """Return the letters and digits of a text, by which lines are compared whatever stands between their words."""
    return "".join(filter(str.isalnum, text))


def with_lost_content(extract: str, soup: BeautifulSoup) -> str:
    """Return the extract of a page with the headings, paragraphs and rows of tables beside it that it lacks.

    Args:
        extract: The text of the page's main part, one line for each block.
        soup: The page from which it is, with rows of tables as paragraphs.
    """
    blocks = _blocks(soup)
    lines = extract.split("\n")
    _find(blocks, [squash(line) for line in lines])
    kept = [block for block in blocks if block.is_kept and len(block.squashed) >= _LONG]
    if not kept:
        return extract
    lost = _lost(blocks, _scope(kept), _holders(kept))
    if not lost:
        return extract
    starts, total = [], 0
    for line in lines:
        starts.append(total)
        total += len(squash(line))
    found: list[str] = []
    following: dict[int, list[str]] = {}
    number = -1
    for block in blocks:
        if block.end >= 0:
            number = max(number, bisect_right(starts, block.end - 1) - 1)
        if id(block) in lost:
            following.setdefault(number, []).append(block.text)
    for number in range(-1, len(lines)):
        found += [lines[number]] if number >= 0 else []
        found += following.get(number, [])
    return "\n".join(found)


def without_menus(text: str, soup: BeautifulSoup) -> str:
    """Return a page's text without its lines of links with signs between them: "Home | Visit | Friends".

    Such a line reads like a row of a table; rows of the page's tables are no links any more.
    """
    lines = text.split("\n")
    if not any(map(_MENU.fullmatch, lines)):
        return text
    linked = {block.squashed for block in _blocks(soup) if block.links == len(block.squashed)}
    links = frozenset(squash(link.get_text()) for link in soup.find_all("a", href=True))
    return "\n".join(line for line in lines if not (squash(line) in linked and _is_menu(line, links)))


def _is_menu(line: str, links: frozenset[str]) -> bool:
    """Return whether a line consists of several links; a title with a sign in it is one."""
    is_parted = _MENU.fullmatch(line) is not None and squash(line) not in links
    return is_parted and links.issuperset(map(squash, _BETWEEN_LINKS.split(line)))


def _blocks(soup: BeautifulSoup) -> list[_Block]:
    """Return the stretches of a page's text in their order."""
    from bs4.element import CData, NavigableString, Tag

    found: list[_Block] = []
    pieces: list[str] = []
    links = 0
    owner: Tag | None = None

    def end_block() -> None:
        nonlocal links
        raw = "".join(pieces)
        text = raw.strip("\n") if owner is not None and owner.name == "pre" else " ".join(raw.split())
        if owner is not None and (squashed := squash(text)):
            found.append(_Block(owner, text, squashed, links))
        pieces.clear()
        links = 0

    stack: list[tuple[PageElement | None, Tag | None, bool]] = [(soup, None, False)]
    while stack:
        node, block, is_linked = stack.pop()
        if node is None or (isinstance(node, Tag) and (node.name in _WHOLE_LINES or _is_blank_line(node, block))):
            end_block()
            owner = block if node is None else None
        if isinstance(node, Tag):
            if node.name in _SKIPPED:
                continue
            if node.name == "br":
                pieces.append("\n")
            inner = node if node.name in _WHOLE_LINES else block
            if inner is node:
                stack.append((None, block, is_linked))
            linked = is_linked or (node.name == "a" and _leads_away(node, inner))
            stack += [(child, inner, linked) for child in reversed(node.contents)]
        elif node is not None and type(node) in (NavigableString, CData):
            owner = block
            pieces.append(str(node))
            links += len(squash(str(node))) if is_linked else 0
    end_block()
    return found


def _is_blank_line(line_break: Tag, block: Tag | None) -> bool:
    """Return whether an element is the second of two breaks, by which old pages part their paragraphs."""
    if line_break.name != "br" or block is None or block.name not in _WITH_SENTENCES:
        return False
    before = next(
        (each for each in line_break.previous_siblings if hasattr(each, "contents") or str(each).strip()), None
    )
    return getattr(before, "name", None) == "br"


def _leads_away(link: Tag, block: Tag | None) -> bool:
    """Return whether a link leads to another place than its own: headings often lead to themselves."""
    address = str(link.get("href", ""))
    return bool(address) and not (address.startswith("#") and block is not None and block.name in _HEADINGS)


def _find(blocks: list[_Block], lines: list[str]) -> None:
    """Mark the blocks that an extract has, and where.

    The long ones that stand once, in the order of the page, part the extract; the others are looked for between these.
    """
    extract = _Extract("".join(lines))
    times = Counter(block.squashed for block in blocks)
    places: list[tuple[int, _Block]] = []
    for block in blocks:
        if len(block.squashed) >= _LONG and times[block.squashed] == 1:
            at = extract.find(block.squashed)
            block.is_kept = at is not None
            if at is not None and at >= 0:
                places.append((at, block))
    for at, block in _in_order(places):
        block.end = at + len(block.squashed)
    known = frozenset(lines)
    start = 0
    for first, last in _runs(blocks):
        end = len(extract.text) if last == len(blocks) else blocks[last].end - len(blocks[last].squashed)
        for block in blocks[first:last]:
            at = None if block.is_kept else extract.find(block.squashed, start, end)
            if at is not None and at >= 0:
                block.end = start = at + len(block.squashed)
            block.is_kept |= at is not None or block.squashed in known
        start = end if last == len(blocks) else blocks[last].end
    for block in blocks:
        if not block.is_kept and not is_row(block.text):
            lines_of_code = block.text.split("\n") if block.element.name == "pre" else []
            block.is_kept = any(extract.find(part) is not None for part in _halves(block)) or any(
                squashed in known for squashed in map(squash, lines_of_code) if squashed
            )


@dataclass
class _Extract:
    """The letters and digits of an extract, and how many of them may still be looked through."""

    text: str
    left: int = _MOST_LOOKED_THROUGH

    def find(self, words: str, start: int = 0, end: int | None = None) -> int | None:
        """Return where some words are; None if nowhere, -1 if there is no time to look: they count as found."""
        if self.left <= 0:
            return -1
        at = self.text.find(words, start, len(self.text) if end is None else end)
        self.left -= (len(self.text) if end is None else end) - start if at < 0 else at - start
        return at if at >= 0 else None


def _halves(block: _Block) -> list[str]:
    """Return the halves of a long block, either of which shows that the extract has it in other signs."""
    middle = len(block.squashed) // 2
    return [block.squashed[:middle], block.squashed[middle:]] if middle >= _LONG else []


def _in_order(places: list[tuple[int, _Block]]) -> list[tuple[int, _Block]]:
    """Return the most of some places, in the order of their blocks, that go up."""
    lowest: list[int] = []
    """Of each length of a sequence, the lowest place that one ends at."""
    last: list[int] = []
    before: list[int] = []
    for number, (at, _) in enumerate(places):
        length = bisect_left(lowest, at)
        before.append(last[length - 1] if length else -1)
        if length == len(lowest):
            lowest.append(at)
            last.append(number)
        else:
            lowest[length], last[length] = at, number
    found = []
    step = last[-1] if last else -1
    while step >= 0:
        found.append(places[step])
        step = before[step]
    return found[::-1]


def _runs(blocks: list[_Block]) -> list[tuple[int, int]]:
    """Return where the runs of blocks between those with a known place begin and end."""
    found, first = [], 0
    for number, block in enumerate(blocks):
        if block.end >= 0:
            found.append((first, number))
            first = number + 1
    return [*found, (first, len(blocks))]


def _holders(kept: list[_Block]) -> frozenset[int]:
    """Return the identities of the elements that hold some of the page's text."""
    return frozenset(id(each) for block in kept for each in (block.element, *block.element.parents))


def _scope(kept: list[_Block]) -> Tag:
    """Return the part of the page that holds its text: the innermost one that holds all that was found.

    Parts without a name are among their like, so that the part around them counts.
    """
    around = [each for each in reversed([kept[0].element, *kept[0].element.parents])]
    for block in kept[1:]:
        own = {id(each) for each in (block.element, *block.element.parents)}
        around = [each for each in around if id(each) in own]
    scope = around[-1]
    declared = next((each for each in around if each.name in ("main", "article") or each.get("role") == "main"), None)
    if declared is not None:
        return declared
    while scope.parent is not None and scope.name not in ("body", "html", "[document]"):
        if scope.name == "div" and (scope.get("class") or scope.get("id")):
            break
        scope = scope.parent
    return scope


def _lost(blocks: list[_Block], scope: Tag, holders: frozenset[int]) -> frozenset[int]:
    """Return the identities of the blocks that are content and that the extraction dropped."""
    judged: dict[int, bool] = {id(scope): True}
    found: set[int] = set()
    follows: int | None = None
    """The level of the heading behind a block that has text below it; 7 for text, None for what is no content."""
    for block in reversed(blocks):
        level = _HEADINGS.get(block.element.name)
        if not block.is_kept:
            if not _is_content(block) or not _is_in(block.element, scope, holders, judged):
                follows = None if level is not None else follows
                continue
            if level is not None and (follows is None or follows <= level):
                continue  # A heading of what was left out.
            found.add(id(block))
        follows = level or 7
    return frozenset(found)


def _is_content(block: _Block) -> bool:
    """Return whether a block by itself may be a part of a text."""
    name = block.element.name
    if name in _CAPTIONS or (name in _WITH_SENTENCES and _is_named_caption(block.element)):
        words = block.text.split()
        has_figures = sum(any(map(str.isdigit, word)) for word in words) >= _CAPTION_FIGURES
        says_something = has_figures or (len(words) >= _CAPTION_WORDS and block.links <= _LINKS * len(block.squashed))
    else:
        is_text = name in _CONTENT or (name in _WITH_SENTENCES and _has_sentence(block))
        says_something = is_text and block.links <= _LINKS * len(block.squashed)
    return (
        says_something
        and (len(block.squashed) >= _LEAST_LETTERS or name in _HEADINGS)
        and not RIGHTS.search(block.text)
        and not HEADS_OF_LISTS.fullmatch(block.text.strip(" :"))
    )


def _is_named_caption(element: Tag) -> bool:
    """Return whether an element is a caption by its class."""
    return any(_CAPTION_NAME.search(each) for each in element.get("class") or ())


def _has_sentence(block: _Block) -> bool:
    """Return whether a block ends with a sentence, or has one within it: after the last one there may be an address."""
    if len(block.squashed) < _LONG_SENTENCE:
        return False
    if SENTENCE_END.search(block.text[-2:]):
        return True
    ends = [match.start() for match in _SENTENCE_WITHIN.finditer(block.text)]
    return bool(ends) and len(squash(block.text[: ends[-1]])) >= _LONG_SENTENCE


def _is_in(element: Tag, scope: Tag, holders: frozenset[int], judged: dict[int, bool]) -> bool:
    """Return whether an element is inside of a part of the page, and in nothing there that is no text by its name."""
    steps: list[Tag] = []
    node: Tag | None = element
    while node is not None and id(node) not in judged:
        steps.append(node)
        node = node.parent
    is_in = node is not None and judged[id(node)]
    for step in reversed(steps):
        is_in = is_in and step.name not in _NEVER_CONTENT and (id(step) in holders or not _is_named_otherwise(step))
        judged[id(step)] = is_in
    return is_in


def _is_named_otherwise(element: Tag) -> bool:
    """Return whether the names of an element say that it is no part of the page's text."""
    if element.name == "header":
        return element.find_parent(["main", "article", "section"]) is None
    written = " ".join((*(element.get("class") or ()), str(element.get("id", "")), str(element.get("role", ""))))
    return str(element.get("aria-hidden", "")).lower() == "true" or bool(HINTS.search(written))
