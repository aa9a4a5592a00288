"""PowerPoint presentations through python-pptx: each slide a page, with its tables, charts and notes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from posixpath import join, normpath
from typing import IO, TYPE_CHECKING, Any
from zipfile import ZipFile

from preflight_rag.ingest.loaders.attachments import embedded_documents
from preflight_rag.ingest.loaders.drawings import diagram_text
from preflight_rag.ingest.loaders.fields import (
    clean,
    file_document,
    iso_date,
    link_lines,
    one_line,
    people,
    whole_number,
)
from preflight_rag.ingest.loaders.files import Pages, open_archive, open_file
from preflight_rag.ingest.loaders.nested_lists import OpenItems
from preflight_rag.ingest.loaders.numbering import Counter, Level
from preflight_rag.ingest.loaders.parts import Parts
from preflight_rag.ingest.loaders.read_report import ReadReport
from preflight_rag.ingest.loaders.xml import core_properties, local, parse_xml
from preflight_rag.state.errors import UnreadableDocument
from preflight_rag.state.values import Document
from preflight_rag.text.check_boxes import with_typed_boxes
from preflight_rag.text.legends import raised_behind
from preflight_rag.text.tables import expand_spans, table_lines

if TYPE_CHECKING:
    from lxml.etree import _Element
    from pptx.chart.chart import Chart
    from pptx.slide import Slide
    from pptx.table import Table

_NUMBERS = (
    *(("alphaLc", "lowerLetter"), ("alphaUc", "upperLetter"), ("romanLc", "lowerRoman"), ("romanUc", "upperRoman")),
)
"""The beginnings of PowerPoint's kinds of numbers, and their names in `numbering`."""
_PATTERNS = {"ParenBoth": "(%1)", "ParenR": "%1)"}
"""The patterns of numbers, by the end of the kind; "%1." for all others."""
_WITH_MACROS = tuple(
    f"application/vnd.ms-powerpoint.{kind}.macroEnabled.main+xml" for kind in ("slideshow", "template")
)
"""Content types of a show and a template with macros (.ppsm, .potm), which python-pptx does not know."""
_DEEPEST = 20
"""Maximum depth of nested groups of shapes; a guess."""
_RAISED_CONTEXT = 4
"""Number of characters before a superscript by which `raised_behind` decides whether it is a mark."""


def load_pptx(path: Path, max_bytes: int, on_page: Pages | None = None) -> Iterator[Document]:
    """Yield the presentation as one document, whose headings are the titles of slides, then the files embedded in it.

    Raises:
        EncryptedDocument: It is protected by a password.
        UnreadableDocument: python-pptx cannot read it.
        DocumentTooLarge: It unpacks to more than `max_bytes`.
    """
    with open_archive(path, max_bytes, "PowerPoint presentation") as archive:
        properties = core_properties(archive)
        comments = _comments(archive)
        parts, pictures, report = Parts(), list[int](), ReadReport()
        embedded = embedded_documents(path, archive, "ppt", properties.get("title", ""), report, max_bytes)
    try:
        with open_file(path) as file:
            slides = _slides(file)
    except Exception as error:
        raise UnreadableDocument(
            f"{path} is no readable PowerPoint presentation: {type(error).__name__}: {error}"
        ) from error
    for number, slide in enumerate(slides, 1):
        length_before = parts.length
        _add_slide(parts, number, slide, report)
        for line in comments.get(slide.part.partname.lstrip("/"), ()):
            report.count("comments")
            parts.add(line)
        if parts.length == length_before and _has_picture(slide.shapes):
            pictures.append(number)
        if on_page:
            on_page(number, len(slides))
    report.count("slides", len(slides))
    report.leave_out_struck(sum(_count_struck(slide) for slide in slides))
    for line in link_lines(_links(slides)):
        parts.add(line, "list")
    if pictures:
        numbers = ", ".join(map(str, pictures))
        report.leave_out(f"slides that hold pictures only: {numbers}")
        report.less.append(f"slides without text ({numbers})")
    title = one_line(properties.get("title", ""))
    yield file_document(
        path,
        parts.joined(),
        title="" if title.lower() in ("powerpoint presentation", "powerpoint-präsentation") else title,
        saved=iso_date(properties.get("modified") or properties.get("created")),
        authors=people(properties.get("creator", "")),
        pages=tuple(parts.pages),
        metadata=parts.metadata(),
        report=report,
    )
    yield from embedded


def _slides(file: IO[bytes]) -> list[Slide]:
    """Return the slides of a presentation, a show or a template; `pptx.Presentation` opens only presentations.

    Raises:
        ValueError: It is no such file.
    """
    from pptx.opc.package import PartFactory
    from pptx.package import Package
    from pptx.parts.presentation import PresentationPart

    for kind in _WITH_MACROS:
        PartFactory.part_type_for.setdefault(kind, PresentationPart)
    main = Package.open(file).main_document_part
    if not isinstance(main, PresentationPart):
        raise ValueError(f"its main part is {main.content_type}")
    return list(main.presentation.slides)


