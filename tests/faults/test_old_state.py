"""Libraries and conversations of other versions: the first one's are read, newer ones are left alone, nothing is lost.

`first_version/` was written by the first version that had a library: three documents, four turns on three threads, of
which the last, on `foam`, was cut off because its model was gone.
"""

from __future__ import annotations

import hashlib
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from kept_threads import OF_THE_FILE
from langchain_core.embeddings import Embeddings

from preflight_rag import Preflight
from preflight_rag.graph.build import build_graph
from preflight_rag.library import Library
from preflight_rag.server.access import KeyRing
from preflight_rag.state.errors import EmbedderMismatch, LibraryError, TurnError
from preflight_rag.state.schema import STATE_VERSION, State

FIRST = Path(__file__).with_name("first_version")


@pytest.fixture
def first(tmp_path: Path) -> Path:
    return Path(shutil.copytree(FIRST, tmp_path / "library"))


def edit(path: Path, statement: str, *values: object) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(statement, values)
        connection.commit()


def one(path: Path, query: str) -> object:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(query).fetchone()[0]


def test_the_first_versions_library_is_found_as_it_was(first: Path, embedder: Embeddings) -> None:
    with Library.open(first, embedder=embedder) as library:
        assert library.verify() == []
        found = [hit.passage_id for hit in library.search("how much salt is in the sea?").fused]
        assert found == ["880ed9cff69a8e994bf4065a", "bacc58453b21c4921d676a97", "d0edaff4e392d474662ad2ae"]
        assert not library.notes
        assert library.passages(found)[0].text.endswith("Sea water holds 35 grams of salt in a litre.")


@OF_THE_FILE
def test_the_first_versions_conversations_are_read_and_go_on(first: Path, embedder: Embeddings) -> None:
    with Preflight.open(first, "offline", embedder=embedder, route="plain") as app:
        kept = sorted((row.thread_id, row.turns, row.status) for row in app.ledger.threads())
        assert kept == [("foam", 1, "failed"), ("moon", 1, "answered"), ("salt", 2, "answered")]
        salt = app.ledger.turns("salt")
        assert [turn.question for turn in salt] == ["How much salt is in the sea?", "And in a litre?"]
        assert salt[0].answer == "Sea water holds 35 grams of salt in a litre [1]."
        assert app.ask("And in the sea?", thread_id="salt").citations
        assert [turn.turn for turn in app.ledger.turns("salt")] == [1, 2, 3]


@OF_THE_FILE
def test_a_turn_that_the_first_version_left_is_finished(first: Path, embedder: Embeddings) -> None:
    """Its state lacks what today's stages read: it is begun again, from its question and its settings."""
    edit(first / "threads.db", "UPDATE turns SET model = 'offline' WHERE thread_id = 'foam'")
    with Preflight.open(first, "offline", embedder=embedder, route="plain") as app:
        answer = app.resume("foam")
        assert answer.question == "What is foam made of?"
        assert "algae" in answer.answer
        assert app.ledger.last("foam").status == "answered"


@OF_THE_FILE
@pytest.mark.parametrize("version", [0, 1])
def test_older_numbers_are_brought_up_to_date(first: Path, embedder: Embeddings, version: int) -> None:
    edit(first / "library.db", "UPDATE meta SET value = ? WHERE key = 'schema_version'", str(version))
    edit(first / "threads.db", f"PRAGMA user_version = {version if version == 0 else 0}")
    KeyRing(first).add("anna")
    edit(first / "keys.db", "PRAGMA user_version = 0")
    with Preflight.open(first, "offline", embedder=embedder, route="plain") as app:
        assert app.ask("How much salt is in the sea?", thread_id="new").citations
        assert len(app.ledger.turns("salt")) == 2
    KeyRing(first).add("ben")
    assert one(first / "library.db", "SELECT value FROM meta WHERE key = 'schema_version'") == "1"
    assert one(first / "threads.db", "PRAGMA user_version") == 1
    assert one(first / "keys.db", "PRAGMA user_version") == 1
    assert [key.name for key in KeyRing(first).all()] == ["anna", "ben"]


