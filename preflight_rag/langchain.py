"""Preflight RAG as parts for LangChain and LangGraph.

A retriever, tools, a router, the graph as a node; and each stage between a question and its passages as a piece of its
own. Every name of `__all__` can be imported from here, wherever it lives inside; a piece is loaded at its first use.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from math import ceil
from typing import TYPE_CHECKING, Any, TypedDict

from langchain_core.callbacks import BaseCallbackManager
from langchain_core.documents import Document
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.config import set_config_context
from langchain_core.tools import BaseTool, StructuredTool, ToolException
from typing_extensions import Unpack

from preflight_rag.library.names import names_of
from preflight_rag.models.embedding.embedder import register_with_langchain
from preflight_rag.state.calls import checked_choices, chosen_of, configured, joined_instructions, narrowed
from preflight_rag.state.context import Context, GivenSettings, Settings
from preflight_rag.state.errors import PreflightError, UsageError
from preflight_rag.state.reading import Source
from preflight_rag.state.retrieval import Candidate
from preflight_rag.state.values import Answer, Passage, RouteDecision
from preflight_rag.text.inert import inert_line

if TYPE_CHECKING:
    from langchain_core.embeddings import Embeddings
    from langgraph.graph.state import CompiledStateGraph

    from preflight_rag.app import Preflight
    from preflight_rag.conversation.rewriter import QueryRewriter
    from preflight_rag.ingest.splitting.semantic_splitter import SemanticOverlapSplitter
    from preflight_rag.ingest.splitting.sentence_splitter import SentenceSplitter
    from preflight_rag.library.collection import Collection
    from preflight_rag.library.search.compressors import FPSSelector, MMRSelector, Reorder, TokenBudget
    from preflight_rag.library.search.filters import Filter
    from preflight_rag.library.search.merging import merge
    from preflight_rag.library.search.passage_reranker import PassageReranker
    from preflight_rag.library.search.retriever import LibraryRetriever as PreflightRetriever
    from preflight_rag.library.search.spelling import Speller
    from preflight_rag.models.opening import open_embedder, open_extractive_reader
    from preflight_rag.pubmed import EntrezClient, fetch_documents
    from preflight_rag.pubmed.ladder import search_until_enough
    from preflight_rag.pubmed.mesh import Mesh
    from preflight_rag.pubmed.retriever import PubMedRetriever
    from preflight_rag.routing.calibration import calibrate
    from preflight_rag.routing.known_questions import make_questions, read_questions
    from preflight_rag.state.schema import PassageRef
    from preflight_rag.text.concepts import expressions, key_concepts

_NAMES_BY_MODULE = {
    "preflight_rag.conversation.rewriter": ("QueryRewriter",),
    "preflight_rag.pubmed": ("EntrezClient", "fetch_documents"),
    "preflight_rag.pubmed.retriever": ("PubMedRetriever",),
    "preflight_rag.pubmed.ladder": ("search_until_enough",),
    "preflight_rag.pubmed.mesh": ("Mesh",),
    "preflight_rag.library.search.spelling": ("Speller",),
    "preflight_rag.library.search.filters": ("Filter",),
    "preflight_rag.library.search.merging": ("merge",),
    "preflight_rag.library.search.passage_reranker": ("PassageReranker",),
    "preflight_rag.library.search.compressors": ("FPSSelector", "MMRSelector", "Reorder", "TokenBudget"),
    "preflight_rag.ingest.splitting.semantic_splitter": ("SemanticOverlapSplitter",),
    "preflight_rag.ingest.splitting.sentence_splitter": ("SentenceSplitter",),
    "preflight_rag.models.opening": ("open_embedder", "open_extractive_reader"),
    "preflight_rag.routing.calibration": ("calibrate",),
    "preflight_rag.routing.known_questions": ("make_questions", "read_questions"),
    "preflight_rag.text.concepts": ("expressions", "key_concepts"),
}
register_with_langchain()
_MODULE_OF_NAME = {name: module for module, names in _NAMES_BY_MODULE.items() for name in names}

__all__ = [
    "EntrezClient",
    "FPSSelector",
    "Filter",
    "MMRSelector",
    "Mesh",
    "PassageReranker",
    "PreflightRetriever",
    "PreflightRouter",
    "PubMedRetriever",
    "QueryRewriter",
    "Reorder",
    "SemanticOverlapSplitter",
    "SentenceSplitter",
    "Speller",
    "TokenBudget",
    "calibrate",
    "expressions",
    "fetch_documents",
    "key_concepts",
    "make_questions",
    "merge",
    "open_embedder",
    "open_extractive_reader",
    "preflight_graph",
    "preflight_tool",
    "read_questions",
    "search_until_enough",
    "summarize_tool",
]

RESULTS = (
    *("answer", "abstained", "choice", "citations", "statements", "groups", "relations", "passage_refs", "decision"),
    *("gaps", "spent", "standalone_question", "queries"),
)
"""Channels of the graph's state that say what a turn has come to."""
CHARS_A_TOKEN = 4  # of English in common tokenizers; only where no library's embedder counts


