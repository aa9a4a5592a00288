"""The COrg route through the whole graph: relations, groups in parallel, escalation, readers that reply nonsense."""

import os
import re
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from itertools import combinations

import pytest
from scripted_server import Reply, ScriptedServer, prompt_of

from preflight_rag import Answer, Preflight, StageEvent, TokenEvent
from preflight_rag.library import Library
from preflight_rag.models.relations import related
from preflight_rag.state.errors import AllPartitionsFailed
from preflight_rag.state.reading import ContextNote
from preflight_rag.state.values import Document

QUESTION = "How many people live in Broken Bow?"
EIGHT = ["A1", "A1", "A2", "B3", "B4", "B4", "C5", "C6"]
STATES = {"A": "Nebraska", "B": "Oklahoma", "C": "Texas", "-": None}


def text_of(n, fact):
    """A passage that says a fact such as "A1": in state A live 1001 people."""
    state, people = STATES[fact[0]], f"{int(fact[1:]) + 1000:,}" if fact[1:] else None
    said = f"{people} people live in Broken Bow" if people else "Bows are broken by wet strings"
    return f"Broken Bow, {state}" if state else "Broken Bow", f"{said}. Survey number {n * 111} says so."


@pytest.fixture
def opened(tmp_path, embedder, chat_reader):
    """Opens a library whose documents say the given facts."""

    def make(server, facts, **settings):
        folder = tmp_path / "library"
        documents = [
            Document(id=f"d{n}", source=f"d{n}", title=title, text=text, date=f"{2000 + n}-01-01")
            for n, (title, text) in ((n, text_of(n, fact)) for n, fact in enumerate(facts, 1))
        ]
        with Library.open(folder, embedder=embedder, create=True) as library:
            library.add(documents)
        return Preflight.open(folder, chat_reader(server), **({"route": "corg"} | settings))

    return make


def fact_of(block, facts):
    number = int(re.search(r"Survey number (\d+)", block)[1]) // 111
    fact = facts[number - 1]
    return ContextNote(number, "Broken Bow", STATES[fact[0]], f"{int(fact[1:]) + 1000:,}" if fact[1:] else None)


def script(facts, *, notes=False, answer=None):
    """A reader that relates by the facts, and answers a group with one line for each of its passages."""

    def reply(body):
        prompt = prompt_of(body)
        blocks = re.findall(r"^Context(\d+)\n(.*?)(?=^Context\d+\n|\Z)", prompt, re.DOTALL | re.MULTILINE)
        if blocks:
            known = {int(n): fact_of(block, facts) for n, block in blocks}
            said = {
                n: related(known[1], note) if note.answer and known[1].answer else "None" for n, note in known.items()
            }
            lines = [f"Context{n} - {said[n].capitalize()}" for n in known if n > 1]
            if notes:
                lines += [
                    f"Context{n}: {x.entity} | {x.descriptor or 'none'} | {x.answer or 'none'}"
                    for n, x in known.items()
                ]
            return "\n".join(lines)
        if answer:
            return answer
        passages = re.findall(r'<passage n="(\d+)".*?>\n(.*?)\n</passage>', prompt, re.DOTALL)
        lines = [
            f"Broken Bow ({fact_of(text, facts).descriptor}): {fact_of(text, facts).answer} [{n}]"
            for n, text in passages
        ]
        return "\n".join([*lines, "QUOTES", *(f'[{n}] "{text.split(".")[0]}"' for n, text in passages)])

    return reply


def relation_calls(server):
    return server.count("Context2\n")


@pytest.mark.parametrize("notes", [False, True])
def test_eight_contexts_of_three_classes(opened, notes):
    with ScriptedServer(script(EIGHT, notes=notes), delay=0.05) as server, opened(server, EIGHT) as app:
        answer = app.ask(QUESTION)
        ids = {p.document_id: p.id for p in app.library.passages([x for r in answer.relations for x in (r.a, r.b)])}
    assert relation_calls(server) == answer.receipt.by_stage["relate_contexts"].calls <= 4
    known = {ids[f"d{n}"]: ContextNote(n, "", STATES[f[0]], f[1:]) for n, f in enumerate(EIGHT, 1)}
    assert {frozenset((r.a, r.b)): r.kind for r in answer.relations} == {
        frozenset((a, b)): related(known[a], known[b]) for a, b in combinations(known, 2)
    }
    assert server.peak == answer.receipt.by_stage["answer_group"].calls == 2
    assert {(g.descriptor, g.answer) for g in answer.groups} == {
        (STATES[f[0]], f"{int(f[1:]) + 1000:,}") for f in EIGHT
    }
    assert all(c.verified for c in answer.citations)
    assert answer.receipt.saved.calls == 28 - relation_calls(server)


