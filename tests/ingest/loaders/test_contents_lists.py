"""Tables of contents, which state nothing, and the lists with numbers that are none."""

from __future__ import annotations

from pathlib import Path

import pytest

from preflight_rag.ingest.loaders import load
from preflight_rag.ingest.loaders.contents_lists import contents_lines, roman
from preflight_rag.ingest.loaders.read_report import report_of

PROSE = ["The pump is oiled in spring.", "It takes 3 litres.", "A new one costs 80 pounds."]
DOTTED = [
    "Preface . . . . . . . . . . iii",
    "1 Pumps . . . . . . . . . . . . 1",
    "1.1 How long does it take to change the filter of a pump that",
    "was made before 1990? . . . . . . . 2",
    "2 Locks ............ 4",
    "Index 9",
]
HEADINGS = {
    1: ["1 Pumps"],
    2: ["1.1 How long does it take to change", "the filter of a pump that was made before", "1990?", "Part I Pumps"],
    3: ["Oil"],
    4: ["2 Locks", "Part II Locks"],
    5: ["Weirs"],
    6: ["Sluices", "Gates"],
    7: ["3.1 Bolts"],
    9: ["Index"],
}
BARE = ["Part I Pumps 2", "Filters 2", "Oil 3", "Part II Locks 4", "Sluices 6", "Index 9"]


def left(*pages: list[str], more: int = 9) -> list[list[str]]:
    chapters = [[*HEADINGS.get(number, []), *PROSE] for number in range(1, more + 1)]
    given = [*pages, *chapters]
    found = contents_lines(given)
    return [[line for at, line in enumerate(page) if (n, at) not in found] for n, page in enumerate(given)]


@pytest.mark.parametrize("entries", [DOTTED, BARE, [line.replace(" . ", " .").replace(". ", ".") for line in DOTTED]])
@pytest.mark.parametrize("heading", ["Contents", "TABLE OF CONTENTS", "Inhaltsverzeichnis"])
def test_list_below_its_heading_goes_with_it(heading: str, entries: list[str]) -> None:
    assert left(["Orchard Guide", heading, "", *entries, "", *PROSE])[0] == ["Orchard Guide", "", "", *PROSE]


def test_list_goes_on_over_pages() -> None:
    first, second = (
        ["Contents", *DOTTED[:5]],
        ["Contents", "Weirs 5", "Gates 6", "3.1 Bolts . . . . . . . 7", "Index 9"],
    )
    assert left(first, second)[:2] == [[], []]


def test_dots_show_a_list_without_a_heading() -> None:
    assert left(DOTTED)[0] == []


@pytest.mark.parametrize(
    "lines",
    [
        ["Coffee . . . . . . 3", "Tea . . . . . . 2", "Cake . . . . . . 4", "Soup . . . . . . 3", "Pie . . . . . . 5"],
        ["Dinner . . . . . . 13", "Lunch . . . . . . 14", "Wine . . . . . . 15", "Duck . . . . . . 17"],
        ["Rye ....... 2.50", "Malt ....... 3.50", "Oats ....... 4.50", "Rice ....... 5.50", "Bran ....... 6.50"],
        ["Bolts 2", "Nuts 3", "Washers 4", "Screws 6", "Hinges 8", "Keys 9"],
        ["Contents", "Bolts 20", "Nuts 30", "Washers 40", "Screws 60", "Hinges 80"],
        ["Contents", "Bolts 8", "Nuts 2", "Washers 4", "Screws 6", "Hinges 3"],
        ["Contents", "The box holds 3", "bolts. It weighs 4"],
        ["Contents", "Bolts 1", "Nuts 1", "Washers 2", "Screws 3", "Rings 3"],
        ["Contents", "Pumps ........ 2", "Locks ........ 2", "Sluices ........ 2", "Weirs ........ 2"],
        [
            "Contents",
            "Index ........ 1",
            "Sluices ........ 2",
            "Weirs ........ 3",
            "Locks ........ 4",
            "Oil ........ 5",
        ],
        ["Elm ridge ....... iv", "Oak slab ....... v", "Ash chimney ....... vi", "Fir crack ....... vii"],
        PROSE * 3,
    ],
)
def test_other_lists_stay(lines: list[str]) -> None:
    assert left(lines)[0] == lines


def test_document_that_is_a_list_stays() -> None:
    assert left(["Contents", *BARE], more=1)[0] == ["Contents", *BARE]


