"""`doctor`: is everything in order, and if not, what to do."""

from __future__ import annotations

import os
import platform
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator
from importlib.metadata import PackageNotFoundError, version
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from preflight_rag.cli import show
from preflight_rag.cli.main import DEFAULT_LIBRARY, JsonOption, LibraryOption, ModelOption, ThreadsOption, app, command
from preflight_rag.library.opening import LibraryPlace
from preflight_rag.state.context import Settings
from preflight_rag.state.errors import PreflightError
from preflight_rag.state.extras import EXTRAS, missing_modules

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

PACKAGES = (
    "preflight-rag",
    "langgraph",
    "langgraph-checkpoint-sqlite",
    "langchain-core",
    "langchain-openai",
    "langchain-community",
    "faiss-cpu",
    "tantivy",
    "onnxruntime",
    "rank-bm25",
    "pydantic",
    "sqlite-utils",
)
FOR_OTHER_MODELS = ("sentence-transformers", "torch")
"""A light environment (docs/install.md) is without them."""
SLOW_READING = 40.0
"""Tokens a second below which the usual 16 passages, some 3,000 tokens, take more than a minute to read."""
SAFE_SQLITE = (3, 51, 3)  # the first without the WAL-reset bug (sqlite.org/wal.html)
NCBI_SECONDS = 5.0  # a person waits for it
PROBE = ("How tall is the tower?", "The tower is 84 metres tall.")
"""A question and a text that a reader is tried on."""


NETWORK_LIMITS = {"namespace": "a network namespace", "filter": "a filter of system calls", "hook": "Python's hook"}


class Finding(NamedTuple):
    """The result of one check: `state` is ok, note or problem, `advice` what to do."""

    what: str
    state: str
    found: str
    advice: str = ""


CLOCK_SECONDS = 2.0
"""Clocks that differ by more are said; a guess: turns of several machines are listed by when they began."""
SERVER_CONNECTIONS = 44
"""Most connections of one server, with 32 turns (docs/scaling.md)."""


@app.command(epilog="Example: preflight doctor --library my-library")
@command
def doctor(
    library: LibraryOption = DEFAULT_LIBRARY,
    model: ModelOption = None,
    pubmed: Annotated[bool, typer.Option("--pubmed", help="Also check the connection to NCBI.")] = False,
    threads: ThreadsOption = None,
    json: JsonOption = False,
) -> None:
    """Check versions, the model, the databases and the indices; say what to do about each problem."""
    checks: dict[str, Callable[[], Iterator[Finding]]] = {
        "versions": versions,
        "extras": extras,
        "sqlite": sqlite,
        "embedder": embedder,
        "reader": reader,
        "files": files,
        "model": lambda: language_model(model),
        "PubMed": lambda: ncbi(wanted=pubmed or Settings.read().pubmed),
        "library": lambda: collection(library),
        "conversations": lambda: conversations(library, threads),
    }
    findings = list(chain.from_iterable(_guarded(name, check) for name, check in checks.items()))
    if json:
        show.as_json([finding._asdict() for finding in findings])
    else:
        for finding in findings:
            typer.echo(f"{finding.state:<8}{finding.what:<30}{finding.found}")
            if finding.advice:
                typer.echo(f"{'':<8}{'':<30}-> {finding.advice}")
    if any(finding.state == "problem" for finding in findings):
        raise typer.Exit(1)


def _guarded(name: str, check: Callable[[], Iterator[Finding]]) -> list[Finding]:
    """Return the findings of a check; one that raises is a problem with the error's help."""
    try:
        return list(check())
    except PreflightError as error:
        return [Finding(name, "problem", error.message, error.help)]


def versions() -> Iterator[Finding]:
    """Yield findings on the versions of Python and of the installed packages."""
    yield Finding("python", "ok", f"{platform.python_version()} on {platform.system()} {platform.machine()}")
    for package in PACKAGES:
        try:
            yield Finding(package, "ok", version(package))
        except PackageNotFoundError:
            yield Finding(package, "problem", "not installed", f"pip install {package}")
    for package in FOR_OTHER_MODELS:
        try:
            yield Finding(package, "ok", version(package))
        except PackageNotFoundError:
            yield Finding(package, "note", "not installed", "only models of the Hub need it: pip install " + package)


