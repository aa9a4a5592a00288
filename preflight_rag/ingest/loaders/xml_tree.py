"""XML of any other kind: settings, routes and exports as rows and lines, texts as paragraphs, feeds by entry.

Elements and attributes become records, which are written like those of JSON (`rows.py`); files that are mostly prose,
such as DocBook and TEI, are read in order. Comments stay. Points of tracks and outlines are counted, not read.
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
"""Minimum mean number of characters of the texts of a file of prose; settings and exports have 20. A guess."""
LONGEST_TITLE = 2 * PROSE
"""Number of characters from which on a text is no title."""
_TITLES = ("title", "name", "head")
"""Elements whose text is the title of the element around them."""
_POINTS = frozenset({"trkpt", "rtept", "coord"})
"""Points of a track or route, of which a file has thousands."""
_MAX_POINT_PARTS = 8
"""Number of inner elements from which on such an element is more than a point; a guess."""
_DESCRIPTIONS = ("name", "cmt", "desc")
"""Elements with words about a point."""
_COORDINATES = re.compile(r"[-\d.,;\s]{200,}")
"""A long text of nothing but numbers, such as the outline of a place."""
_MARKUP = re.compile(r"</\w{1,20}>|<br ?/?>|<p>")
"""A tag of HTML in a text, as in entries of feeds."""
_PARAGRAPHS = frozenset({"p", "para", "simpara", "ab", "l", "line", "quote"})
"""Elements of DocBook, TEI, DITA and the like that contain prose."""
_TEXT_ROOTS = frozenset(
    {"book", "article", "chapter", "section", "TEI", "FictionBook", "topic", "concept", "task", "refentry"}
)
"""Root elements of files of prose."""
_ROWS, _CELLS = frozenset({"row", "tr", "strow"}), frozenset({"entry", "cell", "td", "th", "stentry"})
_TABLES = frozenset({"table", "informaltable", "tgroup", "simpletable"})
_PROGRAMS = frozenset({"programlisting", "screen", "literallayout", "codeblock", "pre", "code"})
"""Elements in which line breaks are kept."""
_NOTES = frozenset({"footnote", "note", "fn"})
_ITEMS = frozenset({"listitem", "item", "li"})
_LINE_BREAKING = _PARAGRAPHS | _ROWS | _CELLS | _TABLES | _ITEMS | {"div", "br", "lb", "title", "h1", "h2", "h3", "h4"}
"""Elements that begin and end a line, so that words before and after them are separate."""
_INLINE = frozenset(
    {
        *("a", "abbr", "b", "big", "c", "code", "em", "emphasis", "ex", "hi", "i", "link", "phrase", "q", "s", "small"),
        *("span", "strong", "sub", "subscript", "sup", "superscript", "tt", "u", "ulink", "w"),
    }
)
"""Elements that may be inside a word."""
_FORMAT_ATTRIBUTES = frozenset({"version", "schemaLocation", "noNamespaceSchemaLocation", "creator", "xmlns"})
"""Attributes of a root element that describe the format of the file, and are left out of its records."""
_FILE_ATTRIBUTES = frozenset({"version", "creator"})
"""Those of them that describe the file itself, except in `_FORMATS`."""
_FORMATS = frozenset({"gpx", "kml", "osm", "svg", "rss", "feed", "RDF", "FictionBook", "opml"})
"""Root elements of formats in which these attributes are the format's version and the program that wrote the file."""
_ENTRIES = {"rss": "item", "RDF": "item", "feed": "entry"}
"""The name of entries by the root element of a feed."""
_CONTENTS = ("encoded", "content", "description", "summary")
"""Elements with an entry's text, the complete one first."""
_PEOPLE = ("author", "creator", "contributor")
"""Elements with a person, inside of which the name may be an element of its own."""
_DATES = ("pubdate", "updated", "published", "date", "lastbuilddate", "time")
_NO_FURTHER_FIELDS = frozenset({*_DATES, "title", "creator", "author", "link", "guid", "id"})
"""Fields of an entry that are metadata, and not written above its text."""
_MOST_ELEMENTS = 400_000
"""Maximum number of elements of a file; a guess."""
_PREDEFINED = re.compile(r"&(?:amp|lt|gt|quot|apos);")
_ENTITY = re.compile(r"&(?!(?:amp|lt|gt|quot|apos);)")
"""A reference to another entity, which is not expanded."""
_LONGEST_DECLARED = 200
"""Maximum number of characters of an entity that stands for words, such as a product's name; a guess."""
_MOST_DECLARED = 1_000_000
"""Maximum number of characters for all entities of a file together; a guess."""
_TITLE_ELEMENTS = 40
_DATE_ELEMENTS = 8
"""Numbers of first elements among which a title and a date are searched; guesses."""


