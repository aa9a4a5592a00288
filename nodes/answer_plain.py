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
"""Maximum number of documents whose tables are read as a whole; a guess."""
MOST_OF_DOCUMENT = 2000
"""Maximum number of passages of such a document, which take a fifth of a second; a guess."""
MOST_NAMING = 5
"""Maximum number of passages with a follow-up's noun whose figures are compared with the last answer's quote; a guess.
"""


async def answer_plain(state: Chosen, runtime: Runtime[Context]) -> State:
    """Have the reader answer from all passages in fused order, and decide which stage follows."""
    if current_route(state["decision"], state["escalations"]) == "corg":
        return await answer_only_group(state, runtime.context)
    return await answer_all_passages(state, runtime.context)


async def answer_all_passages(state: Chosen, context: Context) -> State:
    """Answer on the plain route, and decide whether a more expensive route is needed.

    A reader by rule may show a table's rows in order, or quotes of the last answer, instead of an answer of its own.
    """
    sources, decision = await context.sources(state["passage_refs"]), state["decision"]
    by_rule = context.reader.by_rule and not state["options"]
    first_sources = _sources_of_continued_document(state, sources)
    rows_update, reply_to_come = await _show_rows_or_answer(state, first_sources, context)
    if rows_update:
        return rows_update
    decision_update: State = {}
    if state.get("unchecked"):
        reply_to_come = call = asyncio.ensure_future(reply_to_come)
        decision = (await _decide_while_writing(state, context, sources, call)).model_dump()
        decision_update = {"decision": decision, "unchecked": False}
        if decision["name"] == "corg":
            spent = _cost_of_unused_call(call, state["passage_refs"]).model_dump()
            return {**decision_update, "onward": "relate_contexts", "spent": [{"stage": "answer_plain", **spent}]}
    needs_support = _needs_support(state, decision)
    if needs_support and not decision_update:
        answer_text.get().keep_back()
    looks_again = not is_off_topic(decision) and may_escalate(decision, state["escalations"], "plain")
    reading = _begin_reading(state, sources, context) if looks_again else None
    reply = await _finish_reply(reply_to_come, reading, state["options"])
    if needs_support:
        reply = _require_support(reply, sources)
    if by_rule:
        reply = await _answer_from_all_if_nothing_new(state, reply, first_sources, sources, context, decision)
    draft: Draft = reply.value
    update: State = {**decision_update, **_draft_update(reply)}
    compared = by_rule and decision["name"] == "corg"
    if compared and (draft.claims or not draft.found):
        # The compared documents give several answers, none of them sure: they are shown side by side.
        return {"gaps": update["gaps"], "spent": update["spent"], "onward": "cite"}
    needs_last_quotes = by_rule and not draft.found
    update |= await asyncio.to_thread(_quotes_of_last_answer, state, context) if needs_last_quotes else {}
    shows_last_quotes = "passage_refs" in update
    update["onward"] = "cite" if draft.found or shows_last_quotes else "abstain"
    if looks_again and not draft.incomplete and not shows_last_quotes:
        update |= await asyncio.to_thread(_second_look, state, draft, sources, decision, context)
    if update["onward"] == "cite" and not shows_last_quotes and by_rule:
        question = state["standalone_question"]
        draft, update["entries"] = labelled_by_document(question, draft, sources, compared=compared)
        update["draft"] = draft.dump()
    return update


def _sources_of_continued_document(state: Chosen, sources: Sequence[Source]) -> list[Source]:
    """Return the passages of the document that a follow-up continues with, which are read first; else all passages."""
    continued = state.get("continued") or []
    return [source for source in sources if source.document_id in continued] or list(sources)


def _has_nothing_new(state: Chosen, draft: Draft) -> bool:
    """Return whether a draft answers a follow-up with nothing new.

    It has found nothing, or, as evidence, quotes what the last answer showed, or a figure of another kind.
    """
    earlier, message, quotes = state.get("earlier"), state.get("question", ""), [quote for _, quote in draft.quotes]
    if not draft.found or draft.claims or not earlier or not quotes:
        return not draft.found
    return shows_nothing_new(quotes[0], message, earlier) or not bears_on(message, quotes, earlier)


