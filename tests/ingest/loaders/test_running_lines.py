"""Running heads and feet of printed pages, and the lines like them that are a page's own."""

from __future__ import annotations

import pytest

from preflight_rag.ingest.loaders.running_lines import (
    without_printed_edges,
    without_running_lines,
    without_titles,
)

SENTENCE = "The pump is oiled each spring before the water is let in, and the filter is changed then as well"
BODY = [f"{SENTENCE}, says rule {word}." for word in "abcdefghijkl"]


def test_running_headers_and_page_numbers_go() -> None:
    pages = [
        ["Journal of Pain", f"{word} was seen", *"xyz", f"{word} left", f"Page {n}"] for n, word in enumerate("abcdef")
    ]
    cleaned = without_running_lines(pages)
    assert cleaned[0][0] == "Journal of Pain"
    assert cleaned[3] == ["d was seen", "x", "y", "z", "d left"]


def page(*lines: str, text: str = "") -> list[str]:
    return [*lines, f"{text}x", f"{text}y", f"{text}z"]


@pytest.mark.parametrize("number", [lambda n: f"Orchard Guide {n}", lambda n: f"{n} Orchard Guide CONTENTS"])
def test_roman_numbers_of_the_first_pages_go_with_their_words(number) -> None:
    romans = [page(number(roman), text=roman) for roman in ("ii", "iii", "iv", "v")]
    arabic = [page(text=str(n)) for n in range(30)]
    pages = [page("Orchard Guide", text="title"), *romans, *arabic]
    cleaned = without_running_lines(pages)
    assert cleaned[0][0] == "Orchard Guide"
    assert [each[0] for each in cleaned[2:5]] == ["iiix", "ivx", "vx"]


def test_titles_of_sections_below_the_pages_go_with_the_number_of_the_page() -> None:
    sections = ["1.1 Pumps", "1.1 Pumps", "1.2 Filters", "1.3 Weirs", "1.3 Weirs", "1.4 Locks"]
    pages = [
        [
            section.replace(".", ". ") if n in (0, 2, 3, 5) else "on it goes",
            f"text {chr(97 + n)}.",
            f"{section} {n + 11}",
        ]
        for n, section in enumerate(sections)
    ]
    assert [each[-1] for each in without_running_lines(pages)] == [f"text {letter}." for letter in "abcdef"]


def test_last_line_that_ends_with_the_number_of_its_page_by_chance_stays() -> None:
    pages = [[f"text {chr(97 + n)}", f"more {chr(97 + n)} of it", f"{n + 20}"] for n in range(8)]
    pages[4][1] = "The lease ends on June 24"
    assert without_running_lines(pages)[4] == ["text e", "The lease ends on June 24"]


def test_headings_that_are_numbered_as_their_pages_stay() -> None:
    names = ("Scope", "Terms", "Staff", "Fees", "Fines", "Appeals")
    pages = [
        [f"{n} {name}", f"What {name.lower()} means.", f"More {name}.", "as is"] for n, name in enumerate(names, 1)
    ]
    assert [each[0] for each in without_running_lines(pages)] == [each[0] for each in pages]


@pytest.mark.parametrize("number", ["ARTICLE {}", "{}. Of members"])
def test_numbers_of_articles_are_no_pages(number: str) -> None:
    pages = [[number.format(n), f"text {n} a", f"text {n} b"] for n in ("VII", "VIII", "IX", "X")]
    pages += [[f"{letter} one", f"{letter} two", f"{letter} three"] for letter in "abcdefgh"]
    assert [each[0] for each in without_running_lines(pages)[:4]] == [each[0] for each in pages[:4]]


CHAPTER = ["Chapter 2", "Keeping the locks", "2.1 When must the sluice be shut in a storm?", *BODY]


def chapter_pages(head: str) -> list[list[str]]:
    return [CHAPTER, *([head, *BODY] for _ in range(5))]


@pytest.mark.parametrize(
    "head",
    [
        "CHAPTER 2. KEEPING THE LOCKS 2.1. WHEN MUST THE SLUICE BE…",
        "KEEPING THE LOCKS",
        "2.1 When must the sluice be shut…",
        "2. Keeping the locks 2.1. When must the sluice be shut in a storm? Rules for keepers",
    ],
)
def test_title_of_a_chapter_above_its_pages_goes(head: str) -> None:
    assert without_titles(chapter_pages(head)) == [CHAPTER, *[BODY] * 5]


@pytest.mark.parametrize("head", ["Keeping the locks", "Chapter 2", "Opening the locks"])
def test_heading_of_a_page_stays(head: str) -> None:
    assert without_titles(chapter_pages(head)) == chapter_pages(head)


def test_titles_of_slides_stay() -> None:
    slides = [["Agenda", "Pumps for beginners", "Filters"], *(["PUMPS FOR BEGINNERS", f"{n} litres"] for n in range(6))]
    assert without_titles(slides) == slides


@pytest.mark.parametrize(
    ("head", "foot"),
    [
        ("11/28/26, 1:21 PM Lift contract", "file:///srv/docs/lift.html {}/{}"),
        ("28.11.2026, 13:21 Lift contract", "https://example.org/lift?print=1 {}/{}"),
        ("2026/11/28 13:21 Lift con…", "about:blank {}/{}"),
        ("28/11/2026, 13:21 example.org/lift", "https://example.org/lift {}/{}"),
        ("Lift contract https://example.org/lift", "{} of {} 11/28/26, 1:21 PM"),
        ("Lift contract file:///srv/lift.html", "{} von {} 28.11.26, 13:21"),
    ],
)
@pytest.mark.parametrize("count", [1, 3])
def test_what_a_browser_prints_around_each_page_goes(head: str, foot: str, count: int) -> None:
    pages = [[head, *BODY[:5], foot.format(number, count)] for number in range(1, count + 1)]
    assert without_printed_edges(pages, "Lift contract") == [BODY[:5]] * count


