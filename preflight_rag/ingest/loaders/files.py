"""Find files, and check and open them before any parser reads them."""

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
"""The file extensions of each loader: the module `name` with the function `load_name`, but Markdown's is in `text`."""
SUFFIXES = tuple(sorted(suffix for suffixes in LOADERS.values() for suffix in suffixes))
_SUFFIXES_OF_MANY_DOCUMENTS = frozenset(
    (".mbox", *LOADERS["json_file"], *LOADERS["jsonl"], *LOADERS["table"], *LOADERS["xml"])
)
ONE_DOCUMENT = tuple(suffix for suffix in SUFFIXES if suffix not in _SUFFIXES_OF_MANY_DOCUMENTS)
"""Extensions of files that contain one document each; others may contain any number."""
PACKAGE_OF_SUFFIX = {
    **dict.fromkeys((".latex", ".tex"), "pylatexenc"),
    **dict.fromkeys((".potm", ".potx", ".ppsm", ".ppsx", ".pptm", ".pptx"), "pptx"),
    **dict.fromkeys((".xlsm", ".xlsx", ".xltm", ".xltx"), "openpyxl"),
    **{".msg": "oxmsg", ".rtf": "striprtf", ".xls": "xlrd"},
}
"""The module of the extra `office` that the loader of an extension needs."""
PAGED = frozenset({"pdf", "pptx"})
"""Loaders that report how many pages they have read."""
Pages: TypeAlias = Callable[[int, int], None]
"""A function that is called with the number of pages read so far, and the number of all pages."""
DEFAULT_MAX_BYTES = 200 * 1024 * 1024
"""Size of the largest file that is read; a guess at what no text needs."""
MAXIMUM_FILE_DEPTH = 5
"""Maximum depth of files inside of files that are read, such as a PDF attached to a mail; a guess."""
LIBRARY_FILE = "library.db"
_TEXT_PART_SUFFIXES = (".xml", ".rels", ".html", ".htm", ".xhtml", ".opf", ".ncx")
"""Extensions of the parts of an archive that are parsed, and so count against the limit of size."""
_OLE_SIGNATURE = b"\xd0\xcf\x11\xe0"
"""The first bytes of an encrypted office document, or of one in the format before 2007."""
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
_REASON_OF_SUFFIX = {suffix: reason for reason, suffixes in _OTHER_KINDS.items() for suffix in suffixes.split()}


@dataclass(frozen=True, slots=True)
class SkippedFile:
    """A file or folder that was found in a folder but is not read, with the reason."""

    path: Path
    reason: str


def suffix_of(path: Path) -> str:
    """Return the extension that decides the loader, in lower case; ".gz" together with the one before: ".xml.gz"."""
    name = path.name.lower()
    suffix = Path(name).suffix
    return Path(name.removesuffix(suffix)).suffix + suffix if suffix == ".gz" else suffix


def find_files(paths: Sequence[Path]) -> Iterator[Path | DocumentError | SkippedFile]:
    """Yield the files to load, sorted within each folder, each once, and an error for an invalid path.

    Folders are walked without following links. Hidden entries, files of other kinds, and folders that contain a
    library are skipped, and yielded as `SkippedFile`.
    """
    seen: set[str] = set()
    for path in paths:
        for result in _walk_folder(path) if path.is_dir() else _check_named_path(path):
            file = result.path if isinstance(result, SkippedFile) else result
            key = str(file) if isinstance(file, DocumentError) else os.path.abspath(file)
            if key not in seen:
                seen.add(key)
                yield result


def _check_named_path(path: Path) -> Iterator[Path | DocumentError]:
    """Yield a path of a file that the caller named, or an error if there is no such file or no loader for it."""
    if not os.path.lexists(path):
        yield UnreadableDocument(f"{str(path)!r} does not exist", help="Check the path", source=str(path))
    elif suffix_of(path) not in SUFFIXES:
        yield unsupported(path)
    else:
        yield path


def _walk_folder(folder: Path) -> Iterator[Path | DocumentError | SkippedFile]:
    """Yield the files below a folder, what is skipped there, and an error for each folder that cannot be listed."""
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
            reason = why_not_read(path)
            if not reason and not _stays_within(path, folder):
                reason = "a link that leads out of the folder, or to what is hidden"
            yield SkippedFile(path, reason) if reason else path
    for error in errors:
        yield UnreadableDocument(f"{error.filename!r} cannot be listed: {error.strerror}", source=str(error.filename))


def _stays_within(path: Path, folder: Path) -> bool:
    """Return whether a file is no link, or a link to a file in the folder that is not hidden.

    This is checked again when the file is opened, because it may have been replaced by another link.
    """
    if not path.is_symlink():
        return True
    try:
        return is_inside(path.resolve(), folder.resolve())
    except (OSError, RuntimeError):  # A link to itself; reading it raises an error that says so.
        return True


