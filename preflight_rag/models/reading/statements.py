"""Check statements of an answer against the passages that they cite, by the extractive reader's verdict.

The verdict is the passage's reply (yes, no or neither) to a statement in the place of a question. A short statement
("About 465 °C") means little by itself, so the question that it answers is put before it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from preflight_rag.models.reading.bundled_reader import reader_settings
from preflight_rag.models.reading.extractive_reader import ExtractiveReader, PassageReading
from preflight_rag.state.values import Passage, Statement
from preflight_rag.text.citations import Claim
from preflight_rag.text.restatements import restatement
from preflight_rag.text.sentences import sentence_spans

SHORT = 15
"""Number of words below which a statement is read with its question before it. A guess, with which the threshold of
support was set."""


def check(
    reader: ExtractiveReader, question: str, stated: Sequence[Claim], passages: Mapping[int, Passage]
) -> list[Statement]:
    """Check each statement against the passages that it cites; empty if the reader has no verdict.

    A statement is supported if one of its passages supports it, and contradicted if none does and one clearly says no.
    A statement whose passages are all missing is not judged.

    Args:
        reader: The reader; it makes one reading for each statement and passage.
        question: The question that the statements answer.
        stated: The statements.
        passages: The passages by the numbers that the statements cite.

    Raises:
        ExtractiveReaderError: The reader cannot be loaded.
    """
    thresholds = reader_settings()
    citations = [(i, n) for i, claim in enumerate(stated) for n in claim.citations if n in passages]
    readings = reader.read([pair(question, stated[i].text, passages[n]) for i, n in citations])
    by_claim: dict[int, list[PassageReading]] = {}
    for (i, _), reading in zip(citations, readings, strict=True):
        by_claim.setdefault(i, []).append(reading)
    if any(reading.verdict is None for reading in readings):
        return []
    statements = []
    for i, claim in enumerate(stated):
        statement = judge_claim(claim, by_claim.get(i, []), thresholds.supports, thresholds.contradicts)
        statements.append(_accept_restatement(statement, passages))
    return statements


def _accept_restatement(statement: Statement, passages: Mapping[int, Passage]) -> Statement:
    """Correct the verdict of a statement that the reader does not support if a cited passage has it in the same words.

    The statement is supported if a passage restates it completely, and not judged (None) if one nearly does. Any other
    statement is returned unchanged.
    """
    if statement.supported is not False:
        return statement
    cited = [passages[n] for n in statement.citations if n in passages]
    restatements = {restatement(statement.text, passage.title, passage.text) for passage in cited} - {None}
    if not restatements:
        return statement
    supported = True if "whole" in restatements else None
    return statement.model_copy(update={"supported": supported, "contradicted": False})


def uncited_statements(text: str) -> list[Statement]:
    """Return the sentences of an answer without citations, each as a statement that is not supported."""
    sentences = [text[slice(*span)].strip() for span in sentence_spans(text)]
    return [Statement(text=sentence, citations=(), supported=False) for sentence in sentences if sentence]


def pair(question: str, statement: str, passage: Passage) -> tuple[str, str, str]:
    """Return the reader's input for a statement and a passage: a short statement has its question before it."""
    is_short = len(statement.split()) < SHORT
    statement_to_read = f"{question} {statement}" if is_short else statement
    return statement_to_read.strip(), passage.title, passage.text


def judge_claim(claim: Claim, readings: Sequence[PassageReading], threshold: float, clear: float) -> Statement:
    """Return a statement with the verdict of its passages' readings; not judged (None) if no reading has a verdict.

    A passage supports it from the probability `threshold` of yes on, and contradicts it from `clear` of no on.
    """
    verdicts = [reading.verdict for reading in readings if reading.verdict is not None]
    if not verdicts:
        return Statement(text=claim.text, citations=claim.citations, supported=None)
    score = max(yes for yes, _, _ in verdicts)
    supported = score >= threshold
    is_denied = any(no >= clear for _, no, _ in verdicts)
    return Statement(
        text=claim.text,
        citations=claim.citations,
        supported=supported,
        score=score,
        contradicted=is_denied and not supported,
    )
