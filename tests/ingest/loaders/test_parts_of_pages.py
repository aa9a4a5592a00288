"""Headings, paragraphs and tables that stand beside a page's text, and what stands there and is none."""

from __future__ import annotations

from pathlib import Path

import pytest
from bs4 import BeautifulSoup
from loaded_files import load_one

from preflight_rag.ingest.loaders.page_parts import with_lost_content
from preflight_rag.ingest.loaders.read_report import report_of

NAV = '<nav><a href="/">Home</a> | <a href="/team">Our team</a> | <a href="/prices">Prices</a></nav>'
INTRO = "<p>We see patients by appointment only. Come on weekdays from 8.30 to 9.30 without one.</p>"
HOURS = (
    "<table><tr><th>Day</th><th>Open</th><th>Desk</th></tr>"
    "<tr><td>Wednesday</td><td>8.00 - 13.00</td><td>8.30</td></tr>"
    "<tr><td>Thursday</td><td>8.00 - 20.00</td><td>9.30</td></tr>"
    "<tr><td>Sunday</td><td>closed</td><td>-</td></tr></table>"
)
SECTIONS = "".join(
    f"<h2>{name}</h2><p>{text}</p>"
    for name, text in (
        (
            "Bank holidays",
            "We are closed on bank holidays, but a vet is in on Boxing Day from 10.00 to 12.00.",
        ),
        ("Nights", "Please call Severn Vale Emergency Vets on 01584 555 900. Their fees are set by them alone."),
        ("Medicines", "Repeat prescriptions can be collected at any time. Order two working days ahead, please."),
        ("How to find us", "There are six parking spaces behind the building, with the entrance by Tanner's Lane."),
        ("New clients", "Bring proof of your address and the vaccination card. Registration takes ten minutes."),
    )
)
FOOT = "<footer>&copy; Tanfield Surgery Ltd</footer>"


def load_page(tmp_path: Path, body: str):
    path = tmp_path / "a.html"
    path.write_text(f"<!doctype html><html><head><title>A page</title></head><body>{body}</body></html>")
    return load_one(path)


@pytest.mark.parametrize(
    "body",
    [
        f"{NAV}<h1>Opening hours</h1>{INTRO}{HOURS}{SECTIONS}{FOOT}",
        f"<h1>Opening hours</h1>{INTRO}{HOURS}{SECTIONS}",
        f"{NAV}{HOURS}<h1>Opening hours</h1>{INTRO}{SECTIONS}{FOOT}",
        f"{NAV}<h1>Opening hours</h1>{SECTIONS}{INTRO}{HOURS}{FOOT}",
        f"{NAV}<h1>Opening hours</h1>{INTRO}{HOURS}{FOOT}",
        f"{NAV}<div><h1>Opening hours</h1>{INTRO}{HOURS}</div><div>{SECTIONS}</div>{FOOT}",
        f"{NAV}<section><h1>Opening hours</h1>{INTRO}{HOURS}</section><section>{SECTIONS}</section>{FOOT}",
        f"{NAV}<main><h1>Opening hours</h1><div class='times'>{INTRO}{HOURS}</div>{SECTIONS}</main>{FOOT}",
        f"{NAV}<div class='page with-sidebar'><h1>Opening hours</h1>{INTRO}{HOURS}{SECTIONS}</div>{FOOT}",
    ],
    ids=["beside", "no-menu", "table-first", "table-last", "short", "divs", "sections", "main", "named-wrapper"],
)
def test_headings_paragraphs_and_tables_are_read_however_a_page_is_laid_out(tmp_path: Path, body: str) -> None:
    document = load_page(tmp_path, body)
    lines = document.text.split("\n")
    assert "Opening hours" in lines
    assert "We see patients by appointment only. Come on weekdays from 8.30 to 9.30 without one." in lines
    assert "Day: Thursday | Open: 8.00 - 20.00 | Desk: 9.30" in lines
    assert all(lines.count(line) == 1 for line in lines if line)
    assert ("Bank holidays" in lines) == (SECTIONS in body)
    assert not any(word in document.text for word in ("Our team", "©"))
    report = report_of(document.metadata)
    assert report is not None
    assert (report.counts["tables"], report.counts["rows"], report.left_out) == (1, 3, [])


def test_what_is_put_back_stands_where_it_stood(tmp_path: Path) -> None:
    lines = load_page(tmp_path, f"{NAV}<h1>Opening hours</h1>{INTRO}{HOURS}{SECTIONS}{FOOT}").text.split("\n")
    found = [line.split(" |")[0] for line in lines if line]
    assert found[:6] == [
        "Opening hours",
        "We see patients by appointment only. Come on weekdays from 8.30 to 9.30 without one.",
        "Day: Wednesday",
        "Day: Thursday",
        "Day: Sunday",
        "Bank holidays",
    ]


