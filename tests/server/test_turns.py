"""Turns over HTTP: events in order, stopped by a call and by going away, one answer for each asker."""

import http.client
import json
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

import pytest
from serving import events, running

from preflight_rag.server import ServerOptions
from preflight_rag.testing.scripted_replies import Reply, prompt_of
from preflight_rag.testing.scripted_server import ScriptedServer

SLOW = Reply("Basalt is hard [1]. " + "".join(f"It really is so, says note {n}. " for n in range(40)), chunk_delay=0.05)
LOCKING = """
import asyncio, sys
from preflight_rag.threads.locks import thread_lock

async def lock():
    async with thread_lock(sys.argv[1], sys.argv[2], wait=0):
        print("locked", flush=True)
        await asyncio.sleep(600)

asyncio.run(lock())
"""


def test_a_turn_tells_its_stages_tokens_and_answer(scripted_app, client_of):
    with ScriptedServer(default="Basalt is **hard** [1].") as server, running(scripted_app(server)) as url:
        received = client_of(url).events("/api/ask", question="How is basalt?", html=True)
    names = [name for name, _ in received]
    assert names[0] == "start"
    assert names[-1] == "answer"
    assert {"progress", "stage", "token", "html"} <= set(names)
    assert names.index("token") < names.index("html")
    last = received[-1][1]
    assert "".join(data["text"] for name, data in received if name == "token") == last["answer"]["answer"]
    assert last["answer"]["thread_id"] == received[0][1]["thread_id"]
    assert '<strong>hard</strong> <button class="cite" type="button" data-n="1"' in last["html"]
    assert last["answer"]["citations"][0]["verified"]


def test_without_a_stream_the_answer_is_one_value(scripted_app, client_of):
    with ScriptedServer(default="Hard [1].") as server, running(scripted_app(server)) as url:
        client = client_of(url)
        first = client.ask("How is basalt?", thread_id="t1").json()
        both = client.ask("How is pumice?", thread_id="t1", html=True).json()
    assert (first["answer"], first["turn"], first["schema"]) == ("Hard [1].", 1, 1)
    assert both["answer"]["turn"] == 2
    assert both["html"].startswith("<p>Hard")


def test_the_first_token_leaves_at_once(scripted_app, client_of):
    with ScriptedServer(default=SLOW) as server, running(scripted_app(server)) as url:
        client = client_of(url)
        with client.stream("POST", "/api/ask", json={"question": "How is basalt?"}) as response:
            for name, _data in events(response.iter_lines()):
                if name == "token":
                    first = time.time()
                    break
        begun = server.requests[-1].arrived
    assert first - begun < 0.05 + 1.0


def test_a_call_stops_a_turn_and_the_thread_goes_on(scripted_app, client_of):
    with ScriptedServer([("Basalt", SLOW)], default="Light [1].") as server, running(scripted_app(server)) as url:
        client = client_of(url)
        assert client.post("/api/threads/t1/stop", json={}).json() == {"stopped": False}
        names = []
        with client.stream("POST", "/api/ask", json={"question": "Is Basalt hard?", "thread_id": "t1"}) as response:
            for name, _ in events(response.iter_lines()):
                names.append(name)
                if name == "token" and names.count("token") == 2:
                    asked = time.time()
                    assert client_of(url).post("/api/threads/t1/stop").json() == {"stopped": True}
                    stopped = time.time()
        server.wait_idle()
        first = client.get("/api/threads/t1").json()["turns"][0]
        after = client.ask("Which rock is light?", thread_id="t1")
    assert names[-1] == "stopped"
    assert stopped - asked < 1.5
    assert first["status"] == "interrupted"
    assert first["answer"] is None
    assert server.requests[0].delivered is False
    assert after.json()["turn"] == 2


def test_going_away_stops_a_turn(scripted_app, client_of):
    with ScriptedServer([("Basalt", SLOW)], default="ok") as server, running(scripted_app(server)) as url:
        client = client_of(url)
        with client.stream("POST", "/api/ask", json={"question": "Is Basalt hard?", "thread_id": "t1"}) as response:
            for name, _ in events(response.iter_lines()):
                if name == "token":
                    left = time.time()
                    break
        server.wait_idle()
        gone = time.time()
        for _ in range(100):
            status = client.get("/api/threads/t1").json()["turns"][0]["status"]
            if status != "running":
                break
            time.sleep(0.02)
    assert gone - left < 1.5
    assert status == "interrupted"


def test_a_client_that_does_not_stream_may_go_away_too(scripted_app, client_of):
    with ScriptedServer(default=Reply("ok", delay=20)) as server, running(scripted_app(server)) as url:
        client = client_of(url)
        leaving = http.client.HTTPConnection(url.removeprefix("http://"))
        question = json.dumps({"question": "Is Basalt hard?", "stream": False})
        leaving.request("POST", "/api/ask", question, {"Content-Type": "application/json"})
        server.wait_for(1)
        leaving.close()
        started = time.time()
        for _ in range(200):
            if (row := client.get("/api/threads").json()["threads"][0])["status"] != "running":
                break
            time.sleep(0.02)
        server.closing.set()
    assert row["status"] == "interrupted"
    assert time.time() - started < 5


def test_a_stopped_turn_can_be_resumed(scripted_app, client_of):
    rules = [("Basalt", SLOW, 1), ("Basalt", "Hard [1].")]
    with ScriptedServer(rules) as server, running(scripted_app(server)) as url:
        client = client_of(url)
        with client.stream("POST", "/api/ask", json={"question": "Is Basalt hard?", "thread_id": "t1"}) as response:
            for name, _ in events(response.iter_lines()):
                if name == "token":
                    client_of(url).post("/api/threads/t1/stop")
        received = client.events("/api/threads/t1/resume", html=True)
        again = client.post("/api/threads/t1/resume", json={})
    assert received[-1][0] == "answer"
    assert received[-1][1]["answer"]["answer"] == "Hard [1]."
    assert again.status_code == 409


