"""The context of a run besides its state: the reader, the library, and the settings."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, SkipValidation, ValidationError, field_validator
from pydantic.json_schema import SkipJsonSchema
from typing_extensions import TypedDict  # as in schema.py

from preflight_rag.state.errors import UsageError
from preflight_rag.state.reading import Source

if TYPE_CHECKING:
    from preflight_rag.state.schema import PassageRef
    from preflight_rag.state.values import Passage

Opaque = Annotated[Any, SkipValidation, SkipJsonSchema()]
Route = Literal["auto", "plain", "map-reduce", "corg"]
CorgMode = Literal["notes", "careful", "faithful"]
RewriteMode = Literal["auto", "model", "rules", "off"]
PreflightRule = Literal["calibrated", "iou"]
PubMedSources = Literal["D1", "D1+D2", "D1+D2+D3"]
Diversity = Literal["none", "mmr", "fps", "modified-fps"]
Fusion = Literal["rrf", "combsum"]
ReplyForm = Literal["auto", "text", "schema"]
Ordering = Literal["score", "index", "1:1", "2:1", "3:1"]
Panel = Literal["Routing", "Reading", "Rewriting", "Retrieval", "Selection"]
WhoSets = Literal["caller", "studio", "operator"]
ENVIRONMENT_PREFIX = "PREFLIGHT_"
ASKING = ("rewrite", "converse", "answer_plain", "map_context", "reduce_context", "relate_contexts", "answer_group")
"""Stages that call a language model."""
WRITING = ("converse", "answer_plain", "reduce_context", "answer_group")
"""Stages whose replies users read."""


class About:
    """Who may set a setting, and where it is offered; each field of `Settings` has one.

    Args:
        stages: The stages that it affects: Studio shows it there.
        panel: Heading under which commands have an option for it; None if they have none.
        search: Whether `preflight search` has that option, too.
        who: The caller of one turn, over HTTP, in Studio, through a tool or a graph; Studio alone, for trying a number;
            or the operator alone, when the application is opened: files, addresses, models to load, and the limits that
            protect the machine.
    """

    def __init__(self, *stages: str, panel: Panel | None = None, search: bool = False, who: WhoSets = "caller") -> None:
        self.stages, self.panel, self.search, self.who = stages, panel, search, who


class Settings(BaseModel):
    """The numbers of a turn. Each can be set as `PREFLIGHT_<NAME>`; unknown names are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    rewrite: Annotated[RewriteMode, About("rewrite", panel="Rewriting")] = Field(
        default="auto",
        description="Who rewrites: a model, rules alone, or auto: a model for follow-ups, unknown words and PubMed.",
    )
    history_tokens: Annotated[int, About("rewrite", "converse")] = Field(
        default=2000, ge=100, description="Tokens of the conversation read word for word; older ones condensed."
    )
    k: Annotated[int, About("retrieve", panel="Routing", search=True)] = Field(
        default=16, ge=1, le=200, description="Passages that go on to the model (BriefContext's top_k)."
    )
    document_share: Annotated[float, About("retrieve")] = Field(
        default=0.5, gt=0, le=1, description="Largest share of the k passages from one document, if others have some."
    )
    candidates: Annotated[int, About("retrieve")] = Field(
        default=100, ge=1, le=10_000, description="Depth of each ranking before fusion."
    )
    fusion: Annotated[Fusion, About("retrieve")] = Field(
        default="rrf", description="How rankings are fused: by ranks (rrf), or by scores brought to 0-1 (combsum)."
    )
    rrf_k: Annotated[int, About("retrieve")] = Field(
        default=60, ge=1, description="Constant of reciprocal rank fusion (Cormack et al. 2009)."
    )
    where: Annotated[tuple[str, ...], About("retrieve", panel="Retrieval", search=True)] = Field(
        default=(), description="Only passages whose metadata match, such as year>=2020."
    )
    since: Annotated[str | None, About("retrieve", panel="Retrieval", search=True)] = Field(
        default=None, description="Only documents dated at or after this day, month or year."
    )
    recency: Annotated[float, About("retrieve", panel="Retrieval", search=True)] = Field(
        default=0.0, ge=0, le=1, description="Weight of a document's age in the ranking."
    )
    subtree: Annotated[str | None, About("retrieve", panel="Rewriting", search=True)] = Field(
        default=None, description="Only documents under this MeSH heading or tree number, such as Neoplasms or C04."
    )
    pubmed: Annotated[bool, About("retrieve", panel="Retrieval", search=True)] = Field(
        default=False, description="Also search PubMed and PMC live."
    )
    pubmed_documents: Annotated[int, About("retrieve", panel="Retrieval", search=True)] = Field(
        default=20, ge=1, le=200, description="Documents fetched from each NCBI database."
    )
    pubmed_sources: Annotated[PubMedSources, About("retrieve", panel="Retrieval", search=True)] = Field(
        default="D1+D2",
        description="Kinds of NCBI documents: D1 abstracts, D2 PMC's reviews in full, D3 other PMC articles.",
    )
    enough_documents: Annotated[int, About("retrieve", panel="Rewriting")] = Field(
        default=20,
        ge=1,
        description="Expressions are tried, specific ones first, until so many documents are found.",
    )
    reranker: Annotated[str, About("retrieve", panel="Retrieval", search=True)] = Field(
        default="features", description="Second stage: features, reader, none, or the name of a cross-encoder."
    )
    rerank_candidates: Annotated[int, About("retrieve", panel="Retrieval", search=True)] = Field(
        default=50, ge=1, le=1000, description="Candidates that the second stage reads."
    )
    rerank_deadline: Annotated[float, About("retrieve", who="studio")] = Field(
        default=5.0, gt=0, description="Seconds for the second stage; unscored passages keep their order."
    )
    choose_by_reading: Annotated[bool, About("retrieve")] = Field(
        default=True,
        description="Where a model has no room or time for all passages, keep those that the extractive reader finds "
        "likeliest to answer.",
    )
    prune: Annotated[float, About("retrieve", panel="Reading")] = Field(
        default=0.0,
        ge=0,
        le=1,
        description="Least answerability of a passage that goes to a language model; 0: all go.",
    )
    diversity: Annotated[Diversity, About("retrieve", panel="Selection", search=True)] = Field(
        default="none",
        description="How candidates are chosen: maximal marginal relevance (mmr) or farthest point sampling (fps).",
    )
    preset: Annotated[str | None, About("retrieve", panel="Selection", search=True)] = Field(
        default=None,
        description="A selector with its weights for one-document-qa, many-documents-qa, all-evidence or meeting-qa, "
        "or one of the paper's, such as paper-nq-sentences.",
    )
    alpha: Annotated[float, About("retrieve", panel="Selection", search=True)] = Field(
        default=0.9, ge=0, le=1, description="Weight of relevance against diversity (mmr, modified-fps)."
    )
    window: Annotated[int | None, About("retrieve", panel="Selection", search=True)] = Field(
        default=None, ge=1, description="How many last picks a candidate is compared with (mmr, fps); None: all."
    )
    budget_tokens: Annotated[int | None, About("retrieve", panel="Selection", search=True)] = Field(
        default=None, ge=1, description="Most tokens of all passages together (T_max)."
    )
    compression: Annotated[float | None, About("retrieve", panel="Selection", search=True)] = Field(
        default=None, gt=0, le=1, description="Most tokens as a share of the candidates' (c_r)."
    )
    ordering: Annotated[Ordering, About("retrieve", panel="Selection", search=True)] = Field(
        default="score", description="By score, by place in the documents (index), or m:n to both ends of the prompt."
    )
    route: Annotated[Route, About("preflight", panel="Routing")] = Field(
        default="auto", description="Let the preflight decide, or force a route."
    )
    preflight: Annotated[PreflightRule, About("preflight", panel="Routing", search=True)] = Field(
        default="calibrated", description="The rule that predicts a lost key passage: calibrated, or the paper's iou."
    )
    thoroughness: Annotated[float, About("preflight", panel="Routing")] = Field(
        default=0.5,
        ge=0,
        le=1,
        description="Worth of a right answer in model calls: 0 never reads in parts or compares, 1 reads in parts.",
    )
    top_n: Annotated[int, About("preflight")] = Field(
        default=3, ge=1, description="How many of each ranking the preflight compares."
    )
    threshold: Annotated[float, About("preflight")] = Field(
        default=0.2, ge=0, le=1, description="Plain when the rankings' IoU is above this."
    )
    partition_size: Annotated[int, About("preflight")] = Field(
        default=4, ge=1, description="Passages in one map prompt."
    )
    map_prompt_tokens: Annotated[int, About("preflight")] = Field(
        default=1024, ge=0, description="A context with fewer tokens fits one map prompt and goes plain."
    )
    corg: Annotated[bool, About("preflight")] = Field(
        default=True, description="Let the preflight choose COrg, and map/reduce go on to it; off: BriefContext alone."
    )
    corg_threshold: Annotated[float, About("preflight")] = Field(
        default=0.53, ge=0, le=1, description="COrg from this score of the signals on, at a thoroughness of 0.5."
    )
    deadline: Annotated[float, About(*ASKING, who="studio")] = Field(
        default=120.0, gt=0, description="Seconds that one model call may take in all."
    )
    temperature: Annotated[float, About(*ASKING, who="studio")] = Field(
        default=0.0, ge=0, le=2, description="Temperature of a language model that is opened by its name."
    )
    context_window: Annotated[int | None, About(*ASKING, who="studio")] = Field(
        default=None,
        ge=1024,
        description="Tokens that the model reads and writes in one call; None: as its server says.",
    )
    corg_mode: Annotated[CorgMode, About("relate_contexts")] = Field(
        default="notes",
        description="notes reads relations off one call's notes; careful asks pivot by pivot and checks what faithful "
        "mirrors by COrg's Algorithm 1. Without a language model notes is careful.",
    )
    relation_prompt_tokens: Annotated[int, About("relate_contexts")] = Field(
        default=6000, ge=256, description="Tokens of contexts in one relation prompt."
    )
    no_reformulation: Annotated[bool, About("relate_contexts")] = Field(
        default=False, description="COrg without the question's plural form."
    )
    keep_duplicates: Annotated[bool, About("organize_contexts")] = Field(
        default=False, description="COrg without dropping duplicated contexts."
    )
    keep_undescribed: Annotated[bool, About("organize_contexts")] = Field(
        default=False, description="COrg without dropping ambiguous, undescribed contexts."
    )
    no_grouping: Annotated[bool, About("organize_contexts")] = Field(
        default=False, description="COrg with all contexts in one group."
    )
    random_duplicate: Annotated[int | None, About("organize_contexts")] = Field(
        default=None, description="A seed: of duplicated contexts keep a random one; without it, the best-ranked."
    )
    instructions: Annotated[str, About(*WRITING, panel="Reading")] = Field(
        default="",
        description="How a language model words its answers: tone, language, length, format. Not what they say.",
    )
    clarify: Annotated[bool, About("clarify", panel="Routing")] = Field(
        default=False, description="Ask first which one is meant when many things share the name."
    )
    clarify_above: Annotated[int, About("clarify", panel="Routing")] = Field(
        default=4, ge=1, description="With more things of one name than this, clarify asks."
    )
    check_citations: Annotated[bool, About("cite", panel="Reading")] = Field(
        default=True, description="Check each statement of a language model against the passages that it cites."
    )
    mesh: Annotated[str | None, About(panel="Rewriting", search=True, who="operator")] = Field(
        default=None, description="A MeSH descriptor file (NLM's XML) that expands terms."
    )
    extractive_reader: Annotated[str, About(panel="Reading", who="operator")] = Field(
        default="default",
        description="What reads passages without a language model: default, none, or a SQuAD-v2 model of the Hub.",
    )
    max_concurrency: Annotated[int, About(who="operator")] = Field(
        default=8, ge=1, le=256, description="Model calls at once within a turn."
    )
    reply_tokens: Annotated[int, About(panel="Reading", who="operator")] = Field(
        default=0,
        ge=0,
        description="Least limit of a model's reply in tokens; each prompt has one of its own, which this raises.",
    )
    answer_seconds: Annotated[float, About(panel="Reading", who="operator")] = Field(
        default=60.0,
        ge=0,
        description="Seconds in which a turn is planned to end where its model is slow; 0: no plan.",
    )
    turn_calls: Annotated[int, About(who="operator")] = Field(
        default=200, ge=1, description="Most model calls of one turn."
    )
    turn_tokens: Annotated[int, About(who="operator")] = Field(
        default=1_000_000, ge=1, description="Most tokens of one turn's prompts and replies."
    )
    turn_seconds: Annotated[float, About(who="operator")] = Field(
        default=600.0, gt=0, description="Seconds in which one turn may call its model."
    )
    max_partitions: Annotated[int, About(who="operator")] = Field(
        default=64, ge=1, description="Most partitions of one turn; with more passages these become larger."
    )
    max_steps: Annotated[int, About(who="operator")] = Field(
        default=40, ge=1, description="Most steps of the graph in one turn; the longest path takes eleven."
    )
    reply_form: Annotated[ReplyForm, About(who="operator")] = Field(
        default="auto",
        description="How a model is asked to reply: as text, by a JSON schema where its server takes one, or as was "
        "measured to be better.",
    )
    max_question_chars: Annotated[int, About(who="operator")] = Field(
        default=8_000, ge=1, description="Longest question that is accepted."
    )
    keep_turns: Annotated[int, About(who="operator")] = Field(
        default=0, ge=0, description="Turns whose intermediate checkpoints are kept."
    )
    lock_wait: Annotated[float, About(who="operator")] = Field(
        default=30.0, ge=0, description="Seconds to wait for another turn on the same thread."
    )

    @field_validator("where", mode="before")
    @classmethod
    def _split_conditions(cls, value: Any) -> Any:
        """Split the conditions in an environment variable at their semicolons; any other value is unchanged."""
        if not isinstance(value, str):
            return value
        return tuple(part.strip() for part in value.split(";") if part.strip())

    @classmethod
    def read(cls, environ: Mapping[str, str] | None = None, **flags: Any) -> Settings:
        """Read settings from flags, else from `PREFLIGHT_…` variables, else take their defaults.

        Args:
            environ: The environment; `os.environ` when None.
            **flags: Values that win; None means "not given".

        Raises:
            UsageError: A value is of the wrong kind or out of range.
        """
        environ = os.environ if environ is None else environ
        values: dict[str, Any] = {}
        for name in cls.model_fields:
            variable = environ.get(ENVIRONMENT_PREFIX + name.upper())
            if variable:
                values[name] = variable
        values.update({name: value for name, value in flags.items() if value is not None})
        try:
            return cls.model_validate(values)
        except ValidationError as error:
            first = error.errors()[0]
            name = ".".join(str(part) for part in first["loc"])
            if first["type"] == "extra_forbidden":
                near = get_close_matches(name, cls.model_fields, n=1)
                known = f"Did you mean {near[0]}?" if near else f"There are: {', '.join(cls.model_fields)}."
                raise UsageError(f"there is no setting {name!r}", help=known) from None
            raise UsageError(
                f"setting {name} = {first['input']!r} is not valid: {first['msg'].lower()}",
                help=f"Give {_how_to_set(name.partition('.')[0])} another value.",
            ) from None


