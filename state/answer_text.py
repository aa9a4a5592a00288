"""Control over the streamed text of a stage: a stage may hold it back until it knows that its answer counts."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Protocol


class AnswerText(Protocol):
    """A filter on which parts of a stage's answer are shown while it is being written."""

    def keep_back(self) -> None:
        """Hold the text back until `show` or `drop` is called."""
        ...

    def show(self) -> None:
        """Show the text that was held back, and all further text."""
        ...

    def drop(self) -> None:
        """Discard the rest of the answer, including the text that was held back."""
        ...


class _Unread:
    """The control for a stage whose text nobody reads."""

    def keep_back(self) -> None:
        """Do nothing: no text is shown anyway."""

    def show(self) -> None:
        """Do nothing: no text is shown anyway."""

    def drop(self) -> None:
        """Do nothing: no text is shown anyway."""


UNREAD: AnswerText = _Unread()
"""The control for a stage whose text nobody reads."""
answer_text: ContextVar[AnswerText] = ContextVar("answer_text", default=UNREAD)
"""The control for the running stage."""
