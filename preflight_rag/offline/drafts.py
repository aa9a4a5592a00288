"""What `OfflineReader` makes of passages: drafts, extracts and relations.

A file of its own, since a search, which drafts nothing, need not import what this does.
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
    """Writes drafts from passages; its methods have the arguments of those of `OfflineReader`."""

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

        # Not by way of `self`: the two would refer to each other, and keep their models in memory.
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
            made = self.sentences.draft(question, sentences_of(passages, question), options)
        else:
            made = self._answers.draft(question, passages, options)
        return by_context(_with_ellipses(made, passages), sources)

    def extract(self, question: str, sources: Sequence[Source]) -> Extract:
        """Return the sentences that are relevant to a question; see `OfflineReader.extract`."""
        if self._answers is None:
            return self.sentences.extract(question, sentences_of(sources, question))
        return replace(self._answers.extract(question, sources), sources=tuple(sources))

    def reduce(self, question: str, extracts: Sequence[Extract], options: Sequence[str]) -> Draft:
        """Return the answer from the passages behind the extracts; for missing passages, from the extracts' sentences.

        Sentences are ranked one by one either way, so without an extractive reader the extracts' sentences are enough.
        """
        if self._answers is None:
            return self.draft(question, list(chain.from_iterable(map(extracted, extracts))), options)
        behind = list(chain.from_iterable(extract.sources or extracted(extract) for extract in extracts))
        return self.draft(question, behind, options)

    def group_draft(self, question: str, sources: Sequence[Source], plural: bool) -> Draft:
        """Return one line for each answer; see `OfflineReader.answer_group`."""
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
                    # Equal answers of two entities stay apart, each behind its own name.
                    if line.startswith(label) and _alike(known[0][1], answer, whole=whole)
                )
                lines.setdefault(next(alike, own), []).append((source.n, answer))
        if not lines:
            return Draft(NOT_ANSWERED, found=False)
        shown = []
        for line, given in lines.items():
            numbers = dict.fromkeys(n for n, _ in given)
            shown.append(f"{line} " + "".join(f"[{n}]" for n in numbers))
        quotes = tuple(dict.fromkeys((n, answer.quote) for n, answer in chain.from_iterable(lines.values())))
        first = next(iter(lines.values()))[0][1].value.text
        by_number = {source.n: source for source in sources}
        texts = {n: answer.value.text for n, answer in chain.from_iterable(map(reversed, lines.values()))}
        sure = [self._sure(question, by_number[n], answer) for n, answer in texts.items()]
        draft = Draft("\n".join(shown), quotes, claims=self._answers is None or any(sure))
        return draft if whole or len(lines) > 1 else replace(draft, short=plain(first), confidence=max(sure) or None)

    def _sure(self, question: str, source: Source, answer: str) -> float:
        """Return the probability that a context's answer is right if it suffices for a claim, else 0."""
        return self._answers.confidence(question, passages_of([source]), answer) if self._answers else 0.0

    def relate(self, question: str, pivot: Source, others: Sequence[Source]) -> RelationReply:
        """Return the relations of a pivot to other contexts, and the confidence of each context's answer."""
        found = self.contexts.compare(question, pivot, others)
        if self._answers is None:
            return found
        by_number = {source.n: source for source in (pivot, *others)}
        notes = {
            n: replace(note, confidence=self._sure(question, by_number[n], note.answer)) if note.answer else note
            for n, note in found.notes.items()
        }
        return RelationReply(found.kinds, notes)


def _with_ellipses(draft: Draft, passages: Sequence[Source]) -> Draft:
    """Return a draft whose text marks quotes that are only a part of their sentence, or of the list they introduce.

    Its quotes are unchanged.
    """
    texts, text = {source.n: source.text for source in passages}, draft.text
    for n, quote in draft.quotes:
        running, shown = plain(quote), with_ellipses(quote, texts.get(n, ""))
        shown += " …" if ends_between_list_items(quote, texts.get(n, "")) else ""
        if shown != running:
            text = text.replace(running, shown)
    return replace(draft, text=text)


def _alike(a: ContextAnswer, b: ContextAnswer, *, whole: bool) -> bool:
    """Return whether two answers say the same: by their whole sentences, or by the short answers."""
    if not whole:
        return same_answer(a.value.text, b.value.text)
    first, second = (Sentence(0, answer.sentence, "", answer.terms, frozenset()) for answer in (a, b))
    return same_statement(first, second)
