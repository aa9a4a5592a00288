"""Sentence segmentation with exact character offsets.

`sentencex` (rule-based, many languages) proposes the boundaries inside a line; this module decides which line ends are
boundaries and repairs what the proposals get wrong in scientific and business prose: abbreviations before numbers and
names, citation marks after the full stop, lone list markers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

import sentencex

from preflight_rag.text.log_lines import is_code, is_log_line, is_setting
from preflight_rag.text.tables import is_row

Span = tuple[int, int]

_LINE = re.compile(r"[^\n\r\x0b\x0c\x85\u2028\u2029]+")
_LIST_ITEM = re.compile(r"\s*(?:[-*+•·‣◦▪●■–—]\s|\(?\d{1,3}[.)]\s|\(?[A-Za-z][.)]\s|[#|>])")
ITEM_MARK = re.compile(r"(?P<indent>[ \t]*)(?:[-*+•◦·–]|\(?(?:\d{1,3}|[a-z])[.)])[ \t]+")
"""The mark of a list's item at the beginning of its line, and how deep it stands: "- ", "2. ", "(b) "."""
_TERMINAL = re.compile(r"[.!?:;…。！？．｡؟۔।][\"'”’»)\]」』）】》〉]*$")
_CONTINUES = re.compile(
    r"(?:[,\-–/(]|\b(?:a|an|and|as|at|by|for|from|in|into|is|nor|of|on|or|that|the|to|was|were|which|with|than))$",
    re.IGNORECASE,
)
_SENTENCE_INSIDE = re.compile(r"[a-z)]{2}[.!?] [A-Z]")
_NAME_BEGUN = re.compile(r"\b(?:and|at|by|for|from|in|of|to|with) [A-Z][\w'’-]{1,40}$")
_DAY_BEGUN = re.compile(
    r"\b[0-3]?\d(?:st|nd|rd|th)? (?:January|February|March|April|May|June|July|August|September|October|November"
    r"|December)$"
)
_YEAR_AHEAD = re.compile(r"\s*(?:19|20)\d\d\b")
_NUMBER_OPENS = re.compile(
    r"\s{0,40}[£$€]?\d{1,3}(?:,?\d{3})*(?:, [A-Z]?[a-z]{2}| \(?[a-z]{2}[a-z]*+(?! ?=)"
    r"| (?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*\b)"
)
"""A line that begins with a bare number and a word, or a month: "20 November, 27 children", "14 of them"; not "2. Tea",
"10.15", nor a note or a heading: "1 You can find more", "2 Methods"."""
_MOSTLY_WORDS = 0.5
"""Least share of a line's words in small letters, if it is prose: titles and addresses have fewer. A guess."""
_LETTERS = re.compile(r"[^\W\d_]+")
_SENTENCE_ENDS = re.compile(r"[a-z)\d][.!?](?: |[\"'”’)]{0,2}$)")
_ENTRY = re.compile(r"\s{0,40}[^\s:]{1,40}:\s")
"""What an entry of a list says something about: "v~xx.xx: the volume of a partial refuel"."""
_WRAPPED_LINE = 40
"""Least characters of a line without end punctuation that may continue in the next one; a guess."""
_TAIL = 400
"""Characters of a sentence's end that are examined if a boundary is in doubt."""
_MARKER = re.compile(r"(?:[-*+•·‣◦▪●■–—]|[(\[]?(?:\d{1,3}(?:\.\d{1,3}){0,5}|[A-Za-z]|[ivxIVX]{1,5})[.)\]])$")
_NUMBER_AHEAD = re.compile(r"[(\[]?[\dA-Z]?\d|[(\[]?[IVXivx]+\b|[A-Z]\b")
_ORDINAL_END = re.compile(r"(?:^|[\s(–-])(?:[0-2]?\d|3[01])\.$")
_MONTH_AHEAD = re.compile(
    r"(?:Januar|Jänner|Februar|März|April|Mai|Juni|Juli|August|September|Oktober|November|Dezember)\b"
)
_CITATION = re.compile(r"\s?(?:\[\d+(?:\s?[,;–-]\s?\d+)*\]|\(\d+(?:\s?[,;–-]\s?\d+)*\)(?=\s|$))+")
_NOTE_MARK = re.compile(r"(?<=[a-z)]{2})[.!?](?:\d{1,3}(?:[,–-]\d{1,3})*)(?=\s+[A-Z])")
_WINDOW = 10_000
"""Characters of a line that are segmented at once; no printed paragraph is as long."""
_EAST_ASIAN = r"\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
"""Characters of Chinese and Japanese, between which there are no spaces."""
_EAST_ASIAN_END = re.compile(r"(?:[。！？｡]|(?<![\d０-９])．)[。！？｡…\"'”’」』）】》〉)\]]*")
_QUOTED_ON = re.compile(
    r"[」』](?=(?:と|って|など|は(?![いじ])|が|を|に|の|も(?![うし])|で(?![きもは])|だ|へ|から|まで)[^、])"
)
"""A quoted sentence in Japanese that continues after the quotation mark: 「…。」と書いてある。"""
_FULLWIDTH_NUMBER = re.compile(r"[\d０-９]．$")
"""The full-width stop after a figure is a decimal point or part of a numbering: 図1．, ３．５."""
_EAST_ASIAN_LINE = re.compile(rf"[{_EAST_ASIAN}、，；：]$")
_EAST_ASIAN_ITEM = re.compile(
    rf"\s*(?:第?[一二三四五六七八九十百\d]+[、章条節节項项]|[（(][一二三四五六七八九十\d]+[）)]|[①-⑳・])|\s*(?![{_EAST_ASIAN}「『（《])"
)
"""Beginnings of a line that does not continue the one before: a list item, or a character from outside these languages.
"""
_WRAPPED_SIGNS = 20
"""Least Chinese or Japanese characters of a line that may continue in the next one, which must not be longer: each is
as wide as two letters."""
_SURROGATE = re.compile(r"[\ud800-\udfff]")


