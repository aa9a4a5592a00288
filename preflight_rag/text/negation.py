"""Negations in English sentences: patterns, whether a text denies something, and whether a sentence says the opposite.

`polarity` finds the scope of a denial: "not", "no" and "never" deny the words after them up to the end of their clause,
and leave open what precedes them; "without" and "lacks" deny what follows, "forbidden" and "excluded" the whole clause,
"un-" the word itself. By rule, in English.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache

from preflight_rag.text.words import STOP_WORDS, words

_WORDS = "not?|never|none|neither|nor|without|cannot"
NEGATION = re.compile(rf"\b(?:{_WORDS})\b|n['’]t\b", re.IGNORECASE)
"""Words that deny the sentence that contains them."""
DENIAL = re.compile(rf"\b(?:{_WORDS}|fail\w*|lack\w*|unlikely)\b|n['’]t\b", re.IGNORECASE)
"""The same with words by which studies report that something is not so: "failed to reduce", "lack of effect"."""
_NOT_ONLY = re.compile(r"\bnot (?:only|just|merely|simply)\b", re.IGNORECASE)
TYPED_NEGATION = re.compile(
    rf"\b(?:{_WORDS}|non|\w+n['’]t"
    r"|(?:do|does|did|is|are|was|were|ca|wo|should|could|would|has|have|had|need|must|ai)nt)\b",
    re.IGNORECASE,
)
"""Negations as typed into a search box, also without the apostrophe: "dont", "cant"."""


_CONTRAST = re.compile(
    r"(?P<is>\d[^.;,\n]{0,30}?)(?:,| and| but) not (?:(?:on|in|at|by|from|until|before|after|for|to) )?(?:the )?"
    r"\d[\w:.]*(?: \w+)?"
)
"""What a figure is not, beside what it is: "on 20 October and not on 6 October"."""


def denies(text: str) -> bool:
    """Return whether a text contains a denial; "not only" does not count."""
    return bool(DENIAL.search(_NOT_ONLY.sub(" ", text)))


_FORWARD = re.compile(r"(?:not|never|no|none|neither|nor|cannot|\w+n['’]t|hardly|rarely|fail(?:s|ed|ing)?)", re.I)
"""Words that deny what follows them in their clause."""
_OBJECT = re.compile(r"(?:without|lack(?:s|ed|ing)?|excluding|minus)", re.I)
"""Words that deny what directly follows, and nothing before them: "grows without oxygen" says that it grows."""
_WHOLE = re.compile(
    r"(?:exclud(?:e|es|ed)|forbid(?:s|den)?|prohibit(?:s|ed)?|ban(?:s|ned)|exempt(?:s|ed)?|refus(?:e|es|ed)|unable"
    r"|den(?:y|ies|ied)|missing|absent|impossible|ineligible|unavailable)",
    re.I,
)
"""Words that deny their whole clause: "storm damage is excluded by the plan"."""
_MIXED = re.compile(r"\b(?:except|only|other than|apart from|but not|unless|save for|with the exception)\b", re.I)
"""Words by which one sentence affirms and denies different things."""
_CLAUSE_END = re.compile(
    r"[;:.!?()]|,|\s[-–—]\s|\b(?:but|while|whereas|although|though|because|which|who)\b"
    r"|\band\b(?=\s(?:it|they|he|she|is|are|was|were|has|have|had|does|do|did|can|may|must|will)\b|\s\w+(?:s|ed)\s)",
    re.I,
)
"""The end of a clause; an "and" that joins two nouns does not end one."""
_PHRASE_END = re.compile(
    r"\b(?:and|or|in|on|at|for|by|from|to|is|are|was|were|has|have|had|does|do|did|can|may)\b", re.I
)
_NEGATING_PREFIX = re.compile(r"(?:un|non-?|in|im|ir|il|dis)(?=[a-z]{4})", re.I)
_OPPOSITES = ({"more"}, {"fewer", "less"}), ({"most"}, {"fewest", "least"}), ({"above"}, {"below"})
_TOKEN = re.compile(r"\w+(?:[-'’]\w+)*|[^\w\s]")


def polarity(question: str, sentence: str) -> int:
    """Return 1 if a sentence affirms what a question asks, -1 if it denies it, 0 if neither is clear.

    The words that both share are compared: if one is negated in only one of the two, the sentence says the opposite.
    """
    sentence = _CONTRAST.sub(r"\g<is>", sentence)
    both = _forms(question) | _forms(sentence)
    # Prefixes are only checked for words of either text; reduced to these words, the question is analysed once for all
    # sentences.
    forms = frozenset(
        bare for form in both if (bare := _NEGATING_PREFIX.sub("", form, count=1)) != form and bare in both
    )
    asked = _denied(question.rstrip("?!. "), forms)
    denied = {term for term, of in asked.items() if of}
    if _opposite_amounts(question, sentence):
        return -1
    best: tuple[int, int] = (0, 0)
    for clause in _clauses(sentence.rstrip("?!. ")):
        stated = _denied(clause, forms)
        shared = asked.keys() & stated.keys()
        if 2 * len(shared & denied) < len(denied):
            continue  # the sentence's denial, or its statement, is about something else
        known = [term for term in shared if asked[term] is not None and stated[term] is not None]
        if any(asked[term] != stated[term] for term in known):
            sense = -1
        elif known:
            sense = 1
        else:
            sense = 0 if not shared else 1 if _any_denied(asked) == _any_denied(stated) else -1
        if len(shared) > best[0]:
            best = len(shared), sense
    return 0 if best[1] and _MIXED.search(sentence) and not _MIXED.search(question) else best[1]


@lru_cache(maxsize=64)
def _forms(text: str) -> frozenset[str]:
    """Return the words and punctuation of a text, casefolded."""
    return frozenset(token.casefold() for token in _TOKEN.findall(text))


@lru_cache(maxsize=4096)
def _terms(token: str) -> tuple[str, ...]:
    """Return the index terms of one word."""
    return tuple(words(token))


def _any_denied(parts: Mapping[str, bool | None]) -> bool:
    """Return whether a part is denied, or unclear."""
    return any(parts.values()) or None in parts.values()


def _opposite_amounts(question: str, sentence: str) -> bool:
    """Return whether question and sentence state opposite amounts, e.g. more and fewer."""
    asked, stated = (frozenset(_TOKEN.findall(text.casefold())) for text in (question, sentence))
    for pair in _OPPOSITES:
        for mine, other in (pair, pair[::-1]):
            if asked & mine and not asked & other and stated & other and not stated & mine:
                return True
    return False


def _clauses(sentence: str) -> Iterator[str]:
    """Yield the clauses of a sentence, without those that have no word of their own."""
    at = 0
    for end in _CLAUSE_END.finditer(sentence):
        yield sentence[at : end.start()]
        at = end.end()
    yield sentence[at:]


@lru_cache(maxsize=4096)
def _denied(clause: str, forms: frozenset[str]) -> dict[str, bool | None]:
    """Return the index terms of a clause, and whether each is denied; None if that is open.

    Args:
        clause: The clause.
        forms: Words of both texts, casefolded: "un-" is a denial only if the word without it is among them.
    """
    clause = _NOT_ONLY.sub(" ", clause)
    tokens = [token for token in _TOKEN.findall(clause) if token[0].isalnum()]
    whole = sum(bool(_WHOLE.fullmatch(token)) for token in tokens) % 2 == 1
    ahead, phrase = False, False
    found: dict[str, bool | None] = {}
    before: list[str] = []
    for token in tokens:
        if _FORWARD.fullmatch(token):
            ahead = not ahead
            phrase = False
            found |= dict.fromkeys(before)
            continue
        if _OBJECT.fullmatch(token):
            phrase = True
            continue
        if phrase and _PHRASE_END.fullmatch(token):
            phrase = False
        folded = token.casefold()
        if folded in STOP_WORDS or folded == "longer" or _WHOLE.fullmatch(token):
            continue
        bare = _NEGATING_PREFIX.sub("", folded, count=1)
        turned = bare != folded and bare in forms
        for term in _terms(bare if turned else token):
            found[term] = whole ^ ahead ^ phrase ^ turned
            if not ahead:
                before.append(term)
    return found
