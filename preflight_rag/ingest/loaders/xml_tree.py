"""XML of any other kind: settings, routes and exports as rows and lines of names, texts as paragraphs, feeds by entry.

Elements and attributes become records, which are read as JSON's are (`rows.py`); what is mostly prose, as DocBook and
TEI are, is read in its order. Comments stay. Points of tracks and outlines are counted, not read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from html import unescape
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lxml import etree

from preflight_rag.ingest.loaders.fields import clean, file_document, in_file, iso_date, one_line
from preflight_rag.ingest.loaders.files import read_bytes
from preflight_rag.ingest.loaders.html import readable_text
from preflight_rag.ingest.loaders.parts import Parts
from preflight_rag.ingest.loaders.read_report import ReadReport
from preflight_rag.ingest.loaders.rows import above_text, json_lines
from preflight_rag.ingest.loaders.xml import XMLSyntaxError, local, named_entities_resolved
from preflight_rag.state.errors import UnreadableDocument
from preflight_rag.state.values import Document
from preflight_rag.text.tables import table_lines

if TYPE_CHECKING:
    from lxml.etree import _Element

PROSE = 60
"""Mean characters of the texts of a file that is prose; settings and exports have 20. A guess."""
_TITLES = ("title", "name", "head")
_POINTS = frozenset({"trkpt", "rtept", "coord"})
"""Points of a track or route, of which a file has thousands."""
_DESCRIPTIONS = ("name", "cmt", "desc")
"""Elements with words about a point."""
_COORDINATES = re.compile(r"[-\d.,;\s]{200,}")
"""A text of nothing but numbers, such as the outline of a place."""
_MARKUP = re.compile(r"</\w{1,20}>|<br ?/?>|<p>")
"""A text that is a web page's, as entries of feeds are."""
_PARAGRAPHS = frozenset({"p", "para", "simpara", "ab", "l", "line", "quote"})
"""Elements of DocBook, TEI, DITA and the like that hold prose."""
_TEXTS = frozenset(
    {"book", "article", "chapter", "section", "TEI", "FictionBook", "topic", "concept", "task", "refentry"}
)
"""Root elements of texts."""
_ROWS, _CELLS = frozenset({"row", "tr", "strow"}), frozenset({"entry", "cell", "td", "th", "stentry"})
_TABLES = frozenset({"table", "informaltable", "tgroup", "simpletable"})
_PROGRAMS = frozenset({"programlisting", "screen", "literallayout", "codeblock", "pre", "code"})
"""Elements whose line ends count."""
_NOTES = frozenset({"footnote", "note", "fn"})
_ITEMS = frozenset({"listitem", "item", "li"})
_APART = _PARAGRAPHS | _ROWS | _CELLS | _TABLES | _ITEMS | {"div", "br", "lb", "title", "h1", "h2", "h3", "h4"}
"""Elements that end a line, so that the words before and behind them are not one."""
_INLINE = frozenset(
    {
        *("a", "abbr", "b", "big", "c", "code", "em", "emphasis", "ex", "hi", "i", "link", "phrase", "q", "s", "small"),
        *("span", "strong", "sub", "subscript", "sup", "superscript", "tt", "u", "ulink", "w"),
    }
)
"""Elements that may stand inside of a word."""
_FORMAT_ATTRIBUTES = frozenset({"version", "schemaLocation", "noNamespaceSchemaLocation", "creator", "xmlns"})
"""Attributes of a root element that say of what format a file is; none of a record's inside of it."""
_WRITTEN_BY = frozenset({"version", "creator"})
"""Those that say something of the file itself, but in the formats that follow their version and a program's name."""
_FORMATS = frozenset({"gpx", "kml", "osm", "svg", "rss", "feed", "RDF", "FictionBook", "opml"})
_ENTRIES = {"rss": "item", "RDF": "item", "feed": "entry"}
"""Root elements of feeds, and what their entries are called."""
_CONTENTS = ("encoded", "content", "description", "summary")
"""Elements with an entry's text, the whole one first."""
_PEOPLE = ("author", "creator", "contributor")
"""Elements with a person's name, beside which an address may stand."""
_DATES = ("pubdate", "updated", "published", "date", "lastbuilddate", "time")
_MOST_ELEMENTS = 400_000
"""Elements of a file that is read as records; a guess."""
_PREDEFINED = re.compile(r"&(?:amp|lt|gt|quot|apos);")
_ENTITY = re.compile(r"&(?!(?:amp|lt|gt|quot|apos);)")
"""A sign that an entity stands for others, which are not expanded."""
_LONGEST_DECLARED = 200
"""Characters of an entity that stands for words, such as a product's name; a guess."""
_MOST_DECLARED = 1_000_000
"""Characters that a file's entities stand for together; a guess."""


