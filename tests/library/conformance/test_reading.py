"""What every engine answers: rankings, filters, passages by id, lists, counts."""

from __future__ import annotations

import math
import random
from itertools import pairwise

import numpy as np
import pytest
from six_documents import DATES, TEXTS, documents

from preflight_rag.ingest.identity import passage_id
from preflight_rag.library import Library
from preflight_rag.library.search.filters import Filter
from preflight_rag.library.search.query import SearchQuery
from preflight_rag.state.errors import (
    EmbedderMismatch,
    LibraryClosed,
    LibraryEmpty,
    LibraryError,
    LibraryMissing,
    PassageGone,
    UsageError,
)
from preflight_rag.state.values import Document

QUERY = "what contains caffeine?"


def names(ranking):
    return [hit.document_id for hit in ranking]


def id_of(name):
    return passage_id(name, 0, TEXTS[name])


def test_ids_are_made_of_the_documents_alone(collection):
    assert collection.all_passage_ids() == sorted(map(id_of, TEXTS))


def test_passages_are_what_was_stored_in_the_order_asked_for(collection):
    wanted = ["zinc", "aspirin", "venus"]
    found = collection.passages([id_of(name) for name in wanted])
    assert [(each.document_id, each.text, each.title) for each in found] == [
        (name, TEXTS[name], name.capitalize()) for name in wanted
    ]
    assert [each.date for each in found[:2]] == [DATES["zinc"], DATES["aspirin"]]
    assert found[0].metadata["topic"] == "other"
    assert (found[0].start, found[0].end) == (0, len(TEXTS["zinc"]))


def test_vectors_are_the_embedders(collection, embedder):
    wanted = ["tea", "iron"]
    expected = embedder.encode_passages([(name.capitalize(), TEXTS[name]) for name in wanted])
    found = collection.vectors([id_of(name) for name in wanted])
    assert found.dtype == np.float32
    assert found == pytest.approx(expected, abs=1e-6)
    assert collection.vectors([]).shape == (0, embedder.dimension)


def test_the_dense_ranking_is_by_inner_product(collection, embedder):
    query = embedder.encode_query(QUERY)
    vectors = embedder.encode_passages([(name.capitalize(), text) for name, text in TEXTS.items()])
    scores = dict(zip(TEXTS, (vectors @ query).tolist(), strict=True))
    found = collection.search(SearchQuery(QUERY, k=6)).dense
    assert names(found) == sorted(scores, key=lambda name: -scores[name])
    assert [hit.score for hit in found] == pytest.approx([scores[hit.document_id] for hit in found], abs=1e-5)
    assert [hit.rank for hit in found] == [1, 2, 3, 4, 5, 6]


def test_the_lexical_ranking_is_by_bm25(collection):
    """A word that two of six passages have once each: Robertson and Zaragoza (2009), equation 3.15, with Lucene's idf.

    With k1 = 1.2 and b = 0.75 the length changes the weight by less than a quarter here.
    """
    found = collection.search(SearchQuery("caffeine", k=6)).lexical
    assert sorted(names(found)) == ["coffee", "tea"]
    idf = math.log(1 + (6 - 2 + 0.5) / (2 + 0.5))
    assert all(0.8 * idf < hit.score < 1.25 * idf for hit in found)
    assert found[0].score >= found[1].score


def test_rare_words_outweigh_common_ones(collection):
    found = collection.search(SearchQuery("caffeine in tea", k=6)).lexical
    assert names(found)[:2] == ["tea", "coffee"]


def test_words_are_compared_without_case_accents_and_endings(collection):
    assert names(collection.search(SearchQuery("SHORTENS CÓLDS", k=3)).lexical) == ["zinc"]


def test_the_fused_ranking_is_reciprocal_rank_fusion(collection):
    found = collection.search(SearchQuery(QUERY, k=6, rrf_k=60))
    shares = {}
    for ranking in (found.dense, found.lexical):
        for hit in ranking:
            shares[hit.passage_id] = shares.get(hit.passage_id, 0) + 1 / (60 + hit.rank)
    assert {hit.passage_id: hit.score for hit in found.fused} == pytest.approx(shares)
    assert all(one.score >= other.score for one, other in pairwise(found.fused))
    assert found.dense_scores.keys() == {hit.passage_id for hit in found.fused}


