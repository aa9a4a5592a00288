"""PMC articles in JATS XML: title, abstract, body and notes with their headings; references are left out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from preflight_rag.ingest.loaders.fields import PMC_OTHER, PMC_REVIEW, checked_date, in_file, one_line
from preflight_rag.ingest.loaders.files import read_bytes
from preflight_rag.ingest.loaders.xml import XMLSyntaxError, local, parse_xml
from preflight_rag.state.errors import DocumentError, EmptyDocument, UnreadableDocument
from preflight_rag.state.values import Document
from preflight_rag.text.retractions import is_retracted, marked_title
from preflight_rag.text.tables import INDENT, expand_spans, table_lines

if TYPE_CHECKING:
    from lxml.etree import _Element

_LEFT_OUT = {
    "ref-list", "tex-math", "object-id", "permissions", "media", "sub-article", "response", "fn-group", "alt-text",
    "email",
}  # fmt: skip
_BLOCKS = {
    "sec", "p", "title", "list", "list-item", "def-list", "def-item", "def", "term", "boxed-text", "fig", "fig-group",
    "table-wrap", "table-wrap-group", "table-wrap-foot", "table", "thead", "tbody", "tfoot", "tr", "caption", "label",
    "disp-quote", "disp-formula", "disp-formula-group", "abstract", "body", "back", "app", "app-group", "ack",
    "supplementary-material", "statement", "verse-group", "verse-line", "floats-group", "glossary", "notes", "fn",
    "speech", "speaker", "preformat", "attrib", "subtitle", "array",
}  # fmt: skip
_OMITTED_ABSTRACTS = ("graphical", "toc", "teaser", "key-points-image")
_BACK_PARTS = ("app-group", "app", "sec", "glossary")
_RETRACTED_BY = "retraction-forward"
"""How a retracted article points to its retraction; the notice itself says "retracted-article" of it (JATS4R)."""
_REVIEW_TYPES = ("review-article", "systematic-review")
_REVIEW_HEADING = re.compile(r"(?:(?:systematic|mini|invited|clinical)[ -]?)?reviews?(?: articles?)?$", re.IGNORECASE)
_INDENTED = re.compile("\\s*[\u00a0\u2002-\u200a]")
_NOTE_MARK = re.compile(r"\s*+(?:[a-z*†‡§¶#]\s*+(?>(?:,\s*+)?)){1,3}")
_DATE_ORDER = ("epub", "pub", "ppub", "epub-ppub", "collection", "pmc-release", "")


def load_jats(path: Path, max_bytes: int) -> Iterator[Document | DocumentError]:
    """Yield the article, or all articles of a `pmc-articleset`; `metadata["sections"]` holds the headings.

    The source is `PMC…`, else `PMID …`, else the path. A lone article has the path as its id, others `path#PMC…`.

    Raises:
        UnreadableDocument: It is not well-formed.
    """
    items = list(read_jats(read_bytes(path, max_bytes), place=str(path)))
    for number, item in enumerate(items, 1):
        if isinstance(item, Document):
            item = in_file(item, path, part=(item.source or number) if len(items) > 1 else None)
        yield item


def read_jats(
    data: bytes, *, full_text: Literal["always", "reviews"] = "always", place: str = "PMC"
) -> Iterator[Document | DocumentError]:
    """Yield the articles of JATS XML; id and source are `PMC…`, else `PMID …`, else empty.

    Of PMC's articles `metadata["origin"]` is "D2" for a review and "D3" for any other. A retracted article has
    `metadata["retracted"]`, and its title says so.

    Args:
        data: An article, or a set of them.
        full_text: "reviews" leaves out everything but the abstract of an article that is no review.
        place: Where it comes from, for messages.

    Raises:
        UnreadableDocument: It is not well-formed.
    """
    try:
        root = parse_xml(data)
    except XMLSyntaxError as error:
        raise UnreadableDocument(f"{place} is not well-formed XML: {error}") from error
    for article in [root] if local(root) == "article" else _children(root, "article"):
        yield _document(place, article, full_text)


def _document(place: str, article: _Element, full_text: Literal["always", "reviews"]) -> Document | DocumentError:
    """Return an article as a document; an error if it has no text."""
    meta = _child(_child(article, "front"), "article-meta")
    review = _is_review(article, meta)
    whole = review or full_text == "always"
    ids = {str(item.get("pub-id-type")): _line(item) for item in _children(meta, "article-id")}
    pmcid = ids.get("pmc") or ids.get("pmcid") or ids.get("pmcaid") or ""
    pmcid = f"PMC{pmcid}" if pmcid.isdigit() else pmcid
    source = pmcid or (f"PMID {ids['pmid']}" if ids.get("pmid") else "")
    text, sections = _assembled(list(_article_blocks(article, meta, whole)))
    if not any(char.isalnum() for char in text):
        return EmptyDocument(f"{source or place} holds no {'text' if whole else 'abstract'}")
    title = _line(_child(_child(meta, "title-group"), "article-title"))
    retracted = is_retracted(title) or any(
        related.get("related-article-type") == _RETRACTED_BY for related in _descendants(meta, "related-article")
    )
    metadata: dict[str, Any] = {
        "pmcid": pmcid,
        "pmid": ids.get("pmid", ""),
        "doi": ids.get("doi", ""),
        "journal": _journal(article),
        "publisher": next((_line(item) for item in _descendants(_child(article, "front"), "publisher-name")), ""),
        "volume": _line(_child(meta, "volume")),
        "issue": _line(_child(meta, "issue")),
        "pages": _pages(meta),
        "keywords": [_line(item) for item in _descendants(meta, "kwd")],
        "sections": sections,
        "article_type": article.get("article-type") or "",
        "origin": (PMC_REVIEW if review else PMC_OTHER) if pmcid else "",
        "retracted": retracted,
    }
    return Document(
        id=source,
        text=text,
        source=source,
        title=marked_title(title, retracted),
        date=_date(meta),
        authors=tuple(_authors(meta)),
        metadata={key: value for key, value in metadata.items() if value},
    )


def _is_review(article: _Element, meta: _Element | None) -> bool:
    """Return whether an article is a review, by its type or the heading under which it is published."""
    if article.get("article-type") in _REVIEW_TYPES:
        return True
    groups = _children(_child(meta, "article-categories"), "subj-group")
    headings = [group for group in groups if group.get("subj-group-type") == "heading"]
    return any(_REVIEW_HEADING.match(_line(_child(group, "subject"))) for group in headings)


def _child(element: _Element | None, name: str) -> _Element | None:
    """Return the first child element of a name; None without one."""
    return next(_children(element, name), None)


def _children(element: _Element | None, name: str) -> Iterator[_Element]:
    """Yield the child elements of a name."""
    return (child for child in (element if element is not None else ()) if local(child) == name)


def _descendants(element: _Element | None, name: str) -> Iterator[_Element]:
    """Yield the elements of a name at any depth."""
    return (child for child in (element.iter() if element is not None else ()) if local(child) == name)


def _journal(article: _Element) -> str:
    """Return the name of the journal; "" if it is missing."""
    return next((_line(item) for item in _descendants(_child(article, "front"), "journal-title")), "")


def _pages(meta: _Element | None) -> str:
    """Return the article's pages, "12-19", or its number."""
    first, last = _line(_child(meta, "fpage")), _line(_child(meta, "lpage"))
    return f"{first}-{last}" if first and last and first != last else first or _line(_child(meta, "elocation-id"))


