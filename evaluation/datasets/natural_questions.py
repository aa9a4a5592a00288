"""Natural Questions: questions to Google with a page of Wikipedia each, and the spans that answer them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from evaluation.datasets.files import collected, entries, field, in_sentences, json_lines, whole_number
from evaluation.samples import DataSet, Sample, Span
from preflight_rag.state.errors import UsageError
from preflight_rag.state.values import Document

SOURCE = "ai.google.com/research/NaturalQuestions"
LICENCE = "Apache-2.0; Wikipedia's text CC BY-SA"
BLOCKS = frozenset(["P", "H1", "H2", "H3", "H4", "Li", "Tr", "Table", "Dd", "Dt", "Dl", "Ul", "Ol", "Th", "Td"])
"""Tags that end a line, so that two cells or paragraphs do not become one sentence."""


def questions(folder: Path, name: str) -> DataSet:
    """Return the questions that have a short answer, each about one page.

    nq-*.jsonl or *simplified-nq-*.jsonl, gzipped or not: on each line a question with `example_id`, `question_text`,
    `annotations` [{`short_answers` [{`start_token`, `end_token`}]}], and the page as `document_text` (simplified:
    tokens separated by spaces, including tags) or as `document_tokens` [{`token`, `html_token`}] (original).
    """
    paths = sorted({*folder.glob("*nq-*.jsonl"), *folder.glob("*nq-*.jsonl.gz")})
    if not paths:
        raise UsageError(f"there is no nq-*.jsonl in {str(folder)!r}", help=f"The data set is published at {SOURCE}.")
    read: list[tuple[str, Sample]] = []
    pages: dict[str, str] = {}
    for path in paths:
        for place, record in json_lines(path):
            text, tokens = _page(record, place)
            stretches = dict.fromkeys(_short_answers(record, place, tokens))
            if not stretches:
                continue
            page = field(record, place, "example_id")
            pages[page] = text
            names = tuple(dict.fromkeys(" ".join(text[start:end].split()) for start, end in stretches))
            asked = field(record, place, "question_text")
            read.append((place, Sample(page, asked, "short", answers=(names,), documents=frozenset({page}),
                                       document=page, spans=tuple((span,) for span in stretches))))  # fmt: skip

    def corpus() -> Iterator[Document]:
        return (Document(id=page, text=text, source=page) for page, text in pages.items())

    return DataSet(name, "Natural Questions", SOURCE, LICENCE, tuple(paths), collected(read, paths[0]), corpus)


def units(folder: Path, name: str) -> DataSet:
    """Return the questions over the sentences of each page."""
    return in_sentences(questions(folder, name))


def _page(record: dict[str, Any], place: str) -> tuple[str, list[Span]]:
    """Return the page's text without tags, and the span of each of its tokens; a tag has an empty one."""
    if "document_tokens" in record:
        tokens = [
            (field(token, place, "token"), bool(token.get("html_token")))
            for token in entries(record, place, "document_tokens")
        ]
    else:
        words = field(record, place, "document_text").split(" ")
        tokens = [(word, word.startswith("<") and word.endswith(">") and len(word) > 2) for word in words]
    parts: list[str] = []
    places: list[Span] = []
    length = 0
    for token, is_tag in tokens:
        shown = ("\n" if token.strip("</>").split(" ")[0] in BLOCKS else "") if is_tag else f"{token} "
        places.append((length, length if is_tag else length + len(token)))
        parts.append(shown)
        length += len(shown)
    return "".join(parts), places


def _short_answers(record: dict[str, Any], place: str, tokens: list[Span]) -> Iterator[Span]:
    """Yield the character spans of a record's short answers."""
    for annotation in entries(record, place, "annotations"):
        for answer in entries(annotation, place, "short_answers"):
            first, last = whole_number(answer, place, "start_token"), whole_number(answer, place, "end_token") - 1
            if first <= last:
                yield tokens[first][0], tokens[last][1]
