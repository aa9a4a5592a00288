"""Follow-ups without a model that put a new subject, or a role, in the place of the one before, over made documents."""

import pytest

from preflight_rag import Preflight
from preflight_rag.conversation.counterparts import people_named_in
from preflight_rag.conversation.follow_ups import continued_documents
from preflight_rag.conversation.repeated_answers import means_the_one, of_new_subject
from preflight_rag.library import Library
from preflight_rag.nodes.cite import _replace_unfit_answer
from preflight_rag.state.reading import Rewrite
from preflight_rag.state.values import Citation, Passage

FOOD = """# Keeping food

Cooked turkey keeps three days in the larder. Steamed barley should be eaten within one day.
"""
CLUB = """# Sailing club

What a skipper must pay: a skipper pays 20 euros. Guests of skippers may come on Sundays, at 5 euros.
"""


@pytest.fixture(scope="module")
def chat(embedder, tmp_path_factory):
    folder = tmp_path_factory.mktemp("subjects")
    for name, text in (("food", FOOD), ("club", CLUB)):
        (folder / f"{name}.md").write_text(text)
    with Library.open(folder / "library", embedder=embedder, create=True) as library:
        library.ingest([folder / f"{name}.md" for name in ("food", "club")])
    with Preflight.open(folder / "library", "offline", extractive_reader="none") as app:
        yield lambda *messages: [app.ask(message, thread_id=" ".join(messages)) for message in messages]


def test_the_sentence_that_names_the_new_subject_is_shown(chat):
    answer = chat("How long does turkey keep in the larder?", "And barley?")[-1]
    assert not answer.abstained
    assert answer.citations[0].quote == "Steamed barley should be eaten within one day."


def test_what_one_pays_is_no_claim_about_another(chat):
    answer = chat("What does a skipper pay?", "and for a guest?")[-1]
    assert answer.outcome == "evidence"
    assert answer.citations[0].quote == "Guests of skippers may come on Sundays, at 5 euros."


def cited(quote):
    places = {"passage_id": "p", "document_id": "d", "title": "Rules", "source": "", "start": 0, "end": len(quote)}
    return Citation(n=1, quote=quote, verified=True, **places)


def passage(text):
    return Passage(id="p", document_id="d", text=text)


def earlier(question, answer, *quotes):
    citations = [cited(quote).model_dump() for quote in quotes]
    return {"question": question, "answer": answer, "citations": citations, "groups": []}


NOTICE = "Notice is three months, in writing."
TENANTS = "A tenant must give notice of three months."


@pytest.mark.parametrize(("quote", "is_kept"), [(NOTICE, True), (TENANTS, False)])
def test_only_a_quote_that_names_the_old_subject_is_dropped_where_nothing_names_the_new_one(quote, is_kept):
    known = earlier("How much notice must a tenant give?", "Most relevant passages", quote)
    asked, passages = "How much notice must a lodger give?", {1: passage(quote)}
    shown = of_new_subject(("lodger",), asked, [cited(quote)], known, passages, claims=False)
    assert [each.quote for each in shown] == ([quote] if is_kept else [])


def test_a_count_of_others_is_no_claim_about_those_who_are_asked_for():
    visitors, volunteers = "The mill had 900 visitors in 2024.", "We have 47 active volunteers."
    known = earlier("How many visitors came in 2024?", "Most relevant passages", visitors)
    message, asked = "How many volunteers were there then?", "How many volunteers were there in 2024?"
    assert continued_documents(message, Rewrite(asked), known) == []
    passages = {1: passage(f"{visitors} {volunteers}")}
    given = asked, known, f"900 [1]\n{visitors} [1]", [cited(visitors)], passages
    _, shown = _replace_unfit_answer(message, *given, claims=True, grouped=False)
    assert [each.quote for each in shown] == [volunteers]


def test_a_heading_says_nothing_of_a_subject():
    known = earlier("How much notice must a tenant give?", "Most relevant passages", NOTICE)
    passages = {1: passage(f"Lodgers\n\n{NOTICE}\n\nLodgers | one month")}
    shown = of_new_subject(
        ("lodger",), f"{known['question']} And a lodger?", [cited(NOTICE)], known, passages, claims=True
    )
    assert [each.quote for each in shown] == ["Lodgers | one month"]


@pytest.mark.parametrize(
    ("question", "answer", "means"),
    [
        ("Which house has a pond?", "House Alder [1]\nHouse Alder has a pond and uses 40 kWh. [1]", True),
        ("Which house has a pond?", "Most relevant passages (not confirmed as an answer):", True),
        ("Which house used the most heat?", "Most relevant passages (not confirmed as an answer):", False),
        ("Which house has a pond?", "House Birch [1]\nHouse Birch has a pond. [1]", False),
    ],
)
def test_it_means_the_only_thing_of_the_last_answer(question, answer, means):
    quote = "House Alder has a pond and uses 40 kWh."
    assert means_the_one(earlier(question, answer, quote), [cited(quote)]) == means


def test_what_it_has_stays_a_claim_where_the_answer_before_named_one_thing():
    quote = "Larch hut has a stove and six beds."
    known = earlier("Which hut has a stove?", f"Larch hut [1]\n{quote} [1]", quote)
    message, answer = "How many beds does it have?", f"six [1]\n{quote} [1]"
    asked = message, f"{known['question']} {message}"
    assert _replace_unfit_answer(*asked, known, answer, [cited(quote)], {}, claims=True, grouped=False) is None
    other = [cited("Pine hut has four bunks.")]
    shown = _replace_unfit_answer(*asked, known, answer, other, {}, claims=True, grouped=False)
    assert shown is not None


@pytest.mark.parametrize(
    ("fragment", "people"),
    [
        ("for a guest", ("guest", "guests")),
        ("children", ("child", "children")),
        ("for the treasurer", ("the treasurer",)),
        ("for dogs", ()),
    ],
)
def test_people_are_named_by_their_group_or_role(fragment, people):
    assert people_named_in(fragment) == people