def load_xml_tree(path: Path, max_bytes: int) -> Iterator[Document]:
    """Yield the file as one document.

    Raises:
        UnreadableDocument: It is not well-formed.
        DocumentTooLarge: It is larger than `max_bytes`.
    """
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, remove_pis=True)
    try:
        root = etree.fromstring(named_entities_resolved(read_bytes(path, max_bytes)), parser)
    except XMLSyntaxError as error:
        raise UnreadableDocument(f"{path} is not well-formed XML: {error}") from error
    _write_entities(root)
    if entries := [each for each in root.iter() if local(each) == _ENTRIES.get(local(root))]:
        yield from _entries(path, entries)
        return
    report = ReadReport()
    _drop_points(root, report)
    if sum(1 for _ in root.iter()) > _MOST_ELEMENTS:
        raise UnreadableDocument(
            f"{path} has more than {_MOST_ELEMENTS:,} elements", help="Split it, or export it as CSV or JSON lines"
        )
    title = next((text for text in map(_own_title, [root, *root[:3]]) if text), "")
    if _is_prose(root):
        title = title or next((text for each in islice(root.iter(), 40) if (text := _own_title(each))), "")
        parts = Parts()
        for text, style in _blocks(root):
            parts.add(clean(text), style)
        text, sections = parts.joined(), parts.metadata()
    else:
        before = [f"Comment: {words}" for each in _before(root) if (words := one_line(each.text or ""))]
        for name in [each for each in root.attrib if str(each).rsplit("}", 1)[-1] in _FORMAT_ATTRIBUTES]:
            value = root.attrib.pop(name)
            if local(root) not in _FORMATS and str(name) in _WRITTEN_BY:
                before.append(f"{name}: {one_line(str(value))}")
        value = _value(root)
        lines = list(json_lines(value if isinstance(value, dict) else {local(root): value}))
        text, sections = clean("\n".join([*before, *lines])), {}
    dates = {
        local(each).lower(): each.text or "" for each in [*root[:8], *(part for each in root[:1] for part in each)]
    }
    date = next((found for name in _DATES if (found := iso_date(dates.get(name)))), None)
    yield file_document(path, text, title=title, date=date, metadata=sections, report=report)


def _entries(path: Path, entries: list[_Element]) -> Iterator[Document]:
    """Yield each entry of a feed as a document, its text under a line of its other fields."""
    for number, entry in enumerate(entries, 1):
        fields: dict[str, list[str]] = {}
        for each in entry:
            name = local(each)
            person = next((part for part in each if local(part) == "name"), None) if name in _PEOPLE else None
            text = _text(each if person is None else person) or one_line(
                str(each.get("href") or each.get("term") or "")
            )
            if name and text:
                fields.setdefault(name, []).append(text)
        texts_of = {name: " ".join(fields[name]) for name in _CONTENTS if name in fields}
        body = next(iter(texts_of.values()), "")
        date = next((found for name in _DATES for key in fields if key.lower() == name
                     if (found := iso_date(fields[key][0]))), None)  # fmt: skip
        others = {
            name: ", ".join(texts)
            for name, texts in fields.items()
            if (
                texts_of[name] not in body
                if name in texts_of
                else name.lower() not in (*_DATES, "title", "creator", "author", "link", "guid", "id")
            )
        }
        document = file_document(
            path,
            clean("\n\n".join(filter(None, [fields.get("title", [""])[0], above_text(body, others)]))),
            title=fields.get("title", [""])[0],
            date=date,
            authors=tuple(fields.get("creator") or fields.get("author") or ()),
            metadata={"url": fields["link"][0]} if fields.get("link") else {},
        )
        yield in_file(document, path, part=number)


