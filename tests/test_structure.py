"""The house is in order: imports point one way, nodes are wired, tested and named alike, docs are complete."""

import ast
import inspect
import re
from pathlib import Path

import networkx as nx
import pytest
import typer.main

from preflight_rag.cli import app
from preflight_rag.graph.build import build_graph
from preflight_rag.graph.progress import BEGINS
from preflight_rag.nodes.rewrite import cleared
from preflight_rag.state.schema import State

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "preflight_rag"
NEUTRAL = {"background_loop", "cache"}
"""Modules that know nothing of ours and serve every room."""
BELOW_LIBRARY = {"databases", "ingest", "models", "pubmed", "state", "text"}
DOMAIN = BELOW_LIBRARY | {"library", "prompts"}
BELOW_GRAPH = DOMAIN | {"corg", "routing", "offline", "conversation", "nodes"}
BELOW_APP = BELOW_GRAPH | {"graph", "threads"}
BELOW_ENTRIES = BELOW_APP | {"app", "langchain", "summarize"}
MAY_IMPORT = {
    "state": set(),
    "text": {"state"},
    "prompts": {"state", "text"},
    "models": {"prompts", "state", "text"},
    "databases": {"state"},
    "ingest": {"models", "state", "text"},
    "pubmed": {"ingest", "state", "text"},
    "library": BELOW_LIBRARY,
    "threads": {"databases", "state", "text"},
    "corg": DOMAIN,
    "routing": DOMAIN | {"corg"},
    "offline": DOMAIN | {"corg"},
    "conversation": DOMAIN | {"corg"},
    "nodes": BELOW_GRAPH - {"nodes"},
    "graph": BELOW_GRAPH | {"threads"},
    "summarize": BELOW_APP,
    "app": BELOW_APP | {"summarize"},
    "langchain": BELOW_APP | {"app", "summarize"},
    "cli": BELOW_ENTRIES | {"server", "mcp"},
    "server": BELOW_ENTRIES,
    "mcp": BELOW_ENTRIES | {"server"},
    "testing": set(),
}
"""What each room imports besides itself: docs/architecture.md draws it. The command line opens every other entry."""
NODES = sorted(path.stem for path in (ROOT / "nodes").glob("*.py") if path.stem != "__init__")
LINKS = ("graph", "nodes", "prompts", "state")
IN_PARTS = {"map_context", "answer_group"}
"""Stages that run once for each part, whose progress is counted."""
SET_BY_REWRITE = {
    *("schema_version", "messages", "options", "question", "standalone_question", "queries", "rewrite", "lookup"),
    "instructions",
    *("earlier", "condensed", "condensed_messages", "gaps", "spent"),
}
"""Channels that `rewrite` sets anew itself, or that a conversation keeps."""


def modules(room):
    """The files of a room, a folder or a single module."""
    return [PACKAGE / f"{room}.py"] if (PACKAGE / f"{room}.py").exists() else list((PACKAGE / room).rglob("*.py"))


