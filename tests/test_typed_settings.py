"""Settings are typed where they are keyword arguments: mypy and pyright find a misspelt one and a wrong value."""

import os
import subprocess
import sys
import typing
from pathlib import Path

import pytest

from preflight_rag.state.context import GivenSettings, Settings
from preflight_rag.state.errors import UsageError

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
BIN = Path(sys.executable).parent
CODE = """\
from preflight_rag import Preflight
from preflight_rag.langchain import PreflightRouter, preflight_graph, preflight_tool


async def right(app: Preflight) -> None:
    Preflight.open("x", "offline", k=8, where=("year>=2020",), instructions="Be brief.", route="plain")
    app.ask("q", k=None, options=["a", "b"], thread_id="t")
    await app.aask("q", clarify=False)
    app.search("q", 8, recency=0.5)
    preflight_graph(app, checkpointer=True, k=8)
    preflight_tool(app, route="plain")


async def wrong(app: Preflight) -> None:
    Preflight.open("x", instuctions="Be brief.")
    Preflight.open("x", k="8")
    Preflight.open("x", route="plane")
    Preflight.from_retriever(app.library, rout="plain")
    app.ask("q", kk=3)
    await app.aask("q", thread="t")
    app.astream("q", wher=())
    app.search("q", recencey=0.5)
    app.context(routes="plain")
    app.summarize("d", token=3)
    preflight_graph(app, kk=8)
    preflight_tool(app, kk=8)
    PreflightRouter(treshold=0.2)
"""
FIRST_WRONG = CODE.splitlines().index("async def wrong(app: Preflight) -> None:") + 2


@pytest.mark.parametrize("checker", ["mypy", "pyright"])
def test_a_misspelt_setting_is_a_type_error(tmp_path, checker):
    (tmp_path / "code.py").write_text(CODE, encoding="utf-8")
    command = {
        "mypy": [BIN / "mypy", "--strict", "--follow-imports=silent", "--no-error-summary", "code.py"],
        "pyright": [BIN / "pyright", "--pythonpath", sys.executable, "code.py"],
    }[checker]
    path = {"MYPYPATH": str(ROOT), "PYTHONPATH": str(ROOT)}
    environment = {**os.environ, **path, "MYPY_CACHE_DIR": str(ROOT / ".mypy_cache")}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    lines = done.stdout.splitlines()
    found = {
        int(line.partition("code.py:")[2].partition(":")[0]) for line in lines if "error" in line and "code.py:" in line
    }
    assert found == set(range(FIRST_WRONG, len(CODE.splitlines()) + 1)), done.stdout + done.stderr


def test_the_types_are_those_of_the_settings():
    given = typing.get_type_hints(GivenSettings)
    assert given.keys() == Settings.model_fields.keys()
    for name, field in Settings.model_fields.items():
        kinds = set(typing.get_args(given[name])) - {type(None)}
        own = set(typing.get_args(field.annotation)) - {type(None)} if field.default is None else {field.annotation}
        assert name == "where" or kinds == own or typing.get_args(kinds.pop()) == typing.get_args(field.annotation), (
            name
        )


@pytest.mark.parametrize(
    ("wrong", "hint"),
    [
        ({"k": 0}, "--k or PREFLIGHT_K"),
        ({"fusion": "none"}, "PREFLIGHT_FUSION"),
        ({"deadline": 0}, "PREFLIGHT_DEADLINE"),
    ],
)
def test_a_hint_names_an_option_only_where_there_is_one(wrong, hint):
    with pytest.raises(UsageError) as raised:
        Settings.read({}, **wrong)
    assert raised.value.help == f"Give {hint} another value."
