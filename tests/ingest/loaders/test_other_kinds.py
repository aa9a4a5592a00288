"""Subtitles, notebooks, feeds, maps, and XML of any kind: what they say is read as what it is.

The files of `made_files/kinds` are by pandoc 2.17 out of one text: DocBook 5 and 4, TEI and a notebook.
"""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from preflight_rag.ingest.loaders import load
from preflight_rag.ingest.loaders.read_report import READ_REPORT
from preflight_rag.state.errors import UnreadableDocument
from preflight_rag.state.values import Document

MADE = Path(__file__).parents[2] / "made_files" / "kinds"


def documents(path: Path, text: str) -> list[Document]:
    path.write_text(text, encoding="utf-8")
    return [each for each in load(path) if isinstance(each, Document)]


def lines(path: Path, text: str) -> list[str]:
    (document,) = documents(path, text)
    return [line for line in document.text.split("\n") if line]


def test_cues_of_subtitles_are_sentences_with_their_time(tmp_path: Path) -> None:
    found = lines(
        tmp_path / "mill.srt",
        "1\n00:00:01,000 --> 00:00:04,200\nWelcome to the old mill.\n\n"
        "2\n00:00:04,500 --> 00:00:08,900\n<i>The wheel was built in 1834</i>\nby the brothers Tamm.\n\n"
        "3\n01:01:10,000 --> 01:01:13,000\n- How deep is the pond?\n- Four metres.\n",
    )
    assert found == [
        "[0:00:01] Welcome to the old mill. The wheel was built in 1834 by the brothers Tamm.",
        "[1:01:10] - How deep is the pond?",
        "[1:01:10] - Four metres.",
    ]


def test_transcript_names_who_speaks(tmp_path: Path) -> None:
    found = lines(
        tmp_path / "council.vtt",
        "WEBVTT - Council\n\nNOTE recorded in the hall\n\nSTYLE\n::cue { color: red }\n\n"
        "00:00.000 --> 00:05.000 align:start\n<v Anna Roth>The bridge is closed\n\n"
        "00:05.000 --> 00:06.000\n<v Anna Roth>The bridge is closed\n<v Anna Roth>until 9&nbsp;June.\n\n"
        "00:06.000 --> 00:09.000\n<v.loud Karl Simm>Who <00:07.000>pays?</v>\n",
    )
    assert found == [
        "Note: recorded in the hall",
        "[0:00:00] Anna Roth said: The bridge is closed until 9 June.",
        "[0:00:06] Karl Simm said: Who pays?",
    ]


@pytest.mark.parametrize(
    ("cues", "words"),
    [
        ((("1.0", "2.0", "Is the bridge safe?", "No."), ("2.5", "4.0", "Is the road safe?", "No.")),
         "Is the bridge safe? No. Is the road safe? No."),
        ((("1.0", "2.0", "Is the bridge safe?", "No."), ("2.0", "4.0", "Is the road safe?", "No.")),
         "Is the bridge safe? No. Is the road safe? No."),
        ((("1.0", "2.0", "Safe?", "No."), ("3.0", "4.0", "No.")), "Safe? No. No."),
        ((("1.0", "2.0", "The bridge"), ("2.0", "3.0", "The bridge", "is closed"),
          ("3.0", "3.1", "is closed"), ("3.1", "4.0", "is closed", "until June.")),
         "The bridge is closed until June."),
        ((("1.0", "2.0", "Live <00:01.500><c>words</c>"), ("2.0", "3.0", "Live words", "roll.")), "Live words roll."),
    ],
    ids=["question before", "question before, no pause", "again after a pause", "rolling", "rolling, with marks"],
)  # fmt: skip
def test_only_rolling_captions_are_read_once(tmp_path: Path, cues: tuple[tuple[str, ...], ...], words: str) -> None:
    blocks = [f"00:0{begins}00 --> 00:0{ends}00\n" + "\n".join(spoken) for begins, ends, *spoken in cues]
    assert lines(tmp_path / "a.vtt", "WEBVTT\n\n" + "\n\n".join(blocks)) == [f"[0:00:01] {words}"]


