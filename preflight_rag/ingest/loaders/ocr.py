"""Recognise the text of scanned pages with tesseract, if it is installed."""

from __future__ import annotations

import os
import shutil
import subprocess
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pypdfium2 import PdfPage

DOTS_PER_INCH = 300
"""Resolution of a rendered page; the value that tesseract's documentation recommends."""
POINTS_PER_INCH = 72
"""Unit of the size of a PDF page."""
MOST_PIXELS = 40_000_000
"""Maximum number of pixels of a rendered page; larger pages get a lower resolution. An A3 page has 17 million."""
PAGE_SECONDS = 50
"""Seconds after which a page is given up; a guess, less than the silence after which the whole file is given up."""
INSTALL = "install tesseract (Debian: apt install tesseract-ocr) and ingest again"
_NOT_LANGUAGES = ("osd", "equ", "snum")
"""Models that tesseract lists among its languages: page orientation, equations, serial numbers."""
_MOST_LANGUAGES = 4
"""Maximum number of languages that a page is recognised in; a guess."""


@lru_cache(maxsize=1)
def languages() -> str:
    """Return the languages of the installed tesseract as it takes them, English first: "eng+deu"; "" without it."""
    program = shutil.which("tesseract")
    if program is None:
        return ""
    try:
        listed = subprocess.run([program, "--list-langs"], capture_output=True, text=True, timeout=30, check=True)  # noqa: S603
    except (OSError, subprocess.SubprocessError):
        return ""
    names = [line.strip() for line in listed.stdout.splitlines()[1:]]  # the first line is a heading
    names = [name for name in names if name and name not in _NOT_LANGUAGES]
    names.sort(key=lambda name: (name != "eng", name))
    return "+".join(names[:_MOST_LANGUAGES])


def recognised(page: PdfPage) -> str:
    """Render a page, and return the text that tesseract recognises in the picture; "" if it finds none or fails."""
    width, height = page.get_size()
    scale = min(DOTS_PER_INCH / POINTS_PER_INCH, (MOST_PIXELS / max(1.0, width * height)) ** 0.5)
    bitmap = page.render(scale=scale, grayscale=True)
    rows = bitmap.to_numpy().reshape(bitmap.height, -1)[:, : bitmap.width]
    picture = f"P5 {bitmap.width} {bitmap.height} 255\n".encode() + rows.tobytes()  # in the PGM format
    bitmap.close()
    command = [shutil.which("tesseract") or "tesseract", "stdin", "stdout", "-l", languages(), "--psm", "1"]
    command += ["--dpi", str(round(POINTS_PER_INCH * scale))]
    environment = {**os.environ, "OMP_THREAD_LIMIT": "1"}  # tesseract's documentation says that threads slow it down
    try:
        completed = subprocess.run(  # noqa: S603
            command, input=picture, capture_output=True, timeout=PAGE_SECONDS, check=True, env=environment
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    text: str = completed.stdout.decode("utf-8", "replace")
    return text.replace("\x0c", "")  # the form feed behind the page
