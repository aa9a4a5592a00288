"""Boolean search expressions in PubMed's syntax: a parser, conversion back to text, and expansion by synonyms.

As in PubMed, AND, OR and NOT are written in capitals and evaluated from left to right, parentheses first; adjacent
terms are joined by AND; quotation marks enclose a phrase; `[tiab]` and other field tags follow their term.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from preflight_rag.state.errors import UsageError

_TOKEN = re.compile(
    r"(?>(?:(?<!\s)\s++)?)(?:(?P<open>\()|(?P<close>\))|(?P<tag>\[[^\[\]]*\])|(?P<quote>[\"“”])(?P<phrase>[^\"“”]*)(?P<end>[\"“”]?)"
    r"|(?P<word>[^\s()\[\]\"“”]+)|(?P<stray>\S))"
)
_OPERATORS = ("AND", "OR", "NOT")
_HELP = 'Write it like ("statins" OR "simvastatin") AND "muscle pain".'
_DEEPEST = 50
"""Most nested operations, by parentheses or by changing operators: a guess, far beyond what people write and below
Python's own limit of recursion."""


@dataclass(frozen=True)
class SearchTerm:
    """A word, a phrase, or several words that must all occur, with its field tag (without brackets)."""

    text: str
    phrase: bool = False
    tag: str = ""


@dataclass(frozen=True)
class Operation:
    """`AND` or `OR` of all parts, or `NOT`: the first part without the others."""

    operator: Literal["AND", "OR", "NOT"]
    parts: tuple[SearchTerm | Operation, ...]


Expression = SearchTerm | Operation


def parse(expression: str) -> Expression:
    """Return the tree of an expression.

    Raises:
        UsageError: A parenthesis or quotation mark is not closed, an operator lacks a side, or there is no term.
    """
    return _Parser(expression).whole()


def written(expression: Expression) -> str:
    """Return a tree as an expression that parses to the same tree."""
    if isinstance(expression, SearchTerm):
        text = f'"{expression.text}"' if expression.phrase else expression.text
        return f"{text}[{expression.tag}]" if expression.tag else text
    # Several words without quotation marks stay together: PubMed maps them as one term, whatever is beside them.
    parts = [written(part) if _is_plain(part) else f"({written(part)})" for part in expression.parts]
    return f" {expression.operator} ".join(parts)


def _is_plain(part: Expression) -> bool:
    """Return whether a part is written without parentheses: one word, a phrase, or a term with a field tag."""
    return isinstance(part, SearchTerm) and (part.phrase or bool(part.tag) or " " not in part.text)


def expand(expression: str, alternatives: Callable[[str], Sequence[SearchTerm]]) -> str:
    """Return an expression in which each term without a field tag is joined by OR with its alternatives.

    Args:
        expression: An expression in PubMed's syntax.
        alternatives: Returns other terms for the same thing, from a term's text; e.g. `Mesh.alternatives`.

    Raises:
        UsageError: As `parse`.
    """

    def expanded(part: Expression) -> Expression:
        """Return a part of the tree with the alternatives added."""
        if isinstance(part, Operation):
            return Operation(part.operator, tuple(expanded(inner) for inner in part.parts))
        more = [] if part.tag else [term for term in alternatives(part.text) if not _same(term, part)]
        return Operation("OR", (part, *more)) if more else part

    return written(expanded(parse(expression)))


def quoted_phrases(expression: str) -> list[str]:
    """Return the phrases in quotation marks in an expression, without field tags.

    Raises:
        UsageError: As `parse`.
    """

    def phrases(part: Expression) -> Iterator[str]:
        """Yield the phrases in a part of the tree."""
        if isinstance(part, Operation):
            for inner in part.parts:
                yield from phrases(inner)
        elif part.phrase:
            yield part.text

    return list(phrases(parse(expression)))


def _same(a: SearchTerm, b: SearchTerm) -> bool:
    """Return whether two terms have the same text and tag, in any case."""
    return a.tag == b.tag and a.text.casefold() == b.text.casefold()


class _Parser:
    """Recursive descent over the tokens of one expression."""

    def __init__(self, expression: str) -> None:
        self.expression = expression
        self.tokens = list(_TOKEN.finditer(expression))
        self.kinds = [match["word"] if match["word"] in _OPERATORS else str(match.lastgroup) for match in self.tokens]
        self.at = 0

    def whole(self) -> Expression:
        """Return the tree of the whole expression."""
        tree, _ = self.sequence(0)
        if self.at < len(self.tokens):
            raise self.wrong("closes a parenthesis that was not opened")
        return tree

    def wrong(self, what: str) -> UsageError:
        """Return the error for an expression that cannot be read."""
        return UsageError(f"the search expression {self.expression!r} {what}", help=_HELP)

    def peek(self) -> str:
        """Return the kind of the next token: an operator, or the name of its group, or "" at the end."""
        if self.at >= len(self.tokens):
            return ""
        return self.kinds[self.at]

    def sequence(self, depth: int) -> tuple[Expression, int]:
        """Parse operands and operators up to a closing parenthesis or the end, from left to right.

        Returns:
            The parsed expression, and its depth of nested operations.
        """
        if depth > _DEEPEST:
            raise self.wrong(f"has more than {_DEEPEST} parentheses in each other")
        tree, height = self.operand(depth)
        parts: list[Expression] = [tree]
        last: Literal["AND", "OR", "NOT"] | None = None
        while (kind := self.peek()) and kind != "close":
            operator: Literal["AND", "OR", "NOT"] = "AND"
            if kind in _OPERATORS:
                operator = kind  # type: ignore[assignment]  # one of the three
                self.at += 1
                if operator == "AND" and self.peek() == "NOT":
                    operator = "NOT"
                    self.at += 1
            if operator != last:
                tree = Operation(last, tuple(parts)) if last else tree
                last = operator
                if isinstance(tree, Operation) and tree.operator == operator:
                    parts = list(tree.parts)
                else:
                    parts, height = [tree], height + 1
            part, higher = self.operand(depth)
            parts.append(part)
            height = max(height, higher + 1)
            if height > _DEEPEST:
                raise self.wrong(f"changes between AND, OR and NOT more than {_DEEPEST} times")
        return (Operation(last, tuple(parts)) if last else tree), height

    def operand(self, depth: int) -> tuple[Expression, int]:
        """Parse a term, a phrase, or an expression in parentheses; return it with its depth."""
        kind = self.peek()
        if kind == "open":
            self.at += 1
            inner = self.sequence(depth + 1)
            if self.peek() != "close":
                raise self.wrong("opens a parenthesis that is not closed")
            self.at += 1
            return inner
        if kind == "end":
            return self.phrase(), 0
        if kind == "word":
            begin = self.at
            while self.peek() == "word":
                self.at += 1
            return SearchTerm(" ".join(match["word"] for match in self.tokens[begin : self.at]), tag=self.tag()), 0
        raise self.wrong("lacks a term" if kind in {"", "close", *_OPERATORS} else "has a field tag without a term")

    def phrase(self) -> SearchTerm:
        """Parse a phrase in quotation marks, with its field tag."""
        match = self.tokens[self.at]
        if not match["end"]:
            raise self.wrong("opens a quotation mark that is not closed")
        self.at += 1
        text = " ".join(match["phrase"].split())
        if not text:
            raise self.wrong("has an empty phrase")
        return SearchTerm(text, phrase=True, tag=self.tag())

    def tag(self) -> str:
        """Parse an optional field tag; return it without brackets, or ""."""
        if self.peek() != "tag":
            return ""
        self.at += 1
        return self.tokens[self.at - 1]["tag"][1:-1].strip()
