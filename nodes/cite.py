"""Stage `cite`: check every citation of the draft against the passages, and number citations in order of first use.

A citation is verified when the quote that the reader gave for it, or else the sentence that it stands behind, is found
in the passage; the citation then carries the passage's own words with their offsets. What cannot be verified stays in
the answer and is marked so.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from langchain_core.messages import AIMessage
from langgraph.runtime import Runtime

from ..models.quotes import locate, strongest, support
from ..models.sentences import sentence_spans
from ..state.context import Context
from ..state.reading import Draft
from ..state.schema import Drafted, DraftState, EntryState, ExtractState, PassageRef, State
from ..state.values import Citation, Group, Passage

MARK = re.compile(r"\[(\d+)\]")
MARKS = re.compile(r"(?:\s*\[\d+\])+")


async def cite(state: Drafted, runtime: Runtime[Context]) -> State:
    """Turn the draft into the answer that the person reads."""
    draft, refs = state["draft"], state["passages"]
    passages = {ref["rank"]: passage for ref, passage in zip(refs, await read(refs, runtime.context), strict=True)}
    text, gaps = attributed(draft["text"], passages)
    order = list(dict.fromkeys(int(n) for n in MARK.findall(text)))
    numbers = {rank: i for i, rank in enumerate(order, 1)}
    citations = [citation(numbers[rank], rank, text, draft, passages) for rank in order]
    gaps += [
        {"stage": "cite", "item": str(rank), "error": f"the reply cites [{rank}], but {len(refs)} passages were given"}
        for rank in order
        if rank not in passages
    ]
    answer = MARK.sub(lambda mark: f"[{numbers[int(mark[1])]}]", text) + unread(state["extracts"])
    return {
        "answer": answer,
        "abstained": False,
        "choice": draft["choice"],
        "citations": [found.model_dump() for found in citations],
        "groups": [group(entry, numbers).model_dump() for entry in state.get("entries") or []],
        "gaps": gaps,
        "options": [],
        "messages": [AIMessage(answer)],
    }


async def read(refs: Sequence[PassageRef], context: Context) -> list[Passage]:
    """The referenced passages, in order."""
    import asyncio

    return await asyncio.to_thread(context.library.passages, [ref["id"] for ref in refs])


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
    return list(dict.fromkeys(int(rank) for rank in MARK.findall(text))) or list(dict.fromkeys(n for n, _ in quotes))


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
        return Citation(
            n=n, passage_id="", document_id="", title="", source="", quote=unverified, start=0, end=0, verified=False
        )
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


def statements(text: str, rank: int) -> list[str]:
    """The sentences that cite a passage, without marks: for each run of marks, the last sentence before it."""
    found, at = [], 0
    for marks in MARKS.finditer(text):
        before = text[at : marks.start()]
        spans = sentence_spans(before)
        if spans and any(character.isalnum() for character in before):
            last = before[slice(*spans[-1])].strip(" .;,\n")
            if f"[{rank}]" in marks[0]:
                found.append(last)
        at = marks.end()
    return found


def unread(extracts: Sequence[ExtractState]) -> str:
    """A sentence about the partitions that could not be read; empty when all were."""
    failed = sum(extract["failed"] for extract in extracts)
    if not failed:
        return ""
    parts = f"{failed} of {len(extracts)} parts of the passages"
    return f"\n\nNote: {parts} could not be read; the answer may lack what they say."
