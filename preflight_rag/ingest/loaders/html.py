"""Load HTML: the main content found by trafilatura, or the whole visible text where that finds too little."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from copy import copy
from itertools import chain, pairwise
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
"""The character encoding that a page declares in a `meta` element or an XML declaration."""
_DECLARATION_BYTES = 4_096
"""Bytes at the beginning of a page that are searched for the declaration of its encoding."""
_TABLE_RULE = re.compile(r"\|(?:\s*:?-+:?\s*\|)+")
"""The line of dashes below the header of a Markdown table: "|---|:-:|"."""
_JSON_PUBLISHED = re.compile(r'"datePublished"\s*:\s*"([^"]{4,40})"')
_JSON_CHANGED = re.compile(r'"dateModified"\s*:\s*"([^"]{4,40})"')
"""The dates of publication and of the last change in a page's JSON-LD."""
_DATE_PROPERTIES = (
    *("article:published_time", "citation_publication_date", "citation_date", "dc.date.issued", "dc.date"),
    *("dcterms.created", "dcterms.date", "date", "pubdate", "datepublished", "article:modified_time"),
)
"""Names of `meta` elements that hold the date of a page, the most reliable one first."""
_AUTHOR_PROPERTIES = ("citation_author", "author", "dc.creator", "dcterms.creator", "article:author")
_PROPERTIES_OF_FIELDS = {
    "description": ("description",),
    "keywords": ("keywords",),
    "journal": ("citation_journal_title", "prism.publicationname"),
    "doi": ("citation_doi", "prism.doi", "dc.identifier.doi"),
    "pmid": ("citation_pmid",),
    "publisher": ("citation_publisher", "dc.publisher", "og:site_name"),
    "volume": ("citation_volume",),
    "issue": ("citation_issue",),
}
"""Names of `meta` elements by the metadata field that they fill."""
_BLOCK_ELEMENTS = (
    "address article aside blockquote body caption dd div dl dt fieldset figcaption figure footer form h1 h2 h3 h4 h5 "
    "h6 header hr li main nav ol p pre section summary table tr ul title option"
)
_INVISIBLE_ELEMENTS = ("script", "style", "noscript", "template", "svg", "head", "iframe", "object")
_HIDING_STYLE = re.compile(
    r"(?:^|[;\s])(?:display\s{0,9}:\s{0,9}none|visibility\s{0,9}:\s{0,9}(?:hidden|collapse)"
    r"|(?:font-size|opacity)\s{0,9}:\s{0,9}0(?:\.0+)?(?:px|pt|em|rem|%)?\s{0,9}(?:;|!|$))",
    re.IGNORECASE,
)
"""A `style` attribute by which a browser shows nothing of an element: "display: none", but not "display: block"."""
_BOILERPLATE = ("nav", "footer", "aside", "form", "button", "select")  # elements around no text of the page
_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_LINE_ELEMENTS = frozenset((*_BLOCK_ELEMENTS.split(), "br"))
"""Elements before and after which a new line of the page's text begins."""
_NON_TEXT_ELEMENTS = frozenset((*_INVISIBLE_ELEMENTS, *_BOILERPLATE))
_CITATION_MARK = re.compile(r"\[\d+\]")
"""The mark of a reference, "[12]": it names the source of a table's cell and does not explain the cell."""
MINIMUM_LINK_SHARE_OF_NAVIGATION = 0.5
"""Minimum share of a table's characters within links for it to be navigation; a guess."""
_NAVIGATION_NAME = re.compile(r"nav(?:igation|bar|header|footer|links?)?|breadcrumbs?|pag(?:er|ination)", re.IGNORECASE)
"""A tag, class or id of an element that links to other pages."""
_NOTE_TYPE = re.compile(r"\b(?:foot|end|rear)notes?\b")
"""The `epub:type` or `role` of an `aside` that is a note."""
_PARENTS_OF_KEPT_LISTS = frozenset(("ul", "ol", *_BOILERPLATE, "header", "menu", "td", "th"))
"""Elements whose lists are not replaced by paragraphs: they are no page text, or the list is part of an outer one."""
_QUOTE_START_MARK, _QUOTE_END_MARK = "\ue000", "\ue001"
"""Lines that stand where a quoted part of a mail begins and ends: private-use characters, which no page has."""
_MINIMUM_DESCRIPTION_WORDS = 4
"""Minimum number of words of a picture's description; shorter ones are names of buttons and logos. A guess."""
_MAXIMUM_MARK_LENGTH = 4
"""Maximum characters of a link in a cell that is the mark of a note: "1", "[a]"; a guess."""
_MAXIMUM_CELL_LENGTH = 400
"""Maximum characters of a cell of a data table; a table with longer cells lays out a page. A guess."""
_NOTE_REFERENCE = re.compile(r"noteref")
"""The `epub:type` or `role` of a link to a note, which is shown as a superscript."""
_CONTACT_LINK = re.compile(r"^(?:mailto|tel):[^\s?]", re.IGNORECASE)
"""The address of a link that writes a mail or calls a number."""
_ALPHABET_LENGTH = 26
_LEGAL_NOTICE = re.compile(r"©|\(c\)|\b(?:copyright|all rights reserved|cookies?|imprint)\b", re.IGNORECASE)
_FOOTER_SEPARATOR = re.compile(r"\s[·•|]\s")
"""A sign between independent parts of a footer's line: "Imprint · Updated on 7 April"."""
_FOOTER_NAME = re.compile(r"(?:page-?|site-?|mail-?)?foot(?:er)?", re.IGNORECASE)
"""A class or id of a footer: "footer", "page-foot"."""
_MAIL_ADDRESS = re.compile(r"[\w.+-]{1,64}@[\w-]{1,64}\.\w")
_MINIMUM_FOOTER_WORDS = 5
"""Minimum words of a footer's sentence without a digit; "Follow us!" has fewer. A guess."""
_MAXIMUM_FOOTERS = 20
"""Maximum number of footers of a page that are read; a guess."""
_MAXIMUM_FOOTER_LENGTH = 300
"""Maximum characters of a footer's statement; a guess."""
_MAXIMUM_LINK_SHARE = 0.5
"""Maximum share of a list's characters within links; menus have more. A guess."""
_LAYOUT_ELEMENTS = [*_HEADINGS, "table", "pre", "img", "div", "section", "article", "dl", "form"]
"""Elements that a list of plain items does not contain: a list with one of them lays out the page."""
_MINIMUM_EXTRACT_LENGTH = 300
_MINIMUM_EXTRACT_SHARE = 0.3
"""Minimum characters of an extract, and minimum share of the visible text, for it to be used; both are guesses."""
_TITLE_SEPARATOR = re.compile(r"\s[|–—·»-]\s")
"""A sign between a page's title and its site's name: "Prices | The shop"."""
MAXIMUM_DEPTH = 120
"""Levels of nested elements that stay as they are; a guess, four times as many as real pages have."""
_MAXIMUM_HEIGHT, _MAXIMUM_CELL_HEIGHT = 20, 12
"""Levels of elements that an element (a table's cell) below `MAXIMUM_DEPTH` may contain to stay whole; guesses."""
_BLOCKS_PER_GROUP = 200
"""Number of flattened blocks that become siblings in one `div`; a guess."""
_TABLE_ELEMENTS = ("table", "td", "th")
_MINIMUM_ROWS = 2
"""Minimum rows with several cells for elements that are displayed as a table to be one."""
_TABLE_ELEMENT_OF_ROLE = {
    **dict.fromkeys(("table", "grid", "treegrid"), "table"),
    "row": "tr",
    **dict.fromkeys(("cell", "gridcell", "rowheader"), "td"),
    "columnheader": "th",
}
_TABLE_ELEMENT_OF_DISPLAY = {"table": "table", "table-row": "tr", "table-cell": "td"}
"""Names of a table's elements by the `role` and by the CSS `display` of other elements that stand for them."""
_TABLE_DISPLAY_RULE = re.compile(
    r"(?<![^{}])([^{}]{1,200})\{[^{}]{0,2000}?display\s{0,4}:\s{0,4}(table(?:-row|-cell)?)\s{0,4}[;}!]", re.IGNORECASE
)
"""A rule of a style sheet that displays elements as a table, its rows or cells: ".r{display:table-row}"."""
_TABLE_DISPLAY_STYLE = re.compile(r"display\s{0,4}:\s{0,4}(table(?:-row|-cell)?)\s{0,4}(?:;|$)", re.IGNORECASE)
_PARAGRAPH_BREAKING = frozenset((*_BLOCK_ELEMENTS.split(), "tbody", "thead", "tfoot", "td", "th"))
"""Elements that interrupt a paragraph: the text before and the text after them are not one."""
_MAXIMUM_SIBLINGS = 1_000
"""Maximum siblings of a text of a list item that is still rewritten, since a replacement searches them; a guess."""
_LINE_BREAKING = sorted((_PARAGRAPH_BREAKING | {"br", "img"}) - {"option", "title"})
"""Elements that a single line of text does not contain."""
_REMOVED_ELEMENTS = frozenset((*_INVISIBLE_ELEMENTS, *_BOILERPLATE, "del", "s", "strike")) - {"form"}
"""Elements that are removed with their contents. Forms are judged by their contents instead."""


