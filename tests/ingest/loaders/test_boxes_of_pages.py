"""Boxes within a page's text and lists of other forms: every sentence of the main part is read, and no more."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from bs4 import BeautifulSoup
from loaded_files import load_one

from preflight_rag.ingest.loaders.html import read_chapter_blocks
from preflight_rag.ingest.loaders.read_report import ReadReport

BEGIN = "<h1>Jobs of the office</h1><p>Scheduled jobs run on all machines, by day and by night, without anybody.</p>"
BETWEEN = "<p>Many packages rely on this, since they put scripts of their own into these directories.</p>"
END = "<p>A closing paragraph says that all is well and that nobody has to do anything else.</p>"
MORE = "".join(
    f"<p>Paragraph {n} of the page tells at some length what the machine number {n} does.</p>" for n in range(6)
)
REMARK = "<p>The short form with a sign replaces the first five fields of an entry.</p>"
CHROME = (
    "<nav><a href='/'>Home</a> <a href='/news'>Latest news</a></nav>",
    "<div class='sidebar'><h3>Popular now</h3><p>Ten gadgets that will make you smile on a rainy day.</p></div>",
    "<footer><p>Imprint and privacy</p></footer>",
)


def sentences_of(markup: str) -> list[list[str]]:
    """Return the words of each block of a page's main part, which holds nothing else."""
    soup = BeautifulSoup(markup, "lxml")
    blocks = soup.find_all(["h1", "h2", "h3", "p", "li", "div"])
    leaves = [each for each in blocks if each.find(["h1", "h2", "h3", "p", "li", "div"]) is None]
    return [found for each in leaves if (found := re.findall(r"\w+", each.get_text()))]


def read(tmp_path: Path, body: str) -> str:
    path = tmp_path / "a.html"
    path.write_text(f"<!doctype html><html><head><title>A page</title></head><body>{body}</body></html>")
    return str(load_one(path).text)


def assert_is_read(main: str, text: str) -> None:
    words = " ".join(re.findall(r"\w+", text))
    for sentence in sentences_of(main):
        assert f" {' '.join(sentence)} " in f" {words} "


WRAPPERS = {
    "body": "{nav}{main}{foot}",
    "main": "{nav}<main>{main}</main>{side}{foot}",
    "article": "{side}<article>{main}</article>{foot}",
    "section": "<div class='section'>{main}</div>{foot}",
    "div": "{nav}<div id='content'>{main}</div>{side}{foot}",
}
BOXES = {
    "sidebar": f"<div class='sidebar'><p class='title'><strong>TIP</strong> Short forms</p>{REMARK}</div>",
    "division": f"<div class='sidebar'><div><h3>Short forms</h3></div><div>{REMARK[3:-4]}</div></div>",
    "aside": f"<aside><h3>Short forms</h3>{REMARK}</aside>",
    "footnote": f"<aside class='footnote'>{REMARK}</aside>",
    "role": f"<aside role='doc-footnote' id='id1'>{REMARK}</aside>",
    "warning": f"<aside class='admonition warning'><p>Warning</p>{REMARK}</aside>",
    "list": f"<div class='sidebar'>{REMARK}<ul><li>yearly: once per year;</li><li>daily: once per day.</li></ul></div>",
    "two": f"<aside>{REMARK}</aside><aside><p>On the day when the clocks change such jobs run twice.</p></aside>",
}


@pytest.mark.parametrize("wrapper", WRAPPERS)
@pytest.mark.parametrize("box", BOXES)
def test_a_box_within_a_text_is_read(tmp_path: Path, wrapper: str, box: str) -> None:
    main = f"{BEGIN}{MORE}{BOXES[box]}{BETWEEN}{END}"
    nav, side, foot = CHROME
    text = read(tmp_path, WRAPPERS[wrapper].format(nav=nav, main=main, side=side, foot=foot))
    assert_is_read(main, text)
    assert not any(word in text for word in ("Latest news", "Popular now", "gadgets", "Imprint"))


def test_a_box_at_the_end_of_a_books_section_is_read(tmp_path: Path) -> None:
    inner = f"<div class='section'><h2>Form of the entries</h2>{BOXES['division']}</div>"
    box_first = f"<div class='section'><h2>Other entries</h2>{BOXES['sidebar']}{BETWEEN}</div>"
    assert "replaces the first five fields" in read(tmp_path, f"<div class='section'>{BEGIN}{MORE}{box_first}</div>")
    last = f"<div class='section'>{BEGIN}{MORE}{inner[:-6]}{END}{BOXES['aside']}</div></div>"
    assert "replaces the first five fields" in read(tmp_path, last)


@pytest.mark.parametrize(
    "box",
    [
        "<aside><h3>Read more</h3><p>How the gadgets of our office came to run day and night.</p></aside>",
        "<aside class='related'><p>How the gadgets of our office came to run day and night.</p></aside>",
        "<aside><p>Get our newsletter with ten gadgets each week, for free and at any time.</p></aside>",
        "<aside><p>Look at these gadgets, please.</p><form><input name='q'></form></aside>",
        "<aside><p><a href='/1'>How the gadgets of our office came to run day and night.</a></p></aside>",
        "<div class='sidebar'><a href='/1'>Ten gadgets</a> <a href='/2'>Eleven gadgets</a></div>",
        "<div class='sidebar share'><p>Send this page about gadgets to all of your friends and to others.</p></div>",
    ],
    ids=["heading", "related", "newsletter", "form", "link", "links", "share"],
)
def test_a_box_within_a_text_that_is_none_of_its_parts_stays_out(tmp_path: Path, box: str) -> None:
    main = f"{BEGIN}{MORE}{BETWEEN}{END}"
    text = read(tmp_path, f"<article>{BEGIN}{MORE}{box}{BETWEEN}{END}</article>")
    assert_is_read(main, text)
    assert "gadgets" not in text


