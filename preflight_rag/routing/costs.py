"""What each route costs in calls and input tokens (BriefContext, section 5.2, equations 4 and 5).

With k passages of l tokens each, a question of q tokens and prompts of p tokens, plain RAG makes one call of
`p + 2q + kl` tokens and writes `a`; map/reduce makes M map calls that share the passages, `M(p + 2q) + kl`, and one
reduce call over their M extracts of e tokens, `p + 2q + Me`, and writes `Me + a`. The paper's equations have one N_out
for e and a, and leave the reading of the extracts out, which is not small beside a few passages. COrg asks about each
pivot; the dearer way is to ask about each pair of contexts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

from preflight_rag.models.protocol import Reader
from preflight_rag.prompts import answer_plain, map_context, reduce_context, relate_contexts
from preflight_rag.state.reading import Extract, Source
from preflight_rag.state.values import Saved


@dataclass(frozen=True)
class WrittenTokens:
    """Mean numbers of tokens of a model's extract of one partition, and of its answer (N_out of equations 4 and 5)."""

    extract: float
    answer: float


@dataclass(frozen=True)
class Cost:
    """The calls of a model, and the tokens that it reads and writes."""

    calls: int
    input_tokens: int
    output_tokens: int

    def price(self, read: float, written: float) -> float:
        """Return the price by equations 4 and 5. `read` and `written` are the prices of a token (p_input and p_out)."""
        return self.input_tokens * read + self.output_tokens * written


USUAL = WrittenTokens(extract=130.0, answer=144.0)
"""Usual tokens of a model's replies, used before any were written: those of the keyless reader for 20 questions of
MIRAGE, quotes included, as measured by `preflight eval cost --dataset mirage --limit 20 --documents 300`."""


def overheads(reader: Reader, question: str) -> tuple[int, int, int]:
    """Return the numbers of tokens of the plain, map and reduce prompts without passages or extracts."""
    # With an empty passage or extract, only prompt and question are counted: p + 2q of the equations.
    no_source = Source(1, "", "", "")
    prompts = (
        answer_plain.render(question=question, sources=[no_source]),
        map_context.render(question=question, sources=[no_source]),
        reduce_context.render(question=question, extracts=[Extract("")]),
    )
    tokens = []
    for messages in prompts:
        tokens.append(sum(reader.count_tokens(str(message.text)) for message in messages))
    plain, mapped, reduced = tokens
    return plain, mapped, reduced


def cost(
    route: str,
    overhead: tuple[int, int, int],
    passage_tokens: Sequence[int],
    partition_size: int,
    written: WrittenTokens = USUAL,
    *,
    reduce_prompt: bool = True,
) -> Cost:
    """Return the cost of a route over these passages.

    Args:
        route: plain or map_reduce.
        overhead: Tokens that the plain, map and reduce prompts take without passages or extracts.
        passage_tokens: Number of tokens of each passage.
        partition_size: Number of passages of one map prompt.
        written: Mean numbers of tokens that the model writes.
        reduce_prompt: Whether the reduce prompt with its extracts is read, which equation 5 leaves out.
    """
    plain, mapped, reduced = overhead
    if route == "plain":
        return Cost(1, plain + sum(passage_tokens), round(written.answer))
    partitions = ceil(len(passage_tokens) / partition_size)
    read = float(partitions * mapped + sum(passage_tokens))
    read += reduced + partitions * written.extract if reduce_prompt else 0
    return Cost(partitions + 1, round(read), round(partitions * written.extract + written.answer))


def written_by(extracts: Sequence[int], answer: int) -> WrittenTokens:
    """Return the mean numbers of tokens that a turn's model wrote for an extract and an answer.

    If it wrote no extract, or no answer, the usual number is taken.
    """
    of_extracts = sum(extracts) / len(extracts) if extracts else USUAL.extract
    return WrittenTokens(of_extracts, answer or USUAL.answer)


def saved(
    reader: Reader,
    question: str,
    route: str,
    passage_tokens: Sequence[int],
    partition_size: int,
    written: WrittenTokens = USUAL,
) -> Saved:
    """Return how much more the other of plain and map/reduce would have cost; nothing for other routes."""
    # Equations 4 and 5 compare these two alone; COrg's saving is that of `saved_pairs`.
    if route not in ("plain", "map_reduce") or not passage_tokens:
        return Saved(why="no route was compared")
    other = "map_reduce" if route == "plain" else "plain"
    overhead = overheads(reader, question)
    chosen_cost, other_cost = (cost(name, overhead, passage_tokens, partition_size, written) for name in (route, other))
    route_names = {"plain": "plain", "map_reduce": "map/reduce"}
    why = f"preflight chose {route_names[route]}, not {route_names[other]}"
    return Saved(
        calls=other_cost.calls - chosen_cost.calls,
        input_tokens=other_cost.input_tokens - chosen_cost.input_tokens,
        output_tokens=other_cost.output_tokens - chosen_cost.output_tokens,
        why=why,
    )


def saved_pairs(reader: Reader, question: str, context_tokens: Sequence[int], calls: int, input_tokens: int) -> Saved:
    """Return how much more a call for each pair of contexts would have cost than COrg's Algorithm 1."""
    count = len(context_tokens)
    pairs = count * (count - 1) // 2
    no_source = Source(1, "", "", "")
    messages = relate_contexts.render(question=question, contexts=[no_source, no_source])
    overhead = sum(reader.count_tokens(str(message.text)) for message in messages)
    # Each context would stand in one prompt with every other one.
    tokens = pairs * overhead + (count - 1) * sum(context_tokens)
    if not calls:
        return Saved(why="no relation was asked of a model")
    why = f"relations were asked in {calls} calls, not for each of {pairs} pairs"
    return Saved(calls=pairs - calls, input_tokens=tokens - input_tokens, why=why)
