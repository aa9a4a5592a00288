"""Headings without a mark: short lines of their own above a text, as plain texts, printed pages and Word files have.

No heading is a line of an address, a verse, a list or a table, the opening or the end of a letter, a date, or a label
with its value.
"""

from __future__ import annotations

import re
from itertools import pairwise

from preflight_rag.text.log_lines import is_code, is_log_line, is_setting
from preflight_rag.text.tables import is_row

LONGEST_HEADING = 50
"""Characters of a line without a mark that is taken for a heading; a guess."""
_LONGEST_NUMBERED = 90
"""The same of one that begins with the number of a part, or is in capitals."""
_MOST_WORDS = 9
_LEAST_CAPITALS = 4
"""Letters of a line in capitals that is no abbreviation; this number and the one above are guesses."""
_PART = (
    r"(?:(?i:article|section|clause|schedule|annex|appendix|chapter|part|rule|regulation|exhibit|artikel|abschnitt|anlage"
    r"|anhang|kapitel)|§)\s?(?:\d{1,3}(?:\.\d{1,3}){0,4}[a-z]?|[IVXLC]{1,6}|[A-Z])(?=[\s.:)–—-]|$)"
)
_NUMBERED = re.compile(rf"{_PART}(?!\s?[a-zß-ÿ])|\d{{1,2}}(?:\.\d{{1,3}}){{1,4}}\.?\s(?=[A-ZÀ-Þ])")
"""How the heading of a numbered part begins: "Article 5", "§ 3 Notice", "2.1 Deposit"; not "Section 2 applies"."""
_OF_PART = re.compile(_PART)
"""How a sentence about a numbered part may begin, too."""
_MARKED = re.compile(r"^[ \t]*(?:#{1,6}[ \t]+(?P<marked>[^\n]{1,120})|(?P<ruled>[^\n]{1,120})\n[=-]{3,}[ \t]*$)", re.M)
_NO_HEADING = re.compile(
    r"(?:dear|hello|hi|sir|madam|yours|kind|best|warm|with|many|sincerely|regards|greetings|love|cheers|thanks|thank"
    r"|respectfully|faithfully|p\.?s|cc|bcc|to|from|date|subject|re|att[nt]?|encl?|tel|fax|phone|page|seite|figure|fig"
    r"|table|source|note|footnote|endnote|header|footer|picture|comment|link|mr|mrs|ms|dr|prof)\b[\s.,:]?",
    re.IGNORECASE,
)
"""How a line of a letter, a caption or what a loader has written itself begins."""
_CLOSES = re.compile(
    r"[^\n]{0,20}\b(?:yours|regards|sincerely|faithfully|wishes|greetings|respectfully|cheers|thanks|grüße|gruß)\b[^\n]{0,20}",
    re.IGNORECASE,
)
"""The end of a letter, above the name of who has written it."""
_OF_ADDRESS = re.compile(
    r"@|https?:|www\.|\d[\d ()/-]{5,}\d|\b\d{5,6}\b|^\d+\s+[A-Z]"
    r"|\b(?:street|road|avenue|lane|straße|strasse|box|floor)\b",
    re.IGNORECASE,
)
_DAY = re.compile(
    r"\b\d{1,2}(?:st|nd|rd|th|\.)? ?(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|mär|mai|okt|dez)[a-zé]*\b"
    r"|\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]* \d{1,2}\b|\b\d{1,2}[./-]\d{1,2}[./-]\d{2,4}\b",
    re.IGNORECASE,
)
_AMOUNT = re.compile(r"[$€£¥] ?\d|\d ?[€£]")
_OF_FORM = re.compile(r"[$€£#%=]|\d[.,]\d")
"""What a line of a form, a bill or a table has: "SUBTOTAL $863.91", "Claim # SF-1008"."""
_MOST_FIGURES = 1
"""Words with a figure: "Report of 2024" is a heading, "SKU-4563 D-22 156" a row; a guess."""
_LIST = re.compile(r"[-*+•◦▪‣–—>|]|\(?(?:\d{1,3}|[a-zA-Z])[.)]\s")
_ITEM = re.compile(r"\d{1,2}[.)]\s{1,4}(?=[A-ZÀ-Þ])")
"""A number before a heading, or before an item of a list: "3. Notice"."""
_SENTENCE = re.compile(r"[.!?:;](?:[\"”’»)\]]{0,2})(?:\s|$)")
_GOES_ON = (",", ";", "–", "—", "-")
"""Ends of a line, such as one of a verse, that the next one continues, whatever stands between."""
_PAGE_LINE = re.compile(
    r"(?:[^\n.:;?]{1,60}\W )?(?:page|p\.|seite) ?\d{1,4}(?: ?(?:of|von|/) ?\d{1,4})?", re.IGNORECASE
)
LEAST_TEXT = 40
"""Characters of a line below a heading that ends no sentence; a guess."""


