"""What the experiment `diversity` selects, as a model reads it: recall of the answer by selection and by ordering."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from preflight_rag.evaluation.harness.asking import open_asking
from preflight_rag.evaluation.papers.after_reading import Read, read_selections
from preflight_rag.evaluation.samples import Context, Sample
from preflight_rag.library.search.selection import arrange
from preflight_rag.state.reading import Source

if TYPE_CHECKING:
    from preflight_rag.evaluation.experiments.diversity import Case
    from preflight_rag.evaluation.runs import Run
    from preflight_rag.evaluation.samples import DataSet

BUDGET = 1024
"""Tokens of the selections that are read."""


def after_reading(
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
        return asyncio.run(read_selections(shown, questions, asking, baseline=base, title=title))


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
