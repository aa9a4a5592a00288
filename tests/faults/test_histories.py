"""A caller's history is any text: long runs of anything take linear time, and the turn comes to its end."""

from __future__ import annotations

import time

import pytest

from preflight_rag import Preflight

pytestmark = pytest.mark.slow

LENGTH = 50_000
HOSTILE = {
    "one word": "a" * LENGTH,
    "spaces": "a" + " " * LENGTH + "b",
    "line ends": "x" + "\n" * LENGTH + "y",
    "names": "Aa " * (LENGTH // 3),
    "joined names": "Aa-" * (LENGTH // 3),
    "polite words": " now" * (LENGTH // 4) + " x",
    "figures": "1." * (LENGTH // 2),
    "stars": "*" * LENGTH,
    "brackets": "[" * LENGTH,
    "marks": "[1] " * (LENGTH // 4),
    "commas": "a, " * (LENGTH // 3),
    "quotation marks": '"' * LENGTH,
    "file names": "a.a" * (LENGTH // 3),
    "signs": "!" * LENGTH,
    "and": " and" * (LENGTH // 4),
    "footnotes": '[1] : "a: "a: ' * (LENGTH // 14),
}
SECONDS = 3.0
"""Of processor time, an ordinary turn among it. What was found took ten, and four times that for twice the length."""


@pytest.fixture(scope="module")
def app(tmp_path_factory, embedder):
    from preflight_rag.library.library import Library
    from preflight_rag.state.values import Document

    folder = tmp_path_factory.mktemp("library")
    with Library.open(folder, embedder=embedder, create=True) as library:
        library.add([Document(id="a", text="Venus is hot. It has 465 °C.", source="s")])
    with Preflight.open(folder, "offline") as opened:
        opened.ask("How hot is Venus?")
        yield opened


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
@pytest.mark.parametrize("question", ["And how cold is it there?", "Show me the second source."])
def test_a_history_takes_linear_time(app, question, text):
    began = time.process_time()
    assert app.ask(question, history=[("user", text), ("assistant", text)]).answer
    assert time.process_time() - began < SECONDS
