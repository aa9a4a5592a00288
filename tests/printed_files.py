"""PDFs as offices have them: forms, tables, columns, notes, attachments, other programs' pages; all invented."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import whole_documents


def form(path: Path) -> None:
    """A form with typed fields and a ticked box."""
    fields = {
        "name": ("Name of the keeper", "Halvard Roth"),
        "berth": ("Berth", "B-3107"),
        "length": ("Length", "8.41"),
    }
    whole_documents.form(path, fields, ticked=("has_power",))


def columns(path: Path) -> None:
    """Two columns that are drawn row by row."""
    left = ["The rope store of Vester burned", "in 1873. It was rebuilt of brick", "with a slate roof by mason 4902."]
    right = ["The sail loft came later, when", "the ferry was bought. Its floor", "carries 7615 kilograms of cloth."]
    whole_documents.columns(path, left, right)


def _pdf() -> Any:
    from fpdf import FPDF

    pdf = FPDF(format="A4")
    pdf.add_page()
    pdf.set_font("Helvetica", size=11)
    return pdf


def invoice(path: Path) -> None:
    """An invoice with a ruled table, page numbers at the foot and a second page."""
    pdf = _pdf()
    pdf.cell(text="Invoice 2025-0412", new_x="LMARGIN", new_y="NEXT")
    with pdf.table() as table:
        for row in (("Article", "Count", "Price"), ("Chain 12 mm", "3", "118.20"), ("Anchor 40 kg", "1", "964.70")):
            cells = table.row()
            for cell in row:
                cells.cell(cell)
    pdf.add_page()
    pdf.multi_cell(0, 8, "Pay to account 5530-81 within 21 days.")
    pdf.output(str(path))


def notes(path: Path) -> None:
    """A page with a sticky note and a link."""
    pdf = _pdf()
    pdf.multi_cell(0, 8, "The keel of the Petrel was laid at Grimsoy.")
    pdf.text_annotation(x=100, y=60, text="The surveyor wants plate 2268 replaced.")
    pdf.output(str(path))


def carrier(path: Path) -> None:
    """A PDF that carries another file."""
    pdf = _pdf()
    pdf.multi_cell(0, 8, "The log of the winter voyage is attached; code W-7734.")
    pdf.embed_file(basename="voyage.csv", bytes=b"day,miles\nMonday,4471\n")
    pdf.output(str(path))


def figure(path: Path) -> None:
    """A page that a plotting library drew."""
    import matplotlib as mpl

    with mpl.rc_context({"pdf.fonttype": 42}):
        from matplotlib.figure import Figure

        drawn = Figure()
        axes = drawn.subplots()
        axes.plot([1, 2], [3, 4])
        axes.set_title("Silt of basin 6620")
        axes.set_xlabel("Weeks after dredging 3385")
        drawn.savefig(path, format="pdf")


def turned(path: Path) -> None:
    """A wide table on a page that is turned to be read."""
    from fpdf import FPDF
    from pypdf import PdfReader, PdfWriter

    pdf = FPDF(orientation="landscape")
    pdf.add_page()
    pdf.set_font("Helvetica", size=11)
    pdf.multi_cell(0, 8, "Soundings of the outer basin, sheet 9043.\nBuoy five lies at 1297 centimetres.")
    writer = PdfWriter(clone_from=PdfReader(io.BytesIO(bytes(pdf.output()))))
    writer.pages[0].rotate(90)
    writer.write(str(path))


def locked(path: Path) -> None:
    """A PDF that is encrypted without a password, as banks send them."""
    from pypdf import PdfReader, PdfWriter

    pdf = _pdf()
    pdf.multi_cell(0, 8, "Statement of account 8816-20: balance 5102 crowns.")
    writer = PdfWriter(clone_from=PdfReader(io.BytesIO(bytes(pdf.output()))))
    writer.encrypt("", "owner", algorithm="AES-256")
    writer.write(str(path))


PDFS: dict[str, tuple[Callable[[Path], None], dict[str, str]]] = {
    "berth-form.pdf": (form, {"field": "Halvard Roth", "second": "B-3107", "third": "8.41", "box": "has power: yes"}),
    "rope-store.pdf": (columns, {"left": "slate roof by mason 4902", "right": "carries 7615 kilograms"}),
    "invoice.pdf": (invoice, {"head": "2025-0412", "cell": "118.20", "last": "964.70", "next page": "5530-81"}),
    "petrel.pdf": (notes, {"text": "keel of the Petrel", "note": "plate 2268"}),
    "voyage.pdf": (carrier, {"text": "W-7734", "carried": "4471"}),
    "silt.pdf": (figure, {"title": "6620", "axis": "3385"}),
    "soundings.pdf": (turned, {"text": "9043", "last": "1297"}),
    "statement.pdf": (locked, {"account": "8816-20", "balance": "5102 crowns"}),
}
"""By name, what writes the file, and what it says by the place where that stands."""
