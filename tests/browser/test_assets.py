"""The page's own files: small, kept by browsers, readable, and pure of anything inline. No browser is needed."""

import re

import httpx
import pytest

from preflight_rag.server.page import FOLDER, assets

MODULES = sorted((FOLDER / "static").glob("*.js"))
NAMES = re.compile(r'(?:href|src)="(/static/[^"]+)"')


def test_all_files_together_are_small():
    page = len((FOLDER / "index.html").read_bytes())
    assert page + sum(len(content) for content in assets().values()) < 150_000


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.name)
def test_a_module_is_short_and_says_what_it_is(path):
    text = path.read_text(encoding="utf-8")
    assert text.startswith("/*")
    assert len(text.splitlines()) <= 300
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function", text)
    assert not re.search(r"https?://(?!www\.w3\.org/)", text)


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