def test_a_price_list_with_many_short_rows_is_read(tmp_path: Path) -> None:
    rows = "".join(f"<tr><td>Service {n}</td><td>{n}.50</td></tr>" for n in range(1, 31))
    body = f"{NAV}<h1>Prices</h1><table><tr><th>Service</th><th>Pounds</th></tr>{rows}</table>{SECTIONS}{FOOT}"
    document = load_page(tmp_path, body)
    assert all(f"Service: Service {n} | Pounds: {n}.50" in document.text for n in range(1, 31))
    report = report_of(document.metadata)
    assert report is not None
    assert report.counts["rows"] == 30


@pytest.mark.parametrize(
    "boilerplate",
    [
        "<div class='sidebar'><h3>Popular now</h3><p>Ten dogs that will make you smile on a rainy day.</p></div>",
        "<div id='cookie-banner'><p>This site keeps small files on your device. Accept them to go on.</p></div>",
        "<div class='newsletter-box'><h2>Stay in touch</h2><p>Get our letter with news about pets.</p></div>",
        "<aside><h2>Partner offers</h2><p>Cheaper food for cats and dogs at the shop next door.</p></aside>",
        "<h2>Other pages of ours</h2><p><a href='/a'>Ten dogs that smile</a> <a href='/b'>Cats at home</a></p>",
        "<p>© 2025 Tanfield Veterinary Surgery Ltd, all rights reserved by the owners.</p>",
        "<div role='navigation'><p>Start with our team, then see the prices of the shop.</p></div>",
        "<div>Small. Fast. Reliable. Yours.</div><figure><figcaption>Photo: Ann</figcaption></figure>",
    ],
    ids=["sidebar", "cookies", "newsletter", "aside", "links", "rights", "role", "slogan"],
)
def test_what_a_page_itself_says_is_none_of_its_text_stays_out(boilerplate: str) -> None:
    extract = BeautifulSoup(SECTIONS, "lxml").get_text("\n")
    page = f"<body>{boilerplate}<h1>Opening hours</h1>{INTRO}{SECTIONS}{boilerplate}</body>"
    expected = ["Opening hours", BeautifulSoup(INTRO, "lxml").get_text(), *extract.split("\n")]
    assert with_lost_content(extract, BeautifulSoup(page, "lxml")).split("\n") == expected


def test_what_is_beside_a_named_part_with_the_text_stays_out(tmp_path: Path) -> None:
    text = f"<div id='content'><h1>Opening hours</h1>{INTRO}{SECTIONS}</div>"
    beside = "<div id='right'><h3>Our partners</h3><p>The shop next door sells food for cats and dogs.</p></div>"
    assert "partners" not in load_page(tmp_path, f"{NAV}{text}{beside}{FOOT}").text


def test_a_table_that_is_left_out_is_noted(tmp_path: Path) -> None:
    text = f"<div id='content'><h1>Opening hours</h1>{INTRO}{SECTIONS}</div>"
    aside = "<aside><table><tr><td>Dogs</td><td>9</td></tr><tr><td>Cats</td><td>8</td></tr></table></aside>"
    report = report_of(load_page(tmp_path, f"{text}{aside}").metadata)
    assert report is not None
    assert "tables" not in report.counts
    assert report.left_out == [("1 table", "not in the main part of the page")]


@pytest.mark.parametrize("around", ["<div class='navfooter'>{}</div>", "<nav>{}</nav>"])
def test_a_table_that_leads_to_other_pages_is_not_missed(tmp_path: Path, around: str) -> None:
    table = (
        "<table><tr><td><a href='1.html'>Prev</a></td><td><a href='3.html'>Next</a></td></tr>"
        "<tr><td>Remove nearby points (position)</td><td>Resample</td></tr></table>"
    )
    text = f"<div id='content'><h1>Opening hours</h1>{INTRO}{HOURS}{SECTIONS}</div>"
    document = load_page(tmp_path, f"{text}{around.format(table)}")
    report = report_of(document.metadata)
    assert report is not None
    assert (report.counts["tables"], report.left_out) == (1, [])
    assert "Resample" not in document.text


def put_back(body: str) -> list[str]:
    """Return the lines of a page of which the extraction has found the sections alone."""
    extract = BeautifulSoup(SECTIONS, "lxml").get_text("\n")
    return with_lost_content(extract, BeautifulSoup(f"<body>{body}{SECTIONS}</body>", "lxml")).split("\n")


@pytest.mark.parametrize(
    "lost",
    [
        "This prevents the vet from looking for the card twice. Bring the card of each animal (e.g. card.pdf)",
        "So ask. The logos of the practices belong in the folder of the program. Their names end in .bmp (e.g. a)",
    ],
)
def test_text_between_paragraphs_may_end_with_something_in_brackets(lost: str) -> None:
    # The `</p>` ends nothing: a paragraph ends where a `pre` begins.
    assert lost in put_back(f"<p>Type this line:<pre>card /first</pre>\n{lost}\n</p>")
    assert "Call us today! Cheap" not in put_back("Call us today! Cheap")


