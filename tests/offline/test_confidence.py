"""How likely an answer is right: its signals, each by itself, and the model that weighs them."""

from __future__ import annotations

import dataclasses
import math
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import preflight_rag
from preflight_rag.library import Library
from preflight_rag.models.reading.extractive_reader import PassageReading, Span
from preflight_rag.offline import confidence
from preflight_rag.offline.confidence import (
    SUPPORTED,
    ConfidenceModel,
    answer_features,
    confidence_model,
    find_unmentioned_topics,
    log_odds,
    question_terms,
    share_of_prose,
    support_log_odds,
    type_features,
)
from preflight_rag.offline.found_answers import ReadPassage, distinct_answers, group_equal_answers
from preflight_rag.state.errors import UsageError
from preflight_rag.state.reading import Source
from preflight_rag.state.values import Document

DOCUMENTS = [
    path.read_text(encoding="utf-8").lower() for path in (Path(preflight_rag.__file__).parent / "demo").glob("*.md")
]


def documents_with(word):
    return sum(bool(re.search(rf"(?<![a-z]){word}(?![a-z])", text.partition("---\n")[2])) for text in DOCUMENTS)


@pytest.mark.parametrize("word", ["planet", "penicillin", "city"])
def test_a_word_weighs_by_how_few_documents_of_the_library_hold_it(library, word):
    total = max(documents_with(common) for common in ("the", "of", "and"))
    expected = math.log(1 + total / (0.5 + documents_with(word))) / math.log(1 + total / 0.5)
    terms = question_terms(f"Which {word} is it?", library, [])
    assert list(terms.weights.values()) == [pytest.approx(expected, abs=1e-4)]
    assert not terms.unseen


def test_a_name_that_no_document_holds_is_unseen_and_weighs_most(library):
    terms = question_terms("Who is Maradona of Springfield?", library, [])
    assert terms.names == {"maradona", "springfield"}
    assert (terms.unseen, terms.weights["maradona"]) == ({"maradona"}, 1.0)
    assert 0 < terms.weights["springfield"] < 1


def test_without_a_library_the_passages_say_how_rare_a_word_is():
    """Of two passages both have "cat", one "dog", none "cow": ln(1+2/2.5), ln(1+2/1.5) and ln(1+2/0.5) of the last."""
    sources = [Source(1, "a", "Cat", "dog"), Source(2, "b", "", "A cat.")]
    terms = question_terms("cat dog cow", None, sources)
    assert terms.weights == {"cat": 0.3652, "dog": 0.5265, "cow": 1.0}
    assert terms.unseen == {"cow"}
    assert terms.share({"dog", "cow"}) == pytest.approx(1.5265 / 1.8917)
    assert (terms.rarest_missing({"cow"}), terms.rarest_missing({"cat", "dog", "cow"})) == (0.5265, 0.0)


@pytest.mark.parametrize("question", ["", "?", "the of and", "\ud800", "空はなぜ青いのですか", "IL-6 2022 " * 200])
def test_any_question_has_terms_with_weights_between_nothing_and_one(library, question):
    terms = question_terms(question, library, [Source(1, "a", "\ud800", "\ud800 x")])
    assert all(0 <= weight <= 1 for weight in terms.weights.values())
    assert 0 <= terms.share(terms.weights) <= 1
    assert terms.unseen <= terms.weights.keys() >= terms.names


