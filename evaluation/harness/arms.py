"""Arms of an experiment on identical passages: asking, scoring with a reason, and reading the chosen option."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from evaluation.harness.asking import Asking
from evaluation.harness.replies import PromptCall, recording
from evaluation.reading_metrics import holds, is_right
from evaluation.rows import ScoreRow
from evaluation.samples import Sample
from preflight_rag.prompts.replies import (
    NO_INFORMATION,
    NOT_FOUND,
    clean,
    match_option,
    says,
    split_choice,
    split_quotes,
)
from preflight_rag.state.errors import ModelError
from preflight_rag.state.reading import Draft, Reply, Source
from preflight_rag.state.values import Answer, Usage
from preflight_rag.text.citations import without_marks

_LABELLED = re.compile(
    r"\b(?:[Aa]nswer(?:_choice)?|ANSWER|[Cc]hoice|CHOICE|[Oo]ption)\b"
    r"[\s\"'*_`]*(?:is\b|:|=|would be\b)?[\s\"'*_`:(\[{]*"
    r"([A-Z])\b(?![\"'’]\w)(?!\s+(?!because|since|as\b|according|based|given|and\b|or\b)[a-z])"
)
_BOXED = re.compile(r"\\boxed\{\s*(?:\\text\{)?\s*\(?([A-Z])\b")
_LEADING = re.compile(r"[(\[*_\"']*([A-Z])[)\]*_\"']*\s*(?:$|[.,:)\n–—/-]|and\b|or\b)")
_ALSO = re.compile(r"[)\]*_\"'.\s]*(?:and|or|/|,|&)[\s(\[*_\"']*([A-Z])\b")
_DECLINED = re.compile(
    r"\bI(?:['’]m| am) (?:sorry|unable|not able)|\bI (?:cannot|can['’]t|can not|won['’]t|will not)\b"
    r"|\bI (?:do not|don['’]t) (?:know|have)\b|\bas an AI\b|\bcannot be (?:determined|answered)\b",
    re.IGNORECASE,
)
"""Phrases by which a reply declines to answer; only A, as an article, may be followed by a word."""


@dataclass(frozen=True)
class ArmAnswer:
    """An arm's answer.

    Attributes:
        text: The answer's text, or a model's whole reply.
        choice: The option chosen, if the arm has read it; else it is read from the text.
        quotes: `(n, words of passage n)` that support it.
        usage: Its cost, if no call of a model was recorded.
        error: Why there is no answer although the server replied: cut off, filtered, too long a prompt.
        route: The route, if there are several.
        abstained: Whether it says that the passages do not contain the answer; None: judged by the text.
        passages: The passages that it got, if they are not those of all arms.
    """

    text: str
    choice: str | None = None
    quotes: tuple[tuple[int, str], ...] = ()
    usage: Usage = field(default_factory=Usage)
    error: str = ""
    route: str = ""
    abstained: bool | None = None
    passages: tuple[Source, ...] | None = None

    @classmethod
    def of_draft(cls, reply: Reply[Draft], route: str = "") -> ArmAnswer:
        """Return a reader's draft as an arm's answer."""
        draft = reply.value
        return cls(
            draft.short or draft.text, draft.choice, draft.quotes, reply.usage, route=route, abstained=not draft.found
        )

    @classmethod
    def of_answer(cls, answer: Answer) -> ArmAnswer:
        """Return the outcome of a turn of the graph as an arm's answer."""
        receipt = answer.receipt
        usage = Usage(
            calls=receipt.model_calls,
            input_tokens=receipt.input_tokens,
            output_tokens=receipt.output_tokens,
            estimated=receipt.estimated,
            seconds=receipt.seconds,
        )
        quotes = tuple((citation.n, citation.quote) for citation in answer.citations)
        return cls(answer.answer, answer.choice, quotes, usage, "", answer.route.name, answer.abstained)


@dataclass(frozen=True)
class Arm:
    """One way to answer a question from passages; a ModelError that it raises is scored, or the case is left out."""

    name: str
    answer: Callable[[Sample, Sequence[Source]], Awaitable[ArmAnswer]]


@dataclass(frozen=True)
class Score:
    """The score of an answer, and why.

    Attributes:
        value: In [0, 1]; strict: an unreadable choice, and a refusal, is wrong.
        reason: In a few words.
        fallback: The same as MIRAGE's published scorer counts: an unreadable choice is the first option.
        choice: The option chosen, if there are options and one can be read.
        unreadable: Whether no option could be read.
        refused: Whether the model declined to answer.
        abstained: Whether it says that the passages do not contain the answer.
        wrong: Whether it gives an answer that is known to be wrong.
    """

    value: float
    reason: str
    fallback: float
    choice: str | None = None
    unreadable: bool = False
    refused: bool = False
    abstained: bool = False
    wrong: bool = False


