"""From a ladder to documents: PubMed's abstracts, PMC's reviews, PMC's other articles."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest
from ncbi_server import DOWN, REFUSED, Fault, HttpReply, NcbiServer, abstract, article, chapter, real_records

from preflight_rag.pubmed import fetch_documents as fetch
from preflight_rag.state.errors import UsageError

fetch_documents = partial(fetch, sources="D1+D2+D3")
LADDER = ['metformin AND "heart failure"', "metformin", "metformin OR statins"]


def test_each_kind_of_document_is_found_and_read_as_it_should_be(ncbi_client_of):
    with NcbiServer() as server:
        found = fetch_documents(ncbi_client_of(server), LADDER, enough=3)
    by_id = {document.id: document for document in found.documents}
    assert list(by_id) == ["PMID 101", "PMID 104", "PMID 106", "PMC203", "PMC201"]
    assert [document.metadata["origin"] for document in found.documents] == ["D1", "D1", "D1", "D3", "D2"]
    assert "Eleven cohorts" in by_id["PMC201"].text
    assert "20 degrees" not in by_id["PMC203"].text
    assert by_id["PMID 101"].date == "2021-03"
    assert found.problems == ()


def test_the_ladder_ends_where_there_is_enough(ncbi_client_of):
    with NcbiServer() as server:
        found = fetch_documents(ncbi_client_of(server), LADDER, enough=2)
    pubmed = [rung for rung in found.rungs if rung.where == "pubmed"]
    assert [rung.hits for rung in pubmed] == [1, 3]
    assert server.terms("pubmed") == [rung.expression for rung in pubmed]
    assert pubmed[0].expression == f"({LADDER[0]}) AND hasabstract"


def test_full_text_of_other_articles_when_asked_for(ncbi_client_of):
    with NcbiServer() as server:
        found = fetch_documents(ncbi_client_of(server), ["worms"], full_text=True)
    assert "20 degrees" in found.documents[0].text


def test_a_paper_counts_once(ncbi_client_of):
    """PMC's article of PMID 101 yields to PubMed's abstract; an abstract yields to its review in full."""
    review = article("301", "A review", "Short.", "Long text on metformin.", kind="review-article", pmid="101")
    records = [abstract("101", "A review", "On metformin."), article("302", "Same", "On metformin.", "x", pmid="7")]
    with NcbiServer([review, *records, abstract("7", "Same", "On metformin.")]) as server:
        found = fetch_documents(ncbi_client_of(server), ["metformin"])
    assert [document.id for document in found.documents] == ["PMID 7", "PMC301"]


def test_enough_abstracts_stop_the_articles_one_rung_later(ncbi_client_of):
    """By hand over the server's own records: PubMed has 3 of 2 at the second rung, PMC's reviews never have enough."""
    ladder = ['metformin AND "heart failure"', "metformin", "metformin AND worms", "worms", "heart"]
    with NcbiServer() as server:
        found = fetch_documents(ncbi_client_of(server), ladder, enough=2)
    pubmed, pmc = ([r.expression for r in found.rungs if r.where == where] for where in ("pubmed", "pmc"))
    assert [text.count("metformin") for text in pubmed] == [1, 1]
    reviews = [text for text in pmc if "AND review[filter]" in text]
    assert [text.split(")")[0] for text in reviews] == [f"({rung}" for rung in ladder[:3]]


@pytest.mark.parametrize(
    ("sources", "origins"), [("D1", {"D1"}), ("D1+D2", {"D1", "D2"}), ("D1+D2+D3", {"D1", "D2", "D3"})]
)
def test_the_kinds_of_documents_of_the_papers_table_iii(ncbi_client_of, sources, origins):
    with NcbiServer() as server:
        found = fetch_documents(ncbi_client_of(server), LADDER, sources=sources)
        with pytest.raises(UsageError, match=r"'D2'. Choose D1, D1\+D2, D1\+D2\+D3"):
            fetch_documents(ncbi_client_of(server), LADDER, sources="D2")
    assert {document.metadata["origin"] for document in found.documents} == origins


def test_full_texts_are_asked_of_the_open_access_subset_alone(ncbi_client_of):
    closed = article("301", "Closed", "On gout.", "A long text.", kind="review-article", open_access=False)
    trial = article("302", "Trial", "Gout trial.", "Methods of gout.", open_access=False)
    with NcbiServer([closed, trial]) as server:
        assert [d.id for d in fetch_documents(ncbi_client_of(server), ["gout"]).documents] == ["PMC302"]
        assert fetch_documents(ncbi_client_of(server), ["gout"], full_text=True).documents == ()
        terms = server.terms("pmc")
    assert {term for term in terms if "AND review[filter]" in term} == {
        "(gout) AND review[filter] AND open access[filter]"
    }
    assert "(gout) NOT review[filter] AND open access[filter]" in terms


def test_an_article_is_a_review_by_its_own_type(ncbi_client_of):
    """Whatever NCBI's filter says: a trial that it takes for a review has its abstract alone, and the other way."""
    trial = replace(article("301", "Trial", "A gout trial.", "Methods."), review=True)
    review = replace(article("302", "Review", "On gout.", "Forty trials.", kind="review-article"), review=False)
    with NcbiServer([trial, review]) as server:
        found = {d.id: d for d in fetch_documents(ncbi_client_of(server), ["gout"]).documents}
    assert {name: document.metadata["origin"] for name, document in found.items()} == {"PMC301": "D3", "PMC302": "D2"}
    assert "Methods" not in found["PMC301"].text
    assert "Forty trials" in found["PMC302"].text


