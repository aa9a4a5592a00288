"""Turns that go on from each other over published papers and a filing, without a language model."""

import pytest

from preflight_rag import Preflight
from preflight_rag.library import Library
from preflight_rag.text.headers import UNRESOLVED

pytestmark = pytest.mark.slow

FILES = [
    "ingest_docs/pmc_pairs/PMC115849.nxml",
    "ingest_docs/pmc_pairs/PMC5762805.nxml",
    "ingest_docs/unstructured/stanley-cups.csv",
]


@pytest.fixture(scope="module")
def papers(data_dir, embedder, tmp_path_factory):
    folder = tmp_path_factory.mktemp("papers") / "library"
    with Library.open(folder, embedder=embedder, create=True) as library:
        library.ingest([data_dir / name for name in FILES])
    with Preflight.open(folder, "offline") as app:
        yield app


def test_a_document_is_asked_about_further(papers):
    first = papers.ask("Who wrote the paper on etoricoxib?", thread_id="a")
    assert (first.route.name, first.outcome) == ("metadata", "answered")
    assert "Eduardo Collantes" in first.short_answer
    assert papers.ask("In which journal?", thread_id="a").short_answer == "BMC Family Practice"
    year = papers.ask("And when was it published?", thread_id="a")
    assert year.short_answer.endswith("2002")
    assert year.citations[0].verified


def test_a_list_is_asked_for_another_word(papers):
    first = papers.ask("Which documents mention naproxen?", thread_id="b")
    assert (first.outcome, first.short_answer, first.confidence) == ("listing", None, None)
    assert [citation.source for citation in first.citations] == ["PMC115849"]
    second = papers.ask("and goiter?", thread_id="b")
    assert [citation.source for citation in second.citations] == ["PMC5762805"]


def test_a_follow_up_without_a_word_of_its_own_is_not_answered_with_the_same_again(papers):
    first, why = (papers.ask(text, thread_id="c") for text in ("How many women had goiter surgery?", "and why?"))
    assert first.citations
    again = bool(why.citations) and why.citations[0].quote == first.citations[0].quote
    assert not again or why.answer != first.answer
    assert why.outcome != "not_found" or why.answer == UNRESOLVED


def test_the_sentence_that_was_shown_may_answer_the_next_question(papers):
    first = papers.ask("What percentage of patients on etoricoxib achieved an ACR20 response?", thread_id="e")
    second = papers.ask("And with placebo?", thread_id="e")
    assert "40.9% in the placebo group" in first.citations[0].quote
    assert second.citations[0].quote == first.citations[0].quote
    assert second.outcome in ("answered", "evidence")
    assert UNRESOLVED not in second.answer


@pytest.mark.parametrize("question", ["Why did she do that there?", "How old is she?"])
def test_a_pronoun_that_nothing_explains_is_asked_about(papers, question):
    answer = papers.ask(question)
    assert (answer.outcome, answer.answer) == ("not_found", UNRESOLVED)


def test_a_forced_route_reads_passages(papers):
    assert papers.ask("Which documents mention naproxen?", thread_id="d", route="plain").route.name == "plain"
