"""Relations of contexts without a language model: notes, the five relations, and answers of a group."""

from __future__ import annotations

import json
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from value_reader import ValueReader

from preflight_rag.corg.entities import descriptor_of, heading_of
from preflight_rag.offline import relations as offline_relations
from preflight_rag.offline.reader import OfflineReader
from preflight_rag.offline.relations import ContextReader
from preflight_rag.state.errors import UsageError
from preflight_rag.state.reading import Source
from preflight_rag.text.headers import NOT_ANSWERED
from preflight_rag.text.names import speaks_of, surface_name
from preflight_rag.text.values import TextValue, asked_kind, excerpt, same_value, values

QUESTION = "What is the population of Broken Bow?"
NEBRASKA = Source(1, "a", "Broken Bow, Nebraska", "Broken Bow is a city in Nebraska. The population was 3,491 in 2020.")
OKLAHOMA = Source(2, "b", "Broken Bow, Oklahoma", "Broken Bow is a city in Oklahoma. The population was 4,228 in 2020.")
COPY = Source(
    3, "c", "Broken Bow, Nebraska", "Broken Bow is a city in Nebraska. Its population was 3,491 people in 2020."
)
EDITED = Source(4, "d", "Broken Bow, Nebraska", "Broken Bow is a city in Nebraska. The population was 9,000 in 2020.")
BREAD = Source(5, "e", "Bread", "Yeast gives off carbon dioxide. The gas makes the dough swell.")
RELATED = pytest.mark.parametrize(
    ("pivot", "other", "kind"),
    [
        (NEBRASKA, OKLAHOMA, "distracting"),
        (NEBRASKA, COPY, "duplicated"),
        (NEBRASKA, EDITED, "counterfactual"),
        (NEBRASKA, BREAD, "none"),
    ],
)


@pytest.fixture(scope="module")
def reader(embedder) -> OfflineReader:
    return OfflineReader(embedder)


@pytest.mark.parametrize(
    ("question", "kind", "name"),
    [
        ("When was General Bryan born?", "date", "General Bryan"),
        ("302 Squadron was formed in which year?", "date", "302 Squadron"),
        ("How many people live in Broken Bow?", "number", "Broken Bow"),
        ("What is the population of Pinehurst, Texas?", "number", "Pinehurst, Texas"),
        ('Who is the director of "The Power of Darkness"?', "name", "The Power of Darkness"),
        ("What sport is Bobby Carpenter associated with?", "name", "Bobby Carpenter"),
        ("Does aspirin prevent strokes?", "verdict", ""),
        ("", "name", ""),
    ],
)
def test_a_question_asks_for_a_kind_about_a_name(question, kind, name):
    assert (asked_kind(question), surface_name(question)) == (kind, name)


@pytest.mark.parametrize(
    ("name", "title", "text", "descriptor"),
    [
        ("Broken Bow", "Broken Bow, Nebraska", "", "Nebraska"),
        ("Interiors", "Interiors (Brad album)", "", "Brad album"),
        ("Broken Bow", "", "Broken Bow, Oklahoma Broken Bow is a city.", "Oklahoma"),
        ("Broken Bow", "", "The town of Broken Bow is a city in Oklahoma, United States.", "city in Oklahoma"),
        ("Bobby Carpenter", "", "Bobby Carpenter (American football) threw.", "American football"),
        ("General Bryan", "Blackshear M. Bryan", "He was born in 1900.", "Blackshear M. Bryan"),
        ("Broken Bow", "", "The bow was broken.", None),
        ("", "Bread", "Yeast gives off gas.", None),
    ],
)
def test_descriptors_come_from_titles_and_from_what_stands_behind_the_name(name, title, text, descriptor):
    assert descriptor_of(name, title, text) == descriptor


@pytest.mark.parametrize(
    ("sentence", "question", "first"),
    [
        ("He was born on 8 February 1900 and died in 1977.", "When was Bryan born?", "8 February 1900"),
        ("In 2010 there were 3,559 people and 1,500 households.", "How many people live there?", "3,559 people"),
        ("The film was directed by Mahesh Bhatt in Mumbai.", "Who directed the film?", "Mahesh Bhatt"),
        ("Aspirin did not prevent strokes.", "Does aspirin prevent strokes?", "no"),
        ("Some seven towns have a school.", "How many towns have a school?", "seven towns"),
    ],
)
def test_the_value_nearest_to_the_question_comes_first(sentence, question, first):
    assert values(sentence, asked_kind(question), question)[0].text == first


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        ("born 8 February 1900", "born February 8, 1900", True),
        ("born in 1900", "born February 8, 1900", True),
        ("born in 1905", "born February 8, 1900", False),
        ("born in March 1900", "born February 8, 1900", False),
    ],
)
def test_dates_agree_unless_they_contradict_each_other(a, b, same):
    first, second = (values(text, "date", "When was he born?")[0] for text in (a, b))
    assert same_value(first, second) is same_value(second, first) is same


def test_values_of_different_kinds_differ():
    assert not same_value(TextValue("1900", "date", (1900.0, 0.0, 0.0)), TextValue("1900", "number", (1900.0,)))


@given(st.text(max_size=200), st.text(max_size=60))
def test_any_text_can_be_read(text, question):
    kind = asked_kind(question)
    assert all(value.text for value in values(text, kind, question))
    assert heading_of(text) in text
    assert excerpt(text, kind, question, 5) in text
    descriptor_of(surface_name(question), text, text)


