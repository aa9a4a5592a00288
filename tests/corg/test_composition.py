"""One answer out of the groups' drafts."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from preflight_rag.corg.composition import Groups, compose
from preflight_rag.state.reading import ContextNote, Source
from preflight_rag.state.values import Passage, Relation
from preflight_rag.text.headers import CONTRADICTED, DIFFERENT, UNDESCRIBED

NUMBERS = {1: "3,559", 2: "3,506", 3: "4,120", 4: "3,559"}


def passage(rank, date=None, document=None):
    text = f"It was counted. {NUMBERS[rank]} people live in the town[3]. It rains."
    return Passage(id=f"p{rank}", document_id=document or f"d{rank}", text=text, title=f"T{rank}", date=date)


def context(rank, descriptor="Nebraska", answer="", told=True):
    answer = NUMBERS[rank] if answer == "" else answer
    return ContextNote(rank, "Broken Bow", descriptor, answer, told, relevant=answer is not None)


def relation(a, b, kind):
    return Relation[int](a=a, b=b, kind=kind)


def draft(group, ranks, text, *quotes, status="answered"):
    return {"group": group, "ranks": ranks, "text": text, "quotes": list(quotes), "status": status}


def groups(drafts, *, against=(), sources=None, passages=None, contexts=None):
    ranks = [1, 2, 3, 4]
    return Groups(
        question="How many people live in Broken Bow?",
        drafts=drafts,
        contexts=contexts or {r: context(r, "Oklahoma" if r == 3 else "Nebraska") for r in ranks},
        relations=[relation(a, b, "counterfactual") for a, b in against],
        organisation={"groups": [d["ranks"] for d in drafts], "dropped": [], "sources": sources or {}},
        sources={
            r: Source.of(p, r) for r, p in (passages or {r: passage(r, f"20{r:02}-01-01") for r in ranks}).items()
        },
    )


def test_a_contradiction_shows_both_quotes_with_dates_newest_first():
    found = compose(groups([draft(1, [1], "3,559 [1]"), draft(2, [2], "3,506 [2]")], against=[(1, 2)]))
    assert found.draft.text.splitlines() == [
        "**Broken Bow (Nebraska)**: the sources contradict each other:",
        '- 3,506 [2] (T2, 2002-01-01): "3,506 people live in the town."',
        '- 3,559 [1] (T1, 2001-01-01): "3,559 people live in the town."',
    ]
    assert (1, "3,559 people live in the town[3].") in found.draft.quotes


def test_a_side_whose_words_are_not_in_its_passage_makes_no_contradiction():
    drafts = [draft(1, [1], "3,559 [1]"), draft(2, [2], "9,999 [2]", (2, "9,999 people live in the town"))]
    found = compose(groups(drafts, against=[(1, 2)]))
    assert DIFFERENT in found.draft.text
    assert "contradict" not in found.draft.text
    assert "3,559" in found.draft.text
    assert "9,999" in found.draft.text
    assert found.announced == set()


@pytest.mark.parametrize(
    ("note", "passage_", "statement"),
    [
        ({"confidence": 0.0}, {}, "3,506 [2]"),
        ({"told": False}, {}, "3,506 [2]"),
        ({}, {"document_id": "d1"}, "3,506 [2]"),
        ({}, {}, f"3,506 people, if {'the very ' * 12}last count is right [2]"),
    ],
)
def test_a_side_that_is_unsure_long_or_of_the_same_document_stands_beside_without_the_word(note, passage_, statement):
    contexts = {1: context(1), 2: replace(context(2), **note)}
    passages = {1: passage(1), 2: passage(2).model_copy(update=passage_)}
    drafts = [draft(1, [1], "3,559 [1]"), draft(2, [2], statement)]
    found = compose(groups(drafts, against=[(1, 2)], contexts=contexts, passages=passages))
    assert "contradict" not in found.draft.text
    assert all(number in found.draft.text for number in ("3,559", "3,506"))
    assert found.draft.claims is ("confidence" not in note)


def test_answers_for_different_years_are_no_two_sides():
    texts = {1: "In 2010 Broken Bow had 3,559 people.", 2: "In 2020 Broken Bow had 3,506 people."}
    passages = {n: Passage(id=f"p{n}", document_id=f"d{n}", text=text) for n, text in texts.items()}
    drafts = [draft(1, [1], "3,559 [1]"), draft(2, [2], "3,506 [2]")]
    found = compose(groups(drafts, against=[(1, 2)], passages=passages))
    assert found.draft.text == "**Broken Bow (Nebraska)**: 3,559 [1]\n\n**Broken Bow (Nebraska)**: 3,506 [2]"


@pytest.mark.parametrize(
    ("second", "verified"),
    [
        (draft(2, [2], "3,506 [2]", (2, "3,506 people live in the town")), True),
        (draft(2, [2], "3,506 [2]"), True),
        (draft(2, [2], "3,506 [2]", (2, "three and a half thousand")), False),
        (draft(2, [2], "Hardly anybody [2]"), False),
        (draft(2, [2], "Hardly anybody [2]", (2, "It was abandoned")), False),
    ],
)
def test_a_contradiction_needs_both_quotes_word_for_word(second, verified):
    found = compose(groups([draft(1, [1], "3,559 [1]"), second], against=[(1, 2)]))
    assert (CONTRADICTED in found.draft.text) is verified
    assert (DIFFERENT in found.draft.text) is not verified
    assert found.announced == ({frozenset({1, 2})} if verified else set())


def test_equal_answers_are_no_contradiction_whatever_the_relation_says():
    text = compose(groups([draft(1, [1], "3,559 [1]"), draft(2, [4], "3,559 people [4]")], against=[(1, 4)]))
    assert "contradict" not in text.draft.text


@pytest.mark.parametrize(("name", "shown"), [("Broken Bow", True), ("Mercury", False)])
def test_a_context_by_rule_is_quoted_only_if_it_names_what_is_asked_about(name, shown):
    texts = {1: "Broken Bow has 3,559 people.", 2: f"{name} has the number 80."}
    passages = {
        rank: Passage(id=f"p{rank}", document_id=f"d{rank}", text=t, title=f"T{rank}") for rank, t in texts.items()
    }
    contexts = {1: context(1), 2: context(2, "element", "80", told=False)}
    relations = [relation(1, 2, "distracting")]
    found = replace(groups([draft(1, [1, 2], "3,559 [1]")], passages=passages, contexts=contexts), relations=relations)
    assert ("[2]" in compose(found).draft.text) is shown


def test_an_edited_statement_is_a_contradiction_though_it_shares_its_year_and_what_was_noted():
    told = {
        1: "The film is a Canadian documentary released in 2005.",
        2: "The film is a Canadian comedy released in 2005.",
    }
    passages = {rank: Passage(id=f"p{rank}", document_id=f"d{rank}", text=text) for rank, text in told.items()}
    contexts = {rank: context(rank, "film", "Canadian") for rank in told}
    drafts = [draft(rank, [rank], f"{text.rstrip('.')} [{rank}]", (rank, text)) for rank, text in told.items()]
    text = compose(groups(drafts, against=[(1, 2)], passages=passages, contexts=contexts)).draft.text
    assert "contradict each other:" in text


def test_duplicates_count_as_agreement_and_two_passages_of_one_document_as_one_source():
    other = {r: passage(r) for r in (1, 2, 3, 4)}
    drafts = [draft(1, [1], "3,559 [1]"), draft(2, [2], "3,506 [2]")]
    assert "2 sources" in compose(groups(drafts, sources={"1": [4]}, passages=other)).draft.text
    other[4] = passage(4).model_copy(update={"text": "It was counted.\n3. In another year it had 4,120."})
    assert "2 sources" not in compose(groups(drafts, sources={"1": [4]}, passages=other)).draft.text
    other[4] = passage(4, document="d1")
    assert "2 sources" not in compose(groups(drafts, sources={"1": [4]}, passages=other)).draft.text


def test_a_single_group_keeps_the_readers_words():
    found = compose(groups([draft(1, [1, 3], "Nebraska: 3,559 [1]\nOklahoma: 4,120 [3]")]))
    assert found.draft.text == "Nebraska: 3,559 [1]\nOklahoma: 4,120 [3]"
    assert [(e["descriptor"], e["answer"], e["ranks"]) for e in found.entries] == [
        ("Nebraska", "3,559", [1]),
        ("Oklahoma", "4,120", [3]),
    ]


def test_statements_of_one_line_are_told_apart_by_what_they_cite():
    found = compose(groups([draft(1, [1, 3], "It has 3,559 in one [1], and 4,120 in the other [3].")]))
    assert [e["answer"] for e in found.entries] == ["It has 3,559 in one", "4,120 in the other"]


def test_a_group_that_cites_nothing_is_given_the_context_that_says_it():
    found = compose(groups([draft(1, [1, 3], "4,120 people live in the town.")]))
    assert [e["ranks"] for e in found.entries] == [[3], [1]]


@pytest.mark.parametrize("status", ["unreadable", "failed", "nothing"])
def test_what_a_group_leaves_out_stands_as_it_was_noted(status):
    found = compose(groups([draft(1, [1], "3,559 [1]"), draft(2, [3], "", status=status)]))
    assert "**Broken Bow (Oklahoma)**: 4,120 [3]" in found.draft.text
    assert any("context 3" in gap["error"] for gap in found.gaps)
    assert ("Note: 1 of 2 groups" in found.draft.text) is (status != "nothing")


@pytest.mark.parametrize("answered", [True, False])
def test_answers_that_differ_stand_only_behind_an_answer(answered):
    contexts = {1: context(1, None), 2: context(2), 3: context(3, answer="4,120" if answered else None)}
    relations = [relation(1, 2, "none")]
    drafts = [draft(1, [3], "4,120 [3]" if answered else "", status="answered" if answered else "nothing")]
    found = compose(replace(groups(drafts, contexts=contexts), relations=relations)).draft
    assert (found.found, UNDESCRIBED in found.text) == (answered, answered)


RANKS = st.permutations([1, 2, 3, 4])
TEXT = st.lists(
    st.sampled_from(["3,559 ", "[1]", "[2]", "[3]", "[9]", "\n", "Broken Bow: ", "people. ", "; "]), max_size=12
).map("".join)


@given(
    RANKS,
    st.integers(1, 4),
    st.lists(TEXT, min_size=4, max_size=4),
    st.sets(st.tuples(st.integers(1, 4), st.integers(1, 4))),
)
def test_no_answer_is_ever_dropped(ranks, count, texts, against):
    drafts = [
        draft(g + 1, ranks[g::count], texts[g], status="answered" if texts[g] else "nothing") for g in range(count)
    ]
    found = compose(groups(drafts, against=[(a, b) for a, b in against if a < b]))
    held = {rank for entry in found.entries for rank in entry["ranks"]}
    assert held >= {1, 2, 3, 4}
    assert all(f"[{rank}]" in found.draft.text for rank in ranks)


def test_a_descriptor_with_a_colon_is_no_part_of_the_answer():
    told = {1: context(1, "Halden 3: user leaflet"), 2: context(2, None)}
    answers = [draft(1, [1], "Broken Bow (Halden 3: user leaflet): 3,559 [1]"), draft(2, [2], "Broken Bow: 3,506 [2]")]
    found = compose(groups(answers, contexts=told))
    assert [entry["answer"] for entry in found.entries] == ["3,559", "3,506"]
