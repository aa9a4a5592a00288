"""Who is not allowed: others' conversations, keys that may only read, bodies too long or too deep, pages elsewhere."""

from __future__ import annotations

import os
import re
import shutil
import socket
import sqlite3
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import chain
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import httpx
import pytest
import stones
from fault_counts import times
from serving import running, serving

from preflight_rag import Preflight
from preflight_rag.server import ServerOptions, access
from preflight_rag.server.access import KeyRing
from preflight_rag.testing import ScriptedServer

pytestmark = pytest.mark.slow

JSON = {"content-type": "application/json"}
JSON_LINE = "Content-Type: application/json"
CHROMIUM = Path("/usr/bin/chromium")


@pytest.fixture
def ring(small_folder: Path) -> Iterator[KeyRing]:
    with closing(KeyRing(small_folder)) as ring:
        yield ring


@pytest.fixture(scope="module", params=[False, True], ids=["without keys", "with keys"])
def door(request: Any, tmp_path_factory: Any, embedder: Any) -> Iterator[tuple[str, str | None]]:
    """The address of a server, and a key that may write where it asks for keys."""
    folder, key = stones.library(tmp_path_factory.mktemp("door"), embedder), None
    if request.param:
        with closing(KeyRing(folder)) as ring:
            key = ring.add("anna", write=True)
    with Preflight.open(folder, "offline", embedder=embedder, route="plain") as app:
        with running(app, ServerOptions(rate=0)) as url:
            yield url, key


@pytest.fixture(scope="module")
def open_url(shared_app: Preflight) -> Iterator[str]:
    """The address of a server that asks for no key and counts no requests."""
    with running(shared_app, ServerOptions(rate=0)) as url:
        yield url


def message(response: httpx.Response) -> tuple[int, str]:
    """Status and line of a refusal, for people who may not see whether there is something."""
    return response.status_code, response.json()["error"]["message"]


def ways_to_a_thread(client: Any, thread: str) -> dict[str, httpx.Response]:
    """Every call that names a thread, but those that take a turn on it."""
    path = f"/api/threads/{quote(thread, safe='')}"
    return {
        "show": client.get(path),
        "export": client.get(f"{path}/export"),
        "listen": client.get(f"{path}/events"),
        "rename": client.patch(path, json={"title": "mine"}),
        "judge": client.put(f"{path}/turns/1/feedback", json={"good": False}),
        "suggest": client.post(f"{path}/turns/1/suggestions", json={}),
        "reply": client.post(f"{path}/reply", json={"choice": "1", "stream": False}),
        "resume": client.post(f"{path}/resume", json={"stream": False}),
        "fork": client.ask("And pumice?", thread_id=thread, turn=1),
        "delete": client.delete(path),
    }


def test_anothers_thread_is_as_if_it_were_not_there(offline_app: Preflight, ring: KeyRing, client_of: Any) -> None:
    anna_key, ben_key = ring.add("anna"), ring.add("ben", write=True)
    with running(offline_app, ServerOptions(rate=0)) as url:
        anna, ben = client_of(url, anna_key), client_of(url, ben_key)
        assert ben.ask("Is basalt hard?", thread_id="secret").status_code == 200
        before = ben.get("/api/threads/secret").json()
        for shape in (
            "{}",
            "ben/{}",
            "../ben/{}",
            "./{}",
            "anna/../ben/{}",
            "%2e%2e/ben/{}",
            "ben//{}",
            "BEN/{}",
            "{}/",
        ):
            there, missing = shape.format("secret"), shape.format("nothing")
            found, other = ways_to_a_thread(anna, there), ways_to_a_thread(anna, missing)
            for way, response in found.items():
                status, line = message(response)
                assert status in (400, 404, 409), (way, there, response.text)
                # The same line, but for the name that was asked for.
                assert (status, line.replace("secret", "nothing")) == message(other[way]), (way, there)
            assert anna.post(f"/api/threads/{quote(there, safe='')}/stop").json() == {"stopped": False}
        assert anna.get("/api/threads").json()["threads"] == []
        assert anna.get("/api/threads", params={"query": "basalt"}).json()["threads"] == []
        # Asking on a thread of that name begins one of her own.
        mine = anna.ask("Which rock is light?", thread_id="ben/secret").json()
        assert (mine["turn"], mine["thread_id"]) == (1, "ben/secret")
        answer = anna.post(
            "/v1/chat/completions",
            json={
                "model": "preflight",
                "thread_id": "ben/secret",
                "messages": [{"role": "user", "content": "Is it hard?"}],
            },
            headers={"X-Preflight-Thread": "secret"},
        ).json()
        answer = answer["choices"][0]["message"]["preflight"]
        assert (answer["turn"], answer["thread_id"]) == (2, "ben/secret")
        assert ben.get("/api/threads/secret").json() == before


