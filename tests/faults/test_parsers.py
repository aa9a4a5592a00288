"""Random texts through everything that reads what people, models and servers write: a result, or one clear line."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from fault_counts import examples
from hostile_markup import active
from hypothesis import example, given
from hypothesis import strategies as st

from preflight_rag.conversation import follow_ups, intents, lookups, named_places
from preflight_rag.corg import choices, entities
from preflight_rag.ingest.loaders import load
from preflight_rag.library.index.lexical import LexicalIndex, write_lexical
from preflight_rag.library.search.filters import Filter
from preflight_rag.prompts import (
    answer_group,
    answer_plain,
    condense,
    fences,
    map_context,
    relate_contexts,
    replies,
    rewrite,
    suggest_questions,
    summarize,
)
from preflight_rag.prompts.visible import VisibleText
from preflight_rag.pubmed import client
from preflight_rag.pubmed import replies as ncbi
from preflight_rag.server import markdown
from preflight_rag.state.errors import DocumentError, PreflightError
from preflight_rag.state.reading import Source
from preflight_rag.state.values import Choice, Document, Passage
from preflight_rag.text import (
    boolean,
    citations,
    concepts,
    dates,
    document_dates,
    names,
    plural,
    quotes,
    sentences,
    tables,
    values,
    words,
)
from preflight_rag.text.inert import InertText, inert

pytestmark = pytest.mark.slow

PIECES = (
    *"aZé東 \t\n\r\0\x1b\x07\x85\u2028\u202e\u200b\ufeff\ufffd\U0001f600",
    *"\"'“”„«»‘’()[]{}<>|\\/*_`~^$%&#@!?.,:;+-=–—…•0123456789",
    *("AND", "OR", "NOT", " AND ", " OR (", ' NOT "', "[tiab]", "[MeSH Terms]", '"[', ']"', "*[", "((", "))"),
    *(
        "year>=2020",
        "date = ",
        " in (",
        "in (a, 'b', \"c\")",
        "!author",
        " || ",
        "~ x",
        "2021-03-12",
        "March",
        "1/2/2020",
    ),
    *(
        "[1]",
        "[2, 3]",
        "[1-99]",
        "[1990-2020]",
        "[999999999999]",
        "QUOTES:\n",
        '- [1] "It is hot"',
        "CHOICE: ",
        "ANSWER: ",
    ),
    *(
        "DISPUTED: ",
        "Context 1",
        "counterfactual",
        "Context 2: none",
        "NOT FOUND",
        "(A)",
        "B)",
        "yes",
        "no",
        "**",
        "```json\n",
    ),
    *(
        "```",
        "<think>",
        "</think>",
        "</passage>",
        '<passage n="1">',
        '{"',
        '": [',
        '{"relations": [',
        "null",
        "1e999",
        "NaN",
    ),
    *(
        "Venus is hot.",
        "It has 465 °C.",
        "The planet",
        "How many",
        "what about ",
        "who wrote ",
        "and in children?",
        "first",
    ),
    *(
        "| a | b |",
        "|---|---|",
        "http://x.y/?a=b#c",
        "javascript:alert(1)",
        "&lt;",
        "%00",
        "\u0130",
        "ﬁ",
        "e\u0301",
        "١٢٣",
    ),
)
RUNS = ("(", "[", "{", '"', "*", " ", "\n", "a", "1", "[1]", "AND ", "<", '{"a":', "[[", "-", "NOT (")
TEXT = "Venus is hot. It has 465 °C at its surface [1]. The “planet” rotates in 243 days – more slowly than Earth."
PASSAGES = {n: Passage(id=f"p{n}", document_id=f"d{n}", text=TEXT, title="Venus", source="s") for n in (1, 2)}
SOURCES = [Source(n, f"p{n}", "Venus", TEXT) for n in (1, 2)]
OPTIONS = ["yes", "no", "(maybe", "a*"]
HALVES = ("\ud800", "\udfff", "a\udc80")


DRAWN = st.lists(st.one_of(st.sampled_from(PIECES + HALVES), st.text(max_size=5)), max_size=25).map("".join)
LONG = st.builds(
    lambda before, run, count, behind: before + run * count + behind,
    st.sampled_from(PIECES),
    st.sampled_from(RUNS),
    st.integers(50, 3_000),
    st.sampled_from(PIECES),
)
TEXTS = st.sampled_from((DRAWN,) * 15 + (LONG,)).flatmap(lambda texts: texts)
"""Texts of pieces that parsers look for, or of many of one; with half characters, which requests can hold."""
CUTS = st.lists(st.integers(0, 3_000), max_size=6)


def cut(text: str, cuts: list[int]) -> list[str]:
    """A text in pieces."""
    places = sorted({0, len(text), *(place for place in cuts if place < len(text))})
    return [text[left:right] for left, right in pairwise(places)]


def read_filter(text: str) -> None:
    where = Filter.parse([text])
    if where is not None:
        where.fits({"title": TEXT, "date": "2021-03", "page": 3, "authors": ["A"], "source": "a/b.pdf", text: text})
        str(where)
        hash(where)


def read_expression(text: str) -> None:
    tree = boolean.parse(text)
    assert boolean.parse(boolean.written(tree)) == tree
    boolean.expand(text, lambda term: [boolean.SearchTerm(term.upper(), phrase=True)])
    boolean.quoted_phrases(text)


def read_quote(text: str) -> None:
    for found in (quotes.locate(text, TEXT), quotes.support(text, TEXT), quotes.locate("Venus is hot", text)):
        assert found is None or 0 <= found[0] < found[1]
    quotes.strongest(text, [TEXT, text])


def read_citations(text: str) -> None:
    separate = citations.separate_marks(text)
    citations.renumbered(separate)
    citations.claims(separate)
    citations.attributed(text, PASSAGES)
    for rank in (1, 2, 99):
        found = citations.find_citation(1, rank, separate, [(1, text), (2, "Venus is hot")], PASSAGES)
        if found.verified:
            assert found.quote == TEXT[found.start : found.end]


def read_sentences(text: str) -> None:
    spans = sentences.sentence_spans(text)
    assert all(0 <= start < end <= len(text) for start, end in spans)
    assert all(before[1] <= after[0] for before, after in pairwise(spans))


def read_draft(text: str) -> None:
    for draft in (replies.parse_draft(text), answer_plain.parse(text, OPTIONS), answer_group.parse(text)):
        assert all(quote for _, quote in draft.quotes)
        draft.text.encode()
    replies.split_answer(text, OPTIONS)
    replies.split_dispute(text)
    replies.before_cut_quotes(text)
    answer_group.parse_plural(text)
    map_context.parse(text, OPTIONS)
    summarize.parse(text)


def read_words(text: str) -> None:
    words.words(text)
    words.words_by_token(text)
    names.surface_names(text)
    names.subject_of(text)
    for kind in ("date", "number", "name"):
        values.values(text[:500], kind, "How hot is Venus?")
    values.figures_of(text[:500])
    dates.known_date(text)
    document_dates.find_date(text, title=text, url=text)
    tables.parse_row(text)
    plural.plural_question(text)


def read_message(text: str) -> None:
    intents.recognise_talk(text)
    intents.without_courtesy(text)
    lookups.recognise_lookup(text)
    lookups.lookup_after(text, "Which papers are about Venus?")
    follow_ups.standalone(text, ["How hot is Venus?", text])
    named_places.names_by_place(text)
    concepts.subquestions(text)
    found = concepts.key_concepts(text, terms={"Venus", text})
    for expression in concepts.expressions(found):
        boolean.parse(expression)


def read_choice(text: str) -> None:
    offered = [
        Choice(label="Venus (planet)", entity="Venus", descriptor="planet"),
        Choice(label=text, entity=text, descriptor=None),
    ]
    choices.chosen(text, offered)
    choices.chosen([text, 1], offered)
    entities.descriptor_of(text, "Venus (planet)", TEXT)
    entities.note_by_rule(text, SOURCES[0])


def read_ncbi(text: str) -> None:
    for body in (text.encode("utf-8", "surrogatepass"), b"<eSearchResult><Count>" + text.encode("utf-8", "replace")):
        for read in (lambda given: ncbi.read_search(given, text), ncbi.check_records, ncbi.error_in_json):
            try:
                read(body)
            except ncbi.PassingFailure as failure:  # what is tried once more, and then said
                is_one_line(str(failure))


def read_prompts(text: str) -> None:
    fences.material(text)
    fences.passages([Source(1, "p", text, text)])
    rewrite.parse(text)
    suggest_questions.parse(text)
    condense.parse(text)
    markdown.render(text)


def is_one_line(message: str) -> None:
    assert len(message.splitlines()) == 1, message


READERS: dict[str, Callable[[str], Any]] = {
    "filters": read_filter,
    "dates of filters": lambda text: Filter.parse([], since=text, until=text),
    "expressions": read_expression,
    "dates of E-utilities": lambda text: client.date_window(text, text),
    "replies of NCBI": read_ncbi,
    "retry-after": client.retry_after,
    "relations": lambda text: relate_contexts.parse(text, 4),
    "drafts": read_draft,
    "other replies": read_prompts,
    "citations": read_citations,
    "quotes": read_quote,
    "sentences": read_sentences,
    "words and values": read_words,
    "messages": read_message,
    "choices": read_choice,
}


@pytest.mark.parametrize("name", READERS)
@examples(200, 10_000)
@given(text=TEXTS)
def test_a_random_text_is_read_or_refused_in_one_line(name: str, text: str) -> None:
    try:
        READERS[name](text)
    except PreflightError as error:
        is_one_line(error.message)


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> LexicalIndex:
    folder = tmp_path_factory.mktemp("lexical")
    write_lexical(folder, [(0, "Venus", TEXT), (1, "Mercury", "Mercury is a planet."), (2, "", "Nothing at all.")])
    return LexicalIndex(folder)


@examples(300, 10_000)
@given(drawn=TEXTS)
def test_a_random_text_is_searched_for(index: LexicalIndex, drawn: str) -> None:
    text = words.encodable(drawn)  # as a question is, before it is searched for
    try:
        rows = [row for row, _ in index.search(text, 3)]
        assert set(rows) <= {0, 1, 2}
        assert len(set(rows)) == len(rows)
        hits, count = index.match(boolean.parse(text), 3)
        assert len(hits) <= count <= 3
    except PreflightError as error:
        is_one_line(error.message)
    except Exception:
        raise
    except BaseException as error:  # tantivy's panics are no Exceptions, and would end the run
        raise AssertionError("a panic") from error
    assert [row for row, _ in index.search("hot Venus", 1)] == [0]


@examples(300, 10_000)
@given(drawn=TEXTS, cuts=CUTS)
def test_what_is_shown_of_a_random_reply_does_not_depend_on_where_it_was_cut(drawn: str, cuts: list[int]) -> None:
    reply = drawn.replace("</think>", "")  # what stood before a lone end was shown already
    whole, parts = VisibleText(), VisibleText()
    expected = whole.feed(reply) + whole.finish()
    shown = "".join(map(parts.feed, cut(reply, cuts))) + parts.finish()
    assert shown == expected
    shown.encode()


MARKUP = (
    *(
        "![",
        "](",
        "]: ",
        "[a]",
        "[^1]",
        "<img src=",
        "<a href=",
        "<",
        "</",
        "<!--",
        "<?",
        "<svg/onload=",
        "<script>",
        ">",
    ),
    *(
        "http://canary.example/a.png",
        "https:",
        "//",
        "//canary.example/b",
        "www.canary.example",
        "ftp://x.y",
        "javascript:",
    ),
    *(
        "https:\\//",
        "data:text/html,",
        "mailto:a@b.c",
        "&#104;ttp://",
        "&lt;",
        "&colon;",
        "\\",
        "`",
        "``",
        "```",
        "~~~",
        "```mermaid\n",
    ),
    *(
        "\n",
        "\n\n",
        "    ",
        "\t",
        "> ",
        "- ",
        "1. ",
        "# ",
        "| a |",
        "|---|\n",
        "*",
        "_",
        "a",
        " ",
        "(",
        ")",
        "[",
        "]",
        "!",
        '"',
    ),
    *("\u200b", "\u202e", "\u2060", "\U000e0041", "\xa0", "é", "東"),
)


@examples(500, 10_000)
@given(text=st.lists(st.sampled_from(MARKUP), max_size=15).map("".join), cuts=CUTS)
@example(text="//canary.example/b&#104;ttp://http://canary.example/a.png`", cuts=[])
@example(text="https://![", cuts=[3, 8, 9])
@example(text="mailto:a@b.chttp://canary.example/a.png", cuts=[14, 17])
@example(text="_www.canary.example_", cuts=[1, 3])
@example(text=" ```a\n```mermaid\n<!--", cuts=[5])
@example(text="```ftp://x.y&colon;<", cuts=[9])
@example(text="`//canary.example/bhttps://[^1]", cuts=[])
@example(text="https:\\//> &lt;", cuts=[7])
def test_what_is_inert_loads_nothing_and_stays_as_it_is(text: str, cuts: list[int]) -> None:
    shown = inert(text)
    assert active(shown) == []
    assert inert(shown) == shown
    stream = InertText()
    assert "".join([*map(stream.feed, cut(text, cuts)), stream.finish()]) == shown


WORDS = st.text("abcdeéßﬁ東١١٢٣", min_size=1, max_size=8)
BETWEEN = st.sampled_from(
    (" ", "  ", "\n", "\t", ", ", ". ", " – ", "-", " “", "” ", "\u00ad", "\u200b ", " (", ") ", "’")
)
PASSAGE = st.lists(st.tuples(WORDS, BETWEEN), min_size=4, max_size=40).map(
    lambda pairs: "".join(word + between for word, between in pairs)
)


@examples(300, 10_000)
@given(text=PASSAGE, data=st.data())
def test_a_quote_that_counts_stands_in_its_passage_word_for_word(text: str, data: st.DataObject) -> None:
    """A stretch of whole words is found, however its white space was written; no word of the reply's own is shown."""
    spans = [(match.start(), match.end()) for match in re.finditer(r"[^\W_]+", text)]
    first = data.draw(st.integers(0, len(spans) - 1))
    last = data.draw(st.integers(first, len(spans) - 1))
    stretch = text[spans[first][0] : spans[last][1]]
    passages = {1: Passage(id="p", document_id="d", text=text, title="T", source="s")}
    spaced = re.sub(r"[ \t\n]+", data.draw(st.sampled_from((" ", "\n", "  "))), stretch)
    draft = "It is so [1]."
    for quote, is_there in ((stretch, True), (spaced, True), (f"{stretch} qqqzzz {stretch}", False)):
        found = citations.find_citation(1, 1, draft, [(1, quote)], passages)
        assert quotes.locate(quote, text) is not None or not is_there
        if found.verified:
            assert text[found.start : found.end] == found.quote
            assert "qqqzzz" not in found.quote


