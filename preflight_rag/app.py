"""`Preflight`: the application over one library, for Python programs and for every other entry point."""

from __future__ import annotations

import asyncio
import os
import threading
import warnings
import weakref
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, aclosing, suppress
from copy import copy
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from typing_extensions import Unpack

from preflight_rag.background_loop import BackgroundLoop
from preflight_rag.graph.readers import extractive_for, open_reader
from preflight_rag.graph.warming import Warming
from preflight_rag.library.opening import LibraryPlace, open_library
from preflight_rag.models.chat.chat_models import OFFLINE
from preflight_rag.state.calls import narrowed
from preflight_rag.state.context import Context, GivenSettings, GivenWithoutK, Settings
from preflight_rag.state.errors import READ_ONLY, LibraryClosed, LibraryError, ReplyNeeded, UsageError
from preflight_rag.state.values import Answer, Clarification, SearchResult, Summary, Usage

if TYPE_CHECKING:
    from langchain_core.messages import BaseMessage

    from preflight_rag.graph.events import Event
    from preflight_rag.graph.model_use import ModelUse
    from preflight_rag.graph.requests import Ask, Request
    from preflight_rag.graph.turns import Turns
    from preflight_rag.ingest.report import IngestReport
    from preflight_rag.library.collection import Collection
    from preflight_rag.models.budget import SharedBudget
    from preflight_rag.models.protocol import Reader
    from preflight_rag.pubmed import EntrezClient
    from preflight_rag.threads.ledger import Ledger


