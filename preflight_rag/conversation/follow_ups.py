"""Follow-up questions by rule: a message that depends on earlier questions becomes one that stands alone."""

from __future__ import annotations

import re
from collections.abc import Sequence

from preflight_rag.conversation.intents import ORDINALS
from preflight_rag.state.reading import Earlier
from preflight_rag.state.schema import EarlierState
from preflight_rag.state.values import Citation
from preflight_rag.text.citations import without_marks
from preflight_rag.text.words import words

_PREPOSITIONS = "in|of|for|at|on|with|after|during|among|from|under|to|by"
_LEAD_IN = re.compile(r"(?:(?:ok(?:ay)?|and|but|so|or|then|also|what about|how about)\b[\s,]*)+", re.I)
_CLAUSE = re.compile(
    rf"(?:(?:{_PREPOSITIONS})\s+)?(?:who|whom|whose|what|when|where|which|why|how)\b"
    r"|(?:is|are|was|were|do|does|did|can|could|will|would|should|has|have|had|may|must)\b"
    r"|(?:tell|explain|describe|list|give|compare|name|define|show|summari[sz]e)\b",
    re.I,
)
_DEFINITION = re.compile(r"(?:(?:what|who|where)(?:['’]s| is| are| was| were)|define|explain|describe) (?!the\b)", re.I)
_PRONOUN = re.compile(
    r"\b(?:its?|they|them|their|theirs|he|she|his|hers?|him|this|these|those|itself|themselves)\b"
    r"|\b(?:is|was|does|did|about|like|than|why) that\b|\bthere\W*$"
    r"|\bthe (?:former|latter|same|others?)\b|\b(?:the|which) (?:\w+ )?ones?\b",
    re.I,
)
_OF_NOTHING = re.compile(
    r"(?:which|what|how many|how much)(?: [a-z-]+){1,4} (?:was|were)(?: (?:not|also|mainly|actually|finally))?"
    r" (?:[a-z]+ed|given|taken|shown|seen|found|made|done|chosen|held|lost|left|kept|built|set)\W*$"
)
"""What was done, of nothing that is named: "which dose was given?", "how many women were included?". Lower case alone,
since a name says of what."""
_IMPERSONAL = re.compile(r"\bit (?:takes?\b|rains?\b|snows?\b|\w+ (?:to|that)\b)", re.I)
_PEOPLE = re.compile(
    r"\b(?:adults?|child(?:ren)?|kids|infants?|bab(?:y|ies)|newborns?|toddlers?|teenagers?|adolescents?|(?:wo)?m[ae]n"
    r"|pregnan\w+|elderly|seniors?|patients|people|mice|rats|animals|dogs|cats)\b",
    re.I,
)
_ARM = re.compile(
    r"\b(?:groups?|arms?|placebo|controls?|(?:usual|standard) care|sham|comparators?|treated|untreated)\b", re.I
)
"""Words for the arms of a trial: a fragment that names another arm takes the place of one, whatever its preposition."""
_COMPARED = re.compile(r"\b(?:placebo|sham|usual care|standard care)\b(?! (?:group|arm))", re.I)
"""What an arm is compared with, where it stands for its patients: "of placebo patients"."""
_NAME_AT_END = re.compile(r"(?<=[a-z] )(?>(?:[A-Z0-9][\w-]*+ ){0,20})[A-Z0-9][\w-]*+$")


_PLACE = "first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|last|[1-9]\\d?(?:st|nd|rd|th)"
_COUNT = r"(?:(?:no\.?|number|#)\s*)?\[?([1-9]\d?|one|two|three|four|five|six|seven|eight|nine|ten)\]?(?!\w)"
_SOURCE = re.compile(
    rf"\b(?:the\s+|your\s+)?({_PLACE})\s+(?:source|citation|reference|footnote)\b"
    rf"|\b(?:the\s+)?({_PLACE})\s+(?:document|paper|study|article|passage|file)\b"
    r"(?!\s+(?:on|of|to|that|which|about|in|by|ever|for|with|from|was|were|is|are)\b)"
    rf"|\b(?:source|citation|reference|footnote)\s+{_COUNT}|\[([1-9]\d?)\]",
    re.I,
)
_ANSWER = re.compile(
    rf"\bthe\s+({_PLACE})\s+(?:one|answer|group|of (?:them|these|those))\b|\bthe\s+(former|latter)\b", re.I
)


def resolve_places(message: str, earlier: Earlier) -> tuple[str, tuple[int, ...]]:
    """Replace references by place ("the second source") with the source's title or the answer's name.

    Returns:
        The message, and the numbers of the sources that were named.
    """
    by_number = {source.n: source.title or source.source for source in earlier.sources}
    named: list[int] = []

    def titled(match: re.Match[str]) -> str:
        place = next(filter(None, match.groups()))
        number = _number({"former": "first", "latter": "last"}.get(place.lower(), place), len(by_number))
        if not by_number.get(number):
            return match[0]
        named.append(number)
        return f'"{by_number[number]}"'

    def labelled(match: re.Match[str]) -> str:
        number = 1 if (match[2] or "").lower() == "former" else _number(match[1] or "last", len(earlier.groups))
        return earlier.groups[number - 1][0] if 0 < number <= len(earlier.groups) else match[0]

    text = _SOURCE.sub(titled, message) if by_number else message
    if len(earlier.groups) > 1:
        text = _ANSWER.sub(labelled, text)
    elif len(by_number) > 1:
        text = _ANSWER.sub(titled, text)
    return text, tuple(dict.fromkeys(named))


