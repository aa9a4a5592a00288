"""Groups and seasons that a follow-up puts in the place of others: "and for children?" after the adult ticket."""

from __future__ import annotations

import re

_GROUPS = {
    "adult": "adults", "child": "children", "kid": "kids", "infant": "infants", "baby": "babies", "toddler": "toddlers",
    "teenager": "teenagers", "student": "students", "pupil": "pupils", "pensioner": "pensioners", "senior": "seniors",
    "concession": "concessions", "group": "groups", "family": "families", "school": "schools", "couple": "couples",
    "resident": "residents", "non-resident": "non-residents", "visitor": "visitors", "member": "members",
    "non-member": "non-members", "guest": "guests", "volunteer": "volunteers", "employee": "employees",
    "carer": "carers",
    "man": "men", "woman": "women", "boy": "boys", "girl": "girls", "beginner": "beginners", "teacher": "teachers",
    "tenant": "tenants", "customer": "customers", "tourist": "tourists",
}  # fmt: skip
"""People for whom prices and rules differ, with their plurals."""
_KINDS = (
    ("summer", "winter", "spring", "autumn"),
    ("weekday", "weekend"),
    ("morning", "afternoon", "evening", "night"),
    ("single", "double", "twin", "triple"),
    ("half", "full"),
    ("peak", "off-peak"),
    ("small", "medium", "large"),
    ("annual", "monthly", "weekly", "daily", "yearly", "quarterly"),
    ("full-time", "part-time"),
    ("indoor", "outdoor"),
    ("minimum", "maximum"),
    ("gross", "net"),
)
"""Words of which one takes the place of another of its row."""
_AGE = re.compile(
    r"(?:the )?(?P<age>(?:under|over)[- ](?:\d{1,3}|fives|tens|twelves|sixteens|eighteens|sixties))s?", re.I
)
_PRICED = (
    r"(?:tickets?|prices?|fees?|rates?|pass(?:es)?|admission|memberships?|discounts?|fares?|entry|charges?"
    r"|subscriptions?|menus?|doses?|sessions?|courses?|lessons?|class(?:es)?|tours?|visits?|workshops?|rooms?)"
)
"""What is sold to one group at another price than to the next."""
_ASKED_OF = r"(?:do|did|are|were|can|may|must|will|should|could)"
_MEMBERS = "|".join(sorted((re.escape(word) for pair in _GROUPS.items() for word in pair), key=len, reverse=True))
_BEFORE_NOUN = re.compile(
    rf"\b(?P<article>an? )?(?P<group>(?<![\w-])(?:{_MEMBERS}))(?P<owner>['’]s?)?"
    rf"(?P<noun> (?:day |season |annual )?{_PRICED})\b",
    re.I,
)
_ASKED_GROUP = re.compile(rf"(?<=\s)(?P<verb>{_ASKED_OF} )(?P<group>(?:{_MEMBERS}))(?![\w-])", re.I)
_FRAGMENT = re.compile(
    r"(?:(?:for|with|on|in|at|of|during) )?(?:(?:the|an?|our|your) )?(?P<new>[\w-]+?(?: \d{1,3}s?)?)"
    rf"(?: (?P<noun>{_PRICED}|ones?))?",
    re.I,
)
_EDITION = re.compile(
    r"(?:(?:for|with|on|in|at|of|during|under|by|from|to|according to) )?(?:(?:the|our|your) )?"
    r"(?P<year>(?:19|20)\d\d(?:[-/]\d{2,4})?) (?:ones?|version|edition|issue)",
    re.I,
)
"""A year's edition of what was asked about: "under the 2022 one"."""
_YEAR_BEFORE_NOUN = re.compile(r"(?<=\b(?:the|our) )(?P<year>(?:19|20)\d\d(?:[-/]\d{2,4})?)(?= [a-z])", re.I)
_SINGULAR = {plural: singular for singular, plural in _GROUPS.items()}


def with_counterpart(question: str, fragment: str) -> str:
    """Return a question with the group or season of a fragment in the place of its own; "" if it has none or several.

    Args:
        question: The question before, such as "What does the adult ticket cost in 2025".
        fragment: What the message names, such as "for children".
    """
    if edition := _EDITION.fullmatch(fragment):
        return _with_edition(question, edition["year"])
    match = _FRAGMENT.fullmatch(fragment)
    if match is None:
        return ""
    new = re.sub(r"^non ", "non-", match["new"].casefold())
    return _with_group(question, new, match["noun"] or "") or _with_kind(question, new)


def _with_edition(question: str, year: str) -> str:
    """Return the question with another year's edition of the document that it names: "the 2022 policy"."""
    years = list(_YEAR_BEFORE_NOUN.finditer(question))
    if len(years) != 1 or years[0]["year"] == year:
        return ""
    return f"{question[: years[0].start()]}{year}{question[years[0].end() :]}?"


def _with_group(question: str, new: str, noun: str) -> str:
    """Return the question with another group before what it pays for, or as who does something."""
    singular = _SINGULAR.get(new, new)
    age = _AGE.fullmatch(new)
    if singular not in _GROUPS and age is None:
        return ""
    one, many = (age["age"], f"{age['age']}s") if age else (singular, _GROUPS[singular])
    found = [*_BEFORE_NOUN.finditer(question), *_ASKED_GROUP.finditer(question)]
    if len(found) != 1 or _SINGULAR.get(found[0]["group"].casefold(), found[0]["group"].casefold()) == singular:
        return ""
    old, groups = found[0], found[0].groupdict()
    is_other_noun = noun and "noun" in groups and noun.rstrip("s") not in (groups["noun"].strip().rstrip("s"), "one")
    if is_other_noun:
        return ""
    if "verb" in groups:
        return f"{question[: old.start('group')]}{many}{question[old.end('group') :]}?"
    is_plural = old["group"].casefold() in _SINGULAR
    if old["owner"]:
        one = many = f"{many}'" if many.endswith("s") else f"{many}'s"
    article = old["article"] and ("an " if re.match(r"[aeiou]", one) else "a ")
    return f"{question[: old.start()]}{article or ''}{many if is_plural else one}{old['noun']}{question[old.end() :]}?"


def _with_kind(question: str, new: str) -> str:
    """Return the question with another season, size or the like in the place of its own."""
    for kind in _KINDS:
        singular = new if new in kind else new.removesuffix("s")
        if singular not in kind:
            continue
        old = [match for word in kind for match in re.finditer(r"(?<![\w-])[\w-]+", question) if _is(match[0], word)]
        if len(old) != 1 or _is(old[0][0], singular):
            return ""
        plural = "s" if old[0][0].casefold() not in kind else ""
        return f"{question[: old[0].start()]}{singular}{plural}{question[old[0].end() :]}?"
    return ""


def _is(spoken: str, word: str) -> bool:
    """Return whether a word of a question is this word, or its plural."""
    return spoken.casefold() in (word, f"{word}s")
