"""Sentences that have a question's words as an abbreviation: of "pain relief (PR)", "the median time to PR" has both.

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

LONGEST_TERM = 4
"""Words of a term that is looked for; a guess."""
_WORD = re.compile(r"[^\W\d_]+")


def with_long_forms(question: str, sentences: Sequence[Sentence], sources: Sequence[Source]) -> list[Sentence]:
    """Return the sentences; those with an abbreviation for words of the question have these words as terms, too.

    Args:
        question: The question.
        sentences: The sentences of the passages.
        sources: The passages, one of which has to spell the abbreviation out.
    """
    meant = {
        short: frozenset(words(long))
        for short, long in _initials(question)
        if any(_spells_out(source.text, short, long) for source in sources)
    }
    if not meant:
        return list(sentences)
    return [replace(sentence, terms=sentence.terms.union(*_abbreviated(sentence, meant))) for sentence in sentences]


def _initials(question: str) -> Iterator[tuple[str, str]]:
    """Yield runs of a question's words, each behind its initials: `("PR", "pain relief")`."""
    found = _WORD.findall(question)
    for size in range(2, LONGEST_TERM + 1):
        for start in range(len(found) - size + 1):
            run = found[start : start + size]
            yield "".join(word[0] for word in run).upper(), " ".join(run)


def _spells_out(text: str, short: str, long: str) -> bool:
    """Return whether a text has a term in full words, and its abbreviation for it."""
    # Checked first, because most runs of words have no abbreviation and the patterns take time.
    if short not in text:
        return False
    return any(compared_form(text[start:end]) == compared_form(long) for start, end in spelled_out(short, text))


def _abbreviated(sentence: Sentence, meant: dict[str, frozenset[str]]) -> list[frozenset[str]]:
    """Return the terms of the abbreviations that a sentence has."""
    own = frozenset(_WORD.findall(sentence.text))
    return [terms for short, terms in meant.items() if short in own]
