"""A test collection: documents, queries, relevance judgements, and the split of its queries into two halves."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, TypeAlias, get_args

from preflight_rag.state.errors import UsageError
from preflight_rag.state.values import Document

Part: TypeAlias = Literal["test", "development", "all"]
PARTS: tuple[str, ...] = get_args(Part)


@dataclass(frozen=True)
class Query:
    """A question with the name that the data set gives it."""

    id: str
    text: str


@dataclass(frozen=True)
class Collection:
    """Documents, queries, and which documents are relevant to which query.

    Attributes:
        name: What `--dataset` calls it.
        title: Its public name.
        source: Where it is published.
        licence: As its publisher states it.
        files: The files that it was read from; their checksums go into the manifest.
        queries: In the order of the file.
        qrels: Query id to document id to grade; 0 means judged and not relevant.
        documents: Reads the documents anew at each call.
        corpus: Name of the corpus where several collections share one; their library is built once.
    """

    name: str
    title: str
    source: str
    licence: str
    files: tuple[Path, ...]
    queries: tuple[Query, ...]
    qrels: Mapping[str, Mapping[str, int]]
    documents: Callable[[], Iterator[Document]]
    corpus: str = ""

    def relevant(self, query_id: str) -> frozenset[str]:
        """Ids of the documents that answer a query."""
        return frozenset(document for document, grade in self.qrels.get(query_id, {}).items() if grade > 0)

    def select(self, part: str, limit: int | None = None) -> tuple[Query, ...]:
        """The judged queries of a part, ordered by the hash of their ids, so that a limit takes a fixed random sample.

        Raises:
            UsageError: There is no such part, the limit is below 1, or no query is left.
        """
        check_selection(part, limit)
        judged = (query for query in self.queries if self.relevant(query.id))
        chosen = sorted((query for query in judged if part in ("all", part_of(query.id))), key=lambda q: _digest(q.id))
        if not chosen:
            raise UsageError(
                f"{self.name} has no judged question in its {part} part",
                help="Try --part all, or check the judgements.",
            )
        return tuple(chosen[:limit])


def sampled(collection: Collection, wanted: Iterable[str], count: int | None) -> Collection:
    """A collection of few documents: all that are wanted, and others by the hash of their ids until there are `count`.

    Judgements of the rest are left out with it, so that a question is asked only for what is there.

    Args:
        collection: The whole; it is left as it is where no count is given.
        wanted: Ids of documents that answer; those that the collection has not are passed over.
        count: How many documents there are to be; more where more are wanted.
    """
    if count is None:
        return collection
    names = sorted((document.id for document in collection.documents()), key=_digest)
    asked = frozenset(wanted)
    held = [name for name in names if name in asked]
    kept = frozenset([*held, *(name for name in names if name not in asked)][: max(count, len(held))])
    drawn = hashlib.sha256("\n".join(sorted(kept)).encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return replace(
        collection,
        documents=lambda: (document for document in collection.documents() if document.id in kept),
        qrels={
            query: judged
            for query, grades in collection.qrels.items()
            if (judged := {name: grade for name, grade in grades.items() if name in kept})
        },
        corpus=f"{collection.corpus or collection.name} {len(kept)} {drawn}",
    )


def check_selection(part: str, limit: int | None, *, of: str = "question") -> None:
    """Refuse what selects nothing.

    Args:
        part: One of `PARTS`.
        limit: How many are wanted at most.
        of: What is selected.

    Raises:
        UsageError: There is no such part, or the limit is below 1.
    """
    if part not in PARTS:
        raise UsageError(f"part {part!r} is unknown", help=f"Choose {', '.join(PARTS[:-1])} or {PARTS[-1]}.")
    if limit is not None and limit < 1:
        raise UsageError(f"limit {limit} leaves no {of}", help="Give 1 or more, or leave --limit out.")


def part_of(query_id: str) -> Part:
    """The half that a query belongs to, by the first byte of the SHA-256 of its id.

    Even is development, for tuning; odd is test, for reporting.
    """
    return "test" if _digest(query_id)[0] % 2 else "development"


def _digest(query_id: str) -> bytes:
    return hashlib.sha256(query_id.encode("utf-8", "surrogatepass")).digest()