CELLS = st.text("ab é,;\"'=+-@0", min_size=1, max_size=12).map(str.strip).filter(lambda cell: re.search(r"\w", cell))


@examples(60, 3_000)
@given(
    rows=st.lists(st.lists(CELLS, min_size=2, max_size=2), min_size=2, max_size=6),
    ending=st.sampled_from((".csv", ".tsv")),
)
def test_every_cell_of_a_table_is_read(
    rows: list[list[str]], ending: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.getbasetemp() / f"table{ending}"
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, delimiter="\t" if ending == ".tsv" else ",").writerows([["first", "second"], *rows])
    read = "\n".join(f"{each.title}\n{each.text}" for each in load(path, max_bytes=1_000_000))
    for cell in (cell for row in rows for cell in row):
        assert " ".join(cell.split()) in " ".join(read.split())


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
RECORDS = st.lists(
    st.dictionaries(st.sampled_from(("id", "title", "text", "date", "authors", "source", "x")), VALUES), max_size=3
)


@examples(100, 5_000)
@given(
    text=TEXTS,
    records=RECORDS,
    ending=st.sampled_from((".txt", ".md", ".html", ".csv", ".json", ".jsonl", ".xml", ".nxml")),
)
def test_a_random_file_is_read_or_refused_in_one_line(
    text: str, records: list[dict[str, Any]], ending: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.getbasetemp() / f"random{ending}"
    made = json.dumps(records) if ending == ".json" else "\n".join(map(json.dumps, records))
    path.write_text(made if ending in (".json", ".jsonl") else text, encoding="utf-8", errors="surrogatepass")
    try:
        for item in load(path, max_bytes=1_000_000):
            if isinstance(item, Document):
                item.model_dump_json().encode()
            else:
                is_one_line(item.message)
    except DocumentError as error:
        is_one_line(error.message)
