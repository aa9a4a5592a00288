"""Ten files of each kind that people bring, by other programs: each fact, wherever it stands, is found in the index."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import office_files
import pytest
import row_files
from mail_files import MAILS
from printed_files import PDFS

from preflight_rag.library import Library

MADE = Path(__file__).parents[1] / "made_files"
sys.path.insert(0, str(MADE))

from facts import FACTS  # noqa: E402

pytestmark = pytest.mark.slow
SLIDES = {
    "survey.pptx": (office_files.presentation, {"notes": "lost in a storm", "cell": "6.9 m", "chart": "Ferries"}),
    "harbour.odp": (office_files.open_slides, {"first": "harbour in summer", "last": "harbour in winter"}),
}
WRITTEN = {**MAILS, **PDFS, **SLIDES}
OWN = {name: facts for name, (_, facts) in WRITTEN.items()}
ALL = [(name, place, fact) for files in (FACTS, OWN) for name, facts in files.items() for place, fact in facts.items()]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    folder = tmp_path_factory.mktemp("files")
    for name, (write, _) in WRITTEN.items():
        write(folder / name)
    with Library.open(tmp_path_factory.mktemp("library"), create=True) as opened:
        report = opened.ingest([folder, *(MADE / name for name in FACTS)])
        assert report.failed == []
        yield opened


@pytest.fixture(scope="module")
def indexed(library: Library) -> dict[str, str]:
    """By file, title and text of all passages in the index, those of what is attached to it, too."""
    found: dict[str, list[str]] = {}
    origins = {each["id"]: Path(each["origin"]).name for each in library.documents()}
    for passage in library.passages(library.all_passage_ids()):
        found.setdefault(origins[passage.document_id], []).append(f"{passage.title}\n{passage.text}")
    return {name: " ".join("\n".join(texts).split()) for name, texts in found.items()}


@pytest.mark.parametrize(("name", "place", "fact"), ALL)
def test_what_a_file_says_is_in_the_index(indexed: dict[str, str], name: str, place: str, fact: str) -> None:
    assert fact in indexed[name], (place, indexed[name])


@pytest.mark.parametrize(("name", "place", "fact"), ALL)
def test_a_search_for_it_finds_the_file(library: Library, name: str, place: str, fact: str) -> None:
    found = library.passages(library.passages_with([fact], 50))
    origins = {each["id"]: Path(each["origin"]).name for each in library.documents()}
    assert name in {origins[passage.document_id] for passage in found}, place


def test_there_are_ten_files_of_each_kind() -> None:
    endings = [Path(name).suffix for name in (*FACTS, *OWN, *row_files.FILES)]
    kinds = {
        "rows": (".csv", ".tsv", ".jsonl", ".json", ".xlsx", ".xls", ".ods"),
        "tables in texts": (".md", ".adoc", ".rst", ".html"),
        "lines": (".log", ".txt", ".conf", ".yaml", ".ini"),
        "documents": (".docx", ".odt", ".rtf", ".pptx", ".odp", ".epub", ".xml"),
        "mails": (".eml", ".mbox"),
        "pages": (".pdf",),
    }
    assert {kind: sum(map(endings.count, of)) >= 10 for kind, of in kinds.items()} == dict.fromkeys(kinds, True)
