"""Experiment `citations`: whether the passages that an answer cites support its statements, and its quotes stand there.

A turn is taken as in use. Each statement of its answer is held to the passages that it cites: it is supported when one
of them holds it word for word, or says yes to it as the extractive reader reads it (`models.statements`, whatever model
wrote the answer). A quote is verbatim when the stored passage holds it at its place, character for character.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from preflight_rag.evaluation.experiments.reading import open_named
from preflight_rag.evaluation.harness.arms import answered, ask_arms
from preflight_rag.evaluation.intervals import Estimate, bootstrap
from preflight_rag.evaluation.papers.turns import asked, open_turns
from preflight_rag.evaluation.plots import Axis, Bars, Series, recorded
from preflight_rag.evaluation.reading_metrics import holds
from preflight_rag.evaluation.report import Report, Table, figures, number
from preflight_rag.evaluation.samples import DataSet, Sample
from preflight_rag.models.reading.statements import check
from preflight_rag.text.citations import MARK, claims_of_answer
from preflight_rag.text.sentences import sentence_spans

if TYPE_CHECKING:
    import numpy as np

    from preflight_rag.evaluation.runs import Run
    from preflight_rag.models.reading.extractive_reader import ExtractiveReader
    from preflight_rag.state.values import Answer, Passage

KINDS = ("yes/no", "claim", "short", "list", "long")
MEASURES = {
    "supported": ("supported", "judged"),
    "word for word": ("exact", "judged"),
    "contradicted": ("contradicted", "judged"),
    "quotes verbatim": ("verbatim", "quotes"),
    "gold documents among the cited": ("gold", "cited"),
    "sentences without a citation": ("uncited", "sentences"),
}
"""Name of a share to what is counted, and of how many."""


@dataclass(frozen=True)
class Held:
    """An answer's statements and quotes held to the stored passages, as counts.

    Attributes:
        judged: Statements with a cited passage that is there.
        exact: Of these, those that such a passage holds word for word.
        supported: Those, and those to which the extractive reader finds a yes.
        contradicted: Those to which it clearly finds a no, and no yes.
        quotes: Citations.
        verbatim: Of these, those whose quote the passage holds at its place.
        cited: Distinct documents cited, where gold documents are known.
        gold: Of these, gold ones.
        sentences: Sentences of the answer.
        uncited: Of these, those without a citation.
    """

    judged: int
    exact: int
    supported: int
    contradicted: int
    quotes: int
    verbatim: int
    cited: int
    gold: int
    sentences: int
    uncited: int


def run(found: DataSet, run: Run) -> Report:
    """Answer each question by the router's choice and hold the answer to its passages."""
    questions = asked(found, run, KINDS)
    answers: dict[str, Answer] = {}
    with open_turns(found, questions, run) as turns:
        arm = turns.arm("router", "auto", lambda question, answer: answers.update({question.id: answer}))
        cases = asyncio.run(ask_arms([arm], questions, turns.sources, turns.asking))
        reader = open_named(run.extractive_reader)
        held: dict[str, tuple[Held, list[dict[str, Any]]]] = {}
        for done, case in enumerate(kept := answered(cases), 1):
            answer = answers.get(case.question.id)
            if answer is not None and not answer.abstained:
                ids = {citation.n: citation.passage_id for citation in answer.citations if citation.passage_id}
                passages = dict(zip(ids, turns.searched.library.passages(list(ids.values())), strict=True))
                held[case.question.id] = hold(case.question, answer, passages, reader)
            run.progress("statements", done, len(kept))
        given = {**turns.given, "extractive_reader": reader.name}
    table, numbers = _table(answers, held, run.seed)
    silent = len(kept) - len(held)
    numbers["abstained or failed"] = silent + len(cases) - len(kept)
    return Report(
        experiment="citations",
        dataset=found.title,
        about=f"{len(questions):,} questions ({run.part} part), model {given['model']}; {len(held):,} answers, "
        f"{numbers['abstained or failed']:,} abstentions and failures.",
        tables=(table,),
        rows=tuple({**case.as_json(), **_told(held.get(case.question.id))} for case in cases),
        figures=numbers,
        inputs=given,
        plots=_plots(numbers),
    )


