"""Values that leave the graph: passages, rankings, the routing decision, citations, receipts, answers.

All are immutable pydantic models; `model_dump()` gives the JSON that the command line prints. Inside the graph the same
things travel as plain dicts (see `schema.py`), because checkpoints hold no custom classes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Generic, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator
from typing_extensions import TypeVar  # that of `typing` has no defaults before Python 3.13

RouteName = Literal["plain", "map_reduce", "corg", "abstain", "conversation", "listing", "metadata"]
Outcome = Literal["answered", "evidence", "not_found", "listing", "conversation"]
"""What an answer is: a claim, quotes without a claim, an abstention, a list of documents, or talk."""
RelationKind = Literal["distracting", "ambiguous", "counterfactual", "duplicated", "none"]


class Value(BaseModel):
    """Base of all values: frozen, no unknown fields, dumped under their public names.

    What checks a value is built at the first one of its class; a search has few of them.
    """

    model_config = ConfigDict(
        frozen=True, extra="forbid", populate_by_name=True, serialize_by_alias=True, defer_build=True
    )


class Document(Value):
    """One document of the collection as a loader read it.

    `id` is the record's own id for record files, else the absolute path. `text` is the whole text; `pages` are
    `(number, start)` pairs that say at which character offset of `text` each page begins (empty when unpaged).
    """

    id: str
    text: str
    source: str
    title: str = ""
    date: str | None = None
    authors: tuple[str, ...] = ()
    pages: tuple[tuple[int, int], ...] = ()
    metadata: dict[str, Any] = Field(default_factory=dict)


COPY_OF = "copy_of"
"""Metadata of a passage whose document has the text of another one again: the id of that one."""


class Passage(Value):
    """A stretch of a document, short enough that the embedder reads all of it.

    `start` and `end` are character offsets in the document's text, `tokens` counts the embedder's word pieces.
    """

    id: str
    document_id: str
    text: str
    title: str = ""
    source: str = ""
    date: str | None = None
    page: int | None = None
    start: int = 0
    end: int = 0
    tokens: int = 0
    metadata: dict[str, Any] = Field(default_factory=dict)

    def page_at(self, offset: int) -> int | None:
        """Return the page of a character of the text, which may be a later one than that of the first."""
        starts = self.metadata.get("page_starts")
        if starts is None and "overlap_page" in self.metadata:
            # Libraries that were split before a passage could go over a page's end.
            starts = [(self.metadata["overlap_start"], self.metadata["overlap_page"])]
        pages: list[int] = [page for start, page in starts or () if start <= self.start + offset]
        return pages[-1] if pages else self.page


class UnreadPassage(Value):
    """What an index knows of a passage: enough to rank it. Retrieval reads those that go on; no other stage sees one.

    `retracted` stands for its title, which an index does not hold.
    """

    id: str
    document_id: str
    start: int = 0
    tokens: int = 0
    retracted: bool = False


class Hit(Value):
    """One place in a ranking: `rank` counts from 1, `score` is the ranker's own."""

    passage_id: str
    document_id: str
    rank: int
    score: float


Ranking = tuple[Hit, ...]


class RouteDecision(Value):
    """What a router decided and on what grounds.

    `iou` is None when the rankings were not compared. `risk` is the probability that the key passage would be lost.
    """

    name: RouteName
    reason: str
    forced: bool = False
    iou: float | None = None
    top_n: int
    threshold: float
    risk: float | None = None
    signals: dict[str, float] = Field(default_factory=dict)


_PATH = re.compile(r"/|~/|[A-Za-z]:[\\/]|\\\\")


def file_name(place: str) -> str:
    """Return the last part of a path from a disk's root; anything else as it is."""
    return re.split(r"[/\\]+", place)[-1] or place if _PATH.match(place) else place


class CopyPlace(Value):
    """A document that holds a quote word for word, too, since it is a copy of the one that is cited, or quotes it."""

    document_id: str
    title: str
    source: str


