"""Finding the words of a passage on which a quote or a statement is based.

`locate` finds a quote, as a model copied it, in the passage: exactly, then with normalised spaces, quotation marks and
case, then within a few edits. `support` finds the passage's own sentences that say what a statement says. Both return
character offsets, so that `text[start:end]` is always the passage's own wording.

`quote_around` widens an answer to its sentence, and `plain` converts a quote to running text.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from itertools import pairwise

from preflight_rag.text.sentences import sentence_spans
from preflight_rag.text.words import words, words_by_token

FUZZY_SCORE = 88.0
"""Least similarity (0 to 100, normalised edit distance of the best window) at which a quote counts as found; set by
hand."""
SHORTEST_FUZZY = 12
"""Characters below which a quote must be found exactly: a few edits turn a short one into another. A guess."""
SUPPORT_COVERAGE = 0.6
"""Least share of a statement's content words that a supporting sentence contains; set by hand."""

_MAX_QUOTE = 600
"""Most characters of a quote; a longer one (a table, a list without full stops) is cut. A guess."""
_CUTS = (" | ", "; ", ", ", " ")

_SAME = str.maketrans({"“": '"', "”": '"', "„": '"', "‘": "'", "’": "'", "–": "-", "—": "-", "\u00a0": " "})
_TOKEN = re.compile(r"\S+")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_ELLIPSIS = re.compile(r"(?<!\s)\s*+(?:\.{3}|…|\[\.{3}\]|\[…\])\s*")
_LEAD = re.compile(r"(?:(?:[#>*+|•·‣◦–-]+|\(?\d{1,3}[.)])\s+)+")
_REFERENCE = re.compile(r"\s?\[\d+(?:\s?[,;–-]\s?\d+)*\]")
_BULLET = re.compile(r"\n[ \t]*[*-][ \t]+(?=[^\s*-])")
_HEADED = re.compile(r"^([^\n.:;,!?]{2,80})\n\s*(?=(?:Its?|They|Their|These|This|Those|Both|He|His|She|Her)\b)")
"""A heading above the sentence whose pronoun stands for it."""
_UNDERLINE = re.compile(r"(?<=\?)\n[=~-]{3,}[ \t]{0,8}(?=\n)")
"""The line below a question that is a heading."""
_CODE = re.compile(r"``([^`'\n]{1,300}+)''|(?<!\w)`([^`'\n]{1,100}+)'(?!\w)|`")
"""Words in the quotation marks of TeX and of older manuals, ``x'' and `x', and the backticks of Markdown."""
_BOLD = re.compile(r"(?<![\w*/])\*\*(?=[^\s*/])([^*\n]{1,500}+)(?<=[^\s/])\*\*(?![\w*/])")
_ITALIC = re.compile(r"(?<![\w*/])\*(?=[A-Z])([^*\n]{1,200}+)(?<=[\w.!?)])\*(?![\w*/])")
"""Words between single asterisks, as Markdown writes titles; not "2 * 3 * 4", "*.txt *.md" or "*tmp*"."""
_CUT_BOLD = re.compile(r"(?<!\w)\*\*(?=\w)|(?<=[^\s/*])\*\*(?!\w)")
"""Double asterisks before or behind words, whose other pair the quote has cut off; not "2**3", not "**/x"."""
_UNDERLINED = re.compile(r"(?<!\w)__(?=\S)((?:(?!__)[^\n]){1,300})__(?!\w)")
_OF_PYTHON = re.compile(
    r"(?:init|main|name|file|all|dict|doc|call|enter|exit|iter|next|len|str|repr|new|del|eq|hash|version|future|slots|class"
    r"|import|path|package|[a-z]+(?:_[a-z]+)+)"
)
"""Names that Python writes with two underscores on either side: "__init__"."""

Span = tuple[int, int]


def locate(quote: str, text: str) -> Span | None:
    """Return the span of a quote in a passage, or None.

    A quote with an ellipsis is found by its longest part. Numbers must be the same: a quote that differs in one is not
    found, however similar the words are.
    """
    # A model shortens with "…"; the omitted text lies between the parts, so only one part can be located.
    part = max(_ELLIPSIS.split(quote.strip()), key=len).strip()
    if not part:
        return None
    # Most quotes are verbatim, which is quick to check.
    at = text.find(part)
    if at >= 0:
        return at, at + len(part)
    return _locate_alike(part, text) or _locate_fuzzy(part, text)


def support(statement: str, text: str) -> Span | None:
    """Return the sentence, or two in a row, of a passage with most of a statement's words and all its numbers."""
    wanted = set(words(statement))
    numbers = set(_NUMBER.findall(statement))
    if not wanted:
        return None
    spans = sentence_spans(text)
    # A statement may join two neighbouring sentences; a single sentence is preferred as the shorter quote.
    pairs = [(a[0], b[1]) for a, b in pairwise(spans)]
    return _best_window(wanted, numbers, text, spans) or _best_window(wanted, numbers, text, pairs)


