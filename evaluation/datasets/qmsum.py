"""QMSum: meetings with queries about the whole and about parts, with annotators' answers and marked turns."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

from evaluation.datasets.files import (
    about_documents,
    collected,
    entries,
    field,
    find,
    json_lines,
    judged,
    units_of,
)
from evaluation.datasets.mediqa import summarised
from evaluation.samples import Context, DataSet, Sample, Span, passages_as_corpus
from preflight_rag.state.errors import UnreadableDocument
from preflight_rag.state.values import Document

SOURCE = "github.com/Yale-LILY/QMSum"
LICENCE = "MIT"
TITLE = "QMSum"
_NOISE = re.compile(r"\{[a-z ]+\}")

_SPACED = re.compile(r"\s+(?=[.,?!;:]|['’](?:s|m|d|t|re|ve|ll)\b)")


class MeetingQuery(NamedTuple):
    """A query about a meeting, the (first, last) turns that answer it, and the answer that annotators wrote, if any."""

    text: str
    turns: tuple[Span, ...]
    answers: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Meeting:
    """A transcript.

    Attributes:
        number: Its place in the file.
        turns: Speaker and words of each turn.
        specific: Queries about a part of the meeting.
        general: Queries about the whole meeting.
    """

    number: int
    turns: tuple[tuple[str, str], ...]
    specific: tuple[MeetingQuery, ...]
    general: tuple[MeetingQuery, ...]

    @property
    def lines(self) -> list[str]:
        """Return the turns as lines of a text."""
        return [f"{speaker}: {text}\n" for speaker, text in self.turns]

    def document(self, stem: str) -> Document:
        """Return the whole as a document; its id begins with the file's name without its extension."""
        return Document(id=f"{stem}-{self.number}", text="".join(self.lines), source=SOURCE)


def meetings(path: Path) -> Iterator[Meeting]:
    """Yield the meetings of QMSum's val.jsonl, one on each line.

    `meeting_transcripts` [{`speaker`, `content`}], `specific_query_list` [{`query`, `answer`, `relevant_text_span`
    [[first, last turn]]}], `general_query_list` [{`query`, `answer`}]. Spans are cut at the last turn.
    """
    for number, (place, record) in enumerate(json_lines(path)):
        turns = entries(record, place, "meeting_transcripts")
        spoken = tuple((field(turn, place, "speaker"), field(turn, place, "content")) for turn in turns)
        specific = entries(record, place, "specific_query_list")
        general = entries(record, place, "general_query_list")
        worded = [field(asked, place, "answer", default="") for asked in specific]
        whole = [(field(asked, place, "query"), field(asked, place, "answer")) for asked in general]
        yield Meeting(
            number,
            spoken,
            tuple(
                MeetingQuery(
                    field(asked, place, "query"), _spans(asked, place, len(turns) - 1), ((answer,),) if answer else ()
                )
                for asked, answer in zip(specific, worded, strict=True)
            ),
            tuple(MeetingQuery(text, (), ((answer,),) if answer else ()) for text, answer in whole),
        )


def _spans(asked: dict[str, Any], place: str, last_turn: int) -> tuple[tuple[int, int], ...]:
    """Return the spans of turns (first, last) that answer a query."""
    try:
        spans = [(int(first), min(int(last), last_turn)) for first, last in asked.get("relevant_text_span", ())]
    except (TypeError, ValueError):
        raise UnreadableDocument(f"{place}: a relevant_text_span is no pair of turns", help="Fix the line.") from None
    return tuple((first, last) for first, last in spans if first <= last)


def questions(folder: Path, name: str) -> DataSet:
    """Return QMSum's queries about whole meetings and parts of them, with the turns that answer; the corpus has all.

    val.jsonl, or test.jsonl, as `meetings` reads it. A meeting is one document, with one line for each turn.
    """
    path = find(folder, "val.jsonl", "test.jsonl", origin=SOURCE)
    read = list(meetings(path))
    stem = path.name.partition(".")[0]
    samples = collected(
        ((f"{path.name} line {m.number + 1}", asked) for m in read for asked in _queries(m, f"{stem}-{m.number}")), path
    )
    return DataSet(name, TITLE, SOURCE, LICENCE, (path,), samples, lambda: (m.document(stem) for m in read))


