"""Tasks of chat clients are answered in one model call, or by rule, and never from the documents.

The prompts are written in the shape of the clients' own: Open WebUI's of 0.6 to 0.12, LibreChat's, NextChat's,
Chatbox's, Cherry Studio's and Zed's.
"""

import json
import time

import pytest
from serving import running

from preflight_rag.server.client_tasks import by_rule, task_of
from preflight_rag.testing.scripted_replies import Reply
from preflight_rag.testing.scripted_server import ScriptedServer

HISTORY = """<chat_history>
USER: Which rock is hard enough for a kitchen floor at home?
ASSISTANT: Basalt is hard [1].

[1] basalt - basalt.txt: "Basalt is a rock that is hard."
</chat_history>"""


def task(directive, output):
    """A prompt as Open WebUI writes them."""
    guidelines = "### Guidelines:\n- Be brief."
    return f"### Task:\n{directive}\n\n{guidelines}\n\n### Output:\n{output}\n\n### Chat History:\n{HISTORY}"


TITLE = task("Write a short title that sums up the chat.", 'JSON format: { "title": "your title here" }')
TAGS = task("Give 1-3 broad tags for the themes of the chat.", 'JSON format: { "tags": ["tag1", "tag2"] }')
FOLLOW_UPS = task("Suggest questions that the user might ask next.", 'JSON format: { "follow_ups": ["Question 1?"] }')
QUERIES = task(
    "Find out whether search queries are needed.", 'Strictly in JSON:\n{\n  "queries": ["query1", "query2"]\n}'
)
IMAGE = task("Write a detailed prompt for an image.", 'Strictly in JSON:\n{\n    "prompt": "Your description."\n}')
COMPLETION = f"""### Task:
You complete texts. Go on with the text in `<text>`.
### **Output Rules**:
- JSON only: `{{ "text": "<your_completion>" }}`.
### Context:
{HISTORY}
<type>General</type>
<text>Which rock is</text>
#### Output:
"""
EMOJI = (
    "Your task is to reflect the speaker's likely facial expression through a fitting emoji. Use one.\n\n"
    "Message: ```Which rock is hard?```"
)
MERGE = (
    "You have been provided with a set of responses from various models to the latest user query: "
    '"Which rock is hard?"\n\nYour task is to make one of them.\n\n'
    'Responses from models: """Basalt is hard."""\n\n"""It is basalt."""'
)
TOOLS = 'Available Tools: []\n\nChoose the right ones; if none fits return:\n{\n  "tool_calls": []\n}'
LIBRECHAT = (
    "Provide a concise, 5-word-or-less title for the conversation, using title case conventions. Only return the title "
    "itself.\n\nConversation:\nUser: Which rock is hard?\nAI: Basalt is hard [1]."
)
NEXTCHAT = "Please generate a four to five word title summarizing our conversation without any lead-in or quotes."
CHATBOX = "Based on the chat history, give this conversation a name. Keep it short.\n\nuser: Which rock is hard?"
CHERRY = "Summarize the conversation into a title in English within 10 characters."
ZED = "Generate a concise 3-7 word title for this conversation, omitting punctuation."
STRUCTURED = "Analyze this conversation and provide:\n1. The detected language\n2. A concise title\n\nUser: Which rock?"


def messages(prompt, system=None):
    told = [{"role": "system", "content": system}] if system else []
    return [*told, {"role": "user", "content": prompt}]


def pairs(prompt, system=None):
    return [(each["role"], each["content"]) for each in messages(prompt, system)]


KINDS = [
    (TITLE, "title", '{"title": "Which rock is hard enough for…"}'),
    (TAGS, "tags", '{"tags": ["Kitchen floor", "Rock", "Hard"]}'),
    (FOLLOW_UPS, "follow_ups", '{"follow_ups": []}'),
    (QUERIES, "queries", '{"queries": ["Which rock is hard enough for a kitchen floor at home?"]}'),
    (IMAGE, "image_prompt", '{"prompt": "Which rock is hard enough for a kitchen floor at home?"}'),
    (COMPLETION, "completion", '{"text": ""}'),
    (EMOJI, "emoji", "💬"),
    (MERGE, "merge", "Basalt is hard.\n\nIt is basalt."),
    (LIBRECHAT, "title", "Which rock is hard"),
    (NEXTCHAT, "title", "Conversation"),
    (CHATBOX, "title", "Which rock is hard"),
    (CHERRY, "title", "Conversation"),
    (ZED, "title", "Conversation"),
    (STRUCTURED, "title", "Which rock"),
]


