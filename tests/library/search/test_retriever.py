"""The library as a LangChain retriever."""

from __future__ import annotations

import pytest

from preflight_rag.library.library import Library
from preflight_rag.library.search.retriever import LibraryRetriever
from preflight_rag.state.values import Document


@pytest.fixture(scope="module")
def library(tmp_path_factory, embedder):
    documents = [
        Document(id="a", text="Aspirin lowers fever.", title="Aspirin", source="a.txt", metadata={"year": 1899}),
        Document(id="b", text="Green tea contains caffeine.", source="b.txt"),
    ]
    with Library.open(tmp_path_factory.mktemp("library"), embedder=embedder, create=True) as opened:
        opened.add(documents)
        yield opened


def test_documents_carry_where_they_came_from(library):
    (document,) = LibraryRetriever(library=library, k=1).invoke("what lowers fever?")
    assert document.page_content == "Aspirin lowers fever."
    expected = {"document_id": "a", "source": "a.txt", "title": "Aspirin", "page": None, "rank": 1, "year": 1899}
    assert document.metadata.items() >= expected.items()
    assert document.metadata["passage_id"] == document.id
    assert document.metadata["score"] > 0


async def test_async_gives_the_same(library):
    retriever = LibraryRetriever(library=library)
    assert await retriever.ainvoke("tea") == retriever.invoke("tea")
    assert len(retriever.invoke("tea")) == 2


def test_it_composes_with_langchain(library):
    chain = LibraryRetriever(library=library, k=1) | (lambda documents: documents[0].page_content)
    assert chain.invoke("caffeine") == "Green tea contains caffeine."


def test_k_is_checked(library):
    with pytest.raises(ValueError, match="greater than or equal to 1"):
        LibraryRetriever(library=library, k=0)