@RELATED
async def test_relations_follow_from_descriptors_and_answers(reader, pivot, other, kind):
    there = (await reader.relate(question=QUESTION, pivot=pivot, others=[other])).value
    back = (await reader.relate(question=QUESTION, pivot=other, others=[pivot])).value
    assert there.kinds == {other.n: kind}
    assert back.kinds == {pivot.n: kind}


async def test_notes_name_entity_descriptor_and_answer(reader):
    compared = (await reader.relate(question=QUESTION, pivot=NEBRASKA, others=[OKLAHOMA, BREAD])).value
    found = {n: (note.entity, note.descriptor, note.answer) for n, note in compared.notes.items()}
    assert found[1] == ("Broken Bow", "Nebraska", "3,491")
    assert found[2] == ("Broken Bow", "Oklahoma", "4,228")
    assert found[5][2] is None


async def test_notes_are_the_same_whatever_the_pivot(reader):
    contexts = [NEBRASKA, OKLAHOMA, EDITED]
    replies = [
        (await reader.relate(question=QUESTION, pivot=pivot, others=others)).value.notes
        for pivot, *others in permutations(contexts)
    ]
    assert all(reply == replies[0] for reply in replies)


async def test_a_group_is_answered_with_one_line_for_each_entity(reader):
    draft = (await reader.answer_group(question=QUESTION, sources=[NEBRASKA, OKLAHOMA, BREAD], plural=True)).value
    assert draft.text.split("\n") == [
        "Broken Bow (Nebraska): The population was 3,491 in 2020. [1]",
        "Broken Bow (Oklahoma): The population was 4,228 in 2020. [2]",
    ]
    assert draft.quotes == ((1, "The population was 3,491 in 2020."), (2, "The population was 4,228 in 2020."))


async def test_a_group_that_answers_nothing_says_so(reader):
    for sources in ([], [BREAD]):
        draft = (await reader.answer_group(question=QUESTION, sources=sources, plural=False)).value
        assert (draft.text, draft.found, draft.quotes) == (NOT_ANSWERED, False, ())


async def test_what_was_read_is_bounded(embedder, monkeypatch):
    monkeypatch.setattr(offline_relations, "CACHED_CONTEXTS", 2)
    reader = OfflineReader(embedder, extractive := ValueReader())
    for _ in range(2):
        await reader.relate(question=QUESTION, pivot=NEBRASKA, others=[OKLAHOMA, EDITED, BREAD])
    assert sum(map(len, extractive.calls)) > 4


@pytest.fixture
def spans(embedder) -> ContextReader:
    return OfflineReader(embedder, ValueReader()).contexts


@RELATED
def test_a_reader_of_spans_gives_the_same_relations(spans, pivot, other, kind):
    assert spans.compare(QUESTION, pivot, [other]).kinds == {other.n: kind}
    assert spans.compare(QUESTION, other, [pivot]).kinds == {pivot.n: kind}


def test_contexts_are_read_together_and_once(embedder):
    extractive = ValueReader()
    contexts = OfflineReader(embedder, extractive).contexts
    contexts.compare(QUESTION, NEBRASKA, [OKLAHOMA, EDITED, BREAD])
    contexts.compare(QUESTION, OKLAHOMA, [EDITED, BREAD])
    assert [len(call) for call in extractive.calls if call] == [4]


def test_the_note_of_a_context_read_by_spans_has_its_best_answer(spans):
    note = spans.note(QUESTION, NEBRASKA)
    assert (note.entity, note.descriptor, note.answer) == ("Broken Bow", "Nebraska", "3,491")
    assert spans.note(QUESTION, BREAD).answer is None


def test_the_note_of_a_namesake_has_not_the_name_that_was_asked_for(spans):
    notes = [spans.note("What is the population of Broken Bow, Nebraska?", each) for each in (NEBRASKA, OKLAHOMA)]
    assert [note.entity for note in notes] == ["Broken Bow, Nebraska", "Broken Bow"]
    assert notes[1].descriptor == "Oklahoma"


def test_the_weights_are_readable_and_name_every_feature(reader, spans):
    by_sentences, by_spans = offline_relations.models()["sentences"], offline_relations.models()["spans"]
    assert set(by_sentences) == {"answers", "same_entity", "same_answer"}
    assert set(by_spans) == {"same_entity", "same_answer", "further_spans"}
    for contexts, models in ((reader.contexts, by_sentences), (spans, by_spans)):
        a, b = (contexts.read(QUESTION, source) for source in (NEBRASKA, OKLAHOMA))
        assert set(a.features) < set(models.get("answers", {"bias": 0}))
        assert set(offline_relations.pair_features(a, b)) < set(models["same_entity"])


def test_damaged_weights_are_named(tmp_path, monkeypatch):
    damaged = tmp_path / "weights.json"
    damaged.write_text(json.dumps({"about": "nothing"}), encoding="utf-8")
    monkeypatch.setattr(offline_relations, "WEIGHTS", damaged)
    offline_relations.models.cache_clear()
    with pytest.raises(UsageError, match=r"weights\.json"):
        offline_relations.models()
    offline_relations.models.cache_clear()


@pytest.mark.parametrize(
    ("name", "title", "text", "may"),
    [
        ("Saturn", "Saturn (planet)", "It has rings.", True),
        ("Saturn", "Mercury (planet)", "It is larger than our Moon.", False),
        ("Broken Bow", "Thermometers", "A broken one spills mercury.", False),
        ("Broken Bow", "Custer County", "Its seat is Broken Bow.", True),
        ("Saturn", "", "It has 82 known moons.", True),
        ("", "Mercury (planet)", "It is small.", True),
    ],
)
def test_a_titled_context_that_does_not_hold_the_name_is_about_something_else(name, title, text, may):
    assert speaks_of(name, title, text) is may
