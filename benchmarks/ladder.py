"""The ladders that rules make of eighty lay and expert questions, and which rules of a good ladder they keep.

    python benchmarks/ladder.py [--questions]

The questions and what each ladder has to hold are in `tests/ladder_questions.tsv`, written by reading the questions. No
library and no MeSH file is used. With `--questions` every ladder is listed by its first and its last two rungs.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from ladder_questions import NEW_QUESTIONS, QUESTIONS, RULES, rules_kept  # noqa: E402

from preflight_rag.text.concepts import rewrite_by_rules  # noqa: E402


def main() -> None:
    """Print the rules with how many questions' ladders keep each, and the ladders where they are asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--questions", action="store_true")
    given = parser.parse_args()
    rows = (*QUESTIONS, *NEW_QUESTIONS)
    ladders = {row.question: rewrite_by_rules(row.question).expressions for row in rows}
    kept = {row.question: rules_kept(row, ladders[row.question]) for row in rows}
    columns = [[kept[row.question] for row in group] for group in (QUESTIONS, NEW_QUESTIONS)]
    print("| rule | of the 40 that rules were chosen with | of 40 others |\n| --- | ---: | ---: |")
    for rule in RULES:
        print(f"| {rule} | {' | '.join(str(sum(one[rule] for one in column)) for column in columns)} |")
    print(f"| all of them | {' | '.join(str(sum(all(one.values()) for one in column)) for column in columns)} |")
    if given.questions:
        print("\n| question | first … last two rungs | not kept |\n| --- | --- | --- |")
        for row in rows:
            ladder = ladders[row.question]
            rungs = " … ".join(f"`{rung}`" for rung in dict.fromkeys((ladder[0], *ladder[-2:])))
            rules = kept[row.question]
            missed = "; ".join(rule for rule, holds in rules.items() if not holds)
            print(f"| {row.question} | {rungs} | {missed} |")


if __name__ == "__main__":
    main()
