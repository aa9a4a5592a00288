"""Sentence-aware splitting: exact offsets, nothing over the window, nothing lost."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from langchain_core.documents import Document as LangChainDocument

from preflight_rag.ingest.splitting.sentence_splitter import SentenceSplitter
from preflight_rag.models.embedding.embedder import Embedder
from preflight_rag.state.errors import UsageError
from preflight_rag.state.values import Document, Passage

SENTENCE = "The patients of the second group recovered within twelve days of treatment. "


@pytest.fixture(scope="module")
def splitter(embedder: Embedder) -> SentenceSplitter:
    return SentenceSplitter(embedder)


@pytest.fixture(scope="module")
def small(embedder: Embedder) -> SentenceSplitter:
    return SentenceSplitter(embedder, chunk_tokens=30)


def document(text: str, **fields: object) -> Document:
    return Document.model_validate({"id": "d", "text": text, "source": "s", **fields})


def check(text: str, passages: list[Passage], splitter: SentenceSplitter) -> None:
    covered: set[int] = set()
    for passage in passages:
        assert text[passage.start : passage.end] == passage.text
        assert passage.tokens == splitter.embedder.count_tokens(passage.text) <= splitter.chunk_tokens
        covered.update(range(passage.start, passage.end))
    assert all(position in covered for position, char in enumerate(text) if not char.isspace())


def test_window_is_what_the_embedder_reads(splitter: SentenceSplitter, embedder: Embedder) -> None:
    assert splitter.settings() == {"name": "sentence", "chunk_tokens": embedder.max_tokens - 2, "overlap": 0}


def test_passages_end_with_sentences(splitter: SentenceSplitter) -> None:
    text = SENTENCE * 100
    passages = splitter.split(document(text))
    check(text, passages, splitter)
    assert all(passage.text.endswith(".") for passage in passages)
    assert min(passage.tokens for passage in passages[:-1]) > splitter.chunk_tokens - 20


@pytest.mark.parametrize(
    "text",
    [
        "x" * 50_000,
        "word " * 5_000,
        "你" * 3_000,
        "clause of six words here, " * 300,
        "https://example.org/" + "a-b/" * 2_000,
        "😀" * 2_000,
        "  \n" * 1_000 + "end",
        "1 " * 3_000,
        "",
    ],
)
def test_text_without_sentences_is_cut_to_fit(splitter: SentenceSplitter, text: str) -> None:
    passages = splitter.split(document(text))
    check(text, passages, splitter)
    assert all(len(passage.text) <= splitter.chunk_tokens * 10 for passage in passages)


def test_long_sentence_is_cut_after_a_clause(small: SentenceSplitter) -> None:
    passages = small.split(document("the dose was raised in small steps, " * 12))
    assert all(passage.text.endswith(",") for passage in passages)


def test_passages_keep_to_their_page(splitter: SentenceSplitter) -> None:
    text = SENTENCE * 3 + "\n" + SENTENCE * 3
    pages = ((7, 0), (8, len(SENTENCE) * 3 + 1))
    passages = splitter.split(document(text, pages=pages))
    assert [(passage.page, passage.start) for passage in passages] == list(pages)


def test_sentence_over_a_page_break_stays_whole(splitter: SentenceSplitter) -> None:
    text = "It went on and on\nuntil the end. Then it stopped."
    first, second = splitter.split(document("The long tale of it all was told; " + text, pages=((1, 0), (2, 52))))
    assert first.text.endswith("until the end.")
    assert (first.page, second.page) == (1, 2)


def test_heading_stays_with_its_text(small: SentenceSplitter) -> None:
    passages = small.split(document(SENTENCE * 2 + "\n\nResults\n\n" + SENTENCE * 2))
    assert passages[1].text.startswith("Results\n\nThe patients")


def test_section_comes_from_the_loader(small: SentenceSplitter) -> None:
    text = SENTENCE * 3 + "\nMethods\n" + SENTENCE * 3
    passages = small.split(document(text, metadata={"sections": [[len(SENTENCE) * 3 + 1, "Methods"]], "pmid": "1"}))
    assert passages[0].metadata == {}
    assert passages[-1].metadata == {"section": "Methods"}


def test_tiny_last_passage_is_filled_up(small: SentenceSplitter) -> None:
    sentences = [
        "The first of the groups had a very high fever.",
        "The second one of them had none at all.",
        "The third one slept for six days.",
        "End.",
    ]
    text = " ".join(sentences)
    passages = small.split(document(text))
    check(text, passages, small)
    assert passages[-1].text.startswith("The second one")


def test_overlap_repeats_sentences(embedder: Embedder) -> None:
    splitter = SentenceSplitter(embedder, chunk_tokens=40, overlap=1)
    text = "".join(f"The dose of patient {n} was raised by {n} units. " for n in range(12))
    passages = splitter.split(document(text))
    check(text, passages, splitter)
    assert all(right.start < left.end for left, right in pairwise(passages))
    assert len({passage.start for passage in passages}) == len(passages)


def test_langchain_interface(small: SentenceSplitter) -> None:
    source = LangChainDocument(page_content=SENTENCE * 5, metadata={"source": "s"})
    chunks = small.split_documents([source])
    assert [chunk.page_content for chunk in chunks] == small.split_text(SENTENCE * 5)
    for chunk in chunks:
        start = chunk.metadata["start_index"]
        assert source.page_content[start:].startswith(chunk.page_content)
        assert chunk.metadata["source"] == "s"


def test_same_document_gives_same_ids(small: SentenceSplitter) -> None:
    first, second = (small.split(document(SENTENCE * 5)) for _ in range(2))
    assert first == second
    assert len({passage.id for passage in first}) == len(first)


@pytest.mark.parametrize("wrong", [{"chunk_tokens": 0}, {"chunk_tokens": 10_000}, {"overlap": -1}])
def test_settings_out_of_range_are_refused(embedder: Embedder, wrong: dict[str, int]) -> None:
    with pytest.raises(UsageError, match=r"is -?[0-9]+"):
        SentenceSplitter(embedder, **wrong)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    text=st.lists(
        st.one_of(st.text(max_size=80), st.sampled_from([SENTENCE, "Results\n", "\n\n", "a, b; c ", "x" * 300, "é́½ﬃ"])),
        max_size=12,
    ).map("".join),
    overlap=st.integers(0, 2),
    cut=st.integers(0, 400),
)
@example(text="0\x0c0:0::0::01000000000000000", overlap=0, cut=0)
def test_nothing_is_lost(embedder: Embedder, text: str, overlap: int, cut: int) -> None:
    splitter = SentenceSplitter(embedder, chunk_tokens=16, overlap=overlap)
    check(text, splitter.split(document(text, pages=((1, 0), (2, min(cut, len(text)))))), splitter)
