"""Unclaimed quotes about a yes/no question, each with its document."""

from __future__ import annotations

import pytest

from preflight_rag.corg.quotes_by_document import labelled_by_document
from preflight_rag.offline.evidence import evidence
from preflight_rag.state.reading import Draft, Source
from preflight_rag.text.headers import ABOUT_THIS, CLOSEST, not_mentioned, other_years

QUESTION = "Are bicycles allowed on the pier?"
SOURCES = [
    Source(1, "p1", "Pier rules", "Bicycles are pushed, not ridden.", document_id="a", source="/files/rules.md"),
    Source(2, "p2", "Visitors' guide", "Bring your bicycle onto the pier.", document_id="b", source="/files/guide.md"),
    Source(3, "p3", "Pier rules", "The pier closes at ten.", document_id="a", source="/files/rules.md"),
]
BOTH = [(1, "Bicycles are pushed, not ridden."), (2, "Bring your bicycle onto the pier.")]


@pytest.mark.parametrize("lead", [ABOUT_THIS, CLOSEST, not_mentioned(["skates"]), other_years([2020])])
def test_each_quote_has_its_documents_title_and_stands_in_a_group_of_its_own(lead):
    found, entries = labelled_by_document(QUESTION, evidence(BOTH, lead), SOURCES)
    assert found.text.split("\n\n") == [
        lead,
        "**Pier rules**: “Bicycles are pushed, not ridden.” [1]",
        "**Visitors' guide**: “Bring your bicycle onto the pier.” [2]",
    ]
    assert found.quotes == tuple(BOTH)
    assert [(entry["entity"], entry["ranks"]) for entry in entries] == [("Pier rules", [1]), ("Visitors' guide", [2])]


@pytest.mark.parametrize(
    ("question", "draft"),
    [
        pytest.param("When does the pier close?", evidence(BOTH, CLOSEST), id="no yes/no question"),
        pytest.param(QUESTION, evidence([BOTH[0], (3, "The pier closes at ten.")], CLOSEST), id="one document"),
        pytest.param(QUESTION, evidence(BOTH, "Your documents give different answers:"), id="a line that says more"),
        pytest.param(QUESTION, evidence([BOTH[0], (2, "Vehicle: bicycle | Allowed: yes")], CLOSEST), id="a row"),
        pytest.param(QUESTION, Draft("No [1]", (BOTH[0],)), id="a claim"),
        pytest.param(QUESTION, Draft("", found=False), id="nothing"),
    ],
)
def test_other_answers_stay_as_they_are(question, draft):
    assert labelled_by_document(question, draft, SOURCES) == (draft, [])


def test_documents_of_one_title_are_told_apart_by_their_files():
    editions = [
        Source(1, "p1", "Pier rules", "Bicycles are pushed.", document_id="a", source="/files/rules-2019.md"),
        Source(2, "p2", "Pier rules", "Bicycles are ridden.", document_id="b", source="/files/rules-2024.md"),
    ]
    quotes = [(1, "Bicycles are pushed."), (2, "Bicycles are ridden.")]
    _, entries = labelled_by_document(QUESTION, evidence(quotes, CLOSEST), editions)
    labels = [entry["entity"] for entry in entries]
    assert len(set(labels)) == 2
    assert "2019" in labels[0]
    assert "2024" in labels[1]
