"""Headings of a text: lines with a heading's mark, or, without any, short lines of their own above a text.

Lines of addresses, verses, lists, tables and letters, dates, and labels with values are no headings.
"""

from __future__ import annotations

import re
from itertools import pairwise

from preflight_rag.text.log_lines import is_code, is_log_line, is_setting
from preflight_rag.text.tables import is_row

LONGEST_HEADING = 50
"""Most characters of a heading without a mark; a guess."""
_MAX_NUMBERED_CHARS = 90
"""Most characters of a heading that begins with the number of a part, or is in capitals."""
_MAX_WORDS = 9
_MIN_CAPITALS = 4
"""Least letters of a heading in capitals: fewer are an abbreviation. This number and the one above are guesses."""
_PART_NAME = (
    r"(?:(?i:article|section|clause|schedule|annex|appendix|chapter|part|rule|regulation|exhibit|artikel|abschnitt|anlage"
    r"|anhang|kapitel)|§)\s?(?:\d{1,3}(?:\.\d{1,3}){0,4}[a-z]?|[IVXLC]{1,6}|[A-Z])(?=[\s.:)–—-]|$)"
)
_NUMBERED_HEADING = re.compile(rf"{_PART_NAME}(?!\s?[a-zß-ÿ])|\d{{1,2}}(?:\.\d{{1,3}}){{1,4}}\.?\s(?=[A-ZÀ-Þ])")
"""The beginning of a numbered part's heading: "Article 5", "§ 3 Notice", "2.1 Deposit"; not "Section 2 applies"."""
_PART_AT_START = re.compile(_PART_NAME)
"""The beginning of a numbered part's heading or of a sentence about the part: "Section 2 applies"."""
_MARKED_HEADING = re.compile(
    r"^[ \t]*(?:#{1,6}[ \t]+(?P<marked>[^\n]{1,120})|(?P<ruled>[^\n]{1,120})\n[=-]{3,}[ \t]*$)", re.M
)
_LETTER_OR_CAPTION = re.compile(
    r"(?:dear|hello|hi|sir|madam|yours|kind|best|warm|with|many|sincerely|regards|greetings|love|cheers|thanks|thank"
    r"|respectfully|faithfully|p\.?s|cc|bcc|to|from|date|subject|re|att[nt]?|encl?|tel|fax|phone|page|seite|figure|fig"
    r"|table|source|note|footnote|endnote|header|footer|picture|comment|link|mr|mrs|ms|dr|prof)\b[\s.,:]?",
    re.IGNORECASE,
)
"""The beginning of a line of a letter or a caption, or of a line that a loader has added."""
_LETTER_CLOSING = re.compile(
    r"[^\n]{0,20}\b(?:yours|regards|sincerely|faithfully|wishes|greetings|respectfully|cheers|thanks|grüße|gruß)\b[^\n]{0,20}",
    re.IGNORECASE,
)
"""The end of a letter, above its writer's name."""
_ADDRESS_PART = re.compile(
    r"@|https?:|www\.|\d[\d ()/-]{5,}\d|\b\d{5,6}\b|^\d+\s+[A-Z]"
    r"|\b(?:street|road|avenue|lane|straße|strasse|box|floor)\b",
    re.IGNORECASE,
)
_DATE = re.compile(
    r"\b\d{1,2}(?:st|nd|rd|th|\.)? ?(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|mär|mai|okt|dez)[a-zé]*\b"
    r"|\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]* \d{1,2}\b|\b\d{1,2}[./-]\d{1,2}[./-]\d{2,4}\b",
    re.IGNORECASE,
)
_AMOUNT = re.compile(r"[$€£¥] ?\d|\d ?[€£]")
_FORM_FIGURE = re.compile(r"[$€£#%=]|\d[.,]\d")
"""A sign or number of a line of a form, a bill or a table: "SUBTOTAL $863.91", "Claim # SF-1008"."""
_MIN_LETTERS = 3
_MAX_FIGURES = 1
"""Most words with a digit in a heading: "Report of 2024" is one, "SKU-4563 D-22 156" is a row; a guess."""
_LIST_MARK = re.compile(r"[-*+•◦▪‣–—>|]|\(?(?:\d{1,3}|[a-zA-Z])[.)]\s")
_NUMBER_BEFORE_CAPITAL = re.compile(r"\d{1,2}[.)]\s{1,4}(?=[A-ZÀ-Þ])")
"""A number before a heading, or before an item of a list: "3. Notice"."""
_SENTENCE_END = re.compile(r"[.!?:;](?:[\"”’»)\]]{0,2})(?:\s|$)")
_CONTINUED_ENDINGS = (",", ";", "–", "—", "-")
"""Ends of a line, such as one of a verse, that the next one continues, even behind a blank line."""
_PAGE_LINE = re.compile(
    r"(?:[^\n.:;?]{1,60}\W )?(?:page|p\.|seite) ?\d{1,4}(?: ?(?:of|von|/) ?\d{1,4})?", re.IGNORECASE
)
LEAST_TEXT = 40
"""Least characters of a line below a heading that ends no sentence; a guess."""