def load_html(path: Path, max_bytes: int) -> Iterator[Document]:
    """Yield a web page as one document with its declared metadata; raise an error if it has more than `max_bytes`."""
    data = read_bytes(path, max_bytes)
    page = decode(data, path, declared=_declared_encoding(data))
    soup = _parse_page(page)
    properties = _meta_properties(soup)
    heading = soup.find("h1")
    title = soup.title.get_text() if soup.title else ""
    date = next((found for key in _DATE_PROPERTIES if (found := iso_date(_first_value(properties, key)))), None)
    # A page of a wiki was begun long before most of its text was written, so its date is that of the last change.
    is_wiki_page = _first_value(properties, "generator").startswith("MediaWiki")
    json_date = (_JSON_CHANGED.search(page) if is_wiki_page else None) or _JSON_PUBLISHED.search(page)
    report = ReadReport()
    is_rewritten = (
        _remove_hidden_elements(soup)
        | _flatten_deep_elements(soup)
        | _rewrite_marked_up_elements(soup, page, report)
        | _replace_check_boxes(soup)
        | make_paragraphs(soup, page.lower())
        | _join_source_lines(soup)
        | _replace_description_lists(soup)
        | _separate_item_paragraphs(soup)
        | _prefix_nested_items(soup)
        | _replace_lists_by_paragraphs(soup)
    )
    tables = _replace_tables_by_lines(soup)
    if _describe_pictures(soup, report) or tables or is_rewritten:
        page = str(soup)
    address = _canonical_address(soup)
    text = _append_footer_lines(without_menus(_main_text(page, soup), soup), soup)
    _report_tables(tables, text, report)
    metadata = {field: _first_value_of_any(properties, names) for field, names in _PROPERTIES_OF_FIELDS.items()}
    metadata["url"] = address
    yield file_document(
        path,
        text,
        title=_page_title(_first_value(properties, "og:title"), title, heading.get_text(" ") if heading else ""),
        date=date or (iso_date(json_date[1]) if json_date else None),
        authors=next((names for key in _AUTHOR_PROPERTIES if (names := _author_names(properties.get(key, [])))), ()),
        metadata={field: value for field, value in metadata.items() if value},
        report=report,
    )


def _declared_encoding(data: bytes) -> str | None:
    """Return the name of the encoding that the beginning of a page declares; None if it declares none."""
    declaration = _CHARSET.search(data[:_DECLARATION_BYTES])
    return (declaration[1] or declaration[2]).decode() if declaration else None


def _parse_page(page: str) -> BeautifulSoup:
    """Return the parsed source of a page, without the warning that XHTML looks like XML."""
    from bs4 import BeautifulSoup, XMLParsedAsHTMLWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", XMLParsedAsHTMLWarning)
        return BeautifulSoup(page, "lxml")


def _page_title(shared_title: str, window_title: str, heading: str) -> str:
    """Return the title of a page: the shared one (`og:title`), else the window's title, else the first heading.

    The heading is also returned where the shared title is only the site's name: "Prices" of a page whose window is
    titled "Prices | The shop" and whose shared title is "The shop".
    """
    shared_title, window_title, heading = one_line(shared_title), one_line(window_title), one_line(heading)
    parts = [part.strip() for part in _TITLE_SEPARATOR.split(window_title)]
    is_name_of_site = (
        len(parts) > 1 and shared_title in (parts[0], parts[-1]) and heading in parts and heading != shared_title
    )
    return (heading if is_name_of_site else shared_title) or window_title or heading


def readable_text(page: str) -> str:
    """Return the text of a mail's HTML, with its tables as lines, and ">" before the lines of quoted parts."""
    soup = _parse_and_rewrite(page)
    for quote in soup.find_all("blockquote"):
        quote.insert_before(f"\n{_QUOTE_START_MARK}\n")
        quote.insert_after(f"\n{_QUOTE_END_MARK}\n")
    depth, lines = 0, []
    for line in _visible_text(soup).split("\n"):
        if line == _QUOTE_START_MARK:
            depth += 1
        elif line == _QUOTE_END_MARK:
            depth = max(0, depth - 1)
        elif depth:
            # A line of a page is a whole paragraph; in the text of a mail, only a blank line ends a paragraph.
            lines += ["> " * depth + line, "> " * depth]
        else:
            lines.append(line)
    return tidy("\n".join(lines))


