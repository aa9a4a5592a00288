"""What every adapter has in common: parts, limits, and what is said of a missing data set; and the published counts."""

from __future__ import annotations

from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from evaluation.datasets import QUESTIONS, ROLES, TRAINING, adapter_of, examples, open_dataset
from evaluation.samples import Context, DataSet, Sample, half_of, reader_part_of
from preflight_rag.state.errors import UsageError
from preflight_rag.state.values import Document

pytestmark = pytest.mark.slow

TRAINED = [name for name in ROLES[QUESTIONS] if name in TRAINING]


@cache
def opened(name: str, data: Path) -> DataSet:
    return open_dataset(name, data, QUESTIONS)


def of(*questions: Sample) -> DataSet:
    return DataSet("made", "Made", "here", "none", (), questions)


def test_a_set_that_was_not_trained_on_falls_into_the_halves_of_the_collections():
    found = of(*(Sample(f"q{i}", "Why?", "short") for i in range(100)))
    assert len(found.select("all")) == 100
    for part in ("test", "development"):
        assert {q.id for q in found.select(part)} == {q.id for q in found.samples if half_of(q.id) == part}


def test_a_set_that_was_trained_on_falls_into_the_readers_parts():
    found = of(*(Sample(str(i), "Why?", "short", key=f"key {i}") for i in range(100)))
    for part, own in (("test", {"test"}), ("development", {"validation"}), ("all", {"test", "validation"})):
        assert {q.key for q in found.select(part)} == {q.key for q in found.samples if reader_part_of(q.key) in own}


def test_a_limit_takes_a_fixed_sample_that_a_larger_one_holds():
    found = of(*(Sample(str(i), "Why?", "short") for i in range(200)))
    few, more = found.select("test", 10), found.select("test", 30)
    assert few == more[:10]
    assert [question.id for question in few] != sorted(question.id for question in few)


@pytest.mark.parametrize(
    ("part", "limit", "message"),
    [("dev", None, "part 'dev' is unknown"), ("test", 0, "limit 0 leaves no question"), ("test", None, "no question")],
)
def test_what_selects_nothing_is_refused(part, limit, message):
    with pytest.raises(UsageError, match=message):
        of().select(part, limit)


def published(name: str) -> str:
    """Where a set's questions are published."""
    source: str = adapter_of(ROLES[QUESTIONS][name]).SOURCE
    return source


@pytest.mark.parametrize("name", ROLES[QUESTIONS])
def test_a_missing_data_set_names_where_it_is_published(name, tmp_path):
    for data in (tmp_path, None):
        with pytest.raises(UsageError) as caught:
            open_dataset(name, data, QUESTIONS)
        assert caught.value.exit_code == 2
        if name != "biomix-bioasq" or data is None:
            assert any(part in str(caught.value) for part in (published(name), "MIRAGE (rawdata/bioasq)"))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nothing", "'nothing' is unknown, and .* is no file .*Choose mirage or"),
        ("table.csv", "table.csv is in no form that is known"),
    ],
)
def test_what_is_no_data_set_is_refused(name, message, tmp_path):
    (tmp_path / "table.csv").write_text("id,question\n", encoding="utf-8")
    with pytest.raises(UsageError, match=message):
        open_dataset(name, tmp_path, QUESTIONS)


# Questions as the data sets' descriptions count them, and their kinds.
PUBLISHED = {
    "mirage-medqa": (1273, {"choice"}),
    "mirage-medmcqa": (4183, {"choice"}),
    "mirage-pubmedqa": (500, {"yes/no"}),
    "mirage-bioasq": (618, {"yes/no"}),
    "mirage-mmlu": (1089, {"choice"}),
    "pubmedqa": (1000, {"yes/no"}),
    "scifact": (1109, {"claim"}),
    "ramdocs": (500, {"short", "list"}),
    "conflictqa": (1356 + 1245, {"yes/no"}),
    "nq_open_oracle": (2655, {"short"}),
    "xquad_en": (1190, {"short"}),
    "covidqa": (1388, {"short"}),
    "clapnq": (600, {"long"}),
    "financebench": (150, {"long"}),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_development_part_of_a_published_set_is_read_in_full(name, data_dir):
    whole, kinds = PUBLISHED[name]
    questions = opened(name, data_dir).samples
    assert len(questions) / whole == pytest.approx(0.71, abs=0.06)
    assert {question.kind for question in questions} == kinds


@pytest.mark.parametrize("name", [*PUBLISHED, "nq_open", "dragged_conflicts", "qmsum"])
def test_what_is_said_of_a_question_agrees(name, data_dir):
    found = opened(name, data_dir)
    chosen = found.select("all", 60)
    assert len({question.id for question in chosen}) == len(chosen)
    for asked in chosen:
        assert asked.question.strip()
        assert (asked.right is not None) == (asked.kind in ("choice", "yes/no", "claim"))
        assert asked.right is None or asked.right in asked.options
        assert all(passage.text.strip() for passage in asked.given)
        assert all(name.strip() for names in asked.answers for name in names)
        gold = {passage.id for passage in asked.given if passage.role == "gold"}
        assert not (gold and asked.answerable is False)
    assert all(path.is_file() for path in found.files)


@pytest.mark.parametrize("name", ["pubmedqa", "scifact", "ramdocs", "nq_open_oracle", "xquad_en", "covidqa", "qmsum"])
def test_the_documents_that_answer_are_in_the_corpus(name, data_dir):
    found = opened(name, data_dir)
    corpus: dict[str, Document] = {document.id: document for document in found.corpus()}
    for asked in found.select("all", 60):
        assert asked.documents
        assert asked.documents <= corpus.keys()
        for passage in asked.given:
            if passage.id in corpus:
                assert corpus[passage.id].text == passage.text


@pytest.mark.parametrize("name", [name for name in TRAINED if name != "medquad"])
def test_a_question_is_in_the_part_that_its_training_examples_are_in(name, data_dir):
    found = opened(name, data_dir)
    held_back = {question.key for question in found.select("development")}
    assert held_back >= {example.key for example in examples(name, data_dir, "validation")}
    assert all(question.key for question in found.samples)


def test_pubmedqa_is_kept_apart_in_mirage_too(data_dir):
    measured = opened("mirage-pubmedqa", data_dir).select("test")
    assert {question.key for question in measured} <= {q.key for q in opened("pubmedqa", data_dir).select("test")}


def test_right_documents_of_ramdocs_give_their_answer(data_dir):
    given_: list[Context] = [p for q in opened("ramdocs", data_dir).samples for p in q.given if p.role == "gold"]
    held = sum(passage.answer.casefold() in passage.text.casefold() for passage in given_)
    assert held / len(given_) > 0.98
    assert all(passage.entity for passage in given_)


def test_the_conflict_types_of_dragged_are_labels(data_dir):
    found = opened("dragged_conflicts", data_dir)
    labels = Counter(question.label for question in found.samples)
    assert len(labels) == 5
    assert all(question.answers or question.kind == "long" for question in found.samples)
    assert any(document.date for document in found.corpus())
    assert not any(document.date == "NA" for document in found.corpus())


def test_lost_in_the_middle_files_are_told_by_what_they_hold(data_dir: Path):
    folder = data_dir / "nq_open_oracle"
    found = open_dataset("nq-open-oracle.jsonl.gz", folder, QUESTIONS)
    assert found.samples == opened("nq_open_oracle", data_dir).samples
