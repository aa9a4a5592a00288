"""Files that are made to bring their reader down, to make it call out, or to get what is not theirs.

Each is small on the disk and made here, so that nobody keeps bombs in a repository. `files` lists them with what is to
become of each: read, refused, or, where parsers may differ, one of both.
"""

# ruff: noqa: E501  # bytes of files read worse when they are broken
from __future__ import annotations

import gzip
import json
import os
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

MEGABYTE = 1 << 20
READ, REFUSED, EITHER = "read", "refused", "either"


@dataclass(frozen=True)
class Hostile:
    """One file: its name, its content, what is to become of it; `slow` where its reader must be ended by force."""

    name: str
    content: Callable[[], bytes]
    fate: str
    slow: bool = False

    def write(self, folder: Path) -> Path:
        path = folder / self.name
        path.write_bytes(self.content())
        return path


def files(canary: str = "http://127.0.0.1:9", secret: str = "/etc/passwd") -> list[Hostile]:
    """All of them.

    Args:
        canary: Where those that name something outside point; nothing may ask there.
        secret: A file that those with external entities name; its text may stand in no document.
    """
    return [*archives(), *compressed(), *pdfs(canary), *xml(canary, secret), *callers(canary), *nested(), *texts()]


# ------------------------------------------------------------------------------------------------ archives


@cache
def deflated(block: bytes, times: int) -> bytes:
    """`times` blocks as one raw deflate stream, made in no time: a block between two full flushes can be repeated."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    packer.compress(b"")
    one = packer.compress(block) + packer.flush(zlib.Z_FULL_FLUSH)
    return one * times + zlib.compressobj(9, zlib.DEFLATED, -15).flush()


def raw_zip(entries: list[tuple[str, bytes, int, int]], overlapping: bool = False) -> bytes:
    """A zip of `(name, deflated bytes, declared size, crc)`; with `overlapping` all entries are the first one's data."""
    body, directory, place = bytearray(), bytearray(), 0
    for name, data, size, crc in entries:
        raw = name.encode()
        sizes = struct.pack("<III", crc, len(data), min(size, 0xFFFFFFFE)) + struct.pack("<HH", len(raw), 0)
        if not (overlapping and directory):
            place = len(body)
            body += b"PK\x03\x04" + struct.pack("<HHHHH", 20, 0, 8, 0, 33) + sizes + raw + data
        central = b"PK\x01\x02" + struct.pack("<HHHHHH", 20, 20, 0, 8, 0, 33) + sizes
        directory += central + struct.pack("<HHHII", 0, 0, 0, 0, place) + raw
    end = struct.pack("<HHHHIIH", 0, 0, len(entries) & 0xFFFF, len(entries) & 0xFFFF, len(directory), len(body), 0)
    return bytes(body + directory) + b"PK\x05\x06" + end


def zipped(parts: dict[str, bytes | str]) -> bytes:
    """An archive of parts, as office programs write it."""
    from io import BytesIO

    out = BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return out.getvalue()


WORD = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
OPEN = (
    'xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" '
    'xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0" '
    'xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0"'
)
MAIN = {
    "docx": "word/document.xml",
    "odt": "content.xml",
    "ods": "content.xml",
    "odp": "content.xml",
    "epub": "META-INF/container.xml",
    "xlsx": "xl/workbook.xml",
    "pptx": "ppt/presentation.xml",
}


def docx(body: str, head: str = "", **parts: str) -> bytes:
    """A Word document of a body's XML; `head` stands before its root."""
    main = f'<?xml version="1.0"?>{head}<w:document {WORD}><w:body>{body}</w:body></w:document>'
    return zipped({"[Content_Types].xml": "<Types/>", "word/document.xml": main, **parts})


def paragraph(text: str) -> str:
    return f"<w:p><w:r><w:t>{text}</w:t></w:r></w:p>"


def odf(body: str, head: str = "") -> bytes:
    return zipped({"content.xml": f'<?xml version="1.0"?>{head}<office:document-content {OPEN}><office:body>{body}'
                   "</office:body></office:document-content>"})  # fmt: skip


def epub(chapters: list[str], spine: list[int] | None = None, head: str = "", named: str = "c{}.xhtml") -> bytes:
    """A book of chapters' XHTML; `spine` is the order of reading."""
    items = "".join(
        f'<item id="c{n}" href="{named.format(n)}" media-type="application/xhtml+xml"/>' for n in range(len(chapters))
    )
    order = "".join(f'<itemref idref="c{n}"/>' for n in (range(len(chapters)) if spine is None else spine))
    package = f'<?xml version="1.0"?>{head}<package><manifest>{items}</manifest><spine>{order}</spine></package>'
    return zipped(
        {
            "META-INF/container.xml": '<container><rootfiles><rootfile full-path="b.opf"/></rootfiles></container>',
            "b.opf": package,
            **{f"c{n}.xhtml": text for n, text in enumerate(chapters)},
        }
    )


