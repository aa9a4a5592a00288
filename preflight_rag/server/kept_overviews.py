"""A cache of questions that documents are known to answer, stored beside the library."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

OVERVIEWS_FILE = "overviews.json"
OVERVIEWS = 500
"""Documents whose overviews are cached: a guess, about a megabyte."""


class Overviews:
    """Questions that a document answers, computed once for each state of the library, one document at a time.

    Args:
        path: The file that stores them, so that a restarted server need not compute them again.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._made: dict[tuple[int, str], asyncio.Task[list[str]]] = {}
        self._one_at_a_time = asyncio.Lock()
        self._closing = False

    async def get(self, generation: int, name: str, make: Callable[[], list[str]], seconds: float) -> list[str] | None:
        """Return the result of `make`, run in a worker thread or cached for this document and state of the library.

        None if that takes longer than `seconds`; a later call finds the result.
        """

        async def made() -> list[str]:
            """Compute the questions in a worker thread."""
            async with self._one_at_a_time:
                return [] if self._closing else await asyncio.to_thread(self._kept_or_made, generation, name, make)

        key = (generation, name)
        if (task := self._made.get(key)) is None:
            self._made = {other: each for other, each in self._made.items() if other[0] == generation}
            while len(self._made) >= OVERVIEWS:
                self._made.pop(next(iter(self._made)))
            task = self._made[key] = asyncio.create_task(made())
        await asyncio.wait([task], timeout=seconds)
        if not task.done():
            return None
        if task.exception() is not None:
            self._made.pop(key, None)
        return task.result()

    def _kept_or_made(self, generation: int, name: str, make: Callable[[], list[str]]) -> list[str]:
        """Return the stored questions of a document, or make and store them."""
        kept = self._read(generation)
        if name in kept:
            return kept[name]
        made = make()
        if not self._closing:  # an interrupted computation may have found only some of them
            text = json.dumps({"generation": generation, "questions": {**kept, name: made}}, ensure_ascii=False)
            # if the folder cannot be written, they are computed again next time
            with suppress(OSError, UnicodeEncodeError):
                written = self._path.with_suffix(f".{os.getpid()}.new")
                written.write_text(text, encoding="utf-8")
                written.replace(self._path)
        return made

    def _read(self, generation: int) -> dict[str, list[str]]:
        """Return the stored questions for a generation of the library; empty if there is no readable file."""
        try:
            found = json.loads(self._path.read_text(encoding="utf-8"))
            questions = found["questions"] if found["generation"] == generation else {}
            texts = {}
            for name, kept in questions.items():
                texts[str(name)] = [str(each) for each in kept]
            return texts
        except (OSError, ValueError, KeyError, TypeError, AttributeError):  # none yet, or damaged
            return {}

    async def close(self) -> None:
        """Start no further computation, and wait for the current one, which ends after its present question."""
        self._closing = True
        await asyncio.gather(*self._made.values(), return_exceptions=True)