def strongest(statement: str, texts: Sequence[str]) -> int | None:
    """Return the index of the text that supports a statement with most of its words; the first of equals."""
    found = [(i, span) for i, text in enumerate(texts) if (span := support(statement, text))]
    if not found:
        return None
    wanted = set(words(statement))
    return max(found, key=lambda item: (len(wanted & set(words(texts[item[0]][slice(*item[1])]))), -item[0]))[0]


def _best_window(wanted: set[str], numbers: set[str], text: str, windows: Sequence[Span]) -> Span | None:
    """Return the first window with all the numbers and the largest share of the words, if that is large enough."""
    best: tuple[float, Span] | None = None
    for start, end in windows:
        window = text[start:end]
        # A sentence with another number does not support it, however many words it shares.
        if not numbers <= set(_NUMBER.findall(window)):
            continue
        coverage = len(wanted & set(words(window))) / len(wanted)
        if coverage >= SUPPORT_COVERAGE and (best is None or coverage > best[0]):
            best = (coverage, (start, end))
    return best[1] if best else None


def _alike(text: str) -> tuple[str, list[int]]:
    """Return a text in normalised form (spaces, quotation marks, case), and each character's offset in the original."""
    out: list[str] = []
    offsets: list[int] = []
    for i, character in enumerate(text.translate(_SAME)):
        if character.isspace():
            if out and out[-1] == " ":
                continue
            character = " "
        lowered = character.lower()
        # Some letters become two in lower case (İ), which would shift every offset after them.
        out.append(lowered if len(lowered) == 1 else character)
        offsets.append(i)
    return "".join(out), offsets


def _locate_alike(quote: str, text: str) -> Span | None:
    """Return where a text contains a quote, if spaces, quotation marks and case are normalised."""
    haystack, offsets = _alike(text)
    needle = _alike(quote)[0].strip().strip("\"'").strip(" .;,")
    at = haystack.find(needle) if needle else -1
    return (offsets[at], offsets[at + len(needle) - 1] + 1) if at >= 0 else None


def _locate_fuzzy(quote: str, text: str) -> Span | None:
    """Return where a text has nearly a quote."""
    haystack, offsets = _alike(text)
    needle = _alike(quote)[0].strip()
    if len(needle) < SHORTEST_FUZZY:
        return None
    from rapidfuzz import fuzz  # not at the top: most quotes are found verbatim

    found = fuzz.partial_ratio_alignment(needle, haystack, score_cutoff=FUZZY_SCORE)
    if found is None or found.dest_end <= found.dest_start:
        return None
    # The alignment may begin or end inside a word.
    start, end = _whole_words(text, offsets[found.dest_start], offsets[found.dest_end - 1] + 1)
    if start >= end:  # an alignment with only spaces is no match
        return None
    # Texts that differ in one digit are similar by letters, but mean something else.
    if set(_NUMBER.findall(quote)) - set(_NUMBER.findall(text[start:end])):
        return None
    return start, end


def _whole_words(text: str, start: int, end: int) -> Span:
    """Return a span widened to whole words, without spaces at its ends."""
    while start > 0 and text[start - 1].isalnum() and text[start].isalnum():
        start -= 1
    while end < len(text) and text[end - 1].isalnum() and text[end].isalnum():
        end += 1
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return start, end


_GREETING = re.compile(
    r"(?:dear|hello|hi|hallo|good (?:morning|afternoon|evening)|sehr geehrte[rs]?|liebe[rs]?)\b[^.!?:|]{0,60}[,!]"
    r"|(?:(?:with )?(?:kind|best|warm|many)(?:est)? (?:regards|wishes|thanks)|yours (?:sincerely|faithfully|truly)"
    r"|sincerely|regards|cheers|mit freundlichen grüßen|viele grüße)[,!]?",
    re.IGNORECASE,
)
"""The first or the last line of a letter."""