def test_subtitles_without_times_are_refused_with_the_way_out(tmp_path: Path) -> None:
    (tmp_path / "notes.srt").write_text("Only words.")
    with pytest.raises(UnreadableDocument, match="no times of subtitles, such as 00:00:04,500"):
        list(load(tmp_path / "notes.srt"))


def test_notebook_has_its_texts_programs_and_outputs(tmp_path: Path) -> None:
    table = "<table><tr><th>oven</th><th>loaves</th></tr><tr><td>A</td><td>310</td></tr></table>"
    cells = [
        {"cell_type": "markdown", "source": ["# Yield\n", "\n", "| Oven | Heat |\n|---|---|\n| B | 236 |"]},
        {
            "cell_type": "code",
            "source": "loss = 2.7  # percent",
            "outputs": [
                {"output_type": "stream", "text": ["Oven A loses 4.1 percent\n"]},
                {"output_type": "execute_result", "data": {"text/html": table, "text/plain": "  oven  loaves"}},
                {"output_type": "display_data", "data": {"image/png": "iVBOR", "text/plain": "<Figure>"}},
                {"output_type": "error", "ename": "KeyError", "evalue": "'flour'", "traceback": []},
            ],
        },
    ]
    (document,) = documents(tmp_path / "lab.ipynb", json.dumps({"cells": cells, "nbformat": 4}))
    assert document.title == "Yield"
    for part in ("Oven: B | Heat: 236", "loss = 2.7  # percent", "Oven A loses 4.1 percent", "oven: A | loaves: 310"):
        assert part in document.text
    assert "KeyError: 'flour'" in document.text
    assert "<Figure>" not in document.text
    assert document.metadata[READ_REPORT]["counts"]["pictures_without_text"] == 1


def test_settings_in_xml_are_lines_and_rows(tmp_path: Path) -> None:
    found = lines(
        tmp_path / "server.xml",
        '<?xml version="1.0"?><!-- The key is with Petra --><configuration version="3"><connector name="intranet"'
        ' port="8443"/><database><host>db-04.local</host><pool min="2" max="18"/></database><users>'
        '<user id="u1"><name>Adele Kron</name><role>auditor</role></user>'
        '<user id="u2"><name>Bo Berg</name><role>operator</role></user></users></configuration>',
    )
    assert found == [
        "Comment: The key is with Petra",
        "version: 3",
        "connector, name: intranet",
        "connector, port: 8443",
        "database, host: db-04.local",
        "database, pool, min: 2",
        "database, pool, max: 18",
        "users, user. | name: Adele Kron | id: u1 | role: auditor",
        "users, user. | name: Bo Berg | id: u2 | role: operator",
    ]


@pytest.mark.parametrize(
    ("shown", "words"),
    [
        ({"text/html": "<p>Oven A: <b>310</b> loaves</p>", "text/plain": "<IPython.core.display.HTML object>"},
         "Oven A: 310 loaves"),
        ({"text/html": ["<p>Oven A: ", "310 loaves</p>"]}, "Oven A: 310 loaves"),
        ({"text/html": "<pre>Oven</pre>", "text/plain": "Oven(loaves=310)"}, "```\nOven(loaves=310)\n```"),
        ({"text/html": "<script>draw()</script>", "text/plain": "<Figure>"}, "```\n<Figure>\n```"),
    ],
    ids=["object", "no plain text", "plain text", "page without words"],
)  # fmt: skip
def test_output_as_a_page_has_its_words(tmp_path: Path, shown: dict[str, object], words: str) -> None:
    cell = {"cell_type": "code", "source": "show()", "outputs": [{"output_type": "display_data", "data": shown}]}
    (document,) = documents(tmp_path / "a.ipynb", json.dumps({"cells": [cell]}))
    assert document.text == f"```\nshow()\n```\n\n{words}"


def test_notebook_before_version_4_has_all_its_sheets(tmp_path: Path) -> None:
    first = {"cells": [{"cell_type": "heading", "level": 2, "source": "Tides"}]}
    second = {"cells": [{"cell_type": "code", "input": "1", "outputs": 5}, {"cell_type": "markdown", "source": "Ebb"}]}
    (document,) = documents(tmp_path / "a.ipynb", json.dumps({"worksheets": [first, 5, second]}))
    assert document.text == "## Tides\n\n```\n1\n```\n\nEbb"


