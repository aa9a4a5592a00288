"""What COrg costs in calls and in time: relation calls against pairs, groups in parallel against one.

    python benchmarks/corg.py [--delay 0.3]

A scripted server answers each model call after a fixed delay: relations from a table of facts, groups with one line for
each of their passages. The peer of the relation calls is asking about every pair. Read the ratios.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from langchain_openai import ChatOpenAI  # noqa: E402

from preflight_rag import Answer, Preflight  # noqa: E402
from preflight_rag.corg.relation_graph import related  # noqa: E402
from preflight_rag.library import Library  # noqa: E402
from preflight_rag.models.chat.chat_reader import ChatReader  # noqa: E402
from preflight_rag.state.reading import ContextNote  # noqa: E402
from preflight_rag.state.values import Document  # noqa: E402
from preflight_rag.testing.scripted_server import ScriptedServer, prompt_of  # noqa: E402

QUESTION = "How many people live in Broken Bow?"
PLACES = ("Nebraska", "Oklahoma", "Texas", "Ohio")
_SAYS = re.compile(r"Broken Bow in (\w+) has (\d+) people")


def reply(body: dict[str, Any]) -> str:
    """Return the scripted reply of a model that reads every context rightly."""
    prompt = prompt_of(body)
    facts = [ContextNote(n, "", *match.groups()) for n, match in enumerate(_SAYS.finditer(prompt), 1)]
    if "Context2\n" in prompt:
        return "\n".join(f"Context{fact.n} - {related(facts[0], fact).capitalize()}" for fact in facts[1:])
    ranks = re.findall(r'<passage n="(\d+)"', prompt)
    return "\n".join(f"{f.descriptor}: {f.answer} [{rank}]" for f, rank in zip(facts, ranks, strict=True))


def answers(facts: list[tuple[str, int]], delay: float) -> list[Answer]:
    """Five turns over documents that say these facts, on the COrg route."""
    with tempfile.TemporaryDirectory() as temporary, ScriptedServer(reply, delay=delay) as server:
        folder = Path(temporary) / "library"
        with Library.open(folder, create=True) as library:
            library.add(
                Document(id=str(n), source=str(n), text=f"Broken Bow in {place} has {people} people. Count {n}.")
                for n, (place, people) in enumerate(facts)
            )
        reader = ChatReader(ChatOpenAI(base_url=server.url, api_key="k", model="scripted", max_retries=0))
        with Preflight.open(folder, reader, route="corg") as app:
            app.ask(QUESTION, thread_id="warm")
            return [app.ask(QUESTION, thread_id=f"t{i}") for i in range(5)]


def relation_calls(delay: float) -> list[tuple[str, str, str]]:
    """Relation calls for contexts of c descriptors, against pairs."""
    rows = []
    for count, classes in ((8, 3), (12, 4), (16, 4)):
        facts = [(PLACES[i % classes], 1000 + i // classes // 2) for i in range(count)]
        stage = answers(facts, delay)[0].receipt.by_stage["relate_contexts"]
        found = f"{stage.calls} calls ({count * (count - 1) // 2} pairs)"
        rows.append((f"relations of {count} contexts of {classes} descriptors", found, f"<= {classes + 1} calls"))
    return rows


def parallel_groups(delay: float) -> list[tuple[str, str, str]]:
    """Measure the stage `answer_group` for several groups against the time of one reply."""
    rows = []
    for groups in (2, 4, 8):
        found = answers([("Nebraska", 1000 + i) for i in range(groups)], delay)
        seconds = median(answer.receipt.by_stage["answer_group"].seconds for answer in found)
        assert found[0].receipt.by_stage["answer_group"].calls == groups
        rows.append((f"{groups} groups", f"{seconds / delay:.2f} x one reply of {delay:g} s", "<= 1.5 x"))
    return rows


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--delay", type=float, default=0.3)
    delay = parser.parse_args().delay
    print("| what | measured | wanted |\n| --- | --- | --- |")
    for row in relation_calls(0.0) + parallel_groups(delay):
        print("| " + " | ".join(row) + " |")


if __name__ == "__main__":
    main()
