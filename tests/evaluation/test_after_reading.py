"""What is read of selected passages: split levels, diversity's selections, and summaries that a model judges."""

from __future__ import annotations

from dataclasses import replace

import pytest
from paper_files import answers, passages

from evaluation.after_reading import BUDGET, NOT_READ, RECALL, word_recall
from evaluation.datasets import SPANS, open_dataset, qmsum
from evaluation.experiments import diversity, run, split_level, summaries
from evaluation.experiments.split_level import BASE, BUDGETS, levels, selections
from evaluation.harness.asking import open_asking
from evaluation.judging import judge_summaries
from evaluation.runs import ExperimentRun
from evaluation.samples import Sample
from evaluation.selection_cases import limits_of
from preflight_rag.state.values import Document
from preflight_rag.testing.scripted_server import ScriptedServer

pytestmark = pytest.mark.slow

SAID = ("We met to plan the release.", "Milvexian inhibits factor XIa.", "Lunch is at noon.", "Factor XIa, yes.")


@pytest.fixture
def settings(tmp_path):
    return ExperimentRun(part="all", library_cache=tmp_path / "vectors", reply_cache=tmp_path / "replies.db")


@pytest.fixture
def meetings(tmp_path, write_lines):
    """Two short meetings in QMSum's form, with answers that annotators wrote."""
    asked = [
        {"query": "Which factor does milvexian inhibit?", "answer": "Factor XIa.", "relevant_text_span": [["1", "1"]]},
        {"query": "When is lunch?", "answer": "At noon.", "relevant_text_span": [["2", "2"]]},
    ]
    general = [{"query": "Summarise.", "answer": "They spoke about milvexian and lunch."}]
    turns = [{"speaker": "A", "content": text} for text in SAID]
    record = {"meeting_transcripts": turns, "specific_query_list": asked, "general_query_list": general}
    write_lines(tmp_path / "qmsum" / "val.jsonl", [record, record])
    return tmp_path


def test_units_of_every_level_stand_in_the_document(embedder):
    text = "One is here. Two is there. Three is away.\nFour is alone."
    document = Document(id="d", text=text, source="d")
    units = {name: [text[c.start : c.end] for c in split(document)] for name, split in levels(embedder).items()}
    assert [unit.strip() for unit in units["sentence"]] == [
        "One is here.", "Two is there.", "Three is away.", "Four is alone.",
    ]  # fmt: skip
    assert units["line"] == text.split("\n")
    assert len(units["3 sentences"]) == 2
    assert all(letter in "".join(found) for found in units.values() for letter in text.split())


def test_split_levels_are_compared_and_read_on_real_questions(data_dir, settings):
    found = open_dataset("covidqa", data_dir, SPANS)
    lengths = {document.id: len(document.text) for document in found.documents()}
    short = min(found.samples, key=lambda question: lengths[question.document])
    settings = replace(settings, model="simulated")
    report = split_level.run(replace(found, samples=(short,), relevance={short.id: {short.document: 1}}), settings)
    arms = {f"{level}, {name}" for level in ("sentence", "3 sentences", "passage", "line") for name in selections()}
    measured = {(row.arm, row.condition) for row in report.rows if row.condition}
    assert measured == {(arm, f"{budget} tokens") for arm in arms for budget in BUDGETS}
    assert {row.arm for row in report.rows if not row.condition} == arms
    assert "simulated" in report.tables[1].note
    assert report.figures["after reading"]["questions"] == 1


def test_a_model_reads_no_more_than_the_budget(meetings, settings, embedder):
    with ScriptedServer(default="Factor XIa, at noon [1].") as server, pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_BASE_URL", server.url)
        (report,) = run("split-level", meetings, ["qmsum"], replace(settings, model="openai:scripted"))
    read = [row for row in report.rows if not row.condition]
    assert read
    for row in read:
        assert passages(row), row.arm
        assert sum(map(embedder.count_tokens, passages(row))) <= BUDGET
        assert row.score == 1.0
    assert report.figures["after reading"]["means"][BASE][RECALL]["value"] == 1.0