def is_page_line(line: str) -> bool:
    """Return whether a line is the foot or head of a page: "Skerrow Museum - page 1", "Page 3 of 7"."""
    return _PAGE_LINE.fullmatch(line.strip()) is not None


def headings_of(text: str) -> list[tuple[int, str]]:
    """Return `(offset, heading)` of the headings of a text that a mark shows, or, where none does, of the others."""
    marked = [(match.start(), (match["marked"] or match["ruled"]).strip()) for match in _MARKED.finditer(text)]
    # A rule closes the sum of a receipt, too.
    return [(start, line) for start, line in marked if not _AMOUNT.search(line)] or plain_headings(text)


def plain_headings(text: str) -> list[tuple[int, str]]:
    """Return `(offset, heading)` of the headings of a text that have no mark."""
    lines: list[tuple[int, str, bool]] = []
    at, is_parted = 0, True
    for line in text.split("\n"):
        if stripped := line.strip():
            lines.append((at + len(line) - len(line.lstrip()), stripped, is_parted))
        is_parted = not stripped
        at += len(line) + 1
    found = []
    before = above = ""
    for (start, line, parted), (_, below, below_parted) in pairwise([*lines, (0, "", True)]):
        if _is_heading(line, below, before, above, parted=parted, below_parted=below_parted):
            found.append((start, line.strip("* ")))
        above, before = before, line
    return found


def _is_heading(line: str, below: str, before: str, above: str, *, parted: bool, below_parted: bool) -> bool:
    """Return whether a line is a heading, by the line below it and the two above it.

    Args:
        line: The line.
        below: The next line that is not blank; "" if there is none.
        before: The line before it that is not blank.
        above: The one before that.
        parted: Whether a blank line, or the text's beginning, stands directly above it.
        below_parted: Whether a blank line stands directly below it.
    """
    if not below or not _is_short(line) or _CLOSES.fullmatch(before) or _CLOSES.fullmatch(above):
        return False
    if not parted and above and not _ends_text(before):
        return False
    if _ITEM.match(line) and not (parted and below_parted and not _LIST.match(below)):
        return False
    if _NUMBERED.match(line) or _is_in_capitals(line):
        return True
    if _OF_PART.match(line) or before[-1:] in _GOES_ON:
        return False
    if len(line) > LONGEST_HEADING or _OF_ADDRESS.search(line) or not (line[0].isupper() or _ITEM.match(line)):
        return False
    is_text = bool(_SENTENCE.search(below)) or len(below) >= LEAST_TEXT or is_row(below) or bool(_LIST.match(below))
    return is_text and not _NO_HEADING.match(below)


def _is_short(line: str) -> bool:
    """Return whether a line is as short as a heading, and neither a sentence nor of a form of its own."""
    if len(line) > _LONGEST_NUMBERED or len(line.split()) > _MOST_WORDS:
        return False
    if not line[-1].isalnum() and line[-1] not in ")*":
        return False
    if is_row(line) or is_log_line(line) or is_setting(line) or is_code(line) or ": " in line or ". " in line[6:]:
        return False
    if (_LIST.match(line) and not _ITEM.match(line)) or _NO_HEADING.match(line) or _DAY.search(line):
        return False
    if _NUMBERED.match(line):
        return True
    figures = sum(any(map(str.isdigit, word)) for word in line.split())
    return sum(map(str.isalpha, line)) > 2 and figures <= _MOST_FIGURES and not _OF_FORM.search(line)


def _is_in_capitals(line: str) -> bool:
    """Return whether a line is a heading in capitals, not an address."""
    letters = [char for char in line if char.isalpha()]
    return len(letters) >= _LEAST_CAPITALS and line.isupper() and not _OF_ADDRESS.search(line)


def _ends_text(line: str) -> bool:
    """Return whether a line ends a paragraph, a list or a table, so that the next one may be a heading."""
    return line[-1:] in ".!?" or is_row(line) or bool(_LIST.match(line)) or bool(_NUMBERED.match(line))