def workbook(sheet: str, strings: str = "", head: str = "") -> bytes:
    """An Excel workbook of one sheet's XML."""
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    package = "http://schemas.openxmlformats.org/package/2006"
    kind = "application/vnd.openxmlformats-officedocument.spreadsheetml"
    return zipped(
        {
            "[Content_Types].xml": f'<Types xmlns="{package}/content-types"><Default Extension="xml" '
            'ContentType="application/xml"/><Default Extension="rels" ContentType="application/'
            'vnd.openxmlformats-package.relationships+xml"/>'
            f'<Override PartName="/xl/workbook.xml" ContentType="{kind}.sheet.main+xml"/>'
            f'<Override PartName="/xl/worksheets/sheet1.xml" ContentType="{kind}.worksheet+xml"/>'
            f'<Override PartName="/xl/sharedStrings.xml" ContentType="{kind}.sharedStrings+xml"/></Types>',
            "_rels/.rels": f'<Relationships xmlns="{package}/relationships"><Relationship Id="r1" '
            f'Type="{office}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
            "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{package}/relationships"><Relationship Id="r1" '
            f'Type="{office}/worksheet" Target="worksheets/sheet1.xml"/><Relationship Id="r2" '
            f'Type="{office}/sharedStrings" Target="sharedStrings.xml"/></Relationships>',
            "xl/workbook.xml": f'<?xml version="1.0"?>{head}<workbook xmlns="{main}" xmlns:r="{office}">'
            '<sheets><sheet name="One" sheetId="1" r:id="r1"/></sheets></workbook>',
            "xl/sharedStrings.xml": f'<?xml version="1.0"?>{head}<sst xmlns="{main}">{strings}</sst>',
            "xl/worksheets/sheet1.xml": f'<?xml version="1.0"?>{head}<worksheet xmlns="{main}">{sheet}</worksheet>',
        }
    )


def slides(change: Callable[[dict[str, bytes]], None], media: bool = False) -> bytes:
    """A presentation of python-pptx's own, with its parts changed."""
    from io import BytesIO

    from pptx import Presentation

    made = Presentation()
    slide = made.slides.add_slide(made.slide_layouts[5])
    slide.shapes.title.text = "Zinc"
    if media:
        slide.shapes.add_picture(BytesIO(picture()), 0, 0)
    out = BytesIO()
    made.save(out)
    with zipfile.ZipFile(out) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    change(parts)
    return zipped(parts)


