"""What is laid over a PDF's pages: filled form fields with their labels, comments with their writers, typed remarks."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from preflight_rag.ingest.loaders.fields import one_line
from preflight_rag.ingest.loaders.read_report import ReadReport
from preflight_rag.text.check_boxes import NOT_TICKED

if TYPE_CHECKING:
    from pypdfium2 import PdfDocument, PdfPage, PdfTextPage

LONGEST_LABEL = 80
"""Characters of what is printed before a field that can be its label; a guess."""
MOST_ANNOTATIONS = 2000
"""Of one page; a guess at what no page has."""
_LONGEST = 1 << 20
"""Bytes of one value; a guess."""


def page_annotations(document: PdfDocument, page: PdfPage, text_page: PdfTextPage, report: ReadReport) -> Iterator[str]:
    """Yield a line for each filled field and each remark of a page, in the order of the file.

    Boxes that are not ticked are named where something else is filled in: an empty form says nothing.
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
    for number in range(min(raw.FPDFPage_GetAnnotCount(page), MOST_ANNOTATIONS)):
        annotation = raw.FPDFPage_GetAnnot(page, number)
        if not annotation:
            continue
        try:
            kind = raw.FPDFAnnot_GetSubtype(annotation)
            line, called = "", "remark"
            if kind == raw.FPDF_ANNOT_WIDGET and document.formenv is not None:
                line = _field(document.formenv, annotation, text_page)
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


def _field(form: Any, annotation: Any, text_page: PdfTextPage) -> str:
    """`label: value` of a filled field; "" of an empty one, or a button; a box that is not ticked is named as one."""
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
    elif kind in (raw.FPDF_FORMFIELD_TEXTFIELD, raw.FPDF_FORMFIELD_COMBOBOX, raw.FPDF_FORMFIELD_LISTBOX):
        value = _string(lambda buffer, size: raw.FPDFAnnot_GetFormFieldValue(form, annotation, buffer, size))
    else:
        return ""
    if not value:
        return ""
    label = label or _label(text_page, _place(annotation)) or name.rsplit(".", 1)[-1].replace("_", " ")
    return f"{label.rstrip(' :')}: {value}" if label else value


def _label(text_page: PdfTextPage, place: tuple[float, float, float, float]) -> str:
    """Return the text printed before a field on its line, else right above it."""
    left, bottom, right, top = place
    if right <= left:
        return ""
    middle = (bottom + top) / 2
    before = _printed(text_page, (max(0.0, left - 250), middle - 2, left - 1, middle + 2))
    above = _printed(text_page, (left, top + 1, right, top + 10))
    found = before.split("  ")[-1] or above
    return found if len(found) <= LONGEST_LABEL and any(char.isalpha() for char in found) else ""


def _place(annotation: Any) -> tuple[float, float, float, float]:
    """Left, bottom, right and top."""
    from pypdfium2 import raw

    box = raw.FS_RECTF()
    if not raw.FPDFAnnot_GetRect(annotation, ctypes.byref(box)):
        return 0.0, 0.0, 0.0, 0.0
    return box.left, min(box.bottom, box.top), box.right, max(box.bottom, box.top)


def _printed(text_page: PdfTextPage, place: tuple[float, float, float, float]) -> str:
    return one_line(text_page.get_text_bounded(*place))[:LONGEST_LABEL]


def _own(annotation: Any, key: str) -> str:
    from pypdfium2 import raw

    return _string(lambda buffer, size: raw.FPDFAnnot_GetStringValue(annotation, key.encode("ascii"), buffer, size))


def _string(read: Callable[[Any, int], int]) -> str:
    """Call one of PDFium's string functions twice, for the length and for the UTF-16 text, and return the text."""
    size = read(None, 0)
    if not 2 < size <= _LONGEST:
        return ""
    buffer = ctypes.create_string_buffer(size)
    read(ctypes.cast(buffer, ctypes.POINTER(ctypes.c_ushort)), size)
    return one_line(buffer.raw[:size].decode("utf-16-le", "replace").rstrip("\0"))
