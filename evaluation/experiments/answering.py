"""Experiment `answering`: the whole pipeline without a language model, the extractive reader against quoted sentences.

A turn is run as in use: search, router, reader, citations; yes/no questions come with their options. The main measure,
fixed before any test question was asked, is the share of questions whose short answer (of several, the first) is right
(an F1 of at least 0.5 with a right answer) and that cite a right passage with it. The sentence reader has no short
answers; it passes if its first line, or the first group of a COrg answer, contains a right answer word for word, and so
does the extractive reader if it gives no short answer. A right passage is from a document that is known to give the
answer, or, in the mixed corpus, one that contains its words; its quote must contain them too. For yes/no the right
option counts, with a gold document cited.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from langchain_core.messages import HumanMessage

from evaluation.compare import compare
from evaluation.experiments.reading import READER, SENTENCES, open_named
from evaluation.intervals import wilson
from evaluation.reading_metrics import holds, is_right
from evaluation.report import Report, Table, number
from evaluation.rows import ScoreRow
from evaluation.runs import ExperimentRun
from evaluation.samples import DataSet, Sample
from evaluation.searching import collection_library, inputs
from preflight_rag.graph.build import RECURSION_LIMIT, build_graph
from preflight_rag.graph.outcome import answer_of
from preflight_rag.library.library import Library
from preflight_rag.offline.reader import OfflineReader
from preflight_rag.state.context import Context, Settings
from preflight_rag.state.values import Answer

HEADLINE = "short"
MEASURES = {
    "short": "right short answer, right passage cited %",
    "shown": "right answer anywhere, right passage cited %",
    "text": "right answer anywhere %",
    "recall": "right answers shown, of all %",
    "gold_cited": "gold document cited %",
    "wrong": "a wrong answer shown %",
    "abstained": "abstained %",
}
"""The column of each measure of a question."""


@dataclass(frozen=True)
class Turn:
    """One reader's answer to a question.

    Attributes:
        measures: Each of `MEASURES`, in [0, 1].
        words: Length of the answer's text, without citation marks.
        found: Whether a right passage was among those that the turn read.
        answer: The answer.
        short: The text that counts as its short answer.
    """

    measures: dict[str, float]
    words: int
    found: bool
    answer: Answer
    short: str


def run(collection: DataSet, run: ExperimentRun) -> Report:
    """Ask each question with both readers over the same library."""
    extractive = open_named(run.extractive_reader)
    queries = collection.select(run.part, run.limit)
    own = "default" if run.extractive_reader.endswith(".onnx") else run.extractive_reader
    with collection_library(collection, run) as library:
        systems = {
            READER: (OfflineReader(library.embedder, extractive), Settings(extractive_reader=own)),
            SENTENCES: (OfflineReader(library.embedder), Settings(extractive_reader="none")),
        }
        turns_of = asyncio.run(_ask_all(library, collection, queries, systems, run))
        given = inputs(collection, library, k=Settings().k, extractive_reader=extractive.name)
    asked = [row for query, turns in zip(queries, turns_of, strict=True) for row in _rows(query, turns)]
    parts = {}
    for kind in ("all", *sorted({query.label for query in queries})):
        chosen = [row for row in asked if kind in ("all", row.condition)]
        turns = [t for query, t in zip(queries, turns_of, strict=True) if kind in ("all", query.label)]
        parts[kind] = _compared(kind, chosen, turns, run.seed)
    return Report(
        experiment="answering",
        dataset=collection.title,
        about=f"{len(queries):,} questions ({run.part} part), {given['library']['documents']:,} documents.",
        tables=tuple(table for table, _ in parts.values()),
        rows=tuple(asked),
        figures={kind: numbers for kind, (_, numbers) in parts.items()},
        inputs=given,
    )


async def _ask_all(
    library: Library,
    collection: DataSet,
    queries: Sequence[Sample],
    systems: dict[str, tuple[OfflineReader, Settings]],
    run: ExperimentRun,
) -> list[dict[str, Turn]]:
    """Ask all questions with every system, and return for each question the turn of each system."""
    graph: Any = build_graph().compile()
    found = []
    for query in run.each(queries, f"{collection.name}: questions"):
        options, turns = ["yes", "no"] if query.kind == "yes/no" else [], {}
        for name, (reader, settings) in systems.items():
            asked = {"messages": [HumanMessage(query.question)], "options": options}
            context = Context(reader, library, settings)
            state = await graph.ainvoke(asked, {"recursion_limit": RECURSION_LIMIT}, context=context)
            answer = answer_of(state, reader=reader, settings=settings)
            turns[name] = judge(query, answer, library, [ref["id"] for ref in state["passage_refs"]])
        found.append(turns)
    return found


def judge(sample: Sample, answer: Answer, library: Library, selected: Sequence[str]) -> Turn:
    """Return an answer measured against the known facts about its question.

    Args:
        sample: The question, with its right answers.
        answer: The turn's answer.
        library: The collection's library.
        selected: Ids of the passages that the turn read.
    """
    gold = list(zip(sample.answers, sample.evidence, strict=True))
    passages = library.passages(selected)
    cited = [(citation.document_id, citation.quote) for citation in answer.citations]
    found = any(
        passage.document_id in documents or (sample.by_words and holds(passage.text, names))
        for passage in passages
        for names, documents in gold
    )
    gold_cited = any(document in documents for document, _ in cited for _, documents in gold)
    if sample.kind == "yes/no":
        right = answer.choice == sample.right and not answer.abstained
        short, cited_too = answer.choice or "", right and gold_cited
        right_by = {"short": cited_too, "shown": cited_too, "text": right}
        recall = float(right)
    else:
        short = short_answer(answer)
        shown = [not answer.abstained and holds(answer.answer, names) for names, _ in gold]
        supported = [_supported(names, cited, None if sample.by_words else documents) for names, documents in gold]
        brief = [not answer.abstained and _is_short(answer, short, names) for names, _ in gold]
        right_by = {
            "short": any(a and b for a, b in zip(brief, supported, strict=True)),
            "shown": any(a and b for a, b in zip(shown, supported, strict=True)),
            "text": any(shown),
        }
        recall = sum(shown) / len(gold)
    wrong = not answer.abstained and any(holds(answer.answer, [text]) for text in sample.wrong)
    measures = {**right_by, "recall": recall, "gold_cited": gold_cited, "wrong": wrong, "abstained": answer.abstained}
    return Turn({key: float(value) for key, value in measures.items()}, _words(answer), found, answer, short)


def short_answer(answer: Answer) -> str:
    """Return the short answer; of several, the first.

    If there is none, return the text of the first group or the first line.
    """
    if answer.short_answer:
        return answer.short_answer.split("; ")[0]
    return answer.groups[0].answer if answer.groups else _lines(answer)[0]


def _is_short(answer: Answer, short: str, names: Sequence[str]) -> bool:
    """Return whether a reader's short answer, or else its short text, contains a right answer."""
    return is_right(short, names) or (not answer.short_answer and holds(short, names))


