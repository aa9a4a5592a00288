"""Whether turns with a real model end in the time that a person has set, with an answer or what the documents say.

    preflight ingest preflight_rag/demo --library demo-library
    python benchmarks/real_turns.py demo-library benchmarks/demo_questions.txt --model gguf:PATH --rows turns.jsonl

Each question is asked on each route, with the settings as they are shipped. Each row of `--rows` is one turn; what
stands there is not asked again, so that a run that was ended goes on. A turn ends by its model where the answer is the
model's, whole or marked as incomplete; else by the documents, where it gives way to what these say. With an empty cache
folder (`PREFLIGHT_CACHE`) the first turn's model is one whose speed nobody knows. Whether answers are right is not
judged.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from preflight_rag import Preflight
from preflight_rag.models.chat.chat_reader import ChatReader
from preflight_rag.state.errors import PreflightError
from preflight_rag.state.values import Answer

ROUTES = ("plain", "map-reduce", "corg")


def turn(app: Preflight, question: str, route: str) -> dict[str, Any]:
    """Ask once, and return how it ended."""
    reader = app.reader
    known = reader.speed() if isinstance(reader, ChatReader) else None
    began = time.perf_counter()
    row: dict[str, Any] = {"question": question, "route": route, "speed": known.model_dump() if known else None}
    try:
        answer = app.ask(question, route=route)
    except PreflightError as error:
        return {**row, "ended": "error", "seconds": time.perf_counter() - began, "error": str(error)}
    return {**row, "seconds": time.perf_counter() - began, **_end(answer)}


def _end(answer: Answer) -> dict[str, Any]:
    """Return the row of a turn that ended: how, by which route, with what citations, cost and gaps."""
    by_documents = any(gap.stage in ("model", "budget") for gap in answer.gaps)
    return {
        "ended": "documents" if by_documents else "model",
        "outcome": answer.outcome,
        "way": answer.route.name,
        "incomplete": answer.incomplete,
        "marks": len(answer.citations),
        "verified": sum(citation.verified for citation in answer.citations),
        "calls": answer.receipt.model_calls,
        "tokens": answer.receipt.input_tokens + answer.receipt.output_tokens,
        "gaps": [f"{gap.stage}: {gap.error}" for gap in answer.gaps],
        "error": "",
    }


def read_rows(path: Path) -> list[dict[str, Any]]:
    """Return the rows that were written so far."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


def table(rows: Sequence[dict[str, Any]], seconds: float) -> str:
    """Return a line for each route."""
    lines = []
    for route in dict.fromkeys(row["route"] for row in rows):
        own = [row for row in rows if row["route"] == route]
        ends = {end: sum(row["ended"] == end for row in own) for end in ("model", "documents", "error")}
        times = sorted(row["seconds"] for row in own)
        late = sum(each > seconds for each in times)
        shown = ", ".join(f"{count} by {end}" for end, count in ends.items())
        lines.append(
            f"{route:11} {len(own) - late} of {len(own)} within {seconds:g} s ({shown}); "
            f"median {times[len(times) // 2]:.0f} s, longest {times[-1]:.0f} s"
        )
    return "\n".join(lines)


def main() -> None:
    """Read the options, ask what is missing, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library", type=Path)
    parser.add_argument("questions", type=Path)
    parser.add_argument("--model", required=True)
    parser.add_argument("--rows", type=Path, default=Path("real-turns.jsonl"))
    parser.add_argument("--limit", type=int, default=20, help="questions of each route")
    parser.add_argument("--seconds", type=float, default=60.0, help="answer_seconds, and what is counted as in time")
    given = parser.parse_args()
    rows = read_rows(given.rows)
    done = {(row["question"], row["route"]) for row in rows}
    questions = [line for line in given.questions.read_text(encoding="utf-8").splitlines() if line.strip()]
    with (
        Preflight.open(given.library, given.model, answer_seconds=given.seconds) as app,
        given.rows.open("a", encoding="utf-8") as file,
    ):
        for question, route in ((each, route) for each in questions[: given.limit] for route in ROUTES):
            if (question, route) not in done:
                rows.append({**turn(app, question, route), "load": round(os.getloadavg()[0], 1)})
                file.write(json.dumps(rows[-1]) + "\n")
                file.flush()
    sys.stdout.write(table(rows, given.seconds) + "\n")


if __name__ == "__main__":
    main()
