"""`preflight calibrate`, and the preflight as a LangChain runnable."""

import json

import pytest
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.runnables import RunnablePassthrough
from typer.testing import CliRunner

from preflight_rag.cli import app
from preflight_rag.langchain import PreflightRetriever, PreflightRouter
from preflight_rag.library import Library
from preflight_rag.routing.calibration import calibrate
from preflight_rag.routing.known_questions import read_questions
from preflight_rag.routing.library_risk import risk_model_of, write_model
from preflight_rag.state.errors import UsageError
from preflight_rag.state.values import Document as Record

pytestmark = pytest.mark.slow

PLACES = ("Lima", "Oslo", "Rome", "Cairo", "Delhi", "Quito", "Tunis", "Paris", "Seoul", "Hanoi")
THINGS = ("bridge", "market", "harbour", "museum", "station")


@pytest.fixture
def run():
    def invoke(*arguments):
        return CliRunner().invoke(app, [str(argument) for argument in arguments])

    return invoke


@pytest.fixture
def towns(tmp_path, embedder):
    """A library of 50 documents about things in towns."""
    folder = tmp_path / "towns"
    with Library.open(folder, embedder=embedder, create=True) as library:
        library.add(
            Record(
                id=f"{place}-{thing}",
                text=f"The old {thing} of {place} was repaired by volunteers after the great flood of that winter.",
                source="made",
            )
            for place in PLACES
            for thing in THINGS
        )
    return folder


@pytest.fixture
def questions(tmp_path):
    """Most of them easy, some about what their document does not say."""
    path = tmp_path / "questions.jsonl"
    easy = [(f"Who repaired the {thing} in {place}?", f"{place}-{thing}") for place in PLACES for thing in THINGS[:3]]
    hard = [(f"What did the {THINGS[0]} in {place} cost?", f"{place}-{THINGS[-1]}") for place in PLACES]
    lines = (json.dumps({"question": question, "documents": [name]}) for question, name in easy + hard)
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def test_a_library_is_calibrated_on_its_questions(run, towns, questions, embedder):
    tried = json.loads(run("calibrate", "--library", towns, "--questions", questions, "--try", "--json").stdout)
    assert tried["written"] is None
    assert not (towns / "preflight.json").exists()

    result = run("calibrate", "--library", towns, "--questions", questions, "--yes")
    assert result.exit_code == 0, result.output
    assert "40 questions asked of the library; in" in result.stdout
    assert "before: map/reduce from a risk of" in result.stdout
    assert str(towns / "preflight.json") in result.stdout
    with Library.open(towns, embedder=embedder) as library:
        assert risk_model_of(library).grounds == "calibrated on 40 questions asked of this library"
        assert risk_model_of(library).to_json() == tried["model"]


def test_without_questions_they_are_made_and_said_to_be_easier(run, towns):
    result = run("calibrate", "--library", towns, "--count", 40, "--try")
    assert result.exit_code == 0, result.output
    assert "40 questions made of the library" in result.stdout
    assert "easier than real ones" in result.stdout


@pytest.mark.parametrize(
    ("text", "status", "words"),
    [
        ("why?\tLima-bridge\n" * 3, 2, "3 questions are too few"),
        ("why?\tnowhere\n" * 40, 2, "first 'nowhere'"),
        ("why?\n", 1, "line 1 of questions.tsv has no question with document ids"),
        ("The old bridge of Lima\tLima-bridge\n" * 40, 2, "at least 5 must"),
    ],
)
def test_bad_questions_are_one_clear_line(run, towns, tmp_path, text, status, words):
    path = tmp_path / "questions.tsv"
    path.write_text(text, encoding="utf-8")
    result = run("calibrate", "--library", towns, "--questions", path, "--yes")
    assert result.exit_code == status
    assert words in result.stderr
    assert "Traceback" not in result.output


class OfTheUser(Embeddings):
    """An embedder that nothing was fitted with, though it makes good vectors."""

    def __init__(self, embedder):
        self.real = embedder

    def embed_documents(self, texts):
        return self.real.embed_documents(texts)

    def embed_query(self, text):
        return self.real.embed_query(text)


def test_an_embedder_without_weights_goes_by_iou_until_the_library_is_calibrated(tmp_path, questions, embedder):
    with Library.open(tmp_path / "other", embedder=OfTheUser(embedder), create=True) as library:
        library.add(
            Record(id=f"{place}-{thing}", text=f"The {thing} of {place} was repaired after the flood.", source="made")
            for place in PLACES
            for thing in THINGS
        )
        assert risk_model_of(library) is None
        found = calibrate(library, read_questions(questions))
        assert found.before is None
        write_model(library.path, found.model)
        assert risk_model_of(library) == found.model


def test_the_router_takes_a_question_and_documents(library):
    router = PreflightRouter(library=library)
    chain = {"question": RunnablePassthrough(), "documents": PreflightRetriever(library=library)} | router
    decision = chain.invoke("Why is Venus so hot?")
    assert decision.name in ("plain", "map_reduce", "corg")
    assert risk_model_of(library).grounds in decision.reason
    assert "risk_uncovered" in decision.signals


def test_the_router_judges_documents_of_anywhere_by_iou(embedder):
    texts = ["Paris is the capital of France.", *(f"Bread number {n} is baked in an oven." for n in range(7))]
    documents = [Document(page_content=text * 30) for text in texts]
    decision = PreflightRouter(embedder=embedder).invoke({"question": "capital of France", "documents": documents})
    assert decision.reason.startswith("nothing is calibrated for the library's embedder, so the rankings are compared")
    forced = PreflightRouter(embedder=embedder, route="plain").invoke({"question": "x", "documents": documents})
    assert (forced.name, forced.forced) == ("plain", True)
    assert PreflightRouter(embedder=embedder).invoke({"question": "x", "documents": []}).name == "abstain"


def test_the_router_says_what_it_lacks(embedder):
    with pytest.raises(UsageError, match="no embedder"):
        PreflightRouter()
    with pytest.raises(UsageError, match="not a question with documents"):
        PreflightRouter(embedder=embedder).invoke("a question alone")
