"""PubMed XML: one document for each citation that has an abstract, of articles and of chapters of books.

Books are those of NCBI's Bookshelf that PubMed cites by chapter, such as StatPearls and GeneReviews.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lxml import etree

from preflight_rag.ingest.loaders.fields import PUBMED_ABSTRACT, checked_date, in_file, iso_date, one_line, tidy
from preflight_rag.ingest.loaders.files import read_bytes
from preflight_rag.ingest.loaders.xml import named_entities_resolved
from preflight_rag.state.errors import DocumentError, EmptyDocument, UnreadableDocument
from preflight_rag.state.values import Document
from preflight_rag.text.retractions import is_retracted, marked_title

if TYPE_CHECKING:
    from lxml.etree import _Element

_CITATION, _BOOK = "MedlineCitation", "BookDocument"
_RECORDS = {"PubmedArticle": _CITATION, "PubmedBookArticle": _BOOK}
"""The element of a citation by the element of the record around it, which a file may leave out."""
_RETRACTED = "Retracted Publication"
"""The publication type of a retracted article; the notice of its retraction has "Retraction of Publication"."""


def load_pubmed(path: Path, max_bytes: int) -> Iterator[Document | DocumentError]:
    """Yield the file's citations. A lone citation has the path as its id, others `path#PMID`.

    Raises:
        UnreadableDocument: The XML is damaged; citations before the damage have been yielded.
    """
    data = read_bytes(path, max_bytes)
    has_several = len(re.findall(rb"<(?:MedlineCitation|BookDocument)[ >]", data)) > 1
    for item in read_pubmed(data, place=str(path)):
        if isinstance(item, Document):
            item = in_file(item, path, part=item.metadata["pmid"] if has_several else None)
        yield item


def read_pubmed(data: bytes, *, place: str = "PubMed") -> Iterator[Document | DocumentError]:
    """Yield the citations of PubMed XML; id and `source` are `PMID …`, `metadata["origin"]` is "D1".

    A chapter of a book has the book's title as `metadata["book"]`. A retracted publication has `metadata["retracted"]`,
    and its title says so.

    Args:
        data: A PubmedArticleSet, or what else has PubmedArticle, PubmedBookArticle or MedlineCitation elements.
        place: Where it comes from, for messages.

    Raises:
        UnreadableDocument: The XML is damaged; citations before the damage have been yielded.
    """
    events = etree.iterparse(
        io.BytesIO(named_entities_resolved(data)),
        events=("end",),
        tag=(*_RECORDS, *_RECORDS.values()),
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
    )
    try:
        for _, element in events:
            parent = element.getparent()
            if parent is not None and _RECORDS.get(parent.tag) == element.tag:
                continue  # the record around it comes later
            is_book = element.tag in ("PubmedBookArticle", _BOOK)
            yield _chapter_document(place, element) if is_book else _article_document(place, element)
            element.clear()
            while parent is not None and element.getprevious() is not None:  # to free the memory of earlier records
                del parent[0]
    except etree.XMLSyntaxError as error:
        raise UnreadableDocument(f"{place} is not well-formed XML: {error}") from error


def _article_document(place: str, record: _Element) -> Document | DocumentError:
    """Return the citation of an article as a document; an error if it has no PMID, article or abstract."""
    citation = record if record.tag == _CITATION else record.find(_CITATION)
    article = citation.find("Article") if citation is not None else None
    pmid = one_line(citation.findtext("PMID") or "") if citation is not None else ""
    if citation is None or article is None or not pmid:
        return UnreadableDocument(f"{place}: a PubMed record without PMID or article")
    text = _abstract(article)
    if not any(char.isalnum() for char in text):
        return EmptyDocument(f"{place}: PMID {pmid} has no abstract")
    metadata = _metadata(record, citation, article)
    title = _text(article.find("ArticleTitle")) or f"PMID {pmid}"
    retracted = is_retracted(title) or _RETRACTED in metadata.get("publication_types", ())
    return Document(
        id=f"PMID {pmid}",
        text=text,
        source=f"PMID {pmid}",
        title=marked_title(title, retracted),
        date=_date(article),
        authors=tuple(_authors(article)),
        metadata={"pmid": pmid, "origin": PUBMED_ABSTRACT, **metadata, **({"retracted": True} if retracted else {})},
    )


def _chapter_document(place: str, record: _Element) -> Document | DocumentError:
    """Return the citation of a book, or a chapter of one, as a document; an error if it has no PMID or abstract."""
    chapter = record if record.tag == _BOOK else record.find(_BOOK)
    pmid = one_line(chapter.findtext("PMID") or "") if chapter is not None else ""
    if chapter is None or not pmid:
        return UnreadableDocument(f"{place}: a PubMed record without PMID or chapter")
    text = _abstract(chapter)
    if not any(char.isalnum() for char in text):
        return EmptyDocument(f"{place}: PMID {pmid} has no abstract")
    dates = (chapter.find(path) for path in ("DateRevised", "ContributionDate", "Book/PubDate"))
    ids = {item.get("IdType"): one_line(item.text or "") for item in chapter.findall("ArticleIdList/ArticleId")}
    metadata: dict[str, Any] = {
        "book": _text(chapter.find("Book/BookTitle")),
        "publisher": one_line(chapter.findtext("Book/Publisher/PublisherName") or ""),
        "bookshelf": ids.get("bookaccession", ""),
        "doi": ids.get("doi", ""),
        "publication_types": [_text(element) for element in chapter.findall("PublicationType")],
        "keywords": [_text(element) for element in chapter.findall("KeywordList/Keyword")],
    }
    return Document(
        id=f"PMID {pmid}",
        text=text,
        source=f"PMID {pmid}",
        title=_text(chapter.find("ArticleTitle")) or metadata["book"] or f"PMID {pmid}",
        date=next(filter(None, (_date_in(element) for element in dates if element is not None)), None),
        authors=tuple(_authors(chapter)),
        metadata={"pmid": pmid, "origin": PUBMED_ABSTRACT, **{key: value for key, value in metadata.items() if value}},
    )


def _text(element: _Element | None) -> str:
    """Return all text inside an element on one line; "" if there is no element."""
    return one_line("".join(str(part) for part in element.itertext())) if element is not None else ""


def _abstract(article: _Element) -> str:
    """Return the abstract, a line for each part, which begins with its label if it has one: "METHODS: We …"."""
    parts = []
    for element in article.findall("Abstract/AbstractText"):
        text, label = _text(element), one_line(element.get("Label") or "")
        if text:
            parts.append(f"{label}: {text}" if label and label != "UNLABELLED" else text)
    return tidy("\n".join(parts))


def _date(article: _Element) -> str | None:
    """Return the date of the journal's issue, or else of the electronic version; None if neither has one."""
    for element in (article.find("Journal/JournalIssue/PubDate"), article.find("ArticleDate")):
        if element is not None and (date := _date_in(element)):
            return date
    return None


