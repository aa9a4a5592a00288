"""`--library` with the address of a database: the commands, and one clear line for each thing that is wrong."""

from __future__ import annotations

import json
import socket
from contextlib import closing

import pytest
from postgres_server import PASSWORD
from six_documents import TEXTS, records
from typer.testing import CliRunner

from preflight_rag.cli import app

psycopg = pytest.importorskip("psycopg", reason="the extra postgres is not installed")


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("PREFLIGHT_HOME", str(tmp_path / "home"))


def run(*arguments, ok=True):
    result = CliRunner().invoke(app, arguments)
    assert (result.exit_code == 0) is ok, result.output
    return result.stdout if ok else result


@pytest.fixture(scope="module")
def filled(vector_postgres, tmp_path_factory):
    """The address of a library of six records."""
    url = vector_postgres.database()
    records(path := tmp_path_factory.mktemp("records") / "six.jsonl", TEXTS)
    assert CliRunner().invoke(app, ["ingest", str(path), "--library", url]).exit_code == 0
    return url


def execute(url, statement):
    with closing(psycopg.connect(url, autocommit=True)) as connection:
        connection.execute(statement)


def test_the_commands_of_a_folder(filled, tmp_path, monkeypatch):
    stats = json.loads(run("library", "stats", "--library", filled, "--json"))
    assert (stats["documents"], stats["passages"]) == (6, 6)
    found = json.loads(run("search", "caffeine", "--library", filled, "--json"))
    assert {hit["document_id"] for hit in found["lexical"]} == {"coffee", "tea"}
    monkeypatch.setenv("PREFLIGHT_LIBRARY", filled)
    assert run("library", "verify") == "the library is whole\n"
    answer = json.loads(run("ask", "What contains caffeine?", "--model", "offline", "--json", "--thread", "mine"))
    assert answer["citations"]
    assert "mine" in run("threads", "list")
    assert {row["id"] for row in json.loads(run("library", "list", "--json"))["documents"]} == set(TEXTS)
    findings = json.loads(run("doctor", "--model", "offline", "--json"))
    assert {"what": "library", "state": "ok", "found": "6 documents, 6 passages", "advice": ""} in findings
    extra = records(tmp_path / "more.jsonl", {"cola": "Cola contains caffeine."})
    assert "now holds 7 passages" in run("ingest", str(extra))
    assert "deleted cola" in run("library", "delete-document", "cola")
    assert run("library", "rebuild") == "the indices are new\n"
    assert "only one kind of index" in run("library", "rebuild", "--index", "flat", ok=False).stderr


def free_port():
    with closing(socket.socket()) as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def nobody_there(server):
    return f"postgresql://owner:{PASSWORD.replace('/', '%2F').replace('@', '%40')}@127.0.0.1:{free_port()}/x"


def newer(server):
    url = server.database()
    assert CliRunner().invoke(app, ["serve", "--help"]).exit_code == 0
    from preflight_rag.library.opening import open_library

    open_library(url, create=True).close()
    execute(url, "update library_meta set value = '99' where key = 'schema_version'")
    return url


def of_another_embedder(server):
    url = server.database()
    from preflight_rag.library.opening import open_library

    open_library(url, create=True).close()
    execute(
        url,
        """update library_meta set value = '{"name": "other", "revision": "r", "dimension": 8, "spec": "default"}'
        where key = 'embedder'""",
    )
    return url


@pytest.mark.parametrize(
    ("address", "message"),
    [
        (nobody_there, "cannot be reached: .* Start the server, or check the address"),
        (lambda server: server.url("postgres", "wrong"), "refuses: .* Check the user and the password"),
        (lambda server: server.url("nowhere"), "refuses: .* Make the database first: createdb NAME"),
        (lambda server: server.database(), "There is no library in the PostgreSQL database .* preflight ingest PATH"),
        (newer, "has schema 99, and this version of preflight-rag reads up to 1. Upgrade preflight-rag"),
        (of_another_embedder, "was made with other .revision r, 8 dimensions., not .* Open it with other"),
        (lambda server: "mysql://user:geheim@host/d", "--library takes the address of a PostgreSQL database"),
        (lambda server: "postgresql://u:ge@heim@h/d", "the address of --library cannot be read"),
    ],
    ids=["nobody", "password", "database", "empty", "schema", "embedder", "scheme", "address"],
)
@pytest.mark.parametrize("command", [("ask", "Why?", "--model", "offline"), ("library", "stats")])
def test_what_is_wrong_is_one_line(vector_postgres, address, message, command):
    if address is of_another_embedder and command[0] != "ask":
        pytest.skip("statistics need no embedder")
    result = run(*command, "--library", address(vector_postgres), ok=False)
    (line,) = [line for line in result.stderr.splitlines() if line.startswith("preflight: ")]
    import re

    assert re.search(message, line), line
    for secret in (PASSWORD, "geheim", "ge@heim", "p4ss"):
        assert secret not in result.output
    assert "Traceback" not in result.output


def test_a_server_without_pgvector_says_so(postgres, tmp_path):
    (tmp_path / "a.txt").write_text("Tea is hot.")
    result = run("ingest", str(tmp_path / "a.txt"), "--library", postgres.database(), ok=False)
    assert "has no pgvector. Install pgvector 0.8 or newer on the server" in result.stderr
