"""PMC articles in JATS XML: title, abstract, body and notes with their headings; references are left out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from preflight_rag.ingest.loaders.equations import mathml_line
from preflight_rag.ingest.loaders.fields import PMC_OTHER, PMC_REVIEW, checked_date, in_file, one_line, whole_number
from preflight_rag.ingest.loaders.files import read_bytes
from preflight_rag.ingest.loaders.read_report import READ_REPORT, ReadReport
from preflight_rag.ingest.loaders.xml import XMLSyntaxError, local, parse_xml
from preflight_rag.ingest.loaders.xml_tree import load_xml_tree
from preflight_rag.state.errors import DocumentError, EmptyDocument, UnreadableDocument
from preflight_rag.state.values import Document
from preflight_rag.text.legends import raised, raised_behind, with_legends, with_note
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
_BACK_PARTS = ("app-group", "app", "sec", "glossary", "ack", "notes")
_DECLARED = {
    "conflict": "Competing interests", "coi-statement": "Competing interests", "con": "Author contributions",
    "financial-disclosure": "Funding", "supported-by": "Funding",
}  # fmt: skip
"""Headings of the declarations of authors, by the type of their note: "Who funded the trial?" is asked."""
_RETRACTED_BY = "retraction-forward"
"""How a retracted article points to its retraction; the notice itself says "retracted-article" of it (JATS4R)."""
_REVIEW_TYPES = ("review-article", "systematic-review")
_REVIEW_HEADING = re.compile(r"(?:(?:systematic|mini|invited|clinical)[ -]?)?reviews?(?: articles?)?$", re.IGNORECASE)
_INDENTED = re.compile("\\s*[\u00a0\u2002-\u200a]")
_NOTE_MARK = re.compile(r"(?:[a-z]|\d{1,2})(?:, ?(?:[a-z]|\d{1,2})){0,5}")
"""A superscript that is the mark of notes where its table has such notes: "a", "a,b", "1"."""
_JATS_PART = re.compile(rb"<(?:\w+:)?(?:front|body|back|pmc-articleset)[\s>]")
_NOTES = ("table-fn", "fn")
"""Kinds of references that lead to a note."""
_DATE_ORDER = ("epub", "pub", "ppub", "epub-ppub", "collection", "pmc-release", "")


def load_jats(path: Path, max_bytes: int) -> Iterator[Document | DocumentError]:
    """Yield the article, or all articles of a `pmc-articleset`; `metadata["sections"]` holds the headings.

    The source is `PMC…`, else `PMID …`, else the path. A lone article has the path as its id, others `path#PMC…`.

    Raises:
        UnreadableDocument: It is not well-formed.
    """
    data = read_bytes(path, max_bytes)
    if not _is_jats(data):
        yield from load_xml_tree(path, max_bytes)
        return
    articles = _articles(data, str(path))
    for number, article in enumerate(articles, 1):
        item = _document(str(path), article, "always")
        if isinstance(item, Document):
            report = _report(article, item.text).to_json()
            item = item.model_copy(update={"metadata": {**item.metadata, READ_REPORT: report}})
            item = in_file(item, path, part=(item.source or number) if len(articles) > 1 else None)
        yield item


def _report(article: _Element, text: str) -> ReadReport:
    """Return what was read of an article, and what was left out: its references, and pictures."""
    report = ReadReport({"words": len(text.split())})
    for table in _descendants(article, "table"):
        report.count("tables")
        report.count("rows", sum(1 for _ in _descendants(table, "tr")))
    report.count("pictures_without_text", sum(1 for _ in _descendants(article, "graphic")))
    if references := sum(1 for _ in _descendants(article, "ref")):
        report.leave_out("1 reference" if references == 1 else f"{references:,} references", "a list of other works")
    return report


def _is_jats(data: bytes) -> bool:
    """Return whether a file has the parts of a JATS article; DocBook's article has no front and no body."""
    return _JATS_PART.search(data) is not None


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
    for article in _articles(data, place):
        yield _document(place, article, full_text)


