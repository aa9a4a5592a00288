"""OpenDocument spreadsheets: a row is one line with all its columns, whatever they are called."""

from __future__ import annotations

import zipfile
from pathlib import Path

from loaded_files import load_one

from preflight_rag import Preflight

NAMESPACES = " ".join(
    f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"' for name in ("office", "table", "text")
)
PARTS = [
    ["id", "text", "price", "supplier"],
    ["1", "check valve with a spring of steel", "61,20", "Ostwald Armatures"],
    ["2", "ball valve, brass", "18,40", "Norrland Valves"],
    ["3", "gate valve", "", "Norrland Valves"],
]
CALLS = [["id", "text"], ["1", "The lift stops between floors."], ["2", "The lamp of the hall is dark."]]


def spreadsheet(path: Path, sheets: dict[str, list[list[str]]]) -> Path:
    """Write a spreadsheet as LibreOffice does: an empty cell stands as one that is repeated."""

    def cell(text: str) -> str:
        empty = '<table:table-cell table:number-columns-repeated="1"/>'
        return (
            f'<table:table-cell office:value-type="string"><text:p>{text}</text:p></table:table-cell>'
            if text
            else empty
        )

    tables = "".join(
        f'<table:table table:name="{name}">'
        + "".join(f"<table:table-row>{''.join(map(cell, row))}</table:table-row>" for row in rows)
        + "</table:table>"
        for name, rows in sheets.items()
    )
    content = (
        f"<office:document-content {NAMESPACES}><office:body><office:spreadsheet>{tables}</office:spreadsheet>"
        "</office:body></office:document-content>"
    )
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        file.writestr("content.xml", content)
    return path


def text_of(path: Path) -> str:
    return load_one(path).text


def test_row_has_all_its_columns(tmp_path: Path) -> None:
    lines = text_of(spreadsheet(tmp_path / "parts.ods", {"Parts": PARTS})).split("\n")
    assert any(
        "id: 1 | text: check valve with a spring of steel | price: 61,20 | supplier: Ostwald Armatures" in line
        for line in lines
    )
    (gate,) = [line for line in lines if "gate valve" in line]
    assert "supplier: Norrland Valves" in gate
    assert "price" not in gate


def test_sheets_and_files_that_count_alike_are_all_kept(tmp_path: Path) -> None:
    text = text_of(spreadsheet(tmp_path / "both.ods", {"Parts": PARTS, "Calls": CALLS}))
    assert "Ostwald Armatures" in text
    assert "The lift stops between floors." in text
    spreadsheet(tmp_path / "parts.ods", {"Parts": PARTS})
    spreadsheet(tmp_path / "calls.ods", {"Calls": CALLS})
    with Preflight.open(tmp_path / "library", model="offline", create=True) as app:
        report = app.ingest([tmp_path / "parts.ods", tmp_path / "calls.ods"])
        assert report.added == 2
        assert not report.failed
        answer = app.ask("What is the price of the check valve?")
        assert "61,20" in answer.answer
        assert "18,40" not in answer.answer.split("\n")[0]


def test_a_note_inside_of_a_table_names_its_row(tmp_path: Path) -> None:
    def note(number: int, words: str) -> str:
        return (
            f'<text:note text:id="n{number}" text:note-class="footnote"><text:note-citation>{number}'
            f"</text:note-citation><text:note-body><text:p>{words}</text:p></text:note-body></text:note>"
        )

    def row(*cells: str) -> str:
        inner = "".join(f"<table:table-cell><text:p>{cell}</text:p></table:table-cell>" for cell in cells)
        return f"<table:table-row>{inner}</table:table-row>"

    rows = row("Instrument", "Fee") + row("Violin", f"310{note(1, 'Siblings pay 270.')}") + row("Organ", "390")
    body = f"<text:p>Fees are due in May{note(2, 'By transfer.')}.</text:p>"
    with zipfile.ZipFile(tmp_path / "fees.odt", "w") as file:
        file.writestr(
            "content.xml",
            f"<office:document-content {NAMESPACES}><office:body><office:text><table:table>{rows}</table:table>{body}"
            "</office:text></office:body></office:document-content>",
        )
    lines = text_of(tmp_path / "fees.odt").split("\n")
    assert "Instrument: Violin | Fee: 310 (Siblings pay 270)" in lines
    assert "Footnote 1 (Violin): Siblings pay 270." in lines
    assert "Footnote 2: By transfer." in lines