def _listed(entries: str) -> frozenset[str]:
    """Return the entries of a list separated by spaces."""
    return frozenset(entries.split())


_BEFORE_ANYTHING = _listed(
    "approx ca cf dr drs prof mr mrs ms mx st mt gen col capt lt sgt gov sen rep rev hon fig figs tab eq eqs i.e "
    "e.g viz vs v suppl refs ed eds dept univ resp subsp var nat int assoc attn messrs"
)
_BEFORE_NUMBERS = _listed(
    "no nos nr p pp vol vols ch chap sec sect art para ref fig figs tab eq eqs suppl app appx ex ver cat jan feb "
    "mar apr jun jul aug sep sept oct nov dec est approx apt ste"
)
_BEFORE_LOWER = _listed(
    "al etc inc ltd co corp llc plc jr sr hr hrs min sec wk wks yr yrs mo mos wt ht a.m p.m am pm b.i.d t.i.d q.d "
    "i.v i.m s.c p.o sp spp nov incl excl max avg temp conc dil ph.d m.d u.s u.k u.n e.u"
)
_BEFORE_NAMES = _listed("u.s u.k u.n e.u incl excl")
_LETTERED = _listed(
    "annex appendix arm article block box building case category class cohort column division exhibit factor figure "
    "form grade group hepatitis influenza item level model option panel part phase plan protein room route schedule "
    "section series sheet site stage step table team tier type unit vitamin zone"
)
"""Nouns that take a single letter as a number: "Plan B." ends a sentence, "Richard A." does not."""
_STARTERS = _listed(
    "a after all although an and as at before but by during each for from he her here his how however i if in it "
    "its my no not of on one our she since so some such that the their then there these they this those to we "
    "what when where which while who why with you your"
)


def sentence_spans(text: str) -> list[Span]:
    """Return the character offsets of the sentences of `text`, in order.

    Spans are disjoint, begin and end with a non-space character, and together cover every such character. A line end
    separates sentences (headings, list items, table rows, lines of logs and programs) unless the line is visibly
    wrapped; a row of a table or a line of a log is one sentence, whatever full stops it contains.
    """
    spans: list[Span] = []
    for start, end in _blocks(text):
        spans.extend(_block_spans(text, start, end))
    return spans


def _blocks(text: str) -> list[Span]:
    """Return the spans of a text's blocks: lines, joined where a sentence was wrapped to the next line."""
    blocks: list[Span] = []
    lines = [match.span() for match in _LINE.finditer(text) if match.group().strip()]
    for (start, end), is_filled in zip(lines, _follow_filled_lines(text, lines), strict=True):
        if blocks and _is_wrapped(text, blocks[-1], start, text[start:end], is_filled=is_filled):
            blocks[-1] = (blocks[-1][0], end)
        else:
            blocks.append((start, end))
    return blocks


