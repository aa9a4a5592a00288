"""Answers as HTML: citations become buttons, and nothing in them can run or call out."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from preflight_rag.server.markdown import render

TAGS = {
    *("p", "br", "hr", "em", "strong", "s", "code", "pre", "blockquote", "ul", "ol", "li", "button"),
    *("h3", "h4", "h5", "h6", "table", "thead", "tbody", "tr", "th", "td"),
}


def test_marks_become_buttons():
    button = '<button class="cite" type="button" data-n="2" aria-label="Source 2">2</button>'
    assert render("So [2].") == f"<p>So {button}.</p>\n"
    assert render("`[2]`") == "<p><code>[2]</code></p>\n"
    assert render("[see [2]](http://e.org)") == f"<p>[see {button}](http://e.org)</p>\n"


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("# T", "<h3>T</h3>\n"),
        ("**a** ~~b~~", "<p><strong>a</strong> <s>b</s></p>\n"),
        ("<b>x</b>", "<p>&lt;b&gt;x&lt;/b&gt;</p>\n"),
        ("[a](javascript:alert(1))", "<p>[a](javascript:alert(1))</p>\n"),
        ("[a](/api/session)", "<p>[a](/api/session)</p>\n"),
        ("[a](data:text/html,x)", "<p>[a](data:text/html,x)</p>\n"),
        ("[1]: http://evil.example", "http://evil.example</p>\n"),
        ("[a](http://e.org)", "<p>[a](http://e.org)</p>\n"),
        ("<http://e.org>", "<p>&lt;http://e.org&gt;</p>\n"),
    ],
)
def test_markdown(text, html):
    assert render(text).endswith(html)


@given(st.text(alphabet=st.sampled_from("<>/[]()!\"'=:`*#|- \n&;x1javscriptonerhf"), max_size=80))
def test_nothing_else_than_the_known_tags_comes_out(text):
    html = render(text)
    assert set(re.findall(r"</?([a-z0-9]+)", html)) <= TAGS
    assert not re.search(r"<[^>]*\son\w+=", html)
