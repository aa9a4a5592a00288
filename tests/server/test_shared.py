"""What servers over one library share, also after a restart: sessions of the page, and how much was asked and spent."""

from __future__ import annotations

import asyncio
import random
import sqlite3
import stat
import time
from contextlib import closing
from hashlib import sha256

import httpx
import pytest
from kept_threads import Kept
from serving import running, serving

from preflight_rag import Preflight
from preflight_rag.server.access import KeyRing
from preflight_rag.server.shared import DATABASE, BucketLimit, SharedState
from preflight_rag.testing import Reply, ScriptedServer

pytestmark = pytest.mark.slow

LINE = "Basalt is hard [1]. " + "".join(f"It really is so, says note {n}. " for n in range(760))
"""About 6,000 tokens, so that a day's 9,000 are enough for one reply, and a second one takes more than is left."""


@pytest.fixture(params=["sqlite", "postgres"])
def place(request, small_folder):
    """A library, and where what servers share is kept."""
    return Kept(small_folder, None if request.param == "sqlite" else request.getfixturevalue("postgres").database())


def rows(place, query):
    """What a statement gives, read past the code under test."""
    if place.url:
        return place.rows(query)
    with closing(sqlite3.connect(place.folder / DATABASE)) as connection, connection:
        return connection.execute(query).fetchall()


def server(place, *options, model="offline", **environment):
    return serving("-l", place.folder, "--model", model, *options, **place.environment, **environment)


def bearer(key):
    return {"Authorization": f"Bearer {key}"}


def sign_in(url, key):
    """The cookie of a new session of the page."""
    opened = httpx.post(f"{url}/api/session", json={"key": key}, headers={"Origin": url})
    assert opened.status_code == 200, opened.text
    return dict(opened.cookies)


def shown(url, cookie):
    """Status and user of a page with a cookie."""
    found = httpx.get(f"{url}/api/info", cookies=cookie, timeout=30)
    return found.status_code, found.json().get("user")


def status(url, key):
    return httpx.get(f"{url}/api/threads", headers=bearer(key)).status_code


def ask(url, key):
    body = {"question": "How hard is basalt?", "stream": False, "route": "plain"}
    return httpx.post(f"{url}/api/ask", json=body, headers=bearer(key), timeout=120).json()


def test_two_servers_and_one_after_a_restart_hold_sessions_and_limits_together(place):
    with closing(KeyRing(place.folder)) as ring:
        anna, ben, cleo, dora = (ring.add(name) for name in ("anna", "ben", "cleo", "dora"))
    options = ("--rate", 12, "--user-tokens", 9000)
    with ScriptedServer(default=Reply(LINE)) as model:
        given = {"OPENAI_BASE_URL": model.url, "OPENAI_API_KEY": "any", "model": "openai:scripted"}
        with server(place, *options, **given) as (_, one), server(place, *options, **given) as (_, two):
            # A session goes on at the other server; one that was ended is refused at both.
            cookie, ended, expired = sign_in(one, anna), sign_in(two, anna), sign_in(one, anna)
            assert shown(one, cookie) == shown(two, cookie) == shown(one, ended) == (200, "anna")
            assert httpx.delete(f"{one}/api/session", cookies=ended, headers={"Origin": one}).status_code == 204
            assert shown(one, ended) == shown(two, ended) == (401, None)
            # Requests: while they are asked, one comes back each five seconds.
            assert [status(one, ben) for _ in range(8)] == [200] * 8
            found = [status(two, ben) for _ in range(20)]
            assert found[:4] == [200] * 4
            assert 429 in found
            # Tokens.
            asked = [ask(url, cleo)["incomplete"] for url in (one, two, one)]
            assert asked == [None, None, "budget"]
            # A session is its key's, and ends with it.
            gone = sign_in(two, dora)
            with closing(KeyRing(place.folder)) as ring:
                ring.revoke("dora")
            assert shown(one, gone) == shown(two, gone) == (401, None)
            kept = str(rows(place, "select * from page_sessions"))
        calls, later = model.count(), time.time() + 30
        rows(place, f"update token_buckets set full_at = {later + 60}, at = {later} where name = 'key {ben[3:15]}'")
        rows(place, f"update page_sessions set until = 1 where hash = '{sha256(token_of(expired)).hexdigest()}'")
        with server(place, *options, **given) as (_, again):
            assert shown(again, cookie) == (200, "anna")
            assert shown(again, ended) == shown(again, expired) == (401, None)
            assert status(again, ben) == 429
            refused = ask(again, cleo)
    assert refused["incomplete"] == "budget"
    assert "your 9,000 tokens a day are used up" in refused["gaps"][0]["error"]
    assert model.count() == calls
    for secret in (anna, dora, token_of(cookie).decode()):
        assert secret not in kept
    if not place.url:
        for path in place.folder.glob(f"{DATABASE}*"):
            assert stat.S_IMODE(path.stat().st_mode) == 0o600, path


