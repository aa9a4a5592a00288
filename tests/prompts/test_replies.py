"""What models write back, pretty and ugly."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.samples import Sample
from evaluation.stages import closed_book_prompt
from preflight_rag.prompts import answer_plain, fences, map_context, reduce_context
from preflight_rag.prompts.replies import match_option, parse_draft, says
from preflight_rag.prompts.visible import VisibleText
from preflight_rag.text.citations import separate_marks

OPTIONS = ["yes", "no", "maybe"]


@pytest.mark.parametrize(
    ("reply", "text", "quotes"),
    [
        ("It is 42 [2].", "It is 42 [2].", ()),
        ('It is 42 [2].\nQUOTES\n[2] "is 42"', "It is 42 [2].", ((2, "is 42"),)),
        ("It is 42 [2].\n\n**Quotes:**\n- [2] “is 42”\n", "It is 42 [2].", ((2, "is 42"),)),
        (
            "Answer: It is 42 [1, 3].\nquotes:\n1. [1] is 42\n2. (3) so 42",
            "It is 42 [1][3].",
            ((1, "is 42"), (3, "so 42")),
        ),
        ("<think>hm [9]</think>It is 42 [2-4].", "It is 42 [2][3][4].", ()),
        ("hm, 41 [9]? no.\n</think>\nIt is 42 [2].", "It is 42 [2].", ()),
        ("```\nIt is 42 [2].\n```", "It is 42 [2].", ()),
        ("It is 42 [2].\n## Supporting quotes\n[2] no marks here", "It is 42 [2].", ((2, "no marks here"),)),
        ("It is 42 [2].\nQUOTES\nnothing readable", "It is 42 [2].", ()),
    ],
)
def test_a_draft_is_read(reply, text, quotes):
    draft = answer_plain.parse(reply)
    assert (draft.text, draft.quotes, draft.found) == (text, quotes, True)


@pytest.mark.parametrize(
    "reply",
    [
        "NOT IN THE PASSAGES",
        "not in the passages.",
        "**Not in the passages**",
        "NOT IN THE PASSAGES. They are about cats.",
        "No relevant information.",
        "<think>…</think>\nNOT IN THE PASSAGES\nQUOTES\n",
    ],
)
def test_a_reply_that_found_nothing(reply):
    assert not parse_draft(reply).found


@pytest.mark.parametrize(
    "reply",
    ["NO RELEVANT INFORMATION", "no relevant information.", "* No Relevant Information *", "(NO RELEVANT INFORMATION)"],
)
def test_an_empty_extract(reply):
    assert map_context.parse(reply).text == ""


def test_an_extract_that_mentions_the_phrase_and_cites_is_kept():
    assert map_context.parse("No relevant information on price, but it weighs 3 kg [4].").text


@pytest.mark.parametrize(
    ("reply", "text", "answer"),
    [
        ("It has 274 moons [7].\nANSWER: 274", "It has 274 moons [7].", "274"),
        ("It has 274 moons [7].\n**Answer:** 274 moons [7].", "It has 274 moons [7].", "274 moons"),
        ("Some moons are known [7].\nANSWER: none", "Some moons are known [7].", ""),
        ("Some moons are known [7].\nAnswer: not stated.", "Some moons are known [7].", ""),
        ("ANSWER: 274", "274", "274"),
        ("NO RELEVANT INFORMATION\nANSWER: none", "", ""),
        ("It has 274 moons [7].", "It has 274 moons [7].", ""),
        ('It has 274 [7].\nQUOTES\n[7] "274 moons"\nANSWER: 274', "It has 274 [7].", "274"),
    ],
)
def test_an_extract_ends_with_what_the_partition_answers(reply, text, answer):
    extract = map_context.parse(reply)
    assert (extract.text, extract.answer) == (text, answer)


@pytest.mark.parametrize(("line", "answer"), [("B", "no"), ("(C) maybe", "maybe"), ("yes", "yes"), ("none", "")])
def test_of_options_a_partition_answers_one(line, answer):
    assert map_context.parse(f"It may help [7].\nANSWER: {line}", OPTIONS).answer == answer


@pytest.mark.parametrize(
    ("reply", "text", "disputed"),
    [
        ("82 [1], [2] says 274.\nDISPUTED: 82 / 274", "82 [1], [2] says 274.", True),
        ("82 [1].\n**Disputed:** none", "82 [1].", False),
        ("82 in 2019 [1], 274 in 2025 [2].", "82 in 2019 [1], 274 in 2025 [2].", False),
    ],
)
def test_a_dispute_is_read_and_not_shown(reply, text, disputed):
    draft = reduce_context.parse(reply)
    assert (draft.text, draft.disputed) == (text, disputed)


def test_a_choice_is_reasoned_in_every_prompt_that_has_to_choose():
    """MIRAGE's baseline reasons step by step before it chooses (Xiong et al. 2024); so do all arms here."""
    wanted = fences.options(OPTIONS)
    assert "step by step, in a few sentences" in wanted
    for prompt in (
        answer_plain.render(question="?", sources=[], options=OPTIONS),
        reduce_context.render(question="?", extracts=[], options=OPTIONS),
        closed_book_prompt(Sample("q", "?", "yes/no", OPTIONS, "yes")),
    ):
        assert wanted in prompt[-1].text
    assert wanted not in map_context.render(question="?", sources=[], options=OPTIONS)[-1].text