def test_contradictions_stand_side_by_side_newest_first_with_their_agreement(opened):
    facts = ["A1", "A2", "A2"]
    with ScriptedServer(script(facts)) as server, opened(server, facts) as app:
        answer = app.ask(QUESTION)
    lines = answer.answer.splitlines()
    assert "contradict each other" in lines[0]
    assert lines[1].startswith("- 1,002")
    assert "2 sources" in lines[1]
    assert '"1,001 people live in Broken Bow' in lines[2]
    assert "2001-01-01" in lines[2]


def test_several_bearers_of_a_name_in_one_group_are_answered_directly(opened):
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


def test_a_question_with_options_gets_one_answer(opened):
    facts = ["A1", "A2", "B3"]
    with ScriptedServer(script(facts, answer="It is [1].\nCHOICE: B")) as server, opened(server, facts) as app:
        answer = app.ask(QUESTION, options=["many", "few"])
    assert answer.choice == "few"


async def test_the_stages_of_a_turn_are_told(opened):
    with ScriptedServer(script(EIGHT)) as server, opened(server, EIGHT) as app:
        events = [event async for event in app.astream(QUESTION)]
    stages = [event.stage for event in events if isinstance(event, StageEvent)]
    assert stages[2:5] == ["preflight", "relate_contexts", "organize_contexts"]
    assert stages[5:] == ["answer_group", "answer_group", "aggregate_groups", "cite"]
    assert isinstance(events[-1], Answer)


def plain_first(answer, **more):
    """A reader whose plain answer is the given one, and whose map/reduce finds something."""
    return [
        *[(key, reply) for key, reply in more.items()],
        ("<extracts>", "1,001 people live in Broken Bow [1]."),
        ("You read a few numbered passages", "1,001 people live in Broken Bow [1]."),
        ("You answer questions from numbered passages", answer),
    ]


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("NOT IN THE PASSAGES", "found nothing"),
        ("Seven million, as all agree [2].", "no citation of the plain answer could be verified"),
        ("Lots and lots.", "no citation of the plain answer could be verified"),
    ],
)
def test_a_plain_answer_without_ground_goes_on_to_map_reduce_once(opened, answer, reason):
    facts = ["A1"] * 6
    with ScriptedServer(plain_first(answer)) as server:
        with opened(server, facts, route="auto", corg_threshold=1) as app:
            found = app.ask(QUESTION)
    assert (found.route.name, reason in found.route.reason) == ("map_reduce", True)
    assert "they fit one map prompt" in found.route.reason
    assert {"answer_plain", "map_context", "reduce_context"} <= set(found.receipt.by_stage)
    assert found.receipt.model_calls == server.count() == 4
    assert not found.abstained


async def test_a_stream_tells_of_the_step_and_ends_with_the_second_answer(opened):
    with ScriptedServer(plain_first("Seven million, as all agree [2].")) as server:
        with opened(server, ["A1"] * 6, route="auto", corg_threshold=1) as app:
            events = [event async for event in app.astream(QUESTION)]
    text = "".join(event.text for event in events if isinstance(event, TokenEvent))
    assert text == "Seven million, as all agree [1].\n\n1,001 people live in Broken Bow [1]."
    assert events[-1].answer == "1,001 people live in Broken Bow [1]."


def test_the_next_turn_of_a_thread_keeps_nothing_of_the_graph(opened):
    with ScriptedServer(script(EIGHT)) as server, opened(server, EIGHT) as app:
        assert app.ask(QUESTION, thread_id="t").groups
        answer = app.ask(QUESTION, thread_id="t", route="plain")
    assert (answer.groups, answer.relations) == ((), ())
    assert set(answer.receipt.by_stage) == {"rewrite", "retrieve", "preflight", "answer_plain", "cite"}


