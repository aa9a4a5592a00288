"""`OfflineReader`: answers from the passages' own words. No key, no network, no language model.

With an extractive reader it reads: short answers with the sentences around them (`answers.py`), verdicts and
choices (`verdicts.py`). Without one it quotes the sentences that are nearest to the question
(`evidence.py`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, TypeVar

from preflight_rag.state.reading import Draft, Earlier, Extract, Message, RelationReply, Reply, Rewrite, Source, Talk
from preflight_rag.text.words import encodable

if TYPE_CHECKING:
    from preflight_rag.models.embedding.embedder import Embedder
    from preflight_rag.models.reading.extractive_reader import ExtractiveReader
    from preflight_rag.offline.confidence import HasVocabulary
    from preflight_rag.offline.drafts import Drafts
    from preflight_rag.offline.relations import ContextReader
    from preflight_rag.offline.scored_sentences import ScoredSentence, Sentence

T = TypeVar("T")
ANSWER_THRESHOLD = 0.45
"""Least score of the best sentence, in [0, 1], at which the passages count as containing the answer."""
NAME = "offline extractive"
"""Name of an `OfflineReader` without an extractive reader; with one, it has the extractive reader's name."""


class OfflineReader:
    """Answers with the passages' own words, and abstains if no passage answers. Deterministic.

    Args:
        embedder: The embedder for comparing sentences with the question.
        extractive: The model that reads passages; None to quote sentences by their similarity to the question
        alone.
        threshold: Without an extractive reader, the least score of the best sentence, in [0, 1], for an answer;
        another embedder than the default may need another one.
        library: The library whose word counts say how rare a word is; None to count words in the given passages.
    """

    by_rule = True
    """Answers are made by rules and not by a language model."""

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
        self._library = library

    @cached_property
    def drafts(self) -> Drafts:
        """The writer of drafts, created on first use."""
        from preflight_rag.offline.drafts import Drafts

        return Drafts(self.embedder, self.extractive, self.threshold, self._library)

    @property
    def contexts(self) -> ContextReader:
        """The reader of whole contexts, which also compares them; created on first use."""
        return self.drafts.contexts

    async def rewrite(self, *, message: str, history: Sequence[Message]) -> Reply[Rewrite]:
        """Return the message unchanged: without a model, rules combine it with earlier questions before this call."""
        from preflight_rag.text.concepts import rewrite_by_rules

        return Reply(rewrite_by_rules(" ".join(message.split())))

    async def answer(self, *, question: str, sources: Sequence[Source], options: Sequence[str] = ()) -> Reply[Draft]:
        """Return a draft with a short answer and its sentence; without an extractive reader, one to three sentences."""
        return Reply(await self._in_thread(lambda drafts: drafts.draft(question, sources, options)))

    async def extract(self, *, question: str, sources: Sequence[Source], options: Sequence[str] = ()) -> Reply[Extract]:
        """Return the sentences of a partition that answer, one per line with its title; `options` are not used here."""
        return Reply(await self._in_thread(lambda drafts: drafts.extract(question, sources)))

    async def reduce(self, *, question: str, extracts: Sequence[Extract], options: Sequence[str] = ()) -> Reply[Draft]:
        """Return the draft that `answer` gives for the passages of all extracts."""
        return Reply(await self._in_thread(lambda drafts: drafts.reduce(question, extracts, options)))

    async def relate(
        self, *, question: str, pivot: Source, others: Sequence[Source], printed: bool = False
    ) -> Reply[RelationReply]:
        """Return the pivot's relation to each other context, by small trained models; see `relations.py`.

        `printed` is for readers with a language model and is not used here.
        """
        return Reply(await self._in_thread(lambda drafts: drafts.relate(question, pivot, others)))

    async def answer_group(self, *, question: str, sources: Sequence[Source], plural: bool) -> Reply[Draft]:
        """Return a draft with the answer of each context that answers; with `plural`, each under its entity's name."""
        return Reply(await self._in_thread(lambda drafts: drafts.group_draft(question, sources, plural)))

    async def summarize(
        self, *, title: str, sections: Sequence[Sequence[Source]], parts: Sequence[Extract] = ()
    ) -> Reply[Draft]:
        """Return a draft with the given sentences themselves, a paragraph for each section.

        If `parts` has summaries of parts, these are joined instead, and `sections` is not used.
        """
        from preflight_rag.text.quotes import plain

        if parts:
            quotes = tuple(chain.from_iterable(part.quotes for part in parts))
            return Reply(Draft("\n\n".join(part.text for part in parts), quotes))
        paragraphs: list[str] = []
        quoted: list[tuple[int, str]] = []
        for section in sections:
            paragraphs.append(" ".join(f"{plain(sentence.text)} [{sentence.n}]" for sentence in section))
            quoted += [(sentence.n, sentence.text) for sentence in section]
        return Reply(Draft("\n\n".join(paragraphs), tuple(quoted)))

    async def converse(self, *, message: str, talk: Talk, history: Sequence[Message], earlier: Earlier) -> Reply[Draft]:
        """Return the earlier answer again: without a model, the node `converse` writes its own replies."""
        quotes = tuple((source.n, source.text) for source in earlier.sources)
        return Reply(Draft(earlier.answer, quotes, found=bool(earlier.answer)))

    async def condense(self, *, summary: str, messages: Sequence[Message]) -> Reply[str]:
        """Return a shorter history: the summary, and each question with the beginning of its answer."""
        from preflight_rag.text.condense import condense

        return Reply(condense(summary, messages))

    def count_tokens(self, text: str) -> int:
        """Return the number of word pieces by the embedder's tokenizer."""
        return self.embedder.count_tokens(encodable(text))

    def rank(self, question: str, sentences: Sequence[Sentence]) -> list[ScoredSentence]:
        """Return the sentences that share most words with the question, scored, best first; ties keep their order."""
        return self.drafts.sentences.rank(question, sentences)

    async def _in_thread(self, work: Callable[[Drafts], T]) -> T:
        """Run `work` on the drafts in a thread, because the first use imports their modules."""
        return await asyncio.to_thread(lambda: work(self.drafts))