def test_without_a_model_nothing_is_read(meetings, settings):
    (report,) = run("split-level", meetings, ["qmsum"], settings)
    assert NOT_READ in report.about
    assert "after reading" not in report.figures
    assert report.figures["means"][BASE]["2048 tokens"]["value"] == 1.0


def test_diversitys_selections_are_read_in_every_ordering_under_every_limit(meetings, settings):
    with ScriptedServer(default="At noon [1].") as server, pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_BASE_URL", server.url)
        report = diversity.run(qmsum.units(meetings / "qmsum", "qmsum"), replace(settings, model="openai:scripted"))
    arms = {
        f"{paper} ({ordering})"
        for paper in ("SB", "SB+MMR", "SB+FPS")
        for ordering in ("index sort", "sort", "1:1", "2:1", "3:1")
    }
    for limit in ("c_r 0.05", "c_r 0.1", "c_r 0.2"):
        told = report.figures[f"after reading, {limit}"]["means"]
        assert set(told) == arms
        # "At noon." is the answer to two of the four questions, "Factor XIa." to the others.
        assert {figures[RECALL]["value"] for figures in told.values()} == {0.5}
    read = answers(report)["meeting0:0", "c_r 0.2"]
    assert set(read) == arms
    assert set(passages(read["SB (sort)"])) == set(passages(read["SB (1:1)"]))
    shown = {table.title: table for table in report.tables}["Beside Diversity, Table 2 (recall after reading)"]
    row = next(dict(zip(shown.columns, row, strict=True)) for row in shown.rows if row[0] == "SB+MMR (index sort)")
    assert row["paper: NQ, c_r 0.05"] == "45.76"
    assert row["here: c_r 0.05"].startswith("50.0")
    assert diversity.run(qmsum.units(meetings / "qmsum", "qmsum"), settings).about.endswith(NOT_READ)


def test_recall_is_whether_an_answer_is_present(meetings, settings):
    report = diversity.run(qmsum.units(meetings / "qmsum", "qmsum"), settings)
    # Four turns a meeting, of 6 to 9 tokens: c_r of 0.2 leaves one, the turn that is nearest to the question.
    texts = {unit.id: unit.text for unit in qmsum.units(meetings / "qmsum", "qmsum").documents()}
    assert len(texts) == 8
    before = report.figures["answer present"]["means"]["SB"]["c_r 0.2"]["value"]
    assert before in (0.5, 1.0)
    assert {row.measure for row in report.rows if row.condition == "c_r 0.2"} == {"answer present"}


@pytest.mark.parametrize(
    ("window", "most"),
    [
        (None, 10_000),
        (16_385, 10_000),
        (4_096, 2_000),
        (1_024, 2_000),
        (32_768, 20_000),
        (128_000, 50_000),
        (200_000, 120_000),
    ],
)
def test_t_max_goes_up_to_the_models_window(window, most):
    tried = (2_000, 5_000, 10_000, 20_000, 50_000, 120_000)
    assert [limit.tokens for limit in limits_of(False, window)] == [t for t in tried if t <= most]
    assert [limit.ratio for limit in limits_of(True, window)] == [0.05, 0.1, 0.2]


@pytest.mark.parametrize(
    ("reply", "answers", "recall"),
    [
        ("It is factor XIa.", ["Factor XIa"], 1.0),
        ("Factor X", ["Factor XIa"], 0.5),
        ("the noon", ["At noon", "noon"], 1.0),
        ("", ["noon"], 0.0),
        ("noon", [], 0.0),
    ],
)
def test_word_recall_takes_the_nearest_answer(reply, answers, recall):
    assert word_recall(reply, answers) == recall


