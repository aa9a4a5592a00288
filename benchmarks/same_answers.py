"""Whether a change changes answers: 200 questions over the demo, BioASQ and RAMDocs, asked before and after it.

    python benchmarks/same_answers.py write before.jsonl --libraries DIR [--data DIR] [--each N]
    python benchmarks/same_answers.py write after.jsonl --libraries DIR
    python benchmarks/same_answers.py compare before.jsonl after.jsonl

Asked is the product without a model, each question in a conversation of its own, most by the automatic route, some by
each of the others. A line holds the answer's JSON without times and names of conversations; figures have four decimals.
`compare` prints what differs and ends with 1 where something does. Libraries are built where they are not there yet; to
see what a change of ingestion does, give another DIR.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import preflight_rag
from evaluation.datasets import QUESTIONS, open_dataset
from evaluation.samples import digest, sampled
from preflight_rag import Preflight
from preflight_rag.state.errors import PreflightError

EACH = 80
"""Questions of BioASQ and of RAMDocs, by the hashes of their ids."""
OTHERS = 1200
"""Documents of BioASQ beside those that answer: enough to be mistaken for them, and embedded in two minutes."""
ROUTES = ("auto", "auto", "auto", "plain", "map-reduce", "corg")
DIFFERENT = ("seconds", "thread_id")
"""What differs from run to run."""
SHOWN = 6
"""Differences of a question that are printed."""
DEMO = (
    "Which planet is the hottest?", "Which discovery was made by chance?", "How many people live in Broken Bow?",
    "What is the capital of Georgia?", "How tall is the Eiffel Tower?", "How many moons does Saturn have?",
    "Is the Great Red Spot on Jupiter?", "Who invented the telephone?", "What is mercury?", "Why is the sky blue?",
    "Do dolphins sleep?", "How high is Everest?", "What is the capital of France?", "What causes tides?",
    "How does an octopus change colour?", "Is a cold caused by bacteria?", "What is Springfield the capital of?",
    "When was the printing press invented?", "How deep is Lake Baikal?", "What is the normal heart rate?",
    "How do I bleed a radiator?", "How hard is diamond?", "hello", "thanks!", "Does rust need water?",
    "What did Fleming discover?", "Which element is liquid at room temperature?", "What is scurvy?",
    "Who was the first American in space?", "How do owls hunt?", "Does yeast make bread rise?",
    "what is the populaton of broken bow", "Which of the two is larger?", "What stops a nosebleed?",
    "How far away is the moon from Springfield?", "Was Mercury named after a god?", "How fast do penguins dive?",
    "Which are the moons of Venus?", "What is dark matter made of?",
    "Which town has more people, Broken Bow in Nebraska or in Oklahoma?",
)  # fmt: skip


def write(out: Path, libraries: Path, data: Path, each: int) -> None:
    """Ask every question and write a line for each."""
    with out.open("w", encoding="utf-8") as lines:
        for name, questions, documents in collections(libraries, data, each):
            folder = libraries / name
            if not folder.exists():
                with Preflight.open(folder, "offline", create=True) as app:
                    app.ingest([documents])
            with Preflight.open(folder, "offline") as app:
                for number, question in enumerate(questions):
                    route = ROUTES[number % len(ROUTES)]
                    thread = f"{out.stem}-{os.getpid()}-{number}"
                    try:
                        answer = app.ask(question, thread_id=thread, route=route).model_dump(mode="json", by_alias=True)
                    except PreflightError as error:
                        answer = {"error": type(error).__name__, "message": str(error)}
                    line = {"set": name, "question": question, "route": route, "answer": lasting(answer, libraries)}
                    lines.write(json.dumps(line, sort_keys=True, ensure_ascii=False) + "\n")
                    sys.stderr.write(f"\r{name}: {number + 1} of {len(questions)} ")
    sys.stderr.write("\n")


def collections(libraries: Path, data: Path, each: int) -> Iterator[tuple[str, list[str], Path]]:
    """Name, questions and the file or folder with the documents of each library."""
    files = libraries / "documents"
    demo = files / "demo"
    if not demo.exists():  # a copy, so that the documents' ids are the same in every clone
        shutil.copytree(Path(preflight_rag.__file__).parent / "demo", demo)
    yield "demo", list(DEMO[:each]), demo
    for name in ("bioasq", "ramdocs"):
        found = open_dataset(name, data, QUESTIONS)
        asked = sorted(found.samples, key=lambda sample: digest(sample.id))[:each]
        wanted = {document for sample in asked for document in sample.documents}
        wanted |= {given.id for sample in asked for given in sample.given}
        path = files / f"{name}.jsonl"
        if not path.exists():
            few = sampled(found, wanted, OTHERS + len(wanted)) if name == "bioasq" else found
            kept = (document for document in few.documents() if name == "bioasq" or document.id in wanted)
            rows = ({"id": each.id, "title": each.title, "text": each.text} for each in kept)
            path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        yield name, [sample.question for sample in asked], path


def lasting(value: Any, libraries: Path) -> Any:
    """Return a JSON value without what differs from run to run."""
    match value:
        case dict():
            return {key: lasting(part, libraries) for key, part in value.items() if key not in DIFFERENT}
        case list():
            return [lasting(part, libraries) for part in value]
        case float():
            return round(value, 4)
        case str():
            return value.replace(f"{libraries}/", "")
    return value


def compare(old: Path, new: Path) -> int:
    """Print what differs; how many questions do."""
    before, after = (
        {(line["set"], line["question"], line["route"]): line["answer"] for line in map(json.loads, path.open())}
        for path in (old, new)
    )
    different = 0
    for key in dict.fromkeys((*before, *after)):
        found = list(differences(before.get(key), after.get(key)))
        different += bool(found)
        if found:
            print(*key, sep=" | ")
        for place, first, second in found[:SHOWN]:
            print(f"    {place}: {first!s:.150} | {second!s:.150}")
    print(f"{different} of {len(before)} and {len(after)} questions differ")
    return different


def differences(old: Any, new: Any, place: str = "") -> Iterable[tuple[str, Any, Any]]:
    """Where two JSON values differ, with what stands there."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted(old.keys() | new.keys()):
            yield from differences(old.get(key, "(absent)"), new.get(key, "(absent)"), f"{place}.{key}".lstrip("."))
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for at, (first, second) in enumerate(zip(old, new, strict=True)):
            yield from differences(first, second, f"{place}[{at}]")
    elif old != new:
        yield place, old, new


def main() -> None:
    """Write answers, or compare them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    modes = parser.add_subparsers(dest="mode", required=True)
    asking = modes.add_parser("write", help="ask, and write a file")
    asking.add_argument("file", type=Path)
    asking.add_argument("--libraries", type=Path, required=True, help="where libraries are kept")
    asking.add_argument("--data", type=Path, default=os.environ.get("PREFLIGHT_DATA"), help="the data sets' folder")
    asking.add_argument("--each", type=int, default=EACH, help="questions of each set")
    comparing = modes.add_parser("compare", help="say what differs between two files")
    comparing.add_argument("old", type=Path)
    comparing.add_argument("new", type=Path)
    options = parser.parse_args()
    if options.mode == "compare":
        sys.exit(bool(compare(options.old, options.new)))
    if options.data is None:
        parser.error("give --data DIR or PREFLIGHT_DATA")
    libraries = options.libraries.resolve()
    (libraries / "documents").mkdir(parents=True, exist_ok=True)
    write(options.file, libraries, Path(options.data), options.each)


if __name__ == "__main__":
    main()