def _articles(data: bytes, place: str) -> list[_Element]:
    """Return the articles of a file.

    Raises:
        UnreadableDocument: It is not well-formed.
    """
    try:
        root = parse_xml(data)
    except XMLSyntaxError as error:
        raise UnreadableDocument(f"{place} is not well-formed XML: {error}") from error
    return [root] if local(root) == "article" else list(_children(root, "article"))


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
    explained = with_legends(text)
    text, sections = explained.text, [[explained.moved(offset), name] for offset, name in sections]
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
    yield from _back_blocks(_child(article, "back"))
    yield from _funding(article, meta)
    for floats in _children(article, "floats-group"):
        yield from _blocks(floats)


def _back_blocks(back: _Element | None) -> Iterator[tuple[str, str]]:
    """Yield the blocks behind an article's text: appendices, acknowledgements, footnotes and declarations."""
    for name in _BACK_PARTS:
        for part in _children(back, name):
            if name == "ack" and _child(part, "title") is None:
                yield "heading", "Acknowledgements"
            yield from _blocks(part)
    for group in _children(back, "fn-group"):
        yield from _notes(group)


def _notes(group: _Element) -> Iterator[tuple[str, str]]:
    """Yield the footnotes of a text, and what its authors declare: funding, interests and contributions."""
    for note in _children(group, "fn"):
        text = " ".join(_line(part) for part in note if local(part) != "label")
        if not any(char.isalnum() for char in text):
            continue
        if note.get("fn-type") is None:
            yield "item", f"Footnote {_line(_child(note, 'label'))}".rstrip() + f": {text}"
        elif heading := _DECLARED.get((note.get("fn-type") or "").casefold()):
            yield "heading", heading
            yield "paragraph", text


def _funding(article: _Element, meta: _Element | None) -> Iterator[tuple[str, str]]:
    """Yield the statement on funding in an article's front, unless its body or back has the same."""
    parts = (part for name in ("body", "back") if (part := _child(article, name)) is not None)
    declared = _letters(" ".join("".join(part.itertext()) for part in parts))
    for group in _children(meta, "funding-group"):
        for statement in _children(group, "funding-statement"):
            text = _line(statement)
            if text and _letters("".join(statement.itertext())) not in declared:
                yield "heading", "Funding"
                yield "paragraph", text


def _letters(text: str) -> str:
    """Return the letters and digits of a text alone."""
    return "".join(filter(str.isalnum, text))


def _blocks(element: _Element) -> Iterator[tuple[str, str]]:
    """Yield the blocks inside an element; text between block elements is a block of its own."""
    inline: list[str] = [element.text or ""]
    for child in element:
        name = local(child)
        if name in _BLOCKS:
            yield from _paragraph(inline)
            inline = []
            yield from _block(child, name)
        elif name == "sup":
            inline.append(_raised("".join(inline[-3:]), child))
        elif name == "math":
            inline.append(mathml_line(child))
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
        elif name == "sup":
            inline.append(_raised("".join(inline[-3:]), child))
        elif name == "math":
            inline.append(mathml_line(child))
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
    elif name in ("list-item", "fn"):
        yield from _labelled(element, name)
    elif name == "def-item":
        yield "item", f"{_line(_child(element, 'term'))}: {_line(_child(element, 'def'))}"
    elif name in ("fig", "table-wrap", "supplementary-material", "boxed-text"):
        yield from _captioned(element)
    elif name == "sec" or name != "label":
        yield from _blocks(element)


def _labelled(element: _Element, name: str) -> Iterator[tuple[str, str]]:
    """Yield the blocks of an item of a list, or of a note, with its label before the first."""
    label = _line(_child(element, "label"))
    for place, (kind, text) in enumerate(_blocks(element)):
        if place or (name == "fn" and not label) or (name != "fn" and kind != "paragraph"):
            yield kind, text
        elif name == "fn":
            yield kind, f"{raised(label)} {text}"
        else:
            yield "item", f"{label or '-'} {text}"


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
    _write_marks(table)
    heads = [row for row in rows if local(row.getparent()) == "thead"]
    grid = expand_spans(
        [[(_cell(cell), _span(cell, "colspan"), _span(cell, "rowspan")) for cell in row] for row in rows]
    )
    for line in table_lines(grid, caption=caption, header_rows=len(heads) or None):
        yield "row", line


