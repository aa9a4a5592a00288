"""From a ladder of expressions to documents: PubMed's abstracts (D1), PMC's reviews (D2), PMC's other articles (D3).

The three are searched at once, within one deadline. Failures are reported, and the documents found so far are kept.
Reviews are fetched in full, other articles as abstracts: reviews report what many studies together found, while the
body of a single study is mostly method. An article's own record decides whether it is a review, whatever search found
it. A paper counts once: its review text before its abstract, PubMed's abstract before PMC's; retracted ones come last.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import chain
from typing import get_args

from preflight_rag.ingest.loaders.fields import PMC_OTHER, PMC_REVIEW, PUBMED_ABSTRACT
from preflight_rag.pubmed.client import Database, EntrezClient, date_window
from preflight_rag.pubmed.ladder import ENOUGH, search_together
from preflight_rag.state.context import PubMedSources
from preflight_rag.state.errors import DocumentError, EmptyDocument, ExpressionRefused, PubMedError, UsageError
from preflight_rag.state.values import Document, SearchExpression
from preflight_rag.text.retractions import is_retracted

DEADLINE = 20.0
"""Seconds that a turn waits for NCBI; a guess at what a person waits."""
PER_DATABASE = 20
"""Documents of one kind that are fetched; never tuned."""


@dataclass(frozen=True)
class _Source:
    """A kind of documents, with the filter that limits an expression to it, and the number fetched by one request."""

    origin: str
    database: Database
    filter: str
    batch: int


# PMC gives full texts only of its open-access subset; of others there is no more than the abstract.
_OPEN_ACCESS = " AND open access[filter]"
_SOURCES = (
    _Source(PUBMED_ABSTRACT, "pubmed", "({}) AND hasabstract", 100),
    _Source(PMC_OTHER, "pmc", "({}) NOT review[filter]", 10),
    _Source(PMC_REVIEW, "pmc", "({}) AND review[filter]" + _OPEN_ACCESS, 5),
)


@dataclass(frozen=True)
class FetchResult:
    """The result of a fetch from NCBI.

    Attributes:
        documents: Abstracts first, then reviews, each in the order of relevance, retracted ones last;
            `metadata["origin"]` is "D1" for an abstract of PubMed's, "D2" for a review of PMC's, "D3" for another
            article of PMC's.
        rungs: Every expression that was tried, including its filter.
        problems: What went wrong, one line each.
    """

    documents: tuple[Document, ...] = ()
    rungs: tuple[SearchExpression, ...] = ()
    problems: tuple[str, ...] = ()


@dataclass
class _Harvest:
    """The documents and problems found by all sources so far."""

    documents: list[Document] = field(default_factory=list)
    rungs: list[SearchExpression] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    down: str = ""


def fetch_documents(
    client: EntrezClient,
    expressions: Sequence[str],
    *,
    enough: int = ENOUGH,
    per_database: int = PER_DATABASE,
    since: str | None = None,
    until: str | None = None,
    deadline: float = DEADLINE,
    full_text: bool = False,
    sources: PubMedSources = "D1+D2",
) -> FetchResult:
    """Return the documents that a ladder of expressions finds in PubMed and PMC.

    Failures of NCBI are listed in the result's problems and not raised.

    Args:
        client: The client of NCBI.
        expressions: Most specific first; more general ones are tried until there are enough documents.
        enough: Documents of one kind that are enough; if one kind has them, the others try one more expression.
        per_database: Most documents of one kind that are fetched.
        since: First publication date: a year, month or day.
        until: Last publication date.
        deadline: Seconds for all of it. The last reply may exceed it by the client's `timeout`.
        full_text: Whether open-access articles that are not reviews are fetched in full, too.
        sources: The kinds of documents: abstracts, and reviews, and other articles; the default is what CPQA calls best
            (section IV.A.1; by its Table III all three kinds together are as accurate).

    Raises:
        UsageError: A date is in no known form, or there are no such kinds of documents.
    """
    date_window(since, until)
    if sources not in get_args(PubMedSources):
        raise UsageError(f"sources is {sources!r}", help=f"Choose {', '.join(get_args(PubMedSources))}")
    end = time.monotonic() + deadline
    ladder = [expression for expression in expressions if expression.strip()]

    wanted = {*sources.split("+"), *([PMC_OTHER] if full_text else [])}
    asked = [source for source in _SOURCES if source.origin in wanted]
    harvests = {source.origin: _Harvest() for source in asked}
    searches = {
        source.origin: _Search(client, source, full_text, per_database, since, until, end, harvests[source.origin])
        for source in asked
    }

    def harvest(source: _Source, ids: Sequence[str]) -> None:
        """Fetch a source's documents and add them to the result."""
        for start in range(0, len(ids[:per_database]), source.batch):
            batch = ids[start : min(start + source.batch, per_database)]
            if not _take(client, source, batch, full_text, end, harvests[source.origin]):
                break

    with ThreadPoolExecutor(len(asked), thread_name_prefix="pubmed") as threads:
        found = search_together(ladder, searches, enough=enough, ask=threads.map)
        list(threads.map(harvest, asked, [each.ids for each in found]))
    problems = list(chain.from_iterable(harvest.problems for harvest in harvests.values()))
    # If NCBI fails, all kinds fail for the same reason, whatever error each got: one sentence reports it.
    down = [harvest.down for harvest in harvests.values() if harvest.down]
    return FetchResult(
        documents=tuple(_papers(harvests)),
        rungs=tuple(chain.from_iterable(harvest.rungs for harvest in harvests.values())),
        problems=tuple(dict.fromkeys([*problems, *down[:1]])),
    )


