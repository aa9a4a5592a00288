"""Tables in plain text, and text that only looks like one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import row_files

from preflight_rag.ingest.loaders import load
from preflight_rag.ingest.loaders.text_tables import with_rows
from preflight_rag.state.values import Document

ROWS = {
    "subscriptions.md": "Plan: Workshop | Price: 39 | Seats: 15 | Support hours: weekdays 8-18",
    "ferries.adoc": "Line: F2 | Departure: 11:15 | Island: Lundholm",
    "cables.rst": "Cable: Fibre | Length: 40 m | Colour: yellow and white",
    "paints.rst": "Thinners. | Thinner: Turpentine | Flash point: 35 C",
    "trees.txt": "Tree: Plane tree | Planted: 1880 | Height m: 31.2",
    "wells.txt": "well: Mill well | metres: 18 | owner: Haugen farm",
    "tanks.txt": "tank: Tank 15 | litres: 8100",
    "winds.txt": "station: Nibe | gust: 27.25 | days: 7",
    "lodges.tsv": "Lodge: Birkenau | Beds: 16 | Warden: Jon Vesely",
    "teile.csv": 'Teil: B-73 | Bezeichnung: Schraube "lang"; verzinkt | Bestand: 95 | Preis: 2,40',
    "berths.csv": "Berth: Q-13 | Depth: 9.8 | Tariff: 210",
    "readings.csv": "M-503 | 99.7 | broken",
    "rooms.xlsx": "Room: Tallinn | Seats: 12 | Projector: no",
    "yields.xlsx": "field: Longmead | wheat t: 63 | barley t: 8.5",
    "bakers.html": "bakery: Mehlwerk | loaves: 615 | opens: 06:15",
    "sensors.jsonl": "sensor: TK-302 | room: cold store | limit, celsius: 4",
    "works.json": "halls, machines. | tag: FN-02 | halls: Hall B | site: Kestrel works | kind: fan | limits, rpm: 1450",
    "hosts.json": "hosts. | key: bison | ip: 10.20.0.9 | disk: 8 TB",
    "service.jsonl": "ts: 2025-05-01T08:00:00Z | level: error | msg: certificate of gullwing expired",
}


@pytest.mark.parametrize(("name", "row"), ROWS.items())
def test_a_row_has_all_its_columns_under_their_names(tmp_path: Path, name: str, row: str) -> None:
    (document,) = load(row_files.FILES[name](tmp_path))
    assert isinstance(document, Document)
    assert row in document.text.split("\n"), document.text


@pytest.mark.parametrize(
    "text",
    [
        "The ferry runs daily.\nIt stops at noon.\nThe quay is wet.",
        "one  long line of prose about the harbour in spring  and another one\n"
        "two  long lines of prose about the harbour in autumn  and more of it\n"
        "six  long lines of prose about the harbour in winter  and all of it",
        "Dear Ada,  \nthank you for the boat.  \nYours, Bo  ",
        "def total(rows):\n    for  row in  rows:\n    return  x;",
        "a | b\nno rule below\nc | d",
    ],
)
def test_text_that_is_no_table_stays(tmp_path: Path, text: str) -> None:
    path = tmp_path / "a.txt"
    path.write_text(text, encoding="utf-8")
    (document,) = load(path)
    assert isinstance(document, Document)
    assert " ".join(document.text.split()) == " ".join(text.split())


def test_code_in_markdown_is_no_table(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_text("# A\n\n```\n| a | b |\n|---|---|\n| 1 | 2 |\n```\n", encoding="utf-8")
    (document,) = load(path)
    assert isinstance(document, Document)
    assert "|---|---|" in document.text


def test_a_heading_is_the_caption_of_the_table_under_it(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    table = "| Part | Price |\n|---|---|\n| bolt | {} |\n"
    path.write_text(f"# Prices\n\n## 2023\n\n{table.format(3)}\n## 2024\n\n{table.format(4)}", encoding="utf-8")
    (document,) = load(path)
    assert isinstance(document, Document)
    assert "2024. | Part: bolt | Price: 4" in document.text


def test_a_record_names_those_around_it_and_not_its_neighbours(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    schools = [
        {"name": "Nord", "head": "Ada", "classes": [{"room": "N1", "pupils": [{"name": "Bo", "age": 7}]}]},
        {
            "name": "Sud",
            "head": "Eli",
            "classes": [{"room": "S1", "pupils": [{"name": "Cy", "age": 8}, {"name": "Di"}]}],
        },
    ]
    path.write_text(json.dumps({"town": "Lund", "schools": schools}), encoding="utf-8")
    (document,) = load(path)
    assert isinstance(document, Document)
    (row,) = [line for line in document.text.split("\n") if "Cy" in line]
    assert row == (
        "schools, classes, pupils. | name: Cy | room: S1 | schools: Sud | schools, head: Eli | town: Lund | age: 8"
    )
    assert "schools. | name: Nord | town: Lund | head: Ada" in document.text


FRAMED = """\
+------------+------------------------+-----------+
| Lock       | Weekdays               | Weekend   |
| of the     +------------+-----------+           |
| canal      | Early      | Late      |           |
+============+============+===========+===========+
| Upper lock | Haas       | Wolf      | Fuchs     |
+------------+------------+-----------+-----------+
| Lower lock | Berger                 | Closed    |
+------------+------------+-----------+-----------+
| Side lock  | Adam       | Moser     | Berger    |
|            | (from May) +-----------+ and       |
|            |            | Kern      | Ott       |
+------------+------------+-----------+-----------+
"""


def test_cells_of_a_frame_span_what_no_rule_parts() -> None:
    assert with_rows(FRAMED.rstrip("\n").split("\n")) == [
        "Lock of the canal: Upper lock | Weekdays, Early: Haas | Weekdays, Late: Wolf | Weekend: Fuchs",
        "Lock of the canal: Lower lock | Weekdays, Early: Berger | Weekdays, Late: Berger | Weekend: Closed",
        "Lock of the canal: Side lock | Weekdays, Early: Adam (from May) | Weekdays, Late: Moser"
        " | Weekend: Berger and Ott",
        "Lock of the canal: Side lock | Weekdays, Early: Adam (from May) | Weekdays, Late: Kern"
        " | Weekend: Berger and Ott",
    ]


def test_a_heading_and_its_line_of_marks_are_no_prose(tmp_path: Path) -> None:
    prose = (
        "The keys of the locks are kept in the toll house, and whoever takes one of them writes it\ninto the book.\n"
    )
    path = tmp_path / "locks.rst"
    path.write_text(f"The locks\n=========\n\n{prose * 3}\nKeys of the keepers\n-------------------\n{prose}")
    (document,) = load(path)
    assert isinstance(document, Document)
    assert "Keys of the keepers\n-------------------\nThe keys of the locks" in document.text
    assert "writes it into the book." in document.text


@pytest.mark.parametrize(
    "typed",
    [
        "┌─────────┬────────┐\n│ Berth   │ Winter │\n├─────────┼────────┤\n│ Pier A  │ 18 EUR │\n"
        "│ Pontoon B│ 22 EUR │\n└─────────┴────────┘",
        "╔═══════════╦════════╗\n║ Berth     ║ Winter ║\n╠═══════════╬════════╣\n║ Pier A    ║ 18 EUR ║\n"
        "╠═══════════╬════════╣\n║ Pontoon B ║ 22 EUR ║\n╚═══════════╩════════╝",
        "[%header,format=csv]\n|===\nBerth,Winter\nPier A,18 EUR\nPontoon B,22 EUR\n|===",
    ],
    ids=["frame", "double frame", "AsciiDoc"],
)
def test_frames_and_formats_that_programs_write_are_rows(typed: str) -> None:
    assert [line for line in with_rows(typed.split("\n")) if "Pontoon" in line] == ["Berth: Pontoon B | Winter: 22 EUR"]


def test_a_header_of_two_lines_above_a_rule_names_the_columns() -> None:
    typed = [
        "Product            Litres      Price",
        "                   (1000)    per 100",
        "------------------------------------",
        "Whole milk            412      61.20",
        "Buttermilk             37      39.10",
        "------------------------------------",
        "Total                 449",
    ]
    rows = [line for line in with_rows(typed) if line]
    assert rows[1:] == [
        "Product: Buttermilk | Litres (1000): 37 | Price per 100: 39.10",
        "Product: Total | Litres (1000): 449",
    ]


def test_a_frame_around_prose_is_no_table() -> None:
    typed = ["┌────────────────┐", "│ Mind the step! │", "└────────────────┘"]
    assert with_rows(typed) == ["Mind the step!"]


@pytest.mark.parametrize(
    "header",
    [
        "Station,Summer,Summer,Winter,Winter\n,Rain mm,Days,Rain mm,Days",
        "Station,Summer,,Winter,\n,Rain mm,Days,Rain mm,Days",
        ",Summer,,Winter,\nStation,Rain mm,Days,Rain mm,Days",
    ],
)
def test_a_header_of_two_rows_names_the_columns_of_a_csv(tmp_path: Path, header: str) -> None:
    (tmp_path / "a.csv").write_text(f"{header}\nEllwick,120,14,310,29\nTarnby,88,9,255,24\n")
    (document,) = load(tmp_path / "a.csv")
    assert isinstance(document, Document)
    assert document.text.split("\n")[-1] == (
        "Station: Tarnby | Summer, Rain mm: 88 | Summer, Days: 9 | Winter, Rain mm: 255 | Winter, Days: 24"
    )


@pytest.mark.parametrize(
    ("value", "row"),
    [
        ({"month": ["Jan", "Feb", "Mar"], "sales": [120, 98, 143]}, "month: Feb | sales: 98"),
        ({"name": {"0": "Oslo", "1": "Riga", "2": "Bonn"}, "beds": {"0": 4, "1": 9, "2": 7}}, "name: Riga | beds: 9"),
        ({"title": "Rain", "labels": ["Mo", "Tu", "We"], "data": [1.5, 0, 7]}, "labels: We | data: 7"),
        ({"tags": ["oak", "elm", "ash"], "authors": ["Lee", "May", "Poe"]}, "tags: oak, elm, ash"),
    ],
)
def test_lists_of_one_length_are_columns_where_some_are_numbers(tmp_path: Path, value: object, row: str) -> None:
    (tmp_path / "a.json").write_text(json.dumps(value))
    (document,) = load(tmp_path / "a.json")
    assert isinstance(document, Document)
    assert row in document.text.split("\n")


def test_a_row_of_words_below_a_blank_label_is_no_header(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(",Dogs,Dogs,Cats\nAlder,yes,no,no\nBirch,no,yes,no\n")
    (document,) = load(tmp_path / "a.csv")
    assert isinstance(document, Document)
    assert "Alder | Dogs: yes" in document.text


def rows_of(text: str) -> list[str]:
    return [line for line in with_rows(text.split("\n")) if line]


CRONTAB = """least once.  The time and date fields are:

