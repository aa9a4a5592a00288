"""Eighty questions as people ask them, and what a search for each has to hold on to: written by reading the questions.

`ladder_questions.tsv` has a line for each: who asks; the question; its core concepts, which stay whole and stay in
every rung that joins by AND; modifiers, which may be in the first rungs and leave before any core concept does; words
that are no subject (verbs, the asker, courtesy) and stand in no rung. What is in none of them may be kept or left out.
"""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass
from pathlib import Path

from preflight_rag.text.boolean import Expression, SearchTerm, parse


@dataclass(frozen=True)
class LadderQuestion:
    """One question with what its ladder has to keep, may drop, and must not hold."""

    asker: str
    question: str
    core: tuple[str, ...]
    modifiers: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()


def _listed(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(";") if part.strip())


def _read(part: str) -> tuple[LadderQuestion, ...]:
    """Return the rows of a part of the table: one line each, its phrases with a semicolon between them."""
    with Path(__file__).with_suffix(".tsv").open(encoding="utf-8", newline="") as file:
        return tuple(
            LadderQuestion(
                row["asker"], row["question"], *(_listed(row[name]) for name in ("core", "modifiers", "gone"))
            )
            for row in csv.DictReader(file, delimiter="\t")
            if row["part"] == part
        )


QUESTIONS = _read("seen")
"""The rules' words were chosen with these in view."""
NEW_QUESTIONS = _read("new")
"""Nothing was chosen on these, but for the first two of the lay ones, which were reported as faults."""


RULES = (
    "every core concept is in the first rung",
    "core concepts stay whole",
    "modifiers leave before core concepts",
    "every core concept stays in every rung",
    "no verbs, askers or courtesy",
    "the last rung is an OR of the core, or the one core concept",
    "no quotation marks",
)


def rules_kept(row: LadderQuestion, ladder: tuple[str, ...]) -> dict[str, bool]:
    """Which of the rules a ladder keeps, all of them said of words and parsed expressions."""
    if not ladder:
        return dict.fromkeys(RULES, False)
    trees = [parse(text) for text in ladder]
    *joined, last = [[_words(term.text) for term in _terms(tree)] for tree in trees]
    joined = joined or [last]
    needed_terms = [[_words(term.text) for term in _needed(tree)] for tree in trees[:-1] or trees]
    core, modifiers = ([_words(text) for text in part] for part in (row.core, row.modifiers))
    words_of_core = {word for phrase in core for word in phrase}
    every = [word for terms in (*joined, last) for term in terms for word in term]

    def held(phrase: list[str], terms: list[list[str]]) -> bool:
        return any(_inside(phrase, term) for term in terms)

    def cut(phrase: list[str], terms: list[list[str]]) -> bool:
        others = [word for other in core if other != phrase for word in other]
        own = [word for word in phrase if word not in others]
        return not held(phrase, terms) and any(word in term for word in own for term in terms)

    gone = [word for text in row.gone for word in _words(text) if word not in words_of_core]
    return dict(
        zip(
            RULES,
            (
                all(held(phrase, joined[0]) for phrase in core),
                not any(cut(phrase, terms) for phrase in core for terms in joined),
                not any(
                    held(modifier, terms) and not all(held(phrase, needed) for phrase in core)
                    for modifier in modifiers
                    for terms, needed in zip(joined, needed_terms, strict=True)
                ),
                all(held(phrase, terms) for phrase in core for terms in (*joined, last)),
                not any(word in every for word in gone),
                all(held(phrase, last) for phrase in core)
                and (len(core) == len(last) == 1 or getattr(trees[-1], "operator", "") == "OR"),
                not any(term.phrase and len(term.text.split()) > 1 for tree in trees for term in _terms(tree)),
            ),
            strict=True,
        )
    )


def _words(text: str) -> list[str]:
    return re.findall(r"[^\W_]+", text.casefold())


def _inside(phrase: list[str], term: list[str]) -> bool:
    return any(term[at : at + len(phrase)] == phrase for at in range(len(term) - len(phrase) + 1))


def _terms(tree: Expression) -> list[SearchTerm]:
    if isinstance(tree, SearchTerm):
        return [tree]
    return [term for part in tree.parts for term in _terms(part)]


def _needed(tree: Expression) -> list[SearchTerm]:
    """The terms that every match holds, none of which is an alternative to another."""
    if isinstance(tree, SearchTerm):
        return [tree]
    return [term for part in tree.parts for term in _needed(part)] if tree.operator == "AND" else []