class _Search:
    """A search of one source, which records each rung, and skips later rungs after NCBI's first failure."""

    def __init__(
        self,
        client: EntrezClient,
        source: _Source,
        full_text: bool,
        limit: int,
        since: str | None,
        until: str | None,
        end: float,
        found: _Harvest,
    ) -> None:
        whole = full_text and source.origin == PMC_OTHER
        self._client, self._database, self._limit = client, source.database, limit
        self._filter = source.filter + _OPEN_ACCESS if whole else source.filter
        self._since, self._until, self._end = since, until, end
        self._found, self._failed = found, False

    def __call__(self, expression: str) -> tuple[Sequence[str], int, str]:
        """Search one source for an expression, and record the rung."""
        if self._failed:
            return (), 0, ""
        expression = self._filter.format(expression)
        ids, hits, note = self._asked(expression)
        self._found.rungs.append(SearchExpression(where=self._database, expression=expression, hits=hits, note=note))
        return ids, hits, note

    def _asked(self, expression: str) -> tuple[Sequence[str], int, str]:
        """Search NCBI for an expression; return the ids, the number of hits, and a note."""
        try:
            found = self._client.search(
                self._database,
                expression,
                limit=self._limit,
                since=self._since,
                until=self._until,
                deadline=self._end,
            )
        except PubMedError as error:
            self._failed = not isinstance(error, ExpressionRefused)
            if self._failed:
                self._found.down = str(error)
            else:
                self._found.problems.append(str(error))
            return (), 0, error.message
        return found.ids, found.hits, found.note


def _take(
    client: EntrezClient, source: _Source, ids: Sequence[str], full_text: bool, end: float, found: _Harvest
) -> bool:
    """Fetch documents and add them to the found ones; return False if NCBI failed."""
    name = {"pubmed": "PubMed", "pmc": "PMC"}[source.database]
    try:
        data = client.fetch(source.database, ids, deadline=end)
    except PubMedError as error:
        found.problems.append(f"{len(ids)} documents of {name} were not fetched: {error}")
        return False
    delivered = 0
    for item in _read(source, data, full_text):
        delivered += not isinstance(item, DocumentError) or isinstance(item, EmptyDocument)
        if not isinstance(item, DocumentError):
            found.documents.append(item)
    if delivered < len(ids):
        found.problems.append(f"{name} delivered {delivered} of {len(ids)} documents that it had found")
    return True


def _read(source: _Source, data: bytes, full_text: bool) -> Iterator[Document | DocumentError]:
    """Yield the documents in a reply of NCBI."""
    from preflight_rag.ingest.loaders.jats import read_jats
    from preflight_rag.ingest.loaders.pubmed import read_pubmed

    try:
        yield from (
            read_pubmed(data)
            if source.database == "pubmed"
            else read_jats(data, full_text="always" if full_text else "reviews")
        )
    except DocumentError as error:
        yield error


def _papers(harvests: Mapping[str, _Harvest]) -> list[Document]:
    """Return each paper once: a review's text replaces its abstract, PubMed's abstract replaces PMC's.

    Retracted ones come last.
    """
    documents = list(chain.from_iterable(harvest.documents for harvest in harvests.values()))
    reviews = [document for document in documents if document.metadata.get("origin") == PMC_REVIEW]
    in_reviews = set(chain.from_iterable(map(_names, reviews)))
    abstracts = [
        document
        for document in documents
        if document.metadata.get("origin") == PUBMED_ABSTRACT and not in_reviews & _names(document)
    ]
    known = in_reviews | set(chain.from_iterable(map(_names, abstracts)))
    others = [
        document
        for document in documents
        if document.metadata.get("origin") not in (PUBMED_ABSTRACT, PMC_REVIEW) and not known & _names(document)
    ]
    kept = {document.id: document for document in reversed((*abstracts, *others, *reviews))}
    return sorted(list(kept.values())[::-1], key=lambda document: is_retracted(document.title))


def _names(document: Document) -> set[str]:
    """Return all ids by which a paper is known."""
    fields = ("pmid", "pmcid", "doi")
    return {f"{name}:{str(value).lower()}" for name in fields if (value := document.metadata.get(name))}
