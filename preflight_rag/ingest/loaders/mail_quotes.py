"""Who wrote which part of a mail: quoted parts, whatever program quoted them, with their writers' names.

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

LONGEST_INTRODUCTION = 300
"""Characters of "On … wrote:", which mail programs break into up to three lines; a guess."""
DEEPEST = 20
"""Levels of quoting that are told apart; a guess."""
_WRAPPED_AT = 78
"""The most characters that mail programs leave in a line (RFC 5322, section 2.1.1); quoted lines are as they were."""
_WORD = re.compile(r"\w+")
_MARK = re.compile(r"[ \t]{0,3}>(?!>?From )[ ]?")
_WROTE = re.compile(
    r"\b(?:wrote|writes|schrieb(?:en)?|a écrit|escribi[óo]|escreveu|ha scritto|schreef|geschreven|skrev|"
    r"napisał(?:\(a\)|a)?|pisze|napsal(?:\(a\)|a)?|napísal(?:\(a\)|a)?|ezt írta|kirjoitti|a scris|yazdı|έγραψε)"
    r"|написал(?:\(а\)|а)?|пишет|пише|写道|寫道|書きました|作成|작성",
    re.IGNORECASE,
)
_ADDRESS = re.compile(r"[<(\[]{0,3}(?:mailto:)?[\w.+'-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,9}[>)\]]{0,3}")
_TIME = re.compile(r"\d{1,2}[:.h]\d{2}")
_DAY = re.compile(r"\b\d{1,2}\b[^\n]{1,40}\b(?:19|20)\d\d\b|\b(?:19|20)\d\d[-./]\d{1,2}[-./]\d")
"""A day with its year: "19 Aug 2025", "Aug 19, 2025", "2025-08-19"; "In 2019" is none."""
_BEFORE_A_NAME = re.compile(
    r"(?:[\W_]|(?:am|pm|a\.m|p\.m|uhr|utc|gmt|cet|cest|est|edt|pst|pdt|odesílatel|heeft|at|h|g|г|р|в|от|on|le|el|em|il|"
    r"op|den|dne|kl|um|à|a)(?=\W|$))+",
    re.IGNORECASE,
)
_BEHIND_A_NAME = ("het volgende", "the following", "folgendes", "şunu", "님이", "于", "が")
_FIELDS = {
    "from": "from von de da van od från fra lähettäjä feladó от від kimden expeditor 发件人 寄件者 差出人 보낸사람",
    "date": "sent date gesendet datum envoyé fecha enviado data inviato verzonden odesláno wysłano skickat sendt dato "
    "lähetetty päivämäärä päiväys elküldve dátum отправлено дата gönderildi tarih trimis 发送时间 日期 送信日時 日時 "
    "날짜",
    "to": "to an à para a aan komu do till til vastaanottaja címzett кому kime către 收件人 宛先 받는사람",
    "subject": "subject betreff objet asunto assunto oggetto onderwerp předmět temat ämne emne aihe tárgy тема konu "
    "subiect 主题 主旨 件名 제목",
    "cc": "cc bcc kopie copie cópia copia kopia kopi másolat копия",
}
_FIELD_OF = {word: name for name, words in _FIELDS.items() for word in words.split()}
_FIELD = re.compile(r"[*_]{0,2}([^\W\d_]{1,15})[*_]{0,2}[ \u00a0]?[:：][*_]{0,2}[ \t\u00a0]*(\S.*)?$")
_DIVIDER = re.compile(r"(?:[-_]{3}[^\n]*|[^\n]{3,60}:)$")
"""What a program writes above a block of fields: "-----Original Message-----", "Begin forwarded message:"."""


@dataclass
class MailText:
    """A mail's text, in which each quoted part names its writer.

    Attributes:
        text: The mail's own words unchanged; each sentence of a quoted part begins with "NAME wrote: ".
        quoted: Number of quoted parts.
        own_lines: Number of the mail's own lines.
    """

    text: str = ""
    quoted: int = 0
    own_lines: int = 0
    _blocks: list[str] = field(default_factory=list)


def attributed(text: str) -> MailText:
    """Return the text of a mail with every quoted part attributed to its writer, without quotation marks `>`."""
    found = MailText()
    _read(text.split("\n"), "", found, 0)
    found.text = "\n\n".join(found._blocks)
    return found


def _read(lines: Sequence[str], writer: str, found: MailText, depth: int) -> None:
    """Append the blocks of one level of quotation and of the levels inside it."""
    own: list[str] = []
    named, following = "", ""  # the last writer that was introduced here, and whether his words are next

    def flush() -> None:
        """Append the collected lines, and begin new ones."""
        _append(own, writer, found)
        own.clear()

    at = 0
    while at < len(lines):
        line = lines[at]
        if depth < DEEPEST and _MARK.match(line):
            end = at
            while end < len(lines) and _MARK.match(lines[end]):
                end += 1
            flush()
            found.quoted += 1
            _read(
                [_MARK.sub("", each, count=1) for each in lines[at:end]],
                following or named or UNKNOWN_WRITER,
                found,
                depth + 1,
            )
            named, following, at = following or named, "", end
            continue
        block = _fields(lines, at) if depth < DEEPEST else None
        if block is not None:
            name, end = block
            while own and (not own[-1].strip() or _DIVIDER.match(own[-1].strip())):
                own.pop()
            flush()
            found._blocks.append("\n".join(one_line(each).replace("*", "") for each in lines[at:end] if each.strip()))
            found.quoted += 1
            _read(lines[end:], name, found, depth + 1)
            return
        opens = writer == UNKNOWN_WRITER and not any(each.strip() for each in lines[:at])
        introduced = _introduction(lines, at, opens_quote=opens) if depth < DEEPEST else None
        if introduced is not None:
            name, end = introduced
            flush()
            found._blocks.append(one_line(" ".join(lines[at:end])))
            below = next((each for each in lines[end:] if each.strip()), "")
            if not _MARK.match(below):
                found.quoted += 0 if opens else 1
                _read(lines[end:], name, found, depth + 1)
                return
            named = following = name
            while end < len(lines) and not lines[end].strip():
                end += 1
            at = end
            continue
        own.append(line)
        at += 1
    flush()


def _append(lines: Sequence[str], writer: str, found: MailText) -> None:
    """Append one person's lines: the mail's own words unchanged, quoted ones with the writer's name."""
    if not writer:
        text = "\n".join(lines).strip("\n")
        found.own_lines += sum(1 for line in lines if line.strip())
        if text.strip():
            found._blocks.append(text)
        return
    stripped = [line.strip() for line in lines]
    known = vocabulary(stripped)
    blocks = "\n".join(stripped).split("\n\n")
    for block in blocks:
        for paragraph in paragraphs([line for line in block.split("\n") if line], known, wrapped_at=_WRAPPED_AT):
            # Each sentence, for a quote is one, and may stand far from the line that says whose it is.
            sentences = [paragraph[start:end] for start, end in sentence_spans(paragraph)]
            written = [f"{writer} wrote: {each}" for each in sentences if _says_something(each, writer)]
            found._blocks += ["\n".join(written)] if written else []


