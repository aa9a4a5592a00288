"""Progress for users: a sentence when a stage begins and, if it runs in parts, when one of them is done."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any

from langgraph.runtime import Runtime

from preflight_rag.state.progress import progress

ROUTES = {"plain": "plain", "map_reduce": "map/reduce", "corg": "COrg", "abstain": "nothing found"}
DECIDED = {
    "plain": "the passages are read all at once",
    "map_reduce": "the passages are read in parts",
    "corg": "the passages are compared with each other",
    "abstain": "nothing was found",
}
COUNTED = 1024
"""Most fan-outs whose finished parts are counted; a guess, far above the turns that run at once."""


def _reading(state: Mapping[str, Any]) -> str:
    """Return the progress note of reading the passages at once."""
    return f"reading {_counted(len(state['passage_refs']), 'passage')}"


def _reducing(state: Mapping[str, Any]) -> str:
    """Return the progress note of reducing the partitions' extracts."""
    return f"putting together what {_counted(len(state['extracts']), 'partition')} gave"


BEGINS: dict[str, str | Callable[[Mapping[str, Any]], str]] = {
    "rewrite": "understanding the question",
    "converse": "replying",
    "list_documents": "looking through all documents",
    "read_metadata": "looking up the document",
    "retrieve": "searching",
    "preflight": "choosing how to read the passages",
    "answer_plain": _reading,
    "reduce_context": _reducing,
    "relate_contexts": "comparing the passages",
    "organize_contexts": "grouping what agrees",
    "clarify": "asking which is meant",
    "aggregate_groups": "putting the groups' answers together",
    "cite": "checking citations",
    "abstain": "nothing answers",
}


class Parts:
    """Counts the finished parts of each fan-out; parts of one step share its checkpoint id."""

    def __init__(self) -> None:
        self._done: OrderedDict[tuple[str, str], int] = OrderedDict()
        self._lock = threading.Lock()

    def begin(self, stage: str, step: str) -> bool:
        """Return whether this is the first part to begin."""
        with self._lock:
            first = (stage, step) not in self._done
            self._done.setdefault((stage, step), 0)
            if len(self._done) > COUNTED:
                self._done.popitem(last=False)
            return first

    def end(self, stage: str, step: str) -> int:
        """Return the number of parts that are done, including this one."""
        with self._lock:
            done = self._done.get((stage, step), 0) + 1
            self._done[stage, step] = done
            return done


_parts = Parts()


def begun(stage: str, state: Mapping[str, Any], runtime: Runtime[Any]) -> None:
    """Report that a stage begins; of parallel parts, only the first one reports it."""
    if (total := state.get("of")) is not None:
        if _parts.begin(stage, _step(runtime)):
            runtime.stream_writer(progress(stage, _parts_note(stage, 0, total), 0, total))
    elif (note := BEGINS.get(stage)) is not None:
        runtime.stream_writer(progress(stage, note if isinstance(note, str) else note(state)))


def ended(stage: str, state: Mapping[str, Any], update: Mapping[str, Any], runtime: Runtime[Any]) -> None:
    """Report that one of several parallel parts has ended, or the decision of the preflight."""
    if (total := state.get("of")) is not None:
        done = min(_parts.end(stage, _step(runtime)), total)
        runtime.stream_writer(progress(stage, _parts_note(stage, done, total), done, total))
    elif stage == "preflight":
        runtime.stream_writer(progress(stage, _decided(update["decision"])))


def _decided(decision: Mapping[str, Any]) -> str:
    """Return the progress note of the preflight's decision."""
    return f"preflight: {DECIDED[decision['name']]}"


def _parts_note(stage: str, done: int, total: int) -> str:
    """Return the progress note of a stage that runs in parts."""
    return f"reading partitions: {done} of {total}" if stage == "map_context" else f"answering {done} of {total} groups"


def _counted(count: int, noun: str) -> str:
    """Return a number with its noun, e.g. `1 passage`, `2 passages`."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _step(runtime: Runtime[Any]) -> str:
    """Return the id of the graph's current step; empty outside a run."""
    return runtime.execution_info.checkpoint_id if runtime.execution_info else ""
