"""Attribute the quoted parts of a mail to their writers, whatever program quoted them.

Three ways of quoting are read, also within each other: lines that begin with `>` under a line such as "On Monday, Anna
wrote:", the text below such a line without any marks, and the text below a block of fields ("From: … Sent: …").
quotequail 0.5 and mail-parser-reply 1.36 were looked at: they find where the first quoted part begins, in seven and in
thirteen languages, but neither gives the writer of each level, nor of parts that are answered one by one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from preflight_rag.ingest.loaders.fields import one_line
from preflight_rag.ingest.loaders.layout import paragraphs, vocabulary
from preflight_rag.text.letter_lines import UNKNOWN_WRITER
from preflight_rag.text.sentences import sentence_spans

MAXIMUM_INTRODUCTION_LENGTH = 300
"""Maximum characters of "On … wrote:", which mail programs break into up to three lines; a guess."""
MAXIMUM_DEPTH = 20
"""Maximum levels of quotation that are distinguished; a guess."""
_LINE_LENGTH = 78
"""Maximum characters of a line in mails (RFC 5322, section 2.1.1); quoted lines are not wrapped again."""
_MAXIMUM_INTRODUCTION_LINES = 3
_MAXIMUM_HEADER_LINES = 16  # of a quoted header
_MINIMUM_HEADER_FIELDS = 3  # of a quoted header
_WORD = re.compile(r"\w+")
_QUOTATION_MARK = re.compile(r"[ \t]{0,3}>(?!>?From )[ ]?")
_VERB_OF_WRITING = re.compile(
    r"\b(?:wrote|writes|schrieb(?:en)?|a écrit|escribi[óo]|escreveu|ha scritto|schreef|geschreven|skrev|"
    r"napisał(?:\(a\)|a)?|pisze|napsal(?:\(a\)|a)?|napísal(?:\(a\)|a)?|ezt írta|kirjoitti|a scris|yazdı|έγραψε)"
    r"|написал(?:\(а\)|а)?|пишет|пише|写道|寫道|書きました|作成|작성",
    re.IGNORECASE,
)
_MAIL_ADDRESS = re.compile(r"[<(\[]{0,3}(?:mailto:)?[\w.+'-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,9}[>)\]]{0,3}")
_TIME = re.compile(r"\d{1,2}[:.h]\d{2}")
_DATE_WITH_YEAR = re.compile(r"\b\d{1,2}\b[^\n]{1,40}\b(?:19|20)\d\d\b|\b(?:19|20)\d\d[-./]\d{1,2}[-./]\d")
"""A date with day and year: "19 Aug 2025", "Aug 19, 2025", "2025-08-19", but not "In 2019"."""
_WORDS_BEFORE_NAME = re.compile(
    r"(?:[\W_]|(?:am|pm|a\.m|p\.m|uhr|utc|gmt|cet|cest|est|edt|pst|pdt|odesílatel|heeft|at|h|g|г|р|в|от|on|le|el|em|il|"
    r"op|den|dne|kl|um|à|a)(?=\W|$))+",
    re.IGNORECASE,
)
"""Signs, units of time and prepositions that stand between the date and the name: ", at ", " uhr "."""
_ENDINGS_AFTER_NAME = ("het volgende", "the following", "folgendes", "şunu", "님이", "于", "が")
_WORDS_OF_FIELDS = {
    "from": "from von de da van od från fra lähettäjä feladó от від kimden expeditor 发件人 寄件者 差出人 보낸사람",
    "date": "sent date gesendet datum envoyé fecha enviado data inviato verzonden odesláno wysłano skickat sendt dato "
    "lähetetty päivämäärä päiväys elküldve dátum отправлено дата gönderildi tarih trimis 发送时间 日期 送信日時 日時 "
    "날짜",
    "to": "to an à para a aan komu do till til vastaanottaja címzett кому kime către 收件人 宛先 받는사람",
    "subject": "subject betreff objet asunto assunto oggetto onderwerp předmět temat ämne emne aihe tárgy тема konu "
    "subiect 主题 主旨 件名 제목",
    "cc": "cc bcc kopie copie cópia copia kopia kopi másolat копия",
}
"""Words that name the fields of a mail's header in many languages, by field."""
_FIELD_OF_WORD = {word: name for name, words in _WORDS_OF_FIELDS.items() for word in words.split()}
_FIELD_LINE = re.compile(r"[*_]{0,2}([^\W\d_]{1,15})[*_]{0,2}[ \u00a0]?[:：][*_]{0,2}[ \t\u00a0]*(\S.*)?$")
"""A line of a header in a mail's text, with the field's word and value: "*From:* Ann <a@b.org>"."""
_DIVIDER = re.compile(r"(?:[-_]{3}[^\n]*|[^\n]{3,60}:)$")
"""The line above a quoted header: "-----Original Message-----", "Begin forwarded message:"."""


