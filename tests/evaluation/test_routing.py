"""The experiment on which questions need COrg: its cases, its fit, and a run over a few questions."""

import json

import pytest
from value_reader import ValueReader

from evaluation.experiments import run
from evaluation.experiments.routing import (
    NAME,
    NEEDS,
    PLAIN,
    MeasuredCase,
    choose_threshold,
    compared,
    contrasts,
    fit,
    measured,
    needs,
    open_dataset,
    parts,
    set_of,
)
from evaluation.runs import ExperimentRun
from evaluation.samples import Sample, half_of, reader_part_of
from evaluation.searching import collection_library
from preflight_rag.corg.signals import ANSWERS, SIGNALS, trained
from training.signals import main, put_at

pytestmark = pytest.mark.slow

TOWNS = ("Ashby", "Marlow", "Denby", "Selby", "Corby", "Wetherby", "Rugby", "Whitby")


def write(folder, name, lines):
    folder.mkdir(parents=True, exist_ok=True)
    text = lines if isinstance(lines, str) else "".join(json.dumps(line) + "\n" for line in lines)
    (folder / name).write_text(text, encoding="utf-8")


def document(town, county, people, kind="correct"):
    text = f"{town}, {county}, is a town. The population of {town} is {people}."
    return {"text": text, "type": kind, "answer": people if kind == "correct" else "unknown"}


@pytest.fixture
def data(tmp_path):
    """A few questions in the form of each data set."""
    folder = tmp_path / "data"
    ambiguous = [
        {
            "question": f"What is the population of {town}?",
            "documents": [document(town, "Kent", "1,200"), document(town, "Devon", "3,400")],
            "gold_answers": ["1,200", "3,400"],
            "disambig_entity": [f"{town}, Kent", f"{town}, Devon"],
            "wrong_answers": [],
        }
        for town in TOWNS
    ]
    snippets = [{"doc_id": "d1", "title": "Tea", "url": "", "snippet": "Tea is drunk hot.", "date": "NA"}]
    conflicts = [
        {"id": str(i), "query": f"Is tea number {i} healthy?", "conflict_type": kind, "docs": snippets}
        for i, kind in enumerate(["No conflict", "Complementary information"] * 3)
    ]
    write(folder / "ramdocs", "RAMDocs_test.jsonl", ambiguous)
    write(folder / "dragged_conflicts", "sample.jsonl", conflicts)
    told = {"CONTEXTS": ["It helps."], "LONG_ANSWER": "It does.", "final_decision": "yes"}
    abstracts = {str(i): {"QUESTION": f"Does drug {i} help?", **told} for i in range(6)}
    write(folder / "pubmedqa", "ori_pqal.json", json.dumps(abstracts))
    gold = [{"title": "Paris", "text": "Paris is the capital of France.", "isgold": True}]
    asked = [{"question": f"what is the capital of france {i}", "answers": ["Paris"], "ctxs": gold} for i in range(6)]
    write(folder / "nq_open_oracle", "nq-open-oracle.jsonl", asked)
    answers = [{"text": "hot", "answer_start": 12}]
    ovens = [{"id": str(i), "question": f"Is oven {i} hot?", "answers": answers} for i in range(6)]
    paragraph = {"context": "The oven is hot.", "qas": ovens}
    write(folder / "xquad_en", "xquad.en.json", json.dumps({"data": [{"title": "Oven", "paragraphs": [paragraph]}]}))
    write(folder / "bioasq", "corpus.jsonl", [{"_id": "7", "title": "", "text": "The p53 protein guards the genome."}])
    write(folder / "bioasq", "questions.jsonl", [{"id": str(i), "question": f"What guards {i}?"} for i in range(6)])
    write(folder / "bioasq", "qrels.tsv", "q\td\tg\n" + "".join(f"{i}\t7\t1\n" for i in range(6)))
    return folder


def row(differs, dataset="RAMDocs", kind="single", **scores):
    found = {**dict.fromkeys((*SIGNALS, ANSWERS), 0.0), **scores}
    asked = f"{dataset} {differs} {scores}"
    case = Sample(asked, asked, label=f"{dataset}/{kind}", right=NEEDS if differs else PLAIN)
    return MeasuredCase(case, found, found)


