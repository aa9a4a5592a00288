"""Adapters: folders of published data sets, each turned into a `DataSet`. Nothing is downloaded."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from preflight_rag.evaluation.records import field, find, json_lines, judgements, listed, trec_judgements, unique
from preflight_rag.evaluation.samples import DataSet, Sample
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


def open_dataset(name: str, data: Path | None) -> DataSet:
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


def bioasq(folder: Path) -> DataSet:
    """BioASQ's expert questions over their gold snippets.

    corpus.jsonl (`_id` = PMID, `title`, `text` = the gold snippets of that PMID), questions.jsonl (`id`, `question`),
    qrels.tsv.
    """
    corpus = find(folder, "corpus.jsonl", origin=BIOASQ)
    questions = find(folder, "questions.jsonl", origin=BIOASQ)
    qrels = find(folder, "qrels.tsv", origin=BIOASQ)
    relevance = judgements(qrels)
    return DataSet(
        name="bioasq",
        title="BioASQ 7B-12B, gold snippets as documents",
        source=BIOASQ,
        licence="BioASQ's terms: registration and citation",
        files=(corpus, questions, qrels),
        samples=_queries(questions, "id", "question", relevance),
        relevance=relevance,
        corpus=_documents(corpus, _pubmed_source),
    )


def scifact(folder: Path) -> DataSet:
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
    relevance = {claim: documents for claim, documents in cited.items() if documents}
    return DataSet(
        name="scifact",
        title="SciFact",
        source=SCIFACT,
        licence="claims CC BY 4.0, abstracts ODC-By 1.0",
        files=(corpus, *claims),
        samples=tuple(query for path in claims for query in _queries(path, "id", "claim", relevance)),
        relevance=relevance,
        corpus=_documents(corpus, lambda name: f"S2 {name}"),
    )


def beir(folder: Path) -> DataSet:
    """Any data set in BEIR's form.

    corpus.jsonl (`_id`, `title`, `text`), queries.jsonl (`_id`, `text`), qrels/test.tsv or qrels.tsv.
    """
    corpus = find(folder, "corpus.jsonl", origin=BEIR)
    queries = find(folder, "queries.jsonl", origin=BEIR)
    qrels = find(folder, "qrels/test.tsv", "qrels.tsv", origin=BEIR)
    name, relevance = folder.resolve().name, judgements(qrels)
    return DataSet(
        name=name,
        title=name,
        source=BEIR,
        licence="see its publisher",
        files=(corpus, queries, qrels),
        samples=_queries(queries, "_id", "text", relevance),
        relevance=relevance,
        corpus=_documents(corpus, lambda document: document),
    )


def biomix(origin: str, title: str) -> Callable[[Path], DataSet]:
    """Questions of one origin over a corpus that mixes several biomedical ones.

    corpus.jsonl and queries.jsonl (`_id`, `title`, `text`, `origin`), qrels.tsv. Only documents of the questions' own
    origin are judged, so what another origin holds counts as not relevant.
    """

    def adapter(folder: Path) -> DataSet:
        corpus = find(folder, "corpus.jsonl", origin=BIOMIX)
        queries = find(folder, "queries.jsonl", origin=BIOMIX)
        qrels = find(folder, "qrels.tsv", origin=BIOMIX)
        chosen = {field(record, at, "_id") for at, record in json_lines(queries) if record.get("origin") == origin}
        relevance = judgements(qrels)
        return DataSet(
            name=f"biomix-{origin}",
            title=f"{title} in a mixed biomedical corpus",
            source=BIOMIX,
            licence="those of its parts",
            files=(corpus, queries, qrels),
            samples=tuple(query for query in _queries(queries, "_id", "text", relevance) if query.id in chosen),
            relevance=relevance,
            corpus=_documents(corpus, lambda name: name),
            library="biomix",
        )

    return adapter


def nfcorpus(folder: Path) -> DataSet:
    """NFCorpus: short lay queries over medical abstracts, graded 1 to 3; its text comes without stop words.

    docs.jsonl (`_id`, `text`), queries.jsonl (`_id`, `title`), *.3-2-1.qrel in TREC's form.
    """
    corpus = find(folder, "docs.jsonl", origin=NFCORPUS)
    queries = find(folder, "queries.jsonl", origin=NFCORPUS)
    files = sorted(folder.glob("*.3-2-1.qrel")) or [find(folder, "test.3-2-1.qrel", origin=NFCORPUS)]
    relevance = {query: graded for path in files for query, graded in trec_judgements(path).items()}
    return DataSet(
        name="nfcorpus",
        title="NFCorpus",
        source=NFCORPUS,
        licence="free for academic use",
        files=(corpus, queries, *files),
        samples=_queries(queries, "_id", "title", relevance),
        relevance=relevance,
        corpus=_documents(corpus, lambda name: name),
    )


def classic(name: str, title: str, origin: str) -> Callable[[Path], DataSet]:
    """Cranfield or CISI: docs.jsonl (`_id`, `title`, `text`), queries.jsonl (`_id`, `text`), qrels.tsv.

    A document with a grade above 0 is relevant: Cranfield's codes count down from 1, the best, to 4. Documents without
    title and text are left out.
    """

    def adapter(folder: Path) -> DataSet:
        corpus = find(folder, "docs.jsonl", origin=origin)
        queries = find(folder, "queries.jsonl", origin=origin)
        qrels = find(folder, "qrels.tsv", origin=origin)
        relevance = {
            query: {document: int(grade > 0) for document, grade in row.items()}
            for query, row in judgements(qrels).items()
        }
        return DataSet(
            name=name,
            title=title,
            source=origin,
            licence="none stated",
            files=(corpus, queries, qrels),
            samples=_queries(queries, "_id", "text", relevance),
            relevance=relevance,
            corpus=_documents(corpus, lambda document: f"{title} {document}"),
        )

    return adapter


def medquad(folder: Path) -> DataSet:
    """MedQuAD: consumer-health questions over the NIH's answers; relevant are all answers to the same question.

    qa_pairs.jsonl (`_id`, `focus`, `question`, `answer`, `url`). Each distinct question is asked once. An answer's
    title is its focus, which the question often names.
    """
    path = find(folder, "qa_pairs.jsonl", origin=MEDQUAD)
    queries: dict[str, Sample] = {}
    qrels: dict[str, dict[str, int]] = {}
    for place, record in json_lines(path):
        name, question = field(record, place, "_id"), field(record, place, "question").strip()
        query = queries.setdefault(question.casefold(), Sample(name, question))
        qrels.setdefault(query.id, {})[name] = 1

    def documents() -> Iterator[Document]:
        for place, record in json_lines(path):
            yield Document(
                id=field(record, place, "_id"),
                text=field(record, place, "answer").strip(),
                title=field(record, place, "focus", default=""),
                source=field(record, place, "url", default=""),
            )

    return DataSet(
        name="medquad",
        title="MedQuAD",
        source=MEDQUAD,
        licence="CC BY 4.0",
        files=(path,),
        samples=judged(queries.values(), qrels),
        relevance=qrels,
        corpus=documents,
    )


ADAPTERS: dict[str, tuple[Callable[[Path], DataSet], str, str]] = {
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


def judged(samples: Iterable[Sample], relevance: Mapping[str, Mapping[str, int]]) -> tuple[Sample, ...]:
    """The samples that a document is relevant to, each with those documents."""
    graded = ((s, frozenset(name for name, grade in relevance.get(s.id, {}).items() if grade > 0)) for s in samples)
    return tuple(replace(sample, documents=documents) for sample, documents in graded if documents)


def _queries(
    path: Path, id_field: str, text_field: str, relevance: Mapping[str, Mapping[str, int]]
) -> tuple[Sample, ...]:
    read = [(Sample(field(record, at, id_field), field(record, at, text_field)), at) for at, record in json_lines(path)]
    unique([(query.id, place) for query, place in read])
    return judged((query for query, _ in read), relevance)


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
