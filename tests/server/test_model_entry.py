"""A language model that an operator connects: tried, kept for the owner's eyes, shown to nobody, for admins only."""

import json
import stat

import pytest
from serving import running

from preflight_rag import Preflight
from preflight_rag.server import ServerOptions
from preflight_rag.server.access import KeyRing
from preflight_rag.testing.scripted_replies import Reply
from preflight_rag.testing.scripted_server import ScriptedServer

pytestmark = pytest.mark.slow

KEY = "sk-very-secret"


def entry(server, **changes):
    return {"base_url": server.url, "model": "scripted", "key": KEY, **changes}


def test_a_connected_model_answers_and_its_key_stays_on_the_server(offline_app, client_of, small_folder):
    with ScriptedServer(default="Basalt is hard [1].") as server, running(offline_app) as url:
        client = client_of(url)
        assert client.get("/api/info").json()["model_entry"] == {"allowed": True, "host": None}
        connected = client.put("/api/model", json=entry(server))
        answer = client.ask("How is basalt?").json()
        info = client.get("/api/info")
        sent = {request.authorization for request in server.requests}
    assert connected.json() == {"model": "openai:scripted"}
    assert answer["answer"] == "Basalt is hard [1]."
    assert answer["receipt"]["model"] == "openai:scripted"
    assert info.json()["model_entry"] == {"allowed": True, "host": "127.0.0.1"}
    assert KEY not in connected.text + info.text
    assert sent == {f"Bearer {KEY}"}
    kept = small_folder / "model.json"
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert json.loads(kept.read_text())["key"] == KEY


def test_the_application_that_is_served_keeps_its_own_reader(offline_app, client_of):
    with ScriptedServer(default="Basalt is hard [1].") as server, running(offline_app) as url:
        client = client_of(url)
        client.put("/api/model", json=entry(server))
        served = client.ask("How is basalt?").json()
        own = offline_app.ask("How is basalt?", thread_id=served["thread_id"])
        asked = len(server.requests)
    assert served["receipt"]["model"] == "openai:scripted"
    assert own.receipt.model == offline_app.reader.name == "preflight reader"
    assert own.turn == 2
    assert asked == 2  # one that tried the model, one for the served turn


def test_it_is_taken_again_after_a_restart_and_forgotten_on_request(offline_app, client_of, small_folder, embedder):
    with ScriptedServer(default="Basalt is hard [1].") as server:
        with running(offline_app) as url:
            client_of(url).put("/api/model", json=entry(server))
        offline_app.close()
        with Preflight.open(small_folder, "offline", embedder=embedder) as app, running(app) as url:
            client = client_of(url)
            assert client.get("/api/info").json()["model"] == "openai:scripted"
            assert client.delete("/api/model").status_code == 204
            assert client.get("/api/info").json()["model"] == "preflight reader"
            assert not (small_folder / "model.json").exists()


def test_a_model_of_the_command_line_wins_over_it(offline_app, client_of, small_folder, embedder):
    with ScriptedServer(default="Basalt is hard [1].") as server:
        with running(offline_app) as url:
            client_of(url).put("/api/model", json=entry(server))
    offline_app.close()
    with Preflight.open(small_folder, "offline", embedder=embedder) as app:
        with running(app, ServerOptions(entered=False)) as url:
            assert client_of(url).get("/api/info").json()["model"] == "preflight reader"


@pytest.mark.parametrize(
    ("reply", "changes", "words"),
    [
        (Reply("no such key", status=401), {}, "refused the key"),
        (Reply("nothing here", status=404), {}, "not found"),
        ("ok", {"base_url": "http://127.0.0.1:9/v1"}, "cannot be reached"),
        ("ok", {"base_url": "file:///etc/passwd"}, "not the URL"),
        ("ok", {"base_url": "https://user:pass@example.org/v1"}, "not the URL"),
        ("ok", {"base_url": "model"}, "not the URL"),
    ],
)
def test_a_model_that_does_not_answer_is_not_kept(offline_app, client_of, small_folder, reply, changes, words):
    with ScriptedServer(default=reply) as server, running(offline_app) as url:
        refused = client_of(url).put("/api/model", json=entry(server, **changes))
        assert client_of(url).get("/api/info").json()["model"] == "preflight reader"
    assert refused.status_code == 400
    assert words in refused.json()["error"]["message"]
    assert KEY not in refused.text
    assert not (small_folder / "model.json").exists()


def test_the_servers_own_key_never_goes_to_an_entered_address(offline_app, client_of, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-environment")
    with ScriptedServer(default="ok") as server, running(offline_app) as url:
        assert client_of(url).put("/api/model", json=entry(server, key="", model="")).status_code == 200
        sent = {request.authorization for request in server.requests}
    assert not any("environment" in (value or "") for value in sent)


def test_only_an_admins_key_may_connect_one(offline_app, client_of, small_folder):
    ring = KeyRing(small_folder)
    keys = {"reader": ring.add("reader"), "writer": ring.add("writer", write=True)}
    admin = ring.add("operator", admin=True)
    with ScriptedServer(default="ok") as server, running(offline_app) as url:
        for key in keys.values():
            client = client_of(url, key)
            assert client.put("/api/model", json=entry(server)).status_code == 403
            assert client.delete("/api/model").status_code == 403
            assert client.get("/api/info").json()["model_entry"] == {"allowed": False, "host": None}
        assert server.requests == []
        assert client_of(url, admin).put("/api/model", json=entry(server)).status_code == 200
        assert client_of(url, keys["reader"]).get("/api/info").json()["model_entry"]["host"] is None
    ring.close()


def test_nobody_behind_a_proxy_may_connect_one_without_a_key(offline_app, client_of):
    with ScriptedServer(default="ok") as server, running(offline_app) as url:
        client = client_of(url)
        client.headers["X-Forwarded-For"] = "203.0.113.7"
        assert client.put("/api/model", json=entry(server)).status_code == 403