@pytest.mark.parametrize(
    ("declared", "words"),
    [
        ('"Frost &amp; Sons 3000"', "Frost & Sons 3000"),
        ('SYSTEM "file:///etc/hostname"', "product"),
        ('"one &#38;other; two"', "product"),
        ('"' + "long " * 100 + '"', "product"),
    ],
    ids=["words", "file", "nested", "long"],
)
def test_entity_leaves_the_rest_of_its_sentence(tmp_path: Path, declared: str, words: str) -> None:
    head = f'<!DOCTYPE book [<!ENTITY other "x"><!ENTITY product {declared}>]>'
    found = lines(
        tmp_path / "a.xml",
        f"{head}<book><title>Tank</title><para>The &product; holds <emphasis>up to</emphasis> &product; or 40 litres."
        "</para><para>Fill no more.</para></book>",
    )
    assert found == ["Tank", f"The {words} holds up to {words} or 40 litres.", "Fill no more."]


def test_words_of_elements_beside_each_other_are_apart(tmp_path: Path) -> None:
    (entry,) = documents(
        tmp_path / "a.xml",
        '<feed xmlns="http://www.w3.org/2005/Atom"><entry><title>Hours</title><author><name>Ann Berg</name>'
        "<email>ann@example.org</email></author><content><div><p>Closed on Monday</p><p>H<sub>2</sub>O is free "
        "(<year>1905</year>)</p></div></content></entry></feed>",
    )
    assert entry.text == "Hours\n\nClosed on Monday H2O is free (1905)"
    assert entry.authors == ("Ann Berg",)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            '<orders><order id="7">Sent<item sku="A1"><name>Pump</name><price>40</price></item>'
            '<item sku="B2"><name>Hose</name><price>12</price></item></order></orders>',
            ["order, id: 7", "order, text: Sent", "order, item. | name: Pump | sku: A1 | price: 40",
             "order, item. | name: Hose | sku: B2 | price: 12"],
        ),
        ('<hosts><host name="oak" port="1"/>;<host name="elm" port="2"/></hosts>',
         ["host. | name: oak | port: 1", "name: elm | port: 2"]),
        ('<a><fee>It costs <price currency="EUR">40</price> <b>a day</b>.</fee></a>',
         ["fee, text: It costs 40 a day.", "fee, price, currency: EUR", "fee, price, text: 40"]),
        ('<a><fee>It costs <b>40 euros</b>.</fee></a>', ["fee: It costs 40 euros."]),
        ('<report version="3.1" creator="Anna Berg"><n>5</n></report>', ["version: 3.1", "creator: Anna Berg", "n: 5"]),
        ('<RDF><Description about="u:1"><title>Tal</title><built>1905</built></Description></RDF>',
         ["Description, about: u:1", "Description, title: Tal", "Description, built: 1905"]),
    ],
    ids=["words before records", "stray sign", "attribute inside a sentence", "sentence", "root", "RDF"],
)  # fmt: skip
def test_records_in_xml_keep_their_attributes(tmp_path: Path, text: str, expected: list[str]) -> None:
    assert lines(tmp_path / "a.xml", text) == expected


def test_summary_stands_beside_the_content_of_an_entry(tmp_path: Path) -> None:
    entries = "<entry><title>A</title><summary>{}</summary><content>The pool opens at 8.</content></entry>"
    first, second = documents(
        tmp_path / "a.xml",
        f"<feed>{entries.format('Monday is for swimmers.')}{entries.format('The pool opens')}</feed>",
    )
    assert first.text == "A\n\nsummary: Monday is for swimmers.\n\nThe pool opens at 8."
    assert second.text == "A\n\nThe pool opens at 8."