@OF_THE_FILE
def test_newer_databases_are_left_alone(first: Path, embedder: Embeddings) -> None:
    KeyRing(first).add("anna")
    with Preflight.open(first, "offline", embedder=embedder, route="plain") as app:
        app.ledger.threads()
    edit(first / "threads.db", "PRAGMA user_version = 99")
    edit(first / "keys.db", "PRAGMA user_version = 99")
    with Preflight.open(first, "offline", embedder=embedder, route="plain") as app:
        with pytest.raises(LibraryError, match=r"threads.db has schema 99.*Upgrade preflight-rag.*nothing was changed"):
            app.ask("How much salt is in the sea?")
        assert app.search("salt").fused  # the library itself goes on
    with pytest.raises(LibraryError, match=r"keys.db has schema 99.*Upgrade"):
        KeyRing(first).all()
    edit(first / "library.db", "UPDATE meta SET value = '99' WHERE key = 'schema_version'")
    before = {name: hashlib.sha256((first / name).read_bytes()).hexdigest() for name in ("library.db", "threads.db")}
    with pytest.raises(LibraryError, match=r"library.db has schema 99.*Upgrade"):
        Library.open(first, embedder=embedder)
    command = [sys.executable, "-m", "preflight_rag", "search", "salt", "--library", str(first)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr.count("\n")) == (1, 1)
    assert before == {name: hashlib.sha256((first / name).read_bytes()).hexdigest() for name in before}


def pending(folder: Path, embedder: Embeddings) -> None:
    """Leave a turn behind that was cut off before `answer_plain`, as a process that is killed there leaves it."""
    with Preflight.open(folder, "offline", embedder=embedder, route="plain") as app:
        app._open_turns().graph.interrupt_before_nodes = ["answer_plain"]
        app.ask("What is foam made of?", thread_id="cut")
    edit(folder / "threads.db", "UPDATE turns SET status = 'running', result = NULL WHERE thread_id = 'cut'")


@OF_THE_FILE
@pytest.mark.parametrize(("was", "now"), [("answer_plain", "write_answer")])
def test_a_turn_before_a_stage_that_has_another_name_now(first: Path, embedder: Embeddings, was: str, now: str) -> None:
    """The names of the stages stand in its checkpoint; both names are of one length, which the encoding needs."""
    pending(first, embedder)
    path = first / "threads.db"
    with closing(sqlite3.connect(path)) as connection:
        for table, column in (("checkpoints", "checkpoint"), ("writes", "value"), ("writes", "channel")):
            for row, value in connection.execute(f"SELECT rowid, {column} FROM {table}").fetchall():
                changed = (
                    value.replace(was, now) if isinstance(value, str) else value.replace(was.encode(), now.encode())
                )
                connection.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = ?", (changed, row))
        connection.commit()
    with Preflight.open(first, "offline", embedder=embedder, route="plain") as app:
        assert "algae" in app.resume("cut").answer
        assert app.ledger.last("cut").status == "answered"


@OF_THE_FILE
def test_a_turn_that_a_newer_version_began(first: Path, embedder: Embeddings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("preflight_rag.nodes.rewrite.STATE_VERSION", STATE_VERSION + 1)
    pending(first, embedder)
    monkeypatch.undo()
    with Preflight.open(first, "offline", embedder=embedder, route="plain") as app:
        with pytest.raises(TurnError, match=r"newer version.*Upgrade preflight-rag, or ask again on a new thread"):
            app.resume("cut")
        assert app.ledger.last("cut").question == "What is foam made of?"
        assert app.ask("What is foam made of?", thread_id="other").citations


def test_the_states_number_is_raised_with_its_names() -> None:
    """Where this fails, raise `STATE_VERSION`, and put the new sum beside its number."""
    names = [*sorted(build_graph().nodes), *sorted(State.__annotations__)]
    assert (STATE_VERSION, hashlib.sha256(" ".join(names).encode()).hexdigest()[:12]) == (6, "6e3ce35abc68")


class Other(Embeddings):
    """An embedder of another dimension."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [[1.0, float(len(text)), 0.5] for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return [1.0, float(len(text)), 0.5]


def test_another_embedder_is_refused_before_anything_is_changed(first: Path, embedder: Embeddings) -> None:
    before = hashlib.sha256((first / "library.db").read_bytes()).hexdigest()
    with pytest.raises(EmbedderMismatch, match=r"384 dimensions.*not .*3 dimensions.*Open it with") as refused:
        Library.open(first, embedder=Other())
    assert "\n" not in str(refused.value)
    assert hashlib.sha256((first / "library.db").read_bytes()).hexdigest() == before
    with Library.open(first, embedder=embedder) as library:
        assert library.verify() == []
