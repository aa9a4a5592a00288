"""Whether a real model's extracts and relations can be used: asked for as text, and by a JSON schema.

    OPENAI_BASE_URL=http://127.0.0.1:8080/v1 python benchmarks/reply_forms.py LIBRARY QUESTIONS [--model openai:]

QUESTIONS is a file with a question a line. An extract is of the two passages that rank first; it can be used where each
of its marks names one of these, or where it says that there is nothing. Relations are of the first three; they can be
used where all three are noted and both others related. What the reply says is not judged.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from collections import defaultdict
from pathlib import Path

from preflight_rag import Preflight
from preflight_rag.models.chat.chat_models import model_name, open_chat_model
from preflight_rag.models.chat.chat_reader import ChatReader
from preflight_rag.state.errors import ModelError
from preflight_rag.state.reading import Extract, Reply, Source
from preflight_rag.state.values import Usage
from preflight_rag.text.citations import MARK

FORMS = ("text", "schema")


def usable(extract: Extract, numbers: set[int]) -> bool:
    """Whether an extract says nothing, or names passages that there are and no others."""
    named = {int(number) for number in MARK.findall(extract.text)}
    return not extract.text or (bool(named) and named <= numbers)


async def measured(reader: ChatReader, stage: str, question: str, sources: list[Source]) -> tuple[bool, Usage]:
    """Whether a stage's reply can be used, and what it cost."""
    try:
        if stage == "extract":
            reply: Reply[Extract] = await reader.extract(question=question, sources=sources[:2])
            return usable(reply.value, {1, 2}), reply.usage
        related = await reader.relate(question=question, pivot=sources[0], others=sources[1:])
    except ModelError as error:
        return False, Usage.of_failed(error.spent)
    kinds, notes = set(related.value.kinds), set(related.value.notes)
    return kinds == {2, 3} and notes == {1, 2, 3}, related.usage


async def run(given: argparse.Namespace) -> None:
    """Print the sums after each question."""
    model = open_chat_model(model_name(given.model))
    readers = {form: ChatReader(model, form=form, deadline=given.deadline) for form in FORMS}
    sums: dict[tuple[str, str], list[float]] = defaultdict(lambda: [0.0] * 5)
    with Preflight.open(given.library, "offline") as app:
        for question in given.questions.read_text(encoding="utf-8").splitlines():
            hits = app.search(question, k=3).selected
            passages = app.library.passages([hit.passage_id for hit in hits])
            sources = [Source.of(passage, n) for n, passage in enumerate(passages, 1)]
            for stage in ("extract", "relate"):
                for form in FORMS:
                    began = time.perf_counter()
                    ok, usage = await measured(readers[form], stage, question, sources)
                    row = (1, ok, usage.calls, usage.output_tokens, time.perf_counter() - began)
                    sums[stage, form] = [a + b for a, b in zip(sums[stage, form], row, strict=True)]
            for (stage, form), (count, good, calls, tokens, seconds) in sums.items():
                line = f"{stage:8} {form:7} {good:.0f} of {count:.0f} usable, {calls:.0f} calls"
                sys.stdout.write(f"{line}, {tokens:.0f} tokens written, {seconds:.0f} s\n")
            sys.stdout.flush()


def main() -> None:
    """Read the options."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library", type=Path)
    parser.add_argument("questions", type=Path)
    parser.add_argument("--model", default="openai:")
    parser.add_argument("--deadline", type=float, default=90.0)
    asyncio.run(run(parser.parse_args()))


if __name__ == "__main__":
    main()
