"""The extractive reader compares the passages' answers while the language model writes, wherever it only checks."""

import time

import pytest
from langchain_core.messages import HumanMessage
from value_reader import ValueReader
from word_reader import WordReader

from preflight_rag import Preflight, TokenEvent, build_graph
from preflight_rag.models.reading.extractive_reader import PassageReading, Span
from preflight_rag.state.context import Context, Settings
from preflight_rag.state.errors import ExtractiveReaderError
from preflight_rag.testing.scripted_server import Reply, ScriptedServer

QUESTION = "How do I stop bleeding?"
"""Two of the demo's documents bear on it, and nothing but the reader could see that they answer differently."""
PLAIN = "You answer questions from numbered passages"
SHORT = Settings(map_prompt_tokens=1_000_000, partition_size=16)
"""Every context fits one map prompt and one partition, so that a route that is not COrg is plain, and stays so."""


class WhileTheModelWrites(WordReader):
    """Reads only once the model has been asked; what it says of a passage is its first word, surely."""

    def __init__(self, server, *, seconds=0.0, fails=False):
        super().__init__()
        self.server, self.seconds, self.fails = server, seconds, fails

    def read(self, pairs):
        self.pairs += pairs
        self.server.wait_for(1, timeout=20)
        time.sleep(self.seconds)
        if self.fails:
            raise ExtractiveReaderError("reader.onnx is damaged", help="Install the package again.")
        first = [text.split()[0] for _, _, text in pairs]
        return [PassageReading((Span(0, len(word), word, 9.0),), 1.0, 1.0, (0.0, 0.0, 1.0)) for word in first]


@pytest.fixture
def streamed(library, chat_reader):
    async def turn(server, extractive, settings=SHORT, *, calls_ahead=True):
        context = Context(chat_reader(server), library, settings, extractive=extractive, calls_ahead=calls_ahead)
        shown, state = "", {}
        asked = {"messages": [HumanMessage(QUESTION)], "options": []}
        graph = build_graph().compile()
        async for mode, item in graph.astream(asked, context=context, stream_mode=["messages", "values"]):
            if mode == "messages":
                shown += str(item[0].text) if item[0].type == "AIMessageChunk" else ""
            else:
                state = item
        return shown, state

    return turn


async def test_the_model_is_asked_before_the_reader_has_read(streamed):
    """Was it the other way round, the reader would wait for a request that never comes."""
    with ScriptedServer(default="Press on it [1].") as server:
        shown, state = await streamed(server, reader := OneAnswer(server))
    assert reader.pairs
    assert (shown, state["decision"]["name"], state["unchecked"]) == ("Press on it [1].", "plain", False)
    assert state["decision"]["signals"]["corg_answers"] == 0


class OneAnswer(WhileTheModelWrites):
    """All passages say the same."""

    def read(self, pairs):
        return [PassageReading((Span(0, 1, "hot", 9.0),), 1.0, 1.0, (0.0, 0.0, 1.0)) for _ in super().read(pairs)]


async def test_without_calls_ahead_the_model_is_asked_after_the_reader_has_read(streamed):
    with ScriptedServer(default="Press on it [1].") as server:
        reader = Before(server)
        _, state = await streamed(server, reader, calls_ahead=False)
    assert reader.asked[0] == 0
    assert (state["decision"]["name"], state["unchecked"]) == ("plain", False)


class Before(WhileTheModelWrites):
    """Notes how often the model has been asked when it reads; all passages say the same."""

    def __init__(self, server):
        super().__init__(server)
        self.asked = []

    def read(self, pairs):
        self.asked.append(self.server.count())
        return [PassageReading((Span(0, 1, "hot", 9.0),), 1.0, 1.0, (0.0, 0.0, 1.0)) for _ in pairs]


async def test_where_passages_answer_differently_the_call_is_given_up_and_nothing_of_it_shown(streamed):
    plain = Reply("Plainly so, " * 200, chunk_delay=0.05)
    script = [("Context1", "Context2 - None"), (PLAIN, plain, 1)]
    with ScriptedServer(script, default="Press on it [1].") as server:
        shown, state = await streamed(server, WhileTheModelWrites(server, seconds=0.5))
        server.wait_idle()
        given_up = server.requests[0]
    assert PLAIN in given_up.prompt
    assert given_up.delivered is False
    assert state["decision"]["name"] == "corg"
    assert "different answers" in state["decision"]["reason"]
    assert "Plainly" not in shown + state["answer"]
    row = next(row for row in state["spent"] if row["stage"] == "answer_plain")
    assert row["estimated"]
    assert row["calls"] == 1
    assert row["input_tokens"] == sum(ref["tokens"] for ref in state["passage_refs"])


async def test_a_reader_that_fails_ends_the_turn_and_the_call(streamed):
    with ScriptedServer(default=Reply("slow " * 400, chunk_delay=0.05)) as server:
        with pytest.raises(ExtractiveReaderError, match="damaged"):
            await streamed(server, WhileTheModelWrites(server, fails=True))
        server.wait_idle()
        assert server.requests[0].delivered is False


@pytest.mark.parametrize("route", ["plain", "map-reduce"])
async def test_on_a_forced_route_nothing_is_read_for_it(streamed, route):
    extractive, settings = WordReader(), Settings(route=route, check_citations=False)
    with ScriptedServer(default="Press on it [1].") as server:
        _, state = await streamed(server, extractive, settings)
    assert extractive.pairs == []
    assert "corg_answers" not in state["decision"]["signals"]


async def test_where_the_other_signals_speak_for_corg_the_reader_is_waited_for(library, chat_reader):
    extractive = ValueReader()
    with ScriptedServer(default="NOT IN THE PASSAGES") as server:
        context = Context(chat_reader(server), library, SHORT, extractive=extractive)
        asked = {"messages": [HumanMessage("What is mercury?")], "options": []}
        async for update in build_graph().compile().astream(asked, context=context, stream_mode="updates"):
            if "preflight" in update:
                assert extractive.calls
                assert server.count() == 0
                assert not update["preflight"]["unchecked"]


@pytest.mark.parametrize("question", [QUESTION, "What is mercury?", "Do dolphins sleep?", "Which animals sleep?"])
def test_the_route_is_the_one_that_is_chosen_when_all_is_read_first(own_folder, chat_reader, question):
    with (
        ScriptedServer(default="It is said [1].") as server,
        Preflight.open(own_folder, chat_reader(server), partition_size=16) as app,
    ):
        first = app.search(question, compare_answers=True).preflight
        events = []
        route = app.ask(question, on_event=events.append).route
    assert (route.name, route.reason, route.signals) == (first.route, first.reason, first.signals)
    assert any(isinstance(event, TokenEvent) for event in events)
