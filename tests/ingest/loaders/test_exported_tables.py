"""Tables as programs export them: with lines above and below, several in a file, and as lists of lists in JSON."""

from __future__ import annotations

import json
from pathlib import Path

import docx
import pytest

from preflight_rag.ingest.loaders import load
from preflight_rag.state.values import Document


def lines_of(path: Path, content: str) -> list[str]:
    path.write_text(content, encoding="utf-8")
    (document,) = load(path)
    assert isinstance(document, Document)
    return document.text.split("\n")


def test_names_and_values_above_a_blank_line_are_no_header(tmp_path: Path) -> None:
    lines = lines_of(
        tmp_path / "bank.csv",
        "Account:;AT12 3456\nOwner:;Ida Moser\nBalance of 31.03.2024:;1.204,50 EUR\n\n"
        "Day;Receiver;Purpose;Amount\n28.03.2024;Stadtwerke;Power;-86,20\n27.03.2024;Huber;Rent;-720,00\n",
    )
    assert "Balance of 31.03.2024: 1.204,50 EUR" in lines
    assert "Day: 27.03.2024 | Receiver: Huber | Purpose: Rent | Amount: -720,00" in lines


def test_a_title_and_a_date_stand_above_the_table(tmp_path: Path) -> None:
    path = tmp_path / "meters.csv"
    lines = lines_of(path, "Meters of Auwinkel\nAs of,31 March\n\nFlat,Tenant,Water,Heat\n1A,Novotny,34,1210\n")
    assert lines[:2] == ["Meters of Auwinkel", "As of: 31 March"]
    assert lines[2:] == ["Meters of Auwinkel. | Flat: 1A | Tenant: Novotny | Water: 34 | Heat: 1210"]
    (document,) = load(path)
    assert isinstance(document, Document)
    assert document.title == "Meters of Auwinkel"


@pytest.mark.parametrize("padding", ["", "\t\t\t"])
def test_notes_below_the_rows_are_no_rows(tmp_path: Path, padding: str) -> None:
    table = "Sample\tDepth\tpH\tLead\nS-01\t10\t6.8\t14\nS-03\t30\t5.9\t61\n"
    notes = f"{padding}\nNotes{padding}\nS-03 was taken beside the old battery works.{padding}\n"
    assert lines_of(tmp_path / "a.tsv", table + notes) == [
        "Sample: S-01 | Depth: 10 | pH: 6.8 | Lead: 14",
        "Sample: S-03 | Depth: 30 | pH: 5.9 | Lead: 61",
        "",
        "Notes",
        "S-03 was taken beside the old battery works.",
    ]


def test_a_row_without_a_value_is_no_note(tmp_path: Path) -> None:
    assert lines_of(tmp_path / "a.csv", "Bird,Seen\nHeron,3\nStork,\n") == ["Bird: Heron | Seen: 3", "Bird: Stork"]


def test_lines_around_a_table_of_texts_are_kept(tmp_path: Path) -> None:
    text = "The lift stops between floors whenever the door sensor is wet from the rain of the night."
    path = tmp_path / "a.csv"
    path.write_text(f"Complaints of May\n\nid,body,house\n1,{text},north\n2,{text},south\n", encoding="utf-8")
    documents = [document for document in load(path) if isinstance(document, Document)]
    assert "Complaints of May" in [document.text for document in documents]
    assert len(documents) == 3


def test_several_tables_of_a_file_have_their_own_names(tmp_path: Path) -> None:
    lines = lines_of(
        tmp_path / "a.csv",
        "Rooms\nRoom,Beds,Price\nLarch,2,81\n\nGuests\nGuest,Nights,Country,Paid\nIda Moser,3,AT,yes\n",
    )
    assert "Guests. | Guest: Ida Moser | Nights: 3 | Country: AT | Paid: yes" in lines
    assert lines[1] == "Room: Larch | Beds: 2 | Price: 81" or "Room: Larch | Beds: 2 | Price: 81" in lines[2]


def test_a_blank_line_between_rows_is_no_end(tmp_path: Path) -> None:
    lines = lines_of(tmp_path / "a.csv", "Room,Beds,Price\nLarch,2,81\n\nMaple,3,84\nBirch,4,90\n")
    assert lines == [f"Room: {room} | Beds: {beds} | Price: {price}"
                     for room, beds, price in (("Larch", 2, 81), ("Maple", 3, 84), ("Birch", 4, 90))]  # fmt: skip


@pytest.mark.parametrize(
    "value",
    [
        [["Article", "Colour", "Price"], ["Bucket", "red", 4.9], ["Hose", "yellow", 27.5]],
        {"columns": ["Article", "Colour", "Price"], "data": [["Bucket", "red", 4.9], ["Hose", "yellow", 27.5]]},
        {"rows": [["Bucket", "red", 4.9], ["Hose", "yellow", 27.5]], "Headers": ["Article", "Colour", "Price"]},
    ],
)
def test_lists_of_lists_are_rows_under_the_names_of_their_columns(tmp_path: Path, value: object) -> None:
    lines = lines_of(tmp_path / "a.json", json.dumps(value))
    assert lines == ["Article: Bucket | Colour: red | Price: 4.9", "Article: Hose | Colour: yellow | Price: 27.5"]


def test_points_are_not_called_by_what_stands_beside_them(tmp_path: Path) -> None:
    value = {"tags": ["steep", "dry"], "points": [[47.1, 13.2], [47.2, 13.3]]}
    assert lines_of(tmp_path / "a.json", json.dumps(value)) == [
        "tags: steep, dry", "points, 1: 47.1, 13.2", "points, 2: 47.2, 13.3"
    ]  # fmt: skip


def test_a_word_cell_over_several_rows_stands_in_each(tmp_path: Path) -> None:
    document = docx.Document()
    table = document.add_table(rows=4, cols=3)
    for number, row in enumerate([("Wing", "Room", "Price"), ("East", "Larch", "81"), ("", "Maple", "84"),
                                  ("West", "Birch", "77")]):  # fmt: skip
        for place, text in enumerate(row):
            table.cell(number, place).text = text
    table.cell(1, 0).merge(table.cell(2, 0))
    document.save(str(tmp_path / "rooms.docx"))
    (found,) = load(tmp_path / "rooms.docx")
    assert isinstance(found, Document)
    assert "Wing: East | Room: Maple | Price: 84" in found.text
    assert found.title == "rooms"