class Preflight:
    """Answers questions over a library. Open one with `Preflight.open`, as a context manager.

    Attributes:
        library: The collection.
        reader: What reads and writes language.
        settings: The numbers that each turn starts from.
        threads: The address of the PostgreSQL database that keeps conversations, with its password, or None.
    """

    def __init__(
        self, folder: Path, library: Collection, reader: Reader, settings: Settings, threads: str | None = None
    ) -> None:
        self.folder = folder
        self.threads = threads
        self.library = library
        self.reader = reader
        self.settings = settings
        self._loop = BackgroundLoop("preflight-loop")
        self._turns: Turns | None = None
        self._graph_without_threads: Any = None  # the graph without a checkpointer, made at its first use
        self._resources = AsyncExitStack()
        self._opening = threading.RLock()
        self._opening_readers = threading.Lock()
        self._entrez: EntrezClient | None = None
        self._readers: dict[str, Reader] = {}
        left_open = weakref.finalize(self, _close_left_open, folder, self._loop, self._resources, library)
        self._left_open = left_open
        # Without this object, which then would not be collected where it is left open.
        self._warming = Warming(library, reader, settings.extractive_reader, lambda: left_open.alive)

    @classmethod
    def open(
        cls,
        path: str | Path | LibraryPlace,
        model: Any = None,
        *,
        embedder: Any = None,
        create: bool = False,
        threads: str | None = None,
        **settings: Unpack[GivenSettings],
    ) -> Preflight:
        """Open a library.

        Args:
            path: The library's folder, or the address of the PostgreSQL database that it is in, `postgresql://…`.
            model: A LangChain chat model, `provider:name`, `offline`, or None for the environment's model.
            embedder: Another embedder than the library's own, by name or as a LangChain `Embeddings`.
            create: Whether to create the library if there is none.
            threads: The database of conversations: the address of a PostgreSQL database, `postgresql://…`, or None for
                the library's own `threads.db`, or its own database. It is opened at the first turn.
            **settings: Fields of `Settings`; they win over `PREFLIGHT_…` variables.

        Raises:
            LibraryMissing: There is no library at `path`, and `create` is False.
            LibraryUnavailable: The library's database cannot be reached.
            EmbedderMismatch: The library was made with another embedder.
            UnknownModel: No model of that name.
            ExtractiveReaderError: No extractive reader of that name.
            UsageError: A setting or the address of `threads` is wrong, or its extra is not installed.
        """
        app_settings = Settings.read(**settings)
        place = LibraryPlace.read(path)
        _check_address(threads)
        library = open_library(place, embedder=embedder, create=create)
        if place.url is not None:
            with suppress(OSError):  # where nothing can be kept on this machine, what is kept says so
                place.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return cls._around_library(library, model, app_settings, place.url if threads is None else threads)

    @classmethod
    def from_retriever(
        cls,
        retriever: Any,
        model: Any = None,
        *,
        folder: str | Path | None = None,
        embedder: Any = None,
        fetch: int = 32,
        threads: str | None = None,
        **settings: Unpack[GivenSettings],
    ) -> Preflight:
        """Open an application that answers from the documents of your own LangChain retriever or vector store.

        Args:
            retriever: A `VectorStore`, a `BaseRetriever`, or another `Runnable` from a text to documents.
            model: As for `open`.
            folder: Folder for conversations and for what the retriever returned; None for a temporary folder.
            embedder: The embedder that compares passages, by name or as a LangChain `Embeddings`; None for the default.
            fetch: Number of documents to request from a vector store; a retriever decides itself.
            threads: As for `open`.
            **settings: As for `open`.

        Raises:
            UsageError: `retriever` is none of these, or the folder has a library with documents of its own.
            EmbedderMismatch, UnknownModel, ExtractiveReaderError: As for `open`.
        """
        from preflight_rag.library.external.library import ExternalLibrary

        app_settings = Settings.read(**settings)
        _check_address(threads)
        library = ExternalLibrary.around(retriever, folder=folder, embedder=embedder, fetch=fetch)
        return cls._around_library(library, model, app_settings, threads)

    @classmethod
    def _around_library(cls, library: Collection, model: Any, settings: Settings, threads: str | None) -> Preflight:
        """Return the application over an open library; if its reader cannot be opened, close the library."""
        try:
            reader = open_reader(model, library.embedder, settings, library=library)
        except BaseException:
            library.close()
            raise
        return cls(library.path, library, reader, settings, threads)

    def ingest(self, paths: Sequence[str | Path], *, prune: bool = False) -> IngestReport:
        """Add the documents of files and folders to the library, or update them; return a report."""
        from preflight_rag.library.collection import own_collection

        self._check_open()
        return own_collection(self.library).ingest([Path(path) for path in paths], prune=prune)

    def search(
        self, query: str, k: int | None = None, *, compare_answers: bool = False, **settings: Unpack[GivenWithoutK]
    ) -> SearchResult:
        """Retrieve only: return the rankings, the passages that would be read, and the preflight's decision.

        Args:
            query: The query; it is not rewritten.
            k: Number of passages; None for that of the settings.
            compare_answers: Whether the extractive reader reads the passages, as in a turn, so that the route takes
                into account whether they answer differently. Reading takes many times as long as the search.
            **settings: Fields of `Settings` for this search, such as `where=("year>=2020",)`, as for `ask`.
        """
        call_settings = self._settings({"k": k, **settings})
        self._warming.begin()
        from preflight_rag.conversation.questions import check_question, normalised
        from preflight_rag.graph.preview import preview

        query = normalised(query)
        check_question(query, call_settings.max_question_chars)
        return preview(query, self._context(call_settings), compare_answers=compare_answers)

    def context(self, **settings: Unpack[GivenSettings]) -> Context:
        """Return the `context` that `build_graph`'s graph needs, to run it yourself over this library and reader.

        Args:
            **settings: Fields of `Settings` for those runs.
        """
        return self._context(self._settings(settings))

    def _context(self, settings: Settings) -> Context:
        """Return the context of runs over this library and reader with these settings."""
        pubmed = self.pubmed() if settings.pubmed else None
        extractive = extractive_for(self.reader, settings.extractive_reader)
        return Context(self.reader, self.library, settings, pubmed, extractive)

    def summarize(self, document: str | Path, *, tokens: int = 800, **settings: Unpack[GivenSettings]) -> Summary:
        """Summarise a document, without a question.

        Args:
            document: The id of a document in the library, or else a file of any kind that the loaders read.
            tokens: Maximum number of tokens of the sentences that are selected from the document.
            **settings: Fields of `Settings`, such as `max_concurrency`.

        Raises:
            UsageError: There is no such document, or every sentence has more than `tokens` tokens.
            DocumentError: The file cannot be read, or has no text.
            ModelError: The model failed.
        """
        from preflight_rag.summarize import find_subject, summarize

        call_settings, embedder = self._settings(settings), self.library.embedder
        subject = find_subject(self.library, document, embedder.count_tokens)
        work = summarize(subject, reader=self.reader, embedder=embedder, settings=call_settings, tokens=tokens)
        return self._loop.call(work)

    def ask(
        self,
        question: str,
        *,
        thread_id: str | None = None,
        options: Sequence[str] = (),
        discard: bool = False,
        history: Sequence[tuple[str, str]] = (),
        model: str | None = None,
        on_event: Callable[[Event], None] | None = None,
        **settings: Unpack[GivenSettings],
    ) -> Answer:
        """Answer a question in one turn of a conversation.

        Args:
            question: The question.
            thread_id: The conversation, from which a follow-up is understood. None begins a new one, which another call
                continues only if it names `answer.thread_id`.
            options: The choices of a multiple-choice question; the answer's `choice` names one.
            discard: Whether to drop an earlier turn of the thread that was cut off.
            history: `("user" | "assistant" | "system", text)` of earlier messages, for a thread without turns; those of
                "system" are instructions on how to write.
            model: Another model for this turn, as `provider:name` or `offline`; it is opened once and stays open.
            on_event: Called with each stage and each piece of the answer as it comes.
            **settings: Fields of `Settings` for this turn, such as `route="plain"` or `k=8`; conditions (`where`) are
                added to those with which the application was opened.

        Raises:
            ReplyNeeded: With `clarify` on, the turn asks which of many things is meant; `reply` continues it.
            PreflightError: The turn ended without an answer; `error.receipt` says what it cost, and `error.thread_id`
                where it can be resumed.
        """
        request = self._new_request(question, options, history, model, discard, settings)
        return self._answer(request, thread_id, on_event)

    def try_question(self, question: str, **settings: Unpack[GivenSettings]) -> Answer:
        """Return the answer of one turn without a language model; no conversation and no ledger records the turn.

        Args:
            question: What to ask.
            **settings: As for `ask`.

        Raises:
            PreflightError: As `ask`.
        """
        from langchain_core.messages import HumanMessage

        from preflight_rag.graph.build import build_graph
        from preflight_rag.graph.outcome import answer_of

        call_settings, reader = self._settings(settings), self.reader_of(OFFLINE)
        extractive = extractive_for(reader, call_settings.extractive_reader)
        context = Context(reader, self.library, call_settings, extractive=extractive, calls_ahead=False)
        if self._graph_without_threads is None:
            self._graph_without_threads = build_graph().compile(name="preflight-untold")
        graph_input: Any = {"messages": [HumanMessage(question)], "options": []}
        config: Any = {"recursion_limit": call_settings.max_steps, "max_concurrency": call_settings.max_concurrency}
        state = self._loop.call(self._graph_without_threads.ainvoke(graph_input, config, context=context))
        return answer_of(state, reader=reader, settings=call_settings)

    async def aask(
        self,
        question: str,
        *,
        thread_id: str | None = None,
        options: Sequence[str] = (),
        discard: bool = False,
        history: Sequence[tuple[str, str]] = (),
        model: str | None = None,
        use: ModelUse | None = None,
        **settings: Unpack[GivenSettings],
    ) -> Answer:
        """Answer a question as `ask` does, from asynchronous code."""
        turn = self.astream(
            question,
            thread_id=thread_id,
            options=options,
            discard=discard,
            tokens=False,
            progress=False,
            history=history,
            model=model,
            use=use,
            **settings,
        )
        return await _answer(turn)

    def astream(
        self,
        question: str,
        *,
        thread_id: str | None = None,
        options: Sequence[str] = (),
        discard: bool = False,
        tokens: bool = True,
        progress: bool = True,
        history: Sequence[tuple[str, str]] = (),
        model: str | None = None,
        use: ModelUse | None = None,
        **settings: Unpack[GivenSettings],
    ) -> AsyncGenerator[Event, None]:
        """Run one turn, and yield `ProgressEvent`s, `StageEvent`s and `TokenEvent`s as they come, at last the `Answer`.

        Without `progress` the first two are left out, without `tokens` the third; the turn then costs less.

        The last event is a `Clarification` if the turn asks the user first. Closing the stream stops the turn; to
        resume it later, name its thread.
        """

        def request() -> Ask:
            """Return the request of the turn, with the given use of its model."""
            ask = self._new_request(question, options, history, model, discard, settings)
            return replace(ask, use=use) if use else ask

        return self._stream(request, thread_id, tokens=tokens, progress=progress)

    async def complete(
        self,
        messages: Sequence[BaseMessage],
        *,
        model: str | None = None,
        sampling: Mapping[str, Any] | None = None,
        purses: Sequence[SharedBudget] = (),
        limit: int | None = None,
    ) -> tuple[str, Usage]:
        """Call the language model once with the given messages, and return its reply and usage.

        The call runs on the event loop of all turns.

        Args:
            messages: The messages to send.
            model: The name of another model than the application's.
            sampling: Options of the call, such as `{"temperature": 0.2}`.
            purses: Shared budgets that count the call, besides the limits of a turn.
            limit: Maximum number of tokens of the reply; None for the model's own limit.

        Raises:
            UsageError: There is no language model.
            ModelError: There is no whole reply.
        """
        from preflight_rag.models.budget import Budget
        from preflight_rag.models.chat.chat_reader import ChatReader

        reader = await asyncio.to_thread(self.reader_of, model)
        if not isinstance(reader, ChatReader):
            raise UsageError(f"{reader.name} writes no messages", help="Open the library with a language model.")

        limits = self.settings
        budget = Budget(
            calls=limits.turn_calls,
            tokens=limits.turn_tokens,
            seconds=limits.turn_seconds,
            purses=purses,
            reply_tokens=limits.reply_tokens,
        )

        async def replies() -> AsyncGenerator[tuple[str, Usage], None]:
            """Yield the only reply: `iterate` runs a generator on the loop of all turns."""
            yield await reader.sampled(sampling or {}).limited(budget).complete(messages, limit=limit)

        async with aclosing(self._loop.iterate(replies())) as only_reply:
            return await anext(only_reply)

    def reply(
        self, thread_id: str, choice: str | Sequence[str], *, on_event: Callable[[Event], None] | None = None
    ) -> Answer:
        """Answer the clarifying question of a thread's last turn, and finish that turn.

        Args:
            thread_id: The conversation.
            choice: One or several labels or 1-based numbers, or "all".
            on_event: Called with each event as it comes.

        Raises:
            UsageError: The choice names nothing that was offered.
            TurnError: The thread's last turn asks nothing.
        """
        from preflight_rag.graph.requests import Choose

        return self._answer(Choose(choice), thread_id, on_event)

    async def areply(self, thread_id: str, choice: str | Sequence[str]) -> Answer:
        """Answer a clarifying question as `reply` does, from asynchronous code."""
        return await _answer(self.astream_reply(thread_id, choice, tokens=False, progress=False))

    def astream_reply(
        self,
        thread_id: str,
        choice: str | Sequence[str],
        *,
        tokens: bool = True,
        progress: bool = True,
        purses: Sequence[SharedBudget] = (),
    ) -> AsyncGenerator[Event, None]:
        """Yield the events of `reply`, as `astream` does; `purses` are shared budgets that count its calls, too."""
        from preflight_rag.graph.requests import Choose

        return self._stream(lambda: Choose(choice, purses), thread_id, tokens=tokens, progress=progress)

    def resume(self, thread_id: str, *, on_event: Callable[[Event], None] | None = None) -> Answer:
        """Finish the thread's last turn from the stage at which it was interrupted."""
        from preflight_rag.graph.requests import Resume

        return self._answer(Resume(), thread_id, on_event)

    def astream_resume(
        self, thread_id: str, *, tokens: bool = True, progress: bool = True, purses: Sequence[SharedBudget] = ()
    ) -> AsyncGenerator[Event, None]:
        """Yield the events of `resume`, as `astream` does; `purses` are shared budgets that count its calls, too."""
        from preflight_rag.graph.requests import Resume

        return self._stream(lambda: Resume(purses), thread_id, tokens=tokens, progress=progress)

    @property
    def keeps_threads(self) -> bool:
        """Whether conversations are stored; in a read-only folder they last as long as the application."""
        return self.threads is not None or os.access(self.folder, os.W_OK)

    @property
    def notes(self) -> list[str]:
        """Notes for the user: about the library's index, and whether conversations are stored."""
        thread_notes = [] if self.keeps_threads else [f"{self.folder} cannot be written: conversations are not kept"]
        return [*self.library.notes, *thread_notes]

    @property
    def ledger(self) -> Ledger:
        """The store of all turns with their answers."""
        return self._open_turns().ledger

    def fork_thread(self, thread_id: str, turn: int, into: str) -> None:
        """Begin a thread with a copy of another thread's turns before `turn`, to ask its question differently.

        Args:
            thread_id: The conversation, which stays as it is.
            turn: The number of the turn whose question is to be changed, from 1.
            into: The new conversation.

        Raises:
            ThreadNotFound: There is no such thread, or it has no such turn.
            TurnError: There is a thread of the new name.
        """
        turns = self._open_turns()
        self._loop.call(turns.fork(thread_id, turn, into))

    def delete_thread(self, thread_id: str) -> bool:
        """Delete a conversation, with its turns and checkpoints; return False if there is none of that name.

        Raises:
            LibraryError: The library's folder cannot be written.
        """
        turns = self._open_turns()
        self._check_keeps_threads()
        return self._loop.call(turns.delete(thread_id))

    def prune_threads(self) -> tuple[int, int]:
        """Delete every thread's intermediate checkpoints, and shrink the file.

        Returns:
            The size of the conversations on disk in bytes, before and after.

        Raises:
            LibraryError: The library's folder cannot be written.
        """
        turns = self._open_turns()
        self._check_keeps_threads()
        return self._loop.call(turns.prune(self.settings.keep_turns))

    def close(self) -> None:
        """Close the databases; a turn that still runs is stopped and can be resumed."""
        self._left_open.detach()
        if self._loop.begun:
            self._loop.call(self._resources.aclose())
            self._loop.close()
            self._turns = None
        self._warming.join()
        if self._entrez is not None:
            self._entrez.close()
        self.library.close()

    def __enter__(self) -> Preflight:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _settings(self, changes: Mapping[str, Any]) -> Settings:
        """Return the application's settings with the given changes, checked."""
        self._check_open()
        return narrowed(self.settings, changes)

    def _answer(self, request: Request, thread_id: str | None, on_event: Callable[[Event], None] | None) -> Answer:
        """Run a request on the loop of all turns, wait for its end, and return its answer, for synchronous code."""
        wait = self._lock_wait(request)
        turn = self._open_turns().run(
            request, thread_id=thread_id, lock_wait=wait, tokens=on_event is not None, progress=on_event is not None
        )
        return self._loop.call(_answer(turn, on_event))

    async def _stream(
        self, request: Callable[[], Request], thread_id: str | None, *, tokens: bool, progress: bool
    ) -> AsyncGenerator[Event, None]:
        """Yield the events of a request for asynchronous code.

        The request is made, and may fail, when the first event is awaited.
        """
        ask = request()
        self._check_open()
        if (turns := self._turns) is None:
            turns = await asyncio.to_thread(self._open_turns)
        turn = turns.run(ask, thread_id=thread_id, lock_wait=self._lock_wait(ask), tokens=tokens, progress=progress)
        async with aclosing(self._loop.iterate(turn)) as events:
            async for event in events:
                yield event

    def _lock_wait(self, request: Request) -> float:
        """Return how many seconds a request waits for another turn on its thread."""
        from preflight_rag.graph.requests import Ask

        return (request.settings if isinstance(request, Ask) else self.settings).lock_wait

    def _new_request(
        self,
        question: str,
        options: Sequence[str],
        history: Sequence[tuple[str, str]],
        model: str | None,
        discard: bool,
        changes: GivenSettings,
    ) -> Ask:
        """Return the request of a new turn, with the settings changed as given; begin to load what the turn needs."""
        from preflight_rag.conversation.questions import check_options

        check_options(options)
        settings = self._settings(changes)
        own = self.settings.extractive_reader
        by_rule = model == OFFLINE or (model is None and self.reader.by_rule)
        if settings.extractive_reader != own and by_rule:
            raise UsageError(
                f"extractive_reader={settings.extractive_reader!r} cannot take a turn that {own!r} was opened for",
                help="Give it to Preflight.open.",
            )
        ahead = (question, settings) if by_rule and not options and not history else None
        if is_first := self._turns is None:
            self._warming.begin(ahead)
        from preflight_rag.graph.requests import Ask

        if is_first:
            self._warming.begin(ahead, all_imported=True)
        return Ask(question, settings, options, history, model, discard)

    def reader_of(self, model: str | None) -> Reader:
        """Return the reader for a model's name, opened at its first use; None names the library's own.

        Raises:
            UnknownModel: No model of that name.
        """
        if model is None:
            return self.reader
        with self._opening_readers:
            if model not in self._readers:
                library = self.library
                self._readers[model] = open_reader(model, library.embedder, self.settings, library=library)
            return self._readers[model]

    def with_reader(self, reader: Reader) -> Preflight:
        """Return the application with another reader, over the same library and conversations.

        This one stays as it is; closing it closes both.
        """
        other = copy(self)
        other.reader = reader
        other._turns = self._open_turns().with_reader(other.reader_of)
        return other

    def _is_open(self) -> bool:
        """Return whether the application has not been closed."""
        return self._left_open.alive

    def _check_open(self) -> None:
        """Raise LibraryClosed if the application was closed."""
        if not self._is_open():
            help = "Open it again with Preflight.open; a with block closes it at its end."
            raise LibraryClosed(f"the application over {self.folder} was closed", help=help)

    def _check_keeps_threads(self) -> None:
        """Raise an error if this is a read-only copy of the conversations: a change of the copy would be lost."""
        if not self.keeps_threads:
            raise LibraryError(f"the conversations of {self.folder} cannot be changed: it is read-only", help=READ_ONLY)

    def _open_turns(self) -> Turns:
        """Return the runner of turns; the first call opens the database of conversations."""
        self._check_open()
        with self._opening:
            if self._turns is None:
                self._turns = self._loop.call(self._open_thread_store())
            return self._turns

    async def _open_thread_store(self) -> Turns:
        """Open the database of conversations and return the runner of turns over it."""
        from preflight_rag.graph.turns import Turns
        from preflight_rag.threads.thread_store import open_thread_store

        threads = await self._resources.enter_async_context(open_thread_store(self.folder, self.threads))
        # Without this object, which then would not be collected where it is left open.
        self._resources.push_async_callback(_close_connections, self.reader, self._readers)
        return Turns(threads, self.library, self.reader_of, self.pubmed)

    def pubmed(self) -> EntrezClient:
        """Return the client of NCBI, which is created at the first call."""
        from preflight_rag.pubmed import EntrezClient

        with self._opening:
            if self._entrez is None:
                self._entrez = EntrezClient.of_environment(os.environ)
            return self._entrez


