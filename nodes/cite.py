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
from preflight_rag.state.schema import EarlierState, EntryState, State
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
    message, question, earlier = state.get("question", ""), state["standalone_question"], state.get("earlier")
    is_follow_up = state.get("question", question) != question and context.reader.by_rule
    if is_follow_up and earlier and not state.get("entries"):
        draft = new_first(draft, message, question, earlier)
    text, notes = attributed(draft.text, passages)
    answer, numbers = renumbered(text)
    is_uncited = _cites_nothing(draft, numbers, context)
    if is_uncited:
        draft = replace(draft, claims=False, unclaimed=why_unclaimed("uncited"))
    citations = [find_citation(n, rank, text, draft.quotes, passages) for rank, n in numbers.items()]
    gaps = [{"stage": "cite", "item": "reply", "error": note} for note in notes]
    for rank in [rank for rank in numbers if rank not in passages]:
        error = f"the reply cites [{rank}], but {len(refs)} passages were given"
        gaps.append({"stage": "cite", "item": str(rank), "error": error})
    groups = _numbered_groups(state.get("entries") or [], numbers)
    if citations and not draft.claims and _no_quote_bears_on_message(message, question, citations, context):
        # The previous question was searched together with the message, and its answer is none to the message.
        answer, citations, groups, numbers = NOT_ANSWERED, [], [], {}
        draft = Draft(answer, claims=False, found=False)
    is_unclear = names_nobody(question) and context.reader.by_rule
    if is_unclear and not _quotes_all_subject_words(question, citations):
        answer, citations, groups, numbers = UNRESOLVED, [], [], {}
        draft = Draft(answer, claims=False, found=False)
    elif is_follow_up and earlier:
        replacement = _replace_unfit_answer(
            message, question, earlier, answer, citations, passages, claims=draft.claims, grouped=bool(groups)
        )
        if replacement is not None:
            answer, citations = replacement
            draft, groups, numbers = Draft(answer, claims=False, found=bool(citations)), [], {}
    abstains = not draft.found and answer in (UNRESOLVED, NOT_ANSWERED)
    citations = await asyncio.to_thread(with_copies, context.library, citations)
    by_number = {n: passages[rank] for rank, n in numbers.items() if rank in passages}
    statements, statement_gaps = await _check_statements(context, question, answer, groups, by_number)
    if is_uncited:
        statements = [statement.model_dump() for statement in uncited_statements(answer)]
        answer += f"\n\nNote: {NOTHING_SAYS_IT}"
    answer += fallback_note(state.get("escalations") or []) or unread_note(state["extracts"])
    answer += left_out_note(state.get("left_out") or []) + incomplete_note(draft)
    return {
        "draft": draft.dump(),
        "answer": answer,
        "abstained": abstains,
        "choice": draft.choice,
        "citations": [citation.model_dump() for citation in citations],
        "statements": statements,
        "groups": [group.model_dump() for group in groups],
        "gaps": gaps + statement_gaps,
        "options": [],
        "messages": [AIMessage(answer)],
    }


def _numbered_groups(entries: Sequence[EntryState], numbers: Mapping[int, int]) -> list[Group]:
    """Return the entries of a COrg answer as groups with numbered citations, in the order of the text.

    The text's first line may say what that order is: "newest first". Groups without citations come last.
    """
    groups = []
    for entry in entries:
        cited = tuple(numbers[rank] for rank in entry["ranks"] if rank in numbers)
        group = Group(entity=entry["entity"], descriptor=entry["descriptor"], answer=entry["answer"], citations=cited)
        groups.append(group)
    return sorted(groups, key=lambda group: min(group.citations, default=len(numbers) + 1))


