"""Input and output of readers: sources, drafts, extracts, notes, and the cost of a call.

Those in the graph's state are `Stored`: they are dumped into plain data there and loaded on reading.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, Literal, Self, TypeVar

from pydantic import TypeAdapter

from preflight_rag.state.values import COPY_OF, Passage, RelationKind, Usage

T = TypeVar("T")


_ADAPTERS: dict[type[Any], TypeAdapter[Any]] = {}


def _cached_adapter(kind: type[Any]) -> TypeAdapter[Any]:
    """Return pydantic's adapter of a class, cached: building it takes a hundred times as long as dumping a value."""
    if kind not in _ADAPTERS:
        _ADAPTERS[kind] = TypeAdapter(kind)
    return _ADAPTERS[kind]


class Stored:
    """Base of dataclasses that the state holds as plain data under their fields' names: checkpoints hold no classes."""

    NOT_STORED: ClassVar[frozenset[str]] = frozenset()
    """Fields that are in a channel of their own, or are read from the library again."""

    def dump(self) -> dict[str, Any]:
        """Return the fields as plain data (dicts, lists, strings and numbers), without those of `NOT_STORED`."""
        plain: dict[str, Any] = _cached_adapter(type(self)).dump_python(self, mode="json", exclude=set(self.NOT_STORED))
        return plain

    @classmethod
    def load(cls, stored: Mapping[str, Any]) -> Self:
        """Return the value that was dumped; fields that an older version's dump lacks get their defaults."""
        loaded: Self = _cached_adapter(cls).validate_python(dict(stored))
        return loaded


@dataclass(frozen=True)
class Source:
    """A passage, or a context of several, as shown in a prompt; `n` is its number, the same in every part of a turn.

    Attributes:
        start: Offset of its first character in the document's text.
        record: In a list of records, such as a table's rows, its own record; else empty.
        heading: The heading above it, if the document has any.
        replaces: What its document replaces, according to its front matter.
        parts: The passages of which a context consists, in the document's order (`corg.contexts`).
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
        """Return a passage as a source with the number n."""
        # Two documents with the same text are one source: their agreement is no confirmation.
        document_id = str(passage.metadata.get(COPY_OF) or passage.document_id)
        return cls(
            n, passage.id, passage.title, passage.text, passage.source, passage.date, document_id,
            passage.start, record=passage.id if "rows" in passage.metadata else "",
            heading=str(passage.metadata.get("section") or ""), replaces=_replaced_titles(passage.metadata),
        )  # fmt: skip


def _replaced_titles(metadata: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the titles of the documents that a document replaces, by its metadata: one, several, or none."""
    titles: list[str] = []
    for name in ("replaces", "supersedes"):
        value = metadata.get(name)
        if value:
            titles += [str(title) for title in (value if isinstance(value, list) else [value])]
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

    A "summary" replaces messages that are too many to be read in full; "sources" describes the sources of the last
    answer.
    """

    role: Role
    text: str


@dataclass(frozen=True)
class Talk(Stored):
    """A request of a message that needs no search of the documents.

    Attributes:
        kind: Its subject.
        numbers: The sources, or the questions, that it names: from 1, or -1 for the last.
    """

    kind: TalkKind
    numbers: tuple[int, ...] = ()


@dataclass(frozen=True)
class Lookup(Stored):
    """A question about the documents themselves.

    Attributes:
        kind: "listing" asks which documents, or how many, match; "metadata" asks for metadata of one of them.
        topic: What the documents mention, or which document is meant; empty for all, or for the current one.
        asked: What is to be listed if it is in the documents' text, such as "drugs".
        author: Only documents by this author.
        journal: Only documents of this journal.
        years: "in", "since" or "before", and a year.
        fields: The requested fields of a document: lines of its card, of which the first that exists is the answer.
        named: Whether the question says that it is about a document, or quotes a title.
        pointed: The kind of document, among those that the last answer cites, to which the question points: "price
            list" of "who wrote that price list?"; else empty.
    """

    kind: Literal["listing", "metadata"]
    topic: str = ""
    asked: str = ""
    author: str = ""
    journal: str = ""
    years: tuple[str, ...] = ()
    fields: tuple[str, ...] = ()
    named: bool = False
    pointed: str = ""


@dataclass(frozen=True)
class Earlier:
    """The last answer from the documents, to which a message may refer.

    Attributes:
        question: Its question.
        answer: Its text, with `[n]` marks.
        sources: Its citations: the quotes, by their numbers.
        groups: `(entity, answer)` of each of several answers.
    """

    question: str = ""
    answer: str = ""
    sources: tuple[Source, ...] = ()
    groups: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Rewrite(Stored):
    """A question prepared for search.

    Attributes:
        question: The standalone question, spelling corrected.
        subquestions: Its parts, if it has several; empty otherwise.
        concepts: Its key concepts, most important first, as written in the question.
        expressions: Boolean search expressions, most specific first (AND of all, fewer, OR).
        terms: Concepts that are one term and have to be found word for word.
        corrections: `(as written, corrected)` words.
        by: Who rewrote it: "model", "rules" or "" if nothing was changed.
        kind: "conversation" if the model says that no search is needed.
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
    """An answer whose `[n]` marks are the numbers of its sources.

    `quotes` are `(n, words of source n)` that support it; `found` is False if the sources do not contain the answer;
    `claims` is False if it only shows what the sources say; `choice` is the option chosen, if options were given. A
    reader that finds short answers gives the `short` one, and the probability, in [0, 1], that it is right. `unclaimed`
    tells users why nothing is claimed. `disputed` is True if the reader says that its material answers differently for
    the same thing. `incomplete` names the reason why it is incomplete, as `Answer.incomplete` does; else it is empty.
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
    """The statements of one partition about the question, with `[n]` marks; empty `text` if there are none.

    Attributes:
        text: The statements.
        answer: The partition's own answer, in a few words, or the option that it chooses; else empty.
        quotes: `(n, words of source n)` that support them.
        sources: The partition's passages, for a reader that answers from these rather than from the text.
        partition: Its number within the turn, from 1.
        failed: Whether it could not be read; it is then listed in the turn's gaps.
        spared: Whether the turn may continue without it: no reply came in time, or none that can be used.
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
    """The note on a context, for a question (COrg, section 2.1).

    Attributes:
        rank: The context's number: its rank among the passages, or its number in a prompt.
        entity: Its surface name.
        descriptor: What distinguishes the entity from others of that name, if the context says so.
        answer: Its answer to the question; without one it is irrelevant to it.
        told: Whether a reader gave the note; else it is made from the context's title and words by rule.
        relevant: Whether the context has an answer, as far as is known when all are related.
        ranks: The passages of which the context consists, in the order of the document.
        sentence: The sentence that contains the answer, if the reader says which.
        confidence: The probability that the context's answer is right, if the reader gives one; 0 if it is not enough
            for a claim.
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
    """The relations of a pivot to other contexts; `kinds` lacks those for which the reply was unreadable.

    Attributes:
        kinds: Relation of the pivot to each other context, by the other's number.
        notes: The note on each context, including the pivot, by number.
    """

    kinds: dict[int, RelationKind] = field(default_factory=dict)
    notes: dict[int, ContextNote] = field(default_factory=dict)
