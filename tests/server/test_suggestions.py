"""What could be asked next, from the server: without a model by rule, with one by one call after the answer."""

import pytest
from serving import running

from preflight_rag import Preflight
from preflight_rag.library import Library
from preflight_rag.testing.scripted_server import ScriptedServer

pytestmark = pytest.mark.slow

PAPER = """# The moss of Norway

## Roots

Moss has no roots. It holds on to stones with threads that are called rhizoids.

## Water

Moss drinks the rain through its leaves, because it has no vessels that carry water.

## References

A book about moss.
"""


@pytest.fixture
def moss(tmp_path, embedder):
    (tmp_path / "moss.md").write_text(PAPER, encoding="utf-8")
    with Library.open(tmp_path / "moss", embedder=embedder, create=True) as library:
        library.ingest(tmp_path / "moss.md")
    return tmp_path / "moss"


def suggested(client, question):
    asked = client.ask(question, thread_id="t1").json()
    return client.post(f"/api/threads/t1/turns/{asked['turn']}/suggestions").json()["questions"]


def test_without_a_model_headings_that_are_found_are_suggested(moss, embedder, client_of):
    with Preflight.open(moss, "offline", embedder=embedder) as app, running(app) as url:
        client = client_of(url)
        found = suggested(client, "What holds moss on to stones?")
        for question in found:
            assert not client.ask(question).json()["abstained"]
        assert client.post("/api/threads/t1/turns/7/suggestions").status_code == 404
        assert suggested(client, "hello") == []
    assert found == ["What does “The moss of Norway” say about water?"]


def test_a_models_suggestions_are_one_call_and_held_to_the_passages(moss, embedder, client_of, chat_reader):
    reply = "1. How does moss drink rain?\n2. How does moss live in Peru?\n- Which threads hold moss?\nSure!"
    rules = [("Questions to ask next", reply)]
    with ScriptedServer(rules, default="Moss has no roots [1].") as server:
        with Preflight.open(moss, chat_reader(server), embedder=embedder, route="plain") as app, running(app) as url:
            client = client_of(url)
            found = suggested(client, "Has moss roots?")
            again = client.post("/api/threads/t1/turns/1/suggestions").json()["questions"]
    assert found == ["How does moss drink rain?", "Which threads hold moss?"]
    assert again == found
    assert server.count("Questions to ask next") == 1
