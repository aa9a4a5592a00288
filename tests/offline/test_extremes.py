"""Which group of a table has the most or the least of something; figures were read in the rows."""

from __future__ import annotations

import pytest

from preflight_rag.offline.extremes import answer_extreme_from_table, extreme_of
from preflight_rag.offline.lines import narrowed
from preflight_rag.state.reading import Source

ARMS = ("Placebo, (N = 90)", "Drug A 10 mg, (N = 95)", "Drug A 20 mg, (N = 40)")


def row(label, *cells):
    return " | ".join(["Table 3. Safety.", label, *(f"{arm}: {cell}" for arm, cell in zip(ARMS, cells, strict=True))])


TABLE = [
    row("Any adverse event", "40 (44.4)", "62 (65.3)", "30 (75.0)"),
    row("Serious adverse events", "3 (3.3)", "2 (2.1)", "7 (17.5)"),
    row("Headache", "9 (10.0)", "12 (12.6)", "12 (30.0)"),
    row("Nausea", "4 (4.4)", "9 (9.5)", "3 (7.5)"),
    row("Discontinued", "5 (5.6)", "8 (8.4)", "4 (10.0)"),
    row("Withdrawn for lack of effect", "2 (2.2)", "1 (1.1)", "0 (0.0)"),
    row("% women", "52", "49", "55"),
    row("Mean age (years)", "61.2", "59.8", "60.4"),
]
DOSES = [
    f"Table 5. | Variable: Cmax | Dose group: {dose} mg | Mean: {mean}"
    for dose, mean in ((10, 1.1), (20, 1.9), (40, 4))
]
SAFETY = [Source(1, "p", "Trial of A", "\n".join(TABLE), document_id="d")]


def drafted(question, lines=TABLE):
    return answer_extreme_from_table(
        question, [Source(1, "p", "Trial of A", "\n".join(lines), document_id="d")], "LEAD"
    )


@pytest.mark.parametrize(
    ("question", "short"),
    [
        ("Which arm had the most serious adverse events?", "Drug A 20 mg"),
        ("Which treatment had the fewest serious adverse events?", "Drug A 10 mg"),
        ("Which group had the highest rate of adverse events?", "Drug A 20 mg"),
        ("In which arm was the highest number of nausea?", "Drug A 10 mg"),
        ("Which arm had the lowest mean age?", "Drug A 10 mg"),
    ],
)
def test_the_row_that_is_asked_for_answers(question, short):
    draft = drafted(question)
    assert draft.claims
    assert draft.short == short
    assert draft.quotes[0][1] in TABLE


@pytest.mark.parametrize(
    "question",
    [
        "Which arm had the most headaches?",  # two have twelve
        "Which arm had the most adverse events?",  # the larger arm has more events and a smaller part
        "Which arm had the most dropouts?",  # two rows are about them
        "Which arm had the fewest women?",  # the table has percentages of arms of different sizes
    ],
)
def test_what_is_not_sure_is_shown(question):
    draft = drafted(question)
    assert not draft.claims
    assert draft.quotes


def test_a_group_without_a_figure_may_have_the_most():
    assert not drafted("Which arm had the most falls?", [row("Falls", "3 (3.3)", "4 (4.2)", "NR")]).claims


def test_groups_that_are_rows_are_shown_and_not_claimed():
    draft = drafted("Which dose group had the highest mean?", DOSES)
    assert not draft.claims
    assert [quote for _, quote in draft.quotes] == DOSES
    assert draft.text.startswith("LEAD")  # the row with the most may stand in another passage


def test_no_group_is_claimed_where_figures_have_a_decimal_comma():
    draft = drafted("Which arm had the most falls?", [row("Falls", "1,95", "2,3", "10,1")])
    assert draft.quotes
    assert not draft.claims


@pytest.mark.parametrize(
    "question",
    ["Which city has the highest rents?", "Which drug has the longest half-life?", "How many had a headache?", "Why?"],
)
def test_no_table_of_it_leaves_the_question_to_the_reader(question):
    assert drafted(question) is None


def test_a_question_is_taken_apart():
    found = extreme_of("Which arm had the fewest serious adverse events?")
    assert (found.most, found.counted, sorted(found.what)) == (False, True, ["advers", "event", "serious"])
    assert extreme_of("How many had the most severe form?") is None


@pytest.mark.parametrize("asked", ["20 mg", "20mg", "20 milligrams"])
def test_rows_of_another_dose_go_where_the_asked_one_is_there(asked):
    lines = [f"Serious adverse events | Treatment: Drug A {dose} | Patients: {n}"
             for dose, n in (("10 mg", 3), ("20 mg", 7), ("placebo", 2))]  # fmt: skip
    text = "\n".join([*lines, "A dose of 10 mg was taken first."])
    (kept,) = narrowed(f"How many serious adverse events were there with drug A {asked}?", [Source(1, "p", "T", text)])
    assert kept.text == "\n".join([*lines[1:], "A dose of 10 mg was taken first."])
    (all_kept,) = narrowed("How many had drug A 30 mg?", [Source(1, "p", "T", text)])
    assert all_kept.text == text
