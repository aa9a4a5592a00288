"""The ledger of turns: one row of the table `turns` for each question, answered or not.

It lives in the same database as the checkpoints, in plain columns and JSON, so that `sqlite-utils`, Datasette or `psql`
open it. A row is written as `running` before the turn's first step and gets its outcome after the last one, so a row
that stays `running` while nothing runs belongs to a process that was killed. `asking` is a turn that waits for the user
to say which of several things is meant. Titles of conversations are in the table `thread_titles`, the users' verdicts
on answers in `feedback`, and the origins of threads that were forked at a changed question in `thread_forks`.

Statements here are those that both kinds of `Database` understand, with named parameters as SQLite writes them.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal

from preflight_rag.state.errors import ThreadNotFound, TurnError, UsageError
from preflight_rag.threads.database import Connection, Database, ResultRow

if TYPE_CHECKING:
    from preflight_rag.state.values import Answer, Clarification

Status = Literal["running", "asking", "answered", "abstained", "failed", "interrupted"]
TABLE = "turns"
TITLES = "thread_titles"
FORKS = "thread_forks"
FEEDBACK = "feedback"
REASON_CHARACTERS = 2000
"""Longest reason, and longest correct answer, that a user may give with a verdict; a guess."""
TITLE_CHARACTERS = 200
"""Longest title of a conversation; a guess."""
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
COUNTS = {"calls": 0, "input_tokens": 0, "output_tokens": 0, "seconds": 0.0}
"""Columns that begin at zero."""
REQUIRED = {"thread_id", "turn", "status", "started_at", "question", "settings", "model", *COUNTS}
"""Columns that are never null."""


@dataclass(frozen=True)
class Turn:
    """One row of the ledger.

    `turn` counts 1, 2, 3 within the thread; `started_at` and `finished_at` are ISO 8601 in UTC; `settings` are the
    settings of the turn; `result` is the answer as `Answer.model_dump(mode="json")`, `clarification` the question that
    the turn asked the user, as `Clarification.model_dump(mode="json")`.
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
    """A thread as `threads list` shows it: number of turns, and the question, status and time of the last one.

    `title` is the one that the user gave it, else its first question.
    """

    thread_id: str
    turns: int
    question: str
    status: Status
    updated: str
    title: str


@dataclass(frozen=True)
class Feedback:
    """A user's verdict on an answer: whether it is good, why, what would be correct, and when the verdict was given."""

    turn_id: str
    good: bool
    reason: str
    expected: str
    at: str


@dataclass(frozen=True)
class Fork:
    """The origin of a forked thread: it begins with the turns of `parent` before `turn`, whose question was changed."""

    parent: str
    turn: int


