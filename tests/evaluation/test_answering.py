"""The answering experiment: its two collections, how an answer is judged, and a run over a small library."""

from __future__ import annotations

import pytest

from evaluation.compare import paired
from evaluation.datasets import ANSWERS, open_dataset
from evaluation.experiments import answering
from evaluation.experiments.answering import judge
from evaluation.runs import ExperimentRun
from evaluation.samples import DataSet, Sample
from preflight_rag.state.errors import UsageError
from preflight_rag.state.values import Answer, Citation, Document, Receipt, RouteDecision

pytestmark = pytest.mark.slow

PLAYERS = {"ohio": "Bobby Lee of Ohio plays tennis.", "utah": "Bobby Lee of Utah plays chess.", "sea": "Salt is in it."}
YES_NO = "yes/no"
QUESTION = "Which sport does Bobby Lee play?"
ABROAD = "Is there salt in the sea?"
SPORTS = Sample(
    QUESTION, QUESTION, "list", answers=(("tennis",), ("chess",)), wrong=("golf",), documents=frozenset({"ohio"}),
    evidence=(frozenset({"ohio"}), frozenset({"utah"})), label="several answers",
)  # fmt: skip
SALT = Sample(
    ABROAD, ABROAD, YES_NO, ("yes", "no"), "yes", (("yes",),), documents=frozenset({"sea"}),
    evidence=(frozenset({"sea"}),), label=YES_NO,
)  # fmt: skip


@pytest.fixture(scope="module")
def collection(tmp_path_factory):
    """Three documents, a question with two right answers, and a yes/no question."""
    path = tmp_path_factory.mktemp("small") / "corpus.jsonl"
    path.write_text("{}\n", encoding="utf-8")
    return DataSet(
        name="small", title="Small", source="here", licence="none", files=(path,), samples=(SPORTS, SALT),
        relevance={QUESTION: {"ohio": 1}, ABROAD: {"sea": 1}},
        corpus=lambda: iter([Document(id=name, text=text, source=name) for name, text in PLAYERS.items()]),
    )  # fmt: skip


@pytest.fixture(scope="module")
def report(collection, library_cache):
    return answering.run(collection, ExperimentRun(part="all", library_cache=library_cache))


def answer(text, cited=(), *, short=None, choice=None):
    """An answer that quotes (document, words)."""
    citations = tuple(
        Citation(n=n, passage_id=f"{document}#0", document_id=document, title="", source="", quote=quote, start=0,
                 end=len(quote), verified=True)
        for n, (document, quote) in enumerate(cited, 1)
    )  # fmt: skip
    return Answer(
        question=QUESTION, thread_id="", turn=1, standalone_question=QUESTION, queries=(), answer=text, abstained=False,
        route=RouteDecision(name="plain", reason="", top_n=3, threshold=0.2), receipt=Receipt(model="none"),
        citations=citations, short_answer=short, choice=choice,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("text", "cited", "short", "expected"),
    [
        ("Tennis [1]", [("ohio", PLAYERS["ohio"])], "Tennis", {"short": 1, "shown": 1, "recall": 0.5, "gold_cited": 1}),
        ("Tennis [1]", [("utah", PLAYERS["utah"])], "Tennis", {"short": 0, "shown": 0, "text": 1, "gold_cited": 1}),
        ("Tennis [1]", [("sea", "It is tennis")], "Tennis", {"short": 0, "gold_cited": 0}),
        ("Golf [1]", [("ohio", PLAYERS["ohio"])], "Golf", {"short": 0, "text": 0, "wrong": 1}),
        ("Golf.\nTennis [1]", [("ohio", PLAYERS["ohio"])], None, {"short": 0, "shown": 1, "wrong": 1}),
        ("He plays chess [1]\nGolf", [("utah", PLAYERS["utah"])], None, {"short": 1, "shown": 1}),
        ("Chess [1]", [("utah", PLAYERS["utah"])], "chess; golf", {"short": 1}),
        ("Golf, chess [1]", [("utah", PLAYERS["utah"])], "golf; chess", {"short": 0, "shown": 1}),
    ],
)
def test_the_answer_and_its_passage_must_both_be_right(library, text, cited, short, expected):
    turn = judge(SPORTS, answer(text, cited, short=short), library, [])
    assert {name: turn.measures[name] for name in expected} == expected


@pytest.mark.parametrize(("choice", "document", "right"), [("yes", "sea", 1), ("no", "sea", 0), ("yes", "ohio", 0)])
def test_a_verdict_needs_a_gold_document(library, choice, document, right):
    turn = judge(SALT, answer("Yes [1]", [(document, "Salt")], choice=choice), library, [])
    assert turn.measures["short"] == turn.measures["shown"] == right


def test_an_abstention_shows_nothing(library):
    told = answer("Tennis", [("ohio", "tennis")], short="tennis").model_copy(update={"abstained": True})
    turn = judge(SPORTS, told, library, [])
    assert turn.measures == dict.fromkeys(turn.measures, 0) | {"abstained": 1, "gold_cited": 1}


def test_marks_are_no_words(library):
    assert judge(SPORTS, answer("He plays tennis [1] [2]"), library, []).words == 3


def test_a_run_compares_both_readers_on_every_question(report):
    assert {row.sample for row in report.rows} == {QUESTION, ABROAD}
    assert set(report.figures) == {"all", "several answers", YES_NO}
    assert report.figures["all"]["questions"] == 2
    assert report.figures["all"]["ceiling"]["value"] == 1
    systems = ["reader", "sentence reader", "reader − sentence reader"]
    assert [row[0] for row in report.tables[0].rows] == systems
    keys = [row.details.keys() for row in report.rows if row.details]
    assert len(keys) == 4
    assert all(found == keys[0] for found in keys)


def test_a_second_run_gives_the_same_report(collection, library_cache, report):
    assert answering.run(collection, ExperimentRun(part="all", library_cache=library_cache)).figures == report.figures


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [([1, 1, 0], [0, 0, 0], (2, 0, 0.5)), ([1, 0], [1, 0], (0, 0, 1.0)), ([1] * 6, [0] * 6, (6, 0, 0.03125))],
)
def test_mcnemar_counts_what_only_one_got_right(first, second, expected):
    test = paired(first, second, seed=0)
    assert (test.wins, test.losses, test.p) == expected


def test_ramdocs_gives_each_answer_its_documents(data_dir):
    collection = open_dataset("ramdocs", data_dir, ANSWERS)
    texts = {document.id: document.text for document in collection.documents()}
    query = collection.select("test")[0]
    assert all(query.answers)
    assert len(query.evidence) == len(query.answers)
    assert all(documents <= texts.keys() for documents in query.evidence)
    assert {q.id for q in collection.select("test")}.isdisjoint(q.id for q in collection.select("development"))


def test_bioasq_is_asked_over_the_mixed_corpus(data_dir):
    collection = open_dataset("biomix-bioasq", data_dir, ANSWERS)
    assert {asked.label for asked in collection.samples} == {"factoid", "list", YES_NO}
    assert all(asked.by_words == (asked.kind != YES_NO) for asked in collection.samples)
    with pytest.raises(UsageError, match="'cisi' has no answers"):
        open_dataset("cisi", data_dir, ANSWERS)
