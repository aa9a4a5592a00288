"""Long regular expressions, each with a text that it matches and one that it must not."""

import importlib
import pkgutil

import pytest
from patterns import long_patterns

from preflight_rag import offline
from preflight_rag.offline import (
    cell_checks,
    cell_types,
    confidence,
    empty_cells,
    evidence,
    extremes,
    form_lines,
    found_answers,
    later_changes,
    lines,
    narrow_denials,
    other_subjects,
    other_times,
    row_comparisons,
    row_marks,
    rows_by_figure,
    tables,
    verdicts,
)
from preflight_rag.text.negation import DENIAL

EXAMPLES = [
    (tables, "_DAY", "rain on April 4th, 2024", "rain in April 2024"),
    (cell_checks, "_PART_OF_YEAR", "Three months ended June 30, 2022", "Twelve months ended June 30, 2022"),
    (cell_checks, "_QUALIFIERS", "Income before income taxes", "Income taxes"),
    (empty_cells, "_ASKED", "Which tickets have no owner yet", "Which tickets have an owner"),
    (empty_cells, "_ASKED_NOT", "Which tickets are not closed yet", "Which tickets are closed"),
    (empty_cells, "_ASKED_OPEN", "Which bills are unpaid", "Which bills are paid"),
    (empty_cells, "_NOTHING", "not assigned", "assigned"),
    (extremes, "_ASKED", "Which arm had the most falls?", "Which arm had many falls?"),
    (extremes, "_PRICED", "Which bar is the cheapest?", "Which bar is the oldest?"),
    (extremes, "_PRICED", "What is the most expensive room?", "What is the expensive room?"),
    (extremes, "_NO_GROUP", "Overall", "Placebo"),
    (evidence, "_VERB", "No dogs are permitted.", "No dogs"),
    (found_answers, "_RANGE_BEGINS", "from 26 March until ", "until 26 March "),
    (found_answers, "_PART_OF_NAME", "Jr. Robert Decker", "Robert Decker, Jr. and sons"),
    (found_answers, "_PART_OF_NAME", "Inc.", "SR 520 bridge"),
    (form_lines, "_ABOUT_MAIL", "When was the e-mail sent?", "When is the trip?"),
    (form_lines, "_MAIL_HEAD", "From: Ada\nTo: Bo\nDate: 2026-11-13\n", "From: Ada\n\nDear Bo"),
    (later_changes, "_CHANGE", "The trip has to move to Thursday.", "They danced to music."),
    (later_changes, "_HAS_DATE", "It is on Thursday.", "It is on the thirsty day."),
    (later_changes, "_CHANGE", "We leave ten minutes earlier.", "He left earlier."),
    (other_times, "_DAY_OF_MONTH", "on December 24th", "on the 24th"),
    (other_times, "_NUMBERED", "Year 2: the rent", "2 years of rent"),
    (other_subjects, "_DAY_OR_MONTH", "november", "novgorod"),
    (other_subjects, "_GOES_ON", "She lives there", "Ada lives there"),
    (other_times, "_ORDINAL", "in the 3rd year", "in the 30 years"),
    (other_times, "_FIRST", "in the first year", "the first of all"),
    (row_comparisons, "_ASKED", "which items are below their level", "which items are the heaviest"),
    (row_comparisons, "_MORE_FIRST", "which shops had more sales than returns", "which shops had most sales"),
    (rows_by_figure, "_ASKED", "which bikes cost more than 150 pounds", "which bikes are the cheapest"),
    (row_marks, "_LEAD_IN", "In which huts ", "Why do huts "),
    (row_marks, "_DENIES", "The huts have no showers", "The huts have showers"),
    (row_marks, "_MIXED", "huts with showers or beds", "huts with showers and beds"),
    (narrow_denials, "_ASKS_RULE", "Isn't parking free?", "Was parking free?"),
    (narrow_denials, "_FINDING", "The difference was small.", "Dogs are not allowed."),
    (lines, "_AMOUNT", "drug A 20 mg", "20 magnets"),
    (tables, "_NO_AMOUNT", "Earnings per share", "Earnings"),
    (cell_types, "_TIME", "17–19", "34"),
    (cell_types, "_TIMES", "Week", "Plot"),
    (cell_types, "_PLACES", "Host city", "Kept by"),
    (cell_types, "_OF_WHAT", "Against what are rabbits vaccinated?", "For what price is it sold?"),
    (confidence, "_GIVEN", "When does it open from July?", "When in July does it open?"),
    (confidence, "_WHERE", "In which city was it?", "In which trial was it?"),
    (confidence, "_TOPIC", "Is there anything on ketamine?", "Who was cast as Hamlet?"),
    (confidence, "_UNITS_ASKED", "How long does it take?", "How many are there?"),
    (evidence, "_DAY", "before Friday", "before long"),
    (found_answers, "_FIGURE", "for twelve weeks", "for some weeks"),
    (form_lines, "_PERSON", "Prepared by: Ellis Turner", "Contact: office@example.org"),
    (tables, "_EXTREME", "Which team has the most cups", "Which team has a cup"),
    (verdicts, "NO_FINDING", "We asked whether zinc works.", "Zinc did shorten the cold."),
    (verdicts, "NO_FINDING", "Methods: zinc was given for a week.", "Zinc methods were better."),
    (verdicts, "NO_FINDING", "This study compared zinc with placebo.", "Compared with placebo, zinc was better."),
    (verdicts, "NO_FINDING", "To determine the effect of zinc, we looked.", "It helped to determine the effect."),
    (verdicts, "NO_FINDING", "Forty patients were randomised.", "Forty patients were cured."),
]


@pytest.mark.parametrize(("module", "name", "matching", "other"), EXAMPLES)
def test_a_pattern_matches_its_example_and_not_the_other(module, name, matching, other):
    pattern = getattr(module, name)
    assert pattern.search(matching)
    assert not pattern.search(other)


def test_every_long_pattern_has_an_example():
    modules = [
        importlib.import_module(f"{offline.__name__}.{info.name}") for info in pkgutil.iter_modules(offline.__path__)
    ]
    own = {
        (module, name)
        for module, name in long_patterns(modules)
        if getattr(importlib.import_module(module), name) is not DENIAL
    }
    assert own == {(module.__name__, name) for module, name, _, _ in EXAMPLES}
