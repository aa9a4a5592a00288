"""Read PMC articles in JATS XML: title, abstract, body and notes with their headings, without the references."""

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

_UNREAD_ELEMENTS = {
    "ref-list", "tex-math", "object-id", "permissions", "media", "sub-article", "response", "fn-group", "alt-text",
    "email",
}  # fmt: skip
"""Elements that are left out of the text with all that they contain."""
_BLOCK_ELEMENTS = {
    "sec", "p", "title", "list", "list-item", "def-list", "def-item", "def", "term", "boxed-text", "fig", "fig-group",
    "table-wrap", "table-wrap-group", "table-wrap-foot", "table", "thead", "tbody", "tfoot", "tr", "caption", "label",
    "disp-quote", "disp-formula", "disp-formula-group", "abstract", "body", "back", "app", "app-group", "ack",
    "supplementary-material", "statement", "verse-group", "verse-line", "floats-group", "glossary", "notes", "fn",
    "speech", "speaker", "preformat", "attrib", "subtitle", "array",
}  # fmt: skip
_OMITTED_ABSTRACTS = ("graphical", "toc", "teaser", "key-points-image")
_BACK_PARTS = ("app-group", "app", "sec", "glossary", "ack", "notes")
_DECLARATION_HEADINGS = {
    "conflict": "Competing interests", "coi-statement": "Competing interests", "con": "Author contributions",
    "financial-disclosure": "Funding", "supported-by": "Funding",
}  # fmt: skip
"""Headings of the authors' declarations by the type (`fn-type`) of their note."""
_RETRACTION_LINK = "retraction-forward"
"""Type of the link from a retracted article to its retraction notice; the notice has "retracted-article" (JATS4R)."""
_REVIEW_TYPES = ("review-article", "systematic-review")
_REVIEW_HEADING = re.compile(r"(?:(?:systematic|mini|invited|clinical)[ -]?)?reviews?(?: articles?)?$", re.IGNORECASE)
_INDENTATION = re.compile("\\s*[\u00a0\u2002-\u200a]")
"""A no-break space or a wide space at the beginning of a cell."""
_NOTE_MARK = re.compile(r"(?:[a-z]|\d{1,2})(?:, ?(?:[a-z]|\d{1,2})){0,5}")
"""A superscript that may be the mark of one or several notes: "a", "a,b", "1"."""
_JATS_PART = re.compile(rb"<(?:\w+:)?(?:front|body|back|pmc-articleset)[\s>]")
_NOTE_REFERENCES = ("table-fn", "fn")
"""Types (`ref-type`) of cross-references that lead to a note."""
_DATE_TYPES = ("epub", "pub", "ppub", "epub-ppub", "collection", "pmc-release", "")
"""Types of publication dates, the preferred one first."""


def load_jats(path: Path, max_bytes: int) -> Iterator[Document | DocumentError]:
    """Yield the article of a file, or all articles of a `pmc-articleset`, with their full text.

    `metadata["sections"]` holds the headings. The source is `PMC…`, else `PMID …`, else the path. A single article has
    the path as its id, others `path#PMC…`. An article without text is yielded as an error. Any other XML file is read
    by `load_xml_tree`.

    Raises:
        UnreadableDocument: The file is not well-formed.
    """
    data = read_bytes(path, max_bytes)
    if not _is_jats(data):
        yield from load_xml_tree(path, max_bytes)
        return
    articles = _articles(data, str(path))
    for number, article in enumerate(articles, 1):
        document = _build_document(str(path), article, full_text="always")
        if isinstance(document, Document):
            report = _build_report(article, document.text).to_json()
            document = document.model_copy(update={"metadata": {**document.metadata, READ_REPORT: report}})
            part = (document.source or number) if len(articles) > 1 else None
            document = in_file(document, path, part=part)
        yield document


def _build_report(article: _Element, text: str) -> ReadReport:
    """Report how many words, tables and rows of an article were read, and which pictures and references were not."""
    report = ReadReport({"words": len(text.split())})
    for table in _descendants(article, "table"):
        report.count("tables")
        report.count("rows", sum(1 for _ in _descendants(table, "tr")))
    report.count("pictures_without_text", sum(1 for _ in _descendants(article, "graphic")))
    if references := sum(1 for _ in _descendants(article, "ref")):
        report.leave_out("1 reference" if references == 1 else f"{references:,} references", "a list of other works")
    return report


