"""Annotations of PDF pages: filled form fields with their labels, comments with their authors, typed remarks."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from preflight_rag.ingest.loaders.fields import one_line
from preflight_rag.ingest.loaders.read_report import ReadReport
from preflight_rag.text.check_boxes import NOT_TICKED

if TYPE_CHECKING:
    from pypdfium2 import PdfDocument, PdfPage, PdfTextPage


class _Box(NamedTuple):
    """A rectangle on a page, in points."""

    left: float
    bottom: float
    right: float
    top: float

    @property
    def middle(self) -> float:
        """The vertical middle."""
        return (self.bottom + self.top) / 2


LONGEST_LABEL = 80
"""Maximum number of characters of a label printed beside a field; a guess."""
WIDEST = 250.0
"""Points beside a field within which its label is printed; a guess."""
NEAREST = 14.0
"""Maximum distance in points of a label from its box; a guess."""
NEARER = 1.5
"""Minimum ratio of the distances of a box from the label of the next box and from its own; a guess."""
LINE_HALF = 2.0
"""Points above and below the middle of a field within which text is on its line."""
ABOVE = (1.0, 10.0)
"""Points above a field between which a label above it is printed."""
MOST_LETTERS = 20_000
"""Maximum number of characters of a page that are searched for those beside a box; a guess at what no form has."""
MOST_ANNOTATIONS = 2000
"""Maximum number of annotations of one page; a guess at what no page has."""
_MAX_VALUE_BYTES = 1 << 20
"""Maximum size of one value; a guess."""


def page_annotations(document: PdfDocument, page: PdfPage, text_page: PdfTextPage, report: ReadReport) -> Iterator[str]:
    """Yield a line for each filled form field and each remark on a page, in the order of the file.

    Boxes that are not ticked are listed only if something else is filled in: an empty form says nothing.
    """
    lines = list(_annotation_lines(document, page, text_page, report))
    is_filled = any(kind == "field" for kind, _ in lines)
    for kind, line in lines:
        report.count("form_fields", kind == "field" or (kind == "empty box" and is_filled))
        if kind != "empty box" or is_filled:
            yield line


def _annotation_lines(
    document: PdfDocument, page: PdfPage, text_page: PdfTextPage, report: ReadReport
) -> Iterator[tuple[str, str]]:
    """Yield `(kind, line)` of each annotation with text; the kind is "field", "empty box" or "remark"."""
    from pypdfium2 import raw

    comments = (
        *(raw.FPDF_ANNOT_TEXT, raw.FPDF_ANNOT_HIGHLIGHT, raw.FPDF_ANNOT_UNDERLINE, raw.FPDF_ANNOT_SQUIGGLY),
        *(raw.FPDF_ANNOT_STRIKEOUT, raw.FPDF_ANNOT_STAMP, raw.FPDF_ANNOT_CARET, raw.FPDF_ANNOT_INK),
        *(raw.FPDF_ANNOT_SQUARE, raw.FPDF_ANNOT_CIRCLE, raw.FPDF_ANNOT_LINE, raw.FPDF_ANNOT_POLYGON),
    )
    marked = (raw.FPDF_ANNOT_HIGHLIGHT, raw.FPDF_ANNOT_UNDERLINE, raw.FPDF_ANNOT_SQUIGGLY, raw.FPDF_ANNOT_STRIKEOUT)
    seen: set[str] = set()
    boxes: list[_Box] | None = None  # read only for pages with boxes
    for number in range(min(raw.FPDFPage_GetAnnotCount(page), MOST_ANNOTATIONS)):
        annotation = raw.FPDFPage_GetAnnot(page, number)
        if not annotation:
            continue
        try:
            subtype = raw.FPDFAnnot_GetSubtype(annotation)
            line, kind = "", "remark"
            if subtype == raw.FPDF_ANNOT_WIDGET and document.formenv is not None:
                if boxes is None and _is_box(document.formenv, annotation):
                    boxes = _boxes_of_page(document.formenv, page)
                line = _field_line(document.formenv, annotation, text_page, boxes or [])
                kind = "empty box" if line.startswith(NOT_TICKED) else "field"
            elif subtype == raw.FPDF_ANNOT_FREETEXT:
                line = _string_value(annotation, "Contents")
                report.count("text_boxes", bool(line))
            elif subtype in comments and (words := _string_value(annotation, "Contents")):
                author = _string_value(annotation, "T")
                marked_text = _text_in(text_page, _rectangle(annotation)) if subtype in marked else ""
                subject = f" on “{marked_text}”" if marked_text and marked_text != words else ""
                line = f"Comment{f' by {author}' if author else ''}{subject}: {words}"
                report.count("comments")
            if line and line not in seen:  # fields of one name show one value at several positions
                seen.add(line)
                yield kind, line
        finally:
            raw.FPDFPage_CloseAnnot(annotation)


def _field_line(form: Any, annotation: Any, text_page: PdfTextPage, boxes: Sequence[_Box]) -> str:
    """Return "label: value" for a filled form field; "" for an empty field, a button or a box without a name.

    A check box that is not ticked is a line that begins with `NOT_TICKED`. A field without a label in the file has the
    one printed beside it, or else the last part of the field's name.
    """
    from pypdfium2 import raw

    kind = raw.FPDFAnnot_GetFormFieldType(form, annotation)
    name = _string(lambda buffer, size: raw.FPDFAnnot_GetFormFieldName(form, annotation, buffer, size))
    label = _string(lambda buffer, size: raw.FPDFAnnot_GetFormFieldAlternateName(form, annotation, buffer, size))
    last_name = name.rsplit(".", 1)[-1].replace("_", " ")
    if kind in (raw.FPDF_FORMFIELD_CHECKBOX, raw.FPDF_FORMFIELD_RADIOBUTTON):
        if not raw.FPDFAnnot_IsChecked(form, annotation):
            # The text printed to the left of a box is not used: it may belong to the box before it.
            unticked_label = (label or last_name).strip(" :")
            is_named = kind == raw.FPDF_FORMFIELD_CHECKBOX and any(map(str.isalpha, unticked_label))
            return f"{NOT_TICKED} {unticked_label}" if is_named else ""
        exported = _string(lambda buffer, size: raw.FPDFAnnot_GetFormFieldExportValue(form, annotation, buffer, size))
        value = exported if exported.lower() not in ("", "yes", "on", "1", "true", "ja", "oui") else "yes"
        if label:
            return f"{label.rstrip(' :')}: {value}"
        return _ticked_line(text_page, _rectangle(annotation), boxes, last_name, value)
    if kind not in (raw.FPDF_FORMFIELD_TEXTFIELD, raw.FPDF_FORMFIELD_COMBOBOX, raw.FPDF_FORMFIELD_LISTBOX):
        return ""
    value = _string(lambda buffer, size: raw.FPDFAnnot_GetFormFieldValue(form, annotation, buffer, size))
    if not value:
        return ""
    label = label or _label_beside(text_page, _rectangle(annotation)) or last_name
    return f"{label.rstrip(' :')}: {value}" if label else value


def _is_box(form: Any, annotation: Any) -> bool:
    """Return whether a form field is a check box or a radio button."""
    from pypdfium2 import raw

    kind = raw.FPDFAnnot_GetFormFieldType(form, annotation)
    return kind in (raw.FPDF_FORMFIELD_CHECKBOX, raw.FPDF_FORMFIELD_RADIOBUTTON)


def _boxes_of_page(form: Any, page: PdfPage) -> list[_Box]:
    """Return the rectangles of a page's check boxes and radio buttons."""
    from pypdfium2 import raw

    found = []
    for number in range(min(raw.FPDFPage_GetAnnotCount(page), MOST_ANNOTATIONS)):
        annotation = raw.FPDFPage_GetAnnot(page, number)
        if not annotation:
            continue
        if raw.FPDFAnnot_GetSubtype(annotation) == raw.FPDF_ANNOT_WIDGET and _is_box(form, annotation):
            found.append(_rectangle(annotation))
        raw.FPDFPage_CloseAnnot(annotation)
    return found