@pytest.mark.parametrize(
    ("question", "answer", "true"),
    [
        ("When did it end?", "1945", {"asks_date", "right_type"}),
        ("When did it end?", "in Berlin", {"asks_date", "wrong_type"}),
        ("How many people live there?", "3,506", {"asks_number", "right_type"}),
        ("How many people live there?", "in Berlin", {"asks_number", "wrong_type"}),
        ("How many people came?", "18 May", {"asks_number", "wrong_type"}),
        ("How long does it take?", "9 October 2024", {"asks_number", "wrong_type"}),
        ("How long was she away?", "9 October to 20 October", {"asks_number"}),
        ("Who discovered it?", "Alexander Fleming", {"asks_person"}),
        ("Who discovered it?", "mould", {"asks_person", "wrong_type"}),
        ("Who was appointed?", "Acme Inc., has been appointed chair", {"asks_person", "wrong_type"}),
        ("Which city is it?", "Paris", {"asks_place"}),
        ("Where is it?", "12", {"asks_place", "figure_unasked"}),
        ("What time does the pool close on Friday?", "Mondays", {"wrong_type"}),
        ("What time does the ferry leave?", "2 May", {"wrong_type"}),
        ("At what time does the choir meet?", "in the hall", {"wrong_type"}),
        ("What are the visiting hours?", "Tuesdays", {"wrong_type"}),
        ("Is it open? And what time does it close?", "Mondays", {"wrong_type"}),
        ("What time does the pool close?", "half past eight", set()),
        ("What time does the pool close?", "noon", set()),
        ("What time does the watch change?", "1800 hours", set()),
        ("What time of year do herons nest?", "spring", set()),
        ("What is the dose of ibuprofen?", "400", {"asks_number", "right_type", "lacks_unit"}),
        ("What is the dose of ibuprofen?", "400 mg", {"asks_number", "right_type"}),
    ],
)
def test_whether_an_answer_is_of_the_type_that_is_asked_for(question, answer, true):
    found = type_features(question, answer)
    flags = {name for name, value in found.items() if name not in {"length", "repeats"} and value == 1.0}
    assert flags == true


@pytest.mark.parametrize(
    ("answer", "repeats"), [("the tower", 1.0), ("the white tower", 0.5), ("330 m", 0.0), ("", 1.0)]
)
def test_an_answer_that_only_repeats_the_question_is_known(answer, repeats):
    assert type_features("How high is the tower?", answer)["repeats"] == repeats


@pytest.mark.parametrize(
    ("sentence", "share"),
    [
        ("The drug was given.", 1.0),
        ("The drug was given 12 times.", 0.8333),
        ("Aspirin Placebo", 0.5),
        ("12.5 (3.1) 14", 0.0),
        ("| the | drug |", 0.0),
        ("the drug    12", 0.0),
        ("", 0.0),
        ("\ud800", 0.0),
    ],
)
def test_prose_is_told_from_the_cells_of_a_table(sentence, share):
    assert share_of_prose(sentence) == share


def test_the_odds_of_a_probability_are_bounded():
    assert log_odds(0.5) == 0
    assert log_odds(0.9) == pytest.approx(math.log(9))
    assert log_odds(0.0) == pytest.approx(-log_odds(1.0)) == pytest.approx(math.log(0.001 / 0.999))


@pytest.mark.parametrize(("a", "b", "probability"), [(1.0, 0.5, 0.8808), (0.0, 0.5, 0.5), (-400.0, 0.0, 0.0)])
def test_the_model_is_a_logistic_one(a, b, probability):
    """0.5 + 2 - 0.5 = 2, and 1/(1+e^-2) = 0.8808."""
    model = ConfidenceModel(0.5, {"a": 2.0, "b": -1.0}, answered=0.7, evidence=0.1)
    assert model.probability({"a": a, "b": b, "other": 9.0}) == probability


@given(st.floats(0, 1), st.floats(-4, 4), st.floats(-3, 3))
def test_whatever_an_answers_sentence_says_the_probability_lies_within_its_bounds(yes, others, weight):
    model = ConfidenceModel(0.0, {"others": 1.0, SUPPORTED: weight}, answered=0.7, evidence=0.1)
    known = {"others": others, SUPPORTED: support_log_odds(PassageReading((), 0.5, None, (yes, 1 - yes, 0.0)))}
    least, most = model.bounds({"others": others})
    assert least <= model.probability(known) <= most
    assert model.bounds(known) == (model.probability(known),) * 2


def passage(n, text, answer, answerable, document):
    start = text.index(answer)
    span = Span(start, start + len(answer), answer, 5.0)
    return ReadPassage(
        Source(n, f"p{n}", "Broken Bow", text, document_id=document), PassageReading((span,), answerable)
    )


def features(*read, question="What people live in Broken Bow?"):
    terms = question_terms(question, None, [item.source for item in read])
    groups = group_equal_answers([answer for item in read for answer in distinct_answers(item)])
    return answer_features(question, groups[0], groups, read, terms)