def names_by_place(message: str) -> bool:
    """Return whether a message refers to a source or an answer by its place in the last answer."""
    return bool(_SOURCE.search(message) or _ANSWER.search(message))


def _number(text: str, last: int) -> int:
    number = ORDINALS.get(text.lower()) or int(re.sub(r"\D", "", text))
    return last if number == -1 else number


def standalone(message: str, earlier: Sequence[str]) -> str:
    """Return the message as a question of its own, completed from the questions before it.

    A clause that points back ("why do they differ?") is put behind the question it points to, and behind the clause
    between them if there is one; a fragment ("and in children?") takes the place of what it replaces.
    """
    core, clause, spoken = "", "", ""
    for turn in (" ".join(text.split()) for text in [*earlier, message]):
        rest = _LEAD_IN.sub("", turn, count=1) if _LEAD_IN.match(turn) else turn
        if not core or _stands_alone(rest):
            core, clause, spoken = turn, "", turn
        elif _CLAUSE.match(rest) or not (replaced := _replaced(clause or core, rest)):
            spoken = " ".join(part for part in (core, clause, turn) if part)
            clause = turn
        else:
            core, clause = (core, replaced) if clause else (replaced, "")
            spoken = f"{core} {clause}".strip()
    return spoken


def _stands_alone(text: str) -> bool:
    """Return whether a message names its own subject."""
    if _OF_NOTHING.match(text[:1].lower() + text[1:]):
        return False
    personal = _IMPERSONAL.sub(" ", text)
    pointer = _PRONOUN.search(personal)
    if pointer and (len(words(personal[: pointer.start()])) < 2 or not words(personal[pointer.end() :])):
        return False
    content = len(words(text))
    if not _CLAUSE.match(text):
        return content >= 4
    return content >= 2 or (content == 1 and _DEFINITION.match(text) is not None)


def _replaced(question: str, fragment: str) -> str:
    """Return the question with the fragment in place of the part that it replaces.

    "" where there is no such part.
    """
    stem, fragment = question.rstrip(" ?.!"), fragment.rstrip(" ?.!")
    phrase = re.match(rf"(.*)\b({_PREPOSITIONS})\s+(.+)$", stem, re.I)
    alike = phrase is not None and bool(_PEOPLE.search(phrase[3])) and bool(_PEOPLE.search(fragment))
    new = re.match(rf"({_PREPOSITIONS})\s", fragment, re.I)
    arm = _COMPARED.search(stem)
    if new and arm and arm.end() < len(stem) and new[1].lower() in ("with", "on", "for") and "group" not in fragment:
        return f"{stem[: arm.start()]}{fragment[new.end() :]}{stem[arm.end() :]}?"
    if new:
        arms = phrase is not None and bool(_ARM.search(phrase[3]) or (_ARM.search(fragment) and new[1] == phrase[2]))
        swap = phrase is not None and (alike or arms or phrase[2].casefold() == new[1].casefold())
        return f"{phrase[1] if phrase and swap else stem + ' '}{fragment}?"
    if phrase and alike:
        return f"{phrase[1]}{phrase[2]} {fragment}?"
    name = _NAME_AT_END.search(stem)
    if name and fragment[:1].isupper():
        return f"{stem[: name.start()]}{fragment}?"
    return ""


def repeats(citations: Sequence[Citation], answer: str, earlier: EarlierState | None) -> bool:
    """Return whether an answer repeats the last one: it begins with the same words, from the same quote."""
    if not earlier or not earlier["citations"] or not citations:
        return False
    same_quote = citations[0].quote == earlier["citations"][0]["quote"]
    return same_quote and _headline(answer) == _headline(earlier["answer"])


def shown_again(citations: Sequence[Citation], earlier: EarlierState) -> str:
    """Return what to show in place of a repeated answer: the quotes not shown before, if there are any."""
    shown = {citation["quote"] for citation in earlier["citations"]}
    new = [citation for citation in citations if citation.verified and citation.quote not in shown]
    kept = (new or list(citations))[:MOST_QUOTES]
    quotes = "\n\n".join(f"“{without_marks(' '.join(each.quote.split()))}” [{each.n}]" for each in kept)
    return f"{AGAIN}\n\n{quotes}"


def _headline(answer: str) -> str:
    first = next((line for line in without_marks(answer).splitlines() if line.strip()), "")
    return first.strip(" *_.").casefold()


AGAIN = (
    "This leads to the same place as the question before, so it is no answer to this one. Ask it as a whole question, "
    "with what it is about; closest is:"
)
MOST_QUOTES = 3
"""Quotes that are shown beside that; a guess."""
