"""The conversations of OpenAI clients, which send the whole conversation with each request."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence

REMEMBERED = 10_000  # most conversations: a guess, about 2 MB


class Conversations:
    """Maps conversations, which an OpenAI client sends whole each time, to threads; in memory.

    After each answer the conversation so far is stored by its hash, with its thread's id. When a client sends it again
    with one more question, that thread continues, so that follow-ups know its citations, and a clarifying question can
    be answered. An unknown conversation, or one that has been continued already, gets a new thread with the messages as
    its history.
    """

    def __init__(self) -> None:
        self._threads: dict[str, tuple[str, int]] = {}

    def take(self, user: str, history: Sequence[tuple[str, str]]) -> tuple[str, int] | None:
        """Remove and return the thread of a conversation, and its number of turns; None if it is unknown.

        No other request gets the thread until it is remembered again.
        """
        return self._threads.pop(_hash(user, history), None)

    def remember(self, user: str, history: Sequence[tuple[str, str]], thread_id: str, turns: int) -> None:
        """Remember the thread of a conversation."""
        self._threads[_hash(user, history)] = (thread_id, turns)
        if len(self._threads) > REMEMBERED:
            self._threads.pop(next(iter(self._threads)))


def _hash(user: str, history: Sequence[tuple[str, str]]) -> str:
    """Return the hash of a user's conversation."""
    messages = [user, *([role, " ".join(text.split())] for role, text in history)]
    return hashlib.sha256(json.dumps(messages).encode()).hexdigest()
