"""The seam to language models: one method per prompting stage.

Nodes know only `Reader`. Everything a reader returns is wrapped in a `Reply`, so that what a stage spent and what had
to be assumed about a reply are recorded with its value.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from preflight_rag.models.reading.extractive_reader import ExtractiveReader
from preflight_rag.state.reading import Draft, Earlier, Extract, Message, RelationReply, Reply, Rewrite, Source, Talk

__all__ = ["Draft", "Earlier", "Extract", "Message", "Reader", "RelationReply", "Reply", "Rewrite", "Source", "Talk"]


@runtime_checkable
class Reader(Protocol):
    """A language model, or something that stands in for one.

    Attributes:
        name: What receipts call it.
        by_rule: Whether it answers with the passages' own words, so that nothing need be pruned before it, checked
            behind it, or rewritten by it.
        extractive: What it reads passages with, or None.
    """

    name: str
    by_rule: bool
    extractive: ExtractiveReader | None

    async def rewrite(self, *, message: str, history: Sequence[Message]) -> Reply[Rewrite]:
        """Make the message a question that can be understood without the history (oldest first), ready for search."""
        ...

    async def answer(self, *, question: str, sources: Sequence[Source], options: Sequence[str] = ()) -> Reply[Draft]:
        """Answer from all sources at once."""
        ...

    async def extract(self, *, question: str, sources: Sequence[Source], options: Sequence[str] = ()) -> Reply[Extract]:
        """Take from one partition of the sources what bears on the question, and what it answers by itself."""
        ...

    async def reduce(self, *, question: str, extracts: Sequence[Extract], options: Sequence[str] = ()) -> Reply[Draft]:
        """Make one answer of the partitions' extracts; quotes are those of the extracts."""
        ...

    async def relate(self, *, question: str, pivot: Source, others: Sequence[Source]) -> Reply[RelationReply]:
        """Compare one context with others (COrg, Algorithm 1), and say what each is about."""
        ...

    async def answer_group(self, *, question: str, sources: Sequence[Source], plural: bool) -> Reply[Draft]:
        """Answer from the contexts of one group; with `plural`, one answer for each entity of the name."""
        ...

    async def summarize(
        self, *, title: str, sections: Sequence[Sequence[Source]], parts: Sequence[Extract] = ()
    ) -> Reply[Draft]:
        """Summarise a document from its sentences, section by section, or from the summaries of its `parts`."""
        ...

    async def converse(self, *, message: str, talk: Talk, history: Sequence[Message], earlier: Earlier) -> Reply[Draft]:
        """Reply to a message that asks nothing of the documents; it may point back to the last answer."""
        ...

    async def condense(self, *, summary: str, messages: Sequence[Message]) -> Reply[str]:
        """Condense messages of a conversation and the summary of those before them."""
        ...

    def count_tokens(self, text: str) -> int:
        """Tokens that the text takes in a prompt, by the reader's own tokenizer or an estimate of it."""
        ...