def test_scores_can_be_fused_instead(collection):
    found = collection.search(SearchQuery(QUERY, k=6, fusion="combsum"))
    assert {found.fused[0].document_id, found.fused[1].document_id} == {"coffee", "tea"}
    assert max(hit.score for hit in found.fused) <= 1 + 1e-9


@pytest.mark.parametrize(("k", "candidates", "length"), [(1, 100, 1), (3, 3, 3), (6, 1, 6), (50, 100, 6)])
def test_how_many_are_given_and_fused(collection, k, candidates, length):
    found = collection.search(SearchQuery(QUERY, k=k, candidates=candidates))
    assert len(found.fused) == length
    assert len(found.dense) == min(k, 6)


def test_candidates_carry_their_passages_and_places(collection):
    found = collection.candidates(SearchQuery(QUERY, candidates=4))
    rankings = collection.search(SearchQuery(QUERY, k=4, candidates=4))
    assert [each.passage.id for each in found] == [hit.passage_id for hit in rankings.fused]
    assert [each.rank for each in found] == [1, 2, 3, 4]
    assert {each.passage.document_id for each in found if each.bm25 is not None} == {"coffee", "tea"}
    for each in found:
        assert each.cosine == pytest.approx(rankings.dense_scores[each.passage.id])


@pytest.mark.parametrize(
    ("where", "since", "until", "fitting"),
    [
        (["topic = drink"], None, None, {"coffee", "tea"}),
        (["topic != drink"], None, None, {"aspirin", "iron", "venus", "zinc"}),
        (["TOPIC ~ RIN"], None, None, {"coffee", "tea"}),
        (["number >= 4"], None, None, {"venus", "zinc"}),
        (["number in (0, 5)"], None, None, {"aspirin", "zinc"}),
        (["title = Zinc || title = Iron"], None, None, {"iron", "zinc"}),
        (["id = venus"], None, None, {"venus"}),
        (["!date"], None, None, {"venus"}),
        (["topic = drink", "number = 3"], None, None, {"tea"}),
        ([], "2020", None, {"iron", "tea", "zinc"}),
        ([], None, "2019-12-31", {"aspirin", "coffee"}),
        ([], "2019", "2020", {"coffee", "tea"}),
        (["number > 100"], None, None, set()),
    ],
)
def test_filters_choose_what_both_rankings_hold(collection, where, since, until, fitting):
    chosen = Filter.parse(where, since=since, until=until)
    found = collection.search(SearchQuery("caffeine zinc iron venus", k=6, where=chosen))
    assert set(names(found.dense)) == set(names(found.fused)) == fitting
    assert set(names(found.lexical)) <= fitting
    ids = [id_of(name) for name in TEXTS]
    assert collection.fitting(ids, chosen) == [id_of(name) for name in TEXTS if name in fitting]
    assert found.note


def test_a_filter_leaves_the_statistics_of_words_as_they_are(collection):
    every = {hit.document_id: hit.score for hit in collection.search(SearchQuery("caffeine", k=6)).lexical}
    chosen = collection.search(SearchQuery("caffeine", k=6, where=Filter.parse(["id = tea"]))).lexical
    assert [hit.score for hit in chosen] == pytest.approx([every["tea"]])


def test_a_field_that_no_document_has_is_refused(collection):
    with pytest.raises(UsageError, match=r"No document has the field 'topik'\. Did you mean topic\?"):
        collection.search(SearchQuery(QUERY, where=Filter.parse(["topik = drink"])))
    assert {"date", "id", "number", "title", "topic"} <= set(collection.fields)


@pytest.mark.parametrize("query", ["", "  \n"])
def test_an_empty_query_is_refused(collection, query):
    with pytest.raises(UsageError, match="empty"):
        collection.search(query)


@pytest.mark.parametrize(
    "query", ["the of and", "東京", "' OR 1=1; -- \\ % _ $1", "a" * 5000, "caf\udce9ine", "nul\0nul"]
)
def test_any_text_is_a_query(collection, query):
    assert len(collection.search(SearchQuery(query, k=6)).dense) == 6


@pytest.mark.parametrize("read", ["passages", "vectors"])
def test_an_id_that_is_not_there_is_an_error(collection, read):
    with pytest.raises(PassageGone, match="'0123'"):
        getattr(collection, read)([id_of("tea"), "0123"])


