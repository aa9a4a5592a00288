"""PubMed records and PMC articles."""

from __future__ import annotations

import gzip
import re
from itertools import pairwise
from pathlib import Path

import pytest

from preflight_rag.ingest.loaders import load
from preflight_rag.ingest.loaders.read_report import report_of
from preflight_rag.state.errors import DocumentError, UnreadableDocument
from preflight_rag.state.values import Document
from preflight_rag.text.sentences import sentence_spans

CITATION = """<PubmedArticle><MedlineCitation><PMID>{pmid}</PMID><Article><Journal><JournalIssue><PubDate>
<Year>2021</Year><Month>Mar</Month></PubDate></JournalIssue><Title>Pain</Title></Journal>
<ArticleTitle>On <i>acute</i> pain.</ArticleTitle><Abstract>{abstract}</Abstract>
<AuthorList><Author><LastName>One</LastName><ForeName>Anna</ForeName></Author>
<Author><CollectiveName>The Group</CollectiveName></Author></AuthorList></Article></MedlineCitation></PubmedArticle>"""
ABSTRACT = (
    '<AbstractText Label="AIM">Is CO<sub>2</sub> &lt; 5?</AbstractText><AbstractText>&alpha; helps.</AbstractText>'
)
RUN_TOGETHER = re.compile(r"[a-z)%*][A-Z][a-z]|[a-z]%p-|\)\d+% CI")
ARTICLE = """<?xml version="1.0"?><!DOCTYPE article [<!ENTITY boom "BOOM">]>
<article xmlns:xlink="http://www.w3.org/1999/xlink"><front><article-meta>
<article-id pub-id-type="pmid">11</article-id><article-id pub-id-type="pmc">22</article-id>
<title-group><article-title>On pain</article-title></title-group>
<contrib-group><contrib contrib-type="author"><name><surname>One</surname><given-names>Anna</given-names></name>
</contrib></contrib-group><pub-date pub-type="ppub"><year>2020</year></pub-date>
<pub-date pub-type="epub"><day>4</day><month>3</month><year>2021</year></pub-date>
<abstract><p>Short &boom; one.</p></abstract></article-meta></front>
<body><sec><title>Methods</title><p>Seen before [<xref>1</xref>].<fig><label>Figure 1</label><caption>
<p>A chart</p></caption></fig> And after.</p>
<list><list-item><p>first</p></list-item><list-item><p>second</p></list-item></list>
<table-wrap><label>Table 1</label><caption><p>Doses.</p></caption><table><tr><th>Drug</th><th>Dose</th></tr>
<tr><td>Aspirin</td><td>5 mg</td></tr></table></table-wrap></sec></body>
<back><ref-list><ref>Secret reference</ref></ref-list></back></article>"""


def load_all(path: Path) -> list[Document | DocumentError]:
    return list(load(path))


def test_pubmed_set(tmp_path: Path) -> None:
    path = tmp_path / "a.xml"
    records = CITATION.format(pmid=1, abstract=ABSTRACT) + CITATION.format(pmid=2, abstract="")
    path.write_text(f"<PubmedArticleSet>{records}</PubmedArticleSet>", encoding="utf-8")
    document, error = load_all(path)
    assert isinstance(document, Document)
    assert (document.id, document.source, document.date) == (f"{path}#1", "PMID 1", "2021-03")
    assert (document.title, document.authors) == ("On acute pain.", ("Anna One", "The Group"))
    assert document.text == "AIM: Is CO2 < 5?\nα helps."
    assert document.metadata == {"pmid": "1", "origin": "D1", "journal": "Pain", "path": str(path)}
    assert "PMID 2 has no abstract" in str(error)


def test_lone_pubmed_record_has_the_path_as_id(tmp_path: Path) -> None:
    path = tmp_path / "a.xml.gz"
    path.write_bytes(
        gzip.compress(f"<PubmedArticleSet>{CITATION.format(pmid=1, abstract=ABSTRACT)}</PubmedArticleSet>".encode())
    )
    (document,) = load_all(path)
    assert isinstance(document, Document)
    assert document.id == str(path)


def test_damaged_pubmed_set_gives_what_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "a.xml"
    path.write_text("<PubmedArticleSet>" + CITATION.format(pmid=1, abstract=ABSTRACT) + "<PubmedArticle><Medl")
    loaded = load(path)
    assert isinstance(next(loaded), Document)
    with pytest.raises(UnreadableDocument, match="not well-formed"):
        next(loaded)


def test_jats_article(tmp_path: Path) -> None:
    path = tmp_path / "a.nxml"
    path.write_text(ARTICLE)
    (document,) = load_all(path)
    assert isinstance(document, Document)
    assert (document.id, document.source, document.title) == (str(path), "PMC22", "On pain")
    assert (document.date, document.authors) == ("2021-03-04", ("Anna One",))
    assert document.text.split("\n\n") == [
        "Abstract",
        "Short one.",
        "Methods",
        "Seen before [1].",
        "Figure 1. A chart.",
        "And after.",
        "- first\n- second",
        "Table 1. Doses.",
        "Table 1. Doses. | Drug: Aspirin | Dose: 5 mg",
    ]
    assert [document.text[start:].startswith(name) for start, name in document.metadata["sections"]] == [True, True]
    assert (document.metadata["pmid"], document.metadata["pmcid"]) == ("11", "PMC22")
    report = report_of(document.metadata)
    assert report is not None
    assert (report.counts["words"], report.counts["tables"]) == (len(document.text.split()), 1)
    assert report.left_out == [("1 reference", "a list of other works")]


