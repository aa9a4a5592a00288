"""`OfflineReader`: answers from the passages' own words. No key, no network, no language model.

With an extractive reader it reads: short answers with the sentences around them (`answers.py`), verdicts and
choices (`verdicts.py`). Without one it quotes the sentences that are nearest to the question
(`evidence.py`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from preflight_rag.corg.agreement import same_answer
from preflight_rag.corg.contexts import by_context, passages_of
from preflight_rag.offline.answers import AnswerReader
from preflight_rag.offline.confidence import HasVocabulary
from preflight_rag.offline.evidence import (
    ANSWER_THRESHOLD,
    NOT_FOUND,
    Scored,
    Sentence,
    SentenceReader,
    elided,
    extracted,
    plain,
    same_statement,
    sentences_of,
)
from preflight_rag.offline.relations import ContextAnswer, ContextReader
from preflight_rag.state.reading import Draft, Earlier, Extract, Message, RelationReply, Reply, Rewrite, Source, Talk
from preflight_rag.text.concepts import rewrite_by_rules
from preflight_rag.text.condense import condense
from preflight_rag.text.question_forms import form_of
from preflight_rag.text.words import encodable

if TYPE_CHECKING:
    from preflight_rag.models.embedding.embedder import Embedder
    from preflight_rag.models.reading.extractive_reader import ExtractiveReader

NAME = "offline extractive"
"""Name of the reader that quotes sentences; one that reads has its extractive reader's name."""


