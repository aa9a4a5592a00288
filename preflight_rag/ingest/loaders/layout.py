"""From printed lines back to paragraphs: joining wrapped lines, undoing hyphenation."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from preflight_rag.text.headings import plain_headings
from preflight_rag.text.log_lines import is_log_line
from preflight_rag.text.tables import is_row

HYPHEN = "\ufffe"
_PRINTED_HYPHEN = "\u2010"
"""The hyphen that typesetters of manuals put where they part a word."""
_HYPHENS = (HYPHEN, "-", _PRINTED_HYPHEN)

_LIST_ITEM = re.compile(r"(?:[-*+•·‣◦▪●■○–—➢✓]|\(?\d{1,3}[.)]|\(?[a-zA-Z][.)]|\(?[ivx]{1,4}[.)])\s")
_TERMINAL = re.compile(r"[.!?:;。！？؟][\"'”’»)\]]*\d{0,3}$")
_OPEN_END = re.compile(
    r"(?:,|\(|\b(?:a|an|and|as|at|by|for|from|in|into|is|nor|of|on|or|our|that|the|their|to|was|were|which|with|than))$",
    re.IGNORECASE,
)
_QUOTATION = re.compile(r"[\"“„«]\w")
_ARTICLES = (" the", " an")
_NUMBER = re.compile(r"[$€£(+-]*\d[\d,.]*[)%]*$|[—–$%-]+$")
_WORD = re.compile(r"[^\W\d_]+(?:[-\u2010][^\W\d_]+)*")
_LAST_LETTERS = re.compile(r"(?<![^\W\d_])[^\W\d_]*+$")
_BROKEN_WITHIN = re.compile(rf"(?<![^\W\d_])[^\W\d_]*+{HYPHEN}[^\W\d_]++")
_PARTED = re.compile(r"[^\W\d_]\u2010$")
_HYPHEN_WITHIN = re.compile(r"\w\u2010\w")
_OWN_HYPHENS = re.compile(r"-|/|www\.|[^\s/]{0,20}://")
"""How an option, a path or an address begins, in which a hyphen at a line's end is a sign of its own."""
_OF_IDENTIFIER = re.compile(r"\w[\d_/.@:=\\]+\w|\w-\w")
"""What stands in an identifier or a path, and in words of several parts, before a hyphen of their own."""
_SYLLABLE = 3
"""Letters of a word's beginning that are mostly a syllable; two are as often a prefix: "co-opt", "re-sign"."""
_ENDING = re.compile(
    r"(?:[ai]bl[ey]|[ai]l|[ae]n[ct]e?s?|ed|ely|ers?|es|ful|i[cn]g?|ings?|ions?|is[em]|ity|i?ve|ize|ly|ments?|ness|ors?|ous"
    r"|ure[sd]?)$"
)
_FIRST_PARTS = frozenset((
    "anti", "child", "cross", "double", "dry", "easy", "eight", "first", "five", "four", "front", "full",
    "half", "hard", "high", "last", "left", "light", "long", "low", "near", "nine", "non",
    "old", "open", "part", "peut", "quasi", "ready", "real", "right", "self", "semi",
    "seven", "short", "single", "soft", "third", "three", "top", "triple", "two", "vice", "well",
    "wide",
))  # fmt: skip
_SECOND_PARTS = frozenset((
    "aware", "based", "defined", "dependent", "driven", "free", "friendly", "headed", "known", "level", "like",
    "mail", "même", "only", "oriented", "proof", "ray", "related", "run", "sensitive", "shaped", "sign", "sized",
    "specific", "style", "term", "time", "type", "wide", "être",
))  # fmt: skip
"""Words that make compounds with a hyphen; these lists and the endings are guesses."""
_OPENED_ADDRESS = re.compile(r"<(?:https?|ftp)://[^\s<>]*$")
_CLOSED_ADDRESS = re.compile(r"\s*([^\s<>]+>\S*)")
_UNDERLINE = re.compile(r"([=\-~^\"'*+#_])\1{3,}")
"""The line of marks under a heading of a plain text, or one that parts it; a dash of prose has three at most."""
_NEIGHBOURS = 8
_FULL_LINE = 0.75
_HEADING = 0.5
_BEGINS_LABEL = re.compile(r"[A-ZÀ-Þ][^.:]{1,60}: ")
_SMALL_WORDS = 0.4
"""These four numbers are guesses."""