@pytest.mark.parametrize(
    ("reply", "choice"),
    [
        ("It helps [1].\nCHOICE: A", "yes"),
        ("It helps [1].\n**Choice:** (B) no", "no"),
        ('Unclear [1].\nQUOTES\n[1] "x"\nCHOICE: maybe', "maybe"),
        ("Answer: C", "maybe"),
        ("yes", "yes"),
        ("B.", "no"),
        ("The final answer: the evidence says no", "no"),
        ("It could be yes or no [1].", None),
        ("CHOICE: Z", None),
    ],
)
def test_a_choice_is_read(reply, choice):
    assert parse_draft(reply, OPTIONS).choice == choice


def test_a_choice_line_is_not_part_of_the_text():
    assert parse_draft("It helps [1].\nCHOICE: A", OPTIONS).text == "It helps [1]."


@given(st.text(max_size=300))
def test_any_reply_is_read_without_an_error(reply):
    draft = parse_draft(reply, OPTIONS)
    assert draft.choice in [*OPTIONS, None]
    assert separate_marks(draft.text) == draft.text
    map_context.parse(reply)
    says("x", reply)
    match_option(reply, OPTIONS)


REPLY = 'It is 42 [7]. Others say 43 [2][7].\n\nSecond paragraph [3].\nQUOTES\n[7] "is 42"\n[2] "43"'
SHOWN = "It is 42 [1]. Others say 43 [2][1].\n\nSecond paragraph [3].\n"


@given(st.lists(st.integers(min_value=1, max_value=9), min_size=len(REPLY), max_size=len(REPLY)))
def test_streamed_text_hides_quotes_and_renumbers_however_it_is_cut(sizes):
    visible, out, at = VisibleText(), "", 0
    for size in sizes:
        out += visible.feed(REPLY[at : at + size])
        at += size
    out += visible.finish()
    assert out.rstrip() == SHOWN.rstrip()


@pytest.mark.parametrize("end", ["CHOICE: B", "DISPUTED: 41 / 42\n**CHOICE:** B", "**Disputed:** 41 / 42"])
def test_streamed_text_shows_no_line_for_the_parser(end):
    visible = VisibleText()
    shown = "".join(visible.feed(character) for character in f"It is 42 [3].\n{end}") + visible.finish()
    assert shown.rstrip() == "It is 42 [1]."


@pytest.mark.parametrize("reply", ["NOT IN THE PASSAGES", "<think>long thought</think>NOT IN THE PASSAGES"])
def test_streamed_text_shows_no_phrase_for_the_parser(reply):
    visible = VisibleText()
    assert "".join(visible.feed(character) for character in reply) + visible.finish() == ""


@given(st.lists(st.integers(min_value=1, max_value=9), min_size=60, max_size=60))
def test_streamed_text_begins_anew_behind_a_lone_thought(sizes):
    visible, out, at = VisibleText(), "", 0
    reply = "So [9] says 41. No.\n</think>\nIt is 42 [7] here [2]."
    for size in sizes:
        out += visible.feed(reply[at : at + size])
        at += size
    out += visible.finish()
    assert out.endswith("It is 42 [1] here [2].")
