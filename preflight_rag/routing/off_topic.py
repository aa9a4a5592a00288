"""Whether nothing that was found bears on the question, so that no dearer route can be worth its calls.

A passage is near to a question by the mean of its cosine and of its share of the question's words, weighed by their
rarity (`corg.signals.ContextFeatures`). Where none is at all near, nothing bears on the question; where none is quite
near, the extractive reader has to say so too: that no passage should be found for the question, and that none answers
it. What has the name, the code or the abbreviation that is all the question asks about ("What does SEOS stand for?")
bears on it, whatever its nearness. The limits hold for the default embedder. Of another one, and of passages without a
cosine, the words alone are looked at, and the reader's word is needed. Where question or passages are in a language
that the reader does not read, nothing is said.
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
"""Nearness below which nothing bears on a question. This and the next were set on development questions: of COVID-QA
over its whole articles, with others of NQ-Open, XQuAD, RAMDocs and Evidence Inference over the same articles, and of
the trust experiment over real files."""
NEAR = 0.6
"""Nearness from which on something may bear on it, whatever the reader says."""
FEW = 0.45
"""Share of a question's words in a sentence, the title's counted in, below which cosines that say nothing leave it in
doubt. A guess: of development questions over COVID-QA's articles 19 in 20 have more, of those about something else one
in ten."""
LEAST_NAMED = 4
"""Words of a question from which on a quote needs half of them; of fewer, one may be all that a document shares with a
question in other words. A guess."""
LEAST_IN_TITLE, LEAST_IN_QUOTE = 0.25, 0.5
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
        measured: Whether the cosines are those of the embedder for which the limits were set.
    """
    read = context_features(question, refs, sources)
    nearness = max((reading.nearness for reading in read), default=0.0)
    texts = [question, *(source.text for source in sources)]
    if not read or any(language_of(text) not in READ_LANGUAGES for text in texts):
        return PassageRelevance(nearness, is_none=False)
    # Before nearness counts: of "What does SEOS stand for?" no passage has the other words.
    if _names_subject(question, sources):
        return PassageRelevance(nearness, is_none=False)
    if measured and nearness < FAR:
        return PassageRelevance(nearness, is_none=True)
    words = max(reading.sentences[0][0] for reading in read)
    in_doubt = nearness < NEAR if measured else words < FEW
    if not in_doubt or extractive is None:
        return PassageRelevance(nearness, is_none=False)
    return PassageRelevance(nearness, _sees_nothing(question, sources, extractive))


def names_much(question: str) -> bool:
    """Return whether a question names so much that a quote with less than half of it is about something else."""
    return len(subject_words(question)) >= LEAST_NAMED


def is_half_quoted(question: str, quotes: Sequence[tuple[int, str]], sources: Sequence[Source]) -> bool:
    """Return whether a quote has half of what the question names, or its title with the heading, or a row, a quarter.

    One word of many does not make a passage relevant: "Video tracking in the home cage" has two of six of "Who invented
    the first home video security system?". What a document is about may be asked in other words than its sentences',
    and so may what happened to somebody whom a quote names.
    """
    asked, names = subject_words(question), [name for name in surface_names(last_question(question)) if name]
    by_number = {source.n: source for source in sources}
    for n, quote in quotes:
        if is_log_line(quote) or is_setting(quote):
            return True
        if any(position(name, tokens(quote)) >= 0 for name in names):
            return True
        around = frozenset(words(f"{by_number[n].title} {by_number[n].heading}")) if n in by_number else frozenset()
        in_title, in_all = len(asked & around), len(asked & (around | frozenset(words(quote))))
        least = LEAST_IN_TITLE if is_row(quote) else LEAST_IN_QUOTE
        if in_title >= LEAST_IN_TITLE * len(asked) or in_all >= least * len(asked):
            return True
    return False


def _names_subject(question: str, sources: Sequence[Source]) -> bool:
    """Return whether a passage contains the name, code or abbreviation that is all the question asks about.

    Other words of such a question ("stand for") are in no passage, and would weigh as much as the name.
    """
    subject = asked_abbreviation(question) or only_subject(question)
    texts = [f"{source.title} {source.text}" for source in sources] if subject else []
    return any(mentions(text, subject) or (is_definite(subject, ()) and holds(text, subject)) for text in texts)


def _sees_nothing(question: str, sources: Sequence[Source], extractive: ExtractiveReader) -> bool:
    """Return whether a reader finds no passage that is relevant to a question, and none that answers it."""
    try:
        found = extractive.read(pairs(question, sources))
    except ExtractiveReaderError:
        return False
    relevant = any((reading.relevance or 0.0) >= RELEVANT for reading in found)
    return not relevant and all(reading.answerable < extractive.threshold for reading in found)