def _comments(archive: ZipFile) -> dict[str, list[str]]:
    """Return a line for each comment on a slide, by the slide's name in the archive, in the old and the new format."""
    names = archive.namelist()
    authors: dict[str, str] = {}
    for name in ("ppt/commentAuthors.xml", "ppt/authors.xml"):
        for element in parse_xml(archive.read(name)).iter() if name in names else ():
            if local(element) in ("cmAuthor", "author"):
                authors[str(element.get("id"))] = one_line(element.get("name") or "")
    comments: dict[str, list[str]] = {}
    for name in names:
        if not name.startswith("ppt/slides/_rels/"):
            continue
        slide = f"ppt/slides/{PurePosixPath(name).name.removesuffix('.rels')}"
        for relation in parse_xml(archive.read(name)):
            target = normpath(join("ppt/slides", str(relation.get("Target", ""))))
            if not str(relation.get("Type", "")).endswith("/comments") or target not in names:
                continue
            for element in parse_xml(archive.read(target)).iter():
                if local(element) in ("cm", "reply") and (words := _comment_words(element)):
                    author = authors.get(str(element.get("authorId")), "")
                    comments.setdefault(slide, []).append(f"Comment{f' by {author}' if author else ''}: {words}")
    return comments


def _comment_words(comment: _Element) -> str:
    """Return the words of one comment, without the replies to it."""
    texts: list[str] = []
    for part in comment:
        if local(part) in ("text", "txBody"):
            texts += [element.text or "" for element in part.iter() if local(element) in ("text", "t")]
    return one_line(" ".join(texts))


def _add_slide(parts: Parts, number: int, slide: Slide, report: ReadReport) -> None:
    """Append a slide as a page: its title as a heading, the texts of its shapes, its diagrams and its notes."""
    parts.page(number)
    title = slide.shapes.title
    heading = one_line(title.text_frame.text) if title is not None and title.has_text_frame else ""
    parts.add(heading, "heading")
    for shape in _shapes(slide.shapes, 0):
        if title is None or shape.shape_id != title.shape_id:
            _add_shape(parts, shape, heading, report)
    for diagram in _diagrams(slide):
        parts.add(f"Diagram: {diagram}")
    if slide.has_notes_slide and slide.notes_slide.notes_text_frame is not None:
        notes = one_line(slide.notes_slide.notes_text_frame.text)
        parts.add(f"Notes: {notes}" if notes else "")
        report.count("speaker_notes", bool(notes))


def _diagrams(slide: Slide) -> Iterator[str]:
    """Yield the words of a slide's diagrams (SmartArt)."""
    for relation in slide.part.rels.values():
        if relation.reltype.endswith("/diagramData") and not relation.is_external:
            words = diagram_text(parse_xml(relation.target_part.blob))
            if words:
                yield words


def _add_shape(parts: Parts, shape: Any, heading: str, report: ReadReport) -> None:
    """Append the texts of a shape: its description, and the rows of its table or chart, or its paragraphs.

    Several paragraphs are list items.

    Args:
        parts: The document's parts.
        shape: The shape.
        heading: The title of the slide, the caption of tables and charts.
        report: Counts pictures.
    """
    non_visual = next((element for element in shape._element.iter() if local(element) == "cNvPr"), None)
    description = one_line(non_visual.get("descr") or "") if non_visual is not None else ""
    if hasattr(shape, "image"):
        report.count("pictures_described" if description else "pictures_without_text")
    if description and not (shape.has_text_frame and shape.text_frame.text.strip()):
        parts.add(f"Picture: {description}" if hasattr(shape, "image") else description)
    if getattr(shape, "has_table", False) or getattr(shape, "has_chart", False):
        for line in _table_rows(shape.table, heading) if shape.has_table else _chart_rows(shape.chart, heading):
            parts.add(line, "row")
    elif shape.has_text_frame:
        items, counters = OpenItems(), dict[int, Counter]()
        lines = []
        for paragraph in shape.text_frame.paragraphs:
            if text := one_line(clean(_words(paragraph))):
                label = _count_paragraph(paragraph, counters)
                lines.append((label, items.add(paragraph.level, with_typed_boxes(text))))
        is_list = len(lines) > 1
        for label, line in lines:
            parts.add(f"{label or '-'} {line}" if is_list else line, "list" if is_list else "")