def test_chapters_of_books_are_found_and_read(ncbi_client_of):
    books = [chapter("7", "Gout", "Gout is treated."), chapter("8", "Gout genes", "On gout.", book="GeneReviews")]
    with NcbiServer(books) as server:
        first, second = fetch_documents(ncbi_client_of(server), ["gout"]).documents
    assert (first.id, first.title, first.date, first.authors) == ("PMID 7", "Gout", "2023", ("Jane Roe",))
    assert first.metadata.items() >= {"book": "StatPearls", "bookshelf": "NBK7", "origin": "D1"}.items()
    assert second.metadata["book"] == "GeneReviews"


def test_what_was_retracted_is_marked_and_comes_last(ncbi_client_of):
    records = [
        abstract("1", "Gout and gout cure", "Gout is cured.", kind="Retracted Publication"),
        abstract("2", "Retraction: gout cure", "Gout notice.", kind="Retraction of Publication"),
        abstract("3", "[Retracted] On gout", "Gout."),
        article("301", "Gout in mice", "Gout.", "x", retracted=True),
        article("302", "Gout in rats", "Gout.", "x"),
    ]
    with NcbiServer(records) as server:
        found = fetch_documents(ncbi_client_of(server), ["gout"]).documents
    titles = [document.title for document in found]
    assert set(titles[:2]) == {"Retraction: gout cure", "Gout in rats"}
    assert set(titles[2:]) == {"RETRACTED: Gout and gout cure", "[Retracted] On gout", "RETRACTED: Gout in mice"}
    assert [document.metadata.get("retracted", False) for document in found] == [False, False, True, True, True]


def test_dates_limit_what_is_found(ncbi_client_of):
    with NcbiServer() as server:
        client = ncbi_client_of(server)
        assert [d.id for d in fetch_documents(client, ["insulin"], until="2000").documents] == ["PMID 103"]
        assert fetch_documents(client, ["insulin"], since="2000-01").documents == ()
        with pytest.raises(UsageError, match="'yesterday' is no date"):
            fetch_documents(client, ["insulin"], since="yesterday")


def test_one_database_that_fails_leaves_the_others(ncbi_client_of):
    with NcbiServer(script=[Fault("review[filter]", DOWN)]) as server:
        found = fetch_documents(ncbi_client_of(server, attempts=1), LADDER, enough=3)
    assert [document.id for document in found.documents] == ["PMID 101", "PMID 104", "PMID 106"]
    assert len(found.problems) == 1
    assert [rung.hits for rung in found.rungs if rung.where == "pmc"] == [0, 0]


def test_a_refused_expression_does_not_stop_the_ladder(ncbi_client_of):
    with NcbiServer(script=[Fault('AND "heart failure"', REFUSED)]) as server:
        found = fetch_documents(ncbi_client_of(server), LADDER, enough=3)
    assert "PMID 101" in [document.id for document in found.documents]
    assert "does not take the expression" in found.rungs[0].note
    assert "does not take the expression" in found.problems[0]


def test_what_was_found_before_a_failure_stays(ncbi_client_of):
    with NcbiServer(script=[Fault("202,203", DOWN), Fault("201", DOWN)]) as server:
        found = fetch_documents(ncbi_client_of(server, attempts=1), LADDER, enough=3)
    assert [document.metadata["origin"] for document in found.documents] == ["D1"] * 3
    assert any("documents of PMC were not fetched" in problem for problem in found.problems)


def test_documents_that_are_not_delivered_are_told(ncbi_client_of):
    gone = HttpReply(
        '<pmc-articleset><Reply Id="203" error="The following PMCID is not available: 203"/></pmc-articleset>'
    )
    with NcbiServer(script=[Fault("203", gone)]) as server:
        found = fetch_documents(ncbi_client_of(server), ["worms"])
    assert found.documents == ()
    assert found.problems == ("PMC delivered 0 of 1 documents that it had found",)


def test_a_deadline_ends_it(ncbi_client_of):
    with NcbiServer(script=[Fault("metformin", delay=30)]) as server:
        found = fetch_documents(ncbi_client_of(server), LADDER, deadline=0.2)
    assert found.documents == ()
    assert found.problems
    assert all(problem.startswith("NCBI") for problem in found.problems)


def test_nothing_to_ask_asks_nothing(ncbi_client_of):
    with NcbiServer() as server:
        found = fetch_documents(ncbi_client_of(server), ["", " "])
    assert (found.documents, found.rungs, server.requests) == ((), (), [])


def test_real_records(ncbi_client_of, data_dir):
    with NcbiServer(real_records(data_dir)) as server:
        found = fetch_documents(ncbi_client_of(server), ["(asthma AND budesonide) OR etoricoxib"])
    abstract, trial = found.documents
    assert (abstract.id, trial.id) == ("PMID 29768149", "PMC115849")
    assert abstract.metadata["mesh"]
    assert trial.text.startswith("Abstract")
    assert found.problems == ()


def test_abstracts_and_reviews_are_asked_for_where_nothing_else_is_said(ncbi_client_of):
    """CPQA, section IV.A: these two are its best; other articles in full are asked for by name."""
    with NcbiServer() as server:
        usual = fetch(ncbi_client_of(server), ["worms", *LADDER], enough=30)
        full = fetch(ncbi_client_of(server), ["worms", *LADDER], enough=30, full_text=True)
    assert {document.metadata["origin"] for document in usual.documents} == {"D1", "D2"}
    assert {document.metadata["origin"] for document in full.documents} == {"D1", "D2", "D3"}
