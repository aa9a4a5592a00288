"""Incomplete replies as drafts: the beginning is shown and marked, instead of being discarded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from preflight_rag.prompts.replies import before_cut_quotes, parse_draft
from preflight_rag.state.errors import BadReply, BudgetUsedUp, ModelError, ModelTimeout
from preflight_rag.state.reading import Draft, Reply
from preflight_rag.state.values import Usage

SENTENCES = {
    "length": "the language model stopped at its limit of tokens",
    "deadline": "the language model did not come to an end in time",
    "unfinished": "the language model's reply broke off",
    "repetition": "the language model repeated itself and was stopped",
    "budget": "what one turn may spend on its language model is used up",
}
"""Why an answer ended early, in words for users."""


def unfinished(error: ModelError, options: Sequence[str] = ()) -> Reply[Draft]:
    """Return the usable part of a reply that was cut off, as a draft that is marked as incomplete.

    If the cut is among the reply's quotes, the answer above the quotes is complete, and not marked. With options, the
    part has to name one of them.

    Raises:
        ModelError: The original error, if nothing was written before the cut, or nothing that may be shown.
    """
    answer_above_quotes = before_cut_quotes(error.partial)
    draft = parse_draft(answer_above_quotes or error.partial, options)
    if not error.reason or not draft.text.strip() or not draft.found or (options and not draft.choice):
        raise error
    note = f"{error.message}; its quotes are not whole"
    if not answer_above_quotes:
        draft = replace(draft, incomplete="budget" if isinstance(error, BudgetUsedUp) else error.reason)
        note = f"{error.message}; what there is of it is shown"
    return Reply(draft, Usage.of_failed(error.spent), (note,))


FELL_SHORT = ("length", "deadline", "unfinished", "repetition", "empty")
"""Reasons of a `BadReply` for which its model was reached and did not refuse, but the reply cannot be used."""


def may_be_spared(error: ModelError) -> bool:
    """Return whether a turn may go on without the reply of a call that failed with this error.

    It may if the call took too long, the budget was used up, or the reply cannot be used. Errors of the model itself
    (server, key, name) end the turn, since the user has to know of them. So does a refusal, which is an answer.
    """
    if isinstance(error, ModelTimeout | BudgetUsedUp):
        return True
    return isinstance(error, BadReply) and error.reason in FELL_SHORT


def incomplete_note(draft: Draft) -> str:
    """Return the note to append to an incomplete answer, with the reason; "" for a complete answer."""
    if not draft.incomplete:
        return ""
    return f"\n\nNote: this answer is not complete: {SENTENCES[draft.incomplete]}."