def load_xml_tree(path: Path, max_bytes: int) -> Iterator[Document]:
    """Yield the file as one document, a feed as one for each entry.

    Raises:
        UnreadableDocument: It is not well-formed, or has too many elements.
        DocumentTooLarge: It is larger than `max_bytes`.
    """
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, remove_pis=True)
    try:
        root = etree.fromstring(named_entities_resolved(read_bytes(path, max_bytes)), parser)
    except XMLSyntaxError as error:
        raise UnreadableDocument(f"{path} is not well-formed XML: {error}") from error
    _replace_entities(root)
    if entries := [element for element in root.iter() if local(element) == _ENTRIES.get(local(root))]:
        yield from _entry_documents(path, entries)
        return
    report = ReadReport()
    _drop_points(root, report)
    if sum(1 for _ in root.iter()) > _MOST_ELEMENTS:
        raise UnreadableDocument(
            f"{path} has more than {_MOST_ELEMENTS:,} elements", help="Split it, or export it as CSV or JSON lines"
        )
    title = _first_title([root, *root[:3]])
    if _is_prose(root):
        title = title or _first_title(islice(root.iter(), _TITLE_ELEMENTS))
        parts = Parts()
        for text, style in _blocks(root):
            parts.add(clean(text), style)
        text, sections = parts.joined(), parts.metadata()
    else:
        lines = [f"Comment: {words}" for comment in _comments_above(root) if (words := one_line(comment.text or ""))]
        for name in [name for name in root.attrib if str(name).rsplit("}", 1)[-1] in _FORMAT_ATTRIBUTES]:
            value = root.attrib.pop(name)
            if local(root) not in _FORMATS and str(name) in _FILE_ATTRIBUTES:
                lines.append(f"{name}: {one_line(str(value))}")
        value = _value(root)
        lines += json_lines(value if isinstance(value, dict) else {local(root): value})
        text, sections = clean("\n".join(lines)), {}
    first_elements = list(root[:_DATE_ELEMENTS])
    for element in root[:1]:
        first_elements += element
    texts = {local(element).lower(): element.text or "" for element in first_elements}
    date = next(filter(None, (iso_date(texts.get(name)) for name in _DATES)), None)
    yield file_document(path, text, title=title, date=date, metadata=sections, report=report)


def _entry_documents(path: Path, entries: list[_Element]) -> Iterator[Document]:
    """Yield each entry of a feed as a document: its title, a line of its other fields, and its text."""
    for number, entry in enumerate(entries, 1):
        fields = _fields_of_entry(entry)
        contents = {name: " ".join(fields[name]) for name in _CONTENTS if name in fields}
        body = next(iter(contents.values()), "")
        others: dict[str, str] = {}
        for name, texts in fields.items():
            is_repeated = contents[name] in body if name in contents else name.lower() in _NO_FURTHER_FIELDS
            if not is_repeated:
                others[name] = ", ".join(texts)
        title = next(iter(fields.get("title", ())), "")
        document = file_document(
            path,
            clean("\n\n".join(filter(None, [title, above_text(body, others)]))),
            title=title,
            date=_date_of_entry(fields),
            authors=tuple(fields.get("creator") or fields.get("author") or ()),
            metadata={"url": fields["link"][0]} if fields.get("link") else {},
        )
        yield in_file(document, path, part=number)


def _fields_of_entry(entry: _Element) -> dict[str, list[str]]:
    """Return the texts of the elements of a feed's entry, by their local names; a link's text is its target."""
    fields: dict[str, list[str]] = {}
    for element in entry:
        name = local(element)
        person_name = next((part for part in element if local(part) == "name"), None) if name in _PEOPLE else None
        text = _text(element if person_name is None else person_name)
        text = text or one_line(str(element.get("href") or element.get("term") or ""))
        if name and text:
            fields.setdefault(name, []).append(text)
    return fields


def _date_of_entry(fields: dict[str, list[str]]) -> str | None:
    """Return the date of a feed's entry, of several fields the one that is first in `_DATES`; None without any."""
    for name in _DATES:
        for key, texts in fields.items():
            if key.lower() == name and (date := iso_date(texts[0])):
                return date
    return None


