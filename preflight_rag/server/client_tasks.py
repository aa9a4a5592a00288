"""Tasks that chat clients send beside a conversation: a title, tags, follow-ups, a search query, an emoji and the like.

They need no documents. A language model answers each directly, in one call; without a model a rule does. They are
recognised by the client's name for the task (`metadata.task`) or by the form of the prompt: Open WebUI's begin with
`### Task:`, hold the conversation between `<chat_history>` tags and name the JSON key of the reply; LibreChat,
NextChat, Chatbox and others request a title of the conversation in one sentence.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage

from preflight_rag.graph.model_use import LOST
from preflight_rag.models.budget import SharedBudget
from preflight_rag.server.model_watch import ModelWatch
from preflight_rag.server.replies import ENDS
from preflight_rag.state.errors import BadReply, BudgetUsedUp, ModelError, PreflightError
from preflight_rag.state.values import Usage
from preflight_rag.text.concepts import key_concepts

Kind = Literal["title", "tags", "follow_ups", "queries", "image_prompt", "completion", "emoji", "tools", "merge"]

NAMED: Mapping[str, Kind] = {
    "title_generation": "title",
    "tags_generation": "tags",
    "follow_up_generation": "follow_ups",
    "query_generation": "queries",
    "image_prompt_generation": "image_prompt",
    "autocomplete_generation": "completion",
    "emoji_generation": "emoji",
    "function_calling": "tools",
    "moa_response_generation": "merge",
}
"""Open WebUI's names of tasks in its `metadata`."""
KEYS: Mapping[str, Kind] = {
    "title": "title",
    "tags": "tags",
    "follow_ups": "follow_ups",
    "queries": "queries",
    "prompt": "image_prompt",
    "text": "completion",
}
"""Kinds of tasks by the key of the requested JSON object."""
OPENING = 600  # characters within which a prompt states its task; a guess, twice Open WebUI's longest
TITLE_WORDS, MOST_TAGS = 6, 3  # the numbers that the clients' prompts request

_TASK, _HISTORY, _HISTORY_ENDS = "### Task:", "<chat_history>", "</chat_history>"
_EMOJI = "your task is to reflect the speaker's likely facial expression through a fitting emoji"
_MERGE = "you have been provided with a set of responses from various models to the latest user query"
_NAME = "based on the chat history, give this conversation a name"
_TOOLS = "available tools:"
_KEY = re.compile(r'\{\s*"(title|tags|follow_ups|queries|prompt|text)"\s*:')
_TITLE = re.compile(r"(?:please )?(?:provide|generate|create|write|suggest|give)\b[^.\n]{0,60}\btitle\b")
_INTO_TITLE = re.compile(r"summari[sz]e (?:the|this|our) (?:conversation|chat) into a\b[^.\n]{0,20}\btitle")
_ANALYSED = re.compile(r"analy[sz]e this conversation and provide\b")
_OF_CHAT = re.compile(r"\b(?:this|our|the|following|a) (?:conversation|chat|dialogue|discussion)\b")
_TITLER = re.compile(r"you are an? [^.\n]{0,40}(?:title generator|conversation summari[sz]er)")
_SPEAKER = re.compile(r"^[ \t]*(?:\*\*)?(user|human|assistant|ai)(?:\*\*)?[ \t]*:", re.IGNORECASE | re.MULTILINE)
_CONVERSATION = re.compile(r"^[ \t]*conversation:[ \t]*$", re.IGNORECASE | re.MULTILINE)
_QUOTED = re.compile(r'(?:"""|```)(.*?)(?:"""|```)', re.DOTALL)
_RESPONSES = "Responses from models:"


REPLY_TOKENS: dict[Kind, int] = {
    "title": 256, "emoji": 64, "tags": 256, "follow_ups": 512, "queries": 512, "image_prompt": 512, "completion": 512
}  # fmt: skip
"""Most tokens of the reply to a task, by its kind, in any language; other kinds have no limit. Set by hand."""


@dataclass(frozen=True)
class Task:
    """A client's task about the conversation, such as a title for it.

    Attributes:
        kind: The kind of task.
        messages: The client's messages, `(role, text)`.
        as_json: Whether the reply is to be a JSON object.
    """

    kind: Kind
    messages: tuple[tuple[str, str], ...]
    as_json: bool

    @property
    def prompt(self) -> str:
        """Return the last message of the user."""
        return next((text for role, text in reversed(self.messages) if role == "user"), "")

    def user_messages(self) -> list[str]:
        """Return the user's messages in the conversation that the task is about, in order."""
        if (history := _history(self.prompt)) is not None:
            return _users(history)
        if (headed := _CONVERSATION.search(self.prompt)) is not None:
            return _users(self.prompt[headed.end() :])
        if spoken := [text for role, text in self.messages if role == "user"][:-1]:
            return spoken
        return _users(self.prompt) if len(_SPEAKER.findall(self.prompt)) else []


@dataclass(frozen=True)
class TaskReply:
    """The reply to a task; `model` is None if a rule made it, and `problem` says why no model did."""

    text: str
    usage: Usage
    model: str | None = None
    finish_reason: Literal["stop", "length", "content_filter"] = "stop"
    problem: str | None = None


