"""How far uploads are: what the server remembers of each, for whoever sent it and asks again."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass, field
from typing import Any
from uuid import uuid4

from preflight_rag.server.access import User
from preflight_rag.server.errors import Refused, describe

SHOWN_SECONDS = 3600.0  # how long it can be asked what became of an upload that has ended: a guess


@dataclass
class UploadReport:
    """What became of the files of a request.

    Attributes:
        failed: `(name, reason)` of each that was not taken in, for its kind or for what it holds.
        notes: `(name, note)` on those that were taken in, but not all of them.
    """

    added: int = 0
    updated: int = 0
    skipped: int = 0
    failed: list[tuple[str, str]] = field(default_factory=list)
    notes: list[tuple[str, str]] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """The report as JSON values."""
        failed = [{"name": name, "reason": reason} for name, reason in self.failed]
        notes = [{"name": name, "note": note} for name, note in self.notes]
        counts = {"added": self.added, "updated": self.updated, "skipped": self.skipped}
        return {**counts, "failed": failed, "notes": notes}


@dataclass
class FileState:
    """How far one file of an upload is.

    `stage` is waiting, reading, splitting, embedding, indexing, and at last ready, failed or stopped; `done` of `total`
    counts pages while it is read and passages while they are embedded; `note` says why it failed, or what of it was not
    read; `known` that the library had it before.
    """

    name: str
    stage: str = "waiting"
    done: int = 0
    total: int | None = None
    note: str = ""
    known: bool = False

    @property
    def is_over(self) -> bool:
        """Whether nothing more becomes of it."""
        return self.stage in ("ready", "failed", "stopped")

    def move(self, stage: str, done: int = 0, total: int | None = None, note: str = "") -> None:
        """It is in another stage, or further in this one."""
        if not self.is_over:
            self.stage, self.done, self.total, self.note = stage, done, total, note or self.note


@dataclass
class Upload:
    """The files of one request on their way into the library; `report` counts what has become of them by now."""

    user: str
    files: list[FileState]
    id: str = field(default_factory=lambda: uuid4().hex)
    report: UploadReport = field(default_factory=UploadReport)
    ended: float | None = None
    error: str = ""
    stopping: bool = False

    def end(self, error: Exception | None = None) -> None:
        """Nothing more becomes of the files; those that are left failed, or were stopped."""
        described = describe(error) if error is not None else None
        self.error = f"{described['message']}. {described['help'] or ''}".strip() if described else ""
        for file in self.files:
            file.move("failed" if error else "stopped", note=self.error)
        self.ended = time.monotonic()

    def to_json(self) -> dict[str, Any]:
        """The upload as JSON values."""
        over = self.ended is not None
        files = [asdict(file) for file in self.files]
        return {"id": self.id, "over": over, "error": self.error, "files": files, "report": self.report.to_json()}


class Uploads:
    """All uploads of a server that are going on, and those that have ended lately."""

    def __init__(self) -> None:
        self._uploads: dict[str, Upload] = {}

    def add(self, upload: Upload) -> None:
        """Remember an upload; those that ended long ago are forgotten."""
        now = time.monotonic()
        kept = {id: each for id, each in self._uploads.items() if not each.ended or now - each.ended < SHOWN_SECONDS}
        self._uploads = {**kept, upload.id: upload}

    def of(self, user: User) -> list[Upload]:
        """A user's uploads, the first first."""
        return [upload for upload in self._uploads.values() if upload.user == user.name]

    def drop(self, user: User, id: str) -> None:
        """Stop an upload after what is in hand, or, once it has ended, forget it.

        Raises:
            Refused: The user has no such upload.
        """
        upload = self._uploads.get(id)
        if upload is None or upload.user != user.name:
            raise Refused(404, f"there is no upload {id[:100]!r}", help="GET /api/uploads lists them.")
        upload.stopping = True
        if upload.ended is not None:
            del self._uploads[id]
