"""Quotes of the last answer that are read again for a follow-up, and those that are not."""

import pytest

from preflight_rag import Preflight
from preflight_rag.conversation.cited_before import (
    gives_the_same,
    names_more,
    noun_asked_for,
    quotes_with_the_figure,
)
from preflight_rag.library import Library

QUOTE = "Fenwick Glass: £640 for the pane, fitted, six weeks; they had asked £700 in May."


def shown(question, message, quote=QUOTE, asked=None):
    earlier = {"question": question, "answer": "", "citations": [{"quote": quote}], "groups": []}
    return bool(quotes_with_the_figure(message, asked or f"{question} {message}", earlier))


@pytest.mark.parametrize(
    ("question", "message", "quote"),
    [
        ("What did Fenwick Glass offer?", "How long was their delivery time?", QUOTE),
        ("What did Fenwick Glass offer?", "How much was their deposit?", QUOTE),
        ("How much did the pane cost?", "And how much was it before?", QUOTE),
        ("What did the choir sing?", "When was it?", "The choir sang carols on 12 December 2023."),
    ],
)
def test_a_quote_with_another_figure_of_the_kind_is_read_again(question, message, quote):
    assert shown(question, message, quote)


@pytest.mark.parametrize(
    ("question", "message", "quote"),
    [
        ("What did Fenwick Glass offer?", "Who is their director?", QUOTE),
        ("What did Fenwick Glass offer?", "How old are they?", QUOTE),
        ("What did Fenwick Glass offer?", "How long was their delivery time?", "Fenwick Glass offered £640."),
        # The only sum is the one that was asked for.
        ("How much did the pane cost?", "And how much was it before?", "The pane cost £640."),
    ],
)
def test_a_quote_without_another_figure_of_the_kind_is_not(question, message, quote):
    assert not shown(question, message, quote)


def test_a_question_that_stands_alone_is_denied_without_the_last_quotes():
    alone = "How long is the Nile?"
    assert not shown("What did Fenwick Glass offer?", alone, asked=alone)


def test_a_thing_that_documents_give_another_figure_for_is_another_thing():
    message = "How long was their delivery time?"
    assert noun_asked_for(message) == "delivery time"
    assert gives_the_same(message, QUOTE, [])
    assert gives_the_same(message, QUOTE, ["They were refused for a delivery time of 6 weeks."])
    assert not gives_the_same(message, QUOTE, ["The delivery time of seeds is three days."])


def test_a_follow_up_that_names_more_than_one_noun_is_denied():
    assert not names_more("How long was their delivery time?")
    assert names_more("How long did the mayor of Tiverton wait for their delivery time?")


@pytest.fixture(scope="module")
def chat(embedder, tmp_path_factory):
    folder = tmp_path_factory.mktemp("cited")
    (folder / "windows.md").write_text(
        "# Quotes for the chapel window\n\nFenwick Glass: 640 pounds, fitted, two-year warranty, six weeks.\n\n"
        "Harbour Glazing: 715 pounds, fitted, ten days.\n"
    )
    (folder / "walk.md").write_text(
        "# Lantern walk\n\nThe lantern walk begins at the green on Saturday 9 November at six, with the Tallow "
        "Lane Band at seven.\n\nAnyone who brings fewer than two lanterns pays 50p at the gate.\n"
    )
    with Library.open(folder / "library", embedder=embedder, create=True) as library:
        library.ingest([folder / "windows.md", folder / "walk.md"])
    with Preflight.open(folder / "library", "offline") as app:
        yield lambda *messages: [app.ask(message, thread_id=" ".join(messages)) for message in messages][-1]


@pytest.mark.parametrize(
    ("first", "message", "quote"),
    [
        ("When does the lantern walk begin?", "Who is playing?", "Tallow Lane Band"),
        ("What did Fenwick Glass quote?", "How long was their lead time?", "six weeks"),
    ],
)
def test_a_follow_up_gets_the_sentence_cited_before_as_evidence(chat, first, message, quote):
    answer = chat(first, message)
    assert (answer.outcome, answer.short_answer) == ("evidence", None)
    assert any(quote in citation.quote for citation in answer.citations)


@pytest.mark.parametrize("message", ["What is the capital of France?", "Who wrote the opera Carmen?"])
def test_a_whole_question_is_denied_in_a_conversation(chat, message):
    answer = chat("When does the lantern walk begin?", message)
    assert (answer.abstained, answer.citations) == (True, ())