class Ledger:
    """The turns of all threads in one database; may be used from any thread.

    Args:
        database: The database that holds them.
    """

    def __init__(self, database: Database) -> None:
        self.database = database

    def close(self) -> None:
        """Close the database; a second call does nothing."""
        self.database.close()

    def is_locked(self, thread_id: str) -> bool:
        """Return whether a process works on a turn of the thread."""
        return self.database.is_locked(thread_id)

    def begin(self, thread_id: str, question: str, *, settings: Mapping[str, Any], model: str) -> Turn:
        """Record that a turn starts, and give it the thread's next number."""
        with self.database.writing(thread_id) as connection:
            number = _last_number(connection, thread_id) + 1
            return self._begin(connection, thread_id, number, question, settings, model)

    def begin_unless(
        self,
        in_the_way: Callable[[Turn], bool],
        thread_id: str,
        question: str,
        *,
        settings: Mapping[str, Any],
        model: str,
    ) -> tuple[Turn | None, Turn | None]:
        """Begin a turn, unless `in_the_way` is true of the thread's newest turn.

        Return the newest turn before the call, and the turn that was begun, or None.
        """
        with self.database.writing(thread_id) as connection:
            last = self._last(connection, thread_id)
            if last is not None and in_the_way(last):
                return last, None
            number = last.turn + 1 if last else 1
            return last, self._begin(connection, thread_id, number, question, settings, model)

    def _begin(
        self,
        connection: Connection,
        thread_id: str,
        number: int,
        question: str,
        settings: Mapping[str, Any],
        model: str,
    ) -> Turn:
        """Insert the row of a turn that begins, and return it."""
        row: dict[str, Any] = {
            "id": uuid.uuid4().hex,
            "thread_id": thread_id,
            "turn": number,
            "status": "running",
            "started_at": _now(),
            "question": question,
            "settings": _json(settings),
            "model": model,
        }
        _insert(connection, row)
        return self._get(connection, row["id"])

    def finish(self, id: str, *, answer: Answer) -> Turn:
        """Record a turn's answer: the turn is now `answered` or `abstained`."""
        return self._update(id, answered(answer))

    def fail(
        self,
        id: str,
        *,
        error: str,
        receipt: Mapping[str, Any] | None = None,
        decision: Mapping[str, Any] | None = None,
        status: Literal["failed", "interrupted"] = "failed",
    ) -> Turn:
        """Record that a turn ended without an answer: it `failed`, or was `interrupted` on purpose.

        `receipt` is the turn's cost so far, as `Receipt.model_dump()`; `decision` is the route, as
        `RouteDecision.model_dump()`, if one had been chosen.
        """
        spent = _cost(receipt) if receipt else {}
        return self._update(id, {"status": status, "error": error, **_route(decision), **spent})

    def ask(self, id: str, *, clarification: Clarification, receipt: Mapping[str, Any]) -> Turn:
        """Record the question that a turn asks the user before it answers, and the turn's cost so far."""
        return self._update(id, asking(clarification, receipt))

    def reopen(self, id: str) -> Turn:
        """Set a turn without an answer to `running` again, because it is resumed or the user has replied."""
        return self._update(id, {"status": "running", "finished_at": None, "error": None})

    def turns(self, thread_id: str) -> list[Turn]:
        """Return all turns of a thread, first to last."""
        with self.database.reading() as connection:
            rows = connection.execute(
                "select * from turns where thread_id = :thread_id order by turn", {"thread_id": thread_id}
            )
            return [self._turn(row) for row in rows]

    def last(self, thread_id: str) -> Turn | None:
        """Return the thread's newest turn, None when it has none."""
        with self.database.reading() as connection:
            return self._last(connection, thread_id)

    def _last(self, connection: Connection, thread_id: str) -> Turn | None:
        """Return the thread's newest turn, read through the connection."""
        newest = "select * from turns where thread_id = :thread_id order by turn desc limit 1"
        row = connection.execute(newest, {"thread_id": thread_id}).fetchone()
        return self._turn(row) if row else None

    def unfinished(self, thread_id: str) -> Turn | None:
        """Return the thread's newest turn if it is still `running`.

        For a caller that holds the thread's lock, such a turn is one whose process was killed.
        """
        turn = self.last(thread_id)
        return turn if turn is not None and turn.status == "running" else None

    def threads(self, query: str | None = None) -> list[ThreadSummary]:
        """Return all threads, the last used first.

        With a query, only those whose title, questions or answers contain it.
        """
        newest = """
            select newest.thread_id as thread_id, spans.turns as turns, newest.question as question,
                   newest.status as status, coalesce(newest.finished_at, newest.started_at) as updated,
                   coalesce(thread_titles.title, oldest.question) as title
            from (select thread_id, min(turn) as first_turn, max(turn) as last_turn, count(*) as turns
                  from turns group by thread_id) as spans
            join turns as newest on newest.thread_id = spans.thread_id and newest.turn = spans.last_turn
            join turns as oldest on oldest.thread_id = spans.thread_id and oldest.turn = spans.first_turn
            left join thread_titles on thread_titles.thread_id = spans.thread_id
            where :query = '' or spans.thread_id in (
                select thread_id from turns where holds(:query, question) or holds(:query, answer)
                union select thread_id from thread_titles where holds(:query, title))
            order by updated desc, thread_id
        """
        with self.database.reading() as connection:
            rows = connection.execute(newest, {"query": (query or "").strip().casefold()}).fetchall()
        summaries = []
        for row in rows:
            summaries.append(ThreadSummary(**{name: row[name] for name in _names(ThreadSummary)}))
        return summaries

    def rename(self, thread_id: str, title: str) -> str:
        """Give a thread a title and return the title as stored, on one line; an empty one removes the title.

        Raises:
            UsageError: The title is too long.
            ThreadNotFound: There is no such thread.
        """
        title = " ".join(title.split())
        if len(title) > TITLE_CHARACTERS:
            raise UsageError(f"a title of {len(title)} characters is too long", help=f"Use {TITLE_CHARACTERS} at most.")
        with self.database.writing(thread_id) as connection:
            named = {"thread_id": thread_id, "title": title}
            if not connection.execute("select 1 from turns where thread_id = :thread_id limit 1", named).fetchone():
                raise ThreadNotFound(f"there is no thread {thread_id!r}", help="See `preflight threads list`.")
            connection.execute("delete from thread_titles where thread_id = :thread_id", named)
            if title:
                connection.execute("insert into thread_titles (thread_id, title) values (:thread_id, :title)", named)
        return title

    def fork(self, thread_id: str, turn: int, into: str) -> list[Turn]:
        """Begin a thread with copies of another thread's turns before `turn`, and return the copies.

        Raises:
            ThreadNotFound: There is no such thread, or it has no such turn.
            TurnError: There is a thread of the new name.
        """
        names = {"parent": thread_id, "thread_id": into}
        with self.database.writing(into) as connection:
            rows = connection.execute("select * from turns where thread_id = :parent order by turn", names).fetchall()
            if turn not in [row["turn"] for row in rows]:
                raise ThreadNotFound(f"thread {thread_id!r} has no turn {turn}", help="See `preflight threads show`.")
            if _last_number(connection, into):
                raise TurnError(f"there is a thread {into!r} already", help="Choose another name.")
            kept = [row for row in rows if row["turn"] < turn and self._turn(row).result]
            for number, row in enumerate(kept, 1):
                place = {"thread_id": into, "turn": number}
                own = {name: row[name] for name in COLUMNS}
                result = _json({**json.loads(row["result"]), **place})
                _insert(connection, {**own, "id": uuid.uuid4().hex, **place, "result": result})
            connection.execute(
                "insert into thread_forks (thread_id, parent, turn) values (:thread_id, :parent, :turn) "
                "on conflict (thread_id) do update set parent = excluded.parent, turn = excluded.turn",
                {**names, "turn": len(kept) + 1},
            )
            connection.execute(
                "insert into thread_titles (thread_id, title) "
                "select cast(:thread_id as text), title from thread_titles where thread_id = :parent",
                names,
            )
            copied = connection.execute("select * from turns where thread_id = :thread_id order by turn", names)
            return [self._turn(row) for row in copied]

    def fork_of(self, thread_id: str) -> Fork | None:
        """Return the origin of a forked thread; None if it is not a fork, or its parent was deleted."""
        query = """
            select parent, turn from thread_forks where thread_id = :thread_id
            and exists (select 1 from turns where turns.thread_id = parent)
        """
        with self.database.reading() as connection:
            row = connection.execute(query, {"thread_id": thread_id}).fetchone()
        return Fork(row["parent"], row["turn"]) if row else None

    def judge(self, thread_id: str, turn: int, good: bool | None, *, reason: str = "", expected: str = "") -> None:
        """Record a user's verdict on an answer; None withdraws it.

        Raises:
            ThreadNotFound: There is no such turn, or it has no answer.
            UsageError: The reason or the right answer is too long.
        """
        reason, expected = reason.strip(), expected.strip()
        if len(longest := max(reason, expected, key=len)) > REASON_CHARACTERS:
            raise UsageError(
                f"{len(longest)} characters are too long for a reason", help=f"Use {REASON_CHARACTERS} at most."
            )
        with self.database.writing(thread_id) as connection:
            # Compared in Python: the number may be larger than the database's integers.
            query = "select turn, id from turns where thread_id = :thread_id and result is not null"
            ids = {row["turn"]: row["id"] for row in connection.execute(query, {"thread_id": thread_id}).fetchall()}
            if turn not in ids:
                help = "See `preflight threads show`."
                raise ThreadNotFound(f"thread {thread_id!r} has no answer to turn {turn}", help=help)
            values = {
                "turn_id": ids[turn],
                "good": int(bool(good)),
                "reason": reason,
                "expected": expected,
                "at": _now(),
            }
            connection.execute("delete from feedback where turn_id = :turn_id", values)
            if good is not None:
                connection.execute(
                    "insert into feedback (turn_id, good, reason, expected, at) "
                    "values (:turn_id, :good, :reason, :expected, :at)",
                    values,
                )

    def feedback(self, thread_id: str | None = None) -> list[tuple[Turn, Feedback]]:
        """Return the turns with the user's verdict, in the order of their questions.

        Without `thread_id`, return those of all threads.
        """
        query = """
            select turns.*, feedback.good as good, feedback.reason as why, feedback.expected as expected,
                   feedback.at as at
            from feedback join turns on turns.id = feedback.turn_id
            where cast(:thread_id as text) is null or turns.thread_id = :thread_id order by turns.started_at, turns.id
        """
        with self.database.reading() as connection:
            rows = connection.execute(query, {"thread_id": thread_id}).fetchall()
        return [
            (self._turn(row), Feedback(row["id"], bool(row["good"]), row["why"], row["expected"], row["at"]))
            for row in rows
        ]

    def delete(self, thread_id: str) -> bool:
        """Remove a thread's turns and its title; return whether there were any."""
        with self.database.writing(thread_id) as connection:
            named = {"thread_id": thread_id}
            connection.execute("delete from thread_titles where thread_id = :thread_id", named)
            connection.execute("delete from thread_forks where thread_id = :thread_id", named)
            connection.execute(
                "delete from feedback where turn_id in (select id from turns where thread_id = :thread_id)", named
            )
            return bool(connection.execute("delete from turns where thread_id = :thread_id", named).rowcount)

    def _update(self, id: str, values: Mapping[str, Any]) -> Turn:
        """Change columns of a turn in a transaction, and return the turn."""
        with self.database.writing() as connection:
            self.change(connection, id, values)
            return self._get(connection, id)

    def change(self, connection: Connection, id: str, values: Mapping[str, Any]) -> None:
        """Change columns of a turn within a transaction that may belong to another connection of the same database.

        Raises:
            TurnError: There is no such turn.
        """
        values = {"finished_at": _now(), **values}
        changes = ", ".join(f"{name} = :{name}" for name in values)
        if not connection.execute(f"update {TABLE} set {changes} where id = :id", {**values, "id": id}).rowcount:  # noqa: S608  # names of columns
            raise TurnError(f"Turn {id!r} is not in {self.database.name}", help="Its thread was deleted while it ran.")

    def _get(self, connection: Connection, id: str) -> Turn:
        """Return the turn of an id."""
        return self._turn(connection.execute("select * from turns where id = :id", {"id": id}).fetchone())

    def _turn(self, row: ResultRow) -> Turn:
        """Return a row as a `Turn`; raise `DatabaseCorrupt`, without quoting the row, if it is damaged."""
        try:
            return _turn(row)
        except (ValueError, TypeError):
            number = row["turn"] if isinstance(row["turn"], int) else ""
            where = f"turn {number} of thread {row['thread_id']!r} is not as it was written"
            raise self.database.damaged(where) from None