def read_chapter_blocks(data: bytes, path: Path, report: ReadReport) -> list[tuple[str, str]]:
    """Return the lines of a book's page as `(style, line)`; the style is "heading", "row" (of a table) or ""."""
    soup = _parse_and_rewrite(decode(data, path, declared=_declared_encoding(data)), report)
    headings = {one_line(heading.get_text(" ")) for heading in soup.find_all(["h1", "h2", "h3"])}
    blocks = []
    for line in _visible_text(soup).split("\n"):
        style = ""
        if one_line(line) in headings:
            style = "heading"
        elif is_row(line):
            style = "row"
        blocks.append((style, line))
    return blocks


_WHITE_SPACE = re.compile(r"[ \t\n\r\f]++")
_PREFORMATTED = ["pre", "textarea", "script", "style", "listing", "xmp"]


def _join_source_lines(soup: BeautifulSoup) -> bool:
    """Replace line breaks of the page's source within texts by blanks; return whether there were any.

    A browser shows no such breaks; if they stayed, sentences would seem to end where the source was wrapped.
    Preformatted texts are unchanged.
    """
    from bs4.element import NavigableString

    is_changed = False
    for text in soup.find_all(string=re.compile("\n")):
        if type(text) is NavigableString and text.strip() and text.find_parent(_PREFORMATTED) is None:
            joined_text = _WHITE_SPACE.sub(" ", text)
            block = text.parent
            if block is not None and text.previous_sibling is None and block.name in _PARAGRAPH_BREAKING:
                # Within a list item, the leading blank separates a paragraph from the element above it.
                is_below = block.find_previous_sibling(True) is not None and block.find_parent("li") is not None
                joined_text = joined_text if is_below else joined_text.lstrip()
            text.replace_with(joined_text)
            is_changed = True
    return is_changed


def _flatten_deep_elements(soup: BeautifulSoup) -> bool:
    """Remove superfluous levels of elements below `MAXIMUM_DEPTH`, and keep their texts; return whether there were any.

    Later steps look at all descendants of each element, which would take time in the square of the depth. Call
    `_remove_hidden_elements` before, since an element that hides its contents may be one of those removed here.
    """
    from bs4 import Tag

    stack: list[tuple[Tag, int]] = [(soup, 0)]
    deep_elements: list[Tag] = []
    outermost: list[Tag] = []  # the elements at exactly `MAXIMUM_DEPTH`
    while stack:
        element, depth = stack.pop()
        stack += [(child, depth + 1) for child in element.children if isinstance(child, Tag)]
        if depth >= MAXIMUM_DEPTH:
            deep_elements.append(element)
        if depth == MAXIMUM_DEPTH:
            outermost.append(element)
    heights: dict[int, int] = {}
    table_holders: set[int] = set()  # identities of elements that contain a table or its cells
    for element in reversed(deep_elements):  # reversed, so that an element comes after all of its descendants
        children = [child for child in element.children if isinstance(child, Tag)]
        height = max((heights[id(child)] + 1 for child in children), default=0)
        if any(id(child) in table_holders or child.name in _TABLE_ELEMENTS for child in children):
            table_holders.add(id(element))
        elif element.name in _TABLE_ELEMENTS and height > _MAXIMUM_CELL_HEIGHT:
            # The new contents are two levels higher: each is in a paragraph or block, and these are in groups.
            _replace_contents_by_low_elements(element, soup, heights, _MAXIMUM_CELL_HEIGHT - 2)
            height = _MAXIMUM_CELL_HEIGHT
        heights[id(element)] = height
    too_high = [element for element in outermost if heights[id(element)] > _MAXIMUM_HEIGHT]
    for element in too_high:
        if element.name in _REMOVED_ELEMENTS:
            element.replace_with(_text_only_copy(element, soup))
        else:
            _replace_contents_by_low_elements(element, soup, heights, _MAXIMUM_HEIGHT)
            element.name = "div"
    return bool(too_high)


def _text_only_copy(element: Tag, soup: BeautifulSoup) -> Tag:
    """Return a new element of the same name that contains only the text of the given one."""
    text_only = soup.new_tag(element.name)
    text_only.string = element.get_text(" ")
    return text_only


def _replace_contents_by_low_elements(outer: Tag, soup: BeautifulSoup, heights: dict[int, int], maximum: int) -> None:
    """Replace the contents of an element, in place, by copies of its descendants that contain few levels of elements.

    Higher descendants are left out, and their texts are put into paragraphs. Removed elements (navigation, scripts)
    are reduced to their text. `heights` are the levels of elements in each element, by its identity; elements of up to
    `maximum` levels stay whole.
    """
    from bs4 import Tag

    blocks: list[PageElement] = []
    line: list[PageElement] = []

    def end_line() -> None:
        """Append the current line to the blocks as a paragraph, unless it is blank, and begin a new line."""
        if any(isinstance(node, Tag) or str(node).strip() for node in line):
            paragraph = soup.new_tag("p")
            paragraph.extend(line)
            blocks.append(paragraph)
        line.clear()

    # The nodes are copied, since taking one out of the tree would walk through all of its descendants.
    # None on the stack marks the end of an element, and so of a line.
    stack: list[PageElement | None] = [None, *reversed(outer.contents)]
    while stack:
        node = stack.pop()
        if node is None:
            end_line()
        elif not isinstance(node, Tag):
            line.append(copy(node))
        elif heights[id(node)] <= maximum or node.name in _REMOVED_ELEMENTS:
            whole = copy(node) if heights[id(node)] <= maximum else _text_only_copy(node, soup)
            if node.name in _PARAGRAPH_BREAKING:
                end_line()
                blocks.append(whole)
            else:
                line.append(whole)
        elif node.name in _PARAGRAPH_BREAKING:
            end_line()
            stack += [None, *reversed(node.contents)]
        else:
            stack += reversed(node.contents)
    outer.clear()
    # The blocks are grouped, since each later insertion beside an element searches all of its siblings.
    for start in range(0, len(blocks), _BLOCKS_PER_GROUP):
        group = soup.new_tag("div")
        group.extend(blocks[start : start + _BLOCKS_PER_GROUP])
        outer.append(group)


def _parse_and_rewrite(page: str, report: ReadReport | None = None) -> BeautifulSoup:
    """Return the parsed page, with lists, tables, pictures and check boxes as text; count these in the report."""
    soup = _parse_page(page)
    _remove_hidden_elements(soup)
    _rename_note_asides(soup)
    open_boxes(soup)  # Boxes here are remarks beside the text, no check boxes.
    _flatten_deep_elements(soup)
    report = report or ReadReport()
    _rewrite_marked_up_elements(soup, page, report)
    _replace_check_boxes(soup)
    _replace_description_lists(soup)
    _prefix_nested_items(soup)
    _write_item_numbers(soup)
    for lines in _replace_tables_by_lines(soup):
        report.table(lines)
    _describe_pictures(soup, report)
    return soup


