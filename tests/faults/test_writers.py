"""Several that write or read one library at once, foreign locks, and folders that cannot be written."""

from __future__ import annotations

import ctypes
import itertools
import json
import re
import sqlite3
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from fault_counts import FULL, report, times
from filelock import FileLock
from kept_threads import OF_THE_FILE, Kept

import preflight_rag
from preflight_rag import Preflight
from preflight_rag.library import Library
from preflight_rag.library.search.retrieval import retrieve_passages
from preflight_rag.library.write_lock import LOCK
from preflight_rag.state.context import Settings
from preflight_rag.state.errors import LibraryError, PreflightError
from preflight_rag.testing import Reply, ScriptedServer, prompt_of

pytestmark = pytest.mark.slow

DEMO = Path(preflight_rag.__file__).parent / "demo"
QUERIES = ["How hot is Venus?", "why is the sky blue", "how do bees dance", "what is mercury"]
QUESTION = "How hot is the planet Venus?"
EDITION = re.compile(r"edition (\d+)")
ROOT_WRITES_ANYWHERE, DROP_FROM_BOUNDING_SET = 1, 24  # CAP_DAC_OVERRIDE; PR_CAPBSET_DROP of prctl(2)


def preflight(*arguments: object, **options: Any) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "preflight_rag", *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)


def one_line(errors: str) -> str:
    """What a command says of its failure; nothing else may be there, no traceback above all."""
    notices = ("model:", "note:", "another process writes ")
    lines = [line for line in errors.splitlines() if line.strip() and not line.startswith(notices)]
    lines = [line for line in lines if "onnxruntime" not in line]
    assert len(lines) == 1, errors
    return lines[0]


def write_edition(documents: Path, number: int) -> None:
    documents.mkdir(exist_ok=True)
    for path in sorted(DEMO.glob("*.md")):
        text = path.read_text(encoding="utf-8")
        (documents / path.name).write_text(f"{text}\nThis is edition {number}.\n", encoding="utf-8")


EDITOR = """
import sys
from pathlib import Path
from preflight_rag.library import Library
folder, documents, demo = map(Path, sys.argv[1:4])
with Library.open(folder) as library:
    for number in range(2, 2 + int(sys.argv[4])):
        for path in demo.glob("*.md"):
            text = path.read_text(encoding="utf-8")
            (documents / path.name).write_text(f"{text}\\nThis is edition {number}.\\n", encoding="utf-8")
        assert library.ingest([documents]).updated
"""


def test_questions_are_answered_from_one_generation_of_the_index_while_others_are_swapped_in(
    tmp_path: Path, embedder
) -> None:
    """Every document is replaced again and again by another process; each search has one edition, and none fails."""
    documents, folder = tmp_path / "documents", tmp_path / "library"
    write_edition(documents, 1)
    seen, wrong = Counter[str](), list[str]()
    with Library.open(folder, embedder=embedder, create=True) as library:
        library.ingest([documents])

        def candidates(query: str) -> list[str]:
            return [each.passage.text for each in library.candidates(query)]

        def retrieved(query: str) -> list[str]:
            return [source.text for source in retrieve_passages(library, [query], Settings()).sources()]

        def ask(way: Callable[[str], list[str]], first: int) -> None:
            number = first
            while editor.poll() is None:
                number += 1
                try:
                    editions = {found for text in way(QUERIES[number % 4]) for found in EDITION.findall(text)}
                    seen.update(editions)
                    wrong.extend([f"mixed: {editions}"] if len(editions) != 1 else [])
                except Exception as error:
                    wrong.append(f"{type(error).__name__}: {error}")
                time.sleep(0.01)

        swaps = times(2, 40)
        arguments = [str(folder), str(documents), str(DEMO), str(swaps)]
        editor = subprocess.Popen([sys.executable, "-c", EDITOR, *arguments])
        began = time.monotonic()
        asking = [threading.Thread(target=ask, args=(way, n)) for n, way in enumerate((candidates, retrieved) * 2)]
        for thread in asking:
            thread.start()
        for thread in asking:
            thread.join()
        rate = sum(seen.values()) / (time.monotonic() - began)
        assert editor.returncode == 0
        assert wrong == []
        assert len(seen) > 1
        assert (library.verify(), library.notes) == ([], [])
    report(f"{sum(seen.values())} searches, {rate:.0f} a second, {len(seen)} of {swaps + 1} editions seen")


