"""What of a question is meant letter by letter."""

from __future__ import annotations

import pytest

from preflight_rag.text.exact import count_held, exact_strings, holds, is_definite


@pytest.mark.parametrize(
    ("question", "strings"),
    [
        ("What is the price of GX-2290?", ("GX-2290",)),
        ("error E1043", ("E1043",)),
        ("price of gx2290", ("gx2290",)),
        ("What changed in 2.4.1 and v3.2?", ("2.4.1", "v3.2")),
        ("Who reads keys@harbour.example.org?", ("keys@harbour.example.org",)),
        ("Which paper is 10.1038/s41586-020-2649-2?", ("10.1038/s41586-020-2649-2",)),
        ("What happened to job 9871 and ticket #12?", ("9871", "12")),
        ("9871", ("9871",)),
        ("What does clause 4.2 say?", ("§ 4.2",)),
        ("What is in §12.1.3 of the lease?", ("§ 12.1.3",)),
        ("Did section 2.2% grow?", ()),
        ("When is ERR_BUS_PARITY raised?", ("ERR_BUS_PARITY",)),
        ("Where does 192.168.40.7 stand?", ("192.168.40.7",)),
        ("What are ADCY5-related disorders?", ("ADCY5",)),
        ("GX-2290's price", ("GX-2290",)),
        ("Does 10mg of aspirin help in the 21st century?", ()),
        ("What was the revenue of FY2018 in the 10-K of 2019?", ()),
        ("How many people took omega-3 for 12-month periods?", ()),
        ("What does report-south.md say on 200 jobs of 1998?", ()),
        ("Which events 2008 saw?", ()),
        ("What is the covid-19 vaccine of the 1990s?", ()),
    ],
)
def test_strings_of_a_question(question: str, strings: tuple[str, ...]) -> None:
    assert exact_strings(question) == strings


@pytest.mark.parametrize(
    ("text", "string", "count"),
    [
        ("The valve GX-2290 is new.", "GX-2290", 1.0),
        ("The valve gx2290 is new.", "GX-2290", 0.5),
        ("The valve GX-2290-B is new.", "GX-2290", 0.5),
        ("The valve GX-22901 is new.", "GX-2290", 0.0),
        ("Since 12.4.1 and 2.4.10", "2.4.1", 0.0),
        ("192.168.40.70", "192.168.40.7", 0.0),
        ("The mail of x.keys@harbour.org", "keys@harbour.org", 0.0),
        ("job 98712", "9871", 0.0),
    ],
)
def test_a_string_is_held_by_its_letters(text: str, string: str, count: float) -> None:
    assert (count_held(text, [string]), holds(text, string)) == (count, count > 0)


def test_a_string_names_one_thing_by_its_digits_or_beside_others_like_it() -> None:
    assert is_definite("E-1099", [])
    assert is_definite("PU-09", ["The limit of PU-08 is 10 bar."])
    assert not is_definite("IL-6", ["Interleukin-6 rose in PU-08."])
    assert not is_definite("I-131", ["It was treated with 131I."])


@pytest.mark.parametrize(
    ("text", "is_there"),
    [
        *(("4.2 The rent is due.", True), ("Text.\n4.2. Rent", True), ("as Section 4.2 says", True), ("§4.2", True)),
        *(("It cost 4.2 million.", False), ("4.2 5.1 6.0", False), ("4.21 Rent", False), ("see 14.2", False)),
    ],
)
def test_number_of_a_clause_is_no_amount(text, is_there):
    assert holds(text, "§ 4.2") is is_there
