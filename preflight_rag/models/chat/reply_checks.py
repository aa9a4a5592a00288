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

_CUT_OFF_HELP = "Raise the model's max_tokens; where it sets none, its context window is full: ask with a smaller k."
_CUT_BY_US_HELP = "Raise PREFLIGHT_REPLY_TOKENS; where its context window is full, ask with a smaller k."
_FILTER_REASONS = ("content_filter", "safety")
LONGEST_REPLY = 100_000
"""Characters after which a model is stopped, because it probably repeats itself. A guess: some forty pages, where an
answer has one."""
LONG_PROMPT = 1000
"""Estimated tokens from which on it is checked whether a server has read the whole prompt; a guess."""
READ_SHARE = 0.5
"""Reported share of the estimated tokens from which on a prompt counts as completely read; a guess: no language has
eight characters a token."""


def checked_text(
    message: AIMessage, name: str, chat_model: AnyModel, *, limited: bool = False
) -> tuple[str, tuple[str, ...]]:
    """Check that a reply is complete, and return its text and notes on it.

    A reply that was cut off among its quotes is returned without quotes, with a note.

    Args:
        message: The reply.
        name: The model's name in errors.
        chat_model: The model: OpenAI's client reports for each whole reply why it ended.
        limited: Whether the limit of the reply's tokens was set by the call rather than by the model.

    Raises:
        BadReply: The reply was refused, filtered, cut off above its quotes, endless, unfinished or empty.
    """
    metadata = message.response_metadata
    reason = metadata.get("finish_reason") or metadata.get("stop_reason") or metadata.get("done_reason")
    refusal_help = "Ask in other words, or take another model."
    if message.additional_kwargs.get("refusal") or reason == "refusal":
        raise BadReply(f"{name} refused to answer", help=refusal_help, reason="refusal")
    if reason in _FILTER_REASONS:
        problem = f"the reply of {name} was stopped by its server's content filter"
        raise BadReply(problem, help=refusal_help, reason="content_filter")
    text = without_controls(str(message.text))
    if reason in ("length", "max_tokens"):
        if (text_above_quotes := before_cut_quotes(text)) is not None:
            return text_above_quotes, (f"{name}'s reply was cut off in its quotes",)
        problem = f"{name}'s reply was cut off at its token limit"
        if (text_before_repetition := before_circles(text)) != text:
            raise repetition_error(name, text_before_repetition)
        raise BadReply(problem, help=_CUT_BY_US_HELP if limited else _CUT_OFF_HELP, reason="length", partial=text)
    if len(text) > LONGEST_REPLY:
        raise endless_error(name, text[:LONGEST_REPLY])
    if reason is None and is_openais(chat_model, metadata.get("model_provider")):
        problem = f"{name}'s reply ended before it was finished"
        raise BadReply(problem, help="Try again.", reason="unfinished", partial=text)
    if not text.strip():
        help = "Try again, or take another model."
        raise BadReply(f"{name} sent an empty reply", help=help, reason="empty")
    return text, ()


def repetition_error(name: str, partial: str) -> BadReply:
    """Return the error for a reply that was stopped because it repeated itself, with the text before the repetition."""
    problem = f"{name} repeated itself and was stopped"
    return BadReply(problem, help="Try again, or take another model.", reason="repetition", partial=partial)


def was_spent_on_thoughts(message: AIMessage) -> bool:
    """Return whether a reply that reached its token limit had spent some or all of it on the model's thoughts.

    They are reported by the server, marked in the text, or assumed of a reply without text.
    """
    usage, text = message.usage_metadata, str(message.text)
    details = usage.get("output_token_details") if usage else None
    reports_thoughts = bool(details and details.get("reasoning"))
    return reports_thoughts or not text.strip() or "<think" in text or "</think" in text


def endless_error(name: str, text: str) -> BadReply:
    """Return the error for a reply that was stopped at `LONGEST_REPLY` characters, with its text."""
    problem = f"{name} wrote more than {LONGEST_REPLY:,} characters and was stopped"
    return BadReply(problem, help="Try again, or take another model.", reason="length", partial=text)


def unread_note(name: str, prompt: list[BaseMessage], usage: Usage) -> tuple[str, ...]:
    """Return a note if the server has read far fewer tokens than were sent, since some servers truncate silently.

    Empty if the server does not report how much it has read, or the prompt is too short to tell.
    """
    sent = count_tokens_approximately(prompt)
    if usage.estimated or sent < LONG_PROMPT or usage.input_tokens >= READ_SHARE * sent:
        return ()
    tokens = f"{usage.input_tokens:,} of about {sent:,} tokens"
    return (f"{name} read {tokens}: its server cuts what is longer; set PREFLIGHT_CONTEXT_WINDOW",)
