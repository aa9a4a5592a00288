"""Overviews and questions to begin with, from the server: each question is answered when a person asks it."""

import json
import time

import pytest
from serving import running

from preflight_rag import Preflight
from preflight_rag.library import Library

pytestmark = pytest.mark.slow

BRIDGE = """# The Harrow suspension bridge

The Harrow suspension bridge was opened on 4 May 1931 by the engineer Ruth Calder. It is 412 metres long.
This guide is for visitors of the river.
"""
CLAIM = """Insured name: Marta Kovac
Policy number: HX-20931
Date of loss: 14 March 2022
Amount claimed: 1,850 EUR
"""
PLANS = """# Plans of the tool shop

| Plan | Price | Machines |
| --- | --- | --- |
| Workshop | 39 | 15 |
| Factory | 149 | 80 |
"""


@pytest.fixture
def folder(tmp_path, embedder):
    for name, text in (("bridge.md", BRIDGE), ("claim_form_0231.txt", CLAIM), ("plans.md", PLANS)):
        (tmp_path / name).write_text(text, encoding="utf-8")
    with Library.open(tmp_path / "lib", embedder=embedder, create=True) as library:
        library.ingest([tmp_path / name for name in ("bridge.md", "claim_form_0231.txt", "plans.md")])
    return tmp_path / "lib"


def questions_of(client, path, **params):
    """Questions, once the server has found them out."""
    for _ in range(600):
        found = client.get(path, params=params).json()
        if found["ready"]:
            return found["questions"]
        time.sleep(0.2)
    raise TimeoutError(path)


def test_each_document_has_an_overview_with_questions_that_it_answers(folder, embedder, client_of):
    with Preflight.open(folder, "offline", embedder=embedder) as app, running(app) as url:
        client = client_of(url)
        told = {}
        for each in client.get("/api/documents").json()["documents"]:
            about = client.get("/api/documents/overview", params={"id": each["id"]}).json()
            questions = questions_of(client, "/api/documents/questions", id=each["id"])
            told[each["name"]] = about["what"], about["audience"], questions
            for question in questions:
                answer = client.ask(question, where=[f'id in ("{each["id"]}")']).json()
                assert answer["outcome"] in ("answered", "evidence")
                assert answer["citations"][0]["document_id"] == each["id"]
        assert client.get("/api/documents/overview", params={"id": "gone"}).status_code == 404
        gone = client.get("/api/documents/questions", params={"id": "gone"}).json()
        assert gone == {"questions": [], "ready": True}
        assert len(client.get("/api/threads").json()["threads"]) == sum(len(each[2]) for each in told.values())
    assert told["bridge.md"][:2] == ("Note", "visitors of the river")
    assert told["claim_form_0231.txt"][:2] == ("Claim form", "Marta Kovac")
    assert "When was the Harrow suspension bridge opened?" in told["bridge.md"][2]
    assert "What is the policy number?" in told["claim_form_0231.txt"][2]
    assert "What is the price of Workshop?" in told["plans.md"][2]


def test_questions_to_begin_with_name_what_they_are_about_and_are_kept(folder, embedder, client_of):
    with Preflight.open(folder, "offline", embedder=embedder) as app, running(app) as url:
        found = questions_of(client_of(url), "/api/suggestions")
        for question in found:
            assert client_of(url).ask(question).json()["outcome"] in ("answered", "evidence")
    assert set(found) >= {"When was the Harrow suspension bridge opened?", "What is the price of Workshop?"}
    assert not any("claim_form" in question or "policy" in question for question in found)
    kept = folder / "overviews.json"
    assert json.loads(kept.read_text(encoding="utf-8"))["questions"][""] == found
    kept.write_text("{", encoding="utf-8")
    with Preflight.open(folder, "offline", embedder=embedder) as app, running(app) as url:
        assert questions_of(client_of(url), "/api/suggestions") == found


def test_questions_to_begin_with_do_not_all_ask_for_authors(folder, tmp_path, embedder, client_of):
    for number, topic in enumerate(("Rain on roofs of straw", "Snow on roofs of slate", "Hail on roofs of lead")):
        names = f"Ann Roe{number}, Bo Lund{number}"
        text = f"---\ntitle: {topic}\nauthor: {names}\n---\n\nWe looked at many roofs of old houses in the north."
        (tmp_path / f"paper{number}.md").write_text(text, encoding="utf-8")
    with Library.open(folder, embedder=embedder) as library:
        library.ingest(sorted(tmp_path.glob("paper*.md")))
    with Preflight.open(folder, "offline", embedder=embedder) as app, running(app) as url:
        found = questions_of(client_of(url), "/api/suggestions")
    assert len(found) == 3
    by_authors = [question for question in found if question.startswith(("Who are the authors", "Who wrote"))]
    assert len(by_authors) == 1, found


def test_an_empty_library_has_no_questions(tmp_path, embedder, client_of):
    with Preflight.open(tmp_path / "l", "offline", embedder=embedder, create=True) as app, running(app) as url:
        assert questions_of(client_of(url), "/api/suggestions") == []
