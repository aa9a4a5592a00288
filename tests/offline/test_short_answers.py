"""Short answers through every door, with the package's own reader and with none, and what odd documents make of it."""

import json

import pytest
from typer.testing import CliRunner

from preflight_rag import Answer, Preflight
from preflight_rag.cli import app as cli
from preflight_rag.graph.outcome import answer_of
from preflight_rag.offline.reader import NAME, OfflineReader
from preflight_rag.state.errors import ExtractiveReaderError, UsageError

QUESTION = "Who discovered penicillin?"
ODD = {
    "one.txt": "x",
    "long.txt": "word " * 3_000,
    "signs.txt": "?! … ---",
    "untitled.md": "Der Himmel ist blau, weil Luft blaues Licht streut.",
    "japanese.txt": "空は青い。" * 40,
    "marks.txt": "It is so [1]. It is not so [2][3].",
}


@pytest.fixture(scope="module")
def odd_folder(embedder, tmp_path_factory):
    folder = tmp_path_factory.mktemp("odd")
    for name, text in ODD.items():
        (folder / name).write_text(text, encoding="utf-8")
    with Preflight.open(folder / "library", "offline", embedder=embedder, create=True) as app:
        app.ingest([folder])
    return folder / "library"


@pytest.mark.parametrize("route", ["plain", "map-reduce", "corg"])
def test_a_turn_carries_short_answer_and_confidence(own_folder, route):
    with Preflight.open(own_folder, "offline", route=route, k=6) as app:
        answer = app.ask(QUESTION)
    assert Answer.model_validate(answer.model_dump()) == answer
    if answer.short_answer is not None:
        assert answer.short_answer in answer.answer
    if answer.abstained:
        assert answer.short_answer is None
    assert answer.confidence is None or 0 <= answer.confidence <= 1
    assert answer.receipt.model == app.reader.name != NAME


def test_plain_and_map_reduce_answer_alike(own_folder):
    with Preflight.open(own_folder, "offline", k=8) as app:
        plain, reduced = (app.ask(QUESTION, thread_id=route, route=route) for route in ("plain", "map-reduce"))
    assert (plain.answer, plain.short_answer, plain.confidence) == (
        reduced.answer,
        reduced.short_answer,
        reduced.confidence,
    )


def test_without_an_extractive_reader_sentences_are_quoted(own_folder):
    with Preflight.open(own_folder, "offline", extractive_reader="none", route="plain") as app:
        answer = app.ask(QUESTION)
        with pytest.raises(UsageError, match="default"):
            app.ask(QUESTION, extractive_reader="default")
    assert (answer.short_answer, answer.confidence, answer.receipt.model) == (None, None, NAME)
    assert "Fleming" in answer.answer


def test_an_unknown_reader_is_refused(own_folder):
    with pytest.raises(ExtractiveReaderError):
        Preflight.open(own_folder, "offline", extractive_reader="no-such/reader")


@pytest.mark.parametrize(
    ("draft", "abstained", "expected"),
    [
        ({"found": True, "short": "82", "confidence": 0.9}, False, ("answered", "82", 0.9)),
        ({"found": True, "short": "", "confidence": 0.9}, False, ("answered", None, 0.9)),
        ({"found": True, "short": "82", "confidence": 0.9}, True, ("not_found", None, None)),
        ({"found": False, "short": "", "confidence": 0.7}, True, ("not_found", None, None)),
        ({"found": True, "short": "82", "confidence": 0.4, "claims": False}, False, ("evidence", None, None)),
        ({"found": True}, False, ("answered", None, None)),
        ({}, True, ("not_found", None, None)),
    ],
)
def test_only_the_draft_that_the_turn_ended_with_counts(embedder, draft, abstained, expected):
    lists = ("queries", "rungs", "groups", "citations", "relations", "gaps", "passage_refs")
    state = {name: [] for name in lists} | {"draft": draft, "abstained": abstained, "rewrite": {"corrections": []}}
    state |= {"question": "q", "standalone_question": "q", "answer": "", "choice": None}
    state["decision"] = {"name": "plain", "reason": "", "top_n": 3, "threshold": 0.2}
    answer = answer_of(state, reader=OfflineReader(embedder))
    assert (answer.outcome, answer.short_answer, answer.confidence) == expected


@pytest.mark.parametrize("route", ["plain", "map-reduce", "corg"])
def test_odd_documents_and_questions_bring_an_answer_or_an_abstention(odd_folder, route):
    questions = ("x", "word?", "Warum ist der Himmel blau", "空はなぜ青いのですか", "Is it so?", "!")
    with Preflight.open(odd_folder, "offline", route=route) as app:
        answers = [app.ask(q, thread_id=route, options=("yes", "no") if "?" in q else ()) for q in questions]
    assert [answer.route.name == "conversation" for answer in answers] == [False] * 5 + [True]
    for answer in answers:
        assert answer.abstained or answer.citations or answer.route.name == "conversation"
        assert all(citation.verified for citation in answer.citations)


def test_the_command_line_takes_odd_questions(odd_folder):
    for question in ("?", "Is it so", "空は"):
        result = CliRunner().invoke(cli, ["ask", question, "-l", str(odd_folder), "--json"])
        assert result.exit_code == 0, result.output
        assert {"short_answer", "confidence"} <= set(json.loads(result.stdout))


@pytest.mark.parametrize("question", [QUESTION, "How high is the tower of Pisa?", "Why is the sky blue?"])
def test_the_terminal_says_how_sure_a_claim_is_and_only_that(own_folder, question):
    ask = ["ask", question, "-l", str(own_folder), "--route", "plain"]
    told = json.loads(CliRunner().invoke(cli, [*ask, "--json"]).stdout)
    shown = CliRunner().invoke(cli, ask).stdout
    if told["confidence"] is None:
        assert "% sure" not in shown
    else:
        assert told["outcome"] == "answered"
        assert f"\n{told['confidence']:.0%} sure\n" in shown
