"""Legends of tables: a cell says what its mark means, where the lines around its table do, and only there."""

import pytest

from preflight_rag.text.legends import meanings_of, raised, raised_behind, with_legends, with_note


def explained(*lines: str) -> list[str]:
    return with_legends("\n".join(lines)).text.split("\n")


@pytest.mark.parametrize(
    ("cell", "legend", "written"),
    [
        ("42 a", "a: provisional figure", "42 (a: provisional figure)"),
        ("42a", "a provisional figure", "42 (a: provisional figure)"),
        ("42*", "* provisional figure", "42 (provisional figure)"),
        ("42 †", "† provisional, ‡ final", "42 (†: provisional)"),
        ("42 [1]", "[1] provisional figure", "42 (1: provisional figure)"),
        ("42[^1]", "[^1]: provisional figure", "42 (1: provisional figure)"),
        ("42<sup>a</sup>", "<sup>a</sup> provisional figure", "42 (a: provisional figure)"),
        ("42^a^", "^a^ provisional figure", "42 (a: provisional figure)"),
        ("42¹", "1 provisional figure", "42 (1: provisional figure)"),
        ("42¹", "1) provisional figure", "42 (1: provisional figure)"),
        ("42 (b)", "a) final; b) provisional", "42 (b: provisional)"),
        ("42 a,b", "a final; b revised", "42 (a: final; b: revised)"),
        ("06:40 A B", "Key: A = no cars, B = request stop", "06:40 (A: no cars; B: request stop)"),
        ("06:40 A B", "A = no cars", "06:40 A B"),
        ("42 [a,b]", "a final; b revised", "42 (a: final; b: revised)"),
        ("42 P", "Key: F = final figure, P = provisional figure", "42 (P: provisional figure)"),
        ("n/a", "n/a: not assessed", "n/a (not assessed)"),
        ("NT", "NT – not tested; ND – not detected", "NT (not tested)"),
        ("W, F", "W = water; F = fireplace", "W, F (W: water; F: fireplace)"),
        ("●", "● open ○ closed", "● (open)"),
        ("●", "State: ● open ○ closed", "● (open)"),
        ("42*", "Figures marked * are provisional.", "42 (Figures marked * are provisional)"),
        ("42*", "An asterisk (*) indicates provisional figures.", "42 (An asterisk (*) indicates provisional figures)"),
        ("42 a", "- a: provisional figure", "42 (a: provisional figure)"),
        ("42 a", "**a**: provisional figure", "42 (a: provisional figure)"),
        ("-99", "-99 means no reading", "-99 (no reading)"),
        ("-9999", "-9999 = gauge broken, -99 = not read", "-9999 (gauge broken)"),
    ],
)
def test_a_cell_says_what_its_mark_means(cell, legend, written):
    found = explained(f"Site: Ash | Value: {cell}", "Site: Elm | Value: 40", "", legend)
    assert found[0] == f"Site: Ash | Value: {written}"
    assert found[1:] == ["Site: Elm | Value: 40", "", legend]


@pytest.mark.parametrize(
    ("cell", "lines"),
    [
        ("42 a", ["Prices are in euros."]),
        ("42 a", ["a: provisional", "", "a: final"]),
        ("A", ["I: not open", "A hut is open all year."]),
        ("42 m", ["m = married", "", "Site: Oak | Value: 7 m"]),
        ("(4)", ["(4) excludes the islands"]),
        ("42 (4)", ["(4) excludes the islands"]),
        ("4", ["4 huts are closed."]),
        ("A", ["Q: Who grades?", "A: The teacher."]),
        ("A", ["A hut is open all year."]),
        ("No", ["No dogs are allowed."]),
        ("U.S.", ["U.S. sales rose in May."]),
        ("Hall (north wing)", ["north wing: closed"]),
        ("42*", ["* Wear boots.", "* Bring water."]),
        ("42 a", ["# Another chapter", "", "a: provisional"]),
        ("42 a", ["One.", "Two.", "Three.", "a: provisional"]),
        ("42 a", ["a: $ — $ — $ —"]),
        ("42 a", [f"a: {'very long remark ' * 12}"]),
    ],
)
def test_a_mark_without_a_sure_meaning_stays_as_it_is(cell, lines):
    others = "Site: Elm | Value: 40 m" if cell.endswith(" m") else "Site: Elm | Value: 40"
    assert explained(f"Site: Ash | Value: {cell}", others, "", *lines)[0] == f"Site: Ash | Value: {cell}"


def test_a_legend_above_the_table_is_read():
    found = explained("Legend: E = easy; D = difficult", "", "Trail: Fox | Grade: E", "Trail: Lake | Grade: D")
    assert found[2:] == ["Trail: Fox | Grade: E (easy)", "Trail: Lake | Grade: D (difficult)"]


def test_a_headed_legend_is_for_the_whole_document():
    found = explained(
        "## Legend", "W: water", "F: fireplace", "", "## Sites", "", "Site: Alp | Has: W", "Site: Bach | Has: F"
    )
    assert found[-2:] == ["Site: Alp | Has: W (water)", "Site: Bach | Has: F (fireplace)"]


