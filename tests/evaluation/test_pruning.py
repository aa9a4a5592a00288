"""The experiment on pruning: what each way of keeping passages leaves of tokens and answers."""

import json

import pytest

from evaluation.datasets import SHORT_ANSWERS, open_dataset
from evaluation.experiments.pruning import PruningQuestion, above, curve, first, rows_of, run
from evaluation.runs import ExperimentRun
from preflight_rag.state.errors import UsageError
from training.reader_thresholds import largest_lossless, store

pytestmark = pytest.mark.slow

SURE = PruningQuestion(
    "a", "q", (0.9, 0.0, 0.0, 0.6, 0.0, 0.0, 0.0), (10, 20, 30, 40, 50, 10, 10), (True, *[False] * 6)
)
LATE = PruningQuestion("b", "q", (0.5, 0.4, 0.3, 0.0, 0.0, 0.0, 0.2), (10,) * 7, (*[False] * 6, True))
NONE = PruningQuestion("c", "q", (0.1,) * 7, (5,) * 7, (False,) * 7)
PASSAGES = ("Aspirin was first made in 1897.", "Tea has been drunk for ages.", "Venus is hot.", "Oats grow.")


def test_what_each_way_keeps():
    ways = {"all passages": first(16), "answerability 0.25": above(0.25), "the first 1": first(1)}
    asked = [SURE, LATE, NONE]
    table, found = curve(asked, rows_of(asked, ways), seed=0)
    assert [row[0] for row in table.rows] == list(ways)
    assert [found[name]["lost"] for name in ways] == [0, 1, 1]
    assert found["all passages"]["tokens"]["value"] == 1
    assert found["answerability 0.25"]["tokens"]["value"] == pytest.approx((160 + 60 + 35) / 275, abs=1e-6)
    assert found["answerability 0.25"]["recall"]["value"] == pytest.approx(1 / 3, abs=1e-6)


def test_the_largest_threshold_that_loses_nothing():
    assert largest_lossless([SURE, LATE, NONE]) == 0.2
    assert largest_lossless([SURE, NONE]) == 0.999


@pytest.fixture
def data(tmp_path):
    entries = [
        {"question": f"question {i} about {text.split()[0]}", "answers": [text.split()[-1].strip(".")],
         "ctxs": [{"title": f"T{i}", "text": text}]}
        for i, text in enumerate(PASSAGES * 4)
    ]  # fmt: skip
    folder = tmp_path / "nq_open_oracle"
    folder.mkdir()
    lines = (json.dumps(entry) + "\n" for entry in entries)
    (folder / "nq-open-oracle.jsonl").write_text("".join(lines), encoding="utf-8")
    return tmp_path


def test_the_report(data, library_cache):
    report = run(
        open_dataset("nq_open_oracle", data, SHORT_ANSWERS),
        ExperimentRun(part="all", limit=3, library_cache=library_cache),
    )
    rows = {row[0]: row for row in report.tables[0].rows}
    assert {"all passages", "answerability 0.5", "the first 3"} <= set(rows)
    assert rows["all passages"][-1] == "0"
    assert all(len(row.details["passages"]) <= 16 for row in report.rows)


def test_parts_are_those_of_the_training(data):
    collection = open_dataset("nq_open_oracle", data, SHORT_ANSWERS)
    test, development = (
        {query.id for query in collection.samples if query in collection.select(part)} for part in ("test", "all")
    )
    assert test < development
    with pytest.raises(UsageError, match="limit 0"):
        collection.select("test", 0)
    with pytest.raises(UsageError, match="part 'none'"):
        collection.select("none")


@pytest.mark.parametrize(("name", "says"), [("medquad", "no short answers"), ("nq_open_oracle", "no folder")])
def test_what_has_no_short_answers(name, says):
    with pytest.raises(UsageError, match=says):
        open_dataset(name, None, SHORT_ANSWERS)


def test_factoids_have_answers(data_dir):
    collection = open_dataset("biomix-bioasq", data_dir, SHORT_ANSWERS)
    chosen = collection.select("test", 20)
    assert all(query.names for query in chosen)
    assert {query.id for query in chosen}.isdisjoint(query.id for query in collection.select("development"))


def test_thresholds_are_put_beside_the_rest(tmp_path):
    file = tmp_path / "reader.json"
    file.write_text('{"sha256": "a", "support": {"threshold": 0.5}}', encoding="utf-8")
    store(file, {"threshold": 0.4, "contradicted": 0.8}, 0.02)
    known = json.loads(file.read_text(encoding="utf-8"))
    assert known == {
        "sha256": "a",
        "support": {"threshold": 0.4, "contradicted": 0.8},
        "prune": {"lossless": 0.02},
    }
