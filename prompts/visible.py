"""The part of a reply that a user may see while it is being written.

Quotes below their heading, a choice line and the not-found phrase are for the parser; citation marks are numbered in
order of first use, as in the finished answer. Spaces are held back until the next text, and anything that a renderer
might load or link to until it is known to be harmless (`text.inert`).
"""

from __future__ import annotations

import re

from preflight_rag.prompts.replies import NO_INFORMATION, NOT_FOUND, QUOTES_HEADING
from preflight_rag.text.citations import MARK, separate_marks
from preflight_rag.text.inert import InertText
from preflight_rag.text.words import encodable, without_controls

_HIDDEN = tuple(
    phrase.lower()
    for phrase in ("quotes", "quote", "supporting quotes", "choice", "disputed", NOT_FOUND, NO_INFORMATION)
)
_LONGEST_HEADING = 200
"""Characters of a line after which it is certain whether it is hidden (a guess): headings and labels are shorter."""
_OPEN_MARK = re.compile(r"\[[\d,;\s–-]{0,200}$")
_LABELLED = re.compile(r"\W*+(?:choice|disputed)[^\w:]*+:", re.IGNORECASE)
_LONE_THOUGHT = re.compile(r"^.*</think(?:ing)?>\s*", re.DOTALL | re.IGNORECASE)
_THOUGHT = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>\s*|$)", re.DOTALL | re.IGNORECASE)
_ENDED_THOUGHT = re.compile(r"<think(?:ing)?>.*?</think(?:ing)?>\s*", re.DOTALL | re.IGNORECASE)
_OPENING, _ENDING = (re.compile(rf"<{slash}think(?:ing)?>", re.IGNORECASE) for slash in ("", "/"))
_LONGEST_TAG = len("</thinking>")


