"""Write the parts of the docs that come from the code: the graph's picture in README.md, and docs/cli.md.

python docs/generate.py           write them
python docs/generate.py --check   fail when they are not what the code says
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import typer.main
from typer.cli import get_docs_for_click

from preflight_rag.cli import app
from preflight_rag.graph.build import build_graph

ROOT = Path(__file__).parent.parent
BEGIN, END = "<!-- graph: made by docs/generate.py -->", "<!-- /graph -->"


def readme() -> str:
    """README with the graph's picture as the compiled graph draws it."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    drawn = build_graph().compile().get_graph().draw_mermaid().strip()
    block = f"{BEGIN}\n```mermaid\n{drawn}\n```\n{END}"
    found = re.subn(f"{re.escape(BEGIN)}.*?{re.escape(END)}", lambda _: block, text, flags=re.DOTALL)
    if found[1] != 1:
        raise SystemExit("README.md has no place for the graph's picture")
    return found[0]


def cli() -> str:
    """Every command with its options."""
    command = typer.main.get_command(app)
    context = typer.Context(command, info_name="preflight")
    return f"{get_docs_for_click(obj=command, ctx=context, name='preflight', title='Command line').strip()}\n"


def main() -> int:
    """Write or check."""
    stale = []
    for path, text in ((ROOT / "README.md", readme()), (ROOT / "docs" / "cli.md", cli())):
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        stale.append(path.name)
        if "--check" not in sys.argv:
            path.write_text(text, encoding="utf-8")
    if stale and "--check" in sys.argv:
        print(f"not up to date: {', '.join(stale)}; run `make docs`", file=sys.stderr)  # noqa: T201
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
