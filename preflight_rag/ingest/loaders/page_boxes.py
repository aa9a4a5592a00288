"""Rewrite elements that the extraction of a web page's main part would wrongly drop because of their form or name.

Manuals mark up remarks as `aside` or "sidebar", which on other pages contain navigation and advertisements. The
position of such a box tells the two apart: between the paragraphs of a text it is a part of the text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from preflight_rag.ingest.loaders.page_parts import HEADS_OF_LISTS, HINTS, RIGHTS, SENTENCE_END, squash

if TYPE_CHECKING:
    from bs4 import BeautifulSoup
    from bs4.element import PageElement, Tag

_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_WITH_SENTENCES = frozenset(("p", "pre", "blockquote", "ul", "ol", "dl"))
"""Elements that may contain the sentences of a text."""
_BLOCKS = frozenset(
    (
        *("address", "article", "aside", "blockquote", "dd", "details", "div", "dl", "dt", "fieldset", "figure"),
        *("footer", "form", "header", "hr", "li", "main", "nav", "ol", "p", "pre", "section", "table", "td", "ul"),
        *("br", "button", "iframe", "img", "input", "select", "textarea", *_HEADINGS),
    )
)
"""Elements that cannot be inside a paragraph."""
_SIDEBAR = re.compile(r"side-?bar", re.IGNORECASE)
_NOTE = re.compile(
    r"(?:^|[\s_-])(?:foot|end)?(?:notes?|warning|caution|important|tip|hint|danger|admonition|callout)(?:$|[\s_-])",
    re.IGNORECASE,
)
"""A word among the names of an `aside` that marks it as a remark on the text: "admonition warning"."""
_TEXT_PART = re.compile(r"(?:^|\s)(?:section|chapter|appendix|preface|article|sect\d)(?:$|\s)", re.IGNORECASE)
"""A word in a `div`'s class that marks it as a part of a book: "chapter", "sect2"."""
_PROMOTION = re.compile(
    r"\b(?:subscri(?:be|ption)|sign up|newsletter|advertisement|sponsored|follow us|about the author)\b", re.IGNORECASE
)
"""Words of boxes that promote something and are no part of a text."""
_URL = re.compile(r"(?:(?:https?|ftp|git|ssh)://|www\.)\S+", re.IGNORECASE)
_FOLLOWING = re.compile(r"\bfollowing\b[^.:;!?]{0,80}[.:]$", re.IGNORECASE)
"""The end of a sentence that announces a list: "from one of the following sites."."""
_LONGEST_FOLLOWING = 120
"""Characters at the end of a line that are searched for `_FOLLOWING`: a little more than it can match."""
_ANNOUNCING_WORDS = 5
"""Minimum number of words of a line that says what the links below it are; a guess. Headings of menus have fewer."""
_MENU_LABEL_CHARACTERS = 200
"""Characters at the end of a line that are searched for `_MENU_LABEL`; a guess."""
_MENU_LABEL = re.compile(
    r"\b(?:related|similar|recommended|popular|also (?:like|enjoy|read|see|interested|visit)"
    r"|(?:read|learn|find out) more|more (?:from|about|on|like)|shar(?:e|ing)|follow (?:us|me)"
    r"|(?:in|on|of) this (?:article|document|page|site|section|series|post|chapter|guide|tutorial)"
    r"|filed under|tagged|jump to|go to|contents|articles|topics|posts|stories|news)\b",
    re.IGNORECASE,
)
"""Words in a line above links to other pages or to parts of this page: "You may also like:", "In this article:"."""
_MIN_LETTERS = 30
"""Minimum number of letters and digits of a sentence; a guess."""
_MAX_LINK_SHARE = 0.5
"""Maximum share of a text's letters that may be in links; a guess. Menus have more."""
_MAX_SIBLINGS = 1_000
"""Maximum number of siblings of a link that is removed, because removing takes time with each of them; a guess."""
_PERMALINK = re.compile(r"[¶§#\U0001f517\uf0c1]")
"""The text of a link from a heading to itself."""


