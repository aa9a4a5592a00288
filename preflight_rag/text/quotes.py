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

_MAX_QUOTE_CHARS = 600
"""Most characters of a quote; a longer one (a table, a list without full stops) is cut. A guess."""
_CUT_AFTER = (" | ", "; ", ", ", " ")

_NORMAL_CHARACTERS = str.maketrans(
    {"“": '"', "”": '"', "„": '"', "‘": "'", "’": "'", "–": "-", "—": "-", "\u00a0": " "}
)
_TOKEN = re.compile(r"\S+")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_ELLIPSIS = re.compile(r"(?<!\s)\s*+(?:\.{3}|…|\[\.{3}\]|\[…\])\s*")
_LEADING_MARKS = re.compile(r"(?:(?:[#>*+|•·‣◦–-]+|\(?\d{1,3}[.)])\s+)+")
_REFERENCE_NUMBER = re.compile(r"\s?\[\d+(?:\s?[,;–-]\s?\d+)*\]")
_BULLET = re.compile(r"\n[ \t]*[*-][ \t]+(?=[^\s*-])")
_HEADING_BEFORE_PRONOUN = re.compile(
    r"^([^\n.:;,!?]{2,80})\n\s*(?=(?:Its?|They|Their|These|This|Those|Both|He|His|She|Her)\b)"
)
"""A heading above a sentence that begins with a pronoun for it: "Pump 3\\nIt is loud."."""
_UNDERLINE = re.compile(r"(?<=\?)\n[=~-]{3,}[ \t]{0,8}(?=\n)")
"""The line below a question that is a heading."""
_CODE = re.compile(r"``([^`'\n]{1,300}+)''|(?<!\w)`([^`'\n]{1,100}+)'(?!\w)|`")
"""Words in the quotation marks of TeX and of older manuals, ``x'' and `x', and the backticks of Markdown."""
_BOLD = re.compile(r"(?<![\w*/])\*\*(?=[^\s*/])([^*\n]{1,500}+)(?<=[^\s/])\*\*(?![\w*/])")
_ITALIC = re.compile(r"(?<![\w*/])\*(?=[A-Z])([^*\n]{1,200}+)(?<=[\w.!?)])\*(?![\w*/])")
"""Words between single asterisks, as Markdown writes titles; not "2 * 3 * 4", "*.txt *.md" or "*tmp*"."""
_UNPAIRED_BOLD = re.compile(r"(?<!\w)\*\*(?=\w)|(?<=[^\s/*])\*\*(?!\w)")
"""Double asterisks before or behind words, whose other pair the quote has cut off; not "2**3", not "**/x"."""
_UNDERLINED = re.compile(r"(?<!\w)__(?=\S)((?:(?!__)[^\n]){1,300})__(?!\w)")
_PYTHON_NAME = re.compile(
    r"(?:init|main|name|file|all|dict|doc|call|enter|exit|iter|next|len|str|repr|new|del|eq|hash|version|future|slots|class"
    r"|import|path|package|[a-z]+(?:_[a-z]+)+)"
)
"""Names that Python writes with two underscores on either side: "__init__"."""

Span = tuple[int, int]


def locate(quote: str, text: str) -> Span | None:
    """Return the span of a quote in a passage: verbatim, else normalised, else nearly equal; None if it is not there.

    A quote with an ellipsis is found by its longest part. Numbers must be the same: a quote that differs in one is not
    found, however similar the words are.
    """
    # A model shortens with "…"; the omitted text lies between the parts, so only one part can be located.
    part = max(_ELLIPSIS.split(quote.strip()), key=len).strip()
    if not part:
        return None
    start = text.find(part)
    if start >= 0:
        return start, start + len(part)
    return _locate_normalised(part, text) or _locate_fuzzy(part, text)


def support(statement: str, text: str) -> Span | None:
    """Return the span of the sentence of a passage, or of two in a row, that supports a statement; None without one.

    It has most of the statement's words, at least `SUPPORT_COVERAGE` of them, and all its numbers.
    """
    terms = set(words(statement))
    numbers = set(_NUMBER.findall(statement))
    if not terms:
        return None
    spans = sentence_spans(text)
    # A statement may join two neighbouring sentences; a single sentence is preferred as the shorter quote.
    pairs = [(start, end) for (start, _), (_, end) in pairwise(spans)]
    return _best_supporting_span(terms, numbers, text, spans) or _best_supporting_span(terms, numbers, text, pairs)


def strongest(statement: str, texts: Sequence[str]) -> int | None:
    """Return the index of the text that supports a statement with most of its words, the first of equals; None if none.

    Only the words of the sentences that `support` finds count.
    """
    terms = set(words(statement))
    best: int | None = None
    most_shared = -1
    for index, text in enumerate(texts):
        if span := support(statement, text):
            start, end = span
            shared = len(terms & set(words(text[start:end])))
            if shared > most_shared:
                best, most_shared = index, shared
    return best


