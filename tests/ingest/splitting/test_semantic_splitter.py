"""Semantic splitting: breaks where the subject changes, exact offsets, a sentence repeated, nothing over the window."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langchain_core.documents import Document as LangChainDocument
from langchain_core.embeddings import Embeddings

from preflight_rag.ingest.splitting.semantic_splitter import (
    SemanticOverlapSplitter,
    default_chunk_tokens,
    group_distances,
    inflection_points,
)
from preflight_rag.ingest.splitting.sentence_splitter import SentenceSplitter
from preflight_rag.ingest.splitting.sentence_units import UnitReader
from preflight_rag.library import Library
from preflight_rag.models.embedding.embedder import Embedder
from preflight_rag.models.opening import open_embedder
from preflight_rag.state.errors import UsageError
from preflight_rag.state.values import Document, Passage

pytestmark = pytest.mark.slow

VENUS = (
    "Venus is the second planet from the Sun and the hottest of all. Its dense air of carbon dioxide traps the heat. "
)
SCURVY = "Scurvy comes from a lack of vitamin C in the food. Sailors cured it by eating lemons and oranges. "
TEXT = VENUS * 3 + SCURVY * 3 + VENUS * 3


class Letters(Embeddings):
    """Vectors of letter counts."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [[1.0 + text.lower().count(letter) for letter in "aeinorst"] for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return self.embed_documents([text])[0]


@pytest.fixture(scope="module")
def alphabet() -> Embedder:
    return open_embedder(Letters())


@pytest.fixture(scope="module")
def letters(alphabet: Embedder) -> SemanticOverlapSplitter:
    return SemanticOverlapSplitter(alphabet, chunk_tokens=24)


def document(text: str, **fields: object) -> Document:
    return Document.model_validate({"id": "d", "text": text, "source": "s", **fields})


def own_end(passage: Passage) -> int:
    return passage.metadata.get("overlap_start", passage.end)


def check(text: str, passages: list[Passage], splitter: SemanticOverlapSplitter) -> None:
    """Each passage's own text follows that of the one before, and together they are the text."""
    longest = splitter.embedder.max_tokens - 2
    bare = [text[passage.start : own_end(passage)] for passage in passages]
    assert "".join("".join(bare).split()) == "".join(text.split())
    for passage in passages:
        assert text[passage.start : passage.end] == passage.text
        assert passage.tokens == splitter.embedder.count_tokens(passage.text) <= longest
    for left, right in pairwise(passages):
        assert own_end(left) <= right.start
        if "overlap_start" in left.metadata:
            assert left.metadata["overlap_start"] == right.start < left.end


def test_the_chunk_size_comes_from_the_embedder(embedder: Embedder) -> None:
    assert SemanticOverlapSplitter(embedder).settings() == {"name": "semantic", "chunk_tokens": 190, "neighbours": 1}


@pytest.mark.parametrize(("window", "expected"), [(128, 94), (256, 190), (512, 192), (600, 448), (8192, 512)])
def test_bert_like_embedders_get_128_words_and_longer_ones_512_tokens(
    embedder: Embedder, window: int, expected: int
) -> None:
    """CPQA, section III.D: 128-word chunks for BERT-based architectures, 512-token chunks for OpenAI's models."""

    class Reads:
        max_tokens = window
        count_tokens, token_offsets = embedder.count_tokens, embedder.token_offsets

    assert default_chunk_tokens(Reads()) == expected


def test_breaks_where_the_subject_changes_and_repeats_the_next_sentence(embedder: Embedder) -> None:
    first, second, third = SemanticOverlapSplitter(embedder, chunk_tokens=100).split(document(TEXT))
    assert first.text == (VENUS * 3 + SCURVY.split(". ")[0] + ".")
    assert second.text == (SCURVY * 3 + VENUS.split(". ")[0] + ".")
    assert third.text == (VENUS * 3).strip()
    assert second.metadata == {"overlap_start": third.start}


class Recorded(Letters):
    def __init__(self) -> None:
        self.seen: list[str] = []

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self.seen += texts
        return super().embed_documents(texts)


