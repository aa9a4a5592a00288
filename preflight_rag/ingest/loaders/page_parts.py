"""Put back content of a web page that the extraction of its main part dropped.

The extraction takes short headings, paragraphs and tables beside the text for navigation. Blocks in the same part of
the page as the extracted text are content, unless the names of their elements say otherwise, or they consist of links.
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
"""Elements that contain headings, paragraphs or (after they were rewritten) rows of tables."""
_WITH_SENTENCES = frozenset(
    ("body", "div", "section", "article", "main", "blockquote", "li", "dd", "summary", "details", "fieldset")
)
"""Elements of a page's layout, which contain sentences directly in old pages and in pages laid out with `div`."""
_CAPTIONS = frozenset(("figcaption", "caption"))
_CAPTION_NAME = re.compile(r"caption(?:-?text)?$", re.IGNORECASE)
"""The end of a class that wikis and old pages give to captions: "thumbcaption"."""
_BLOCK_ELEMENTS = frozenset(
    (
        *("address", "article", "blockquote", "body", "caption", "dd", "div", "dl", "dt", "fieldset", "figcaption"),
        *("figure", "hr", "legend", "li", "main", "ol", "section", "summary", "table", "tbody", "td", "tfoot", "th"),
        *("thead", "tr", "ul", *_CONTENT),
    )
)
"""Elements that begin a new line, so that text before and after them is not one block."""
_SKIPPED = frozenset(["script", "style", "noscript", "template", "svg", "head", "iframe", "object"])
"""Elements without text to read."""
_NEVER_CONTENT = frozenset(["nav", "footer", "aside", "form", "button", "select"])
"""Elements that are never a part of the page's text."""
HINTS = re.compile(
    r"nav(?!y)|menu|sidebar|banner|crumb|cookie|consent|\bshare|-share|social|newsletter|related|footer|masthead"
    r"|site-?header|page-?header|comment|teaser|promo|advert|\bads?\b|sponsor|widget|toolbar|byline|\bmeta\b|\btags?\b"
    r"|\btoc|table-of-contents|copyright|\bskip|\blog-?in\b|sign-?up|subscri|pagina|\bpager|popular|modal|overlay"
    r"|hidden|no-?print|catlinks|editsection|reflist|references|hatnote|\bsearch|disclaimer",
    re.IGNORECASE,
)
"""A word in an element's class, id or role that marks a part of the page that is not its text: "left-sidebar"."""
RIGHTS = re.compile(r"©|\(c\)|\b(?:copyright|all rights reserved|cookies?|imprint)\b", re.IGNORECASE)
HEADS_OF_LISTS = re.compile(
    r"(?:site |main )?navigation|(?:table of )?contents|on this page|in this (?:article|section)|search|menu|tags|share"
    r"|related (?:articles?|pages?|posts?|topics?|links)|(?:see|read) (?:also|more)|previous(?: topic)?|next(?: topic)?"
    r"|inhaltsverzeichnis|sommaire|índice|indice",
    re.IGNORECASE,
)
"""Headings of lists of links: "Table of contents", "Related articles"."""
_MAX_LINK_SHARE = 0.5
"""Maximum share of a paragraph's letters that may be in links; a guess. Menus have more."""
_LONG_SENTENCE = 40
"""Minimum number of letters and digits of a sentence directly in an element of the layout; a guess. Slogans have fewer.
"""
SENTENCE_END = re.compile(r"[.:;!?][\"'”’)\]]?$")
_SENTENCE_WITHIN = re.compile(r"[a-z]{2}[.!?][\"'”’)\]]? (?=[A-Z])")
"""The end of a sentence with another one behind it."""
_MENU = re.compile(r"[^|·•›»\n]{1,40}+(?:[|·•›»][^|·•›»\n]{1,40}+){1,30}")
"""A line of short parts with signs between them: "Home | Visit | Friends"."""
_BETWEEN_LINKS = re.compile(r"[|·•›»]")
_CAPTION_WORDS = 4
"""Minimum number of words of a caption that says something; a guess."""
_CAPTION_FIGURES = 2
"""Number of words with digits that make a shorter caption say something: one alone numbers the picture. A guess."""
_LONG = 30
"""Minimum number of letters and digits of a block that is located in the extract first; a guess."""
_LEAST_LETTERS = 6
"""Minimum number of letters and digits of a paragraph; a guess."""
_MAX_SEARCHED = 400_000_000
"""Maximum number of characters that searches in an extract may go through; about half a second."""
_BELOW_HEADINGS = 7
"""The level of text: it is below headings of every level, which are from 1 to 6."""


