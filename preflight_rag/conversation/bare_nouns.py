"""Bare nouns of a follow-up, and what they belong to: "the repair" after a question about the boiler is the boiler's.

Only nouns that mean nothing alone are completed, and only where the question before names the one thing that they can
be of: the price of another repair would be a wrong answer.
"""

from __future__ import annotations

import re

from preflight_rag.conversation.document_kinds import KINDS

_PREPOSITIONS_OF_NOUNS = {
    "repair": "of", "repairs": "of", "restoration": "of", "renovation": "of", "refurbishment": "of",
    "replacement": "of",
    "damage": "to", "work": "on", "fault": "in", "leak": "in", "report": "on", "meeting": "of",
}  # fmt: skip
"""Nouns that belong to a thing, and the preposition between the noun and the thing: "the repair of the boiler"."""
_DEPENDENT_NOUN = re.compile(rf"\bthe (?P<noun>{'|'.join(_PREPOSITIONS_OF_NOUNS)})\b(?!['’-])", re.I)
_WORD_BEHIND_SUBJECT = re.compile(
    r"(?:\w{2,20}ed|costs?|takes?|lasts?|starts?|begins?|ends?|needs?|helps?|works?|succeeds?|fails?|includes?|covers?"
    r"|says?|mentions?|be|been|done|made|paid|begun|found|written|sent|held|agreed|necessary|expensive|urgent|worth"
    r"|successful|bad|serious|over|due|again|then|yet)",
    re.I,
)
"""A word that may follow the subject of a question; another noun would make a compound of it: "the repair bill"."""
_TIME_PHRASE = re.compile(r"(?:(?:in|on|during|since|by|at|until) (?:[A-Z]\w+ )?\d[\w./:-]*|last \w+)", re.I)
_OTHER_DETERMINER = re.compile(r"\b(?:our|your|my|his|her|their|its|this|that|these|those|an?|it|he|she|they)\b", re.I)
_CAPITAL_INSIDE_SENTENCE = re.compile(r"(?<=\s)[A-Z]")
_ASKS_ABOUT_TROUBLE = re.compile(
    r"\b(?:wrong|happen\w*|br[eo]ke\w*|broken|fault\w*|fail\w*|leak\w*|crack\w*|damag\w*|collision|collid\w+|accident"
    r"|crash\w*|repair\w*|mend\w*|restor\w+|condition|matter with|problems?|out of order|stop(?:ped)? working"
    r"|hit|sank|sunk)\b",
    re.I,
)
"""A question about something that is broken or happened to a thing, which is then repaired."""
_ASKS_ABOUT_INSPECTION = re.compile(
    r"\b(?:find|found|inspect\w*|examin\w+|survey(?:ed)?|assess\w*|investigat\w+|happen\w*|wrong|collision|accident)\b",
    re.I,
)
"""A question about an inspection or an accident, on which reports are written."""
_BODY_DECIDES = re.compile(
    r"\b(?:do|does|did|has|have) (?P<body>(?:the|our) (?:[\w-]+ ){0,2}?(?:trustees|committee|board|council|governors"
    r"|directors|members|shareholders|jury|panel)) (?:\w+ )?(?:decide|agree|discuss|vote|approve|refuse|reject|resolve"
    r"|choose|elect|say)",
    re.I,
)
"""A question what a body such as the trustees decided, which it did at a meeting."""
_NEVER_REPAIRED = re.compile(
    rf"(?:{KINDS}|trial|group|arm|team|committee|board|council|club|meeting|event|party|fair|festival|show|concert|talk|visit"
    r"|drill|inspection|conference|workshop|ceremony|match|game|election|trip|tour|exhibition|dinner|supper|lunch|price|costs?|rent|fee|date|time|year|day"
    r"|week|month|name|number|amount|size|age|salary|vote|decision|agreement|deadline|question|answer|result|capital)",
    re.I,
)
"""Things that nobody repairs, cleans or treats."""


def match_bare_noun(message: str) -> re.Match[str] | None:
    """Return the match of a noun whose thing a message leaves out: "the repair" of "How much did the repair cost?".

    The result is None if the message has no such noun, or also names the thing, or somebody: "the repair of our boat".
    """
    match = _DEPENDENT_NOUN.search(message)
    if match is None or len(re.findall(r"\bthe\b", message, re.I)) > 1:
        return None
    behind = message[match.end() :].strip(" ?.!")
    before = message[: match.start()]
    # Another noun behind it makes a compound: "the repair bill".
    ends_phrase = not behind or _WORD_BEHIND_SUBJECT.fullmatch(behind.split()[0]) or _TIME_PHRASE.fullmatch(behind)
    # "the work of Ada Byron" and "What did Ada say of the work" name what they are about.
    has_name = _CAPITAL_INSIDE_SENTENCE.search(before) or _CAPITAL_INSIDE_SENTENCE.search(behind)
    return match if ends_phrase and not has_name and not _OTHER_DETERMINER.search(message) else None


def body_that_decided(question: str) -> str:
    """Return the body whose decision a question is about, "the trustees" of "What did the trustees decide?"; or ""."""
    match = _BODY_DECIDES.search(question)
    return match["body"] if match else ""


def add_owner_of_noun(message: str, bare_noun: re.Match[str], thing: str, last_question: str) -> str:
    """Return a message with the thing that its bare noun belongs to: "How much did the repair of the boiler cost?".

    The message stays as it is if the thing is unclear or of a kind that nobody repairs, such as a price. A thing with a
    name of its own must be one that something happened to, the thing of a report one that was inspected, and the owner
    of a meeting a body that decided something.
    """
    word = bare_noun["noun"].casefold()
    if word == "meeting":
        thing = body_that_decided(last_question)
    is_common_noun = re.match(r"(?:the|our|your|my) ", thing, re.I) is not None
    is_never_repaired = is_common_noun and _NEVER_REPAIRED.fullmatch(_head_noun(thing)) is not None
    is_likely_owner = is_common_noun or _ASKS_ABOUT_TROUBLE.search(last_question) is not None
    if word == "report":
        is_likely_owner = _ASKS_ABOUT_INSPECTION.search(last_question) is not None
    if not thing or not is_likely_owner or (is_never_repaired and word != "meeting"):
        return message
    if _head_noun(thing) == word:
        # The question before spoke of "the last repair of the boiler".
        return f"{message[: bare_noun.start()]}{thing}{message[bare_noun.end() :]}"
    return f"{message[: bare_noun.end()]} {_PREPOSITIONS_OF_NOUNS[word]} {thing}{message[bare_noun.end() :]}"


def _head_noun(thing: str) -> str:
    """Return the noun that a phrase is about: "repair" of "the last repair of the boiler"; "" for an empty phrase."""
    if not thing:
        return ""
    noun_phrase = re.split(r" (?:of|in|to|on|for) ", thing, maxsplit=1)[0]
    return noun_phrase.split()[-1].casefold()