@pytest.mark.parametrize(
    ("caption", "is_read"),
    [
        ("<a href='/cylinder'>Cylinder</a> h360° v120°", True),
        ("h360° v147°", True),
        ("The old mill by night", True),
        ("<a href='/12'>Picture 12</a>", False),
        ("<a href='/ann'>All pictures by Ann Lund</a>", False),
    ],
)
@pytest.mark.parametrize("tag", ["div class=thumbcaption", "figcaption"])
def test_a_caption_that_says_something_is_read(tag: str, caption: str, is_read: bool) -> None:
    mark = "<div class=magnify><a href='/big'>[*]</a></div>"
    lines = put_back(f"<div class=thumb><img src=a.jpg alt=''><{tag}>{mark}{caption}</{tag.split()[0]}></div>")
    assert (BeautifulSoup(caption, "lxml").get_text() in lines) == is_read


@pytest.mark.parametrize(
    ("item", "line"),
    [
        ("<p><b>Websites</b></p><p>It works for small ones.</p>", "Websites. It works for small ones."),
        ("<p><b>Websites</b><p>\n<p>It works for small ones.</p>", "Websites. It works for small ones."),
        ("<h4>No refunds</h4><p>We keep the fee.</p>", "No refunds. We keep the fee."),
        ("<b>Websites</b>\n<p>It works for small ones.</p>", "Websites It works for small ones."),
        ("<p><b>Websites</b></p><p>small ones only</p>", "Websites small ones only"),
        ("<strong>Do not</strong><p>open the door</p>", "Do not open the door"),
        ("<p><strong>Do not</strong></p><p>Open the door</p>", "Do not Open the door"),
        ("<p>Bread costs</p><p><b>12</b></p><p>euros</p>", "Bread costs 12 euros"),
        ("<p><b>Bread costs</b></p><p>Twelve euros</p>", "Bread costs Twelve euros"),
        ("<div><b>24</b></div><div>Hours of notice are needed</div>", "24 Hours of notice are needed"),
        ("<h4>24</h4><p>Hours of notice are needed</p>", "24 Hours of notice are needed"),
        ("<div><b>$1,200</b></div><div>Per month is the rent</div>", "$1,200 Per month is the rent"),
        ("<p><b>Members</b></p><p>Only may enter the hall</p>", "Members Only may enter the hall"),
        ("<p><b>Halls</b></p><p>The big one is open.</p>", "Halls. The big one is open."),
        ("<p><b>You don’t</b></p><p>Pay for water</p>", "You don’t Pay for water"),
        ("<p><b>Never</b></p><p>sell wine</p>", "Never sell wine"),
        ("<p><b>Websites?</b></p><p>It works for small ones.</p>", "Websites? It works for small ones."),
        ("<p>It is small.</p><p>It works.</p>", "It is small. It works."),
        ("<p>See the <b>Rules</b></p><p>They are short.</p>", "See the Rules They are short."),
        ("14 Ludlow Road<br>Tanfield", "14 Ludlow Road Tanfield"),
        ("<b>Websites</b> work well", "Websites work well"),
    ],
)
def test_the_heading_of_an_item_is_parted_from_its_text(tmp_path: Path, item: str, line: str) -> None:
    text = load_page(
        tmp_path, f"<h1>Uses</h1>{INTRO}<ul><li>{item}</li><li>Another item of the list.</li></ul>{SECTIONS}"
    ).text
    assert f"- {line}" in text.split("\n")


@pytest.mark.parametrize("tag", ["h3", "div"])
def test_blocks_of_an_item_that_lays_out_a_page_are_parted(tmp_path: Path, tag: str) -> None:
    item = f"<li><{tag}>Websites</{tag}><div>It works for small ones, as many say.</div></li>"
    text = load_page(tmp_path, f"<h1>Uses</h1>{INTRO}<ul>{item}</ul>{SECTIONS}").text
    assert "WebsitesIt" not in text
    assert "It works for small ones, as many say." in text


TELLS = "The pump is looked after by the two of us who live above it."


@pytest.mark.parametrize(
    "markup",
    [
        f"{TELLS}<br><br>It was bought in the year 1987 from the village next to ours.<p>",
        f"<center>{TELLS}</center>",
        f"<div>{TELLS}<br>It is old.</div>",
        f"<figure><img src='a.png'><figcaption>{TELLS}</figcaption></figure>",
        "<figure><img src='a.png'><figcaption>The pump seen from the two windows above it</figcaption></figure>",
        f"<fieldset><legend>Pump</legend>{TELLS}</fieldset>",
        f"<details><summary>Who looks after it?</summary>{TELLS}</details>",
        f"<ul><li><img src='a.png'> {TELLS}</li></ul>",
        f"<dl><dt>Pump</dt><dd>{TELLS}<ul><li>old</li></ul></dd></dl>",
    ],
)
def test_sentences_are_read_in_whatever_they_stand(tmp_path: Path, markup: str) -> None:
    text = load_page(tmp_path, f"{NAV}<h1>Opening hours</h1>{markup}{INTRO}{SECTIONS}{FOOT}").text
    assert "the two windows above it" in text or text.count(TELLS) == 1
