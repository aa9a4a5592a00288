"""The subject of a context, by rule: its entity, the descriptor that distinguishes it from others, its answer.

"Broken Bow, Oklahoma", "Bobby Carpenter (American football)" and "Araki Station is a railway station in Abiko" each
contain a surface name and a descriptor (COrg, section 2.1).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from preflight_rag.state.reading import ContextNote, Source
from preflight_rag.text.names import CAPITAL, NAME, Name, position, surface_name, tokens
from preflight_rag.text.sentences import sentence_spans
from preflight_rag.text.values import IS_A, asked_kind, values
from preflight_rag.text.words import STOP_WORDS, words

_SEPARATORS = re.compile(r"(?<!\s)\s++[-–—|:]\s++|(?>(?:(?<!\s)\s++)?)[|·]\s*+|:\s++")
_PARENTHESIS = re.compile(r"\s?\(\s?([^()]{2,80}?)\s?\)")
_APPOSITION = re.compile(r"\s?,\s(?:(?:in|near) )?((?:[^\W\d_a-zß-ÿ][\w'’.-]*[ ,]{0,2}){1,4})")
_DESCRIBING = re.compile(r"(?=[^a-z]*[A-Za-z]?[a-z]{2})[\w\s,.'’&/-]{3,60}")
_CAPITALISED = re.compile(r"(?:(?:[^\W\d_a-zß-ÿ][\w'’.-]*|\d+(?:st|nd|rd|th)?|of|the) ){1,4}")
_MOST_TERMS = 4
"""Most index terms of words before a name that describe it; a guess: more make a sentence."""
_ABBREVIATION = 5
"""Most letters of a parenthesis that may abbreviate the name before it; a guess."""
_RELATING = frozenset(
    {"for", "with", "and", "or", "by", "from", "on", "at", "to", "after", "during", "among", "between", "as", "vs"}
    | {"versus", "is", "are", "was", "how"}
)
_SECTIONS = STOP_WORDS | {
    "background", "introduction", "objective", "objectives", "aim", "aims", "purpose", "methods", "results",
    "conclusion", "conclusions", "although",
}  # fmt: skip
_SAME_THING = re.compile(
    r"(?:also|formerly|previously|known|called|or|aka|abbreviated|born|b\.|c\.|e\.g|i\.e|see|fig)\b", re.I
)
_TITLE_END = re.compile(r"[(,|:]|\s[-–—]\s")
_LEAD_END = re.compile(r"\s?[(,:]|\s(?:is|was|are|were)\s")
_LEAD = 60
"""Characters at a text's beginning that may contain its subject; a guess: half a line."""
# "Broken Bow - Wikipedia" says where the page is from, not which Broken Bow is meant.
_SITE = frozenset(words("wikipedia britannica encyclopedia free edit redirect disambiguation born pronounced com org"))
_PLACE = re.compile(rf"\bin (?:the )?(?P<place>{CAPITAL}(?:,? (?:of )?{CAPITAL})*)")
# "…, Nebraska. The": the first word of the next sentence has a capital, but is no part of the place.
_NEXT_SENTENCE = re.compile(r"[\s.](?:As|The|In|It|At|On|He|She|For)$|\.$")
_LIFE_DATES = re.compile(r"\d{3,4}\s?[-–—]|^\s*(?:born|b\.|c\.|died|/|\d{1,2}\s|[A-Z][a-z]+ \d|pronounced|[A-Z]{2,6}$)")
_OPENING = 240
"""Characters of a text's opening, about its first sentence; a guess."""
_MAX_NAME_WORDS = 7
"""Most words of a heading, or of a run of capitalised words, that may be a name; a guess."""
_MAX_WORDS = 10
"""Most words of a heading that shares none with the name and is read at all; a guess."""


@dataclass(frozen=True)
class NamedEntity:
    """An entity that a passage distinguishes from its namesakes: the descriptor's index terms and words."""

    words: frozenset[str]
    shown: str


