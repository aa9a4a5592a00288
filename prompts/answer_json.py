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
"""Maximum number of sentences in a schema, and of their characters, within what servers accept (OpenAI: 250 values, in
all 15,000 characters). Beyond them a quote may be any text, and is looked up in its passage as in the text form."""
_NUMBER_ENDS = frozenset(",] \t\r\n}")
"""Characters that may follow a number in JSON."""


def schema(sources: Sequence[Source]) -> dict[str, Any]:
    """Return the JSON schema of a reply to these passages."""
    numbers = {"type": "integer", "enum": [source.n for source in sources]}
    statement = object_schema(statement={"type": "string"}, passages={"type": "array", "items": numbers, "minItems": 1})
    return object_schema(
        statements={"type": "array", "items": statement},
        quotes={"type": "array", "items": _quote_schema(sources, numbers), "maxItems": 2 * len(sources)},
    )


def _quote_schema(sources: Sequence[Source], numbers: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a quote: the number of a passage and one of its sentences.

    The quote may be any text if the sentences are too many, or a passage has none.
    """
    sentences = {source.n: _sentences(source.text) for source in sources}
    all_sentences = list(chain.from_iterable(sentences.values()))
    is_too_long = len(all_sentences) > MOST_SENTENCES or sum(map(len, all_sentences)) > SENTENCE_CHARS
    if is_too_long or not all(sentences.values()):
        return object_schema(passage=numbers, quote={"type": "string"})
    return {
        "anyOf": [
            object_schema(passage={"type": "integer", "enum": [n]}, quote={"type": "string", "enum": own_sentences})
            for n, own_sentences in sentences.items()
        ]
    }


def _sentences(text: str) -> list[str]:
    """Return the distinct sentences of a text in order, as written, without blank ones."""
    return list(dict.fromkeys(text[start:end] for start, end in sentence_spans(text) if text[start:end].strip()))


class StreamedStatements:
    """A converter of a streamed JSON reply into its statements as text; any other reply is passed through.

    The JSON is read character by character, since an incomplete value cannot be parsed.
    """

    def __init__(self) -> None:
        self._undecided: str | None = ""  # the beginning of a reply that may become JSON; None once that is known
        self._is_json = False
        self._key = self._string = self._escape = self._number = self._waiting = ""
        self._in_string = self._is_value = self._has_reached_quotes = False
        self._statements = 0

    def feed(self, piece: str) -> str:
        """Return the text that may be shown now that this piece of the reply has arrived."""
        if self._undecided is not None:
            self._undecided += piece
            if not is_statements(self._undecided) and _may_become_statements(self._undecided.lstrip()):
                return ""
            self._is_json, piece, self._undecided = is_statements(self._undecided), self._undecided, None
        if not self._is_json:
            return piece
        return "" if self._has_reached_quotes else "".join(map(self._read_character, piece))

    def finish(self) -> str:
        """Return the beginning of a reply that ended before it could be recognised as JSON; else ""."""
        text, self._undecided = self._undecided or "", None
        return text

    def _read_character(self, char: str) -> str:
        """Read the next character of the JSON, and return the text that becomes visible by it.

        Of {"statement": "Venus is hot", "passages": [2]} the text is "Venus is hot [2].".
        """
        if self._has_reached_quotes:
            return ""
        if self._in_string:
            return self._read_in_string(char)
        if char == '"':
            self._in_string, self._string = True, ""
        elif char == ":":
            self._key, self._is_value = self._string, True
            self._has_reached_quotes = self._key == "quotes"
        elif self._key == "passages" and char.isdecimal():
            self._number += char
        elif self._number and char in _NUMBER_ENDS:
            number, self._number = self._number, ""
            return f" [{number}]" + self._end_of_object(char)
        return self._end_of_object(char)

    def _end_of_object(self, char: str) -> str:
        """Return the full stop behind a statement's marks if this character ends the statement's object; else ""."""
        if char in ",}]":
            self._is_value = self._is_value and char != ","
        if char == "}" and self._key == "passages":
            self._key = ""
            return "."
        return ""

    def _read_in_string(self, char: str) -> str:
        """Read the next character within a string, and return the text that becomes visible by it.

        Only statements become visible; another string is collected, since it may be a key.
        """
        is_statement = self._is_value and self._key == "statement"
        if self._escape or char == "\\":
            self._escape += char
            text = _unescape(self._escape)
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
        return self._statement_text(text)

    def _statement_text(self, text: str) -> str:
        """Return the visible part of a statement's next characters, with a space between two statements.

        A full stop, and space after it, waits: at the statement's end it belongs behind the marks.
        """
        is_first, self._string = not self._string, self._string or text
        separator = " " if is_first and self._statements else ""
        if is_first:
            self._statements += 1
        if text in ". \n":
            self._waiting += text
            return separator
        waiting, self._waiting = self._waiting, ""
        return separator + waiting + text


def _may_become_statements(beginning: str) -> bool:
    """Return whether a reply with this beginning, without leading space, may still become JSON of the schema."""
    return not beginning or (beginning.startswith("{") and '"statements"'.startswith(beginning[1:].lstrip()))


def _unescape(escape: str) -> str | None:
    r"""Return the character that a JSON escape such as "\n" means; None if it is incomplete, "" if it is invalid."""
    if escape[1:2] != "u":
        length = len(r"\n")
    elif re.match(r"\\u[dD][89abAB]", escape):  # the first half of a character beyond 16 bits
        length = len(r"\ud83d\ude00")
    else:
        length = len(r"\u00e9")
    if len(escape) < length:
        return None
    try:
        return str(json.loads(f'"{escape}"'))
    except ValueError:
        return ""