@pytest.mark.parametrize("thread", ["", " ", "\0", "a\0b", "x" * 10_240, "\u0085", "\x1b[2J", "\r\nSet-Cookie: a=b"])
def test_a_threads_id_that_is_none_is_refused(door: tuple[str, str | None], client_of: Any, thread: str) -> None:
    client = client_of(*door)
    completion = {"model": "preflight", "messages": [{"role": "user", "content": "x"}], "thread_id": thread}
    refused = [client.ask("Is basalt hard?", thread_id=thread)]
    if thread:  # OpenAI's clients leave it out by sending nothing
        refused.append(client.post("/v1/chat/completions", json=completion))
    if thread.strip():
        refused += [each for each in ways_to_a_thread(client, thread).values()]
    for response in refused:
        assert response.status_code in (400, 404, 405), response.text
        assert len(response.json()["error"]["message"]) <= 600
    assert client.get("/health").status_code == 200


def test_none_is_a_name_as_any_other(door: tuple[str, str | None], client_of: Any) -> None:
    client = client_of(*door)
    new = client.ask("Is basalt hard?", thread_id=None).json()["thread_id"]
    assert new
    assert new != client.ask("Is basalt hard?", thread_id=None).json()["thread_id"]
    # It is not the thread of those who gave none.
    assert client.ask("Is basalt hard?", thread_id="None").json()["turn"] == 1


def test_checkpoints_and_the_graphs_own_settings_are_not_the_callers(
    offline_app: Preflight, ring: KeyRing, client_of: Any
) -> None:
    anna_key, ben_key = ring.add("anna"), ring.add("ben")
    foreign = {"thread_id": "ben/secret", "checkpoint_id": "1", "checkpoint_ns": "", "user": "ben"}
    with running(offline_app) as url:
        anna, ben = client_of(url, anna_key), client_of(url, ben_key)
        ben.ask("Is basalt hard?", thread_id="secret")
        before = ben.get("/api/threads/secret").json()
        for name in ("checkpoint_id", "checkpoint", "checkpoint_ns", "configurable", "config", "user", "prefix"):
            for body in ({name: foreign}, {"settings": {name: foreign}}):
                assert anna.ask("Is basalt hard?", **body).status_code == 400, name
            messages = [{"role": "user", "content": "Is basalt hard?"}]
            extra = {"model": "preflight", "messages": messages, name: foreign}
            reply = anna.post("/v1/chat/completions", json=extra, headers={"X-User": "ben", "X-Forwarded-User": "ben"})
            assert reply.status_code == 200, reply.text
            assert len(reply.json()["choices"]) == 1
        assert ben.get("/api/threads/secret").json() == before
        assert len(ben.get("/api/threads").json()["threads"]) == 1


def test_conditions_of_the_operator_cannot_be_widened(small_folder: Path, embedder: Any, client_of: Any) -> None:
    with Preflight.open(small_folder, "offline", embedder=embedder, route="plain", where=("title = basalt",)) as app:
        with running(app) as url:
            client = client_of(url)
            for where in ([], ["title = pumice"], ["title != basalt"], ["not title = basalt"]):
                for given in ({"where": where}, {"settings": {"where": where}}):
                    response = client.ask("Which rock is light?", **given)
                    assert "pumice" not in response.text.replace("title = pumice", "").lower(), (given, response.text)
                    found = client.post("/api/search", json={"query": "Which rock is light?", **given})
                    assert "Pumice" not in found.text


