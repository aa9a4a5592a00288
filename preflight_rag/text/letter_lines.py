"""Lines of letters and mails that state nothing about their subject: who wrote to whom, when, and from which address.

Fields above a mail ("To: Ana Roth"), the line above what it quotes ("On Monday, Ana Roth wrote:"), the address above a
greeting, the names below a closing, and a name alone ("Mrs A. Roth"). They are quoted where a question asks for what
they state. By rule, in English; the fields also as mail programs in other languages name them. A number alone ("5.1.")
is that of a part or a page, and never quoted.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import takewhile

from preflight_rag.text.log_lines import is_setting
from preflight_rag.text.tables import is_row

_MAIL_FIELD = re.compile(
    r"(?P<name>from|to|cc|bcc|date|sent|subject|reply-to|von|an|datum|gesendet|betreff|de|à|objet|envoyé|para|fecha"
    r"|asunto|enviado|da|data|oggetto|aan|onderwerp|verzonden): \S",
    re.IGNORECASE,
)
_SENDER_FIELDS = frozenset(("from", "von", "de", "da", "van"))
_FIELDS_OF_MAIL_ALONE = frozenset((
    "cc", "bcc", "sent", "subject", "reply-to", "gesendet", "betreff", "objet", "envoyé", "asunto", "enviado",
    "oggetto", "onderwerp", "verzonden",
))  # fmt: skip
"""Fields that only a mail has; "From: Oslo", "To: Bergen" and "Date: 3 May" are those of a journey, too."""
_QUOTE_INTRODUCTION = re.compile(
    r"\b(?:wrote|writes|schrieb(?:en)?|a écrit|escribió|escreveu|ha scritto|schreef|skrev)\b[^:\n]{0,80}:\Z",
    re.IGNORECASE,
)
"""The end of a line above a quoted mail: "On Monday, Ana Roth wrote:"."""
UNKNOWN_WRITER = "Somebody"
"""Stands for the writer of words that a mail quotes without naming who wrote them."""
QUOTED_PART = re.compile(r"(?P<writer>[^\n:“”]{1,80}) wrote: ")
"""Begins each sentence that a mail quotes from another one, as a loader writes it."""
_PERSON_TITLE = r"(?:Mr|Mrs|Ms|Miss|Mx|Dr|Prof|Sir|Dame|Lady|Lord|Rev|Revd|Frau|Herrn?|Mme|Mlle|M|Sra?)\b\.?"
_CAPITALISED_WORD = r"(?:[A-ZÀ-Þ][\w'’-]{0,30}|[A-ZÀ-Þ])\.?"
_NUMBER_ALONE = re.compile(r"[(\[]?\d{1,9}(?:\.\d{1,9}){0,9}[.)\]]?")
_NAME_ALONE = re.compile(
    rf"(?:{_PERSON_TITLE} (?:(?:and|&) {_PERSON_TITLE} )?{_CAPITALISED_WORD}(?: {_CAPITALISED_WORD}){{0,3}}"
    rf"|{_CAPITALISED_WORD}(?: {_CAPITALISED_WORD}){{1,3}},? \({_PERSON_TITLE}\))"
)
"""A name with its title and nothing else: "Mrs A. Roth", "Ana Roth (Mrs)"."""
_GREETING = re.compile(r"(?:dear|hello|hi|sehr geehrte[rsn]?|liebe[rs]?)\b[^.!?:|]{0,60}[,!]?", re.IGNORECASE)
_CLOSING = re.compile(
    r"(?:(?:with )?(?:kind|best|warm|many)(?:est)? (?:regards|wishes|thanks)"
    r"|yours(?: (?:sincerely|faithfully|truly|ever))?|sincerely|regards|mit freundlichen grüßen|viele grüße)[,!.]?",
    re.IGNORECASE,
)
_SENTENCE_OR_ITEM = re.compile(r"[.!?:;](?:\s|\Z)|^\W*[-*•#]|^\d{1,2}[.)] ")
"""Occurs in a sentence, a label with its value, or an item of a list, not in a line of an address or a signature."""
_NOTICE = re.compile(
    r"[$€£] ?\d|\b\d{1,2}(?:[:.]\d\d)? ?[ap]\.?m\b"
    r"|\b(?:is|are|was|were|will|may|must|can|cannot|opens?|closes?|costs?|has|have)\b"
)
"""Occurs in a line of a notice, as a verb, a price or a time: "The tip opens at 8 am"."""
_INITIAL = re.compile(r"\b(?:[A-ZÀ-Þ]|Mr|Mrs|Ms|Mx|Dr|Prof|St|Rd|Rev)\.(?=\s)")
_MAX_LINE_CHARS = 60
"""Most characters of a line of an address or a signature; a guess, like the next constant."""
_MAX_SIGNATURE_LINES = 5
"""Most lines of a signature below a closing."""
_VERBS_OF_WRITING = r"(?:wrote|writes?|written|sen[dt]s?|signed|signs?|addressed|repl(?:y|ies|ied)|answered|forwarded)"
_NOUNS_FOR_MAIL = r"(?:e-?mails?|mails?|letters?|messages?|notes?|repl(?:y|ies)|thread|correspondence)"
_ASKS_ABOUT_MAIL = re.compile(
    rf"\b(?:sender|recipients?|(?:subject|date|author|time) of (?:the|this|that|an?) (?:\w+ ){{0,3}}"
    rf"{_NOUNS_FOR_MAIL})\b"
    rf"|\b(?:who|whom|when|(?:what|which) (?:date|day|time|year|month))\b[^?]{{0,120}}\b"
    rf"(?:{_VERBS_OF_WRITING}(?! (?:the|this|that|an?|its|our|their|his|her) (?!(?:\w+ ){{0,3}}{_NOUNS_FOR_MAIL}\b))"
    rf"|{_NOUNS_FOR_MAIL} (?:is|was) (?:from|to)\b"
    r"|(?:get|got|has|have|had) (?:the|this|that) (?:e-?mail|letter|message)\b)",
    re.IGNORECASE,
)
"""A question who wrote or sent a mail, to whom, or when; not "Who wrote the report?"."""
_ASKS_ABOUT_LETTER = re.compile(
    rf"\bwho(?:m|se)?\b[^?]{{0,120}}\b{_VERBS_OF_WRITING}\b|^\W*(?:(?:and|but) )?who(?:['’]s|m| (?:is|are|was|were))\b"
    rf"|\b(?:when|date)\b[^?]{{0,120}}\b(?:{_VERBS_OF_WRITING}|{_NOUNS_FOR_MAIL}|dated)\b"
    r"|\b(?:address(?:es)?|postcode|phone|telephone|mobile|contact|reach)\b|\bnumber to (?:call|ring)\b"
    r"|\b(?:how is|what is|what['’]s)\b[^?]{0,120}\b(?:called|name)\b"
    r"|\bwhere\b[^?]{0,120}\b(?:lives?|living|based|resides?|offices?|write|send|sent)\b",
    re.IGNORECASE,
)
"""A question for what a letter's address or signature states: "Who signed it?", "What is the phone number?"."""


