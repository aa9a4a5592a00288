"""One ranking of what the library found and of what NCBI found."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ncbi_server import DOWN, Fault, NcbiServer

from preflight_rag.library import Library
from preflight_rag.library.search.merging import merge, rank_pool
from preflight_rag.library.search.query import SearchQuery
from preflight_rag.pubmed import fetch_documents
from preflight_rag.state.retrieval import Candidate
from preflight_rag.state.values import Passage

QUESTION = "Is metformin safe in heart failure?"


def passage(name, text="", **metadata):
    return Passage(id=name, document_id=f"d{name}", text=text or f"text {name}", metadata=metadata)


def candidate(name, rank=1, *, cosine=0.5, bm25=None, text=""):
    return Candidate(passage(name, text), rank, 0.1, cosine, dense_rank=rank, lexical_rank=rank, bm25=bm25)


@pytest.fixture
def own(own_folder, embedder):
    with Library.open(own_folder, embedder=embedder) as library:
        yield library


def test_live_and_local_passages_are_ranked_together(own, ncbi_client_of):
    local = own.candidates(SearchQuery(QUESTION, candidates=10))
    with NcbiServer() as server:
        fetched = fetch_documents(ncbi_client_of(server), ['metformin AND "heart failure"'])
    live = own.intern(fetched.documents).passages
    merged = merge(own, QUESTION, local, live)
    assert [found.rank for found in merged] == list(range(1, len(local) + len(live) + 1))
    assert {found.origin for found in merged[:2]} == {"D1", "D2"}
    assert {found.found_by for found in merged[:2]} == {"term"}
    assert {found.found_by for found in merged if not found.origin} == {"semantic"}


def test_at_the_next_turn_they_are_found_both_ways(own, ncbi_client_of):
    with NcbiServer() as server:
        live = own.intern(fetch_documents(ncbi_client_of(server), ["metformin AND heart"]).documents).passages
    merged = merge(own, QUESTION, own.candidates(SearchQuery(QUESTION, candidates=10)), live)
    assert merged[0].found_by == "both"
    assert len({found.passage.id for found in merged}) == len(merged)


def test_what_came_just_now_was_found_by_ncbi_even_when_the_library_finds_it_too(own, ncbi_client_of):
    with NcbiServer() as server:
        interned = own.intern(fetch_documents(ncbi_client_of(server), ["metformin AND heart"]).documents)
    local = own.candidates(SearchQuery(QUESTION, candidates=10))
    merged = merge(own, QUESTION, local, interned.passages, new=interned.new)
    assert {found.passage.id for found in merged if found.found_by == "term"} == interned.new
    assert {found.found_by for found in merged} == {"semantic", "term"}


def test_without_live_passages_the_local_ones_remain(own, ncbi_client_of):
    with NcbiServer(script=[Fault("heart", DOWN)]) as server:
        fetched = fetch_documents(ncbi_client_of(server, attempts=1), ["heart"])
    local = own.candidates(SearchQuery(QUESTION, candidates=10))
    merged = merge(own, QUESTION, local, own.intern(fetched.documents).passages)
    assert fetched.problems
    assert {found.passage.id for found in merged} == {found.passage.id for found in local}
    assert {found.found_by for found in merged} == {"semantic"}


def test_depth_limits_what_comes_back(own):
    assert len(merge(own, QUESTION, own.candidates(SearchQuery(QUESTION, candidates=10)), [], depth=4)) == 4


def test_an_unknown_bm25_is_put_on_the_librarys_scale():
    local = [candidate("a", bm25=20.0, text="statin pain pain"), candidate("b", 2, bm25=10.0, text="statin and rest")]
    live = [passage("c", "statin pain pain"), passage("d", "of frogs")]
    ranked = rank_pool("statin pain", local, live, {"a": 0.9, "b": 0.5, "c": 0.4, "d": 0.3})
    scores = {found.passage.id: found.bm25 for found in ranked}
    assert (scores["a"], scores["b"], scores["d"]) == (20.0, 10.0, None)
    assert 15 < scores["c"] < 30
    assert ranked[0].passage.id == "a"


@given(
    st.dictionaries(st.sampled_from("abcdefgh"), st.floats(-1, 1), min_size=1),
    st.sets(st.sampled_from("abcdefgh")),
    st.sets(st.sampled_from("abcdefgh")),
)
def test_every_passage_has_one_place_and_says_how_it_was_found(cosine, local, live):
    local, live = local & set(cosine), live & set(cosine)
    ranked = rank_pool("text a", [candidate(name) for name in sorted(local)], list(map(passage, live)), cosine)
    kinds = {found.passage.id: found.found_by for found in ranked}
    expected = {
        name: "both" if name in local & live else "semantic" if name in local else "term" for name in local | live
    }
    assert kinds == expected
    assert sorted(found.rank for found in ranked) == list(range(1, len(kinds) + 1))
    assert sorted(found.dense_rank for found in ranked) == list(range(1, len(kinds) + 1))


def test_only_ncbis_own_origins_count():
    assert candidate("a").origin == ""
    assert Candidate(passage("a", origin="D2"), 1, 0.1, 0.5).origin == "D2"
    assert Candidate(passage("a", origin="my own"), 1, 0.1, 0.5).origin == ""