def vocabulary(lines: Sequence[str]) -> Counter[str]:
    """Count each word in the lines, hyphenated words as a whole, without the halves of broken ones."""
    counts: Counter[str] = Counter()
    broken = False
    for line in lines:
        words = _WORD.findall(_BROKEN_WITHIN.sub(" ", line) if HYPHEN in line else line)
        kept = words[1:] if broken else words
        broken = line.endswith(_HYPHENS)
        counts.update(word.casefold().replace(_PRINTED_HYPHEN, "-") for word in (kept[:-1] if broken else kept))
    return counts


_LONGEST_WORD = 200
"""Characters before a hyphen in which the beginning of its word stands; a guess."""


def parts_words(lines: Sequence[str], known: Counter[str]) -> bool:
    """Return whether words are parted at the ends of a document's lines: one that is stands elsewhere as a whole.

    What a program that parts no words breaks at a line's end has a hyphen of its own: "carbon-dioxide".
    """
    for line, below in pairwise(lines):
        head = _LAST_LETTERS.search(line[:-1]) if line.endswith(HYPHEN) else None
        tail = _WORD.match(below) if head else None
        if head and tail and known[(head[0] + tail[0]).casefold()] > known[f"{head[0]}-{tail[0]}".casefold()]:
            return True
    return False


def paragraphs(lines: Sequence[str], known: Counter[str], *, wrapped_at: int = 0, parted: bool = True) -> list[str]:
    """Return the paragraphs, headings, list items and table rows of one page or section.

    Args:
        lines: Printed lines; one that ends with `HYPHEN` ends inside a word. Blank lines separate paragraphs. A
            list item keeps the indent of its first line, any other paragraph the least one of its lines.
        known: `vocabulary` of the document, which decides whether a hyphen at a line's end belongs to the word.
        parted: Whether words are parted at the ends of lines, so that one that the document has nowhere else is whole.
        wrapped_at: Characters at which the lines were broken, where that is known: a line is then full if the next
            word would not have fitted. Otherwise the lines around it say how long a full one is.
    """
    joined: list[list[str]] = []
    previous = ""
    indents = [line[: len(line) - len(line.lstrip())] for line in lines]
    lines = [_mended(line.strip(), known, parted=parted) for line in lines]
    for index, line in enumerate(lines):
        if not line:
            previous = ""
            continue
        width = wrapped_at or _width(lines, index - 1)
        full = width - len(line.split()[0]) if wrapped_at else _FULL_LINE * width
        separator = _separator(previous, line, width, full) if previous else None
        below = lines[index + 1] if index + 1 < len(lines) else ""
        if separator == " " and (
            _is_heading(previous, line, below, width)
            or _begins_quotation(line, previous, beside=(joined[-1][1], previous, below))
        ):
            separator = None
        if separator is None:
            joined.append([indents[index], line])
        elif previous.endswith(_HYPHENS) and separator == "":
            last = joined[-1].pop()
            joined[-1] += [last[:-_LONGEST_WORD], _dehyphenated(last[-_LONGEST_WORD:], line, known, parted=parted)]
        else:
            joined[-1].append(separator + line)
        if not _LIST_ITEM.match(joined[-1][1]):
            joined[-1][0] = min(joined[-1][0], indents[index], key=len)
        previous = line
    return ["".join(parts).replace(HYPHEN, "") for parts in joined]


