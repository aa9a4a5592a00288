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
    from preflight_rag.offline.evidence import ScoredSentence, Sentence
    from preflight_rag.offline.relations import ContextReader

T = TypeVar("T")
ANSWER_THRESHOLD = 0.45
"""Least score of the best sentence at which the passages count as holding the answer."""
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
        self._library = library

    @cached_property
    def drafts(self) -> Drafts:
        """The writer of drafts, made at first use."""
        from preflight_rag.offline.drafts import Drafts

        return Drafts(self.embedder, self.extractive, self.threshold, self._library)

    @property
    def contexts(self) -> ContextReader:
        """The reader of whole contexts, which also compares them; made at first use."""
        return self.drafts.contexts

    async def rewrite(self, *, message: str, history: Sequence[Message]) -> Reply[Rewrite]:
        """Return the message by itself.

        The rewriter joins it with earlier questions and asks no reader that goes by rule.
        """
        from preflight_rag.text.concepts import rewrite_by_rules

        return Reply(rewrite_by_rules(" ".join(message.split())))

    async def answer(self, *, question: str, sources: Sequence[Source], options: Sequence[str] = ()) -> Reply[Draft]:
        """Return the short answer and the sentence around it; without an extractive reader one to three sentences."""
        return Reply(await self._in_thread(lambda drafts: drafts.draft(question, sources, options)))

    async def extract(self, *, question: str, sources: Sequence[Source], options: Sequence[str] = ()) -> Reply[Extract]:
        """Return the partition's sentences that answer, one a line under its passage's title.

        Options are for `reduce`.
        """
        return Reply(await self._in_thread(lambda drafts: drafts.extract(question, sources)))

    async def reduce(self, *, question: str, extracts: Sequence[Extract], options: Sequence[str] = ()) -> Reply[Draft]:
        """Return what `answer` makes of the passages that the extracts are from."""
        return Reply(await self._in_thread(lambda drafts: drafts.reduce(question, extracts, options)))

    async def relate(
        self, *, question: str, pivot: Source, others: Sequence[Source], printed: bool = False
    ) -> Reply[RelationReply]:
        """Relations by small trained models over features of the contexts; see `relations.py`."""
        return Reply(await self._in_thread(lambda drafts: drafts.relate(question, pivot, others)))

    async def answer_group(self, *, question: str, sources: Sequence[Source], plural: bool) -> Reply[Draft]:
        """Return the answer of each context that answers; with `plural`, prefixed with the name of its entity."""
        return Reply(await self._in_thread(lambda drafts: drafts.group_draft(question, sources, plural)))

    async def summarize(
        self, *, title: str, sections: Sequence[Sequence[Source]], parts: Sequence[Extract] = ()
    ) -> Reply[Draft]:
        """Return the sentences themselves, a paragraph a section; of parts, their summaries one after another."""
        from preflight_rag.text.quotes import plain

        if parts:
            quotes = tuple(chain.from_iterable(part.quotes for part in parts))
            return Reply(Draft("\n\n".join(part.text for part in parts), quotes))
        text = "\n\n".join(" ".join(f"{plain(item.text)} [{item.n}]" for item in section) for section in sections)
        quoted = []
        for section in sections:
            for item in section:
                quoted.append((item.n, item.text))
        return Reply(Draft(text, tuple(quoted)))

    async def converse(self, *, message: str, talk: Talk, history: Sequence[Message], earlier: Earlier) -> Reply[Draft]:
        """Return the last answer again; the stage `converse` has words of its own where a reader goes by rule."""
        quotes = tuple((source.n, source.text) for source in earlier.sources)
        return Reply(Draft(earlier.answer, quotes, found=bool(earlier.answer)))

    async def condense(self, *, summary: str, messages: Sequence[Message]) -> Reply[str]:
        """Return each question with the beginning of its answer."""
        from preflight_rag.text.condense import condense

        return Reply(condense(summary, messages))

    def count_tokens(self, text: str) -> int:
        """Return the number of word pieces by the embedder's tokenizer."""
        return self.embedder.count_tokens(encodable(text))

    def rank(self, question: str, sentences: Sequence[Sentence]) -> list[ScoredSentence]:
        """Return the sentences with the largest lexical shares, scored, best first; ties in their order."""
        return self.drafts.sentences.rank(question, sentences)

    async def _in_thread(self, work: Callable[[Drafts], T]) -> T:
        """Return what `work` makes with the drafts, which may have to be imported first."""
        return await asyncio.to_thread(lambda: work(self.drafts))