def __getattr__(name: str) -> Any:
    """Import a name of `__all__` when it is first used: a chain that needs only a splitter loads no models."""
    if name == "PreflightRetriever":
        from preflight_rag.library.search.retriever import LibraryRetriever

        return LibraryRetriever
    if name not in _MODULE_OF_NAME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULE_OF_NAME[name]), name)


def __dir__() -> list[str]:
    """Return the module's names, including those imported on first use."""
    return sorted([*globals(), *__all__])


def preflight_graph(
    app: Preflight | Mapping[str, Preflight],
    *,
    checkpointer: Any = None,
    name: str = "preflight",
    channels: Sequence[str] = RESULTS,
    **settings: Unpack[GivenSettings],
) -> CompiledStateGraph[Any, Any, Any, Any]:
    """Return the graph over an application's library, to run it or to use it as a node; it needs no `context`.

    It takes `messages` and adds the answer to them; a graph around it that declares further ones of `channels`, such as
    `citations`, gets them too. Any other channel of that graph is its own, whatever it is called. The application's
    threads stay out of it. A run's `configurable` may hold `k`, `where` and `library`, and every other setting that
    callers may choose as `preflight_NAME`.

    Args:
        app: The application, which must be open as long as the graph is used; or several by name, of which each run
            names one as `library`.
        checkpointer: Your checkpointer, for a graph that runs by itself; a run that names no thread begins a new one.
            For a graph that is a node, True keeps the conversation's state between turns, in the checkpointer of the
            graph around it; None begins each turn anew, with its messages alone.
        name: The graph's name.
        channels: The channels of `State` that it shares with the graph around it, besides `messages`; with `options`
            among them it takes the choices of a multiple-choice question.
        **settings: Fields of `Settings`, such as `route="plain"`.

    Raises:
        UsageError: A setting or a channel is wrong; in a run, also a setting that callers may not choose.
    """
    from langgraph.config import get_config

    from preflight_rag.graph.build import build_graph
    from preflight_rag.graph.unnamed import OwnThreads

    for one_app in app.values() if isinstance(app, Mapping) else [app]:
        one_app.context(**settings)  # raises an error for a wrong setting

    def resolve(_: object) -> Context:
        """Return the context of a run, with the library and the settings that its config chooses."""
        chosen, changes = _resolve_call(app, get_config(), settings)
        changes.pop("thread_id", None)
        return chosen.context(**changes)

    graph = build_graph(resolve=resolve, channels=channels).compile(checkpointer=checkpointer, name=name)
    return OwnThreads.of(graph)


