"""What people call a page of a file."""

import pytest

from preflight_rag.text.page_names import page_name


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
