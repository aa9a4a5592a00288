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
"""Characters per token of a text that a reply repeats: fewer than the four of English, more than Chinese has."""
JSON_STARTS = 200
"""Brackets of a reply that are tried as the beginning of JSON; each costs a scan of the rest. A guess."""
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
    """Return the number of tokens of a reply that repeats a text."""
    return LINE_TOKENS + len(text) // CHARS_A_TOKEN


def json_values(text: str) -> Iterator[Any]:
    """Yield the JSON values in a text, from left to right.

    If an outer value was cut off, its complete inner values are yielded.
    """
    decoder, at = json.JSONDecoder(), 0
    for _ in range(JSON_STARTS):
        match = re.compile(r"[\[{]").search(text, at)
        if match is None:
            return
        try:
            value, at = decoder.raw_decode(text, match.start())
            yield value
        except ValueError:
            at = match.end()
        except RecursionError:  # deeply nested brackets are not a reply, and must not fail the turn
            return


def object_schema(**properties: Any) -> dict[str, Any]:
    """Return the JSON schema of an object with exactly these properties.

    Its form is the one that servers with strict schemas require.
    """
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
    """Return an answer in JSON in the equivalent text form; any other reply unchanged.

    If it was cut off, its complete parts and the beginning of a statement are kept.

    Args:
        reply: The model's text.
        between: The separator of two statements.
    """
    if not is_statements(reply):
        return reply
    statements, quotes = [], []
    for part in chain.from_iterable(map(_parts, json_values(reply))):
        if "statement" in part:
            marks = "".join(f"[{n}]" for n in part.get("passages") or () if isinstance(n, int))
            text = without_marks(" ".join(str(part["statement"]).split())).rstrip(" .")
            statements.append(f"{text} {marks}.")
        elif "quote" in part and isinstance(part.get("passage"), int):
            quotes.append(f'[{part["passage"]}] "{" ".join(str(part["quote"]).split())}"')
    if begun := _begun_statement(reply):
        statements.append(begun)
    answer = between.join(statements) or ("" if '"quotes"' not in reply else NOT_FOUND)
    return "\n".join([answer, "QUOTES", *quotes]) if '"quotes"' in reply else answer


def _begun_statement(reply: str) -> str:
    """Return the statement in which a reply was cut off; "" if it was not."""
    at = reply.rfind('"statement"')
    match = re.match(r'"statement"\s*+:\s*+"((?:[^"\\]|\\.)*\\?)\Z', reply[at:], re.DOTALL) if at >= 0 else None
    if match is None:
        return ""
    try:
        return " ".join(str(json.loads(f'"{match[1]}"', strict=False)).split())
    except ValueError:  # it was cut off in an escape
        return " ".join(match[1].rpartition("\\")[0].split())


def _parts(value: Any) -> list[dict[str, Any]]:
    """Return the statements and quotes in a value, which is the whole reply, or a complete part of a cut-off one."""
    if isinstance(value, list):
        return list(chain.from_iterable(map(_parts, value)))
    if not isinstance(value, dict):
        return []
    if "statements" in value or "quotes" in value:
        return list(chain.from_iterable(_parts(value.get(name) or []) for name in ("statements", "quotes")))
    return [value]


def says(phrase: str, text: str) -> bool:
    """Return whether a reply consists of the phrase, or begins with it, in any case, with or without punctuation."""
    plain = re.sub(r"[^a-z]+", " ", text.lower()).strip()
    wanted = phrase.lower()
    return plain == wanted or (plain.startswith(wanted) and not JOINT_MARK.search(text))


def clean(reply: str) -> str:
    """Return a reply without reasoning, code fences around the whole, and surrounding space."""
    reply = encodable(reply)  # JSON may contain a lone surrogate, which can be neither stored nor sent
    ends = [end.end() for end in _THOUGHTS_END.finditer(reply)] or [0]
    thinking, rest = reply[: ends[-1]], reply[ends[-1] :]  # after the last closing tag there is no thought to look for
    text = _LONE_THOUGHT.sub("", _THINKING.sub("", thinking) + rest).strip()
    fence = re.fullmatch(r"```\w*\n(.*?)\n?```", text, re.DOTALL)
    return fence[1].strip() if fence else text


