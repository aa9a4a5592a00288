"""Conversion of a question to the plural by rule: it then asks for the answer for each entity with its name.

"2019 World Ice Hockey Championships host country?" becomes "... host countries?" (COrg, section 3.2 and footnote 3).
"""

from __future__ import annotations

import re

from preflight_rag.text.names import surface_name

_IRREGULAR = {"person": "people", "man": "men", "woman": "women", "child": "children", "wife": "wives", "life": "lives"}
_SAME = frozenset({"species", "series", "people", "staff", "money", "capacity", "news", "information", "data"})
_VERBS = {"is": "are", "was": "were", "has": "have", "does": "do"}
_NOUN = r"[a-z][a-z-]*[a-z]"
_OPENING = re.compile(
    rf"(?P<asks>what|which|who)(?:['’]s| (?P<verb>is|was)) (?P<the>the )(?P<noun>(?:{_NOUN} ){{0,3}}?{_NOUN})"
    r"(?P<rest>\s+(?:[a-z]+ed )?(?:of|for|in|on|at|by|from|to|with|that|who|which|when|where)\b.*|\W*)$",
    re.IGNORECASE | re.DOTALL,
)
_WHICH = re.compile(
    rf"(?P<asks>(?:(?:in|on|at|of|for|from|by|to|with) )?(?:what|which)) (?P<noun>(?:{_NOUN} ){{0,2}}?{_NOUN}) "
    r"(?P<verb>is|was|has|does|did|do|are|were|have|had|can|could|will|would|[a-z]+ed)\b(?P<rest>.*)$",
    re.IGNORECASE | re.DOTALL,
)
_OF_SUBJECT = re.compile(r"\s+(?!(?i:the|a|an|this|that)\b)[a-z]")
_BARE = re.compile(rf"(?P<rest>.*\s)(?P<noun>{_NOUN})\?\s*$", re.DOTALL)
_NOT_BARE = re.compile(
    r"\b(?:who|what|which|when|where|why|how|is|are|was|were|do|does|did|has|have|had|can|could|will|would|should)\b",
    re.IGNORECASE,
)
_ASKED = re.compile(r"\s*(?:who|what|which|when|where|how)\b", re.IGNORECASE)
_ARTICLE = re.compile(r"\b(?:the|a|an)\s+(?P<kind>(?:[a-z-]+ ){0,2}[\"“']?)$", re.IGNORECASE)
_QUOTED = re.compile(r"[\"“'‘]$")
_BEFORE = re.compile(r"\b(?P<verb>is|was|has|does) $", re.IGNORECASE)
_OF_NAME = re.compile(rf" (?P<noun>{_NOUN}) (?:[a-z]+ed|born|built|made|held|won|shot|set|written|sung|led)\b")
_NOT_NOUNS = frozenset({"one", "is", "was", "did", "do", "does", "kind", "sort", "type"})


def plural_question(question: str) -> str | None:
    """Return the question in the plural; None if no rule applies.

    The noun in question gets the plural ("What are the populations of Springfield?"); without such a noun, the name
    does ("When were the Springfields founded?"), or its kind ("When were the Simpsons games released?").
    """
    asked = question.strip()
    if match := _OPENING.match(asked):
        verb = match["verb"] or "is"
        return f"{match['asks']} {_VERBS[verb.casefold()]} {match['the']}{_plural(match['noun'])}{match['rest']}"
    if (match := _WHICH.match(asked)) and match["noun"].casefold() not in _NOT_NOUNS:
        verb = match["verb"]
        if _OF_SUBJECT.match(match["rest"]):
            verb = _VERBS.get(verb.casefold(), verb)
        return f"{match['asks']} {_plural(match['noun'])} {verb}{match['rest']}"
    if (match := _BARE.match(asked)) and not _NOT_BARE.search(asked):
        return f"{match['rest']}{_plural(match['noun'])}?"
    name = surface_name(asked)
    if not name or not _ASKED.match(asked) or asked.count(name) != 1:
        return None
    before, _, after = asked.partition(name)
    if after[:1] in ("'", "’") or re.search("['’]s$", name):
        return None
    return _with_many(before, name, after)


def _with_many(before: str, name: str, after: str) -> str | None:
    """Return the question with its name, and the verb before it, in the plural.

    If the name is followed by its kind, the kind takes the plural.
    """
    many = f"{_plural(re.sub(r'^(?:The|A|An) ', '', name))}"
    article, noun = _ARTICLE.search(before), _OF_NAME.match(after)
    if noun and not (article and article["kind"]) and not _QUOTED.search(before):
        # In "The Simpsons game released" the plural is "games".
        before = before[: article.start()] if article else before
        many, after = re.sub(r"^(?:The|A|An) ", "", name), f" {_plural(noun['noun'])}{after[noun.end('noun') :]}"
    elif article:
        before, kind = before[: article.start()], article["kind"].rstrip("\"“' ")
        quote = article["kind"][len(kind) :]
        many = f"{_plural(kind)}{quote}{name}" if kind and quote else f"{article['kind']}{many}"
        if quote and not kind:
            return None
    elif _QUOTED.search(before):
        return None
    if verb := _BEFORE.search(before):
        before = f"{before[: verb.start('verb')]}{_VERBS[verb['verb'].casefold()]} "
    return f"{before}the {many}{after}"


def _plural(noun: str) -> str:
    """Return a noun in the plural; of several words the last one changes, or the one before "of"."""
    head, of, rest = noun.partition(" of ")
    if of:
        return f"{_plural(head)}{of}{rest}"
    *first, last = noun.split(" ")
    low = last.casefold()
    if low in _SAME or (low.endswith("s") and not low.endswith(("ss", "us", "is"))):
        many = last
    elif low in _IRREGULAR:
        many = _IRREGULAR[low]
    elif low.endswith("y") and low[-2:-1] not in "aeiou" and last[0].islower():
        many = f"{last[:-1]}ies"
    elif low.endswith(("s", "x", "z", "ch", "sh")):
        many = f"{last}es"
    else:
        many = f"{last}s"
    return " ".join([*first, many])