def writer_and_words(quote: str) -> tuple[str, str]:
    """Return who wrote the words that a mail quotes, and these words: "Ana", "Hi. Bye." of "Ana wrote: Hi. …".

    The name is removed before each sentence of that writer. "" and the quote itself if it does not begin with a name.
    """
    match = QUOTED_PART.match(quote)
    if match is None:
        return "", quote
    return match["writer"], quote[match.end() :].replace(match[0], "")


def states_nothing(question: str, quote: str, text: str) -> bool:
    """Return whether a sentence of a passage states nothing that answers a question about the passage's subject.

    It is a bare number, or a line of a mail or letter, such as its address, whose content the question does not ask
    for. `text` is the text of the passage.
    """
    line = quote.strip()
    if _NUMBER_ALONE.fullmatch(line):
        return True
    introduces_quote = _QUOTE_INTRODUCTION.search(line) is not None
    if len(line) > _MAX_LINE_CHARS and not (introduces_quote or _MAIL_FIELD.match(line)):
        return False
    if introduces_quote or line in _mail_field_lines(text):
        return _ASKS_ABOUT_MAIL.search(question) is None
    if _NAME_ALONE.fullmatch(line) or line in _address_and_signature_lines(text):
        return _ASKS_ABOUT_LETTER.search(question) is None
    return False


@lru_cache(maxsize=256)
def _mail_field_lines(text: str) -> frozenset[str]:
    """Return the lines of a text that are fields above a mail, such as "To: Ana Roth".

    At least two stand together, one of which names the sender. They begin the text, as a loader writes them, or include
    a field that only a mail has.
    """
    field_lines: set[str] = set()
    block: dict[str, str] = {}  # the names of the fields by line
    lines = [line.strip() for line in text.strip().split("\n")]
    for index, line in enumerate([*lines, ""]):
        if (match := _MAIL_FIELD.match(line)) and not is_row(line):
            block[line] = match["name"].casefold()
            continue
        names = set(block.values())
        begins_text = index == len(block)
        if len(block) > 1 and names & _SENDER_FIELDS and (names & _FIELDS_OF_MAIL_ALONE or begins_text):
            field_lines |= block.keys()
        block = {}
    return frozenset(field_lines)


@lru_cache(maxsize=256)
def _address_and_signature_lines(text: str) -> frozenset[str]:
    """Return the lines of a letter above its greeting, such as addresses, and below its closing, such as names."""
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    found: set[str] = set()
    for index, line in enumerate(lines):
        if _GREETING.fullmatch(line) and line[0].isupper():
            found.update(takewhile(_may_be_address_line, reversed(lines[:index])))
        if _CLOSING.fullmatch(line):
            found.update(takewhile(_may_be_address_line, lines[index + 1 : index + 1 + _MAX_SIGNATURE_LINES]))
    return frozenset(found)


def _may_be_address_line(line: str) -> bool:
    """Return whether a line may be part of an address or a signature: short, and no statement, row or setting."""
    without_initials = _INITIAL.sub(" ", line)
    is_statement = _SENTENCE_OR_ITEM.search(without_initials) or _NOTICE.search(without_initials)
    return len(line) <= _MAX_LINE_CHARS and not (is_statement or is_row(line) or is_setting(line))
