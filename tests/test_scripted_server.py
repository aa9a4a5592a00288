"""The scripted server, as the real OpenAI client sees it."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import httpx
import openai
import pytest
from langchain_openai import ChatOpenAI

from preflight_rag.testing import scripted_server
from preflight_rag.testing.scripted_server import Reply, Rule, ScriptedServer, read_log


def client(server: ScriptedServer, **settings: object) -> ChatOpenAI:
    return ChatOpenAI(base_url=server.url, api_key="right", model="any", max_retries=0, timeout=10, **settings)


async def test_a_reply_carries_text_finish_reason_and_usage() -> None:
    with ScriptedServer(default="Aspirin [1].") as server:
        reply = await client(server).ainvoke([("system", "Be brief."), ("user", "What helps?")])
    assert reply.content == "Aspirin [1]."
    assert reply.response_metadata["finish_reason"] == "stop"
    assert reply.usage_metadata["input_tokens"] == len("Be brief.\nWhat helps?") // 4
    assert server.requests[0].prompt == "Be brief.\nWhat helps?"
    assert server.requests[0].finished >= server.requests[0].arrived


async def test_a_stream_carries_the_same_text_and_usage() -> None:
    text = "One  two\nthree [1]. \n"
    with ScriptedServer(default=text) as server:
        chunks = [chunk async for chunk in client(server, stream_usage=True).astream("hello")]
    assert len([chunk for chunk in chunks if chunk.content]) > 2
    assert "".join(chunk.content for chunk in chunks) == text
    assert [chunk.usage_metadata["output_tokens"] for chunk in chunks if chunk.usage_metadata] == [len(text) // 4]
    assert [chunk.response_metadata.get("finish_reason") for chunk in chunks].count("stop") == 1


async def test_rules_are_tried_in_order_and_may_run_out() -> None:
    rules = [Rule("b", Reply("first b"), times=1), ("b", "later b"), ("a", "a")]
    with ScriptedServer(rules, default="none") as server:
        replies = [(await client(server).ainvoke(prompt)).content for prompt in ("a", "ab", "ab", "c")]
    assert replies == ["a", "first b", "later b", "none"]
    assert server.count("a") == 3
    assert server.count() == 4


async def test_a_script_may_be_a_function_of_the_body() -> None:
    with ScriptedServer(lambda body: f"{body['model']} {body['temperature']}") as server:
        reply = await client(server, temperature=0.5).ainvoke("hello")
    assert reply.content == "any 0.5"


@pytest.mark.parametrize(
    ("reply", "error"),
    [
        (Reply("slow down", status=429, headers={"Retry-After": "7"}), openai.RateLimitError),
        (Reply("broken", status=500), openai.InternalServerError),
        (Reply("too long", status=400, code="context_length_exceeded"), openai.BadRequestError),
        (Reply("no such model", status=404, code="model_not_found"), openai.NotFoundError),
    ],
)
async def test_errors_have_the_form_of_openai(reply: Reply, error: type[openai.APIStatusError]) -> None:
    with ScriptedServer(default=reply) as server, pytest.raises(error, match=reply.text) as raised:
        await client(server).ainvoke("hello")
    assert raised.value.code == reply.code
    assert raised.value.response.headers.get("retry-after") == reply.headers.get("Retry-After")


async def test_a_wrong_key_is_refused() -> None:
    with (
        ScriptedServer(api_key="other") as server,
        pytest.raises(openai.AuthenticationError, match="Incorrect API key"),
    ):
        await client(server).ainvoke("hello")
    assert server.count() == 0


async def test_an_unknown_model_is_refused_when_models_are_named() -> None:
    with ScriptedServer(models=["known"]) as server:
        with pytest.raises(openai.NotFoundError, match="`any` does not exist"):
            await client(server).ainvoke("hello")
        assert httpx.get(f"{server.url}/models").json()["data"][0]["id"] == "known"
        assert httpx.get(f"{server.url}/elsewhere").json()["error"]["code"] == "unknown_url"
        assert httpx.post(f"{server.url}/chat/completions", content=b"{").status_code == 400


async def test_a_page_of_html_is_not_a_completion() -> None:
    with ScriptedServer(default=Reply(raw="<html>Sign in</html>")) as server:
        response = httpx.post(f"{server.url}/chat/completions", json={"model": "any", "messages": [{"content": "x"}]})
        with pytest.raises(Exception, match=r".") as raised:
            await client(server).ainvoke("hello")
    assert response.text == "<html>Sign in</html>"
    assert response.headers["content-type"].startswith("text/html")
    assert not isinstance(raised.value, AssertionError)


async def test_a_stream_can_break_off() -> None:
    seen = []

    async def read(server: ScriptedServer) -> None:
        async for chunk in client(server).astream("hello"):
            seen.append(chunk.content)

    reply = Reply("one two three four", drop_after=2)
    with ScriptedServer(default=reply) as server, pytest.raises((httpx.HTTPError, openai.APIError)):
        await read(server)
    assert "".join(seen) == "one two"
    assert server.requests[0].delivered is False


async def test_a_whole_reply_can_break_off() -> None:
    with (
        ScriptedServer(default=Reply("one two three", drop_after=20)) as server,
        pytest.raises(openai.APIConnectionError),
    ):
        await client(server).ainvoke("hello")


async def test_a_stream_may_end_without_a_finish_reason() -> None:
    with ScriptedServer(default=Reply("one two", finish_reason=None, usage=False)) as server:
        chunks = [chunk async for chunk in client(server, stream_usage=True).astream("hello")]
    assert not any(chunk.response_metadata.get("finish_reason") or chunk.usage_metadata for chunk in chunks)


async def test_refusal_and_null_content_reach_the_client() -> None:
    with ScriptedServer([("bad", Reply(refusal="I cannot.")), ("void", Reply(content_null=True))]) as server:
        refused, void = await client(server).ainvoke("bad"), await client(server).ainvoke("void")
    assert refused.additional_kwargs["refusal"] == "I cannot."
    assert refused.content == void.content == ""


async def test_requests_are_answered_side_by_side() -> None:
    with ScriptedServer(delay=0.2) as server:
        model = client(server)
        await asyncio.gather(*(model.ainvoke(str(number)) for number in range(8)))
    assert server.peak == 8
    assert max(r.arrived for r in server.requests) < min(r.finished for r in server.requests)


async def test_a_reply_to_a_client_that_left_is_not_counted_as_delivered() -> None:
    with ScriptedServer(delay=0.5) as server:
        call = asyncio.create_task(client(server).ainvoke("hello"))
        await asyncio.to_thread(server.wait_for, 1, "hello")
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await asyncio.to_thread(server.wait_idle)
    assert server.requests[0].delivered is False


def test_waiting_for_requests_that_never_come_is_an_error() -> None:
    with ScriptedServer() as server, pytest.raises(TimeoutError, match="0 of 1 requests with 'hello'"):
        server.wait_for(1, "hello", timeout=0.01)


def test_a_process_of_its_own_leaves_a_log(tmp_path: Path) -> None:
    script, log = tmp_path / "script.json", tmp_path / "requests.jsonl"
    script.write_text(json.dumps({"rules": [{"contains": "a", "reply": {"text": "A", "delay": 0.01}}], "default": "?"}))
    command = [sys.executable, scripted_server.__file__, "--script", str(script), "--log", str(log)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            url = process.stdout.readline().strip()
            replies = [post(url, prompt)["choices"][0]["message"]["content"] for prompt in ("cat", "dog")]
            while not all(request.finished for request in read_log(log)):
                time.sleep(0.01)
        finally:
            process.kill()
    assert replies == ["A", "?"]
    assert [(r.prompt, r.status, r.delivered) for r in read_log(log)] == [("cat", 200, True), ("dog", 200, True)]


def test_a_log_cut_off_by_a_kill_can_be_read(tmp_path: Path) -> None:
    log = tmp_path / "requests.jsonl"
    body = {"messages": [{"content": [{"type": "text", "text": "hello"}]}]}
    log.write_text(json.dumps({"event": "arrived", "id": 1, "body": body, "arrived": 1.0}) + '\n{"event": "fin')
    assert [(r.prompt, r.finished) for r in read_log(log)] == [("hello", None)]
    assert read_log(tmp_path / "missing") == []


def post(url: str, prompt: str) -> dict:
    body = json.dumps({"model": "any", "messages": [{"role": "user", "content": prompt}]}).encode()
    with urllib.request.urlopen(urllib.request.Request(f"{url}/chat/completions", body)) as response:
        return json.load(response)


def test_no_two_servers_of_a_process_have_one_address():
    """What is known of a model is kept by its address; of a thousand free ports some twenty come twice."""
    addresses = set()
    for _ in range(1000):
        server = ScriptedServer()
        addresses.add(server.url)
        server._http.server_close()
    assert len(addresses) == 1000
