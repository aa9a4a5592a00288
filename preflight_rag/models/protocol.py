"""The interface to language models: one method per prompting stage.

Nodes know only `Reader`. Every result of a reader is wrapped in a `Reply`, which also records the cost and any
assumptions made in parsing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from preflight_rag.models.budget import Budget
from preflight_rag.models.reading.extractive_reader import ExtractiveReader
from preflight_rag.state.context import Settings
from preflight_rag.state.errors import ModelError
from preflight_rag.state.reading import Draft, Earlier, Extract, Message, RelationReply, Reply, Rewrite, Source, Talk

__all__ = ["Draft", "Earlier", "Extract", "Message", "Reader", "RelationReply", "Reply", "Rewrite", "Source", "Talk"]


@runtime_checkable
class Reader(Protocol):
    """A language model, or something that replaces one.

    Attributes:
        name: Its name in receipts.
        by_rule: Whether it answers with the passages' own words, so that nothing need be pruned before it, checked
            after it, or rewritten by it.
        extractive: The extractive reader that it uses, or None.
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
        """Return the evidence in one partition of the sources, and the partition's own answer."""
        ...

    async def reduce(self, *, question: str, extracts: Sequence[Extract], options: Sequence[str] = ()) -> Reply[Draft]:
        """Make one answer from the partitions' extracts; its quotes are those of the extracts."""
        ...

    async def relate(
        self, *, question: str, pivot: Source, others: Sequence[Source], printed: bool = False
    ) -> Reply[RelationReply]:
        """Compare one context with others (COrg, Algorithm 1), and name the entity of each.

        With `printed`, a language model gets the prompt of COrg's Figure 9, which is for relations alone.
        """
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
        """Reply to a message that is not about the documents; it may refer to the last answer."""
        ...

    async def condense(self, *, summary: str, messages: Sequence[Message]) -> Reply[str]:
        """Condense messages of a conversation together with the summary of earlier ones."""
        ...

    def count_tokens(self, text: str) -> int:
        """Return the number of tokens of a text in a prompt, by the reader's own tokenizer or an estimate."""
        ...


@runtime_checkable
class HasContextWindow(Protocol):
    """A reader that may know how many tokens fit into one call, including the reply's."""

    def context_window(self) -> int | None:
        """Return the context window in tokens, or None if unknown."""
        ...


@runtime_checkable
class GoesOffline(Protocol):
    """A reader that can continue without its model."""

    def go_offline(self, error: ModelError) -> None:
        """Read without the model from now on."""
        ...


@runtime_checkable
class TakesInstructions(Protocol):
    """A reader that accepts instructions on how to write: tone, language, length, format."""

    def instructed(self, instructions: str) -> Reader:
        """Return the same reader with these instructions for its answers."""
        ...


@runtime_checkable
class TakesSampling(Protocol):
    """A reader whose model accepts sampling options."""

    def sampled(self, options: Mapping[str, Any]) -> Reader:
        """Return the same reader with these options, such as `temperature`, for its model's calls."""
        ...


@runtime_checkable
class TakesBudget(Protocol):
    """A reader whose calls can be counted against a budget and ended by it."""

    def limited(self, budget: Budget) -> Reader:
        """Return the same reader, whose calls are counted against the budget."""
        ...


def limited(reader: Reader, budget: Budget) -> Reader:
    """Return the reader with its calls counted against a budget; the reader itself if it cannot count calls."""
    return reader.limited(budget) if isinstance(reader, TakesBudget) else reader


def sampled(reader: Reader, options: Mapping[str, Any]) -> Reader:
    """Return the reader with sampling options set; the reader itself if there are no options, or it takes none."""
    return reader.sampled(options) if options and isinstance(reader, TakesSampling) else reader


def instructed(reader: Reader, instructions: str) -> Reader:
    """Return the reader with instructions on how to write; the reader itself if there are none, or it takes none."""
    return reader.instructed(instructions) if instructions and isinstance(reader, TakesInstructions) else reader


REPLY_TOKENS = 1024
"""Tokens reserved for a reply, at most a quarter of the window. Set by hand: an answer with quotes takes 200 to 400."""
PROMPT_TOKENS = 400
"""Tokens of instructions and question in the longest of the product's prompts, at four characters a token."""
COUNTED_SHARE = 0.85
"""Share of the free tokens that is planned for: passages are counted by the embedder's tokenizer, not the model's. A
guess."""
TAG_TOKENS = 30
"""Tokens of a passage's title, date and tags in a prompt, at four characters a token, by the demo's documents."""
LEAST_ROOM = 512
"""Least number of tokens for passages, enough for the longest one, however small a window is reported."""


def within_window(settings: Settings, reader: object, instructions: str = "") -> Settings:
    """Return settings with which a turn's prompts fit into the reader's context window; unchanged if it is unknown.

    `k`, `budget_tokens` and `relation_prompt_tokens` are reduced to the tokens that the window leaves for passages.
    """
    window = reader.context_window() if isinstance(reader, HasContextWindow) else None
    if window is None:
        return settings
    reply_tokens = min(REPLY_TOKENS, window // 4)
    prompt_tokens = PROMPT_TOKENS + len(instructions) // 4  # about four characters a token
    available = max(LEAST_ROOM, int(COUNTED_SHARE * (window - reply_tokens - prompt_tokens)))
    k = min(settings.k, available // (2 * TAG_TOKENS))  # at least as many tokens for each text as for its tags
    text_tokens = available - k * TAG_TOKENS
    return settings.model_copy(
        update={
            "k": k,
            "budget_tokens": min(text_tokens, settings.budget_tokens or text_tokens),
            "relation_prompt_tokens": min(available, settings.relation_prompt_tokens),
        }
    )
