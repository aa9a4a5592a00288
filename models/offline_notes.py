"""What a context is about, read by rule: the name a question asks about, what tells its bearer from others, the answer.

An answer is the value of the type that the question asks for (a date, a number, yes or no, else a name or noun phrase)
that stands nearest to the question's words in a sentence. A descriptor is what a title or the text puts behind the
name: "Broken Bow, Nebraska", "Interiors (Brad album)", "Broken Bow is a city in Oklahoma".
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from .words import words

Kind = Literal["date", "number", "verdict", "name"]

_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*\.?"
_YEAR = r"(?:1[0-9]|20)\d\d"
_DATE = re.compile(
    rf"(?P<day1>\d{{1,2}})(?:st|nd|rd|th)?\s(?:of\s)?(?P<month1>{_MONTH})(?:,?\s(?P<year1>{_YEAR}))?\b"
    rf"|\b(?P<month2>{_MONTH})\s(?P<day2>\d{{1,2}})(?:st|nd|rd|th)?\b(?!\s?\d)(?:\s?,?\s(?P<year2>{_YEAR})\b)?"
    rf"|\b(?P<month3>{_MONTH})\s(?:of\s)?(?P<year3>{_YEAR})\b"
    rf"|(?<![\d.,/-])(?P<year4>{_YEAR})(?:s\b|\b)(?![\d/]|[.,]\d)"
)
_NUMBER_WORDS = {
    "zero": 0, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9,
    "ten": 10, "eleven": 11, "twelve": 12,
}  # fmt: skip
_SCALES = {"thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12}
_NUMBER = re.compile(
    rf"[$£€]?(?<![\w.])(?:(?P<digits>\d{{1,3}}(?:,\d{{3}})+(?:\.\d+)?|\d+(?:\.\d+)?)(?!\w)"
    rf"|(?P<word>\b(?:{'|'.join(_NUMBER_WORDS)})\b))"
    rf"(?:\s(?P<scale>{'|'.join(_SCALES)})\b)?(?P<unit>\s?%|\s?[°µ]?[A-Za-z²³/]{{1,14}}\b)?"
)
_COORDINATE = re.compile(r"\.\d{4}")
_CAPITAL = r"[A-Z0-9À-Ý][\w.'’&-]*"
_NAME = re.compile(rf"(?<![\w@]){_CAPITAL}(?:\s(?:(?:of|the|and|de|la|von|van|du|for|&)\s){{0,2}}{_CAPITAL})*")
_QUOTED = re.compile(r"[\"“«]\s*([^\"”»]{2,80}?)\s*[\"”»]|(?<!\w)['‘]([^'’]{2,60})['’](?!\w)")
_ASKS_DATE = re.compile(
    r"^(?:in |on |since |until )?(?:when\b|(?:what|which) (?:year|date|day|month|decade|century))"
    r"|\bin (?:what|which) year\b|\b(?:birth|death) ?dates?\b|\bdate of\b|\bfeast day\b",
    re.I,
)
_ASKS_NUMBER = re.compile(
    r"^(?:about |in )?how (?:many|much|old|tall|long|far|fast|large|big|high|deep|heavy|often)\b"
    r"|\b(?:population|number|percentage|proportion|rate|incidence|prevalence|height|elevation|area|length|weight|dose|"
    r"capacity|cost|price|age) of\b",
    re.I,
)
_ASKS_VERDICT = re.compile(
    r"(?:is|are|was|were|do|does|did|can|could|will|would|should|has|have|had|may|might|must)\b", re.I
)
_NEGATION = re.compile(r"\b(?:not?|never|none|neither|nor|without|cannot|fail\w*|lack\w*|unlikely)\b|n['’]t\b", re.I)
_INTERROGATIVE = re.compile(
    r"^(?:(?:in|on|at|of|for|by|to|from)\s)?(?:who|whom|whose|what|when|where|which|why|how|is|are|was|were|do|does|did|"
    r"can|could|will|would|should|has|have|had|tell|name|list|give)\b(?:['’]s)?\s?",
    re.I,
)
_IS_A = re.compile(
    r"\s(?:is|was|are|were)\s(?:(?:a|an|the|one of the)\s)(?P<what>[^.;:(\[]{3,90}?)"
    r"(?=\s(?:that|which|who|whose|and|by|from|with|for|to|on|at|based|located|directed|written|released|published|"
    r"produced|established|founded|born|known)\b|[.,;:(\[]|$)"
)
_PLACE = re.compile(rf"\bin (?:the )?(?P<place>{_CAPITAL}(?:,? (?:of )?{_CAPITAL})*)")
_NEXT_SENTENCE = re.compile(r"[\s.](?:As|The|In|It|At|On|He|She|For)$|\.$")
_LIFE_DATES = re.compile(r"\d{3,4}\s?[-–—]|^\s*(?:born|b\.|c\.|died|/|\d{1,2}\s|[A-Z][a-z]+ \d|pronounced|[A-Z]{2,6}$)")
_LEAD = 240
_MAX_NAME = 80
_MAX_NAME_WORDS = 7
_MAX_WORDS = 10


@dataclass(frozen=True)
class Value:
    """An answer as it stands in the text, and its meaning for comparison: (year, month, day), a number, terms."""

    text: str
    kind: Kind
    key: tuple[float, ...] | frozenset[str]


def asked_kind(question: str) -> Kind:
    """The type of value that a question asks for."""
    if _ASKS_DATE.search(question.strip()):
        return "date"
    if _ASKS_NUMBER.search(question.strip()):
        return "number"
    return "verdict" if _ASKS_VERDICT.match(question.strip()) and " or " not in question else "name"


def speaks_of(name: str, title: str, text: str) -> bool:
    """Whether a context may be about a name.

    It is about something else if its document has a title, and title and text hold no more than half of the name's
    words. Without a title, what the document is about is not known.
    """
    wanted = frozenset(words(name))
    return not wanted or not title or 2 * len(wanted & frozenset(words(f"{title}\n{text}"))) > len(wanted)


def surface_name(question: str) -> str:
    """The name that a question asks about: what it puts in quotation marks, else its longest run of capitals."""
    quoted = _QUOTED.search(question)
    if quoted:
        return " ".join((quoted[1] or quoted[2]).split())
    rest = _INTERROGATIVE.sub("", question.strip().rstrip("?.! "), count=1)
    runs = [match.group().rstrip(".'’-") for match in re.finditer(rf"{_NAME.pattern}(?:, {_CAPITAL})*", rest)]
    named = [run for run in runs if re.search(r"[^\W\d_]", run)]
    return max(named, key=lambda run: (len(run.split()), len(run)), default="")


def values(sentence: str, kind: Kind, question: str) -> list[Value]:
    """Values of a type in a sentence, the one nearest to the question's words first."""
    if kind == "verdict":
        negative = bool(_NEGATION.search(sentence)) != bool(_NEGATION.search(question))
        return [Value("no" if negative else "yes", kind, (float(not negative),))]
    asked = frozenset(words(question))
    anchors = [match.span() for match in re.finditer(r"\w+", sentence) if asked & set(words(match.group()))]
    found = list({"date": _dates, "number": _numbers, "name": _names}[kind](sentence, asked))

    def distance(span: tuple[int, int]) -> int:
        gaps = (max(0, start - span[1], span[0] - end) for start, end in anchors)
        return min(gaps, default=0)

    ordered = sorted(found, key=lambda item: (-len(item[1].key) if kind == "date" else 0, distance(item[0]), item[0]))
    return [value for _, value in ordered]


