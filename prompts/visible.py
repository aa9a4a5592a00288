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

_HIDDEN_BEGINNINGS = tuple(
    phrase.lower()
    for phrase in ("quotes", "quote", "supporting quotes", "choice", "disputed", NOT_FOUND, NO_INFORMATION)
)
_LONGEST_HEADING = 200
"""Characters of a line after which it is certain whether it is hidden (a guess): headings and labels are shorter."""
_INCOMPLETE_MARK = re.compile(r"\[[\d,;\s–-]{0,200}$")
_LABEL_LINE = re.compile(r"\W*+(?:choice|disputed)[^\w:]*+:", re.IGNORECASE)
_LONE_THOUGHT = re.compile(r"^.*</think(?:ing)?>\s*", re.DOTALL | re.IGNORECASE)
_THOUGHT = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>\s*|$)", re.DOTALL | re.IGNORECASE)
_ENDED_THOUGHT = re.compile(r"<think(?:ing)?>.*?</think(?:ing)?>\s*", re.DOTALL | re.IGNORECASE)
_OPENING_TAG, _CLOSING_TAG = (re.compile(rf"<{slash}think(?:ing)?>", re.IGNORECASE) for slash in ("", "/"))
_LONGEST_TAG = len("</thinking>")


class VisibleText:
    """A filter from the pieces of a reply to the text that may be shown, each character once.

    Text that has been shown is dropped, so that the cost of a piece depends only on the undecided text, not on the
    whole reply: a model that repeats one character to its limit, or thinks for long, costs no more time than another.
    """

    def __init__(self) -> None:
        self._pending = ""
        self._waiting: list[str] = []
        self._released = 0
        self._is_inside_line = False
        self._is_hiding = False
        self._has_begun = False
        self._is_behind_thought = False
        self._numbers: dict[str, int] = {}
        self._inert = InertText()

    def feed(self, piece: str) -> str:
        """Return the text that may be shown now that this piece of the reply has arrived."""
        self._waiting.append(without_controls(encodable(piece)))
        # Space, and the inside of a hidden line, cannot make anything visible.
        if not piece.strip() or (self._is_hiding and "\n" not in piece):
            return ""
        self._read_waiting()
        text = self._release(self._certain_part(_THOUGHT.sub("", self._pending)))
        self._drop_released()
        return text

    def finish(self) -> str:
        """Return the remaining text that may be shown, once the reply has ended.

        Quotes and last lines for the parser are left out, and so is a whole reply that begins with a hidden phrase.
        """
        self._read_waiting()
        lines = self._before_quotes(_THOUGHT.sub("", self._pending)).rstrip().splitlines(keepends=True)
        while lines and not self._is_rest_of_shown_line(lines) and _is_for_the_parser(lines[-1]):
            lines.pop()
        text = "".join(lines).rstrip()
        is_hidden_reply = not self._has_begun and _may_be_hidden(text)  # such as "NOT IN THE PASSAGES"
        released = "" if is_hidden_reply else self._release(text)
        return released + self._inert.finish()

    def _read_waiting(self) -> None:
        """Append the waiting text to the pending text, without finished thoughts and the inside of an unfinished one.

        Finished thoughts are looked for only up to the last closing tag, an open one only after it: otherwise every
        opening tag would cost a scan of all following text.
        """
        text, before_thoughts_end = self._pending + "".join(self._waiting), ""
        self._waiting = []
        if self._is_behind_thought:
            text = text.lstrip()
        if closing_tags := list(_CLOSING_TAG.finditer(text)):
            last_end = closing_tags[-1].end()
            before_thoughts_end, text = _ENDED_THOUGHT.sub("", text[:last_end]), text[last_end:]
            # A closing tag that is left has no opening one; `_drop_lone_thought` removes it.
            tail = max(len(before_thoughts_end) - _LONGEST_TAG, 0)
            if _CLOSING_TAG.search(before_thoughts_end, tail) is None:
                text = text.lstrip()
                self._is_behind_thought = True
        self._is_behind_thought = self._is_behind_thought and not text
        if opening := _OPENING_TAG.search(text):
            # Of an unfinished thought only the last characters are kept, which may be part of its closing tag.
            text = text[: opening.end()] + text[opening.end() :][-_LONGEST_TAG:]
        self._pending = before_thoughts_end + text
        self._drop_lone_thought()

    def _drop_lone_thought(self) -> None:
        """Drop thoughts that have only a closing tag, and begin anew behind them.

        Parts of them that were shown already cannot be taken back.
        """
        text = _THOUGHT.sub("", self._pending)
        if _LONE_THOUGHT.match(text):
            self._pending, self._released, self._numbers = _LONE_THOUGHT.sub("", text), 0, {}
            self._is_inside_line = self._has_begun = False
            self._inert = InertText()

    def _certain_part(self, reply: str) -> str:
        """Return the part of an unfinished reply that is visible whatever follows.

        Left out are quotes, an incomplete tag or citation mark at the end, and last lines that may become hidden.
        """
        text = self._before_quotes(reply)
        if text.rstrip().endswith("<") or re.search(r"</?[a-z]*$", text, re.IGNORECASE):
            text = text[: text.rindex("<")]
        lines = _INCOMPLETE_MARK.sub("", text).splitlines(keepends=True)
        self._is_hiding = bool(lines) and len(lines[-1]) > _LONGEST_HEADING and self._may_hide_last(lines)
        while lines and self._may_hide_last(lines):
            lines.pop()
        # a citation mark may be incomplete at the end of a waiting line
        return _INCOMPLETE_MARK.sub("", "".join(lines)).rstrip()

    def _may_hide_last(self, lines: list[str]) -> bool:
        """Return whether the last line may turn out to be a hidden one, and no part of it was shown."""
        return not self._is_rest_of_shown_line(lines) and _may_be_hidden(lines[-1])

    def _is_rest_of_shown_line(self, lines: list[str]) -> bool:
        """Return whether the pending lines are a single one whose beginning has been shown."""
        return self._is_inside_line and len(lines) == 1

    def _before_quotes(self, text: str) -> str:
        """Return a reply up to the heading of its quotes; the whole reply if it has no complete heading."""
        lines = text.splitlines(keepends=True)
        first = 1 if self._is_inside_line else 0  # the rest of a line is no heading
        for i, line in enumerate(lines[first:], first):
            if line.endswith("\n") and QUOTES_HEADING.match(line):
                return "".join(lines[:i])
        return text

    def _release(self, text: str) -> str:
        """Return the part of a text that was not released yet, made inert, with its marks renumbered.

        Citation marks are numbered in the order of their first use: the first passage cited is [1].
        """
        new_text = separate_marks(text[self._released :])
        self._released = max(self._released, len(text))
        self._has_begun = self._has_begun or bool(new_text)
        numbered = MARK.sub(lambda mark: f"[{self._numbers.setdefault(mark[1], len(self._numbers) + 1)}]", new_text)
        return self._inert.feed(numbered)

    def _drop_released(self) -> None:
        """Drop complete lines that were released from the pending text, and the released part of a long line.

        Nothing is dropped while a thought is pending, since offsets are those of the text without it.
        """
        if self._released > len(self._pending) or _THOUGHT.search(self._pending):
            return
        if line_start := self._pending.rfind("\n", 0, self._released) + 1:
            self._pending, self._released = self._pending[line_start:], self._released - line_start
            self._is_inside_line = False
        if self._released > _LONGEST_HEADING:
            self._pending, self._released, self._is_inside_line = self._pending[self._released :], 0, True


def _is_for_the_parser(line: str) -> bool:
    """Return whether a line at a reply's end is not shown: a label such as "CHOICE: B", a QUOTES heading, or blank."""
    return not line.strip() or bool(_LABEL_LINE.match(line) or QUOTES_HEADING.match(line))


def _may_be_hidden(line: str) -> bool:
    """Return whether a line, which may be incomplete, is hidden or may become so by its continuation.

    It may if its letters begin like a heading, a label or a phrase for the parser, as "Quo" does. A blank line may,
    since it waits for the text after it.
    """
    letters = re.sub(r"[^a-z ]+", "", line[:_LONGEST_HEADING].lower()).strip()
    if not letters and len(line) > _LONGEST_HEADING:
        return not line.strip()
    return any(phrase.startswith(letters) or letters.startswith(phrase) for phrase in _HIDDEN_BEGINNINGS)
