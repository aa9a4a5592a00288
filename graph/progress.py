"""Progress for users: a sentence when a stage begins and, if it runs in parts, when one of them is done."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any

from langgraph.runtime import Runtime

from preflight_rag.state.progress import progress

ROUTES = {"plain": "plain", "map_reduce": "map/reduce", "corg": "COrg", "abstain": "nothing found"}
DECISION_NOTES = {
    "plain": "the passages are read all at once",
    "map_reduce": "the passages are read in parts",
    "corg": "the passages are compared with each other",
    "abstain": "nothing was found",
}
MAX_COUNTED = 1024
"""Maximum number of fan-outs whose finished parts are counted; a guess, far above the turns that run at once."""


def _reading_note(state: Mapping[str, Any]) -> str:
    """Return the progress note of reading the passages at once."""
    return f"reading {_count_with_noun(len(state['passage_refs']), 'passage')}"


def _reducing_note(state: Mapping[str, Any]) -> str:
    """Return the progress note of reducing the partitions' extracts."""
    return f"putting together what {_count_with_noun(len(state['extracts']), 'partition')} gave"


BEGINS: dict[str, str | Callable[[Mapping[str, Any]], str]] = {
    "rewrite": "understanding the question",
    "converse": "replying",
    "list_documents": "looking through all documents",
    "read_metadata": "looking up the document",
    "retrieve": "searching",
    "preflight": "choosing how to read the passages",
    "answer_plain": _reading_note,
    "reduce_context": _reducing_note,
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
        """Record that a part of a fan-out begins; return whether it is the first one."""
        with self._lock:
            is_first = (stage, step) not in self._done
            self._done.setdefault((stage, step), 0)
            if len(self._done) > MAX_COUNTED:
                self._done.popitem(last=False)
            return is_first

    def end(self, stage: str, step: str) -> int:
        """Record that a part of a fan-out is done; return the number of its finished parts."""
        with self._lock:
            done = self._done.get((stage, step), 0) + 1
            self._done[stage, step] = done
            return done


_parts = Parts()


def report_begin(stage: str, state: Mapping[str, Any], runtime: Runtime[Any]) -> None:
    """Report to the user that a stage begins; of parallel parts, only the first one is reported."""
    if (total := state.get("of")) is not None:
        if _parts.begin(stage, _step_id(runtime)):
            runtime.stream_writer(progress(stage, _parts_note(stage, 0, total), 0, total))
    elif (note := BEGINS.get(stage)) is not None:
        runtime.stream_writer(progress(stage, note if isinstance(note, str) else note(state)))


def report_end(stage: str, state: Mapping[str, Any], update: Mapping[str, Any], runtime: Runtime[Any]) -> None:
    """Report to the user that one of several parallel parts has ended, or the decision of the preflight."""
    if (total := state.get("of")) is not None:
        done = min(_parts.end(stage, _step_id(runtime)), total)
        runtime.stream_writer(progress(stage, _parts_note(stage, done, total), done, total))
    elif stage == "preflight":
        runtime.stream_writer(progress(stage, _decision_note(update["decision"])))


def _decision_note(decision: Mapping[str, Any]) -> str:
    """Return the progress note of the preflight's decision."""
    return f"preflight: {DECISION_NOTES[decision['name']]}"


def _parts_note(stage: str, done: int, total: int) -> str:
    """Return the progress note of a stage that runs in parts."""
    return f"reading partitions: {done} of {total}" if stage == "map_context" else f"answering {done} of {total} groups"


def _count_with_noun(count: int, noun: str) -> str:
    """Return a number with its noun, e.g. `1 passage`, `2 passages`."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _step_id(runtime: Runtime[Any]) -> str:
    """Return the id of the graph's current step; empty outside a run."""
    return runtime.execution_info.checkpoint_id if runtime.execution_info else ""
