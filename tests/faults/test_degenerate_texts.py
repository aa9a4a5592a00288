"""Long runs of anything, through what reads questions, documents, replies and files: twice as long takes twice as long.

The patterns alone are tried in `test_patterns.py`; here is the code around them.
"""

from __future__ import annotations

import gc
import time
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

import pytest
from fault_counts import times

from preflight_rag.conversation import follow_ups, intents, lookups, named_places, small_talk
from preflight_rag.corg import agreement, choices, comparability, entities
from preflight_rag.ingest.loaders import contents_lists, fields, html, layout, running_lines
from preflight_rag.ingest.loaders import text as text_loader
from preflight_rag.ingest.splitting.sentence_units import UnitReader
from preflight_rag.library.search import filters, mentions, summary
from preflight_rag.library.search.spelling import Speller
from preflight_rag.offline import tables as answers_of_tables
from preflight_rag.prompts import fences, relate_contexts, replies, rewrite
from preflight_rag.prompts.visible import VisibleText
from preflight_rag.server import client_tasks, markdown, threads
from preflight_rag.state.errors import PreflightError
from preflight_rag.state.reading import Source
from preflight_rag.state.values import Choice, Document, Passage
from preflight_rag.text import (
    boolean,
    citations,
    concepts,
    condense,
    dates,
    directions,
    document_dates,
    languages,
    names,
    plural,
    quotes,
    sentences,
    survival,
    tables,
    values,
    words,
)

pytestmark = pytest.mark.slow

LENGTH = 100_000
SECONDS, RATIO, FLOOR = 3.0, 3.0, 1.0
"""Processor time for `LENGTH` at most, and beside that for half of it, where it is more than the floor."""
PUMPS = {
    "one word": "a",
    "capitals": "A",
    "spaces": " ",
    "line ends": "\n",
    "blank lines": " \n",
    "words": "a ",
    "names": "Aa ",
    "joined names": "Aa-",
    "digits": "1",
    "figures": "1.",
    "numbers": "12 mg ",
    "years": "2021 ",
    "dates": "12 March 2021, ",
    "stars": "*",
    "hashes": "# ",
    "dots": ".",
    "commas": "a, ",
    "and": " and",
    "asking": "and what is ",
    "polite": " now",
    "pronouns": "it ",
    "opening brackets": "[",
    "closing brackets": "]",
    "parentheses": "(",
    "braces": '{"a":',
    "quotation marks": '"',
    "opening marks": "“",
    "apostrophes": "'s ",
    "citations": "[1] ",
    "wide citations": "[1-9] ",
    "tags": "<b>",
    "comments": "<!--",
    "bars": "| ",
    "rows": "| a | 1 |\n",
    "hyphens": "a-\n",
    "items": "- a\n",
    "sentences": "It is. ",
    "Boolean": "a AND ",
    "accents": "e\u0301",
    "letters of Chinese": "金",
    "file names": "a.pdf",
    "addresses": "http://a.b/c?",
    "footnotes": '[1] : "a: ',
    "backticks": "`",
}
TEXT = "Venus is hot. It has 465 °C. The planet rotates in 243 days."
PASSAGE = Passage(id="p", document_id="d", text=TEXT, title="Venus", source="s")
CHOICES = [Choice(label="Venus (planet)", entity="Venus", descriptor="planet")]


def both(read: Callable[[str], Any], *others: Callable[[str], Any]) -> Callable[[str], None]:
    def all_of_them(given: str) -> None:
        for each in (read, *others):
            with suppress(PreflightError):  # refused in one line, which test_parsers.py looks at
                each(given)

    return all_of_them


def shown(given: str) -> None:
    visible = VisibleText()
    for at in range(0, len(given), 50):
        visible.feed(given[at : at + 50])
    visible.finish()


def document(given: str) -> Document:
    return Document(id="d", text=given or "a", source="s", title=given[:200])


class Tokens:
    """An embedder's counter of tokens: four letters each."""

    def count_tokens(self, text: str) -> int:
        return len(text) // 4

    def token_offsets(self, text: str) -> list[tuple[int, int]]:
        return [(at, min(at + 4, len(text))) for at in range(0, len(text), 4)]


class Vocabulary:
    """A library's words: it knows none."""

    passages = 100

    def unknown(self, words: Iterable[str]) -> list[str]:
        return list(words)

    def similar(self, word: str, distance: int) -> list[Any]:
        return []


