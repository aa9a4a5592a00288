"""Messages that name nothing which they are about, and whole questions that look like them."""

import pytest

from preflight_rag.conversation.follow_ups import continued_documents, standalone
from preflight_rag.conversation.repeated_answers import shown_again
from preflight_rag.conversation.subjectless import has_no_subject
from preflight_rag.state.reading import Rewrite
from preflight_rag.state.values import Citation

FAIR = "When does the lantern walk begin?"


@pytest.mark.parametrize(
    "message",
    [
        "Who is singing?",
        "And who's coming then?",
        "How much had they hoped for?",
        "And what did we settle for?",
        "What happens if we send fewer?",
        "What happens when somebody is late?",
        "Can we leave earlier?",
    ],
)
def test_a_message_of_verbs_is_asked_behind_the_question_before(message):
    assert has_no_subject(message)
    assert standalone(message, [FAIR]) == f"{FAIR} {message}"


@pytest.mark.parametrize(
    "message",
    [
        "What is the capital of Peru?",
        "What is knitting?",
        "Who is Irving?",
        "Who is singing Carmen?",
        "Who is paying for lunch?",
        "What do we pay for the shed?",
        "What happens if we lose the key?",
        "What are gaskets for?",
        "What happens if it rains more?",
        "Can we keep 12 or more?",
    ],
)
def test_a_question_with_a_subject_stands_alone(message):
    assert not has_no_subject(message)
    assert standalone(message, [FAIR]) == message


@pytest.mark.parametrize(
    "message",
    ["Who is the king?", "When do we close?", "How do I complain?", "Who do I complain to?", "Who do we report to?"],
)
def test_a_question_with_one_noun_or_of_what_we_always_do_has_a_subject(message):
    assert not has_no_subject(message)


def test_it_means_the_thing_before_a_message_without_a_subject():
    asked = standalone("Why was it put back a week?", ["When is the lantern parade opened?", "Who is singing?"])
    assert asked == "Why was the lantern parade put back a week?"


def cited(n, document, quote):
    return Citation(
        n=n,
        passage_id=f"{document}:0",
        document_id=document,
        title=document,
        source=document,
        quote=quote,
        start=0,
        end=len(quote),
        verified=True,
    )


ROTA = cited(1, "rota", "The lantern walk is on 3 May.")
NEWS = cited(2, "news", "A burst pipe made us move the lantern walk to Sunday.")


def continued(message, question, citations):
    earlier = {"question": FAIR, "answer": "3 May", "citations": [c.model_dump() for c in citations], "groups": []}
    return continued_documents(message, Rewrite(question), earlier)


def test_a_message_without_a_subject_is_sought_in_all_documents_where_several_were_cited():
    assert continued("Who is singing?", f"{FAIR} Who is singing?", [ROTA, NEWS]) == []
    assert continued("Who is singing?", f"{FAIR} Who is singing?", [ROTA]) == ["rota"]


def test_a_follow_up_continues_with_the_cited_document_that_has_its_words():
    assert continued("Why did they move it?", "Why did they move the lantern walk?", [ROTA, NEWS]) == ["news"]
    assert continued("Why did they ban it?", "Why did they ban the lantern walk?", [ROTA, NEWS]) == ["rota"]


def test_a_quote_with_the_words_of_the_message_is_shown_first():
    shop = cited(1, "order", "Crates a month: 40")
    fee = cited(2, "order", "Whoever sends fewer than thirty pays a fee.")
    quotes = shown_again([shop, fee], "What happens if we send fewer?").splitlines()
    assert quotes[2] == "“Whoever sends fewer than thirty pays a fee.” [2]"
    assert shown_again([shop, fee], "And the price of crates?").splitlines()[2] == "“Crates a month: 40” [1]"
