"""Answers as JSON of a schema: what they stand for, what the schema rules out, and how they stream."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import ValidationError, validate

from preflight_rag.prompts import answer_group, answer_json, answer_plain
from preflight_rag.prompts.answer_json import StreamedStatements
from preflight_rag.prompts.replies import before_cut_quotes
from preflight_rag.state.reading import Source

SOURCES = [
    Source(2, "a", "Venus", "Venus is the hottest planet. Its surface has 464 °C."),
    Source(5, "b", "Mercury", 'Mercury is nearest to the Sun. It is called "the swift planet".'),
]
REPLY = {
    "statements": [
        {"statement": "Venus is the hottest planet.", "passages": [2]},
        {"statement": 'Mercury, "the swift planet", is nearer', "passages": [5, 2]},
    ],
    "quotes": [{"passage": 2, "quote": "Its surface has 464 °C."}],
}
TEXT = """\
Venus is the hottest planet [2]. Mercury, "the swift planet", is nearer [5][2].
QUOTES
[2] "Its surface has 464 °C.\""""


def test_a_reply_means_what_its_text_form_means():
    validate(REPLY, answer_json.schema(SOURCES))
    assert answer_plain.parse(json.dumps(REPLY)) == answer_plain.parse(TEXT)


def test_a_group_has_a_line_for_each_statement():
    draft = answer_group.parse(json.dumps(REPLY))
    assert draft.text.splitlines() == TEXT.splitlines()[0].replace(". M", ".\nM").splitlines()


@pytest.mark.parametrize(
    ("number", "quote"),
    [(5, "Its surface has 464 °C."), (3, "Its surface has 464 °C."), (2, "Its surface has 464"), (2, "")],
)
def test_a_quote_of_another_passage_or_of_none_is_no_reply_of_the_schema(number, quote):
    wrong = {**REPLY, "quotes": [{"passage": number, "quote": quote}]}
    with pytest.raises(ValidationError):
        validate(wrong, answer_json.schema(SOURCES))


@pytest.mark.parametrize("passages", [[], [3], ["2"]])
def test_a_statement_cites_passages_that_there_are(passages):
    wrong = {**REPLY, "statements": [{"statement": "Venus is hot", "passages": passages}]}
    with pytest.raises(ValidationError):
        validate(wrong, answer_json.schema(SOURCES))


def test_of_many_sentences_a_quote_is_any_text_of_a_passage_that_there_is():
    many = [Source(n, str(n), "", " ".join(f"Line {n} has the number {k}." for k in range(60))) for n in (1, 2, 3, 4)]
    quotes = answer_json.schema(many)["properties"]["quotes"]["items"]["properties"]
    assert quotes == {"passage": {"type": "integer", "enum": [1, 2, 3, 4]}, "quote": {"type": "string"}}


def test_no_statements_say_that_nothing_was_found():
    assert not answer_plain.parse('{"statements": [], "quotes": []}').found


@pytest.mark.parametrize("made_up", ["Venus is hottest [7]", "Venus is hottest [7]."])
def test_a_mark_within_a_statement_does_not_count(made_up):
    reply = {"statements": [{"statement": made_up, "passages": [2]}], "quotes": []}
    assert answer_plain.parse(json.dumps(reply)).text == "Venus is hottest [2]."


def test_of_a_reply_that_was_cut_off_what_is_whole_counts():
    text = json.dumps(REPLY)
    in_statements = text[: text.index(" planet\\")]
    assert answer_plain.parse(in_statements).text == 'Venus is the hottest planet [2]. Mercury, "the swift'
    between = text[: text.index('"statement": "Merc')]
    assert answer_plain.parse(between).text == "Venus is the hottest planet [2]."
    assert before_cut_quotes(in_statements) is None
    in_quotes = text[: text.index("464")]
    assert before_cut_quotes(in_quotes).splitlines()[0] == TEXT.splitlines()[0]


@pytest.mark.parametrize("size", [1, 2, 7, 1000])
@pytest.mark.parametrize("indent", [None, 2])
def test_statements_stream_with_their_marks_and_without_quotes(size, indent):
    text, stream = json.dumps(REPLY, indent=indent, ensure_ascii=size == 7), StreamedStatements()
    pieces = [stream.feed(text[at : at + size]) for at in range(0, len(text), size)]
    shown = "".join(pieces) + stream.finish()
    assert shown.replace(" [", "[") == TEXT.splitlines()[0].replace(" [", "[")


@given(st.text(st.characters(exclude_categories=["Cs"])), st.booleans())
def test_whatever_a_statement_holds_is_shown_as_it_is(text, ascii_alone):
    stream = StreamedStatements()
    reply = {"statements": [{"statement": f"A{text}Z", "passages": [1]}], "quotes": []}
    shown = "".join(map(stream.feed, json.dumps(reply, ensure_ascii=ascii_alone)))
    assert shown == f"A{text}Z [1]."


@given(st.text())
def test_any_other_reply_streams_as_it_is(text):
    reply, stream = f"Venus {text}", StreamedStatements()
    assert "".join(map(stream.feed, reply)) + stream.finish() == reply


@pytest.mark.parametrize("end", ["", "\\", "\\u", "\\u00", "\\ud83d"])
def test_a_statement_that_was_cut_off_is_kept_whatever_it_ends_with(end):
    begun = answer_plain.parse('{"statements": [{"statement": "Venus is hot' + end).text
    assert begun.startswith("Venus is hot")
    assert "u" not in begun.removeprefix("Venus is hot")
