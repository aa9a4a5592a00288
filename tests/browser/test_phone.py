"""A phone: Back closes what lies over the page, focus returns, and nothing is broader than the screen."""

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

pytestmark = pytest.mark.slow

SIDEWAYS = """
() => [...document.querySelectorAll("html, body, .scroll, .evidence-body, .threads, .library, dialog, .viewer-bar")]
    .filter((node) => node.checkVisibility() && node.scrollWidth > node.clientWidth + 1)
    .map((node) => `${node.tagName} ${node.className} ${node.scrollWidth} > ${node.clientWidth}`)
"""
OUTSIDE = """
() => [...document.querySelectorAll("button, a, input, select, textarea, h1, h2, h3, p, summary")]
    .filter((node) => node.checkVisibility({ visibilityProperty: true }))
    .filter((node) => !node.closest("[inert], .skip, .sr-only, .wide-table, .viewer-room, pre"))
    .map((node) => [node.getBoundingClientRect(), node])
    .filter(([{ left, right, width }]) => width > 1 && (right > innerWidth + 1 || left < -1))
    .map(([{ left, right }, node]) => `${node.tagName} ${node.textContent.slice(0, 40)} ${left} ${right}`)
"""


def fits(page):
    assert page.evaluate(SIDEWAYS) == []
    assert page.evaluate(OUTSIDE) == []


@pytest.fixture
def phone(visit, demo_url, ask):
    """A conversation with an answer, on a small screen."""
    page = visit(demo_url, narrow=True, has_touch=True)
    ask(page, "Which planet is the hottest?")
    return page


def test_back_closes_the_evidence_and_focus_returns_to_the_mark(phone):
    address, mark = phone.url, phone.locator(".answer .cite").first
    mark.tap()
    expect(phone.locator("#evidence")).to_be_in_viewport()
    fits(phone)
    phone.go_back()
    expect(phone.locator("#evidence")).not_to_be_in_viewport()
    expect(mark).to_be_focused()
    assert phone.url == address
    expect(phone.locator(".turn")).to_have_count(1)
    phone.go_forward()
    expect(phone.locator(".turn")).to_have_count(1)
    expect(phone.locator("#evidence")).not_to_be_in_viewport()


def test_what_was_closed_by_its_button_needs_no_second_back(phone, demo_url):
    phone.goto(f"{demo_url}/#/library")
    phone.goto(f"{demo_url}/#/")
    phone.get_by_role("button", name="Conversations").tap()
    phone.locator("#thread-list a").first.tap()
    expect(phone.locator(".turn")).to_have_count(1)
    button = phone.locator(".turn-actions").get_by_role("button", name="Evidence")
    for _ in range(2):
        button.tap()
        expect(phone.locator("#evidence")).to_be_in_viewport()
        phone.get_by_role("button", name="Close evidence").tap()
        expect(phone.locator("#evidence")).not_to_be_in_viewport()
        expect(button).to_be_focused()
    phone.go_back()
    expect(phone.locator(".turn")).to_have_count(0)
    expect(phone.locator("#chat")).to_be_visible()
    phone.go_back()
    expect(phone.locator("#library")).to_be_visible()


def test_back_closes_a_dialog_and_then_the_evidence_below_it(phone):
    phone.locator("#open-settings").tap()
    expect(phone.get_by_role("dialog")).to_be_visible()
    fits(phone)
    phone.go_back()
    expect(phone.get_by_role("dialog")).to_have_count(0)
    phone.get_by_label("Your question").fill("How many people live in Springfield?")
    phone.keyboard.press("Enter")
    expect(phone.locator(".turn-actions")).to_have_count(2, timeout=60_000)
    phone.locator(".turn:last-child .turn-actions").get_by_role("button", name="Evidence").tap()
    phone.get_by_role("tab", name="Relations").tap()
    phone.get_by_role("button", name="Enlarge").tap()
    expect(phone.get_by_role("dialog")).to_be_visible()
    fits(phone)
    phone.go_back()
    expect(phone.get_by_role("dialog")).to_have_count(0)
    expect(phone.locator("#evidence")).to_be_in_viewport()
    fits(phone)
    phone.go_back()
    expect(phone.locator("#evidence")).not_to_be_in_viewport()


def test_a_panel_that_is_opened_while_an_answer_begins_stays_one_step(visit, demo_url, ask):
    page = visit(demo_url, narrow=True)
    ask(page, "Which planet is the hottest?", wait=False)
    page.locator("#open-evidence").click()
    page.wait_for_url("**/#/t/*")
    page.locator(".turn-actions").wait_for(state="attached", timeout=60_000)
    address = page.url
    page.go_back()
    expect(page.locator("#evidence")).not_to_be_in_viewport()
    expect(page.locator(".turn")).to_have_count(1)
    assert page.url == address


@pytest.mark.parametrize("path", ["/#/", "/#/library", "/#/t/nothing-here"])
def test_every_view_fits_the_screen_and_passes_axe(visit, demo_url, path):
    page = visit(demo_url, narrow=True, path=path)
    page.watch.allowed = ["404"]
    expect(page.locator("#where")).to_contain_text("50 documents")
    fits(page)
    assert [found["id"] for found in Axe().run(page).response["violations"]] == []
