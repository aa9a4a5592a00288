"""Markup in whatever the program shows: in a real browser no request goes to another host and no script runs.

The host that all payloads name is a real server here, which counts who connects. What leaves the program as Markdown,
an exported conversation or a reply to a chat client, is shown by a careless page: HTML is let in, no policy is set.
"""

from __future__ import annotations

import json
import re
import socket
import threading
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from hostile_markup import HOST, PAYLOADS
from injected_documents import DOCUMENTS, INSTRUCTIONS, documents_of, obedient, stone
from markdown_it import MarkdownIt
from playwright.sync_api import sync_playwright
from serving import running

from preflight_rag import Preflight
from preflight_rag.library import Library
from preflight_rag.state.values import Document
from preflight_rag.testing.scripted_server import Reply, ScriptedServer

pytestmark = pytest.mark.slow

CHROMIUM = Path("/usr/bin/chromium")
SOME = 6
"""Turns of a conversation; each has as many payloads as make them all come up."""
SHARES = [PAYLOADS[at::SOME] for at in range(SOME)]


class Canary:
    """Counts connections to a port, whatever they want."""

    def __init__(self):
        self.connections = 0
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = self._listening.getsockname()[1]
        threading.Thread(target=self._count, daemon=True).start()

    def _count(self):
        while True:
            try:
                connection, _ = self._listening.accept()
            except OSError:
                return
            self.connections += 1
            connection.close()

    def close(self):
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()


@pytest.fixture(scope="module")
def canary():
    made = Canary()
    yield made
    made.close()


@pytest.fixture(scope="module")
def watched(canary):
    """Opens a page for which the host of the payloads is the canary; what ran on it is asserted at its end."""
    if not CHROMIUM.exists():
        pytest.skip(f"there is no {CHROMIUM}: apt-get install chromium")
    rules = f"MAP {HOST} 127.0.0.1:{canary.port}, MAP *.{HOST} 127.0.0.1:{canary.port}"
    with sync_playwright() as started:
        browser = started.chromium.launch(
            executable_path=str(CHROMIUM), args=["--no-sandbox", f"--host-resolver-rules={rules}"]
        )

        @contextmanager
        def visit(url, wait, *, is_calling=False):
            context = browser.new_context()
            context.set_default_timeout(20_000)
            page, dialogs, outside = context.new_page(), [], []
            own = url.split("/")[2]
            page.on("request", lambda sent: sent.url.split("/")[2] in (own, "") or outside.append(sent.url))
            page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
            page.goto(url)
            if wait:
                page.locator(wait).first.wait_for()
            yield page
            page.wait_for_timeout(300)
            assert dialogs == []
            assert is_calling or outside == []
            assert page.evaluate("window.hit") is None
            assert page.url.startswith(url.split("#")[0])
            context.close()

        yield visit
        browser.close()


def careless(markdown: str) -> str:
    """A page that shows Markdown with its HTML, images and links."""
    html = MarkdownIt("commonmark", {"html": True}).enable("table").render(markdown)
    return f"<!doctype html><meta charset=utf-8>{html}"


def reply(body):
    """Every prompt is answered with the payloads of the share that its question names."""
    prompt = body["messages"][-1]["content"]
    number = int((re.findall(r"share (\d+)", prompt) or ["0"])[-1])
    if number == SOME:
        return Reply(f"no {SHARES[0][0]} {SHARES[1][0]} <img src=x onerror=window.hit=1>", status=400)
    markup = "\n\n".join(SHARES[number])
    return f'Basalt is hard [1].\n\n{markup}\n\nQUOTES\n[1] "Basalt is hard."'


@pytest.fixture(scope="module")
def served(embedder, tmp_path_factory, chat_reader):
    """A server over documents full of payloads, a conversation on it, and its thread."""
    folder = tmp_path_factory.mktemp("hostile")
    documents = [
        Document(
            id=f"d{at}{payload}",
            source=f"{payload}.md",
            title=f"Basalt {payload}",
            text=f"Basalt is hard. {payload} It is black.",
        )
        for at, payload in enumerate(PAYLOADS)
    ]
    with Library.open(folder, embedder=embedder, create=True) as library:
        library.add(documents)
    with ScriptedServer(reply) as server:
        with Preflight.open(folder, chat_reader(server), embedder=embedder, rewrite="off") as app, running(app) as url:
            with httpx.Client(base_url=url, timeout=60) as client:
                for number in range(SOME + 1):
                    body = {"question": f"How is basalt, share {number}?", "stream": False, "route": "plain"}
                    client.post("/api/ask", json={**body, "thread_id": "hostile"})
                client.patch("/api/threads/hostile", json={"title": PAYLOADS[0] + TAG})
            yield url


