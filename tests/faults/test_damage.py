"""Damaged databases: each is named with its file and the way out, nothing wrong is shown, and what is whole is kept."""

from __future__ import annotations

import json
import random
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from fault_counts import times
from kept_threads import OF_THE_FILE
from langchain_core.embeddings import Embeddings
from serving import running

from preflight_rag import Preflight
from preflight_rag.library import Library
from preflight_rag.library.recovery import recover_if_damaged
from preflight_rag.library.search.query import SearchQuery
from preflight_rag.state.errors import PreflightError
from preflight_rag.state.values import Document
from preflight_rag.threads.recovery import recover_threads, threads_problems

pytestmark = pytest.mark.slow

Damage = Callable[[bytes, random.Random], bytes]
QUERIES = ("organ 7 pressure", "compound 21", "which compound lowers it within 13 days?")
SECRET = "rosebud"


def documents() -> list[Document]:
    text = "Compound {0} lowers the pressure of organ {1} within {0} days. "
    return [Document(id=str(n), text=text.format(n, n * 7 % 50) * 9, source=f"file{n}.txt") for n in range(40)]


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory, embedder: Embeddings) -> Path:
    """A library with a conversation; do not write to it."""
    folder = tmp_path_factory.mktemp("base") / "library"
    with Library.open(folder, embedder=embedder, create=True) as library:
        library.add(documents())
    with Preflight.open(folder, "offline", embedder=embedder, route="plain") as app:
        for question in (f"What does compound 21 lower, {SECRET}?", "And compound 13?"):
            app.ask(question, thread_id="t")
    return folder


@pytest.fixture(scope="module")
def texts(base: Path, embedder: Embeddings) -> dict[str, str]:
    with Library.open(base, embedder=embedder) as library:
        return {each.id: each.text for each in library.passages(library.all_passage_ids())}


@pytest.fixture
def folder(base: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(base, tmp_path / "library"))


def header(data: bytes, draw: random.Random) -> bytes:
    return draw.randbytes(100) + data[100:]


