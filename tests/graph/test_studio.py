"""The graph in a running LangGraph server, through its own client."""

import contextlib
import os
import socket
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest
from langgraph_sdk import get_sync_client

from preflight_rag.graph.studio import StudioContext, resolve
from preflight_rag.state.errors import UsageError

ROOT = Path(__file__).parents[2]
QUESTION = {"messages": [{"role": "user", "content": "How hot is the planet Venus?"}]}


@pytest.fixture
def server(own_folder, tmp_path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = os.environ | {"PREFLIGHT_LIBRARY": str(own_folder), "PREFLIGHT_MODEL": "offline"}
    command = [Path(sys.executable).parent / "langgraph", "dev", "--no-browser", "--no-reload", "--port", str(port)]
    log = tmp_path / "server.log"
    with log.open("wb") as output:
        process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=output, stderr=output)
        try:
            wait_for(f"http://127.0.0.1:{port}/ok", process, log)
            yield f"http://127.0.0.1:{port}", log
        finally:
            process.terminate()
            process.wait(timeout=30)


def wait_for(url, process, log):
    with httpx.Client(timeout=2) as client:
        for _ in range(600):
            assert process.poll() is None, log.read_text()
            with contextlib.suppress(httpx.TransportError):
                if client.get(url).status_code == 200:
                    return
            time.sleep(0.2)
    raise AssertionError(log.read_text())


def test_a_conversation_in_the_server_is_kept_in_sqlite(server, own_folder):
    url, log = server
    with get_sync_client(url=url) as client:
        assistant = client.assistants.search(graph_id="preflight")[0]
        thread = client.threads.create()
        context = {"route": "map-reduce", "k": 8}
        state = client.runs.wait(thread["thread_id"], assistant["assistant_id"], input=QUESTION, context=context)
        assert state["decision"]["name"] == "map_reduce"
        assert len(state["passages"]) == 8
        again = {"messages": [{"role": "user", "content": "And Mercury?"}]}
        state = client.runs.wait(thread["thread_id"], assistant["assistant_id"], input=again)
        assert len(state["messages"]) == 4
        properties = client.assistants.get_schemas(assistant["assistant_id"])["context_schema"]["properties"]
    assert {"library", "model", "route", "k", "threshold"} <= set(properties)
    with sqlite3.connect(own_folder / "threads.db") as connection:
        count = "select count(*) from checkpoints where thread_id = ?"
        assert connection.execute(count, [thread["thread_id"]]).fetchone()[0] > 5
    text = log.read_text(encoding="utf-8")
    assert "BlockingError" not in text
    assert "lacks" not in text


def test_an_assistants_fields_become_a_context(own_folder):
    context = resolve({"library": str(own_folder), "model": "offline", "k": 4})
    assert (context.settings.k, context.reader.name) == (4, "preflight reader")
    assert resolve(StudioContext(library=str(own_folder), model="offline")).library is context.library


def test_an_unknown_field_is_refused():
    with pytest.raises(UsageError, match="colour"):
        resolve({"colour": "red"})
