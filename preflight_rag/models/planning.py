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
"""Share of the time that is planned: searching, and other programs, need the rest. A guess."""
MODEL_SHARE = 0.85
"""Share of the time for the model: in the rest its citations are checked, or the documents are read without it. On two
busy cores that took three to nine seconds. A guess."""
FAST_READING = 500.0
"""Tokens a second from which on nothing is planned: servers with graphics cards, or paid ones, read faster and run
calls in parallel. Processors of laptops read 20 to 300. Set by hand."""
PARTS = 2
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
    """Return how many seconds a turn's calls take, made one after the other.

    Args:
        route: "plain", "map_reduce" or "corg".
        tokens: Tokens of the passages.
        passages: Number of passages.
        settings: Only `partition_size` is used.
        speed: The model's speed.
    """
    read, written = float(tokens + PROMPT_TOKENS), float(ANSWER_TOKENS)
    if route == "map_reduce":
        parts = ceil(passages / settings.partition_size)
        read = tokens + parts * (PROMPT_TOKENS + EXTRACT_TOKENS) + PROMPT_TOKENS
        written += parts * EXTRACT_TOKENS
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
    """Return the settings of a turn that is expected to end within `answer_seconds`; unchanged if it would anyway.

    With a slow model fewer tokens are read, and calls are made one after the other, so that the finished ones are
    complete when the time ends, in fewer and larger partitions; the turn then continues without the missing ones.
    """
    speed = speed_of(reader)
    route = {"map-reduce": "map_reduce", "corg": "corg"}.get(settings.route, "plain")
    k = settings.k
    if speed is None or not takes_too_long(route, k * PASSAGE_TOKENS, k, settings, speed):
        return settings
    while k > 1:
        size = max(settings.partition_size, ceil(k / PARTS))
        planned = settings.model_copy(update={"partition_size": size})
        if expected_seconds(route, k * PASSAGE_TOKENS, k, planned, speed) <= SHARE * settings.answer_seconds:
            break
        k -= 1
    return settings.model_copy(
        update={
            "k": k,
            "budget_tokens": min(k * (PASSAGE_TOKENS - TAG_TOKENS), settings.budget_tokens or k * PASSAGE_TOKENS),
            "partition_size": max(settings.partition_size, ceil(k / PARTS)),
            "max_concurrency": 1,
            "deadline": min(settings.deadline, slow_seconds(settings)),
            "turn_seconds": min(settings.turn_seconds, slow_seconds(settings)),
        }
    )


def slow_seconds(settings: Settings) -> float:
    """Return how many seconds a slow model may be called in a turn; 0 if the user sets no time limit."""
    return MODEL_SHARE * settings.answer_seconds


def plan_note(reader: object, chosen: int, wanted: int) -> str:
    """Return the note that a turn reads fewer passages than usual because its model is slow."""
    speed = speed_of(reader)
    known = f"reads {speed.reads:,.0f} tokens a second here" if speed else "is slow"
    return f"this model {known}: {chosen} of {wanted} passages"
