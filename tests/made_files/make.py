# ruff: noqa: E501 (markup as programs write it)
"""Write the files of this folder: what other programs make of texts that are ours. Needs pandoc and LibreOffice.

    apt-get install pandoc libreoffice
    python tests/made_files/make.py [--into FOLDER]

They are kept, since not every machine has these programs; made with pandoc 2.17 and LibreOffice 7.4. The texts are made
up. In them `§` stands for two digits that each file has for itself, so that what one file says is in no other.
`FACTS` of `facts.py` says what stands in which odd place of each file.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import tempfile
from base64 import b64decode
from pathlib import Path

from facts import NUMBERS, PANDOC_TABLE, PANDOC_WHOLE

HERE = Path(__file__).parent
_NAMES = " ".join(
    f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{place}:1.0"'
    for name, place in {
        "office": "office", "style": "style", "text": "text", "table": "table", "draw": "drawing",
        "fo": "xsl-fo-compatible", "meta": "meta", "presentation": "presentation", "svg": "svg-compatible",
        "number": "datastyle",
    }.items()
)  # fmt: skip
NAMES = f'{_NAMES} xmlns:of="urn:oasis:names:tc:opendocument:xmlns:of:1.2" xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:xlink="http://www.w3.org/1999/xlink"'
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

TEXT = f"""<?xml version="1.0" encoding="UTF-8"?>
<office:document {NAMES} office:version="1.2" office:mimetype="application/vnd.oasis.opendocument.text">
<office:meta><dc:title>Lease of boathouse §</dc:title></office:meta>
<office:automatic-styles>
<style:page-layout style:name="pm1"><style:page-layout-properties fo:page-width="21cm" fo:page-height="29.7cm" fo:margin="2cm"/>
<style:header-style><style:header-footer-properties fo:min-height="1cm"/></style:header-style>
<style:footer-style><style:header-footer-properties fo:min-height="1cm"/></style:footer-style></style:page-layout>
<style:style style:name="fr1" style:family="graphic"/>
</office:automatic-styles>
<office:master-styles><style:master-page style:name="Standard" style:page-layout-name="pm1">
<style:header><text:p>Contract number LB-7§10</text:p></style:header>
<style:footer><text:p>Filed under cabinet K§3</text:p></style:footer>
</style:master-page></office:master-styles>
<office:body><office:text>
<text:tracked-changes><text:changed-region text:id="ct1"><text:insertion><office:change-info><dc:creator>Ada Lund</dc:creator><dc:date>2025-03-04T10:00:00</dc:date></office:change-info></text:insertion></text:changed-region></text:tracked-changes>
<text:h text:outline-level="1">Lease of boathouse §</text:h>
<text:p>The boathouse at Grimsoy is let to the rowing club for five years.<text:note text:note-class="footnote" text:id="ftn1"><text:note-citation>1</text:note-citation><text:note-body><text:p>Late rent costs 4§1 crowns a week.</text:p></text:note-body></text:note> The slipway is shared with the ferry.<text:note text:note-class="endnote" text:id="ftn2"><text:note-citation>i</text:note-citation><text:note-body><text:p>The winch may lift 8§2 kilograms.</text:p></text:note-body></text:note></text:p>
<text:p>The rent is paid by the quarter<office:annotation><dc:creator>Jon Vesely</dc:creator><dc:date>2025-03-05T10:00:00</dc:date><text:p>The bank asked for 6§3 crowns of deposit.</text:p></office:annotation> in advance. <text:change-start text:change-id="ct1"/>Boats longer than 1§4 feet need a second berth.<text:change-end text:change-id="ct1"/></text:p>
<text:p><draw:frame draw:name="box" text:anchor-type="paragraph" svg:width="6cm" svg:height="2cm"><draw:text-box><text:p>Keys are with the harbour guard at extension 5§5.</text:p></draw:text-box></draw:frame>The mooring rings are checked each spring.</text:p>
<text:p><draw:frame draw:name="plan" text:anchor-type="as-char" svg:width="3cm" svg:height="3cm"><draw:image><office:binary-data>{PNG}</office:binary-data></draw:image><svg:title>Plan of the quay</svg:title><svg:desc>The plan shows bollard 3§6 at the north wall.</svg:desc></draw:frame></text:p>
<text:list><text:list-item><text:p>Oars belong to rack 9§7.</text:p></text:list-item><text:list-item><text:p>Sails hang in the loft.</text:p></text:list-item></text:list>
<table:table table:name="Fees"><table:table-column table:number-columns-repeated="3"/>
<table:table-row><table:table-cell><text:p>Boat</text:p></table:table-cell><table:table-cell><text:p>Length</text:p></table:table-cell><table:table-cell><text:p>Fee</text:p></table:table-cell></table:table-row>
<table:table-row><table:table-cell><text:p>Skiff</text:p></table:table-cell><table:table-cell><text:p>4 m</text:p></table:table-cell><table:table-cell><text:p>2§8</text:p></table:table-cell></table:table-row>
<table:table-row><table:table-cell><text:p>Yawl</text:p></table:table-cell><table:table-cell><text:p>9 m</text:p></table:table-cell><table:table-cell><text:p>7§9</text:p></table:table-cell></table:table-row></table:table>
</office:text></office:body></office:document>
"""

SHEET = f"""<?xml version="1.0" encoding="UTF-8"?>
<office:document {NAMES} office:version="1.2" office:mimetype="application/vnd.oasis.opendocument.spreadsheet">
<office:body><office:spreadsheet>
<table:table table:name="Stores">
<table:table-row><table:table-cell office:value-type="string"><text:p>Part</text:p></table:table-cell><table:table-cell office:value-type="string"><text:p>Stock</text:p></table:table-cell><table:table-cell office:value-type="string"><text:p>Price</text:p></table:table-cell><table:table-cell office:value-type="string"><text:p>Worth</text:p></table:table-cell></table:table-row>
<table:table-row><table:table-cell office:value-type="string"><text:p>Cleat CL-§1</text:p></table:table-cell><table:table-cell office:value-type="float" office:value="3§"><text:p>3§</text:p></table:table-cell><table:table-cell office:value-type="float" office:value="2.5"><text:p>2.5</text:p></table:table-cell><table:table-cell table:formula="of:=[.B2]*[.C2]*1000" office:value-type="float"/></table:table-row>
<table:table-row><table:table-cell office:value-type="string"><office:annotation><text:p>Shackles of lot 6§7 are rusty.</text:p></office:annotation><text:p>Shackle SH-§2</text:p></table:table-cell><table:table-cell office:value-type="float" office:value="1§4"><text:p>1§4</text:p></table:table-cell><table:table-cell office:value-type="float" office:value="4"><text:p>4</text:p></table:table-cell><table:table-cell table:formula="of:=[.B3]*[.C3]*1000" office:value-type="float"/></table:table-row>
<table:table-row><table:table-cell office:value-type="string"><text:p>Fender FE-§3</text:p></table:table-cell><table:table-cell office:value-type="float" office:value="6"><text:p>6</text:p></table:table-cell><table:table-cell office:value-type="float" office:value="19.§"><text:p>19.§</text:p></table:table-cell><table:table-cell table:formula="of:=[.B4]*[.C4]*1000" office:value-type="float"/></table:table-row>
</table:table>
<table:table table:name="Suppliers">
<table:table-row><table:table-cell office:value-type="string"><text:p>Supplier</text:p></table:table-cell><table:table-cell office:value-type="string"><text:p>Telephone</text:p></table:table-cell></table:table-row>
<table:table-row><table:table-cell office:value-type="string"><text:p>Vester Chandlers</text:p></table:table-cell><table:table-cell office:value-type="string"><text:p>555-0§8</text:p></table:table-cell></table:table-row>
<table:table-row><table:table-cell office:value-type="string"><text:p>Quay Metals</text:p></table:table-cell><table:table-cell office:value-type="string"><text:p>555-1§9</text:p></table:table-cell></table:table-row>
</table:table></office:spreadsheet></office:body></office:document>
"""


def of_file(name: str, text: str) -> str:
    """Return a source with the digits of a file."""
    return text.replace("§", f"{NUMBERS[name]}")


def by_libreoffice(sources: dict[str, tuple[str, str]], into: Path, kind: str) -> None:
    """Convert sources, by the names of the files that become of them, all to one kind."""
    with tempfile.TemporaryDirectory() as scratch:
        made = []
        for name, (ending, text) in sources.items():
            source = Path(scratch) / f"{Path(name).stem}{ending}"
            source.write_text(of_file(name, text), encoding="utf-8")
            made.append(str(source))
        command = ["soffice", "--headless", f"-env:UserInstallation=file://{scratch}/profile", "--convert-to", kind]
        subprocess.run([*command, "--outdir", f"{scratch}/out", *made], check=True, capture_output=True)
        for name in sources:
            found = next(each for each in (Path(scratch) / "out").iterdir() if each.stem == Path(name).stem)
            shutil.copy(found, into / name)


def by_pandoc(name: str, text: str, kind: str, into: Path, *options: str) -> None:
    """Write Markdown of pandoc's in another kind."""
    command = ["pandoc", "-f", "markdown", "-t", kind, "-s", *options, "-o", str(into.resolve() / name)]
    with tempfile.TemporaryDirectory() as scratch:
        (Path(scratch) / "valve.png").write_bytes(b64decode(PNG))
        subprocess.run(command, input=of_file(name, text), text=True, check=True, cwd=scratch)


