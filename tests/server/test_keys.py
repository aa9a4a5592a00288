"""Keys: who may ask, who may change documents, and that nobody sees another's conversations."""

import sqlite3

import pytest
from serving import running

from preflight_rag.server import ServerOptions
from preflight_rag.server.access import KeyRing
from preflight_rag.state.errors import LibraryError, UsageError

pytestmark = pytest.mark.slow


@pytest.fixture
def ring(small_folder):
    ring = KeyRing(small_folder)
    yield ring
    ring.close()


def test_a_key_is_stored_as_a_hash_only(ring, small_folder):
    key = ring.add("anna", write=True)
    with sqlite3.connect(small_folder / "keys.db") as connection:
        dump = "\n".join(connection.iterdump())
    connection.close()
    secret = key.split("_", 2)[2]
    assert secret not in dump
    assert (small_folder / "keys.db").stat().st_mode & 0o077 == 0
    assert ring.find(key).name == "anna"
    assert ring.find(key).write


@pytest.mark.parametrize("wrong", ["", "x", "pf_000000000000_" + "a" * 43, "pf_é"])
def test_a_wrong_key_is_nobodys(ring, wrong):
    key = ring.add("anna")
    assert ring.find(wrong) is None
    assert ring.find(key[:-1] + ("a" if key[-1] != "a" else "b")) is None
    assert ring.find(key + "a") is None


def test_a_revoked_key_is_nobodys(ring):
    key = ring.add("anna")
    assert ring.any()
    assert ring.revoke("anna")
    assert ring.find(key) is None
    assert not ring.revoke("anna")
    assert ring.all() == []


@pytest.mark.parametrize("name", ["", "local", "a/b", "../x", "a b", "<script>", "x" * 65, "é"])
def test_a_name_that_cannot_be_one(ring, name):
    with pytest.raises(UsageError):
        ring.add(name)


def test_an_emptied_file_of_keys_is_damaged_and_opens_nothing(ring, small_folder):
    ring.add("anna")
    ring.close()
    (small_folder / "keys.db").write_bytes(b"")
    with pytest.raises(LibraryError, match="cannot be used"):
        ring.any()


def test_a_name_has_one_key(ring):
    ring.add("anna")
    with pytest.raises(UsageError, match="has a key already"):
        ring.add("anna")


def test_nothing_is_written_before_the_first_key(ring, small_folder):
    assert not ring.any()
    assert ring.find("x") is None
    assert not (small_folder / "keys.db").exists()


def test_with_keys_every_call_needs_one(offline_app, ring, client_of):
    key = ring.add("anna")
    paths = ["/api/info", "/api/threads", "/api/documents", "/api/stats", "/metrics", "/v1/models", "/nothing"]
    with running(offline_app) as url:
        nobody, wrong, anna = client_of(url), client_of(url, "pf_wrong"), client_of(url, key)
        for path in paths:
            assert nobody.get(path).status_code == 401
            assert wrong.get(path).status_code == 401
        shape = nobody.get("/v1/models").json()["error"]
        assert nobody.get("/").status_code == 200
        assert nobody.get("/health").json() == {"status": "ok"}
        assert "library" in anna.get("/health").json()
        info = anna.get("/api/info").json()
        ring.revoke("anna")
        assert anna.get("/api/info").status_code == 401
        assert nobody.get("/api/info").status_code == 401
    assert (info["user"], info["auth"], info["write"]) == ("anna", True, False)
    assert set(shape) == {"message", "type", "param", "code"}


