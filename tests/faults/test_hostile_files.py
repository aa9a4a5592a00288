"""Every hostile file by every way in: it is read, or named with its reason, and nothing else comes to harm."""

from __future__ import annotations

import http.server
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import hostile_files
import httpx
import pytest
from fault_counts import FULL, report, times
from hostile_files import EITHER, NAMES, READ, REFUSED, Hostile

from preflight_rag.ingest.loaders.isolated import IsolatedLoader
from preflight_rag.library.library import Library
from preflight_rag.state.errors import DocumentError, UnreadableDocument

pytestmark = pytest.mark.slow

SECRET = "the secret of another folder"
LIMITS = {"PREFLIGHT_READING_SECONDS": "2", "PREFLIGHT_READING_MB": "700"}
"""For readers, so that those that have to be ended are ended soon."""
EVERY = 9
"""Of the files in a short run: each ninth that is quickly done with, others for each way in, and one that is not."""


def good_text(number: int) -> str:
    return f"Good document number {number}: zinc shortens colds by {number + 1} hours."


class Canary(http.server.ThreadingHTTPServer):
    """Listens where hostile files point; `asked` are the paths that somebody asked for."""

    def __init__(self) -> None:
        asked: list[str] = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                asked.append(self.path)
                self.send_response(200)
                self.end_headers()

            do_HEAD = do_POST = do_GET

            def log_message(self, *_: object) -> None:
                pass

        super().__init__(("127.0.0.1", 0), Handler)
        self.asked = asked
        self.url = f"http://127.0.0.1:{self.server_address[1]}"


@pytest.fixture(scope="module")
def canary() -> Iterator[Canary]:
    server = Canary()
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    assert httpx.get(f"{server.url}/it-hears").status_code == 200
    assert server.asked == ["/it-hears"]
    server.asked.clear()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()
    assert server.asked == []


