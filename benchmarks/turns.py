"""What a turn costs besides the model: its first request, map calls, checkpoint growth, turn 50 against turn 1.

    python benchmarks/turns.py [--delay 0.3] [--turns 50] [--only first-request]

A scripted server answers each model call after a fixed delay. The peer of checkpoint growth is LangGraph's own
`AsyncSqliteSaver`, without pruning, under the same graph. The first request is that of a question on which 16 passages
of as many documents bear, with the small reader and without any, and beside it what reading them takes; then how often
a call is begun before they are read, and given up since they answer differently. Everything
runs in one go on one machine; read the ratios.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from langchain_core.messages import HumanMessage  # noqa: E402
from langchain_openai import ChatOpenAI  # noqa: E402
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver  # noqa: E402
from same_answers import DEMO  # noqa: E402  # beside this file

import preflight_rag  # noqa: E402
from preflight_rag import Context, Preflight, Settings, build_graph  # noqa: E402
from preflight_rag.graph.readers import extractive_for  # noqa: E402
from preflight_rag.library import Library  # noqa: E402
from preflight_rag.library.search.retrieval import retrieve_passages  # noqa: E402
from preflight_rag.models.chat.chat_reader import ChatReader  # noqa: E402
from preflight_rag.models.reading.bundled_reader import BundledReader  # noqa: E402
from preflight_rag.routing.decision import decide, decide_early  # noqa: E402
from preflight_rag.routing.library_risk import risk_model_of  # noqa: E402
from preflight_rag.state.values import Document  # noqa: E402
from preflight_rag.testing.scripted_server import ScriptedServer  # noqa: E402

QUESTION = "How hot is the planet Venus?"
REPLY = "The surface of Venus is about 465 degrees Celsius hot on average, hotter than that of Mercury [1]."


WHY = "Why is the surface of the planet Venus so hot"
WORDS = 140
"""Of each passage for the first request: some 185 tokens."""


def reader(server: ScriptedServer) -> ChatReader:
    """The real client against the scripted server."""
    return ChatReader(ChatOpenAI(base_url=server.url, api_key="k", model="scripted", max_retries=0))


def first_request(folder: Path, turns: int = 7) -> list[tuple[str, str, str]]:
    """Seconds from a question to the model's first request, with the small reader and without."""
    texts = sorted((Path(preflight_rag.__file__).parent / "demo").glob("*.md"))
    words = " ".join(path.read_text(encoding="utf-8") for path in texts).split()
    documents = [
        Document(id=f"v{n}", source="", title="", text=f"{WHY}. {' '.join(words[n * WORDS : (n + 1) * WORDS])}")
        for n in range(16)
    ]
    with Library.open(folder, create=True) as library:
        library.add(documents)
    taken: dict[str, list[float]] = {"default": [], "none": []}
    with ScriptedServer(default=REPLY) as server, Preflight.open(folder, reader(server), partition_size=16) as app:
        for turn in range(turns + 1):
            for name, seconds in taken.items():
                before, started = server.count(), time.time()
                app.ask(f"{WHY} ({turn})?", extractive_reader=name, check_citations=False, map_prompt_tokens=10**6)
                seconds.append(server.requests[before].arrived - started)
    started = time.time()
    BundledReader().read([(f"{WHY}?", "", document.text) for document in documents])  # loaded already
    reading = time.time() - started
    with_reader, without = (median(seconds[1:]) for seconds in taken.values())
    found = (
        f"{with_reader * 1000:.0f} ms, without a reader {without * 1000:.0f} ms; reading takes {reading * 1000:.0f} ms"
    )
    return [("from a question to the model's first request", found, "less than half of the reading more")]


