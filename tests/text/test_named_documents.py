"""Article 5 of one document is not that of another: a question may name the document that it means."""

from __future__ import annotations

import re

import pytest

from preflight_rag.text.named_documents import is_of_named_document

TREATY, LAW, LEASE = "Treaty of the harbour", "Summary of the data law", "Lease of the mill"


@pytest.mark.parametrize(
    ("question", "title", "expected"),
    [
        ("What does article 5 say?", TREATY, True),
        ("What does article 5 of the treaty say?", TREATY, True),
        ("What does article 5 of the harbour treaty allow?", TREATY, True),
        ("What does article 5 of the treaty punish?", TREATY, True),
        ("Is it allowed by article 5 of the treaty?", TREATY, True),
        ("What does article 5 of the data law require?", TREATY, False),
        ("What does article 5 of the data law punish?", TREATY, False),
        ("What does article 5 of the building code say?", TREATY, False),
        ("What does article 5 of the state constitution say?", TREATY, False),
        ("What does article 5 of the harbour code say?", TREATY, False),
        ("What must be paid under article 5 of the harbour code?", TREATY, False),
        ("What does article 5 of GDPR say?", TREATY, False),
        ("What does GDPR article 5 say?", TREATY, False),
        ("What does the data law's article 5 say?", TREATY, False),
        ("What does the treaty's article 5 say?", TREATY, True),
        ("Under the building code, what does article 5 say?", TREATY, False),
        ("Under the treaty, what does article 5 say?", TREATY, True),
        ("Under article 5, are dogs allowed?", TREATY, True),
        ("What does article 5 say according to the data law?", TREATY, False),
        ("What does article 5 in the lease say?", LEASE, True),
        ("What does article 5 of this document say?", LEASE, True),
        ("What does article 5 say about boats?", LEASE, True),
    ],
)
def test_document_that_a_question_names(question: str, title: str, expected: bool) -> None:
    places = [match.span() for match in re.finditer("article 5", question)]
    assert is_of_named_document(question, places, title, [TREATY, LAW, LEASE]) is expected
