"""The checkpointer: conformance, pruning, copying, and what becomes of a graph that uses it."""

from __future__ import annotations

import asyncio
import dataclasses
import operator
import sqlite3
import subprocess
import sys
from contextlib import aclosing, closing
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage, ToolMessage
from langgraph.checkpoint.conformance import checkpointer_test, validate
from langgraph.checkpoint.conformance.capabilities import ALL_CAPABILITIES
from langgraph.checkpoint.conformance.test_utils import generate_checkpoint, generate_config, generate_metadata
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import Command, Send, interrupt

from preflight_rag.graph.studio_saver import studio_saver
from preflight_rag.state.errors import LibraryCorrupt, LibraryError, TurnError, UsageError
from preflight_rag.state.values import Answer, Receipt, RouteDecision
from preflight_rag.threads.sqlite_checkpoints import open_checkpointer
from preflight_rag.threads.thread_store import open_thread_store

CONFIG: Any = {"configurable": {"thread_id": "t"}}


class State(TypedDict, total=False):
    messages: Annotated[list[AnyMessage], add_messages]
    items: Annotated[list[str], operator.add]
    payload: str


@pytest.fixture
def path(tmp_path):
    return tmp_path / "library" / "threads.db"


@pytest.fixture
async def saver(kept):
    async with kept.open() as store:
        yield store.saver


def answer(**changes):
    values = {"question": "q", "standalone_question": "q", "queries": ("q",), "answer": "a", "abstained": False}
    decision, receipt = RouteDecision(name="plain", reason="r", top_n=3, threshold=0.5), Receipt(model="m")
    return Answer(**{"thread_id": "t", "turn": 1, "route": decision, "receipt": receipt, **values, **changes})


def fan_out(map_item):
    """Three branches side by side, as a map/reduce turn has them."""

    def first(state: State) -> State:
        return {"payload": "x" * 2000}

    def reduce(state: State) -> State:
        return {"messages": [AIMessage(f"{len(state['items'])} items")]}

    graph = StateGraph(State)
    graph.add_node("first", first)
    graph.add_node("map_item", map_item)
    graph.add_node("reduce", reduce)
    graph.add_edge(START, "first")
    graph.add_conditional_edges(
        "first", lambda _: [Send("map_item", {"payload": str(n)}) for n in range(3)], ["map_item"]
    )
    graph.add_edge("map_item", "reduce")
    graph.add_edge("reduce", END)
    return graph


def echo(state: State) -> State:
    return {"items": [state["payload"]]}


async def ask(graph, text, config=CONFIG):
    return await graph.ainvoke({"messages": [HumanMessage(text)]}, config, durability="async")


async def put_steps(saver, thread_id, steps, namespace="", **metadata):
    config, ids = generate_config(thread_id, checkpoint_ns=namespace), []
    for step in range(steps):
        checkpoint = generate_checkpoint(channel_values={"step": step})
        config = await saver.aput(config, checkpoint, generate_metadata(step=step, **metadata), {})
        await saver.aput_writes(config, [("step", step)], f"task{step}")
        ids.append(checkpoint["id"])
    return ids


async def test_it_conforms_in_every_capability(kept):
    @checkpointer_test(name="ours")
    async def factory():
        async with kept.open() as store:
            yield store.saver

    report = await validate(factory)
    assert set(report.results) == {capability.value for capability in ALL_CAPABILITIES}
    for name, result in report.results.items():
        assert (result.passed, result.tests_failed, result.tests_skipped) == (True, 0, 0), (name, result.failures)
        assert result.tests_passed > 0


@pytest.mark.slow
async def test_fifty_turns_stay_small(kept):
    async with kept.open() as store:
        saver = store.saver
        graph = fan_out(echo).compile(checkpointer=saver)
        for turn in range(50):
            await ask(graph, f"turn {turn}")
            assert await saver.prune_turn("t") > 0
        assert len([each async for each in graph.aget_state_history(CONFIG)]) == 1
        assert len((await graph.aget_state(CONFIG)).values["messages"]) == 100
        if kept.url is None:
            assert await store.size() < 500_000
    assert (kept.count(), kept.count("writes")) == (1, 0)
    if kept.url is not None:  # a value for each channel of that checkpoint; no other one's is left
        assert kept.count("checkpoint_blobs") <= 4