def note_by_rule(question: str, source: Source) -> ContextNote:
    """Return the note of a context, from its title, opening and nearest sentence; it always has an answer."""
    name = surface_name(question)
    title = " ".join(source.title.split())
    # A context without the question's name is about something else, which its title names.
    holds = bool(name) and name.casefold() in f"{title} {source.text}".casefold()
    entity = own_name(name, title or heading_of(source.text)) if holds else _head(title) or name
    named = title if entity.casefold() in title.casefold() else ""
    descriptor = descriptor_of(entity, named, source.text) if entity else None
    return ContextNote(source.n, entity or f"context {source.n}", descriptor, answer_by_rule(question, source.text))


def own_name(name: str, heading: str) -> str:
    """Return the name in the question, shortened to the form that a text with this heading may use.

    For "Broken Bow, Nebraska" and the heading "Broken Bow, Oklahoma" that is "Broken Bow": the text is about a
    namesake.
    """
    first = _head(name)
    is_namesake = _head(heading).casefold() == first.casefold() and name.casefold() not in heading.casefold()
    return first if first and is_namesake else name


def answer_by_rule(question: str, text: str) -> str:
    """Return the value in the sentence nearest to the question; without a value, that sentence."""
    sentence = nearest_sentence(question, text)
    found = values(sentence, asked_kind(question), question)
    return found[0].text if found else sentence


def nearest_sentence(question: str, text: str) -> str:
    """Return the sentence that shares most with the question, preferring those with a value of the requested kind."""
    asked, kind = frozenset(words(question)), asked_kind(question)
    sentences = [text[slice(*span)].strip() for span in sentence_spans(text)] or [text.strip()]

    def nearness(i: int) -> tuple[bool, int, int]:
        """Return the sort key of a sentence; the nearest sentence has the largest key."""
        shared = len(asked.intersection(words(sentences[i])))
        return bool(values(sentences[i], kind, question)), shared, -i

    return sentences[max(range(len(sentences)), key=nearness)]


def _head(title: str) -> str:
    """Return a title up to its first bracket, comma, colon, bar or dash."""
    return re.split(r"\s?[(,:|]|\s[-–—]\s", title, maxsplit=1)[0].strip()


def heading_of(text: str) -> str:
    """Return the heading at a text's beginning, when the first sentence repeats the heading's first word.

    Return "" for any other text.
    """
    tokens = list(re.finditer(r"\S+", text[:_OPENING]))
    # "Mercury The planet Mercury is …" is text that lost its line breaks; its heading ends where the first word recurs.
    for i, token in enumerate(tokens[1:13], 1):
        after = tokens[i + 1].group() if i + 1 < len(tokens) else ""
        if token.group().strip(",") == tokens[0].group().strip(",") and len(token.group()) > 2:
            return text[: tokens[i - 1].end()]
        if token.group() == "The" and after == tokens[0].group():
            return text[: tokens[i - 1].end()]
    return ""


def descriptor_of(name: str, title: str, text: str) -> str | None:
    """Return the disambiguating descriptor of a name.

    It comes from the title, the text's heading, or the words after the name.
    """
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
    """Return what a heading adds to a name, e.g. `planet` of "Mercury (planet)"; None if it adds nothing."""
    # "Mercury (planet)" is the plainest form; "(1912–1954)" in the same place are dates of a life.
    parentheses = re.search(r"\(([^()]{2,60})\)", heading)
    if parentheses and not _LIFE_DATES.search(parentheses[1]):
        return parentheses[1]
    asked, terms = set(words(name)), set(words(heading))
    # A long heading without a word of the name is a sentence about something else.
    if not asked & terms and len(heading.split()) > _MAX_WORDS:
        return None
    at = heading.casefold().find(head.casefold())
    rest = heading[at + len(head) :].strip(" ,:;-–") if at == 0 else ""
    if rest and set(words(rest)) - asked and heading[len(head) : len(head) + 1] == ",":
        return rest
    return heading if terms - asked and asked & terms and len(heading.split()) <= _MAX_NAME_WORDS else None


