"""Hybrid retrieval over given texts and vectors by one system, in a process of its own; prints one line of JSON.

    python benchmarks/peer_systems.py SYSTEM FOLDER

`benchmarks/peers.py` writes the folder and runs this with the interpreter of the system's environment. What is measured
is a search with its fusion; queries come with their vectors. Seconds are the processor's, and by the clock: libraries
that calculate are kept to one thread, ours has its two rankings at once where the library is large.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any, TypedDict

import numpy as np

K = 16
WARM = 3
"""Searches before those that are counted."""

Search = Callable[[str, np.ndarray], int]


def texts_of(folder: Path) -> Iterator[str]:
    """Yield the passages' texts, one after the other."""
    with (folder / "texts.jsonl").open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def corpus(folder: Path) -> tuple[list[str], np.ndarray]:
    """Return texts and vectors of the passages."""
    return list(texts_of(folder)), vectors_of(folder)


def vectors_of(folder: Path) -> np.ndarray:
    """Return the passages' vectors, mapped from their file."""
    found: np.ndarray = np.load(folder / "vectors.npy", mmap_mode="r", allow_pickle=False)
    return found


def resident() -> dict[str, float]:
    """Return the megabytes that the process has now, and that it had at most."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    found = dict(line.split(":", 1) for line in lines)
    return {
        name: int(found[key].split()[0]) / 1024
        for name, key in (("resident", "VmRSS"), ("own", "RssAnon"), ("peak", "VmHWM"))
    }


def write_library(folder: Path) -> dict[str, float]:
    """Make a library of ours of the texts and vectors, without an index."""
    from preflight_rag.ingest.identity import passage_id
    from preflight_rag.library.library import Library
    from preflight_rag.state.values import Document, Passage

    started = time.process_time()
    with Library.open(folder / "library", embedder=given_vectors({}), create=True) as library:
        store = library._store
        with store._database.atomic():
            for number, (text, vector) in enumerate(zip(texts_of(folder), vectors_of(folder), strict=True)):
                name = f"document-{number}"
                passage = Passage(
                    id=passage_id(name, 0, text),
                    document_id=name,
                    text=text,
                    source=name,
                    end=len(text),
                    tokens=len(text) // 5,
                )
                document = Document(id=name, text=text, source=name)
                row = (passage, str(number), np.asarray(vector).tobytes())
                store.write_document(document, origin="", content_hash=name, passages=[row])
    return {"storing": time.process_time() - started}


def index_library(folder: Path) -> dict[str, float]:
    """Build the index of that library."""
    from preflight_rag.library.library import Library

    started = time.process_time()
    with Library.open(folder / "library", embedder=given_vectors({})) as library:
        library.rebuild()
    return {"indexing": time.process_time() - started}


def given_vectors(queries: dict[str, np.ndarray]) -> Any:
    """Return an embedder that only knows the vectors of these queries."""
    from preflight_rag.models.embedding.embedder import Embedder

    class GivenVectors(Embedder):
        name, revision, dimension = "given", "given", 384
        max_tokens, special_tokens = 256, 2

        @property
        def tokenizer(self) -> Any:
            raise NotImplementedError

        def encode_query(self, text: str) -> np.ndarray:
            return queries[text]

        def _encode(self, inputs: Any, progress: Any) -> Any:
            raise NotImplementedError

    return GivenVectors()


def preflight(folder: Path) -> tuple[Search, dict[str, Any]]:
    """Ours: fusion, second stage, selection, and the calibrated risk, as a turn has them without a reader."""
    from preflight_rag.library.collection import indexed_terms
    from preflight_rag.library.library import Library
    from preflight_rag.library.search.retrieval import retrieve_passages
    from preflight_rag.routing.decision import predict_loss
    from preflight_rag.routing.risk import shipped_model
    from preflight_rag.state.context import Settings

    known = {"warm": np.zeros(384, np.float32)}
    started, wall = time.process_time(), time.perf_counter()
    library = Library.open(folder / "library", embedder=given_vectors(known))
    library.warm()
    opening = {"opening": time.process_time() - started, "opening_wall": time.perf_counter() - wall}
    settings, model = Settings(k=K), shipped_model()

    def search(query: str, vector: np.ndarray) -> int:
        known[query] = vector
        found = retrieve_passages(library, [query], settings)
        refs = found.references()
        terms = indexed_terms(library, [ref["id"] for ref in refs])
        predict_loss(query, refs, found.sources(), settings, model, terms)
        return len(found.chosen)

    return search, opening | {"index": library.stats()["index"]["dense"]}


def langchain(folder: Path) -> tuple[Search, dict[str, Any]]:
    """EnsembleRetriever over BM25Retriever and FAISS, as LangChain's documentation has it."""
    from langchain_classic.retrievers import EnsembleRetriever
    from langchain_community.retrievers import BM25Retriever
    from langchain_community.vectorstores import FAISS
    from langchain_core.embeddings import Embeddings

    texts, vectors = corpus(folder)
    known: dict[str, np.ndarray] = {}

    class Given(Embeddings):
        def embed_query(self, text: str) -> list[float]:
            found: list[float] = known[text].tolist()
            return found

        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            raise NotImplementedError

    words = BM25Retriever.from_texts(texts, k=K)
    # Rows of the array, not lists: those of a million would be 12 GB before FAISS has them.
    near = FAISS.from_embeddings(zip(texts, vectors, strict=True), Given()).as_retriever(search_kwargs={"k": K})
    ensemble = EnsembleRetriever(retrievers=[words, near], weights=[0.5, 0.5])

    def search(query: str, vector: np.ndarray) -> int:
        known[query] = vector
        return len(ensemble.invoke(query))

    return search, {"version": version("langchain-classic")}


