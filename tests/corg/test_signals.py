"""The signals that passages need COrg."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from passage_refs import passage_refs
from value_reader import ValueReader

from preflight_rag.corg.signals import ANSWERS, SIGNALS, first_edit, measure, read_signals, trained
from preflight_rag.state.reading import Source

OKLAHOMA = ("Broken Bow, Oklahoma", "Broken Bow is a city. At the census of 2020 the population was 4,228.", None)
NEBRASKA = ("Broken Bow, Nebraska", "Broken Bow is a city. At the census of 2020 the population was 3,506.", None)
OLD_TOWER = ("The Eiffel Tower", "The Eiffel Tower in Paris is 324 metres tall, antennas included.", "2019-04-01")
NEW_TOWER = ("The Eiffel Tower", "The Eiffel Tower in Paris is 330 metres tall since March.", "2024-04-01")
OTHER_TOWER = ("The Eiffel Tower", "People come up by lift or by 674 stairs to the top of the tower.", "2024-04-01")
BREAD = ("Bread", "Bread is baked from flour and water in an oven at 230 degrees since 1850.", "1990")
LIFE = "{} was a general of the army. He was born in Alexandria on {} and he died in Texas. His father kept a shop."


def passages(*documents, cosine=0.6, one_document=False):
    sources = [
        Source(n, str(n), title, text, "", date, document_id="1" if one_document else str(n), start=1000 * n)
        for n, (title, text, date) in enumerate(documents, 1)
    ]
    return passage_refs(sources, [cosine] * len(sources), 100), sources


@pytest.mark.parametrize(
    ("question", "documents", "signals"),
    [
        ("How many people live in Broken Bow?", (OKLAHOMA, NEBRASKA), {"names", "values"}),
        ("how many people live in broken bow", (OKLAHOMA, NEBRASKA, BREAD), {"names", "values"}),
        ("How many people live in Broken Bow, Oklahoma?", (OKLAHOMA, NEBRASKA), set()),
        ("How tall is the Eiffel Tower?", (OLD_TOWER, NEW_TOWER, BREAD), {"values", "dates"}),
        ("How tall is the Eiffel Tower?", (OLD_TOWER, BREAD), set()),
        ("Why was the Eiffel Tower built?", (OLD_TOWER, OTHER_TOWER), set()),
        ("Is bread baked?", (BREAD, BREAD), {"duplicates"}),
        ("?!", (OKLAHOMA, BREAD), set()),
        ("", (("", "", None),), set()),
    ],
)
def test_each_signal_fires_on_what_it_is_for(question, documents, signals):
    found = measure(question, *passages(*documents))
    assert {name for name, signal in found.items() if signal.score} == signals
    assert all(signal.reason for signal in found.values() if signal.score)


def test_a_copy_with_another_date_differs_though_it_shares_the_other_dates():
    names = ("Blackshear M. Bryan (1900-1977)",) * 2
    texts = (LIFE.format(names[0], "8 February 1900"), LIFE.format(names[1], "15 July 1905"))
    found = measure("When was General Bryan born?", *passages(*(("", text, None) for text in texts)))
    assert found["values"].score > 0.5
    assert found["duplicates"].score == 0


def test_passages_of_one_document_do_not_contradict_each_other():
    found = measure("How tall is the Eiffel Tower?", *passages(OLD_TOWER, NEW_TOWER, one_document=True))
    assert not any(signal.score for signal in found.values())


def test_passages_far_from_the_question_do_not_count():
    refs, sources = passages(OKLAHOMA, NEBRASKA)
    refs[1]["cosine"] = -0.5
    assert not any(signal.score for signal in measure("How many people live in Broken Bow?", refs, sources).values())


@pytest.mark.parametrize(("kind", "names"), [("none", SIGNALS), ("reader", (*SIGNALS, ANSWERS))])
def test_the_score_is_a_probability_that_grows_with_each_signal(kind, names):
    model = trained()[kind]
    none = dict.fromkeys(names, 0.0)
    assert set(model.weights) == set(names)
    assert 0 < model.score(none) < 0.5
    assert all(model.score({**none, name: 1.0}) >= model.score(none) for name in names)
    assert model.score(dict.fromkeys(names, 1.0)) > 0.9


@pytest.mark.parametrize(
    ("question", "documents", "score"),
    [
        ("How many people live in Broken Bow?", (OKLAHOMA, NEBRASKA), 0.9),
        ("How many people live in Broken Bow?", (OKLAHOMA, OKLAHOMA), 0.0),
        ("How many people live in Broken Bow?", (OKLAHOMA, BREAD), 0.01),
        ("How tall is the Eiffel Tower?", (OLD_TOWER, NEW_TOWER), 0.9),
        ("Is the Eiffel Tower in Paris?", (OLD_TOWER, ("The Eiffel Tower", "The tower is not in Paris.", None)), 1.0),
        ("?!", (("", "", None),), 0.0),
    ],
)
def test_a_reader_tells_whether_the_answers_differ(question, documents, score):
    found = measure(question, *passages(*documents), ValueReader())[ANSWERS]
    assert found.score == score
    assert found.reason.startswith("different answers: ") is bool(score)


def test_two_answers_of_one_document_are_no_contradiction():
    asked = "How many people live in Broken Bow?", *passages(OKLAHOMA, NEBRASKA, one_document=True)
    assert measure(*asked, ValueReader())[ANSWERS].score == 0


def test_with_a_reader_the_decision_names_its_signal():
    found = read_signals("How many people live in Broken Bow?", *passages(OKLAHOMA, NEBRASKA), ValueReader())
    assert found.as_numbers()["corg_answers"] == 0.9
    assert any(reason.startswith("different answers: 4,228 / 3,506") for reason in found.fired)
    assert read_signals("Broken Bow", [], [], ValueReader()).score == 0


def test_the_numbers_and_the_reasons_go_into_the_decision():
    found = read_signals("How many people live in Broken Bow?", *passages(OKLAHOMA, NEBRASKA))
    assert set(found.as_numbers()) == {"corg", "corg_names", "corg_values", "corg_duplicates", "corg_dates"}
    assert found.as_numbers()["corg"] == found.score
    assert "Broken Bow, Oklahoma; Broken Bow, Nebraska" in found.fired[0]
    assert read_signals("Broken Bow", [], []).score == 0


@pytest.mark.parametrize(
    ("a", "b", "edit"),
    [
        ("it was built in Rome by them", "it was built in Paris by them", ("Rome", "Paris")),
        ("born on 8 February 1900 in Texas", "born on 15 July 1905 in Texas", ("8 February 1900", "15 July 1905")),
        ("the sky is blue because air", "the sky is dark because air", None),
        ("so it goes", "so it goes", None),
        ("", "so it goes", None),
    ],
)
def test_an_edit_is_another_name_or_number_between_the_same_words(a, b, edit):
    assert first_edit(a.split(), b.split()) == edit


texts = st.text(alphabet="aB 1.,()-\n?é", max_size=80)


@given(texts, st.lists(st.tuples(texts, texts, st.none() | texts), max_size=4))
def test_any_text_gives_scores_between_0_and_1(question, documents):
    found = read_signals(question, *passages(*documents))
    assert all(0 <= number <= 1 for number in found.as_numbers().values())
