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

_TITLE_SEPARATORS = re.compile(r"(?<!\s)\s++[-–—|:]\s++|(?>(?:(?<!\s)\s++)?)[|·]\s*+|:\s++")
_PARENTHESIS = re.compile(r"\s?\(\s?([^()]{2,80}?)\s?\)")
_APPOSITION = re.compile(r"\s?,\s(?:(?:in|near) )?((?:[^\W\d_a-zß-ÿ][\w'’.-]*[ ,]{0,2}){1,4})")
_DESCRIPTOR_FORM = re.compile(r"(?=[^a-z]*[A-Za-z]?[a-z]{2})[\w\s,.'’&/-]{3,60}")
_CAPITALISED_WORDS = re.compile(r"(?:(?:[^\W\d_a-zß-ÿ][\w'’.-]*|\d+(?:st|nd|rd|th)?|of|the) ){1,4}")
_MAX_DESCRIPTOR_TERMS = 4
"""Largest number of index terms before a name that describe it; a guess: more make a sentence."""
_MAX_ABBREVIATION_LETTERS = 5
"""Largest number of letters of a parenthesis that may abbreviate the name before it; a guess."""
_RELATING_WORDS = frozenset(
    {"for", "with", "and", "or", "by", "from", "on", "at", "to", "after", "during", "among", "between", "as", "vs"}
    | {"versus", "is", "are", "was", "how"}
)
_SECTION_HEADINGS = STOP_WORDS | {
    "background", "introduction", "objective", "objectives", "aim", "aims", "purpose", "methods", "results",
    "conclusion", "conclusions", "although",
}  # fmt: skip
_INTRODUCES_SYNONYM = re.compile(
    r"(?:also|formerly|previously|known|called|or|aka|abbreviated|born|b\.|c\.|e\.g|i\.e|see|fig)\b", re.I
)
_TITLE_END = re.compile(r"[(,|:]|\s[-–—]\s")
_LEAD_END = re.compile(r"\s?[(,:]|\s(?:is|was|are|were)\s")
_LEAD_CHARACTERS = 60
"""Number of characters at a text's beginning that may contain its subject; a guess: half a line."""
# "Broken Bow - Wikipedia" says where the page is from, not which Broken Bow is meant.
_SITE_TERMS = frozenset(
    words("wikipedia britannica encyclopedia free edit redirect disambiguation born pronounced com org")
)
_PLACE = re.compile(rf"\bin (?:the )?(?P<place>{CAPITAL}(?:,? (?:of )?{CAPITAL})*)")
# "…, Nebraska. The": the first word of the next sentence has a capital, but is no part of the place.
_NEXT_SENTENCE = re.compile(r"[\s.](?:As|The|In|It|At|On|He|She|For)$|\.$")
_LIFE_DATES = re.compile(r"\d{3,4}\s?[-–—]|^\s*(?:born|b\.|c\.|died|/|\d{1,2}\s|[A-Z][a-z]+ \d|pronounced|[A-Z]{2,6}$)")
_AFTER_NAME_CHARACTERS = 160
"""Number of characters after a name that may have its descriptor; a guess."""
_OPENING_CHARACTERS = 240
"""Number of characters of a text's opening, about its first sentence; a guess."""
_MAX_NAME_WORDS = 7
"""Largest number of words of a heading, or of a run of capitalised words, that may be a name; a guess."""
_MAX_HEADING_WORDS = 10
"""Largest number of words of a heading without a word of the name that may still have a descriptor; a guess."""


@dataclass(frozen=True)
class NamedEntity:
    """An entity that a passage distinguishes from its namesakes.

    Attributes:
        words: The index terms of its descriptor.
        shown: Its name and descriptor as they stand in the passage.
    """

    words: frozenset[str]
    shown: str


def note_by_rule(question: str, source: Source) -> ContextNote:
    """Return the note of a context, from its title, opening and the sentence nearest to the question.

    The note always has an answer; its entity is the question's name, else that of the title, else "context N".
    """
    name = surface_name(question)
    title = " ".join(source.title.split())
    # A context without the question's name is about something else, which its title names.
    contains_name = bool(name) and name.casefold() in f"{title} {source.text}".casefold()
    entity = own_name(name, title or heading_of(source.text)) if contains_name else _before_separator(title) or name
    title_with_name = title if entity.casefold() in title.casefold() else ""
    descriptor = descriptor_of(entity, title_with_name, source.text) if entity else None
    return ContextNote(source.n, entity or f"context {source.n}", descriptor, answer_by_rule(question, source.text))


def own_name(name: str, heading: str) -> str:
    """Return the question's name, without its descriptor if the heading names a namesake.

    For "Broken Bow, Nebraska" and the heading "Broken Bow, Oklahoma" that is "Broken Bow".
    """
    bare_name = _before_separator(name)
    is_namesake = (
        _before_separator(heading).casefold() == bare_name.casefold() and name.casefold() not in heading.casefold()
    )
    return bare_name if bare_name and is_namesake else name


