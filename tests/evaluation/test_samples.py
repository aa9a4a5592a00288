"""Test collections and the split of their queries."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.datasets.files import judged
from evaluation.samples import DataSet, Sample, half_of, sampled
from preflight_rag.state.errors import UsageError
from preflight_rag.state.values import Document


def collection(ids: list[str]) -> DataSet:
    return DataSet(
        name="made",
        title="Made",
        source="",
        licence="",
        files=(Path("corpus.jsonl"),),
        samples=tuple(Sample(name, "?", documents=frozenset("d")) for name in ids),
        relevance={name: {"d": 1} for name in ids},
        corpus=lambda: iter(()),
    )


@given(st.lists(st.text(), unique=True, min_size=1))
def test_the_parts_are_disjoint_and_cover_every_query(ids: list[str]) -> None:
    every = {query.id for query in collection(ids).select("all")}
    halves = {part: {name for name in ids if half_of(name) == part} for part in ("test", "development")}
    assert halves["test"] | halves["development"] == every == set(ids)
    assert not halves["test"] & halves["development"]


def test_the_split_depends_on_the_id_alone() -> None:
    assert [half_of(name) for name in ("q1", "q2", "q3", "61f58de2882a024a1000000a")] == [
        "test",
        "development",
        "development",
        "test",
    ]


def test_a_limit_takes_the_start_of_a_fixed_order() -> None:
    ids = [str(number) for number in range(50)]
    whole = collection(ids).select("test")
    assert collection(ids[::-1]).select("test", 5) == whole[:5]


def test_queries_without_a_relevant_document_are_left_out() -> None:
    relevance = {"a": {"d": 0}, "b": {"d": 2, "e": 0}}
    (left,) = judged([Sample(name, "?") for name in "abc"], relevance)
    assert (left.id, left.documents) == ("b", {"d"})
    assert replace(collection(["b"]), relevance=relevance).relevant("b") == {"d"}


@pytest.mark.parametrize(
    ("part", "limit", "message"),
    [("dev", None, "part 'dev' is unknown"), ("all", 0, "limit 0 leaves no question")],
)
def test_a_wrong_selection_is_refused(part: str, limit: int | None, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        collection(["a"]).select(part, limit)


def test_a_part_without_queries_is_refused() -> None:
    with pytest.raises(UsageError, match="no question in its test part"):
        collection([]).select("test")


@pytest.mark.parametrize(("wanted", "count", "size"), [((), 3, 3), (("d7", "d9"), 4, 4), (("d1", "d2", "d3"), 2, 3)])
def test_a_sample_holds_what_is_wanted_and_is_filled_up(wanted: tuple[str, ...], count: int, size: int) -> None:
    names = [f"d{number}" for number in range(10)]
    whole = replace(
        collection(["a", "b"]),
        corpus=lambda: (Document(id=name, text=name, source=name) for name in names),
        samples=(
            Sample("a", "?", documents=frozenset(names)),
            Sample("b", "?", documents=frozenset({"d9", "unknown"})),
        ),
        relevance={"a": dict.fromkeys(names, 1), "b": {"d9": 1, "unknown": 1}},
    )
    part = sampled(whole, [*wanted, "unknown"], count)
    kept = {document.id for document in part.documents()}
    assert set(wanted) <= kept
    assert len(kept) == size
    assert part.relevance["a"].keys() == kept
    assert ("b" in part.relevance) == ("b" in {query.id for query in part.samples}) == ("d9" in kept)
    assert part.library != sampled(whole, wanted, count + 5).library
    assert sampled(whole, wanted, None) is whole
