"""CPQA's query pipeline with its own parts (sections III.B to III.D), each of which can be left out or exchanged.

Rewriting makes a ladder of Boolean expressions from a question, hybrid search (HSRDR) adds their results to those of
semantic search, a splitter (SEOS) cuts the found documents, a retriever ranks the chunks, and a second stage sorts the
first of them. NCBI is replaced by a search over the collection's own documents.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from evaluation.bench import SearchBench
from evaluation.experiments.sources import (
    DocumentSearch,
    boolean_documents,
    known_documents,
    ladders_of,
    second_stage,
    semantic_candidates,
    stand_in,
)
from evaluation.experiments.splitters import OURS, Method, long_embedder, methods, word_pieces
from evaluation.samples import Sample
from evaluation.searched import corpus_of
from evaluation.vector_cache import cached_embedder
from preflight_rag.library.library import Library
from preflight_rag.library.search.merging import rank_pool
from preflight_rag.models.reranking.rerankers import Reranker, rerank
from preflight_rag.state.reading import Source
from preflight_rag.state.values import Document, Passage

TOP = 5
"""Passages, or whole documents, of a prompt, as in CPQA."""
POOL = 10
"""Documents of each path (a guess: CPQA does not say)."""
CANDIDATES = 20
"""Chunks that the second stage reads (a guess)."""
NAIVE_SPLITTER = "fixed 512, overlap 0"
DENSE, SECOND, LEXICAL, FUSED = "dense", "second dense", "BM25", "fused"
_OPERATORS = frozenset({"AND", "OR", "NOT"})


@dataclass(frozen=True)
class PipelineParts:
    """Which parts a run of the pipeline has.

    Attributes:
        rewriting: A ladder of the question's concepts; without it, the question's words are searched for unchanged.
        hybrid: Boolean search in addition to semantic search.
        splitter: How documents are split, by the names of `splitters.methods`.
        retriever: What ranks chunks: vectors, those of a second embedder, BM25 or both.
        second_stage: Whether the first chunks are reordered.
        origins: Kinds of documents that are read (D1, D2, D3); None: all, also those of neither PubMed nor PMC.
    """

    rewriting: bool = True
    hybrid: bool = True
    splitter: str = OURS
    retriever: str = DENSE
    second_stage: bool = True
    origins: frozenset[str] | None = None


@dataclass
class QueryPipeline:
    """The pipeline over a library; get one with `open_pipeline`.

    Attributes:
        library: The library for semantic search.
        documents: The same documents whole, by id.
        client: The replacement of NCBI.
        ids: The documents' ids by NCBI's keys.
        origins: The kind of each document.
        splitters: By retriever and name, a splitter with the embedder of its chunks; those of the first embedder are
            `DENSE`, of a second one `SECOND`.
        reranker: The second stage.
        ladders: Expressions by question id.
    """

    library: Library
    documents: Mapping[str, Document]
    client: DocumentSearch[Any]
    ids: Mapping[tuple[str, str], str]
    origins: Mapping[str, str]
    splitters: Mapping[str, Mapping[str, Method]]
    reranker: Reranker
    ladders: Mapping[str, Sequence[str]]
    _cut: dict[tuple[str, str, str], tuple[list[Passage], np.ndarray]] = field(default_factory=dict)

    def naive(self, question: Sample) -> tuple[Source, ...]:
        """Return the passages of CPQA's baseline 2: the whole texts of the first documents of semantic search."""
        names = self._semantic(question, TOP)
        documents = (self.documents[name] for name in names[:TOP])
        return tuple(Source(n, d.id, d.title, d.text) for n, d in enumerate(documents, 1))

    def pool(self, question: Sample, parts: PipelineParts) -> list[str]:
        """Return the ids of the documents that are found."""
        names = self._semantic(question, POOL)
        if parts.hybrid:
            ladder = self.ladders[question.id] if parts.rewriting else [as_it_is(question.question)]
            names += boolean_documents(self.client, ladder, self.ids, POOL)
        found = list(dict.fromkeys(names))
        if parts.origins is None:
            return found
        return [name for name in found if self.origins.get(name) in parts.origins]

    def passages(self, question: Sample, parts: PipelineParts) -> tuple[Source, ...]:
        """Return the passages for the prompt that the pipeline with these parts finds, best first."""
        embedded = SECOND if parts.retriever == SECOND else DENSE
        method = self.splitters[embedded][parts.splitter]
        cut = [
            self._chunks(method, (embedded, parts.splitter, name), self.documents[name])
            for name in self.pool(question, parts)
        ]
        chunks = [chunk for passages, _ in cut for chunk in passages]
        if not chunks:
            return ()
        similar = np.concatenate([vectors for _, vectors in cut]) @ method.embedder.encode_query(question.question)
        cosine = {chunk.id: float(value) for chunk, value in zip(chunks, similar, strict=True)}
        order = rank_pool(question.question, [], chunks, cosine)
        if parts.retriever in (DENSE, SECOND):
            order.sort(key=lambda candidate: candidate.dense_rank or len(chunks))
        elif parts.retriever == LEXICAL:
            order.sort(key=lambda candidate: candidate.lexical_rank or len(chunks) + (candidate.dense_rank or 0))
        order = order[:CANDIDATES]
        if parts.second_stage:
            order = list(rerank(self.reranker, question.question, order, limit=len(order), deadline=float("inf")).order)
        return tuple(Source.of(candidate.passage, n) for n, candidate in enumerate(order[:TOP], 1))

    def _semantic(self, question: Sample, count: int) -> list[str]:
        """Return the documents nearest to a question by dense retrieval, nearest first."""
        found = semantic_candidates(self.library, question.question, count)
        return list(dict.fromkeys(candidate.passage.document_id for candidate in found))

    def _chunks(
        self, method: Method, key: tuple[str, str, str], document: Document
    ) -> tuple[list[Passage], np.ndarray]:
        """Return a document's chunks with their vectors, computed once."""
        if key not in self._cut:
            spans = method.split(document, word_pieces(method.embedder, document.text))
            passages = [
                Passage(
                    id=f"{document.id}:{span.start}-{span.end}",
                    document_id=document.id,
                    text=document.text[span.start : span.end],
                    title=document.title,
                    source=document.source,
                    start=span.start,
                    end=span.end,
                )
                for span in spans
            ]
            self._cut[key] = passages, method.embedder.encode_passages([passage.text for passage in passages])
        return self._cut[key]


