"""The experiment on diversity: its search, its data, its report."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from evaluation.coarse_to_fine import COARSE_ALPHAS, WINDOWS, search
from evaluation.datasets import covidqa, open_dataset, qmsum
from evaluation.datasets.files import find, json_lines
from evaluation.experiments import diversity
from evaluation.experiments.diversity import (
    _answers_over_alpha,
)
from evaluation.runs import ExperimentRun
from evaluation.samples import Sample
from evaluation.searching import collection_library
from evaluation.selection_cases import SelectionCase, SelectionLimit, candidates
from evaluation.selections import (
    as_reported,
    by_mmr,
    by_similarity,
    cuts,
    lengths_of,
    presets_of,
    selections,
    tuned_for_answers,
)
from preflight_rag.library.search.retrieval import retrieve_passages
from preflight_rag.library.search.selection import PAPER_PRESETS
from preflight_rag.state.context import Settings
from preflight_rag.state.errors import UnreadableDocument, UsageError

pytestmark = pytest.mark.slow


def test_the_search_finds_the_top_of_a_hill():
    grid = {"coarse_alphas": (0, 0.2, 0.4, 0.6, 0.8, 1), "windows": (1, 4, 16, None)}
    best = search(lambda alpha, window: -((alpha - 0.65) ** 2) - 0.01 * abs((window or 64) - 8), rounds=3, **grid)
    assert best.alpha == pytest.approx(0.65, abs=0.026)
    assert best.window == 8
    assert best.value == max(value for _, _, value in best.trace)


def test_the_coarse_grid_is_the_papers_and_its_best_settings_can_be_reached():
    # Section 3.1: the grid, and the best of both levels for Natural Questions, NarrativeQA and TriviaQA.
    assert COARSE_ALPHAS == (0, 0.25, 0.5, 0.7, 0.8, 0.9, 0.95, 1)
    assert set(WINDOWS) - {1, None} == {10, 100, 1000}
    for alpha, window in ((0.55, 1), (0.55, 5), (0.6, 3)):
        best = search(lambda a, w, at=(alpha, window): -abs(a - at[0]) - abs((w or 10**6) - at[1]) / 100, rounds=3)
        assert (best.alpha, best.window) == (pytest.approx(alpha, abs=0.03), window)


def test_no_setting_is_tried_twice():
    tried = []
    best = search(lambda alpha, window: tried.append((alpha, window)) or alpha)
    assert len(tried) == len(set(tried)) == len(best.trace) < 60
    assert (best.alpha, best.window) == (1.0, None)


def test_the_search_is_deterministic_and_departs_as_little_as_it_can():
    flat = search(lambda alpha, window: 0.5)
    assert (flat.alpha, flat.window) == (1.0, None)
    assert flat == search(lambda alpha, window: 0.5)


def test_all_that_was_picked_may_be_the_best_window():
    best = search(lambda alpha, window: -abs(alpha - 0.5) + (window or 99_999) / 10**6)
    assert (best.alpha, best.window) == (0.5, None)


@pytest.mark.parametrize("grid", [{"coarse_alphas": ()}, {"windows": ()}, {"coarse_alphas": (0.5, 1.5)}])
def test_a_grid_that_cannot_be_searched(grid):
    with pytest.raises(UsageError, match="cannot be searched"):
        search(lambda alpha, window: alpha, **grid)


def test_report_on_a_collection(beir_data, library_cache):
    collection = open_dataset("small", beir_data)
    report = diversity.run(collection, ExperimentRun(part="all", library_cache=library_cache))
    budgets, passages, orderings = report.tables
    assert [row[0] for row in budgets.rows][:1] == ["similarity"]
    assert {"similarity", "FPS", "fused ranking"} < {row[0] for row in passages.rows}
    assert [row[0] for row in orderings.rows] == ["score", "index", "1:1", "2:1", "3:1"]
    assert report.figures["recall"]["means"]["similarity"]["2048"]["value"] == 1.0
    assert report.figures["passages"]["means"]["fused ranking"]["nDCG@10"]["value"] == 1.0
    assert {row.sample for row in report.rows} == {"q1", "q2", "q3", "q4"}
    json.dumps(report.figures)


def test_what_is_tuned_over_a_ranking_is_what_a_turn_weighs(beir_data, library_cache):
    collection = open_dataset("small", beir_data)
    settings = ExperimentRun(part="all", library_cache=library_cache)
    with candidates(collection, settings) as (cases_of, _), collection_library(collection, settings) as library:
        for case in cases_of(collection.samples):
            for alpha, window in ((0.3, None), (0.55, 1), (0.7, 2)):
                pick = by_mmr(alpha, window, fused=True)
                turn = Settings(k=3, reranker="none", diversity="mmr", alpha=alpha, window=window)
                chosen = retrieve_passages(library, [case.query.question], turn).chosen
                assert [case.documents[at] for at in pick(case, 3, None)] == [c.passage.document_id for c in chosen]


def units(found):
    """Name of a long document to its units, in the order of the text."""
    by_document = {}
    for unit in found.documents():
        by_document.setdefault(unit.source, []).append(unit)
    return by_document


@pytest.fixture
def meetings(tmp_path, write_lines):
    said = ("We met to plan the release.", "Milvexian inhibits factor XIa.", "Lunch is at noon.", "Factor XIa, yes.")
    turns = [{"speaker": "A", "content": text} for text in said]
    asked = [
        {"query": "Which factor does milvexian inhibit?", "relevant_text_span": [["1", "1"], ["3", "9"]]},
        {"query": "When is lunch?", "relevant_text_span": [["2", "2"]]},
    ]
    record = {"meeting_transcripts": turns, "specific_query_list": asked, "general_query_list": []}
    write_lines(tmp_path / "qmsum" / "val.jsonl", [record, record])
    return qmsum.units(tmp_path / "qmsum", "qmsum")


def test_turns_of_a_meeting_are_the_units(meetings):
    assert [unit.id for unit in units(meetings)["meeting1"]] == [f"meeting1#{turn}" for turn in range(4)]
    assert meetings.relevant("meeting0:0") == {"meeting0#1", "meeting0#3"}
    assert meetings.samples[2].document == "meeting1"
    assert len(list(meetings.documents())) == 8


def test_report_on_long_documents(meetings, tmp_path):
    report = diversity.run(meetings, ExperimentRun(part="all", library_cache=tmp_path))
    assert report.figures["recall"]["means"]["similarity"]["256"]["value"] == 1.0
    assert "fused ranking" not in report.figures["passages"]["means"]


def test_the_units_of_one_document_are_the_candidates(meetings, tmp_path, embedder):
    with candidates(meetings, ExperimentRun(library_cache=tmp_path)) as (cases_of, given):
        (case,) = cases_of(meetings.samples[2:3])
    assert case.documents == [unit.id for unit in units(meetings)["meeting1"]]
    assert case.vectors.shape == (4, embedder.dimension)
    assert case.tokens == [embedder.count_tokens(unit.text) for unit in units(meetings)["meeting1"]]
    assert given["settings"] == {"units": 8}


def test_sentences_of_an_article_are_the_units(tmp_path, write_lines):
    text = "Bats carry viruses. SARS came from bats. It spread in 2002."
    write_lines(
        tmp_path / "documents.jsonl", [{"document_id": 7, "text": text}, {"document_id": 8, "text": "Unasked."}]
    )
    answers = [{"text": "bats. It", "answer_start": text.index("bats. It")}, {"text": "gone", "answer_start": None}]
    question = {"id": 1, "document_id": 7, "question": "Where from?", "answers": answers}
    write_lines(tmp_path / "questions.jsonl", [question])
    collection = covidqa.units(tmp_path, "covidqa")
    assert [unit.text for unit in units(collection)["7"]] == text.replace(". ", ".\n").split("\n")
    assert collection.relevant("1") == {"7#1", "7#2"}
    assert set(units(collection)) == {"7"}


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({"meeting_transcripts": None}, "meeting_transcripts is no list of objects"),
        ({"meeting_transcripts": [1]}, "meeting_transcripts is no list of objects"),
        ({"general_query_list": "all"}, "general_query_list is no list of objects"),
        ({"specific_query_list": [{"q": "x"}]}, "has no 'query'"),
        ({"specific_query_list": [{"query": "x", "relevant_text_span": [["a", 1]]}]}, "relevant_text_span is no pair"),
    ],
)
def test_a_damaged_meeting_is_named(tmp_path, write_lines, record, message):
    whole = {"meeting_transcripts": [], "specific_query_list": [], "general_query_list": []}
    write_lines(tmp_path / "val.jsonl", [whole | record])
    with pytest.raises(UnreadableDocument, match=message):
        qmsum.units(tmp_path, "qmsum")


def test_real_data_has_the_counts_of_its_readme(data_dir):
    meetings = qmsum.units(data_dir / "qmsum", "qmsum")
    assert (len(units(meetings)), len(meetings.samples)) == (35, 237)
    articles = covidqa.units(data_dir / "covidqa", "covidqa")
    asked = [line for _, line in json_lines(find(data_dir / "covidqa", "questions.jsonl", origin="here"))]
    marked = [line for line in asked if any(answer["answer_start"] is not None for answer in line["answers"])]
    assert (len(asked), len(articles.samples)) == (962, len(marked))
    assert {asked.document for asked in articles.samples} <= units(articles).keys()


def test_limits_of_one_length_share_a_pair_of_settings():
    """Diversity, section 3.1 has a pair a data set; section 3.2 one up to 10,000 tokens and one from 20,000."""
    limits = [
        SelectionLimit(ratio=0.05),
        SelectionLimit(ratio=0.2),
        *(SelectionLimit(tokens=t) for t in (2_000, 10_000, 20_000, 120_000)),
    ]
    names = [[limit.name for limit in group] for group in lengths_of(limits)]
    assert names == [["c_r 0.05", "c_r 0.2"], ["T_max 2,000", "T_max 10,000"], ["T_max 20,000", "T_max 120,000"]]


@pytest.mark.parametrize(
    ("name", "one_document", "presets"),
    [
        ("triviaqa", True, ("paper-triviaqa-sentences", "paper-triviaqa-sentences-fps")),
        ("narrativeqa", False, ("paper-narrativeqa-chunks-to-10k", "paper-narrativeqa-chunks-from-20k")),
        ("natural_questions-dev", True, ("paper-nq-sentences", "paper-nq-sentences-fps")),
        ("covidqa", True, ("paper-nq-sentences", "paper-nq-sentences-fps")),
    ],
)
def test_each_set_has_the_papers_presets_of_its_own(name, one_document, presets):
    assert presets_of(name, one_document) == presets
    assert set(presets) <= PAPER_PRESETS.keys()


def case(*, fill=False):
    """Four units of one text: two alike that are nearest to the question, and the answer in a third."""
    return SelectionCase(
        query=Sample("q", "Where?", "short", answers=(("Omaha",),)),
        relevant=frozenset({"c"}),
        documents=["a", "b", "c", "d"],
        texts=["t"] * 4,
        places=range(4),
        tokens=[4, 4, 4, 8],
        vectors=np.array([[1.0, 0.05, 0], [1.0, 0.06, 0], [0.7, -0.7, 0.1], [0, 0, 1.0]]),
        asked=np.array([1.0, 0, 0]),
        shown=["It is far.", "It is quite far.", "It is in Omaha.", "Tea is a drink, which has caffeine."],
        fill=fill,
    )


def test_alpha_and_w_are_those_that_select_an_answer():
    """By hand: of 8 tokens similarity takes the two alike and no answer; MMR takes the third where α is small."""
    limit = SelectionLimit(tokens=8)
    tuned = tuned_for_answers([case()], (limit,), ("MMR",))
    assert tuned[limit.name]["MMR"].value == 1.0
    assert tuned[limit.name]["MMR"].alpha < 1
    chosen = selections(tuned)
    assert case().present(chosen["SB"](limit)(case(), None, 8)) == 0
    assert case().present(chosen["SB+MMR"](limit)(case(), None, 8)) == 1


def test_the_curves_are_of_the_answers_that_the_search_saw():
    """Diversity, Fig. 2. By hand: α 1 takes the two alike, α 0 a unit that does not fit, α 0.5 the answer."""
    limit = SelectionLimit(tokens=8)
    (curves,) = _answers_over_alpha(tuned_for_answers([case()], (limit,), ("MMR",)), (limit,), "")
    assert curves.title == "Recall over α: MMR, T_max 8"
    points = {trace.name: dict(trace.points) for trace in curves.traces}
    assert set(points) == {"w 1", "w ∞"}
    for trace in points.values():
        assert (trace[0.0], trace[0.5], trace[1.0]) == (0, 1, 0)


def test_the_papers_settings_are_those_of_the_limits_length():
    """Section 3.2, Natural Questions: α 0.9 up to 10,000 tokens, 0.7 from 20,000, both with w 5."""
    made = as_reported(presets_of("natural_questions", one_document=False))
    # By hand: r and m of the second and third unit are 0.78, 1.00 and 0.6, 0.0. So α 0.9 scores them 0.60 and 0.54, and
    # α 0.7 0.25 and 0.42.
    units = replace(case(), vectors=np.array([[0.8, 0.6, 0], [0.78, 0.6258, 0], [0.6, -0.8, 0], [0, 0, 1.0]]))
    for tokens, second in ((2_000, 1), (10_000, 1), (20_000, 2), (120_000, 2)):
        assert made["SB+MMR, the paper's α and w"](SelectionLimit(tokens=tokens))(units, 2, None) == [0, second]
    assert list(made) == ["SB+MMR, the paper's α and w"]
    assert list(as_reported(presets_of("triviaqa", one_document=True))) == [
        "SB+MMR, the paper's α and w", "SB+FPS, the paper's α and w",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("texts", "places", "picks", "present"),
    [
        (["t", "t", "t"], [0, 1, 2], [1, 0], 1),  # two sentences in a row, picked in the other order
        (["t", "t", "t"], [0, 1, 2], [0, 2], 0),  # what stood between them is not picked
        (["t", "u", "v"], [0, 1, 2], [0, 1], 0),  # the ends of two documents
        (["t", "t", "t"], [0, 40, 80], [0, 1], 0),  # chunks by their first character
    ],
)
def test_an_answer_is_not_made_of_the_ends_of_two_units(texts, places, picks, present):
    """Diversity, section 2.2: whether the answer exists in the selected content."""
    shown = ["He was born in New", "York, where he died.", "York is old."]
    asked = replace(case(), query=Sample("q", "Where?", "short", answers=(("New York",),)))
    asked = replace(asked, texts=texts, places=places, shown=shown)
    assert asked.present(picks) == present


@pytest.mark.parametrize(("fill", "picks"), [(False, [0, 1]), (True, [0, 1])])
def test_a_smaller_limits_picks_are_the_first_of_a_larger_ones(fill, picks):
    limits = (SelectionLimit(tokens=8), SelectionLimit(tokens=12))
    found = cuts(case(fill=fill), by_similarity, limits)
    assert found == [picks, [0, 1, 2]]
