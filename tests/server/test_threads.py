"""What is set under answers for readers of plain text, and how it is taken away again."""

from __future__ import annotations

import time

import pytest

from preflight_rag.server.threads import footnotes, strip_footnotes
from preflight_rag.state.values import Citation


def test_footnotes_are_taken_away_as_they_were_set() -> None:
    citation = Citation(
        n=1,
        passage_id="a",
        document_id="b",
        title='Title: a "b"',
        source="a.pdf",
        start=0,
        end=5,
        quote='He said: "so".',
        verified=True,
    )
    answer = 'It is so [1].\n\n[2] is meant: "no footnote, a line follows"\n\nThe end.'
    assert strip_footnotes(answer + footnotes([citation, citation])) == answer


@pytest.mark.parametrize(
    "text",
    ["It is so [1].", '[1] Title: "alone on the first line"', "[1] no quote", 'An answer\n\n[a] x: "no number"'],
)
def test_other_text_stays(text: str) -> None:
    assert strip_footnotes(text) == text


def test_lines_that_look_like_footnotes_cost_linear_time() -> None:
    """A history of such lines took exponential time once, and one request of 684 bytes stopped the server."""
    hostile = "\n".join(f"[{n}] : " + '"a: ' * 500 for n in range(50)) + "\nx"
    began = time.process_time()
    assert strip_footnotes(hostile) == hostile
    assert time.process_time() - began < 0.2
