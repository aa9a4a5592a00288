"""An answer as JSON by a schema: statements with their passages, and quotes that are sentences of a given passage.

    {"statements": [{"statement": "Venus is the hottest planet", "passages": [2]}],
     "quotes": [{"passage": 2, "quote": "Venus is hotter than any other planet."}]}

is equivalent to the text form that `replies` describes, and is converted to it. A server that enforces the schema gives
no number of a missing passage, and no quote that is not in the passage with its number.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from itertools import chain
from typing import Any

from preflight_rag.prompts.replies import is_statements, object_schema
from preflight_rag.state.reading import Source
from preflight_rag.text.sentences import sentence_spans

ASK = """\
Write this as one JSON object: "statements" has the statements of the answer in their order, each with the numbers of
its passages, "quotes" for each passage cited its number and the sentence of it that supports you, word for word. When
the passages do not hold the answer, "statements" is empty."""
MOST_SENTENCES, SENTENCE_CHARS = 200, 12_000
"""Limits within what servers accept in a schema (OpenAI: 250 values, in all 15,000 characters). Beyond them a quote may
be any text, and is looked up in its passage as in the text form."""
_NUMBER_ENDS = frozenset(",] \t\r\n}")


def schema(sources: Sequence[Source]) -> dict[str, Any]:
    """Return the JSON schema of a reply to these passages."""
    numbers = {"type": "integer", "enum": [source.n for source in sources]}
    statement = object_schema(statement={"type": "string"}, passages={"type": "array", "items": numbers, "minItems": 1})
    return object_schema(
        statements={"type": "array", "items": statement},
        quotes={"type": "array", "items": _quote(sources, numbers), "maxItems": 2 * len(sources)},
    )


def _quote(sources: Sequence[Source], numbers: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a quote: one of each passage's own sentences, unless they are too many."""
    own = {source.n: _sentences(source.text) for source in sources}
    texts = list(chain.from_iterable(own.values()))
    if len(texts) > MOST_SENTENCES or sum(map(len, texts)) > SENTENCE_CHARS or not all(own.values()):
        return object_schema(passage=numbers, quote={"type": "string"})
    return {
        "anyOf": [
            object_schema(passage={"type": "integer", "enum": [n]}, quote={"type": "string", "enum": each})
            for n, each in own.items()
        ]
    }


def _sentences(text: str) -> list[str]:
    """Return the distinct sentences of a text, as written."""
    return list(dict.fromkeys(text[start:end] for start, end in sentence_spans(text) if text[start:end].strip()))


class StreamedStatements:
    """A converter of a streamed JSON reply into the statements in it; any other reply is passed through."""

    def __init__(self) -> None:
        self._undecided: str | None = ""
        self._is_json = False
        self._key = self._string = self._escape = self._number = self._waiting = ""
        self._in_string = self._is_value = self._over = False
        self._statements = 0

    def feed(self, piece: str) -> str:
        """Return the text that is certain once this piece has arrived."""
        if self._undecided is not None:
            self._undecided += piece
            if not is_statements(self._undecided) and _may_become(self._undecided.lstrip()):
                return ""
            self._is_json, piece, self._undecided = is_statements(self._undecided), self._undecided, None
        if not self._is_json:
            return piece
        return "" if self._over else "".join(map(self._take, piece))

    def finish(self) -> str:
        """Return the rest, once the reply has ended and nothing can change its meaning any more."""
        text, self._undecided = self._undecided or "", None
        return text

    def _take(self, char: str) -> str:
        """Take the next character of the JSON, and return the text that becomes visible by it."""
        if self._over:
            return ""
        if self._in_string:
            return self._take_in_string(char)
        if char == '"':
            self._in_string, self._string = True, ""
        elif char == ":":
            self._key, self._is_value = self._string, True
            self._over = self._key == "quotes"
        elif self._key == "passages" and char.isdecimal():
            self._number += char
        elif self._number and char in _NUMBER_ENDS:
            number, self._number = self._number, ""
            return f" [{number}]" + (self._end(char))
        return self._end(char)

    def _end(self, char: str) -> str:
        """Return the text after a statement (its marks) if this character ends the statement's object."""
        if char in ",}]":
            self._is_value = self._is_value and char != ","
        if char == "}" and self._key == "passages":
            self._key = ""
            return "."
        return ""

    def _take_in_string(self, char: str) -> str:
        """Take the next character within a string, and return the text that becomes visible by it."""
        is_statement = self._is_value and self._key == "statement"
        if self._escape or char == "\\":
            self._escape += char
            text = _unescaped(self._escape)
            if text is None:
                return ""
            self._escape = ""
        elif char == '"':
            self._in_string, self._waiting = False, ""
            return ""
        else:
            text = char
        if not is_statement:
            self._string += text
            return ""
        return self._statement(text)

    def _statement(self, text: str) -> str:
        """Return a piece of a statement; a full stop at its end is moved behind the marks."""
        opens, self._string = not self._string, self._string or text
        before = " " if opens and self._statements else ""
        self._statements += opens
        if text in ". \n":
            self._waiting += text
            return before
        waiting, self._waiting = self._waiting, ""
        return before + waiting + text


def _may_become(begun: str) -> bool:
    """Return whether a reply with this beginning may still become JSON of the schema."""
    return not begun or (begun.startswith("{") and '"statements"'.startswith(begun[1:].lstrip()))


def _unescaped(escape: str) -> str | None:
    """Return the character that a JSON escape means; None if the escape is incomplete."""
    wanted = 2 if len(escape) < 2 or escape[1] != "u" else 12 if re.match(r"\\u[dD][89abAB]", escape) else 6
    if len(escape) < wanted:
        return None
    try:
        return str(json.loads(f'"{escape}"'))
    except ValueError:
        return ""
