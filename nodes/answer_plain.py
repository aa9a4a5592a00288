"""Stage `answer_plain`: one answer from all the passages that it is given at once, and where the turn goes from there.

The look at the answer (`routing.second_look`) may send it on to map/reduce over the passages that it does not cite,
once a turn, and not on a forced route; what the extractive reader has to read for that, it reads while the model
writes. Where the preflight has seen that nothing bears on the question, this call is the only one: what it writes is
shown once a passage is known to support it, and else the turn abstains. Where the extractive reader has still to
compare what the passages answer (`unchecked`), it does while the model writes. What that writes is shown once the route
is certain; where the passages answer differently, the call is given up and the turn goes on to COrg. On the route COrg
the passages are the only group that was made of them: its answer goes on to be composed with what was noted of the
contexts, which also stands in for a reply that cannot be used. The beginning of a reply that did not come to its end is
an answer marked as incomplete; it calls for no dearer route.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

from langgraph.runtime import Runtime

from preflight_rag.conversation.cited_before import (
    gives_the_same,
    names_more,
    noun_asked_for,
    quotes_with_the_figure,
)
from preflight_rag.conversation.repeated_answers import bears_on, shows_nothing_new
from preflight_rag.corg.contexts import contexts_of
from preflight_rag.corg.group_answers import answered_or_nothing, asked_in_plural, group_draft, unusable
from preflight_rag.corg.quotes_by_document import labelled_by_document
from preflight_rag.library.collection import PhraseSearch
from preflight_rag.library.search.retrieval import passage_reference
from preflight_rag.models.protocol import instructed
from preflight_rag.models.reading.extractive_reader import pairs
from preflight_rag.models.unfinished import may_be_spared, unfinished
from preflight_rag.routing.decision import (
    current_route,
    decide,
    is_near,
    is_off_topic,
    lacks_code,
    may_escalate,
)
from preflight_rag.routing.library_risk import risk_model_of
from preflight_rag.routing.model_profile import profile_of_reader
from preflight_rag.routing.off_topic import is_half_quoted, names_much
from preflight_rag.routing.second_look import (
    escalation,
    found_elsewhere,
    least_sure,
    nothing_to_find,
    second_partitions,
)
from preflight_rag.state.answer_text import answer_text
from preflight_rag.state.context import Context
from preflight_rag.state.errors import BadReply, ExtractiveReaderError, ModelError
from preflight_rag.state.reading import Draft, Reply, Source
from preflight_rag.state.schema import GroupStatus, PassageRef, State
from preflight_rag.state.values import Passage, RouteDecision, Usage
from preflight_rag.state.views import Chosen
from preflight_rag.text.citations import is_verifiable, quoted, without_marks
from preflight_rag.text.headers import CLOSEST, why_unclaimed

MOST_DOCUMENTS = 8
"""Documents whose tables are read as a whole; a guess."""
MOST_OF_DOCUMENT = 2000
"""Passages of a document whose tables are, which takes a fifth of a second; a guess."""
MOST_NAMING = 5
"""Passages with the noun of a follow-up whose figures are compared with the last answer's quote; a guess."""


async def answer_plain(state: Chosen, runtime: Runtime[Context]) -> State:
    """Have the reader answer from all passages in fused order, and decide which stage follows."""
    if current_route(state["decision"], state["escalations"]) == "corg":
        return await answer_only_group(state, runtime.context)
    return await answer_all_passages(state, runtime.context)


