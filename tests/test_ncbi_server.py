"""The scripted stand-in for NCBI does what its tests rely on."""

from __future__ import annotations

import httpx
import pytest
from ncbi_server import BROKEN_XML, DOWN, Fault, NcbiServer


def get(server, utility="esearch.fcgi", **asked):
    return httpx.get(f"{server.url}/{utility}", params={"db": "pubmed", **asked})


def test_faults_come_in_order_and_run_out():
    with NcbiServer(script=[Fault("metformin", DOWN, times=1), Fault("metformin", BROKEN_XML, times=1)]) as server:
        replies = [get(server, term=term) for term in ("insulin", "metformin", "metformin", "metformin")]
    assert [reply.status_code for reply in replies] == [200, 500, 200, 200]
    assert [reply.text.rstrip().endswith("</eSearchResult>") for reply in replies] == [True, False, False, True]
    assert server.terms() == ["insulin", "metformin", "metformin", "metformin"]


def test_a_rate_is_enforced_as_ncbi_does():
    with NcbiServer(per_second=1, retry_after=3) as server, httpx.Client() as client:
        replies = [client.get(f"{server.url}/esearch.fcgi", params={"db": "pubmed", "term": "x"}) for _ in range(30)]
    refused = [reply for reply in replies if reply.status_code == 429]
    assert len(refused) == server.refused > 0
    assert refused[0].headers["Retry-After"] == "3"
    assert refused[0].json()["error"] == "API rate limit exceeded"


@pytest.mark.parametrize(("utility", "status"), [("efetch.fcgi", 200), ("elink.fcgi", 404)])
def test_other_utilities(utility, status):
    with NcbiServer() as server:
        assert get(server, utility, id="101").status_code == status