def _ticked_line(text_page: PdfTextPage, box: _Box, boxes: Sequence[_Box], name: str, value: str) -> str:
    """Return the line for a ticked box: "Pets: yes", or "Pets allowed: No" for one of several on a line.

    The box's label is on the side that its line shows, or else the side that all other lines of the page show. If none
    shows it, the name of the form field is the label.

    Args:
        text_page: The page, for labels printed on it.
        box: The ticked box.
        boxes: All boxes of the page.
        name: The name of the form field.
        value: The value of the ticked box.
    """
    row = _boxes_on_line(box, boxes)
    sides = {_label_side(text_page, _boxes_on_line(other, boxes)) for other in boxes} - {""}
    side = _label_side(text_page, row) or (next(iter(sides)) if len(sides) == 1 else "")
    index = row.index(box) if box in row else 0
    question = ""
    if side == "right":
        end = row[index + 1].left if index + 1 < len(row) else box.right + WIDEST
        label = _text_on_line(text_page, box.right + 1, end - 1, box.middle).split("  ")[0]
        first_left = row[0].left
        question = _text_on_line(text_page, max(0.0, first_left - WIDEST), first_left - 1, box.middle)
    elif side == "left" and len(row) > 1:
        begin = row[index - 1].right if index else max(0.0, box.left - WIDEST)
        text = _text_on_line(text_page, begin + 1, box.left - 1, box.middle)
        question, _, label = text.rpartition(": ") if ": " in text else text.rpartition("? ")
    else:
        label = _label_beside(text_page, box) if side == "left" else ""
    label = label.strip(" :;,.")
    if not any(map(str.isalpha, label)) or len(label) > LONGEST_LABEL:
        return f"{name}: {value}" if name else value
    if question and len(row) > 1:
        return f"{question.rstrip(' :')}: {label}"
    return f"{label}: {'yes' if value.casefold() == label.casefold() else value}"


