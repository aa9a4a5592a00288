"""A real model behind every door: OpenAI's API in both forms, tasks of chat clients, MCP, Studio, a killed process."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import httpx
import openai
import pytest
from langgraph_sdk import get_sync_client
from mcp_client import in_process
from real_forms import check_line, check_nothing_leaks
from serving import running, serving

from preflight_rag.mcp import server as mcp_server

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
QUESTION = "Which rock is hard?"
TITLE = """### Task:
Write a short title that sums up the chat.

### Output:
JSON format: { "title": "your title here" }

### Chat History:
<chat_history>
USER: Which rock is hard?
ASSISTANT: Basalt is hard [1].
</chat_history>"""
PATIENCE = 240


@pytest.fixture
def client(app):
    with running(app) as url, openai.OpenAI(base_url=f"{url}/v1", api_key="k", max_retries=0, timeout=PATIENCE) as made:
        yield made


def test_chat_completions_stream_and_say_what_was_counted(client):
    messages = [{"role": "user", "content": QUESTION}]
    options = {"model": "preflight-plain", "stream": True, "stream_options": {"include_usage": True}}
    try:
        chunks = list(client.chat.completions.create(messages=messages, **options))
    except openai.APIError as error:
        check_line(error.message)
        return
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    assert text.strip()
    check_nothing_leaks(text)
    assert [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices][-1] in ("stop", "length")
    usage = chunks[-1].usage
    assert usage.total_tokens == usage.prompt_tokens + usage.completion_tokens > 0


def test_responses_go_on_from_one_another(client):
    try:
        first = client.responses.create(model="preflight-plain", input=QUESTION)
        again = {"input": "And which is light?", "previous_response_id": first.id}
        second = client.responses.create(model="preflight-plain", **again)
    except openai.APIError as error:
        check_line(error.message)
        return
    assert first.status in ("completed", "incomplete")
    check_nothing_leaks(first.output_text + second.output_text)
    assert second.preflight["turn"] == 2


def test_a_title_is_one_call_or_made_by_rule(client):
    made = client.chat.completions.create(model="preflight", messages=[{"role": "user", "content": TITLE}])
    text = made.choices[0].message.content
    assert text.strip()
    assert len(text) < 2000
    check_nothing_leaks(text)


async def test_mcp_answers_in_its_form(app):
    async with in_process(mcp_server.make_server(app)) as client:
        made = await client.call_tool("ask", {"question": QUESTION})
    (content,) = made.content
    check_nothing_leaks(content.text)
    if made.is_error:
        check_line(content.text)
    else:
        assert made.structured_content["turn"] == 1


@contextlib.contextmanager
def studio(folder, log, environment):
    """The address of `langgraph dev`, which refuses calls that block its loop."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [Path(sys.executable).parent / "langgraph", "dev", "--no-browser", "--no-reload", "--port", str(port)]
    settings = {"PREFLIGHT_LIBRARY": str(folder), "PREFLIGHT_ROUTE": "plain", "PREFLIGHT_K": "2", **environment}
    with (
        log.open("ab") as output,
        subprocess.Popen(command, cwd=ROOT, env=os.environ | settings, stdout=output, stderr=output) as process,
    ):
        try:
            until = time.monotonic() + PATIENCE
            while time.monotonic() < until:
                assert process.poll() is None, log.read_text()
                with contextlib.suppress(httpx.TransportError):
                    if httpx.get(f"http://127.0.0.1:{port}/ok", timeout=2).status_code == 200:
                        break
                time.sleep(0.2)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()
            process.wait(timeout=30)


def test_langgraph_dev_answers_and_its_thread_goes_on(small_folder, real_model, tmp_path):
    log = tmp_path / "log"
    asked = {"messages": [{"role": "user", "content": QUESTION}]}
    with studio(small_folder, log, real_model.environment) as url, get_sync_client(url=url) as client:
        assistant = client.assistants.search(graph_id="preflight")[0]["assistant_id"]
        thread = client.threads.create()["thread_id"]
        parts = list(client.runs.stream(thread, assistant, input=asked))
        errors = [part.data for part in parts if part.event == "error"]
        values = [part.data for part in parts if part.event == "values"]
    assert "BlockingError" not in log.read_text()
    if errors:
        check_line(errors[0]["message"])
        assert errors[0]["error"] != "InternalServerError"
    else:
        check_nothing_leaks(values[-1]["answer"])
        assert values[-1]["passage_refs"]


def turns_in(folder):
    with (
        contextlib.suppress(sqlite3.OperationalError),
        contextlib.closing(sqlite3.connect(f"file:{folder / 'threads.db'}?mode=ro", uri=True)) as database,
    ):
        return database.execute("SELECT question, status FROM turns WHERE thread_id = 't'").fetchall()
    return []


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no process can be killed so")
def test_a_turn_that_is_killed_is_resumed_and_not_lost(small_folder, real_model):
    environment = os.environ | real_model.environment | {"PREFLIGHT_K": "2", "PREFLIGHT_PARTITION_SIZE": "1"}
    place = ("--library", str(small_folder))
    preflight = [sys.executable, "-m", "preflight_rag"]
    ask = [*preflight, "ask", QUESTION, *place, "--thread", "t", "--route", "map-reduce"]
    with subprocess.Popen(ask, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        until = time.monotonic() + PATIENCE
        while turns_in(small_folder) != [(QUESTION, "running")] and time.monotonic() < until:
            assert process.poll() is None
            time.sleep(0.02)
        process.kill()
    assert turns_in(small_folder) == [(QUESTION, "running")]
    resume = [*preflight, "threads", "resume", "t", *place, "--json"]
    done = subprocess.run(resume, env=environment, capture_output=True, text=True, timeout=PATIENCE)
    (turn,) = turns_in(small_folder)
    if done.returncode == 0:
        assert json.loads(done.stdout)["question"] == QUESTION
        assert turn in ((QUESTION, "answered"), (QUESTION, "abstained"))
    else:
        assert turn == (QUESTION, "failed")
        assert "Traceback" not in done.stderr


def test_a_page_whose_models_file_is_broken_goes_on_without(small_folder, tmp_path):
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF" + bytes(100))
    with serving("--library", small_folder, "--model", f"gguf:{broken}") as (process, url):
        answer = httpx.post(f"{url}/api/ask", json={"question": QUESTION}, timeout=PATIENCE)
        assert answer.status_code == 200, answer.text
        assert process.poll() is None
        process.terminate()
        said = process.stderr.read()
    assert "Until then answers show what the documents say." in said
    assert "broken.gguf" in said
    assert "Traceback" not in said
