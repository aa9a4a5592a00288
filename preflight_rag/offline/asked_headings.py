"""What stands below a question that a document itself asks: lists of questions and answers (FAQs).

"8.1. Does chrony support Windows?" over "No. It is not portable, …" answers "Does chrony work on Windows?" with its
first sentences, which share no word with it. By rule, in English.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from preflight_rag.state.reading import Source
from preflight_rag.text.other_things import subject_words
from preflight_rag.text.sentences import sentence_spans
from preflight_rag.text.values import asked_kind
from preflight_rag.text.words import STOP_WORDS, words

LEAST_SHARED = 0.6
"""Least share of the words of either question that both have; a guess. Two words have to be shared."""
SHORT = 60
"""Characters of a first sentence to which the next one is joined: "No."; a guess."""
_LINE = re.compile(
    r"^[ \t#*_>|-]{0,12}(?:(?:\d{1,3}\.?){1,4}[ \t]|[QF][:.] ?)?(?P<asked>[^\n]{8,200}\?)[ \t*_]{0,4}$", re.MULTILINE
)
_SAYS_LITTLE = frozenset(
    words(
        "work support run use go get have need make possible available allowed want please tell know any there exist"
        " offer provide handle cope mean happen"
    )
)
"""Words of a question that another question may have in other words."""
_PARAGRAPH_ENDS = re.compile(r"\n[ \t]*\n")


def quotes_below(question: str, sources: Sequence[Source], most: int = 1) -> list[tuple[int, str]]:
    """Return `(passage, quote)` of what stands below lines that ask nearly the same as a question, the nearest first.

    Args:
        question: The question.
        sources: The passages.
        most: The largest number of quotes.
    """
    asked = subject_words(question)
    found: list[tuple[float, int, str]] = []
    for source in sources:
        for line in _LINE.finditer(source.text):
            own = frozenset(words(line["asked"])) - STOP_WORDS
            shared = len(asked & own)
            share = min(shared / len(asked), shared / len(own)) if shared > 1 else 0.0
            # "Is drinking allowed in the barn?" is another question than "Is smoking allowed in the barn?".
            is_other = bool(asked - own - _SAYS_LITTLE)
            if is_other or share < LEAST_SHARED or asked_kind(line["asked"]) != asked_kind(question):
                continue
            if quote := _first_sentences(source.text, line.end()):
                found.append((-share, source.n, quote))
    return [(n, quote) for _, n, quote in sorted(found)[:most]]


def _first_sentences(text: str, start: int) -> str:
    """Return the first sentence behind a place, with the next one if it is short; "" where another question follows."""
    spans = [span for span in sentence_spans(text) if span[0] >= start and text[slice(*span)].strip()][:2]
    if not spans:
        return ""
    first = text[slice(*spans[0])].strip()
    if first.endswith("?") or first.startswith("#"):
        return ""
    if len(first) > SHORT or len(spans) < 2:
        return first
    both = text[spans[0][0] : spans[1][1]].strip()
    return first if _PARAGRAPH_ENDS.search(both) else both
