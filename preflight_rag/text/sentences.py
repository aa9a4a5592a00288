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
"""The mark of a list's item at the beginning of its line, with its indentation: "- ", "2. ", "(b) "."""
_END_PUNCTUATION = re.compile(r"[.!?:;…。！？．｡؟۔।][\"'”’»)\]」』）】》〉]*$")
_UNFINISHED_ENDING = re.compile(
    r"(?:[,\-–/(]|\b(?:a|an|and|as|at|by|for|from|in|into|is|nor|of|on|or|that|the|to|was|were|which|with|than))$",
    re.IGNORECASE,
)
_SENTENCE_BREAK = re.compile(r"[a-z)]{2}[.!?] [A-Z]")
_NAME_AFTER_PREPOSITION = re.compile(r"\b(?:and|at|by|for|from|in|of|to|with) [A-Z][\w'’-]{1,40}$")
_DAY_AT_END = re.compile(
    r"\b[0-3]?\d(?:st|nd|rd|th)? (?:January|February|March|April|May|June|July|August|September|October|November"
    r"|December)$"
)
_YEAR_AT_START = re.compile(r"\s*(?:19|20)\d\d\b")
_NUMBER_AT_START = re.compile(
    r"\s{0,40}[£$€]?\d{1,3}(?:,?\d{3})*(?:, [A-Z]?[a-z]{2}| \(?[a-z]{2}[a-z]*+(?! ?=)"
    r"| (?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*\b)"
)
"""A line that begins with a bare number and a word, or a month: "20 November, 27 children", "14 of them"; not "2. Tea",
"10.15", nor a note or a heading: "1 You can find more", "2 Methods"."""
_MIN_LOWER_SHARE = 0.5
"""Least share of the words of a line of prose that are in small letters: titles and addresses have fewer. A guess."""
_LETTERS = re.compile(r"[^\W\d_]+")
_SENTENCE_END = re.compile(r"[a-z)\d][.!?](?: |[\"'”’)]{0,2}$)")
_LABELLED_ENTRY = re.compile(r"\s{0,40}[^\s:]{1,40}:\s")
"""The beginning of an entry of a list, with what it explains: "v~xx.xx: the volume of a partial refuel"."""
_MIN_WRAPPED_CHARS = 40
"""Least characters of a line without end punctuation that may continue in the next one; a guess."""
_EXAMINED_CHARS = 400
"""Most characters before and behind a doubtful boundary that are examined."""
_LIST_MARKER = re.compile(r"(?:[-*+•·‣◦▪●■–—]|[(\[]?(?:\d{1,3}(?:\.\d{1,3}){0,5}|[A-Za-z]|[ivxIVX]{1,5})[.)\]])$")
_NUMBER_OR_CAPITAL = re.compile(r"[(\[]?[\dA-Z]?\d|[(\[]?[IVXivx]+\b|[A-Z]\b")
_ORDINAL_END = re.compile(r"(?:^|[\s(–-])(?:[0-2]?\d|3[01])\.$")
_GERMAN_MONTH = re.compile(
    r"(?:Januar|Jänner|Februar|März|April|Mai|Juni|Juli|August|September|Oktober|November|Dezember)\b"
)
_CITATION_MARKS = re.compile(r"\s?(?:\[\d+(?:\s?[,;–-]\s?\d+)*\]|\(\d+(?:\s?[,;–-]\s?\d+)*\)(?=\s|$))+")
_NOTE_AFTER_STOP = re.compile(r"(?<=[a-z)]{2})[.!?](?:\d{1,3}(?:[,–-]\d{1,3})*)(?=\s+[A-Z])")
_WINDOW_CHARS = 10_000
"""Most characters of a line that are segmented at once; no printed paragraph is as long."""
_EAST_ASIAN = r"\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
"""Characters of Chinese and Japanese, between which there are no spaces."""
_EAST_ASIAN_END = re.compile(r"(?:[。！？｡]|(?<![\d０-９])．)[。！？｡…\"'”’」』）】》〉)\]]*")
_JAPANESE_QUOTE_CONTINUES = re.compile(
    r"[」』](?=(?:と|って|など|は(?![いじ])|が|を|に|の|も(?![うし])|で(?![きもは])|だ|へ|から|まで)[^、])"
)
"""A quoted sentence in Japanese that continues after the quotation mark: 「…。」と書いてある。"""
_FULLWIDTH_NUMBER_END = re.compile(r"[\d０-９]．$")
"""The full-width stop after a number is a decimal point or part of a numbering: 図1．, ３．５."""
_HANGING_SEPARATOR = re.compile(r"[^\s|]\s(?:\||[–—])$")
"""A bar or a dash behind the last word of a line: "on 21st - 22nd April, 2022 |" goes on with the place."""
_EAST_ASIAN_LINE_END = re.compile(rf"[{_EAST_ASIAN}、，；：]$")
_EAST_ASIAN_NEW_LINE = re.compile(
    rf"\s*(?:第?[一二三四五六七八九十百\d]+[、章条節节項项]|[（(][一二三四五六七八九十\d]+[）)]|[①-⑳・])|\s*(?![{_EAST_ASIAN}「『（《])"
)
"""Beginnings of a line that does not continue the one before: a list item, or a character from outside these languages.
"""
_MIN_WRAPPED_EAST_ASIAN = 20
"""Least Chinese or Japanese characters of a line that may continue in the next one, which must not be longer: each is
as wide as two letters."""
_SURROGATE = re.compile(r"[\ud800-\udfff]")


