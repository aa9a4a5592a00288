"""Turns whose plain answer is looked at again: what is read, what it costs, and which answer stands in the end."""

from itertools import count

import pytest
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from word_reader import WordReader

from preflight_rag import build_graph
from preflight_rag.graph.outcome import answer_of
from preflight_rag.models.reading.extractive_reader import PassageReading, Span
from preflight_rag.state.context import Context, Settings
from preflight_rag.testing.scripted_server import ScriptedServer, prompt_of

QUESTION = "How many moons has Saturn?"
PLAIN, MAP, REDUCE = "You answer questions from numbered passages", "You read a few numbered passages", "<extracts>"
SETTINGS = Settings(k=8, partition_size=3, thoroughness=0, corg=False, check_citations=False)
"""The first reading is plain; seven passages that no answer cites are in three parts, the likeliest four in one."""
CONFIG = {"configurable": {"thread_id": "t"}}


class SureOf(WordReader):
    """Reads the first number of a passage, and is sure of it in the passage with a word, half sure elsewhere."""

    def __init__(self, word):
        super().__init__()
        self.word = word

    def _reading(self, question, title, text):
        number = next((part for part in text.split() if part.isdigit()), "")
        start = max(text.find(number), 0)
        spans = (Span(start, start + len(number), number, 1.0),) if number else ()
        return PassageReading(spans, 0.97 if self.word in text.split() else 0.5, 0.9)


class Model:
    """A scripted model that answers plainly from the passage with one number, and finds another number in parts.

    Args:
        plain: Its plain answer; `{n}` is the number of the passage with 82 in it.
        part: What a part says that has 274 in it; None where no part says anything.
        reduced: What it makes of the extracts.
    """

    def __init__(self, plain, part="Saturn has 274 confirmed moons [{n}].\nANSWER: 274", reduced="274 moons [{n}]."):
        self.plain, self.part, self.reduced = plain, part, reduced

    def __call__(self, body):
        prompt = prompt_of(body)
        if REDUCE in prompt:
            return self.reduced.format(n=self.n)
        if MAP in prompt:
            at = self._holding(prompt, " 274 ")
            self.n = at or getattr(self, "n", 0)
            return self.part.format(n=at) if at and self.part else "NO RELEVANT INFORMATION"
        return self.plain.format(n=self._holding(prompt, " 82 "))

    def _holding(self, prompt, words):
        for block in prompt.split('<passage n="')[1:]:
            if words in block.split("</passage>")[0]:
                return int(block.split('"')[0])
        return 0


SUPPORTED = 'It has 82 moons [{n}].\nQUOTES\n[{n}] "82"'
UNSUPPORTED = "It has ninety-nine thousand moons, as everybody knows [{n}]."


@pytest.fixture
def asked(library, chat_reader):
    async def turn(server, word="274", *, saver=None, kill_before=None, given="question", shown=None):
        begun = count()

        class Killed(BaseException):
            pass

        def resolve(context):
            if next(begun) == kill_before:
                raise Killed
            return context

        reader = chat_reader(server)
        context = Context(reader, library, SETTINGS, extractive=SureOf(word))
        graph = build_graph(resolve=resolve).compile(checkpointer=saver)
        first = {"messages": [HumanMessage(QUESTION, id="q")], "options": []} if given else None
        state = {}
        try:
            async for mode, item in graph.astream(first, CONFIG, context=context, stream_mode=["messages", "values"]):
                if mode == "values":
                    state = item
                elif shown is not None and item[0].type == "AIMessageChunk":
                    shown.append(str(item[0].text))
        except Killed:
            return None, next(begun)
        return answer_of(state, reader=reader, settings=SETTINGS), next(begun)

    return turn