def picture() -> bytes:
    """The smallest PNG."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + head + chunk(b"IDAT", zlib.compress(b"\0\0")) + chunk(b"IEND", b"")


def _media_bomb() -> bytes:
    """A presentation whose picture unpacks to gigabytes, which python-pptx reads whole."""
    from io import BytesIO

    with zipfile.ZipFile(BytesIO(slides(lambda parts: None, media=True))) as archive:
        entries = []
        for info in archive.infolist():
            data = archive.read(info)
            packer = zlib.compressobj(9, zlib.DEFLATED, -15)
            entries.append((info.filename, packer.compress(data) + packer.flush(), len(data), zlib.crc32(data)))
    bomb = deflated(b"\0" * MEGABYTE, 4000)
    return raw_zip(
        [(n, bomb, 4000 * MEGABYTE, 0) if n.startswith("ppt/media") else (n, d, s, c) for n, d, s, c in entries]
    )


def archives() -> Iterator[Hostile]:
    """Zip bombs: declared, lying, overlapping, within each other, by many entries, by repeating."""
    spaces = b" " * MEGABYTE
    for ending, part in MAIN.items():
        packed = deflated(spaces, 3000)
        honest = [(part, packed, 3000 * MEGABYTE, 0)]
        lying = [(part, packed, 1000, zlib.crc32(spaces))]
        yield Hostile(f"declared bomb.{ending}", lambda e=honest: raw_zip(e), REFUSED)
        yield Hostile(f"lying bomb.{ending}", lambda e=lying: raw_zip(e), REFUSED)
        shared = [(f"x{n}.xml" if n else part, deflated(spaces, 100), 100 * MEGABYTE, 0) for n in range(2000)]
        yield Hostile(f"overlapping bomb.{ending}", lambda e=shared: raw_zip(e, overlapping=True), REFUSED)
    yield Hostile("overlapping media.docx", lambda: raw_zip(
        [(f"word/media/{n}.bin", deflated(spaces, 100), 100 * MEGABYTE, 0) for n in range(5000)], overlapping=True
    ), REFUSED)  # fmt: skip
    inner = zipped({"word/document.xml": "x"})
    for _ in range(12):
        inner = zipped({f"{n}.zip": inner for n in range(4)})
    yield Hostile("within each other.docx", lambda: zipped({"0.zip": inner}), REFUSED)
    yield Hostile("sixty thousand entries.docx", lambda: raw_zip([(f"word/{n}.xml", b"\3\0", 0, 0) for n in range(60_000)]),
                  REFUSED)  # fmt: skip
    yield Hostile("names that climb.docx", lambda: zipped(
        {"../../../tmp/climbed.xml": "x", "/etc/climbed.xml": "x", "word/document.xml":
         f"<w:document {WORD}><w:body>{paragraph('Climbing names are no harm.')}</w:body></w:document>"}
    ), READ)  # fmt: skip
    chapter = "<html><body>" + "<p>Again and again the same.</p>" * 2000 + "</body></html>"
    yield Hostile("a chapter a thousand times.epub", lambda: epub([chapter], [0] * 20_000), EITHER)
    yield Hostile("chapters elsewhere.epub", lambda: epub(["<p>x</p>"], named="../../../../etc/passwd?{}"), REFUSED)
    yield Hostile("picture of gigabytes.pptx", _media_bomb, REFUSED)
    far = '<sheetData><row r="1"><c r="A1" t="inlineStr"><is><t>Zinc</t></is></c></row>' \
          '<row r="1048576"><c r="XFD1048576" t="inlineStr"><is><t>far</t></is></c></row></sheetData>'  # fmt: skip
    yield Hostile("a cell far away.xlsx", lambda: workbook(far), EITHER, slow=True)
    cells = "".join(f'<row r="{n}">' + "".join(f'<c r="{c}{n}" t="s"><v>0</v></c>' for c in "ABCDEFGH") + "</row>"
                    for n in range(1, 2000))  # fmt: skip
    strings = f"<si><t>{'zinc ' * 200_000}</t></si>"
    yield Hostile(
        "one string in all cells.xlsx", lambda: workbook(f"<sheetData>{cells}</sheetData>", strings), EITHER, slow=True
    )
    merged = '<sheetData><row r="1"><c r="A1" t="inlineStr"><is><t>Zinc helps</t></is></c></row></sheetData>' \
             '<mergeCells><mergeCell ref="A1:XFD1048576"/></mergeCells>'  # fmt: skip
    yield Hostile("everything merged.xlsx", lambda: workbook(merged), EITHER, slow=True)
    cell = '<table:table-cell table:number-columns-repeated="1000000000" table:number-columns-spanned="1000000000" ' \
           'table:number-rows-spanned="1000000000"><text:p>zinc</text:p></table:table-cell>'  # fmt: skip
    rows = f'<table:table-row table:number-rows-repeated="1000000000">{cell * 40}</table:table-row>' * 400
    yield Hostile("repeated.ods", lambda: odf(f"<table:table>{rows}</table:table>"), EITHER, slow=True)
    yield Hostile("a chart of a billion points.pptx", _chart_bomb, EITHER, slow=True)


def _chart_bomb() -> bytes:
    from io import BytesIO

    from pptx import Presentation
    from pptx.chart.data import CategoryChartData
    from pptx.enum.chart import XL_CHART_TYPE

    made = Presentation()
    slide = made.slides.add_slide(made.slide_layouts[5])
    data = CategoryChartData()
    data.categories = ["a"]
    data.add_series("s", (1.0,))
    slide.shapes.add_chart(XL_CHART_TYPE.COLUMN_CLUSTERED, 0, 0, 10, 10, data)
    out = BytesIO()
    made.save(out)
    with zipfile.ZipFile(out) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    for name, content in parts.items():
        if "/charts/chart" in name:
            parts[name] = content.replace(b'<c:ptCount val="1"/>', b'<c:ptCount val="1000000000"/>')
    return zipped(parts)


def compressed() -> Iterator[Hostile]:
    """gzip bombs."""

    def gz(head: bytes, block: bytes, times: int) -> bytes:
        body = zlib.compressobj(9, zlib.DEFLATED, -15)
        first = body.compress(head) + body.flush(zlib.Z_FULL_FLUSH)
        return b"\x1f\x8b\x08\0\0\0\0\0\0\xff" + first + deflated(block, times) + b"\0" * 8

    record = b'{"id": "%d", "text": "zinc"}\n'
    yield Hostile("one line.jsonl.gz", lambda: gz(b'{"id": "1", "text": "', b"a" * MEGABYTE, 3000), REFUSED)
    yield Hostile("blank lines.jsonl.gz", lambda: gz(b"", b"\n" * MEGABYTE, 3000), REFUSED, slow=True)
    yield Hostile("same records.jsonl.gz", lambda: gz(b"", record % 1 * 20_000, 100), EITHER, slow=True)
    yield Hostile("spaces.xml.gz", lambda: gz(b"<PubmedArticleSet>", b" " * MEGABYTE, 3000), REFUSED)
    yield Hostile("spaces.nxml.gz", lambda: gz(b"<article>", b" " * MEGABYTE, 3000), REFUSED)
    yield Hostile("within itself.jsonl.gz", lambda: gzip.compress(gzip.compress(gzip.compress(b'{"id":"1","text":"z"}'))),
                  REFUSED)  # fmt: skip
    yield Hostile("fifty thousand members.jsonl.gz", lambda: gzip.compress(b"\n", mtime=0) * 50_000, REFUSED)
    yield Hostile("cut off.jsonl.gz", lambda: gzip.compress(b'{"id":"1","text":"zinc"}\n' * 999)[:-9], EITHER)


# ------------------------------------------------------------------------------------------------ PDF


def pdf(objects: list[bytes], root: int = 1, trailer: bytes = b"") -> bytes:
    """A PDF of numbered objects."""
    data, places = b"%PDF-1.7\n", []
    for number, each in enumerate(objects, 1):
        places.append(len(data))
        data += b"%d 0 obj\n%s\nendobj\n" % (number, each)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    count = len(objects) + 1
    end = b"trailer<</Size %d/Root %d 0 R%s>>\nstartxref\n%d\n%%%%EOF" % (count, root, trailer, len(data))
    return data + b"xref\n0 %d\n0000000000 65535 f \n" % count + table + end


def stream(content: bytes, head: bytes = b"", *, packed: bool = True) -> bytes:
    data = zlib.compress(content, 9) if packed else content
    filters = b"/Filter/FlateDecode" if packed else b""
    return b"<<%s%s/Length %d>>stream\n%s\nendstream" % (filters, head, len(data), data)


CATALOG = b"<</Type/Catalog/Pages 2 0 R>>"
FONT = b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>"


def one_page(content: bytes, resources: bytes = b"/Font<</F 5 0 R>>", *more: bytes, catalog: bytes = CATALOG,
             page: bytes = b"", box: bytes = b"0 0 200 200") -> bytes:  # fmt: skip
    """A PDF of one page; further objects have the numbers from 6."""
    leaf = b"<</Type/Page/Parent 2 0 R/MediaBox[%s]/Contents 4 0 R/Resources<<%s>>%s>>" % (box, resources, page)
    pages = b"<</Type/Pages/Kids[3 0 R]/Count 1>>"
    return pdf([catalog, pages, leaf, content, FONT, *more])


def shown(text: bytes) -> bytes:
    return b"BT /F 12 Tf 10 100 Td (%s) Tj ET" % text


def flate_bomb(megabytes: int) -> bytes:
    """A PDF of a few kilobytes whose one page's content is so many megabytes of spaces, compressed twice."""
    packed = zlib.compress(b"\x78\xda" + deflated(b" " * MEGABYTE, megabytes), 9)
    return one_page(b"<</Filter[/FlateDecode/FlateDecode]/Length %d>>stream\n%s\nendstream" % (len(packed), packed))