def _rewrite_marked_up_elements(soup: BeautifulSoup, page: str, report: ReadReport) -> bool:
    """Write superscripts, equations, abbreviations, contacts and marked-up tables as text, and remove struck-out text.

    Return whether anything was changed. Each kind of element is first searched in the source of the page, which takes
    a hundredth of the time of searching its tree.
    """
    source = page.lower()
    is_changed = False
    steps: tuple[tuple[tuple[str, ...], Callable[[], bool]], ...] = (
        (("role=row", 'role="row"', "role='row'"), lambda: _rename_to_table_elements(_table_elements_by_role(soup))),
        (("table-row",), lambda: _rename_to_table_elements(_table_elements_by_style(soup))),
        (("<del", "<s>", "<s ", "<strike"), lambda: _remove_struck_out_text(soup, report)),
        (("<abbr", "<acronym"), lambda: _write_out_abbreviations(soup)),
        (("mailto:", "tel:"), lambda: _write_contact_addresses(soup)),
        (("<pre",), lambda: _replace_preformatted_tables(soup)),
        (("<math",), lambda: _replace_equations(soup)),
        (("<sup", "noteref"), lambda: _raise_superscripts(soup, has_references="noteref" in source)),
    )
    for signs, rewrite in steps:
        if any(sign in source for sign in signs):
            is_changed |= rewrite()
    return is_changed


def _describe_pictures(soup: BeautifulSoup, report: ReadReport) -> bool:
    """Insert the description (`alt`) of each picture behind it as a paragraph; return whether there were any.

    Descriptions of a few words are left out, and so are those that the caption repeats. The report counts both kinds.
    """
    is_changed = False
    for picture in soup.find_all("img"):
        description = one_line(picture.get("alt") or "")
        if len(description.split()) < _MINIMUM_DESCRIPTION_WORDS:
            report.count("pictures_without_text")
            continue
        report.count("pictures_described")
        figure = picture.find_parent("figure")
        if figure is not None and description in one_line(figure.get_text(" ")):
            continue
        paragraph = soup.new_tag("p")
        paragraph.string = f"Picture: {description}" if description[-1] in ".!?" else f"Picture: {description}."
        picture.insert_after(paragraph)
        is_changed = True
    return is_changed


def _remove_hidden_elements(soup: BeautifulSoup) -> bool:
    """Remove elements that their own attributes hide (style sheets are not read); return whether there were any."""
    hidden = [
        element
        for element in soup.find_all(lambda tag: tag.has_attr("hidden") or tag.has_attr("style"))
        if element.has_attr("hidden") or _HIDING_STYLE.search(str(element["style"]))
    ]
    for element in hidden:
        if element.name not in ("html", "body") and not element.decomposed:
            element.decompose()
    return bool(hidden)


def _remove_struck_out_text(soup: BeautifulSoup, report: ReadReport) -> bool:
    """Remove struck-out text, which is no longer valid ("7 m 6 m"), and report it; return whether there was any."""
    struck_out = [element for element in soup.find_all(["del", "s", "strike"]) if one_line(element.get_text())]
    for element in struck_out:
        # An element within another struck-out one is already removed.
        if not element.decomposed:
            element.decompose()
    report.leave_out_struck(len(struck_out))
    return bool(struck_out)


def _write_out_abbreviations(soup: BeautifulSoup) -> bool:
    """Append the long form to the first use of each abbreviation, "COG (centre of gravity)"; tell if any has one."""
    known: set[str] = set()
    for element in soup.find_all(["abbr", "acronym"], title=True):
        abbreviation, long_form = one_line(element.get_text()), one_line(str(element["title"]))
        is_new = abbreviation not in known
        if abbreviation and long_form and is_new and long_form.casefold() != abbreviation.casefold():
            element.append(f" ({long_form})")
        known.add(abbreviation)
    return bool(known)


def _write_contact_addresses(soup: BeautifulSoup) -> bool:
    """Append to each link that writes a mail or calls a number its address: "Write to us (a@b.org)".

    Links whose words contain the address are unchanged. Return whether any link was changed.
    """
    is_changed = False
    for link in soup.find_all("a", href=_CONTACT_LINK):
        address = unquote(str(link["href"]).split(":", 1)[1].split("?")[0]).strip()
        words = one_line(link.get_text())
        is_telephone = str(link["href"]).lower().startswith("tel:")
        # A number is compared without its separators: "(01) 23-45" is "012345".
        compared_words = re.sub(r"[\s()/.-]", "", words) if is_telephone else words
        if address and words and address.casefold() not in compared_words.casefold():
            link.append(f" ({address})")
            is_changed = True
    return is_changed


def _replace_check_boxes(soup: BeautifulSoup) -> bool:
    """Replace check boxes and radio buttons by words before their labels; return whether there were any.

    A form that has no other controls becomes a `div`, and so part of the page's text, since it shows what is ticked;
    other empty controls say nothing.
    """
    boxes = soup.find_all(lambda tag: tag.get("role") == "checkbox" or _input_type(tag) in ("checkbox", "radio"))
    labels = {str(label["for"]): label for label in soup.find_all("label", attrs={"for": True})} if boxes else {}
    for box in boxes:
        form = box.find_parent("form")
        if form is not None and not form.find(_is_form_control):
            form.name = "div"
        is_ticked = box.has_attr("checked") or str(box.get("aria-checked", "")).lower() == "true"
        words = f"{words_for(is_ticked)} "
        label = labels.get(str(box.get("id", "")))
        if label is not None and label.find(lambda tag: tag is box) is None:  # noqa: B023 -- called at once
            label.insert(0, words)
            box.extract()
        elif box.name == "input":
            box.replace_with(words)
        else:
            box.insert(0, words)
    return bool(boxes)


def _input_type(tag: Tag) -> str:
    """Return the type of an `input` element in lower case, "text" if it has none; "" for other elements."""
    return str(tag.get("type") or "text").lower() if tag.name == "input" else ""


def _is_form_control(tag: Tag) -> bool:
    """Return whether an element is a control to type in, select or press, other than check boxes and radio buttons."""
    return tag.name in ("textarea", "select", "button") or _input_type(tag) not in ("", "checkbox", "radio", "hidden")


def _prefix_nested_items(soup: BeautifulSoup) -> bool:
    """Write the texts of the enclosing items before each item of a nested list; return whether there were any.

    "Sundays: none" under "Ferries" becomes "Ferries, Sundays: none". The words are added to the item's first text, so
    that an item that is a link stays one. Enclosing items with a heading or a long text are left out with those around
    them: such lists are only layout.
    """
    items = soup.find_all("li")
    parent_items = {id(item): _parent_item(item) for item in items}
    texts = {id(item): one_line(" ".join(_item_strings(item))) for item in items}
    is_changed = False
    for item in items:
        parent_texts: list[str] = []
        parent = parent_items[id(item)]
        while parent is not None and len(parent_texts) < DEEPEST:
            if len(texts[id(parent)]) > LONGEST_PARENT or parent.find(_HEADINGS):
                break
            parent_texts.insert(0, texts[id(parent)])
            parent = parent_items.get(id(parent))
        text = texts[id(item)]
        first_string = next(_item_strings(item), None)
        if first_string is not None and (prefixed_text := item_with_parents(parent_texts, text)) != text:
            first_string.replace_with(prefixed_text.removesuffix(text) + first_string.lstrip())
            is_changed = True
    return is_changed


