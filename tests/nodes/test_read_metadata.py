"""The node `read_metadata`: what a document's card says; what it does not say goes on to a search."""

import pytest
from langgraph.runtime import Runtime

from preflight_rag.conversation.lookups import pointed_lookup, recognise_lookup
from preflight_rag.library import Library
from preflight_rag.library.search.query import SearchQuery
from preflight_rag.nodes.read_metadata import read_metadata
from preflight_rag.offline.reader import OfflineReader
from preflight_rag.state.context import Context
from preflight_rag.state.values import Document

PAPERS = [
    Document(
        id="a", source="PMC11", title="Etoricoxib in rheumatoid arthritis", date="2002-05-22",
        authors=("Anna One", "B. Two"),
        text="Etoricoxib was compared with naproxen. Warfarin was not given.",
        metadata={"journal": "Joints", "doi": "10.1000/xyz1", "pmcid": "PMC11"},
    ),
    Document(
        id="b", source="PMC1234", title="Goiter after ten years", date="2017", authors=("C. Three",),
        text="Goiter came back in 15 patients.", metadata={"journal": "Surgery", "pmcid": "PMC1234"},
    ),
    Document(
        id="c", source="PMC13", title="Goiter in children", text="Goiter is rare there.", metadata={"journal": "Child"}
    ),
    Document(
        id="e", source="PMC15", title="Once-daily tiotropium in chronic bronchitis", date="2014", authors=("D. Four",),
        text="In the SPRUCE study, tiotropium was compared with TX7310. SPRUCE ran in eight countries.",
        metadata={"journal": "Lung"},
    ),
    Document(
        id="f", source="PMC16", title="Bronchodilators reviewed", date="2018", authors=("E. Five",),
        text="Many bronchodilators are sold. " * 40 + "The ALDER trial was stopped early; DNA was not taken.",
        metadata={"journal": "Reviews"},
    ),
    Document(id="d", source="notes.txt", title="Trip to Rome", text="We saw the Colosseum. Hamlet was played."),
]  # fmt: skip


@pytest.fixture(scope="module")
def papers(embedder, tmp_path_factory):
    with Library.open(tmp_path_factory.mktemp("papers") / "library", embedder=embedder, create=True) as library:
        library.add(PAPERS)
        yield library


@pytest.fixture
def known(papers, embedder):
    async def ask(question, earlier=None):
        context = Context(OfflineReader(embedder), papers)
        state = {"lookup": recognise_lookup(question).dump()} | ({"earlier": earlier} if earlier else {})
        return await read_metadata(state, Runtime(context=context))

    return ask


@pytest.mark.parametrize(
    ("question", "short", "quote"),
    [
        ("Who wrote the paper on etoricoxib?", "Anna One; B. Two", "Authors: Anna One; B. Two"),
        ("In which journal was the trial of etoricoxib published?", "Joints", "Journal: Joints"),
        ("Who is the first author of the paper on etoricoxib?", "Anna One", "Authors: Anna One; B. Two"),
        ("Who is the last author of the etoricoxib trial?", "B. Two", "Authors: Anna One; B. Two"),
        ("When was the paper on etoricoxib in arthritis published?", "22 May 2002", "Published: 2002-05-22"),
        ("What is the DOI of the paper on etoricoxib?", "10.1000/xyz1", "DOI: 10.1000/xyz1"),
        ("In which journal was the etoricoxib trial published?", "Joints", "Journal: Joints"),
        ("Where was the etoricoxib arthritis trial published?", "Joints", "Journal: Joints"),
        ("When was the SPRUCE study published?", "2014", "Published: 2014"),
        ("Who are the authors of the TX7310 vs tiotropium study?", "D. Four", "Authors: D. Four"),
        ("Who wrote the bronchodilators paper?", "E. Five", "Authors: E. Five"),
        ("What is the title of PMC1234?", "Goiter after ten years", "Title: Goiter after ten years"),
        ("When was “Goiter after ten years” published?", "2017", "Published: 2017"),
    ],
)
async def test_what_is_known_is_cited(known, papers, question, short, quote):
    state = await known(question)
    (citation,) = state["citations"]
    assert state["answer"].endswith(", according to its metadata [1].")
    assert (state["draft"]["short"], citation["quote"], citation["verified"]) == (short, quote, True)
    (card,) = papers.passages([citation["passage_id"]])
    assert card.text[citation["start"] : citation["end"]] == quote


