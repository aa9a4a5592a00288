"""The programs in docs/examples run as they stand: offline, and where a model makes a difference, with one."""

import re
import runpy
import sys
from pathlib import Path

import pytest

from preflight_rag.testing.scripted_replies import Reply, prompt_of
from preflight_rag.testing.scripted_server import ScriptedServer

EXAMPLES = sorted((Path(__file__).parents[1] / "docs" / "examples").glob("*.py"))
SHOWN = {
    "1_ask.py": ("Broken Bow (Nebraska)", "route: corg", "(found)"),
    "2_stream.py": ("between 60 and 100", "searched for: What is a normal resting heart rate for children?"),
    "3_chain.py": ("heart-rate-adults.md]", "Question: What is a normal resting heart rate"),
    "4_agent.py": ("1,642 metres", "lake-baikal.md"),
    "5_node.py": ("retrieve", "between 60 and 100", "sources)"),
    "6_your_vector_store.py": ("5 mg", "Trial 7, trial.pdf, page 3, 2023-04-01", "('canteen.md', 1)"),
    "7_tenants.py": (
        "28 days",
        "retrieved: # Holidays\n\nSouth Ltd",
        "refused: no library is named",
        "'mesh' is set where",
    ),
    "8_side_by_side.py": ("1,642 metres", "penicillin.md", "= What is a normal resting heart rate for children?"),
    "9_test_your_application.py": (
        "passed: test the answer is the models and its prompt had the passage",
        "passed: test a busy model is asked again and one that is away is named",
        "passed: test an answer that was cut off says so",
    ),
}


@pytest.fixture
def run(own_folder, monkeypatch, capsys, tmp_path):
    """Runs an example beside a library named as `preflight demo` names it, and returns what it printed."""

    def run(example, *arguments):
        own_folder.rename(tmp_path / "demo-library")
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(sys, "argv", [example.name, *arguments])
        try:
            runpy.run_path(str(example), run_name="__main__")
        except SystemExit as ended:
            if ended.code:
                raise
        return capsys.readouterr().out

    return run


@pytest.fixture
def served(monkeypatch):
    """Opens a scripted server that every model without an address of its own talks to."""
    monkeypatch.setenv("OPENAI_API_KEY", "key")

    def serve(script):
        server = ScriptedServer(script)
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        return server

    return serve


def test_they_are_short():
    assert [example.name for example in EXAMPLES] == list(SHOWN)
    assert all(len(example.read_text(encoding="utf-8").splitlines()) <= 60 for example in EXAMPLES)


@pytest.mark.slow
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)
def test_it_runs_offline(example, run):
    shown = run(example)
    for expected in SHOWN[example.name]:
        assert expected in shown


def test_the_stream_with_a_model(run, served):
    answer, rewritten = "Adults have 60 to 100 beats a minute [1].", "What is a normal resting heart rate for children?"
    with served(lambda body: answer if "<passage" in prompt_of(body) else f"QUESTION: {rewritten}"):
        shown = run(EXAMPLES[1], "--model", "openai:any")
    assert shown.count(answer) == 2
    assert f"searched for: {rewritten}" in shown


def test_the_chain_with_a_model(run, served):
    with served(lambda body: "60 to 100, says heart-rate-adults.md.") as server:
        shown = run(EXAMPLES[2], "--model", "any")
    assert shown.strip() == "60 to 100, says heart-rate-adults.md."
    assert server.count("between 60 and 100 beats a minute") == 1


def test_the_agent_with_a_model(run, served):
    def script(body):
        last = body["messages"][-1]
        if last["role"] == "tool":
            return f"I looked it up: {re.search('[0-9,]+ metres|Alexander Fleming', last['content'])[0]}."
        return Reply(tool_calls=(("search_documents", {"question": last["content"].removeprefix("And ")}),))

    with served(script):
        shown = run(EXAMPLES[3], "--model", "any")
    assert "I looked it up: 1,642 metres." in shown
    assert "I looked it up: Alexander Fleming." in shown
    assert "penicillin.md" in shown