@pytest.mark.parametrize(("route", "changes"), [("plain", 1), ("map-reduce", 1), ("plain", 3)])
def test_a_turn_whose_passages_are_replaced_on_the_way_begins_again(
    tmp_path: Path, embedder, chat_reader, route: str, changes: int
) -> None:
    documents, folder = tmp_path / "documents", tmp_path / "library"
    write_edition(documents, 1)
    with Library.open(folder, embedder=embedder, create=True) as library:
        library.ingest([documents])
        editions = iter(range(2, changes + 2))
        replacing = threading.Lock()

        def reply(body: dict[str, Any]) -> str:
            with replacing:
                for edition in itertools.islice(editions, 1):
                    write_edition(documents, edition)
                    library.ingest([documents])
            return "It is hot [1]."

        with ScriptedServer(reply) as server:
            with Preflight.open(folder, chat_reader(server), route=route, k=4, partition_size=2, rewrite="off") as app:
                answer = app.ask(QUESTION, thread_id="t")
                quotes = app.library.passages([citation.passage_id for citation in answer.citations])
                assert {EDITION.search(passage.text)[1] for passage in quotes} == {str(changes + 1)}  # type: ignore[index]
                assert answer.gaps == ()
                state = app._loop.call(app._open_turns().graph.aget_state({"configurable": {"thread_id": "t"}}))
                assert [message.type for message in state.values["messages"]] == ["human", "ai"]
                assert server.count() == answer.receipt.model_calls
                assert server.count() <= (changes + 1) * {"plain": 1, "map-reduce": 3}[route]


def test_a_second_ingest_says_that_it_waits_and_goes_on(own_folder: Path) -> None:
    lock = FileLock(own_folder / LOCK)
    lock.acquire()
    try:
        began = time.monotonic()
        second = preflight("ingest", DEMO / "tides.md", "--library", own_folder)
        assert second.stderr is not None
        line = second.stderr.readline()
        seconds = time.monotonic() - began
        assert line == f"another process writes {own_folder}; waiting for it\n"
        assert second.poll() is None
    finally:
        lock.release()
    second.communicate()
    assert second.returncode == 0
    report(f"said after {seconds:.1f} s, the start of the command included")


def test_a_first_ingest_that_finds_nothing_does_not_remove_what_another_one_takes_in(tmp_path: Path) -> None:
    """Both make the library; the one whose files are damaged cleans up after itself."""
    documents, damaged = tmp_path / "documents", tmp_path / "damaged"
    write_edition(documents, 1)
    damaged.mkdir()
    (damaged / "torn.pdf").write_bytes(b"%PDF-1.4 torn")
    for attempt in range(times(1, 20)):
        folder = tmp_path / f"library{attempt}"
        given = [damaged, documents] if attempt % 2 else [documents, damaged]
        first = preflight("ingest", given[0], "--library", folder)
        time.sleep(attempt / 10)
        second = preflight("ingest", given[1], "--library", folder)
        said = {path: process.communicate()[1] for path, process in zip(given, (first, second), strict=True)}
        status = {path: process.returncode for path, process in zip(given, (first, second), strict=True)}
        assert "Traceback" not in "".join(said.values())
        if status[documents]:  # the other one had just removed it: said, and the same command does it
            assert "was removed meanwhile" in one_line(said[documents])
            done = preflight("ingest", documents, "--library", folder)
            assert done.wait() == 0, done.communicate()[1]
            done.communicate()
        with Library.open(folder) as library:
            assert library.verify() == []
            assert library.stats()["documents"] == len(list(DEMO.glob("*.md")))


@contextmanager
def foreign_lock(database: Path) -> Iterator[None]:
    """Another program has the database's write lock."""
    with closing(sqlite3.connect(database, isolation_level=None, timeout=10, check_same_thread=False)) as connection:
        connection.execute("begin immediate")
        try:
            yield
        finally:
            connection.execute("rollback")


