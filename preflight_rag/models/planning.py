"""Plans how much a turn reads, and how, so that it is expected to end within the user's time limit.

Only turns with a model of known speed that would take longer are changed.
"""

from __future__ import annotations

from math import ceil
from typing import Protocol, runtime_checkable

from preflight_rag.models.protocol import PROMPT_TOKENS, TAG_TOKENS
from preflight_rag.state.context import Settings
from preflight_rag.state.values import Speed

PASSAGE_TOKENS = 200
"""Tokens of a passage with its tags; passages in the benchmarks' libraries have 185 tokens on average."""
ANSWER_TOKENS, EXTRACT_TOKENS, NOTE_TOKENS = 200, 100, 30
"""Tokens that a model writes: for an answer with quotes, an extract, a note on a context. Set by hand; answers of the
scripted models and of SmolLM2 had 50 to 400."""
SHARE = 0.8
"""Share of the time limit that is planned for calls: searching, and other programs, need the rest. A guess."""
MODEL_SHARE = 0.85
"""Share of the time limit for the model's calls: the remaining time is for checking its citations, or for reading the
documents without it. On two busy cores that took three to nine seconds. A guess."""
FAST_READING = 500.0
"""Tokens a second from which on a model counts as fast, so that its turns are not shortened: servers with graphics
cards, or paid ones, read faster and run calls in parallel. Processors of laptops read 20 to 300. Set by hand."""
SLOW_PARTITIONS = 2
"""Number of partitions with a slow model, whose calls are made one after the other: each repeats the instructions."""


@runtime_checkable
class HasSpeed(Protocol):
    """A reader that may know its model's speed."""

    def speed(self) -> Speed | None:
        """Return the tokens a second, or None if nothing was measured."""
        ...


def speed_of(reader: object) -> Speed | None:
    """Return how fast a reader reads and writes, if that is known."""
    return reader.speed() if isinstance(reader, HasSpeed) else None


def expected_seconds(route: str, tokens: int, passages: int, settings: Settings, speed: Speed) -> float:
    """Return how many seconds a turn's model calls are expected to take, made one after the other.

    Args:
        route: "plain", "map_reduce" or "corg".
        tokens: Tokens of the passages.
        passages: Number of passages.
        settings: Only `partition_size` is used.
        speed: The model's speed.
    """
    read, written = float(tokens + PROMPT_TOKENS), float(ANSWER_TOKENS)
    if route == "map_reduce":
        partitions = ceil(passages / settings.partition_size)
        read = tokens + partitions * (PROMPT_TOKENS + EXTRACT_TOKENS) + PROMPT_TOKENS
        written += partitions * EXTRACT_TOKENS
    elif route == "corg":
        # Each context is read when it is compared, and again in its group; there are usually two groups.
        read = 2 * tokens + 4 * PROMPT_TOKENS
        written = passages * NOTE_TOKENS + 2 * ANSWER_TOKENS
    return read / speed.reads + written / speed.writes


def takes_too_long(route: str, tokens: int, passages: int, settings: Settings, speed: Speed) -> bool:
    """Return whether a turn is expected to exceed the user's time limit; always False for a fast model."""
    if not settings.answer_seconds or speed.reads >= FAST_READING:
        return False
    return expected_seconds(route, tokens, passages, settings, speed) > settings.answer_seconds


def within_time(settings: Settings, reader: object) -> Settings:
    """Return settings with which a turn is expected to end within `answer_seconds`.

    They are unchanged if the model's speed is unknown, or the turn is expected to end in time anyway. Else fewer
    passages are read, in fewer and larger partitions, and calls are made one after the other, so that all calls but one
    are complete or not begun when the time ends; the turn then continues with the complete ones.
    """
    speed = speed_of(reader)
    route = {"map-reduce": "map_reduce", "corg": "corg"}.get(settings.route, "plain")
    k = settings.k
    if speed is None or not takes_too_long(route, k * PASSAGE_TOKENS, k, settings, speed):
        return settings
    while k > 1:
        size = max(settings.partition_size, ceil(k / SLOW_PARTITIONS))
        planned = settings.model_copy(update={"partition_size": size})
        if expected_seconds(route, k * PASSAGE_TOKENS, k, planned, speed) <= SHARE * settings.answer_seconds:
            break
        k -= 1
    return settings.model_copy(
        update={
            "k": k,
            "budget_tokens": min(k * (PASSAGE_TOKENS - TAG_TOKENS), settings.budget_tokens or k * PASSAGE_TOKENS),
            "partition_size": max(settings.partition_size, ceil(k / SLOW_PARTITIONS)),
            "max_concurrency": 1,
            "deadline": min(settings.deadline, slow_seconds(settings)),
            "turn_seconds": min(settings.turn_seconds, slow_seconds(settings)),
        }
    )


def slow_seconds(settings: Settings) -> float:
    """Return for how many seconds a turn may call a slow model; 0 if the user sets no time limit."""
    return MODEL_SHARE * settings.answer_seconds


def plan_note(reader: object, chosen: int, wanted: int) -> str:
    """Return the note that a turn reads `chosen` of the `wanted` passages because its model is slow."""
    speed = speed_of(reader)
    slowness = f"reads {speed.reads:,.0f} tokens a second here" if speed else "is slow"
    return f"this model {slowness}: {chosen} of {wanted} passages"