def _write_entities(root: _Element) -> None:
    """Put what the file declares for an entity in its place, else its name: "&product;" inside of a sentence.

    Only plain words are put in, so that nothing is fetched or expanded; no more than `_MOST_DECLARED` characters of
    them, because a short reference can stand for many.
    """
    declared = _declared_words(root)
    left = _MOST_DECLARED
    for each in list(root.iter(etree.Entity)):
        parent, before = each.getparent(), each.getprevious()
        if parent is None:
            continue
        name = str(getattr(each, "name", ""))
        words = declared.get(name, name)
        words = words if len(words) <= left else name
        left -= len(words)
        words += each.tail or ""
        if before is None:
            parent.text = (parent.text or "") + words
        else:
            before.tail = (before.tail or "") + words
        each.tail = None
        parent.remove(each)


def _declared_words(root: _Element) -> dict[str, str]:
    """Return the entities that the file declares as plain words, by name."""
    dtd = root.getroottree().docinfo.internalDTD
    found = {}
    for each in dtd.iterentities() if dtd is not None else ():
        words = one_line(each.content or "")
        if words and len(words) <= _LONGEST_DECLARED and "<" not in words and not _ENTITY.search(words):
            found[str(each.name)] = _PREDEFINED.sub(lambda match: unescape(match[0]), words)
    return found


def _before(root: _Element) -> Iterator[_Element]:
    """Yield the comments above the root element, in the file's order."""
    yield from reversed(list(root.itersiblings(etree.Comment, preceding=True)))


def _own_title(element: _Element) -> str:
    """Return what an element's child, or its attribute, says that it is called."""
    found = next((one_line(each.text or "") for each in element if local(each).lower() in _TITLES), "")
    return found if len(found) < PROSE * 2 else ""


def _drop_points(root: _Element, report: ReadReport) -> None:
    """Take the points of tracks and outlines out, and count them."""
    points = [each for each in root.iter() if local(each) in _POINTS and len(each) < 8 and not _is_described(each)]
    for each in points:
        parent = each.getparent()
        if parent is not None:
            parent.remove(each)
    if points:
        report.leave_out(
            f"{len(points):,} point{'s' * (len(points) > 1)} of tracks", "numbers alone say nothing in words"
        )
    outlines = [each for each in root.iter() if local(each) and _COORDINATES.fullmatch(each.text or "")]
    for each in outlines:
        each.text = ""
    if outlines:
        report.leave_out(
            f"{len(outlines):,} list{'s' * (len(outlines) > 1)} of coordinates", "numbers alone say nothing in words"
        )


def _is_described(point: _Element) -> bool:
    """Return whether a point of a route has words of its own, such as where to turn."""
    return any(local(each) in _DESCRIPTIONS and re.search(r"[^\W\d_]", each.text or "") for each in point)


def _is_prose(root: _Element) -> bool:
    """Return whether most of a file is prose: its paragraphs have words of their own around others' elements."""
    lengths = [len(text) for each in root.iter() if local(each) and (text := one_line(each.text or ""))]
    paragraphs = sum(1 for each in root.iter() if local(each) in _PARAGRAPHS)
    is_text = local(root) in _TEXTS and paragraphs > 1
    return bool(lengths) and (is_text or sum(lengths) / len(lengths) > PROSE or paragraphs * 3 > len(lengths))


def _is_mixed(element: _Element) -> bool:
    """Return whether an element has words between the elements inside it."""
    return any(one_line(child.tail or "") for child in element) or (
        bool(one_line(element.text or "")) and any(local(child) for child in element)
    )


def _words_between(element: _Element) -> list[str]:
    """Return the words of an element's own, around the elements inside it; signs alone, such as a ";", are none."""
    text = " ".join([element.text or "", *(child.tail or "" for child in element)])
    return text.split() if any(char.isalnum() for char in text) else []


def _is_record(element: _Element) -> bool:
    """Return whether an element is none of a sentence: its words are in elements inside it, or in its attributes."""
    if local(element) in _INLINE:
        return False
    return any(local(each) not in ("", *_INLINE) for each in element) or bool(element.attrib and not _text(element))


def _text(element: _Element) -> str:
    """Return all words inside an element on one line, without comments; those of a web page without its markup."""
    text = "".join(_pieces(element))
    return one_line(readable_text(text) if _MARKUP.search(text) else text)


