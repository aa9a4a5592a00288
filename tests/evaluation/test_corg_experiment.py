"""The COrg experiment: what is counted, and that it runs on a file of the form of RAMDocs."""

from __future__ import annotations

import asyncio
import json

import pytest
from value_reader import ValueReader

from preflight_rag.evaluation.corg import Measured, main, measure, names, readers, share, tables
from preflight_rag.evaluation.corg_systems import Shown, Systems, connected, set_beside
from preflight_rag.evaluation.experiments.relations import questions
from preflight_rag.offline.reader import OfflineReader

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


@pytest.fixture
def data(tmp_path):
    folder = tmp_path / "ramdocs"
    folder.mkdir()
    (folder / "RAMDocs_test.jsonl").write_text(json.dumps(SPRINGFIELD) + "\n", encoding="utf-8")
    return tmp_path


def test_shares_are_of_the_answers_shown(data):
    (question,) = questions(data)
    measured = Measured()
    measured.add(question, Shown(("Springfield (Ohio): 58,662 [1]", "90,000 [2]"), calls=1, relation_calls=2))
    assert (measured.recall, measured.entities) == ([0.5], [0.5])
    assert (measured.wrong, measured.alone, measured.unmarked) == ([1.0], [0.0], [1.0])
    assert (measured.calls, measured.length) == ([3], [4])


def test_a_wrong_answer_beside_a_right_one_is_marked(data):
    (question,) = questions(data)
    measured = Measured()
    measured.add(question, Shown(("90,000 [2]",), calls=1, beside=frozenset({"90,000"})))
    assert (measured.alone, measured.unmarked) == ([1.0], [0.0])
    assert share(measured.beside, measured.shown).startswith("100.0 [")


def test_a_contradiction_shows_all_its_sides_together():
    assert connected([(1, 2), (2, 3), (5, 6)]) == {frozenset(pair) for pair in ((1, 2), (2, 3), (1, 3), (5, 6))}


def test_a_wrong_answer_may_stand_beside_a_right_one_through_a_third(data):
    (question,) = questions(data)
    quotes = [(1, "There were 58,662."), (2, "There were 90,000."), (3, "There were 5.")]
    against = [(1, 3), (2, 3)]
    assert set_beside(question, quotes, {frozenset(pair) for pair in against}) == frozenset()
    assert set_beside(question, quotes, connected(against)) == {"90,000"}


def test_a_quote_that_is_shown_counts_where_quotes_do(data):
    (question,) = questions(data)
    measured = Measured()
    measured.add(question, Shown(("58,662 [1]",), calls=1, quotes=("The population was 61,851 in 2020.",)))
    assert (measured.recall, measured.quoted) == ([0.5], [1.0])


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
    assert names("Springfield, Ohio", "What is the population of Springfield?", lines) is named


def test_corg_sets_the_wrong_figure_beside_the_right_one(data, embedder):
    measured = asyncio.run(measure(questions(data), Systems(OfflineReader(embedder)).run))
    corg = measured["COrg"]
    assert (corg.recall, corg.unmarked, corg.groups) == ([1.0], [0.0], [2])
    assert corg.calls < [len(SPRINGFIELD["documents"])] == measured["Separate"].calls
    assert all(f"| {name} |" in tables(measured) for name in measured)


def test_a_reader_of_spans_is_set_beside_that_of_sentences(data, embedder):
    sentences = Systems(OfflineReader(embedder))
    spans = Systems(OfflineReader(embedder, ValueReader()), sentences.reader)
    found = [asyncio.run(measure(questions(data), systems.run)) for systems in (spans, sentences)]
    assert (found[0]["COrg"].recall, found[0]["COrg"].unmarked) == ([1.0], [0.0])
    assert "| COrg | +0.0 [+0.0, +0.0] |" in readers(*found)


def test_the_command_prints_tables_and_answers(data, capsys):
    main(["--data", str(data), "--part", "all", "--show", "1", "--extractive-reader", "none"])
    printed = capsys.readouterr().out
    assert "RAMDocs, all part, 1 questions" in printed
    assert "Springfield (Oregon): The population was 61,851 in 2020. [3]" in printed