def hold(
    question: Sample, answer: Answer, passages: Mapping[int, Passage], reader: ExtractiveReader
) -> tuple[Held, list[dict[str, Any]]]:
    """An answer held to the passages that it cites, and what was found of each statement.

    Args:
        question: What was asked.
        answer: The turn's answer.
        passages: The cited passages, as they are stored, by the answer's numbers.
        reader: What reads; one without verdicts leaves what is word for word.
    """
    said = claims_of_answer(answer.answer, answer.groups)
    said = [claim for claim in said if any(n in passages for n in claim.citations)]
    verdicts = check(reader, answer.standalone_question, said, passages)
    told = []
    for place, claim in enumerate(said):
        exact = any(holds(passages[n].text, [claim.text]) for n in claim.citations if n in passages)
        verdict = verdicts[place] if verdicts else None
        supported = exact or bool(verdict and verdict.supported)
        against = bool(verdict and verdict.contradicted) and not exact
        told.append(
            {"text": claim.text, "citations": list(claim.citations), "exact": exact, "supported": supported,
             "contradicted": against, "score": verdict.score if verdict else None}
        )  # fmt: skip
    verbatim = sum(
        citation.verified and citation.n in passages
        and passages[citation.n].text[citation.start : citation.end] == citation.quote
        for citation in answer.citations
    )  # fmt: skip
    cited = {citation.document_id for citation in answer.citations} if question.documents else set()
    sentences = _sentences(answer.answer)
    counts = {key: sum(bool(row[key]) for row in told) for key in ("exact", "supported", "contradicted")}
    return Held(
        judged=len(told),
        **counts,
        quotes=len(answer.citations),
        verbatim=verbatim,
        cited=len(cited),
        gold=len(cited & question.documents),
        sentences=len(sentences),
        uncited=sum(not MARK.search(sentence) for sentence in sentences),
    ), told


def _sentences(text: str) -> list[str]:
    """The sentences of an answer, each with the marks that follow it."""
    spans = sentence_spans(text)
    ends = [start for start, _ in spans[1:]] + [len(text)]
    pieces = [text[start:end] for (start, _), end in zip(spans, ends, strict=True)]
    return [piece for piece in pieces if any(character.isalpha() for character in MARK.sub("", piece))]


def _table(
    answers: Mapping[str, Answer], held: Mapping[str, tuple[Held, list[dict[str, Any]]]], seed: int
) -> tuple[Table, dict[str, Any]]:
    """The shares over all answers and by route."""
    groups: dict[str, list[Held]] = {"all": [counts for counts, _ in held.values()]}
    for name, (counts, _) in held.items():
        groups.setdefault(answers[name].route.name.replace("_", "/"), []).append(counts)
    rows, numbers = [], {}
    for name, items in groups.items():
        shares = {measure: _ratio(items, *parts, seed=seed) for measure, parts in MEASURES.items()}
        statements = sum(item.judged for item in items)
        rows.append((name, str(len(items)), str(statements), *(number(e, percent=True) for e in shares.values())))
        numbers[name] = {"answers": len(items), "statements": statements, **figures(shares)}
    note = (
        "Percent of all statements, quotes, documents or sentences of the answers, abstentions aside [95 %: "
        "bootstrap over answers]. Supported: word for word in a cited passage, or by the extractive reader's verdict; "
        "contradicted by that verdict."
    )
    return Table("Answers held to what they cite", ("route", "answers", "statements", *MEASURES), tuple(rows), note), (
        numbers
    )


def _ratio(items: Sequence[Held], counted: str, among: str, *, seed: int) -> Estimate:
    """A share of all statements (or quotes, ...) of some answers; answers are what is drawn anew."""

    def statistic(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
        import numpy as np

        totals = whole.sum(axis=-1)
        ratios: np.ndarray = np.where(totals > 0, part.sum(axis=-1) / np.maximum(totals, 1), np.nan)
        return ratios

    return bootstrap(
        statistic, [getattr(item, counted) for item in items], [getattr(item, among) for item in items], seed=seed
    )


def _plots(numbers: Mapping[str, Any]) -> tuple[Bars, ...]:
    routes = [name for name, told in numbers.items() if isinstance(told, dict)]
    shown = ("supported", "word for word", "quotes verbatim")
    return (
        Bars(
            "Answers held to what they cite",
            Axis("share", percent=True, low=0, high=1),
            tuple(routes),
            tuple(Series(name, tuple(recorded(numbers[route][name]) for route in routes)) for name in shown),
            note="Of all statements or quotes, by route. Intervals: 95 %, bootstrap over answers.",
        ),
    )


def _told(held: tuple[Held, list[dict[str, Any]]] | None) -> dict[str, Any]:
    return {} if held is None else {"statements": held[1], "counts": asdict(held[0])}
