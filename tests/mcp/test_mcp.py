"""`preflight mcp` through the SDK's own client: over standard input and output, and over streamable HTTP."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import httpx
import pytest
from mcp_client import MODES, MCPError, in_process, over_http, over_stdio

from preflight_rag import Preflight
from preflight_rag.mcp import server as mcp_server
from preflight_rag.mcp.collection import joined
from preflight_rag.server.access import KeyRing
from preflight_rag.state.values import Passage
from preflight_rag.testing.scripted_server import Reply, ScriptedServer

QUESTION = "How hot is the planet Venus?"
TRANSPORTS = ("stdio", "http")
pytestmark = pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")


def command(folder, *flags, model="offline"):
    return [sys.executable, "-m", "preflight_rag", "mcp", "--library", str(folder), "--model", model, *flags]


@contextmanager
def web(folder, *flags, model="offline", **variables):
    """The address of a server process."""
    full = command(folder, "--transport", "http", "--port", "0", *flags, model=model)
    process = subprocess.Popen(full, env=os.environ | variables, stderr=subprocess.PIPE, text=True)
    try:
        lines = []
        for line in process.stderr:
            lines.append(line)
            if line.startswith("listening: "):
                break
        assert lines, "the server said nothing"
        assert lines[-1].startswith("listening: "), lines
        yield lines[-1].split()[-1]
    finally:
        process.terminate()
        process.communicate(timeout=30)


@asynccontextmanager
async def connected(transport, folder, *, model="offline", mode="auto", **variables):
    """A client of a server process of the library."""
    if transport == "stdio":
        async with over_stdio(command(folder, model=model), variables, mode) as client:
            yield client
    else:
        with web(folder, model=model, **variables) as url:
            async with over_http(url, mode) as client:
                yield client


@asynccontextmanager
async def here(app):
    """A client of a server in this process."""
    async with in_process(mcp_server.make_server(app)) as client:
        yield client


def text_of(result):
    return result.content[0].text


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_a_conversation_of_two_turns_with_progress(transport, mode, own_folder):
    notes, counts = [], []

    async def progress(count, total, note):
        counts.append(count)
        notes.append(note)

    async with connected(transport, own_folder, mode=mode) as client:
        first = await client.call_tool("ask", {"question": QUESTION}, progress_callback=progress)
        thread = first.structured_content["thread_id"]
        again = {"question": "And Mercury?", "thread_id": thread}
        second = await client.call_tool("ask", again)
    answer = first.structured_content
    assert not first.is_error
    assert (answer["turn"], answer["route"]["name"]) == (1, "plain")
    assert answer["citations"][0]["verified"]
    assert "Sources:\n[1] Venus, the hottest planet - " in text_of(first)
    assert f"thread_id: {thread}" in text_of(first)
    assert {"understanding the question", "searching", "checking citations"} <= set(notes)
    assert counts == sorted(set(counts))
    assert second.structured_content["turn"] == 2
    assert "Mercury" in second.structured_content["standalone_question"]
    assert "hot" in second.structured_content["standalone_question"]


@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_the_collection_can_be_searched_listed_and_read(transport, own_folder):
    async with connected(transport, own_folder) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        found = (await client.call_tool("search", {"query": "Venus", "k": 3})).structured_content
        hit = found["passages"][0]["passage"]
        read = (await client.call_tool("read_passage", {"passage_id": hit["id"]})).structured_content
        listed = (await client.call_tool("list_documents", {"query": "venus", "limit": 5})).structured_content
        resources = (await client.list_resources()).resources
        venus = next(each for each in resources if each.title == "Venus, the hottest planet")
        document = (await client.read_resource(venus.uri)).contents[0].text
        passage = (await client.read_resource(f"preflight://passages/{hit['id']}")).contents[0].text
        templates = (await client.list_resource_templates()).resource_templates
    assert set(tools) == {"ask", "search", "read_passage", "list_documents"}
    assert all(tool.output_schema["type"] == "object" for tool in tools.values())
    assert len(found["passages"]) == 3
    assert read["passage"] == hit
    assert listed["total"] == 1
    assert listed["documents"][0]["document_id"] == venus.name == hit["document_id"]
    assert hit["text"] in document
    assert passage == hit["text"]
    assert [each.uri_template for each in templates] == [
        "preflight://documents/{document_id}",
        "preflight://passages/{passage_id}",
    ]


BAD = [
    ("ask", {"question": "   "}, "the question is empty"),
    ("ask", {"question": "x" * 200_000}, "the question has 200,000 characters; at most 8,000 are read"),
    ("ask", {}, "argument 'question': field required. The arguments are: question, thread_id"),
    ("ask", {"question": QUESTION, "colour": "red"}, "argument 'colour': extra inputs are not permitted"),
    ("ask", {"question": QUESTION, "route": "fast"}, "argument 'route'"),
    ("ask", {"question": 7}, "argument 'question'"),
    ("ask", {"question": QUESTION, "options": ["one"]}, "Give two or more options"),
    ("ask", {"question": QUESTION, "thread_id": ""}, "thread"),
    ("ask", {"question": QUESTION, "where": ["colour=red"]}, "No document has the field 'colour'"),
    ("search", {"query": ""}, "empty"),
    ("search", {"query": "Venus", "k": 0}, "argument 'k'"),
    ("read_passage", {"passage_id": "none"}, "there is no passage 'none'. search and ask return the ids."),
    ("list_documents", {"limit": 100_000}, "argument 'limit'"),
]


async def test_what_is_wrong_with_a_call_is_one_line(own_folder):
    with Preflight.open(own_folder, "offline") as app:
        async with here(app) as client:
            for name, arguments, line in BAD:
                result = await client.call_tool(name, arguments)
                assert result.is_error, (name, arguments)
                assert line in text_of(result)
                assert "\n" not in text_of(result)
                assert len(text_of(result)) < 500
            for uri in ("preflight://documents/none", "preflight://passages/none", "file:///etc/passwd", "preflight:"):
                with pytest.raises(MCPError, match="there is no"):
                    await client.read_resource(uri)
            with pytest.raises(MCPError, match="There is no tool 'drop'"):
                await client.call_tool("drop", {})
            with pytest.raises(MCPError, match="cursor"):
                await client.list_resources(cursor="-1")
            assert not (await client.call_tool("ask", {"question": QUESTION})).is_error


@pytest.mark.slow
@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_bad_input_leaves_the_server_running(transport, own_folder):
    async with connected(transport, own_folder) as client:
        for name, arguments, line in BAD[:4]:
            assert line in text_of(await client.call_tool(name, arguments))
        assert not (await client.call_tool("ask", {"question": QUESTION})).is_error


async def test_documents_are_listed_page_by_page(own_folder, monkeypatch):
    monkeypatch.setattr(mcp_server, "PAGE", 20)
    names, cursor, pages = [], None, 0
    with Preflight.open(own_folder, "offline") as app:
        async with here(app) as client:
            while cursor is not None or pages == 0:
                page = await client.list_resources(cursor=cursor)
                names += [each.name for each in page.resources]
                cursor, pages = page.next_cursor, pages + 1
            assert names == [Path(row["id"]).name for row in app.library.documents()]
    assert pages == 3


def scripted(server):
    return {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "key", "PREFLIGHT_EXTRACTIVE_READER": "none"}


@pytest.mark.slow
@pytest.mark.parametrize(("transport", "mode"), [*(("stdio", mode) for mode in MODES), ("http", "auto")])
async def test_a_cancelled_call_stops_the_turn_and_the_thread_goes_on(transport, mode, own_folder):
    rules = [("planet Venus", Reply("late", delay=30), 1)]
    ask = {"question": QUESTION, "thread_id": "t", "route": "plain"}
    with ScriptedServer(rules, default="Venus is hot [1].") as server:
        async with connected(transport, own_folder, model="openai:any", mode=mode, **scripted(server)) as client:
            call = asyncio.create_task(client.call_tool("ask", ask))
            while server.active == 0:
                await asyncio.sleep(0.02)
            stopped = time.monotonic()
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call
            while server.active:
                await asyncio.sleep(0.02)
                assert time.monotonic() - stopped < 5
            assert time.monotonic() - stopped < 1.5
            again = await client.call_tool("ask", {**ask, "question": "How hot is Venus?"})
    assert "Venus is hot" in text_of(again)
    with Preflight.open(own_folder, "offline") as app:
        statuses = [turn.status for turn in app.ledger.turns("t")]
    assert statuses[0] == "interrupted"
    assert statuses[-1] in ("answered", "abstained")


async def test_a_models_failure_is_the_tools_error(own_folder):
    with ScriptedServer(default=Reply(status=422, text="bad field")) as server:
        async with connected("stdio", own_folder, model="openai:any", **scripted(server)) as client:
            result = await client.call_tool("ask", {"question": QUESTION, "route": "plain"})
    assert result.is_error
    assert "bad field" in text_of(result)
    assert "\n" not in text_of(result)


async def test_a_model_that_cannot_be_had_leaves_the_evidence_and_the_reason(own_folder):
    with ScriptedServer(default=Reply(status=401, text="bad key")) as server:
        async with connected("stdio", own_folder, model="openai:any", **scripted(server)) as client:
            result = await client.call_tool("ask", {"question": QUESTION, "route": "plain"})
    assert not result.is_error
    assert "Missing: model openai:any: openai:any refused the key" in text_of(result)
    assert "Sources:" in text_of(result)


async def test_a_question_back_has_its_choices_and_is_answered_in_the_thread(own_folder):
    question = {"question": "What is the population of Springfield?", "route": "corg", "clarify": True}
    async with connected("stdio", own_folder, PREFLIGHT_CLARIFY_ABOVE="2") as client:
        asked = await client.call_tool("ask", question)
        choices = asked.structured_content["choices"]
        reply = {"question": choices[0]["label"], "thread_id": asked.structured_content["thread_id"]}
        answer = await client.call_tool("ask", reply)
    assert len(choices) == 3
    assert f"1. {choices[0]['label']}" in text_of(asked)
    assert len(answer.structured_content["groups"]) <= 1
    assert answer.structured_content["turn"] == 1


def request(id, method, **params):
    return json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": params})


ABOUT = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
HELLO = [
    request(1, "initialize", **ABOUT),
    json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}),
]


def test_standard_output_carries_the_protocol_and_nothing_else(own_folder):
    lines = [*HELLO, "this is not JSON", request(2, "tools/call", name="ask", arguments={"question": QUESTION})]
    process = subprocess.Popen(
        command(own_folder), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    process.stdin.write("".join(f"{line}\n" for line in lines))
    process.stdin.flush()
    got = []
    while not any(message.get("id") == 2 for message in got):
        got.append(json.loads(process.stdout.readline()))
    rest, log = process.communicate(timeout=30)
    assert rest == ""
    assert all(message["jsonrpc"] == "2.0" for message in got)
    assert got[-1]["result"]["structuredContent"]["question"] == QUESTION
    assert process.returncode == 0
    assert "model: preflight reader" in log


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_server_and_its_turn_can_be_finished(own_folder, number):
    question = {"question": QUESTION, "thread_id": "t", "route": "plain"}
    with ScriptedServer(default=Reply("late", delay=30)) as server:
        process = subprocess.Popen(
            command(own_folder, model="openai:any"),
            env=os.environ | scripted(server),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        lines = [*HELLO, request(2, "tools/call", name="ask", arguments=question)]
        process.stdin.write("".join(f"{line}\n" for line in lines))
        process.stdin.flush()
        while server.active == 0:
            time.sleep(0.02)
        process.send_signal(number)
        assert process.wait(timeout=10) == 128 + number
        process.stdin.close()
        process.stdout.close()
    with Preflight.open(own_folder, "offline") as app:
        assert app.resume("t").question == QUESTION


async def ask_with(url, key, question, thread):
    async with over_http(url, key=key) as client:
        return await client.call_tool("ask", {"question": question, "thread_id": thread})


@pytest.mark.slow
async def test_keys_open_the_http_server_and_keep_conversations_apart(own_folder):
    ring = KeyRing(own_folder)
    anna, ben = ring.add("anna"), ring.add("ben")
    ring.close()
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    accept = {"Accept": "application/json, text/event-stream"}
    with web(own_folder) as url:
        for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": f"Bearer {anna}x"}):
            assert httpx.post(url, json=body, headers=accept | headers).status_code == 401
        elsewhere = {"Authorization": f"Bearer {anna}", "Origin": "https://evil.example"}
        assert httpx.post(url, json=body, headers=accept | elsewhere).status_code == 403
        mine = await ask_with(url, anna, QUESTION, "t")
        theirs = await ask_with(url, ben, QUESTION, "t")
        again = await ask_with(url, anna, "And Mercury?", "t")
    assert [each.structured_content["turn"] for each in (mine, theirs, again)] == [1, 1, 2]
    assert {each.structured_content["thread_id"] for each in (mine, theirs, again)} == {"t"}
    with Preflight.open(own_folder, "offline") as app:
        assert {each.thread_id for each in app.ledger.threads()} == {"anna/t", "ben/t"}


@pytest.mark.slow
def test_without_keys_other_hosts_and_origins_are_refused_and_bodies_are_limited(own_folder):
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "ask", "arguments": {}}}
    accept = {"Accept": "application/json, text/event-stream"}
    with web(own_folder) as url:
        assert httpx.post(url, json=body, headers=accept | {"Host": "evil.example"}).status_code == 421
        assert httpx.post(url, json=body, headers=accept | {"Origin": "https://evil.example"}).status_code == 403
        body["params"]["arguments"] = {"question": "x" * 20_000_000}
        assert httpx.post(url, json=body, headers=accept).status_code == 413
    done = subprocess.run(
        command(own_folder, "--transport", "http", "--host", "0.0.0.0"), capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 2
    assert "the library has no key" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_a_port_in_use_is_one_line(own_folder):
    with web(own_folder) as url:
        port = url.rsplit(":", 1)[1].split("/")[0]
        taken = command(own_folder, "--transport", "http", "--port", port)
        done = subprocess.run(taken, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert f"port {port} of 127.0.0.1 is in use" in done.stderr


def test_a_documents_text_is_put_together_without_what_passages_share():
    def passage(start, text):
        return Passage(id=str(start), document_id="d", text=text, start=start, end=start + len(text))

    assert joined([passage(0, "one two"), passage(4, "two three"), passage(20, "four")]) == "one two three\nfour"


def test_the_sdk_is_imported_by_this_command_only():
    code = "import sys; from preflight_rag.cli import app; print([n for n in sys.modules if n.split('.')[0] == 'mcp'])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "[]"


def test_the_docs_show_the_command_as_it_is():
    page = (Path(__file__).parents[2] / "docs" / "mcp.md").read_text(encoding="utf-8")
    settings = json.loads(page.split("```json\n")[1].split("```")[0])
    server = settings["mcpServers"]["preflight"]
    assert server["args"][0] == "mcp"
    assert "--library" in server["args"]
