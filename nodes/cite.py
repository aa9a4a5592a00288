"""Stage `cite`: check every citation of the draft against the passages, and number citations in order of first use.

A citation is verified when the quote that the reader gave for it, or else the sentence that it stands behind, is found
in the passage; the citation then carries the passage's own words with their offsets. What cannot be verified stays in
the answer and is marked so. Of a language model's answer each statement is also read against the passages that it
cites (`models.statements`); the answer itself stays as it is, whatever comes of that.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.messages import AIMessage
from langgraph.runtime import Runtime

from preflight_rag.corg.choices import left_out
from preflight_rag.models.reading.statements import Claim, check, claims
from preflight_rag.state.context import Context
from preflight_rag.state.errors import ExtractiveReaderError
from preflight_rag.state.reading import Draft
from preflight_rag.state.schema import DraftState, EntryState, ExtractState, PassageRef, State
from preflight_rag.state.values import Citation, Group, Passage
from preflight_rag.state.views import Drafted
from preflight_rag.text.citations import MARK, cited_numbers, renumbered
from preflight_rag.text.quotes import locate, strongest, support
from preflight_rag.text.sentences import sentence_spans


async def cite(state: Drafted, runtime: Runtime[Context]) -> State:
    """Turn the draft into the answer that the person reads."""
    draft, refs = state["draft"], state["passages"]
    passages = {ref["rank"]: passage for ref, passage in zip(refs, await read(refs, runtime.context), strict=True)}
    text, gaps = attributed(draft["text"], passages)
    order = cited_numbers(text)
    numbers = {rank: i for i, rank in enumerate(order, 1)}
    citations = [citation(numbers[rank], rank, text, draft, passages) for rank in order]
    gaps += [
        {"stage": "cite", "item": str(rank), "error": f"the reply cites [{rank}], but {len(refs)} passages were given"}
        for rank in order
        if rank not in passages
    ]
    answer = renumbered(text, numbers)
    groups = [group(entry, numbers) for entry in state.get("entries") or []]
    by_number = {numbers[rank]: passages[rank] for rank in order if rank in passages}
    checked, problems = await _checked(runtime.context, state["standalone_question"], answer, groups, by_number)
    answer += unread(state["extracts"]) + left_out(state.get("left_out") or [])
    return {
        "answer": answer,
        "abstained": False,
        "choice": draft["choice"],
        "citations": [found.model_dump() for found in citations],
        "statements": checked,
        "groups": [found.model_dump() for found in groups],
        "gaps": gaps + problems,
        "options": [],
        "messages": [AIMessage(answer)],
    }


async def read(refs: Sequence[PassageRef], context: Context) -> list[Passage]:
    """The referenced passages, in order."""
    return await asyncio.to_thread(context.library.passages, [ref["id"] for ref in refs])


async def _checked(
    context: Context, question: str, answer: str, groups: Sequence[Group], passages: Mapping[int, Passage]
) -> tuple[list[dict[str, Any]], list[dict[str, str]]]:
    """The statements of a language model's answer held to their passages, and what stood in the way of that."""
    if context.extractive is None or not context.settings.check_citations or context.reader.by_rule:
        return [], []
    said = [Claim(named(found), found.citations) for found in groups if found.citations] or claims(answer)
    try:
        found = await asyncio.to_thread(check, context.extractive, question, said, passages)
    except ExtractiveReaderError as error:
        return [], [{"stage": "cite", "item": "statements", "error": f"they could not be checked: {error}"}]
    return [statement.model_dump() for statement in found], []


def named(found: Group) -> str:
    """The answer of a group with what it is the answer for."""
    about = f"{found.entity} ({found.descriptor})" if found.descriptor else found.entity
    return f"{about}: {found.answer}" if about else found.answer


def group(entry: EntryState, numbers: Mapping[int, int]) -> Group:
    """One answer among several, with the numbers of its citations."""
    return Group(
        entity=entry["entity"],
        descriptor=entry["descriptor"],
        answer=entry["answer"],
        citations=tuple(numbers[rank] for rank in entry["ranks"] if rank in numbers),
    )


def cited(text: str, quotes: Sequence[tuple[int, str]]) -> list[int]:
    """The ranks that a text cites, else those that it has quotes of, each once."""
    return cited_numbers(text) or list(dict.fromkeys(n for n, _ in quotes))


def verifiable(draft: Draft, texts: Mapping[int, str]) -> bool:
    """Whether at least one citation of an answer stands in its passage; without marks, whether a passage says it."""
    ranks = cited(draft.text, ())
    if not ranks:
        bodies = list(texts.values())
        return any(strongest(draft.text[slice(*span)], bodies) is not None for span in sentence_spans(draft.text))
    return any(
        any(locate(quote, texts[rank]) for n, quote in draft.quotes if n == rank)
        or any(support(statement, texts[rank]) for statement in statements(draft.text, rank))
        for rank in ranks
        if rank in texts
    )


def attributed(text: str, passages: Mapping[int, Passage]) -> tuple[str, list[dict[str, str]]]:
    """The draft's text; where it cites nothing, each sentence is given the passage that says it, and a gap says so."""
    if MARK.search(text) or not passages:
        return text, []
    ranks = list(passages)
    bodies = [passages[rank].text for rank in ranks]
    out, at, matched = "", 0, False
    for start, end in sentence_spans(text):
        sentence = text[start:end].rstrip()
        best = strongest(sentence, bodies)
        mark = "" if best is None else f" [{ranks[best]}]"
        matched = matched or bool(mark)
        closing = re.search(r"[.!?]*$", sentence)
        cut = start + (closing.start() if closing else len(sentence))
        out += text[at:cut] + mark + text[cut:end]
        at = end
    note = "the reply cites nothing; " + (
        "its citations were matched by their words" if matched else "no passage matches it"
    )
    return out + text[at:], [{"stage": "cite", "item": "reply", "error": note}]


def citation(n: int, rank: int, text: str, draft: DraftState, passages: Mapping[int, Passage]) -> Citation:
    """The citation of one passage: the first of its quotes, else of the statements that cite it, that can be found."""
    quotes = [quote for number, quote in draft["quotes"] if number == rank]
    said = statements(text, rank)
    unverified = (quotes or said or [""])[0]
    passage = passages.get(rank)
    if passage is None:
        return unknown(n, unverified)
    spans = [locate(quote, passage.text) for quote in quotes] + [support(statement, passage.text) for statement in said]
    span = next((found for found in spans if found), None)
    start, end = span or (0, 0)
    return Citation(
        n=n,
        passage_id=passage.id,
        document_id=passage.document_id,
        title=passage.title,
        source=passage.source,
        quote=passage.text[start:end] if span else unverified,
        start=start,
        end=end,
        verified=span is not None,
        page=passage.page_at(start),
        date=passage.date,
    )


def unknown(n: int, quote: str = "") -> Citation:
    """A citation of nothing that was given to the reader."""
    return Citation(
        n=n, passage_id="", document_id="", title="", source="", quote=quote, start=0, end=0, verified=False
    )


def statements(text: str, rank: int) -> list[str]:
    """The statements that cite a passage, without marks."""
    return [claim.text for claim in claims(text) if rank in claim.citations]


def unread(extracts: Sequence[ExtractState]) -> str:
    """A sentence about the partitions that could not be read; empty when all were."""
    failed = sum(extract["failed"] for extract in extracts)
    if not failed:
        return ""
    parts = f"{failed} of {len(extracts)} parts of the passages"
    return f"\n\nNote: {parts} could not be read; the answer may lack what they say."