def _best_supporting_span(terms: set[str], numbers: set[str], text: str, spans: Sequence[Span]) -> Span | None:
    """Return the first span of a text with all the numbers and the largest share of the terms; None if that is low."""
    best: Span | None = None
    best_coverage = 0.0
    for start, end in spans:
        candidate = text[start:end]
        # A sentence with another number does not support the statement, however many words it shares.
        if not numbers <= set(_NUMBER.findall(candidate)):
            continue
        coverage = len(terms & set(words(candidate))) / len(terms)
        if coverage >= SUPPORT_COVERAGE and coverage > best_coverage:
            best, best_coverage = (start, end), coverage
    return best


def _normalise(text: str) -> tuple[str, list[int]]:
    """Return a text in normalised form (spaces, quotation marks, case), and each character's offset in the original."""
    characters: list[str] = []
    offsets: list[int] = []
    for offset, character in enumerate(text.translate(_NORMAL_CHARACTERS)):
        if character.isspace():
            if characters and characters[-1] == " ":
                continue
            character = " "
        lowered = character.lower()
        # Some letters become two in lower case (İ), which would shift every offset after them.
        characters.append(lowered if len(lowered) == 1 else character)
        offsets.append(offset)
    return "".join(characters), offsets


def _locate_normalised(quote: str, text: str) -> Span | None:
    """Return the span of a quote in a text if both are normalised; None if it is not there.

    Quotation marks and punctuation around the quote do not count.
    """
    normal_text, offsets = _normalise(text)
    normal_quote, _ = _normalise(quote)
    normal_quote = normal_quote.strip().strip("\"'").strip(" .;,")
    start = normal_text.find(normal_quote) if normal_quote else -1
    return (offsets[start], offsets[start + len(normal_quote) - 1] + 1) if start >= 0 else None


def _locate_fuzzy(quote: str, text: str) -> Span | None:
    """Return the span of a text that nearly equals a quote and has all its numbers; None without one.

    A short quote is never found.
    """
    normal_text, offsets = _normalise(text)
    normal_quote = _normalise(quote)[0].strip()
    if len(normal_quote) < SHORTEST_FUZZY:
        return None
    from rapidfuzz import fuzz  # not at the top: most quotes are found verbatim

    alignment = fuzz.partial_ratio_alignment(normal_quote, normal_text, score_cutoff=FUZZY_SCORE)
    if alignment is None or alignment.dest_end <= alignment.dest_start:
        return None
    # The alignment may begin or end inside a word.
    start, end = _extend_to_words(text, offsets[alignment.dest_start], offsets[alignment.dest_end - 1] + 1)
    if start >= end:  # an alignment with only spaces is no match
        return None
    # Texts that differ in one digit are similar by letters, but mean something else.
    if set(_NUMBER.findall(quote)) - set(_NUMBER.findall(text[start:end])):
        return None
    return start, end


def _extend_to_words(text: str, start: int, end: int) -> Span:
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


_GREETING_OR_CLOSING = re.compile(
    r"(?:dear|hello|hi|hallo|good (?:morning|afternoon|evening)|sehr geehrte[rs]?|liebe[rs]?)\b[^.!?:|]{0,60}[,!]"
    r"|(?:(?:with )?(?:kind|best|warm|many)(?:est)? (?:regards|wishes|thanks)|yours (?:sincerely|faithfully|truly)"
    r"|sincerely|regards|cheers|mit freundlichen grüßen|viele grüße)[,!]?",
    re.IGNORECASE,
)
"""The greeting or the closing of a letter."""


def quotable(sentence: str) -> list[str]:
    """Return the quotes of which a sentence consists: one, without list marks, or several pieces of a very long one.

    [] for a heading with "#", and for the greeting or the closing of a letter, which state nothing.
    """
    marks = _LEADING_MARKS.match(sentence)
    text = sentence[marks.end() :] if marks else sentence
    if (marks and marks.group().startswith("#")) or _GREETING_OR_CLOSING.fullmatch(text.strip()):
        return []
    pieces = []
    while len(text) > _MAX_QUOTE_CHARS:
        cut = _cut_position(text)
        pieces.append(text[:cut].strip())
        text = text[cut:]
    return [piece for piece in [*pieces, text.strip()] if piece]


