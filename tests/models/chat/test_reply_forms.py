"""Extracts and relations as JSON of a schema, where a model's server takes one, and as text where it does not."""

import asyncio
import json

import pytest
from jsonschema import validate

from preflight_rag.models.chat.chat_models import open_chat_model
from preflight_rag.models.chat.chat_reader import ChatReader
from preflight_rag.models.chat.measured_speed import FILE
from preflight_rag.prompts import map_context, relate_contexts
from preflight_rag.state.reading import Source
from preflight_rag.testing import Reply, ScriptedServer

pytestmark = pytest.mark.usefixtures("own_cache")

QUESTION = "Which planet is the hottest?"
SOURCES = [Source(n, f"p{n}", "Planets", f"Planet {n} has {400 + n} degrees.") for n in (3, 7)]
FACTS = {"facts": [{"statement": "Planet 7 has 407 degrees.", "passage": 7}], "answer": "Planet 7"}
NOTES = {
    "notes": [
        {"context": 1, "entity": "planet", "descriptor": "third", "answer": "403"},
        {"context": 2, "entity": "planet", "descriptor": None, "answer": "407"},
    ],
    "relations": [{"context": 2, "relation": "None"}],
}


def reader(server, form="schema"):
    return ChatReader(open_chat_model("openai:m", base_url=server.url), form=form)


def by_schema(server):
    return ["response_format" in request.body for request in server.requests]


def stored(call):
    """Run a call in an event loop of its own, which ends once what the call taught of the model is stored."""
    return asyncio.run(call)


def kept(tmp_path, server):
    return json.loads((tmp_path / FILE).read_text(encoding="utf-8"))[f"openai:m {server.url}"]["schema"]


def test_an_extract_by_schema_means_what_its_text_form_means(tmp_path):
    with ScriptedServer(default=json.dumps(FACTS)) as server:
        reply = stored(reader(server).extract(question=QUESTION, sources=SOURCES))
    sent = server.requests[0].body["response_format"]["json_schema"]["schema"]
    assert sent["properties"]["facts"]["items"]["properties"]["passage"]["enum"] == [3, 7]
    validate(FACTS, sent)
    text = map_context.parse("Planet 7 has 407 degrees [7].\nANSWER: Planet 7")
    assert reply.value == text
    assert kept(tmp_path, server) is True


async def test_relations_by_schema_mean_what_their_text_form_means():
    with ScriptedServer(default=json.dumps(NOTES)) as server:
        reply = await reader(server).relate(question=QUESTION, pivot=SOURCES[0], others=SOURCES[1:])
    validate(NOTES, server.requests[0].body["response_format"]["json_schema"]["schema"])
    text = relate_contexts.parse("Context1: planet | third | 403\nContext2: planet | Null | 407\nContext2 - None", 2)
    assert reply.value.kinds == {7: text.kinds[2]}
    assert [(note.descriptor, note.answer) for note in reply.value.notes.values()] == [
        (note.descriptor, note.answer) for note in text.notes.values()
    ]


def test_a_server_that_refuses_schemas_is_asked_for_text_from_then_on(tmp_path):
    script = "Planet 7 has 407 degrees [7].\nANSWER: Planet 7"
    with ScriptedServer(default=script, refuses=["response_format"]) as server:
        ours = reader(server)
        replies = [stored(ours.extract(question=QUESTION, sources=SOURCES)) for _ in range(2)]
        again = stored(reader(server).extract(question=QUESTION, sources=SOURCES))
    assert [reply.value.answer for reply in (*replies, again)] == ["Planet 7"] * 3
    assert by_schema(server) == [True, False, False, False], "also by another process"
    assert kept(tmp_path, server) is False


def test_a_server_that_knows_no_schemas_and_says_nothing_is_found_out(tmp_path):
    with ScriptedServer(default="Planet 7 has 407 degrees [7].\nANSWER: Planet 7") as server:
        ours = reader(server)
        replies = [stored(ours.extract(question=QUESTION, sources=SOURCES)) for _ in range(2)]
    assert [reply.value.answer for reply in replies] == ["Planet 7"] * 2
    assert by_schema(server) == [True, False]
    assert kept(tmp_path, server) is False


async def test_as_text_no_schema_is_sent():
    with ScriptedServer(default="Planet 7 has 407 degrees [7].\nANSWER: Planet 7") as server:
        await reader(server, "text").extract(question=QUESTION, sources=SOURCES)
    assert by_schema(server) == [False]


@pytest.mark.parametrize(
    ("cut", "facts"),
    [
        ('{"facts": [{"statement": "A", "passage": 3}, {"statement": "B', "A [3]."),
        ('{"facts": [{"statement": "A", "passage": 3}, {"statement": "B", "passage": 7}', "A [3].\nB [7]."),
        ('{"facts": [', ""),
    ],
)
async def test_what_is_whole_of_json_that_was_cut_off_counts(cut, facts):
    with ScriptedServer(default=Reply(cut, finish_reason="length")) as server:
        reply = await reader(server).extract(question=QUESTION, sources=SOURCES)
    assert reply.value.text == facts


