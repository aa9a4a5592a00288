"""Follow-up questions over HTTP: by rule without a model, else by one call of the model after the answer."""

from __future__ import annotations

import asyncio
from typing import Any

from fastapi import APIRouter

from preflight_rag.conversation.suggestions import names_nothing_new, suggested_questions
from preflight_rag.prompts import suggest_questions
from preflight_rag.prompts.leaks import without_leaks
from preflight_rag.server.access import User
from preflight_rag.server.dependencies import ServiceOf, UserOf
from preflight_rag.server.errors import Refused
from preflight_rag.server.service import Service
from preflight_rag.state.errors import PreflightError
from preflight_rag.state.reading import Source
from preflight_rag.state.values import Answer, Passage
from preflight_rag.text.inert import inert

router = APIRouter(prefix="/api/threads", tags=["threads"])
FIRST = 3  # the question must fit one of this many first passages of a search: a guess
LOOKED_AT = 200  # most passages of a document whose headings are looked at: a guess, about 100 pages
REMEMBERED = 1000  # turns for which suggestions are cached, so that a reload calls no model again: a guess


@router.post("/{thread_id:path}/turns/{turn}/suggestions")
async def suggestions(thread_id: str, turn: int, service: ServiceOf, user: UserOf) -> dict[str, Any]:
    """At most three follow-up questions to a turn that its documents answer, often none."""
    turns = await asyncio.to_thread(service.preflight.ledger.turns, user.thread(thread_id))
    found = next((each for each in turns if each.turn == turn and each.result), None)
    if found is None:
        raise Refused(404, f"thread {thread_id[:100]!r} has no answer to turn {turn}", help="GET /api/threads/ID")
    if found.id not in service.suggested:  # a second tab that requests them meanwhile waits for the same result
        service.suggested[found.id] = asyncio.create_task(
            _suggested(Answer.model_validate(found.result), service, user)
        )
        while len(service.suggested) > REMEMBERED:
            service.suggested.pop(next(iter(service.suggested)))
    questions = await asyncio.shield(service.suggested[found.id])
    asked = {each.question.casefold() for each in turns}
    return {"questions": [each for each in questions if each.casefold() not in asked]}


async def _suggested(answer: Answer, service: Service, user: User) -> list[str]:
    """Return the questions to suggest after an answer; none if it cites nothing."""
    if answer.outcome not in ("answered", "evidence") or not answer.citations:
        return []
    if not service.preflight.reader.by_rule and answer.receipt.model == service.watch.name:
        try:
            return await _by_model(answer, service, user)
        except PreflightError:
            return []
    return await asyncio.to_thread(_by_rule, answer, service)


def _by_rule(answer: Answer, service: Service) -> list[str]:
    """Return questions made from the cited documents by rule."""
    documents = dict.fromkeys(citation.document_id for citation in answer.citations)
    passages = {document: service.catalogue.passages(document, LOOKED_AT) for document in documents}
    titles = {citation.document_id: citation.title for citation in answer.citations}
    return suggested_questions(answer, passages, titles, lambda question: _found(question, service))


async def _by_model(answer: Answer, service: Service, user: User) -> list[str]:
    """Return the questions that the model writes and the documents answer; the user pays for the call."""
    ids = list(dict.fromkeys(citation.passage_id for citation in answer.citations))
    passages = [each for each in map(service.catalogue.passage, ids) if each is not None]
    if not passages:
        return []
    sources = [Source(n, each.id, each.title, each.text) for n, each in enumerate(passages, 1)]
    prompt = suggest_questions.render(question=answer.standalone_question, answer=answer.answer, sources=sources)
    paid = service.spending.of(user.name)
    made = await service.watch.complete(prompt, {}, paid, suggest_questions.REPLY_TOKENS)
    if made is None:
        return []
    reply, usage = made
    service.metrics.tokens.labels("input").inc(usage.input_tokens)
    service.metrics.tokens.labels("output").inc(usage.output_tokens)
    questions = suggest_questions.parse(without_leaks(reply, prompt))
    return await asyncio.to_thread(_answerable, questions, answer, passages, service)


def _answerable(questions: list[str], answer: Answer, passages: list[Passage], service: Service) -> list[str]:
    """Return the model's questions that name nothing new, and for which a search finds the same documents.

    Questions with an address or markup are left out: users write none.
    """
    documents = {passage.document_id for passage in passages}
    kept = []
    for question in questions:
        if question == inert(question) and names_nothing_new(question, passages, answer.standalone_question):
            found = filter(None, map(service.catalogue.passage, _found(question, service)))
            if documents & {passage.document_id for passage in found}:
                kept.append(question)
    return kept


def _found(question: str, service: Service) -> list[str]:
    """Return the documents of the first passages that a search finds for a question; none if the search fails."""
    try:
        return [hit.passage_id for hit in service.preflight.search(question).fused[:FIRST]]
    except PreflightError:
        return []