def _date(meta: _Element | None) -> str | None:
    """Return the publication date, preferring the electronic one."""
    dates = {str(item.get("pub-type") or item.get("date-type") or ""): item for item in _children(meta, "pub-date")}
    for kind in (*_DATE_ORDER, *dates):
        if kind in dates:
            year, month, day = (_line(_child(dates[kind], part)) for part in ("year", "month", "day"))
            if found := checked_date(year, month, day):
                return found
    return None


def _authors(meta: _Element | None) -> Iterator[str]:
    """Yield the names of the authors."""
    for person in _descendants(meta, "contrib"):
        if person.get("contrib-type", "author") != "author":
            continue
        name = next(_descendants(person, "name"), None)
        if name is not None:
            yield one_line(f"{_line(_child(name, 'given-names'))} {_line(_child(name, 'surname'))}")
        elif (group := _child(person, "collab")) is not None:
            yield _line(group)


def _article_blocks(article: _Element, meta: _Element | None, full_text: bool) -> Iterator[tuple[str, str]]:
    """Yield `(kind, text)` of every heading, paragraph, list item and row, of all text or of the abstract only."""
    for abstract in _children(meta, "abstract"):
        if abstract.get("abstract-type") not in _OMITTED_ABSTRACTS:
            if _child(abstract, "title") is None:
                yield "heading", "Abstract"
            yield from _blocks(abstract)
    if not full_text:
        return
    body = _child(article, "body")
    if body is not None:
        yield from _blocks(body)
    back = _child(article, "back")
    for name in _BACK_PARTS:
        for part in _children(back, name):
            yield from _blocks(part)
    for group in _children(back, "fn-group"):
        yield from _notes(group)
    for floats in _children(article, "floats-group"):
        yield from _blocks(floats)


