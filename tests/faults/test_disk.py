"""A disk, handles of files or memory that do not suffice: one clear line, and everything of before still answers."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from fault_counts import times
from kept_threads import OF_THE_FILE
from langchain_core.embeddings import Embeddings

from preflight_rag import Preflight
from preflight_rag.library import Library
from preflight_rag.state.errors import LibraryError, PreflightError, TurnError
from preflight_rag.state.values import Document

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform != "linux", reason="needs a tmpfs and Linux's limits")]
QUERY = "compound 7 organ"


def documents(first: int, last: int) -> list[Document]:
    text = "Compound {0} lowers the pressure of organ {1} within {0} days. "
    return [Document(id=str(n), text=text.format(n, n * 7 % 50) * 3, source=f"s{n}") for n in range(first, last)]


class SmallDisk:
    """A tmpfs of four megabytes, of which so much can be taken that only a few bytes are left."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def leave(self, free: int) -> None:
        """Take all but `free` bytes."""
        stat = os.statvfs(self.root)
        (self.root / "filler").write_bytes(bytes(max(0, stat.f_bavail * stat.f_frsize - free)))

    def give_back(self) -> None:
        (self.root / "filler").unlink()


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    root = tmp_path / "disk"
    root.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", root], check=False, capture_output=True, text=True
    )
    if mounted.returncode:
        pytest.skip(f"no disk may be mounted here: {mounted.stderr.strip()}")
    try:
        yield SmallDisk(root)
    finally:
        subprocess.run(["umount", "--lazy", root], check=True)


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory, embedder: Embeddings) -> Path:
    """A library of 30 documents; do not write to it."""
    folder = tmp_path_factory.mktemp("base") / "library"
    with Library.open(folder, embedder=embedder, create=True) as library:
        library.add(documents(0, 30))
    return folder


def ranked(folder: Path, embedder: Embeddings) -> list[str]:
    with Library.open(folder, embedder=embedder) as library:
        return [hit.passage_id for hit in library.search(QUERY).fused]


def refused(folder: Path, embedder: Embeddings) -> str:
    """What is said where 30 more documents cannot be taken in."""
    try:
        with Library.open(folder, embedder=embedder) as library:
            library.add(documents(30, 60))
    except LibraryError as error:
        return str(error)
    return ""


def generations(folder: Path) -> int:
    """How many folders and files there are beside the manifest."""
    return len([path for path in (folder / "index").iterdir() if path.name not in ("manifest.json", "checked.json")])


# The first kinds end in the database, the last ones in the files of the index: the database takes some 150 kB of them.
@pytest.mark.parametrize("kilobytes", [0, 8, 20, *range(100, 160, times(60, 5)), *range(160, 420, times(80, 5))])
def test_a_disk_that_fills_up_in_an_ingest(disk: SmallDisk, base: Path, embedder: Embeddings, kilobytes: int) -> None:
    folder = Path(shutil.copytree(base, disk.root / "library"))
    before = ranked(folder, embedder)
    with Library.open(folder, embedder=embedder) as serving:
        serving.search(QUERY)
        disk.leave(kilobytes * 1024)
        if refusal := refused(folder, embedder):
            assert "Make room on the disk" in refusal or "room on it" in refusal
            assert "\n" not in refusal
            assert len(refusal) < 500
            assert generations(folder) == 1
            assert ranked(folder, embedder) == before
            assert [hit.passage_id for hit in serving.search(QUERY).fused] == before
        else:
            assert kilobytes > 360
    disk.give_back()
    with Library.open(folder, embedder=embedder) as library:
        library.add(documents(30, 60))
        assert library.verify() == []
        assert library.stats()["documents"] == 60
    assert generations(folder) == 1


def test_a_full_disk_is_one_line_on_the_command_line(disk: SmallDisk, base: Path) -> None:
    folder = Path(shutil.copytree(base, disk.root / "library"))
    disk.leave(100_000)
    ended = preflight("library", "rebuild", "--library", folder)
    assert ended.returncode == 1
    assert ended.stderr.count("\n") == 1
    assert "the one before stays: the disk is full. Make room on the disk" in ended.stderr
    assert generations(folder) == 1