@pytest.mark.parametrize(
    "question",
    [
        "Who wrote Hamlet?",
        "Who wrote the paper on warfarin?",
        "Who wrote the paper on influenza?",
        "What is the DOI of the paper on goiter after ten years?",
        "When was Rome published?",
        "When was the ALDER trial published?",
        "Who are the authors of the DNA study?",
        "Who are the authors of the SPRUCE and warfarin study?",
    ],
)
async def test_what_is_not_known_goes_on_to_a_search(known, question):
    assert await known(question) == {"onward": "retrieve"}


async def test_several_documents_are_shown_without_a_claim(known):
    state = await known("In which journal was the paper on goiter published?")
    assert state["draft"]["claims"] is False
    assert state["draft"]["short"] == ""
    assert {citation["document_id"] for citation in state["citations"]} == {"b", "c"}


async def test_this_paper_is_the_one_that_was_cited(known):
    assert (await known("Who wrote this paper?"))["answer"].startswith("Which document is meant?")
    earlier = {"question": "", "answer": "", "groups": [], "citations": [{"document_id": "b", "passage_id": "x"}]}
    assert (await known("Who wrote this paper?", earlier))["draft"]["short"] == "C. Three"
    assert await known("When was it published?", earlier) == {"onward": "retrieve"}


def test_cards_are_in_no_search(papers):
    found = papers.search(SearchQuery("Authors Journal DOI", k=50))
    assert not any(hit.passage_id.startswith("card:") for hit in found.fused)
    assert not any(name.startswith("card:") for name in papers.all_passage_ids())


LISTS = [
    Document(id="p", source="prices.docx", title="Admission prices 2025", authors=("Sunita Patel",), text="Adult 9.50"),
    Document(id="q", source="prices-2024.docx", title="Admission prices 2024", authors=("Hugh Bell",), text="Adult 8."),
    Document(
        id="h", source="handbook.docx", title="Staff handbook", authors=("Helen Osgood",), text="Adults pay 9.50."
    ),
]


async def asked_of(library, embedder, message, *cited):
    """Return the update for a message that points to one of the documents that the last answer cites."""
    citations = [{"document_id": name, "passage_id": f"{name}#0"} for name in cited]
    earlier = {"question": "How much is it?", "answer": "9.50 [1]", "citations": citations, "groups": []}
    state = {"lookup": pointed_lookup(message).dump(), "earlier": earlier}
    return await read_metadata(state, Runtime(context=Context(OfflineReader(embedder), library)))


@pytest.fixture(scope="module")
def lists(embedder, tmp_path_factory):
    with Library.open(tmp_path_factory.mktemp("lists") / "library", embedder=embedder, create=True) as library:
        library.add(LISTS)
        yield library


async def test_that_list_is_the_cited_document_that_is_a_list(lists, embedder):
    update = await asked_of(lists, embedder, "Who wrote that list?", "h", "p")
    assert (update["draft"]["short"], "Osgood" in update["answer"]) == ("Sunita Patel", False)


async def test_of_two_cited_lists_both_are_shown_and_nothing_is_claimed(lists, embedder):
    update = await asked_of(lists, embedder, "Who wrote that list?", "p", "q", "h")
    assert "Sunita Patel" in update["answer"]
    assert "Hugh Bell" in update["answer"]
    assert "Osgood" not in update["answer"]
    assert update["draft"]["claims"] is False


@pytest.mark.parametrize("message", ["Who wrote that letter?", "Who wrote that policy?", "Who wrote that rota list?"])
async def test_what_is_cited_but_of_another_kind_is_not_meant(lists, embedder, message):
    assert await asked_of(lists, embedder, message, "p", "h") == {"onward": "retrieve"}


DATED = [
    Document(
        id="x", source="x.docx", title="Condition report", text="A.", authors=("Dr Ingrid Falk",), date="2024-08-19"
    ),
    Document(
        id="y", source="y.docx", title="Annual report", text="B.", authors=("Dr Helen Osgood",), date="2025-02-14"
    ),
]


async def test_when_somebody_wrote_the_report_is_the_date_of_the_one_of_that_author(embedder, tmp_path):
    with Library.open(tmp_path / "library", embedder=embedder, create=True) as library:
        library.add(DATED)
        falk = await asked_of(library, embedder, "When did Ingrid Falk write the report?", "y", "x")
        nobody = await asked_of(library, embedder, "When did Tom Brodie write the report?", "y", "x")
        not_cited = await asked_of(library, embedder, "When did Ingrid Falk write the report?", "y")
    assert falk["draft"]["short"] == "19 August 2024"
    assert nobody == not_cited == {"onward": "retrieve"}
