"""Text of scanned pages, by tesseract where it is installed."""

from __future__ import annotations

import os
import shutil
import subprocess
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pypdfium2 import PdfPage

DOTS_PER_INCH = 300
"""What tesseract's own documentation asks for."""
MOST_PIXELS = 40_000_000
"""Of a page; larger ones are rendered coarser. An A3 page has 17 million."""
PAGE_SECONDS = 50
"""A page that takes longer is left; a guess, below the silence after which the whole file would be."""
INSTALL = "install tesseract (Debian: apt install tesseract-ocr) and ingest again"
_NO_LANGUAGE = ("osd", "equ", "snum")
_MOST_LANGUAGES = 4


@lru_cache(maxsize=1)
def languages() -> str:
    """Return the languages of the installed tesseract in its own notation; "" if it is not installed."""
    program = shutil.which("tesseract")
    if program is None:
        return ""
    try:
        listed = subprocess.run([program, "--list-langs"], capture_output=True, text=True, timeout=30, check=True)  # noqa: S603
    except (OSError, subprocess.SubprocessError):
        return ""
    names = [name for line in listed.stdout.splitlines()[1:] if (name := line.strip()) and name not in _NO_LANGUAGE]
    names.sort(key=lambda name: (name != "eng", name))
    return "+".join(names[:_MOST_LANGUAGES])


def recognised(page: PdfPage) -> str:
    """Return the text that tesseract recognises in a page's picture; "" if it finds none or fails."""
    width, height = page.get_size()
    scale = min(DOTS_PER_INCH / 72, (MOST_PIXELS / max(1.0, width * height)) ** 0.5)
    bitmap = page.render(scale=scale, grayscale=True)
    rows = bitmap.to_numpy().reshape(bitmap.height, -1)[:, : bitmap.width]
    picture = f"P5 {bitmap.width} {bitmap.height} 255\n".encode() + rows.tobytes()
    bitmap.close()
    command = [shutil.which("tesseract") or "tesseract", "stdin", "stdout", "-l", languages(), "--psm", "1"]
    command += ["--dpi", str(round(72 * scale))]
    environment = {**os.environ, "OMP_THREAD_LIMIT": "1"}  # Its threads make it slower, by its own documentation.
    try:
        done = subprocess.run(  # noqa: S603
            command, input=picture, capture_output=True, timeout=PAGE_SECONDS, check=True, env=environment
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    text: str = done.stdout.decode("utf-8", "replace")
    return text.replace("\x0c", "")
