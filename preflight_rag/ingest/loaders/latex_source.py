"""What of a LaTeX source is printed: without comments, branches that are switched off, and what is behind its end."""

from __future__ import annotations

import re
from dataclasses import dataclass

VERBATIM = ("verbatim", "verbatim*", "Verbatim", "lstlisting", "minted", "alltt")
"""Environments that print their source as it stands."""
_DROPPED = ("comment", "filecontents", "filecontents*")
_TOKEN = re.compile(
    r"(?P<comment>%)"
    r"|\\begin\{(?P<environment>" + "|".join(map(re.escape, (*VERBATIM, *_DROPPED))) + r")\}"
    r"|(?P<end>\\end\{document\})"
    r"|\\(?:verb\*?|lstinline(?:\[[^\]\n]{0,200}\])?)(?P<mark>[^\w\s*\[])"
    r"|\\(?:url|href)\{(?P<address>[^{}\n]{0,2000})"
    r"|\\cmidrule(?P<columns>\([lr]{1,2}\))"
    r"|\\newif\s{0,9}\\if(?P<declared>[A-Za-z@]{1,40})"
    r"|\\let\s{0,9}\\if(?P<copied>[A-Za-z@]{1,40})\s{0,9}=?\s{0,9}\\if(?P<value>[A-Za-z@]{1,40})(?![A-Za-z@])"
    r"|\\ifx\s{0,9}(?:\\[A-Za-z@]{1,40}|\\?[^\s%])\s{0,9}(?:\\[A-Za-z@]{1,40}|\\?[^\s%])(?P<compared>)"
    r"|\\ifdefined\s{0,9}\\[A-Za-z@]{1,40}(?P<known>)"
    r"|\\(?P<switch>if[A-Za-z@]{0,40}|else|fi)(?![A-Za-z@])"
    r"|\\(?P<set>[A-Za-z@]{1,40}?)(?P<to>true|false)(?![A-Za-z@])"
    r"|\\(?:[A-Za-z@]+|.)",
    re.DOTALL,
)
"""What begins something that is not plain text, or may hide it; any other command, so that "\\%" begins no comment."""
_REST_OF_COMMENT = re.compile(r"[^\n]*(?:\n(?![ \t]*\n)[ \t]*)?")
"""The rest of a comment and what TeX skips behind it; a blank line behind it parts paragraphs."""
_SPACE_BEHIND = re.compile(r"[ \t]*(?:\n(?![ \t]*\n)[ \t]*)?")
_ENDS_IN_COMMAND = re.compile(r"\\[A-Za-z@]{1,40}\Z")
_TEST = re.compile(
    r"if(?:x|num|dim|odd|case|cat|eof|vmode|hmode|mmode|inner|void|hbox|vbox|defined|csname|fontchar)?\Z"
)
"""TeX's own conditions; others are commands with arguments where a bracket stands behind them."""
_LONGEST_LITERAL = 2_000
"""Characters between the marks of a short program in a line; a guess."""
_NO_TEST = frozenset({"iff"})
"""The sign for "if and only if"."""


@dataclass(frozen=True, slots=True)
class PrintedSource:
    """A source without what is not printed, and where in it programs begin and end."""

    text: str
    literal: tuple[tuple[int, int], ...]


def printed_source(source: str) -> PrintedSource:
    """Return what of a source is printed; conditions that only TeX can evaluate keep both of their branches."""
    return _Scanner(source).scan()