def preflight_tool(
    app: Preflight | Mapping[str, Preflight],
    *,
    name: str = "search_documents",
    description: str = "Answers a question from the document collection, with citations. Ask one full question.",
    **settings: Unpack[GivenSettings],
) -> BaseTool:
    """Return a tool for agents: its content is the cited answer with its sources, its artifact the `Answer` as a dict.

    Documents that were read from files are named by their files' names, as a tool's messages may go to any client.
    Each call has a thread of its own, so calls of one step of an agent run side by side. One that is to go on with a
    conversation is given its thread as `preflight_thread_id` in the run's `configurable`; calls on one thread wait for
    each other. `configurable` may hold `k`, `where` and `library`, too, and every other setting that callers may
    choose as `preflight_NAME`. What goes wrong becomes the tool's content, so that the agent can go on.

    Args:
        app: Open as long as the tool is used; or several by name, of which each run names one as `library`.
        name: The tool's name for the agent's model.
        description: The tool's description for that model.
        **settings: Fields of `Settings`, such as `route="plain"`.
    """

    def turn(config: RunnableConfig) -> tuple[Preflight, dict[str, Any]]:
        """Return the application that a run's config names, and the arguments of its `ask`."""
        chosen, changes = _resolve_call(app, config, settings)
        thread_id = changes.pop("thread_id", None) or _thread_id_of_call(config)
        # The turn runs to its end: it asks the user nothing, and drops a turn before it that was cut off.
        return chosen, {**changes, "thread_id": thread_id, "discard": True, "clarify": False}

    def content_of(chosen: Preflight, answer: Answer) -> tuple[str, dict[str, Any]]:
        """Return the tool's content (the answer with its sources) and its artifact (the answer as a dict)."""
        shown = Answer.model_validate(names_of(chosen.library).shown(answer.model_dump()))
        lines = [shown.answer]
        for citation in shown.citations:
            title, source = inert_line(citation.title or citation.source), inert_line(citation.source)
            lines.append(f'[{citation.n}] {title} ({source}): "{inert_line(citation.quote)}"')
        return "\n".join(lines), shown.model_dump()

    def run(question: str, config: RunnableConfig) -> tuple[str, dict[str, Any]]:
        """Answer a question synchronously; the tool's artifact is the answer as a dict."""
        try:
            chosen, changes = turn(config)
            with set_config_context(_without_token_stream(config)) as context:
                return content_of(chosen, context.run(chosen.ask, question, **changes))
        except PreflightError as error:
            raise ToolException(str(error)) from error

    async def arun(question: str, config: RunnableConfig) -> tuple[str, dict[str, Any]]:
        """Answer a question asynchronously, as `run` does."""
        try:
            chosen, changes = turn(config)
            with set_config_context(_without_token_stream(config)) as context:
                answer = await asyncio.create_task(chosen.aask(question, **changes), context=context)
                return content_of(chosen, answer)
        except PreflightError as error:
            raise ToolException(str(error)) from error

    return _tool(run, arun, name, description)


def summarize_tool(
    app: Preflight | Mapping[str, Preflight],
    *,
    tokens: int = 800,
    name: str = "summarize_document",
    description: str = "Summarises one document of the collection, with citations. Give the document's id.",
) -> BaseTool:
    """Return an agent's tool whose content is the cited summary, and whose artifact is the `Summary` as a dict.

    Only documents of the library can be named, no files; where the run's `configurable` holds `where`, only documents
    that fit. What cannot be summarised is said in the tool's content.

    Args:
        app: Open as long as the tool is used; or several by name, of which each run names one as `library`.
        tokens: Maximum number of tokens of the sentences that are selected from the document.
        name: The tool's name for the agent's model.
        description: The tool's description for that model.
    """

    def run(document_id: str, config: RunnableConfig) -> tuple[str, dict[str, Any]]:
        """Summarise a document of the library synchronously; the tool's artifact is the summary as a dict."""
        from preflight_rag.conversation.listing import document_fits
        from preflight_rag.library.search.retrieval import read_filter
        from preflight_rag.summarize import unknown_document

        try:
            chosen, changes = _resolve_call(app, config, {})
            changes.pop("thread_id", None)
            names = names_of(chosen.library)
            document = names.document_id(document_id)
            where, _ = read_filter(chosen.context(**changes).settings)
            if where is not None and not document_fits(chosen.library, document, where):
                raise UsageError(
                    f"there is no document {document_id[:200]!r}", help="Give an id from the results of a search."
                )
            if not chosen.library.document_passages(document):
                raise unknown_document(chosen.library, document_id)
            summary = chosen.summarize(document, tokens=tokens, **changes)
        except PreflightError as error:
            raise ToolException(str(error)) from error
        sources = [f'[{citation.n}] "{inert_line(citation.quote)}"' for citation in summary.citations]
        return "\n".join([summary.summary, *sources]), names.shown(summary.model_dump())

    async def arun(document_id: str, config: RunnableConfig) -> tuple[str, dict[str, Any]]:
        """Summarise a document of the library asynchronously, as `run` does."""
        return await asyncio.to_thread(run, document_id, config)

    return _tool(run, arun, name, description)


