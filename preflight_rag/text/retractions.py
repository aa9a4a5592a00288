"""Retracted publications: how a title marks one, and the mark that all citations show."""

from __future__ import annotations

import re

RETRACTED = "RETRACTED: "
"""The prefix of a retracted publication's title, as publishers and PubMed write it."""

_RETRACTED_TITLE = re.compile(r"\W*(?:retracted(?: article| paper)?\s*[:\].]|retracted\s*-\s)", re.IGNORECASE)


def is_retracted(title: str) -> bool:
    """Return whether a title says that its publication was retracted: "RETRACTED: …", "[Retracted] …"."""
    return _RETRACTED_TITLE.match(title) is not None


def marked_title(title: str, retracted: bool) -> str:
    """Return a title with "RETRACTED: " before it if the publication was retracted and the title does not say so."""
    return f"{RETRACTED}{title}" if retracted and not is_retracted(title) else title