def page(data: bytes, draw: random.Random) -> bytes:
    at = 4096 * draw.randrange(1, len(data) // 4096)
    return data[:at] + draw.randbytes(4096) + data[at + 4096 :]


def page_of_zeros(data: bytes, draw: random.Random) -> bytes:
    at = 4096 * draw.randrange(1, len(data) // 4096)
    return data[:at] + bytes(4096) + data[at + 4096 :]


def cut_off(data: bytes, draw: random.Random) -> bytes:
    return data[: draw.randrange(1, len(data))]


def emptied(_data: bytes, _draw: random.Random) -> bytes:
    return b""


def bit(data: bytes, draw: random.Random) -> bytes:
    at = draw.randrange(len(data))
    return data[:at] + bytes([data[at] ^ 1 << draw.randrange(8)]) + data[at + 1 :]


def bytes_64(data: bytes, draw: random.Random) -> bytes:
    at = draw.randrange(len(data) - 64)
    return data[:at] + draw.randbytes(64) + data[at + 64 :]


KINDS = (header, page, page_of_zeros, cut_off, emptied, bit, bytes_64)


def outcome(work: Callable[[], object]) -> str:
    """What an error of ours says, or ""; any other error fails the test."""
    try:
        work()
    except PreflightError as error:
        said = str(error)
    else:
        return ""
    assert SECRET not in said
    assert "\n" not in said
    return said


@pytest.mark.parametrize("damage", KINDS)
def test_a_damaged_library_shows_nothing_wrong_and_keeps_what_is_whole(
    base: Path, folder: Path, embedder: Embeddings, texts: dict[str, str], damage: Damage
) -> None:
    draw = random.Random(5)
    path = folder / "library.db"
    found = {}

    def read() -> None:
        with Library.open(folder, embedder=embedder) as library:
            for query in QUERIES:
                ids = [hit.passage_id for hit in library.search(SearchQuery(query, k=40)).fused]
                found[query] = set(ids)
                assert all(texts[each.id] == each.text for each in library.passages(ids))
            list(library.documents())
            library.catalogue.documents()

    read()
    before = dict(found)
    for _ in range(times(1, 20)):
        shutil.rmtree(folder)
        shutil.copytree(base, folder)
        path.write_bytes(damage(path.read_bytes(), draw))
        harmed = path.read_bytes()
        found.clear()
        said = outcome(read)
        assert said == "" or (str(path) in said and "preflight library rebuild" in said)
        if damage in (header, emptied):  # a file that was cut off by a page that is free, or read by nobody, is whole
            assert said
        failed = outcome(lambda: recover_if_damaged(folder))
        assert failed == "" or "preflight ingest file0.txt file1.txt" in failed  # by what the index knows
        kept = sorted(folder.glob("library.db.damaged-*"))
        assert [each.read_bytes() for each in kept] == ([harmed] if said else [harmed][: len(kept)])
        with Library.open(folder, embedder=embedder, create=True) as library:
            library.rebuild()
            assert all(texts[each.id] == each.text for each in library.passages(library.all_passage_ids()))
            library.add(documents())
            assert library.verify() == []
            assert {
                query: {hit.passage_id for hit in library.search(SearchQuery(query, k=40)).fused} for query in QUERIES
            } == before


EDITS = {
    "text": ("UPDATE passages SET text = text || ' It is safe.' WHERE document_id = '21'", "passage"),
    "text of another": ("UPDATE passages SET text = (SELECT text FROM passages WHERE document_id = '3')", "passage"),
    "broken metadata of a passage": ("UPDATE passages SET metadata = '{' WHERE document_id = '21'", "passage"),
    "broken metadata": ("UPDATE documents SET metadata = '{\"year\": ' WHERE id = '21'", "document"),
    "metadata that is a list": ("UPDATE documents SET metadata = '[1]' WHERE id = '21'", "document"),
    "broken authors": ("UPDATE documents SET authors = 'Ann' WHERE id = '21'", "document"),
    "text that is no UTF-8": (
        "UPDATE passages SET text = CAST(x'ff4100fe' AS TEXT) WHERE document_id = '21'",
        "passage",
    ),
    "date of taking in that is no UTF-8": (
        "UPDATE documents SET added_at = CAST(x'32ff' AS TEXT) WHERE id = '21'",
        "document",
    ),
    "title that is no UTF-8": ("UPDATE documents SET title = CAST(x'ff41' AS TEXT) WHERE id = '21'", "document"),
    "short vector": ("UPDATE vectors SET vector = x'0000803f' WHERE row = 22", "vector"),
    "vector of other bytes": ("UPDATE vectors SET vector = x'000080' WHERE row = 22", "vector"),
    "vector that is text": ("UPDATE vectors SET vector = 'abc' WHERE row = 22", "vector"),
}


@pytest.mark.parametrize("name", EDITS)
def test_rows_that_sqlite_takes_for_whole(folder: Path, embedder: Embeddings, texts: dict[str, str], name: str) -> None:
    """No edited text is shown; the file, and how to go on, are; the document can be taken in again."""
    statement, _ = EDITS[name]
    with closing(sqlite3.connect(folder / "library.db")) as connection:
        connection.execute(statement)
        connection.commit()

    def read() -> None:
        with Library.open(folder, embedder=embedder) as library:
            for hit in library.search(SearchQuery("compound 21", k=40)).fused:
                assert library.passages([hit.passage_id])[0].text == texts[hit.passage_id]
            library.vectors(library.all_passage_ids())
            list(library.documents())

    said = outcome(read)
    assert str(folder / "library.db") in said
    assert "preflight library verify" in said
    with Library.open(folder, embedder=embedder) as library:
        assert library.verify()
    recovery = recover_if_damaged(folder)
    assert recovery is not None
    assert "file21.txt" in recovery.again
    with Library.open(folder, embedder=embedder) as library:
        library.rebuild()
        library.add(documents())
        assert library.verify() == []
    read()


def test_a_damaged_name_of_a_column_costs_nothing(folder: Path, embedder: Embeddings, texts: dict[str, str]) -> None:
    """One bit of the schema: `tokens` is `uokens` for SQLite, which finds nothing wrong with that."""
    path = folder / "library.db"
    data = path.read_bytes()
    assert data.count(b"    tokens INTEGER") == 1
    path.write_bytes(data.replace(b"    tokens INTEGER", b"    uokens INTEGER"))
    with Library.open(folder, embedder=embedder) as library:
        assert "database: passages has no column tokens" in library.verify()
    recovery = recover_if_damaged(folder)
    assert recovery is not None
    assert recovery.again == ()
    with Library.open(folder, embedder=embedder) as library:
        assert library.verify() == []
        assert {each.id: each.text for each in library.passages(library.all_passage_ids())} == texts


@pytest.mark.parametrize("damage", [bit, bytes_64, cut_off])
def test_a_damaged_log_is_kept_and_what_it_lost_is_said(
    tmp_path: Path, base: Path, embedder: Embeddings, damage: Damage
) -> None:
    """The log of a process that was killed: SQLite drops what comes after the damage without a word."""
    draw = random.Random(3)
    killed = tmp_path / "killed"
    shutil.copytree(base, killed)
    writer = "; ".join(
        (
            "import os, sys",
            "from preflight_rag.library import Library",
            "from preflight_rag.state.values import Document",
            "library = Library.open(sys.argv[1])",
            "news = lambda name, n: Document(id=f'{name}{n}', text=f'Later news {n}.', source=f'{name}{n}.txt')",
            "library.add([news('new', n) for n in range(5)])",
            "library._store._connection.execute('PRAGMA wal_autocheckpoint = 0')",
            "library.add([news('newer', n) for n in range(9)])",
            "os._exit(0)",
        )
    )
    patched = "import preflight_rag.library.storage.store as s; s.Store.flush = lambda self: None; " + writer
    subprocess.run([sys.executable, "-c", patched, killed], check=True)
    log = killed / "library.db-wal"
    whole = log.read_bytes()
    for number in range(times(1, 30)):
        folder = Path(shutil.copytree(killed, tmp_path / f"copy{number}"))
        log = folder / "library.db-wal"
        log.write_bytes(damage(whole, draw))
        with Library.open(folder, embedder=embedder) as library:
            here = {row["id"] for row in library.documents()}
            missing = [f"{kind}{n}" for kind, many in (("new", 5), ("newer", 9)) for n in range(many)]
            missing = [name for name in missing if name not in here]
            problems = "\n".join(library.verify())
            assert all(f"{name}.txt is lost" in problems for name in missing), (problems, missing)
            assert {hit.document_id for hit in library.search("later news").fused} <= here
            if missing and damage is not cut_off:
                assert list(folder.glob("library.db-wal.damaged-*"))
                assert "last writes" in " ".join(library.notes)
            library.add([Document(id="after", text="Something else.", source="after.txt")])
            assert library.search("something else").fused[0].document_id == "after"


@OF_THE_FILE
@pytest.mark.parametrize("damage", KINDS)
def test_damaged_conversations_leave_the_library_working(folder: Path, embedder: Embeddings, damage: Damage) -> None:
    draw = random.Random(11)
    path = folder / "threads.db"
    whole = path.read_bytes()

    def use() -> None:
        with Preflight.open(folder, "offline", embedder=embedder, route="plain") as app:
            app.ledger.threads()
            app.ledger.turns("t")
            app.ask("And compound 7?", thread_id="t")

    for _ in range(times(1, 12)):
        for each in folder.glob("threads.db*"):
            each.unlink()
        path.write_bytes(damage(whole, draw))
        said = outcome(use)
        if damage in (header, cut_off):
            assert str(path) in said
            assert "rebuild" in said
        with Library.open(folder, embedder=embedder) as library:
            assert library.search(QUERIES[0]).fused
            assert library.verify() == []
        if threads_problems(path):
            kept, _ = recover_threads(path)
            assert kept.exists()
        with Preflight.open(folder, "offline", embedder=embedder, route="plain") as app:
            app.ledger.threads()
            assert app.ask("What does compound 7 lower?", thread_id="new").citations


@OF_THE_FILE
def test_damaged_checkpoints_are_named_without_what_they_hold(folder: Path, embedder: Embeddings) -> None:
    draw = random.Random(2)
    path = folder / "threads.db"
    with closing(sqlite3.connect(path)) as connection:
        (blob,) = connection.execute("SELECT checkpoint FROM checkpoints WHERE thread_id = 't'").fetchone()
    assert SECRET.encode() in blob
    kinds = (bit, bytes_64, cut_off, emptied, lambda data, _: b"\xa5" + SECRET.encode())
    named = 0
    with Preflight.open(folder, "offline", embedder=embedder, route="plain") as app:
        turns = app._open_turns()
        for number in range(times(30, 500)):
            harmed = kinds[number % len(kinds)](blob, draw)
            with closing(sqlite3.connect(path)) as connection:
                connection.execute("UPDATE checkpoints SET checkpoint = ? WHERE thread_id = 't'", (harmed,))
                connection.commit()
            said = outcome(lambda: app._loop.call(turns.graph.aget_state({"configurable": {"thread_id": "t"}})))
            named += bool(said)
            assert said == "" or ("'t'" in said and "new thread" in said and str(path) in said)
        assert named > times(30, 500) / 2
        assert outcome(lambda: app.ask("And compound 7?", thread_id="t"))
        assert app.ask("What does compound 7 lower?", thread_id="new").citations
        assert app.delete_thread("t")
        assert app.ask("What does compound 7 lower?", thread_id="t").citations


@OF_THE_FILE
@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE turns SET result = substr(result, 1, 40)",
        "UPDATE turns SET settings = '[1]'",
        "UPDATE turns SET signals = x'00ff'",
        "UPDATE turns SET answer = CAST(x'726f7365627564ff' AS TEXT)",
        "UPDATE turns SET turn = 'rosebud'",
    ],
)
def test_edited_turns_are_named_without_what_they_hold(folder: Path, embedder: Embeddings, statement: str) -> None:
    with closing(sqlite3.connect(folder / "threads.db")) as connection:
        connection.execute(f"{statement} WHERE turn = 1")
        connection.commit()
    with Preflight.open(folder, "offline", embedder=embedder, route="plain") as app:
        said = outcome(lambda: app.ledger.turns("t"))
        assert str(folder / "threads.db") in said
        assert app.ask("What does compound 7 lower?", thread_id="new").citations
    if threads_problems(folder / "threads.db"):
        recover_threads(folder / "threads.db")
        with Preflight.open(folder, "offline", embedder=embedder, route="plain") as app:
            assert [turn.question for turn in app.ledger.turns("t")][1] == "And compound 13?"


