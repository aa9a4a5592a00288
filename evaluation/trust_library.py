"""The libraries of the experiment `trust`: a part's documents, and pairs of passages, as the product ingests them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from evaluation.datasets import trust
from evaluation.datasets.trust import RECORDS, TrustDocument, TrustQuestion, TrustSet
from evaluation.samples import digest
from evaluation.vector_cache import cached_embedder
from preflight_rag.cache import cache_dir
from preflight_rag.state.errors import LibraryError

if TYPE_CHECKING:
    from evaluation.runs import ExperimentRun
    from preflight_rag.app import Preflight
    from preflight_rag.library.collection import Collection

FILES = "files"
"""The folder of a library's files, beside the library."""
EMPTY = TrustDocument("none", lambda: b'{"id": "none", "text": "none"}', record=True)
"""The only document of the library of pairs if no pair is asked about: the product opens no empty library."""


def names_of(library: Collection) -> dict[str, str]:
    """Return the set's names of a library's documents, by id: the path of their file, or a record's id."""
    names = {}
    for entry in library.documents():
        path = Path(str(entry["metadata"].get("path", ""))).as_posix()
        name = path.rpartition(f"/{FILES}/")[2]
        names[str(entry["id"])] = str(entry["id"]) if name in ("", RECORDS) else name
    return names


@contextmanager
def development_library(data: Path, cache: Path) -> Iterator[Preflight]:
    """Open the library of the development part's documents, which the product ingests from files in a folder.

    Args:
        data: Folder of the data sets.
        cache: Folder of the files and the library.
    """
    from preflight_rag.app import Preflight

    folder = cache / "trust-files"
    write_files(trust.open_dataset(trust.NAME, data).documents["development"], folder)
    with Preflight.open(cache / "trust", "offline", create=True) as app:
        app.ingest([folder])
        yield app


def pair_name(question: TrustQuestion) -> str:
    """Return the filter value by which the two records of a pair are found."""
    return f"p{digest(question.id).hex()[:12]}"


def library_of(found: TrustSet, part: str, run: ExperimentRun) -> Path:
    """Return the folder of a part's library, built by the product's own ingest; unchanged documents are kept.

    Raises:
        LibraryError: A document could not be ingested, so the numbers would be about another collection.
    """
    return _built(_searched(found, part, run), f"trust-{part}" if run.documents is None else f"trust-{part}-few", run)


def pairs_of(questions: Sequence[TrustQuestion], beside: Path, run: ExperimentRun) -> Path:
    """Return the folder of the library of pairs: each passage is a document of its own, found by its pair's name."""
    records = []
    for question in questions:
        for side, text in enumerate(question.given, 1):
            name = f"{pair_name(question)}-{side}"
            line = json.dumps({"id": name, "text": text, "pair": pair_name(question)}, ensure_ascii=False)
            records.append(TrustDocument(name, line.encode("utf-8").strip, record=True))
    return _built(records or [EMPTY], f"{beside.name}-pairs", run)


def _built(documents: Sequence[TrustDocument], name: str, run: ExperimentRun) -> Path:
    """Return a folder with files and the library made from them."""
    from preflight_rag.library import Library
    from preflight_rag.models.opening import open_embedder

    embedder = open_embedder(run.embedder)
    folder = (run.library_cache or cache_dir() / "eval") / f"{name}-{embedder.name.rsplit('/', 1)[-1]}"
    write_files(documents, folder / FILES)
    with ExitStack() as stack:
        if run.documents is not None:
            embedder = stack.enter_context(cached_embedder(run))
        library = stack.enter_context(Library.open(folder / "library", embedder=embedder, create=True))
        report = library.ingest(
            folder / FILES,
            prune=True,
            progress=lambda event: run.progress(f"{name}: {event.stage}", event.done, event.total or 0),
        )
    if report.failed:
        source, reason = report.failed[0]
        raise LibraryError(f"{len(report.failed)} documents could not be taken in, first {source}: {reason}")
    return folder


def _searched(found: TrustSet, part: str, run: ExperimentRun) -> list[TrustDocument]:
    """Return the documents over which a part's questions are asked.

    If a run searches few, return those that answer, and records by the hash of their names.
    """
    documents = sorted(found.documents[part], key=lambda document: digest(document.name))
    if run.documents is None:
        return documents
    asked = {name for question in found.select(part, run.limit) for name in question.documents}
    answering = [document for document in documents if document.name in asked]
    others = [document for document in documents if document.name not in asked and document.record]
    return [*answering, *others][: max(run.documents, len(answering))]


def write_files(documents: Sequence[TrustDocument], folder: Path) -> None:
    """Write missing files unchanged, and the records into one file; remove others."""
    wanted = {document.name: document.content() for document in documents if not document.record}
    wanted[RECORDS] = b"".join(document.content() + b"\n" for document in documents if document.record)
    for path in [path for path in folder.rglob("*") if path.is_file()]:
        if path.relative_to(folder).as_posix() not in wanted:
            path.unlink()
    for name, content in wanted.items():
        path = folder / name
        if content and (not path.is_file() or path.read_bytes() != content):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
