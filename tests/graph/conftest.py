"""Fixtures of the tests of whole turns."""

import pytest
from broken_bow import documents

from preflight_rag import Preflight
from preflight_rag.library import Library


@pytest.fixture
def opened(tmp_path, embedder, chat_reader):
    """Opens a library whose documents say the given facts."""

    def make(server, facts, **settings):
        folder = tmp_path / "library"
        with Library.open(folder, embedder=embedder, create=True) as library:
            library.add(documents(facts))
        return Preflight.open(folder, chat_reader(server), **({"route": "corg"} | settings))

    return make


@pytest.fixture
def over_the_demo(own_folder, chat_reader):
    """Opens a copy of the demo's library with a scripted model, on the route plain."""

    def make(server, **settings):
        return Preflight.open(own_folder, chat_reader(server), **({"route": "plain"} | settings))

    return make
