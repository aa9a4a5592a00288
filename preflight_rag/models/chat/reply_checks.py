"""Checks whether a chat model's reply is complete: not refused, filtered, cut off, empty or endless."""

from __future__ import annotations

from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.messages.utils import count_tokens_approximately

from preflight_rag.models.chat.runnables import AnyModel, is_openais
from preflight_rag.prompts.replies import before_cut_quotes
from preflight_rag.state.errors import BadReply
from preflight_rag.state.values import Usage
from preflight_rag.text.circles import before_circles
from preflight_rag.text.words import without_controls

_CUT_OFF = "Raise the model's max_tokens; where it sets none, its context window is full: ask with a smaller k."
_CUT_BY_US = "Raise PREFLIGHT_REPLY_TOKENS; where its context window is full, ask with a smaller k."
_FILTERED = ("content_filter", "safety")
LONGEST_REPLY = 100_000
"""Characters after which a model is stopped, because it repeats itself. A guess, some forty pages; answers have one."""
LONG_PROMPT = 1000
"""Estimated tokens from which on it is checked whether a server has read the whole prompt; a guess."""
READ_SHARE = 0.5
"""Least share of the estimated tokens that a server reports for a prompt read completely; a guess: no language has
eight characters a token."""


def whole_text(
    message: AIMessage, name: str, chat_model: AnyModel, *, limited: bool = False
) -> tuple[str, tuple[str, ...]]:
    """Return the text of a reply, and notes on it.

    Args:
        message: The reply.
        name: The model's name in errors.
        chat_model: The model: OpenAI's client reports for each whole reply why it ended.
        limited: Whether the limit of its tokens is ours.

    Raises:
        BadReply: It is incomplete, and not only because its quotes were cut off.
    """
    metadata = message.response_metadata
    reason = metadata.get("finish_reason") or metadata.get("stop_reason") or metadata.get("done_reason")
    other = "Ask in other words, or take another model."
    if message.additional_kwargs.get("refusal") or reason == "refusal":
        raise BadReply(f"{name} refused to answer", help=other, reason="refusal")
    if reason in _FILTERED:
        problem = f"the reply of {name} was stopped by its server's content filter"
        raise BadReply(problem, help=other, reason="content_filter")
    text = without_controls(str(message.text))
    if reason in ("length", "max_tokens"):
        if (whole := before_cut_quotes(text)) is not None:
            return whole, (f"{name}'s reply was cut off in its quotes",)
        problem = f"{name}'s reply was cut off at its token limit"
        if (kept := before_circles(text)) != text:
            raise in_circles(name, kept)
        raise BadReply(problem, help=_CUT_BY_US if limited else _CUT_OFF, reason="length", partial=text)
    if len(text) > LONGEST_REPLY:
        raise too_long(name, text[:LONGEST_REPLY])
    if reason is None and is_openais(chat_model, metadata.get("model_provider")):
        problem = f"{name}'s reply ended before it was finished"
        raise BadReply(problem, help="Try again.", reason="unfinished", partial=text)
    if not text.strip():
        help = "Try again, or take another model."
        raise BadReply(f"{name} sent an empty reply", help=help, reason="empty")
    return text, ()


def in_circles(name: str, kept: str) -> BadReply:
    """Return the error for a reply that was stopped because it repeated itself."""
    problem = f"{name} repeated itself and was stopped"
    return BadReply(problem, help="Try again, or take another model.", reason="repetition", partial=kept)


def only_thought(message: AIMessage) -> bool:
    """Return whether a model that reached its limit had used it for its thoughts, in part or completely."""
    usage, text = message.usage_metadata, str(message.text)
    details = usage.get("output_token_details") if usage else None
    return bool(details and details.get("reasoning")) or not text.strip() or "<think" in text or "</think" in text


def too_long(name: str, text: str) -> BadReply:
    """Return the error for a reply that was stopped because it did not end."""
    problem = f"{name} wrote more than {LONGEST_REPLY:,} characters and was stopped"
    return BadReply(problem, help="Try again, or take another model.", reason="length", partial=text)


def unread_note(name: str, prompt: list[BaseMessage], usage: Usage) -> tuple[str, ...]:
    """Return a note if the server reports far fewer prompt tokens than were sent: some truncate silently."""
    sent = count_tokens_approximately(prompt)
    if usage.estimated or sent < LONG_PROMPT or usage.input_tokens >= READ_SHARE * sent:
        return ()
    read = f"{usage.input_tokens:,} of about {sent:,} tokens"
    return (f"{name} read {read}: its server cuts what is longer; set PREFLIGHT_CONTEXT_WINDOW",)
