"""PubMed as a LangChain retriever."""

from __future__ import annotations

import pytest
from ncbi_server import DOWN, Fault, NcbiServer

from preflight_rag.pubmed.retriever import PubMedRetriever
from preflight_rag.state.errors import PubMedUnavailable, UsageError


async def test_documents_of_all_kinds(ncbi_client_of):
    with NcbiServer() as server:
        retriever = PubMedRetriever(client=ncbi_client_of(server), k=2, sources="D1+D2+D3")
        documents = retriever.invoke("Does metformin help in heart failure?")
        assert await retriever.ainvoke("Does metformin help in heart failure?") == documents
    assert {document.metadata["origin"] for document in documents} == {"D1", "D2", "D3"}
    assert documents[0].metadata.items() >= {"source": "PMID 101", "title": "Metformin in heart failure"}.items()


def test_a_question_finds_more_with_fewer_words(ncbi_client_of):
    with NcbiServer() as server:
        documents = PubMedRetriever(client=ncbi_client_of(server), k=1).invoke(
            "Why do statins cause muscle pain so often?"
        )
        assert [document.id for document in documents] == ["PMID 102"]
        assert server.terms("pubmed")[-1].startswith("(statins AND (muscle pain))")


def test_it_composes_with_langchain(ncbi_client_of):
    with NcbiServer() as server:
        chain = PubMedRetriever(client=ncbi_client_of(server)) | (lambda documents: documents[0].metadata["source"])
        assert chain.invoke("insulin") == "PMID 103"


def test_some_problems_are_logged_and_nothing_at_all_is_an_error(ncbi_client_of, caplog):
    with NcbiServer(script=[Fault("review[filter]", DOWN)]) as server:
        retriever = PubMedRetriever(client=ncbi_client_of(server, attempts=1))
        assert [document.id for document in retriever.invoke("insulin")] == ["PMID 103"]
        assert "status 500" in caplog.text
        with pytest.raises(PubMedUnavailable, match="status 500"):
            retriever.invoke("worms")


def test_a_query_without_content_is_refused(ncbi_client_of):
    with NcbiServer() as server, pytest.raises(UsageError, match="nothing to search for in 'what is the'"):
        PubMedRetriever(client=ncbi_client_of(server)).invoke("what is the")
