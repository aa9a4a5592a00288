"""TriviaQA: trivia with the pages of Wikipedia, or of the web, that are evidence for an answer."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from evaluation.datasets.files import collected, entries, field, in_sentences, json_file, listed, mapping
from evaluation.reading_metrics import holds
from evaluation.samples import DataSet, Sample
from preflight_rag.state.errors import UsageError
from preflight_rag.state.values import Document

SOURCE = "nlp.cs.washington.edu/triviaqa"
LICENCE = "Apache-2.0; documents as their publishers state"
FILES = ("wikipedia-dev.json", "verified-wikipedia-dev.json", "web-dev.json")


def questions(folder: Path, name: str) -> DataSet:
    """Return the questions, each about the first of its pages that contains an answer.

    qa/wikipedia-dev.json (or one of `FILES`): `Data` [{`QuestionId`, `Question`, `Answer` {`Value`, `Aliases`},
    `EntityPages` or `SearchResults` [{`Filename`, `Title`}]}], beside evidence/wikipedia/ or evidence/web/ with the
    pages. Questions whose pages are missing, or contain no answer, are left out.
    """
    places = chain.from_iterable((folder / "qa" / name, folder / name) for name in FILES)
    path = next((place for place in places if place.is_file()), None)
    if path is None:
        raise UsageError(
            f"there is no qa/{FILES[0]} in {str(folder)!r}", help=f"The data set is published at {SOURCE}."
        )
    kind, field_name = ("web", "SearchResults") if path.name.startswith("web") else ("wikipedia", "EntityPages")
    evidence = folder / "evidence" / kind
    read: list[tuple[str, Sample]] = []
    pages: dict[str, tuple[str, Path]] = {}
    for number, entry in enumerate(entries(mapping(json_file(path), path.name), path.name, "Data"), 1):
        place = f"{path.name} question {number}"
        answer = mapping(entry.get("Answer"), place)
        names = tuple(dict.fromkeys((field(answer, place, "Value"), *listed(answer, place, "Aliases"))))
        for page in entries(entry, place, field_name):
            file = evidence / field(page, place, "Filename")
            if file.is_file() and holds(file.read_text(encoding="utf-8"), names):
                pages[page["Filename"]] = (field(page, place, "Title", default=""), file)
                asked = field(entry, place, "QuestionId"), field(entry, place, "Question")
                read.append((place, Sample(*asked, "short", answers=(names,), document=page["Filename"],
                                           documents=frozenset({page["Filename"]}))))  # fmt: skip
                break

    def corpus() -> Iterator[Document]:
        for page, (title, file) in pages.items():
            yield Document(id=page, title=title, text=file.read_text(encoding="utf-8"), source=page)

    return DataSet(name, "TriviaQA", SOURCE, LICENCE, (path,), collected(read, path), corpus)


def units(folder: Path, name: str) -> DataSet:
    """Return the questions over the sentences of each page."""
    return in_sentences(questions(folder, name))