def haystack(folder: Path) -> tuple[Search, dict[str, Any]]:
    """BM25 and embedding retrievers over the store in memory, joined by reciprocal ranks."""
    from haystack import Document
    from haystack.components.joiners import DocumentJoiner
    from haystack.components.retrievers.in_memory import InMemoryBM25Retriever, InMemoryEmbeddingRetriever
    from haystack.document_stores.in_memory import InMemoryDocumentStore

    texts, vectors = corpus(folder)
    store = InMemoryDocumentStore(embedding_similarity_function="dot_product")
    pairs = enumerate(zip(texts, vectors, strict=True))
    store.write_documents([Document(id=str(n), content=text, embedding=vector.tolist()) for n, (text, vector) in pairs])
    words = InMemoryBM25Retriever(store, top_k=K)
    near = InMemoryEmbeddingRetriever(store, top_k=K)
    joiner = DocumentJoiner(join_mode="reciprocal_rank_fusion", top_k=K)

    def search(query: str, vector: np.ndarray) -> int:
        found = [words.run(query=query)["documents"], near.run(query_embedding=vector.tolist())["documents"]]
        return len(joiner.run(documents=found)["documents"])

    return search, {"version": version("haystack-ai")}


def llamaindex(folder: Path) -> tuple[Search, dict[str, Any]]:
    """QueryFusionRetriever over the vector index in memory and BM25 (bm25s), without generated queries."""
    from llama_index.core import Settings, VectorStoreIndex
    from llama_index.core.embeddings import MockEmbedding
    from llama_index.core.llms import MockLLM
    from llama_index.core.retrievers import QueryFusionRetriever, VectorIndexRetriever
    from llama_index.core.schema import QueryBundle, TextNode
    from llama_index.retrievers.bm25 import BM25Retriever

    Settings.llm, Settings.embed_model = MockLLM(), MockEmbedding(384)
    texts, vectors = corpus(folder)
    pairs = enumerate(zip(texts, vectors, strict=True))
    nodes = [TextNode(id_=str(n), text=text, embedding=vector.tolist()) for n, (text, vector) in pairs]
    near = VectorIndexRetriever(VectorStoreIndex(nodes), similarity_top_k=K)
    words = BM25Retriever.from_defaults(nodes=nodes, similarity_top_k=K)
    fused = QueryFusionRetriever(
        [near, words], similarity_top_k=K, num_queries=1, mode="reciprocal_rerank", use_async=False
    )

    def search(query: str, vector: np.ndarray) -> int:
        return len(fused.retrieve(QueryBundle(query, embedding=vector.tolist())))

    return search, {"version": version("llama-index-core")}


