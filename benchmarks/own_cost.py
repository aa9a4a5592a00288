"""What the program costs beside its model: a turn, and the server's turns a second, each against a plain LangGraph RAG.

    python benchmarks/own_cost.py [--turns 40] [--at-once 8] [--without-server]

The model replies at once, in the process, so all that is measured is ours. The peer is the graph of LangGraph's
tutorial on RAG (retrieve, then generate) with its `AsyncSqliteSaver`, the same embedder, passages and model, k=16;
behind FastAPI where the server is measured. It keeps no ledger, locks no thread, checks no citation and estimates no
risk. Each turn is on a thread of its own and asks something else. Processor time counts all threads of the process;
read the ratios, since seconds depend on what else runs. Exits with 1 where a ratio of `LIMITS` is not met.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

import uvicorn  # noqa: E402
from fastapi import Body, FastAPI  # noqa: E402
from langchain_core.documents import Document  # noqa: E402
from langchain_core.language_models import BaseChatModel  # noqa: E402
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage  # noqa: E402
from langchain_core.outputs import ChatGeneration, ChatResult  # noqa: E402
from langchain_core.vectorstores import InMemoryVectorStore  # noqa: E402
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver  # noqa: E402
from langgraph.graph import START, MessagesState, StateGraph  # noqa: E402
from scripted_model import reply  # noqa: E402
from serving import running  # noqa: E402

import preflight_rag  # noqa: E402
from preflight_rag import Preflight  # noqa: E402
from preflight_rag.library import Library  # noqa: E402
from preflight_rag.server import ServerOptions  # noqa: E402

WORDS = "Venus", "Mars", "penicillin", "Lake Baikal", "an octopus", "yeast", "the Eiffel Tower", "a heart", "diamond"
K = 16
OURS = (("plain", "none"), ("map-reduce", "none"), ("plain", "default"))
"""Route, and what reads passages beside the model: the small reader's own time has a benchmark, `reader.py`."""

LIMITS = {("plain", "none"): 2.9, ("map-reduce", "none"): 4.5}
"""Most processor time of a turn, of the peer's: a fifth and a fourth above the most that was measured
(docs/PERFORMANCE.md), as short runs vary: map/reduce came to 2.1 in forty turns and to 3.6 in ten."""