\t      field\t     allowed values
\t      -----\t     --------------
\t      minute\t     0-59
\t      hour\t     0-23
\t      day of month   0-31
\t      month\t     0-12 (or names, see below)
"""


def test_tabs_of_a_manual_are_columns_as_they_are_printed() -> None:
    assert rows_of(CRONTAB)[1:] == [
        "The time and date fields. | field: minute | allowed values: 0-59",
        "field: hour | allowed values: 0-23",
        "field: day of month | allowed values: 0-31",
        "field: month | allowed values: 0-12 (or names, see below)",
    ]


def test_tabs_of_a_manual_without_a_rule_are_columns_too() -> None:
    text = "\n".join(line for line in CRONTAB.split("\n")[1:] if "---" not in line)
    assert "field: day of month | allowed values: 0-31" in rows_of(text)


def test_no_column_begins_within_a_word() -> None:
    moved = "name      size\n----      ----\nvery long name  12\nshort     3\n"
    assert rows_of(moved) == ["name: very long name | size: 12", "name: short | size: 3"]
    cut = "name      size\n----      ----\nvery long name 12\nshort     3\n"
    assert not any("very long" in line and "|" in line for line in rows_of(cut))


def test_a_heading_over_two_columns_stands_for_both() -> None:
    text = (
        "=====  =====  ======\n   Inputs     Output\n------------  ------\n  A      B    A or B\n=====  =====  ======\n"
    )
    text += "False  False  False\nTrue   False  True\n=====  =====  ======\n"
    assert all("Inpu:" not in line and "Inputs" in line for line in rows_of(text) if "|" in line)


ARMOUR = """          tect  yourself.  Here is an (incomplete) list of the armor
          classes provided by various suits of armor:
                             dragon scale mail         1
                             plate mail                3
                             leather jacket            9
                             no armor                 10

               You can also wear other pieces.