def shown(sources: Sequence[Source], roles: dict[str, str] | None = None) -> list[dict[str, str]]:
    """Return passages in the form for a row."""
    return [
        {"id": source.passage_id, "title": source.title, "text": source.text}
        | ({"role": roles[source.passage_id]} if roles and roles.get(source.passage_id) else {})
        for source in sources
    ]


async def run_arms(
    arms: Sequence[Arm],
    samples: Sequence[Sample],
    passages: Callable[[Sample], Sequence[Source] | Mapping[str, Sequence[Source]]],
    asking: Asking,
    stage: str = "questions",
) -> list[ScoreRow]:
    """Ask every arm each sample, under each of its conditions with the same passages; return one row for each answer.

    A reply that is cut off, filtered or empty, and a prompt that is too long, are wrong answers with a reason. If the
    server failed, or the budget is used up, the rows of the sample under that condition have no score, so that pairs
    stay complete; `rows.complete` are those that can be compared.

    Args:
        arms: The arms, with their names in the tables.
        samples: The questions.
        passages: Returns the passages of a sample, or those of each condition by its name.
        asking: The model, with its concurrency and budget.
        stage: The label of the progress bar.
    """
    cells: list[tuple[Sample, str, tuple[Source, ...]]] = []
    for sample in samples:
        given = passages(sample)
        conditions = given if isinstance(given, Mapping) else {"": given}
        cells += [(sample, name, tuple(sources)) for name, sources in conditions.items()]

    async def ask(cell: tuple[Sample, str, tuple[Source, ...]]) -> list[ScoreRow]:
        return [await _ask(arm, *cell) for arm in arms]

    rows: list[ScoreRow] = []
    for cell, outcome in zip(cells, await asking.gather(cells, ask, stage), strict=True):
        sample, condition, sources = cell
        details = {**_of_sample(sample), "passages": shown(sources, _roles(sample)), "error": outcome.error}
        failed = [ScoreRow(sample.id, condition, arm.name, None, outcome.error, details=details) for arm in arms]
        rows += failed if outcome.value is None else outcome.value
    return rows


async def _ask(arm: Arm, sample: Sample, condition: str, sources: tuple[Source, ...]) -> ScoreRow:
    """Return an arm's scored answer, with every prompt that it needed."""
    with recording() as calls:
        try:
            answer = await arm.answer(sample, sources)
        except ModelError as error:
            if error.retryable or any(call.unpaid for call in calls):
                raise
            answer = ArmAnswer("", error=str(error))
    refused = bool(calls) and calls[-1].refused
    scored = asdict(score(sample, answer, refused=refused))
    usage = _usage(calls) if calls else answer.usage
    seen = sources if answer.passages is None else answer.passages
    return ScoreRow(
        sample=sample.id,
        condition=condition,
        arm=arm.name,
        score=scored.pop("value"),
        reason=scored.pop("reason"),
        calls=usage.calls,
        tokens=(usage.input_tokens, usage.output_tokens),
        seconds=usage.seconds,
        details={
            **_of_sample(sample),
            "passages": shown(seen, _roles(sample)),
            **scored,
            "route": answer.route,
            "reply": answer.text,
            "quotes": [list(quote) for quote in answer.quotes],
            "error": answer.error,
            "estimated": usage.estimated,
            "prompts": [call.as_json() for call in calls],
        },
    )


def _usage(calls: Sequence[PromptCall]) -> Usage:
    """Return calls and tokens as if none had been cached, and the model's seconds."""
    replies = [call.reply for call in calls if call.reply is not None]
    return Usage(
        calls=len(calls),
        input_tokens=sum(reply.input_tokens for reply in replies),
        output_tokens=sum(reply.output_tokens for reply in replies),
        estimated=any(reply.estimated for reply in replies),
        seconds=sum(reply.seconds for reply in replies),
    )


def _of_sample(sample: Sample) -> dict[str, Any]:
    """Return the question's fields for a row."""
    return {
        "question": sample.question,
        "kind": sample.kind,
        "label": sample.label,
        "options": list(sample.options),
        "right": sample.right,
        "answers": [list(names) for names in sample.answers],
    }


def _roles(sample: Sample) -> dict[str, str]:
    """Return the role of each given passage by its id."""
    return {given.id: given.role for given in sample.given}