# given settings: made by docs/generate.py
class GivenWithoutK(TypedDict, total=False):
    """The settings as keyword arguments, but for `k`; None means "not given", as leaving one out does."""

    rewrite: RewriteMode | None
    history_tokens: int | None
    document_share: float | None
    candidates: int | None
    fusion: Fusion | None
    rrf_k: int | None
    where: Sequence[str] | str | None
    since: str | None
    recency: float | None
    subtree: str | None
    pubmed: bool | None
    pubmed_documents: int | None
    pubmed_sources: PubMedSources | None
    enough_documents: int | None
    reranker: str | None
    rerank_candidates: int | None
    rerank_deadline: float | None
    choose_by_reading: bool | None
    prune: float | None
    diversity: Diversity | None
    preset: str | None
    alpha: float | None
    window: int | None
    budget_tokens: int | None
    compression: float | None
    ordering: Ordering | None
    route: Route | None
    preflight: PreflightRule | None
    thoroughness: float | None
    top_n: int | None
    threshold: float | None
    partition_size: int | None
    map_prompt_tokens: int | None
    corg: bool | None
    corg_threshold: float | None
    deadline: float | None
    temperature: float | None
    context_window: int | None
    corg_mode: CorgMode | None
    relation_prompt_tokens: int | None
    no_reformulation: bool | None
    keep_duplicates: bool | None
    keep_undescribed: bool | None
    no_grouping: bool | None
    random_duplicate: int | None
    instructions: str | None
    clarify: bool | None
    clarify_above: int | None
    check_citations: bool | None
    mesh: str | None
    extractive_reader: str | None
    max_concurrency: int | None
    reply_tokens: int | None
    answer_seconds: float | None
    turn_calls: int | None
    turn_tokens: int | None
    turn_seconds: float | None
    max_partitions: int | None
    max_steps: int | None
    reply_form: ReplyForm | None
    max_question_chars: int | None
    keep_turns: int | None
    lock_wait: float | None


