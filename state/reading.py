"""What a reader is given and what it gives back: sources, drafts, extracts, and what a call cost."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Generic, Literal, TypeVar

from preflight_rag.state.values import Passage, RelationKind, Usage

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


Role = Literal["user", "assistant", "summary", "sources"]
SmallTalk = Literal["greeting", "thanks", "goodbye", "wellbeing", "assent", "identity", "abilities"]
OfTheConversation = Literal[
    "source", "sources", "asked", "questions", "repeat", "summary", "shorter", "restyle", "other"
]
TalkKind = SmallTalk | OfTheConversation


@dataclass(frozen=True)
class Message:
    """One message of the conversation before the question.

    A "summary" stands for messages that are too many to be read word for word; "sources" says what the last answer was
    made of.
    """

    role: Role
    text: str


@dataclass(frozen=True)
class Talk:
    """What a message wants that the documents need not be searched for.

    Attributes:
        kind: What it is about.
        numbers: The sources, or the questions, that it names: from 1, or -1 for the last.
    """

    kind: TalkKind
    numbers: tuple[int, ...] = ()


@dataclass(frozen=True)
class Earlier:
    """The last answer from the documents, to which a message may point back.

    Attributes:
        question: What it answers.
        answer: Its text, with `[n]` marks.
        sources: What it cites: the quotes, under their numbers.
        groups: `(what it is the answer to, the answer)` of each of several answers.
    """

    question: str = ""
    answer: str = ""
    sources: tuple[Source, ...] = ()
    groups: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Rewrite:
    """A question made ready for search.

    Attributes:
        question: The standalone question, spelling corrected.
        subquestions: Its parts, where it has several; empty otherwise.
        concepts: Its key concepts, most important first, as written in the question.
        expressions: Boolean search expressions, most specific first (AND of all, fewer, OR).
        corrections: `(as written, corrected)` words.
        by: Who rewrote: "model", "rules" or "" where nothing was to do.
        kind: "conversation" where the model says that nothing is to be searched for.
    """

    question: str
    subquestions: tuple[str, ...] = ()
    concepts: tuple[str, ...] = ()
    expressions: tuple[str, ...] = ()
    corrections: tuple[tuple[str, str], ...] = ()
    by: str = ""
    kind: str = ""


@dataclass(frozen=True)
class Draft:
    """An answer whose `[n]` markers are the numbers of its sources.

    `quotes` are `(n, words of source n)` that support it; `found` is False when the sources do not hold the answer;
    `choice` is the option chosen, when options were given. A reader that reads short answers says the `short` one, and
    how confident it is, in [0, 1], of the answer, or where there is none, of that.
    """

    text: str
    quotes: tuple[tuple[int, str], ...] = ()
    found: bool = True
    choice: str | None = None
    short: str = ""
    confidence: float | None = None


@dataclass(frozen=True)
class Extract:
    """What one partition says about the question, with `[n]` markers; empty `text` when it says nothing.

    `sources` are the partition's passages, for a reader that answers from these rather than from the text.
    """

    text: str
    quotes: tuple[tuple[int, str], ...] = ()
    sources: tuple[Source, ...] = ()


@dataclass(frozen=True)
class Reply(Generic[T]):
    """A stage's result, what it cost, and the defaults that had to be taken on the way (`notes`)."""

    value: T
    usage: Usage = field(default_factory=Usage)
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class ContextNote:
    """What a context is about, for a question: its surface name, what tells it from others of that name, its answer.

    Without an `answer` a context is irrelevant to the question; it may lack a `descriptor` (COrg, section 2.1).
    """

    n: int
    entity: str
    descriptor: str | None
    answer: str | None


@dataclass(frozen=True)
class Comparison:
    """How a pivot relates to other contexts; `kinds` lacks those for which the reply was unreadable.

    Attributes:
        kinds: Relation of the pivot to each other context, by the other's number.
        notes: What is known of each context, the pivot's own included, by number.
    """

    kinds: dict[int, RelationKind]
    notes: dict[int, ContextNote]
