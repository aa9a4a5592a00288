import pytest

from preflight_rag.text import document_dates
from preflight_rag.text.document_dates import find_date

STATED = [
    ("House rules\n\nAdopted by the council on 14 May 2024. They replace the rules of 2022.", "2024-05-14", "adopted"),
    ("Safety plan\nPort of Aber. Edition of April 2021.", "2021-04", "adopted"),
    (
        "Safety plan\nPort of Aber. Edition of April 2021. Approved by the board on 20 April\n2021.",
        "2021-04-20",
        "adopted",
    ),
    ("# Aspirin\n\nPublished: 12 March 2021\n\nIn 1899 Bayer sold it.", "2021-03-12", "published"),
    ("Trial of X\nPublished online March 3, 2020\nReceived 1 May 2019", "2020-03-03", "published"),
    ("Title\n**Date:** 2021-03-12\nText", "2021-03-12", "published"),
    ("FORM 8-K\nDate of Report (Date of earliest event reported): July 1, 2022", "2022-07-01", "published"),
    ("A model\narXiv:2103.15348v2 [cs.CV] 21 Jun 2021\nAbstract", "2021-06-21", "stamp"),
    ("MEMORANDUM\n\nMay 5, 2023\n\nTo all staff", "2023-05-05", "line"),
    ("Results\nNew Brunswick, N.J. (January 24, 2023) - Johnson reported", "2023-01-24", "dateline"),
    ("ANNUAL REPORT\nFor the fiscal year ended December 31, 2022", "2022-12-31", "period"),
    ("A study\nReceived 3 January 2020; Accepted 5 March 2020", "2020-03-05", "history"),
    ("A study\nReceived 3 January 2020", "2020-01-03", "history"),
    ("Form 10-Q\nFiled: August 3, 2022\nFor the quarterly period ended June 30, 2022", "2022-08-03", "published"),
    ("Notice\nDate of receipt: 4 May 2021\nText", "2021-05-04", "published"),
    ("PAYMENT RECEIPT\nGuest Name: Sanjay Date: 31/12/2017\nCheck Out\n01/01/2018", "2017-12-31", "published"),
    ("TAX INVOICE\nOrder Date: 15-10-2015\nInvoice Date: 20-10-2015", "2015-10-20", "published"),
    ("The Review\nSpring 2016\nOn reading.", "2016-03-01/2016-05-31", "line"),
    ("Plans change.\n" * 700 + "Last updated: March 2019", "2019-03", "history"),
    ("A page of words\n" * 5 + "Copyright \u00a9 2018 The Authors.", "2018", "copyright"),
]
STATED += [
    ("Prices of the stall\nValid from 15 June 2025\nApple pie 4", "2025-06-15", "valid"),
    ("Fees 2025, in force from 1 March 2025\n\nA visit is 30 pounds.", "2025-03-01", "valid"),
    ("Terms\nThese terms apply from 3 May 2024. They are short.", "2024-05-03", "valid"),
    ("Terms\nEffective date: May 3, 2024", "2024-05-03", "valid"),
    ("Rules\n\nThese rules are valid from 1 June 2024.\n\nLast updated: 3 May 2025", "2025-05-03", "history"),
    ("Rules\n\nThis price list is valid from 1 June 2024.\n\nUpdated 3 May 2023", "2024-06-01", "valid"),
    ("Firmware\n\nVersion 2.0 (May 2019)\nThis guide was last updated on 3 March 2024.", "2024-03-03", "history"),
    ("Rules (v1.9)\n\nVersion 1.9 ratified on March 26th, 2022.\n\nText", "2022-03-26", "version"),
    ("Rules\n\nVersion 2 of 12 May 2024\nText", "2024-05-12", "version"),
    ("Rules, version 1.1\n\nVersion 1.0, 2 May 2019\nVersion 1.1, 4 June 2020\n", "2020-06-04", "version"),
]
CONSTITUTION = """   Version 1.9 ratified on March 26th, 2022.

   Supersedes Version 1.8 ratified on January 28th, 2022, Version 1.7
   ratified on August 14th, 2016, Version 1.6 ratified on December 13th,
   2015, and Version 1.0 ratified on December 2nd, 1998.
"""
SILENT = [
    CONSTITUTION.split("\n\n")[1],
    f"Rules (v2.0)\n\n{CONSTITUTION}",
    "Rules, version 1.2\n\nVersion 1.0, 2 May 2019\nVersion 1.1, 4 June 2020\n",
    "Rules\n\nVersion 1.0, 2 May 2019\nVersion 1.1, 4 June 2020\n",
    "Rules of the house\nThis paper replaces the one\nadopted on 3 May 2019.",
    "The pass that we sold was valid from 3 May 2019 for all.",
    "Insurance certificate\n\nCover is valid from 1 January 2020 to 31 December 2020.",
    "The kiln\n\nThe warranty applies from 1 January 2020.",
    "Ticket office\n\nTicket, valid from 1 May 2023",
    "Letting\n\nThe contract with the roofer, in force from 1 May 2023, ends soon.",
    "Notes\n\nVersion 3.8 (October 2019) is the oldest one that is supported.",
    "Prices\nValid from 3 May 2019\nOf the shop\nValid from 4 May 2020",
    "Minutes\n\nThe chair said that the plan had been approved on 14 May 2024 by all.",
    "As reported in World J Surg 2010;34:1203-13, recurrence was rare.",
    "On September 11, 2001, four aeroplanes were hijacked.",
    "We searched PubMed from January 2000 to March 2021 for trials.",
    "Roberts\nDate of birth 26 June 1968\nPlace of birth Bangor",
    "Nineteen Eighty-Four\nPublication date\n8 June 1949",
    "The season aired from April 4, 2017 - May 30, 2017.",
    "Trial registration: NTR2304 (Date: December 12, 2013), in the Dutch register.",
    "Tour\nMay 5, 2023\nMay 7, 2023",
    "INVOICE 17\nDue Date: 31/12/2017",
    "The file was filed by a clerk of 12 March 2021.",
    "\u00a9 2018-2022 All rights reserved.",
    "Copyright \u00a9 2001 A. Copyright \u00a9 2009 B.",
    "Yields for the period ending December 31st, 2023 were lower than those for the period ending March 31, 2023.",
    "The Players - general meeting, 4 June 2025\n\nSpring 2026\n\nProposal A: Noises Off",
    "Next eclipse: see the table.\nAug. 12, 2975\n",
]


