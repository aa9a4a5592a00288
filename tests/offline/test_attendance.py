"""Lines of minutes on who was there."""

import pytest

from preflight_rag.offline.attendance import find_attendance_lines
from preflight_rag.state.reading import Source

MARCH = Source(
    1,
    "a",
    "Minutes of the trustees, 18 March 2025",
    "Present: Ann Bell (Chair), Tom Ray. In attendance: Dr Eva Lund. Apologies: Per Holm, Ida Roy.\n1. Accounts\nFine.",
)
JANUARY = Source(
    2,
    "b",
    "Minutes of the trustees",
    "Held on 21 January 2025\n\nPresent: Ann Bell\n\nApologies: Tom Ray\n\nTea was served.",
)


def test_the_next_meeting_is_another_one():
    text = "Present: Ann Bell\nApologies: Tom Ray\n" + "We spoke of the roof and of the yard.\n" * 9
    february = Source(1, "a", "Minutes 2024-02-13", f"{text}Next meeting: 12 March 2024")
    assert find_attendance_lines("Who was absent from the meeting in March 2024?", [february]) == []
    assert find_attendance_lines("Who was absent from the meeting in February 2024?", [february]) == [
        (1, "Apologies: Tom Ray")
    ]
    assert find_attendance_lines("Who was absent from the meeting on 20 February 2024?", [february]) == []


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Who was absent from the trustees' meeting in March 2025?", [(1, "Apologies: Per Holm, Ida Roy")]),
        ("Who couldn't attend the meeting in January?", [(2, "Apologies: Tom Ray")]),
        ("Who sent apologies for the board meeting?", [(1, "Apologies: Per Holm, Ida Roy"), (2, "Apologies: Tom Ray")]),
        ("Who was at the meeting in January?", [(2, "Present: Ann Bell")]),
        (
            "Who attended the meeting in March?",
            [(1, "Present: Ann Bell (Chair), Tom Ray"), (1, "In attendance: Dr Eva Lund")],
        ),
        ("Who was absent from the meeting in July?", []),
        ("Who chaired the meeting in March?", []),
        ("Who was absent from school?", []),
    ],
)
def test_who_was_there_is_in_the_lines_of_that_meeting(question, expected):
    assert find_attendance_lines(question, [MARCH, JANUARY]) == expected