def make_paragraphs(soup: BeautifulSoup, source: str) -> bool:
    """Rewrite the page in place so that the extraction keeps its paragraphs; return whether anything was changed.

    Args:
        soup: The page.
        source: The HTML of the page in lower-case letters.
    """
    from bs4.element import Tag

    elements: dict[str, list[Tag]] = {"a": [], "div": [], "section": [], "aside": []}
    for element in soup.descendants:  # one pass for all kinds: a search for one kind takes as long
        if isinstance(element, Tag) and element.name in elements:
            elements[element.name].append(element)
    changed = _remove_anchors_and_permalinks(elements["a"])
    changed |= _move_ids_to_headings([*elements["section"], *elements["div"]])
    changed |= _rename_divisions(elements["div"])
    if "<aside" in source or "sidebar" in source or "side-bar" in source:
        changed |= open_boxes(soup)
    return changed


def _remove_anchors_and_permalinks(links: Sequence[Tag]) -> bool:
    """Remove links without text from list items, and links of headings to themselves ("¶"); return whether any was.

    With its anchors, a list would count as a list of links. Links without text outside of lists stay: the extraction
    would read the line differently without them.
    """
    changed = False
    for link in links:
        has_elements = len(link.contents) > 1 or (link.contents and link.string is None)
        if has_elements:
            continue
        text, address = (link.string or "").strip(), str(link.get("href", ""))
        if text:
            in_heading = link.parent is not None and link.parent.name in _HEADINGS
            is_removable = address.startswith("#") and _PERMALINK.fullmatch(text) and (text != "#" or in_heading)
        else:
            is_removable = link.find_parent("li") is not None
        if is_removable and link.parent is not None and len(link.parent.contents) <= _MAX_SIBLINGS:
            link.extract()
            changed = True
    return changed


def _rename_divisions(divisions: Sequence[Tag]) -> bool:
    """Make each `div` that contains a sentence but no block element a paragraph (`p`); return whether there was any.

    All `div`s in the items of one list are treated alike, so that one sentence among them makes all of them paragraphs:
    the extraction would lose the space before `code` in a `div`.
    """
    plain = []
    for division in divisions:
        if not any(getattr(inner, "name", None) in _BLOCKS for inner in division.descendants):
            plain.append(division)
    sentences = [division for division in plain if _is_sentence(division)]
    lists_with_sentences: set[int] = set()
    for division in sentences:
        division.name = "p"
        innermost_list = division.find_parent(["ul", "ol"])
        if innermost_list is not None:
            lists_with_sentences.add(id(innermost_list))
    for division in plain:
        outer_list = division.find_parent(["ul", "ol"]) if lists_with_sentences and division.name == "div" else None
        if outer_list is not None and id(outer_list) in lists_with_sentences and division.get_text().strip():
            division.name = "p"
    return bool(sentences)


def _move_ids_to_headings(sections: Sequence[Tag]) -> bool:
    """Move each id that only repeats a section's heading to the heading; return whether any was moved.

    The extraction would take a section with the id "how-to-share-files" for a button to share the page.
    """
    changed = False
    for section in sections:
        if not HINTS.search(str(section.get("id", ""))):
            continue
        heading = section.find(True)
        name = squash(str(section["id"])).lower()
        if heading is not None and heading.name in _HEADINGS and name in squash(heading.get_text()).lower():
            if not heading.has_attr("id"):
                heading["id"] = section["id"]
            del section["id"]
            changed = True
    return changed


def open_boxes(soup: BeautifulSoup) -> bool:
    """Make each box that is a part of the text a `div` without class and role; return whether there was any.

    A box is an `aside`, or an element with "sidebar" among its names.
    """
    sentences = _SentencePositions()
    changed = False
    for element in soup.find_all(["aside", "div", "section"]):
        names = _names_of(element)
        is_box = element.name == "aside" or _SIDEBAR.search(names)
        if is_box and _may_be_remark(element, names) and sentences.surround(element):
            element.name = "div"
            for name in ("class", "role", "epub:type"):
                del element[name]
            if HINTS.search(str(element.get("id", ""))):
                del element["id"]
            changed = True
    return changed


