"""The ledger of turns, on real files."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
import sqlite_utils
from hypothesis import given
from hypothesis import strategies as st

from preflight_rag.library.library import Library
from preflight_rag.state.errors import LibraryCorrupt, LibraryError, ThreadNotFound, TurnError, UsageError
from preflight_rag.state.values import Answer, Choice, Clarification, Document, Receipt, RouteDecision
from preflight_rag.threads.ledger import COLUMNS, Fork, Ledger
from preflight_rag.threads.sqlite_checkpoints import open_checkpointer
from preflight_rag.threads.sqlite_database import SqliteDatabase
from preflight_rag.threads.thread_store import open_ledger

DECISION = RouteDecision(name="plain", reason="IoU 0.5 > 0.2", iou=0.5, top_n=3, threshold=0.2, signals={"iou": 0.5})
RECEIPT = Receipt(model="any", model_calls=2, input_tokens=30, output_tokens=4, seconds=1.5)


@pytest.fixture
def ledger(kept):
    with open_ledger(kept.folder, kept.url) as ledger:
        yield ledger


def begin(ledger, thread_id="t", question="What?", settings=()):
    return ledger.begin(thread_id, question, settings=dict(settings), model="offline")


def answer(**changes):
    values = {"question": "What?", "standalone_question": "What?", "queries": ("What?",), "answer": "This [1]."}
    return Answer(
        **{"thread_id": "t", "turn": 1, "route": DECISION, "abstained": False, "receipt": RECEIPT, **values, **changes}
    )


def test_a_turn_begins_as_running(ledger):
    turn = begin(ledger, settings={"route": "plain", "k": 16})
    assert (turn.turn, turn.status, turn.question, turn.model) == (1, "running", "What?", "offline")
    assert turn.settings == {"route": "plain", "k": 16}
    assert (turn.signals, turn.calls, turn.seconds, turn.result) == ({}, 0, 0.0, None)
    assert ledger.turns("t") == [turn]


def test_turns_are_numbered_per_thread(ledger):
    numbers = [begin(ledger, thread).turn for thread in ("a", "b", "a", "a", "b")]
    assert numbers == [1, 1, 2, 3, 2]
    assert [turn.turn for turn in ledger.turns("a")] == [1, 2, 3]


@pytest.mark.parametrize(("abstained", "status"), [(False, "answered"), (True, "abstained")])
def test_an_answer_is_recorded_with_its_grounds_and_cost(ledger, abstained, status):
    given = answer(abstained=abstained)
    turn = ledger.finish(begin(ledger).id, answer=given)
    assert (turn.status, turn.answer, turn.error, turn.model) == (status, "This [1].", None, "any")
    assert (turn.route, turn.reason, turn.signals) == ("plain", "IoU 0.5 > 0.2", {"iou": 0.5})
    assert (turn.calls, turn.input_tokens, turn.output_tokens, turn.seconds) == (2, 30, 4, 1.5)
    assert turn.finished_at >= turn.started_at
    assert Answer.model_validate(turn.result) == given


def test_a_failure_is_recorded_with_what_was_spent(ledger):
    spent, decision = RECEIPT.model_dump(), DECISION.model_dump()
    turn = ledger.fail(begin(ledger).id, error="no reply", receipt=spent, decision=decision)
    assert (turn.status, turn.error, turn.answer, turn.result) == ("failed", "no reply", None, None)
    assert (turn.route, turn.calls, turn.seconds) == ("plain", 2, 1.5)


def test_a_turn_may_fail_before_anything_was_decided_or_spent(ledger):
    turn = ledger.fail(begin(ledger).id, error="stopped", status="interrupted")
    assert (turn.status, turn.route, turn.signals, turn.calls) == ("interrupted", None, {}, 0)


def test_a_turn_that_stays_running_is_unfinished(ledger):
    assert ledger.unfinished("t") is None
    first = begin(ledger)
    assert ledger.unfinished("t") == first
    ledger.fail(first.id, error="x")
    assert ledger.unfinished("t") is None


def test_a_resumed_turn_keeps_its_row(ledger):
    turn = begin(ledger)
    ledger.fail(turn.id, error="x", receipt=RECEIPT.model_dump())
    reopened = ledger.reopen(turn.id)
    assert reopened == replace(turn, calls=2, input_tokens=30, output_tokens=4, seconds=1.5)
    assert ledger.finish(turn.id, answer=answer()).error is None
    assert [turn.status for turn in ledger.turns("t")] == ["answered"]


def test_the_last_turn_is_the_one_with_the_highest_number(ledger):
    assert ledger.last("t") is None
    turns = [begin(ledger) for _ in range(11)]
    assert ledger.last("t") == turns[-1]


def test_threads_are_listed_by_last_use(ledger, kept):
    begin(ledger, "a", "first")
    done = ledger.finish(begin(ledger, "a", "second").id, answer=answer())
    begin(ledger, "b", "other")
    kept.rows(f"update turns set finished_at = '2999-01-01T00:00:00+00:00' where id = '{done.id}'")
    found = [(thread.thread_id, thread.turns, thread.question, thread.status) for thread in ledger.threads()]
    assert found == [("a", 2, "second", "answered"), ("b", 1, "other", "running")]
    assert ledger.threads()[0].updated.startswith("2999")


def test_a_thread_is_called_by_its_first_question_until_it_has_a_title(ledger):
    begin(ledger, "a", "first")
    begin(ledger, "a", "second")
    assert [thread.title for thread in ledger.threads()] == ["first"]
    assert ledger.rename("a", " My\n trip ") == "My trip"
    assert [thread.title for thread in ledger.threads()] == ["My trip"]
    ledger.rename("a", "")
    assert [thread.title for thread in ledger.threads()] == ["first"]


def test_a_title_goes_with_its_thread(ledger):
    begin(ledger, "a")
    ledger.rename("a", "old")
    ledger.delete("a")
    begin(ledger, "a", "new")
    assert ledger.threads()[0].title == "new"


def test_a_title_needs_a_thread_and_a_length(ledger):
    with pytest.raises(ThreadNotFound, match="'a'"):
        ledger.rename("a", "title")
    begin(ledger, "a")
    with pytest.raises(UsageError, match="201"):
        ledger.rename("a", "x" * 201)


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("ÄRGER", ["a"]),
        ("STRASSE", ["a"]),
        ("Straße", ["a"]),
        ("This [1]", ["b"]),
        ("trip", ["c"]),
        ("%", []),
        ("", ["a", "b", "c"]),
    ],
)
def test_threads_are_found_by_title_question_and_answer(ledger, query, found):
    begin(ledger, "a", "Warum der Ärger in der Straße?")
    ledger.finish(begin(ledger, "b").id, answer=answer())
    begin(ledger, "c")
    ledger.rename("c", "My Trip")
    assert sorted(thread.thread_id for thread in ledger.threads(query)) == found


def test_a_turn_that_asks_keeps_what_it_asks_and_is_not_unfinished(ledger):
    choices = (Choice(label="Bow (Iowa)", entity="Bow", descriptor="Iowa"),)
    asked = Clarification(thread_id="t", turn=1, question="What?", choices=choices)
    turn = ledger.ask(begin(ledger).id, clarification=asked, receipt=RECEIPT.model_dump())
    assert (turn.status, turn.calls, ledger.unfinished("t")) == ("asking", 2, None)
    assert Clarification.model_validate(ledger.last("t").clarification) == asked
    assert ledger.reopen(turn.id).status == "running"
    assert ledger.finish(turn.id, answer=answer()).status == "answered"


def test_a_ledger_of_an_older_version_gets_what_it_lacks(tmp_path):
    path = tmp_path / "threads.db"
    old = {name: kind for name, kind in COLUMNS.items() if name != "clarification"}
    database = sqlite_utils.Database(path)
    database["turns"].create(old, pk="id")
    row = {"id": "1", "thread_id": "t", "turn": 1, "status": "answered", "started_at": "2020", "question": "Old?"}
    database["turns"].insert({**row, "settings": "{}", "model": "m", "calls": 0, "seconds": 0.0})
    database.close()
    ledger = Ledger(SqliteDatabase(path))
    assert (ledger.last("t").question, ledger.last("t").clarification) == ("Old?", None)
    assert ledger.rename("t", "Kept") == "Kept"
    ledger.close()


def test_a_deleted_thread_is_gone_and_its_running_turn_cannot_come_back(ledger):
    turn = begin(ledger, "a")
    begin(ledger, "b")
    assert ledger.delete("a")
    assert not ledger.delete("a")
    assert [thread.thread_id for thread in ledger.threads()] == ["b"]
    assert begin(ledger, "a").id != turn.id
    with pytest.raises(TurnError, match=turn.id):
        ledger.finish(turn.id, answer=answer())


def test_many_threads_may_use_one_ledger(ledger):
    with ThreadPoolExecutor(8) as pool:
        turns = list(pool.map(lambda number: begin(ledger, f"t{number % 3}"), range(60)))
    assert sorted((turn.thread_id, turn.turn) for turn in turns) == [
        (f"t{thread}", turn) for thread in range(3) for turn in range(1, 21)
    ]


@pytest.mark.slow
def test_two_processes_never_give_one_number_twice(ledger, kept):
    script = (
        "import sys\nfrom pathlib import Path\nfrom preflight_rag.threads.thread_store import open_ledger\n"
        "with open_ledger(Path(sys.argv[1]), sys.argv[2] or None) as ledger:\n"
        "    for _ in range(25): ledger.begin('t', 'q', settings={}, model='m')\n"
    )
    command = [sys.executable, "-c", script, str(kept.folder), kept.url or ""]
    processes = [subprocess.Popen(command) for _ in range(2)]
    assert [process.wait() for process in processes] == [0, 0]
    assert [turn.turn for turn in ledger.turns("t")] == list(range(1, 51))


async def test_it_shares_its_file_with_the_checkpointer(tmp_path):
    path = tmp_path / "threads.db"
    async with open_checkpointer(path) as saver:
        ledger = Ledger(SqliteDatabase(path))
        begin(ledger)
        await saver.aprune(["t"])
        assert [turn.turn for turn in ledger.turns("t")] == [1]
        ledger.close()
    assert set(sqlite_tables(path)) == {
        "checkpoints",
        "checkpoint_order",
        "writes",
        "turns",
        "thread_titles",
        "thread_forks",
        "feedback",
    }


def sqlite_tables(path):
    database = sqlite_utils.Database(path)
    names = database.table_names()
    assert list(database.table("turns").columns_dict) == list(COLUMNS)
    database.close()
    return names


@given(question=st.text(alphabet=st.characters(exclude_categories=["Cs"])), k=st.integers(0, 2**40), on=st.booleans())
def test_any_question_and_settings_come_back_as_they_were(question, k, on):
    ledger = Ledger(SqliteDatabase(":memory:"))
    turn = ledger.begin("t", question, settings={"k": k, "deep": {"on": on}, "text": question}, model="m")
    ledger.close()
    assert (turn.question, turn.settings) == (question, {"k": k, "deep": {"on": on}, "text": question})


def test_a_file_that_is_no_database_is_named(tmp_path):
    path = tmp_path / "threads.db"
    path.write_text("not a database, but long enough to be taken for one" * 100)
    with pytest.raises(LibraryCorrupt, match=r"threads\.db cannot be read: file is not a database"):
        Ledger(SqliteDatabase(path))
    assert path.read_text().startswith("not a database")


def test_a_place_that_cannot_hold_a_file_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(LibraryError, match="cannot be used"):
        Ledger(SqliteDatabase(tmp_path / "file" / "threads.db"))


def test_a_closed_ledger_does_not_blame_the_file(tmp_path):
    ledger = Ledger(SqliteDatabase(tmp_path / "threads.db"))
    ledger.close()
    ledger.close()
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        ledger.turns("t")


def test_a_fork_has_the_turns_before_and_knows_where_it_comes_from(ledger):
    for number in range(1, 4):
        row = begin(ledger, question=f"question {number}")
        ledger.finish(row.id, answer=answer(turn=number))
    kept = ledger.fork("t", 3, "u")
    assert [(turn.thread_id, turn.turn, turn.question) for turn in kept] == [
        ("u", 1, "question 1"),
        ("u", 2, "question 2"),
    ]
    assert len(ledger.turns("t")) == 3
    assert ledger.fork_of("u") == Fork("t", 3)
    assert ledger.fork_of("t") is None
    ledger.delete("t")
    assert ledger.fork_of("u") is None
    with pytest.raises(ThreadNotFound):
        ledger.fork("u", 9, "v")


def test_what_people_think_of_an_answer_is_kept_and_taken_back(ledger):
    row = begin(ledger)
    with pytest.raises(ThreadNotFound):
        ledger.judge("t", 1, True)
    ledger.finish(row.id, answer=answer())
    for number in (2, 0, -1, 34555820220675564503040):
        with pytest.raises(ThreadNotFound, match="no answer to turn"):
            ledger.judge("t", number, True)
    ledger.judge("t", 1, True)
    ledger.judge("t", 1, False, reason=" wrong ", expected="another")
    ((turn, feedback),) = ledger.feedback()
    assert (turn.id, feedback.good, feedback.reason, feedback.expected) == (row.id, False, "wrong", "another")
    ledger.judge("t", 1, None)
    assert ledger.feedback("t") == []
    ledger.judge("t", 1, True)
    ledger.delete("t")
    assert ledger.feedback() == []


def test_databases_are_their_owners_alone(tmp_path, embedder):
    with Library.open(tmp_path, embedder=embedder, create=True) as library:
        library.add([Document(id="a", text="Zinc shortens colds.", source="s")])
        Ledger(SqliteDatabase(tmp_path / "threads.db")).close()
        files = [path for path in tmp_path.iterdir() if path.name.startswith(("library.db", "threads.db"))]
        assert {"library.db", "threads.db"} <= {path.name for path in files}
        assert [path.name for path in files if path.stat().st_mode & 0o077] == []
