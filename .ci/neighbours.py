"""The package beside what else lives in an application: everything installs together, and MCP works with what is there.

    .venv/bin/python .ci/neighbours.py FOLDER      makes FOLDER/venv; tests of MCP and of its clients there

uv installs the newest versions that go together, and `uv pip check` must agree. langchain-mcp-adapters and Chainlit
need the first line of the MCP SDK, constraints.txt has the second: the tests of tests/mcp run with both. torch stays as
constraints.txt has it (.ci/lowest.py says why, and where uv takes it from).
"""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
NEIGHBOURS = (
    "chainlit",
    "langchain-anthropic",
    "langchain-google-genai",
    "langchain-mcp-adapters",
    "langchain-ollama",
    "litellm",
    "llm",
)
TOOLS = ("pytest", "pytest-asyncio", "torch")


def main() -> None:
    """Install, check and test; any failure ends it with that command's status."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    python = folder / "venv" / "bin" / "python"
    tested = dict(
        line.split("==") for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").split() if "==" in line
    )
    run("-m", "venv", "--without-pip", folder / "venv")
    install = ("-m", "uv", "pip", "install", "--quiet", "--python", python)
    run(*install, *NEIGHBOURS, *(f"{tool}=={tested[tool]}" for tool in TOOLS), "--editable", f"{ROOT}[all]")
    run("-m", "uv", "pip", "check", "--python", python)
    run("-m", "uv", "pip", "list", "--quiet", "--python", python)
    # Warnings that other versions give are none of ours.
    plain = ("-p", "no:anyio", "-W", "default", "--disable-warnings", "-o", f"cache_dir={folder / 'cache'}")
    tests = (ROOT / "tests" / "mcp", ROOT / "tests" / "server" / "test_neighbour_clients.py")
    run("-m", "pytest", *tests, *plain, python=python)


def run(*command: object, python: str | Path = sys.executable) -> None:
    """Run Python in the clone; its failure ends this program."""
    wheels = {"UV_FIND_LINKS": links} if (links := os.environ.get("PIP_FIND_LINKS")) else {}
    environment = {**os.environ, **wheels, "HF_HUB_OFFLINE": "1"}
    done = subprocess.run([str(python), *map(str, command)], cwd=ROOT, env=environment)
    if done.returncode:
        sys.exit(done.returncode)


if __name__ == "__main__":
    main()
