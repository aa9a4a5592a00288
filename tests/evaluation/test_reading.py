"""The reading experiment on small data sets, and the curve that is drawn of its rows."""

from __future__ import annotations

import json

import pytest

from evaluation.datasets import READING, TRAINING, open_dataset
from evaluation.datasets.bioasq import short_answers
from evaluation.experiments import run
from evaluation.experiments.reading import open_named
from evaluation.runs import ExperimentRun
from preflight_rag.models.reading.bundled_reader import MODEL
from preflight_rag.state.errors import UsageError

pytestmark = pytest.mark.slow

SPORTS = ("tennis", "chess", "rugby", "golf", "judo", "curling")


@pytest.fixture(scope="module")
def data(tmp_path_factory, write_lines):
    """A folder with questions in RAMDocs' and in BioASQ's form, some of each in every part."""
    folder = tmp_path_factory.mktemp("reading")
    records = (
        {
            "question": f"Which sport does player {n} play?",
            "documents": [
                {"text": f"Player {n} of Ohio plays {sport} since 2001.", "type": "correct", "answer": sport},
                {"text": f"Player {n} was born in Ohio.", "type": "noise", "answer": "unknown"},
            ],
            "disambig_entity": [f"Player {n} (Ohio)"],
            "gold_answers": [sport],
            "wrong_answers": [],
        }
        for n, sport in enumerate(SPORTS * 8)
    )
    write_lines(folder / "ramdocs" / "RAMDocs_test.jsonl", records)
    kinds = (("factoid", [["factor XIa", "FXIa"]]), ("list", [["aspirin"], ["heparin"]]), ("yesno", "Yes"))
    questions = (
        {"id": f"q{n}", "type": kind, "question": f"What inhibits it {n}?", "exact_answer": exact,
         "snippets": [{"text": "Factor XIa and aspirin are known."}, {"text": "Little is known."}]}
        for n in range(6)
        for kind, exact in kinds
    )  # fmt: skip
    write_lines(folder / "bioasq" / "questions.jsonl", ({**q, "id": f"{q['id']}{q['type']}"} for q in questions))
    return folder


@pytest.fixture(scope="module")
def report(data):
    return run("reading", data, ["ramdocs"], ExperimentRun(part="test"))[0]


def test_every_pair_of_the_part_is_read_once(data, report):
    pairs = open_dataset("ramdocs", data, READING).select("test")
    assert len(report.rows) == 2 * len(pairs) > 8
    assert [row.details["question"] for row in report.rows[::2]] == [pair.question for pair in pairs]
    assert report.figures["spans"]["a passage with the answer"]["cases"] == len(pairs) / 2


def test_the_sentence_reader_stands_beside_the_reader(report):
    assert report.figures["spans"]["a passage with the answer"]["best sentence holds an answer %"]["value"] == 1
    assert set(report.figures["answerability"]) == {"reader", "sentence reader", "difference"}
    assert report.figures["selective"]["sentence reader"]["right"]["value"] == 0.5
    assert [table.title for table in report.tables][-1] == "Answering some, leaving the rest"


def test_a_second_run_gives_the_same_report(data, report):
    assert run("reading", data, ["ramdocs"], ExperimentRun(part="test"))[0] == report


def test_yes_no_questions_are_also_put_as_options(data):
    (report,) = run("reading", data, ["bioasq"], ExperimentRun(part="all"))
    assert {"spans", "verdicts", "choices"} == set(report.figures)
    assert report.figures["verdicts"]["yes / no"]["questions"] == 6
    assert report.figures["choices"]["reader"]["most_frequent"]["value"] == 1


def test_pubmedqa_is_read_without_its_conclusions_and_whole(tmp_path):
    (tmp_path / "pubmedqa").mkdir()
    told = {"yes": "Rest helped.", "no": "Rest did not help.", "maybe": "Rest may help."}
    entries = {
        str(n): {"QUESTION": "Does rest help?", "CONTEXTS": ["Forty rested."], "LONG_ANSWER": told[decision],
                 "final_decision": decision}
        for n, decision in enumerate([*told] * 8)
    }  # fmt: skip
    (tmp_path / "pubmedqa" / "ori_pqal.json").write_text(json.dumps(entries), encoding="utf-8")
    body, whole = (open_dataset(name, tmp_path, READING).select("all") for name in ("pubmedqa", "pubmedqa-abstracts"))
    assert [example.id for example in body] == [example.id for example in whole]
    assert {example.passage.text for example in body} == {"Forty rested."}
    for passage in (example.passage for example in whole):
        assert passage.text == f"Forty rested. {told[{'neither': 'maybe'}.get(passage.verdict, passage.verdict)]}"
    with pytest.raises(UsageError, match="pubmedqa-abstracts") as refused:
        open_dataset("pubmedqa-abstracts", None, READING)
    assert "DIR/pubmedqa holds" in refused.value.help


@pytest.mark.parametrize(
    ("kind", "exact", "expected"),
    [
        ("factoid", [["a", " a"], "b"], (("a", "b"), None)),
        ("list", [["a"], ["b", ""]], (("a", "b"), None)),
        ("yesno", "Yes.", ((), "yes")),
        ("yesno", "no", ((), "no")),
        ("summary", None, ((), None)),
    ],
)
def test_answers_of_bioasq(kind, exact, expected):
    assert short_answers({"type": kind, "exact_answer": exact}) == expected


@pytest.mark.parametrize("name", [*TRAINING, "bioasq"])
def test_every_set_opens_with_what_the_report_says_of_it(name, data, reader_data):
    found = open_dataset(name, data if name == "bioasq" else reader_data, READING)
    assert found.name == name
    assert all((found.title, found.source, found.licence))


def test_a_limit_takes_questions_with_all_their_passages(data):
    collection = open_dataset("ramdocs", data, READING)
    assert len(collection.select("test", 2)) == 4
    everything = {example.id for example in collection.select("all")}
    assert {example.id for example in collection.select("test")} < everything


@pytest.mark.parametrize(
    ("name", "part", "limit", "told"),
    [("nfcorpus", "test", None, "no passages to read"), ("xquad_en", "test", None, "github.com/google-deepmind/xquad"),
     ("ramdocs", "train", None, "part 'train' is unknown"), ("ramdocs", "test", 0, "limit 0")],
)  # fmt: skip
def test_what_cannot_be_read_is_refused(data, name, part, limit, told):
    with pytest.raises(UsageError, match=told):
        open_dataset(name, data, READING).select(part, limit)


def test_a_network_is_named_by_its_file():
    pairs = [("Who?", "", "Ada wrote it.")]
    (named,), (own,) = open_named(str(MODEL)).read(pairs), open_named("default").read(pairs)
    assert [span.text for span in named.spans] == [span.text for span in own.spans]
    # The package's own may run in whole numbers, another file runs in floats.
    assert named.answerable == pytest.approx(own.answerable, abs=0.001)
    with pytest.raises(UsageError, match="'none' reads nothing"):
        open_named("none")
