"""The way from a question to the passages that go on."""

from __future__ import annotations

import numpy as np
import pytest
from ncbi_server import DOWN, Fault, NcbiServer

from preflight_rag.library.library import Library
from preflight_rag.library.search.retrieval import retrieve_passages
from preflight_rag.pubmed import EntrezClient
from preflight_rag.state.context import Settings
from preflight_rag.state.errors import LibraryEmpty, RerankerError, UsageError
from preflight_rag.state.values import Document

VENUS = "How hot is the planet Venus?"
TRIAL = "A trial of apixaban begun in {} had so many patients."


def test_the_second_stage_orders_the_pool_and_says_by_what(library):
    retrieval = retrieve_passages(library, [VENUS], Settings(k=5))
    assert len(retrieval.chosen) == 5
    scores = [retrieval.relevance[candidate.passage.id] for candidate in retrieval.chosen]
    assert scores == sorted(scores, reverse=True)
    assert "venus" in retrieval.chosen[0].passage.source


def test_without_second_stage_the_fused_ranking_goes_on(library):
    retrieval = retrieve_passages(library, [VENUS], Settings(k=5, reranker="none"))
    assert [candidate.passage.id for candidate in retrieval.chosen] == [
        hit.passage_id for hit in retrieval.found.fused[:5]
    ]
    assert retrieval.relevance == {}


def test_parts_of_a_question_each_bring_their_passages(library):
    people = "How many people live in Broken Bow, Nebraska?"
    queries = [f"How hot is Venus? {people}", VENUS, people]
    sources = [candidate.passage.source for candidate in retrieve_passages(library, queries, Settings(k=2)).chosen]
    assert any("venus" in source for source in sources)
    assert any("broken-bow" in source for source in sources)


def test_every_expression_that_was_tried_is_told_with_its_hits(library):
    ladder = ['"planet venus" AND "zebra"', "venus", "venus OR mars"]
    rungs = retrieve_passages(library, [VENUS], Settings(enough_documents=1), expressions=ladder).rungs
    assert [rung.expression for rung in rungs] == ladder[:2]
    assert rungs[0].hits == 0
    assert rungs[1].hits > 0


@pytest.mark.parametrize("diversity", ["none", "mmr", "fps"])
def test_what_was_retracted_is_ranked_last_and_its_title_says_so(embedder, tmp_path, diversity):
    """The one that says most about the question comes behind all others, and is left out where there are enough."""
    texts = {
        "RETRACTED: Statins cure gout": "Do statins cure gout? Yes: statins cure gout in all patients.",
        "Gout": "Gout was treated with colchicine.",
        "Ferries": "The ferry left the island at noon.",
    }
    with Library.open(tmp_path, embedder=embedder, create=True) as library:
        library.add([Document(id=title, title=title, text=text, source="s") for title, text in texts.items()])
        for k, expected in ((3, 1), (2, 0)):
            chosen = retrieve_passages(library, ["Do statins cure gout?"], Settings(k=k, diversity=diversity)).chosen
            titles = [candidate.passage.title for candidate in chosen]
            assert len(titles) == k
            assert sum(title.startswith("RETRACTED: ") for title in titles) == expected
            assert expected == 0 or diversity != "none" or titles[-1].startswith("RETRACTED: ")


def test_a_filter_that_nothing_fits_leaves_nothing(library):
    retrieval = retrieve_passages(library, [VENUS], Settings(where=("title ~ zebra",)))
    assert retrieval.chosen == []
    assert retrieval.problems == [("where", "No passage fits the filter: title ~ zebra")]


def test_a_budget_and_an_ordering_are_kept(library):
    retrieval = retrieve_passages(library, [VENUS], Settings(budget_tokens=300, ordering="1:1", diversity="mmr"))
    assert 0 < sum(candidate.passage.tokens for candidate in retrieval.chosen) <= 300
    assert len(retrieval.chosen) > 1


def by_the_book(library, pool, alpha, window, k):
    """Equation 1 over a pool in its order, candidate by candidate: its cosines handed out from the first on."""
    vectors = library.vectors([candidate.passage.id for candidate in pool])
    cosines = vectors @ vectors.T / np.outer(*[np.linalg.norm(vectors, axis=1)] * 2)
    worth = sorted((candidate.cosine for candidate in pool), reverse=True)
    picks = [0]
    while len(picks) < k:
        rest = [c for c in range(len(pool)) if c not in picks]
        picks.append(max(rest, key=lambda c: alpha * worth[c] - (1 - alpha) * max(cosines[c, picks[-window:]])))
    return [pool[pick].passage.id for pick in picks]


@pytest.mark.parametrize("reranker", ["none", "features"])
def test_mmr_weighs_cosines_against_cosines(library, reranker):
    pool = retrieve_passages(library, [VENUS], Settings(k=200, reranker=reranker)).chosen
    settings = Settings(k=6, reranker=reranker, diversity="mmr", alpha=0.55, window=2)
    picked = [candidate.passage.id for candidate in retrieve_passages(library, [VENUS], settings).chosen]
    assert picked == by_the_book(library, pool, 0.55, 2, 6)
    assert picked != [candidate.passage.id for candidate in pool[:6]]


