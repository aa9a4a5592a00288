"""Sentences and chunks of all documents in one pool."""

from __future__ import annotations

import json

import pytest
from paper_files import answers

from evaluation.experiments import run
from evaluation.experiments.pooled_levels import presets_of_level, split
from evaluation.runs import ExperimentRun
from preflight_rag.library.search.selection import PAPER_PRESETS
from preflight_rag.state.values import Document
from preflight_rag.testing.scripted_server import ScriptedServer

FACTS = {
    "Venus": ("How hot is Venus?", "465 degrees", "Venus is the hottest planet. On average it has 465 degrees there."),
    "Broken Bow": ("How many live in Broken Bow?", "3,491 people", "Broken Bow is in Nebraska. It has 3,491 people."),
    "Tea": ("What does green tea contain?", "caffeine", "Green tea is a drink. It contains caffeine and catechins."),
}


@pytest.fixture
def squad(tmp_path):
    """Three paragraphs in SQuAD's form, each with a question."""
    articles = [
        {
            "title": title,
            "paragraphs": [
                {
                    "context": text,
                    "qas": [{"id": title, "question": asked, "answers": [{"text": answer, "answer_start": 0}]}],
                }
            ],
        }
        for title, (asked, answer, text) in FACTS.items()
    ]
    (tmp_path / "facts.json").write_text(json.dumps({"version": "1.1", "data": articles}), encoding="utf-8")
    return tmp_path


@pytest.fixture
def settings(tmp_path, monkeypatch):
    monkeypatch.setattr("evaluation.samples.reader_part_of", lambda key: "test")
    return ExperimentRun(part="all", library_cache=tmp_path / "vectors", reply_cache=tmp_path / "replies.db")


def test_chunks_share_half_of_their_tokens(embedder):
    text = " ".join(f"word{n} is here." for n in range(200))
    document = Document(id="d", text=text, source="d")
    offsets = embedder.token_offsets(text)
    chunks = list(split(document, embedder, 256))
    # By hand: 254 pieces a chunk beside [CLS] and [SEP]; the next one begins 127 pieces later; the last ends the text.
    starts = [offsets[place][0] for place in range(0, len(offsets), 127)][: len(chunks)]
    assert [start for start, _ in chunks] == starts
    assert chunks[0][1] == offsets[253][1]
    assert chunks[-1][1] == len(text)
    assert len(chunks) == -(-(len(offsets) - 254) // 127) + 1
    assert [text[a:b] for a, b in split(Document(id="d", text="One. Two is.", source="d"), embedder, None)]


@pytest.mark.parametrize(
    ("name", "level", "settings"),
    [
        ("squad", "sentence", [(0.25, 1000)]),
        ("xquad_en", "256 tokens", [(0.5, 300)]),
        ("facts", "512 tokens", [(0.3, 300)]),
        ("triviaqa", "512 tokens", [(0.7, 20), (0.8, 300)]),
        ("triviaqa", "sentence", []),
    ],
)
def test_each_level_has_the_papers_settings(name, level, settings):
    """Diversity, section 3.3 for SQuAD, section 3.2 for TriviaQA, of which the paper has chunks of 512 tokens alone."""
    found = [PAPER_PRESETS[preset] for preset in presets_of_level(name, level)]
    assert [(preset.alpha, preset.window) for preset in found] == settings


@pytest.mark.slow
def test_the_pool_is_selected_from_and_read(squad, settings, monkeypatch):
    with ScriptedServer(default="It has 465 degrees [1].") as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        given = ExperimentRun(**{**vars(settings), "model": "openai:scripted"})
        (report,) = run("pooled-levels", squad, ["facts.json"], given)
    for level in ("sentence", "256 tokens", "512 tokens"):
        # Everything fits into 2,000 tokens, so an answer is always present before reading; one reply of three has it.
        for system in ("SB", "SB+MMR"):
            before = report.figures[f"{level}, answer present"]["means"][system]
            assert before[f"{level}, T_max 2,000"]["value"] == 1.0
            after = report.figures[f"after reading, {level}, T_max 2,000"]["means"][f"{system} (sort)"]
            assert after["recall after reading"]["value"] == pytest.approx(1 / 3)
    # What the paper reports is not read: two selections in five orderings.
    assert len(answers(report)["Venus", "sentence, T_max 5,000"]) == 10
    assert "SB+MMR, the paper's α and w" in report.figures["sentence, answer present"]["means"]
    tables = {table.title: table for table in report.tables}
    eight = tables["Beside Diversity, Table 8 (recall after reading)"]
    cells = {row[0]: dict(zip(eight.columns, row, strict=True)) for row in eight.rows}
    assert cells["SB+MMR (index sort)"]["paper: chunks of 512, 2k"] == "84.9"
    assert cells["SB+MMR (index sort)"]["here: 512 tokens, T_max 2,000"].startswith("33.3")
    assert report.inputs["settings"]["units"] == {"sentence": 6, "256 tokens": 3, "512 tokens": 3}


@pytest.mark.slow
def test_without_a_model_only_what_is_selected_is_measured(squad, settings):
    (report,) = run("pooled-levels", squad, ["facts.json"], settings)
    assert {row.measure for row in report.rows} == {"answer present"}
    assert not any(name.startswith("after reading") for name in report.figures)


def test_few_documents_are_those_that_answer_and_a_sample(squad, settings):
    (report,) = run(
        "pooled-levels", squad, ["facts.json"], ExperimentRun(**{**vars(settings), "limit": 1, "documents": 1})
    )
    assert report.inputs["settings"]["units"]["512 tokens"] < 3