@pytest.mark.parametrize("seconds", [2, *([60] if FULL else [])])
def test_an_ingest_waits_for_a_foreign_lock_or_says_so_and_loses_nothing(
    own_folder: Path, tmp_path: Path, seconds: int
) -> None:
    documents = tmp_path / "documents"
    write_edition(documents, 1)
    before = 50
    with foreign_lock(own_folder / "library.db"):
        ingest = preflight("ingest", documents, "--library", own_folder)
        time.sleep(seconds)
    _, errors = ingest.communicate()
    if ingest.returncode:
        assert seconds > 30
        assert "library.db is busy" in one_line(errors)
        again = preflight("ingest", documents, "--library", own_folder)
        _, errors = again.communicate()
        assert again.returncode == 0, errors
    with Library.open(own_folder) as library:
        assert library.verify() == []
        assert library.stats()["documents"] == before + len(list(DEMO.glob("*.md")))


@pytest.mark.parametrize("seconds", [2, *([60] if FULL else [])])
def test_a_turn_waits_for_a_foreign_lock_or_says_so_and_can_be_resumed(
    own_folder: Path, chat_reader, seconds: int
) -> None:
    with ScriptedServer(default=Reply("Very hot [1].", delay=0.5)) as server:
        with Preflight.open(own_folder, chat_reader(server), route="plain", rewrite="off") as app:
            expected = app.ask(QUESTION, thread_id="before").answer
            ended: list[Any] = []

            def ask() -> None:
                try:
                    ended.append(app.ask(QUESTION, thread_id="t").answer)
                except PreflightError as error:
                    ended.append(error)

            asking = threading.Thread(target=ask)
            asking.start()
            server.wait_for(2)
            with foreign_lock(own_folder / "threads.db"):
                time.sleep(seconds)
            asking.join()
            if isinstance(ended[0], PreflightError):
                assert seconds > 30
                assert "locked" in str(ended[0])
                assert "\n" not in str(ended[0])
                ended = [app.resume("t").answer]
            assert ended == [expected]
            assert [turn.status for turn in app.ledger.turns("t")] == ["answered"]
            assert app.ask(QUESTION, thread_id="t").turn == 2
            assert server.count() <= 4


TURNS = """
import sys, time
hours = float(sys.argv[5])
if hours:
    seconds, nanoseconds = time.time, time.time_ns
    time.time = lambda: seconds() - 3600 * hours
    time.time_ns = lambda: nanoseconds() - int(3600e9 * hours)
from langchain_openai import ChatOpenAI
from preflight_rag import Preflight
folder, url, thread, questions, _, threads = sys.argv[1:7]
chat = ChatOpenAI(base_url=url, api_key="k", model="m", max_retries=0, timeout=120)
settings = {"route": "plain", "rewrite": "off", "lock_wait": 300}
with Preflight.open(folder, chat, threads=threads or None, **settings) as app:
    for question in questions.split("|"):
        app.ask(question, thread_id=thread)
"""


def takes_turns(kept: Kept, server: ScriptedServer, thread: str, questions: list[str], hours_back: float = 0) -> Any:
    told = (str(kept.folder), server.url, thread, "|".join(questions), str(hours_back), kept.url or "")
    return subprocess.Popen([sys.executable, "-c", TURNS, *told], stderr=subprocess.PIPE, text=True)


def canary(body: dict[str, Any]) -> Reply:
    """The canary of the newest question in a prompt."""
    found = re.findall(r"canary-(\d+)-(\d+)", prompt_of(body))
    conversation, number = max(found, key=lambda pair: int(pair[1]))
    return Reply(f"This is canary-{conversation}-{number} [1].", delay=0.02)


def asked(conversation: int, number: int) -> str:
    return f"How hot is Venus, says canary-{conversation}-{number}?"


def messages(app: Preflight, thread: str) -> list[str]:
    state = app._loop.call(app._open_turns().graph.aget_state({"configurable": {"thread_id": thread}}))
    return [str(message.text) for message in state.values["messages"]]


