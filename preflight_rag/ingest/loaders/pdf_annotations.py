"""What is laid over a PDF's pages: filled form fields with their labels, comments with their writers, typed remarks."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from preflight_rag.ingest.loaders.fields import one_line
from preflight_rag.ingest.loaders.read_report import ReadReport
from preflight_rag.text.check_boxes import NOT_TICKED

if TYPE_CHECKING:
    from pypdfium2 import PdfDocument, PdfPage, PdfTextPage

_Place = tuple[float, float, float, float]
"""Left, bottom, right and top, in points."""
LONGEST_LABEL = 80
"""Characters of what is printed before a field that can be its label; a guess."""
WIDEST = 250.0
"""Points beside a field within which its label stands; a guess."""
NEAREST = 14.0
"""Points from which on a box has nothing at its side; a guess."""
NEARER = 1.5
"""How many times farther from a box the item of the next one stands than its own; a guess."""
MOST_LETTERS = 20_000
"""Of a page that are looked at beside a box; a guess at what no form has."""
MOST_ANNOTATIONS = 2000
"""Of one page; a guess at what no page has."""
_LONGEST = 1 << 20
"""Bytes of one value; a guess."""


def page_annotations(document: PdfDocument, page: PdfPage, text_page: PdfTextPage, report: ReadReport) -> Iterator[str]:
    """Yield a line for each filled form field and each remark on a page, in the order of the file.

    Boxes that are not ticked are listed only if something else is filled in: an empty form states nothing.
    """
    lines = list(_lines(document, page, text_page, report))
    is_filled = any(kind == "field" for kind, _ in lines)
    for kind, line in lines:
        report.count("form_fields", kind == "field" or (kind == "empty box" and is_filled))
        if kind != "empty box" or is_filled:
            yield line


def _lines(
    document: PdfDocument, page: PdfPage, text_page: PdfTextPage, report: ReadReport
) -> Iterator[tuple[str, str]]:
    """Yield `(kind, line)`: "field", "empty box" or "remark"."""
    from pypdfium2 import raw

    remarks = (
        *(raw.FPDF_ANNOT_TEXT, raw.FPDF_ANNOT_HIGHLIGHT, raw.FPDF_ANNOT_UNDERLINE, raw.FPDF_ANNOT_SQUIGGLY),
        *(raw.FPDF_ANNOT_STRIKEOUT, raw.FPDF_ANNOT_STAMP, raw.FPDF_ANNOT_CARET, raw.FPDF_ANNOT_INK),
        *(raw.FPDF_ANNOT_SQUARE, raw.FPDF_ANNOT_CIRCLE, raw.FPDF_ANNOT_LINE, raw.FPDF_ANNOT_POLYGON),
    )
    marked = (raw.FPDF_ANNOT_HIGHLIGHT, raw.FPDF_ANNOT_UNDERLINE, raw.FPDF_ANNOT_SQUIGGLY, raw.FPDF_ANNOT_STRIKEOUT)
    seen: set[str] = set()
    boxes: list[_Place] | None = None
    for number in range(min(raw.FPDFPage_GetAnnotCount(page), MOST_ANNOTATIONS)):
        annotation = raw.FPDFPage_GetAnnot(page, number)
        if not annotation:
            continue
        try:
            kind = raw.FPDFAnnot_GetSubtype(annotation)
            line, called = "", "remark"
            if kind == raw.FPDF_ANNOT_WIDGET and document.formenv is not None:
                boxes = (
                    _boxes(document.formenv, page) if boxes is None and _is_box(document.formenv, annotation) else boxes
                )
                line = _field(document.formenv, annotation, text_page, boxes or [])
                called = "empty box" if line.startswith(NOT_TICKED) else "field"
            elif kind == raw.FPDF_ANNOT_FREETEXT:
                line = _own(annotation, "Contents")
                report.count("text_boxes", bool(line))
            elif kind in remarks and (words := _own(annotation, "Contents")):
                writer = _own(annotation, "T")
                on = _printed(text_page, _place(annotation)) if kind in marked else ""
                on = f" on “{on}”" if on and on != words else ""
                line = f"Comment{f' by {writer}' if writer else ''}{on}: {words}"
                report.count("comments")
            if line and line not in seen:  # fields of one name show one value in several places
                seen.add(line)
                yield called, line
        finally:
            raw.FPDFPage_CloseAnnot(annotation)


def _field(form: Any, annotation: Any, text_page: PdfTextPage, boxes: Sequence[_Place]) -> str:
    """Return `label: value` for a filled field; "" for an empty field or a button."""
    from pypdfium2 import raw

    kind = raw.FPDFAnnot_GetFormFieldType(form, annotation)
    name = _string(lambda buffer, size: raw.FPDFAnnot_GetFormFieldName(form, annotation, buffer, size))
    label = _string(lambda buffer, size: raw.FPDFAnnot_GetFormFieldAlternateName(form, annotation, buffer, size))
    if kind in (raw.FPDF_FORMFIELD_CHECKBOX, raw.FPDF_FORMFIELD_RADIOBUTTON):
        if not raw.FPDFAnnot_IsChecked(form, annotation):
            # What is printed to the left of a box may belong to the box before it.
            named = (label or name.rsplit(".", 1)[-1].replace("_", " ")).strip(" :")
            is_box = kind == raw.FPDF_FORMFIELD_CHECKBOX and any(map(str.isalpha, named))
            return f"{NOT_TICKED} {named}" if is_box else ""
        exported = _string(lambda buffer, size: raw.FPDFAnnot_GetFormFieldExportValue(form, annotation, buffer, size))
        value = exported if exported.lower() not in ("", "yes", "on", "1", "true", "ja", "oui") else "yes"
        own = name.rsplit(".", 1)[-1].replace("_", " ")
        return f"{label.rstrip(' :')}: {value}" if label else _ticked(text_page, _place(annotation), boxes, own, value)
    elif kind in (raw.FPDF_FORMFIELD_TEXTFIELD, raw.FPDF_FORMFIELD_COMBOBOX, raw.FPDF_FORMFIELD_LISTBOX):
        value = _string(lambda buffer, size: raw.FPDFAnnot_GetFormFieldValue(form, annotation, buffer, size))
    else:
        return ""
    if not value:
        return ""
    label = label or _label(text_page, _place(annotation)) or name.rsplit(".", 1)[-1].replace("_", " ")
    return f"{label.rstrip(' :')}: {value}" if label else value


def _is_box(form: Any, annotation: Any) -> bool:
    """Return whether a form field is a check box or a radio button."""
    from pypdfium2 import raw

    kind = raw.FPDFAnnot_GetFormFieldType(form, annotation)
    return kind in (raw.FPDF_FORMFIELD_CHECKBOX, raw.FPDF_FORMFIELD_RADIOBUTTON)


def _boxes(form: Any, page: PdfPage) -> list[_Place]:
    """Return the positions of a page's check boxes and radio buttons."""
    from pypdfium2 import raw

    found = []
    for number in range(min(raw.FPDFPage_GetAnnotCount(page), MOST_ANNOTATIONS)):
        annotation = raw.FPDFPage_GetAnnot(page, number)
        if not annotation:
            continue
        if raw.FPDFAnnot_GetSubtype(annotation) == raw.FPDF_ANNOT_WIDGET and _is_box(form, annotation):
            found.append(_place(annotation))
        raw.FPDFPage_CloseAnnot(annotation)
    return found


