"""How often the keyless reader claims a yes or a no to questions of BoolQ, and is right.

    python benchmarks/yes_no_claims.py --data DIR --library FOLDER [--limit 450]

The passages of the questions make one library. Asked are questions of the test part: those whose title's SHA-256 begins
with a byte that is 1 modulo 4, in the order of the file. DIR/boolq/dev.jsonl.gz is
github.com/google-research-datasets/boolean-questions. Each claim is printed with its sentence, to be read.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from preflight_rag import Preflight
from preflight_rag.library import Library
from preflight_rag.state.values import Document


def questions(data: Path, limit: int) -> list[dict[str, Any]]:
    """Return so many questions of the test part."""
    with gzip.open(data / "boolq" / "dev.jsonl.gz", "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    return [row for row in rows if hashlib.sha256(row["title"].encode()).digest()[0] % 4 == 1][:limit]


def documents(rows: Sequence[dict[str, Any]]) -> list[Document]:
    """Return each passage once."""
    found = {}
    for row in rows:
        name = hashlib.sha256(row["passage"].encode()).hexdigest()
        found[name] = Document(id=name, text=row["passage"], title=row["title"], source=row["title"])
    return list(found.values())


def main() -> None:
    """Ask, and print the claims and their number."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--library", type=Path, required=True)
    parser.add_argument("--limit", type=int, default=450)
    given = parser.parse_args()
    rows = questions(given.data, given.limit)
    claimed = right = 0
    with Library.open(given.library, create=True) as library:
        library.add(documents(rows))
    with Preflight.open(given.library, "offline") as app:
        for row in rows:
            answer = app.ask(f"{row['question'].capitalize()}?")
            if answer.short_answer not in ("Yes", "No"):
                continue
            is_right = (answer.short_answer == "Yes") == row["answer"]
            claimed, right = claimed + 1, right + is_right
            print("right" if is_right else "WRONG", "|", row["question"], "|", answer.citations[0].quote[:160])
    print(f"{claimed} of {len(rows)} questions claimed, {right} rightly")


if __name__ == "__main__":
    main()
