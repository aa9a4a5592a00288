"""What a reader is given and what it gives back: sources, drafts, extracts, and what a call cost."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Generic, Literal, TypeVar

from .values import Passage, Usage

T = TypeVar("T")


@dataclass(frozen=True)
class Source:
    """A passage as a prompt shows it; `n` is its number, the same in every partition of a turn."""

    n: int
    passage_id: str
    title: str
    text: str
    source: str = ""
    date: str | None = None

    @classmethod
    def of(cls, passage: Passage, n: int) -> Source:
        """A passage under the number n."""
        return cls(n, passage.id, passage.title, passage.text, passage.source, passage.date)


@dataclass(frozen=True)
class Message:
    """One message of the conversation before the question."""

    role: Literal["user", "assistant"]
    text: str


@dataclass(frozen=True)
class Draft:
    """An answer whose `[n]` markers are the numbers of its sources.

    `quotes` are `(n, words of source n)` that support it; `found` is False when the sources do not hold the answer;
    `choice` is the option chosen, when options were given.
    """

    text: str
    quotes: tuple[tuple[int, str], ...] = ()
    found: bool = True
    choice: str | None = None


@dataclass(frozen=True)
class Extract:
    """What one partition says about the question, with `[n]` markers; empty `text` when it says nothing."""

    text: str
    quotes: tuple[tuple[int, str], ...] = ()


@dataclass(frozen=True)
class Reply(Generic[T]):
    """A stage's result, what it cost, and the defaults that had to be taken on the way (`notes`)."""

    value: T
    usage: Usage = field(default_factory=Usage)
    notes: tuple[str, ...] = ()
