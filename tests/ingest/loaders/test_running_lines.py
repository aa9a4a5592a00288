"""Running heads and feet of printed pages, and the lines like them that are a page's own."""

from __future__ import annotations

import pytest

from preflight_rag.ingest.loaders.running_lines import without_running_lines, without_titles

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