@dataclass
class MailText:
    """The text of a mail, in which each quoted part names its writer.

    Attributes:
        text: The mail's own words unchanged; each sentence of a quoted part begins with "NAME wrote: ".
        quoted: Number of quoted parts.
        own_lines: Number of the mail's own lines.
    """

    text: str = ""
    quoted: int = 0
    own_lines: int = 0
    _blocks: list[str] = field(default_factory=list)


def attribute_quotes(text: str) -> MailText:
    """Return the text of a mail with every quoted part attributed to its writer, and without the marks ">"."""
    mail = MailText()
    _read_level(text.split("\n"), "", mail, 0)
    mail.text = "\n\n".join(mail._blocks)
    return mail


def _read_level(lines: Sequence[str], writer: str, mail: MailText, depth: int) -> None:
    """Append the blocks of one level of quotation, and of the levels inside it, to a mail's text.

    The level's lines have no marks ">". `writer` is "" for the mail's own words; `depth` counts the levels around.
    """
    own_lines: list[str] = []
    last_writer, next_writer = "", ""  # the writer introduced last, and the one introduced by the line just above

    def flush() -> None:
        """Append the collected lines of this level, and begin new ones."""
        _append_person_lines(own_lines, writer, mail)
        own_lines.clear()

    index = 0
    while index < len(lines):
        line = lines[index]
        if depth < MAXIMUM_DEPTH and _QUOTATION_MARK.match(line):
            end = index
            while end < len(lines) and _QUOTATION_MARK.match(lines[end]):
                end += 1
            flush()
            mail.quoted += 1
            quoted_lines = [_QUOTATION_MARK.sub("", quoted, count=1) for quoted in lines[index:end]]
            _read_level(quoted_lines, next_writer or last_writer or UNKNOWN_WRITER, mail, depth + 1)
            last_writer, next_writer, index = next_writer or last_writer, "", end
            continue
        header = _parse_header_block(lines, index) if depth < MAXIMUM_DEPTH else None
        if header is not None:
            name, end = header
            while own_lines and (not own_lines[-1].strip() or _DIVIDER.match(own_lines[-1].strip())):
                own_lines.pop()
            flush()
            fields = [one_line(field).replace("*", "") for field in lines[index:end] if field.strip()]
            mail._blocks.append("\n".join(fields))
            mail.quoted += 1
            _read_level(lines[end:], name, mail, depth + 1)
            return
        # The first line of a quoted part may itself introduce the part's writer, who is not known yet.
        opens_quote = writer == UNKNOWN_WRITER and not any(map(str.strip, lines[:index]))
        introduction = _parse_introduction(lines, index, opens_quote=opens_quote) if depth < MAXIMUM_DEPTH else None
        if introduction is not None:
            name, end = introduction
            flush()
            mail._blocks.append(one_line(" ".join(lines[index:end])))
            if not _QUOTATION_MARK.match(_first_filled_line(lines[end:])):
                # Without marks, the quoted part goes on to the end of this level.
                mail.quoted += 0 if opens_quote else 1
                _read_level(lines[end:], name, mail, depth + 1)
                return
            last_writer = next_writer = name
            while end < len(lines) and not lines[end].strip():
                end += 1
            index = end
            continue
        own_lines.append(line)
        index += 1
    flush()


def _first_filled_line(lines: Sequence[str]) -> str:
    """Return the first line that is not blank; "" if there is none."""
    return next((line for line in lines if line.strip()), "")


def _append_person_lines(lines: Sequence[str], writer: str, mail: MailText) -> None:
    """Append the lines of one person to a mail's text.

    The mail's own words (`writer` is "") are unchanged. Quoted lines are joined to paragraphs, and each of their
    sentences becomes a line "NAME wrote: …", since a sentence may be cited alone.
    """
    if not writer:
        text = "\n".join(lines).strip("\n")
        mail.own_lines += sum(1 for line in lines if line.strip())
        if text.strip():
            mail._blocks.append(text)
        return
    stripped_lines = [line.strip() for line in lines]
    known_words = vocabulary(stripped_lines)
    for block in "\n".join(stripped_lines).split("\n\n"):
        block_lines = [line for line in block.split("\n") if line]
        for paragraph in paragraphs(block_lines, known_words, wrapped_at=_LINE_LENGTH):
            sentences = [paragraph[start:end] for start, end in sentence_spans(paragraph)]
            statements = [sentence for sentence in sentences if _is_more_than_signature(sentence, writer)]
            if statements:
                mail._blocks.append("\n".join(f"{writer} wrote: {sentence}" for sentence in statements))


def _is_more_than_signature(sentence: str, writer: str) -> bool:
    """Return whether a sentence has words other than the writer's name, with which a mail is signed."""
    return not set(_WORD.findall(writer.casefold())).issuperset(_WORD.findall(sentence.casefold()))


