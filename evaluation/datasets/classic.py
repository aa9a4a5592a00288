"""Classic test collections: Cranfield and CISI."""

from __future__ import annotations

from pathlib import Path

from evaluation.datasets.beir import documents_of, queries_of
from evaluation.datasets.files import find, judgements
from evaluation.samples import DataSet

SOURCE = "ir.dcs.gla.ac.uk/resources/test_collections"
TITLES = {"cranfield": "Cranfield", "cisi": "CISI"}
PAGES = {"cranfield": f"{SOURCE}/cran", "cisi": f"{SOURCE}/cisi"}


def collection(folder: Path, name: str) -> DataSet:
    """Return Cranfield or CISI: docs.jsonl (`_id`, `title`, `text`), queries.jsonl (`_id`, `text`), qrels.tsv.

    A document with a grade above 0 is relevant: Cranfield's codes count down from 1, the best, to 4. Documents without
    title and text are left out.
    """
    title, page = TITLES[name], PAGES[name]
    files = tuple(find(folder, file, origin=page) for file in ("docs.jsonl", "queries.jsonl", "qrels.tsv"))
    relevance = {}
    for query, row in judgements(files[2]).items():
        relevance[query] = {document: int(grade > 0) for document, grade in row.items()}
    samples = queries_of(files[1], "_id", "text", relevance)
    documents = documents_of(files[0], lambda document: f"{title} {document}")
    return DataSet(name, title, page, "none stated", files, samples, documents, relevance)
