"""Messages without a subject of their own, which mean what was just spoken of: "Who is playing?", "if we take less?".

Only messages of question words, pronouns, verbs and words of degree count. Any noun or name may be a subject of its
own, and so may what "we" always do: "When do we open?" is a whole question.
"""

from __future__ import annotations

import re

from preflight_rag.text.words import STOP_WORDS, words

_LEADING_CONNECTIVES = re.compile(r"(?:(?:ok(?:ay)?|and|but|so|or|then|also)\b[\s,]*)+", re.I)
_FORMS_OF_BE = r"(?:is|are|was|were|will be|has been|have been)"
_ADVERBS = r"(?:also|else|actually|still|not|only|always|usually|already|ever|then)"
_WHO_IS_DOING = re.compile(
    rf"(?:who(?:['’]s)?|who else) (?:{_FORMS_OF_BE} )?(?:{_ADVERBS} )?"
    r"(?!(?:king|viking|sibling|sterling|darling|being)\b)[a-z]{2,18}ing(?P<rest>(?: [a-z]+){0,3})"
)
"""A question who does something, in lower case: "who is playing", "who's coming then"."""
_ACTOR = re.compile(r"(?:we|they|he|she|anyone|anybody|someone|somebody|nobody|everyone|everybody)", re.I)
"""A pronoun for whoever acts in what was spoken of; "I" and "you" ask whole questions: "Who do I complain to?"."""
_WORD_BEFORE_VERB = re.compile(
    r"(?:is|are|was|were|be|been|do|does|did|don['’]t|doesn['’]t|didn['’]t|has|have|had|can|can['’]t|could|will|won['’]t"
    r"|would|should|may|might|must|cannot|not|never|also|only|ever|really|actually|originally|first|already|to|get|got)",
    re.I,
)
"""An auxiliary or adverb between the actor and the verb."""
_DEGREE_OR_TIME_WORD = re.compile(
    r"(?:much|many|long(?:er)?|often|far|soon(?:er)?|less|more|fewer|later?|earl(?:y|ier)|faster|slower|instead"
    r"|otherwise|else|yet|exactly|altogether|originally|together|then|again|first|happen(?:s|ed)?)"
)
"""A word of degree or time, which names no topic."""
_ASKS_WHAT_IF = re.compile(r"what (?:happens|happened|would happen|will happen) (?:if|when|unless|otherwise)\b", re.I)
_ENDS_WITHOUT_OBJECT = re.compile(
    r"\b(?:less|more|fewer|sooner|later|earlier|longer|instead|otherwise)$"
    r"|\b(?:did|had|was|were)\b.* (?:for|to|with|of|from|about)$",
    re.I,
)
"""The end of a question that leaves out what it is about: "how much had we asked for", "can we pay later".

What "we" always report to or pay for is no part of what was spoken of, so that a preposition at the end counts only in
questions about the past.
"""
_MOST_WORDS = 10
"""Words up to which a message may have no subject; a guess."""
_WORDS_WITHOUT_TOPIC = frozenset(words("happen happens much many"))


def has_no_subject(message: str) -> bool:
    """Return whether a message names nothing that it is about, not even with a pronoun that a name could replace.

    Such messages are "Who is playing?", "And what happens if we are late?" and "How much had we asked for?".
    """
    bare = message.strip(" ?.!")
    connectives = _LEADING_CONNECTIVES.match(bare)
    question = bare[connectives.end() :] if connectives else bare
    question = f"{question[:1].lower()}{question[1:]}"
    tokens = question.split()
    if not tokens or len(tokens) > _MOST_WORDS:
        return False
    if who_is_doing := _WHO_IS_DOING.fullmatch(question):
        return all(_is_word_without_topic(word) for word in who_is_doing["rest"].split())
    leaves_topic_out = _ENDS_WITHOUT_OBJECT.search(question) or _ASKS_WHAT_IF.match(question)
    return leaves_topic_out is not None and _has_actor_and_only_verbs(tokens)


def own_words(message: str) -> frozenset[str]:
    """Return the content words of a message, without such as "happens" and "much" that do not tell what it asks."""
    return frozenset(words(message)) - STOP_WORDS - _WORDS_WITHOUT_TOPIC


def _is_word_without_topic(word: str) -> bool:
    """Return whether a word is a function word or one of degree or time, and so names no topic."""
    bare = re.sub(r"['’]\w+$", "", word).casefold().strip(",")
    return bare in STOP_WORDS or _DEGREE_OR_TIME_WORD.fullmatch(bare) is not None


def _has_actor_and_only_verbs(tokens: list[str]) -> bool:
    """Return whether a question has an actor such as "we", and its other words are verbs or name no topic."""
    expects_verb = has_actor = False
    for token in tokens:
        if _ACTOR.fullmatch(token):
            expects_verb = has_actor = True
        elif expects_verb and not _WORD_BEFORE_VERB.fullmatch(token):
            # The first word behind the actor and its auxiliaries is taken for the verb.
            expects_verb = False
            if not re.fullmatch(r"[a-z]+(?:['’]t)?", token):
                return False  # a name or a figure
        elif not _is_word_without_topic(token) and not _WORD_BEFORE_VERB.fullmatch(token):
            return False
    return has_actor
