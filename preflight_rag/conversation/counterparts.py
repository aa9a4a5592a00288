"""Groups, seasons, roles and things that a follow-up puts in the place of others: "and for children?"."""

from __future__ import annotations

import re

from preflight_rag.conversation.antecedents import ROLE_PHRASE
from preflight_rag.conversation.ones import kind_in_fragment, replace_kind
from preflight_rag.text.values import QUANTITY
from preflight_rag.text.words import words

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
_CATEGORIES = (
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
_PRICED_NOUNS = (
    r"(?:tickets?|prices?|fees?|rates?|pass(?:es)?|admission|memberships?|discounts?|fares?|entry|charges?"
    r"|subscriptions?|menus?|doses?|sessions?|courses?|lessons?|class(?:es)?|tours?|visits?|workshops?|rooms?)"
)
"""What is sold to one group at another price than to the next."""
_PLURAL_AUXILIARIES = r"(?:do|did|are|were|can|may|must|will|should|could)"
_GROUP_WORDS = "|".join(sorted((re.escape(word) for pair in _GROUPS.items() for word in pair), key=len, reverse=True))
_GROUP_BEFORE_PRICED_NOUN = re.compile(
    rf"\b(?P<article>an? )?(?P<group>(?<![\w-])(?:{_GROUP_WORDS}))(?P<owner>['’]s?)?"
    rf"(?P<noun> (?:day |season |annual )?{_PRICED_NOUNS})\b",
    re.I,
)
_GROUP_AS_SUBJECT = re.compile(rf"(?<=\s)(?P<verb>{_PLURAL_AUXILIARIES} )(?P<group>(?:{_GROUP_WORDS}))(?![\w-])", re.I)
_GROUP_FRAGMENT = re.compile(
    r"(?:(?:for|with|on|in|at|of|during) )?(?:(?:the|an?|our|your) )?(?P<new>[\w-]+?(?: \d{1,3}s?)?)"
    rf"(?: (?P<noun>{_PRICED_NOUNS}|ones?))?",
    re.I,
)
_EDITION_FRAGMENT = re.compile(
    r"(?:(?:for|with|on|in|at|of|during|under|by|from|to|according to) )?(?:(?:the|our|your) )?"
    r"(?P<year>(?:19|20)\d\d(?:[-/]\d{2,4})?) (?:ones?|version|edition|issue)",
    re.I,
)
"""A year's edition of what was asked about: "under the 2022 one"."""
_YEAR_BEFORE_NOUN = re.compile(r"(?<=\b(?:the|our) )(?P<year>(?:19|20)\d\d(?:[-/]\d{2,4})?)(?= [a-z])", re.I)
_SINGULARS = {plural: singular for singular, plural in _GROUPS.items()}
_ROLE_FRAGMENT = re.compile(rf"(?:(?P<preposition>of|about|for) )?(?P<role>{ROLE_PHRASE.pattern})", re.I)
_PEOPLE_FRAGMENT = re.compile(
    rf"(?:(?:of|about|for|to|from) )?(?:(?:the|an?|our|your) )?(?P<group>{_GROUP_WORDS})|(?:(?:of|about|for|to|from) )?"
    rf"{ROLE_PHRASE.pattern}",
    re.I,
)
_ASKS_ACTION_ON_THING = re.compile(
    r"(?:when|where|how|why|by whom) (?:is|was|are|were) (?P<thing>(?:the )?(?!the\b)[a-z-]+(?: [a-z-]+)?)"
    r"(?= (?!(?:shed|seed|feed|speed|need|weed|sled|breed|bed)\b)(?:[a-z]{2,20}ed|sent|built|sold|paid|made|written"
    r"|kept|held|found|bought|taken|given|drawn|shown)\b)"
    r"|who (?:[a-z]{2,20}ed|wrote|built|made|found|sold|bought) (?P<object>(?:the )?(?!the\b)[a-z-]+(?: [a-z-]+)?)$",
    re.I,
)
"""A thing of which a question asks when or by whom something was done to it: "When was nylon patented"."""
_PAYING_VERB = re.compile(r"\b(?:pay|pays|paid|costs?|charged?|owes?|books?|brings?|buys?)\b", re.I)
"""What somebody does for others: in "What does a member pay?", "and for a guest?" leaves the member."""
_NOT_FUNCTION_WORD = (
    r"(?!(?:the|an?|our|your|my|his|her|its|their|this|that|these|those|all|each|any|some|no|not|it|they|we|you|and|or"
    r"|to)\b)"
)
_NOUN_WORDS = rf"{_NOT_FUNCTION_WORD}[a-z-]+(?: {_NOT_FUNCTION_WORD}[a-z-]+){{0,2}}"
_THING_FRAGMENT = re.compile(rf"(?:(?P<preposition>of|for|about) )?(?P<thing>(?:an? )?{_NOUN_WORDS})")
_THING_BEHIND_OF = re.compile(rf"(?P<before>.*\b(?P<link>of|for)) (?P<thing>{_NOUN_WORDS})")
_THING_WITH_POSSESSIVE = re.compile(
    rf"(?P<before>(?:[Ww]hat|[Hh]ow [a-z]+)(?: is| are| was| were)) (?P<thing>{_NOUN_WORDS})(?=['’]s? [a-z])"
)
_OPTIONAL_ARTICLE_AND_NOUN = rf"(?:an? )?{_NOUN_WORDS}"
_THING_THAT_ACTS = re.compile(
    r"(?P<before>(?:(?:[Ww]hat|[Ww]hich)(?: [a-z-]+){0,3}?"
    r"|[Hh]ow(?: long| often| far|(?: much| many)(?: [a-z-]+){0,2}?)?|[Ww]here|[Ww]hen)"
    rf" (?:does|do|did|can|should)) (?P<thing>{_OPTIONAL_ARTICLE_AND_NOUN})"
    r"(?= (?:cost|weigh|take|last|need|have|mean|give|get|contain|require|cover|use|grow|flower|ripen|live|eat|keep)\b)"
)
_INDEFINITE_ARTICLE = re.compile(r"an? ")
_PLAIN_NOUN_PHRASE = re.compile(rf"(?:the )?{_NOT_FUNCTION_WORD}[a-z-]+(?: {_NOT_FUNCTION_WORD}[a-z-]+)?")
_PROPERTY_OF_THING = re.compile(
    r"\b(?:reasons?|causes?|purpose|details?|inventors?|makers?|makes?|places?|locations?|address(?:es)?|status|history"
    r"|origins?|deadlines?|costs?|prices?|fees?|bills?|results?|owners?|sizes?|heights?|weights?|first|last|next|second|third|conditions?)$"
)
"""What something has, or who made it: no other thing that the same was done to."""
_VERSION = re.compile(r"(?<![\w.£$€-])(?:[A-Z]{1,3}-?\d{1,5}[a-z]?|\d{1,3}(?:\.\d{1,4}){1,3})(?![\w%€-]|\.\d)")
"""A code or the number of a version: "E07", "3.4.0"."""
_VERSION_FRAGMENT = re.compile(rf"(?:(?:in|for|of|with|version) )?(?P<new>{_VERSION.pattern})")
_PLURAL_ENDING = re.compile(r"(?<![sui])s$")
_QUALITY_TIME_OR_PEOPLE = re.compile(
    r"\b(?:in|of|for|at|on|with|after|during|among|from|under|to|by|without|than|if|when|where|who|what|why|how)\b"
    r"|\b(?:symptoms?|effects?|risks?|causes?|signs?|stages?|types?|kinds?|benefits?|advantages?|drawbacks?|limits?|rules?"
    r"|colou?rs?|periods?|delivery|names?|dates?|times?|hours?|days?|weeks?|months?|years?|mornings?|afternoons?|evenings?|nights?"
    r"|weekdays?|weekends?|holidays?|summer|winter|spring|autumn|today|tomorrow|yesterday|now|then|later|others?|else"
    r"|others|rest|same|why|not|authors?|members?|values?|results?|options?|defaults?|settings?|groups?|arms?|controls?"
    r"|placebo|sham|adults?|child(?:ren)?|kids|infants?|bab(?:y|ies)|newborns?|teenagers?|adolescents?|(?:wo)?m[ae]n"
    r"|pregnan\w+|elderly|seniors?|patients?|people|mice|rats|students?|guests?|visitors?|residents?)\b",
    re.I,
)
"""Fragments that name no other thing of the kind asked about: a quality of it, a time, or people it is for."""
_MEASURE = re.compile(
    r"\b(?:armou?r class|prices?|costs?|weighs?|weights?|sizes?|doses?|numbers?|lengths?|heights?|widths?|depths?"
    r"|speeds?|loads?|age|range|areas?|volumes?|capacity|lifespan|fees?"
    r"|how (?:much|many|long|often|far|high|big|large|old))\b",
    re.I,
)
"""What is measured of every kind of thing alike."""
_VERB_OF_NEED = re.compile(r" (?:need|have|mean|give|contain|require|cover|use|get)\b")
"""What a thing needs or has, of which a fragment may be a part: "What does gout need? And rest?"."""
_PART_OR_SETTING = re.compile(
    r"\b(?:fridge|freezer|oven|diets?|surgery|alcohol|overdoses?|phone|e-?mails?|username|passwords?|address|website"
    r"|warnings?|storage)\b"
)
"""Parts, places and companions of what is measured, which are seldom measured alike."""
_ABSTRACT_NOUN_ENDING = re.compile(r"(?:tion|sion|ment|ness|ity|ance|ence|ency|ancy|sis|ing|age|ture|ship|th|cy)s?$")
"""Ends of nouns that are a quality, or part, of another thing, unless an article makes one thing of them."""


def replace_with_counterpart(question: str, fragment: str) -> str:
    """Return a question with the group or season of a fragment in the place of its own; "" if it has none or several.

    Args:
        question: The question before, such as "What does the adult ticket cost in 2025".
        fragment: What the message names, such as "for children".
    """
    if edition := _EDITION_FRAGMENT.fullmatch(fragment):
        return _replace_edition(question, edition["year"])
    if version := _VERSION_FRAGMENT.fullmatch(fragment):
        old = list(_VERSION.finditer(question))
        is_one = len(old) == 1 and old[0][0] != version["new"]
        return f"{question[: old[0].start()]}{version['new']}{question[old[0].end() :]}?" if is_one else ""
    if (match := _GROUP_FRAGMENT.fullmatch(fragment)) is not None:
        new = re.sub(r"^non ", "non-", match["new"].casefold())
        if replaced := _replace_group(question, new, match["noun"] or "") or _replace_category(question, new):
            return replaced
    return (
        _replace_role(question, fragment)
        or _replace_kind_of_thing(question, fragment)
        or replace_kind(question, fragment)
        or _replace_thing_acted_on(question, fragment)
    )


def _replace_thing_acted_on(question: str, fragment: str) -> str:
    """Return the question of when, or by whom, the same was done to another thing: "the zipper" after nylon."""
    old = _ASKS_ACTION_ON_THING.match(question)
    if old is None or not _PLAIN_NOUN_PHRASE.fullmatch(fragment) or _PROPERTY_OF_THING.search(fragment):
        return ""
    is_quality = QUANTITY.search(fragment) is not None or _QUALITY_TIME_OR_PEOPLE.search(fragment) is not None
    if is_quality or ROLE_PHRASE.search(f"the {fragment.removeprefix('the ')}"):
        return ""
    place = "thing" if old["thing"] else "object"
    fragment = re.sub(r"\bone$", old[place].split()[-1], fragment)
    return f"{question[: old.start(place)]}{fragment}{question[old.end(place) :]}?"


def _replace_role(question: str, fragment: str) -> str:
    """Return the question with another role in the place of the only one in it: "and of a representative?"."""
    new, old = _ROLE_FRAGMENT.fullmatch(fragment), list(ROLE_PHRASE.finditer(question))
    if new is None or len(old) != 1 or new["role"].casefold() == old[0][0].casefold():
        return ""
    if new["preposition"] == "for" and _PAYING_VERB.search(question):
        return ""
    return f"{question[: old[0].start()]}{new['role']}{question[old[0].end() :]}?"


def _replace_kind_of_thing(question: str, fragment: str) -> str:
    """Return the question with another thing in the place of its own: "what about leather armor?" after chain mail.

    Both are common nouns without an article, so that they name a kind each; what the fragment names must not be a
    quality of the thing, as the weight of chain mail is.
    """
    new = _THING_FRAGMENT.fullmatch(fragment)
    if new is None or not names_kind_of_thing(fragment):
        return ""
    is_bare = _INDEFINITE_ARTICLE.match(new["thing"]) is None
    of_kind = (_THING_BEHIND_OF.fullmatch(question) or _THING_WITH_POSSESSIVE.match(question)) if is_bare else None
    old = of_kind or _THING_THAT_ACTS.match(question)
    if old is None or _is_quality_time_or_people(old["thing"]) or new["thing"] == old["thing"]:
        return ""
    # "The treatment of gout? And diet?": what two things have alike is measured, or they share a word.
    is_alike = not frozenset(words(new["thing"])).isdisjoint(words(old["thing"]))
    if not is_alike and (
        _PART_OR_SETTING.search(new["thing"]) or not _is_asked_of_any_kind(question, old, is_of=bool(of_kind))
    ):
        return ""
    # "The treatment of dengue? And vaccines?": several things are seldom the counterpart of one.
    if bool(_PLURAL_ENDING.search(new["thing"])) != bool(_PLURAL_ENDING.search(old["thing"])):
        return ""
    link = old.groupdict().get("link")
    if new["preposition"] in ("of", "for") and link and link != new["preposition"]:
        return ""
    return f"{old['before']} {new['thing']}{question[old.end() :]}?"


def thing_in_fragment(question: str, fragment: str) -> str:
    """Return the thing, without its article, that a fragment puts in the place of the question's own; "" for none."""
    if new := kind_in_fragment(question, fragment):
        return new
    return re.sub("^the ", "", fragment) if _replace_thing_acted_on(question, fragment) else ""


def people_named_in(fragment: str) -> tuple[str, ...]:
    """Return the singular and plural of the people whom a fragment names, "for a guest", or their role; else ()."""
    named = _PEOPLE_FRAGMENT.fullmatch(fragment)
    if named is None:
        return ()
    group = (named["group"] or "").casefold()
    singular = _SINGULARS.get(group, group)
    return (singular, _GROUPS[singular]) if group else (named[0][named.start("article") :],)


def _is_asked_of_any_kind(question: str, old: re.Match[str], *, is_of: bool) -> bool:
    """Return whether a question asks what may be asked of other kinds of things as well: a measure, or what they do."""
    asked = f"{old['before']} {question[old.end() :]}"
    if _MEASURE.search(asked):
        return True
    opening = re.match(r"what (?:does|do|did|can|should)\b", old["before"], re.I)
    is_need = opening is not None and _VERB_OF_NEED.match(question, old.end()) is not None
    return not (is_of or (is_need and _INDEFINITE_ARTICLE.match(old["thing"]) is None))


def names_kind_of_thing(fragment: str) -> bool:
    """Return whether a fragment names a kind of thing, without an article, and no quality or time: "leather armor"."""
    named = _THING_FRAGMENT.fullmatch(fragment)
    return (
        named is not None and not _is_quality_time_or_people(named["thing"]) and QUANTITY.search(named["thing"]) is None
    )


def _is_quality_time_or_people(thing: str) -> bool:
    """Return whether a word or two are a quality of something, a time, or people, rather than a kind of thing."""
    is_bare = _INDEFINITE_ARTICLE.match(thing) is None
    return _QUALITY_TIME_OR_PEOPLE.search(thing) is not None or (
        is_bare and _ABSTRACT_NOUN_ENDING.search(thing) is not None
    )


def _replace_edition(question: str, year: str) -> str:
    """Return the question with another year's edition of the document that it names: "the 2022 policy"."""
    years = list(_YEAR_BEFORE_NOUN.finditer(question))
    if len(years) != 1 or years[0]["year"] == year:
        return ""
    return f"{question[: years[0].start()]}{year}{question[years[0].end() :]}?"


def _replace_group(question: str, new: str, noun: str) -> str:
    """Return the question with another group before what it pays for, or as who does something."""
    singular = _SINGULARS.get(new, new)
    age = _AGE.fullmatch(new)
    if singular not in _GROUPS and age is None:
        return ""
    one, many = (age["age"], f"{age['age']}s") if age else (singular, _GROUPS[singular])
    found = [*_GROUP_BEFORE_PRICED_NOUN.finditer(question), *_GROUP_AS_SUBJECT.finditer(question)]
    if len(found) != 1 or _SINGULARS.get(found[0]["group"].casefold(), found[0]["group"].casefold()) == singular:
        return ""
    old, groups = found[0], found[0].groupdict()
    is_other_noun = noun and "noun" in groups and noun.rstrip("s") not in (groups["noun"].strip().rstrip("s"), "one")
    if is_other_noun:
        return ""
    if "verb" in groups:
        return f"{question[: old.start('group')]}{many}{question[old.end('group') :]}?"
    is_plural = old["group"].casefold() in _SINGULARS
    if old["owner"]:
        one = many = f"{many}'" if many.endswith("s") else f"{many}'s"
    article = old["article"] and ("an " if re.match(r"[aeiou]", one) else "a ")
    return f"{question[: old.start()]}{article or ''}{many if is_plural else one}{old['noun']}{question[old.end() :]}?"


def _replace_category(question: str, new: str) -> str:
    """Return the question with another season, size or the like in the place of its own."""
    for kind in _CATEGORIES:
        singular = new if new in kind else new.removesuffix("s")
        if singular not in kind:
            continue
        old = [
            match
            for word in kind
            for match in re.finditer(r"(?<![\w-])[\w-]+", question)
            if _is_word_or_plural(match[0], word)
        ]
        if len(old) != 1 or _is_word_or_plural(old[0][0], singular):
            return ""
        plural = "s" if old[0][0].casefold() not in kind else ""
        return f"{question[: old[0].start()]}{singular}{plural}{question[old[0].end() :]}?"
    return ""


def _is_word_or_plural(spoken: str, word: str) -> bool:
    """Return whether a word of a question is this word, or its plural."""
    return spoken.casefold() in (word, f"{word}s")
