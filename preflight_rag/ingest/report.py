"""The progress events of an ingest, and its report."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, TypeAlias

from preflight_rag.ingest.loaders.read_report import ReadReport

Stage: TypeAlias = Literal["waiting", "reading", "splitting", "embedding", "documents", "index"]


@dataclass(frozen=True, slots=True)
class DocumentCopy:
    """A document whose text, or part of it, is in another document that is searched in its place.

    Attributes:
        document_id: The document whose passages are left out of searches, as far as the other has them.
        of_document: The document that is searched.
        share: The share of its words that the other document has.
    """

    document_id: str
    of_document: str
    share: float


@dataclass(frozen=True, slots=True)
class IngestEvent:
    """A progress event of an ingest.

    Attributes:
        stage: "waiting" where another process writes the library, whose folder is the name; "reading" while a file is
            read, "splitting" when a document of it is, and "embedding" while passages are, as often as there is
            something new to say; "documents" after each document that is stored, skipped or failed; "index" at the end.
        done: Pages of the file in hand, passages of the batch in hand, documents so far, or steps of the index so far.
        total: How many there are, or None where that is not known before they are read.
        name: The file in hand (reading, embedding), the document, or the step.
        bytes_done: Work done in all files, in bytes of them: a file that is half read and embedded counts for half.
        bytes_total: Bytes of all files, known before the first is read; 0 where documents come from no file.
    """

    stage: Stage
    done: int
    total: int | None
    name: str
    bytes_done: int = 0
    bytes_total: int = 0


Progress: TypeAlias = Callable[[IngestEvent], None]
Stop: TypeAlias = Callable[[], bool]
"""Asked between pages, documents and groups of passages; true ends the run after what is in hand."""


@dataclass(frozen=True, slots=True)
class ReadDocument:
    """What was read of one document; unchanged documents are included.

    Attributes:
        source: As the document's own.
        title: The document's.
        report: What its loader says.
    """

    source: str
    title: str
    report: ReadReport

    def to_json(self) -> dict[str, Any]:
        """Return the report as JSON values, with the document's source and title."""
        return {"source": self.source, "title": self.title, **self.report.to_json()}


@dataclass
class IngestReport:
    """The result of an ingest, in numbers of documents.

    Attributes:
        gone: Documents that were kept though their files, under the given paths, are gone.
        failed: `(source, reason)` of each file or record that could not be taken in.
        passed_over: `(path, reason)` of each file or folder, found in a folder, that is not read by its kind.
        notes: `(source, note)` on documents that were taken in, but not all of them: pages that are pictures.
        read: What was read of each document that came from a file of its own, or was attached to one.
        copies: Documents whose text stands in another one, which is searched in their place; of those that this run
            added or changed.
        stopped: Whether the run was asked to stop before its end.
        left: Files that were not begun, or not read to their end, because of that.
    """

    added: int = 0
    updated: int = 0
    skipped: int = 0
    removed: int = 0
    gone: int = 0
    failed: list[tuple[str, str]] = field(default_factory=list)
    passed_over: list[tuple[str, str]] = field(default_factory=list)
    notes: list[tuple[str, str]] = field(default_factory=list)
    read: list[ReadDocument] = field(default_factory=list)
    copies: list[DocumentCopy] = field(default_factory=list)
    stopped: bool = False
    left: int = 0

    def to_json(self) -> dict[str, Any]:
        """Return the report as JSON values."""
        return {
            "added": self.added,
            "updated": self.updated,
            "skipped": self.skipped,
            "removed": self.removed,
            "gone": self.gone,
            "failed": [{"source": source, "reason": reason} for source, reason in self.failed],
            "passed_over": [{"source": source, "reason": reason} for source, reason in self.passed_over],
            "notes": [{"source": source, "note": note} for source, note in self.notes],
            "read": [each.to_json() for each in self.read],
            "copies": [asdict(each) for each in self.copies],
            "stopped": self.stopped,
            "left": self.left,
        }