class VisibleText:
    """A filter from the pieces of a reply to the text that may be shown, each character once.

    Text that has been shown is dropped, so that the cost of a piece depends only on the undecided text, not on the
    whole reply: a model that repeats one character to its limit, or thinks for long, costs no more time than another.
    """

    def __init__(self) -> None:
        self._pending = ""
        self._waiting: list[str] = []
        self._shown = 0
        self._is_inside_line = False
        self._is_hiding = False
        self._has_begun = False
        self._is_behind_thought = False
        self._numbers: dict[str, int] = {}
        self._inert = InertText()

    def feed(self, piece: str) -> str:
        """Return the text that has become showable with this piece."""
        self._waiting.append(without_controls(encodable(piece)))
        if not piece.strip() or (self._is_hiding and "\n" not in piece):
            return ""
        self._take_in()
        fresh = self._release(self._settled(_THOUGHT.sub("", self._pending)))
        self._forget()
        return fresh

    def finish(self) -> str:
        """Return the rest, once the reply has ended."""
        self._take_in()
        lines = self._before_quotes(_THOUGHT.sub("", self._pending)).rstrip().splitlines(keepends=True)
        while lines and not self._is_continued(lines) and _is_for_the_parser(lines[-1]):
            lines.pop()
        text = "".join(lines).rstrip()
        rest = "" if not self._has_begun and _may_be_hidden(text) else self._release(text)
        return rest + self._inert.finish()

    def _take_in(self) -> None:
        """Move the waiting text to the held text, without finished thoughts and the inside of an unfinished one.

        Finished thoughts are looked for only up to the last closing tag, an open one only after it: otherwise every
        opening tag would cost a scan of all following text.
        """
        pending, kept = self._pending + "".join(self._waiting), ""
        self._waiting = []
        if self._is_behind_thought:
            pending = pending.lstrip()
        if ends := [end.end() for end in _ENDING.finditer(pending)]:
            kept, pending = _ENDED_THOUGHT.sub("", pending[: ends[-1]]), pending[ends[-1] :]
            if _ENDING.search(kept, max(len(kept) - _LONGEST_TAG, 0)) is None:
                pending = pending.lstrip()
                self._is_behind_thought = True
        self._is_behind_thought = self._is_behind_thought and not pending
        if opening := _OPENING.search(pending):
            pending = pending[: opening.end()] + pending[opening.end() :][-_LONGEST_TAG:]
        pending = kept + pending
        self._pending = pending
        self._drop_lone_thought()

    def _drop_lone_thought(self) -> None:
        """Start anew after thoughts without an opening tag; parts of them that were shown cannot be taken back."""
        text = _THOUGHT.sub("", self._pending)
        if _LONE_THOUGHT.match(text):
            self._pending, self._shown, self._numbers = _LONE_THOUGHT.sub("", text), 0, {}
            self._is_inside_line = self._has_begun = False
            self._inert = InertText()

    def _settled(self, reply: str) -> str:
        """Return the part of an unfinished reply that cannot become hidden by what follows."""
        text = self._before_quotes(reply)
        if text.rstrip().endswith("<") or re.search(r"</?[a-z]*$", text, re.IGNORECASE):
            text = text[: text.rindex("<")]
        lines = _OPEN_MARK.sub("", text).splitlines(keepends=True)
        self._is_hiding = bool(lines) and len(lines[-1]) > _LONGEST_HEADING and self._may_hide_last(lines)
        while lines and self._may_hide_last(lines):
            lines.pop()
        # a citation mark may be incomplete at the end of a waiting line
        return _OPEN_MARK.sub("", "".join(lines)).rstrip()

    def _may_hide_last(self, lines: list[str]) -> bool:
        """Return whether the last line may turn out to be one that is hidden."""
        return not self._is_continued(lines) and _may_be_hidden(lines[-1])

    def _is_continued(self, lines: list[str]) -> bool:
        """Return whether only the last line is held back, and the part of it that came before has been shown."""
        return self._is_inside_line and len(lines) == 1

    def _before_quotes(self, text: str) -> str:
        """Return a reply up to the heading of its quotes."""
        lines = text.splitlines(keepends=True)
        first = 1 if self._is_inside_line else 0
        headings = (
            i for i, line in enumerate(lines) if i >= first and line.endswith("\n") and QUOTES_HEADING.match(line)
        )
        return "".join(lines[: next(headings, len(lines))])

    def _release(self, text: str) -> str:
        """Return the newly shown text, its citation marks renumbered in the order of appearance."""
        fresh = separate_marks(text[self._shown :])
        self._shown = max(self._shown, len(text))
        self._has_begun = self._has_begun or bool(fresh)
        numbered = MARK.sub(lambda mark: f"[{self._numbers.setdefault(mark[1], len(self._numbers) + 1)}]", fresh)
        return self._inert.feed(numbered)

    def _forget(self) -> None:
        """Drop complete lines that are shown, and the shown part of a long line."""
        if self._shown > len(self._pending) or _THOUGHT.search(self._pending):
            return
        if cut := self._pending.rfind("\n", 0, self._shown) + 1:
            self._pending, self._shown, self._is_inside_line = self._pending[cut:], self._shown - cut, False
        if self._shown > _LONGEST_HEADING:
            self._pending, self._shown, self._is_inside_line = self._pending[self._shown :], 0, True


def _is_for_the_parser(line: str) -> bool:
    """Return whether a line at the end of a reply is a label, a heading without quotes, or blank."""
    return not line.strip() or bool(_LABELLED.match(line) or QUOTES_HEADING.match(line))


def _may_be_hidden(line: str) -> bool:
    """Return whether a line is hidden, or may become so (blank lines wait for the text after them)."""
    letters = re.sub(r"[^a-z ]+", "", line[:_LONGEST_HEADING].lower()).strip()
    if not letters and len(line) > _LONGEST_HEADING:
        return not line.strip()
    return any(phrase.startswith(letters) or letters.startswith(phrase) for phrase in _HIDDEN)