@OF_THE_FILE
def test_the_command_line_repairs_both_and_says_what_to_do(folder: Path, embedder: Embeddings) -> None:
    for name in ("library.db", "threads.db"):
        data = bytearray((folder / name).read_bytes())
        at = 4096 * (len(data) // 4096 // 2)
        data[at : at + 4096] = bytes(4096)
        (folder / name).write_bytes(data)
    verified = preflight("library", "verify", "--library", folder)
    assert verified.returncode == 1
    assert "preflight library rebuild" in verified.stderr
    assert "Traceback" not in verified.stderr
    rebuilt = preflight("library", "rebuild", "--library", folder)
    assert rebuilt.returncode == 0, rebuilt.stderr
    assert "library.db was damaged, and is now library.db.damaged-" in rebuilt.stdout
    assert preflight("search", "compound 21", "--library", folder).returncode == 0
    shown = preflight("threads", "list", "--library", folder)
    assert shown.returncode == 0, shown.stderr


@OF_THE_FILE
@pytest.mark.skipif(sys.platform == "win32", reason="an open file cannot be replaced there")
def test_what_a_process_has_open_is_not_replaced(folder: Path) -> None:
    path = folder / "threads.db"
    holds = "import sqlite3, sys\nit = sqlite3.connect(sys.argv[1])\nit.execute('SELECT 1 FROM turns').fetchone()"
    command = [sys.executable, "-c", f"{holds}\nprint('open', flush=True)\nsys.stdin.read()", str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "open\n"
        harmed = header(path.read_bytes(), random.Random(5))
        path.write_bytes(harmed)
        refused = preflight("library", "rebuild", "--library", folder)
        assert (refused.returncode, path.read_bytes()) == (1, harmed), refused.stdout
        assert f"{path} is in use" in refused.stderr
        assert not list(folder.glob("*.damaged-*"))
        holder.communicate()
    rebuilt = preflight("library", "rebuild", "--library", folder)
    assert rebuilt.returncode == 0, rebuilt.stderr
    assert "threads.db was damaged" in rebuilt.stdout


@OF_THE_FILE
def test_conversations_are_read_while_the_library_is_damaged(folder: Path) -> None:
    (folder / "library.db").write_bytes(b"not a database" * 1000)
    shown = preflight("threads", "show", "t", "--library", folder)
    assert shown.returncode == 0, shown.stderr
    assert SECRET in shown.stdout


@pytest.fixture
def damaged_files(folder: Path) -> Iterator[Callable[[Damage, random.Random], None]]:
    """Damages one file of the index, drawn at random."""

    def harm(damage: Damage, draw: random.Random) -> None:
        files = sorted(each for each in (folder / "index").rglob("*") if each.is_file() and each.stat().st_size > 64)
        path = draw.choice([each for each in files if each.suffix != ".lock"])
        path.write_bytes(damage(path.read_bytes(), draw))

    return harm


def test_damaged_index_files_through_the_command_line_and_a_server(
    folder: Path, embedder: Embeddings, damaged_files: Callable[[Damage, random.Random], None], client_of
) -> None:
    """The answers of before, from an index that is made anew; `/health` says so and goes on."""
    draw = random.Random(9)
    found = json.loads(preflight("search", QUERIES[0], "--json", "--library", folder).stdout)["fused"]
    for number in range(times(1, 30)):
        damaged_files((cut_off, bit, bytes_64)[number % 3], draw)
        ended = preflight("search", QUERIES[0], "--json", "--library", folder)
        assert ended.returncode == 0, ended.stderr
        assert json.loads(ended.stdout)["fused"] == found
        assert "Traceback" not in ended.stderr
    for number in range(times(2, 100)):
        damaged_files((cut_off, bit, bytes_64)[number % 3], draw)
        with Preflight.open(folder, "offline", embedder=embedder, route="plain") as app, running(app) as url:
            client = client_of(url)
            health = client.get("/health")
            assert (health.status_code, health.json()["status"]) in ((200, "ok"), (503, "broken"))
            assert app.search(QUERIES[0]).fused
            health = client.get("/health")
            assert (health.status_code, health.json()["status"]) == (200, "ok")
            assert [hit.passage_id for hit in app.search(QUERIES[0]).fused] == [hit["passage_id"] for hit in found]


def preflight(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "preflight_rag", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)