def _says_something(sentence: str, writer: str) -> bool:
    """Return whether a sentence is more than the writer's closing signature."""
    return not set(_WORD.findall(writer.casefold())).issuperset(_WORD.findall(sentence.casefold()))


def _introduction(lines: Sequence[str], at: int, *, opens_quote: bool = False) -> tuple[str, int] | None:
    """Return `(writer, next line)` for a line such as "On Monday, Anna wrote:", which may be wrapped; else None.

    Args:
        lines: The lines of one level of quotation.
        at: The line's place.
        opens_quote: Whether a quoted part of an unknown writer begins with it: then it needs no more than a day.
    """
    if not lines[at].strip():
        return None
    for end in range(at + 1, min(at + 4, len(lines) + 1)):
        if not lines[end - 1].strip() or _MARK.match(lines[end - 1]):
            return None
        line = one_line(" ".join(lines[at:end]))
        if len(line) > LONGEST_INTRODUCTION:
            return None
        is_own = lines[at].rstrip().endswith((".", "!", "?")) or not any(c.isdigit() or c == "@" for c in lines[at])
        if end > at + 1 and is_own:
            return None  # a sentence, or without a part of a date or an address: a line of the mail's own above it
        if not line.endswith((":", "：")):
            continue
        below = next((each for each in lines[end:] if each.strip()), "")
        dated, address = any(char.isdigit() for char in line), _ADDRESS.search(line)
        verb = _WROTE.search(line) or (address if dated and _MARK.match(below) else None)  # Russian Gmail has no verb
        if verb is None or not below:
            return None
        writer = _writer(line, verb)
        if _MARK.match(below) or (address and dated) or _TIME.search(line):
            return writer, end
        return (writer, end) if opens_quote and _DAY.search(line) and _is_name(writer) else None
    return None


