"""Sentences that propose what a question takes for decided."""

from __future__ import annotations

import pytest

from preflight_rag.offline.proposals import only_proposes

PROPOSED = "Ada Lund proposed to lower the price of a ticket from 12.99 to 9.99."


@pytest.mark.parametrize(
    ("question", "sentence", "is_proposal"),
    [
        ("What is the price of a ticket?", PROPOSED, True),
        ("What did Ada Lund propose?", PROPOSED, False),
        ("By how much was the price proposed to be lowered?", PROPOSED, False),
        ("What is the price of a ticket?", "A ticket is 12.99.", False),
        ("What is the price of a ticket?", "The proposal to ask 9.99 for a ticket was approved.", False),
        ("How many species exist?", "It has nine species, with a recent proposal of a tenth.", False),
        ("What is the dose for adults?", "The recommended dose is 5 mg, and results suggest no other.", False),
    ],
)
def test_a_proposal_is_no_decision(question: str, sentence: str, is_proposal: bool) -> None:
    assert only_proposes(question, sentence) is is_proposal