def score(sample: Sample, answer: ArmAnswer, *, refused: bool = False) -> Score:
    """Return the score of an answer.

    Samples with options are right or wrong. Otherwise, an unanswerable question requires an abstention; a short one any
    of the right answers, word for word or by an F1 of at least 0.5; a list, and a long one, all of them: the score is
    their share.

    Args:
        sample: The question.
        answer: The arm's answer.
        refused: Whether the model, or a filter behind it, withheld an answer.
    """
    if sample.options:
        return _score_choice(sample, answer, refused)
    text = without_marks(answer.text).strip()
    abstained = says(NOT_FOUND, text) if answer.abstained is None else answer.abstained
    refused = refused or (not abstained and declines(text))
    if answer.error:
        return Score(0.0, answer.error, 0.0, refused=refused)
    if refused:
        return Score(0.0, "refused to answer", 0.0, refused=True)
    wrong = not abstained and any(holds(text, [one]) for one in sample.wrong)
    if sample.answerable is False:
        value, reason = (1.0, "abstained, rightly") if abstained else (0.0, "answered what the passages do not hold")
    elif abstained:
        value, reason = 0.0, "abstained, though there is an answer"
    else:
        value, reason = _share_right(sample, text)
    reason += "; gives a wrong answer too" if wrong else ""
    return Score(value, reason, value, abstained=abstained, wrong=wrong)


def _score_choice(sample: Sample, answer: ArmAnswer, refused: bool) -> Score:
    """Return the score of a multiple-choice answer, and why."""
    read = read_choice(answer.text, sample.options)
    option = answer.choice if answer.choice in sample.options else read.option
    option = None if answer.error else option
    fallback = float((option or sample.options[0]) == sample.right)
    if option is not None:
        right = option == sample.right
        reason = f"chose {option!r}, {'which is right' if right else f'right is {sample.right!r}'}"
        return Score(float(right), reason, fallback, option, wrong=not right)
    if answer.error:
        return Score(0.0, answer.error, fallback, refused=refused)
    if says(NOT_FOUND, answer.text) if answer.abstained is None else answer.abstained:
        return Score(0.0, "abstained from a choice", fallback, abstained=True)
    if refused or read.refused:
        return Score(0.0, "refused to choose", fallback, refused=True)
    return Score(0.0, "no option can be read", fallback, unreadable=True)


def _share_right(sample: Sample, text: str) -> tuple[float, str]:
    """Return the share of the right answers that a text gives, and the reason in words."""
    if not sample.answers:
        return 0.0, "no right answer is known"
    found = [names[0] for names in sample.answers if holds(text, names) or is_right(text, names)]
    missing = [names[0] for names in sample.answers if names[0] not in found]
    if sample.kind == "short":
        return float(bool(found)), f"gives {found[0]!r}" if found else f"does not give {missing[0]!r}"
    reason = f"gives {len(found)} of {len(sample.answers)}"
    reason += f", not {', '.join(map(repr, missing))}" if missing else ""
    return len(found) / len(sample.answers), reason


@dataclass(frozen=True)
class Choice:
    """The choice in a reply.

    Attributes:
        option: The option named; None if there is none.
        refused: Whether it declines to answer, or says that the passages contain no answer.
    """

    option: str | None
    refused: bool


def read_choice(reply: str, options: Sequence[str]) -> Choice:
    """Return the option that a reply names.

    In turn: its last line `CHOICE: B` or `Answer: B`; letters after "answer", "choice" or "option" (JSON's
    "answer_choice" too), in a box, or at its beginning; the option's own words, if no other option's words occur.
    Anything else, also several different letters, is unreadable.
    """
    text = split_quotes(clean(reply))[0].strip()
    option = split_choice(text, options)[1]
    refused = False
    if option is None:
        letters = _letters(text, len(options))
        refused = not letters and declines(text)
        if len(letters) == 1:
            option = options[ord(letters.pop()) - ord("A")]
        elif not letters and not refused:
            option = _in_words(text, options)
    return Choice(option, refused)


def declines(text: str) -> bool:
    """Return whether a reply says that it does not answer."""
    return says(NOT_FOUND, text) or says(NO_INFORMATION, text) or bool(_DECLINED.search(text[:200]))


def _letters(text: str, options: int) -> set[str]:
    """Return the letters of options that a reply names, including those that it adds by "and" or "or"."""
    matches = [match for pattern in (_LABELLED, _BOXED) for match in pattern.finditer(text)]
    if not matches and (leading := _LEADING.match(text)):
        matches = [leading]
    named = {match[1] for match in matches}
    named |= {also[1] for match in matches if (also := _ALSO.match(text, match.end(1)))}
    return {letter for letter in named if ord(letter) - ord("A") < options}


def _in_words(text: str, options: Sequence[str]) -> str | None:
    """Return the option that a text states at its beginning, or else the one that it names."""
    lead = re.match(r"[\s*_\"'(]*(\w+)", text)
    whole = [option for option in options if lead and option.casefold() == lead[1].casefold()]
    return whole[0] if len(whole) == 1 else match_option(text, options)
