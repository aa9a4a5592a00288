"""Documents that a question names to be asked of."""

import pytest

from preflight_rag.state.reading import Source
from preflight_rag.text.asked_documents import asked_documents, without_document

SOURCES = [
    Source(1, "a", "Harbour Safety Plan", "Boats stay in above force 7.", date="2021-04-20", document_id="old"),
    Source(2, "b", "Harbour Safety Plan", "Boats stay in above force 6.", date="2024-06-11", document_id="new"),
    Source(3, "c", "Travel Policy 2022", "A mile is paid with 30p.", document_id="t22"),
    Source(4, "d", "Travel Policy 2024", "A mile is paid with 40p.", document_id="t24"),
    Source(6, "f", "Comments on the harbour safety plan", "Mr Webb wants force 5.", document_id="web"),
    Source(7, "g", "Cover letter to the bank", "The accounts are enclosed.", date="2021-02-01", document_id="cover"),
    Source(5, "e", "Risk register", "Risk: storm | Measure: Harbour Safety Plan", document_id="risks"),
]


@pytest.mark.parametrize(
    ("question", "named"),
    [
        ("When do boats stay in under the harbour safety plan?", {1, 2}),
        ("According to the 2021 Harbour Safety Plan, when do boats stay in?", {1}),
        ("When do boats stay in under the current safety plan?", {2}),
        ("When did boats stay in under the old safety plan?", {1}),
        ("What is paid for a mile under the 2024 policy?", {4}),
        ("What is paid for a mile in the policy from 2022?", {3}),
        ("What is paid for a mile under the 2023 policy?", set()),
        ("What is paid for a mile under the policy?", set()),
        ("What is paid for a mile under the pension policy?", set()),
        ("Who wrote the harbour safety plan?", set()),
        ("What was said of the limes in the letter of 2021?", set()),
        ("How long may visitors park under the new regulations?", set()),
        ("When do boats stay in by the last harbour safety plan?", set()),
        ("Who works in the harbour safety plan office?", set()),
        ("What is wanted in the comments on the harbour safety plan?", {6}),
        ("When do boats stay in?", set()),
    ],
)
def test_passages_of_the_named_document(question, named):
    assert asked_documents(question, SOURCES) == named


def test_the_phrase_is_left_out():
    assert without_document("According to the 2021 safety plan, when do boats stay in?") == "when do boats stay in?"
    assert without_document("When do boats stay in under the plan of 2021?") == "When do boats stay in ?"
    assert without_document("Is there a plan?") == "Is there a plan?"