def _date_in(element: _Element) -> str | None:
    """Return the date in an element's year, month and day, or else the year of its `MedlineDate`; None without any."""
    date = checked_date(element.findtext("Year"), element.findtext("Month"), element.findtext("Day"))
    return date or iso_date(one_line(element.findtext("MedlineDate") or "")[: len("2024")])


def _authors(article: _Element) -> Iterator[str]:
    """Yield the names of the authors: "Ada Lund", or the name of a group."""
    for author in article.findall("AuthorList/Author"):
        first_name = author.findtext("ForeName") or author.findtext("Initials") or ""
        name = one_line(f"{first_name} {author.findtext('LastName') or ''}")
        if name := name or one_line(author.findtext("CollectiveName") or ""):
            yield name


def _metadata(record: _Element, citation: _Element, article: _Element) -> dict[str, Any]:
    """Return the metadata of an article's citation without empty values: journal, identifiers, MeSH terms, types."""
    ids = {
        str(element.get("IdType")): one_line(element.text or "")
        for element in record.findall("PubmedData/ArticleIdList/ArticleId")
    }
    metadata: dict[str, Any] = {
        "journal": one_line(article.findtext("Journal/Title") or ""),
        "doi": ids.get("doi", ""),
        "volume": one_line(article.findtext("Journal/JournalIssue/Volume") or ""),
        "issue": one_line(article.findtext("Journal/JournalIssue/Issue") or ""),
        "pages": one_line(article.findtext("Pagination/MedlinePgn") or ""),
        "pmcid": ids.get("pmc", ""),
        "mesh": [_text(element) for element in citation.findall("MeshHeadingList/MeshHeading/DescriptorName")],
        "keywords": [_text(element) for element in citation.findall("KeywordList/Keyword")],
        "publication_types": [_text(element) for element in article.findall("PublicationTypeList/PublicationType")],
    }
    return {key: value for key, value in metadata.items() if value}