def main() -> None:
    """Write all files."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--into", type=Path, default=HERE)
    into = parser.parse_args().into
    into.mkdir(exist_ok=True)
    for name, kind, options in PANDOC_TABLE:
        by_pandoc(name, PANDOC_TABLE_TEXT, kind, into, *options)
    for name, kind in PANDOC_WHOLE:
        by_pandoc(name, PANDOC_TEXT, kind, into)
    by_libreoffice({"lease-lo.docx": (".fodt", TEXT)}, into, "docx")
    by_libreoffice({"lease-lo.odt": (".fodt", TEXT)}, into, "odt")
    by_libreoffice({"lease-lo.rtf": (".fodt", TEXT)}, into, "rtf")
    by_libreoffice({"stores-lo.xlsx": (".fods", SHEET)}, into, "xlsx:Calc MS Excel 2007 XML")
    by_libreoffice({"stores-lo.xls": (".fods", SHEET)}, into, "xls:MS Excel 97")
    by_libreoffice({"stores-lo.ods": (".fods", SHEET)}, into, "ods:calc8")
    by_libreoffice({"stores-lo.csv": (".fods", SHEET)}, into, "csv:Text - txt - csv (StarCalc):59,34,76,1")
    by_libreoffice({"stores-lo.html": (".fods", SHEET)}, into, "html:HTML (StarCalc)")
    by_libreoffice({"lease-lo.fodt": (".fodt", TEXT)}, into, "fodt")
    by_libreoffice({"stores-lo.fods": (".fods", SHEET)}, into, "fods")
    pdfs = {"lease-lo.pdf": (".fodt", TEXT), "stores-lo.pdf": (".fods", SHEET)}
    for name, source in pdfs.items():
        by_libreoffice({name: source}, into, "pdf")


PANDOC_TABLE_TEXT = """---
title: Orchard register §
---

The orchard at Varde was surveyed in spring.

| Row | Apple | Trees | Yield |
|-----|:------|------:|------:|
| A§1 | Bramhild Gold | 4§ | 6§1 kg |
| A§2 | Cinder Pippin | 3§ | 7§2 kg |
| A§3 | Dunlin Russet | 2§ | 8§3 kg |

: Trees and yield by row

The press handles 9§4 litres an hour.
"""
PANDOC_TEXT = """---
title: Manual of kiln §
---

# Firing

The kiln is heated slowly.[^1] Glaze *Zaffre* melts at 1§1 degrees.

[^1]: Vent 2§2 stays open until red heat.

## Parts

Shelf
:   Holds 3§3 kilograms.

1. Close the spy hole 4§4.
2. Wait.

> The old potter said that cone 5§5 bends too early.

![The picture shows valve 6§6.](valve.png)

```
pyro --set 7§7 --hold
```

| Cone | Degrees |
|------|--------:|
| 04 | 8§8 |
| 06 | 9§9 |
"""


if __name__ == "__main__":
    main()
