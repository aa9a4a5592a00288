"""Recall after reading: how much of a known answer is still in the reply that a model makes of a selection of passages.

Diversity (section 3) tells recall before the reader, of what was selected, from recall after it, of what the answer
says. Selections are the arms; each arm reads its own passages, in the order of its selection.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from preflight_rag.evaluation.compare import compare
from preflight_rag.evaluation.harness.arms import run_arms
from preflight_rag.evaluation.harness.asking import Asking, open_asking
from preflight_rag.evaluation.reading_metrics import normalised
from preflight_rag.evaluation.report import Table
from preflight_rag.evaluation.rows import Row
from preflight_rag.evaluation.samples import Context, Sample
from preflight_rag.evaluation.stages import on_passages, plain
from preflight_rag.library.search.selection import arrange
from preflight_rag.state.reading import Source

if TYPE_CHECKING:
    from preflight_rag.evaluation.experiments.diversity import Case
    from preflight_rag.evaluation.runs import Run
    from preflight_rag.evaluation.samples import DataSet

Selections = Mapping[str, Mapping[str, tuple[Source, ...]]]
"""Name of a selection to sample id to the passages that it hands on."""
NOT_READ = "Recall after reading is left out: it needs a language model (--model) and answers in words."
RECALL = "recall after reading"
BUDGET = 1024
"""Tokens of the selections that are read."""


@dataclass(frozen=True)
class Read:
    """What came of reading selections.

    Attributes:
        tables: Recall after reading with paired differences; what was asked.
        figures: Their numbers.
        rows: The answers, recall as their scores.
        model: What read.
    """

    tables: tuple[Table, ...]
    figures: dict[str, Any]
    rows: tuple[Row, ...]
    model: str


def word_recall(text: str, answers: Sequence[str]) -> float:
    """The share of an answer's words that a text holds, normalised as SQuAD does; of the best alternative."""
    stated = Counter(normalised(text).split())
    shares = [
        sum((stated & Counter(words)).values()) / len(words)
        for answer in answers
        if (words := normalised(answer).split())
    ]
    return max(shares, default=0.0)


def read_selections(
    selections: Selections, samples: Sequence[Sample], asking: Asking, *, baseline: str, title: str
) -> Read:
    """Have the model answer each sample from each selection, and compare what the replies hold of the answers.

    Args:
        selections: Each with the passages of every sample.
        samples: With their right answers in words, as `answers`.
        asking: The run's model.
        baseline: The selection that the others are compared with.
        title: Of the table.
    """
    arms = [
        on_passages(plain(asking.prompts, name), lambda sample, _, chosen=chosen: chosen[sample.id])  # type: ignore[misc]
        for name, chosen in selections.items()
    ]
    names = {sample.id: sample.names for sample in samples}
    asked = asyncio.run(run_arms(arms, samples, lambda _: (), asking))
    rows = [_recalled(row, names[row.sample]) for row in asked]
    found = compare([replace(row, condition=RECALL) for row in rows], baseline=baseline, seed=asking.run.seed,
                    wilson=False)  # fmt: skip
    note = (
        f"{asking.name}, {found.samples:,} questions. Share of the words of the nearest right answer that the reply "
        f"holds [95 %: bootstrap; differences to {baseline}, paired]; p: sign test, corrected for {len(found.tests)} "
        "comparisons (Holm)."
    )
    tables = (found.beside_baseline(title, note, head="selection"), found.costs("What was asked"))
    return Read(tables, found.figures, tuple(rows), asking.name)


def read_picks(
    collection: DataSet,
    cases: Sequence[Case],
    systems: Mapping[str, Callable[[Case, int | None, int | None], list[int]]],
    orderings: Sequence[str],
    run: Run,
) -> Read | None:
    """Have the model read each selection in its own order, and the first one in every other ordering.

    Args:
        collection: Its documents' texts are what is read.
        cases: The questions with their candidates; those without an answer in words are left out.
        systems: Selections by name, given a case, k and a budget; the first is what the others are compared with.
        orderings: As `arrange` takes them; the first is the selections' own.
        run: Its model reads.

    Returns:
        Recall after reading; None without a language model, or where no answer is known in words.
    """
    asked = [case for case in cases if case.query.document and case.query.answers]
    texts = {document.id: document.text for document in collection.documents()} if asked else {}
    questions = [_question(case, texts) for case in asked]
    with open_asking(run, questions) as asking:
        if asking.chat_model is None or not questions:
            return None
        base = next(iter(systems))
        picks = {name: {case.query.id: pick(case, None, BUDGET) for case in asked} for name, pick in systems.items()}
        shown = {
            name: {case.query.id: _sources(case, picked[case.query.id], texts) for case in asked}
            for name, picked in picks.items()
        }
        for ordering in orderings[1:]:
            shown[f"{base}, ordering {ordering}"] = {
                case.query.id: _sources(case, _arranged(case, picks[base][case.query.id], ordering), texts)
                for case in asked
            }
        title = f"After reading {BUDGET:,} tokens"
        return read_selections(shown, questions, asking, baseline=base, title=title)


def _question(case: Case, texts: Mapping[str, str]) -> Sample:
    """The question with its answers in words, and what is relevant as the passages that give them."""
    given = tuple(Context(name, "", texts[name], role="gold") for name in sorted(case.relevant) if name in texts)
    return Sample(case.query.id, case.query.question, "long", answers=case.query.answers, given=given)


def _arranged(case: Case, picks: Sequence[int], ordering: str) -> list[int]:
    """The picks in another order; of one text, all its places count as one document's."""
    first = {text: at for at, text in reversed(list(enumerate(case.texts[index] for index in picks)))}
    order = arrange(list(picks), ordering, place=lambda index: (first[case.texts[index]], case.places[index]))
    return [picks[at] for at in order]


def _sources(case: Case, picks: Sequence[int], texts: Mapping[str, str]) -> tuple[Source, ...]:
    return tuple(Source(n, case.documents[index], "", texts[case.documents[index]]) for n, index in enumerate(picks, 1))


def _recalled(row: Row, names: Sequence[str]) -> Row:
    """The answer with its recall as score."""
    if row.score is None:
        return row
    value = 0.0 if row.details["abstained"] else word_recall(row.details["reply"], names)
    return replace(row, score=value, reason=f"word recall {value:.3f}")
