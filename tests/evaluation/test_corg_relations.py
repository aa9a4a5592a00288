"""Training the offline reader's models of relations: labels, the fit, and the file of weights."""

from __future__ import annotations

import json

from preflight_rag.evaluation.relations import Context, Question, fit, rows, things, write
from preflight_rag.models.offline import OfflineReader
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


def test_weights_are_written_as_text(tmp_path):
    write({"answers": {"bias": 0.5}}, tmp_path / "weights.json")
    text = (tmp_path / "weights.json").read_text(encoding="utf-8")
    assert json.loads(text)["models"] == {"answers": {"bias": 0.5}}
    assert len(text.splitlines()) > 3
