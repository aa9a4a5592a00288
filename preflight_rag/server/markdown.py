"""Answers as HTML that is safe to show: Markdown without raw HTML and images, links to http(s) only.

`[n]` becomes a button that opens its source. The renderer makes no raw HTML; what it makes is cleaned once more by an
allow-list, so that a fault in one of the two is no hole.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import Any

import nh3
from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markdown_it.token import Token

from preflight_rag.text.citations import MARK

_LINK = re.compile(r"https?://[^\s]", re.IGNORECASE)
_TAGS = {
    *("p", "br", "hr", "em", "strong", "s", "code", "pre", "blockquote", "ul", "ol", "li", "a", "button"),
    *("h3", "h4", "h5", "h6", "table", "thead", "tbody", "tr", "th", "td"),
}
_ATTRIBUTES = {
    "a": {"href", "title"},
    "button": {"class", "type", "data-n", "aria-label"},
    "ol": {"start"},
}


def render(text: str) -> str:
    """The HTML of an answer, or of the part of it that has been written so far."""
    html = _renderer().render(text)
    return nh3.clean(
        html,
        tags=_TAGS,
        attributes=_ATTRIBUTES,
        url_schemes={"http", "https"},
        link_rel="noopener nofollow",
        set_tag_attribute_values={"a": {"target": "_blank"}},
    )


@cache
def _renderer() -> MarkdownIt:
    made = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    made.disable(["image", "reference", "html_block", "html_inline"])
    made.validateLink = lambda url: _LINK.match(url) is not None  # type: ignore[method-assign]
    made.core.ruler.push("citations", _cite)
    made.core.ruler.push("headings", _lower_headings)
    made.add_render_rule("citation", _button)
    return made


def _cite(state: StateCore) -> None:
    """Split marks of citations out of the text, but not out of links."""
    for block in state.tokens:
        if block.children:
            block.children = _with_marks(block.children)


def _with_marks(tokens: Sequence[Token]) -> list[Token]:
    found: list[Token] = []
    links = 0
    for token in tokens:
        links += token.nesting if token.type in ("link_open", "link_close") else 0
        if token.type != "text" or links or not MARK.search(token.content):
            found.append(token)
            continue
        for place, part in enumerate(MARK.split(token.content)):
            if place % 2:
                found.append(Token("citation", "button", 0, content=part))
            elif part:
                found.append(Token("text", "", 0, content=part))
    return found


def _lower_headings(state: StateCore) -> None:
    """An answer stands below the page's own headings."""
    for token in state.tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(int(token.tag[1]) + 2, 6)}"


def _button(self: Any, tokens: Sequence[Token], place: int, options: Any, env: Any) -> str:
    n = int(tokens[place].content)
    return f'<button class="cite" type="button" data-n="{n}" aria-label="Source {n}">{n}</button>'