def check_conversation(app: Preflight, thread: str, numbers: list[tuple[int, int]]) -> None:
    """All its turns are there, in the order of the ledger and of the state, each with its own answer."""
    turns = app.ledger.turns(thread)
    assert [(turn.turn, turn.status) for turn in turns] == [(n, "answered") for n in range(1, len(numbers) + 1)]
    assert [turn.question for turn in turns] == [asked(*each) for each in numbers]
    assert [turn.answer for turn in turns] == ["This is canary-{}-{} [1].".format(*each) for each in numbers]
    kept = messages(app, thread)
    assert kept == [text for turn in turns for text in (turn.question, turn.answer)]


def test_processes_with_conversations_of_their_own_share_one_database(own_folder: Path, kept: Kept) -> None:
    processes, turns = times(3, 8), times(3, 40)
    with ScriptedServer(canary) as server:
        running = [
            takes_turns(kept, server, f"t{each}", [asked(each, n) for n in range(turns)]) for each in range(processes)
        ]
        assert [process.communicate()[1][-2000:] for process in running] == [""] * processes
        assert server.count() == processes * turns
        with Preflight.open(own_folder, "offline", threads=kept.url) as app:
            for each in range(processes):
                check_conversation(app, f"t{each}", [(each, n) for n in range(turns)])
    kept.check_whole()


def test_five_turns_at_once_on_one_thread_are_kept_in_order(own_folder: Path, kept: Kept, chat_reader) -> None:
    """From one process in the order in which they were asked; from five processes in the order that the ledger has."""
    with ScriptedServer(canary) as server:
        for round_ in range(times(1, 10)):
            settings = {"route": "plain", "rewrite": "off", "lock_wait": 300, "threads": kept.url}
            with Preflight.open(own_folder, chat_reader(server), **settings) as app:
                futures = []
                for number in range(5):
                    turn = app._open_turns().run(
                        app._new_request(asked(round_, number), (), (), None, False, {}),
                        thread_id=f"one{round_}",
                        lock_wait=300,
                    )
                    futures.append(app._loop._submit(drained(turn)))
                for future in futures:
                    future.result()
                check_conversation(app, f"one{round_}", [(round_, number) for number in range(5)])
        for round_ in range(times(1, 5)):
            thread = f"five{round_}"
            running = [takes_turns(kept, server, thread, [asked(7, n)]) for n in range(5)]
            assert [process.communicate()[1][-2000:] for process in running] == [""] * 5
            with Preflight.open(own_folder, "offline", threads=kept.url) as app:
                questions = [turn.question for turn in app.ledger.turns(thread)]
                assert sorted(questions) == [asked(7, n) for n in range(5)]
                assert messages(app, thread)[::2] == questions
                assert {turn.status for turn in app.ledger.turns(thread)} == {"answered"}


async def drained(turn: Any) -> None:
    async for _ in turn:
        pass


def test_the_clock_goes_back_an_hour_before_every_turn(own_folder: Path, kept: Kept) -> None:
    """Each turn has a process of its own, whose clock is an hour behind that of the one before."""
    turns = times(2, 10)
    with ScriptedServer(canary) as server:
        for number in range(turns):
            process = takes_turns(kept, server, "t", [asked(1, number)], hours_back=number)
            assert process.communicate()[1][-2000:] == ""
        with Preflight.open(own_folder, "offline", threads=kept.url) as app:
            check_conversation(app, "t", [(1, number) for number in range(turns)])


