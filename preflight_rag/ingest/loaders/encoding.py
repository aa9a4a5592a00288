"""From bytes to text: byte order marks, UTF-8, then what the bytes look like."""

from __future__ import annotations

import codecs
import re
from pathlib import Path

from preflight_rag.state.errors import UnreadableDocument

_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_LIKELY = [
    "cp1252", "latin_1", "cp1250", "cp1251", "koi8_r", "cp1253", "cp1254", "cp1255", "cp1256",
    "cp932", "euc_jp", "gb18030", "big5", "cp949", "mac_roman",
]  # fmt: skip
_NO_TEXTS = ("idna", "punycode", "raw-unicode-escape", "undefined", "unicode-escape", "utf-7")
"""Codecs that no file is written in, but that one may name: slow ones, and those that read ASCII as something else."""
_SAMPLE = 200_000
_SIGN_IN_WORD = re.compile(rb"[A-Za-z\xc0-\xff][\xa1-\xac\xae-\xb3\xb5\xb6\xb8-\xbf][A-Za-z\xc0-\xff]")
_MAX_CONTROL = 0.02
"""Share of control characters from which on a file is no text; a guess."""


def decode(data: bytes, path: Path, *, declared: str | None = None) -> str:
    """Return the text of `data`; `declared` is the encoding that the document itself names, if any.

    Raises:
        UnreadableDocument: The bytes are no text in any encoding that is known here.
    """
    text = data.decode(encoding_of(data, path, declared=declared), errors="replace")
    if _garbled(text[:_SAMPLE]):
        raise UnreadableDocument(f"{path} is binary data, not text", help="Give it the ending that fits what it is")
    return text


def encoding_of(data: bytes, path: Path, *, declared: str | None = None) -> str:
    """Return the name of the encoding of `data`, for `bytes.decode`.

    Raises:
        UnreadableDocument: No encoding fits.
    """
    for name in (wide_encoding(data), "utf-8-sig", declared):
        if name and _decodes(data, name):
            return name
    for name, fits in (("utf-8-sig", _is_damaged_utf8), ("cp1252", _is_western)):
        if fits(data[:_SAMPLE]):
            return name
    from charset_normalizer import from_bytes

    best = from_bytes(data[:_SAMPLE], cp_isolation=_LIKELY).best()
    if best is None:
        raise UnreadableDocument(f"{path} is binary data, not text", help="Give it the ending that fits what it is")
    return best.encoding if _decodes(data, best.encoding) else "cp1252"


def _is_damaged_utf8(sample: bytes) -> bool:
    """Return whether only few characters beyond ASCII are broken, as in a UTF-8 file that was cut off."""
    text = sample.decode("utf-8", errors="replace")
    broken = text.count("\ufffd")
    return broken * 10 <= sum(1 for char in text if char > "\x7f") - broken


def _is_western(sample: bytes) -> bool:
    """Return whether the bytes are words in Windows-1252, mostly ASCII, which statistics do not recognise."""
    return sum(1 for byte in sample if byte > 127) < 0.35 * len(sample) and not _SIGN_IN_WORD.search(sample)


def _decodes(data: bytes, name: str) -> bool:
    """Return whether the bytes are valid in an encoding."""
    try:
        if codecs.lookup(name).name in _NO_TEXTS:
            return False
        data.decode(name)
    except (LookupError, ValueError):  # ValueError: a name with a NUL, and what is wrong with the bytes
        return False
    return True


def wide_encoding(head: bytes) -> str | None:
    """Return UTF-16 or UTF-32 if a file's first bytes show it, by their mark or their zero bytes; else None."""
    for mark, name in _MARKS:
        if head.startswith(mark):
            return name
    sample = head[:2000]
    if len(sample) < 4 or sample.count(0) < len(sample) * 0.3:
        return None
    even, odd = sample[0::2].count(0), sample[1::2].count(0)
    return "utf-16-le" if odd > even * 4 else "utf-16-be" if even > odd * 4 else None


def _garbled(sample: str) -> bool:
    """Return whether a text contains so many control characters that it was decoded wrongly."""
    controls = sum(1 for char in sample if (char < " " and char not in "\t\n\r\f\x1b") or char == "\ufffd")
    return controls > max(1, len(sample) * _MAX_CONTROL)