def txtai(folder: Path) -> tuple[Search, dict[str, Any]]:
    """Open txtai: an embeddings database with a sparse index beside the dense one, whose vectors come from outside."""
    from txtai import Embeddings

    texts, vectors = corpus(folder)
    known = dict(zip(texts, vectors, strict=True))
    index = Embeddings(
        method="external", transform=lambda asked: np.stack([known[text] for text in asked]), hybrid=True
    )
    index.index(enumerate(texts))

    def search(query: str, vector: np.ndarray) -> int:
        known[query] = vector
        return len(index.search(query, K))

    return search, {"version": version("txtai")}


def paperqa(folder: Path) -> tuple[Search, dict[str, Any]]:
    """Texts of `Docs` by maximal marginal relevance over its vectors in NumPy, as its answers retrieve them: dense."""
    import asyncio

    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # else it asks a host for prices
    from lmi import EmbeddingModel
    from paperqa import Doc, Docs, Settings, Text

    known: dict[str, np.ndarray] = {}

    class Given(EmbeddingModel):
        name: str = "given"

        async def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return [known[text].tolist() for text in texts]

    texts, vectors = corpus(folder)
    docs, source = Docs(), Doc(docname="all", citation="all", dockey="all")
    pairs = enumerate(zip(texts, vectors, strict=True))
    passages = [Text(text=text, name=str(n), doc=source, embedding=vector.tolist()) for n, (text, vector) in pairs]
    loop, settings, model = asyncio.new_event_loop(), Settings(), Given()
    loop.run_until_complete(docs.aadd_texts(passages, source, settings=settings, embedding_model=model))

    def search(query: str, vector: np.ndarray) -> int:
        known[query] = vector
        return len(loop.run_until_complete(docs.retrieve_texts(query, K, settings, model)))

    return search, {"version": version("paper-qa")}


def langgraph(folder: Path) -> tuple[Search, dict[str, Any]]:
    """The graph of LangGraph's documentation on RAG, its step of retrieval over a store in memory: dense."""
    from langchain_core.documents import Document
    from langchain_core.embeddings import Embeddings
    from langchain_core.vectorstores import InMemoryVectorStore
    from langgraph.graph import START, StateGraph

    texts, vectors = corpus(folder)
    known = dict(zip(texts, vectors, strict=True))

    class Given(Embeddings):
        def embed_query(self, text: str) -> list[float]:
            found: list[float] = known[text].tolist()
            return found

        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return [self.embed_query(text) for text in texts]

    # A form that is no class: names in a class's annotations are looked up in the module, which imports nothing.
    State = TypedDict("State", {"question": str, "context": list[Document]})  # noqa: UP013

    store = InMemoryVectorStore(Given())
    store.add_documents([Document(text) for text in texts])

    def retrieve(state: dict[str, Any]) -> dict[str, Any]:
        return {"context": store.similarity_search(state["question"], k=K)}

    graph = StateGraph(State).add_sequence([retrieve]).add_edge(START, "retrieve").compile()

    def search(query: str, vector: np.ndarray) -> int:
        known[query] = vector
        return len(graph.invoke({"question": query})["context"])

    return search, {"version": version("langgraph")}


SYSTEMS: dict[str, Callable[[Path], tuple[Search, dict[str, Any]]]] = {
    "preflight": preflight,
    "langchain": langchain,
    "haystack": haystack,
    "llamaindex": llamaindex,
    "txtai": txtai,
    "paperqa": paperqa,
    "langgraph": langgraph,
}


def main() -> None:
    """Build, search and report."""
    name, folder = sys.argv[1], Path(sys.argv[2])
    if name in ("write", "index"):
        found: dict[str, Any] = write_library(folder) if name == "write" else index_library(folder)
    else:
        queries = json.loads((folder / "queries.json").read_text(encoding="utf-8"))
        vectors = np.load(folder / "query-vectors.npy", allow_pickle=False)
        started = time.process_time()
        search, found = SYSTEMS[name](folder)
        found["building"] = time.process_time() - started
        count = min(len(queries), int(os.environ.get("QUERIES", len(queries))))
        seconds, clock = [], []
        for number in range(WARM + count):
            at = number % len(queries)
            started, wall = time.process_time(), time.perf_counter()
            chosen = search(queries[at], vectors[at])
            if number >= WARM:
                seconds.append(time.process_time() - started)
                clock.append(time.perf_counter() - wall)
            if not chosen:
                sys.exit(f"{name} found nothing for {queries[at]!r}")
        found |= {"search": median(seconds), "clock": median(clock), "queries": count}
    print(json.dumps(found | resident()))


if __name__ == "__main__":
    main()