@contextmanager
def open_pipeline(bench: SearchBench) -> Iterator[QueryPipeline]:
    """Yield the pipeline over a bench's library, with the ladders of its questions: from the model, else by rules."""
    library = bench.searched.library
    held = {row["id"] for row in library.documents()}
    documents = {document.id: document for document in corpus_of(bench.found)[0].documents() if document.id in held}
    known = known_documents(documents.values())
    names = (bench.run.passage_embedder or "").split(",")
    with ExitStack() as stack:
        made: list[Mapping[str, Method]] = []
        for name in names:
            run = replace(bench.run, embedder=name.strip() or None)
            embedder = stack.enter_context(cached_embedder(run))
            long = long_embedder(embedder, run)
            made.append(methods(embedder, stack.enter_context(cached_embedder(run, long)) if long else None))
        yield QueryPipeline(
            library=library,
            documents=documents,
            client=stand_in(known),
            ids={(record.database, record.id): name for name, (record, _) in known.items()},
            origins={name: origin for name, (_, origin) in known.items()},
            splitters={DENSE: made[0], **({SECOND: made[1]} if len(made) > 1 else {})},
            reranker=second_stage(bench.run, bench.searched.reranker),
            ladders=ladders_of(bench.questions, library, bench.asking, bench.found.name),
        )


def as_it_is(question: str) -> str:
    """Return a question's words as one search term, which PubMed joins by AND."""
    words = re.findall(r"[^\W_]+(?:-[^\W_]+)*", question)
    return " ".join(word.lower() if word in _OPERATORS else word for word in words)
