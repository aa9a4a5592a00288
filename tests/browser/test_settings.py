"""The settings of the page: the model that is connected there, instructions, and what goes along with a question."""

from contextlib import ExitStack

import pytest
from playwright.sync_api import expect
from serving import running_app

from preflight_rag import Preflight
from preflight_rag.library import Library
from preflight_rag.server.app import create_app_of_several
from preflight_rag.testing.scripted_server import ScriptedServer

pytestmark = pytest.mark.slow


def test_an_operator_connects_a_model_on_the_page(visit, empty_url, tmp_path, ask):
    notes = tmp_path / "notes.md"
    notes.write_text("Basalt is a rock that is hard.", encoding="utf-8")
    page = visit(empty_url)
    page.watch.allowed = ["400"]
    page.locator("#first-files").set_input_files([notes])
    expect(page.get_by_text("1 added.")).to_be_visible(timeout=60_000)
    with ScriptedServer(default="Basalt is very hard [1].", api_key="sk-right") as server:
        page.get_by_role("button", name="Settings", exact=True).click()
        expect(page.get_by_text("Answers are written by: No language model")).to_be_visible()
        assert page.locator("dialog legend").all_inner_texts()[0] == "How answers are written"
        assert page.locator("dialog legend").all_inner_texts()[-1] == "How documents are read"
        connect = page.get_by_role("dialog").get_by_role("button", name="Connect a language model")
        frame, inside = (page.locator(f".model-field{part}").bounding_box() for part in ("", " .dialog-actions"))
        assert frame["x"] < inside["x"], "what is around the button covers the frame"
        assert inside["y"] + inside["height"] < frame["y"] + frame["height"]
        connect.click()
        page.get_by_label("Address").fill(server.url)
        page.get_by_label("Key").fill("sk-wrong")
        page.get_by_role("button", name="Connect", exact=True).click()
        expect(page.get_by_role("alert")).to_contain_text("refused the key")
        page.get_by_label("Key").fill("sk-right")
        page.get_by_role("button", name="Connect", exact=True).click()
        expect(page.locator("dialog")).to_have_count(0)
        expect(page.locator("#quick-summary")).to_contain_text("scripted")
        page.get_by_role("link", name="Ask").click()
        expect(page.locator(".no-model")).to_have_count(0)
        ask(page, "How is basalt?")
        expect(page.locator(".answer")).to_contain_text("very hard")
        page.reload()
        page.get_by_role("button", name="Settings", exact=True).click()
        expect(page.get_by_text("scripted, from 127.0.0.1")).to_be_visible()
        assert "sk-right" not in page.content()
        page.get_by_role("button", name="Disconnect").click()
        page.get_by_role("dialog").last.get_by_role("button", name="Disconnect").click()
        expect(page.locator("#quick-summary")).to_have_text("Settings")
        expect(page.locator("#no-model")).to_contain_text("No language model")


def test_instructions_go_along_with_each_question(visit, scripted_url, ask):
    page = visit(scripted_url(default="Hart [1].", rewrite="off"))
    page.get_by_role("button", name="Settings", exact=True).click()
    page.get_by_label("Instructions").fill("Answer in German.")
    page.get_by_role("button", name="Save").click()
    page.reload()
    ask(page, "How is basalt?")
    prompt = next(str(each.body) for each in scripted_url.model.requests if "How is basalt?" in str(each.body))
    assert "Answer in German." in prompt
    page.get_by_role("button", name="Settings", exact=True).click()
    expect(page.get_by_label("Instructions")).to_have_value("Answer in German.")


@pytest.mark.parametrize("narrow", [False, True])
def test_that_no_model_writes_is_said_where_one_asks_and_beside_the_evidence(visit, demo_url, ask, narrow):
    page = visit(demo_url, narrow=narrow)
    line = page.locator(".composer-room .no-model")
    expect(line).to_contain_text("No language model.")
    assert not narrow or line.bounding_box()["height"] < 40  # one line of a phone
    ask(page, "Which planet is the hottest?")
    page.locator(".turn-actions").get_by_role("button", name="Evidence").click()
    beside = page.locator("#evidence .no-model")
    expect(beside).to_be_visible()
    if not narrow:
        expect(page.get_by_text("No language model").and_(page.locator(":visible"))).to_have_count(1)
    beside.get_by_role("button", name="Connect a language model").click()
    expect(page.get_by_role("dialog")).to_contain_text("Connect a language model")


@pytest.mark.parametrize("narrow", [False, True])
def test_one_of_several_libraries_is_chosen(visit, embedder, tmp_path, ask, narrow):
    with ExitStack() as stack:
        opened = {}
        for name, text in (("plants", "Moss is a plant that is soft."), ("stones", "Basalt is a rock that is hard.")):
            (tmp_path / "note.txt").write_text(text, encoding="utf-8")
            with Library.open(tmp_path / name, embedder=embedder, create=True) as library:
                library.ingest(tmp_path / "note.txt")
            opened[name] = stack.enter_context(Preflight.open(tmp_path / name, "offline", embedder=embedder))
        url = stack.enter_context(running_app(create_app_of_several(opened)))
        page = visit(url, narrow=narrow)
        if narrow:
            page.get_by_role("button", name="Conversations", exact=True).click()
        page.locator("#choose-library").select_option("stones")
        expect(page.locator("#where")).to_contain_text("stones")
        ask(page, "What is hard?")
        expect(page.locator(".answer")).to_contain_text("Basalt")
        other = page.context.new_page()
        other.goto(url)
        expect(other.locator("#where")).to_contain_text("stones")
        page.reload()
        expect(page.locator(".turn")).to_have_count(1)
        page.goto("about:blank")