def test_a_question_with_one_answer_left_is_kept_from_the_other_documents(data):
    whole, less, *_ = open_dataset(NAME, data).samples
    assert [needs(whole), needs(less)] == [True, False]
    assert {passage.id for passage in less.given} == whole.documents > less.documents
    assert len(less.documents) == 1


def test_weights_are_never_negative():
    rows = [row(True, names=1.0), row(True, values=1.0), row(False, dates=1.0), row(False)]
    model = fit(rows * 5)
    assert model.weights["names"] > 0
    assert model.weights["dates"] == 0
    assert model.score(rows[0].scores) > 0.5 > model.score(rows[3].scores)


def test_the_threshold_keeps_false_alarms_rare():
    rows = [row(False, "NQ-Open", "", names=i / 100) for i in range(100)]
    model = fit([*rows, *(row(True, names=1.0) for _ in range(100))])
    threshold = choose_threshold(rows, model)
    assert sum(model.score(item.scores) >= threshold for item in rows) <= 5


def test_a_model_can_be_put_at_another_threshold():
    model = fit([row(True, names=1.0), row(False)] * 5)
    moved = put_at(model, model.score({**dict.fromkeys(SIGNALS, 0.0), "names": 0.5}), 0.53)
    assert moved.score({**dict.fromkeys(SIGNALS, 0.0), "names": 0.5}) == pytest.approx(0.53, abs=0.001)
    assert moved.weights == model.weights


def test_a_questions_part_is_told_by_what_the_reader_was_trained_by(data):
    cases = [case for case in open_dataset(NAME, data).samples if set_of(case) == "XQuAD"]
    assert len(cases) == 6
    assert {case.key for case in cases} == {"Oven"}


def test_with_a_reader_the_parts_of_its_data_are_measured(data, tmp_path):
    found = open_dataset(NAME, data)
    with collection_library(found, ExperimentRun(library_cache=tmp_path)) as library:
        training, test = ([measured(case, library, ValueReader()) for case in part] for part in parts(found, read=True))
    assert {reader_part_of(row.case.key) for row in training} == {"validation"}
    assert {(reader_part_of(row.case.key), half_of(row.case.question)) for row in test} == {("test", "test")}
    assert all(ANSWERS in row.scores for row in (*training, *test))


def test_the_tables_set_the_reader_beside_no_reader():
    rows = [row(needs, answers=0.9 * needs, names=0.1 * i) for i in range(4) for needs in (True, False)] * 3
    tables, _ = compared(rows, rows, trained()["reader"], 0.53)
    assert tables[1].columns == ("comparison", "four signals, no reader", "five signals", "difference, paired")
    assert ("answers", "100 / 0") in {line[:2] for line in tables[2].rows}


def test_comparisons_hold_the_questions_they_name():
    rows = [row(True), row(False), row(False, "PubMedQA", ""), row(False, "DRAGged", "No conflict")]
    found = {name: len(chosen) for name, chosen in contrasts(rows).items()}
    assert list(found.values()) == [3, 3, 3, 1, 1]


def test_a_run_tells_towns_of_one_name_from_plain_questions(data, tmp_path):
    (report,) = run("routing", data, [], ExperimentRun(library_cache=tmp_path, extractive_reader="none"))
    sent = {line[0]: line[2] for line in report.tables[-1].rows}
    assert sent["NQ-Open"].startswith("0.0 [")
    assert sent["RAMDocs needs"].startswith("100.0 [")
    needing = {row.condition for row in report.rows if row.details["needs"]}
    assert needing == {"RAMDocs ambiguous", "DRAGged Complementary information"}


def test_the_weights_are_written_beside_those_of_the_other_reader(data, tmp_path):
    out = tmp_path / "signals.json"
    out.write_text('{"reader": {"bias": 0}}', encoding="utf-8")
    given = ["--data", str(data), "--library-cache", str(tmp_path), "--extractive-reader", "none", "--out", str(out)]
    main(given)
    found = json.loads(out.read_text(encoding="utf-8"))
    assert set(found) == {"reader", "none"}
    assert set(found["none"]["weights"]) == set(SIGNALS)
