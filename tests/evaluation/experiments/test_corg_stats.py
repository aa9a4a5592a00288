"""The corg-stats experiment: how relations are counted, and whole runs with a small corpus to search."""

from __future__ import annotations

from dataclasses import replace

import pytest

from preflight_rag.evaluation.datasets import QUESTIONS, open_dataset
from preflight_rag.evaluation.experiments import corg_stats
from preflight_rag.evaluation.experiments.corg_stats import (
    GIVEN,
    KINDS,
    LABELLED,
    RETRIEVED,
    Composition,
    composed,
    labelled,
)
from preflight_rag.evaluation.runs import Run
from preflight_rag.evaluation.samples import Context, DataSet, Sample, passages_as_corpus
from preflight_rag.state.errors import UsageError

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


def test_shares_are_of_pairs_and_of_questions():
    first = Composition((("a", "b", "distracting"), ("a", "c", "none"), ("b", "c", "none")), 3, 4, 2)
    told = composed([first, Composition((("a", "b", "none"),), 2, 2, 1), Composition((), 0, 1, 1)])
    assert (told["pairs"], told["relevant"], told["contexts"], told["calls"]) == (4, 5, 7, 4)
    assert told["kinds"]["distracting"]["of_pairs"]["value"] == 0.25
    assert told["kinds"]["none"]["of_questions"]["value"] == pytest.approx(2 / 3, abs=1e-6)
    assert told["related"]["value"] == pytest.approx(1 / 3, abs=1e-6)


@pytest.mark.parametrize("model", ["offline", "simulated"])
def test_given_and_retrieved_contexts_are_told_apart(small, library_cache, model):
    report = corg_stats.run(small, Run(library_cache=library_cache, model=model))
    assert list(report.figures) == [LABELLED, GIVEN, RETRIEVED]
    assert [row[0] for row in report.tables[0].rows] == list(KINDS)
    given = sum(len(question.given) for question in small.samples)
    assert report.figures[GIVEN]["contexts"] == report.figures[LABELLED]["contexts"] == given
    assert report.figures[RETRIEVED]["contexts"] > 0
    if model == "simulated":
        assert "simulated" in report.tables[0].title


def test_every_pair_that_answers_has_one_relation(small, library_cache):
    report = corg_stats.run(small, Run(library_cache=library_cache, limit=1))
    relevant = report.figures[GIVEN]["relevant"]
    assert report.figures[GIVEN]["pairs"] == relevant * (relevant - 1) // 2
    (row,) = (row for row in report.rows if row.condition == GIVEN)
    pairs = [frozenset(pair[:2]) for pair in row.details["relations"]]
    assert len(set(pairs)) == len(pairs)
    assert sum(part["pairs"] for part in report.figures[GIVEN]["kinds"].values()) == len(pairs)


def test_a_set_without_contexts_or_corpus_is_refused(as_set):
    found = as_set(Sample("q", "Why?", "short"))
    with pytest.raises(UsageError, match="Made has neither contexts nor documents to search"):
        corg_stats.run(found, Run(part="all"))