def quotable(sentence: str) -> list[str]:
    """Return a sentence without leading list or heading marks, cut between words if it is very long."""
    lead = _LEAD.match(sentence)
    rest = sentence[lead.end() :] if lead else sentence
    # A heading names a subject and states nothing; a greeting states nothing at all.
    if (lead and lead.group().startswith("#")) or _GREETING.fullmatch(rest.strip()):
        return []
    pieces = []
    while len(rest) > _MAX_QUOTE:
        # Cut between cells, clauses or phrases if there is such a place, else between words.
        found = ((rest.rfind(end, _MAX_QUOTE // 2, _MAX_QUOTE), end) for end in _CUTS)
        at = next((at + len(end) - 1 for at, end in found if at > 0), 0)
        pieces.append(rest[: at if at > 0 else _MAX_QUOTE].strip())
        rest = rest[at if at > 0 else _MAX_QUOTE :]
    return [piece for piece in [*pieces, rest.strip()] if piece]


def quote_around(text: str, start: int, end: int) -> Span:
    """Return the span of the sentence around a part of a text, without leading list or heading marks.

    A part over several sentences gets all of them; a very long result is cut between words around the part.
    """
    spans = [span for span in sentence_spans(text) if span[0] < end and start < span[1]]
    first, last = (spans[0][0], spans[-1][1]) if spans else (start, end)
    lead = _LEAD.match(text, first, last)
    if lead and lead.end() <= start:
        first = lead.end()
    return _around(text, min(first, start), max(last, end), start, end)


def trim_quote(text: str, start: int, end: int, wanted: Collection[str]) -> Span:
    """Return the span of a long quote's part with most of some index terms; a short quote is returned whole.

    A model may quote a paragraph, and a text without full stops is one sentence.
    """
    if end - start <= _MAX_QUOTE:
        return start, end
    terms = frozenset(wanted)
    found = [
        (match.start(), match.end(), shared)
        for match in _TOKEN.finditer(text, start, end)
        if (shared := terms.intersection(words_by_token(match[0])))
    ]
    best: tuple[int, Span] = 0, (start, start)
    for place, (left, right, _) in enumerate(found):
        covered: set[str] = set()
        for _, until, shared in found[place:]:
            if until - left > _MAX_QUOTE:
                break
            if not shared <= covered:
                covered, right = covered | shared, until
        if len(covered) > best[0]:
            best = len(covered), (left, right)
    if not best[0]:
        return start, _word_end(text, start, start + _MAX_QUOTE)
    return _around(text, start, end, *best[1])


def is_title(text: str, title: str) -> bool:
    """Return whether a quote is only its document's title or a part of it, which says nothing by itself."""
    text, title = " ".join(text.split()).casefold(), " ".join(title.split()).casefold()
    return bool(title) and text[-1:] not in ".!?。！？．" and text in title


def _around(text: str, first: int, last: int, start: int, end: int) -> Span:
    """Return a part of a sentence around a match in it, cut between words to the length of a quote."""
    spare = max(0, _MAX_QUOTE - (end - start))
    if last - first > end - start + spare:
        left = max(first, start - spare // 2)
        right = min(last, left + (end - start) + spare)
        left = max(first, right - (end - start) - spare)
        first = left if left == first else _word_start(text, left, start)
        last = right if right == last else _word_end(text, end, right)
    return first, last


def _word_start(text: str, at: int, most: int) -> int:
    """Return the start of the first word at or after an offset, if there is one before `most`."""
    found = re.compile(r"\s+").search(text, at, most)
    return found.end() if found and found.end() <= most else at


def _word_end(text: str, least: int, at: int) -> int:
    """Return the end of the last whole word before an offset; the offset if there is none after `least`."""
    found = max(text.rfind(" ", least, at), text.rfind("\n", least, at))
    return found if found > least else at


def plain(quote: str) -> str:
    """Return a quote as running text: without emphasis marks, and without the passage's own reference numbers.

    The asterisks of commands and file names stay ("5 0 * * *"), as do the underscores of names ("__init__").
    """
    quote = _UNDERLINE.sub("", _HEADED.sub(r"\1: ", quote))
    bullets = _BULLET.findall(quote)
    if len(bullets) > 1 or (bullets and quote[: quote.index(bullets[0])].rstrip().endswith(":")):
        quote = _BULLET.sub(" • ", quote)
    text = _CODE.sub(lambda found: f"‘{found[1] or found[2]}’" if found[0] != "`" else "", _REFERENCE.sub("", quote))
    text = _UNDERLINED.sub(lambda found: found[0] if _OF_PYTHON.fullmatch(found[1]) else found[1], text)
    return " ".join(_ITALIC.sub(r"\1", _CUT_BOLD.sub("", _BOLD.sub(r"\1", text))).split())


def with_ellipses(quote: str, text: str) -> str:
    """Return a quote as running text, with an ellipsis if its sentence begins before it or continues after it."""
    at = text.find(quote)
    spans = [span for span in sentence_spans(text) if span[0] < at + len(quote) and at < span[1]] if at >= 0 else []
    if not spans:
        return plain(quote)
    lead = _LEAD.match(text, spans[0][0], spans[0][1])
    begins = at <= (lead.end() if lead else spans[0][0])
    return f"{'' if begins else '… '}{plain(quote)}{' …' if at + len(quote) < spans[-1][1] else ''}"


def elided(quote: str, sentence: str) -> str:
    """Return a quote as running text, with an ellipsis if the sentence continues."""
    before, after = sentence.partition(quote)[::2]
    opens = quote[:1].isupper() or not before
    return f"{'' if opens else '… '}{plain(quote)}{' …' if after else ''}"