def _is_jats(data: bytes) -> bool:
    """Return whether a file contains a JATS article; an article in DocBook's format has no `front` and no `body`."""
    return _JATS_PART.search(data) is not None


def read_jats(
    data: bytes, *, full_text: Literal["always", "reviews"] = "always", place: str = "PMC"
) -> Iterator[Document | DocumentError]:
    """Yield the articles of JATS XML; their id and source are `PMC…`, else `PMID …`, else empty.

    For articles of PMC, `metadata["origin"]` is "D2" for a review and "D3" for any other. A retracted article has
    `metadata["retracted"]`, and its title says so. An article without text is yielded as an error.

    Args:
        data: The XML of an article, or of a set of articles.
        full_text: "reviews" reads the full text of reviews only, and the abstracts of other articles.
        place: Where the data come from, for messages.

    Raises:
        UnreadableDocument: The data are not well-formed.
    """
    for article in _articles(data, place):
        yield _build_document(place, article, full_text)


def _articles(data: bytes, place: str) -> list[_Element]:
    """Return the articles of XML data, whose root is an article or a set of them; `place` is named in messages.

    Raises:
        UnreadableDocument: The data are not well-formed.
    """
    try:
        root = parse_xml(data)
    except XMLSyntaxError as error:
        raise UnreadableDocument(f"{place} is not well-formed XML: {error}") from error
    return [root] if local(root) == "article" else list(_children(root, "article"))


def _build_document(place: str, article: _Element, full_text: Literal["always", "reviews"]) -> Document | DocumentError:
    """Return an article as a document; an `EmptyDocument` error if it has no text.

    With "reviews" as `full_text`, only the abstract of an article that is no review is read.
    """
    meta = _child(_child(article, "front"), "article-meta")
    is_review = _is_review(article, meta)
    has_full_text = is_review or full_text == "always"
    ids = {str(item.get("pub-id-type")): _line_of_text(item) for item in _children(meta, "article-id")}
    pmcid = ids.get("pmc") or ids.get("pmcid") or ids.get("pmcaid") or ""
    pmcid = f"PMC{pmcid}" if pmcid.isdigit() else pmcid
    source = pmcid or (f"PMID {ids['pmid']}" if ids.get("pmid") else "")
    text, sections = _join_blocks(list(_article_blocks(article, meta, has_full_text)))
    # The explanations of legends are inserted into the text, which moves the sections.
    explained = with_legends(text)
    text, sections = explained.text, [[explained.moved(offset), name] for offset, name in sections]
    if not any(char.isalnum() for char in text):
        return EmptyDocument(f"{source or place} holds no {'text' if has_full_text else 'abstract'}")
    title = _line_of_text(_child(_child(meta, "title-group"), "article-title"))
    related_types = [related.get("related-article-type") for related in _descendants(meta, "related-article")]
    retracted = is_retracted(title) or _RETRACTION_LINK in related_types
    metadata: dict[str, Any] = {
        "pmcid": pmcid,
        "pmid": ids.get("pmid", ""),
        "doi": ids.get("doi", ""),
        "journal": _journal_name(article),
        "publisher": next(
            (_line_of_text(item) for item in _descendants(_child(article, "front"), "publisher-name")), ""
        ),
        "volume": _line_of_text(_child(meta, "volume")),
        "issue": _line_of_text(_child(meta, "issue")),
        "pages": _page_range(meta),
        "keywords": [_line_of_text(item) for item in _descendants(meta, "kwd")],
        "sections": sections,
        "article_type": article.get("article-type") or "",
        "origin": (PMC_REVIEW if is_review else PMC_OTHER) if pmcid else "",
        "retracted": retracted,
    }
    return Document(
        id=source,
        text=text,
        source=source,
        title=marked_title(title, retracted),
        date=_publication_date(meta),
        authors=tuple(_author_names(meta)),
        metadata={key: value for key, value in metadata.items() if value},
    )


