"""The stand-in for E-utilities: Boolean search and records in NCBI's XML."""

from __future__ import annotations

import pytest
from lxml import etree
from ncbi_server import own_records

from preflight_rag.evaluation.entrez import Entrez


@pytest.fixture(scope="module")
def entrez():
    return Entrez(own_records())


def ids(entrez, term, database="pubmed", **asked):
    root = etree.fromstring(entrez.esearch({"db": database, "term": term, **asked}).encode())
    found = [element.text for element in root.iterfind("IdList/Id")]
    assert root.tag == "eSearchResult"
    assert int(root.findtext("RetMax")) == len(found)
    return found


@pytest.mark.parametrize(
    ("term", "expected"),
    [
        ("metformin AND pregnancy", ["106"]),
        ("metformin pregnancy", ["106"]),
        ("statins OR insulin", ["102", "103"]),
        ("metformin NOT pregnancy NOT B12", ["101"]),
        ('"heart failure"', ["101", "105"]),
        ("pregnancy[ti] OR mother[ti]", ["106"]),
        ("heart AND review[pt]", ["105"]),
        ("(metformin OR insulin) AND hasabstract AND diabetes", ["103"]),
        ("zzxy", []),
    ],
)
def test_boolean_search(entrez, term, expected):
    assert sorted(ids(entrez, term)) == expected


def test_rarer_terms_and_titles_come_first(entrez):
    assert ids(entrez, "metformin OR vitamin")[0] == "104"
    assert len(ids(entrez, "metformin", retmax="2")) == 2


def test_dates_limit_a_search(entrez):
    window = {"datetype": "pdat", "mindate": "0001", "maxdate": "2000/06"}
    assert ids(entrez, "insulin OR metformin", **window) == ["103"]
    assert ids(entrez, "insulin", **window | {"maxdate": "1998"}) == []


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"db": "books", "term": "x"}, "Invalid db name specified: books"),
        ({"db": "pubmed", "term": " "}, "Empty term and query_key - nothing todo"),
        ({"db": "pubmed", "term": '"open'}, "Invalid query"),
    ],
)
def test_errors_are_ncbis(entrez, asked, message):
    assert f"<ERROR>{message}" in entrez.esearch(asked)


def test_records_that_are_not_there(entrez):
    assert 'Reply Id="9" error="The following PMCID is not available: 9"' in entrez.efetch({"db": "pmc", "id": "203,9"})
    assert etree.fromstring(entrez.efetch({"db": "pubmed", "id": "9"}).encode()).tag == "PubmedArticleSet"
