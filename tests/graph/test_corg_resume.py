"""A turn on the COrg route that is killed while its groups are being answered."""

import os
import signal
import subprocess
import sys
import threading
import time

import pytest
from broken_bow import QUESTION, relation_calls, script

from preflight_rag.testing.scripted_server import Reply, ScriptedServer, prompt_of

pytestmark = pytest.mark.slow


def test_a_turn_killed_in_its_groups_is_resumed_without_asking_again(opened, tmp_path, kept):
    facts = ["A1", "A2", "A3"]
    relating, late = script(facts), threading.Event()

    def reply(body):
        slow = "<passage" in prompt_of(body) and "1,003" in prompt_of(body) and not late.is_set()
        return Reply("late", delay=60) if slow else relating(body)

    with ScriptedServer(reply) as server:
        opened(server, facts).close()
        folder = tmp_path / "library"
        environ = os.environ | kept.environment
        environ |= {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "k", "PREFLIGHT_MODEL": "openai:m"}
        run = [sys.executable, "-m", "preflight_rag"]
        ask = [*run, "ask", QUESTION, "--library", str(folder), "--thread", "t", "--route", "corg"]
        process = subprocess.Popen(ask, env=environ, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        server.wait_for(3, "<passages>", timeout=120)
        end = time.monotonic() + 60
        while kept.count("writes", "channel = 'branch:to:aggregate_groups'") < 2:
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
