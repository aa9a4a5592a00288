"""What the extraction of a web page's main part would drop by its form or its name, made what it is: paragraphs.

Manuals box remarks as `aside` or "sidebar", which elsewhere hold what stands beside the text. Where such a box stands
tells them apart: between the paragraphs of a text it is one of its parts.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from preflight_rag.ingest.loaders.page_parts import HEADS_OF_LISTS, HINTS, RIGHTS, SENTENCE_END, squash

if TYPE_CHECKING:
    from bs4 import BeautifulSoup
    from bs4.element import Tag

_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_WITH_SENTENCES = frozenset(("p", "pre", "blockquote", "ul", "ol", "dl"))
_BLOCKS = frozenset(
    (
        *("address", "article", "aside", "blockquote", "dd", "details", "div", "dl", "dt", "fieldset", "figure"),
        *("footer", "form", "header", "hr", "li", "main", "nav", "ol", "p", "pre", "section", "table", "td", "ul"),
        *("br", "button", "iframe", "img", "input", "select", "textarea", *_HEADINGS),
    )
)
"""Elements that no paragraph has within it."""
_SIDEBAR = re.compile(r"side-?bar", re.IGNORECASE)
_NOTE = re.compile(
    r"(?:^|[\s_-])(?:foot|end)?(?:notes?|warning|caution|important|tip|hint|danger|admonition|callout)(?:$|[\s_-])",
    re.IGNORECASE,
)
"""In the names of an `aside`: a remark on the text."""
_TEXT_PART = re.compile(r"(?:^|\s)(?:section|chapter|appendix|preface|article|sect\d)(?:$|\s)", re.IGNORECASE)
"""In a `div`'s class: a part of a book."""
_ASKS = re.compile(
    r"\b(?:subscri(?:be|ption)|sign up|newsletter|advertisement|sponsored|follow us|about the author)\b", re.IGNORECASE
)
_ADDRESS = re.compile(r"(?:(?:https?|ftp|git|ssh)://|www\.)\S+", re.IGNORECASE)
_FOLLOWING = re.compile(r"\bfollowing\b[^.:;!?]{0,80}[.:]$", re.IGNORECASE)
_ANNOUNCING_WORDS = 5
"""Words of a line that says what the links below it are; a guess. Headings of menus have fewer."""
_LEADS_ELSEWHERE = re.compile(
    r"\b(?:related|similar|recommended|popular|also (?:like|enjoy|read|see|interested|visit)"
    r"|(?:read|learn|find out) more|more (?:from|about|on|like)|shar(?:e|ing)|follow (?:us|me)"
    r"|(?:in|on|of) this (?:article|document|page|site|section|series|post|chapter|guide|tutorial)"
    r"|filed under|tagged|jump to|go to|contents|articles|topics|posts|stories|news)\b",
    re.IGNORECASE,
)
"""In a line above links that lead away from a page's text, or about in it."""
_LEAST_LETTERS = 30
"""Letters and digits of a sentence; a guess."""
_LINKS = 0.5
"""Share of a text's letters that links may have; a guess. Menus have more."""
_MOST_SIBLINGS = 1_000
"""Texts and elements beside a link that is taken out; a guess."""
_PERMALINK = re.compile(r"[¶§#\U0001f517\uf0c1]")
"""Signs of a link from a heading to itself."""


def make_paragraphs(soup: BeautifulSoup, source: str) -> bool:
    """Make content that looks like something else paragraphs, as they stand; return whether there was any.

    Args:
        soup: The page.
        source: The page as it is written, in lower-case letters.
    """
    from bs4.element import Tag

    found: dict[str, list[Tag]] = {"a": [], "div": [], "section": [], "aside": []}
    for each in soup.descendants:  # All at once; each look for one kind of element takes as long.
        if isinstance(each, Tag) and each.name in found:
            found[each.name].append(each)
    changed = _drop_marks_of_places(found["a"])
    changed |= _move_places([*found["section"], *found["div"]])
    changed |= _rename_divisions(found["div"])
    if "<aside" in source or "sidebar" in source or "side-bar" in source:
        changed |= open_boxes(soup)
    return changed


def _drop_marks_of_places(links: Sequence[Tag]) -> bool:
    """Take out links without words in lists, which are no lists of links by them, and links of headings to themselves.

    Elsewhere the extraction reads a line otherwise once a link without words is gone from its beginning.
    """
    found = False
    for link in links:
        if len(link.contents) > 1 or (link.contents and link.string is None):
            continue
        text, address = (link.string or "").strip(), str(link.get("href", ""))
        if text:
            in_heading = link.parent is not None and link.parent.name in _HEADINGS
            is_mark = address.startswith("#") and _PERMALINK.fullmatch(text) and (text != "#" or in_heading)
        else:
            is_mark = link.find_parent("li") is not None
        # To take an element out takes as long as it has siblings.
        if is_mark and link.parent is not None and len(link.parent.contents) <= _MOST_SIBLINGS:
            link.extract()
            found = True
    return found


def _rename_divisions(divisions: Sequence[Tag]) -> bool:
    """Make each `div` that holds a sentence and no other element of a page's layout a paragraph.

    The blank before `code` in a `div` of a list's item would be lost; all items of a list are made alike.
    """
    found = [
        each for each in divisions if not any(getattr(inner, "name", None) in _BLOCKS for inner in each.descendants)
    ]
    stated = [each for each in found if _says_something(each)]
    for each in stated:
        each.name = "p"
    lists = {id(each): each for inner in stated for each in inner.find_parents(["ul", "ol"], limit=1)}
    for each in found:
        outer = each.find_parent(["ul", "ol"]) if lists and each.name == "div" else None
        if outer is not None and id(outer) in lists and each.get_text().strip():
            each.name = "p"
    return bool(stated)