def token_of(cookie):
    (token,) = cookie.values()
    return token.encode()


@pytest.fixture
async def buckets(place):
    """Buckets on a clock of the test's own."""
    now = [1_800_000_000.0]
    state = SharedState.of(place.folder, place.url)
    state._clock = lambda: now[0]
    await state.open()
    yield state, now
    await state.close()


async def test_buckets_fill_as_time_goes_by(buckets):
    """Beside a plain count of what is in the bucket."""
    (state, now), generator = buckets, random.Random(5)
    amount, seconds = 20, 60.0
    limit, left, waits = BucketLimit(amount, seconds), float(amount), []
    for _ in range(200):
        passed = generator.choice([0.0, 0.0, 1.0, 7.0])
        now[0] += passed
        left = min(amount, left + passed * amount / seconds)
        if generator.random() < 0.3:
            given = generator.choice([-9.0, 4.0])
            await state.give("a", given, limit)
            left = max(min(amount, left + given), -amount)
            continue
        wanted = generator.choice([1.0, 5.0, 8.0])
        wait = await state.take("a", wanted, limit)
        assert wait == pytest.approx(max(0.0, (wanted - left) * seconds / amount), abs=0.01)
        left -= 0.0 if wait else wanted
        waits.append(wait)
    assert waits.count(0.0) > 10
    assert len(waits) - waits.count(0.0) > 10


async def test_of_many_who_take_at_once_as_many_get_something_as_there_is(buckets):
    state, _ = buckets
    waits = await asyncio.gather(*(state.take("a", 1, BucketLimit(50, 60.0)) for _ in range(120)))
    assert waits.count(0.0) == 50


async def test_a_clock_that_was_set_back_locks_nobody_out_for_long(buckets):
    state, now = buckets
    limit = BucketLimit(2, 60.0)
    assert [await state.take("a", 1, limit) > 0 for _ in range(3)] == [False, False, True]
    now[0] -= 3600
    assert await state.take("a", 1, limit) <= 120
    now[0] += 120
    assert await state.take("a", 1, limit) == 0


async def test_buckets_that_are_full_again_are_removed(buckets, place):
    state, now = buckets
    for number in range(5):
        await state.take(f"old {number}", 1, BucketLimit(10, 60.0))
    now[0] += 3600
    for _ in range(1000):
        await state.take("new", 1, BucketLimit(10, 60.0))
    assert rows(place, "select name from token_buckets") == [("new",)]


@pytest.fixture
def key(small_folder):
    with closing(KeyRing(small_folder)) as ring:
        return ring.add("anna")


def test_a_damaged_file_is_made_anew(offline_app, key):
    (offline_app.folder / DATABASE).write_bytes(b"nothing that SQLite knows" * 1000)
    with running(offline_app) as url:
        assert shown(url, sign_in(url, key)) == (200, "anna")


def test_who_has_the_file_locked_stops_nobody_from_what_is_open(offline_app, key):
    path = offline_app.folder / DATABASE
    with running(offline_app) as url, closing(sqlite3.connect(path, isolation_level=None)) as foreign:
        cookie = sign_in(url, key)
        foreign.execute("begin exclusive")
        for open_path in ("/health", "/", "/api/docs"):
            assert httpx.get(f"{url}{open_path}", cookies=cookie, timeout=30).status_code == 200
        refused = httpx.get(f"{url}/api/info", cookies=cookie, timeout=30)
        assert (refused.status_code, refused.json()["error"]["code"]) == (503, "limits_unreadable")
        assert str(path.parent) not in refused.text
        assert int(refused.headers["retry-after"]) >= 1
        foreign.execute("rollback")
        assert shown(url, cookie) == (200, "anna")


def test_without_its_database_a_server_refuses_until_that_is_back(small_folder, embedder, key, postgres):
    """The first request after the database is back waits for the pool's next attempt, and is answered."""
    with Preflight.open(small_folder, "offline", embedder=embedder, threads=postgres.database()) as app:
        with running(app) as url:
            cookie = sign_in(url, key)
            postgres.stop()
            try:
                refused = httpx.get(f"{url}/api/info", cookies=cookie, timeout=30)
                health = httpx.get(f"{url}/health", timeout=30)
            finally:
                postgres.start()
            assert (refused.status_code, refused.json()["error"]["code"]) == (503, "limits_unreadable")
            assert health.status_code == 200
            assert shown(url, cookie) == (200, "anna")