@pytest.mark.parametrize("reply", ['{"facts": [], "answer": null}', '{"facts":[],"answer":"none"}'])
def test_json_without_facts_says_that_there_is_nothing(reply):
    assert map_context.parse(reply).answer == ""
    assert map_context.parse(reply).text == ""


def test_json_that_is_no_extract_is_read_as_text():
    assert map_context.parse('{"planet": "Venus"}').text == '{"planet": "Venus"}'


@pytest.mark.parametrize(
    ("refuses", "default", "found"),
    [
        ([], '{"ready": true}', "taken by its server"),
        (["response_format"], "ready", "not taken by its server"),
        ([], "ready", "not taken by its server"),
    ],
)
def test_the_doctor_tries_a_schema_once_and_says_what_is_kept(refuses, default, found, monkeypatch):
    from preflight_rag.cli.doctor import language_model

    with ScriptedServer(default=default, refuses=refuses) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        first, again = ({each.what: each.found for each in language_model("openai:m")} for _ in range(2))
    assert first["model: replies by schema"] == again["model: replies by schema"] == found
    assert by_schema(server) == [False, True, False]
    assert first["model: speed"] == "not measured yet"


ANSWER = {
    "statements": [{"statement": "Planet 7 has 407 degrees", "passages": [7]}],
    "quotes": [{"passage": 7, "quote": "Planet 7 has 407 degrees."}],
}


@pytest.mark.parametrize("stage", ["answer", "answer_group"])
async def test_an_answer_by_schema_has_quotes_of_its_passages_alone(stage):
    options = {"plural": False} if stage == "answer_group" else {}
    with ScriptedServer(default=json.dumps(ANSWER)) as server:
        reply = await getattr(reader(server), stage)(question=QUESTION, sources=SOURCES, **options)
    validate(ANSWER, server.requests[0].body["response_format"]["json_schema"]["schema"])
    assert reply.value.text == "Planet 7 has 407 degrees [7]."
    assert reply.value.quotes == ((7, "Planet 7 has 407 degrees."),)


async def test_an_answer_is_asked_for_as_text_where_nobody_says_and_where_one_is_chosen():
    with ScriptedServer(default="Planet 7 [7].\nCHOICE: A") as server:
        await reader(server, "auto").answer(question=QUESTION, sources=SOURCES)
        await reader(server).answer(question=QUESTION, sources=SOURCES, options=["seven", "three"])
    assert by_schema(server) == [False, False]


PLAINLY = "It is the seventh planet, as everybody knows."


def as_the_form_wants(body, text=PLAINLY):
    """Replies as a small model does: without a citation in text, whole by schema."""
    return json.dumps(ANSWER) if "response_format" in body else text


def test_answers_of_a_model_that_cites_nothing_in_text_are_asked_for_by_schema():
    with ScriptedServer(as_the_form_wants) as server:
        for _ in range(2):
            stored(reader(server, "auto").answer(question=QUESTION, sources=SOURCES))
        both = reader(server, "auto")
        third = stored(both.answer(question=QUESTION, sources=SOURCES))
        fourth = stored(both.answer(question=QUESTION, sources=SOURCES))
        later = stored(reader(server, "auto").answer(question=QUESTION, sources=SOURCES))
        stored(reader(server, "text").answer(question=QUESTION, sources=SOURCES))
    assert by_schema(server) == [False, False, False, True, True, False]
    assert third.value.text == PLAINLY
    assert fourth.value.text == later.value.text == "Planet 7 has 407 degrees [7]."


@pytest.mark.parametrize(
    ("reply", "options"),
    [
        pytest.param("The seventh [7].", (), id="cites"),
        pytest.param("NOT IN THE PASSAGES", (), id="finds nothing"),
        pytest.param("It is A.\nCHOICE: A", ("seven", "three"), id="chooses"),
    ],
)
async def test_no_other_answers_change_the_form(reply, options):
    with ScriptedServer(default=reply) as server:
        for _ in range(5):
            await reader(server, "auto").answer(question=QUESTION, sources=SOURCES, options=options)
    assert not any(by_schema(server))


def test_an_answer_that_cites_ends_a_row_of_those_that_do_not():
    answers = iter([PLAINLY, PLAINLY, "The seventh [7].", PLAINLY, PLAINLY])
    with ScriptedServer(lambda body: next(answers)) as server:
        for _ in range(5):
            stored(reader(server, "auto").answer(question=QUESTION, sources=SOURCES))
    assert not any(by_schema(server))
