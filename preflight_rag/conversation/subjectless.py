"""Messages without a subject of their own, which mean what was just spoken of: "Who is playing?", "if we take less?".

Only messages of question words, pronouns, verbs and words of degree count. Any noun or name may be a subject of its
own, and so may what "we" always do: "When do we open?" is a whole question.
"""

from __future__ import annotations

import re

from preflight_rag.text.words import STOP_WORDS, words

_LEAD_IN = re.compile(r"(?:(?:ok(?:ay)?|and|but|so|or|then|also)\b[\s,]*)+", re.I)
_BE = r"(?:is|are|was|were|will be|has been|have been)"
_ADVERB = r"(?:also|else|actually|still|not|only|always|usually|already|ever|then)"
_WHO_IS_DOING = re.compile(
    rf"(?:who(?:['’]s)?|who else) (?:{_BE} )?(?:{_ADVERB} )?"
    r"(?!(?:king|viking|sibling|sterling|darling|being)\b)[a-z]{2,18}ing(?P<rest>(?: [a-z]+){0,3})"
)
"""A question for whoever does something, in lower case: "who is playing", "who's coming then"."""
_ACTOR = re.compile(r"(?:we|they|he|she|anyone|anybody|someone|somebody|nobody|everyone|everybody)", re.I)
"""Whoever acts in what was spoken of; "I" and "you" ask whole questions: "Who do I complain to?"."""
_BEFORE_A_VERB = re.compile(
    r"(?:is|are|was|were|be|been|do|does|did|don['’]t|doesn['’]t|didn['’]t|has|have|had|can|can['’]t|could|will|won['’]t"
    r"|would|should|may|might|must|cannot|not|never|also|only|ever|really|actually|originally|first|already|to|get|got)",
    re.I,
)
"""Auxiliaries and adverbs between whoever acts and the verb."""
_DEGREE = re.compile(
    r"(?:much|many|long(?:er)?|often|far|soon(?:er)?|less|more|fewer|later?|earl(?:y|ier)|faster|slower|instead"
    r"|otherwise|else|yet|exactly|altogether|originally|together|then|again|first|happen(?:s|ed)?)"
)
"""Words of degree and time, which name nothing."""
_OF_A_CASE = re.compile(r"what (?:happens|happened|would happen|will happen) (?:if|when|unless|otherwise)\b", re.I)
_LEFT_OPEN = re.compile(
    r"\b(?:less|more|fewer|sooner|later|earlier|longer|instead|otherwise)$"
    r"|\b(?:did|had|was|were)\b.* (?:for|to|with|of|from|about)$",
    re.I,
)
"""Ends of a question that leave out what it is about: "how much had we asked for", "can we pay later".

What "we" always report to or pay for is no part of what was spoken of, so a preposition ends questions of the past.
"""
_MOST_WORDS = 10
"""Words of such a message; a guess."""
_SAYS_NOTHING = frozenset(words("happen happens much many"))


def has_no_subject(message: str) -> bool:
    """Return whether a message names nothing that it is about, not even with a pronoun that a name could replace."""
    bare = message.strip(" ?.!")
    lead = _LEAD_IN.match(bare)
    asked = bare[lead.end() :] if lead else bare
    asked = f"{asked[:1].lower()}{asked[1:]}"
    tokens = asked.split()
    if not tokens or len(tokens) > _MOST_WORDS:
        return False
    if doing := _WHO_IS_DOING.fullmatch(asked):
        return all(_names_nothing(word) for word in doing["rest"].split())
    leaves_open = _LEFT_OPEN.search(asked) is not None
    return (leaves_open or _OF_A_CASE.match(asked) is not None) and _has_only_verbs(tokens)


def own_words(message: str) -> frozenset[str]:
    """Return the content words of a message without those that say nothing of what it asks: "happens", "much"."""
    return frozenset(words(message)) - STOP_WORDS - _SAYS_NOTHING


def _names_nothing(word: str) -> bool:
    """Return whether a word is one of grammar, degree or time."""
    bare = re.sub(r"['’]\w+$", "", word).casefold().strip(",")
    return bare in STOP_WORDS or _DEGREE.fullmatch(bare) is not None


def _has_only_verbs(tokens: list[str]) -> bool:
    """Return whether somebody acts in a question, and all its other words are verbs or name nothing."""
    is_verb_next = has_actor = False
    for token in tokens:
        if _ACTOR.fullmatch(token):
            is_verb_next = has_actor = True
        elif is_verb_next and not _BEFORE_A_VERB.fullmatch(token):
            is_verb_next = False
            if not re.fullmatch(r"[a-z]+(?:['’]t)?", token):
                return False  # a name or a figure
        elif not _names_nothing(token) and not _BEFORE_A_VERB.fullmatch(token):
            return False
    return has_actor
