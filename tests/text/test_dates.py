from datetime import UTC, date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from preflight_rag.state.errors import UsageError
from preflight_rag.text import dates
from preflight_rag.text.dates import PartialDate, known_date, parse_date

KNOWN = [
    ("2021", "2021"),
    (2021, "2021"),
    ("2021-03", "2021-03"),
    ("2021-03-12", "2021-03-12"),
    ("2021/03/12", "2021-03-12"),
    ("20210312", "2021-03-12"),
    ("D:20210312101112+02'00'", "2021-03-12"),
    ("2021-03-12T23:59:59.5-11:00", "2021-03-12"),
    ("2021-03-12 10:00:00Z", "2021-03-12"),
    ("Fri, 12 Mar 2021 10:00:00 GMT", "2021-03-12"),
    ("12 March 2021", "2021-03-12"),
    ("March 12th, 2021", "2021-03-12"),
    ("12th of March, 2021", "2021-03-12"),
    ("2021 Mar 12", "2021-03-12"),
    ("Mar 2021", "2021-03"),
    ("Sept. 2021", "2021-09"),
    ("2021 Mar-Apr", "2021-03-01/2021-04-30"),
    ("January to March 2021", "2021-01-01/2021-03-31"),
    ("1998 Dec-1999 Jan", "1998-12-01/1999-01-31"),
    ("June 28 - July 3, 2021", "2021-06-28/2021-07-03"),
    ("2020-2021", "2020-01-01/2021-12-31"),
    ("Spring 2021", "2021-03-01/2021-05-31"),
    ("2021 Winter", "2020-12-01/2021-02-28"),
    ("Q3 2021", "2021-07-01/2021-09-30"),
    ("13/04/2021", "2021-04-13"),
    ("04/13/2021", "2021-04-13"),
    ("03.04.2021", "2021-04-03"),
    ("03/04/2021", "2021-03-04/2021-04-03"),
]
UNKNOWN = ["soon", "", "12", "2021-13", "2021-02-30", "31/31/2021", "500 BC", "99999", "202103", "Mar-Feb 2021", True]


@pytest.mark.parametrize(("text", "expected"), KNOWN)
def test_forms_of_dates(text, expected):
    assert str(parse_date(text)) == expected


@pytest.mark.parametrize("text", UNKNOWN)
def test_an_unknown_form_is_named_with_the_way_out(text):
    assert known_date(text) is None
    with pytest.raises(UsageError, match="not a date in a known form") as error:
        parse_date(text)
    assert repr(text) in str(error.value)
    assert "2021-03" in error.value.help


def test_date_objects_are_days():
    day = PartialDate(date(2021, 3, 12), date(2021, 3, 12))
    assert known_date(date(2021, 3, 12)) == known_date(datetime(2021, 3, 12, 10, tzinfo=UTC)) == day


@given(st.dates(date(1000, 1, 1), date(2999, 12, 31)))
def test_every_day_is_read_back_from_its_notations(day):
    for form in ("%Y-%m-%d", "%Y%m%d", "%d %B %Y", "%B %d, %Y", "%Y %b %d", "%d.%m.%Y"):
        assert parse_date(day.strftime(form)) == PartialDate(day, day)
    american = parse_date(day.strftime("%m/%d/%Y"))
    assert american.earliest <= day <= american.latest


@given(st.dates(date(1000, 1, 1), date(2999, 12, 31)), st.dates(date(1000, 1, 1), date(2999, 12, 31)))
def test_an_interval_is_read_back_from_its_text(a, b):
    interval = PartialDate(min(a, b), max(a, b))
    assert parse_date(str(interval)) == interval


@given(st.text(max_size=100))
def test_any_text_is_a_date_or_not(text):
    found = known_date(text)
    assert found is None or found.earliest <= found.latest


def test_dates_sort_by_their_first_and_last_day():
    names = ["2021-12-31", "2021", "2021-01-01", "2020", "2021-01"]
    assert sorted(names, key=parse_date) == ["2020", "2021-01-01", "2021-01", "2021", "2021-12-31"]


def test_overlapping_dates_may_be_the_same_day():
    assert parse_date("2021").overlaps(parse_date("2021-03-12"))
    assert not parse_date("2021-04").overlaps(parse_date("2021-03-12"))


@pytest.mark.parametrize(
    ("pattern", "example", "other"),
    [
        (dates._DATE_FORMS[2], "2021-03-12 10:00:00Z", "2021-03/12"),
        (dates._DATE_FORMS[3], "D:20210312101112+02'00'", "2021031"),
        (dates._DATE_FORMS[4], "03/04/2021", "03/04.2021"),
        (dates._DATE_FORMS[5], "12th of March, 2021", "12 Marches 2021"),
        (dates._DATE_FORMS[6], "March 12th, 2021", "March 123, 2021"),
        (dates._DATE_FORMS[7], "Mar-Apr 2021", "12 March 2021"),
        (dates._DATE_FORMS[8], "2021 Mar-Apr", "2021 Mar 12"),
        (dates._DATE_FORMS[9], "2021 Mar 12", "2021 Mar"),
    ],
)
def test_a_form_is_that_of_its_example_and_not_of_the_other(pattern, example, other):
    assert pattern.fullmatch(example)
    assert not pattern.fullmatch(other)
