"""Answers as HTML that is safe to show: Markdown without raw HTML, images and links.

`[n]` becomes a button that opens its source; only the program itself puts links beside the source. An address written
by a model stays text: a document could have made the model put the question into it. The renderer makes no raw HTML,
and its output is cleaned once more by an allow-list, so that a fault in one of the two does no harm.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import nh3
from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markdown_it.token import Token

from preflight_rag.text.citations import MARK
from preflight_rag.text.words import encodable

_TAGS = {
    *("p", "br", "hr", "em", "strong", "s", "code", "pre", "blockquote", "ul", "ol", "li", "button"),
    *("h3", "h4", "h5", "h6", "table", "thead", "tbody", "tr", "th", "td"),
}
_ATTRIBUTES = {
    "button": {"class", "type", "data-n", "aria-label"},
    "ol": {"start"},
}


def render(text: str) -> str:
    """Return the HTML of an answer, or of the part that has been written so far."""
    return nh3.clean(_renderer().render(encodable(text)), tags=_TAGS, attributes=_ATTRIBUTES, url_schemes=set())


@cache
def _renderer() -> MarkdownIt:
    """Return the Markdown parser: no raw HTML, images or links, and citation marks as buttons."""
    made = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    made.disable(["image", "link", "autolink", "reference", "html_block", "html_inline"])
    made.core.ruler.push("citations", _cite)
    made.core.ruler.push("headings", _lower_headings)
    made.add_render_rule("citation", _button)
    return made


def _cite(state: StateCore) -> None:
    """Split citation marks out of the text."""
    for block in state.tokens:
        if block.children:
            block.children = _with_marks(block.children)


def _with_marks(tokens: Sequence[Token]) -> list[Token]:
    """Split texts at marks such as `[1]`, and return the marks as buttons."""
    found: list[Token] = []
    for token in tokens:
        if token.type != "text" or not MARK.search(token.content):
            found.append(token)
            continue
        for place, part in enumerate(MARK.split(token.content)):
            if place % 2:
                found.append(Token("citation", "button", 0, content=part))
            elif part:
                found.append(Token("text", "", 0, content=part))
    return found


def _lower_headings(state: StateCore) -> None:
    """Lower an answer's headings by two levels, below the page's own."""
    for token in state.tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(int(token.tag[1]) + 2, 6)}"


def _button(self: Any, tokens: Sequence[Token], place: int, options: Any, env: Any) -> str:
    """Return the button of a citation mark."""
    n = int(tokens[place].content)
    return f'<button class="cite" type="button" data-n="{n}" aria-label="Source {n}">{n}</button>'
