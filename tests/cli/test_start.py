import subprocess
import sys

import pytest
import typer.main

from preflight_rag.cli import COMMANDS, app


def output(code, *arguments):
    command = [sys.executable, "-c", f"import sys; sys.argv = ['preflight', *sys.argv[1:]]\n{code}", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("arguments", [[], ["--help"], ["-h"]])
def test_the_overview_is_what_all_commands_together_show(arguments):
    every = output("from preflight_rag.cli import app; app()", *arguments)
    quick = output("from preflight_rag.cli import main; main()", *arguments)
    assert quick.stdout.count("Answer a question from the library") == 1
    assert (quick.stdout, quick.stderr, quick.returncode) == (every.stdout, every.stderr, every.returncode)


def test_every_command_is_found_in_its_file():
    command = typer.main.get_command(app)
    assert list(COMMANDS) == list(command.commands)
    for file in dict.fromkeys(file for file, _ in COMMANDS.values()):
        loaded = output(
            "import importlib, typer.main\n"
            "from preflight_rag.cli.main import app\n"
            "importlib.import_module('preflight_rag.cli.' + sys.argv[1])\n"
            "print(*typer.main.get_command(app).commands)",
            file,
        )
        own = {name for name, (home, _) in COMMANDS.items() if home == file}
        assert own == set(loaded.stdout.split()), loaded.stderr


def test_a_command_that_is_not_there_is_wrong_usage():
    wrong = output("from preflight_rag.cli import main; main()", "serach")
    assert wrong.returncode == 2
    assert "search" in wrong.stderr


def test_a_shell_is_offered_the_commands():
    code = "import os; os.environ['_PREFLIGHT_COMPLETE'] = 'complete_bash'; os.environ['COMP_WORDS'] = 'preflight s'\n"
    offered = output(f"{code}os.environ['COMP_CWORD'] = '1'\nfrom preflight_rag.cli import main; main()")
    assert offered.stdout.split() == ["search", "serve", "summarize"]


WATCHED = (
    *("langgraph", "langchain_core", "requests", "rich.markdown", "pydantic", "onnxruntime"),
    *("evaluation", "preflight_rag.offline.drafts"),
    # Of what a library holds: how it is written, repaired, narrowed down and compared.
    *("preflight_rag.ingest.run", "preflight_rag.library.recovery", "preflight_rag.library.search.filters"),
    *("preflight_rag.pubmed.mesh", "preflight_rag.offline.relations", "preflight_rag.text.document_dates"),
    *("rapidfuzz", "sentence_transformers", "torch", "openai"),
)
RUN_AND_LIST = f"""
from preflight_rag.cli import main
try: main()
except SystemExit as error: assert not error.code
print(*sorted(set({WATCHED!r}) & set(sys.modules)))
"""
"""Runs a command, then prints which of the watched modules it has imported."""


@pytest.mark.parametrize(
    ("arguments", "loaded"), [(["--help"], ["rich.markdown"]), (["search", "--help"], ["pydantic", "rich.markdown"])]
)
def test_help_imports_the_command_alone(arguments, loaded):
    assert output(RUN_AND_LIST, *arguments).stdout.splitlines()[-1].split() == loaded


def test_a_search_runs_without_langgraph_and_langchain(own_folder):
    found = output(RUN_AND_LIST, "search", "Was penicillin found by chance?", "--json", "--library", str(own_folder))
    assert "passage_id" in found.stdout
    assert found.stdout.splitlines()[-1].split() == ["onnxruntime", "pydantic"]


def test_a_plain_question_imports_nothing_that_only_others_need(own_folder):
    question = ["ask", "Was penicillin found by chance?", "--model", "offline", "--json", "--library", str(own_folder)]
    found = output(RUN_AND_LIST, *question)
    assert "passage_id" in found.stdout
    loaded = ["langchain_core", "langgraph", "onnxruntime", "preflight_rag.offline.drafts", "pydantic", "requests"]
    assert found.stdout.splitlines()[-1].split() == loaded


ENDING = """
import atexit
from preflight_rag.cli import main
atexit.register(print, "closed by somebody else")
try: main()
except SystemExit:
    if {again}: raise
{then}
"""


@pytest.mark.parametrize(
    ("arguments", "again", "then", "status"),
    [
        (["search", "Venus"], True, "", 0),
        (["search", ""], True, "", 2),
        (["search", "Venus", "--k", "x"], True, "", 2),
        (["search", "Venus"], False, "", 0),
        (["search", "Venus"], False, "raise ValueError", 1),
    ],
)
def test_a_process_that_ends_at_once_ends_as_it_should(own_folder, arguments, again, then, status):
    """With its own exit status; what is registered for the end is called, and nothing that was printed is lost."""
    done = output(ENDING.format(again=again, then=then), *arguments, "--library", str(own_folder))
    assert done.returncode == status, done.stderr
    assert done.stdout.endswith("closed by somebody else\n")
    assert ("hottest planet" in done.stdout) is ("x" not in arguments and "" not in arguments)


def test_it_ends_at_once(own_folder):
    """What is registered before the package is imported is the one thing that is not called."""
    code = "import atexit; atexit.register(print, 'too late')\nfrom preflight_rag.cli import main; main()"
    assert "too late" not in output(RUN_AND_LIST, "search", "Venus", "--library", str(own_folder)).stdout
    assert "too late" in output(code, "--help").stdout
