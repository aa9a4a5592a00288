"""The package with the lowest versions that pyproject.toml allows: the demo and the fast tests.

And the lowest Python: every version of constraints.txt has to be one that Python 3.11.0 may have.

    .venv/bin/python .ci/lowest.py FOLDER      makes FOLDER/venv and runs them there

uv finds the lowest versions of what is named in pyproject.toml that go together. torch stays as constraints.txt has it:
older ones bring gigabytes of CUDA. pytest and its plugins are those of constraints.txt, too, and pandas, which makes
files of tests, is one that goes with the lowest NumPy. Warnings that old versions of other packages give on a new
Python are none of ours, so they do not fail. uv installs from its cache and, as it does
not read pip's settings, from the folder of wheels in PIP_FIND_LINKS, where there is one.
"""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TOOLS = (
    "fpdf2",
    "hypothesis",
    "iniconfig",
    "langgraph-checkpoint-conformance",
    "pluggy",
    "pypdf",
    "pytest",
    "pytest-asyncio",
    "python-docx",
    "snowballstemmer",
    "torch",
)
FAST = ("state", "text", "prompts", "nodes", "graph", "library", "server", "mcp")
"""Rooms whose code meets other packages; `corg`, `conversation`, `offline` and `routing` are Python of ours."""
COMPILE = "pip compile pyproject.toml --resolution lowest-direct --only-binary :all: --no-header --quiet --no-annotate"
EXTRAS = ("all", "tracing")


def main() -> None:
    """Install and run; any failure ends it with that command's status."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    tested_versions = "pip compile pyproject.toml -c constraints.txt --all-extras --python-version 3.11.0 --quiet"
    run(sys.executable, "-m", "uv", *tested_versions.split(), "-o", folder / "tested.txt")
    python = folder / "venv" / "bin" / "python"
    tested = dict(
        line.split("==") for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").split() if "==" in line
    )
    extras = (f"--extra={extra}" for extra in EXTRAS)
    uv = (sys.executable, "-m", "uv", *COMPILE.split(), *extras, "--python-version", "3.11")
    found = subprocess.run(uv, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split()
    lowest = [pin for pin in found if not pin.startswith(("torch==", "nvidia-", "cuda-", "triton=="))]
    wanted = folder / "lowest.txt"
    wanted.write_text("\n".join(lowest), encoding="utf-8")
    run(sys.executable, "-m", "venv", folder / "venv")
    pip = (sys.executable, "-m", "uv", "pip", "install", "--quiet", "--python", python)
    run(*pip, *(f"{tool}=={tested[tool]}" for tool in TOOLS), "pandas", "-r", wanted)
    run(*pip, "--no-deps", "--editable", ROOT)
    run(python, "-m", "preflight_rag", "demo", "--library", folder / "demo")
    tests = (ROOT / "tests" / room for room in FAST)
    # In the environment, so that files of tests that run in a process of their own (tests/conftest.py) take them too.
    os.environ["PYTEST_ADDOPTS"] = "-p no:anyio -W default --disable-warnings"
    plain = ("-o", f"cache_dir={folder / 'cache'}")
    pytest = (python, "-m", "pytest", "-m", "not slow", *tests, *plain)
    # What fails beside everything else and not by itself is a matter of a busy machine, and not of versions.
    if status(*pytest):
        run(*pytest, "--last-failed")


def run(*command: object) -> None:
    """Run a command in the clone; its failure ends this program."""
    if code := status(*command):
        sys.exit(code)


def status(*command: object) -> int:
    """Run a command in the clone, and return its exit status."""
    wheels = {"UV_FIND_LINKS": links} if (links := os.environ.get("PIP_FIND_LINKS")) else {}
    environment = {**os.environ, **wheels, "HF_HUB_OFFLINE": "1"}
    return subprocess.run([str(part) for part in command], cwd=ROOT, env=environment).returncode


if __name__ == "__main__":
    main()
