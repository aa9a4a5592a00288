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
"""Categories in rows; a word of a row takes the place of another word of the same row."""
_AGE = re.compile(
    r"(?:the )?(?P<age>(?:under|over)[- ](?:\d{1,3}|fives|tens|twelves|sixteens|eighteens|sixties))s?", re.I
)
_PRICED_NOUNS = (
    r"(?:tickets?|prices?|fees?|rates?|pass(?:es)?|admission|memberships?|discounts?|fares?|entry|charges?"
    r"|subscriptions?|menus?|doses?|sessions?|courses?|lessons?|class(?:es)?|tours?|visits?|workshops?|rooms?)"
)
"""Nouns of what different groups pay different prices for."""
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
"""A fragment that names another year's edition of a document: "under the 2022 one"."""
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
"""A question when, where or by whom something was done to a thing: "When was nylon patented"."""
_PAYING_VERB = re.compile(r"\b(?:pay|pays|paid|costs?|charged?|owes?|books?|brings?|buys?)\b", re.I)
"""A verb of paying: after "What does a member pay?", "and for a guest?" asks what the member pays for a guest."""
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
"""A property, maker or part of a thing, and so no other thing that the same was done to: "the inventor"."""
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
"""A fragment that names no other thing of a kind, but a quality of the thing, a time, or people it is for."""
_MEASURE = re.compile(
    r"\b(?:armou?r class|prices?|costs?|weighs?|weights?|sizes?|doses?|numbers?|lengths?|heights?|widths?|depths?"
    r"|speeds?|loads?|age|range|areas?|volumes?|capacity|lifespan|fees?"
    r"|how (?:much|many|long|often|far|high|big|large|old))\b",
    re.I,
)
"""A measure, which every kind of thing has: "the weight", "how long"."""
_VERB_OF_NEED = re.compile(r" (?:need|have|mean|give|contain|require|cover|use|get)\b")
"""A verb whose object a fragment may name, instead of another thing: "What does gout need? And rest?"."""
_PART_OR_SETTING = re.compile(
    r"\b(?:fridge|freezer|oven|diets?|surgery|alcohol|overdoses?|phone|e-?mails?|username|passwords?|address|website"
    r"|warnings?|storage)\b"
)
"""Parts, places and companions of a thing, which are seldom asked about as the thing is."""
_ABSTRACT_NOUN_ENDING = re.compile(r"(?:tion|sion|ment|ness|ity|ance|ence|ency|ancy|sis|ing|age|ture|ship|th|cy)s?$")
"""An ending of nouns that name a quality of another thing, unless they have an article: "treatment", "weakness"."""


def replace_with_counterpart(question: str, fragment: str) -> str:
    """Return the question with the edition, version, group, season, role or thing of a fragment in place of its own.

    The result is "" if the question has none of the fragment's kind, or several.
    """
    if edition := _EDITION_FRAGMENT.fullmatch(fragment):
        return _replace_edition(question, edition["year"])
    if version := _VERSION_FRAGMENT.fullmatch(fragment):
        return _replace_version(question, version["new"])
    if (match := _GROUP_FRAGMENT.fullmatch(fragment)) is not None:
        new_word = re.sub(r"^non ", "non-", match["new"].casefold())
        if replaced := _replace_group(question, new_word, match["noun"] or "") or _replace_category(question, new_word):
            return replaced
    return (
        _replace_role(question, fragment)
        or _replace_kind_of_thing(question, fragment)
        or replace_kind(question, fragment)
        or _replace_thing_acted_on(question, fragment)
    )


def _replace_version(question: str, version: str) -> str:
    """Return the question with another version or code in place of its only one; "" if it has none, several or this."""
    old_versions = list(_VERSION.finditer(question))
    if len(old_versions) != 1 or old_versions[0][0] == version:
        return ""
    return f"{question[: old_versions[0].start()]}{version}{question[old_versions[0].end() :]}?"


