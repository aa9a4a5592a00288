"""Stage `clarify`: ask the person which of many things of one name is meant, and keep to what is chosen.

The graph stops here until it is resumed with a reply (`Command(resume=...)`), and then runs this stage from its top.
"""

from __future__ import annotations

from langgraph.runtime import Runtime
from langgraph.types import interrupt

from preflight_rag.corg.choices import chosen, narrowed
from preflight_rag.state.context import Context
from preflight_rag.state.reading import ContextNote
from preflight_rag.state.schema import State
from preflight_rag.state.values import Choice
from preflight_rag.state.views import Unclear

NOT_UNDERSTOOD = 'Reply with a label, a number, several of these, or "all".'


async def clarify(state: Unclear, runtime: Runtime[Context]) -> State:
    """Wait for a reply that names choices; ask again after a reply that names none."""
    request = {"question": state["question"], "choices": state["choices"]}
    choices = [Choice.model_validate(choice) for choice in state["choices"]]
    labels = chosen(interrupt(request), choices)
    while labels is None:
        labels = chosen(interrupt({**request, "problem": NOT_UNDERSTOOD}), choices)
    contexts = [ContextNote.load(note) for note in state["contexts"]]
    return {
        "organisation": narrowed(state["organisation"], contexts, labels),
        "left_out": [choice.label for choice in choices if choice.label not in labels],
        "choices": [],
    }