def test_points_of_a_route_keep_their_words(tmp_path: Path) -> None:
    (document,) = documents(
        tmp_path / "a.gpx",
        '<gpx><rte><name>Walk</name><rtept lat="3" lon="4"><name>Mill</name><desc>Turn left</desc></rtept>'
        '<rtept lat="5" lon="6"><name>Inn</name></rtept><rtept lat="7" lon="8"><name>003</name></rtept></rte></gpx>',
    )
    assert document.text.split("\n")[1:] == [
        "rte, rtept. | name: Mill | lat: 3 | lon: 4 | desc: Turn left",
        "rte, rtept. | name: Inn | lat: 5 | lon: 6",
    ]
    assert document.metadata[READ_REPORT]["left_out"][0]["what"] == "1 point of tracks"


def test_route_keeps_its_places_and_counts_its_points(tmp_path: Path) -> None:
    (document,) = documents(
        tmp_path / "hike.gpx",
        '<gpx xmlns="http://www.topografix.com/GPX/1/1" version="1.1"><wpt lat="61.2" lon="8.4"><name>Lake hut</name>'
        '<desc>Closed on Mondays</desc></wpt><wpt lat="61.3" lon="8.5"><name>Spring</name></wpt><trk><name>Day 1</name>'
        '<trkseg><trkpt lat="61.2" lon="8.4"/><trkpt lat="61.3" lon="8.5"/></trkseg></trk></gpx>',
    )
    assert "lat: 61.2 | lon: 8.4 | name: Lake hut | desc: Closed on Mondays" in document.text
    assert "trk, name: Day 1" in document.text
    assert document.metadata[READ_REPORT]["left_out"][0]["what"] == "2 points of tracks"


def test_features_of_a_map_are_rows(tmp_path: Path) -> None:
    feature = {
        "type": "Feature",
        "properties": {"name": "Town hall", "shelter": True},
        "geometry": {"type": "Point", "coordinates": [10.39, 63.43]},
    }
    way = {**feature, "properties": {"name": "Quay"}, "geometry": {"type": "LineString", "coordinates": [[1, 2]] * 90}}
    found = lines(tmp_path / "a.geojson", json.dumps({"type": "FeatureCollection", "features": [feature, way]}))
    assert found[0].endswith("name: Town hall | shelter: true | longitude: 10.39 | latitude: 63.43")
    assert found[1].endswith("name: Quay | geometry: LineString")


@pytest.mark.parametrize(
    "feed",
    [
        "<rss version='2.0'><channel><title>News</title><item><title>Pool opens</title><pubDate>"
        "Sat, 01 Jun 2024 08:00:00 GMT</pubDate>"
        "<description>&lt;p&gt;Entry costs &lt;b&gt;4&lt;/b&gt; euros.&lt;/p&gt;</description>"
        "<category>leisure</category></item><item><title>Bridge</title><description>Closed.</description></item>"
        "</channel></rss>",
        "<feed xmlns='http://www.w3.org/2005/Atom'><title>News</title><entry><title>Pool opens</title><updated>"
        "2024-06-01T08:00:00Z</updated><content type='html'>&lt;p&gt;Entry costs 4 euros.&lt;/p&gt;</content>"
        "<category term='leisure'/></entry><entry><title>Bridge</title><summary>Closed.</summary></entry></feed>",
    ],
)
def test_each_entry_of_a_feed_is_a_document_with_its_date(tmp_path: Path, feed: str) -> None:
    pool, bridge = documents(tmp_path / "news.xml", feed)
    assert (pool.title, pool.date, bridge.title) == ("Pool opens", "2024-06-01", "Bridge")
    assert pool.text == "Pool opens\n\ncategory: leisure\n\nEntry costs 4 euros."
    assert pool.id != bridge.id


@pytest.mark.parametrize("name", ["organ-docbook.xml", "organ-article.xml", "organ-tei.xml", "organ.ipynb"])
def test_texts_by_pandoc_are_read_in_their_order(name: str) -> None:
    (document,) = load(MADE / name)
    assert isinstance(document, Document)
    places = [
        document.text.index(part)
        for part in (
            "in March and in September.",
            "Part: Pipes | Checked: 2023 | Cost: 1,120",
            "The organ has 1,204 pipes",
            "Trumpet 8 foot",
            "tuning = 442",
        )
    ]
    assert places == sorted(places)
    assert "Counted in 1998." in document.text


