"""Statements that a later letter or notice changes."""

import pytest

from preflight_rag.offline.later_changes import find_later_change
from preflight_rag.state.reading import Source

TRIP = "On Thursday 26 November class 5 goes to the Roman fort."
COACH = "The coach leaves the school gate at 8:40 sharp."
PRICE = "The trip costs £14.50 a child."
MOVED = "The coach company has let us down, so the trip has to move to Thursday 3 December."
EARLIER = "Everything else stays the same, except that we leave ten minutes earlier, at 8:30."
FIRST = Source(1, "a", "Year 5 trip to the Roman fort", f"{TRIP} {COACH} {PRICE}", date="2026-11-02", document_id="a")
REPLY = f"{MOVED} {EARLIER}\n\nAda Orr wrote: {TRIP}"
SECOND = Source(2, "b", "Re: Year 5 trip to the Roman fort - NEW DATE", REPLY, date="2026-11-13", document_id="b")


@pytest.mark.parametrize(
    ("question", "quote", "change"),
    [
        ("What date is the trip to the Roman fort?", TRIP, MOVED),
        ("What time does the coach leave?", COACH, EARLIER),
        ("On which day does class 5 go to the fort?", TRIP, MOVED),
        ("What does the trip cost?", PRICE, None),
        ("How many children go on the trip?", "Thirty children go on the trip.", MOVED),
    ],
)
def test_the_later_mail_changes_what_it_speaks_of(question, quote, change):
    assert find_later_change(question, FIRST, quote, [FIRST, SECOND]) == (change and (2, change))


def test_a_mails_own_words_are_later_than_what_it_quotes():
    assert find_later_change("When is the trip?", SECOND, f"Ada Orr wrote: {TRIP}", [SECOND]) == (2, MOVED)


PLUMBER = """Date: 2025-07-10
The plumber comes on Tuesday 15 July at 8 am.

Sunita Rao wrote: The plumber can come on Friday 11 July."""


def test_a_mails_own_words_need_not_say_that_they_are_newer():
    mail = Source(1, "a", "Re: Leak", PLUMBER, date="2025-07-10", document_id="a")
    quoted, own = PLUMBER.split("\n")[3], PLUMBER.split("\n")[1]
    assert find_later_change("When is the plumber coming?", mail, quoted, [mail]) == (1, own)
    assert find_later_change("When does the meeting begin?", mail, quoted, [mail]) is None
    assert find_later_change("Who is coming?", mail, quoted, [mail]) is None


def test_a_price_is_no_other_day():
    head, price = "Date: 2025-09-22", "A new boiler and its repair: 8,900 pounds."
    text = f"{head}\n\n{price}\n\nBea Orr wrote: The boiler repair is on Friday."
    mail = Source(1, "a", "Re: Boiler", text, date="2025-09-22", document_id="a")
    assert find_later_change("When is the boiler repair?", mail, text.split("\n")[-1], [mail]) is None


def test_an_earlier_mail_changes_nothing():
    assert find_later_change("What date is the trip to the Roman fort?", SECOND, MOVED, [FIRST, SECOND]) is None


def test_a_later_letter_about_something_else_changes_nothing():
    other = Source(
        2, "b", "Football", "The match has been moved to Friday 4 December.", date="2026-12-01", document_id="b"
    )
    assert find_later_change("What date is the trip to the Roman fort?", FIRST, TRIP, [FIRST, other]) is None


def test_a_later_notice_that_names_the_earlier_one_changes_it():
    text = "Year 5 trip to the Roman fort: the trip is postponed until 14 January."
    notice = Source(2, "b", "Newsletter", text, date="2026-11-20", document_id="b")
    found = find_later_change("What date is the trip to the Roman fort?", FIRST, TRIP, [FIRST, notice])
    assert found == (2, text)


def test_documents_that_are_numbered_are_no_thread():
    first = Source(1, "a", "18", "Beijing had other names.", date="2014-05-14", document_id="a")
    later = Source(2, "b", "187", "In Beijing the measures are now in force.", date="2020-02-11", document_id="b")
    assert find_later_change("What was Beijing called?", first, "Beijing had other names.", [first, later]) is None


def test_a_document_whose_title_only_begins_alike_is_no_reply():
    first = Source(1, "a", "Choir", "Mr Alder leads the choir.", date="2026-01-05", document_id="a")
    text = "There is a new time for lunch before the choir sings: 12:30."
    later = Source(2, "b", "Choir of the prison", text, date="2026-03-01", document_id="b")
    assert find_later_change("Who leads the choir?", first, "Mr Alder leads the choir.", [first, later]) is None


def test_a_new_price_of_something_else_in_the_thread_changes_nothing():
    first = Source(1, "a", "Fair", "Tickets cost £4.", date="2026-01-05", document_id="a")
    later = Source(2, "b", "Re: Fair", "Posters have a new price of £2.", date="2026-01-09", document_id="b")
    assert find_later_change("What do tickets cost?", first, "Tickets cost £4.", [first, later]) is None


def test_a_change_of_something_else_in_the_same_mail_changes_nothing():
    text = "The kiln is now at the school.\n\nAda Orr wrote: Bo cannot fire the kiln for the guild, his back is bad."
    mail = Source(1, "a", "Re: Kiln", text, document_id="a")
    quote = "Ada Orr wrote: Bo cannot fire the kiln for the guild, his back is bad."
    assert find_later_change("Who can fire the kiln for the guild?", mail, quote, [mail]) is None
    assert find_later_change("What is with the kiln?", mail, quote, [mail]) == (1, "The kiln is now at the school.")
