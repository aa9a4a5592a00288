"""Parsing of answers of models: the text, the quotes below it, the chosen option.

The requested format is

    statement [2]. another statement [1][4].
    CHOICE: B
    QUOTES
    [2] "words copied from passage 2"

and variations by small local models are accepted: bold or numbered headings, missing quotation marks, `[1, 4]`,
`(2)` before a quote, any case.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from itertools import chain
from string import whitespace
from typing import Any

from preflight_rag.prompts.fences import letter
from preflight_rag.state.reading import Draft
from preflight_rag.text.citations import JOINT_MARK, separate_marks, without_marks
from preflight_rag.text.words import encodable

ANSWER_TOKENS = 2_048
"""Token limit of an answer: 600 words in any language; an answer has 50 to 400. Set by hand, as are the following
limits."""
QUOTE_TOKENS = 96
"""Token limit of a quote of two sentences."""
FACT_TOKENS = 160
"""Token limit of an extract's statements about one passage."""
NOTE_TOKENS = 96
"""Token limit of a note on one context: its entity, descriptor and answer, as a line or as JSON."""
RELATION_TOKENS = 32
"""Token limit of one relation."""
LINE_TOKENS = 64
"""Token limit of a label, or of a letter with a few words around it."""
CHARS_A_TOKEN = 3
"""Assumed characters per token of a text that a reply repeats: fewer than English has (four), more than Chinese."""
LONGEST_CHOICE = 200
"""Number of characters from which on a text that contains an option does not choose it; a guess."""
JSON_STARTS = 200
"""Maximum number of brackets of a reply that are tried as the beginning of JSON, each of which costs a scan of the text
after it. A guess."""
NOT_FOUND = "NOT IN THE PASSAGES"
NO_INFORMATION = "NO RELEVANT INFORMATION"

