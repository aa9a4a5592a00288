"""The corg-offline experiment: what is counted, and that it runs on a file of the form of RAMDocs."""

from __future__ import annotations

import json

import pytest
from paper_files import answers
from value_reader import ValueReader

from evaluation.corg_systems import CORG, SEPARATE, OrganisedContexts
from evaluation.experiments import corg_offline, run
from evaluation.experiments.corg_offline import (
    ALONE,
    ENTITIES,
    QUOTED,
    RECALL,
    SHOWN,
    UNMARKED,
    WRONG,
    is_named,
    measures,
    set_beside,
)
from evaluation.rows import ScoreRow
from evaluation.runs import ExperimentRun
from evaluation.samples import Context, Sample
from preflight_rag.state.values import Relation

pytestmark = pytest.mark.slow

SPRINGFIELD = {
    "question": "What is the population of Springfield?",
    "documents": [
        {
            "text": "Springfield, Ohio Springfield is a city in Ohio. The population was 58,662 in 2020.",
            "type": "correct",
            "answer": "58,662",
        },
        {
            "text": "Springfield, Ohio Springfield is a city in Ohio. The population was 90,000 in 2020.",
            "type": "misinfo",
            "answer": "90,000",
        },
        {
            "text": "Springfield, Oregon Springfield is a city in Oregon. The population was 61,851 in 2020.",
            "type": "correct",
            "answer": "61,851",
        },
        {"text": "Yeast gives off carbon dioxide.", "type": "noise", "answer": "unknown"},
    ],
    "disambig_entity": ["Springfield, Ohio", "Springfield, Oregon"],
    "gold_answers": ["58,662", "61,851"],
    "wrong_answers": ["90,000", "90,000"],
}


NOTHING = OrganisedContexts((), (), (), 0)
TOWNS = Sample(
    "towns",
    SPRINGFIELD["question"],
    "list",
    answers=(("58,662",), ("61,851",)),
    wrong=("90,000",),
    given=tuple(
        Context(str(n), "", document["text"], entity=SPRINGFIELD["disambig_entity"][place])
        for n, (place, document) in enumerate(zip((0, 1), SPRINGFIELD["documents"], strict=False), 1)
    ),
)


@pytest.fixture
def data(tmp_path):
    folder = tmp_path / "ramdocs"
    folder.mkdir()
    (folder / "RAMDocs_test.jsonl").write_text(json.dumps(SPRINGFIELD) + "\n", encoding="utf-8")
    return tmp_path


def organised(*pairs, kind="counterfactual", kept=(1, 2, 3)):
    """Contexts of which these pairs are related."""
    relations = tuple(Relation[int](a=a, b=b, kind=kind, inferred=False) for a, b in pairs)
    return OrganisedContexts((), relations, tuple((n,) for n in kept), 2)


def measured(reply, made=NOTHING, quotes=()):
    details = {"reply": reply, "route": "1 group", "quotes": [list(quote) for quote in quotes]}
    return dict(measures(ScoreRow("towns", arm=CORG, calls=3, details=details), TOWNS, made))


def test_shares_are_of_the_answers_shown():
    found = measured("Springfield (Ohio): 58,662 [1]\n90,000 [2]", organised())
    assert (found[RECALL], found[ENTITIES]) == (0.5, 0.5)
    assert (found[WRONG], found[ALONE], found[UNMARKED]) == (1.0, 0.0, 1.0)
    assert (found["calls"], found["to relate"], found["words"]) == (3, 2, 4)


def test_a_wrong_answer_beside_a_right_one_is_marked():
    quotes = [(1, "There were 58,662."), (2, "There were 90,000.")]
    found = measured("90,000 [2]", organised((1, 2)), quotes)
    assert (found[ALONE], found[UNMARKED]) == (1.0, 0.0)
    assert (found["shown"], found["beside"], found["together"]) == (1, 1, 1)


def test_a_contradiction_shows_all_its_sides_together():
    made = organised((1, 2), (2, 3), (5, 6), kept=(1, 2, 3, 5, 6))
    assert made.together == {frozenset(pair) for pair in ((1, 2), (2, 3), (1, 3), (5, 6))}
    assert organised((1, 2), kept=(1,)).against == set()


def test_a_wrong_answer_may_stand_beside_a_right_one_through_a_third():
    quotes = [(1, "There were 58,662."), (2, "There were 90,000."), (3, "There were 5.")]
    made = organised((1, 3), (2, 3))
    assert set_beside(TOWNS, quotes, made.against) == frozenset()
    assert set_beside(TOWNS, quotes, made.together) == {"90,000"}


def test_a_quote_that_is_shown_counts_where_quotes_do():
    found = measured("58,662 [1]", quotes=[(3, "The population was 61,851 in 2020.")])
    assert (found[RECALL], found[QUOTED]) == (0.5, 1.0)


@pytest.mark.parametrize(
    ("lines", "named"),
    [
        (("Springfield (Ohio): 58,662",), True),
        (("Springfield: 58,662", "in Ohio"), True),
        (("Springfield: 58,662",), False),
        ((), False),
    ],
)
def test_an_entity_is_named_by_what_tells_it_from_others(lines, named):
    assert is_named("Springfield, Ohio", "What is the population of Springfield?", lines) is named


def test_corg_sets_the_wrong_figure_beside_the_right_one(data):
    (report,) = run("corg-offline", data, ["ramdocs"], ExperimentRun(part="all", extractive_reader="none"))
    (means,) = (figures["means"] for figures in report.figures.values())
    (arms,) = answers(report).values()
    assert (means[CORG][RECALL]["value"], means[CORG][UNMARKED]["value"]) == (1.0, 0.0)
    assert arms[CORG].details["route"] == "2 groups"
    assert arms[CORG].calls < len(SPRINGFIELD["documents"]) == arms[SEPARATE].calls
    assert [row[0] for row in report.tables[0].rows] == list(SHOWN)
    assert "**Springfield (Oregon)**: “The population was 61,851 in 2020.” [3]" in arms[CORG].details["reply"]


def test_a_reader_of_spans_is_set_beside_that_of_sentences(data, monkeypatch):
    monkeypatch.setattr(corg_offline, "open_extractive_reader", lambda name: ValueReader())
    (report,) = run("corg-offline", data, ["ramdocs"], ExperimentRun(part="all"))
    spans, sentences = (figures["means"][CORG] for figures in report.figures.values())
    assert (spans[RECALL]["value"], spans[UNMARKED]["value"]) == (1.0, 0.0)
    difference = next(row for row in report.tables[2].rows if row[0].startswith(CORG))
    assert difference[1] == "+0.0 [+0.0, +0.0]"
    assert sentences[RECALL]["value"] == 1.0
