"""Bad input at every door: one clear line, the right status, and the server goes on."""

import re
import socket
from urllib.parse import urlsplit

import pytest
from serving import running

from preflight_rag.server import ServerOptions, turns
from preflight_rag.testing.scripted_server import ScriptedServer

pytestmark = pytest.mark.slow

JSON = {"content-type": "application/json"}


@pytest.fixture
def served(offline_app, client_of):
    with running(offline_app) as url:
        yield client_of(url)


@pytest.fixture
def busy(served, monkeypatch):
    """A server whose streams begin before their turns do: what the turn itself refuses comes too late."""
    monkeypatch.setattr(turns, "EARLY_SECONDS", 0)
    return served


def error_of(response):
    body = response.json()["error"]
    assert "\n" not in body["message"]
    assert len(body["message"]) <= 600
    return response.status_code, body["code"], body["message"]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"{", "not valid JSON"),
        (b'{"question": "\xff\xfe"}', "UTF-8"),
        (b"[]", "is wrong"),
        (b"{}", "question is wrong"),
        (b'{"question": 1}', "question is wrong"),
        (b'{"question": ""}', "question"),
        (b'{"question": "\\ud800"}', "question"),
        (b'{"question": "x", "colour": 1}', "colour is not a known field"),
        (b'{"question": "x", "k": 0}', "k = 0"),
        (b'{"question": "x", "k": "many"}', "k is wrong"),
        (b'{"question": "x", "route": "sideways"}', "route = 'sideways'"),
        (b'{"question": "x", "where": ["year>"]}', "has no value"),
        (b'{"question": "x", "since": "soon"}', "soon"),
        (b'{"question": "x", "options": ["one"]}', "options"),
        (b'{"question": "x", "settings": {"mesh": "/etc/passwd"}}', "'mesh' is set where the server is started"),
        (b'{"question": "x", "settings": {"extractive_reader": "evil/model"}}', "'extractive_reader'"),
        (b'{"question": "x", "settings": {"reranker": "evil/model"}}', "'evil/model'"),
        (b'{"question": "x", "settings": {"colour": 1}}', "'colour' is not known"),
        (b'{"question": "x", "pubmed": true}', "PubMed is not searched here"),
        (b'{"question": "x", "settings": {"pubmed": true}}', "PubMed is not searched here"),
        (b'{"question": "x", "thread_id": "  "}', "blank"),
        (b'{"question": "x", "thread_id": "a\\u0000b"}', "control characters"),
        (b'{"question": "' + b"x" * 9000 + b'"}', "8,?000"),
        (b"[" * 100_000, "JSON"),
    ],
)
@pytest.mark.parametrize("stream", [True, False])
def test_a_question_that_cannot_be_asked(busy, content, said, stream):
    content = content.replace(b'"question"', b'"stream": false, "question"', 1) if not stream else content
    status, code, message = error_of(busy.post("/api/ask", content=content, headers=JSON))
    assert status == 400
    assert code in ("invalid_request", "usage")
    assert re.search(said, message)


def test_an_unknown_model(served):
    assert error_of(served.ask("x", model="openai:gpt-9"))[:2] == (404, "unknown_model")


def test_hostile_text_comes_back_as_text(scripted_app, client_of):
    evil = "<script>alert(1)</script><img src=x onerror=alert(1)> [x](javascript:alert(1)) ![i](http://e.org/i.png)"
    with ScriptedServer(default=evil) as server, running(scripted_app(server)) as url:
        client = client_of(url)
        html = client.ask(evil, thread_id="<b>t</b>", html=True).json()["html"]
        thread = client.get("/api/threads/<b>t<%2Fb>").json()
        client.patch("/api/threads/<b>t<%2Fb>", json={"title": "<script>alert(2)</script>"})
        listed = client.get("/api/threads").json()["threads"][0]
        export = client.get("/api/threads/<b>t<%2Fb>/export")
    for page in (html, thread["turns"][0]["html"]):
        assert "<script" not in page
        assert "<img" not in page
        assert 'href="javascript' not in page
    assert listed["title"] == "<script>alert(2)</script>"
    assert export.headers["content-disposition"].startswith("attachment")
    assert export.headers["content-type"].startswith("text/markdown")
    assert export.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("path", ["/api/ask", "/v1/chat/completions", "/api/search"])
def test_twenty_megabytes_are_refused_and_not_read(served, path):
    body = b'{"question": "' + b"x" * 20_000_000 + b'"}'
    response = served.post(path, content=body, headers=JSON)
    assert response.status_code == 413
    assert response.headers["connection"] == "close"
    assert "longer than 1,048,576 bytes" in response.json()["error"]["message"]
    assert served.get("/health").status_code == 200


def test_a_body_without_a_length_is_cut_at_the_limit(served):
    def pieces():
        for _ in range(400):
            yield b"x" * 50_000

    response = served.post("/api/ask", content=pieces(), headers=JSON)
    assert error_of(response)[:2] == (413, "body_too_large")