def why_not_read(path: Path) -> str:
    """Return why a file in a folder is skipped, judged by its name; "" if it is read."""
    suffix = suffix_of(path)
    if path.name.startswith("."):
        return "hidden"
    if path.name.startswith("~$"):
        return "an office program's mark that the document is open"
    if suffix in SUFFIXES:
        package = _missing_package(suffix)
        return f"needs pip install 'preflight-rag[office]' ({package})" if package else ""
    return _REASON_OF_SUFFIX.get(suffix) or _REASON_OF_SUFFIX.get(Path(suffix).suffix) or OTHER_KIND


def _missing_package(suffix: str) -> str:
    """Return the package that the loader of an extension needs and that is not installed; "" if none is missing."""
    package = PACKAGE_OF_SUFFIX.get(suffix, "")
    return package if package and not find_spec(package) else ""


@contextmanager
def opened(path: Path, max_bytes: int, folder: Path | None = None) -> Iterator[None]:
    """Keep a file open while it is read, after the checks that precede any parser.

    The checked file is the one that is read: on Linux, `path_of_open_file` returns a path of the open file, since the
    original path may lead elsewhere by then.

    Args:
        path: The file.
        max_bytes: Largest size that is read.
        folder: A folder, its links resolved, in which the file has to be; None for no such limit.

    Raises:
        DocumentError: The file is not regular, readable, or of that size; it is empty, or outside of the folder; or
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
        descriptor = open_regular(path, folder)
    except OSError as error:
        raise UnreadableDocument(f"{path} cannot be opened: {error.strerror or error}") from error
    open_paths = _THREAD_STATE.__dict__.setdefault("open_paths", {})
    _THREAD_STATE.embedded = {}
    descriptor_path = Path(f"/proc/self/fd/{descriptor}")
    try:
        before = os.fstat(descriptor)
        _check_size(path, before.st_size, max_bytes)
        if descriptor_path.exists():
            open_paths[path] = descriptor_path
        yield
        after = os.fstat(descriptor)
        if (after.st_size, after.st_mtime_ns) != (before.st_size, before.st_mtime_ns):
            raise UnreadableDocument(
                f"{path} changed while it was read; the stored text may be incomplete", help="Ingest it again"
            )
    finally:
        open_paths.pop(path, None)
        os.close(descriptor)


_THREAD_STATE = threading.local()
"""What this thread is reading: `open_paths` of open files, `contents` in memory, and the counts of `embedded` files."""


@contextmanager
def held_in_memory(path: Path, data: bytes) -> Iterator[None]:
    """Let loaders read bytes in memory, such as those of an attachment, as the content of a file with a path.

    There is no temporary file, because a process that reads files may not write any of this size.

    Raises:
        UnreadableDocument: Too many files are open inside of each other.
    """
    contents = _THREAD_STATE.__dict__.setdefault("contents", {})
    if len(contents) >= MAXIMUM_FILE_DEPTH:
        raise UnreadableDocument(f"{path} lies {MAXIMUM_FILE_DEPTH} files deep")
    contents[path] = data
    try:
        yield
    finally:
        contents.pop(path, None)


def count_embedded(path: Path) -> int:
    """Count a file inside of an office document, and return how many the outermost document has so far, at any depth.

    Args:
        path: The path of the document that the file is in, with the file's name below it.
    """
    outermost = next(iter(_THREAD_STATE.__dict__.get("contents", {})), path).parent
    counts = _THREAD_STATE.__dict__.setdefault("embedded", {})
    counts[outermost] = counts.get(outermost, 0) + 1
    return cast("int", counts[outermost])


def file_or_bytes(path: Path) -> Path | bytes:
    """Return the bytes that are held in memory for a path; without such bytes, a path at which the file can be read."""
    data = _THREAD_STATE.__dict__.get("contents", {}).get(path)
    return path_of_open_file(path) if data is None else cast("bytes", data)


def open_file(path: Path) -> IO[bytes]:
    """Open a file, or the bytes that are held in memory for its path, for reading."""
    source = file_or_bytes(path)
    return io.BytesIO(source) if isinstance(source, bytes) else source.open("rb")


def path_of_open_file(path: Path) -> Path:
    """Return a path at which an `opened` file can be read again from the beginning; for other files, their own path."""
    return cast("Path", _THREAD_STATE.__dict__.get("open_paths", {}).get(path, path))


def open_regular(path: Path, folder: Path | None = None) -> int:
    """Open a regular file for reading; return its file descriptor, which the caller has to close.

    Args:
        path: The file.
        folder: A folder, its links resolved, in which the file has to be, but in no hidden folder; None for no limit.

    Raises:
        UnreadableDocument: The file is not regular, or is elsewhere.
        OSError: The file cannot be opened.
    """
    flags = os.O_RDONLY | sum(getattr(os, name, 0) for name in ("O_NONBLOCK", "O_NOCTTY", "O_CLOEXEC", "O_BINARY"))
    descriptor = os.open(path, flags)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise UnreadableDocument(f"{path} is not a regular file")
        if folder is not None and not is_inside(real_path(descriptor, path), folder):
            raise UnreadableDocument(f"{path} is a link that leads out of the folder, or to what is hidden")
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def real_path(descriptor: int, path: Path) -> Path:
    """Return the path of an open file without links: from Linux for its descriptor, elsewhere by resolving the path."""
    if sys.platform == "linux":
        with suppress(OSError):
            return Path(os.readlink(f"/proc/self/fd/{descriptor}"))
    return path.resolve()


def is_inside(path: Path, folder: Path) -> bool:
    """Return whether a resolved path is in a folder, is not hidden, and is not in a hidden folder there."""
    return path.is_relative_to(folder) and not any(part.startswith(".") for part in path.relative_to(folder).parts)


def _check_size(path: Path, size: int, max_bytes: int) -> None:
    """Raise an error if a file is empty or too large, or if the package that its loader needs is missing."""
    if size == 0:
        raise EmptyDocument(f"{path} is empty")
    if package := _missing_package(suffix_of(path)):
        raise UnsupportedDocument(
            f"{path}: {suffix_of(path)} files need {package}, which is not installed",
            help="pip install 'preflight-rag[office]'",
            source=str(path),
        )
    if size > max_bytes:
        raise too_large(path, max_bytes, size)


def unsupported(path: Path) -> UnsupportedDocument:
    """Return the error for a file of a kind that no loader reads."""
    suffix = suffix_of(path)
    if reason := _REASON_OF_SUFFIX.get(suffix):
        return UnsupportedDocument(f"{path} is {reason}", help="", source=str(path))
    ending = f"the ending {suffix!r}" if suffix else "no ending"
    return UnsupportedDocument(
        f"{path} has {ending}, which no loader reads",
        help=f"Convert it to one of: {' '.join(SUFFIXES)}",
        source=str(path),
    )


def too_large(path: Path, max_bytes: int, size: int | None = None) -> DocumentTooLarge:
    """Return the error for a file over the limit; `size` is None when reading stopped at the limit."""
    measured = f"is {size:,} bytes" if size is not None else "unpacks to more than the limit allows"
    return DocumentTooLarge(
        f"{path} {measured}; the limit is {max_bytes:,} bytes", help="Split it, or raise --max-mb (max_bytes)"
    )


def read_bytes(path: Path, max_bytes: int) -> bytes:
    """Return a file's content, decompressed if its name ends in ".gz"; no more than `max_bytes` are read.

    Raises:
        DocumentTooLarge: The content has more than `max_bytes`.
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
    """Open a file for reading, through gzip if its name ends in ".gz"."""
    if not path.name.lower().endswith(".gz"):
        return open_file(path)
    source = file_or_bytes(path)
    return cast("IO[bytes]", gzip.open(io.BytesIO(source) if isinstance(source, bytes) else source, "rb"))


