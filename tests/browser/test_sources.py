"""Which documents a question is asked of: picked on the page by name, tags and folders."""

import re

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.slow


@pytest.fixture
def stones(visit, scripted_url):
    """A page over four stones, without what rewrites a question."""
    return visit(scripted_url(default="It is a rock [1].", rewrite="off"))


def asked_of(page, ask, question="Which rock is it?"):
    """What a question was asked of, as its request says, and whose titles its answer cites or shows."""
    with page.expect_request("**/api/ask") as asked:
        ask(page, question)
    return asked.value.post_data_json.get("where")


def test_a_question_is_asked_of_ticked_documents(stones, ask, scripted_url):
    assert asked_of(stones, ask) is None
    stones.get_by_role("button", name="Documents that are asked: All documents").click()
    dialog = stones.get_by_role("dialog")
    dialog.get_by_label("basalt").check()
    dialog.get_by_label("Search documents").fill("sla")
    expect(dialog.locator(".documents-picked .pick")).to_have_count(1)
    dialog.get_by_label("slate").check()
    dialog.get_by_role("button", name="Ask 2 documents").click()
    expect(stones.locator("#sources-summary")).to_have_text("2 documents")
    stones.reload()
    expect(stones.locator("#sources-summary")).to_have_text("2 documents")
    assert asked_of(stones, ask) == ['id in ("basalt.txt", "slate.txt")']
    prompt = str(scripted_url.model.requests[-1].body)
    assert "Basalt is a rock" in prompt
    assert "Pumice" not in prompt
    stones.get_by_role("button", name="Documents that are asked").click()
    stones.get_by_role("dialog").get_by_role("button", name="All documents").click()
    assert asked_of(stones, ask) is None


def test_a_question_that_is_begun_at_once_keeps_the_focus(stones):
    stones.get_by_role("button", name="Documents that are asked").click()
    stones.get_by_role("dialog").get_by_label("basalt").check()
    # The dialog's "close" comes after the click that closes it, so that someone may be writing by then.
    stones.evaluate(
        "new Promise(done => {"
        " document.querySelector('dialog').addEventListener('close', () => requestAnimationFrame(done));"
        " document.querySelector('dialog button[type=submit]').click();"
        " document.getElementById('question').focus(); })"
    )
    expect(stones.get_by_label("Your question")).to_be_focused()


@pytest.mark.parametrize("narrow", [False, True])
def test_documents_are_tagged_and_asked_by_tag(visit, scripted_url, ask, narrow):
    url = scripted_url(default="It is a rock [1].", rewrite="off")
    page = visit(url, path="/#/library", narrow=narrow)
    for name in ("basalt", "pumice"):
        page.get_by_role("button", name=f"Tags: {name}").click()
        page.get_by_label("Tags, with commas between them").fill("volcano, dark")
        page.keyboard.press("Enter")
        expect(page.locator(".documents > li", has_text=name).locator(".tag")).to_have_text(["volcano", "dark"])
    page.goto(url)
    page.get_by_role("button", name="Documents that are asked").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label(re.compile("volcano")).check()
    dialog.get_by_label("slate").check()
    dialog.get_by_role("button", name="Ask “volcano” and 1 document").click()
    assert asked_of(page, ask) == ['id in ("slate.txt") || tags in ("volcano")']
    prompt = next(str(each.body) for each in scripted_url.model.requests if "Which rock is it?" in str(each.body))
    assert all(stone in prompt for stone in ("Basalt", "Pumice", "Slate"))
    assert "Marble" not in prompt
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_one_document_is_asked_from_the_library_until_it_is_deleted(stones, ask):
    stones.get_by_role("link", name="Library").click()
    stones.get_by_role("button", name="Ask this document: marble").click()
    expect(stones.locator("#sources-summary")).to_have_text("1 document")
    assert asked_of(stones, ask) == ['id in ("marble.txt")']
    stones.get_by_role("link", name="Library").click()
    stones.get_by_role("button", name="Delete: marble").click()
    stones.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(stones.locator(".documents > li")).to_have_count(3)
    stones.get_by_role("link", name="Ask").click()
    expect(stones.locator("#sources-summary")).to_have_text("All documents")


def test_files_of_one_name_stand_with_their_folders(visit, scripted_url, ask, tmp_path):
    for folder, fact in (("north", "The choir of the north sings on Mondays."), ("south", "Basalt is dark.")):
        (tmp_path / "notes" / folder).mkdir(parents=True)
        (tmp_path / "notes" / folder / "notes.txt").write_text(fact, encoding="utf-8")
    files = [tmp_path / "notes"]
    page = visit(scripted_url(default="The choir sings [1], and basalt is dark [2].", files=files, rewrite="off"))
    ask(page, "When does the choir sing, and is basalt dark?")
    page.locator(".turn:last-child .turn-actions").get_by_role("button", name="Evidence").click()
    shown = page.locator(".source p.meta").all_text_contents()
    assert sorted(text.split(" · ")[0] for text in shown) == ["north/notes.txt", "south/notes.txt"]
    page.get_by_role("link", name="Library").click()
    expect(page.locator(".documents p.meta")).to_contain_text(["notes.txt", "notes.txt"])
    listed = page.locator(".documents li p.meta").all_text_contents()
    assert {"north/notes.txt", "south/notes.txt"} <= {text.split(" · ")[0] for text in listed}
