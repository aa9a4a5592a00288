"""A small library and applications over it, for the tests of the server and of faults."""

from __future__ import annotations

import openai
import pytest
import stones
from serving import Client

from preflight_rag import Preflight


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


@pytest.fixture
def openai_client():
    """Makes OpenAI's own clients of a server; they are closed at the end."""
    made = []

    def make(url, key="none"):
        made.append(openai.OpenAI(base_url=f"{url}/v1", api_key=key, max_retries=0, timeout=60))
        return made[-1]

    yield make
    for client in made:
        client.close()


@pytest.fixture
def small_folder(tmp_path, embedder):
    """A library of a few sentences that a test may write to."""
    return stones.library(tmp_path, embedder)


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


@pytest.fixture(scope="module")
def shared_app(tmp_path_factory, embedder):
    """One application for those tests of a file that leave the library as they found it; opening one takes longest."""
    folder = stones.library(tmp_path_factory.mktemp("shared"), embedder)
    with Preflight.open(folder, "offline", embedder=embedder, route="plain") as app:
        yield app


@pytest.fixture
def offline_app(small_folder, embedder):
    with Preflight.open(small_folder, "offline", embedder=embedder, route="plain") as app:
        yield app
