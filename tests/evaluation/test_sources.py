"""Groups of documents by how they were found and what they are, and the measures that compare them."""

from __future__ import annotations

import json
from math import log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.datasets import open_dataset
from evaluation.experiments.sources import ORIGINS, entropy, rrf_scores, run, top_shares
from evaluation.published import PUBLISHED
from evaluation.runs import ExperimentRun
from evaluation.samples import half_of
from evaluation.searching import searched_part
from preflight_rag.testing.scripted_server import ScriptedServer


@pytest.mark.parametrize(("questions", "published"), [(44, (20.848, 6.202, 1.358)), (50, (19.473, 11.319, 1.490))])
def test_the_rrf_scores_of_all_questions_add_up_to_the_papers(questions, published):
    """CPQA, Table II: the groups' scores of each row, whatever their places among the first five."""
    scores = rrf_scores(["E1", "E1", "E3", "E2", "E1", "E2", "E2"])
    assert scores == pytest.approx({"E1": 1 / 6 + 1 / 7 + 1 / 10, "E3": 1 / 8, "E2": 1 / 9})
    assert questions * sum(scores.values()) == pytest.approx(sum(published), abs=0.0006)


def test_shares_of_the_rrf_score_are_near_the_papers_proportions():
    """Table II prints both; within two points of each other, as places among five differ little in weight."""
    for table in PUBLISHED["sources"]:
        for _, share, _, proportion in table.rows.values():
            assert share == pytest.approx(proportion, abs=2)


@pytest.mark.parametrize(
    ("scores", "bits"), [([], 0.0), ([3.0], 0.0), ([-2.0, -2.0], 1.0), ([5.0] * 4, 2.0), ([0.0, log(3)], 0.811278)]
)
def test_entropy_of_relevance(scores, bits):
    """By hand: one passage has all relevance; shares of 1/4 and 3/4 make 0.811 bits."""
    assert entropy(scores) == pytest.approx(bits, abs=1e-6)


def test_proportion_in_the_first_five():
    groups = ["E3", "E3", "E1", "E2", "E3", "E2"]
    assert top_shares(groups) == {"E3": 0.6, "E1": 0.2, "E2": 0.2}
    assert top_shares(groups[:2]) == {"E3": 1.0}
    assert top_shares([]) == {}


@given(st.lists(st.sampled_from(["E1", "E2", "E3"]), min_size=1))
def test_proportions_and_scores_add_up_over_the_groups(groups):
    assert sum(top_shares(groups).values()) == pytest.approx(1)
    assert sum(rrf_scores(groups).values()) == pytest.approx(sum(1 / (5 + rank) for rank in range(1, 6)[: len(groups)]))


def test_the_experiment_groups_what_both_paths_find(tmp_path, embedder):
    folder = tmp_path / "biomix"
    folder.mkdir()
    texts = {
        "pmid:1": "Metformin lowers blood sugar in type 2 diabetes.",
        "pmid:2": "Statins may cause muscle pain.",
        "pmc:3": "A trial of metformin against diabetes in mice.",
        "medquad:4": "Diabetes is a disease in which blood sugar is high.",
    }
    rows = [{"_id": name, "title": "", "text": text, "origin": "bioasq_snippets"} for name, text in texts.items()]
    names = [name for number in range(40) if half_of(name := f"bioasq:{number}") == "test"][:2]
    asked = [{"_id": names[0], "text": "Does metformin lower blood sugar?", "origin": "bioasq"}]
    asked.append({"_id": names[1], "text": "Do statins (or fibrates cause pain?", "origin": "bioasq"})
    for name, records in (("corpus", rows), ("queries", asked)):
        (folder / f"{name}.jsonl").write_text("\n".join(map(json.dumps, records)), encoding="utf-8")
    judged = f"q\td\tg\n{names[0]}\tpmid:1\t1\n{names[1]}\tpmid:2\t1\n"
    (folder / "qrels.tsv").write_text(judged, encoding="utf-8")
    report = run(open_dataset("biomix-bioasq", tmp_path), ExperimentRun(library_cache=tmp_path / "cache"))
    found = {row.arm: row.details for row in report.rows if row.details and "metformin" in row.details["question"]}
    assert "pmid:1" in found["E3 both"]["documents"]
    assert "pmid:1" in found["D1 PubMed abstract"]["documents"]
    assert found["D3 other PMC"]["documents"] == ["pmc:3"]
    assert "medquad:4" in found["E1 semantic"]["documents"]
    assert not any("medquad:4" in found.get(group, {}).get("documents", ()) for group in ORIGINS.values())
    assert report.figures["quality"]["means"]["hybrid"]["RR"]["value"] == 1.0
    groups, *published = report.tables[:3]
    (both,) = (line for line in groups.rows if line[0] == "E3 both")
    assert both[1] == "2"
    assert [table.title for table in published] == [
        "Beside CPQA, Table II: HealthSearchQA", "Beside CPQA, Table II: Negative Cancer QA",
    ]  # fmt: skip
    # Both questions have evidence of known groups alone, so their scores add up to those of all places.
    sums = [float(line[2]) for line in groups.rows if line[0].startswith("E")]
    places = [sum(1 / (5 + rank) for rank in range(1, n + 1)) for n in (4, 4)]
    assert sum(sums) == pytest.approx(sum(places), abs=0.002)
    relevant = {row.arm: row.score for row in report.rows if row.measure == "relevant" and row.sample == names[0]}
    assert relevant["E3 both"] > 0


def test_a_model_makes_the_ladder_where_there_is_one(data_dir, tmp_path, monkeypatch):
    """CPQA's rewriting is a model's; the table's caption says whose it was, and which embedder found E1."""
    asked = []

    def reply(prompt: str) -> str:
        asked.append(prompt)
        return "QUESTION: What is it?\nCONCEPTS: zzzz\nSEARCH: zzzz"

    with ScriptedServer(reply) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        settings = ExperimentRun(limit=2, documents=60, library_cache=tmp_path, model="openai:scripted",
                       reply_cache=tmp_path / "replies.db")  # fmt: skip
        report = run(searched_part(open_dataset("bioasq", data_dir), settings), settings)
    assert len(asked) == 2
    note = report.tables[1].note
    assert "all-MiniLM-L6-v2" in note
    assert "scripted" in note
