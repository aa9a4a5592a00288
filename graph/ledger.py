"""The ledger of turns: one row of the table `turns` for each question, answered or not.

It lives in the same `threads.db` as the checkpoints, in plain columns and JSON, so that `sqlite-utils` and Datasette
open it. A row is written as `running` before the turn's first step and brought to its outcome after the last, so a row
that stays `running` while nothing runs tells of a process that was killed. `asking` is a turn that waits for the person
to say which of several things is meant. Titles that people gave their conversations are in the table `thread_titles`,
what they thought of answers in `feedback`, and which thread is another one with a question changed in `thread_forks`.

sqlite-utils makes the table; rows are read and written with plain `sqlite3`, because a question should not wait for
what sqlite-utils imports (pandas, where it is installed).
"""

from __future__ import annotations

import json
import sqlite3
import threading
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from preflight_rag.library.storage.store import make_private
from preflight_rag.state.errors import (
    BUSY,
    LibraryBusy,
    LibraryCorrupt,
    LibraryError,
    PreflightError,
    ThreadNotFound,
    TurnError,
    UsageError,
    system_help,
)

if TYPE_CHECKING:
    from preflight_rag.state.values import Answer, Clarification

Status = Literal["running", "asking", "answered", "abstained", "failed", "interrupted"]
TABLE = "turns"
TITLES = "thread_titles"
FORKS = "thread_forks"
FEEDBACK = "feedback"
REASON_CHARACTERS = 2000
"""Longest reason, and longest right answer, that somebody may give; a guess."""
TITLE_CHARACTERS = 200
"""Longest title of a conversation; a guess."""
BUSY_SECONDS = 30.0
"""How long a call waits for another writer; a guess, far above the milliseconds that a write takes."""
COLUMNS: dict[str, type] = {
    "id": str,
    "thread_id": str,
    "turn": int,
    "status": str,
    "started_at": str,
    "finished_at": str,
    "question": str,
    "route": str,
    "reason": str,
    "signals": str,
    "settings": str,
    "model": str,
    "calls": int,
    "input_tokens": int,
    "output_tokens": int,
    "seconds": float,
    "answer": str,
    "error": str,
    "result": str,
    "clarification": str,
}
JSON_COLUMNS = ("signals", "settings", "result", "clarification")


@dataclass(frozen=True)
class Turn:
    """One row of the ledger.

    `turn` counts 1, 2, 3 within the thread; `started_at` and `finished_at` are ISO 8601 in UTC; `settings` is what the
    turn was asked with; `result` is the answer as `Answer.model_dump(mode="json")`, `clarification` what the turn asked
    the person, as `Clarification.model_dump(mode="json")`.
    """

    id: str
    thread_id: str
    turn: int
    status: Status
    started_at: str
    finished_at: str | None
    question: str
    route: str | None
    reason: str | None
    signals: dict[str, float]
    settings: dict[str, Any]
    model: str
    calls: int
    input_tokens: int
    output_tokens: int
    seconds: float
    answer: str | None
    error: str | None
    result: dict[str, Any] | None
    clarification: dict[str, Any] | None = None


@dataclass(frozen=True)
class ThreadSummary:
    """A thread as `threads list` shows it: how many turns, and its last turn's question, status and time.

    `title` is the one it was given, else its first question.
    """

    thread_id: str
    turns: int
    question: str
    status: Status
    updated: str
    title: str


@dataclass(frozen=True)
class Feedback:
    """What a person thought of a turn's answer: whether it is good, why, what would be right, and when it was said."""

    turn_id: str
    good: bool
    reason: str
    expected: str
    at: str


@dataclass(frozen=True)
class Fork:
    """Where a thread comes from: its first turns are those of `parent` before `turn`, whose question was changed."""

    parent: str
    turn: int