async def test_the_state_survives_pruning_and_the_thread_goes_on(saver):
    graph = fan_out(echo).compile(checkpointer=saver)
    before = await ask(graph, "one")
    await saver.prune_turn("t")
    assert (await graph.aget_state(CONFIG)).values == before
    after = await ask(graph, "two")
    assert [message.content for message in after["messages"]] == ["one", "3 items", "two", "6 items"]


async def test_a_failed_turn_is_resumed_after_pruning_without_repeating_branches(kept, saver):
    calls = []

    async def fails_last(state: State) -> State:
        calls.append(state["payload"])
        if calls.count("1") == 1 and state["payload"] == "1":
            while kept.count("writes", "channel = 'items'") < 2:
                await asyncio.sleep(0.01)
            raise ValueError("no reply")
        return echo(state)

    graph = fan_out(fails_last).compile(checkpointer=saver)
    with pytest.raises(ValueError, match="no reply"):
        await ask(graph, "one")
    await saver.prune_turn("t")
    state = await graph.ainvoke(None, CONFIG)
    assert sorted(state["items"]) == ["0", "1", "2"]
    assert sorted(calls) == ["0", "1", "1", "2"]


async def test_the_steps_of_the_last_turns_can_be_kept_for_time_travel(saver):
    graph = fan_out(echo).compile(checkpointer=saver)
    for turn in range(5):
        await ask(graph, f"turn {turn}")
        await saver.prune_turn("t", keep_turns=2)
    steps = [each async for each in graph.aget_state_history(CONFIG)]
    assert [each.metadata["source"] for each in steps].count("input") == 2
    before_reduce = next(each for each in reversed(steps) if each.next == ("reduce",))
    again = await graph.ainvoke(None, before_reduce.config)
    assert [message.content for message in again["messages"]][-2:] == ["turn 3", "12 items"]


async def test_fewer_turns_than_are_kept_lose_nothing(saver):
    graph = fan_out(echo).compile(checkpointer=saver)
    await ask(graph, "one")
    assert await saver.prune_turn("t", keep_turns=2) == 0
    assert await saver.prune_turn("t", keep_turns=1) == 0
    assert await saver.prune_turn("no such thread") == 0


async def test_a_negative_number_of_turns_is_refused(saver):
    with pytest.raises(UsageError, match="-1"):
        await saver.prune_turn("t", keep_turns=-1)


def nested(memory):
    """A graph whose first step is a subgraph that may stop to ask."""

    def inner(state: State) -> State:
        if state["messages"][-1].content == "stop":
            return {"items": [interrupt("go on?")]}
        return {"items": ["inner"]}

    subgraph = StateGraph(State).add_node("inner", inner).add_edge(START, "inner")
    return StateGraph(State).add_node("sub", subgraph.compile(checkpointer=memory)).add_edge(START, "sub")


async def test_what_subgraphs_stored_goes_with_their_turn(kept, saver):
    graph = nested(None).compile(checkpointer=saver)
    for _ in range(3):
        await ask(graph, "go")
        await saver.prune_turn("t")
    assert kept.count() == 1


async def test_a_subgraph_with_a_memory_of_its_own_keeps_it(kept, saver):
    graph = nested(True).compile(checkpointer=saver)
    for _ in range(3):
        await ask(graph, "go")
        await saver.prune_turn("t")
    assert kept.count(where="checkpoint_ns != ''") == 1
    snapshot = await saver.aget_tuple({"configurable": {"thread_id": "t", "checkpoint_ns": "sub"}})
    assert snapshot.checkpoint["channel_values"]["items"].count("inner") >= 3


async def test_a_subgraph_that_waits_for_an_answer_survives_pruning(saver):
    graph = nested(None).compile(checkpointer=saver)
    await ask(graph, "stop")
    await saver.prune_turn("t")
    state = await graph.ainvoke(Command(resume="yes"), CONFIG)
    assert state["items"] == ["yes"]


async def test_pruning_leaves_other_threads_alone(kept, saver):
    for thread_id in ("a", "b"):
        await put_steps(saver, thread_id, 3)
    assert await saver.prune_turn("a") == 2
    assert (kept.count(where="thread_id = 'a'"), kept.count(where="thread_id = 'b'")) == (1, 3)
    assert (kept.count("writes", "thread_id = 'a'"), kept.count("writes", "thread_id = 'b'")) == (1, 3)


async def test_an_unknown_strategy_is_refused(saver):
    with pytest.raises(UsageError, match="'oldest'"):
        await saver.aprune(["t"], strategy="oldest")


