"""The offline reader: what it quotes, what it refuses, how it chooses, and how it makes a follow-up stand alone."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from preflight_rag.models.embedding.embedder import Embedder
from preflight_rag.models.protocol import Reader
from preflight_rag.offline.reader import OfflineReader
from preflight_rag.state.reading import Earlier, Extract, Message, Source, Talk
from preflight_rag.state.values import Usage
from preflight_rag.text.headers import NOT_ANSWERED

BATS = "Most bats hunt at night. They steer by the echoes of their calls. Some sleep through the winter."
SATURN_OLD = "Saturn has 82 known moons. The largest is Titan."
SATURN_NEW = "Saturn has 274 known moons. Many are only a few kilometres across."
SKY = "The sky is blue because air scatters blue light more strongly than red light."
BREAD = "Yeast gives off carbon dioxide. The gas makes the dough swell."


@pytest.fixture(scope="session")
def reader(embedder: Embedder) -> OfflineReader:
    return OfflineReader(embedder)


def sources(*texts: str) -> list[Source]:
    return [Source(n, f"p{n}", "", text) for n, text in enumerate(texts, 1)]


def test_is_a_reader(reader):
    assert isinstance(reader, Reader)
    assert reader.name == "offline extractive"


async def test_quotes_the_sentence_that_answers(reader):
    reply = await reader.answer(question="Why is the sky blue?", sources=sources(BREAD, BATS, SKY))
    assert reply.value.text == f"{SKY} [3]"
    assert reply.value.quotes == ((3, SKY),)
    assert reply.usage == Usage()


async def test_quotes_are_verbatim_and_cited(reader):
    given_ = sources(SATURN_OLD, BATS, SATURN_NEW)
    draft = (await reader.answer(question="How many moons does Saturn have?", sources=given_)).value
    assert {n for n, _ in draft.quotes} == {1, 3}
    for n, quote in draft.quotes:
        assert quote in given_[n - 1].text
        assert f"[{n}]" in draft.text


async def test_the_order_of_sources_does_not_change_the_quotes(reader):
    question = "How do bats find their way?"
    there = (await reader.answer(question=question, sources=sources(BATS, BREAD, SKY))).value
    back = (await reader.answer(question=question, sources=sources(SKY, BREAD, BATS))).value
    assert [quote for _, quote in there.quotes] == [quote for _, quote in back.quotes]


async def test_sources_that_agree_are_cited_together(reader):
    copy = "The sky is blue, because air scatters blue light more strongly than red light."
    draft = (await reader.answer(question="Why is the sky blue?", sources=sources(SKY, BREAD, copy))).value
    assert draft.text.endswith(" [1][3]")
    assert set(draft.quotes) == {(1, SKY), (3, copy)}


async def test_another_number_is_no_agreement(reader):
    draft = (await reader.answer(question="How many moons?", sources=sources(SATURN_OLD, SATURN_NEW))).value
    assert "[1][2]" not in draft.text


@pytest.mark.parametrize("given_", [sources(BATS, BREAD, SKY), [], sources("", "...", "Why?")])
async def test_abstains_without_an_answer(reader, given_):
    draft = (await reader.answer(question="Who won the football World Cup in 1998?", sources=given_)).value
    assert (draft.found, draft.text, draft.quotes, draft.choice) == (False, NOT_ANSWERED, (), None)


async def test_titles_help_sentences_without_a_subject(reader):
    text = "It had a population of {} at the census of 2020."
    given_ = [Source(1, "a", "Springfield, Illinois", text.format("114,394"))]
    given_ += [Source(2, "b", "Springfield, Missouri", text.format("169,176"))]
    draft = (await reader.answer(question="What is the population of Springfield, Missouri?", sources=given_)).value
    assert draft.text.startswith(text.format("169,176"))


async def test_markdown_and_reference_numbers_stay_out_of_the_text(reader):
    text = "# Why is the sky blue?\n\n- The sky is **blue** because air scatters\n  blue light most.[12]"
    draft = (await reader.answer(question="Why is the sky blue?", sources=sources(text))).value
    assert draft.text == "The sky is blue because air scatters blue light most. [1]"
    assert all(quote in text for _, quote in draft.quotes)


async def test_partitions_give_what_one_answer_gives(reader):
    question, given_ = "Why is the sky blue?", sources(BREAD, BATS, SKY, SATURN_NEW)
    extracts = [(await reader.extract(question=question, sources=given_[i : i + 2])).value for i in (0, 2)]
    assert extracts[0] == Extract("")
    assert extracts[1].text == f"{SKY} [3]"
    reduced = (await reader.reduce(question=question, extracts=extracts)).value
    assert reduced == (await reader.answer(question=question, sources=given_)).value


async def test_reduce_keeps_titles(reader):
    source = Source(7, "p", "Springfield: a city", "It had 169,176 inhabitants in 2020.")
    extract = (await reader.extract(question="How many inhabitants has Springfield?", sources=[source])).value
    assert extract.text == "Springfield: a city: It had 169,176 inhabitants in 2020. [7]"
    draft = (await reader.reduce(question="How many inhabitants has Springfield?", extracts=[extract])).value
    assert draft.quotes == ((7, source.text),)


@pytest.mark.parametrize("extracts", [[], [Extract(""), Extract("")]])
async def test_reduce_of_nothing_abstains(reader, extracts):
    assert not (await reader.reduce(question="Why?", extracts=extracts)).value.found


@pytest.mark.parametrize(
    ("question", "text", "options", "choice"),
    [
        ("What does air scatter most?", SKY, ["red light", "sound", "blue light"], "blue light"),
        ("Does aspirin lower the risk?", "Aspirin did not lower the risk of death.", ["yes", "no", "maybe"], "no"),
        ("Does aspirin lower the risk?", "Aspirin clearly lowered the risk of death.", ["Yes", "No"], "Yes"),
        (
            "Does aspirin lower the risk?",
            "Whether aspirin lowers the risk is unclear.",
            ["yes", "no", "maybe"],
            "maybe",
        ),
    ],
)
async def test_chooses_an_option(reader, question, text, options, choice):
    assert (await reader.answer(question=question, sources=sources(text), options=options)).value.choice == choice


async def test_a_rewrite_is_the_message_with_its_concepts_whatever_was_asked_before(reader):
    made = (
        await reader.rewrite(message="  Why is\nthe sky blue? ", history=[Message("user", "What is dengue?")])
    ).value
    assert (made.question, made.concepts) == ("Why is the sky blue?", ("sky blue",))


async def test_talk_is_answered_with_the_last_answer(reader):
    earlier = Earlier("Why?", "Because [1].", (Source(1, "p1", "", "Because it is so."),))
    draft = (await reader.converse(message="again", talk=Talk("repeat"), history=[], earlier=earlier)).value
    assert (draft.text, draft.quotes) == ("Because [1].", ((1, "Because it is so."),))


def test_counts_the_embedder_s_tokens(reader):
    assert reader.count_tokens("the sky") == 2


TEXTS = st.one_of(
    st.text(max_size=200),
    st.sampled_from(
        ["x", "?!…", "word " * 10_000, "あ" * 3_000, "Der Himmel ist blau.", "# Title", "\ud800 odd", "[1] [2]"]
    ),
)


@pytest.mark.slow
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(question=TEXTS, texts=st.lists(TEXTS, max_size=4))
async def test_takes_any_text(reader, question, texts):
    given_ = sources(*texts)
    draft = (await reader.answer(question=question, sources=given_, options=["a", ""])).value
    assert all(quote in given_[n - 1].text for n, quote in draft.quotes)
    assert draft == (await reader.answer(question=question, sources=given_, options=["a", ""])).value
    extract = (await reader.extract(question=question, sources=given_)).value
    await reader.reduce(question=question, extracts=[extract])
    await reader.rewrite(message=question, history=[Message("user", text) for text in texts])
