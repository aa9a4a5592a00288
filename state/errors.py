"""Every error that Preflight RAG raises on purpose.

    PreflightError
    ├── UsageError                 the call itself is wrong (exit status 2)
    ├── OutOfMemory                the system does not give the memory that the call needs
    ├── RetryableError             what the same call may get past later: the base of those marked (retryable)
    ├── LibraryError
    │   ├── LibraryMissing         no library at that path
    │   ├── LibraryEmpty           a library without passages
    │   ├── LibraryCorrupt         the database or an index cannot be read
    │   │   ├── PassageGone        a passage that was found is no longer there: its document was changed or deleted
    │   │   └── DatabaseCorrupt    it is a database: no index that is made of it would be right
    │   ├── LibraryClosed          it was closed, with its application perhaps
    │   ├── LibraryBusy            (retryable) another program writes it
    │   ├── LibraryUnavailable     (retryable) the database that a library is kept in cannot be reached
    │   ├── ThreadsUnavailable     (retryable) the database of conversations cannot be reached
    │   ├── RetrieverError         somebody's own retriever or vector store failed
    │   └── EmbedderMismatch       opened with another embedder than it was built with
    ├── DocumentError              one document cannot be read; an ingest goes on without it
    │   ├── UnsupportedDocument
    │   ├── UnreadableDocument
    │   ├── EncryptedDocument
    │   ├── EmptyDocument
    │   └── DocumentTooLarge
    ├── EmbedderError              an embedder is unknown, or its weights are not what they should be
    ├── RerankerError              a reranker is unknown, or cannot be loaded
    ├── ExtractiveReaderError      an extractive reader is unknown, damaged, or cannot be loaded
    ├── PubMedError                NCBI did not serve a search
    │   ├── PubMedUnavailable      (retryable) down, slow, busy, or its reply cannot be read
    │   ├── PubMedRefused          the key, the address or the amount is not accepted
    │   └── ExpressionRefused      NCBI does not take the expression
    ├── ModelError                 the language model did not give a usable reply
    │   ├── UnknownModel
    │   ├── ModelAuthError
    │   ├── ModelUnavailable       (retryable)
    │   ├── LocalModelError        (retryable) a model's file is missing, damaged, or larger than the memory there is
    │   ├── ModelTimeout           (retryable)
    │   │   └── ReadsTooSlowly     (retryable) a model on this machine needs longer for its prompt than its turn has
    │   ├── ModelRateLimited       (retryable)
    │   ├── ContextOverflow
    │   ├── BadReply               cut off, refused, filtered, empty, or not a completion at all
    │   └── BudgetUsedUp           a limit of calls, tokens, seconds or cost is reached; the call was not made
    └── TurnError
        ├── AllPartitionsFailed    no partition of a map/reduce turn could be read
        ├── ThreadNotFound
        ├── ThreadBusy             (retryable) another turn runs on the thread
        ├── TooManySteps           the graph took more steps than a turn may: it goes round in circles
        ├── TurnUnfinished         an earlier turn was cut off and can be resumed
        └── ReplyNeeded            the turn asks which of several things is meant

Each carries `help`, the way out, and `retryable`: whether the same call may succeed later. Retryable ones are
`ConnectionError`s, which LangGraph's `RetryPolicy()` retries; the others are not retried by it.
"""

from __future__ import annotations

import errno
import sqlite3
import sys
from collections.abc import Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, ClassVar, Literal


