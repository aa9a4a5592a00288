"""Questions of one's own, made of the answers that people judged on the page (`preflight threads feedback`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from preflight_rag.state.values import Answer
from preflight_rag.text.citations import MARKS

if TYPE_CHECKING:
    from preflight_rag.library.storage.catalogue import Catalogue
    from preflight_rag.threads.ledger import Feedback, Turn


def question_of(turn: Turn, feedback: Feedback, catalogue: Catalogue) -> dict[str, Any]:
    """Return a judged turn as a question for `preflight eval`, in the form of `evaluation/datasets/own.py`.

    Where a person called an answer good, it is the right answer, and the passages that it cites are gold contexts; an
    abstention that was called good means that the library cannot answer. Where a person called an answer wrong, its
    short form is a wrong answer. What the person wrote as the right answer counts before all that. Fields that no
    judgement supports are left out.
    """
    answer = Answer.model_validate(turn.result)
    options = list(turn.settings.get("options") or [])
    found: dict[str, Any] = {"id": f"{turn.thread_id}/{turn.turn}", "question": answer.standalone_question}
    if options:
        found["options"] = options
    if feedback.expected:
        found["answers"] = [feedback.expected]
    elif feedback.good:
        found |= _right(answer, is_choice=bool(options))
    if not feedback.good and answer.short_answer:
        found["wrong"] = [answer.short_answer]
    contexts = [_context(citation.model_dump(), catalogue, good=feedback.good) for citation in answer.citations]
    if contexts:
        found["contexts"] = list({context["id"]: context for context in contexts}.values())
    if label := " ".join(feedback.reason.split()):
        found["label"] = label
    return found


def _right(answer: Answer, *, is_choice: bool) -> dict[str, Any]:
    """Return the fields that state the right answer, from an answer that a person rated as good."""
    if answer.abstained:
        return {"answerable": False}
    if is_choice:
        return {"right": answer.choice, "answerable": True} if answer.choice else {}
    if answer.short_answer:
        return {"answers": [answer.short_answer], "answerable": True}
    if answer.outcome != "answered":
        return {"answerable": True}
    text = " ".join(MARKS.sub("", answer.answer).split())
    return {"kind": "long", "answers": [text], "answerable": True}


def _context(citation: dict[str, Any], catalogue: Catalogue, *, good: bool) -> dict[str, Any]:
    """Return a cited passage as a context: the whole passage, or its quote if the passage was deleted."""
    passage = catalogue.passage(citation["passage_id"])
    values = {
        "id": citation["passage_id"],
        "title": citation["title"],
        "text": passage.text if passage else citation["quote"],
        "date": citation["date"] or "",
        "source": citation["source"],
        "role": "gold" if good and citation["verified"] else "",
    }
    return {name: value for name, value in values.items() if value}