async def answer_all_passages(state: Chosen, context: Context) -> State:
    """Answer on the plain route, and decide whether a more expensive route is needed."""
    sources, decision = await context.sources(state["passage_refs"]), state["decision"]
    by_rule = context.reader.by_rule and not state["options"]
    own = _of_the_document(state, sources)
    ordered, writing = await _rows_or_reading(state, own, context)
    if ordered:
        return ordered
    checked: State = {}
    if state.get("unchecked"):
        writing = call = asyncio.ensure_future(writing)
        decision = (await _checked_meanwhile(state, context, sources, call)).model_dump()
        checked = {"decision": decision, "unchecked": False}
        if decision["name"] == "corg":
            spent = _spent_in_vain(call, state["passage_refs"]).model_dump()
            return {**checked, "onward": "relate_contexts", "spent": [{"stage": "answer_plain", **spent}]}
    needs_support = _needs_support(state, decision)
    if needs_support and not checked:
        answer_text.get().keep_back()
    looks = not is_off_topic(decision) and may_escalate(decision, state["escalations"], "plain")
    reply = await _written(writing, _begin_reading(state, sources, context) if looks else None, state["options"])
    if needs_support:
        reply = _supported(reply, sources)
    if by_rule:
        reply = await _by_rule(state, reply, own, sources, context, decision)
    draft: Draft = reply.value
    update: State = {**checked, **_drafted(reply)}
    compared = by_rule and decision["name"] == "corg"
    if compared and (draft.claims or not draft.found):
        # The compared documents give several answers, none of them sure: they stand side by side.
        return {"gaps": update["gaps"], "spent": update["spent"], "onward": "cite"}
    update |= await asyncio.to_thread(_cited_before, state, context) if by_rule and not draft.found else {}
    is_shown = "passage_refs" in update
    update["onward"] = "cite" if draft.found or is_shown else "abstain"
    if looks and not draft.incomplete and not is_shown:
        update |= await asyncio.to_thread(_second_look, state, draft, sources, decision, context)
    if update["onward"] == "cite" and not is_shown and by_rule:
        question = state["standalone_question"]
        draft, update["entries"] = labelled_by_document(question, draft, sources, compared=compared)
        update["draft"] = draft.dump()
    return update


def _of_the_document(state: Chosen, sources: Sequence[Source]) -> list[Source]:
    """Return the passages of the document that a follow-up goes on about, which are read first; else all."""
    continued = state.get("continued") or []
    return [source for source in sources if source.document_id in continued] or list(sources)


def _is_nothing_new(state: Chosen, draft: Draft) -> bool:
    """Return whether nothing was found for a follow-up, or what the last answer showed, or no figure of the kind."""
    earlier, message, quotes = state.get("earlier"), state.get("question", ""), [quote for _, quote in draft.quotes]
    if not draft.found or draft.claims or not earlier or not quotes:
        return not draft.found
    return shows_nothing_new(quotes[0], message, earlier) or not bears_on(message, quotes, earlier)


async def _by_rule(
    state: Chosen,
    reply: Reply[Draft],
    own: Sequence[Source],
    sources: Sequence[Source],
    context: Context,
    decision: Mapping[str, Any],
) -> Reply[Draft]:
    """Return the reply to a document's own passages; the one to all where that has nothing new for a follow-up."""
    question = state["standalone_question"]
    reply = _without_distant_quotes(question, reply, own, decision)
    if len(own) == len(sources) or not _is_nothing_new(state, reply.value):
        return reply
    reader = instructed(context.reader, state.get("instructions") or "")
    reply = await reader.answer(question=question, sources=sources, options=state["options"])
    reply = _supported(reply, sources) if _needs_support(state, decision) else reply
    return _without_distant_quotes(question, reply, sources, decision)


