"""Answers to which of two things has more of something.

An answer to "Which branch sold more bicycles in 2023, north or south?" is claimed only if there is one sentence about
each branch alone, with all other words of the question and a single figure of the same unit. By rule, in English.
"""

from __future__ import annotations

from collections.abc import Collection
from itertools import chain

from preflight_rag.offline.evidence import evidence
from preflight_rag.state.reading import Draft
from preflight_rag.text.citations import quoted
from preflight_rag.text.headers import why_unclaimed
from preflight_rag.text.question_forms import comparison_of
from preflight_rag.text.quotes import plain
from preflight_rag.text.sentence_fit import PlacedSentence, SentenceFit
from preflight_rag.text.values import Amount, figures_of
from preflight_rag.text.words import words


def answer_comparison(question: str, fit: SentenceFit, lead: str) -> Draft | None:
    """Return the answer to a question that compares two things, or a sentence about each without a claim.

    None for other questions, and if there is no sentence about one of the things. `lead` is the line above sentences
    that are shown without a claim.
    """
    asked = comparison_of(question)
    if asked is None:
        return None
    names = [frozenset(words(name)) for name in asked.things]
    shared = frozenset(words(asked.rest))
    about_first, about_second = (
        _find_sentences_about_one(fit, name, other, shared) for name, other in (names, names[::-1])
    )
    if not about_first or not about_second:
        return None
    first, second = about_first[0], about_second[0]
    quotes = tuple(dict.fromkeys((item.source.n, item.text) for item in (first, second)))
    amount, other = (_find_single_amount(item.text, question) for item in (first, second))
    # If two sentences about a thing fit equally well, it is open whose figure is meant.
    are_single = len(about_first) == len(about_second) == 1
    are_complete = shared <= first.covered and shared <= second.covered
    if amount is None or other is None or amount.dimension != other.dimension or not (are_single and are_complete):
        return evidence(quotes, lead, why_unclaimed("comparison"))
    value, other_value = amount.value * amount.size, other.value * other.size
    if value == other_value or fit.denying:
        return evidence(quotes, lead, why_unclaimed("comparison"))
    first_wins = (value > other_value) == asked.more
    first_thing, second_thing = asked.things
    winner = first_thing if first_wins else second_thing
    shown = "\n\n".join(quoted(n, plain(quote)) for n, quote in quotes)
    numbers = dict.fromkeys(n for n, _ in quotes)
    marks = "".join(f"[{n}]" for n in numbers)
    return Draft(f"{plain(winner)} {marks}\n\n{shown}", quotes, short=plain(winner))


def _find_sentences_about_one(
    fit: SentenceFit, name: Collection[str], other: Collection[str], shared: frozenset[str]
) -> list[PlacedSentence]:
    """Return the sentences about only one of two things that have the most of the question's other words, one at least.

    All arguments besides the sentences are index terms: of the thing, of the other thing, and of the question's other
    words (`shared`).
    """
    # A word of both, as in "north branch" and "south branch", distinguishes neither from the other.
    own, rival = frozenset(name) - frozenset(other), frozenset(other) - frozenset(name)
    sentences = chain.from_iterable(fit.sentences.values())
    about = [item for item in sentences if own <= item.covered and rival.isdisjoint(item.covered)]

    def count_shared(item: PlacedSentence) -> tuple[int, int]:
        """Return how many of the question's words a sentence has, with its heading and title, and alone."""
        return len(shared & item.covered), len(shared & item.terms)

    most = max(map(count_shared, about), default=(0, 0))
    most_with_heading, _ = most
    return [item for item in about if count_shared(item) == most] if most_with_heading else []


def _find_single_amount(text: str, question: str) -> Amount | None:
    """Return the only amount of a sentence that the question does not name; None without one or with several."""
    asked = figures_of(question).amounts
    others = [amount for amount in figures_of(text).amounts if not any(amount.agrees(known) for known in asked)]
    return others[0] if len(others) == 1 else None
