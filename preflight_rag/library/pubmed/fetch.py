"""From a ladder of expressions to documents: PubMed's abstracts, PMC's reviews, PMC's other articles.

The three are searched at once, within one deadline. What fails is reported, and what was found until then is kept.
Reviews are taken in full, other articles by their abstract: reviews tell what many studies together found, while the
body of a single study is mostly method. A paper counts once: its review text before its abstract, PubMed's abstract
before PMC's.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from preflight_rag.library.loaders.fields import PMC_OTHER, PMC_REVIEW, PUBMED_ABSTRACT
from preflight_rag.library.pubmed.client import Database, EntrezClient, date_window
from preflight_rag.library.query.ladder import ENOUGH, search_until_enough
from preflight_rag.state.errors import DocumentError, EmptyDocument, ExpressionRefused, PubMedError

if TYPE_CHECKING:
    from preflight_rag.state.values import Document, SearchExpression

DEADLINE = 20.0
"""Seconds that a turn waits for NCBI; a guess at what a person waits."""
PER_DATABASE = 20
"""Documents of one kind that are fetched; never tuned."""

_NOT_ASKED = "not asked"


@dataclass(frozen=True)
class _Source:
    """One kind of document, the filter that an expression needs to find it, and how many one request fetches."""

    origin: str
    database: Database
    filter: str
    batch: int


_SOURCES = (
    _Source(PUBMED_ABSTRACT, "pubmed", "({}) AND hasabstract", 100),
    _Source(PMC_OTHER, "pmc", "({}) NOT review[filter]", 10),
    _Source(PMC_REVIEW, "pmc", "({}) AND review[filter]", 5),
)


@dataclass(frozen=True)
class Fetched:
    """What NCBI gave.

    Attributes:
        documents: Abstracts first, then reviews, each in the order of relevance; `metadata["origin"]` is "D1" for an
            abstract of PubMed's, "D2" for a review of PMC's, "D3" for another article of PMC's.
        rungs: Every expression that was tried, with the filter that it was given.
        problems: What went wrong, one line each.
    """

    documents: tuple[Document, ...] = ()
    rungs: tuple[SearchExpression, ...] = ()
    problems: tuple[str, ...] = ()


@dataclass
class _Harvest:
    documents: list[Document] = field(default_factory=list)
    rungs: list[SearchExpression] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


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
) -> Fetched:
    """The documents that a ladder finds in PubMed and PMC; NCBI's failures are among its problems and raise nothing.

    Args:
        client: Asks NCBI.
        expressions: Most specific first; more general ones are tried until there are enough documents.
        enough: Documents of one kind that are enough.
        per_database: Most documents of one kind that are fetched.
        since: Publication date, a year, month or day, from which on documents count.
        until: The last one that counts.
        deadline: Seconds for all of it. The last reply may overrun it by the client's `timeout`.
        full_text: Articles that are no reviews in full, too.

    Raises:
        UsageError: A date is in no known form.
    """
    date_window(since, until)
    end = time.monotonic() + deadline
    ladder = [expression for expression in expressions if expression.strip()]

    def harvest(source: _Source) -> _Harvest:
        found = _Harvest()
        search = _Search(client, source, per_database, since, until, end, found)
        ladder_found = search_until_enough(
            [source.filter.format(each) for each in ladder], search, enough=enough, where=source.database
        )
        found.rungs += [rung for rung in ladder_found.rungs if rung.note != _NOT_ASKED]
        whole = full_text or source.origin == PMC_REVIEW
        for start in range(0, len(ladder_found.ids[:per_database]), source.batch):
            ids = ladder_found.ids[start : min(start + source.batch, per_database)]
            if not _take(client, source, ids, whole, end, found):
                break
        return found

    with ThreadPoolExecutor(len(_SOURCES), thread_name_prefix="pubmed") as threads:
        harvests = list(threads.map(harvest, _SOURCES))
    return Fetched(
        documents=tuple(_papers(harvests)),
        rungs=tuple(rung for harvest in harvests for rung in harvest.rungs),
        problems=tuple(dict.fromkeys(problem for harvest in harvests for problem in harvest.problems)),
    )


class _Search:
    """Asks for one rung; after NCBI's first failure, later rungs are not asked."""

    def __init__(
        self,
        client: EntrezClient,
        source: _Source,
        limit: int,
        since: str | None,
        until: str | None,
        end: float,
        found: _Harvest,
    ) -> None:
        self._client, self._source, self._limit = client, source, limit
        self._since, self._until, self._end = since, until, end
        self._found, self._failed = found, False

    def __call__(self, expression: str) -> tuple[Sequence[str], int, str]:
        if self._failed:
            return (), 0, _NOT_ASKED
        try:
            found = self._client.search(
                self._source.database,
                expression,
                limit=self._limit,
                since=self._since,
                until=self._until,
                deadline=self._end,
            )
        except PubMedError as error:
            self._failed = not isinstance(error, ExpressionRefused)
            self._found.problems.append(str(error))
            return (), 0, error.message
        return found.ids, found.hits, found.note


def _take(
    client: EntrezClient, source: _Source, ids: Sequence[str], full_text: bool, end: float, found: _Harvest
) -> bool:
    """Fetch documents and add them to what was found; false when NCBI failed."""
    name = {"pubmed": "PubMed", "pmc": "PMC"}[source.database]
    try:
        data = client.fetch(source.database, ids, deadline=end)
    except PubMedError as error:
        found.problems.append(f"{len(ids)} documents of {name} were not fetched: {error}")
        return False
    delivered = 0
    for item in _read(source, data, full_text):
        delivered += not isinstance(item, DocumentError) or isinstance(item, EmptyDocument)
        if isinstance(item, DocumentError):
            continue
        found.documents.append(
            item.model_copy(update={"metadata": item.metadata | {"origin": source.origin}})
            if source.origin == PMC_REVIEW
            else item
        )
    if delivered < len(ids):
        found.problems.append(f"{name} delivered {delivered} of {len(ids)} documents that it had found")
    return True


def _read(source: _Source, data: bytes, full_text: bool) -> Iterator[Document | DocumentError]:
    from preflight_rag.library.loaders.jats import read_jats
    from preflight_rag.library.loaders.pubmed import read_pubmed

    try:
        yield from read_pubmed(data) if source.database == "pubmed" else read_jats(data, full_text=full_text)
    except DocumentError as error:
        yield error


def _papers(harvests: Sequence[_Harvest]) -> Iterator[Document]:
    """Each paper once: a review's text stands for its abstract, PubMed's abstract for PMC's."""
    abstracts, articles, reviews = (harvest.documents for harvest in harvests)
    in_reviews = {name for review in reviews for name in _names(review)}
    kept = [document for document in abstracts if not in_reviews & _names(document)]
    known = in_reviews | {name for document in kept for name in _names(document)}
    seen: set[str] = set()
    for document in (*kept, *(article for article in articles if not known & _names(article)), *reviews):
        if document.id not in seen:
            seen.add(document.id)
            yield document


def _names(document: Document) -> set[str]:
    """Everything that a paper is known by."""
    fields = ("pmid", "pmcid", "doi")
    return {f"{name}:{str(value).lower()}" for name in fields if (value := document.metadata.get(name))}