def _parse_introduction(lines: Sequence[str], start: int, *, opens_quote: bool = False) -> tuple[str, int] | None:
    """Return the writer in a line such as "On Monday, Anna wrote:", and the index of the line after it; else None.

    The introduction begins on the line `start` and may be wrapped into three lines. With `opens_quote`, which is set at
    the beginning of a quoted part of an unknown writer, a date in it is enough.
    """
    first_line = lines[start]
    if not first_line.strip():
        return None
    for end in range(start + 1, min(start + _MAXIMUM_INTRODUCTION_LINES, len(lines)) + 1):
        if not lines[end - 1].strip() or _QUOTATION_MARK.match(lines[end - 1]):
            return None
        line = one_line(" ".join(lines[start:end]))
        if len(line) > MAXIMUM_INTRODUCTION_LENGTH:
            return None
        is_sentence = first_line.rstrip().endswith((".", "!", "?"))
        has_date_or_address = any(char.isdigit() or char == "@" for char in first_line)
        if end > start + 1 and (is_sentence or not has_date_or_address):
            return None  # The first line is one of the mail's own lines above the introduction.
        if not line.endswith((":", "：")):
            continue
        following_line = _first_filled_line(lines[end:])
        is_marked = _QUOTATION_MARK.match(following_line) is not None
        has_digit, address = any(char.isdigit() for char in line), _MAIL_ADDRESS.search(line)
        # Gmail's introduction in Russian has no verb; the address stands for it.
        verb = _VERB_OF_WRITING.search(line) or (address if has_digit and is_marked else None)
        if verb is None or not following_line:
            return None
        writer = _writer_in_introduction(line, verb)
        if is_marked or (address and has_digit) or _TIME.search(line):
            return writer, end
        return (writer, end) if opens_quote and _DATE_WITH_YEAR.search(line) and _is_capitalised_name(writer) else None
    return None


def _writer_in_introduction(line: str, verb: re.Match[str]) -> str:
    """Return the name of the writer in an introductory line; without one the mail address, else `UNKNOWN_WRITER`.

    `verb` is the match of "wrote" in the line, or of the address that stands for a verb.
    """
    address = _MAIL_ADDRESS.search(line)
    before, after = (_MAIL_ADDRESS.sub(" ", part) for part in (line[: verb.start()], line[verb.end() :]))
    has_date_after = any(char.isdigit() for char in after)
    after = _strip_ending(after)
    if after and not has_date_after:
        name = after
    else:
        # Most often the name stands between the date and the verb.
        date_end = max((index for index, char in enumerate(before) if char.isdigit()), default=-1)
        if date_end < 0 and address is None and "," in before and not has_date_after:
            date_end = before.rindex(",")  # a date without digits: "On Monday, Anna wrote:"
        name = before[date_end + 1 :]
        if not any(char.isalpha() for char in name):  # The name stands before the date.
            first_digit = re.search(r"\d", before)
            name = before[: first_digit.start()] if first_digit else before
    words_before = _WORDS_BEFORE_NAME.match(name)
    name = name[words_before.end() :] if words_before and words_before.end() < len(name) else name
    name = _strip_ending(name).strip(" \"'“”„,;<>()[]")
    if not any(char.isalpha() for char in name):
        return address[0].strip("<>()[]").removeprefix("mailto:") if address else UNKNOWN_WRITER
    return one_line(name)


def _is_capitalised_name(writer: str) -> bool:
    """Return whether first and last word begin with a capital letter: "Ada van Dam", but not "the council"."""
    words = writer.split()
    return words[0][0].isupper() and words[-1][0].isupper()


def _strip_ending(name: str) -> str:
    """Return a name without the words and marks that follow it in an introductory line: "the following", ":"."""
    previous = ""
    while name != previous:
        previous = name
        name = name.strip().strip(" ,;:：-–—*_")
        for ending in _ENDINGS_AFTER_NAME:
            name = name.removesuffix(ending)
    return name


def _parse_header_block(lines: Sequence[str], start: int) -> tuple[str, int] | None:
    """Return the writer in a block of header fields, as in forwarded mails, and the index of the line after it.

    Return None if no such block, with the sender and at least two other fields, begins at the index `start`.
    """
    values: dict[str, str] = {}
    end, other_lines = start, 0
    for index in range(start, min(start + _MAXIMUM_HEADER_LINES, len(lines))):
        match = _FIELD_LINE.match(lines[index].strip())
        field_name = _FIELD_OF_WORD.get(match[1].lower()) if match else None
        if field_name is not None and match is not None:
            values.setdefault(field_name, match[2] or "")
            end, other_lines = index + 1, 0
        elif index == start:
            return None
        elif (other_lines := other_lines + 1) > 1:  # One line between two fields may be a blank or a wrapped value.
            break
    if "from" not in values or len(values) < _MINIMUM_HEADER_FIELDS:
        return None
    return name_in_address(values["from"]), end


def name_in_address(text: str) -> str:
    """Return the name in "Anna <a@b.org>"; without a name the mail address, without both `UNKNOWN_WRITER`."""
    address = _MAIL_ADDRESS.search(text)
    name = one_line(_MAIL_ADDRESS.sub(" ", text)).strip(" \"'“”„,;<>()[]")
    name = name.replace(" im Auftrag von ", ", ").replace(" on behalf of ", ", ")
    if any(char.isalpha() for char in name):
        return name
    return address[0].strip("<>()[]").removeprefix("mailto:") if address else UNKNOWN_WRITER
