"""Finding files, and the checks that come before any parser sees one."""

from __future__ import annotations

import gzip
import io
import os
import stat
import sys
import threading
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import IO, TypeAlias, cast

from preflight_rag.state.errors import (
    DocumentError,
    DocumentTooLarge,
    EmptyDocument,
    EncryptedDocument,
    UnreadableDocument,
    UnsupportedDocument,
)

LOADERS = {
    "calendar_file": (".ics", ".vcf"),
    "docx": (".docm", ".docx", ".dotm", ".dotx"),
    "epub": (".epub",),
    "html": (".htm", ".html", ".xhtml"),
    "json_file": (".geojson", ".json"),
    "jsonl": (".jsonl", ".jsonl.gz", ".ndjson", ".ndjson.gz"),
    "latex": (".latex", ".tex"),
    "mail": (".eml", ".mbox", ".msg"),
    "markdown": (".markdown", ".md"),
    "notebook": (".ipynb",),
    "odf": (
        *(".fodg", ".fodp", ".fods", ".fodt"),
        *(".odg", ".odp", ".ods", ".odt"),
        *(".otg", ".otp", ".ots", ".ott"),
    ),
    "pdf": (".pdf",),
    "pptx": (".potm", ".potx", ".ppsm", ".ppsx", ".pptm", ".pptx"),
    "rtf": (".rtf",),
    "settings": (".cfg", ".conf", ".ini", ".properties", ".toml", ".yaml", ".yml"),
    "subtitles": (".srt", ".vtt"),
    "table": (".csv", ".tab", ".tsv"),
    "text": (".adoc", ".asciidoc", ".log", ".org", ".rst", ".text", ".txt"),
    "xls": (".xls",),
    "xlsx": (".xlsm", ".xlsx", ".xltm", ".xltx"),
    "xml": (".atom", ".gpx", ".kml", ".nxml", ".nxml.gz", ".rss", ".xml", ".xml.gz"),
}
"""Loader to the endings of the files that it reads: module `name` with `load_name`, but Markdown's is in `text`."""
SUFFIXES = tuple(sorted(suffix for suffixes in LOADERS.values() for suffix in suffixes))
_SEVERAL = ("json_file", "jsonl", "table", "xml")
ONE_DOCUMENT = tuple(
    sorted({suffix for name in LOADERS if name not in _SEVERAL for suffix in LOADERS[name]} - {".mbox"})
)
"""Endings of files that hold one document each; others may hold any number."""
OFFICE = {
    ".latex": "pylatexenc",
    ".msg": "oxmsg",
    **dict.fromkeys((".potm", ".potx", ".ppsm", ".ppsx", ".pptm", ".pptx"), "pptx"),
    ".rtf": "striprtf",
    ".tex": "pylatexenc",
    ".xls": "xlrd",
    ".xlsm": "openpyxl",
    ".xlsx": "openpyxl",
    ".xltm": "openpyxl",
    ".xltx": "openpyxl",
}
"""Endings whose loaders need a module of the extra `office`."""
PAGED = frozenset({"pdf", "pptx"})
"""Loaders that say how many pages they have read."""
Pages: TypeAlias = Callable[[int, int], None]
"""Called with the number of pages that were read, and how many there are."""
DEFAULT_MAX_BYTES = 200 * 1024 * 1024
"""Largest file that is read, a guess at what no text needs."""
DEEPEST_FILES = 5
"""Files inside of files that are read, such as a PDF attached to a mail; a guess."""
LIBRARY_FILE = "library.db"
_TEXT_PARTS = (".xml", ".rels", ".html", ".htm", ".xhtml", ".opf", ".ncx")
_OLE = b"\xd0\xcf\x11\xe0"