def test_an_escalated_turn_that_finds_nothing_abstains_after_one_step(opened):
    script_ = [("You read a few numbered passages", "NO RELEVANT INFORMATION")]
    with ScriptedServer(script_, default="NOT IN THE PASSAGES") as server:
        with opened(server, ["A1"] * 6, route="auto", corg_threshold=1) as app:
            found = app.ask(QUESTION)
    assert found.abstained
    assert server.count() == 3


@pytest.mark.parametrize("route", ["plain", "map-reduce"])
def test_a_forced_route_stays(opened, route):
    with ScriptedServer(default="NOT IN THE PASSAGES") as server, opened(server, ["A1"] * 6, route=route) as app:
        found = app.ask(QUESTION)
    assert set(found.receipt.by_stage) & {"answer_plain", "map_context"} == {
        "answer_plain" if route == "plain" else "map_context"
    }


def test_extracts_that_contradict_each_other_go_on_to_corg_with_their_passages(opened):
    facts = ["A1", "A2", *["A"] * 6]
    relating = script(facts)

    def reply(body):
        prompt = prompt_of(body)
        if "You read a few numbered passages" not in prompt:
            return relating(body)
        said = re.findall(r'<passage n="(\d+)"[^>]*>\n(1,00\d people live in Broken Bow)', prompt)
        return "\n".join(f"{text} [{n}]." for n, text in said) or "NO RELEVANT INFORMATION"

    with ScriptedServer(reply) as server:
        settings = {
            "corg_threshold": 1,
            "map_prompt_tokens": 0,
            "preflight": "iou",
            "threshold": 1,
            "partition_size": 1,
        }
        with opened(server, facts, route="auto", **settings) as app:
            found = app.ask(QUESTION)
    assert found.route.name == "corg"
    assert "contradict each other" in found.route.reason
    assert "reduce_context" in found.receipt.by_stage
    assert relation_calls(server) == 1
    assert len(found.relations) == 1
    assert {group.answer for group in found.groups} == {"1,001", "1,002"}


def test_a_plain_answer_whose_quotes_contradict_each_other_goes_on_to_corg(opened):
    facts = ["A1", "A2", "A1"]
    relating = script(facts)
    asked = []

    def reply(body):
        prompt = prompt_of(body)
        if "Say what the passages say" in prompt and not asked:
            asked.append(1)
            said = re.findall(r'<passage n="(\d+)"[^>]*>\n(1,00\d people live in Broken Bow)', prompt)
            return "\n".join([*(f"{t} [{n}]." for n, t in said), "QUOTES", *(f'[{n}] "{t}"' for n, t in said)])
        return relating(body)

    with ScriptedServer(reply) as server, opened(server, facts, route="auto", corg_threshold=1) as app:
        found = app.ask(QUESTION)
    assert (found.route.name, len(found.groups)) == ("corg", 2)
    assert found.route.reason.count("then ") == 1


def finished_groups(database):
    with sqlite3.connect(f"file:{database}?mode=ro", uri=True) as connection:
        query = "select count(*) from writes where channel = 'branch:to:aggregate_groups'"
        return connection.execute(query).fetchone()[0]


def test_a_turn_killed_in_its_groups_is_resumed_without_asking_again(opened, tmp_path):
    facts = ["A1", "A2", "A3"]
    relating, late = script(facts), threading.Event()

    def reply(body):
        slow = "<passage" in prompt_of(body) and "1,003" in prompt_of(body) and not late.is_set()
        return Reply("late", delay=60) if slow else relating(body)

    with ScriptedServer(reply) as server:
        opened(server, facts).close()
        folder = tmp_path / "library"
        environ = os.environ | {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "k", "PREFLIGHT_MODEL": "openai:m"}
        run = [sys.executable, "-m", "preflight_rag"]
        ask = [*run, "ask", QUESTION, "--library", str(folder), "--thread", "t", "--route", "corg"]
        process = subprocess.Popen(ask, env=environ, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        server.wait_for(3, "<passages>")
        end = time.monotonic() + 60
        while finished_groups(folder / "threads.db") < 2:
            assert time.monotonic() < end, "waited in vain"
            time.sleep(0.05)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        late.set()
        related_before = relation_calls(server)
        resume = [*run, "threads", "resume", "t", "--library", str(folder)]
        done = subprocess.run(resume, env=environ, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert all(number in done.stdout for number in ("1,001", "1,002", "1,003"))
        assert relation_calls(server) == related_before
        assert server.count("<passages>") == 4
