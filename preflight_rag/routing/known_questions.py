"""Questions with known documents: read from a user's file, or made from the library's own passages.

A made question is a handful of words of one sentence; its document is the one that the sentence is in (known-item
search). Words and vectors of such a question match its passage better than those of a real one, so fewer of them are
issues; `calibration.py` weighs them accordingly.
"""

from __future__ import annotations

import csv
import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from preflight_rag.state.errors import UnreadableDocument, UsageError
from preflight_rag.text.sentences import sentence_spans
from preflight_rag.text.words import words

if TYPE_CHECKING:
    from preflight_rag.library.collection import Collection

WORDS_OF_QUESTIONS = (2, 3, 4, 5, 6)
"""Numbers of words that made questions keep of a sentence, in turn: from hardly enough to plenty; a guess."""
MIN_SENTENCE_TERMS = 8
"""Least number of different terms of a sentence from which a question is made; a guess."""
FORM = 'Each line: {"question": "...", "documents": ["id", ...]}, or question, tab, document ids with commas between.'


@dataclass(frozen=True)
class KnownQuestion:
    """A question with the ids of the documents that answer it."""

    question: str
    documents: frozenset[str]


def read_questions(path: Path) -> list[KnownQuestion]:
    """Return the questions in a file of JSON lines, or else of tab-separated lines; `FORM` shows both.

    Raises:
        UsageError: The file cannot be read, or has no question.
        UnreadableDocument: A line has another form; the message has its number.
    """
    try:
        # Spreadsheet programs write a byte order mark, which would become a part of the first line.
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise UsageError(f"the questions in {str(path)!r} cannot be read: {reason}", help=FORM) from None
    parse = _json_lines if path.suffix in (".jsonl", ".json", ".ndjson") else _tab_separated
    questions = list(parse(text, path.name))
    if not questions:
        raise UsageError(f"{str(path)!r} holds no question", help=FORM)
    return questions


def make_questions(library: Collection, count: int, *, seed: int = 0) -> list[KnownQuestion]:
    """Return at most `count` questions, each made from another passage; the same seed gives the same questions.

    Passages are taken in the order of their shuffled ids; a passage without a long sentence is skipped.
    """
    ids = library.all_passage_ids()
    random.Random(seed).shuffle(ids)  # noqa: S311
    questions: list[KnownQuestion] = []
    for start in range(0, len(ids), count):
        for passage in library.passages(ids[start : start + count]):
            # Seeded by the passage, so that the words drawn from it do not depend on the passages before it.
            rng = random.Random(f"{seed} {passage.id}")  # noqa: S311
            kept = WORDS_OF_QUESTIONS[len(questions) % len(WORDS_OF_QUESTIONS)]
            question = _question_from_sentence(passage.text, kept, rng)
            if question:
                questions.append(KnownQuestion(question, frozenset({passage.document_id})))
            if len(questions) == count:
                return questions
    return questions


def _question_from_sentence(text: str, kept: int, rng: random.Random) -> str:
    """Return `kept` words, in their order, of a random long sentence of a text; "" if there is no long sentence."""
    sentences = [text[slice(*span)] for span in sentence_spans(text)]
    long_sentences = [sentence for sentence in sentences if len(set(words(sentence))) >= MIN_SENTENCE_TERMS]
    if not long_sentences:
        return ""
    candidates = [word.strip(".,;:!?()[]\"'") for word in rng.choice(long_sentences).split() if words(word)]
    indices = sorted(rng.sample(range(len(candidates)), min(kept, len(candidates))))
    return " ".join(candidates[index] for index in indices)


def _json_lines(text: str, name: str) -> Iterator[KnownQuestion]:
    """Yield the questions in lines of JSON; empty lines are skipped, lines of another form raise an error."""
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except ValueError as error:
            raise UnreadableDocument(f"line {number} of {name} is not JSON: {error}", help=FORM) from None
        fields: dict[str, object] = record if isinstance(record, dict) else {}
        documents = fields.get("documents")
        document_list = [documents] if isinstance(documents, str) else documents if isinstance(documents, list) else []
        yield _known_question(fields.get("question"), document_list, f"line {number} of {name}")


def _tab_separated(text: str, name: str) -> Iterator[KnownQuestion]:
    """Yield the questions in tab-separated lines; empty lines are skipped, lines of another form raise an error."""
    # A quotation mark in a question is a part of it, not the quoting of a field.
    for number, row in enumerate(csv.reader(text.splitlines(), delimiter="\t", quoting=csv.QUOTE_NONE), 1):
        if not any(cell.strip() for cell in row):
            continue
        # A line with more or fewer tabs gets no documents, which `_known_question` refuses with the line's number.
        documents = [part.strip() for part in row[1].split(",")] if len(row) == 2 else []
        yield _known_question(row[0], documents, f"line {number} of {name}")


def _known_question(question: object, documents: Sequence[object], place: str) -> KnownQuestion:
    """Return a question with its documents; raise an error that names its place in the file if either is missing."""
    ids = frozenset(str(name) for name in documents if str(name).strip())
    if not isinstance(question, str) or not question.strip() or not ids:
        raise UnreadableDocument(f"{place} has no question with document ids", help=FORM)
    return KnownQuestion(question.strip(), ids)