class _Archive(zipfile.ZipFile):
    """A zip archive that never unpacks much more of a part than the size that the part declares."""

    def read(self, name: str | zipfile.ZipInfo, pwd: bytes | None = None) -> bytes:
        """Return a part's content, and at most one byte more than it declares."""
        info = name if isinstance(name, zipfile.ZipInfo) else self.getinfo(name)
        with self.open(info, pwd=pwd) as part:
            return part.read(info.file_size + 1)


@contextmanager
def open_archive(path: Path, max_bytes: int, kind: str) -> Iterator[zipfile.ZipFile]:
    """Open the zip archive of an office document or a book, after checking its size.

    Args:
        path: The file.
        max_bytes: Maximum bytes of unpacked text, by the sizes that the archive declares; pictures do not count.
        kind: The kind of document, for errors: "Word document".

    Raises:
        EncryptedDocument: The file is protected by a password, or has an older format.
        DocumentTooLarge: The archive declares more text than `max_bytes`.
        UnreadableDocument: The file is no such archive, also where reading a part of it fails later.
    """
    with open_file(path) as file:
        if file.read(4) == _OLE_SIGNATURE:
            raise EncryptedDocument(
                f"{path} is protected by a password, or of an older format than its ending says",
                help="Open it, and save a copy without a password",
            )
    try:
        with open_file(path) as file, _Archive(file) as archive:
            texts = (part for part in archive.infolist() if part.filename.lower().endswith(_TEXT_PART_SUFFIXES))
            if sum(part.file_size for part in texts) > max_bytes:
                raise too_large(path, max_bytes)
            yield archive
    except DocumentError:  # A DocumentError is also a RuntimeError, which is caught below.
        raise
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, zlib.error) as error:
        raise UnreadableDocument(f"{path} is no readable {kind}: {error}") from error
