"""Restore paragraphs from printed lines: join wrapped lines, and undo hyphenation."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from preflight_rag.text.headings import plain_headings
from preflight_rag.text.log_lines import is_log_line
from preflight_rag.text.tables import is_row

HYPHEN = "\ufffe"
"""A hyphen at the end of a printed line, as PDF readers mark it."""
_PRINTED_HYPHEN = "\u2010"
"""The hyphen (U+2010) at which typesetters of manuals break a word."""
_HYPHENS = (HYPHEN, "-", _PRINTED_HYPHEN)
_LIST_ITEM = re.compile(r"(?:[-*+•·‣◦▪●■○–—➢✓]|\(?\d{1,3}[.)]|\(?[a-zA-Z][.)]|\(?[ivx]{1,4}[.)])\s")
_SENTENCE_END = re.compile(r"[.!?:;。！？؟][\"'”’»)\]]*\d{0,3}$")
_UNFINISHED_ENDING = re.compile(
    r"(?:,|\(|\b(?:a|an|and|as|at|by|for|from|in|into|is|nor|of|on|or|our|that|the|their|to|was|were|which|with|than))$",
    re.IGNORECASE,
)
_QUOTATION_START = re.compile(r"[\"“„«]\w")
_ARTICLES = (" the", " an")
_FIGURE = re.compile(r"[$€£(+-]*\d[\d,.]*[)%]*$|[—–$%-]+$")
"""A cell of a table: a number, or a dash for none."""
_WORD = re.compile(r"[^\W\d_]+(?:[-\u2010][^\W\d_]+)*")
_LAST_LETTERS = re.compile(r"(?<![^\W\d_])[^\W\d_]*+$")
_WORD_BEFORE_BREAK = re.compile(rf"(?<![^\W\d_])[^\W\d_]*+{HYPHEN}[^\W\d_]++")
_HYPHENATED_LINE_END = re.compile(r"[^\W\d_]\u2010$")
_HYPHEN_WITHIN = re.compile(r"\w\u2010\w")
_OPTION_OR_PATH = re.compile(r"-|/|www\.|[^\s/]{0,20}://")
"""The beginning of an option, path or web address, whose hyphen at a line's end is part of it."""
_IDENTIFIER = re.compile(r"\w[\d_/.@:=\\]+\w|\w-\w")
"""The text before a hyphen in an identifier, a path or a compound word, whose hyphen is part of it."""
_MINIMUM_SYLLABLE = 3
"""Minimum letters before a line's end that are a syllable; two are as often a prefix: "co-opt", "re-sign"."""
_WORD_ENDING = re.compile(
    r"(?:[ai]bl[ey]|[ai]l|[ae]n[ct]e?s?|ed|ely|ers?|es|ful|i[cn]g?|ings?|ions?|is[em]|ity|i?ve|ize|ly|ments?|ness|ors?|ous"
    r"|ure[sd]?)$"
)
"""Endings of words by which the second half of a broken word is recognised."""
_FIRST_PARTS_OF_COMPOUNDS = frozenset((
    "anti", "child", "cross", "double", "dry", "easy", "eight", "first", "five", "four", "front", "full",
    "half", "hard", "high", "last", "left", "light", "long", "low", "near", "nine", "non",
    "old", "open", "part", "peut", "quasi", "ready", "real", "right", "self", "semi",
    "seven", "short", "single", "soft", "third", "three", "top", "triple", "two", "vice", "well",
    "wide",
))  # fmt: skip
_SECOND_PARTS_OF_COMPOUNDS = frozenset((
    "aware", "based", "defined", "dependent", "driven", "free", "friendly", "headed", "known", "level", "like",
    "mail", "même", "only", "oriented", "proof", "ray", "related", "run", "sensitive", "shaped", "sign", "sized",
    "specific", "style", "term", "time", "type", "wide", "être",
))  # fmt: skip
"""Words that make compounds with a hyphen; these lists and the endings are guesses."""
_OPENED_ADDRESS = re.compile(r"<(?:https?|ftp)://[^\s<>]*$")
_CLOSED_ADDRESS = re.compile(r"\s*([^\s<>]+>\S*)")
_UNDERLINE = re.compile(r"([=\-~^\"'*+#_])\1{3,}")
"""A line of marks under a heading of a plain text, or between its parts; dashes in prose have three at most."""
_NEIGHBOURS = 8  # lines before and after a line that tell the usual width; this and the next three are guesses
_FULL_LINE_SHARE = 0.75  # of the usual width, from which on a line is full
_MAXIMUM_HEADING_SHARE = 0.5  # of the usual width, below which a line may be a heading
_LOWER_CASE_SHARE_OF_PROSE = 0.4  # of a line's words, from which on it is prose
_LABEL_START = re.compile(r"[A-ZÀ-Þ][^.:]{1,60}: ")
"""A line that begins with a label: "Opening hours: "."""


