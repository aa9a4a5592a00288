"""What a sentence says, and of what: sixty-four pairs that differ in one word, denials, and what is never claimed."""

from __future__ import annotations

import pytest
from one_word_pairs import PAIRS

from preflight_rag import Preflight
from preflight_rag.state.reading import Source
from preflight_rag.text.negation import polarity
from preflight_rag.text.sentence_fit import SentenceFit

HUTS = """# Huts on the ridge

The Alder hut serves breakfast and has running water. Dogs are allowed in the Alder hut.

The Birch hut serves breakfast and has running water. Dogs are not allowed in the Birch hut.

The Cedar hut does not serve breakfast. It has running water, and dogs are allowed."""


@pytest.fixture(scope="module")
def asked(tmp_path_factory):
    """The answer of each pair's questions, over one library of all their documents."""
    folder = tmp_path_factory.mktemp("pairs")
    for number, pair in enumerate(PAIRS):
        (folder / f"{number:02}.md").write_text(f"# {pair.title}\n\n{pair.text}\n", encoding="utf-8")
    with Preflight.open(tmp_path_factory.mktemp("library"), model="offline", create=True) as app:
        app.ingest([folder])
        found = {}
        for pair in PAIRS:
            for question, right in ((pair.asks_first, pair.first), (pair.asks_second, pair.second)):
                answer = app.ask(question)
                first = answer.citations[0].quote if answer.citations else ""
                found[question] = pair.kept, answer.outcome == "answered", right in first
    return found


@pytest.mark.parametrize("kept", [False, True])
def test_the_right_one_of_two_sentences_stands_first_and_the_other_is_never_claimed(asked, kept):
    half = [(claimed, right) for of, claimed, right in asked.values() if of == kept]
    assert len(half) >= 60
    assert not [right for claimed, right in half if claimed and not right]
    assert sum(right for _, right in half) >= 0.95 * len(half)


@pytest.mark.parametrize(
    ("question", "sentence", "says"),
    [
        ("Which hut does not allow dogs?", "Dogs are not allowed in the Birch hut.", 1),
        ("Which hut does not allow dogs?", "Dogs are allowed in the Alder hut.", -1),
        ("Which alloy lacks lead?", "Alloy Durin does not contain lead.", 1),
        ("Which alloy contains lead?", "Alloy Toska contains no lead.", -1),
        ("Which strain grows without oxygen?", "Strain K4 grows without oxygen.", 1),
        ("Which strain grows without oxygen?", "Strain M7 does not grow without oxygen.", -1),
        ("Which hut serves breakfast?", "The Alder hut has no lift and serves breakfast.", 1),
        ("Which plan does not cover storm damage?", "Storm damage is excluded by plan B.", 1),
        ("Which cable is insulated?", "The green cable is uninsulated.", -1),
        ("Which unit is united?", "The unit is united.", 1),
        ("Which tent has more than four poles?", "The Dune tent has fewer than four poles.", -1),
        ("What is not collected on Fridays?", "All waste except batteries is collected on Fridays.", 0),
        ("Which hut allows dogs?", "The menu changes every week.", 0),
    ],
)
def test_a_denial_reaches_as_far_as_its_clause(question, sentence, says):
    assert polarity(question, sentence) == says


def test_what_a_figure_is_not_beside_what_it_is_denies_nothing():
    assert polarity("When does the work start?", "The work starts on 20 October and not on 6 October.") == 1
    assert polarity("When does the work start?", "The work does not start on 20 October.") == -1
    assert polarity("How long is the lease?", "The lease is not 10 years long.") == -1


def fit(question, *texts):
    return SentenceFit(question, [Source(n, str(n), title, text) for n, (title, text) in enumerate(texts, 1)])


def test_a_sentence_is_read_with_its_title():
    branches = [(f"Report of the {name} branch", f"Its largest cost was {cost}.") for name, cost in
                (("north", "rent"), ("south", "repairs"))]  # fmt: skip
    found = fit("What was the largest cost of the south branch?", *branches)
    assert found.misfits(1, "Its largest cost was rent.")
    assert not found.misfits(2, "Its largest cost was repairs.")


def test_a_sentence_is_read_with_its_heading_and_with_what_it_points_back_to():
    text = "## Rose garden\n\nIt has a pond. It is closed on Mondays.\n\n## Palm garden\n\nIt is closed on Tuesdays."
    found = fit("When is the palm garden closed?", ("Gardens", text))
    assert found.misfits(1, "It is closed on Mondays.")
    assert not found.misfits(1, "It is closed on Tuesdays.")
    report = "The east branch sold 333 bicycles. It employs 7 people. The west branch is new. It employs 9 people."
    found = fit("How many people does the east branch employ?", ("Report", report))
    assert found.misfits(1, "It employs 9 people.")
    assert not found.misfits(1, "It employs 7 people.")


def test_to_a_question_for_yes_or_no_the_opposite_is_an_answer_of_its_own_subject_alone():
    found = fit("Does the Cedar hut serve breakfast?", ("Huts", HUTS))
    assert not found.misfits(1, "The Cedar hut does not serve breakfast.")
    assert found.misfits(1, "The Birch hut serves breakfast and has running water.")


@pytest.mark.parametrize(
    ("question", "misfits"),
    [("What does the salt on the steps do?", False), ("Which guests slip on the steps?", True)],
)
def test_what_something_does_may_be_that_something_else_is_not_so(question, misfits):
    text = "With salt on the steps the guests do not slip."
    assert SentenceFit(question, [Source(1, "p1", "", text)]).misfits(1, text) is misfits


def test_an_answer_to_a_question_that_denies_is_claimed_of_a_sentence_that_denies_the_same_alone():
    found = fit("Which hut does not allow dogs?", ("Huts", HUTS))
    assert found.may_claim(1, "Dogs are not allowed in the Birch hut.")
    assert not found.may_claim(1, "Dogs are allowed in the Alder hut.")
    assert not found.may_claim(1, "The Cedar hut does not serve breakfast.")


@pytest.mark.parametrize(
    ("question", "misfits"),
    [
        ("Who will be the chief executive?", True),
        ("Who was appointed chief executive?", True),
        ("Who is the chief executive?", True),
        ("Who will retire as chief executive?", False),
        ("When does Richard Moss retire as chief executive?", False),
    ],
)
def test_who_leaves_an_office_is_not_who_holds_it(question, misfits):
    leaving = "Richard Moss will retire as chief executive on 1 September."
    coming = "Mary Dale, former chief executive of Ulm Ltd, has been appointed chief executive from 1 September."
    fit = SentenceFit(question, [Source(1, "p", "News", f"{leaving} {coming}")])
    assert fit.misfits(1, leaving) is misfits
    assert not fit.misfits(1, coming)
