"""The lexical index."""

from __future__ import annotations

import pytest

from preflight_rag.library.index.lexical import ANALYSER, FIELD, MAX_TERMS, LexicalIndex, write_lexical
from preflight_rag.state.errors import LibraryCorrupt
from preflight_rag.text.boolean import parse

PASSAGES = [
    (3, "Aspirin", "Aspirin lowers fever and prevents clots."),
    (5, "Tea", "Green tea contains caffeine and catechins."),
    (8, "IL-6 in COVID-19", "Interleukin levels were elevated in severe cases."),
    (9, "", "The café served coffee; caffeine was measured in each cup."),
]


@pytest.fixture
def index(tmp_path):
    assert write_lexical(tmp_path, PASSAGES) == len(PASSAGES)
    return LexicalIndex(tmp_path)


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("clot prevention", 3),
        ("CATECHIN", 5),
        ("il-6", 8),
        ("covid-19 interleukins", 8),
        ("cafe", 9),
        ("measuring cups", 9),
    ],
)
def test_finds_by_stem_case_accent_and_title(index, query, first):
    assert index.search(query, 3)[0][0] == first


@pytest.mark.parametrize("query", ['title:fever AND "', "(((", "+caffeine -tea", "caffeine~2 OR [a TO z]", "\\ * ? :"])
def test_a_query_has_no_syntax(index, query):
    assert {row for row, _ in index.search(query, 4)} <= {3, 5, 8, 9}


@pytest.mark.parametrize("query", ["", "the of and", "?!", "zzzz"])
def test_nothing_to_look_for_finds_nothing(index, query):
    assert index.search(query, 4) == []


def test_terms_are_distinct_and_bounded(index):
    assert index.terms("Fever, fevers and FEVER of clots") == ["fever", "clot"]
    assert len(index.terms(" ".join(f"word{i}" for i in range(20_000)))) == MAX_TERMS


def test_scores_fall_and_ties_go_by_row(tmp_path):
    write_lexical(tmp_path, [(row, "", "same words") for row in (7, 2, 5)])
    found = LexicalIndex(tmp_path).search("same words", 3)
    assert [row for row, _ in found] == [2, 5, 7]


def test_a_missing_index_is_named(tmp_path):
    with pytest.raises(LibraryCorrupt, match="lexical index"):
        LexicalIndex(tmp_path)


@pytest.mark.parametrize(("option", "rows"), [("position", [3]), ("freq", [3, 5])])
def test_an_index_without_positions_takes_the_words_of_a_phrase(tmp_path, monkeypatch, option, rows):
    import tantivy

    builder = tantivy.SchemaBuilder()
    builder.add_unsigned_field("row", stored=True)
    builder.add_text_field(FIELD, tokenizer_name=ANALYSER, index_option=option)
    monkeypatch.setattr("preflight_rag.library.index.lexical._schema", builder.build)
    write_lexical(tmp_path, [(3, "", "muscle pain"), (5, "", "pain of a muscle"), (8, "", "muscle")])
    found, hits = LexicalIndex(tmp_path).match(parse('"muscle pain"'), 5)
    assert (sorted(row for row, _ in found), hits) == (rows, len(rows))