def test_values_that_yaml_takes_over_stand_with_their_own(tmp_path: Path) -> None:
    found = lines(
        tmp_path / "shop.yaml",
        "defaults: &defaults\n  retries: 3\n  timeout: 45s  # a page\nservices:\n  scanner:\n    <<: *defaults\n"
        "    port: 7411\n  plotter:\n    <<: *defaults\n    timeout: 90s  # ink\n    port: 7422\n",
    )
    assert found[:2] == ["defaults, retries: 3", "defaults, timeout: 45s (a page)"]
    assert found[2].endswith("key: scanner | retries: 3 | timeout: 45s (a page) | port: 7411")
    assert found[3].endswith("key: plotter | retries: 3 | timeout: 90s (ink) | port: 7422")


def test_numbered_lists_of_a_page_begin_where_it_says(tmp_path: Path) -> None:
    found = lines(
        tmp_path / "steps.html",
        "<html><body><h1>Lock</h1><p>Depth <del>7 m</del> <ins>6 m</ins> at the <abbr title='Upper Lock'>UL</abbr>, so"
        " says the UL.</p><ol start='5'><li>Call channel 12.</li><li value='9'>Wait.<ul><li>for the light</li></ul>"
        "Then go.</li></ol><ol type='A' reversed><li>Moor</li><li>Pay</li></ol></body></html>",
    )
    assert "Depth 6 m at the UL (Upper Lock), so says the UL." in found
    for line in ("5. Call channel 12.", "9. Wait.Then go.", "- Wait: for the light", "B. Moor", "A. Pay"):
        assert line in found, found


def test_mailbox_restores_lines_that_begin_as_a_mail_does(tmp_path: Path) -> None:
    head = "From ann@x.example Mon Jan  8 09:00:00 2024\nFrom: Ann Bly <ann@x.example>\nSubject: Parking\n\n"
    found = lines(tmp_path / "list.mbox", f"{head}The car park is open.\n\n>From March on it is free.\n\n")
    assert "From March on it is free." in found


def test_card_says_that_a_number_is_for_faxes(tmp_path: Path) -> None:
    card = "BEGIN:VCARD\nFN:Ngozi Okafor\nTEL;TYPE=WORK,FAX:+47 55\nCATEGORIES:clinic,board\nEND:VCARD\n"
    assert lines(tmp_path / "a.vcf", card) == [
        "Contact: Ngozi Okafor | Phone (work, fax): +47 55 | Categories: clinic, board"
    ]


def test_title_of_restructured_text_may_have_a_line_above_it(tmp_path: Path) -> None:
    (document,) = documents(tmp_path / "lake.rst", "=====\nLakes\n=====\n\nThe lake holds 3 × 10\\ :sup:`8` litres.\n")
    assert document.title == "Lakes"
    assert "The lake holds 3 × 10⁸ litres." in document.text


@pytest.mark.parametrize(
    ("begin", "end"),
    [("<div>", "</div>"), ("<ul><li>a ", ""), ("<table><tr><td>", "</td></tr></table>"), ("<blockquote>", "")],
)
@pytest.mark.parametrize("kind", ["page.html", "lab.ipynb"])
def test_what_is_nested_very_deeply_is_read_soon(tmp_path: Path, begin: str, end: str, kind: str) -> None:
    page = f"{begin * 4000}The oven holds 77 loaves.{end * 4000}"
    output = {
        "output_type": "display_data",
        "data": {"text/html": page, "text/plain": "<IPython.core.display.HTML object>"},
    }
    notebook = {"nbformat": 4, "cells": [{"cell_type": "code", "source": "show(oven)", "outputs": [output]}]}
    (tmp_path / kind).write_text(f"<html><body>{page}</body></html>" if kind == "page.html" else json.dumps(notebook))
    started = time.process_time()
    (document,) = load(tmp_path / kind)
    assert isinstance(document, Document)
    assert "The oven holds 77 loaves." in document.text
    assert time.process_time() - started < 5
