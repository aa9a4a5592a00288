"""What is claimed of tables in filings without a model: `python benchmarks/table_claims.py FOLDER [--library LIBRARY]`.

FOLDER has PDFs of FinanceBench, named COMPANY_YEAR... Rows with a label of words and a column that names one year are
drawn from their tables, and asked of the product as somebody would who knows the figure's name: "What was Boeing's
operating income in 2021?" Three kinds of questions:

- there: the company's own row and year;
- another company: a row's label, asked of a company whose filings have no row with all of its words;
- another year: a row that is there, in a year that no column of the company's filings names.

A claim (outcome "answered" with a short answer) is right where the company has a row called so with that figure in that
year's column; for the two other kinds every claim is wrong. Prints the shares and each claim that was not right.
"""

from __future__ import annotations

import argparse
import random
import re
import tempfile
from collections import Counter, defaultdict
from pathlib import Path

from evaluation.intervals import wilson
from preflight_rag import Preflight
from preflight_rag.library import Library
from preflight_rag.text.tables import parse_row
from preflight_rag.text.words import words

NAMES = {
    "ADOBE": "Adobe", "AMAZON": "Amazon", "AMCOR": "Amcor", "AMERICANEXPRESS": "American Express",
    "BESTBUY": "Best Buy", "BOEING": "Boeing", "FOOTLOCKER": "Foot Locker", "JOHNSON_JOHNSON": "Johnson & Johnson",
    "MGMRESORTS": "MGM Resorts", "PEPSICO": "PepsiCo", "PFIZER": "Pfizer", "ULTABEAUTY": "Ulta Beauty",
}  # fmt: skip
LABEL = re.compile(r"[A-Z][a-z]+(?: [a-z]+){1,4}")
YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")
FIGURE = re.compile(r"[($ ]*\d[\d,.]*[)% ]*")
ABSENT_YEARS = range(2001, 2009)

Figures = dict[str, dict[tuple[str, str], set[str]]]
"""The figures of each company by label, in lower case, and year."""
Labels = dict[str, list[frozenset[str]]]
"""The words of each row's label, by company."""


def figures_of(library: Library) -> tuple[Figures, Labels]:
    """Return each company's figures whose column names one year, and the labels of all rows."""
    found: Figures = defaultdict(lambda: defaultdict(set))
    labels: Labels = defaultdict(list)
    for passage in library.passages(library.all_passage_ids()):
        company = next((name for key, name in NAMES.items() if Path(passage.source).name.upper().startswith(key)), None)
        for line in passage.text.split("\n") if company else ():
            row = parse_row(line.strip())
            label = re.sub(r" *\([^)]*\)", "", row.cells[0].text).strip() if row else ""
            if row is None or company is None:
                continue
            labels[company].append(frozenset(words(row.cells[0].text)))
            if not LABEL.fullmatch(label):
                continue
            for cell in row.cells[1:]:
                years = set(YEAR.findall(cell.column))
                if len(years) == 1 and FIGURE.fullmatch(cell.text):
                    found[company][label.lower(), *years].add(plain(cell.text))
    return found, labels


def plain(figure: str) -> str:
    """Return a figure's digits with the signs that make it another figure: point, bracket, per cent."""
    return re.sub(r"[^\d.(%]", "", figure).rstrip("(")


def questions(figures: Figures, labels: Labels, count: int, rng: random.Random) -> list[tuple[str, str, set[str]]]:
    """Questions with their kind and the figures that answer them, `count` of each kind."""
    there = [(company, *key) for company, of_it in figures.items() for key in of_it]
    drawn: dict[str, tuple[str, set[str]]] = {}
    for kind in ("there", "another company", "another year"):
        rng.shuffle(there)
        added = 0
        for company, label, year in there:
            gold = figures[company][label, year] if kind == "there" else set()
            if kind == "another company":
                of_label = frozenset(words(label))
                others = sorted(name for name in figures if not any(of_label <= each for each in labels[name]))
                if not others:
                    continue
                company = rng.choice(others)
            elif kind == "another year":
                year = str(rng.choice(ABSENT_YEARS))
            verb = "were" if label.endswith("s") else "was"
            asked = f"What {verb} {company}'s {label} in {year}?"
            if asked not in drawn:
                drawn[asked] = kind, gold
                added += 1
            if added == count:
                break
    return [(asked, kind, gold) for asked, (kind, gold) in drawn.items()]


def main() -> None:
    """Ask, judge, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="PDFs of FinanceBench")
    parser.add_argument("--library", type=Path, help="kept and used again; else a temporary one")
    parser.add_argument("--count", type=int, default=60, help="questions of each kind")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.library or Path(temporary) / "library"
        with Library.open(folder, create=True) as library:
            library.ingest([given.folder])
            asked = questions(*figures_of(library), given.count, random.Random(given.seed))
        claims, right = Counter[str](), Counter[str]()
        with Preflight.open(folder, "offline") as app:
            for question, kind, gold in asked:
                answer = app.ask(question)
                if answer.outcome != "answered":
                    continue
                claims[kind] += 1
                if plain(answer.short_answer or "") in gold:
                    right[kind] += 1
                else:
                    print(f"not right ({kind}): {question} {answer.short_answer}; {sorted(gold)}")
                    print("   ", answer.citations[0].title, "|", answer.citations[0].quote)
    asked_of = Counter(kind for _, kind, _ in asked)
    print("\n| questions | asked | claimed | of the claims right |\n| --- | ---: | ---: | ---: |")
    for kind, count in asked_of.items():
        print(f"| {kind} | {count} | {claims[kind]} | {right[kind]} |")
    print(f"\nclaims that are right: {wilson(sum(right.values()), sum(claims.values()))}")


if __name__ == "__main__":
    main()
