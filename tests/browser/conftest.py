"""A real browser on the real server: every page is watched for errors, outside requests and broken policies."""

from __future__ import annotations

import shutil
from contextlib import ExitStack
from pathlib import Path

import pytest
from playwright.sync_api import expect, sync_playwright
from serving import running

from preflight_rag import Preflight
from preflight_rag.library import Library
from preflight_rag.testing.scripted_server import ScriptedServer

expect.set_options(timeout=20_000)  # as the contexts below: a machine may be busy with other tests
CHROMIUM = Path("/usr/bin/chromium")
WIDE, NARROW = {"width": 1280, "height": 800}, {"width": 360, "height": 740}
VIOLATIONS = """
window.violations = [];
const note = (event) => violations.push(`${event.violatedDirective} ${event.blockedURI}`);
addEventListener("securitypolicyviolation", note);
"""
FACTS = [("Basalt", "hard"), ("Pumice", "light"), ("Marble", "white"), ("Slate", "flat")]


@pytest.fixture(scope="module")
def browser():
    """Chromium; closed with the module, because Playwright's loop must not outlive it."""
    if not CHROMIUM.exists():
        pytest.skip(f"there is no {CHROMIUM}: apt-get install chromium")
    with sync_playwright() as started:
        opened = started.chromium.launch(executable_path=str(CHROMIUM), args=["--no-sandbox"])
        yield opened
        opened.close()


class Watch:
    """What went wrong on a page. `allowed` holds texts that a console message may contain."""

    def __init__(self, page, base):
        self.page, self.base = page, base
        self.messages, self.outside, self.allowed = [], [], []
        page.on("console", self._message)
        page.on("pageerror", lambda error: self.messages.append(f"uncaught: {error}"))
        page.on("request", self._request)

    def _message(self, message):
        if message.type in ("error", "warning") and not any(text in message.text for text in self.allowed):
            self.messages.append(f"{message.type}: {message.text}")

    def _request(self, request):
        if not request.url.startswith((self.base, "blob:", "data:")):
            self.outside.append(request.url)

    def check(self):
        assert self.messages == []
        assert self.outside == []
        if not self.page.is_closed() and self.page.url.startswith(self.base):
            assert self.page.evaluate("window.violations") == []


@pytest.fixture
def visit(browser):
    """Opens pages of a server; at the end each must have stayed free of errors."""
    watched, contexts = [], []

    def make(url, *, dark=False, narrow=False, path="/", **options):
        context = browser.new_context(
            viewport=NARROW if narrow else WIDE,
            color_scheme="dark" if dark else "light",
            reduced_motion="reduce",
            **options,
        )
        context.set_default_timeout(20_000)
        context.add_init_script(VIOLATIONS)
        contexts.append(context)
        page = context.new_page()
        page.watch = Watch(page, url)
        watched.append(page.watch)
        page.goto(url + path)
        return page

    yield make
    try:
        for watch in watched:
            watch.check()
    finally:
        for context in contexts:
            context.close()


@pytest.fixture
def empty_url(embedder, tmp_path):
    """A server over a library without documents, with the reader that needs no model."""
    with Preflight.open(tmp_path / "library", "offline", embedder=embedder, create=True) as app, running(app) as url:
        yield url


@pytest.fixture(scope="module")
def demo_url(demo_folder, embedder, tmp_path_factory):
    """A server over the demo's documents; tests may write threads, not documents."""
    folder = Path(shutil.copytree(demo_folder, tmp_path_factory.mktemp("demo-served") / "demo"))
    with Preflight.open(folder, "offline", embedder=embedder) as app, running(app) as url:
        yield url


@pytest.fixture
def scripted_url(embedder, tmp_path, chat_reader):
    """Starts a server over a few sentences with a scripted model: `scripted_url(rules, default=reply, **settings)`."""
    with ExitStack() as stack:

        def start(script=(), *, default="ok", documents=None, files=None, options=None, **settings):
            server = stack.enter_context(ScriptedServer(script, default=default))
            with Library.open(tmp_path / "stones", embedder=embedder, create=True) as library:
                library.add(documents) if documents else library.ingest(files or _stones(tmp_path))
            numbers = {"route": "plain"} | settings
            opened = Preflight.open(tmp_path / "stones", chat_reader(server), embedder=embedder, **numbers)
            app = stack.enter_context(opened)
            start.model, start.app = server, app
            return stack.enter_context(running(app, options))

        yield start


def _stones(folder):
    paths = []
    for name, fact in FACTS:
        path = folder / f"{name.lower()}.txt"
        path.write_text(f"{name} is a rock that is {fact}.", encoding="utf-8")
        paths.append(path)
    return paths


@pytest.fixture
def ask():
    """Asks a question on a page, and waits for its end unless `wait` is False."""

    def make(page, question, *, wait=True):
        page.get_by_label("Your question").fill(question)
        page.keyboard.press("Enter")
        if wait:
            page.locator(".turn:last-child .turn-actions").wait_for(timeout=60_000)

    return make