def _follow_filled_lines(text: str, lines: Sequence[Span]) -> list[bool]:
    """Return for each line whether it follows a line of prose, set to a fixed width, that its first word did not fit.

    A paragraph is set to a width if its first words did not fit the lines before them, unless a sentence ended there,
    and if one of its lines begins with a small letter.

    Args:
        text: The text.
        lines: The spans of its lines that are not blank.
    """
    found = [False] * len(lines)
    for first, last in _paragraphs(text, lines):
        written = [text[start:end].rstrip() for start, end in lines[first:last]]
        width = max(map(len, written))
        fits = [len(before) + 1 + len(after.split(None, 1)[0]) <= width for before, after in pairwise(written)]
        is_ended = [_TERMINAL.search(before) is not None for before in written]
        begins_small = any(line.lstrip()[0].islower() for line in written[1:])
        if begins_small and not any(fit and not ended for fit, ended in zip(fits, is_ended, strict=False)):
            found[first + 1 : last] = [not fit for fit in fits]
    return found


def _paragraphs(text: str, lines: Sequence[Span]) -> Iterator[Span]:
    """Yield the first and behind the last line of each paragraph of several lines, as places in `lines`.

    A list's item and a row begin a paragraph of their own.
    """
    first = 0
    for place in range(1, len(lines) + 1):
        if place < len(lines):
            gap, line = text[lines[place - 1][1] : lines[place][0]], text[slice(*lines[place])]
            if len(gap) <= 2 and gap.count("\n") <= 1 and not _LIST_ITEM.match(line) and not is_row(line):
                continue
        if place - first > 1:
            yield first, place
        first = place


def _is_wrapped(text: str, block: Span, start: int, line: str, *, is_filled: bool) -> bool:
    """Return whether `line`, which begins at `start`, continues the sentence of the block before it.

    Args:
        text: The text.
        block: The block before the line.
        start: Where the line begins.
        line: The line.
        is_filled: Whether the line's first word did not fit the line before it.
    """
    gap = text[block[1] : start]
    if len(gap) > 2 or gap.count("\n") > 1 or _LIST_ITEM.match(line) or is_row(line) or is_log_line(line):
        return False
    last = text[max(block[0], block[1] - _TAIL) : block[1]].rsplit("\n", 1)[-1].rstrip()
    if _EAST_ASIAN_LINE.search(last):
        # A title is shorter than the line below it; the lines of a paragraph are equally long except for the last one.
        longest = max(len(last.strip()), _WRAPPED_SIGNS - 1)
        return _WRAPPED_SIGNS <= longest >= len(line.strip()) - 1 and not _EAST_ASIAN_ITEM.match(line)
    if _DAY_BEGUN.search(last) and _YEAR_AHEAD.match(line):
        return True
    if len(last.strip()) < _WRAPPED_LINE or last.lstrip().startswith(("#", "|", ">")) or is_row(last):
        return False
    if is_log_line(last) or is_code(last) or is_code(line) or (is_setting(last) and is_setting(line)):
        return False
    if _ENTRY.match(last) and _ENTRY.match(line):
        return False
    if _TERMINAL.search(last):
        return _abbreviation_continues(last, line.lstrip())
    if is_filled or line.lstrip()[:1].islower() or _CONTINUES.search(last) or _parts_name(last, line.lstrip()):
        return True
    return _number_continues(last, line)


def _number_continues(last: str, line: str) -> bool:
    """Return whether a line that begins with a bare number continues the prose of the line before it.

    "Thank you. We should like to come on Thursday" goes on in "20 November, 27 children and five adults"; the next
    entry of a list does not go on, nor does a title above it.
    """
    if not _NUMBER_OPENS.match(line) or _NUMBER_OPENS.match(last) or not last[-2:].isalpha():
        return False
    words = _LETTERS.findall(last)
    if sum(word.islower() for word in words) < _MOSTLY_WORDS * len(words):
        return False
    ends = _SENTENCE_ENDS.search(line) is not None
    if last.lstrip()[0].islower() or _SENTENCE_INSIDE.search(last):
        return ends or len(line.strip()) >= _WRAPPED_LINE
    # What may be a title goes on if its line was full, and if what is below ends a sentence.
    return ends and len(last.strip()) + 1 + len(line.split(None, 1)[0]) >= len(line.strip())


def _parts_name(last: str, line: str) -> bool:
    """Return whether a line of prose ends within a name, whose second part the next one begins with.

    "We met. The roof was inspected by Ada" goes on in "Lund, who found no leak."; a title has no sentence in it.
    """
    if not (_SENTENCE_INSIDE.search(last) and _NAME_BEGUN.search(last)):
        return False
    first = re.match(r"[A-ZÀ-Þ][\w'’-]*(?=[,.;:)]|\s)", line)
    return first is not None and first.group().casefold() not in _STARTERS