_OTHER_KINDS = {
    "a picture; put it into a PDF to have its text recognised": (
        ".bmp .gif .heic .ico .jpeg .jpg .png .svg .tif .tiff .webp"
    ),
    "sound; its words have to be written down first": ".aac .flac .m4a .mp3 .ogg .opus .wav .wma",
    "a film; its words have to be written down first": ".avi .m4v .mkv .mov .mp4 .mpeg .mpg .webm .wmv",
    "an old Word document; save it as .docx": ".doc .dot",
    "a binary Excel workbook; save it as .xlsx": ".xlsb",
    "an old PowerPoint presentation; save it as .pptx": ".pps .ppt",
    "a document of Apple's programs; export it as .pdf": ".key .numbers .pages",
    "a store of Outlook's; save its mails as .msg or .eml": ".ost .pst",
    "a Kindle book; convert it to .epub": ".azw .azw3 .mobi",
    "an archive; unpack it first": ".7z .bz2 .gz .rar .tar .tgz .xz .zip",
}
OTHER_KIND = "no loader reads this kind of file"
_REASONS = {suffix: reason for reason, suffixes in _OTHER_KINDS.items() for suffix in suffixes.split()}


@dataclass(frozen=True, slots=True)
class SkippedFile:
    """A file or folder found in a folder that is not read, with the reason."""

    path: Path
    reason: str


def suffix_of(path: Path) -> str:
    """Return the extension that decides the loader, in lower case; `.gz` together with the one before it."""
    name = path.name.lower()
    ending = Path(name).suffix
    return Path(name.removesuffix(ending)).suffix + ending if ending == ".gz" else ending


def find_files(paths: Sequence[Path]) -> Iterator[Path | DocumentError | SkippedFile]:
    """Yield the files to load, sorted within each folder, each once, and an error for an invalid path.

    Folders are walked without following links. Hidden entries, files of other kinds, and folders that contain a
    library are skipped, and yielded as `SkippedFile`.
    """
    seen: set[str] = set()
    for path in paths:
        for found in _walk(path) if path.is_dir() else _named(path):
            place = found.path if isinstance(found, SkippedFile) else found
            key = str(place) if isinstance(place, DocumentError) else os.path.abspath(place)
            if key not in seen:
                seen.add(key)
                yield found


def _named(path: Path) -> Iterator[Path | DocumentError]:
    """Yield a path that the caller named, or an error if it cannot be loaded."""
    if not os.path.lexists(path):
        yield UnreadableDocument(f"{str(path)!r} does not exist", help="Check the path", source=str(path))
    elif suffix_of(path) not in SUFFIXES:
        yield unsupported(path)
    else:
        yield path


def _walk(folder: Path) -> Iterator[Path | DocumentError | SkippedFile]:
    """Yield the files below a folder, and what is skipped there."""
    errors: list[OSError] = []
    for root, folders, files in os.walk(folder, onerror=errors.append):
        if LIBRARY_FILE in files:
            folders[:] = []
            yield SkippedFile(Path(root), "a library of Preflight RAG's")
            continue
        for name in sorted(name for name in folders if name.startswith(".")):
            yield SkippedFile(Path(root, name), "hidden")
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in folders:
            if Path(root, name).is_symlink():
                yield SkippedFile(Path(root, name), "a link to a folder")
        for name in sorted(files):
            path = Path(root, name)
            reason = why_not_read(path) or (
                "" if _stays_within(path, folder) else "a link that leads out of the folder, or to what is hidden"
            )
            yield SkippedFile(path, reason) if reason else path
    for error in errors:
        yield UnreadableDocument(f"{error.filename!r} cannot be listed: {error.strerror}", source=str(error.filename))


def _stays_within(path: Path, folder: Path) -> bool:
    """Return whether a file belongs to a folder, rather than being a link to a file elsewhere.

    This is checked again when the file is opened, because it may have been replaced by another link.
    """
    if not path.is_symlink():
        return True
    try:
        return is_inside(path.resolve(), folder.resolve())
    except (OSError, RuntimeError):  # a link to itself: reading it says so
        return True


def why_not_read(path: Path) -> str:
    """Return why a file in a folder is skipped, judged by its name; "" if it is read."""
    suffix = suffix_of(path)
    if path.name.startswith("."):
        return "hidden"
    if path.name.startswith("~$"):
        return "an office program's mark that the document is open"
    if suffix in SUFFIXES:
        package = OFFICE.get(suffix)
        return f"needs pip install 'preflight-rag[office]' ({package})" if package and not find_spec(package) else ""
    return _REASONS.get(suffix) or _REASONS.get(Path(suffix).suffix) or OTHER_KIND


