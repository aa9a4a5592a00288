"""Shared code of experiments on retrieval: a collection's library, built as the product builds it, and its searches."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from evaluation.datasets.files import unique
from evaluation.report import checksums
from evaluation.runs import ExperimentRun, Progress
from evaluation.samples import DataSet, Sample, sampled
from evaluation.vector_cache import cached_embedder
from preflight_rag.cache import cache_dir, file_sha256
from preflight_rag.conversation.questions import normalised
from preflight_rag.ingest.report import IngestEvent
from preflight_rag.library import Library
from preflight_rag.library.search.hybrid import Rankings
from preflight_rag.library.search.query import SearchQuery
from preflight_rag.models.embedding.embedder import Embedder
from preflight_rag.models.opening import open_embedder
from preflight_rag.models.reranking.feature_reranker import ALL
from preflight_rag.models.reranking.rerankers import FEATURES
from preflight_rag.state.context import GivenSettings
from preflight_rag.state.errors import LibraryError

GROUPS = {
    "bioasq": "bioasq",
    "biomix-bioasq": "bioasq",
    "scifact": "scifact",
    "biomix-scifact": "scifact",
    "nfcorpus": "nfcorpus",
    "cranfield": "cranfield",
    "cisi": "cisi",
    "medquad": "medquad",
}
"""The group of each collection: collections that share questions or documents are never split into training and test.
"""


UNHURRIED: GivenSettings = {"rerank_deadline": 600.0, "answer_seconds": 0.0}
"""Settings by which turns are the same on a busy machine: no second stage is cut short, and time plans nothing."""


def group_of(name: str) -> str:
    """Return the fold with which a collection is tested: its group, or "all" for a collection outside the training."""
    return GROUPS.get(name, ALL)


def left_out(name: str) -> str:
    """Return the model-free reranker, as an argument of `open_reranker`, with weights trained without the group."""
    return f"{FEATURES}:{group_of(name)}"


@contextmanager
def collection_library(collection: DataSet, run: ExperimentRun) -> Iterator[Library]:
    """Yield the library of a collection, from the cache or built into it; an interrupted build is completed.

    Samples of a collection share documents, so their vectors are cached beside the libraries and computed once.

    Raises:
        LibraryError: A document could not be ingested, so the numbers would be about another collection.
    """
    documents = list(collection.documents())
    unique([(document.id, collection.files[0].name) for document in documents])
    with ExitStack() as stack:
        embedder = open_embedder(run.embedder)
        folder = library_folder(collection, f"{embedder.name} {embedder.revision}", run.library_cache)
        if run.documents is not None:
            embedder = stack.enter_context(cached_embedder(run))
        library = stack.enter_context(Library.open(folder, embedder=embedder, create=True))
        report = library.add(documents, progress=_shown(collection.name, run.progress))
        if report.failed:
            source, reason = report.failed[0]
            raise LibraryError(
                f"{len(report.failed)} documents of {collection.name} could not be taken in, first {source}: {reason}",
                help=f"Remove them from {collection.files[0].name}, with their judgements.",
            )
        yield library


def searched_part(collection: DataSet, run: ExperimentRun) -> DataSet:
    """Return the collection with the documents that the run searches: all, or those that answer and a sample."""
    if run.documents is None:
        return collection
    asked = collection.select(run.part, run.limit)
    return sampled(collection, (name for query in asked for name in collection.relevant(query.id)), run.documents)


def library_folder(collection: DataSet, embedder: str, cache: Path | None) -> Path:
    """Return the library's folder, named after the data set, the start of the corpus' checksum, and the embedder."""
    corpus = f"{collection.library or collection.name} {file_sha256(collection.files[0])[:8]}"
    name = re.sub(r"[^A-Za-z0-9.]+", "-", f"{corpus} {embedder.rsplit('/', 1)[-1]}")
    return (cache or cache_dir() / "eval") / name


def search_all(
    library: Library, queries: Sequence[Sample], progress: Progress, *, name: str, **settings: Any
) -> Iterator[tuple[Sample, Rankings]]:
    """Search for each query in turn, its text normalised as a turn's question is; `settings` go to `Library.search`."""
    for done, query in enumerate(queries, 1):
        asked = Sample(query.id, normalised(query.question))
        yield asked, library.search(SearchQuery(asked.question, **settings))
        progress(f"{name}: queries", done, len(queries))


def inputs(collection: DataSet, library: Library, **settings: Any) -> dict[str, Any]:
    """Return everything that the numbers of a search depend on, for the manifest."""
    stats = library.stats()
    counts = {name: stats[name] for name in ("documents", "passages", "splitter")}
    return described(collection, library.embedder, **settings) | {"library": counts}


def described(collection: DataSet, embedder: Embedder, **settings: Any) -> dict[str, Any]:
    """Return everything that numbers depend on if no library is searched, for the manifest."""
    return {
        "source": collection.source,
        "licence": collection.licence,
        "sha256": checksums(collection.files),
        "embedder": {"name": embedder.name, "revision": embedder.revision, "dimension": embedder.dimension},
        "settings": settings,
    }


def _shown(name: str, progress: Progress) -> Callable[[IngestEvent], None]:
    """Return a function that shows the events of an ingestion as progress."""
    return lambda event: progress(f"{name}: {event.stage}", event.done, event.total or 0)
