"""The COrg experiment: what is counted, and that it runs on a file of the form of RAMDocs."""

from __future__ import annotations

import asyncio
import json

import pytest

from preflight_rag.evaluation.corg import Measured, Shown, Systems, main, measure, names, tables
from preflight_rag.evaluation.relations import questions
from preflight_rag.models.offline import OfflineReader

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


def test_the_command_prints_tables_and_answers(data, capsys):
    main(["--data", str(data), "--part", "all", "--show", "1"])
    printed = capsys.readouterr().out
    assert "RAMDocs, all part, 1 questions" in printed
    assert "Springfield (Oregon): The population was 61,851 in 2020. [3]" in printed
