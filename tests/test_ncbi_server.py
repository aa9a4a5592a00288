"""The scripted stand-in for NCBI does what its tests rely on."""

from __future__ import annotations

import httpx
import pytest
from lxml import etree
from ncbi_server import BROKEN_XML, DOWN, Entrez, Fault, NcbiServer, abstract, own_records, sample_mesh


def get(server, utility="esearch.fcgi", **asked):
    return httpx.get(f"{server.url}/{utility}", params={"db": "pubmed", **asked})


def test_faults_come_in_order_and_run_out():
    with NcbiServer(script=[Fault("metformin", DOWN, times=1), Fault("metformin", BROKEN_XML, times=1)]) as server:
        replies = [get(server, term=term) for term in ("insulin", "metformin", "metformin", "metformin")]
    assert [reply.status_code for reply in replies] == [200, 500, 200, 200]
    assert [reply.text.rstrip().endswith("</eSearchResult>") for reply in replies] == [True, False, False, True]
    assert server.terms() == ["insulin", "metformin", "metformin", "metformin"]


def test_a_rate_is_enforced_as_ncbi_does():
    with NcbiServer(per_second=1, retry_after=3) as server, httpx.Client() as client:
        replies = [client.get(f"{server.url}/esearch.fcgi", params={"db": "pubmed", "term": "x"}) for _ in range(30)]
    refused = [reply for reply in replies if reply.status_code == 429]
    assert len(refused) == server.refused > 0
    assert refused[0].headers["Retry-After"] == "3"
    assert refused[0].json()["error"] == "API rate limit exceeded"


@pytest.mark.parametrize(("utility", "status"), [("efetch.fcgi", 200), ("elink.fcgi", 404)])
def test_other_utilities(utility, status):
    with NcbiServer() as server:
        assert get(server, utility, id="101").status_code == status


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


@pytest.fixture(scope="module")
def mapped():
    """Records of which only some have the words, and only some the heading."""
    return Entrez(
        [
            abstract("1", "Sore legs", "Aching legs under simvastatin.", mesh=("Myalgia",)),
            abstract("2", "Cramps", "Muscle cramps and pain of the back."),
            abstract("3", "Ache", "Muscle pain after sport."),
            abstract("4", "A tumour", "Ductal carcinoma.", mesh=("Breast Neoplasms",)),
        ],
        sample_mesh(),
    )


@pytest.mark.parametrize(
    ("term", "expected"),
    [
        ("muscle pain", ["1", "2", "3"]),
        ("(muscle pain) AND simvastatin", ["1"]),
        ('"muscle pain"', ["3"]),
        ('"muscle pain" AND simvastatin', []),
        ("muscle pain[tiab]", ["2", "3"]),
        ("cancer", ["4"]),
        ('"ductal cancer"', ["4"]),
        ("muscle pain cramps", ["2"]),
        ("back pain", ["2"]),
    ],
)
def test_terms_are_mapped_as_pubmed_maps_them(mapped, term, expected):
    """PubMed's help, "Automatic term mapping": by hand over the four records.

    A term without quotation marks and tag finds the heading that it stands for, narrower ones with it, or its words
    anywhere; quotation marks and tags switch that off; quotation marks around what is nowhere are ignored.
    """
    assert sorted(ids(mapped, term)) == expected


def test_the_reply_says_how_terms_were_mapped(mapped):
    root = etree.fromstring(mapped.esearch({"db": "pubmed", "term": "muscle pain sport"}).encode())
    assert root.findtext("QueryTranslation") == (
        '("Myalgia"[MeSH Terms] OR (muscle[All Fields] AND pain[All Fields])) AND sport[All Fields]'
    )