def test_a_key_that_may_only_read_changes_nothing_and_sends_nothing_out(
    scripted_app: Any, ring: KeyRing, client_of: Any
) -> None:
    key = ring.add("anna")
    with ScriptedServer(default="Hard [1].") as server, ScriptedServer(default="stolen") as elsewhere:
        app = scripted_app(server)
        with running(app, ServerOptions(rate=0)) as url:
            anna = client_of(url, key)
            id = anna.get("/api/documents").json()["documents"][0]["id"]
            before = anna.get("/api/stats").json()
            entry = {"model": "openai:x", "base_url": elsewhere.url, "key": "k"}
            assert [
                anna.post("/api/documents", files={"files": ("a.txt", b"Chalk is soft.")}).status_code,
                anna.patch("/api/documents", params={"id": id}, json={"tags": ["mine"]}).status_code,
                anna.delete("/api/documents", params={"id": id}).status_code,
                anna.get("/api/uploads").status_code,
                anna.delete("/api/uploads/x").status_code,
                anna.put("/api/model", json=entry).status_code,
                anna.delete("/api/model").status_code,
            ] == [403] * 7
            outwards = [
                *({"pubmed": True}, {"settings": {"pubmed": True}}, {"model": "openai:x"}, {"model": elsewhere.url}),
                *(
                    {"settings": {name: elsewhere.url}}
                    for name in ("base_url", "mesh", "reranker", "extractive_reader")
                ),
            ]
            for given in outwards:
                assert anna.ask("Is basalt hard?", **given).status_code in (400, 404), given
            messages = [{"role": "user", "content": "Is basalt hard?"}]
            for extra in ({"pubmed": True}, {"base_url": elsewhere.url}, {"settings": {"pubmed": True}}):
                anna.post("/v1/chat/completions", json={"model": "preflight", "messages": messages, **extra})
            assert anna.get("/api/stats").json() == before
            assert elsewhere.count() == 0


def raw(url: str, sent: bytes, seconds: float = 10) -> bytes:
    """What comes back for these bytes, up to the end of the connection or a silence."""
    address, reply = urlsplit(url), b""
    with socket.create_connection((address.hostname, address.port), timeout=seconds) as connection:
        try:
            connection.sendall(sent)
            while piece := connection.recv(65_536):
                reply += piece
                if b"\r\n\r\n" in reply:
                    break
        except OSError:
            pass
    return reply


BODIES = ("/api/ask", "/api/search", "/api/session", "/v1/chat/completions", "/v1/embeddings", "/v1/responses")


def test_a_body_over_the_limit_is_refused_before_it_is_read(door: tuple[str, str | None]) -> None:
    url, key = door
    for path in (*BODIES, "/api/documents"):
        kind = "multipart/form-data; boundary=x" if path == "/api/documents" else "application/json"
        head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {kind}\r\nAuthorization: Bearer {key}\r\n"
        # Nothing of the body is sent: who waits for it would wait for ever.
        reply = raw(url, f"{head}Content-Length: 1000000000000\r\n\r\n".encode())
        assert b" 413 " in reply.split(b"\r\n")[0], (path, reply)
        nobody = head.replace(f"Bearer {key}", "Bearer wrong").encode()
        if key and path != "/api/session":
            assert b" 401 " in raw(url, nobody + b"Content-Length: 100\r\n\r\n").split(b"\r\n")[0], path
    for path in BODIES:
        head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\n{JSON_LINE}\r\nAuthorization: Bearer {key}"
        chunks = b"%x\r\n%s\r\n" % (65_536, b" " * 65_536) * 40
        reply = raw(url, f"{head}\r\nTransfer-Encoding: chunked\r\n\r\n".encode() + chunks)
        assert b" 413 " in reply.split(b"\r\n")[0], (path, reply)
    for wrong in ("-1", "1e9", "1, 2", "９", "0x10"):
        head = f"POST /api/ask HTTP/1.1\r\nHost: localhost\r\n{JSON_LINE}\r\nContent-Length: {wrong}"
        assert b" 400 " in raw(url, f"{head}\r\n\r\n".encode()).split(b"\r\n")[0], wrong
    assert httpx.get(f"{url}/health").status_code == 200


