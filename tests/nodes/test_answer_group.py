"""The node `answer_group`."""

import pytest
from langgraph.runtime import Runtime

from preflight_rag.nodes.answer_group import answer_group
from preflight_rag.state.context import Context, Settings
from preflight_rag.testing.scripted_server import Reply, ScriptedServer

PLURAL = "How many people live in the Broken Bows?"


@pytest.fixture
def answered(library, chat_reader, retrieved):
    async def make(server, ranks, **settings):
        state = await retrieved("How many people live in Broken Bow?", k=8)
        refs = [ref for ref in state["passage_refs"] if ref["rank"] in ranks]
        view = {"standalone_question": state["standalone_question"], "group": 2, "passage_refs": refs}
        return await answer_group(view, Runtime(context=Context(chat_reader(server), library, Settings(**settings))))

    return make


async def test_a_groups_lines_and_quotes_are_kept_with_their_ranks(answered):
    reply = 'Answer:\n- Broken Bow (Nebraska): 3,559 [1]\n* Broken Bow (Oklahoma): 4,120 [2]\nQUOTES\n[1] "3,559"'
    with ScriptedServer(default=reply) as server:
        update = await answered(server, [1, 2])
    assert update["group_drafts"] == [
        {
            "group": 2,
            "ranks": [1, 2],
            "text": "Broken Bow (Nebraska): 3,559 [1]\nBroken Bow (Oklahoma): 4,120 [2]",
            "quotes": [(1, "3,559")],
            "status": "answered",
        }
    ]


@pytest.mark.parametrize(
    ("ranks", "settings", "plural"), [([1, 2], {}, 1), ([1], {}, 0), ([1, 2], {"no_reformulation": True}, 0)]
)
async def test_the_question_is_put_in_the_plural_for_several_contexts_only(answered, ranks, settings, plural):
    with ScriptedServer(default="3,559 [1]") as server:
        await answered(server, ranks, **settings)
    assert server.count(PLURAL) == plural
    assert server.count() == 1


async def test_the_plural_is_another_question_in_the_same_prompt(answered):
    """COrg, section 4 and footnote 3: the question is reformulated; nothing else of what is asked changes."""
    prompts = []
    for settings in ({}, {"no_reformulation": True}):
        with ScriptedServer(default="3,559 [1]") as server:
            await answered(server, [1, 2], **settings)
        prompts.append(server.requests[0].prompt)
    assert prompts[0].replace("in the Broken Bows?", "in Broken Bow?") == prompts[1] != prompts[0]


@pytest.mark.parametrize(
    ("reply", "status", "gaps"),
    [
        ("NOT IN THE PASSAGES", "nothing", 0),
        (Reply(content_null=True), "unreadable", 1),
        (Reply("half", finish_reason="length"), "unreadable", 1),
        (Reply("boom", status=500), "failed", 1),
    ],
)
async def test_a_group_without_an_answer_says_why(answered, reply, status, gaps):
    with ScriptedServer(default=reply) as server:
        update = await answered(server, [1, 2])
    assert (update["group_drafts"][0]["status"], len(update["gaps"])) == (status, gaps)
    assert update["spent"][0]["calls"] == 1
