"""The check of a plain answer: whether the passages that it does not cite are read again, in parts.

The answer shows what the rankings cannot. A plain answer goes on to map/reduce, once a turn, if it

- finds nothing, and an answer among the passages is likely lost, or seen by the extractive reader;
- cites nothing that supports it;
- lacks an answer that the extractive reader finds in an uncited passage, with a higher probability than any in the
  cited passages: the model has probably lost that passage. Only names, figures and verdicts can be compared with the
  text; for longer answers the citation alone counts.

Only passages that the answer does not cite are read again: all of them, in parts, or, if the reader is sure of one, the
most likely ones. The first answer is compared with their results if its citations could be verified; and if they give
nothing, it stands.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from preflight_rag.corg.agreement import same_answer
from preflight_rag.corg.comparability import Statement, is_short
from preflight_rag.corg.signals import statement_of
from preflight_rag.models.reading.extractive_reader import ExtractiveReader, pairs
from preflight_rag.routing.decision import LOST, partition
from preflight_rag.routing.expected_value import LOOKS, choose_look
from preflight_rag.routing.model_profile import PASSAGES, ModelProfile
from preflight_rag.state.context import Settings
from preflight_rag.state.errors import ExtractiveReaderError
from preflight_rag.state.reading import Draft, Extract, Source
from preflight_rag.text.citations import cited_ranks, is_verifiable, without_marks
from preflight_rag.text.question_forms import form_of
from preflight_rag.text.sentences import sentence_spans
from preflight_rag.text.values import asked_kind

if TYPE_CHECKING:
    from preflight_rag.state.schema import Escalation

_VERDICT = re.compile(r"\W*(yes|no)\b", re.IGNORECASE)


@dataclass(frozen=True)
class UncitedAnswer:
    """An answer in a passage that the given answer does not cite.

    Attributes:
        n: The passage's number.
        answer: The answer if it is short, else "".
        probability: The extractive reader's probability that it answers the question.
        likeliest: The numbers of all uncited passages, the most likely to answer first.
    """

    n: int
    answer: str
    probability: float
    likeliest: tuple[int, ...] = ()


def least_sure(profile: ModelProfile, settings: Settings) -> float:
    """Return the least probability at which an uncited answer counts as evidence against a model's answer."""
    partitions = len(partition(PASSAGES, settings.partition_size, settings.max_partitions))
    return choose_look(profile, PASSAGES, partitions, settings.thoroughness).sure


def found_elsewhere(
    question: str, draft: Draft, sources: Sequence[Source], extractive: ExtractiveReader, sure: float = LOOKS[0].sure
) -> UncitedAnswer | None:
    """Return the answer of an uncited passage, likelier than those of cited ones, that the draft lacks; else None.

    Args:
        question: The question.
        draft: The answer, with its citation marks; None is returned if it cites nothing.
        sources: All passages from which it was made.
        extractive: The model that reads them; None is returned if it fails.
        sure: The limit from `least_sure` for the model that answered.
    """
    cited = cited_ranks(draft.text, draft.quotes)
    # An answer that cites nothing is read again in any case (`escalation`).
    if not cited:
        return None
    try:
        readings = extractive.read(pairs(question, sources))
    except ExtractiveReaderError:
        return None
    kind = asked_kind(question)
    statements = {
        source.n: statement
        for source, reading in zip(sources, readings, strict=True)
        if (statement := statement_of(source.text, reading, kind)) is not None
    }
    cited_probability = max((statements[n][0] for n in cited if n in statements), default=0.0)
    uncited_statements = [
        (probability, n, statement) for n, (probability, statement) in statements.items() if n not in cited
    ]
    probability, n, best = max(
        uncited_statements, key=lambda item: (item[0], -item[1]), default=(0.0, 0, Statement(""))
    )
    # One as sure as what is cited speaks for COrg, if for anything, and COrg's gate has judged that before.
    if probability < sure or probability <= cited_probability:
        return None
    is_comparable = form_of(question) in ("value", "verdict") and is_short(best.answer)
    if is_comparable and _states_answer(draft.text, best, kind):
        return None
    answerable = {source.n: reading.answerable for source, reading in zip(sources, readings, strict=True)}
    likeliest = sorted((source.n for source in sources if source.n not in cited), key=lambda n: (-answerable[n], n))
    return UncitedAnswer(n, best.answer if is_comparable else "", probability, tuple(likeliest))


def _states_answer(text: str, statement: Statement, kind: str) -> bool:
    """Return whether a sentence of a text is the same answer; for a verdict, also if the text begins with none."""
    plain = without_marks(text)
    if kind == "verdict":
        verdict = _VERDICT.match(plain)
        return verdict is None or verdict[1].casefold() == statement.answer
    return any(same_answer(plain[slice(*span)], statement.answer) for span in sentence_spans(plain))


