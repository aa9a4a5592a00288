"""What people, documents and models write is shown as text, under a policy that lets nothing else run."""

import re

import pytest
from playwright.sync_api import expect
from serving import running

from preflight_rag import Preflight
from preflight_rag.server.access import KeyRing
from preflight_rag.state.values import Document

pytestmark = pytest.mark.slow

SCRIPT = '<img src=x onerror="window.hit=1"><script>window.hit=1</script><svg onload="window.hit=1">'
BREACH = '<p style="color: red">x</p><img src=x onerror="hit()">'
LINKS = "[a](javascript:window.hit=1) [b](https://example.org/) ![c](https://example.org/c.png)"


def test_markup_is_text_everywhere(visit, scripted_url, ask):
    document = Document(
        id=f"id{SCRIPT}", source=f"{SCRIPT}.md", title=f"Basalt {SCRIPT}", text=f"Basalt is hard. {SCRIPT} It is black."
    )
    reply = f'Basalt {SCRIPT} is hard [1]. {LINKS}\n\nQUOTES\n[1] "Basalt is hard. {SCRIPT}"'
    page = visit(scripted_url(default=reply, documents=[document]))
    question = f"How is basalt? {SCRIPT}"
    ask(page, question)
    expect(page.locator(".asked")).to_contain_text(question)
    expect(page.locator("#thread-list")).to_contain_text(SCRIPT)
    expect(page.locator(".answer")).to_contain_text('< img src=x onerror="window.hit=1">')
    expect(page.locator(".answer")).to_contain_text("https://example.org/c.png")
    assert page.locator(".answer a").count() == 0  # a document may have had the model write what was asked into it
    page.locator(".answer .cite").first.click()
    expect(page.locator(".source-title")).to_contain_text(SCRIPT)
    expect(page.locator(".passage-text")).to_contain_text(SCRIPT)
    page.get_by_role("button", name="Rename").first.click(force=True)
    page.get_by_label("Title").fill(SCRIPT)
    page.keyboard.press("Enter")
    expect(page.locator("#chat-title")).to_have_text(SCRIPT)
    page.get_by_role("link", name="Library").click()
    expect(page.locator(".documents h2")).to_contain_text(SCRIPT)
    assert page.locator("img, script:not([src]), .answer svg[onload]").count() == 0
    assert page.evaluate("window.hit") is None


def test_names_of_uploads_are_text(visit, empty_url, tmp_path):
    page = visit(empty_url, path="/#/library")
    name = "<img src=x onerror=alert(1)>.md"
    page.locator("#files").set_input_files([{"name": name, "mimeType": "text/markdown", "buffer": b"Basalt is hard."}])
    expect(page.get_by_text("1 added.")).to_be_visible(timeout=60_000)
    expect(page.locator(".upload-name")).to_have_text("_img src=x onerror=alert(1)_.md")
    assert page.locator("img").count() == 0


def test_the_policy_lets_only_this_origin_in(visit, demo_url):
    page = visit(demo_url)
    policy = page.request.get(demo_url).headers["content-security-policy"]
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";") if rule.strip())
    assert rules["default-src"] == "'none'"
    assert rules["script-src"] == rules["style-src"] == rules["connect-src"] == "'self'"
    assert rules["base-uri"] == rules["frame-ancestors"] == "'none'"
    assert "unsafe" not in policy
    page.watch.allowed = ["Content Security Policy", "violates the following", "404"]
    page.evaluate("html => document.body.insertAdjacentHTML('beforeend', html)", BREACH)
    page.wait_for_function("window.violations.length > 0")
    page.evaluate("window.violations = []")


@pytest.fixture
def guarded_url(demo_folder, tmp_path):
    """A server that wants a key, and the key."""
    import shutil

    folder = shutil.copytree(demo_folder, tmp_path / "library")
    ring = KeyRing(folder)
    key = ring.add("ada", write=False)
    ring.close()
    with Preflight.open(folder, "offline") as app, running(app) as url:
        yield url, key


def test_a_key_is_asked_for_and_no_script_can_read_the_session(visit, guarded_url, ask):
    url, key = guarded_url
    page = visit(url)
    page.watch.allowed = ["401"]
    page.get_by_role("textbox", name="Key").fill("wrong")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("key")
    page.get_by_role("textbox", name="Key").fill(key)
    page.keyboard.press("Enter")
    expect(page.locator("#where")).to_contain_text("50 documents")
    assert page.evaluate("document.cookie") == ""
    assert page.evaluate("JSON.stringify(localStorage)").find(key) == -1
    ask(page, "Which planet is the hottest?")
    expect(page.locator(".answer")).to_contain_text("Venus")
    page.get_by_role("link", name="Library").click()
    expect(page.locator(".documents > li").first).to_be_visible()
    expect(page.locator("#files")).to_have_count(0)
    expect(page.locator(".documents").get_by_role("button", name=re.compile("^(Delete|Tags):"))).to_have_count(0)
    page.get_by_role("button", name="Settings", exact=True).click()
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("textbox", name="Key")).to_be_visible()
