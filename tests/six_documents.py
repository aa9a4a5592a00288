"""Six small documents, which every engine of a library is tried with."""

from __future__ import annotations

import json
from pathlib import Path

from preflight_rag.state.values import Document

TEXTS = {
    "aspirin": "Aspirin lowers fever and eases pain.",
    "coffee": "Coffee contains caffeine, which keeps people awake.",
    "iron": "Iron treats anaemia, which is a lack of red blood cells.",
    "tea": "Green tea contains caffeine, and less of it than coffee.",
    "venus": "The surface of Venus is hotter than that of Mercury.",
    "zinc": "Zinc may shorten a common cold by a day.",
}
DATES = {"aspirin": "1899-03-06", "coffee": "2019", "iron": "2021-05", "tea": "2020-07-01", "zinc": "2024-01-15"}


def documents(**changed: str) -> list[Document]:
    """Six documents of one passage each, five of them dated; other texts can be given by id."""
    return [
        Document(
            id=name,
            text=text,
            title=name.capitalize(),
            source=f"https://example.org/{name}",
            date=DATES.get(name),
            metadata={"topic": "drink" if name in ("coffee", "tea") else "other", "number": number},
        )
        for number, (name, text) in enumerate((TEXTS | changed).items())
    ]


def records(path: Path, texts: dict[str, str]) -> Path:
    """A file of records."""
    path.write_text("\n".join(json.dumps({"id": name, "text": text}) for name, text in texts.items()))
    return path