@dataclass
class _Block:
    """A stretch of a page's text without a line break: a paragraph, a heading, a caption, a row.

    Attributes:
        element: The block element that directly contains it.
        text: The text.
        squashed: The letters and digits of the text (`squash`).
        links: The number of letters and digits in links to other pages.
        is_kept: Whether the extraction kept it.
        end: The position behind it in the squashed extract; -1 if it is not known.
    """

    element: Tag
    text: str
    squashed: str
    links: int
    is_kept: bool = False
    end: int = -1


def squash(text: str) -> str:
    """Return the letters and digits of a text, by which lines are compared without regard to spaces and punctuation."""
    return "".join(filter(str.isalnum, text))


def with_lost_content(extract: str, soup: BeautifulSoup) -> str:
    """Return the extract of a page with the headings, paragraphs, captions and rows that it lacks, in their order.

    The extract is returned unchanged if nothing is missing, or if none of its long blocks is found in the page.

    Args:
        extract: The text of the page's main part, one line for each block.
        soup: The page, with rows of tables as paragraphs.
    """
    blocks = _blocks(soup)
    lines = extract.split("\n")
    _locate(blocks, [squash(line) for line in lines])
    kept = [block for block in blocks if block.is_kept and len(block.squashed) >= _LONG]
    if not kept:
        return extract
    lost = _lost_blocks(blocks, _text_container(kept), _with_ancestors(kept))
    if not lost:
        return extract
    line_starts, length = [], 0
    for line in lines:
        line_starts.append(length)
        length += len(squash(line))
    lost_after: dict[int, list[str]] = {}  # the lost blocks to insert after a line, by its index; -1 for the beginning
    line_index = -1
    for block in blocks:
        if block.end >= 0:
            line_index = max(line_index, bisect_right(line_starts, block.end - 1) - 1)
        if id(block) in lost:
            lost_after.setdefault(line_index, []).append(block.text)
    result = lost_after.get(-1, [])
    for index, line in enumerate(lines):
        result += [line, *lost_after.get(index, [])]
    return "\n".join(result)


def without_menus(text: str, soup: BeautifulSoup) -> str:
    """Return a page's text without its lines of links with signs between them: "Home | Visit | Friends".

    Such a line reads like a row of a table; rows of the page's tables contain no links any more.
    """
    lines = text.split("\n")
    if not any(map(_MENU.fullmatch, lines)):
        return text
    all_link_blocks = {block.squashed for block in _blocks(soup) if block.links == len(block.squashed)}
    links = frozenset(squash(link.get_text()) for link in soup.find_all("a", href=True))
    return "\n".join(line for line in lines if not (squash(line) in all_link_blocks and _is_menu(line, links)))


def _is_menu(line: str, links: frozenset[str]) -> bool:
    """Return whether a line consists of several links with signs between them; a single link may contain a sign, too.

    Args:
        line: The line.
        links: The squashed texts of the page's links.
    """
    is_divided = _MENU.fullmatch(line) is not None and squash(line) not in links
    return is_divided and links.issuperset(map(squash, _BETWEEN_LINKS.split(line)))


