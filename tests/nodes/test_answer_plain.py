"""The node `answer_plain`."""

import pytest
from langgraph.runtime import Runtime

from preflight_rag.library.library import Library
from preflight_rag.models.opening import open_extractive_reader
from preflight_rag.nodes.answer_plain import answer_plain
from preflight_rag.nodes.retrieve import retrieve
from preflight_rag.offline.reader import OfflineReader
from preflight_rag.state.context import Context, Settings
from preflight_rag.state.errors import ModelUnavailable
from preflight_rag.testing.scripted_server import Reply, ScriptedServer

PLAIN = {"options": [], "decision": {"name": "plain", "forced": True}, "escalations": []}


async def test_the_reader_sees_all_passages_and_its_cost_is_kept(library, chat_reader, retrieved):
    state = await retrieved("How hot is the planet Venus?", k=5) | PLAIN
    with ScriptedServer(default='Very hot [1].\nQUOTES\n[1] "hot"') as server:
        update = await answer_plain(state, Runtime(context=Context(chat_reader(server), library)))
    drafted = {"text": "Very hot [1].", "quotes": [[1, "hot"]], "found": True, "choice": None}
    assert update["draft"] == {
        **drafted,
        **{"claims": True, "short": "", "confidence": None, "disputed": False, "incomplete": "", "unclaimed": ""},
    }
    assert update["spent"][0]["calls"] == 1
    assert all(f'<passage n="{n}"' in server.requests[0].prompt for n in range(1, 6))


async def test_a_failed_call_is_an_error_and_never_an_answer(library, chat_reader, retrieved):
    state = await retrieved("How hot is the planet Venus?", k=5) | PLAIN
    with ScriptedServer(default=Reply("boom", status=500)) as server, pytest.raises(ModelUnavailable):
        await answer_plain(state, Runtime(context=Context(chat_reader(server), library)))


@pytest.mark.parametrize(("ranks", "plural"), [([1], 0), ([1, 2], 1)])
async def test_the_one_group_of_corg_is_answered_for_its_aggregation(library, chat_reader, retrieved, ranks, plural):
    state = await retrieved("How many people live in Broken Bow?", k=5)
    view = state | PLAIN | {"decision": {"name": "corg"}}
    view["passage_refs"] = [ref for ref in state["passage_refs"] if ref["rank"] in ranks]
    with ScriptedServer(default="3,559 [1]") as server:
        update = await answer_plain(view, Runtime(context=Context(chat_reader(server), library, Settings())))
    assert (update["onward"], update["group_drafts"][0]["ranks"]) == ("aggregate_groups", ranks)
    assert server.count("How many people live in the Broken Bows?") == plural


@pytest.mark.parametrize(
    ("question", "lost", "onward"),
    [
        ("Which drug treats malaria in children?", 0.0, "abstain"),
        ("Which drug treats malaria in children?", 1.0, "map_context"),
        ("How many moons has Saturn?", 0.0, "map_context"),
    ],
)
async def test_a_second_reading_follows_a_risk_or_an_answer_that_is_seen(
    library, chat_reader, retrieved, question, lost, onward
):
    """The demo's documents say how many moons Saturn has, and nothing of malaria; the extractive reader is real."""
    decision = {"name": "plain", "forced": False, "signals": {"lost": lost}}
    state = await retrieved(question, k=8) | PLAIN | {"decision": decision}
    with ScriptedServer(default="NOT IN THE PASSAGES") as server:
        context = Context(chat_reader(server), library, extractive=open_extractive_reader())
        update = await answer_plain(state, Runtime(context=context))
    assert update["onward"] == onward
    assert ("escalations" in update) is (onward == "map_context")


async def test_rows_in_order_are_of_the_whole_table_whatever_the_search_has_found(embedder, tmp_path):
    prices = {f"Tool {n}": 1000 - (n * 7919) % 997 for n in range(90)}
    rows = [f"{tool},{price},on a shelf at the back of the shed" for tool, price in prices.items()]
    (tmp_path / "tools.csv").write_text("\n".join(["Tool,Price,Place", *rows]))
    with Library.open(tmp_path / "library", embedder=embedder, create=True) as library:
        library.ingest([tmp_path / "tools.csv"])
        runtime = Runtime(context=Context(OfflineReader(embedder), library, Settings(k=3)))
        question = "Which tool is the most expensive?"
        found = await retrieve({"queries": [question]}, runtime)
        update = await answer_plain({"standalone_question": question, **PLAIN, **found}, runtime)
        texts = {ref["rank"]: library.passages([ref["id"]])[0].text for ref in update["passage_refs"]}
    quotes = update["draft"]["quotes"]
    shown = [quote.split("Tool: ")[1].split(" |")[0] for _, quote in quotes]
    assert shown == sorted(prices, key=prices.get, reverse=True)[:10]
    assert len(found["passage_refs"]) == 3
    assert all(quote in texts[n] for n, quote in quotes)
    assert update["onward"] == "cite"
