"""Answers out of sentences about another thing of the same kind: another award, another lease, another exercise.

The extractive reader takes the day of the café's lease for "When does the shop's lease end?", and who won the
volunteer award for "Who received the education award?". A noun of the question stands in such a sentence with another
noun or adjective before it, or behind its "of", than in the question. By rule, in English; a wrong claim costs more
than a missing one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from preflight_rag.state.reading import Source
from preflight_rag.text.names import surface_names
from preflight_rag.text.question_forms import may_answer
from preflight_rag.text.sentence_fit import POINTS_BACK
from preflight_rag.text.sentences import sentence_spans
from preflight_rag.text.values import last_question
from preflight_rag.text.words import STOP_WORDS, words, words_by_token

_TOKEN = re.compile(r"[^\W_]+(?:[-'’][^\W_]+)*")
_BEFORE_VERB = frozenset(
    ["do", "does", "did", "will", "would", "can", "could", "should", "shall", "must", "may", "might"]
)
_BEFORE_PARTICIPLE = frozenset(["is", "are", "was", "were", "be", "been", "being", "has", "have", "had"])
_PARTICIPLE = re.compile(
    r"\w+ed|held|sold|built|made|paid|found|given|taken|written|kept|set|shut|won|lost|chosen|sent|bought|begun|left"
    r"|done|known|put|hung|cut|run|met|seen|shown|worn|drawn|grown|brought|caught|taught|thrown|stolen|broken|closed"
)
_ASKED_FOR = frozenset(["many", "much", "which", "what", "whose"])
"""Words before what is asked for, which an answer names in words of its own: "Which city", "How many people"."""
_GENERIC = frozenset(
    words(
        "main total whole overall exact current present full real actual correct official first last next new old own"
        " usual normal standard regular typical average maximum minimum different various several primary principal"
        " estimated expected approximate recommended planned approved"
    )
)
"""Index terms that do not tell two things of a kind apart, or that documents leave out."""
_SYNONYMS = (
    frozenset(words("phone telephone mobile tel")),
    frozenset(words("email mail e-mail")),
    frozenset(words("yearly annual")),
    frozenset(words("monthly month")),
    frozenset(words("weekly week")),
    frozenset(words("child children kid kids")),
)
"""Index terms that tell things apart, and mean the same."""
NO_SUBJECT = frozenset(words("how much many long often old cost costs price get take takes last"))
LEAST_SHARED = 0.5
"""Least share of a question's words in a sentence that may answer it; a guess."""
LEAST_ABOUT = 1 / 3
"""Least share of them in a sentence that is about what is asked; a guess."""
_OF = re.compile(r"\b(?P<noun>[a-z]{4,30}) of (?:(?:the|our|an?|its|their|this) )?(?P<what>[\w-]{3,30})", re.IGNORECASE)
_LONGEST_PHRASE = 6
"""Words of a noun phrase; a guess."""
_MOST_BEFORE, _MOST_BEHIND = 2, 4
"""Words before a noun, and behind its "of", that tell which one is meant; a guess."""


@dataclass(frozen=True)
class _Phrase:
    """Words of a question between its function words, and the function words before them."""

    words: tuple[str, ...]
    before: tuple[str, ...]
    capital: bool


def is_of_another_thing(question: str, source: Source, quote: str) -> bool:
    """Return whether a sentence is about another thing of the kind that the question names.

    Args:
        question: The question.
        source: The passage.
        quote: The sentence, as it stands in it.
    """
    asked = last_question(question)
    known = frozenset(words_by_token(asked))
    around = f"{source.title.replace('_', ' ')}\n{source.heading}\n{quote}"
    before = _sentence_before(source.text, quote) if POINTS_BACK.match(quote) else ""
    stated = frozenset(words_by_token(f"{before}\n{quote}"))
    placed = stated | frozenset(words_by_token(around))
    titled = frozenset(words_by_token(source.title.replace("_", " ")))
    if _is_of_another_owner(asked, quote, stated):
        return True
    phrases = list(_phrases(asked))
    for which, noun in _qualified(phrases):
        if placed & _alike(which) or noun not in placed:
            continue
        if any(_qualifiers(line, noun) - known - titled - _GENERIC for line in around.split("\n")):
            return True
    return any(_is_missing(phrase, stated, placed) for phrase in phrases)


def _is_of_another_owner(asked: str, quote: str, stated: frozenset[str]) -> bool:
    """Return whether a question has "the repair of the boiler" and a sentence "the repair of the roof" alone."""
    for match in _OF.finditer(asked):
        wanted = frozenset(words_by_token(match["what"])) - STOP_WORDS
        if not wanted or wanted & stated:
            continue
        noun = match["noun"].casefold()
        if any(other["noun"].casefold() == noun for other in _OF.finditer(quote)):
            return True
    return False


def subject_words(question: str) -> frozenset[str]:
    """Return the words by which the last of several questions names something."""
    return frozenset(words(last_question(question))) - STOP_WORDS - NO_SUBJECT


def answers_to(question: str, source: Source, quote: str) -> bool:
    """Return whether a sentence may answer a question: it is about its thing, and has half of its words.

    Args:
        question: The question.
        source: The passage; the words of its title and heading count.
        quote: The sentence, as it stands in it.
    """
    asked = subject_words(question)
    stated = frozenset(words(f"{source.title} {source.heading} {quote}"))
    if len(asked & stated) < LEAST_SHARED * len(asked) or is_of_another_thing(question, source, quote):
        return False
    named = frozenset(words_by_token(f"{source.title} {source.heading} {quote}"))
    return not any(named.isdisjoint(words_by_token(" ".join(name))) for name in surface_names(last_question(question)))