def _replace_thing_acted_on(question: str, fragment: str) -> str:
    """Return "When was the zipper patented?" for "When was nylon patented" and "the zipper"; else "".

    The fragment must name a thing, and no property of the old thing, no quantity, time, person or role.
    """
    asks_action = _ASKS_ACTION_ON_THING.match(question)
    if asks_action is None or not _PLAIN_NOUN_PHRASE.fullmatch(fragment) or _PROPERTY_OF_THING.search(fragment):
        return ""
    is_quality = QUANTITY.search(fragment) is not None or _QUALITY_TIME_OR_PEOPLE.search(fragment) is not None
    if is_quality or ROLE_PHRASE.search(f"the {fragment.removeprefix('the ')}"):
        return ""
    group = "thing" if asks_action["thing"] else "object"
    # "the new one" after "the old bridge" is the new bridge.
    new_thing = re.sub(r"\bone$", asks_action[group].split()[-1], fragment)
    return f"{question[: asks_action.start(group)]}{new_thing}{question[asks_action.end(group) :]}?"


def _replace_role(question: str, fragment: str) -> str:
    """Return the question with the role of a fragment, "of a representative", in place of its only role; else ""."""
    new, old_roles = _ROLE_FRAGMENT.fullmatch(fragment), list(ROLE_PHRASE.finditer(question))
    if new is None or len(old_roles) != 1 or new["role"].casefold() == old_roles[0][0].casefold():
        return ""
    # "for a guest" after "What does a member pay?" leaves the member.
    if new["preposition"] == "for" and _PAYING_VERB.search(question):
        return ""
    return f"{question[: old_roles[0].start()]}{new['role']}{question[old_roles[0].end() :]}?"


def _replace_kind_of_thing(question: str, fragment: str) -> str:
    """Return "What is the weight of ash wood?" for "What is the weight of chain mail" and "ash wood"; else "".

    Both are common nouns that name a kind of thing each; what the fragment names must not be a quality of the thing, as
    the weight of chain mail is.
    """
    new = _THING_FRAGMENT.fullmatch(fragment)
    if new is None or not names_kind_of_thing(fragment):
        return ""
    old = None
    # "a dog" is no counterpart in "the weight of chain mail", but it is one in "How much does a cat eat".
    if not _INDEFINITE_ARTICLE.match(new["thing"]):
        old = _THING_BEHIND_OF.fullmatch(question) or _THING_WITH_POSSESSIVE.match(question)
    has_attribute = old is not None
    old = old or _THING_THAT_ACTS.match(question)
    if old is None or _is_quality_time_or_people(old["thing"]) or new["thing"] == old["thing"]:
        return ""
    # "The treatment of gout? And diet?": what two things have alike is measured, or they share a word.
    share_word = not frozenset(words(new["thing"])).isdisjoint(words(old["thing"]))
    is_part = _PART_OR_SETTING.search(new["thing"]) is not None
    if not share_word and (is_part or not _is_asked_of_any_kind(question, old, has_attribute=has_attribute)):
        return ""
    # "The treatment of dengue? And vaccines?": several things are seldom the counterpart of one.
    if bool(_PLURAL_ENDING.search(new["thing"])) != bool(_PLURAL_ENDING.search(old["thing"])):
        return ""
    # "for leather armor" does not replace "of chain mail".
    old_preposition = old.groupdict().get("link")
    if new["preposition"] in ("of", "for") and old_preposition and old_preposition != new["preposition"]:
        return ""
    return f"{old['before']} {new['thing']}{question[old.end() :]}?"


def thing_in_fragment(question: str, fragment: str) -> str:
    """Return the kind or thing that a fragment puts in the place of the question's own, without "the"; "" for none."""
    if kind := kind_in_fragment(question, fragment):
        return kind
    return re.sub("^the ", "", fragment) if _replace_thing_acted_on(question, fragment) else ""


def people_named_in(fragment: str) -> tuple[str, ...]:
    """Return the people whom a whole fragment names: ("guest", "guests") of "for a guest", or the phrase for a role.

    The result is () for a fragment that names no people.
    """
    match = _PEOPLE_FRAGMENT.fullmatch(fragment)
    if match is None:
        return ()
    if not match["group"]:
        return (fragment[match.start("article") :],)
    group = match["group"].casefold()
    singular = _SINGULARS.get(group, group)
    return (singular, _GROUPS[singular])


def _is_asked_of_any_kind(question: str, thing_match: re.Match[str], *, has_attribute: bool) -> bool:
    """Return whether a question asks of its thing what may be asked of other kinds of things as well.

    That is a measure, "the weight of chain mail", or what a thing does, "Where does chain mail rust"; but no other
    attribute (`has_attribute`) such as "the treatment of gout". What a thing without an article needs or contains may
    be named by the fragment: "What does gout need? And rest?".
    """
    if _MEASURE.search(f"{thing_match['before']} {question[thing_match.end() :]}"):
        return True
    asks_what = re.match(r"what (?:does|do|did|can|should)\b", thing_match["before"], re.I) is not None
    asks_need = asks_what and _VERB_OF_NEED.match(question, thing_match.end()) is not None
    return not has_attribute and (not asks_need or _INDEFINITE_ARTICLE.match(thing_match["thing"]) is not None)


