"""What is asserted of every answer of a real model: its form."""

from __future__ import annotations

from preflight_rag.prompts import answer_plain, map_context, reduce_context, relate_contexts
from preflight_rag.prompts.leaks import LEAK
from preflight_rag.state.errors import PreflightError

FENCES = ("<passages>", "</passages>", "<extracts>", "<passage ", "</passage>", "<question>")


def check_form(answer, library) -> None:
    """What holds of any model's answer: its citations are verified or marked, and nothing of a prompt is in it."""
    assert answer.answer.strip()
    for citation in answer.citations:
        if citation.verified:
            (passage,) = library.passages([citation.passage_id])
            assert passage.text[citation.start : citation.end] == citation.quote
    numbers = [citation.n for citation in answer.citations]
    assert numbers == list(range(1, len(numbers) + 1))
    check_nothing_leaks(answer.answer)


def check_nothing_leaks(text) -> None:
    """No fence of a prompt, and no long piece of its instructions, is in a text that a person is shown."""
    assert not [fence for fence in FENCES if fence in text]
    shown = "".join(filter(str.isalnum, text)).casefold()
    for prompt in (answer_plain, map_context, reduce_context, relate_contexts):
        told = "".join(filter(str.isalnum, prompt.SYSTEM)).casefold()
        assert not [at for at in range(len(told) - LEAK) if told[at : at + LEAK] in shown]


def check_error(error: PreflightError) -> None:
    """A turn that ends without an answer says why, and the way out, in one line."""
    check_line(str(error))


def check_line(text) -> None:
    """An error's text is one sentence after another, in one line."""
    assert text.strip()
    assert "\n" not in text
    assert ".." not in text.replace("...", "")
