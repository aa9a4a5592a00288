"""Groups of documents by how they were found and what they are, and the measures that compare them."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from preflight_rag.evaluation.datasets import open_dataset
from preflight_rag.evaluation.experiments.sources import ORIGINS, entropy, rrf_scores, run, top_shares
from preflight_rag.evaluation.runs import Run
from preflight_rag.evaluation.samples import half_of


def test_rrf_score_is_the_mean_over_a_groups_documents():
    assert rrf_scores(["E3", "E1", "E1"], k=60) == pytest.approx({"E3": 1 / 61, "E1": (1 / 62 + 1 / 63) / 2})
    assert rrf_scores([]) == {}


@pytest.mark.parametrize(
    ("texts", "bits"),
    [([], 0.0), (["the of"], 0.0), (["tea tea", "tea"], 0.0), (["tea cake"], 1.0), (["tea cake", "milk rum"], 2.0)],
)
def test_entropy_of_words(texts, bits):
    assert entropy(texts) == pytest.approx(bits)


def test_proportion_in_the_first_five():
    groups = ["E3", "E3", "E1", "E2", "E3", "E2"]
    assert top_shares(groups) == {"E3": 0.6, "E1": 0.2, "E2": 0.2}
    assert top_shares(groups[:2]) == {"E3": 1.0}
    assert top_shares([]) == {}


@given(st.lists(st.sampled_from(["E1", "E2", "E3"]), min_size=1))
def test_proportions_add_up_and_better_places_score_higher(groups):
    assert sum(top_shares(groups).values()) == pytest.approx(1)
    scores = rrf_scores(groups)
    assert all(1 / (60 + len(groups)) <= score <= 1 / 61 for score in scores.values())


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
    report = run(open_dataset("biomix-bioasq", tmp_path), Run(library_cache=tmp_path / "cache"))
    found = {row.arm: row.details for row in report.rows if row.details and "metformin" in row.details["question"]}
    assert "pmid:1" in found["E3 both"]["documents"]
    assert "pmid:1" in found["D1 PubMed abstract"]["documents"]
    assert found["D3 other PMC"]["documents"] == ["pmc:3"]
    assert "medquad:4" in found["E1 semantic"]["documents"]
    assert not any("medquad:4" in found.get(group, {}).get("documents", ()) for group in ORIGINS.values())
    assert report.figures["quality"]["means"]["hybrid"]["RR"]["value"] == 1.0
    assert [line[1] for line in report.tables[0].rows if line[0] == "E3 both"] == ["2"]
    relevant = {row.arm: row.score for row in report.rows if row.measure == "relevant" and row.sample == names[0]}
    assert relevant["E3 both"] > 0
