"""Clients that talk to the local NCBI."""

from __future__ import annotations

import pytest

from preflight_rag.library.pubmed import EntrezClient, Spacing


@pytest.fixture
def client_of():
    """Makes a fast client of a server, with a spacing of its own; all are closed at the end."""
    opened = []

    def make(server, **options):
        options = {"per_second": 500, "spacing": Spacing(), "timeout": 5.0} | options
        opened.append(EntrezClient(url=server.url, **options))
        return opened[-1]

    yield make
    for client in opened:
        client.close()
