"""The Responses API through the `openai` client: text, events, conversations by `previous_response_id`."""

import re

import openai
import pytest
from pydantic import BaseModel
from serving import running

from preflight_rag import Preflight
from preflight_rag.library import Library
from preflight_rag.server.access import KeyRing
from preflight_rag.state.values import Document
from preflight_rag.testing.scripted_replies import Reply, prompt_of
from preflight_rag.testing.scripted_server import ScriptedServer

pytestmark = pytest.mark.slow

QUESTION = "Which rock is hard?"


def last_question(body):
    """Answers with the words of the last question in the prompt."""
    return f"{re.findall(r'rock is (hard|light|white|flat)', prompt_of(body))[-1]} [1]."


@pytest.fixture
def responses_of(openai_client):
    return lambda url: openai_client(url).responses


def test_a_conversation_goes_on_by_the_id_before_and_forks_from_an_earlier_one(scripted_app, responses_of, client_of):
    with ScriptedServer(last_question) as server, running(scripted_app(server, rewrite="off")) as url:
        create = responses_of(url).create
        first = create(model="preflight", input=QUESTION)
        second = create(model="preflight-plain", input="And which rock is light?", previous_response_id=first.id)
        other = create(model="preflight", input="And which rock is flat?", previous_response_id=first.id)
        third = create(model="preflight", input="And which rock is white?", previous_response_id=second.id)
        found = responses_of(url).retrieve(second.id)
        threads = client_of(url).get("/api/threads").json()["threads"]
    assert (first.status, first.object, first.output[0].role) == ("completed", "response", "assistant")
    assert first.output_text.startswith("hard [1].\n\n[1] ")
    assert [each.preflight["turn"] for each in (first, second, other, third)] == [1, 2, 2, 3]
    assert second.preflight["thread_id"] == first.preflight["thread_id"] == third.preflight["thread_id"]
    assert other.preflight["thread_id"] != first.preflight["thread_id"]
    assert other.output_text.startswith("flat")
    assert (found.id, found.output_text) == (second.id, second.output_text)
    assert first.usage.total_tokens == first.usage.input_tokens + first.usage.output_tokens > 0
    assert len(threads) == 2


def test_a_conversation_outlives_a_restart(scripted_app, responses_of):
    with ScriptedServer(last_question) as server:
        with running(scripted_app(server, rewrite="off")) as url:
            first = responses_of(url).create(model="preflight", input=QUESTION)
        with running(scripted_app(server, rewrite="off")) as url:
            asked = {"model": "preflight", "input": "And which rock is light?"}
            second = responses_of(url).create(**asked, previous_response_id=first.id)
    assert second.preflight["turn"] == 2


def test_the_events_of_a_stream_are_openais_and_add_up(scripted_app, responses_of):
    with ScriptedServer(default="Basalt is very hard [1].") as server, running(scripted_app(server)) as url:
        with responses_of(url).stream(model="preflight", input=QUESTION) as stream:
            events = list(stream)
            final = stream.get_final_response()
    kinds = [event.type for event in events]
    text = "".join(event.delta for event in events if event.type == "response.output_text.delta")
    assert kinds[:4] == [
        *("response.created", "response.in_progress", "response.output_item.added", "response.content_part.added")
    ]
    assert kinds[-5:] == [
        *("response.output_text.annotation.added", "response.output_text.done", "response.content_part.done"),
        *("response.output_item.done", "response.completed"),
    ]
    assert text == final.output_text
    assert kinds.count("response.output_text.delta") > 2
    assert [event.sequence_number for event in events] == list(range(len(events)))
    assert final.preflight["answer"] == "Basalt is very hard [1]."


def test_citations_are_files_and_pages_of_the_web(embedder, tmp_path, responses_of):
    text = "Granite is a rock that is hard and old."
    web = Document(id="12345678", text=text, source="https://pubmed.ncbi.nlm.nih.gov/12345678/", title="On granite")
    (tmp_path / "basalt.txt").write_text("Basalt is a rock that is hard and dark.", encoding="utf-8")
    with Library.open(tmp_path / "library", embedder=embedder, create=True) as library:
        library.add([web])
        library.ingest([tmp_path / "basalt.txt"])
    with Preflight.open(tmp_path / "library", "offline", embedder=embedder, route="plain") as app, running(app) as url:
        client = responses_of(url)
        found = [client.create(model="preflight", input=f"Which {rock} rock is hard?") for rock in ("old", "dark")]
    annotations = [(each.output_text, note) for each in found for note in each.output[0].content[0].annotations]
    kinds = {note.type: (text, note) for text, note in annotations}
    assert set(kinds) == {"file_citation", "url_citation"}
    text, note = kinds["url_citation"]
    assert (note.url, note.title) == ("https://pubmed.ncbi.nlm.nih.gov/12345678/", "On granite")
    assert re.fullmatch(r"\[\d\]", text[note.start_index : note.end_index])
    text, note = kinds["file_citation"]
    assert (note.file_id, note.filename, text[note.index]) == ("basalt.txt", "basalt.txt", "[")


