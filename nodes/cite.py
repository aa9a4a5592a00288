"""Stage `cite`: check every citation of the draft against the passages, and number citations in order of first use.

Without a language model, an answer to a follow-up that is the last one again is evidence where the follow-up has words
of its own, which the same sentence may answer, and else no answer; of a "she" whom nothing names, nothing is shown.
Of a language model's answer each statement is also read against the passages that it cites
(`models.reading.statements`); the answer itself stays as it is, whatever comes of that.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from langchain_core.messages import AIMessage
from langgraph.runtime import Runtime

from preflight_rag.conversation.follow_ups import is_unresolved, may_mean_several, names_nobody, new_subject_spelled
from preflight_rag.conversation.repeated_answers import (
    adds_nothing,
    bears_on,
    means_the_one,
    new_first,
    of_new_subject,
    repeats,
    shown_again,
)
from preflight_rag.conversation.subjectless import has_no_subject, own_words
from preflight_rag.corg.choices import left_out_note
from preflight_rag.library.copies import with_copies
from preflight_rag.models.reading.statements import check, uncited_statements
from preflight_rag.models.unfinished import incomplete_note
from preflight_rag.routing.decision import fallback_note, unread_note
from preflight_rag.routing.off_topic import LEAST_NAMED
from preflight_rag.state.context import Context
from preflight_rag.state.errors import ExtractiveReaderError
from preflight_rag.state.reading import Draft
from preflight_rag.state.schema import EarlierState, State
from preflight_rag.state.values import Citation, Group, Passage
from preflight_rag.state.views import Drafted
from preflight_rag.text.citations import attributed, claims_of_answer, find_citation, renumbered
from preflight_rag.text.headers import NOT_ANSWERED, NOTHING_SAYS_IT, UNRESOLVED, why_unclaimed
from preflight_rag.text.other_things import subject_words
from preflight_rag.text.values import asked_kind
from preflight_rag.text.words import STOP_WORDS, words


async def cite(state: Drafted, runtime: Runtime[Context]) -> State:
    """Turn the draft into the final answer, with verified citations."""
    context, draft, refs = runtime.context, Draft.load(state["draft"]), state["passage_refs"]
    passages = {ref["rank"]: passage for ref, passage in zip(refs, await context.passages(refs), strict=True)}
    message, asked, known = state.get("question", ""), state["standalone_question"], state.get("earlier")
    follows = state.get("question", asked) != asked and context.reader.by_rule
    if follows and known and not state.get("entries"):
        draft = new_first(draft, message, asked, known)
    text, notes = attributed(draft.text, passages)
    answer, numbers = renumbered(text)
    unsupported = _cites_nothing(draft, numbers, context)
    if unsupported:
        draft = replace(draft, claims=False, unclaimed=why_unclaimed("uncited"))
    citations = [find_citation(n, rank, text, draft.quotes, passages) for rank, n in numbers.items()]
    gaps = [{"stage": "cite", "item": "reply", "error": note} for note in notes]
    for rank in [rank for rank in numbers if rank not in passages]:
        error = f"the reply cites [{rank}], but {len(refs)} passages were given"
        gaps.append({"stage": "cite", "item": str(rank), "error": error})
    groups = []
    for entry in state.get("entries") or []:
        groups.append(
            Group(
                entity=entry["entity"],
                descriptor=entry["descriptor"],
                answer=entry["answer"],
                citations=tuple(numbers[rank] for rank in entry["ranks"] if rank in numbers),
            )
        )
    # In the order of the text, whose first line may say what that is: "newest first".
    groups.sort(key=lambda group: min(group.citations, default=len(numbers) + 1))
    if (
        citations
        and not draft.claims
        and _bears_not(state.get("question", ""), state["standalone_question"], citations, context)
    ):
        # The question before was asked with it, and answers alone: that is no answer to this one.
        answer, citations, groups, numbers = NOT_ANSWERED, [], [], {}
        draft = Draft(answer, claims=False, found=False)
    unresolved = names_nobody(state["standalone_question"]) and context.reader.by_rule
    unresolved = unresolved and not _says_all_else(state["standalone_question"], citations)
    if unresolved:
        answer, citations, groups, numbers = UNRESOLVED, [], [], {}
        draft = Draft(answer, claims=False, found=False)
    if not unresolved and follows and known:
        instead = _shown_instead(
            message, asked, known, answer, citations, passages, claims=draft.claims, grouped=bool(groups)
        )
        if instead is not None:
            answer, citations = instead
            draft, groups, numbers = Draft(answer, claims=False, found=bool(citations)), [], {}
    denies = not draft.found and answer in (UNRESOLVED, NOT_ANSWERED)
    citations = await asyncio.to_thread(with_copies, context.library, citations)
    by_number = {n: passages[rank] for rank, n in numbers.items() if rank in passages}
    statements, problems = await _checked(context, state["standalone_question"], answer, groups, by_number)
    if unsupported:
        statements = [statement.model_dump() for statement in uncited_statements(answer)]
        answer += f"\n\nNote: {NOTHING_SAYS_IT}"
    fallen = fallback_note(state.get("escalations") or [])
    answer += (
        (fallen or unread_note(state["extracts"])) + left_out_note(state.get("left_out") or []) + incomplete_note(draft)
    )
    return {
        "draft": draft.dump(),
        "answer": answer,
        "abstained": denies,
        "choice": draft.choice,
        "citations": [found.model_dump() for found in citations],
        "statements": statements,
        "groups": [found.model_dump() for found in groups],
        "gaps": gaps + problems,
        "options": [],
        "messages": [AIMessage(answer)],
    }


def _shown_instead(
    message: str,
    asked: str,
    known: EarlierState,
    answer: str,
    citations: Sequence[Citation],
    passages: Mapping[int, Passage],
    *,
    claims: bool,
    grouped: bool,
) -> tuple[str, list[Citation]] | None:
    """Return what is shown of an answer to a follow-up that does not fit it, and its citations; None where it fits."""
    subject = () if grouped or not citations else new_subject_spelled(message, known["question"])
    if subject and (shown := of_new_subject(subject, asked, citations, known, passages, claims=claims)) is not None:
        return _as_evidence(shown)
    if claims and may_mean_several(message, asked, known["question"]) and not means_the_one(known, citations):
        return _as_evidence(citations, message)
    if repeats(message, asked, citations, answer, known):
        quotes = [each.quote for each in citations]
        is_lost = is_unresolved(message, asked) and not bears_on(message, quotes, known)
        is_lost = is_lost or adds_nothing(message, asked, known)
        return (UNRESOLVED, []) if is_lost else _as_evidence(citations, message)
    return None


def _as_evidence(citations: Sequence[Citation], message: str = "") -> tuple[str, list[Citation]]:
    """Return the text that shows quotes as evidence, with their citations numbered as in it; a denial for none."""
    if not citations:
        return NOT_ANSWERED, []
    answer, numbers = renumbered(shown_again(citations, message))
    by_number = {each.n: each for each in citations}
    return answer, [by_number[old].model_copy(update={"n": n}) for old, n in numbers.items()]


def _bears_not(message: str, asked: str, citations: Sequence[Citation], context: Context) -> bool:
    """Return whether a message without a subject was asked with the question before, and no quote is about either.

    A quote has a word of the message, or half of those of the question before: "The walk begins at six with the band"
    for "Who is playing?". A number or a day needs none: "And how much had we asked for?".
    """
    if not context.reader.by_rule or message == asked or not has_no_subject(message):
        return False
    own = own_words(message)
    before = frozenset(words(asked)) - STOP_WORDS - own
    if not own or asked_kind(message) in ("number", "date"):
        return False
    quoted = [frozenset(words(cited.quote)) for cited in citations]
    return not any(own & quote or (before and 2 * len(before & quote) >= len(before)) for quote in quoted)


def _says_all_else(question: str, citations: Sequence[Citation]) -> bool:
    """Return whether the first quote has every word by which a question names something, and these are several.

    "When did she present with weakness of the right hand?" is about the patient of whom that is written.
    """
    asked = subject_words(question)
    return len(asked) >= LEAST_NAMED and bool(citations) and asked <= frozenset(words(citations[0].quote))


def _cites_nothing(draft: Draft, numbers: Mapping[int, int], context: Context) -> bool:
    """Return whether a language model's answer cites no passage, and no passage says the same.

    A choice among options counts as cited.
    """
    is_answer = draft.claims and draft.found and not draft.choice
    return is_answer and not numbers and not context.reader.by_rule


async def _checked(
    context: Context, question: str, answer: str, groups: Sequence[Group], passages: Mapping[int, Passage]
) -> tuple[list[dict[str, Any]], list[dict[str, str]]]:
    """Check each statement of a language model's answer against its passages; return the statements and the gaps."""
    if context.extractive is None or not context.settings.check_citations or context.reader.by_rule:
        return [], []
    claims = claims_of_answer(answer, groups)
    try:
        found = await asyncio.to_thread(check, context.extractive, question, claims, passages)
    except ExtractiveReaderError as error:
        return [], [{"stage": "cite", "item": "statements", "error": f"they could not be checked: {error}"}]
    return [statement.model_dump() for statement in found], []