@OF_THE_FILE
@pytest.mark.parametrize("opened", [True, False])
@pytest.mark.parametrize("kilobytes", times([0, 24, 200], [0, 8, 16, 24, 32, 40, 48, 64, 80, 96, 112, 128, 160, 200]))
def test_a_disk_that_fills_up_in_a_conversation(
    disk: SmallDisk, demo_folder: Path, embedder: Embeddings, kilobytes: int, opened: bool
) -> None:
    """Whatever was begun by then can be finished with room again, and nothing of before is lost."""
    folder = Path(shutil.copytree(demo_folder, disk.root / "library"))
    kept = {"embedder": embedder, "route": "plain"}
    with Preflight.open(folder, "offline", **kept) as app:
        app.ask("How tall is the Eiffel Tower?", thread_id="t")
        if opened:
            disk.leave(kilobytes * 1024)
            with pytest.raises(PreflightError, match=r"the disk is full.*Make room"):
                app.ask("What does insulin do?", thread_id="t")
    if not opened:
        disk.leave(kilobytes * 1024)
        with Preflight.open(folder, "offline", **kept) as app, pytest.raises(PreflightError, match="Make room"):
            app.ask("What does insulin do?", thread_id="t")
    disk.give_back()
    with Preflight.open(folder, "offline", **kept) as app:
        turns = app.ledger.turns("t")
        assert [turn.status for turn in turns[:1]] == ["answered"]
        if len(turns) == 1:  # there was no room to begin one
            assert app.ask("What does insulin do?", thread_id="t").citations
        else:
            assert turns[1].status in ("failed", "running")
            assert app.resume("t").citations
        with pytest.raises(TurnError, match="finished"):
            app.resume("t")
        assert [turn.status for turn in app.ledger.turns("t")] == ["answered", "answered"]


def preflight(*arguments: object, handles: int = 0, megabytes: int = 0) -> subprocess.CompletedProcess[str]:
    """A command in a process of its own, with limits on what it may open and on its memory."""

    def limit() -> None:
        if handles:
            resource.setrlimit(resource.RLIMIT_NOFILE, (handles, handles))
        if megabytes:
            resource.setrlimit(resource.RLIMIT_AS, (megabytes << 20, megabytes << 20))

    command = [sys.executable, "-m", "preflight_rag", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, preexec_fn=limit)


def check_ended(ended: subprocess.CompletedProcess[str], words: str) -> None:
    """It succeeded, or said in one line what it lacked; it was not ended by a signal."""
    lines = [line for line in ended.stderr.splitlines() if not line.startswith("model: ")]
    assert ended.returncode in (0, 1), (ended.returncode, ended.stderr)
    if ended.returncode:
        assert len(lines) == 1, ended.stderr
        assert words in lines[0].lower()


@pytest.mark.parametrize("handles", times([8, 11], list(range(7, 15))))
def test_too_few_handles_for_an_index(base: Path, tmp_path: Path, embedder: Embeddings, handles: int) -> None:
    """A folder cannot be listed without a handle: what is left of the build goes with the next one."""
    folder = Path(shutil.copytree(base, tmp_path / "library"))
    check_ended(preflight("library", "rebuild", "--library", folder, handles=handles), "ulimit -n")
    assert ranked(folder, embedder) == ranked(base, embedder)
    with Library.open(folder, embedder=embedder) as library:
        library.rebuild()
        assert library.verify() == []
    assert generations(folder) == 1


SERVES = """
import os, resource, sys
from preflight_rag import Preflight
from preflight_rag.state.errors import PreflightError

with Preflight.open(sys.argv[1], "offline", route="plain") as app:
    app.ask("How tall is the Eiffel Tower?", thread_id="t")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    used = len(os.listdir("/proc/self/fd"))
    for more in range(-3, 4):
        resource.setrlimit(resource.RLIMIT_NOFILE, (used + more, hard))
        try:
            outcome = app.ask("What does insulin do?", thread_id=f"t{more}").outcome
        except PreflightError as error:
            outcome = str(error)
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        print(more, outcome)
        last = app.ledger.last(f"t{more}")
        if last is not None and last.status in ("failed", "running"):
            assert app.resume(f"t{more}").citations
        else:
            assert app.ask("What does insulin do?", thread_id=f"t{more}").citations
    assert not app.library.notes, app.library.notes
"""


def test_too_few_handles_while_questions_are_answered(base: Path, demo_folder: Path, tmp_path: Path) -> None:
    """Nothing is taken for damaged, and each thread goes on once there are handles again."""
    folder = shutil.copytree(demo_folder, tmp_path / "library")
    ended = subprocess.run([sys.executable, "-c", SERVES, folder], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    refused = [line for line in ended.stdout.splitlines() if "ulimit -n" in line]
    assert refused, ended.stdout
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize("megabytes", times([350, 950], list(range(150, 1300, 50))))
def test_too_little_memory_for_an_index(base: Path, tmp_path: Path, embedder: Embeddings, megabytes: int) -> None:
    folder = Path(shutil.copytree(base, tmp_path / "library"))
    check_ended(preflight("library", "rebuild", "--library", folder, megabytes=megabytes), "memory")
    assert generations(folder) == 1
    assert ranked(folder, embedder) == ranked(base, embedder)


@pytest.mark.parametrize("megabytes", times([600, 1300], list(range(200, 1700, 100))))
def test_too_little_memory_for_a_question(demo_folder: Path, tmp_path: Path, megabytes: int) -> None:
    """No segmentation fault, and nobody is sent to install anything again."""
    folder = shutil.copytree(demo_folder, tmp_path / "library")
    ended = preflight("ask", "What does insulin do?", "-m", "offline", "-l", folder, megabytes=megabytes)
    check_ended(ended, "memory")
    assert "Install" not in ended.stderr
