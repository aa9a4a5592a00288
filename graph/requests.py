"""Requests to a conversation: begin a turn, continue with a choice, or finish a turn that was cut off."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage

from preflight_rag.conversation.questions import check_question, normalised
from preflight_rag.graph.model_use import ModelUse
from preflight_rag.models.budget import SharedBudget
from preflight_rag.state.context import Settings
from preflight_rag.state.errors import UsageError
from preflight_rag.state.schema import Question
from preflight_rag.threads.ledger import Turn

ROLES = {"user": HumanMessage, "assistant": AIMessage, "system": SystemMessage}


@dataclass(frozen=True)
class Ask:
    """A request for a new turn, or the reply to the question of the thread's last turn.

    Attributes:
        question: The user's question.
        settings: The numbers of the turn.
        options: The choices of a multiple-choice question.
        history: `(role, text)` of the messages before it, for a thread without turns; roles are "user", "assistant" and
            "system", which gives instructions on how to write.
        model: The model of this turn by name; None for the one with which the library was opened.
        discard: Whether an earlier turn of the thread that was cut off is given up.
        use: How the model is used; not recorded, so a turn that is resumed is finished as usual.
    """

    question: str
    settings: Settings = field(default_factory=Settings)
    options: Sequence[str] = ()
    history: Sequence[tuple[str, str]] = ()
    model: str | None = None
    discard: bool = False
    use: ModelUse = field(default_factory=ModelUse)

    def check(self) -> None:
        """Raise UsageError unless the question and the history can be used."""
        check_question(normalised(self.question), self.settings.max_question_chars)
        if unknown := sorted({role for role, _ in self.history} - ROLES.keys()):
            raise UsageError(f"history has the role {unknown[0]!r}", help='Use "user", "assistant" and "system".')

    def recorded(self) -> dict[str, Any]:
        """Return the request's settings, options, history and model as the ledger stores them beside the question."""
        history = [list(pair) for pair in self.history]
        return {**self.settings.model_dump(), "options": list(self.options), "history": history, "model": self.model}

    @classmethod
    def of(cls, turn: Turn) -> Ask:
        """Return the request with which a recorded turn was begun."""
        settings = dict(turn.settings)
        options, history, model = (settings.pop(name, None) for name in ("options", "history", "model"))
        pairs = [(role, text) for role, text in history or []]
        return cls(turn.question, Settings.model_validate(settings), options or (), pairs, model)

    def input(self) -> Question:
        """Return the input of the graph: the history's messages that have a text, the question, and the options."""
        earlier: list[AnyMessage] = [ROLES[role](text) for role, text in self.history if text.strip()]
        return Question(messages=[*earlier, HumanMessage(self.question)], options=list(self.options))


@dataclass(frozen=True)
class Choose:
    """A request to continue a turn that waits for a choice: labels, numbers from 1, or "all"."""

    choice: str | Sequence[str]
    purses: Sequence[SharedBudget] = ()


@dataclass(frozen=True)
class Resume:
    """A request to finish a turn where it stopped; finished stages and partitions do not run again."""

    purses: Sequence[SharedBudget] = ()


Request = Ask | Choose | Resume
