"""Quotes that end in a colon, with what they introduce."""

from __future__ import annotations

import pytest

from preflight_rag.offline.introduced_lists import with_items
from preflight_rag.state.reading import Source
from preflight_rag.text.quotes import plain

KEYS = "The program responds to these keys:"
ITEMS = "\n\n* F1 opens the menu\n* Space stops the list\n* Escape restarts the machine"
MANY = "".join(f"\n* F{number} does nothing" for number in range(1, 13))


def quote_of(text, question="Which key restarts the machine?"):
    return with_items(question, KEYS, Source(1, "a", "Manual", f"First. {text}"))


@pytest.mark.parametrize(
    ("behind", "shown"),
    [
        (f"{ITEMS}\n\n# Licence\n\nFree.", ITEMS),
        (f"{MANY}\n* Escape restarts it\n* End does nothing", f"{MANY}\n* Escape restarts it"),
        ("\n\nrestart = key(27)\nThe rest is silence.", "\n\nrestart = key(27)"),  # no list
        ("\n\n# Licence\n\nFree.", ""),
        (f"\n* F1 opens the menu\n* F2 {'prints very much ' * 40}", "\n* F1 opens the menu"),  # whole lines only
        ("", ""),
    ],
)
def test_the_items_up_to_the_one_that_answers_are_shown(behind, shown):
    assert quote_of(f"{KEYS}{behind}") == f"{KEYS}{shown}"


def test_a_quote_that_introduces_nothing_stays_alone():
    source = Source(1, "a", "Manual", "The key is Escape.\n* F1 opens the menu")
    assert with_items("Which key?", "The key is Escape.", source) == "The key is Escape."


def test_items_are_told_apart_in_running_text():
    assert plain(f"{KEYS}{ITEMS}") == f"{KEYS} • F1 opens the menu • Space stops the list • Escape restarts the machine"