def _is_heading(previous: str, line: str, below: str, width: float) -> bool:
    """Return whether a line between two paragraphs is a heading: prose would have filled it, or ended with a stop."""
    if not _TERMINAL.search(previous) or len(line) >= _HEADING * width or not line[-1].isalnum():
        return False
    return bool(below) and not below[0].islower() and bool(plain_headings(f"{line}\n{below}"))


def _begins_quotation(line: str, previous: str, *, beside: Sequence[str]) -> bool:
    """Return whether a line begins one of several quotations below each other, such as visitors' comments.

    Args:
        line: The line.
        previous: The line before it, which ends a sentence or a remark in brackets.
        beside: Lines of which one begins with a quotation mark, too; speech within a paragraph has none there.
    """
    if not _QUOTATION.match(line) or not (_TERMINAL.search(previous) or previous.endswith(")")):
        return False
    return any(map(_QUOTATION.match, beside))


def is_table_row(line: str) -> bool:
    """Return whether a line consists mostly of figures."""
    tokens = line.split()
    figures = sum(1 for token in tokens if _NUMBER.match(token))
    return figures >= 2 and figures >= 0.4 * len(tokens)


def _separator(previous: str, line: str, width: float, full: float) -> str | None:
    """Return the text that joins `line` to the previous one: nothing, a space, or None for a new paragraph.

    `width` is the usual length of lines in characters, `full` the length from which on a line was broken for its width.
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
    ends = _TERMINAL.search(previous) is not None
    if line[0].islower() and not ends:
        is_broken = previous.endswith(("-", _PRINTED_HYPHEN)) and len(previous) > 1 and previous[-2].isalpha()
        return "" if is_broken else " "
    # An article is no end, however long the rows of a table are to which the width of a line is compared.
    if not ends and (previous.endswith(_ARTICLES) or (_OPEN_END.search(previous) and len(previous) > width / 3)):
        return " "
    # Prose that names things looks like a title; it has filled its line.
    is_full = len(previous) + 1 + len(line.split()[0]) > width and _is_mostly_small(previous)
    is_full = is_full and not _BEGINS_LABEL.match(line)
    if is_table_row(line) or (not is_full and _is_title_case(previous) and not _is_title_case(line)):
        return None
    return " " if len(previous) >= full and (ends or not previous.isupper()) else None


def _is_title_case(line: str) -> bool:
    """Return whether a line looks like a heading: several long words, nearly all of them capitalised."""
    long_words = [word for word in _WORD.findall(line) if len(word) > 3]
    return len(long_words) > 1 and sum(1 for word in long_words if word[0].isupper()) >= 0.8 * len(long_words)


def _is_mostly_small(line: str) -> bool:
    """Return whether a line begins within a sentence, or has as many words in small letters as sentences have."""
    found = _WORD.findall(line)
    return line[0].islower() or sum(1 for word in found if word[0].islower()) >= _SMALL_WORDS * len(found)


def _width(lines: Sequence[str], index: int) -> float:
    """Return the usual length of the printed lines around `index`."""
    around = sorted(len(line) for line in lines[max(0, index - _NEIGHBOURS) : index + _NEIGHBOURS + 1] if line)
    return max(30.0, around[int(len(around) * 0.8)]) if around else 30.0


def _mended(row: str, known: Counter[str], *, parted: bool) -> str:
    """Return a row with the words whole that were broken within its cells."""
    text, *parts = row.split(HYPHEN) if HYPHEN in row[:-1] else [row]
    for part in parts:
        text = _dehyphenated(text + HYPHEN, part, known, parted=parted) if part else text + HYPHEN
    return text


def _dehyphenated(left: str, right: str, known: Counter[str], *, parted: bool = True) -> str:
    """Return two parts of a word joined, with a hyphen if the document writes it so elsewhere, or parts no words."""
    if left.endswith("-") and _OWN_HYPHENS.match(left.split()[-1]):
        return left + right
    left = left[:-1]
    head = _LAST_LETTERS.search(left)
    tail = re.match(r"[^\W\d_]*", right)
    first, second = (head.group() if head else ""), (tail.group() if tail else "")
    if not first or not second or second[0].isupper():
        return f"{left}-{right}"
    whole, hyphened = known[(first + second).casefold()], known[f"{first}-{second}".casefold()]
    if right[len(second) : len(second) + 1] == "-" and (compound := _WORD.match(right)):
        hyphened += known[f"{first}-{compound[0]}".casefold()]
    if whole or hyphened:
        return left + ("-" if hyphened > whole else "") + right
    if not parted:
        return f"{left}-{right}"
    both = known[first.casefold()] > 0 and known[second.casefold()] > 0 and len(first) > 2 and len(second) > 3
    return left + ("-" if both else "") + right


def with_whole_words(lines: Sequence[str]) -> list[str]:
    """Return lines of a text with the words and addresses whole that a typesetter parted at the ends of lines.

    A word is parted where U+2010 ends a line, an address where its angle bracket is closed on the next one. The rest
    of it moves up; so does the rest of its line, which begins within a sentence, unless the lines are of one width and
    will be joined anyway.
    """
    # Where the sign stands only at the ends of lines, it is no part of most words.
    is_within = any(_HYPHEN_WITHIN.search(line) for line in lines)
    known = vocabulary([line.rstrip() for line in lines])
    moves_up = not is_hard_wrapped([line.strip() for line in lines])
    found: list[list[str]] = []
    for below in lines:
        line = found[-1][-1].rstrip() if found else ""
        if is_row(line) or is_row(below):
            found.append([below])
            continue
        if _OPENED_ADDRESS.search(line) and (closed := _CLOSED_ADDRESS.match(below)):
            found[-1][-1] = line + closed[1]
            rest = below[closed.end() :].lstrip()
        elif _PARTED.search(line) and below.lstrip()[:1].isalpha():
            tail, _, rest = below.lstrip().partition(" ")
            near = line[-_LONGEST_WORD:]
            if is_within:
                whole = _dehyphenated(f"{near[:-1]}-", tail, known)
            else:
                whole = near[:-1] + ("" if _is_one_word(near, tail, known) else "-") + tail
            found[-1][-1:] = [line[: -len(near)], whole]
            rest = rest.lstrip()
        else:
            found.append([below])
            continue
        if rest.strip() and moves_up:
            found[-1].append(f" {rest}")
        elif rest.strip():
            found.append([below[: len(below) - len(below.lstrip())] + rest])
    return ["".join(parts) for parts in found]


def _is_one_word(left: str, right: str, known: Counter[str]) -> bool:
    """Return whether a word that ends a line with a hyphen is parted there and has none of its own.

    Args:
        left: The end of the line, with the hyphen.
        right: The first word of the next line.
        known: The document's words.
    """
    last = left.split()[-1]
    first = re.search(r"(?<![^\W\d_])[^\W\d_]++$", left[:-1])
    second = re.match(r"[^\W\d_]*+", right)
    head, tail = (match.group().casefold() if match else "" for match in (first, second))
    if right[0].isupper() or _OWN_HYPHENS.match(last) or _OF_IDENTIFIER.search(last):
        return False
    whole, parted = known[head + tail], known[f"{head}-{tail}"]
    if whole or parted:
        return whole >= parted
    is_compound = head in _FIRST_PARTS and not _ENDING.match(tail)
    if known[tail] or is_compound or tail in _SECOND_PARTS:
        return False
    return len(head) >= _SYLLABLE or (len(head) > 1 and _ENDING.search(tail) is not None)


def is_hard_wrapped(lines: Sequence[str]) -> bool:
    """Return whether a plain text was wrapped at a fixed width: many lines are about equally long."""
    inner = [len(line) for line, following in pairwise(lines) if line and following]
    if len(inner) < 3:
        return False
    width = sorted(inner)[int(len(inner) * 0.97)]
    return 50 <= width <= 120 and sum(1 for length in inner if length >= 0.75 * width) >= 0.4 * len(inner)
