"""A document's card: its title, authors, journal, date and identifiers as a passage that can be cited.

A card is made from the document's row whenever it is needed, under an id of its own; it is in no index, so that no
search finds it instead of the document's text.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from preflight_rag.ingest.loaders.read_report import READ_REPORT
from preflight_rag.state.values import Passage

_PREFIX = "card:"
_LABELS = {
    "journal": "Journal", "publisher": "Publisher", "volume": "Volume", "issue": "Issue", "pages": "Pages",
    "doi": "DOI", "pmid": "PMID", "pmcid": "PMCID", "keywords": "Keywords", "mesh": "MeSH terms",
    "publication_types": "Type", "article_type": "Type", "subject": "Subject", "category": "Category", "url": "Address",
    "total_pages": "Number of pages", "rows": "Rows",
}  # fmt: skip
"""Labels of the lines of a card, by the keys of the metadata."""
# Keys that say nothing of the document, or that `card_of` reads from the row.
_OMITTED_KEYS = frozenset(
    {"sections", "path", "origin", "row", "producer", "creator", "description", "title", "authors", "date", READ_REPORT}
)
_MOST_CHARACTERS = 300
"""Most characters of a value; longer ones are texts, not metadata. A guess."""


def card_id(document_id: str) -> str:
    """Return the id of a document's card."""
    return _PREFIX + document_id


def is_card(passage_id: str) -> bool:
    """Return whether an id is that of a card."""
    return passage_id.startswith(_PREFIX)


def document_of_card(passage_id: str) -> str:
    """Return the id of the document to which a card belongs."""
    return passage_id.removeprefix(_PREFIX)


def card_of(row: Mapping[str, Any]) -> Passage:
    """Return the card for a document's row, with one line for each known field."""
    metadata = json.loads(row["metadata"])
    authors = json.loads(row["authors"])
    date_label = "Published" if metadata.keys() & {"journal", "doi", "pmid"} else "Date"
    lines = {"Title": row["title"], "Authors": "; ".join(authors), date_label: row["date"] or ""}
    for key, value in metadata.items():
        if key in _OMITTED_KEYS:
            continue
        label = _LABELS.get(key, key.replace("_", " ").capitalize())
        if text := _one_line(value):
            # Two keys may have one label, and no key may take the place of the title.
            lines.setdefault(label, text)
    if row["source"].startswith("PMID ") and "PMID" not in lines:
        lines["PMID"] = row["source"].removeprefix("PMID ")
    path = str(metadata.get("path") or "")
    lines["File" if path else "Source"] = Path(path).name if path else row["source"]
    text = "\n".join(f"{label}: {value}" for label, value in lines.items() if value)
    return Passage(
        id=card_id(row["id"]),
        document_id=row["id"],
        text=text,
        title=row["title"],
        source=row["source"],
        date=row["date"],
        end=len(text),
        metadata={key: metadata[key] for key in ("doi", "pmcid", "pmid", "url") if key in metadata},
    )


def _one_line(value: Any) -> str:
    """Return a text, a number, or a list of these on one line; "" for any other value, or if it is too long."""
    if isinstance(value, list):
        value = "; ".join(str(item) for item in value if isinstance(item, str | int | float))
    if not isinstance(value, str | int | float) or isinstance(value, bool):
        return ""
    text = " ".join(str(value).split())
    return text if len(text) <= _MOST_CHARACTERS else ""
