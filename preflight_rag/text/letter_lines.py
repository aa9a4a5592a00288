"""Lines of letters and mails that state nothing about their subject: who wrote to whom, when, and from which address.

Fields above a mail ("To: Ana Roth"), the line above what it quotes ("On Monday, Ana Roth wrote:"), the address above a
greeting, the names below a closing, and a name alone ("Mrs A. Roth"). They are quoted where a question asks for what
they state. By rule, in English; the fields also as mail programs in other languages name them. A number alone ("5.1.")
is that of a part or a page, and never quoted.
"""

from __future__ import annotations

import re
from functools import lru_cache

from preflight_rag.text.log_lines import is_setting
from preflight_rag.text.tables import is_row

_FIELD = re.compile(
    r"(?P<name>from|to|cc|bcc|date|sent|subject|reply-to|von|an|datum|gesendet|betreff|de|à|objet|envoyé|para|fecha"
    r"|asunto|enviado|da|data|oggetto|aan|onderwerp|verzonden): \S",
    re.IGNORECASE,
)
_SENDER = frozenset(("from", "von", "de", "da", "van"))
_OF_MAIL_ALONE = frozenset((
    "cc", "bcc", "sent", "subject", "reply-to", "gesendet", "betreff", "objet", "envoyé", "asunto", "enviado",
    "oggetto", "onderwerp", "verzonden",
))  # fmt: skip
"""Fields that only a mail has; "From: Oslo", "To: Bergen" and "Date: 3 May" are those of a journey, too."""
_INTRODUCTION = re.compile(
    r"\b(?:wrote|writes|schrieb(?:en)?|a écrit|escribió|escreveu|ha scritto|schreef|skrev)\b[^:\n]{0,80}:\Z",
    re.IGNORECASE,
)
"""The end of a line above a quoted mail: "On Monday, Ana Roth wrote:"."""
UNKNOWN_WRITER = "Somebody"
"""Whose a part of a mail is that it quotes without a name."""
QUOTED_PART = re.compile(r"(?P<writer>[^\n:“”]{1,80}) wrote: ")
"""Begins each sentence that a mail quotes from another one, as a loader writes it."""
_TITLE = r"(?:Mr|Mrs|Ms|Miss|Mx|Dr|Prof|Sir|Dame|Lady|Lord|Rev|Revd|Frau|Herrn?|Mme|Mlle|M|Sra?)\b\.?"
_GIVEN = r"(?:[A-ZÀ-Þ][\w'’-]{0,30}|[A-ZÀ-Þ])\.?"
_NUMBER_ALONE = re.compile(r"[(\[]?\d{1,9}(?:\.\d{1,9}){0,9}[.)\]]?")
_NAME_ALONE = re.compile(
    rf"(?:{_TITLE} (?:(?:and|&) {_TITLE} )?{_GIVEN}(?: {_GIVEN}){{0,3}}"
    rf"|{_GIVEN}(?: {_GIVEN}){{1,3}},? \({_TITLE}\))"
)
"""A name with its title and nothing else: "Mrs A. Roth", "Ana Roth (Mrs)"."""
_GREETS = re.compile(r"(?:dear|hello|hi|sehr geehrte[rsn]?|liebe[rs]?)\b[^.!?:|]{0,60}[,!]?", re.IGNORECASE)
_CLOSES = re.compile(
    r"(?:(?:with )?(?:kind|best|warm|many)(?:est)? (?:regards|wishes|thanks)"
    r"|yours(?: (?:sincerely|faithfully|truly|ever))?|sincerely|regards|mit freundlichen grüßen|viele grüße)[,!.]?",
    re.IGNORECASE,
)
_STATES = re.compile(r"[.!?:;](?:\s|\Z)|^\W*[-*•#]|^\d{1,2}[.)] ")
"""Of a line that is a sentence, a label with its value, or an item of a list: no line of an address or a signature."""
_SAYS_WHEN_OR_WHAT = re.compile(
    r"[$€£] ?\d|\b\d{1,2}(?:[:.]\d\d)? ?[ap]\.?m\b"
    r"|\b(?:is|are|was|were|will|may|must|can|cannot|opens?|closes?|costs?|has|have)\b"
)
"""Of a line of a notice that has a verb, a price or a time: "The tip opens at 8 am"."""
_INITIAL = re.compile(r"\b(?:[A-ZÀ-Þ]|Mr|Mrs|Ms|Mx|Dr|Prof|St|Rd|Rev)\.(?=\s)")
_LONGEST = 60
"""Characters of a line of an address or a signature; a guess, like the next constant."""
_MOST_SIGNING = 5
"""Lines of a signature below a closing."""
_WRITES = r"(?:wrote|writes?|written|sen[dt]s?|signed|signs?|addressed|repl(?:y|ies|ied)|answered|forwarded)"
_MAIL = r"(?:e-?mails?|mails?|letters?|messages?|notes?|repl(?:y|ies)|thread|correspondence)"
_OF_MAIL = re.compile(
    rf"\b(?:sender|recipients?|(?:subject|date|author|time) of (?:the|this|that|an?) (?:\w+ ){{0,3}}{_MAIL})\b"
    rf"|\b(?:who|whom|when|(?:what|which) (?:date|day|time|year|month))\b[^?]{{0,120}}\b"
    rf"(?:{_WRITES}(?! (?:the|this|that|an?|its|our|their|his|her) (?!(?:\w+ ){{0,3}}{_MAIL}\b))"
    rf"|{_MAIL} (?:is|was) (?:from|to)\b"
    r"|(?:get|got|has|have|had) (?:the|this|that) (?:e-?mail|letter|message)\b)",
    re.IGNORECASE,
)
"""Asks who wrote or sent a mail, to whom, or when: not "Who wrote the report?"."""
_OF_LETTER = re.compile(
    rf"\bwho(?:m|se)?\b[^?]{{0,120}}\b{_WRITES}\b|^\W*(?:(?:and|but) )?who(?:['’]s|m| (?:is|are|was|were))\b"
    rf"|\b(?:when|date)\b[^?]{{0,120}}\b(?:{_WRITES}|{_MAIL}|dated)\b"
    r"|\b(?:address(?:es)?|postcode|phone|telephone|mobile|contact|reach)\b|\bnumber to (?:call|ring)\b"
    r"|\b(?:how is|what is|what['’]s)\b[^?]{0,120}\b(?:called|name)\b"
    r"|\bwhere\b[^?]{0,120}\b(?:lives?|living|based|resides?|offices?|write|send|sent)\b",
    re.IGNORECASE,
)
"""Asks for what the address or the signature of a letter states."""


