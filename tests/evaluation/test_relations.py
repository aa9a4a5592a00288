"""Training the offline reader's models of relations: labels, the fit, and the file of weights."""

from __future__ import annotations

import json

import pytest
from value_reader import ValueReader

from evaluation.experiments.relations import _models, _relations, chosen, related_pairs, rows, things_of
from evaluation.samples import Context, Sample, digest, reader_part_of
from preflight_rag.offline.reader import OfflineReader
from preflight_rag.state.errors import UsageError
from training.relations import fit, train, write

pytestmark = pytest.mark.slow


def question(*documents: tuple[str, str, str]) -> Sample:
    given = tuple(
        Context(f"p{n}", "", text, role=role, answer=answer) for n, (role, answer, text) in enumerate(documents, 1)
    )
    return Sample("q", "What is the population of Springfield?", answers=(("58,662",),), wrong=("90,000",), given=given)


OHIO = "Springfield is a city in Ohio on the Mad River. The population was {} in 2020."
ASKED = question(
    ("gold", "58,662", OHIO.format("58,662")),
    ("wrong", "90,000", OHIO.format("90,000")),
    ("wrong", "1", "Nothing of that kind."),
    ("noise", "", "Yeast gives off carbon dioxide."),
)


def test_an_edited_copy_is_about_what_its_original_is_about():
    assert things_of(ASKED) == {1: "58 662", 2: "58 662"}


def test_rows_are_of_contexts_and_of_pairs_whose_things_are_known(embedder):
    found = list(rows(ASKED, OfflineReader(embedder)))
    labels = {name: [label for model, _, label in found if model == name] for name, *_ in found}
    assert labels == {"answers": [True, True, True, False], "same_entity": [True], "same_answer": [False]}


def test_a_fit_finds_what_separates_and_keeps_to_the_signs():
    examples = [({"score": n / 20, "typed": 1 - n / 20}, n > 10) for n in range(20)] * 5
    weights = fit("answers", examples)
    assert weights["score"] > 0
    assert weights["typed"] == 0


def test_by_spans_the_reader_itself_says_which_context_answers(embedder):
    found = list(rows(ASKED, OfflineReader(embedder, ValueReader())))
    assert [(name, label) for name, _, label in found] == [("same_entity", True), ("same_answer", False)]
    assert all("answerable_least" in features for _, features, _ in found)


def test_the_tables_are_of_pairs_whose_things_are_known(embedder):
    reader = OfflineReader(embedder, ValueReader())
    lines = {line[0]: line for line in _relations(list(related_pairs(ASKED, reader))).rows}
    assert lines["counterfactual"][1:6] == ("0", "0", "1", "0", "0")
    assert lines["counterfactual"][6].startswith("100.0 [")
    assert ("same_answer", "1") in {line[:2] for line in _models(list(rows(ASKED, reader)), reader).rows}


def test_training_gives_the_models_of_the_way_of_reading(embedder):
    others = question(
        ("gold", "58,662", OHIO.format("58,662")),
        ("gold", "58,662", f"{OHIO.format('58,662')} It grew."),
        ("gold", "61,851", "Springfield is a city in Oregon. The population was 61,851 in 2020."),
    )
    models = train([ASKED, others], OfflineReader(embedder, ValueReader()))
    assert set(models) == {"same_entity", "same_answer", "further_spans"}


@pytest.mark.parametrize(("part", "halves"), [("test", True), ("test", False), ("validation", False), ("all", False)])
def test_parts_are_halves_or_those_of_the_readers_data(part, halves):
    given = ASKED.given
    asked = chosen([Sample(f"{i}", f"question {i}", given=given) for i in range(40)], part, halves=halves)
    assert 0 < len(asked) <= 40
    half = {1: "test", 0: "development"}
    if part != "all":
        told = {half[digest(s.question)[0] % 2] if halves else reader_part_of(s.question) for s in asked}
        assert told == {part}


@pytest.mark.parametrize(("part", "limit"), [("none", None), ("all", 0)])
def test_a_part_that_is_unknown_or_empty_is_refused(part, limit):
    with pytest.raises(UsageError, match=r"is unknown|limit 0"):
        chosen([ASKED], part, halves=False, limit=limit)


def test_weights_are_written_as_text(tmp_path):
    path = tmp_path / "weights.json"
    write("spans", {"same_entity": {"bias": 0.5}}, path)
    write("sentences", {"answers": {"bias": 0.5}}, path)
    text = path.read_text(encoding="utf-8")
    assert json.loads(text)["sentences"]["models"] == {"answers": {"bias": 0.5}}
    assert "--extractive-reader none" in json.loads(text)["sentences"]["about"]
    assert set(json.loads(text)) == {"sentences", "spans"}
    assert len(text.splitlines()) > 3
