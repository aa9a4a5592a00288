"""Fixtures of the tests that bring faults about: those of the server's tests, and a library with a scripted model."""

from __future__ import annotations

import pytest
from fault_counts import times
from kept_threads import STORES, Kept
from model_talk import make_library, talking
from server_fixtures import client_of, offline_app, scripted_app, shared_app, small_folder

__all__ = ["broken_bow", "client_of", "offline_app", "scripted_app", "shared_app", "small_folder", "talk"]


@pytest.fixture(scope="module")
def broken_bow(tmp_path_factory, embedder):
    """The folder of a library of three documents that contradict each other, for the tests of one file."""
    return make_library(tmp_path_factory.mktemp("broken-bow") / "library", embedder)


@pytest.fixture(scope="module")
def talk(broken_bow):
    """One application over that library, and one scripted model, whose calls may take long."""
    with talking(broken_bow, 30.0) as talk:
        yield talk


@pytest.fixture(params=times(STORES[:1], STORES))
def kept_under_load(request, small_folder):
    """Where the server that is tested keeps conversations: in `make faults` over both databases."""
    url = None if request.param == "sqlite" else request.getfixturevalue("postgres").database()
    return Kept(small_folder, url)
