"""The conversations of OpenAI clients, which send each one as a whole each time."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence

REMEMBERED = 10_000  # conversations: a guess, about 2 MB


class Conversations:
    """The threads of conversations that an OpenAI client sends as a whole each time; in memory.

    After each answer the conversation so far is stored by its hash, with its thread's id. When a client sends it again
    with one more question, that thread continues, so that follow-ups know its citations, and a clarifying question can
    be answered. An unknown conversation, or one that has been continued already, gets a new thread with the messages as
    its history.
    """

    def __init__(self) -> None:
        self._threads: dict[str, tuple[str, int]] = {}

    def take(self, user: str, history: Sequence[tuple[str, str]]) -> tuple[str, int] | None:
        """Return the thread of a history, and how many turns it has.

        Nobody else gets it until it is remembered again.
        """
        return self._threads.pop(_hash(user, history), None)

    def remember(self, user: str, history: Sequence[tuple[str, str]], thread_id: str, turns: int) -> None:
        """Remember the messages of a thread."""
        self._threads[_hash(user, history)] = (thread_id, turns)
        if len(self._threads) > REMEMBERED:
            self._threads.pop(next(iter(self._threads)))


def _hash(user: str, history: Sequence[tuple[str, str]]) -> str:
    messages = [user, *([role, " ".join(text.split())] for role, text in history)]
    return hashlib.sha256(json.dumps(messages).encode()).hexdigest()