async def test_writes_of_deleted_runs_and_pruned_steps_are_deleted(kept, saver):
    await put_steps(saver, "a", 2, run_id="r1")
    await put_steps(saver, "b", 3, run_id="r2")
    await saver.adelete_for_runs(["r1"])
    assert (kept.count(), kept.count("writes")) == (3, 3)
    await saver.aprune(["b"])
    assert (kept.count(), kept.count("writes")) == (1, 1)
    await saver.aprune(["b"], strategy="delete")
    assert (kept.count(), kept.count("writes")) == (0, 0)


async def test_threads_are_listed_by_last_use(saver):
    for thread_id in ("a", "b", "c", "a"):
        await put_steps(saver, thread_id, 1)
    assert await saver.athreads() == ["a", "c", "b"]


async def test_a_copied_thread_goes_its_own_way(saver):
    graph = fan_out(echo).compile(checkpointer=saver)
    await ask(graph, "one")
    await saver.acopy_thread("t", "copy")
    copy = await ask(graph, "two", {"configurable": {"thread_id": "copy"}})
    assert len(copy["messages"]) == 4
    assert len((await graph.aget_state(CONFIG)).values["messages"]) == 2


async def test_the_saver_can_be_used_while_a_list_is_read(saver):
    await put_steps(saver, "a", 3)
    found = []
    async with asyncio.timeout(10):
        async for each in saver.alist(generate_config("a")):
            found.append(await saver.aget_tuple(each.config))
    assert len(found) == 3


async def test_vacuum_shrinks_the_file(path):
    async with open_checkpointer(path) as saver:
        graph = fan_out(echo).compile(checkpointer=saver)
        for turn in range(20):
            await ask(graph, f"turn {turn}")
        await saver.vacuum()
        size = path.stat().st_size
        await saver.aprune(["t"], strategy="delete")
        await saver.vacuum()
        assert path.stat().st_size < size / 4


async def test_a_write_right_after_vacuum_is_kept(path):
    """The log's checkpoint is a statement that writes; while it stands, SQLite commits nothing on the connection."""
    async with open_checkpointer(path) as saver:
        await put_steps(saver, "t", 2)
        for _ in range(5):
            await saver.vacuum()
            await put_steps(saver, "u", 1)
        assert set(await saver.athreads()) == {"t", "u"}


async def test_closing_leaves_one_whole_file(path):
    async with open_checkpointer(path) as saver:
        await put_steps(saver, "a", 3)
        other = sqlite3.connect(path)
        other.execute("select * from checkpoints").fetchall()
        assert path.with_name("threads.db-wal").stat().st_size > 0
    assert path.with_name("threads.db-wal").stat().st_size == 0
    other.close()
    assert [each.name for each in path.parent.iterdir()] == ["threads.db"]


async def test_it_waits_for_other_writers_and_does_not_sync_every_step(path):
    async def pragma(name):
        return (await (await saver.conn.execute(f"pragma {name}")).fetchone())[0]

    async with open_checkpointer(path) as saver:
        assert [await pragma(name) for name in ("busy_timeout", "journal_mode", "synchronous")] == [30000, "wal", 1]


async def test_a_cancelled_write_does_not_lock_the_file(path):
    async with open_checkpointer(path) as saver:
        with closing(sqlite3.connect(path, timeout=0, isolation_level=None)) as other:
            other.execute("begin immediate")
            write = asyncio.create_task(put_steps(saver, "t", 1))
            await asyncio.sleep(0.2)
            assert not write.done()
            write.cancel()
            other.execute("commit")
            with pytest.raises(asyncio.CancelledError):
                await write
            other.execute("create table free (id)")


async def test_a_copy_cancelled_before_its_commit_is_undone_and_does_not_lock_the_file(path, monkeypatch):
    async with open_checkpointer(path) as saver:
        await put_steps(saver, "t", 1)
        stuck = asyncio.Event()

        async def never():
            stuck.set()
            await asyncio.sleep(60)

        with monkeypatch.context() as patched:
            patched.setattr(saver.conn, "commit", never)
            copying = asyncio.create_task(saver.acopy_thread("t", "copy"))
            await stuck.wait()
            copying.cancel()
            with pytest.raises(asyncio.CancelledError):
                await copying
        with sqlite3.connect(path, timeout=0) as other:
            other.execute("create table free (id)")
        other.close()
        assert await saver.athreads() == ["t"]