def powerless() -> None:
    """Take from root what lets it write where permissions do not; another user has no such power to lose."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(DROP_FROM_BOUNDING_SET, ROOT_WRITES_ANYWHERE, 0, 0, 0)


@pytest.fixture
def read_only(own_folder: Path) -> Iterator[Path]:
    """A library with a conversation, in a folder that cannot be written."""
    with Preflight.open(own_folder, "offline") as app:
        app.ask("Why is the sky blue?", thread_id="kept")
    everything = [own_folder, *own_folder.rglob("*")]
    for path in everything:
        path.chmod(0o555 if path.is_dir() else 0o444)
    yield own_folder
    for path in everything:
        if path.is_dir():
            path.chmod(0o755)


def files(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@OF_THE_FILE
@pytest.mark.skipif(sys.platform != "linux", reason="root writes anywhere, but for Linux, where that can be taken away")
def test_a_read_only_folder_is_asked_and_says_in_one_line_what_cannot_be_done(read_only: Path) -> None:
    before = files(read_only)

    def run(*arguments: object) -> tuple[int, str, str]:
        process = preflight(*arguments, "--library", read_only, preexec_fn=powerless)
        output, errors = process.communicate()
        return process.returncode, output, errors

    status, output, errors = run("ask", "How hot is Venus?", "--json")
    assert status == 0, errors
    assert json.loads(output)["citations"]
    assert "conversations are not kept" in errors
    status, output, _ = run("search", "How hot is Venus?", "--json")
    assert (status, json.loads(output)["fused"] != []) == (0, True)
    status, output, errors = run("threads", "show", "kept")
    assert (status, "Why is the sky blue?" in output) == (0, True), errors
    assert run("library", "verify")[:2] == (0, "the library is whole\n")
    for changing in (
        ("ingest", DEMO / "tides.md"),
        ("library", "remove", "tides.md", "--yes"),
        ("library", "rebuild"),
        ("threads", "delete", "kept"),
        ("threads", "prune"),
    ):
        status, _, errors = run(*changing)
        assert status == 1, changing
        line = one_line(errors)
        assert "copy the folder to where you may write" in line, line
        assert "permissions" not in line
    assert files(read_only) == before


LAST_WRITES = """
import os, sqlite3, sys
from pathlib import Path
from preflight_rag import Preflight

folder = Path(sys.argv[1])
with Preflight.open(folder, "offline") as app:
    app.ask("How hot is the planet Venus?", thread_id="first")
    readers = [sqlite3.connect(folder / name, isolation_level=None) for name in sys.argv[2:]]
    for reader in readers:  # whoever reads keeps the log from being brought into the database
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM sqlite_master").fetchone()
    app.ingest([folder.parent / "granite.txt"])
    app.ask("How hard is the granite of Rum?", thread_id="last")
    os._exit(0)  # as if it were killed: nothing is closed
"""


@pytest.mark.parametrize("database", ["library.db", "threads.db"])
def test_last_writes_beside_a_database_in_a_read_only_folder_are_not_passed_over(
    own_folder: Path, database: str
) -> None:
    """They are read, or named in one line: a document or a turn that is missing in silence would be worse."""
    (own_folder.parent / "granite.txt").write_text("The granite of Rum is as hard as steel.", encoding="utf-8")
    subprocess.run([sys.executable, "-c", LAST_WRITES, own_folder, database], check=True)
    log = own_folder / f"{database}-wal"
    assert log.stat().st_size > 0
    for path in own_folder.glob("*-shm"):
        path.unlink()
    for path in own_folder.glob("*-wal"):
        if path != log:
            path.unlink()
    everything = [own_folder, *own_folder.rglob("*")]
    for path in everything:
        path.chmod(0o555 if path.is_dir() else 0o444)
    before = files(own_folder)
    try:
        process = preflight("library", "list", "--library", own_folder, preexec_fn=powerless)
        listed, errors = process.communicate()
        if database == "library.db":
            assert process.returncode == 1
            assert "library.db-wal" in one_line(errors)
            assert "Copy the folder with all its files" in errors
        else:
            assert "granite" in listed, errors
            process = preflight("threads", "show", "last", "--library", own_folder, preexec_fn=powerless)
            shown, errors = process.communicate()
            assert "How hard is the granite of Rum?" in shown, errors
        assert files(own_folder) == before
    finally:
        for path in everything:
            if path.is_dir():
                path.chmod(0o755)


def test_a_library_that_was_removed_meanwhile_is_not_written_into_the_void(own_folder: Path, embedder) -> None:
    with Library.open(own_folder, embedder=embedder) as library:
        (own_folder / "library.db").rename(own_folder / "elsewhere.db")
        with pytest.raises(LibraryError, match="was removed meanwhile"):
            library.ingest([DEMO])
