"""A turn that asks the person first, by events, and as text to OpenAI clients."""

import openai
import pytest
from broken_bow import QUESTION, documents, script
from serving import running

from preflight_rag import Preflight
from preflight_rag.library import Library
from preflight_rag.testing.scripted_server import ScriptedServer

FACTS = ["A1", "B2", "C3", "A4"]
ASKING = {"clarify": True, "settings": {"clarify_above": 2}}


@pytest.fixture
def served(tmp_path, embedder, chat_reader):
    with Library.open(tmp_path / "library", embedder=embedder, create=True) as library:
        library.add(documents(FACTS))
    with ScriptedServer(script(FACTS)) as server:
        with Preflight.open(tmp_path / "library", chat_reader(server), route="corg") as app, running(app) as url:
            yield url


def test_choices_are_told_and_a_reply_goes_on(served, client_of):
    client = client_of(served)
    received = client.events("/api/ask", question=QUESTION, thread_id="t", **ASKING)
    waiting = client.get("/api/threads/t").json()["turns"][0]
    listed = client.get("/api/threads").json()["threads"][0]
    label = received[-1][1]["choices"][0]["label"]
    wrong = client.post("/api/threads/t/reply", json={"choice": "Mars", "stream": False})
    after = client.events("/api/threads/t/reply", choice=label, html=True)
    assert received[-1][0] == "clarify"
    assert len(received[-1][1]["choices"]) == 3
    assert (waiting["status"], waiting["clarification"]) == ("asking", received[-1][1])
    assert listed["status"] == "asking"
    assert wrong.status_code == 400
    assert after[-1][0] == "answer"
    assert after[-1][1]["answer"]["turn"] == 1
    assert len(after[-1][1]["answer"]["left_out"]) == 2


def test_without_a_stream_the_choices_are_one_value(served, client_of):
    found = client_of(served).ask(QUESTION, thread_id="t", **ASKING).json()
    assert [choice["entity"] for choice in found["clarification"]["choices"]] == ["Broken Bow"] * 3


@pytest.mark.parametrize("by_thread", [True, False])
@pytest.mark.parametrize("stream", [True, False])
def test_openai_clients_reply_with_a_number(served, by_thread, stream):
    settings = {"clarify": True, "clarify_above": 2}
    more = {"settings": settings, **({"thread_id": "t"} if by_thread else {})}
    with openai.OpenAI(base_url=f"{served}/v1", api_key="any", max_retries=0) as client:

        def say(messages):
            made = client.chat.completions.create(
                model="preflight-corg", messages=messages, stream=stream, extra_body=more
            )
            if not stream:
                return made.choices[0].message.content, made.choices[0].message.preflight
            chunks = list(made)
            return "".join(chunk.choices[0].delta.content or "" for chunk in chunks), chunks[-1].preflight

        messages = [{"role": "user", "content": QUESTION}]
        text, extra = say(messages)
        messages += [{"role": "assistant", "content": text}, {"role": "user", "content": "2"}]
        reply, answer = say(messages)
    second = extra["clarification"]["choices"][1]["label"]
    assert f"2. {second}" in text
    assert second not in answer["left_out"]
    assert len(answer["left_out"]) == 2
    assert (answer["turn"], answer["abstained"]) == (1, False)
    assert "\n\n[1] " in reply
