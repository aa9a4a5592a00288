"""Drafts, extracts and relations that `OfflineReader` makes of passages.

A file of its own, so that a search, which drafts nothing, need not import its modules.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING

from preflight_rag.corg.agreement import same_answer
from preflight_rag.corg.contexts import by_context, passages_of
from preflight_rag.offline.answers import AnswerReader
from preflight_rag.offline.confidence import HasVocabulary
from preflight_rag.offline.evidence import SentenceReader, extracted, same_statement, sentences_of
from preflight_rag.offline.introduced_lists import ends_between_list_items
from preflight_rag.offline.joined_words import with_joined_words
from preflight_rag.offline.scored_sentences import Sentence
from preflight_rag.state.reading import Draft, Extract, RelationReply, Source
from preflight_rag.text.headers import NOT_ANSWERED
from preflight_rag.text.question_forms import form_of
from preflight_rag.text.quotes import elided, plain, with_ellipses

if TYPE_CHECKING:
    from preflight_rag.models.embedding.embedder import Embedder
    from preflight_rag.models.reading.extractive_reader import ExtractiveReader
    from preflight_rag.offline.context_readings import ContextAnswer
    from preflight_rag.offline.relations import ContextReader


class Drafts:
    """Writes drafts from passages; its methods have the arguments of those of `OfflineReader`.

    Args:
        embedder: The embedder for comparing sentences.
        extractive: The extractive reader; None to quote sentences only.
        threshold: Minimum score of a sentence or context that answers.
        library: The library whose word counts say how rare a word is; None to count words in the passages.
    """

    def __init__(
        self,
        embedder: Embedder,
        extractive: ExtractiveReader | None,
        threshold: float,
        library: HasVocabulary | None,
    ) -> None:
        self.extractive, self._threshold = extractive, threshold
        self.sentences = SentenceReader(embedder, threshold)
        self._answers = AnswerReader(extractive, self.sentences, library) if extractive else None

    @cached_property
    def contexts(self) -> ContextReader:
        """The reader of whole contexts, which also compares them; created on first use, as few questions need it."""
        from preflight_rag.offline.relations import ContextReader

        # A function that refers to `self` would make a reference cycle, which keeps the models in memory.
        sentences = self.sentences
        return ContextReader(
            lambda question, source: sentences.rank(question, sentences_of([source], question)),
            self._threshold,
            self.extractive,
        )

    def draft(self, question: str, sources: Sequence[Source], options: Sequence[str]) -> Draft:
        """Return the answer to a question; see `OfflineReader.answer`."""
        passages = passages_of(sources)
        question = with_joined_words(question, passages)
        if self._answers is None:
            draft = self.sentences.draft(question, sentences_of(passages, question), options)
        else:
            draft = self._answers.draft(question, passages, options)
        return by_context(_mark_partial_quotes(draft, passages), sources)

    def extract(self, question: str, sources: Sequence[Source]) -> Extract:
        """Return the sentences that are relevant to a question; see `OfflineReader.extract`."""
        if self._answers is None:
            return self.sentences.extract(question, sentences_of(sources, question))
        return replace(self._answers.extract(question, sources), sources=tuple(sources))

    def reduce(self, question: str, extracts: Sequence[Extract], options: Sequence[str]) -> Draft:
        """Return the answer from the extracts' passages; for an extract without them, from its sentences.

        Without an extractive reader the sentences are always enough, as they are ranked one by one.
        """
        sources: list[Source] = []
        for extract in extracts:
            has_passages = self._answers is not None and extract.sources
            sources += extract.sources if has_passages else extracted(extract)
        return self.draft(question, sources, options)

    def group_draft(self, question: str, sources: Sequence[Source], plural: bool) -> Draft:
        """Return one line for each different answer of the contexts; see `OfflineReader.answer_group`.

        A line has the short answer, or the whole sentence for an explanation and without an extractive reader; for
        several entities (`plural`) the entity goes before it. The draft claims something if one answer is sure enough.
        """
        # Each line with the `(context, answer)` that it stands for.
        lines: dict[str, list[tuple[int, ContextAnswer]]] = {}
        whole = self.extractive is None or form_of(question) == "explanation"
        for source, reading in zip(sources, self.contexts.read_all(question, sources), strict=True):
            if not self.contexts.answers(reading):
                continue
            note = self.contexts.note(question, source)
            described = f"{note.entity} ({note.descriptor})" if note.descriptor else note.entity
            label = f"{described}: " if plural and described else ""
            for answer in reading.answers:
                new_line = label + (elided(answer.quote, answer.sentence) if whole else plain(answer.value.text))
                # Equal answers of two entities stay apart, each behind its own name.
                equal_lines = (
                    line
                    for line, ((_, first), *_) in lines.items()
                    if line.startswith(label) and _are_equal_answers(first, answer, whole=whole)
                )
                lines.setdefault(next(equal_lines, new_line), []).append((source.n, answer))
        if not lines:
            return Draft(NOT_ANSWERED, found=False)
        cited_lines = []
        for line, answers in lines.items():
            numbers = dict.fromkeys(n for n, _ in answers)
            cited_lines.append(f"{line} " + "".join(f"[{n}]" for n in numbers))
        quotes = tuple(dict.fromkeys((n, answer.quote) for n, answer in chain.from_iterable(lines.values())))
        confidences = self._confidence_of_contexts(question, sources, list(lines.values()))
        draft = Draft("\n".join(cited_lines), quotes, claims=self._answers is None or any(confidences))
        if whole or len(lines) > 1:
            return draft
        ((_, first), *_) = next(iter(lines.values()))
        return replace(draft, short=plain(first.value.text), confidence=max(confidences) or None)

    def _confidence_of_contexts(
        self, question: str, sources: Sequence[Source], lines: Sequence[Sequence[tuple[int, ContextAnswer]]]
    ) -> list[float]:
        """Return the confidence in one answer of each context: its first one in the last line that it is cited for."""
        by_number = {source.n: source for source in sources}
        answers: dict[int, str] = {}
        for line in lines:
            answers |= {n: answer.value.text for n, answer in reversed(line)}
        return [self._confidence(question, by_number[n], answer) for n, answer in answers.items()]

    def _confidence(self, question: str, source: Source, answer: str) -> float:
        """Return the probability that a context's answer is right if it suffices for a claim, else 0."""
        return self._answers.confidence(question, passages_of([source]), answer) if self._answers else 0.0

    def relate(self, question: str, pivot: Source, others: Sequence[Source]) -> RelationReply:
        """Return the relations of a pivot to other contexts, and notes on the contexts with their answers' confidence.

        Without an extractive reader the confidence is unknown.
        """
        reply = self.contexts.compare(question, pivot, others)
        if self._answers is None:
            return reply
        by_number = {source.n: source for source in (pivot, *others)}
        notes = dict(reply.notes)
        for n, note in reply.notes.items():
            if note.answer:
                notes[n] = replace(note, confidence=self._confidence(question, by_number[n], note.answer))
        return RelationReply(reply.kinds, notes)


def _mark_partial_quotes(draft: Draft, passages: Sequence[Source]) -> Draft:
    """Return a draft with ellipses in its text at quotes that are only a part of a sentence, or of a list's items.

    The quotes themselves are unchanged.
    """
    passage_texts = {source.n: source.text for source in passages}
    text = draft.text
    for n, quote in draft.quotes:
        passage = passage_texts.get(n, "")
        unmarked, marked = plain(quote), with_ellipses(quote, passage)
        if ends_between_list_items(quote, passage):
            marked += " …"
        if marked != unmarked:
            text = text.replace(unmarked, marked)
    return replace(draft, text=text)


def _are_equal_answers(a: ContextAnswer, b: ContextAnswer, *, whole: bool) -> bool:
    """Return whether two answers say the same: by their sentences if `whole`, else by the short answers."""
    if not whole:
        return same_answer(a.value.text, b.value.text)
    first, second = (Sentence(0, answer.sentence, "", answer.terms, frozenset()) for answer in (a, b))
    return same_statement(first, second)
