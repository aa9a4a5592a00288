"""A question that names a numbered part is narrowed to it only where its text surely is."""

from __future__ import annotations

import pytest

from preflight_rag import Preflight

DOCUMENTS = {
    "lease.txt": (
        "Lease of the quay\n\nContents\n\nArticle 1 Rent\nArticle 2 Pets\nArticle 3 Notice\n\n"
        "Article 1 Rent\n\nThe rent is 500 crowns a month.\n\nArticle 2 Pets\n\nTwo cats may be kept, dogs may not.\n\n"
        "Article 3 Notice\n\nNotice is given three months before the end of a year.\n"
    ),
    "tasks.md": (
        "# Autumn tasks for the allotment\n\n1. Clear the ditch\n2. Prune the pears\n3. Sow the beans\n"
        "4. Empty the butts\n5. Rake the leaves\n6. Burn the hedge cuttings\n\n"
        "The rules of the allotment are sent to every member by post. Rule 5 forbids bonfires before sunset.\n"
    ),
    "law.txt": (
        "Summary of the data law\n\nThe data law is a European regulation. Article 5 of the data law requires that "
        "personal data be kept no longer than needed.\nMembers' data are deleted after two years.\n"
    ),
    "treaty.md": (
        "# Treaty of the harbour\n\nArticle 4\n\nBoats may moor for three nights.\n\nArticle 5\n\n"
        "Dogs are allowed on the beach, but not on the ferry.\n\nArticle 6\n\nFees are paid in May.\n"
    ),
}


@pytest.mark.parametrize(
    ("question", "shown"),
    [
        ("How many cats may be kept under article 2?", "Two cats may be kept"),
        ("What does article 2 of the lease say?", "Two cats may be kept"),
        ("What notice does article 3 of the lease require?", "three months"),
        ("What does rule 5 forbid?", "bonfires before sunset"),
        ("What does article 5 of the treaty say?", "Dogs are allowed"),
        ("article 5", "Dogs are allowed"),
        ("What does article 6 say?", "Fees are paid in May"),
    ],
)
def test_text_of_the_part_is_shown(app: Preflight, question: str, shown: str) -> None:
    assert shown in app.ask(question).citations[0].quote


@pytest.mark.parametrize(
    "question",
    [
        "What does Article 5 of the data law require?",
        "What does the data law's article 5 require?",
        "Under the data law, what does article 5 require?",
        "What does article 5 of the building code say?",
    ],
)
def test_part_of_another_document_is_not_shown(app: Preflight, question: str) -> None:
    answer = app.ask(question)
    assert all("Dogs" not in citation.quote and "leaves" not in citation.quote for citation in answer.citations)
    assert "Dogs" not in answer.answer