def test_documents_are_listed_with_what_they_are(collection):
    listed = list(collection.documents())
    assert [row["id"] for row in listed] == sorted(TEXTS)
    tea = next(row for row in listed if row["id"] == "tea")
    assert (tea["title"], tea["date"], tea["passages"]) == ("Tea", "2020-07-01", 1)
    assert tea["metadata"]["topic"] == "drink"


def test_a_documents_passages_come_in_the_order_of_its_text(opened):
    collection = opened()
    text = "\n\n".join(f"Paragraph {n}. " + "Salt is a mineral of sodium and chlorine. " * 30 for n in range(6))
    collection.add([Document(id="long", text=text, source="s")])
    found = collection.document_passages("long")
    assert len(found) > 2
    assert all(one.start < other.start for one, other in pairwise(found))
    assert all(each.text == text[each.start : each.end] for each in found)
    assert collection.document_passages("unknown") == []


def test_mentions_are_counted_over_all_documents(collection):
    found = collection.mentions("caffeine")
    assert {name: TEXTS[name][each.start : each.end] for name, each in found.items()} == {
        "coffee": "caffeine",
        "tea": "caffeine",
    }
    assert collection.mentions("VENUS").keys() == {"venus"}
    assert collection.mentions("unheard-of") == {}


def test_the_catalogue_finds_pages_and_counts(collection):
    catalogue = collection.catalogue
    entries, total = catalogue.documents("e", limit=2)
    assert (len(entries), total) == (2, 6)
    assert [each.id for each in catalogue.documents("TEA")[0]] == ["tea"]
    assert catalogue.documents("100%")[1] == 0
    assert catalogue.ids() == sorted(TEXTS)
    assert catalogue.knows("tea")
    assert not catalogue.knows("coal")
    assert catalogue.document("coal") is None
    entry = catalogue.document("zinc")
    assert (entry.title, entry.date, entry.passages, entry.url) == ("Zinc", "2024-01-15", 1, "https://example.org/zinc")
    assert catalogue.passage(id_of("zinc")).text == TEXTS["zinc"]
    assert [each.id for each in catalogue.passages("zinc", 5)] == [id_of("zinc")]
    assert catalogue.counts()["documents"] == 6


def test_tags_are_kept_and_filtered_by(collection):
    assert collection.set_tags("tea", ["Hot", "green"])
    assert not collection.set_tags("coal", ["hot"])
    assert collection.catalogue.tags() == {"green": 1, "Hot": 1}
    assert names(collection.search(SearchQuery(QUERY, where=Filter.parse(["tags = hot"]))).dense) == ["tea"]
    collection.add(documents(tea="Black tea contains caffeine, too."))
    assert collection.catalogue.document("tea").tags == ("Hot", "green")


def test_counts_and_what_it_was_made_with(collection, embedder):
    stats = collection.stats()
    assert (stats["documents"], stats["passages"], stats["retired"]) == (6, 6, 0)
    assert stats["embedder"]["revision"] == embedder.revision == collection.embedder_revision
    assert stats["splitter"]["name"] == "sentence"
    assert collection.verify() == []
    assert collection.notes == []
    assert collection.is_complete


def test_a_collection_without_passages_says_so(opened):
    collection = opened()
    with pytest.raises(LibraryEmpty):
        collection.search("tea")
    assert (collection.all_passage_ids(), list(collection.documents()), collection.verify()) == ([], [], [])


def test_there_is_none_until_it_is_made(opened):
    with pytest.raises(LibraryMissing):
        opened(create=False)


def test_another_embedder_is_refused(collection, opened, embedder):
    class Other:
        def embed_documents(self, texts):
            return [[float(len(text)), 1.0, 0.5] for text in texts]

        def embed_query(self, text):
            return self.embed_documents([text])[0]

    from langchain_core.embeddings import Embeddings

    other = type("OtherEmbeddings", (Other, Embeddings), {})()
    with pytest.raises(EmbedderMismatch, match="3 dimensions"):
        opened(embedder=other)
    assert opened(create=False, embedder=None).embedder_revision == embedder.revision


def test_what_was_closed_says_so(opened):
    collection = opened()
    collection.close()
    collection.close()
    with pytest.raises((LibraryClosed, LibraryError)):
        list(collection.documents())