def _pieces(element: _Element) -> Iterator[str]:
    """Yield the words inside an element, with a space where an element that is none of a line's begins or ends.

    Where words stand directly before or after such an element, as in "(<year>1905</year>)", none is added, except
    beside a paragraph or a cell.
    """
    last = ""  # The last sign, and what ended behind it: elements without a word between them.
    ended = False
    for event, each in etree.iterwalk(element, events=("start", "end", "comment")):
        if event == "comment":
            text = (each.tail or "") if each is not element else ""
        elif event == "start":
            text = each.text or ""
            is_apart = local(each) in _APART or (ended and local(each) not in _INLINE)
            if is_apart and last.isalnum() and each is not element:
                yield " "
                last = " "
        else:
            text = (each.tail or "") if each is not element else ""
            if local(each) in _APART and last.isalnum():
                yield " "
                last = " "
            ended = local(each) not in _INLINE
        if text:
            yield text
            last, ended = text[-1], False


def _value(element: _Element) -> Any:
    """Return an element as JSON would have it: a text, or its attributes and what is inside it by name."""
    attributes = {str(name).rsplit("}", 1)[-1]: one_line(str(value)) for name, value in element.attrib.items()}
    inner = [each for each in element if local(each)]
    words = _words_between(element)
    children: Iterable[_Element] = element
    found: dict[str, Any] = {}
    if not inner and (len(element) == 0 or words):
        text = _text(element)
        return {**attributes, "text": text} if attributes and text else attributes or text
    if words:
        is_sentence = not any(_is_record(each) for each in inner) or len(words) * 2 > len(_text(element).split())
        found["text"] = [_text(element) if is_sentence else " ".join(words)]
        if is_sentence:
            children = [
                each for each in inner if any(part.attrib and local(part) not in _INLINE for part in each.iter())
            ]
            if not attributes and not children:
                return found["text"][0]
    for child in children:
        if child.tag is etree.Comment:
            name, value = "comment", one_line(child.text or "")
        else:
            name, value = local(child), _value(child)
        if not name or value in ("", {}):
            continue
        found.setdefault(name, []).append(value)
    flat = {name: values[0] if len(values) == 1 else values for name, values in found.items()}
    return {**attributes, **flat}


def _blocks(root: _Element) -> Iterator[tuple[str, str]]:
    """Yield `(text, style)` of a text's paragraphs, headings and rows of tables in their order, notes behind theirs."""
    stack = [root]
    while stack:
        element = stack.pop()
        if element.tag is etree.Comment:
            if words := one_line(element.text or ""):
                yield f"Comment: {words}", ""
        elif not local(element):
            continue
        elif local(element) in _TABLES and any(local(each) in _CELLS for each in element.iter()):
            yield from ((line, "row") for line in _rows(element))
        elif local(element) in _PROGRAMS:
            yield "".join(map(str, element.itertext())).strip("\n"), ""
        elif len(element) == 0 or _is_mixed(element):
            yield from _paragraph(element)
        else:
            stack += reversed(element)


def _paragraph(element: _Element) -> Iterator[tuple[str, str]]:
    """Yield a paragraph, a heading or an item of a list, then the notes inside of it."""
    notes = [each for each in element.iterdescendants() if local(each) in _NOTES]
    words = [_text(each) for each in notes]
    for each in notes:
        for part in list(each):
            each.remove(part)
        each.text = ""
    text = _text(element).replace(" ,", ",").replace(" .", ".")
    name, parent = local(element), element.getparent()
    is_first = parent is not None and local(parent) in _ITEMS and element.getprevious() is None
    if any(char.isalnum() for char in text):
        is_item = name in _ITEMS or is_first
        is_heading = name.lower() in _TITLES and len(text) < PROSE * 2
        yield f"- {text}" if is_item else text, "heading" if is_heading else "list" if is_item else ""
    yield from ((f"Footnote: {each}", "") for each in words if each)


def _rows(table: _Element) -> list[str]:
    """Return the rows of a table as lines, each with its title."""
    rows = [each for each in table.iter() if local(each) in _ROWS]
    grid = [[_text(cell) for cell in row if local(cell) in _CELLS] for row in rows]
    heads = sum(1 for row in rows if any(local(each) == "thead" for each in row.iterancestors()))
    return table_lines(grid, caption=_own_title(table), header_rows=heads or None)
