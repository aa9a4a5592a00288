"""The client of E-utilities against a local NCBI: requests, replies, failures, and the spacing of requests."""

from __future__ import annotations

import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from email.utils import formatdate
from itertools import pairwise

import pytest
from ncbi_server import (
    BACKEND_FAILED,
    BROKEN_XML,
    DOWN,
    EMPTY,
    KEY_REFUSED,
    OTHER_XML,
    RATE_LIMITED,
    REFUSED,
    WEB_PAGE,
    Fault,
    HttpReply,
    NcbiServer,
)

from preflight_rag.pubmed import NCBI_URL, EntrezClient, Spacing
from preflight_rag.pubmed.client import PROCESS, date_window, retry_after
from preflight_rag.state.errors import ExpressionRefused, PubMedRefused, PubMedUnavailable, UsageError


def test_a_search_names_the_program_and_its_limits(ncbi_client_of):
    with NcbiServer() as server:
        client = ncbi_client_of(server, email="me@example.org", api_key="secret", tool="mine")
        found = client.search("pubmed", "metformin AND heart", limit=5, since="2020-05", until="2023")
    assert (found.ids, found.hits, found.note) == (("101",), 1, "")
    expected = {"tool": "mine", "email": "me@example.org", "api_key": "secret", "retmax": "5", "datetype": "pdat"}
    assert server.requests[0].asked.items() >= (expected | {"mindate": "2020/05", "maxdate": "2023"}).items()


def test_without_email_and_key_neither_is_sent(ncbi_client_of):
    with NcbiServer() as server:
        ncbi_client_of(server).search("pmc", "worms")
    assert not {"email", "api_key", "mindate"} & set(server.requests[0].asked)


@pytest.mark.parametrize(
    ("expression", "note"),
    [
        ("metformin AND zzxy", "not found: zzxy"),
        ('"muscle statins"', "phrase not found: muscle statins"),
        ("metformin[Titel]", "unknown field: Titel"),
        ("metformin AND the", "ignored: the"),
    ],
)
def test_what_ncbi_warns_of_is_the_note(ncbi_client_of, expression, note):
    with NcbiServer() as server:
        assert ncbi_client_of(server).search("pubmed", expression).note == note


def test_a_warning_in_no_known_form_is_kept_too(ncbi_client_of):
    reply = "<eSearchResult><Count>0</Count><IdList/><WarningList><NewWarning>beware</NewWarning></WarningList>"
    with NcbiServer(script=[Fault("x", HttpReply(f"{reply}</eSearchResult>"))]) as server:
        assert ncbi_client_of(server).search("pubmed", "x").note == "NewWarning: beware"


@pytest.mark.parametrize("passing", [RATE_LIMITED, DOWN, WEB_PAGE, BROKEN_XML, EMPTY, OTHER_XML, BACKEND_FAILED])
def test_what_may_pass_is_asked_again(ncbi_client_of, passing):
    with NcbiServer(script=[Fault("metformin", passing, times=1)]) as server:
        assert ncbi_client_of(server).search("pubmed", "metformin").hits == 3
    assert len(server.requests) == 2


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        (DOWN, "failed .status 500."),
        (WEB_PAGE, "a web page instead of XML"),
        (BROKEN_XML, "not well-formed"),
        (EMPTY, "an empty reply"),
        (OTHER_XML, "sent <rss> instead of <eSearchResult>"),
        (BACKEND_FAILED, "Search Backend failed"),
        (HttpReply("<eSearchResult/>"), "without a count"),
        (HttpReply('{"error":"API rate limit exceeded"}'), "asks for fewer requests"),
    ],
)
def test_what_does_not_pass_is_one_clear_error(ncbi_client_of, reply, message):
    with NcbiServer(script=[Fault("metformin", reply)]) as server:
        with pytest.raises(PubMedUnavailable, match=message) as caught:
            ncbi_client_of(server, attempts=2).search("pubmed", "metformin")
    assert len(server.requests) == 2
    assert caught.value.help
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("reply", "kind", "message"),
    [
        (REFUSED, ExpressionRefused, "'metformin': Invalid query"),
        (HttpReply("bad", 400), ExpressionRefused, "status 400"),
        (HttpReply("long", 414), ExpressionRefused, "status 414"),
        (KEY_REFUSED, PubMedRefused, "NCBI_API_KEY"),
        (HttpReply("moved", 301), PubMedRefused, "PREFLIGHT_NCBI_URL"),
    ],
)
def test_what_is_no_for_good_is_not_asked_again(ncbi_client_of, reply, kind, message):
    with NcbiServer(script=[Fault("metformin", reply)]) as server:
        with pytest.raises(kind, match=message):
            ncbi_client_of(server, api_key="secret").search("pubmed", "metformin")
    assert len(server.requests) == 1


def test_retry_after_is_waited_for(ncbi_client_of):
    with NcbiServer(script=[Fault("metformin", RATE_LIMITED, times=1)]) as server:
        ncbi_client_of(server).search("pubmed", "metformin")
    first, second = server.requests
    assert second.arrived - first.arrived >= 0.2


def test_a_wait_beyond_the_deadline_ends_at_once(ncbi_client_of):
    slow = HttpReply("", 503, headers=(("Retry-After", "3600"),))
    with NcbiServer(script=[Fault("metformin", slow)]) as server:
        with pytest.raises(PubMedUnavailable, match=r"status 503. and asks to wait 3,600 s"):
            ncbi_client_of(server).search("pubmed", "metformin")
    assert len(server.requests) == 1


