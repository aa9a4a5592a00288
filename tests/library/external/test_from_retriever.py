"""Answers from other people's retrievers and vector stores."""

import datetime
import json
from dataclasses import replace

import numpy as np
import pytest
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableLambda
from langchain_core.vectorstores import InMemoryVectorStore, VectorStore
from pydantic import Field

from preflight_rag import Library, Preflight
from preflight_rag.langchain import PreflightRetriever, preflight_graph, preflight_tool
from preflight_rag.routing.library_risk import risk_model_of, write_model
from preflight_rag.routing.risk import shipped_model
from preflight_rag.state.errors import RetrieverError, UsageError
from preflight_rag.testing.scripted_server import ScriptedServer

DOSE = Document(
    "Children were given a dose of 5 mg a day for two weeks.",
    metadata={"source": "trial.pdf", "title": "Trial 7", "page": 3, "date": "2023-04-01"},
)
CANTEEN = Document("The canteen is open from 11 to 14 o'clock.", metadata={"source": "canteen.md"})
QUESTION = "Which dose was given to children?"


class Given(BaseRetriever):
    """Returns what it was made with, and remembers what it was asked."""

    documents: list = Field(default_factory=list)
    asked: list[str] = Field(default_factory=list)

    def _get_relevant_documents(self, query, *, run_manager):
        self.asked.append(query)
        return self.documents


class Asynchronous(Given):
    def _get_relevant_documents(self, query, *, run_manager):
        raise NotImplementedError

    async def _aget_relevant_documents(self, query, *, run_manager):
        self.asked.append(query)
        return self.documents


class Failing(BaseRetriever):
    def _get_relevant_documents(self, query, *, run_manager):
        raise ConnectionError("no server\nat 10.0.0.1")


class Unscored(VectorStore):
    """A store that has nothing but asynchronous search without scores."""

    def similarity_search(self, query, k=4, **options):
        raise NotImplementedError

    async def asimilarity_search(self, query, k=4, **options):
        return [CANTEEN, DOSE][:k]

    @classmethod
    def from_texts(cls, texts, embedding, metadatas=None, **options):
        raise NotImplementedError


async def looked_up(query):
    return [CANTEEN, DOSE]


ASYNCHRONOUS_ALONE = {
    "a function": RunnableLambda(looked_up),
    "a chain with one": RunnableLambda(str.strip) | RunnableLambda(looked_up),
    "one with a retry": RunnableLambda(looked_up).with_retry(),
    "one with a fallback": RunnableLambda(looked_up).with_fallbacks([RunnableLambda(looked_up)]),
}


@pytest.fixture
def over(embedder):
    """Opens the application over a retriever, and closes it."""
    opened = []

    def make(source, model="offline", **options):
        opened.append(Preflight.from_retriever(source, model, embedder=embedder, **options))
        return opened[-1]

    yield make
    for app in opened:
        app.close()


@pytest.fixture
def store(embedder):
    store = InMemoryVectorStore(embedder)
    store.add_documents([CANTEEN, DOSE])
    return store


def test_an_answer_with_what_the_metadata_say(over, store):
    app = over(store)
    answer = app.ask(QUESTION)
    citation = answer.citations[0]
    assert citation.verified
    assert (citation.source, citation.title, citation.page, citation.date) == ("trial.pdf", "Trial 7", 3, "2023-04-01")
    (passage,) = app.library.passages([citation.passage_id])
    assert passage.text[citation.start : citation.end] == citation.quote
    assert answer.gaps == ()
    assert app.library.verify() == ["the library has no index yet"]


@pytest.mark.parametrize("source", ASYNCHRONOUS_ALONE)
def test_what_can_only_be_awaited_is_a_retriever(over, source):
    assert over(ASYNCHRONOUS_ALONE[source]).ask(QUESTION).citations[0].source == "trial.pdf"


def test_a_mistake_in_a_retrievers_code_is_no_wrong_key(over):
    app = over(RunnableLambda(lambda query: query.documents))
    with pytest.raises(RetrieverError, match="The error is in the code of the retriever"):
        app.ask(QUESTION)


def test_the_dense_ranking_is_the_lenders_and_bm25_ranks_what_it_returned(over):
    found = over(Given(documents=[CANTEEN, DOSE])).search("dose of children", k=2)
    assert [hit.document_id for hit in found.dense] == ["canteen.md", "trial.pdf · Trial 7 · 2023-04-01"]
    assert [hit.document_id for hit in found.lexical] == ["trial.pdf · Trial 7 · 2023-04-01"]
    assert found.fused[0].document_id == "trial.pdf · Trial 7 · 2023-04-01"


