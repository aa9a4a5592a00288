"""The tree of errors."""

import errno
import re
import sqlite3
from pathlib import Path

import pytest
from langgraph._internal._retry import default_retry_on

from preflight_rag.state import errors
from preflight_rag.state.context import Settings

ROOMS = ("preflight_rag", "graph", "nodes", "prompts", "library", "models", "state", "evaluation")
ROOT = Path(__file__).parents[2]
LEAVES = [
    kind
    for kind in vars(errors).values()
    if isinstance(kind, type) and issubclass(kind, errors.PreflightError) and not kind.__subclasses__()
]


def test_an_error_is_one_line_with_the_way_out():
    error = errors.LibraryMissing("no library\nat x", help="Make one.")
    assert str(error) == "no library at x. Make one."


@pytest.mark.parametrize("kind", LEAVES, ids=lambda kind: kind.__name__)
def test_every_error_is_raised_somewhere_and_drawn_in_the_tree(kind):
    code = "\n".join(path.read_text(encoding="utf-8") for room in ROOMS for path in (ROOT / room).rglob("*.py"))
    name = kind.__name__
    raised = rf"\b{name}\(\s*f?[\"']|raise {name}\b|return {name}\(|= {name} if |if .* else {name}$"
    assert re.search(raised, code, re.MULTILINE)
    assert re.search(rf"── {name}\b", errors.__doc__)


RETRYABLE = [
    kind for kind in (*LEAVES, errors.ModelTimeout) if kind.retryable
]  # the one kind that is raised, and has one below it


@pytest.mark.parametrize("kind", LEAVES, ids=lambda kind: kind.__name__)
def test_langgraph_retries_those_that_are_retryable_and_no_others(kind):
    assert default_retry_on(kind("x")) is kind.retryable


def test_the_marks_in_the_tree_are_those_of_the_classes():
    marked = re.findall(r"── (\w+) +\(retryable\)", errors.__doc__)
    assert sorted(marked) == sorted(kind.__name__ for kind in RETRYABLE)


def sqlite_error(code):
    error = sqlite3.OperationalError("it failed")
    error.sqlite_errorname = code
    return error


@pytest.mark.parametrize(
    ("error", "help"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), errors.ROOM),
        (PermissionError(errno.EACCES, "Permission denied"), errors.PERMISSIONS),
        (OSError(errno.EINVAL, "Invalid argument"), ""),
        (sqlite_error("SQLITE_FULL"), errors.ROOM),
        (sqlite_error("SQLITE_READONLY_DBMOVED"), errors.PERMISSIONS),
        (sqlite_error("SQLITE_BUSY_SNAPSHOT"), errors.BUSY),
        (sqlite_error("SQLITE_ERROR"), ""),
        (sqlite3.ProgrammingError("Cannot operate on a closed database."), ""),
    ],
)
def test_the_system_is_blamed_only_for_what_it_says(error, help):
    assert errors.system_help(error) == help


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"instuctions": "x"}, "there is no setting 'instuctions'. Did you mean instructions?"),
        ({"k": 0}, "Give --k or PREFLIGHT_K another value."),
        ({"deadline": 0}, "Give PREFLIGHT_DEADLINE another value."),
    ],
)
def test_a_wrong_setting_has_the_way_that_there_is(given, says):
    with pytest.raises(errors.UsageError, match=re.escape(says)):
        Settings.read({}, **given)
