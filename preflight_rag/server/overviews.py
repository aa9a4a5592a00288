"""Routes for an overview of each document, and for questions that documents answer.

A question is shown only after it was tested: asked of this library without a language model, and answered with the
document's own words (`conversation/document_questions.py`). That takes seconds for a document, so it is done on
request, one document after the other, and cached as long as no document changes.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from fastapi import APIRouter
from pydantic import BaseModel

from preflight_rag.conversation.document_questions import Candidate, candidates, is_answered
from preflight_rag.conversation.overview import LOOKED_AT, overview_of
from preflight_rag.library.storage.cards import card_id
from preflight_rag.server.dependencies import ServiceOf, UserOf
from preflight_rag.server.errors import Refused
from preflight_rag.server.service import Service
from preflight_rag.state.errors import PassageGone, PreflightError
from preflight_rag.state.values import Passage

if TYPE_CHECKING:
    from preflight_rag.library.storage.catalogue import CatalogueEntry

log = logging.getLogger("preflight.server")
router = APIRouter(prefix="/api", tags=["library"])
MOST = 3
WAIT = 1.0  # seconds that a request waits for a result that is not ready: a guess
SECONDS = 20.0  # seconds after which the questions found so far are used: a guess at what a person waits
TRIED = 6  # most questions of a document that are tested: a guess
TRIED_OF_EACH = 3  # the same, for each document, for the questions with which a conversation can begin: a guess
DOCUMENTS = 60  # latest documents from which those questions come, as far as `SECONDS` allow: a guess
MOST_CLAIMED = 9  # most claimed questions that are collected to find three with different openings: a guess
OPENING_WORDS = 2  # words of a question that are its opening: "Who wrote", "Who are"
PAUSE = 0.1  # seconds between checks whether a user's turn or an upload is still running: both go first


class OverviewRow(BaseModel):
    """An overview of a document.

    `what` is its kind; `gist` one of its own sentences, "" if there is none; `audience` its readers, "" if it does not
    say.
    """

    what: str
    gist: str
    audience: str


class AnsweredQuestions(BaseModel):
    """Questions that are answered, as a test has shown; at most three, none if none was found.

    `ready` is false while they are still being tested: a later request finds them.
    """

    questions: list[str]
    ready: bool = True


@router.get("/documents/overview")
def overview(id: str, service: ServiceOf, _user: UserOf) -> OverviewRow:
    """The kind and the audience of a document, found by rule, without a language model."""
    entry = _entry(id, service)
    card = _card(entry, service)
    name = Path(entry.origin).name if entry.origin else entry.source
    passages = service.catalogue.passages(entry.id, LOOKED_AT)
    count = service.preflight.library.embedder.count_tokens
    overview = overview_of(_own_title(entry), name, entry.kind, list(card.metadata) if card else [], passages, count)
    return OverviewRow(what=overview.what, gist=overview.gist, audience=overview.audience)


@router.get("/documents/questions")
async def document_questions(id: str, service: ServiceOf, _user: UserOf) -> AnsweredQuestions:
    """Three questions that a document answers, each tested on it alone; that takes seconds.

    For a document that does not exist, none: pages ask while it may be deleted.
    """
    entry, generation = await asyncio.to_thread(lambda: (_known(id, service), service.catalogue.generation()))
    if entry is None:
        return AnsweredQuestions(questions=[], ready=True)
    made = await service.overviews.get(generation, entry.id, lambda: _questions(entry, service), WAIT)
    return AnsweredQuestions(questions=made or [], ready=made is not None)


@router.get("/suggestions")
async def starting_questions(service: ServiceOf, _user: UserOf) -> AnsweredQuestions:
    """Questions to begin a conversation with, about the latest documents, each answered when it was tested."""
    generation = await asyncio.to_thread(service.catalogue.generation)
    made = await service.overviews.get(generation, "", lambda: _starting(service), WAIT)
    return AnsweredQuestions(questions=made or [], ready=made is not None)


def _known(id: str, service: Service) -> CatalogueEntry | None:
    """Return a document's entry by the id that users see; None if there is none."""
    return service.catalogue.document(service.names.document_id(id))


def _entry(id: str, service: Service) -> CatalogueEntry:
    """Return a document's entry in the catalogue."""
    entry = _known(id, service)
    if entry is None:
        raise Refused(404, f"there is no document {id[:100]!r}", help="GET /api/documents lists them.")
    return entry


