"""The experiment `rewriting`."""

import random

import pytest

from evaluation.experiments import run
from evaluation.experiments.rewriting import OUTCOMES, SLIPS, planted, slip
from evaluation.runs import ExperimentRun
from preflight_rag.library.search.spelling import Speller

pytestmark = pytest.mark.slow


def test_every_question_is_corrected_and_climbed(beir_data, library_cache):
    (report,) = run("rewriting", beir_data, ["small"], ExperimentRun(part="all", library_cache=library_cache))
    assert [table.title for table in report.tables] == ["Spelling by rules", "The ladder in the library"]
    assert {row.sample for row in report.rows} == {"q1", "q2", "q3", "q4"}
    assert report.figures["spelling"]["means"]["changed as written"]["questions"]["value"] == 0.0
    planted = {row.sample for row in report.rows if "planted" in row.details}
    outcomes = [row for row in report.rows if row.condition in OUTCOMES and row.score]
    assert sorted(row.sample for row in outcomes) == sorted(planted)


@pytest.mark.parametrize("kind", SLIPS)
def test_a_slip_keeps_the_first_letter_and_one_edit(kind):
    typed = slip("treatment", kind, random.Random(1))
    assert typed[0] == "t"
    assert abs(len(typed) - 9) <= 1


def test_a_planted_slip_is_no_word(library):
    speller = Speller(library.vocabulary)
    text, word, typed = planted("the hottest planet of the system", speller, random.Random(0))
    assert typed in text
    assert word not in text
    assert planted("a b c", speller, random.Random(0)) is None
