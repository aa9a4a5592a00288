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
"""Maximum number of models that are stored, the last ones used; a guess."""
LEAST_READ, LEAST_WRITTEN = 150, 8
"""Least number of tokens read and written in a call from which a speed is measured: the time of shorter calls is mostly
network latency. Guesses."""
WEIGHT = 0.3
"""Weight of a new measurement in the average with earlier ones; set by hand, so that one busy moment changes little."""
FRESH_SECONDS = 600.0
"""Seconds for which this process relies on its measured speed without measuring again: other programs end. A guess."""
GUESSED_WRITING = 0.2
"""Ratio of writing speed to reading speed for a model that has not written yet; processors here gave 0.1 to 0.3."""
WORTH_KEEPING = 0.1
"""Relative change of a speed from which on it is written to the file again."""
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
        entry = _read_entries(self._path).get(model)
        self._speed = _entry_speed(entry)
        self._stored_speed = self._speed
        self._unfinished_reading: tuple[int, float] | None = None
        self._measured_at: float | None = None
        self.takes_schema: bool | None = entry.get("schema") if isinstance(entry, dict) else None
        uncited = entry.get("uncited") if isinstance(entry, dict) else None
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
        """Tokens that the model reads and writes a second; None if neither was measured yet."""
        return self._speed

    def is_fresh(self) -> bool:
        """Return whether this process has measured the speed in the last `FRESH_SECONDS`."""
        return self._measured_at is not None and monotonic() - self._measured_at < FRESH_SECONDS

    def has_read(self, tokens: int, seconds: float, *, followed: bool) -> None:
        """Record how fast the model read the prompt of a call that was ended before it wrote anything.

        If another call `followed`, with a shorter prompt, it finds most of that in the server's cache, and can measure
        the writing speed alone; so the reading is recorded together with it.
        """
        reads = tokens / seconds
        if followed:
            self._unfinished_reading = tokens, seconds
        elif self._speed is not None:
            self._average(Speed(reads=reads, writes=self._speed.writes))
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
        if read < LEAST_READ and self._unfinished_reading is not None:
            # The previous call was ended while it read: its reading speed counts for this one.
            tokens, seconds = self._unfinished_reading
            self._unfinished_reading = None
            read, seconds_to_first = LEAST_READ, seconds * LEAST_READ / tokens
        if read < LEAST_READ or written < LEAST_WRITTEN or seconds_to_first <= 0 or seconds_after <= 0:
            return
        self._average(Speed(reads=read / seconds_to_first, writes=written / seconds_after))

    def _average(self, new: Speed) -> None:
        """Average a measurement with earlier ones, by seconds a token; store the average if it has changed enough."""
        self._measured_at, old = monotonic(), self._speed
        if old is not None:
            reads = (1 - WEIGHT) / old.reads + WEIGHT / new.reads
            writes = (1 - WEIGHT) / old.writes + WEIGHT / new.writes
            new = Speed(reads=1 / reads, writes=1 / writes)
        self._speed = new
        stored = self._stored_speed
        if stored is None or _relative_change(stored, new) > WORTH_KEEPING:
            self._stored_speed = new
            self._store("reads", "writes")

    def _store(self, *fields: str) -> None:
        """Write these fields of the model's entry to the file.

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
        """Replace these fields of the model's entry in the file, atomically, and move the entry to the end.

        If the file cannot be written, the next process measures again.
        """
        with _lock:
            speed = self._stored_speed
            values = {
                "uncited": self._uncited,
                "schema": self.takes_schema,
                "reads": round(speed.reads, 2) if speed else None,
                "writes": round(speed.writes, 2) if speed else None,
            }
            entries = _read_entries(self._path)
            old_entry = entries.pop(self._model, None)
            changed = {field: values[field] for field in fields}
            entries[self._model] = {**old_entry, **changed} if isinstance(old_entry, dict) else changed
            last_used = dict(list(entries.items())[-MOST:])
            try:
                self._path.parent.mkdir(parents=True, exist_ok=True)
                with NamedTemporaryFile("w", dir=self._path.parent, delete=False, encoding="utf-8") as file:
                    json.dump(last_used, file, indent=1)
                os.replace(file.name, self._path)
            except OSError as error:
                log.debug("what is known of %s is not stored: %s", self._model, error)


def _relative_change(old: Speed, new: Speed) -> float:
    """Return the larger of the relative changes in reading and in writing speed."""
    return max(abs(new.reads / old.reads - 1), abs(new.writes / old.writes - 1))


def _entry_speed(entry: object) -> Speed | None:
    """Return the speed in a model's entry of the file; None if one of its two numbers is missing or invalid."""
    if not isinstance(entry, Mapping):
        return None
    reads, writes = entry.get("reads"), entry.get("writes")
    if not isinstance(reads, int | float) or not isinstance(writes, int | float):
        return None
    return Speed(reads=reads, writes=writes) if reads > 0 and writes > 0 else None


def _read_entries(path: Path) -> dict[str, Any]:
    """Read the file's entries by model; empty if it is missing or unreadable, since speeds can be measured again."""
    try:
        entries = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return entries if isinstance(entries, dict) else {}
