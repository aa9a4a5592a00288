"""The questions of the abstention experiment: five data sets, each question with its answers and its passages."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from preflight_rag.evaluation.long_documents import COVIDQA
from preflight_rag.evaluation.reader_data import CLAPNQ, NQ, RAMDOCS, XQUAD
from preflight_rag.evaluation.records import find, json_lines
from preflight_rag.library.splitting.sentence_splitter import SentenceSplitter
from preflight_rag.state.values import Document

Text = tuple[str, str]


@dataclass(frozen=True)
class Record:
    """A question, its answer strings (none: the data set calls it unanswerable), and its (title, text) passages."""

    id: str
    question: str
    answers: tuple[str, ...]
    passages: tuple[Text, ...]

    @property
    def digest(self) -> bytes:
        """Orders the records and halves them."""
        return hashlib.sha256(self.id.encode()).digest()


def nq_open(data: Path, splitter: SentenceSplitter) -> Iterator[Record]:
    """NQ-Open with its gold passages, from github.com/nelson-liu/lost-in-the-middle."""
    path = find(data / "nq_open_oracle", "nq-open-oracle.jsonl", origin=NQ)
    for _, entry in json_lines(path):
        passages = tuple((passage["title"], passage["text"]) for passage in entry["ctxs"])
        yield Record(entry["question"], entry["question"], tuple(entry["answers"]), passages)


def xquad(data: Path, splitter: SentenceSplitter) -> Iterator[Record]:
    """XQuAD English, from github.com/google-deepmind/xquad."""
    path = find(data / "xquad_en", "xquad.en.json", origin=XQUAD)
    for article in json.loads(path.read_text(encoding="utf-8"))["data"]:
        for paragraph in article["paragraphs"]:
            passages = _split(splitter, article.get("title", ""), paragraph["context"])
            for entry in paragraph["qas"]:
                answers = tuple(answer["text"] for answer in entry["answers"])
                yield Record(entry["id"], entry["question"], answers, passages)


def covidqa(data: Path, splitter: SentenceSplitter) -> Iterator[Record]:
    """COVID-QA over whole articles, from github.com/deepset-ai/COVID-QA."""
    texts = {
        entry["document_id"]: entry["text"]
        for _, entry in json_lines(find(data / "covidqa", "documents.jsonl", origin=COVIDQA))
    }
    passages: dict[int, tuple[Text, ...]] = {}
    for _, entry in json_lines(find(data / "covidqa", "questions.jsonl", origin=COVIDQA)):
        document = entry["document_id"]
        if document not in passages:
            passages[document] = _split(splitter, "", texts[document])
        answers = tuple(answer["text"] for answer in entry["answers"])
        yield Record(str(entry["id"]), entry["question"], answers, passages[document])


def clapnq(data: Path, splitter: SentenceSplitter) -> Iterator[Record]:
    """ClapNQ, answerable and unanswerable; answers are the sentences its annotators selected.

    From github.com/primeqa/clapnq.
    """
    for part in ("answerable", "unanswerable"):
        path = find(data / "clapnq", f"clapnq_dev_{part}.jsonl", origin=CLAPNQ)
        for _, entry in json_lines(path):
            selected = (sentence for output in entry["output"] for sentence in output.get("selected_sentences") or ())
            passages = tuple((passage["title"], passage["text"]) for passage in entry["passages"])
            yield Record(entry["id"], entry["input"], tuple(selected) if part == "answerable" else (), passages)


def ramdocs(data: Path, splitter: SentenceSplitter) -> Iterator[Record]:
    """RAMDocs: names that several things share, with noise; right and wrong answers both count as answers.

    From github.com/HanNight/RAMDocs.
    """
    path = find(data / "ramdocs", "RAMDocs_test.jsonl", origin=RAMDOCS)
    for _, entry in json_lines(path):
        passages = tuple(("", document["text"]) for document in entry["documents"])
        answers = (*entry["gold_answers"], *entry["wrong_answers"])
        yield Record(entry["question"], entry["question"], answers, passages)


DATASETS: dict[str, tuple[Callable[[Path, SentenceSplitter], Iterator[Record]], str]] = {
    "NQ-Open": (nq_open, "COVID-QA"),
    "XQuAD": (xquad, "COVID-QA"),
    "COVID-QA": (covidqa, "NQ-Open"),
    "ClapNQ": (clapnq, "COVID-QA"),
    "RAMDocs": (ramdocs, "COVID-QA"),
}
"""Reader of each data set's files, and the data set whose passages cannot answer its questions."""


def _split(splitter: SentenceSplitter, title: str, text: str) -> tuple[Text, ...]:
    passages = splitter.split(Document(id="record", text=text, source="record", title=title))
    return tuple((passage.title, passage.text) for passage in passages)
