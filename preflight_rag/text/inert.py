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

_LINE_PREFIX = r"[ \t>*+\d.)-]{0,40}"
_SHOWN_LANGUAGES = frozenset(
    {"bash", "c", "console", "cpp", "csv", "go", "ini", "java", "json", "python", "r", "rust", "sh", "shell", "sql"}
    | {"text", "toml", "yaml"}
)
"""Languages of code that clients show as text."""
_LINE_PIECE = re.compile(r"[^\n]*\n|[^\n]+")
_CODE_FENCE = re.compile(rf"({_LINE_PREFIX})(`{{3,}}|~{{3,}})([^\n]*)")
_UNFINISHED_FENCE = re.compile(rf"{_LINE_PREFIX}(?:`{{0,2}}|~{{0,2}})\Z")
_UNFINISHED_CLOSING_FENCE = re.compile(r"\A {0,3}+[`~]*+[ \t]*+\Z")
_MAX_URL_CHARS = 2_000
_URL_REST = rf"[^\s<>`\"'|{{}}\[\]()^，。、；：）」】]{{0,{_MAX_URL_CHARS}}}"
_URL_START = (
    r"(?:(?:https?|ftps?|wss?|file):(?:\\?/){2}|(?<![^\W_])(?:(?<![.@/-])www\.|(?<![:/])//(?=[\w-]{1,63}\.\w)))"
)
_ENTITY = r"&(?:#\d{1,7}|#x[0-9a-f]{1,6}|colon|sol|period);"
_ENTITIES, _ENTITY_AT_END = re.compile(_ENTITY, re.IGNORECASE), re.compile(rf"{_ENTITY}\Z", re.IGNORECASE)
_TOKEN = re.compile(
    rf"(?P<line>\n)|(?P<entity>{_ENTITY})|(?P<coded>(?<![`\\])`{_URL_START}{_URL_REST}`(?!`))|(?P<ticks>`+)|(?P<address>{_URL_START}{_URL_REST})"
    r"|(?P<image>!(?=\[))|(?P<target>\](?=\())|(?P<definition>\](?=:))"
    r"|(?P<tag><(?=[/!?]|[A-Za-z][A-Za-z0-9-]{0,30}(?:[\s/>]|\Z)|[A-Za-z][A-Za-z0-9+.-]{0,30}:))",
    re.IGNORECASE,
)
# It matches "![", "](", "<img ", "https://example.org", "&#104;" and not "!", "p<0.05", "[1] (", "&amp;".
_UNFINISHED_URL = re.compile(rf"{_URL_START}{_URL_REST}\Z", re.IGNORECASE)
_UNFINISHED_TOKEN = re.compile(
    r"(?:!|\]|&[#a-z0-9]{0,9}|<[A-Za-z0-9+.-]{0,32}|`{1,8}|`{0,8}(?:(?:h|ht|htt|https?|f|ft|ftps?|ws|wss|w|ww|fi|fil|file)"
    r"(?::(?:\\?/)?\\?)?|www|/|//[\w-]{0,63}\.?))\Z",
    re.IGNORECASE,
)
_MAX_TOKEN_CHARS = 100
"""Characters at the end of the received text in which an unfinished token, other than a URL, may begin."""
_REMEMBERED_CHARS = 12
"""Characters of the text already returned that are remembered: enough for a citation mark."""
_SCHEME_SEPARATOR = re.compile(r"(:?(?:\\?/){2}|www\.)(?=\S)", re.IGNORECASE)
_SLASHES_AT_END = re.compile(r"(?:\\?/){2}\Z")
_CITATION_MARK_AT_END = re.compile(r"(?<!\\)\[\d{1,6}\Z")
_URL_CHARACTER = re.compile(r"[A-Za-z0-9:/.]")
_LETTER = re.compile(r"[^\W\d_]")
_MAX_ENTITY_CHARS = 10
"""Most characters of an entity without its semicolon: "&#1114111"."""
_PUNCTUATION_BEHIND_URL = ".,;:!?*_~'\\"
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
    """`inert` for a text that arrives in pieces; the joined result does not depend on where the pieces were cut.

    The kind of each line is decided at its begin: a line of code between two fences is returned unchanged, any other
    is searched for tokens. Text is held back while more of it is needed to decide.
    """

    def __init__(self) -> None:
        self._pending = ""  # text that was received and not yet returned
        self._before = ""  # the end of the text that was returned of the current line
        self._open_fence = ""  # the fence of the code block in which the text is
        self._is_line_begun = False  # whether the kind of the current line is decided
        self._is_code_line = False  # whether the current line is in a code block or begins one
        self._has_letters = False  # whether the part of the current line that was returned has a letter
        self._is_blank_since_line_end = False
        self._may_be_in_code = False  # whether backticks may have begun code in the current paragraph
        # After a fence that is not at the margin, it is unclear whether a later one opens or closes.
        self._is_fence_unsure = False

    def feed(self, piece: str) -> str:
        """Return the text that is decided once this piece has arrived."""
        out = []
        # one after the other, so that the time stays proportional to the length
        for line in _LINE_PIECE.findall(visible(piece)):
            self._pending += line
            out.append(self._take_decided(final=False))
        return "".join(out)

    def finish(self) -> str:
        """Return the text that was held back."""
        return self._take_decided(final=True)

    def _take_decided(self, *, final: bool) -> str:
        """Return the inert form of the pending text that is decided; all of it if `final`, since nothing follows."""
        out: list[str] = []
        while self._pending:
            pending = self._pending
            if not self._is_line_begun and not self._begin_line(out, final=final):
                break
            if self._is_code_line:
                self._take_code(out)
            elif self._pending and not self._take_prose(out, final=final):
                break
            if len(self._pending) == len(pending) and not self._is_line_begun:
                break
        return "".join(out)

    def _begin_line(self, out: list[str], *, final: bool) -> bool:
        """Decide whether the pending line is code, and append an opening fence to `out`.

        Return False, and change nothing, if that needs more text.
        """
        line, line_end, _ = self._pending.partition("\n")
        is_whole = bool(line_end) or final
        if self._open_fence:
            if not is_whole and _UNFINISHED_CLOSING_FENCE.match(line):
                return False
            fence = line.strip(" \t")
            is_same_sign = set(fence) == {self._open_fence[0]} and len(fence) >= len(self._open_fence)
            self._is_line_begun = self._is_code_line = True
            if is_same_sign and _UNFINISHED_CLOSING_FENCE.match(line):
                self._open_fence = ""
            return True
        may_be_fence = _UNFINISHED_FENCE.match(line) or (_CODE_FENCE.match(line) and len(line) < _MAX_URL_CHARS)
        if not is_whole and may_be_fence:
            return False
        self._is_line_begun, self._is_code_line, self._has_letters = True, False, False
        match = _CODE_FENCE.match(line)
        if match is None:
            return True
        prefix, fence, language = match[1], match[2], match[3].strip()
        if fence[0] == "`" and "`" in language:  # "```code```" is code within a line
            return True
        out.append(prefix + fence + (language if language in _SHOWN_LANGUAGES else ""))
        self._pending, self._is_code_line = self._pending[len(line) :], True
        self._is_fence_unsure = self._is_fence_unsure or bool(prefix)
        self._open_fence, self._may_be_in_code = ("", True) if self._is_fence_unsure else (fence, False)
        self._is_blank_since_line_end = False
        return True

    def _take_code(self, out: list[str]) -> None:
        """Move a pending line of code, or the received part of it, to `out` unchanged."""
        line, line_end, following = self._pending.partition("\n")
        out.append(line + line_end)
        self._pending, self._before = following, ""
        self._is_line_begun = not line_end

    def _take_prose(self, out: list[str], *, final: bool) -> bool:
        """Move the decided part of a line of prose to `out`, in inert form; return whether the line ended."""
        text, position = self._before + self._pending, len(self._before)
        unfinished = None if final else _UNFINISHED_TOKEN.search(text, max(position, len(text) - _MAX_TOKEN_CHARS))
        end = unfinished.start() if unfinished else len(text)
        is_new_line = False
        while not is_new_line:
            token = _TOKEN.search(text, position)
            if token is not None and not final and _may_be_unfinished(token, text):
                end = min(end, token.start())
            if token is None or token.start() >= end:
                break
            self._note_returned(text[position : token.start()])
            out.append(text[position : token.start()])
            position = token.end()
            if token.lastgroup == "address":
                position = token.start() + _url_length(token[0])
            out.append(self._inert_token(token, text, position))
            is_new_line = token.lastgroup == "line"
        if not is_new_line and position < end:
            self._note_returned(text[position:end])
            out.append(text[position:end])
            position = end
        self._pending, self._before = text[position:], text[max(position - _REMEMBERED_CHARS, 0) : position]
        if is_new_line:
            self._before, self._is_line_begun = "", False
        return is_new_line

    def _note_returned(self, text: str) -> None:
        """Record whether the current line is still blank, and whether it has letters, after text that is returned."""
        self._is_blank_since_line_end = self._is_blank_since_line_end and not text.strip()
        self._has_letters = self._has_letters or bool(_LETTER.search(text))

    def _inert_token(self, token: re.Match[str], text: str, end: int) -> str:
        """Return the inert form of a token that ends at `end`, and record where code may begin or end.

        A line end and a citation mark before a colon stay as they are, an image, a link or a tag gets a space behind
        its first sign, and a URL gets backticks, or is broken up where these have another meaning.
        """
        kind, written, following = token.lastgroup, text[token.start() : end], text[end : end + 1]
        if kind == "line":
            if self._is_blank_since_line_end:  # a blank line ends the paragraph, and with it any code
                self._may_be_in_code = False
            self._is_blank_since_line_end = True
            return written
        self._is_blank_since_line_end = False
        if kind == "coded" and not self._may_be_in_code:
            return written
        if kind in ("coded", "ticks"):
            self._may_be_in_code = True
            return _break_up(written, following)
        if kind == "entity":
            return _break_up(written, following)
        if kind == "definition":
            mark_start = max(token.start() - _REMEMBERED_CHARS, 0)
            is_citation = _CITATION_MARK_AT_END.search(text, mark_start, token.start()) and self._has_letters
            return written if is_citation else f"{written} "
        if kind != "address":
            return f"{written} "
        is_escaped = text[max(token.start() - 1, 0) : token.start()] in ("\\", "`")
        is_in_ticks = self._may_be_in_code or is_escaped or following == "`"
        if is_in_ticks or _SCHEME_SEPARATOR.search(written) is None:
            return _break_up(written, following)
        return f"`{written}`"