def _blocks(soup: BeautifulSoup) -> list[_Block]:
    """Return the blocks of a page's text in their order."""
    from bs4.element import CData, NavigableString, Tag

    found: list[_Block] = []
    pieces: list[str] = []
    links = 0
    owner: Tag | None = None

    def end_block() -> None:
        """Append a block of the collected pieces, if they contain letters or digits, and begin a new one."""
        nonlocal links
        raw = "".join(pieces)
        text = raw.strip("\n") if owner is not None and owner.name == "pre" else " ".join(raw.split())
        if owner is not None and (squashed := squash(text)):
            found.append(_Block(owner, text, squashed, links))
        pieces.clear()
        links = 0

    # A None on the stack marks the end of a block element; with it comes the block element around that.
    stack: list[tuple[PageElement | None, Tag | None, bool]] = [(soup, None, False)]
    while stack:
        node, block, is_linked = stack.pop()
        is_block_start = isinstance(node, Tag) and (node.name in _BLOCK_ELEMENTS or _is_paragraph_break(node, block))
        if node is None or is_block_start:
            end_block()
            owner = block if node is None else None
        if isinstance(node, Tag):
            if node.name in _SKIPPED:
                continue
            if node.name == "br":
                pieces.append("\n")
            inner_block = node if node.name in _BLOCK_ELEMENTS else block
            if inner_block is node:
                stack.append((None, block, is_linked))
            inner_linked = is_linked or (node.name == "a" and _leads_away(node, inner_block))
            stack += [(child, inner_block, inner_linked) for child in reversed(node.contents)]
        elif node is not None and type(node) in (NavigableString, CData):
            owner = block
            pieces.append(str(node))
            links += len(squash(str(node))) if is_linked else 0
    end_block()
    return found


def _is_paragraph_break(element: Tag, block: Tag | None) -> bool:
    """Return whether an element is the second of two `br`, with which old pages separate paragraphs.

    Args:
        element: The element.
        block: The block element around it.
    """
    if element.name != "br" or block is None or block.name not in _WITH_SENTENCES:
        return False
    for sibling in element.previous_siblings:
        if hasattr(sibling, "contents") or str(sibling).strip():
            return getattr(sibling, "name", None) == "br"
    return False


def _leads_away(link: Tag, block: Tag | None) -> bool:
    """Return whether a link leads to another place than itself: headings often link to themselves.

    Args:
        link: The link.
        block: The block element around it.
    """
    address = str(link.get("href", ""))
    is_permalink = address.startswith("#") and block is not None and block.name in _HEADINGS
    return bool(address) and not is_permalink


def _locate(blocks: list[_Block], lines: list[str]) -> None:
    """Set `is_kept` of the blocks that an extract contains, and `end` where their position is known.

    First the long blocks with a unique text are located, which have to be in the order of the page; then the others are
    searched between them. A block of which only a half, or a line of code, is in the extract counts as kept, too.

    Args:
        blocks: The blocks of the page, which are changed.
        lines: The squashed lines of the extract.
    """
    extract = _Extract("".join(lines))
    times = Counter(block.squashed for block in blocks)
    located: list[tuple[int, _Block]] = []
    for block in blocks:
        if len(block.squashed) >= _LONG and times[block.squashed] == 1:
            position = extract.find(block.squashed)
            block.is_kept = position is not None
            if position is not None and position >= 0:
                located.append((position, block))
    for position, block in _longest_ascending(located):
        block.end = position + len(block.squashed)
    line_set = frozenset(lines)
    start = 0
    for first, behind in _runs_between_located(blocks):
        is_last_run = behind == len(blocks)
        end = len(extract.text) if is_last_run else blocks[behind].end - len(blocks[behind].squashed)
        for block in blocks[first:behind]:
            found_at = None if block.is_kept else extract.find(block.squashed, start, end)
            if found_at is not None and found_at >= 0:
                block.end = start = found_at + len(block.squashed)
            block.is_kept |= found_at is not None or block.squashed in line_set
        start = end if is_last_run else blocks[behind].end
    for block in blocks:
        if not block.is_kept and not is_row(block.text):
            code_lines = block.text.split("\n") if block.element.name == "pre" else []
            has_half = any(extract.find(half) is not None for half in _halves(block))
            block.is_kept = has_half or any(squash(line) in line_set for line in code_lines if squash(line))