def test_a_silent_server_is_given_up(ncbi_client_of):
    with NcbiServer(script=[Fault("metformin", delay=30)]) as server:
        with pytest.raises(PubMedUnavailable, match=r"silent for 0\.05 s"):
            ncbi_client_of(server, timeout=0.05, attempts=1).search("pubmed", "metformin")


def test_a_slow_drip_is_given_up(ncbi_client_of):
    with NcbiServer(script=[Fault("metformin", drip=0.03)]) as server:
        with pytest.raises(PubMedUnavailable, match="too slow"):
            ncbi_client_of(server, attempts=1).search("pubmed", "metformin", deadline=time.monotonic() + 0.2)


def test_no_time_left_is_said(ncbi_client_of):
    with NcbiServer() as server:
        with pytest.raises(PubMedUnavailable, match="could not be asked in time"):
            ncbi_client_of(server).search("pubmed", "metformin", deadline=time.monotonic() - 1)
    assert not server.requests


def test_a_server_that_is_not_there_is_named():
    with EntrezClient(url="http://127.0.0.1:9/eutils", attempts=1) as client:
        with pytest.raises(PubMedUnavailable, match=r"cannot be reached at http://127\.0\.0\.1:9"):
            client.search("pubmed", "metformin")


def test_a_key_is_in_no_address(ncbi_client_of):
    """Addresses stand in the logs of every server between."""
    with NcbiServer() as server:
        client = ncbi_client_of(server, api_key="secret")
        client.search("pubmed", "metformin")
        client.fetch("pubmed", ["101"])
        ncbi_client_of(server).search("pubmed", "metformin")
    *with_key, without = server.addresses
    assert not any("?" in address or "secret" in address for address in with_key)
    assert "term=metformin" in without
    assert [request.asked.get("api_key") for request in server.requests] == ["secret", "secret", None]


def test_long_expressions_are_posted(ncbi_client_of):
    expression = " OR ".join(["metformin", *(f"{'z' * 40}{i}" for i in range(40))])
    with NcbiServer() as server:
        assert ncbi_client_of(server).search("pubmed", expression).hits == 3
    assert len(expression) > 1500
    assert server.requests[0].asked["term"] == expression


def test_records_come_as_xml(ncbi_client_of):
    with NcbiServer() as server:
        client = ncbi_client_of(server)
        assert b"<PMID Version=" in client.fetch("pubmed", ["101", "102"])
        assert b"Findings" in client.fetch("pmc", ["203"])
        with pytest.raises(PubMedRefused, match="no records: Invalid db name"):
            client.fetch("books", ["1"])


@pytest.mark.parametrize("since", ["last week", "20", "soon"])
def test_a_date_in_no_known_form_is_refused(since):
    with pytest.raises(UsageError, match="is no date"):
        date_window(since, None)


def test_dates_are_both_given_or_none():
    assert date_window(None, None) == {}
    assert date_window(None, "2020-03-31") == {"datetype": "pdat", "mindate": "0001", "maxdate": "2020/03/31"}
    assert date_window("2020", None)["maxdate"] == "3000"


@pytest.mark.parametrize(("value", "seconds"), [(None, None), ("2", 2.0), ("0.5", 0.5), ("soon", None), ("", None)])
def test_retry_after_as_a_number(value, seconds):
    assert retry_after(value) == seconds


def test_retry_after_as_a_date():
    assert 50 < retry_after(formatdate(time.time() + 60, usegmt=True)) <= 60
    assert retry_after(formatdate(0, usegmt=True)) == 0


def test_wrong_calls_are_refused():
    with EntrezClient() as client, pytest.raises(UsageError, match="empty"):
        client.search("pubmed", " ")
    with pytest.raises(UsageError, match=NCBI_URL):
        EntrezClient(url="eutils")


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


WAITS = """
import sys, time
from pathlib import Path
from preflight_rag.pubmed import Spacing
spacing = Spacing(lambda: Path(sys.argv[1]))
print(*(spacing.wait(20, time.monotonic() + 30) for _ in range(6)))
"""


def test_processes_of_one_machine_keep_their_distance(tmp_path):
    """Three processes that know nothing of each other: 18 starts, each a twentieth of a second after the last."""
    command = [sys.executable, "-c", WAITS, str(tmp_path / "ncbi" / "last")]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    starts = sorted(float(start) for process in running for start in process.communicate(timeout=60)[0].split())
    assert len(starts) == 18
    assert all(later - earlier >= 1 / 20 for earlier, later in pairwise(starts))


@pytest.mark.parametrize("written", ["", "soon", "1e300", "nan"])
def test_a_time_that_says_nothing_is_not_waited_for(tmp_path, written):
    """A damaged file, or one from before the machine was started anew."""
    file = tmp_path / "last"
    file.write_text(written)
    begun = time.monotonic()
    assert Spacing(lambda: file).wait(1, soon()) - begun < 0.5


def test_a_cache_that_cannot_be_written_keeps_nobody_from_asking(tmp_path):
    (tmp_path / "file").write_text("")
    spacing = Spacing(lambda: tmp_path / "file" / "last")
    first = spacing.wait(20, soon())
    assert spacing.wait(20, soon()) - first >= 1 / 20


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