def _url_length(address: str) -> int:
    """Return the length of a URL without the punctuation after it, except for the end of an entity: "&sol;"."""
    length = len(address.rstrip(_PUNCTUATION_BEHIND_URL))
    entity = _ENTITY_AT_END.search(address, max(length - _MAX_ENTITY_CHARS, 0), length + 1)
    return length + 1 if entity else length


def _break_up(written: str, following: str) -> str:
    """Return a URL, entity or code with spaces, so that no renderer makes a link of it: "https:// example.org".

    Entities that stand for a character of URLs are broken up, too: "& #104;". `following` is the character behind.
    """
    split = _SCHEME_SEPARATOR.sub(r"\1 ", written)
    if _SLASHES_AT_END.search(split) and following.strip():  # some renderers make a link of "https://!", too
        split += " "

    def break_entity(entity: re.Match[str]) -> str:
        """Return a matched entity with a space if it stands for a character of URLs."""
        return f"& {entity[0][1:]}" if _URL_CHARACTER.fullmatch(unescape(entity[0])) else entity[0]

    return _ENTITIES.sub(break_entity, split)


def _may_be_unfinished(token: re.Match[str], text: str) -> bool:
    """Return whether a token at the end of a text may be an unfinished URL, or the code around one."""
    if token.lastgroup == "ticks":
        return _UNFINISHED_URL.match(text, token.end()) is not None
    return token.lastgroup in ("address", "coded") and token.end() == len(text)
