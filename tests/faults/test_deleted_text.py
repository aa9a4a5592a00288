"""What was deleted is gone: no byte of it stays in the files of a library, whichever way the process ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from fault_counts import times

from preflight_rag.library import Library

pytestmark = pytest.mark.slow

CANARY = "zanzibarite"


def text(number: int, sentences: int) -> str:
    """A document whose every sentence holds the canary, long enough for several passages."""
    said = "The mineral {0}{1} was found near village {2}, where {0}{1} is burnt for its green flame. "
    return "".join(said.format(CANARY, number, place) for place in range(sentences))


def traces(folder: Path, word: str = CANARY) -> dict[str, int]:
    """How often a word stands in each file, whatever its case: index files hold words in small letters."""
    found = {
        path.relative_to(folder).as_posix(): path.read_bytes().lower().count(word.encode())
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
    return {name: count for name, count in found.items() if count}


@pytest.fixture
def documents(tmp_path: Path) -> Path:
    folder = tmp_path / "documents"
    folder.mkdir()
    for number in range(times(6, 20)):
        (folder / f"canary{number}.txt").write_text(text(number, 4 + 3 * number), encoding="utf-8")
        (folder / f"plain{number}.txt").write_text(text(number, 4).replace(CANARY, "quartz"), encoding="utf-8")
    return folder


def preflight(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "preflight_rag", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=True)


def test_nothing_is_left_of_removed_and_changed_documents(tmp_path: Path, documents: Path, embedder) -> None:
    """Removed by the command line, changed, and gone from their folder, one third each."""
    folder = tmp_path / "library"
    with Library.open(folder, embedder=embedder, create=True) as library:
        library.ingest([documents])
    assert traces(folder)
    names = sorted(documents.glob("canary*.txt"))
    preflight("library", "remove", *names[::3], "--yes", "--library", folder)
    assert all(not traces(folder, f"{CANARY}{path.stem[6:]} ") for path in names[::3])
    for path in names[1::3]:
        path.write_text("Nothing is found there any more.", encoding="utf-8")
    for path in [*names[::3], *names[2::3]]:
        path.unlink()
    preflight("ingest", documents, "--prune", "--library", folder)
    assert traces(folder) == {}


ENDED = """
import os, signal, sys
from preflight_rag.library import Library
library = Library.open(sys.argv[1])
library.delete_documents([row["id"] for row in library.documents() if "canary" in row["id"]])
os.kill(os.getpid(), int(sys.argv[2]))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGKILL])
def test_nothing_is_left_where_the_process_does_not_close_the_library(
    tmp_path: Path, documents: Path, embedder, ending: signal.Signals
) -> None:
    """Another process has the library open all the while, as a server has."""
    folder = tmp_path / "library"
    with Library.open(folder, embedder=embedder, create=True) as library:
        library.ingest([documents])
        assert library.search("which mineral burns green").fused
        ended = subprocess.run([sys.executable, "-c", ENDED, str(folder), str(int(ending))])
        assert ended.returncode == -ending
        assert traces(folder) == {}
        assert library.verify() == []


KILLED = """
import os, signal, sys
from preflight_rag.library import Library
library = Library.open(sys.argv[1])
library.ingest([sys.argv[2]], prune=True, progress=lambda event: event.name == sys.argv[3] and os.kill(os.getpid(), 9))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
@pytest.mark.parametrize("step", ["manifest.json", "purge"])
def test_the_next_run_takes_out_what_a_killed_one_had_not_come_to(
    tmp_path: Path, documents: Path, embedder, step: str
) -> None:
    """Killed before the swap, and between it and the deletion, after which nothing is left to be indexed."""
    folder = tmp_path / "library"
    with Library.open(folder, embedder=embedder, create=True) as library:
        library.ingest([documents])
    for path in documents.glob("canary*.txt"):
        path.unlink()
    killed = subprocess.run([sys.executable, "-c", KILLED, str(folder), str(documents), step])
    assert killed.returncode == -signal.SIGKILL
    assert traces(folder)
    with Library.open(folder, embedder=embedder) as library:
        library.ingest([documents], prune=True)
        assert traces(folder) == {}
        assert len(os.listdir(folder / "index")) == 2  # the manifest and one generation