def test_words_are_counted_for_spelling(collection):
    words = collection.vocabulary
    found = words.counts(["Caffeine", "of", "nowhere"])
    assert {name: (each.word, each.passages, each.documents) for name, each in found.items()} == {
        "Caffeine": ("caffeine", 2, 2),
        "of": ("of", sum("of" in text.split() for text in TEXTS.values()), 3),
    }
    assert words.unknown(["cold", "coldd"]) == ["coldd"]
    assert "caffeine" in {each.word for each in words.similar("cafeine", 1)}
    assert words.passages() == sum(
        len(set(f"{name} {text}".lower().replace(",", "").replace(".", "").split())) for name, text in TEXTS.items()
    )
    collection.delete_document("coffee")
    assert collection.vocabulary.counts(["caffeine"])["caffeine"].passages == 1
    assert collection.vocabulary.unknown(["awake"]) == ["awake"]


@pytest.mark.parametrize(
    ("expression", "documents"),
    [
        ("caffeine", {"coffee", "tea"}),
        ("caffeine NOT green", {"coffee"}),
        ("caffeine AND (green OR awake) NOT venus", {"coffee", "tea"}),
        ('"contains caffeine"', {"coffee", "tea"}),
        ('"caffeine contains"', set()),
        ('"lack of red blood cells"', {"iron"}),
        ('"lack red"', set()),
        ('anaemia[tiab] OR "common cold"[MeSH Terms]', {"iron", "zinc"}),
        ("ZINC fever", set()),
        ("the AND of", set()),
        ("zebra OR zebra", set()),
    ],
)
def test_boolean_expressions_choose_documents(collection, expression, documents):
    found, hits = collection.match(expression, 10)
    assert (set(found), len(found), hits) == (documents, len(documents), len(documents))


@pytest.mark.parametrize(
    ("phrases", "documents"),
    [
        (["contains caffeine"], {"coffee", "tea"}),
        (["caffeine contains", "lack of red blood cells"], {"iron"}),
        (["the"], set()),
    ],
)
def test_passages_are_found_by_phrases(collection, phrases, documents):
    found = collection.passages(collection.passages_with(phrases, 10))
    assert {passage.document_id for passage in found} == documents
    assert len(collection.passages_with(["contains caffeine"], 1)) == 1


def test_an_expression_is_refused_that_cannot_be_read_and_so_is_an_empty_collection(collection, opened):
    for expression, limit in (("(caffeine", 5), ("caffeine", 0)):
        with pytest.raises(UsageError):
            collection.match(expression, limit)
    for name in TEXTS:
        collection.delete_document(name)
    with pytest.raises(LibraryEmpty):
        collection.match("caffeine")


def test_random_expressions_find_what_the_folder_finds_in_its_order(opened, tmp_path, embedder):
    draw = random.Random(18)
    words = ["red", "red", "red", "blood", "blood", "cells", "of", "the", "iron", "rats", "rats", "muscle", "pain"]
    texts = {f"d{number}": " ".join(draw.choices(words, k=draw.randint(1, 30))) for number in range(150)}

    def expression(depth: int) -> str:
        if depth == 0 or draw.random() < 0.3:
            phrase = " ".join(draw.choices(words, k=draw.randint(1, 3)))
            return f'"{phrase}"' if draw.random() < 0.6 else phrase
        operator = draw.choice([" AND ", " OR ", " NOT "])
        return f"({expression(depth - 1)}{operator}{expression(depth - 1)})"

    given = [Document(id=name, text=text, title=text.split()[0], source="s") for name, text in texts.items()]
    collection = opened()
    collection.add(given)
    with Library.open(tmp_path / "beside", embedder=embedder, create=True) as folder:
        folder.add(given)
        for each in [expression(3) for _ in range(200)]:
            assert collection.match(each, 200) == folder.match(each, 200), each


def test_every_engine_gives_what_the_folder_gives(collection, tmp_path, embedder):
    with Library.open(tmp_path / "beside", embedder=embedder, create=True) as folder:
        folder.add(documents())
        for query in (QUERY, "hot planets", "cold remedies by the day", "red blood"):
            one, other = collection.search(SearchQuery(query, k=6)), folder.search(SearchQuery(query, k=6))
            for mine, theirs in ((one.dense, other.dense), (one.lexical, other.lexical), (one.fused, other.fused)):
                assert [hit.passage_id for hit in mine] == [hit.passage_id for hit in theirs]
                assert [hit.score for hit in mine] == pytest.approx([hit.score for hit in theirs], abs=1e-5)
        assert collection.all_passage_ids() == folder.all_passage_ids()
        assert collection.fields == folder.fields
        ids = folder.all_passage_ids()
        assert collection.passages(ids) == folder.passages(ids)
