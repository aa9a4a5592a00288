"""The weights of place and reading: what they learn, and that no collection is judged by its own questions."""

import math

import pytest

from preflight_rag.library.search.reading_order import ReadingOrder
from preflight_rag.models.reading.extractive_reader import PassageReading
from training.reading_order import ReadQuestion, fit_order, gains, main, places_of, report, trained


def question(right, *, seen, count=6):
    """A question of which one passage answers, and the reader is sure of one."""
    readings = tuple(
        PassageReading((), 0.9 if place == seen else 0.2, 0.9 if place == seen else 0.2) for place in range(count)
    )
    return ReadQuestion(readings, tuple(place == right for place in range(count)))


BY_READING = [question(place % 6, seen=place % 6) for place in range(60)]
"""The reader is right wherever the passage stands: its place says nothing."""
BY_PLACE = [question(1, seen=place % 6) for place in range(60)]
"""The second passage is right, whatever the reader says."""


def test_what_tells_the_right_passage_gets_the_weight():
    reading, place = fit_order({"a": BY_READING}), fit_order({"a": BY_PLACE})
    assert reading.relevant > 1
    assert reading.place < 0.2
    assert place.place > 0.5
    assert place.relevant < 0.2


def test_every_collection_counts_the_same():
    once = fit_order({"few": BY_READING[:12], "many": BY_PLACE[:12]})
    often = fit_order({"few": BY_READING[:12], "many": BY_PLACE[:12] * 5})
    ratios = [order.place / order.relevant for order in (once, often)]
    assert ratios[1] == pytest.approx(ratios[0], rel=0.25)


def test_places_are_counted_in_both_orders_and_a_question_without_answer_has_none():
    """The search's first passage stays first, so that what the reader is sure of comes second."""
    missing = ReadQuestion(BY_READING[0].readings, (False,) * 6)
    found = places_of(ReadingOrder(0.1, 1.0), [question(4, seen=4), question(0, seen=5), missing])
    assert found == [(5, 2), (1, 1), (math.inf, math.inf)]


def test_gains_are_those_counted_by_hand():
    """Of two questions one has its passage among the search's first two, and both by the reading."""
    cells = gains(ReadingOrder(0.1, 1.0), [question(0, seen=0), question(4, seen=4)]).split(" | ")
    assert cells[0] == "2"
    assert cells[1].startswith("50.0 / 100.0 (+50.0")


def test_a_collection_is_judged_by_weights_of_the_others():
    """Judged by its own weights the collection in which the reader misleads would lose nothing."""
    questions = {"reads": BY_READING, "misled": BY_PLACE}
    lines = report({"development": questions, "test": questions})[1:]
    cells = {line.split(" | ")[0]: line.split(" | ")[3] for line in lines}
    assert cells["misled"].startswith("100.0 / 33.3")


def test_questions_without_a_passage_that_answers_teach_nothing_and_are_not_counted():
    missing = ReadQuestion(BY_READING[0].readings, (False,) * 6)
    alone, beside = trained({"a": BY_READING}), trained({"a": [*BY_READING, missing]})
    assert alone == beside
    assert alone["trained_on"] == {"a": 60}


def test_one_collection_alone_is_refused(tmp_path, capsys):
    with pytest.raises(SystemExit):
        main(["--data", str(tmp_path), "--library-cache", str(tmp_path), "--dataset", "covidqa"])
    assert "name two at least" in capsys.readouterr().err