def test_the_iou_rule_takes_the_lenders_order(over):
    pad = " pad" * 120
    worded = [Document(f"Item {n} of dose children given.{pad}", metadata={"source": f"{n}"}) for n in range(6)]
    other = [Document(f"Thing {n} about bees and tides.{pad}", metadata={"source": f"o{n}"}) for n in range(3)]
    last = over(Given(documents=[*other, *worded]), top_n=3).search(QUESTION)
    first = over(Given(documents=[*worded, *other]), top_n=3).search(QUESTION)
    assert (last.preflight.iou, last.preflight.route) == (0, "map_reduce")
    assert first.preflight.iou == 1
    assert first.preflight.reason.startswith("nothing is calibrated")


def test_only_the_folders_own_calibration_serves(over, tmp_path):
    library = over(Given(documents=[DOSE]), folder=tmp_path).library
    assert risk_model_of(library) is None
    own = replace(shipped_model(), embedder=library.embedder_revision, threshold=0.123)
    write_model(tmp_path, own)
    assert risk_model_of(library) == own


def test_scores_of_a_vector_store(over, store):
    found = over(store).search(QUESTION)
    assert [hit.score for hit in found.dense] == pytest.approx(
        [score for _, score in store.similarity_search_with_score(QUESTION, k=2)], abs=1e-5
    )


def test_a_score_that_is_no_number_is_none(over, store, monkeypatch):
    monkeypatch.setattr(store, "similarity_search_with_score", lambda query, k: [(DOSE, float("nan"))])
    assert over(store).search(QUESTION).dense[0].score == 1


def test_how_many_a_vector_store_is_asked_for(over, store):
    assert len(over(store, fetch=1).search(QUESTION).dense) == 1


@pytest.mark.parametrize("route", ["plain", "map-reduce", "corg"])
def test_every_route(over, chat_reader, route):
    said = [f"Children of group {n} were given {n} mg a day." for n in range(1, 7)]
    documents = [Document(text, metadata={"source": f"{n}.txt"}) for n, text in enumerate(said)]
    with ScriptedServer(default="Children were given 1 mg a day [1].") as server:
        app = over(Given(documents=documents), chat_reader(server).chat_model, route=route)
        answer = app.ask(QUESTION)
    assert answer.route.name == route.replace("-", "_")
    assert answer.citations


async def test_a_conversation_is_kept_in_the_folder(over, tmp_path):
    retriever = Given(documents=[DOSE, CANTEEN])
    first = over(retriever, folder=tmp_path / "kept")
    before = await first.aask(QUESTION, thread_id="t")
    first.close()
    again = over(Asynchronous(documents=[DOSE]), folder=tmp_path / "kept")
    answer = again.ask("And to adults?", thread_id="t")
    assert answer.turn == 2
    assert "Which dose was given to adults?" in answer.standalone_question
    assert again.library.passages([before.citations[0].passage_id])[0].text == DOSE.page_content
    assert [row["id"] for row in again.library.documents()] == ["canteen.md", "trial.pdf · Trial 7 · 2023-04-01"]


def test_the_folder_opens_as_a_library_of_what_was_returned(over, tmp_path):
    app = over(Given(documents=[DOSE, CANTEEN]), folder=tmp_path / "kept")
    app.ask(QUESTION)
    with Library.open(tmp_path / "kept") as library:
        assert library.search("canteen").fused[0].document_id == "canteen.md"
        assert library.verify() == []


def test_a_temporary_folder_is_removed(over, store):
    app = over(store)
    app.ask(QUESTION)
    assert app.folder.is_dir()
    app.close()
    assert not app.folder.exists()


@pytest.mark.parametrize("source", [Asynchronous(documents=[CANTEEN, DOSE]), Unscored()])
async def test_what_can_only_be_asked_asynchronously(over, source):
    app = over(source)
    assert "5 mg" in app.ask(QUESTION).answer
    assert "5 mg" in (await app.aask(QUESTION, thread_id="other")).answer


def test_any_runnable_that_gives_documents(over):
    assert "5 mg" in over(RunnableLambda(lambda query: [DOSE])).ask(QUESTION).answer


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (Failing(), "Failing failed: ConnectionError: no server at 10.0.0.1"),
        (RunnableLambda(lambda query: ["text"]), "returned str, not documents"),
        (RunnableLambda(lambda query: 7), "failed: TypeError"),
    ],
)
def test_a_retriever_that_fails(over, source, said):
    app = over(source)
    with pytest.raises(RetrieverError, match="the retriever") as failure:
        app.ask(QUESTION)
    assert said in str(failure.value)
    assert "\n" not in str(failure.value)
    assert app.ledger.last(failure.value.thread_id).status == "failed"
    with pytest.raises(RetrieverError):
        app.search(QUESTION)