def _object_stream_bomb() -> bytes:
    """A cross-reference stream whose objects lie in an object stream that unpacks to gigabytes."""
    packed = zlib.compress(b"\x78\xda" + deflated(b" " * MEGABYTE, 2500), 9)
    head = b"%PDF-1.7\n"
    first = b"1 0 obj\n<</Type/ObjStm/N 3/First 20/Filter[/FlateDecode/FlateDecode]/Length %d>>stream\n%s\nendstream\nendobj\n"
    body = head + first % (len(packed), packed)
    rows = b"".join(
        struct.pack(">BIH", *row) for row in ((0, 0, 0), (1, len(head), 0), (2, 1, 0), (2, 1, 1), (1, len(body), 0))
    )
    table = b"4 0 obj\n<</Type/XRef/Size 5/W[1 4 2]/Root 2 0 R/Length %d>>stream\n%s\nendstream\nendobj\n" % (
        len(rows),
        rows,
    )
    return body + table + b"startxref\n%d\n%%%%EOF" % len(body)


def _page_tree(levels: int) -> bytes:
    """A page below so many levels of nodes."""
    nodes = [b"<</Type/Pages/Kids[%d 0 R]/Count 1>>" % (n + 3) for n in range(levels)]
    leaf = b"<</Type/Page/Parent %d 0 R/MediaBox[0 0 9 9]/Contents %d 0 R>>" % (levels + 1, levels + 3)
    return pdf([CATALOG, *nodes, leaf, stream(shown(b"deep"))])


def pdfs(canary: str) -> Iterator[Hostile]:
    """PDF bombs, and PDFs that lie about their structure."""
    page = b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 200 200]/Contents 4 0 R/Resources<</Font<</F 5 0 R>>>>>>"
    text = stream(shown(b"Zinc shortens colds."))
    yield Hostile("flate bomb.pdf", lambda: flate_bomb(2_500), REFUSED)
    yield Hostile("object stream bomb.pdf", _object_stream_bomb, REFUSED)
    yield Hostile("a million pages claimed.pdf", lambda: pdf(
        [CATALOG, b"<</Type/Pages/Kids[3 0 R]/Count 1000000>>", page, text, FONT]), EITHER, slow=True)  # fmt: skip
    yield Hostile("two billion pages claimed.pdf", lambda: pdf(
        [CATALOG, b"<</Type/Pages/Kids[3 0 R]/Count 2147483647>>", page, text, FONT]), EITHER, slow=True)  # fmt: skip
    kids = b" ".join([b"3 0 R"] * 100_000)
    long = stream(b" ".join(shown(b"zinc " * 40) for _ in range(2000)))
    yield Hostile("one page a hundred thousand times.pdf", lambda: pdf(
        [CATALOG, b"<</Type/Pages/Kids[%s]/Count 100000>>" % kids, page, long, FONT]), REFUSED, slow=True)  # fmt: skip
    yield Hostile("pages in a circle.pdf", lambda: pdf(
        [CATALOG, b"<</Type/Pages/Kids[2 0 R 3 0 R]/Count 2/Parent 2 0 R>>", page, text, FONT]), EITHER)  # fmt: skip
    yield Hostile("parents in a circle.pdf", lambda: pdf(
        [CATALOG, b"<</Type/Pages/Kids[6 0 R]/Count 1/Parent 6 0 R>>", page, text, FONT,
         b"<</Type/Pages/Kids[2 0 R]/Count 1/Parent 2 0 R>>"]), EITHER)  # fmt: skip
    yield Hostile("a deep tree of pages.pdf", lambda: _page_tree(20_000), EITHER)
    deep = b"[" * 100_000 + b"]" * 100_000
    yield Hostile("nested arrays.pdf", lambda: one_page(text, page=b"/X " + deep), EITHER)
    yield Hostile("nested dictionaries.pdf", lambda: one_page(text, page=b"/X " + b"<</A " * 100_000 + b"1" + b">>" * 100_000),
                  EITHER)  # fmt: skip
    yield Hostile("nested in the page.pdf", lambda: one_page(stream(b"[" * 1_000_000 + shown(b"zinc"))), EITHER)
    yield Hostile("a million states.pdf", lambda: one_page(stream(b"q " * 1_000_000 + shown(b"zinc"))), EITHER)
    form = stream(
        shown(b"again") + b" /X Do /X Do", b"/Type/XObject/Subtype/Form/BBox[0 0 9 9]/Resources<</XObject<</X 6 0 R>>>>"
    )
    yield Hostile(
        "a form that draws itself.pdf", lambda: one_page(stream(b"/X Do"), b"/XObject<</X 6 0 R>>", form), EITHER
    )
    forms = [stream(b"/X Do " * 10, b"/Type/XObject/Subtype/Form/BBox[0 0 9 9]/Resources<</XObject<</X %d 0 R>>>>" % n)
             for n in range(7, 19)]  # fmt: skip
    yield Hostile("forms that draw each ten times.pdf", lambda: one_page(
        stream(b"/X Do"), b"/Font<</F 5 0 R>>/XObject<</X 6 0 R>>", *forms, stream(shown(b"zinc"), b"/Type/XObject/Subtype/Form"
        b"/BBox[0 0 9 9]/Resources<</Font<</F 5 0 R>>>>")), EITHER, slow=True)  # fmt: skip
    once = zlib.compressobj(9)
    pixels = b"".join(once.compress(b"\0" * MEGABYTE) for _ in range(60)) + once.flush()
    image = b"<</Type/XObject/Subtype/Image/Width %d/Height %d/ColorSpace/DeviceGray/BitsPerComponent 8/Filter/FlateDecode" \
            b"/Length %d>>stream\n%s\nendstream"  # fmt: skip
    for name, side in (("a picture of gigapixels.pdf", 60_000), ("a picture beyond numbers.pdf", 2_000_000_000)):
        yield Hostile(name, lambda side=side: one_page(
            stream(b"200 0 0 200 0 0 cm /X Do"), b"/XObject<</X 6 0 R>>", image % (side, side, len(pixels), pixels)), REFUSED,
            slow=True)  # fmt: skip
    yield Hostile("a page as large as a country.pdf", lambda: one_page(
        stream(b"1000000000 0 0 1000000000 0 0 cm /X Do"), b"/XObject<</X 6 0 R>>",
        image % (10, 10, len(zlib.compress(b"\0" * 100)), zlib.compress(b"\0" * 100)), box=b"0 0 1000000000 1000000000"),
        REFUSED)  # fmt: skip
    yield Hostile("fifty filters.pdf", lambda: one_page(b"<</Filter[%s]/Length 5>>stream\nabcde\nendstream" %
                  (b"/ASCIIHexDecode " * 50 + b"/RunLengthDecode " * 5000)), EITHER)  # fmt: skip
    loop = b"trailer<</Size 2/Root 1 0 R/Prev 9>>\nstartxref\n9\n%%EOF"
    yield Hostile("tables in a circle.pdf", lambda: b"%PDF-1.4\nxref\n0 1\n0000000000 65535 f \n" + loop, REFUSED)
    yield Hostile("two billion objects.pdf", lambda: b"%PDF-1.4\nxref\n0 2147483647\n0000000000 65535 f \ntrailer<</Size "
                  b"2147483647/Root 1 0 R>>\nstartxref\n9\n%%EOF", REFUSED)  # fmt: skip
    actions = b"/OpenAction<</S/URI/URI(%s/pdf-open)>>/AA<</WC<</S/SubmitForm/F(%s/pdf-form)>>>>" % (
        (canary.encode(),) * 2
    )
    notes = b"/Annots[<</Type/Annot/Subtype/Link/Rect[0 0 9 9]/A<</S/URI/URI(%s/pdf-link)>>>>]" % canary.encode()
    yield Hostile("a pdf that calls.pdf", lambda: one_page(
        text, page=notes, catalog=b"<</Type/Catalog/Pages 2 0 R%s>>" % actions), READ)  # fmt: skip
    outside = b"<</F(%s/pdf-stream)/FFilter/FlateDecode/Length 0>>stream\n\nendstream" % canary.encode()
    yield Hostile("a pdf with its text elsewhere.pdf", lambda: one_page(outside), REFUSED)