def test_what_speaks_for_an_answer():
    """Another document that agrees counts; another passage of the same one, and one that hardly answers, do not."""
    read = [
        passage(1, "In Broken Bow live 3,506 people.", "3,506", 0.9, "a"),
        passage(2, "There live 3,506.", "3,506", 0.8, "a"),
        passage(3, "It has 3506.", "3506", 0.5, "b"),
        passage(4, "It had 3506.", "3506", 0.2, "c"),
        passage(5, "In Broken Bow live 4,228 people.", "4,228", 0.6, "d"),
    ]
    found = features(*read)
    assert found["agree"] == pytest.approx(math.log(2))
    assert found["answerable"] == found["probability"] == pytest.approx(math.log(9))
    assert found["differ"] == pytest.approx(math.log(0.6 / 0.4))
    assert found["gap"] == pytest.approx(math.log(9) - math.log(0.6 / 0.4))
    assert (found["rank"], found["margin"]) == (0.0, 1.0)
    assert support_log_odds(PassageReading((), 0.5, None, (0.8, 0.1, 0.1))) == pytest.approx(math.log(4))
    assert found["covered_sentence"] == found["covered"] == 1.0


def test_names_that_do_not_stand_where_the_answer_does_speak_against_it():
    read = passage(1, "In Broken Bow live 3,506 people. Elsewhere live 12.", "12", 0.9, "a")
    found = features(read, question="How many people live in Elsewhere, Utah?")
    assert found["names_missing"] == found["names_missing_sentence"] == 0.5
    assert (found["name_unseen"], found["rarest_missing"]) == (1.0, 1.0)


@pytest.mark.parametrize(
    ("question", "sentence", "other"),
    [
        ("How many people lived in Broken Bow in 2020?", "In 2010 there lived 3,559 people.", True),
        ("How many people lived in Broken Bow in 2020?", "In 2020, after 2010, there lived 3,559 people.", False),
        ("How many people lived in Broken Bow in 2020?", "There lived 3,559 people.", False),
        ("How many people lived in Broken Bow in 2020?", "From 2018 to 2022 there lived 3,559 people.", False),
        ("How many people lived in Broken Bow in 2020?", "With 1500 others there lived 3,559 people.", False),
        ("How many people live in Broken Bow?", "In 2010 there lived 3,559 people.", False),
        ("Was there a fire in 2020? How many people lived there in 2010?", "In 2010 there lived 3,559 people.", False),
        ("When was the census of 2020 about its 3,559 people published?", "Of 3,559 people it told in 2021.", False),
    ],
)
def test_a_sentence_about_another_year_is_known(question, sentence, other):
    found = features(passage(1, sentence, "3,559", 0.9, "a"), question=question)
    assert bool(found["another_year"]) is other
    model = ConfidenceModel(9.0, {}, answered=0.5, evidence=0.1)
    assert model.probability(found) > 0.99
    assert not (other and model.claims({**found, SUPPORTED: 0.0}))


def test_a_document_of_the_year_that_is_asked_for_may_name_others():
    read = passage(1, "In 2010 there lived 3,559 people.", "3,559", 0.9, "a")
    titled = ReadPassage(dataclasses.replace(read.source, title="Census of 2020"), read.reading)
    assert not features(titled, question="How many people lived in Broken Bow in 2020?")["another_year"]


@pytest.mark.parametrize(("title", "other"), [("RESULTS_2019_10K", True), ("Results of 2020", False), ("News", False)])
def test_a_sentence_without_a_year_is_of_its_documents(title, other):
    read = passage(1, "There lived 3,559 people.", "3,559", 0.9, "a")
    titled = ReadPassage(dataclasses.replace(read.source, title=title), read.reading)
    found = features(titled, question="How many people lived in Broken Bow in 2020?")
    assert bool(found["another_year"]) is other


@pytest.mark.parametrize(
    ("title", "text", "other"),
    [
        ("Suedwind 10-K", "Net debt: 1,145 | Total debt: 1,160", True),
        ("NORDWIND_10K", "Net debt: 1,145 | Total debt: 1,160", False),
        ("10-K", "Debt of Nordwind. | Net debt: 1,145 | Total debt: 1,160", False),
        ("Suedwind 10-K", "The net debt was 1,145.", False),  # a sentence is judged by the model's weights
    ],
)
def test_a_row_of_another_name_is_known(title, text, other):
    read = passage(1, text, "1,145", 0.9, "a")
    titled = ReadPassage(dataclasses.replace(read.source, title=title), read.reading)
    assert bool(features(titled, question="What was Nordwind's net debt?")["another_name"]) is other