@contextmanager
def opened(path: Path, max_bytes: int, folder: Path | None = None) -> Iterator[None]:
    """Keep a file open while it is read, after the checks that precede any parser.

    The checked file is the one that is read: on Linux, `open_place` names the open file instead of its path, which
    may lead elsewhere by then.

    Args:
        path: The file.
        max_bytes: Largest size that is read.
        folder: A folder, its links resolved, in which the file has to lie.

    Raises:
        DocumentError: It is no regular, readable file of that size, is empty, or lies outside of the folder; or
        somebody has written to it while it was read.
    """
    if suffix_of(path) not in SUFFIXES:
        raise unsupported(path)
    try:
        if path.is_dir():
            raise UnreadableDocument(f"{path} is a folder", help="Give the folder to ingest instead of to a loader")
        if not path.is_file():
            reason = "is not a regular file" if path.exists() else "does not exist or is a broken link"
            raise UnreadableDocument(f"{path} {reason}")
        number = open_regular(path, folder)
    except OSError as error:
        raise UnreadableDocument(f"{path} cannot be opened: {error.strerror or error}") from error
    places = _OPENED.__dict__.setdefault("places", {})
    _OPENED.embedded = {}
    own = Path(f"/proc/self/fd/{number}")
    try:
        before = os.fstat(number)
        _check_size(path, before.st_size, max_bytes)
        if own.exists():
            places[path] = own
        yield
        after = os.fstat(number)
        if (after.st_size, after.st_mtime_ns) != (before.st_size, before.st_mtime_ns):
            raise UnreadableDocument(
                f"{path} changed while it was read; the stored text may be incomplete", help="Ingest it again"
            )
    finally:
        places.pop(path, None)
        os.close(number)


_OPENED = threading.local()


@contextmanager
def held_in_memory(path: Path, data: bytes) -> Iterator[None]:
    """Let loaders read the given bytes under a path without a file, such as that of an attachment.

    There is no temporary file, because a process that reads files may not write any of this size.
    """
    contents = _OPENED.__dict__.setdefault("contents", {})
    if len(contents) >= DEEPEST_FILES:
        raise UnreadableDocument(f"{path} lies {DEEPEST_FILES} files deep")
    contents[path] = data
    try:
        yield
    finally:
        contents.pop(path, None)


def count_embedded(place: Path) -> int:
    """Count a file inside of an office document, and return how many the outermost document has so far, at any depth.

    Args:
        place: The file's name below the path of the document that it is in.
    """
    outermost = next(iter(_OPENED.__dict__.get("contents", {})), place).parent
    counts = _OPENED.__dict__.setdefault("embedded", {})
    counts[outermost] = counts.get(outermost, 0) + 1
    return cast("int", counts[outermost])


def file_or_bytes(path: Path) -> Path | bytes:
    """Return a readable path of a file, or the bytes held in memory for it."""
    data = _OPENED.__dict__.get("contents", {}).get(path)
    return open_place(path) if data is None else cast("bytes", data)


def open_file(path: Path) -> IO[bytes]:
    """Return a file, or the bytes in memory under its path, opened for reading."""
    found = file_or_bytes(path)
    return io.BytesIO(found) if isinstance(found, bytes) else found.open("rb")


def open_place(path: Path) -> Path:
    """Return a path at which an `opened` file can be read again from the beginning; for other files their path."""
    return cast("Path", _OPENED.__dict__.get("places", {}).get(path, path))


def open_regular(path: Path, folder: Path | None = None) -> int:
    """Open a regular file for reading; return its file descriptor, which the caller has to close.

    Args:
        path: The file.
        folder: A folder, its links resolved, that the file has to lie in, below no hidden folder.

    Raises:
        UnreadableDocument: It is no regular file, or lies elsewhere.
        OSError: It cannot be opened.
    """
    flags = os.O_RDONLY | sum(getattr(os, name, 0) for name in ("O_NONBLOCK", "O_NOCTTY", "O_CLOEXEC", "O_BINARY"))
    number = os.open(path, flags)
    try:
        if not stat.S_ISREG(os.fstat(number).st_mode):
            raise UnreadableDocument(f"{path} is not a regular file")
        if folder is not None and not is_inside(real_path(number, path), folder):
            raise UnreadableDocument(f"{path} is a link that leads out of the folder, or to what is hidden")
    except BaseException:
        os.close(number)
        raise
    return number


