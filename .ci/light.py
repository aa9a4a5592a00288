"""The light environment of docs/install.md: its commands as they stand there, without torch, in less than 0.7 GB.

    .venv/bin/python .ci/light.py FOLDER [PYTHON]

copies the clone to FOLDER/clone, runs the commands there (with PYTHON, unless given the Python that runs this), asks a
question with a model and one over HTTP, and measures. With PYTHON the fast tests follow, which need no torch either.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from preflight_rag.testing.scripted_server import ScriptedServer  # noqa: E402

MOST_BYTES = 700_000_000
ABSENT = ("torch", "transformers", "sentence_transformers", "scipy", "sklearn", "onnx", "mcp")
QUESTION = "How hot is the planet Venus?"
TOOLS = (
    *("cryptography", "fpdf2", "hypothesis", "langgraph-checkpoint-conformance", "openpyxl", "pypdf", "pytest"),
    *("olefile", "pylatexenc", "pytest-asyncio", "python-docx", "python-pptx", "striprtf"),
)
TESTED = ("state", "text", "prompts", "nodes", "ingest/loaders", "library/index")


def main() -> None:
    """Install, ask, measure; any failure ends it with one line."""
    folder = Path(sys.argv[1]).resolve()
    clone, library = folder / "clone", folder / "library"
    copy_to(clone)
    for line in commands():
        run(*line.replace("python3", sys.argv[2] if len(sys.argv) > 2 else sys.executable, 1).split(), cwd=clone)
    preflight = clone / ".venv" / "bin" / "preflight"
    run(preflight, "demo", "--library", library, cwd=folder)
    with_a_model(preflight, library)
    over_http(preflight, library)
    found = run(preflight.with_name("python"), "-c", f"{FIND}print(found({ABSENT}))", cwd=folder).strip()
    if found != "[]":
        raise SystemExit(f"the light environment has {found}")
    size = sum(path.lstat().st_blocks * 512 for path in (clone / ".venv").rglob("*"))
    if size > MOST_BYTES:
        raise SystemExit(f"the light environment takes {size / 1e6:.0f} MB, more than {MOST_BYTES / 1e6:.0f}")
    print(f"light: {size / 1e6:.0f} MB on disk after the demo, a question to a model and one over HTTP")
    if len(sys.argv) > 2:
        fast_tests(preflight.with_name("python"))


FIND = "from importlib.util import find_spec\ndef found(names): return [name for name in names if find_spec(name)]\n"


def commands() -> list[str]:
    """The first block of the section on the light environment."""
    page = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
    block = re.search(r"## Light.*?```\n(.*?)```", page, re.DOTALL)
    if block is None:
        raise SystemExit("docs/install.md has no commands for the light environment")
    return [line for line in block[1].splitlines() if "preflight demo" not in line]


def copy_to(clone: Path) -> None:
    """Copy what a clone holds, links as links."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for name in filter(None, listed.split("\0")):
        (clone / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, clone / name, follow_symlinks=False)


def with_a_model(preflight: Path, library: Path) -> None:
    """A question to an OpenAI-compatible server."""
    with ScriptedServer(default="It is 464 degrees hot [1].") as server:
        model = {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "any", "PREFLIGHT_MODEL": "openai:any"}
        reply_text = run(preflight, "ask", QUESTION, "--library", library, "--json", cwd=library, variables=model)
    if "464 degrees" not in json.loads(reply_text)["answer"]:
        raise SystemExit(f"with a model the answer was:\n{reply_text}")


def over_http(preflight: Path, library: Path) -> None:
    """A question to `preflight serve`, without a model."""
    command = [str(preflight), "serve", "--library", str(library), "--port", "0", "--model", "offline"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment()) as server:
        try:
            assert server.stdout is not None
            url = server.stdout.readline().split()[0]
            body = json.dumps({"model": "preflight", "messages": [{"role": "user", "content": QUESTION}]}).encode()
            request = urllib.request.Request(
                f"{url}/v1/chat/completions", body, {"Content-Type": "application/json", "Host": url.split("//")[1]}
            )
            started = time.monotonic()
            with urllib.request.urlopen(request, timeout=60) as reply:
                reply_text = json.load(reply)["choices"][0]["message"]["content"]
            print(f"light: the first question over HTTP took {time.monotonic() - started:.1f} s")
        finally:
            server.terminate()
    if "Venus" not in reply_text:
        raise SystemExit(f"over HTTP the answer was:\n{reply_text}")


def fast_tests(python: Path) -> None:
    """The tests of rooms that need neither torch nor an experiment's packages."""
    tested = dict(
        line.split("==") for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").split() if "==" in line
    )
    install = (python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    run(*install, *(f"{tool}=={tested[tool]}" for tool in TOOLS), cwd=ROOT)
    plain = ("-p", "no:anyio", "-p", "no:cacheprovider", "-W", "default", "--disable-warnings")
    print(run(python, "-m", "pytest", *(ROOT / "tests" / room for room in TESTED), *plain, cwd=ROOT)[-2000:])


def environment() -> dict[str, str]:
    """No network for models, no settings of whoever runs this, and what pip compiles counts."""
    ours = ("PREFLIGHT_", "PYTHON", "OPENAI_", "PIP_NO_COMPILE")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    return kept | {"HF_HUB_OFFLINE": "1"}


def run(*command: object, cwd: Path, variables: dict[str, str] | None = None) -> str:
    """Run a command and give its output; a failure ends everything with what it said."""
    parts = [str(part) for part in command]
    done = subprocess.run(parts, cwd=cwd, env=environment() | (variables or {}), capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(parts)}\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}")
    return done.stdout


if __name__ == "__main__":
    main()