def test_list_in_a_plain_text_goes_and_is_reported(tmp_path: Path) -> None:
    entries = ["1. Pumps ............. 3", "2. Locks ............. 5", "3. Weirs ............. 8"]
    path = tmp_path / "guide.txt"
    chapters = [line for name in ("1. Pumps", "2. Locks", "3. Weirs") for line in ("", name, "", *PROSE)]
    path.write_text("\n".join(["Orchard guide", "", "Table of Contents", "", *entries, *chapters]))
    document = next(iter(load(path)))
    report = report_of(document.metadata)
    assert document.text.count("Weirs") == 1
    assert "It takes 3 litres." in document.text
    assert report is not None
    assert report.counts["contents_lines"] == 4


@pytest.mark.parametrize(("text", "value"), [("iv", 4), ("xix", 19), ("xlii", 42), ("iiii", 0), ("vx", 0), ("mix", 0)])
def test_roman_numbers(text: str, value: int) -> None:
    assert roman(text) == value


PACKED = ["Spare fuses ....... 2", "Torches ........... 4", "Batteries AA ...... 12", "Whistle ........... 20"]
BOX = ["Kit list", "", "Contents:", *PACKED, "", *PROSE * 2]


@pytest.mark.parametrize(
    "lines",
    [
        BOX,
        ["Lieferschein", "", "Inhalt", "Schrauben 4", "Muttern 8", "Kabel 8", "Haken 12", "Ringe 12", "", *PROSE * 3],
        ["Quiz", "", "Lions ......... 1", "Owls ......... 1", "Boys ......... 1", "Bells ......... 1", "", *PROSE * 2],
        ["Climbing", "", "Elm ...... iv", "Oak ....... v", "Ash ...... vi", "Fir ..... vii", "", *PROSE * 2],
        # The same things in another list, in prose, or one alone.
        [*BOX, "To be checked:", "Spare fuses", "Torches", "Batteries AA", "Whistle"],
        [*BOX, "Spare fuses are in the lid.", "Torches are below.", "Whistle: blow it thrice."],
        [*BOX, "Torches", "", *PROSE],
    ],
)
def test_list_of_things_in_a_plain_text_stays(lines: list[str]) -> None:
    assert contents_lines([lines]) == set()


def test_list_of_things_whose_names_stand_on_other_pages_stays() -> None:
    chapters = [["Ropes", *PROSE], ["Saws", *PROSE], ["Nails", *PROSE], ["Hinges", *PROSE], ["Keys", *PROSE]]
    page = ["Contents", "Keys ....... 1", "Hinges ....... 2", "Nails ....... 3", "Saws ....... 9", "Ropes ....... 9"]
    assert contents_lines([page, *chapters]) == set()


def faq(*, heading: str = "Contents", mark: str = "", chapter: str = "", titles: int = 6) -> list[str]:
    """Return the lines of a text with a list of its titles, which has no pages, and the chapters below it."""
    named = [
        "1 Play",
        "1.1 How do I change the way in which a game",
        "is ended?",
        "1.2 Can I build a palace?",
        "2 Windows",
        "2.1 Is it slow?",
    ]
    chapters = [
        [f"{chapter}1 Play", "-------"],
        ["1.1 How do I change the way", "in which a game is ended?", *PROSE],
        ["1.2 Can I build a palace?", *PROSE],
        [f"{chapter}2 Windows"],
        ["2.1 Is it slow?", *PROSE],
    ]
    listed = [line if line == "is ended?" else mark + line for line in named[:titles]]
    return [*PROSE, heading, "", *listed, "", *(line for each in chapters for line in each)]


@pytest.mark.parametrize(
    "text", [faq(), faq(heading="Table of contents:", mark="o "), faq(mark="* "), faq(chapter="Chapter ")]
)
def test_list_without_pages_whose_titles_stand_again_is_left_out(text: list[str]) -> None:
    kept = left_of(text)
    assert kept == [*PROSE, "", *text[text.index("", len(PROSE) + 2) :]]


@pytest.mark.parametrize(
    "text",
    [
        faq(heading="In the box"),
        faq(titles=4),  # too short
        [*PROSE, "Contents", "Pump", "Lock", "Weir", "Gate", "Key", *PROSE, "Pump", *PROSE, *PROSE],
        [*PROSE, "Contents", "Pump", "Lock", "Weir", "Gate", "Key", *PROSE, "Pump", "Lock", "Weir", "Gate", "Key"],
    ],
    ids=["no-heading", "short", "only-one-again", "no-text-between"],
)
def test_other_list_without_pages_stays(text: list[str]) -> None:
    assert left_of(text) == text


def left_of(text: list[str]) -> list[str]:
    found = contents_lines([text])
    return [line for at, line in enumerate(text) if (0, at) not in found]