DECLARED = """<back><ack><p>We thank the ward staff.</p></ack><fn-group>
<fn fn-type="COI-statement"><p>None declared.</p></fn><fn fn-type="supported-by"><p>The Holm Fund paid for it.</p></fn>
<fn fn-type="other"><p>Printed in Oslo.</p></fn><fn><label>1</label><p>Without children.</p></fn></fn-group>"""
FUNDED = "<funding-group><funding-statement>{text}</funding-statement></funding-group></article-meta>"


@pytest.mark.parametrize(
    ("statement", "behind"),
    [("The Holm Fund <italic>paid</italic> for it.", ""), ("Nobody paid.", "\n\nFunding\n\nNobody paid.")],
)
def test_what_authors_declare_is_read_once_under_its_heading(tmp_path: Path, statement: str, behind: str) -> None:
    path = tmp_path / "a.xml"
    text = ARTICLE.replace("<back>", DECLARED).replace("</article-meta>", FUNDED.format(text=statement))
    path.write_text(text, encoding="utf-8")
    (document,) = load_all(path)
    assert isinstance(document, Document)
    back = document.text[document.text.index("Acknowledgements") :]
    declared = "Acknowledgements\n\nWe thank the ward staff.\n\nCompeting interests\n\nNone declared.\n\nFunding\n\n"
    assert back.replace("#", "").replace("\n ", "\n") == (
        f"{declared}The Holm Fund paid for it.\n\nFootnote 1: Without children.{behind}"
    )


def test_entity_bomb_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.nxml"
    levels = "".join(f'<!ENTITY l{n + 1} "{f"&l{n};" * 10}">' for n in range(9))
    path.write_text(f'<!DOCTYPE article [<!ENTITY l0 "lol">{levels}]><article><body><p>&l9;</p></body></article>')
    with pytest.raises(UnreadableDocument, match="amplification"):
        load_all(path)


def test_entities_do_not_read_files(tmp_path: Path) -> None:
    path, secret = tmp_path / "a.nxml", tmp_path / "secret"
    secret.write_text("SECRET")
    doctype = f'<!DOCTYPE article [<!ENTITY file SYSTEM "{secret.as_uri()}">]>'
    path.write_text(f"{doctype}<article><body><p>safe &file; text</p></body></article>")
    (document,) = load_all(path)
    assert isinstance(document, Document)
    assert document.text == "safe text"


def test_set_of_articles(tmp_path: Path) -> None:
    path = tmp_path / "a.xml"
    article = ARTICLE[ARTICLE.index("<article") :].replace("&boom;", "")
    path.write_text(f"<pmc-articleset>{article}{article.replace('22', '33')}</pmc-articleset>")
    assert [item.id for item in load_all(path) if isinstance(item, Document)] == [f"{path}#PMC22", f"{path}#PMC33"]


def test_real_articles_hold_what_others_extracted(data_dir: Path) -> None:
    for path in sorted((data_dir / "ingest_docs" / "pmc_pairs").glob("*.nxml"))[:5]:
        (document,) = load_all(path)
        assert isinstance(document, Document)
        reference = path.with_suffix(".txt").read_text(encoding="utf-8")
        ours = "".join(char for char in document.text if char.isalnum())
        # Theirs runs the cells of a table's rows together; ours has the columns' names beside them.
        spans = [span for span in sentence_spans(reference) if span[1] - span[0] > 40]
        sentences = [text for start, end in spans if not RUN_TOGETHER.search(text := reference[start:end])]
        found = [text for text in sentences if "".join(char for char in text if char.isalnum()) in ours]
        assert len(found) >= 0.95 * len(sentences)
        starts = [start for start, _ in document.metadata["sections"]]
        assert all(left < right for left, right in pairwise(starts))


@pytest.mark.parametrize(
    ("kind", "heading", "origin"),
    [
        ("review-article", "Article", "D2"),
        ("research-article", "Systematic Review", "D2"),
        ("research-article", "Research Article", "D3"),
        ("book-review", "Book Review", "D3"),
    ],
)
def test_a_review_is_told_by_its_publication_type(tmp_path: Path, kind: str, heading: str, origin: str) -> None:
    group = f'<subj-group subj-group-type="heading"><subject>{heading}</subject></subj-group>'
    article = (
        ARTICLE[ARTICLE.index("<article") :]
        .replace("&boom;", "")
        .replace("<article ", f'<article article-type="{kind}" ', 1)
    )
    path = tmp_path / "a.nxml"
    path.write_text(article.replace("<title-group>", f"<article-categories>{group}</article-categories><title-group>"))
    (document,) = load_all(path)
    assert isinstance(document, Document)
    assert document.metadata["origin"] == origin


def test_where_an_article_was_published(data_dir: Path) -> None:
    (document,) = load_all(data_dir / "ingest_docs" / "pmc_pairs" / "PMC5762805.nxml")
    assert isinstance(document, Document)
    known = {key: document.metadata.get(key) for key in ("journal", "doi", "pmcid", "volume", "pages", "publisher")}
    assert known == {
        "journal": "World Journal of Surgery",
        "doi": "10.1007/s00268-017-4230-1",
        "pmcid": "PMC5762805",
        "volume": "42",
        "pages": "384-392",
        "publisher": "Springer International Publishing",
    }
