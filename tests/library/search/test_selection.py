"""Selection and order of passages, in a turn and as LangChain document compressors."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding

from preflight_rag.library.search.compressors import FPSSelector, MMRSelector, Reorder, TokenBudget
from preflight_rag.library.search.retriever import LibraryRetriever
from preflight_rag.library.search.selection import PAPER_PRESETS, arrange, check_choice, distance_to_end, select
from preflight_rag.state.context import Settings
from preflight_rag.state.errors import UsageError
from preflight_rag.state.retrieval import Candidate
from preflight_rag.state.values import Passage

QUESTION = "how hot is Venus?"
TEXTS = (
    "Venus is the hottest planet, 465 degrees Celsius on average.",
    "The hottest planet is Venus, with 465 degrees Celsius on average.",
    "Thick clouds of sulfuric acid hide the surface of Venus.",
    "Green tea contains caffeine.",
)
DOCUMENTS = [Document(page_content=text, metadata={"n": n, "score": 4.0 - n}) for n, text in enumerate(TEXTS)]


def numbers(documents):
    return [document.metadata["n"] for document in documents]


def test_mmr_passes_over_what_says_the_same():
    assert set(numbers(MMRSelector(k=2, alpha=1).compress_documents(DOCUMENTS, QUESTION))) == {0, 1}
    assert 2 in numbers(MMRSelector(k=2, alpha=0.5).compress_documents(DOCUMENTS, QUESTION))
    assert 2 in numbers(MMRSelector(k=2, alpha=0.5, window=1).compress_documents(DOCUMENTS, QUESTION))


def test_fps_goes_far_and_the_modified_one_less_so():
    assert 3 in numbers(FPSSelector(k=2).compress_documents(DOCUMENTS, QUESTION))
    assert 3 not in numbers(FPSSelector(k=2, alpha=0.8).compress_documents(DOCUMENTS, QUESTION))
    in_turns, of_all = (numbers(FPSSelector(window=w).compress_documents(DOCUMENTS, QUESTION)) for w in (1, None))
    assert in_turns[:2] == of_all[:2]
    assert in_turns != of_all


def test_any_embeddings_serve():
    selector = MMRSelector(k=2, embeddings=DeterministicFakeEmbedding(size=8))
    assert len(selector.compress_documents(DOCUMENTS, QUESTION)) == 2


def test_a_score_of_the_metadata_stands_for_the_cosine():
    assert numbers(MMRSelector(k=4, alpha=1, score_key="score").compress_documents(DOCUMENTS, "tea")) == [0, 1, 2, 3]
    with pytest.raises(UsageError, match="no 'rank' in its metadata"):
        MMRSelector(score_key="rank").compress_documents(DOCUMENTS, "tea")


@pytest.mark.parametrize("selector", [TokenBudget, MMRSelector, FPSSelector])
def test_budgets(selector):
    words = {"count_tokens": lambda text: len(text.split())}
    kept = selector(budget=15, **words).compress_documents(DOCUMENTS, QUESTION)
    assert 0 < sum(len(document.page_content.split()) for document in kept) <= 15
    half = selector(compression=0.5, **words).compress_documents(DOCUMENTS, QUESTION)
    assert 0 < sum(len(document.page_content.split()) for document in half) <= 17
    with pytest.raises(UsageError, match="budget of 3 tokens is smaller than the smallest passage, which has 4"):
        selector(budget=3, **words).compress_documents(DOCUMENTS, QUESTION)


def test_a_budget_counts_word_pieces_by_default(embedder):
    kept = TokenBudget(budget=40).compress_documents(DOCUMENTS, QUESTION)
    assert sum(embedder.count_tokens(document.page_content) for document in kept) <= 40
    assert numbers(TokenBudget(k=2).compress_documents(DOCUMENTS, QUESTION)) == [0, 1]


async def test_vectors_of_a_library_are_not_made_again(library, monkeypatch):
    found = await LibraryRetriever(library=library, k=8).ainvoke(QUESTION)
    new = await MMRSelector(k=4).acompress_documents(found, QUESTION)
    monkeypatch.setattr(library.embedder, "encode_passages", None)
    stored = await MMRSelector(k=4, library=library).acompress_documents(found, QUESTION)
    assert stored[0].id == new[0].id
    assert len(stored) == 4


def test_documents_of_elsewhere_are_embedded_with_the_librarys_embedder(library):
    foreign = [Document(page_content=text, metadata={"passage_id": text, "n": n}) for n, text in enumerate(TEXTS)]
    assert 2 in numbers(MMRSelector(k=2, library=library).compress_documents(foreign, QUESTION))


@pytest.mark.parametrize("compressor", [TokenBudget(budget=1), MMRSelector(), FPSSelector(), Reorder()])
def test_nothing_stays_nothing(compressor):
    assert list(compressor.compress_documents([], QUESTION)) == []


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: MMRSelector(alpha=1.2), "alpha is 1.2"),
        (lambda: MMRSelector(window=0), "window is 0"),
        (lambda: FPSSelector(alpha=-1), "alpha is -1"),
        (lambda: FPSSelector(k=0), "k is 0"),
        (lambda: FPSSelector(window=0), "window is 0"),
        (lambda: TokenBudget(budget=0), "budget is 0"),
        (lambda: TokenBudget(compression=2), "compression is 2"),
        (lambda: Reorder(ordering="best"), "'best' is unknown"),
    ],
)
def test_wrong_settings_are_named_at_once(make, message):
    with pytest.raises(UsageError, match=message):
        make()


def test_reorder_by_place_keeps_documents_together():
    places = [("b", 9), ("a", 5), ("b", 2), ("a", 1)]
    documents = [
        Document(page_content="x", metadata={"source": source, "start_index": at, "n": n})
        for n, (source, at) in enumerate(places)
    ]
    assert numbers(Reorder(ordering="index").compress_documents(documents, "")) == [2, 0, 3, 1]
    assert numbers(Reorder(ordering="1:1").compress_documents(documents, "")) == [0, 2, 3, 1]


def test_reorder_by_a_score():
    assert numbers(Reorder(ordering="score", score_key="n").compress_documents(DOCUMENTS, "")) == [3, 2, 1, 0]
    unscored = [Document(page_content="x", metadata={"n": 4}), *DOCUMENTS]
    assert numbers(Reorder(ordering="score", score_key="score").compress_documents(unscored, ""))[-1] == 4


def test_they_compose_in_a_pipeline_of_langchain(library):
    retrievers = pytest.importorskip("langchain_classic.retrievers")
    compressors = pytest.importorskip("langchain_classic.retrievers.document_compressors")
    pipeline = compressors.DocumentCompressorPipeline(
        transformers=[MMRSelector(k=6, library=library), TokenBudget(budget=600), Reorder(ordering="1:1")]
    )
    base = LibraryRetriever(library=library, k=12)
    found = retrievers.ContextualCompressionRetriever(base_compressor=pipeline, base_retriever=base).invoke(QUESTION)
    assert 0 < len(found) <= 6


def candidate(rank, document, start, tokens=10):
    passage = Passage(
        id=f"{document}{start}", document_id=document, text="x", start=start, end=start + 1, tokens=tokens
    )
    return Candidate(passage=passage, rank=rank, score=1 / rank, cosine=0.5)


CANDIDATES = [candidate(1, "b", 9), candidate(2, "a", 5), candidate(3, "b", 2), candidate(4, "a", 1, tokens=4)]
VECTORS = [[1, 0, 0], [1, 0.01, 0], [0.7, 0, 0.7], [0, 1, 0]]


def chosen(**options):
    return [found.rank for found in select(CANDIDATES, VECTORS, [1, 0, 0.3], **options)]


@given(st.integers(1, 6))
def test_without_settings_a_turn_gets_the_first_k(k):
    assert select(CANDIDATES, k=k) == CANDIDATES[:k]


def test_a_turn_with_diversity():
    assert chosen(k=2, diversity="mmr", alpha=0.5) == [1, 3]
    assert chosen(k=2, diversity="mmr", alpha=1) == [1, 2]
    assert chosen(k=2, diversity="fps") == [1, 4]
    assert chosen(k=2, diversity="modified-fps", alpha=0.99) == [1, 2]
    assert chosen(k=2, diversity="mmr", alpha=1, relevance=[0.1, 0.2, 0.3, 0.4]) == [4, 3]


def test_a_turn_with_a_budget():
    assert chosen(budget_tokens=25) == [1, 2, 4]
    assert chosen(compression=0.5) == [1, 4]
    assert chosen(budget_tokens=25, diversity="fps") == [1, 4, 3]
    with pytest.raises(UsageError, match="smallest passage, which has 4"):
        chosen(budget_tokens=3)


def test_a_turn_with_an_ordering():
    assert chosen(ordering="index") == [3, 1, 4, 2]
    assert chosen(ordering="1:1") == [1, 3, 4, 2]


def test_the_order_of_picking_reaches_the_prompt():
    # By hand from VECTORS: farthest from 1 is 4 (cosine 0), then 3 (0.71 to 1), then 2. Section 3.1: "sort" leaves the
    # sequence of the picks, and m:n puts the first picks to both ends.
    assert chosen(ordering="score", diversity="fps") == [1, 4, 3, 2]
    assert chosen(ordering="1:1", diversity="fps") == [1, 3, 2, 4]
    assert chosen(ordering="2:1", diversity="fps") == [1, 4, 2, 3]
    assert chosen(ordering="index", diversity="fps") == [3, 1, 4, 2]
    assert chosen(k=3, ordering="score", diversity="mmr", alpha=0.1) == [1, 4, 3]


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"alpha": 0.5}, "alpha changes nothing without a selector"),
        ({"window": 3}, "window changes nothing without a selector"),
        ({"alpha": 0.5, "diversity": "fps"}, "alpha changes nothing with plain fps"),
        ({"alpha": 1, "window": 3, "diversity": "mmr"}, "window changes nothing with alpha = 1"),
        ({"alpha": 0.5, "preset": "meeting-qa"}, "alpha changes nothing: the preset 'meeting-qa'"),
        ({"window": 3, "preset": "meeting-qa", "diversity": "mmr"}, "window changes nothing: the preset"),
        ({"preset": "paper-nq-sentences-fps", "diversity": "mmr"}, "is of modified-fps"),
        ({"preset": "best"}, "'best' is unknown"),
    ],
)
def test_what_would_change_nothing_is_refused(settings, says):
    with pytest.raises(UsageError, match=says):
        check_choice(Settings(**settings))


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"window": 3, "diversity": "fps"},
        {"alpha": 0.5, "window": 3, "diversity": "modified-fps"},
        {"preset": "paper-nq-sentences"},
        {"preset": "paper-nq-sentences-fps", "diversity": "modified-fps"},
        {"budget_tokens": 9, "compression": 0.5, "ordering": "1:1"},
    ],
)
def test_what_changes_something_is_taken(settings):
    check_choice(Settings(**settings))


def test_the_papers_presets_are_its_numbers():
    # Sections 3.1 to 3.4, as (α, w).
    reported = {
        "nq-sentences": (0.55, 1), "nq-sentences-fps": (0.5, 1), "triviaqa-sentences": (0.6, 3),
        "triviaqa-sentences-fps": (0.7, 1), "narrativeqa-sentences": (0.55, 5), "narrativeqa-sentences-fps": (0.55, 5),
        "nq-chunks-to-10k": (0.9, 5), "nq-chunks-from-20k": (0.7, 5), "narrativeqa-chunks-to-10k": (0.8, 30),
        "narrativeqa-chunks-from-20k": (0.7, 300), "triviaqa-chunks-to-10k": (0.7, 20),
        "triviaqa-chunks-from-20k": (0.8, 300), "squad-sentences": (0.25, 1000), "squad-256": (0.5, 300),
        "squad-512": (0.3, 300), "gov-report": (0.9, 10), "legal": (0.925, 300),
    }  # fmt: skip
    found = {name.removeprefix("paper-"): (p.alpha, p.window) for name, p in PAPER_PRESETS.items()}
    assert found == reported
    assert {name for name, p in PAPER_PRESETS.items() if p.diversity == "modified-fps"} == {
        name for name in PAPER_PRESETS if name.endswith("-fps")
    }


def test_a_turn_names_what_is_wrong():
    with pytest.raises(UsageError, match="diversity is 'best'"):
        chosen(diversity="best")
    with pytest.raises(UsageError, match="needs vectors"):
        select(CANDIDATES, diversity="mmr")
    assert select([], diversity="mmr", budget_tokens=5, compression=0.5) == []


orderings = st.sampled_from(["score", "index", "1:1", "2:1", "3:1", "1:3"])


@pytest.mark.parametrize(
    ("ordering", "expected"),
    [
        ("score", "abcdefgh"),
        ("1:0", "abcdefgh"),
        ("1:1", "aceghfdb"),
        ("2:1", "abdeghfc"),
        ("3:1", "abcefghd"),
    ],
)
def test_the_best_stand_at_both_ends(ordering, expected):
    assert "".join("abcdefgh"[index] for index in arrange("abcdefgh", ordering)) == expected


@given(st.lists(st.integers(0, 9), max_size=30), orderings)
def test_every_item_stands_once(items, ordering):
    order = arrange(items, ordering, score=lambda item: item, place=lambda item: item)
    assert sorted(order) == list(range(len(items)))


@given(st.integers(1, 40), st.integers(1, 4), st.integers(1, 4))
def test_what_stands_further_inside_is_worse(count, front, back):
    order = arrange(range(count), f"{front}:{back}")
    turn = order.index(max(order))
    assert order[:turn] == sorted(order[:turn])
    assert order[turn:] == sorted(order[turn:], reverse=True)
    assert order[0] == 0
    if count > front:
        assert order[-1] == front


def test_by_score_and_by_place():
    items = [("b", 2, 0.5), ("a", 9, 0.9), ("b", 1, 0.7)]
    assert arrange(items, "score", score=lambda item: item[2]) == [1, 2, 0]
    assert arrange(items, "index", place=lambda item: item[:2]) == [1, 2, 0]
    assert arrange(items, "index") == [0, 1, 2]
    assert arrange(items, "1:1", score=lambda item: item[2]) == [1, 0, 2]


def test_equal_scores_keep_their_order():
    assert arrange("abc", "score", score=lambda item: 1) == [0, 1, 2]


@pytest.mark.parametrize("ordering", ["best", "0:1", "1:00", "1:1:1", "", "1.5:1"])
def test_an_unknown_ordering_is_named(ordering):
    with pytest.raises(UsageError, match="ordering") as error:
        arrange([], ordering)
    assert repr(ordering) in str(error.value)


def test_distance_to_the_nearer_end():
    assert [distance_to_end(place, 5) for place in range(5)] == [0, 1, 2, 1, 0]