class Ledger:
    """The turns of all threads in one database file.

    It has a connection of its own, so it works beside a checkpointer that has the same file open, and may be used from
    any thread, one call at a time. A call waits up to 30 seconds for another writer.

    Args:
        path: The database; made, with its folder, when it is not there.

    Raises:
        LibraryCorrupt: The file is not a readable SQLite database.
        LibraryError: The file cannot be opened or made.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._lock = threading.Lock()
        with translated_errors(self.path):
            make_database(self.path)
            self._connection = sqlite3.connect(
                self.path, timeout=BUSY_SECONDS, check_same_thread=False, isolation_level=None
            )
            self._connection.row_factory = sqlite3.Row
            try:
                self._connection.execute("pragma synchronous = normal")
                self._connection.create_function("holds", 2, _holds, deterministic=True)
                if not self._is_complete():
                    self._create_tables()
            except BaseException:
                self._connection.close()
                raise

    def close(self) -> None:
        """Close the connection; a second time does nothing."""
        with self._lock:
            self._connection.close()

    def begin(self, thread_id: str, question: str, *, settings: Mapping[str, Any], model: str) -> Turn:
        """Record that a turn starts, and give it the thread's next number."""
        with self._writing() as connection:
            row: dict[str, Any] = {
                "id": uuid.uuid4().hex,
                "thread_id": thread_id,
                "turn": _last_number(connection, thread_id) + 1,
                "status": "running",
                "started_at": _now(),
                "question": question,
                "settings": _json(settings),
                "model": model,
            }
            marks = ", ".join(f":{name}" for name in row)
            connection.execute(f"insert into {TABLE} ({', '.join(row)}) values ({marks})", row)  # noqa: S608  # names of columns
            return _get(connection, row["id"])

    def finish(self, id: str, *, answer: Answer) -> Turn:
        """Record a turn's answer: the turn is now `answered` or `abstained`."""
        return self._update(
            id,
            status="abstained" if answer.abstained else "answered",
            model=answer.receipt.model,
            answer=answer.answer,
            error=None,
            result=_json(answer.model_dump(mode="json")),
            **_route(answer.route.model_dump()),
            **_cost(answer.receipt.model_dump()),
        )

    def fail(
        self,
        id: str,
        *,
        error: str,
        receipt: Mapping[str, Any] | None = None,
        decision: Mapping[str, Any] | None = None,
        status: Literal["failed", "interrupted"] = "failed",
    ) -> Turn:
        """Record that a turn came to no answer: it `failed`, or was `interrupted` on purpose.

        `receipt` is what it had spent, as `Receipt.model_dump()`; `decision` is the route, as
        `RouteDecision.model_dump()`, where one had been chosen.
        """
        spent = _cost(receipt) if receipt else {}
        return self._update(id, status=status, error=error, **_route(decision), **spent)

    def ask(self, id: str, *, clarification: Clarification, receipt: Mapping[str, Any]) -> Turn:
        """Record that a turn asks the person first, and what it had spent by then."""
        asked = _json(clarification.model_dump(mode="json"))
        return self._update(id, status="asking", clarification=asked, **_cost(receipt))

    def reopen(self, id: str) -> Turn:
        """Set a turn that came to no answer to `running` again, because it is resumed or was replied to."""
        return self._update(id, status="running", finished_at=None, error=None)

    def turns(self, thread_id: str) -> list[Turn]:
        """All turns of a thread, first to last."""
        with self._reading() as connection:
            rows = connection.execute("select * from turns where thread_id = ? order by turn", [thread_id])
            return [_turn(row) for row in rows]

    def last(self, thread_id: str) -> Turn | None:
        """The thread's newest turn, None when it has none."""
        newest = "select * from turns where thread_id = ? order by turn desc limit 1"
        with self._reading() as connection:
            row = connection.execute(newest, [thread_id]).fetchone()
            return _turn(row) if row else None

    def unfinished(self, thread_id: str) -> Turn | None:
        """The thread's newest turn if it is still `running`.

        To a caller that holds the thread's lock this is a turn whose process was killed.
        """
        turn = self.last(thread_id)
        return turn if turn is not None and turn.status == "running" else None

    def threads(self, query: str | None = None) -> list[ThreadSummary]:
        """All threads, the one used last first; with a query, those whose title, questions or answers hold it."""
        newest = """
            select thread_id, max(turn) as turn, count(*) as turns, question, status,
                   coalesce(finished_at, started_at) as updated,
                   coalesce((select title from thread_titles where thread_titles.thread_id = turns.thread_id),
                            (select question from turns as first where first.thread_id = turns.thread_id
                             order by turn limit 1)) as title
            from turns
            where :query = '' or thread_id in (
                select thread_id from turns where holds(:query, question) or holds(:query, answer)
                union select thread_id from thread_titles where holds(:query, title))
            group by thread_id order by updated desc, thread_id
        """
        with self._reading() as connection:
            rows = connection.execute(newest, {"query": (query or "").strip().casefold()}).fetchall()
        return [ThreadSummary(**{name: row[name] for name in _names(ThreadSummary)}) for row in rows]

    def rename(self, thread_id: str, title: str) -> str:
        """Give a thread a title, and say how it is kept: on one line; an empty one takes the title away.

        Raises:
            UsageError: The title is too long.
            ThreadNotFound: There is no such thread.
        """
        title = " ".join(title.split())
        if len(title) > TITLE_CHARACTERS:
            raise UsageError(f"a title of {len(title)} characters is too long", help=f"Use {TITLE_CHARACTERS} at most.")
        with self._writing() as connection:
            if not connection.execute("select 1 from turns where thread_id = ?", [thread_id]).fetchone():
                raise ThreadNotFound(f"there is no thread {thread_id!r}", help="See `preflight threads list`.")
            connection.execute("delete from thread_titles where thread_id = ?", [thread_id])
            if title:
                connection.execute("insert into thread_titles (thread_id, title) values (?, ?)", [thread_id, title])
        return title

    def fork(self, thread_id: str, turn: int, into: str) -> list[Turn]:
        """Begin a thread with copies of another one's turns before `turn`, and say which they are.

        Raises:
            ThreadNotFound: There is no such thread, or it has no such turn.
            TurnError: There is a thread of the new name.
        """
        with self._writing() as connection:
            rows = connection.execute("select * from turns where thread_id = ? order by turn", [thread_id]).fetchall()
            if turn not in [row["turn"] for row in rows]:
                raise ThreadNotFound(f"thread {thread_id!r} has no turn {turn}", help="See `preflight threads show`.")
            if _last_number(connection, into):
                raise TurnError(f"there is a thread {into!r} already", help="Choose another name.")
            names = ", ".join(COLUMNS)
            marks = ", ".join(f":{name}" for name in COLUMNS)
            kept = [row for row in rows if row["turn"] < turn and row["result"]]
            for number, row in enumerate(kept, 1):
                place = {"thread_id": into, "turn": number}
                result = _json({**json.loads(row["result"]), **place})
                copy = {**dict(row), "id": uuid.uuid4().hex, **place, "result": result}
                connection.execute(f"insert into {TABLE} ({names}) values ({marks})", copy)  # noqa: S608  # names of columns
            connection.execute(
                "insert or replace into thread_forks (thread_id, parent, turn) values (?, ?, ?)",
                [into, thread_id, len(kept) + 1],
            )
            connection.execute(
                "insert into thread_titles (thread_id, title) select ?, title from thread_titles where thread_id = ?",
                [into, thread_id],
            )
            copied = connection.execute("select * from turns where thread_id = ? order by turn", [into])
            return [_turn(row) for row in copied]

    def fork_of(self, thread_id: str) -> Fork | None:
        """Where a thread comes from, None where it is no other one's, or that one is gone."""
        query = """
            select parent, turn from thread_forks where thread_id = ?
            and exists (select 1 from turns where turns.thread_id = parent)
        """
        with self._reading() as connection:
            row = connection.execute(query, [thread_id]).fetchone()
        return Fork(row["parent"], row["turn"]) if row else None

    def judge(self, thread_id: str, turn: int, good: bool | None, *, reason: str = "", expected: str = "") -> None:
        """Keep what a person thought of an answer; None takes it back.

        Raises:
            ThreadNotFound: There is no such turn, or it has no answer.
            UsageError: The reason or the right answer is too long.
        """
        reason, expected = reason.strip(), expected.strip()
        if len(longest := max(reason, expected, key=len)) > REASON_CHARACTERS:
            raise UsageError(
                f"{len(longest)} characters are too long for a reason", help=f"Use {REASON_CHARACTERS} at most."
            )
        with self._writing() as connection:
            query = "select id from turns where thread_id = ? and turn = ? and result is not null"
            row = connection.execute(query, [thread_id, turn]).fetchone()
            if row is None:
                help = "See `preflight threads show`."
                raise ThreadNotFound(f"thread {thread_id!r} has no answer to turn {turn}", help=help)
            connection.execute("delete from feedback where turn_id = ?", [row["id"]])
            if good is not None:
                values = [row["id"], int(good), reason, expected, _now()]
                connection.execute(
                    "insert into feedback (turn_id, good, reason, expected, at) values (?, ?, ?, ?, ?)", values
                )

    def feedback(self, thread_id: str | None = None) -> list[tuple[Turn, Feedback]]:
        """The turns that somebody has judged, in the order in which they were asked; of one thread, or of all."""
        query = """
            select turns.*, feedback.good as good, feedback.reason as why, feedback.expected as expected,
                   feedback.at as at
            from feedback join turns on turns.id = feedback.turn_id
            where :thread_id is null or turns.thread_id = :thread_id order by turns.started_at, turns.id
        """
        with self._reading() as connection:
            rows = connection.execute(query, {"thread_id": thread_id}).fetchall()
        return [
            (_turn(row), Feedback(row["id"], bool(row["good"]), row["why"], row["expected"], row["at"])) for row in rows
        ]

    def delete(self, thread_id: str) -> bool:
        """Remove a thread's turns and its title; False when there were none."""
        with self._writing() as connection:
            connection.execute("delete from thread_titles where thread_id = ?", [thread_id])
            connection.execute("delete from thread_forks where thread_id = ?", [thread_id])
            connection.execute(
                "delete from feedback where turn_id in (select id from turns where thread_id = ?)", [thread_id]
            )
            return bool(connection.execute("delete from turns where thread_id = ?", [thread_id]).rowcount)

    def _update(self, id: str, **values: Any) -> Turn:
        values = {"finished_at": _now(), **values}
        changes = ", ".join(f"{name} = :{name}" for name in values)
        with self._writing() as connection:
            if not connection.execute(f"update {TABLE} set {changes} where id = :id", {**values, "id": id}).rowcount:  # noqa: S608  # names of columns
                raise TurnError(f"Turn {id!r} is not in {self.path}", help="Its thread was deleted while it ran.")
            return _get(connection, id)

    def _is_complete(self) -> bool:
        """Whether the file has all tables, with every column; one of an older version lacks some."""
        columns = {row["name"] for row in self._connection.execute("select name from pragma_table_info(?)", [TABLE])}
        marks = [TITLES, FORKS, FEEDBACK]
        (others,) = self._connection.execute(
            "select count(*) from sqlite_master where name in (?, ?, ?)", marks
        ).fetchone()
        return others == len(marks) and columns >= set(COLUMNS)

    def _create_tables(self) -> None:
        from sqlite_utils import Database

        counts = {"calls": 0, "input_tokens": 0, "output_tokens": 0, "seconds": 0.0}
        required = {"thread_id", "turn", "status", "started_at", "question", "settings", "model", *counts}
        with self._writing() as connection:
            database = Database(connection)
            table, titles = database.table(TABLE), database.table(TITLES)
            if not table.exists():
                table.create(COLUMNS, pk="id", not_null=required, defaults=counts)
                table.create_index(["thread_id", "turn"], unique=True)
            for name in COLUMNS.keys() - table.columns_dict.keys():
                table.add_column(name, COLUMNS[name])
            if not titles.exists():
                titles.create({"thread_id": str, "title": str}, pk="thread_id", not_null={"title"})
            forks, feedback = database.table(FORKS), database.table(FEEDBACK)
            if not forks.exists():
                forks.create({"thread_id": str, "parent": str, "turn": int}, pk="thread_id")
            if not feedback.exists():
                columns = {"turn_id": str, "good": int, "reason": str, "expected": str, "at": str}
                feedback.create(columns, pk="turn_id", not_null=set(columns) - {"turn_id"})

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        with self._lock, translated_errors(self.path):
            yield self._connection

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """A transaction that holds the write lock from its start: what it reads stays true until it writes."""
        with self._reading() as connection:
            connection.execute("begin immediate")
            try:
                yield connection
            except BaseException:
                connection.rollback()
                raise
            connection.commit()


