"""Selection without a query: which sentences can stand for a document, and which do."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from preflight_rag.library.search.summary import can_stand, of_document, of_passages, sections, select
from preflight_rag.state.errors import UsageError
from preflight_rag.state.values import Document, Passage

PAPER = """Sleep and memory

Sleep after learning improves the memory of word lists in healthy adults. However, the effect fades after a week.
Figure 3. Recall by group after one week of sleep.
We tested 48 adults in two laboratories over three years [12].

Sleep loss had no effect on the recognition of pictures in either group.
| group | recall | n |
Sleep stage | Minutes | Share | Count

References
Walker MP, Stickgold R. Sleep, memory, and plasticity. Annu Rev Psychol. 2006;57:139-166.
Diekelmann S, Born J. The memory function of sleep was reviewed in Nature."""


def words(text):
    return len(text.split())


def document(text, **fields):
    return Document(id="d", text=text, source="d.txt", **fields)


@pytest.mark.parametrize(
    ("text", "stands"),
    [
        ("Sleep after learning improves the memory of word lists.", True),
        ("The trial enrolled 4,812 patients (mean age 61.2 years) in 12 countries.", True),
        ("The dose was halved in older patients [3, 7].", True),
        ("Der Schlaf festigt das Gedächtnis bei gesunden Erwachsenen.", True),
        ("睡眠可以改善健康成年人的记忆力。", True),
        ("Materials and methods", False),
        ("and was followed by a second dose after two weeks.", False),
        ("Figure 3. Recall by group after one week of sleep.", False),
        ("Table 2: Baseline characteristics of all patients in the trial.", False),
        ("Tables were cleared and the guests went home early that night.", True),
        ("Walker MP, Stickgold R. Sleep, memory, and plasticity.", False),
        ("Available from https://example.org/report on the second of May.", False),
        ("© 2021 The Authors, published by a society of many members.", False),
        ("12.4 0.3 11.8 0.2 14.1 0.9 p 0.03 0.02 n 14.", False),
        ("Introduction ........................ page number twelve.", False),
        ("What do the results of the trial say about older patients?", False),
        ("See below.", False),
    ],
)
def test_a_statement_is_a_whole_sentence_of_running_text(text, stands):
    assert can_stand(text) is stands


def test_headings_captions_tables_and_references_are_left_out_and_a_leaning_sentence_is_joined():
    found = [statement.text for statement in of_document(document(PAPER), words)]
    assert found == [
        "Sleep after learning improves the memory of word lists in healthy adults. "
        "However, the effect fades after a week.",
        "We tested 48 adults in two laboratories over three years [12].",
        "Sleep loss had no effect on the recognition of pictures in either group.",
    ]


def test_a_sentence_that_leans_on_nothing_that_stands_is_left_out():
    text = "Figure 1. The apparatus.\nThis shows the group that slept. Sleep helps memory in most adults."
    assert [s.text for s in of_document(document(text), words)] == ["Sleep helps memory in most adults."]


def test_text_without_any_whole_sentence_is_taken_as_it_is():
    found = of_document(document("milk and bread\neggs from the market\nok"), words)
    assert [statement.text for statement in found] == ["milk and bread", "eggs from the market"]
    assert of_document(document("17"), words)[0].text == "17"


def test_statements_know_their_page_and_section():
    text = "The first page says one thing about sleep.\nThe second page says another thing about memory."
    at = text.index("The second")
    found = of_document(document(text, pages=((4, 0), (5, at)), metadata={"sections": [[at, "Memory"]]}), words)
    assert [(s.page, s.section, s.start) for s in found] == [(4, "", 0), (5, "Memory", at)]


def test_what_passages_repeat_comes_once_and_offsets_are_those_of_the_passage():
    one, two, three = (
        "Sleep helps the memory of adults. ",
        "Dreams come late in the night. ",
        "Naps of ten minutes do help.",
    )
    passages = [
        Passage(id="a", document_id="d", text=(one + two).strip(), start=0, end=64, page=1),
        Passage(id="b", document_id="d", text=two + three, start=len(one), end=90, page=2),
    ]
    found = of_passages(passages, words)
    assert [(s.passage_id, s.text) for s in found] == [("a", one.strip()), ("a", two.strip()), ("b", three)]
    assert all(s.body[s.start : s.end] == s.text for s in found)


@given(st.lists(st.sampled_from(PAPER.splitlines()), max_size=30))
def test_statements_are_verbatim_in_order_and_disjoint(lines):
    text = "\n".join(lines)
    found = of_document(document(text), words)
    assert all(text[s.start : s.end] == s.text and s.text.strip() for s in found)
    assert all(a.end <= b.start for a, b in pairwise(found))
    assert bool(found) is bool(text.strip())


STATEMENTS = of_document(document(" ".join(f"Sentence number {n} says what it says." for n in "abcdefgh")), words)


def test_the_selection_keeps_the_order_fits_the_budget_and_avoids_copies():
    vectors = np.eye(8, dtype=np.float32) + 0.5
    vectors[1] = vectors[0]
    chosen = select(STATEMENTS, vectors, budget=30, alpha=0.5)
    assert chosen == sorted(chosen)
    assert sum(STATEMENTS[i].tokens for i in chosen) <= 30
    assert len(chosen) == 4
    assert not {0, 1} <= set(chosen)


def test_everything_is_selected_where_it_fits():
    assert select(STATEMENTS, np.eye(8, dtype=np.float32), budget=1000) == [*range(8)]
    assert select([], np.empty((0, 4), np.float32), budget=5) == []


def test_a_budget_below_the_shortest_sentence_is_refused():
    with pytest.raises(UsageError, match="a budget of 3 tokens is smaller than the shortest sentence, which has 7"):
        select(STATEMENTS, np.eye(8, dtype=np.float32), budget=3)


def test_sections_are_of_one_page_and_near_together():
    far = "Sleep helps the memory of adults.\n" + "\n" * 2000 + "Dreams come late in the whole night."
    assert [len(run) for run in sections(of_document(document(far), words))] == [1, 1]
    assert [len(run) for run in sections(STATEMENTS)] == [8]
    assert sections([]) == []
