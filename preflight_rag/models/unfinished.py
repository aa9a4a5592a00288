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
    """Return the usable part of a reply that was cut off.

    If the cut is among its quotes, the answer above the quotes is complete. With options, the part has to name one.

    Raises:
        ModelError: The original error, if there is no beginning, or none that may be shown.
    """
    whole = before_cut_quotes(error.partial)
    draft = parse_draft(whole or error.partial, options)
    if not error.reason or not draft.text.strip() or not draft.found or (options and not draft.choice):
        raise error
    name = "budget" if isinstance(error, BudgetUsedUp) else error.reason
    begun = draft if whole else replace(draft, incomplete=name)
    note = f"{error.message}; {'its quotes are not whole' if whole else 'what there is of it is shown'}"
    return Reply(begun, Usage.of_failed(error.spent), (note,))


FELL_SHORT = ("length", "deadline", "unfinished", "repetition", "empty")
"""Ways in which a reply can be unusable although its model was reached and allowed to answer."""


def may_be_spared(error: ModelError) -> bool:
    """Return whether a turn may go on without a reply that failed or cannot be used.

    Errors of the model itself (server, key, name) end the turn, since the user has to know of them. So does a refusal,
    which is an answer.
    """
    late = isinstance(error, ModelTimeout | BudgetUsedUp)
    return late or (isinstance(error, BadReply) and error.reason in FELL_SHORT)


def incomplete_note(draft: Draft) -> str:
    """Return the line below an incomplete answer, with the reason; "" for a complete one."""
    if not draft.incomplete:
        return ""
    return f"\n\nNote: this answer is not complete: {SENTENCES[draft.incomplete]}."
