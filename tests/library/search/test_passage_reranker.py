"""Reranking within limits and deadlines, and as a LangChain compressor."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import Document

from preflight_rag.library.search.passage_reranker import PassageReranker
from preflight_rag.library.search.retriever import LibraryRetriever
from preflight_rag.models.opening import open_reranker
from preflight_rag.models.reranking.rerankers import rerank
from preflight_rag.state.errors import RerankerError, UsageError
from preflight_rag.state.retrieval import Candidate
from preflight_rag.state.values import Passage

QUESTION = "Which factor does milvexian inhibit?"
DOCUMENTS = [
    Document("Tea contains caffeine.", metadata={"source": "tea.md"}),
    Document("Aspirin inhibits cyclooxygenase.", metadata={"title": "Aspirin"}),
    Document("Milvexian inhibits factor XIa.", metadata={"title": "Milvexian", "page": 3}),
]


class Fixed:
    """Scores by passage id, a given number at a time, on a clock that each batch moves on by one second."""

    name = "fixed"

    def __init__(self, scores, batch_size=None):
        self.scores, self.batch_size, self.now, self.batches = scores, batch_size, 0.0, []

    def score(self, question, candidates):
        self.now += 1
        self.batches.append(len(candidates))
        return np.array([self.scores[candidate.passage.id] for candidate in candidates])

    def clock(self):
        return self.now


def candidates(names):
    return [
        Candidate(Passage(id=name, document_id=name, text=name), rank=rank, score=1 / rank, cosine=0.0)
        for rank, name in enumerate(names, 1)
    ]


def names(found):
    return "".join(candidate.passage.id for candidate in found.order)


@pytest.mark.parametrize(
    ("scores", "options", "order", "note"),
    [
        ({"a": 1, "b": 2, "c": 3, "d": 4}, {}, "dcba", ""),
        ({"a": 1, "b": 1, "c": 2, "d": 1}, {}, "cabd", ""),
        ({"a": 1, "b": 2}, {"limit": 2}, "bacd", ""),
        ({"a": 1, "b": 2, "c": 3, "d": 4}, {"deadline": 0.5}, "bacd", "2 of 4 candidates were scored in 0.5 s"),
        ({"a": 1, "b": math.nan, "c": 3, "d": -math.inf}, {}, "cabd", "2 candidates got no usable score"),
    ],
)
def test_the_order(scores, options, order, note):
    reranker = Fixed(scores, batch_size=2)
    options = {"limit": 10, "deadline": 60, "clock": reranker.clock} | options
    found = rerank(reranker, QUESTION, candidates("abcd"), **options)
    assert names(found) == order
    assert note in found.note
    assert bool(found.note) == bool(note)
    assert [score is None for score in found.scores] == sorted(score is None for score in found.scores)


def test_batches():
    reranker = Fixed(dict.fromkeys("abcde", 0), batch_size=2)
    rerank(reranker, QUESTION, candidates("abcde"), limit=3, deadline=60)
    assert reranker.batches == [2, 1]
    together = Fixed(dict.fromkeys("abcde", 0))
    rerank(together, QUESTION, candidates("abcde"), limit=10, deadline=60)
    found = rerank(together, QUESTION, candidates("edcba"), limit=2, deadline=60)
    assert together.batches == [5, 5]
    assert found.scores == [0, 0, None, None, None]


def test_no_candidates():
    found = rerank(Fixed({}), QUESTION, [], limit=5, deadline=1)
    assert (found.order, found.scores, found.note) == ([], [], "")


@given(st.dictionaries(st.sampled_from("abcdefgh"), st.floats(), min_size=1), st.integers(1, 9), st.integers(1, 4))
def test_nothing_is_lost_and_scores_fall(scores, limit, batch):
    found = rerank(Fixed(scores, batch), QUESTION, candidates(scores), limit=limit, deadline=60)
    known = [score for score in found.scores if score is not None]
    assert sorted(names(found)) == sorted(scores)
    assert known == sorted(known, reverse=True)
    assert len(known) <= limit


@pytest.mark.parametrize(
    "options", [{"limit": 0, "deadline": 1}, {"limit": 1, "deadline": 0}, {"limit": 1, "deadline": math.nan}]
)
def test_limits_that_leave_nothing(options):
    with pytest.raises(UsageError, match=r"leave nothing to score"):
        rerank(Fixed({}), QUESTION, [], **options)


def test_names_of_rerankers():
    assert open_reranker("none") is None
    assert open_reranker("Features").name == "features"
    with pytest.raises(RerankerError, match="' ' is not a reranker"):
        open_reranker(" ")


@pytest.mark.parametrize("with_vectors", [False, True])
def test_any_documents_can_be_reranked(embedder, with_vectors):
    compressor = PassageReranker(top_n=2, embeddings=embedder if with_vectors else None)
    found = compressor.compress_documents(DOCUMENTS, QUESTION)
    assert found[0].page_content == DOCUMENTS[2].page_content
    assert found[0].metadata.keys() == {"title", "page", "relevance_score"}
    assert len(found) == 2
    assert "relevance_score" not in DOCUMENTS[2].metadata


async def test_documents_of_a_library(library):
    question = "How hot is the planet Venus?"
    found = LibraryRetriever(library=library, k=12).invoke(question)
    found = await PassageReranker(top_n=4).acompress_documents(found[::-1], question)
    scores = [document.metadata["relevance_score"] for document in found]
    assert scores == sorted(scores, reverse=True)
    assert found[0].metadata["title"] == "Venus, the hottest planet"


def test_documents_beyond_the_limit_say_so():
    found = PassageReranker(candidates=2).compress_documents(DOCUMENTS, QUESTION)
    assert found[2].metadata["rerank_note"] == "beyond the first 2 documents"
    assert "relevance_score" not in found[2].metadata


@pytest.mark.parametrize("spec", ["features", "none"])
def test_no_documents(spec):
    assert PassageReranker(reranker=spec).compress_documents([], QUESTION) == []


def test_without_a_reranker_the_order_stands():
    assert PassageReranker(reranker="none", top_n=2).compress_documents(DOCUMENTS, QUESTION) == DOCUMENTS[:2]


def test_a_reranker_of_ones_own():
    own = Fixed({"0": 3, "1": 2, "2": 1}, batch_size=1)
    found = PassageReranker(reranker=own).compress_documents(DOCUMENTS, QUESTION)
    assert [document.metadata["relevance_score"] for document in found] == [3, 2, 1]