def _replace_entities(root: _Element) -> None:
    """Replace each entity by the words that the file declares for it, or else by its name: "&product;" in a sentence.

    Only plain words are inserted, so that nothing is fetched or expanded, and no more than `_MOST_DECLARED` characters
    of them, because a short reference may stand for many.
    """
    declared = _declared_words(root)
    budget = _MOST_DECLARED
    for entity in list(root.iter(etree.Entity)):
        parent, before = entity.getparent(), entity.getprevious()
        if parent is None:
            continue
        name = str(getattr(entity, "name", ""))
        words = declared.get(name, name)
        words = words if len(words) <= budget else name
        budget -= len(words)
        words += entity.tail or ""
        if before is None:
            parent.text = (parent.text or "") + words
        else:
            before.tail = (before.tail or "") + words
        entity.tail = None
        parent.remove(entity)


def _declared_words(root: _Element) -> dict[str, str]:
    """Return the entities that the file declares as short plain words, by name; others are left out."""
    dtd = root.getroottree().docinfo.internalDTD
    declared = {}
    for entity in dtd.iterentities() if dtd is not None else ():
        words = one_line(entity.content or "")
        if words and len(words) <= _LONGEST_DECLARED and "<" not in words and not _ENTITY.search(words):
            declared[str(entity.name)] = _PREDEFINED.sub(lambda match: unescape(match[0]), words)
    return declared


def _comments_above(root: _Element) -> Iterator[_Element]:
    """Yield the comments above the root element, in the file's order."""
    yield from reversed(list(root.itersiblings(etree.Comment, preceding=True)))


def _first_title(elements: Iterable[_Element]) -> str:
    """Return the title of the first element that has one; "" if none has."""
    return next(filter(None, map(_title_of, elements)), "")


def _title_of(element: _Element) -> str:
    """Return the text of an element's first child that is a title or name; "" if it has none, or it is too long."""
    title = next((one_line(child.text or "") for child in element if local(child).lower() in _TITLES), "")
    return title if len(title) < LONGEST_TITLE else ""


def _drop_points(root: _Element, report: ReadReport) -> None:
    """Remove the points of tracks and the coordinates of outlines from a file, and report their numbers."""
    points: list[_Element] = []
    for element in root.iter():
        if local(element) in _POINTS and len(element) < _MAX_POINT_PARTS and not _is_described(element):
            points.append(element)
    for point in points:
        parent = point.getparent()
        if parent is not None:
            parent.remove(point)
    why = "numbers alone say nothing in words"
    if points:
        report.leave_out(f"{len(points):,} point{'s' if len(points) > 1 else ''} of tracks", why)
    outlines = [element for element in root.iter() if local(element) and _COORDINATES.fullmatch(element.text or "")]
    for outline in outlines:
        outline.text = ""
    if outlines:
        report.leave_out(f"{len(outlines):,} list{'s' if len(outlines) > 1 else ''} of coordinates", why)


def _is_described(point: _Element) -> bool:
    """Return whether a point of a route has words of its own, such as where to turn."""
    return any(local(child) in _DESCRIPTIONS and re.search(r"[^\W\d_]", child.text or "") for child in point)


def _is_prose(root: _Element) -> bool:
    """Return whether a file is mostly prose: by its root element, the length of its texts, or its paragraphs."""
    lengths = [len(text) for element in root.iter() if local(element) and (text := one_line(element.text or ""))]
    paragraphs = sum(1 for element in root.iter() if local(element) in _PARAGRAPHS)
    is_text = local(root) in _TEXT_ROOTS and paragraphs > 1
    return bool(lengths) and (is_text or sum(lengths) / len(lengths) > PROSE or paragraphs * 3 > len(lengths))


def _is_mixed(element: _Element) -> bool:
    """Return whether an element has both words of its own and other elements inside it."""
    has_words_after_child = any(one_line(child.tail or "") for child in element)
    has_children = any(local(child) for child in element)
    return has_words_after_child or (has_children and bool(one_line(element.text or "")))


def _own_words(element: _Element) -> list[str]:
    """Return the words directly in an element, outside of the elements inside it; [] for punctuation alone."""
    text = " ".join([element.text or "", *(child.tail or "" for child in element)])
    return text.split() if any(char.isalnum() for char in text) else []


def _is_record(element: _Element) -> bool:
    """Return whether an element is not a part of a sentence: its words are in inner elements, or in its attributes."""
    if local(element) in _INLINE:
        return False
    has_inner_elements = any(local(child) not in ("", *_INLINE) for child in element)
    return has_inner_elements or bool(element.attrib and not _text(element))


def _text(element: _Element) -> str:
    """Return all words inside an element on one line, without comments and without tags of HTML."""
    text = "".join(_pieces(element))
    return one_line(readable_text(text) if _MARKUP.search(text) else text)