def begun_early(folder: Path) -> list[tuple[str, str, str]]:
    """Return a row: at how many of the demo's questions the model begins early, and how many calls are given up."""
    begun = wrong = 0
    with Preflight.open(folder, "offline") as app:
        extractive = extractive_for(app.reader, "default")
        for question in DEMO:
            found = retrieve_passages(app.library, [question], app.settings)
            asked = question, found.references(), found.sources(), app.settings, risk_model_of(app.library), extractive
            early, unchecked = decide_early(*asked)
            begun += unchecked
            wrong += unchecked and decide(*asked).name != early.name
    found_ = f"{begun} of {len(DEMO)} of the demo's questions; {wrong} of these calls given up"
    return [("the model begins before the passages are read", found_, "at most a tenth given up")]


def map_reduce(folder: Path, delay: float) -> list[tuple[str, str, str]]:
    """Seconds of a map/reduce turn over 16 passages, against the time of one reply."""
    scripted = ScriptedServer(default=REPLY, delay=delay)
    with scripted as server, Preflight.open(folder, reader(server), route="map-reduce") as app:
        app.ask(QUESTION, thread_id="warm")
        seconds = median(app.ask(QUESTION, thread_id=f"m{i}").receipt.seconds for i in range(5))
    allowed = 2.5 * delay + 0.3
    found = f"{seconds:.2f} s = {seconds / delay:.2f} replies of {delay:g} s ({server.peak} at once)"
    return [("map/reduce turn, 16 passages, 4 + 1 calls", found, f"<= {allowed:.2f} s")]


def long_thread(folder: Path, turns: int) -> tuple[list[float], int]:
    """Seconds of each turn of one thread, and the bytes that the thread added to threads.db."""
    database = folder / "threads.db"
    with ScriptedServer(default=REPLY) as server, Preflight.open(folder, reader(server), route="plain") as app:
        app.ask(QUESTION, thread_id="warm")
        before = database.stat().st_size
        seconds = [app.ask(f"{QUESTION} ({i})", thread_id="long").receipt.seconds for i in range(turns)]
    return seconds, database.stat().st_size - before


async def long_thread_of_peer(folder: Path, turns: int) -> int:
    """Bytes that the same turns add under the stock saver."""
    database = folder / "peer.db"
    with ScriptedServer(default=REPLY) as server, Library.open(folder) as library:
        context = Context(reader(server), library, Settings(route="plain"))
        async with AsyncSqliteSaver.from_conn_string(str(database)) as saver:
            graph = build_graph().compile(checkpointer=saver)
            for i in range(turns):
                asked = {"messages": [HumanMessage(f"{QUESTION} ({i})")], "options": []}
                await graph.ainvoke(asked, {"configurable": {"thread_id": "long"}}, context=context)
    return sum(path.stat().st_size for path in folder.glob("peer.db*"))


def growth(folder: Path, turns: int) -> list[tuple[str, str, str]]:
    """Growth of a long thread, against the stock saver's, and its last turns against its first."""
    seconds, ours = long_thread(folder, turns)
    peer = asyncio.run(long_thread_of_peer(folder, turns))
    first, last = median(seconds[1:6]), median(seconds[-5:])
    return [
        (
            f"threads.db after {turns} turns, k=16",
            f"{ours / 1e6:.2f} MB ({peer / ours:.0f} x less than unpruned)",
            "<= 2 MB",
        ),
        (
            f"last five turns against turns 2 to 6 of {turns}",
            f"{last / first:.2f} x ({first * 1000:.0f} ms, {last * 1000:.0f} ms)",
            "<= 1.5 x",
        ),
    ]


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--delay", type=float, default=0.3)
    parser.add_argument("--turns", type=int, default=50)
    parser.add_argument("--only", choices=["first-request"])
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "library"
        with Library.open(folder, create=True) as library:
            library.ingest([Path(preflight_rag.__file__).parent / "demo"])
        rows = first_request(Path(temporary) / "first") + begun_early(folder)
        if given.only is None:
            rows += map_reduce(folder, given.delay) + growth(folder, given.turns)
    print("| what | measured | wanted |\n| --- | --- | --- |")
    for row in rows:
        print("| " + " | ".join(row) + " |")


if __name__ == "__main__":
    main()
