"""HTML: the main content by trafilatura; the whole visible text where that finds too little."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from copy import copy
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

from preflight_rag.ingest.loaders.encoding import decode
from preflight_rag.ingest.loaders.equations import mathml_line
from preflight_rag.ingest.loaders.fields import file_document, iso_date, one_line, people, tidy, whole_number
from preflight_rag.ingest.loaders.files import read_bytes
from preflight_rag.ingest.loaders.nested_lists import DEEPEST, LONGEST_PARENT, item_with_parents
from preflight_rag.ingest.loaders.page_boxes import is_announced, make_paragraphs, open_boxes, says_its_address
from preflight_rag.ingest.loaders.page_parts import squash, with_lost_content, without_menus
from preflight_rag.ingest.loaders.read_report import ReadReport
from preflight_rag.ingest.loaders.text_tables import with_rows
from preflight_rag.ingest.loaders.xml import XMLSyntaxError, parse_xml
from preflight_rag.state.values import Document
from preflight_rag.text.check_boxes import CROSSED, NOT_TICKED, TICKED, words_for
from preflight_rag.text.legends import raised, raised_behind, with_note
from preflight_rag.text.tables import BAR, expand_spans, is_row, table_lines

if TYPE_CHECKING:
    from bs4 import BeautifulSoup
    from bs4.element import NavigableString, PageElement, Tag

_CHARSET = re.compile(
    rb"<meta[^>]{0,200}charset\s*+=\s*+(?:[\"']\s*+)?([\w-]+)|<\?xml[^>]{0,200}encoding=[\"']([\w-]+)", re.I
)
_RULE = re.compile(r"\|(?:\s*:?-+:?\s*\|)+")
_JSON_DATE = re.compile(r'"datePublished"\s*:\s*"([^"]{4,40})"')
_JSON_CHANGED = re.compile(r'"dateModified"\s*:\s*"([^"]{4,40})"')
_DATES = (
    "article:published_time",
    "citation_publication_date",
    "citation_date",
    "dc.date.issued",
    "dc.date",
    "dcterms.created",
    "dcterms.date",
    "date",
    "pubdate",
    "datepublished",
    "article:modified_time",
)
_AUTHORS = ("citation_author", "author", "dc.creator", "dcterms.creator", "article:author")
_FIELDS = {
    "description": ("description",),
    "keywords": ("keywords",),
    "journal": ("citation_journal_title", "prism.publicationname"),
    "doi": ("citation_doi", "prism.doi", "dc.identifier.doi"),
    "pmid": ("citation_pmid",),
    "publisher": ("citation_publisher", "dc.publisher", "og:site_name"),
    "volume": ("citation_volume",),
    "issue": ("citation_issue",),
}
_BLOCKS = (
    "address article aside blockquote body caption dd div dl dt fieldset figcaption figure footer form h1 h2 h3 h4 h5 "
    "h6 header hr li main nav ol p pre section summary table tr ul title option"
)
_INVISIBLE = ("script", "style", "noscript", "template", "svg", "head", "iframe", "object")
_NOT_SHOWN = re.compile(
    r"(?:^|[;\s])(?:display\s{0,9}:\s{0,9}none|visibility\s{0,9}:\s{0,9}(?:hidden|collapse)"
    r"|(?:font-size|opacity)\s{0,9}:\s{0,9}0(?:\.0+)?(?:px|pt|em|rem|%)?\s{0,9}(?:;|!|$))",
    re.IGNORECASE,
)
"""In a `style` attribute: a browser shows nothing of the element. "display: none" is one, "display: block" is none."""
_BOILERPLATE = ("nav", "footer", "aside", "form", "button", "select")
_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_LINES = frozenset((*_BLOCKS.split(), "br"))
"""Elements that begin and end a line of the page's text."""
_LEFT_OUT_OF_TEXT = frozenset((*_INVISIBLE, *_BOILERPLATE))
_CITATION = re.compile(r"\[\d+\]")
"""The mark of a reference, which says where a cell is from and not what it means."""
MOSTLY_LINKS = 0.5
"""Least share of a table's characters in links at which it may be navigation; a guess."""
_NAVIGATION = re.compile(r"nav(?:igation|bar|header|footer|links?)?|breadcrumbs?|pag(?:er|ination)", re.IGNORECASE)
"""In the names of an element: it leads to other pages."""
_NOTE_KIND = re.compile(r"\b(?:foot|end|rear)notes?\b")
_NO_TEXT_AROUND = frozenset(("ul", "ol", *_BOILERPLATE, "header", "menu", "td", "th"))
"""What a list is inside of that is no part of a page's text, or is read with what it is inside of."""
_QUOTE, _QUOTE_END = "\ue000", "\ue001"
"""Stand where a quoted part of a mail begins and ends; no page has them, for private characters are nobody's."""
_DESCRIPTION_WORDS = 4
"""Words of a picture's description that says what it shows; shorter ones are names of buttons and logos. A guess."""
_LONGEST_MARK = 4
"""Characters of a link in a cell that is the mark of a note: "1", "[a]"; a guess."""
_LONGEST_CELL = 400
"""Characters of a cell; a table with longer ones lays out a page. A guess."""
_NOTE_REFERENCE = re.compile(r"noteref")
"""In `epub:type` or `role`, of a link that leads to a note and is shown above the line."""
_WRITES_TO = re.compile(r"^(?:mailto|tel):[^\s?]", re.IGNORECASE)
_LETTERS = 26
_COPYRIGHT = re.compile(r"©|\(c\)|\b(?:copyright|all rights reserved|cookies?|imprint)\b", re.IGNORECASE)
_FOOT_PARTS = re.compile(r"\s[·•|]\s")
"""Between the parts of a footer's line, each of which states something by itself: "Imprint · Updated on 7 April"."""
_FOOT = re.compile(r"(?:page-?|site-?|mail-?)?foot(?:er)?", re.IGNORECASE)
_MAIL = re.compile(r"[\w.+-]{1,64}@[\w-]{1,64}\.\w")
_FOOT_WORDS = 5
"""Words of a footer's sentence without a figure; a guess. "Follow us!" and "Questions? Write to a@b.org" have fewer."""
_MOST_FOOTERS = 20
"""Footers of a page, or of its parts, that are read; a guess."""
_LONGEST_FOOT = 300
"""Characters of a footer's line that states something; a guess."""
_LINKS = 0.5
"""Share of a list's letters that links may have; a guess. Menus have more."""
_MORE_THAN_WORDS = [
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "table",
    "pre",
    "img",
    "div",
    "section",
    "article",
    "dl",
    "form",
]
_ENOUGH_CHARACTERS = 300
_ENOUGH_SHARE = 0.3
"""The main part of a page counts where it has so many characters and this share of the text; both are guesses."""