@pytest.mark.parametrize(
    ("letters", "wins", "ties", "by_place"), [("AB", 1, 0, 0), ("AA", 0, 1, 1), ("BA", 0, 0, 0), ("CC", 0, 1, 0)]
)
def test_summaries_are_judged_in_both_orders(settings, letters, wins, ties, by_place):
    replies = {'<answer n="1">\nours': letters[0], '<answer n="2">\nours': letters[1]}
    question = Sample("q", "What was said?", "long", answers=(("Noon.",),))
    texts = {"q": {"MMR": "ours", "lead": "theirs", "random": "ours"}}

    def judge(body):
        prompt = body["messages"][-1]["content"]
        return next(f"CHOICE: {letter}" for place, letter in replies.items() if place in prompt)

    with ScriptedServer(judge) as server, pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_BASE_URL", server.url)
        with open_asking(replace(settings, model="openai:scripted")) as asking:
            found = judge_summaries(asking, [question], texts, "MMR", title="Judged")
        assert server.count() == 2
    told = found.figures["lead"]
    assert (told["wins"], told["ties"], told["by place"]) == (wins, ties, by_place)
    assert found.figures["random"]["ties"] == 1
    assert found.rows["q"]["lead"]["verdict"] == {"AB": 1, "BA": -1}.get(letters, 0)


def test_summaries_of_a_data_set_are_judged(meetings, settings):
    (report,) = run("summaries", meetings, ["qmsum"], replace(settings, model="simulated", limit=1))
    assert "Judged beside the abstractive summaries" in [table.title for table in report.tables]
    (verdicts,) = (row.details for row in report.rows if row.arm == "judge")
    assert set(verdicts) == {"lead", "closest to the mean", "random"}
    assert report.inputs["model"].startswith("simulated")


def test_a_model_writes_summaries_of_what_is_selected(tmp_path, write_lines, settings, monkeypatch):
    # Six sentences, of which half fit; the near-repeat of the first is what diversity passes over.
    said = ("Bridges carry cars.", "Bridges carry the cars.", "Bridges carry cars daily.", "Tolls cost $5.")
    write_lines(tmp_path / "gov_report" / "test.jsonl", [{"report": " ".join(said), "summary": "Bridges cost $5."}])
    monkeypatch.setattr(summaries, "SELECTED", 11)
    read = []

    def reply(body):
        asked = body["messages"][-1]["content"]
        if "<reference>" in asked:  # the judge: it prefers what says the price, wherever it stands
            first, _ = asked.split('<answer n="2">')
            return "CHOICE: A" if "$5" in first.split('<answer n="1">')[1] else "CHOICE: B"
        read.append(asked)
        return "Bridges cost $5." if "$5" in asked else "Bridges."

    with ScriptedServer(reply) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        given = replace(settings, model="openai:scripted")
        own = summaries.settings_of("gov_report")
        monkeypatch.setattr(summaries, "settings_of", lambda _: {**own, "SB+MMR": (0.3, None)})
        (report,) = run("summaries", tmp_path, ["gov_report"], given)
    means = report.figures["written"]["means"]
    assert len(read) == len(set(read)) or len(read) == 3
    assert means["SB+MMR"]["ROUGE-1"]["value"] == 1.0
    assert means["SB+MMR"]["win rate"]["value"] == 1.0
    assert means["SB"]["win rate"]["value"] == 0.0
    # "Bridges." against "Bridges cost $5.": one of one word, one of three: F1 = 2 · 1 · 1/3 / (4/3).
    assert means["SB"]["ROUGE-1"]["value"] == pytest.approx(0.5)
    nine = {table.title: table for table in report.tables}["Beside Diversity, Table 9"]
    cells = {row[0]: dict(zip(nine.columns, row, strict=True)) for row in nine.rows}
    assert cells["SB+MMR"]["paper: gov_report win rate"] == "75.26"
    assert cells["SB+MMR"]["here: win rate"].startswith("100.0")


def test_summaries_are_not_judged_without_a_model(meetings, settings):
    (report,) = run("summaries", meetings, ["qmsum"], settings)
    assert "No summaries are judged" in report.about
    assert "judged" not in report.figures