def says_about(question: str, source: Source, quote: str) -> bool:
    """Return whether a sentence says something about what a question asks, whatever its answer is.

    It is about the question's thing, has a third of its words with its title and heading, and gives a reason where one
    is asked for.

    Args:
        question: The question.
        source: The passage; the words of its title and heading count.
        quote: The sentence, as it stands in it.
    """
    asked = subject_words(question)
    stated = frozenset(words(f"{source.title} {source.heading} {quote}"))
    is_about = len(asked & stated) >= LEAST_ABOUT * len(asked) and not is_of_another_thing(question, source, quote)
    return is_about and may_answer(question, quote)


def _is_missing(phrase: _Phrase, stated: frozenset[str], placed: frozenset[str]) -> bool:
    """Return whether a sentence has no word of a phrase of two or more, and its title and heading not the noun.

    Names are looked at elsewhere.
    """
    terms = [frozenset(words_by_token(word)) for word in phrase.words]
    if len(terms) < 2 or phrase.capital or not all(terms):
        return False
    return all(stated.isdisjoint(each) for each in terms) and placed.isdisjoint(terms[-1])


def _sentence_before(text: str, quote: str) -> str:
    """Return the sentence before a quote, to which it may refer; "" if there is none."""
    start = text.find(quote)
    before = [text[begin:end] for begin, end in sentence_spans(text) if end <= start] if start > 0 else []
    return before[-1] if before else ""


def _phrases(question: str) -> Iterator[_Phrase]:
    """Yield the noun phrases of a question, without the verb behind an auxiliary and without what is asked for."""
    before: list[str] = []
    found: list[str] = []
    end = 0
    for match in (*_TOKEN.finditer(question), None):
        word = match.group() if match else ""
        is_content = bool(match) and _is_content(word)
        broken = match is None or bool(question[end : match.start()].strip())
        if is_content and found and word[0].isupper() and found[-1].islower():  # "did the company buy | Boots"
            yield from _trimmed(found, before)
            found = []
        if found and (broken or not is_content):
            yield from _trimmed(found, before)
            found, before = [], []
        if broken:
            before = []
        if is_content:
            found.append(word)
        elif match:
            before.append(word.casefold())
        end = match.end() if match else end


def _trimmed(found: list[str], before: list[str]) -> Iterator[_Phrase]:
    """Yield a phrase without its verb; none if it is what the question asks for."""
    if not before or (before[-1] in _ASKED_FOR):
        return
    kept = list(found)
    # Of one word alone nobody knows whether it is the verb: "did it | open", "did the | lease | of the shop end".
    if len(kept) == 1:
        pass
    elif _BEFORE_VERB.intersection(before) or (
        _BEFORE_PARTICIPLE.intersection(before) and _PARTICIPLE.fullmatch(kept[-1])
    ):
        kept = kept[:-1]
    elif before[-1] in ("who", "that"):
        kept = kept[1:]
    kept = kept[-_LONGEST_PHRASE:]
    if kept:
        yield _Phrase(tuple(kept), tuple(before), any(word[0].isupper() for word in kept))


def _qualified(phrases: list[_Phrase]) -> Iterator[tuple[str, str]]:
    """Yield nouns with what tells which one is meant, as index terms: (education, award), and (shop, opening)."""
    for place, phrase in enumerate(phrases):
        terms = [words_by_token(word)[:1] for word in phrase.words]
        for at, which in enumerate(terms):
            for noun in terms[at + 1 :]:
                yield from _pair(which, noun)
        behind = phrases[place + 1] if place + 1 < len(phrases) else None
        if behind and terms and behind.before[:1] in (("of",), ("for",)):
            for word in behind.words:
                yield from _pair(words_by_token(word)[:1], terms[-1])


def _alike(term: str) -> frozenset[str]:
    """Return the terms that mean the same as a term, with itself."""
    return next((group for group in _SYNONYMS if term in group), frozenset([term]))


def _pair(which: list[str], noun: list[str]) -> Iterator[tuple[str, str]]:
    """Yield two index terms, if there are two and the first tells things of the second's kind apart."""
    if which and noun and which[0] not in _GENERIC and which != noun:
        yield which[0], noun[0]


def _qualifiers(text: str, noun: str) -> frozenset[str]:
    """Return the index terms that tell, at each place of a noun, which one is meant: before it and behind its "of"."""
    tokens = list(_TOKEN.finditer(text))
    found: list[str] = []
    for place, token in enumerate(tokens):
        if noun not in words_by_token(token.group()):
            continue
        for at in range(place - 1, max(-1, place - 1 - _MOST_BEFORE), -1):
            if not _joins(text, tokens[at], tokens[at + 1]):
                break
            found.append(tokens[at].group())
        following = tokens[place + 1 : place + 2]
        if following and following[0].group().casefold() == "of":
            for at in range(place + 2, min(len(tokens), place + 2 + _MOST_BEHIND)):
                if text[tokens[at - 1].end() : tokens[at].start()].strip():
                    break
                found.append(tokens[at].group())
    return frozenset(words_by_token(" ".join(filter(_is_content, found))))


def _is_content(word: str) -> bool:
    """Return whether a word can be a part of a noun phrase: no function word, number, or "many" of "how many"."""
    return word.casefold() not in STOP_WORDS | _ASKED_FOR and not word.isdigit()


def _joins(text: str, word: re.Match[str], after: re.Match[str]) -> bool:
    """Return whether a word belongs to the noun phrase of the word after it."""
    return _is_content(word.group()) and not text[word.end() : after.start()].strip()
