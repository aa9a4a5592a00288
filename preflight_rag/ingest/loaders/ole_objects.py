"""Files inside of OLE objects, as Office documents embed them (`oleObject1.bin`), through olefile.

An object is a small file system of its own: of a file that was dropped into the document, of an Office document of
today, of a PDF. What an object of another program holds is known to that program alone.
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
_DROPPED = "\x01Ole10Native"
"""The stream of a file that was dropped into a document (MS-OLEDS, 2.3.6), with its name."""
_WHOLE = ("Package", "EmbeddedOdf", "CONTENTS")
"""Streams that are a whole file: of Office since 2007, of LibreOffice, of Acrobat."""
_OLD = {
    "Workbook": ".xls",
    "Book": ".xls",
    "WordDocument": ".doc",
    "PowerPoint Document": ".ppt",
    "__properties_version1.0": ".msg",
}
"""Streams of files that are OLE themselves, with the endings of these."""
_OPEN_DOCUMENT = {"text": ".odt", "spreadsheet": ".ods", "presentation": ".odp", "graphics": ".odg"}
_PROGRAM = "\x01CompObj"
_PROGRAM_AT = 28
"""Where the name of an object's program stands in that stream (MS-OLEDS, 2.3.8), behind its length."""
_LONGEST_PROGRAM = 80
_IN_WORKBOOK = "MBD"
"""How the folders of objects in an old workbook begin."""


def embedded_file(name: str, data: bytes) -> tuple[str, bytes]:
    """Return the name and the content of the file in an OLE object.

    Args:
        name: The name of the object, whose file is named so where it has no name of its own.
        data: The object.

    Raises:
        UnreadableDocument: The object is damaged.
        UnsupportedDocument: It holds no file that another program can read, or olefile is not installed.
    """
    try:
        return _file_in(_opened(data), "", name, data)
    except OSError as error:
        raise UnreadableDocument(f"is no readable OLE object: {error}") from error


def files_in_workbook(data: bytes) -> Iterator[tuple[str, bytes | DocumentError]]:
    """Yield the objects inside of an old workbook, each by its name with its content or why it has none."""
    try:
        ole = _opened(data)
    except DocumentError:
        return
    for folder in sorted({entry[0] for entry in ole.listdir() if entry[0].startswith(_IN_WORKBOOK)}):
        try:
            yield _file_in(ole, f"{folder}/", folder, b"")
        except OSError as error:
            yield folder, UnreadableDocument(f"is damaged: {error}")
        except DocumentError as error:
            yield folder, error


def _opened(data: bytes) -> OleFileIO:
    if not find_spec("olefile"):
        raise UnsupportedDocument("needs pip install 'preflight-rag[office]' (olefile)")
    from olefile import OleFileIO

    try:
        return OleFileIO(io.BytesIO(data))
    except Exception as error:  # OleFileIO raises errors of many kinds on damaged data
        raise UnreadableDocument(f"is no readable OLE object: {error}") from error


def _file_in(ole: OleFileIO, folder: str, name: str, whole: bytes) -> tuple[str, bytes]:
    """Return the name and the content of the file in a folder of an OLE file, which is `whole` if it is all of it."""
    stem = PurePosixPath(name).stem
    if ole.exists(f"{folder}{_DROPPED}"):
        return _dropped(ole.openstream(f"{folder}{_DROPPED}").read(), stem)
    for stream in _WHOLE:
        if ole.exists(f"{folder}{stream}"):
            data = ole.openstream(f"{folder}{stream}").read()
            if ending := _ending(data):
                return f"{stem}{ending}", data
    for stream, ending in _OLD.items():
        if ole.exists(f"{folder}{stream}") and whole:
            return f"{stem}{ending}", whole
    raise UnsupportedDocument(f"an object of {_program(ole, folder)}")


def _dropped(data: bytes, stem: str) -> tuple[str, bytes]:
    """Return the name and the content of a file that was dropped into a document."""
    try:
        label_end = data.index(b"\0", 6)
        path_end = data.index(b"\0", label_end + 1)
        (temporary,) = struct.unpack_from("<I", data, path_end + 5)
        start = path_end + 9 + temporary
        (size,) = struct.unpack_from("<I", data, start)
    except (ValueError, struct.error) as error:
        raise UnreadableDocument("is a damaged package") from error
    names = [data[6:label_end], data[label_end + 1 : path_end]]
    decoded = [PurePosixPath(each.decode("cp1252", "replace").replace("\\", "/")).name for each in names]
    name = next((each for each in decoded if PurePosixPath(each).suffix), "")
    content = data[start + 4 : start + 4 + size]
    return name or f"{stem}{_ending(content)}", content


def _ending(data: bytes) -> str:
    """Return the ending for a file by how it begins; "" if that is not known."""
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
    places = {"word": ".docx", "xl": ".xlsx", "ppt": ".pptx"}
    return next((places[first] for name in names if (first := name.partition("/")[0]) in places), "")


def _program(ole: OleFileIO, folder: str) -> str:
    """Return the name of the program that an object belongs to, as the object has it."""
    with suppress(OSError, struct.error):
        data = ole.openstream(f"{folder}{_PROGRAM}").read()
        (size,) = struct.unpack_from("<I", data, _PROGRAM_AT)
        name = data[_PROGRAM_AT + 4 :][: min(size, _LONGEST_PROGRAM)].split(b"\0")[0].decode("cp1252", "replace")
        if any(char.isalnum() for char in name):
            return one_line(name)
    return "another program"