_MINIMUM_LONGEST_WORD = 3
"""Minimum letters of the longest word of a heading."""
_CONTINUING_WORD = re.compile(
    r"(?:only|per|of|and|or|nor|but|than|may|might|must|can|cannot|can't|could|shall|should|will|would|won't|is|isn't|are"
    r"|aren't|was|were|be|been|has|have|had|does|doesn't|did)",
    re.IGNORECASE,
)
"""Words that continue the sentence of a heading above, even with a capital letter: "Members / Only may enter"."""
_UNFINISHED_ENDING = re.compile(
    r"(?:an?|the|to|in|on|at|by|for|from|with|without|as|if|that|which|who|not?|never|always|also|just|even|please|do"
    r"|don't|costs?|needs?|takes?|gets?|pays?|call|makes?|includes?|allows?|requires?|contains?|up|until|till|under|over"
    r"|between|about|after|before|their|your|our|its|my|his|her|this|these|those|every|each|any|all|both|we|you|they|it)",
    re.IGNORECASE,
)
"""Words that no heading ends with, besides `_CONTINUING_WORD`: "Do not", "Bread costs"."""


def _separate_item_paragraphs(soup: BeautifulSoup) -> bool:
    """Write a full stop or a blank between the paragraphs of each list item; return whether any was written.

    An item becomes one line of text. The full stop separates a heading, or a bold paragraph, from the first sentence:
    "Websites. SQLite works".
    """
    is_changed = False
    for item in soup.find_all("li"):
        # Replacing a text takes time in the number of its siblings, so texts with very many are left alone.
        texts = [text for text in _item_strings(item) if text.parent and len(text.parent.contents) <= _MAXIMUM_SIBLINGS]
        blocks = [_enclosing_block(text, item) for text in texts]
        texts_of_block: dict[int, list[NavigableString]] = {}
        for text, block in zip(texts, blocks, strict=True):
            texts_of_block.setdefault(id(block), []).append(text)
        for (text, block), (next_text, next_block) in pairwise(zip(texts, blocks, strict=True)):
            is_same_line = block is next_block and not _has_line_break_between(text, next_text)
            if is_same_line or "pre" in (block.name, next_block.name):
                continue
            block_texts = texts_of_block[id(block)]
            is_whole_block = block not in (item, next_block) and block_texts[-1] is text
            is_heading = is_whole_block and _is_item_heading(block, block_texts)
            mark = ". " if is_heading and _begins_sentence(next_text.lstrip()) else " "
            text.replace_with(text.rstrip() + mark)
            is_changed = True
            for division in (block, next_block):
                # The extraction would strip the blank at the end of a `div`, so a `div` of one line becomes a `span`.
                if division.name == "div" and division.find(_LINE_BREAKING) is None:
                    division.name = "span"
    return is_changed


def _enclosing_block(text: NavigableString, item: Tag) -> Tag:
    """Return the innermost block element around a text of a list item; the item itself if there is none within it."""
    return next((parent for parent in text.parents if parent is item or parent.name in _PARAGRAPH_BREAKING), item)


def _has_line_break_between(text: NavigableString, next_text: NavigableString) -> bool:
    """Return whether a `br` element stands between a text and a later one."""
    for node in text.next_elements:
        if node is next_text:
            return False
        if getattr(node, "name", None) == "br":
            return True
    return False


def _is_item_heading(block: Tag, texts: Sequence[NavigableString]) -> bool:
    """Return whether a block of a list item, with all its texts, is a heading: an `h1` to `h6`, or short and all bold.

    The first words of a sentence are no heading ("Do not", "Bread costs"), nor is an amount.
    """
    is_bold = all(text.find_parent(["b", "strong"]) is not None for text in texts)
    line = one_line(" ".join(texts))
    words = re.findall(r"[^\W\d_]+(?:['’][^\W\d_]+)*", line)
    if not words or not line[-1].isalnum() or not line[0].isupper() or _cannot_end_heading(words[-1]):
        return False
    is_marked = block.name in _HEADINGS or (is_bold and sum(map(len, texts)) <= LONGEST_PARENT)
    return is_marked and max(map(len, words)) >= _MINIMUM_LONGEST_WORD


def _cannot_end_heading(word: str) -> bool:
    """Return whether a word must be followed by others in its sentence, so that no heading ends with it: "the"."""
    plain_word = word.replace("’", "'")
    return any(pattern.fullmatch(plain_word) for pattern in (_CONTINUING_WORD, _UNFINISHED_ENDING))


def _begins_sentence(text: str) -> bool:
    """Return whether a text begins with a capital letter, and with a word that does not continue a heading above."""
    first_word = re.split(r"[^\w'’]", text, maxsplit=1)[0].replace("’", "'")
    return text[0].isupper() and _CONTINUING_WORD.fullmatch(first_word) is None


def _replace_lists_by_paragraphs(soup: BeautifulSoup) -> bool:
    """Replace each list by one paragraph per item, "- Towels" or "1. Towels"; return whether there were any.

    Trafilatura drops lists of short items, such as what an insurance plan covers. Lists of links and lists with
    other elements are unchanged: they lead to other pages, or are only layout. Links whose words are an address, and
    lists of links that the sentence above announces, are content and count as other words do.
    """
    is_changed = False
    for outer in soup.find_all(["ul", "ol"]):
        if outer.decomposed or any(parent.name in _PARENTS_OF_KEPT_LISTS for parent in outer.parents):
            continue
        items = outer.find_all("li")
        numbers = _item_numbers(outer)
        links = [link for link in outer.find_all("a") if not says_its_address(link)]
        link_length = sum(len(one_line(link.get_text(" "))) for link in links)
        is_mostly_links = link_length > _MAXIMUM_LINK_SHARE * len(one_line(outer.get_text(" ")))
        if not items or outer.find(_LAYOUT_ELEMENTS) or (is_mostly_links and not is_announced(outer)):
            continue
        lines: list[str] = []
        for item in items:
            mark = numbers.get(id(item), "-")
            if text := one_line("".join(_item_strings(item, with_text_after_lists=True))):
                lines.append(text if text.startswith((TICKED, NOT_TICKED, CROSSED)) else f"{mark} {text}")
        _replace_by_paragraphs(outer, lines, soup)
        is_changed = True
    return is_changed


def _replace_by_paragraphs(element: Tag, lines: Iterable[str], soup: BeautifulSoup) -> None:
    """Replace an element by one paragraph for each line."""
    for line in lines:
        paragraph = soup.new_tag("p")
        paragraph.string = line
        element.insert_before(paragraph)
    element.decompose()