def test_recency_counts_under_diversity_too(tmp_path, embedder):
    years = [
        Document(id=f"y{year}", text=TRIAL.format(year), date=str(year), source=str(year)) for year in range(2010, 2020)
    ]

    def mean_year(recency, **settings):
        found = retrieve_passages(own, ["trial of apixaban"], Settings(k=4, recency=recency, **settings)).chosen
        return sum(int(candidate.passage.document_id.lstrip("y")) for candidate in found) / 4

    with Library.open(tmp_path, embedder=embedder, create=True) as own:
        own.add(years)
        for settings in ({}, {"diversity": "mmr"}, {"diversity": "modified-fps"}, {"preset": "one-document-qa"}):
            assert mean_year(1, **settings) > mean_year(0, **settings)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"alpha": 0.5}, "alpha changes nothing without a selector"),
        ({"where": ("colour = red",)}, "colour"),
        ({"since": "the day after"}, "the day after"),
        ({"subtree": "Neoplasms"}, "needs a MeSH file"),
        ({"budget_tokens": 1}, "budget"),
    ],
)
def test_what_cannot_be_used_is_one_clear_line(library, settings, message):
    with pytest.raises(UsageError, match=message):
        retrieve_passages(library, [VENUS], Settings(**settings))


def test_an_unknown_reranker_is_named(library):
    with pytest.raises(RerankerError, match="no/such-reranker"):
        retrieve_passages(library, [VENUS], Settings(reranker="no/such-reranker"))


def test_what_pubmed_has_goes_on_and_stays(own_folder, embedder):
    settings, question = Settings(k=6), "Is metformin safe in heart failure?"
    with (
        Library.open(own_folder, embedder=embedder) as own,
        NcbiServer() as server,
        EntrezClient(url=server.url) as ncbi,
    ):
        retrieval = retrieve_passages(
            own, ["Is metformin safe in heart failure?"], settings, expressions=["metformin"], pubmed=ncbi
        )
        live = [candidate for candidate in retrieval.chosen if candidate.origin]
        assert live
        assert {candidate.found_by for candidate in live} <= {"term", "both"}
        assert own.passages([live[0].passage.id])[0].text == live[0].passage.text
        by_term = retrieve_passages(own, [question], Settings(where=("found_by in (term, both)",)), pubmed=ncbi)
        assert by_term.chosen
        assert {candidate.found_by for candidate in by_term.chosen} <= {"term", "both"}
    with Library.open(own_folder, embedder=embedder) as again:
        later = retrieve_passages(again, [question], settings)
        assert live[0].passage.id in {candidate.passage.id for candidate in later.chosen}


def test_the_librarys_answer_is_there_when_ncbi_is_down(own_folder, embedder):
    down = [Fault("", DOWN)]
    with Library.open(own_folder, embedder=embedder) as own, NcbiServer(script=down) as server:
        with EntrezClient(url=server.url, attempts=1) as ncbi:
            retrieval = retrieve_passages(own, [VENUS], Settings(k=3), expressions=["venus"], pubmed=ncbi)
    assert "venus" in retrieval.chosen[0].passage.source
    assert retrieval.problems
    assert retrieval.problems[0][0] == "pubmed"


def test_an_empty_library_serves_what_pubmed_has(tmp_path, embedder):
    with Library.open(tmp_path, embedder=embedder, create=True) as empty:
        with pytest.raises(LibraryEmpty):
            retrieve_passages(empty, ["metformin"], Settings())
        with NcbiServer() as server, EntrezClient(url=server.url) as ncbi:
            assert retrieve_passages(empty, ["metformin"], Settings(), pubmed=ncbi).chosen


def test_an_empty_library_and_no_ncbi_are_both_said(tmp_path, embedder):
    with (
        Library.open(tmp_path, embedder=embedder, create=True) as empty,
        NcbiServer(script=[Fault("", DOWN)]) as server,
    ):
        with EntrezClient(url=server.url, attempts=1) as ncbi, pytest.raises(LibraryEmpty, match="PubMed gave nothing"):
            retrieve_passages(empty, ["metformin"], Settings(), pubmed=ncbi)


def test_one_document_does_not_fill_the_context_where_others_are_as_near(tmp_path, embedder):
    planted = "\n\n".join(f"Zinc makes colds last longer, says part {n}. " + "It is so. " * 60 for n in range(20))
    others = [Document(id=f"o{n}", source=f"o{n}", text=f"Zinc makes colds shorter, says study {n}.") for n in range(9)]
    with Library.open(tmp_path / "library", embedder=embedder, create=True) as library:
        library.add([Document(id="planted", source="p", text=planted), *others])
        given = {}
        for share in (1.0, 0.5, 0.25):
            chosen = retrieve_passages(
                library, ["Zinc makes colds last longer"], Settings(k=8, document_share=share)
            ).chosen
            assert [candidate.rank for candidate in chosen] == list(range(1, 9))
            given[share] = sum(candidate.passage.document_id == "planted" for candidate in chosen)
        alone = retrieve_passages(library, ["Zinc"], Settings(k=8, where=("id = planted",))).chosen
    assert given[0.5] <= 4
    assert given[0.25] <= 2
    assert given[1.0] > 4
    assert len(alone) == 8
