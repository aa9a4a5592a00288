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

_NEGATING_WORDS = "not?|never|none|neither|nor|without|cannot"
NEGATION = re.compile(rf"\b(?:{_NEGATING_WORDS})\b|n['’]t\b", re.IGNORECASE)
"""Words that deny the sentence that contains them."""
DENIAL = re.compile(rf"\b(?:{_NEGATING_WORDS}|fail\w*|lack\w*|unlikely)\b|n['’]t\b", re.IGNORECASE)
"""Words that deny, with those by which studies report that something is not so: "failed to reduce"."""
_NOT_ONLY = re.compile(r"\bnot (?:only|just|merely|simply)\b", re.IGNORECASE)
TYPED_NEGATION = re.compile(
    rf"\b(?:{_NEGATING_WORDS}|non|\w+n['’]t"
    r"|(?:do|does|did|is|are|was|were|ca|wo|should|could|would|has|have|had|need|must|ai)nt)\b",
    re.IGNORECASE,
)
"""Negations as typed into a search box, also without the apostrophe: "dont", "cant"."""


_CONTRASTED_FIGURE = re.compile(
    r"(?P<is>\d[^.;,\n]{0,30}?)(?:,| and| but) not (?:(?:on|in|at|by|from|until|before|after|for|to) )?(?:the )?"
    r"\d[\w:.]*(?: \w+)?"
)
"""A number with another one that is denied beside it: "on 20 October and not on 6 October"."""


def denies(text: str) -> bool:
    """Return whether a text contains a denial; "not only" does not count."""
    return bool(DENIAL.search(_NOT_ONLY.sub(" ", text)))


_DENIES_REST_OF_CLAUSE = re.compile(
    r"(?:not|never|no|none|neither|nor|cannot|\w+n['’]t|hardly|rarely|fail(?:s|ed|ing)?)", re.I
)
"""Words that deny what follows them in their clause."""
_DENIES_NEXT_PHRASE = re.compile(r"(?:without|lack(?:s|ed|ing)?|excluding|minus)", re.I)
"""Words that deny what directly follows, and nothing before them: "grows without oxygen" says that it grows."""
_DENIES_WHOLE_CLAUSE = re.compile(
    r"(?:exclud(?:e|es|ed)|forbid(?:s|den)?|prohibit(?:s|ed)?|ban(?:s|ned)|exempt(?:s|ed)?|refus(?:e|es|ed)|unable"
    r"|den(?:y|ies|ied)|missing|absent|impossible|ineligible|unavailable)",
    re.I,
)
"""Words that deny their whole clause: "storm damage is excluded by the plan"."""
_EXCEPTION = re.compile(r"\b(?:except|only|other than|apart from|but not|unless|save for|with the exception)\b", re.I)
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
_OPPOSITE_AMOUNTS = ({"more"}, {"fewer", "less"}), ({"most"}, {"fewest", "least"}), ({"above"}, {"below"})
_WORD_OR_SIGN = re.compile(r"\w+(?:[-'’]\w+)*|[^\w\s]")


def polarity(question: str, sentence: str) -> int:
    """Return 1 if a sentence affirms what a question asks, -1 if it denies it, 0 if neither is clear.

    The clause that shares most terms with the question decides: if one of these is denied in only one of the two, the
    sentence says the opposite. It is unclear if only the sentence makes an exception ("except", "only").
    """
    sentence = _CONTRASTED_FIGURE.sub(r"\g<is>", sentence)
    forms = _word_forms(question) | _word_forms(sentence)
    # Only words that are there without the prefix, too, matter; with so few the question is analysed once for many
    # sentences.
    without_prefix = {form: _NEGATING_PREFIX.sub("", form, count=1) for form in forms}
    negatable = frozenset(bare for form, bare in without_prefix.items() if bare != form and bare in forms)
    asked = _denied_terms(question.rstrip("?!. "), negatable)
    denied_by_question = {term for term, is_denied in asked.items() if is_denied}
    if _have_opposite_amounts(question, sentence):
        return -1
    most_shared = sign = 0
    for clause in _clauses(sentence.rstrip("?!. ")):
        stated = _denied_terms(clause, negatable)
        shared = asked.keys() & stated.keys()
        if 2 * len(shared & denied_by_question) < len(denied_by_question):
            continue  # the clause is about something else than what the question denies
        if len(shared) > most_shared:
            most_shared, sign = len(shared), _compare_denials(asked, stated)
    has_new_exception = _EXCEPTION.search(sentence) and not _EXCEPTION.search(question)
    return 0 if has_new_exception else sign


