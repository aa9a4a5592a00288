"""The library as a model: the real `openai` client and LangChain's `ChatOpenAI` hold conversations with it."""

import re
import time

import httpx
import openai
import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langchain_core.runnables import RunnableLambda
from langchain_openai import ChatOpenAI, OpenAIEmbeddings
from serving import running

from preflight_rag import Preflight
from preflight_rag.server.embeddings import EMBEDDED_AT_ONCE
from preflight_rag.testing.scripted_replies import Reply, prompt_of
from preflight_rag.testing.scripted_server import ScriptedServer

QUESTION = "Which rock is hard?"
TOOL = {"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}
RULES = [("Which rock is hard?", "Basalt is hard [1]."), ("light", "Pumice is light [1].")]


def last_question(body):
    """Answers with the words of the last question in the prompt."""
    return f"{re.findall(r'rock is (hard|light|white|flat)', prompt_of(body))[-1]} [1]."


def user(text):
    return {"role": "user", "content": text}


def test_two_turns_by_the_messages_sent(scripted_app, openai_client, client_of):
    with ScriptedServer(last_question) as server, running(scripted_app(server, rewrite="off")) as url:
        client = openai_client(url)
        first = client.chat.completions.create(model="preflight", messages=[user(QUESTION)])
        said = first.choices[0].message.content
        messages = [user(QUESTION), {"role": "assistant", "content": said}, user("And which rock is light?")]
        second = client.chat.completions.create(model="preflight-plain", messages=messages)
        elsewhere = client.chat.completions.create(model="preflight", messages=messages)
        threads = client_of(url).get("/api/threads").json()["threads"]
    answer = first.choices[0].message.preflight
    assert first.choices[0].finish_reason == "stop"
    assert said.startswith("hard [1].\n\n[1] ")
    assert answer["citations"][0]["n"] == 1
    assert (first.usage.prompt_tokens, first.usage.completion_tokens) == (
        answer["receipt"]["input_tokens"],
        answer["receipt"]["output_tokens"],
    )
    assert first.usage.total_tokens > 0
    follow = second.choices[0].message.preflight
    assert (follow["thread_id"], follow["turn"], follow["route"]["forced"]) == (answer["thread_id"], 2, True)
    assert elsewhere.choices[0].message.preflight["turn"] == 1
    assert elsewhere.choices[0].message.preflight["thread_id"] != answer["thread_id"]
    assert len(threads) == 2


def test_a_conversation_that_the_server_does_not_know_is_its_history(scripted_app, openai_client):
    with ScriptedServer(default="Light [1].") as server, running(scripted_app(server, rewrite="model")) as url:
        reply = {"role": "assistant", "content": 'Basalt [1].\n\n[1] basalt - basalt.txt: "Basalt is a rock."'}
        messages = [
            {"role": "system", "content": "Be kind."},
            user(QUESTION),
            reply,
            user("And which one is light?"),
        ]
        found = openai_client(url).chat.completions.create(model="preflight", messages=messages)
        prompts = "\n".join(request.prompt for request in server.requests)
    assert found.choices[0].message.preflight["turn"] >= 1
    assert QUESTION in prompts
    assert "basalt - basalt.txt" not in prompts


def test_a_stream_adds_up_to_the_answer_with_its_footnotes(scripted_app, openai_client):
    with ScriptedServer(RULES) as server, running(scripted_app(server)) as url:
        stream = openai_client(url).chat.completions.create(
            model="preflight", messages=[user(QUESTION)], stream=True, stream_options={"include_usage": True}
        )
        chunks = list(stream)
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    done = next(chunk for chunk in chunks if chunk.choices and chunk.choices[0].finish_reason)
    assert done.choices[0].finish_reason == "stop"
    assert text.startswith("Basalt is hard [1].\n\n[1] ")
    assert done.preflight["answer"] == "Basalt is hard [1]."
    assert chunks[-1].choices == []
    assert chunks[-1].usage.completion_tokens == done.preflight["receipt"]["output_tokens"]
    assert len([chunk for chunk in chunks if chunk.choices and chunk.choices[0].delta.content]) > 2


def test_without_asking_for_it_a_stream_tells_no_usage(scripted_app, openai_client):
    with ScriptedServer(RULES) as server, running(scripted_app(server)) as url:
        chunks = list(
            openai_client(url).chat.completions.create(model="preflight", messages=[user(QUESTION)], stream=True)
        )
    assert all(chunk.usage is None for chunk in chunks)


@pytest.mark.parametrize("by_header", [False, True])
def test_a_thread_of_ones_own_needs_no_messages(scripted_app, openai_client, by_header):
    more = {"extra_headers": {"X-Preflight-Thread": "t1"}} if by_header else {"extra_body": {"thread_id": "t1"}}
    with ScriptedServer(RULES) as server, running(scripted_app(server)) as url:
        create = openai_client(url).chat.completions.create
        turns = [create(model="preflight", messages=[user(QUESTION)], **more) for _ in range(2)]
    assert [turn.choices[0].message.preflight["turn"] for turn in turns] == [1, 2]
    assert turns[0].choices[0].message.preflight["thread_id"] == "t1"


def test_langchains_chat_model_holds_two_turns_and_streams(scripted_app):
    with ScriptedServer(last_question) as server, running(scripted_app(server, rewrite="off")) as url:
        chat = ChatOpenAI(base_url=f"{url}/v1", api_key="any", model="preflight", max_retries=0, timeout=60)
        messages = [SystemMessage("Be brief."), HumanMessage(QUESTION)]
        first = chat.invoke(messages)
        messages += [AIMessage(first.content), HumanMessage("Which rock is flat?")]
        pieces = list(chat.stream(messages))
    assert first.content.startswith("hard [1].")
    assert first.usage_metadata["total_tokens"] > 0
    assert "".join(piece.content for piece in pieces).startswith("flat [1].")
    assert len(pieces) > 3


def test_models_to_chat_with_are_listed_and_the_embedder_by_itself(offline_app, openai_client, client_of, embedder):
    with running(offline_app) as url:
        client = openai_client(url)
        names = [model.id for model in client.models.list()]
        assert client.models.retrieve("preflight-corg").id == "preflight-corg"
        with pytest.raises(openai.NotFoundError):
            client.models.retrieve("gpt-4")
        assert client.models.retrieve(embedder.name).id == embedder.name
        listed = client_of(url).get("/v1/embeddings/models").json()
    assert names == ["preflight", "preflight-plain", "preflight-map-reduce", "preflight-corg"]
    assert [each["id"] for each in listed["data"]] == [embedder.name]


def test_embeddings_are_the_librarys(offline_app, openai_client, embedder):
    with running(offline_app) as url:
        client = openai_client(url)
        one = client.embeddings.create(model="preflight", input="Basalt", encoding_format="float")
        two = client.embeddings.create(model=embedder.name, input=["Basalt", "Slate"])
        chain = OpenAIEmbeddings(
            base_url=f"{url}/v1", api_key="any", model="preflight", check_embedding_ctx_length=False
        ).embed_query("Basalt")
        with pytest.raises(openai.BadRequestError, match="token numbers"):
            client.embeddings.create(model="preflight", input=[1, 2, 3])
        with pytest.raises(openai.NotFoundError):
            client.embeddings.create(model="other", input="x")
    wanted = embedder.encode_passages(["Basalt"])[0]
    assert one.data[0].embedding == pytest.approx(wanted.tolist(), abs=1e-6)
    assert two.data[0].embedding == pytest.approx(wanted.tolist(), abs=1e-6)
    assert chain == pytest.approx(wanted.tolist(), abs=1e-6)
    assert len(two.data) == 2
    assert one.usage.prompt_tokens >= 1


@pytest.mark.parametrize(
    ("changes", "error", "said"),
    [
        ({"model": "gpt-4o"}, openai.NotFoundError, "there is no model 'gpt-4o'"),
        ({"messages": []}, openai.BadRequestError, "messages"),
        ({"messages": [{"role": "system", "content": "x"}]}, openai.BadRequestError, "no message is the user's"),
        ({"messages": [user("  ")]}, openai.BadRequestError, "question"),
        ({"n": 3}, openai.BadRequestError, "n=3"),
        ({"tool_choice": "required", "tools": [TOOL]}, openai.BadRequestError, "calls no tools"),
        (
            {"tool_choice": {"type": "function", "function": {"name": "f"}}, "tools": [TOOL]},
            openai.BadRequestError,
            "tool_choice 'of one tool'",
        ),
        ({"response_format": {"type": "grammar"}}, openai.BadRequestError, "'grammar' is not known"),
        ({"temperature": 3}, openai.BadRequestError, "temperature"),
        ({"messages": [user("x" * 9000)]}, openai.BadRequestError, "8,?000"),
        ({"extra_body": {"settings": {"mesh": "/etc/passwd"}}}, openai.BadRequestError, "'mesh'"),
        ({"extra_body": {"settings": {"k": -1}}}, openai.BadRequestError, "k = -1"),
        ({"extra_body": {"thread_id": "a\u0000b"}}, openai.BadRequestError, "thread id"),
    ],
)
@pytest.mark.parametrize("stream", [False, True])
def test_what_cannot_be_answered_is_refused_in_openais_shape(offline_app, openai_client, changes, error, said, stream):
    asked = {"model": "preflight", "messages": [user(QUESTION)], "stream": stream} | changes
    with running(offline_app) as url, pytest.raises(error, match=said) as caught:
        openai_client(url).chat.completions.create(**asked)
    assert set(caught.value.body) == {"message", "type", "param", "code"}


def test_what_means_nothing_to_a_library_is_passed_over(scripted_app, openai_client):
    parts = [{"type": "text", "text": "Which rock"}, {"type": "text", "text": "is light?"}]
    with ScriptedServer(RULES) as server, running(scripted_app(server)) as url:
        found = openai_client(url).chat.completions.create(
            model="preflight",
            messages=[user(parts)],
            tools=[TOOL],
            tool_choice="auto",
            logprobs=True,
            stop=["."],
            user="someone",
        )
    assert found.choices[0].message.content.startswith("Pumice is light [1].")
    assert found.choices[0].message.preflight["ignored"] == ["logprobs", "stop", "tools"]


def test_sampling_reaches_the_model_and_is_named_as_ignored_where_there_is_none(
    scripted_app, offline_app, openai_client
):
    options = {"temperature": 0.3, "top_p": 0.5, "seed": 7, "presence_penalty": 0.1}
    asked = {"model": "preflight", "messages": [user(QUESTION)], **options}
    with ScriptedServer(RULES) as server, running(scripted_app(server)) as url:
        found = openai_client(url).chat.completions.create(**asked)
        bodies = [request.body for request in server.requests]
    with running(offline_app) as url:
        keyless = openai_client(url).chat.completions.create(**asked)
        chunks = list(openai_client(url).chat.completions.create(**asked, stream=True))
    assert all(body.get(name) == value for body in bodies for name, value in options.items())
    assert "ignored" not in found.choices[0].message.preflight
    assert keyless.choices[0].message.preflight["ignored"] == sorted(options)
    assert chunks[-1].preflight["ignored"] == sorted(options)


def test_options_that_a_model_of_another_kind_does_not_take_are_ignored_by_name(small_folder, embedder, openai_client):
    model = RunnableLambda(lambda _: AIMessage("Basalt is hard [1]."))
    with Preflight.open(small_folder, model, embedder=embedder, route="plain") as app, running(app) as url:
        asked = {"model": "preflight", "messages": [user(QUESTION)], "temperature": 0.3, "seed": 7}
        message = openai_client(url).chat.completions.create(**asked).choices[0].message
    assert message.content.startswith("Basalt is hard [1].")
    assert message.preflight["ignored"] == ["seed", "temperature"]


@pytest.mark.parametrize("stream", [False, True])
def test_an_image_is_passed_over_with_a_note_and_the_conversation_goes_on(scripted_app, openai_client, stream):
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA"}}
    with ScriptedServer(last_question) as server, running(scripted_app(server, rewrite="off")) as url:
        create = openai_client(url).chat.completions.create
        messages = [user([image, {"type": "text", "text": QUESTION}])]
        text, extra = whole(create(model="preflight", messages=messages, stream=stream), stream)
        messages += [{"role": "assistant", "content": text}, user("And which rock is light?")]
        later, follow = whole(create(model="preflight", messages=messages, stream=stream), stream)
        alone, _ = whole(create(model="preflight", messages=[user([image])], stream=stream), stream)
    assert "> Note: only text is read here; what was sent as image was passed over." in text
    assert extra["ignored"] == ["image_url"]
    assert follow["turn"] == 2
    assert later.startswith("light [1].")
    assert "> Note" not in later
    assert alone == "> Note: only text is read here; what was sent as image was passed over."


def whole(reply, stream):
    """The text of a reply and its field `preflight`."""
    if not stream:
        return reply.choices[0].message.content, reply.choices[0].message.preflight
    chunks = list(reply)
    return "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices), chunks[-1].preflight


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("reply", "asked", "reason"),
    [
        ("Basalt is hard [1].", {}, "stop"),
        ("Basalt is hard [1].", {"max_tokens": 2}, "length"),
        (Reply("Basalt is", finish_reason="length"), {}, "length"),
        (Reply("", finish_reason="content_filter"), {}, "content_filter"),
    ],
)
def test_finish_reason_tells_the_truth(scripted_app, openai_client, reply, asked, reason, stream):
    with ScriptedServer(default=reply) as server, running(scripted_app(server)) as url:
        create = openai_client(url).chat.completions.create
        found = create(model="preflight", messages=[user(QUESTION)], stream=stream, **asked)
        if stream:
            chunks = list(found)
            text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks)
            told = chunks[-1].choices[0].finish_reason
        else:
            text, told = found.choices[0].message.content, found.choices[0].finish_reason
    assert told == reason
    if asked:
        assert text == ("Basalt i" if reason == "length" else text)
    elif reason == "length":
        # What there is of the answer, and that there is no more.
        assert text.startswith("Basalt is")
        assert "Note: this answer is not complete" in text
    else:
        assert (text == "") is (reason == "content_filter")


