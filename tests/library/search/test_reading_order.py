"""Which passages a model is given where there is no room for all: those that a reading finds likeliest."""

import math

import pytest
from word_reader import WordReader

from preflight_rag.library.search.reading_order import ReadingOrder, likeliest, may_choose
from preflight_rag.models.reading.extractive_reader import PassageReading
from preflight_rag.state.context import Settings
from preflight_rag.state.retrieval import Candidate
from preflight_rag.state.values import Passage

QUESTION = "How hot is the planet Venus?"
ANSWER = "Venus is the hot planet: as hot as an oven."
OTHER = "The lighthouse of the island was built by two brothers."


def candidate(rank, text, *, document=None, title="", tokens=10, cosine=0.5):
    passage = Passage(
        id=f"p{rank}", document_id=document or f"d{rank}", title=title, source="made", text=text, tokens=tokens,
        start=0, end=len(text),
    )  # fmt: skip
    return Candidate(passage, rank, score=1 / rank, cosine=cosine)


def found(answers, count=8, **given):
    """As many passages, of which those at the places given answer."""
    return [candidate(rank, ANSWER if rank in answers else OTHER, **given) for rank in range(1, count + 1)]


def kept(candidates, settings, reader=None, question=QUESTION):
    return [each.rank for each in likeliest(question, candidates, settings, reader or WordReader())]


def test_a_passage_that_answers_goes_on_from_far_down_and_the_order_stays():
    assert kept(found({7}), Settings(k=3)) == [1, 2, 7]


def test_a_budget_of_tokens_is_kept_to():
    assert kept(found({6, 8}), Settings(k=8, budget_tokens=35)) == [1, 6, 8]


def test_where_all_fit_nothing_is_read():
    reader = WordReader()
    assert kept(found({7}), Settings(k=8, budget_tokens=80), reader) == list(range(1, 9))
    assert reader.pairs == []


def test_where_none_fits_beside_the_first_nothing_is_read():
    reader = WordReader()
    assert kept(found({7}), Settings(k=8, budget_tokens=19), reader) == [1]
    assert reader.pairs == []


def test_a_first_passage_that_is_too_long_gives_way_to_the_likeliest():
    passages = [candidate(1, OTHER, tokens=50), *found({7})[1:]]
    assert kept(passages, Settings(k=8, budget_tokens=20)) == [2, 7]


def test_where_no_passage_fits_there_is_none_to_return():
    assert kept(found({7}), Settings(k=8, budget_tokens=9)) == []


def test_a_language_that_the_reader_does_not_read_keeps_the_first():
    reader = WordReader()
    german = "Wie heiß ist der Planet Venus, und warum ist er so heiß wie kein anderer Planet?"
    assert kept(found({7}), Settings(k=3), reader, german) == [1, 2, 3]
    assert reader.pairs == []


def test_a_retracted_publication_goes_on_last():
    passages = [*found({2}, 3), candidate(4, ANSWER, title="RETRACTED: On Venus")]
    assert kept(passages, Settings(k=2)) == [1, 2]


def test_one_document_cannot_fill_all_places_where_others_are_as_near():
    planted = [candidate(rank, ANSWER, document="planted") for rank in range(1, 6)]
    passages = [*planted, candidate(6, OTHER), candidate(7, OTHER)]
    assert kept(passages, Settings(k=4, document_share=0.5)) == [1, 2, 6, 7]
    far = [*planted, candidate(6, OTHER, cosine=0.1), candidate(7, OTHER, cosine=0.1)]
    assert kept(far, Settings(k=4, document_share=0.5)) == [1, 2, 3, 4]


def test_scores_are_those_of_the_formula():
    """Log odds of .8 are log 4; at the second place log 2 is taken off."""
    order = ReadingOrder(place=1.0, relevant=2.0)
    even, sure = PassageReading((), 0.8, 0.5), PassageReading((), 0.5, 0.8)
    assert order.scores([even, sure]) == pytest.approx([0, 2 * math.log(4) - math.log(2)], abs=1e-4)
    assert order.preferred([even, even, sure]) == [0, 2, 1]


def test_a_reader_without_relevance_counts_what_answers_instead():
    order = ReadingOrder(place=0.0, relevant=1.0)
    assert order.scores([PassageReading((), 0.8, None)]) == pytest.approx([math.log(4)], abs=1e-4)


def test_shipped_weights_count_the_reading_and_the_place():
    order = ReadingOrder.shipped()
    assert order.place > 0
    assert order.relevant > 0


@pytest.mark.parametrize(
    "given",
    [
        {"choose_by_reading": False},
        {"ordering": "index"},
        {"diversity": "mmr"},
        {"preset": "all-evidence"},
        {"recency": 0.5},
        {"reranker": "none"},
        {"reranker": "reader"},
        {"compression": 0.5},
        {"k": 1},
    ],
)
def test_an_order_that_is_asked_for_stays(given):
    assert may_choose(Settings(), [QUESTION])
    assert not may_choose(Settings(**given), [QUESTION])


@pytest.mark.parametrize(
    "questions",
    [
        ["What does error GX-2290 mean?"],
        ["Which errors are in the log?"],
        ["How hot are Venus and Mars?", "How hot is Venus?", "How hot is Mars?"],
    ],
)
def test_what_goes_first_for_another_reason_stays(questions):
    assert not may_choose(Settings(), questions)
