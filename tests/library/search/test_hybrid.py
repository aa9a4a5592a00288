"""The library as its callers use it: opening, hybrid search, passages."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from langchain_core.embeddings import DeterministicFakeEmbedding

from preflight_rag.library import Library
from preflight_rag.library.search.query import SearchQuery
from preflight_rag.state.errors import EmbedderMismatch, LibraryCorrupt, LibraryEmpty, LibraryMissing, UsageError
from preflight_rag.state.values import Document

FACTS = {
    "aspirin": "Aspirin lowers fever and prevents clots.",
    "insulin": "Insulin lowers blood sugar in diabetes.",
    "statins": "Statins lower LDL cholesterol.",
    "tea": "Green tea contains caffeine and catechins.",
    "vitamin": "Vitamin D helps the body to absorb calcium.",
    "il6": "Serum IL-6 was raised in severe COVID-19.",
}


def documents():
    return [Document(id=name, text=text, title=name.title(), source=f"{name}.txt") for name, text in FACTS.items()]


@pytest.fixture(scope="module")
def library(tmp_path_factory, embedder):
    with Library.open(tmp_path_factory.mktemp("library"), embedder=embedder, create=True) as opened:
        opened.add(documents())
        yield opened


@pytest.mark.parametrize(
    ("query", "document"),
    [
        ("What reduces cholesterol?", "statins"),
        ("il-6", "il6"),
        ("which drink has a stimulant in it?", "tea"),
        ("CALCIUM uptake", "vitamin"),
    ],
)
def test_the_right_passage_comes_first(library, query, document):
    assert library.search(query).fused[0].document_id == document


def test_rankings_are_numbered_and_cut(library):
    found = library.search(SearchQuery("what lowers blood sugar?", k=3))
    for ranking in (found.dense, found.fused):
        assert [hit.rank for hit in ranking] == [1, 2, 3]
        assert [hit.score for hit in ranking] == sorted((hit.score for hit in ranking), reverse=True)
    assert found.lexical[0].document_id == "insulin"


def test_scores_can_be_fused_in_place_of_ranks(library, embedder):
    query = "what lowers blood sugar?"
    found = library.search(SearchQuery(query, fusion="combsum"))
    vectors = library.vectors([hit.passage_id for hit in found.fused])
    near = vectors @ embedder.encode_query(query)
    words = {hit.passage_id: hit.score for hit in found.lexical}
    bm25 = np.array([words.get(hit.passage_id, min(words.values())) for hit in found.fused])
    expected = 0.6 * (near - near.min()) / np.ptp(near) + 0.4 * (bm25 - bm25.min()) / np.ptp(bm25)
    assert [hit.score for hit in found.fused] == pytest.approx(expected, abs=1e-5)
    assert [hit.score for hit in found.fused] == sorted((hit.score for hit in found.fused), reverse=True)
    assert library.search(query).fused[0].score == pytest.approx(2 / 61)


def test_every_fused_passage_has_its_cosine(library):
    found = library.search(SearchQuery("what lowers blood sugar?", candidates=2, k=4))
    query = library.embedder.encode_query("what lowers blood sugar?")
    titles = {name: name.title() for name in FACTS}
    for hit in found.fused:
        passage = library.embedder.encode_passages([(titles[hit.document_id], FACTS[hit.document_id])])[0]
        assert found.dense_scores[hit.passage_id] == pytest.approx(float(query @ passage), abs=1e-5)
    assert set(found.dense_scores) == {hit.passage_id for hit in found.fused}


def test_the_same_query_gives_the_same_result(library):
    assert library.search("fever") == library.search("fever")


def test_searches_from_many_threads(library):
    queries = [f"{name} number {n}" for n in range(5) for name in FACTS]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(library.search, queries)) == [library.search(query) for query in queries]


def test_a_query_of_100_000_characters(library):
    assert library.search("What lowers cholesterol? " + "filler words " * 7700).fused[0].document_id == "statins"


@pytest.mark.parametrize(("query", "options"), [("", {}), (" \n", {}), ("tea", {"k": 0}), ("tea", {"rrf_k": -1})])
def test_wrong_use(library, query, options):
    with pytest.raises(UsageError):
        library.search(SearchQuery(query, **options))


def test_a_query_without_words_still_has_neighbours(library):
    found = library.search("the of ?")
    assert (found.lexical, len(found.fused)) == ((), len(FACTS))


def test_passages_come_in_the_order_asked(library):
    names = [hit.passage_id for hit in library.search("fever").fused][::-1]
    assert [passage.id for passage in library.passages(names)] == names
    with pytest.raises(LibraryCorrupt, match="no passage 'gone'"):
        library.passages([names[0], "gone"])


def test_an_empty_and_a_missing_library(tmp_path, embedder):
    with Library.open(tmp_path / "new", embedder=embedder, create=True) as library:
        assert (library.verify(), library.stats()["index"], library.notes) == ([], None, [])
        with pytest.raises(LibraryEmpty, match="is empty"):
            library.search("tea")
    with pytest.raises(LibraryMissing, match="preflight ingest"):
        Library.open(tmp_path / "nowhere")


def test_it_opens_with_the_embedder_that_made_it(library):
    with Library.open(library.path) as again:
        assert again.search("fever").fused[0].document_id == "aspirin"
        assert again.stats()["embedder"]["name"] == "sentence-transformers/all-MiniLM-L6-v2"


def test_another_embedder_is_refused_with_the_way_out(library):
    other = DeterministicFakeEmbedding(size=384)
    with pytest.raises(EmbedderMismatch, match=r"made with sentence-transformers/all-MiniLM-L6-v2 .* new library"):
        Library.open(library.path, embedder=other)


def test_a_langchain_embedder_has_to_be_given_again(tmp_path):
    own = DeterministicFakeEmbedding(size=12)
    with Library.open(tmp_path, embedder=own, create=True) as library:
        library.add(documents())
        text = FACTS["tea"]
        assert library.search(f"Tea. {text}").dense[0].document_id == "tea"
    with Library.open(tmp_path) as again:
        assert again.stats()["documents"] == len(FACTS)
        with pytest.raises(EmbedderMismatch, match="made with DeterministicFakeEmbedding"):
            again.search("tea")


def test_vectors_in_the_file_are_plain_float32(library):
    (blob,) = library._store._connection.execute("SELECT vector FROM vectors LIMIT 1").fetchone()
    assert np.linalg.norm(np.frombuffer(blob, dtype="<f4")) == pytest.approx(1, abs=1e-5)


COLD = """
import sys
from preflight_rag.library import Library
with Library.open(sys.argv[1]) as library:
    found = library.search("what lowers fever?")
    print(library.passages([found.fused[0].passage_id])[0].document_id)
heavy = ("torch", "transformers", "sentence_transformers", "langchain_community", "sqlite_utils", "huggingface_hub")
print([name for name in heavy if name in sys.modules])
"""


def test_the_query_path_imports_nothing_heavy(library):
    result = subprocess.run(
        [sys.executable, "-c", COLD, str(library.path)], capture_output=True, text=True, check=True, timeout=300
    )
    assert result.stdout.split("\n")[:2] == ["aspirin", "[]"]
