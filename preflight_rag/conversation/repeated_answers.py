"""Answers to a follow-up that repeat the last answer, and how they are shown."""

from __future__ import annotations

import re
from collections.abc import Sequence

from preflight_rag.conversation.subjectless import has_no_subject, own_words
from preflight_rag.state.schema import EarlierState
from preflight_rag.state.values import Citation
from preflight_rag.text.citations import quoted, without_marks
from preflight_rag.text.headers import CLOSEST
from preflight_rag.text.words import STOP_WORDS, words

MOST_QUOTES = 3
"""Quotes that are shown of a repeated answer; a guess."""
_ASKS_WHY = re.compile(r"\b(?:why|how come|for what reason)\b", re.I)
_LABEL_AT_END = re.compile(r"\b[a-z]+ (?:[A-Z]|\d{1,4}[A-Za-z]?)(?=\W*$)")
"""A thing that a letter or a number tells from others, which are no words of the index: "house A"."""
_REASON = re.compile(r"\b(?:because|owing to|due to|in order to|so that|on (?:the )?grounds of|therefore)\b", re.I)


def repeats(message: str, asked: str, citations: Sequence[Citation], answer: str, earlier: EarlierState | None) -> bool:
    """Return whether an answer repeats the last one: it has the same quote and begins with the same words.

    If the message was only appended to the last question ("And the deposit?"), an answer without any of its words in
    the quote is a repetition, too.

    Args:
        message: The follow-up as it was typed.
        asked: The standalone question made from it.
        citations: The answer's citations.
        answer: The answer.
        earlier: The last answer.
    """
    if not earlier or not earlier["citations"] or not citations:
        return False
    quote = citations[0].quote
    if quote != earlier["citations"][0]["quote"]:
        return False
    new = frozenset(words(message)) - STOP_WORDS - frozenset(words(earlier["question"]))
    is_behind = asked != earlier["question"] and asked.startswith(earlier["question"])
    return _headline(answer) == _headline(earlier["answer"]) or (is_behind and new.isdisjoint(words(quote)))


def without_old_subject(subject: str, citations: Sequence[Citation], earlier: EarlierState) -> list[Citation]:
    """Return the citations without the last answer's quotes that do not name the subject which a follow-up put in.

    The line of chain mail was shown for chain mail, and is no answer to "What about leather armor?".

    Args:
        subject: The new subject.
        citations: The answer's citations.
        earlier: The last answer.
    """
    terms = frozenset(words(subject)) - STOP_WORDS
    shown = {" ".join(citation["quote"].split()) for citation in earlier["citations"]}
    return [
        each
        for each in citations
        if " ".join(each.quote.split()) not in shown or terms.issubset(words(f"{each.title} {each.quote}"))
    ]


def adds_nothing(message: str, asked: str, earlier: EarlierState) -> bool:
    """Return whether a follow-up, such as "and why?", has no content word of its own.

    A search for such a message would only lead to the last answer again. "And in fiscal 2021?" has content words, and
    "where?", of which a whole question was made, may be answered by the same quote. So may "why?" if the quote gives a
    reason, and "How old must he be?", which is the question about a senator again.

    Args:
        message: The follow-up as it was typed.
        asked: The standalone question made from it.
        earlier: The last answer.
    """
    label = _LABEL_AT_END.search(message)
    if label and label[0] not in earlier["question"]:
        return False
    if asked == earlier["question"] or not frozenset(words(message)) <= frozenset(words(earlier["question"])):
        return False
    quote = earlier["citations"][0]["quote"] if earlier["citations"] else ""
    is_reason = _ASKS_WHY.search(message) is not None and _REASON.search(quote) is not None
    return asked.startswith(earlier["question"]) and not is_reason


def shown_again(citations: Sequence[Citation], message: str = "") -> str:
    """Return the quotes of a repeated answer as evidence, because one sentence must not support two claims.

    Of a message that names nothing itself, a quote with its words stands first: "What happens if we take less?".

    Args:
        citations: The answer's citations.
        message: The follow-up as it was typed.
    """
    shown = list(citations[:MOST_QUOTES])
    if has_no_subject(message):
        own = own_words(message)
        shown.sort(key=lambda each: -len(own & frozenset(words(each.quote))))
    quotes = [quoted(each.n, without_marks(" ".join(each.quote.split()))) for each in shown]
    return "\n\n".join([CLOSEST, *quotes])


def _headline(answer: str) -> str:
    """Return the first line of an answer in lower case, without its marks, for comparison."""
    first = next((line for line in without_marks(answer).splitlines() if line.strip()), "")
    return first.strip(" *_.").casefold()
