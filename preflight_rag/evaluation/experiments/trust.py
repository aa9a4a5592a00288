"""Experiment `trust`: what is claimed over real documents, and is it so."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from preflight_rag.cache import cache_dir
from preflight_rag.evaluation.datasets.trust import RECORDS, TrustDocument, TrustSet
from preflight_rag.evaluation.samples import digest
from preflight_rag.evaluation.vector_cache import cached_embedder
from preflight_rag.state.errors import LibraryError

if TYPE_CHECKING:
    from preflight_rag.evaluation.runs import Run
    from preflight_rag.library.ingest import IngestEvent


def library_of(found: TrustSet, part: str, run: Run) -> Path:
    """The folder of a part's library, built by the product's own ingest; what is there already is kept.

    Raises:
        LibraryError: A document could not be taken in, so the numbers would be about another collection.
    """
    from preflight_rag.library import Library
    from preflight_rag.models.opening import open_embedder

    documents = _searched(found, part, run)
    embedder = open_embedder(run.embedder)
    names = "\n".join(document.name for document in documents)
    drawn = "" if run.documents is None else f"-{len(documents)}-{digest(names).hex()[:8]}"
    folder = (run.library_cache or cache_dir() / "eval") / f"trust-{part}{drawn}-{embedder.name.rsplit('/', 1)[-1]}"
    _write(documents, folder / "files")

    def shown(event: IngestEvent) -> None:
        run.progress(f"{found.name}: {event.stage}", event.done, event.total or 0)

    with ExitStack() as stack:
        if run.documents is not None:
            embedder = stack.enter_context(cached_embedder(run))
        library = stack.enter_context(Library.open(folder / "library", embedder=embedder, create=True))
        report = library.ingest(folder / "files", prune=True, progress=shown)
        if report.failed:
            source, reason = report.failed[0]
            raise LibraryError(f"{len(report.failed)} documents could not be taken in, first {source}: {reason}")
    return folder


def _searched(found: TrustSet, part: str, run: Run) -> list[TrustDocument]:
    """The part's documents; where a run searches few, those that answer and others by the hash of their names."""
    documents = sorted(found.documents[part], key=lambda document: digest(document.name))
    if run.documents is None:
        return documents
    asked = {name for question in found.select(part, run.limit) for name in question.documents}
    others = [document for document in documents if document.name not in asked and document.record]
    answering = [document for document in documents if document.name in asked]
    return [*answering, *others][: max(run.documents, len(answering))]


def _write(documents: Sequence[TrustDocument], folder: Path) -> None:
    """Write the files that are not there yet as they are, and the records into one file; others are removed."""
    wanted = {folder / document.name: document for document in documents if not document.record}
    for path in [path for path in folder.rglob("*") if path.is_file() and path not in wanted]:
        path.unlink()
    for path, document in wanted.items():
        content = document.content()
        if not path.is_file() or path.read_bytes() != content:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
    records = [document.content() for document in documents if document.record]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / RECORDS).write_bytes(b"".join(line + b"\n" for line in records))
