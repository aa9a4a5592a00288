"""What people call a page of a file."""

import re
from pathlib import Path

import pytest

import preflight_rag.server
from preflight_rag.ingest.loaders.files import LOADERS
from preflight_rag.text.page_names import page_name

_WORDS = (Path(preflight_rag.server.__file__).parent / "page" / "static" / "words.js").read_text(encoding="utf-8")
_SLIDES = (".fodp", ".odp", ".otp", ".potm", ".potx", ".ppsm", ".ppsx", ".ppt", ".pptm", ".pptx")
_SHEETS = (".fods", ".ods", ".ots", ".xls", ".xlsm", ".xlsx", ".xltm", ".xltx")
_OTHER = (".csv", ".docx", ".fodg", ".fodt", ".html", ".odg", ".odt", ".otg", ".ott", ".pdf", ".tex", ".txt")


@pytest.mark.parametrize(
    ("source", "page", "name"),
    [
        ("/a/report.pdf", 3, "p. 3"),
        ("Prices.XLSX", 2, "sheet 2"),
        ("old.xls", 1, "sheet 1"),
        ("talk.odp", 4, "slide 4"),
        ("report.pdf", None, ""),
    ],
)
def test_slides_and_sheets_are_called_so(source, page, name):
    assert page_name(source, page) == name


@pytest.mark.parametrize(
    ("kind", "suffix"),
    [
        *(("slide", suffix) for suffix in _SLIDES),
        *(("sheet", suffix) for suffix in _SHEETS),
        *(("p.", suffix) for suffix in _OTHER),
    ],
)
def test_each_ending_is_called_the_same_in_answers_and_in_the_page(kind, suffix):
    in_the_page = [
        called
        for name, called in (("SLIDES", "slide"), ("SHEETS", "sheet"))
        if (found := re.search(rf"^const {name} = /(.+)/i;$", _WORDS, re.MULTILINE))
        and re.search(found[1], f"Quay{suffix.upper()}", re.IGNORECASE)
    ]
    assert page_name(f"Quay{suffix}", 2) == f"{kind} 2"
    assert in_the_page == ([] if kind == "p." else [kind])


def test_all_presentations_and_workbooks_that_are_read_are_in_the_lists():
    assert set(LOADERS["pptx"]) <= set(_SLIDES)
    assert {*LOADERS["xls"], *LOADERS["xlsx"]} <= set(_SHEETS)
    assert {each for each in LOADERS["odf"] if each[-1] in "ps"} <= {*_SLIDES, *_SHEETS}
