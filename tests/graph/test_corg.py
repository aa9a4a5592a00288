"""The COrg route through the whole graph: relations, groups in parallel, readers that reply nonsense."""

from itertools import combinations

import pytest
from broken_bow import QUESTION, STATES, relation_calls, script
from paper_table import relation
from plain_turn import STAGES

from preflight_rag import Answer, StageEvent
from preflight_rag.state.errors import AllPartitionsFailed
from preflight_rag.state.reading import ContextNote
from preflight_rag.testing.scripted_server import Reply, ScriptedServer, prompt_of

EIGHT = ["A1", "A1", "A2", "B3", "B4", "B4", "C5", "C6"]


@pytest.mark.parametrize("notes", [False, True])
def test_eight_contexts_of_three_classes(opened, notes):
    with ScriptedServer(script(EIGHT, notes=notes), delay=0.3) as server, opened(server, EIGHT) as app:
        answer = app.ask(QUESTION)
        ids = {p.document_id: p.id for p in app.library.passages([x for r in answer.relations for x in (r.a, r.b)])}
    assert relation_calls(server) == answer.receipt.by_stage["relate_contexts"].calls <= 4
    known = {ids[f"d{n}"]: ContextNote(n, "", STATES[f[0]], f[1:]) for n, f in enumerate(EIGHT, 1)}
    assert {frozenset((r.a, r.b)): r.kind for r in answer.relations} == {
        frozenset((a, b)): relation(known[a], known[b]) for a, b in combinations(known, 2)
    }
    assert server.peak == answer.receipt.by_stage["answer_group"].calls == 2
    assert {(g.descriptor, g.answer) for g in answer.groups} == {
        (STATES[f[0]], f"{int(f[1:]) + 1000:,}") for f in EIGHT
    }
    assert all(c.verified for c in answer.citations)
    assert answer.receipt.saved.calls == 28 - relation_calls(server)


def test_contradictions_stand_side_by_side_newest_first_with_their_agreement(opened):
    facts = ["A1", "A2", "A2"]
    with ScriptedServer(script(facts, notes=True)) as server, opened(server, facts) as app:
        answer = app.ask(QUESTION)
    lines = answer.answer.splitlines()
    assert "your documents give different answers (newest first)" in lines[0]
    # Documents of one title and different years are versions of one: they differ, and no contradiction is announced.
    assert sorted((r.kind, r.announced, *sorted(r.documents)) for r in answer.relations) == [
        ("counterfactual", False, "d1", "d2"),
        ("counterfactual", False, "d1", "d3"),
        ("duplicated", False, "d2", "d3"),
    ]
    assert lines[1].startswith("- 1,002")
    assert "2 sources" in lines[1]
    assert '"1,001 people live in Broken Bow' in lines[2]
    assert "2001-01-01" in lines[2]


def test_a_contradiction_that_no_note_confirms_is_not_announced(opened):
    facts = ["A1", "A2"]
    with ScriptedServer(script(facts)) as server, opened(server, facts) as app:
        answer = app.ask(QUESTION)
    assert [relation.kind for relation in answer.relations] == ["counterfactual"]
    assert {group.answer for group in answer.groups} == {"1,001", "1,002"}
    assert "contradict" not in answer.answer


def test_several_entities_of_a_name_in_one_group_are_answered_directly(opened):
    facts = ["A1", "B2", "C3", "A1"]
    with ScriptedServer(script(facts)) as server, opened(server, facts) as app:
        answer = app.ask(QUESTION)
    assert answer.receipt.by_stage["answer_plain"].calls == 1
    assert "answer_group" not in answer.receipt.by_stage
    assert {(g.entity, g.descriptor, g.answer) for g in answer.groups} == {
        ("Broken Bow", "Nebraska", "1,001"),
        ("Broken Bow", "Oklahoma", "1,002"),
        ("Broken Bow", "Texas", "1,003"),
    }
    assert "2 sources agree" in answer.answer


@pytest.mark.parametrize("facts", [["A1"], ["A1", "A1", "A1"]])
def test_one_context_is_never_asked_in_the_plural(opened, facts):
    with ScriptedServer(script(facts)) as server, opened(server, facts) as app:
        answer = app.ask(QUESTION)
    assert server.count("several that go by one name") == 0
    assert len(answer.groups) == 1
    assert relation_calls(server) == (len(facts) > 1)


def test_contexts_without_an_answer_end_in_an_abstention(opened):
    facts = ["A", "B", "-", "C"]
    with ScriptedServer(script(facts, notes=True)) as server, opened(server, facts) as app:
        answer = app.ask(QUESTION)
    assert answer.abstained
    assert (answer.groups, answer.relations) == ((), ())
    assert server.count() == 1