def _boxes_on_line(box: _Box, boxes: Sequence[_Box]) -> list[_Box]:
    """Return the boxes on the same line as a box, itself included, from left to right."""
    return sorted(other for other in boxes if abs(other.middle - box.middle) <= (box.top - box.bottom) / 2)


def _label_side(text_page: PdfTextPage, row: Sequence[_Box]) -> str:
    """Return the side ("left" or "right") of the boxes on a line on which their labels are; "" if it is not clear.

    If labels follow the boxes, nothing or a question precedes the first box; if they precede the boxes, nothing
    follows the last one. Otherwise each box is nearer to its own label than to that of the next box.
    """
    gaps = [_gaps_beside(text_page, box) for box in row]
    has_text_before = [left < NEAREST for left, _ in gaps]
    has_text_behind = [right < NEAREST for _, right in gaps]
    if not any(has_text_behind):
        return "left"
    first = row[0]
    question = _text_on_line(text_page, max(0.0, first.left - WIDEST), first.left - 0.5, first.middle)
    if all(has_text_behind) and (not all(has_text_before) or question.endswith((":", "?"))):
        return "right"
    if all(has_text_before) and not all(has_text_behind):
        return "left"
    if all(left > NEARER * right for left, right in gaps):
        return "right"
    return "left" if all(right > NEARER * left for left, right in gaps) else ""


def _gaps_beside(text_page: PdfTextPage, box: _Box) -> tuple[float, float]:
    """Return the distances in points from a box to the nearest text on its line before and after it, up to `WIDEST`."""
    from pypdfium2 import raw

    left, right, bottom, top = (ctypes.c_double() for _ in range(4))
    before = behind = WIDEST
    for number in range(min(text_page.count_chars(), MOST_LETTERS)):
        if not raw.FPDFText_GetCharBox(text_page, number, left, right, bottom, top):
            continue
        is_on_line = bottom.value - LINE_HALF <= box.middle <= top.value + LINE_HALF
        if not is_on_line or right.value - left.value < 0.1:  # characters without width are not visible
            continue
        if chr(raw.FPDFText_GetUnicode(text_page, number)).isspace():
            continue
        if right.value <= box.left + 1:
            before = min(before, max(0.0, box.left - right.value))
        elif left.value >= box.right - 1:
            behind = min(behind, max(0.0, left.value - box.right))
    return before, behind


def _label_beside(text_page: PdfTextPage, box: _Box) -> str:
    """Return the text printed before a field on its line, or else directly above it; "" if it is no label."""
    if box.right <= box.left:
        return ""
    before = _text_on_line(text_page, max(0.0, box.left - WIDEST), box.left - 1, box.middle)
    lowest, highest = ABOVE
    above = _text_in(text_page, _Box(box.left, box.top + lowest, box.right, box.top + highest))
    label = before.split("  ")[-1] or above
    return label if len(label) <= LONGEST_LABEL and any(char.isalpha() for char in label) else ""


def _rectangle(annotation: Any) -> _Box:
    """Return the rectangle of an annotation; an empty one at the origin if PDFium does not know it."""
    from pypdfium2 import raw

    box = raw.FS_RECTF()
    if not raw.FPDFAnnot_GetRect(annotation, ctypes.byref(box)):
        return _Box(0.0, 0.0, 0.0, 0.0)
    return _Box(box.left, min(box.bottom, box.top), box.right, max(box.bottom, box.top))


def _text_on_line(text_page: PdfTextPage, left: float, right: float, middle: float) -> str:
    """Return the text printed between two horizontal positions of a line, given by its vertical middle."""
    return _text_in(text_page, _Box(left, middle - LINE_HALF, right, middle + LINE_HALF))


def _text_in(text_page: PdfTextPage, box: _Box) -> str:
    """Return the text printed in a rectangle of the page, its first `LONGEST_LABEL` characters."""
    return one_line(text_page.get_text_bounded(*box))[:LONGEST_LABEL]


def _string_value(annotation: Any, key: str) -> str:
    """Return a string value of an annotation by its key, such as "Contents"; "" if it has none."""
    from pypdfium2 import raw

    return _string(lambda buffer, size: raw.FPDFAnnot_GetStringValue(annotation, key.encode("ascii"), buffer, size))


def _string(read: Callable[[Any, int], int]) -> str:
    """Return the text of one of PDFium's string functions, called once for its size and once for the text.

    Return "" for an empty text, and for one of more than `_MAX_VALUE_BYTES`.
    """
    size = read(None, 0)
    if not 2 < size <= _MAX_VALUE_BYTES:  # two bytes are the final zero
        return ""
    buffer = ctypes.create_string_buffer(size)
    read(ctypes.cast(buffer, ctypes.POINTER(ctypes.c_ushort)), size)
    return one_line(buffer.raw[:size].decode("utf-16-le", "replace").rstrip("\0"))