def answer_by_rule(question: str, text: str) -> str:
    """Return the value of the asked kind in the sentence nearest to the question; without one, that sentence."""
    sentence = nearest_sentence(question, text)
    candidates = values(sentence, asked_kind(question), question)
    return candidates[0].text if candidates else sentence


def nearest_sentence(question: str, text: str) -> str:
    """Return the sentence that shares most words with the question; one with a value of the asked kind goes first."""
    question_terms, kind = frozenset(words(question)), asked_kind(question)
    sentences = [text[slice(*span)].strip() for span in sentence_spans(text)] or [text.strip()]

    def nearness(i: int) -> tuple[bool, int, int]:
        """Return the sort key of a sentence by its index; the first of the nearest sentences has the largest key."""
        shared = len(question_terms.intersection(words(sentences[i])))
        return bool(values(sentences[i], kind, question)), shared, -i

    return sentences[max(range(len(sentences)), key=nearness)]


def _before_separator(title: str) -> str:
    """Return a title up to its first bracket, comma, colon, bar or dash."""
    return re.split(r"\s?[(,:|]|\s[-–—]\s", title, maxsplit=1)[0].strip()


def heading_of(text: str) -> str:
    """Return the heading at a text's beginning, if the text behind it repeats its first word; else "".

    "Mercury The planet Mercury is …" has lost its line breaks; its heading ends where its first word is repeated.
    """
    tokens = list(re.finditer(r"\S+", text[:_OPENING_CHARACTERS]))
    # The first word is looked for among the next twelve.
    for i, token in enumerate(tokens[1:13], 1):
        after = tokens[i + 1].group() if i + 1 < len(tokens) else ""
        if token.group().strip(",") == tokens[0].group().strip(",") and len(token.group()) > 2:
            return text[: tokens[i - 1].end()]
        if token.group() == "The" and after == tokens[0].group():
            return text[: tokens[i - 1].end()]
    return ""


def descriptor_of(name: str, title: str, text: str) -> str | None:
    """Return the disambiguating descriptor of a name; None without one.

    It comes from the title, else the text's heading, else the words after the name, else a longer name in the opening.
    """
    bare_name = re.split(r"[,(]", name)[0].strip()
    if not bare_name:
        return None
    for heading in (title, heading_of(text)):
        if heading.strip() and (descriptor := _descriptor_in_heading(bare_name, name, " ".join(heading.split()))):
            return descriptor
    spaced = r"\s+".join(map(re.escape, bare_name.split()))
    for match in re.finditer(spaced, text, re.I):
        if descriptor := _descriptor_after(text[match.end() : match.end() + _AFTER_NAME_CHARACTERS], name):
            return descriptor
    return _longer_name(bare_name, text)


def _descriptor_in_heading(head: str, name: str, heading: str) -> str | None:
    """Return the descriptor that a heading adds to a name: "planet" of "Mercury (planet)"; None if it adds nothing.

    It is the heading's parenthesis, else the words behind the name and a comma, else a short heading as a whole. `head`
    is the name up to its first comma or bracket; words of the whole name describe nothing.
    """
    # "Mercury (planet)" is the plainest form; "(1912–1954)" in the same place are dates of a life.
    parentheses = re.search(r"\(([^()]{2,60})\)", heading)
    if parentheses and not _LIFE_DATES.search(parentheses[1]):
        return parentheses[1]
    name_terms, terms = set(words(name)), set(words(heading))
    # A long heading without a word of the name is a sentence about something else.
    if not name_terms & terms and len(heading.split()) > _MAX_HEADING_WORDS:
        return None
    start = heading.casefold().find(head.casefold())
    behind = heading[start + len(head) :].strip(" ,:;-–") if start == 0 else ""
    if behind and set(words(behind)) - name_terms and heading[len(head) : len(head) + 1] == ",":
        return behind
    return heading if terms - name_terms and name_terms & terms and len(heading.split()) <= _MAX_NAME_WORDS else None


def _descriptor_after(text: str, name: str) -> str | None:
    """Return the descriptor in the text after a name: in parentheses, after a comma, or as "is a …"; else None."""
    name_terms = set(words(name))
    parentheses = re.match(r"\s?\(\s?([^()]{2,60}?)\s?\)", text)
    if parentheses and not _LIFE_DATES.search(parentheses[1]):
        return parentheses[1]
    place_match = re.match(rf"\s?, (?P<place>{CAPITAL}(?: {CAPITAL})?(?:\s?, {CAPITAL}(?: {CAPITAL})?)?)", text)
    if place_match and not re.search(r"\d", place_match["place"]) and set(words(place_match["place"])) - name_terms:
        return _NEXT_SENTENCE.sub("", re.sub(r"(?<!\s)\s++,", ",", place_match["place"]))
    phrase = IS_A.match(re.sub(r"^\s?\([^)]*\)", "", text))
    if phrase and set(words(phrase["what"])) - name_terms:
        where = _PLACE.search(text)
        what = phrase["what"].strip()
        return what if where is None or where["place"].split(",")[0] in what else f"{what} in {where['place']}"
    return None


