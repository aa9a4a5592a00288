"""Training the offline reader's models of relations: labels, the fit, and the file of weights."""

from __future__ import annotations

import json

import pytest
from value_reader import ValueReader

from preflight_rag.evaluation.experiments.relations import (
    Context,
    Question,
    fit,
    relation_table,
    rows,
    score_table,
    select,
    things,
    train,
    write,
)
from preflight_rag.evaluation.samples import reader_part_of
from preflight_rag.offline.reader import OfflineReader
from preflight_rag.state.reading import Source


def question(*documents: tuple[str, str, str]) -> Question:
    contexts = tuple(
        Context(Source(n, f"p{n}", "", text), kind, answer) for n, (kind, answer, text) in enumerate(documents, 1)
    )
    return Question("What is the population of Springfield?", contexts, ("58,662",), ("90,000",), ("Springfield",))


OHIO = "Springfield is a city in Ohio on the Mad River. The population was {} in 2020."
ASKED = question(
    ("correct", "58,662", OHIO.format("58,662")),
    ("misinfo", "90,000", OHIO.format("90,000")),
    ("misinfo", "1", "Nothing of that kind."),
    ("noise", "unknown", "Yeast gives off carbon dioxide."),
)


def test_an_edited_copy_is_about_what_its_original_is_about():
    assert things(ASKED) == {1: "58 662", 2: "58 662"}


def test_rows_are_of_contexts_and_of_pairs_whose_things_are_known(embedder):
    found = list(rows(ASKED, OfflineReader(embedder)))
    labels = {name: [label for model, (_, label) in found if model == name] for name, _ in found}
    assert labels == {"answers": [True, True, True, False], "same_entity": [True], "same_answer": [False]}


def test_a_fit_finds_what_separates_and_keeps_to_the_signs():
    examples = [({"score": n / 20, "typed": 1 - n / 20}, n > 10) for n in range(20)] * 5
    weights = fit("answers", examples)
    assert weights["score"] > 0
    assert weights["typed"] == 0


def test_by_spans_the_reader_itself_says_which_context_answers(embedder):
    found = list(rows(ASKED, OfflineReader(embedder, ValueReader())))
    assert [(name, label) for name, (_, label) in found] == [("same_entity", True), ("same_answer", False)]
    assert all("answerable_least" in features for _, (features, _) in found)


def test_the_tables_are_of_pairs_whose_things_are_known(embedder):
    reader = OfflineReader(embedder, ValueReader())
    assert "| counterfactual | 0 | 0 | 1 | 0 | 0 | 100.0 [" in relation_table([ASKED], reader)
    assert "| same_answer | 1 |" in score_table([ASKED], reader)


def test_training_gives_the_models_of_the_way_of_reading(embedder):
    models = train([ASKED], OfflineReader(embedder, ValueReader()))
    assert set(models) == {"same_entity", "same_answer", "further_spans"}


@pytest.mark.parametrize(("part", "halves"), [("test", True), ("test", False), ("validation", False), ("all", False)])
def test_parts_are_halves_or_those_of_the_readers_data(part, halves):
    asked = [Question(f"question {i}", (), (), (), ()) for i in range(40)]
    chosen = select(asked, part, halves=halves)
    assert 0 < len(chosen) <= 40
    if part != "all":
        assert {item.half if halves else reader_part_of(item.text) for item in chosen} == {part}


def test_weights_are_written_as_text(tmp_path):
    path = tmp_path / "weights.json"
    write("spans", {"same_entity": {"bias": 0.5}}, path)
    write("sentences", {"answers": {"bias": 0.5}}, path)
    text = path.read_text(encoding="utf-8")
    assert json.loads(text)["sentences"]["models"] == {"answers": {"bias": 0.5}}
    assert "--extractive-reader none" in json.loads(text)["sentences"]["about"]
    assert set(json.loads(text)) == {"sentences", "spans"}
    assert len(text.splitlines()) > 3