def _supported(names: Sequence[str], cited: Sequence[tuple[str, str]], among: Collection[str] | None) -> bool:
    """Return whether a cited quote contains the answer, from one of these documents or, with None, from any."""
    return any((among is None or document in among) and holds(quote, names) for document, quote in cited)


def _lines(answer: Answer) -> list[str]:
    """Return the lines of an answer that are not empty."""
    return [line for line in answer.answer.splitlines() if line.strip()] or [""]


def _words(answer: Answer) -> int:
    """Return the number of words of an answer, citation marks left out."""
    return sum(not word.startswith("[") for word in answer.answer.split())


def _compared(
    kind: str, rows: Sequence[ScoreRow], turns: Sequence[dict[str, Turn]], seed: int
) -> tuple[Table, dict[str, Any]]:
    """Return a table of both readers on the same questions, with their paired difference."""
    any_wrong = any(row.score for row in rows if row.measure == "wrong")
    measured = [measure for measure in MEASURES if measure != "wrong" or any_wrong]
    found = compare(rows, by="measure", columns=measured, pairs=[(READER, SENTENCES)], seed=seed)
    ceiling = wilson(sum(row[READER].found for row in turns), len(turns))
    test = found.tests[f"{HEADLINE}: {READER} − {SENTENCES}"]
    note = (
        f"A right passage is among those read: {number(ceiling, percent=True)} %. First column: only the reader is "
        f"right {test.wins} times, only the sentence reader {test.losses} times (McNemar's exact test: "
        f"p = {test.p:.2g}). "
        "[95 %: Wilson for shares, bootstrap for recall and the paired differences.]"
    )
    table = found.means(f"{len(turns):,} questions: {kind}", note, head="system", intervals="", differences=True)
    words = {}
    for name in (READER, SENTENCES):
        words[name] = f"{sum(row[name].words for row in turns) / len(turns):.0f}"
    columns = ("system", *(MEASURES[name] for name in measured), "words")
    table = replace(table, columns=columns, rows=tuple((*row, words.get(row[0], "")) for row in table.rows))
    return table, {**found.figures, "words": words, "ceiling": ceiling.as_json()}


def _rows(query: Sample, turns: dict[str, Turn]) -> Iterator[ScoreRow]:
    """Yield the measures of each reader's turn."""
    for system, turn in turns.items():
        details = {
            "question": query.question,
            "gold": [list(names) for names in query.answers],
            "found": turn.found,
            "words": turn.words,
            "route": turn.answer.route.name,
            "short": turn.short,
            "answer": turn.answer.answer,
            "choice": turn.answer.choice,
            "cited": [citation.document_id for citation in turn.answer.citations],
        }
        for place, (name, value) in enumerate(turn.measures.items()):
            yield ScoreRow(query.id, query.label, system, value, measure=name, details={} if place else details)
