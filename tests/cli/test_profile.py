"""`preflight profile`: a model that loses the middle is measured, and what was measured decides on later routes."""

import json
import re

import pytest
from typer.testing import CliRunner

from preflight_rag import Preflight
from preflight_rag.cli import app
from preflight_rag.library import Library
from preflight_rag.prompts import map_context
from preflight_rag.routing.model_profile import UNMEASURED, profile_of
from preflight_rag.routing.profiling import GapQuestion
from preflight_rag.state.reading import Draft
from preflight_rag.state.values import Document, Passage
from preflight_rag.testing import Reply, ScriptedServer
from preflight_rag.testing.scripted_server import prompt_of

TOWNS = (
    "Lima", "Oslo", "Rome", "Cairo", "Delhi", "Quito", "Tunis", "Paris", "Seoul", "Hanoi",
    "Turin", "Bergen", "Porto", "Gdansk", "Graz", "Malmo", "Leeds", "Ghent", "Brno", "Split",
)  # fmt: skip
GAP = re.compile(r"“(.*?)____(.*?)”", re.DOTALL)
PASSAGE = re.compile(r'<passage n="(\d+)"[^>]*>\n(.*?)\n</passage>', re.DOTALL)


def reads_first_three(body):
    """A model that knows what stands in the gap when the sentence is in one of its prompt's first three passages."""
    prompt = prompt_of(body)
    before = " ".join(GAP.search(prompt)[1].split())
    for place, (number, text) in enumerate(PASSAGE.findall(prompt), 1):
        if before in " ".join(text.split()) and (place <= 3 or "<extract" in prompt):
            value = re.search(re.escape(before) + r"\s*([\d,.]*\d)", " ".join(text.split()))[1]
            return f'It is {value} [{number}].\n\nQUOTES\n[{number}] "{before} {value}"'
    extract = re.search(r"It is ([\d,.]*\d) \[(\d+)\]", prompt)
    if extract:
        return f"It is {extract[1]} [{extract[2]}]."
    return "NO RELEVANT INFORMATION"


@pytest.fixture
def towns(tmp_path, embedder):
    folder = tmp_path / "towns"
    with Library.open(folder, embedder=embedder, create=True) as library:
        library.add(
            Document(
                id=town,
                title=town,
                text=f"The great stone bridge over the river in {town} was built with exactly {3101 + 7 * n} bricks.",
                source="made",
            )
            for n, town in enumerate(TOWNS)
        )
    return folder


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.setenv("PREFLIGHT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("OPENAI_API_KEY", "none")

    def invoke(*arguments, url=""):
        return CliRunner().invoke(app, [str(a) for a in arguments], env={"OPENAI_BASE_URL": url})

    return invoke


def test_what_a_model_loses_is_measured_kept_and_used(run, towns, monkeypatch):
    with ScriptedServer(reads_first_three) as model:
        monkeypatch.setenv("OPENAI_BASE_URL", model.url)
        done = run("profile", "--library", towns, "--model", "openai:small", "--questions", 2, "--json", url=model.url)
        assert done.exit_code == 0, done.output
        found = json.loads(done.stdout)
        # Places 1, 4, 8, 12 and 16 of sixteen; in parts of four the sentence is always among the first four.
        assert [right for _, right in found["plain"]] == [1.0, 0.0, 0.0, 0.0, 0.0]
        assert found["counts"] == [2] * 5
        assert found["tokens"] > 0
        assert "2 questions made of towns" in found["grounds"]
        name = found["model"]
        assert profile_of(name).plain == dict(found["plain"])
        with Preflight.open(towns, name) as measured, Preflight.open(towns, "openai:other") as other:
            limits = [opened.search("bricks of bridges").preflight.threshold for opened in (measured, other)]
        assert limits[0] < limits[1] == 1.0


@pytest.mark.parametrize(
    ("text", "stands"),
    [("it is 12.", True), ("it is 12.5", False), ("it is 3,12", False), ("a12", False), ("112 and 12", True)],
)
def test_value_that_is_a_part_of_another_number_is_not_the_answer(text, stands):
    passage = Passage(id="p", document_id="d", text="It is 12.")
    assert GapQuestion("Which?", "12", passage, ()).is_right(Draft(text)) is stands


def test_profile_without_a_model_says_what_to_name(run, towns):
    done = run("profile", "--library", towns, "--model", "offline")
    assert done.exit_code == 2
    assert "there is no language model to measure" in done.output
    assert "--model provider:name" in done.output


def test_library_without_numbers_makes_no_question(run, tmp_path, embedder):
    folder = tmp_path / "words"
    with Library.open(folder, embedder=embedder, create=True) as library:
        library.add([Document(id="a", text="Nothing here is counted by anybody at all, ever.", source="made")])
    with ScriptedServer([], default="nothing") as model:
        done = run("profile", "--library", folder, "--model", "openai:small", url=model.url)
        assert done.exit_code == 2
        assert "no question can be made from this library" in done.output
        assert model.count() == 0
    assert profile_of("openai:small") == UNMEASURED


SLOW = Reply("too late", delay=30)


@pytest.fixture
def _hurried(monkeypatch):
    monkeypatch.setenv("PREFLIGHT_DEADLINE", "1")


@pytest.mark.usefixtures("_hurried")
def test_a_model_that_replies_to_nothing_is_given_up_after_a_question_and_no_profile_is_written(run, towns):
    with ScriptedServer(default=SLOW) as model:
        done = run("profile", "--library", towns, "--model", "openai:small", url=model.url)
        assert model.count() == 9, "one question at five places, and its passages in four parts"
    assert done.exit_code == 1
    assert "0 of 6 readings ended with a reply" in done.output
    assert done.output.count("no reply") == 6
    assert "Raise PREFLIGHT_DEADLINE" in done.output
    assert profile_of("openai:small") == UNMEASURED


@pytest.mark.usefixtures("_hurried")
def test_what_could_be_measured_is_shown_where_some_calls_end_too_late(run, towns):
    """The model answers at once, but reads no part in time."""

    def script(body):
        return SLOW if map_context.SYSTEM.splitlines()[0] in prompt_of(body) else reads_first_three(body)

    with ScriptedServer(script) as model:
        done = run("profile", "--library", towns, "--model", "openai:small", "--questions", 2, "--json", url=model.url)
    found = json.loads(done.stdout)
    assert done.exit_code == 1
    assert found["places"] == {"1": 1.0, "4": 0.0, "8": 0.0, "12": 0.0, "16": 0.0}
    assert (found["map_reduce"], found["written"]) == (None, None)
    assert (found["readings"]["wanted"], found["readings"]["replied"]) == (12, 10)
    assert [number for why, number in found["readings"]["failures"].items() if "did not reply in time" in why] == [2]


def test_a_reply_without_an_end_is_judged_by_its_beginning(run, towns):
    """At once the first place is answered, and in parts every one."""

    def script(body):
        reply = reads_first_three(body).partition("\n\n")[0]
        return Reply(reply, finish_reason="length") if reply.startswith("It is") else reply

    with ScriptedServer(script) as model:
        done = run("profile", "--library", towns, "--model", "openai:small", "--questions", 1, "--json", url=model.url)
    found = json.loads(done.stdout)
    assert [right for _, right in found["plain"]] == [1.0, 0.0, 0.0, 0.0, 0.0]
    assert found["readings"] == {"wanted": 6, "replied": 6, "cut": 2, "failures": {}}
