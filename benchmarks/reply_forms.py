"""Whether a real model's replies can be used: asked for as text, and by a JSON schema.

    preflight ingest preflight_rag/demo --library demo-library
    python benchmarks/reply_forms.py demo-library benchmarks/demo_questions.txt --model gguf:PATH --rows rows.jsonl

QUESTIONS is a file with a question a line. Each row of `--rows` is one reply; what stands there is not asked again, so
that a run that was ended goes on. An answer is from the three passages that rank first (route plain), an extract from
the first two (map/reduce), relations are of the first three (COrg). An extract or an answer can be used where it says
that there is nothing, or cites passages, and none that it was not given; relations where all three contexts are noted
and both others related. Quotes are of answers: how many there are, and how many stand word for word in the passage that
they name. What a reply says is not judged, and one that is cut by --deadline says little of its form.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from preflight_rag import Preflight
from preflight_rag.models.chat.chat_models import model_name, open_chat_model
from preflight_rag.models.chat.chat_reader import ChatReader
from preflight_rag.models.unfinished import unfinished
from preflight_rag.state.context import ReplyForm
from preflight_rag.state.errors import ModelError
from preflight_rag.state.reading import Source
from preflight_rag.state.values import Usage
from preflight_rag.text.citations import MARK

FORMS: tuple[ReplyForm, ...] = ("text", "schema")
STAGES = ("answer", "extract", "relate")


def cites(text: str, passages: int) -> bool:
    """Return whether a text cites passages, and none that does not exist."""
    named = {int(number) for number in MARK.findall(text)}
    return bool(named) and named <= set(range(1, passages + 1))


def found(quotes: Sequence[tuple[int, str]], sources: Sequence[Source]) -> int:
    """Return how many quotes stand word for word in their passage, whatever its line breaks."""
    texts = {source.n: " ".join(source.text.split()) for source in sources}
    return sum(" ".join(quote.split()) in texts.get(n, "") for n, quote in quotes)


async def measured(reader: ChatReader, stage: str, question: str, sources: list[Source]) -> dict[str, Any]:
    """What a stage's reply was worth, and what it cost."""
    began, row = time.perf_counter(), {"usable": False, "quotes": 0, "found": 0, "error": ""}
    try:
        if stage == "answer":
            try:
                answer = await reader.answer(question=question, sources=sources)
            except ModelError as error:  # as a turn does with a reply that did not come to its end
                answer, row["error"] = unfinished(error), error.message
            usage, draft = answer.usage, answer.value
            row["usable"] = not draft.found or cites(draft.text, 3)
            row["quotes"], row["found"] = len(draft.quotes), found(draft.quotes, sources)
        elif stage == "extract":
            extract = await reader.extract(question=question, sources=sources[:2])
            usage, text = extract.usage, extract.value.text
            row["usable"] = not text or cites(text, 2)
        else:
            related = await reader.relate(question=question, pivot=sources[0], others=sources[1:])
            usage, notes = related.usage, set(related.value.notes)
            row["usable"] = set(related.value.kinds) == {2, 3} and notes == {1, 2, 3}
    except ModelError as error:
        usage, row["error"] = Usage.of_failed(error.spent), error.message
    return {**row, "calls": usage.calls, "tokens": usage.output_tokens, "seconds": time.perf_counter() - began}


def read_rows(path: Path) -> list[dict[str, Any]]:
    """The rows that are there; the last one may be half a line."""
    rows = []
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        try:
            rows.append(json.loads(line))
        except ValueError:
            continue
    return rows


def table(rows: Sequence[dict[str, Any]]) -> str:
    """A line for each model, stage and form."""
    lines = []
    for key in sorted({(row["model"], row["stage"], row["form"]) for row in rows}):
        own = [row for row in rows if (row["model"], row["stage"], row["form"]) == key]
        good, calls, tokens, quotes, right = (
            sum(row[name] for row in own) for name in ("usable", "calls", "tokens", "quotes", "found")
        )
        seconds = sorted(row["seconds"] for row in own)[len(own) // 2]
        what = f"{key[0]:28} {key[1]:8} {key[2]:7} {good} of {len(own)} usable, {calls / len(own):.2f} calls"
        quoted = f", {right} of {quotes} quotes found" if key[1] == "answer" else ""
        lines.append(f"{what}, {tokens / len(own):.0f} tokens, {seconds:.0f} s (median){quoted}")
    return "\n".join(lines)


async def run(given: argparse.Namespace) -> None:
    """Ask what is missing of the rows, and print the table."""
    name = model_name(given.model)
    model = open_chat_model(name, context_window=given.context)
    readers = {form: ChatReader(model, form=form, deadline=given.deadline) for form in FORMS}
    shown, rows = readers["text"].name, read_rows(given.rows)
    done = {(row["model"], row["question"], row["stage"], row["form"]) for row in rows}
    questions = [line for line in given.questions.read_text(encoding="utf-8").splitlines() if line.strip()]
    with Preflight.open(given.library, "offline") as app, given.rows.open("a", encoding="utf-8") as file:
        for question in questions[: given.limit]:
            wanted = [(stage, form) for stage in given.stage or STAGES for form in FORMS]
            if missing := [each for each in wanted if (shown, question, *each) not in done]:
                hits = app.search(question, k=3).selected
                passages = app.library.passages([hit.passage_id for hit in hits])
                sources = [Source.of(passage, n) for n, passage in enumerate(passages, 1)]
            for stage, form in missing:
                found_out = await measured(readers[form], stage, question, sources)
                row = {"model": shown, "question": question, "stage": stage, "form": form, **found_out}
                rows.append(row)
                file.write(json.dumps(row) + "\n")
                file.flush()
    sys.stdout.write(table(rows) + "\n")


def main() -> None:
    """Read the options."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library", type=Path)
    parser.add_argument("questions", type=Path)
    parser.add_argument("--model", default="openai:")
    parser.add_argument("--rows", type=Path, default=Path("reply-forms.jsonl"))
    parser.add_argument("--stage", action="append", choices=STAGES)
    parser.add_argument("--limit", type=int, default=40, help="questions")
    parser.add_argument(
        "--deadline",
        type=float,
        default=240.0,
        help="seconds of a call",
    )
    parser.add_argument("--context", type=int, default=4096, help="tokens of a call, of a model in this process")
    asyncio.run(run(parser.parse_args()))


if __name__ == "__main__":
    main()