def vocabulary(lines: Sequence[str]) -> Counter[str]:
    """Count each word of the lines in lower case, hyphenated words as a whole, without words broken at a line's end."""
    counts: Counter[str] = Counter()
    is_broken = False
    for line in lines:
        words = _WORD.findall(_WORD_BEFORE_BREAK.sub(" ", line) if HYPHEN in line else line)
        if is_broken:
            words = words[1:]
        is_broken = line.endswith(_HYPHENS)
        if is_broken:
            words = words[:-1]
        counts.update(word.casefold().replace(_PRINTED_HYPHEN, "-") for word in words)
    return counts


_MAXIMUM_WORD_LENGTH = 200
"""Characters before a hyphen that are searched for the beginning of its word; a guess."""


def parts_words(lines: Sequence[str], known: Counter[str]) -> bool:
    """Return whether a document breaks words at the ends of its lines: a word broken there occurs elsewhere as a whole.

    A program that breaks no words breaks lines only at hyphens of the words' own: "carbon-dioxide".
    """
    for line, next_line in pairwise(lines):
        head = _LAST_LETTERS.search(line[:-1]) if line.endswith(HYPHEN) else None
        tail = _WORD.match(next_line) if head else None
        if head and tail and known[(head[0] + tail[0]).casefold()] > known[f"{head[0]}-{tail[0]}".casefold()]:
            return True
    return False


def paragraphs(lines: Sequence[str], known: Counter[str], *, wrapped_at: int = 0, parted: bool = True) -> list[str]:
    """Return the paragraphs, headings, list items and table rows of one page or section.

    Args:
        lines: Printed lines; one that ends with `HYPHEN` ends inside a word. Blank lines separate paragraphs. A
            list item keeps the indent of its first line, any other paragraph the smallest indent of its lines.
        known: `vocabulary` of the document, which decides whether a hyphen at a line's end belongs to the word.
        wrapped_at: Characters at which the lines were broken; 0 if that is not known. If it is, a line is full if the
            next word would not have fitted; otherwise, full lines are about as long as the lines around them.
        parted: Whether the document breaks words at the ends of lines, so that an unknown word loses its hyphen.
    """
    joined: list[list[str]] = []  # the pieces of each paragraph, the first of which is its indent
    previous = ""
    indents = [line[: len(line) - len(line.lstrip())] for line in lines]
    lines = [_join_words_in_row(line.strip(), known, parted=parted) for line in lines]
    for index, line in enumerate(lines):
        if not line:
            previous = ""
            continue
        width = wrapped_at or _usual_width(lines, index - 1)
        full_length = width - len(line.split()[0]) if wrapped_at else _FULL_LINE_SHARE * width
        separator = _separator_between(previous, line, width, full_length) if previous else None
        next_line = lines[index + 1] if index + 1 < len(lines) else ""
        if separator == " ":
            neighbours = (joined[-1][1], previous, next_line)
            is_heading = _is_heading_between(previous, line, next_line, width)
            if is_heading or _begins_quotation(line, previous, neighbours=neighbours):
                separator = None
        if separator is None:
            joined.append([indents[index], line])
        elif previous.endswith(_HYPHENS) and separator == "":
            last = joined[-1].pop()
            left = last[-_MAXIMUM_WORD_LENGTH:]
            joined[-1] += [last[:-_MAXIMUM_WORD_LENGTH], _join_word_parts(left, line, known, parted=parted)]
        else:
            joined[-1].append(separator + line)
        if not _LIST_ITEM.match(joined[-1][1]):
            joined[-1][0] = min(joined[-1][0], indents[index], key=len)
        previous = line
    return ["".join(parts).replace(HYPHEN, "") for parts in joined]


def _is_heading_between(previous: str, line: str, next_line: str, width: float) -> bool:
    """Return whether a short line between two sentences is a heading: prose would fill the line, or end with a stop."""
    if not _SENTENCE_END.search(previous) or len(line) >= _MAXIMUM_HEADING_SHARE * width or not line[-1].isalnum():
        return False
    return bool(next_line) and not next_line[0].islower() and bool(plain_headings(f"{line}\n{next_line}"))