def _cut_position(text: str) -> int:
    """Return the offset at which a long text is cut: between cells, clauses or phrases, else words, else characters."""
    for separator in _CUT_AFTER:
        offset = text.rfind(separator, _MAX_QUOTE_CHARS // 2, _MAX_QUOTE_CHARS)
        if offset > 0:
            return offset + len(separator) - 1
    return _MAX_QUOTE_CHARS


def quote_around(text: str, start: int, end: int) -> Span:
    """Return the span of the sentence around a part of a text, without leading list or heading marks.

    A part over several sentences gets all of them; a very long result is cut between words around the part.
    """
    spans = _overlapping_sentences(text, start, end)
    first, last = (spans[0][0], spans[-1][1]) if spans else (start, end)
    marks = _LEADING_MARKS.match(text, first, last)
    if marks and marks.end() <= start:
        first = marks.end()
    return _cut_around(text, min(first, start), max(last, end), start, end)


def _overlapping_sentences(text: str, start: int, end: int) -> list[Span]:
    """Return the spans of a text's sentences that overlap a part of it."""
    return [(left, right) for left, right in sentence_spans(text) if left < end and start < right]


def trim_quote(text: str, start: int, end: int, wanted: Collection[str]) -> Span:
    """Return the span of a quote in a text, cut to the part with most of some index terms if the quote is too long.

    Its beginning if it has none of the terms. A model may quote a paragraph, and a text without full stops is one
    sentence.
    """
    if end - start <= _MAX_QUOTE_CHARS:
        return start, end
    terms = frozenset(wanted)
    tokens: list[tuple[Span, frozenset[str]]] = []  # those with wanted terms
    for match in _TOKEN.finditer(text, start, end):
        if shared := terms.intersection(words_by_token(match[0])):
            tokens.append((match.span(), shared))
    best_span, most_covered = (start, start), 0
    for index, ((left, right), _) in enumerate(tokens):
        covered: set[str] = set()
        for (_, token_end), shared in tokens[index:]:
            if token_end - left > _MAX_QUOTE_CHARS:
                break
            if not shared <= covered:
                covered, right = covered | shared, token_end
        if len(covered) > most_covered:
            best_span, most_covered = (left, right), len(covered)
    if not most_covered:
        return start, _word_end(text, start, start + _MAX_QUOTE_CHARS)
    return _cut_around(text, start, end, *best_span)


def is_title(text: str, title: str) -> bool:
    """Return whether a quote is only its document's title or a part of it, which says nothing by itself."""
    text, title = " ".join(text.split()).casefold(), " ".join(title.split()).casefold()
    return bool(title) and text[-1:] not in ".!?。！？．" and text in title


def _cut_around(text: str, first: int, last: int, start: int, end: int) -> Span:
    """Return the span from `first` to `last`, cut between words to the length of a quote around its part.

    The part, from `start` to `end`, always stays whole.
    """
    length = end - start
    spare = max(0, _MAX_QUOTE_CHARS - length)
    if last - first > length + spare:
        left = max(first, start - spare // 2)
        right = min(last, left + length + spare)
        left = max(first, right - length - spare)
        first = left if left == first else _word_start(text, left, start)
        last = right if right == last else _word_end(text, end, right)
    return first, last


def _word_start(text: str, offset: int, maximum: int) -> int:
    """Return the start of the first word behind an offset, at most `maximum`; the offset if no space is between."""
    space = re.compile(r"\s+").search(text, offset, maximum)
    return space.end() if space else offset


def _word_end(text: str, minimum: int, offset: int) -> int:
    """Return the end of the last whole word before an offset; the offset if there is no space behind `minimum`."""
    space = max(text.rfind(" ", minimum, offset), text.rfind("\n", minimum, offset))
    return space if space > minimum else offset


def plain(quote: str) -> str:
    """Return a quote as running text: without emphasis marks, and without the passage's own reference numbers.

    The asterisks of commands and file names stay ("5 0 * * *"), as do the underscores of names ("__init__").
    """
    text = _UNDERLINE.sub("", _HEADING_BEFORE_PRONOUN.sub(r"\1: ", quote))
    bullets = _BULLET.findall(text)
    if len(bullets) > 1 or (bullets and text[: text.index(bullets[0])].rstrip().endswith(":")):
        text = _BULLET.sub(" • ", text)
    text = _REFERENCE_NUMBER.sub("", text)
    text = _CODE.sub(lambda match: f"‘{match[1] or match[2]}’" if match[0] != "`" else "", text)
    text = _UNDERLINED.sub(lambda match: match[0] if _PYTHON_NAME.fullmatch(match[1]) else match[1], text)
    text = _UNPAIRED_BOLD.sub("", _BOLD.sub(r"\1", text))
    return " ".join(_ITALIC.sub(r"\1", text).split())


def with_ellipses(quote: str, text: str) -> str:
    """Return a quote as running text, with an ellipsis where its sentence in the text begins before it or continues."""
    start = text.find(quote)
    end = start + len(quote)
    spans = _overlapping_sentences(text, start, end) if start >= 0 else []
    if not spans:
        return plain(quote)
    first_start, first_end = spans[0]
    _, last_end = spans[-1]
    marks = _LEADING_MARKS.match(text, first_start, first_end)
    begins_sentence = start <= (marks.end() if marks else first_start)
    return f"{'' if begins_sentence else '… '}{plain(quote)}{' …' if end < last_end else ''}"


def elided(quote: str, sentence: str) -> str:
    """Return a quote as running text, with an ellipsis where the sentence has words before or behind it.

    A capital at its beginning needs no ellipsis before it.
    """
    before, _, behind = sentence.partition(quote)
    begins_sentence = quote[:1].isupper() or not before
    return f"{'' if begins_sentence else '… '}{plain(quote)}{' …' if behind else ''}"
