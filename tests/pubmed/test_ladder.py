"""The search down a ladder, and the library's own matching of Boolean expressions."""

import pytest

from preflight_rag.library.library import Library
from preflight_rag.pubmed.ladder import search_together, search_until_enough
from preflight_rag.state.errors import UsageError
from preflight_rag.state.values import Document


def searched(found):
    return lambda expression: (found[expression], 10 * len(found[expression]), "slow" if expression == "b" else "")


def test_rungs_are_tried_until_enough():
    found = {"a": ["1"], "b": ["2", "1"], "c": ["3"], "d": ["4"]}
    result = search_until_enough(["a", " a ", "", "b", "c", "d"], searched(found), enough=3, where="pubmed")
    assert result.ids == ("1", "2", "3")
    assert [(rung.expression, rung.hits, rung.note) for rung in result.rungs] == [
        ("a", 10, ""),
        ("b", 20, "slow"),
        ("c", 10, ""),
    ]
    assert {rung.where for rung in result.rungs} == {"pubmed"}


def test_the_ids_can_be_limited():
    assert search_until_enough(["a"], searched({"a": ["1", "2", "3"]}), enough=1, limit=2).ids == ("1", "2")


def test_enough_in_one_collection_stops_the_others_one_rung_later():
    """By hand: the first has enough at rung 2, so the second tries rung 3 and no more."""
    first = searched({"a": ["1"], "b": ["2"], "c": ["3"], "d": ["4"], "e": ["5"]})
    second = searched({"a": [], "b": [], "c": ["9"], "d": ["8"], "e": ["7"]})
    found = search_together("abcde", {"D1": first, "D2": second}, enough=2)
    assert [result.ids for result in found] == [("1", "2"), ("9",)]
    assert [[rung.expression for rung in result.rungs] for result in found] == [["a", "b"], ["a", "b", "c"]]
    assert {rung.where for rung in found[1].rungs} == {"D2"}


def test_collections_that_have_enough_together_stop_together():
    found = search_together("ab", {"x": searched({"a": ["1"]}), "y": searched({"a": ["2"]})}, enough=1)
    assert [len(result.rungs) for result in found] == [1, 1]


@pytest.fixture(scope="module")
def matched(embedder, tmp_path_factory):
    texts = {
        "1": "Statins may cause muscle pain.",
        "2": "Pain in the muscle of rats; statin dose.",
        "3": "Muscle mass of older patients.",
        "4": "The side effects of statins. Statins, statins.",
    }
    with Library.open(tmp_path_factory.mktemp("match"), embedder=embedder, create=True) as library:
        library.add([Document(id=name, text=text, source="s") for name, text in texts.items()])
        yield library


@pytest.mark.parametrize(
    ("expression", "ids"),
    [
        ('"muscle pain"', "1"),
        ("muscle AND pain", "12"),
        ("muscle pain", "12"),
        ("muscle NOT pain", "3"),
        ('statin AND ("muscle pain" OR rats)', "12"),
        ('"side effects of statins"', "4"),
        ('statins[tiab] OR "older patients"[MeSH Terms]', "1234"),
        ("the AND of", ""),
        ("zebra", ""),
    ],
)
def test_the_library_matches(matched, expression, ids):
    found, hits = matched.match(expression, 10)
    assert (sorted(found), hits) == (list(ids), len(ids))


def test_the_best_documents_come_first_and_hits_are_counted_in_all(matched):
    assert matched.match("statin", 1) == (["4"], 3)


@pytest.mark.parametrize(("expression", "limit"), [("(statin", 5), ("statin", 0)])
def test_a_match_that_cannot_be_made(matched, expression, limit):
    with pytest.raises(UsageError):
        matched.match(expression, limit)


def test_the_ladder_over_the_library(matched):
    def search(expression):
        ids, hits = matched.match(expression, 20)
        return ids, hits, ""

    result = search_until_enough(['statins AND "muscle pain"', "statins", "statins OR muscle"], search, enough=4)
    assert result.ids[0] == "1"
    assert (set(result.ids), [rung.hits for rung in result.rungs]) == ({"1", "2", "3", "4"}, [1, 3, 4])
