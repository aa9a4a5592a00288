"""XML: which loader reads a file of it, and a parser that is safe with what strangers send.

No entities are expanded, no DTD is read, nothing is fetched, and lxml's limits on depth and size stay on.
"""

from __future__ import annotations

import re
from html.entities import html5
from pathlib import Path
from typing import TYPE_CHECKING
from zipfile import ZipFile

from lxml import etree
from lxml.etree import XMLSyntaxError

from preflight_rag.ingest.loaders.files import open_binary
from preflight_rag.state.errors import UnreadableDocument

if TYPE_CHECKING:
    from lxml.etree import _Element

__all__ = ["XMLSyntaxError", "core_properties", "local", "named_entities_resolved", "parse_xml", "xml_loader"]

_LOADERS = {
    "pubmed": ("PubmedArticleSet", "PubmedArticle", "MedlineCitationSet", "MedlineCitation"),
    "jats": ("article", "pmc-articleset"),
    "html": ("html",),
}
_LOADER_OF = {root: name for name, roots in _LOADERS.items() for root in roots}

_ENTITY = re.compile(rb"&([A-Za-z][A-Za-z0-9]{1,31});")
_XML_ENTITIES = (b"amp", b"lt", b"gt", b"quot", b"apos")


def xml_loader(path: Path) -> str:
    """Name of the loader for an XML file, by its root element: pubmed, jats, html, or xml_tree for any other.

    Raises:
        UnreadableDocument: It is not well-formed.
    """
    return _LOADER_OF.get(_root_name(path), "xml_tree")


def parse_xml(data: bytes) -> _Element:
    """Return the root element of `data`.

    Raises:
        XMLSyntaxError: It is not well-formed.
    """
    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, remove_comments=True, remove_pis=True
    )
    return etree.fromstring(named_entities_resolved(data), parser)


def named_entities_resolved(data: bytes) -> bytes:
    """Return `data` with HTML's named characters (`&alpha;`) as numbers, because no DTD is read."""

    def number(match: re.Match[bytes]) -> bytes:
        """Return a matched named character as a numeric one."""
        if match[1] in _XML_ENTITIES:
            return match[0]
        character = html5.get(match[1].decode() + ";", "")
        return "".join(f"&#{ord(char)};" for char in character).encode() or match[0]

    return _ENTITY.sub(number, data)


def local(element: _Element) -> str:
    """Return the element's name without its namespace; empty for entities and the like."""
    return element.tag.rsplit("}", 1)[-1] if isinstance(element.tag, str) else ""


def _root_name(path: Path) -> str:
    """Local name of the root element, from the beginning of the file; "" of DocBook, whose article is none of JATS."""
    parser = etree.XMLPullParser(events=("start",), resolve_entities=False, no_network=True, load_dtd=False)
    try:
        with open_binary(path) as file:
            while chunk := file.read(65536):
                parser.feed(chunk)
                for _, element in parser.read_events():
                    if isinstance(element, etree._Element):
                        return "" if "docbook" in str(element.tag) else local(element)
    except (etree.XMLSyntaxError, EOFError, OSError) as error:
        raise UnreadableDocument(f"{path} is not well-formed XML: {error}") from error
    raise UnreadableDocument(f"{path} is not well-formed XML: no element in it")


def core_properties(archive: ZipFile) -> dict[str, str]:
    """Return an office document's properties (title, creator, created, …) by local name; {} without any.

    They are read here, because the libraries for workbooks and presentations use the current time if a document
    names none.
    """
    try:
        core = parse_xml(archive.read("docProps/core.xml"))
    except (KeyError, XMLSyntaxError):
        return {}
    return {str(item.tag).rsplit("}", 1)[-1]: item.text.strip() for item in core if item.text and item.text.strip()}