_TITLE_PARTS = re.compile(r"\s[|–—·»-]\s")
DEEPEST_ELEMENTS = 120
"""Elements within each other that stay as they are; a guess, four times as many as real pages have."""
_HIGHEST_KEPT, _HIGHEST_CELL = 20, 12
"""Levels of elements inside of one below those, or inside of a cell there, up to which it stays whole; guesses."""
_TOGETHER = 200
"""Blocks from below the deepest elements that are put side by side; a guess."""
_CELLS = ("table", "td", "th")
_LEAST_ROWS = 2
_PART_OF_ROLE = {
    **dict.fromkeys(("table", "grid", "treegrid"), "table"),
    "row": "tr",
    **dict.fromkeys(("cell", "gridcell", "rowheader"), "td"),
    "columnheader": "th",
}
_PART_OF_DISPLAY = {"table": "table", "table-row": "tr", "table-cell": "td"}
"""Elements of a table by what others say that they are, and how they are shown."""
_DISPLAY = re.compile(
    r"(?<![^{}])([^{}]{1,200})\{[^{}]{0,2000}?display\s{0,4}:\s{0,4}(table(?:-row|-cell)?)\s{0,4}[;}!]", re.IGNORECASE
)
"""A rule of a style sheet by which elements are a table, its rows or cells: ".r{display:table-row}"."""
_OWN_DISPLAY = re.compile(r"display\s{0,4}:\s{0,4}(table(?:-row|-cell)?)\s{0,4}(?:;|$)", re.IGNORECASE)
_PARTING = frozenset((*_BLOCKS.split(), "tbody", "thead", "tfoot", "td", "th"))
"""Elements that text around them does not go on through."""
_MOST_SIBLINGS = 1_000
"""Texts and elements beside a text of a list's item that is parted from the next one; a guess."""
_WITHIN_LINES_NOT = sorted((_PARTING | {"br", "img"}) - {"option", "title"})
"""Elements that no stretch of a line has within it."""
_LEFT_OUT = frozenset((*_INVISIBLE, *_BOILERPLATE, "del", "s", "strike")) - {"form"}
"""Elements that are left out with all that they hold; a form is one of them only by what it holds."""