def _check_address(threads: str | None) -> None:
    """Raise UsageError unless `threads` is a place where conversations can be kept; nothing is opened yet."""
    if threads is not None:
        from preflight_rag.threads.thread_store import check_address

        check_address(threads)


def _close_left_open(folder: Path, loop: BackgroundLoop, resources: AsyncExitStack, library: Collection) -> None:
    """Close, with a warning, the resources of an application that was garbage-collected or left open at exit."""
    with suppress(Exception):  # at the end of the interpreter no thread can be begun any more
        if loop.begun and not loop.is_here():
            loop.call(resources.aclose())
            loop.close()
        library.close()
    warnings.warn(
        f"the application over {folder} was not closed: use it in a with block, or call close()",
        ResourceWarning,
        stacklevel=2,
    )


async def _close_connections(own: Reader, others: Mapping[str, Reader]) -> None:
    """Close the connections that the readers opened on the running event loop."""
    for reader in (own, *others.values()):
        if (aclose := getattr(reader, "aclose", None)) is not None:
            await aclose()


async def _answer(turn: AsyncGenerator[Event, None], on_event: Callable[[Event], None] | None = None) -> Answer:
    """Run a turn to its end, call `on_event` with each event, and return the answer, which is the last one.

    Raises:
        ReplyNeeded: The turn asks the user a question first.
    """
    outcome: Event | None = None
    async with aclosing(turn) as events:
        async for event in events:  # to its end, which comes at once: a turn that is left there has to be stopped
            if on_event:
                on_event(event)
            outcome = event
    if isinstance(outcome, Clarification):
        labels = "; ".join(f"{n}: {choice.label}" for n, choice in enumerate(outcome.choices, 1))
        raise ReplyNeeded(
            f"which is meant? {labels}",
            help=f'Reply on thread {outcome.thread_id!r} with a number, a label, or "all".',
            clarification=outcome,
        )
    if not isinstance(outcome, Answer):
        raise AssertionError("a turn ends with its answer or an error")
    return outcome
