"""The engines that take documents in; each test of this folder runs over every one of them."""

from __future__ import annotations

import pytest
from six_documents import documents

from preflight_rag.library.opening import open_library


@pytest.fixture(params=["folder", "postgres"])
def address(request, tmp_path, monkeypatch):
    """Where an engine has nothing yet: what `--library` takes."""
    if request.param == "folder":
        return str(tmp_path / "library")
    monkeypatch.setenv("PREFLIGHT_HOME", str(tmp_path / "home"))
    return request.getfixturevalue("vector_postgres").database()


@pytest.fixture
def opened(address, embedder):
    """Opens the collection at the address, as often as it is called; all are closed at the end."""
    collections = []

    def open_again(**options):
        collections.append(open_library(address, **{"embedder": embedder, "create": True, **options}))
        return collections[-1]

    yield open_again
    for collection in collections:
        collection.close()


@pytest.fixture
def collection(opened):
    """One with the six documents."""
    made = opened()
    made.add(documents())
    return made
