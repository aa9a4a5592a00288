"""Contexts in which one relation stands alone, made from a question's own: what `corg-factors` asks about.

COrg's relations (section 2.1) are told by the data set's labels: what thing a passage is about and what it answers. An
ambiguous context is a right one whose thing's full name was cut down to the name that it shares with others; that is
done by rule, and only where the full name stands in the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from preflight_rag.evaluation.experiments.relations import things as of_one_thing
from preflight_rag.evaluation.papers.corg_arms import as_organised, given_sources
from preflight_rag.evaluation.papers.corg_measures import shared_name
from preflight_rag.evaluation.samples import Context, Sample
from preflight_rag.state.reading import Source

RELATIONS = ("distracting", "ambiguous", "counterfactual", "duplicated")
MADE = "made by rule"


@dataclass(frozen=True)
class Alone:
    """The contexts of a question in which one relation stands alone."""

    relation: str
    given: tuple[Context, ...]


def cases(questions: Sequence[Sample]) -> Iterator[Sample]:
    """For each question and each relation that its contexts allow, the question with those contexts alone.

    Wanted are all answers that the contexts give, one that contradicts another too: COrg leaves none out.
    """
    for question in questions:
        for alone in isolated(question):
            answers = tuple((answer,) for answer in dict.fromkeys(given.answer for given in alone.given))
            yield replace(
                question,
                id=f"{question.id}/{alone.relation}",
                kind="list" if len(answers) > 1 else "short",
                answers=answers,
                wrong=(),
                given=alone.given,
                documents=frozenset(given.id for given in alone.given),
                label=alone.relation,
            )


def with_made(questions: Sequence[Sample], made: Sequence[Sample]) -> list[Sample]:
    """The questions with the contexts that were made of theirs: what a simulated reader is told."""
    new: dict[str, dict[str, Context]] = {}
    for case in made:
        new.setdefault(case.question, {}).update({given.id: given for given in case.given if MADE in given.id})
    return [
        replace(question, given=(*question.given, *new.get(question.question, {}).values())) for question in questions
    ]


def isolated(question: Sample) -> Iterator[Alone]:
    """The relations that a question's contexts allow, in the order of `RELATIONS`."""
    gold = [given for given in question.given if given.role == "gold" and given.answer]
    named: dict[str, Context] = {}
    for given in gold:
        if given.entity:
            named.setdefault(given.entity, given)
    if len(named) > 1:
        yield Alone("distracting", tuple(named.values()))
    for clear in named.values():
        if (vague := undescribed(question, clear)) is not None:
            yield Alone("ambiguous", (clear, vague))
            break
    if (pair := contradicting(question)) is not None:
        yield Alone("counterfactual", pair)
    by_answer: dict[tuple[str, str], list[Context]] = {}
    for given in gold:
        by_answer.setdefault((given.entity, given.answer), []).append(given)
    if copies := next((same for (entity, _), same in by_answer.items() if entity and len(same) > 1), None):
        yield Alone("duplicated", tuple(copies))


def undescribed(question: Sample, given: Context) -> Context | None:
    """A context without what tells its thing from others of the name; None where its full name is not in the text."""
    name = shared_name(question)
    if not name or name.casefold() == given.entity.casefold() or name.casefold() not in given.entity.casefold():
        return None
    cut, times = re.subn(re.escape(given.entity), name, given.text, flags=re.IGNORECASE)
    return replace(given, id=f"{given.id} ({MADE})", title=name, text=cut, entity="") if times else None


def contradicting(question: Sample) -> tuple[Context, Context] | None:
    """A right context and a wrong one about the same thing, where there are some."""
    known = {given.id: given for given in question.given}
    asked = as_organised(question, given_sources(question))
    about = of_one_thing(asked)
    of = {kind: [c.source for c in asked.contexts if c.type == kind and c.source.n in about]
          for kind in ("correct", "misinfo")}  # fmt: skip
    for wrong in of["misinfo"]:
        for right in of["correct"]:
            if about[wrong.n] == about[right.n]:
                thing = known[right.passage_id]
                return thing, replace(known[wrong.passage_id], entity=thing.entity)
    return None


def described(question: Sample, sources: Sequence[Source]) -> list[Source]:
    """The contexts changed to distracting ones: above each stands what it is about, no two the same.

    That is the full name of its thing, or else the name that the question uses; where several would have one, each
    gets the number of its account.
    """
    entities = {given.id: given.entity for given in question.given}
    names = [entities.get(source.passage_id) or shared_name(question) or source.title for source in sources]
    heads = [
        f"{name} (account {names[: place + 1].count(name)})" if names.count(name) > 1 else name
        for place, name in enumerate(names)
    ]
    return [
        replace(source, title=head, text=f"{head}: {source.text}") for source, head in zip(sources, heads, strict=True)
    ]