def extras() -> Iterator[Finding]:
    """Yield a finding for each optional extra: whether its packages are installed."""
    for extra in EXTRAS:
        missing = missing_modules(extra)
        advice = f"pip install 'preflight-rag[{extra}]'" if missing else ""
        found = f"without {', '.join(missing)}" if missing else "installed"
        yield Finding(f"extra {extra}", "note" if missing else "ok", found, advice)


def sqlite() -> Iterator[Finding]:
    """Return the finding on SQLite's version: before 3.51.3, several writers in WAL mode can corrupt a database.

    Conversations are protected from that (`threads/sqlite_database.py`); documents have one writer at a time.
    """
    if sqlite3.sqlite_version_info >= SAFE_SQLITE:
        yield Finding("sqlite", "ok", sqlite3.sqlite_version)
    else:
        advice = "fine with one process that writes documents; 3.51.3 or newer for several (WAL-reset bug)"
        yield Finding("sqlite", "note", sqlite3.sqlite_version, advice)


def embedder() -> Iterator[Finding]:
    """Check that the default embedder can be opened and embeds a text; yield its name, revision and dimension."""
    from preflight_rag.models.opening import open_embedder

    found = open_embedder()
    found.encode_query("ready")
    yield Finding("embedder", "ok", f"{found.name}, revision {found.revision}, {found.dimension} dimensions")


def reader() -> Iterator[Finding]:
    """Check the built-in extractive reader: whether its files are intact, and whether it reads a text."""
    from preflight_rag.models.opening import open_extractive_reader
    from preflight_rag.models.reading.extractive_reader import NO_READER

    name = Settings.read().extractive_reader
    opened = open_extractive_reader(name)
    if opened is None:
        yield Finding("reader", "ok", NO_READER, "without it, sentences are quoted and nothing is read")
        return
    question, text = PROBE
    (reading,) = opened.read([(question, "", text)])
    found = f"{opened.name} found {reading.best.text!r}" if reading.best else f"{opened.name} found nothing"
    yield Finding("reader", "ok" if reading.best else "problem", f"{found} in {text!r}")


def files() -> Iterator[Finding]:
    """Check whether the processes that read files are sandboxed on this machine, by reading a small file."""
    from preflight_rag.ingest.loaders.isolated import IsolatedLoader

    with tempfile.TemporaryDirectory() as folder, IsolatedLoader() as loader:
        path = Path(folder) / "tower.txt"
        path.write_text(PROBE[1], encoding="utf-8")
        (_,) = loader.load(path)
    network = [name for name in loader.limits if name in NETWORK_LIMITS]
    sealed = len(network) > 1  # Python's own hook is always there, and does not keep code in C from a network
    yield Finding(
        "reading: network",
        "ok" if sealed else "note",
        f"refused by {', '.join(NETWORK_LIMITS[name] for name in network)}",
        "" if sealed else "only Python's own calls are refused; read strangers' files in a container without a network",
    )
    limited = "memory" in loader.limits
    yield Finding(
        "reading: memory and time",
        "ok" if limited else "note",
        "limited" if limited else "not limited: this system has no such limits",
        "" if limited else "read strangers' files in a container with limits",
    )