def _begins_quotation(line: str, previous: str, *, neighbours: Sequence[str]) -> bool:
    """Return whether a line begins one of several quotations below each other, such as visitors' comments.

    One of the neighbouring lines begins with a quotation mark, too; speech within a paragraph has none there.
    """
    if not _QUOTATION_START.match(line) or not (_SENTENCE_END.search(previous) or previous.endswith(")")):
        return False
    return any(map(_QUOTATION_START.match, neighbours))


def is_table_row(line: str) -> bool:
    """Return whether a line is a row of figures: at least two, and 40 % of its words."""
    tokens = line.split()
    figures = sum(1 for token in tokens if _FIGURE.match(token))
    return figures >= 2 and figures >= 0.4 * len(tokens)


def _separator_between(previous: str, line: str, width: float, full_length: float) -> str | None:
    """Return what joins a line to the previous one: "" (within a word), " ", or None if a new paragraph begins.

    `width` is the usual length of lines; a line of at least `full_length` characters was broken because it was full.
    """
    if is_row(line) or is_row(previous) or is_log_line(line) or is_log_line(previous):
        return None
    if _UNDERLINE.fullmatch(line) or _UNDERLINE.fullmatch(previous):
        return None
    if previous.endswith(HYPHEN):
        return ""
    if _LIST_ITEM.match(line) or is_table_row(previous):
        return None
    if line[0] in ",;.)]" and len(line) > 1:
        return ""
    ends_sentence = _SENTENCE_END.search(previous) is not None
    if line[0].islower() and not ends_sentence:
        is_broken = previous.endswith(("-", _PRINTED_HYPHEN)) and len(previous) > 1 and previous[-2].isalpha()
        return "" if is_broken else " "
    # A line that ends with an article always continues; one that ends with another such word might be a short cell.
    is_unfinished = _UNFINISHED_ENDING.search(previous) is not None and len(previous) > width / 3
    if not ends_sentence and (previous.endswith(_ARTICLES) or is_unfinished):
        return " "
    # Prose with many names looks like a title in capitals, but unlike that fills its line.
    is_full_prose = len(previous) + 1 + len(line.split()[0]) > width and _is_mostly_lower_case(previous)
    is_full_prose = is_full_prose and not _LABEL_START.match(line)
    if is_table_row(line) or (not is_full_prose and _is_title_case(previous) and not _is_title_case(line)):
        return None
    return " " if len(previous) >= full_length and (ends_sentence or not previous.isupper()) else None


def _is_title_case(line: str) -> bool:
    """Return whether a line looks like a heading: several long words, nearly all of them capitalised."""
    long_words = [word for word in _WORD.findall(line) if len(word) > 3]
    return len(long_words) > 1 and sum(1 for word in long_words if word[0].isupper()) >= 0.8 * len(long_words)


def _is_mostly_lower_case(line: str) -> bool:
    """Return whether a line begins with a small letter, or has as many words in lower case as prose has."""
    words = _WORD.findall(line)
    lower_case_words = sum(1 for word in words if word[0].islower())
    return line[0].islower() or lower_case_words >= _LOWER_CASE_SHARE_OF_PROSE * len(words)


def _usual_width(lines: Sequence[str], index: int) -> float:
    """Return the usual length of the printed lines around an index: that of which a fifth are longer, at least 30."""
    lengths = sorted(len(line) for line in lines[max(0, index - _NEIGHBOURS) : index + _NEIGHBOURS + 1] if line)
    return max(30.0, lengths[int(len(lengths) * 0.8)]) if lengths else 30.0


def _join_words_in_row(row: str, known: Counter[str], *, parted: bool) -> str:
    """Return a line in which the words that were broken within the cells of a table's row are joined."""
    text, *parts = row.split(HYPHEN) if HYPHEN in row[:-1] else [row]
    for part in parts:
        text = _join_word_parts(text + HYPHEN, part, known, parted=parted) if part else text + HYPHEN
    return text