def _ordered_rows(state: Chosen, sources: Sequence[Source], context: Context) -> State:
    """Return the update that shows a table's rows with the most or the least first; empty if nothing asks for them.

    The tables that were found are read as a whole; of the passages that the search did not find, those go on that are
    cited.
    """
    # Also a search, which drafts nothing, imports this stage.
    from preflight_rag.offline.lines import narrowed
    from preflight_rag.offline.whole_tables import extreme_of_whole_tables, has_tables_to_order

    question, refs = state["standalone_question"], list(state["passage_refs"])
    if not has_tables_to_order(question, sources):
        return {}
    kept = {source.n for source in narrowed(question, sources)}
    documents = dict.fromkeys(ref["document_id"] for ref in refs if ref["rank"] in kept)
    ranks = {ref["id"]: ref["rank"] for ref in refs}
    further: dict[int, Passage] = {}
    whole: list[Source] = []
    for document in list(documents)[:MOST_DOCUMENTS]:
        passages = context.library.document_passages(document)
        for passage in passages if len(passages) <= MOST_OF_DOCUMENT else ():
            rank = ranks.get(passage.id) or len(refs) + len(further) + 1
            if passage.id not in ranks:
                further[rank] = passage
            whole.append(Source.of(passage, rank))
    draft = extreme_of_whole_tables(question, sources, whole, CLOSEST)
    if draft is None:
        return {}
    cited = dict.fromkeys(n for n, _ in draft.quotes if n in further)
    context.has_read(further[n] for n in cited)
    return {
        **_drafted(Reply(draft)),
        "passage_refs": [*refs, *(passage_reference(further[n], n) for n in cited)],
        "onward": "cite",
    }


async def _rows_or_reading(
    state: Chosen, sources: Sequence[Source], context: Context
) -> tuple[State, Awaitable[Reply[Draft]]]:
    """Return the update that shows a table's rows in order, empty without such, and the reader's reply.

    A sentence that says itself what has the most goes before the rows, unless their order says otherwise: then the
    reply is the one to the passages without their tables.
    """
    question, options = state["standalone_question"], state["options"]
    reader = instructed(context.reader, state.get("instructions") or "")
    by_rule = context.reader.by_rule and not options
    ordered = await asyncio.to_thread(_ordered_rows, state, sources, context) if by_rule else {}
    if not ordered:
        return {}, reader.answer(question=question, sources=sources, options=options)
    # Also a search, which drafts nothing, imports this stage.
    from preflight_rag.offline.prose_extremes import is_written, sentences_with_extreme

    reply = Reply(Draft("", found=False))
    if prose := sentences_with_extreme(question, sources):
        reply = await reader.answer(question=question, sources=prose, options=options)
    is_stated = is_written(question, reply.value, Draft.load(ordered["draft"]), sources)
    return {} if is_stated else ordered, _at_once(reply)


def _at_once(reply: Reply[Draft]) -> asyncio.Future[Reply[Draft]]:
    """Return a reply that is there already, as one that is still being written."""
    written = asyncio.get_running_loop().create_future()
    written.set_result(reply)
    return written


def _cited_before(state: Chosen, context: Context) -> State:
    """Return the update that shows quotes of the last answer for a follow-up; empty if they do not bear on it."""
    earlier, message = state.get("earlier"), state.get("question", "")
    again = quotes_with_the_figure(message, state["standalone_question"], earlier) if earlier else []
    if not again or names_more(message):
        return {}
    library, noun = context.library, noun_asked_for(message)
    if noun and not isinstance(library, PhraseSearch):
        return {}
    found = library.passages_with([noun], MOST_NAMING) if noun and isinstance(library, PhraseSearch) else []
    naming = context.library.passages(found)
    again = [each for each in again if gives_the_same(message, each["quote"], [passage.text for passage in naming])]
    if not again:
        return {}
    refs = list(state["passage_refs"])
    quotes: list[str] = []
    shown: list[tuple[int, str]] = []
    for each in again:
        rank = next((ref["rank"] for ref in refs if ref["id"] == each["passage_id"]), 0)
        if not rank:
            rank = len(refs) + 1
            refs.append(_reference(each, rank))
        shown.append((rank, each["quote"]))
        quotes.append(quoted(rank, without_marks(" ".join(each["quote"].split()))))
    text = "\n\n".join([CLOSEST, *quotes])
    draft = Draft(text, tuple(shown), claims=False, unclaimed=why_unclaimed("nothing"))
    return {"draft": draft.dump(), "passage_refs": refs}


