"""What somebody wrote into `threads.db` is data: types that it names are not imported, called or looked up."""

from __future__ import annotations

import asyncio
import json
import os
import pickle
import sqlite3
import time
from pathlib import Path
from typing import Any

import ormsgpack
import pytest
from fault_counts import FULL
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from preflight_rag import Preflight
from preflight_rag.library.library import Library
from preflight_rag.state.errors import PreflightError
from preflight_rag.state.values import Document
from preflight_rag.threads.sqlite_checkpoints import SqliteCheckpointer

pytestmark = pytest.mark.slow

SECRET = "a-key-of-the-environment"
ONE, MANY, NAMED, METHOD, PYDANTIC_1, PYDANTIC_2 = range(6)
"""LangGraph's codes for: call with one argument, with several, with names, a method, two versions of pydantic."""


class Touch:
    """Unpickled, it makes a file."""

    def __init__(self, canary: Path) -> None:
        self.canary = canary

    def __reduce__(self) -> Any:
        return os.system, (f"touch {self.canary}",)


def packed(code: int, *parts: Any) -> ormsgpack.Ext:
    return ormsgpack.Ext(code, ormsgpack.packb(list(parts)))


def msgpack_payloads(canary: Path) -> dict[str, ormsgpack.Ext]:
    command, call = f"touch {canary}", f"open({str(canary)!r}, 'w').close()"
    process = {"args": ["touch", str(canary)]}
    return {
        "os.system": packed(ONE, "os", "system", command),
        "eval": packed(ONE, "builtins", "eval", call),
        "exec": packed(ONE, "builtins", "exec", call),
        "getoutput": packed(ONE, "subprocess", "getoutput", command),
        "popen": packed(MANY, "subprocess", "Popen", [["touch", str(canary)]]),
        "open": packed(MANY, "builtins", "open", [str(canary), "w"]),
        "copy": packed(MANY, "shutil", "copyfile", ["/etc/hostname", str(canary)]),
        "named popen": packed(NAMED, "subprocess", "Popen", process),
        "a method": packed(METHOD, "builtins", "eval", call, "__call__"),
        "pydantic 1": packed(PYDANTIC_1, "subprocess", "Popen", process),
        "pydantic 2": packed(PYDANTIC_2, "subprocess", "Popen", process, "model_validate_json"),
        "in a set": packed(ONE, "builtins", "set", [packed(ONE, "os", "system", command)]),
        "in a delta": ormsgpack.Ext(7, ormsgpack.packb(packed(ONE, "os", "system", command))),
        "a path": packed(MANY, "pathlib", "Path", [str(canary)]),
    }


def json_payloads(canary: Path) -> dict[str, Any]:
    return {
        "lc 2": {"lc": 2, "type": "constructor", "id": ["subprocess", "Popen"], "args": [["touch", str(canary)]]},
        "lc 2 function": {"lc": 2, "type": "constructor", "id": ["os", "system"], "args": [f"touch {canary}"]},
        "lc 1": {"lc": 1, "type": "constructor", "id": ["os", "system"], "kwargs": {"command": f"touch {canary}"}},
        "lc 1 secret": {"lc": 1, "type": "secret", "id": ["PREFLIGHT_CANARY_KEY"]},
    }


NAMES = [*msgpack_payloads(Path("x")), *json_payloads(Path("x")), "pickle"]
HARMLESS = {"a path", "a method", "lc 1", "lc 1 secret"}
"""Those that do nothing by themselves even where everything is allowed."""


def hostile(name: str, canary: Path, value: Any) -> tuple[str, bytes]:
    """The type and the blob of a value with the payload in it."""
    if name == "pickle":
        return "pickle", pickle.dumps({"payload": Touch(canary)})
    if name in (found := msgpack_payloads(canary)):
        return JsonPlusSerializer().dumps_typed(_with(value, found[name]))
    return "json", json.dumps(_with(value, json_payloads(canary)[name]), default=str).encode()


def _with(value: Any, payload: Any) -> Any:
    if isinstance(value, dict) and "channel_values" in value:
        channels = {**value["channel_values"], "question": payload, "messages": [payload], "turn_id": payload}
        return {**value, "channel_values": channels}
    return [payload]


def our_serializer() -> SerializerProtocol:
    async def made() -> SerializerProtocol:  # the saver wants a loop
        return SqliteCheckpointer(None).serde  # type: ignore[arg-type]

    return asyncio.run(made())


def waited(canary: Path, seconds: float) -> bool:
    """Whether the file comes to be; a process that was started takes a moment."""
    until = time.monotonic() + seconds
    while not canary.exists() and time.monotonic() < until:
        time.sleep(0.02)
    return canary.exists()


@pytest.mark.parametrize("name", [name for name in NAMES if name not in HARMLESS])
@pytest.mark.filterwarnings("ignore")
def test_the_payloads_are_dangerous_where_everything_is_allowed(name: str, tmp_path: Path) -> None:
    """Else the next test shows nothing."""
    canary = tmp_path / "canary"
    serializer = JsonPlusSerializer(pickle_fallback=True, allowed_json_modules=True, allowed_msgpack_modules=True)
    serializer.loads_typed(hostile(name, canary, {}))
    assert waited(canary, 5.0)


