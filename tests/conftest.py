"""Fixtures that several folders of tests share."""

from __future__ import annotations

import ctypes
import os
import re
import subprocess
import sys

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
for _name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "PREFLIGHT_MODEL", "LANGSMITH_TRACING", "LANGCHAIN_TRACING_V2"):
    os.environ.pop(_name, None)

import atexit
import shutil
import tempfile
import time
from pathlib import Path

import pytest
import reader_files
from kept_threads import IN_POSTGRES, STORES, Kept, databases_of_libraries
from langchain_openai import ChatOpenAI
from langgraph.runtime import Runtime
from postgres_server import running_server
from speeds import has_slow_tests, is_slow_as_a_whole

import preflight_rag
from preflight_rag.library import Library
from preflight_rag.models.chat.chat_reader import ChatReader
from preflight_rag.models.embedding.embedder import Embedder
from preflight_rag.models.opening import open_embedder
from preflight_rag.nodes.retrieve import retrieve
from preflight_rag.state.context import Context, Settings

if "PREFLIGHT_CACHE" not in os.environ:
    # What tests measure of scripted servers is no speed of a model of the person who runs them.
    os.environ["PREFLIGHT_CACHE"] = tempfile.mkdtemp(prefix="preflight-tests-")
    atexit.register(shutil.rmtree, os.environ["PREFLIGHT_CACHE"], ignore_errors=True)

DEMO = Path(preflight_rag.__file__).parent / "demo"
ROOT = Path(__file__).parents[1]


# Of the process of a part of the tests, as `make test` runs them, and of one that runs them all. The parts took 1500 to
# 2500, all of them once 5400: a leak of whole models shows here.
MOST_MEGABYTES, MOST_OF_ALL = 3000, 4000
# Files that load torch's own copies of models, export them or train, bring whole packages, open many applications, or
# run every experiment: one of the last kind raised the peak by 400 megabytes, each other one by 120 to 220.
OWN_PROCESS = (
    "evaluation/test_all_experiments.py",
    "library/external/test_from_retriever.py",
    "mcp/test_mcp.py",
    "models/embedding/test_embedder.py",
    "test_calls.py",
    "test_docs.py",
    "test_langchain.py",
    "test_standard_suites.py",
    "training/test_embedder_graph.py",
    "training/test_train_reader.py",
)
ARENA_MAX, ARENAS = -8, 2  # mallopt(3): with an arena for each thread, what threads have freed is never used again
ADOPT_ORPHANS = 36  # PR_SET_CHILD_SUBREAPER of prctl(2): what a child leaves behind becomes a child of this process


if sys.platform == "linux" and hasattr(ctypes.CDLL(None), "mallopt"):
    ctypes.CDLL(None).mallopt(ARENA_MAX, ARENAS)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out the files of which `-m "not slow"` or `-m slow` selects nothing: importing all of them takes long.

    Marks stand in the files of tests alone; tests/test_speeds.py checks it.
    """
    wanted = config.getoption("markexpr")
    if wanted not in ("slow", "not slow") or not re.fullmatch(r"test_\w+\.py", collection_path.name):
        return None
    source = collection_path.read_text(encoding="utf-8")
    none_selected = not has_slow_tests(source) if wanted == "slow" else is_slow_as_a_whole(source)
    return True if none_selected else None


class OwnProcess(pytest.File):
    """A file of tests that a run of many files leaves to a process of its own, as one test."""

    def collect(self):
        alone = Alone.from_parent(self, name="in a process of its own")
        if self.config.getoption("markexpr") == "slow":  # asked for only where the file has such tests
            alone.add_marker(pytest.mark.slow)
        yield alone


class Alone(pytest.Item):
    """Runs its file; what that says is the failure."""

    def runtest(self):
        selected = ("-m", self.config.getoption("markexpr"))
        plain = ("-p", "no:cacheprovider", "--no-header", *selected, str(self.path))
        done = subprocess.run([sys.executable, "-m", "pytest", *plain], cwd=ROOT, capture_output=True, text=True)
        if done.returncode:
            raise AssertionError(done.stdout + done.stderr)


def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> pytest.File | None:
    """Named on the command line, a file runs where it is; and so it does where its slow tests are left out."""
    if parent.config.getoption("markexpr") == "not slow":
        return None
    named = {Path(argument.split("::")[0]).resolve() for argument in parent.config.args}
    own = module_path in {ROOT / "tests" / name for name in OWN_PROCESS} - named
    return OwnProcess.from_parent(parent, path=module_path) if own else None


@pytest.fixture(scope="session", autouse=True)
def the_run_leaves_no_process_and_stays_small(request):
    """Only where /proc says which processes there are."""
    if sys.platform != "linux":
        yield
        return
    ctypes.CDLL(None).prctl(ADOPT_ORPHANS, 1, 0, 0, 0)
    yield
    deadline = time.monotonic() + 10
    while (left := children()) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert left == []
    # Not getrusage: what that says of a process includes what its parent was when it forked.
    (peak,) = re.findall(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text(encoding="ascii"))
    megabytes = int(peak) // 1024
    whole = request.config.args_source != pytest.Config.ArgsSource.ARGS
    assert megabytes < (MOST_OF_ALL if whole else MOST_MEGABYTES)


@pytest.fixture(scope="module", autouse=True)
def freed_memory_goes_back():
    """The C library keeps what models and threads have freed; over hundreds of files that adds up."""
    yield
    if sys.platform == "linux" and hasattr(ctypes.CDLL(None), "malloc_trim"):
        ctypes.CDLL(None).malloc_trim(0)


def children() -> list[str]:
    """The command lines of this process's children that have not ended."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            state, parent = (folder / "stat").read_text().rpartition(")")[2].split()[:2]
            command = (folder / "cmdline").read_bytes().decode("utf-8", "replace").replace("\0", " ")
        except OSError:  # it has just ended
            continue
        # Python's own tracker of shared memory ends with the process.
        if int(parent) == os.getpid() and state != "Z" and "multiprocessing.resource_tracker" not in command:
            found.append(command)
    return found


