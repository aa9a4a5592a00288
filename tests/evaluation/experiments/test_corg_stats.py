"""The corg-stats experiment: how relations are counted, and whole runs with a small corpus to search."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from evaluation.bench import given_sources
from evaluation.datasets import QUESTIONS, open_dataset
from evaluation.experiments import corg_stats
from evaluation.experiments.corg_stats import (
    GIVEN,
    KINDS,
    LABELLED,
    PRINTED,
    RETRIEVED,
    Composition,
    composed,
    coverage,
    labelled,
    unreadable,
)
from evaluation.runs import ExperimentRun
from evaluation.samples import Context, DataSet, Sample, passages_as_corpus
from preflight_rag.state.errors import UsageError
from preflight_rag.state.values import Relation
from preflight_rag.testing.scripted_server import ScriptedServer, prompt_of

pytestmark = pytest.mark.slow

OHIO = Context("1", "", "Springfield is a city in Ohio of 58,662 people.", role="gold", answer="58,662", entity="Ohio")
COPY = replace(OHIO, id="2")
WRONG = Context("3", "", "Springfield is a city in Ohio of 90,000 people.", role="wrong", answer="90,000")
OREGON = Context("4", "", "Springfield in Oregon is home to 61,851.", role="gold", answer="61,851", entity="Oregon")
NOISE = Context("5", "", "Yeast gives off carbon dioxide.", role="noise")
QUESTION = Sample("q", "How many people live in Springfield?", "list", answers=(("58,662",), ("61,851",)),
                    given=(OHIO, COPY, WRONG, OREGON, NOISE))  # fmt: skip


@pytest.fixture
def small(data_dir) -> DataSet:
    """Two questions of RAMDocs, with their own contexts as the corpus."""
    found = open_dataset("ramdocs", data_dir, QUESTIONS)
    questions = found.select("test", 2)
    return replace(found, samples=questions, corpus=passages_as_corpus(questions))


def test_labels_tell_what_contexts_are_about_and_what_they_answer():
    told = labelled(QUESTION)
    assert told.kinds == {"duplicated": 1, "counterfactual": 2, "distracting": 3}
    assert (told.relevant, told.contexts) == (4, 5)
    assert ("1", "2", "duplicated") in told.pairs


def test_things_with_one_answer_are_distracting():
    """COrg, section 2.1: two different descriptors, whatever the answers."""
    twin = replace(OREGON, id="6", answer="58,662")
    told = labelled(replace(QUESTION, given=(OHIO, COPY, twin)))
    assert told.kinds == {"duplicated": 1, "distracting": 2}


def test_the_composition_is_of_each_question_and_then_averaged():
    """COrg, appendix A.3, by hand: (1/3 + 1) / 2 distracting; a question without pairs counts for nothing."""
    first = Composition((("a", "b", "distracting"), ("a", "c", "none"), ("b", "c", "ambiguous")), 3, 4, 2, 1.0)
    told = composed([first, Composition((("a", "b", "distracting"),), 2, 2, 1, 0.5), Composition((), 0, 1, 1, 0.0)])
    assert (told["pairs"], told["relevant"], told["contexts"], told["calls"]) == (4, 5, 7, 4)
    assert {kind: part["value"] for kind, part in told["kinds"].items()} == pytest.approx(
        {"distracting": 2 / 3, "ambiguous": 1 / 6, "none": 1 / 6, "duplicated": 0, "counterfactual": 0}, abs=1e-6
    )
    # Of the paper's four kinds: (1/2 + 1) / 2 distracting.
    assert told["of_four"]["distracting"]["value"] == 0.75
    assert told["kinds"]["ambiguous"]["of_questions"]["value"] == pytest.approx(1 / 3, abs=1e-6)
    assert told["covered"]["value"] == 0.5


def test_one_question_with_many_pairs_does_not_outweigh_the_others():
    """Intervals and means are over questions, not pairs: ten pairs of one kind against one pair of another."""
    many = Composition(tuple((f"a{n}", f"b{n}", "duplicated") for n in range(10)), 5, 5)
    told = composed([many, Composition((("a", "b", "counterfactual"),), 2, 2)])
    assert told["kinds"]["duplicated"]["value"] == told["kinds"]["counterfactual"]["value"] == 0.5


def test_the_kinds_sum_to_one(small, library_cache):
    report = corg_stats.run(small, ExperimentRun(library_cache=library_cache))
    for counted in report.figures.values():
        if counted["with_pairs"]:
            assert sum(part["value"] for part in counted["kinds"].values()) == pytest.approx(1, abs=1e-5)


def test_coverage_is_of_the_answers_that_a_context_holds():
    assert coverage(QUESTION, given_sources(QUESTION)) == 1
    assert coverage(QUESTION, given_sources(QUESTION)[:3]) == 0.5
    assert coverage(Sample("q", "Why?"), []) is None


def test_labels_with_descriptors_tell_all_four_kinds():
    vague = replace(OHIO, id="6", entity="", descriptor=())
    told = labelled(replace(QUESTION, given=(OHIO, vague, OREGON)))
    assert told.kinds == {"ambiguous": 1, "distracting": 1, "none": 1}


@pytest.mark.parametrize("model", ["offline", "simulated"])
def test_given_and_retrieved_contexts_are_told_apart(small, library_cache, model):
    report = corg_stats.run(small, ExperimentRun(library_cache=library_cache, model=model))
    assert list(report.figures) == [LABELLED, GIVEN, RETRIEVED, *([PRINTED] if model == "simulated" else [])]
    assert [row[0] for row in report.tables[0].rows] == [*KINDS, "unreadable", "coverage"]
    paper = {row[0]: row[1] for row in report.tables[2].rows}
    assert paper == {"ambiguous": "25.2", "duplicated": "34.7", "counterfactual": "12.4", "distracting": "27.7",
                     "coverage": "32.7"}  # fmt: skip
    given = sum(len(question.given) for question in small.samples)
    assert report.figures[GIVEN]["contexts"] == report.figures[LABELLED]["contexts"] == given
    assert 0 < report.figures[RETRIEVED]["contexts"] <= 10 * len(small.samples)
    if model == "simulated":
        assert "simulated" in report.tables[0].title


def test_every_pair_that_answers_has_one_relation(small, library_cache):
    report = corg_stats.run(small, ExperimentRun(library_cache=library_cache, limit=1))
    relevant = report.figures[GIVEN]["relevant"]
    assert report.figures[GIVEN]["pairs"] == relevant * (relevant - 1) // 2
    (row,) = (row for row in report.rows if row.condition == GIVEN)
    pairs = [frozenset(pair[:2]) for pair in row.details["relations"]]
    assert len(set(pairs)) == len(pairs)
    assert len(pairs) == report.figures[GIVEN]["pairs"]


def test_a_set_without_contexts_or_corpus_is_refused(as_set):
    found = as_set(Sample("q", "Why?", "short"))
    with pytest.raises(UsageError, match="Made has neither contexts nor documents to search"):
        corg_stats.run(found, ExperimentRun(part="all"))


def test_a_pair_that_no_reply_gave_is_not_among_the_kinds(small, library_cache, monkeypatch, tmp_path):
    """Every reply leaves the second context out and notes nothing: by hand, it has no relation to the first."""

    def reply(body):
        shown = sorted(set(map(int, re.findall(r"^Context(\d+)$", prompt_of(body), re.MULTILINE))))
        return "\n".join(f"Context{n} - Distracting" for n in shown if n > 2) or "nothing"

    one = replace(small, samples=small.samples[:1], corpus=None)
    with ScriptedServer(reply) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        settings = ExperimentRun(
            library_cache=library_cache, model="openai:scripted", reply_cache=tmp_path / "replies.db"
        )
        report = corg_stats.run(one, settings)
    assert report.figures[GIVEN]["unreadable"]["value"] > 0
    (row,) = (row for row in report.rows if row.condition == GIVEN)
    first, second = (passage.id for passage in one.samples[0].given[:2])
    assert not any({first, second} == set(pair[:2]) for pair in row.details["relations"])


def test_a_model_relates_all_retrieved_contexts_by_figure_9(small, library_cache, monkeypatch, tmp_path):
    """COrg, appendix A.3. Everything distracting: by hand, all n contexts are related, in n − 1 calls (Algorithm 1)."""
    asked: list[str] = []

    def reply(body):
        prompt = prompt_of(body)
        asked.append(prompt)
        shown = sorted(set(map(int, re.findall(r"^Context(\d+)$", prompt, re.MULTILINE))))
        return "\n".join(f"Context{n} - Distracting" for n in shown if n > 1)

    with ScriptedServer(reply) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        report = corg_stats.run(
            small,
            ExperimentRun(limit=1, library_cache=library_cache, model="openai:scripted",
                reply_cache=tmp_path / "replies.db"),
        )  # fmt: skip
    counted = report.figures[PRINTED]
    n = counted["contexts"]
    assert n == report.figures[RETRIEVED]["contexts"] > 2
    assert (counted["pairs"], counted["calls"]) == (n * (n - 1) // 2, n - 1)
    assert counted["kinds"]["distracting"]["value"] == 1
    printed = [prompt for prompt in asked if "Relations:" in prompt]
    assert len(printed) == n - 1
    assert not any("Irrelevant" in prompt for prompt in printed)


@pytest.mark.parametrize(
    ("pair", "noted", "is_unreadable"),
    [
        (Relation[int](a=1, b=2, kind="none", inferred=True), set(), True),
        (Relation[int](a=1, b=2, kind="none", inferred=True), {1, 2}, False),
        (Relation[int](a=1, b=2, kind="none"), set(), False),
        (Relation[int](a=1, b=3, kind="none", inferred=True), set(), False),
        (Relation[int](a=1, b=2, kind="duplicated", inferred=True), set(), False),
    ],
)
def test_what_follows_from_notes_or_was_said_can_be_read(pair, noted, is_unreadable):
    assert unreadable(pair, {frozenset({1, 2})}, noted) is is_unreadable
