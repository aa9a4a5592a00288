"""Addresses of documents: made of identifiers that have their form, or of http and https, never of anything else."""

import pytest

from preflight_rag.text.links import is_bare_reference, link_of

LINKED = [
    ("PMC3531190", {}, "https://pmc.ncbi.nlm.nih.gov/articles/PMC3531190/"),
    ("PMID 23193287", {}, "https://pubmed.ncbi.nlm.nih.gov/23193287/"),
    ("PMID 23193287", {"doi": "10.1093/nar/gks1195"}, "https://doi.org/10.1093/nar/gks1195"),
    ("PMC3531190", {"pmid": "23193287"}, "https://pmc.ncbi.nlm.nih.gov/articles/PMC3531190/"),
    ("a.pdf", {"doi": "doi:10.1002/(SICI)1097-0258<1>3.0.CO;2-P"}, "https://doi.org/10.1002/(SICI)1097-0258%3C1%3E3.0.CO;2-P"),
    ("a.pdf", {"doi": "https://doi.org/10.1093/nar/gks1195"}, "https://doi.org/10.1093/nar/gks1195"),
    ("a.jsonl", {"pmid": 23193287}, "https://pubmed.ncbi.nlm.nih.gov/23193287/"),
    ("https://example.org/a?b=c#d", {}, "https://example.org/a?b=c#d"),
    ("notes.html", {"url": "http://example.org/"}, "http://example.org/"),
]  # fmt: skip
NOT_LINKED = [
    ("/home/anna/a.pdf", {}),
    ("", {}),
    ("javascript:alert(1)", {}),
    ("a", {"url": "javascript:alert(1)//https://example.org"}),
    ("a", {"url": "https://user:secret@example.org/"}),
    ("a", {"url": 'https://example.org/" onclick="x'}),
    ("a", {"url": "https://example.org/\nb"}),
    ("a", {"url": "https://[::1"}),
    ("a", {"url": "file:///etc/passwd"}),
    ("a", {"doi": "10.1/x y"}),
    ("a", {"doi": "not a doi 10.1093/nar"}),
    ("PMID 1/../../x", {}),
    ("PMC12<script>", {}),
    ("a", {"pmid": ["1"], "pmcid": None}),
    ("https://example.org/" + "a" * 3000, {}),
]


@pytest.mark.parametrize(("source", "metadata", "expected"), LINKED)
def test_a_document_is_linked_by_what_identifies_it(source, metadata, expected):
    assert link_of(source, metadata) == expected


@pytest.mark.parametrize(("source", "metadata"), NOT_LINKED)
def test_what_is_no_identifier_and_no_web_address_is_no_link(source, metadata):
    assert link_of(source, metadata) is None


@pytest.mark.parametrize(
    ("question", "quote", "is_bare"),
    [
        ("How do I sow oats?", "(from https://farm.example/oats)", True),
        ("How do I sow oats?", "https://farm.example/oats", True),
        ("How do I sow oats?", "See also: www.farm.example/oats.", True),
        ("How do I sow oats?", "Oats are sown as https://farm.example/oats shows.", False),
        ("Who grows oats?", "<ann@farm.example>", True),
        ("How do I contact the farm?", "<ann@farm.example>", False),
        ("To whom are orders for oats sent?", "<ann@farm.example>", False),
        ("Who grows oats?", "Ann Lee, ann@farm.example", False),
        ("How many children come?", "01794 550 880", True),
        ("How many children come?", "Tel.: +44 (0)1794 550880", True),
        ("What is the number of the school?", "01794 550 880", False),
        ("What do I do if it burns?", "01794 550 880", False),
        ("How many children come?", "27", False),
        ("How many people live there?", "1 794 550", False),
        ("When is it?", "2025-09-22", False),
        ("Which web page is about oats?", "https://farm.example/oats", False),
    ],
)
def test_an_address_alone_is_a_bare_reference(question, quote, is_bare):
    assert is_bare_reference(question, quote) is is_bare
