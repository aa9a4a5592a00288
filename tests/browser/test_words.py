"""What people read on the page are plain words; what is technical stands under "How this was answered"."""

import re

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.slow

TECHNICAL = re.compile(
    r"\b(corg|map[-_/ ]?reduce|iou|json|tokens?|api|endpoint|GET|POST|routes?|risk|scores?|embedd\w+|vectors?|bm25|null"
    r"|undefined|NaN|\[object|(thread|document|passage)[_ ]id|llm|prompt|chunk|stages?|preflight (serve|keys|ask))\b",
    re.IGNORECASE,
)
SHOWN = """
() => {
    const shown = [document.body.innerText];
    for (const node of document.querySelectorAll("[title], [aria-label], [placeholder]"))
        if (node.checkVisibility())
            shown.push(["title", "aria-label", "placeholder"].map((name) => node.getAttribute(name) ?? "").join(" "));
    return shown.join("\\n");
}
"""


def is_plain(page):
    found = [line for line in page.evaluate(SHOWN).splitlines() if TECHNICAL.search(line)]
    assert found == []


def test_an_answer_its_sources_and_relations_are_told_in_plain_words(visit, demo_url, ask):
    page = visit(demo_url)
    is_plain(page)
    for question in ("Which planet is the hottest?", "Who wrote Hamlet?", "How many people live in Springfield?"):
        ask(page, question)
        is_plain(page)
    page.locator(".turn:last-child .turn-actions").get_by_role("button", name="Evidence").click()
    page.locator(".source-head").first.click()
    is_plain(page)
    page.get_by_role("tab", name="Relations").click()
    expect(page.locator(".graph").first).to_be_visible()
    page.get_by_text("As a table").click()
    is_plain(page)


def test_settings_the_library_and_its_documents_are_told_in_plain_words(visit, demo_url):
    page = visit(demo_url)
    page.get_by_role("button", name="Settings", exact=True).click()
    expect(page.get_by_role("dialog")).to_be_visible()
    is_plain(page)
    page.keyboard.press("Escape")
    page.get_by_role("link", name="Library").click()
    expect(page.locator(".documents > li").first).to_be_visible()
    is_plain(page)


def test_what_goes_wrong_is_told_in_plain_words(visit, scripted_url, ask):
    from preflight_rag.testing.scripted_replies import Reply

    page = visit(scripted_url(default=Reply(status=500, text="boom")), path="/#/t/nothing-here")
    page.watch.allowed = ["404"]
    expect(page.get_by_role("alert")).to_be_visible()
    is_plain(page)
    page.goto(page.url.replace("/t/nothing-here", "/"))
    page.get_by_label("Your question").fill("How is basalt?")
    page.keyboard.press("Enter")
    page.locator(".turn .notice, .turn-actions").first.wait_for()
    is_plain(page)
