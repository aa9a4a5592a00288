"""What a turn may be asked with over HTTP: the body's fields become settings, and only harmless ones are taken."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from preflight_rag.library.search.filters import Filter
from preflight_rag.server.errors import Refused
from preflight_rag.state.context import Settings

SETTINGS = (
    *("route", "k", "where", "since", "pubmed", "pubmed_documents", "recency", "rewrite", "enough_documents"),
    *("subtree", "reranker", "rerank_candidates", "diversity", "preset", "alpha", "window", "budget_tokens"),
    *("compression", "ordering", "candidates", "rrf_k", "preflight", "top_n", "threshold", "partition_size"),
    *("map_prompt_tokens", "corg_threshold", "corg_mode", "relation_prompt_tokens", "keep_duplicates"),
    *("keep_undescribed", "no_grouping", "no_reformulation", "random_duplicate", "prune", "check_citations"),
    *("clarify", "clarify_above", "history_tokens"),
)
RERANKERS = ("features", "reader", "none")


class AskBody(BaseModel):
    """A question. Fields that are not given are as the server was started with."""

    model_config = ConfigDict(extra="forbid")

    question: str
    thread_id: str | None = Field(default=None, description="The conversation; a new one where it is not given.")
    route: str | None = Field(default=None, description="auto, plain, map-reduce or corg.")
    model: str | None = Field(default=None, description="One of the models that /api/info lists.")
    k: int | None = Field(default=None, description="Passages that go on.")
    where: list[str] | None = Field(default=None, description="Filters such as year>=2020.")
    since: str | None = Field(default=None, description="Only documents dated at or after this day, month or year.")
    pubmed: bool | None = Field(default=None, description="Also search PubMed and PMC live.")
    clarify: bool | None = Field(default=None, description="Ask back where many things go by one name.")
    options: list[str] = Field(default_factory=list, description="Choices of a multiple-choice question.")
    settings: dict[str, Any] = Field(default_factory=dict, description="Other settings of this turn.")
    discard: bool = Field(default=False, description="Drop an earlier turn of the thread that was cut off.")
    stream: bool = Field(default=True, description="Server-sent events instead of one JSON value.")
    html: bool = Field(default=False, description="The answer also as HTML.")

    def turn_settings(self) -> dict[str, Any]:
        """The settings of the turn."""
        own = {name: getattr(self, name) for name in ("route", "k", "where", "since", "pubmed", "clarify")}
        return checked_settings({**self.settings, **{name: value for name, value in own.items() if value is not None}})


def checked_settings(given: dict[str, Any]) -> dict[str, Any]:
    """Those of the settings that were given.

    Raises:
        Refused: One of them is unknown, or not for callers: it would load files or models of their choice.
        UsageError: A value is wrong.
    """
    for name, value in given.items():
        if name not in SETTINGS:
            why = "is set where the server is started" if name in Settings.model_fields else "is not known"
            raise Refused(400, f"the setting {name[:80]!r} {why}", help="GET /api/info lists settings.")
        if name == "reranker" and value is not None and value not in RERANKERS:
            raise Refused(400, f"reranker={str(value)[:80]!r} is not offered", help=f"Use {', '.join(RERANKERS)}.")
    found = {name: value for name, value in given.items() if value is not None}
    numbers = Settings.read({}, **found)
    Filter.parse(numbers.where, since=numbers.since)
    return found
