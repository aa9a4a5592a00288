"""Whether no passage that was found is relevant to the question, so that no dearer route can be worth its calls.

A passage is near to a question by the mean of its cosine and of its share of the question's words, weighed by their
rarity (`corg.signals.ContextFeatures`). If all are far, none is relevant; if the nearest is in between, the extractive
reader has to agree: that no passage should be found for the question, and that none answers it. A passage with the
name, code or abbreviation that is all the question asks about ("What does SEOS stand for?") is relevant, whatever its
nearness. The limits hold for the default embedder. For another one, and for passages without a cosine, the words alone
are compared, and the reader has to agree. If the question or a passage is in a language that the reader does not read,
the passages count as relevant.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from preflight_rag.corg.signals import context_features
from preflight_rag.models.reading.extractive_reader import READ_LANGUAGES, ExtractiveReader, pairs
from preflight_rag.state.errors import ExtractiveReaderError
from preflight_rag.state.reading import Source
from preflight_rag.text.abbreviations import asked_abbreviation
from preflight_rag.text.exact import holds, is_definite
from preflight_rag.text.languages import language_of
from preflight_rag.text.log_lines import is_log_line, is_setting
from preflight_rag.text.names import mentions, only_subject, position, surface_names, tokens
from preflight_rag.text.other_things import subject_words
from preflight_rag.text.tables import is_row
from preflight_rag.text.values import last_question
from preflight_rag.text.words import words

if TYPE_CHECKING:
    from preflight_rag.state.schema import PassageRef

FAR = 0.4
"""Nearness below which no passage is relevant. This and the next were set on development questions: of COVID-QA
over its whole articles, with others of NQ-Open, XQuAD, RAMDocs and Evidence Inference over the same articles, and of
the trust experiment over real files."""
NEAR = 0.6
"""Nearness from which on a passage counts as relevant, whatever the reader says."""
MIN_WORD_SHARE = 0.45
"""Share of a question's words in a sentence with its title, below which passages without usable cosines are in doubt.
A guess: of development questions over COVID-QA's articles 19 in 20 have more, of those about something else one
in ten."""
LEAST_NAMED = 4
"""Least number of a question's words at which a quote needs half of them; of fewer, a document may share only one. A
guess."""
MIN_SHARE_IN_TITLE, MIN_SHARE_IN_QUOTE = 0.25, 0.5
"""Least share of a question's words in a title with its heading, or a row with these, and in a sentence with these. A
guess."""
RELEVANT = 0.5
"""Least probability, by the reader, that a passage should be found for the question. Set with the others."""


@dataclass(frozen=True)
class PassageRelevance:
    """How relevant the passages are to the question.

    Attributes:
        nearness: The relevance of the nearest passage, in [0, 1].
        is_none: Whether no passage is relevant.
    """

    nearness: float
    is_none: bool


def bearing_of(
    question: str,
    refs: Sequence[PassageRef],
    sources: Sequence[Source],
    extractive: ExtractiveReader | None,
    *,
    measured: bool,
) -> PassageRelevance:
    """Return how relevant the passages are to the question; they are only read if that is in doubt.

    Args:
        question: The standalone question.
        refs: The passages.
        sources: Their texts, in the same order.
        extractive: The model that reads them; without it, doubtful passages count as relevant.
        measured: Whether the cosines are from the embedder for which the limits were set.
    """
    contexts = context_features(question, refs, sources)
    nearness = max((context.nearness for context in contexts), default=0.0)
    texts = [question, *(source.text for source in sources)]
    if not contexts or any(language_of(text) not in READ_LANGUAGES for text in texts):
        return PassageRelevance(nearness, is_none=False)
    # Before nearness counts: of "What does SEOS stand for?" no passage has the other words.
    if _names_subject(question, sources):
        return PassageRelevance(nearness, is_none=False)
    if measured and nearness < FAR:
        return PassageRelevance(nearness, is_none=True)
    largest_share = max(context.sentences[0][0] for context in contexts)
    in_doubt = nearness < NEAR if measured else largest_share < MIN_WORD_SHARE
    if not in_doubt or extractive is None:
        return PassageRelevance(nearness, is_none=False)
    return PassageRelevance(nearness, _reader_finds_nothing(question, sources, extractive))


def names_much(question: str) -> bool:
    """Return whether a question has so many words for its subject that a quote with less than half is off topic."""
    return len(subject_words(question)) >= LEAST_NAMED


def is_half_quoted(question: str, quotes: Sequence[tuple[int, str]], sources: Sequence[Source]) -> bool:
    """Return whether a quote, with its title and heading, has enough of the question's words for its subject.

    Enough is a half, or a quarter in title and heading alone, or for a row. One word of many does not make a passage
    relevant: "Video tracking in the home cage" has two of six of "Who invented the first home video security system?".
    True for a line of a log, a setting, and a quote with a name of the question.
    """
    subject_terms, names = subject_words(question), [name for name in surface_names(last_question(question)) if name]
    by_number = {source.n: source for source in sources}
    for n, quote in quotes:
        if is_log_line(quote) or is_setting(quote):
            return True
        if any(position(name, tokens(quote)) >= 0 for name in names):
            return True
        title_terms = (
            frozenset(words(f"{by_number[n].title} {by_number[n].heading}")) if n in by_number else frozenset()
        )
        shared_with_title, shared_with_all = (
            len(subject_terms & title_terms),
            len(subject_terms & (title_terms | frozenset(words(quote)))),
        )
        needed_share = MIN_SHARE_IN_TITLE if is_row(quote) else MIN_SHARE_IN_QUOTE
        if shared_with_title >= MIN_SHARE_IN_TITLE * len(subject_terms) or shared_with_all >= needed_share * len(
            subject_terms
        ):
            return True
    return False


def _names_subject(question: str, sources: Sequence[Source]) -> bool:
    """Return whether a passage contains the name, code or abbreviation that is the question's only subject.

    Other words of such a question ("stand for") are in no passage, and would weigh as much as the name.
    """
    subject = asked_abbreviation(question) or only_subject(question)
    texts = [f"{source.title} {source.text}" for source in sources] if subject else []
    return any(mentions(text, subject) or (is_definite(subject, ()) and holds(text, subject)) for text in texts)


def _reader_finds_nothing(question: str, sources: Sequence[Source], extractive: ExtractiveReader) -> bool:
    """Return whether the reader finds no passage relevant to a question, and none that answers; False if it fails."""
    try:
        readings = extractive.read(pairs(question, sources))
    except ExtractiveReaderError:
        return False
    relevant = any((reading.relevance or 0.0) >= RELEVANT for reading in readings)
    return not relevant and all(reading.answerable < extractive.threshold for reading in readings)
