"""Requests start one after another, over all threads and clients."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import pytest
from ncbi_server import NcbiServer

from preflight_rag.library.pubmed import EntrezClient, Spacing
from preflight_rag.library.pubmed.client import PROCESS


def soon():
    return time.monotonic() + 30


def test_starts_of_many_threads_keep_their_distance():
    spacing = Spacing()
    with ThreadPoolExecutor(8) as threads:
        starts = sorted(threads.map(lambda _: spacing.wait(50, soon()), range(20)))
    assert all(later - earlier >= 1 / 50 for earlier, later in pairwise(starts))


def test_a_start_beyond_the_deadline_takes_no_place():
    spacing = Spacing()
    first = spacing.wait(10, soon())
    with pytest.raises(TimeoutError):
        spacing.wait(10, time.monotonic() + 0.01)
    assert spacing.wait(10, soon()) - first >= 0.1


def test_a_thread_that_waits_for_its_turn_gives_up_in_time():
    spacing = Spacing()
    spacing.pause(0.3)
    with ThreadPoolExecutor(1) as threads:
        patient = threads.submit(spacing.wait, 10, soon())
        with pytest.raises(TimeoutError):
            spacing.wait(10, time.monotonic() + 0.05)
        patient.result()


def test_all_wait_when_the_server_asks_for_it():
    spacing = Spacing()
    begun = time.monotonic()
    spacing.pause(0.2)
    assert spacing.wait(1000, soon()) - begun >= 0.2


def test_clients_share_one_spacing_unless_told_otherwise():
    with EntrezClient() as one, EntrezClient(api_key="k") as other:
        assert one._spacing is other._spacing is PROCESS
        assert (one.per_second, other.per_second) == (3, 10)


def test_twelve_at_once_all_survive_a_server_that_enforces_the_rate():
    """Four clients of twelve threads, at the rate that a key allows."""
    with NcbiServer(per_second=10) as server, ThreadPoolExecutor(12) as threads:
        clients = [EntrezClient(url=server.url, api_key="k") for _ in range(4)]
        found = list(threads.map(lambda i: clients[i % 4].search("pubmed", f"metformin OR word{i}"), range(12)))
        for client in clients:
            client.close()
    assert [result.hits for result in found] == [3] * 12
    assert len(server.requests) == 12 + server.refused
