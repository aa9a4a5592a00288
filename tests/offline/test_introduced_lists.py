"""Quotes that end in a colon, with what they introduce."""

from __future__ import annotations

import pytest

from preflight_rag.offline.introduced_lists import (
    ends_between_list_items,
    extend_to_list_items,
    find_items_in_next_passage,
)
from preflight_rag.state.reading import Source
from preflight_rag.text.quotes import plain

KEYS = "The program responds to these keys:"
ITEMS = "\n\n* F1 opens the menu\n* Space stops the list\n* Escape restarts the machine"
MANY = "".join(f"\n* F{number} does nothing" for number in range(1, 13))


def quote_of(text, question="Which key restarts the machine?"):
    return extend_to_list_items(question, KEYS, Source(1, "a", "Manual", f"First. {text}"))


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
    assert extend_to_list_items("Which key?", "The key is Escape.", source) == "The key is Escape."


def test_items_are_told_apart_in_running_text():
    assert plain(f"{KEYS}{ITEMS}") == f"{KEYS} • F1 opens the menu • Space stops the list • Escape restarts the machine"


@pytest.mark.parametrize(
    ("quote", "behind", "is_shown"),
    [
        ("Keys that change the date", "\n- up: the next day\n- left: the month before", True),  # no colon
        ("The keys of the calendar are as follows.", "\n\n1. up: the next day\n2. left: the month before", True),
        ("The calendar has several keys.", "\n- up: the next day\n- left: the month before", False),
        ("Next edition: May", "\n- up: the next day\n- left: the month before", False),
        ("Keys that change the date", "\n\n1. Summary\n\nThere are many keys, and all of them are blue.", False),
        ("Three keys of the calendar", "\n\n- up: the next day\n- left: the month before", True),
        ("Keys that change the date", "\n\n- up: the next day\n- left: the month before", False),  # may be a picture's
        ("Keys that change the date", "\nNo. 7 is the next day\nNo. 8 is the day before", False),
    ],
)
def test_a_line_above_a_list_introduces_it(quote, behind, is_shown):
    shown = extend_to_list_items(
        "Which key goes to the next day?", quote, Source(1, "a", "Manual", f"Calendar. {quote}{behind}")
    )
    assert shown == (f"{quote}{behind}" if is_shown else quote)


def test_a_list_ends_at_a_blank_line_above_text_that_is_no_item():
    items = f"{KEYS}\n1. F1 opens the menu\n\n   in colour\n\n2. Space stops the list"
    source = Source(1, "a", "Manual", f"{items}\n\nThe tap drips.\n\nWhich rooms have a machine that restarts?")
    assert extend_to_list_items("Which key restarts the machine?", KEYS, source) == items


def test_an_item_introduces_only_deeper_items():
    text = "- open the lid\n- turn the wheel\n  - to the left\n- close the lid"
    source = Source(1, "a", "Manual", text)
    assert extend_to_list_items("How do I open it?", "open the lid", source) == "open the lid"
    assert extend_to_list_items("How do I turn it?", "turn the wheel", source).startswith(
        "turn the wheel\n  - to the left"
    )


PARTS = "The screen has three parts:"
FIRST, SECOND = "The map shows the cave. It is grey where you were.", "The box tells what happens."


def test_counted_parts_may_be_paragraphs():
    source = Source(1, "a", "Manual", f"{PARTS}\n{FIRST}\n{SECOND}\nStats\nArea")
    assert extend_to_list_items("What are the parts?", PARTS, source) == f"{PARTS}\n{FIRST}\n{SECOND}"


def test_a_long_paragraph_behind_a_colon_is_cut_between_sentences():
    said = "The bell rings at every full hour of the day. " * 20
    shown = extend_to_list_items("What happens?", "So it is:", Source(1, "a", "Manual", f"So it is:\n{said}"))
    assert shown.endswith("of the day.")
    assert 300 < len(shown) <= 500


@pytest.mark.parametrize(("start", "document", "is_next"), [(60, "m", True), (200, "m", False), (60, "other", False)])
def test_items_at_the_beginning_of_the_next_passage(start, document, is_next):
    before = f"Open the cave and look.        {PARTS}"
    source = Source(1, "a", "Manual", before, document_id="m")
    other = Source(4, "b", "Manual", f"{FIRST}\n{SECOND}", document_id=document, start=start)
    found = find_items_in_next_passage("What are the parts?", PARTS, source, [other, source])
    assert found == ((4, f"{FIRST}\n{SECOND}") if is_next else None)


def test_a_quote_inside_a_passage_goes_on_in_it():
    source = Source(1, "a", "Manual", f"{PARTS} {FIRST}", document_id="m")
    other = Source(2, "b", "Manual", SECOND, document_id="m", start=len(source.text) + 1)
    assert find_items_in_next_passage("What are the parts?", PARTS, source, [source, other]) is None


def test_a_list_that_goes_on_is_cut():
    text = f"{KEYS}{MANY}\n"
    assert ends_between_list_items(text[: text.index("\n* F9")], text)
    assert not ends_between_list_items(text.strip(), text)
    assert not ends_between_list_items(KEYS, text)
    assert not ends_between_list_items("Escape\n* F1 does nothing", text)  # not in the text
