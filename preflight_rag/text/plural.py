"""Conversion of a question to the plural by rule: it then asks for the answer for each entity with its name.

"2019 World Ice Hockey Championships host country?" becomes "... host countries?" (COrg, section 3.2 and footnote 3).
"""

from __future__ import annotations

import re

from preflight_rag.text.names import surface_name

_IRREGULAR = {"person": "people", "man": "men", "woman": "women", "child": "children", "wife": "wives", "life": "lives"}
_UNCHANGED_IN_PLURAL = frozenset(
    {"species", "series", "people", "staff", "money", "capacity", "news", "information", "data"}
)
_VERBS = {"is": "are", "was": "were", "has": "have", "does": "do"}
_NOUN = r"[a-z][a-z-]*[a-z]"
_WHAT_IS_NOUN = re.compile(
    rf"(?P<asks>what|which|who)(?:['’]s| (?P<verb>is|was)) (?P<the>the )(?P<noun>(?:{_NOUN} ){{0,3}}?{_NOUN})"
    r"(?P<rest>\s+(?:[a-z]+ed )?(?:of|for|in|on|at|by|from|to|with|that|who|which|when|where)\b.*|\W*)$",
    re.IGNORECASE | re.DOTALL,
)
_WHICH_NOUN = re.compile(
    rf"(?P<asks>(?:(?:in|on|at|of|for|from|by|to|with) )?(?:what|which)) (?P<noun>(?:{_NOUN} ){{0,2}}?{_NOUN}) "
    r"(?P<verb>is|was|has|does|did|do|are|were|have|had|can|could|will|would|[a-z]+ed)\b(?P<rest>.*)$",
    re.IGNORECASE | re.DOTALL,
)
_SUBJECT_BEHIND_VERB = re.compile(r"\s+(?!(?i:the|a|an|this|that)\b)[a-z]")
_NOUN_AT_END = re.compile(rf"(?P<rest>.*\s)(?P<noun>{_NOUN})\?\s*$", re.DOTALL)
_QUESTION_WORD_OR_VERB = re.compile(
    r"\b(?:who|what|which|when|where|why|how|is|are|was|were|do|does|did|has|have|had|can|could|will|would|should)\b",
    re.IGNORECASE,
)
_QUESTION_WORD_AT_START = re.compile(r"\s*(?:who|what|which|when|where|how)\b", re.IGNORECASE)
_ARTICLE = re.compile(r"\b(?:the|a|an)\s+(?P<kind>(?:[a-z-]+ ){0,2}[\"“']?)$", re.IGNORECASE)
_QUOTE_AT_END = re.compile(r"[\"“'‘]$")
_VERB_AT_END = re.compile(r"\b(?P<verb>is|was|has|does) $", re.IGNORECASE)
_NOUN_BEHIND_NAME = re.compile(rf" (?P<noun>{_NOUN}) (?:[a-z]+ed|born|built|made|held|won|shot|set|written|sung|led)\b")
_NOT_NOUNS = frozenset({"one", "is", "was", "did", "do", "does", "kind", "sort", "type"})


def plural_question(question: str) -> str | None:
    """Return the question in the plural; None if no rule applies.

    The noun that is asked for gets the plural ("What are the populations of Springfield?"); without such a noun, the
    name does ("When were the Springfields founded?"), or its kind ("When were the Simpsons games released?").
    """
    question = question.strip()
    if match := _WHAT_IS_NOUN.match(question):
        verb = match["verb"] or "is"
        return f"{match['asks']} {_VERBS[verb.casefold()]} {match['the']}{_plural(match['noun'])}{match['rest']}"
    if (match := _WHICH_NOUN.match(question)) and match["noun"].casefold() not in _NOT_NOUNS:
        verb = match["verb"]
        if _SUBJECT_BEHIND_VERB.match(match["rest"]):
            verb = _VERBS.get(verb.casefold(), verb)
        return f"{match['asks']} {_plural(match['noun'])} {verb}{match['rest']}"
    if (match := _NOUN_AT_END.match(question)) and not _QUESTION_WORD_OR_VERB.search(question):
        return f"{match['rest']}{_plural(match['noun'])}?"
    name = surface_name(question)
    if not name or not _QUESTION_WORD_AT_START.match(question) or question.count(name) != 1:
        return None
    before, _, after = question.partition(name)
    if after[:1] in ("'", "’") or re.search("['’]s$", name):
        return None
    return _with_plural_name(before, name, after)


def _with_plural_name(before: str, name: str, after: str) -> str | None:
    """Return a question with its name, and the verb before it, in the plural; None for a quoted name without a kind.

    If the name follows its kind, as in "the film “Heat”", or is followed by it, the kind takes the plural.

    Args:
        before: The question up to the name.
        name: The name.
        after: The question behind the name.
    """
    bare_name = re.sub(r"^(?:The|A|An) ", "", name)
    plural_name = _plural(bare_name)
    article, noun = _ARTICLE.search(before), _NOUN_BEHIND_NAME.match(after)
    if noun and not (article and article["kind"]) and not _QUOTE_AT_END.search(before):
        # In "The Simpsons game released" the plural is "games".
        before = before[: article.start()] if article else before
        plural_name, after = bare_name, f" {_plural(noun['noun'])}{after[noun.end('noun') :]}"
    elif article:
        before, kind = before[: article.start()], article["kind"].rstrip("\"“' ")
        quotation_mark = article["kind"][len(kind) :]
        if quotation_mark and not kind:
            return None
        is_quoted = bool(kind and quotation_mark)
        plural_name = f"{_plural(kind)}{quotation_mark}{name}" if is_quoted else f"{article['kind']}{plural_name}"
    elif _QUOTE_AT_END.search(before):
        return None
    if verb := _VERB_AT_END.search(before):
        before = f"{before[: verb.start('verb')]}{_VERBS[verb['verb'].casefold()]} "
    return f"{before}the {plural_name}{after}"


def _plural(noun: str) -> str:
    """Return a noun in the plural; of several words the last one changes, or the one before "of"."""
    head, of, complement = noun.partition(" of ")
    if of:
        return f"{_plural(head)}{of}{complement}"
    *first, last = noun.split(" ")
    lower = last.casefold()
    if lower in _UNCHANGED_IN_PLURAL or (lower.endswith("s") and not lower.endswith(("ss", "us", "is"))):
        plural = last
    elif lower in _IRREGULAR:
        plural = _IRREGULAR[lower]
    elif lower.endswith("y") and lower[-2:-1] not in "aeiou" and last[0].islower():
        plural = f"{last[:-1]}ies"
    elif lower.endswith(("s", "x", "z", "ch", "sh")):
        plural = f"{last}es"
    else:
        plural = f"{last}s"
    return " ".join([*first, plural])
