"""The extractive reader beside a language model: pruning on every route, and the check of statements."""

import pytest
from langchain_core.messages import HumanMessage
from word_reader import WordReader

from preflight_rag import Preflight, answer_of, build_graph
from preflight_rag.offline.reader import OfflineReader
from preflight_rag.state.context import Context, Settings
from preflight_rag.state.errors import ExtractiveReaderError, UsageError
from preflight_rag.testing.scripted_server import ScriptedServer

QUESTION = "How hot is the planet Venus?"


@pytest.fixture
def ask(library):
    async def turn(reader, extractive, **settings):
        context = Context(reader, library, Settings(**settings), extractive=extractive)
        asked = {"messages": [HumanMessage(QUESTION)], "options": []}
        state = await build_graph().compile().ainvoke(asked, context=context)
        return answer_of(state, reader=reader, settings=context.settings)

    return turn


@pytest.mark.parametrize("route", ["plain", "map-reduce", "corg"])
async def test_pruned_passages_reach_no_prompt_and_stay_visible(ask, chat_reader, route):
    script = [("<extracts>", "Venus is very hot [1]."), ("Context1", "Context2 - None")]
    with ScriptedServer(script, default="The planet Venus is very hot [1].") as server:
        answer = await ask(chat_reader(server), WordReader(), route=route, prune=0.6, k=12)
        prompts = "\n".join(request.prompt for request in server.requests)
    pruned = {passage.passage_id for passage in answer.pruned}
    assert pruned
    assert all(passage.answerable < 0.6 for passage in answer.pruned)
    assert len({passage.rank for passage in answer.pruned}) == len(pruned) < 12
    assert pruned.isdisjoint(citation.passage_id for citation in answer.citations)
    assert all(f'<passage n="{n}"' not in prompts for n in range(13 - len(pruned), 13))


async def test_without_a_threshold_and_without_a_language_model_all_passages_stay(ask, embedder, chat_reader):
    reader = WordReader()
    with ScriptedServer(default="Venus is hot [1].") as server:
        answer = await ask(chat_reader(server), reader, route="plain", check_citations=False)
    assert (answer.pruned, answer.statements) == ((), ())
    assert {question for question, _, _ in reader.pairs} <= {QUESTION}
    answer = await ask(OfflineReader(embedder), reader, route="plain", prune=1.0)
    assert (answer.pruned, answer.statements) == ((), ())


async def test_pruning_needs_a_reader(ask, chat_reader):
    with ScriptedServer() as server, pytest.raises(UsageError, match=r"prune = 0\.5"):
        await ask(chat_reader(server), None, route="plain", prune=0.5)


async def test_each_statement_is_held_to_its_passages_and_the_answer_stays_as_it_is(ask, chat_reader):
    reply = "Venus is the hottest planet of the Solar System [1]. Oats and tea grow on it in early spring [1]."
    with ScriptedServer(default=reply) as server:
        answer = await ask(chat_reader(server), WordReader(), route="plain")
    assert answer.answer == reply
    assert [(s.text.split()[0], s.citations, s.supported) for s in answer.statements] == [
        ("Venus", (1,), True),
        ("Oats", (1,), False),
    ]
    assert answer.model_dump()["statements"][1]["supported"] is False


async def test_a_passage_that_is_not_there_cannot_be_read(ask, chat_reader):
    with ScriptedServer(default="Venus is the hottest planet of all [99].") as server:
        answer = await ask(chat_reader(server), WordReader(), route="plain", k=4)
    assert [(s.supported, s.score) for s in answer.statements] == [(None, None)]


async def test_a_reader_that_fails_is_a_gap_and_costs_no_answer(ask, chat_reader):
    class Broken(WordReader):
        def read(self, pairs):
            if any("Maxwell" in asked for asked, _, _ in pairs):
                raise ExtractiveReaderError("reader.onnx is damaged", help="Install the package again.")
            return super().read(pairs)

    with ScriptedServer(default="Maxwell Montes is the highest mountain of Venus [1].") as server:
        answer = await ask(chat_reader(server), Broken(), route="plain")
    assert (answer.answer, answer.statements) == ("Maxwell Montes is the highest mountain of Venus [1].", ())
    assert any("reader.onnx is damaged" in gap.error for gap in answer.gaps)


def test_a_turn_of_the_application_checks_its_statements(own_folder, chat_reader):
    with ScriptedServer(default="Venus is the hottest planet of the Solar System [1].") as server:
        with Preflight.open(own_folder, chat_reader(server), route="plain", prune=0.0) as app:
            (statement,) = app.ask(QUESTION).statements
            assert app.ask(QUESTION, check_citations=False).statements == ()
            assert app.ask(QUESTION, extractive_reader="none").statements == ()
    assert (statement.citations, type(statement.supported)) == ((1,), bool)