# ------------------------------------------------------------------------------------------------ XML


def laughs(root: str = "x") -> str:
    """A billion laughs, 10 entities deep."""
    entities = '<!ENTITY a0 "zinc zinc zinc ">' + "".join(
        f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">' for n in range(1, 11)
    )
    return f"<!DOCTYPE {root} [{entities}]>"


def quadratic(root: str = "x") -> str:
    return f'<!DOCTYPE {root} [<!ENTITY a "{"zinc " * 20_000}">]>'


def outside(root: str, place: str) -> str:
    """A document type that names a file or an address, as itself, as an entity and as a parameter entity."""
    return f'<!DOCTYPE {root} SYSTEM "{place}.dtd" [<!ENTITY % p SYSTEM "{place}.ent">%p;<!ENTITY e SYSTEM "{place}">]>'


ARTICLE = (
    '{head}<article xmlns:xi="http://www.w3.org/2001/XInclude"><front><article-meta><title-group><article-title>Zinc'
    "</article-title></title-group></article-meta></front><body><p>Zinc shortens colds by a day. {body}</p></body></article>"
)


def xml(canary: str, secret: str) -> Iterator[Hostile]:
    """Bombs of entities and entities that name something else, in each kind of file that is XML inside."""

    def kinds(head: Callable[[str], str], body: str) -> dict[str, bytes]:
        cell = f'<sheetData><row r="1"><c r="A1" t="inlineStr"><is><t>Zinc {body}</t></is></c></row></sheetData>'

        def slide(parts: dict[str, bytes]) -> None:
            name = "ppt/slides/slide1.xml"
            declared = head("p:sld").encode() + b"<p:sld"
            parts[name] = parts[name].replace(b"<p:sld", declared, 1).replace(b">Zinc<", b">Zinc %s<" % body.encode())

        return {
            "nxml": ARTICLE.format(head=head("article"), body=body).encode(),
            "xml": (f"{head('PubmedArticleSet')}<PubmedArticleSet><PubmedArticle><MedlineCitation><PMID>1</PMID><Article>"
                f"<ArticleTitle>Zinc</ArticleTitle><Abstract><AbstractText>Zinc helps. {body}</AbstractText></Abstract>"
                "</Article></MedlineCitation></PubmedArticle></PubmedArticleSet>").encode(),
            "xhtml": f"{head('html')}<html><body><p>Zinc shortens colds. {body}</p></body></html>".encode(),
            "docx": docx(paragraph(f"Zinc shortens colds. {body}"), head("w:document")),
            "odt": odf(f"<office:text><text:p>Zinc shortens colds. {body}</text:p></office:text>", head("office:document-content")),
            "epub": epub([f"{head('html')}<html><body><p>Zinc shortens colds. {body}</p></body></html>"], head=head("package")),
            "xlsx": workbook(cell, head=head("worksheet")),
            "pptx": slides(slide),
        }  # fmt: skip

    for name, head, body in (
        ("a billion laughs", laughs, "&a10;"),
        ("quadratic", quadratic, "&a;" * 20_000),
        ("outside file", lambda root: outside(root, f"file://{secret}"), "&e;"),
        ("outside address", lambda root: outside(root, f"{canary}/xml"), "&e;"),
    ):
        for ending, content in kinds(head, body).items():
            yield Hostile(f"{name}.{ending}", lambda content=content: content, EITHER)
    include = f'<xi:include href="file://{secret}" parse="text"/><xi:include href="{canary}/xinclude"/>'
    yield Hostile("included.nxml", lambda: ARTICLE.format(head=f'<?xml-stylesheet href="{canary}/style.xsl"?>', body=include)
                  .encode(), READ)  # fmt: skip
    yield Hostile("attributes.nxml", lambda: ARTICLE.format(head="", body="<b " + " ".join(f'a{n}="1"' for n in range(200_000))
                  + "/>").encode(), EITHER)  # fmt: skip


