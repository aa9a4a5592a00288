"""Write OLE compound files of version 3 (MS-CFB): what Office programs embed as `oleObject1.bin`."""

from __future__ import annotations

import struct
from itertools import pairwise

_SECTOR, _SMALL, _FREE, _END, _TABLE = 512, 64, 0xFFFFFFFF, 0xFFFFFFFE, 0xFFFFFFFD
_CUTOFF = 4096


def dropped(label: str, content: bytes) -> bytes:
    """Return the stream of a file that was dropped into a document (MS-OLEDS, 2.3.6)."""
    name, path = label.encode("cp1252") + b"\0", f"C:\\Users\\Ada\\{label}".encode("cp1252") + b"\0"
    body = b"\x02\0" + name + path + b"\0\0\x03\0" + struct.pack("<I", len(path)) + path
    body += struct.pack("<I", len(content)) + content
    return struct.pack("<I", len(body)) + body


def program(name: str) -> bytes:
    """Return the stream that names the program of an object (MS-OLEDS, 2.3.8)."""
    return b"\0" * 28 + struct.pack("<I", len(name) + 1) + name.encode("cp1252") + b"\0"


def compound_file(streams: dict[str, bytes]) -> bytes:
    """Return a compound file of streams, by their names; "FOLDER/NAME" is one in a folder."""
    folders = sorted({name.partition("/")[0] for name in streams if "/" in name})
    small, small_table, sectors, table = b"", list[int](), list[bytes](), list[int]()
    places: dict[str, tuple[int, int]] = {}

    def store(data: bytes) -> int:
        """Append a chain of sectors, and return its first."""
        first = len(sectors)
        parts = [data[at : at + _SECTOR].ljust(_SECTOR, b"\0") for at in range(0, len(data), _SECTOR)]
        sectors.extend(parts)
        table.extend([*range(first + 1, first + len(parts)), _END])
        return first

    for name, data in streams.items():
        if len(data) >= _CUTOFF:
            places[name] = store(data), len(data)
            continue
        many = -(-len(data) // _SMALL)
        places[name] = len(small_table), len(data)
        small_table += [*range(len(small_table) + 1, len(small_table) + many), _END]
        small += data.ljust(many * _SMALL, b"\0")
    names = ["Root Entry", *folders, *streams]
    inside = {folder: [name for name in streams if name.startswith(f"{folder}/")] for folder in folders}
    top = [*folders, *(name for name in streams if "/" not in name)]
    following = {}
    for group in (top, *inside.values()):
        following |= dict(pairwise(group))
    entries = b""
    root = store(small) if small else _END
    for name in names:
        own = name.rpartition("/")[2].encode("utf-16-le") + b"\0\0"
        kind = 5 if name == "Root Entry" else 1 if name in folders else 2
        child = top[0] if kind == 5 else inside[name][0] if kind == 1 else ""
        start, size = (root, len(small)) if kind == 5 else places.get(name, (0, 0))
        right = names.index(following[name]) if name in following else _FREE
        entries += own.ljust(64, b"\0") + struct.pack("<HBB", len(own), kind, 1)
        entries += struct.pack("<III", _FREE, right, names.index(child) if child else _FREE)
        entries += b"\0" * 36 + struct.pack("<IQ", start, size)
    directory = store(entries)
    first_small = store(struct.pack(f"<{len(small_table)}I", *small_table).ljust(_SECTOR, b"\xff")) if small else _END
    at = len(sectors)
    table.append(_TABLE)
    sectors.append(struct.pack(f"<{len(table)}I", *table).ljust(_SECTOR, b"\xff"))
    header = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 16 + struct.pack("<HHHHH", 62, 3, 0xFFFE, 9, 6) + b"\0" * 10
    header += struct.pack("<IIIIIIIII", 1, directory, 0, _CUTOFF, first_small, 1 if small else 0, _END, 0, at)
    return header.ljust(_SECTOR, b"\xff") + b"".join(sectors)
