"""XML from strangers: no entities expanded, no DTD, no network, lxml's limits on depth and size left on."""

from __future__ import annotations

import re
from html.entities import html5
from typing import TYPE_CHECKING

from lxml import etree
from lxml.etree import XMLSyntaxError

if TYPE_CHECKING:
    from lxml.etree import _Element

__all__ = ["XMLSyntaxError", "local", "named_entities_resolved", "parse_xml"]

_ENTITY = re.compile(rb"&([A-Za-z][A-Za-z0-9]{1,31});")
_XML_ENTITIES = (b"amp", b"lt", b"gt", b"quot", b"apos")


def parse_xml(data: bytes) -> _Element:
    """Root element of `data`.

    Raises:
        XMLSyntaxError: It is not well-formed.
    """
    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, remove_comments=True, remove_pis=True
    )
    return etree.fromstring(named_entities_resolved(data), parser)


def named_entities_resolved(data: bytes) -> bytes:
    """`data` with HTML's named characters (`&alpha;`) as numbers, since no DTD is read that would define them."""

    def number(match: re.Match[bytes]) -> bytes:
        if match[1] in _XML_ENTITIES:
            return match[0]
        character = html5.get(match[1].decode() + ";", "")
        return "".join(f"&#{ord(char)};" for char in character).encode() or match[0]

    return _ENTITY.sub(number, data)


def local(element: _Element) -> str:
    """The element's name without its namespace; empty for entities and the like."""
    return element.tag.rsplit("}", 1)[-1] if isinstance(element.tag, str) else ""
