"""Whole turns over a library in PostgreSQL: the three routes, and a server that goes away in the middle."""

from __future__ import annotations

import json

import pytest
from postgres_server import error_of_a_turn_that_loses, running_server
from six_documents import documents

from preflight_rag import Preflight
from preflight_rag.library.opening import open_library
from preflight_rag.state.errors import LibraryUnavailable
from preflight_rag.testing.scripted_server import Reply, ScriptedServer

pytestmark = pytest.mark.slow

pytest.importorskip("psycopg_pool", reason="the extra postgres is not installed")

QUESTION = "How hot is the planet Venus?"


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("PREFLIGHT_HOME", str(tmp_path / "home"))


def filled(url, embedder):
    with open_library(url, embedder=embedder, create=True) as library:
        library.add(documents())
    return url


@pytest.mark.parametrize("route", ["plain", "map-reduce", "corg"])
def test_a_turn_on_each_route(vector_postgres, embedder, chat_reader, route):
    url = filled(vector_postgres.database(), embedder)
    with ScriptedServer(default="Hotter than Mercury [1].") as model:
        with Preflight.open(url, chat_reader(model), route=route) as app:
            answer = app.ask(QUESTION, thread_id="t")
            assert answer.route.name == route.replace("-", "_")
            assert "Hotter than Mercury" in answer.answer
            assert answer.citations[0].document_id == "venus"
            again = app.ask("And what of it?", thread_id="t")
            assert again.turn == 2
        with Preflight.open(url, chat_reader(model)) as elsewhere:
            assert [turn.status for turn in elsewhere.ledger.turns("t")] == ["answered", "answered"]


def test_the_same_answers_as_over_a_folder(vector_postgres, embedder, tmp_path):
    url = filled(vector_postgres.database(), embedder)
    folder = str(tmp_path / "library")
    filled(folder, embedder)
    found = []
    for place in (url, folder):
        with Preflight.open(place, "offline") as app:
            for question in (QUESTION, "What contains caffeine?", "What treats anaemia?"):
                answer = app.ask(question).model_dump(mode="json")
                kept = ("answer", "outcome", "citations", "confidence", "short_answer")
                found.append({name: answer[name] for name in kept} | {"risk": round(answer["route"]["risk"] or 0, 6)})
    assert json.dumps(found[:3]) == json.dumps(found[3:])


@pytest.fixture
def own_server():
    """A server that a test may stop."""
    with running_server(vectors=True) as server:
        yield server


def test_a_turn_that_loses_its_library_is_resumed_when_that_is_back(own_server, embedder, chat_reader, postgres):
    url = filled(own_server.database(), embedder)
    late = [("<passages>", Reply("Hotter than Mercury [1].", delay=2), 1)]
    with ScriptedServer(late, default="Hotter than Mercury [1].") as model:
        with Preflight.open(url, chat_reader(model), threads=postgres.database(), route="plain") as app:
            error = error_of_a_turn_that_loses(own_server, app, model, QUESTION)
            assert isinstance(error, LibraryUnavailable)
            assert error.retryable
            assert "p4ss" not in str(error)
            assert error.thread_id == "t"
            assert app.resume("t").answer.startswith("Hotter than Mercury")
        assert model.count("<passages>") == 1, "what the model had written is kept"
