"""What "one" of a follow-up stands for: "a new one", "which one", "the Norwegian one" after what was spoken of."""

from __future__ import annotations

import re

ANOTHER_ONE = r"\b(?:another|an? [a-z]+) one\b(?! (?:hour|day|week|month|year|way|time|off|of)\b|-)"
"""Another thing of the kind that was spoken of: "a new one", not "a whole one hour"."""
_ANOTHER_ONE = re.compile(ANOTHER_ONE, re.I)
_WHICH_OF_THESE = re.compile(r"which (?:ones?|of (?:them|these|those))\b(?! (?:of|in|for|with)\b)", re.I)
_WHO_MADE = re.compile(
    r"who (?:has |have |had )?(?:made|sent|submitted|gave|drew|wrote|offered|proposed|put in|handed in)"
    r" (?:the|an?) (?P<noun>[a-z]+)(?P<of>(?: (?:for|of|to|on|from) (?:the |our |a )?[\w'’ -]+)?)",
    re.I,
)
"""A question who made one of several things, of which one may then be chosen: "Who made an offer for the quay"."""
_PLURAL_ENDING = re.compile(r"(?<![sui])s$")
_ONE_OF_KIND = re.compile(r"(?:of |for |with |in )?(?:the|an?) (?P<new>[\w-]+) ones?", re.I)
_CAPITALISED_KIND = re.compile(r"\b(?:the|our) (?P<old>[A-Z][\w-]+)(?= [a-z])")
_KIND_AT_END = re.compile(r"\b(?:of|for|in) (?:the|our) (?P<old>[a-z-]+)(?= [a-z-]+$)")


def asks_for_another(message: str) -> bool:
    """Return whether a message speaks of another thing, without naming its kind: "a new one"."""
    return _ANOTHER_ONE.search(message) is not None


def replace_one_with_kind(message: str, thing: str) -> str:
    """Return "How much is a new boiler?" for "How much is a new one?" after "the boiler in the hall".

    The message is returned unchanged if it speaks of no "new one", or if the thing has no determiner such as "the".
    """
    another = _ANOTHER_ONE.search(message)
    if another is None or not re.match(r"(?:the|our|your|my) ", thing, re.I):
        return message
    kind = re.split(r" (?:of|in|on|for) ", thing, maxsplit=1)[0].split()[-1]
    return f"{message[: another.end() - len('one')]}{kind}{message[another.end() :]}"


def asks_which_of_these(message: str) -> bool:
    """Return whether a message asks which of several things just spoken of: "Which one did they choose?"."""
    return _WHICH_OF_THESE.search(message) is not None


def complete_which_one(message: str, question: str) -> str:
    """Return "Which offer for the quay did they choose?" for "Which one did they choose?"; other messages unchanged.

    The question before must ask who made one of several things: "Who made an offer for the quay?".
    """
    which_one, asks_who_made = _WHICH_OF_THESE.match(message), _WHO_MADE.fullmatch(question.rstrip(" ?.!"))
    if which_one is None or asks_who_made is None:
        return message
    which, noun = which_one[0].split()[0], _PLURAL_ENDING.sub("", asks_who_made["noun"])
    return f"{which} {noun}{asks_who_made['of']}{message[which_one.end() :]}"


def replace_kind(question: str, fragment: str) -> str:
    """Return a question with the kind of "the Norwegian one" in place of that of "the Swedish krona"; else ""."""
    new_kind, old = kind_in_fragment(question, fragment), _match_replaced_kind(question, fragment)
    return f"{question[: old.start('old')]}{new_kind}{question[old.end('old') :]}?" if old else ""


def kind_in_fragment(question: str, fragment: str) -> str:
    """Return "Norwegian" for the fragment "the Norwegian one", if the question has one kind to replace; else ""."""
    match = _ONE_OF_KIND.fullmatch(fragment)
    return match["new"] if match and _match_replaced_kind(question, fragment) else ""


def _match_replaced_kind(question: str, fragment: str) -> re.Match[str] | None:
    """Return the only kind in a question that "the Norwegian one" may replace; None where there is none, or several.

    A word without a capital may stand for another part of the question than a kind, unless the thing is at its end.
    """
    match = _ONE_OF_KIND.fullmatch(fragment)
    if match is None:
        return None
    pattern = _CAPITALISED_KIND if match["new"][:1].isupper() else _KIND_AT_END
    old_kinds = list(pattern.finditer(question))
    return old_kinds[0] if len(old_kinds) == 1 else None