def real_path(number: int, path: Path) -> Path:
    """Return the real path of an open file, from the system if it tells, else by resolving the path."""
    if sys.platform == "linux":
        with suppress(OSError):
            return Path(os.readlink(f"/proc/self/fd/{number}"))
    return path.resolve()


def is_inside(path: Path, folder: Path) -> bool:
    """Return whether a resolved path lies in a folder, not below a hidden one, and is not hidden itself."""
    return path.is_relative_to(folder) and not any(part.startswith(".") for part in path.relative_to(folder).parts)


def _check_size(path: Path, size: int, max_bytes: int) -> None:
    """Raise an error if a file is larger than the limit."""
    if size == 0:
        raise EmptyDocument(f"{path} is empty")
    package = OFFICE.get(suffix_of(path))
    if package and not find_spec(package):
        raise UnsupportedDocument(
            f"{path}: {suffix_of(path)} files need {package}, which is not installed",
            help="pip install 'preflight-rag[office]'",
            source=str(path),
        )
    if size > max_bytes:
        raise too_large(path, max_bytes, size)


def unsupported(path: Path) -> UnsupportedDocument:
    """Return the error for a file of a kind that no loader reads."""
    kind = suffix_of(path)
    reason = _REASONS.get(kind)
    return UnsupportedDocument(
        f"{path} is {reason}"
        if reason
        else f"{path} has {f'the ending {kind!r}' if kind else 'no ending'}, which no loader reads",
        help="" if reason else f"Convert it to one of: {' '.join(SUFFIXES)}",
        source=str(path),
    )


def too_large(path: Path, max_bytes: int, size: int | None = None) -> DocumentTooLarge:
    """Return the error for a file over the limit; `size` is None when reading stopped at the limit."""
    measured = f"is {size:,} bytes" if size is not None else "unpacks to more than the limit allows"
    return DocumentTooLarge(
        f"{path} {measured}; the limit is {max_bytes:,} bytes", help="Split it, or raise --max-mb (max_bytes)"
    )


def read_bytes(path: Path, max_bytes: int) -> bytes:
    """Return the file's content, decompressed when its name ends in `.gz`, never more than `max_bytes`.

    Raises:
        DocumentTooLarge: There is more.
        UnreadableDocument: The compressed data are damaged.
    """
    try:
        with open_binary(path) as file:
            data = file.read(max_bytes + 1)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise UnreadableDocument(f"{path} is not a whole gzip file: {error}") from error
    if len(data) > max_bytes:
        raise too_large(path, max_bytes)
    return data


def open_binary(path: Path) -> IO[bytes]:
    """Return the file opened for reading, through gzip when its name ends in `.gz`."""
    if not path.name.lower().endswith(".gz"):
        return open_file(path)
    found = file_or_bytes(path)
    return cast("IO[bytes]", gzip.open(io.BytesIO(found) if isinstance(found, bytes) else found, "rb"))


class _Archive(zipfile.ZipFile):
    """A zip archive that never unpacks more of a part than the size it declares."""

    def read(self, name: str | zipfile.ZipInfo, pwd: bytes | None = None) -> bytes:
        """Return a part's content."""
        info = name if isinstance(name, zipfile.ZipInfo) else self.getinfo(name)
        with self.open(info, pwd=pwd) as part:
            return part.read(info.file_size + 1)


@contextmanager
def open_archive(path: Path, max_bytes: int, kind: str) -> Iterator[zipfile.ZipFile]:
    """Open the zip archive of an office document or a book, after checking its size.

    Args:
        path: The file.
        max_bytes: Most bytes of unpacked text, by the sizes that the archive declares; pictures do not count.
        kind: The kind of document with its article, for errors: "a Word document".
    """
    with open_file(path) as file:
        if file.read(4) == _OLE:
            raise EncryptedDocument(
                f"{path} is protected by a password, or of an older format than its ending says",
                help="Open it, and save a copy without a password",
            )
    try:
        with open_file(path) as file, _Archive(file) as archive:
            texts = (part for part in archive.infolist() if part.filename.lower().endswith(_TEXT_PARTS))
            if sum(part.file_size for part in texts) > max_bytes:
                raise too_large(path, max_bytes)
            yield archive
    except DocumentError:  # Which is a RuntimeError, too.
        raise
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, zlib.error) as error:
        raise UnreadableDocument(f"{path} is no readable {kind}: {error}") from error
