"""Words in PostgreSQL are ranked as tantivy ranks them, terms are those of the folder's index."""

from __future__ import annotations

import numpy as np
import pytest

from preflight_rag.library.index.lexical import LexicalIndex, write_lexical
from preflight_rag.library.postgres.hashed_terms import HashedTerms, encoded_terms
from preflight_rag.library.postgres.postings import best_by_bm25, decoded_lengths, length_code, make_piece, query_terms
from preflight_rag.text.words import passage_terms, words, words_by_token

WORDS = [
    *("cell", "gene", "protein", "liver", "heart", "brain", "virus", "drug", "dose", "trial", "mouse", "blood", "bone"),
    *("lung", "skin", "nerve"),
]


@pytest.fixture(scope="module")
def texts():
    """Passages of 1 to 400 words, of which some are frequent."""
    random = np.random.default_rng(7)
    shares = 1 / np.arange(1, len(WORDS) + 1)
    return [
        (row, random.choice(WORDS), " ".join(random.choice(WORDS, random.integers(1, 400), p=shares / shares.sum())))
        for row in range(1, 201)
    ]


def piece_of(texts):
    return make_piece((row, row, title, text) for row, title, text in texts)


def found(pieces, query, n, dead=(), among=None):
    lists = {}
    for piece in pieces:
        for term in query_terms(query):
            if term in piece.lists:
                lists.setdefault(term, []).append(piece.lists[term])
    counts = {"passages": sum(each.passages for each in pieces), "length": sum(each.length for each in pieces)}
    return best_by_bm25(lists, query_terms(query), n, **counts, dead=np.array(dead, dtype=np.int64), among=among)


@pytest.mark.parametrize("query", ["liver", "liver dose nerve", "the cells of genes", "skin skin bone", "unknown"])
@pytest.mark.parametrize("cut", [200, 77])
@pytest.mark.parametrize("few", [0, 20_000])
def test_the_ranking_is_tantivys(texts, tmp_path, query, cut, few, monkeypatch):
    monkeypatch.setattr("preflight_rag.library.postgres.postings.FEW", few)
    write_lexical(tmp_path, texts)
    expected = LexicalIndex(tmp_path).search(query, 20)
    mine = found([piece for part in (texts[:cut], texts[cut:]) if (piece := piece_of(part))], query, 20)
    assert [row for row, _ in mine] == [row for row, _ in expected]
    assert [score for _, score in mine] == pytest.approx([score for _, score in expected], rel=1e-5)


@pytest.mark.parametrize("few", [0, 20_000])
def test_only_some_rows_are_ranked_by_everybodys_statistics(texts, tmp_path, few, monkeypatch):
    monkeypatch.setattr("preflight_rag.library.postgres.postings.FEW", few)
    write_lexical(tmp_path, texts)
    among = np.arange(1, 201, 3)
    expected = LexicalIndex(tmp_path).search("liver dose", 20, among=among)
    mine = found([piece_of(texts)], "liver dose", 20, among=among)
    assert [row for row, _ in mine] == [row for row, _ in expected]
    assert [score for _, score in mine] == pytest.approx([score for _, score in expected], rel=1e-5)


def test_rows_that_nobody_sees_count_for_nothing(texts):
    lengths = {row: score for row, score in found([piece_of(texts[:150])], "nerve", 200)}
    mine = dict(found([piece_of(texts)], "nerve", 200, dead=range(151, 201)))
    assert mine.keys() == lengths.keys()


def test_lengths_are_coded_as_lucene_codes_them():
    """`SmallFloat.byte4ToInt` of Lucene, whose table tantivy took over: exact up to 40, then in steps of 2, 4, 8."""
    table = decoded_lengths()
    assert table[:41] == tuple(range(41))
    assert table[41:49] == (42, 44, 46, 48, 50, 52, 54, 56)
    assert table[49:52] == (60, 64, 68)
    assert table[255] == 2_013_265_944
    assert [table[length_code(n)] for n in (0, 40, 41, 43, 57, 59, 10**9)] == [0, 40, 40, 42, 56, 56, 939524120]


def test_terms_are_those_of_the_texts():
    passages = [("Liver", "Liver cells grow. Cells' IL-6!"), ("", "U.S. trials"), ("A title", "something else")]
    terms = HashedTerms([encoded_terms(title, text) for title, text in passages])
    distinct = {}
    for place, (title, text) in enumerate(passages):
        for numbers, expected in (
            (terms.text(place), passage_terms(title, text)),
            (terms.title(place), words_by_token(title)),
            (terms.words(place), words(f"{title} {text}")),
        ):
            assert len(numbers) == len(expected)
            for number, term in zip(numbers.tolist(), expected, strict=True):
                assert distinct.setdefault(term, number) == number
    assert len(set(distinct.values())) == len(distinct)
    assert terms.numbers(list(distinct)) == list(distinct.values())
    assert terms.numbers(["nowhere"]) == [-1]
    joined, lengths = terms.texts([2, 0])
    assert joined.tolist() == [*terms.text(2).tolist(), *terms.text(0).tolist()]
    assert lengths.tolist() == [len(terms.text(2)), len(terms.text(0))]