def _dates(sentence: str, asked: frozenset[str]) -> Iterator[tuple[tuple[int, int], Value]]:
    for match in _DATE.finditer(sentence):
        parts = {name[:-1]: part for name, part in match.groupdict().items() if part}
        if "year" not in parts and "month" not in parts:
            continue
        month = _MONTHS.index(parts["month"][:3].lower()) + 1 if "month" in parts else 0
        key = (float(parts.get("year", 0)), float(month), float(parts.get("day", 0)))
        yield match.span(), Value(match.group().strip(), "date", key)


def _numbers(sentence: str, asked: frozenset[str]) -> Iterator[tuple[tuple[int, int], Value]]:
    dates = [match.span() for match in _DATE.finditer(sentence)]
    for match in _NUMBER.finditer(sentence):
        figure = match["digits"] or match["word"]
        if _COORDINATE.search(figure):
            continue
        if any(start < match.end() and match.start() < end for start, end in dates) or asked & set(words(figure)):
            continue
        number = float(match["digits"].replace(",", "")) if match["digits"] else float(_NUMBER_WORDS[match["word"]])
        text = match.group() if _is_unit(match["unit"]) else match.group()[: match.start("unit") - match.start()]
        yield match.span(), Value(text.strip(), "number", (number * _SCALES.get(match["scale"] or "", 1.0),))


def _is_unit(unit: str | None) -> bool:
    return unit is None or unit.strip() == "%" or bool(words(unit))


def _names(sentence: str, asked: frozenset[str]) -> Iterator[tuple[tuple[int, int], Value]]:
    """Names that the question does not hold; the noun phrase behind the first "is a"; failing both, the first words."""
    found = False
    for match in _NAME.finditer(sentence):
        text = match.group().rstrip(".'’-")
        terms = frozenset(words(text))
        if terms - asked and not (match.start() == 0 and len(text.split()) == 1) and not text.isdigit():
            found = True
            yield match.span(), Value(text[:_MAX_NAME], "name", terms)
    phrase = _IS_A.search(sentence)
    if phrase and (terms := frozenset(words(phrase["what"]))) - asked:
        found = True
        yield phrase.span("what"), Value(phrase["what"].strip(), "name", terms)
    if not found:
        text = " ".join(sentence.split()[:_MAX_WORDS])
        if not text:
            return
        yield (0, len(text)), Value(text, "name", frozenset(words(text)))


