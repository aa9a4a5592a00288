"""`doctor --threads`: what it says of a PostgreSQL database, and what of one that cannot be used."""

from __future__ import annotations

import asyncio
import json
from contextlib import ExitStack, closing
from urllib.parse import urlsplit

import pytest
from kept_threads import Kept
from postgres_server import PASSWORD
from typer.testing import CliRunner

from preflight_rag.cli import app
from preflight_rag.cli.doctor import shared_conversations
from preflight_rag.state.errors import PreflightError

psycopg = pytest.importorskip("psycopg", reason="the extra postgres is not installed")


@pytest.fixture
def url(postgres):
    return postgres.database()


def findings(url):
    return {finding.what: finding for finding in shared_conversations(url)}


async def make_tables(tmp_path, url):
    async with Kept(tmp_path, url).open():
        pass


def one(url, query):
    ((value,),) = Kept(None, url).rows(query)
    return value


def test_a_database_that_is_in_order(url, tmp_path):
    asyncio.run(make_tables(tmp_path, url))
    found = findings(url)
    address = urlsplit(url)
    assert f"{address.path[1:]} at 127.0.0.1:{address.port} answers" in found["conversations"].found
    assert found["postgresql"].found == one(url, "show server_version")
    newest = one(url, "select max(v) from checkpoint_migrations")
    version = one(url, "select version from preflight_schema")
    assert found["postgresql tables"].found == f"schema {version} of {version}, checkpoints {newest} of {newest}"
    assert found["postgresql clock"].found.startswith("0.")
    assert {finding.state for finding in found.values()} == {"ok"}


def test_it_makes_no_tables(url):
    assert findings(url)["postgresql tables"].found == "none yet"
    assert one(url, "select count(*) from pg_tables where schemaname = 'public'") == 0


def test_connections_that_are_left(url):
    """As somebody sees it who may not look at others' connections, and whom the last ones are not for."""
    Kept(None, url).rows("create role clerk login password 'clerk'")
    address = urlsplit(url)
    clerks = f"postgresql://clerk:clerk@127.0.0.1:{address.port}{address.path}"

    def left():
        return int(findings(clerks)["postgresql connections"].found.split()[0])

    before = left()
    with ExitStack() as stack:
        for _ in range(60):
            stack.enter_context(closing(psycopg.connect(url)))
        assert left() == before - 60
        finding = findings(clerks)["postgresql connections"]
        assert (finding.state, "raise max_connections" in finding.advice) == ("note", True)
        for _ in range(int(one(url, "show max_connections"))):
            try:
                stack.enter_context(closing(psycopg.connect(clerks)))
            except psycopg.OperationalError:
                break
        with pytest.raises(PreflightError, match="raise its max_connections"):
            findings(clerks)


@pytest.mark.parametrize(
    ("table", "advice"),
    [("preflight_schema (version", "upgrade preflight-rag"), ("checkpoint_migrations (v", "upgrade langgraph")],
)
def test_tables_of_a_newer_version(url, tmp_path, table, advice):
    asyncio.run(make_tables(tmp_path, url))
    Kept(None, url).rows(f"insert into {table}) values (99)")
    finding = findings(url)["postgresql tables"]
    assert (finding.state, "99 of " in finding.found, advice in finding.advice) == ("problem", True, True)


def test_clocks_that_differ(url, monkeypatch):
    import time

    real = time.time
    monkeypatch.setattr("preflight_rag.threads.postgres_facts.time.time", lambda: real() + 90)
    finding = findings(url)["postgresql clock"]
    monkeypatch.undo()
    assert (finding.state, "NTP" in finding.advice) == ("note", True)
    assert finding.found.startswith(("90.0 s behind", "89.9 s behind"))


def test_the_command_says_one_line_of_what_is_wrong_and_never_the_password(postgres, tmp_path):
    shown = []
    for url, line, way_out in (
        (postgres.url("postgres", "wr0ng-secret"), "password authentication failed", "Check the user and the password"),
        (postgres.url("no_such"), 'database "no_such" does not exist', "createdb"),
        ("postgresql://u:ge@heim@h/d", "cannot be read", "write @ as %40"),
        (f"postgresql://u:{'geheim'}@127.0.0.1:1/d", "cannot be reached", "Start the server"),
    ):
        result = CliRunner().invoke(
            app, ["doctor", "-l", str(tmp_path), "--model", "offline", "--json"], env={"PREFLIGHT_THREADS": url}
        )
        shown.append(result.output)
        (finding,) = [each for each in json.loads(result.stdout) if each["what"] == "conversations"]
        assert result.exit_code == 1
        assert (finding["state"], line in finding["found"], way_out in finding["advice"]) == ("problem", True, True)
        assert "\n" not in finding["found"]
    for secret in ("wr0ng-secret", PASSWORD, "heim"):
        assert secret not in "".join(shown)