def _questions(entry: CatalogueEntry, service: Service) -> list[str]:
    """Return the first questions about a document that can be answered, within the time."""
    asked = _candidates(entry, service.catalogue.passages(entry.id, LOOKED_AT), _card(entry, service))
    condition = _only(entry.id)
    if condition is None:
        return []
    found = _answered(asked[:TRIED], service, condition, time.monotonic() + SECONDS)
    return [question for question, _ in islice(found, MOST)]


def _starting(service: Service) -> list[str]:
    """Return one question for each of the latest documents that has one, up to three with a claimed answer.

    A person who begins should see answers: questions for which only passages are shown fill up what is missing. No two
    begin alike, as "Who are the authors of" does, if there are others.
    """
    claimed: list[str] = []
    shown: list[str] = []
    seen: set[str] = set()
    latest = service.catalogue.documents(limit=DOCUMENTS)[0]
    ends = time.monotonic() + SECONDS
    for entry in sorted(latest, key=lambda entry: not _own_title(entry)):  # the title says what the document is about
        if entry.copy_of or (entry.origin or entry.id) in seen:
            continue
        ends += _give_way(service)
        seen.add(entry.origin or entry.id)  # one of many records of a file is enough
        passages = service.catalogue.passages(entry.id, LOOKED_AT)
        named = [each for each in _candidates(entry, passages, _card(entry, service)) if each.named]
        for question, is_claimed in _answered(named[:TRIED_OF_EACH], service, None, ends):
            found = claimed if is_claimed else shown
            if question not in claimed and question not in shown:
                found.append(question)
                break
        is_enough = len(_unlike(claimed)) >= MOST or len(claimed) == MOST_CLAIMED
        if is_enough or service.closing or time.monotonic() > ends:
            break
    return list(dict.fromkeys([*_unlike([*claimed, *shown]), *claimed, *shown]))[:MOST]


def _unlike(questions: Sequence[str]) -> list[str]:
    """Return the questions that begin with other words than those before them."""
    first: dict[tuple[str, ...], str] = {}
    for question in questions:
        first.setdefault(tuple(question.casefold().split()[:OPENING_WORDS]), question)
    return list(first.values())


def _candidates(entry: CatalogueEntry, passages: Sequence[Passage], card: Passage | None) -> list[Candidate]:
    """Return possible questions about a document, from its title, authors and passages."""
    line = next((line for line in (card.text if card else "").split("\n") if line.startswith("Authors: ")), "")
    authors = [name for name in line.removeprefix("Authors: ").split("; ") if name]
    return candidates(_own_title(entry), authors, entry.id, passages, entry.kind)


def _card(entry: CatalogueEntry, service: Service) -> Passage | None:
    """Return the document's card (a passage of its metadata); None if it was deleted."""
    with suppress(PassageGone):  # the document may be deleted while its questions are made
        return next(iter(service.preflight.library.passages([card_id(entry.id)])), None)
    return None


def _own_title(entry: CatalogueEntry) -> str:
    """Return a document's title, "" if it is its file's name."""
    stem = Path(entry.origin or entry.source).stem
    return "" if entry.title.strip() in (stem, Path(entry.origin or entry.source).name) else entry.title.strip()


def _only(document_id: str) -> str | None:
    """Return the filter for one document; None if its id cannot be written in a filter."""
    if '"' not in document_id:
        return f'id in ("{document_id}")'
    return None if "'" in document_id else f"id in ('{document_id}')"


def _answered(
    asked: Sequence[Candidate], service: Service, condition: str | None, ends: float
) -> Iterator[tuple[str, bool]]:
    """Yield each question answered before `ends` (monotonic time), and whether its answer is claimed."""
    for each in asked:
        ends += _give_way(service)
        if service.closing or time.monotonic() > ends:
            break
        try:
            answer = service.preflight.try_question(each.question, where=(condition,) if condition else ())
        except PreflightError as error:  # a question that causes an error is not offered
            log.info("a question of an overview failed: %s", error)
            continue
        if is_answered(each, answer):
            yield each.question, answer.outcome == "answered"


def _give_way(service: Service) -> float:
    """Wait while a turn or an upload runs, and return how many seconds that took.

    During an upload the catalogue lists documents that the index does not contain yet: their questions would find
    nothing.
    """
    begun = time.monotonic()
    while (service.running.is_busy or service.changing.locked()) and not service.closing:
        time.sleep(PAUSE)
    return time.monotonic() - begun