def _resolve_call(
    app: Preflight | Mapping[str, Preflight], config: RunnableConfig, settings: Mapping[str, Any]
) -> tuple[Preflight, dict[str, Any]]:
    """Return the application and the changed settings that a run's config chooses, with any `thread_id`.

    `settings` are those of the graph or the tool, which the run's own replace.

    Raises:
        UsageError: The config sets something unknown, forbidden or invalid.
    """
    configured_values = configured(config)
    chosen: Preflight = chosen_of(app, configured_values.pop("library", None))
    thread_id = configured_values.pop("thread_id", None)
    own = narrowed(chosen.settings, settings)
    choices = checked_choices(configured_values, own)
    if "instructions" in choices:
        choices["instructions"] = joined_instructions(own.instructions, choices["instructions"])
    changes = {**settings, **choices, "where": narrowed(own, choices).where}
    if thread_id is not None:
        changes["thread_id"] = thread_id
    return chosen, changes


def _tool(run: Callable[..., Any], arun: Callable[..., Any], name: str, description: str) -> BaseTool:
    """Return a LangChain tool that returns content and artifact; the text of a `ToolException` becomes the content."""
    return StructuredTool.from_function(
        run,
        arun,
        name=name,
        description=description,
        response_format="content_and_artifact",
        handle_tool_error=True,
    )


def _without_token_stream(config: RunnableConfig) -> RunnableConfig:
    """Return the config of a turn inside an agent's run: the agent's callbacks without LangGraph's own handlers.

    These would put the turn's tokens into the stream of the agent.
    """
    callbacks = config.get("callbacks")
    if isinstance(callbacks, BaseCallbackManager):
        callbacks = callbacks.copy()
        for handler in [*callbacks.handlers]:
            if type(handler).__module__.startswith("langgraph."):
                callbacks.remove_handler(handler)
    return RunnableConfig(callbacks=callbacks)


def _thread_id_of_call(config: RunnableConfig) -> str:
    """Return the thread id that the config of a direct call names, if it is valid, else a new one.

    Inside a graph the config names the agent's thread, which is not used.
    """
    from preflight_rag.threads.locks import new_thread_id, validate_thread_id

    if "langgraph_node" not in config.get("metadata", {}):
        with suppress(UsageError):
            return validate_thread_id(config.get("configurable", {}).get("thread_id"))
    return new_thread_id("tool")


class RouterInput(TypedDict):
    """The input of the router."""

    question: str
    documents: Sequence[Document]