def _move_places(parts: Sequence[Tag]) -> bool:
    """Move the name of a section that repeats its heading to that: "how-to-share-files" is no button to share."""
    found = False
    for each in parts:
        if not HINTS.search(str(each.get("id", ""))):
            continue
        heading = each.find(True)
        name = squash(str(each["id"])).lower()
        if heading is not None and heading.name in _HEADINGS and name in squash(heading.get_text()).lower():
            if not heading.has_attr("id"):
                heading["id"] = each["id"]
            del each["id"]
            found = True
    return found


def open_boxes(soup: BeautifulSoup) -> bool:
    """Make boxes that are parts of a text such by their names."""
    places = _Places()
    found = False
    for each in soup.find_all(["aside", "div", "section"]):
        names = _names(each)
        if (each.name == "aside" or _SIDEBAR.search(names)) and _is_remark(each, names) and places.is_in_text(each):
            each.name = "div"
            for name in ("class", "role", "epub:type"):
                del each[name]
            if HINTS.search(str(each.get("id", ""))):
                del each["id"]
            found = True
    return found


class _Places:
    """Where the sentences of the elements around boxes are; looked for once for each such element."""

    def __init__(self) -> None:
        self._numbers: dict[int, dict[int, int]] = {}
        self._ends: dict[int, tuple[int, int]] = {}

    def is_in_text(self, box: Tag) -> bool:
        """Return whether a box stands in a text: after its heading or its first sentence, and before its last one.

        Remarks by their names may stand anywhere, and boxes in a part of a book beside any sentence of that.
        """
        from bs4.element import Tag

        parent = box.parent
        if box.name == "aside" and _NOTE.search(_names(box)):
            return True
        if parent is None:
            return False
        if id(parent) not in self._numbers:
            inner = [each for each in parent.contents if isinstance(each, Tag)]
            stated = [
                number
                for number, each in enumerate(inner)
                if _unwrapped(each).name in _WITH_SENTENCES and _says_something(each)
            ]
            heads = [n for n, each in enumerate(inner) if each.name in _HEADINGS]
            self._numbers[id(parent)] = {id(each): number for number, each in enumerate(inner)}
            self._ends[id(parent)] = (min([*stated, *heads]), max(stated)) if stated else (0, -1)
        first, last = self._ends[id(parent)]
        if parent.name == "div" and _TEXT_PART.search(" ".join(parent.get("class") or ())):
            return last >= 0
        return first < self._numbers[id(parent)][id(box)] < last


def _unwrapped(element: Tag) -> Tag:
    """Return what an element holds if that is one element alone, as in `<div class="paragraph"><p>`."""
    from bs4.element import Tag

    while element.name == "div":
        inner = [each for each in element.contents if isinstance(each, Tag) or str(each).strip()]
        if len(inner) != 1 or not isinstance(inner[0], Tag):
            break
        element = inner[0]
    return element


def _is_remark(box: Tag, names: str) -> bool:
    """Return whether a box by what it holds, and by its names, may be a part of a text."""
    if HINTS.search(_SIDEBAR.sub(" ", names)) or box.find(["form", "button", "input", "nav"]) is not None:
        return False
    heading = box.find(_HEADINGS)
    text = " ".join(box.get_text(" ").split())
    return (
        not _ASKS.search(text)
        and not RIGHTS.search(text)
        and not (heading is not None and HEADS_OF_LISTS.fullmatch(" ".join(heading.get_text(" ").split()).strip(" :")))
        and any(_says_something(each) for each in (box, *box.find_all("p")))
    )


def says_its_address(link: Tag) -> bool:
    """Return whether a link's words are an address, which says where something is and does not only lead there."""
    return _ADDRESS.fullmatch(link.get_text().strip()) is not None


def is_announced(outer: Tag) -> bool:
    """Return whether a sentence above a list of links says what they are: "It can be had from the following sites:"."""
    from bs4.element import Tag

    if all(str(link.get("href", "")).startswith("#") for link in outer.find_all("a", href=True)):
        return False
    node: Tag | None = outer
    before: object = None
    while before is None and node is not None and node.name in ("ul", "ol", "div", "blockquote"):
        before = next((each for each in node.previous_siblings if isinstance(each, Tag) or str(each).strip()), None)
        node = node.parent
    if before is None or (isinstance(before, Tag) and before.name not in ("p", "div", "dt")):
        return False
    line = " ".join((before.get_text() if isinstance(before, Tag) else str(before)).split())
    is_sentence = len(line.split()) >= _ANNOUNCING_WORDS and (
        line.endswith(":") or bool(_FOLLOWING.search(line[-120:]))
    )
    return is_sentence and not _LEADS_ELSEWHERE.search(line[-200:])


def _names(element: Tag) -> str:
    """Return the names of an element, which say what it is for."""
    values = (str(element.get(name, "")) for name in ("id", "role", "epub:type"))
    return " ".join((*(element.get("class") or ()), *values))


def _says_something(element: Tag) -> bool:
    """Return whether an element's text ends as a sentence does and is not made of links."""
    text = element.get_text(" ").strip()
    if not SENTENCE_END.search(text[-2:]):
        return False
    letters = len(squash(text))
    links = sum(len(squash(link.get_text())) for link in element.find_all("a", href=True))
    return letters >= _LEAST_LETTERS and links <= _LINKS * letters