@pytest.mark.parametrize(("prompt", "kind", "ruled"), KINDS)
def test_a_task_is_known_by_its_shape_and_a_rule_can_do_it(prompt, kind, ruled):
    found = task_of(pairs(prompt))
    assert found.kind == kind
    if kind != "tags":
        assert by_rule(found) == ruled
    else:
        assert json.loads(by_rule(found))["tags"]


def test_a_task_is_known_by_its_clients_word_for_it_and_by_its_system_message():
    assert task_of(pairs("Anything."), {"task": "title_generation"}).kind == "title"
    assert task_of(pairs("Query: hi", TOOLS)).kind == "tools"
    assert by_rule(task_of(pairs("Query: hi", TOOLS))) == '{"tool_calls": []}'
    assert task_of(pairs("Which rock is hard?", "You are a title generator. You give only a title.")).kind == "title"


def test_a_title_of_a_conversation_that_is_sent_whole_is_its_first_question():
    spoken = [("user", "Which rock is light?"), ("assistant", "Pumice."), ("user", NEXTCHAT)]
    assert by_rule(task_of(spoken)) == "Which rock is light"


@pytest.mark.parametrize(
    "question",
    [
        "Which rock is hard?",
        "Generate a title for the trial of ketamine in depression.",
        "What is the title of the paper on basalt?",
        "Give me the title and year of each study about chat support for smokers.",
        "### Task:\nAnswer the user's query from the context.\n<context>Basalt is hard.</context>\nWhich rock is hard?",
        "Suggest 3 follow-up studies.",
        "Summarize the conversation between Bohr and Heisenberg.",
        "Write tags for the documents.",
        "",
    ],
)
def test_a_question_is_no_task(question):
    assert task_of(pairs(question, "Be kind. Chat titles are short.")) is None


@pytest.mark.parametrize(
    "piece",
    ["<chat_history>", "\n", " ", '"""', "```", "{ ", '{"', "user:", "user: x\n", "conversation:\n", "**", "give "],
)
@pytest.mark.parametrize("opening", ["", "### Task:\n<chat_history></chat_history>", "Give a title for this chat. "])
def test_no_message_takes_long(piece, opening):
    text = opening + piece * (500_000 // len(piece))
    started = time.perf_counter()
    found = task_of([("system", text), ("user", text)])
    if found is not None:
        by_rule(found)
    assert time.perf_counter() - started < 5


def test_each_takes_one_call_with_the_clients_own_words_and_leaves_no_conversation(
    scripted_app, openai_client, client_of
):
    said = '{"title": "Hard Rocks"}'
    with ScriptedServer(default=said) as server, running(scripted_app(server, rewrite="model")) as url:
        create = openai_client(url).chat.completions.create
        replies = [create(model="preflight", messages=messages(prompt), temperature=0.5) for prompt, _, _ in KINDS]
        chunks = list(create(model="preflight", messages=messages(TITLE), stream=True))
        threads = client_of(url).get("/api/threads").json()["threads"]
        prompts = [request.prompt for request in server.requests]
        heat = {request.body.get("temperature") for request in server.requests}
    assert len(prompts) == len(KINDS) + 1
    assert prompts[: len(KINDS)] == [prompt for prompt, _, _ in KINDS]
    assert heat == {0.5, None}
    assert threads == []
    assert {reply.choices[0].message.content for reply in replies} == {said}
    assert replies[0].choices[0].message.preflight["model_calls"] == 1
    assert sum(reply.usage.total_tokens for reply in replies) < 6000
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == said


def test_without_a_model_a_rule_answers_and_no_document_is_searched(offline_app, openai_client, client_of):
    with running(offline_app) as url:
        create = openai_client(url).chat.completions.create
        replies = {kind: create(model="preflight", messages=messages(prompt)) for prompt, kind, _ in KINDS[:8]}
        threads = client_of(url).get("/api/threads").json()["threads"]
    assert json.loads(replies["title"].choices[0].message.content)["title"]
    assert all(reply.choices[0].message.preflight["model_calls"] == 0 for reply in replies.values())
    assert threads == []


def test_a_model_that_is_away_or_cuts_off_is_no_failed_task(scripted_app, openai_client):
    rules = [("sums up", Reply("no", status=500)), ("broad tags", Reply('{"tags": [', finish_reason="length"))]
    with ScriptedServer(rules) as server, running(scripted_app(server)) as url:
        create = openai_client(url).chat.completions.create
        cut = create(model="preflight", messages=messages(TAGS)).choices[0]
        ruled = create(model="preflight", messages=messages(TITLE)).choices[0]
    assert (cut.finish_reason, cut.message.content) == ("length", '{"tags": [')
    assert json.loads(ruled.message.content)["title"].startswith("Which rock")
    assert "HTTP 500" in ruled.message.preflight["problem"]
