"""Code that the checkpointers of both databases share: pruning, errors for damaged checkpoints, sorting."""

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
"""The channel in which LangGraph stores the name of a node that failed."""


class PruningSaver(BaseCheckpointSaver[str]):
    """A checkpointer whose `aprune` works on the order of writing, whatever its database."""

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
        """Remove all checkpoints of the threads except the newest one of each namespace."""
        raise NotImplementedError


@contextmanager
def damaged_checkpoint_errors(thread_id: str, database: str) -> Iterator[None]:
    """Raise `DatabaseCorrupt` for any error that reading a damaged checkpoint causes, without quoting the conversation.

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
    """Raise TypeError unless a checkpoint has the parts, of the right types, that LangGraph needs to continue."""
    checkpoint = found.checkpoint
    values = checkpoint["channel_values"]
    parts = (checkpoint, values, checkpoint["channel_versions"], checkpoint["versions_seen"], found.metadata)
    messages = values.get("messages", [])
    if not all(isinstance(part, dict) for part in parts) or not isinstance(messages, list):
        raise TypeError
    if not all(isinstance(each, BaseMessage) for each in messages):
        raise TypeError


def check_keep_turns(keep_turns: int) -> None:
    """Raise UsageError if the number of turns to keep is negative."""
    if keep_turns < 0:
        raise UsageError(f"keep_turns must be 0 or more, not {keep_turns!r}")


def results_or_error(writes: Sequence[tuple[str, Any]]) -> Sequence[tuple[str, Any]]:
    """Return the values that a stage wrote; if the stage failed or was stopped, only its error.

    A stage may be stopped after it has written its results, but not yet where the turn goes next. LangGraph hands over
    those results all the same, and would take the stage for finished when the turn resumes.
    """
    if all(channel != ERROR for channel, _ in writes):
        return writes
    return [(channel, value) for channel, value in writes if channel in WRITES_IDX_MAP or channel == _FAILED_NODE]


def sorted_by_writing(
    found: Sequence[CheckpointTuple],
    written: Mapping[tuple[str, str, str], int],
    config: RunnableConfig | None,
    before: RunnableConfig | None,
    limit: int | None,
) -> list[CheckpointTuple]:
    """Return checkpoints filtered as `alist` does, but sorted by when they were written, newest first, not by id."""
    ordered = sorted(found, key=lambda each: written.get(_key(each.config), 0), reverse=True)
    if before is not None:
        bound = written.get(_key({**before, "configurable": {**_names(config), **_names(before)}}))
        ordered = [each for each in ordered if bound is None or written.get(_key(each.config), 0) < bound]
    return ordered[:limit]


def _names(config: RunnableConfig | None) -> dict[str, Any]:
    """Return the names in a config: thread, namespace and checkpoint id."""
    return config["configurable"] if config else {}


def _key(config: RunnableConfig) -> tuple[str, str, str]:
    """Return a checkpoint's key: thread, namespace and checkpoint id."""
    names = config["configurable"]
    return str(names["thread_id"]), names.get("checkpoint_ns", ""), names["checkpoint_id"]
