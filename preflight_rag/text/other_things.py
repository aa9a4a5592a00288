"""Detection of answers from sentences about another thing of the same kind: another award, lease or exercise.

The extractive reader takes the day of the café's lease for "When does the shop's lease end?", and who won the
volunteer award for "Who received the education award?". A noun of the question stands in such a sentence with another
noun or adjective before it, or behind its "of", than in the question. By rule, in English; a wrong claim costs more
than a missing one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, combinations, pairwise

from preflight_rag.state.reading import Source
from preflight_rag.text.names import surface_names
from preflight_rag.text.question_forms import may_answer
from preflight_rag.text.sentence_fit import PRONOUN_AT_START
from preflight_rag.text.sentences import sentence_spans
from preflight_rag.text.values import last_question
from preflight_rag.text.words import STOP_WORDS, words, words_by_token

_TOKEN = re.compile(r"[^\W_]+(?:[-'’][^\W_]+)*")
_AUXILIARIES = frozenset(
    ["do", "does", "did", "will", "would", "can", "could", "should", "shall", "must", "may", "might"]
)
_AUXILIARIES_OF_PARTICIPLES = frozenset(["is", "are", "was", "were", "be", "been", "being", "has", "have", "had"])
_PARTICIPLE = re.compile(
    r"\w+ed|held|sold|built|made|paid|found|given|taken|written|kept|set|shut|won|lost|chosen|sent|bought|begun|left"
    r"|done|known|put|hung|cut|run|met|seen|shown|worn|drawn|grown|brought|caught|taught|thrown|stolen|broken|closed"
)
_WORDS_ASKING = frozenset(["many", "much", "which", "what", "whose"])
"""Words before the kind of thing that is asked for, which answers need not repeat: "Which city", "How many people"."""
_GENERIC_TERMS = frozenset(
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
"""Groups of index terms that mean the same."""
NO_SUBJECT = frozenset(words("how much many long often old cost costs price paid spent get take takes last"))
"""Words that say what is asked of a thing, and not which thing: a row of an award list has no "paid"."""
LEAST_SHARED = 0.5
"""Least share of a question's words in a sentence that may answer it; a guess."""
LEAST_SHARED_ABOUT = 1 / 3
"""Least share of a question's words in a sentence that is about what is asked; a guess."""
_NOUN_OF = re.compile(
    r"\b(?P<noun>[a-z]{4,30}) of (?:(?:the|our|an?|its|their|this) )?(?P<what>[\w-]{3,30})", re.IGNORECASE
)
_MAX_PHRASE_WORDS = 6
"""Most words of a noun phrase; a guess."""
_MAX_WORDS_BEFORE, _MAX_WORDS_BEHIND = 2, 4
"""Most words before a noun, and behind its "of", that tell which one is meant; guesses."""


@dataclass(frozen=True)
class _Phrase:
    """A noun phrase of a question.

    Attributes:
        words: Its words, of which the last is the noun.
        before: The function words between it and the phrase before it, in lower case.
        has_capital: Whether one of its words begins with a capital.
    """

    words: tuple[str, ...]
    before: tuple[str, ...]
    has_capital: bool


def is_of_another_thing(question: str, source: Source, quote: str) -> bool:
    """Return whether a sentence is about another thing of the kind that the question names.

    Args:
        question: The question.
        source: The passage.
        quote: The sentence, as it stands in it.
    """
    asked = last_question(question)
    question_terms = frozenset(words_by_token(asked))
    title = source.title.replace("_", " ")
    lines = (title, source.heading, quote)
    # A sentence that begins with a pronoun is about what the one before it names.
    before = _sentence_before(source.text, quote) if PRONOUN_AT_START.match(quote) else ""
    sentence_terms = frozenset(words_by_token(f"{before}\n{quote}"))
    all_terms = sentence_terms | frozenset(words_by_token("\n".join(lines)))
    if _has_other_complement(asked, quote, sentence_terms):
        return True
    phrases = list(_noun_phrases(asked))
    known_terms = question_terms | frozenset(words_by_token(title)) | _GENERIC_TERMS
    for qualifier, noun in _qualified_nouns(phrases):
        if all_terms & _synonyms_of(qualifier) or noun not in all_terms:
            continue
        if any(_qualifiers(line, noun) - known_terms for line in "\n".join(lines).split("\n")):
            return True
    return any(_is_missing(phrase, sentence_terms, all_terms) for phrase in phrases)