class OfflineReader:
    """Answers with the passages' own words, and abstains when none answers. Deterministic.

    Args:
        embedder: What sentences are compared with.
        extractive: What reads passages; None quotes sentences by their nearness to the question alone.
        threshold: Without an extractive reader, the least score of the best sentence, in [0, 1], at which it answers;
            another embedder than the default may need another one.
        library: Says how rare a question's words are among its documents; None takes that from the passages at hand.
    """

    by_rule = True

    def __init__(
        self,
        embedder: Embedder,
        extractive: ExtractiveReader | None = None,
        *,
        threshold: float = ANSWER_THRESHOLD,
        library: HasVocabulary | None = None,
    ) -> None:
        self.embedder, self.extractive, self.threshold = embedder, extractive, threshold
        self.name = extractive.name if extractive else NAME
        sentences = self.sentences = SentenceReader(embedder, threshold)
        # Not by way of `self`: the two would refer to each other, and keep their models in memory.
        self.contexts = ContextReader(
            lambda question, source: sentences.rank(question, sentences_of([source])), threshold, extractive
        )
        self._answers = AnswerReader(extractive, self.sentences, library) if extractive else None

    async def rewrite(self, *, message: str, history: Sequence[Message]) -> Reply[Rewrite]:
        """The message by itself; the rewriter joins it with earlier questions and asks no reader that goes by rule."""
        return Reply(rewrite_by_rules(" ".join(message.split())))

    async def answer(self, *, question: str, sources: Sequence[Source], options: Sequence[str] = ()) -> Reply[Draft]:
        """The short answer and the sentence around it; without an extractive reader one to three sentences."""
        return Reply(await asyncio.to_thread(self._draft, question, sources, options))

    async def extract(self, *, question: str, sources: Sequence[Source], options: Sequence[str] = ()) -> Reply[Extract]:
        """The partition's sentences that answer, one a line under its passage's title; options are for `reduce`."""
        return Reply(await asyncio.to_thread(self._extract, question, sources))

    async def reduce(self, *, question: str, extracts: Sequence[Extract], options: Sequence[str] = ()) -> Reply[Draft]:
        """What `answer` makes of the passages that the extracts are from."""
        return Reply(await asyncio.to_thread(self._reduce, question, extracts, options))

    async def relate(self, *, question: str, pivot: Source, others: Sequence[Source]) -> Reply[RelationReply]:
        """Relations by small trained models over features of the contexts; see `relations.py`."""
        return Reply(await asyncio.to_thread(self._relate, question, pivot, others))

    async def answer_group(self, *, question: str, sources: Sequence[Source], plural: bool) -> Reply[Draft]:
        """The answer of each context that answers; with `plural`, behind the name of what it is about."""
        return Reply(await asyncio.to_thread(self._group_draft, question, sources, plural))

    async def summarize(
        self, *, title: str, sections: Sequence[Sequence[Source]], parts: Sequence[Extract] = ()
    ) -> Reply[Draft]:
        """The sentences themselves, a paragraph a section; of parts, their summaries one after another."""
        if parts:
            quotes = tuple(quote for part in parts for quote in part.quotes)
            return Reply(Draft("\n\n".join(part.text for part in parts), quotes))
        text = "\n\n".join(" ".join(f"{plain(item.text)} [{item.n}]" for item in section) for section in sections)
        return Reply(Draft(text, tuple((item.n, item.text) for section in sections for item in section)))

    async def converse(self, *, message: str, talk: Talk, history: Sequence[Message], earlier: Earlier) -> Reply[Draft]:
        """The last answer again; the stage `converse` has words of its own where a reader goes by rule."""
        quotes = tuple((source.n, source.text) for source in earlier.sources)
        return Reply(Draft(earlier.answer, quotes, found=bool(earlier.answer)))

    async def condense(self, *, summary: str, messages: Sequence[Message]) -> Reply[str]:
        """Each question with the beginning of its answer."""
        return Reply(condense(summary, messages))

    def count_tokens(self, text: str) -> int:
        """Word pieces of the embedder's tokenizer."""
        return self.embedder.count_tokens(encodable(text))

    def rank(self, question: str, sentences: Sequence[Sentence]) -> list[Scored]:
        """The sentences with the largest lexical shares, scored, best first; ties in their order."""
        return self.sentences.rank(question, sentences)

    def _draft(self, question: str, sources: Sequence[Source], options: Sequence[str]) -> Draft:
        passages = passages_of(sources)
        if self._answers is None:
            return by_context(self.sentences.draft(question, sentences_of(passages), options), sources)
        return by_context(self._answers.draft(question, passages, options), sources)

    def _extract(self, question: str, sources: Sequence[Source]) -> Extract:
        if self._answers is None:
            return self.sentences.extract(question, sentences_of(sources))
        return replace(self._answers.extract(question, sources), sources=tuple(sources))

    def _reduce(self, question: str, extracts: Sequence[Extract], options: Sequence[str]) -> Draft:
        """The answer of the passages behind the extracts; of an extract without them, its sentences are the passages.

        Sentences are ranked alone either way, so without an extractive reader those of the extracts are enough.
        """
        if self._answers is None:
            return self._draft(question, [source for extract in extracts for source in extracted(extract)], options)
        behind = [source for extract in extracts for source in extract.sources or extracted(extract)]
        return self._draft(question, behind, options)

    def _group_draft(self, question: str, sources: Sequence[Source], plural: bool) -> Draft:
        lines: dict[str, list[tuple[int, ContextAnswer]]] = {}
        whole = self.extractive is None or form_of(question) == "explanation"
        for source, reading in zip(sources, self.contexts.read_all(question, sources), strict=True):
            if not self.contexts.answers(reading):
                continue
            note = self.contexts.note(question, source)
            described = f"{note.entity} ({note.descriptor})" if note.descriptor else note.entity
            label = f"{described}: " if plural and described else ""
            for answer in reading.answers:
                own = label + (elided(answer.quote, answer.sentence) if whole else plain(answer.value.text))
                alike = (
                    line
                    for line, known in lines.items()
                    if line.startswith(label) and _alike(known[0][1], answer, whole=whole)
                )
                lines.setdefault(next(alike, own), []).append((source.n, answer))
        if not lines:
            return Draft(NOT_FOUND, found=False)
        numbers = {line: list(dict.fromkeys(n for n, _ in given)) for line, given in lines.items()}
        text = "\n".join(f"{line} " + "".join(f"[{n}]" for n in marks) for line, marks in numbers.items())
        quotes = tuple(dict.fromkeys((n, answer.quote) for given in lines.values() for n, answer in given))
        first = next(iter(lines.values()))[0][1].value.text
        by_number = {source.n: source for source in sources}
        texts = {n: answer.value.text for given in lines.values() for n, answer in reversed(given)}
        sure = [self._sure(question, by_number[n], answer) for n, answer in texts.items()]
        draft = Draft(text, quotes, claims=self._answers is None or any(sure))
        return draft if whole or len(lines) > 1 else replace(draft, short=plain(first), confidence=max(sure) or None)

    def _sure(self, question: str, source: Source, answer: str) -> float:
        """The probability that a context's answer is right, where it is enough for a claim; else 0."""
        claim = self._answers.claim(question, passages_of([source])) if self._answers else None
        return (claim.confidence or 0.0) if claim and same_answer(claim.short, answer) else 0.0

    def _relate(self, question: str, pivot: Source, others: Sequence[Source]) -> RelationReply:
        """The relations, and how surely each context gives its answer."""
        found = self.contexts.compare(question, pivot, others)
        if self._answers is None:
            return found
        by_number = {source.n: source for source in (pivot, *others)}
        notes = {
            n: replace(note, confidence=self._sure(question, by_number[n], note.answer)) if note.answer else note
            for n, note in found.notes.items()
        }
        return RelationReply(found.kinds, notes)


def _alike(a: ContextAnswer, b: ContextAnswer, *, whole: bool) -> bool:
    """Whether two contexts say the same: in whole sentences, or in short answers."""
    if not whole:
        return same_answer(a.value.text, b.value.text)
    first, second = (Sentence(0, answer.sentence, "", answer.terms, frozenset()) for answer in (a, b))
    return same_statement(first, second)