"""


def test_a_table_directly_below_its_sentence_is_read() -> None:
    assert rows_of(ARMOUR)[2:6] == [
        f"armor classes provided by various suits of armor. | {row}"
        for row in ("dragon scale mail: 1", "plate mail: 3", "leather jacket: 9", "no armor: 10")
    ]


def test_names_in_columns_below_a_sentence_are_no_table() -> None:
    names = "     Adam Aronow      Janet Walz\n     Alex Kompel      Nathan Eady\n     Al Smith     Ed Po\n"
    text = f"  The hall of fame is:\n{names}"
    assert with_rows(text.split("\n")) == text.split("\n")


def test_a_sentence_that_was_made_as_wide_as_its_page_is_no_header() -> None:
    sentence = ["     You can  adjust  the  appearance  of  the  following", "fields:"]
    names = ["          title       dungeon-level", "         strength         gold", "        alignment        score"]
    assert with_rows([*sentence, *names]) == [*sentence, *names]
    figures = ["          title       12", "         strength     14", "        alignment     15"]
    rows = with_rows([*sentence, *figures])
    assert rows[:2] == sentence
    assert any("title" in row and "12" in row and "adjust" not in row for row in rows[2:])


def test_pairs_side_by_side_are_a_row_each() -> None:
    rows = ("apple pie     4     cider      3", "pear tart     5     tea        2", "plum cake     6     milk       1")
    text = "Prices of the stall:\n\n" + "".join(f"   {row}\n" for row in rows)
    found = rows_of(text)[1:]
    assert [row.split("Prices of the stall. | ")[-1] for row in found] == [
        "apple pie: 4",
        "pear tart: 5",
        "plum cake: 6",
        "cider: 3",
        "tea: 2",
        "milk: 1",
    ]


class Counted(str):
    """A line that counts how often it is read."""

    reads = 0

    def strip(self, *given):  # type: ignore[override]
        Counted.reads += 1
        return super().strip(*given)

    def expandtabs(self, *given):  # type: ignore[override]
        Counted.reads += 1
        return super().expandtabs(*given)


def reads_of(lines: list[str]) -> int:
    Counted.reads = 0
    with_rows([Counted(line) for line in lines])
    return Counted.reads


@pytest.mark.parametrize(
    "repeated",
    [
        ["--- --- ---", "pump river house"],
        ["=== ===", "a   b", "--- ---", "a   bcd   e", ""],
        ["server:", "    name: host   # main", "    port: 1   # tcp"],
        ["The rows of it:", "     pump   valve   5"],
        ["     pump   valve   is:"],
        ["+--+--+"],
        ["a | b", "--|--|--"],
        ["a | b", "--+--", "a | b", "x"],
        ["  .. list-table::"],
        ["  .. list-table::", ""],
        ["|==="],
    ],
)
def test_lines_that_only_begin_like_tables_are_read_a_few_times(repeated: list[str]) -> None:
    assert reads_of(repeated * 800) < 2.5 * reads_of(repeated * 400)


def test_table_below_many_lines_that_look_like_one_is_read() -> None:
    noise = ["--- --- ---", "pump river house"] * 50
    table = ["Name   Hours", "----   -----", "Ann    12", "Ben    30"]
    assert "Name: Ben | Hours: 30" in with_rows([*noise, "", *table])


@pytest.mark.parametrize(
    "since", [("2021", "2019", "2018"), ("since 2021", "since 2019", "since 2018"), ("room 4", "room 12", "room 7")]
)
def test_first_of_many_names_below_a_sentence_is_no_header(since: tuple[str, str, str]) -> None:
    people = zip(("Anna", "Ben", "Cy"), ("Chair", "Secretary", "Treasurer"), since, strict=True)
    lines = [f"    {name:8}{office:12}{year}" for name, office, year in people]
    found = rows_of("\n".join(["Here is a list of the committee members:", *lines, ""]))
    assert any("Ben" in line and "Secretary" in line and since[1].split()[-1] in line for line in found)
    assert not any("Anna" in line and "Ben" in line for line in found)
    assert not any("Anna:" in line or "Chair:" in line for line in found)


def test_years_above_figures_name_the_columns() -> None:
    text = "Sales of it:\n    Item   2019   2020\n    Tea    1950   12\n    Milk   2001   15\n    Jam    1      2\n"
    assert "Item: Milk | 2019: 2001 | 2020: 15" in rows_of(text)