def load_html(path: Path, max_bytes: int) -> Iterator[Document]:
    """Yield a web page as one document."""
    from bs4 import BeautifulSoup, XMLParsedAsHTMLWarning

    data = read_bytes(path, max_bytes)
    declared = _CHARSET.search(data[:4096])
    page = decode(data, path, declared=(declared[1] or declared[2]).decode() if declared else None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", XMLParsedAsHTMLWarning)
        soup = BeautifulSoup(page, "lxml")
    properties = _properties(soup)
    heading = soup.find("h1")
    title = soup.title.get_text() if soup.title else ""
    date = next((found for key in _DATES if (found := iso_date(_first(properties, key)))), None)
    # A page of a wiki was begun long before most of what it says; it is as of its last change.
    is_wiki = _first(properties, "generator").startswith("MediaWiki")
    written = (_JSON_CHANGED.search(page) if is_wiki else None) or _JSON_DATE.search(page)
    report = ReadReport()
    changed = (
        _drop_hidden(soup)
        | _flatten(soup)
        | _write_in_words(soup, page, report)
        | _write_boxes(soup)
        | make_paragraphs(soup, page.lower())
        | _join_lines(soup)
        | _write_terms(soup)
        | _part_leads(soup)
        | _write_lists(soup)
        | _spell_out_lists(soup)
    )
    tables = _write_tables(soup)
    if _describe_pictures(soup, report) or tables or changed:
        page = str(soup)
    address = _canonical(soup)
    text = _with_footers(without_menus(_main_text(page, soup), soup), soup)
    _count_tables(tables, text, report)
    yield file_document(
        path,
        text,
        title=_title(_first(properties, "og:title"), title, heading.get_text(" ") if heading else ""),
        date=date or (iso_date(written[1]) if written else None),
        authors=next((names for key in _AUTHORS if (names := _names(properties.get(key, [])))), ()),
        metadata={
            **{key: value for key, names in _FIELDS.items() if (value := _first_of(properties, names))},
            **({"url": address} if address else {}),
        },
        report=report,
    )


def _title(shared: str, own: str, heading: str) -> str:
    """Return a page's title: the one for sharing, unless that is the site's name behind the page's own; else a heading.

    Args:
        shared: What the page is called where it is shared (`og:title`).
        own: The title of the window, such as "Prices | The shop".
        heading: The first heading.
    """
    name, page = one_line(shared), one_line(own)
    parts = [part.strip() for part in _TITLE_PARTS.split(page)]
    of_site = (
        len(parts) > 1 and name in (parts[0], parts[-1]) and one_line(heading) in parts and one_line(heading) != name
    )
    return (one_line(heading) if of_site else name) or page or one_line(heading)


def readable_text(page: str) -> str:
    """Return the text of a mail's HTML, with its tables as lines, and `>` before quoted parts."""
    soup = _parsed(page)
    for quote in soup.find_all("blockquote"):
        quote.insert_before(f"\n{_QUOTE}\n")
        quote.insert_after(f"\n{_QUOTE_END}\n")
    depth, lines = 0, []
    for line in _visible_text(soup).split("\n"):
        if line in (_QUOTE, _QUOTE_END):
            depth = max(0, depth + (1 if line == _QUOTE else -1))
        else:
            # What a page shows as a line is whole; in a mail's text only a blank line says so.
            lines += ["> " * depth + line, "> " * depth] if depth else [line]
    return tidy("\n".join(lines))


def chapter(data: bytes, path: Path, report: ReadReport) -> list[tuple[str, str]]:
    """Return `(style, block)` of a book's page: "heading", "row" of a table, or "" for a paragraph."""
    declared = _CHARSET.search(data[:4096])
    soup = _parsed(decode(data, path, declared=(declared[1] or declared[2]).decode() if declared else None), report)
    headings = {one_line(each.get_text(" ")) for each in soup.find_all(["h1", "h2", "h3"])}
    blocks = []
    for line in _visible_text(soup).split("\n"):
        style = "heading" if one_line(line) in headings else "row" if is_row(line) else ""
        blocks.append((style, line))
    return blocks


_BLANKS = re.compile(r"[ \t\n\r\f]++")
_AS_PRINTED = ["pre", "textarea", "script", "style", "listing", "xmp"]


def _join_lines(soup: BeautifulSoup) -> bool:
    """Join the lines of a page's source within a text, which are no lines of the page; return whether any was.

    A sentence would end where the source was wrapped.
    """
    from bs4.element import NavigableString

    joined = False
    for text in soup.find_all(string=re.compile("\n")):
        if type(text) is NavigableString and text.strip() and text.find_parent(_AS_PRINTED) is None:
            written = _BLANKS.sub(" ", text)
            block = text.parent
            if block is not None and text.previous_sibling is None and block.name in _PARTING:
                # In a list's item, the blank parts a paragraph from what is above it.
                is_below = block.find_previous_sibling(True) is not None and block.find_parent("li") is not None
                written = written if is_below else written.lstrip()
            text.replace_with(written)
            joined = True
    return joined


def _flatten(soup: BeautifulSoup) -> bool:
    """Take out elements around what is nested too deeply, which stays as it is; return whether there were any.

    Steps that look at all that is inside of each element would take the square of the depth. What is not shown has to
    be gone before, since what hides it may be taken out.
    """
    from bs4 import Tag

    stack: list[tuple[Tag, int]] = [(soup, 0)]
    deep: list[Tag] = []
    outermost: list[Tag] = []
    while stack:
        element, depth = stack.pop()
        stack += [(child, depth + 1) for child in element.children if isinstance(child, Tag)]
        if depth >= DEEPEST_ELEMENTS:
            deep.append(element)
        if depth == DEEPEST_ELEMENTS:
            outermost.append(element)
    heights: dict[int, int] = {}
    with_cells: set[int] = set()
    for element in reversed(deep):  # what is inside of an element comes before it
        inner = [child for child in element.children if isinstance(child, Tag)]
        height = max((heights[id(child)] + 1 for child in inner), default=0)
        if any(id(child) in with_cells or child.name in _CELLS for child in inner):
            with_cells.add(id(element))
        elif element.name in _CELLS and height > _HIGHEST_CELL:
            _put_inner_ones(element, soup, heights, _HIGHEST_CELL - 2)
            height = _HIGHEST_CELL
        heights[id(element)] = height
    too_high = [element for element in outermost if heights[id(element)] > _HIGHEST_KEPT]
    for element in too_high:
        if element.name in _LEFT_OUT:
            element.replace_with(_words_of(element, soup))
        else:
            _put_inner_ones(element, soup, heights, _HIGHEST_KEPT)
            element.name = "div"
    return bool(too_high)


def _words_of(element: Tag, soup: BeautifulSoup) -> Tag:
    """Return an element of the same name that holds the words alone."""
    found = soup.new_tag(element.name)
    found.string = element.get_text(" ")
    return found


def _put_inner_ones(outer: Tag, soup: BeautifulSoup, heights: dict[int, int], highest: int) -> None:
    """Put in the place of what an element holds those elements inside of it that hold few levels of others.

    Args:
        outer: The element.
        soup: The page.
        heights: How many levels of elements each one holds, by its identity.
        highest: The levels that an element may hold to stay whole.
    """
    from bs4 import Tag

    found: list[PageElement] = []
    line: list[PageElement] = []

    def end_line() -> None:
        if any(isinstance(each, Tag) or str(each).strip() for each in line):
            paragraph = soup.new_tag("p")
            paragraph.extend(line)
            found.append(paragraph)
        line.clear()

    # Copies, since each step out of the tree would walk down all that is below it.
    stack: list[PageElement | None] = [None, *reversed(outer.contents)]
    while stack:
        node = stack.pop()
        if node is None:
            end_line()
        elif not isinstance(node, Tag):
            line.append(copy(node))
        elif heights[id(node)] <= highest or node.name in _LEFT_OUT:
            whole = copy(node) if heights[id(node)] <= highest else _words_of(node, soup)
            if node.name in _PARTING:
                end_line()
            (found if node.name in _PARTING else line).append(whole)
        elif node.name in _PARTING:
            end_line()
            stack += [None, *reversed(node.contents)]
        else:
            stack += reversed(node.contents)
    outer.clear()
    # Each step that puts something beside an element looks through all that stand beside it.
    for start in range(0, len(found), _TOGETHER):
        group = soup.new_tag("div")
        group.extend(found[start : start + _TOGETHER])
        outer.append(group)


def _parsed(page: str, report: ReadReport | None = None) -> BeautifulSoup:
    """Return the parsed page, with lists, tables, pictures and check boxes rewritten as text."""
    from bs4 import BeautifulSoup, XMLParsedAsHTMLWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", XMLParsedAsHTMLWarning)
        soup = BeautifulSoup(page, "lxml")
    _drop_hidden(soup)
    _keep_notes(soup)
    open_boxes(soup)
    _flatten(soup)
    report = report or ReadReport()
    _write_in_words(soup, page, report)
    _write_boxes(soup)
    _write_terms(soup)
    _write_lists(soup)
    _number_items(soup)
    for lines in _write_tables(soup):
        report.table(lines)
    _describe_pictures(soup, report)
    return soup


def _write_in_words(soup: BeautifulSoup, page: str, report: ReadReport) -> bool:
    """Put words and signs in the place of what elements say by how they are shown; whether there was any.

    Each kind is looked for in the page's source first, which takes a hundredth of the time of looking through its tree.
    """
    source = page.lower()
    changed = False
    steps: tuple[tuple[tuple[str, ...], Callable[[], bool]], ...] = (
        (("role=row", 'role="row"', "role='row'"), lambda: _mark_tables(soup, _roles(soup))),
        (("table-row",), lambda: _mark_tables(soup, _displays(soup))),
        (("<del", "<s>", "<s ", "<strike"), lambda: _drop_struck(soup, report)),
        (("<abbr", "<acronym"), lambda: _spell_out_short_forms(soup)),
        (("mailto:", "tel:"), lambda: _write_addresses(soup)),
        (("<pre",), lambda: _write_printed_tables(soup)),
        (("<math",), lambda: _write_equations(soup)),
        (("<sup", "noteref"), lambda: _raise_superscripts(soup, has_references="noteref" in source)),
    )
    for signs, write in steps:
        if any(sign in source for sign in signs):
            changed |= write()
    return changed


def _describe_pictures(soup: BeautifulSoup, report: ReadReport) -> bool:
    """Insert the description of each picture that adds something to its caption; return whether there were any."""
    found = False
    for picture in soup.find_all("img"):
        described = one_line(picture.get("alt") or "")
        if len(described.split()) < _DESCRIPTION_WORDS:
            report.count("pictures_without_text")
            continue
        report.count("pictures_described")
        figure = picture.find_parent("figure")
        if figure is not None and described in one_line(figure.get_text(" ")):
            continue
        paragraph = soup.new_tag("p")
        paragraph.string = f"Picture: {described}" if described[-1] in ".!?" else f"Picture: {described}."
        picture.insert_after(paragraph)
        found = True
    return found


def _drop_hidden(soup: BeautifulSoup) -> bool:
    """Remove elements that a browser does not show; style sheets are not evaluated."""
    hidden = [
        element
        for element in soup.find_all(lambda tag: tag.has_attr("hidden") or tag.has_attr("style"))
        if element.has_attr("hidden") or _NOT_SHOWN.search(str(element["style"]))
    ]
    for element in hidden:
        if element.name not in ("html", "body") and not element.decomposed:
            element.decompose()
    return bool(hidden)


def _drop_struck(soup: BeautifulSoup, report: ReadReport) -> bool:
    """Take out what is struck out, which holds no longer: a depth of "7 m 6 m" is none; whether there was any."""
    struck = [each for each in soup.find_all(["del", "s", "strike"]) if one_line(each.get_text())]
    for each in struck:
        if not each.decomposed:
            each.decompose()
    report.leave_out_struck(len(struck))
    return bool(struck)


def _spell_out_short_forms(soup: BeautifulSoup) -> bool:
    """Put what a short form stands for behind it, where the page says that; whether there was any."""
    known: set[str] = set()
    for each in soup.find_all(["abbr", "acronym"], title=True):
        short, whole = one_line(each.get_text()), one_line(str(each["title"]))
        if short and whole and short not in known and whole.casefold() != short.casefold():
            each.append(f" ({whole})")
        known.add(short)
    return bool(known)


def _write_addresses(soup: BeautifulSoup) -> bool:
    """Put the address or the number that a link writes to behind its words, which do not say it."""
    found = False
    for link in soup.find_all("a", href=_WRITES_TO):
        address = unquote(str(link["href"]).split(":", 1)[1].split("?")[0]).strip()
        words = one_line(link.get_text())
        shown = re.sub(r"[\s()/.-]", "", words) if str(link["href"]).lower().startswith("tel:") else words
        if address and words and address.casefold() not in shown.casefold():
            link.append(f" ({address})")
            found = True
    return found


def _write_boxes(soup: BeautifulSoup) -> bool:
    """Replace check boxes by words, before their labels; return whether there were any.

    A form that has only check boxes becomes part of the page's text, since it shows what is ticked. Other empty
    fields are of no use.
    """
    boxes = soup.find_all(lambda tag: tag.get("role") == "checkbox" or _input_kind(tag) in ("checkbox", "radio"))
    labels = {str(label["for"]): label for label in soup.find_all("label", attrs={"for": True})} if boxes else {}
    for each in boxes:
        form = each.find_parent("form")
        if form is not None and not form.find(_is_filled_in):
            form.name = "div"
        is_ticked = each.has_attr("checked") or str(each.get("aria-checked", "")).lower() == "true"
        words = f"{words_for(is_ticked)} "
        label = labels.get(str(each.get("id", "")))
        if label is not None and label.find(lambda tag: tag is each) is None:  # noqa: B023 -- called at once
            label.insert(0, words)
            each.extract()
        elif each.name == "input":
            each.replace_with(words)
        else:
            each.insert(0, words)
    return bool(boxes)


def _input_kind(tag: Tag) -> str:
    """Return the type of an input element; "" for other elements."""
    return str(tag.get("type") or "text").lower() if tag.name == "input" else ""


def _is_filled_in(tag: Tag) -> bool:
    """Return whether an element of a form is for a person to type in, select or press."""
    return tag.name in ("textarea", "select", "button") or _input_kind(tag) not in ("", "checkbox", "radio", "hidden")


def _write_lists(soup: BeautifulSoup) -> bool:
    """Write before each item of a nested list the items around it; return whether there were any.

    The words are added to the item's first text, so that an item that is a link stays one. Items with a heading or a
    long text are skipped: such lists are only layout.
    """
    items = soup.find_all("li")
    above = {id(each): _item_above(each) for each in items}
    texts = {id(each): one_line(" ".join(_own_strings(each))) for each in items}
    found = False
    for each in items:
        parents: list[str] = []
        outer = above[id(each)]
        while outer is not None and len(parents) < DEEPEST:
            if len(texts[id(outer)]) > LONGEST_PARENT or outer.find(_HEADINGS):
                break
            parents.insert(0, texts[id(outer)])
            outer = above.get(id(outer))
        first = next(_own_strings(each), None)
        if first is not None and (written := item_with_parents(parents, texts[id(each)])) != texts[id(each)]:
            lead = written.removesuffix(texts[id(each)])
            first.replace_with(lead + first.lstrip())
            found = True
    return found


_LEAST_NAME = 3
"""Letters of the longest word of a heading."""
_JOINS = re.compile(
    r"(?:only|per|of|and|or|nor|but|than|may|might|must|can|cannot|can't|could|shall|should|will|would|won't|is|isn't|are"
    r"|aren't|was|were|be|been|has|have|had|does|doesn't|did)",
    re.IGNORECASE,
)
"""Words that go on with a lead, also with a capital letter: "Members / Only may enter"."""
_OPEN_END = re.compile(
    r"(?:an?|the|to|in|on|at|by|for|from|with|without|as|if|that|which|who|not?|never|always|also|just|even|please|do"
    r"|don't|costs?|needs?|takes?|gets?|pays?|call|makes?|includes?|allows?|requires?|contains?|up|until|till|under|over"
    r"|between|about|after|before|their|your|our|its|my|his|her|this|these|those|every|each|any|all|both|we|you|they|it)",
    re.IGNORECASE,
)
"""Further words that no heading ends with: "Do not", "Bread costs"."""


def _part_leads(soup: BeautifulSoup) -> bool:
    """Put a full stop or a blank between the paragraphs of a list's item, which is read as one line; whether any.

    A heading, or a bold paragraph, of an item is not the beginning of its first sentence: "Websites. SQLite works".
    """
    found = False
    for item in soup.find_all("li"):
        # To put one text in the place of another takes as long as it has siblings.
        strings = [each for each in _own_strings(item) if each.parent and len(each.parent.contents) <= _MOST_SIBLINGS]
        owners = [_block_of(each, item) for each in strings]
        texts: dict[int, list[NavigableString]] = {}
        for each, block in zip(strings, owners, strict=True):
            texts.setdefault(id(block), []).append(each)
        for (text, owner), (below, other) in pairwise(zip(strings, owners, strict=True)):
            if "pre" in (owner.name, other.name) or (owner is other and not _has_break(text, below)):
                continue
            before, after = text.rstrip(), below.lstrip()
            own = texts[id(owner)]
            is_lead = owner not in (item, other) and own[-1] is text and _is_lead(owner, own)
            text.replace_with(f"{before}. " if is_lead and _begins_anew(after) else f"{before} ")
            found = True
            for block in (owner, other):
                # The extraction takes the blank away at the end of such an element.
                if block.name == "div" and block.find(_WITHIN_LINES_NOT) is None:
                    block.name = "span"
    return found


def _block_of(text: NavigableString, item: Tag) -> Tag:
    """Return the block element of a list's item that a text is directly in."""
    return next((each for each in text.parents if each is item or each.name in _PARTING), item)


def _has_break(text: NavigableString, below: NavigableString) -> bool:
    """Return whether a line ends between two texts."""
    for each in text.next_elements:
        if each is below:
            return False
        if getattr(each, "name", None) == "br":
            return True
    return False


def _is_lead(block: Tag, texts: Sequence[NavigableString]) -> bool:
    """Return whether a block with some texts is a heading by its name, or since all of them are bold.

    The first words of a sentence are none ("Do not", "Bread costs"), nor is an amount.
    """
    is_bold = all(any(each.name in ("b", "strong") for each in text.parents) for text in texts)
    written = one_line(" ".join(texts))
    names = re.findall(r"[^\W\d_]+(?:['’][^\W\d_]+)*", written)
    if not names or not written[-1].isalnum() or not written[0].isupper() or _is_of_sentence(names[-1]):
        return False
    return max(map(len, names)) >= _LEAST_NAME and (
        block.name in _HEADINGS or (is_bold and sum(map(len, texts)) <= LONGEST_PARENT)
    )


def _is_of_sentence(word: str) -> bool:
    """Return whether a word ends no heading."""
    plain = word.replace("’", "'")
    return _JOINS.fullmatch(plain) is not None or _OPEN_END.fullmatch(plain) is not None


def _begins_anew(text: str) -> bool:
    """Return whether a text begins with a capital, and with a word that does not go on with a lead."""
    first = re.split(r"[^\w'’]", text, maxsplit=1)[0].replace("’", "'")
    return text[0].isupper() and _JOINS.fullmatch(first) is None


def _spell_out_lists(soup: BeautifulSoup) -> bool:
    """Replace each list item by a paragraph with its mark; return whether there were any.

    Trafilatura drops lists of short items, such as what an insurance plan covers. Lists of links and lists with
    other elements are unchanged: they lead to other pages, or are only layout. Links that are what the text says, by
    their words or by the sentence above them, count as other words do.
    """
    found = False
    for outer in soup.find_all(["ul", "ol"]):
        if outer.decomposed or any(each.name in _NO_TEXT_AROUND for each in outer.parents):
            continue
        items = outer.find_all("li")
        numbers = _numbers(outer)
        length = len(one_line(outer.get_text(" ")))
        links = sum(len(one_line(link.get_text(" "))) for link in outer.find_all("a") if not says_its_address(link))
        if not items or outer.find(_MORE_THAN_WORDS) or (links > _LINKS * length and not is_announced(outer)):
            continue
        for item in items:
            mark = numbers.get(id(item), "-")
            if text := one_line("".join(_own_strings(item, behind=True))):
                paragraph = soup.new_tag("p")
                paragraph.string = text if text.startswith((TICKED, NOT_TICKED, CROSSED)) else f"{mark} {text}"
                outer.insert_before(paragraph)
        outer.decompose()
        found = True
    return found


def _numbers(outer: Tag) -> dict[int, str]:
    """Return the numbers of the items of a list and of those in it, as a browser counts them, by their identity."""
    found = {}
    for each in [outer, *outer.find_all("ol")]:
        if each.name != "ol":
            continue
        items = each.find_all("li", recursive=False)
        step = -1 if each.has_attr("reversed") else 1
        number = _whole(each.get("start"), len(items) if step < 0 else 1)
        for item in items:
            number = _whole(item.get("value"), number)
            letter = chr(96 + number) if 0 < number <= _LETTERS else ""
            kind = str(each.get("type", "1"))
            shown = letter if kind == "a" else letter.upper() if kind == "A" else ""
            found[id(item)] = f"{shown or number}."
            number += step
    return found


def _whole(text: object, default: int) -> int:
    written = str(text).strip()
    return int(written) if re.fullmatch(r"-?\d{1,6}", written) else default


def _number_items(soup: BeautifulSoup) -> None:
    """Put the numbers of numbered lists before their items, which no text has."""
    for outer in soup.find_all("ol"):
        if outer.find_parent("ol") is not None:
            continue
        numbers = _numbers(outer)
        for item in outer.find_all("li"):
            first = next(_own_strings(item), None)
            if first is not None and id(item) in numbers:
                first.replace_with(f"{numbers[id(item)]} {first.lstrip()}")


def _item_above(item: Tag) -> Tag | None:
    """Return the list item that contains an item's list; for a list between items, the item before it."""
    around = next((each for each in item.parents if each.name in ("ul", "ol")), None)
    if around is None or around.parent is None:
        return None
    if around.parent.name in ("ul", "ol"):
        return around.find_previous_sibling("li")
    outer = next((each for each in around.parents if each.name in ("li", "td", "th", "ul", "ol")), None)
    return outer if outer is not None and outer.name == "li" else None


def _own_strings(item: Tag, *, behind: bool = False) -> Iterator[NavigableString]:
    """Yield the texts of a list's item up to the list inside of it, on request those behind that, too."""
    from bs4.element import NavigableString, Tag

    stack: list[object] = list(reversed(item.contents))
    while stack:
        node = stack.pop()
        if isinstance(node, Tag):
            if node.name in ("ul", "ol", "table"):
                if behind:
                    continue
                return
            stack += [] if node.name in _INVISIBLE else list(reversed(node.contents))
        elif type(node) is NavigableString and node.strip():
            yield node


def _write_terms(soup: BeautifulSoup) -> bool:
    """Replace lists of terms by a paragraph "term: description" each; return whether there were any.

    Terms without a description and lists with other elements are unchanged.
    """
    found = False
    for terms in soup.find_all("dl"):
        entries = [each for each in terms.find_all(["dt", "dd"]) if each.find_parent("dl") is terms]
        if terms.find(["dl", "table", "ul", "ol", "pre", "h1", "h2", "h3"]) or not entries:
            continue
        names: list[str] = []
        lines: list[str] = []
        before = ""
        for each in entries:
            text = one_line(each.get_text(" "))
            if each.name == "dt":
                names = [*(names if before == "dt" else []), text]
            elif names and text:
                name = ", ".join(filter(None, names)).rstrip(" :")
                lines.append(f"{name} {text}" if name.endswith(("?", "!", ".")) else f"{name}: {text}")
            before = each.name
        if lines and all(name.name != "dt" or name.get_text().strip() for name in entries) and before == "dd":
            for line in lines:
                paragraph = soup.new_tag("p")
                paragraph.string = line
                terms.insert_before(paragraph)
            terms.decompose()
            found = True
    return found


def _properties(soup: BeautifulSoup) -> dict[str, list[str]]:
    """Return the contents of the page's `meta` elements by lower-case name."""
    found: dict[str, list[str]] = {}
    for element in soup.find_all("meta"):
        name = element.get("name") or element.get("property") or element.get("itemprop")
        content = one_line(element.get("content") or "")
        if name and content:
            found.setdefault(str(name).lower(), []).append(content)
    return found


def _names(contents: list[str]) -> tuple[str, ...]:
    """Return the authors that are given by name, without addresses of profiles."""
    return people([name for name in contents if not name.startswith(("http:", "https:"))])


def _first_of(properties: dict[str, list[str]], names: Sequence[str]) -> str:
    """Return the first value of the first of some properties that has one; "" if none has."""
    return next((value for name in names if (value := _first(properties, name))), "")


def _first(properties: dict[str, list[str]], key: str) -> str:
    """Return the first value of a property; "" without one."""
    return properties.get(key, [""])[0]


def _canonical(soup: BeautifulSoup) -> str:
    """Return the page's own address if it declares one; else ""."""
    for element in soup.find_all("link"):
        if "canonical" in (element.get("rel") or []) and str(element.get("href", "")).startswith("http"):
            return str(element["href"])
    return ""


def _mark_tables(soup: BeautifulSoup, parts: Iterable[tuple[Tag, str]]) -> bool:
    """Make elements that are shown as parts of a table such parts by their names; return whether there were any."""
    named = list(parts)
    cells = {id(element) for element, name in named if name in _CELLS}
    rows = [element for element, name in named if name == "tr"]
    if sum(sum(id(child) in cells for child in row.children) > 1 for row in rows) < _LEAST_ROWS:
        return False  # a page that is laid out so, in one row
    for element, name in named:
        element.name = name
    return True


def _roles(soup: BeautifulSoup) -> Iterator[tuple[Tag, str]]:
    """Yield the elements that say that they are a table, its rows and cells, with the names of such elements."""
    for element in soup.find_all(role=True):
        if name := _PART_OF_ROLE.get(str(element["role"]).lower()):
            yield element, name


def _displays(soup: BeautifulSoup) -> Iterator[tuple[Tag, str]]:
    """Yield the elements that a page's styles show as a table, its rows and cells, with the names of such elements."""
    sheet = "\n".join(style.get_text() for style in soup.find_all("style"))
    shown = {
        selector.strip(): _PART_OF_DISPLAY[match[2].lower()]
        for match in _DISPLAY.finditer(sheet)
        for selector in match[1].split(",")
    }
    for element in soup.find_all(["div", "span", "ul", "ol", "li", "section", "dl", "dt", "dd"]):
        own = _OWN_DISPLAY.search(str(element.get("style", "")))
        classes = [f".{each}" for each in element.get("class") or []]
        names = [*classes, *(f"{element.name}{each}" for each in classes), element.name]
        part = _PART_OF_DISPLAY[own[1].lower()] if own else next((shown[name] for name in names if name in shown), "")
        if part:
            yield element, part


def _write_tables(soup: BeautifulSoup) -> list[list[str]]:
    """Replace tables of data by lines, one paragraph for each row; return the lines of each table."""
    found: list[list[str]] = []
    tables = soup.find_all("table")
    layout = [table for table in tables if table.find("table")]
    targets: dict[str, Tag] = {}
    for table in tables:
        if any(table is each for each in layout) or table.get("role") == "presentation" or _is_navigation(table):
            continue
        _raise_marks(table, soup, targets)
        rows = table.find_all("tr")
        cells = [row.find_all(["th", "td"], recursive=False) for row in rows]
        texts = [[cell.get_text(" ", strip=True) for cell in row] for row in cells]
        filled = [row for row in texts if sum(map(bool, row)) > 1]
        if len(filled) < 2 or max(len(text) for row in texts for text in row) > _LONGEST_CELL:
            continue
        spans = [
            [(text, _span(cell, "colspan"), _span(cell, "rowspan")) for cell, text in zip(row, line, strict=True)]
            for row, line in zip(cells, texts, strict=True)
        ]
        marked = [all(cell.name == "th" for cell in row) and len(row) > 0 for row in cells]
        header = marked.index(False) if False in marked else 0
        caption = table.find("caption")
        lines = table_lines(
            expand_spans(spans),
            caption=caption.get_text(" ", strip=True) if caption else "",
            header_rows=header or None,
        )
        for line in lines:
            paragraph = soup.new_tag("p")
            paragraph.string = line
            table.insert_before(paragraph)
        table.decompose()
        found.append(lines)
    for table in layout if found else ():
        _write_labelled_rows(table, soup)
        # What laid out the page must not become a table around the rows.
        for element in (table, *table.find_all(["tbody", "thead", "tr", "td", "th"])):
            element.name = "div"
    return found


def _is_navigation(table: Tag) -> bool:
    """Return whether a table has links and stands in a page's navigation, or is named so and is mostly links."""
    links = table.find_all("a", href=True)
    if not links:
        return False
    if table.find_parent("nav") is not None or (table.parent is not None and _is_named(table.parent)):
        return True
    linked = sum(len(squash(link.get_text())) for link in links)
    return _is_named(table) and linked >= MOSTLY_LINKS * len(squash(table.get_text()))


def _is_named(element: Tag) -> bool:
    """Return whether an element's tag, classes or id say that it leads to other pages."""
    names = (element.name, *(element.get("class") or ()), element.get("id"))
    return any(_NAVIGATION.fullmatch(str(name)) for name in names)


def _count_tables(tables: list[list[str]], text: str, report: ReadReport) -> None:
    """Count the tables and rows that a page's text has, and note those that it lacks."""
    known = frozenset(squash(line) for line in text.split("\n"))
    lost = 0
    for lines in tables:
        kept = [line for line in lines if squash(line) in known]
        report.table(kept)
        lost += bool(lines) and not kept
    if lost:
        report.leave_out("1 table" if lost == 1 else f"{lost:,} tables", "not in the main part of the page")


def _raise_superscripts(soup: BeautifulSoup, *, has_references: bool) -> bool:
    """Write what stands above the line of a text above it: "10<sup>8</sup>" is no 108; whether there was any.

    Marks in tables are those of their notes, which `_raise_marks` writes.
    """
    found = False
    marks = list(soup.find_all("sup"))
    for kind in ("epub:type", "role") if has_references else ():
        marks += [each for each in soup.find_all("a", attrs={kind: _NOTE_REFERENCE}) if each.find("sup") is None]
    for mark in marks:
        before = mark.find_previous(string=True)
        if before is None or mark.find_parent("table") is not None:
            continue
        text = mark.get_text()
        if (written := raised_behind(str(before)[-4:], text)) != text:
            mark.replace_with(written)
            found = True
    if found:
        soup.smooth()
    return found


def _write_printed_tables(soup: BeautifulSoup) -> bool:
    """Put rows in the place of tables whose columns are parted by spaces in text that stands as it is typed."""
    found = False
    for each in soup.find_all("pre"):
        before = each.get_text().split("\n")
        lines = with_rows(before)
        if lines != before and any(map(is_row, lines)):
            for line in filter(str.strip, lines):
                paragraph = soup.new_tag("p")
                paragraph.string = line
                each.insert_before(paragraph)
            each.decompose()
            found = True
    return found


def _write_equations(soup: BeautifulSoup) -> bool:
    """Put a line in the place of each equation in MathML, whose parts alone make three quarters 34."""
    found = False
    inside: set[int] = set()
    for each in soup.find_all("math"):
        if id(each) in inside:  # Of an equation within another one; each would be read once for each around it.
            continue
        inside |= {id(inner) for inner in each.find_all("math")}
        try:
            line = mathml_line(parse_xml(str(each).encode()))
        except XMLSyntaxError:
            continue
        if line:
            each.replace_with(line)
            found = True
    return found


def _raise_marks(table: Tag, soup: BeautifulSoup, targets: dict[str, Tag]) -> None:
    """Write superscripts after words and figures as raised characters, and insert notes into cells.

    Args:
        table: The table.
        soup: The page.
        targets: The page's elements by their `id`; filled when the first mark links to one.
    """
    marks = table.find_all("sup")
    for mark in marks:
        text = one_line(mark.get_text())
        if (written := raised(text)) != text:
            mark.replace_with(written)
    links = [link for link in table.find_all("a", href=True) if str(link["href"]).startswith("#")]
    for link in links:
        named = one_line(link.get_text())
        if not 0 < len(named) <= _LONGEST_MARK or _CITATION.fullmatch(named):
            continue
        targets |= {} if targets else {str(each["id"]): each for each in soup.find_all(id=True)}
        note = targets.get(str(link["href"])[1:])
        if note is None or any(each is note for each in link.parents):
            continue
        words = one_line(note.get_text(" ")).strip("↩\ufe0e^ ").removeprefix(named).strip(" .:")
        if written := with_note(named, words).removeprefix(named):
            link.replace_with(written)
    if marks or links:
        table.smooth()


def _keep_notes(soup: BeautifulSoup) -> None:
    """Turn notes of books and pages into ordinary text, which the extraction would leave out."""
    for aside in soup.find_all("aside"):
        if _NOTE_KIND.search(f"{aside.get('epub:type', '')} {aside.get('role', '')}"):
            aside.name = "div"


def _write_labelled_rows(table: Tag, soup: BeautifulSoup) -> None:
    """Replace rows of a label and a value, as in an infobox, by "label: value".

    Otherwise the extraction would drop them, since blocks of a few words look like navigation.
    """
    for row in table.find_all("tr"):
        cells = row.find_all(["th", "td"], recursive=False)
        texts = [cell.get_text(" ", strip=True) for cell in cells]
        if [cell.name for cell in cells] == ["th", "td"] and all(0 < len(text) <= _LONGEST_CELL for text in texts):
            paragraph = soup.new_tag("p")
            paragraph.string = ": ".join(texts)
            row.replace_with(paragraph)


def _span(cell: Tag, name: str) -> int:
    """Return how many columns or rows a cell spans."""
    return whole_number(str(cell.get(name, "1")).strip(), 1)


def _main_text(page: str, soup: BeautifulSoup) -> str:
    """Return trafilatura's extract; the visible text if the extract is short and that is much longer."""
    import trafilatura

    extract = trafilatura.extract(page, favor_recall=True, include_comments=False, include_tables=True) or ""
    main = tidy("\n".join(_table_row(line) for line in extract.split("\n") if not _RULE.fullmatch(line)))
    visible = _visible_text(soup)
    if len(main) >= _ENOUGH_CHARACTERS and len(main) >= _ENOUGH_SHARE * len(visible):
        return tidy(with_lost_content(main, soup))
    return visible if len(visible) > len(main) else main


def _with_footers(text: str, soup: BeautifulSoup) -> str:
    """Return a page's text with the lines of its footers that state something: "Updated 7 April by Ann".

    What is only a link, and who has the copyright, is left out with the rest of a footer.
    """
    known = frozenset(one_line(line) for line in text.split("\n"))
    written = squash(text)
    lines: dict[str, None] = {}
    for footer in soup.find_all(_is_footer, limit=_MOST_FOOTERS):
        if footer.find_parent("template") is not None or footer.find_parent(_is_footer) is not None:
            continue
        links = frozenset(one_line(link.get_text(" ")) for link in footer.find_all("a"))
        for line in _visible_text(_parsed(footer.decode_contents())).split("\n"):
            for own in map(one_line, [line] if one_line(line) in links else _FOOT_PARTS.split(line)):
                is_known = own in known or (footer.name != "footer" and squash(own) in written)
                if _states(own, links) and own not in links and not is_known and len(own) <= _LONGEST_FOOT:
                    lines[own] = None
    return "\n\n".join([text, *lines]) if text else "\n".join(lines)


def _is_footer(element: Tag) -> bool:
    """Return whether an element is a footer by its tag, or by its class or id."""
    names = (*(element.get("class") or ()), element.get("id")) if element.name == "div" else ()
    return element.name == "footer" or any(_FOOT.fullmatch(str(name)) for name in names)


def _states(line: str, links: Collection[str]) -> bool:
    """Return whether a footer's line states something: a figure, a sentence without a link, or where to write to."""
    if _COPYRIGHT.search(line):
        return False
    is_sentence = line.endswith((".", "!", "?")) and not any(link in line for link in links if link)
    says = is_sentence or _MAIL.search(line) is not None
    return any(map(str.isdigit, line)) or (says and len(line.split()) >= _FOOT_WORDS)


def _table_row(line: str) -> str:
    """Return a Markdown table row without its frame and empty cells; any other line unchanged."""
    if not (line.startswith("|") and line.rstrip().endswith("|")):
        return line
    return BAR.join(cell.strip() for cell in line.strip("| ").split("|") if cell.strip())


def _visible_text(soup: BeautifulSoup) -> str:
    """Return the page's text without navigation, one line for each block element.

    The tree is walked, not changed: placing a line break beside an element takes as long as it has siblings.
    """
    from bs4.element import CData, NavigableString, Tag

    pieces: list[str] = []
    stack: list[tuple[PageElement | str, bool]] = [(soup, False)]  # with whether white space counts
    while stack:
        node, as_it_stands = stack.pop()
        if isinstance(node, Tag):
            if node.name in _LEFT_OUT_OF_TEXT:
                continue
            before = "\n" if node.name in _LINES else ""
            cell = node.name in ("td", "th") and node.find_next_sibling(["td", "th"]) is not None
            pieces.append(before)
            stack.append((f"{' | ' if cell else ''}{before}", True))
            inner = as_it_stands or node.name == "pre"
            stack += [(each, inner) for each in reversed(node.contents)]
        elif type(node) in (str, NavigableString, CData):
            pieces.append(str(node) if as_it_stands else re.sub(r"\s+", " ", str(node)))
    lines = (re.sub(r"[^\S\n]+", " ", line).strip() for line in "".join(pieces).split("\n"))
    return tidy("\n".join(line for line in lines if line and line.strip("| ")))