def test_others_threads_are_not_there(offline_app, ring, client_of):
    keys = {name: ring.add(name) for name in ("anna", "ann")}
    with running(offline_app) as url:
        anna, ann = client_of(url, keys["anna"]), client_of(url, keys["ann"])
        said = anna.ask("Is basalt hard?", thread_id="stones").json()
        other = ann.ask("Is pumice light?", thread_id="stones").json()
        anna.ask("Is slate flat?", thread_id="mine")
        assert [row["thread_id"] for row in ann.get("/api/threads").json()["threads"]] == ["stones"]
        assert ann.get("/api/threads", params={"query": "basalt"}).json()["threads"] == []
        for method, path in [("GET", ""), ("GET", "/export"), ("DELETE", ""), ("POST", "/resume")]:
            for name in ("mine", "anna/mine"):
                body = {"json": {}} if method == "POST" else {}
                assert ann.request(method, f"/api/threads/{name}{path}", **body).status_code == 404
        assert ann.patch("/api/threads/mine", json={"title": "x"}).status_code == 404
        assert ann.post("/api/threads/mine/stop").json() == {"stopped": False}
        assert anna.get("/api/threads/mine").json()["turns"][0]["answer"]["thread_id"] == "mine"
    assert (said["thread_id"], said["turn"]) == ("stones", 1)
    assert (other["thread_id"], other["turn"]) == ("stones", 1)
    assert sorted(row.thread_id for row in offline_app.ledger.threads()) == ["ann/stones", "anna/mine", "anna/stones"]


def test_only_writers_change_documents(offline_app, ring, client_of):
    reader, writer = ring.add("reader"), ring.add("writer", write=True)
    file = {"files": ("moss.txt", b"Moss has no roots.")}
    with running(offline_app) as url:
        refused = client_of(url, reader).post("/api/documents", files=file)
        assert refused.status_code == 403
        assert client_of(url, reader).delete("/api/documents", params={"id": "x"}).status_code == 403
        assert client_of(url, writer).post("/api/documents", files=file).json()["added"] == 1
    assert refused.json()["error"]["code"] == "forbidden"


def test_the_pages_session(offline_app, ring, client_of):
    key = ring.add("anna", write=True)
    with running(offline_app) as url:
        client = client_of(url)
        own = {"origin": url}
        assert client.post("/api/session", json={"key": "pf_wrong"}, headers=own).status_code == 401
        opened = client.post("/api/session", json={"key": key}, headers=own)
        cookie = opened.headers["set-cookie"].lower()
        assert client.get("/api/info").json()["user"] == "anna"
        assert client.post("/api/search", json={"query": "basalt"}, headers=own).status_code == 200
        for headers in ({}, {"origin": "http://evil.example"}, {"sec-fetch-site": "cross-site"}):
            assert client.post("/api/search", json={"query": "basalt"}, headers=headers).status_code == 403
        assert client.delete("/api/session", headers=own).status_code == 204
        assert client.get("/api/info").status_code == 401
        client.post("/api/session", json={"key": key}, headers=own)
        ring.revoke("anna")
        assert client.get("/api/info").status_code == 401
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert key not in cookie


def test_guessing_keys_soon_has_to_wait(offline_app, ring, client_of):
    ring.add("anna")
    with running(offline_app, ServerOptions(rate=60)) as url:
        client = client_of(url, "pf_wrong")
        found = [client.get("/api/info").status_code for _ in range(6)]
    assert found[0] == 401
    assert found[-1] == 429


def test_a_server_for_others_asks_for_a_key_also_without_one(offline_app, client_of):
    with running(offline_app, ServerOptions(require_keys=True)) as url:
        assert client_of(url).get("/api/info").status_code == 401


def test_keys_of_before_there_were_admins_open_as_they_were(small_folder, ring):
    key = ring.add("anna", write=True)
    with sqlite3.connect(small_folder / "keys.db") as connection:
        connection.execute("ALTER TABLE keys DROP COLUMN admin")
        connection.execute("PRAGMA user_version = 0")  # as files were before they had a number
    connection.close()
    old = KeyRing(small_folder)
    assert (old.find(key).write, old.find(key).admin) == (True, False)
    assert old.find(old.add("operator", admin=True)).admin
    assert old.find(key).write
    old.close()