def _split_list(entries: str) -> frozenset[str]:
    """Return the entries of a list separated by spaces."""
    return frozenset(entries.split())


_ABBREVIATIONS_BEFORE_ANYTHING = _split_list(
    "approx ca cf dr drs prof mr mrs ms mx st mt gen col capt lt sgt gov sen rep rev hon fig figs tab eq eqs i.e "
    "e.g viz vs v suppl refs ed eds dept univ resp subsp var nat int assoc attn messrs"
)
_ABBREVIATIONS_BEFORE_NUMBERS = _split_list(
    "no nos nr p pp vol vols ch chap sec sect art para ref fig figs tab eq eqs suppl app appx ex ver cat jan feb "
    "mar apr jun jul aug sep sept oct nov dec est approx apt ste"
)
_ABBREVIATIONS_BEFORE_LOWER = _split_list(
    "al etc inc ltd co corp llc plc jr sr hr hrs min sec wk wks yr yrs mo mos wt ht a.m p.m am pm b.i.d t.i.d q.d "
    "i.v i.m s.c p.o sp spp nov incl excl max avg temp conc dil ph.d m.d u.s u.k u.n e.u"
)
_ABBREVIATIONS_BEFORE_NAMES = _split_list("u.s u.k u.n e.u incl excl")
_NOUNS_BEFORE_LETTER = _split_list(
    "annex appendix arm article block box building case category class cohort column division exhibit factor figure "
    "form grade group hepatitis influenza item level model option panel part phase plan protein room route schedule "
    "section series sheet site stage step table team tier type unit vitamin zone"
)
"""Nouns that take a single letter as a number: "Plan B." ends a sentence, "Richard A." does not."""
_SENTENCE_STARTERS = _split_list(
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
        if blocks and _continues_block(text, blocks[-1], start, text[start:end], is_filled=is_filled):
            blocks[-1] = (blocks[-1][0], end)
        else:
            blocks.append((start, end))
    return blocks


def _follow_filled_lines(text: str, lines: Sequence[Span]) -> list[bool]:
    """Return for each line whether it follows a line of prose, set to a fixed width, without room for its first word.

    A paragraph is set to a width if no line but those at which a sentence ends had room for the first word of the next
    one, and if one of its lines begins with a small letter.

    Args:
        text: The text.
        lines: The spans of its lines that are not blank.
    """
    follows_filled = [False] * len(lines)
    for first, stop in _paragraphs(text, lines):
        paragraph = [text[start:end].rstrip() for start, end in lines[first:stop]]
        width = max(map(len, paragraph))
        had_room = [len(line) + 1 + len(below.split(None, 1)[0]) <= width for line, below in pairwise(paragraph)]
        is_ended = [_END_PUNCTUATION.search(line) is not None for line in paragraph[:-1]]
        begins_small = any(line.lstrip()[0].islower() for line in paragraph[1:])
        is_broken_early = any(room and not ended for room, ended in zip(had_room, is_ended, strict=True))
        if begins_small and not is_broken_early:
            follows_filled[first + 1 : stop] = [not room for room in had_room]
    return follows_filled


def _paragraphs(text: str, lines: Sequence[Span]) -> Iterator[Span]:
    """Yield the ranges of lines that are a paragraph of several lines: the indices of its first and behind its last.

    A blank line, a list's item and a table's row end the paragraph before them. `lines` are the spans of the text's
    lines that are not blank.
    """
    first = 0
    for index in range(1, len(lines) + 1):
        if index < len(lines):
            gap, line = text[lines[index - 1][1] : lines[index][0]], text[slice(*lines[index])]
            if _is_line_end(gap) and not _LIST_ITEM.match(line) and not is_row(line):
                continue
        if index - first > 1:
            yield first, index
        first = index


def _is_line_end(gap: str) -> bool:
    """Return whether the characters between two lines are a single line end, without a blank line."""
    return len(gap) <= 2 and gap.count("\n") <= 1


def _continues_block(text: str, block: Span, start: int, line: str, *, is_filled: bool) -> bool:
    """Return whether a line continues the sentence with which the block before it ends.

    Args:
        text: The text.
        block: The span of the block before the line.
        start: Where the line begins in the text.
        line: The line.
        is_filled: Whether the line before it had no room for its first word.
    """
    block_start, block_end = block
    if not _is_line_end(text[block_end:start]) or _LIST_ITEM.match(line) or is_row(line) or is_log_line(line):
        return False
    last = text[max(block_start, block_end - _EXAMINED_CHARS) : block_end].rsplit("\n", 1)[-1].rstrip()
    if _EAST_ASIAN_LINE_END.search(last):
        # A title is shorter than the line below it; the lines of a paragraph are equally long except for the last one.
        length = len(last.strip())
        is_full = length >= _MIN_WRAPPED_EAST_ASIAN and length >= len(line.strip()) - 1
        return is_full and not _EAST_ASIAN_NEW_LINE.match(line)
    if _DAY_AT_END.search(last) and _YEAR_AT_START.match(line):
        return True
    if len(last.strip()) < _MIN_WRAPPED_CHARS or last.lstrip().startswith(("#", "|", ">")) or is_row(last):
        return False
    if is_log_line(last) or is_code(last) or is_code(line) or (is_setting(last) and is_setting(line)):
        return False
    if _LABELLED_ENTRY.match(last) and _LABELLED_ENTRY.match(line):
        return False
    if _HANGING_SEPARATOR.search(last):
        return True
    if _END_PUNCTUATION.search(last):
        return _continues_after_abbreviation(last, line.lstrip())
    if is_filled or line.lstrip()[:1].islower() or _UNFINISHED_ENDING.search(last) or _splits_name(last, line.lstrip()):
        return True
    return _continues_with_number(last, line)


def _continues_with_number(last: str, line: str) -> bool:
    """Return whether a line that begins with a bare number continues the prose of the line before it.

    "Thank you. We should like to come on Thursday" is continued by "20 November, 27 children and five adults". The next
    entry of a list continues nothing, nor does the first one below a title.
    """
    if not _NUMBER_AT_START.match(line) or _NUMBER_AT_START.match(last) or not last[-2:].isalpha():
        return False
    words = _LETTERS.findall(last)
    if sum(word.islower() for word in words) < _MIN_LOWER_SHARE * len(words):
        return False
    ends_sentence = _SENTENCE_END.search(line) is not None
    if last.lstrip()[0].islower() or _SENTENCE_BREAK.search(last):
        return ends_sentence or len(line.strip()) >= _MIN_WRAPPED_CHARS
    # A line that may be a title is continued if it had no room for the number, and a sentence ends below it.
    first_word = line.split(None, 1)[0]
    return ends_sentence and len(last.strip()) + 1 + len(first_word) >= len(line.strip())


def _splits_name(last: str, line: str) -> bool:
    """Return whether a line of prose ends within a name that the next line continues.

    "We met. The roof was inspected by Ada" is continued by "Lund, who found no leak."; a line without the end of a
    sentence may be a title.
    """
    if not (_SENTENCE_BREAK.search(last) and _NAME_AFTER_PREPOSITION.search(last)):
        return False
    first = re.match(r"[A-ZÀ-Þ][\w'’-]*(?=[,.;:)]|\s)", line)
    return first is not None and first.group().casefold() not in _SENTENCE_STARTERS


def _block_spans(text: str, start: int, end: int) -> list[Span]:
    """Return the spans of the sentences of one block of a text, as offsets in the text."""
    line = _SURROGATE.sub("\ufffd", re.sub(r"\s", " ", text[start:end]))
    proposed = [] if is_row(line) or is_log_line(line) else _propose_bounds(line)
    bounds = [0]
    for bound, next_bound in pairwise([*proposed, len(line)]):
        before = line[max(bounds[-1], bound - _EXAMINED_CHARS) : bound]
        behind = line[bound : min(next_bound, bound + _EXAMINED_CHARS)]
        if not _belongs_together(before, behind):
            bounds.append(bound)
    bounds.append(len(line))
    spans = []
    for left, right in pairwise(bounds):
        sentence = line[left:right]
        if stripped := sentence.strip():
            offset = start + left + len(sentence) - len(sentence.lstrip())
            spans.append((offset, offset + len(stripped)))
    return spans


def _propose_bounds(line: str) -> list[int]:
    """Return the offsets in a line at which sentences may begin: sentencex's, but behind reference marks.

    In `grew. [12] They` and `grew.12 They` the second sentence begins at "They".
    """
    bounds = {match.end() for match in _NOTE_AFTER_STOP.finditer(line)}
    if not line.isascii():
        bounds |= {match.end() for match in _EAST_ASIAN_END.finditer(line)}
    position = 0
    for piece in _segment_windows(line):
        position += len(piece)
        citation = _CITATION_MARKS.match(line, position) if piece.strip() else None
        bounds.add(citation.end() if citation and _opens_sentence(line, citation.end()) else position)
    return sorted(bound for bound in bounds if 0 < bound < len(line))


def _segment_windows(line: str) -> Iterator[str]:
    """Yield sentencex's segments of a line, window by window: for quotation marks it takes quadratic time."""
    start = 0
    while start < len(line):
        window = line[start : start + _WINDOW_CHARS]
        pieces = list(sentencex.segment("en", window))
        if len(pieces) > 1 and start + len(window) < len(line):
            pieces.pop()  # it continues in the next window
        yield from pieces
        start += sum(map(len, pieces))


def _opens_sentence(line: str, position: int) -> bool:
    """Return whether a sentence can begin at an offset of a line: no small letter follows."""
    return not line[position : position + 2].lstrip()[:1].islower()


def _belongs_together(left: str, right: str) -> bool:
    """Return whether two texts, between which a boundary of sentences was proposed, are one sentence."""
    is_file_name = left.endswith(" .") and right[:1].isalnum()  # "check your .Xdefaults file"
    left, right = left.strip(), right.strip()
    if not left or not right or _LIST_MARKER.fullmatch(left):
        return True
    if right[:2].rstrip() in (":", ";", ",") or not any(char.isalnum() for char in right):
        return True
    if not _END_PUNCTUATION.search(left) and right[0].islower():
        return True
    if is_file_name or _JAPANESE_QUOTE_CONTINUES.match(left[-1] + right) or _FULLWIDTH_NUMBER_END.search(left):
        return True
    return _continues_after_abbreviation(left, right) or _continues_after_ordinal(left, right)


def _continues_after_ordinal(left: str, right: str) -> bool:
    """Return whether a text ends with an ordinal as German, Danish and Czech write it, and the next one continues it.

    "vom 9. | bis zum 13. | April": a small letter or a German month follows.
    """
    if not _ORDINAL_END.search(left):
        return False
    return right[0].islower() or _GERMAN_MONTH.match(right) is not None


def _continues_after_abbreviation(left: str, right: str) -> bool:
    """Return whether `left` ends with an abbreviation or an initial after which `right` continues the sentence.

    "see Fig. | 3" and "signed by Richard A. | Roe" are one sentence each.
    """
    if not left.endswith("."):
        return False
    last = re.split(r"[\s(\[\"“'/]", left[:-1])[-1].casefold()
    first_word = re.match(r"\w*", right)
    begins_sentence = first_word is not None and first_word.group().casefold() in _SENTENCE_STARTERS
    if last in _ABBREVIATIONS_BEFORE_ANYTHING and not (last in _ABBREVIATIONS_BEFORE_NUMBERS and begins_sentence):
        return True
    if last in _ABBREVIATIONS_BEFORE_NUMBERS and _NUMBER_OR_CAPITAL.match(right):
        return last != "no" or left[-3:-1] == "No" or left.endswith("(no.")  # "The answer is no." is a sentence
    if last == "al" and right[0] in "([0123456789":  # "et al. (2020)"
        return True
    if last in _ABBREVIATIONS_BEFORE_NAMES and right[0].isupper() and not begins_sentence:
        return True
    if last in _ABBREVIATIONS_BEFORE_LOWER and right[0].islower():
        return True
    if len(last) != 1 or not last.isalpha() or not left[-2].isupper():
        return False
    return right[0].islower() or (right[0].isupper() and not begins_sentence and _ends_with_initial(left))


def _ends_with_initial(left: str) -> bool:
    """Return whether a text ends with a given name, or another initial, and an initial: "signed by Richard A."."""
    before = left[:-2]
    if not before.strip() or not before.endswith(" "):
        return False
    name = before.split()[-1].strip("(\u201c\"'")
    if len(name) == 2 and name.endswith("."):
        return name[0].isupper()
    return (
        name[:1].isupper() and name[1:].islower() and name.casefold() not in _NOUNS_BEFORE_LETTER | _SENTENCE_STARTERS
    )
