"""What documents are and what they answer, over HTTP: an overview of each, and questions to begin with.

A question is shown only after it was asked: without a language model, of this library, and with the document's own
words as what was shown first (`conversation/document_questions.py`). That takes seconds for a document, so it is done
when somebody looks, one document after the other, and kept for as long as no document changes.
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
WAIT = 1.0  # seconds that a request waits for what is not found out yet: a guess
SECONDS = 20.0  # after which a document's questions are those that were found: a guess at what somebody waits
TRIED = 6  # questions of a document that are asked before it is shown with fewer: a guess
TRIED_OF_EACH = 3  # of each document, for the questions that a conversation can begin with: a guess
DOCUMENTS = 60  # the latest, of which those questions are, as far as `SECONDS` reach: a guess
MOST_CLAIMED = 9  # questions that begin alike are no reason to ask of all documents: a guess
OPENING_WORDS = 2  # of a question: "Who wrote", "Who are"
PAUSE = 0.1  # seconds between looks whether a person's turn or an upload is still running: both go first


class OverviewRow(BaseModel):
    """What a document is.

    `what` is its kind; `gist` a sentence of its own, "" where it has none; `audience` whom it is for, "" where it does
    not say.
    """

    what: str
    gist: str
    audience: str


class AnsweredQuestions(BaseModel):
    """Questions that are answered, since each was asked before; at most three, none where none was found.

    `ready` is false while they are still being asked: whoever comes again finds them.
    """

    questions: list[str]
    ready: bool = True


@router.get("/documents/overview")
def overview(id: str, service: ServiceOf, _user: UserOf) -> OverviewRow:
    """What a document is and for whom; told by rule, without a language model."""
    entry = _entry(id, service)
    card = _card(entry, service)
    name = Path(entry.origin).name if entry.origin else entry.source
    passages = service.catalogue.passages(entry.id, LOOKED_AT)
    count = service.preflight.library.embedder.count_tokens
    overview = overview_of(_own_title(entry), name, entry.kind, list(card.metadata) if card else [], passages, count)
    return OverviewRow(what=overview.what, gist=overview.gist, audience=overview.audience)


@router.get("/documents/questions")
async def document_questions(id: str, service: ServiceOf, _user: UserOf) -> AnsweredQuestions:
    """Three questions that a document answers, asked of it alone before they are named; that takes seconds.

    Of a document that is not there, none: pages ask while it may be deleted.
    """
    entry, generation = await asyncio.to_thread(lambda: (_known(id, service), service.catalogue.generation()))
    if entry is None:
        return AnsweredQuestions(questions=[], ready=True)
    made = await service.overviews.get(generation, entry.id, lambda: _questions(entry, service), WAIT)
    return AnsweredQuestions(questions=made or [], ready=made is not None)


@router.get("/suggestions")
async def starting_questions(service: ServiceOf, _user: UserOf) -> AnsweredQuestions:
    """Questions to begin a conversation with, of the latest documents, each answered when it was asked before."""
    generation = await asyncio.to_thread(service.catalogue.generation)
    made = await service.overviews.get(generation, "", lambda: _starting(service), WAIT)
    return AnsweredQuestions(questions=made or [], ready=made is not None)


def _known(id: str, service: Service) -> CatalogueEntry | None:
    return service.catalogue.document(service.names.document_id(id))


def _entry(id: str, service: Service) -> CatalogueEntry:
    """Return a document's entry in the catalogue."""
    entry = _known(id, service)
    if entry is None:
        raise Refused(404, f"there is no document {id[:100]!r}", help="GET /api/documents lists them.")
    return entry


def _questions(entry: CatalogueEntry, service: Service) -> list[str]:
    asked = _candidates(entry, service.catalogue.passages(entry.id, LOOKED_AT), _card(entry, service))
    condition = _only(entry.id)
    if condition is None:
        return []
    found = _answered(asked[:TRIED], service, condition, time.monotonic() + SECONDS)
    return [question for question, _ in islice(found, MOST)]


def _starting(service: Service) -> list[str]:
    """Return a question of each of the latest documents that has one, until three of them are claimed as answered.

    A person who begins should see answers: questions for which only passages are shown fill up what is missing. No two
    begin alike, as "Who are the authors of" does, if there are others.
    """
    claimed: list[str] = []
    shown: list[str] = []
    seen: set[str] = set()
    latest = service.catalogue.documents(limit=DOCUMENTS)[0]
    ends = time.monotonic() + SECONDS
    for entry in sorted(latest, key=lambda entry: not _own_title(entry)):  # whose title says what is asked about
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
    line = next((line for line in (card.text if card else "").split("\n") if line.startswith("Authors: ")), "")
    authors = [name for name in line.removeprefix("Authors: ").split("; ") if name]
    return candidates(_own_title(entry), authors, entry.id, passages, entry.kind)


def _card(entry: CatalogueEntry, service: Service) -> Passage | None:
    with suppress(PassageGone):  # it may be deleted while its questions are made
        return next(iter(service.preflight.library.passages([card_id(entry.id)])), None)
    return None


def _own_title(entry: CatalogueEntry) -> str:
    """Return a document's title, "" where that is its file's name."""
    stem = Path(entry.origin or entry.source).stem
    return "" if entry.title.strip() in (stem, Path(entry.origin or entry.source).name) else entry.title.strip()


def _only(document_id: str) -> str | None:
    """Return the filter for one document; None where its id cannot be written in one."""
    if '"' not in document_id:
        return f'id in ("{document_id}")'
    return None if "'" in document_id else f"id in ('{document_id}')"


def _answered(
    asked: Sequence[Candidate], service: Service, condition: str | None, ends: float
) -> Iterator[tuple[str, bool]]:
    """Yield each question that is answered before `ends`, a monotonic time, and whether its answer is claimed."""
    for each in asked:
        ends += _give_way(service)
        if service.closing or time.monotonic() > ends:
            break
        try:
            answer = service.preflight.try_question(each.question, where=(condition,) if condition else ())
        except PreflightError as error:  # a question that cannot be asked is none to offer
            log.info("a question of an overview failed: %s", error)
            continue
        if is_answered(each, answer):
            yield each.question, answer.outcome == "answered"


def _give_way(service: Service) -> float:
    """Wait while a turn runs or an upload does, and return for how many seconds.

    During an upload the index does not know yet what the catalogue lists: its questions would find nothing.
    """
    begun = time.monotonic()
    while (service.running.is_busy or service.changing.locked()) and not service.closing:
        time.sleep(PAUSE)
    return time.monotonic() - begun