def _notes(group: _Element) -> Iterator[tuple[str, str]]:
    """Yield the footnotes of a text, without declarations such as conflicts of interest or funding."""
    for note in _children(group, "fn"):
        text = " ".join(_line(part) for part in note if local(part) != "label")
        if note.get("fn-type") is None and any(char.isalnum() for char in text):
            yield "item", f"Footnote {_line(_child(note, 'label'))}".rstrip() + f": {text}"


def _blocks(element: _Element) -> Iterator[tuple[str, str]]:
    """Yield the blocks inside an element; text between block elements is a block of its own."""
    inline: list[str] = [element.text or ""]
    for child in element:
        name = local(child)
        if name in _BLOCKS:
            yield from _paragraph(inline)
            inline = []
            yield from _block(child, name)
        elif name not in _LEFT_OUT:
            yield from _flow(child, inline)
        inline.append(child.tail or "")
    yield from _paragraph(inline)


def _flow(element: _Element, inline: list[str]) -> Iterator[tuple[str, str]]:
    """Append an inline element's text to `inline`; yield block elements inside it, such as a table in a link."""
    if not local(element):
        return
    inline.append(element.text or "")
    for child in element:
        name = local(child)
        if name in _BLOCKS and name not in ("label", "term", "p"):
            yield from _block(child, name)
        elif name not in _LEFT_OUT:
            yield from _flow(child, inline)
        inline.append(child.tail or "")


def _paragraph(inline: list[str]) -> Iterator[tuple[str, str]]:
    """Yield the collected inline text as a paragraph, if it contains any letter or digit."""
    text = _tightened("".join(inline))
    if any(char.isalnum() for char in text):
        yield "paragraph", text


def _block(element: _Element, name: str) -> Iterator[tuple[str, str]]:
    """Yield the blocks of a block element by its name."""
    if name == "table":
        yield from _table(element, "")
    elif name == "title":
        text = _line(element)
        if text:
            yield "heading", text
    elif name == "list-item":
        items = list(_blocks(element))
        for index, (kind, text) in enumerate(items):
            yield ("item", f"- {text}") if index == 0 and kind == "paragraph" else (kind, text)
    elif name == "def-item":
        yield "item", f"{_line(_child(element, 'term'))}: {_line(_child(element, 'def'))}"
    elif name in ("fig", "table-wrap", "supplementary-material", "boxed-text"):
        yield from _captioned(element)
    elif name == "sec" or name != "label":
        yield from _blocks(element)