def _has_other_complement(asked: str, quote: str, sentence_terms: frozenset[str]) -> bool:
    """Return whether a question has "the repair of the boiler" and a sentence only "the repair of the roof".

    `sentence_terms` are the index terms of the sentence, and of the one before it if it refers to that.
    """
    for match in _NOUN_OF.finditer(asked):
        complement = frozenset(words_by_token(match["what"])) - STOP_WORDS
        if not complement or complement & sentence_terms:
            continue
        noun = match["noun"].casefold()
        if any(other["noun"].casefold() == noun for other in _NOUN_OF.finditer(quote)):
            return True
    return False


def subject_words(question: str) -> frozenset[str]:
    """Return the index terms by which a question, the last of several, names something: no "how", "many" or "cost"."""
    return frozenset(words(last_question(question))) - STOP_WORDS - NO_SUBJECT


def answers_to(question: str, source: Source, quote: str) -> bool:
    """Return whether a sentence may answer a question: it is about its thing, and has its names and half of its words.

    Args:
        question: The question.
        source: The passage; the words of its title and heading count.
        quote: The sentence, as it stands in it.
    """
    if not _shares_words(question, source, quote, LEAST_SHARED) or is_of_another_thing(question, source, quote):
        return False
    terms = frozenset(words_by_token(f"{source.title} {source.heading} {quote}"))
    names = surface_names(last_question(question))
    return not any(terms.isdisjoint(words_by_token(" ".join(name))) for name in names)


def _shares_words(question: str, source: Source, quote: str, share: float) -> bool:
    """Return whether a sentence, with its title and heading, has at least a share of a question's subject words."""
    asked = subject_words(question)
    stated = frozenset(words(f"{source.title} {source.heading} {quote}"))
    return len(asked & stated) >= share * len(asked)


def says_about(question: str, source: Source, quote: str) -> bool:
    """Return whether a sentence says something about what a question asks, whatever its answer is.

    It is about the question's thing, has a third of its words with its title and heading, and gives a reason where one
    is asked for.

    Args:
        question: The question.
        source: The passage; the words of its title and heading count.
        quote: The sentence, as it stands in it.
    """
    if not _shares_words(question, source, quote, LEAST_SHARED_ABOUT):
        return False
    return not is_of_another_thing(question, source, quote) and may_answer(question, quote)


def _is_missing(phrase: _Phrase, sentence_terms: frozenset[str], all_terms: frozenset[str]) -> bool:
    """Return whether a sentence has no word of a phrase of several words, and its title and heading lack the noun.

    False for phrases with names, which are looked at elsewhere. `all_terms` are those of sentence, title and heading.
    """
    terms = [frozenset(words_by_token(word)) for word in phrase.words]
    if len(terms) < 2 or phrase.has_capital or not all(terms):
        return False
    return sentence_terms.isdisjoint(chain.from_iterable(terms)) and all_terms.isdisjoint(terms[-1])


def _sentence_before(text: str, quote: str) -> str:
    """Return the sentence before a quote, to which it may refer; "" if there is none."""
    start = text.find(quote)
    before = [text[begin:end] for begin, end in sentence_spans(text) if end <= start] if start > 0 else []
    return before[-1] if before else ""


def _noun_phrases(question: str) -> Iterator[_Phrase]:
    """Yield the noun phrases of a question, without the verb behind an auxiliary and without what is asked for.

    A phrase is the words between function words, numbers and punctuation; a capital behind a small letter begins one.
    """
    before: list[str] = []  # the function words before the current phrase
    phrase: list[str] = []
    previous_end = 0
    for match in (*_TOKEN.finditer(question), None):  # None: the end of the question
        word = match.group() if match else ""
        is_content = bool(match) and _is_content(word)
        is_after_punctuation = match is None or bool(question[previous_end : match.start()].strip())
        if is_content and phrase and word[0].isupper() and phrase[-1].islower():  # "did the company buy | Boots"
            yield from _trim_phrase(phrase, before)
            phrase = []
        if phrase and (is_after_punctuation or not is_content):
            yield from _trim_phrase(phrase, before)
            phrase, before = [], []
        if is_after_punctuation:
            before = []
        if is_content:
            phrase.append(word)
        elif match:
            before.append(word.casefold())
        previous_end = match.end() if match else previous_end