def _item_numbers(outer: Tag) -> dict[int, str]:
    """Return the numbers ("3.", "c.") of the items of a list and of lists within it, by the identity of the item.

    The items of numbered lists are counted as a browser counts them; items of other lists have no number.
    """
    numbers = {}
    for numbered_list in [outer, *outer.find_all("ol")]:
        if numbered_list.name != "ol":
            continue
        items = numbered_list.find_all("li", recursive=False)
        step = -1 if numbered_list.has_attr("reversed") else 1
        number = _parse_integer(numbered_list.get("start"), default=len(items) if step < 0 else 1)
        style = numbered_list.get("type")
        for item in items:
            number = _parse_integer(item.get("value"), default=number)
            mark = str(number)
            if style in ("a", "A") and 0 < number <= _ALPHABET_LENGTH:
                mark = chr(ord(style) + number - 1)
            numbers[id(item)] = f"{mark}."
            number += step
    return numbers


def _parse_integer(value: object, *, default: int) -> int:
    """Return an attribute's value as a whole number; the default if it is none, or has more than six digits."""
    text = str(value).strip()
    return int(text) if re.fullmatch(r"-?\d{1,6}", text) else default


def _write_item_numbers(soup: BeautifulSoup) -> None:
    """Write the numbers of numbered lists into their items, since the source of the page does not contain them."""
    for outer in soup.find_all("ol"):
        if outer.find_parent("ol") is not None:
            continue
        numbers = _item_numbers(outer)
        for item in outer.find_all("li"):
            first_string = next(_item_strings(item), None)
            if first_string is not None and id(item) in numbers:
                first_string.replace_with(f"{numbers[id(item)]} {first_string.lstrip()}")


def _parent_item(item: Tag) -> Tag | None:
    """Return the list item around the list of an item; None for an item of an outermost list.

    For a list that stands directly in another list, which old pages have, that is the item before it.
    """
    own_list = item.find_parent(["ul", "ol"])
    if own_list is None or own_list.parent is None:
        return None
    if own_list.parent.name in ("ul", "ol"):
        return own_list.find_previous_sibling("li")
    outer = own_list.find_parent(["li", "td", "th", "ul", "ol"])
    return outer if outer is not None and outer.name == "li" else None


def _item_strings(item: Tag, *, with_text_after_lists: bool = False) -> Iterator[NavigableString]:
    """Yield the non-blank texts of a list item before an inner list or table; on request, those after it, too."""
    from bs4.element import NavigableString, Tag

    stack: list[object] = list(reversed(item.contents))
    while stack:
        node = stack.pop()
        if isinstance(node, Tag):
            if node.name in ("ul", "ol", "table"):
                if with_text_after_lists:
                    continue
                return
            stack += [] if node.name in _INVISIBLE_ELEMENTS else list(reversed(node.contents))
        elif type(node) is NavigableString and node.strip():
            yield node


def _replace_description_lists(soup: BeautifulSoup) -> bool:
    """Replace description lists (`dl`) by a paragraph "term: description" for each description.

    Lists with an empty term, with a last term without a description, or with other elements are unchanged. Return
    whether any list was replaced.
    """
    is_changed = False
    for description_list in soup.find_all("dl"):
        entries = [
            each for each in description_list.find_all(["dt", "dd"]) if each.find_parent("dl") is description_list
        ]
        if description_list.find(["dl", "table", "ul", "ol", "pre", "h1", "h2", "h3"]) or not entries:
            continue
        terms: list[str] = []
        lines: list[str] = []
        previous = ""
        for entry in entries:
            text = one_line(entry.get_text(" "))
            if entry.name == "dt":
                # Several terms in sequence share the description below them.
                terms = [*(terms if previous == "dt" else []), text]
            elif terms and text:
                term = ", ".join(filter(None, terms)).rstrip(" :")
                lines.append(f"{term} {text}" if term.endswith(("?", "!", ".")) else f"{term}: {text}")
            previous = entry.name
        has_empty_term = any(entry.name == "dt" and not entry.get_text().strip() for entry in entries)
        if lines and not has_empty_term and previous == "dd":
            _replace_by_paragraphs(description_list, lines, soup)
            is_changed = True
    return is_changed


def _meta_properties(soup: BeautifulSoup) -> dict[str, list[str]]:
    """Return the contents of the page's `meta` elements that are not blank, by their lower-case name."""
    properties: dict[str, list[str]] = {}
    for element in soup.find_all("meta"):
        name = element.get("name") or element.get("property") or element.get("itemprop")
        content = one_line(element.get("content") or "")
        if name and content:
            properties.setdefault(str(name).lower(), []).append(content)
    return properties


def _author_names(contents: list[str]) -> tuple[str, ...]:
    """Return the names of authors among the contents of `meta` elements, which may also be addresses of profiles."""
    return people([name for name in contents if not name.startswith(("http:", "https:"))])


def _first_value_of_any(properties: dict[str, list[str]], names: Sequence[str]) -> str:
    """Return the first value of the first named property that has a value; "" if none has."""
    return next((value for name in names if (value := _first_value(properties, name))), "")


def _first_value(properties: dict[str, list[str]], key: str) -> str:
    """Return the first value of a property; "" if the page does not have it."""
    return properties.get(key, [""])[0]


def _canonical_address(soup: BeautifulSoup) -> str:
    """Return the web address that the page declares as its own (`rel="canonical"`); "" if there is none."""
    for element in soup.find_all("link"):
        if "canonical" in (element.get("rel") or []) and str(element.get("href", "")).startswith("http"):
            return str(element["href"])
    return ""


def _rename_to_table_elements(table_parts: Iterable[tuple[Tag, str]]) -> bool:
    """Rename elements that are shown as a table, its rows and cells to the names that they are paired with ("tr").

    Return False, and change nothing, if fewer than two rows have several cells: that is the layout of a page.
    """
    new_names = list(table_parts)
    cells = {id(element) for element, name in new_names if name in _TABLE_ELEMENTS}
    rows_with_cells = 0
    for element, name in new_names:
        if name == "tr" and sum(id(child) in cells for child in element.children) > 1:
            rows_with_cells += 1
    if rows_with_cells < _MINIMUM_ROWS:
        return False
    for element, name in new_names:
        element.name = name
    return True


def _table_elements_by_role(soup: BeautifulSoup) -> Iterator[tuple[Tag, str]]:
    """Yield the elements whose `role` is a table, a row or a cell, each with the table element's name ("tr")."""
    for element in soup.find_all(role=True):
        if name := _TABLE_ELEMENT_OF_ROLE.get(str(element["role"]).lower()):
            yield element, name


def _table_elements_by_style(soup: BeautifulSoup) -> Iterator[tuple[Tag, str]]:
    """Yield the elements that CSS displays as a table, a row or a cell, each with the table element's name ("tr")."""
    sheet = "\n".join(style.get_text() for style in soup.find_all("style"))
    name_of_selector: dict[str, str] = {}
    for rule in _TABLE_DISPLAY_RULE.finditer(sheet):
        selectors, display = rule.groups()
        for selector in selectors.split(","):
            name_of_selector[selector.strip()] = _TABLE_ELEMENT_OF_DISPLAY[display.lower()]
    for element in soup.find_all(["div", "span", "ul", "ol", "li", "section", "dl", "dt", "dd"]):
        own_style = _TABLE_DISPLAY_STYLE.search(str(element.get("style", "")))
        if own_style:
            yield element, _TABLE_ELEMENT_OF_DISPLAY[own_style[1].lower()]
            continue
        classes = [f".{name}" for name in element.get("class") or []]
        selectors = [*classes, *(f"{element.name}{name}" for name in classes), element.name]
        if name := next((name_of_selector[selector] for selector in selectors if selector in name_of_selector), ""):
            yield element, name


