"""`eval show`: what was asked in one case of a run, what came back, and how it was scored."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from textwrap import indent
from typing import Annotated, Any

import typer

from preflight_rag.cli import show
from preflight_rag.cli.main import JsonOption
from preflight_rag.evaluation.records import json_lines
from preflight_rag.state.errors import UsageError

RESULTS = "results.jsonl"
SHOWN = ("experiment", "dataset", "id", "question", "kind", "options", "right", "answers", "passages", "arms")
"""Fields of a case that have a place of their own; what else a row holds stands below them."""


def show_case(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A folder that --out of a run named.")],
    case: Annotated[str, typer.Argument(metavar="CASE", help="The case's id.")],
    arm: Annotated[str | None, typer.Option("--arm", help="Only this arm.")] = None,
    dataset: Annotated[str | None, typer.Option("--dataset", help="Only of this data set.")] = None,
    json: JsonOption = False,
) -> None:
    """Show one case of a run: the prompts, the passages, the route, the reply, and the score with its reason."""
    rows = [row for row in _cases(run, case) if dataset in (None, row.get("dataset"))]
    if not rows:
        raise UsageError(f"the case {case!r} is not in the data set {dataset!r}", help="Leave --dataset out.")
    for row in rows:
        arms = row.get("arms", {})
        if arm is not None:
            if arm not in arms:
                raise UsageError(f"the case has no arm {arm!r}", help=f"Choose {' or '.join(arms) or 'none'}.")
            row["arms"] = {arm: arms[arm]}
    if json:
        show.as_json(rows)
        return
    for row in rows:
        typer.echo("\n".join(described(row)))


def _cases(run: Path, case: str) -> list[dict[str, Any]]:
    """The rows of a case: one for each experiment and data set that has it."""
    path = run / RESULTS if run.is_dir() else run
    if not path.is_file():
        raise UsageError(f"there is no {RESULTS} in {str(run)!r}", help="Give the folder that --out named.")
    rows = [row for _, row in json_lines(path)]
    found = [row for row in rows if str(row.get("id")) == case]
    if not found:
        known = ", ".join(str(row.get("id")) for row in rows[:3])
        raise UsageError(f"there is no case {case!r} in {str(path)!r}", help=f"It has {len(rows)}, as {known}.")
    return found


def described(row: dict[str, Any]) -> Iterator[str]:
    """The lines that show a row of `results.jsonl`."""
    yield f"{row.get('experiment', '')}: {row.get('dataset', '')}, case {row.get('id')}"
    yield f"\nQuestion ({row.get('kind', 'question')}): {row.get('question', '')}"
    for place, option in enumerate(row.get("options") or []):
        yield f"  {chr(ord('A') + place)}. {option}{'   <- right' if option == row.get('right') else ''}"
    for names in row.get("answers") or []:
        yield f"  right: {' | '.join(names)}"
    yield from _passages("Passages", row.get("passages") or [])
    for name, arm in (row.get("arms") or {}).items():
        yield from _arm(name, arm)
    for name, value in row.items():
        if name not in SHOWN:
            yield f"\n{name}: {_short(value)}"


def _passages(title: str, passages: list[dict[str, Any]]) -> Iterator[str]:
    if passages:
        yield f"\n{title}:"
    for n, passage in enumerate(passages, 1):
        role = f" ({passage['role']})" if passage.get("role") else ""
        yield f"  [{n}] {passage['id']}{role} {passage.get('title', '')}".rstrip()
        yield indent(str(passage.get("text", "")), "      ")


def _arm(name: str, arm: dict[str, Any]) -> Iterator[str]:
    yield f"\n=== {name}: score {arm.get('score')}: {arm.get('reason', '')}"
    for field in ("route", "choice", "fallback", "error"):
        if arm.get(field) not in (None, ""):
            yield f"{field}: {arm[field]}"
    yield from _passages("Passages of this arm", arm.get("passages") or [])
    for number, call in enumerate(arm.get("calls") or [], 1):
        yield f"\n--- prompt {number}"
        for message in call["messages"]:
            yield f"{message['role']}:\n{indent(message['content'], '  ')}"
        tokens = f"{call.get('input_tokens', 0)} + {call.get('output_tokens', 0)} tokens"
        yield f"--- reply {number} ({call.get('finish_reason') or call.get('error')}, {tokens})"
        yield indent(str(call.get("text", "")), "  ")
    yield f"\nAnswer:\n{indent(str(arm.get('reply', '')), '  ')}"
    for n, quote in arm.get("quotes") or []:
        yield f'  [{n}] "{quote}"'


def _short(value: Any) -> str:
    import json

    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