def _is_review(article: _Element, meta: _Element | None) -> bool:
    """Return whether an article is a review, by its type or the heading under which it is published."""
    if article.get("article-type") in _REVIEW_TYPES:
        return True
    groups = _children(_child(meta, "article-categories"), "subj-group")
    headings = [group for group in groups if group.get("subj-group-type") == "heading"]
    return any(_REVIEW_HEADING.match(_line_of_text(_child(group, "subject"))) for group in headings)


def _child(element: _Element | None, name: str) -> _Element | None:
    """Return the first child element with a name; None if there is none, or no element."""
    return next(_children(element, name), None)


def _children(element: _Element | None, name: str) -> Iterator[_Element]:
    """Yield the child elements with a name; nothing if the element is None."""
    return (child for child in (element if element is not None else ()) if local(child) == name)


def _descendants(element: _Element | None, name: str) -> Iterator[_Element]:
    """Yield the elements with a name at any depth, the element itself included; nothing if it is None."""
    return (child for child in (element.iter() if element is not None else ()) if local(child) == name)


def _journal_name(article: _Element) -> str:
    """Return the name of an article's journal; "" if it is missing."""
    return next((_line_of_text(item) for item in _descendants(_child(article, "front"), "journal-title")), "")


def _page_range(meta: _Element | None) -> str:
    """Return the pages of an article, "12-19" or "12"; without pages its electronic number, or ""."""
    first, last = _line_of_text(_child(meta, "fpage")), _line_of_text(_child(meta, "lpage"))
    return (
        f"{first}-{last}" if first and last and first != last else first or _line_of_text(_child(meta, "elocation-id"))
    )


def _publication_date(meta: _Element | None) -> str | None:
    """Return the ISO date of an article's publication, preferably the electronic one; None without a valid date."""
    dates = {str(item.get("pub-type") or item.get("date-type") or ""): item for item in _children(meta, "pub-date")}
    for date_type in (*_DATE_TYPES, *dates):
        if date_type in dates:
            year, month, day = (_line_of_text(_child(dates[date_type], part)) for part in ("year", "month", "day"))
            if date := checked_date(year, month, day):
                return date
    return None


def _author_names(meta: _Element | None) -> Iterator[str]:
    """Yield the names of the authors ("Ada Lund") and of groups of authors; editors are left out."""
    for person in _descendants(meta, "contrib"):
        if person.get("contrib-type", "author") != "author":
            continue
        name = next(_descendants(person, "name"), None)
        if name is not None:
            yield one_line(f"{_line_of_text(_child(name, 'given-names'))} {_line_of_text(_child(name, 'surname'))}")
        elif (group := _child(person, "collab")) is not None:
            yield _line_of_text(group)


def _article_blocks(article: _Element, meta: _Element | None, full_text: bool) -> Iterator[tuple[str, str]]:
    """Yield `(kind, text)` of every "heading", "paragraph", list "item" and "row" of an article.

    Without `full_text`, only those of the abstract are yielded. An abstract without a title is headed "Abstract".
    """
    for abstract in _children(meta, "abstract"):
        if abstract.get("abstract-type") not in _OMITTED_ABSTRACTS:
            if _child(abstract, "title") is None:
                yield "heading", "Abstract"
            yield from _inner_blocks(abstract)
    if not full_text:
        return
    body = _child(article, "body")
    if body is not None:
        yield from _inner_blocks(body)
    yield from _back_blocks(_child(article, "back"))
    yield from _funding_blocks(article, meta)
    for floats in _children(article, "floats-group"):
        yield from _inner_blocks(floats)


def _back_blocks(back: _Element | None) -> Iterator[tuple[str, str]]:
    """Yield the blocks of an article's back matter: appendices, acknowledgements, footnotes and declarations."""
    for name in _BACK_PARTS:
        for part in _children(back, name):
            if name == "ack" and _child(part, "title") is None:
                yield "heading", "Acknowledgements"
            yield from _inner_blocks(part)
    for group in _children(back, "fn-group"):
        yield from _note_blocks(group)