def parse_draft(reply: str, options: Sequence[str] = ()) -> Draft:
    """Parse an answer: its text with `[n]` marks, its quotes, its choice, and whether it found anything."""
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
    at = next((i for i, line in enumerate(lines) if QUOTES_HEADING.match(line)), None)
    if at is None:
        return text, ()
    quotes = []
    for line in lines[at + 1 :]:
        if match := _QUOTE.match(line):
            quotes.append((int(match[1]), match[2].strip().strip("\"'“”„«»*").strip()))
    return "\n".join(lines[:at]), tuple((n, quote) for n, quote in quotes if quote)


def before_cut_quotes(reply: str) -> str | None:
    """Return the complete part of a reply that was cut off at its limit: the answer, and all quotes but the last.

    None if it was cut before its QUOTES heading, since the answer itself is incomplete then.
    """
    lines = statements_as_text(clean(reply)).splitlines()
    at = next((i for i, line in enumerate(lines) if QUOTES_HEADING.match(line)), None)
    if at is None or not "".join(lines[:at]).strip():
        return None
    return "\n".join(lines[: max(at, len(lines) - 1)])


def without_cut_end(reply: str) -> str:
    """Return a cut-off reply without its incomplete last line, or, in a single line, its last statement.

    A reply of a single statement is returned whole.
    """
    text = reply.rstrip()
    if text != reply and reply[len(text) :].count("\n"):
        return text  # it was cut between two lines
    whole, _, _ = text.rpartition("\n")
    if not whole.strip():
        ends = [match.end() for match in _STATEMENT_END.finditer(text)]
        whole = text[: ends[-1]] if ends else ""
    return whole if whole.strip() else text


def split_choice(text: str, options: Sequence[str]) -> tuple[str, str | None]:
    """Split a reply into the text without its choice line and the option named in it."""
    lines = text.splitlines()
    for i in range(len(lines) - 1, -1, -1):
        if (match := _CHOICE.match(lines[i])) and (choice := match_option(_named(match), options)) is not None:
            return "\n".join(lines[:i] + lines[i + 1 :]).strip(), choice
    return text, None


def _named(match: re.Match[str]) -> str:
    """Return the value of a `CHOICE: ` or `ANSWER: ` line, without markup after it."""
    return match[1].rstrip(f"{whitespace}*_)") or match[1][:1]


def match_option(named: str, options: Sequence[str]) -> str | None:
    """Return the option that a short text names by letter or by its words; None if it names none or several."""
    named = JOINT_MARK.sub("", named).strip().strip("*_`\"' .")
    by_letter = re.fullmatch(r"\(?([A-Za-z])\)?(?:[.):]\s.*)?", named, re.DOTALL)
    if by_letter and (index := ord(by_letter[1].upper()) - ord("A")) < len(options):
        return options[index]
    exact = [option for option in options if option.casefold() == named.casefold()]
    if exact:
        return exact[0]
    contained = [option for option in options if re.search(rf"\b{re.escape(option)}\b", named, re.IGNORECASE)]
    return contained[0] if len(contained) == 1 and len(named) < 200 else None


def split_answer(text: str, options: Sequence[str] = ()) -> tuple[str, str]:
    """Split a reply into the text without its last `ANSWER: ` line, and the option or few words of that line.

    They are "" if the line names none.
    """
    lines = text.splitlines()
    for i in range(len(lines) - 1, -1, -1):
        if match := _CHOICE.match(lines[i]):
            named = without_marks(_named(match)).strip(" .*_`\"'")
            answer = (match_option(_named(match), options) or "") if options else named
            nothing = named.casefold() in _NO_ANSWER or says(NO_INFORMATION, named) or says(NOT_FOUND, named)
            return "\n".join(lines[:i] + lines[i + 1 :]).strip(), "" if nothing else answer
    return text, ""


def split_dispute(text: str) -> tuple[str, bool]:
    """Split a reply into the text without its `DISPUTED: ` line, and whether that line names something."""
    found = [match for line in text.splitlines() if (match := _DISPUTED.match(line))]
    kept = "\n".join(line for line in text.splitlines() if not _DISPUTED.match(line)) if found else text
    return kept, any(match[1].strip(f"{whitespace}.*_`\"'").casefold() not in _NO_ANSWER for match in found)


def choices_line(options: Sequence[str]) -> str:
    """Return the line with the letters to choose from, for a repair prompt."""
    return ", ".join(letter(i) for i in range(len(options)))