def _writer(line: str, verb: re.Match[str]) -> str:
    """Return the name in an introductory line, or the address without a name."""
    address = _ADDRESS.search(line)
    before, after = (_ADDRESS.sub(" ", part) for part in (line[: verb.start()], line[verb.end() :]))
    is_behind = any(char.isdigit() for char in after)
    after = _without_ending(after)
    if after and not any(char.isdigit() for char in after):
        name = after
    else:
        last = max((place for place, char in enumerate(before) if char.isdigit()), default=-1)
        if last < 0 and address is None and "," in before and not is_behind:
            last = before.rindex(",")
        name = before[last + 1 :]
        if not any(char.isalpha() for char in name):  # the date stands behind the name
            first = re.search(r"\d", before)
            name = before[: first.start()] if first else before
    opening = _BEFORE_A_NAME.match(name)
    name = name[opening.end() :] if opening and opening.end() < len(name) else name
    name = _without_ending(name).strip(" \"'“”„,;<>()[]")
    if not any(char.isalpha() for char in name):
        return address[0].strip("<>()[]").removeprefix("mailto:") if address else UNKNOWN_WRITER
    return one_line(name)


def _is_name(writer: str) -> bool:
    """Return whether all that was read as a writer's name is one: "Ada van Dam"; "to us" and "the council" are not."""
    words = writer.split()
    return words[0][0].isupper() and words[-1][0].isupper()


def _without_ending(name: str) -> str:
    """Return a name without the words and marks that follow it in the line."""
    before = ""
    while name != before:
        before = name
        name = name.strip().strip(" ,;:：-–—*_")
        for ending in _BEHIND_A_NAME:
            name = name.removesuffix(ending)
    return name


def _fields(lines: Sequence[str], at: int) -> tuple[str, int] | None:
    """Return `(writer, next line)` for a block of header fields, as in forwarded mails; else None."""
    kinds: dict[str, str] = {}
    end, skipped = at, 0
    for place in range(at, min(at + 16, len(lines))):
        line = lines[place].strip()
        match = _FIELD.match(line)
        kind = _FIELD_OF.get(match[1].lower()) if match else None
        if kind is not None and match is not None:
            kinds.setdefault(kind, match[2] or "")
            end, skipped = place + 1, 0
        elif place == at:
            return None
        elif (skipped := skipped + 1) > 1:
            break
    if "from" not in kinds or len(kinds) < 3:
        return None
    return person(kinds["from"]), end


def person(given: str) -> str:
    """Return the name from a mail address such as `Anna <a@b.org>`, or the address without a name."""
    address = _ADDRESS.search(given)
    name = one_line(_ADDRESS.sub(" ", given)).strip(" \"'“”„,;<>()[]")
    name = name.replace(" im Auftrag von ", ", ").replace(" on behalf of ", ", ")
    if any(char.isalpha() for char in name):
        return name
    return address[0].strip("<>()[]").removeprefix("mailto:") if address else UNKNOWN_WRITER