# /given settings


class GivenSettings(GivenWithoutK, total=False):
    """The settings as keyword arguments, so that a type checker reports a misspelt one."""

    k: int | None


ABOUT: Mapping[str, About] = {
    name: next(part for part in field.metadata if isinstance(part, About))
    for name, field in Settings.model_fields.items()
}
"""The `About` of each setting, by its name, in the order of display: stage by stage."""


def _how_to_set(name: str) -> str:
    """Return how a setting is set, e.g. "--top-n or PREFLIGHT_TOP_N"; only its variable if commands have no option."""
    variable = f"{ENVIRONMENT_PREFIX}{name.upper()}"
    return variable if ABOUT[name].panel is None else f"--{name.replace('_', '-')} or {variable}"


@dataclass(frozen=True)
class PassageCache:
    """The passages that the stages of one turn have read, so that each is read from the library once.

    A passage's text never changes under its id; whether the passage is still in the library is checked with the
    citations.

    Attributes:
        by_id: The passages, by id.
    """

    by_id: dict[str, Any] = field(default_factory=dict)

    def keep(self, passages: Iterable[Passage]) -> None:
        """Keep passages for later stages."""
        self.by_id.update((passage.id, passage) for passage in passages)


@dataclass(frozen=True)
class Context:
    """The dependencies of a run, built by the entry point.

    Attributes:
        reader: The reader: `ChatReader`, `OfflineReader`, or any object with a `Reader`'s methods.
        library: The collection: an open `Library`, or any object with the protocol `library.Collection`.
        settings: The numbers of a turn.
        pubmed: An `EntrezClient`, used if the settings say so.
        extractive: An `ExtractiveReader`; with None nothing is pruned, no statement checked, no answers are compared.
        trace: The OpenTelemetry context of the turn's span, the parent of the stages' spans.
        calls_ahead: Whether a model may be called before it is certain that its answer counts. Not in an experiment:
            the cost of such a call depends on which of two things ends first.
        asked_k: The requested number of passages, if there is time only for fewer (`settings.k`).
        cache: The passages that a turn's stages have read; None if nothing is to be kept.
    """

    reader: Opaque = None
    library: Opaque = None
    settings: Settings = field(default_factory=Settings)
    pubmed: Opaque = None
    extractive: Opaque = None
    trace: Opaque = None
    calls_ahead: bool = True
    cache: Annotated[PassageCache | None, SkipJsonSchema()] = None
    asked_k: Annotated[int | None, SkipJsonSchema()] = None

    def is_planned(self) -> bool:
        """Return whether the turn reads fewer passages than requested because its model is slow."""
        return self.asked_k is not None and self.asked_k > self.settings.k

    async def passages(self, refs: Sequence[PassageRef]) -> list[Passage]:
        """Read the referenced passages with their text from the library, in order."""
        passages: list[Passage] = await asyncio.to_thread(self.library.passages, [ref["id"] for ref in refs])
        return passages

    def has_read(self, passages: Iterable[Passage]) -> None:
        """Keep passages that a stage has read from the library for later stages of the turn, if there is a cache."""
        if self.cache is not None:
            self.cache.keep(passages)

    async def sources(self, refs: Sequence[PassageRef]) -> list[Source]:
        """Return the referenced passages as sources for a reader, numbered by rank.

        They are read from the library unless a stage of the turn has read them before.
        """
        cache = PassageCache() if self.cache is None else self.cache
        if not_cached := [ref for ref in refs if ref["id"] not in cache.by_id]:
            cache.keep(await self.passages(not_cached))
        return [Source.of(cache.by_id[ref["id"]], ref["rank"]) for ref in refs]