@pytest.fixture(scope="module")
def secret(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("elsewhere") / "secret.txt"
    path.write_text(SECRET, encoding="utf-8")
    return path


@pytest.fixture
def short_limits(monkeypatch) -> None:
    for name, value in LIMITS.items():
        monkeypatch.setenv(name, value)


def some(canary: Canary, secret: Path, first: int) -> list[Hostile]:
    """All hostile files in the full run, else each ninth from `first` on, and few of those that take long."""
    listed = hostile_files.files(canary.url, str(secret))
    assert len({each.name for each in listed}) == len(listed) > 170
    if FULL:
        return listed
    slow = [each for each in listed if each.slow]
    quick = [each for each in listed if not each.slow]
    return [*quick[first::EVERY], slow[first // 3]]


def write(folder: Path, hostile: list[Hostile], good: int) -> None:
    """Hostile files with good ones between them, in the order of their names."""
    folder.mkdir()
    names = sorted(each.name for each in hostile)
    for each in hostile:
        each.write(folder)
    for number in range(good):
        beside = names[number * len(names) // good]
        (folder / f"{beside}{number}.txt").write_text(good_text(number), encoding="utf-8")


def stored(library: Path) -> dict[str, str]:
    """The texts of a library by the name of the file that they came from."""
    with sqlite3.connect(library / "library.db") as database:
        rows = database.execute(
            "SELECT d.origin, p.text FROM documents d JOIN passages p ON p.document_id = d.id"
        ).fetchall()
    database.close()
    found: dict[str, list[str]] = {}
    for origin, text in rows:
        found.setdefault(os.path.basename(origin), []).append(text)
    return {name: "".join(texts) for name, texts in found.items()}


def check(library: Path, failed: dict[str, str], hostile: list[Hostile], good: int) -> None:
    """All good files are in, each hostile one is in or named, as it should be; nothing came from elsewhere."""
    texts = stored(library)
    assert sum(bool(re.match(r"Good document number \d+", text)) for text in texts.values()) == good
    wrong = {}
    for each in hostile:
        is_in, reason = each.name in texts, failed.get(each.name, "")
        fits = {READ: is_in, REFUSED: bool(reason) and not is_in, EITHER: is_in or bool(reason)}[each.fate]
        if not fits:
            wrong[each.name] = (each.fate, is_in, reason)
    assert wrong == {}
    assert not any(SECRET in text or "root:" in text for text in texts.values())
    assert not any("\n" in reason or "Traceback" in reason for reason in failed.values())


def by_name(failed: list[tuple[str, str]]) -> dict[str, str]:
    """The first reason of each file that was not read."""
    found: dict[str, str] = {}
    for source, reason in failed:
        found.setdefault(os.path.basename(source.split("#")[0]), reason)
    return found


def preflight(*arguments: str | bytes, **how) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, **LIMITS, "PYTHONIOENCODING": "utf-8"}
    return subprocess.run(
        [sys.executable, "-m", "preflight_rag", *arguments],
        env=environment, capture_output=True, text=True, errors="surrogateescape", timeout=900, **how,
    )  # fmt: skip


def test_by_the_command_line_all_good_files_are_in_and_each_hostile_one_has_its_line(tmp_path, canary, secret):
    hostile, good = some(canary, secret, 0), times(10, 50)
    write(tmp_path / "folder", hostile, good)
    done = preflight("ingest", "folder", "--library", "library", "--json", cwd=tmp_path)
    assert done.returncode == 1, done.stderr
    assert "Traceback" not in done.stderr
    report = json.loads(done.stdout)
    check(tmp_path / "library", by_name([(each["source"], each["reason"]) for each in report["failed"]]), hostile, good)


def test_by_python_all_good_files_are_in_and_each_hostile_one_is_in_the_report(
    tmp_path, canary, secret, embedder, short_limits
):
    hostile, good = some(canary, secret, 3), times(10, 50)
    write(tmp_path / "folder", hostile, good)
    with Library.open(tmp_path / "library", embedder=embedder, create=True) as library:
        report = library.ingest(tmp_path / "folder")
        assert library.search("zinc shortens colds by 3 hours").fused
    check(tmp_path / "library", by_name(report.failed), hostile, good)


@contextmanager
def serving(folder: Path, **environment: str) -> Iterator[tuple[int, str]]:
    """A server over a new library as a process of its own: its id and its address."""
    arguments = [
        "serve",
        "--library",
        str(folder),
        "--port",
        "0",
        "--create",
        "--quiet",
        "--rate",
        "0",
        "--model",
        "offline",
    ]
    running = subprocess.Popen(
        [sys.executable, "-m", "preflight_rag", *arguments],
        env={**os.environ, **LIMITS, **environment}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        yield running.pid, running.stdout.readline().split()[0]
    finally:
        running.terminate()
        _, errors = running.communicate(timeout=60)
        assert "Traceback" not in errors


class Pulse:
    """Asks a server for its health again and again; `slowest` is the longest that it took."""

    def __init__(self, url: str) -> None:
        self._url, self._ends = url, threading.Event()
        self.seconds: list[float] = []
        self._thread = threading.Thread(target=self._ask)

    def __enter__(self) -> Pulse:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ends.set()
        self._thread.join()

    def _ask(self) -> None:
        with httpx.Client(base_url=self._url, timeout=60) as client:
            while not self._ends.wait(0.05):
                began = time.monotonic()
                assert client.get("/health").status_code == 200
                self.seconds.append(time.monotonic() - began)


def peak(process: int) -> int:
    """Megabytes that a process had at most."""
    status = Path(f"/proc/{process}/status").read_text(encoding="ascii")
    return int(re.search(r"VmHWM:\s+(\d+)", status)[1]) // 1024


@pytest.mark.skipif(sys.platform != "linux", reason="/proc says what a process takes")
def test_by_upload_each_gets_one_line_and_the_server_stays_quick_and_small(tmp_path, canary, secret):
    hostile, good = some(canary, secret, 6), times(3, 20)
    received, library = tmp_path / "received", tmp_path / "library"
    received.mkdir()
    failed: dict[str, str] = {}
    with serving(library, TMPDIR=str(received)) as (process, url), httpx.Client(base_url=url, timeout=300) as client:
        client.post("/api/documents", files=[("files", ("first.txt", b"The first one."))])
        at_first = peak(process)
        with Pulse(url) as pulse:
            for each in hostile:
                reply = client.post("/api/documents", files=[("files", (each.name, each.content()))])
                assert reply.status_code in (200, 413), (each.name, reply.text)
                found = reply.json()
                if reply.status_code == 200:
                    failed |= by_name([(item["name"], item["reason"]) for item in found["failed"]])
                    assert not any(str(tmp_path) in item["reason"] for item in found["failed"])
            for number in range(good):
                text = good_text(number).encode()
                reply = client.post("/api/documents", files=[("files", (f"good {number}.txt", text))])
                assert reply.json()["added"] == 1
        assert client.get("/api/documents").json()["total"] > good
        # Embedding 64 long passages at once takes some 800 MB, of whatever file they are; the bombs unpack to 3,000.
        assert peak(process) < at_first + 1200
    slow = sorted(pulse.seconds)[-3:]
    assert slow[-1] < 3, f"the server took {slow} seconds to say that it is well"
    assert sorted(pulse.seconds)[len(pulse.seconds) * 99 // 100] < 1
    assert [path for path in received.iterdir() if path.stat().st_size > 1000] == []
    uploads = library / "uploads"
    kept = [path for path in uploads.rglob("*") if path.is_file()]
    assert {path.stat().st_mode & 0o077 for path in (*kept, *uploads.rglob("*"), uploads)} == {0}
    assert {path.name for path in kept} <= set(stored(library))
    check(library, failed, hostile, good)


TAKES_IN = """
import json, re, sys
from pathlib import Path
import numpy as np
from langchain_core.embeddings import Embeddings
from preflight_rag.library.library import Library

class Letters(Embeddings):
    'Counts of bytes: embedding is not what is measured.'

    def embed_documents(self, texts):
        counts = [np.bincount(np.frombuffer(text.encode(), np.uint8) % 64, minlength=64) for text in texts]
        return (np.array(counts) / np.linalg.norm(counts, axis=1, keepdims=True)).tolist()

    def embed_query(self, text):
        return self.embed_documents([text])[0]

if __name__ == "__main__":
    with Library.open("library", embedder=Letters(), create=True) as library:
        report = library.ingest("folder")
        found = library.search(sys.argv[1]).lexical
        print(json.dumps({
            "failed": report.failed, "first": library.passages([found[0].passage_id])[0].text,
            "most": int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) // 1024,
        }))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="/proc says what a process takes")
def test_a_hundred_megabytes_of_text_in_one_file_are_taken_in(tmp_path):
    """Between two small ones; the last sentence of it is found."""
    megabytes, folder = times(1, 100), tmp_path / "folder"
    folder.mkdir()
    last = "The quokka of Rottnest weighs four kilograms."
    with (folder / "large.txt").open("w", encoding="ascii") as file:
        for number in range(megabytes * 18_500):
            file.write(f"Sample {number:08} was weighed at noon and held {number * 7 % 1013} grams.")
            file.write("\n\n" if number % 9 == 8 else " ")
        file.write(last)
    assert (folder / "large.txt").stat().st_size > megabytes * 1_000_000
    for name in ("a", "z"):
        (folder / f"{name}.txt").write_text(good_text(ord(name)), encoding="ascii")
    (tmp_path / "takes_in.py").write_text(TAKES_IN, encoding="utf-8")
    command = [sys.executable, "takes_in.py", "quokka Rottnest"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=3600)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    report(f"{megabytes} MB: at most {found['most']} MB")
    assert found["failed"] == []
    assert last in found["first"]
    assert found["most"] < 500 + 10 * megabytes
    texts = stored(tmp_path / "library")
    assert texts.keys() == {"a.txt", "large.txt", "z.txt"}
    assert len(texts["large.txt"]) > megabytes * 1_000_000


def test_no_document_has_what_sqlite_or_json_cannot_read(tmp_path, embedder):
    """One record with a field that is no number once broke the list of all documents."""
    folder = tmp_path / "folder"
    folder.mkdir()
    chosen = [each for each in hostile_files.files() if each.name.startswith(("no numbers", "half", "ids", "nested 9"))]
    assert len(chosen) > 6
    for each in chosen:
        each.write(folder)
    with Library.open(tmp_path / "library", embedder=embedder, create=True) as library:
        library.ingest(folder)
        found, total = library.catalogue.documents(limit=100)
        assert total == len(found) > 10
        assert library.catalogue.tags() is not None
        assert {"nan", "good 900", "good 990"} <= {each.id for each in found}


# ------------------------------------------------------------------------------------------------ links and names


def test_what_is_no_file_is_named_and_nothing_of_elsewhere_is_read(tmp_path, secret):
    folder = tmp_path / "folder"
    folder.mkdir()
    expected = hostile_files.special_files(folder, secret)
    (folder / "folder.txt" / "in it.txt").write_text("A file in a folder that is called as a file.", encoding="utf-8")
    os.link(folder / "folder.txt" / "in it.txt", folder / "twice.txt")
    (folder / "good.txt").write_text(good_text(1), encoding="utf-8")
    done = preflight("ingest", "folder", "--library", "library", "--json", cwd=tmp_path)
    assert (done.returncode, "Traceback" in done.stderr) == (1, False)
    report = json.loads(done.stdout)
    named = by_name([(each["source"], each["reason"]) for key in ("failed", "passed_over") for each in report[key]])
    assert {name: bool(named.get(name)) for name in expected} == {name: True for name in expected}
    texts = stored(tmp_path / "library")
    assert set(texts) == {"good.txt", "in it.txt", "twice.txt"}
    assert not any(SECRET in text or "hidden" in text for text in texts.values())


def test_names_of_every_kind_are_read_and_said_on_one_line(tmp_path):
    folder = os.fsencode(tmp_path / "folder")
    os.mkdir(folder)
    names = [name.replace(b"/", b"|") for name in NAMES]
    for number, name in enumerate(names):
        with open(os.path.join(folder, name), "wb") as file:
            file.write(good_text(number).encode())
    with open(os.path.join(folder, b"\x1b[31mred\n\xff\xe2\x80\xae.pdf"), "wb") as file:
        file.write(b"no pdf")
    first = preflight("ingest", "folder", "--library", "library", "--json", cwd=tmp_path)
    # Again, in words, and by their own names, those that look like options behind `--`.
    own = [os.path.join(b"folder", name) for name in names] + [b"folder"]
    again = preflight("ingest", "--library", "library", "--names", "--", *own, cwd=tmp_path)
    for done in (first, again):
        assert (done.returncode, "Traceback" in done.stderr) == (1, False), done.stderr
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f\u202e\ud800-\udfff]", done.stdout + done.stderr)
    assert len(stored(tmp_path / "library")) == len(names)
    (failed,) = json.loads(first.stdout)["failed"]
    assert "\\x1b[31mred\\x0a\\xff\\u202e.pdf" in failed["source"]


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="no POSIX permissions")
def test_what_may_not_be_read_is_named(tmp_path):
    folder = tmp_path / "folder"
    (folder / "closed").mkdir(parents=True)
    for name in ("good.txt", "theirs.txt", "closed/in.txt"):
        (folder / name).write_text(good_text(2), encoding="utf-8")
    (folder / "theirs.txt").chmod(0)
    (folder / "closed").chmod(0)
    command = [sys.executable, "-m", "preflight_rag", "ingest", "folder", "--library", "library", "--json"]
    if os.geteuid() == 0:  # root without what lets it read everything
        if not shutil.which("setpriv"):
            pytest.skip("root may read everything, and setpriv is not installed")
        command = ["setpriv", "--bounding-set=-dac_override,-dac_read_search", *command]
    try:
        done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    finally:
        (folder / "closed").chmod(0o700)
    assert done.returncode == 1, done.stderr
    report = json.loads(done.stdout)
    reasons = {os.path.basename(each["source"]): each["reason"] for each in report["failed"]}
    assert set(reasons) == {"theirs.txt", "closed"}
    assert all("Permission denied" in reason for reason in reasons.values())
    assert report["added"] == 1


def swapping(path: Path, other: Path) -> tuple[threading.Event, threading.Thread]:
    """Somebody who puts a link to another file in the place of one, and the file back, as fast as that goes."""
    ends = threading.Event()
    aside, link = path.with_name(".aside"), path.with_name(".link")

    def swap() -> None:
        while not ends.is_set():
            os.link(path, aside)
            link.symlink_to(other)
            link.replace(path)
            aside.replace(path)

    thread = threading.Thread(target=swap)
    thread.start()
    return ends, thread


def test_a_link_that_comes_while_files_are_read_is_not_followed(tmp_path, secret):
    path = tmp_path / "notes.txt"
    path.write_text("The notes of this folder.", encoding="utf-8")
    ends, thread = swapping(path, secret)
    found: dict[str, int] = {}
    try:
        with IsolatedLoader() as loader:
            for _ in range(times(300, 5000)):
                try:
                    (text,) = (each.text for each in loader.load(path, folder=tmp_path.resolve()))
                except UnreadableDocument as error:
                    text = error.message.removeprefix(str(path))
                found[text] = found.get(text, 0) + 1
    finally:
        ends.set()
        thread.join()
    assert SECRET not in found
    assert found["The notes of this folder."] > 0
    assert [text for text in found if "leads out" in text], found  # so the race was on


def test_a_folder_that_becomes_a_link_is_not_followed(tmp_path, secret):
    (tmp_path / "in").mkdir()
    path = tmp_path / "in" / "secret.txt"
    path.write_text("own", encoding="utf-8")
    (tmp_path / "in").rename(tmp_path / "away")
    (tmp_path / "in").symlink_to(secret.parent)
    with IsolatedLoader() as loader, pytest.raises(UnreadableDocument, match="leads out"):
        list(loader.load(path, folder=tmp_path.resolve()))


def test_a_file_that_changes_or_goes_while_it_is_read(tmp_path):
    """What is read is one version of it, or it is said that it is not."""
    path = tmp_path / "log.jsonl"
    line = json.dumps({"id": "%d", "text": "A line of the log. " * 500})
    path.write_text("".join(line % number + "\n" for number in range(400)), encoding="utf-8")
    with IsolatedLoader() as loader:
        loading = loader.load(path)
        first = next(loading)
        path.unlink()
        assert [first.id, *(each.id for each in loading)] == [str(number) for number in range(400)]
        path.write_text("".join(line % number + "\n" for number in range(400)), encoding="utf-8")
        loading = loader.load(path)
        next(loading)
        with path.open("a", encoding="utf-8") as file:
            file.write(line % 400 + "\n")
        with pytest.raises(UnreadableDocument, match="changed while it was read"):
            list(loading)


# ------------------------------------------------------------------------------------------------ limits of the reader


def test_a_reader_reaches_no_network_and_starts_no_program(canary, tmp_path):
    """Tried by a reader's own process, in Python, in C, and by a program that it may start."""
    code = f"""
import ctypes, os, socket, subprocess, sys, urllib.request
from preflight_rag.ingest.loaders.confined import confine
print(confine())
def tried(what):
    try: what()
    except PermissionError: print("refused")
    except OSError as error: print("refused" if "refused" not in str(error) and "no network" in str(error) else error)
    else: print("done")
port = {canary.server_address[1]}
tried(lambda: socket.create_connection(("127.0.0.1", port)))
tried(lambda: urllib.request.urlopen("{canary.url}"))
tried(lambda: socket.getaddrinfo("localhost", port))
tried(lambda: os.system("true"))
tried(lambda: subprocess.run([sys.executable, "-c", ""]))
tried(lambda: os.fork())
tried(lambda: os.posix_spawn("/bin/true", ["true"], {{}}))
print(ctypes.CDLL(None).socket(2, 1, 0))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    limits, *tries, number = done.stdout.splitlines()
    assert tries == ["refused"] * 7, done
    if sys.platform == "linux":
        assert "namespace" in limits or "filter" in limits
    if "filter" in limits:
        assert int(number) == -1
    assert canary.asked == []


def test_a_reader_that_works_for_too_long_is_ended_by_the_system(tmp_path):
    (slow := tmp_path / "slow.html").write_text("<ul><li>word" * 6_000, encoding="utf-8")
    (good := tmp_path / "good.txt").write_text("Zinc shortens colds.", encoding="utf-8")
    with IsolatedLoader(working_seconds=1) as loader:
        with pytest.raises(UnreadableDocument, match=r"worked for \d+ s .*PREFLIGHT_READING_SECONDS"):
            list(loader.load(slow))
        assert [each.text for each in loader.load(good)] == ["Zinc shortens colds."]


def test_bad_records_are_named_up_to_a_thousand_and_counted_beyond(tmp_path):
    path = tmp_path / "bad.jsonl"
    path.write_text("no json\n" * 5000 + '{"id": "1", "text": "The good one."}\n', encoding="utf-8")
    with IsolatedLoader() as loader:
        found = list(loader.load(path))
    errors = [str(each) for each in found if isinstance(each, DocumentError)]
    assert len(errors) == 1001
    assert "4,000 further records" in errors[-1]
    assert [each.text for each in found if not isinstance(each, DocumentError)] == ["The good one."]
