"""Decode bytes to text: by a byte order mark, as UTF-8, by the declared encoding, then by statistics of the bytes."""

from __future__ import annotations

import codecs
import re
from pathlib import Path

from preflight_rag.state.errors import UnreadableDocument

_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_LIKELY_ENCODINGS = [
    "cp1252", "latin_1", "cp1250", "cp1251", "koi8_r", "cp1253", "cp1254", "cp1255", "cp1256",
    "cp932", "euc_jp", "gb18030", "big5", "cp949", "mac_roman",
]  # fmt: skip
_REFUSED_CODECS = ("idna", "punycode", "raw-unicode-escape", "undefined", "unicode-escape", "utf-7")
"""Codecs that a file may declare but is not written in: slow ones, and those that change the meaning of ASCII."""
_SAMPLE_BYTES = 200_000
"""Bytes at the beginning of a file by which its encoding is recognised."""
_SIGN_WITHIN_WORD = re.compile(rb"[A-Za-z\xc0-\xff][\xa1-\xac\xae-\xb3\xb5\xb6\xb8-\xbf][A-Za-z\xc0-\xff]")
"""A sign of Windows-1252 between two letters, which no western text has: the bytes are in another encoding."""
_MAXIMUM_CONTROL_SHARE = 0.02
"""Maximum share of control characters in a text; a guess."""


def decode(data: bytes, path: Path, *, declared: str | None = None) -> str:
    """Return the text of `data`, with U+FFFD for bytes that are not valid in its encoding.

    `declared` is the name of the encoding that the document itself declares, if any.

    Raises:
        UnreadableDocument: The bytes are no text in any known encoding.
    """
    text = data.decode(encoding_of(data, path, declared=declared), errors="replace")
    if _is_garbled(text[:_SAMPLE_BYTES]):
        raise UnreadableDocument(f"{path} is binary data, not text", help="Give it the ending that fits what it is")
    return text


def encoding_of(data: bytes, path: Path, *, declared: str | None = None) -> str:
    """Return the name of the encoding of `data`, for `bytes.decode`; `declared` is the one that the document declares.

    Raises:
        UnreadableDocument: No encoding fits.
    """
    for name in (detect_wide_encoding(data), "utf-8-sig", declared):
        if name and _is_valid_in(data, name):
            return name
    if _is_damaged_utf8(data[:_SAMPLE_BYTES]):
        return "utf-8-sig"
    if _is_western(data[:_SAMPLE_BYTES]):
        return "cp1252"
    from charset_normalizer import from_bytes

    best = from_bytes(data[:_SAMPLE_BYTES], cp_isolation=_LIKELY_ENCODINGS).best()
    if best is None:
        raise UnreadableDocument(f"{path} is binary data, not text", help="Give it the ending that fits what it is")
    return best.encoding if _is_valid_in(data, best.encoding) else "cp1252"


def _is_damaged_utf8(sample: bytes) -> bool:
    """Return whether at most one in eleven characters beyond ASCII is broken, as in a UTF-8 file that was cut off."""
    text = sample.decode("utf-8", errors="replace")
    broken = text.count("\ufffd")
    intact = sum(1 for char in text if char > "\x7f") - broken
    return broken * 10 <= intact


def _is_western(sample: bytes) -> bool:
    """Return whether the bytes are text in Windows-1252, mostly ASCII, which statistics of bytes do not recognise."""
    return sum(1 for byte in sample if byte > 127) < 0.35 * len(sample) and not _SIGN_WITHIN_WORD.search(sample)


def _is_valid_in(data: bytes, name: str) -> bool:
    """Return whether the bytes are valid in the encoding with a name; False for unknown and refused encodings."""
    try:
        if codecs.lookup(name).name in _REFUSED_CODECS:
            return False
        data.decode(name)
    except (LookupError, ValueError):  # A name with a NUL raises ValueError, as invalid bytes do.
        return False
    return True


def detect_wide_encoding(head: bytes) -> str | None:
    """Return the name of UTF-16 or UTF-32 if a file's first bytes have its mark or its zero bytes; else None."""
    for mark, name in _BYTE_ORDER_MARKS:
        if head.startswith(mark):
            return name
    sample = head[:2000]
    if len(sample) < 4 or sample.count(0) < len(sample) * 0.3:
        return None
    # In UTF-16, every second byte of a western text is zero.
    even_zeros, odd_zeros = sample[0::2].count(0), sample[1::2].count(0)
    if odd_zeros > even_zeros * 4:
        return "utf-16-le"
    return "utf-16-be" if even_zeros > odd_zeros * 4 else None


def _is_garbled(sample: str) -> bool:
    """Return whether a text has so many control and replacement characters that it was decoded wrongly."""
    controls = sum(1 for char in sample if (char < " " and char not in "\t\n\r\f\x1b") or char == "\ufffd")
    return controls > max(1, len(sample) * _MAXIMUM_CONTROL_SHARE)