@contextmanager
def translated_errors(path: Path) -> Iterator[None]:
    """Raise what SQLite and the file system say about `path` as errors of ours.

    Raises:
        LibraryCorrupt: The file is not a readable SQLite database.
        LibraryBusy: The file was locked for too long.
        LibraryError: The file cannot be opened, made or written.
    """
    try:
        yield
    except PreflightError:
        raise  # a retryable one is an `OSError`, too
    except (OSError, sqlite3.OperationalError) as error:
        help = system_help(error)
        kind = LibraryBusy if help == BUSY else LibraryError
        raise kind(f"The database of threads {path} cannot be used: {error}", help=help) from error
    except sqlite3.DatabaseError as error:
        if type(error) is not sqlite3.DatabaseError:
            raise
        help = "Move the file away: a new one is made at the next turn."
        raise LibraryCorrupt(f"The database of threads {path} cannot be read: {error}", help=help) from error


def make_database(path: Path) -> None:
    """Make the file and its folder where they are missing, in WAL mode: readers and a writer work side by side.

    Processes that do this at the same time refuse each other at once, whatever their timeout, so it is tried again.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    make_private(path)
    deadline = time.monotonic() + BUSY_SECONDS
    with closing(sqlite3.connect(path, timeout=BUSY_SECONDS)) as connection:
        while True:
            try:
                connection.execute("pragma journal_mode = wal")
                return
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or time.monotonic() > deadline:
                    raise
            time.sleep(0.01)


def _holds(query: str, text: str | None) -> bool:
    """Whether a text holds a casefolded query."""
    return text is not None and query in text.casefold()


def _last_number(connection: sqlite3.Connection, thread_id: str) -> int:
    query = "select coalesce(max(turn), 0) from turns where thread_id = ?"
    return int(connection.execute(query, [thread_id]).fetchone()[0])


def _get(connection: sqlite3.Connection, id: str) -> Turn:
    return _turn(connection.execute("select * from turns where id = ?", [id]).fetchone())


def _turn(row: sqlite3.Row) -> Turn:
    values = {name: row[name] for name in _names(Turn)}
    loaded = {name: None if values[name] is None else json.loads(values[name]) for name in JSON_COLUMNS}
    return Turn(**{**values, **loaded, "signals": loaded["signals"] or {}})


def _route(decision: Mapping[str, Any] | None) -> dict[str, Any]:
    if not decision:
        return {}
    signals = _json(decision.get("signals") or {})
    return {"route": decision["name"], "reason": decision["reason"], "signals": signals}


def _cost(receipt: Mapping[str, Any]) -> dict[str, Any]:
    names = {"calls": "model_calls", "input_tokens": "input_tokens", "output_tokens": "output_tokens"}
    return {column: receipt.get(name, 0) for column, name in names.items()} | {"seconds": receipt.get("seconds", 0.0)}


def _names(kind: type) -> list[str]:
    return [field.name for field in fields(kind)]


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