async def test_a_cancelled_write_that_was_not_begun_is_not_written(path):
    async with open_checkpointer(path) as saver:
        await put_steps(saver, "t", 1)
        async with saver.lock:
            write = asyncio.create_task(put_steps(saver, "late", 1))
            await asyncio.sleep(0.05)
            write.cancel()
            with pytest.raises(asyncio.CancelledError):
                await write
        await put_steps(saver, "t", 1)
        assert await saver.athreads() == ["t"]


async def test_what_cannot_be_written_of_one_thread_is_no_other_ones_loss(path):
    async with open_checkpointer(path) as saver:
        await saver.setup()
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute(
                "create trigger full before insert on checkpoints when new.thread_id = 'bad' "
                "begin select raise(abort, 'no room'); end"
            )
            written = await asyncio.gather(
                *(put_steps(saver, name, 1) for name in ("a", "bad", "b")), return_exceptions=True
            )
            assert isinstance(written[1], sqlite3.IntegrityError)
            assert sorted(await saver.athreads()) == ["a", "b"]


async def test_the_results_of_a_task_are_written_whole_or_not_at_all(path):
    async with open_checkpointer(path) as saver:
        [step] = await put_steps(saver, "t", 1)
        config = {"configurable": {"thread_id": "t", "checkpoint_ns": "", "checkpoint_id": step}}
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute(
                "create trigger full before insert on writes when new.channel = 'third' "
                "begin select raise(abort, 'no room'); end"
            )
            with pytest.raises(sqlite3.IntegrityError):
                await saver.aput_writes(config, [("first", 1), ("second", 2), ("third", 3)], "task")
            assert not other.execute("select * from writes where task_id = 'task'").fetchall()
            other.execute("drop trigger full")
        await saver.aput_writes(config, [("first", 1), ("second", 2), ("third", 3)], "task")
        await saver.aput_writes(config, [("first", 4)], "task")
        found = await saver.aget_tuple(config)
        assert [write for write in found.pending_writes if write[0] == "task"] == [
            ("task", "first", 1),
            ("task", "second", 2),
            ("task", "third", 3),
        ]


def kept_steps(path, thread_id):
    with closing(sqlite3.connect(path)) as other:
        return other.execute("select count(*) from checkpoints where thread_id = ?", (thread_id,)).fetchone()[0]


async def test_more_rows_than_one_statement_takes_are_written_and_removed(path):
    async with open_checkpointer(path) as saver:
        await put_steps(saver, "t", 350)
        [*_, latest] = await put_steps(saver, "other", 2)
        found = await saver.aget_tuple({"configurable": {"thread_id": "other"}})
        many = [(f"channel{number}", number) for number in range(250)]
        await saver.aput_writes(found.config, many, "many")
        found = await saver.aget_tuple(found.config)
        assert found.checkpoint["id"] == latest
        assert [(channel, value) for task, channel, value in found.pending_writes if task == "many"] == many
        assert await saver.prune_turn("t") == 349
        assert (kept_steps(path, "t"), kept_steps(path, "other")) == (1, 2)
        with closing(sqlite3.connect(path)) as other:
            assert other.execute("select count(*) from writes where thread_id = 't'").fetchall() == [(1,)]


async def test_an_answer_is_recorded_after_the_last_checkpoint_and_the_steps_before_it_go(kept):
    async with kept.open() as store:
        turn = await asyncio.to_thread(store.ledger.begin, "t", "q", settings={}, model="m")
        async with store.lock("t", wait=1):
            await put_steps(store.saver, "t", 3)
            await store.finish(turn, answer(answer="Done."), keep_turns=0)
        [done] = store.ledger.turns("t")
        assert (done.status, done.answer) == ("answered", "Done.")
        found = [each async for each in store.saver.alist(CONFIG)]
        assert [each.checkpoint["channel_values"] for each in found] == [{"step": 2}]


async def test_of_a_deleted_thread_no_answer_is_recorded(kept):
    async with kept.open() as store:
        turn = await asyncio.to_thread(store.ledger.begin, "t", "q", settings={}, model="m")
        await asyncio.to_thread(store.ledger.delete, "t")
        with pytest.raises(TurnError, match="is not in"):
            await store.finish(turn, answer(), keep_turns=0)
        assert store.ledger.turns("t") == []


