"""Fixtures of the server's tests."""

from __future__ import annotations

import pytest
from serving import Client

from preflight_rag import Preflight
from preflight_rag.library import Library


@pytest.fixture
def client_of():
    """Makes clients of a server; they are closed at the end."""
    made = []

    def make(url, key=None, **options):
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        made.append(Client(base_url=url, headers=headers, timeout=60, **options))
        return made[-1]

    yield make
    for client in made:
        client.close()


FACTS = [("Basalt", "hard"), ("Pumice", "light"), ("Marble", "white"), ("Slate", "flat")]


@pytest.fixture
def small_folder(tmp_path, embedder):
    """A library of a few sentences that a test may write to."""
    folder = tmp_path / "stones"
    texts = {f"{name.lower()}.txt": f"{name} is a rock that is {fact}." for name, fact in FACTS}
    for name, text in texts.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    with Library.open(folder, embedder=embedder, create=True) as library:
        library.ingest([tmp_path / name for name in texts])
    return folder


@pytest.fixture
def scripted_app(small_folder, chat_reader, embedder):
    """Opens the small library with a scripted model; the route is plain unless another is given."""
    opened = []

    def make(server, **settings):
        reader = chat_reader(server)
        opened.append(Preflight.open(small_folder, reader, embedder=embedder, **{"route": "plain"} | settings))
        return opened[-1]

    yield make
    for app in opened:
        app.close()


@pytest.fixture
def offline_app(small_folder, embedder):
    with Preflight.open(small_folder, "offline", embedder=embedder, route="plain") as app:
        yield app
