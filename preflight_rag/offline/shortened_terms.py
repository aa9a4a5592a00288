"""Sentences with an abbreviation for a question's words: "the median time to PR", where "PR" is pain relief.

An article spells a term out once, and then writes its abbreviation, which shares no word with a question in full words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from preflight_rag.offline.scored_sentences import Sentence
from preflight_rag.state.reading import Source
from preflight_rag.text.abbreviations import compared_form, spelled_out
from preflight_rag.text.words import words

MAX_TERM_WORDS = 4
"""Largest number of words of a term that may be abbreviated; a guess."""
_WORD = re.compile(r"[^\W\d_]+")


def with_long_forms(question: str, sentences: Sequence[Sentence], sources: Sequence[Source]) -> list[Sentence]:
    """Return the sentences; those with an abbreviation for words of the question have these words as terms, too.

    Args:
        question: The question.
        sentences: The sentences of the passages.
        sources: The passages, one of which has to spell the abbreviation out.
    """
    terms_by_abbreviation = {
        short: frozenset(words(long))
        for short, long in _abbreviation_candidates(question)
        if any(_spells_out(source.text, short, long) for source in sources)
    }
    if not terms_by_abbreviation:
        return list(sentences)
    return [
        replace(sentence, terms=sentence.terms.union(*_terms_of_abbreviations(sentence, terms_by_abbreviation)))
        for sentence in sentences
    ]


def _abbreviation_candidates(question: str) -> Iterator[tuple[str, str]]:
    """Yield pairs of a possible abbreviation and the question's words for it: `("PR", "pain relief")`."""
    question_words = _WORD.findall(question)
    for size in range(2, MAX_TERM_WORDS + 1):
        for start in range(len(question_words) - size + 1):
            run = question_words[start : start + size]
            yield "".join(word[0] for word in run).upper(), " ".join(run)


def _spells_out(text: str, short: str, long: str) -> bool:
    """Return whether a text spells an abbreviation out with the given words: "pain relief (PR)"."""
    # Checked first, because most runs of words have no abbreviation and the patterns take time.
    if short not in text:
        return False
    return any(compared_form(text[start:end]) == compared_form(long) for start, end in spelled_out(short, text))


def _terms_of_abbreviations(
    sentence: Sentence, terms_by_abbreviation: dict[str, frozenset[str]]
) -> list[frozenset[str]]:
    """Return the terms of each known abbreviation that a sentence contains as a word."""
    sentence_words = frozenset(_WORD.findall(sentence.text))
    return [terms for short, terms in terms_by_abbreviation.items() if short in sentence_words]
