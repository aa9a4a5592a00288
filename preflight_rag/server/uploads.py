"""Uploads: streamed to disk under names that are safe, taken into the library, and removed again where that fails.

A file is kept as `LIBRARY/uploads/HASH/NAME`, where the hash is its content's: nobody's file replaces another's, and a
file that is sent twice is kept once.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import tempfile
import time
import unicodedata
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header

from preflight_rag.library import Library
from preflight_rag.library.loaders import SUFFIXES
from preflight_rag.library.loaders.files import suffix_of
from preflight_rag.library.storage.ingest import IngestEvent
from preflight_rag.server.errors import Refused

FOLDER = "uploads"
INCOMING = ".incoming"
NAME_BYTES = 120
MOST_FILES = 1000
LEFT_SECONDS = 24 * 3600.0
_RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)
_FORBIDDEN = re.compile(r'[<>:"|?*]')


@dataclass
class Received:
    """One file of a request, at `path` once it is whole; `problem` says why it is not taken."""

    name: str
    path: Path | None = None
    hash: str = ""
    problem: str = ""


@dataclass
class UploadReport:
    """What became of the files of a request; `failed` holds `(name, reason)`."""

    added: int = 0
    updated: int = 0
    skipped: int = 0
    failed: list[tuple[str, str]] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """The report as JSON values."""
        failed = [{"name": name, "reason": reason} for name, reason in self.failed]
        return {"added": self.added, "updated": self.updated, "skipped": self.skipped, "failed": failed}


def safe_name(given: str) -> str:
    """A file name without folders, control characters and what some systems reserve; its ending stays."""
    name = unicodedata.normalize("NFC", re.split(r"[/\\]", given)[-1])
    name = "".join(each for each in name if unicodedata.category(each)[0] != "C")
    name = _FORBIDDEN.sub("_", name).strip().strip(".").strip() or "document"
    if _RESERVED.fullmatch(name):
        name = f"_{name}"
    suffix = suffix_of(Path(name))
    suffix = name[len(name) - len(suffix) :] if len(suffix) <= 16 else ""
    stem = name.removesuffix(suffix).encode()[: NAME_BYTES - len(suffix.encode())].decode("utf-8", "ignore")
    return stem.rstrip() + suffix


class UploadParser:
    """Writes the files of a form to disk while it is being received.

    Args:
        folder: The library's `uploads`.
        content_type: Of the request, with the boundary.

    Raises:
        Refused: It is no form with a boundary.
    """

    def __init__(self, folder: Path, content_type: str) -> None:
        _, options = parse_options_header(content_type)
        boundary = options.get(b"boundary")
        if not boundary:
            raise Refused(400, "the form names no boundary", help="Send multipart/form-data.")
        self.files: list[Received] = []
        self._root = folder
        self._incoming = folder / INCOMING
        self._incoming.mkdir(parents=True, exist_ok=True)
        self._headers: dict[bytes, bytes] = {}
        self._key = self._value = b""
        self._file: IO[bytes] | None = None
        self._digest = hashlib.sha256()
        self._size = 0
        self.is_whole = False
        try:
            self._parser = MultipartParser(boundary, self._callbacks())  # type: ignore[arg-type]
        except FormParserError as error:
            raise Refused(400, "the form cannot be read", help="Send multipart/form-data.") from error

    def write(self, data: bytes) -> None:
        """Take in a piece of the body.

        Raises:
            Refused: It is no form.
        """
        try:
            self._parser.write(data)
        except FormParserError as error:
            raise Refused(400, "the form cannot be read", help="Send multipart/form-data.") from error

    def keep(self) -> list[Received]:
        """Put the files where they stay; the form has been received to its end."""
        for received in self.files:
            if received.path is not None:
                folder = self._root / received.hash
                folder.mkdir(exist_ok=True)
                os.replace(received.path, folder / received.name)
                received.path = folder / received.name
        return self.files

    def drop(self) -> None:
        """Remove what was received so far."""
        if self._file is not None:
            self._file.close()
            Path(self._file.name).unlink(missing_ok=True)
            self._file = None
        for received in self.files:
            if received.path is not None:
                received.path.unlink(missing_ok=True)

    def _callbacks(self) -> dict[str, Callable[..., None]]:
        return {
            "on_part_begin": self._headers.clear,
            "on_header_field": self._on_field,
            "on_header_value": self._on_value,
            "on_header_end": self._on_header,
            "on_headers_finished": self._on_headers,
            "on_part_data": self._on_data,
            "on_part_end": self._on_part,
            "on_end": self._on_end,
        }

    def _on_field(self, data: bytes, start: int, end: int) -> None:
        self._key += data[start:end]

    def _on_value(self, data: bytes, start: int, end: int) -> None:
        self._value += data[start:end]

    def _on_header(self) -> None:
        self._headers[self._key.lower()] = self._value
        self._key = self._value = b""

    def _on_headers(self) -> None:
        _, options = parse_options_header(self._headers.get(b"content-disposition", b""))
        given = options.get(b"filename")
        if given is None:
            return
        if len(self.files) >= MOST_FILES:
            raise Refused(400, f"more than {MOST_FILES} files at once", help="Send them in several requests.")
        received = Received(safe_name(given.decode("utf-8", "replace")))
        self.files.append(received)
        suffix = suffix_of(Path(received.name))
        if suffix not in SUFFIXES:
            kind = f"files that end in {suffix}" if suffix else "files without an ending"
            received.problem = f"{kind} cannot be read; use one of: {' '.join(SUFFIXES)}"
            return
        self._digest, self._size = hashlib.sha256(), 0
        self._file = tempfile.NamedTemporaryFile(dir=self._incoming, delete=False)  # noqa: SIM115  # closed at the part's end

    def _on_data(self, data: bytes, start: int, end: int) -> None:
        if self._file is not None:
            piece = data[start:end]
            self._file.write(piece)
            self._digest.update(piece)
            self._size += len(piece)

    def _on_part(self) -> None:
        if self._file is None:
            return
        self._file.close()
        written, received = Path(self._file.name), self.files[-1]
        self._file = None
        if not self._size:
            received.problem = "the file is empty"
            written.unlink()
            return
        received.path, received.hash = written, self._digest.hexdigest()[:16]

    def _on_end(self) -> None:
        self.is_whole = True


async def receive(folder: Path, content_type: str, body: AsyncIterator[bytes]) -> list[Received]:
    """Write the files of a form to disk; what was written is removed where the request ends in an error."""
    parser = UploadParser(folder, content_type)
    try:
        async for piece in body:
            parser.write(piece)
    except BaseException:
        parser.drop()
        raise
    if parser.is_whole:
        return parser.keep()
    parser.drop()
    raise Refused(400, "the form ends too early", help="Send it again.")


def take_in(
    library: Library, folder: Path, files: list[Received], progress: Callable[[str, IngestEvent], None]
) -> UploadReport:
    """Ingest received files and report by their names; files of which no document came are removed.

    Args:
        library: Where they go.
        folder: The library's `uploads`.
        files: What `receive` gave.
        progress: Called with a name and the step.
    """
    report = UploadReport(failed=[(each.name, each.problem) for each in files if each.problem])
    names = {str(each.path): each.name for each in files if each.path}

    def step(event: IngestEvent) -> None:
        progress(names.get(event.name, event.name), event)

    try:
        if names:
            done = library.ingest([Path(path) for path in names], progress=step)
            report.added, report.updated, report.skipped = done.added, done.updated, done.skipped
            report.failed += [_told(source, reason, names) for source, reason in done.failed]
    finally:
        for path in names:
            if not library.catalogue.origin_is_used(path):
                forget(folder, Path(path))
    return report


def sweep(folder: Path) -> None:
    """Remove what a killed server had not received to its end."""
    for path in (folder / INCOMING).glob("*"):
        with suppress(OSError):
            if time.time() - path.stat().st_mtime > LEFT_SECONDS:
                path.unlink()


def forget(folder: Path, path: Path | None) -> None:
    """Remove an uploaded file and its folder; files from elsewhere are never touched."""
    if path is None or not path.is_relative_to(folder) or ".." in path.parts:
        return
    with suppress(OSError):
        path.unlink(missing_ok=True)
        if path.parent != folder and not any(path.parent.iterdir()):
            shutil.rmtree(path.parent)


def _told(source: str, reason: str, names: dict[str, str]) -> tuple[str, str]:
    """A failure with the file's own name in the place of where the server keeps it."""
    for path, name in names.items():
        source, reason = source.replace(path, name), reason.replace(path, name)
    return source, reason
