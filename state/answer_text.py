"""What a stage's model writes, as a person reads along: a stage may keep it back until it knows that it counts."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Protocol


class AnswerText(Protocol):
    """A filter on which parts of a stage's answer are shown while it is being written."""

    def keep_back(self) -> None:
        """Show nothing of it for now."""
        ...

    def show(self) -> None:
        """Show what was kept back, and what comes."""
        ...

    def drop(self) -> None:
        """Drop the rest of the answer, including the text that was kept back."""
        ...


class _Unread:
    """The text of a stage that nobody reads along with."""

    def keep_back(self) -> None:
        """Do nothing: no text is shown anyway."""

    def show(self) -> None:
        """Do nothing: no text is shown anyway."""

    def drop(self) -> None:
        """Do nothing: no text is shown anyway."""


UNREAD: AnswerText = _Unread()
"""That of a stage to which nobody listens."""
answer_text: ContextVar[AnswerText] = ContextVar("answer_text", default=UNREAD)
"""That of the stage that runs."""
