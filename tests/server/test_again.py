"""What the page needs besides answers: turns that are listened to again, questions that are changed, and thumbs."""

import json

import pytest
from serving import events, running
from typer.testing import CliRunner

from evaluation.datasets.own import own_folder
from preflight_rag.cli import app as command
from preflight_rag.testing.scripted_replies import Reply
from preflight_rag.testing.scripted_server import ScriptedServer

pytestmark = pytest.mark.slow

SLOW = Reply("Basalt is hard [1]. " + "".join(f"It really is so, says note {n}. " for n in range(20)), chunk_delay=0.05)


def listened(client, thread_id):
    with client.stream("GET", f"/api/threads/{thread_id}/events", params={"html": True}) as response:
        assert response.status_code == 200
        return list(events(response.iter_lines()))


def test_a_kept_turn_goes_on_and_is_heard_from_its_beginning(scripted_app, client_of):
    with ScriptedServer([("Basalt", SLOW)], default="ok") as server, running(scripted_app(server)) as url:
        client, body = client_of(url), {"question": "Is Basalt hard?", "thread_id": "t1", "keep": True}
        with client.stream("POST", "/api/ask", json=body) as response:
            for name, _ in events(response.iter_lines()):
                if name == "token":
                    break
        assert client.get("/api/threads/t1").json()["running"]
        received = listened(client, "t1")
        shown = client.get("/api/threads/t1").json()
        gone = client.get("/api/threads/t1/events")
    assert received[0] == ("start", {"thread_id": "t1"})
    assert "".join(data["text"] for name, data in received if name == "token") == received[-1][1]["answer"]["answer"]
    seconds = [data["seconds"] for name, data in received if name in ("progress", "stage")]
    assert seconds == sorted(seconds)
    assert (shown["running"], [turn["status"] for turn in shown["turns"]]) == (False, ["answered"])
    assert gone.status_code == 404
    assert server.count("Is Basalt hard") == 1


def test_nobody_listens_to_another_users_turn(scripted_app, client_of, small_folder):
    with ScriptedServer(default=SLOW) as server:
        app = scripted_app(server)
        from preflight_rag.server.access import KeyRing

        ring = KeyRing(small_folder)
        anna, bob = ring.add("anna"), ring.add("bob")
        with (
            running(app) as url,
            client_of(url, anna).stream(
                "POST", "/api/ask", json={"question": "Is basalt hard?", "thread_id": "t1"}
            ) as response,
        ):
            assert next(events(response.iter_lines()))[0] == "start"
            assert client_of(url, bob).get("/api/threads/t1/events").status_code == 404
        ring.close()


def test_a_changed_question_goes_on_in_a_thread_of_its_own(scripted_app, client_of):
    rules = [("How is Slate", "Slate is flat [1]."), ("How is Basalt", "Basalt is hard [1].")]
    with ScriptedServer(rules, default="Light [1].") as server, running(scripted_app(server, rewrite="off")) as url:
        client = client_of(url)
        for question in ("How is pumice?", "How is Basalt?", "How is marble?"):
            client.ask(question, thread_id="t1")
        changed = client.ask("How is Slate?", thread_id="t1", turn=2).json()
        new = client.get(f"/api/threads/{changed['thread_id']}").json()
        old = client.get("/api/threads/t1").json()
        second = client.ask("show me the first source", thread_id=changed["thread_id"]).json()
        unknown = client.ask("How is Slate?", thread_id="t1", turn=7)
        unnamed = client.ask("How is Slate?", turn=1)
    assert changed["answer"] == "Slate is flat [1]."
    assert [turn["question"] for turn in new["turns"]] == ["How is pumice?", "How is Slate?"]
    assert new["forked_from"] == {"thread_id": "t1", "turn": 2}
    assert len(old["turns"]) == 3
    assert old["forked_from"] is None
    assert second["turn"] == 3
    assert (unknown.status_code, unnamed.status_code) == (404, 400)


def test_a_follow_up_knows_what_was_cited_before_the_change(scripted_app, client_of):
    with ScriptedServer(default='Light [1].\n\nQUOTES\n[1] "Pumice is a rock that is light."') as server:
        with running(scripted_app(server, route="auto")) as url:
            client = client_of(url)
            client.ask("How is pumice?", thread_id="t1")
            client.ask("How is marble?", thread_id="t1")
            shown = client.ask("show me the first source", thread_id="t1", turn=2).json()
    assert shown["route"]["name"] == "conversation"
    assert "Pumice is a rock that is light." in shown["answer"]


@pytest.fixture
def judged_folder(scripted_app, client_of, small_folder):
    """A library in which two answers were judged."""
    rules = [("How is slate", "Slate is round [1].")]
    with ScriptedServer(rules, default='Hard [1].\n\nQUOTES\n[1] "Basalt is a rock that is hard."') as server:
        app = scripted_app(server, rewrite="off")
        with running(app) as url:
            client = client_of(url)
            for question in ("How is basalt?", "How is slate?"):
                client.ask(question, thread_id="t1")
            good = client.put("/api/threads/t1/turns/1/feedback", json={"good": True, "reason": "Right"})
            wrong = {"good": False, "reason": "Wrong", "expected": "flat"}
            bad = client.put("/api/threads/t1/turns/2/feedback", json=wrong)
            missing = client.put("/api/threads/t1/turns/9/feedback", json=wrong)
            shown = client.get("/api/threads/t1").json()["turns"]
        app.close()
    assert (good.status_code, bad.status_code, missing.status_code) == (204, 204, 404)
    assert shown[1]["feedback"] == wrong
    return small_folder


def test_judged_answers_become_questions_of_ones_own(judged_folder, tmp_path):
    out = tmp_path / "mine"
    done = CliRunner().invoke(command, ["threads", "feedback", "--library", str(judged_folder), "--out", str(out)])
    assert done.exit_code == 0, done.output
    assert "2 questions" in done.output
    first, second = map(json.loads, (out / "questions.jsonl").read_text(encoding="utf-8").splitlines())
    assert (first["answers"], first["answerable"], first["label"]) == (["Hard."], True, "Right")
    assert (second["answers"], second["label"]) == (["flat"], "Wrong")
    assert [context["text"] for context in first["contexts"]] == ["Basalt is a rock that is hard."]
    read = own_folder(out, "mine")
    assert [sample.question for sample in read.samples] == ["How is basalt?", "How is slate?"]


@pytest.mark.slow
def test_an_experiment_runs_on_judged_answers(judged_folder, tmp_path):
    pytest.importorskip("statsmodels", reason="experiments need the extra eval")
    out = tmp_path / "mine"
    runner = CliRunner()
    runner.invoke(command, ["threads", "feedback", "--library", str(judged_folder), "--out", str(out)])
    arguments = ["eval", "routes", "--dataset", str(out), "--model", "offline", "--out", str(tmp_path / "run")]
    done = runner.invoke(command, arguments)
    assert done.exit_code == 0, done.output
