"""The node `list_documents`: counts and quotes are those of a plain search over the demo's files."""

import re

import pytest
from langgraph.runtime import Runtime

from preflight_rag.conversation.lookups import recognise_lookup
from preflight_rag.nodes.list_documents import list_documents
from preflight_rag.offline.reader import OfflineReader
from preflight_rag.state.context import Context, Settings


@pytest.fixture
def listed(library, embedder):
    async def ask(question, **settings):
        context = Context(OfflineReader(embedder), library, Settings(**settings))
        lookup = recognise_lookup(question)
        return await list_documents({"lookup": lookup.dump()}, Runtime(context=context))

    return ask


def holding(library, pattern):
    """Ids of documents whose passages or title match, by brute force."""
    passages = library.passages(library.all_passage_ids())
    return {each.document_id for each in passages if re.search(pattern, f"{each.title} {each.text}", re.IGNORECASE)}


@pytest.mark.parametrize("word", ["Nebraska", "temperature", "moon"])
async def test_documents_that_mention_a_word_are_counted_and_quoted(listed, library, word):
    state = await listed(f"How many documents mention {word}?")
    expected = holding(library, rf"\b{word}(?:s|es)?\b")
    assert state["answer"].startswith(f"**{len(expected)} document")
    assert {citation["document_id"] for citation in state["citations"]} <= expected
    assert len(state["citations"]) == min(10, len(expected))
    for citation in state["citations"]:
        (passage,) = library.passages([citation["passage_id"]])
        assert passage.text[citation["start"] : citation["end"]] == citation["quote"]
        assert citation["verified"]


async def test_a_long_list_is_cut_and_says_so(listed, library):
    state = await listed("What documents do you have?")
    count = len(list(library.documents()))
    assert f"The library holds {count} documents" in state["answer"]
    assert state["answer"].endswith(f"… and {count - 10} more.")
    assert [citation["n"] for citation in state["citations"]] == list(range(1, 11))


async def test_nothing_is_a_list_too(listed):
    state = await listed("Which documents mention ketamine?")
    assert state["answer"].startswith("**0 documents mention “ketamine”**")
    assert not state["abstained"]
    assert state["citations"] == []


async def test_words_that_stand_apart_are_said_to(listed):
    state = await listed("Which documents mention planet Venus surface heat?")
    assert "none has them as one phrase" in state["answer"]


async def test_what_is_in_documents_is_not_listed_as_if_it_were(listed):
    state = await listed("List the metals mentioned in the documents about Mercury")
    assert "This lists documents, not metals" in state["answer"]


async def test_a_filter_leaves_documents_out(listed):
    everything = await listed("Which documents mention Broken Bow?")
    filtered = await listed("Which documents mention Broken Bow?", where=("title ~ Oklahoma",))
    assert len(filtered["citations"]) < len(everything["citations"])