def language_model(model: str | None) -> Iterator[Finding]:
    """Yield the finding on the configured model: its name, and whether its server can be reached."""
    from preflight_rag.models.chat.chat_models import OFFLINE, model_name, open_chat_model

    name = model_name(model)
    if name == OFFLINE:
        yield Finding("model", "ok", "offline", "set OPENAI_API_KEY, or OPENAI_BASE_URL for a server of your own")
        return
    local = name.startswith("gguf:")
    chat_model: BaseChatModel | None = None
    try:
        # A file takes its time to load, and its first prompt too.
        settings = Settings.read()
        chat_model = open_chat_model(name, timeout=120 if local else 15, context_window=settings.context_window)
        reply = chat_model.bind(max_tokens=16).invoke("Reply with the word ready.")
    except Exception as error:
        from preflight_rag.models.chat.model_errors import in_our_words
        from preflight_rag.models.chat.runnables import base_url_of

        failure = in_our_words(error, name, base_url=base_url_of(chat_model) if chat_model is not None else None)
        yield Finding("model", "problem", f"{name}: {failure.message}", failure.help)
        return
    yield Finding("model", "ok", f"{name} replied {str(reply.text)[:40]!r}")
    yield from local_model(chat_model) if local else _known_of_model(chat_model)


def local_model(chat_model: BaseChatModel) -> Iterator[Finding]:
    """Check a model that runs in this process: its context window, its speed, and the reply forms it supports."""
    from preflight_rag.models.chat.local_model import LocalModel

    if not isinstance(chat_model, LocalModel):
        return
    loaded = chat_model.loaded
    trained = loaded.file.trained_context
    more = f"PREFLIGHT_CONTEXT_WINDOW sets another, up to {trained:,}" if trained > loaded.context else ""
    found = f"{loaded.context:,} of {trained:,} tokens, at once {loaded.slots} calls, threads {loaded.threads}"
    yield Finding("model: context", "ok", found, more)
    if not loaded.file.chat:
        advice = "a base model continues texts; take one whose name says Instruct, it or Chat"
        yield Finding("model: template", "note", "none for conversations", advice)
    read, written = chat_model.speed()
    slow = "an answer takes minutes; a smaller model or a smaller k is faster" if read < SLOW_READING else ""
    yield Finding("model: speed", "note" if slow else "ok", f"reads {read:.0f} and writes {written:.0f} tokens/s", slow)
    schema = chat_model.keeps_to_schemas()
    found = "a reply's form can be asked for by JSON schema" if schema else "a JSON schema is not kept to"
    yield Finding("model: forms", "ok" if schema else "note", found)


def _known_of_model(chat_model: BaseChatModel) -> Iterator[Finding]:
    """Yield how fast the model's calls were so far, and whether its server accepts a JSON schema."""
    from preflight_rag.models.chat.model_calls import OF_SCHEMA, known_of, schema_option
    from preflight_rag.models.chat.model_errors import refuses
    from preflight_rag.models.chat.runnables import is_openais, name_of
    from preflight_rag.prompts.replies import object_schema

    known = known_of(chat_model, name_of(chat_model))
    if known.speed is None:
        yield Finding("model: speed", "ok", "not measured yet", "it is measured at the first long call")
    else:
        read, written = known.speed.reads, known.speed.writes
        yield Finding("model: speed", "ok", f"reads {read:,.0f} tokens a second here, writes {written:,.0f}")
    if known.takes_schema is None and is_openais(chat_model):
        option = schema_option(object_schema(ready={"type": "boolean"}))
        try:
            reply = chat_model.bind(max_tokens=32, extra_body=option).invoke("Are you ready?")
        except Exception as error:  # the SDKs' own; what says nothing of schemas leaves the question open
            if refuses(error, *OF_SCHEMA):
                known.found_schema(taken=False)
        else:
            known.found_schema(taken=str(reply.text).lstrip().startswith("{"))
    forms = {True: "taken by its server", False: "not taken by its server", None: "not tried, or not found out"}
    how = "" if known.cites else "; its answers as text cite nothing, so they are asked for by schema"
    yield Finding("model: replies by schema", "ok", forms[known.takes_schema] + (how if known.takes_schema else ""))


