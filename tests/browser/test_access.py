"""Everybody can use it: no serious finding of axe in any view, all of it with the keyboard, down to 360 pixels."""

import re

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

pytestmark = pytest.mark.slow

QUESTION = "How many people live in Broken Bow?"


def findings(page):
    """What axe calls serious or critical, as `rule: target`."""
    found = Axe().run(page).response["violations"]
    return [
        f"{each['id']}: {node['target']} {node['failureSummary']}"
        for each in found
        if each["impact"] in ("serious", "critical")
        for node in each["nodes"]
    ]


@pytest.mark.parametrize("narrow", [False, True], ids=["wide", "narrow"])
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_axe_finds_nothing_serious_in_any_view(visit, demo_url, ask, dark, narrow):
    page = visit(demo_url, dark=dark, narrow=narrow)

    def check(view):
        assert findings(page) == [], view
        assert page.evaluate("document.documentElement.scrollWidth") <= page.viewport_size["width"], view

    expect(page.locator(".suggestions")).to_be_visible(timeout=60_000)
    check("welcome")
    ask(page, QUESTION)
    check("answer")
    page.locator(".card .cite").first.click()
    expect(page.locator("mark")).to_be_visible()
    check("source")
    page.get_by_role("tab", name="Relations").click()
    expect(page.locator(".graph")).to_be_visible()
    page.get_by_text("As a table").click()
    check("relations")
    page.get_by_role("tab", name="How this was answered").click()
    page.locator(".numbers summary").click()
    check("how")
    page.keyboard.press("Escape")
    page.keyboard.press("Control+k")
    expect(page.get_by_label("Search conversations")).to_be_focused()
    check("conversations")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Settings", exact=True).click()
    check("settings")
    page.keyboard.press("Escape")
    page.get_by_role("link", name="Library").click()
    expect(page.locator(".documents > li").first).to_be_visible()
    check("library")


def test_a_visit_with_the_keyboard_alone(visit, demo_url):
    page = visit(demo_url, path="/#/library")
    page.locator(".documents > li").first.wait_for()
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the question")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_label("Your question")).to_be_focused()
    page.keyboard.type("How many people")
    page.keyboard.press("Shift+Enter")
    page.keyboard.type("live in Broken Bow?")
    page.keyboard.press("Enter")
    page.locator(".turn-actions").wait_for(timeout=60_000)
    expect(page.locator("#status")).to_contain_text("The answer is ready, with 2 sources.")
    expect(page.get_by_label("Your question")).to_be_focused()
    focus(page, ".card .cite")
    page.keyboard.press("Enter")
    expect(page.locator("mark")).to_be_visible()
    expect(page.locator("#status")).to_contain_text("The quote is highlighted.")
    focus(page, '[role="tab"][aria-selected="true"]')
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("tab", name="Relations")).to_be_focused()
    expect(page.locator(".graph")).to_be_visible()
    page.keyboard.press("/")
    expect(page.get_by_label("Your question")).to_be_focused()
    page.keyboard.press("Control+k")
    expect(page.get_by_label("Search conversations")).to_be_focused()
    focus(page, "#thread-list li button[aria-label^=Delete]")
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.locator(".turn")).to_have_count(0)


def focus(page, selector):
    """Press Tab until an element of the selector has the focus; each stop must be visible."""
    for _ in range(80):
        page.keyboard.press("Tab")
        state = page.evaluate(
            """selector => {
                const at = document.activeElement;
                const box = at.getBoundingClientRect();
                return { found: at.matches(selector), seen: at === document.body || (box.width > 0 && box.height > 0) };
            }""",
            selector,
        )
        assert state["seen"]
        if state["found"]:
            return
    raise AssertionError(f"{selector} cannot be reached")


def test_panels_are_drawers_where_there_is_no_room(visit, demo_url, ask):
    page = visit(demo_url, narrow=True)
    ask(page, QUESTION)
    expect(page.locator("#threads")).to_be_hidden()
    expect(page.locator("#evidence")).to_be_hidden()
    page.get_by_role("button", name="Conversations", exact=True).click()
    expect(page.locator("#threads")).to_be_visible()
    assert page.locator("#middle").evaluate("it => it.inert")
    page.keyboard.press("Escape")
    expect(page.locator("#threads")).to_be_hidden()
    expect(page.get_by_role("button", name="Conversations", exact=True)).to_be_focused()
    page.locator(".card .cite").first.click()
    expect(page.locator("mark")).to_be_in_viewport()
    page.get_by_role("button", name="Close evidence").click()
    expect(page.locator("#evidence")).to_be_hidden()


def test_colours_are_the_systems_until_one_is_chosen(visit, demo_url):
    page = visit(demo_url, dark=True)
    ground = "getComputedStyle(document.body).backgroundColor"
    dark = page.evaluate(ground)
    page.get_by_role("button", name="Use light colours").click()
    light = page.evaluate(ground)
    assert light != dark
    page.reload()
    assert page.evaluate(ground) == light
    expect(page.get_by_role("button", name=re.compile("Use dark"))).to_be_visible()
