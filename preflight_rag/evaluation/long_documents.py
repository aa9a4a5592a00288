"""Readers of long documents in which people marked where a question is answered. Nothing is downloaded.

Each experiment makes collections of its own from what is read here: `span_datasets`, `unit_datasets`,
`summary_datasets`.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from preflight_rag.evaluation.records import as_published, field, json_lines, whole_number
from preflight_rag.evaluation.samples import DataSet, Sample, Span
from preflight_rag.state.errors import UnreadableDocument, UsageError
from preflight_rag.state.values import Document

COVIDQA = "github.com/deepset-ai/COVID-QA"
EVIDENCE_INFERENCE = "github.com/jayded/evidence-inference"
QMSUM = "github.com/Yale-LILY/QMSum"
FINANCEBENCH = "github.com/patronus-ai/financebench"


@dataclass(frozen=True)
class Meeting:
    """A transcript of QMSum.

    Attributes:
        number: Its place in the file.
        turns: Speaker and what was said.
        specific: Queries about a part of the meeting, each with the (first, last) turns that answer it.
        general: Queries about the whole meeting, each with the answer that annotators wrote.
        specific_answers: What annotators wrote as the answer to each specific query.
    """

    number: int
    turns: tuple[tuple[str, str], ...]
    specific: tuple[tuple[str, tuple[tuple[int, int], ...]], ...]
    general: tuple[tuple[str, str], ...]
    specific_answers: tuple[str, ...] = ()

    @property
    def lines(self) -> list[str]:
        """The turns as lines of a text."""
        return [f"{speaker}: {said}\n" for speaker, said in self.turns]


def open_adapted(
    name: str, data: Path | None, adapters: Mapping[str, tuple[Callable[[Path], DataSet], str]], lacks: str
) -> DataSet:
    """The data set in the folder `data/name`, by its adapter; with each adapter stands where its files are published.

    Raises:
        UsageError: It has no adapter (the message says what it `lacks`), or a file is missing.
        UnreadableDocument: A file holds something else than it should.
    """
    if name not in adapters:
        raise UsageError(f"the data set {name!r} {lacks}", help=f"Choose {' or '.join(adapters)}.")
    adapter, origin = adapters[name]
    if data is None:
        raise UsageError(
            f"no folder with the data set {name!r}",
            help=f"Give --data DIR or PREFLIGHT_DATA, where DIR/{name} holds the files of {origin}.",
        )
    with as_published(name):
        return adapter(data / name)


def texts(path: Path, id_field: str) -> Iterator[Document]:
    """The documents of a file with an id and a `text` a line."""
    for place, record in json_lines(path):
        name = field(record, place, id_field)
        yield Document(id=name, text=field(record, place, "text"), source=name)


def covidqa_questions(path: Path) -> Iterator[Sample]:
    """COVID-QA's questions.jsonl: `id`, `document_id`, `question`, `answers` [{`text`, `answer_start`}].

    Spans whose place is not known are in words only.
    """
    for place, record in json_lines(path):
        worded = tuple(field(item, place, "text") for item in entries(record, place, "answers"))
        located = [
            (whole_number(item, place, "answer_start"), text)
            for item, text in zip(record["answers"], worded, strict=True)
            if item.get("answer_start") is not None
        ]
        yield Sample(
            field(record, place, "id"),
            field(record, place, "question"),
            answers=(worded,) if worded else (),
            document=field(record, place, "document_id"),
            spans=tuple(((start, start + len(text)),) for start, text in located),
        )


def evidence_questions(path: Path) -> Iterator[Sample]:
    """Evidence Inference's prompts_annotated_v2.jsonl as questions; each annotator's valid evidence is an alternative.

    `prompt_id`, `pmcid`, `intervention`, `comparator`, `outcome`, `annotations` [{`start`, `end`, `valid_label`}].
    """
    for place, record in json_lines(path):
        intervention, comparator, outcome = (
            field(record, place, name) for name in ("intervention", "comparator", "outcome")
        )
        valid = (item for item in record.get("annotations") or () if item.get("valid_label", True))
        marked = {(item["start"], item["end"]) for item in valid if item["end"] > item["start"]}
        yield Sample(
            field(record, place, "prompt_id"),
            f"What is the effect of {intervention} compared with {comparator} on {outcome}?",
            document=field(record, place, "pmcid"),
            spans=tuple((stretch,) for stretch in sorted(marked)),
        )


def meetings(path: Path) -> Iterator[Meeting]:
    """QMSum's val.jsonl, one meeting a line.

    `meeting_transcripts` [{`speaker`, `content`}], `specific_query_list` [{`query`, `answer`, `relevant_text_span`
    [[first, last turn]]}], `general_query_list` [{`query`, `answer`}]. Spans are cut at the last turn.
    """
    for number, (place, record) in enumerate(json_lines(path)):
        turns = entries(record, place, "meeting_transcripts")
        specific = entries(record, place, "specific_query_list")
        general = entries(record, place, "general_query_list")
        yield Meeting(
            number,
            tuple((field(turn, place, "speaker"), field(turn, place, "content")) for turn in turns),
            tuple((field(asked, place, "query"), _spans(asked, place, len(turns) - 1)) for asked in specific),
            tuple((field(asked, place, "query"), field(asked, place, "answer")) for asked in general),
            tuple(field(asked, place, "answer", default="") for asked in specific),
        )


def filing_questions(path: Path) -> Iterator[tuple[Sample, list[tuple[str, int]]]]:
    """FinanceBench's questions, each with the quotes that are its evidence and their pages, counted from 1.

    financebench_open_source.jsonl: `financebench_id`, `doc_name`, `question`, `answer`, `evidence` [{`evidence_text`,
    `evidence_page_num`}].
    """
    for place, record in json_lines(path):
        name, asked, document = (field(record, place, key) for key in ("financebench_id", "question", "doc_name"))
        told = field(record, place, "answer", default="")
        quotes = [
            (field(item, place, "evidence_text"), whole_number(item, place, "evidence_page_num") + 1)
            for item in entries(record, place, "evidence")
        ]
        yield Sample(name, asked, answers=((told,),) if told else (), document=document), quotes


def filings(folder: Path, names: Iterable[str]) -> Iterator[tuple[str, Document]]:
    """The filings of these names as the product reads their PDF files, each with its name."""
    from preflight_rag.library.loaders import load

    for name in names:
        for loaded in load(folder / f"{name}.pdf"):
            if not isinstance(loaded, Document):
                raise UnreadableDocument(f"{name}.pdf cannot be read: {loaded}")
            yield name, loaded


def on_page(document: Document, quote: str, page: int) -> Span | None:
    """Where a quote stands, on a page and the next one, by letters and digits alone; None where it does not."""
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


def entries(record: dict[str, Any], place: str, name: str) -> list[dict[str, Any]]:
    """The list of objects that the record has under this name.

    Raises:
        UnreadableDocument: It has none.
    """
    found = record.get(name)
    if not isinstance(found, list) or not all(isinstance(entry, dict) for entry in found):
        raise UnreadableDocument(f"{place}: {name} is no list of objects", help="Fix the line.")
    return found


def _spans(asked: dict[str, Any], place: str, last_turn: int) -> tuple[tuple[int, int], ...]:
    try:
        spans = [(int(first), min(int(last), last_turn)) for first, last in asked.get("relevant_text_span", ())]
    except (TypeError, ValueError):
        raise UnreadableDocument(f"{place}: a relevant_text_span is no pair of turns", help="Fix the line.") from None
    return tuple((first, last) for first, last in spans if first <= last)