@pytest.fixture(scope="session")
def embedder() -> Embedder:
    return open_embedder()


@pytest.fixture(scope="session")
def data_dir() -> Path:
    folder = os.environ.get("PREFLIGHT_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("PREFLIGHT_DATA does not name the folder of data sets")
    return Path(folder)


@pytest.fixture(scope="session")
def demo_folder(embedder, tmp_path_factory) -> Path:
    """A library of the demo's documents; do not write to it."""
    folder = tmp_path_factory.mktemp("demo") / "library"
    with Library.open(folder, embedder=embedder, create=True) as library:
        library.ingest([DEMO])
    return folder


@pytest.fixture(scope="session")
def library(demo_folder, embedder):
    with Library.open(demo_folder, embedder=embedder) as library:
        yield library


@pytest.fixture
def own_folder(demo_folder, tmp_path) -> Path:
    """A copy of the demo's library that a test may write to."""
    return Path(shutil.copytree(demo_folder, tmp_path / "library"))


@pytest.fixture
def own_cache(tmp_path, monkeypatch):
    """Has the profiles and speeds of models stored in a folder of the test's own."""
    monkeypatch.setenv("PREFLIGHT_CACHE", str(tmp_path))


@pytest.fixture(scope="session")
def postgres():
    """A PostgreSQL server."""
    with running_server() as server:
        yield server


@pytest.fixture(scope="session")
def vector_postgres():
    """A PostgreSQL server with pgvector."""
    with running_server(vectors=True) as server:
        yield server


@pytest.fixture(scope="session", autouse=IN_POSTGRES)
def all_in_postgres(the_run_leaves_no_process_and_stays_small, postgres):
    """Where PREFLIGHT_TEST_THREADS says so."""
    with databases_of_libraries(postgres):
        yield


@pytest.fixture(params=STORES)
def kept(request, tmp_path) -> Kept:
    """Where conversations are kept: beside the documents, or in a new database of a server."""
    url = None if request.param == "sqlite" else request.getfixturevalue("postgres").database()
    return Kept(tmp_path / "library", url)


@pytest.fixture(scope="session")
def chat_reader():
    """Makes a `ChatReader` that talks to a scripted server through the real OpenAI client."""

    def make(server, **options):
        chat = ChatOpenAI(base_url=server.url, api_key="key", model="scripted", max_retries=0, timeout=20)
        return ChatReader(chat, **options)

    return make


@pytest.fixture
def retrieved(library):
    """Makes the state as it is after `retrieve`."""

    async def make(question, **settings):
        context = Context(library=library, settings=Settings(**settings))
        update = await retrieve({"queries": [question]}, Runtime(context=context))
        return {"standalone_question": question, "options": [], **update}

    return make


@pytest.fixture(scope="session")
def reader_data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Small data sets in the formats of those that the reader is trained on."""
    return reader_files.write(tmp_path_factory.mktemp("reader-data"))


@pytest.fixture
def ncbi_client_of():
    """Makes a fast client of a local NCBI, with a spacing of its own; all are closed at the end."""
    from preflight_rag.pubmed import EntrezClient, Spacing

    opened = []

    def make(server, **options):
        options = {"per_second": 500, "spacing": Spacing(), "timeout": 5.0} | options
        opened.append(EntrezClient(url=server.url, **options))
        return opened[-1]

    yield make
    for client in opened:
        client.close()