@pytest.mark.parametrize("name", NAMES)
def test_our_serializer_runs_none_of_them(name: str, tmp_path: Path) -> None:
    canary = tmp_path / "canary"
    serializer = our_serializer()
    try:
        loaded = serializer.loads_typed(hostile(name, canary, {}))
    except (NotImplementedError, ValueError):  # no such way to store a value, and no such class of LangChain's
        assert name in ("pickle", "lc 1")
    else:
        assert SECRET not in repr(loaded)
    assert not waited(canary, 0.1)


@pytest.fixture(scope="module")
def folder(tmp_path_factory, embedder):
    folder = tmp_path_factory.mktemp("library")
    with Library.open(folder, embedder=embedder, create=True) as library:
        library.add([Document(id="a", text="Venus is hot. It has 465 °C.", source="s")])
    return folder


IN_POSTGRESQL = NAMES if FULL else NAMES[::5]
"""Those that are tried in PostgreSQL, too, whose saver reads them with the same serializer."""


@pytest.mark.parametrize("place", ["checkpoints", "writes"])
@pytest.mark.parametrize("name", NAMES)
def test_a_conversation_with_a_hostile_checkpoint_runs_none_of_them(
    name, place, folder, kept, tmp_path, monkeypatch, caplog
):
    if kept.url and name not in IN_POSTGRESQL:
        pytest.skip("in `make faults`")
    monkeypatch.setenv("PREFLIGHT_CANARY_KEY", SECRET)
    canary, thread = tmp_path / "canary", f"{name}-{place}".replace(" ", "-")
    with Preflight.open(folder, "offline", threads=kept.url) as app:
        app.ask("How hot is Venus?", thread_id=thread)
    put_in = _put_in_postgresql if kept.url else _put_in
    put_in(kept.url or folder / "threads.db", place, thread, lambda value: hostile(name, canary, value))
    shown = ""
    with Preflight.open(folder, "offline", threads=kept.url) as app:
        try:
            shown = repr(app.ask("And how hot is it there?", thread_id=thread))
        except PreflightError as error:
            shown = error.message
    assert not waited(canary, 0.1)
    assert "Traceback" not in shown
    assert SECRET not in shown + caplog.text


def _put_in_postgresql(url: str, place: str, thread: str, changed: Any) -> None:
    """As `_put_in`: there a checkpoint's values, all but texts and numbers, are rows of their own."""
    import psycopg

    serializer = our_serializer()
    table, key = {
        "checkpoints": ("checkpoint_blobs", ("checkpoint_ns", "channel", "version")),
        "writes": ("checkpoint_writes", ("checkpoint_ns", "checkpoint_id", "task_id", "idx")),
    }[place]
    with psycopg.connect(url) as connection:
        if place == "writes":
            query = "select checkpoint_id from checkpoints where thread_id = %s order by written desc limit 1"
            row = connection.execute(query, [thread]).fetchone()
            assert row is not None
            connection.execute(
                "insert into checkpoint_writes (thread_id, checkpoint_ns, checkpoint_id, task_id, task_path, idx,"
                " channel, type, blob) values (%s, '', %s, 'task', '', 0, 'question', %s, %s)",
                (thread, row[0], *changed(None)),
            )
        query = f"select {', '.join(key)}, type, blob from {table} where thread_id = %s and type <> 'empty'"
        rows = connection.execute(query, [thread]).fetchall()
        assert rows
        where = " and ".join(f"{name} = %s" for name in ("thread_id", *key))
        for *values, kind, blob in rows:
            if blob is None or (place == "writes" and "task" in values):
                continue
            given = (*changed(serializer.loads_typed((kind, blob))), thread, *values)
            connection.execute(f"update {table} set type = %s, blob = %s where {where}", given)


def _put_in(database: Path, place: str, thread: str, changed: Any) -> None:
    """Rewrite every blob of a thread as somebody does who can write to the file."""
    serializer = our_serializer()
    column = "checkpoint" if place == "checkpoints" else "value"
    with sqlite3.connect(database) as connection:
        rows = connection.execute(
            f"SELECT rowid, type, {column} FROM {place} WHERE thread_id = ?",
            (thread,),
        ).fetchall()
        if place == "writes" and not rows:
            [(checkpoint,)] = connection.execute(
                "SELECT checkpoint_id FROM checkpoints WHERE thread_id = ? ORDER BY rowid DESC LIMIT 1", (thread,)
            ).fetchall()
            kind, blob = changed(None)
            connection.execute(
                "INSERT INTO writes (thread_id, checkpoint_ns, checkpoint_id, task_id, task_path, idx, channel, type,"
                " value) VALUES (?, '', ?, 'task', '', 0, 'question', ?, ?)",
                (thread, checkpoint, kind, blob),
            )
        for rowid, kind, blob in rows:
            connection.execute(
                f"UPDATE {place} SET type = ?, {column} = ? WHERE rowid = ?",
                (*changed(serializer.loads_typed((kind, blob))), rowid),
            )
        assert rows or place == "writes"
    connection.close()
