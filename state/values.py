"""Values that leave the graph: passages, rankings, the routing decision, citations, receipts, answers.

All are immutable pydantic models; `model_dump()` gives the JSON that the command line prints. Inside the graph the same
values are plain dicts (see `schema.py`), because checkpoints hold no custom classes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Generic, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator
from typing_extensions import TypeVar  # that of `typing` has no defaults before Python 3.13

RouteName = Literal["plain", "map_reduce", "corg", "abstain", "conversation", "listing", "metadata"]
Outcome = Literal["answered", "evidence", "not_found", "listing", "conversation"]
"""The kind of an answer: a claim, quotes without a claim, an abstention, a list of documents, or conversation."""
RelationKind = Literal["distracting", "ambiguous", "counterfactual", "duplicated", "none"]


class Value(BaseModel):
    """Base of all values: frozen, no unknown fields, dumped under their public names.

    Validators are built at the first value of each class; a search needs few of them.
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
"""Metadata key of a passage whose document is a copy of another one: the id of that one."""


class Passage(Value):
    """A part of a document, short enough that the embedder reads all of it.

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
        """Return the page of a character of the text, which may be later than the page on which the passage begins."""
        starts = self.metadata.get("page_starts")
        if starts is None and "overlap_page" in self.metadata:
            # Libraries that were split before a passage could continue on the next page.
            starts = [(self.metadata["overlap_start"], self.metadata["overlap_page"])]
        pages: list[int] = [page for start, page in starts or () if start <= self.start + offset]
        return pages[-1] if pages else self.page


class UnreadPassage(Value):
    """The data of a passage in an index: enough to rank it. Retrieval reads the selected ones; no other stage sees one.

    `retracted` replaces its title, which an index does not contain.
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
    """A router's decision with its reasons.

    `iou` is None if the rankings were not compared. `risk` is the probability that the key passage would be lost.
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


def file_name(path: str) -> str:
    """Return the last part of an absolute path; any other text, such as a document's id, is returned unchanged."""
    if not _PATH.match(path):
        return path
    return re.split(r"[/\\]+", path)[-1] or path


class CopyPlace(Value):
    """Another document with the same quote, word for word: a copy of the cited one, or one that quotes it."""

    document_id: str
    title: str
    source: str


class Citation(Value):
    """A numbered quote of the answer; `text[start:end] == quote` in the stored passage whenever `verified`.

    `url` is the document's web address: its DOI's, PMC's or PubMed's, or its own. `also_in` are copies of the document,
    which are left out of searches. `file_saved` is when its file was saved, for a document that states no `date`
    itself. `name` is the document's short name: the file's name if it was read from a file, else its id.
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
    """One answer among several, with the entity that it is about."""

    entity: str
    descriptor: str | None = None
    answer: str
    citations: tuple[int, ...] = ()


Key = TypeVar("Key", int, str, default=str)
"""Type of the names of contexts in a relation: ranks within a turn, ids of passages in an answer."""


class Relation(Value, Generic[Key]):
    """The relation of two contexts for a question (COrg, section 2.1); `inferred` if no reply stated it for this pair.

    `documents` are the ids of the documents of `a` and `b`; within a turn, where these are ranks, it is empty. For a
    counterfactual pair `announced` says whether the answer says that the two contradict each other.
    """

    a: Key
    b: Key
    kind: RelationKind
    inferred: bool = False
    documents: tuple[str, ...] = ()
    announced: bool = False


class Statement(Value):
    """A statement of the answer, checked against the passages that it cites.

    `supported` is None if none of them could be read; `score` is the probability that the passage which supports it
    most does so. A statement that is not supported may be `contradicted` by one of them.
    """

    text: str
    citations: tuple[int, ...]
    supported: bool | None
    score: float | None = None
    contradicted: bool = False


class PrunedPassage(Value):
    """A passage that was found but not passed to the language model, since it is unlikely to contain the answer.

    `rank` is its rank among the passages found, `answerable` the probability that it contains the answer.
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
    """The cost of a stage. Tokens are `estimated` if the model did not report them."""

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
        """Return the cost of a failed call from its `ModelError.spent`: one call if nothing else is known."""
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
    """The additional cost of the route that was not taken (BriefContext, section 5.2, equations 4 and 5).

    Negative numbers mean that the route taken is the more expensive one.
    """

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    why: str = ""


class Receipt(Value):
    """The cost of the turn."""

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

    `where` is "library", "pubmed" or "pmc"; `note` holds NCBI's warnings.
    """

    where: str
    expression: str
    hits: int
    note: str = ""


Incomplete = Literal["length", "deadline", "unfinished", "repetition", "budget"]


class Answer(Value):
    """The outcome of one turn.

    `outcome` says whether the answer claims something ("answered"), shows what the documents say and claims nothing
    ("evidence"), or says that they do not answer ("not_found"). A reader that finds short answers gives the
    `short_answer` of a claim that has one, and its `confidence`: the calibrated probability, in [0, 1], that it is
    right. Both are None for all other outcomes, and if they are unknown. `condensed` is how many earlier messages of a
    long conversation were read condensed; `left_out` are the answers that the user did not choose when asked.
    `incomplete` gives the reason why an answer is incomplete: the model's limit of tokens ("length"), the timeout of a
    call ("deadline"), a stream that broke off ("unfinished"), a reply that repeated itself ("repetition"), or the
    turn's budget ("budget"); the answer's last line says so, too. `unclaimed` says why no answer was claimed from
    evidence.
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
    def _complete_old_answer(cls, fields: Any) -> Any:
        """Add the outcome to the fields of an answer that was recorded by a version without outcomes."""
        if not isinstance(fields, dict) or "outcome" in fields:
            return fields
        route = fields.get("route")
        route_name = route.get("name") if isinstance(route, dict) else getattr(route, "name", None)
        if fields.get("abstained"):
            return {**fields, "outcome": "not_found"}
        return {**fields, "outcome": "conversation" if route_name == "conversation" else "answered"}


class Choice(Value):
    """One of several things of one name that a question may be about; its `label` is shown to the user."""

    label: str
    entity: str
    descriptor: str | None = None


class Clarification(Value):
    """The question of a turn to the user: about which of the `choices` the message is."""

    thread_id: str
    turn: int
    question: str
    choices: tuple[Choice, ...]


class Preview(Value):
    """The preflight's result for a query, without any model call."""

    route: RouteName
    reason: str
    iou: float | None
    top_n: int
    threshold: float
    risk: float | None
    signals: dict[str, float] = Field(default_factory=dict)


class SearchResult(Value):
    """Retrieval only: the three rankings, the passages that would be selected, and the preflight's result for these.

    `selected` is in the order of a prompt; its scores are the second stage's, or the fused ones if there is none.
    """

    query: str
    dense: Ranking
    lexical: Ranking
    fused: Ranking
    selected: Ranking = ()
    gaps: tuple[Gap, ...] = ()
    preflight: Preview


class Summary(Value):
    """The summary of a document.

    A citation's `start` and `end` are offsets in the stored passage, or in the text of a document that is in no
    library, whose citations have no `passage_id`.

    Attributes:
        document_id: The document's id in the library, or the file's path.
        summary: The text, with `[n]` marks.
        sentences: How many of the document's sentences were selected.
        tokens: Their length, by the embedder's count.
        share: Their share of the tokens of all sentences that could have been selected.
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