def imported(path):
    """What a file imports of ours, as dotted names; relative imports are not used here."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} has a relative import"
            for alias in node.names:
                yield f"{node.module}.{alias.name}"
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def rooms_of(path):
    parts = [name.split(".") for name in imported(path) if name.startswith("preflight_rag.")]
    return {part[1] for part in parts if (PACKAGE / part[1]).exists() or (PACKAGE / f"{part[1]}.py").exists()}


@pytest.mark.parametrize("room", MAY_IMPORT)
def test_imports_point_one_way(room):
    assert modules(room)
    for path in modules(room):
        back = rooms_of(path) - MAY_IMPORT[room] - NEUTRAL - {room}
        assert not back, f"{path.relative_to(ROOT)} imports {back}"


def test_every_room_is_in_the_table():
    ignored = NEUTRAL | {"__init__", "__main__", "demo", "__pycache__"}
    found = {path.stem for path in PACKAGE.iterdir() if path.suffix == ".py" or any(path.glob("*.py"))} - ignored
    assert found == set(MAY_IMPORT)


BESIDE = ("evaluation", "training")
"""Packages of a clone, which the wheel does not have."""


def test_a_search_in_a_generator_has_a_default():
    """A StopIteration out of a thread reaches no one: Python 3.11 leaves the turn that awaits the thread waiting."""
    found = []
    for path in sorted((ROOT / "preflight_rag").rglob("*.py")):
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            is_next = isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "next"
            if is_next and len(call.args) == 1 and isinstance(call.args[0], ast.GeneratorExp):
                found.append(f"{path.name}:{call.lineno}")
    assert not found, found


def test_nothing_that_is_installed_imports_what_is_not():
    for _, path in modules_of_the_package():
        assert not any(name.split(".")[0] in (*BESIDE, "tests") for name in imported(path)), path


def test_the_evaluation_imports_the_product_and_not_the_training():
    for path in (ROOT / "evaluation").rglob("*.py"):
        assert rooms_of(path) <= BELOW_ENTRIES | NEUTRAL | {"cli"}, path
        assert not any(name.split(".")[0] in ("training", "tests") for name in imported(path)), path


@pytest.mark.parametrize("node", NODES)
def test_no_node_imports_another(node):
    others = {name for name in imported(ROOT / "nodes" / f"{node}.py") if name.startswith("preflight_rag.nodes.")}
    assert not others


def modules_of_the_package():
    for path in PACKAGE.rglob("*.py"):
        yield ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"), path
    for room in LINKS:
        for path in (ROOT / room).rglob("*.py"):
            yield (
                ".".join(("preflight_rag", *path.relative_to(ROOT).with_suffix("").parts)).removesuffix(".__init__"),
                path,
            )


def test_no_files_import_each_other_in_a_circle():
    """Imports for types alone and those within functions included: a circle that is broken late is one all the same."""
    files = dict(modules_of_the_package())
    for folder in BESIDE:
        for path in (ROOT / folder).rglob("*.py"):
            files[".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")] = path
    arrows = nx.DiGraph()
    for name, path in files.items():
        for target in imported(path):
            module = target if target in files else target.rpartition(".")[0]
            if module in files and module != name:
                arrows.add_edge(name, module)
    assert len(arrows) > 300
    circles = [sorted(circle) for circle in nx.strongly_connected_components(arrows) if len(circle) > 1]
    assert not circles


@pytest.mark.parametrize("room", LINKS)
def test_the_graphs_rooms_are_linked_into_the_package(room):
    assert (PACKAGE / room).resolve() == ROOT / room


@pytest.mark.parametrize("node", NODES)
def test_every_node_is_wired_tested_documented_and_named_alike(node):
    function = getattr(__import__(f"preflight_rag.nodes.{node}", fromlist=[node]), node, None)
    page = (ROOT / "preflight_rag/server/page/static/route.js").read_text(encoding="utf-8")
    there = {
        f"an async function {node}": inspect.iscoroutinefunction(function),
        "a docstring of that": bool(inspect.getdoc(function)),
        "the node in graph/build.py": node in build_graph().nodes,
        f"tests/nodes/test_{node}.py": (ROOT / "tests" / "nodes" / f"test_{node}.py").exists(),
        f"**{node}** in docs/how-it-works.md": f"**{node}**"
        in (ROOT / "docs" / "how-it-works.md").read_text(encoding="utf-8"),
        "a sentence in BEGINS of graph/progress.py": node in BEGINS or node in IN_PARTS,
        "a name in STAGES of preflight_rag/server/page/static/route.js": f"\n  {node}: " in page,
    }
    missing = [what for what, is_there in there.items() if not is_there]
    assert not missing


def test_a_turn_begins_without_what_the_last_one_left():
    assert cleared().keys() | SET_BY_REWRITE == State.__annotations__.keys()


def commands(command, name):
    yield name, command
    for child, sub in getattr(command, "commands", {}).items():
        yield from commands(sub, f"{name} {child}")


@pytest.mark.parametrize(("name", "command"), list(commands(typer.main.get_command(app), "preflight")))
def test_every_command_is_in_the_docs_with_an_example(name, command):
    assert f"`{name}" in (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    assert command.help
    if not getattr(command, "commands", None):
        assert command.epilog.startswith("Example: preflight")


DIALECT = {"told", "said", "heard", "held"}
"""Words that name nothing to a reader from elsewhere: a value is a reply, an answer, a note, what is pending."""


def names_given(tree):
    """The names of a file's functions, variables and attributes, but for fields, which may be stored."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Assign | ast.For | ast.comprehension | ast.NamedExpr | ast.withitem | ast.AugAssign):
            targets = [getattr(node, "target", None), getattr(node, "optional_vars", None)]
            for target in (*targets, *getattr(node, "targets", ())):
                for part in ast.walk(target) if target is not None else ():
                    if isinstance(part, ast.Name):
                        yield part.id
                    elif isinstance(part, ast.Attribute):
                        yield part.attr


@pytest.mark.parametrize("room", sorted(MAY_IMPORT))
def test_names_are_plain_words(room):
    for path in modules(room):
        given = {name.strip("_") for name in names_given(ast.parse(path.read_text(encoding="utf-8")))}
        assert not given & DIALECT, path.relative_to(ROOT)


FOLDERS = (
    "graph",
    "nodes",
    "prompts",
    "state",
    "preflight_rag",
    "evaluation",
    "training",
    "benchmarks",
    "tests",
    "docs",
)
SOURCES = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))]
GUIDES = [ROOT / "CONTRIBUTING.md", ROOT / "training" / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
MADE_UP = re.compile(r"my_|NAME")
"""In the guides' recipes: files that the reader is to make."""


def modules_named(path):
    """Return the modules that a file names in backticks, such as `corg/signals.py`."""
    named = re.findall(r"`((?:\w+/)*\w+\.py)`", path.read_text(encoding="utf-8"))
    return {name for name in named if not MADE_UP.search(name)}


def ends_of_paths():
    """Return every way to name a module of the repository by the end of its path."""
    paths = [path.relative_to(ROOT).parts for path in SOURCES]
    # Four rooms are linked into the package, and may be named by either path.
    paths += [("preflight_rag", *parts) for parts in paths]
    return {"/".join(parts[start:]) for parts in paths for start in range(len(parts))}


def test_every_module_that_a_text_names_exists():
    known = ends_of_paths()
    dead = {(str(path.relative_to(ROOT)), name) for path in (*SOURCES, *GUIDES) for name in modules_named(path) - known}
    assert not dead


def test_a_module_that_is_named_without_its_folder_is_nearby():
    far = {
        (str(path.relative_to(ROOT)), name)
        for path in SOURCES
        for name in modules_named(path)
        if "/" not in name and not any((folder / name).exists() for folder in path.parents if ROOT in folder.parents)
    }
    assert not far


def test_the_changelog_knows_the_version():
    from preflight_rag import __version__

    assert f"## {__version__}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f'version = "{__version__}"' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")
