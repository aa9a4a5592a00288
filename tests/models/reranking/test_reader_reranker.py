"""The extractive reader as the second stage."""

import pytest
from langchain_core.documents import Document
from word_reader import WordReader

from preflight_rag.library.search.passage_reranker import PassageReranker
from preflight_rag.library.search.retrieval import retrieve_passages
from preflight_rag.models.opening import open_reranker
from preflight_rag.models.reranking.reader_reranker import ReaderReranker
from preflight_rag.models.reranking.rerankers import rerank
from preflight_rag.state.context import Settings
from preflight_rag.state.errors import RerankerError
from preflight_rag.state.retrieval import Candidate
from preflight_rag.state.values import Passage

QUESTION = "Which factor does milvexian inhibit?"
TEXTS = ["Tea contains caffeine.", "Milvexian is studied.", "Milvexian inhibits factor XIa."]


@pytest.fixture
def candidates():
    return [
        Candidate(Passage(id=str(i), document_id=str(i), text=text), i, 1 / i, 0.0) for i, text in enumerate(TEXTS, 1)
    ]


@pytest.mark.parametrize("heads", [True, False])
def test_by_relevance_or_else_by_answerability(candidates, heads):
    found = rerank(ReaderReranker(WordReader(heads=heads)), QUESTION, candidates, limit=9, deadline=9)
    assert [candidate.passage.id for candidate in found.order] == ["3", "2", "1"]
    assert found.scores == sorted(found.scores, reverse=True)


def test_limit_and_deadline_hold(candidates):
    reader, now = WordReader(), iter(range(9))
    found = rerank(
        ReaderReranker(reader, 1), QUESTION, candidates, limit=3, deadline=1.5, clock=lambda: float(next(now))
    )
    assert len(reader.pairs) == 1
    assert "1 of 3 candidates" in found.note
    rerank(ReaderReranker(reader, 1), QUESTION, candidates, limit=2, deadline=9)
    assert len(reader.pairs) == 3


def test_it_is_opened_by_its_name(candidates):
    reranker = open_reranker("Reader", batch_size=2)
    scores = reranker.score(QUESTION, candidates)
    assert (reranker.name, reranker.batch_size, scores.shape) == ("reader", 2, (3,))
    assert ((scores >= 0) & (scores <= 1)).all()
    assert reranker.score(QUESTION, []).shape == (0,)


@pytest.mark.parametrize("name", ["none", "/no/such/model"])
def test_without_a_reader_there_is_one_clear_line(name):
    with pytest.raises(RerankerError) as caught:
        open_reranker("reader", extractive_reader=name)
    assert name in caught.value.message
    assert caught.value.help


def test_it_takes_any_documents():
    documents = [Document(text, metadata={"title": "T"}) for text in TEXTS]
    compressor = PassageReranker(reranker=ReaderReranker(WordReader()), top_n=1)
    (best,) = compressor.compress_documents(documents, QUESTION)
    assert best.page_content == TEXTS[2]
    assert best.metadata["relevance_score"] == pytest.approx(1.0)


def test_a_turn_takes_the_reader_it_is_given(library):
    reader = WordReader()
    question = "How hot is the planet Venus?"
    retrieval = retrieve_passages(
        library, [question], Settings(k=4, reranker="reader", rerank_candidates=20), extractive=reader
    )
    assert len(reader.pairs) >= 20
    scores = [retrieval.relevance[candidate.passage.id] for candidate in retrieval.chosen]
    assert scores == sorted(scores, reverse=True)