def _compare_denials(asked: Mapping[str, bool | None], stated: Mapping[str, bool | None]) -> int:
    """Return 1 if the terms that a question and a clause share are denied in both or in neither, else -1.

    Where it is open for all of them in one of the two, it counts whether either text denies anything. The texts are
    given as in the result of `_denied_terms`, with at least one shared term.
    """
    shared = asked.keys() & stated.keys()
    clear = [term for term in shared if asked[term] is not None and stated[term] is not None]
    if clear:
        return 1 if all(asked[term] == stated[term] for term in clear) else -1
    return 1 if _has_denied_part(asked) == _has_denied_part(stated) else -1


@lru_cache(maxsize=64)
def _word_forms(text: str) -> frozenset[str]:
    """Return the words and punctuation of a text, casefolded."""
    return frozenset(token.casefold() for token in _WORD_OR_SIGN.findall(text))


@lru_cache(maxsize=4096)
def _terms(token: str) -> tuple[str, ...]:
    """Return the index terms of one word."""
    return tuple(words(token))


def _has_denied_part(is_denied: Mapping[str, bool | None]) -> bool:
    """Return whether any term is denied, or may be: None."""
    return any(is_denied.values()) or None in is_denied.values()


def _have_opposite_amounts(question: str, sentence: str) -> bool:
    """Return whether question and sentence state opposite amounts, e.g. more and fewer."""
    asked, stated = _word_forms(question), _word_forms(sentence)
    for pair in _OPPOSITE_AMOUNTS:
        for words_of_question, words_of_sentence in (pair, pair[::-1]):
            asks_only_one = asked & words_of_question and not asked & words_of_sentence
            states_only_other = stated & words_of_sentence and not stated & words_of_question
            if asks_only_one and states_only_other:
                return True
    return False


def _clauses(sentence: str) -> Iterator[str]:
    """Yield the clauses of a sentence, without the marks and conjunctions between them; some may be empty."""
    start = 0
    for end in _CLAUSE_END.finditer(sentence):
        yield sentence[start : end.start()]
        start = end.end()
    yield sentence[start:]


def _denied_terms(clause: str, negatable: frozenset[str]) -> dict[str, bool | None]:
    """Return the index terms of a clause, each with whether the clause denies it; None if that is open.

    In "The roof does not leak", "leak" is denied, and it is open whether "roof" is.

    Args:
        clause: The clause.
        negatable: Words of both texts, casefolded: "un-" is a denial only if the word without it is among them.
    """
    clause = _NOT_ONLY.sub(" ", clause)
    tokens = [token for token in _WORD_OR_SIGN.findall(clause) if token[0].isalnum()]
    # Two such words in one clause cancel each other.
    is_clause_denied = sum(bool(_DENIES_WHOLE_CLAUSE.fullmatch(token)) for token in tokens) % 2 == 1
    is_rest_denied = is_phrase_denied = False
    terms: dict[str, bool | None] = {}
    before_denial: list[str] = []
    for token in tokens:
        if _DENIES_REST_OF_CLAUSE.fullmatch(token):
            is_rest_denied = not is_rest_denied
            is_phrase_denied = False
            terms |= dict.fromkeys(before_denial)
            continue
        if _DENIES_NEXT_PHRASE.fullmatch(token):
            is_phrase_denied = True
            continue
        if is_phrase_denied and _PHRASE_END.fullmatch(token):
            is_phrase_denied = False
        word = token.casefold()
        if word in STOP_WORDS or word == "longer" or _DENIES_WHOLE_CLAUSE.fullmatch(token):
            continue
        without_prefix = _NEGATING_PREFIX.sub("", word, count=1)
        has_negating_prefix = without_prefix != word and without_prefix in negatable
        for term in _terms(without_prefix if has_negating_prefix else token):
            # Each denial reverses the one before: "not without", "not unsafe".
            terms[term] = is_clause_denied ^ is_rest_denied ^ is_phrase_denied ^ has_negating_prefix
            if not is_rest_denied:
                before_denial.append(term)
    return terms