def answered(answer: Answer) -> dict[str, Any]:
    """Return the columns that `Ledger.finish` records."""
    return {
        "status": "abstained" if answer.abstained else "answered",
        "model": answer.receipt.model,
        "answer": answer.answer,
        "error": None,
        "result": _json(answer.model_dump(mode="json")),
        **_route(answer.route.model_dump()),
        **_cost(answer.receipt.model_dump()),
    }


def asking(clarification: Clarification, receipt: Mapping[str, Any]) -> dict[str, Any]:
    """Return the columns that `Ledger.ask` records."""
    asked = _json(clarification.model_dump(mode="json"))
    return {"status": "asking", "clarification": asked, **_cost(receipt)}


def _insert(connection: Connection, row: Mapping[str, Any]) -> None:
    """Insert a row into `turns`."""
    marks = ", ".join(f":{name}" for name in row)
    connection.execute(f"insert into {TABLE} ({', '.join(row)}) values ({marks})", row)  # noqa: S608  # names of columns


def _last_number(connection: Connection, thread_id: str) -> int:
    """Return the number of the thread's last turn, 0 if there is none."""
    query = "select coalesce(max(turn), 0) as number from turns where thread_id = :thread_id"
    return int(connection.execute(query, {"thread_id": thread_id}).fetchone()["number"])


