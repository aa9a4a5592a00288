"""What a reader is given and what it gives back: sources, drafts, extracts, notes, and what a call cost.

What of this the graph's state holds is a `Stored`: it is dumped into plain data there and loaded where it is read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, Literal, Self, TypeVar

from pydantic import TypeAdapter

from preflight_rag.state.values import COPY_OF, Passage, RelationKind, Usage

T = TypeVar("T")


_ADAPTERS: dict[type[Any], TypeAdapter[Any]] = {}


def _adapter(kind: type[Any]) -> TypeAdapter[Any]:
    """Built once a class: that takes a hundred times as long as dumping does."""
    if kind not in _ADAPTERS:
        _ADAPTERS[kind] = TypeAdapter(kind)
    return _ADAPTERS[kind]


class Stored:
    """Base of dataclasses that the state holds as plain data under their fields' names: checkpoints hold no classes."""

    NOT_STORED: ClassVar[frozenset[str]] = frozenset()
    """Fields that the state holds in a channel of their own, or that are read from the library again."""

    def dump(self) -> dict[str, Any]:
        """Return the fields as dicts, lists, strings and numbers."""
        plain: dict[str, Any] = _adapter(type(self)).dump_python(self, mode="json", exclude=set(self.NOT_STORED))
        return plain

    @classmethod
    def load(cls, stored: Mapping[str, Any]) -> Self:
        """Return what `dump` gave, also an older version's: fields that it lacks have their defaults."""
        loaded: Self = _adapter(cls).validate_python(dict(stored))
        return loaded


@dataclass(frozen=True)
class Source:
    """A passage, or a context of several, as a prompt shows it; `n` is its number, the same in every part of a turn.

    Attributes:
        start: Offset of its first character in the document's text.
        record: Of a list of records, such as a table's rows, the one that it is; else empty.
        heading: The heading that it stands under, where the document has any.
        replaces: What its document's front matter says that it replaces.
        parts: The passages that a context is made of, in the document's order (`corg.contexts`).
    """

    n: int
    passage_id: str
    title: str
    text: str
    source: str = ""
    date: str | None = None
    document_id: str = ""
    start: int = 0
    record: str = ""
    parts: tuple[Source, ...] = ()
    heading: str = ""
    replaces: tuple[str, ...] = ()

    @classmethod
    def of(cls, passage: Passage, n: int) -> Source:
        """Return a passage under the number n."""
        # Two documents with the same text are one source: what both say does not agree with itself.
        document_id = str(passage.metadata.get(COPY_OF) or passage.document_id)
        return cls(
            n, passage.id, passage.title, passage.text, passage.source, passage.date, document_id,
            passage.start, record=passage.id if "rows" in passage.metadata else "",
            heading=str(passage.metadata.get("section") or ""), replaces=_named(passage.metadata),
        )  # fmt: skip


