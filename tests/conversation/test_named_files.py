"""Questions that name a file of the library."""

from __future__ import annotations

import pytest

from preflight_rag import Preflight
from preflight_rag.conversation.named_files import resolve_file


@pytest.fixture(scope="module")
def app(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reports")
    for name, cost in (("north", "rent"), ("south", "repairs")):
        (folder / f"report-{name}.md").write_text(f"# Report of a branch\n\nIts largest cost was {cost}.\n")
    for name in ("a", "b"):
        (folder / name).mkdir()
        (folder / name / "notes.txt").write_text(f"The door of {name} is red.\n")
    with Preflight.open(tmp_path_factory.mktemp("library"), model="offline", create=True) as app:
        app.ingest([folder])
        yield app


@pytest.mark.parametrize(
    "form", ["According to {}, {}?", "{1}, according to {0}?", "{1} in {0}?", "{1} in the file {0}?"]
)
def test_only_the_file_that_is_named_answers(app, form):
    answer = app.ask(form.format("report-south.md", "what was the largest cost"))
    assert [citation.quote for citation in answer.citations] == ["Its largest cost was repairs."]
    assert "report-south" not in answer.standalone_question


@pytest.mark.parametrize("name", ["notes.txt", "report-west.md", "example.org"])
def test_a_name_of_no_file_or_of_several_stays_in_the_question(app, name):
    asked = f"According to {name}, what was the largest cost?"
    assert resolve_file(asked, app.library) == (asked, [])


def test_a_folder_tells_two_files_of_one_name_apart(app):
    question, found = resolve_file("Which door is red in b/notes.txt?", app.library)
    assert question == "Which door is red?"
    assert len(found) == 1
    assert found[0].endswith("b/notes.txt")