def test_a_table_of_codes_is_a_legend():
    found = explained(
        "Name: Ina | Mon: E", "Name: Ola | Mon: O", "", "Code: E | Meaning: early", "Code: O | Meaning: off"
    )
    assert found == [
        "Name: Ina | Mon: E (early)",
        "Name: Ola | Mon: O (off)",
        "",
        "Code: E | Meaning: early",
        "Code: O | Meaning: off",
    ]


def test_a_table_without_names_explains_the_one_above_it():
    found = explained("Name: Ina | Mon: E", "Name: Ola | Mon: -", "", "Rota. | E: early shift", "Rota. | -: day off")
    assert found[:2] == ["Name: Ina | Mon: E (early shift)", "Name: Ola | Mon: - (day off)"]
    other = explained("Name: Ina | Mon: E", "Name: Ola | Mon: -", "", "Rota. | E: early shift", "Rota. | F: day off")
    assert other[0] == "Name: Ina | Mon: E"


def test_numbers_are_codes_only_in_the_column_that_a_legend_names():
    rows = ["Task: Roof | Priority: 1 | Days: 1", "Task: Door | Priority: 2 | Days: 2"]
    assert explained(*rows, "", "Priority: 1 = urgent, 2 = later")[:2] == [
        "Task: Roof | Priority: 1 (urgent) | Days: 1",
        "Task: Door | Priority: 2 (later) | Days: 2",
    ]
    assert explained(*rows, "", "Key: 1 = urgent, 2 = later")[:2] == rows


def test_a_column_of_other_words_holds_no_codes():
    rows = ["Name: Ina | Team: A | Grade: A", "Name: Ola | Team: Bears | Grade: B", "Name: Pia | Team: Cubs | Grade: A"]
    found = explained(*rows, "", "A = excellent; B = good")
    assert found[0] == "Name: Ina | Team: A | Grade: A (excellent)"


def test_a_mark_in_the_name_of_a_column_is_of_each_cell():
    found = explained("Room: Lark | Price*: 40", "Room: Wren | Price*: 55", "", "* without VAT")
    assert found[:2] == ["Room: Lark | Price*: 40 (without VAT)", "Room: Wren | Price*: 55 (without VAT)"]


def test_codes_in_the_name_of_a_column_are_explained_in_it():
    rows = ["Pump: P1 | State (A = active, R = retired): A", "Pump: P2 | State (A = active, R = retired): R"]
    assert [line.rpartition(": ")[2] for line in explained(*rows)] == ["A (active)", "R (retired)"]


def test_the_note_of_a_label_is_a_cell_of_its_own():
    found = explained("Table 1. | Boat: Tern† | Fare: 12", "Boat: Gull | Fare: 15", "", "† not in winter")
    assert found[0] == "Table 1. | Boat: Tern† | Fare: 12 | Note †: not in winter"


def test_a_row_that_becomes_too_long_goes_on_in_another_line():
    cells = " | ".join(f"Day {number}: E" for number in range(1, 40))
    found = explained(f"Name: Ina | {cells}", f"Name: Ola | {cells}", "", "Key: E = early shift until two")
    assert max(map(len, found)) <= max(500, len(cells) + 20)
    assert all(line.startswith("Name: ") for line in found[:-2])
    assert "".join(found).count("E (early shift until two)") == 78


def test_lines_that_follow_are_found_again():
    text = "Site: Ash | Value: 42 a\nSite: Elm | Value: 40\n\na: provisional\n\nNext page"
    found = with_legends(text)
    assert found.text[found.moved(text.index("Next")) :] == "Next page"
    assert found.moved(0) == 0


def test_notes_of_loaders_become_words():
    cell, label = with_note("310", "Siblings pay 270."), with_note("Violin", "By ear: no notes.")
    assert explained(f"Fee: Harp | Sum: {cell}")[0] == "Fee: Harp | Sum: 310 (Siblings pay 270)"
    assert explained(f"Fee: {label} | Sum: 310")[0] == "Fee: Violin | Sum: 310 | Note: By ear, no notes"
    assert explained(f"Violin: {cell}")[0] == "Violin: 310 (Siblings pay 270)"
    assert with_note("310", "long " * 40) == "310"


@pytest.mark.parametrize(
    ("before", "mark", "written"),
    [("640", "1", "¹"), ("lock", "a", "ᵃ"), ("m", "2", "2"), ("1", "st", "st"), ("10", "3", "³"), ("", "1", "1")],
)
def test_a_superscript_stands_above_the_line_behind_figures_and_words(before, mark, written):
    assert raised_behind(before, mark) == written


def test_a_superscript_without_such_letters_stays():
    assert raised("é1") == "é1"


@pytest.mark.parametrize(
    ("column", "cell", "meanings"),
    [
        ("Has", "W, F (W: water; F: fireplace)", ["water", "fireplace"]),
        ("State", "● (open)", ["open"]),
        ("2023", "395 (a: provisional)", ["provisional"]),
        ("Note †", "not in winter", ["not in winter"]),
        ("Place", "Hall (north wing)", []),
        ("Size", "420 (approx)", []),
        ("Status", "1 (passed)", ["passed"]),
    ],
)
def test_meanings_are_read_back(column, cell, meanings):
    assert meanings_of(column, cell) == meanings
