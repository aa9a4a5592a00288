"""Adapters: folders of published data sets, each turned into a `Collection`. Nothing is downloaded."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from ..state.errors import UsageError
from ..state.values import Document
from .collection import Collection, Query
from .records import field, find, json_lines, judgements, listed, unique

BIOASQ = "github.com/Teddy-XiongGZ/MIRAGE (rawdata/bioasq)"
SCIFACT = "github.com/allenai/scifact"
BEIR = "github.com/beir-cellar/beir"


def open_dataset(name: str, data: Path | None) -> Collection:
    """The data set in the folder `data/name`: by its name, or any folder in BEIR's form.

    Raises:
        UsageError: No such folder, or a file of the data set is missing; the message says where it is published.
        UnreadableDocument: A file holds something else than it should.
    """
    adapter = ADAPTERS.get(name)
    origin = {"bioasq": BIOASQ, "scifact": SCIFACT}.get(name, BEIR)
    if data is None:
        raise UsageError(
            f"no folder with the data set {name!r}",
            help=f"Give --data DIR or PREFLIGHT_DATA, where DIR/{name} holds the files of {origin}.",
        )
    folder = data / name
    if adapter is None and not folder.is_dir():
        raise UsageError(
            f"the data set {name!r} is unknown, and {str(folder)!r} is no folder",
            help=f"Choose {' or '.join(ADAPTERS)}, or name a folder in BEIR's form ({BEIR}).",
        )
    in_beir_form = any((folder / file).is_file() for file in ("queries.jsonl", "queries.jsonl.gz"))
    return beir(folder) if adapter is None or in_beir_form else adapter(folder)


def bioasq(folder: Path) -> Collection:
    """BioASQ's expert questions over their gold snippets.

    corpus.jsonl (`_id` = PMID, `title`, `text` = the gold snippets of that PMID), questions.jsonl (`id`, `question`),
    qrels.tsv.
    """
    corpus = find(folder, "corpus.jsonl", origin=BIOASQ)
    questions = find(folder, "questions.jsonl", origin=BIOASQ)
    qrels = find(folder, "qrels.tsv", origin=BIOASQ)
    return Collection(
        name="bioasq",
        title="BioASQ 7B-12B, gold snippets as documents",
        source=BIOASQ,
        licence="BioASQ's terms: registration and citation",
        files=(corpus, questions, qrels),
        queries=_queries(questions, "id", "question"),
        qrels=judgements(qrels),
        documents=_documents(corpus, _pubmed_source),
    )


def scifact(folder: Path) -> Collection:
    """SciFact's claims over abstracts; relevant are the abstracts that a claim cites, as in BEIR.

    corpus.jsonl (`_id` or `doc_id`, `title`, `sentences` or `abstract`), claims.jsonl or claims_train.jsonl and
    claims_dev.jsonl (`id`, `claim`, `cited_doc_ids`; claims that cite nothing are not judged).
    """
    corpus = find(folder, "corpus.jsonl", origin=SCIFACT)
    claims = [find(folder, "claims.jsonl", "claims_train.jsonl", origin=SCIFACT)]
    if claims[0].name.startswith("claims_train"):
        claims.append(find(folder, "claims_dev.jsonl", origin=SCIFACT))
    cited = {
        field(record, place, "id"): dict.fromkeys(listed(record, place, "cited_doc_ids"), 1)
        for path in claims
        for place, record in json_lines(path)
    }
    return Collection(
        name="scifact",
        title="SciFact",
        source=SCIFACT,
        licence="claims CC BY 4.0, abstracts ODC-By 1.0",
        files=(corpus, *claims),
        queries=tuple(query for path in claims for query in _queries(path, "id", "claim")),
        qrels={claim: documents for claim, documents in cited.items() if documents},
        documents=_documents(corpus, lambda name: f"S2 {name}"),
    )


def beir(folder: Path) -> Collection:
    """Any data set in BEIR's form.

    corpus.jsonl (`_id`, `title`, `text`), queries.jsonl (`_id`, `text`), qrels/test.tsv or qrels.tsv.
    """
    corpus = find(folder, "corpus.jsonl", origin=BEIR)
    queries = find(folder, "queries.jsonl", origin=BEIR)
    qrels = find(folder, "qrels/test.tsv", "qrels.tsv", origin=BEIR)
    name = folder.resolve().name
    return Collection(
        name=name,
        title=name,
        source=BEIR,
        licence="see its publisher",
        files=(corpus, queries, qrels),
        queries=_queries(queries, "_id", "text"),
        qrels=judgements(qrels),
        documents=_documents(corpus, lambda document: document),
    )


ADAPTERS: dict[str, Callable[[Path], Collection]] = {"bioasq": bioasq, "scifact": scifact}


def _queries(path: Path, id_field: str, text_field: str) -> tuple[Query, ...]:
    read = [(Query(field(record, at, id_field), field(record, at, text_field)), at) for at, record in json_lines(path)]
    unique([(query.id, place) for query, place in read])
    return tuple(query for query, _ in read)


def _documents(path: Path, source: Callable[[str], str]) -> Callable[[], Iterator[Document]]:
    def documents() -> Iterator[Document]:
        for place, record in json_lines(path):
            name = field(record, place, "_id", "doc_id", "id")
            title = field(record, place, "title", default="")
            yield Document(id=name, text=_text(record, place) or title, title=title, source=source(name))

    return documents


def _text(record: dict[str, Any], place: str) -> str:
    if "text" in record:
        return field(record, place, "text").strip()
    return " ".join(sentence.strip() for sentence in listed(record, place, "sentences", "abstract"))


def _pubmed_source(pmid: str) -> str:
    return f"https://pubmed.ncbi.nlm.nih.gov/{pmid}/"