class _SentencePositions:
    """The positions of sentences among the children of each element that contains boxes, computed once for each."""

    def __init__(self) -> None:
        self._child_indexes: dict[int, dict[int, int]] = {}
        self._first_and_last: dict[int, tuple[int, int]] = {}

    def surround(self, box: Tag) -> bool:
        """Return whether a box is inside a text: after its heading or first sentence, and before its last sentence.

        An `aside` that is named a remark may be anywhere. In a part of a book, one sentence beside the box is enough.
        """
        from bs4.element import Tag

        parent = box.parent
        if box.name == "aside" and _NOTE.search(_names_of(box)):
            return True
        if parent is None:
            return False
        if id(parent) not in self._child_indexes:
            children = [child for child in parent.contents if isinstance(child, Tag)]
            headings, sentences = [], []
            for index, child in enumerate(children):
                if child.name in _HEADINGS:
                    headings.append(index)
                if _innermost_wrapped(child).name in _WITH_SENTENCES and _is_sentence(child):
                    sentences.append(index)
            self._child_indexes[id(parent)] = {id(child): index for index, child in enumerate(children)}
            bounds = (min([*sentences, *headings]), max(sentences)) if sentences else (0, -1)
            self._first_and_last[id(parent)] = bounds
        first, last = self._first_and_last[id(parent)]
        if parent.name == "div" and _TEXT_PART.search(" ".join(parent.get("class") or ())):
            return last >= 0
        return first < self._child_indexes[id(parent)][id(box)] < last


def _innermost_wrapped(element: Tag) -> Tag:
    """Return the element inside `div`s that contain nothing else: the `p` of `<div class="paragraph"><p>`.

    An element that wraps no single other one is returned itself.
    """
    from bs4.element import Tag

    while element.name == "div":
        children = [child for child in element.contents if isinstance(child, Tag) or str(child).strip()]
        if len(children) != 1 or not isinstance(children[0], Tag):
            break
        element = children[0]
    return element


def _may_be_remark(box: Tag, names: str) -> bool:
    """Return whether a box may be a remark of the text, by its content and names: a sentence, no form, no promotion."""
    if HINTS.search(_SIDEBAR.sub(" ", names)) or box.find(["form", "button", "input", "nav"]) is not None:
        return False
    text = " ".join(box.get_text(" ").split())
    if _PROMOTION.search(text) or RIGHTS.search(text):
        return False
    heading = box.find(_HEADINGS)
    if heading is not None and HEADS_OF_LISTS.fullmatch(" ".join(heading.get_text(" ").split()).strip(" :")):
        return False
    return any(_is_sentence(element) for element in (box, *box.find_all("p")))


def says_its_address(link: Tag) -> bool:
    """Return whether a link's text is a URL: such a link is information, and does not only lead to another page."""
    return _URL.fullmatch(link.get_text().strip()) is not None


def is_announced(outer: Tag) -> bool:
    """Return whether a sentence above a list of links says what they are: "It is available from the following sites:".

    Links within the page, and links below a label of navigation such as "Related articles:", are not announced.
    """
    from bs4.element import Tag

    if all(str(link.get("href", "")).startswith("#") for link in outer.find_all("a", href=True)):
        return False
    before = _previous_content(outer)
    if before is None or (isinstance(before, Tag) and before.name not in ("p", "div", "dt")):
        return False
    line = " ".join((before.get_text() if isinstance(before, Tag) else str(before)).split())
    announces = line.endswith(":") or _FOLLOWING.search(line[-_LONGEST_FOLLOWING:]) is not None
    is_sentence = announces and len(line.split()) >= _ANNOUNCING_WORDS
    return is_sentence and not _MENU_LABEL.search(line[-_MENU_LABEL_CHARACTERS:])


def _previous_content(element: Tag) -> PageElement | None:
    """Return the element or text directly before an element; None if there is none.

    If nothing precedes it in its parent, look before the parent, as long as this is a list, `div` or `blockquote`, too.
    """
    from bs4.element import Tag

    node: Tag | None = element
    while node is not None and node.name in ("ul", "ol", "div", "blockquote"):
        for sibling in node.previous_siblings:
            if isinstance(sibling, Tag) or str(sibling).strip():
                return sibling
        node = node.parent
    return None


def _names_of(element: Tag) -> str:
    """Return an element's class, id and roles, separated by spaces: they often say what it is for."""
    values = (str(element.get(name, "")) for name in ("id", "role", "epub:type"))
    return " ".join((*(element.get("class") or ()), *values))


def _is_sentence(element: Tag) -> bool:
    """Return whether an element's text ends like a sentence, is not too short, and does not consist mostly of links."""
    text = element.get_text(" ").strip()
    if not SENTENCE_END.search(text[-2:]):
        return False
    letters = len(squash(text))
    link_letters = sum(len(squash(link.get_text())) for link in element.find_all("a", href=True))
    return letters >= _MIN_LETTERS and link_letters <= _MAX_LINK_SHARE * letters