@dataclass
class _Extract:
    """The letters and digits of an extract, with a budget for searches in it.

    Attributes:
        text: The letters and digits.
        budget: Number of characters that searches may still go through.
    """

    text: str
    budget: int = _MAX_SEARCHED

    def find(self, words: str, start: int = 0, end: int | None = None) -> int | None:
        """Return the position of words in `text[start:end]`; None if they are not there.

        Once the budget is spent, return -1: the words count as found at an unknown position.
        """
        if self.budget <= 0:
            return -1
        last = len(self.text) if end is None else end
        position = self.text.find(words, start, last)
        self.budget -= (last if position < 0 else position) - start
        return position if position >= 0 else None


def _halves(block: _Block) -> list[str]:
    """Return the two halves of a block's squashed text, by which a changed block is found; [] if it is short."""
    middle = len(block.squashed) // 2
    return [block.squashed[:middle], block.squashed[middle:]] if middle >= _LONG else []


def _longest_ascending(located: list[tuple[int, _Block]]) -> list[tuple[int, _Block]]:
    """Return the longest subsequence of `(position, block)` in which the positions ascend.

    A patience sort, in O(n log n): `ends[n]` is the lowest position at which an ascending subsequence of n + 1 items
    ends, `end_indexes[n]` the index of its last item, and `previous[i]` the index of the item before item i in the
    best subsequence that ends with it; -1 for none.
    """
    ends: list[int] = []
    end_indexes: list[int] = []
    previous: list[int] = []
    for index, (position, _) in enumerate(located):
        length = bisect_left(ends, position)
        previous.append(end_indexes[length - 1] if length else -1)
        if length == len(ends):
            ends.append(position)
            end_indexes.append(index)
        else:
            ends[length], end_indexes[length] = position, index
    result = []
    index = end_indexes[-1] if end_indexes else -1
    while index >= 0:
        result.append(located[index])
        index = previous[index]
    return result[::-1]


def _runs_between_located(blocks: list[_Block]) -> list[tuple[int, int]]:
    """Return `(first, behind)` of each run of blocks before, between and behind the blocks with a known position.

    A run consists of `blocks[first:behind]`; it may be empty.
    """
    runs, first = [], 0
    for index, block in enumerate(blocks):
        if block.end >= 0:
            runs.append((first, index))
            first = index + 1
    return [*runs, (first, len(blocks))]


def _with_ancestors(kept: list[_Block]) -> frozenset[int]:
    """Return the identities (`id`) of the blocks' elements and of all elements around them."""
    elements: set[int] = set()
    for block in kept:
        elements.add(id(block.element))
        elements.update(map(id, block.element.parents))
    return frozenset(elements)


def _text_container(kept: list[_Block]) -> Tag:
    """Return the element that contains the page's text, by the blocks that the extraction kept.

    That is the outermost `main` or `article` around all of them; without one, the innermost named `div`, or else the
    body: elements without a name are often beside others with further text.
    """
    common = [kept[0].element, *kept[0].element.parents][::-1]
    for block in kept[1:]:
        own = {id(ancestor) for ancestor in (block.element, *block.element.parents)}
        common = [ancestor for ancestor in common if id(ancestor) in own]
    for ancestor in common:
        if ancestor.name in ("main", "article") or ancestor.get("role") == "main":
            return ancestor
    container = common[-1]
    while container.parent is not None and container.name not in ("body", "html", "[document]"):
        if container.name == "div" and (container.get("class") or container.get("id")):
            break
        container = container.parent
    return container