def _replace_tables_by_lines(soup: BeautifulSoup) -> list[list[str]]:
    """Replace tables of data by paragraphs, one for each row; return the lines of each replaced table.

    Tables with less than two rows of several filled cells, with very long cells, or of navigation are unchanged. Tables
    around the replaced ones, which only lay out the page, become `div` elements.
    """
    lines_of_tables: list[list[str]] = []
    tables = soup.find_all("table")
    layout_tables = [table for table in tables if table.find("table")]
    targets: dict[str, Tag] = {}
    for table in tables:
        is_layout = any(table is outer for outer in layout_tables) or table.get("role") == "presentation"
        if is_layout or _is_navigation_table(table):
            continue
        _resolve_table_notes(table, soup, targets)
        cells = [row.find_all(["th", "td"], recursive=False) for row in table.find_all("tr")]
        texts = [_texts_of(row) for row in cells]
        filled_rows = [row for row in texts if sum(map(bool, row)) > 1]
        maximum_length = max(map(len, chain.from_iterable(texts)), default=0)
        if len(filled_rows) < 2 or maximum_length > _MAXIMUM_CELL_LENGTH:
            continue
        cells_with_spans: list[list[tuple[str, int, int]]] = []
        for row, row_texts in zip(cells, texts, strict=True):
            spans = [(_span_count(cell, "colspan"), _span_count(cell, "rowspan")) for cell in row]
            cells_with_spans.append([(text, *span) for text, span in zip(row_texts, spans, strict=True)])
        is_header_row = [all(cell.name == "th" for cell in row) and len(row) > 0 for row in cells]
        header_rows = is_header_row.index(False) if False in is_header_row else 0
        caption = table.find("caption")
        lines = table_lines(
            expand_spans(cells_with_spans),
            caption=caption.get_text(" ", strip=True) if caption else "",
            header_rows=header_rows or None,
        )
        _replace_by_paragraphs(table, lines, soup)
        lines_of_tables.append(lines)
    for table in layout_tables if lines_of_tables else ():
        _write_labelled_rows(table, soup)
        # The extraction must not take the layout of the page for a table around the rows.
        for element in (table, *table.find_all(["tbody", "thead", "tr", "td", "th"])):
            element.name = "div"
    return lines_of_tables


def _is_navigation_table(table: Tag) -> bool:
    """Return whether a table has links and leads to other pages.

    It does if it, or the element around it, is named as navigation; the table itself must also be mostly links.
    """
    links = table.find_all("a", href=True)
    if not links:
        return False
    if table.find_parent("nav") is not None or (table.parent is not None and _has_navigation_name(table.parent)):
        return True
    link_length = sum(len(squash(link.get_text())) for link in links)
    return _has_navigation_name(table) and link_length >= MINIMUM_LINK_SHARE_OF_NAVIGATION * len(
        squash(table.get_text())
    )


def _has_navigation_name(element: Tag) -> bool:
    """Return whether an element's tag, classes or id name it as navigation: "breadcrumbs"."""
    names = (element.name, *(element.get("class") or ()), element.get("id"))
    return any(_NAVIGATION_NAME.fullmatch(str(name)) for name in names)


def _report_tables(tables: list[list[str]], text: str, report: ReadReport) -> None:
    """Report the tables (each a list of lines) that a text contains, with its rows, and how many it lacks."""
    lines_of_text = frozenset(squash(line) for line in text.split("\n"))
    lost_tables = 0
    for lines in tables:
        kept_lines = [line for line in lines if squash(line) in lines_of_text]
        report.table(kept_lines)
        if lines and not kept_lines:
            lost_tables += 1
    if lost_tables:
        label = "1 table" if lost_tables == 1 else f"{lost_tables:,} tables"
        report.leave_out(label, "not in the main part of the page")


def _raise_superscripts(soup: BeautifulSoup, *, has_references: bool) -> bool:
    """Write superscripts with raised characters: "10<sup>8</sup>" becomes "10⁸", not "108"; return whether any was.

    With `has_references`, links to notes are superscripts, too. Those in tables are left to `_resolve_table_notes`.
    """
    is_changed = False
    superscripts = list(soup.find_all("sup"))
    for attribute in ("epub:type", "role") if has_references else ():
        links = soup.find_all("a", attrs={attribute: _NOTE_REFERENCE})
        superscripts += [link for link in links if link.find("sup") is None]
    for mark in superscripts:
        before = mark.find_previous(string=True)
        if before is None or mark.find_parent("table") is not None:
            continue
        text = mark.get_text()
        if (raised_text := raised_behind(str(before)[-4:], text)) != text:
            mark.replace_with(raised_text)
            is_changed = True
    if is_changed:
        soup.smooth()
    return is_changed


def _replace_preformatted_tables(soup: BeautifulSoup) -> bool:
    """Replace preformatted text with a table of aligned columns by paragraphs; return whether there was any."""
    is_changed = False
    for preformatted in soup.find_all("pre"):
        typed_lines = preformatted.get_text().split("\n")
        lines = with_rows(typed_lines)
        if lines != typed_lines and any(map(is_row, lines)):
            _replace_by_paragraphs(preformatted, filter(str.strip, lines), soup)
            is_changed = True
    return is_changed


def _replace_equations(soup: BeautifulSoup) -> bool:
    """Replace each MathML equation by a line of text; return whether any was replaced.

    Its bare text would be wrong: three quarters would read "34". Equations that are damaged or empty are unchanged.
    """
    is_changed = False
    inner_equations: set[int] = set()
    for equation in soup.find_all("math"):
        if id(equation) in inner_equations:  # It was read as a part of the equation around it.
            continue
        inner_equations |= {id(inner) for inner in equation.find_all("math")}
        try:
            line = mathml_line(parse_xml(str(equation).encode()))
        except XMLSyntaxError:
            continue
        if line:
            equation.replace_with(line)
            is_changed = True
    return is_changed


