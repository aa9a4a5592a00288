"""Every error that Preflight RAG raises on purpose.

    PreflightError
    ├── UsageError                 the call itself is wrong (exit status 2)
    ├── LibraryError
    │   ├── LibraryMissing         no library at that path
    │   ├── LibraryEmpty           a library without passages
    │   ├── LibraryCorrupt         the database or an index cannot be read
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
    │   └── ExpressionRefused      NCBI does not take the expression
    ├── ModelError                 the language model did not give a usable reply
    │   ├── UnknownModel
    │   ├── ModelAuthError
    │   ├── ModelUnavailable       (retryable)
    │   ├── ModelTimeout           (retryable)
    │   ├── ModelRateLimited       (retryable)
    │   ├── ContextOverflow
    │   ├── BadReply               cut off, refused, filtered, empty, or not a completion at all
    │   └── BudgetUsedUp           an evaluation's limit of calls or of cost is reached; the call was not made
    └── TurnError
        ├── AllPartitionsFailed    no partition of a map/reduce turn could be read
        ├── ThreadNotFound
        ├── ThreadBusy             (retryable) another turn runs on the thread
        ├── TurnUnfinished         an earlier turn was cut off and can be resumed
        └── ReplyNeeded            the turn asks which of several things is meant

Each carries `help`, the way out, and `retryable`: whether the same call may succeed later.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal


class PreflightError(RuntimeError):
    """Base of all errors; `str(error)` is one line that says what went wrong and what to do.

    A `RuntimeError`, because the LangGraph server passes on the text of those, and hides that of unknown kinds.

    Args:
        message: What went wrong, with the offending value.
        help: What the user can do about it.
        receipt: What the turn had spent when it failed, as `Receipt.model_dump()`, if it had started.

    Attributes:
        thread_id: The thread of the turn that failed, where it can be resumed, if it had started.
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


class UsageError(PreflightError):
    """The call itself is wrong: an empty question, a bad thread id, a setting out of range."""

    exit_code = 2


class LibraryError(PreflightError):
    """The collection cannot serve the call."""


class LibraryMissing(LibraryError):
    """There is no library at the path."""


class LibraryEmpty(LibraryError):
    """The library holds no passage."""


class LibraryCorrupt(LibraryError):
    """The database or an index file cannot be read, or fails its checksum."""


class RetrieverError(LibraryError):
    """Somebody's own retriever or vector store failed, or gave something else than documents."""


class EmbedderMismatch(LibraryError):
    """The library's vectors were made by another embedder."""


class DocumentError(PreflightError):
    """One document cannot be taken in; `source` is its path where the error stands in the place of a file."""

    def __init__(self, message: str, *, help: str = "", source: str = "") -> None:
        super().__init__(message, help=help)
        self.source = source


class UnsupportedDocument(DocumentError):
    """No loader reads files of this kind."""


class UnreadableDocument(DocumentError):
    """The file is damaged, missing, or not what its name says."""


class EncryptedDocument(DocumentError):
    """The file needs a password."""


class EmptyDocument(DocumentError):
    """The file holds no text."""


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


class PubMedUnavailable(PubMedError):
    """NCBI is down, slow, busy, or its reply cannot be read."""

    retryable = True


class ExpressionRefused(PubMedError):
    """NCBI does not take the expression."""


class ModelError(PreflightError):
    """The language model did not give a usable reply; `spent` is what the failed call cost, as `Usage.model_dump()`."""

    spent: dict[str, Any] | None = None


class UnknownModel(ModelError):
    """No such model, or its integration is not installed."""


class ModelAuthError(ModelError):
    """The server refused the key."""


class ModelUnavailable(ModelError):
    """The server cannot be reached or failed."""

    retryable = True


class ModelTimeout(ModelError):
    """No complete reply within the deadline."""

    retryable = True


class ModelRateLimited(ModelError):
    """The server asks to slow down."""

    retryable = True


class ContextOverflow(ModelError):
    """The prompt is longer than the model reads."""


class BadReply(ModelError):
    """The reply was cut off, refused, filtered, empty, or not a chat completion.

    Attributes:
        reason: Why the model stopped, in OpenAI's words: "length", "content_filter", or "" for anything else.
        partial: What there is of a reply that was cut off.
    """

    def __init__(
        self,
        message: str,
        *,
        help: str = "",
        receipt: dict[str, Any] | None = None,
        reason: Literal["length", "content_filter", ""] = "",
        partial: str = "",
    ) -> None:
        super().__init__(message, help=help, receipt=receipt)
        self.reason: Literal["length", "content_filter", ""] = reason
        self.partial = partial


class BudgetUsedUp(ModelError):
    """One more call would exceed what an evaluation may spend."""


class TurnError(PreflightError):
    """The turn could not be brought to an answer."""


class AllPartitionsFailed(TurnError):
    """Every partition of a map/reduce turn, or every group of a COrg turn, failed."""

    @classmethod
    def of(cls, work: str, stage: str, gaps: Sequence[Mapping[str, str]]) -> AllPartitionsFailed:
        """The error with what the first failure of a stage reported; `work` is as in "3 groups could be answered"."""
        first = next((gap["error"] for gap in gaps if gap["stage"] == stage), "no reason recorded")
        return cls(f"none of the {work}: {first}", help="Ask again.")


class ThreadNotFound(TurnError):
    """No turn was ever taken on this thread."""


class ThreadBusy(TurnError):
    """Another turn is running on this thread."""

    retryable = True


class TurnUnfinished(TurnError):
    """The thread's last turn was cut off; resume it, or drop it on purpose."""


class ReplyNeeded(TurnError):
    """The turn waits for the person to say which of several things is meant; `clarification` holds the choices."""

    def __init__(self, message: str, *, help: str = "", clarification: Any = None) -> None:
        super().__init__(message, help=help)
        self.clarification = clarification


def first_line(error: BaseException) -> str:
    """The first line of what an exception says, at most 300 characters; where it says nothing, its type."""
    return (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")[:300]