def _longer_name(head: str, text: str) -> str | None:
    """Return a longer name in a text's opening that has the last word of a name; None without one."""
    last = head.split()[-1]
    for match in NAME.finditer(text[:_OPENING_CHARACTERS]):
        candidate = match.group().rstrip(".'’-")
        further_terms = set(words(candidate)) - set(words(head))
        may_be_name = len(candidate.split()) <= _MAX_NAME_WORDS and not any(term[0].isdigit() for term in further_terms)
        if may_be_name and further_terms and last in candidate.split():
            return candidate
    return None


def leading_names(title: str, text: str, question: Name) -> list[Name]:
    """Return the names at the beginning of a title and of its text that the question contains."""
    names = []
    for head in (
        tokens(_TITLE_END.split(title, maxsplit=1)[0]),
        tokens(_LEAD_END.split(text[:_LEAD_CHARACTERS], maxsplit=1)[0]),
    ):
        if any(token not in STOP_WORDS for token in head) and position(head, question) >= 0:
            names.append(head)
    return names


def named_entity(name: Name, title: str, text: str, question_terms: frozenset[str]) -> NamedEntity | None:
    """Return the entity of a name that a passage distinguishes from its namesakes; None if it does not.

    Args:
        name: The surface name.
        title: The passage's title.
        text: The passage's text.
        question_terms: Index terms of the question, which describe nothing.
    """
    pattern = _pattern(name)
    # A descriptor beside the name in the title: "Mercury planet - Wikipedia".
    if match := pattern.search(title):
        head = _TITLE_SEPARATORS.split(title, maxsplit=1)[0]
        text_around = f"{title[: match.start()]} {head[match.end() :]}" if match.end() <= len(head) else ""
        terms = _descriptor_terms(text_around, name, question_terms)
        if 0 < len(terms) <= _MAX_DESCRIPTOR_TERMS and not _RELATING_WORDS & set(tokens(text_around)):
            return NamedEntity(terms, head.strip())
    # Capitalised words before the name at the beginning of the text.
    lead = pattern.search(text, 0, _LEAD_CHARACTERS)
    if lead and lead.group()[0].isupper() and _CAPITALISED_WORDS.fullmatch(text, 0, lead.start()):
        terms = _descriptor_terms(text[: lead.start()], name, question_terms)
        if 0 < len(terms) <= _MAX_DESCRIPTOR_TERMS and not _SECTION_HEADINGS & set(tokens(text[: lead.start()])):
            return NamedEntity(terms, text[: lead.end()].strip())
    # A parenthesis behind the name, or, near the beginning, words behind a comma.
    for match in pattern.finditer(text):
        after = _PARENTHESIS.match(text, match.end()) or (
            _APPOSITION.match(text, match.end()) if match.start() <= _LEAD_CHARACTERS else None
        )
        if after and _is_descriptor(after[1], name) and (terms := _descriptor_terms(after[1], name, question_terms)):
            return NamedEntity(terms, text[match.start() : after.end()].strip(" ,"))
    return None


def _pattern(name: Name) -> re.Pattern[str]:
    """Return a pattern that matches a name as whole words, in any case."""
    return re.compile(r"(?<!\w)" + r"\W{1,2}".join(map(re.escape, name)) + r"(?!\w)", re.I)


def _is_descriptor(text: str, name: Name) -> bool:
    """Return whether a parenthesis is a descriptor, and not dates of a life, figures, a synonym or an abbreviation."""
    # A single year distinguishes films of one name; two years are dates of a life.
    if re.fullmatch(r"[12]\d{3}", text):
        return True
    if not _DESCRIPTOR_FORM.fullmatch(text) or len(re.findall(r"\d{3,4}", text)) > 1 or _INTRODUCES_SYNONYM.match(text):
        return False
    # "(BB)" behind "Broken Bow" abbreviates it; "(Ohio)" is as short and describes it.
    abbreviates = text[0].isupper() and len(text) <= _MAX_ABBREVIATION_LETTERS and text[0].casefold() == name[0][0]
    return " " in text or not abbreviates


def _descriptor_terms(descriptor: str, name: Name, question_terms: frozenset[str]) -> frozenset[str]:
    """Return the index terms of a descriptor without those of the name, of the question and of web sites' names."""
    return frozenset(words(descriptor)) - question_terms - _SITE_TERMS - frozenset(words(" ".join(name)))
