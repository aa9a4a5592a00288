"""What stands above the line: 3 × 10 with a raised 8 is no 108, in files of all kinds.

The files of `made_files/raised` are by other programs: lake.html, .epub, .pptx, .docx, .xml and pandoc.rtf by pandoc
2.17; lake.odp, lake.odt, libreoffice.rtf, wells.ods and wells.xls by LibreOffice 7.4; wells.xlsx by XlsxWriter.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from preflight_rag.ingest.loaders import load
from preflight_rag.state.values import Document

MADE = Path(__file__).parents[2] / "made_files" / "raised"


def read(name: str) -> str:
    (document,) = load(MADE / name)
    assert isinstance(document, Document)
    return document.text


@pytest.mark.parametrize("kind", ["html", "epub", "pptx", "odp", "docx", "odt", "xml"])
def test_powers_and_marks_of_a_text_stand_above_the_line(kind: str) -> None:
    text = read(f"lake.{kind}")
    assert "counted 3 × 10⁸ cells per litre" in text
    assert "The area is 64 km2 and the loss¹² was small. The reading was 10⁻³ mol" in text


@pytest.mark.parametrize("kind", ["xlsx", "xls", "ods"])
def test_stretches_of_a_cell_stand_above_the_line(kind: str) -> None:
    text = read(f"wells.{kind}")
    assert "Well: Oakham | Depth: 9 (8: measured in 1987) | Area: 4 m2" in text
    assert "Well: Pinfold | Depth: 37" in text


@pytest.mark.parametrize("program", ["pandoc", "libreoffice"])
def test_rich_text_keeps_what_stands_above_the_line(program: str) -> None:
    text = read(f"{program}.rtf")
    assert "Counts reached 9⁸ per litre." in text
    assert "Well: Oakham | Depth: 9 (8: measured in 1987)" in text
    assert "Well: Pinfoldᵃ | Depth: 37 | Note a: closed" in text