def test_the_question_before_a_follow_up_does_not_say_what_type_is_asked_for():
    found = type_features("Who founded Microsoft? And when was it founded?", "April 4, 1975")
    assert (found["asks_person"], found["asks_date"], found["right_type"], found["wrong_type"]) == (0.0, 1.0, 1.0, 0.0)


def test_every_weight_is_of_a_feature_that_is_worked_out():
    found = {**features(passage(1, "Zinc did shorten the cold.", "Zinc", 0.9, "a")), SUPPORTED: 0.0}
    model = confidence_model()
    assert model.weights.keys() <= found.keys()
    assert 0 <= model.evidence <= model.answered <= 1
    assert 0 <= model.probability(found) <= 1


@pytest.mark.parametrize("text", [None, "", "[]", "null", "3", "{}", '{"bias": 0.0}', '{"models": {}}', "\ud800"])
def test_damaged_weights_are_refused_with_the_way_out(tmp_path, monkeypatch, text):
    monkeypatch.setattr(confidence, "WEIGHTS", tmp_path / "confidence.json")
    if text is not None:
        confidence.WEIGHTS.write_text(text, encoding="utf-8", errors="surrogatepass")
    confidence_model.cache_clear()
    try:
        with pytest.raises(UsageError, match=r"confidence\.json") as caught:
            confidence_model()
    finally:
        confidence_model.cache_clear()
    assert "Install" in caught.value.help


@given(st.floats(0, 1), st.floats(-1e6, 1e6))
def test_a_probability_is_one_whatever_the_features_are(answerable, value):
    model = ConfidenceModel(0.0, {"a": 1.0, "b": 1.0}, 0.7, 0.1)
    assert 0 <= model.probability({"a": log_odds(answerable), "b": value}) <= 1


def test_words_of_the_question_that_no_document_has_are_named(embedder, tmp_path):
    with Library.open(tmp_path / "library", embedder=embedder, create=True) as library:
        library.add(
            [Document(id="a", source="a", title="Doses", text="The dose of ibuprofen is 400 mg. Take it twice.")]
        )
        sources = [Source(1, "a", "Doses", "The dose of ibuprofen is 400 mg. Take it twice.")]
        for question, missing in (
            ("What is the dose of Warfarin?", ["Warfarin"]),
            ("What is the dose of ibuprofen?", []),
            ("What is the dose of ibuprofen for cats or dogs?", ["cats", "dogs"]),
            ("Who conducted the ibuprofen study?", []),
            ("Who was cast as doctor?", []),
            ("What is warfarin?", ["warfarin"]),
            ("How many doses of ibuprofen?", []),
            ("Who took ibuprofen?", []),
            ("How much ibuprofen is taken at the moment?", []),
            ("What do we take for the moment?", []),
            ("Which dose of ibuprofen is the cheapest?", []),
            ("Which dose is the longest?", []),
            ("Who found the moment of inertia?", ["moment", "inertia"]),
            ("Who found the forest?", ["forest"]),
            ("When was the data of the ibuprofen study written?", []),
        ):
            terms = question_terms(question, library, sources)
            assert find_unmentioned_topics(question, library, terms) == missing
            assert find_unmentioned_topics(question, None, terms) == []


def test_a_word_that_a_document_has_in_the_plural_is_not_called_absent(embedder, tmp_path):
    with Library.open(tmp_path / "library", embedder=embedder, create=True) as library:
        library.add([Document(id="a", source="a", title="Minutes", text="That differs from your predecessors, then.")])
        place = Source(1, "a", "Minutes", "Flat 5 A belongs to Ada Orr.")
        asked = "Who owns flat 5A?"
        assert find_unmentioned_topics(asked, library, question_terms(asked, library, [place])) == []
        assert find_unmentioned_topics(asked, library, question_terms(asked, library, [])) == ["5A"]
        question = "How long does her predecessor stay with the boxes?"
        terms = question_terms(question, library, [])
        assert find_unmentioned_topics(question, library, terms) == ["boxes"]