def ncbi(*, wanted: bool) -> Iterator[Finding]:
    """Yield the finding on PubMed: whether NCBI's server answers; it is contacted only if `wanted`."""
    if not wanted:
        yield Finding("PubMed", "ok", "off (--pubmed)")
        return
    from preflight_rag.pubmed import EntrezClient

    with EntrezClient.of_environment(os.environ) as client:
        client.search("pubmed", "aspirin", limit=1, deadline=time.monotonic() + NCBI_SECONDS)
        yield Finding("PubMed", "ok", f"answers; {client.per_second:g} requests a second")
    if not os.environ.get("PREFLIGHT_NCBI_EMAIL"):
        yield Finding("PubMed", "note", "no e-mail address is sent", "Set PREFLIGHT_NCBI_EMAIL: NCBI asks for it.")


def collection(library: LibraryPlace) -> Iterator[Finding]:
    """Yield the findings on the library's database and indices."""
    from preflight_rag.library.opening import open_library

    if not library.is_there():
        yield Finding("library", "note", f"none at {library}", f"preflight ingest PATH... --library {library}")
        return
    with open_library(library) as opened:
        stats, problems = opened.stats(), opened.verify()
    yield Finding("library", "ok", f"{stats['documents']:,} documents, {stats['passages']:,} passages")
    for problem in problems:
        yield Finding("index", "problem", problem, f"preflight library rebuild --library {library.option}")


def conversations(library: LibraryPlace, threads: str | None) -> Iterator[Finding]:
    """Yield the findings on the database of conversations: the one `--threads` names, else the library's."""
    from preflight_rag.threads.sqlite_database import THREADS

    if url := threads or library.url:
        yield from shared_conversations(url)
        return
    database = library.folder / THREADS
    if not database.exists():
        return
    try:
        connection = sqlite3.connect(f"file:{database}?mode=ro", uri=True)
        verdict = connection.execute("PRAGMA quick_check").fetchone()[0]
        connection.close()
    except sqlite3.DatabaseError as error:
        yield Finding("conversations", "problem", str(error), f"move {database} away; a new one is made")
        return
    state = "ok" if verdict == "ok" else "problem"
    yield Finding("conversations", state, f"{database.stat().st_size:,} bytes, quick check: {verdict}")


def shared_conversations(url: str) -> Iterator[Finding]:
    """Yield the findings on the PostgreSQL database that keeps conversations."""
    from preflight_rag.threads.thread_store import check_address

    check_address(url)
    from preflight_rag.threads.postgres_facts import NEWEST, read_facts

    facts = read_facts(url)
    yield Finding("conversations", "ok", f"{facts.name} answers, in {facts.seconds * 1000:.0f} ms")
    yield Finding("postgresql", "ok", facts.version)
    yield _schema(facts.schema, NEWEST)
    enough = facts.connections_left >= SERVER_CONNECTIONS
    yield Finding(
        "postgresql connections",
        "ok" if enough else "note",
        f"{facts.connections_left} left on the server",
        "" if enough else f"a server with --turns 32 takes up to {SERVER_CONNECTIONS}: raise max_connections",
    )
    apart = abs(facts.ahead) > CLOCK_SECONDS + facts.uncertain
    yield Finding(
        "postgresql clock",
        "note" if apart else "ok",
        f"{abs(facts.ahead):.1f} s {'ahead of' if facts.ahead > 0 else 'behind'} this machine's, "
        f"give or take {facts.uncertain:.1f} s",
        "set both by NTP: turns are listed by the clock of the machine that took them" if apart else "",
    )


def _schema(found: tuple[int, int] | None, newest: tuple[int, int]) -> Finding:
    """Return the finding on the versions of the PostgreSQL tables, and whether this installation can use them."""
    if found is None:
        return Finding("postgresql tables", "note", "none yet", "they are made at the first use")
    versions = f"schema {found[0]} of {newest[0]}, checkpoints {found[1]} of {newest[1]}"
    if found[0] > newest[0]:
        return Finding("postgresql tables", "problem", versions, "a newer version wrote them: upgrade preflight-rag")
    if found[1] > newest[1]:
        help = "a newer version wrote them: upgrade langgraph-checkpoint-postgres"
        return Finding("postgresql tables", "problem", versions, help)
    old = found != newest
    advice = "older; they are brought up to date at the first use" if old else ""
    return Finding("postgresql tables", "note" if old else "ok", versions, advice)