def _pieces(element: _Element) -> Iterator[str]:
    """Yield the texts inside an element, with a space between words that different elements separate.

    No space is added between a text and an element directly beside it, as in "(<year>1905</year>)", unless that is a
    paragraph, a cell or the like.
    """
    last_char = ""
    follows_element = False  # whether an element has ended after the last text
    for event, node in etree.iterwalk(element, events=("start", "end", "comment")):
        if event == "comment":
            text = (node.tail or "") if node is not element else ""
        elif event == "start":
            text = node.text or ""
            is_separate = local(node) in _LINE_BREAKING or (follows_element and local(node) not in _INLINE)
            if is_separate and last_char.isalnum() and node is not element:
                yield " "
                last_char = " "
        else:
            text = (node.tail or "") if node is not element else ""
            if local(node) in _LINE_BREAKING and last_char.isalnum():
                yield " "
                last_char = " "
            follows_element = local(node) not in _INLINE
        if text:
            yield text
            last_char, follows_element = text[-1], False


def _value(element: _Element) -> Any:
    """Return an element as a JSON value: its text, or an object of its attributes, its inner elements and its text.

    Inner elements of one name are a list. A sentence with inner elements is one text; of these elements, only those
    with attributes are in the object, too.
    """
    attributes = {str(name).rsplit("}", 1)[-1]: one_line(str(value)) for name, value in element.attrib.items()}
    inner = [child for child in element if local(child)]
    words = _own_words(element)
    children: Iterable[_Element] = element
    values_of: dict[str, list[Any]] = {}
    if not inner and (len(element) == 0 or words):
        text = _text(element)
        return {**attributes, "text": text} if attributes and text else attributes or text
    if words:
        is_sentence = not any(map(_is_record, inner)) or len(words) * 2 > len(_text(element).split())
        text = _text(element) if is_sentence else " ".join(words)
        values_of["text"] = [text]
        if is_sentence:
            children = list(filter(_has_attributes, inner))
            if not attributes and not children:
                return text
    for child in children:
        if child.tag is etree.Comment:
            name, value = "comment", one_line(child.text or "")
        else:
            name, value = local(child), _value(child)
        if not name or value in ("", {}):
            continue
        values_of.setdefault(name, []).append(value)
    single_or_list = {name: values[0] if len(values) == 1 else values for name, values in values_of.items()}
    return {**attributes, **single_or_list}


def _has_attributes(element: _Element) -> bool:
    """Return whether an element, or one inside it, has attributes and is no formatting of words."""
    return any(part.attrib and local(part) not in _INLINE for part in element.iter())


def _blocks(root: _Element) -> Iterator[tuple[str, str]]:
    """Yield `(text, style)` of the paragraphs, headings, list items and table rows of a text, with notes behind theirs.

    The styles are those of `Parts.add`.
    """
    stack = [root]
    while stack:
        element = stack.pop()
        if element.tag is etree.Comment:
            if words := one_line(element.text or ""):
                yield f"Comment: {words}", ""
        elif not local(element):
            continue
        elif local(element) in _TABLES and any(local(part) in _CELLS for part in element.iter()):
            yield from ((line, "row") for line in _table_rows(element))
        elif local(element) in _PROGRAMS:
            yield "".join(map(str, element.itertext())).strip("\n"), ""
        elif len(element) == 0 or _is_mixed(element):
            yield from _paragraph_with_notes(element)
        else:
            stack += reversed(element)


def _paragraph_with_notes(element: _Element) -> Iterator[tuple[str, str]]:
    """Yield `(text, style)` of a paragraph, heading or list item, then of the notes inside it, which are emptied."""
    notes = [descendant for descendant in element.iterdescendants() if local(descendant) in _NOTES]
    texts_of_notes = list(map(_text, notes))
    for note in notes:
        for child in list(note):
            note.remove(child)
        note.text = ""
    text = _text(element).replace(" ,", ",").replace(" .", ".")
    name, parent = local(element), element.getparent()
    begins_item = parent is not None and local(parent) in _ITEMS and element.getprevious() is None
    is_item = name in _ITEMS or begins_item
    if any(char.isalnum() for char in text):
        is_heading = name.lower() in _TITLES and len(text) < LONGEST_TITLE
        style = "list" if is_item else ""
        yield f"- {text}" if is_item else text, "heading" if is_heading else style
    yield from ((f"Footnote: {note_text}", "") for note_text in texts_of_notes if note_text)


def _table_rows(table: _Element) -> list[str]:
    """Return the rows of a table as lines, with the table's title as their caption."""
    rows = [element for element in table.iter() if local(element) in _ROWS]
    grid = [[_text(cell) for cell in row if local(cell) in _CELLS] for row in rows]
    header_rows = sum(1 for row in rows if any(local(ancestor) == "thead" for ancestor in row.iterancestors()))
    return table_lines(grid, caption=_title_of(table), header_rows=header_rows or None)