class PreflightRouter(Runnable[RouterInput, RouteDecision]):
    """Decides how retrieved documents have to be read, without a language model.

    Documents of `PreflightRetriever` carry what the calibrated rule needs. Of other documents the cosines are taken
    with `embedder`, and the IoU rule decides.

    Args:
        library: The collection whose calibration and embedder are used.
        embedder: The embedder for documents without a library.
        **settings: Fields of `Settings`, such as `preflight="iou"` or `threshold=0.2`.

    Example:
        router = PreflightRouter(library=library)
        chain = {"question": RunnablePassthrough(), "documents": PreflightRetriever(library=library)} | router
        chain.invoke("what lowers LDL cholesterol?").name

    Raises:
        UsageError: Neither library nor embedder is given, or a setting is wrong.
    """

    def __init__(
        self,
        *,
        library: Collection | None = None,
        embedder: Embeddings | None = None,
        **settings: Unpack[GivenSettings],
    ) -> None:
        if library is None and embedder is None:
            raise UsageError(
                "the router has no embedder", help="Give library=Library.open(...) or embedder=Embeddings."
            )
        self.library = library
        self.embedder = embedder
        self.settings = Settings.read(**settings)

    def invoke(self, input: RouterInput, config: RunnableConfig | None = None, **kwargs: Any) -> RouteDecision:
        """Return the decision for one question and its documents, best first.

        Raises:
            UsageError: The input lacks the question or the documents.
        """
        return self._call_with_config(self._decide, input, config)

    def _decide(self, given: RouterInput) -> RouteDecision:
        """Decide how the documents have to be read; see `invoke`."""
        from preflight_rag.routing.decision import decide
        from preflight_rag.routing.library_risk import risk_model_of

        try:
            question, documents = given["question"], list(given["documents"])
        except (KeyError, TypeError):
            raise UsageError(
                f"the router was given {type(given).__name__}, not a question with documents",
                help='Give {"question": "...", "documents": [...]}.',
            ) from None
        refs, sources = self._references_and_sources(question, documents)
        model = None if self.library is None else risk_model_of(self.library)
        return decide(question, refs, sources, self.settings, model)

    def _references_and_sources(
        self, question: str, documents: list[Document]
    ) -> tuple[list[PassageRef], list[Source]]:
        """Convert documents into references and into numbered sources, the two forms that the router reads."""
        from preflight_rag.library.search.retrieval import reference

        refs, sources = [], []
        cosines = self._cosines(question, documents)
        for rank, (document, cosine) in enumerate(zip(documents, cosines, strict=True), 1):
            candidate = self._to_candidate(document, rank, cosine)
            refs.append(reference(candidate, rank))
            sources.append(Source.of(candidate.passage, rank))
        return refs, sources

    def _to_candidate(self, document: Document, rank: int, cosine: float) -> Candidate:
        """Convert a LangChain document into a retrieval candidate with its rank and cosine."""
        metadata, text = document.metadata, document.page_content
        passage_id, source = str(metadata.get("passage_id") or document.id or rank), str(metadata.get("source") or "")
        passage = Passage(
            id=passage_id,
            document_id=str(metadata.get("document_id") or source or passage_id),
            text=text,
            title=str(metadata.get("title") or ""),
            source=source,
            date=str(metadata.get("date") or "") or None,
            tokens=self._count_tokens(text),
        )
        return Candidate(
            passage,
            rank,
            score=float(metadata.get("score") or 0.0),
            cosine=cosine,
            dense_rank=metadata.get("dense_rank"),
            lexical_rank=metadata.get("lexical_rank"),
            bm25=metadata.get("bm25"),
        )

    def _count_tokens(self, text: str) -> int:
        """Return the number of tokens of a text by the library's embedder, else estimated from its length."""
        if self.library is not None:
            return self.library.embedder.count_tokens(text)
        return ceil(len(text) / CHARS_A_TOKEN)

    def _cosines(self, question: str, documents: list[Document]) -> list[float]:
        """Return the cosines of question and documents: the retriever's if all have one, else the embedder's."""
        import numpy as np

        if all("cosine" in document.metadata for document in documents):
            return [float(document.metadata["cosine"]) for document in documents]
        embedder = self.embedder or (self.library.embedder if self.library is not None else None)
        if embedder is None:
            raise UsageError("the documents have no cosine similarities", help="Give the router an embedder.")
        query = np.asarray(embedder.embed_query(question), dtype=np.float32)
        vectors = np.asarray(embedder.embed_documents([item.page_content for item in documents]), dtype=np.float32)
        lengths = np.linalg.norm(vectors, axis=1) * np.linalg.norm(query)
        return [float(value) for value in (vectors @ query) / np.maximum(lengths, 1e-12)]