def test_a_failing_model_is_told_in_the_stream(scripted_app, client_of):
    with ScriptedServer(default=Reply("no", status=422)) as server, running(scripted_app(server)) as url:
        client = client_of(url)
        received = client.events("/api/ask", question="How is basalt?")
        whole = client.ask("How is basalt?")
    assert received[-1][0] == "error"
    assert received[-1][1]["code"] == "model"
    assert whole.status_code == 502
    assert whole.json()["error"]["code"] == "model"


def test_a_model_that_refuses_the_key_leaves_the_evidence(scripted_app, client_of):
    with ScriptedServer(default=Reply("no", status=401)) as server, running(scripted_app(server)) as url:
        received = client_of(url).events("/api/ask", question="How is basalt?")
    assert received[-1][0] == "answer"
    assert "refused the key" in received[-1][1]["answer"]["gaps"][0]["error"]


def test_turns_beyond_the_limit_wait_and_then_are_refused(scripted_app, client_of):
    def ask(number):
        return client_of(url).ask("How is basalt?", thread_id=f"t{number}")

    with ScriptedServer([("basalt", Reply("Hard [1].", delay=1.0))], default="ok") as server:
        with running(scripted_app(server, rewrite="off"), ServerOptions(turns=1)) as url:
            with ThreadPoolExecutor(6) as pool:
                found = [each.result() for each in as_completed([pool.submit(ask, number) for number in range(6)])]
    assert [each.status_code for each in found] == [503, 200, 200, 200, 200, 200]
    assert found[0].headers["retry-after"]
    assert found[0].json()["error"]["code"] == "busy"
    assert server.peak == 1


def test_a_turn_that_takes_too_long_is_ended(scripted_app, client_of):
    with ScriptedServer(default=Reply("ok", delay=30)) as server:
        with running(scripted_app(server), ServerOptions(turn_seconds=1.0)) as url:
            answer = client_of(url).ask("How is basalt?")
        server.closing.set()
    assert answer.status_code == 504
    assert answer.json()["error"]["code"] == "turn_timeout"


@pytest.mark.slow
def test_fifty_conversations_at_once_keep_apart(scripted_app, client_of):
    def script(body):
        return f"This answers {re.findall(r'code [0-9]+ of [0-9]+', prompt_of(body))[-1]}."

    def converse(number):
        client = client_of(url)
        said = [client.ask(f"Is basalt code {number} of {turn}?", thread_id=f"t{number}").json() for turn in (1, 2)]
        return [(each["thread_id"], each["turn"], each["answer"]) for each in said]

    with ScriptedServer(script) as server, running(scripted_app(server, rewrite="off")) as url:
        with ThreadPoolExecutor(50) as pool:
            found = list(pool.map(converse, range(50)))
        listed = client_of(url).get("/api/threads").json()["threads"]
    for number, turns in enumerate(found):
        for turn, (thread_id, counted, answer) in enumerate(turns, 1):
            assert (thread_id, counted) == (f"t{number}", turn)
            assert f"code {number} of {turn}" in answer
    assert sorted(row["thread_id"] for row in listed) == sorted(f"t{n}" for n in range(50))
    assert {row["turns"] for row in listed} == {2}


def test_a_callers_instructions_stand_below_the_servers(scripted_app, client_of):
    with ScriptedServer(default="Basalt [1].") as server:
        with running(scripted_app(server, rewrite="off", instructions="Be polite.")) as url:
            client = client_of(url)
            assert client.get("/api/info").json()["settings"]["instructions"] == "Be polite."
            for given in ({"instructions": "Be brief."}, {"instructions": "Be polite."}, {}):
                client.post("/api/ask", json={"question": "How is basalt?", "stream": False, **given})
        told = [str(request.body["messages"][0]["content"]) for request in server.requests]
    assert "<instructions>\nBe polite.\nBe brief.\n</instructions>" in told[0]
    assert all("<instructions>\nBe polite.\n</instructions>" in each for each in told[1:])


def test_a_turn_that_another_process_works_on_is_listed_as_running(scripted_app, client_of):
    with ScriptedServer() as server:
        app = scripted_app(server)
        app.ledger.begin("elsewhere", "Is pumice light?", settings={}, model="offline")
        folder = str(Path(app.ledger.database.name).parent)
        command = [sys.executable, "-c", LOCKING, folder, "elsewhere"]
        with running(app) as url, subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as other:
            assert other.stdout.readline() == "locked\n"
            (during,) = client_of(url).get("/api/threads").json()["threads"]
            other.kill()
            other.wait()
            (after,) = client_of(url).get("/api/threads").json()["threads"]
    assert (during["status"], after["status"]) == ("running", "interrupted")


def test_a_turn_of_a_killed_process_is_listed_as_cut_off_and_one_that_runs_as_running(scripted_app, client_of):
    with ScriptedServer([("basalt", SLOW)], default="Light [1].") as server:
        app = scripted_app(server)
        app.ledger.begin("killed", "Is pumice light?", settings={}, model="offline")  # as a killed process leaves it
        with running(app) as url:
            client = client_of(url)
            with client.stream("POST", "/api/ask", json={"question": "How is basalt?", "thread_id": "t1"}) as response:
                received = events(response.iter_lines())
                while next(received)[0] != "token":
                    pass
                listed = {each["thread_id"]: each["status"] for each in client.get("/api/threads").json()["threads"]}
    assert listed == {"killed": "interrupted", "t1": "running"}