def _note_blocks(group: _Element) -> Iterator[tuple[str, str]]:
    """Yield the footnotes of a group as items, and the authors' declarations as paragraphs with a heading.

    Declarations are known by their type (funding, interests, contributions); notes of other types are left out.
    """
    for note in _children(group, "fn"):
        text = " ".join(_line_of_text(part) for part in note if local(part) != "label")
        if not any(char.isalnum() for char in text):
            continue
        if note.get("fn-type") is None:
            yield "item", f"Footnote {_line_of_text(_child(note, 'label'))}".rstrip() + f": {text}"
        elif heading := _DECLARATION_HEADINGS.get((note.get("fn-type") or "").casefold()):
            yield "heading", heading
            yield "paragraph", text


def _funding_blocks(article: _Element, meta: _Element | None) -> Iterator[tuple[str, str]]:
    """Yield heading and paragraph of each funding statement in the front that body and back do not contain, too."""
    parts = (part for name in ("body", "back") if (part := _child(article, name)) is not None)
    text_of_parts = _alphanumerics(" ".join("".join(part.itertext()) for part in parts))
    for group in _children(meta, "funding-group"):
        for statement in _children(group, "funding-statement"):
            text = _line_of_text(statement)
            if text and _alphanumerics("".join(statement.itertext())) not in text_of_parts:
                yield "heading", "Funding"
                yield "paragraph", text


def _alphanumerics(text: str) -> str:
    """Return a text without all characters other than letters and digits."""
    return "".join(filter(str.isalnum, text))


def _inner_blocks(element: _Element) -> Iterator[tuple[str, str]]:
    """Yield `(kind, text)` of the blocks inside an element; text between block elements is a paragraph of its own."""
    inline: list[str] = [element.text or ""]
    for child in element:
        name = local(child)
        if name in _BLOCK_ELEMENTS:
            yield from _paragraph_blocks(inline)
            inline = []
            yield from _element_blocks(child, name)
        elif name == "sup":
            inline.append(_raised_superscript("".join(inline[-3:]), child))
        elif name == "math":
            inline.append(mathml_line(child))
        elif name not in _UNREAD_ELEMENTS:
            yield from _collect_inline(child, inline)
        inline.append(child.tail or "")
    yield from _paragraph_blocks(inline)


def _collect_inline(element: _Element, inline: list[str]) -> Iterator[tuple[str, str]]:
    """Append the pieces of an inline element's text to `inline`; yield the block elements within, such as a table."""
    if not local(element):  # a comment or a processing instruction
        return
    inline.append(element.text or "")
    for child in element:
        name = local(child)
        if name in _BLOCK_ELEMENTS and name not in ("label", "term", "p"):
            yield from _element_blocks(child, name)
        elif name == "sup":
            inline.append(_raised_superscript("".join(inline[-3:]), child))
        elif name == "math":
            inline.append(mathml_line(child))
        elif name not in _UNREAD_ELEMENTS:
            yield from _collect_inline(child, inline)
        inline.append(child.tail or "")


def _paragraph_blocks(inline: list[str]) -> Iterator[tuple[str, str]]:
    """Yield the joined pieces of inline text as one paragraph, if they contain any letter or digit."""
    text = _remove_gaps("".join(inline))
    if any(char.isalnum() for char in text):
        yield "paragraph", text


def _element_blocks(element: _Element, name: str) -> Iterator[tuple[str, str]]:
    """Yield the blocks of a block element, whose kind depends on its name; nothing for a label."""
    if name == "table":
        yield from _table_blocks(element, "")
    elif name == "title":
        text = _line_of_text(element)
        if text:
            yield "heading", text
    elif name in ("list-item", "fn"):
        yield from _labelled_blocks(element, name)
    elif name == "def-item":
        yield "item", f"{_line_of_text(_child(element, 'term'))}: {_line_of_text(_child(element, 'def'))}"
    elif name in ("fig", "table-wrap", "supplementary-material", "boxed-text"):
        yield from _captioned_blocks(element)
    elif name != "label":
        yield from _inner_blocks(element)