_COMPARES_MARKS = re.compile(
    r"\b(?:superscripts?|letters?)\b[^.]{0,60}\b(?:common|differ\w*|same|share\w*)|\b(?:common|different|same)\b[^.]{0,40}"
    r"\b(?:superscripts?|letters?)\b",
    re.I,
)
"""A note that compares cells by their marks, which have to stay: "values with no superscripts in common differ"."""


def _write_marks(table: _Element) -> None:
    """Put notes that marks of a table's cells lead to into these cells, and write other marks above the line.

    The name of a column keeps its mark: what a note says would stand in it on each row.
    """
    wrap = next((each for each in table.iterancestors() if local(each) == "table-wrap"), table)
    notes = {str(note.get("id")): note for note in _descendants(wrap, "fn") if note.get("id")}
    for link in [each for each in _descendants(table, "xref") if each.get("ref-type") in _NOTES]:
        named, note = _line(link), notes.get(str(link.get("rid")))
        is_name = any(local(each) in ("th", "thead") for each in link.iterancestors())
        words = " ".join(_line(part) for part in note if local(part) != "label") if note is not None else ""
        if _COMPARES_MARKS.search(words):
            words = ""
        above = link.getparent()
        outer = above if above is not None and local(above) == "sup" else link
        if words and not is_name and (written := with_note(named, words).removeprefix(named)):
            _replace(link, written)
            if outer is not link:
                _unwrap(outer)
        elif local(outer) != "sup" and len(link) == 0:
            _replace(link, raised(named))
    for mark in list(_descendants(table, "sup")):
        text = _line(mark)
        if _NOTE_MARK.fullmatch(text) and not text.isdigit():
            _replace(mark, raised(text.replace(" ", "")))
            if (mark.tail or "")[:1].isalnum():
                mark.tail = f" {mark.tail}"


def _replace(element: _Element, text: str) -> None:
    """Write a text in the place of what an element holds, on its line."""
    for child in list(element):
        element.remove(child)
    element.tag, element.text = "named-content", text


def _unwrap(above: _Element) -> None:
    """Make a superscript that holds notes a part of its line, without what parted their marks."""
    above.tag = "named-content"
    for text_holder in above:
        if not (text_holder.tail or "").strip(" ,;"):
            text_holder.tail = ""


def _cell(cell: _Element) -> str:
    """Return a cell's text; one that is indented by spaces begins with `INDENT`."""
    return INDENT + _line(cell) if _INDENTED.match("".join(_words(cell))) else _line(cell)


def _words(element: _Element) -> Iterator[str]:
    """Yield all pieces of text in an element."""
    return (str(part) for part in element.itertext())


def _span(cell: _Element, name: str) -> int:
    """Return how many columns or rows a cell spans."""
    return whole_number(str(cell.get(name, "1")), 1)


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
            if local(child) == "sup":
                parts.append(_raised("".join(parts[-3:]), child))
            elif local(child) == "math":
                parts.append(mathml_line(child))
            else:
                _collect(child, parts)
        parts.append(child.tail or "")


def _raised(before: str, mark: _Element) -> str:
    """Return what stands above the line behind a text, above the line where "109" and "locka" would say something else.

    At the beginning of a line, and behind another note, it is the mark of a note.
    """
    parts: list[str] = []
    _collect(mark, parts)
    text = "".join(parts)
    begins = not before.strip() or (before.rstrip()[-1] in ";." and text.strip().isalpha())
    if begins and _NOTE_MARK.fullmatch(text.strip()):
        return f"{raised(text.strip().replace(' ', ''))} "
    return raised_behind(before[-4:], text)


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