# Models can repeat themselves: every pattern here takes linear time over any reply (tests/faults). Hence the possessive
# repeats (`*+`), and ends that are stripped off the match rather than matched.
QUOTES_HEADING = re.compile(r"^[\s#*_>-]*+(?:supporting\s++)?quotes?[\s*_]*+:?[\s*_]*+$", re.IGNORECASE)
_CHOICE = re.compile(r"^[\s#*_>-]*+(?:final\s++)?(?:choice|answer)[\s*_]*+:[\s*_]*\(?(.+)", re.IGNORECASE | re.DOTALL)
_DISPUTED = re.compile(r"^[\s#*_>-]*+disputed[\s*_]*+:(.*)$", re.IGNORECASE)
_NO_ANSWER = frozenset(
    {"", "-", "–", "—", "none", "null", "n/a", "na", "unknown", "unclear", "nothing", "no answer", "not stated"}
    | {"not given", "not mentioned", "not settled", "none of them", "not answered", "cannot be answered", "?"}
)
"""Values of an `ANSWER: ` or `DISPUTED: ` line that mean "none"; "no" is an answer to a yes/no question."""
_QUOTE = re.compile(r"^[\s*_>-]*+(?:\d+[.)]\s++)?[\[(](\d{1,6})[\])][\s:–—-]*(.+)", re.DOTALL)
_ANSWER_LABEL = re.compile(r"^\s*+[#*_]*+\s*+answer\s*+[*_]*+\s*+:\s*+[*_]*+\s*+", re.IGNORECASE)
_STATEMENT_END = re.compile(r"[.!?][\"'”»)\]]{0,3}(?=\s|$)|\[\d{1,4}\](?=\s|$)")
_LONE_THOUGHT = re.compile(r"^.*</think(?:ing)?>", re.DOTALL | re.IGNORECASE)
"""The thoughts of a model whose server has removed the tag that opens them."""
_THOUGHTS_END = re.compile(r"</think(?:ing)?>", re.IGNORECASE)
_THINKING = re.compile(r"<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL | re.IGNORECASE)


def tokens_of(text: str) -> int:
    """Return the token limit of a reply that repeats a text of this length in a line."""
    return LINE_TOKENS + len(text) // CHARS_A_TOKEN


def json_values(text: str) -> Iterator[Any]:
    """Yield the JSON objects and lists in a text, from left to right; other text between them is skipped.

    Of a value that was cut off, the complete inner objects and lists are yielded.
    """
    decoder, position = json.JSONDecoder(), 0
    for _ in range(JSON_STARTS):
        match = re.compile(r"[\[{]").search(text, position)
        if match is None:
            return
        try:
            value, position = decoder.raw_decode(text, match.start())
            yield value
        except ValueError:
            position = match.end()
        except RecursionError:  # deeply nested brackets are not a reply, and must not fail the turn
            return


def object_schema(**properties: Any) -> dict[str, Any]:
    """Return the JSON schema of an object with exactly these properties, in the form that strict servers require."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


_STATEMENTS = re.compile(r"\s*+\{\s*+\"statements\"")


def is_statements(reply: str) -> bool:
    """Return whether a reply is an answer as JSON (`answer_json`), complete or cut off."""
    return bool(_STATEMENTS.match(reply))


def statements_as_text(reply: str, between: str = " ") -> str:
    """Convert an answer in JSON to the text form, with `between` two statements; any other reply is returned unchanged.

    Of an answer that was cut off, the complete parts and the beginning of a statement are kept.
    """
    if not is_statements(reply):
        return reply
    statements, quotes = [], []
    for part in chain.from_iterable(map(_statements_and_quotes, json_values(reply))):
        if "statement" in part:
            marks = "".join(f"[{n}]" for n in part.get("passages") or () if isinstance(n, int))
            text = without_marks(" ".join(str(part["statement"]).split())).rstrip(" .")
            statements.append(f"{text} {marks}.")
        elif "quote" in part and isinstance(part.get("passage"), int):
            quotes.append(f'[{part["passage"]}] "{" ".join(str(part["quote"]).split())}"')
    if cut_off := _cut_off_statement(reply):
        statements.append(cut_off)
    answer = between.join(statements)
    if '"quotes"' not in reply:  # it was cut off before them
        return answer
    return "\n".join([answer or NOT_FOUND, "QUOTES", *quotes])


def _cut_off_statement(reply: str) -> str:
    """Return the beginning of the statement in which a JSON reply was cut off; "" if it was cut off elsewhere."""
    position = reply.rfind('"statement"')
    if position < 0:
        return ""
    match = re.match(r'"statement"\s*+:\s*+"((?:[^"\\]|\\.)*\\?)\Z', reply[position:], re.DOTALL)
    if match is None:
        return ""
    try:
        return " ".join(str(json.loads(f'"{match[1]}"', strict=False)).split())
    except ValueError:  # it was cut off in an escape
        return " ".join(match[1].rpartition("\\")[0].split())


def _statements_and_quotes(value: Any) -> list[dict[str, Any]]:
    """Return the objects of statements and quotes in a JSON value, in order.

    The value is a whole reply, or a complete part of a reply that was cut off: a list, or a single object.
    """
    if isinstance(value, list):
        return list(chain.from_iterable(map(_statements_and_quotes, value)))
    if not isinstance(value, dict):
        return []
    if "statements" in value or "quotes" in value:
        return list(
            chain.from_iterable(_statements_and_quotes(value.get(name) or []) for name in ("statements", "quotes"))
        )
    return [value]


def says(phrase: str, text: str) -> bool:
    """Return whether a text is the phrase, in any case and punctuation, or begins with it and cites nothing."""
    words = re.sub(r"[^a-z]+", " ", text.lower()).strip()
    phrase = phrase.lower()
    return words == phrase or (words.startswith(phrase) and not JOINT_MARK.search(text))


def clean(reply: str) -> str:
    """Return a reply without the model's thoughts, without a code fence around the whole, and without outer space."""
    reply = encodable(reply)  # JSON may contain a lone surrogate, which can be neither stored nor sent
    closing_tags = list(_THOUGHTS_END.finditer(reply))
    last_end = closing_tags[-1].end() if closing_tags else 0
    # Behind the last closing tag there is no complete thought to look for.
    text = _LONE_THOUGHT.sub("", _THINKING.sub("", reply[:last_end]) + reply[last_end:]).strip()
    fence = re.fullmatch(r"```\w*\n(.*?)\n?```", text, re.DOTALL)
    return fence[1].strip() if fence else text


def parse_draft(reply: str, options: Sequence[str] = ()) -> Draft:
    """Parse a reply as text or JSON into a draft: the answer with `[n]` marks, its quotes, its choice, and `found`.

    `found` is false if the reply is empty or says that the passages do not hold the answer. With options, the choice is
    the option that a choice line, or else the whole answer, names; None if it names none or several.
    """
    reply = statements_as_text(clean(reply))
    text, choice = split_choice(reply, options) if options else (reply, None)
    text, quotes = split_quotes(text)
    text = _ANSWER_LABEL.sub("", text, count=1)
    text = separate_marks(text).strip()
    if options and choice is None:
        choice = match_option(text, options)
    found = bool(text or choice) and not (says(NOT_FOUND, text) or says(NO_INFORMATION, text))
    return Draft(text=text or (choice or ""), quotes=quotes, found=found, choice=choice)


def split_quotes(text: str) -> tuple[str, tuple[tuple[int, str], ...]]:
    """Split a reply into the text above its QUOTES heading and the `(n, quote)` lines below it."""
    lines = text.splitlines()
    heading = _quotes_heading_index(lines)
    if heading is None:
        return text, ()
    quotes = []
    for line in lines[heading + 1 :]:
        if match := _QUOTE.match(line):
            quotes.append((int(match[1]), match[2].strip().strip("\"'“”„«»*").strip()))
    return "\n".join(lines[:heading]), tuple((n, quote) for n, quote in quotes if quote)


def _quotes_heading_index(lines: Sequence[str]) -> int | None:
    """Return the index of the first QUOTES heading among the lines; None if there is none."""
    return next((i for i, line in enumerate(lines) if QUOTES_HEADING.match(line)), None)


def before_cut_quotes(reply: str) -> str | None:
    """Return the complete part of a reply that was cut off at its limit: the answer, and all quotes but the last.

    None if the reply was cut above its QUOTES heading, since the answer itself is incomplete then, or is empty.
    """
    lines = statements_as_text(clean(reply)).splitlines()
    heading = _quotes_heading_index(lines)
    if heading is None or not "".join(lines[:heading]).strip():
        return None
    return "\n".join(lines[: max(heading, len(lines) - 1)])


def without_cut_end(reply: str) -> str:
    """Return a cut-off reply without its incomplete last line, or, in a single line, its last statement.

    A reply of a single statement is returned whole.
    """
    text = reply.rstrip()
    if text != reply and reply[len(text) :].count("\n"):
        return text  # it was cut between two lines
    complete, _, _ = text.rpartition("\n")
    if not complete.strip():
        ends = [match.end() for match in _STATEMENT_END.finditer(text)]
        complete = text[: ends[-1]] if ends else ""
    return complete if complete.strip() else text


def split_choice(text: str, options: Sequence[str]) -> tuple[str, str | None]:
    """Split a reply into the text without its choice line, and the option that this line names.

    The last choice line that names an option counts; without one, the text is unchanged, and the option None.
    """
    lines = text.splitlines()
    for i in range(len(lines) - 1, -1, -1):
        if (match := _CHOICE.match(lines[i])) and (choice := match_option(_line_value(match), options)) is not None:
            return "\n".join(lines[:i] + lines[i + 1 :]).strip(), choice
    return text, None


def _line_value(match: re.Match[str]) -> str:
    """Return the value of a `CHOICE: ` or `ANSWER: ` line that `_CHOICE` matches, without markup after it."""
    return match[1].rstrip(f"{whitespace}*_)") or match[1][:1]


def match_option(text: str, options: Sequence[str]) -> str | None:
    """Return the option that a short text names by its letter or its words; None if it names none or several.

    The text may be a letter with or without words, as in "(b)" or "B. yes", an option, or fewer than
    `LONGEST_CHOICE` characters that contain exactly one option.
    """
    text = JOINT_MARK.sub("", text).strip().strip("*_`\"' .")
    by_letter = re.fullmatch(r"\(?([A-Za-z])\)?(?:[.):]\s.*)?", text, re.DOTALL)
    if by_letter and (index := ord(by_letter[1].upper()) - ord("A")) < len(options):
        return options[index]
    exact = [option for option in options if option.casefold() == text.casefold()]
    if exact:
        return exact[0]
    contained = [option for option in options if re.search(rf"\b{re.escape(option)}\b", text, re.IGNORECASE)]
    return contained[0] if len(contained) == 1 and len(text) < LONGEST_CHOICE else None


def split_answer(text: str, options: Sequence[str] = ()) -> tuple[str, str]:
    """Split a reply into the text without its last `ANSWER: ` line, and that line's answer.

    The answer is the line's few words; with options, the option that they name. It is "" if there is no such line, or
    the line says "none" or names no option.
    """
    lines = text.splitlines()
    for i in range(len(lines) - 1, -1, -1):
        if match := _CHOICE.match(lines[i]):
            value = without_marks(_line_value(match)).strip(" .*_`\"'")
            answer = (match_option(_line_value(match), options) or "") if options else value
            is_none = value.casefold() in _NO_ANSWER or says(NO_INFORMATION, value) or says(NOT_FOUND, value)
            return "\n".join(lines[:i] + lines[i + 1 :]).strip(), "" if is_none else answer
    return text, ""


def split_dispute(text: str) -> tuple[str, bool]:
    """Split a reply into the text without its `DISPUTED: ` lines, and whether one of them names a dispute.

    A line "DISPUTED: none" names no dispute.
    """
    matches = [match for line in text.splitlines() if (match := _DISPUTED.match(line))]
    if not matches:
        return text, False
    values = [match[1].strip(f"{whitespace}.*_`\"'").casefold() for match in matches]
    other_lines = [line for line in text.splitlines() if not _DISPUTED.match(line)]
    return "\n".join(other_lines), any(value not in _NO_ANSWER for value in values)


def choices_line(options: Sequence[str]) -> str:
    """Return the letters of the options, as in "A, B, C", for a prompt that asks for one of them."""
    return ", ".join(letter(i) for i in range(len(options)))