TAG = "<img src=x onerror=window.hit=1>"


def test_a_conversation_of_payloads_calls_nobody(served, watched, canary):
    with watched(f"{served}/#/t/hostile", ".turn .answer") as page:
        assert page.locator(".turn").count() >= SOME
        assert page.locator(".answer a, .answer img, .answer iframe, .answer svg, .answer style").count() == 0
        for number in range(SOME):
            page.locator(".turn").nth(number).locator(".answer .cite").first.click()
            page.locator(".source-title").first.wait_for()
        assert page.locator("iframe, object, embed, img[src^=http], [style*=url]").count() == 0
    assert canary.connections == 0


def test_a_streamed_answer_and_what_is_suggested_next_call_nobody(served, watched, canary):
    with watched(f"{served}/", "#question, textarea") as page:
        page.get_by_label("Your question").fill("How is basalt, share 3?")
        page.keyboard.press("Enter")
        page.locator(".turn:last-child .turn-actions").wait_for()
        assert page.locator(".answer a, .answer img").count() == 0
        page.get_by_role("link", name="Library").click()
        page.locator(".documents > li").first.wait_for()
    assert canary.connections == 0


@pytest.mark.parametrize("stream", [False, True])
def test_what_chat_clients_show_calls_nobody(served, watched, canary, stream, tmp_path):
    shown = []
    with httpx.Client(base_url=served, timeout=60) as client:
        for number in range(SOME):
            messages = [{"role": "user", "content": f"How is basalt, share {number}?"}]
            body = {"model": "preflight-plain", "messages": messages, "stream": stream}
            received = client.post("/v1/chat/completions", json=body)
            found = re.findall(r'"content":\s?("(?:[^"\\]|\\.)*")', received.text)
            shown.append("".join(map(json.loads, found)))
    assert all("Basalt is hard" in text for text in shown)
    _opened(watched, tmp_path, "\n\n".join(shown))
    assert canary.connections == 0


def test_an_exported_conversation_calls_nobody(served, watched, canary, tmp_path):
    exported = httpx.get(f"{served}/api/threads/hostile/export").text
    assert exported.count("## ") >= SOME
    _opened(watched, tmp_path, exported)
    assert canary.connections == 0


def test_answers_of_an_obedient_model_call_nobody(embedder, tmp_path, watched, canary, chat_reader):
    calling = [number for number, each in enumerate(DOCUMENTS) if each.family in ("call out", "hidden", "tools")]
    with Library.open(tmp_path / "library", embedder=embedder, create=True) as library:
        library.add([Document(**row) for number in calling for row in documents_of(number, DOCUMENTS[number])])
    with ScriptedServer(obedient) as server:
        numbers = {"instructions": INSTRUCTIONS, "k": 4, "route": "plain", "rewrite": "off"}
        with Preflight.open(tmp_path / "library", chat_reader(server), embedder=embedder, **numbers) as app:
            for number in calling:
                app.ask(f"What is the hardness of {stone(number)}?", thread_id="t", where=(f"case = c{number}",))
            with running(app) as url, watched(f"{url}/#/t/t", ".turn .answer") as page:
                assert page.locator(".turn").count() >= len(calling)
    assert canary.connections == 0


def test_a_report_of_payloads_calls_nobody(watched, canary, tmp_path):
    from evaluation.report import Report, Table, write
    from evaluation.runs import ExperimentRun

    rows = tuple((payload, payload) for payload in PAYLOADS)
    table = Table(PAYLOADS[0] + TAG, (TAG, PAYLOADS[1]), rows, TAG)
    report = Report(TAG, PAYLOADS[0], TAG, (table,), (), {}, {"data": PAYLOADS[0], "settings": {TAG: TAG}}, summary=TAG)
    write([report], tmp_path, ExperimentRun(), ["preflight", "eval", TAG])
    with watched((tmp_path / "report.html").as_uri(), "table"):
        pass
    assert canary.connections == 0


def test_the_canary_sees_what_is_not_made_inert(watched, canary, tmp_path):
    """Last: the same payloads as they are do call, so that the silence above says something."""
    before = canary.connections
    calling = [payload for payload in PAYLOADS if payload.startswith(("![a](http://", '<img src="http'))]
    (tmp_path / "raw.html").write_text(careless("\n\n".join(calling)), encoding="utf-8")
    with watched((tmp_path / "raw.html").as_uri(), "img", is_calling=True):
        pass
    assert canary.connections > before


def _opened(watched, folder, markdown):
    (folder / "shown.html").write_text(careless(markdown), encoding="utf-8")
    with watched((folder / "shown.html").as_uri(), "p") as page:
        assert page.locator("img, iframe, object, embed, svg, a, link, style, script, form").count() == 0
