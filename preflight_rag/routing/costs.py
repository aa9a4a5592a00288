"""What each route costs in calls and input tokens (BriefContext, section 5.2, equations 4 and 5).

With k passages of l tokens each, a question of q tokens and prompts of p tokens, plain RAG makes one call of
`p + 2q + kl` tokens; map/reduce makes M map calls that share the passages, `M(p + 2q) + kl`, and one reduce call over
their M extracts, `p + 2q + Me`. COrg asks about each pivot; the dearer way is to ask about each pair of contexts.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil

from preflight_rag.models.protocol import Reader
from preflight_rag.prompts import answer_plain, map_context, reduce_context, relate_contexts
from preflight_rag.state.reading import Extract, Source
from preflight_rag.state.values import Saved

EXTRACT_TOKENS = 120
"""Length assumed for an extract where none was made."""


def overheads(reader: Reader, question: str) -> tuple[int, int, int]:
    """Tokens that the plain, map and reduce prompts take without passages or extracts."""
    no_source = Source(1, "", "", "")
    prompts = (
        answer_plain.render(question=question, sources=[no_source]),
        map_context.render(question=question, sources=[no_source]),
        reduce_context.render(question=question, extracts=[Extract("")]),
    )
    plain, mapped, reduced = (sum(reader.count_tokens(str(m.text)) for m in messages) for messages in prompts)
    return plain, mapped, reduced


def cost(
    route: str, overhead: tuple[int, int, int], passage_tokens: Sequence[int], partition_size: int
) -> tuple[int, int]:
    """Calls and input tokens of a route over these passages."""
    plain, mapped, reduced = overhead
    if route == "plain":
        return 1, plain + sum(passage_tokens)
    partitions = ceil(len(passage_tokens) / partition_size)
    return partitions + 1, partitions * (mapped + EXTRACT_TOKENS) + reduced + sum(passage_tokens)


def saved(reader: Reader, question: str, route: str, passage_tokens: Sequence[int], partition_size: int) -> Saved:
    """What the other route would have cost more than the one taken, both by the cost model."""
    if route not in ("plain", "map_reduce") or not passage_tokens:
        return Saved(why="no route was compared")
    other = "map_reduce" if route == "plain" else "plain"
    overhead = overheads(reader, question)
    calls, tokens = cost(route, overhead, passage_tokens, partition_size)
    other_calls, other_tokens = cost(other, overhead, passage_tokens, partition_size)
    chosen = {"plain": "plain", "map_reduce": "map/reduce"}
    why = f"preflight chose {chosen[route]}, not {chosen[other]}"
    return Saved(calls=other_calls - calls, input_tokens=other_tokens - tokens, why=why)


def saved_pairs(reader: Reader, question: str, context_tokens: Sequence[int], calls: int, input_tokens: int) -> Saved:
    """What asking about every two contexts in a call of their own would have cost more than COrg's Algorithm 1 did."""
    count = len(context_tokens)
    pairs = count * (count - 1) // 2
    no_source = Source(1, "", "", "")
    messages = relate_contexts.render(question=question, contexts=[no_source, no_source])
    overhead = sum(reader.count_tokens(str(message.text)) for message in messages)
    tokens = pairs * overhead + (count - 1) * sum(context_tokens)
    if not calls:
        return Saved(why="no relation was asked of a model")
    why = f"relations were asked in {calls} calls, not for each of {pairs} pairs"
    return Saved(calls=pairs - calls, input_tokens=tokens - input_tokens, why=why)
