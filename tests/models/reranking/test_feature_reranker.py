"""The reranker that needs no model: its features, its weights, and what it makes of candidates."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.metrics.pairwise import cosine_similarity

from preflight_rag.library.search.query import SearchQuery
from preflight_rag.models.reranking.feature_reranker import (
    ALL,
    FEATURES,
    WEIGHTS,
    FeatureReranker,
    features,
    is_keywords,
    trained,
)
from preflight_rag.state.retrieval import Candidate
from preflight_rag.state.values import Passage

pytestmark = pytest.mark.slow

QUESTION = "Which factor does milvexian inhibit?"
TEXTS = (
    "Milvexian is studied against thrombosis and inhibits factor XIa.",
    "Aspirin inhibits cyclooxygenase.",
    "A factor of many things, of which one may inhibit growth; milvexian is not one of them, they say.",
    "",
)


def candidate(rank, text, *, title="", document=None, cosine=0.5, dense=None, lexical=None, bm25=None):
    passage = Passage(id=str(rank), document_id=document or str(rank), text=text, title=title)
    return Candidate(passage, rank, 1 / rank, cosine, dense_rank=dense, lexical_rank=lexical, bm25=bm25)


def column(name, candidates, question=QUESTION):
    return features(question, candidates)[:, FEATURES.index(name)]


@pytest.fixture
def four():
    return [candidate(rank, text, dense=rank, cosine=1 - rank / 10) for rank, text in enumerate(TEXTS, 1)]


def test_the_words_of_the_question_count(four):
    coverage, proximity = column("coverage", four), column("proximity", four)
    assert coverage == pytest.approx([1, 1 / 3, 1, 0])
    assert proximity[0] > proximity[2] > proximity[1] == proximity[3] == 0


def test_rare_words_count_more():
    texts = ["milvexian", "factor", "factor", "factor", "factor"]
    share = column("idf coverage", [candidate(rank, text) for rank, text in enumerate(texts, 1)])
    assert share[0] > share[1] > 0


def test_a_title_with_all_of_the_question_matches():
    titles = ["What factor does Milvexian inhibit, and how?", "Milvexian", ""]
    found = [candidate(rank, "Text.", title=title) for rank, title in enumerate(titles, 1)]
    assert column("title match", found).tolist() == [1, 0, 0]
    assert not column("title match", found, question="?").any()


def test_rankings_that_lack_a_candidate():
    found = [candidate(1, "a", dense=1, lexical=1, bm25=9.0), candidate(2, "b", lexical=2, bm25=8.0), candidate(3, "c")]
    assert column("dense missing", found).tolist() == [0, 1, 1]
    assert column("bm25 missing", found).tolist() == [0, 0, 1]
    assert column("bm25 reciprocal rank", found)[2] == 0
    assert column("bm25 share", found) == pytest.approx([1, 0.8 / 1.8, 0])


def test_likeness_to_the_best_leaves_a_candidate_itself_out():
    texts = ["green tea", "aspirin fever", "aspirin fever", "aspirin pain", "fever pain", "aspirin", "venus"]
    near = column("term feedback z", [candidate(rank, text) for rank, text in enumerate(texts, 1)])
    assert near[0] == near[6] == near.min()
    assert near[5] > near[6]


WORDS = ("fever", "zinc", "aspirin", "pain", "tea", "cold")


@given(
    question=st.lists(st.sampled_from(WORDS[:4]), min_size=1, max_size=5),
    texts=st.lists(st.lists(st.sampled_from(WORDS), max_size=12), min_size=1, max_size=4),
)
def test_words_near_each_other_are_those_that_counting_finds(question, texts):
    """Each window and each pair of neighbours is looked at, one by one."""
    found = [candidate(rank, " ".join(text)) for rank, text in enumerate(texts, 1)]
    pairs = set(itertools.pairwise(question))
    for row, text in enumerate(texts):
        wanted = set(question) & set(text)
        windows = [
            end - start
            for start in range(len(text))
            for end in range(start + 1, len(text) + 1)
            if wanted <= set(text[start:end])
        ]
        near = len(wanted) / min(windows) if len(wanted) > 1 else 0
        places = [place for place, word in enumerate(text) if word in wanted]
        shared = len(pairs & set(itertools.pairwise(text))) / len(pairs) if pairs else 0
        asked = " ".join(question)
        assert column("proximity", found, asked)[row] == pytest.approx(near)
        assert column("bigrams", found, asked)[row] == pytest.approx(shared)
        assert column("first match", found, asked)[row] == pytest.approx(1 / (1 + places[0] / 10) if places else 0)


@given(texts=st.lists(st.lists(st.sampled_from(WORDS), max_size=12), min_size=2, max_size=8))
def test_likeness_to_the_best_is_the_mean_cosine(texts):
    """Of vectors of (1 + log count) * log(1 + n / texts with the word), worked out with scikit-learn."""
    given_ = [candidate(rank, " ".join(text)) for rank, text in enumerate(texts, 1)]
    counts = CountVectorizer(vocabulary=list(WORDS)).transform(" ".join(text) for text in texts).toarray()
    idf = np.log(1 + len(texts) / np.maximum((counts > 0).sum(axis=0), 1))
    near = cosine_similarity(np.where(counts, 1 + np.log(np.maximum(counts, 1)), 0) * idf)[:, :5]
    means = [np.delete(row, row_number).mean() if row_number < 5 else row.mean() for row_number, row in enumerate(near)]
    spread = np.std(means)
    expected = (np.array(means) - np.mean(means)) / spread if spread > 1e-9 else np.zeros(len(texts))
    assert column("term feedback z", given_) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Which factor does milvexian inhibit?", False),
        ("milvexian factor?", False),
        ("Milvexian is an inhibitor of factor XIa", False),
        ("milvexian factor inhibition", True),
    ],
)
def test_keywords_are_no_sentence(question, expected):
    assert is_keywords(question) == expected


@given(st.lists(st.text(max_size=40), max_size=8), st.text(max_size=30))
def test_features_are_finite_whatever_the_texts(texts, question):
    found = features(question, [candidate(rank, text, title=text[:5]) for rank, text in enumerate(texts, 1)])
    assert found.shape == (len(texts), len(FEATURES))
    assert np.isfinite(found).all()


def test_nothing_to_rank():
    assert FeatureReranker.shipped().score(QUESTION, []).shape == (0,)


def test_the_passage_that_answers_comes_first(library):
    question = "How hot is the planet Venus?"
    found = library.candidates(SearchQuery(question, candidates=20))[::-1]
    scores = FeatureReranker.shipped().score(question, found)
    assert scores.shape == (len(found),)
    assert found[int(scores.argmax())].passage.title == "Venus, the hottest planet"


def test_the_file_of_weights_is_complete_and_readable():
    weights = trained()["weights"]
    folds = {ALL, "bioasq", "scifact", "nfcorpus", "cranfield", "cisi", "medquad"}
    assert tuple(weights) == FEATURES
    assert all(set(row) == folds for row in weights.values())
    assert len(WEIGHTS.read_text(encoding="utf-8").splitlines()) < 80
    assert json.loads(WEIGHTS.read_text(encoding="utf-8"))["about"]


@pytest.mark.parametrize("name", ["features", "reader"])
def test_a_reranker_of_the_package_runs_without_torch(name):
    code = (
        "import sys; "
        f"from preflight_rag.models.opening import open_reranker as o; o({name!r}).score('a', []);"
        "sys.exit(bool({'torch', 'scipy', 'sentence_transformers', 'transformers'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