def _named(metadata: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the titles that a document's metadata lists as replaced, one or several."""
    found = [metadata.get(name) for name in ("replaces", "supersedes")]
    titles = []
    for value in found:
        if value:
            for one in value if isinstance(value, list) else [value]:
                titles.append(str(one))
    return tuple(titles)


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
class Talk(Stored):
    """What a message wants that the documents need not be searched for.

    Attributes:
        kind: What it is about.
        numbers: The sources, or the questions, that it names: from 1, or -1 for the last.
    """

    kind: TalkKind
    numbers: tuple[int, ...] = ()


@dataclass(frozen=True)
class Lookup(Stored):
    """A question about the documents themselves.

    Attributes:
        kind: "listing" asks which documents, or how many, fit; "metadata" asks what is known of one of them.
        topic: What the documents mention, or which document is meant; empty for all, or for the one spoken of.
        asked: What is to be listed where that is in the documents, such as "drugs".
        author: Only documents by this author.
        journal: Only documents of this journal.
        years: "in", "since" or "before", and a year.
        fields: What is asked of a document: names of lines of its card, of which the first that it has answers.
        named: Whether the question calls what it asks about a document, or quotes its title.
    """

    kind: Literal["listing", "metadata"]
    topic: str = ""
    asked: str = ""
    author: str = ""
    journal: str = ""
    years: tuple[str, ...] = ()
    fields: tuple[str, ...] = ()
    named: bool = False


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
class Rewrite(Stored):
    """A question made ready for search.

    Attributes:
        question: The standalone question, spelling corrected.
        subquestions: Its parts, where it has several; empty otherwise.
        concepts: Its key concepts, most important first, as written in the question.
        expressions: Boolean search expressions, most specific first (AND of all, fewer, OR).
        terms: Concepts that whoever rewrote says are one term, which a search has to find word for word.
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
    terms: tuple[str, ...] = ()

    NOT_STORED: ClassVar[frozenset[str]] = frozenset({"question", "subquestions", "kind", "terms"})


@dataclass(frozen=True)
class Draft(Stored):
    """An answer whose `[n]` markers are the numbers of its sources.

    `quotes` are `(n, words of source n)` that support it; `found` is False when the sources do not hold the answer;
    `claims` is False where it shows what the sources say and answers nothing itself; `choice` is the option chosen,
    when options were given. A reader that reads short answers says the `short` one, and the probability, in [0, 1],
    that it is right. `unclaimed` says, for people, why nothing is claimed. `disputed` is True where the reader says
    that its material answers differently for one and the same thing. `incomplete` names what kept it from being whole,
    as `Answer.incomplete` does; else it is empty.
    """

    text: str
    quotes: tuple[tuple[int, str], ...] = ()
    found: bool = True
    choice: str | None = None
    short: str = ""
    confidence: float | None = None
    claims: bool = True
    disputed: bool = False
    incomplete: str = ""
    unclaimed: str = ""


@dataclass(frozen=True)
class Extract(Stored):
    """What one partition says about the question, with `[n]` markers; empty `text` when it says nothing.

    Attributes:
        text: The statements.
        answer: What the partition by itself answers, in a few words, or the option that it chooses; else empty.
        quotes: `(n, words of source n)` that support them.
        sources: The partition's passages, for a reader that answers from these rather than from the text.
        partition: Its number within the turn, from 1.
        failed: Whether it could not be read; it stands in the turn's gaps then.
        spared: Whether the turn may go on without what failed: no reply came in time, or none that can be used.
    """

    text: str
    quotes: tuple[tuple[int, str], ...] = ()
    sources: tuple[Source, ...] = ()
    partition: int = 0
    failed: bool = False
    answer: str = ""
    spared: bool = False

    NOT_STORED: ClassVar[frozenset[str]] = frozenset({"sources"})


@dataclass(frozen=True)
class Reply(Generic[T]):
    """A stage's result, its cost, and notes on the defaults that were used on the way."""

    value: T
    usage: Usage = field(default_factory=Usage)
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class ContextNote(Stored):
    """What a context is about, for a question (COrg, section 2.1).

    Attributes:
        rank: The context's number: its rank among the passages, or in a prompt its place there.
        entity: Its surface name.
        descriptor: What tells the entity from others of that name, where the context says so.
        answer: Its answer to the question; without one it is irrelevant to it.
        told: Whether a reader said this; else it is read off the context's title and words by rule.
        relevant: Whether the context has an answer, as far as is known when all are related.
        ranks: The passages that the context is made of, in the order of the document.
        sentence: The sentence that holds the answer, where the reader says which.
        confidence: The probability that the context's answer is right, where the reader knows one; 0 where it is not
            enough for a claim.
    """

    rank: int
    entity: str
    descriptor: str | None
    answer: str | None
    told: bool = True
    relevant: bool = True
    ranks: tuple[int, ...] = ()
    sentence: str = ""
    confidence: float | None = None


@dataclass(frozen=True)
class RelationReply:
    """How a pivot relates to other contexts; `kinds` lacks those for which the reply was unreadable.

    Attributes:
        kinds: Relation of the pivot to each other context, by the other's number.
        notes: What is known of each context, the pivot's own included, by number.
    """

    kinds: dict[int, RelationKind] = field(default_factory=dict)
    notes: dict[int, ContextNote] = field(default_factory=dict)
