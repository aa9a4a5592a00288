"""`Preflight`: the application over one library, for Python programs and for every other door."""

from __future__ import annotations

import os
import threading
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AsyncExitStack, aclosing, suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from .library import Library
from .loop import LoopThread
from .models.extractive_reader import ExtractiveReader
from .models.open import extractive_for, open_reader
from .state.context import Settings
from .state.errors import PreflightError, UsageError
from .state.values import Answer, Gap, Hit, Preview, SearchResult, Summary

if TYPE_CHECKING:
    from .graph.ledger import Ledger
    from .graph.turns import Event, Turns
    from .library.ingest import IngestReport
    from .library.pubmed import EntrezClient
    from .models.protocol import Reader

THREADS = "threads.db"
DEFAULT_THREAD = "default"


class Preflight:
    """Questions and answers over a library. Open it with `Preflight.open`, as a context manager.

    Attributes:
        library: The collection.
        reader: What reads and writes language.
        settings: The numbers that each turn starts from.
    """

    def __init__(self, folder: Path, library: Library, reader: Reader, settings: Settings) -> None:
        self.folder = folder
        self.library = library
        self.reader = reader
        self.settings = settings
        self._loop: LoopThread | None = None
        self._turns: Turns | None = None
        self._resources = AsyncExitStack()
        self._opening = threading.Lock()
        self._warming: threading.Thread | None = None
        self._entrez: EntrezClient | None = None

    @classmethod
    def open(
        cls, path: str | Path, model: Any = None, *, embedder: Any = None, create: bool = False, **settings: Any
    ) -> Preflight:
        """Open a library.

        Args:
            path: The library's folder.
            model: A LangChain chat model, `provider:name`, `offline`, or None: what the environment says.
            embedder: Of another embedder than the library's own, its name or a LangChain `Embeddings`.
            create: Make the library when there is none.
            **settings: Fields of `Settings`; they win over `PREFLIGHT_…` variables.

        Raises:
            LibraryMissing: No library is there, and `create` is False.
            EmbedderMismatch: The library was made with another embedder.
            UnknownModel: No model of that name.
            ExtractiveReaderError: No extractive reader of that name.
            UsageError: A setting is wrong.
        """
        numbers = Settings.read(**settings)
        library = Library.open(path, embedder=embedder, create=create)
        try:
            reader = open_reader(
                model, library.embedder, deadline=numbers.deadline, extractive_reader=numbers.extractive_reader
            )
        except BaseException:
            library.close()
            raise
        return cls(Path(path), library, reader, numbers)

    def ingest(self, paths: Sequence[str | Path], *, prune: bool = False) -> IngestReport:
        """Add or update files and folders."""
        return self.library.ingest([Path(path) for path in paths], prune=prune)

    def search(self, query: str, k: int | None = None, **settings: Any) -> SearchResult:
        """Retrieve only: the rankings, the passages that would go on, and what preflight would do with them.

        Args:
            query: What to search for; it is not rewritten.
            k: How many passages.
            **settings: Fields of `Settings` for this search, such as `where=("year>=2020",)`.
        """
        from .library.gather import gather
        from .library.rewriter import QueryRewriter
        from .nodes.preflight import decide, risk_model_of
        from .nodes.retrieve import score_of
        from .nodes.rewrite import check_question, normalised

        numbers = self._settings({"k": k, **settings})
        query = normalised(query)
        check_question(query, numbers.max_question_chars)
        pubmed = self._pubmed() if numbers.pubmed else None
        ladder = QueryRewriter(self.library, mode="rules", mesh=numbers.mesh, pubmed=True).invoke(query).expressions
        extractive = extractive_for(self.reader, numbers.extractive_reader)
        expressions = ladder if pubmed else ()
        gathered = gather(self.library, [query], numbers, expressions=expressions, pubmed=pubmed, extractive=extractive)
        refs = gathered.references()
        decision = decide(query, refs, gathered.sources(), numbers, risk_model_of(self.library), extractive)
        found, top = gathered.found, slice(numbers.k)
        return SearchResult(
            query=query,
            dense=found.dense[top],
            lexical=found.lexical[top],
            fused=found.fused[top],
            selected=tuple(
                Hit(passage_id=ref["id"], document_id=ref["document_id"], rank=ref["rank"], score=score_of(ref))
                for ref in refs
            ),
            gaps=tuple(Gap(stage="retrieve", item=item, error=error) for item, error in gathered.problems),
            preflight=Preview(route=decision.name, **decision.model_dump(exclude={"name", "forced"})),
        )

    def summarize(self, document: str | Path, *, tokens: int = 800, **settings: Any) -> Summary:
        """Put a document in short, without a question.

        Args:
            document: The id of a document in the library, or else a file of any kind that the loaders read.
            tokens: Most tokens of the sentences that stand for the document.
            **settings: Fields of `Settings`, such as `max_concurrency`.

        Raises:
            UsageError: There is no such document, or the budget is smaller than every sentence.
            DocumentError: The file cannot be read, or holds no text.
            ModelError: The model failed.
        """
        from .summarize import find_subject, summarize

        numbers, embedder = self._settings(settings), self.library.embedder
        subject = find_subject(self.library, document, embedder.count_tokens)
        work = summarize(subject, reader=self.reader, embedder=embedder, settings=numbers, tokens=tokens)
        return self._running().call(work)

    def ask(
        self,
        question: str,
        *,
        thread_id: str = DEFAULT_THREAD,
        options: Sequence[str] = (),
        discard: bool = False,
        on_event: Callable[[Event], None] | None = None,
        **settings: Any,
    ) -> Answer:
        """Take one turn.

        Args:
            question: What to ask.
            thread_id: The conversation; follow-ups on one thread are understood from it.
            options: The choices of a multiple-choice question; the answer's `choice` names one.
            discard: Drop an earlier turn of the thread that was cut off.
            on_event: Called with each stage and each piece of the answer as it comes.
            **settings: Fields of `Settings` for this turn, such as `route="plain"` or `k=8`.

        Raises:
            PreflightError: The turn could not be brought to an answer; `error.receipt` says what it cost.
        """
        turn = self._turn(question, thread_id, options, discard, settings, tokens=on_event is not None)

        async def run() -> Answer:
            async for event in turn:
                if on_event:
                    on_event(event)
                if isinstance(event, Answer):
                    return event
            raise AssertionError("a turn ends with its answer or an error")

        return self._running().call(run())

    async def aask(self, question: str, **arguments: Any) -> Answer:
        """`ask` for asynchronous code."""
        async with aclosing(self.astream(question, tokens=False, **arguments)) as events:
            async for event in events:
                if isinstance(event, Answer):
                    return event
        raise AssertionError("a turn ends with its answer or an error")

    async def astream(
        self,
        question: str,
        *,
        thread_id: str = DEFAULT_THREAD,
        options: Sequence[str] = (),
        discard: bool = False,
        tokens: bool = True,
        **settings: Any,
    ) -> AsyncGenerator[Event, None]:
        """Take one turn: `StageEvent`s and `TokenEvent`s as they come, at last the `Answer`."""
        turn = self._turn(question, thread_id, options, discard, settings, tokens=tokens)
        async with aclosing(self._running().iterate(turn)) as events:
            async for event in events:
                yield event

    def resume(self, thread_id: str) -> Answer:
        """Finish the thread's last turn where it was cut off."""
        turns = self._open_turns()
        return self._running().call(turns.resume(thread_id, lock_wait=self.settings.lock_wait))

    @property
    def ledger(self) -> Ledger:
        """The record of all turns."""
        return self._open_turns().ledger

    def delete_thread(self, thread_id: str) -> bool:
        """Forget a conversation: its turns and its checkpoints. False when there is none of that name."""
        turns = self._open_turns()
        return self._running().call(turns.delete(thread_id))

    def prune_threads(self) -> None:
        """Drop every thread's intermediate checkpoints and give the space back to the disk."""
        turns = self._open_turns()
        self._running().call(turns.prune(self.settings.keep_turns))

    def close(self) -> None:
        """Close the databases; a turn that still runs is stopped and can be resumed."""
        if self._loop is not None:
            self._loop.call(self._resources.aclose())
            self._loop.close()
            self._loop = self._turns = None
        if self._warming is not None:
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

    def _settings(self, changes: dict[str, Any]) -> Settings:
        given = {name: value for name, value in changes.items() if value is not None}
        return Settings.read({}, **{**self.settings.model_dump(), **given}) if given else self.settings

    def _turn(
        self,
        question: str,
        thread_id: str,
        options: Sequence[str],
        discard: bool,
        changes: dict[str, Any],
        *,
        tokens: bool,
    ) -> AsyncGenerator[Event, None]:
        if isinstance(options, str) or len(options) == 1:
            raise UsageError(f"options={options!r} is no choice", help="Give two or more options.")
        settings = self._settings(changes)
        own = self.settings.extractive_reader
        if settings.extractive_reader != own and getattr(self.reader, "by_rule", False):
            raise UsageError(
                f"extractive_reader={settings.extractive_reader!r} cannot take a turn that {own!r} was opened for",
                help="Give it to Preflight.open.",
            )
        if self._turns is None and self._warming is None:
            self._warming = threading.Thread(target=self._warm, name="preflight-warm", daemon=True)
            self._warming.start()
        return self._open_turns().stream(
            question, thread_id=thread_id, settings=settings, options=options, tokens=tokens, discard=discard
        )

    def _warm(self) -> None:
        """Load what a turn needs while the rest of it is made ready."""
        self.library.warm()
        if isinstance(extractive := getattr(self.reader, "extractive", None), ExtractiveReader):
            with suppress(PreflightError):
                extractive.read([("warm", "", "warm")])

    def _running(self) -> LoopThread:
        if self._loop is None:
            self._loop = LoopThread()
        return self._loop

    def _open_turns(self) -> Turns:
        with self._opening:
            if self._turns is None:
                self._turns = self._running().call(self._make_turns())
            return self._turns

    async def _make_turns(self) -> Turns:
        from .graph.checkpoints import open_checkpointer
        from .graph.ledger import Ledger
        from .graph.turns import Turns

        saver = await self._resources.enter_async_context(open_checkpointer(self.folder / THREADS))
        ledger = Ledger(self.folder / THREADS)
        self._resources.callback(ledger.close)
        return Turns(self.folder, saver, ledger, self.library, self.reader, self._pubmed)

    def _pubmed(self) -> EntrezClient:
        """The client of NCBI, made at first use."""
        from .library.pubmed import EntrezClient

        with self._opening:
            if self._entrez is None:
                self._entrez = EntrezClient.of_environment(os.environ)
            return self._entrez
