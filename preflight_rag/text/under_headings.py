"""The sentences of a passage with the words of the heading above them, which says what they are about."""

from __future__ import annotations

from preflight_rag.state.reading import Source
from preflight_rag.text.headings import headings_of
from preflight_rag.text.quotes import quotable
from preflight_rag.text.sentences import sentence_spans
from preflight_rag.text.words import words

_PARTS = frozenset(words("article section chapter part clause rule paragraph appendix annex schedule item page note"))
"""Index terms that number parts of any document, and say nothing of what these are about."""


def under_headings(source: Source) -> dict[str, frozenset[str]]:
    """Return the sentences of a source, each with the index terms of the heading that it stands under.

    "Saturday 14 December. Three courses for £34" says below "Christmas dinner" what that costs.
    """
    headings = headings_of(source.text)
    found: dict[str, frozenset[str]] = {}
    for start, end in sentence_spans(source.text):
        heading = next((own for at, own in reversed(headings) if at < start), source.heading)
        terms = frozenset(term for term in words(heading) if not term.isdigit()) - _PARTS
        for quote in quotable(source.text[start:end]):
            found[quote] = found.get(quote, frozenset()) | terms
    return found