async def test_who_takes_a_thread_next_finds_what_a_stopped_turn_has_left(path):
    async with open_thread_store(path.parent) as store:

        async def stopped():
            async with store.lock("t", wait=1):
                await put_steps(store.saver, "t", 1)
                raise RuntimeError("stopped")

        with pytest.raises(RuntimeError, match="stopped"):
            await stopped()
        assert kept_steps(path, "t") == 1


@dataclasses.dataclass
class Foreign:
    value: int


async def test_messages_come_back_as_they_were_and_foreign_classes_do_not(saver):
    messages = [
        SystemMessage("s"),
        HumanMessage("h", id="1"),
        AIMessage("a", usage_metadata=None),
        ToolMessage("t", tool_call_id="1"),
    ]
    values = {"messages": messages, "plain": {"a": [1, 2.5, None, "ä"]}, "foreign": Foreign(3)}
    checkpoint, versions = generate_checkpoint(channel_values=values), dict.fromkeys(values, "1")
    checkpoint["channel_versions"] = versions
    config = await saver.aput(generate_config("t"), checkpoint, generate_metadata(), versions)
    loaded = (await saver.aget_tuple(config)).checkpoint["channel_values"]
    assert loaded["messages"] == messages
    assert loaded["plain"] == values["plain"]
    assert not isinstance(loaded["foreign"], Foreign)


async def test_a_file_that_is_no_database_is_named(path):
    path.parent.mkdir()
    path.write_text("not a database, but long enough to be taken for one" * 100)
    with pytest.raises(LibraryCorrupt, match=r"threads\.db cannot be read: file is not a database"):
        async with open_checkpointer(path):
            pass


async def test_a_place_that_cannot_hold_a_file_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(LibraryError, match="cannot be used"):
        async with open_checkpointer(tmp_path / "file" / "threads.db"):
            pass


async def test_an_error_of_the_block_is_passed_on_as_it_is(path):
    with pytest.raises(sqlite3.OperationalError, match="mine"):
        async with open_checkpointer(path):
            raise sqlite3.OperationalError("mine")


@pytest.mark.parametrize(
    ("given", "there", "folder"),
    [
        ("elsewhere", ["my-library"], "elsewhere"),
        (None, ["library", "my-library"], "my-library"),
        (None, ["library"], "library"),
        (None, [], "demo-library"),
    ],
)
async def test_studio_finds_its_library(tmp_path, monkeypatch, given, there, folder):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PREFLIGHT_LIBRARY", raising=False)
    for name in ("library", "my-library"):
        (tmp_path / name).mkdir()
    for name in there:
        (tmp_path / name / "library.db").touch()
    if given:
        monkeypatch.setenv("PREFLIGHT_LIBRARY", str(tmp_path / given))
    async with studio_saver() as saver:
        await put_steps(saver, "a", 1)
    assert (tmp_path / folder / "threads.db").exists()


@pytest.mark.slow
def test_processes_may_make_the_same_tables_at_once(kept):
    script = (
        "import asyncio, sys\nfrom pathlib import Path\n"
        "from preflight_rag.threads.thread_store import open_thread_store\n"
        "async def main():\n"
        "    async with open_thread_store(Path(sys.argv[1]), sys.argv[2] or None) as store:\n"
        "        store.ledger.begin('t', 'q', settings={}, model='m')\n"
        "asyncio.run(main())"
    )
    command = [sys.executable, "-c", script, str(kept.folder), kept.url or ""]
    processes = [subprocess.Popen(command) for _ in range(3)]
    assert [process.wait() for process in processes] == [0, 0, 0]
    assert kept.count("turns") == 3


async def test_ledger_and_saver_write_side_by_side(kept):
    async with kept.open() as store:
        saver, ledger = store.saver, store.ledger
        graph = fan_out(echo).compile(checkpointer=saver)

        async def turn(number):
            config: Any = {"configurable": {"thread_id": f"t{number}"}}
            begun = await asyncio.to_thread(ledger.begin, "t", "q", settings={}, model="m")
            await ask(graph, "go", config)
            await asyncio.to_thread(ledger.fail, begun.id, error="x")

        await asyncio.gather(*(turn(number) for number in range(8)))
        assert [turn.status for turn in ledger.turns("t")] == ["failed"] * 8
        assert len(await saver.athreads()) == 8