def _labelled_blocks(element: _Element, name: str) -> Iterator[tuple[str, str]]:
    """Yield the blocks of a list item or a footnote ("fn"), the first one with the label before it.

    The first paragraph of a list item becomes "- text", or "1. text" with a label; other first blocks are unchanged.
    """
    label = _line_of_text(_child(element, "label"))
    for index, (kind, text) in enumerate(_inner_blocks(element)):
        takes_label = bool(label) if name == "fn" else kind == "paragraph"
        if index > 0 or not takes_label:
            yield kind, text
        elif name == "fn":
            yield kind, f"{raised(label)} {text}"
        else:
            yield "item", f"{label or '-'} {text}"


def _captioned_blocks(element: _Element) -> Iterator[tuple[str, str]]:
    """Yield the blocks of a figure or table: label and caption as one paragraph, then the other contents.

    Each row of a table also repeats the label and the first paragraph of the caption.
    """
    label, caption = _line_of_text(_child(element, "label")), _child(element, "caption")
    captions = [text for _, text in _inner_blocks(caption)] if caption is not None else []
    heading = " ".join(part if part.endswith((".", ":", "?")) else f"{part}." for part in (label, *captions) if part)
    if heading:
        yield "paragraph", heading
    # The further paragraphs of a caption are explanations, which the rows need not repeat.
    short_caption = heading.split("\n", 1)[0]
    if len(captions) > 1:
        short_caption = " ".join(part for part in (label, captions[0]) if part)
    for child in element:
        for part in child if local(child) == "alternatives" else (child,):
            if local(part) == "table":
                yield from _table_blocks(part, short_caption)
            elif local(part) in _BLOCK_ELEMENTS - {"label", "caption"}:
                yield from _element_blocks(part, local(part))


def _table_blocks(table: _Element, caption: str) -> Iterator[tuple[str, str]]:
    """Yield the rows of a table, without those of inner tables, each with the caption and the columns' names."""
    rows = [row for row in table.iter() if local(row) == "tr" and next(row.iterancestors(table.tag)) is table]
    _resolve_table_marks(table)
    header_rows = [row for row in rows if local(row.getparent()) == "thead"]
    cells = []
    for row in rows:
        cells.append([(_cell_text(cell), _span_count(cell, "colspan"), _span_count(cell, "rowspan")) for cell in row])
    for line in table_lines(expand_spans(cells), caption=caption, header_rows=len(header_rows) or None):
        yield "row", line


_MARK_COMPARISON = re.compile(
    r"\b(?:superscripts?|letters?)\b[^.]{0,60}\b(?:common|differ\w*|same|share\w*)|\b(?:common|different|same)\b[^.]{0,40}"
    r"\b(?:superscripts?|letters?)\b",
    re.I,
)
"""A note that compares cells by their marks, which must stay: "values with no superscripts in common differ"."""


def _resolve_table_marks(table: _Element) -> None:
    """Replace marks in a table's cells that link to notes by the notes' texts; write other marks as raised characters.

    Marks in a column's name stay, since each row would repeat the note, and so do marks that a note compares.
    """
    wrap = next((ancestor for ancestor in table.iterancestors() if local(ancestor) == "table-wrap"), table)
    notes = {str(note.get("id")): note for note in _descendants(wrap, "fn") if note.get("id")}
    for link in [xref for xref in _descendants(table, "xref") if xref.get("ref-type") in _NOTE_REFERENCES]:
        mark, note = _line_of_text(link), notes.get(str(link.get("rid")))
        is_in_header = any(local(ancestor) in ("th", "thead") for ancestor in link.iterancestors())
        note_text = " ".join(_line_of_text(part) for part in note if local(part) != "label") if note is not None else ""
        if _MARK_COMPARISON.search(note_text):
            note_text = ""
        parent = link.getparent()
        superscript = parent if parent is not None and local(parent) == "sup" else None
        if note_text and not is_in_header and (inserted_text := with_note(mark, note_text).removeprefix(mark)):
            _replace_contents(link, inserted_text)
            if superscript is not None:
                _make_inline(superscript)
        elif superscript is None and len(link) == 0:
            _replace_contents(link, raised(mark))
    for superscript in list(_descendants(table, "sup")):
        mark = _line_of_text(superscript)
        if _NOTE_MARK.fullmatch(mark) and not mark.isdigit():
            _replace_contents(superscript, raised(mark.replace(" ", "")))
            if (superscript.tail or "")[:1].isalnum():
                superscript.tail = f" {superscript.tail}"