@pytest.mark.parametrize("title", ["", "Another title"])
def test_head_and_foot_of_a_browser_go_together_from_a_page_of_an_extract(title: str) -> None:
    page = ["11/28/26, 1:21 PM Lift contract", *BODY[:5], "file:///srv/docs/lift.html 4/13"]
    assert without_printed_edges([page], title) == [BODY[:5]]


@pytest.mark.parametrize(
    "line",
    [
        "11/28/26, 1:21 PM Meeting of the committee",
        "11/28/26, 1:21 PM",
        "28.11.2026 13:21 Lift contract signed",
        "Lift contract https://example.org/lift and its annex",
        "https://example.org/lift 2/3",
        "https://example.org/lift",
        "See https://example.org/lift 1/1",
        "1 of 1 11/28/26",
        "1 of 2 11/28/26, 1:21 PM",
    ],
)
def test_dates_and_addresses_of_the_text_itself_stay_at_the_edges_of_a_page(line: str) -> None:
    assert without_printed_edges([[line, *BODY[:5]]], "Lift contract") == [[line, *BODY[:5]]]
    assert without_printed_edges([[*BODY[:5], line]], "Lift contract") == [[*BODY[:5], line]]


def test_a_line_like_a_printed_head_stays_within_the_page() -> None:
    page = [*BODY[:3], "11/28/26, 1:21 PM Lift contract", *BODY[3:6]]
    assert without_printed_edges([page], "Lift contract") == [page]


@pytest.mark.parametrize("foot", ["Page {} of 6", "- Seite {} -", "Page {}", "p. {}/6"])
def test_number_of_the_first_page_goes_with_its_word(foot: str) -> None:
    pages = [[*(f"{word}{at}" for at in "vwxyz"), foot.format(n)] for n, word in enumerate("abcdef", 1)]
    assert without_running_lines(pages) == [page[:-1] for page in pages]


def test_first_running_line_with_a_name_beside_its_page_stays() -> None:
    pages = [[*(f"{word}{at}" for at in "vwxyz"), f"Page {n} of the Lift Book"] for n, word in enumerate("abcdef", 1)]
    cleaned = without_running_lines(pages)
    assert [cleaned[0][-1], cleaned[1][-1]] == ["Page 1 of the Lift Book", "bz"]


def test_headings_in_capitals_of_one_machine_after_another_stay() -> None:
    headings = ("TECHNICAL DATA", "MAINTENANCE OF THE PUMP", "SAFETY OF THE PUMP")
    pages = [[heading, *[f"{line} Pump {machine}." for line in BODY]] for machine in "ABC" for heading in headings]
    assert without_titles(pages) == pages


def test_titles_in_capitals_of_chapters_of_three_pages_go() -> None:
    chapters = ("KEEPING THE LOCKS", "MENDING THE WEIRS", "OILING THE PUMPS")
    pages = [page for chapter in chapters for page in ([chapter.capitalize(), *BODY], *[[chapter, *BODY]] * 2)]
    assert [page[0] for page in without_titles(pages)] == [
        line for chapter in chapters for line in (chapter.capitalize(), *[BODY[0]] * 2)
    ]


def test_a_printers_stamp_goes_from_the_first_page_and_above_a_figures_number() -> None:
    stamp = "VerDate Sep<11>2014 16:21 Aug 05, 2020 Jkt 250001 PO 00000 Frm 0000{n} Fmt 4702 Sfmt 4702 06AUP1"
    bodies = [[f"{word} oiled it", f"{word} cleaned it", f"{word} left"] for word in ("Ada", "Bo", "Cy", "Di", "Eve")]
    code = "jbell on DSKJLSW7X2PROD with RULES"
    pages = [[*body, stamp.format(n=n), code] for n, body in enumerate(bodies)]
    with_figure = ["Flo oiled it", stamp.format(n=7), "EP06AU20.013", "EP06AU20.014"]
    cleaned = without_running_lines([*pages, with_figure])
    assert cleaned[:5] == bodies
    assert cleaned[5] == ["Flo oiled it", "EP06AU20.013", "EP06AU20.014"]


def test_a_name_with_a_date_and_a_page_stays_once() -> None:
    names = ("Ada", "Bo", "Cy", "Di", "Eve")
    pages = [
        [f"{word} oiled it", f"{word} left", f"Rules 2024-05-31, page {n} of 5"] for n, word in enumerate(names, 1)
    ]
    cleaned = without_running_lines(pages)
    assert cleaned[0] == ["Ada oiled it", "Ada left", "Rules 2024-05-31, page 1 of 5"]
    assert cleaned[1] == ["Bo oiled it", "Bo left"]


def test_a_foot_with_an_account_and_a_telephone_stays_once() -> None:
    foot = "Holm GmbH, IBAN DE89370400440532013000, Tel. +49 89 123 45 67"
    cleaned = without_running_lines([[f"{word} oiled it", f"{word} left", foot] for word in ("Ada", "Bo", "Cy", "Di")])
    assert [foot in page for page in cleaned] == [True, False, False, False]