def test_citations_are_annotations_that_lead_to_the_documents(scripted_app, openai_client, client_of):
    with ScriptedServer(RULES) as server, running(scripted_app(server)) as url:
        create = openai_client(url).chat.completions.create
        message = create(model="preflight", messages=[user(QUESTION)]).choices[0].message
        *_, last = create(model="preflight", messages=[user(QUESTION)], stream=True)
        (cited,) = message.annotations
        opened = client_of(url).get(cited.url_citation.url)
    held = cited.url_citation
    assert (cited.type, message.content[held.start_index : held.end_index]) == ("url_citation", "[1]")
    assert held.title == message.preflight["citations"][0]["title"]
    assert opened.text == "Basalt is a rock that is hard."
    assert last.choices[0].delta.annotations[0]["url_citation"]["title"] == held.title


def test_a_failing_model_is_an_error_of_openai(scripted_app, openai_client):
    with ScriptedServer(default=Reply("no such option", status=400)) as server, running(scripted_app(server)) as url:
        create = openai_client(url).chat.completions.create
        with pytest.raises(openai.InternalServerError):
            create(model="preflight", messages=[user(QUESTION)])
        with pytest.raises(openai.APIError):
            list(create(model="preflight", messages=[user(QUESTION)], stream=True))


@pytest.mark.parametrize("role", ["system", "developer"])
def test_system_messages_say_how_to_write_below_what_the_server_says(scripted_app, openai_client, role):
    rules = [("Which rock is hard?", "Basalt is hard [1].")]
    with ScriptedServer(rules) as server:
        with running(scripted_app(server, rewrite="off", instructions="Be polite.")) as url:
            messages = [{"role": role, "content": "Answer in French."}, user(QUESTION)]
            openai_client(url).chat.completions.create(model="preflight", messages=messages)
        (request,) = server.requests
    assert "<instructions>\nBe polite.\nAnswer in French.\n</instructions>" in request.body["messages"][0]["content"]


def test_a_server_without_a_model_says_that_it_ignores_system_messages(offline_app, openai_client):
    with running(offline_app) as url:
        messages = [{"role": "system", "content": "Answer in French."}, user(QUESTION)]
        found = openai_client(url).chat.completions.create(model="preflight", messages=messages)
    message = found.choices[0].message
    assert [gap["item"] for gap in message.preflight["gaps"]] == ["instructions"]
    assert "ignored" not in message.content


def test_embedding_ends_when_the_client_has_left(offline_app, client_of, monkeypatch):
    embedded, encode = [], offline_app.library.embedder.encode_passages
    monkeypatch.setattr(
        offline_app.library.embedder,
        "encode_passages",
        lambda texts: (embedded.append(len(texts)), time.sleep(0.2), encode(texts))[-1],
    )
    with running(offline_app) as url:
        client = client_of(url)
        with pytest.raises(httpx.ReadTimeout):
            client.post("/v1/embeddings", json={"model": "preflight", "input": ["Venus is hot."] * 800}, timeout=0.5)
        client_of(url).get("/health").raise_for_status()
        time.sleep(1)
        begun = len(embedded)
        time.sleep(1)
        assert len(embedded) == begun < 800 // EMBEDDED_AT_ONCE