# ------------------------------------------------------------------------------------------------ what calls out


def callers(canary: str) -> Iterator[Hostile]:
    """Documents that name pictures, styles, frames and templates elsewhere: reading asks for none."""
    page = (
        f'<html><head><base href="{canary}/base/"><meta http-equiv="refresh" content="0;url={canary}/refresh">'
        f'<link rel="stylesheet" href="{canary}/css"><script src="{canary}/js"></script>'
        f'<style>@import "{canary}/import";</style></head><body background="{canary}/bg"><p>Zinc shortens colds by a '
        f'day in adults.</p><img src="{canary}/img"><iframe src="{canary}/frame"></iframe><object data="{canary}/object">'
        f'</object><video src="{canary}/film"></video><svg><image href="{canary}/svg"/><use href="{canary}/use#x"/></svg>'
        f'<link rel="canonical" href="{canary}/canonical"></body></html>'
    )
    yield Hostile("a page that calls.html", lambda: page.encode(), READ)
    yield Hostile("a book that calls.epub", lambda: epub([page]), READ)
    marks = f"# Zinc\n\nZinc shortens colds.\n\n![x]({canary}/md) [y][1] <{canary}/auto>\n\n[1]: {canary}/ref\n"
    yield Hostile("marks that call.md", lambda: marks.encode(), READ)
    relations = (
        '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r1" '
        'Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/attachedTemplate" '
        f'Target="{canary}/template.dotm" TargetMode="External"/><Relationship Id="r2" '
        'Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/image" '
        f'Target="{canary}/image.png" TargetMode="External"/></Relationships>'
    )
    field = f'<w:p><w:r><w:instrText>INCLUDETEXT "{canary}/field"</w:instrText></w:r></w:p>'
    yield Hostile("a letter that calls.docx", lambda: docx(
        paragraph("Zinc shortens colds.") + field + '<w:altChunk xmlns:r="x" r:id="r1"/>',
        **{"word/_rels/document.xml.rels": relations, "word/_rels/settings.xml.rels": relations}), READ)  # fmt: skip

    def call(parts: dict[str, bytes]) -> None:
        name = "ppt/slides/_rels/slide1.xml.rels"
        more = relations.split(">", 1)[1].split("</Relationships>")[0].replace("r1", "r91").replace("r2", "r92")
        parts[name] = parts[name].replace(b"</Relationships>", more.encode() + b"</Relationships>")

    yield Hostile("slides that call.pptx", lambda: slides(call), READ)
    rich = (
        r"{\rtf1 Zinc shortens colds. {\field{\*\fldinst INCLUDEPICTURE "
        + f'"{canary}/rtf"'
        + r"}} {\*\template "
        + canary
        + "}}"
    )
    yield Hostile("rich text that calls.rtf", lambda: rich.encode(), READ)
    mail = (
        f"From: a@b.c\r\nSubject: Zinc\r\nContent-Type: text/html\r\n\r\n{page}\r\n"
        f"--\r\nContent-Type: message/external-body; access-type=URL; URL={canary}/mail\r\n"
    )
    yield Hostile("a letter that calls.eml", lambda: mail.encode(), READ)


# ------------------------------------------------------------------------------------------------ depth