def _behind(rest: str, name: str) -> str | None:
    """Return the descriptor that follows a name: in parentheses, after a comma, or as "is a …"."""
    asked = set(words(name))
    parentheses = re.match(r"\s?\(\s?([^()]{2,60}?)\s?\)", rest)
    if parentheses and not _LIFE_DATES.search(parentheses[1]):
        return parentheses[1]
    place = re.match(rf"\s?, (?P<place>{CAPITAL}(?: {CAPITAL})?(?:\s?, {CAPITAL}(?: {CAPITAL})?)?)", rest)
    if place and not re.search(r"\d", place["place"]) and set(words(place["place"])) - asked:
        return _NEXT_SENTENCE.sub("", re.sub(r"(?<!\s)\s++,", ",", place["place"]))
    phrase = IS_A.match(re.sub(r"^\s?\([^)]*\)", "", rest))
    if phrase and set(words(phrase["what"])) - asked:
        where = _PLACE.search(rest)
        what = phrase["what"].strip()
        return what if where is None or where["place"].split(",")[0] in what else f"{what} in {where['place']}"
    return None


def _fuller_name(head: str, text: str) -> str | None:
    """Return a longer name at the beginning of the text that ends with the same word."""
    last = head.split()[-1]
    for match in NAME.finditer(text[:_OPENING]):
        run = match.group().rstrip(".'’-")
        longer = set(words(run)) - set(words(head))
        plain = len(run.split()) <= _MAX_NAME_WORDS and not any(term[0].isdigit() for term in longer)
        if plain and longer and last in run.split():
            return run
    return None


def leading_names(title: str, text: str, question: Name) -> list[Name]:
    """Return the names before the descriptor in a title and in the text's opening that the question contains."""
    found = []
    for head in (tokens(_TITLE_END.split(title, maxsplit=1)[0]), tokens(_LEAD_END.split(text[:_LEAD], maxsplit=1)[0])):
        if any(token not in STOP_WORDS for token in head) and position(head, question) >= 0:
            found.append(head)
    return found


def named_entity(name: Name, title: str, text: str, asked: frozenset[str]) -> NamedEntity | None:
    """Return the entity of this name that the passage describes; None if the passage does not disambiguate it.

    Args:
        name: The surface name.
        title: The passage's title.
        text: The passage's text.
        asked: Index terms of the question; they describe nothing.
    """
    pattern = _pattern(name)
    if match := pattern.search(title):
        head = _SEPARATORS.split(title, maxsplit=1)[0]
        around = f"{title[: match.start()]} {head[match.end() :]}" if match.end() <= len(head) else ""
        found = _terms(around, name, asked)
        if 0 < len(found) <= _MOST_TERMS and not _RELATING & set(tokens(around)):
            return NamedEntity(found, head.strip())
    lead = pattern.search(text, 0, _LEAD)
    if lead and lead.group()[0].isupper() and _CAPITALISED.fullmatch(text, 0, lead.start()):
        found = _terms(text[: lead.start()], name, asked)
        if 0 < len(found) <= _MOST_TERMS and not _SECTIONS & set(tokens(text[: lead.start()])):
            return NamedEntity(found, text[: lead.end()].strip())
    for match in pattern.finditer(text):
        after = _PARENTHESIS.match(text, match.end()) or (
            _APPOSITION.match(text, match.end()) if match.start() <= _LEAD else None
        )
        if after and _describes(after[1], name) and (found := _terms(after[1], name, asked)):
            return NamedEntity(found, text[match.start() : after.end()].strip(" ,"))
    return None


def _pattern(name: Name) -> re.Pattern[str]:
    """Return a pattern that finds a name as whole words."""
    return re.compile(r"(?<!\w)" + r"\W{1,2}".join(map(re.escape, name)) + r"(?!\w)", re.I)


def _describes(aside: str, name: Name) -> bool:
    """Return whether a parenthesis contains a descriptor, and not dates of life, figures, or a synonym."""
    # A single year distinguishes films of one name; two years are dates of a life.
    if re.fullmatch(r"[12]\d{3}", aside):
        return True
    if not _DESCRIBING.fullmatch(aside) or len(re.findall(r"\d{3,4}", aside)) > 1 or _SAME_THING.match(aside):
        return False
    # "(BB)" behind "Broken Bow" abbreviates it; "(Ohio)" is as short and describes it.
    abbreviates = aside[0].isupper() and len(aside) <= _ABBREVIATION and aside[0].casefold() == name[0][0]
    return " " in aside or not abbreviates


def _terms(descriptor: str, name: Name, asked: frozenset[str]) -> frozenset[str]:
    """Return the index terms of a descriptor, without those of the name, the question and web sites' titles."""
    return frozenset(words(descriptor)) - asked - _SITE - frozenset(words(" ".join(name)))