def _reference(citation: Mapping[str, Any], rank: int) -> PassageRef:
    """Return a passage that the last answer cited as one of this turn, of which no likeness is known."""
    return {
        "id": citation["passage_id"],
        "document_id": citation["document_id"],
        "title": citation["title"],
        "source": citation["source"],
        "rank": rank,
        "score": 0.0,
        "cosine": 0.0,
        "tokens": 0,
        "preview": citation["quote"],
    }


def _needs_support(state: Chosen, decision: Mapping[str, Any]) -> bool:
    """Return whether an answer needs a supporting passage, because the passages hardly match the question.

    A question with options gets one of them, supported or not.
    """
    return is_off_topic(decision) and not state["options"]


async def _written(
    writing: Awaitable[Reply[Draft]], reading: asyncio.Future[None] | None, options: Sequence[str]
) -> Reply[Draft]:
    """Return the model's draft, or its beginning, once the passages have been read in parallel."""
    try:
        reply = await writing
    except ModelError as error:
        reply = unfinished(error, options)
    except BaseException:
        if reading is not None:
            reading.cancel()
        raise
    if reading is not None:
        await reading
    return reply


def _compares(state: Chosen, context: Context) -> bool:
    """Return whether to compare the answer with the passages' own answers; a reader by rule made it from those."""
    reads = context.extractive is not None and not context.reader.by_rule and not state["options"]
    return reads and len(state["passage_refs"]) > context.settings.partition_size


def _begin_reading(state: Chosen, sources: Sequence[Source], context: Context) -> asyncio.Future[None] | None:
    """Start to read the passages while the model writes, if its answer will be compared with them.

    The readings are cached; an error is ignored here, since the comparison meets it again.
    """
    if not _compares(state, context):
        return None

    def read() -> None:
        """Read the passages with the extractive reader."""
        with suppress(ExtractiveReaderError):
            context.extractive.read(pairs(state["standalone_question"], sources))

    return asyncio.ensure_future(asyncio.to_thread(read))


def _second_look(
    state: Chosen, draft: Draft, sources: Sequence[Source], decision: Mapping[str, Any], context: Context
) -> State:
    """Return the update for an escalation, if the plain answer calls for one; an empty update if it stands."""
    question, elsewhere, settings = state["standalone_question"], None, context.settings
    verifiable = draft.found and is_verifiable(draft, {source.n: source.text for source in sources})
    if verifiable and _compares(state, context):
        sure = least_sure(profile_of_reader(context.reader), settings)
        elsewhere = found_elsewhere(question, draft, sources, context.extractive, sure)
    step = escalation(draft, sources, settings.partition_size, elsewhere)
    if step is None:
        return {}
    if not draft.found and nothing_to_find(question, sources, decision, context.extractive):
        return {}
    partitions = second_partitions(draft, sources, settings.partition_size, settings.max_partitions, elsewhere)
    return {"escalations": [step], "onward": "map_context", "partitions": partitions}


def _supported(reply: Reply[Draft], sources: Sequence[Source]) -> Reply[Draft]:
    """Return a reply over irrelevant passages; its draft counts as "not found" if no passage supports it."""
    draft, text = reply.value, answer_text.get()
    if draft.found and is_verifiable(draft, {source.n: source.text for source in sources}):
        text.show()
        return reply
    text.drop()
    note = "nothing that was found bears on the question, and no passage says what the reply does"
    return replace(reply, value=Draft("", found=False), notes=(*reply.notes, *([note] if draft.found else [])))