def nested(levels: int, kind: str) -> str:
    return "[" * levels + "]" * levels if kind == "list" else '{"a":' * levels + "1" + "}" * levels


DEEP = [
    ("/api/ask", '{"question": "x", "stream": false, "settings": {"k": %s}}'),
    ("/api/ask", '{"question": "x", "stream": false, "where": %s}'),
    ("/api/ask", '{"question": %s}'),
    ("/api/search", '{"query": "x", "settings": %s}'),
    ("/v1/chat/completions", '{"model": "preflight", "messages": [{"role": "user", "content": "x"}], "metadata": %s}'),
    ("/v1/chat/completions", '{"model": "preflight", "messages": [{"role": "user", "content": [%s]}]}'),
    ("/v1/chat/completions", '{"model": "preflight", "messages": [{"role": "user", "content": "x"}], "tools": %s}'),
    (
        "/v1/chat/completions",
        '{"model": "preflight", "messages": [{"role": "user", "content": "x"}], "response_format": '
        '{"type": "json_schema", "json_schema": {"name": "x", "schema": {"type": "object", "properties": %s}}}}',
    ),
    ("/v1/responses", '{"model": "preflight", "input": "x", "metadata": %s}'),
    ("/v1/responses", '{"model": "preflight", "input": [{"role": "user", "content": [%s]}]}'),
    (
        "/v1/responses",
        '{"model": "preflight", "input": "x", "text": {"format": {"type": "json_schema", "schema": %s}}}',
    ),
    ("/v1/embeddings", '{"model": "preflight", "input": %s}'),
    ("/api/session", '{"key": %s}'),
    ("/api/threads/t/reply", '{"choice": %s}'),
]


@pytest.mark.parametrize(("path", "body"), DEEP)
def test_deep_json_is_no_failure_of_the_server(open_url: str, client_of: Any, path: str, body: str) -> None:
    client = client_of(open_url)
    for levels in (50, 200, 450, 900, 980, 100_000):
        for kind in ("list", "object"):
            response = client.post(path, content=(body % nested(levels, kind)).encode(), headers=JSON)
            assert response.status_code < 500, (levels, kind, response.text)
            assert response.status_code == (413 if len(body % nested(levels, kind)) > 1 << 20 else 400) or (
                levels < 1000
            ), response.text


def test_many_of_everything_is_no_failure_of_the_server(open_url: str, client_of: Any) -> None:
    keys = ",".join(f'"k{number}": 1' for number in range(50_000))
    url = open_url
    client = client_of(url)
    for body in (
        f'{{"question": "x", {keys}}}',
        f'{{"question": "x", "settings": {{{keys}}}}}',
        '{"question": "x", "where": [' + ",".join(['"year>=2020"'] * 40_000) + "]}",
        '{"question": "x", "options": [' + ",".join(['"a"'] * 100_000) + "]}",
        '{"question": "x", "k": ' + "9" * 100_000 + "}",
        '{"question": "x", "k": 1e400}',
        '{"question": "x", "k": NaN}',
        '{"question": "x", "turn": -1}',
        '{"question": "x", "thread_id": "t", "turn": 99999999999999999999999999}',
        '{"question": "x"' + " " * 900_000 + "}",
    ):
        response = client.post("/api/ask", content=body.replace("{", '{"stream": false, ', 1).encode(), headers=JSON)
        assert response.status_code < 500, (body[:80], response.text)
    messages = ",".join(['{"role": "user", "content": "x"}'] * 25_000)
    for body in (f'{{"model": "preflight", "messages": [{messages}]}}', '{"model": "preflight", "messages": []}'):
        assert client.post("/v1/chat/completions", content=body.encode(), headers=JSON).status_code == 400
    embedded = '{"model": "preflight", "input": [' + ",".join(['"a"'] * 100_000) + "]}"
    assert client.post("/v1/embeddings", content=embedded.encode(), headers=JSON).status_code == 400
    for path in ("/api/documents", "/api/threads", "/health", "/", "/static/x", "/api/documents/file"):
        query = "&".join(f"q{number}=1" for number in range(5_000))
        for sent in (
            query,
            "&" * 60_000,
            "query=" + "%00" * 15_000,
            "offset=" + "9" * 5_000,
            "%" * 60_000,
            "=" * 60_000,
        ):
            assert client.get(f"{path}?{sent}").status_code < 500, (path, sent[:20])
    many = "".join(f"X-{number}: a\r\n" for number in range(100_000))
    for lines in (many, "X: " + "a" * 200_000 + "\r\n", "Cookie: " + "a=b; " * 50_000 + "\r\n"):
        reply = raw(url, f"GET /health HTTP/1.1\r\nHost: localhost\r\n{lines}\r\n".encode())
        assert reply == b"" or b" 400 " in reply.split(b"\r\n")[0] or b" 431 " in reply.split(b"\r\n")[0], reply
    short = "Cookie: " + "a=b; " * 10_000 + "\r\n"
    assert b" 200 " in raw(url, f"GET /health HTTP/1.1\r\nHost: localhost\r\n{short}\r\n".encode()).split(b"\r\n")[0]
    assert client.get("/health").status_code == 200


