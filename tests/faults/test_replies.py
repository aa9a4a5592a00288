"""What models that go round in circles send: read in linear time, whole or token by token."""

from __future__ import annotations

import time

import pytest

from preflight_rag.graph.answer_stream import Screen, missing_text
from preflight_rag.prompts import answer_group, relate_contexts, replies, rewrite
from preflight_rag.prompts.visible import VisibleText
from preflight_rag.text.citations import separate_marks, without_marks

LENGTH = 40_000
DEGENERATE = {
    "stars under the heading": "quotes" + "*" * LENGTH + "x",
    "stars": "*" * LENGTH,
    "spaces": "It is so." + " " * 50_000 + "x",
    "line ends": "\n" * LENGTH + "x",
    "spaced stars": "answer: " + "* " * (LENGTH // 2) + "x",
    "choice": "choice: B" + "*" * LENGTH + ")",
    "marks": "a " + "[1]" * (LENGTH // 3),
    "spaces in marks": "a [1" + " " * LENGTH + "x",
    "open brackets": "[" * LENGTH,
    "braces": '{"a":' * (LENGTH // 5),
    "a long number": "[" + "1" * LENGTH + "] and more [2].",
    "thoughts that do not end": "<think>a" * (LENGTH // 8),
    "thoughts that end": "<think>a</think>b" * (LENGTH // 17),
    "ends of thoughts": "a</think>" * (LENGTH // 9),
    "one word": "a" * LENGTH,
    "one sentence": "It is so. " * (LENGTH // 10),
    "paragraphs": "a\n\n" * (LENGTH // 3),
    "context lines": "Context " + " " * LENGTH + "x",
}
SECONDS = 1.0
"""Of processor time. Linear readers take a hundredth of it; what was found took minutes."""


def read_whole(reply: str) -> None:
    replies.parse_draft(reply)
    replies.parse_draft(reply, ["yes", "no"])
    replies.split_answer(reply)
    replies.split_dispute(reply)
    replies.before_cut_quotes(reply)
    rewrite.parse(reply)
    answer_group.parse(reply)
    answer_group.parse_plural(reply)
    relate_contexts.parse(reply, 5)
    without_marks(separate_marks(reply))
    missing_text(reply, reply[: LENGTH // 2])


@pytest.mark.parametrize("reply", DEGENERATE.values(), ids=DEGENERATE)
def test_a_degenerate_reply_is_read_in_linear_time(reply: str) -> None:
    began = time.process_time()
    read_whole(reply)
    assert time.process_time() - began < SECONDS


@pytest.mark.parametrize("reply", DEGENERATE.values(), ids=DEGENERATE)
def test_a_degenerate_stream_costs_what_is_new_with_each_token(reply: str) -> None:
    began = time.process_time()
    screen, shown = Screen(), ""
    for at in range(0, len(reply), 4):
        shown += screen.feed("id", reply[at : at + 4])
    shown += screen.finish()
    assert time.process_time() - began < 2 * SECONDS
    assert len(shown) <= len(reply)


@pytest.mark.parametrize("reply", DEGENERATE.values(), ids=DEGENERATE)
def test_what_is_shown_does_not_depend_on_how_the_reply_was_cut(reply: str) -> None:
    def shown(size: int) -> str:
        visible = VisibleText()
        parts = [visible.feed(reply[at : at + size]) for at in range(0, len(reply), size)]
        return "".join([*parts, visible.finish()])

    if "ends of thoughts" not in reply and "</think>" not in reply:  # what came before a lone end was shown already
        assert shown(1) == shown(7) == shown(LENGTH)


def test_a_reply_does_not_drive_the_terminal() -> None:
    visible = VisibleText()
    shown = "".join(visible.feed(piece) for piece in ("It is \x1b", "[2Jhot\x07 [1].\r\n", "\tSo.")) + visible.finish()
    assert not [character for character in shown if ord(character) < 32 and character not in "\t\r\n"]
    assert "hot [1]." in shown
