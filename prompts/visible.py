"""What a person may see of a reply while it is still being written.

Quotes under their heading, a choice line and the not-found phrase are for the parser; citation marks are numbered in
order of first use, as the finished answer numbers them. Space waits for what follows it.
"""

from __future__ import annotations

import re

from preflight_rag.prompts.replies import NO_INFORMATION, NOT_FOUND, QUOTES_HEADING
from preflight_rag.text.citations import MARK, separate_marks

_HIDDEN = tuple(
    phrase.lower()
    for phrase in ("quotes", "quote", "supporting quotes", "choice", "disputed", NOT_FOUND, NO_INFORMATION)
)
_OPEN_MARK = re.compile(r"\[[\d,;\s–-]*$")
_LABELLED = re.compile(r"(?:(?:^|\n)\W*(?:choice|disputed)\W*:[^\n]*)+$", re.IGNORECASE)
_LONE_THOUGHT = re.compile(r"^.*</think(?:ing)?>\s*", re.DOTALL | re.IGNORECASE)
_THOUGHT = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>\s*|$)", re.DOTALL | re.IGNORECASE)


class VisibleText:
    """Feed it the reply's pieces; it gives back what may be shown, each character once."""

    def __init__(self) -> None:
        self._reply = ""
        self._shown = 0
        self._numbers: dict[str, int] = {}

    def feed(self, piece: str) -> str:
        """The text that has become showable with this piece."""
        self._reply += piece
        self._drop_lone_thought()
        return self._release(self._settled(self._reply))

    def finish(self) -> str:
        """The rest, when the reply has ended."""
        text = _LABELLED.sub("", self._before_quotes(_THOUGHT.sub("", self._reply)).rstrip()).rstrip()
        return "" if _may_be_hidden(text) else self._release(text)

    def _drop_lone_thought(self) -> None:
        """Begin anew behind thoughts that no tag opened: what was shown of them cannot be taken back."""
        text = _THOUGHT.sub("", self._reply)
        if _LONE_THOUGHT.match(text):
            self._reply, self._shown, self._numbers = _LONE_THOUGHT.sub("", text), 0, {}

    def _settled(self, reply: str) -> str:
        text = self._before_quotes(_THOUGHT.sub("", reply))
        if text.rstrip().endswith("<") or re.search(r"<[a-z]*$", text, re.IGNORECASE):
            text = text[: text.rindex("<")]
        lines = _OPEN_MARK.sub("", text).splitlines(keepends=True)
        while lines and _may_be_hidden(lines[-1]):
            lines.pop()
        return _OPEN_MARK.sub("", "".join(lines)).rstrip()  # a mark may be open over a line that waits

    def _before_quotes(self, text: str) -> str:
        lines = text.splitlines(keepends=True)
        at = next((i for i, line in enumerate(lines) if line.endswith("\n") and QUOTES_HEADING.match(line)), len(lines))
        return "".join(lines[:at])

    def _release(self, text: str) -> str:
        fresh = separate_marks(text[self._shown :])
        self._shown = max(self._shown, len(text))
        return MARK.sub(lambda mark: f"[{self._numbers.setdefault(mark[1], len(self._numbers) + 1)}]", fresh)


def _may_be_hidden(line: str) -> bool:
    """Whether a line is, or may become, one that is not shown (blank lines wait for what follows them)."""
    letters = re.sub(r"[^a-z ]+", "", line.lower()).strip()
    return any(phrase.startswith(letters) or letters.startswith(phrase) for phrase in _HIDDEN)
