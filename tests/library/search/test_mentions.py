"""Phrases in documents, counted: whole words, in the singular and the plural, in any case."""

from __future__ import annotations

import pytest

from preflight_rag.library.search.mentions import find_mentions, like_of, phrase_pattern


@pytest.mark.parametrize(
    ("phrase", "text", "found"),
    [
        ("ketamine", "Ketamine was given.", True),
        ("blood clots", "a blood clot", True),
        ("blood clot", "Blood-clots form", True),
        ("therapy", "two therapies", True),
        ("studies", "one study", True),
        ("cat", "category", False),
        ("cat", "cats", False),
        ("gene", "genetic", False),
        ("IL-6", "il 6 rose", True),
        ("COVID-19", "COVID-191", False),
        ("diagnosis", "the diagnosis of", True),
        ("青霉素", "发现了青霉素的人", True),
        ("Köln", "in KÖLN am Rhein", True),
    ],
)
def test_phrase(phrase: str, text: str, found: bool) -> None:
    assert bool(phrase_pattern(phrase).search(text)) is found


def test_documents_by_text_and_title() -> None:
    rows = [("p1", "a", "A cat."), ("p2", "a", "Two cat toys, a cat."), ("p3", "b", "Dogs.")]
    mentions = find_mentions("cat", lambda _: rows, [("a", "Pets"), ("b", "Cat and dog"), ("c", "Birds")])
    assert set(mentions) == {"a", "b"}
    assert (mentions["a"].passage_id, mentions["a"].passages) == ("p1", 2)
    assert "A cat."[mentions["a"].start : mentions["a"].end] == "cat"
    assert mentions["b"].passage_id == ""


@pytest.mark.parametrize("phrase", ["blood clots", "therapy", "studies", "IL-6", "Köln", "青霉素"])
def test_what_is_looked_for_first_leaves_nothing_out(phrase: str) -> None:
    import sqlite3

    database = sqlite3.connect(":memory:")
    for text in ("Blood clot", "Therapies", "the study", "IL6 and IL-6", "KÖLN", "发现了青霉素的人"):
        if phrase_pattern(phrase).search(text):
            like = like_of(phrase)
            assert not like or database.execute("SELECT ? LIKE ?", (text, like)).fetchone()[0]
    database.close()