CLOCK_SET_BACK = """
import asyncio, operator, sys, time
from typing import Annotated, TypedDict
hour = 3600 * 10**9
real = time.time_ns
time.time_ns = lambda: real() - int(sys.argv[2]) * hour
from langgraph.graph import START, StateGraph
from pathlib import Path
from preflight_rag.threads.thread_store import open_thread_store

class State(TypedDict):
    said: Annotated[list[str], operator.add]

async def main():
    async with open_thread_store(Path(sys.argv[1]), sys.argv[4] or None) as store:
        graph = StateGraph(State)
        graph.add_node("node", lambda state: {"said": ["heard " + state["said"][-1]]})
        graph.add_edge(START, "node")
        config = {"configurable": {"thread_id": "t"}}
        await graph.compile(checkpointer=store.saver).ainvoke({"said": [sys.argv[3]]}, config)

asyncio.run(main())
"""


@pytest.mark.slow
async def test_a_clock_set_back_leaves_the_last_written_checkpoint_the_latest(kept):
    for hours, text in ((0, "one"), (1, "two"), (2, "three"), (0, "four"), (5, "five")):
        arguments = [str(kept.folder), str(hours), text, kept.url or ""]
        subprocess.run([sys.executable, "-c", CLOCK_SET_BACK, *arguments], check=True)
    async with kept.open() as store:
        saver = store.saver
        latest = await saver.aget_tuple(CONFIG)
        assert latest.checkpoint["channel_values"]["said"] == [
            *(
                "one",
                "heard one",
                "two",
                "heard two",
                "three",
                "heard three",
                "four",
                "heard four",
                "five",
                "heard five",
            )
        ]
        listed = [each async for each in saver.alist(CONFIG)]
        lengths = [len(each.checkpoint["channel_values"].get("said", ())) for each in listed]
        assert lengths == sorted(lengths, reverse=True)
        assert lengths[0] == 10
        limited = [each async for each in saver.alist(CONFIG, limit=2, before=listed[3].config)]
        assert [each.config for each in limited] == [each.config for each in listed[4:6]]
        await saver.prune_turn("t", keep_turns=1)
        kept = [each async for each in saver.alist(CONFIG)]
        assert kept[0].config == listed[0].config
        assert len(kept) == 3  # the input, the step after it, the answer
        await saver.prune_turn("t")
        assert (await saver.aget_tuple(CONFIG)).checkpoint["channel_values"]["said"][-1] == "heard five"


@pytest.mark.slow
async def test_a_database_from_before_the_order_was_kept_gets_one(path):
    subprocess.run([sys.executable, "-c", CLOCK_SET_BACK, str(path.parent), "0", "one", ""], check=True)
    with sqlite3.connect(path) as database:
        database.executescript(
            "DROP TRIGGER checkpoint_written; DROP TRIGGER checkpoint_removed; DROP TABLE checkpoint_order"
        )
    subprocess.run([sys.executable, "-c", CLOCK_SET_BACK, str(path.parent), "1", "two", ""], check=True)
    async with open_checkpointer(path) as saver:
        assert (await saver.aget_tuple(CONFIG)).checkpoint["channel_values"]["said"][-1] == "heard two"


async def test_a_stage_that_is_stopped_before_its_branch_is_chosen_is_taken_again(saver):
    """LangGraph keeps what it wrote until then; resumed from that, the turn would end there without an answer."""
    taken, chooses = [], asyncio.Event()

    async def first(_: State) -> State:
        taken.append("first")
        return {"payload": "written"}

    async def second(_: State) -> State:
        taken.append("second")
        return {"messages": [AIMessage("answered")]}

    async def choose(_: State) -> str:
        if len(taken) == 1:
            chooses.set()
            await asyncio.sleep(60)
        return "second"

    building = StateGraph(State)
    building.add_node("first", first)
    building.add_node("second", second)
    building.add_edge(START, "first")
    building.add_conditional_edges("first", choose, ["second"])
    graph = building.compile(checkpointer=saver)

    async def take() -> None:
        steps = graph.astream({"items": []}, CONFIG, stream_mode=["updates", "custom"], durability="async")
        async with aclosing(steps):
            async for _ in steps:
                pass

    turn = asyncio.create_task(take())
    await asyncio.wait_for(chooses.wait(), 30)
    await asyncio.sleep(0.1)  # until the stream waits, too
    turn.cancel()
    with pytest.raises(asyncio.CancelledError):
        await turn
    state = await graph.ainvoke(None, CONFIG)
    assert taken == ["first", "first", "second"]
    assert state["messages"][-1].content == "answered"