async def _answer_from_all_if_nothing_new(
    state: Chosen,
    reply: Reply[Draft],
    first_sources: Sequence[Source],
    sources: Sequence[Source],
    context: Context,
    decision: Mapping[str, Any],
) -> Reply[Draft]:
    """Return the reply by rule from the first sources; if it has nothing new for a follow-up, from all sources."""
    question = state["standalone_question"]
    reply = _without_distant_quotes(question, reply, first_sources, decision)
    if len(first_sources) == len(sources) or not _has_nothing_new(state, reply.value):
        return reply
    reader = instructed(context.reader, state.get("instructions") or "")
    reply = await reader.answer(question=question, sources=sources, options=state["options"])
    reply = _require_support(reply, sources) if _needs_support(state, decision) else reply
    return _without_distant_quotes(question, reply, sources, decision)


def _show_ordered_rows(state: Chosen, sources: Sequence[Source], context: Context) -> State:
    """Return the update that shows a table's rows with the most or the least first; empty if nothing asks for them.

    The documents of the tables that were found are read as a whole; their passages that the search did not find are
    added to the turn's if they are cited.
    """
    # Also a search, which drafts nothing, imports this stage.
    from preflight_rag.offline.lines import narrowed
    from preflight_rag.offline.whole_tables import extreme_of_whole_tables, has_tables_to_order

    question, refs = state["standalone_question"], list(state["passage_refs"])
    if not has_tables_to_order(question, sources):
        return {}
    relevant = {source.n for source in narrowed(question, sources)}
    documents = dict.fromkeys(ref["document_id"] for ref in refs if ref["rank"] in relevant)
    ranks = {ref["id"]: ref["rank"] for ref in refs}
    new_passages: dict[int, Passage] = {}
    whole_tables: list[Source] = []
    for document in list(documents)[:MOST_DOCUMENTS]:
        passages = context.library.document_passages(document)
        if len(passages) > MOST_OF_DOCUMENT:
            continue
        for passage in passages:
            rank = ranks.get(passage.id) or len(refs) + len(new_passages) + 1
            if passage.id not in ranks:
                new_passages[rank] = passage
            whole_tables.append(Source.of(passage, rank))
    draft = extreme_of_whole_tables(question, sources, whole_tables, CLOSEST)
    if draft is None:
        return {}
    cited = dict.fromkeys(n for n, _ in draft.quotes if n in new_passages)
    context.has_read(new_passages[n] for n in cited)
    return {
        **_draft_update(Reply(draft)),
        "passage_refs": [*refs, *(passage_reference(new_passages[n], n) for n in cited)],
        "onward": "cite",
    }


async def _show_rows_or_answer(
    state: Chosen, sources: Sequence[Source], context: Context
) -> tuple[State, Awaitable[Reply[Draft]]]:
    """Return the update that shows a table's rows in order, or an empty one with the reader's reply to await.

    A sentence that itself says what has the most is preferred to the rows, unless their order contradicts it: the reply
    is then the one to such sentences alone.
    """
    question, options = state["standalone_question"], state["options"]
    reader = instructed(context.reader, state.get("instructions") or "")
    by_rule = context.reader.by_rule and not options
    rows_update = await asyncio.to_thread(_show_ordered_rows, state, sources, context) if by_rule else {}
    if not rows_update:
        return {}, reader.answer(question=question, sources=sources, options=options)
    # Also a search, which drafts nothing, imports this stage.
    from preflight_rag.offline.prose_extremes import is_written, sentences_with_extreme

    reply = Reply(Draft("", found=False))
    if prose := sentences_with_extreme(question, sources):
        reply = await reader.answer(question=question, sources=prose, options=options)
    is_stated = is_written(question, reply.value, Draft.load(rows_update["draft"]), sources)
    return {} if is_stated else rows_update, _completed_future(reply)


def _completed_future(reply: Reply[Draft]) -> asyncio.Future[Reply[Draft]]:
    """Return a future that is done, with this reply."""
    future = asyncio.get_running_loop().create_future()
    future.set_result(reply)
    return future


