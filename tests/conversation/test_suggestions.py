"""Questions that are suggested: of headings that a search confirms, of things told apart, naming nothing new."""

import pytest

from preflight_rag.conversation.suggestions import names_nothing_new, suggested_questions, topic_of
from preflight_rag.state.values import Answer, Citation, Group, Passage, Receipt, RouteDecision


def answer(question, *, groups=(), cited=("p1",), title="Moss"):
    citations = tuple(
        Citation(n=n, passage_id=id, document_id="d", title=title, source="d", quote="x", start=0, end=1, verified=True)
        for n, id in enumerate(cited, 1)
    )
    route = RouteDecision(name="plain", reason="", top_n=3, threshold=0.2)
    values = {"question": question, "standalone_question": question, "queries": (question,), "answer": "x"}
    return Answer(
        **values,
        thread_id="t",
        turn=1,
        route=route,
        abstained=False,
        outcome="answered",
        groups=groups,
        citations=citations,
        receipt=Receipt(model="any"),
    )


def passage(id, heading, text="Moss is a plant that stands on stones and has no flowers."):
    return Passage(id=id, document_id="d", text=text, title="Moss", metadata={"section": heading})


HEADINGS = [("p1", "Roots"), ("p2", "2.1 Water and light"), ("p3", "References"), ("p4", "Spores")]


def test_a_heading_is_asked_about_only_where_a_search_finds_what_stands_under_it():
    asked, passages = answer("Has moss roots?"), {"d": [passage(*each) for each in HEADINGS]}
    found = suggested_questions(asked, passages, {"d": "Moss"}, lambda question: ["p2"] if "water" in question else [])
    assert found == ["What does “Moss” say about water and light?"]


def test_headings_inside_a_passage_are_told_from_what_was_cited():
    text = "# Roots\nMoss has none, and holds on with rhizoids instead.\n## Short\nNo.\n## Water\n" + "It rains. " * 9
    passages = {"d": [passage("p1", "", text)]}
    found = suggested_questions(answer("Has it any?"), passages, {"d": "Moss"}, lambda _: ["p1"])
    assert found == ["What does “Moss” say about water?"]


@pytest.mark.parametrize(
    ("question", "entity", "expected"),
    [
        ("How many live in Broken Bow?", "Broken Bow", ["How many live in Broken Bow, Oklahoma?"]),
        ("How many live in Broken Bow, Nebraska?", "Broken Bow, Nebraska", []),
        ("Is Broken Bow larger than Broken Bow?", "Broken Bow", []),
    ],
)
def test_a_thing_of_one_name_is_asked_about_as_its_document_calls_it(question, entity, expected):
    groups = tuple(Group(entity=entity, descriptor="Oklahoma", answer="1", citations=(n,)) for n in (1, 2))
    asked = answer(question, groups=groups, cited=("p1", "p2"), title="Broken Bow, Oklahoma")
    assert suggested_questions(asked, {}, {}, lambda _: ["p1"]) == expected
    assert suggested_questions(asked, {}, {}, lambda _: []) == []


@pytest.mark.parametrize(
    ("heading", "topic"),
    [
        ("3. Side effects", "side effects"),
        ("MRI findings", "MRI findings"),
        ("Alzheimer Disease", "Alzheimer Disease"),
        ("RESULTS", None),
        ("Introduction and background", "introduction and background"),
        ("ADVERSE EVENTS", "adverse events"),
        ("1.2", None),
        ("What is moss?", None),
    ],
)
def test_a_heading_becomes_the_subject_of_a_question(heading, topic):
    assert topic_of(heading) == topic


@pytest.mark.parametrize(
    ("question", "held"),
    [
        ("How fast does moss spread in Norway?", True),
        ("How fast does moss spread in Peru?", False),
        ("Do 40 species grow there?", True),
        ("Do 50 species grow there?", False),
        ("Has moss roots?", False),
    ],
)
def test_a_models_question_names_and_counts_nothing_new(question, held):
    passage = Passage(id="p", document_id="d", text="Moss grows in Norway, where 40 species spread fast.")
    assert names_nothing_new(question, [passage], "Has moss roots?") is held
