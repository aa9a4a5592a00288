"""XML by what its root element says: PubMed records, PMC's JATS articles, or a web page."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from lxml import etree

from preflight_rag.library.loaders.files import open_binary
from preflight_rag.library.loaders.html import load_html
from preflight_rag.library.loaders.jats import load_jats
from preflight_rag.library.loaders.pubmed import load_pubmed
from preflight_rag.library.loaders.xmltree import local
from preflight_rag.state.errors import DocumentError, UnreadableDocument, UnsupportedDocument
from preflight_rag.state.values import Document

_PUBMED_ROOTS = ("PubmedArticleSet", "PubmedArticle", "MedlineCitationSet", "MedlineCitation")
_JATS_ROOTS = ("article", "pmc-articleset")


def load_xml(path: Path, max_bytes: int) -> Iterator[Document | DocumentError]:
    """The documents of an XML file.

    Raises:
        UnsupportedDocument: Its root element is of another kind.
        UnreadableDocument: It is not well-formed.
    """
    root = _root_name(path)
    if root in _PUBMED_ROOTS:
        yield from load_pubmed(path, max_bytes)
    elif root in _JATS_ROOTS:
        yield from load_jats(path, max_bytes)
    elif root == "html":
        yield from load_html(path, max_bytes)
    else:
        raise UnsupportedDocument(
            f"{path} is XML of another kind (<{root}>)", help="PubMed records and PMC articles (JATS) are read"
        )


def _root_name(path: Path) -> str:
    """Local name of the root element, from the beginning of the file."""
    parser = etree.XMLPullParser(events=("start",), resolve_entities=False, no_network=True, load_dtd=False)
    try:
        with open_binary(path) as file:
            while chunk := file.read(65536):
                parser.feed(chunk)
                for _, element in parser.read_events():
                    if isinstance(element, etree._Element):
                        return local(element)
    except (etree.XMLSyntaxError, EOFError, OSError) as error:
        raise UnreadableDocument(f"{path} is not well-formed XML: {error}") from error
    raise UnreadableDocument(f"{path} is not well-formed XML: no element in it")
