"""Which files of this folder there are, and what each of them says; `§` are the two digits of a file."""

from __future__ import annotations

_LEASE = {
    "header": "LB-7§10", "footer": "K§3", "footnote": "4§1 crowns", "endnote": "8§2 kilograms", "comment": "6§3 crowns",
    "insertion": "1§4 feet", "text box": "5§5", "alternative text": "3§6", "list": "9§7", "cells": "2§8", "last": "7§9",
}  # fmt: skip
_STORES = {
    "code": "CL-§1", "number": "1§4", "second code": "FE-§3", "decimals": "Price: 19.", "second sheet": "555-0§8",
    "last": "555-1§9", "comment": "6§7", "formula": "FORMULA",
}  # fmt: skip
_ORCHARD = {"title": "Orchard register §", "code": "A§2", "cells": "7§2 kg", "last row": "8§3 kg", "after": "9§4"}
_KILN = {
    "text": "1§1 degrees", "note": "2§2", "term": "3§3 kilograms", "list": "4§4", "quote": "5§5", "picture": "6§6",
    "code": "7§7", "cell": "8§8", "last": "9§9",
}  # fmt: skip
PANDOC_TABLE = [
    ("orchard-pipe.md", "markdown-simple_tables-multiline_tables-grid_tables", ()),
    ("orchard-grid.md", "markdown-simple_tables-multiline_tables-pipe_tables", ()),
    ("orchard-simple.md", "markdown-pipe_tables-grid_tables", ()),
    ("orchard.adoc", "asciidoc", ()),
    ("orchard-asciidoctor.adoc", "asciidoctor", ()),
    ("orchard-grid.rst", "rst", ()),
    ("orchard-multiline.md", "markdown-pipe_tables-grid_tables-simple_tables", ()),
    ("orchard-plain.txt", "plain", ()),
    ("orchard.html", "html5", ()),
    ("orchard-github.md", "gfm", ()),
]
PANDOC_WHOLE = [
    ("kiln.docx", "docx"), ("kiln.odt", "odt"), ("kiln.rtf", "rtf"), ("kiln.epub", "epub3"), ("kiln.pptx", "pptx"),
    ("kiln.html", "html4"), ("kiln.rst", "rst"), ("kiln.adoc", "asciidoctor"), ("kiln.md", "markdown"),
    ("kiln-jats.xml", "jats_archiving"), ("kiln.tex", "latex"),
]  # fmt: skip


def without(facts: dict[str, str], *places: str) -> dict[str, str]:
    """Return facts without those of places that a program does not write."""
    return {place: fact for place, fact in facts.items() if place not in places}


_OF_FILES = {
    **{name: _ORCHARD for name, _, _ in PANDOC_TABLE},
    **{name: _KILN for name, _ in PANDOC_WHOLE if name != "kiln.tex"},
    "kiln.rtf": without(_KILN, "picture"),  # pandoc writes the picture alone
    "lease-lo.docx": _LEASE,
    "lease-lo.odt": _LEASE,
    "lease-lo.rtf": _LEASE,
    "lease-lo.pdf": without(_LEASE, "comment", "alternative text"),  # which are not printed
    "stores-lo.xlsx": _STORES,
    "stores-lo.xls": _STORES,
    "stores-lo.ods": _STORES,
    "stores-lo.csv": without(_STORES, "second sheet", "last", "comment"),
    "stores-lo.html": _STORES,
    "stores-lo.pdf": {
        # A sheet prints as much of a text as its cell holds; what is cut off runs into the cell behind it.
        **without(_STORES, "comment", "second code", "second sheet"),
        "number": "Stock: 1§4",
        "decimals": "Price: 19.§",
    },
    "lease-lo.fodt": _LEASE,
    "stores-lo.fods": without(_STORES, "comment"),  # LibreOffice drops it there
    "kiln.tex": _KILN,
}
NUMBERS = {name: 20 + number for number, name in enumerate(_OF_FILES)}
"""The two digits of each file."""


def facts_of(name: str) -> dict[str, str]:
    """Return what a file says, by the place where it stands."""
    digits = NUMBERS[name]
    formula = f"{int(f'3{digits}') * 2500}"  # three hundred and some cleats at 2.50, by the thousand
    return {
        place: fact.replace("§", str(digits)).replace("FORMULA", formula) for place, fact in _OF_FILES[name].items()
    }


FACTS = {name: facts_of(name) for name in _OF_FILES}
"""By file, its facts by place."""
