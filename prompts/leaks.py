"""Removal of the prompt's instructions from replies that repeat them.

A document may tell a model to reveal its instructions, and an obedient model writes them down. They are in the system
message, together with the operator's instructions. A run of `LEAK` letters and digits that the reply shares with it,
ignoring spaces and punctuation, is no coincidence; it is removed unless the material, the question or the program's own
description contains it too. Text that an operator's instructions put in quotation marks or after a colon is meant to
be repeated. A reply in other words, or in another alphabet, is not recognised: no secret belongs into a prompt.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from string import hexdigits

from langchain_core.messages import BaseMessage, SystemMessage

from preflight_rag.prompts.converse import ABOUT

LEAK = 50
"""Letters and digits, about ten words; a guess. Answers share less with the instructions."""
HELD = 16
"""Shared letters and digits from which on a stream waits for more text; a guess."""
LOOSE = 8
"""Letters at either end by which a run may exceed the material by chance; a guess."""
LEFT_OUT = "[…]"
NOTE = "the reply repeated its instructions, as a document may have asked it to; that part was left out"
NOTHING_ELSE = "The reply did nothing but repeat its instructions; it is not shown."
_NO_LETTERS = re.compile(r"[\W_]+")  # all characters for which `str.isalnum` is false
_TO_BE_SAID = re.compile(r"[\"“„«][^\"“”„«»\n]{3,}[\"“”»]|:[^\n]*")


def without_leaks(reply: str, prompt: Sequence[BaseMessage]) -> str:
    """Return a reply without the prompt's instructions that it repeats; "" if it is nothing else."""
    if not _may_repeat(reply, prompt):
        return reply
    guard = LeakGuard(prompt)
    guard.feed(reply)
    guard.finish()
    if not guard.cuts:
        return reply
    kept, at = [], 0
    for start, end in guard.cuts:
        kept.append(reply[at:start])
        at = end
    kept.append(reply[at:])
    return LEFT_OUT.join(kept) if len(_letters("".join(kept))) >= HELD else ""


def _may_repeat(reply: str, prompt: Sequence[BaseMessage]) -> bool:
    """Return whether the reply and the prompt may share `LEAK` letters in a row.

    Any such run contains one of the parts tested here. Without this test the guard, which reads letter by letter, would
    take a fiftieth of a turn.
    """
    if "%" in reply:  # encoded letters, which the guard ignores
        return True
    letters, (_, grams) = _letters(reply), _secret(_own(prompt))
    return any(letters[at : at + HELD] in grams for at in range(0, len(letters), LEAK - HELD + 1))


def _own(prompt: Sequence[BaseMessage]) -> str:
    """Return the text of a prompt's system messages, which a reply must not repeat."""
    return "\n".join(str(message.text) for message in prompt if isinstance(message, SystemMessage))


class LeakGuard:
    """Removes repeated instructions from a reply that arrives in pieces, whose beginning may be shown already.

    Attributes:
        cuts: Where the reply repeats the instructions: offsets of each run's beginning and end.
    """

    def __init__(self, prompt: Sequence[BaseMessage]) -> None:
        self._secret, self._grams = _secret(_own(prompt))
        self._given = [str(message.text) for message in prompt if not isinstance(message, SystemMessage)]
        self._known: str | None = None
        self._run, self._places = "", list[int]()
        self._is_run = False
        self._raw, self._length, self._out, self._code = "", 0, 0, 0
        self.cuts: list[tuple[int, int]] = []

    def feed(self, piece: str) -> str:
        """Return the text that may be shown with this piece."""
        for place, character in enumerate(piece, self._length):
            if character == "%":  # as in URLs that a document tells a model to write: You%20answer%20questions
                self._code = 2
                continue
            if self._code and character in hexdigits:
                self._code -= 1
                continue
            self._code = 0
            for letter in character.casefold():
                if letter.isalnum():
                    self._add(letter, place)
        self._raw, self._length = self._raw + piece, self._length + len(piece)
        return self._release(self._places[0] if self._is_run else self._length)

    def finish(self) -> str:
        """Return the rest, once the reply has ended."""
        self._end_run()
        return self._release(self._length)

    def _add(self, letter: str, place: int) -> None:
        """Append a letter to the run of letters that the secret contains, or begin a new run with it."""
        if self._is_run and self._run + letter not in self._secret:
            self._end_run()
        self._run += letter
        self._places.append(place)
        if not self._is_run:
            self._run, self._places = self._run[-HELD:], self._places[-HELD:]
            self._is_run = self._run in self._grams

    def _end_run(self) -> None:
        """End a run; one that is long enough and not public is cut out."""
        if self._is_run and len(self._run) >= LEAK and not self._is_known(self._run[LOOSE:-LOOSE]):
            self.cuts.append((self._places[0], self._places[-1] + 1))
            self._run, self._places = "", []
        self._run, self._places = self._run[1 - HELD :], self._places[1 - HELD :]
        self._is_run = False

    def _is_known(self, run: str) -> bool:
        """Return whether a run of letters occurs in a text that may be shown."""
        if self._known is None:
            self._known = "\n".join(map(_letters, (ABOUT, *self._given)))
        return run in self._known

    def _release(self, until: int) -> str:
        """Return the reply from the last released character up to `until`, without the removed parts."""
        shown, first = "", self._length - len(self._raw)
        for start, end in [*((a, b) for a, b in self.cuts if b > self._out), (until, until)]:
            if start > self._out:
                shown += self._raw[self._out - first : min(start, until) - first]
            if end > start:
                shown += LEFT_OUT
            self._out = max(self._out, min(end, until) if end > start else until)
        self._raw = self._raw[self._out - first :]
        return shown


@lru_cache(maxsize=16)
def _secret(own: str) -> tuple[str, frozenset[str]]:
    """Return the letters of a system message that must not be repeated, and all runs of `HELD` of them.

    Cached: the calls of a turn have few different system messages, and turns have the same ones.
    """
    rules, tag, asked = own.partition("\n<instructions>\n")
    first, *rest = _TO_BE_SAID.split(asked)
    secret = "\n".join(map(_letters, (rules + tag + first, *rest)))
    return secret, frozenset(secret[at : at + HELD] for at in range(len(secret) - HELD + 1))


def _letters(text: str) -> str:
    """Return the letters of a text in lower case."""
    return _NO_LETTERS.sub("", text.casefold())
