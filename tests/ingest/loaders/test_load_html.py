"""Web pages."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest
from loaded_files import load_one

ARTICLE = """<!doctype html><html><head><title>On pain | Site</title>
<meta property="og:title" content="On pain"><meta name="author" content="Anna One">
<meta property="article:published_time" content="2021-03-04T10:00:00Z">
<link rel="canonical" href="https://example.org/pain"><style>p {{}}</style></head>
<body><nav><a href="/">Home</a> <a href="/x">Imprint of the site</a></nav>
<article><h1>On pain</h1>{paragraphs}<table><tr><th>Drug</th><th>Dose</th></tr><tr><td>Aspirin</td><td>500 mg</td></tr>
</table></article><script>var hidden = 1;</script><footer>Cookies and privacy</footer></body></html>"""
PARAGRAPH = (
    "<p>Aspirin <b>number {n}</b> is given to patients with acute pain of the head, and it helps most of them.</p>"
)


def test_main_content_with_metadata(tmp_path: Path) -> None:
    path = tmp_path / "a.html"
    path.write_text(ARTICLE.format(paragraphs="".join(PARAGRAPH.format(n=n) for n in range(20))), encoding="utf-8")
    document = load_one(path)
    assert (document.title, document.date, document.authors) == ("On pain", "2021-03-04", ("Anna One",))
    assert document.metadata["url"] == "https://example.org/pain"
    assert "Aspirin number 7 is given" in document.text
    assert "Drug: Aspirin | Dose: 500 mg" in document.text
    assert not any(word in document.text for word in ("hidden", "Imprint", "Cookies"))


def test_a_footer_keeps_the_lines_that_state_something(tmp_path: Path) -> None:
    path = tmp_path / "a.html"
    foot = (
        "<footer><nav><a href='/1'>Part 1</a></nav><p>Updated 7 April 2025 by Ann Reeve</p><p>Call 01234 567890</p>"
        "<p>© 2025 The museum</p><p><a href='/top'>Top 10</a></p><p>Follow us</p></footer></body>"
    )
    page = ARTICLE.format(paragraphs="".join(PARAGRAPH.format(n=n) for n in range(20)))
    path.write_text(page.replace("</body>", foot) if "</body>" in page else page + foot, encoding="utf-8")
    text = load_one(path).text
    assert "Updated 7 April 2025 by Ann Reeve" in text
    assert "Call 01234 567890" in text
    assert not any(word in text for word in ("© 2025", "Top 10", "Follow us", "Part 1"))


@pytest.mark.parametrize(
    "foot", ["<footer>{}</footer>", "<div class='footer'>{}</div>", "<div id='page-footer'>{}</div>"]
)
def test_a_footer_keeps_its_sentences_and_drops_those_that_are_links(tmp_path: Path, foot: str) -> None:
    path = tmp_path / "a.html"
    inner = (
        "<p>To leave the list write to friends@example.org</p><p>The yard is shut in a storm.</p>"
        "<p><a href='/h'>Help us</a> to write more pages of this.</p><p>Follow us!</p><p>All rights reserved by us.</p>"
    )
    paragraphs = "".join(PARAGRAPH.format(n=n) for n in range(9))
    path.write_text(f"<html><body><h1>The mill</h1>{paragraphs}{foot.format(inner)}</body></html>")
    text = load_one(path).text
    assert text.endswith("To leave the list write to friends@example.org\n\nThe yard is shut in a storm.")
    assert not any(words in text for words in ("Help us", "Follow us", "rights"))


def test_a_footers_line_without_an_element_of_its_own_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "a.html"
    paragraphs = "".join(f"<h2>Part {n}</h2>{PARAGRAPH.format(n=n)}" for n in range(9))
    foot = "<div class='foot'>To leave the list write to friends@example.org</div>"
    path.write_text(f"<html><body><h1>The mill</h1>{paragraphs}{foot}</body></html>")
    assert load_one(path).text.count("To leave the list write to friends@example.org") == 1


def test_a_line_of_links_is_left_out_and_a_row_of_words_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "a.html"
    menu = "<div class='nav'><a href='/'>Home</a> | <a href='/visit'>Visit</a> | <a href='/f'>Friends</a></div>"
    title = "<p><a href='/m'>The mill | Its history</a></p><p>Spring | Autumn</p>"
    paragraphs = "".join(PARAGRAPH.format(n=n) for n in range(9))
    path.write_text(f"<html><body>{menu}<h1>The mill</h1>{paragraphs}{title}{paragraphs}</body></html>")
    lines = load_one(path).text.split("\n")
    assert "Home | Visit | Friends" not in lines
    assert "Spring | Autumn" in lines


def test_lines_that_are_indented_in_the_source_are_no_lines_of_the_page(tmp_path: Path) -> None:
    path = tmp_path / "a.html"
    wrapped = (
        "<p>\n\t  For delivery put the name of\n\t  the server, your login and password in\n\t  "
        "<code>/etc/mail/passwd</code>. See the man\n          page.\n\t</p><pre>first\n    second</pre>"
    )
    path.write_text(ARTICLE.format(paragraphs=wrapped * 10), encoding="utf-8")
    text = load_one(path).text
    assert "put the name of the server, your login and password in" in text
    assert re.search(r"password in `?/etc/mail/passwd`?\. See the man page\.", text)
    assert "first\n    second" in text


@pytest.mark.parametrize("tag", ["p", "blockquote"])
def test_lines_of_the_source_are_no_lines_of_the_page(tmp_path: Path, tag: str) -> None:
    path = tmp_path / "a.html"
    wrapped = f"<{tag}>The largest allowed Dilution of\nPrecision  is\nset by <code>hdop</code> of the\nMill.</{tag}>"
    path.write_text(ARTICLE.format(paragraphs="".join(PARAGRAPH.format(n=n) for n in range(9)) + wrapped))
    assert "The largest allowed Dilution of Precision is set by hdop of the Mill." in load_one(path).text.split("\n")


def test_short_page_gives_its_visible_text(tmp_path: Path) -> None:
    path = tmp_path / "a.xhtml"
    path.write_text(
        '<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><head><title>T</title></head>'
        "<body><h2>Dose</h2><p>One<br/>two</p><ul><li>a</li><li>b</li></ul><table><tr><td>x</td><td>1</td></tr></table>"
        "<script>no()</script></body></html>"
    )
    document = load_one(path)
    assert document.text == "Dose\nOne\ntwo\n- a\n- b\nx | 1"
    assert document.title == "T"


@pytest.mark.parametrize(
    ("encoding", "head"), [("cp1251", '<meta charset="windows-1251">'), ("utf-16", ""), ("utf-8", "")]
)
def test_declared_and_marked_encodings(tmp_path: Path, encoding: str, head: str) -> None:
    path = tmp_path / "a.htm"
    path.write_bytes(f"<html><head>{head}</head><body><p>Боль и аспирин</p></body></html>".encode(encoding))
    assert load_one(path).text == "Боль и аспирин"


def test_heading_is_the_title_without_a_title_element(tmp_path: Path) -> None:
    path = tmp_path / "a.html"
    path.write_text("<h1>On <i>pain</i></h1><p>Text</p>")
    assert load_one(path).title == "On pain"


def test_citation_of_a_page(tmp_path: Path) -> None:
    path = tmp_path / "a.html"
    path.write_text(
        '<head><meta name="citation_journal_title" content="Joints"><meta name="citation_doi" content="10.1000/x">'
        '<meta property="og:site_name" content="Example Press"></head><h1>On pain</h1><p>Text</p>'
    )
    metadata = load_one(path).metadata
    assert (metadata["journal"], metadata["doi"], metadata["publisher"]) == ("Joints", "10.1000/x", "Example Press")


def test_table_of_data_is_rows_and_one_of_layout_is_not(tmp_path: Path) -> None:
    path = tmp_path / "a.html"
    cells = "<tr><th>Drug</th><th colspan=2>Dose</th></tr><tr><td>Aspirin</td><td>500</td><td>mg</td></tr>"
    layout = f"<table><tr><td><table>{cells}</table></td><td>Beside</td></tr></table>"
    path.write_text(f"<p>Before</p>{layout}<p>After</p>")
    assert load_one(path).text.split("\n") == ["Before", "Drug: Aspirin | Dose: 500 | Dose: mg", "Beside", "After"]


def test_an_infobox_keeps_its_own_rows_beside_those_of_the_table_that_it_holds(tmp_path: Path) -> None:
    inner = "<table><tr><th>Retail</th><td>Version 2312</td></tr><tr><th>Volume</th><td>Version 1808</td></tr></table>"
    outer = f"<tr><th>Developer</th><td>Microsoft</td></tr><tr><td colspan=2>{inner}</td></tr>"
    prose = f"<p>{'Office 2019 is a suite of programs for text, tables and slides. ' * 6}</p>"
    path = tmp_path / "office.html"
    path.write_text(
        f"<html><body><main><h1>Office</h1><table>{outer}<tr><th>Languages</th><td>102 languages</td></tr></table>"
        f"{prose}</main></body></html>",
        encoding="utf-8",
    )
    document = load_one(path)
    for row in ("Developer: Microsoft", "Languages: 102 languages", "Volume: Version 1808"):
        assert row in document.text


def test_a_term_stands_with_what_it_is(tmp_path: Path) -> None:
    path = tmp_path / "terms.html"
    path.write_text(
        "<html><body><h1>Words</h1><dl><dt>Cope</dt><dd>The outer mould.</dd><dt>Sprue</dt><dt>Gate</dt>"
        "<dd>A channel.</dd><dd>The metal in it.</dd><dt>Is it hot?</dt><dd>Yes.</dd></dl>"
        "<dl><dt>Shop</dt><dd><ul><li>Bells</li></ul></dd></dl></body></html>"
    )
    assert load_one(path).text.split("\n") == [
        "Words",
        "Cope: The outer mould.",
        "Sprue, Gate: A channel.",
        "Sprue, Gate: The metal in it.",
        "Is it hot? Yes.",
        "Shop",
        "- Bells",
    ]


def test_lists_of_short_items_stay_below_their_headings_and_menus_are_left_out(tmp_path: Path) -> None:
    prose = f"<p>{'The kettle boils water in three minutes, and its warranty lasts for two years. ' * 6}</p>"
    menu = "".join(f"<li><a href='/{n}'>{name}</a></li>" for n, name in enumerate(("Home", "Shop", "Jobs")))
    lists = "<h2>Covered</h2><ul><li>leaks<li>broken <b>switches</b></ul><h2>Steps</h2><ol><li>Fill<ul><li>cold water"
    page = f"<html><body><ul>{menu}</ul><h1>Kettle</h1>{prose}{lists}</ul><li>Boil</ol>{prose}</body></html>"
    (tmp_path / "kettle.html").write_text(page)
    text = load_one(tmp_path / "kettle.html").text
    assert "Covered\n- leaks\n- broken switches\nSteps\n1. Fill\n- Fill: cold water\n2. Boil\n" in text
    assert "Jobs" not in text


@pytest.mark.parametrize(
    ("shared", "own", "heading", "title"),
    [
        ("The Weekly", "Prices rise | The Weekly", "Prices rise", "Prices rise"),
        ("The Weekly", "The Weekly – Prices rise", "Prices rise", "Prices rise"),
        ("Prices rise again", "Prices rise | The Weekly", "Prices rise", "Prices rise again"),
        ("The Weekly", "The Weekly", "Prices rise", "The Weekly"),
        ("", "Prices rise | The Weekly", "Prices rise", "Prices rise | The Weekly"),
        ("", "", "Prices rise", "Prices rise"),
    ],
)
def test_the_name_of_a_site_is_not_the_title_of_its_page(tmp_path, shared, own, heading, title):
    head = f'<meta property="og:title" content="{shared}"><title>{own}</title>'
    path = tmp_path / "page.html"
    path.write_text(f"<html><head>{head}</head><body><h1>{heading}</h1><p>They rose by 3 %.</p></body></html>")
    assert load_one(path).title == title


@pytest.mark.parametrize(
    ("outer", "closing"), [("<div>", "</div>"), ("<table><tr><td>", "</td></tr></table>"), ("<ul><li>", "</li></ul>")]
)
@pytest.mark.parametrize("depth", [40, 60, 125, 1_000])
def test_deep_elements_hide_and_tell_what_shallow_ones_do(tmp_path: Path, outer: str, closing: str, depth: int) -> None:
    deep_cell = "<span>" * 30 + "100" + "</span>" * 30
    inner = (
        "<p>The berth is let.</p><p style='display:none'>Secret one</p><div hidden><p>Secret two</p></div>"
        "<script>var secret = 3;</script><p>Free <del>secret four</del> now.</p>"
        "<table><tr><th>Plot</th><th>Rent</th></tr><tr><td>North</td><td>100</td></tr>"
        f"<tr><td>South</td><td>{deep_cell}</td></tr></table>"
    )
    hiding = f"<div style='display:none'>{outer * 30}Secret five{closing * 30}</div>"
    path = tmp_path / "a.html"
    path.write_text(f"<body>{outer * depth}{inner}{hiding}{closing * depth}</body>", encoding="utf-8")
    text = load_one(path).text
    assert "ecret" not in text
    assert "The berth is let." in text
    assert "Plot: North | Rent: 100" in text
    assert "Plot: South | Rent: 100" in text


@pytest.mark.parametrize(("opening", "closing"), [("<div>word ", "</div>"), ("<p>A word</p>", "")])
def test_eight_times_the_elements_take_about_eight_times_as_long(tmp_path: Path, opening: str, closing: str) -> None:
    path = tmp_path / "a.html"
    taken = []
    for count in (2_000, 16_000):
        path.write_text(f"<body>{opening * count}{closing * count}</body>", encoding="utf-8")
        start = time.process_time()
        assert load_one(path).text.split().count("word") == count
        taken.append(time.process_time() - start)
    assert taken[1] < 18 * taken[0] + 0.5


ROWS = (("Locker", "Holder", "Key"), ("L-11", "Ada Vik", "brass"), ("L-12", "Ben Roe", "steel"))


@pytest.mark.parametrize(
    ("style", "table", "row", "cell"),
    [
        pytest.param("", "role='table'", "role='row'", "role='cell'", id="roles"),
        pytest.param(
            ".t{display:table}.r, .x{color:red;display: table-row}.c{display:table-cell}",
            "class=t",
            "class='wide r'",
            "class=c",
            id="classes",
        ),
        pytest.param(
            "", "style='display:table'", "style='display:table-row'", "style='display:table-cell'", id="styles"
        ),
    ],
)
def test_elements_that_are_shown_as_a_table_are_rows(
    tmp_path: Path, style: str, table: str, row: str, cell: str
) -> None:
    shown = "".join(f"<div {row}>{''.join(f'<div {cell}>{text}</div>' for text in cells)}</div>" for cells in ROWS)
    (tmp_path / "a.html").write_text(
        f"<html><head><title>Lockers</title><style>{style}</style></head><body><div {table}>{shown}</div></body></html>"
    )
    assert load_one(tmp_path / "a.html").text.split("\n")[-2:] == [
        "Locker: L-11 | Holder: Ada Vik | Key: brass",
        "Locker: L-12 | Holder: Ben Roe | Key: steel",
    ]


def test_a_page_laid_out_in_one_row_is_no_table(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(
        "<html><head><title>Inn</title><style>.r{display:table-row}.c{display:table-cell}</style></head><body>"
        "<div class=r><div class=c>Rooms are free</div><div class=c>Call the porter</div></div></body></html>"
    )
    assert " | " not in load_one(tmp_path / "a.html").text