class Citation(Value):
    """A numbered quote of the answer; `text[start:end] == quote` in the stored passage whenever `verified`.

    `url` is where the document can be read in the open web: at its DOI, PMC's or PubMed's number, or its own address.
    `also_in` are copies of the document, which are not searched beside it.
    `file_saved` is when its file was saved, for a document that states no `date` itself. `name` is what people call the
    document: of one that was read from a file the file's own name, else its id.
    """

    n: int
    passage_id: str
    document_id: str
    title: str
    source: str
    quote: str
    start: int
    end: int
    verified: bool
    page: int | None = None
    date: str | None = None
    url: str | None = None
    also_in: tuple[CopyPlace, ...] = ()
    file_saved: str | None = None
    name: str = Field(default_factory=lambda given: file_name(str(given.get("document_id", ""))))


class Group(Value):
    """One answer among several, with what it is the answer to."""

    entity: str
    descriptor: str | None = None
    answer: str
    citations: tuple[int, ...] = ()


Key = TypeVar("Key", int, str, default=str)
"""What a relation names its contexts by: ranks within a turn, ids of passages in an answer."""


class Relation(Value, Generic[Key]):
    """How two contexts relate for a question (COrg, section 2.1); `inferred` when no reply said so of this pair.

    `documents` are the ids of the documents of `a` and `b`; within a turn, where these are ranks, it is empty. Of a
    counterfactual pair `announced` says whether the answer has it that the two contradict each other.
    """

    a: Key
    b: Key
    kind: RelationKind
    inferred: bool = False
    documents: tuple[str, ...] = ()
    announced: bool = False


class Statement(Value):
    """A statement of the answer, held to the passages that it cites.

    `supported` is None where none of them was there to be read; `score` is the probability that the passage which
    supports it most does so. A statement that is not supported may be `contradicted` by one of them.
    """

    text: str
    citations: tuple[int, ...]
    supported: bool | None
    score: float | None = None
    contradicted: bool = False


class PrunedPassage(Value):
    """A passage that was found and not put before the language model, since it hardly holds the answer.

    `rank` is its place among the passages found, `answerable` the probability that it holds the answer.
    """

    passage_id: str
    document_id: str
    title: str
    rank: int
    answerable: float
    tokens: int


class Gap(Value):
    """Something that is missing from the answer, and why."""

    stage: str
    item: str
    error: str


class Usage(Value):
    """What a stage spent. Tokens are `estimated` where the model did not report them."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    estimated: bool = False
    seconds: float = 0.0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            calls=self.calls + other.calls,
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            estimated=self.estimated or other.estimated,
            seconds=self.seconds + other.seconds,
        )

    @classmethod
    def of_failed(cls, spent: Mapping[str, Any] | None) -> Usage:
        """What a call that failed has spent, by its `ModelError.spent`: one call where that is all that is known."""
        return cls.model_validate(spent or {"calls": 1})


class Speed(Value):
    """How many tokens a second a model reads of a prompt and writes of a reply."""

    reads: float
    writes: float


class StageReceipt(Value):
    """One row of `Receipt.by_stage`."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    seconds: float = 0.0


class Saved(Value):
    """What the route not taken would have cost more (BriefContext, section 5.2, equations 4 and 5).

    Negative numbers mean that the route taken is the dearer one.
    """

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    why: str = ""


class Receipt(Value):
    """What the turn cost."""

    model: str
    model_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    estimated: bool = False
    by_stage: dict[str, StageReceipt] = Field(default_factory=dict)
    seconds: float = 0.0
    saved: Saved = Field(default_factory=Saved)


class SearchExpression(Value):
    """A rung of the ladder that was tried, and how many documents (in the library: passages) it found.

    `where` is "library", "pubmed" or "pmc"; `note` holds what NCBI warned of.
    """

    where: str
    expression: str
    hits: int
    note: str = ""


Incomplete = Literal["length", "deadline", "unfinished", "repetition", "budget"]


