"""Adapters: folders of published data sets, each turned into a `Collection`. Nothing is downloaded."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from preflight_rag.evaluation.collection import Collection, Query
from preflight_rag.evaluation.records import field, find, json_lines, judgements, listed, trec_judgements, unique
from preflight_rag.state.errors import UsageError
from preflight_rag.state.values import Document

BIOASQ = "github.com/Teddy-XiongGZ/MIRAGE (rawdata/bioasq)"
SCIFACT = "github.com/allenai/scifact"
BEIR = "github.com/beir-cellar/beir"
NFCORPUS = "www.cl.uni-heidelberg.de/statnlpgroup/nfcorpus"
CRANFIELD = "ir.dcs.gla.ac.uk/resources/test_collections/cran"
CISI = "ir.dcs.gla.ac.uk/resources/test_collections/cisi"
MEDQUAD = "github.com/abachaa/MedQuAD"
BIOMIX = "the publishers of BioASQ, SciFact, PubMedQA, Evidence Inference and MedQuAD"


def open_dataset(name: str, data: Path | None) -> Collection:
    """The data set in the folder `data/name`: by its name, or any folder in BEIR's form.

    Raises:
        UsageError: No such folder, or a file of the data set is missing; the message says where it is published.
        UnreadableDocument: A file holds something else than it should.
    """
    adapter, origin, folder_name = ADAPTERS.get(name, (None, BEIR, name))
    if data is None:
        raise UsageError(
            f"no folder with the data set {name!r}",
            help=f"Give --data DIR or PREFLIGHT_DATA, where DIR/{folder_name} holds the files of {origin}.",
        )
    folder = data / folder_name
    if adapter is None and not folder.is_dir():
        raise UsageError(
            f"the data set {name!r} is unknown, and {str(folder)!r} is no folder",
            help=f"Choose {' or '.join(ADAPTERS)}, or name a folder in BEIR's form ({BEIR}).",
        )
    return beir(folder) if adapter is None or (folder_name == name and in_beir_form(folder)) else adapter(folder)


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


def biomix(origin: str, title: str) -> Callable[[Path], Collection]:
    """Questions of one origin over a corpus that mixes several biomedical ones.

    corpus.jsonl and queries.jsonl (`_id`, `title`, `text`, `origin`), qrels.tsv. Only documents of the questions' own
    origin are judged, so what another origin holds counts as not relevant.
    """

    def adapter(folder: Path) -> Collection:
        corpus = find(folder, "corpus.jsonl", origin=BIOMIX)
        queries = find(folder, "queries.jsonl", origin=BIOMIX)
        qrels = find(folder, "qrels.tsv", origin=BIOMIX)
        chosen = {field(record, at, "_id") for at, record in json_lines(queries) if record.get("origin") == origin}
        return Collection(
            name=f"biomix-{origin}",
            title=f"{title} in a mixed biomedical corpus",
            source=BIOMIX,
            licence="those of its parts",
            files=(corpus, queries, qrels),
            queries=tuple(query for query in _queries(queries, "_id", "text") if query.id in chosen),
            qrels=judgements(qrels),
            documents=_documents(corpus, lambda name: name),
            corpus="biomix",
        )

    return adapter


def nfcorpus(folder: Path) -> Collection:
    """NFCorpus: short lay queries over medical abstracts, graded 1 to 3; its text comes without stop words.

    docs.jsonl (`_id`, `text`), queries.jsonl (`_id`, `title`), *.3-2-1.qrel in TREC's form.
    """
    corpus = find(folder, "docs.jsonl", origin=NFCORPUS)
    queries = find(folder, "queries.jsonl", origin=NFCORPUS)
    files = sorted(folder.glob("*.3-2-1.qrel")) or [find(folder, "test.3-2-1.qrel", origin=NFCORPUS)]
    return Collection(
        name="nfcorpus",
        title="NFCorpus",
        source=NFCORPUS,
        licence="free for academic use",
        files=(corpus, queries, *files),
        queries=_queries(queries, "_id", "title"),
        qrels={query: graded for path in files for query, graded in trec_judgements(path).items()},
        documents=_documents(corpus, lambda name: name),
    )


def classic(name: str, title: str, origin: str) -> Callable[[Path], Collection]:
    """Cranfield or CISI: docs.jsonl (`_id`, `title`, `text`), queries.jsonl (`_id`, `text`), qrels.tsv.

    A document with a grade above 0 is relevant: Cranfield's codes count down from 1, the best, to 4. Documents without
    title and text are left out.
    """

    def adapter(folder: Path) -> Collection:
        corpus = find(folder, "docs.jsonl", origin=origin)
        queries = find(folder, "queries.jsonl", origin=origin)
        qrels = find(folder, "qrels.tsv", origin=origin)
        graded = judgements(qrels)
        return Collection(
            name=name,
            title=title,
            source=origin,
            licence="none stated",
            files=(corpus, queries, qrels),
            queries=_queries(queries, "_id", "text"),
            qrels={
                query: {document: int(grade > 0) for document, grade in row.items()} for query, row in graded.items()
            },
            documents=_documents(corpus, lambda document: f"{title} {document}"),
        )

    return adapter


def medquad(folder: Path) -> Collection:
    """MedQuAD: consumer-health questions over the NIH's answers; relevant are all answers to the same question.

    qa_pairs.jsonl (`_id`, `focus`, `question`, `answer`, `url`). Each distinct question is asked once. An answer's
    title is its focus, which the question often names.
    """
    path = find(folder, "qa_pairs.jsonl", origin=MEDQUAD)
    queries: dict[str, Query] = {}
    qrels: dict[str, dict[str, int]] = {}
    for place, record in json_lines(path):
        name, question = field(record, place, "_id"), field(record, place, "question").strip()
        query = queries.setdefault(question.casefold(), Query(name, question))
        qrels.setdefault(query.id, {})[name] = 1

    def documents() -> Iterator[Document]:
        for place, record in json_lines(path):
            yield Document(
                id=field(record, place, "_id"),
                text=field(record, place, "answer").strip(),
                title=field(record, place, "focus", default=""),
                source=field(record, place, "url", default=""),
            )

    return Collection(
        name="medquad",
        title="MedQuAD",
        source=MEDQUAD,
        licence="CC BY 4.0",
        files=(path,),
        queries=tuple(queries.values()),
        qrels=qrels,
        documents=documents,
    )


ADAPTERS: dict[str, tuple[Callable[[Path], Collection], str, str]] = {
    "bioasq": (bioasq, BIOASQ, "bioasq"),
    "scifact": (scifact, SCIFACT, "scifact"),
    "biomix-bioasq": (biomix("bioasq", "BioASQ"), BIOMIX, "biomix"),
    "biomix-scifact": (biomix("scifact", "SciFact"), BIOMIX, "biomix"),
    "nfcorpus": (nfcorpus, NFCORPUS, "nfcorpus"),
    "cranfield": (classic("cranfield", "Cranfield", CRANFIELD), CRANFIELD, "cranfield"),
    "cisi": (classic("cisi", "CISI", CISI), CISI, "cisi"),
    "medquad": (medquad, MEDQUAD, "medquad"),
}
"""Name on the command line to adapter, place of publication, and the folder's name."""


def in_beir_form(folder: Path) -> bool:
    """Whether a folder holds a corpus and queries as BEIR names them."""
    return all(any(folder.glob(f"{name}.jsonl*")) for name in ("corpus", "queries"))


def _queries(path: Path, id_field: str, text_field: str) -> tuple[Query, ...]:
    read = [(Query(field(record, at, id_field), field(record, at, text_field)), at) for at, record in json_lines(path)]
    unique([(query.id, place) for query, place in read])
    return tuple(query for query, _ in read)


def _documents(path: Path, source: Callable[[str], str]) -> Callable[[], Iterator[Document]]:
    def documents() -> Iterator[Document]:
        for place, record in json_lines(path):
            name = field(record, place, "_id", "doc_id", "id")
            title = field(record, place, "title", default="")
            if text := _text(record, place) or title:
                yield Document(id=name, text=text, title=title, source=source(name))

    return documents


def _text(record: dict[str, Any], place: str) -> str:
    if "text" in record:
        return field(record, place, "text").strip()
    return " ".join(sentence.strip() for sentence in listed(record, place, "sentences", "abstract"))


def _pubmed_source(pmid: str) -> str:
    return f"https://pubmed.ncbi.nlm.nih.gov/{pmid}/"
