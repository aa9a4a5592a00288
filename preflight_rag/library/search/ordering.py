"""The order in which selected passages stand in the prompt.

Models use what stands at the two ends of a long prompt best and lose what stands in its middle (Liu et al. 2024, "Lost
in the Middle"). "Diversity Enhances an LLM's Performance in RAG and Long-context Task" (arXiv 2502.09017) compares
orderings of what was selected: by score, by place in the document, and m:n, where of each m + n passages m go to the
front and n to the back.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from preflight_rag.state.errors import UsageError

Item = TypeVar("Item")

_RATIO = re.compile(r"([1-9]\d{0,2}):([1-9]\d{0,2})")


def arrange(
    items: Sequence[Item],
    ordering: str,
    *,
    score: Callable[[Item], Any] | None = None,
    place: Callable[[Item], Any] | None = None,
) -> list[int]:
    """Indices of the items in prompt order; each index once.

    Args:
        items: Any sequence.
        ordering: "score": best first; "index": by `place`; "m:n", such as "2:1": of each m + n items, best first, m go
            to the front and n to the back, so that the best stand at both ends and the worst near the middle.
        score: Higher is better; None: the items come best first. Equal ones stay in the order given.
        place: Sorts ascending for "index", such as (document, offset); None: the order given. Equal ones stay as given.

    Raises:
        UsageError: The ordering is unknown.
    """
    ratio = _RATIO.fullmatch(ordering)
    if ratio is None and ordering not in ("score", "index"):
        raise UsageError(
            f"the ordering {ordering!r} is unknown", help="Choose score, index, or m:n such as 1:1, 2:1 or 3:1"
        )
    indices = list(range(len(items)))
    if ordering == "index":
        return indices if place is None else sorted(indices, key=lambda index: place(items[index]))
    if score is not None:
        indices.sort(key=lambda index: score(items[index]), reverse=True)
    if ratio is None:
        return indices
    front, back = int(ratio[1]), int(ratio[2])
    head = [index for rank, index in enumerate(indices) if rank % (front + back) < front]
    tail = [index for rank, index in enumerate(indices) if rank % (front + back) >= front]
    return head + tail[::-1]


def distance_to_end(position: int, count: int) -> int:
    """How many passages stand between one at `position`, from 0, and the nearer end of `count` passages."""
    return min(position, count - 1 - position)
