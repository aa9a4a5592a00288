"""`response_format`: the answer as JSON, through the `openai` client's own parsing into pydantic models."""

import json
from typing import Literal

import openai
import pytest
from pydantic import BaseModel, ConfigDict
from serving import running

from preflight_rag.testing.scripted_server import ScriptedServer

QUESTION = "Which rock is hard?"
ASKED = {"model": "preflight", "messages": [{"role": "user", "content": QUESTION}]}


class Cited(BaseModel):
    n: int
    title: str
    quote: str
    page: int | None


class Found(BaseModel):
    model_config = ConfigDict(extra="forbid")

    answer: str
    outcome: str
    short_answer: str | None
    confidence: float | None
    citations: list[Cited]


class Claim(BaseModel):
    confidence: float


class Other(BaseModel):
    dose_mg: float


class Narrow(BaseModel):
    answer: str
    outcome: Literal["answered", "not_found"]


@pytest.fixture
def chat_of(openai_client):
    return lambda url: openai_client(url).chat.completions


def test_a_schema_over_the_answer_is_filled_from_it(scripted_app, chat_of):
    with ScriptedServer(default="Basalt is hard [1].") as server, running(scripted_app(server)) as url:
        message = chat_of(url).parse(**ASKED, response_format=Found).choices[0].message
    found = message.parsed
    assert (found.answer, found.outcome) == ("Basalt is hard [1].", "answered")
    assert found.citations[0].quote == message.preflight["citations"][0]["quote"]


def test_the_same_without_a_model_and_as_a_stream(offline_app, chat_of):
    with running(offline_app) as url:
        whole = chat_of(url).parse(**ASKED, response_format=Found).choices[0].message
        with chat_of(url).stream(**ASKED, response_format=Found) as stream:
            streamed = stream.get_final_completion().choices[0].message
    assert whole.parsed == streamed.parsed
    assert whole.parsed.citations


def test_json_object_is_the_answers_plain_fields(offline_app, chat_of):
    with running(offline_app) as url:
        message = chat_of(url).create(**ASKED, response_format={"type": "json_object"}).choices[0].message
    fields = json.loads(message.content)
    assert fields["answer"] == message.preflight["answer"]
    assert set(fields) >= {"answer", "outcome", "citations"}


def schema(value):
    return {"type": "json_schema", "json_schema": {"name": "x", "schema": value}}


LOOP = {"type": "object", "properties": {"answer": {"$ref": "#/$defs/a"}}, "$defs": {"a": {"$ref": "#/$defs/a"}}}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (Other, "has no field 'dose_mg'"),
        (Claim, r"confidence: None is not of type 'number'.*Allow for it"),
        (schema({"type": "string"}), "no object with properties"),
        (schema({"type": "object", "properties": {"answer": {"pattern": "(a+)+$"}}}), "'pattern' is not supported"),
        (schema({"type": "object", "properties": {"answer": {"$ref": "http://127.0.0.1:9/x"}}}), "another document"),
        (schema({"type": "object", "properties": {"answer": {"type": "text"}}}), "the schema is none"),
        (schema(LOOP), "without end"),
        ({"type": "json_schema"}, "holds no schema"),
    ],
)
def test_what_an_answer_cannot_be_is_refused_in_one_line(offline_app, chat_of, given, said):
    with running(offline_app) as url:
        chat = chat_of(url)
        ask = chat.create if isinstance(given, dict) else chat.parse
        with pytest.raises(openai.BadRequestError, match=said) as caught:
            ask(**ASKED, response_format=given)
    assert "\n" not in caught.value.body["message"]


def test_an_answer_of_another_kind_is_a_refusal(offline_app, chat_of):
    asked = {"model": "preflight", "messages": [{"role": "user", "content": "Hello!"}]}
    with running(offline_app) as url:
        message = chat_of(url).parse(**asked, response_format=Narrow).choices[0].message
    assert message.parsed is None
    assert "outcome" in message.refusal