@pytest.mark.parametrize(
    ("settings", "stage", "groups"),
    [
        ({"no_grouping": True}, "answer_plain", 4),
        ({"keep_duplicates": True}, "answer_group", 4),
        ({"no_reformulation": True}, "answer_group", 4),
        ({"corg_mode": "faithful"}, "answer_group", 4),
        ({"relation_prompt_tokens": 256}, "answer_group", 4),
    ],
)
def test_settings_and_ablations_lose_no_answer(opened, settings, stage, groups):
    facts = ["A1", "A2", "B3", "B3", "C4"]
    with ScriptedServer(script(facts)) as server, opened(server, facts, **settings) as app:
        answer = app.ask(QUESTION)
    assert stage in answer.receipt.by_stage
    assert len({group.answer for group in answer.groups}) == groups
    if "no_reformulation" in settings:
        assert server.count("several that go by one name") == 0


@pytest.mark.parametrize(
    "nonsense",
    [
        "I think that these towns are rather alike, all in all.",
        "Die beiden Orte haben verschiedene Einwohnerzahlen.",
        '{"answer": "1,001"}',
        "Context77 - Duplicated\nContext99 - Counterfactual",
        Reply(content_null=True),
        Reply("boom", status=500),
        Reply("Context2 - Counter", finish_reason="length"),
    ],
)
def test_a_reader_that_relates_nonsense_still_answers_with_gaps(opened, nonsense):
    facts = ["A1", "B2", "A3"]
    with (
        ScriptedServer([("Context2\n", nonsense)], default="1,001 people [1].") as server,
        opened(server, facts) as app,
    ):
        answer = app.ask(QUESTION)
    assert "1,001" in answer.answer
    assert {gap.stage for gap in answer.gaps} >= {"relate_contexts"}
    assert {r.kind for r in answer.relations} == {"none"}
    assert relation_calls(server) <= 2


@pytest.mark.parametrize("nonsense", ["", "?", "ok", '{"x": 1}', "Keine Ahnung."])
def test_a_reader_that_only_ever_says_nonsense_still_ends_the_turn(opened, nonsense):
    reply = Reply(nonsense) if nonsense else Reply(content_null=True)
    with ScriptedServer(default=reply) as server, opened(server, ["A1", "B2", "A3"]) as app:
        answer = app.ask(QUESTION)
    assert answer.answer
    assert answer.gaps


def test_an_answer_that_a_group_leaves_out_stands_as_it_was_noted(opened):
    facts = ["A1", "A2", "B3"]
    with (
        ScriptedServer(script(facts, notes=True, answer="NOTHING TO SAY [77]")) as server,
        opened(server, facts) as app,
    ):
        answer = app.ask(QUESTION)
    assert all(number in answer.answer for number in ("1,001", "1,002", "1,003"))
    assert sum("is missing" in gap.error for gap in answer.gaps) == 3


def test_a_group_that_fails_is_a_gap_and_the_answer_says_so(opened):
    facts = ["A1", "A2"]
    ok = script(facts, notes=True)

    def reply(body):
        failing = "<passage" in prompt_of(body) and "1,002" in prompt_of(body)
        return Reply("boom", status=500) if failing else ok(body)

    with ScriptedServer(reply) as server, opened(server, facts) as app:
        answer = app.ask(QUESTION)
    assert "1 of 2 groups" in answer.answer
    assert "1,002" in answer.answer
    assert [gap.item for gap in answer.gaps if gap.stage == "answer_group"]


def test_all_groups_failed(opened):
    facts = ["A1", "A2"]
    relating = script(facts)

    def reply(body):
        return Reply("boom", status=500) if "<passage" in prompt_of(body) else relating(body)

    with ScriptedServer(reply) as server, opened(server, facts) as app:
        with pytest.raises(AllPartitionsFailed, match="none of the 2 groups"):
            app.ask(QUESTION)


def test_each_group_of_a_question_with_options_chooses_and_the_choice_with_most_contexts_counts(opened):
    """Two groups, since A1 and A2 contradict each other: one of two contexts, one of a single one."""
    facts = ["A1", "A2", "B3"]
    with ScriptedServer(script(facts, answer="It is [1].\nCHOICE: B")) as server, opened(server, facts) as app:
        answer = app.ask(QUESTION, options=["many", "few"])
        asked = [request.prompt for request in server.requests if "<options>" in request.prompt]
    assert answer.choice == "few"
    assert len(asked) == answer.receipt.by_stage["answer_group"].calls == 2
    assert sum(prompt.count("<passage n=") for prompt in asked) == 3


async def test_the_stages_of_a_turn_are_events(opened):
    with ScriptedServer(script(EIGHT)) as server, opened(server, EIGHT) as app:
        events = [event async for event in app.astream(QUESTION)]
    stages = [event.stage for event in events if isinstance(event, StageEvent)]
    assert stages[2:5] == ["preflight", "relate_contexts", "organize_contexts"]
    assert stages[5:] == ["answer_group", "answer_group", "aggregate_groups", "cite"]
    assert isinstance(events[-1], Answer)


def test_the_next_turn_of_a_thread_keeps_nothing_of_the_graph(opened):
    with ScriptedServer(script(EIGHT)) as server, opened(server, EIGHT) as app:
        assert app.ask(QUESTION, thread_id="t").groups
        answer = app.ask(QUESTION, thread_id="t", route="plain")
    assert (answer.groups, answer.relations) == ((), ())
    assert set(answer.receipt.by_stage) == set(STAGES)
