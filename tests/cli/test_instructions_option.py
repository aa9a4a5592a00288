"""`--instructions` reaches what the command's model writes."""

import pytest
from typer.testing import CliRunner

from preflight_rag.cli import app
from preflight_rag.testing.scripted_server import ScriptedServer

TONE = "Answer in German."


@pytest.mark.parametrize(
    "command",
    [["ask", "How hot is the planet Venus?", "--route", "plain", "--rewrite", "off"], ["summarize", "venus.md"]],
)
def test_a_command_tells_its_model_how_to_write(own_folder, command, monkeypatch):
    with ScriptedServer(default="Sehr heiß [1].") as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        if command[0] == "summarize":
            from preflight_rag.library import Library

            with Library.open(own_folder) as library:
                command = [command[0], next(row["id"] for row in library.documents() if row["id"].endswith(command[1]))]
        given = ["--library", str(own_folder), "--model", "openai:scripted", "--instructions", TONE]
        done = CliRunner().invoke(app, [*command, *given])
        assert server.count(f"<instructions>\n{TONE}\n</instructions>") == server.count() == 1
    assert done.exit_code == 0, done.output
    assert "Sehr heiß [1]." in done.stdout


def test_without_a_model_the_command_says_that_they_are_ignored(own_folder):
    given = ["--library", str(own_folder), "--model", "offline", "--instructions", TONE]
    done = CliRunner().invoke(app, ["ask", "How hot is the planet Venus?", *given])
    assert "instructions are ignored" in done.stdout