def _count_paragraph(paragraph: Any, counters: dict[int, Counter]) -> str:
    """Count a paragraph of a numbered list, and return its number ("2."); "" if it is not numbered.

    Args:
        paragraph: A paragraph of a text.
        counters: The counter of each level, which is changed; a paragraph without a number ends the list of its level.
    """
    level = paragraph.level
    for inner in [counted for counted in counters if counted > level]:
        del counters[inner]
    mark = next((element for element in paragraph._p.iter() if local(element) == "buAutoNum"), None)
    if mark is None:
        counters.pop(level, None)
        return ""
    kind = str(mark.get("type") or "arabicPeriod")
    start = str(mark.get("startAt") or "1")
    name = next((name for begin, name in _NUMBERS if kind.startswith(begin)), "decimal")
    pattern = next((pattern for end, pattern in _PATTERNS.items() if kind.endswith(end)), "%1.")
    counter = counters.setdefault(level, Counter({0: Level(name, pattern, whole_number(start, 1))}))
    return counter.next(0)


def _words(paragraph: Any) -> str:
    """Return a paragraph's text without struck-out words, and with raised characters for superscripts: "10⁸"."""
    properties = [element for element in paragraph._p.iter() if local(element) == "rPr"]
    if not any(_is_superscript(element) or element.get("strike") for element in properties):
        return str(paragraph.text)
    text = ""
    for run in paragraph._p:
        words = "".join(part.text or "" for part in run.iter() if local(part) == "t")
        if any(local(part) == "rPr" and str(part.get("strike") or "noStrike") != "noStrike" for part in run):
            continue
        if local(run) == "br":
            text += " "
        elif any(map(_is_superscript, run)):
            text += raised_behind(text[-_RAISED_CONTEXT:], words)
        else:
            text += words
    return text


def _links(slides: list[Slide]) -> Iterator[tuple[str, str]]:
    """Yield the words and the targets of links in texts."""
    for slide in slides:
        for shape in _shapes(slide.shapes, 0):
            for paragraph in shape.text_frame.paragraphs if getattr(shape, "has_text_frame", False) else ():
                for run in paragraph.runs:
                    if run._r.rPr is not None and run._r.rPr.hlinkClick is not None:
                        yield run.text, run.hyperlink.address or ""


def _count_struck(slide: Slide) -> int:
    """Return how many runs of a slide's text are struck out."""
    properties = (element for element in slide._element.iter() if local(element) == "rPr")
    return sum(1 for element in properties if element.get("strike", "noStrike") != "noStrike")


def _is_superscript(element: _Element) -> bool:
    """Return whether an element is the properties of a run whose baseline is raised above the line."""
    return local(element) == "rPr" and str(element.get("baseline") or "0")[0] in "123456789"


def _cell_words(cell: Any) -> str:
    """Return the text of a table's cell on one line."""
    return one_line(" ".join(map(_words, cell.text_frame.paragraphs)))


def _shapes(shapes: Any, depth: int) -> Iterator[Any]:
    """Yield all shapes, including those in groups, down to `_DEEPEST` levels; `depth` is the level of the shapes."""
    for shape in shapes:
        if hasattr(shape, "shapes"):
            if depth < _DEEPEST:
                yield from _shapes(shape.shapes, depth + 1)
        else:
            yield shape


def _has_picture(shapes: Any) -> bool:
    """Return whether any of the shapes is a picture."""
    return any(hasattr(shape, "image") for shape in _shapes(shapes, 0))


def _table_rows(table: Table, heading: str) -> list[str]:
    """Return the rows of a table as lines, with the slide's heading as their caption."""
    rows: list[list[tuple[str, int, int]]] = []
    for row in table.rows:
        cells = [cell for cell in row.cells if not cell.is_spanned]
        spans = [(cell.span_width, cell.span_height) if cell.is_merge_origin else (1, 1) for cell in cells]
        rows.append([(_cell_words(cell), *span) for cell, span in zip(cells, spans, strict=True)])
    return table_lines(expand_spans(rows), caption=heading, header_rows=1 if table.first_row else None)


def _chart_rows(chart: Chart, heading: str) -> list[str]:
    """Return a chart's figures as a table: a row for each category, a column for each series.

    The caption is the chart's title, or else the slide's heading. Return [] for a chart that python-pptx cannot read.
    """
    try:
        title = one_line(chart.chart_title.text_frame.text) if chart.has_title else ""
        plot = chart.plots[0]
        categories = [one_line(category) for category in plot.categories]
        series = [(one_line(column.name or ""), list(column.values)) for column in plot.series]
    except (AttributeError, IndexError, KeyError, NotImplementedError, TypeError, ValueError):
        return []
    if not categories or not series:
        return []
    grid = [["", *(name or title or "value" for name, _ in series)]]
    for index, category in enumerate(categories):
        figures = [values[index] if index < len(values) else None for _, values in series]
        grid.append([category, *("" if figure is None else f"{figure:.10g}" for figure in figures)])
    return table_lines(grid, caption=title or heading, header_rows=1, headings=False)
