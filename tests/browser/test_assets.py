"""The page's own files: small, kept by browsers, readable, and pure of anything inline. No browser is needed."""

import hashlib
import re

import httpx
import pytest

from preflight_rag.server.page import FOLDER, assets

MODULES = sorted((FOLDER / "static").glob("*.js"))
VIEWER = FOLDER / "static" / "pdfjs"
NAMES = re.compile(r'(?:href|src)="(/static/[^"]+)"')


def test_all_files_together_are_small():
    page = len((FOLDER / "index.html").read_bytes())
    assert page + sum(len(content) for content in assets().values()) < 230_000


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.name)
def test_a_module_is_short_and_says_what_it_is(path):
    text = path.read_text(encoding="utf-8")
    assert text.startswith("/*")
    assert len(text.splitlines()) <= 400
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function", text)
    assert not re.search(r"(?<!placeholder: \")https?://(?!www\.w3\.org/)", text)


def test_nothing_is_inline():
    text = (FOLDER / "index.html").read_text(encoding="utf-8")
    assert not re.search(r"\s(style|on\w+)=", text)
    assert re.findall(r"<script(?![^>]*src=)", text) == []
    assert "http" not in text


def test_browsers_keep_files_for_good_and_ask_for_the_page(demo_url):
    first = httpx.get(demo_url)
    assert first.headers["cache-control"] == "no-cache"
    again = httpx.get(demo_url, headers={"If-None-Match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    named = NAMES.findall(first.text)
    assert {name.rsplit("/")[-1] for name in named} == set(assets())
    for name in named:
        found = httpx.get(demo_url + name)
        assert found.status_code == 200
        assert "immutable" in found.headers["cache-control"]
        assert found.headers["x-content-type-options"] == "nosniff"
    older = re.sub(r"/static/\w+/", "/static/0123456789abcdef/", named[0])
    assert httpx.get(demo_url + older).status_code == 404
    assert httpx.get(f"{demo_url}/static/{named[0].split('/')[2]}/..%2findex.html").status_code == 404


def test_pdf_js_is_what_was_taken():
    lines = (VIEWER / "SHA256SUMS").read_text(encoding="utf-8").splitlines()
    noted = dict(reversed(line.split("  ")) for line in lines)
    found = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in VIEWER.iterdir()}
    assert noted == {name: digest for name, digest in found.items() if name not in ("README", "SHA256SUMS")}
    assert re.search(r"pdf\.js \d+\.\d+\.\d+", (VIEWER / "README").read_text(encoding="utf-8"))
    assert "Apache License" in (VIEWER / "LICENSE").read_text(encoding="utf-8")


def test_the_worker_of_pdf_js_has_a_policy_of_its_own(demo_url):
    folder = NAMES.findall(httpx.get(demo_url).text)[0].split("/")[2]
    worker = httpx.get(f"{demo_url}/static/{folder}/pdfjs/pdf.worker.min.mjs")
    assert worker.headers["content-type"].startswith("text/javascript")
    assert worker.headers["content-security-policy"] == "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'"
    assert httpx.get(f"{demo_url}/static/{folder}/pdfjs/openjpeg.wasm").headers["content-type"] == "application/wasm"
    assert httpx.get(f"{demo_url}/static/{folder}/pdfjs/SHA256SUMS").status_code == 404