def nothing_to_find(
    question: str, sources: Sequence[Source], decision: Mapping[str, Any], extractive: ExtractiveReader | None
) -> bool:
    """Return whether passages in which plain reading found nothing are not worth reading again in parts.

    True if the preflight did not predict a lost key passage, and the extractive reader finds no answer either.
    """
    # A decision without the signal has predicted nothing, so the key passage may be lost.
    if extractive is None or decision.get("signals", {}).get(LOST, 1.0):
        return False
    try:
        readings = extractive.read(pairs(question, sources))
    except ExtractiveReaderError:
        return False
    return all(reading.answerable < extractive.threshold for reading in readings)


def reread_size(partition_size: int) -> int:
    """Return the number of passages that are read again in one part: 1.5 times as many as in a part of map/reduce.

    On development questions over whole documents, where a wrong answer is noticed, six of them contain the answer in
    94 % (COVID-QA) and 97 % (Evidence Inference), four in 92 and 90 %, eight in 96 and 100 %.
    """
    return partition_size + partition_size // 2


def escalation(
    draft: Draft, sources: Sequence[Source], partition_size: int, elsewhere: UncitedAnswer | None = None
) -> Escalation | None:
    """Return the escalation that a plain answer calls for; None if it stands.

    Args:
        draft: The answer.
        sources: Its passages; if they fit into one partition, reading them again would change nothing.
        partition_size: Passages of a partition.
        elsewhere: An answer in an uncited passage that speaks against it.
    """
    uncited_count = len(uncited(draft, sources))
    if len(sources) <= partition_size or not uncited_count:
        return None
    if not draft.found:
        return {"from": "plain", "to": "map_reduce", "reason": "the plain answer found nothing"}
    others = (
        f"; the {uncited_count} passages that it does not cite are read in parts"
        if uncited_count < len(sources)
        else ""
    )
    if not is_verifiable(draft, {source.n: source.text for source in sources}):
        reason = f"no citation of the plain answer could be verified{others}"
        return {"from": "plain", "to": "map_reduce", "reason": reason}
    if elsewhere is not None:
        says = f"says “{elsewhere.answer}”" if elsewhere.answer else "answers the question likelier than those it cites"
        reread_count = min(uncited_count, reread_size(partition_size))
        action = f"the likeliest {reread_count} of those that it does not cite are read again"
        reason = f"a passage that the plain answer does not cite {says}; {action}"
        return {"from": "plain", "to": "map_reduce", "reason": reason}
    return None


def uncited(draft: Draft, sources: Sequence[Source]) -> list[int]:
    """Return the numbers of the passages that an answer does not cite; all if it found nothing."""
    cited = cited_ranks(draft.text, draft.quotes) if draft.found else []
    return [source.n for source in sources if source.n not in cited]


def second_partitions(
    draft: Draft, sources: Sequence[Source], size: int, most: int, elsewhere: UncitedAnswer | None = None
) -> list[list[int]]:
    """Return the partitions of the passages to read again, those that the answer does not cite.

    If an uncited passage's answer is the reason, this is one partition of the passages most likely to answer.
    """
    if elsewhere is not None:
        return [sorted(elsewhere.likeliest[: reread_size(size)])]
    numbers = uncited(draft, sources)
    passages_by_part = []
    for positions in partition(len(numbers), size, most):
        passages_by_part.append([numbers[position - 1] for position in positions])
    return passages_by_part


def first_extract(draft: Draft, sources: Sequence[Source]) -> Extract | None:
    """Return a first answer as an extract of its cited passages; None if no citation can be verified."""
    if not draft.found or not is_verifiable(draft, {source.n: source.text for source in sources}):
        return None
    cited = cited_ranks(draft.text, draft.quotes)
    return Extract(
        draft.text, draft.quotes, answer=draft.short, sources=tuple(source for source in sources if source.n in cited)
    )


def first_answer(draft: Mapping[str, Any] | None, escalations: Sequence[Escalation]) -> Draft | None:
    """Return the plain answer from which the turn has escalated; None if it has not, or the answer found nothing."""
    if not draft or not escalations or escalations[-1]["from"] != "plain":
        return None
    first = Draft.load(draft)
    return first if first.found else None


def first_stands(step: Escalation, *, read: int, left: int, failed: int, silent: bool) -> Escalation:
    """Return the escalation back to a first answer, because the passages that were read again give none.

    Args:
        step: The escalation from the first answer.
        read: Number of passages that were read again.
        left: Number of passages that the answer does not cite.
        failed: Number of partitions that could not be read.
        silent: Whether the answer is shown without a note on this.
    """
    reason = "the passages that it does not cite were read in parts as well, and say nothing of it"
    if read < left:
        reason = (
            f"the {read} likeliest of the {left} passages that it does not cite were read again: they say nothing of it"
        )
    if failed:
        reason = "not all passages that it does not cite could be read in parts; the others say nothing of it"
    return {"from": step["to"], "to": step["from"], "reason": reason, "silent": silent}