def nested(levels: int = 100_000) -> Iterator[Hostile]:
    """A hundred thousand levels of everything that has levels."""
    for tag, less in (("div", 1), ("b", 5), ("table", 5), ("ul", 5), ("font", 5), ("svg", 5)):
        page = f"<{tag}>" * (levels // less) + "zinc shortens colds"
        yield Hostile(f"nested {tag}.html", page.encode, EITHER, slow=True)
    yield Hostile("nested and closed.html", lambda: ("<div>" * levels + "zinc shortens colds" + "</div>" * levels).encode(),
                  EITHER, slow=True)  # fmt: skip
    yield Hostile(
        "nested.nxml", lambda: ARTICLE.format(head="", body="<sec>" * levels + "</sec>" * levels).encode(), REFUSED
    )
    yield Hostile("nested.docx", lambda: docx("<w:sdt><w:sdtContent>" * levels + paragraph("x") + "</w:sdtContent></w:sdt>"
                  * levels), REFUSED)  # fmt: skip
    yield Hostile("nested.odt", lambda: odf("<text:section>" * levels + "</text:section>" * levels), REFUSED)
    yield Hostile("nested.epub", lambda: epub(["<div>" * levels + "zinc shortens colds"]), EITHER, slow=True)
    yield Hostile("nested lists.json", lambda: b"[" * levels + b"]" * levels, REFUSED)
    yield Hostile("nested objects.json", lambda: b'{"a":' * levels + b"1" + b"}" * levels, REFUSED)
    for depth in (300, 900, 990):
        inner = '{"a":' * depth + '"zinc"' + "}" * depth
        yield Hostile(f"nested {depth}.json", lambda inner=inner: inner.encode(), EITHER)
        good = json.dumps({"id": f"good {depth}", "text": f"The {depth} good one."})
        yield Hostile(f"nested {depth}.jsonl", lambda inner=inner, good=good, depth=depth: (
            f'{{"id": "deep {depth}", "text": "zinc", "x": {inner}}}\n{good}\n').encode(), READ)  # fmt: skip
    yield Hostile("nested.jsonl", lambda: b'{"id": "1", "text": ' + b"[" * levels + b"]" * levels + b"}\n", REFUSED)
    yield Hostile(
        "nested front.md", lambda: b"---\nx: " + b"[" * levels + b"\n---\n\nZinc shortens colds.\n", EITHER, slow=True
    )
    yield Hostile(
        "nested flow.md",
        lambda: b"---\nx: " + b"{a: " * (levels // 5) + b"\n---\n\nZinc shortens colds.\n",
        EITHER,
        slow=True,
    )
    yield Hostile(
        "nested groups.rtf", lambda: rb"{\rtf1 " + b"{" * levels + b"zinc shortens colds" + b"}" * levels + b"}", EITHER
    )
    parts = "".join(f"Content-Type: multipart/mixed; boundary=b{n}\r\n\r\n--b{n}\r\n" for n in range(3000))
    yield Hostile(
        "nested parts.eml", lambda: f"From: a@b.c\r\nSubject: Zinc\r\n{parts}\r\nzinc\r\n".encode(), EITHER, slow=True
    )
    letters = "Content-Type: message/rfc822\r\n\r\n" * 3000
    yield Hostile(
        "letters in letters.eml",
        lambda: f"From: a@b.c\r\nSubject: Zinc\r\n{letters}zinc\r\n".encode(),
        EITHER,
        slow=True,
    )


# ------------------------------------------------------------------------------------------------ text


def texts() -> Iterator[Hostile]:
    """Characters, encodings, widths and lengths."""
    good = "Zinc shortens colds by a day in adults who begin early."
    yield Hostile("zeros.txt", lambda: good.encode() + b"\0" * 5_000, REFUSED)
    yield Hostile("some zeros.txt", lambda: f"Zinc\0 {good * 20}\0".encode(), READ)
    yield Hostile(
        "half characters.txt", lambda: (good * 20).encode() + b"\xed\xa0\x80 \xed\xbf\xbf" + good.encode(), READ
    )
    yield Hostile(
        "half characters.jsonl",
        lambda: b'{"id": "h\\ud800", "text": "Zinc \\udfff helps.", "x\\ud800": "\\ud800"}\n',
        READ,
    )
    yield Hostile("half characters.json", lambda: b'{"na\\ud800me": "Zinc \\udfff helps", "b": ["\\ud800"]}', READ)
    yield Hostile(
        "right to left.txt", lambda: f"\u202eZinc \u202dhelps\u202c \u2066{good}\u2069 \u200f{good}".encode(), READ
    )
    yield Hostile(
        "two forms.txt",
        lambda: "The café\u0301 and the cafe\u0301\u0301, Å \u212b A\u030a, ﬁ ﬀ, ① ½: zinc helps.".encode(),
        READ,
    )
    yield Hostile("wide without a mark.txt", lambda: good.encode("utf-16-le"), READ)
    yield Hostile("wide and cut off.txt", lambda: good.encode("utf-16")[:-1], EITHER)
    yield Hostile("a mark that lies.txt", lambda: b"\xff\xfe\0\0" + good.encode(), EITHER)
    yield Hostile("three marks.txt", lambda: b"\xef\xbb\xbf" * 3 + good.encode(), READ)
    for charset in ("punycode", "idna", "unicode_escape", "raw_unicode_escape", "undefined", "utf-7", "zip", "hex", "rot13",
                    "uu", "nothing-like-it", "a" * 500):  # fmt: skip
        short = charset[:20]
        yield Hostile(f"charset {short}.html", lambda charset=charset: (
            f'<html><head><meta charset="{charset}"></head><body><p>caf\xe9 {good} {good}</p></body></html>'
        ).encode("latin-1"), READ)  # fmt: skip
        yield Hostile(f"charset {short}.eml", lambda charset=charset: (
            f"From: a@b.c\r\nSubject: =?{charset}?q?Zinc?=\r\nContent-Type: text/plain; charset={charset}\r\n\r\ncaf\xe9 {good}\r\n"
        ).encode("latin-1"), READ)  # fmt: skip
    yield Hostile("forty thousand columns.csv", lambda: "\n".join(
        [",".join(f"c{n % 7}" for n in range(40_000)), ",".join("" if n % 40 else "1" for n in range(40_000))]).encode(), EITHER)  # fmt: skip
    yield Hostile("a quote that never ends.csv", lambda: b'id,text\n1,"' + b"zinc,\n" * 500, EITHER)
    yield Hostile("one long row.csv", lambda: b"a,b\n" * 1000 + b"," * 100_000, EITHER, slow=True)
    yield Hostile("tags.html", lambda: b"<p>zinc helps</p>" + b"<br>" * 20_000 + b"<!--" * 20_000, EITHER, slow=True)
    yield Hostile("spans.html", lambda: b'<table>' + b'<tr><td colspan="1000000000" rowspan="1000000000">zinc</td><td>1</td></tr>'
                  * 300 + b"</table>", EITHER, slow=True)  # fmt: skip
    yield Hostile("headings.md", lambda: b"# " + b"#" * 50_000 + b"\n" + b"# ### " * 20_000, EITHER)
    yield Hostile("brackets.md", lambda: b"[" * 10_000 + b"](" * 10_000 + good.encode(), EITHER, slow=True)
    yield Hostile("comments.md", lambda: b"<!--" * 50_000 + good.encode(), EITHER, slow=True)
    yield Hostile("numbers.json", lambda: b'{"name": "zinc", "n": ' + b"9" * 5_000 + b"}", REFUSED)
    yield Hostile(
        "no numbers.jsonl",
        lambda: b'{"id": "nan", "text": "Zinc helps.", "a": NaN, "b": [-Infinity], "c": 1e999}\n',
        READ,
    )
    yield Hostile(
        "no numbers.md", lambda: b"---\na: .nan\nb: -.inf\nc: 0x" + b"f" * 6000 + b"\n---\n\nZinc helps.\n", READ
    )
    yield Hostile(
        "dates.md", lambda: b"---\ndate: 99999-99-99\nx: 9999-99-99\n? [a, b]\n: c\n---\n\nZinc helps.\n", READ
    )
    names = [
        "../../x",
        "..\\x",
        "/etc/passwd",
        "a\nb",
        "\x1b[2J",
        "-rf",
        "con",
        "x" * 2000,
        "\u202e",
        "card:1",
        "%2e%2e/x",
    ]
    yield Hostile("ids.jsonl", lambda: "".join(
        json.dumps({"id": name, "text": f"Zinc number {number} helps.", "title": name, "source": name, "path": "/etc/passwd",
                    "tags": name, "url": "javascript:alert(1)", "date": name, "authors": name}) + "\n"
        for number, name in enumerate(names)).encode(), READ)  # fmt: skip
    yield Hostile("all spaces.txt", lambda: b" " * 100_000 + good.encode(), READ)
    yield Hostile("one long word.txt", lambda: b"a" * 60_000, EITHER)
    yield Hostile("from from.mbox", lambda: b"From \n" * 20_000, REFUSED)
    yield Hostile("a long header.eml", lambda: b"From: a@b.c\r\nSubject: " + b"=?utf-8?q?=5A?= " * 5_000 + b"\r\n\r\nzinc\r\n", EITHER,
                  slow=True)  # fmt: skip
    yield Hostile(
        "escapes.rtf",
        lambda: rb"{\rtf1 Zinc helps. \u1000000000000 \u-99999? \'zz \uc100000000\u1 x \bin99999999 x}",
        EITHER,
    )


def special_files(folder: Path, outside: Path) -> dict[str, str]:
    """Put what is no ordinary file into a folder; names, each with its fate.

    Args:
        folder: Where they go.
        outside: A file that may not be read, beside the folder.
    """
    import socket

    os.mkfifo(folder / "pipe.txt")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(os.path.relpath(folder / "socket.txt"))
    (folder / "out.txt").symlink_to(outside)
    (folder / "relative.txt").symlink_to(os.path.relpath(outside, folder))
    (folder / "zeros.txt").symlink_to("/dev/zero")
    (folder / "random.txt").symlink_to("/dev/urandom")
    (folder / "terminal.txt").symlink_to("/dev/tty")
    (folder / "memory.txt").symlink_to("/proc/self/environ")
    (folder / "itself.txt").symlink_to("itself.txt")
    (folder / "one.txt").symlink_to("two.txt")
    (folder / "two.txt").symlink_to("one.txt")
    (folder / "broken.txt").symlink_to("nothing.txt")
    (folder / "folder.txt").mkdir()
    (folder / "up").symlink_to("..")
    (folder / "elsewhere").symlink_to(outside.parent)
    (folder / ".hidden.txt").write_text("hidden secret", encoding="utf-8")
    (folder / "hidden.txt").symlink_to(".hidden.txt")
    with (folder / "a terabyte.txt").open("wb") as file:
        file.truncate(1 << 40)
    refused = [
        "pipe",
        "socket",
        "out",
        "relative",
        "zeros",
        "random",
        "terminal",
        "memory",
        "itself",
        "one",
        "two",
        "broken",
        "hidden",
    ]
    return {
        **{f"{name}.txt": REFUSED for name in refused},
        "a terabyte.txt": REFUSED,
        "up": REFUSED,
        "elsewhere": REFUSED,
    }


NAMES = (
    b"a\nb.txt",
    b"a\rb.txt",
    b"\x1b[2Jclear.txt",
    b"\x07bell.txt",
    b"n" * 251 + b".txt",
    b"caf\xe9.txt",
    b"caf\xe8.txt",
    b"\xff\xfe\xfd.txt",
    b"-rf.txt",
    b"--help.txt",
    b"con.txt",
    b"LPT1.txt",
    b"x..txt",
    b" .txt",
    b"a b\tc.txt",
    b"\xe2\x80\xaetxt.exe.txt",
    b"cafe\xcc\x81 nfd.txt",
    b"caf\xc3\xa9 nfd.txt",
    b"%2e%2e%2fx.txt",
    b"..\\..\\x.txt",
    b"[link=x]y[link].txt",
    b"<img src=x onerror=alert(1)>.txt",
    b"$(touch x).txt",
    b"`id`.txt",
    b"'; DROP TABLE documents; --.txt",
    b"{braces} {0} %s %d.txt",
)
"""Names of files that systems, terminals, shells, markup and formats take for something else."""
