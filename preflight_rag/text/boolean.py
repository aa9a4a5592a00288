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
_MAX_DEPTH = 50
"""Most nested operations, by parentheses or by change of operator: a guess, far beyond what people write and below
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
    return _Parser(expression).parse_all()


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

    def with_alternatives(part: Expression) -> Expression:
        """Return a part of the tree with the alternatives added."""
        if isinstance(part, Operation):
            return Operation(part.operator, tuple(with_alternatives(inner) for inner in part.parts))
        more = [] if part.tag else [term for term in alternatives(part.text) if not _are_same_term(term, part)]
        return Operation("OR", (part, *more)) if more else part

    return written(with_alternatives(parse(expression)))


def quoted_phrases(expression: str) -> list[str]:
    """Return the phrases in quotation marks in an expression, without field tags.

    Raises:
        UsageError: As `parse`.
    """

    def find_phrases(part: Expression) -> Iterator[str]:
        """Yield the phrases in a part of the tree."""
        if isinstance(part, Operation):
            for inner in part.parts:
                yield from find_phrases(inner)
        elif part.phrase:
            yield part.text

    return list(find_phrases(parse(expression)))


def _are_same_term(a: SearchTerm, b: SearchTerm) -> bool:
    """Return whether two terms have the same text and tag, in any case."""
    return a.tag == b.tag and a.text.casefold() == b.text.casefold()


class _Parser:
    """Recursive descent over the tokens of one expression."""

    def __init__(self, expression: str) -> None:
        self.expression = expression
        self.tokens = list(_TOKEN.finditer(expression))
        self.kinds = [match["word"] if match["word"] in _OPERATORS else str(match.lastgroup) for match in self.tokens]
        self.position = 0

    def parse_all(self) -> Expression:
        """Return the tree of the whole expression."""
        tree, _ = self.parse_sequence(0)
        if self.position < len(self.tokens):
            raise self.error("closes a parenthesis that was not opened")
        return tree

    def error(self, what: str) -> UsageError:
        """Return the error for an expression that cannot be parsed, `what` completing "the search expression …"."""
        return UsageError(f"the search expression {self.expression!r} {what}", help=_HELP)

    def next_kind(self) -> str:
        """Return the kind of the next token: an operator, or the name of its group in `_TOKEN`; "" at the end."""
        if self.position >= len(self.tokens):
            return ""
        return self.kinds[self.position]

    def parse_sequence(self, depth: int) -> tuple[Expression, int]:
        """Parse operands and operators, from left to right, up to a closing parenthesis or the end.

        Operands without an operator between them are joined by AND.

        Args:
            depth: The number of parentheses that are open.

        Returns:
            The parsed expression, and the height of its tree: its number of nested operations.
        """
        if depth > _MAX_DEPTH:
            raise self.error(f"has more than {_MAX_DEPTH} parentheses in each other")
        tree, height = self.parse_operand(depth)
        parts: list[Expression] = [tree]
        last_operator: Literal["AND", "OR", "NOT"] | None = None
        while (kind := self.next_kind()) and kind != "close":
            operator: Literal["AND", "OR", "NOT"] = "AND"
            if kind in _OPERATORS:
                operator = kind  # type: ignore[assignment]  # one of the three
                self.position += 1
                if operator == "AND" and self.next_kind() == "NOT":
                    operator = "NOT"
                    self.position += 1
            if operator != last_operator:
                # All that was parsed becomes the first operand of the new operator.
                tree = Operation(last_operator, tuple(parts)) if last_operator else tree
                last_operator = operator
                if isinstance(tree, Operation) and tree.operator == operator:
                    parts = list(tree.parts)
                else:
                    parts, height = [tree], height + 1
            part, part_height = self.parse_operand(depth)
            parts.append(part)
            height = max(height, part_height + 1)
            if height > _MAX_DEPTH:
                raise self.error(f"changes between AND, OR and NOT more than {_MAX_DEPTH} times")
        return (Operation(last_operator, tuple(parts)) if last_operator else tree), height

    def parse_operand(self, depth: int) -> tuple[Expression, int]:
        """Parse a term, a phrase, or an expression in parentheses; return it with the height of its tree."""
        kind = self.next_kind()
        if kind == "open":
            self.position += 1
            inner = self.parse_sequence(depth + 1)
            if self.next_kind() != "close":
                raise self.error("opens a parenthesis that is not closed")
            self.position += 1
            return inner
        if kind == "end":
            return self.parse_phrase(), 0
        if kind == "word":
            begin = self.position
            while self.next_kind() == "word":
                self.position += 1
            return SearchTerm(
                " ".join(match["word"] for match in self.tokens[begin : self.position]), tag=self.parse_tag()
            ), 0
        raise self.error("lacks a term" if kind in {"", "close", *_OPERATORS} else "has a field tag without a term")

    def parse_phrase(self) -> SearchTerm:
        """Parse a phrase in quotation marks, with its field tag."""
        match = self.tokens[self.position]
        if not match["end"]:
            raise self.error("opens a quotation mark that is not closed")
        self.position += 1
        text = " ".join(match["phrase"].split())
        if not text:
            raise self.error("has an empty phrase")
        return SearchTerm(text, phrase=True, tag=self.parse_tag())

    def parse_tag(self) -> str:
        """Parse a field tag if one follows; return it without brackets, "" if none does."""
        if self.next_kind() != "tag":
            return ""
        self.position += 1
        return self.tokens[self.position - 1]["tag"][1:-1].strip()
