"""The experiment on statements, on cases whose verdict is known."""

import pytest
from word_reader import WordReader

from evaluation.datasets import STATEMENTS, open_dataset
from evaluation.datasets.statements import statement as statement_of
from evaluation.experiments.statements import judge, run
from evaluation.runs import ExperimentRun
from evaluation.samples import Context, DataSet
from preflight_rag.state.errors import UsageError
from training.reader_thresholds import best_threshold, clear_level

pytestmark = pytest.mark.slow

TEXT = "In 1846 Galle found the planet Neptune in Berlin with a telescope of nine inches. It was where theory said."


def case(statement, verdict, question=""):
    return statement_of(question, statement, Context("", "Neptune", TEXT), verdict, "test")


CASES = [
    case("Galle found the planet Neptune in Berlin", "yes"),
    case("Galle found the planet Neptune in 1846", "yes"),
    case("Green tea is brewed at eighty degrees Celsius", "neither"),
    case("Oats are sown in early spring by farmers", "no"),
]
SET = DataSet("four", "four statements", "nowhere", "", (), tuple(CASES))


def test_cases_are_judged_as_the_check_judges_them():
    found = judge(WordReader(), CASES)
    assert [item.statement.supported for item in found] == [item.known for item in found] == [True, True, False, False]
    assert [item.by_words for item in found] == [True, True, False, False]
    assert found[0].scores["as used"] == found[0].scores["alone"]


def test_short_answers_are_put_behind_their_question():
    (found,) = judge(WordReader(), [case("Galle", "yes", "Who found the planet Neptune?")])
    assert set(found.scores) == {"alone", "behind the question", "as used"}


def test_a_reader_without_a_verdict_is_refused():
    with pytest.raises(UsageError, match="has no verdict"):
        judge(WordReader(heads=False), CASES)


def test_the_threshold_parts_supported_from_others():
    found = judge(WordReader(), CASES)
    supported = [item.scores["as used"] for item in found if item.known]
    others = [item.scores["as used"] for item in found if not item.known]
    assert max(others) < best_threshold([found]) <= min(supported)


@pytest.mark.parametrize(("against", "level"), [({"galle"}, 0.02), ((), 1.0)])
def test_contradicted_is_what_mostly_is(against, level):
    cases = [case("Oats are sown in early spring by farmers", "no" if against else "neither")]
    assert clear_level([judge(WordReader(against=against), cases), []], 0.5) == level


def test_the_report_with_the_shipped_reader():
    report = run(SET, ExperimentRun())
    checks, areas = report.tables
    assert [row[0] for row in checks.rows] == [
        *("as shown", "the reader", "shared words and numbers"),
        *("as shown − the reader", "as shown − shared words and numbers"),
    ]
    assert [row[0] for row in areas.rows] == ["alone"]
    assert len({row.sample for row in report.rows}) == 4
    assert report.figures["means"]["shared words and numbers"]["right"]["value"] == 1


def test_parts_without_statements():
    with pytest.raises(UsageError, match="no question in its development part"):
        SET.select("development")
    with pytest.raises(UsageError, match="limit 0"):
        SET.select("test", 0)
    with pytest.raises(UsageError, match="'bioasq' has no statements"):
        open_dataset("bioasq", None, STATEMENTS)


@pytest.mark.parametrize("name", ["scifact", "clapnq"])
def test_statements_of_published_sets(data_dir, name):
    found = open_dataset(name, data_dir, STATEMENTS).select("test", 60)
    assert {item.passage.verdict for item in found} == {"yes", "no", "neither"}
    assert [item.id for item in found] == [
        item.id for item in open_dataset(name, data_dir, STATEMENTS).select("test", 60)
    ]
    assert all(item.names and item.passage.text for item in found)
