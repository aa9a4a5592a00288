"""Which of two things has more of something: an answer only where the same is read of both, else what is said of each.

"Which branch sold more bicycles in 2023, north or south?" is claimed where two sentences, each of one of them alone,
hold all other words of the question and one figure each, of one unit. By rule, in English.
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
    """Return the answer to a question that compares two things, or a sentence about each; else None."""
    asked = comparison_of(question)
    if asked is None:
        return None
    names = [frozenset(words(name)) for name in asked.things]
    shared = frozenset(words(asked.rest))
    found = [_of_one(fit, name, other, shared) for name, other in (names, names[::-1])]
    first, second = (item[0] if item else None for item in found)
    if first is None or second is None:
        return None
    quotes = tuple(dict.fromkeys((item.source.n, item.text) for item in (first, second)))
    figures = [_figure(item.text, question) for item in (first, second)]
    one, other = figures
    # Of two sentences that fit alike it is open whose figure is meant.
    certain = all(
        shared <= item.covered and len(items) == 1 for item, items in zip((first, second), found, strict=True)
    )
    if not certain or one is None or other is None or one.dimension != other.dimension:
        return evidence(quotes, lead, why_unclaimed("comparison"))
    sizes = one.value * one.size, other.value * other.size
    if sizes[0] == sizes[1] or fit.denying:
        return evidence(quotes, lead, why_unclaimed("comparison"))
    # The first thing, at place 0, wins if it has more and more is asked for, or less and less.
    winner = asked.things[int((sizes[0] > sizes[1]) != asked.more)]
    shown = "\n\n".join(quoted(n, plain(quote)) for n, quote in quotes)
    numbers = dict.fromkeys(n for n, _ in quotes)
    marks = "".join(f"[{n}]" for n in numbers)
    return Draft(f"{plain(winner)} {marks}\n\n{shown}", quotes, short=plain(winner))


def _of_one(
    fit: SentenceFit, name: Collection[str], other: Collection[str], shared: frozenset[str]
) -> list[PlacedSentence]:
    """Return the sentences about only one of two things that contain most of the question's other words."""
    own, rival = frozenset(name), frozenset(other)
    every = list(chain.from_iterable(fit.sentences.values()))
    # A word of both, as in "north branch" and "south branch", tells neither of them from the other.
    about = [item for item in every if own - rival <= item.covered and not (rival - own) & item.covered]

    def shared_words(item: PlacedSentence) -> tuple[int, int]:
        """Return how many of the question's words a sentence has, with its heading and title, and alone."""
        return len(shared & item.covered), len(shared & item.terms)

    most = max(map(shared_words, about), default=(0, 0))
    return [item for item in about if most[0] and shared_words(item) == most]


def _figure(text: str, question: str) -> Amount | None:
    """Return the only amount of a sentence that the question does not name; None without one or with several."""
    named = figures_of(question).amounts
    left = [amount for amount in figures_of(text).amounts if not any(amount.agrees(known) for known in named)]
    return left[0] if len(left) == 1 else None