READERS: dict[str, Callable[[str], Any]] = {
    "words": both(words.words, words.words_by_token, words.on_one_line, names.tokens),
    "sentences": sentences.sentence_spans,
    "names": both(names.surface_name, names.surface_names, names.subject_of, names.proper_terms),
    "concepts": both(concepts.key_concepts, concepts.subquestions, concepts.rewrite_by_rules),
    "plural": plural.plural_question,
    "dates": both(dates.known_date, lambda given: document_dates.find_date(given, title=given, url=given)),
    "values": both(
        *(lambda given, kind=kind: values.values(given, kind, "How hot?") for kind in ("date", "number", "name"))
    ),
    "figures": both(values.figures_of, lambda given: values.excerpt(given, "number", "How hot?", 20)),
    "expressions": both(boolean.parse, lambda given: boolean.expand(given, lambda term: [])),
    "citations": both(
        citations.claims,
        citations.separate_marks,
        citations.without_marks,
        citations.renumbered,
        lambda given: citations.attributed(given, {1: PASSAGE}),
        lambda given: citations.find_citation(1, 1, given, [(1, given)], {1: PASSAGE}),
    ),
    "quotes": both(
        lambda given: quotes.locate(given, TEXT),
        lambda given: quotes.locate("Venus is very hot", given),
        lambda given: quotes.support("Venus is hot", given),
        lambda given: quotes.strongest(given, [TEXT]),
    ),
    "tables": both(tables.parse_row, tables.short_caption, tables.is_figure),
    "languages": both(languages.language_of, directions.direction_of, lambda given: condense.beginning(given, 100)),
    "rewritten questions": both(
        lambda given: survival.lost(given, TEXT), lambda given: survival.corrections(given, TEXT)
    ),
    "talk": both(intents.recognise_talk, intents.without_courtesy, intents.numbers_in, small_talk.short_source),
    "follow-ups": both(
        lambda given: follow_ups.standalone(given, ["How hot is Venus?"]),
        lambda given: follow_ups.standalone("And Mercury?", [given]),
        named_places.names_by_place,
    ),
    "lookups": both(lookups.recognise_lookup, lambda given: lookups.lookup_after(given, "Which papers are about it?")),
    "entities": both(
        lambda given: entities.note_by_rule("How hot is Venus?", Source(1, "p", given[:300], given)),
        lambda given: entities.note_by_rule(given, Source(1, "p", "Venus", TEXT)),
        lambda given: entities.descriptor_of(given[:200], "Venus", given),
        lambda given: entities.answer_by_rule("How hot is Venus?", given),
    ),
    "choices": both(lambda given: choices.chosen(given, CHOICES), lambda given: agreement.same_answer(given, "hot")),
    "comparisons": both(comparability.direction, comparability.is_short),
    "filters": both(
        lambda given: filters.Filter.parse([given]), lambda given: filters.Filter.parse([f"a in ({given})"])
    ),
    "mentions": lambda given: mentions.phrase_pattern("Venus rules").search(given),
    "summaries": both(
        lambda given: summary.of_document(document(given), lambda text: len(text) // 4),
        lambda given: summary.can_stand(given),
    ),
    "replies": both(
        replies.parse_draft, rewrite.parse, lambda given: relate_contexts.parse(given, 4), replies.before_cut_quotes
    ),
    "prompts": both(fences.material, lambda given: fences.passages([Source(1, "p", given, given)])),
    "shown text": shown,
    "pages": both(markdown.render, threads.strip_footnotes, threads.one_line),
    "tasks of clients": lambda given: client_tasks.task_of([("user", given)]),
    "tidying": both(fields.tidy, fields.one_line, fields.people, fields.iso_date, fields.title_like),
    "layout": lambda given: layout.paragraphs(given.split("\n"), Counter()),
    "running lines": lambda given: running_lines.without_running_lines([given.split("\n")[:2_000]] * 4),
    "titles above pages": lambda given: running_lines.without_titles([given.split("\n")[:2_000]] * 4),
    "tables of contents": lambda given: contents_lists.contents_lines([given.split("\n")[:2_000]] * 4),
    "HTML": html.readable_text,
    "Markdown": lambda given: text_loader._prose(given),
    "answers of tables": lambda given: answers_of_tables.table_answer("How hot is it?", [Source(1, "p", "", given)]),
    "splitting": lambda given: list(UnitReader(Tokens(), 200).units(given, (), frozenset())),
    "spelling": lambda given: Speller(Vocabulary()).suspects(given),
}


@pytest.mark.parametrize("reader", READERS)
def test_twice_as_long_takes_twice_as_long(reader: str) -> None:
    pumps = list(PUMPS.items())
    first = list(READERS).index(reader) % times(5, 1)  # every fifth for each in the short run
    for name, pump in pumps[first :: times(5, 1)]:
        for end in ("", "x?")[: times(1, 2)]:
            slow = spent(reader, pump, end, LENGTH)
            assert slow < SECONDS, (name, end)
            if slow > FLOOR:
                half = min(spent(reader, pump, end, LENGTH // 2) for _ in range(2))
                assert slow < RATIO * half or spent(reader, pump, end, LENGTH) < RATIO * half, (name, end, half, slow)


def spent(reader: str, pump: str, end: str, length: int) -> float:
    given = "x" + pump * (length // len(pump)) + end
    gc.disable()  # its pauses are as long as what is measured
    try:
        began = time.thread_time()
        READERS[reader](given)
        return time.thread_time() - began
    finally:
        gc.enable()