async def test_an_answer_that_an_uncited_passage_contradicts_is_weighed_against_the_others(asked):
    with ScriptedServer(Model(SUPPORTED)) as server:
        shown = []
        answer, _ = await asked(server, shown=shown)
    maps = [request.prompt for request in server.requests if MAP in request.prompt]
    assert (answer.route.name, answer.answer) == ("map_reduce", "274 moons [1].")
    assert "a passage that the plain answer does not cite says “274”" in answer.route.reason
    assert len(maps) == 1
    assert maps[0].count("<passage n=") == 4, "one part of those that answer likeliest"
    assert " 274 " in maps[0]
    assert not any(" 82 " in prompt for prompt in maps), "what was cited is read again"
    reduced = next(request.prompt for request in server.requests if REDUCE in request.prompt)
    assert reduced.count("<extract>") == 2
    assert "It has 82 moons" in reduced
    assert answer.receipt.model_calls == server.count() == 3
    assert "".join(shown).endswith("274 moons [1].")


async def test_an_answer_that_nothing_contradicts_stays_after_one_call(asked):
    with ScriptedServer(Model(SUPPORTED)) as server:
        answer, _ = await asked(server, word="82")
    assert (answer.route.name, server.count()) == ("plain", 1)


async def test_an_answer_without_support_is_not_weighed(asked):
    with ScriptedServer(Model(UNSUPPORTED)) as server:
        answer, _ = await asked(server, word="nothing")
    reduced = next(request.prompt for request in server.requests if REDUCE in request.prompt)
    assert (answer.answer, answer.route.name) == ("274 moons [1].", "map_reduce")
    assert "ninety-nine" not in reduced
    assert server.count() == 5


@pytest.mark.parametrize(
    ("plain", "note"), [(SUPPORTED, ""), (UNSUPPORTED, "were read in parts as well, and say nothing of it.")]
)
@pytest.mark.parametrize("model", [{"part": None}, {"reduced": "NOT IN THE PASSAGES"}])
async def test_the_first_answer_stands_where_the_others_give_nothing(asked, plain, note, model):
    with ScriptedServer(Model(plain, **model)) as server:
        shown = []
        answer, _ = await asked(server, shown=shown)
    text, _, said = answer.answer.partition("\n\nNote: the passages that it does not cite ")
    assert text == plain.split("\n")[0].format(n=1)
    assert (said, answer.abstained, answer.route.name) == (note, False, "plain")
    assert "".join(shown) == answer.answer
    parts = 1 if plain == SUPPORTED else 3
    assert server.count() == 1 + parts + (model.get("part", "") is not None)


async def test_the_first_answer_stands_where_no_part_can_be_read(asked):
    def reply(body):
        from preflight_rag.testing.scripted_server import Reply

        return Reply("no", status=401) if MAP in prompt_of(body) else Model(SUPPORTED)(body)

    with ScriptedServer(reply) as server:
        answer, _ = await asked(server)
    assert answer.answer.startswith("It has 82 moons [1].")
    assert "no part of the passages could be read; the answer of before stands" in answer.answer
    assert {gap.stage for gap in answer.gaps} >= {"map_context", "reduce_context"}


async def test_an_answer_that_found_nothing_has_all_passages_read(asked):
    with ScriptedServer(Model("NOT IN THE PASSAGES")) as server:
        answer, _ = await asked(server)
    maps = [request.prompt for request in server.requests if MAP in request.prompt]
    assert sum(prompt.count("<passage n=") for prompt in maps) == 8
    assert answer.answer == "274 moons [1]."


@pytest.mark.slow
@pytest.mark.parametrize("model", [{}, {"part": None}])
async def test_a_turn_killed_before_any_stage_gives_the_same_answer_and_asks_nothing_twice(asked, model):
    def bare(answer):
        found = answer.model_dump()
        for row in (found["receipt"], *found["receipt"]["by_stage"].values()):
            row.pop("seconds")
        return found

    with ScriptedServer(Model(SUPPORTED, **model)) as server:
        whole, begun = await asked(server, saver=InMemorySaver())
        calls = server.count()
    for number in range(begun):
        with ScriptedServer(Model(SUPPORTED, **model)) as server:
            saver = InMemorySaver()
            nothing, _ = await asked(server, saver=saver, kill_before=number)
            resumed, _ = await asked(server, saver=saver, given="" if number else "question")
            again = server.count()
        assert nothing is None
        assert bare(resumed) == bare(whole), f"killed before stage {number + 1}"
        assert again <= calls + 2  # parts of the step that was cut off, which were on their way