def _queries(meeting: Meeting, document: str) -> Iterator[Sample]:
    """Yield the queries about a meeting; those about a part come with the turns that answer them."""
    lines = meeting.lines
    for i, asked in enumerate(meeting.specific):
        given = tuple(
            Context(f"{document}-{i}/{first}", "", "".join(lines[first : last + 1]), role="gold", source=document)
            for first, last in asked.turns
        )
        yield _about_meeting(f"{document}-{i}", asked, document, given, "part of a meeting")
    for i, asked in enumerate(meeting.general):
        yield _about_meeting(f"{document}-whole-{i}", asked, document, (), "whole meeting")


def _about_meeting(name: str, asked: MeetingQuery, document: str, given: tuple[Context, ...], label: str) -> Sample:
    """Return a query about a meeting with the turns that answer it."""
    return Sample(
        id=name,
        question=asked.text,
        answers=asked.answers,
        given=given,
        answerable=True if given else None,
        documents=frozenset({document}),
        label=label,
    )


def spans(folder: Path, name: str) -> DataSet:
    """Return meetings, one line a turn, with the turns that each specific query is about; 15 meetings are used."""
    path = find(folder, "val.jsonl", "test.jsonl", origin=SOURCE)
    samples: list[Sample] = []
    documents: list[Document] = []
    for meeting in meetings(path):
        document = meeting.document(path.name.split(".")[0])
        documents.append(document)
        starts = list(accumulate(map(len, meeting.lines), initial=0))
        for position, asked in enumerate(meeting.specific):
            stretches = tuple((starts[first], starts[last + 1]) for first, last in asked.turns)
            if stretches:
                samples.append(
                    Sample(
                        f"{document.id}-{position}",
                        asked.text,
                        answers=asked.answers,
                        document=document.id,
                        spans=(stretches,),
                    )
                )
    return about_documents(name, TITLE, SOURCE, LICENCE, (path,), samples, lambda: iter(documents), 15)


def units(folder: Path, name: str) -> DataSet:
    """Return the specific queries over the turns of their meetings; relevant are the turns that annotators marked."""
    path = find(folder, "val.jsonl", origin=SOURCE)
    documents: list[Document] = []
    samples: list[Sample] = []
    relevance: dict[str, dict[str, int]] = {}
    for number, meeting in enumerate(meetings(path)):
        document = f"meeting{number}"
        turns = units_of(document, (f"{speaker}: {text}" for speaker, text in meeting.turns))
        documents += turns
        for asked in meeting.specific:
            sample = Sample(f"{document}:{len(samples)}", asked.text, answers=asked.answers, document=document)
            marked = {turn for first, last in asked.turns for turn in range(first, last + 1)}
            samples.append(sample)
            relevance[sample.id] = {turns[turn].id: 1 for turn in sorted(marked)}
    title, chosen = "QMSum, turns of a meeting", judged(samples, relevance)
    return DataSet(name, title, SOURCE, LICENCE, (path,), chosen, lambda: iter(documents), relevance)


def summaries(folder: Path, name: str) -> DataSet:
    """Return meetings with the answer to their first general query, which asks for a summary of the whole.

    From val.jsonl, without speakers, marks of noises and spaces before punctuation.
    """
    path = find(folder, "val.jsonl", origin=SOURCE)
    samples = []
    for meeting in meetings(path):
        document = f"meeting{meeting.number}"
        if not meeting.general:
            raise UnreadableDocument(f"{document} of {path.name} has no general query", help="Fix the line.")
        spoken = (" ".join(_NOISE.sub("", text).split()) for _, text in meeting.turns)
        text = "\n".join(_SPACED.sub("", text) for text in spoken if text)
        summary = {"abstractive": "".join(meeting.general[0].answers[0])}
        samples.append(summarised(document, meeting.general[0].text, text, summary))
    corpus = passages_as_corpus(samples)
    return DataSet(name, "QMSum, whole meetings", SOURCE, LICENCE, (path,), tuple(samples), corpus)