def _without_distant_quotes(
    question: str, reply: Reply[Draft], sources: Sequence[Source], decision: Mapping[str, Any]
) -> Reply[Draft]:
    """Return a reply; its draft counts as "not found" if its quotes have little of a question that nothing is near.

    So it is where a question names much, or a code that no passage has ("network" below "X.25 uses what type of
    network?"). Quotes that say half of what is asked stay: the model of "the X.25 compressor" may be named nowhere.
    """
    draft = reply.value
    if draft.claims or is_near(decision) or not (names_much(question) or lacks_code(question, sources)):
        return reply
    if decision.get("name") == "corg":  # one of the documents that were compared bears on the question
        return reply
    if is_half_quoted(question, draft.quotes, sources):
        return reply
    # That they may say it in other words is kept for what is said of the question.
    return replace(reply, value=Draft("", found=False, unclaimed=draft.unclaimed))


async def _checked_meanwhile(
    state: Chosen, context: Context, sources: Sequence[Source], call: asyncio.Future[Reply[Draft]]
) -> RouteDecision:
    """Return the route decision that the extractive reader makes while the model already writes its answer.

    If the route becomes COrg, the model's call is cancelled.
    """
    text, certain, shown = answer_text.get(), False, False
    text.keep_back()
    try:
        model = await asyncio.to_thread(risk_model_of, context.library)
        refs = state["passage_refs"]
        asked = state["standalone_question"], refs, sources, context.settings, model, context.extractive
        profile = await asyncio.to_thread(profile_of_reader, context.reader)
        decision = await asyncio.to_thread(partial(decide, *asked, profile=profile))
        certain = decision.name != "corg"
        shown = certain and not _needs_support(state, decision.model_dump())
    finally:
        if shown:
            text.show()
        elif not certain:  # also where the reader fails, or the turn is stopped
            text.drop()
            call.cancel()
            await asyncio.wait([call])
    return decision


def _spent_in_vain(call: asyncio.Future[Reply[Draft]], refs: Sequence[PassageRef]) -> Usage:
    """Return the cost of a cancelled or unused call; an estimate if it gave no reply.

    Raises:
        Exception: The call ended with an error that is not the model's.
    """
    if call.cancelled():
        return Usage(calls=1, input_tokens=sum(ref["tokens"] for ref in refs), estimated=True)
    error = call.exception()
    if error is None:
        return call.result().usage
    if isinstance(error, ModelError):
        return Usage.model_validate(error.spent or {"calls": 1})
    raise error


async def answer_only_group(state: Chosen, context: Context) -> State:
    """Answer from the only group, whose contexts do not contradict each other, also a multiple-choice question."""
    sources = contexts_of(await context.sources(state["passage_refs"]))
    question, options = state["standalone_question"], state["options"]
    reader = instructed(context.reader, state.get("instructions") or "")
    status: GroupStatus
    spared = False
    try:
        if asked_in_plural(sources, context.settings) and not options:
            reply = await reader.answer_group(question=question, sources=sources, plural=True)
        else:
            reply = await reader.answer(question=question, sources=sources, options=options)
        status = answered_or_nothing(reply.value)
    except ModelError as error:
        reply, status = _begun(error, options)
        spared = status == "failed"
    update = _drafted(reply)
    update["onward"], update["group_drafts"] = (
        "aggregate_groups",
        [group_draft(1, sources, reply.value, status, spared=spared)],
    )
    return update


def _begun(error: ModelError, options: Sequence[str]) -> tuple[Reply[Draft], GroupStatus]:
    """Return the written part of a reply that was cut off; if nothing was written, an answer from the notes.

    If there are no notes either, the group has failed, and the turn continues with fewer passages.
    """
    try:
        return unfinished(error, options), "answered"
    except BadReply:
        return unusable(error), "unreadable"
    except ModelError:
        if not may_be_spared(error):
            raise
        return unusable(error), "failed"


def _drafted(reply: Reply[Draft]) -> State:
    """Return the update with a draft and its cost."""
    return {
        "draft": reply.value.dump(),
        "gaps": [{"stage": "answer_plain", "item": "reply", "error": note} for note in reply.notes],
        "spent": [{"stage": "answer_plain", **reply.usage.model_dump()}],
    }