def test_keys_cannot_be_guessed_and_are_compared_in_constant_time(
    ring: KeyRing, small_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = [ring.add(f"user{number}") for number in range(times(20, 200))]
    secrets_ = [key.split("_", 2)[2] for key in made]
    # 43 letters of 64 kinds are 258 bits, of which token_urlsafe(32) uses 256: no slow hash is needed.
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{43}", each) for each in secrets_)
    assert len(set(secrets_)) == len(made)
    letters = [letter for secret in secrets_ for letter in secret[:42]]
    assert len(set(letters)) == 64  # every kind is used
    with closing(sqlite3.connect(small_folder / "keys.db")) as connection:
        stored = [row[0] for row in connection.execute("SELECT hash FROM keys")]
        dump = "\n".join(connection.iterdump())
    assert all(re.fullmatch(r"[0-9a-f]{64}", each) for each in stored)
    assert not any(secret in dump for secret in secrets_)
    compared: list[tuple[str, str]] = []
    compare = access.hmac.compare_digest

    def watched(a: str, b: str) -> bool:
        compared.append((a, b))
        return compare(a, b)

    monkeypatch.setattr(access.hmac, "compare_digest", watched)
    wrong = [made[0][:-2] + "xx", "pf_000000000000_" + "a" * 43, "nothing"]
    assert [ring.find(each) for each in (*wrong, made[0])][:-1] == [None] * 3
    # Whether there is a row or not, two hashes of one length are compared, never the keys themselves.
    assert len(compared) == 4
    assert all(len(a) == len(b) == 64 for a, b in compared)


@pytest.mark.skipif(sys.platform == "win32", reason="permissions of POSIX")
def test_files_are_their_owners_alone_whatever_the_umask(small_folder: Path, tmp_path: Path) -> None:
    code = (
        "import os, sys; os.umask(0); sys.argv = ['preflight', *sys.argv[1:]]\nfrom preflight_rag.cli import app; app()"
    )
    folder, temporary = tmp_path / "open library", tmp_path / "temporary"
    temporary.mkdir()
    environment = {**os.environ, "TMPDIR": str(temporary)}

    def run(*arguments: object) -> str:
        command = [sys.executable, "-c", code, *map(str, arguments), "--library", str(folder)]
        return subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout

    run("ingest", tmp_path / "basalt.txt")
    run("ask", "Is basalt hard?", "--model", "offline")
    key = run("keys", "add", "anna", "--write").strip()
    seen: dict[Path, int] = {}

    def look() -> None:
        for place, folders, files in chain(os.walk(folder), os.walk(temporary)):
            for path in (Path(place, name) for name in (*folders, *files)):
                with suppress(OSError):  # it was there for a moment; `walk` passes over such folders, `rglob` does not
                    seen[path] = seen.get(path, 0) | path.lstat().st_mode

    def watch() -> None:
        while not done.wait(0.005):
            look()

    done = threading.Event()
    watching = threading.Thread(target=watch)
    watching.start()
    before = os.umask(0)
    try:
        with serving("-l", folder, "--model", "offline", "-q", TMPDIR=str(temporary)) as (_, url):
            headers = {"Authorization": f"Bearer {key}"}
            with closing(httpx.Client(base_url=url, headers=headers, timeout=60)) as client:
                files = {"files": ("chalk.txt", b"Chalk is a rock that is soft. " * 45_000)}
                assert client.post("/api/documents", files=files).status_code == 200
                assert client.post("/api/ask", json={"question": "Is chalk soft?", "stream": False}).status_code == 200
    finally:
        os.umask(before)
        done.set()
        watching.join()
    look()
    readable = [
        f"{path.relative_to(tmp_path)} {stat.filemode(mode)}"
        for path, mode in seen.items()
        # A file of the index lies in a folder that nobody else may enter; locks hold nothing.
        if stat.S_ISREG(mode)
        and path.name not in LOCKS
        and mode & 0o077
        and not any(seen.get(each, 0o777) & 0o077 == 0 for each in path.parents)
    ]
    names = {path.name for path in seen}
    assert {"library.db", "threads.db", "keys.db", "chalk.txt"} <= names
    assert not readable, "\n".join(sorted(readable))


LOCKS = (".write.lock", "guard", ".ses")
"""Of ours, and a semaphore of a library's."""


@contextmanager
def page_elsewhere(html: str) -> Iterator[str]:
    """The address of a page of another origin on this machine."""

    class Page(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(html.encode())

        def log_message(self, format: str, *arguments: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Page)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


ATTACK = """<!doctype html><title>elsewhere</title><script>
async function tried(target) {
  const json = {"Content-Type": "application/json"}, plain = {"Content-Type": "text/plain"};
  const ask = JSON.stringify({question: "Is basalt hard?", thread_id: "stolen", stream: false});
  const form = new FormData();
  form.append("files", new Blob(["Chalk is soft."], {type: "text/plain"}), "chalk.txt");
  const calls = [
    ["/api/ask", {method: "POST", headers: json, body: ask}],
    ["/api/ask", {method: "POST", headers: plain, body: ask, mode: "no-cors"}],
    ["/api/ask", {method: "POST", body: new URLSearchParams({question: "x"}), mode: "no-cors"}],
    ["/api/documents", {method: "POST", body: form, mode: "no-cors"}],
    ["/api/documents", {method: "POST", body: form, mode: "no-cors", credentials: "include"}],
    ["/api/documents?id=basalt.txt", {method: "DELETE"}],
    ["/api/threads/mine", {method: "DELETE"}],
    ["/api/threads/mine/stop", {method: "POST", mode: "no-cors"}],
    ["/api/session", {method: "DELETE"}],
    ["/v1/chat/completions", {method: "POST", headers: json, body: "{}"}],
    ["/api/info", {}], ["/api/threads", {}], ["/api/threads", {mode: "no-cors"}], ["/health", {}],
  ];
  const read = [];
  for (const [path, how] of calls) {
    try {
      const reply = await fetch(target + path, how), text = await reply.text();
      if (text) read.push([path, text]);
    } catch (error) { /* refused, which is what is hoped for */ }
  }
  navigator.sendBeacon(target + "/api/ask", new Blob([ask], {type: "text/plain"}));
  await new Promise((done) => {
    const frame = document.createElement("iframe");
    frame.onload = done; frame.onerror = done; frame.src = target; document.body.append(frame); setTimeout(done, 2000);
  });
  let framed = ""; try { framed = frames[0].document.body.innerText; } catch (error) { framed = ""; }
  return {read, framed};
}
</script><body>
<form id="f" method="post" enctype="text/plain"><input name='{"question": "x", "a": "' value='"}'></form>"""


@pytest.mark.skipif(not CHROMIUM.exists(), reason="there is no Chromium")
@pytest.mark.parametrize("with_key", [False, True])
def test_a_page_elsewhere_reads_and_changes_nothing(small_folder: Path, with_key: bool) -> None:
    from playwright.sync_api import sync_playwright

    with closing(KeyRing(small_folder)) as ring:
        key = ring.add("anna", write=True) if with_key else None
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    with (
        serving("-l", small_folder, "--model", "offline", "-q", "--rate", 0) as (_, url),
        page_elsewhere(ATTACK) as evil,
    ):
        with closing(httpx.Client(base_url=url, headers=headers, timeout=60)) as own, sync_playwright() as started:
            assert own.post("/api/ask", json={"question": "Is basalt hard?", "thread_id": "mine", "stream": False})
            before = [own.get(path).json() for path in ("/api/threads", "/api/documents", "/api/stats")]
            port = urlsplit(url).port
            # The second name points here by DNS that its owner has changed meanwhile.
            rebound = f"--host-resolver-rules=MAP rebound.example 127.0.0.1:{port}"
            flags = ["--no-sandbox", rebound, "--disable-features=BlockInsecurePrivateNetworkRequests"]
            browser = started.chromium.launch(executable_path=str(CHROMIUM), args=flags)
            page = browser.new_page()
            if key:  # the person who looks at the page elsewhere is signed in here
                page.goto(url)
                signed = page.evaluate(
                    "async (key) => (await fetch('/api/session', {method: 'POST', body: JSON.stringify({key}), "
                    "headers: {'Content-Type': 'application/json'}})).status",
                    key,
                )
                assert signed == 200
            page.goto(evil)
            for target in (url, url.replace("127.0.0.1", "localhost")):
                found = page.evaluate("target => tried(target)", target)
                assert found == {"read": [], "framed": ""}
            with page.expect_navigation():
                page.evaluate("target => { f.action = target + '/api/ask'; f.submit(); }", url)
            assert '"error"' in page.content()
            answer = page.goto(f"http://rebound.example:{port}/api/threads")
            assert answer is not None
            assert answer.status == (401 if key else 421)
            assert "basalt" not in page.content()
            wrote = page.evaluate(
                "async () => (await fetch('/api/ask', {method: 'POST', headers: {'Content-Type': 'application/json'}, "
                "body: JSON.stringify({question: 'x', thread_id: 'stolen'})})).status"
            )
            assert wrote == (401 if key else 421)
            browser.close()
            assert [own.get(path).json() for path in ("/api/threads", "/api/documents", "/api/stats")] == before


def test_a_forwarded_address_is_not_believed(small_folder: Path) -> None:
    shutil.rmtree(small_folder / ".locks", ignore_errors=True)
    with serving("-l", small_folder, "--model", "offline") as (process, url):
        forwarded = {"X-Forwarded-For": "203.0.113.9", "Forwarded": "for=203.0.113.9", "X-Real-IP": "203.0.113.9"}
        for _ in range(3):
            assert httpx.get(f"{url}/api/info", headers=forwarded).status_code == 200
        process.terminate()
        assert process.wait(timeout=20) == 0
        log = process.stderr.read()
    assert "203.0.113.9" not in log
    assert "127.0.0.1 local GET /api/info 200" in log


def test_embeddings_count_against_the_rate_and_let_others_through(offline_app: Preflight, client_of: Any) -> None:
    texts = ["stone " * 200] * 256
    with running(offline_app) as url:
        worker = threading.Thread(
            target=lambda: client_of(url).post("/v1/embeddings", json={"model": "preflight", "input": texts})
        )
        worker.start()
        client, replies = client_of(url), []
        while worker.is_alive() and len(replies) < 50:
            replies.append(client.get("/health").elapsed.total_seconds())
        answered = client.ask("Is basalt hard?").status_code
        worker.join()
        assert answered == 200
        assert replies
        assert max(replies) < 2
    time.sleep(3)  # a server that starts anew goes on with what was asked before: three requests of sixty a minute
    with running(offline_app, ServerOptions(rate=5)) as url:
        client = client_of(url)
        body = {"model": "preflight", "input": "a"}
        found = [client.post("/v1/embeddings", json=body).status_code for _ in range(8)]
        assert found[:5] == [200] * 5
        assert found[-1] == 429
