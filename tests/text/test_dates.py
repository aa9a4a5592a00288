from datetime import UTC, date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from preflight_rag.state.errors import UsageError
from preflight_rag.text import dates
from preflight_rag.text.dates import PartialDate, find_date, known_date, parse_date

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

STATED = [
    ("# Aspirin\n\nPublished: 12 March 2021\n\nIn 1899 Bayer sold it.", "2021-03-12", "published"),
    ("Trial of X\nPublished online March 3, 2020\nReceived 1 May 2019", "2020-03-03", "published"),
    ("Title\n**Date:** 2021-03-12\nText", "2021-03-12", "published"),
    ("FORM 8-K\nDate of Report (Date of earliest event reported): July 1, 2022", "2022-07-01", "published"),
    ("A model\narXiv:2103.15348v2 [cs.CV] 21 Jun 2021\nAbstract", "2021-06-21", "stamp"),
    ("MEMORANDUM\n\nMay 5, 2023\n\nTo all staff", "2023-05-05", "line"),
    ("Results\nNew Brunswick, N.J. (January 24, 2023) - Johnson reported", "2023-01-24", "dateline"),
    ("ANNUAL REPORT\nFor the fiscal year ended December 31, 2022", "2022-12-31", "period"),
    ("A study\nReceived 3 January 2020; Accepted 5 March 2020", "2020-01-03", "history"),
    ("Plans change.\n" * 700 + "Last updated: March 2019", "2019-03", "history"),
    ("A page of words\n" * 5 + "Copyright \u00a9 2018 The Authors.", "2018", "copyright"),
]
SILENT = [
    "As reported in World J Surg 2010;34:1203-13, recurrence was rare.",
    "On September 11, 2001, four aeroplanes were hijacked.",
    "We searched PubMed from January 2000 to March 2021 for trials.",
    "Roberts\nDate of birth 26 June 1968\nPlace of birth Bangor",
    "Nineteen Eighty-Four\nPublication date\n8 June 1949",
    "The season aired from April 4, 2017 - May 30, 2017.",
    "Trial registration: NTR2304 (Date: December 12, 2013), in the Dutch register.",
    "Tour\nMay 5, 2023\nMay 7, 2023",
    "\u00a9 2018-2022 All rights reserved.",
    "Copyright \u00a9 2001 A. Copyright \u00a9 2009 B.",
    "Yields for the period ending December 31st, 2023 were lower than those for the period ending March 31, 2023.",
    "Next eclipse: see the table.\nAug. 12, 2975\n",
]


@pytest.mark.parametrize(("text", "expected"), KNOWN)
def test_forms_of_dates(text, expected):
    assert str(parse_date(text)) == expected


@pytest.mark.parametrize("text", UNKNOWN)
def test_an_unknown_form_is_named_with_the_way_out(text):
    assert known_date(text) is None
    with pytest.raises(UsageError, match="a date in no known form") as error:
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


@pytest.mark.parametrize(("text", "expected", "where"), STATED)
def test_the_date_that_a_document_states(text, expected, where):
    found = find_date(text)
    assert (str(found.date), found.where) == (expected, where)
    assert expected[:4] in found.quote


@pytest.mark.parametrize("text", SILENT)
def test_a_date_of_something_else_is_not_the_documents(text):
    assert find_date(text) is None


@pytest.mark.parametrize(
    ("title", "url", "expected"),
    [
        ("Minutes 2022-07-01", "", "2022-07-01"),
        ("", "/home/me/AMCOR_8K_dated-2022-07-01.pdf", "2022-07-01"),
        ("", "https://example.org/2020/3/31/heaven", "2020-03-31"),
        ("", "https://example.org/story/2024-10-08/tour", "2024-10-08"),
        ("", "https://example.org/blog/2013/11/moss", "2013-11"),
    ],
)
def test_a_date_in_the_name_or_address(title, url, expected):
    assert str(find_date("Text.", title=title, url=url).date) == expected


@pytest.mark.parametrize("url", ["/data/2020/03/file.txt", "https://example.org/10.1000/2020.123", "doi:2020-99-00"])
def test_numbers_in_an_address_that_are_no_date(url):
    assert find_date("Text.", url=url) is None


def test_a_date_far_down_is_running_text():
    text = "Words about the plan.\n" * 400
    assert find_date(f"{text}Published: 2020-01-01\n{text}") is None


def test_abstracts_hold_no_false_dates(data_dir):
    folder = data_dir / "ingest_docs" / "pmc_pairs"
    texts = [path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.txt"))]
    assert texts
    assert [find_date(text) for text in texts] == [None] * len(texts)


@pytest.mark.parametrize(
    ("pattern", "example", "other"),
    [
        (dates._FORMS[2], "2021-03-12 10:00:00Z", "2021-03/12"),
        (dates._FORMS[3], "D:20210312101112+02'00'", "2021031"),
        (dates._FORMS[4], "03/04/2021", "03/04.2021"),
        (dates._FORMS[5], "12th of March, 2021", "12 Marches 2021"),
        (dates._FORMS[6], "March 12th, 2021", "March 123, 2021"),
        (dates._FORMS[7], "Mar-Apr 2021", "12 March 2021"),
        (dates._FORMS[8], "2021 Mar-Apr", "2021 Mar 12"),
        (dates._FORMS[9], "2021 Mar 12", "2021 Mar"),
    ],
)
def test_a_form_is_that_of_its_example_and_not_of_the_other(pattern, example, other):
    assert pattern.fullmatch(example)
    assert not pattern.fullmatch(other)


@pytest.mark.parametrize(
    ("pattern", "example", "other"),
    [
        (dates._PUBLISHED, "Published online: 12 March 2021", "He published a book of 12 March 2021"),
        (dates._STAMP, "arXiv:2103.01234v2 [cs.CL] 12 Mar 2021", "arXiv:2103.01234v2 [cs.CL]"),
        (dates._ALONE, "By Ann Other | 12 March 2021", "It was 12 March 2021 when it rained."),
        (dates._EVENT, "Date of birth: born", "Published"),
        (dates._DATELINE, "PARIS, France, March 12, 2021 - The minister said", "On March 12, 2021 the minister said"),
        (dates._PERIOD, "for the fiscal year ended March 31, 2021", "in the year of March 31, 2021"),
        (dates._HISTORY, "Last updated: March 2021", "The updated plan of March 2021"),
        (dates._ISO_PATH, "https://news.example/2021/03/12/rain", "https://news.example/2021-rain"),
        (dates._COPYRIGHT, "\u00a9 The Authors 2021", "\u00a9 The Authors 2019-2021"),
    ],
)
def test_a_label_is_found_in_its_example_and_not_in_the_other(pattern, example, other):
    assert pattern.search(example)
    assert not pattern.search(other)