def _turn(row: ResultRow) -> Turn:
    """Return a row as a turn; raise if one of its values is of a wrong type."""
    values = {name: row[name] for name in _names(Turn)}
    loaded = {name: None if values[name] is None else json.loads(values[name]) for name in JSON_COLUMNS}
    kinds: dict[type, tuple[type, ...]] = {str: (str,), int: (int,), float: (int, float)}
    for name, kind in COLUMNS.items():
        if values[name] is not None and not isinstance(values[name], kinds[kind]):
            raise TypeError(name)
    if not all(isinstance(value, dict | type(None)) for value in loaded.values()):
        raise TypeError("no JSON object")
    return Turn(**{**values, **loaded, "signals": loaded["signals"] or {}})


def _route(decision: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the columns that a route decision fills; none without a decision."""
    if not decision:
        return {}
    signals = _json(decision.get("signals") or {})
    return {"route": decision["name"], "reason": decision["reason"], "signals": signals}


def _cost(receipt: Mapping[str, Any]) -> dict[str, Any]:
    """Return the columns that a receipt fills."""
    names = {"calls": "model_calls", "input_tokens": "input_tokens", "output_tokens": "output_tokens"}
    return {column: receipt.get(name, 0) for column, name in names.items()} | {"seconds": receipt.get("seconds", 0.0)}


def _names(kind: type) -> list[str]:
    """Return the names of a dataclass's fields."""
    return [field.name for field in fields(kind)]


def _json(value: Any) -> str:
    """Return a value as JSON, with text for values that JSON does not have."""
    return json.dumps(value, ensure_ascii=False, default=str)


def _now() -> str:
    """Return the present time in ISO 8601, in UTC."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")