def _trim_phrase(phrase: list[str], before: list[str]) -> Iterator[_Phrase]:
    """Yield a phrase without its verb; nothing if the question asks for it, as for "city" in "Which city …?".

    `before` are the function words before it; a phrase without any begins the question and is left out.
    """
    if not before or (before[-1] in _WORDS_ASKING):
        return
    has_verb_at_end = _AUXILIARIES.intersection(before) or (
        _AUXILIARIES_OF_PARTICIPLES.intersection(before) and _PARTICIPLE.fullmatch(phrase[-1])
    )
    # Of one word alone nobody knows whether it is the verb: "did it | open", "did the | lease | of the shop end".
    if len(phrase) > 1:
        if has_verb_at_end:
            phrase = phrase[:-1]
        elif before[-1] in ("who", "that"):
            phrase = phrase[1:]
    phrase = phrase[-_MAX_PHRASE_WORDS:]
    yield _Phrase(tuple(phrase), tuple(before), any(word[0].isupper() for word in phrase))


def _qualified_nouns(phrases: list[_Phrase]) -> Iterator[tuple[str, str]]:
    """Yield, as index terms, qualifiers with their nouns: (education, award) for "education award".

    The words of a phrase behind "of" or "for" qualify the noun before it: (shop, opening) for "opening of the shop".
    """
    for index, phrase in enumerate(phrases):
        terms = [words_by_token(word)[:1] for word in phrase.words]
        for qualifier, noun in combinations(terms, 2):
            yield from _pair_of_terms(qualifier, noun)
        following = phrases[index + 1] if index + 1 < len(phrases) else None
        if following and terms and following.before[:1] in (("of",), ("for",)):
            for word in following.words:
                yield from _pair_of_terms(words_by_token(word)[:1], terms[-1])


def _synonyms_of(term: str) -> frozenset[str]:
    """Return the index terms that mean the same as a term, with the term itself."""
    return next((group for group in _SYNONYMS if term in group), frozenset([term]))


def _pair_of_terms(qualifier: list[str], noun: list[str]) -> Iterator[tuple[str, str]]:
    """Yield the first index terms of a qualifier and its noun; nothing if one has none, or the qualifier is generic."""
    if qualifier and noun and qualifier[0] not in _GENERIC_TERMS and qualifier != noun:
        yield qualifier[0], noun[0]


def _qualifiers(text: str, noun: str) -> frozenset[str]:
    """Return the index terms of the words that qualify a noun wherever it is in a text: before it and behind its "of".

    The noun is given as an index term.
    """
    tokens = list(_TOKEN.finditer(text))
    qualifiers: list[str] = []
    for index, token in enumerate(tokens):
        if noun not in words_by_token(token.group()):
            continue
        for position in range(index - 1, max(-1, index - 1 - _MAX_WORDS_BEFORE), -1):
            if not _belongs_to_next_noun(text, tokens[position], tokens[position + 1]):
                break
            qualifiers.append(tokens[position].group())
        following = tokens[index + 1 : index + 2 + _MAX_WORDS_BEHIND]
        if following and following[0].group().casefold() == "of":
            for previous, word in pairwise(following):
                if text[previous.end() : word.start()].strip():  # punctuation ends the phrase
                    break
                qualifiers.append(word.group())
    return frozenset(words_by_token(" ".join(filter(_is_content, qualifiers))))


def _is_content(word: str) -> bool:
    """Return whether a word can be a part of a noun phrase: no function word, number, or "many" of "how many"."""
    return word.casefold() not in STOP_WORDS | _WORDS_ASKING and not word.isdigit()


def _belongs_to_next_noun(text: str, word: re.Match[str], after: re.Match[str]) -> bool:
    """Return whether a word belongs to the noun phrase of the word after it: a content word without punctuation."""
    return _is_content(word.group()) and not text[word.end() : after.start()].strip()