@pytest.mark.parametrize("documents", [[], [Document("")], [Document(" \n")]])
def test_a_retriever_that_returns_nothing(over, documents):
    app = over(Given(documents=documents))
    answer = app.ask(QUESTION)
    assert answer.abstained
    assert answer.route.name == "abstain"
    assert [gap.error for gap in answer.gaps] == ["Given returned 1 documents without text"] * len(documents)
    assert app.search(QUESTION).fused == ()


def test_no_retriever_at_all(tmp_path, own_folder):
    with pytest.raises(UsageError, match="is no retriever"):
        Preflight.from_retriever("library")
    with pytest.raises(UsageError, match="documents of its own"):
        Preflight.from_retriever(Given(), "offline", folder=own_folder)
    with pytest.raises(UsageError, match="fetch=0"):
        Preflight.from_retriever(Given(), "offline", fetch=0)
    with Preflight.open(own_folder, "offline") as app:
        assert app.search("venus").fused


def test_documents_are_added_where_they_are(over, tmp_path):
    with pytest.raises(UsageError, match="borrows its documents from Given"):
        over(Given()).ingest([tmp_path])


def test_what_is_returned_twice_is_there_once(over):
    same = Document(DOSE.page_content, metadata={"source": "copy.pdf"})
    app = over(Given(documents=[DOSE, DOSE.model_copy(), same]))
    assert len(app.search(QUESTION).dense) == 2
    before = app.library.stats()["passages"]
    app.ask(QUESTION)
    assert app.library.stats()["passages"] == before == 2


def test_chunks_of_one_document_stay_together(over):
    chunks = [Document(f"Part {n} of the text.", metadata={"source": "a.md", "start_index": 40 * n}) for n in range(3)]
    app = over(Given(documents=[chunks[2], chunks[0]]))
    app.search("part")
    app.library.retriever._source.documents = [chunks[1]]
    app.search("part")
    assert [passage.start for passage in app.library.document_passages("a.md")] == [0, 40, 80]


def test_metadata_of_every_kind(over):
    circle: dict = {}
    circle["self"] = circle
    strange = {
        "source": 7,
        "page": np.int64(4),
        "page_label": "iv",
        "date": "when it suits",
        "author": ["A. Mole", {"name": "B"}],
        "nan": float("nan"),
        "when": datetime.date(2024, 1, 2),
        "raw": b"\xff",
        "set": {1},
        "half": "\ud800",
        "array": np.zeros(2),
        "sections": "not ours",
        "circle": circle,
        3: (1, 2),
    }
    app = over(Given(documents=[Document(DOSE.page_content, metadata=strange)]))
    answer = app.ask(QUESTION)
    (citation,) = answer.citations
    assert (citation.source, citation.page, citation.date, citation.document_id) == ("7", 4, None, "7")
    (passage,) = app.library.passages([citation.passage_id])
    assert (passage.metadata["3"], passage.metadata["nan"], passage.metadata["when"]) == ([1, 2], "nan", "2024-01-02")
    json.dumps(passage.metadata).encode()


def test_a_huge_document_is_split_and_its_end_is_named(over):
    filler = "Nothing of interest happened on that long day in the office. " * 40
    huge = Document(filler + DOSE.page_content + " " + filler * 60, metadata={"source": "huge.txt"})
    app = over(Given(documents=[huge, CANTEEN]))
    answer = app.ask(QUESTION)
    assert "5 mg" in answer.answer
    named = [gap for gap in answer.gaps if gap.item == "retriever"]
    assert named[0].stage == "retrieve"
    assert "only the first 100,000 are read" in named[0].error
    dense = app.search(QUESTION).dense
    assert [hit.document_id for hit in dense[:2]] == ["huge.txt", "canteen.md"]
    assert max(passage.tokens for passage in app.library.document_passages("huge.txt")) <= 256


def test_filters_choose_among_what_was_returned(over):
    app = over(Given(documents=[CANTEEN, DOSE]))
    assert [hit.document_id for hit in app.search(QUESTION, where=("year>=2020",)).fused] == [
        "trial.pdf · Trial 7 · 2023-04-01"
    ]
    none = app.ask(QUESTION, where=("year>=2030",))
    assert none.abstained
    assert "0 of the passages that Given returned fit" in none.gaps[0].error


def test_as_the_retriever_the_tool_and_the_graph(over):
    app = over(Given(documents=[CANTEEN, DOSE]))
    documents = PreflightRetriever(library=app.library, k=1).invoke(QUESTION)
    assert documents[0].metadata["page"] == 3
    assert "5 mg" in preflight_tool(app).invoke({"question": QUESTION})
    assert "5 mg" in preflight_graph(app).invoke({"messages": [("user", QUESTION)]})["answer"]


def test_words_are_not_corrected_by_the_little_that_is_known(over):
    app = over(Given(documents=[CANTEEN]))
    app.ask("When does the canteen open?")
    asked = "Where is the cantine of Kanteen?"
    assert app.ask(asked, thread_id="other").standalone_question == asked