@pytest.mark.parametrize(("text", "expected", "where"), STATED)
def test_the_date_that_a_document_states(text, expected, where):
    found = find_date(text)
    assert (str(found.date), found.where) == (expected, where)
    assert expected[:4] in found.quote


def test_the_date_of_a_constitution_is_that_of_its_version():
    title = "Constitution for the Debian Project (v1.9)"
    assert str(find_date(f"{title}\n\n{CONSTITUTION}").date) == "2022-03-26"
    assert str(find_date(CONSTITUTION, title=title).date) == "2022-03-26"
    assert str(find_date(f"Constitution\n\n{CONSTITUTION}").date) == "2022-03-26"


def test_a_press_release_on_a_day_is_no_version():
    assert find_date("Press release 7 May 2024\n\nThe shop is open.") is None


@pytest.mark.parametrize("text", SILENT)
def test_a_date_of_something_else_is_not_the_documents(text):
    assert find_date(text) is None


def test_the_date_behind_who_prepared_a_document_is_its_date():
    text = (
        "Condition report\n\nCarved pine, 1861. Prepared by Dr Ann Falk, Falk Studio, 19 August 2024, for the museum."
    )
    assert str(find_date(text).date) == "2024-08-19"
    assert find_date("Minutes\n\nThe wall, prepared for 4 May 1990 by all, was built by Ann in June.") is None


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
        (document_dates._PUBLISHED, "Published online: 12 March 2021", "He published a book of 12 March 2021"),
        (document_dates._PREPRINT_STAMP, "arXiv:2103.01234v2 [cs.CL] 12 Mar 2021", "arXiv:2103.01234v2 [cs.CL]"),
        (document_dates._DATE_ALONE, "By Ann Other | 12 March 2021", "It was 12 March 2021 when it rained."),
        (document_dates._LABEL_OF_EVENT, "Date of birth: born", "Published"),
        (
            document_dates._DATELINE,
            "PARIS, France, March 12, 2021 - The minister said",
            "On March 12, 2021 the minister said",
        ),
        (document_dates._REPORT_PERIOD, "for the fiscal year ended March 31, 2021", "in the year of March 31, 2021"),
        (document_dates._HISTORY, "Last updated: March 2021", "The updated plan of March 2021"),
        (document_dates._ISO_PATH, "https://news.example/2021/03/12/rain", "https://news.example/2021-rain"),
        (document_dates._COPYRIGHT, "\u00a9 The Authors 2021", "\u00a9 The Authors 2019-2021"),
    ],
)
def test_a_label_is_found_in_its_example_and_not_in_the_other(pattern, example, other):
    assert pattern.search(example)
    assert not pattern.search(other)
