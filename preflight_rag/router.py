"""The preflight as a LangChain runnable: a question and retrieved documents in, a routing decision out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypedDict

from langchain_core.documents import Document
from langchain_core.runnables import Runnable, RunnableConfig

from preflight_rag.state.context import Settings
from preflight_rag.state.errors import UsageError
from preflight_rag.state.reading import Source
from preflight_rag.state.retrieval import Candidate
from preflight_rag.state.schema import PassageRef
from preflight_rag.state.values import Passage, RouteDecision

if TYPE_CHECKING:
    from langchain_core.embeddings import Embeddings

    from preflight_rag.library import Library

CHARS_A_TOKEN = 4


class RouterInput(TypedDict):
    """What the router takes."""

    question: str
    documents: Sequence[Document]


class PreflightRouter(Runnable[RouterInput, RouteDecision]):
    """Decides how retrieved documents have to be read, without a language model.

    Documents of `PreflightRetriever` carry what the calibrated rule needs. Of other documents the cosines are taken
    with `embedder`, and the IoU rule decides.

    Args:
        library: Whose calibration and embedder serve.
        embedder: Of documents without a library.
        **settings: Fields of `Settings`, such as `preflight="iou"` or `threshold=0.2`.

    Example:
        router = PreflightRouter(library=library)
        chain = {"question": RunnablePassthrough(), "documents": PreflightRetriever(library=library)} | router
        chain.invoke("what lowers LDL cholesterol?").name

    Raises:
        UsageError: Neither library nor embedder is given, or a setting is wrong.
    """

    def __init__(self, *, library: Library | None = None, embedder: Embeddings | None = None, **settings: Any) -> None:
        if library is None and embedder is None:
            raise UsageError(
                "the router has no embedder", help="Give library=Library.open(...) or embedder=Embeddings."
            )
        self.library = library
        self.embedder = embedder
        self.settings = Settings.read(**settings)

    def invoke(self, input: RouterInput, config: RunnableConfig | None = None, **kwargs: Any) -> RouteDecision:
        """The decision for one question and its documents, best first.

        Raises:
            UsageError: The input lacks the question or the documents.
        """
        return self._call_with_config(self._decide, input, config)

    def _decide(self, given: RouterInput) -> RouteDecision:
        from preflight_rag.nodes.preflight import decide, risk_model_of

        try:
            question, documents = given["question"], list(given["documents"])
        except (KeyError, TypeError):
            raise UsageError(
                f"the router was given {type(given).__name__}, not a question with documents",
                help='Give {"question": "...", "documents": [...]}.',
            ) from None
        refs, sources = self._passages(question, documents)
        return decide(question, refs, sources, self.settings, risk_model_of(self.library))

    def _passages(self, question: str, documents: list[Document]) -> tuple[list[PassageRef], list[Source]]:
        from preflight_rag.library.search.gather import reference

        cosines = self._cosines(question, documents)
        candidates = [
            self._candidate(document, rank, cosine)
            for rank, (document, cosine) in enumerate(zip(documents, cosines, strict=True), 1)
        ]
        return (
            [reference(candidate, candidate.rank) for candidate in candidates],
            [Source.of(candidate.passage, candidate.rank) for candidate in candidates],
        )

    def _candidate(self, document: Document, rank: int, cosine: float) -> Candidate:
        facts, text = document.metadata, document.page_content
        name, source = str(facts.get("passage_id") or document.id or rank), str(facts.get("source") or "")
        passage = Passage(
            id=name,
            document_id=str(facts.get("document_id") or source or name),
            text=text,
            title=str(facts.get("title") or ""),
            source=source,
            date=str(facts.get("date") or "") or None,
            tokens=self._count(text),
        )
        return Candidate(
            passage,
            rank,
            score=float(facts.get("score") or 0.0),
            cosine=cosine,
            dense_rank=facts.get("dense_rank"),
            lexical_rank=facts.get("lexical_rank"),
            bm25=facts.get("bm25"),
        )

    def _count(self, text: str) -> int:
        if self.library is not None:
            return self.library.embedder.count_tokens(text)
        return -(-len(text) // CHARS_A_TOKEN)

    def _cosines(self, question: str, documents: list[Document]) -> list[float]:
        """As the retriever gave them, else by the embedder."""
        import numpy as np

        if all("cosine" in document.metadata for document in documents):
            return [float(document.metadata["cosine"]) for document in documents]
        embedder = self.embedder or (self.library.embedder if self.library is not None else None)
        if embedder is None:
            raise UsageError("the documents have no cosines", help="Give the router an embedder.")
        query = np.asarray(embedder.embed_query(question), dtype=np.float32)
        vectors = np.asarray(embedder.embed_documents([item.page_content for item in documents]), dtype=np.float32)
        lengths = np.linalg.norm(vectors, axis=1) * np.linalg.norm(query)
        return [float(value) for value in (vectors @ query) / np.maximum(lengths, 1e-12)]