def _captioned(element: _Element) -> Iterator[tuple[str, str]]:
    """Yield the blocks of a figure or table: label and caption as one paragraph, then the rest."""
    label, caption = _line(_child(element, "label")), _child(element, "caption")
    described = [text for _, text in _blocks(caption)] if caption is not None else []
    heading = " ".join(part if part.endswith((".", ":", "?")) else f"{part}." for part in (label, *described) if part)
    if heading:
        yield "paragraph", heading
    # The rest of a caption explains; beside each row its beginning is enough.
    name = heading.split("\n", 1)[0] if len(described) < 2 else " ".join(part for part in (label, described[0]) if part)
    for child in element:
        for part in child if local(child) == "alternatives" else (child,):
            if local(part) == "table":
                yield from _table(part, name)
            elif local(part) in _BLOCKS - {"label", "caption"}:
                yield from _block(part, local(part))


def _table(table: _Element, caption: str) -> Iterator[tuple[str, str]]:
    """Yield the rows of a table, each with the caption and its columns' names."""
    rows = [row for row in table.iter() if local(row) == "tr" and next(row.iterancestors(table.tag)) is table]
    for mark in [item for item in table.iter() if local(item) == "sup" and _NOTE_MARK.fullmatch("".join(_words(item)))]:
        # A letter that points to a note would stand in the name of a column as a letter of its last word.
        for item in mark.iter():
            item.text, item.tail = "", (item.tail if item is mark else "")
    heads = [row for row in rows if local(row.getparent()) == "thead"]
    grid = expand_spans(
        [[(_cell(cell), _span(cell, "colspan"), _span(cell, "rowspan")) for cell in row] for row in rows]
    )
    for line in table_lines(grid, caption=caption, header_rows=len(heads) or None):
        yield "row", line


def _cell(cell: _Element) -> str:
    """Return a cell's text; one that is indented by spaces begins with `INDENT`."""
    return INDENT + _line(cell) if _INDENTED.match("".join(_words(cell))) else _line(cell)


def _words(element: _Element) -> Iterator[str]:
    """Yield all pieces of text in an element."""
    return (str(part) for part in element.itertext())


def _span(cell: _Element, name: str) -> int:
    """Return how many columns or rows a cell spans."""
    text = str(cell.get(name, "1"))
    return int(text) if text.isdigit() else 1


def _line(element: _Element | None) -> str:
    """Return all text of an element on one line, without the elements that are never read."""
    if element is None:
        return ""
    parts: list[str] = []
    _collect(element, parts)
    return _tightened("".join(parts))


def _collect(element: _Element, parts: list[str]) -> None:
    """Append the pieces of text in an element to `parts`, without the elements that are never read."""
    parts.append(element.text or "")
    for child in element:
        if local(child) and local(child) not in _LEFT_OUT:
            if local(child) in _BLOCKS or local(child) == "break":
                parts.append(" ")
            _collect(child, parts)
        parts.append(child.tail or "")


def _tightened(text: str) -> str:
    """Return a text on one line, without the gaps of empty inline elements before punctuation and in brackets."""
    line = one_line(text)
    line = re.sub(r"\[\s*(?:[,;–-]\s*)*\]|\(\s*(?:[,;–-]\s*)*\)", "", line)
    return " ".join(re.sub(r" (?=[,.;:)\]](?:\s|$))|(?<=[(\[]) ", "", line).split())


def _assembled(blocks: list[tuple[str, str]]) -> tuple[str, list[list[Any]]]:
    """Return the blocks as one text, and `[offset, heading]` of each section."""
    parts: list[str] = []
    sections: list[list[Any]] = []
    length = 0
    previous = ""
    for kind, text in blocks:
        separator = "" if not parts else "\n" if kind == previous and kind in ("row", "item") else "\n\n"
        length += len(separator)
        if kind == "heading":
            sections.append([length, text])
        parts.extend((separator, text))
        length += len(text)
        previous = kind
    return "".join(parts), sections