class Found(BaseModel):
    answer: str
    short_answer: str | None


def test_messages_instructions_formats_limits_and_images(scripted_app, responses_of):
    image = {"type": "input_image", "image_url": "data:image/png;base64,AA"}
    said = [
        {"role": "user", "content": QUESTION},
        {"role": "assistant", "content": [{"type": "output_text", "text": "Basalt [1]."}]},
        {"role": "user", "content": [image, {"type": "input_text", "text": "Which rock is light?"}]},
    ]
    with ScriptedServer(default="Pumice is light [1].") as server, running(scripted_app(server)) as url:
        client = responses_of(url)
        noted = client.create(model="preflight", input=said, instructions="Write in capitals.", temperature=0.4)
        bodies = [request.body for request in server.requests]
        parsed = client.parse(model="preflight", input=QUESTION, text_format=Found)
        cut = client.create(model="preflight", input=QUESTION, max_output_tokens=2)
    assert "> Note: only text is read here; what was sent as image was passed over." in noted.output_text
    assert any("Write in capitals." in prompt_of(body) for body in bodies)
    assert all(body["temperature"] == 0.4 for body in bodies)
    assert parsed.output_parsed.answer == "Pumice is light [1]."
    assert (cut.status, cut.incomplete_details.reason, cut.output_text) == (
        *("incomplete", "max_output_tokens"),
        "Pumice i",
    )


def test_what_is_not_to_be_stored_is_not_and_a_task_is_none(scripted_app, responses_of, client_of):
    title = "Generate a concise title for this conversation.\n\nuser: Which rock is hard?"
    with ScriptedServer(default="Hard Rocks [1].") as server, running(scripted_app(server)) as url:
        create = responses_of(url).create
        create(model="preflight", input=QUESTION, store=False)
        task = create(model="preflight", input=title)
        threads = client_of(url).get("/api/threads").json()["threads"]
    assert threads == []
    assert (task.output_text, task.preflight["task"]) == ("Hard Rocks [1].", "title")


@pytest.mark.parametrize(
    ("changes", "error", "said"),
    [
        ({"previous_response_id": "resp_1_00"}, openai.NotFoundError, "there is no response"),
        ({"previous_response_id": "resp_1_7631"}, openai.NotFoundError, "there is no response"),
        ({"previous_response_id": "x"}, openai.NotFoundError, "there is no response"),
        ({"input": []}, openai.BadRequestError, "no message of the user"),
        ({"input": "  "}, openai.BadRequestError, "question"),
        ({"model": "gpt-4o"}, openai.NotFoundError, "no model"),
        ({"tool_choice": "required"}, openai.BadRequestError, "calls no tools"),
        ({"text": {"format": {"type": "grammar"}}}, openai.BadRequestError, "'grammar'"),
    ],
)
def test_what_cannot_be_answered_is_refused_in_one_line(offline_app, responses_of, changes, error, said):
    with running(offline_app) as url, pytest.raises(error, match=said) as caught:
        responses_of(url).create(**{"model": "preflight", "input": QUESTION} | changes)
    assert "\n" not in caught.value.body["message"]


def test_a_turn_that_fails_in_the_middle_is_a_failed_response(scripted_app, responses_of):
    long = Reply("too long", status=400, code="context_length_exceeded", delay=0.1)
    with ScriptedServer(default=long) as server, running(scripted_app(server)) as url:
        *_, last = responses_of(url).create(model="preflight", input=QUESTION, stream=True)
    assert (last.type, last.response.status) == ("response.failed", "failed")
    assert "too long" in last.response.error.message


def test_nobody_goes_on_with_somebody_elses_response(offline_app, responses_of):
    ring = KeyRing(offline_app.folder)
    anna, bert = ring.add("anna"), ring.add("bert")
    ring.close()
    with running(offline_app) as url:
        with openai.OpenAI(base_url=f"{url}/v1", api_key=anna, max_retries=0) as client:
            first = client.responses.create(model="preflight", input=QUESTION)
        with (
            openai.OpenAI(base_url=f"{url}/v1", api_key=bert, max_retries=0) as client,
            pytest.raises(openai.NotFoundError),
        ):
            client.responses.create(model="preflight", input="And then?", previous_response_id=first.id)
