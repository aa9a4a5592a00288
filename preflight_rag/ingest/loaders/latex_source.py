"""Find what of a LaTeX source is printed: no comments, no disabled branches, and nothing after the document's end."""

from __future__ import annotations

import re
from dataclasses import dataclass

VERBATIM = ("verbatim", "verbatim*", "Verbatim", "lstlisting", "minted", "alltt")
"""Environments that print their source unchanged: program listings."""
_UNPRINTED_ENVIRONMENTS = ("comment", "filecontents", "filecontents*")
_TOKEN = re.compile(
    r"(?P<comment>%)"
    r"|\\begin\{(?P<environment>" + "|".join(map(re.escape, (*VERBATIM, *_UNPRINTED_ENVIRONMENTS))) + r")\}"
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
"""The beginning of what is not plain text or not printed; also any other command, so that "\\%" is no comment."""
_REST_OF_COMMENT = re.compile(r"[^\n]*(?:\n(?![ \t]*\n)[ \t]*)?")
"""The rest of a comment and the space that TeX skips after it, up to a blank line, which begins a paragraph."""
_SKIPPED_SPACE = re.compile(r"[ \t]*(?:\n(?![ \t]*\n)[ \t]*)?")
_ENDS_IN_COMMAND = re.compile(r"\\[A-Za-z@]{1,40}\Z")
_TEX_CONDITION = re.compile(
    r"if(?:x|num|dim|odd|case|cat|eof|vmode|hmode|mmode|inner|void|hbox|vbox|defined|csname|fontchar)?\Z"
)
"""TeX's own conditions. Other names with "if" are commands with arguments where a bracket follows them."""
_MAXIMUM_LITERAL_LENGTH = 2_000
"""Maximum characters between the marks of a program within a line (`\\verb`); a guess."""
_NOT_CONDITIONS = frozenset({"iff"})
"""Commands that begin with "if" and are no conditions: the sign for "if and only if"."""


@dataclass(frozen=True, slots=True)
class PrintedSource:
    """The printed text of a source, with the offsets where program listings begin and end in it."""

    text: str
    listings: tuple[tuple[int, int], ...]


def printed_source(source: str) -> PrintedSource:
    """Return the printed part of a source; conditions that only TeX can evaluate keep both of their branches."""
    return _Scanner(source).scan()


class _Scanner:
    """Scanner that goes through a source once and collects what is printed."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._kept_pieces: list[str] = []
        self._length = 0
        self._listings: list[tuple[int, int]] = []
        self._values: dict[str, bool] = {"false": False, "true": True}
        self._open_conditions: list[bool | None] = []
        """For each condition around the position, whether its first branch is printed; None if that is not known."""
        self._unclosed_environments: set[str] = set()
        """Names of environments that are not closed anywhere after the position."""
        self._all_conditions_closed = True
        """Whether every condition so far has an end; if not, all further branches are printed."""
        self._position = 0
        """Offset up to which the source was kept or left out."""

    def scan(self) -> PrintedSource:
        """Scan the source once; return its printed part."""
        handlers = {
            **{"comment": self._pass_comment, "environment": self._pass_environment, "mark": self._pass_literal},
            **{"address": self._pass_address, "columns": self._pass_columns, "switch": self._pass_switch},
            **{
                "compared": self._pass_unknown_condition,
                "known": self._pass_unknown_condition,
                "to": self._set_condition,
            },
            **{"declared": self._declare_condition, "value": self._declare_condition},
        }
        position = 0
        while match := _TOKEN.search(self._source, position):
            if match.lastgroup == "end":
                self._leave_out(match.start(), len(self._source))
                break
            handler = handlers.get(match.lastgroup or "")
            position = handler(match) if handler else match.end()
        self._leave_out(len(self._source), len(self._source))
        return PrintedSource("".join(self._kept_pieces), tuple(self._listings))

    def _keep(self, text: str) -> None:
        """Append a piece of text to what is printed."""
        if text:
            self._kept_pieces.append(text)
            self._length += len(text)

    def _leave_out(self, start: int, end: int) -> None:
        """Keep the source from the position up to `start`, and leave out what follows up to `end`."""
        self._keep(self._source[self._position : start])
        self._position = end

    def _skip_with_space(self, start: int, skipped: re.Pattern[str], end: int) -> int:
        """Leave out the source between two offsets, and what matches a pattern after it; return where that ends."""
        match = skipped.match(self._source, end)
        end = match.end() if match else end
        self._leave_out(start, end)
        # A blank replaces the omission where it ended a command: "\\centering%" before "Words".
        if (
            self._source[end : end + 1].isalpha()
            and self._kept_pieces
            and _ENDS_IN_COMMAND.search(self._kept_pieces[-1][-50:])
        ):
            self._keep(" ")
        return end

    def _pass_comment(self, match: re.Match[str]) -> int:
        """Leave out a comment; return where it ends."""
        return self._skip_with_space(match.start(), _REST_OF_COMMENT, match.end())

    def _pass_literal(self, match: re.Match[str]) -> int:
        r"""Keep a program within a line, `\verb|x%|`, unchanged; return where it ends."""
        line = self._source[match.end() : match.end() + _MAXIMUM_LITERAL_LENGTH].partition("\n")[0]
        closing = line.find("}" if match["mark"] == "{" else match["mark"])
        return match.end() + closing + 1

    def _pass_address(self, match: re.Match[str]) -> int:
        """Keep an address, whose per cent signs begin no comment ("/a%20b"), and escape these; return its end."""
        self._leave_out(match.start("address"), match.end())
        self._keep(match["address"].replace("%", r"\%").replace(r"\\%", r"\%"))
        return match.end()

    def _pass_columns(self, match: re.Match[str]) -> int:
        """Leave out the trimming of a table's rule, "(lr)"; return where it ends."""
        self._leave_out(match.start("columns"), match.end())
        return match.end()

    def _pass_unknown_condition(self, match: re.Match[str]) -> int:
        """Record a condition that only TeX can evaluate; return where it ends."""
        self._open_conditions.append(None)
        return match.end()

    def _set_condition(self, match: re.Match[str]) -> int:
        r"""Record the value that the document gives to a condition, `\drafttrue`; return where that ends."""
        if match["set"] in self._values:
            self._values[match["set"]] = match["to"] == "true"
        return match.end()

    def _declare_condition(self, match: re.Match[str]) -> int:
        """Record a condition that the document declares or makes equal to another; return where the source goes on."""
        if match["declared"]:
            self._values[match["declared"]] = False
        else:
            self._values.pop(match["copied"], None)
            if match["value"] in self._values:
                self._values[match["copied"]] = self._values[match["value"]]
        return self._skip_with_space(match.start(), _SKIPPED_SPACE, match.end())

    def _pass_environment(self, match: re.Match[str]) -> int:
        """Keep a program listing unchanged, or leave out an environment that is not printed; return where it ends."""
        name = match["environment"]
        closing = f"\\end{{{name}}}"
        end = -1 if name in self._unclosed_environments else self._source.find(closing, match.end())
        if end < 0:
            self._unclosed_environments.add(name)
            return match.end()
        end += len(closing)
        if name in _UNPRINTED_ENVIRONMENTS:
            return self._skip_with_space(match.start(), _SKIPPED_SPACE, end)
        begin = self._length + match.start() - self._position
        self._listings.append((begin, begin + end - match.start()))
        return end

    def _pass_switch(self, match: re.Match[str]) -> int:
        """Handle a condition, an "else" or a "fi": leave out the branch that is not printed; return where to go on."""
        name, end = match["switch"], match.end()
        if not self._all_conditions_closed:
            return end
        if name in ("else", "fi"):
            return self._pass_branch(match)
        if not _is_condition(name, self._values, self._source[end : end + 1]):
            return end
        value = self._values.get(name.removeprefix("if"))
        if value is False:
            end = self._end_of_branch(end, stop_at_else=True)
            if end < 0:
                return match.end()
            if self._source.startswith("\\else", end - len("\\else")):
                self._open_conditions.append(False)
        else:
            self._open_conditions.append(value)
        return end if value is None else self._skip_with_space(match.start(), _SKIPPED_SPACE, end)

    def _pass_branch(self, match: re.Match[str]) -> int:
        """Handle the end of a printed branch, and leave out a second branch after it; return where to go on.

        Nothing is left out of conditions whose value is not known.
        """
        end = match.end()
        if not self._open_conditions or self._open_conditions[-1] is None:
            if self._open_conditions and match["switch"] == "fi":
                self._open_conditions.pop()
            return end
        if match["switch"] == "else":
            end = self._end_of_branch(end, stop_at_else=False)
            if end < 0:
                return match.end()
        self._open_conditions.pop()
        return self._skip_with_space(match.start(), _SKIPPED_SPACE, end)

    def _end_of_branch(self, start: int, *, stop_at_else: bool) -> int:
        """Return the offset after the "fi", or "else", that ends the branch from `start` on; -1 if nothing ends it."""
        depth, end = 0, start
        while match := _TOKEN.search(self._source, end):
            end = match.end()
            name = match["switch"]
            if match["comment"]:
                rest = _REST_OF_COMMENT.match(self._source, end)
                end = rest.end() if rest else end
            elif match.lastgroup in ("compared", "known"):
                depth += 1
            elif name == "fi" or (name == "else" and stop_at_else and not depth):
                if not depth:
                    return end
                depth -= 1
            elif name and name != "else" and _is_condition(name, self._values, self._source[end : end + 1]):
                depth += 1
        # All further branches are kept: that is better than nothing, and no further search for ends is needed.
        self._all_conditions_closed = False
        return -1


def _is_condition(name: str, values: dict[str, bool], next_character: str) -> bool:
    """Return whether a command that begins with "if" is a condition of TeX, not a command with arguments.

    Args:
        name: The name of the command.
        values: The values of the conditions that the document declares, by name without "if".
        next_character: The character after the command.
    """
    if name in _NOT_CONDITIONS:
        return False
    return (
        name.removeprefix("if") in values or bool(_TEX_CONDITION.match(name)) or next_character not in ("{", "}", "[")
    )