def _replace_unfit_answer(
    message: str,
    question: str,
    earlier: EarlierState,
    answer: str,
    citations: Sequence[Citation],
    passages: Mapping[int, Passage],
    *,
    claims: bool,
    grouped: bool,
) -> tuple[str, list[Citation]] | None:
    """Return the text and the citations that replace an answer to a follow-up that does not fit; None if it fits.

    It does not fit if it is about another subject than the message's new one, the message may mean several things, or
    it repeats the last answer (`earlier`). `claims` is false for an answer that is only evidence.
    """
    subject = () if grouped or not citations else new_subject_spelled(message, earlier["question"])
    if subject:
        about_subject = of_new_subject(subject, question, citations, earlier, passages, claims=claims)
        if about_subject is not None:
            return _evidence_text(about_subject)
    if claims and may_mean_several(message, question, earlier["question"]) and not means_the_one(earlier, citations):
        return _evidence_text(citations, message)
    if repeats(message, question, citations, answer, earlier):
        quotes = [citation.quote for citation in citations]
        is_not_understood = is_unresolved(message, question) and not bears_on(message, quotes, earlier)
        if is_not_understood or adds_nothing(message, question, earlier):
            return UNRESOLVED, []
        return _evidence_text(citations, message)
    return None


def _evidence_text(citations: Sequence[Citation], message: str = "") -> tuple[str, list[Citation]]:
    """Return a text that shows quotes as evidence, and the citations, numbered as in the text.

    Without citations, the text says that the documents do not answer.
    """
    if not citations:
        return NOT_ANSWERED, []
    answer, numbers = renumbered(shown_again(citations, message))
    by_number = {citation.n: citation for citation in citations}
    return answer, [by_number[old].model_copy(update={"n": new}) for old, new in numbers.items()]


def _no_quote_bears_on_message(message: str, question: str, citations: Sequence[Citation], context: Context) -> bool:
    """Return whether a message without a subject was searched with the previous question, and no quote bears on them.

    A quote does if it has a word of the message, or half of those of the previous question: "The walk begins at
    six with the band" for "Who is playing?". A number or a day needs none: "And how much had we asked for?".
    """
    if not context.reader.by_rule or message == question or not has_no_subject(message):
        return False
    message_words = own_words(message)
    previous_words = frozenset(words(question)) - STOP_WORDS - message_words
    if not message_words or asked_kind(message) in ("number", "date"):
        return False
    for citation in citations:
        quote_words = frozenset(words(citation.quote))
        has_half = previous_words and 2 * len(previous_words & quote_words) >= len(previous_words)
        if message_words & quote_words or has_half:
            return False
    return True


def _quotes_all_subject_words(question: str, citations: Sequence[Citation]) -> bool:
    """Return whether the first quote has every word by which a question names something, and these are several.

    "When did she present with weakness of the right hand?" is about the patient of whom that is written.
    """
    names = subject_words(question)
    return len(names) >= LEAST_NAMED and bool(citations) and names <= frozenset(words(citations[0].quote))


def _cites_nothing(draft: Draft, numbers: Mapping[int, int], context: Context) -> bool:
    """Return whether a language model's answer is a claim but cites no passage (`numbers` is empty).

    An answer that chooses an option needs no citation.
    """
    is_answer = draft.claims and draft.found and not draft.choice
    return is_answer and not numbers and not context.reader.by_rule


async def _check_statements(
    context: Context, question: str, answer: str, groups: Sequence[Group], passages: Mapping[int, Passage]
) -> tuple[list[dict[str, Any]], list[dict[str, str]]]:
    """Check each statement of a language model's answer against its passages; return the statements and the gaps.

    Both are empty if the check is switched off or there is no extractive reader, and for an answer by rule.
    """
    if context.extractive is None or not context.settings.check_citations or context.reader.by_rule:
        return [], []
    claims = claims_of_answer(answer, groups)
    try:
        statements = await asyncio.to_thread(check, context.extractive, question, claims, passages)
    except ExtractiveReaderError as error:
        return [], [{"stage": "cite", "item": "statements", "error": f"they could not be checked: {error}"}]
    return [statement.model_dump() for statement in statements], []