def _replace_contents(element: _Element, text: str) -> None:
    """Replace the contents of an element by a text, and rename it to an inline element that is no superscript."""
    for child in list(element):
        element.remove(child)
    element.tag, element.text = "named-content", text


def _make_inline(superscript: _Element) -> None:
    """Turn a superscript whose marks were replaced by notes into inline text, without commas between the notes."""
    superscript.tag = "named-content"
    for child in superscript:
        if not (child.tail or "").strip(" ,;"):
            child.tail = ""


def _cell_text(cell: _Element) -> str:
    """Return the text of a table's cell, with `INDENT` before it if it is indented by wide spaces."""
    is_indented = _INDENTATION.match("".join(str(part) for part in cell.itertext()))
    return INDENT + _line_of_text(cell) if is_indented else _line_of_text(cell)


def _span_count(cell: _Element, attribute: str) -> int:
    """Return how many columns (`colspan`) or rows (`rowspan`) a cell spans; 1 if it does not tell."""
    return whole_number(str(cell.get(attribute, "1")), 1)


def _line_of_text(element: _Element | None) -> str:
    """Return the text of an element on one line, without unread elements such as references; "" for None."""
    if element is None:
        return ""
    parts: list[str] = []
    _collect_text(element, parts)
    return _remove_gaps("".join(parts))


def _collect_text(element: _Element, parts: list[str]) -> None:
    """Append the pieces of text in an element to `parts`, without unread elements; blanks separate blocks."""
    parts.append(element.text or "")
    for child in element:
        if local(child) and local(child) not in _UNREAD_ELEMENTS:
            if local(child) in _BLOCK_ELEMENTS or local(child) == "break":
                parts.append(" ")
            if local(child) == "sup":
                parts.append(_raised_superscript("".join(parts[-3:]), child))
            elif local(child) == "math":
                parts.append(mathml_line(child))
            else:
                _collect_text(child, parts)
        parts.append(child.tail or "")


def _raised_superscript(before: str, superscript: _Element) -> str:
    """Return a superscript's text after some text, raised where plain characters would read wrong ("109", "locka").

    At the beginning of a line, and after another note, a superscript is the mark of a note and is followed by a blank.
    """
    parts: list[str] = []
    _collect_text(superscript, parts)
    text = "".join(parts)
    begins_note = not before.strip() or (before.rstrip()[-1] in ";." and text.strip().isalpha())
    if begins_note and _NOTE_MARK.fullmatch(text.strip()):
        return f"{raised(text.strip().replace(' ', ''))} "
    return raised_behind(before[-4:], text)


def _remove_gaps(text: str) -> str:
    """Return a text on one line, without the gaps that empty inline elements left: "shown []." becomes "shown."."""
    line = one_line(text)
    # First brackets that contain only separators are removed, then blanks before punctuation and after brackets.
    line = re.sub(r"\[\s*(?:[,;–-]\s*)*\]|\(\s*(?:[,;–-]\s*)*\)", "", line)
    return " ".join(re.sub(r" (?=[,.;:)\]](?:\s|$))|(?<=[(\[]) ", "", line).split())


def _join_blocks(blocks: list[tuple[str, str]]) -> tuple[str, list[list[Any]]]:
    """Join `(kind, text)` blocks; return the text, and `[offset, heading]` of each section.

    Rows of a table and items of a list follow each other line by line; a blank line separates other blocks.
    """
    parts: list[str] = []
    sections: list[list[Any]] = []
    length = 0
    previous = ""
    for kind, text in blocks:
        is_next_line = kind == previous and kind in ("row", "item")
        separator = ("\n" if is_next_line else "\n\n") if parts else ""
        length += len(separator)
        if kind == "heading":
            sections.append([length, text])
        parts.extend((separator, text))
        length += len(text)
        previous = kind
    return "".join(parts), sections