@pytest.mark.parametrize("neighbours", [0, 1, 2])
def test_groups_are_embedded_as_the_text_that_stands_there(neighbours: int) -> None:
    """Algorithm 1, lines 4 to 7: each sentence combined with k sentences on both sides, and that embedded."""
    recorded = Recorded()
    sentences = [f"{sentence}." for sentence in TEXT.strip().removesuffix(".").split(". ")]
    SemanticOverlapSplitter(recorded, chunk_tokens=40, neighbours=neighbours).split_text(TEXT)
    groups = [" ".join(sentences[max(0, at - neighbours) : at + neighbours + 1]) for at in range(len(sentences))]
    assert sorted(recorded.seen[1:]) == sorted(set(groups))


def test_short_text_is_not_embedded_at_all() -> None:
    recorded = Recorded()
    splitter = SemanticOverlapSplitter(recorded, chunk_tokens=40)
    assert splitter.split_text(SCURVY) == [SCURVY.strip()]
    assert splitter.split_text("") == splitter.split_text(" \n ") == []
    assert recorded.seen == ["dimension"]


def test_a_group_that_the_embedder_cannot_read_has_fewer_neighbours() -> None:
    recorded = Recorded()
    text = " ".join(f"Number {n} {'word ' * 120}end." for n in range(6))
    SemanticOverlapSplitter(recorded, chunk_tokens=130).split_text(text)
    # By count: two of the sentences are 246 words, three are more than the 254 tokens that are read.
    assert sorted(group.count("Number") for group in recorded.seen[1:]) == [1, 1, 1, 1, 2, 2]


def test_distances_are_those_of_the_groups() -> None:
    groups = np.random.default_rng(0).normal(size=(9, 5)).astype(np.float32)
    cosines = [a @ b / np.linalg.norm(a) / np.linalg.norm(b) for a, b in pairwise(groups)]
    assert group_distances(groups) == pytest.approx(1 - np.array(cosines), abs=2e-6)


def test_breakpoints_are_the_greatest_of_the_document_not_of_a_page() -> None:
    """Algorithm 1, lines 9 to 11, by hand: tokens // chunk size breakpoints, the greatest distances of all.

    Both turns of the subject are on the first page, and the page's end is none.
    """
    vectors = {"venus": [1.0, 0.0, 0.0], "scurvy": [0.0, 1.0, 0.0], "mars": [0.0, 0.0, 1.0]}

    class Subjects(Letters):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return [next((v for name, v in vectors.items() if name in text.lower()), [1.0, 1.0, 1.0]) for text in texts]

    subjects = ["Venus"] * 4 + ["Scurvy"] * 4 + ["Mars"] * 8
    lines = [f"{subject} is sentence {number} of a text." for number, subject in enumerate(subjects)]
    text = " ".join(lines)
    page_two = text.index(lines[12])
    splitter = SemanticOverlapSplitter(Subjects(), chunk_tokens=50, neighbours=0)
    tokens = splitter.embedder.count_tokens(text)
    assert tokens // 50 == 2
    passages = splitter.split(document(text, pages=((1, 0), (2, page_two))))
    assert [passage.start for passage in passages] == [0, text.index("Scurvy"), text.index("Mars")]
    assert passages[-1].page == 1
    assert passages[-1].page_at(page_two - passages[-1].start) == 2


@pytest.mark.parametrize(
    ("curve", "expected"),
    [([], []), ([1], []), ([1, 2], []), ([1, 2, 1], [1]), ([2, 1, 2], []), ([0, 1, 1, 0, 3, 2, 5], [1, 4])],
)
def test_inflection_points_are_where_the_curve_stops_rising(curve: list[float], expected: list[int]) -> None:
    assert np.flatnonzero(inflection_points(np.array(curve, dtype=float))).tolist() == expected


def test_every_character_has_the_page_that_it_stands_on(letters: SemanticOverlapSplitter) -> None:
    text = VENUS + "\n" + SCURVY
    passages = letters.split(document(text, pages=((7, 0), (8, len(VENUS) + 1))))
    check(text, passages, letters)
    for passage in passages:
        for place in range(len(passage.text)):
            assert passage.page_at(place) == (7 if passage.start + place <= len(VENUS) else 8)


def test_heading_stays_with_its_text_and_is_repeated_with_it(letters: SemanticOverlapSplitter) -> None:
    text = VENUS * 2 + "\n\nScurvy at sea\n\n" + SCURVY * 2
    offset = text.index("Scurvy at sea")
    passages = letters.split(document(text, metadata={"sections": [[offset, "Scurvy at sea"]]}))
    check(text, passages, letters)
    assert not any(text[: own_end(passage)].rstrip().endswith("at sea") for passage in passages)
    assert passages[-1].metadata["section"] == "Scurvy at sea"


