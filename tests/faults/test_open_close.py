"""An application is opened, asked and closed again and again: what it took is given back each time."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from fault_counts import report, times

from preflight_rag.testing import Reply, ScriptedServer

pytestmark = pytest.mark.slow

OPENED = """
import json, os, sys, threading, time
from pathlib import Path
from preflight_rag import Preflight

folders, model, count, kept = sys.argv[1].split(","), sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
threads = sys.argv[5] or None

def taken():
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    # Those that read passages side by side are the process's, and begin with the first turn that finds any unread.
    own = [each for each in threading.enumerate() if not each.name.startswith("preflight-model")]
    return int(status["VmRSS"].split()[0]) / 1024, len(own), len(os.listdir("/proc/self/fd"))

answers, seen = set(), []
for number in range(count):
    with Preflight.open(folders[number % len(folders)], model, route="plain", threads=threads) as app:
        answers.add(app.ask("Which rock is hard?").answer)
    seen.append(taken())
open_at_once = [Preflight.open(folder, model, route="plain", threads=threads) for folder in folders[:kept]]
for app in open_at_once:
    answers.add(app.ask("Which rock is hard?").answer)
print(json.dumps({"seen": seen, "answers": sorted(answers), "at_once": taken()}))
for app in open_at_once:
    app.close()
"""
WARM = 3  # after so many a process has imported and loaded what it will ever need
KEPT = 4  # applications that are open at once
SAYS = Reply('Basalt is hard [1].\nQUOTES\n[1] "Basalt is a rock that is hard"')


CASES = [("offline", "SQLite"), ("openai:scripted", "SQLite"), *times([], [("openai:scripted", "PostgreSQL")])]


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize(("model", "where"), CASES)
def test_opening_and_closing_gives_everything_back(
    small_folder: Path, tmp_path: Path, model: str, where: str, request: pytest.FixtureRequest
) -> None:
    url = request.getfixturevalue("postgres").database() if where == "PostgreSQL" else ""
    folders = [shutil.copytree(small_folder, tmp_path / f"library {n}") for n in range(8)]
    count = times(24, 200)
    with ScriptedServer(default=SAYS) as server:
        environment = {**os.environ, "OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "any"}
        arguments = [",".join(str(each) for each in folders), model, str(count), str(KEPT), url]
        command = [sys.executable, "-c", OPENED, *arguments]
        done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    megabytes, threads, handles = zip(*found["seen"][WARM:], strict=True)
    report(f"{model}, {where}: {megabytes[0]:.0f} MB after {WARM + 1} times, {megabytes[-1]:.0f} MB after {count}")
    assert len(found["answers"]) == 1  # a model that is shared says what one of its own says
    half = len(megabytes) // 2
    # Before the models were shared each opening left 50 to 95 megabytes for a while: 387 became 807 in 20.
    assert max(megabytes) < 1.2 * megabytes[0]
    assert max(megabytes[half:]) < megabytes[half] + 30
    assert max(threads) <= threads[0]
    assert max(handles) <= handles[0] + 2  # a connection to the model's server, which comes and goes
    # Each one more that is open shares the models: by itself it took about 150 megabytes.
    assert found["at_once"][0] < megabytes[-1] + KEPT * 30
