"""The ladders that rules make of forty lay and expert questions, and which rules of a good ladder they keep.

    python benchmarks/ladder.py [--questions]

The questions and what each ladder has to hold are in `tests/ladder_questions.py`, written by reading the questions. No
library and no MeSH file is used. With `--questions` every ladder is listed by its first and its last rung of AND.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from ladder_questions import QUESTIONS, RULES, rules_kept  # noqa: E402

from preflight_rag.text.concepts import rewrite_by_rules  # noqa: E402


def main() -> None:
    """Print the rules with how many questions' ladders keep each, and the ladders where they are asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--questions", action="store_true")
    given = parser.parse_args()
    ladders = {row.question: rewrite_by_rules(row.question).expressions for row in QUESTIONS}
    kept = [rules_kept(row, ladders[row.question]) for row in QUESTIONS]
    print(f"| rule | of {len(QUESTIONS)} questions |\n| --- | ---: |")
    for rule in RULES:
        print(f"| {rule} | {sum(rules[rule] for rules in kept)} |")
    print(f"| all of them | {sum(all(rules.values()) for rules in kept)} |")
    if given.questions:
        print("\n| question | first … last rung that joins by AND | not kept |\n| --- | --- | --- |")
        for row, rules in zip(QUESTIONS, kept, strict=True):
            joined = ladders[row.question][:-1] or ladders[row.question]
            rungs = " … ".join(f"`{rung}`" for rung in dict.fromkeys((joined[0], joined[-1])))
            missed = "; ".join(rule for rule, holds in rules.items() if not holds)
            print(f"| {row.question} | {rungs} | {missed} |")


if __name__ == "__main__":
    main()