def _lost_blocks(blocks: list[_Block], container: Tag, text_elements: frozenset[int]) -> frozenset[int]:
    """Return the identities (`id`) of the blocks that are content but that the extraction dropped.

    A heading is content only if text, or a heading of a lower level, follows it.

    Args:
        blocks: The blocks of the page.
        container: The element that contains the page's text.
        text_elements: The identities of the elements around kept blocks.
    """
    judged: dict[int, bool] = {id(container): True}
    lost: set[int] = set()
    following_level: int | None = None  # of the next kept or lost block; None after a heading that is no content
    for block in reversed(blocks):
        level = _HEADINGS.get(block.element.name)
        if not block.is_kept:
            if not _is_content(block) or not _is_in_text(block.element, text_elements, judged):
                following_level = None if level is not None else following_level
                continue
            if level is not None and (following_level is None or following_level <= level):
                continue  # the heading has nothing below it, or only what is left out
            lost.add(id(block))
        following_level = level or _BELOW_HEADINGS
    return frozenset(lost)


def _is_content(block: _Block) -> bool:
    """Return whether a block by its own text and element may be a part of the page's text.

    It is a heading, a paragraph, a caption or a sentence, and no menu, copyright notice or heading of a list of links.
    """
    name = block.element.name
    is_mostly_links = block.links > _MAX_LINK_SHARE * len(block.squashed)
    if name in _CAPTIONS or (name in _WITH_SENTENCES and _is_named_caption(block.element)):
        words = block.text.split()
        has_figures = sum(any(map(str.isdigit, word)) for word in words) >= _CAPTION_FIGURES
        says_something = has_figures or (len(words) >= _CAPTION_WORDS and not is_mostly_links)
    else:
        is_text = name in _CONTENT or (name in _WITH_SENTENCES and _has_sentence(block))
        says_something = is_text and not is_mostly_links
    is_long_enough = len(block.squashed) >= _LEAST_LETTERS or name in _HEADINGS
    if not says_something or not is_long_enough:
        return False
    return not RIGHTS.search(block.text) and not HEADS_OF_LISTS.fullmatch(block.text.strip(" :"))


def _is_named_caption(element: Tag) -> bool:
    """Return whether a class of an element says that it is a caption: "thumbcaption"."""
    return any(_CAPTION_NAME.search(name) for name in element.get("class") or ())


def _has_sentence(block: _Block) -> bool:
    """Return whether a block ends with a long sentence, or contains one: after the last one there may be an address."""
    if len(block.squashed) < _LONG_SENTENCE:
        return False
    if SENTENCE_END.search(block.text[-2:]):
        return True
    ends = [match.start() for match in _SENTENCE_WITHIN.finditer(block.text)]
    return bool(ends) and len(squash(block.text[: ends[-1]])) >= _LONG_SENTENCE


def _is_in_text(element: Tag, text_elements: frozenset[int], judged: dict[int, bool]) -> bool:
    """Return whether an element is in the page's text: neither it nor an element around it is navigation or the like.

    Args:
        element: The element.
        text_elements: The identities of the elements around kept blocks, whose names do not count.
        judged: The results so far, by the elements' identities; further ones are added. It has to contain the element
            that contains the page's text; elements outside of that are not in the text.
    """
    unjudged: list[Tag] = []
    node: Tag | None = element
    while node is not None and id(node) not in judged:
        unjudged.append(node)
        node = node.parent
    is_in_text = node is not None and judged[id(node)]
    for ancestor in reversed(unjudged):
        is_excluded = ancestor.name in _NEVER_CONTENT or (
            id(ancestor) not in text_elements and _is_named_otherwise(ancestor)
        )
        is_in_text = is_in_text and not is_excluded
        judged[id(ancestor)] = is_in_text
    return is_in_text


def _is_named_otherwise(element: Tag) -> bool:
    """Return whether an element's name, class, id or role says that it is no part of the page's text.

    The header of a page is none; the header of an article or a section is a part of the text.
    """
    if element.name == "header":
        return element.find_parent(["main", "article", "section"]) is None
    names = " ".join((*(element.get("class") or ()), str(element.get("id", "")), str(element.get("role", ""))))
    return str(element.get("aria-hidden", "")).lower() == "true" or bool(HINTS.search(names))