def same_value(a: Value, b: Value) -> bool:
    """Whether two values mean the same: equal numbers, dates that do not contradict each other, names that include."""
    if a.kind != b.kind:
        return False
    if isinstance(a.key, frozenset) and isinstance(b.key, frozenset):
        return bool(a.key & b.key) and (a.key <= b.key or b.key <= a.key)
    pairs = list(zip(a.key, b.key, strict=True))
    return all(x == y or (a.kind == "date" and not (x and y)) for x, y in pairs) and pairs[0][0] == pairs[0][1]


def heading_of(text: str) -> str:
    """The heading that a text begins with when its first sentence repeats the heading's first word; else empty."""
    tokens = list(re.finditer(r"\S+", text[:_LEAD]))
    for i, token in enumerate(tokens[1:13], 1):
        after = tokens[i + 1].group() if i + 1 < len(tokens) else ""
        if token.group().strip(",") == tokens[0].group().strip(",") and len(token.group()) > 2:
            return text[: tokens[i - 1].end()]
        if token.group() == "The" and after == tokens[0].group():
            return text[: tokens[i - 1].end()]
    return ""


def descriptor_of(name: str, title: str, text: str) -> str | None:
    """What tells the bearer of a name from others: of the title, the text's heading, or what stands behind the name."""
    head = re.split(r"[,(]", name)[0].strip()
    if not head:
        return None
    for heading in (title, heading_of(text)):
        if heading.strip() and (found := _from_heading(head, name, " ".join(heading.split()))):
            return found
    spaced = r"\s+".join(map(re.escape, head.split()))
    for match in re.finditer(spaced, text, re.I):
        if found := _behind(text[match.end() : match.end() + 160], name):
            return found
    return _fuller_name(head, text)


def _from_heading(head: str, name: str, heading: str) -> str | None:
    parentheses = re.search(r"\(([^()]{2,60})\)", heading)
    if parentheses and not _LIFE_DATES.search(parentheses[1]):
        return parentheses[1]
    asked, held = set(words(name)), set(words(heading))
    if not asked & set(words(heading)) and len(heading.split()) > _MAX_WORDS:
        return None
    at = heading.casefold().find(head.casefold())
    rest = heading[at + len(head) :].strip(" ,:;-–") if at == 0 else ""
    if rest and set(words(rest)) - asked and heading[len(head) : len(head) + 1] == ",":
        return rest
    return heading if held - asked and asked & held and len(heading.split()) <= _MAX_NAME_WORDS else None


def _behind(rest: str, name: str) -> str | None:
    """The descriptor that stands right behind a name: in parentheses, after a comma, or as "is a …"."""
    asked = set(words(name))
    parentheses = re.match(r"\s?\(\s?([^()]{2,60}?)\s?\)", rest)
    if parentheses and not _LIFE_DATES.search(parentheses[1]):
        return parentheses[1]
    place = re.match(rf"\s?, (?P<place>{_CAPITAL}(?: {_CAPITAL})?(?:\s?, {_CAPITAL}(?: {_CAPITAL})?)?)", rest)
    if place and not re.search(r"\d", place["place"]) and set(words(place["place"])) - asked:
        return _NEXT_SENTENCE.sub("", re.sub(r"\s+,", ",", place["place"]))
    phrase = _IS_A.match(re.sub(r"^\s?\([^)]*\)", "", rest))
    if phrase and set(words(phrase["what"])) - asked:
        where = _PLACE.search(rest)
        what = phrase["what"].strip()
        return what if where is None or where["place"].split(",")[0] in what else f"{what} in {where['place']}"
    return None


def _fuller_name(head: str, text: str) -> str | None:
    """A longer name at the beginning of the text that ends with the same word."""
    last = head.split()[-1]
    for match in _NAME.finditer(text[:_LEAD]):
        run = match.group().rstrip(".'’-")
        longer = set(words(run)) - set(words(head))
        plain = len(run.split()) <= _MAX_NAME_WORDS and not any(term[0].isdigit() for term in longer)
        if plain and longer and last in run.split():
            return run
    return None


def proper_terms(text: str) -> frozenset[str]:
    """Terms of the names and numbers of a text."""
    tokens = re.findall(r"\S+", text)
    inner = (token for before, token in pairwise(["", *tokens]) if token[:1].isupper() or token[:1].isdigit())
    return frozenset(term for token in inner for term in words(token))


def excerpt(sentence: str, kind: Kind, question: str, most: int) -> str:
    """At most so many words of a sentence, verbatim: those with the most of the question's terms and its values."""
    tokens = list(re.finditer(r"\S+", sentence))
    if len(tokens) <= most:
        return sentence
    asked = frozenset(words(question))
    held = [asked & frozenset(words(token.group())) for token in tokens]
    found = values(sentence, kind, question)
    at = sentence.find(found[0].text) if found and kind in {"date", "number", "name"} else -1

    def worth(first: int) -> tuple[float, int]:
        last = first + most - 1
        inside = at >= tokens[first].start() and at + len(found[0].text) <= tokens[last].end() if at >= 0 else False
        return len(frozenset().union(*held[first : last + 1])) + 1.5 * inside, -first

    first = max(range(len(tokens) - most + 1), key=worth)
    return sentence[tokens[first].start() : tokens[first + most - 1].end()]
