"""Extract files from OLE objects, which Office documents embed (`oleObject1.bin`), through olefile.

An OLE object is a small file system. It may contain a file that was dropped into the document, an Office document, or a
PDF; the content of objects of other programs can be read only by these programs.
"""

from __future__ import annotations

import io
import struct
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from importlib.util import find_spec
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from preflight_rag.ingest.loaders.fields import one_line
from preflight_rag.state.errors import DocumentError, UnreadableDocument, UnsupportedDocument

if TYPE_CHECKING:
    from olefile import OleFileIO

OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
"""The bytes with which an OLE file begins."""
_DROPPED_FILE = "\x01Ole10Native"
"""The stream of a file that was dropped into a document (MS-OLEDS, 2.3.6): the file's names and content."""
_FLAGS_BYTES = 6
"""Bytes before the names in that stream: a size and a type."""
_WHOLE_FILE_STREAMS = ("Package", "EmbeddedOdf", "CONTENTS")
"""Streams whose content is a whole file: of Office since 2007, of LibreOffice, of Acrobat."""
_OLE_FILE_STREAMS = {
    "Workbook": ".xls",
    "Book": ".xls",
    "WordDocument": ".doc",
    "PowerPoint Document": ".ppt",
    "__properties_version1.0": ".msg",
}
"""Streams that show that the OLE file is itself a document, with the extension of such documents."""
_OPEN_DOCUMENT = {"text": ".odt", "spreadsheet": ".ods", "presentation": ".odp", "graphics": ".odg"}
"""Extensions of OpenDocument files by the last part of their media type."""
_PROGRAM = "\x01CompObj"
"""The stream with the name of the program that an object belongs to."""
_PROGRAM_OFFSET = 28
"""Offset of the program's name in that stream (MS-OLEDS, 2.3.8): four bytes of its length, then the name."""
_LONGEST_PROGRAM = 80
"""Maximum number of bytes read of a program's name; a guess."""
_EMBEDDED_FOLDER = "MBD"
"""Beginning of the names of folders with embedded objects in an old workbook."""


def embedded_file(name: str, data: bytes) -> tuple[str, bytes]:
    """Return the name and the content of the file in an OLE object.

    Args:
        name: The name of the object, which the file gets if the object does not name it.
        data: The bytes of the object.

    Raises:
        UnreadableDocument: The object is damaged.
        UnsupportedDocument: It holds no file that another program can read, or olefile is not installed.
    """
    try:
        return _file_in(_open_ole(data), "", name, data)
    except OSError as error:
        raise UnreadableDocument(f"is no readable OLE object: {error}") from error


def files_in_workbook(data: bytes) -> Iterator[tuple[str, bytes | DocumentError]]:
    """Yield `(name, content)` of each file embedded in an old workbook; an error as the content of an unreadable one.

    Yield nothing if the workbook itself is no readable OLE file.
    """
    try:
        ole = _open_ole(data)
    except DocumentError:
        return
    top_folders = {top for top, *_ in ole.listdir()}
    for folder in sorted(top for top in top_folders if top.startswith(_EMBEDDED_FOLDER)):
        try:
            yield _file_in(ole, f"{folder}/", folder, b"")
        except OSError as error:
            yield folder, UnreadableDocument(f"is damaged: {error}")
        except DocumentError as error:
            yield folder, error


def _open_ole(data: bytes) -> OleFileIO:
    """Open an OLE file.

    Raises:
        UnreadableDocument: It is damaged.
        UnsupportedDocument: olefile is not installed.
    """
    if not find_spec("olefile"):
        raise UnsupportedDocument("needs pip install 'preflight-rag[office]' (olefile)")
    from olefile import OleFileIO

    try:
        return OleFileIO(io.BytesIO(data))
    except Exception as error:  # OleFileIO raises errors of many kinds on damaged data
        raise UnreadableDocument(f"is no readable OLE object: {error}") from error


