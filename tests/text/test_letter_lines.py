"""Lines of mails and letters that state nothing about what they are on."""

import pytest

from preflight_rag.text.letter_lines import states_nothing

MAIL = """From: Ana Roth
To: Jan Brandt, Ola Lind
Date: 2026-03-04

The kiln is fired on Friday.

On Mon, 2 Mar 2026 at 10:02, Jan Brandt wrote:

Jan Brandt wrote: Which day is the kiln fired?"""
LETTER = """Larkhill Pottery
The Old Mill, Weir Street

Dr A. Roth
9 Quarry Lane

2 March 2026

Dear Dr Roth,

We fire the kiln on Friday. Please bring your pots.

Yours sincerely,

Jan Brandt

Kiln keeper"""


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("From: Ana Roth", MAIL),
        ("To: Jan Brandt, Ola Lind", MAIL),
        ("Date: 2026-03-04", MAIL),
        ("On Mon, 2 Mar 2026 at 10:02, Jan Brandt wrote:", MAIL),
        ("Larkhill Pottery", LETTER),
        ("The Old Mill, Weir Street", LETTER),
        ("Dr A. Roth", LETTER),
        ("2 March 2026", LETTER),
        ("Jan Brandt", LETTER),
        ("Kiln keeper", LETTER),
        ("Ana Roth (Mrs)", "We are sorry.\n\nAna Roth (Mrs)"),
    ],
)
@pytest.mark.parametrize(
    "question",
    ["When is the kiln fired?", "Why is Dr Roth cross with Jan Brandt?", "What was Ana Roth told about the kiln?"],
)
def test_lines_around_a_message_state_nothing_of_what_it_is_on(line, text, question):
    assert states_nothing(question, line, text)


@pytest.mark.parametrize(
    ("question", "line", "text"),
    [
        ("Who wrote to Ola Lind?", "From: Ana Roth", MAIL),
        ("To whom did Ana Roth write?", "To: Jan Brandt, Ola Lind", MAIL),
        ("When was the mail sent?", "Date: 2026-03-04", MAIL),
        ("When did Jan Brandt write the message?", "On Mon, 2 Mar 2026 at 10:02, Jan Brandt wrote:", MAIL),
        ("What is Dr Roth's address?", "9 Quarry Lane", LETTER),
        ("Where does Dr Roth live?", "9 Quarry Lane", LETTER),
        ("Who signed the letter?", "Jan Brandt", LETTER),
        ("Who is the kiln keeper?", "Kiln keeper", LETTER),
        ("When was the letter written?", "2 March 2026", LETTER),
    ],
)
def test_they_are_kept_where_they_are_asked_for(question, line, text):
    assert not states_nothing(question, line, text)


def test_who_wrote_a_report_is_not_who_wrote_a_mail():
    line = "On Mon, 2 Mar 2026 at 10:02, Jan Brandt wrote:"
    assert states_nothing("Who wrote the report?", line, MAIL)


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("The kiln is fired on Friday.", MAIL),
        ("Jan Brandt wrote: Which day is the kiln fired?", MAIL),
        ("Please bring your pots.", LETTER),
        ("Date: 10 May 2026", "Open day of the pottery\n\nDate: 10 May 2026\nPlace: Old Mill"),
        ("To: the left of the door", "Where things are\n\nTo: the left of the door\n\nA kiln."),
        ("Date: 3 May 2026", "Your ticket\nFrom: Oslo\nTo: Bergen\nDate: 3 May 2026"),
        ("Kiln: Jan Brandt", "Keys\n\nKiln: Jan Brandt\nShop: Dr A. Roth"),
        ("Dr Roth is ill.", "Dr Roth is ill."),
        ("Clay costs £9 a bag", "Dear all,\n\nCome.\n\nKind regards\nThe pottery\nClay costs £9 a bag"),
        ("Kiln day is now Friday", "Kiln day is now Friday\n\nDear all,\n\nCome."),
        ("Shelf B: Glazes", "Shelf B: Glazes\n\nDear all,\n\nCome."),
    ],
)
def test_what_states_something_stays(line, text):
    assert not states_nothing("When is the kiln fired?", line, text)


@pytest.mark.parametrize(
    ("line", "is_number"), [("5.1.", True), ("(12)", True), ("5.1. Powers", False), ("£40", False)]
)
def test_a_number_alone_states_nothing(line: str, is_number: bool) -> None:
    assert states_nothing("How long is the term?", line, f"Powers\n\n{line}\n\nThe term is a year.") == is_number
