"""NFCorpus: short lay queries over medical abstracts."""

from __future__ import annotations

from pathlib import Path

from evaluation.datasets.beir import documents_of, queries_of
from evaluation.datasets.files import find, trec_judgements
from evaluation.samples import DataSet

SOURCE = "www.cl.uni-heidelberg.de/statnlpgroup/nfcorpus"
LICENCE = "free for academic use"


def collection(folder: Path, name: str) -> DataSet:
    """Return NFCorpus: short lay queries over medical abstracts, graded 1 to 3; its text comes without stop words.

    docs.jsonl (`_id`, `text`), queries.jsonl (`_id`, `title`), *.3-2-1.qrel in TREC's form.
    """
    corpus, queries = (find(folder, file, origin=SOURCE) for file in ("docs.jsonl", "queries.jsonl"))
    qrels = sorted(folder.glob("*.3-2-1.qrel")) or [find(folder, "test.3-2-1.qrel", origin=SOURCE)]
    relevance = {query: graded for path in qrels for query, graded in trec_judgements(path).items()}
    samples = queries_of(queries, "_id", "title", relevance)
    documents = documents_of(corpus, lambda document: document)
    files = (corpus, queries, *qrels)
    return DataSet(name, "NFCorpus", SOURCE, LICENCE, files, samples, documents, relevance)