def _ticked(text_page: PdfTextPage, place: _Place, boxes: Sequence[_Place], name: str, value: str) -> str:
    """Return the line for a ticked box: "Pets: yes", or "Pets allowed: No" for one of several on a line.

    The box's label is on the side that its line, or else the other lines of the page, show. If they do not show it,
    the name of the form field is used.
    """
    row = _row(place, boxes)
    sides = {side for each in boxes if (side := _side(text_page, _row(each, boxes)))}
    side = _side(text_page, row) or (next(iter(sides)) if len(sides) == 1 else "")
    at = row.index(place) if place in row else 0
    middle = (place[1] + place[3]) / 2
    lead = ""
    if side == "right":
        ends = row[at + 1][0] if at + 1 < len(row) else place[2] + WIDEST
        item = _printed(text_page, (place[2] + 1, middle - 2, ends - 1, middle + 2)).split("  ")[0]
        lead = _printed(text_page, (max(0.0, row[0][0] - WIDEST), middle - 2, row[0][0] - 1, middle + 2))
    elif side == "left" and len(row) > 1:
        begins = row[at - 1][2] if at else max(0.0, place[0] - WIDEST)
        printed = _printed(text_page, (begins + 1, middle - 2, place[0] - 1, middle + 2))
        lead, _, item = printed.rpartition(": ") if ": " in printed else printed.rpartition("? ")
    else:
        item = _label(text_page, place) if side == "left" else ""
    item = item.strip(" :;,.")
    if not any(map(str.isalpha, item)) or len(item) > LONGEST_LABEL:
        return f"{name}: {value}" if name else value
    if lead and len(row) > 1:
        return f"{lead.rstrip(' :')}: {item}"
    return f"{item}: {'yes' if value.casefold() == item.casefold() else value}"


