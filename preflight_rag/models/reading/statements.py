"""Statements of an answer, and whether the passages that they cite support them, as the extractive reader reads them.

The reader's verdict is what a passage says to a statement put in the question's place: yes, no or neither. A short
statement ("About 465 °C") says little by itself, so the question that it answers is put before it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from preflight_rag.models.reading.bundled_reader import reader_settings
from preflight_rag.models.reading.extractive_reader import ExtractiveReader, PassageReading
from preflight_rag.state.values import Passage, Statement
from preflight_rag.text.citations import Claim
from preflight_rag.text.sentences import sentence_spans

SHORT = 15
"""Words below which a statement is read behind its question. A guess; the threshold of support was set with it."""


def check(
    reader: ExtractiveReader, question: str, stated: Sequence[Claim], passages: Mapping[int, Passage]
) -> list[Statement]:
    """Return each statement checked against the passages that it cites; empty where the reader has no verdict.

    A statement is supported when one of its passages supports it, and contradicted when none does and one clearly says
    no. One whose passages are all missing is not judged.

    Args:
        reader: What reads; one reading a statement and passage.
        question: What the statements answer.
        stated: The statements.
        passages: The passages by the numbers that the statements cite.

    Raises:
        ExtractiveReaderError: The reader cannot be loaded.
    """
    levels = reader_settings()
    places = [(i, n) for i, claim in enumerate(stated) for n in claim.citations if n in passages]
    readings = reader.read([pair(question, stated[i].text, passages[n]) for i, n in places])
    by_claim: dict[int, list[PassageReading]] = {}
    for (i, _), reading in zip(places, readings, strict=True):
        by_claim.setdefault(i, []).append(reading)
    if any(reading.verdict is None for reading in readings):
        return []
    return [judged(claim, by_claim.get(i, []), levels.supports, levels.contradicts) for i, claim in enumerate(stated)]


def uncited_statements(text: str) -> list[Statement]:
    """Return the sentences of an answer that cites nothing and that no passage says, each as not supported."""
    sentences = [text[slice(*span)].strip() for span in sentence_spans(text)]
    return [Statement(text=sentence, citations=(), supported=False) for sentence in sentences if sentence]


def pair(question: str, statement: str, passage: Passage) -> tuple[str, str, str]:
    """Return what the reader is given for a statement and a passage."""
    asked = f"{question} {statement}" if len(statement.split()) < SHORT else statement
    return asked.strip(), passage.title, passage.text


def judged(claim: Claim, readings: Sequence[PassageReading], threshold: float, clear: float) -> Statement:
    """Return whether the passages of a statement support it, by their readings.

    Args:
        claim: The statement.
        readings: One of each of its passages that is there.
        threshold: Least probability of yes at which a passage supports.
        clear: Least probability of no at which it contradicts.
    """
    verdicts = [reading.verdict for reading in readings if reading.verdict is not None]
    if not verdicts:
        return Statement(text=claim.text, citations=claim.citations, supported=None)
    score = max(yes for yes, _, _ in verdicts)
    supported = score >= threshold
    against = any(no >= clear for _, no, _ in verdicts)
    return Statement(
        text=claim.text,
        citations=claim.citations,
        supported=supported,
        score=score,
        contradicted=against and not supported,
    )
