"""What the checkpointers over any database share: pruning, what damage they name, and the order of writing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    WRITES_IDX_MAP,
    BaseCheckpointSaver,
    CheckpointTuple,
)
from langgraph.checkpoint.serde.types import ERROR

from preflight_rag.state.errors import DatabaseCorrupt, PreflightError, UsageError

_FAILED_NODE = "__error_source_node__"
"""The channel in which LangGraph names a node that failed."""


class PruningSaver(BaseCheckpointSaver[str]):
    """LangGraph's way to prune, for checkpointers over any database."""

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Remove checkpoints and their writes.

        Args:
            thread_ids: Which threads.
            strategy: "keep_latest" keeps the newest checkpoint of each namespace, "delete" keeps nothing.

        Raises:
            UsageError: There is no such strategy.
        """
        if strategy == "delete":
            for thread_id in thread_ids:
                await self.adelete_thread(thread_id)
        elif strategy == "keep_latest":
            await self._keep_latest([str(thread_id) for thread_id in thread_ids])
        else:
            raise UsageError(f"Unknown strategy {strategy!r}", help='Use "keep_latest" or "delete".')

    async def _keep_latest(self, thread_ids: Sequence[str]) -> None:
        """Remove all of the threads but the newest checkpoint of each namespace."""
        raise NotImplementedError


@contextmanager
def damage_named(thread_id: str, database: str) -> Iterator[None]:
    """Raise what reading a damaged checkpoint ends in, without repeating anything of the conversation.

    Raises:
        DatabaseCorrupt: A checkpoint is not what was written.
    """
    try:
        yield
    except PreflightError:
        raise
    except Exception as error:
        raise DatabaseCorrupt(
            f"a checkpoint of thread {thread_id!r} in {database} is damaged ({type(error).__name__})",
            help=f"Ask on a new thread; `preflight threads delete {thread_id}` forgets this one. Its questions and "
            f"answers are in `preflight threads show {thread_id}`.",
        ) from None


def check_shape(found: CheckpointTuple) -> None:
    """Raise TypeError unless a checkpoint has the parts that LangGraph goes on from, of their types."""
    checkpoint = found.checkpoint
    values = checkpoint["channel_values"]
    parts = (checkpoint, values, checkpoint["channel_versions"], checkpoint["versions_seen"], found.metadata)
    messages = values.get("messages", [])
    if not all(isinstance(part, dict) for part in parts) or not isinstance(messages, list):
        raise TypeError
    if not all(isinstance(each, BaseMessage) for each in messages):
        raise TypeError


def check_keep_turns(keep_turns: int) -> None:
    """Raise UsageError unless so many turns can be kept."""
    if keep_turns < 0:
        raise UsageError(f"keep_turns must be 0 or more, not {keep_turns!r}")


def whole_results(writes: Sequence[tuple[str, Any]]) -> Sequence[tuple[str, Any]]:
    """Return what a stage wrote, or of a stage that failed or was stopped its error alone.

    A stage may be stopped after it has written its results, but not yet where the turn goes next. LangGraph hands over
    those results all the same, and would take the stage for finished when the turn resumes.
    """
    if all(channel != ERROR for channel, _ in writes):
        return writes
    return [(channel, value) for channel, value in writes if channel in WRITES_IDX_MAP or channel == _FAILED_NODE]


def in_written_order(
    found: Sequence[CheckpointTuple],
    written: Mapping[tuple[str, str, str], int],
    config: RunnableConfig | None,
    before: RunnableConfig | None,
    limit: int | None,
) -> list[CheckpointTuple]:
    """Return checkpoints as `alist` gives them, in the order of their writing instead of that of their ids."""
    ordered = sorted(found, key=lambda each: written.get(_key(each.config), 0), reverse=True)
    if before is not None:
        bound = written.get(_key({**before, "configurable": {**_names(config), **_names(before)}}))
        ordered = [each for each in ordered if bound is None or written.get(_key(each.config), 0) < bound]
    return ordered[:limit]


def _names(config: RunnableConfig | None) -> dict[str, Any]:
    return config["configurable"] if config else {}


def _key(config: RunnableConfig) -> tuple[str, str, str]:
    names = config["configurable"]
    return str(names["thread_id"]), names.get("checkpoint_ns", ""), names["checkpoint_id"]
