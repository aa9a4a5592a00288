"""Documents by web address: only from where the operator has said, with every redirect checked, up to a size."""

import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from serving import running

from preflight_rag import Preflight
from preflight_rag.server import ServerOptions
from preflight_rag.server.web_fetch import checked_prefixes, is_allowed
from preflight_rag.state.errors import UsageError

pytestmark = pytest.mark.slow
PAGE = (
    b"<html><head><title>Mosses</title></head><body><p>The moss garden of Kyoto was opened in 1928.</p></body></html>"
)


class Site(BaseHTTPRequestHandler):
    """A small site: a page, redirects within it and out of it, something large, and something that is no document."""

    def do_GET(self):
        port = self.server.server_port
        moved = {
            "/docs/old": "/docs/mosses",
            "/docs/out": "/secret/plans.html",
            "/docs/away": f"http://localhost:{port}/docs/mosses",
            "/docs/round": "/docs/round",
        }
        if self.path in moved:
            self.send_response(302)
            self.send_header("Location", moved[self.path])
            self.end_headers()
            return
        self.send_response(404 if self.path == "/docs/none" else 200)
        kinds = {"/docs/picture": "image/png"}
        self.send_header("Content-Type", kinds.get(self.path, "text/html; charset=utf-8"))
        self.end_headers()
        self.wfile.write(b"x" * 3_000_000 if self.path == "/docs/large" else PAGE)

    def log_message(self, *_):
        """Say nothing."""


@contextmanager
def site():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Site)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture
def served(tmp_path, embedder, client_of):
    """A client of a server that may fetch below /docs/ of a site on this machine."""
    with site() as address, Preflight.open(tmp_path / "lib", "offline", embedder=embedder, create=True) as app:
        options = ServerOptions(fetch_from=(f"{address}/docs/",), fetch_private=True, upload_bytes=1_000_000)
        with running(app, options) as url:
            yield client_of(url), address


def added(client, url):
    return client.post("/api/documents/url", json={"url": url})


def test_a_page_is_added_as_a_document_also_over_a_redirect(served):
    client, address = served
    for path in ("/docs/mosses", "/docs/old"):
        reply = added(client, address + path)
        assert reply.status_code == 202, reply.text
        while not (upload := client.get("/api/uploads").json()["uploads"][-1])["over"]:
            time.sleep(0.2)  # without it a fast machine asks too often, and is refused
        assert upload["files"][0]["stage"] == "ready"
    documents = client.get("/api/documents").json()["documents"]
    assert [(each["title"], each["name"]) for each in documents] == [("Mosses", "mosses.html")]
    assert "1928" in client.ask("When was the moss garden of Kyoto opened?").json()["answer"]


@pytest.mark.parametrize(
    ("path", "status", "says"),
    [
        ("/secret/plans.html", 403, "not allowed"),
        ("/docs/../secret/plans.html", 403, "not allowed"),
        ("/docs/%2e%2e/secret/plans.html", 403, "not allowed"),
        ("/docs/out", 403, "not allowed"),
        ("/docs/away", 403, "not allowed"),
        ("/docs/round", 502, "redirected more than"),
        ("/docs/none", 502, "answers 404"),
        ("/docs/large", 413, "larger than 1,000,000 bytes"),
        ("/docs/picture", 415, "cannot be read"),
    ],
)
def test_what_is_not_allowed_or_no_document_is_refused_in_one_line(served, path, status, says):
    client, address = served
    reply = added(client, address + path)
    assert (reply.status_code, says in reply.json()["error"]["message"]) == (status, True), reply.text
    assert client.get("/api/documents").json()["total"] == 0


def test_nothing_is_fetched_unless_it_is_switched_on_and_never_from_a_private_network(tmp_path, embedder, client_of):
    with site() as address, Preflight.open(tmp_path / "lib", "offline", embedder=embedder, create=True) as app:
        with running(app) as url:
            reply = added(client_of(url), f"{address}/docs/mosses")
            assert (reply.status_code, reply.json()["error"]["code"]) == (403, "fetch_off")
            assert client_of(url).get("/api/info").json()["fetch_from"] == []
        name = address.replace("127.0.0.1", "localhost")
        with running(app, ServerOptions(fetch_from=(f"{address}/", f"{name}/"))) as url:
            for each in (address, name):
                reply = added(client_of(url), f"{each}/docs/mosses")
                assert (reply.status_code, "private network" in reply.json()["error"]["message"]) == (403, True)


@pytest.mark.parametrize(
    ("url", "allowed"),
    [
        ("https://example.org/papers/a.pdf", True),
        ("https://EXAMPLE.org:443/papers/a.pdf", True),
        ("https://example.org/papersx/a.pdf", False),
        ("http://example.org/papers/a.pdf", False),
        ("https://example.org:8443/papers/a.pdf", False),
        ("https://example.org.evil.net/papers/a.pdf", False),
        ("https://example.org@evil.net/papers/a.pdf", False),
        ("https://user@example.org/papers/a.pdf", False),
        ("https://example.org/papers/../a.pdf", False),
        ("ftp://example.org/papers/a.pdf", False),
        ("file:///etc/passwd", False),
        ("https://example.org:x/papers/", False),
    ],
)
def test_an_address_is_allowed_by_its_scheme_host_port_and_path(url, allowed):
    assert is_allowed(url, ("https://example.org/papers",)) is allowed


def test_a_host_alone_is_allowed_over_https_and_nonsense_is_refused():
    assert checked_prefixes(["example.org"]) == ("https://example.org/",)
    with pytest.raises(UsageError, match="no web address"):
        checked_prefixes(["ftp://example.org/"])
