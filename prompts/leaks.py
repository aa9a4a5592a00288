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
"""Length in letters and digits, about ten words, from which on a shared run is removed; a guess. Answers share less
with the instructions."""
SHORTEST_RUN = 16
"""Length in letters and digits from which on a shared run is noticed, and a stream waits for more text; a guess."""
MARGIN = 8
"""Letters at either end of a run that may differ from public text by chance; a guess."""
LEFT_OUT = "[…]"
NOTE = "the reply repeated its instructions, as a document may have asked it to; that part was left out"
NOTHING_ELSE = "The reply did nothing but repeat its instructions; it is not shown."
_NO_LETTERS = re.compile(r"[\W_]+")  # all characters for which `str.isalnum` is false
_TO_BE_SAID = re.compile(r"[\"“„«][^\"“”„«»\n]{3,}[\"“”»]|:[^\n]*")


def without_leaks(reply: str, prompt: Sequence[BaseMessage]) -> str:
    """Return a reply with "[…]" for each part that repeats the prompt's instructions; "" if little else is left."""
    if not _may_repeat(reply, prompt):
        return reply
    guard = LeakGuard(prompt)
    guard.feed(reply)
    guard.finish()
    if not guard.cuts:
        return reply
    parts, previous_end = [], 0
    for start, end in guard.cuts:
        parts.append(reply[previous_end:start])
        previous_end = end
    parts.append(reply[previous_end:])
    return LEFT_OUT.join(parts) if len(_letters("".join(parts))) >= SHORTEST_RUN else ""


def _may_repeat(reply: str, prompt: Sequence[BaseMessage]) -> bool:
    """Return whether the reply and the prompt may share `LEAK` letters in a row.

    Any such run contains one of the parts tested here. Without this test the guard, which reads letter by letter, would
    take a fiftieth of a turn.
    """
    if "%" in reply:  # encoded letters, which the guard ignores
        return True
    letters, (_, runs) = _letters(reply), _secret(_system_text(prompt))
    starts = range(0, len(letters), LEAK - SHORTEST_RUN + 1)
    return any(letters[start : start + SHORTEST_RUN] in runs for start in starts)


def _system_text(prompt: Sequence[BaseMessage]) -> str:
    """Return the text of a prompt's system messages, which a reply must not repeat."""
    return "\n".join(str(message.text) for message in prompt if isinstance(message, SystemMessage))


class LeakGuard:
    """Removes repeated instructions from a reply that arrives in pieces, whose beginning may be shown already.

    Letters are compared as `_letters` returns them. A run is a sequence of the reply's last letters that the
    instructions contain; its text is held back until the run ends.

    Attributes:
        cuts: Where the reply repeats the instructions: offsets of each run's beginning and end.
    """

    def __init__(self, prompt: Sequence[BaseMessage]) -> None:
        self._secret, self._secret_runs = _secret(_system_text(prompt))
        self._public_texts = [str(message.text) for message in prompt if not isinstance(message, SystemMessage)]
        self._public_letters: str | None = None
        self._run, self._run_offsets = "", list[int]()
        self._is_run = False
        self._unreleased, self._length, self._released = "", 0, 0
        self._code_digits_left = 0
        self.cuts: list[tuple[int, int]] = []

    def feed(self, piece: str) -> str:
        """Return the text that may be shown now that this piece has arrived."""
        for offset, character in enumerate(piece, self._length):
            if character == "%":  # as in URLs that a document tells a model to write: You%20answer%20questions
                self._code_digits_left = 2
                continue
            if self._code_digits_left and character in hexdigits:
                self._code_digits_left -= 1
                continue
            self._code_digits_left = 0
            for letter in character.casefold():
                if letter.isalnum():
                    self._add(letter, offset)
        self._unreleased, self._length = self._unreleased + piece, self._length + len(piece)
        return self._release(self._run_offsets[0] if self._is_run else self._length)

    def finish(self) -> str:
        """Return the remaining text that may be shown, once the reply has ended."""
        self._end_run()
        return self._release(self._length)

    def _add(self, letter: str, offset: int) -> None:
        """Append a letter of the reply to the current run, or end the run and look for a new one.

        Outside a run, the last `SHORTEST_RUN` letters are kept, which are a run if the instructions contain them.
        """
        if self._is_run and self._run + letter not in self._secret:
            self._end_run()
        self._run += letter
        self._run_offsets.append(offset)
        if not self._is_run:
            self._run, self._run_offsets = self._run[-SHORTEST_RUN:], self._run_offsets[-SHORTEST_RUN:]
            self._is_run = self._run in self._secret_runs

    def _end_run(self) -> None:
        """End the current run; one that is long enough and in no public text is recorded as a cut."""
        if self._is_run and len(self._run) >= LEAK and not self._is_public(self._run[MARGIN:-MARGIN]):
            self.cuts.append((self._run_offsets[0], self._run_offsets[-1] + 1))
            self._run, self._run_offsets = "", []
        self._run, self._run_offsets = self._run[1 - SHORTEST_RUN :], self._run_offsets[1 - SHORTEST_RUN :]
        self._is_run = False

    def _is_public(self, letters: str) -> bool:
        """Return whether letters occur in a text that may be shown: the material, the question, or `ABOUT`."""
        if self._public_letters is None:
            self._public_letters = "\n".join(map(_letters, (ABOUT, *self._public_texts)))
        return letters in self._public_letters

    def _release(self, until: int) -> str:
        """Return the reply from the last released character up to the offset `until`, with "[…]" for each cut."""
        text, first = "", self._length - len(self._unreleased)
        pending_cuts = [(start, end) for start, end in self.cuts if end > self._released]
        for start, end in [*pending_cuts, (until, until)]:
            if start > self._released:
                text += self._unreleased[self._released - first : min(start, until) - first]
            if end > start:
                text += LEFT_OUT
            self._released = max(self._released, min(end, until) if end > start else until)
        self._unreleased = self._unreleased[self._released - first :]
        return text


@lru_cache(maxsize=16)
def _secret(system_text: str) -> tuple[str, frozenset[str]]:
    """Return the letters of a system message that must not be repeated, and all runs of `SHORTEST_RUN` of them.

    What an operator's instructions put in quotation marks or after a colon is left out. Cached: the calls of a turn
    have few different system messages, and turns have the same ones.
    """
    rules, tag, instructions = system_text.partition("\n<instructions>\n")
    first, *others = _TO_BE_SAID.split(instructions)
    secret = "\n".join(map(_letters, (rules + tag + first, *others)))
    starts = range(len(secret) - SHORTEST_RUN + 1)
    return secret, frozenset(secret[start : start + SHORTEST_RUN] for start in starts)


def _letters(text: str) -> str:
    """Return the letters and digits of a text in lower case, without anything between them."""
    return _NO_LETTERS.sub("", text.casefold())