def task_of(messages: Sequence[tuple[str, str]], metadata: Mapping[str, Any] | None = None) -> Task | None:
    """Return the task that the messages contain, or None if they are a question about the documents."""
    prompt = next((text for role, text in reversed(messages) if role == "user"), "")
    system = "\n".join(text for role, text in messages if role in ("system", "developer"))
    kind = NAMED.get(str((metadata or {}).get("task"))) or _by_shape(prompt, system)
    return Task(kind, tuple(messages), _wants_json(prompt, kind)) if kind else None


def by_rule(task: Task) -> str:
    """Return a reply made without a language model, only of words from the conversation."""
    messages = [text for text in task.user_messages() if text.strip()]
    last = messages[-1].strip() if messages else ""
    if task.kind == "title":
        return _as_asked(task, {"title": _title(messages)})
    if task.kind == "emoji":
        return "💬"
    if task.kind == "merge":
        found = task.prompt.partition(_RESPONSES)[2]
        return "\n\n".join(part.strip() for part in _QUOTED.findall(found)) or found.strip()
    values: dict[Kind, dict[str, Any]] = {
        "tags": {"tags": [tag.capitalize() for tag in key_concepts(last)][:MOST_TAGS] or ["General"]},
        "follow_ups": {"follow_ups": []},
        "queries": {"queries": [last] if last else []},
        "image_prompt": {"prompt": last},
        "completion": {"text": ""},
        "tools": {"tool_calls": []},
    }
    return json.dumps(values[task.kind], ensure_ascii=False)


async def answer_task(
    task: Task, watch: ModelWatch, sampling: Mapping[str, Any], purses: Sequence[SharedBudget] = ()
) -> TaskReply:
    """Return the model's reply in one call; if there is no model, or it is unreachable or over budget, a rule's.

    Raises:
        ModelError: The model's reply cannot be used.
    """
    messages = [_message(role, text) for role, text in task.messages if text.strip()]
    try:
        made = await watch.complete(messages, sampling, purses, REPLY_TOKENS.get(task.kind))
    except BadReply as error:
        if error.reason not in ENDS:
            raise
        return TaskReply(error.partial, _spent(error), watch.name, ENDS[error.reason])
    except (*LOST, BudgetUsedUp) as error:
        return TaskReply(by_rule(task), _spent(error), problem=str(error))
    if made is None:
        return TaskReply(by_rule(task), Usage(), problem=watch.problem)
    return TaskReply(*made, watch.name)


def _spent(error: PreflightError) -> Usage:
    """Return the tokens that a failed call used."""
    return Usage.model_validate((isinstance(error, ModelError) and error.spent) or {"calls": 1})


def _by_shape(prompt: str, system: str) -> Kind | None:
    """Return the kind of task that the wording of a prompt shows; None if it shows none."""
    opening, role = prompt.lstrip()[:OPENING].lower(), system.lstrip()[:OPENING].lower()
    if prompt.lstrip().startswith(_TASK) and (spoken := _history(prompt)) is not None:
        # the conversation itself may contain text that looks like JSON
        key = _KEY.search(prompt.replace(spoken, "", 1))
        return KEYS[key[1]] if key else None
    if opening.startswith(_EMOJI):
        return "emoji"
    if opening.startswith(_MERGE):
        return "merge"
    if role.startswith(_TOOLS) and '"tool_calls"' in system:
        return "tools"
    return "title" if _wants_title(opening, role) else None


def _wants_title(opening: str, role: str) -> bool:
    """Return whether a title of the conversation is requested; a title of anything else is an ordinary question."""
    if opening.startswith(_NAME) or _INTO_TITLE.match(opening) or _TITLER.match(role):
        return True
    if _ANALYSED.match(opening):
        return "title" in opening
    asked = _TITLE.match(opening)
    return asked is not None and _OF_CHAT.search(opening[asked.end() :].partition("\n")[0]) is not None


def _history(prompt: str) -> str | None:
    """Return the text between the `<chat_history>` tags; None without them."""
    start, end = prompt.find(_HISTORY), prompt.rfind(_HISTORY_ENDS)
    return prompt[start + len(_HISTORY) : end] if 0 <= start < end else None


def _wants_json(prompt: str, kind: Kind) -> bool:
    """Return whether a client's task wants its reply as JSON."""
    return kind not in ("emoji", "merge") and (kind != "title" or _KEY.search(prompt) is not None)


def _as_asked(task: Task, value: dict[str, str]) -> str:
    """Return a task's result in the form that it asks for: JSON, or only the text."""
    return json.dumps(value, ensure_ascii=False) if task.as_json else next(iter(value.values()))


def _title(messages: Sequence[str]) -> str:
    """Return the first words of the first question."""
    words = (messages[0] if messages else "Conversation").split("\n")[0].strip().rstrip("?!.,;: ").split()
    return " ".join(words[:TITLE_WORDS]) + ("…" if len(words) > TITLE_WORDS else "")


def _users(text: str) -> list[str]:
    """Return the user's messages in a conversation written as `USER: …`, `ASSISTANT: …`."""
    parts = _SPEAKER.split(text)
    pairs = zip(parts[1::2], parts[2::2], strict=True)
    return [text.strip() for speaker, text in pairs if speaker.lower() in ("user", "human")] or (
        [text.strip()] if len(parts) == 1 and text.strip() else []
    )


def _message(role: str, text: str) -> BaseMessage:
    """Return a LangChain message for a role; other roles are the user's."""
    kinds: dict[str, type[BaseMessage]] = {"system": SystemMessage, "developer": SystemMessage, "assistant": AIMessage}
    return kinds.get(role, HumanMessage)(text)
