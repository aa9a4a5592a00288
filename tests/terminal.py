"""The command line as a person has it: a process of its own on a pseudo-terminal, typed into and read."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import subprocess
import sys
import time

CODE = "from preflight_rag.cli import main; main()"
_CONTROL = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]|\x1b\][^\x07]*\x07")


class Terminal:
    """A running `preflight`; `text` is all that it has written, `plain` that without colours and cursor moves."""

    def __init__(self, *arguments: object, **environment: str) -> None:
        master, slave = pty.openpty()
        size = {"COLUMNS": "100", "LINES": "40", "TERM": "xterm-256color"}
        self._process = subprocess.Popen(
            [sys.executable, "-c", CODE, *map(str, arguments)],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env={**os.environ, **size, **environment},
            start_new_session=True,
        )
        os.close(slave)
        self._master = master
        self.text = ""

    @property
    def plain(self) -> str:
        return _CONTROL.sub("", self.text).replace("\r", "")

    def until(self, wanted: str, seconds: float = 120) -> str:
        """Read until something was written."""
        end = time.monotonic() + seconds
        while not re.search(wanted, self.plain):
            assert time.monotonic() < end, f"{wanted!r} did not come: {self.plain[-2000:]}"
            assert self._read(), f"{wanted!r} did not come before the end: {self.plain[-2000:]}"
        return self.plain

    def type(self, line: str) -> None:
        os.write(self._master, f"{line}\n".encode())

    def interrupt(self) -> None:
        os.kill(self._process.pid, signal.SIGINT)

    def end(self, seconds: float = 120) -> int:
        """Read to the end; the exit status."""
        end = time.monotonic() + seconds
        while self._read():
            assert time.monotonic() < end, f"it goes on: {self.plain[-2000:]}"
        os.close(self._master)
        return self._process.wait(seconds)

    def _read(self) -> bool:
        if select.select([self._master], [], [], 1)[0]:
            try:
                data = os.read(self._master, 65536)
            except OSError:
                return False
            self.text += data.decode("utf-8", "replace")
            return bool(data)
        return True