def _join_word_parts(left: str, right: str, known: Counter[str], *, parted: bool = True) -> str:
    """Return the text before a break (with a hyphen at its end) and the text after it, the word between them joined.

    The word keeps a hyphen if the document elsewhere writes it with one, or has both parts as words, or if its lines
    break no words (`parted` is False). `known` is the document's `vocabulary`.
    """
    if left.endswith("-") and _OPTION_OR_PATH.match(left.split()[-1]):
        return left + right
    left = left[:-1]
    head = _LAST_LETTERS.search(left)
    tail = re.match(r"[^\W\d_]*", right)
    first, second = (head.group() if head else ""), (tail.group() if tail else "")
    if not first or not second or second[0].isupper():
        return f"{left}-{right}"
    joined_count, hyphenated_count = known[(first + second).casefold()], known[f"{first}-{second}".casefold()]
    if right[len(second) : len(second) + 1] == "-" and (compound := _WORD.match(right)):
        hyphenated_count += known[f"{first}-{compound[0]}".casefold()]  # "state-of-the-art", broken after "state"
    if joined_count or hyphenated_count:
        return left + ("-" if hyphenated_count > joined_count else "") + right
    if not parted:
        return f"{left}-{right}"
    are_words = known[first.casefold()] > 0 and known[second.casefold()] > 0
    is_compound = are_words and len(first) > 2 and len(second) > 3
    return left + ("-" if is_compound else "") + right


def with_whole_words(lines: Sequence[str]) -> list[str]:
    """Return the lines of a text in which the words and addresses that were broken at the ends of lines are joined.

    A word is broken where U+2010 ends a line, an address where its angle bracket is closed on the next line. Its second
    part moves up to the line before, and the rest of the line with it, unless all lines have about the same width and
    will be joined later anyway.
    """
    # If U+2010 occurs only at the ends of lines, it is not part of most words.
    is_hyphen_within_words = any(_HYPHEN_WITHIN.search(line) for line in lines)
    known = vocabulary([line.rstrip() for line in lines])
    moves_up = not is_hard_wrapped([line.strip() for line in lines])
    joined: list[list[str]] = []  # the pieces of each line
    for line in lines:
        previous = joined[-1][-1].rstrip() if joined else ""
        if is_row(previous) or is_row(line):
            joined.append([line])
            continue
        if _OPENED_ADDRESS.search(previous) and (address_end := _CLOSED_ADDRESS.match(line)):
            joined[-1][-1] = previous + address_end[1]
            rest = line[address_end.end() :].lstrip()
        elif _HYPHENATED_LINE_END.search(previous) and line.lstrip()[:1].isalpha():
            second_part, _, rest = line.lstrip().partition(" ")
            line_end = previous[-_MAXIMUM_WORD_LENGTH:]
            if is_hyphen_within_words:
                joined_end = _join_word_parts(f"{line_end[:-1]}-", second_part, known)
            else:
                hyphen = "" if _is_hyphenated_at_break(line_end, second_part, known) else "-"
                joined_end = line_end[:-1] + hyphen + second_part
            joined[-1][-1:] = [previous[: -len(line_end)], joined_end]
            rest = rest.lstrip()
        else:
            joined.append([line])
            continue
        if rest.strip() and moves_up:
            joined[-1].append(f" {rest}")
        elif rest.strip():
            indent = line[: len(line) - len(line.lstrip())]
            joined.append([indent + rest])
    return ["".join(pieces) for pieces in joined]


def _is_hyphenated_at_break(left: str, right: str, known: Counter[str]) -> bool:
    """Return whether the hyphen at a line's end only breaks a word, and is not part of it as in "well-known".

    `left` is the end of the line, `right` the first word of the next one, `known` the document's `vocabulary`.
    """
    last_word = left.split()[-1]
    head_match = re.search(r"(?<![^\W\d_])[^\W\d_]++$", left[:-1])
    tail_match = re.match(r"[^\W\d_]*+", right)
    head, tail = (match.group().casefold() if match else "" for match in (head_match, tail_match))
    if right[0].isupper() or _OPTION_OR_PATH.match(last_word) or _IDENTIFIER.search(last_word):
        return False
    joined_count, hyphenated_count = known[head + tail], known[f"{head}-{tail}"]
    if joined_count or hyphenated_count:
        return joined_count >= hyphenated_count
    is_compound = head in _FIRST_PARTS_OF_COMPOUNDS and not _WORD_ENDING.match(tail)
    if known[tail] or is_compound or tail in _SECOND_PARTS_OF_COMPOUNDS:
        return False
    return len(head) >= _MINIMUM_SYLLABLE or (len(head) > 1 and _WORD_ENDING.search(tail) is not None)


def is_hard_wrapped(lines: Sequence[str]) -> bool:
    """Return whether a plain text was wrapped at a fixed width: 40 % of the lines within paragraphs are nearly full."""
    lengths = [len(line) for line, next_line in pairwise(lines) if line and next_line]
    if len(lengths) < 3:
        return False
    width = sorted(lengths)[int(len(lengths) * 0.97)]
    full_lines = sum(1 for length in lengths if length >= 0.75 * width)
    return 50 <= width <= 120 and full_lines >= 0.4 * len(lengths)