class Answer(Value):
    """The outcome of one turn.

    `outcome` says whether the answer claims something ("answered"), shows what the documents say and claims nothing
    ("evidence"), or says that they do not answer ("not_found"). A reader that reads short answers gives the
    `short_answer` of a claim that is one, and its `confidence`: the calibrated probability, in [0, 1], that it is
    right. Both are None for all other outcomes, and where nothing is known of them. `condensed` is how
    many earlier messages of a long conversation were read condensed; `left_out` are the answers that the person, asked
    which were meant, did not choose. `incomplete` says of an answer that is the beginning of one, or all that was found
    until then, what ended it: the model's limit of tokens ("length"), the time that a call may take ("deadline"), a
    stream that broke off ("unfinished"), a reply that went round in circles ("repetition"), or what a turn may spend
    ("budget"); the answer's last line says so, too. `unclaimed` says of evidence why no answer was claimed.
    """

    schema_version: Literal[1] = Field(default=1, alias="schema")
    question: str
    thread_id: str
    turn: int
    standalone_question: str
    queries: tuple[str, ...]
    corrections: tuple[tuple[str, str], ...] = ()
    expressions: tuple[SearchExpression, ...] = ()
    route: RouteDecision
    answer: str
    abstained: bool
    outcome: Outcome = "answered"
    short_answer: str | None = None
    confidence: float | None = None
    choice: str | None = None
    groups: tuple[Group, ...] = ()
    citations: tuple[Citation, ...] = ()
    statements: tuple[Statement, ...] = ()
    relations: tuple[Relation, ...] = ()
    pruned: tuple[PrunedPassage, ...] = ()
    gaps: tuple[Gap, ...] = ()
    condensed: int = 0
    left_out: tuple[str, ...] = ()
    incomplete: Incomplete | None = None
    unclaimed: str | None = None
    receipt: Receipt

    @model_validator(mode="before")
    @classmethod
    def _of_before(cls, fields: Any) -> Any:
        """An answer that a version without outcomes recorded."""
        if not isinstance(fields, dict) or "outcome" in fields:
            return fields
        route = fields.get("route")
        talk = "conversation" in (getattr(route, "name", None), route.get("name") if isinstance(route, dict) else None)
        outcome = "not_found" if fields.get("abstained") else "conversation" if talk else "answered"
        return {**fields, "outcome": outcome}


class Choice(Value):
    """One of several things of one name that a question may be about; its `label` names it."""

    label: str
    entity: str
    descriptor: str | None = None


class Clarification(Value):
    """What a turn asks the person before it answers: which of the `choices` the question is about."""

    thread_id: str
    turn: int
    question: str
    choices: tuple[Choice, ...]


class Preview(Value):
    """What preflight would do for a query, without asking any model."""

    route: RouteName
    reason: str
    iou: float | None
    top_n: int
    threshold: float
    risk: float | None
    signals: dict[str, float] = Field(default_factory=dict)


class SearchResult(Value):
    """Retrieval only: the three rankings, the passages that would go on, and what preflight makes of those.

    `selected` is in the order of a prompt; its scores are the second stage's, or the fused ones where there is none.
    """

    query: str
    dense: Ranking
    lexical: Ranking
    fused: Ranking
    selected: Ranking = ()
    gaps: tuple[Gap, ...] = ()
    preflight: Preview


class Summary(Value):
    """A document, summarised.

    A citation's `start` and `end` are offsets in the stored passage, or in the text of a document that is in no
    library, whose citations have no `passage_id`.

    Attributes:
        document_id: The document's id in the library, or the file's path.
        summary: The text, with `[n]` marks.
        sentences: How many of the document's sentences were selected.
        tokens: What these take, by the embedder's count.
        share: Of the tokens of all sentences that could have been selected.
    """

    schema_version: Literal[1] = Field(default=1, alias="schema")
    document_id: str
    title: str
    source: str
    summary: str
    citations: tuple[Citation, ...] = ()
    sentences: int
    tokens: int
    share: float
    gaps: tuple[Gap, ...] = ()
    receipt: Receipt
