"""What their passages say of the statements of an answer."""

from types import SimpleNamespace

import pytest
from word_reader import WordReader

from preflight_rag.graph.readers import extractive_for
from preflight_rag.models.opening import open_extractive_reader
from preflight_rag.models.reading.statements import check, pair
from preflight_rag.offline.reader import OfflineReader
from preflight_rag.state.values import Passage
from preflight_rag.text.citations import Claim

TEA = Passage(id="t", document_id="t", title="Tea", text="Green tea is brewed at about 80 degrees Celsius in China.")
OATS = Passage(id="o", document_id="o", title="Oats", text="Oats are sown in early spring.")
PASSAGES = {1: TEA, 2: OATS}


@pytest.mark.parametrize(
    ("claim", "supported", "contradicted"),
    [
        (Claim("Green tea is brewed at 80 degrees", (1,)), True, False),
        (Claim("Green tea is brewed at 80 degrees", (2, 1)), True, False),
        (Claim("Venus has a dense atmosphere of gas", (1,)), False, False),
        (Claim("Venus has a dense atmosphere of gas", (2, 1)), False, True),
        (Claim("Green tea is brewed at 80 degrees", (9,)), None, False),
    ],
)
def test_one_passage_that_supports_is_enough(claim, supported, contradicted):
    (found,) = check(WordReader(against={"oat"}), "How hot?", [claim], PASSAGES)
    assert (found.text, found.citations) == (claim.text, claim.citations)
    assert (found.supported, found.contradicted) == (supported, contradicted)
    assert (found.score is None) == (supported is None)


def test_each_statement_and_passage_is_one_reading():
    reader = WordReader()
    check(
        reader, "How hot?", [Claim("Green tea is brewed at 80 degrees", (1, 2)), Claim("x y z a b c", (3,))], PASSAGES
    )
    assert [title for _, title, _ in reader.pairs] == ["Tea", "Oats"]


def test_the_question_stands_before_a_statement_of_few_words():
    assert pair("How hot is tea?", "80 degrees", TEA)[0] == "How hot is tea? 80 degrees"
    assert pair("", "80 degrees", TEA)[0] == "80 degrees"
    whole = "Green tea is brewed at about 80 degrees Celsius in China, where it has been drunk for ages"
    assert pair("How hot is tea?", whole, TEA)[0] == whole


def test_a_reader_without_a_verdict_checks_nothing():
    assert check(WordReader(heads=False), "How hot?", [Claim("Tea is hot", (1,))], PASSAGES) == []


def test_nothing_said_is_nothing_checked():
    assert check(WordReader(), "How hot?", [], PASSAGES) == []


def test_the_shipped_reader_tells_a_passages_own_words_from_anothers():
    said = Claim("Green tea is brewed at about 80 degrees Celsius in China", (1,))
    own, other = check(open_extractive_reader(), "How hot?", [said, Claim(said.text, (2,))], PASSAGES)
    assert own.score > other.score
    assert (own.supported, other.supported) == (True, False)


def test_whose_reader_a_turn_has(embedder):
    chat = SimpleNamespace(by_rule=False)
    assert extractive_for(chat, "none") is None
    assert extractive_for(chat, "default") is extractive_for(chat, "default")
    assert extractive_for(OfflineReader(embedder), "default") is None
    own = WordReader()
    assert extractive_for(OfflineReader(embedder, own), "default") is own