def _quotes_of_last_answer(state: Chosen, context: Context) -> State:
    """Return the update that shows quotes of the last answer for a follow-up; empty if they do not bear on it.

    They bear on it if they have a figure of the kind that is asked for, and other passages with the follow-up's noun
    give no other figure.
    """
    earlier, message = state.get("earlier"), state.get("question", "")
    citations = quotes_with_the_figure(message, state["standalone_question"], earlier) if earlier else []
    if not citations or names_more(message):
        return {}
    library, noun = context.library, noun_asked_for(message)
    if noun and not isinstance(library, PhraseSearch):
        return {}
    ids_with_noun = library.passages_with([noun], MOST_NAMING) if noun and isinstance(library, PhraseSearch) else []
    texts_with_noun = [passage.text for passage in context.library.passages(ids_with_noun)]
    citations = [citation for citation in citations if gives_the_same(message, citation["quote"], texts_with_noun)]
    if not citations:
        return {}
    refs = list(state["passage_refs"])
    quotes: list[tuple[int, str]] = []
    quote_lines: list[str] = []
    for citation in citations:
        rank = next((ref["rank"] for ref in refs if ref["id"] == citation["passage_id"]), 0)
        if not rank:
            rank = len(refs) + 1
            refs.append(_cited_reference(citation, rank))
        quotes.append((rank, citation["quote"]))
        quote_lines.append(quoted(rank, without_marks(" ".join(citation["quote"].split()))))
    text = "\n\n".join([CLOSEST, *quote_lines])
    draft = Draft(text, tuple(quotes), claims=False, unclaimed=why_unclaimed("nothing"))
    return {"draft": draft.dump(), "passage_refs": refs}


def _cited_reference(citation: Mapping[str, Any], rank: int) -> PassageRef:
    """Return the reference, with this rank, of a passage that the last answer cited; its scores are unknown (0)."""
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


async def _finish_reply(
    reply_to_come: Awaitable[Reply[Draft]], reading: asyncio.Future[None] | None, options: Sequence[str]
) -> Reply[Draft]:
    """Wait for the model's reply, and for the passages to be read in parallel (`reading`); return the reply.

    The usable part of a reply that was cut off counts as the reply; any other failure is raised.
    """
    try:
        reply = await reply_to_come
    except ModelError as error:
        reply = unfinished(error, options)
    except BaseException:
        if reading is not None:
            reading.cancel()
        raise
    if reading is not None:
        await reading
    return reply


def _compares_with_passages(state: Chosen, context: Context) -> bool:
    """Return whether to compare the answer with the answers that the extractive reader finds in the passages.

    Only a language model's answer from more passages than a partition has is compared: a reader by rule made its answer
    from those that the extractive reader found.
    """
    can_compare = context.extractive is not None and not context.reader.by_rule and not state["options"]
    return can_compare and len(state["passage_refs"]) > context.settings.partition_size


def _begin_reading(state: Chosen, sources: Sequence[Source], context: Context) -> asyncio.Future[None] | None:
    """Start to read the passages while the model writes, if its answer will be compared with them; else None.

    The readings are cached; an error is ignored here, since the comparison meets it again.
    """
    if not _compares_with_passages(state, context):
        return None

    def read() -> None:
        """Read the passages with the extractive reader."""
        with suppress(ExtractiveReaderError):
            context.extractive.read(pairs(state["standalone_question"], sources))

    return asyncio.ensure_future(asyncio.to_thread(read))


def _second_look(
    state: Chosen, draft: Draft, sources: Sequence[Source], decision: Mapping[str, Any], context: Context
) -> State:
    """Return the update that escalates to map/reduce if the plain answer calls for it; an empty update if it stands."""
    question, elsewhere, settings = state["standalone_question"], None, context.settings
    can_be_verified = draft.found and is_verifiable(draft, {source.n: source.text for source in sources})
    if can_be_verified and _compares_with_passages(state, context):
        threshold = least_sure(profile_of_reader(context.reader), settings)
        elsewhere = found_elsewhere(question, draft, sources, context.extractive, threshold)
    step = escalation(draft, sources, settings.partition_size, elsewhere)
    if step is None:
        return {}
    if not draft.found and nothing_to_find(question, sources, decision, context.extractive):
        return {}
    partitions = second_partitions(draft, sources, settings.partition_size, settings.max_partitions, elsewhere)
    return {"escalations": [step], "onward": "map_context", "partitions": partitions}


