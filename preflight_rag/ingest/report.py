"""The progress events of an ingest, and its report."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, TypeAlias

from preflight_rag.ingest.loaders.read_report import ReadReport

Stage: TypeAlias = Literal["waiting", "reading", "splitting", "embedding", "documents", "index"]


@dataclass(frozen=True, slots=True)
class DocumentCopy:
    """A document whose text, or part of it, is also in another document, which is searched in its place.

    Attributes:
        document_id: The copy: its passages are left out of searches, as far as the other document has them.
        of_document: The document that is searched in its place.
        share: The share (from 0 to 1) of the copy's words that the other document has.
    """

    document_id: str
    of_document: str
    share: float


@dataclass(frozen=True, slots=True)
class IngestEvent:
    """A progress event of an ingest.

    Attributes:
        stage: "waiting" while another process writes the library (`name` is its folder); "reading" while a file is
            read; "splitting" when one of its documents is split; "embedding" while passages are embedded; "documents"
            after each document that is stored, skipped or failed; "index" while the index is built at the end.
        done: Number of pages read of the current file, of passages embedded of the current batch, of documents so far,
            or of the index's steps so far, by the stage.
        total: The total that `done` will reach; None if it is not known before the files are read.
        name: The current file (reading, embedding), the document, or the step.
        bytes_done: Work done, in bytes of all files: a file that is half read and embedded counts for half of its size.
        bytes_total: Bytes of all files, known before the first is read; 0 if the documents do not come from files.
    """

    stage: Stage
    done: int
    total: int | None
    name: str
    bytes_done: int = 0
    bytes_total: int = 0


Progress: TypeAlias = Callable[[IngestEvent], None]
Stop: TypeAlias = Callable[[], bool]
"""A function that is called between pages, documents and groups of passages; if it returns True, the run ends soon."""


@dataclass(frozen=True, slots=True)
class ReadDocument:
    """What was read of one document; unchanged documents are included.

    Attributes:
        source: The document's source.
        title: The document's title.
        report: The loader's report.
    """

    source: str
    title: str
    report: ReadReport

    def to_json(self) -> dict[str, Any]:
        """Return the report as JSON values, with the document's source and title."""
        return {"source": self.source, "title": self.title, **self.report.to_json()}


@dataclass
class IngestReport:
    """The result of an ingest.

    Attributes:
        added: Number of new documents.
        updated: Number of documents that replaced an earlier version.
        skipped: Number of documents that had not changed.
        removed: Number of documents removed because their files are gone.
        gone: Number of documents that were kept though their files, under the named paths, are gone.
        failed: `(source, reason)` of each file or record that could not be stored.
        passed_over: `(path, reason)` of each file or folder in a named folder that was skipped because of its kind.
        notes: `(source, note)` on documents that were stored but not read completely, such as pages that are pictures.
        read: The loader's report on each document that came from a file of its own, or was attached to one.
        copies: Documents, among those added or updated, whose text is in another document, which is searched instead.
        stopped: Whether the run was asked to stop before its end.
        left: Number of files that were not read to their end because the run was stopped.
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
            "read": [document.to_json() for document in self.read],
            "copies": [asdict(document_copy) for document_copy in self.copies],
            "stopped": self.stopped,
            "left": self.left,
        }
