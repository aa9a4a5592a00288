"""An application that is closed says so, and so does one that is left open."""

import gc
import subprocess
import sys
import warnings

import pytest

from preflight_rag import Preflight
from preflight_rag.langchain import preflight_graph, preflight_tool
from preflight_rag.library import Library
from preflight_rag.state.errors import LibraryClosed

QUESTION = "How hot is the planet Venus?"
USES = {
    "ask": lambda app: app.ask(QUESTION),
    "search": lambda app: app.search(QUESTION),
    "summarize": lambda app: app.summarize("x"),
    "ingest": lambda app: app.ingest([]),
    "ledger": lambda app: app.ledger,
    "resume": lambda app: app.resume("t"),
    "context": lambda app: app.context(),
    "graph": lambda app: preflight_graph(app),
}


@pytest.mark.parametrize("use", USES)
def test_a_closed_application_says_that_it_was_closed(own_folder, use):
    app = Preflight.open(own_folder, "offline")
    app.close()
    app.close()
    with pytest.raises(LibraryClosed, match=r"was closed. Open it again"):
        USES[use](app)


def test_so_do_its_tool_its_graph_and_its_library(own_folder):
    with Preflight.open(own_folder, "offline") as app:
        tool, graph = preflight_tool(app), preflight_graph(app)
    assert "was closed" in tool.invoke({"question": QUESTION})
    with pytest.raises(LibraryClosed):
        graph.invoke({"messages": [("user", QUESTION)]})
    library = Library.open(own_folder)
    library.close()
    with pytest.raises(LibraryClosed, match="was closed"):
        library.stats()


def test_one_that_is_collected_open_warns_in_one_line_and_is_closed(own_folder):
    app = Preflight.open(own_folder, "offline")
    app.ask(QUESTION)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        library = app.library
        del app
        gc.collect()
    (warning,) = [each for each in caught if str(own_folder) in str(each.message)]  # others may be collected, too
    assert warning.category is ResourceWarning
    assert str(warning.message).startswith(f"the application over {own_folder} was not closed: use it in a with block")
    with pytest.raises(LibraryClosed):
        library.stats()


@pytest.mark.parametrize("closes", [False, True])
def test_one_that_is_open_when_the_program_ends_warns_in_one_line(own_folder, closes):
    code = (
        "import sys; from preflight_rag import Preflight\n"
        f"app = Preflight.open({str(own_folder)!r}, 'offline'); app.ask({QUESTION!r})\n"
        f"{'app.close()' if closes else ''}"
    )
    done = subprocess.run(
        [sys.executable, "-W", "always::ResourceWarning", "-c", code], capture_output=True, text=True, check=True
    )
    lines = [line for line in done.stderr.splitlines() if "Warning" in line]
    assert len(lines) == (not closes)
    assert all("was not closed" in line for line in lines)
    assert "Traceback" not in done.stderr