@pytest.mark.parametrize("tag", ["aside", "div class='sidebar'"])
def test_a_box_before_or_behind_a_text_stays_out(tmp_path: Path, tag: str) -> None:
    box = f"<{tag}><p>How the gadgets of our office came to run day and night.</p></{tag.split()[0]}>"
    text = read(tmp_path, f"<main>{box}{BEGIN}{MORE}{END}{box}</main>")
    assert_is_read(f"{BEGIN}{MORE}{END}", text)
    assert "gadgets" not in text


@pytest.mark.parametrize("anchor", ["<a class='indexterm'></a>", "<a id='x1'></a>", "<a name='x'>\n</a>", ""])
def test_an_empty_link_makes_no_list_of_links(tmp_path: Path, anchor: str) -> None:
    items = (
        f"<ul><li>{anchor}<div class='para'>\n\t programs in the <code>/etc/hourly</code> directory once per hour;"
        f"</div></li><li>{anchor}<div class='para'>\n\t once more.\n\t</div></li></ul>"
    )
    lines = read(tmp_path, f"{BEGIN}{items}{MORE}{END}").split("\n")
    assert "- programs in the /etc/hourly directory once per hour;" in lines
    assert "- once more." in lines


def test_marks_of_headings_are_no_words(tmp_path: Path) -> None:
    mark = "<a class='headerlink' href='#night'>{}</a>"
    text = read(
        tmp_path,
        f"{BEGIN}{MORE}<h2>Jobs at night{mark.format('¶')}</h2>{BETWEEN}<h2>Issue <a href='/1'>#</a>1"
        f"{mark.format('#')}</h2>{END}",
    )
    assert "Jobs at night" in text.split("\n")
    assert "¶" not in text
    assert text.count("#") == 1


def test_a_section_is_not_left_out_by_the_name_that_its_heading_gave_it(tmp_path: Path) -> None:
    section = f"<section id='how-to-share-the-menu'><h2>How to share the menu</h2>{BETWEEN}</section>"
    assert_is_read(section, read(tmp_path, f"<article>{BEGIN}{MORE}{section}{END}</article>"))
    other = section.replace("How to share the menu", "To your friends")
    assert "To your friends" not in read(tmp_path, f"<article>{BEGIN}{MORE}{other}{END}</article>")


def test_a_footers_line_is_judged_by_its_parts(tmp_path: Path) -> None:
    foot = "<footer>Alder Yard · <a href='/i'>Imprint</a> · Last changed on 17 January 2025 | © 2024 The yard</footer>"
    text = read(tmp_path, f"{BEGIN}{MORE}{END}{foot}")
    assert "Last changed on 17 January 2025" in text.split("\n")
    assert not any(word in text for word in ("Imprint", "2024"))


LINKS = "<ul><li><a href='https://a.example/x'>Mirror of Graz</a></li><li><a href='/b'>Mirror of Linz</a></li></ul>"


@pytest.mark.parametrize("layout", ["{}{}", "<div class='para'>{}</div><div>{}</div>", "<blockquote>{}{}</blockquote>"])
@pytest.mark.parametrize(
    "line",
    [
        "The source tarballs can be downloaded from these two mirrors:",
        "The source tarballs can be downloaded from the following web sites.",
        "All is as it was. You get the tarballs from the following mirrors:",
    ],
)
def test_links_that_a_sentence_announces_are_what_it_says(tmp_path: Path, line: str, layout: str) -> None:
    body = layout.format(f"<p>{line}</p>", LINKS)
    text = read(tmp_path, f"{BEGIN}{MORE}{body}{END}")
    assert f"{line}\n- Mirror of Graz\n- Mirror of Linz\n" in text


def test_links_whose_words_are_addresses_are_read(tmp_path: Path) -> None:
    links = LINKS.replace("Mirror of Graz", "https://a.example/x").replace("Mirror of Linz", "www.b.example")
    text = read(tmp_path, f"{BEGIN}{MORE}<h2>Packages</h2>{links}{END}")
    assert "Packages\n- https://a.example/x\n- www.b.example\n" in text


@pytest.mark.parametrize(
    "line",
    [
        "You may also like the following:",
        "Mirrors:",
        "Read more about the mirrors of our office here:",
        "Share the page on one of the following sites:",
        "The mirrors have been there for a very long time.",
    ],
)
def test_links_that_lead_elsewhere_stay_as_they_were(tmp_path: Path, line: str) -> None:
    text = read(tmp_path, f"{BEGIN}{MORE}{BETWEEN}<p>{line}</p>{LINKS}{END}")
    assert "Linz" not in text
    menu = LINKS.replace("https://a.example/x", "#a").replace("/b", "#b")
    assert "Linz" not in read(tmp_path, f"{BEGIN}{MORE}<p>The mirrors that are told of below are these:</p>{menu}{END}")


def test_a_box_within_a_books_chapter_is_read(tmp_path: Path) -> None:
    page = f"<html><body><section><h1>Jobs</h1>{BETWEEN}<aside>{REMARK}</aside>{END}</section></body></html>"
    blocks = read_chapter_blocks(page.encode(), tmp_path / "a.xhtml", ReadReport())
    assert ("", BeautifulSoup(REMARK, "lxml").get_text()) in blocks
