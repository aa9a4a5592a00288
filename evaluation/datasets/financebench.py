"""FinanceBench: questions about filings, with quotes and pages as evidence."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from evaluation.datasets.files import (
    about_documents,
    collected,
    entries,
    field,
    find,
    json_lines,
    whole_number,
)
from evaluation.samples import Context, DataSet, Sample, Span, Spans
from preflight_rag.ingest.loaders import load
from preflight_rag.state.errors import UnreadableDocument
from preflight_rag.state.values import Document

SOURCE = "github.com/patronus-ai/financebench"
LICENCE = "none stated; the filings are public"
QUESTIONS = "financebench_open_source.jsonl"


def questions(folder: Path, name: str) -> DataSet:
    """Return questions about filings, with the quotes that are their evidence; the corpus is the PDF files.

    financebench_open_source.jsonl as `_asked` reads it, and pdfs/*.pdf. Questions about missing filings have no
    relevant document; a passage's source is its file and page.
    """
    path, pdfs = find(folder, QUESTIONS, origin=SOURCE), folder / "pdfs"
    there = [document.stem for document in sorted(pdfs.glob("*.pdf"))]

    def read() -> Iterator[tuple[str, Sample]]:
        for asked, quotes in _asked(path):
            filing = asked.document
            given = tuple(
                Context(f"{asked.id}/{i}", filing, quote, role="gold", source=f"{filing}.pdf#{page}")
                for i, (quote, page) in enumerate(quotes)
            )
            documents = frozenset({filing} & set(there))
            answerable = True if given else None
            sample = replace(asked, document="", given=given, answerable=answerable, documents=documents)
            yield f"{path.name}: {asked.id}", sample

    def corpus() -> Iterator[Document]:
        return (document.model_copy(update={"id": filing}) for filing, document in filings(pdfs, there))

    samples = collected(read(), path)
    return DataSet(name, "FinanceBench", SOURCE, LICENCE, (path,), samples, corpus if there else None)


def spans(folder: Path, name: str) -> DataSet:
    """Return questions about filings (pdfs/*.pdf), with text and page of the evidence; 10 filings are used.

    The evidence is looked for on its page by its letters and digits; questions with evidence that is not found are left
    out. Annual and quarterly reports (10-K, 10-Q) are left out too: one of them takes as long to embed as all the other
    filings.
    """
    path, pdfs = find(folder, QUESTIONS, origin=SOURCE), folder / "pdfs"
    asked = [
        (question, quotes)
        for question, quotes in _asked(path)
        if not question.document.endswith(("10K", "10Q")) and (pdfs / f"{question.document}.pdf").is_file()
    ]

    def located(ids: Collection[str]) -> Iterator[tuple[Document, Mapping[str, Spans]]]:
        for filing, document in filings(pdfs, ids):
            found: dict[str, Spans] = {}
            for question, quotes in asked:
                if question.document == filing:
                    spans = [on_page(document, *quote) for quote in quotes]
                    if None not in spans:
                        found[question.id] = (tuple(filter(None, spans)),)
            yield document, found

    samples = [question for question, _ in asked]
    names = list(dict.fromkeys(question.document for question in samples))

    def documents() -> Iterator[Document]:
        return (document for _, document in filings(pdfs, names))

    title = "FinanceBench, filings as PDF"
    made = about_documents(name, title, SOURCE, LICENCE, (path,), samples, documents, 10)
    return replace(made, located=located)


def _asked(path: Path) -> Iterator[tuple[Sample, list[tuple[str, int]]]]:
    """Yield the questions, each with the quotes that are its evidence and their pages, counted from 1.

    financebench_open_source.jsonl: `financebench_id`, `doc_name`, `question`, `answer`, `evidence` [{`evidence_text`,
    `evidence_page_num`}].
    """
    for place, record in json_lines(path):
        name, asked, document = (field(record, place, key) for key in ("financebench_id", "question", "doc_name"))
        answer = field(record, place, "answer", default="")
        quotes = [
            (field(item, place, "evidence_text"), whole_number(item, place, "evidence_page_num") + 1)
            for item in entries(record, place, "evidence")
        ]
        yield Sample(name, asked, answers=((answer,),) if answer else (), document=document), quotes


def filings(folder: Path, names: Iterable[str]) -> Iterator[tuple[str, Document]]:
    """Yield the named filings, as the product reads their PDF files, each with its name."""
    for name in names:
        for loaded in load(folder / f"{name}.pdf"):
            if not isinstance(loaded, Document):
                raise UnreadableDocument(f"{name}.pdf cannot be read: {loaded}")
            yield name, loaded


def on_page(document: Document, quote: str, page: int) -> Span | None:
    """Return the span of a quote on a page and the next one, by letters and digits alone; None if it is not there."""
    starts = dict(document.pages)
    if page not in starts:
        return None
    begin, offsets = starts[page], [start for _, start in document.pages]
    following = bisect_right(offsets, begin) + 1
    end = offsets[following] if following < len(offsets) else len(document.text)
    positions = [begin + match.start() for match in re.finditer(r"[^\W_]", document.text[begin:end])]
    squeezed = "".join(document.text[position] for position in positions).casefold()
    wanted = re.sub(r"[\W_]", "", quote).casefold()
    at = squeezed.find(wanted) if wanted and len(squeezed) == len(positions) else -1
    return None if at < 0 else (positions[at], positions[at + len(wanted) - 1] + 1)
