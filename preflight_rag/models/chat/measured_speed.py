"""Measured facts about a model, stored for each model in the user's cache folder: its speed, and support of schemas.

They belong to a model and a machine, not to a library. From the sending of a call until its first piece, the prompt
is read; after that the reply is written. Only streamed calls that ran alone are measured; beside others a call waits
for its turn.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import threading
from collections.abc import Mapping
from pathlib import Path
from tempfile import NamedTemporaryFile
from time import monotonic
from typing import Any

from preflight_rag.cache import cache_dir
from preflight_rag.state.values import Speed

log = logging.getLogger(__name__)
FILE = "models.json"
MOST = 100
"""Most models that are stored, the last ones used; a guess."""
LEAST_READ, LEAST_WRITTEN = 150, 8
"""Calls with fewer tokens say nothing of a speed: most of their time is network latency. Guesses."""
WEIGHT = 0.3
"""Weight of a new measurement against earlier ones; set by hand, so that it takes more than one busy moment to change
it."""
FRESH_SECONDS = 600.0
"""Seconds for which this process relies on its measured speed without measuring again: other programs end. A guess."""
GUESSED_WRITING = 0.2
"""Ratio of writing speed to reading speed for a model that has not written yet; processors here gave 0.1 to 0.3."""
WORTH_KEEPING = 0.1
"""Share by which a speed changes before it is written again."""
MOST_UNCITED = 3
"""Answers without a citation, one after another, from which on answers are asked for by schema; a guess: a model that
cites may leave it out once."""
_lock = threading.Lock()


class MeasuredSpeed:
    """The speed of one model, as measured so far in any process, and whether its server accepts schemas.

    Args:
        model: The model's name, with the address of its server if the user has set one.
        folder: The folder of the file; None: the user's cache folder.
    """

    def __init__(self, model: str, folder: Path | None = None) -> None:
        self._model = model
        self._path = (folder or cache_dir()) / FILE
        self._speed = _speed_of(_read(self._path).get(model))
        self._kept = self._speed
        self._reading: tuple[int, float] | None = None
        self._measured_at: float | None = None
        taken = _read(self._path).get(model)
        self.takes_schema: bool | None = taken.get("schema") if isinstance(taken, dict) else None
        uncited = taken.get("uncited") if isinstance(taken, dict) else None
        self._uncited = uncited if isinstance(uncited, int) else 0

    @property
    def cites(self) -> bool:
        """Whether the model's answers cite passages where they are asked for as text, as far as is known."""
        return self._uncited < MOST_UNCITED

    def answered(self, *, cited: bool) -> None:
        """Record whether an answer as text cites a passage, and store how many in a row have cited none."""
        uncited = 0 if cited else min(self._uncited + 1, MOST_UNCITED)
        if uncited != self._uncited and self.cites:
            self._uncited = uncited
            self._store("uncited")

    def found_schema(self, *, taken: bool) -> None:
        """Store whether the model's server accepts a JSON schema for replies."""
        if self.takes_schema is not taken:
            self.takes_schema = taken
            self._store("schema")

    @property
    def speed(self) -> Speed | None:
        """Tokens a second; None if nothing was measured yet."""
        return self._speed

    def is_fresh(self) -> bool:
        """Return whether this process has measured the speed just now."""
        return self._measured_at is not None and monotonic() - self._measured_at < FRESH_SECONDS

    def has_read(self, tokens: int, seconds: float, *, followed: bool) -> None:
        """Record how fast the model read the prompt of a call that was ended before it wrote anything.

        If another call `followed`, it finds most of the prompt in the server's cache and says nothing about reading
        speed, but it gives the writing speed.
        """
        reads = tokens / seconds
        if followed:
            self._reading = tokens, seconds
        elif self._speed is not None:
            self._take(Speed(reads=reads, writes=self._speed.writes))
        else:  # for the next turns of this process; a guess is not stored
            self._speed, self._measured_at = Speed(reads=reads, writes=GUESSED_WRITING * reads), monotonic()

    def measured(self, *, read: int, seconds_to_first: float, written: int, seconds_after: float) -> None:
        """Record how long a call took, unless it was too short to tell the speed.

        Args:
            read: Tokens of the prompt that were not in the server's cache.
            seconds_to_first: Seconds until the first piece of the reply.
            written: Tokens of the reply.
            seconds_after: Seconds from the first piece to the last.
        """
        if read < LEAST_READ and self._reading is not None:
            (tokens, seconds), self._reading = self._reading, None
            read, seconds_to_first = LEAST_READ, seconds * LEAST_READ / tokens
        if read < LEAST_READ or written < LEAST_WRITTEN or seconds_to_first <= 0 or seconds_after <= 0:
            return
        self._take(Speed(reads=read / seconds_to_first, writes=written / seconds_after))

    def _take(self, new: Speed) -> None:
        """Average a measurement with earlier ones, and store the result if it has changed."""
        self._measured_at, old = monotonic(), self._speed
        if old is not None:
            reads = (1 - WEIGHT) / old.reads + WEIGHT / new.reads
            writes = (1 - WEIGHT) / old.writes + WEIGHT / new.writes
            new = Speed(reads=1 / reads, writes=1 / writes)
        self._speed = new
        kept = self._kept
        if kept is None or max(abs(new.reads / kept.reads - 1), abs(new.writes / kept.writes - 1)) > WORTH_KEEPING:
            self._kept = new
            self._store("reads", "writes")

    def _store(self, *fields: str) -> None:
        """Write fields of the model's entry.

        Within an event loop one of its threads writes, since LangGraph's server allows no blocking call in the loop
        itself. Values are taken when they are written, so that two threads may write in any order.
        """
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            self._write(fields)
        else:  # the loop waits for its threads before it ends
            loop.run_in_executor(None, self._write, fields)

    def _write(self, fields: tuple[str, ...]) -> None:
        """Replace the model's entry atomically; if the file cannot be written, the next process measures again."""
        with _lock:
            kept = self._kept
            now = {
                "uncited": self._uncited,
                "schema": self.takes_schema,
                "reads": round(kept.reads, 2) if kept else None,
                "writes": round(kept.writes, 2) if kept else None,
            }
            entries = _read(self._path)
            before = entries.pop(self._model, None)
            changed = {field: now[field] for field in fields}
            entries[self._model] = {**before, **changed} if isinstance(before, dict) else changed
            most = dict(list(entries.items())[-MOST:])
            try:
                self._path.parent.mkdir(parents=True, exist_ok=True)
                with NamedTemporaryFile("w", dir=self._path.parent, delete=False, encoding="utf-8") as file:
                    json.dump(most, file, indent=1)
                os.replace(file.name, self._path)
            except OSError as error:
                log.debug("what is known of %s is not stored: %s", self._model, error)


def _speed_of(entry: object) -> Speed | None:
    """Return the speed of a file's entry; None for an invalid entry."""
    if not isinstance(entry, Mapping):
        return None
    values = [entry.get("reads"), entry.get("writes")]
    known = [value for value in values if isinstance(value, int | float) and value > 0]
    return Speed(reads=known[0], writes=known[1]) if len(known) == 2 else None


def _read(path: Path) -> dict[str, Any]:
    """Return the file's entries; empty if it is missing or unreadable, since speeds can be measured again."""
    try:
        entries = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return entries if isinstance(entries, dict) else {}