def question(number: int) -> str:
    """Return a question that no other turn asks."""
    first, second = WORDS[number % len(WORDS)], WORDS[number // len(WORDS) % len(WORDS)]
    return f"What is known about {first} and {second}, item {number}?"


class Instant(BaseChatModel):
    """A model that replies at once, in the forms that our prompts ask for."""

    @property
    def _llm_type(self) -> str:
        return "instant"

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        body = {"messages": [{"content": message.content} for message in messages]}
        return ChatResult(generations=[ChatGeneration(message=AIMessage(reply(body)))])

    async def _agenerate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        return self._generate(messages)


class PeerState(MessagesState):
    """The tutorial's state."""

    question: str
    context: list[Document]
    answer: str


def peer_graph(library: Library, model: BaseChatModel) -> StateGraph[Any, Any, Any, Any]:
    """Return the graph of LangGraph's RAG tutorial over the library's passages."""
    store = InMemoryVectorStore(library.embedder)
    passages = library.passages(library.all_passage_ids())
    store.add_documents([Document(passage.text, metadata={"id": passage.id}) for passage in passages])

    async def retrieve(state: PeerState) -> dict[str, Any]:
        return {"context": await store.asimilarity_search(state["question"], k=K)}

    async def generate(state: PeerState) -> dict[str, Any]:
        context = "\n\n".join(document.page_content for document in state["context"])
        said = await model.ainvoke([HumanMessage(f"Context: {context}\nQuestion: {state['question']}")])
        return {"answer": said.text, "messages": [HumanMessage(state["question"]), said]}

    return StateGraph(PeerState).add_sequence([retrieve, generate]).add_edge(START, "retrieve")


Turn = Callable[[int], Awaitable[Any]]


@asynccontextmanager
async def peer(library: Library, folder: Path) -> AsyncIterator[Turn]:
    """Give a function that takes one turn of the peer on a thread of its own."""
    async with AsyncSqliteSaver.from_conn_string(str(folder / "peer.db")) as saver:
        graph = peer_graph(library, Instant()).compile(checkpointer=saver)

        async def turn(number: int) -> Any:
            config = {"configurable": {"thread_id": f"peer-{number}"}}
            return await graph.ainvoke({"question": question(number)}, config)

        yield turn


async def measured(turn: Turn, turns: int) -> tuple[float, float]:
    """Median seconds of a turn, and processor seconds of one, after three to warm up."""
    for number in range(-3, 0):
        await turn(number)
    seconds, cpu = [], time.process_time()
    for number in range(turns):
        started = time.perf_counter()
        await turn(number)
        seconds.append(time.perf_counter() - started)
    return median(seconds), (time.process_time() - cpu) / turns


async def turns_alone(folder: Path, turns: int) -> tuple[list[str], list[str]]:
    """Return a table's rows on turns taken one after the other, and a sentence for each limit that is not met."""
    rows, missed = {}, []
    with Library.open(folder) as library:
        async with peer(library, folder) as turn:
            rows["peer: plain LangGraph RAG"] = await measured(turn, turns)
    for route, reader in OURS:
        with Preflight.open(folder, Instant(), route=route, rewrite="off", extractive_reader=reader) as app:

            async def turn(number: int, app: Preflight = app, name: str = f"{route}-{reader}") -> Any:
                return await app.aask(question(number), thread_id=f"{name}-{number}")

            rows[f"ours, {route}, small reader: {reader}"] = await measured(turn, turns)
    base = next(iter(rows.values()))
    for (route, reader), most in LIMITS.items():
        ratio = rows[f"ours, {route}, small reader: {reader}"][1] / base[1]
        if ratio > most:
            missed.append(f"a turn, {route}, takes {ratio:.1f} times the peer's processor time; {most:g} are allowed")
    lines = (
        f"| {name} | {1000 * wall:.1f} | {1000 * cpu:.1f} | {cpu / base[1]:.1f} x |"
        for name, (wall, cpu) in rows.items()
    )
    return list(lines), missed


CLIENT = """
import asyncio, sys, time, httpx
url, at_once, asked = sys.argv[1], int(sys.argv[2]), sys.stdin.read().splitlines()

async def main():
    left = iter(asked)
    async with httpx.AsyncClient(timeout=300) as client:
        async def worker():
            for question in left:
                body = {"question": question, "stream": False}
                (await client.post(url, json=body)).raise_for_status()
        started = time.perf_counter()
        await asyncio.gather(*(worker() for _ in range(at_once)))
        print(len(asked) / (time.perf_counter() - started))

asyncio.run(main())
"""


ASKED = itertools.count(10_000, 10_000)
"""Numbers of questions that nobody has asked yet: what the small reader has read it keeps."""


def requests(url: str, at_once: int, count: int) -> tuple[float, float]:
    """Return the requests a second that a client reaches, and the server's processor seconds for one request.

    The client shares the machine: with the server's processor time it fills the cores, however fast that is.
    Each of its connections asks two questions before.
    """

    def sent(numbers: range) -> float:
        command, asked = [sys.executable, "-c", CLIENT, url, str(at_once)], "\n".join(map(question, numbers))
        return float(subprocess.run(command, input=asked, check=True, capture_output=True, text=True).stdout)

    first = next(ASKED)
    sent(range(first, first + 2 * at_once))
    cpu = time.process_time()
    rate = sent(range(first + 2 * at_once, first + 2 * at_once + count))
    return rate, (time.process_time() - cpu) / count


@contextmanager
def serving_peer(library: Library, folder: Path) -> Iterator[str]:
    """Give the URL of a server over the peer's graph: `/ask` takes a turn on a new thread, `/nothing` none."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with peer(library, folder) as turn:
            app.state.turn = turn
            yield

    app, numbers = FastAPI(lifespan=lifespan), iter(range(10**9))

    @app.post("/ask")
    async def ask(question: str = Body(embed=True)) -> str:
        return str((await app.state.turn(next(numbers)))["answer"])

    @app.post("/nothing")
    async def nothing(question: str = Body(embed=True)) -> str:
        return question

    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(512)
        server = uvicorn.Server(uvicorn.Config(app, log_config=None, access_log=False))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()


def served(folder: Path, at_once: int, count: int) -> Iterator[str]:
    """Return a table's rows on turns through a server."""
    rows = {}
    with Library.open(folder) as library, serving_peer(library, folder) as url:
        rows["uvicorn and FastAPI, no turn"] = requests(f"{url}/nothing", at_once, count)
        rows["peer: plain LangGraph RAG"] = requests(f"{url}/ask", at_once, count)
    for route, reader in OURS:
        with (
            Preflight.open(folder, Instant(), route=route, rewrite="off", extractive_reader=reader) as app,
            running(app, ServerOptions(rate=0, turns=64)) as url,
        ):
            rows[f"ours, {route}, small reader: {reader}"] = requests(f"{url}/api/ask", at_once, count)
    base = rows["peer: plain LangGraph RAG"]
    for name, (rate, cpu) in rows.items():
        yield f"| {name} | {rate:.1f} | {1000 * cpu:.1f} | {cpu / base[1]:.1f} x |"


def main() -> None:
    """Measure and print two tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=40)
    parser.add_argument("--at-once", type=int, default=8)
    parser.add_argument("--without-server", action="store_true", help="single turns alone")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "library"
        with Library.open(folder, create=True) as library:
            library.ingest([Path(preflight_rag.__file__).parent / "demo"])
        print("| a turn, instant replies | ms | processor ms | of the peer's |\n| --- | ---: | ---: | ---: |")
        lines, missed = asyncio.run(turns_alone(folder, given.turns))
        print(*lines, sep="\n", flush=True)
        if given.without_server:
            sys.exit("\n".join(missed) or 0)
        print("\n| server | turns/s | processor ms a turn | of the peer's |\n| --- | ---: | ---: | ---: |")
        print(*served(folder, given.at_once, given.turns), sep="\n")
    sys.exit("\n".join(missed) or 0)


if __name__ == "__main__":
    main()
