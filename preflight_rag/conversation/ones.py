"""What "one" of a follow-up stands for: "a new one", "which one", "the Norwegian one" after what was spoken of."""

from __future__ import annotations

import re

ANOTHER_ONE = r"\b(?:another|an? [a-z]+) one\b(?! (?:hour|day|week|month|year|way|time|off|of)\b|-)"
"""Another thing of the kind that was spoken of, "a new one", and not "a whole one hour"."""
_ANOTHER_ONE = re.compile(ANOTHER_ONE, re.I)
_WHICH_OF_THESE = re.compile(r"which (?:ones?|of (?:them|these|those))\b(?! (?:of|in|for|with)\b)", re.I)
_WHO_MADE = re.compile(
    r"who (?:has |have |had )?(?:made|sent|submitted|gave|drew|wrote|offered|proposed|put in|handed in)"
    r" (?:the|an?) (?P<noun>[a-z]+)(?P<of>(?: (?:for|of|to|on|from) (?:the |our |a )?[\w'’ -]+)?)",
    re.I,
)
"""A question for whoever made one of several things, of which one is then chosen: "Who made an offer for the quay"."""
_PLURAL_ENDING = re.compile(r"(?<![sui])s$")
_ONE_OF_KIND = re.compile(r"(?:of |for |with |in )?(?:the|an?) (?P<new>[\w-]+) ones?", re.I)
_CAPITALISED_KIND = re.compile(r"\b(?:the|our) (?P<old>[A-Z][\w-]+)(?= [a-z])")
_KIND_AT_END = re.compile(r"\b(?:of|for|in) (?:the|our) (?P<old>[a-z-]+)(?= [a-z-]+$)")


def asks_for_another(message: str) -> bool:
    """Return whether a message speaks of another thing of a kind that it does not name: "a new one"."""
    return _ANOTHER_ONE.search(message) is not None


def replace_one_with_kind(message: str, thing: str) -> str:
    """Return "How much is a new boiler?" for "How much is a new one?" after "the boiler in the hall".

    Args:
        message: A message that asks for another (`asks_for_another`).
        thing: What the question before speaks of; the message stays as it is without an article in front of it.
    """
    another = _ANOTHER_ONE.search(message)
    if another is None or not re.match(r"(?:the|our|your|my) ", thing, re.I):
        return message
    kind = re.split(r" (?:of|in|on|for) ", thing, maxsplit=1)[0].split()[-1]
    return f"{message[: another.end() - len('one')]}{kind}{message[another.end() :]}"


def asks_which_of_these(message: str) -> bool:
    """Return whether a message asks which of the things just spoken of is meant: "Which one did they choose?"."""
    return _WHICH_OF_THESE.search(message) is not None


def complete_which_one(message: str, question: str) -> str:
    """Return "Which offer for the quay did they choose?" for "Which one did they choose?"; unchanged where unclear."""
    which, made = _WHICH_OF_THESE.match(message), _WHO_MADE.fullmatch(question.rstrip(" ?.!"))
    if which is None or made is None:
        return message
    return f"{which[0].split()[0]} {_PLURAL_ENDING.sub('', made['noun'])}{made['of']}{message[which.end() :]}"


def replace_kind(question: str, fragment: str) -> str:
    """Return the question with another kind of its thing, "the Norwegian one" after "the Swedish krona"; or ""."""
    new, old = kind_in_fragment(question, fragment), _match_replaced_kind(question, fragment)
    return f"{question[: old.start('old')]}{new}{question[old.end('old') :]}?" if old else ""


def kind_in_fragment(question: str, fragment: str) -> str:
    """Return the kind that a fragment puts in the place of the question's own, "Norwegian"; "" for none."""
    new = _ONE_OF_KIND.fullmatch(fragment)
    return new["new"] if new and _match_replaced_kind(question, fragment) else ""


def _match_replaced_kind(question: str, fragment: str) -> re.Match[str] | None:
    """Return the only kind in a question that "the Norwegian one" may replace; None where there is none, or several.

    A word without a capital may stand for another part of the question than a kind, unless the thing is at its end.
    """
    new = _ONE_OF_KIND.fullmatch(fragment)
    if new is None:
        return None
    found = list((_CAPITALISED_KIND if new["new"][:1].isupper() else _KIND_AT_END).finditer(question))
    return found[0] if len(found) == 1 else None
