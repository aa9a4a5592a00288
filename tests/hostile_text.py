"""The worst input of a regular expression, found from the pattern itself.

Backtracking costs more than linear time where what a repeat takes can be taken in several ways and what follows does
not fit. So for each repeat of a pattern: a text that leads to it, very many times what it repeats, and an end that does
not fit. What a part matches is sampled from Python's own parse of the pattern.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from re import _constants as code  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

ENDS = ("", "!", "\x00", "\n", " ", "\n\x00")
PLAIN = (
    "a",
    " ",
    "1",
    "\n",
    "A",
    "a ",
    "A ",
    "1 ",
    "a, ",
    "1.",
    "a-",
    "(",
    "[",
    "<",
    '"',
    "'s ",
    "a\n",
    "# ",
    ". ",
    "and ",
)
"""What texts of real life are full of, in a row."""
_CLASSES = {
    code.CATEGORY_DIGIT: "1",
    code.CATEGORY_SPACE: " ",
    code.CATEGORY_WORD: "a",
    code.CATEGORY_NOT_DIGIT: "a",
    code.CATEGORY_NOT_SPACE: "a",
    code.CATEGORY_NOT_WORD: "-",
}
_CANDIDATES = "a1 A-.,;:'\"()[]<>*#/_\n\té%~!x"


def attacks(pattern: re.Pattern[str], length: int) -> Iterator[str]:
    """Texts of about `length` characters that a backtracking matcher is slow on, if any are."""
    tree = parser.parse(pattern.pattern, pattern.flags & ~re.DEBUG)
    pumps = dict.fromkeys(itertools.chain(_pumps(tree, ""), (("", pump) for pump in PLAIN)))
    for (prefix, pump), end in itertools.product(pumps, ENDS):
        if pump:
            yield prefix + pump * (length // len(pump)) + end


def _pumps(tree: Any, prefix: str) -> Iterator[tuple[str, str]]:
    """`(what leads to it, what it repeats)` for each repeat below a node."""
    before = prefix
    for operation, value in tree:
        if operation in (code.MAX_REPEAT, code.MIN_REPEAT, code.POSSESSIVE_REPEAT):
            _, most, body = value
            if most > 10:
                for variant in range(3):
                    pump = _sample(body, variant)
                    yield before, pump
                    yield "", pump
                    after = _sample(_rest(tree, operation, value), variant)
                    yield before, pump + after
                    yield "", before + pump + after
            yield from _pumps(body, before)
        elif operation is code.SUBPATTERN:
            yield from _pumps(value[3], before)
        elif operation is code.BRANCH:
            for branch in value[1]:
                yield from _pumps(branch, before)
        elif operation in (code.ASSERT, code.ASSERT_NOT):
            yield from _pumps(value[1], before)
        elif operation is code.ATOMIC_GROUP:
            yield from _pumps(value, before)
        before += _sample([(operation, value)], 0)


def _rest(tree: Any, operation: Any, value: Any) -> list[Any]:
    nodes = list(tree)
    at = next(i for i, node in enumerate(nodes) if node[0] is operation and node[1] is value)
    return nodes[at + 1 : at + 3]


def _sample(tree: Any, variant: int) -> str:
    """A text that the nodes match; other variants take other characters and branches."""
    return "".join(_one(operation, value, variant) for operation, value in tree)


def _one(operation: Any, value: Any, variant: int) -> str:
    if operation is code.LITERAL:
        return chr(value)
    if operation is code.NOT_LITERAL:
        return next(c for c in _CANDIDATES[variant:] if ord(c) != value)
    if operation is code.ANY:
        return "a1 "[variant]
    if operation is code.IN:
        return _of_class(value, variant)
    if operation in (code.MAX_REPEAT, code.MIN_REPEAT, code.POSSESSIVE_REPEAT):
        least, most, body = value
        return _sample(body, variant) * max(least, min(1, most))
    if operation is code.SUBPATTERN:
        return _sample(value[3], variant)
    if operation is code.ATOMIC_GROUP:
        return _sample(value, variant)
    if operation is code.BRANCH:
        branches = value[1]
        return _sample(branches[variant % len(branches)], variant)
    return ""


def _of_class(items: Any, variant: int) -> str:
    negated = items[0][0] is code.NEGATE
    if negated:
        fits = [c for c in _CANDIDATES if not _in(items[1:], c)]
        return fits[variant % len(fits)] if fits else "a"
    operation, value = items[variant % len(items)]
    if operation is code.LITERAL:
        return chr(value)
    if operation is code.RANGE:
        return chr(value[0])
    return _CLASSES.get(value, "a")


def _in(items: Any, character: str) -> bool:
    for operation, value in items:
        if operation is code.LITERAL and ord(character) == value:
            return True
        if operation is code.RANGE and value[0] <= ord(character) <= value[1]:
            return True
        if operation is code.CATEGORY:
            name = str(value).rsplit("_", 1)[-1].lower()
            fits = {"digit": character.isdigit(), "space": character.isspace()}.get(
                name, character.isalnum() or character == "_"
            )
            if fits != ("NOT" in str(value)):
                return True
    return False