@pytest.mark.parametrize(
    "text",
    ["x" * 50_000, "word " * 5_000, "你" * 3_000, "a" * 3_000 + ". " + "b" * 3_000, VENUS * 60, "1\n" * 3_000],
)
def test_text_without_breakpoints_is_cut_to_fit(alphabet: Embedder, text: str) -> None:
    splitter = SemanticOverlapSplitter(alphabet)
    passages = splitter.split(document(text))
    check(text, passages, splitter)
    assert max(passage.tokens for passage in passages) <= 254


def test_a_sentence_as_long_as_the_window_repeats_nothing(alphabet: Embedder) -> None:
    splitter = SemanticOverlapSplitter(alphabet)
    first, second = splitter.split(document("word " * 252 + "end. " + VENUS))
    assert first.metadata == {}
    assert second.text == VENUS.strip()


def test_langchain_interface(letters: SemanticOverlapSplitter) -> None:
    source = LangChainDocument(page_content=TEXT, metadata={"source": "s"})
    chunks = letters.split_documents([source])
    assert [chunk.page_content for chunk in chunks] == letters.split_text(TEXT)
    for left, right in pairwise(chunks):
        assert TEXT[left.metadata["start_index"] :].startswith(left.page_content)
        assert left.metadata["overlap_start"] == right.metadata["start_index"]
        assert left.metadata["source"] == "s"


def test_repeated_sentences_have_passages_of_their_own(letters: SemanticOverlapSplitter) -> None:
    text = (VENUS + SCURVY) * 12
    passages = letters.split(document(text))
    assert passages == letters.split(document(text))
    assert len({passage.id for passage in passages}) == len(passages) > 3


@pytest.mark.parametrize("wrong", [{"chunk_tokens": 0}, {"chunk_tokens": 10_000}, {"neighbours": -1}])
def test_settings_out_of_range_are_refused(embedder: Embedder, wrong: dict[str, int]) -> None:
    with pytest.raises(UsageError, match=r"is -?[0-9]+\. Choose"):
        SemanticOverlapSplitter(embedder, **wrong)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)
@given(
    text=st.lists(
        st.one_of(
            st.text(max_size=80), st.sampled_from([VENUS, SCURVY, "Results\n", "\n\n", "a, b; c ", "x" * 300, "é́½ﬃ"])
        ),
        max_size=16,
    ).map("".join),
    chunk=st.integers(8, 60),
    neighbours=st.integers(0, 3),
    cut=st.integers(0, 600),
)
def test_nothing_is_lost(alphabet: Embedder, text: str, chunk: int, neighbours: int, cut: int) -> None:
    splitter = SemanticOverlapSplitter(alphabet, chunk_tokens=chunk, neighbours=neighbours)
    pages = ((1, 0), (2, min(cut, len(text))))
    passages = splitter.split(document(text, pages=pages))
    check(text, passages, splitter)
    units = UnitReader(alphabet, alphabet.max_tokens - 2).units(text, [start for _, start in pages], frozenset())
    alone = {(unit.start, unit.end) for unit in units}
    for passage in passages[:-1]:
        assert "overlap_start" in passage.metadata or (passage.start, passage.end) in alone


def test_a_library_remembers_its_splitter_and_splits_anew_after_a_change(embedder: Embedder, tmp_path: Path) -> None:
    source = Document(id="d", text=TEXT * 3, source="s")
    with Library.open(tmp_path, embedder=embedder, create=True, splitter="semantic") as library:
        assert library.stats()["splitter"] == {"name": "semantic"}
    with Library.open(tmp_path) as library:
        assert library.add([source]).added == 1
        assert library.stats()["splitter"] == SemanticOverlapSplitter(embedder).settings()
        assert library.document_passages("d") == SemanticOverlapSplitter(embedder).split(source)
        assert library.add([source]).skipped == 1
    with Library.open(tmp_path, splitter="sentence") as library:
        assert library.add([source]).updated == 1
        assert library.document_passages("d") == SentenceSplitter(embedder).split(source)


def test_an_unknown_splitter_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"splitter is 'fixed'\. Choose sentence or semantic"):
        Library.open(tmp_path, create=True, splitter="fixed")
    assert not list(tmp_path.iterdir())
