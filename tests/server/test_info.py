"""What the server tells about itself."""

import re

import pytest
from prometheus_client.parser import text_string_to_metric_families
from serving import running

from preflight_rag.server import ServerOptions
from preflight_rag.testing.scripted_server import ScriptedServer

pytestmark = pytest.mark.slow


def test_info_tells_what_may_be_chosen(offline_app, client_of):
    with running(offline_app, ServerOptions(offered=("openai:x",))) as url:
        info = client_of(url).get("/api/info").json()
    assert info["models"] == [info["model"], "openai:x"]
    assert info["routes"] == ["auto", "plain", "map-reduce", "corg"]
    assert info["library"] == {"name": "stones", "documents": 4, "passages": 4}
    assert (info["user"], info["auth"], info["write"]) == ("local", False, True)
    assert info["settings"]["route"] == "plain"
    assert "mesh" not in info["settings"]
    assert info["limits"]["body_bytes"] == 1024 * 1024


def test_another_model_takes_a_turn(scripted_app, client_of):
    with ScriptedServer(default="Hard [1].") as server, running(scripted_app(server)) as url:
        client = client_of(url)
        own = client.ask("Which rock is hard?").json()
        other = client.ask("Which rock is hard?", model="offline").json()
    assert own["receipt"]["model"] != other["receipt"]["model"]
    assert other["receipt"]["model_calls"] == 0


def test_metrics_count_requests_turns_and_tokens(scripted_app, client_of):
    with ScriptedServer(default="Hard [1].") as server, running(scripted_app(server)) as url:
        client = client_of(url)
        answer = client.ask("Which rock is hard?").json()
        client.get("/api/threads/secret-words")
        text = client.get("/metrics").text
    found = {
        (sample.name, *sorted(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }
    assert found[("preflight_turns_total", ("route", "plain"), ("status", "answered"))] == 1
    assert found[("preflight_tokens_total", ("direction", "input"))] == answer["receipt"]["input_tokens"]
    asked = ("preflight_requests_total", ("method", "POST"), ("path", "/api/ask"), ("status", "200"))
    assert found[asked] == 1
    assert found[("preflight_turns_running",)] == 0
    assert found[("preflight_passages",)] == 4
    assert "secret" not in text
    assert "hard" not in text


def test_health(offline_app, client_of):
    with running(offline_app) as url:
        received = client_of(url).get("/health").json()
    assert received["status"] == "ok"
    assert received["index"] == "ready"
    assert received["library"]["documents"] == 4


def test_the_api_is_described_for_programs_and_people(offline_app, client_of):
    with running(offline_app) as url:
        client = client_of(url)
        schema = client.get("/api/openapi.json").json()
        page = client.get("/api/docs").text
        style = client.get("/api/docs.css")
    assert "/api/ask" in schema["paths"]
    assert "/v1/chat/completions" in schema["paths"]
    for path in schema["paths"]:
        assert path in page
    assert style.headers["content-type"].startswith("text/css")
    assert not re.findall(r'(?:src|href)="(?!/api/)', page)
    assert "<script" not in page
    assert "style=" not in page


def test_a_log_line_holds_no_question(offline_app, client_of, caplog):
    caplog.set_level("INFO", logger="preflight.access")
    with running(offline_app) as url:
        client = client_of(url)
        client.ask("Is basalt a secret?", thread_id="secret")
        client.get("/api/threads/secret", params={"query": "secret"})
    lines = [record.getMessage() for record in caplog.records if record.name == "preflight.access"]
    assert any("POST /api/ask 200" in line for line in lines)
    assert not any("secret" in line for line in lines)
