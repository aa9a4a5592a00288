"""Quotes of two editions of one document, over a library without a model."""

from __future__ import annotations

import pytest

from preflight_rag import Preflight

TABLE = (
    "| Drug | Dog | Cat |\n| --- | --- | --- |\n| Methadone | {dose} mg/kg | 0.2 mg/kg |\n"
    "| Ketamine | 5 mg/kg | 5 mg/kg |\n"
)
DOCUMENTS = {
    "safety-2021.md": "# Boat safety rules\n\nEdition of 2021.\n\nLife jackets are worn by children on every boat.\n",
    "safety-2025.md": "# Boat safety rules\n\nEdition of 2025.\n\nOn every boat, life jackets are worn by children!\n",
    "price table for clients 2024.csv": "Service,Dog,Cat\nMicrochip,£19,£19\nNail clip,£8,£7\n",
    "Price list 2025.csv": "Item,Dog,Cat\nMicrochip,£24,£24\nNail clip,£9,£8\n",
    "protocol-2023.md": "# Sedation protocol\n\nEdition of 2 May 2023.\n\n" + TABLE.format(dose="0.2") + "\n"
    "A nurse notes pulse and breathing every ten minutes.\n",
    "protocol-2025.md": "# Sedation protocol\n\nEdition of 9 June 2025.\n\n" + TABLE.format(dose="0.3") + "\n"
    "A nurse notes pulse, breathing, blood pressure and temperature every five minutes.\n",
}


@pytest.mark.parametrize(
    ("question", "newer", "older"),
    [
        ("How much methadone does a dog get before the operation?", "0.3 mg/kg", "0.2 mg/kg | Cat"),
        ("How often does a nurse note pulse and breathing?", "every five minutes", "every ten minutes"),
    ],
)
def test_the_newest_edition_stands_first_and_the_line_above_says_so(app: Preflight, question, newer, older) -> None:
    answer = app.ask(question).answer
    assert "newest first" in answer.split("\n")[0]
    assert -1 < answer.index(newer) < answer.index(older)


@pytest.mark.parametrize(
    ("question", "first"), [("What is the price of a microchip?", "£24"), ("What was a microchip in 2024?", "£19")]
)
def test_the_row_of_the_later_list_stands_first_unless_a_year_is_asked_for(app: Preflight, question, first) -> None:
    assert first in app.ask(question).citations[0].quote


def test_the_edition_that_a_question_names_keeps_its_place(app: Preflight) -> None:
    found = app.ask("How often did a nurse note the pulse under the 2023 protocol?")
    assert "every ten minutes" in found.citations[0].quote


def test_what_both_editions_say_is_no_difference(app: Preflight) -> None:
    for question in ("How much ketamine does a dog get before the operation?", "Who wears life jackets on a boat?"):
        assert "different answers" not in app.ask(question).answer


def test_editions_of_other_years_than_the_question_names_are_no_different_answers_to_it(app: Preflight) -> None:
    lead = app.ask("How often does a nurse note pulse and breathing in 2027?").answer.split("\n")[0]
    assert "different answers" not in lead