def is_page_line(line: str) -> bool:
    """Return whether a line is the foot or head of a page: "Skerrow Museum - page 1", "Page 3 of 7"."""
    return _PAGE_LINE.fullmatch(line.strip()) is not None


def headings_of(text: str) -> list[tuple[int, str]]:
    """Return `(offset, heading)` of the headings of a text: with "#" or an underline, else without a mark."""
    marked = [(match.start(), (match["marked"] or match["ruled"]).strip()) for match in _MARKED_HEADING.finditer(text)]
    # A line with an amount above a rule is the sum of a receipt.
    return [(start, heading) for start, heading in marked if not _AMOUNT.search(heading)] or plain_headings(text)


def plain_headings(text: str) -> list[tuple[int, str]]:
    """Return `(offset, heading)` of the headings of a text that have no mark."""
    lines: list[tuple[int, str, bool]] = []
    offset, is_after_blank = 0, True
    for line in text.split("\n"):
        if stripped := line.strip():
            lines.append((offset + len(line) - len(line.lstrip()), stripped, is_after_blank))
        is_after_blank = not stripped
        offset += len(line) + 1
    headings = []
    previous = second_previous = ""
    for (start, line, blank_before), (_, following, blank_after) in pairwise([*lines, (0, "", True)]):
        above = (second_previous, previous)
        if _is_heading(line, above, following, blank_before=blank_before, blank_after=blank_after):
            headings.append((start, line.strip("* ")))
        second_previous, previous = previous, line
    return headings


def _is_heading(line: str, above: tuple[str, str], following: str, *, blank_before: bool, blank_after: bool) -> bool:
    """Return whether a line is a heading, by the lines around it that are not blank.

    Args:
        line: The line, stripped.
        above: The two lines before it, "" for each that is missing.
        following: The line after it; "" if there is none.
        blank_before: Whether a blank line, or the text's beginning, is directly before it.
        blank_after: Whether a blank line, or the text's end, is directly after it.
    """
    second_previous, previous = above
    if not following or not _looks_like_heading(line) or any(map(_LETTER_CLOSING.fullmatch, above)):
        return False
    if not blank_before and second_previous and not _ends_block(previous):
        return False
    starts_with_number = _NUMBER_BEFORE_CAPITAL.match(line) is not None
    # "3. Notice" is an item of a list unless blank lines are around it.
    if starts_with_number and not (blank_before and blank_after and not _LIST_MARK.match(following)):
        return False
    if _NUMBERED_HEADING.match(line) or _is_heading_in_capitals(line):
        return True
    if _PART_AT_START.match(line) or previous[-1:] in _CONTINUED_ENDINGS:
        return False
    if len(line) > LONGEST_HEADING or _ADDRESS_PART.search(line) or not (line[0].isupper() or starts_with_number):
        return False
    has_text_below = (
        _SENTENCE_END.search(following) is not None
        or len(following) >= LEAST_TEXT
        or is_row(following)
        or _LIST_MARK.match(following) is not None
    )
    return has_text_below and not _LETTER_OR_CAPTION.match(following)


def _looks_like_heading(line: str) -> bool:
    """Return whether a line is as short as a heading, and no sentence, setting, code, or line of a list or a form."""
    if len(line) > _MAX_NUMBERED_CHARS or len(line.split()) > _MAX_WORDS:
        return False
    if not line[-1].isalnum() and line[-1] not in ")*":
        return False
    if is_row(line) or is_log_line(line) or is_setting(line) or is_code(line) or ": " in line or ". " in line[6:]:
        return False
    if (
        (_LIST_MARK.match(line) and not _NUMBER_BEFORE_CAPITAL.match(line))
        or _LETTER_OR_CAPTION.match(line)
        or _DATE.search(line)
    ):
        return False
    if _NUMBERED_HEADING.match(line):
        return True
    words_with_digits = sum(any(map(str.isdigit, word)) for word in line.split())
    has_letters = sum(map(str.isalpha, line)) >= _MIN_LETTERS
    return has_letters and words_with_digits <= _MAX_FIGURES and not _FORM_FIGURE.search(line)


def _is_heading_in_capitals(line: str) -> bool:
    """Return whether a line in capitals is a heading, not an abbreviation or a part of an address."""
    letters = [char for char in line if char.isalpha()]
    return len(letters) >= _MIN_CAPITALS and line.isupper() and not _ADDRESS_PART.search(line)


def _ends_block(line: str) -> bool:
    """Return whether a line ends a paragraph, a list or a table, so that the next one may be a heading."""
    return line[-1:] in ".!?" or is_row(line) or bool(_LIST_MARK.match(line)) or bool(_NUMBERED_HEADING.match(line))
