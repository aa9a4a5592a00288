"""Small files that say things beside their own text: notes, comments, forms, quoted mails; the texts are made up."""

# ruff: noqa: E501 -- markup and what mail programs write stand on lines of their own length
from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from email.message import EmailMessage
from pathlib import Path

WORD = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
WORD_MORE = (
    f'{WORD} xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships" '
    'xmlns:wp="http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing" '
    'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" '
    'xmlns:pic="http://schemas.openxmlformats.org/drawingml/2006/picture" '
    'xmlns:v="urn:schemas-microsoft-com:vml" xmlns:c="http://schemas.openxmlformats.org/drawingml/2006/chart" '
    'xmlns:wps="http://schemas.microsoft.com/office/word/2010/wordprocessingShape" '
    'xmlns:dgm="http://schemas.openxmlformats.org/drawingml/2006/diagram" '
    'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"'
)
_TYPES = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/"


def p(text: str) -> str:
    """A paragraph of Word's."""
    return f"<w:p><w:r><w:t>{text}</w:t></w:r></w:p>"


def word(path: Path, body: str, parts: Mapping[str, str] | None = None, more: Mapping[str, str] | None = None) -> Path:
    """A Word document of raw XML, as other programs than python-docx write it.

    Args:
        path: Where it goes.
        body: What stands in its body.
        parts: By kind ("footnotes", "header"), what stands in parts beside it; "header 2" is a second one.
        more: Further files of the archive that have no relation.
    """
    relations, files = "", {"word/document.xml": f"<w:document {WORD_MORE}><w:body>{body}</w:body></w:document>"}
    for number, (name, content) in enumerate((parts or {}).items(), 1):
        kind = name.split()[0]
        root = {"header": "hdr", "footer": "ftr"}.get(kind, kind)
        place = f"{name.replace(' ', '')}.xml"
        files[f"word/{place}"] = content if "<?raw?>" in content else f"<w:{root} {WORD_MORE}>{content}</w:{root}>"
        relations += f'<Relationship Id="r{number}" Type="{_TYPES}{kind}" Target="{place}"/>'
    files["word/_rels/document.xml.rels"] = (
        f'<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">{relations}</Relationships>'
    )
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in {**files, **(more or {})}.items():
            archive.writestr(name, content.replace("<?raw?>", ""))
    return path


def mail(path: Path, text: str = "", html: str = "", **files: bytes) -> Path:
    """A mail from Mira Holt with a plain part, an HTML part, and attachments (`name__ending` stands for `name.ending`)."""
    message = EmailMessage()
    message["From"], message["To"] = "Mira Holt <mira@example.org>", "Jon Vale <jon@example.org>"
    message["Subject"], message["Date"] = "Re: Greenhouse", "Mon, 10 Mar 2025 09:00:00 +0000"
    if text or not html:
        message.set_content(text)
    if html and text:
        message.add_alternative(html, subtype="html")
    elif html:
        message.set_content(html, subtype="html")
    for name, data in files.items():
        message.add_attachment(data, maintype="application", subtype="octet-stream", filename=name.replace("__", "."))
    path.write_bytes(bytes(message))
    return path


def columns(path: Path, left: list[str], right: list[str], *, across: bool = True) -> Path:
    """A PDF with two columns, drawn row by row, or one column after the other."""
    from fpdf import FPDF

    pdf = FPDF(format="A4", unit="pt")
    pdf.add_page()
    pdf.set_font("Times", size=11)
    places = [(60, 80 + 14 * n, line) for n, line in enumerate(left)]
    others = [(320, 80 + 14 * n, line) for n, line in enumerate(right)]
    both = [each for pair in zip(places, others, strict=True) for each in pair] if across else [*places, *others]
    for x, y, line in both:
        pdf.text(x, y, line)
    pdf.output(str(path))
    return path


def form(
    path: Path,
    fields: Mapping[str, tuple[str, str]],
    *,
    ticked: tuple[str, ...] = (),
    empty_boxes: tuple[str, ...] = (),
) -> Path:
    """A PDF form: by field's name, its printed label and its value; boxes, ticked or not, and an empty field."""
    from pypdf import PdfWriter
    from pypdf.generic import ArrayObject, DictionaryObject, FloatObject, NameObject, TextStringObject

    writer = PdfWriter(clone_from=io.BytesIO(_labels([label for label, _ in fields.values()])))
    made = []

    def add(name: str, kind: str, y: float, **values: object) -> None:
        box = ArrayObject([FloatObject(n) for n in (200, y, 400, y + 14)])
        field = DictionaryObject(
            {NameObject("/Type"): NameObject("/Annot"), NameObject("/Subtype"): NameObject("/Widget"),
             NameObject("/FT"): NameObject(kind), NameObject("/T"): TextStringObject(name), NameObject("/Rect"): box}
        )  # fmt: skip
        field.update({NameObject(f"/{key}"): value for key, value in values.items()})
        made.append(writer._add_object(field))

    for number, (name, (_, value)) in enumerate(fields.items()):
        add(name, "/Tx", 742 - 30 * number, V=TextStringObject(value))
    add("empty", "/Tx", 100, V=TextStringObject(""))
    for name in ticked:
        add(name, "/Btn", 130, V=NameObject("/Yes"), AS=NameObject("/Yes"))
    for name in empty_boxes:
        add(name, "/Btn", 160, V=NameObject("/Off"), AS=NameObject("/Off"))
    writer.pages[0][NameObject("/Annots")] = ArrayObject(made)
    writer._root_object[NameObject("/AcroForm")] = DictionaryObject({NameObject("/Fields"): ArrayObject(made)})
    writer.write(str(path))
    return path


def _labels(labels: list[str]) -> bytes:
    from fpdf import FPDF

    pdf = FPDF(format="A4", unit="pt")
    pdf.add_page()
    pdf.set_font("Helvetica", size=11)
    pdf.text(60, 40, "Application for a berth in the harbour of Norhaven")
    for number, label in enumerate(labels):
        pdf.text(60, 96 + 30 * number, label)
    return bytes(pdf.output())