def _resolve_table_notes(table: Tag, soup: BeautifulSoup, targets: dict[str, Tag]) -> None:
    """Write a table's superscripts as raised characters, and replace marks that link to a note by the note's text.

    `targets`, the page's elements by their `id`, is filled here when the first mark links to one.
    """
    superscripts = table.find_all("sup")
    for superscript in superscripts:
        text = one_line(superscript.get_text())
        if (raised_text := raised(text)) != text:
            superscript.replace_with(raised_text)
    links = [link for link in table.find_all("a", href=True) if str(link["href"]).startswith("#")]
    for link in links:
        mark = one_line(link.get_text())
        if not 0 < len(mark) <= _MAXIMUM_MARK_LENGTH or _CITATION_MARK.fullmatch(mark):
            continue
        if not targets:
            targets.update({str(element["id"]): element for element in soup.find_all(id=True)})
        note = targets.get(str(link["href"])[1:])
        if note is None or any(parent is note for parent in link.parents):
            continue
        # The note begins with its own mark, and may have a sign that leads back to the table: "↩", "^".
        note_text = one_line(note.get_text(" ")).strip("↩\ufe0e^ ").removeprefix(mark).strip(" .:")
        if inserted_text := with_note(mark, note_text).removeprefix(mark):
            link.replace_with(inserted_text)
    if superscripts or links:
        table.smooth()


def _rename_note_asides(soup: BeautifulSoup) -> None:
    """Rename `aside` elements that are footnotes or endnotes to `div`, since an `aside` is left out of the text."""
    for aside in soup.find_all("aside"):
        if _NOTE_TYPE.search(f"{aside.get('epub:type', '')} {aside.get('role', '')}"):
            aside.name = "div"


def _write_labelled_rows(table: Tag, soup: BeautifulSoup) -> None:
    """Replace rows of a header cell and a data cell, as in an infobox, by a paragraph "label: value".

    The extraction would drop blocks of so few words. Rows with an empty or a very long cell are unchanged.
    """
    for row in table.find_all("tr"):
        cells = row.find_all(["th", "td"], recursive=False)
        texts = _texts_of(cells)
        has_label = [cell.name for cell in cells] == ["th", "td"]
        if has_label and all(0 < len(text) <= _MAXIMUM_CELL_LENGTH for text in texts):
            paragraph = soup.new_tag("p")
            paragraph.string = ": ".join(texts)
            row.replace_with(paragraph)


def _texts_of(cells: Iterable[Tag]) -> list[str]:
    """Return the text of each cell, with blanks between the texts of its elements."""
    return [cell.get_text(" ", strip=True) for cell in cells]


def _span_count(cell: Tag, attribute: str) -> int:
    """Return how many columns (`colspan`) or rows (`rowspan`) a cell spans; 1 if it does not tell."""
    return whole_number(str(cell.get(attribute, "1")).strip(), 1)


def _main_text(page: str, soup: BeautifulSoup) -> str:
    """Return the main content of a page, as trafilatura extracts it, with content that it dropped by mistake.

    Where the extract is short, or a small share of the visible text, return the longer one of those two.
    """
    import trafilatura

    extract = trafilatura.extract(page, favor_recall=True, include_comments=False, include_tables=True) or ""
    lines = [_strip_row_frame(line) for line in extract.split("\n") if not _TABLE_RULE.fullmatch(line)]
    main = tidy("\n".join(lines))
    visible = _visible_text(soup)
    if len(main) >= _MINIMUM_EXTRACT_LENGTH and len(main) >= _MINIMUM_EXTRACT_SHARE * len(visible):
        return tidy(with_lost_content(main, soup))
    return visible if len(visible) > len(main) else main


def _append_footer_lines(text: str, soup: BeautifulSoup) -> str:
    """Return a page's text with the statements of its footers appended, each once: "Updated 7 April by Ann".

    Links, legal notices, very long lines and what the text contains already are left out.
    """
    lines_of_text = frozenset(one_line(line) for line in text.split("\n"))
    squashed_text = squash(text)
    statements: dict[str, None] = {}
    for footer in soup.find_all(_is_footer, limit=_MAXIMUM_FOOTERS):
        if footer.find_parent("template") is not None or footer.find_parent(_is_footer) is not None:
            continue
        links = frozenset(one_line(link.get_text(" ")) for link in footer.find_all("a"))
        for line in _visible_text(_parse_and_rewrite(footer.decode_contents())).split("\n"):
            if one_line(line) in links:
                continue
            for part in map(one_line, _FOOTER_SEPARATOR.split(line)):
                # An element that is a footer only by its class may be a part of the text.
                is_known = part in lines_of_text or (footer.name != "footer" and squash(part) in squashed_text)
                is_new = part not in links and not is_known and len(part) <= _MAXIMUM_FOOTER_LENGTH
                if is_new and _is_statement(part, links):
                    statements[part] = None
    return "\n\n".join([text, *statements]) if text else "\n".join(statements)


def _is_footer(element: Tag) -> bool:
    """Return whether an element is a `footer`, or a `div` with a class or id of a footer: "page-footer"."""
    names = (*(element.get("class") or ()), element.get("id")) if element.name == "div" else ()
    return element.name == "footer" or any(_FOOTER_NAME.fullmatch(str(name)) for name in names)


def _is_statement(line: str, links: Collection[str]) -> bool:
    """Return whether a footer's line contains information: a digit, a sentence without links, or a mail address.

    Sentences and addresses count only in lines of several words; legal notices ("© 2024") are no statements.
    """
    if _LEGAL_NOTICE.search(line):
        return False
    is_sentence = line.endswith((".", "!", "?")) and not any(link in line for link in links if link)
    has_words = is_sentence or _MAIL_ADDRESS.search(line) is not None
    return any(map(str.isdigit, line)) or (has_words and len(line.split()) >= _MINIMUM_FOOTER_WORDS)


def _strip_row_frame(line: str) -> str:
    """Return a Markdown table row without its outer bars and empty cells; any other line unchanged."""
    if not (line.startswith("|") and line.rstrip().endswith("|")):
        return line
    return BAR.join(cell.strip() for cell in line.strip("| ").split("|") if cell.strip())


def _visible_text(soup: BeautifulSoup) -> str:
    """Return the page's text without navigation and scripts, one line for each block element; " | " separates cells.

    The tree is only read: inserting line breaks beside elements would take time in the number of their siblings.
    """
    from bs4.element import CData, NavigableString, Tag

    pieces: list[str] = []
    stack: list[tuple[PageElement | str, bool]] = [(soup, False)]  # each with whether it is preformatted
    while stack:
        node, is_preformatted = stack.pop()
        if isinstance(node, Tag):
            if node.name in _NON_TEXT_ELEMENTS:
                continue
            line_end = "\n" if node.name in _LINE_ELEMENTS else ""
            has_cell_after = node.name in ("td", "th") and node.find_next_sibling(["td", "th"]) is not None
            pieces.append(line_end)
            stack.append((f"{' | ' if has_cell_after else ''}{line_end}", True))
            is_inside_preformatted = is_preformatted or node.name == "pre"
            stack += [(child, is_inside_preformatted) for child in reversed(node.contents)]
        elif type(node) in (str, NavigableString, CData):
            pieces.append(str(node) if is_preformatted else re.sub(r"\s+", " ", str(node)))
    lines = (re.sub(r"[^\S\n]+", " ", line).strip() for line in "".join(pieces).split("\n"))
    return tidy("\n".join(line for line in lines if line and line.strip("| ")))
