"""Progress of uploads: what the server remembers of each, for later requests of the user who sent it."""

from __future__ import annotations

import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

from preflight_rag.server.access import User
from preflight_rag.server.errors import Refused, describe

SHOWN_SECONDS = 3600.0  # seconds for which an upload that has ended can be looked up: a guess
MOST_AT_ONCE = 8  # most uploads of one user that are received at the same time: a guess
MOST_WAITING = 2000  # most files of one user that are received but not yet read; twice those of the largest upload


@dataclass
class UploadReport:
    """The results for the files of a request.

    Attributes:
        failed: `(name, reason)` of each file that was not added, because of its kind or its content.
        notes: `(name, note)` on files that were added only in part.
    """

    added: int = 0
    updated: int = 0
    skipped: int = 0
    failed: list[tuple[str, str]] = field(default_factory=list)
    notes: list[tuple[str, str]] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """Return the report as JSON values."""
        failed = [{"name": name, "reason": reason} for name, reason in self.failed]
        notes = [{"name": name, "note": note} for name, note in self.notes]
        counts = {"added": self.added, "updated": self.updated, "skipped": self.skipped}
        return {**counts, "failed": failed, "notes": notes}


@dataclass
class FileState:
    """The progress of one file of an upload.

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
        """Return whether the file has reached its last stage."""
        return self.stage in ("ready", "failed", "stopped")

    def move(self, stage: str, done: int = 0, total: int | None = None, note: str = "") -> None:
        """Set the file's stage, or its progress within the stage."""
        if not self.is_over:
            self.stage, self.done, self.total, self.note = stage, done, total, note or self.note


@dataclass
class Upload:
    """The files of one request on their way into the library; `report` counts the results so far."""

    user: str
    files: list[FileState]
    id: str = field(default_factory=lambda: uuid4().hex)
    report: UploadReport = field(default_factory=UploadReport)
    ended: float | None = None
    error: str = ""
    stopping: bool = False

    def end(self, error: Exception | None = None) -> None:
        """Mark the remaining files as failed or stopped: the upload has ended."""
        described = describe(error) if error is not None else None
        self.error = f"{described['message']}. {described['help'] or ''}".strip() if described else ""
        for file in self.files:
            file.move("failed" if error else "stopped", note=self.error)
        self.ended = time.monotonic()

    def to_json(self) -> dict[str, Any]:
        """Return the upload as JSON values."""
        over = self.ended is not None
        files = [asdict(file) for file in self.files]
        return {"id": self.id, "over": over, "error": self.error, "files": files, "report": self.report.to_json()}


class Uploads:
    """All uploads of a server that are in progress or have ended recently."""

    def __init__(self) -> None:
        self._uploads: dict[str, Upload] = {}
        self._receiving: Counter[str] = Counter()

    @contextmanager
    def receiving(self, user: User) -> Iterator[None]:
        """Count an upload of a user while its files are received.

        Raises:
            Refused: The user sends too many uploads at once, or too many of the user's files wait to be read.
        """
        if self._receiving[user.name] >= MOST_AT_ONCE:
            raise Refused(
                429, f"{MOST_AT_ONCE} of your uploads are being received", help="Send them one after another."
            )
        waiting = sum(not file.is_over for upload in self.of(user) for file in upload.files)
        if waiting >= MOST_WAITING:
            raise Refused(429, f"{waiting:,} of your files wait to be read", help="Send more once they are read.")
        self._receiving[user.name] += 1
        try:
            yield
        finally:
            self._receiving[user.name] -= 1
            self._receiving += Counter()  # without entries of users who send nothing

    def add(self, upload: Upload) -> None:
        """Remember an upload; those that ended long ago are forgotten."""
        now = time.monotonic()
        kept = {id: each for id, each in self._uploads.items() if not each.ended or now - each.ended < SHOWN_SECONDS}
        self._uploads = {**kept, upload.id: upload}

    def of(self, user: User) -> list[Upload]:
        """Return a user's uploads, oldest first."""
        return [upload for upload in self._uploads.values() if upload.user == user.name]

    def drop(self, user: User, id: str) -> None:
        """Stop an upload after its current files, or, once it has ended, forget it.

        Raises:
            Refused: The user has no such upload.
        """
        upload = self._uploads.get(id)
        if upload is None or upload.user != user.name:
            raise Refused(404, f"there is no upload {id[:100]!r}", help="GET /api/uploads lists them.")
        upload.stopping = True
        if upload.ended is not None:
            del self._uploads[id]


class KeptFiles:
    """Received files, each stored at `HASH/NAME` below a folder, and which of them are still to be read.

    The same file, sent by two users, is stored once. Removing it because no document came of it, or because its
    document was deleted, must not take it from the other user, whose upload waits for its turn.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._lock = threading.Lock()
        self._awaited: Counter[Path] = Counter()

    def size(self) -> int:
        """Return the size of all files in bytes; folders may vanish meanwhile, at which `Path.rglob` would raise."""
        size = 0
        for root, _, names in os.walk(self.folder):
            for name in names:
                with suppress(OSError):
                    size += os.lstat(os.path.join(root, name)).st_size
        return size

    def keep(self, received: Path, place: Path) -> Path:
        """Move a file to its place, where it stays at least until `release`."""
        with self._lock:
            place.parent.mkdir(mode=0o700, exist_ok=True)
            kept = received.replace(place)
            self._awaited[kept] += 1
            return kept

    def release(self, path: Path) -> None:
        """Record that an upload no longer needs a file."""
        with self._lock:
            self._awaited[path] -= 1
            self._awaited += Counter()  # without entries of files that no upload waits for

    def remove_unused(self, path: Path, is_used: Callable[[str], bool]) -> None:
        """Remove a file and its folder if no document came of it and no upload waits for it.

        Files outside of the folder are never touched.
        """
        if not path.is_relative_to(self.folder) or ".." in path.parts:
            return
        with self._lock:
            if self._awaited[path] or is_used(str(path)):
                return
            with suppress(OSError):
                path.unlink(missing_ok=True)
                if path.parent != self.folder:
                    path.parent.rmdir()  # fails if the folder holds another file
