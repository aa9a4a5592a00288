"""The sentences of a passage with the words of the heading above them, which says what they are about."""

from __future__ import annotations

from preflight_rag.state.reading import Source
from preflight_rag.text.headings import headings_of
from preflight_rag.text.quotes import quotable
from preflight_rag.text.sentences import sentence_spans
from preflight_rag.text.words import words

_PARTS = frozenset(words("article section chapter part clause rule paragraph appendix annex schedule item page note"))
"""Index terms of words that number parts of a document, and say nothing of what these are about."""


def under_headings(source: Source) -> dict[str, frozenset[str]]:
    """Return the sentences of a passage, each with the index terms of the headings under which it stands.

    "Saturday 14 December. Three courses for £34" says below "Christmas dinner" what that costs.
    """
    headings = headings_of(source.text)
    terms_by_sentence: dict[str, frozenset[str]] = {}
    for start, end in sentence_spans(source.text):
        heading = next((name for offset, name in reversed(headings) if offset < start), source.heading)
        terms = frozenset(term for term in words(heading) if not term.isdigit()) - _PARTS
        for sentence in quotable(source.text[start:end]):
            terms_by_sentence[sentence] = terms_by_sentence.get(sentence, frozenset()) | terms
    return terms_by_sentence