def _require_support(reply: Reply[Draft], sources: Sequence[Source]) -> Reply[Draft]:
    """Return a reply over irrelevant passages, and show its text, which was held back, if a passage supports it.

    Else the text is dropped, and the reply's draft is "not found", with a note.
    """
    draft, text = reply.value, answer_text.get()
    if draft.found and is_verifiable(draft, {source.n: source.text for source in sources}):
        text.show()
        return reply
    text.drop()
    notes = reply.notes
    if draft.found:
        notes = (*notes, "nothing that was found bears on the question, and no passage says what the reply does")
    return replace(reply, value=Draft("", found=False), notes=notes)


def _without_distant_quotes(
    question: str, reply: Reply[Draft], sources: Sequence[Source], decision: Mapping[str, Any]
) -> Reply[Draft]:
    """Return a reply; if no passage is near to the question, and the quotes have little of it, as "not found".

    That is done only if the question names much, or a code that no passage has ("network" below "X.25 uses what type of
    network?"). Quotes that say half of what is asked stay: the model of "the X.25 compressor" may be named nowhere.
    """
    draft = reply.value
    if draft.claims or is_near(decision) or not (names_much(question) or lacks_code(question, sources)):
        return reply
    if decision.get("name") == "corg":  # one of the documents that were compared bears on the question
        return reply
    if is_half_quoted(question, draft.quotes, sources):
        return reply
    # The reason is kept: the stage `abstain` says less if passages may answer in other words.
    return replace(reply, value=Draft("", found=False, unclaimed=draft.unclaimed))


async def _decide_while_writing(
    state: Chosen, context: Context, sources: Sequence[Source], call: asyncio.Future[Reply[Draft]]
) -> RouteDecision:
    """Decide on the route by the extractive reader's answers while the model already writes its answer.

    The model's text is held back until the route is certain. If the route becomes COrg, or the decision fails, the text
    is dropped, and the model's call is cancelled.
    """
    text, is_plain, can_be_shown = answer_text.get(), False, False
    text.keep_back()
    try:
        model = await asyncio.to_thread(risk_model_of, context.library)
        refs = state["passage_refs"]
        arguments = state["standalone_question"], refs, sources, context.settings, model, context.extractive
        profile = await asyncio.to_thread(profile_of_reader, context.reader)
        decision = await asyncio.to_thread(partial(decide, *arguments, profile=profile))
        is_plain = decision.name != "corg"
        can_be_shown = is_plain and not _needs_support(state, decision.model_dump())
    finally:
        if can_be_shown:
            text.show()
        elif not is_plain:  # also if the reader fails, or the turn is stopped
            text.drop()
            call.cancel()
            await asyncio.wait([call])
    return decision


def _cost_of_unused_call(call: asyncio.Future[Reply[Draft]], refs: Sequence[PassageRef]) -> Usage:
    """Return the cost of a call that was cancelled, or whose reply is not used; an estimate if it was cancelled.

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
    """Answer from the only group of contexts, which do not contradict each other; the turn goes on to compose it."""
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
        reply, status = _usable_part(error, options)
        spared = status == "failed"
    update = _draft_update(reply)
    update["group_drafts"] = [group_draft(1, sources, reply.value, status, spared=spared)]
    update["onward"] = "aggregate_groups"
    return update


def _usable_part(error: ModelError, options: Sequence[str]) -> tuple[Reply[Draft], GroupStatus]:
    """Return the usable part of a reply that failed with this error, and the status of its group.

    Without a usable part, the group is "unreadable" after a reply that cannot be used, and answered from the notes on
    its contexts; it has "failed" if the call came to no end. An error of the model itself is raised.
    """
    try:
        return unfinished(error, options), "answered"
    except BadReply:
        return unusable(error), "unreadable"
    except ModelError:
        if not may_be_spared(error):
            raise
        return unusable(error), "failed"


def _draft_update(reply: Reply[Draft]) -> State:
    """Return the update with a reply's draft, its notes as gaps, and its cost."""
    return {
        "draft": reply.value.dump(),
        "gaps": [{"stage": "answer_plain", "item": "reply", "error": note} for note in reply.notes],
        "spent": [{"stage": "answer_plain", **reply.usage.model_dump()}],
    }