def _block_spans(text: str, start: int, end: int) -> list[Span]:
    """Return the sentences of one block, as offsets in `text`."""
    line = _SURROGATE.sub("\ufffd", re.sub(r"\s", " ", text[start:end]))
    bounds = [] if is_row(line) or is_log_line(line) else _proposed_bounds(line)
    kept = [0]
    for position, bound in enumerate(bounds):
        following = bounds[position + 1] if position + 1 < len(bounds) else len(line)
        if not _belongs_together(
            line[max(kept[-1], bound - _TAIL) : bound], line[bound : min(following, bound + _TAIL)]
        ):
            kept.append(bound)
    kept.append(len(line))
    spans = []
    for left, right in pairwise(kept):
        stripped = line[left:right].strip()
        if stripped:
            offset = start + left + len(line[left:right]) - len(line[left:right].lstrip())
            spans.append((offset, offset + len(stripped)))
    return spans


def _proposed_bounds(line: str) -> list[int]:
    """Return offsets of possible sentence beginnings: sentencex's, and those after reference marks (`grew.12 They`)."""
    bounds = {match.end() for match in _NOTE_MARK.finditer(line)}
    if not line.isascii():
        bounds |= {match.end() for match in _EAST_ASIAN_END.finditer(line)}
    position = 0
    for piece in _segments(line):
        position += len(piece)
        citation = _CITATION.match(line, position) if piece.strip() else None
        bounds.add(citation.end() if citation and _opens_sentence(line, citation.end()) else position)
    return sorted(bound for bound in bounds if 0 < bound < len(line))


def _segments(line: str) -> Iterator[str]:
    """Yield sentencex's segments, by windows of a long line: with quotation marks it takes quadratic time."""
    start = 0
    while start < len(line):
        window = line[start : start + _WINDOW]
        pieces = list(sentencex.segment("en", window))
        if len(pieces) > 1 and start + len(window) < len(line):
            pieces.pop()  # it continues in the next window
        yield from pieces
        start += sum(map(len, pieces))


def _opens_sentence(line: str, position: int) -> bool:
    """Return whether a sentence can begin at a position: what follows is not in lower case."""
    return not line[position : position + 2].lstrip()[:1].islower()


def _belongs_together(left: str, right: str) -> bool:
    """Return whether a proposed boundary between `left` and `right` is wrong."""
    is_name = left.endswith(" .") and right[:1].isalnum()  # "check your .Xdefaults file"
    left, right = left.strip(), right.strip()
    if not left or not right:
        return True
    if _MARKER.fullmatch(left) or right[:2].rstrip() in (":", ";", ",") or not any(char.isalnum() for char in right):
        return True
    if not _TERMINAL.search(left) and right[0].islower():
        return True
    if is_name or _QUOTED_ON.match(left[-1] + right) or _FULLWIDTH_NUMBER.search(left):
        return True
    return _abbreviation_continues(left, right) or _ordinal_continues(left, right)


def _ordinal_continues(left: str, right: str) -> bool:
    """Return whether `left` ends with an ordinal as German, Danish and Czech write it: "vom 9. bis zum 13. April"."""
    if not _ORDINAL_END.search(left):
        return False
    return right[0].islower() or _MONTH_AHEAD.match(right) is not None


def _abbreviation_continues(left: str, right: str) -> bool:
    """Return whether `left` ends with an abbreviation after which `right` continues the sentence."""
    if not left.endswith("."):
        return False
    last = re.split(r"[\s(\[\"“'/]", left[:-1])[-1].casefold()
    first = re.match(r"\w*", right)
    starter = first is not None and first.group().casefold() in _STARTERS
    if last in _BEFORE_ANYTHING and not (last in _BEFORE_NUMBERS and starter):
        return True
    if last in _BEFORE_NUMBERS and _NUMBER_AHEAD.match(right):
        return last != "no" or left[-3:-1] == "No" or left.endswith("(no.")
    if last == "al" and right[0] in "([0123456789":
        return True
    if last in _BEFORE_NAMES and right[0].isupper() and not starter:
        return True
    if last in _BEFORE_LOWER and right[0].islower():
        return True
    if len(last) != 1 or not last.isalpha() or not left[-2].isupper():
        return False
    return right[0].islower() or (right[0].isupper() and not starter and _ends_with_initial(left))


def _ends_with_initial(left: str) -> bool:
    """Return whether a text ends with a given name and an initial, such as "signed by Richard A."."""
    before = left[:-2].split()[-1:]
    if not before or not left[:-2].endswith(" "):
        return False
    name = before[0].strip("(\u201c\"'")
    if len(name) == 2 and name.endswith("."):
        return name[0].isupper()
    return name[:1].isupper() and name[1:].islower() and name.casefold() not in _LETTERED | _STARTERS
