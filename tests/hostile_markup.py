"""Markdown and HTML that loads, links to or runs something where it is rendered: more than sixty ways.

Addresses lead to a host that tests watch, scripts set `window.hit`.
"""

from __future__ import annotations

import re

from markdown_it import MarkdownIt

HOST = "canary.example"
_U = f"http://{HOST}"
_SVG = f"<svg xmlns='http://www.w3.org/2000/svg' onload='window.hit=1'><image href='{_U}/s.png'/></svg>"
IMAGES = [
    f"![a]({_U}/01.png?q=secret)",
    f'![a](<{_U}/02.png> "title")',
    f"![a][r]\n\n[r]: {_U}/03.png",
    f"![r2][]\n\n[r2]: <{_U}/04.png> 'title'",
    f"![r3]\n\n[r3]:\n{_U}/05.png",
    f"> ![a]({_U}/06.png)",
    f"- ![a]({_U}/07.png)\n  - ![b]({_U}/07b.png)",
    f"| a | b |\n|---|---|\n| ![a]({_U}/08.png) | x |",
    f"[![a]({_U}/09.png)]({_U}/09)",
    f"![a](//{HOST}/10.png)",
    f"![a\n]({_U}/11.png)",
    f"![a](   {_U}/12.png   )",
    f"!\\[a]({_U}/13.png) ![a]\\({_U}/13.png)",
    f"![a](&#104;ttp://{HOST}/14.png)",
    f"![a](http&colon;//{HOST}/15.png)",
    f"**![a]({_U}/16.png)** ~~![a]({_U}/16.png)~~",
    f"[^1]\n\n[^1]: ![a]({_U}/17.png)",
    f"![[{_U}/18.png]] ![a]({_U}/18.png){{width=1}}",
    f"`` ` `` ![a]({_U}/19.png) ` x",
    f"``` \n![a]({_U}/20.png)\n``\n```\n![a]({_U}/20b.png)",
    f"<!-- ![a]({_U}/21.png) --> ![a]({_U}/21.png)",
    f"![\u200ba](\u200b{_U}/22.png)",
    f"![a](HTTP://{HOST.upper()}/23.png)",
    f"![a](https://{HOST}:443/24.png)",
]
TAGS = [
    f'<img src="{_U}/30.png">',
    f"<IMG SRC={_U}/31.png onerror=window.hit=1>",
    f"<img/src='{_U}/32.png'/onerror='window.hit=1'>",
    f'<img srcset="{_U}/33.png 1x" src=x>',
    f'<picture><source srcset="{_U}/34.png"><img src=x></picture>',
    f'<iframe src="{_U}/35"></iframe>',
    '<iframe srcdoc="<script>parent.window.hit=1</script>"></iframe>',
    f'<object data="{_U}/37"></object><embed src="{_U}/37b">',
    f'<video src="{_U}/38" autoplay></video><audio src="{_U}/38b"></audio><video poster="{_U}/38c.png"></video>',
    f'<link rel="stylesheet" href="{_U}/39.css"><link rel="prefetch" href="{_U}/39">',
    f"<style>@import '{_U}/40.css'; body {{ background: url({_U}/40.png) }}</style>",
    f'<p style="background: url({_U}/41.png)">x</p>',
    f'<table background="{_U}/42.png"><tr><td>x</td></tr></table>',
    f'<meta http-equiv="refresh" content="0;url={_U}/43">',
    f'<base href="{_U}/">',
    f'<form action="{_U}/45"><input autofocus onfocus="window.hit=1"></form>',
    "<script>window.hit=1</script>",
    f"<script src={_U}/47.js></script>",
    "<svg onload=window.hit=1>",
    _SVG,
    f'<svg><use href="{_U}/50.svg#a"/></svg>',
    "<details open ontoggle=window.hit=1>x</details>",
    "<math><mtext></form><form><mglyph><style></math><img src onerror=window.hit=1>",
    '<noscript><p title="</noscript><img src=x onerror=window.hit=1>">',
    "<template><img src=x onerror=window.hit=1></template><body onload=window.hit=1>",
    f"<x style=\"background:url('{_U}/55.png')\" onclick=window.hit=1>x</x>",
    "<<img src=x onerror=window.hit=1>",
    "<img src=x onerror=window.hit=1",
    f'<a href="{_U}/58" ping="{_U}/58p">x</a>',
]
LINKS = [
    f"[a]({_U}/60)",
    "[a](javascript:window.hit=1)",
    "[a](JaVaScRiPt:window.hit=1)",
    "[a](java&#115;cript:window.hit=1)",
    "[a](vbscript:window.hit=1)",
    "[a](data:text/html,<script>window.hit=1</script>)",
    f"![a](data:image/svg+xml,{_SVG.replace(' ', '%20')})",
    "<javascript:window.hit=1>",
    f"<{_U}/68>",
    f"{_U}/69 and www.{HOST}/69",
    f'[a]: {_U}/70 "x"\n\n[a] and [a][]',
    f"[a\nb]: {_U}/71\n\n[a b]",
    f'[a]({_U}/72 "onmouseover=window.hit=1")',
    f"[1]({_U}/73) and [1]: {_U}/73",
]
BLOCKS = [
    f'```mermaid\ngraph TD\nA[<img src={_U}/80.png>] --> B\nclick A href "{_U}/80"\n```',
    "```html\n<script>window.hit=1</script>\n```",
    f"~~~svg\n{_SVG}\n~~~",
    f"$$\\includegraphics{{{_U}/83.png}} \\href{{javascript:window.hit=1}}{{x}}$$",
    f'```vega-lite\n{{"data": {{"url": "{_U}/84.json"}}}}\n```',
    f"- ```html\n  <img src={_U}/85.png>\n  ```",
]
PAYLOADS = [*IMAGES, *TAGS, *LINKS, *BLOCKS]

BARE = re.compile(r"https?://\S|(?<![\w.:/@-])www\.\S")
"""An address that renderers make a link of; behind such a character none of GitHub's and linkify-it's rules does."""
ACTIVE = ("image", "link_open", "html_inline", "html_block")


def active(markdown: str) -> list[str]:
    """What a renderer of CommonMark would load, link to, or take for HTML; addresses that others make links of."""
    environment = {}
    tokens = MarkdownIt("commonmark", {"html": True}).parse(markdown, environment)
    flat = [inner for token in tokens for inner in [token, *(token.children or [])]]
    found = [token.type for token in flat if token.type in ACTIVE]
    bare = [token.content for token in flat if token.type == "text" and BARE.search(token.content)]
    drawn = [token.info for token in flat if token.type == "fence" and token.info]
    return [*found, *bare, *drawn, *environment.get("references", ())]