def _row(place: _Place, boxes: Sequence[_Place]) -> list[_Place]:
    """Return the boxes on the same line as one, from left to right."""
    middle, height = (place[1] + place[3]) / 2, place[3] - place[1]
    return sorted(each for each in boxes if abs((each[1] + each[3]) / 2 - middle) <= height / 2)


def _side(text_page: PdfTextPage, row: Sequence[_Place]) -> str:
    """Return on which side of the boxes on a line their labels are; "" if the line does not show it.

    If labels follow the boxes, nothing or a question precedes the first box; if they precede the boxes, nothing
    follows the last one. Otherwise each box is nearer to its own label than to that of the next box.
    """
    gaps = [_gaps(text_page, each) for each in row]
    before = [left < NEAREST for left, _ in gaps]
    behind = [right < NEAREST for _, right in gaps]
    if not any(behind):
        return "left"
    first, middle = row[0], (row[0][1] + row[0][3]) / 2
    lead = _printed(text_page, (max(0.0, first[0] - WIDEST), middle - 2, first[0] - 0.5, middle + 2))
    if all(behind) and (not all(before) or lead.endswith((":", "?"))):
        return "right"
    if all(before) and not all(behind):
        return "left"
    if all(left > NEARER * right for left, right in gaps):
        return "right"
    return "left" if all(right > NEARER * left for left, right in gaps) else ""


def _gaps(text_page: PdfTextPage, place: _Place) -> tuple[float, float]:
    """Return the distances, in points, between a box and the text before and after it on its line."""
    from pypdfium2 import raw

    left, right, bottom, top = (ctypes.c_double() for _ in range(4))
    middle = (place[1] + place[3]) / 2
    before = behind = WIDEST
    for number in range(min(text_page.count_chars(), MOST_LETTERS)):
        if not raw.FPDFText_GetCharBox(text_page, number, left, right, bottom, top):
            continue
        if not bottom.value - 2 <= middle <= top.value + 2 or right.value - left.value < 0.1:
            continue
        if chr(raw.FPDFText_GetUnicode(text_page, number)).isspace():
            continue
        if right.value <= place[0] + 1:
            before = min(before, max(0.0, place[0] - right.value))
        elif left.value >= place[2] - 1:
            behind = min(behind, max(0.0, left.value - place[2]))
    return before, behind


def _label(text_page: PdfTextPage, place: _Place) -> str:
    """Return the text printed before a field on its line, else directly above it."""
    left, bottom, right, top = place
    if right <= left:
        return ""
    middle = (bottom + top) / 2
    before = _printed(text_page, (max(0.0, left - WIDEST), middle - 2, left - 1, middle + 2))
    above = _printed(text_page, (left, top + 1, right, top + 10))
    found = before.split("  ")[-1] or above
    return found if len(found) <= LONGEST_LABEL and any(char.isalpha() for char in found) else ""


def _place(annotation: Any) -> _Place:
    """Return the position of an annotation: left, bottom, right and top."""
    from pypdfium2 import raw

    box = raw.FS_RECTF()
    if not raw.FPDFAnnot_GetRect(annotation, ctypes.byref(box)):
        return 0.0, 0.0, 0.0, 0.0
    return box.left, min(box.bottom, box.top), box.right, max(box.bottom, box.top)


def _printed(text_page: PdfTextPage, place: _Place) -> str:
    """Return the text printed in a rectangle of the page."""
    return one_line(text_page.get_text_bounded(*place))[:LONGEST_LABEL]


def _own(annotation: Any, key: str) -> str:
    """Return a string value of an annotation by its key."""
    from pypdfium2 import raw

    return _string(lambda buffer, size: raw.FPDFAnnot_GetStringValue(annotation, key.encode("ascii"), buffer, size))


def _string(read: Callable[[Any, int], int]) -> str:
    """Return the text of one of PDFium's string functions, called once for the length and once for the text."""
    size = read(None, 0)
    if not 2 < size <= _LONGEST:
        return ""
    buffer = ctypes.create_string_buffer(size)
    read(ctypes.cast(buffer, ctypes.POINTER(ctypes.c_ushort)), size)
    return one_line(buffer.raw[:size].decode("utf-16-le", "replace").rstrip("\0"))
