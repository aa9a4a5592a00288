"""Rich text: what stands beside the text is read, and cells of several paragraphs stay in their row."""

from __future__ import annotations

from pathlib import Path

import pytest

from preflight_rag.ingest.loaders import load
from preflight_rag.ingest.loaders.read_report import READ_REPORT
from preflight_rag.state.values import Document

HEAD = r"{\rtf1\ansi\ansicpg1252{\fonttbl{\f0 Arial;}}{\info{\title Rent}}"
WORD = (
    HEAD
    + r"""
{\header\pard Contract R-77/24\par}{\footerf\pard Berg and Sons\par}
\pard The rent is 900 crowns.{\super\chftn{\footnote\pard {\super\chftn} Heating from caf\'e9 level.\par}} Monthly.\par
{\shp{\*\shpinst\shpleft0{\sp{\sn shapeType}{\sv 202}}{\shptxt\pard Smoking is not allowed.\par}}}
{\*\atrfstart 1}Pets{\*\atrfend 1}{\chatn{\*\annotation{\*\atnref 1}\pard Ask about \{two\} cats.\par}} are welcome.\par
\trowd\cellx2000\cellx4000\pard\intbl Room\cell Size\par in m2\cell\row
\trowd\cellx2000\cellx4000\pard\intbl Hall\cell 12\cell\row
\pard The keys are with Otto.\par}"""
)
"""Written by hand as Word writes it."""


def read(folder: Path, source: str) -> Document:
    path = folder / "rent.rtf"
    path.write_bytes(source.encode("latin-1"))
    (document,) = load(path)
    assert isinstance(document, Document)
    return document


@pytest.mark.parametrize(
    "line",
    [
        "Header: Contract R-77/24",
        "Footer: Berg and Sons",
        "Footnote 1: Heating from café level.",
        "Text box: Smoking is not allowed.",
        "Comment: Ask about {two} cats.",
        "The rent is 900 crowns. Monthly.",
        "Pets are welcome.",
        "Room: Hall | Size in m2: 12",
        "The keys are with Otto.",
    ],
)
def test_all_that_a_page_shows_is_read(tmp_path: Path, line: str) -> None:
    assert line in read(tmp_path, WORD).text.split("\n")


def test_report_counts_what_stands_beside_the_text(tmp_path: Path) -> None:
    counts = read(tmp_path, WORD).metadata[READ_REPORT]["counts"]
    assert {name: counts[name] for name in ("footnotes", "headers", "comments", "text_boxes", "rows")} == {
        "footnotes": 1,
        "headers": 2,
        "comments": 1,
        "text_boxes": 1,
        "rows": 1,
    }


def test_cell_whose_paragraph_ends_before_it_is_one_cell(tmp_path: Path) -> None:
    def row(*cells: str) -> str:
        written = "".join(rf"{{{{\pard\intbl \ql {cell}\par}}" + "\n" + r"\cell}" for cell in cells)
        return r"{\trowd \trgaph120 \cellx2880\cellx5760 {" + written + r"} \intbl\row}"

    text = read(tmp_path, f"{HEAD}{row('Room', 'Seats')}{row('Green room', '35')}}}").text
    assert "Room: Green room | Seats: 35" in text


@pytest.mark.parametrize(
    "source",
    [
        HEAD + r"\pard Kept.{\footnote\pard never closed",
        HEAD + r"{\pict\bin7 {{{}}{{}\pard Kept.\par}",
        HEAD + "{" * 600 + r"\pard Kept.\par" + "}" * 600 + "}",
    ],
)
def test_broken_groups_lose_no_text(tmp_path: Path, source: str) -> None:
    assert "Kept." in read(tmp_path, source).text