class _Scanner:
    """Goes through a source once, from its beginning to its end."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._kept: list[str] = []
        self._length = 0
        self._literal: list[tuple[int, int]] = []
        self._values: dict[str, bool] = {"false": False, "true": True}
        self._open: list[bool | None] = []
        """Of each condition around the place whether its first branch is printed; None where that is not known."""
        self._endless: set[str] = set()
        """Environments that end nowhere behind the place."""
        self._is_closed = True
        """Whether each condition so far has its end."""
        self._at = 0
        """Up to where the source is kept or left out."""

    def scan(self) -> PrintedSource:
        """Return what is printed."""
        passes = {
            **{"comment": self._pass_comment, "environment": self._pass_environment, "mark": self._pass_literal},
            **{"address": self._pass_address, "columns": self._pass_columns, "switch": self._pass_switch},
            **{"compared": self._pass_unknown, "known": self._pass_unknown, "to": self._set},
            **{"declared": self._declare, "value": self._declare},
        }
        place = 0
        while match := _TOKEN.search(self._source, place):
            if match.lastgroup == "end":
                self._leave_out(match.start(), len(self._source))
                break
            step = passes.get(match.lastgroup or "")
            place = step(match) if step else match.end()
        self._leave_out(len(self._source), len(self._source))
        return PrintedSource("".join(self._kept), tuple(self._literal))

    def _keep(self, text: str) -> None:
        if text:
            self._kept.append(text)
            self._length += len(text)

    def _leave_out(self, start: int, end: int) -> None:
        """Keep the source up to a place, and go on behind another one."""
        self._keep(self._source[self._at : start])
        self._at = end

    def _skip(self, start: int, behind: re.Pattern[str], place: int) -> int:
        """Leave out the source from a place on, with what TeX skips behind another; return where that ends."""
        found = behind.match(self._source, place)
        end = found.end() if found else place
        self._leave_out(start, end)
        # What was left out ended a command: "\\centering%" before "Words".
        if self._source[end : end + 1].isalpha() and self._kept and _ENDS_IN_COMMAND.search(self._kept[-1][-50:]):
            self._keep(" ")
        return end

    def _pass_comment(self, match: re.Match[str]) -> int:
        """Leave out a comment; return where it ends."""
        return self._skip(match.start(), _REST_OF_COMMENT, match.end())

    def _pass_literal(self, match: re.Match[str]) -> int:
        """Keep what stands between two marks as it stands; return where it ends."""
        line = self._source[match.end() : match.end() + _LONGEST_LITERAL].partition("\n")[0]
        closing = line.find("}" if match["mark"] == "{" else match["mark"])
        return match.end() + closing + 1

    def _pass_address(self, match: re.Match[str]) -> int:
        """Keep an address with its per cent signs, which begin no comment: "https://x.example/a%20b"."""
        self._leave_out(match.start("address"), match.end())
        self._keep(match["address"].replace("%", r"\%").replace(r"\\%", r"\%"))
        return match.end()

    def _pass_columns(self, match: re.Match[str]) -> int:
        """Leave out at which ends a rule of a table is cut: "(lr)"."""
        self._leave_out(match.start("columns"), match.end())
        return match.end()

    def _pass_unknown(self, match: re.Match[str]) -> int:
        """Note a condition that only TeX can evaluate."""
        self._open.append(None)
        return match.end()

    def _set(self, match: re.Match[str]) -> int:
        """Note which branch of a condition is printed from here on."""
        if match["set"] in self._values:
            self._values[match["set"]] = match["to"] == "true"
        return match.end()

    def _declare(self, match: re.Match[str]) -> int:
        """Note a condition that the document declares or makes equal to another."""
        if match["declared"]:
            self._values[match["declared"]] = False
        else:
            self._values.pop(match["copied"], None)
            if match["value"] in self._values:
                self._values[match["copied"]] = self._values[match["value"]]
        return self._skip(match.start(), _SPACE_BEHIND, match.end())

    def _pass_environment(self, match: re.Match[str]) -> int:
        """Keep a program as it stands, or leave out what is no part of the document; return where it ends."""
        name = match["environment"]
        closing = f"\\end{{{name}}}"
        end = -1 if name in self._endless else self._source.find(closing, match.end())
        if end < 0:
            self._endless.add(name)
            return match.end()
        end += len(closing)
        if name in _DROPPED:
            return self._skip(match.start(), _SPACE_BEHIND, end)
        begin = self._length + match.start() - self._at
        self._literal.append((begin, begin + end - match.start()))
        return end

    def _pass_switch(self, match: re.Match[str]) -> int:
        """Pass a condition, the beginning of its second branch or its end; return where the source goes on."""
        name, place = match["switch"], match.end()
        if not self._is_closed:
            return place
        if name in ("else", "fi"):
            return self._pass_branch(match)
        if not _is_condition(name, self._values, self._source[place : place + 1]):
            return place
        value = self._values.get(name.removeprefix("if"))
        if value is False:
            place = self._closing(place, to_second=True)
            if place < 0:
                return match.end()
            if self._source.startswith("\\else", place - 5):
                self._open.append(False)
        else:
            self._open.append(value)
        return place if value is None else self._skip(match.start(), _SPACE_BEHIND, place)

    def _pass_branch(self, match: re.Match[str]) -> int:
        """Pass the end of a branch, and of a second one that is not printed; return where the source goes on."""
        place = match.end()
        if not self._open or self._open[-1] is None:
            if self._open and match["switch"] == "fi":
                self._open.pop()
            return place
        if match["switch"] == "else":
            place = self._closing(place, to_second=False)
            if place < 0:
                return match.end()
        self._open.pop()
        return self._skip(match.start(), _SPACE_BEHIND, place)

    def _closing(self, place: int, *, to_second: bool) -> int:
        """Return where the branch that begins at a place ends, behind its "fi" or "else"; -1 if nothing ends it."""
        depth = 0
        while match := _TOKEN.search(self._source, place):
            place = match.end()
            name = match["switch"]
            if match["comment"]:
                found = _REST_OF_COMMENT.match(self._source, place)
                place = found.end() if found else place
            elif match.lastgroup in ("compared", "known"):
                depth += 1
            elif name == "fi" or (name == "else" and to_second and not depth):
                if not depth:
                    return place
                depth -= 1
            elif name and name != "else" and _is_condition(name, self._values, self._source[place : place + 1]):
                depth += 1
        self._is_closed = False  # Better all than nothing, and one look for an end that is not there.
        return -1


def _is_condition(name: str, values: dict[str, bool], behind: str) -> bool:
    """Return whether a command that begins with "if" is a condition of TeX, and no command with arguments.

    Args:
        name: The command.
        values: The conditions that the document declares.
        behind: The character behind it.
    """
    if name in _NO_TEST:
        return False
    return name.removeprefix("if") in values or bool(_TEST.match(name)) or behind not in ("{", "}", "[")