def writer_and_words(quote: str) -> tuple[str, str]:
    """Return who wrote what a mail quotes, and the words alone; "" and the quote where nobody is named in front of it.

    Args:
        quote: A sentence, or several ones of one writer.
    """
    match = QUOTED_PART.match(quote)
    if match is None:
        return "", quote
    return match["writer"], quote[match.end() :].replace(match[0], "")


def states_nothing(question: str, quote: str, text: str) -> bool:
    """Return whether a sentence is a number, or a line of a mail or letter whose content a question does not ask for.

    Args:
        question: The question.
        quote: The sentence.
        text: The passage.
    """
    line = quote.strip()
    if _NUMBER_ALONE.fullmatch(line):
        return True
    if len(line) > _LONGEST and not (_INTRODUCTION.search(line) or _FIELD.match(line)):
        return False
    if _INTRODUCTION.search(line) or line in _fields(text):
        return _OF_MAIL.search(question) is None
    return (_NAME_ALONE.fullmatch(line) is not None or line in _around(text)) and _OF_LETTER.search(question) is None


@lru_cache(maxsize=256)
def _fields(text: str) -> frozenset[str]:
    """Return the lines of a text that are fields above a mail: at least two together, one of which is the sender.

    They begin the text, as a loader writes them, or have a field that only a mail has.
    """
    found: set[str] = set()
    block: dict[str, str] = {}
    lines = [line.strip() for line in text.strip().split("\n")]
    for at, line in enumerate([*lines, ""]):
        if (match := _FIELD.match(line)) and not is_row(line):
            block[line] = match["name"].casefold()
            continue
        names = set(block.values())
        if len(block) > 1 and names & _SENDER and (names & _OF_MAIL_ALONE or at == len(block)):
            found |= block.keys()
        block = {}
    return frozenset(found)


@lru_cache(maxsize=256)
def _around(text: str) -> frozenset[str]:
    """Return the lines of a letter above its greeting, such as addresses, and below its closing, such as names."""
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    found: set[str] = set()
    for at, line in enumerate(lines):
        if _GREETS.fullmatch(line) and line[0].isupper():
            above = at
            while above and _is_of_address(lines[above - 1]):
                above -= 1
                found.add(lines[above])
        if _CLOSES.fullmatch(line):
            for below in lines[at + 1 : at + 1 + _MOST_SIGNING]:
                if not _is_of_address(below):
                    break
                found.add(below)
    return frozenset(found)


def _is_of_address(line: str) -> bool:
    """Return whether a line may be one of an address or a signature: short, and no statement."""
    plain = _INITIAL.sub(" ", line)
    states = _STATES.search(plain) or _SAYS_WHEN_OR_WHAT.search(plain)
    return len(line) <= _LONGEST and not (states or is_row(line) or is_setting(line))
