"""The worst input of a regular expression, found from the pattern itself.

Backtracking costs more than linear time where what a repeat takes can be taken in several ways and what follows does
not fit. So for each repeat of a pattern: a text that leads to it, very many times what it repeats, and an end that does
not fit. What a part matches is sampled from Python's own parse of the pattern.
"""

from __future__ import annotations

import itertools
import random
import re
import signal
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from re import _constants as code  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

from fault_counts import times

ENDS = ("", "!", "\x00", "\n", " ", "\n\x00", "a\na")
"""What does not fit; the last one shows what a dot that does not match a line's end costs."""
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


MIXED = times(20, 60)
"""Repeated texts that are drawn from the pattern's own characters, besides those that its parse gives."""
MUCH = 0.2
"""Seconds for a small text that only what is far from linear takes."""
SIEVES = ((300, times(8, 16)), (3_000, times(1, 4)))
"""At which lengths texts are tried, and how many of the slowest go on: few attacks are worth a long text."""


@dataclass(frozen=True)
class Attack:
    """A text of any length: what leads to the repeated part, that part, and the end."""

    prefix: str
    pump: str
    end: str

    def text(self, length: int) -> str:
        return self.prefix + self.pump * (length // len(self.pump)) + self.end


def attacks(pattern: re.Pattern[Any]) -> Iterator[Attack]:
    """Texts that a backtracking matcher is slow on, if any are."""
    tree = parser.parse(pattern.pattern, pattern.flags & ~re.DEBUG)
    characters = sorted({*_characters(tree), "a"})
    drawn = random.Random(ascii(pattern.pattern))
    mixed = ["".join(drawn.choices(characters, k=drawn.randint(1, 4))) for _ in range(MIXED)]
    prefixes = dict.fromkeys(["", *(prefix for prefix, _ in _pumps(tree, ""))])
    pumps = dict.fromkeys(
        itertools.chain(
            _pumps(tree, ""),
            (("", pump) for pump in (*PLAIN, *characters, *mixed)),
            ((prefix, pump) for prefix in list(prefixes)[:MIXED] for pump in characters[:12]),
        )
    )
    for (prefix, pump), end in itertools.product(pumps, ENDS):
        if pump:
            yield Attack(prefix, pump, end)


def seconds(pattern: re.Pattern[Any], methods: Collection[str], text: str, limit: float = 60.0) -> float:
    """Processor time of this thread for the slowest way to use a pattern, which is stopped where it takes too long."""
    given = text.encode("utf-8", "replace") if isinstance(pattern.pattern, bytes) else text
    slowest = 0.0
    for method in sorted({"finditer" if each not in ("match", "fullmatch") else each for each in methods}):
        began = time.thread_time()
        with suppress(_TooSlow), _stopped_after(limit):
            if method == "finditer":
                for _ in pattern.finditer(given):
                    pass
            else:
                getattr(pattern, method)(given)
        slowest = max(slowest, time.thread_time() - began)
    return slowest


def worst(pattern: re.Pattern[Any], methods: Collection[str], end: str = "") -> list[Attack]:
    """The attacks that cost most at small lengths, the worst first; one alone that costs very much is enough.

    Args:
        pattern: What is attacked.
        methods: How it is used.
        end: What all texts end with.
    """
    left = list(attacks(pattern))
    for length, count in SIEVES:
        cost = {}
        for each in left:
            cost[each] = seconds(pattern, methods, each.text(length) + end, MUCH)
            if cost[each] >= MUCH:
                return [each]
        left = sorted(left, key=lambda each: -cost[each])[:count]
    return left


class _TooSlow(Exception):
    pass


@contextmanager
def _stopped_after(limit: float) -> Iterator[None]:
    """Python's matcher looks for signals while it works."""

    def stop(*_: object) -> None:
        raise _TooSlow

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, limit)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def _characters(tree: Any) -> Iterator[str]:
    """One of each kind of character that a pattern speaks of."""
    for operation, value in tree:
        if operation is code.LITERAL:
            yield chr(value)
        elif operation is code.IN:
            for variant in range(6):
                yield _of_class(value, variant)
        for part in _below(operation, value):
            yield from _characters(part)


def _below(operation: Any, value: Any) -> list[Any]:
    """The trees below a node."""
    if operation in (code.MAX_REPEAT, code.MIN_REPEAT, code.POSSESSIVE_REPEAT):
        return [value[2]]
    if operation is code.SUBPATTERN:
        return [value[3]]
    if operation is code.BRANCH:
        return list(value[1])
    if operation in (code.ASSERT, code.ASSERT_NOT):
        return [value[1]]
    return [value] if operation is code.ATOMIC_GROUP else []


def _pumps(tree: Any, prefix: str) -> Iterator[tuple[str, str]]:
    """`(what leads to it, what it repeats)` for each repeat below a node."""
    before = prefix
    for operation, value in tree:
        if operation in (code.MAX_REPEAT, code.MIN_REPEAT, code.POSSESSIVE_REPEAT):
            _, most, body = value
            if most > 10:
                for variant in range(max(3, min(_branches(body), 40))):
                    pump = _sample(body, variant)
                    yield before, pump
                    yield "", pump
                    after = _sample(_rest(tree, operation, value), variant)
                    yield before, pump + after
                    yield "", before + pump + after
        for part in _below(operation, value):
            yield from _pumps(part, before)
        before += _sample([(operation, value)], 0)


def _rest(tree: Any, operation: Any, value: Any) -> list[Any]:
    nodes = list(tree)
    at = next(i for i, node in enumerate(nodes) if node[0] is operation and node[1] is value)
    return nodes[at + 1 : at + 3]


def _branches(tree: Any) -> int:
    """The most alternatives that stand side by side in what is repeated."""
    parts = [_below(operation, value) for operation, value in tree]
    return max((max(len(part), *map(_branches, part)) for part in parts if part), default=0)


def _sample(tree: Any, variant: int) -> str:
    """A text that the nodes match; other variants take other characters and branches."""
    return "".join(_one(operation, value, variant) for operation, value in tree)


def _one(operation: Any, value: Any, variant: int) -> str:
    if operation is code.LITERAL:
        return chr(value)
    if operation is code.NOT_LITERAL:
        return next(c for c in _CANDIDATES[variant % 3 :] if ord(c) != value)
    if operation is code.ANY:
        return "a1 "[variant % 3]
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
