"""`Preflight` in Python."""

import gc
import threading
import weakref

import pytest
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from serving import running

from preflight_rag import Answer, Preflight
from preflight_rag.models.embedding.minilm import MiniLM
from preflight_rag.state.errors import LibraryMissing, UsageError

QUESTION = "How hot is the planet Venus?"


def test_a_question_is_answered_with_checked_quotes(own_folder):
    with Preflight.open(own_folder, "offline") as app:
        answer = app.ask(QUESTION, thread_id="t1")
        texts = {p.id: p.text for p in app.library.passages([c.passage_id for c in answer.citations])}
    assert Answer.model_validate(answer.model_dump()) == answer
    assert answer.citations
    for citation in answer.citations:
        assert texts[citation.passage_id][citation.start : citation.end] == citation.quote


def test_any_langchain_chat_model_serves(own_folder):
    with Preflight.open(own_folder, FakeListChatModel(responses=["Hot [1]."]), route="plain") as app:
        answer = app.ask(QUESTION)
    assert answer.answer == "Hot [1]."
    assert answer.receipt.estimated


def test_a_library_can_be_made_and_filled(tmp_path, embedder):
    (tmp_path / "a.txt").write_text("Moss has no roots.", encoding="utf-8")
    with Preflight.open(tmp_path / "new", "offline", embedder=embedder, create=True) as app:
        assert app.ingest([tmp_path / "a.txt"]).added == 1
        assert "no roots" in app.ask("What does moss lack?").answer


def test_search_shows_what_ask_would_do(own_folder):
    with Preflight.open(own_folder, "offline") as app:
        found = app.search(QUESTION, k=16)
        answer = app.ask(QUESTION)
    assert (found.preflight.route, found.preflight.iou) == (answer.route.name, answer.route.iou)
    assert [hit.rank for hit in found.fused] == list(range(1, 17))


@pytest.mark.parametrize("changes", [{"k": 0}, {"colour": 1}, {"route": "x"}, {"options": ["one"]}])
def test_a_wrong_setting_of_a_turn_is_refused(own_folder, changes):
    with Preflight.open(own_folder, "offline") as app, pytest.raises(UsageError):
        app.ask(QUESTION, **changes)


def test_a_library_that_is_not_there(tmp_path):
    with pytest.raises(LibraryMissing):
        Preflight.open(tmp_path / "none", "offline")


@pytest.mark.parametrize("served", [False, True])
def test_a_closed_application_leaves_no_model_in_memory(own_folder, served):
    """Also before the garbage collector comes by: models are hundreds of megabytes, which it does not see."""

    def opened_and_closed():
        with Preflight.open(own_folder, "offline") as app:
            app.ask(QUESTION)
            if served:
                with running(app):
                    pass
            return [weakref.ref(each) for each in (app.reader, app.reader.extractive, app.library.embedder)]

    gc.disable()
    try:
        assert [each() for each in opened_and_closed()] == [None, None, None]
    finally:
        gc.enable()


class NotWarmed(MiniLM):
    """An embedder that the thread beside the turn cannot load, as where memory runs short for a moment."""

    failures = 0

    def encode_query(self, text):
        if threading.current_thread().name == "preflight-warm":
            self.failures += 1
            raise ImportError("tokenizers: failed to map segment from shared object")
        return super().encode_query(text)


def test_what_fails_in_warming_neither_stops_the_turn_nor_prints(own_folder, capfd):
    """pytest fails a test whose thread raises; without pytest it would be a traceback beside the answer."""
    embedder = NotWarmed()
    with Preflight.open(own_folder, "offline", embedder=embedder) as app:
        assert app.ask(QUESTION).citations
    assert embedder.failures == 1
    assert capfd.readouterr().err == ""
