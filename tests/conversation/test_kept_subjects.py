"""Chats without a model that keep the subject, over made documents."""

import pytest

from preflight_rag import Preflight
from preflight_rag.library import Library

FERRIES = """# A history of the Tallow ferries

Seagull was launched in 1998 and carried 212 passengers. Seagull was designed by Ingrid Falk.

At the beginning of 1998 Edwin Marsh became Harbour Master of Tallow.

Heron was launched in 2004 and carried 340 passengers.
"""
RULES = """# Rules of the harbour board

The Harbour Master is elected by the members for three years. A delegate must be at least thirty years old.

An auditor must be at least forty years old. The Harbour Master may appoint auditors.
"""
KNOTS = """# Knots for sailors

The bowline was described by John Smith. The breaking load of hemp rope is 900 kg.

The breaking load of sisal rope is 700 kg. Ada Byron wrote the first version of these notes, published in 1911.
"""


@pytest.fixture(scope="module")
def chat(embedder, tmp_path_factory):
    folder = tmp_path_factory.mktemp("subjects")
    for name, text in (("ferries", FERRIES), ("rules", RULES), ("knots", KNOTS)):
        (folder / f"{name}.md").write_text(text)
    with Library.open(folder / "library", embedder=embedder, create=True) as library:
        library.ingest([folder / f"{name}.md" for name in ("ferries", "rules", "knots")])
    with Preflight.open(folder / "library", "offline", extractive_reader="none") as app:
        yield lambda *messages: [app.ask(message, thread_id=" ".join(messages)) for message in messages]


def test_who_wrote_it_is_asked_of_what_the_question_before_is_about(chat):
    answer = chat("What is Seagull?", "Who designed it?")[-1]
    assert answer.standalone_question == "Who designed Seagull?"
    answer = chat("What is Seagull?", "Who wrote it?")[-1]
    assert answer.standalone_question == "Who wrote Seagull?"
    assert all("Ada Byron" not in citation.quote for citation in answer.citations[:1])
    assert chat("What is Seagull?", "When was it first published?")[-1].standalone_question.endswith(
        "Seagull first published?"
    )


def test_then_and_it_keep_the_subject_and_its_document(chat):
    turns = ("When was Seagull launched?", "Who was Harbour Master then?", "How many passengers did it carry?")
    *_, master, carried, heron = chat(*turns, "What about Heron?")
    assert master.standalone_question == "Who was Harbour Master in 1998?"
    assert "Edwin Marsh" in master.citations[0].quote
    assert carried.standalone_question == "How many passengers did Seagull carry?"
    assert "212" in carried.citations[0].quote
    assert heron.standalone_question == "How many passengers did Heron carry?"
    assert "340" in heron.citations[0].quote


def test_another_role_and_he_keep_the_question(chat):
    answers = chat("How old must a delegate be?", "And of an auditor?", "How old must he be?")
    assert [answer.standalone_question for answer in answers[1:]] == ["How old must an auditor be?"] * 2
    assert all("forty" in answer.citations[0].quote for answer in answers[1:])
    assert not answers[-1].abstained


def test_a_quote_about_the_old_subject_is_not_shown_for_the_new_one(chat):
    rope, sisal = chat("What is the breaking load of hemp rope?", "What about sisal rope?")
    assert "900" in rope.citations[0].quote
    assert "700" in sisal.citations[0].quote
    assert all("hemp" not in citation.quote or "sisal" in citation.quote for citation in sisal.citations)
    nylon = chat("What is the breaking load of hemp rope?", "What about nylon rope?")[-1]
    shown = {citation.quote for citation in rope.citations}
    assert shown.isdisjoint(citation.quote for citation in nylon.citations)
    assert (nylon.outcome, nylon.abstained) == (("evidence", False) if nylon.citations else ("not_found", True))