def names_kind_of_thing(fragment: str) -> bool:
    """Return whether a fragment names a kind of thing, "leather armor", and no quality, quantity, time or people."""
    match = _THING_FRAGMENT.fullmatch(fragment)
    if match is None or QUANTITY.search(match["thing"]):
        return False
    return not _is_quality_time_or_people(match["thing"])


def _is_quality_time_or_people(thing: str) -> bool:
    """Return whether a word or two name a quality of something, a time, or people, rather than a kind of thing."""
    # An article makes one thing of an abstract noun: "a carriage".
    is_abstract = not _INDEFINITE_ARTICLE.match(thing) and _ABSTRACT_NOUN_ENDING.search(thing) is not None
    return is_abstract or _QUALITY_TIME_OR_PEOPLE.search(thing) is not None


def _replace_edition(question: str, year: str) -> str:
    """Return the question with another year before the document that it names, "the 2022 policy"; else "".

    The result is "" as well if the question has several such years, or this year already.
    """
    years = list(_YEAR_BEFORE_NOUN.finditer(question))
    if len(years) != 1 or years[0]["year"] == year:
        return ""
    return f"{question[: years[0].start()]}{year}{question[years[0].end() :]}?"


def _replace_group(question: str, new_group: str, priced_noun: str) -> str:
    """Return "How much is a child ticket?" for "How much is an adult ticket" and "children"; else "".

    The old group stands before the noun that has a price, or is the subject: "What do adults pay". The result is "" if
    the question has no such group, several of them or the same one, or another noun with a price than the fragment.
    The new group may be plural, or an age: "under 5"; the fragment's priced noun is "" if it has none.
    """
    singular, age = _SINGULARS.get(new_group, new_group), _AGE.fullmatch(new_group)
    if singular not in _GROUPS and age is None:
        return ""
    new_singular, new_plural = (age["age"], f"{age['age']}s") if age else (singular, _GROUPS[singular])
    matches = [*_GROUP_BEFORE_PRICED_NOUN.finditer(question), *_GROUP_AS_SUBJECT.finditer(question)]
    if len(matches) != 1:
        return ""
    old, old_group = matches[0], matches[0]["group"].casefold()
    if _SINGULARS.get(old_group, old_group) == singular:
        return ""
    old_noun = old.groupdict().get("noun")
    if priced_noun and old_noun and priced_noun.rstrip("s") not in (old_noun.strip().rstrip("s"), "one"):
        return ""
    if old_noun is None:
        return f"{question[: old.start('group')]}{new_plural}{question[old.end('group') :]}?"
    if old["owner"]:
        new_singular = new_plural = f"{new_plural}'" if new_plural.endswith("s") else f"{new_plural}'s"
    new_words = new_plural if old_group in _SINGULARS else new_singular
    if old["article"]:
        new_words = f"{'an' if re.match(r'[aeiou]', new_singular) else 'a'} {new_words}"
    return f"{question[: old.start()]}{new_words}{old_noun}{question[old.end() :]}?"


def _replace_category(question: str, new_word: str) -> str:
    """Return the question with a season, size or the like, "winter", in place of its only one of the same row; else "".

    The new word is plural where the old one is.
    """
    for row in _CATEGORIES:
        singular = new_word if new_word in row else new_word.removesuffix("s")
        if singular not in row:
            continue
        tokens = re.finditer(r"(?<![\w-])[\w-]+", question)
        old_words = [token for token in tokens if any(_is_word_or_plural(token[0], word) for word in row)]
        if len(old_words) != 1 or _is_word_or_plural(old_words[0][0], singular):
            return ""
        old = old_words[0]
        plural = "s" if old[0].casefold() not in row else ""
        return f"{question[: old.start()]}{singular}{plural}{question[old.end() :]}?"
    return ""


def _is_word_or_plural(token: str, word: str) -> bool:
    """Return whether a token of a question is a word or its plural, in any case."""
    return token.casefold() in (word, f"{word}s")