def test_a_body_that_does_not_come_is_not_waited_for(offline_app):
    with running(offline_app, ServerOptions(body_seconds=0.3)) as url:
        with socket.create_connection((urlsplit(url).hostname, urlsplit(url).port), timeout=10) as connection:
            head = "POST /api/ask HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            connection.sendall(f"{head}Content-Length: 100\r\n\r\n{{".encode())
            assert b" 408 " in connection.recv(200)


@pytest.mark.parametrize(("kind", "path"), [("text/plain", "/api/ask"), ("application/json", "/api/documents")])
def test_a_wrong_content_type(served, kind, path):
    assert error_of(served.post(path, content=b'{"question": "x"}', headers={"content-type": kind}))[0] == 415


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/api/threads/none"),
        ("GET", "/api/threads/none/export"),
        ("DELETE", "/api/threads/none"),
        ("GET", "/api/passages/none"),
        ("DELETE", "/api/documents?id=none"),
        ("GET", "/api/documents/file?id=/etc/passwd"),
        ("GET", "/api/nothing"),
        ("GET", "/static/../../../etc/passwd"),
        ("GET", "/v1/nothing"),
    ],
)
def test_what_is_not_there(served, method, path):
    assert served.request(method, path).status_code == 404


def test_a_reply_and_a_resume_where_none_is_wanted(served):
    assert error_of(served.post("/api/threads/none/reply", json={"choice": "1"}))[0] in (404, 409)
    assert error_of(served.post("/api/threads/none/resume", json={}))[:2] == (404, "thread_not_found")
    served.ask("Is basalt hard?", thread_id="t1")
    assert error_of(served.post("/api/threads/t1/reply", json={"choice": "1"}))[0] in (400, 409)


def test_a_name_that_points_here_is_not_served(served):
    refused = served.get("/api/info", headers={"host": "evil.example:80"})
    assert error_of(refused)[:2] == (421, "wrong_host")
    assert served.get("/api/info", headers={"host": "localhost:1"}).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site", "origin": "http://localhost:1"},
    ],
)
def test_a_page_of_another_origin_changes_nothing(served, headers):
    assert error_of(served.post("/api/ask", json={"question": "x"}, headers=headers))[:2] == (403, "forbidden")
    assert error_of(served.delete("/api/documents", params={"id": "x"}, headers=headers))[0] == 403


def test_the_servers_own_page_may(served):
    own = {"origin": str(served.base_url).rstrip("/"), "sec-fetch-site": "same-origin"}
    assert served.post("/api/search", json={"query": "basalt"}, headers=own).status_code == 200


def test_other_origins_are_let_in_by_name_only(offline_app, client_of):
    origin = {"origin": "http://app.example"}
    with running(offline_app, ServerOptions(cors=("http://app.example",))) as url:
        client = client_of(url)
        allowed = client.post("/api/search", json={"query": "basalt"}, headers=origin)
        other = client.get("/api/info", headers={"origin": "http://evil.example"})
        asked = {**origin, "access-control-request-method": "POST", "access-control-request-headers": "content-type"}
        before = client.options("/api/ask", headers=asked)
    assert allowed.headers["access-control-allow-origin"] == "http://app.example"
    assert before.status_code == 200
    assert "access-control-allow-origin" not in other.headers
    assert "access-control-allow-credentials" not in allowed.headers


def test_without_cors_nothing_is_allowed(served):
    response = served.get("/api/info", headers={"origin": "http://app.example"})
    assert not [name for name in response.headers if name.startswith("access-control")]


@pytest.mark.parametrize("path", ["/", "/api/info", "/api/docs", "/api/docs.css", "/health", "/v1/models", "/nothing"])
def test_every_response_carries_the_policy(served, path):
    headers = served.get(path).headers
    policy = headers["content-security-policy"]
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"


def test_too_many_requests_have_to_wait(offline_app, client_of):
    with running(offline_app, ServerOptions(rate=5)) as url:
        found = [client_of(url).get("/api/threads") for _ in range(5)]
        while len(found) < 30 and found[-1].status_code == 200:  # one more comes back every 12 seconds
            found.append(client_of(url).get("/api/threads"))
    assert [each.status_code for each in found[:5]] == [200] * 5
    assert error_of(found[-1])[:2] == (429, "rate_limited")
    assert int(found[-1].headers["retry-after"]) >= 1


HALF = '"\\ud800"'


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/api/ask", '{"question": "x", "where": [%s]}'),
        ("POST", "/api/ask", '{"question": "x", "options": ["a", %s]}'),
        ("POST", "/api/ask", '{"question": "x", "instructions": %s}'),
        ("POST", "/api/ask", '{"question": "x", "stream": false, "instructions": %s}'),
        (
            "POST",
            "/v1/chat/completions",
            '{"model": "preflight", "messages": [{"role": "system", "content": %s}, '
            '{"role": "user", "content": "How hot is Venus?"}]}',
        ),
        ("POST", "/v1/embeddings", '{"model": "preflight", "input": ["a", %s]}'),
        ("POST", "/v1/responses", '{"model": "preflight", "input": "x", "instructions": %s}'),
    ],
)
def test_half_a_character_is_refused_wherever_it_stands(busy, method, path, body):
    """JSON can escape one half of a pair of surrogates, and nothing can store it."""
    response = busy.request(method, path, content=(body % HALF).encode(), headers=JSON)
    assert response.status_code == 400, response.text
    assert "lone surrogate" in response.text
    assert busy.get("/health").status_code == 200
