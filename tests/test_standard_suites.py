"""LangChain's own test suites for integrations, over the retriever, the tools and the embedders as they are used.

That of LangGraph's checkpointers is in threads/test_checkpoints.py.
"""

import pytest
from langchain_tests.integration_tests import (
    EmbeddingsIntegrationTests,
    RetrieversIntegrationTests,
    ToolsIntegrationTests,
)
from langchain_tests.unit_tests import EmbeddingsUnitTests, ToolsUnitTests
from ncbi_server import NcbiServer

from preflight_rag import Preflight
from preflight_rag.langchain import (
    EntrezClient,
    PreflightRetriever,
    PubMedRetriever,
    preflight_tool,
    summarize_tool,
)
from preflight_rag.models.embedding.langchain_embedder import LangChainEmbedder
from preflight_rag.models.embedding.minilm import MiniLM

pytestmark = pytest.mark.slow

QUESTION = "How hot is the planet Venus?"


class TestRetriever(RetrieversIntegrationTests):
    """`PreflightRetriever` over the demo's library."""

    retriever_constructor = PreflightRetriever
    retriever_query_example = QUESTION

    @pytest.fixture(autouse=True)
    def _over_the_demo(self, library):
        self.library = library

    @property
    def retriever_constructor_params(self):
        return {"library": self.library, "k": 4}


class TestPubMedRetriever(RetrieversIntegrationTests):
    """`PubMedRetriever` over a server that answers as NCBI does; `k` counts documents of one kind, here abstracts."""

    retriever_constructor = PubMedRetriever
    retriever_query_example = "metformin"

    @pytest.fixture(autouse=True)
    def _over_a_server(self):
        with NcbiServer() as server, EntrezClient(url=server.url, email="a@example.org") as client:
            self.client = client
            yield

    @property
    def retriever_constructor_params(self):
        return {"client": self.client, "k": 4, "sources": "D1"}


class OverTheDemo:
    """The application that the tools belong to; without a language model."""

    @pytest.fixture(autouse=True)
    def _over_the_demo(self, own_folder):
        with Preflight.open(own_folder, "offline") as app:
            self.app = app
            yield


class AnsweringTool(OverTheDemo):
    """`preflight_tool`."""

    tool_invoke_params_example = {"question": QUESTION}  # noqa: RUF012  # as the suite has it

    @property
    def tool_constructor(self):
        return preflight_tool(self.app)


class TestToolUnit(AnsweringTool, ToolsUnitTests):
    """What can be checked without a call."""


class TestToolIntegration(AnsweringTool, ToolsIntegrationTests):
    """Called, and awaited."""


class SummarizingTool(OverTheDemo):
    """`summarize_tool`."""

    @property
    def tool_constructor(self):
        return summarize_tool(self.app)

    @property
    def tool_invoke_params_example(self):
        return {"document_id": next(iter(self.app.library.documents()))["id"]}


class TestSummarizeToolUnit(SummarizingTool, ToolsUnitTests):
    """What can be checked without a call."""


class TestSummarizeToolIntegration(SummarizingTool, ToolsIntegrationTests):
    """Called, and awaited."""


class TestDefaultEmbedderUnit(EmbeddingsUnitTests):
    """The embedder that libraries have unless they are given another."""

    embeddings_class = MiniLM


class TestDefaultEmbedderIntegration(EmbeddingsIntegrationTests):
    """The same, embedding."""

    embeddings_class = MiniLM


class OfAnEmbeddings:
    """What a LangChain `Embeddings` of somebody's own becomes."""

    embeddings_class = LangChainEmbedder

    @pytest.fixture(autouse=True)
    def _around_another(self, embedder):
        self.embedder = embedder

    @property
    def embedding_model_params(self):
        return {"embeddings": self.embedder}


class TestEmbedderOfAnEmbeddingsUnit(OfAnEmbeddings, EmbeddingsUnitTests):
    """Made."""


class TestEmbedderOfAnEmbeddingsIntegration(OfAnEmbeddings, EmbeddingsIntegrationTests):
    """Embedding."""