class PreflightError(RuntimeError):
    """Base of all errors; `str(error)` is one line that says what went wrong and what to do.

    A `RuntimeError`, because the LangGraph server passes on the text of those, and hides that of other kinds.

    Args:
        message: What went wrong, with the offending value.
        help: What the user can do about it.
        receipt: The turn's cost when it failed, as `Receipt.model_dump()`, if it had started.

    Attributes:
        thread_id: The thread of the failed turn, on which it can be resumed, if it had started.
    """

    retryable: ClassVar[bool] = False
    exit_code: ClassVar[int] = 1

    def __init__(self, message: str, *, help: str = "", receipt: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.help = help
        self.receipt = receipt
        self.thread_id: str | None = None

    def __str__(self) -> str:
        text = f"{self.message}. {self.help}" if self.help else self.message
        return " ".join(text.split())


class RetryableError(PreflightError, ConnectionError):
    """An error after which the same call may succeed later.

    A `ConnectionError`, because for that LangGraph's own `default_retry_on` repeats a node; for other `RuntimeError`s
    it repeats none. So a node around ours needs no more than `retry_policy=RetryPolicy()`.
    """

    retryable = True


class OutOfMemory(PreflightError):
    """The system does not have the memory that the call needs; nothing was begun."""


class UsageError(PreflightError):
    """The call itself is wrong: an empty question, a bad thread id, a setting out of range."""

    exit_code = 2


class LibraryError(PreflightError):
    """The collection cannot serve the call."""


class LibraryMissing(LibraryError):
    """There is no library at the path."""


class LibraryEmpty(LibraryError):
    """The library contains no passage."""


class LibraryCorrupt(LibraryError):
    """The database or an index file cannot be read, or fails its checksum."""


class PassageGone(LibraryCorrupt):
    """A passage that was found is no longer in the library: its document was changed or deleted meanwhile."""


class DatabaseCorrupt(LibraryCorrupt):
    """A database is damaged, or contains rows that this program cannot have written."""


class LibraryClosed(LibraryError):
    """The collection was closed, or the application that it belongs to."""


class LibraryBusy(LibraryError, RetryableError):
    """Another program writes the collection."""


class LibraryUnavailable(LibraryError, RetryableError):
    """The database of a library cannot be reached, or the connection to it was lost."""


class ThreadsUnavailable(LibraryError, RetryableError):
    """The database of conversations cannot be reached, or the connection to it was lost."""


class RetrieverError(LibraryError):
    """An external retriever or vector store failed, or returned something other than documents."""


class EmbedderMismatch(LibraryError):
    """The library's vectors were made by another embedder."""


class DocumentError(PreflightError):
    """One document cannot be read; `source` is its path if the error is yielded instead of a document."""

    def __init__(self, message: str, *, help: str = "", source: str = "") -> None:
        super().__init__(" ".join(message.splitlines()), help=help)  # parsers report errors on several lines
        self.source = source


class UnsupportedDocument(DocumentError):
    """No loader reads files of this kind."""


class UnreadableDocument(DocumentError):
    """The file is damaged, missing, or not what its name says."""


class EncryptedDocument(DocumentError):
    """The file needs a password."""


class EmptyDocument(DocumentError):
    """The file contains no text."""


class DocumentTooLarge(DocumentError):
    """The file is larger than the limit."""


class EmbedderError(PreflightError):
    """The embedder is unknown, cannot be loaded, or has other weights than it should."""


class RerankerError(PreflightError):
    """The reranker is unknown, or cannot be loaded."""


class ExtractiveReaderError(PreflightError):
    """The extractive reader is unknown, damaged, or cannot be loaded."""


class PubMedError(PreflightError):
    """NCBI did not serve a search; the turn goes on with the library's passages."""


class PubMedUnavailable(PubMedError, RetryableError):
    """NCBI is down, slow, busy, or its reply cannot be read."""


class PubMedRefused(PubMedError):
    """NCBI, or a server in its place, does not accept the key, the address or the number of requests."""


class ExpressionRefused(PubMedError):
    """NCBI does not accept the expression."""


FellShort = Literal[
    "", "length", "deadline", "unfinished", "repetition", "content_filter", "refusal", "empty", "malformed"
]
"""Reasons of an incomplete reply; "" for a reason without a name."""


class ModelError(PreflightError):
    """The language model did not give a usable reply.

    Attributes:
        spent: The cost of the failed call, as `Usage.model_dump()`.
        reason: Why its reply is unusable: its own token limit ("length"), our timeout ("deadline"), a stream that ended
            without an end mark ("unfinished"), repetition ("repetition"), its server's filter, a refusal, an empty
            reply, or no completion ("malformed").
        partial: The text of an incomplete reply.
    """

    spent: dict[str, Any] | None = None
    reason: FellShort = ""
    partial: str = ""


class UnknownModel(ModelError):
    """No such model, or its integration is not installed."""


class ModelAuthError(ModelError):
    """The server refused the key."""


class ModelUnavailable(ModelError, RetryableError):
    """The server cannot be reached or failed."""


class LocalModelError(ModelError, RetryableError):
    """A model's file is missing, damaged, or larger than the available memory."""


class ModelTimeout(ModelError, RetryableError):
    """No complete reply within the deadline."""


class ReadsTooSlowly(ModelTimeout):
    """A model on this machine would not have read its prompt in the turn's time.

    Attributes:
        room: Tokens of a prompt that it can be expected to read in the remaining time.
    """

    room: int = 0


class ModelRateLimited(ModelError, RetryableError):
    """The server says that requests come too fast."""


class ContextOverflow(ModelError):
    """The prompt is longer than the model reads."""


class BadReply(ModelError):
    """The reply was cut off, refused, filtered, empty, or not a chat completion; `reason` says which."""

    def __init__(
        self,
        message: str,
        *,
        help: str = "",
        receipt: dict[str, Any] | None = None,
        reason: FellShort = "",
        partial: str = "",
    ) -> None:
        super().__init__(message, help=help, receipt=receipt)
        self.reason, self.partial = reason, partial


class BudgetUsedUp(ModelError):
    """One more call would exceed the budget of a turn, a user, a server or an evaluation; it was not made."""


class TurnError(PreflightError):
    """The turn ended without an answer."""


class AllPartitionsFailed(TurnError):
    """Every partition of a map/reduce turn, or every group of a COrg turn, failed."""

    @classmethod
    def of(cls, work: str, stage: str, gaps: Sequence[Mapping[str, str]]) -> AllPartitionsFailed:
        """Return the error with the message of a stage's first failure of `work` ("3 groups could be answered")."""
        first_failure = next((gap["error"] for gap in gaps if gap["stage"] == stage), "no reason recorded")
        return cls(f"none of the {work}: {first_failure.rstrip('.')}")


class ThreadNotFound(TurnError):
    """There are no turns on this thread."""


class ThreadBusy(TurnError, RetryableError):
    """Another turn is running on this thread."""


class TooManySteps(TurnError):
    """The graph took more steps than a turn may: it is in an endless loop."""


class TurnUnfinished(TurnError):
    """The thread's last turn was cut off; resume it, or drop it on purpose."""


class ReplyNeeded(TurnError):
    """The turn waits for the user to say which of several things is meant; `clarification` holds the choices."""

    def __init__(self, message: str, *, help: str = "", clarification: Any = None) -> None:
        super().__init__(message, help=help)
        self.clarification = clarification


def first_line(error: BaseException) -> str:
    """Return the first line of an exception's message, at most 300 characters; if it is empty, the exception's type."""
    message = str(error).strip() or type(error).__name__
    return message.splitlines()[0].rstrip(".")[:300]


ROOM = "Make room on the disk."
PERMISSIONS = "Check the folder's permissions."
READ_ONLY = "It can be searched as it is; to change it, copy the folder to where you may write."
BUSY = "Another program holds the file; try again when it has finished."
FILES = "Close some files, or raise the limit of open ones (ulimit -n)."
MEMORY = "Free some memory, or raise the limit on it (ulimit -v, the container's)."
_HELP_BY_ERRNO = {
    **dict.fromkeys((errno.ENOSPC, errno.EDQUOT, errno.EFBIG), ROOM),
    **dict.fromkeys((errno.EACCES, errno.EPERM, errno.EROFS), PERMISSIONS),
    **dict.fromkeys((errno.EMFILE, errno.ENFILE), FILES),
    errno.ENOMEM: MEMORY,
    errno.EIO: "Check the disk.",
}
_HELP_BY_SQLITE_ERROR = {
    **dict.fromkeys(("SQLITE_FULL", "SQLITE_IOERR_SHMSIZE"), ROOM),
    **dict.fromkeys(("SQLITE_BUSY", "SQLITE_LOCKED"), BUSY),
    **dict.fromkeys(("SQLITE_READONLY", "SQLITE_PERM"), PERMISSIONS),
    "SQLITE_CANTOPEN": "Check the folder's permissions, and how many files are open (ulimit -n).",
    "SQLITE_NOMEM": MEMORY,
    "SQLITE_IOERR": "Check the disk.",
}
_LACK_BY_HELP = {ROOM: "the disk is full", FILES: "too many files are open", MEMORY: "there is not enough memory"}
# Messages of FAISS, tantivy, ONNX Runtime and the dynamic linker for the same, in exceptions without a class of their
# own.
_HELP_BY_MESSAGE = {
    "No space left on device": ROOM,
    "File too large": ROOM,
    "Too many open files": FILES,
    "TooManyOpenFiles": FILES,
    "Cannot allocate memory": MEMORY,
    "cannot allocate memory": MEMORY,
    "bad_alloc": MEMORY,
    "memory allocation": MEMORY,
    "failed to map segment": MEMORY,
    "can't start new thread": MEMORY,
}


def system_help(error: BaseException) -> str:
    """Return advice for an error of the disk, of memory or of SQLite; "" for any other error, and for one of ours."""
    if isinstance(error, PreflightError):
        return ""
    if isinstance(error, MemoryError):
        return MEMORY
    if isinstance(error, OSError) and error.errno:
        return _HELP_BY_ERRNO.get(error.errno, "")
    if isinstance(error, sqlite3.Error):
        name = getattr(error, "sqlite_errorname", None) or ""
        return next((help for start, help in _HELP_BY_SQLITE_ERROR.items() if name.startswith(start)), "")
    return next((help for words, help in _HELP_BY_MESSAGE.items() if words in str(error)), "")


def lacking(error: BaseException) -> str:
    """Return what the system lacked when an error was raised, as in "the disk is full".

    "" if that was none of disk space, file handles and memory.
    """
    return _LACK_BY_HELP.get(system_help(error), "")


def unreadable(message: str, error: BaseException) -> LibraryError:
    """Return our error for a file of a library that cannot be read.

    It is `LibraryCorrupt`, unless the system lacked disk space, file handles or memory.
    """
    if reason := lacking(error):
        return LibraryError(f"{message}: {reason}", help=system_help(error))
    return LibraryCorrupt(message)


def writing_help(error: OSError | sqlite3.Error) -> str:
    """Return advice for a library that cannot be written; one in a read-only folder can still be searched."""
    help = system_help(error)
    return READ_ONLY if help == PERMISSIONS else help


def is_closed(error: sqlite3.Error) -> bool:
    """Return whether a connection was used after it had been closed."""
    return isinstance(error, sqlite3.ProgrammingError) and "closed" in str(error)


def others_help(error: BaseException, whose: str) -> str:
    """Return advice for a failure of somebody else's code (`whose`: "the retriever"), or of a service behind it."""
    if isinstance(error, TypeError | AttributeError | NameError | NotImplementedError | AssertionError):
        return f"The error is in the code of {whose}."
    return f"Check the settings, the key and the server of {whose}."


def modules_of(trace: TracebackType | None) -> Iterator[str]:
    """Return the names of the modules in an exception's traceback, beginning with the one that raised it.

    Python's own modules are left out.
    """
    names = []
    while trace is not None:
        names.append(str(trace.tb_frame.f_globals.get("__name__", "")))
        trace = trace.tb_next
    return (name for name in reversed(names) if name.partition(".")[0] not in sys.stdlib_module_names)
