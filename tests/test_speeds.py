"""`make test`, which runs the tests that are not marked `slow`, still meets every room, route and real part."""

import ast
import re
from pathlib import Path

import pytest
from speeds import has_slow_tests, is_slow_as_a_whole
from test_structure import MAY_IMPORT

TESTS = Path(__file__).parent
FILES = sorted(TESTS.rglob("test_*.py"))
FOLDERS = sorted({path.parent.relative_to(TESTS).as_posix() for path in FILES} - {"."})
SLOW = "pytest.mark.slow"
ELSEWHERE = {
    "app": "test_app.py",
    "databases": "threads/test_ledger.py",
    "langchain": "test_langchain.py",
    "summarize": "test_summarize.py",
    "testing": "test_scripted_server.py",
}
"""Rooms that no folder of tests is named after, and a file of tests of each."""
IN_EACH_RUN = {
    "the route plain": ("graph/test_build.py", "test_plain"),
    "the route map_reduce": ("graph/test_build.py", "test_map_reduce"),
    "the route corg": (
        "graph/test_corg.py",
        "test_eight_contexts_of_three_classes",
    ),
    "the route abstain": ("graph/test_build.py", "test_abstain"),
    "a turn that is killed and resumed, over SQLite and over PostgreSQL": (
        "faults/test_killed_turns.py",
        "test_a_turn_killed_between_its_answer_and_the_ledger_is_neither_lost_nor_answered_twice",
    ),
    "a server as a process of its own": (
        "server/test_serve_command.py",
        "test_ctrl_c_stops_a_turn_so_that_it_can_be_resumed",
    ),
    "a browser": ("browser/test_journey.py", "test_a_first_visit"),
    "the command line": ("cli/test_cli.py", "test_ingest_ask_and_change"),
}
"""A fast test of each real part and of each route."""


def named_tests(path):
    """The names of a file's tests, and whether each is slow."""
    source = path.read_text(encoding="utf-8")
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
            marked = any(ast.unparse(decorator) == SLOW for decorator in node.decorator_list)
            yield node.name, marked or is_slow_as_a_whole(source)


def fast_tests(path):
    return [name for name, slow in named_tests(path) if not slow]


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_folder_of_tests_has_fast_ones(folder):
    assert any(fast_tests(path) for path in (TESTS / folder).glob("test_*.py"))


@pytest.mark.parametrize("room", sorted(MAY_IMPORT))
def test_every_room_has_fast_tests(room):
    files = [TESTS / ELSEWHERE[room]] if room in ELSEWHERE else list((TESTS / room).rglob("test_*.py"))
    assert any(fast_tests(path) for path in files)


@pytest.mark.parametrize("what", IN_EACH_RUN)
def test_every_real_part_and_route_has_a_fast_test(what):
    file, name = IN_EACH_RUN[what]
    assert name in fast_tests(TESTS / file)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(TESTS).as_posix())
def test_a_files_text_says_which_of_its_tests_are_slow(path):
    """As tests/conftest.py reads it, without importing the file."""
    source = path.read_text(encoding="utf-8")
    at_the_top = [
        SLOW in ast.unparse(node.value)
        for node in ast.parse(source).body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "pytestmark"
    ]
    assert is_slow_as_a_whole(source) == any(at_the_top)
    assert has_slow_tests(source) or not any(slow for _, slow in named_tests(path))


def test_only_files_of_tests_mark_tests_as_slow():
    for path in set(TESTS.rglob("*.py")) - set(FILES) - {TESTS / "conftest.py", TESTS / "speeds.py"}:
        assert not re.search(r"mark\.slow\b", path.read_text(encoding="utf-8")), path