def _file_in(ole: OleFileIO, folder: str, name: str, whole: bytes) -> tuple[str, bytes]:
    """Return the name and the content of the file in a folder of an OLE file.

    Args:
        ole: The OLE file.
        folder: The folder, with a slash at the end; "" for the whole OLE file.
        name: The name of the object, which the file gets if the object does not name it.
        whole: The bytes of the OLE file if `folder` is "": it may be a document itself.

    Raises:
        UnreadableDocument: The object is damaged.
        UnsupportedDocument: It contains no file of a known kind.
    """
    stem = PurePosixPath(name).stem
    if ole.exists(f"{folder}{_DROPPED_FILE}"):
        return _parse_dropped_file(ole.openstream(f"{folder}{_DROPPED_FILE}").read(), stem)
    for stream in _WHOLE_FILE_STREAMS:
        if ole.exists(f"{folder}{stream}"):
            data = ole.openstream(f"{folder}{stream}").read()
            if extension := _detect_extension(data):
                return f"{stem}{extension}", data
    for stream, extension in _OLE_FILE_STREAMS.items():
        if ole.exists(f"{folder}{stream}") and whole:
            return f"{stem}{extension}", whole
    raise UnsupportedDocument(f"an object of {_program_name(ole, folder)}")


def _parse_dropped_file(data: bytes, stem: str) -> tuple[str, bytes]:
    """Return the name and the content of a file that was dropped into a document.

    The stream has, after its size and a type: a label and a path that end with a zero byte, four bytes, a temporary
    path after its length, and the content after its length.

    Args:
        data: The stream `_DROPPED_FILE`.
        stem: The name to use, with an extension by the content, if neither label nor path has an extension.

    Raises:
        UnreadableDocument: The stream is damaged.
    """
    try:
        label_end = data.index(b"\0", _FLAGS_BYTES)
        path_end = data.index(b"\0", label_end + 1)
        (temporary_path_size,) = struct.unpack_from("<I", data, path_end + 5)
        content_header = path_end + 9 + temporary_path_size
        (size,) = struct.unpack_from("<I", data, content_header)
    except (ValueError, struct.error) as error:
        raise UnreadableDocument("is a damaged package") from error
    label_and_path = [data[_FLAGS_BYTES:label_end], data[label_end + 1 : path_end]]
    names = [PurePosixPath(raw.decode("cp1252", "replace").replace("\\", "/")).name for raw in label_and_path]
    name = next((candidate for candidate in names if PurePosixPath(candidate).suffix), "")
    content = data[content_header + 4 : content_header + 4 + size]
    return name or f"{stem}{_detect_extension(content)}", content


def _detect_extension(data: bytes) -> str:
    """Return the extension of a file by its content: a PDF, rich text or office document; "" for any other."""
    if data.startswith(b"%PDF"):
        return ".pdf"
    if data.startswith(b"{\\rtf"):
        return ".rtf"
    if not data.startswith(b"PK"):
        return ""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            names = archive.namelist()
            if "mimetype" in names:
                kind = archive.open("mimetype").read(100).decode("ascii", "replace").rpartition(".")[2]
                return _OPEN_DOCUMENT.get(kind, "")
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, OSError):
        return ""
    extensions = {"word": ".docx", "xl": ".xlsx", "ppt": ".pptx"}
    for name in names:
        top_folder = name.partition("/")[0]
        if top_folder in extensions:
            return extensions[top_folder]
    return ""


def _program_name(ole: OleFileIO, folder: str) -> str:
    """Return the name of the program that an object belongs to; "another program" if the object does not name it."""
    with suppress(OSError, struct.error):
        data = ole.openstream(f"{folder}{_PROGRAM}").read()
        (size,) = struct.unpack_from("<I", data, _PROGRAM_OFFSET)
        name = data[_PROGRAM_OFFSET + 4 :][: min(size, _LONGEST_PROGRAM)]
        text = name.split(b"\0")[0].decode("cp1252", "replace")
        if any(char.isalnum() for char in text):
            return one_line(text)
    return "another program"
