"""The scripted model speaks the product's prompt formats: what it replies to each prompt is parsed."""

import pytest
import scripted_model

from preflight_rag.prompts import (
    answer_group,
    answer_plain,
    condense,
    converse,
    map_context,
    reduce_context,
    relate_contexts,
    rewrite,
    summarize,
)
from preflight_rag.state.reading import Extract, Message, Source

SOURCES = [
    Source(1, "p1", "Broken Bow, Oklahoma", "4,228 people live in Broken Bow."),
    Source(2, "p2", "Broken Bow, Nebraska", "3,506 people live in Broken Bow."),
    Source(3, "p3", "Broken Bow", "Broken Bow has a park."),
]
QUESTION = "How many people live in Broken Bow?"
SAID = "4,228 people live in Broken Bow"


def reply(messages):
    roles = {"system": "system", "human": "user"}
    return scripted_model.reply(
        {"messages": [{"role": roles[message.type], "content": message.content} for message in messages]}
    )


def test_every_relation_asked_for_is_parsed_with_a_note_of_each_context():
    parsed = relate_contexts.parse(reply(relate_contexts.render(question=QUESTION, contexts=SOURCES)), len(SOURCES))
    assert parsed.kinds == {2: "duplicated", 3: "duplicated"}
    assert {n: note.answer for n, note in parsed.notes.items()} == dict.fromkeys((1, 2, 3), "something")


def test_a_question_in_the_plural_is_parsed():
    assert answer_group.parse_plural(reply(answer_group.render_plural(question=QUESTION))) == QUESTION


def test_a_rewrite_is_parsed():
    parsed = rewrite.parse(reply(rewrite.render(message=QUESTION, history=[Message("user", "Hello.")])))
    assert parsed is not None
    assert parsed.question == QUESTION


@pytest.mark.parametrize(
    ("prompt", "parse"),
    [
        (answer_plain.render(question=QUESTION, sources=SOURCES), answer_plain.parse),
        (answer_group.render(question=QUESTION, sources=SOURCES), answer_group.parse),
        (summarize.render(title="Towns", sections=[SOURCES]), summarize.parse),
    ],
    ids=["answer_plain", "answer_group", "summarize"],
)
def test_an_answer_is_parsed_with_its_quote(prompt, parse):
    draft = parse(reply(prompt))
    assert (draft.text, draft.quotes, draft.found) == (f"{SAID} [1].", ((1, SAID),), True)


def test_an_option_is_parsed():
    options = ["4,228", "3,506"]
    prompt = answer_plain.render(question=QUESTION, sources=SOURCES, options=options)
    assert answer_plain.parse(reply(prompt), options).choice == "4,228"


def test_an_extract_and_what_is_made_of_extracts_are_parsed():
    extract = map_context.parse(reply(map_context.render(question=QUESTION, sources=SOURCES)))
    assert (extract.text, extract.quotes) == (f"{SAID} [1].", ((1, SAID),))
    prompt = reduce_context.render(question=QUESTION, extracts=[extract, Extract("Broken Bow has a park [3].")])
    assert reduce_context.parse(reply(prompt)).text == f"{SAID} [1]."


def test_a_reply_to_talk_and_a_summary_of_it_are_parsed():
    history = [Message("user", QUESTION), Message("assistant", "4,228 [1].")]
    assert converse.parse(reply(converse.render(message="Thanks!", history=history, sources=SOURCES))).text
    assert condense.parse(reply(condense.render(summary="", messages=history)))
