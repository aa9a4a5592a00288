"""Rows by what their marks mean, as a legend says it: those that have it, those that have not, and none claimed."""

import pytest

from preflight_rag import Preflight
from preflight_rag.offline.row_meanings import explained_rows, with_rows_for_legends
from preflight_rag.state.reading import Source
from preflight_rag.text.legends import explains

WELLS = (
    "Well: Oakham | State: ● (open to the public)\nWell: Pinfold | State: ○ (closed until further notice)\n"
    "Well: Rushley | State: ● (open to the public)\n● open to the public ○ closed until further notice"
)
ROTA = (
    "Name: Ingrid | Mon: E (early shift) | Wed: O (day off)\nName: Marek | Mon: L (late shift) | Wed: E (early shift)\n"
    "Name: Zoe | Mon: L (late shift) | Wed: L (late shift)"
)
BOATS = (
    "Boat: Tern† | Sunday: 10:00 | Note †: carries no cars\nBoat: Gull | Sunday: 11:00 (S: summer only)\n"
    "Boat: Petrel | Sunday: 12:00"
)


def source(text, title="Notes"):
    return Source(1, "a", title, text)


def names(draft):
    return [quote.split(" | ")[0].partition(": ")[2] for _, quote in draft.quotes]


@pytest.mark.parametrize(
    ("question", "text", "rows"),
    [
        ("Which wells are open?", WELLS, ["Oakham", "Rushley"]),
        ("Which well is closed?", WELLS, ["Pinfold"]),
        ("Which well is not open to the public?", WELLS, ["Pinfold"]),
        ("Which wells are not closed?", WELLS, ["Oakham", "Rushley"]),
        ("Who has the late shift on Monday?", ROTA, ["Marek", "Zoe"]),
        ("Who has a day off on Wednesday?", ROTA, ["Ingrid"]),
        ("Which boats carry no cars?", BOATS, ["Tern†"]),
        ("Which boats carry cars?", BOATS, ["Gull", "Petrel"]),
        ("Which boats go in summer?", BOATS, ["Gull"]),
    ],
)
def test_the_rows_with_the_meaning_asked_for_are_shown(question, text, rows):
    draft = explained_rows(question, [source(text)])
    assert names(draft) == rows
    assert not draft.claims


def test_none_with_the_meaning_is_said_to_be_none():
    draft = explained_rows("Who has a day off on Monday?", [source(ROTA)])
    assert draft.text.startswith("In none of the rows found")


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("Which wells were dug in 1987?", WELLS),
        ("Which wells in Norway are open?", WELLS),
        ("Why is the Pinfold well closed?", WELLS),
        ("Which halls are in the north wing?", "Hall: Lark | Place: East (north wing)\nHall: Wren | Place: East"),
    ],
)
def test_other_questions_are_left_to_others(question, text):
    assert explained_rows(question, [source(text)]) is None


def test_a_remark_in_a_column_of_notes_is_no_mark():
    costs = "Heading: Pay | Sum: 4100 | Note: Junior gardener since 3 June\nHeading: Seed | Sum: 90 | Note: Paid"
    assert explained_rows("What is the pay for the junior gardener?", [source(costs)]) is None
    boats = "Boat: Tern† | Sunday: 10:00 | Note †: carries no cars\nBoat: Gull | Sunday: 11:00 | Note: Blue"
    assert names(explained_rows("Which boats carry no cars?", [source(boats)])) == ["Tern†"]


def test_rows_stand_in_the_place_of_a_legend():
    quotes = [(1, "● open to the public ○ closed until further notice"), (1, "A sentence.")]
    found = with_rows_for_legends(quotes, "Is the Pinfold well open?", [source(WELLS)])
    assert found == [(1, "Well: Pinfold | State: ○ (closed until further notice)"), (1, "A sentence.")]


@pytest.mark.parametrize(
    ("sentence", "text"),
    [
        ("1171 were screened, and 687 completed 8 weeks.", "Group: Drug | Mean: 9 (8)\nGroup: Placebo | Mean: 8 (8)"),
        ("The museum is closed until further notice.", WELLS),
        ("An early shift begins at six.", ROTA),
        ("The ferry carries no cars in winter.", BOATS),
    ],
)
def test_a_sentence_with_words_of_a_meaning_is_no_legend(sentence, text):
    assert with_rows_for_legends([(1, sentence)], "How many completed it?", [source(text)]) == [(1, sentence)]


@pytest.mark.parametrize(
    ("text", "column", "cell", "is_legend"),
    [
        ("S = summer only", "Sunday", "11:00 S (S: summer only)", True),
        ("E: early shift; L: late shift", "Mon", "E (early shift)", True),
        ("○ closed", "State", "○ (closed)", True),
        ("* estimated", "Note *", "estimated", True),
        ("Line 2 closed", "State", "X (closed)", False),
        ("Buses marked * do not run.", "Note *", "Buses marked * do not run", True),
    ],
)
def test_a_legend_has_the_mark_before_its_meaning(text, column, cell, is_legend):
    assert explains(text, column, cell) is is_legend


def test_questions_over_a_file_are_answered_by_marks(tmp_path):
    (tmp_path / "locks.md").write_text(
        "# Locks\n\n| Lock | Boats | State |\n|---|---|---|\n| Ash | 812 a | X |\n| Elm | 640 | O |\n"
        "| Yew | 455 | O |\n\na: counted by hand\n\nKey: X = out of order, O = in order\n"
    )
    with Preflight.open(tmp_path / "library", model="offline", create=True) as app:
        app.ingest([tmp_path / "locks.md"])
        boats = app.ask("How many boats passed the Ash lock?")
        order = app.ask("Which locks are not out of order?")
        claims = [
            app.ask(question).short_answer for question in ("Which lock is out of order?", "Is Elm out of order?")
        ]
    assert boats.short_answer in (None, "812 (a: counted by hand)")
    assert "812 (a: counted by hand)" in boats.answer
    assert "Ash" not in order.answer
    assert all(f"Lock: {name}" in order.answer for name in ("Elm", "Yew"))
    assert claims[0] in (None, "Ash")
    assert claims[1] in (None, "No")
